"""Engines that do what pages may do to a parser; the worker process imports this module by its name."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any


def planted(options: Mapping[str, Any]) -> Callable[[str], str]:
    """Upper case, but for pages that say what else is to happen. `options["log"]` is a file that every page
    leaves a line in, with the number of the process."""

    def extract(html: str) -> str:
        if "log" in options and not html.startswith("<html>"):
            with open(options["log"], "a", encoding="utf-8") as file:
                file.write(f"{os.getpid()} {html[:40]}\n")
        word, _, argument = html.partition(" ")
        match word:
            case "crash":
                ctypes.string_at(0)
            case "abort":
                os.abort()
            case "rust-out-of-memory":
                os.write(2, b"memory allocation of 123 bytes failed\n")
                os.abort()
            case "exit":
                os._exit(int(argument))
            case "sys.exit":
                sys.exit("no")
            case "hang":
                while True:
                    pass
            case "sleep":
                time.sleep(float(argument))
            case "kill":  # what an operator or the system may do
                os.kill(os.getpid(), signal.SIGKILL)
            case "kill-once":
                if not os.path.exists(argument):
                    open(argument, "w").close()
                    os.kill(os.getpid(), signal.SIGKILL)
            case "eat":
                held = []
                while True:
                    held.append(bytearray(64 << 20))
            case "swallow":  # as libraries do
                try:
                    held = []
                    while True:
                        held.append(bytearray(64 << 20))
                except MemoryError:
                    del held
                    return ""
            case "keep":  # memory that a later page pays for
                _KEPT.append(bytearray(int(argument)))
            case "raise":
                raise ValueError("a page")
            case "recurse":
                return extract("recurse ")
            case "print":
                print("to stdout", flush=True)
            case "surrogate":
                return "\ud800x"
        return html.upper()

    return extract


_KEPT: list[bytearray] = []


def broken(options: Mapping[str, Any]) -> Callable[[str], str]:
    raise ImportError("a missing package")
