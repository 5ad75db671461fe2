"""Verbs of the command line that take corpora and token files that are there already; see dataprep/corpora.

`add_verbs` is called once, by cli.py. As there, a verb parses, calls one public function, and prints.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from dataprep.narrate import Narrator, percent, printable
from manifests.errors import UserError

if TYPE_CHECKING:
    from manifests.releases import Release

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

Corpus = Annotated[
    Path, typer.Argument(help="The manifest, or the folder that holds it.", show_default=False)
]
Out = Annotated[Path, typer.Argument(help="The folder to write; new or empty.", show_default=False)]
Output = Annotated[Path, typer.Option(help="The folder to write; new or empty.", show_default=False)]
Named = Annotated[
    list[str], typer.Option("--source", metavar="NAME=FILES", help="Token files to train on (repeatable).")
]
Link = Annotated[
    str, typer.Option(help="How files get their second name: auto, hard, symbolic or copy.", metavar="HOW")
]
Threads = Annotated[int, typer.Option("--workers", help="Threads.", min=1, show_default="all cores")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Root = Annotated[
    str | None,
    typer.Option("--root", help="The folder where those are published that are named name@version."),
]
Store = Annotated[
    str,
    typer.Argument(
        metavar="ROOT", help="Where corpora are published: a folder, or a URL such as s3://bucket/corpora."
    ),
]


def import_tokens(
    output: Output,
    corpus: Annotated[str, typer.Option(help="Name of the new corpus.")],
    tokenizer: Annotated[Path, typer.Option(help="The tokenizer that made the tokens.")],
    source: Named,
    version: Annotated[str, typer.Option(help="Version of the new corpus.")] = "1.0.0",
    holdout: Annotated[
        list[str], typer.Option(metavar="NAME=FILES", help="Token files held out (repeatable).")
    ] = [],  # noqa: B006 (typer copies it)
    license: Annotated[
        list[str], typer.Option(metavar="NAME=LICENCE", help="Of a source (repeatable).")
    ] = [],  # noqa: B006
    layout: Annotated[str, typer.Option(help="auto (by name), megatron, datatrove, raw or mds.")] = "auto",
    dtype: Annotated[
        str | None, typer.Option(help="Of tokens in files that do not say it: uint16, uint32, ...")
    ] = None,
    eos: Annotated[
        str | None, typer.Option(help="The end-of-text token, where it has no usual name.")
    ] = None,
    bos: Annotated[
        str | None, typer.Option(help="The begin-of-text token, where it has no usual name.")
    ] = None,
    link: Link = "auto",
    workers: Threads = CORES,
    as_json: Json = False,
) -> None:
    """Make a corpus around token files of Megatron, datatrove, OLMo or llm-foundry, without copying them.

    FILES is a file, a folder or a quoted pattern. The files are read, counted, hashed and linked.
    """
    from dataprep.corpora.importing import import_corpus
    from dataprep.corpora.spec import ImportSpec

    made = import_corpus(
        ImportSpec(
            corpus,
            version,
            tokenizer,
            _lists(source),
            _lists(holdout),
            dict(map(_pair, license)),
            layout,
            dtype,
            eos,
            link,
            bos,
        ),
        output,
        workers,
    )
    if as_json:
        _print_json(
            {
                "manifest": str(made.folder / "manifest.json"),
                "content_digest": made.manifest.content_digest,
                "found": {name: facts.to_json() for name, facts in made.facts.items()},
                "reproduced": {name: list(counts) for name, counts in made.reproduced.items()},
                "notes": made.notes,
            }
        )
        return
    for note in made.notes:
        typer.echo(printable(f"note: {note}"), err=True)
    for name, facts in made.facts.items():
        equal, tried = made.reproduced[name]
        print(
            f"{name}: {facts.documents:,} documents, {facts.tokens:,} tokens; {facts.end_with_eos:,} "
            f"end with the end-of-text token, {facts.eos_inside:,} have it inside; {facts.begin_with_bos:,} "
            f"start with the begin-of-text token; {equal} of {tried} decoded and encoded again have the same "
            "ids"
        )
    print(f"{made.manifest.corpus}@{made.manifest.version} imported: {made.folder / 'manifest.json'}")


def combine(
    parents: Annotated[list[str], typer.Argument(help="Corpora: folders, or name@version with --root.")],
    output: Output,
    corpus: Annotated[str, typer.Option(help="Name of the new corpus.")],
    version: Annotated[str, typer.Option(help="Version of the new corpus.")] = "1.0.0",
    rename: Annotated[
        list[str], typer.Option(metavar="CORPUS/SOURCE=NAME", help="Another name for a source (repeatable).")
    ] = [],  # noqa: B006
    root: Root = None,
    link: Link = "auto",
    as_json: Json = False,
) -> None:
    """Make one corpus over the shards of several, without writing tokens again.

    Tokenizers must agree, and no held-out document of one may be a training document of another.
    """
    from dataprep.corpora.combining import combine as combine_corpora

    made = combine_corpora(
        [_corpus(parent, root) for parent in parents], output, corpus, version, dict(map(_pair, rename)), link
    )
    if as_json:
        digest = made.manifest.content_digest
        _print_json(
            {"manifest": str(made.folder / "manifest.json"), "content_digest": digest, "notes": made.notes}
        )
        return
    for note in made.notes:
        typer.echo(printable(f"note: {note}"), err=True)
    names = ", ".join(made.manifest.sources)
    print(f"{made.manifest.corpus}@{made.manifest.version} of {names}: {made.folder / 'manifest.json'}")


def pack(
    corpus: Corpus,
    output: Output,
    sequence_length: Annotated[
        list[int], typer.Option(help="Inputs of a row: 2048, say (repeatable).", show_default=False)
    ],
    version: Annotated[
        str | None, typer.Option(help="Version of the new corpus, if it is to be published beside the old.")
    ] = None,
    link: Link = "auto",
    workers: Threads = CORES,
    as_json: Json = False,
) -> None:
    """Plan packed rows for a corpus that is there: the same tokens, and no document cut without need.

    A recipe does this itself (shards: {pack: best_fit}); this is for corpora that were imported or combined.
    """
    from dataprep.corpora.packing import pack_corpus
    from dataprep.report.packing import packing_of
    from dataprep.report.terminal import print_packing
    from manifests.corpus import open_corpus

    manifest = pack_corpus(corpus, output, sequence_length, version, link, workers)
    rows = packing_of(manifest.packings, open_corpus(output).shards)
    path = str(output / "manifest.json")
    if as_json:
        _print_json({"manifest": path, "content_digest": manifest.content_digest, "packing": rows})
        return
    print_packing(rows, Console(highlight=False))
    print(f"{manifest.corpus}@{manifest.version} packed: {path}")


def publish(corpus: Corpus, root: Store, workers: Threads = CORES, as_json: Json = False) -> None:
    """Make a corpus available as name@version in a folder or an object store.

    It is verified in full before it gets the name, and a published version never changes.
    """
    from manifests.store import publish as publish_corpus

    if root.startswith("memory:"):
        typer.echo("note: memory:// is the memory of this process; nothing stays when it ends", err=True)
    narrator = Narrator()
    with narrator.stage("publish", 100):
        made = publish_corpus(corpus, root, workers, percent(narrator))
    _print_release(made, "published" if made.is_new else "is published already", as_json)


def fetch(
    reference: Annotated[
        str, typer.Argument(metavar="NAME@VERSION", help="Or NAME@latest, NAME@1, NAME@1.2.")
    ],
    root: Store,
    folder: Out,
    workers: Threads = CORES,
    as_json: Json = False,
) -> None:
    """Bring a published corpus to a folder, verified in full before the folder is there.

    One that was stopped goes on where it was.
    """
    from manifests.store import fetch as fetch_corpus

    narrator = Narrator()
    with narrator.stage("fetch", 100):
        made = fetch_corpus(reference, root, folder, workers, percent(narrator))
    _print_release(made, "fetched" if made.is_new else "is there already", as_json)


def published(
    root: Store,
    name: Annotated[str | None, typer.Argument(help="Only the versions of this corpus.")] = None,
    as_json: Json = False,
) -> None:
    """List what is published, oldest versions first."""
    from manifests.store import published as published_at

    found = published_at(root, name)
    if not found:
        typer.echo(printable(f"note: nothing is published at {root}"), err=True)
    if as_json:
        _print_json({"published": [asdict(each) for each in found]})
        return
    for each in found:
        print(f"{each.corpus}@{each.version}  {each.size_bytes:,} bytes  {each.content_digest}  {each.place}")


def peek(
    corpus: Corpus,
    doc: Annotated[
        str | None, typer.Option(metavar="ID", help="An id, a content hash, or FILE:POSITION.")
    ] = None,
    token: Annotated[
        int | None, typer.Option(help="A token by number: of --source, or of all shards.")
    ] = None,
    shard: Annotated[str | None, typer.Option(help="A shard, by name or number; with --row.")] = None,
    row: Annotated[int | None, typer.Option(help="A document of --shard.")] = None,
    source: Annotated[str | None, typer.Option(help="Look in this source only.")] = None,
    subset: Annotated[str, typer.Option(help="train or holdout, for --token of a source.")] = "train",
    as_json: Json = False,
) -> None:
    """Show one document of a corpus: its text, and where it came from."""
    from dataprep.corpora.peek import peek as peek_at
    from dataprep.corpora.peek import print_peek

    found = peek_at(corpus, doc, token, shard, row, source, subset)
    if as_json:
        _print_json(found)
    else:
        print_peek(found, Console(highlight=False, soft_wrap=True))


def lineage(
    corpus: Corpus,
    shard: Annotated[
        str | None, typer.Option(help="Only this shard, and the raw files it came from.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show where a corpus came from, as a tree: recipe, parents, sources, steps, shards, raw files."""
    from dataprep.corpora.lineage import lineage as lineage_of
    from dataprep.corpora.lineage import print_lineage

    found = lineage_of(corpus, shard)
    if as_json:
        _print_json(found)
    else:
        print_lineage(found, Console(highlight=False, soft_wrap=True))


def diff(left: Corpus, right: Corpus, as_json: Json = False) -> None:
    """Say what differs between two corpora: recipe, inputs, steps, counts, and documents by content hash.

    Exit code 0: the same tokens; 1: other tokens.
    """
    from dataprep.corpora.compare import compare, print_difference

    found = compare(left, right)
    if as_json:
        _print_json(found)
    else:
        print_difference(found, Console(highlight=False, soft_wrap=True))
    if not found["identical"]:
        raise typer.Exit(1)


def export(
    corpus: Corpus,
    out: Out,
    to: Annotated[str, typer.Option(help="parquet, huggingface, olmo, datatrove or megatron.")],
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Export texts that are not exact too, and mark them.")
    ] = False,
    link: Link = "auto",
    workers: Threads = CORES,
    as_json: Json = False,
) -> None:
    """Write the texts of a corpus, or its tokens in the layout of another tool.

    Texts are decoded from tokens and compared with the hash of what was tokenized. Token files are links.
    """
    from dataprep.corpora.exporting import export as export_corpus

    made = export_corpus(corpus, out, to, approximate, link, workers)
    if as_json:
        _print_json({**asdict(made), "folder": str(made.folder)})
        return
    marked = f", {made.inexact:,} of them not known to be exact" if made.inexact else ""
    print(
        f"{made.documents:,} documents{marked}, {made.tokens:,} tokens, {made.files:,} files: {made.folder}"
    )


def train_tokenizer(
    output: Annotated[
        Path,
        typer.Option(
            help="The tokenizer.json or, for unigram, the .model to write; a report lies beside it."
        ),
    ],
    source: Annotated[list[str], typer.Option(metavar="NAME=FILES", help="Files to train on (repeatable).")],
    vocab_size: Annotated[int, typer.Option(help="Ids, bytes and the end-of-text token included.")],
    weight: Annotated[
        list[str], typer.Option(metavar="NAME=SHARE", help="Share of the sample; else 1 (repeatable).")
    ] = [],  # noqa: B006
    sample: Annotated[str, typer.Option(metavar="SIZE", help="Text to train on, in all.")] = "100MB",
    seed: Annotated[int, typer.Option(help="Of the choice of texts.", min=0)] = 0,
    text: Annotated[str, typer.Option(help="The field that holds the text.")] = "text",
    model: Annotated[str, typer.Option(help="bpe (byte-level), or unigram (needs sentencepiece).")] = "bpe",
    language_field: Annotated[
        list[str],
        typer.Option(metavar="NAME=FIELD", help="What names a source's languages, to measure each."),
    ] = [],  # noqa: B006
    compare: Annotated[
        list[Path], typer.Option(metavar="FILE", help="Another tokenizer to measure (repeatable).")
    ] = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """Train a tokenizer on a sample of files, and measure it beside others.

    The same texts, weights and seed give the same bytes.
    """
    from dataprep.tokenizers.learn import TokenizerTraining, learn, print_learned
    from manifests.units import parse_size

    try:
        sample_bytes = parse_size(sample)
        weights = {name: float(share) for name, share in map(_pair, weight)}
    except ValueError as error:
        raise UserError(str(error), where="--sample, --weight") from error
    languages = dict(map(_pair, language_field))
    training = TokenizerTraining(
        vocab_size, sample_bytes, weights, seed, text, model=model, languages=languages
    )
    report = learn(_lists(source), output, training, compare, Narrator())
    if as_json:
        _print_json(report)
    else:
        print_learned(report, Console(highlight=False))
        print(f"{output} written: {report['tokenizer']['vocab_size']:,} ids")


def schema(
    name: Annotated[
        str, typer.Argument(help="recipe, manifest, shard, packing, input, receipt or published.")
    ],
) -> None:
    """Print the JSON Schema of a kind of file, for editors and other programs."""
    from dataprep.schemas import text_of

    print(text_of(name), end="")


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not name or not separator or not value:
        raise UserError(f"{text!r} is not of the form NAME=VALUE")
    return name, value


def _lists(pairs: Sequence[str]) -> dict[str, list[str]]:
    """NAME=VALUE, repeatable, as name -> values."""
    found: dict[str, list[str]] = {}
    for name, value in map(_pair, pairs):
        found.setdefault(name, []).append(value)
    return found


def _corpus(reference: str, root: str | None) -> Path:
    if root is None or "@" not in reference:
        return Path(reference)
    from manifests.store import resolve

    return resolve(reference, root)


def _print_release(release: Release, done: str, as_json: bool) -> None:
    if as_json:
        _print_json(asdict(release))
    else:
        print(f"{release.corpus}@{release.version} {done}: {release.size_bytes:,} bytes at {release.place}")


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


VERBS: dict[str, Callable[..., None]] = {
    "import": import_tokens,
    "combine": combine,
    "pack": pack,
    "publish": publish,
    "published": published,
    "fetch": fetch,
    "peek": peek,
    "lineage": lineage,
    "diff": diff,
    "export": export,
    "schema": schema,
    "train-tokenizer": train_tokenizer,
}


def add_verbs(app: typer.Typer) -> None:
    """Add these verbs to the command line."""
    for name, function in VERBS.items():
        app.command(name)(function)
