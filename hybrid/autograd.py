"""Automatic differentiation of what is computed step by step: ``mx.autograd``.

Inside ``record()`` operations on arrays with ``attach_grad`` (and on what is made of them) leave steps on a tape; ``backward``
goes through them from the last to the first. The gradient of an operator is its rule (``Op.gradient``), run as operators are,
so that it can be recorded too: with ``create_graph`` gradients have gradients, to any order.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .core.error import MXNetError, OpError
from .core.op import Op, lookup
from .eager.array import NDArray, invoke, traced
from .eager.tape import STATE, Node, OpStep, Step, Variable
from .ir.graph import Entry, Graph
from .symbol import Symbol

_NOT_RECORDED = (
    "Cannot differentiate node because it is not in a computational graph. You need to set is_recording to true or use "
    "autograd.record() to save computational graphs for backward. If you want to differentiate the same graph twice, you "
    "need to pass retain_graph=True to backward."
)


def set_recording(is_recording: bool) -> bool:
    """Record operations from now on, or no more; gives what it was."""
    before, STATE.recording = STATE.recording, bool(is_recording)
    return before


def set_training(train_mode: bool) -> bool:
    """Let operators behave as in training from now on, or as in prediction; gives what it was."""
    before, STATE.training = STATE.training, bool(train_mode)
    return before


def is_recording() -> bool:
    """Whether operations are recorded in this thread."""
    return STATE.recording


def is_training() -> bool:
    """Whether operators behave as in training in this thread."""
    return STATE.training


class _Scope:
    """``with`` block in which the state is another; None leaves a part of it as it is."""

    def __init__(self, recording: bool | None, training: bool | None):
        self._wanted = recording, training
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._before.append((STATE.recording, STATE.training))
        recording, training = self._wanted
        if recording is not None:
            STATE.recording = recording
        if training is not None:
            STATE.training = training

    def __exit__(self, *exception: object) -> None:
        STATE.recording, STATE.training = self._before.pop()


def record(train_mode: bool = True) -> _Scope:
    """``with record():`` records operations, which behave as in training unless train_mode is False."""
    return _Scope(True, train_mode)


def pause(train_mode: bool = False) -> _Scope:
    """``with pause():`` does not record, whatever is around it."""
    return _Scope(False, train_mode)


def train_mode() -> _Scope:
    """``with train_mode():`` lets operators behave as in training."""
    return _Scope(None, True)


def predict_mode() -> _Scope:
    """``with predict_mode():`` lets operators behave as in prediction."""
    return _Scope(None, False)


def mark_variables(variables: Any, gradients: Any, grad_reqs: Any = "write") -> None:
    """Let the gradients of arrays arrive in the given arrays, as attach_grad does with new ones.

    Raises ValueError when there are not as many gradients (or grad_reqs) as variables."""
    if isinstance(variables, NDArray):
        variables, gradients = [variables], [gradients]
    requests = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else list(grad_reqs)
    if not len(variables) == len(gradients) == len(requests):
        raise ValueError(
            f"mark_variables: got {len(variables)} variables, {len(gradients)} gradients and {len(requests)} grad_reqs"
        )
    for variable, gradient, request in zip(variables, gradients, requests):
        variable._node = Variable(gradient, request)


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


def _compiled(op: Op, asked: tuple[bool, ...]) -> _Compiled:
    """The operator's rule, as far as it is about the inputs whose gradients are asked for. Raises OpError when it has none."""
    known = op.memo.get(("backward", asked))
    if known is None:
        known = op.memo["backward", asked] = _compile(op, asked)
    return known


def _compile(op: Op, asked: tuple[bool, ...]) -> _Compiled:
    found = traced(op)
    if isinstance(found, OpError):
        raise found
    wanted = [(e, i) for e, i in zip(found.graph.outputs, found.inputs) if asked[i]]
    graph = Graph(e for e, _ in wanted)
    slots: dict[tuple[int, int], int] = {}
    names: dict[str, int] = {}
    steps = []
    for node in graph.nodes:
        first = len(slots)
        for i in range(len(node.outputs)):
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


def _op_backward(step: OpStep, dys: Sequence[NDArray | None]) -> list[NDArray | None]:
    """Gradients of an operator's inputs, by its rule. What was kept has its history back, for gradients of gradients."""
    if step.inputs is None or step.results is None:
        raise MXNetError(f"Check failed: {_NOT_RECORDED}")
    zero = all(dy is None for dy in dys)
    if zero and isinstance(traced(step.op), OpError):
        return [None] * len(step.parents)
    plan = _compiled(step.op, tuple([p is not None for p in step.parents]))
    if zero and plan.heads:  # a loss head reads no dy, and has a gradient whatever comes
        return [None] * len(step.parents)
    values: list[Any] = [None] * plan.slots
    if STATE.recording:
        for slot, i in plan.reads:
            values[slot] = with_node(step.inputs[i], step.parents[i])
        for slot, i in plan.results:
            values[slot] = with_node(step.results[i], (step, i))
    else:
        for slot, i in plan.reads:
            values[slot] = step.inputs[i]
        for slot, i in plan.results:
            values[slot] = step.results[i]
    for slot, i in plan.heads:
        dy = dys[i]
        if dy is None:
            spec = step.specs[i]
            kept = step.results.get(i)
            dy = _zeros(spec.shape if kept is None else kept.shape, spec.dtype)
        values[slot] = dy
    for op, inputs, first in plan.steps:
        made = invoke(op, [values[i] for i in inputs])
        if isinstance(made, NDArray):
            values[first] = made
        else:
            values[first : first + len(made)] = made
    gradients: list[NDArray | None] = [None] * len(step.parents)
    for slot, i in plan.gradients:
        gradients[i] = values[slot]
    return gradients


def with_node(array: NDArray, node: Node) -> NDArray:
    """The array with its history."""
    if array._node is node:
        return array
    alias = array._view(array._settled())
    alias._node = node
    return alias


def _zeros(shape: Any, dtype: Any) -> NDArray:
    from .ndarray import zeros  # which needs this module

    return zeros(shape, dtype=dtype or "float32")


def _place(node: Node) -> tuple[int, int]:
    """What the gradient of a Variable, or of a step's output, is found by."""
    return (id(node), 0) if isinstance(node, Variable) else (id(node[0]), node[1])


def _accumulate(
    heads: Sequence[NDArray],
    head_grads: Sequence[NDArray | None] | None,
    wanted: Sequence[Node],
    retain_graph: bool,
    create_graph: bool,
) -> tuple[list[tuple[Variable, NDArray | None]], list[NDArray | None]]:
    """Gradients of every Variable that the heads depend on (None: zeros), and those of wanted nodes."""
    arrived: dict[tuple[int, int], tuple[NDArray, bool]] = {}  # (id of step or variable, output) -> (sum, whether ours)
    variables: dict[int, Variable] = {}
    steps: dict[int, Step] = {}
    queue: list[int] = []

    def arrive(node: Node, gradient: NDArray | None) -> None:
        if node is None:
            return
        key = _place(node)
        if isinstance(node, Variable):
            variables[id(node)] = node
        else:
            step = node[0]
            if step.number not in steps:
                steps[step.number] = step
                heapq.heappush(queue, -step.number)
        if gradient is None:  # zeros, which have to reach variables but change no sum
            return
        if key not in arrived:
            arrived[key] = gradient, False
        else:
            total, ours = arrived[key]
            if ours and not create_graph:
                invoke(_ADD, [total, gradient], total)
            else:
                arrived[key] = invoke(_ADD, [total, gradient]), True

    for i, head in enumerate(heads):
        given = head_grads[i] if head_grads is not None else None
        if head._node is None:
            raise MXNetError(f"Check failed: {_NOT_RECORDED}")
        if given is not None and given.shape != head.shape:
            raise MXNetError(
                f"backward: head gradient {i} has shape {given.shape}, wanted that of the head, {head.shape}"
            )
        arrive(head._node, invoke(_ONES, [head.detach()]) if given is None else given)

    kept = {_place(n) for n in wanted if n is not None}
    results: dict[tuple[int, int], NDArray] = {}
    done: list[Step] = []
    training = STATE.training
    try:
        while queue:
            step = steps.pop(-heapq.heappop(queue))
            dys: list[NDArray | None] = []
            for i in range(step.outputs):
                found = arrived.pop((id(step), i), None)
                dys.append(None if found is None else found[0])
                if found is not None and (id(step), i) in kept:
                    results[id(step), i] = found[0]
            STATE.training = step.training
            for parent, gradient in zip(step.parents, step.backward(dys)):
                arrive(parent, gradient)
            done.append(step)
    finally:
        STATE.training = training
    if not retain_graph:
        for step in done:
            step.release()
    for key in list(arrived):
        results[key] = arrived[key][0]
    reached = {*variables, *map(id, done)}
    for i, node in enumerate(wanted):
        if node is not None and _place(node)[0] not in reached:
            raise MXNetError(
                f"Cannot differentiate with respect to the {i + 1}-th variable because it is unreachable from the outputs."
            )
    gathered = [None if n is None else results.get(_place(n)) for n in wanted]
    return [(v, results.get((k, 0))) for k, v in variables.items()], gathered


_ADD = lookup("elemwise_add").bind()
_ONES = lookup("ones_like").bind()
OpStep.backward = _op_backward  # type: ignore[method-assign]  the tape knows nothing of rules


def _heads(heads: Any, head_grads: Any) -> tuple[list[NDArray], list[NDArray | None] | None]:
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

    retain_graph: keep what was recorded, to go through it again. train_mode is accepted; every step's gradient is that of
    the mode in which it was computed. Raises MXNetError for a head that was not recorded."""
    arrays, grads = _heads(heads, head_grads)
    with pause(train_mode):
        found, _ = _accumulate(arrays, grads, (), retain_graph, False)
        for variable, gradient in found:
            _put(variable, gradient)


def _put(variable: Variable, gradient: NDArray | None) -> None:
    """Bring a gradient (None: zeros) to its place, as the variable requests."""
    if variable.request == "null":
        return
    variable.fresh = True
    if variable.request == "add":
        if gradient is not None and variable.grad.stype != "default":
            variable.grad._assign(..., invoke(_ADD, [variable.grad, gradient]))
        elif gradient is not None:
            invoke(_ADD, [variable.grad, gradient], variable.grad)
    else:
        variable.grad._assign(..., 0 if gradient is None else gradient)


def grad(
    heads: Any,
    variables: Any,
    head_grads: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    train_mode: bool = True,
) -> Any:
    """The gradients of heads with respect to variables, as a list of new arrays, also when variables is one array.

    create_graph: record their computation, so that they can be differentiated in turn. retain_graph: as create_graph when
    None. Raises MXNetError for a head that was not recorded, or a variable that no head depends on."""
    arrays, grads = _heads(heads, head_grads)
    wanted = [variables] if isinstance(variables, NDArray) else list(variables)
    if not wanted:
        raise ValueError("variables cannot be an empty list.")
    for i, variable in enumerate(wanted):
        if variable._node is None:
            raise MXNetError(
                f"Cannot differentiate with respect to the {i + 1}-th variable because it does not require gradient."
            )
    retain = create_graph if retain_graph is None else retain_graph
    with _Scope(create_graph, train_mode):
        _, found = _accumulate(arrays, grads, [v._node for v in wanted], retain or create_graph, create_graph)
        return [_zeros(v.shape, v.dtype) if g is None else g for v, g in zip(wanted, found)]


def get_symbol(x: NDArray) -> Symbol:
    """The recorded computation of an array as a Symbol; arrays that it started from become variables.

    Raises MXNetError for an array that was not recorded, or through a step that is no operator."""
    from .name import NameManager
    from .symbol import from_tape

    with NameManager():
        return from_tape(x._node)


class Function:
    """A function with a gradient of your own: ``forward`` and ``backward`` take and give arrays, unrecorded.

    ``save_for_backward`` keeps arrays, which ``saved_tensors`` gives back."""

    def __init__(self) -> None:
        self._used = False
        self.saved_tensors: tuple[NDArray, ...] = ()

    def save_for_backward(self, *args: NDArray) -> None:
        """Keep arrays for backward."""
        self.saved_tensors = args

    def __call__(self, *inputs: NDArray) -> Any:
        if self._used:
            raise MXNetError("Each Function instance can only be called once. Please create another instance.")
        self._used = True
        with pause():
            outputs = self.forward(*inputs)
        if not is_recording():
            return outputs
        single = isinstance(outputs, NDArray)
        made = [outputs] if single else list(outputs)
        made = [y.detach() if any(y is x for x in inputs) else y for y in made]
        parents = [x._node for x in inputs]
        if any(p is not None for p in parents):
            step = _FunctionStep(parents, len(made), self.backward, [(y.shape, y.dtype) for y in made])
            for i, y in enumerate(made):
                y._node = (step, i)
        return made[0] if single else type(outputs)(made)

    def forward(self, *inputs: NDArray) -> Any:
        """What it computes."""
        raise NotImplementedError

    def backward(self, *output_grads: NDArray) -> Any:
        """The gradients of the inputs from those of the outputs."""
        raise NotImplementedError


class _FunctionStep(Step):
    __slots__ = ("function", "specs")

    def __init__(self, parents: Sequence[Node], outputs: int, function: Callable[..., Any], specs: Any):
        super().__init__(parents, outputs)
        self.function, self.specs = function, specs

    def backward(self, dys: Sequence[NDArray | None]) -> Sequence[NDArray | None]:
        given = [_zeros(s, d) if dy is None else dy for dy, (s, d) in zip(dys, self.specs)]
        with pause(STATE.training):
            found = self.function(*given)
        gradients = [found] if isinstance(found, NDArray) else list(found)
        if len(gradients) != len(self.parents):
            raise MXNetError(
                f"{getattr(self.function, '__qualname__', self.function)} gave {len(gradients)} gradients, "
                f"wanted one for each of the {len(self.parents)} inputs"
            )
        return gradients
