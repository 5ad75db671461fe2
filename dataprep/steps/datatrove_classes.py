"""Classes of datatrove, by the name that a recipe gives them: found, held against the arguments that they
get, made, and tried once, so that what is wrong with them shows before a run starts.

What is known of them is the table KNOWN, written from datatrove 0.10.1; tests hold it against the installed
version. Some are refused: what they keep depends on chance, on the order of documents or on the internet.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, get_args

from manifests.errors import UserError
from manifests.wording import describe, did_you_mean

Kind = Literal["filter", "formatter", "extractor"]
METHODS: dict[Kind, str] = {"filter": "filter", "formatter": "format", "extractor": "extract"}


@dataclass(frozen=True, slots=True)
class Known:
    """What a class of datatrove does that its signature does not say.

    rewrites  a filter that changes text, too
    remembers its answers depend on the documents before, so that each document gets a new instance
    packages  whose versions its answers depend on
    file      the argument that names a file
    """

    rewrites: bool = False
    remembers: bool = False
    packages: tuple[str, ...] = ()
    file: str | None = None


KNOWN = {
    "C4ParagraphFilter": Known(),
    "C4QualityFilter": Known(rewrites=True),
    "FastTextClassifierFilter": Known(
        rewrites=True, packages=("fasttext-numpy2-wheel", "spacy", "regex"), file="model_url"
    ),
    "FineWebQualityFilter": Known(),
    "GopherQualityFilter": Known(),
    "GopherRepetitionFilter": Known(),
    "RegexFilter": Known(),
    "FTFYFormatter": Known(packages=("ftfy",)),
    "PIIFormatter": Known(remembers=True),  # takes the next of its replacements each time
    "SymbolLinesFormatter": Known(),
    # Its memory is trafilatura's own, of paragraphs of all pages: see `forget`.
    "Trafilatura": Known(packages=("trafilatura", "lxml", "justext", "courlan", "htmldate")),
}
OTHER = Known(rewrites=True, remembers=True)
"""Any other class: nothing is known of it, so nothing is assumed."""

REFUSED = {
    "C4BadWordsFilter": "it downloads its word lists, and keeps a share of what they hit by chance",
    "LambdaFilter": "a recipe holds no functions; name yours as a step of its own, package.module:function",
    "LanguageFilter": "it downloads its model; the step `language` reads it from a file",
    "ReadabilityInscriptis": "datatrove 0.10 asks for its dependency by a name that no package can have",
    "SamplerFilter": "which documents it keeps depends on their order, and on chance",
    "UnigramLogProbFilter": "it downloads its word frequencies",
    "URLFilter": "it asks the internet for the list of public suffixes, and for the day's at that",
}
REFUSED_ARGUMENTS = {
    "exclusion_writer": "dropped documents are counted by reason, and `dataprep run --verdicts` lists them",
    "timeout": "what a page gives would depend on how busy the machine is",
}

# Arguments of trafilatura's that the class sets itself, or that name objects and files.
_NOT_OF_TRAFILATURA = (
    "filecontent", "favor_precision", "include_comments", "deduplicate", "config", "settingsfile", "options",
    "kwargs",
)  # fmt: skip

# datatrove's word and sentence splitters, by class: what they call. The two that fetch models are refused.
_SPLITTERS = {
    "SpaCyTokenizer": ("spacy", "jieba", "pyvi", "sudachipy", "sudachidict-core"),
    "WhitespaceTokenizer": ("spacy", "regex"),
    "ThaiTokenizer": ("pythainlp",),
    "IndicNLPTokenizer": ("indic-nlp-library",),
    "KiwiTokenizer": ("kiwipiepy",),
    "KhmerTokenizer": ("khmer-nltk",),
    "LaoTokenizer": ("laonlp",),
    "BurmeseTokenizer": ("pyidaungsu-numpy2", "spacy", "regex"),
}


def rewrites(kind: Kind, name: str) -> bool:
    """Whether a class may change text. Imports nothing."""
    return kind != "filter" or KNOWN.get(name, OTHER).rewrites


def made(kind: Kind, name: str, arguments: str) -> Any:
    """An instance for the next document; `arguments` as JSON text. Never two for one that remembers."""
    return _make(kind, name, arguments) if KNOWN.get(name, OTHER).remembers else _kept(kind, name, arguments)


def forget(name: str) -> None:
    """Clear what a library remembers of the documents before."""
    if name == "Trafilatura":
        # Paragraphs that it saw on other pages are left out (`deduplicate`): only those of this page may be.
        importlib.import_module("trafilatura.deduplication").LRU_TEST.clear()


@lru_cache(maxsize=64)
def check_class(kind: Kind, name: str, arguments: str) -> Mapping[str, str]:
    """Find a class, check its arguments, make one and try it. Return the versions that its answers depend on.

    Raises UserError for whatever is wrong.
    """
    where = f"step datatrove, {kind} {name}"
    if name in REFUSED:
        raise UserError(f"{name} cannot be a step: {REFUSED[name]}", where=where)
    found, given = _class(kind, name, where), json.loads(arguments)
    try:
        _check_arguments(found, given, where)
        instance = _make(kind, name, arguments)
        packages = [*KNOWN.get(name, OTHER).packages, *_splitter_packages(instance, where)]
        if KNOWN.get(name, OTHER).file is None:
            _try(kind, instance)
    except UserError:
        raise
    except ImportError as error:
        raise UserError(
            f"{name} needs a package that is not installed: {error}",
            where=where,
            hint="pip install 'headrace[datatrove]', or the package that it names",
        ) from error
    except Exception as error:
        raise UserError(f"{name} does not take these arguments: {error}", where=where) from error
    return {"datatrove": version("datatrove"), **_versions(packages)}


def _class(kind: Kind, name: str, where: str) -> Any:
    module = f"datatrove.pipeline.{kind}s"
    try:
        classes = dict(inspect.getmembers(importlib.import_module(module), inspect.isclass))
    except ImportError as error:
        raise UserError(
            f"the step datatrove needs the package datatrove: {error}",
            where=where,
            hint="pip install 'headrace[datatrove]'",
        ) from error
    if name not in classes:
        choices = [each for each in classes if each not in REFUSED]
        raise UserError(f"datatrove has no {kind} {name}{did_you_mean(name, choices)}", where=where)
    return classes[name]


def _check_arguments(found: Any, given: Mapping[str, Any], where: str) -> None:
    parameters = dict(inspect.signature(found).parameters)
    valid = [each for each in _names(found, parameters) if each not in REFUSED_ARGUMENTS]
    for name, value in given.items():
        if name in REFUSED_ARGUMENTS:
            raise UserError(f"{name} is not taken: {REFUSED_ARGUMENTS[name]}", where=where)
        if name not in valid:
            raise UserError(f"unknown argument {name}{did_you_mean(name, valid)}", where=where)
        if name in parameters:
            _check_value(name, value, parameters[name], where)
    missing = [
        name
        for name, each in parameters.items()
        if each.default is each.empty and each.kind is not each.VAR_KEYWORD and name not in given
    ]
    if missing:
        raise UserError(f"the argument {missing[0]} is missing", where=where, hint="write it under `with:`")


def _names(found: Any, parameters: Mapping[str, inspect.Parameter]) -> Iterator[str]:
    for name, each in parameters.items():
        if each.kind is not each.VAR_KEYWORD:
            yield name
        elif found.__name__ == "Trafilatura":
            extract = importlib.import_module("trafilatura").extract
            theirs = inspect.signature(extract).parameters
            yield from (each for each in theirs if each not in _NOT_OF_TRAFILATURA)


def _check_value(name: str, value: Any, parameter: inspect.Parameter, where: str) -> None:
    """Numbers and booleans are told apart, since Python compares them with each other; the annotations of
    datatrove are not exact enough for more."""
    default = parameter.default
    is_right: bool = True
    if isinstance(default, bool):
        is_right, want = isinstance(value, bool), "true or false"
    elif isinstance(default, int | float):
        is_right, want = isinstance(value, int | float) and not isinstance(value, bool), "a number"
        is_right = is_right or (value is None and type(None) in get_args(parameter.annotation))
    if not is_right:
        raise UserError(f"{name}: expected {want}, found {describe(value)}", where=where)


def _make(kind: Kind, name: str, arguments: str) -> Any:
    found = getattr(importlib.import_module(f"datatrove.pipeline.{kind}s"), name)
    return found(**{key: _tuples(value) for key, value in json.loads(arguments).items()})


_kept = lru_cache(maxsize=64)(_make)


def _tuples(value: Any) -> Any:
    """A JSON value with tuples for lists: some classes ask for one, and none for a list."""
    return tuple(_tuples(each) for each in value) if isinstance(value, list) else value


def _try(kind: Kind, instance: Any) -> None:
    if kind == "filter":
        instance.filter(importlib.import_module("datatrove.data").Document(text="One word.", id=""))
    else:
        getattr(instance, METHODS[kind])("<p>One word.</p>")


def _splitter_packages(instance: Any, where: str) -> tuple[str, ...]:
    """The packages behind the words and sentences of `language`, if the class has one."""
    language = getattr(instance, "language", None)
    if language is None:
        return ()
    splitter = importlib.import_module("datatrove.utils.word_tokenizers").load_word_tokenizer(language)
    name = type(splitter).__name__
    if name not in _SPLITTERS:
        raise UserError(
            f"the words of {language} need a model that {name} fetches from the internet", where=where
        )
    return _SPLITTERS[name]


def _versions(packages: list[str]) -> dict[str, str]:
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # not every splitter needs all that its class may call
            continue
    return dict(sorted(found.items()))
