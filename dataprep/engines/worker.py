"""A worker process of the local engine: task references in on stdin, outcomes out, one JSON line each.

It ends when its stdin closes, so it never outlives the run that started it by more than the task in hand;
what that task commits is keyed by content and does no harm. Anything a library prints goes to stderr.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from dataprep.engines.outcome import TaskReference, call


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the conductor decides when to stop
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        reference = TaskReference(Path(request["plan"]), request["stage"], request["index"])
        kind, result, detail = call(reference, request["entry"])
        answers.write(json.dumps({"kind": kind, "result": result, "detail": detail}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
