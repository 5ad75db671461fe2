"""ftfy: text that was decoded wrongly, repaired by ftfy's `fix_text` (Robyn Speer; version in the key).

    - ftfy: {uncurl_quotes: false, fix_character_width: false}

Parameters and defaults are ftfy's own (see its documentation); with them `Ã©` becomes `é`, and also curly
quotes straight, `ﬁ` two letters, full-width letters and Chinese punctuation narrow, `&amp;` an ampersand if
the text holds no `<` above it, and the text is in NFC.

ftfy repairs about 3 MB/s, line by line. A kernel finds the lines that it would leave as they are: of a line
without a character that one of its functions replaces, with only characters that the Unicode form allows in
any order, `fix_text` asks no more than `is_bad`, and not even that if no character of its expression is
there. So nearly all English lines cost nothing, and the result is that of `fix_text` on the whole text.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import numpy as np
from pydantic import StrictBool

from dataprep.batch import Batch
from dataprep.kernels.spans import spliced
from dataprep.kernels.suspects import BEHIND_MARKUP, CLEAN, IN_DOUBT, SUSPECT, suspect_lines
from dataprep.kernels.texts import Texts
from dataprep.kernels.unicode import Form, Table, populated, quick_check
from dataprep.kernels.utf8 import NUM_CODE_POINTS, two_level
from dataprep.steps.base import Params, Transform, unicode_version
from manifests.errors import UserError

FIRST_UNDOUBTED = 0x600
"""Below this every character beyond ASCII is in doubt: Latin, Greek and Cyrillic are what goes wrong."""


class FtfyParams(Params):
    """The fields of ftfy's TextFixerConfig that apply to text of valid UTF-8."""

    unescape_html: Literal["auto"] | StrictBool = "auto"
    remove_terminal_escapes: bool = True
    fix_encoding: bool = True
    restore_byte_a0: bool = True
    replace_lossy_sequences: bool = True
    decode_inconsistent_utf8: bool = True
    fix_c1_controls: bool = True
    fix_latin_ligatures: bool = True
    fix_character_width: bool = True
    uncurl_quotes: bool = True
    fix_line_breaks: bool = True
    remove_control_chars: bool = True
    normalization: Form | None = "NFC"


def depends(params: FtfyParams) -> Mapping[str, str]:
    try:
        return {**unicode_version(params), "ftfy": version("ftfy")}
    except PackageNotFoundError as error:
        raise UserError(
            "the step ftfy needs the package ftfy", hint="pip install 'headrace[ftfy]'"
        ) from error


def apply(batch: Batch, params: FtfyParams) -> Texts:
    """The repaired texts; the same object where nothing changes."""
    from ftfy import TextFixerConfig, fix_text
    from ftfy.badness import is_bad

    texts = batch.texts
    config = TextFixerConfig(**params.model_dump())
    spans = suspect_lines(texts.data, texts.offsets, table_of(params), params.unescape_html)
    rows, lines = [], []
    for row, (_, start, end, kind) in enumerate(spans.tolist()):
        line = texts.data[start:end].tobytes().decode()
        if kind & ~BEHIND_MARKUP == IN_DOUBT and not is_bad(line):
            continue
        behind_markup = kind & BEHIND_MARKUP and params.unescape_html == "auto"
        new = fix_text(line, config._replace(unescape_html=False) if behind_markup else config)
        if new != line:
            rows.append(row)
            lines.append(new)
    if not rows:
        return texts
    changed = spans[rows]
    changed[:, 3] = np.arange(len(rows))
    return Texts(*spliced(texts.data, texts.offsets, changed, Texts.from_strings(lines)))


@lru_cache(maxsize=4)
def table_of(params: FtfyParams) -> Table:
    """For each code point: SUSPECT if a function that is switched on replaces it, or the Unicode form is not
    sure to allow it; IN_DOUBT if it may be part of what `is_bad` finds; else CLEAN."""
    from ftfy import badness, chardata

    values = np.full(NUM_CODE_POINTS, CLEAN, dtype=np.uint8)
    if params.fix_encoding:
        values[0x80:FIRST_UNDOUBTED] = IN_DOUBT
        pattern = badness.BADNESS_RE.pattern
        for place, character in enumerate(pattern):
            if not character.isascii():
                values[ord(character)] = IN_DOUBT
                if pattern[place + 1 : place + 2] == "-":  # maybe a range; too much is no harm
                    values[ord(character) : ord(pattern[place + 2]) + 1] = IN_DOUBT
    replaced: list[Any] = []
    if params.remove_terminal_escapes:
        replaced.append(0x1B)
    if params.fix_c1_controls:
        replaced += range(0x80, 0xA0)
    if params.fix_latin_ligatures:
        replaced += chardata.LIGATURES
    if params.fix_character_width:
        replaced += chardata.WIDTH_MAP
    if params.uncurl_quotes:
        quotes = (chardata.SINGLE_QUOTE_RE, chardata.DOUBLE_QUOTE_RE)
        replaced += [ord(each) for each in populated() if any(quote.match(each) for quote in quotes)]
    if params.fix_line_breaks:
        replaced += [0x0D, 0x85, 0x2028, 0x2029]
    if params.remove_control_chars:
        replaced += chardata.CONTROL_CHARS
    values[replaced] = SUSPECT
    if params.normalization is not None:
        pages, cells = quick_check(params.normalization)
        classes = cells.reshape(-1, 256)[pages].reshape(-1)
        values[classes != 0] = SUSPECT
    return two_level(values)


FTFY = Transform(name="ftfy", version=1, params=FtfyParams, apply=apply, depends=depends, expensive=True)
