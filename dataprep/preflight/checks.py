"""What can be known to fail is refused before work starts, all at once: inputs, fields, tokenizer, disks.

`dataprep/recipe/` has checked the text of the recipe; this looks at the disks, reads at most a megabyte a
format of an input, and writes nothing. What it cannot see (a bad record, a full disk later on) the run itself
reports. The folders and the room in them are in `folders.py`, the look at a file in `peek.py`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dataprep.chain import Link, labels
from dataprep.older import folder_of, older_of
from dataprep.preflight.evals import check_evals
from dataprep.preflight.folders import (
    Estimate,
    check_disk,
    check_folders,
    check_inputs_apart,
    estimate_bytes,
    free_bytes,
)
from dataprep.preflight.keeps import check_keeps
from dataprep.preflight.peek import NUMBER, TEXT, peek
from dataprep.preflight.routes import check_routes
from dataprep.readers import ReadOptions
from dataprep.readers.fields import wanted
from dataprep.readers.formats import FORMATS_BY_SUFFIX, resolve
from dataprep.readers.listing import InputFile, list_inputs
from dataprep.recipe import Input, Recipe
from dataprep.recipe.model import Tokenizer
from dataprep.steps import step_of
from dataprep.steps.base import consulted
from dataprep.steps.ranking import DedupParams
from dataprep.tokenizers import describe
from dataprep.tokenizers.backends import reference_name
from dataprep.tokenizers.files import load_tokenizer
from dataprep.tokenizers.unigram import least_vocab_size
from manifests.errors import UserError
from manifests.nodes import Loc
from manifests.problems import Problem
from manifests.shard import dtype_for_vocab
from manifests.wording import did_you_mean, nearest


@dataclass(frozen=True, slots=True)
class Preflight:
    """What was found on the way: `files[source][index]` are those of the source's input, listed but once."""

    files: dict[str, tuple[tuple[InputFile, ...], ...]]
    estimate: Estimate


def preflight(
    recipe: Recipe, *, needs_room: bool = True, free: Callable[[Path], int] = free_bytes
) -> Preflight:
    """Look at everything; raise one UserError with all that is wrong, by file and line.

    needs_room   whether too little disk space is wrong; False where nothing will be written
    free         free bytes of the disk that holds a folder
    """
    problems: list[Problem] = []
    listed: dict[str, tuple[tuple[InputFile, ...], ...]] = {}
    for name, source in recipe.sources.items():
        listed[name] = ()
        for index, each in enumerate(source.inputs):
            loc: Loc = ("sources", name) if source.listed is None else ("sources", name, "inputs", index)
            files = _list(each, recipe.exclude, loc, problems)
            listed[name] += (tuple(files),)
            problems += check_inputs_apart(recipe, files, loc)
            problems += _check_formats(each, recipe.read_options(source, each), files, loc)
    problems += check_routes(recipe)
    problems += check_keeps(recipe)
    problems += _check_steps(recipe)
    problems += check_evals(recipe)
    width, more = _check_tokenizer(recipe)
    problems += more
    problems += check_folders(recipe)
    by_source = {name: [file for files in inputs for file in files] for name, inputs in listed.items()}
    estimate = estimate_bytes(recipe, by_source, width)
    if needs_room:
        problems += check_disk(recipe, estimate, free)
    if problems:
        raise recipe.refusal(problems)
    return Preflight(listed, estimate)


def _list(each: Input, excluded: Sequence[str], loc: Loc, problems: list[Problem]) -> list[InputFile]:
    """The files of an input. Where they cannot be listed none, and what is wrong with each pattern."""
    exclude = [*each.exclude, *excluded]
    try:
        return list_inputs(list(each.path), exclude)
    except UserError as error:
        found = [error]
    if len(each.path) > 1:  # it stops at the first bad pattern, and we want all
        found = [wrong for path in each.path if (wrong := _fault(path, exclude)) is not None] or found
    problems += [Problem((*loc, "path"), _one_line(error)) for error in found]
    return []


def _fault(path: str, exclude: Sequence[str]) -> UserError | None:
    try:
        list_inputs([path], exclude)
    except UserError as error:
        return error
    return None


def _one_line(error: UserError) -> str:
    where = "" if error.where is None else f": {error.where}"
    return f"{error.what}{where}" + ("" if error.hint is None else f"; {error.hint}")


def _check_formats(
    each: Input, options: ReadOptions, files: Sequence[InputFile], loc: Loc
) -> Iterator[Problem]:
    """Whether every file has a format, and the first of each format the fields that the recipe names."""
    seen: set[str | None] = set()
    for file in files:
        format = resolve(each.format, file.name)
        if format in seen:
            continue
        if format is None:
            known = ", ".join(FORMATS_BY_SUFFIX)
            message = f"the suffix of {file.path} is none of {known}; say which format it has"
            yield Problem((*loc, "format"), message)
            seen.add(format)
        elif file.size_bytes:
            yield from _check_fields(options, file, format, loc)
            seen.add(format)


def _check_fields(options: ReadOptions, file: InputFile, format: str, loc: Loc) -> Iterator[Problem]:
    found = peek(file, format, options.encoding)
    if found is None:
        return
    among = "" if found.records is None else f" the first {found.records} records of"
    for each in dict.fromkeys(wanted(options)):
        if each.path not in found.fields:
            close = nearest(each.path, list(found.fields))
            # A record may lack what is optional or carried, and so may all of the first; a misspelt name has
            # the right one near it.
            if each.optional or (each.key == "carry" and found.records is not None and close is None):
                continue
            names = [*([] if close is None else [close]), *(name for name in found.fields if name != close)]
            guess = did_you_mean(each.path, names).replace("valid:", "it has")
            yield Problem((*loc, each.key), f'no field "{each.path}" in{among} {file.path}{guess}')
            continue
        kinds = {TEXT, NUMBER} if each.numbers_too else {TEXT}
        if each.key != "carry" and not kinds & set(found.fields[each.path]):
            holds = " and ".join(found.fields[each.path])
            message = f'the field "{each.path}" holds {holds} in{among} {file.path}'
            yield Problem((*loc, each.key), f"{message}, not {' or '.join(sorted(kinds))}")


def _check_steps(recipe: Recipe) -> Iterator[Problem]:
    """Whether the files that steps measure and judge by can be used, which would show later, singly."""
    output = Path(recipe.output).resolve()
    for index, (label, entry) in enumerate(zip(labels(recipe.steps), recipe.steps, strict=True)):
        try:
            step_of(entry.name).depends(entry.parameters)
            consulted(step_of(entry.name), entry.parameters)
            if isinstance(entry.parameters, DedupParams):
                if any(folder_of(each).resolve() == output for each in entry.parameters.against):
                    raise UserError("against names the output of this recipe, so nothing would be left")
                older_of(Link(label, step_of(entry.name), entry.parameters))
        except UserError as error:
            yield Problem(("steps", index, entry.name), _one_line(error))


def _check_training(settings: Tokenizer) -> Iterator[Problem]:
    """Whether a tokenizer can be trained as the recipe asks, and encode as it asks."""
    assert settings.train is not None
    unigram = settings.train.model == "unigram"
    reference = "sentencepiece" if unigram else "tokenizers"
    if settings.engine not in ("auto", reference):
        message = f"{settings.engine} cannot encode with what is trained here; its reference is {reference}"
        yield Problem(("tokenizer", "engine"), message)
    if not unigram:
        if settings.prepend_bos:
            message = "what is trained here has no begin-of-text token to prepend; say prepend_bos: false"
            yield Problem(("tokenizer", "prepend_bos"), f"{message}, or train: {{model: unigram}}")
        return
    least = least_vocab_size(settings.prepend_bos)
    if settings.train.vocab_size < least:
        message = f"a Unigram vocabulary needs {least} ids for bytes, special tokens and one character"
        yield Problem(("tokenizer", "train", "vocab_size"), message)
    if importlib.util.find_spec(reference) is None:
        message = "sentencepiece trains Unigram vocabularies: pip install 'headrace[sentencepiece]'"
        yield Problem(("tokenizer", "train", "model"), message)


def _check_tokenizer(recipe: Recipe) -> tuple[int, list[Problem]]:
    """Bytes of a token id, and what is wrong with the tokenizer's file."""
    settings = recipe.tokenizer
    if settings.train is not None:
        return dtype_for_vocab(settings.train.vocab_size).itemsize, list(_check_training(settings))
    at = ("tokenizer", "file")
    try:
        definition = load_tokenizer(Path(str(settings.file)))
        facts = describe(definition)
    except UserError as error:
        return 2, [Problem(at, f"{settings.file}: {_one_line(error)}")]
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        reason = "not a UTF-8 text" if reason is None else reason.lower()
        return 2, [Problem(at, f"cannot read {settings.file}: {reason}")]
    reference = reference_name(definition)
    if settings.engine not in ("auto", reference):
        message = f"{settings.engine} cannot encode with {settings.file}; its reference is {reference}"
        return 2, [Problem(("tokenizer", "engine"), message)]
    if reference == "sentencepiece" and importlib.util.find_spec(reference) is None:
        message = f"{settings.file} is a SentencePiece model: pip install 'headrace[sentencepiece]'"
        return 2, [Problem(at, message)]
    if settings.append_eos and facts.eos_id is None:
        message = f"{settings.file} has no end-of-text token to append; say append_eos: false"
        return 2, [Problem(at, message)]
    if settings.prepend_bos and facts.bos_id is None:
        message = f"{settings.file} has no begin-of-text token to prepend; say prepend_bos: false"
        return 2, [Problem(("tokenizer", "prepend_bos"), message)]
    return dtype_for_vocab(facts.vocab_size).itemsize, []
