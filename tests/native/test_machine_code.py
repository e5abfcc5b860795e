"""Machine code of the microkernels: a flag or another version of it can halve them, and no result would show it.

GCC moves broadcasts out of inner loops when it may, runs out of registers and then stores and loads vectors on each pass. The
inner loops of products and convolutions, which are those that multiply and add the most, must not touch the stack."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid import native

pytestmark = [
    pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there"),
    pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump, which reads machine code, is not there"),
]

FOLDER = Path(native.__file__).parent
LEAST = 8
"""Multiplications and additions of a loop that counts as a microkernel's, if it also spreads data over vectors."""

_CODE = re.compile(r"^\s*([0-9a-f]+):\s+(.*)$")
_JUMP = re.compile(r"^j\w+\s+([0-9a-f]+)")
_STACK = re.compile(r"^v?mov(?:[au]p[sd]|dq[au]\d*)\s.*((?<!\w)\(%rsp|0x\w+\(%rsp|-0x\w+\(%rbp)")


def disassembled(library: Path) -> str:
    command = ["objdump", "-d", "--no-show-raw-insn", str(library)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def loops(text: str) -> Iterator[list[str]]:
    """The instructions of every innermost loop."""
    code = [(int(m[1], 16), m[2]) for m in map(_CODE.match, text.splitlines()) if m]
    index = {address: i for i, (address, _) in enumerate(code)}
    barrier = -1  # where the last jump was: what goes back behind it is not innermost
    for i, (_, instruction) in enumerate(code):
        jump = _JUMP.match(instruction)
        if not jump:
            continue
        start = index.get(int(jump[1], 16), i)
        if barrier < start < i:
            yield [text for _, text in code[start:i]]
        barrier = i


def is_microkernel(body: list[str]) -> bool:
    products = sum(text.startswith(("vfmadd", "mulps", "vpdpbusd", "vpmaddwd")) for text in body)
    spreads = re.compile(r"(?!.*\(%rip\))(.*\{1to16\}|vbroadcastss|vpbroadcastd|shufps +\$0x0)")
    spread = sum(spreads.match(text) is not None for text in body)
    return products >= LEAST and spread >= 2 and not any(text.startswith(("call", "ret")) for text in body)


def spilling(text: str) -> tuple[int, list[str]]:
    """Number of microkernels, and those that use the stack."""
    found = list(filter(is_microkernel, loops(text)))
    return len(found), ["\n".join(body) for body in found if any(map(_STACK.match, body))]


@pytest.mark.parametrize("name", native.LEVELS)
def test_microkernels_keep_their_sums_in_registers(name):
    (library,) = FOLDER.glob(f"_kernels_{name}*")
    count, spilled = spilling(disassembled(library))
    assert count >= 8, "these are not the microkernels"
    assert not spilled, "\n\n".join(spilled[:3])


@pytest.mark.parametrize(
    "extra",
    ["vmovaps %zmm5,0x40(%rsp)", "vmovups 0x40(%rsp),%zmm5", "movaps %xmm1,(%rsp)", "vmovaps %ymm0,-0x90(%rbp)"],
)
def test_a_spill_is_seen(extra):
    body = ["vmovups (%rsi),%zmm1", *["vfmadd231ps 0x4(%rdi){1to16},%zmm1,%zmm2"] * 8, "add $0x40,%rsi"]
    for lines, count in ((body, 0), ([*body, extra], 1), ([*body, "vmovups 0x40(%rbp),%zmm5"], 0)):
        text = "\n".join(f"  {i:x}:\t{line}" for i, line in enumerate(["nop", *lines, "jne    1"]))
        assert [len(spilling(text)[1]), spilling(text)[0]] == [count, 1]
