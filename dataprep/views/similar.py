"""`dataprep similar`: documents of the last run that are near-duplicates of a text, kept and dropped alike.

By the signatures that minhash_dedup measured, with datasketch's `MinHashLSH`, which is what anybody else
would ask (docs/concepts/near-duplicates.md says how our signatures are datasketch's). An index of datasketch
holds several kilobytes of Python objects a document, so it gets only those that share a band with the text:
numpy finds these split by split, which changes nothing of what the index answers. Memory: the signatures of
one split, and `MAX_HELD` signatures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.text import Text

from dataprep.columnfile import read_columns
from dataprep.columns import Texts
from dataprep.decide.bands import best_bands, keys_of_bands
from dataprep.decide.verify import MARGIN_PPM
from dataprep.kernels.minhash import SEED, Signatures, hash32, signatures
from dataprep.kernels.shingles import SHORT, WORDLESS, Shingling, jaccard_ppm, shingle_hashes
from dataprep.narrate import printable
from dataprep.plan import Plans
from dataprep.recipe import Recipe
from dataprep.stages import measure
from dataprep.stages.decisions import decisions_of
from dataprep.steps.minhash_dedup import MinhashDedupParams
from dataprep.verdict_table import verdict_row
from dataprep.views.explain import outcome
from dataprep.views.last_run import plans_of_last_run
from dataprep.views.texts import each_text, split_places
from manifests.errors import UserError

MAX_HELD = 10_000
MAX_TOP = 1000
SHOWN_CHARACTERS = 300

Int64s = npt.NDArray[np.int64]


class _Found(NamedTuple):
    """Documents that share a band with the text: their rows, signatures, and how many values agree."""

    rows: Int64s
    signatures: Signatures
    equal: Int64s

    def at(self, places: Int64s) -> _Found:
        return _Found(self.rows[places], self.signatures[places], self.equal[places])


def find_similar(
    recipe: Recipe, text: bytes, threshold: float | None = None, top: int = 10, estimate: bool = False
) -> dict[str, Any]:
    """Return what is near to a text.

    text       UTF-8; compared as it is, without the steps of the recipe
    threshold  of the Jaccard similarity; by default that of minhash_dedup
    estimate   believe the signatures and read no document again

    The result has `step`, `threshold`, `bands`, `rows`, `is_short` (fewer words than a shingle: only equal
    texts are found), `compared` (documents with a signature), `candidates` (that share a band), `checked`
    (whose texts were compared), and `documents`, the most similar first: the columns of the verdict table,
    `estimate`, `jaccard` (exact; null with `estimate`) and `text`, its beginning. Raises UserError.
    """
    link = next((each for each in decisions_of(recipe) if each.step.name == "minhash_dedup"), None)
    if link is None:
        raise UserError(
            "this recipe has no minhash_dedup, so no signatures of its documents were measured",
            hint="add `- minhash_dedup: {}` to `steps:` and run it",
        )
    assert isinstance(link.params, MinhashDedupParams)
    if threshold is not None and not 0 < threshold <= 1:
        raise UserError(f"{threshold} is no similarity; above 0 and up to 1", where="--threshold")
    if not 1 <= top <= MAX_TOP:
        raise UserError(f"{top} documents; 1 to {MAX_TOP:,} can be shown", where="--top")
    signature, flag = _signature(text, link.params)
    plans = plans_of_last_run(recipe)
    bands, rows = link.params.banding
    if threshold is not None and threshold != link.params.threshold:
        bands, rows = best_bands(threshold, link.params.permutations)
    least = link.params.threshold if threshold is None else threshold
    found, compared, candidates = _sharing_a_band(plans, link.label, signature, bands, rows)
    found = _by_datasketch(found, signature, bands, rows)
    estimates = found.equal / link.params.permutations
    near = estimates >= (least if estimate else least - MARGIN_PPM / 1e6)
    chosen = np.flatnonzero(near)[: top if estimate else 2 * top]
    exact, beginnings = {}, {}
    if not estimate:
        for row, other in each_text(plans, found.rows[chosen].tolist(), link.label):
            exact[row] = _jaccard(text, other, link.params.shingling)
            beginnings[row] = other[: 4 * SHOWN_CHARACTERS].decode(errors="ignore")[:SHOWN_CHARACTERS]
    documents = []
    for at in chosen.tolist():
        row = int(found.rows[at])
        if estimate or exact[row] >= least:
            ((index, place),) = split_places(plans, np.array([row])).tolist()
            verdict = verdict_row(plans, index, place)
            verdict["raw_hash"] = verdict["raw_hash"].hex()
            more = {"estimate": float(estimates[at]), "jaccard": exact.get(row), "text": beginnings.get(row)}
            documents.append({**verdict, **more})
    if not estimate:
        documents.sort(key=lambda each: -each["jaccard"])  # stable: then by the estimate, then by the row
    return {
        "step": link.label,
        "threshold": least,
        "bands": bands,
        "rows": rows,
        "is_short": bool(flag == SHORT),
        "compared": compared,
        "candidates": candidates,
        "checked": len(exact),
        "documents": documents[:top],
    }


def _signature(text: bytes, params: MinhashDedupParams) -> tuple[Signatures, int]:
    """uint32[permutations] of a text, and its flag."""
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise UserError(
            f"the text is not UTF-8: {error.reason} at byte {error.start:,}", where="--text"
        ) from None
    texts = Texts.from_bytes([text])
    found, flags, _ = signatures(texts.data, texts.offsets, params.shingling, params.permutations)
    if flags[0] == WORDLESS:
        raise UserError("the text has no words, so nothing is similar to it", where="--text")
    return found[0], int(flags[0])


def _sharing_a_band(
    plans: Plans, label: str, signature: Signatures, bands: int, rows: int
) -> tuple[_Found, int, int]:
    """The best `MAX_HELD` of those that share a band, the best first; how many documents have a signature;
    how many share a band."""
    keys = keys_of_bands(signature[None], bands, rows)
    held = _Found(np.zeros(0, dtype=np.int64), signature[None][:0], np.zeros(0, dtype=np.int64))
    compared = candidates = 0
    for start, others in _measured(plans, label):
        compared += len(others)
        places = np.flatnonzero((keys_of_bands(others, bands, rows) == keys).any(axis=1))
        candidates += len(places)
        some = others[places]
        equal = (some == signature).sum(axis=1, dtype=np.int64)
        both = _Found(
            np.concatenate([held.rows, start + places]),
            np.concatenate([held.signatures, some]),
            np.concatenate([held.equal, equal]),
        )
        held = both.at(np.lexsort((both.rows, -both.equal))[:MAX_HELD])
    return held, compared, candidates


def _measured(plans: Plans, label: str) -> Iterator[tuple[int, Signatures]]:
    """(first row, uint32[n, permutations]) of each split that the step looks at."""
    for keys, facts in zip(plans.keys, plans.decided.facts["splits"], strict=True):
        if label in keys and facts["documents"]:
            entry = plans.cache.get(measure.STAGE, keys[label])
            yield facts["start"], read_columns(entry.file(measure.COLUMNS))["signature"]


def _by_datasketch(found: _Found, signature: Signatures, bands: int, rows: int) -> _Found:
    """What an index of datasketch over these documents answers, the best first."""
    if bands < 2 or not len(found.rows):  # it makes no index of one band
        return found
    from datasketch import MinHash, MinHashLSH

    asked = MinHash(seed=SEED, scheme="affine32", hashfunc=hash32, hashvalues=signature)
    index = MinHashLSH(num_perm=len(signature), params=(bands, rows))
    for place, values in enumerate(found.signatures):
        sketch = MinHash(
            seed=SEED,
            scheme="affine32",
            hashfunc=hash32,
            hashvalues=values,
            permutations=asked.permutations,  # else it draws them again
        )
        index.insert(place, sketch)
    return found.at(np.array(sorted(index.query(asked)), dtype=np.int64))


def _jaccard(first: bytes, second: bytes, shingling: Shingling) -> float:
    texts = Texts.from_bytes([first, second])
    hashes, offsets = shingle_hashes(texts.data, texts.offsets, shingling)
    (ppm,) = jaccard_ppm(hashes, offsets, np.array([[0, 1]], dtype=np.int64)).tolist()
    return float(ppm / 1e6)


def print_similar(found: Mapping[str, Any], console: Console) -> None:
    """Print what `find_similar` found, two lines a document."""
    for each in found["documents"]:
        exact = f"{each['estimate']:.3f}~" if each["jaccard"] is None else f"{each['jaccard']:.3f} "
        name = "" if each["id"] is None else f" {each['id']}"
        place = f"{each['source']}{name} ({each['path']}, position {each['position']:,})"
        console.print(Text(printable(f"{exact} {place}"), style="bold"))
        console.print(Text(printable(f"       {outcome(each)}")))
        if each["text"] is not None:
            console.print(Text(printable(f"       {' '.join(each['text'].split())!r}"), style="dim"))
    if found["is_short"]:
        console.print("the text is shorter than a shingle, so only texts that are equal to it are similar")
    more = found["candidates"] - found["checked"] if found["checked"] else 0
    unread = f"; the texts of {more:,} less similar ones were not compared" if more > 0 else ""
    console.print(
        f"{len(found['documents']):,} of {found['compared']:,} documents, at a similarity of "
        f"{found['threshold']:g} or more ({found['bands']} bands of {found['rows']}){unread}"
    )
