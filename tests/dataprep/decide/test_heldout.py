"""Held-out documents: a stable share by hash, at least one a source, and no copy of one in training."""

from __future__ import annotations

import numpy as np

from dataprep.decide import heldout
from dataprep.decide.heldout import Forced, hash_key


def held_out(mixed: np.ndarray, source: np.ndarray, kept: np.ndarray, share: float) -> np.ndarray:
    """Looked at in two parts, the later one first."""
    forced = Forced(share)
    half = len(mixed) // 2
    forced.look(mixed[half:], source[half:], kept[half:])
    forced.look(mixed[:half], source[:half], kept[:half])
    return heldout.held_out(mixed, kept, share, forced.hashes())


def hashes(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, (count, 2), dtype=np.uint64)


def test_the_share_is_met_and_a_larger_share_keeps_the_smaller_one() -> None:
    mixed, source, kept = hashes(100_000), np.zeros(100_000, np.int32), np.ones(100_000, bool)
    one = held_out(mixed, source, kept, 0.01)
    two = held_out(mixed, source, kept, 0.02)
    assert 900 < one.sum() < 1100
    assert 1850 < two.sum() < 2150
    assert not (one & ~two).any()


def test_new_documents_move_no_old_choice() -> None:
    mixed = hashes(10_000)
    source, kept = np.zeros(10_000, np.int32), np.ones(10_000, bool)
    old = held_out(mixed[:5_000], source[:5_000], kept[:5_000], 0.01)
    new = held_out(mixed, source, kept, 0.01)
    assert (new[:5_000] == old).all()


def test_a_small_source_holds_out_its_least_hash_and_all_copies_of_it() -> None:
    mixed = np.array([[2**63, 5], [2**63, 4], [2**63 + 1, 0], [2**63, 4], [2**63 + 7, 0]], dtype=np.uint64)
    source = np.array([0, 0, 0, 1, 1], dtype=np.int32)
    chosen = held_out(mixed, source, np.ones(5, bool), 0.001)
    assert chosen.tolist() == [False, True, False, True, False]


def test_a_source_with_one_document_keeps_it_for_training_and_share_zero_holds_out_nothing() -> None:
    mixed = np.array([[2**63, 0]], dtype=np.uint64)
    assert not held_out(mixed, np.zeros(1, np.int32), np.ones(1, bool), 0.01).any()
    assert not held_out(hashes(100), np.zeros(100, np.int32), np.ones(100, bool), 0.0).any()


def test_dropped_documents_are_never_held_out() -> None:
    kept = np.zeros(1000, bool)
    kept[::2] = True
    chosen = held_out(hashes(1000), np.zeros(1000, np.int32), kept, 0.5)
    assert chosen.any()
    assert not (chosen & ~kept).any()


def test_keys_differ_by_purpose_and_name() -> None:
    keys = {hash_key(purpose, name) for purpose in ("holdout", "shuffle") for name in ("a", "b", "a\0b")}
    assert len(keys) == 6
    assert all(len(key) == 16 for key in keys)
