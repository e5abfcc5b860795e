"""Applications of the operators that there are kernels of: their examples, what MXNet was asked, what passes write, and, for the
operators of gradients, what they are given when the gradients of these are computed."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import ml_dtypes
import numpy as np

from hybrid import native
from hybrid.core.error import MXNetError
from hybrid.core.examples import Maker
from hybrid.core.op import BACKWARD, FUSED, REGISTRY, Op, lookup
from hybrid.execution.program import Program
from hybrid.ir.differentiate import rule
from hybrid.ir.graph import Node
from tests.native.single import reference, specs_of
from tests.table.examples import examples
from tests.table.goldens import cases

ENOUGH = 12
"""Applications of an operator of gradients: some are part of the gradients of a hundred others."""


class Application(NamedTuple):
    """An operator and its inputs."""

    source: str
    op: Op
    arrays: tuple[np.ndarray, ...]


@functools.cache
def names() -> frozenset[str]:
    """The operators with kernels."""
    return frozenset(name for name, _ in native.kernels())


def forward() -> Iterator[Application]:
    """Of all operators that users know, and of those that passes write."""
    for example in examples():
        yield Application("example", example.op, tuple(example.arrays))
    for name, cls in REGISTRY.items():
        if name.startswith(FUSED):
            for example in cls.examples(Maker(cls)):
                yield Application("fused", example.op, tuple(example.arrays))
    for case in cases():
        yield Application(case.id, case.op(), tuple(case.arrays()))


@functools.cache
def applications() -> dict[str, list[Application]]:
    """By operator, for all with kernels (a build may have those of some families alone)."""
    found: dict[str, list[Application]] = {name: [] for name in sorted(names())}

    def note(application: Application, most: float = math.inf) -> None:
        some = found.get(application.op.name)
        if some is not None and len(some) < most:
            some.append(application)

    for application in forward():
        note(application)
        if application.source == "example":
            for one in backward(application):
                note(one, ENOUGH)
    for application in by_hand():
        note(application)
    return found


def by_hand() -> Iterator[Application]:
    """Applications that no example comes to."""
    wide, narrow = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4), np.ones((3, 4), np.float16)
    yield Application("by hand", lookup("_backward_widen_like").bind(), (narrow, wide))
    yield Application("by hand", lookup("_backward_widen_like").bind(), (wide, wide))
    resized = lookup("_onnx_Resize").bind(given=("sizes",), axes=(1, 0))
    yield Application("by hand", resized, (np.arange(12, dtype=np.float32).reshape(3, 4), np.array([6, 2])))
    yield Application("by hand", lookup("_backward_cast_like").bind(), (wide.astype(np.int32), wide))
    for dtype, to in (("float64", "int64"), ("int64", "float64"), ("float16", "bfloat16"), ("bfloat16", "float16")):
        bits = lookup("_onnx_BitCast").bind(to=to)
        yield Application("by hand", bits, (wide.astype(getattr(ml_dtypes, dtype, dtype)),))
    for dtype, to in (("uint8", "int8"), ("int8", "uint8")):
        yield Application("by hand", lookup("_onnx_BitCast").bind(to=to), (wide.astype(np.int8).astype(dtype),))
    yield Application("by hand", lookup("_backward_taken").bind(axis=0), (wide, np.array([[2, 0, 1, 1]], np.int32)))


def backward(application: Application) -> list[Application]:
    """The operators of gradients with kernels that a gradient of this application needs, as they are applied in it."""
    op, arrays = application.op, application.arrays
    try:
        found = rule(op)
    except MXNetError:
        return []
    if not any(_wanted(n) for n in found.graph.nodes):
        return []
    rng = np.random.default_rng(5)
    with np.errstate(all="ignore"):
        outputs = reference(op, [a.copy() for a in arrays], specs_of(op, arrays), training=True)
    heads = [rng.uniform(-1, 1, o.shape).astype(o.dtype) for o in outputs]
    sources = (found.heads, heads), (found.reads, arrays), (found.results, outputs)
    feeds = {name: np.asarray(given[i]) for variables, given in sources for name, i in variables}
    values: dict[tuple[int, int], np.ndarray] = {(id(n), 0): feeds[n.name] for n in found.graph.variables()}
    seen: list[Application] = []

    def observe(node: Node, results: Sequence[np.ndarray]) -> None:
        if _wanted(node):
            assert node.op is not None
            given = tuple(values[id(e.node), e.index] for e in node.inputs)
            seen.append(Application(f"gradient of {op.name}", node.op, given))
        for i, result in enumerate(results):
            values[id(node), i] = result.copy()

    with np.errstate(all="ignore"):
        Program(found.graph, training=True).run(feeds, observe=observe)
    return seen


def _wanted(node: Node) -> bool:
    """True where it applies an operator of gradients that there are kernels of."""
    return node.op is not None and node.op.name.startswith(BACKWARD) and node.op.name in names()
