"""GPT-2's printable stand-ins for the 256 bytes, in which byte-level vocabularies are written."""

from __future__ import annotations


def byte_alphabet() -> dict[str, int]:
    """Character -> byte: bytes that print stand for themselves, the rest, in order, for the code points from
    256 on."""
    printing = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printing)]
    return {chr(byte): byte for byte in printing} | {
        chr(256 + place): byte for place, byte in enumerate(others)
    }


_SPELLING = {byte: char for char, byte in byte_alphabet().items()}


def spelled(data: bytes) -> str:
    """Bytes as such characters."""
    return "".join([_SPELLING[byte] for byte in data])
