"""Documentation strings of Python sources: one document a file, its docstrings in source order between blank
lines.

Module, classes and functions at any depth, with the indentation taken off. A file that does not parse is bad
(`unparsable`): that depends on the running Python, whose version is therefore in the keys (`depends`). A file
without docstrings gives an empty text, for a rule to drop. The source's own encoding cookie counts; sizes and
damage are as in `dataprep.readers.text`.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator

from dataprep.readers.extents import Split
from dataprep.readers.records import BadDocument, Chunk, ReadOptions
from dataprep.readers.text import read_whole_files

VERSION = 1
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def read(split: Split, options: ReadOptions) -> Iterator[Chunk]:
    """One record a file."""
    return read_whole_files(split, options, docstrings)


def depends() -> dict[str, str]:
    """Which Python's grammar decides."""
    return {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}


def docstrings(source: bytes) -> str:
    """All docstrings of a source file. Raises BadDocument if it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in somebody else's strings
            module = ast.parse(source)
    except (SyntaxError, ValueError) as error:  # ValueError: NUL bytes
        raise BadDocument("unparsable", f"{type(error).__name__}: {error}") from error
    except (RecursionError, MemoryError) as error:  # how the parser reports expressions that nest too deep
        raise BadDocument("unparsable", "nested too deep") from error
    text = "\n\n".join(_collect(module))
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadDocument("lone_surrogate", "an escaped surrogate in a docstring is no character") from error
    return text


def _collect(module: ast.Module) -> Iterator[str]:
    # Docstrings belong to statements, which nest far less deep than expressions; a stack keeps source order.
    stack: list[ast.AST] = [module]
    while stack:
        node = stack.pop()
        if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node)):
            yield text
        children = (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))
        stack.extend(reversed(list(children)))
