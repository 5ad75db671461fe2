"""The command line of the data half: every verb parses, calls one public function, and prints.

stdout is data (`--json`), stderr is narration. Exit codes: 0 done, 1 something is wrong with what was
checked, 2 the command, the recipe or the input must be changed. From here the way to the hot loop is
run.py, plan.py, task.py, stages/.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from dataprep.cli_corpora import add_verbs
from dataprep.narrate import Narrator, percent, printable
from manifests.errors import UserError

if TYPE_CHECKING:
    from dataprep.recipe import Recipe

app = typer.Typer(
    help="Raw text to verified, versioned token shards.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

RecipeFile = Annotated[Path, typer.Argument(help="The recipe, a YAML file.", show_default=False)]
Sets = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="KEY.PATH=VALUE",
        help="Change a value of the recipe (repeatable).",
        show_default=False,
    ),
]
Workers = Annotated[
    int,
    typer.Option(
        help="Worker processes; 0 runs every task in this one, for debuggers.",
        min=0,
        show_default="all cores",
    ),
]
Sample = Annotated[
    str | None,
    typer.Option(
        metavar="SHARE",
        help="Take a share of the documents of every source, such as 0.1%, and write to OUTPUT.sample.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout instead of tables.")]

INTERRUPTED = 130

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@app.command()
def run(
    recipe: RecipeFile,
    sets: Sets = [],  # noqa: B006 (typer copies it)
    workers: Workers = CORES,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait while another run holds the work folder.")
    ] = False,
    verdicts: Annotated[
        bool,
        typer.Option("--verdicts", help="Write verdicts.parquet: what became of every document, and why."),
    ] = False,
    sample: Sample = None,
    as_json: Json = False,
) -> None:
    """Bring a corpus up to date: read, filter, deduplicate, tokenize, pack, verify.

    What an earlier run finished is kept. The same recipe and inputs give the same bytes, whatever --workers
    is.
    """
    from dataprep.report.terminal import print_report
    from dataprep.run import run as run_recipe

    loaded = _load(recipe, sets, sample)
    result = run_recipe(loaded, workers=workers, wait=wait, verdicts=verdicts, narrator=Narrator())
    published = result.published
    if as_json:
        _print_json(
            {
                "corpus": result.report["corpus"],
                "manifest": str(published.folder / "manifest.json"),
                "content_digest": published.manifest.content_digest,
                "is_new": published.is_new,
                "tasks_run": result.tasks_run,
                "seconds": round(result.seconds, 3),
                **{name: part for name, part in result.report.items() if name != "corpus"},
            }
        )
        return
    print_report(result.report, Console())
    state = "written" if published.is_new else "unchanged"
    print(
        f"{result.report['corpus']} {state} in {result.seconds:.1f} s: {published.folder / 'manifest.json'}"
    )


@app.command()
def plan(
    recipe: RecipeFile,
    sets: Sets = [],  # noqa: B006
    workers: Annotated[int, typer.Option(help="Accepted as in `run`; a plan never depends on it.")] = CORES,
    sample: Sample = None,
    as_json: Json = False,
) -> None:
    """Say what `run` would do and why, stage by stage, without doing it."""
    del workers
    from dataprep.explain_plan import plan_recipe, print_plan

    result = plan_recipe(_load(recipe, sets, sample))
    if as_json:
        _print_json(result)
    else:
        print_plan(result, Console(highlight=False, soft_wrap=True))


@app.command()
def explain(
    recipe: RecipeFile,
    document: Annotated[
        str,
        typer.Argument(help="An id, a raw hash, or FILE:POSITION, as reports name a document."),
    ],
    sets: Sets = [],  # noqa: B006
    source: Annotated[str | None, typer.Option(help="Look in this source only.")] = None,
    as_json: Json = False,
) -> None:
    """Say why a document was kept or dropped: every signal, every rule's verdict, value and threshold.

    Reads what the last run of this recipe measured, and of the text itself only the beginning.
    """
    from dataprep.recipe import load_recipe
    from dataprep.views.explain import explain_document, print_explanation

    found = explain_document(load_recipe(recipe, sets), document, source)
    if as_json:
        _print_json(found)
    else:
        print_explanation(found, Console(highlight=False, soft_wrap=True))


@app.command()
def report(
    corpus: Annotated[Path, typer.Argument(help="The output folder of a run, or its manifest.json.")],
    as_json: Json = False,
) -> None:
    """Show the funnel, the shards and the quarantine of a finished corpus again."""
    from dataprep.report import REPORT_NAME
    from dataprep.report.html import HTML_NAME
    from dataprep.report.terminal import print_report

    folder = corpus if corpus.is_dir() else corpus.parent
    try:
        content = json.loads((folder / REPORT_NAME).read_bytes())
    except FileNotFoundError:
        raise UserError(
            "there is no report here",
            where=str(folder),
            hint="give the output folder of a finished `dataprep run`",
        ) from None
    if as_json:
        _print_json(content)
    else:
        print_report(content, Console())
        if (folder / HTML_NAME).is_file():  # older runs wrote none
            print(f"as a page: {folder / HTML_NAME}")


@app.command()
def verify(
    corpus: Annotated[Path, typer.Argument(help="The manifest, or the folder that holds it.")],
    quick: Annotated[bool, typer.Option("--quick", help="Sizes and digests of small files only.")] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where a verification with --resume was stopped.")
    ] = False,
    workers: Workers = CORES,
    as_json: Json = False,
) -> None:
    """Hash everything a manifest names and compare. Exit code 1 names each bad file and block."""
    from manifests.verify import JOURNAL_NAME
    from manifests.verify import verify as verify_corpus

    narrator = Narrator()
    journal = (corpus if corpus.is_dir() else corpus.parent) / JOURNAL_NAME if resume else None
    with narrator.stage("verify", 100):
        found = verify_corpus(corpus, quick, max(1, workers), percent(narrator), journal)
    if as_json:
        _print_json({**asdict(found), "folder": str(found.folder), "ok": found.ok})
    else:
        for problem in found.problems:
            print(problem)
        for warning in found.warnings:
            narrator.line(f"warning: {warning}")
        how = "sizes, headers and small files checked" if quick else "every byte checked"
        problems = "1 problem" if len(found.problems) == 1 else f"{len(found.problems):,} problems"
        print(
            f"{found.corpus}@{found.version}: {problems} in {found.shards:,} shards, {found.documents:,} "
            f"documents, {found.tokens:,} tokens; {found.bytes:,} bytes, {how}"
        )
    if not found.ok:
        raise typer.Exit(1)


@app.command()
def contamination(
    corpus: Annotated[
        Path, typer.Argument(help="The manifest, or the folder that holds it; or the recipe of a run.")
    ],
    evals: Annotated[
        list[str],
        typer.Option(
            metavar="PATTERN",
            help="Files of evaluation sets to check a corpus against (repeatable).",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    field: Annotated[
        list[str],
        typer.Option(
            metavar="ROLE=NAME",
            help="Where a set that is not well known has its question, choices, answer, answer_index, "
            "context or id (repeatable).",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    definition: Annotated[
        str, typer.Option(help="longest, gpt3, palm, llama3, tulu3 or datatrove.")
    ] = "longest",
    share: Annotated[
        float | None, typer.Option(help="Instead of the definition's.", min=0.000001, max=1)
    ] = None,
    frequent: Annotated[
        int | None,
        typer.Option(
            help="An n-gram in more documents is no evidence while isolated; 0: all are.",
            min=0,
            show_default="10 for longest, else 0",
        ),
    ] = None,
    answer_near: Annotated[
        bool, typer.Option("--answer-near", help="The answer must stand near the question.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(help="A folder for the evidence and the ids of clean and dirty examples."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say which examples of evaluation sets a corpus holds, also of sets that came later; or, of a recipe,
    what its steps `decontaminate` found.

    Prints of each set how many examples are contaminated, and by how many documents. Removes nothing.
    """
    if not evals:
        _contamination_of_run(corpus, output, as_json)
        return
    from dataprep.corpora.contamination import check_corpus, print_contamination, summary, write_contamination
    from dataprep.decide.contamination import FREQUENT, Rule
    from dataprep.evals.options import definition_named, files_named

    narrator = Narrator()
    files, chosen = files_named(evals, field), definition_named(definition, share, answer_near)
    with narrator.stage("contamination", 100):
        often = (FREQUENT if definition == "longest" else 0) if frequent is None else frequent
        report = check_corpus(corpus, files, chosen, Rule(often or None, answer_near), percent(narrator))
    if output is not None:
        write_contamination(report, output)
    if as_json:
        _print_json(summary(report))
    else:
        print_contamination(report, Console())


def _contamination_of_run(path: Path, output: Path | None, as_json: bool) -> None:
    from dataprep.corpora.contamination import print_contamination, summary, write_contamination
    from dataprep.views.contamination import contamination_of_run

    if path.suffix not in (".yaml", ".yml"):
        raise UserError(
            "say which evaluation sets to look for", where=str(path), hint="--evals PATTERN, or name a recipe"
        )
    found = contamination_of_run(_load(path, [], None))
    for label, report in found.items():
        if output is not None:
            write_contamination(report, output / label if len(found) > 1 else output)
        if not as_json:
            print_contamination(report, Console())
    if as_json:
        _print_json({label: summary(report) for label, report in found.items()})


@app.command("train-classifier")
def train_classifier(
    output: Annotated[Path, typer.Option(help="The model to write, .bin; OUTPUT.json says what it is.")],
    positive: Annotated[
        list[str], typer.Option(metavar="PATTERN", help='Files of the label "positive" (repeatable).')
    ] = [],  # noqa: B006
    negative: Annotated[
        list[str], typer.Option(metavar="PATTERN", help='Files of the label "negative" (repeatable).')
    ] = [],  # noqa: B006
    label: Annotated[
        list[str], typer.Option(metavar="NAME=PATTERN", help="Files of any other label (repeatable).")
    ] = [],  # noqa: B006
    text: Annotated[str, typer.Option(help="The field that holds the text.")] = "text",
    normalize: Annotated[str, typer.Option(help="none, or lower: lower case first.")] = "none",
    holdout: Annotated[float, typer.Option(help="Share of documents to measure on.", min=0, max=0.9)] = 0.1,
    word_ngrams: Annotated[int, typer.Option(help="Words of the longest n-gram.", min=1, max=10)] = 2,
    dim: Annotated[int, typer.Option(help="Components of a vector.", min=1, max=1024)] = 100,
    epochs: Annotated[int, typer.Option(help="Times to go over the documents.", min=1)] = 5,
    lr: Annotated[float, typer.Option(help="Learning rate.", min=1e-6, max=10)] = 0.1,
    min_count: Annotated[int, typer.Option(help="Least occurrences of a word.", min=1)] = 1,
    bucket: Annotated[int, typer.Option(help="Rows that n-grams share.", min=1, max=1 << 28)] = 2_000_000,
    seed: Annotated[int, typer.Option(help="Of the order and the first vectors.", min=0)] = 0,
    quantize: Annotated[
        bool, typer.Option("--quantize", help="A model of a few MB, slightly worse.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Train a fastText classifier on files of documents, for the step `classifier`.

    Formats go by suffix. The documents held out are measured afterwards. The same files, seed and library
    give the same model.
    """
    from dataprep.fasttext.training import Training, patterns_of, print_training, train

    training = Training(
        text, normalize, holdout, word_ngrams, dim, epochs, lr, min_count, bucket, seed, quantize
    )
    report = train(patterns_of(positive, negative, label), output, training, Narrator())
    if as_json:
        _print_json(report)
    else:
        print_training(report, Console(highlight=False, soft_wrap=True))
        print(f"{output} written")


def _load(path: Path, sets: list[str], sample: str | None) -> Recipe:
    from dataprep.recipe import load_recipe
    from manifests.units import parse_share

    recipe = load_recipe(path, sets)
    if sample is None:
        return recipe
    try:
        return recipe.sampled(parse_share(sample))
    except ValueError as error:
        raise UserError(str(error), where="--sample") from error


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def call_and_explain(command: Callable[[], Any]) -> int:
    """Run a typer app; print a UserError as `error: ...` and return the exit code."""
    try:
        command()
    except UserError as error:
        print(printable(f"error: {error}"), file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader of stdout has gone: nothing more to say
        return 1
    except OSError as error:  # of the machine: a disk, a permission, a folder where a file should be
        print(printable(f"error: {error}"), file=sys.stderr)
        return 2
    except SystemExit as exit:
        if exit.code == INTERRUPTED:  # typer makes this of a KeyboardInterrupt
            text = "stopped; what was finished is kept, and the same command goes on from there"
            print(f"\n{text}", file=sys.stderr)
        return int(exit.code or 0)
    return 0


add_verbs(app)


def main() -> None:
    sys.exit(call_and_explain(app))


@app.command()
def duplicates(
    recipe: RecipeFile,
    sets: Sets = [],  # noqa: B006
    step: Annotated[str | None, typer.Option(help="Count only what this step removed.")] = None,
    source: Annotated[str | None, typer.Option(help="Count only copies in this source.")] = None,
    top: Annotated[int, typer.Option(help="Clusters to show, the largest first.")] = 10,
    as_json: Json = False,
) -> None:
    """Show the largest clusters of duplicates: what stays, what went, and where their texts differ.

    Reads what the last run of this recipe decided, and the texts that it shows.
    """
    from dataprep.recipe import load_recipe
    from dataprep.views.duplicates import find_duplicates, print_duplicates

    found = find_duplicates(load_recipe(recipe, sets), step, source, top)
    if as_json:
        _print_json(found)
    else:
        print_duplicates(found, Console(highlight=False))


@app.command()
def similar(
    recipe: RecipeFile,
    text: Annotated[str, typer.Option(metavar="FILE", help="The text, in UTF-8; - reads it from stdin.")],
    sets: Sets = [],  # noqa: B006
    threshold: Annotated[
        float | None,
        typer.Option(help="Least Jaccard similarity.", show_default="that of minhash_dedup"),
    ] = None,
    top: Annotated[int, typer.Option(help="Documents to show, the most similar first.")] = 10,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Believe the signatures and read no document again.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find near-duplicates of a text among all documents that were read, kept or dropped.

    By the signatures that the minhash_dedup of this recipe measured in its last run.
    """
    from dataprep.recipe import load_recipe
    from dataprep.views.similar import find_similar, print_similar

    try:
        content = sys.stdin.buffer.read() if text == "-" else Path(text).read_bytes()
    except OSError as error:
        raise UserError(f"cannot read the text: {error.strerror}", where=text) from error
    found = find_similar(load_recipe(recipe, sets), content, threshold, top, estimate)
    if as_json:
        _print_json(found)
    else:
        print_similar(found, Console(highlight=False, soft_wrap=True))
