"""Ends of a run that are told as a message: nothing typed is wrong, and a traceback would say no more.

    RunError
      NonFinite     loop.py     a loss or gradient is not a number; no weight was changed
      RankFailed    ddp.py      another rank failed, and its own output says why
      RanksDiffer   ddp.py      ranks were started with different configs, data or packages
      Superseded    writer.py   a newer attempt has taken over the run folder

What the user can mend is a `manifests.errors.UserError`; everything else is a bug and keeps its traceback.
"""

from __future__ import annotations


class RunError(RuntimeError):
    """The run cannot go on. `str(error)` is all there is to say; the command line exits with 1."""


class NonFinite(RunError):
    """A loss or gradient norm that is infinite or not a number, seen before weights changed."""


class RankFailed(RunError):
    """Another rank failed and said so; this one stops with it."""


class RanksDiffer(RunError):
    """Ranks that must agree before the first step do not."""


class Superseded(RunError):
    """A newer attempt has started in the run folder."""
