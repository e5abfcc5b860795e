"""Lowers control flow: bodies become programs, which a step of the program around them runs without a word to Python
(native/src/engine/control.h).

A step reads what its node does, and behind that the constants that follow from what its bodies take of the graph around them. What
is left to the operator's own rule: bodies whose shapes are not known or change from step to step, and loops without a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.attrs import dtype_text
from ..core.memory_budget import step_budget
from ..core.op import Spec
from ..core.shapes import is_known
from ..ir.graph import Entry, Graph, Node
from ..ir.infer import Inference
from ..ops.control import Cond, ForEach, WhileLoop
from ..passes import Optimized

BOOL, INT64 = np.dtype(bool), np.dtype(np.int64)
SLICE, STATE, COUNTER, FLAG = 1, 2, 3, 4
"""Kinds of what a variable of a body holds, and 0: an input as it is; see Source in engine/control.h."""
ROW, NEXT, GOING = 1, 2, 3
"""Kinds of places that a result of a body goes to, and 0: an output as it is; see Target there."""


class Source(NamedTuple):
    """Contents of a variable of a body: their kind, the number of the input or state."""

    kind: int
    number: int = 0
    backward: bool = False


class Target(NamedTuple):
    """Place that a result of a body goes to: its kind, the number of the output or state."""

    kind: int
    number: int = 0
    backward: bool = False


class Use(NamedTuple):
    """A subgraph, what its variables hold and where its results go."""

    graph: Graph
    sources: Sequence[Source]
    targets: Sequence[Target]


class Form(NamedTuple):
    """Use that a node makes of its subgraphs: one body that is repeated, or two of which one is chosen."""

    bodies: list[Use]
    condition: Use | None = None
    options: Mapping[str, Any] = {}
    """Fields of LoopSpec and BranchSpec besides."""
    states: Sequence[tuple[int, int]] = ()
    """Input that each state begins as, output that it ends as."""
    count: int = -1
    """Times round that slices and rows have room for; -1: there are none."""
    examples: int | None = None
    """Size of the axis before them, if there is one."""
    slice_shape: Callable[[Any], Any] = lambda shape: shape[1:]


class Body(NamedTuple):
    """A subgraph as a program."""

    core: Any
    inputs: list[int]
    """Number of the variable that each of the program's inputs is."""
    results: list[tuple[int, int]]
    """Place of each result: an output, or what is handed on."""
    constants: list[int | Entry]
    """Number of the variable that each of the program's constants is, or an entry that is computed from variables."""
    inference: Inference


MakeBody = Callable[[Graph, Sequence[Spec], Collection[str]], Body | None]
"""(subgraph, what its variables hold, those that hold constants) -> its program; None where it cannot be one."""


def lower_control(optimized: Optimized, make: MakeBody) -> tuple[Optimized, dict[int, dict[str, Any]]]:
    """The graph with control flow that takes the constants of its bodies, and by node what a step is told of them.

    Control flow that stays as it is is not in it."""
    if not any(n.op is not None and n.op.name in _FORMS for n in optimized.main.nodes):
        return optimized, {}
    return _Lowering(optimized, make).run()


class _Lowering:
    """The control flow of one graph, being lowered."""

    def __init__(self, optimized: Optimized, make: MakeBody):
        self.optimized, self.make = optimized, make
        self.inference = optimized.inference
        computed = () if optimized.constant is None else optimized.constant.outputs
        self.sources = dict(zip(optimized.feeds, computed, strict=True))
        """Entries that constants are computed as, by their variables."""
        self.names = {n.name for n in optimized.main.nodes}
        self.found: dict[int, dict[str, Any]] = {}

    def run(self) -> tuple[Optimized, dict[int, dict[str, Any]]]:
        main = self.optimized.main.rewrite(self._change)
        constant = Graph(self.sources.values()) if self.sources else None
        return self.optimized._replace(main=main, constant=constant, feeds=tuple(self.sources)), self.found

    def _change(self, node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        if node.op is None:
            return None
        extra: list[Entry] = []
        described = self._describe(node, inputs, extra) if node.op.name in _FORMS else None
        same = all(a.node is b.node for a, b in zip(inputs, node.inputs))
        kept = node if same and not extra else Node(node.op, node.name, (*inputs, *extra), node.attrs, node.subgraphs)
        for i in range(node.num_outputs):
            self._note(Entry(kept, i), self.inference.spec(Entry(node, i)))
        if described is not None:
            self.found[id(kept)] = described
        return [Entry(kept, i) for i in range(node.num_outputs)]

    def _note(self, entry: Entry, spec: Spec) -> None:
        self.inference.shapes[id(entry.node), entry.index] = spec.shape
        self.inference.dtypes[id(entry.node), entry.index] = spec.dtype

    def _describe(self, node: Node, inputs: tuple[Entry, ...], extra: list[Entry]) -> dict[str, Any] | None:
        """Description of the node's bodies for its step, their constants going to ``extra``; None where they cannot be programs."""
        ins = [self.inference.spec(e) for e in inputs]
        outs = [self.inference.spec(Entry(node, i)) for i in range(node.num_outputs)]
        if not all(is_known(s.shape) and s.dtype is not None for s in (*ins, *outs)):
            return None
        assert node.op is not None
        form = _FORMS[node.op.name](node, ins, outs)
        if form is None:
            return None
        uses = [*form.bodies, *([] if form.condition is None else [form.condition])]
        made: list[tuple[Use, Body]] = []
        for use in uses:
            body = self._body(use, form, inputs, ins)
            if body is None or not self._fits(use, body, form, ins, outs):
                return None
            made.append((use, body))
        options = {
            "limit": -1,
            "begin": -1,
            "lengths": -1,
            "chosen": -1,
            "some": False,
            "told": -1,
            "exact": False,
            "kept": [],
            **form.options,
        }
        told = [self._tell(use, body, inputs, extra) for use, body in made]
        return {
            "bodies": told[: len(form.bodies)],
            "condition": told[len(form.bodies) :],
            "states": list(form.states),
            "count": form.count,
            "examples": form.examples or 1,
            "budget": -1 if (budget := step_budget()) is None else budget,
            **options,
        }

    def _body(self, use: Use, form: Form, inputs: Sequence[Entry], ins: Sequence[Spec]) -> Body | None:
        variables = use.graph.variables()
        if len(variables) != len(use.sources):
            return None
        fixed = [
            v.name
            for v, s in zip(variables, use.sources)
            if s.kind == 0 and inputs[s.number].node.op is None and self._is_constant(inputs[s.number].node.name)
        ]
        return self.make(use.graph, [_held(s, form, ins) for s in use.sources], fixed)

    def _is_constant(self, name: str) -> bool:
        return name in self.sources or name in self.optimized.fixed

    def _fits(self, use: Use, body: Body, form: Form, ins: Sequence[Spec], outs: Sequence[Spec]) -> bool:
        """True where results are what the states are, and what outputs are made of."""
        if len(use.targets) != len(use.graph.outputs):
            return False
        for target, entry in zip(use.targets, body.inference.graph.outputs):
            got = body.inference.spec(entry)
            if target.kind == GOING:
                # a body that is told the condition is told it in the shape in which the time before gave it
                told = any(s.kind == FLAG for s in use.sources)
                one = is_known(got.shape) and math.prod(got.shape) == 1 and _flag_dtype(got.dtype) is not None
                fits = got == Spec((), BOOL) if told else one
            elif target.kind == NEXT:
                fits = got == _held(Source(STATE, target.number), form, ins)
            else:
                shape, dtype = outs[target.number]
                ahead = 0 if target.kind == 0 else 1 + (form.examples is not None)
                fits = got.dtype == dtype and shape is not None and got.shape == shape[ahead:]
            if not fits:
                return False
        return True

    def _tell(self, use: Use, body: Body, inputs: Sequence[Entry], extra: list[Entry]) -> tuple[Any, ...]:
        """A body as the compiled part is told of it. Constants that are computed become variables around it, in ``extra``."""
        places = []
        for constant in body.constants:
            if isinstance(constant, int):
                places.append(use.sources[constant].number)
                continue
            places.append(len(inputs) + len(extra))
            extra.append(self._hoist(use, body, constant, inputs))
        dtypes = [body.inference.spec(e).dtype for e in body.inference.graph.outputs]
        results = [
            (*target, _flag_dtype(dtype) if target.kind == GOING else "bool", *place)
            for target, dtype, place in zip(use.targets, dtypes, body.results)
        ]
        return body.core, [tuple(use.sources[i]) for i in body.inputs], results, places

    def _hoist(self, use: Use, body: Body, entry: Entry, inputs: Sequence[Entry]) -> Entry:
        """A variable for what a body computes from constants around it, to be computed there."""
        held = dict(zip((id(v) for v in use.graph.variables()), use.sources))

        def change(node: Node, now: tuple[Entry, ...]) -> list[Entry] | None:
            if node.op is None:
                outside = inputs[held[id(node)].number]
                return [self.sources.get(outside.node.name, outside)]
            made = Node(node.op, node.name, now, node.attrs, node.subgraphs)
            for i in range(node.num_outputs):
                self._note(Entry(made, i), body.inference.spec(Entry(node, i)))
            return [Entry(made, i) for i in range(node.num_outputs)]

        (source,) = Graph([entry]).rewrite(change).outputs
        name = entry.name
        while name in self.names:
            name += "_"
        self.names.add(name)
        variable = Entry(Node(None, name))
        self._note(variable, body.inference.spec(entry))
        self.sources[name] = source
        return variable


def _held(source: Source, form: Form, ins: Sequence[Spec]) -> Spec:
    """Shape and dtype of what a variable of a body holds."""
    if source.kind == COUNTER:
        return Spec((), INT64)
    if source.kind == FLAG:
        return Spec((), BOOL)
    shape, dtype = ins[form.states[source.number][0] if source.kind == STATE else source.number]
    if source.kind == 0:
        return Spec(shape, dtype)
    shape = shape if form.examples is None else shape[1:]  # type: ignore[index]  # all are known
    return Spec(form.slice_shape(shape) if source.kind == SLICE else shape, dtype)


def _wholes(numbers: Sequence[int]) -> list[Source]:
    return [Source(0, i) for i in numbers]


def _states(count: int) -> list[Source]:
    return [Source(STATE, i) for i in range(count)]


def _flag_dtype(dtype: Any) -> str | None:
    """The name under which the compiled part looks whether a number is 0; None where it cannot."""
    if dtype.kind in "biu":
        return f"opaque{dtype.itemsize}"
    return name if (name := dtype_text(dtype)) in ("float32", "float64", "float16", "bfloat16") else None


def _foreach(node: Node, ins: Sequence[Spec], outs: Sequence[Spec]) -> Form | None:
    op: Any = node.op
    data, states, rest = op.split(range(len(ins)))
    counts = {ins[i].shape[0] for i in data}  # type: ignore[index]  # all are known
    slices = [Source(SLICE, i) for i in data]
    sources = op.arrange(slices, _states(len(states)), _wholes(rest))
    targets = [Target(ROW, i) for i in range(op.num_out_data)] + _next(len(states))
    pairs = list(zip(states, range(op.num_out_data, len(outs))))
    return _repeated([Use(node.subgraphs[0], sources, targets)], pairs, counts, slice_shape=op.slice_shape)


def _while(node: Node, ins: Sequence[Spec], outs: Sequence[Spec]) -> Form | None:
    op: Any = node.op
    begin = op.variables(range(len(ins)))
    asked, held = op.arrange(_wholes(range(len(ins))), _states(len(begin)))
    targets = [Target(ROW, i) for i in range(op.num_out_data)] + _next(len(begin))
    pairs = list(zip(begin, range(op.num_out_data, len(outs))))
    condition = Use(node.subgraphs[0], asked, [Target(GOING)])
    options = {"some": op.num_out_data > 0, "kept": list(range(len(ins)))}
    uses = [Use(node.subgraphs[1], held, targets)]
    return _repeated(uses, pairs, {op.max_iterations}, condition=condition, options=options)


def _loop(node: Node, ins: Sequence[Spec], outs: Sequence[Spec]) -> Form | None:
    op: Any = node.op
    limit, begin, states, captured = op.split(range(len(ins)))
    if any(math.prod(ins[i].shape) != 1 for i in (limit, begin) if i is not None):  # type: ignore[arg-type]
        return None
    if limit is not None and ins[limit].dtype not in (INT64, np.dtype(np.int32)):
        return None
    if begin is not None and _flag_dtype(ins[begin].dtype) is None:
        return None
    sources = op.arrange((Source(COUNTER), Source(FLAG), *_states(len(states))), _wholes(captured))
    rows = range(len(states), op.num_outputs)
    targets = [Target(GOING), *_next(len(states)), *(Target(ROW, i) for i in rows)]
    options = {
        "limit": -1 if limit is None else limit,
        "begin": -1 if begin is None else begin,
        "exact": bool(rows) and op.num_outputs == len(outs),
        "told": op.num_outputs if op.num_outputs < len(outs) else -1,
        "kept": list(range(len(ins))),
    }
    counts = {outs[i].shape[0] for i in rows}  # type: ignore[index]
    uses = [Use(node.subgraphs[0], sources, targets)]
    return _repeated(uses, list(zip(states, range(len(states)))), counts, options=options)


def _scan(node: Node, ins: Sequence[Spec], outs: Sequence[Spec]) -> Form | None:
    op: Any = node.op
    lengths, states, data, captured = op.split(range(len(ins)))
    rows = range(len(states), len(outs))
    ranks = [
        [len(s.shape or ()) - op.batched for s in specs] for specs in ([ins[i] for i in data], outs[len(states) :])
    ]
    if any(op.axes("input", ranks[0])) or any(op.axes("output", ranks[1])):
        return None
    if lengths is not None and ins[lengths].dtype not in (INT64, np.dtype(np.int32)):
        return None
    slices = [Source(SLICE, i, not op.ahead("input", n)) for n, i in enumerate(data)]
    sources = op.arrange((*_states(len(states)), *slices), _wholes(captured))
    targets = [*_next(len(states)), *(Target(ROW, i, not op.ahead("output", n)) for n, i in enumerate(rows))]
    options = {"lengths": -1 if lengths is None else lengths, "kept": [] if lengths is None else list(range(len(ins)))}
    counts = {ins[i].shape[op.batched] for i in data}  # type: ignore[index]
    examples = ins[data[0]].shape[0] if op.batched else None  # type: ignore[index]
    uses = [Use(node.subgraphs[0], sources, targets)]
    return _repeated(uses, list(zip(states, range(len(states)))), counts, options=options, examples=examples)


def _repeated(uses: list[Use], pairs: list[tuple[int, int]], counts: Collection[int], **more: Any) -> Form | None:
    """A loop; None where lengths differ, or where there is not one step."""
    if len(counts) > 1 or 0 in counts or more.get("examples") == 0:
        return None
    return Form(uses, states=pairs, count=next(iter(counts), -1), **more)


def _next(count: int) -> list[Target]:
    return [Target(NEXT, i) for i in range(count)]


def _cond(node: Node, ins: Sequence[Spec], outs: Sequence[Spec]) -> Form | None:
    op: Any = node.op
    asked, *held = op.arrange(range(len(ins)))
    targets = [Target(0, i) for i in range(len(outs))]
    bodies = [Use(graph, _wholes(reads), targets) for graph, reads in zip(node.subgraphs[1:], held)]
    return Form(bodies, Use(node.subgraphs[0], _wholes(asked), [Target(GOING)]))


def _if(node: Node, ins: Sequence[Spec], outs: Sequence[Spec]) -> Form | None:
    op: Any = node.op
    if math.prod(ins[0].shape) != 1 or _flag_dtype(ins[0].dtype) is None:  # type: ignore[arg-type]
        return None
    targets = [Target(0, i) for i in range(len(outs))]
    reads = op.arrange(range(len(ins)))
    return Form([Use(g, _wholes(r), targets) for g, r in zip(node.subgraphs, reads)], options={"chosen": 0})


_FORMS: dict[str, Callable[[Node, Sequence[Spec], Sequence[Spec]], Form | None]] = {
    ForEach.name: _foreach,
    WhileLoop.name: _while,
    "_onnx_Loop": _loop,
    "_fused_loop": _loop,
    "_onnx_Scan": _scan,
    Cond.name: _cond,
    "_onnx_If": _if,
}
"""By the operators' names: the family _onnx_ is loaded when a graph has one of it, and not before."""
