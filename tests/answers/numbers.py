"""Recorded numbers that may not change: every example of every operator with one attribute, or the dtypes, changed, in NumPy.

    python -m tests.answers.numbers        (writes what is computed now, and prints for which operators that has changed)

MXNet's numbers, onnxruntime's and the compiled kernels' are held elsewhere, at attributes that were drawn for them. Here are all
others: of each answer a weighted sum, and how many elements are no finite numbers. Where rounding could make another
answer of it, nothing is recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hybrid.core.error import MXNetError
from hybrid.core.examples import Maker
from hybrid.core.op import OPS, Example, Op
from hybrid.core.shapes import is_known
from hybrid.execution.program import Program
from hybrid.ir.infer import infer
from tests.answers.inference import DTYPES, with_other_attributes
from tests.fuzz.graphs import decomposes
from tests.table.examples import graph_of

RECORDED = Path(__file__).with_name("numbers.json")
REFUSED, UNSTEADY = "-", "~"
LARGE = 1 << 14
"""Elements of an output from which on an example is not computed."""
TOLERANCE = 2e-3
"""Of the sum of magnitudes: float16 rounds by half of it."""
Sum = tuple[float, float, int]
"""The weighted sum of finite elements, the sum of their magnitudes, and the number of others."""


def others(example: Example) -> Iterator[tuple[str, Example | None]]:
    """The example, and what becomes of it with other attributes and dtypes."""
    yield "nothing", example
    yield from with_other_attributes(example)
    first = example.arrays[0].dtype if example.arrays else None
    for dtype in DTYPES:
        if first is not None and first != dtype and first.kind in "fiub":
            with np.errstate(all="ignore"):
                arrays = tuple(a.astype(dtype) if a.dtype == first else a for a in example.arrays)
            yield f"of {dtype}", Example(example.op, arrays)


def total(example: Example) -> Sum | None:
    """Results of an example, as sums; None where it is refused or large."""
    graph, feeds = graph_of(example)
    try:
        found = infer(graph, {n: a.shape for n, a in feeds.items()}, {n: a.dtype for n, a in feeds.items()})
        shapes = [found.spec(e).shape for e in graph.outputs]
        if any(is_known(s) and np.prod(s, dtype=object) > LARGE for s in shapes):
            return None
        outputs = Program(graph, native=False).run({n: a.copy() for n, a in feeds.items()})
    except MXNetError:
        return None
    whole, size, odd = 0.0, 0.0, 0
    for number, y in enumerate(outputs):
        if y.dtype.kind not in "fiub":
            odd += len(str(y.tolist()))
            continue
        with np.errstate(all="ignore"):
            flat = np.clip(y.astype(np.float64).reshape(-1), -1e30, 1e30)
        there = np.abs(flat) < 1e30
        weights = np.cos(np.arange(flat.size) * 2.3 + number) + 1.5
        whole += float((flat * weights)[there].sum())
        size += float(np.abs(flat * weights)[there].sum())
        odd += int((~there).sum())
    return whole, size, odd


def text_of(example: Example) -> str:
    """Record of an example: numbers where a change of inputs by rounding leaves them as they are."""
    first = total(example)
    if first is None:
        return REFUSED
    for factor in (1 + 3e-7, 1 - 3e-7, 1 + 5e-4, 1 - 5e-4):
        arrays = tuple(a if _is_whole(a) else (a * a.dtype.type(factor)).astype(a.dtype) for a in example.arrays)
        second = total(Example(example.op, arrays))
        if second is None or not same(first, second, 3.0):
            return UNSTEADY
    if decomposes(example.op):
        noise = np.random.default_rng(0).uniform(-1e-9, 1e-9, max((a.size for a in example.arrays), default=0))
        arrays = tuple(a + noise[: a.size].reshape(a.shape) if a.dtype.kind in "bi" else a for a in example.arrays)
        second = total(Example(example.op, arrays))
        if second is not None and not same(first, second, 3.0):
            return UNSTEADY
    return f"{first[0]:.4g} {first[2]}" if first[2] else f"{first[0]:.4g}"


def _is_whole(array: np.ndarray) -> bool:
    """True for what may be indices: these are not rounded."""
    return array.dtype.kind != "f" or bool(np.all(array == np.rint(array)))


def same(one: Sum, two: Sum, slack: float = 1.0) -> bool:
    """True where sums are those of the same numbers."""
    return one[2] == two[2] and abs(one[0] - two[0]) <= slack * TOLERANCE * max(one[1], two[1]) + 1e-12


def differences(cls: type[Op], then: list[str]) -> Iterator[str]:
    """Results that differ from those recorded."""
    rows = cases(cls)
    if len(rows) != len(then):
        yield f"{cls.name}: {len(rows)} cases, {len(then)} are recorded"
        return
    for (change, example), said in zip(rows, then):
        if said == UNSTEADY:
            continue
        now = None if example is None else total(example)
        if now is None or said == REFUSED:
            if (now is None) != (said == REFUSED):
                yield f"{cls.name}: {change}: {said} became {now}"
            continue
        whole, _, odd = said.partition(" ")
        if not same((float(whole), 0.0, int(odd or 0)), now):
            yield f"{cls.name}: {change}: {said} became {now}"


def cases(cls: type[Op]) -> list[tuple[str, Example | None]]:
    """All that is tried of an operator."""
    return [
        (f"example {i}, {change}", other)
        for i, example in enumerate(cls.examples(Maker(cls)))
        if len(example.arrays) == len(example.op.input_names())
        for change, other in others(example)
        if other is None or "rng" not in other.op.needs
    ]


def main() -> None:
    """Record all answers anew, where they are not as they were."""
    then = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    now = {}
    for name, cls in sorted(OPS.items()):
        if name in then and not list(differences(cls, then[name])):
            now[name] = then[name]
        elif rows := cases(cls):
            print("changed:", name)
            now[name] = [REFUSED if e is None else text_of(e) for _, e in rows]
    RECORDED.write_text("{\n" + ",\n".join(f'"{n}": {json.dumps(d)}' for n, d in now.items()) + "\n}\n")


if __name__ == "__main__":
    main()
