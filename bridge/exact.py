"""Graphs in float64: what a network means, apart from how a runtime rounds.

NumPy is the meaning of every operator (core/op.py), and NumPy computes in the precision that it is given. So the same graph on
float64 numbers is the third party that says which of two float32 results is nearer to the truth, and by how much one unit in the
last place of what goes in moves what comes out."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from hybrid.core.attrs import DTypeKind, Optional, is_float, is_half
from hybrid.core.error import MXNetError
from hybrid.core.op import Op, Spec
from hybrid.execution.apply import apply
from hybrid.ir.graph import Entry, Graph, Node, SubgraphFunction
from hybrid.ir.infer import Inference, infer
from hybrid.ops.casting import AmpCast, AmpMulticast

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
HALF = float(np.finfo(np.float16).eps)
JITTERED = 1 << 20
"""Parameters of more elements than this are not moved: what they are multiplied with is, which has the same effect."""


def widen(array: np.ndarray) -> np.ndarray:
    """The array in float64 when it holds floats, else as it is."""
    return array.astype(DOUBLE) if is_float(array.dtype) and array.dtype != DOUBLE else array


def _rounded(array: np.ndarray, dtype: np.dtype | None) -> np.ndarray:
    """Floats as a cast to another dtype than float32 rounds them; anything else as it is."""
    return array if dtype is None or dtype == SINGLE or not is_float(array.dtype) else array.astype(dtype)


NUMBERS = ("scalar", "a_min", "a_max")
"""Attributes that hold a number of the tensor's dtype."""


def _widens(dtype: object, halved: bool) -> bool:
    """True for float32, and with halved for half precision."""
    return dtype == SINGLE or (halved and isinstance(dtype, np.dtype) and is_half(dtype))


def _widened_op(op: Op, dtype: np.dtype | None, halved: bool) -> Op:
    """The operator that makes float64 where this one makes float32 (halved: or half precision) because an attribute says so. dtype:
    of what it reads first; its numbers are those of half precision where that is: 0.1 is 0.09998 there, in every runtime."""
    wide: dict[str, object] = {}
    if is_half(dtype):
        held = {n: getattr(op, n) for n in NUMBERS if n in op.fields}
        wide = {n: float(np.asarray(v, dtype)) for n, v in held.items() if isinstance(v, float)}
    for field in op.fields.values():
        kind = field.kind.kind if isinstance(field.kind, Optional) else field.kind
        if isinstance(kind, DTypeKind) and _widens(getattr(op, field.name), halved):
            wide[field.name] = "float64"
    if not wide:
        return op
    try:
        return type(op).bind(**{**op.dump(), **wide})
    except MXNetError:  # it has no float64
        return op


FLUSHED = 1e-4
"""Of an error, as much as is left of a number that was taken for 0."""


class Exact:
    """A graph to be evaluated in float64, node by node. ``params``: what variables hold besides what is fed."""

    def __init__(self, graph: Graph, params: Mapping[str, np.ndarray]):
        self.graph = graph
        names = {n.name for n in graph.variables()}
        self.params = {n: a for n, a in params.items() if n in names}

    def run(
        self,
        feeds: Mapping[str, np.ndarray],
        jitter: tuple[float, int] | None = None,
        halved: bool = False,
        added: Mapping[tuple[int, int], np.ndarray] | None = None,
    ) -> list[np.ndarray]:
        """The outputs, floats in float64. jitter: (by how many units in the last place of their own dtype all floats that go in are
        moved at most, seed); of several nodes what none of these moves (anchors, which follow from a shape) is moved as well,
        since whoever folds it stores it in float32, as a parameter. halved: casts to half precision do not round either, and what
        is moved is by units of that. added: to the outputs of nodes, by (id of the node, index), before others read them.

        Raises MXNetError where an operator does not compute in float64."""
        given = {**self.params, **{n: np.asarray(a) for n, a in feeds.items()}}
        inference = self._infer(self.graph, given, self.params)
        if jitter is None:
            return self._evaluate(self.graph, inference, given, halved, added or {})
        least = HALF if halved else 0.0
        shifted = {n: perturb(a, *jitter, n, least) for n, a in given.items() if self._moves(n, a, feeds)}
        unmoved = _Unmoved(given, *jitter, least) if sum(n.op is not None for n in self.graph.nodes) > 1 else None
        return self._evaluate(self.graph, inference, {**given, **shifted}, halved, added or {}, unmoved)

    @staticmethod
    def _moves(name: str, array: np.ndarray, feeds: Mapping[str, np.ndarray]) -> bool:
        return is_float(array.dtype) and (name in feeds or array.size <= JITTERED)

    def _evaluate(
        self,
        graph: Graph,
        inference: Inference,
        given: Mapping[str, np.ndarray],
        halved: bool,
        added: Mapping[tuple[int, int], np.ndarray],
        unmoved: _Unmoved | None = None,
    ) -> list[np.ndarray]:
        last = {(id(e.node), e.index): n for n in graph.nodes for e in n.inputs}
        kept = {(id(e.node), e.index) for e in graph.outputs}
        values: dict[tuple[int, int], np.ndarray] = {}
        for node in graph.nodes:
            if node.op is None:
                values[id(node), 0] = widen(given[node.name])
                if unmoved is not None:
                    unmoved.enter(node, values[id(node), 0])
                continue
            arrays = [values[id(e.node), e.index] for e in node.inputs]
            results = [widen(r) for r in self._apply(node, arrays, inference, halved)]
            if unmoved is not None:
                results = unmoved.follow(node, arrays, results, lambda a, n=node: self._apply(n, a, inference, halved))
            for i, result in enumerate(results):
                extra = added.get((id(node), i))
                values[id(node), i] = result if extra is None else _off_by(result, extra)
            for entry in node.inputs:
                key = id(entry.node), entry.index
                if last[key] is node and key not in kept:
                    values.pop(key, None)
                    if unmoved is not None:
                        unmoved.values.pop(key, None)
        return [values[id(e.node), e.index] for e in graph.outputs]

    def _apply(
        self, node: Node, arrays: list[np.ndarray], inference: Inference, halved: bool
    ) -> tuple[np.ndarray, ...]:
        assert node.op is not None
        found = [inference.spec(Entry(node, i)) for i in range(node.num_outputs)]
        # dtypes only where an operator asks: what computes float32 whatever it gets is widened afterwards
        asks = "specs" in node.op.needs
        if node.means(AmpCast, AmpMulticast):  # which leave float64 alone: here that stands for their float32
            return tuple(a if halved and is_half(s.dtype) else _rounded(a, s.dtype) for a, s in zip(arrays, found))
        specs = [Spec(s.shape, (DOUBLE if _widens(s.dtype, halved) else s.dtype) if asks else None) for s in found]
        run = functools.partial(self._run_subgraph, halved=halved)
        subgraphs = [SubgraphFunction(g, run) for g in node.subgraphs]
        try:
            return apply(
                _widened_op(node.op, inference.spec(node.inputs[0]).dtype if node.inputs else None, halved),
                arrays,
                specs,
                name=node.name,
                subgraphs=subgraphs,
            )
        except MXNetError:  # it is for one precision only, as what quantises is
            kinds = [inference.spec(e).dtype for e in node.inputs]
            narrow = [a.astype(d) if d is not None and a.dtype == DOUBLE else a for a, d in zip(arrays, kinds)]
            return apply(node.op, narrow, [Spec(s.shape) for s in found], name=node.name, subgraphs=subgraphs)

    def _run_subgraph(self, graph: Graph, held: Sequence[np.ndarray], halved: bool) -> list[np.ndarray]:
        given = graph.feeds(held)
        return self._evaluate(graph, self._infer(graph, given, {}), given, halved, {})

    @staticmethod
    def _infer(graph: Graph, given: Mapping[str, np.ndarray], constants: Mapping[str, np.ndarray]) -> Inference:
        """Infer the graph at its own precision: shapes, and which results are floats."""
        names = [n.name for n in graph.variables()]
        dtypes = {n: SINGLE if given[n].dtype == DOUBLE else given[n].dtype for n in names}
        return infer(graph, {n: given[n].shape for n in names}, dtypes, default_dtype=SINGLE, values=constants)


class _Unmoved:
    """A run beside one whose inputs are moved, in which nothing is: what is the same in both follows from none of them."""

    def __init__(self, given: Mapping[str, np.ndarray], units: float, seed: int, least: float):
        self.given, self.units, self.seed, self.least = given, units, seed, least
        self.values: dict[tuple[int, int], np.ndarray] = {}

    def enter(self, node: Node, moved: np.ndarray) -> None:
        """Keep what a variable holds here; moved: what it holds there."""
        own = widen(self.given[node.name])
        self.values[id(node), 0] = moved if np.array_equal(own, moved) else own  # so that weights are held once

    def follow(
        self,
        node: Node,
        arrays: Sequence[np.ndarray],
        results: list[np.ndarray],
        compute: Callable[[list[np.ndarray]], Sequence[np.ndarray]],
    ) -> list[np.ndarray]:
        """The results of a node there, of arrays; those moved that are the same here. compute: the node."""
        own = [self.values[id(e.node), e.index] for e in node.inputs]
        here = results if all(a is b for a, b in zip(own, arrays)) else [widen(r) for r in compute(own)]
        out = []
        for i, (moved, before) in enumerate(zip(results, here)):
            self.values[id(node), i] = before
            if _is_stored(moved) and np.array_equal(moved, before, equal_nan=True):
                moved = perturb(moved, self.units, self.seed, f"{node.name} {i}", self.least)
            out.append(moved)
        return out


def _is_stored(array: np.ndarray) -> bool:
    """True for floats of which float32 may hold others: whole numbers are the same there. Large arrays are left as they are."""
    if not is_float(array.dtype) or array.size > JITTERED:
        return False
    with np.errstate(invalid="ignore"):
        return bool((np.isfinite(array) & (array != np.rint(array))).any())


def perturb(array: np.ndarray, units: float, seed: int, name: str, least: float = 0.0) -> np.ndarray:
    """The array in float64, every number moved by at most so many units in the last place, or of the relative size least where that
    is larger."""

    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    return widen(array) * (1 + units * max(epsilon(array.dtype), least) * rng.uniform(-1, 1, array.shape))


def epsilon(dtype: np.dtype) -> float:
    """The relative distance of two neighbouring numbers; that of float32 for float64 (onnxruntime runs some nodes in float32)."""
    if dtype.name == "bfloat16":
        return 2.0**-7
    return max(float(np.finfo(dtype).eps), float(np.finfo(np.float32).eps))


def _off_by(result: np.ndarray, error: np.ndarray) -> np.ndarray:
    """A result with a runtime's error in it; 0 where it is what the runtime flushed to 0, up to what goes in being another by some
    units in the last place, so that a logarithm of it is infinite here too."""
    found = result + error
    return np.where(np.abs(found) <= FLUSHED * np.abs(error), 0.0, found)
