"""A function that a recipe names as `package.module:function`: found, and held against the arguments it will
get.

It is looked for where Python looks, the current folder first: so in the command as in its workers, which are
started as `python -m`. Nothing here runs while a recipe is validated, only when a run is planned and in its
workers.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from types import ModuleType
from typing import Any

from manifests.errors import UserError
from manifests.wording import did_you_mean

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)


def is_function_name(name: str) -> bool:
    """Whether a name has the form `package.module:function`."""
    return _NAME.fullmatch(name) is not None


def find_function(name: str) -> Callable[..., Any]:
    """Import the function. Raises UserError that says what is missing."""
    module_name, _, attribute = name.partition(":")
    module = _module(module_name, name)
    function = getattr(module, attribute, None)
    if function is None:
        choices = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise UserError(
            f"{module_name} has no function {attribute}{did_you_mean(attribute, choices)}",
            where=f"step {name}",
            hint=f"the module was found at {getattr(module, '__file__', None) or 'no file'}",
        )
    if not callable(function) or inspect.iscoroutinefunction(function):
        kind = "a coroutine function" if callable(function) else f"of type {type(function).__name__}"
        raise UserError(f"{attribute} in {module_name} is {kind}, not a function", where=f"step {name}")
    return function


def check_arguments(name: str, function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Raise UserError unless the function takes one argument by position, and these by name."""
    try:
        inspect.signature(function).bind(object(), **arguments)
    except ValueError:  # some functions written in C tell no signature
        return
    except TypeError as error:
        names = ", ".join(arguments) or "nothing else"
        raise UserError(
            f"{name} does not take a text and {names}: {error}",
            where=f"step {name}",
            hint=f"it takes {inspect.signature(function)}; what is under `with:` is passed by name",
        ) from error


def _module(module_name: str, name: str) -> ModuleType:
    folder = os.getcwd()
    if folder not in sys.path and "" not in sys.path:
        sys.path.insert(0, folder)
    try:
        with redirect_stdout(sys.stderr):
            return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise UserError(
                f"there is no module {error.name}",
                where=f"step {name}",
                hint=f"install it, put it on PYTHONPATH, or run where it lies; {folder} was looked in first",
            ) from error
        raise _broken(name, module_name, error) from error
    except (Exception, SystemExit) as error:
        raise _broken(name, module_name, error) from error


def _broken(name: str, module_name: str, error: BaseException) -> UserError:
    message = " ".join(str(error).split())
    return UserError(
        f"importing {module_name} raised {type(error).__name__}: {message}",
        where=f"step {name}",
        hint=f"python -c 'import {module_name}' shows where",
    )
