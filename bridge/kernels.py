"""Compiled kernels beside the NumPy rules of the same operators: whose fault is it that two models differ?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hybrid import native
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node

from .compare import FACTOR, compare, distance, is_whole
from .engines import Arrays, NativeEngine


def kernels_at_fault(engine: NativeEngine, feeds: Mapping[str, np.ndarray], given: Arrays | None = None) -> str | None:
    """A warning when the compiled kernels give other outputs than NumPy does, and are further from float64; None when they are not.
    given: their outputs, where they were run on these feeds.

    Where rounding decides which of two numbers is the larger, whole steps are no fault of a kernel: what is before the nodes that
    choose and what is behind them is computed from the same values each."""
    complete = engine.complete(feeds)
    known = None if given is None or not {*engine.outputs} <= {*given} else [given[n] for n in engine.outputs]
    made = zip(
        engine.outputs, engine.graph.outputs, known or engine.program.run(complete), engine.run_by_numpy(complete)
    )
    ends = {n: e for n, e, got, want in made if e.node.op is not None and not compare(n, got, want).equal}
    if not ends:
        return None
    called = {engine.name_of(e): n for n, e in ends.items()}
    chosen_from = _chosen_from(engine, complete, list(ends.values()))
    names, cut = list(dict.fromkeys([*chosen_from, *called])), frozenset(chosen_from)
    known = engine.expose(complete, names)
    values = {**complete, **known}
    graph = engine.part(cut, names).graph
    made_alone = Program(graph, engine.model.params).run(engine.part_values(graph, values))
    wrong = [n for n, got in zip(names, made_alone) if _is_off(engine, n, got, known[n], cut, values)]
    if not wrong:
        return None
    return (
        f"on {', '.join(called.get(n, n) for n in wrong)} the compiled kernels ({native.level()}) of this engine differ from its "
        "own NumPy rules; this is a bug in the kernels, not in the model: please report it"
    )


def _chosen_from(engine: NativeEngine, complete: Arrays, ends: Sequence[Entry]) -> list[str]:
    """Tensors that nodes before these ends choose from: what is put in order, and what whole numbers alone are made of."""
    whole: dict[tuple[int, int], bool] = {}

    def observe(node: Node, arrays: tuple[np.ndarray, ...]) -> None:
        whole.update({(id(node), i): is_whole(a) for i, a in enumerate(arrays)})

    engine.run_by_numpy(complete, observe)
    found: dict[str, None] = {}
    for node in Graph(ends).nodes:
        if node.op is None:
            continue
        if node.op.is_ordering or all(whole.get((id(node), i)) for i in range(node.num_visible_outputs)):
            read = (e for e in node.inputs if e.node.op is not None and not whole.get((id(e.node), e.index)))
            found |= dict.fromkeys(map(engine.name_of, read))
    return list(found)


def _is_off(
    engine: NativeEngine, name: str, got: np.ndarray, want: np.ndarray, cut: frozenset[str], values: Arrays
) -> bool:
    """True where kernels (got) give another result than NumPy (want), both made of values where tensors are cut, and are further
    from float64."""
    if compare(name, got, want).equal:
        return False
    truth = engine.exact(cut, values, name)
    return truth is None or truth.shape != got.shape or distance(got, truth) > FACTOR * distance(want, truth)
