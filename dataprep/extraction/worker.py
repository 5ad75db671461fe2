"""The process that parses: pages in on stdin, texts out on stdout, both as frames of length-prefixed bytes.

`python -m dataprep.extraction.worker SETTINGS`, with SETTINGS as JSON, is started by
`dataprep.extraction.client` and by nothing else. A document that uses too much CPU time ends the process by a
signal of the kernel, one that uses too much memory by its exit code; the client finds out which document it
was, and starts another process.

Libraries may swallow an error of memory and give less text, or none. So that no page pays for what others
left in memory, a process that has grown ends before the next page; and a page without text whose process grew
much is taken for one that was out of memory.

in     the number of documents, the length of each, then their bytes one after the other
out    after each document its outcome and the length of its text, then the text

Numbers are 64-bit, little-endian. The process ends when its stdin closes, and with its parent however that
ends, so that none is left behind. Nothing heavy is imported but the parser.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import resource
import signal
import struct
import sys
import time
from typing import IO

from dataprep.extraction.engines import Extract, make_engine
from dataprep.extraction.outcomes import Outcome

READY = b"ready\n"
OUT_OF_MEMORY_EXIT = 77
TIRED_EXIT = 78
_PR_SET_PDEATHSIG = 1
_RECURSION_LIMIT = 1000  # Python's own default, stated because results depend on it


def main() -> None:
    _die_with_parent()
    settings = json.loads(sys.argv[1])
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints goes to stderr
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the conductor's to answer
    sys.setrecursionlimit(_RECURSION_LIMIT)
    extract = make_engine(settings["engine"], settings["options"])
    extract("<html><body><p>What is loaded at first use is loaded now.</p></body></html>")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    statm = os.open("/proc/self/statm", os.O_RDONLY)
    at_start, memory = _address_space(statm), settings["memory_bytes"]
    _limit(resource.RLIMIT_AS, at_start + memory)
    answers.write(READY)
    answers.flush()
    is_fresh = True
    while documents := read_documents(sys.stdin.buffer):
        batch_bytes = sum(map(len, documents))
        for document in documents:
            if not is_fresh and _address_space(statm) > at_start + batch_bytes + memory // 8:
                os._exit(TIRED_EXIT)
            is_fresh = False
            _limit(resource.RLIMIT_CPU, math.ceil(time.process_time()) + settings["cpu_seconds"])
            outcome, text = _extract(extract, document)
            if outcome != Outcome.OK and _peak_address_space() > at_start + memory // 4:
                os._exit(OUT_OF_MEMORY_EXIT)
            answers.write(struct.pack("<qq", outcome, len(text)) + text)
            answers.flush()


def _extract(extract: Extract, document: bytes) -> tuple[Outcome, bytes]:
    try:
        text = extract(document.decode()).encode("utf-8", "replace")
        return (Outcome.OK, text) if text.strip() else (Outcome.EMPTY, b"")
    except MemoryError:
        os._exit(OUT_OF_MEMORY_EXIT)
    except RecursionError:
        return Outcome.TOO_DEEP, b""
    except BaseException:  # a panic in Rust is no Exception; SystemExit is not ours
        return Outcome.FAILED, b""


def read_documents(stdin: IO[bytes]) -> list[bytes]:
    """The next frame; an empty list when there is none any more."""
    head = stdin.read(8)
    if len(head) < 8:
        return []
    (count,) = struct.unpack("<q", head)
    lengths = struct.unpack(f"<{count}q", stdin.read(8 * count))
    documents = [stdin.read(length) for length in lengths]
    if [len(document) for document in documents] != list(lengths):
        return []  # the client ended in the middle of it
    return documents


def write_documents(stdin: IO[bytes], documents: list[bytes]) -> None:
    """The other side of `read_documents`."""
    lengths = [len(document) for document in documents]
    stdin.write(struct.pack(f"<q{len(lengths)}q", len(lengths), *lengths))
    for document in documents:
        stdin.write(document)
    stdin.flush()


def _die_with_parent() -> None:
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before it was asked
        os._exit(1)


def _limit(which: int, value: int) -> None:
    """Set the soft limit; the hard one, which an administrator may have set, stays and is not exceeded."""
    hard = resource.getrlimit(which)[1]
    resource.setrlimit(which, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _address_space(statm: int) -> int:
    """Of this process, whose /proc/self/statm is open as `statm`."""
    return int(os.pread(statm, 100, 0).split()[0]) * resource.getpagesize()


def _peak_address_space() -> int:
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        return 1024 * int(file.read().split("VmPeak:")[1].split()[0])


if __name__ == "__main__":
    main()
