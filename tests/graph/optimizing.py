"""Graphs after the passes, run by NumPy: fused operators have NumPy's rules, so that nothing here needs the compiled part."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from hybrid.core.op import lookup
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import infer
from hybrid.passes import PASSES, Optimized, Rewriter, optimize

FUSED = ("attention", "chain", "concat", "conv", "dense", "pack", "pool", "rms_norm", "separable", "unpack")
NATIVE = frozenset(("LayerNorm", "batch_dot", *(f"_fused_{name}" for name in FUSED)))
"""The operators that passes make when they have kernels."""
ALL = (*PASSES, "hoist_constants")
Arrays = Mapping[str, np.ndarray]


def rewriter_of(
    graph: Graph, feeds: Arrays, params: Arrays, *, training: bool = False, native: Any = NATIVE
) -> Rewriter:
    """Rewriter that passes are given for a graph."""
    given = {**params, **feeds}
    shapes, dtypes = ({k: getattr(v, what) for k, v in given.items()} for what in ("shape", "dtype"))
    found = infer(graph, shapes, dtypes, default_dtype="float32", values=params)
    return Rewriter(found, constants=params.keys(), training=training, native=native)


def optimized(
    graph: Graph, feeds: Arrays, params: Arrays, without: Collection[str] = (), *, training: bool = False
) -> Optimized:
    """The graph after all passes but those left out."""
    return optimize(graph, rewriter_of(graph, feeds, params, training=training), without)


def plainly(graph: Graph, feeds: Arrays, params: Arrays, *, training: bool = False) -> list[np.ndarray]:
    """The outputs of the graph as it is."""
    program = Program(graph, params, native=False, training=training)
    return program.run({k: v for k, v in feeds.items() if k in program.inputs}, rng=np.random.default_rng(0))


def run(found: Optimized, feeds: Arrays, params: Arrays, *, training: bool = False) -> list[np.ndarray]:
    """The outputs of what the passes have made."""
    made: dict[str, np.ndarray] = {}
    if found.constant is not None:
        made = dict(zip(found.feeds, plainly(found.constant, {}, params), strict=True))
    assert found.fixed <= params.keys()
    return plainly(found.main, feeds, {**params, **made}, training=training)


def counted(graph: Graph | None) -> Counter[str]:
    """Number of nodes of each operator."""
    return Counter(n.op.name for n in (graph.nodes if graph else ()) if n.op is not None)


def var(name: str) -> Entry:
    return Entry(Node(None, name))


_numbers = itertools.count()


def apply(op: str, *inputs: Entry, **attrs: Any) -> Entry:
    """The first output of a new node."""
    return Entry(Node(lookup(op).bind(**attrs), f"{op.strip('_').lower()}{next(_numbers)}", inputs))
