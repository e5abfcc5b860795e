"""Damaged files of optimizer states: what is read comes back from what is written, or the file is refused."""

from __future__ import annotations

import pickletools
import random
import struct
from pathlib import Path

import hybrid as mx
from hybrid.core.error import MXNetError
from hybrid.optimizer import states

from . import REFUSED, RIGHT
from .damage import NUMBERS, damaged

SURFACE = "states"
FOLDER = Path(__file__).parents[2] / "fixtures" / "optimizer"
PIECES = (
    *(
        b"(",
        b".",
        b"0",
        b"1",
        b"N",
        b"]",
        b"}",
        b")",
        b"t",
        b"a",
        b"e",
        b"s",
        b"u",
        b"\x85",
        b"\x86",
        b"\x87",
        b"\x94",
        b"R",
        b"b",
    ),
    *(
        b"\x81",
        b"\x93",
        b"K\x00",
        b"h\x00",
        b"h\x01",
        b"j\x01\x00\x00\x00",
        b"X\x01\x00\x00\x00a",
        b"]" * 100,
        b"\x85" * 3000,
    ),
    *(b"cbuiltins\nbytearray\n", b"c_codecs\nencode\n", b"cnumpy\ndtype\n", b"cnumpy.core.multiarray\nscalar\n"),
    *(
        b"cmxnet.ndarray.ndarray\nNDArray\n",
        b"cmxnet.optimizer.optimizer\nSGD\n",
        b"cos\nsystem\n",
        b"cbuiltins\neval\n",
    ),
)


def seeds() -> list[bytes]:
    found = [path.read_bytes() for path in sorted(FOLDER.glob("*.states"))]
    for name, attrs in (
        ("sgd", {"momentum": 0.9}),
        ("adam", {"lr_scheduler": mx.lr_scheduler.FactorScheduler(2)}),
        ("ftml", {}),
    ):
        made = mx.optimizer.get_updater(mx.optimizer.create(name, **attrs))
        made(0, mx.nd.ones((2, 2)), mx.nd.ones((2, 2)))
        made(1, mx.nd.ones((2, 2)), mx.nd.ones((2, 2)))
        found += [made.get_states(), made.get_states(dump_optimizer=True)]
    return found


def mutate(rng: random.Random, seed: bytes) -> bytes:
    """Operations left out, doubled, exchanged, put in, or given other numbers; or any bytes damaged."""
    if rng.random() < 0.25:
        return damaged(rng, seed)
    starts = [at for _, _, at in pickletools.genops(seed)]
    parts = [seed[a:b] for a, b in zip(starts, [*starts[1:], len(seed)])]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(parts))
        kind = rng.randrange(6)
        if kind == 0 and len(parts) > 1:
            del parts[at]
        elif kind == 1:
            parts[at:at] = parts[at : at + rng.randrange(1, 8)] * rng.choice((1, 1, 50))
        elif kind == 2:
            other = rng.randrange(len(parts))
            parts[at], parts[other] = parts[other], parts[at]
        elif kind == 3:
            parts[at:at] = [rng.choice(PIECES) for _ in range(rng.randrange(1, 4))]
        elif kind == 4:
            value = rng.choice(NUMBERS)
            parts[at] = rng.choice((b"\x8a\x09" + struct.pack("<Q", value) + b"\0", b"G" + rng.randbytes(8), b"N"))
        elif len(parts[at]) > 1:
            parts[at] = parts[at][:1] + damaged(rng, parts[at][1:])
    return b"".join(parts)


def judge(case: bytes) -> str:
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd", momentum=0.9))
    before = (updater.states, updater.optimizer)
    try:
        updater.set_states(case)
    except MXNetError:
        assert (updater.states, updater.optimizer) == before
        return REFUSED
    once = updater.get_states(dump_optimizer=True)
    held, optimizer = states.load(once)
    assert states.dump((held, optimizer)) == once
    updater.sync_state_context(list(updater.states.values()), mx.cpu())
    return RIGHT
