"""An axis counted from behind is the axis that it is, to every part of the product: inference, kernels, gradients, files."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import converters
from converters.registry import EXPORT
from hybrid.core.error import MXNetError
from hybrid.core.op import Example
from hybrid.core.shapes import UNKNOWN, MaybeShape
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry
from hybrid.ir.infer import infer, node_shapes
from tests.grouped import each
from tests.table.examples import examples, graph_of
from tests.table.goldens import close
from tests.table.options import others
from tests.table.test_examples import run_oracle
from tests.table.training import trained

NAMES = ("axis", "axes", "dim", "dim1", "dim2", "axis1", "axis2", "lhs_axes", "rhs_axes")
"""Names of attributes that number axes."""
OF_THE_OUTPUT = ("stack", "_npi_stack", "expand_dims", "_onnx_OneHot")
"""Operators whose output has one axis more, which the attribute places."""
FROM_THE_FIRST = {
    "_contrib_boolean_mask": "0 alone, as in MXNet",
    "_contrib_getnnz": "None, 0 or 1, as in MXNet",
    "_npi_tensordot_int_axes": "how many axes, not which",
    "SequenceLast": "0 or 1, as in MXNet",
    "SequenceMask": "0 or 1, as in MXNet",
    "SequenceReverse": "0 alone, as in MXNet",
}
"""Operators that refuse to count from behind."""


OWN_AXES = {"_onnx_Resize": "onnxruntime resizes some axes alone, and onnx's evaluator stumbles over others"}
"""Operators that are tried along the axes of their examples alone."""
ROUNDED = {"_onnx_ms_QLinearSoftmax": "onnxruntime rounds 1 / y_scale to a whole number"}
"""Operators whose numbers onnxruntime computes otherwise; they have tests of their own."""


class Row(NamedTuple):
    """An example, and an attribute of its operator that numbers so many axes."""

    example: Example
    name: str
    rank: int

    def bound(self, value: Any) -> Example:
        """The example with this for the attribute."""
        attrs = {k: v for k, v in self.example.op.dump().items() if k != self.name}
        return Example(type(self.example.op).bind(**attrs, **{self.name: value}), self.example.arrays)

    def values(self) -> list[tuple[Any, Any]]:
        """Values of the attribute, as the same counted from the first axis and from behind the last: of several axes some."""
        value = getattr(self.example.op, self.name)
        if isinstance(value, tuple):
            own, name = tuple(v % self.rank for v in value), self.example.op.name
            others = [
                a for a in itertools.permutations(range(self.rank), len(own)) if a != own and name not in OWN_AXES
            ]
            rng = random.Random(f"{self.example.op!r} {self.name}")
            several = [*rng.sample(others, min(len(others), 2)), own]
            return [(first, tuple(v - self.rank for v in first)) for first in several]
        return [(v, v - self.rank) for v in range(self.rank)]


def rows(of_all: bool = False) -> Iterator[Row]:
    """Each attribute of each operator that numbers axes, with the first example of each kind of inputs: of all other attributes
    too, or whatever they are."""
    seen = set()
    for op, arrays in itertools.chain(examples(), others()):
        for name in NAMES:
            value = getattr(op, name) if name in op.fields else None
            others_ = sorted((k, v) for k, v in op.dump().items() if k != name) if of_all else []
            kind = (op.name, name, type(value), tuple(a.ndim for a in arrays), *others_)
            if value is None or value == () or isinstance(value, str) or not arrays or kind in seen:
                continue
            seen.add(kind)
            rank = arrays[name == "rhs_axes"].ndim + (op.name in OF_THE_OUTPUT)
            yield Row(Example(op, arrays), name, rank)


def computed(example: Example, native: bool) -> list[np.ndarray] | None:
    """None where it is refused."""
    graph, feeds = graph_of(example)
    try:
        return Program(graph, native=native).run(feeds)
    except MXNetError:
        return None


def inferred(example: Example) -> list[MaybeShape]:
    """The outputs' shapes with all sizes known, and with each size of the first input unknown; and all from the outputs' alone."""
    graph, feeds = graph_of(example)
    shapes, dtypes = {k: v.shape for k, v in feeds.items()}, {k: v.dtype for k, v in feeds.items()}
    (name, whole), found = next(iter(shapes.items())), []
    for hidden in range(-1, len(whole)):
        own = tuple(UNKNOWN if i == hidden else d for i, d in enumerate(whole))
        result = infer(graph, {**shapes, name: own}, dtypes)
        found += [result.spec(entry).shape for entry in graph.outputs]
    node = graph.outputs[0].node
    outputs = [result.spec(Entry(node, i)).shape for i in range(len(node.outputs))]
    return found + node_shapes(node, [None] * len(shapes), outputs)


def same(got: list[np.ndarray], want: list[np.ndarray]) -> bool:
    return all(
        a.shape == b.shape and np.array_equal(a, b, equal_nan=b.dtype.kind == "f")
        for a, b in zip(got, want, strict=True)
    )


@each(rows(), lambda row: (row.example.op.name, f"{row.name} of {row.rank}"))
def test_axes_counted_from_behind(row: Row) -> None:
    """The same as counted from the first: shapes, numbers by NumPy and by kernels, gradients; and onnxruntime on the file."""
    refusing = row.example.op.name in FROM_THE_FIRST
    for first, behind in row.values():
        try:
            one = row.bound(first)
        except MXNetError:
            continue
        want = computed(one, native=False)
        if refusing or want is None:
            try:
                other = row.bound(behind)
            except MXNetError:
                continue
            assert computed(other, native=False) is None, (first, behind)
            assert computed(other, native=True) is None, (first, behind)
            continue
        other = row.bound(behind)
        assert inferred(other) == inferred(one), (first, behind)
        for native in (False, True):
            found = computed(other, native)
            assert found is not None, (first, behind, native)
            assert same(found, computed(one, native) or []), (first, behind, native)
        graph, feeds = graph_of(other)
        if first == row.values()[-1][0] and any(a.dtype.kind == "f" for a in feeds.values()):
            got, wanted = trained(graph, feeds), trained(graph_of(one)[0], feeds)
            assert (got.error, got.arrays.keys()) == (wanted.error, wanted.arrays.keys())
            assert same([*got.arrays.values()], [*wanted.arrays.values()]), (first, behind, "gradients")
        if other.op.name in EXPORT:
            try:
                models = [converters.to_onnx(graph_of(e)[0], {}, feeds) for e in (other, one)]
            except converters.UnsupportedModel:
                continue
            ran, plain = (run_oracle(m, feeds, other) for m in models)
            assert same(ran, plain), (first, behind, "exported")
            for a, b in zip(ran, want, strict=True):
                if other.op.name not in ROUNDED:
                    close(a, b, other.op)
