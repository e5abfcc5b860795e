"""Each operator's examples with other sizes, by a graph that was traced for sizes that vary: what the compiled part makes of the
trace for new sizes is what NumPy computes for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from hybrid import native
from hybrid.core.error import MXNetError
from hybrid.core.op import Op
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from tests.grouped import each
from tests.table.examples import Numbered, examples, numbered

pytestmark = pytest.mark.skipif(native.level() is None, reason="nothing is compiled")
LIMIT = 1e-5
ALGEBRA = ("linalg", "linalg_decompositions", "np_linalg")
"""Families of what solves and decomposes: numbers that come again in other rows would be matrices of less than full rank."""
MOST = 1 << 16


def _sizes(shapes: Sequence[tuple[int, ...]]) -> Iterator[Callable[[int, int, int], int]]:
    """Ways to change sizes, each from (input, axis, number of the call): first axes, all of them, last ones; sizes that are the
    same stay the same."""
    yield lambda i, axis, call: shapes[i][axis] + (call if axis == 0 else 0)
    yield lambda i, axis, call: shapes[i][axis] + call
    yield lambda i, axis, call: shapes[i][axis] * (call + 1 if axis >= len(shapes[i]) - 2 else 1)
    yield lambda i, axis, call: shapes[i][axis] + (2 * call if i == 0 and axis == len(shapes[i]) - 1 else 0)


def _differences(op: Op, arrays: Sequence[np.ndarray]) -> tuple[int, list[str]]:
    """Number of calls that ran what was traced, and those that gave something else than NumPy."""
    variables = [Node(None, f"x{i}") for i in range(len(arrays))]
    node = Node(op, "y", [Entry(v) for v in variables])
    graph = Graph([Entry(node, i) for i in range(op.num_visible_outputs())])
    shapes = [a.shape for a in arrays]
    traced, problems = 0, []
    for number, change in enumerate(_sizes(shapes)):
        program = Program(graph)
        for call in range(4):
            given = [
                np.resize(a, tuple(change(i, axis, call) if a.shape[axis] > 1 else 1 for axis in range(a.ndim)))
                for i, a in enumerate(arrays)
            ]
            if sum(a.size for a in given) > MOST:
                break
            if type(op).__module__.rpartition(".")[2] in ALGEBRA:
                given = [
                    a + 4 * np.eye(*a.shape[-2:], dtype=a.dtype) if a.ndim > 1 and a.dtype.kind == "f" else a
                    for a in given
                ]
            feeds = {v.name: a.copy() for v, a in zip(variables, given)}
            try:
                prepared = program.prepare(tuple(x for n in program.names for x in (feeds[n].shape, feeds[n].dtype)))
                ordered = [feeds[n] for n in program.names]
                wanted = prepared.reference.run([a.copy() for a in ordered])
            except MXNetError:
                break  # the operator has other sizes
            if prepared.bound is prepared.reference:
                break
            got = prepared.bound.run(ordered)
            symbols = getattr(prepared.bound, "symbols", ())
            traced += bool(symbols) and call > 1
            for which, (a, b) in enumerate(zip(got, wanted, strict=True)):
                if not _alike(a, b):
                    problems.append(f"change {number}, call {call}, output {which}: {a.shape} and {b.shape}")
    return traced, problems


def _alike(got: np.ndarray, wanted: np.ndarray) -> bool:
    """True where numbers are the same up to rounding, and texts are the same."""
    if got.shape != wanted.shape or wanted.dtype == object:
        return np.array_equal(got, wanted)
    scale = 1.0
    if wanted.dtype.kind in "fiub":
        scale = np.abs(wanted.astype(np.float64)).max(initial=1, where=np.isfinite(wanted))
    numbers = got.astype(np.float64), wanted.astype(np.float64)
    return np.allclose(*numbers, rtol=0, atol=LIMIT * scale, equal_nan=True)


ALL = list(enumerate(examples()))


@each(ALL, numbered, share=2)
def test_other_sizes_give_what_numpy_computes(row: Numbered) -> None:
    op, arrays = row[1]
    if "rng" not in op.needs and not op.mutates and not any(a.dtype == object for a in arrays):
        _, problems = _differences(op, arrays)
        assert not problems
