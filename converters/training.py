"""The graph that MXNet runs when it trains, in operators whose meaning does not depend on that: what ``training=True`` exports.

What training does otherwise than inference is written out: BatchNorm normalizes by the batch (ONNX's BatchNormalization with
training_mode), Dropout drops (ONNX's Dropout with training_mode), rrelu draws its slopes. Loss heads keep the output that they
have, their prediction, and what MXNet minimises becomes a further output: for the head ``softmax`` a number,
``softmax_loss_output``, whose gradients are those that MXNet's backward pass starts with. Labels are inputs. What moving
statistics become are outputs too, ``bn_moving_mean_new_output`` for ``bn_moving_mean``. Outputs come in this order: those of
the symbol, losses, statistics.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hybrid import symbol as sym
from hybrid.attribute import AttrScope
from hybrid.core.attrs import kind_of
from hybrid.core.op import Spec, find, lookup
from hybrid.core.shapes import UNKNOWN, MaybeShape, is_known
from hybrid.ir.differentiate import substitute
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import Inference
from hybrid.name import Prefix
from hybrid.ops.control import ControlFlow

from .error import Problem, Unsupported, UnsupportedModel


class _Trained(NamedTuple):
    """Symbols that stand for a node that trains."""

    outputs: Sequence[Any]
    """The visible ones."""
    moved: Sequence[Any] = ()
    """New values of the states, in the order of ``mutates``."""
    momentum: float = 0.0
    """Share of a state that stays."""


class _Move(NamedTuple):
    """A node's step of a state."""

    before: Entry
    made: Entry
    """Its new value; the statistic of the batch where the node shares a state with others."""
    momentum: float | None
    """Share of the state that stays, where that has yet to be reckoned."""


_Form = Callable[..., _Trained]
"""A function of the operator, what is known of the inputs, and the inputs as symbols."""


def training_form(graph: Graph, inference: Inference, *, still: bool = False) -> Graph:
    """The graph as it trains. still: but for what is random: nothing is dropped, slopes are the mean of those to draw from.

    inference: of this graph, with the shapes that are known. Raises UnsupportedModel listing every node that has no such form."""
    find("_onnx_Dropout")  # loads the family
    problems: list[Problem] = []
    losses: list[Entry] = []
    moves: dict[str, list[_Move]] = {}
    movers = Counter(name for node in graph.nodes for name in _moved_states(node))
    shown = {(id(e.node), e.index) for e in graph.outputs}

    def change(node: Node, inputs: tuple[Entry, ...], specs: Sequence[Spec] | None) -> Sequence[Entry] | None:
        op: Any = node.op
        if op is None or (node.subgraphs and not isinstance(op, ControlFlow)):
            return None  # what is fused for a quantised network does not train
        if node.subgraphs:
            bodies = [body.rewrite(lambda inner, given: change(inner, given, None)) for body in node.subgraphs]
            new = Node(op, node.name, inputs, node.attrs, bodies)
            return [Entry(new, i) for i in range(new.num_outputs)]
        try:
            if op.name in _LOSSES and specs is not None:
                (loss,) = _trace(node.name, inputs, lambda *x: [_LOSSES[op.name](op, specs, *_wide(specs, x))])
                losses.append(Entry(Node(lookup("_copy").bind(), f"{node.name}_loss", [loss])))
            form = _form(op, still)
            if form is None:
                return None
            sharing = any(movers[name] > 1 for name in _moved_states(node))
            if sharing:
                form = _sharing_batch_norm
            if op.mutates and specs is None:
                raise Unsupported("it moves its statistics, inside of control flow, where nothing can leave with them")
            known = [Spec()] * len(inputs) if specs is None else specs
            forms: list[_Trained] = []

            def both(*x: Any) -> Sequence[Any]:
                made = form(op, known, *x)
                forms.append(made)
                return [*made.outputs, *made.moved]

            entries = _trace(node.name, inputs, both)
        except Unsupported as reason:
            problems.append(Problem(node.name, op.name, str(reason)))
            return None
        count, momentum = len(forms[0].outputs), forms[0].momentum
        results, moved = entries[:count], entries[count:]
        for name, entry in zip(op.mutates, moved):
            place = op.input_names().index(name)
            move = _Move(inputs[place], entry, momentum if sharing else None)
            moves.setdefault(node.inputs[place].name, []).append(move)
        if (id(node), 0) in shown:
            results[0] = Entry(Node(lookup("_copy").bind(), node.name, results[:1]))
        return results + results[:1] * (node.num_outputs - len(results))  # hidden ones have no reader in a symbol

    new = graph.rewrite(lambda node, inputs: change(node, inputs, [inference.spec(e) for e in node.inputs]))
    if problems:
        raise UnsupportedModel(problems, "cannot be written as ONNX for training")
    return Graph((*new.outputs, *losses, *(_after(state, several) for state, several in moves.items())))


def _moved_states(node: Node) -> list[str]:
    """Names of the states that a node moves in its training form."""
    op = node.op
    if op is None or _form(op, False) is not _batch_norm:
        return []
    return [node.inputs[op.input_names().index(name)].name for name in op.mutates]


def _after(state: str, moves: Sequence[_Move]) -> Entry:
    """New value of a state. MXNet moves one that several nodes share as it goes backward, the last of them first."""
    value = moves[0].before
    for _, made, momentum in reversed(moves):
        if momentum is None:
            value = made
        else:
            (value,) = _trace(state, (value, made), lambda old, new, m=momentum: [old * m + new * (1 - m)])
    return Entry(Node(lookup("_copy").bind(), f"{state}_new", [value]))


def _trace(name: str, inputs: Sequence[Entry], make: Callable[..., Sequence[Any]]) -> list[Entry]:
    """Call make with symbols, and apply what it gives to entries; nodes are named after ``name``."""
    with Prefix(f"{name}_train_"), AttrScope.clean():
        variables = [Entry(Node(None, f"x{i}")) for i in range(len(inputs))]
        made = make(*(sym.Symbol([v]) for v in variables))
    graph = Graph(s._entries[0] for s in made)
    return substitute(graph, {v.name: e for v, e in zip(variables, inputs)})


def _dtype(specs: Sequence[Spec]) -> np.dtype:
    """Dtype that a loss is computed in."""
    first = specs[0].dtype or np.dtype(np.float32)
    return np.dtype(np.float32) if first.itemsize == 2 else first


def _wide(specs: Sequence[Spec], inputs: Sequence[Any]) -> list[Any]:
    """Inputs in the dtype of the first, in float32 where that has 16 bits: losses are sums."""
    dtype = _dtype(specs)
    known = [dtype if s.dtype is None else s.dtype for s in specs]  # None == float64 is True in NumPy
    return [x if d == dtype else sym.Cast(x, dtype=dtype.name) for d, x in zip(known, inputs)]


def _rank(specs: Sequence[Spec]) -> int:
    """Of the first input."""
    shape = specs[0].shape
    if shape is None:
        raise Unsupported("its rank is not known; give the shapes of all inputs")
    return len(shape)


def _size(specs: Sequence[Spec], axes: int | slice) -> int:
    """Number of elements along axes of the first input."""
    shape = specs[0].shape or ()
    sizes = shape[axes] if isinstance(axes, slice) else (shape[axes],)
    if any(s is UNKNOWN for s in sizes):
        raise Unsupported("the number of classes is dynamic; give it")
    return math.prod(sizes)


# -- what training does otherwise -------------------------------------------------------------------------------------


def _form(op: Any, still: bool) -> _Form | None:
    """The training form of an operator; None when it is the operator itself."""
    if op.name in ("BatchNorm", "BatchNorm_v1", "_contrib_BatchNormWithReLU", "_contrib_SyncBatchNorm"):
        return None if op.use_global_stats else _batch_norm
    if op.name == "Dropout":
        return _keep if still or op.p == 0 else _dropout
    if op.name == "LeakyReLU" and op.act_type == "rrelu":
        return None if still else _rrelu
    if op.name == "RNN":
        return _layers if op.drops and not still else None
    if "training" in op.needs:
        return _refuse("it has no form in ONNX for training")
    return None


def _refuse(reason: str) -> _Form:
    def form(op: Any, specs: Sequence[Spec], *inputs: Any) -> _Trained:
        raise Unsupported(reason)

    return form


def _batch_norm(op: Any, specs: Sequence[Spec], data: Any, gamma: Any, beta: Any, mean: Any, var: Any) -> _Trained:
    axis = op.axis % _rank(specs)
    gamma = sym.ones_like(gamma) if op.fix_gamma else gamma
    turned = data if axis == 1 else sym.swapaxes(data, dim1=1, dim2=axis)
    attrs = {"epsilon": op.eps, "momentum": op.momentum, "training_mode": True, "num_outputs": 3, "name": "norm"}
    made = sym._onnx_BatchNormalization(turned, gamma, beta, mean, var, **attrs)
    y = made[0] if axis == 1 else sym.swapaxes(made[0], dim1=1, dim2=axis)
    outputs = [sym.relu(y) if op.name == "_contrib_BatchNormWithReLU" else y]
    if op.output_mean_var:
        center = sym.mean(data, axis=axis, exclude=True, keepdims=True)
        spread = sym.mean(sym.square(sym.broadcast_sub(data, center)), axis=axis, exclude=True)
        third = spread if op.plain_variance else sym.rsqrt(spread + op.eps)
        outputs += [sym.Reshape(center, shape=(-1,)), third]
    return _Trained(outputs, (made[1], made[2]), op.momentum)


def _sharing_batch_norm(
    op: Any, specs: Sequence[Spec], data: Any, gamma: Any, beta: Any, mean: Any, var: Any
) -> _Trained:
    """One whose moving statistics others move too. It is given those of the batch, so that these are what it moves on: onnxruntime
    writes what it moves over what it is given, even over stored tensors, unless they are outputs of the whole graph."""
    axis = op.axis % _rank(specs)
    wide = sym.Cast(data, dtype=(specs[3].dtype or np.dtype(np.float32)).name)
    center = sym.mean(wide, axis=axis, exclude=True, keepdims=True)
    spread = sym.mean(sym.square(sym.broadcast_sub(wide, center)), axis=axis, exclude=True)
    return _batch_norm(op, specs, data, gamma, beta, sym.Reshape(center, shape=(-1,)), spread)


def _keep(op: Any, specs: Sequence[Spec], data: Any) -> _Trained:
    return _Trained([data])


def _dropout(op: Any, specs: Sequence[Spec], data: Any) -> _Trained:
    if op.p == 1:
        raise Unsupported("p=1 leaves nothing but NaN; use p < 1")
    if op.axes:  # onnxruntime computes Dropout of constant ones once, and then it drops nothing
        return _Trained([sym.Dropout(data, p=op.p, axes=op.axes, mode="always")])
    return _Trained([_dropped(data, op.p)])


def _dropped(data: Any, p: float) -> Any:
    ratio, on = (sym._onnx_Constant(value=kind_of(np.ndarray).write(np.asarray(v))) for v in (np.float32(p), np.True_))
    made = sym._onnx_Dropout(data, ratio, on, given=("ratio", "training_mode"))
    # onnxruntime leaves a Dropout out of inference, whatever training_mode says, unless something reads its mask
    return sym._npi_where_rscalar(made[1], made[0], scalar=0.0)


def _layers(op: Any, specs: Sequence[Spec], data: Any, parameters: Any, *others: Any) -> _Trained:
    """Recurrent layers one by one, with dropout between them."""
    shape = specs[0].shape
    if shape is None or len(shape) != 3 or shape[2] is UNKNOWN:
        raise Unsupported("p drops between layers; to cut them apart the number of features has to be known: give it")
    states, lengths = others[: len(op.state_names)], others[len(op.state_names) :]
    cells = op.cells(shape[2])
    weights = [*(layer[0].i2h[0] for layer in cells), cells[0][0].i2h_bias[0]]
    biases = [*(layer[0].i2h_bias[0] for layer in cells), None]
    attrs = {**op.dump(), "num_layers": 1, "p": 0.0}
    ends = []
    for layer in range(op.num_layers):
        spans = (weights[layer : layer + 2], biases[layer : layer + 2])
        own = sym.Concat(*(sym.slice_axis(parameters, axis=0, begin=a, end=b) for a, b in spans), dim=0)
        rows = {"axis": 0, "begin": layer * op.directions, "end": (layer + 1) * op.directions}
        begin = [sym.slice_axis(s, **rows) for s in states]
        given = (_dropped(data, op.p) if layer else data, own, *begin, *lengths)
        data = sym.RNN(**dict(zip(op.input_names(), given)), **attrs)
        if op.state_outputs:
            data, *last = data
            ends.append(last)
    return _Trained([data, *(sym.Concat(*parts, dim=0) for parts in zip(*ends))])


def _rrelu(op: Any, specs: Sequence[Spec], data: Any) -> _Trained:
    slopes = sym._random_uniform_like(data, low=op.lower_bound, high=op.upper_bound)
    return _Trained([sym.where(data > 0, data, data * slopes), slopes])


# -- losses: their gradients are what hybrid/ops/loss_heads_backward.py gives data ----------------------------------------


def _may_exceed(labels: MaybeShape, shape: Sequence[Any]) -> bool:
    """True when there may be more labels than rows, of which MXNet reads the first."""
    if labels is None or len(labels) != 1:
        return True
    return is_known(labels) and is_known(tuple(shape[:1])) and labels[0] != shape[0]


def _softmax_loss(op: Any, specs: Sequence[Spec], data: Any, label: Any) -> Any:
    """Cross entropy: of each row of classes, weighted, smoothed and counted as the attributes say."""
    rank = _rank(specs)
    if op.out_grad:
        raise Unsupported(
            "attribute out_grad=True: its gradient is made of what arrives, so there is no loss; set it to False"
        )
    shape, labels = specs[0].shape or (), specs[1].shape
    if labels is not None and len(labels) == rank and all(a is b or a == b for a, b in zip(shape, labels)):
        x, target = (data, label) if op.axis(rank) is not None else (sym.Flatten(data), sym.Flatten(label))
        axis = op.axis(rank) or 1
        # log of the sum of the exponentials, less what the labels say: for labels that do not sum to one too
        whole = sym.slice_axis(x - sym.log_softmax(x, axis=axis), axis=axis, begin=0, end=1)
        return (sym.sum(whole) - sym.sum(x * target)) * op.grad_scale
    flat = sym.Reshape(label, shape=(-1,))
    if op.multi_output:
        rows = sym.Reshape(data, shape=(0, 0, -1))
        likely = sym.log_softmax(rows, axis=1)
        wanted = sym.Reshape(flat, shape=(-1, 1)) if rank == 2 else sym.reshape_like(flat, sym.sum(likely, axis=1))
    else:
        rows = sym.Reshape(data, shape=(-1, 0), reverse=True) if op.preserve_shape else sym.Flatten(data)
        likely, wanted = sym.log_softmax(rows, axis=1), flat
        if not op.preserve_shape and _may_exceed(labels, shape):
            wanted = sym.slice_like(flat, sym.sum(rows, axis=1), axes=(0,))
    classes = _size(specs, 1) if op.multi_output else _size(specs, -1 if op.preserve_shape else slice(1, None))
    loss, even = -sym.pick(likely, wanted, axis=1), op.smooth_alpha / max(1, classes - 1)
    whole = sym.Reshape(sym.slice_axis(rows - likely, axis=1, begin=0, end=1), shape=(-1,))
    if op.multi_output:
        whole = sym.reshape_like(whole, loss)
    elif op.smooth_alpha:
        loss = loss * (1 - op.smooth_alpha) + (-sym.sum(likely, axis=1) - loss) * even
        whole = whole - sym.sum(rows, axis=1) * even
    # a label that is no class lowers all of them; fractions are cut off
    loss = sym.where((wanted > -1) * (wanted < classes), loss, whole)
    if op.use_ignore:
        loss = sym.where(wanted == int(op.ignore_label), sym.zeros_like(loss), loss)
    if op.normalization == "valid":
        count = sym.maximum(sym.sum(flat != int(op.ignore_label)), 1)
        return sym.broadcast_div(sym.sum(loss), count) * op.grad_scale
    if op.multi_output and rank > 2:  # the columns count
        loss = sym.mean(loss, axis=1)
    if op.normalization == "batch":
        rows = sym.mean(loss) if op.multi_output else sym.broadcast_div(sym.sum(loss), sym.sum(sym.ones_like(flat)))
        return rows * op.grad_scale
    return sym.sum(loss) * op.grad_scale


def _per_example(op: Any, each: Any) -> Any:
    """The sum over examples of the mean over what an example has."""
    return sym.sum(sym.mean(sym.Reshape(each, shape=(0, -1)), axis=1)) * op.grad_scale


def _square_loss(op: Any, specs: Sequence[Spec], data: Any, label: Any) -> Any:
    return _per_example(op, sym.square(data - sym.reshape_like(label, data)) * 0.5)


def _absolute(op: Any, specs: Sequence[Spec], data: Any, label: Any) -> Any:
    return _per_example(op, sym.abs(data - sym.reshape_like(label, data)))


def _logistic(op: Any, specs: Sequence[Spec], data: Any, label: Any) -> Any:
    return _per_example(op, sym.Activation(data, act_type="softrelu") - data * sym.reshape_like(label, data))


def _hinge(op: Any, specs: Sequence[Spec], data: Any, label: Any) -> Any:
    rows = sym.Reshape(data, shape=(-1, 0), reverse=True)
    sign = 1 - 2 * sym.one_hot(sym.Reshape(label, shape=(-1,)), depth=_size(specs, -1), dtype=_dtype(specs).name)
    short = sym.relu(sign * rows + op.margin)
    return sym.sum(short if op.use_linear else sym.square(short)) * op.regularization_coefficient


def _make_loss(op: Any, specs: Sequence[Spec], data: Any) -> Any:
    if op.name == "make_loss":
        return sym.sum(data)
    if op.normalization == "batch":  # by rows along the last axis; one dimension is one row
        last = sym.Reshape(data, shape=(-1, 0), reverse=True) if _rank(specs) > 1 else sym.expand_dims(data, axis=0)
        return sym.sum(sym.mean(last, axis=0)) * op.grad_scale
    if op.normalization == "valid":
        return sym.broadcast_div(sym.sum(data), sym.maximum(sym.sum(data > op.valid_thresh), 1)) * op.grad_scale
    return sym.sum(data) * op.grad_scale


_LOSSES: dict[str, Callable[..., Any]] = {
    "SoftmaxOutput": _softmax_loss,
    "LinearRegressionOutput": _square_loss,
    "MAERegressionOutput": _absolute,
    "LogisticRegressionOutput": _logistic,
    "SVMOutput": _hinge,
    "MakeLoss": _make_loss,
    "make_loss": _make_loss,
}
"""By loss head: what it minimises, a function of the operator, what is known of the inputs, and the inputs as symbols."""
