"""Every operator on arrays of its examples that have lost an axis: an answer or a refusal, without a warning."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hybrid.core.error import InternalError, MXNetError
from hybrid.core.op import Example
from hybrid.execution.program import Program

from .examples import examples, graph_of


def emptied(example: Example) -> Iterator[Example]:
    """The example without anything along all axes of one size, for each size that it has."""
    op, arrays = example
    for size in sorted({d for a in arrays for d in a.shape}):
        yield Example(op, tuple(a[tuple(slice(0 if d == size else None) for d in a.shape)] for a in arrays))


def test_nothing_is_computed_without_a_word() -> None:
    wrong, answers = [], 0
    for example in examples():
        if "rng" in example.op.needs:
            continue
        for empty in emptied(example):
            shapes = [a.shape for a in empty.arrays]
            try:
                graph, feeds = graph_of(empty)
                found = Program(graph, native=False).run({n: a.copy() for n, a in feeds.items()})
                answers += all(isinstance(y, np.ndarray) for y in found)
            except InternalError as error:
                wrong.append(f"{empty.op!r} of {shapes}: {error}")
            except MXNetError:
                continue
    assert answers > 1000
    assert not wrong, "\n".join(wrong)
