"""If, Loop, Scan and SequenceMap as ONNX means them; their bodies are subgraphs of their nodes (see ../control.py).

What the variables of a body hold is said by attributes: places among the body's own inputs (of which If has none), followed by what
it takes of the graph around it, which are the last inputs of the node."""

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.attrs import Count, Several
from ...core.boxed import box
from ...core.error import MXNetError
from ...core.memory_budget import afford_step
from ...core.op import op
from ...core.shapes import UNKNOWN, identical, merge, merge_all
from ..common import axis_of
from ..control import ControlFlow, ControlFlowBackward, common, truth
from .base import BOOL, INT64, OBJECT
from .sequence import elements

Locations = tuple[int, ...]
MOST_FOLLOWED = 1000
"""Steps of a loop that inference follows to know how many there are."""


def shared_dtype(a, b):
    """The dtype of what is now one thing, now another; None where that varies, as optionals do. Raises ValueError for tensors of
    different dtypes."""
    if a == b:
        return a
    if OBJECT in (a, b):
        return None
    raise ValueError(f"got {a} one time and {b} another, wanted one dtype")


@op("_onnx_If")
class If(ControlFlow):
    """One of two bodies, chosen by a condition of one element. What they give may differ in shape.

    then_reads and else_reads: of the inputs after the condition. Source: ONNX If (opset 1 to newest)."""

    then_reads: Locations
    else_reads: Locations

    exception = "runs subgraphs in ways that MXNet's control flow does not"

    num_subgraphs = 2
    differentiated = (0, 1)

    def check_locations(self, given):
        if given < 1:
            return "got no condition"
        return self.within(given - 1, "then_reads", "else_reads")

    def arrange(self, inputs):
        """Values of the variables of the two bodies."""
        return [[inputs[1 + i] for i in reads] for reads in (self.then_reads, self.else_reads)]

    def _both(self, values, subgraphs):
        found = [self.results(body(held)[1]) for body, held in zip(self.those(subgraphs), self.arrange(values))]
        return list(zip(*found))

    def infer_shape(self, *shapes, subgraphs=()):
        found, errors = [], []
        for body, held in zip(self.those(subgraphs), self.arrange(shapes)):
            try:
                found.append(self.results(body(held)[1]))
            except MXNetError as error:  # sizes that do not fit a branch may be why the other one is taken
                errors.append(error)
        if not found:
            raise errors[0]
        return [None] * len(found[0]) if errors else [common(a, b) for a, b in zip(*found)]

    def infer_type(self, *dtypes, subgraphs=()):
        return [None if a is None or b is None else shared_dtype(a, b) for a, b in self._both(dtypes, subgraphs)]

    def compute(self, condition, *rest, subgraphs=()):
        chosen = 0 if truth(self, condition) else 1
        return self.results(self.those(subgraphs)[chosen](self.arrange((condition, *rest))[chosen]))


@op("_backward__onnx_If")
class IfBackward(ControlFlowBackward, If):
    """The gradients of the inputs of _onnx_If."""

    def back(self, dy, inputs, gradients, forward, backs):
        chosen = 0 if truth(self, inputs[0]) else 1
        places = (self.then_reads, self.else_reads)[chosen]
        for place, part in zip(places, self.through(backs, chosen, self.arrange(inputs)[chosen], dy)):
            gradients[1 + place] += part


class Repeated(ControlFlow):
    """Base of loops. States are handed from step to step, and may change their shapes; other results are stacked.

    num_states: how many there are. body_reads: what the body's variables hold."""

    num_states: Several
    body_reads: Locations

    exception = "runs subgraphs in ways that MXNet's control flow does not"

    needs = ("subgraphs", "specs")

    def arrange(self, given, captured):
        """Values of the body's variables."""
        held = (*given, *captured)
        return [held[i] for i in self.body_reads]

    def fitting(self, given):
        """Describe what is wrong with so many inputs; None when nothing is."""
        stacked = self.num_outputs - self.num_states
        if stacked < 0:
            return f"got {self.num_outputs} outputs with {self.num_states} states"
        return self.within(given, "body_reads")

    @staticmethod
    def stack_columns(steps: Sequence[Any], axes, specs):
        """The columns of steps as arrays; without any step of length 0, and otherwise of the shape that inference says."""
        found = []
        columns: Any = list(zip(*steps)) or [()] * len(axes)
        for column, axis, (shape, dtype) in zip(columns, axes, specs, strict=True):
            if column:
                if len({a.shape for a in column}) > 1:
                    raise ValueError(
                        f"an output to stack changes its shape from step to step: {[a.shape for a in column]}"
                    )
                found.append(np.stack(column, axis))
                continue
            if dtype is None or shape is None:
                raise ValueError("no step is taken, and what there would be to stack is not known")
            dims = [0 if d is UNKNOWN else d for d in shape]
            dims[axis] = 0
            found.append(np.zeros(dims, dtype))
        return found


def gather_gradients(op, backs, given, captured, heads, outside):
    """The gradients of the body's own inputs in one step of a loop; those of what it takes from around it are
    added to ``outside``."""
    own = [np.zeros_like(x) for x in given]
    totals = (*own, *outside)
    for place, part in zip(op.body_reads, op.through(backs, 0, op.arrange(given, captured), heads)):
        totals[place][...] += part
    return own


@op("_onnx_Loop")
class Loop(Repeated):
    """A body applied to states for as long as its first output holds, and so many times at most.

    Inputs are the most steps there may be and whether to begin, each when it is in ``given``, the first states, and what the
    body takes from around it. The body gets the number of the step and what its first output was, then the states; it gives
    a condition, states and what is stacked along a new first axis. Outputs are the last states, then the stacked.
    Source: ONNX Loop (opset 1 to newest)."""

    given: tuple[str, ...] = ()

    needs = ("subgraphs", "specs", "values")
    differentiated = (0,)

    def check_locations(self, given):
        wrong = [n for n in self.given if n not in ("M", "cond")]
        if wrong or len(set(self.given)) < len(self.given):
            return f"got given={self.given}, wanted some of M and cond"
        if given < len(self.given) + self.num_states:
            return f"got {given} inputs, wanted {len(self.given) + self.num_states} at least"
        return self.fitting(2 + given - len(self.given))

    def split(self, inputs):
        """The most steps, the condition (None where not given), states, captured."""
        inputs = list(inputs)
        most = inputs.pop(0) if "M" in self.given else None
        condition = inputs.pop(0) if "cond" in self.given else None
        return most, condition, inputs[: self.num_states], inputs[self.num_states :]

    def _through(self, body, counter, condition, states, captured):
        found = self.results(body(self.arrange((counter, condition, *states), captured))[1], 1 + self.num_outputs)
        return found[1 : 1 + self.num_states], found[1 + self.num_states :]

    def infer_shape(self, *shapes, subgraphs=(), values=()):
        (body,) = self.those(subgraphs)
        _, condition, states, captured = self.split(shapes)
        while True:
            after, rows = self._through(body, (), () if condition is None else condition, states, captured)
            after = [common(a, b) for a, b in zip(states, after)]
            if all(map(identical, states, after)):
                break
            states = after
        count = UNKNOWN
        if rows and values:
            with contextlib.suppress(Exception):  # of the body's steps: a run will say so where it comes to it
                count = self._count(body.graph, values)
        return after + [None if s is None else (count, *s) for s in rows]

    def _count(self, graph: Any, values: Sequence[Any]) -> Any:
        """Steps that the loop takes, where these values of the inputs say so; None among them is one that is not known."""
        most, condition, states, captured = self.split(values)
        if any(name in self.given and value is None for name, value in (("M", most), ("cond", condition))):
            return UNKNOWN
        limit = MOST_FOLLOWED if most is None else max(0, int(most.item()))
        if condition is not None and not truth(self, condition):
            return 0
        asked = _Condition(graph, self.body_reads, len(states))
        holds = [np.int64(0), np.True_, *states, *captured]
        if not asked.follows or any(holds[i] is None for i in asked.reads):
            return UNKNOWN
        for t in range(min(limit, MOST_FOLLOWED)):
            holds[0] = np.array(t, np.int64)
            if not truth(self, asked.step(holds)):
                return t + 1
            if asked.constant:  # and will hold each time
                return UNKNOWN if most is None else limit
        return UNKNOWN if limit > MOST_FOLLOWED or most is None else limit

    def infer_type(self, *dtypes, subgraphs=()):
        (body,) = self.those(subgraphs)
        _, _, states, captured = self.split(dtypes)
        while True:
            after, rows = self._through(body, INT64, BOOL, states, captured)
            after = [None if a is None or b is None else shared_dtype(a, b) for a, b in zip(states, after)]
            if all(a is b or (a is not None and b is not None and a == b) for a, b in zip(states, after)):
                return after + rows
            states = after

    def steps(self, inputs, body):
        """Run the loop: the body's own inputs in each step, what it gave to be stacked, and the last states."""
        most, condition, states, captured = self.split(inputs)
        limit = None if most is None else int(most.item())
        going = condition is None or truth(self, condition)
        flag = np.array(going)
        given, rows = [], []
        while going and (limit is None or len(rows) < limit):
            afford_step(len(rows), self.name)
            given.append((np.array(len(rows), np.int64), flag, *states))
            flag, *results = self.results(body(self.arrange(given[-1], captured)), 1 + self.num_outputs)
            going = truth(self, flag)
            states = results[: self.num_states]
            rows.append(results[self.num_states :])
        return given, rows, states

    def compute(self, *arrays, subgraphs=(), specs=()):
        (body,) = self.those(subgraphs)
        _, rows, states = self.steps(arrays, body)
        count = self.num_outputs - self.num_states
        return [*states, *self.stack_columns(rows, [0] * count, specs[self.num_states :])]


@op("_fused_loop")
class OpenLoop(Loop):
    """A Loop with room for so many steps: its states, its rows with 0 behind the last, and how many steps it took; -1 for more than
    there is room for, when the others hold anything. Loops whose steps nobody knows before are run as one (execution/flow.py)."""

    room: Count

    data_dependent_shape = False

    def output_names(self):
        return (*super().output_names(), "steps")

    def infer_shape(self, *shapes, subgraphs=(), values=()):
        found = super().infer_shape(*shapes, subgraphs=subgraphs)
        rows = [None if s is None else (self.room, *s[1:]) for s in found[self.num_states :]]
        return [*found[: self.num_states], *rows, ()]

    def infer_type(self, *dtypes, subgraphs=()):
        return [*super().infer_type(*dtypes, subgraphs=subgraphs), INT64]

    def compute(self, *arrays, subgraphs=(), specs=()):
        made = super().compute(*arrays, subgraphs=subgraphs, specs=specs[:-1])
        rows = made[self.num_states :]
        taken = len(rows[0])
        for i, row in enumerate(rows, self.num_states):
            made[i] = np.zeros((self.room, *row.shape[1:]), row.dtype)
            made[i][:taken] = row[: self.room]
        return [*made, np.array(taken if taken <= self.room else -1)]


class _Condition:
    """The part of a loop's body that its condition depends on, with the states that it depends on, to be followed step by step."""

    def __init__(self, graph: Any, reads: Sequence[int], states: int):
        self._graph = graph
        self._place = {id(v): i for v, i in zip(graph.variables(), reads)}
        self.reads: set[int] = set()
        """Places of the body's inputs that it comes from."""
        self.follows = True
        """False where what it computes is not for inference to find out."""
        wanted, self._found = [graph.outputs[0].node], set()
        while wanted:
            node = wanted.pop()
            if id(node) in self._found:
                continue
            self._found.add(id(node))
            wanted += [e.node for e in node.inputs]
            if node.op is not None:
                self.follows &= not (set(node.op.needs) - {"values"} or node.op.mutates)
                continue
            place = self._place[id(node)]
            self.reads.add(place)
            if 2 <= place < 2 + states:
                wanted.append(graph.outputs[place - 1].node)
        self._states = [i for i in self.reads if 2 <= i < 2 + states]
        self.constant = not self._states and 0 not in self.reads

    def step(self, holds: list[Any]) -> np.ndarray:
        """The condition after a step that began with these inputs; the states among them become those after it."""
        values: dict[tuple[int, int], Any] = {}
        for node in self._graph.nodes:
            if id(node) not in self._found:
                continue
            if node.op is None:
                values[id(node), 0] = np.asarray(holds[self._place[id(node)]])
                continue
            results = node.op.compute(*(values[id(e.node), e.index] for e in node.inputs))
            results = results if isinstance(results, tuple | list) else (results,)
            values.update(((id(node), i), np.asarray(r)) for i, r in enumerate(results))
        first, *after = ((id(e.node), e.index) for e in self._graph.outputs)
        for place in self._states:
            holds[place] = values[after[place - 2]]
        return values[first]


@op("_backward__onnx_Loop")
class LoopBackward(ControlFlowBackward, Loop):
    """The gradients of the inputs of _onnx_Loop."""

    needs = ("subgraphs",)

    def back(self, dy, inputs, gradients, forward, backs):
        given, _, _ = self.steps(inputs, forward[0])
        captured = self.split(inputs)[3]
        first, outside = self.split(gradients)[2:]
        dstates = dy[: self.num_states]
        for t in reversed(range(len(given))):
            heads = (None, *dstates, *(one[t] for one in dy[self.num_states :]))
            _, _, *dstates = gather_gradients(self, backs, given[t], captured, heads, outside)
        for total, part in zip(first, dstates):
            total += part


@op("_onnx_Scan")
class Scan(Repeated):
    """A body applied to each slice of some inputs, with states handed from step to step.

    Inputs are sequence_lens when it is in ``given``, the first states, the num_scan_inputs tensors to slice, and what the body
    takes from around it. Outputs are the last states, then what is stacked. Axes and directions (1: backwards) are those of
    the tensors to slice and of the stacked. batched: the first axis of all of them counts examples, each scanned for itself,
    those with sequence_lens only that far, what is stacked being 0 beyond (opset 8).
    Source: ONNX Scan (opset 8 to newest)."""

    num_scan_inputs: Several
    scan_input_axes: tuple[int, ...] | None = None
    scan_input_directions: tuple[int, ...] | None = None
    scan_output_axes: tuple[int, ...] | None = None
    scan_output_directions: tuple[int, ...] | None = None
    batched: bool = False
    given: tuple[str, ...] = ()

    differentiated = (0,)

    def check_locations(self, given):
        if self.given not in ((), ("sequence_lens",)) or (self.given and not self.batched):
            return f"got given={self.given}, wanted sequence_lens if anything, and that when batched"
        stacked = self.num_outputs - self.num_states
        for name, count in (("input", self.num_scan_inputs), ("output", stacked)):
            for what in ("axes", "directions"):
                values = getattr(self, f"scan_{name}_{what}")
                if values is not None and len(values) != count:
                    return f"got scan_{name}_{what}={values}, wanted {count}"
                if what == "directions" and set(values or ()) - {0, 1}:
                    return f"got scan_{name}_{what}={values}, wanted each 0 (forward) or 1 (backward)"
        if self.num_scan_inputs < 1:
            return "got nothing to scan"
        if given < len(self.given) + self.num_states + self.num_scan_inputs:
            return f"got {given} inputs, wanted {len(self.given) + self.num_states + self.num_scan_inputs} at least"
        return self.fitting(given - len(self.given))

    def split(self, inputs):
        """sequence_lens (None where not given), states, what is sliced, captured."""
        inputs = list(inputs)
        lengths = inputs.pop(0) if self.given else None
        end = self.num_states + self.num_scan_inputs
        return lengths, inputs[: self.num_states], inputs[self.num_states : end], inputs[end:]

    def axes(self, name, ranks):
        """The axes of the tensors to slice ("input") or of the stacked ("output"), of these ranks, counted from the front."""
        axes = getattr(self, f"scan_{name}_axes") or [0] * len(ranks)
        return [axis_of(self, a, r) for a, r in zip(axes, ranks)]

    def ahead(self, name, index):
        """True when the direction of a tensor is forward."""
        directions = getattr(self, f"scan_{name}_directions")
        return not directions or not directions[index]

    def infer_shape(self, *shapes, subgraphs=()):
        (body,) = self.those(subgraphs)
        lengths, states, data, captured = self.split(shapes)
        first = self.batched
        count: Any = merge_all(((UNKNOWN,), *(s[:1] for s in (*states, *data)))) if first else ()
        if lengths is not None:
            merge(lengths, count)
        states, data = [s[first:] for s in states], [s[first:] for s in data]
        axes = self.axes("input", [len(s) for s in data])
        length = (UNKNOWN,)
        for shape, axis in zip(data, axes):
            length = merge(length, (shape[axis],))
        slices = [s[:a] + s[a + 1 :] for s, a in zip(data, axes)]
        while True:
            found = self.results(body(self.arrange((*states, *slices), captured))[1])
            after = [common(a, b) for a, b in zip(states, found[: self.num_states])]
            if all(map(identical, states, after)):
                break
            states = after
        rows = found[self.num_states :]
        places = self.axes("output", [1 if s is None else len(s) + 1 for s in rows])
        stacked = [None if s is None else (*s[:a], *length, *s[a:]) for s, a in zip(rows, places)]
        return [None if s is None else (*count, *s) for s in (*states, *stacked)]

    def infer_type(self, *dtypes, subgraphs=()):
        _, states, data, captured = self.split(dtypes)
        found = self.results(self.those(subgraphs)[0](self.arrange((*states, *data), captured))[1])
        return self.state_dtypes(states, found[: self.num_states], "state") + found[self.num_states :]

    def steps(self, states, data, captured, body, length=None):
        """Run the scan: the body's own inputs in each step, what it gave to be stacked, and the last states."""
        axes = self.axes("input", [d.ndim for d in data])
        lengths = {d.shape[a] for d, a in zip(data, axes)}
        if len(lengths) > 1:
            raise self.error(f"got tensors of {sorted(lengths)} slices, wanted as many of each")
        length = lengths.pop() if length is None else length
        given, rows = [], []
        for t in range(length):
            places = [t if self.ahead("input", i) else length - 1 - t for i in range(len(data))]
            slices = [np.asarray(d[(slice(None),) * a + (p,)]) for d, a, p in zip(data, axes, places)]
            given.append((*states, *slices))
            results = self.results(body(self.arrange(given[-1], captured)))
            states = results[: self.num_states]
            rows.append(results[self.num_states :])
        return given, rows, states

    def flip_directions(self, arrays):
        """Stacked arrays, or their gradients, along the first axis, put in the order of the steps or back."""
        return [a if self.ahead("output", i) else a[::-1] for i, a in enumerate(arrays)]

    def compute(self, *arrays, subgraphs=(), specs=()):
        (body,) = self.those(subgraphs)
        lengths, states, data, captured = self.split(arrays)
        if not self.batched:
            return self._once(states, data, captured, body, specs)
        inside = [(None if s is None else s[1:], d) for s, d in specs]
        if not len(data[0]):
            return [np.zeros((0, *(0 if d is UNKNOWN else d for d in s or ())), d) for s, d in inside]
        examples = []
        for b in range(len(data[0])):
            length = None if lengths is None else int(lengths[b])
            made = self._once([s[b] for s in states], [d[b] for d in data], captured, body, inside, length)
            examples.append(made)
        if lengths is None:
            return [np.stack(column) for column in zip(*examples)]
        total = data[0].shape[1]
        for made in examples:
            for i in range(self.num_states, self.num_outputs):
                made[i] = np.pad(made[i], [(0, total - len(made[i])), *[(0, 0)] * (made[i].ndim - 1)])
        return [np.stack(column) for column in zip(*examples)]

    def _once(self, states, data, captured, body, specs, length=None):
        _, rows, states = self.steps(states, data, captured, body, length)
        specs = specs[self.num_states :]
        ranks = [r.ndim + 1 for r in rows[0]] if rows else [1 if s is None else len(s) for s, _ in specs]
        axes = self.axes("output", ranks)
        if not rows:
            return [*states, *self.stack_columns((), axes, specs)]
        made = self.flip_directions(self.stack_columns(rows, [0] * len(axes), specs))
        return [*states, *(np.moveaxis(a, 0, axis) for a, axis in zip(made, axes))]


@op("_backward__onnx_Scan")
class ScanBackward(ControlFlowBackward, Scan):
    """The gradients of the inputs of _onnx_Scan."""

    needs = ("subgraphs",)

    def back(self, dy, inputs, gradients, forward, backs):
        if self.batched:
            raise self.error(
                "opset 8's form with a batch axis is not differentiated; write the model at opset 9 or later"
            )
        _, states, data, captured = self.split(inputs)
        _, first, ddata, outside = self.split(gradients)
        given, _, _ = self.steps(states, data, captured, forward[0])
        dstates = dy[: self.num_states]
        stacked = dy[self.num_states :]
        places = self.axes("output", [d.ndim for d in stacked])
        stacked = self.flip_directions([np.moveaxis(d, a, 0) for d, a in zip(stacked, places)])
        axes = self.axes("input", [d.ndim for d in data])
        for t in reversed(range(len(given))):
            parts = gather_gradients(self, backs, given[t], captured, (*dstates, *(d[t] for d in stacked)), outside)
            dstates = parts[: self.num_states]
            for i, (total, axis) in enumerate(zip(ddata, axes)):
                place = t if self.ahead("input", i) else len(given) - 1 - t
                total[(slice(None),) * axis + (place,)] += parts[self.num_states + i]
        for total, part in zip(first, dstates):
            total += part


@op("_onnx_SequenceMap")
class SequenceMap(ControlFlow):
    """A body applied to the elements of the first sequence, and those of other sequences beside them or tensors as they are;
    what it gives is collected in sequences.

    elems: the dtypes of these tensors and of what the sequences contain; body_reads: what the body's variables hold.
    Source: ONNX SequenceMap (opset 17 to newest)."""

    elems: tuple[np.dtype, ...]
    body_reads: Locations

    exception = "runs subgraphs in ways that MXNet's control flow does not"

    def check_locations(self, given):
        if not 1 <= len(self.elems) <= given:
            return f"got {len(self.elems)} elems of {given} inputs"
        return self.within(given, "body_reads")

    def infer_shape(self, *shapes, subgraphs=()):
        return [()] * self.num_outputs

    def infer_type(self, *dtypes, subgraphs=()):
        return [OBJECT] * self.num_outputs

    def compute(self, *arrays, subgraphs=()):
        (body,) = self.those(subgraphs)
        given, captured = arrays[: len(self.elems)], arrays[len(self.elems) :]
        many = [elements(self, a) if isinstance(a[()], list) else None for a in given]
        if many[0] is None or len({len(m) for m in many if m is not None}) > 1:
            raise self.error("wanted a sequence first, and all sequences of one length")
        made = [[] for _ in range(self.num_outputs)]
        for t in range(len(many[0])):
            held = (*(a if m is None else m[t] for a, m in zip(given, many)), *captured)
            for column, result in zip(made, self.results(body([held[i] for i in self.body_reads]))):
                column.append(result)
        return [box(column) for column in made]
