"""Reverse-mode differentiation of the tape: gradients of what was recorded, by the operators' rules (ir/differentiate.py).

A rule is traced once per operator and run as operators are, so that it can be recorded too: with ``create_graph`` gradients have
gradients, to any order.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..core.error import MXNetError, OpError
from ..core.op import DENSE, Op
from ..ir.graph import Entry, Graph
from ..ops.binary import ElemwiseAdd
from ..ops.creation import OnesLike
from .array import NDArray, find_gradient_rule, invoke, with_origin, zeros
from .sparse import apply as apply_sparse
from .tape import STATE, Leaf, OpRecord, Origin, StateScope, TapeRecord, living

_NOT_RECORDED = (
    "Cannot differentiate node because it is not in a computational graph. You need to set is_recording to true or use "
    "autograd.record() to save computational graphs for backward. If you want to differentiate the same graph twice, you "
    "need to pass retain_graph=True to backward."
)


_ADD = ElemwiseAdd.bind()
_ONES = OnesLike.bind()


class _Compiled(NamedTuple):
    """A gradient rule as a list of operators over numbered slots."""

    steps: tuple[tuple[Op, tuple[int, ...], int], ...]
    """(operator, slots of the inputs, slot of the first output)"""
    slots: int
    heads: tuple[tuple[int, int], ...]
    reads: tuple[tuple[int, int], ...]
    results: tuple[tuple[int, int], ...]
    """(slot, which) of the variables"""
    gradients: tuple[tuple[int, int], ...]
    """(slot, which input it is the gradient of)"""


def _compile_rule(op: Op, asked: tuple[bool, ...]) -> _Compiled:
    """The operator's rule, as far as it is about the inputs whose gradients are asked for. Raises OpError when it has none."""
    known = op.memo.get(("backward", asked))
    if known is None:
        known = op.memo["backward", asked] = _compile(op, asked)
    return known


def _compile(op: Op, asked: tuple[bool, ...]) -> _Compiled:
    found = find_gradient_rule(op)
    if isinstance(found, OpError):
        raise found
    wanted = [(e, i) for e, i in zip(found.graph.outputs, found.inputs) if asked[i]]
    graph = Graph(e for e, _ in wanted)
    slots: dict[tuple[int, int], int] = {}
    names: dict[str, int] = {}
    steps = []
    for node in graph.nodes:
        first = len(slots)
        for i in range(node.num_outputs):
            slots[id(node), i] = len(slots)
        if node.op is None:
            names[node.name] = first
        else:
            steps.append((node.op, tuple(slots[id(e.node), e.index] for e in node.inputs), first))

    def places(pairs: Sequence[tuple[str, int]]) -> tuple[tuple[int, int], ...]:
        return tuple((names[name], i) for name, i in pairs if name in names)

    def slot(entry: Entry) -> int:
        return slots[id(entry.node), entry.index]

    return _Compiled(
        tuple(steps),
        len(slots),
        places(found.heads),
        places(found.reads),
        places(found.results),
        tuple((slot(e), i) for e, i in wanted),
    )


def _op_backward(record: OpRecord, dys: Sequence[NDArray | None]) -> list[NDArray | None]:
    """Gradients of an operator's inputs, by its rule. What was kept has its history back, for gradients of gradients."""
    assert record.inputs is not None and record.results is not None  # until it is released
    zero = all(dy is None for dy in dys)
    if zero and isinstance(find_gradient_rule(record.op), OpError):
        return [None] * len(record.parents)
    plan = _compile_rule(record.op, tuple([p is not None for p in record.parents]))
    if zero and plan.heads:  # a loss head reads no dy, and has a gradient whatever comes
        return [None] * len(record.parents)
    values: list[Any] = [None] * plan.slots
    if STATE.recording:
        for slot, i in plan.reads:
            values[slot] = with_origin(record.inputs[i], record.parents[i])
        for slot, i in plan.results:
            values[slot] = with_origin(record.results[i], (record, i))
    else:
        for slot, i in plan.reads:
            values[slot] = record.inputs[i]
        for slot, i in plan.results:
            values[slot] = record.results[i]
    for slot, i in plan.heads:
        dy = dys[i]
        if dy is None:
            spec = record.specs[i]
            kept = record.results.get(i)
            known = (*record.inputs.values(), *record.results.values(), *(d for d in dys if d is not None))
            dy = zeros(spec.shape if kept is None else kept.shape, known[0]._ctx if known else None, spec.dtype)
        values[slot] = dy
    for op, inputs, first in plan.steps:
        made = _apply(op, [values[i] for i in inputs])
        if isinstance(made, NDArray):
            values[first] = made
        else:
            values[first : first + len(made)] = made
    gradients: list[NDArray | None] = [None] * len(record.parents)
    for slot, i in plan.gradients:
        gradients[i] = values[slot]
    return gradients


def _apply(op: Op, inputs: Sequence[NDArray]) -> Any:
    """invoke, from what is stored where an input is sparse or the result is to be."""
    if op.infer_storage() is not DENSE or any(type(x) is not NDArray and x.stype != "default" for x in inputs):
        return apply_sparse(op, inputs)
    return invoke(op, inputs)


def _backward(record: TapeRecord, dys: Sequence[NDArray | None]) -> Sequence[NDArray | None]:
    """Gradients of a record's inputs from those of its outputs (None: zeros). Raises MXNetError for one that is spent."""
    if record.spent:
        raise MXNetError(f"Check failed: {_NOT_RECORDED}")
    return _op_backward(record, dys) if isinstance(record, OpRecord) else record.backward(dys)


def _gradient_key(node: Origin) -> tuple[int, int]:
    """Key under which the gradient of a Leaf, or of a record's output, is kept."""
    return (id(node), 0) if isinstance(node, Leaf) else (id(node[0]), node[1])


def accumulate(
    heads: Sequence[NDArray],
    head_grads: Sequence[NDArray | None] | None,
    wanted: Sequence[Origin],
    retain_graph: bool,
    create_graph: bool,
) -> tuple[list[tuple[Leaf, NDArray | None]], list[NDArray | None]]:
    """Gradients of every Leaf that the heads depend on (None: zeros), and those of wanted nodes."""
    arrived: dict[
        tuple[int, int], tuple[NDArray, bool]
    ] = {}  # (id of record or variable, output) -> (sum, whether ours)
    variables: dict[int, Leaf] = {}
    records: dict[int, TapeRecord] = {}
    queue: list[int] = []

    def arrive(node: Origin, gradient: NDArray | None) -> None:
        if node is None:
            return
        key = _gradient_key(node)
        if isinstance(node, Leaf):
            variables[id(node)] = node
        else:
            record = node[0]
            if record.number not in records:
                records[record.number] = record
                heapq.heappush(queue, -record.number)
        if gradient is None:  # zeros, which have to reach variables but change no sum
            return
        if key not in arrived:
            arrived[key] = gradient, False
        else:
            total, ours = arrived[key]
            if total.stype != "default" or gradient.stype != "default":
                arrived[key] = _apply(_ADD, [total, gradient]), False
            elif ours and not create_graph:
                invoke(_ADD, [total, gradient], total)
            else:
                arrived[key] = invoke(_ADD, [total, gradient]), True

    for i, head in enumerate(heads):
        given = head_grads[i] if head_grads is not None else None
        if living(head._origin) is None:
            raise MXNetError(f"Check failed: {_NOT_RECORDED}")
        if given is not None and given.shape != head.shape and given.size == head.size and given.stype == "default":
            given = given.reshape(head.shape)  # as MXNet's operators do, which look at no more than how many there are
        if given is not None and given.shape != head.shape:
            raise MXNetError(
                f"backward: head gradient {i} has shape {given.shape}, wanted that of the head, {head.shape}"
            )
        arrive(head._origin, invoke(_ONES, [head.detach()]) if given is None else given)

    kept = {_gradient_key(n) for n in wanted if n is not None}
    results: dict[tuple[int, int], NDArray] = {}
    done: list[TapeRecord] = []
    training = STATE.training
    try:
        while queue:
            record = records.pop(-heapq.heappop(queue))
            dys: list[NDArray | None] = []
            for i in range(record.outputs):
                found = arrived.pop((id(record), i), None)
                dys.append(None if found is None else found[0])
                if found is not None and (id(record), i) in kept:
                    results[id(record), i] = found[0]
            STATE.training = training and record.training
            for parent, gradient in zip(record.parents, _backward(record, dys)):
                arrive(parent, gradient)
            done.append(record)
    finally:
        STATE.training = training
    if not retain_graph:
        for record in done:
            record.release()
    for key in list(arrived):
        results[key] = arrived[key][0]
    reached = {*variables, *map(id, done)}
    for i, node in enumerate(wanted):
        if node is not None and _gradient_key(node)[0] not in reached:
            raise MXNetError(
                f"Cannot differentiate with respect to the {i + 1}-th variable because it is unreachable from the outputs."
            )
    gathered = [None if n is None else results.get(_gradient_key(n)) for n in wanted]
    return [(v, results.get((k, 0))) for k, v in variables.items()], gathered


def heads_of(heads: Any, head_grads: Any) -> tuple[list[NDArray], list[NDArray | None] | None]:
    """Heads and their gradients (None: ones) as lists. Raises ValueError where they are not as many."""
    if isinstance(heads, NDArray):
        heads = [heads]
        head_grads = None if head_grads is None else [head_grads] if isinstance(head_grads, NDArray) else head_grads
    if head_grads is not None and len(head_grads) != len(heads):
        raise ValueError(
            f"heads and head_gradients must be lists of the same length, got {len(heads)} and {len(head_grads)}"
        )
    return list(heads), None if head_grads is None else list(head_grads)


def backward(heads: Any, head_grads: Any = None, retain_graph: bool = False, train_mode: bool = True) -> None:
    """Compute the gradients of the sum of heads (weighted by head_grads) and put them where attach_grad made room.

    retain_graph: keep what was recorded, to go through it again. train_mode: with False, gradients are those of inference (of
    BatchNorm, by moving statistics, which stay); what was recorded in inference has these anyway, where MXNet mixes both.
    Raises MXNetError for a head that was not recorded.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.array([1, 2])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y, z = 2 * x, x * x
    >>> mx.autograd.backward([y, z])  # of their sum
    >>> x.grad.asnumpy()
    array([4., 6.], dtype=float32)
    """
    arrays, grads = heads_of(heads, head_grads)
    with StateScope(False, train_mode):
        found, _ = accumulate(arrays, grads, (), retain_graph, False)
        for variable, gradient in found:
            _store_gradient(variable, gradient)


def _store_gradient(variable: Leaf, gradient: NDArray | None) -> None:
    """Bring a gradient (None: zeros) to its place, as the variable requests."""
    if variable.request == "null":
        return
    variable.fresh = True
    if variable.request == "add":
        if gradient is not None and variable.grad.stype != "default":
            variable.grad._assign(..., _apply(_ADD, [variable.grad, gradient]))
        elif gradient is not None:
            invoke(_ADD, [variable.grad, gradient], variable.grad)
    else:
        if gradient is not None and variable.grad.stype not in ("default", gradient.stype):
            gradient = gradient.tostype("default")  # one sparse type as the other
        variable.grad._assign(..., 0 if gradient is None else gradient)
