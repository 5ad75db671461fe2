"""Rules of a recipe that look at more than one field. They see the plain values, beside the models.

So a mistake in one field does not hide one between two others: each rule looks at what is well-formed and
leaves the rest to the models, which complain about it in their own words.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from dataprep.recipe.step_entry import StepEntry, step_entry
from dataprep.steps import step_of
from dataprep.steps.base import needed_fields
from manifests.problems import Problem
from manifests.wording import did_you_mean

OF_AN_INPUT = ("path", "format", "text", "id", "carry", "encoding", "exclude")


def cross_checks(data: Any) -> list[Problem]:
    """Everything that is wrong between fields of a recipe; `data` may be of any shape."""
    if not isinstance(data, Mapping):
        return []
    return [
        *_inputs_are_given_once(data),
        *_steps_name_sources(data),
        *_steps_repeat_for_a_reason(data),
        *_steps_have_their_fields(data),
        *_routes_lead_somewhere(data),
        *_tokenizer_has_one_origin(data),
        *_folders_are_apart(data),
    ]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _steps(data: Mapping[str, Any]) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Index, name and options of the entries that look like steps."""
    entries = data.get("steps")
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        if isinstance(entry, Mapping) and len(entry) == 1:
            name, options = next(iter(entry.items()))
            yield index, name, _mapping(options)


def _inputs_are_given_once(data: Mapping[str, Any]) -> Iterator[Problem]:
    for name, source in _mapping(data.get("sources")).items():
        if not isinstance(source, Mapping):
            continue
        given = [key for key in OF_AN_INPUT if source.get(key) is not None]
        if source.get("inputs") is not None:
            for key in given:
                message = 'given beside "inputs"; it belongs to each of them, or leave "inputs" out'
                yield Problem(("sources", name, key), message, about_key=True)
        elif "path" not in given:
            yield Problem(("sources", name), 'no input; it needs "path" or "inputs"')


def _steps_name_sources(data: Mapping[str, Any]) -> Iterator[Problem]:
    sources = list(_mapping(data.get("sources")))
    for index, step, options in _steps(data):
        at = ("steps", index, step)
        if options.get("only") is not None and options.get("except") is not None:
            yield Problem((*at, "except"), "given beside only; one of the two says it all", about_key=True)
        for key in ("only", "except"):
            names = options.get(key)
            if not isinstance(names, list) or not sources:
                continue
            for place, name in enumerate(names):
                if isinstance(name, str) and name not in sources:
                    yield Problem((*at, key, place), f'no source "{name}"{did_you_mean(name, sources)}')
                elif name in names[:place]:
                    yield Problem((*at, key, place), f'"{name}" is listed twice')
            if key == "except" and all(source in names for source in sources):
                yield Problem((*at, key), "leaves no source, so the step does nothing; remove the step")


def _steps_repeat_for_a_reason(data: Mapping[str, Any]) -> Iterator[Problem]:
    """A step may come again with other parameters, but for one whose matches must all be documents that
    stay."""
    seen: list[tuple[int, StepEntry]] = []
    for index, name, options in _steps(data):
        try:
            entry = step_entry({name: dict(options)})
        except ValidationError:
            continue
        at = ("steps", index, name)
        for before, other in seen:
            if other.name != name:
                continue
            if name == "minhash_dedup":
                message = f"{name} is already step {before}; another could remove the matches of the first"
                yield Problem(at, message, about_key=True)
                break
            if other.parameters == entry.parameters:
                message = f"the same as step {before}; a step comes again only with other parameters"
                if (other.only, other.except_) != (entry.only, entry.except_):
                    message += " (for more sources, name them all in one entry)"
                yield Problem(at, message, about_key=True)
                break
        seen.append((index, entry))


def _steps_have_their_fields(data: Mapping[str, Any]) -> Iterator[Problem]:
    """What a step needs is carried by every input of the sources that it runs on."""
    for index, name, options in _steps(data):
        try:
            entry = step_entry({name: dict(options)})
        except ValidationError:
            continue
        needed = needed_fields(step_of(name), entry.parameters, ())
        for source, settings in _mapping(data.get("sources")).items():
            if not _runs_on(options, source):
                continue
            lacks = [field for field in needed if not _is_carried(field, settings)]
            if lacks:
                fields = ", ".join(lacks)
                message = f"needs what source {source} does not carry; say carry: [{fields}] there"
                yield Problem(("steps", index, name), f"{message}, or keep the step off it with except")


def _is_carried(field: str, source: Any) -> bool:
    """Whether every input of a source carries a field. What is not well-formed does."""
    inputs = _mapping(source).get("inputs")
    carried = [_mapping(each).get("carry") for each in (inputs if isinstance(inputs, list) else [source])]
    return all(field in (carry or ()) for carry in carried if carry is None or isinstance(carry, list))


def _routes_lead_somewhere(data: Mapping[str, Any]) -> Iterator[Problem]:
    """`route:` names a step that measures on its source, and sources that there are not yet."""
    sources = _mapping(data.get("sources"))
    counts: dict[str, int] = {}
    steps: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for _, name, options in _steps(data):
        counts[name] = counts.get(name, 0) + 1
        steps[name if counts[name] == 1 else f"{name}#{counts[name]}"] = name, options
    made: dict[str, str] = {}
    for source, settings in sources.items():
        route = _mapping(_mapping(settings).get("route"))
        at = ("sources", source, "route")
        by = route.get("by")
        if isinstance(by, str):
            label, _, signal = by.rpartition(".")
            step, options = steps.get(label, ("", {}))
            if not label or not signal:
                yield Problem((*at, "by"), 'expected "step.signal", such as language.label')
            elif not step:
                yield Problem((*at, "by"), f'no step "{label}"{did_you_mean(label, list(steps))}')
            elif not _runs_on(options, source):
                yield Problem((*at, "by"), f"{label} does not run on {source}")
        for name in _mapping(route.get("to")):
            if name in sources:
                yield Problem((*at, "to", name), f'"{name}" is a source already', about_key=True)
            elif name in made:
                message = f'"{name}" is already made of {made[name]}; a source is made of one'
                yield Problem((*at, "to", name), message, about_key=True)
            made[name] = source


def _runs_on(options: Mapping[str, Any], source: str) -> bool:
    only, excepted = options.get("only"), options.get("except")
    if isinstance(only, list):
        return source in only
    return not isinstance(excepted, list) or source not in excepted


def _tokenizer_has_one_origin(data: Mapping[str, Any]) -> Iterator[Problem]:
    tokenizer = data.get("tokenizer")
    if not isinstance(tokenizer, Mapping):
        return
    given = [key for key in ("train", "file") if tokenizer.get(key) is not None]
    if not given:
        yield Problem(("tokenizer",), "needs train: {vocab_size: ...} or file: a tokenizer.json")
    elif len(given) == 2:
        yield Problem(("tokenizer", "file"), "given beside train; a tokenizer has one origin", about_key=True)


def _folders_are_apart(data: Mapping[str, Any]) -> Iterator[Problem]:
    """The work folder is disposable, the output is checked for strange files: neither holds the other."""
    folders = {key: data[key] for key in ("output", "work") if isinstance(data.get(key), str) and data[key]}
    for key, folder in folders.items():
        if "://" in folder:
            yield Problem((key,), "expected a local folder, found a URL")
        elif posixpath.normpath(folder) in (".", "/", ".."):
            yield Problem((key,), f'"{folder}" is not a folder of its own; name one that a run may fill')
    if len(folders) == 2:
        output, work = (posixpath.normpath(folders[key]) for key in ("output", "work"))
        if output == work:
            yield Problem(("work",), "the same folder as output")
        elif work.startswith(f"{output}/"):
            yield Problem(("work",), "inside output, which holds the corpus and nothing else")
        elif output.startswith(f"{work}/"):
            yield Problem(("work",), "holds output; the work folder may be deleted at any time")
