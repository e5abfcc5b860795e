"""Plans for one set of input shapes: steps in order over numbered slots, when slots die, who gets which buffer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..core.op import Op, Spec
from ..core.shapes import is_known
from ..ir.graph import Entry, Graph, Node
from ..ir.infer import Inference
from .memory_planner import Lifetime, assign_offsets


class Buffer(NamedTuple):
    """A place in the arena."""

    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype

    def view(self, arena: np.ndarray) -> np.ndarray:
        size = int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize
        return arena[self.offset : self.offset + size].view(self.dtype).reshape(self.shape)


class Step(NamedTuple):
    """One application of an operator."""

    node: Node
    op: Op
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    specs: tuple[Spec, ...]
    """Inferred specs of the outputs; checked against what compute gives."""
    dying: tuple[int, ...]
    """Slots nobody reads after this step."""
    buffer: int | None
    """Number of the plan's buffer that the output is written to; None when compute makes its own array."""
    plain: bool
    """One output, compute wants nothing but arrays (and ``out`` when there is a buffer), and all shapes are known: later runs can
    do what a first one has proven."""


class Plan(NamedTuple):
    """All of it; the executor needs nothing else of the graph."""

    steps: tuple[Step, ...]
    slots: int
    variables: tuple[tuple[int, int], ...]
    """(slot, place among the program's inputs) of every variable."""
    results: tuple[tuple[int, bool], ...]
    """(slot, whether it must be copied because it may be a variable's own memory)."""
    buffers: tuple[Buffer, ...]
    arena: int
    """Size of the arena in bytes."""
    outputs: tuple[Spec, ...]
    """Inferred specs of the results."""


def make_plan(graph: Graph, inference: Inference, names: Sequence[str]) -> Plan:
    """The plan for a graph whose shapes have been inferred. Tensors of unknown shape are allocated as they come.

    names: of the variables, in the order in which their arrays will be given."""
    place_of = {name: i for i, name in enumerate(names)}
    slot: dict[tuple[int, int], int] = {}
    for node in graph.nodes:
        for i in range(node.num_outputs):
            slot[id(node), i] = len(slot)

    def slot_of(entry: Entry) -> int:
        return slot[id(entry.node), entry.index]

    applied = [n for n in graph.nodes if n.op is not None]
    last = {}  # slot -> index of the last step that reads or writes it
    root = {}  # slot -> the slot whose memory it may be
    for index, node in enumerate(applied):
        assert node.op is not None
        for entry in node.inputs:
            last[slot_of(entry)] = index
        for i in range(node.num_outputs):
            own = slot[id(node), i]
            last.setdefault(own, index)
            if node.op.view:
                source = slot_of(node.inputs[0])
                root[own] = root.get(source, source)
    results = [slot_of(e) for e in graph.outputs]
    kept = {root.get(s, s) for s in results} | set(results)
    ends = dict(last)  # with views: memory lives as long as any view of it
    for own, source in root.items():
        ends[source] = max(ends.get(source, 0), last[own])

    lifetimes: list[Lifetime] = []
    wanted: dict[int, int] = {}  # slot -> index into lifetimes
    for index, node in enumerate(applied):
        assert node.op is not None
        own = slot[id(node), 0]
        spec = inference.spec(Entry(node))
        if node.op.supports_out and own not in kept and _is_static(spec):
            assert spec.shape is not None and spec.dtype is not None
            size = math.prod(spec.shape) * spec.dtype.itemsize
            if size:
                wanted[own] = len(lifetimes)
                lifetimes.append(Lifetime(size, index, ends[own]))
    offsets, arena = assign_offsets(lifetimes)

    dying: list[list[int]] = [[] for _ in applied]
    stay = set(results)
    for number, index in last.items():
        if number not in stay:
            dying[index].append(number)
    buffers, steps = [], []
    for index, node in enumerate(applied):
        assert node.op is not None
        own = slot[id(node), 0]
        specs = tuple(inference.spec(Entry(node, i)) for i in range(node.num_outputs))
        buffer = None
        if own in wanted:
            buffer = len(buffers)
            buffers.append(Buffer(offsets[wanted[own]], specs[0].shape, specs[0].dtype))  # type: ignore[arg-type]
        outputs = tuple(slot[id(node), i] for i in range(node.num_outputs))
        # what compute does, and whether it hands out memory of its inputs, is the same every time only for the same shapes
        same = (
            all(_is_static(s) for s in (*specs, *map(inference.spec, node.inputs))) and not node.op.data_dependent_shape
        )
        plain = len(outputs) == 1 and same and not node.op.needs and not node.op.mutates
        inputs = tuple(slot_of(e) for e in node.inputs)
        steps.append(Step(node, node.op, inputs, outputs, specs, tuple(dying[index]), buffer, plain))
    variables = tuple((slot[id(n), 0], place_of[n.name]) for n in graph.nodes if n.is_variable)
    borrowed = {s for s, _ in variables}
    return Plan(
        steps=tuple(steps),
        slots=len(slot),
        variables=variables,
        results=tuple((s, root.get(s, s) in borrowed) for s in results),
        buffers=tuple(buffers),
        arena=arena,
        outputs=tuple(map(inference.spec, graph.outputs)),
    )


def work_of(graph: Graph, inference: Inference) -> int:
    """Elements that all steps read and write, as far as shapes are known: how long a run takes, roughly."""
    sizes = {key: math.prod(s) if is_known(s) else 0 for key, s in inference.shapes.items()}
    work = 0
    for node in graph.nodes:
        if node.op is not None:
            work += sum(sizes[id(e.node), e.index] for e in node.inputs)
            work += sum(
                sizes[id(node), i] for i in range(node.op.num_visible_outputs())
            )  # the others are for its gradient
    return work


def _is_static(spec: Spec) -> bool:
    """True where shape and dtype are known before anything runs."""
    return is_known(spec.shape) and spec.dtype is not None
