"""The control tensor: signals become flags, flags become one decision, failures are told before they are
raised.
"""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from trainer.control import Control, Decision
from trainer.errors import RankFailed


def test_signals_become_flags_and_handlers_are_put_back() -> None:
    said: list[str] = []
    control = Control(said.append)
    before = signal.getsignal(signal.SIGTERM)
    with control.listen():
        assert control.flags(None, 0).tolist() == [0, 0, 0, 0]
        os.kill(os.getpid(), signal.SIGUSR1)
        assert control.flags(None, 0).tolist() == [0, 1, 0, 0]
        assert control.flags(None, 0).tolist() == [0, 0, 0, 0], "a save is asked for once"
        os.kill(os.getpid(), signal.SIGTERM)
        assert control.flags(None, 0).tolist() == [1, 0, 0, 0]
        assert control.flags(None, 0).tolist() == [1, 0, 0, 0], "a stop stays"
    assert signal.getsignal(signal.SIGTERM) == before
    assert said == ["SIGTERM: saving and stopping at the next step boundary"]


def test_a_second_interrupt_does_not_wait() -> None:
    control = Control(lambda text: None)
    with control.listen():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_any_rank_decides_for_all() -> None:
    control = Control(lambda text: None)
    quiet = control.flags(None, 0)
    assert Control.decide(quiet, None) == Decision(False, False)
    control.stop = True
    assert Control.decide(quiet + control.flags(None, 1), None) == Decision(True, False)


def test_a_failure_ends_all_ranks() -> None:
    control = Control(lambda text: None)
    failure = OSError("shard is gone")
    total = control.flags(None, 0) + control.flags(failure, 5)
    with pytest.raises(RankFailed, match="rank 5 failed"):
        Control.decide(total, None)
    with pytest.raises(OSError, match="shard is gone"):
        Control.decide(total, failure)
    with pytest.raises(RankFailed, match="2 other ranks"):
        Control.decide(np.array([0, 0, 2, 9]), None)
