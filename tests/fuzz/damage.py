"""Damage to bytes, as bad disks, cut downloads and people who mean harm do it."""

from __future__ import annotations

import random
import struct

NUMBERS = (
    *(0, 1, 2, 3, 4, 7, 8, 12, 16, 31, 32, 33, 64, 127, 128, 255, 256, 1000, 4096, 65535, 65536),
    *(2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1),
)


def number(rng: random.Random, size: int) -> bytes:
    """A whole number of so many bytes, little-endian: one at which things change, near it, or any."""
    value = rng.choice(NUMBERS) + rng.choice((0, 0, 0, -1, 1)) if rng.random() < 0.8 else rng.getrandbits(8 * size)
    return struct.pack("<Q", value % 2**64)[:size]


def damaged(rng: random.Random, data: bytes, other: bytes = b"") -> bytes:
    """The bytes with one to four changes. other: bytes of the same kind, to take parts from."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(out) + 1)
        end = min(len(out), at + rng.choice((1, 1, 2, 4, 8, rng.randrange(1, 65))))
        kind = rng.randrange(9)
        if kind == 0 and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            size = rng.choice((1, 2, 4, 8))
            out[at : at + size] = number(rng, size)
        elif kind == 2:
            del out[at:]
        elif kind == 3:
            del out[at:end]
        elif kind == 4:
            out[at:at] = rng.randbytes(rng.randrange(1, 17))
        elif kind == 5:
            out[at:at] = out[at:end]
        elif kind == 6:
            out[at:end] = bytes(end - at)
        elif kind == 7 and other:
            start = rng.randrange(len(other))
            out[at:end] = other[start : start + rng.randrange(1, 65)]
        else:
            out[at:end] = rng.randbytes(end - at)
    return bytes(out)
