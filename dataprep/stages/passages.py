"""PASSAGES, LAYOUT, WINDOWS, MATCHES and SPANS: long passages that occur more than once, word for word.

    PASSAGES  a split                  its population read again, as tokens; the text is kept beside them
    LAYOUT    all, or a source         where the tokens of documents are, by rank
    WINDOWS   a split                  runs of windows, by part
    MATCHES   a part (of a source)     which windows equal a better one
    SPANS     a split                  what that takes out of its texts (`cuts.py`)

The population: documents that the rules above the step kept. What goes is said in `decide/substrings.py`.
Memory: one split and its tokens; 28 bytes a document, mapped; `memory` of the recipe.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dataprep.arrayfile import mapped, save_array
from dataprep.cache import Cache, Entry, key_of
from dataprep.chain import Link, reader_components, rewriting
from dataprep.columns import Texts, concat
from dataprep.decide.layout import Corpus, Layout, layout_of
from dataprep.decide.layout import Split as TokenSplit
from dataprep.decide.repeats import BYTES_OF_A_ROW, repeats
from dataprep.decide.substrings import cut_tokens, parts_for, runs_of_split
from dataprep.kernels.covered import byte_spans
from dataprep.readers import Split
from dataprep.stages import rank, reread
from dataprep.stages.base import Task
from dataprep.stages.cuts import write_cuts
from dataprep.stages.groups import Group
from dataprep.stages.measure import SplitPlan
from dataprep.stages.population import members_of, passed
from dataprep.stages.tokenizer import engine_versions
from dataprep.tokenizers import Encoder, strip_special
from dataprep.tokenizers.engines import choose_engine
from dataprep.tokenizers.files import JSON_FILE, read_tokenizer
from dataprep.tokenizers.spelling import (
    BYTE_SIZES,
    Spelling,
    bytes_as_tokens,
    spelling_of,
    tokenized,
)
from manifests.fingerprint import digest_value

PASSAGES, LAYOUT, WINDOWS, MATCHES, SPANS = "passages", "layout", "windows", "matches", "spans"
VERSION = 1
TOKENS, OFFSETS, RANKS, ROWS = "tokens.npy", "offsets.npy", "ranks.npy", "rows.npy"
TEXT, TEXT_OFFSETS = "text.npy", "text_offsets.npy"
STARTS, SPLIT_OF, WITHIN = "starts.npy", "split.npy", "within.npy"
RUNS, BOUNDS = "runs.npy", "bounds.npy"
MARKED, KEPT = "marked", "kept"

Int64s = npt.NDArray[np.int64]


def passages_tasks(
    link: Link,
    groups: Sequence[Group],
    splits: Sequence[SplitPlan],
    keys: Sequence[Mapping[str, str]],
    judged: Sequence[Entry],
) -> list[Task]:
    """One task a split. What it makes depends on no other split: ranks come later."""
    params: Any = link.params
    tasks = []
    for member in members_of(link, groups):
        plan = splits[member.number]
        above = rewriting(reread.until_step(plan.chain, link.label), plan.options)
        components = {
            "version": VERSION,
            "split": plan.digest,
            "reader": reader_components(plan.split.format, plan.options),
            "above": [described for _, described in above],
            "passed": member.passed_digest(judged),
            "tokens": params.model_dump(mode="json")["tokens"],
            "depends": {**link.step.depends(link.params), **engine_versions(JSON_FILE)},
        }
        payload = {
            "split": plan.split.to_dict(),
            "options": asdict(plan.options),
            "reread": reread.payload_of(plan, keys[member.number], link.label),
            "judged": member.judged(judged),
            "tokenizer": params.tokenizer_file,
        }
        tasks.append(Task(plan.label, key_of(components), components, payload))
    return tasks


def write_passages(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    kept = passed(payload["judged"], cache)
    split = Split.from_dict(payload["split"])
    batches = reread.reread(split, payload["options"], payload["reread"], kept, cache)
    texts = concat([batch.texts for batch in batches])
    spelling, encoder = _spelling(payload["tokenizer"], texts)
    if spelling is None or encoder is None:
        tokens, offsets = bytes_as_tokens(texts)
    else:
        tokens, offsets = tokenized(texts, encoder, spelling)
    rows = np.flatnonzero(kept)
    arrays: dict[str, npt.NDArray[Any]] = {TOKENS: tokens, OFFSETS: offsets, ROWS: rows}
    if spelling is not None:
        arrays |= {TEXT: texts.data[texts.offsets[0] : texts.offsets[-1]]}
        arrays |= {TEXT_OFFSETS: texts.offsets - texts.offsets[0]}
    for name, array in arrays.items():
        save_array(folder / name, np.ascontiguousarray(array))
    return {"documents": len(rows), "tokens": int(offsets[-1])}


def _spelling(path: str | None, probe: Texts | None = None) -> tuple[Spelling | None, Encoder | None]:
    """What tokens are spelled like, and what makes them; nothing where bytes are tokens."""
    if path is None:
        return None, None
    definition = read_tokenizer(Path(path))
    spelling = spelling_of(definition)
    if probe is None:
        return spelling, None
    encoding = strip_special(definition, "text")
    engine = choose_engine(encoding, probe.slice(0, min(len(probe), 64))).engine
    return spelling, Encoder(encoding, engine, None)


def layout_tasks(link: Link, groups: Sequence[Group], written: Sequence[Entry], ranked: Entry) -> list[Task]:
    """One task for each group of splits that are compared with each other."""
    starts = _starts(link, groups)
    tasks = []
    for name, members in together(link, groups):
        keys = [written[number].key for number in members]
        components = {
            "version": VERSION,
            "passages": digest_value(keys),
            "starts": [starts[number] for number in members],
            "ranks": ranked.key,
        }
        payload = {**components, "passages": keys, "ranks": [ranked.receipt["stage"], ranked.key]}
        tasks.append(Task(name, key_of(components), components, payload))
    return tasks


def _starts(link: Link, groups: Sequence[Group]) -> list[int]:
    """The row of the first document of every split that the step looks at."""
    return [member.start for member in members_of(link, groups)]


def together(link: Link, groups: Sequence[Group]) -> list[tuple[str, list[int]]]:
    """(name, numbers of the splits that the step looks at) of what is compared with each other."""
    params: Any = link.params
    found: dict[str, list[int]] = {}
    for number, member in enumerate(members_of(link, groups)):
        name = member.source if params.within == "source" else "all documents"
        found.setdefault(name, []).append(number)
    return list(found.items())


def write_layout(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    ranks = rank.Ranks(cache.get(*payload["ranks"]))
    entries = [cache.get(PASSAGES, key) for key in payload["passages"]]
    splits = zip(entries, payload["starts"], strict=True)
    layout = layout_of([_token_split(entry, start, ranks) for entry, start in splits])
    arrays: dict[str, npt.NDArray[Any]] = {
        RANKS: layout.ranks,
        STARTS: layout.starts,
        SPLIT_OF: layout.split,
        WITHIN: layout.within,
    }
    for name, array in arrays.items():
        save_array(folder / name, array)
    return {"documents": len(layout.ranks), "tokens": int(layout.starts[-1])}


def _token_split(entry: Entry, start: int, ranks: rank.Ranks) -> TokenSplit:
    rows = np.asarray(mapped(entry.file(ROWS)))
    return TokenSplit(mapped(entry.file(TOKENS)), mapped(entry.file(OFFSETS)), ranks.of(start + rows))


def _layout(entry: Entry) -> Layout:
    return Layout(*(mapped(entry.file(name)) for name in (RANKS, STARTS, SPLIT_OF, WITHIN)))


def windows_tasks(
    link: Link,
    groups: Sequence[Group],
    written: Sequence[Entry],
    layouts: Sequence[Entry],
    ranked: Entry,
    memory_bytes: int,
) -> list[Task]:
    """One task a split, in the order of the splits."""
    params: Any = link.params
    starts = _starts(link, groups)
    tasks: dict[int, Task] = {}
    for (name, members), layout in zip(together(link, groups), layouts, strict=True):
        parts = parts_for(layout.facts["tokens"], params.num_tokens, memory_bytes)
        for number in members:
            components = {
                "version": VERSION,
                "passages": written[number].key,
                "layout": layout.key,  # of these ranks
                "start": starts[number],
                "length": params.num_tokens,
                "parts": parts,
            }
            payload = {**components, "ranks": [ranked.receipt["stage"], ranked.key]}
            tasks[number] = Task(f"{name}, split {number}", key_of(components), components, payload)
    return [tasks[number] for number in sorted(tasks)]


def write_windows(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    """Runs of windows by part; the chunks of a split that come one after the other are put together."""
    ranks = rank.Ranks(cache.get(*payload["ranks"]))
    split = _token_split(cache.get(PASSAGES, payload["passages"]), payload["start"], ranks)
    layout = _layout(cache.get(LAYOUT, payload["layout"]))
    parts: list[list[Int64s]] = [[np.zeros((0, 3), dtype=np.int64)] for _ in range(payload["parts"])]
    for runs, bounds in runs_of_split(split, layout, payload["length"], payload["parts"]):
        for part in np.flatnonzero(np.diff(bounds)).tolist():
            parts[part].append(runs[bounds[part] : bounds[part + 1]])
    joined = [np.concatenate(each) for each in parts]
    save_array(folder / RUNS, np.concatenate(joined))
    save_array(folder / BOUNDS, np.cumsum([0, *map(len, joined)]))
    return {"runs": sum(map(len, joined)), "parts": payload["parts"]}


def matches_tasks(
    link: Link,
    groups: Sequence[Group],
    written: Sequence[Entry],
    layouts: Sequence[Entry],
    windowed: Sequence[Entry],
    memory_bytes: int,
) -> list[Task]:
    """One task a part of what is compared with each other."""
    params: Any = link.params
    tasks = []
    for (name, members), layout in zip(together(link, groups), layouts, strict=True):
        windows = [windowed[number].key for number in members]
        for part in range(windowed[members[0]].facts["parts"]):
            components = {
                "version": VERSION,
                "layout": layout.key,
                "windows": digest_value(windows),
                "length": params.num_tokens,
                "part": part,
            }
            payload = {
                **components,
                "windows": windows,
                "passages": [written[number].key for number in members],
                "memory": memory_bytes,
            }
            tasks.append(Task(f"{name}, part {part}", key_of(components), components, payload))
    return tasks


def find_matches(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    layout = _layout(cache.get(LAYOUT, payload["layout"]))
    tokens = [mapped(cache.get(PASSAGES, key).file(TOKENS)) for key in payload["passages"]]
    runs = []
    for key in payload["windows"]:
        entry = cache.get(WINDOWS, key)
        first, last = mapped(entry.file(BOUNDS))[payload["part"] : payload["part"] + 2]
        runs.append(mapped(entry.file(RUNS))[first:last])
    scratch = folder / "scratch"
    scratch.mkdir()
    found: dict[str, list[Int64s]] = {MARKED: [], KEPT: []}
    limit = payload["memory"] // BYTES_OF_A_ROW
    for each in repeats(runs, Corpus(layout, tokens), payload["length"], limit, scratch):
        found[MARKED].append(each.marked)
        found[KEPT].append(each.kept)
    scratch.rmdir()
    for name, parts in found.items():
        together = np.concatenate([np.zeros((0, 2), dtype=np.int64), *parts])
        rows, bounds = layout.by_split(together, len(tokens))
        save_array(folder / f"{name}.npy", rows)
        save_array(folder / f"{name}_{BOUNDS}", bounds)
    return {name: sum(map(len, parts)) for name, parts in found.items()}


def spans_tasks(
    link: Link,
    groups: Sequence[Group],
    written: Sequence[Entry],
    windowed: Sequence[Entry],
    matched: Sequence[Entry],
) -> list[Task]:
    """One task a split, in the order of the splits."""
    params: Any = link.params
    tasks: dict[int, Task] = {}
    done = iter(matched)
    for name, members in together(link, groups):
        parts = [next(done).key for _ in range(windowed[members[0]].facts["parts"])]
        for place, number in enumerate(members):
            components = {
                "version": VERSION,
                "passages": written[number].key,
                "matches": digest_value(parts),
                "place": place,
                "length": params.num_tokens,
            }
            payload = {**components, "matches": parts, "tokenizer": params.tokenizer_file}
            tasks[number] = Task(f"{name}, split {number}", key_of(components), components, payload)
    return [tasks[number] for number in sorted(tasks)]


def write_spans(payload: Mapping[str, Any], cache: Cache, folder: Path) -> dict[str, Any]:
    entry = cache.get(PASSAGES, payload["passages"])
    tokens, offsets = mapped(entry.file(TOKENS)), np.asarray(mapped(entry.file(OFFSETS)))
    marked, kept = (
        np.concatenate([np.zeros((0, 2), dtype=np.int64), *_of_split(payload, name, cache)])
        for name in (MARKED, KEPT)
    )
    ranges = cut_tokens(offsets, marked, kept, payload["length"])
    spelling, _ = _spelling(payload["tokenizer"])
    if spelling is None:
        sizes, data, text_offsets = BYTE_SIZES, tokens, offsets
    else:
        sizes = spelling.sizes
        data, text_offsets = mapped(entry.file(TEXT)), np.asarray(mapped(entry.file(TEXT_OFFSETS)))
    spans = byte_spans(ranges, tokens, offsets, sizes, data, text_offsets)
    rows = np.asarray(mapped(entry.file(ROWS)))[spans[:, 0]]
    begins = text_offsets[spans[:, 0]]
    cuts = np.column_stack([rows, spans[:, 1] - begins, spans[:, 2] - begins])
    return {"cuts": len(cuts), "digest": write_cuts(folder, cuts)}


def _of_split(payload: Mapping[str, Any], name: str, cache: Cache) -> Iterator[Int64s]:
    for key in payload["matches"]:
        entry = cache.get(MATCHES, key)
        first, last = mapped(entry.file(f"{name}_{BOUNDS}"))[payload["place"] : payload["place"] + 2]
        yield np.asarray(mapped(entry.file(f"{name}.npy"))[first:last])
