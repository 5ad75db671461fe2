"""normalize: one Unicode form, one line ending, no control characters. Nothing else: no case, no white space.

First the edits, then the form, so that a result has the form although a control character stood between a
letter and its accent, and normalizing twice changes nothing:

newlines       CRLF and a lone CR become LF. U+0085, U+2028 and U+2029 stay: on the web U+0085 is mostly an
               ellipsis of Windows-1252 read as Latin-1, and the other two were put there on purpose.
strip_control  removes U+0000 to U+001F but tab and the line endings LF and CR, U+007F to U+009F (so U+0085
               too), and U+FEFF.
unicode        NFC by default; NFKC also folds what only looks different (ligatures, full-width letters).

Texts that a kernel's quick check proves to be fine, nearly all, are not copied; only the others are decoded.
"""

from __future__ import annotations

import numpy as np

from dataprep.batch import Batch
from dataprep.kernels.normalize import REFORM, edited, reformed, replaced, scan
from dataprep.kernels.texts import Texts
from dataprep.kernels.unicode import Form
from dataprep.steps.base import Params, Transform, unicode_version


class NormalizeParams(Params):
    """See the module's docstring; null, false and false switch the three parts off."""

    unicode: Form | None = "NFC"
    newlines: bool = True
    strip_control: bool = True


def apply(batch: Batch, params: NormalizeParams) -> Texts:
    """The normalized texts; the same object where nothing changes."""
    texts = batch.texts
    flags = scan(texts.data, texts.offsets, params.unicode, params.newlines, params.strip_control)
    chosen = np.flatnonzero(flags)
    if not chosen.size:
        return texts
    new = Texts(*edited(texts.data, texts.offsets, chosen, params.newlines, params.strip_control))
    reform = np.flatnonzero(flags[chosen] & REFORM)
    if params.unicode and reform.size:
        new = Texts(*reformed(new.data, new.offsets, reform, params.unicode))
    return Texts(*replaced(texts.data, texts.offsets, chosen, new.data, new.offsets))


NORMALIZE = Transform(
    name="normalize", version=1, params=NormalizeParams, apply=apply, depends=unicode_version
)
