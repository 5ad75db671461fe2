"""The card of an exported dataset: README.md of a Hugging Face dataset folder.

Says what the manifest says: sources, licences, counts, steps with what they dropped and why,
decontamination, and where it came from. The front matter gives each source a configuration of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from manifests.corpus import Corpus
from manifests.manifest import Manifest, StepRecord

LICENSES = frozenset(
    "apache-2.0 mit cc0-1.0 cc-by-2.0 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-4.0 "  # noqa: SIM905
    "cc-by-nc-sa-4.0 odc-by pddl odbl gpl-3.0 lgpl-3.0 bsd-3-clause gfdl psfl unlicense".split()
)
"""Identifiers that the Hub knows; any other licence is `other` there, and named in the table of sources."""

SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B")
"""What the Hub calls numbers of rows, by power of ten from three on."""


def dataset_card(corpus: Corpus, inexact: int) -> str:
    """The text of README.md. inexact: documents whose text is not known to be the one that was tokenized."""
    manifest = corpus.manifest
    front = yaml.safe_dump(_front_matter(corpus), sort_keys=False, allow_unicode=True, width=100)
    return f"---\n{front}---\n\n" + "\n".join(_body(manifest, inexact)) + "\n"


def _front_matter(corpus: Corpus) -> dict[str, object]:
    manifest = corpus.manifest
    documents = sum(shard.documents for shard in corpus.shards)
    licenses = list(dict.fromkeys(_license(source.license) for source in manifest.sources.values()))
    configs = [_config("default", "*", corpus, list(manifest.sources))]
    configs += [_config(name, name, corpus, [name]) for name in manifest.sources]
    return {
        "pretty_name": f"{manifest.corpus} {manifest.version}",
        "license": licenses[0] if len(licenses) == 1 else licenses,
        "task_categories": ["text-generation"],
        "size_categories": [SIZES[min(max(len(str(documents)) - 3, 0), len(SIZES) - 1)]],
        "configs": [config for config in configs if config["data_files"]],
    }


def _config(name: str, folder: str, corpus: Corpus, sources: list[str]) -> dict[str, object]:
    splits = [
        subset
        for subset in ("train", "holdout")
        if any(corpus.shards_of(source, subset) for source in sources)
    ]
    files = [{"split": subset, "path": f"data/{folder}/{subset}-*.parquet"} for subset in splits]
    return {"config_name": name, "data_files": files, **({"default": True} if name == "default" else {})}


def _license(name: str | None) -> str:
    if name is None:
        return "unknown"
    return name.lower() if name.lower() in LICENSES else "other"


def _body(manifest: Manifest, inexact: int) -> Iterator[str]:
    yield f"# {manifest.corpus} {manifest.version}"
    yield ""
    yield f"Made by {manifest.created_by}. Content digest of the tokens: `{manifest.content_digest}`."
    if inexact:
        yield ""
        yield (
            f"The texts were decoded from tokens. {inexact:,} of them are not known to be exactly "
            "what was tokenized; "
            "the column `is_exact` says which."
        )
    yield from ("", "## Sources", "", "| source | subset | documents | tokens | bytes of text | licence |")
    yield "|---|---|---:|---:|---:|---|"
    for name, source in manifest.sources.items():
        for subset, counts in source.subsets.items():
            if counts.documents:
                yield (
                    f"| {name} | {subset} | {counts.documents:,} | {counts.tokens:,} | "
                    f"{counts.text_bytes:,} | "
                    f"{_cell(source.license or 'not stated')} |"
                )
    yield from ("", "## Steps", "")
    steps = manifest.lineage.steps
    if not steps:
        yield "No step is on record: the tokens were made elsewhere."
    else:
        yield from ("| step | source | documents in | documents out | dropped |", "|---|---|---:|---:|---|")
        for step in steps:
            yield from _step_rows(step)
    yield from ("", "## Decontamination", "")
    yield from _evals(manifest)
    yield from ("", "## Origin", "")
    yield f"Recipe `{manifest.lineage.recipe_digest}`, tokenizer `{manifest.tokenizer.digest}`."
    yield from (f"- made with {parent}" for parent in manifest.lineage.parents)


def _step_rows(step: StepRecord) -> Iterator[str]:
    for source, documents_in in step.documents_in.items():
        reasons = step.dropped.get(source, {})
        dropped = ", ".join(f"{_cell(reason)} {count:,}" for reason, count in reasons.items()) or "none"
        documents_out = step.documents_out.get(source, 0)
        yield f"| {_cell(step.name)} | {source} | {documents_in:,} | {documents_out:,} | {dropped} |"


def _evals(manifest: Manifest) -> Iterator[str]:
    """The evaluation sets that the corpus was checked against, and what was done."""
    if not manifest.lineage.evals:
        yield "This corpus was not checked against evaluation sets."
        return
    yield "| evaluation set | definition | action | sources | examples | found |"
    yield "|---|---|---|---|---:|---:|"
    for each in manifest.lineage.evals:
        sources = "all" if each.sources is None else ", ".join(each.sources)
        found = "not counted" if each.contaminated is None else f"{each.contaminated:,}"
        cells = (_cell(each.name), _cell(each.definition), each.action, sources, f"{each.examples:,}", found)
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield "What was found before documents were dropped or cut is in the last column; the steps say how many."


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("`", "'")
