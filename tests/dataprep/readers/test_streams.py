from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from dataprep.readers.decompress import DamagedFile
from dataprep.readers.streams import Stream

pieces = st.lists(st.binary(max_size=12), max_size=12)


@given(pieces, st.lists(st.tuples(st.sampled_from(["take", "peek", "skip", "pieces"]), st.integers(0, 15))))
def test_it_is_one_long_string(parts: list[bytes], calls: list[tuple[str, int]]) -> None:
    whole, at, stream = b"".join(parts), 0, Stream(parts)
    for name, count in calls:
        rest = whole[at : at + count]
        if name == "peek":
            assert stream.peek(count) == rest
        elif name == "take":
            assert stream.take(count) == rest
        elif name == "pieces":
            assert b"".join(stream.pieces(count)) == rest
        else:
            assert stream.skip(count) == len(rest)
        at += 0 if name == "peek" else len(rest)
        assert stream.position == at


@given(pieces, st.binary(min_size=1, max_size=3), st.integers(0, 40))
def test_find_looks_no_further_than_the_limit(parts: list[bytes], marker: bytes, limit: int) -> None:
    found = b"".join(parts)[:limit].find(marker)
    assert Stream(parts).find(marker, limit) == (None if found < 0 else found)


@given(st.integers(0, 3), st.integers(65_500, 65_560), st.integers(1, 7))
def test_skip_to_a_marker_at_the_seams(extra: int, before: int, size: int) -> None:
    whole = b"a" * before + b"MARK" + b"b" * extra
    stream = Stream(whole[at : at + 1000 * size] for at in range(0, len(whole), 1000 * size))
    assert stream.skip_to(b"MARK") == before and stream.take(4) == b"MARK"
    assert stream.skip_to(b"MARK") == extra and stream.take(1) == b""


def test_damage_ends_the_stream_and_is_kept() -> None:
    def cut() -> Iterator[bytes]:
        yield b"abc"
        raise DamagedFile("corrupt", "a test", 5)

    stream = Stream(cut())
    assert stream.take(2) == b"ab" and stream.damage is None
    assert stream.take(10) == b"c"
    assert stream.damage is not None and stream.damage.reason == "corrupt"
    assert stream.take(1) == b""
