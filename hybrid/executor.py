"""A symbol bound to arrays: set the arrays, run forward, read the outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, cast

import numpy as np

from .core.error import MXNetError
from .core.functions import unknown_arguments
from .core.shapes import from_legacy, is_known, show
from .eager.array import NDArray, find_gradient_rule, zeros
from .eager.backward import backward
from .eager.cached_op import CachedOp
from .eager.placed_op import PlacedOp
from .eager.sparse import zeros as zeros_of
from .eager.tape import STATE, Leaf
from .eager.watch import Watch
from .execution.context import Context, resolve
from .frontend.symbol import Symbol
from .ir.differentiate import GradientRule
from .ir.graph import Entry, Graph, Node
from .ir.infer import infer, want_ignored
from .ir.storage import declared, gradient_storages
from .ops.custom import Custom
from .ops.normalization import BatchNorm

GROUP = "__ctx_group__"
Arrays = Mapping[str, NDArray] | Sequence[NDArray]


Groups = Mapping[str, Context] | None
"""Contexts by the names that nodes have as ``ctx_group``."""


def placed(graph: Graph, ctx: Context, groups: Groups) -> dict[int, Context]:
    """Contexts of all nodes, by their ids: a group's where a node is of one, else for operators that of the first input, else ctx.

    Raises MXNetError for a group that groups does not name. Source: NNVM's PlaceDevice, as MXNet's executors ask it."""
    if not groups:
        return {id(n): ctx for n in graph.nodes}
    for place in groups.values():
        resolve(place)
    named = {id(n): n.attrs[GROUP] for n in graph.nodes if GROUP in n.attrs}
    if missing := sorted({g for g in named.values() if g not in groups}):
        raise MXNetError(
            f"The device assignment not found for group {', '.join(missing)}; group2ctx has {', '.join(groups)}"
        )
    found: dict[int, Context | None] = {}
    for node in graph.nodes:  # an input, if there is one, has a context: variables have
        inputs = (found[id(e.node)] for e in node.inputs)
        around = next((place for place in inputs if place is not None), ctx if node.is_variable else None)
        found[id(node)] = groups[named[id(node)]] if id(node) in named else around
    for node in reversed(graph.nodes):  # what has no inputs goes where it is read
        for entry in node.inputs:
            found[id(entry.node)] = found[id(entry.node)] or found[id(node)]
    return {key: place or ctx for key, place in found.items()}


def bind(
    symbol: Symbol, ctx: Context, args: Any, args_grad: Any, grad_req: Any, aux_states: Any, groups: Groups = None
) -> Executor:
    """See Symbol.bind.

    Examples
    --------
    >>> from gluonnx import mx
    >>> y = 2 * mx.sym.var("x")
    >>> executor = y.bind(mx.cpu(), {"x": mx.nd.array([1, 2])})
    >>> executor.forward()[0].asnumpy()
    array([2., 4.], dtype=float32)
    """
    resolve(ctx)
    arguments = _by_name(args, symbol.list_arguments(), "args")
    states = _by_name(aux_states or {}, symbol.list_auxiliary_states(), "aux_states")
    gradients = {} if args_grad is None else _by_name(args_grad, symbol.list_arguments(), "args_grad", partial=True)
    elsewhere = {f"{n} in {a.context}" for n, a in {**arguments, **states}.items() if a.context != ctx}
    if elsewhere and not groups:
        raise MXNetError(
            f"Input arrays are {', '.join(sorted(elsewhere))} while binding with ctx={ctx}. All arguments must be in "
            f"global context ({ctx}) unless group2ctx is specified for cross-device graph."
        )
    return Executor(symbol, ctx, arguments, gradients, _requests(grad_req, symbol.list_arguments()), states, groups)


def simple_bind(
    symbol: Symbol,
    ctx: Context,
    grad_req: Any,
    type_dict: Mapping[str, Any],
    shapes: Mapping[str, tuple[int, ...]],
    shared_arg_names: Sequence[str] = (),
    shared_exec: Executor | None = None,
    groups: Groups = None,
    stypes: Mapping[str, str] | None = None,
) -> Executor:
    """See Symbol.simple_bind.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top")
    >>> executor = net.simple_bind(mx.cpu(), data=(4, 3))
    >>> executor.forward(data=mx.nd.ones((4, 3)))[0].shape
    (4, 2)
    """
    resolve(ctx)
    graph = symbol.graph
    by_node = placed(graph, ctx, groups)
    places = {n.name: by_node[id(n)] for n in graph.variables()}
    names = set(symbol.list_inputs())
    given = {n: from_legacy(s) for n, s in shapes.items() if n in names}
    result = infer(graph, given, {n: d for n, d in type_dict.items() if n in names}, default_dtype="float32")
    want_ignored(result)
    unknown = [n.name for n in graph.variables() if not is_known(result.spec(Entry(n)).shape)]
    if unknown:
        raise MXNetError(
            f"simple_bind: cannot decide the shapes of {', '.join(unknown)} from "
            f"{', '.join(f'{k}: {v}' for k, v in shapes.items()) or 'nothing'}; give more shapes"
        )

    storage = {n.name: (stypes or {}).get(n.name, declared(n)) for n in graph.arguments()}
    ranks = {n.name: len(result.spec(Entry(n)).shape or ()) for n in graph.arguments()}
    storage = {
        n: "default" if s == "csr" and ranks[n] != 2 else s for n, s in storage.items()
    }  # rows and columns alone

    def made(nodes: Any) -> dict[str, NDArray]:
        specs = ((n.name, result.spec(Entry(n))) for n in nodes)
        return {n: zeros_of(storage.get(n, "default"), s.shape, places[n], s.dtype) for n, s in specs}

    arguments, states = made(graph.arguments()), made(graph.auxiliary_states())
    requests = _requests(grad_req, list(arguments))
    kinds = gradient_storages(graph, result, storage)
    wanted = {n: a for n, a in arguments.items() if requests[n] != "null"}
    gradients = {n: zeros_of(kinds.get(n, "default"), a.shape, places[n], a.dtype) for n, a in wanted.items()}
    if shared_exec is not None:
        _share(arguments, shared_exec._arguments, shared_arg_names)
        _share(gradients, shared_exec._gradients, shared_arg_names)
        _share(states, shared_exec._states, list(states))
    return Executor(symbol, ctx, arguments, gradients, requests, states, groups)


def _share(own: dict[str, NDArray], other: Mapping[str, NDArray], names: Sequence[str]) -> None:
    """Replace arrays by those of another executor. Raises MXNetError where shape or dtype differ."""
    for name in names:
        if name not in own or name not in other:
            continue
        if (own[name].shape, own[name].dtype) != (other[name].shape, other[name].dtype):
            raise MXNetError(
                f"simple_bind: {name} is {own[name].dtype.__name__}{show(own[name].shape)}, but shared_exec has it as "
                f"{other[name].dtype.__name__}{show(other[name].shape)}; wanted the same"
            )
        own[name] = other[name]


def _by_name(given: Any, names: list[str], what: str, *, partial: bool = False) -> dict[str, NDArray]:
    """Arrays by name from a list in the order of names or a dict. Raises ValueError naming all that are missing."""
    if not isinstance(given, Mapping | list | tuple):
        raise TypeError("Only accept list of NDArrays or dict of str to NDArray")
    if not isinstance(given, Mapping):
        if len(given) != len(names):
            raise ValueError(
                f"Length of {what} does not match the number of arguments: got {len(given)}, wanted {len(names)} "
                f"({', '.join(names)})"
            )
        given = dict(zip(names, given))
    missing = [n for n in names if n not in given]
    if missing and not partial:
        raise ValueError(f"key {', '.join(f'`{n}`' for n in missing)} is missing in `{what}`")
    chosen = {n: given[n] for n in names if given.get(n) is not None}
    if not all(isinstance(a, NDArray) for a in chosen.values()):
        raise TypeError("Only accept list of NDArrays or dict of str to NDArray")
    return chosen


def _requests(grad_req: Any, names: list[str]) -> dict[str, str]:
    if isinstance(grad_req, str):
        requests = dict.fromkeys(names, grad_req)
    elif isinstance(grad_req, Mapping):
        requests = {n: grad_req.get(n, "null") for n in names}
    else:
        requests = dict(zip(names, grad_req))
        if len(grad_req) != len(names):
            raise ValueError(f"grad_req: got {len(grad_req)} entries for {len(names)} arguments ({', '.join(names)})")
    wrong = sorted({r for r in requests.values() if r not in ("null", "write", "add")})
    if wrong:
        raise ValueError(f"grad_req={', '.join(map(str, wrong))} is not valid; wanted 'null', 'write' or 'add'")
    return requests


def _trained(symbol: Symbol, gradients: Mapping[str, NDArray]) -> list[Node]:
    """The nodes that gradients go through. Raises MXNetError for attributes that these do not take."""
    after = {id(n) for n in symbol.graph.variables() if n.name in gradients}
    found = []
    for node in symbol.graph.nodes:
        if any(id(e.node) in after for e in node.inputs):
            after.add(id(node))
            found.append(node)
            if node.op is not None and node.op.unread:
                error = unknown_arguments(type(node.op), node.op.unread)
                raise MXNetError(f"Error in operator {node.name}: {error}")
    return found


def _fixed_gammas(trained: Sequence[Node]) -> set[str]:
    """Names of the gammas that MXNet fills with ones in a forward run: those with fix_gamma, of what has a backward run."""
    fixed = [n for n in trained if n.op is not None and n.op.means(BatchNorm) and getattr(n.op, "fix_gamma", False)]
    return {n.inputs[1].node.name for n in fixed if n.inputs[1].node.is_variable}


def _allocated(graph: Graph, feeds: Mapping[str, NDArray], *, keep: bool) -> int:
    """Bytes of the operators' outputs: of all with keep, else the most that later operators still read. Open sizes count for 0."""
    result = infer(graph, {n: a.shape for n, a in feeds.items()}, {n: a.dtype for n, a in feeds.items()})

    def size(node: Node) -> int:
        specs = (result.spec(Entry(node, i)) for i in range(node.num_outputs))
        return sum(math.prod(s.shape) * np.dtype(s.dtype).itemsize for s in specs if is_known(s.shape))

    operators = [n for n in graph.nodes if n.op is not None]
    sizes = {id(n): size(n) for n in operators}
    if keep:
        return sum(sizes.values())
    last = {id(e.node): i for i, n in enumerate(operators) for e in n.inputs if e.node.op is not None}
    last |= {id(e.node): len(operators) for e in graph.outputs if e.node.op is not None}
    now = most = 0
    for i, node in enumerate(operators):
        now += sizes[id(node)]
        most = max(most, now)
        done = {id(e.node) for e in node.inputs if last.get(id(e.node)) == i}
        now -= sum(sizes[d] for d in done)
    return most


def _with_lasting_operators(symbol: Symbol) -> Symbol:
    """The symbol with custom operators of its own, which last as long as it does; the symbol itself where it has none."""
    if not any(n.op is not None and n.op.means(Custom) for n in symbol.graph.nodes):
        return symbol

    def change(node: Node, inputs: tuple[Entry, ...]) -> list[Entry] | None:
        if node.op is None or not node.op.means(Custom):
            return None
        made = Node(cast(Custom, node.op).lasting(), node.name, inputs, node.attrs, node.subgraphs)
        return [Entry(made, i) for i in range(node.num_outputs)]

    return symbol._face(symbol.graph.rewritten(change))


class Executor:
    """Made by ``Symbol.bind`` and ``Symbol.simple_bind``.

    The arrays in ``arg_dict`` and ``aux_dict`` are those that are computed with: write into them to change inputs.

    Examples
    --------
    >>> from gluonnx import mx
    >>> y = 3 * mx.sym.var("x")
    >>> executor = y.simple_bind(mx.cpu(), x=(2,))
    >>> executor.forward(is_train=True, x=mx.nd.array([1, 2]))[0].asnumpy()
    array([3., 6.], dtype=float32)
    >>> executor.backward(mx.nd.ones(2))
    >>> executor.grad_dict["x"].asnumpy()
    array([3., 3.], dtype=float32)
    """

    def __init__(
        self,
        symbol: Symbol,
        ctx: Context,
        arguments: dict[str, NDArray],
        gradients: dict[str, NDArray],
        requests: dict[str, str],
        states: dict[str, NDArray],
        groups: Groups = None,
    ):
        self._symbol, self._ctx, self._groups = symbol, ctx, groups
        self._arguments, self._gradients, self._requests, self._states = arguments, gradients, requests, states
        own = _with_lasting_operators(symbol)
        self._in_turn = own is not symbol
        """True where operators in Python see one call after the other, and may remember them."""
        self._op = CachedOp(own)
        by_node = placed(own.graph, ctx, groups)
        several = len({by_node[id(n)] for n in own.graph.nodes if n.op is not None}) > 1
        self._placed_op = PlacedOp(own, by_node) if several else None
        """The graph in parts, where its operators lie on several places."""
        self._needy: set[int] | None = None
        """Numbers of the outputs whose gradients have to be given, once somebody has asked."""
        self._recorded: list[NDArray] | None = None
        """The outputs of the last forward as the tape knows them."""
        self._fixed = _fixed_gammas(_trained(symbol, gradients))
        """Names of arguments that are filled with ones, as what they are taken for."""
        # whatever does not fit is said here, not when it runs
        feeds = self._feeds()
        result = infer(symbol.graph, {n: a.shape for n, a in feeds.items()}, {n: a.dtype for n, a in feeds.items()})
        specs = map(result.spec, symbol.graph.outputs)
        self._places = [by_node[id(e.node)] for e in own.graph.outputs]
        """The contexts of the outputs."""
        self._outputs = [
            zeros(s.shape if is_known(s.shape) else (0,), place, s.dtype) for s, place in zip(specs, self._places)
        ]

    def _feeds(self) -> dict[str, NDArray]:
        return {**self._arguments, **self._states}

    def _run(self, training: bool, record: bool) -> list[NDArray]:
        """The outputs; with ``record`` such that gradients go where the executor wants them."""
        feeds = self._feeds()
        if self._in_turn:
            for array in (*self._outputs, *self._gradients.values()):
                array._finish()
        args: dict[str, NDArray] = {}
        for name in self._op.names:
            array = args[name] = feeds[name].detach()
            if record and name in self._gradients:
                array._origin = Leaf(self._gradients[name], self._requests[name])
        before = STATE.recording, STATE.training
        STATE.recording, STATE.training = record, training
        try:
            in_parts = self._placed_op if self._op.watch is None else None  # who watches sees one graph
            made = self._op._run([*args.values()]) if in_parts is None else in_parts(args)
        finally:
            STATE.recording, STATE.training = before
        for array, place in zip(made, self._places, strict=True):
            array._ctx = place
        return made

    def set_monitor_callback(self, callback: Callable[[str, NDArray], None], monitor_all: bool = False) -> None:
        """Call ``callback(name, array)`` with every output of every operator, forward and backward, as it is computed; with
        monitor_all with inputs of forward too.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.sym.var("x")
        >>> executor = mx.sym.relu(x, name="act").simple_bind(mx.cpu(), x=(2,))
        >>> executor.set_monitor_callback(lambda name, array: print(name, array.shape))
        >>> _ = executor.forward()
        act_output (2,)
        """
        self._op.watch = Watch(lambda name, operator, array: callback(name, array), bool(monitor_all), monitor=True)

    def debug_str(self) -> str:
        """The graph as text, see Symbol.debug_str, and what its operators' outputs take: programs read the third line from the end.

        All of them where gradients are wanted, as backward reads them; else those that are wanted at one time.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.sym.var("x")
        >>> executor = mx.sym.relu(x, name="act").simple_bind(mx.cpu(), x=(2,))
        >>> executor.debug_str().splitlines()[4]
        'Op:relu, Name=act'
        """
        size = _allocated(self._symbol.graph, self._feeds(), keep=bool(self._gradients))
        return f"{self._symbol.debug_str()}Total {size >> 20} MB allocated\nTotal 0 TempSpace resource requested\n"

    def get_optimized_symbol(self) -> Symbol:
        """The symbol that runs: as it was bound, since operators are joined as it runs.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.sym.var("x")
        >>> mx.sym.relu(x, name="act").simple_bind(mx.cpu(), x=(2,)).get_optimized_symbol()
        <Symbol act>
        """
        return self._symbol

    @property
    def arg_dict(self) -> dict[str, NDArray]:
        """Arguments by name: inputs, parameters and labels; those that are computed with.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="top")
        >>> executor = net.simple_bind(mx.cpu(), x=(1, 3))
        >>> {name: array.shape for name, array in executor.arg_dict.items()}
        {'x': (1, 3), 'top_weight': (2, 3), 'top_bias': (2,)}
        """
        return dict(self._arguments)

    @property
    def aux_dict(self) -> dict[str, NDArray]:
        """Auxiliary states by name, such as the moving statistics of BatchNorm.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.BatchNorm(mx.sym.var("x"), name="bn")
        >>> list(net.simple_bind(mx.cpu(), x=(1, 3)).aux_dict)
        ['bn_moving_mean', 'bn_moving_var']
        """
        return dict(self._states)

    @property
    def grad_dict(self) -> dict[str, NDArray | None]:
        """Arrays of gradients by name of argument; None for one that gets none.

        Examples
        --------
        >>> from gluonnx import mx
        >>> executor = (2 * mx.sym.var("x")).bind(mx.cpu(), {"x": mx.nd.ones(2)}, {"x": mx.nd.zeros(2)})
        >>> _ = executor.forward(is_train=True)
        >>> executor.backward(mx.nd.ones(2))
        >>> executor.grad_dict["x"].asnumpy()
        array([2., 2.], dtype=float32)
        """
        return {n: self._gradients.get(n) for n in self._arguments}

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """Outputs of the last forward by name.

        Examples
        --------
        >>> from gluonnx import mx
        >>> executor = mx.sym.relu(mx.sym.var("x"), name="act").simple_bind(mx.cpu(), x=(2,))
        >>> list(executor.output_dict)
        ['act_output']
        """
        return dict(zip(self._symbol.list_outputs(), self._outputs))

    @property
    def arg_arrays(self) -> list[NDArray]:
        """Arguments in the order of ``list_arguments`` of the symbol.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="top")
        >>> [array.shape for array in net.simple_bind(mx.cpu(), x=(1, 3)).arg_arrays]
        [(1, 3), (2, 3), (2,)]
        """
        return list(self._arguments.values())

    @property
    def aux_arrays(self) -> list[NDArray]:
        """Auxiliary states in the order of ``list_auxiliary_states`` of the symbol.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.BatchNorm(mx.sym.var("x"), name="bn")
        >>> [array.shape for array in net.simple_bind(mx.cpu(), x=(1, 3)).aux_arrays]
        [(3,), (3,)]
        """
        return list(self._states.values())

    @property
    def grad_arrays(self) -> list[NDArray | None]:
        """Arrays of gradients in the order of the arguments; None for one that gets none.

        Examples
        --------
        >>> from gluonnx import mx
        >>> executor = mx.sym.var("x").simple_bind(mx.cpu(), grad_req="null", x=(2,))
        >>> executor.grad_arrays
        [None]
        """
        return list(self.grad_dict.values())

    @property
    def outputs(self) -> list[NDArray]:
        """The outputs of the last forward; zeros before it.

        Examples
        --------
        >>> from gluonnx import mx
        >>> executor = mx.sym.relu(mx.sym.var("x")).bind(mx.cpu(), {"x": mx.nd.array([-1, 2])})
        >>> _ = executor.forward()
        >>> executor.outputs[0].asnumpy()
        array([0., 2.], dtype=float32)
        """
        return list(self._outputs)

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Compute the outputs. Keywords are arrays to copy into arguments first.

        Raises TypeError for a name that is no argument, ValueError for an array of another shape.

        Examples
        --------
        >>> from gluonnx import mx
        >>> executor = mx.sym.relu(mx.sym.var("x")).simple_bind(mx.cpu(), x=(2,))
        >>> executor.forward(x=mx.nd.array([-1, 2]))[0].asnumpy()
        array([0., 2.], dtype=float32)
        """
        for name, value in kwargs.items():
            if name not in self._arguments:
                raise TypeError(f"Unknown argument {name}")
            target = self._arguments[name]
            source = value if isinstance(value, NDArray) else np.asarray(value)
            if tuple(source.shape) != target.shape:
                raise ValueError(
                    f"Shape not match! Argument {name}, need: {target.shape}, received: {tuple(source.shape)}"
                )
            target[:] = source
        record = bool(is_train) and bool(self._gradients)
        for name in self._fixed:
            self._arguments[name][:] = 1
        made = self._run(bool(is_train), record)
        self._recorded = made if record else None
        self._outputs = [y.detach() for y in made] if record else made
        return self.outputs

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Compute the gradients of all arguments that have an array for it, as grad_req says.

        out_grads: gradients of the outputs (an NDArray, a list or a dict by name); outputs of losses, which have a gradient of
        their own, need none, nor does what is made of them. Raises MXNetError where one is needed and missing.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.sym.var("x")
        >>> executor = (x * x).simple_bind(mx.cpu(), x=(2,))
        >>> _ = executor.forward(is_train=True, x=mx.nd.array([1, 3]))
        >>> executor.backward(mx.nd.ones(2))
        >>> executor.grad_arrays[0].asnumpy()
        array([2., 6.], dtype=float32)
        """
        names = self._symbol.list_outputs()
        if out_grads is None:
            given: list[NDArray | None] = [None] * len(names)
        elif isinstance(out_grads, Mapping):
            given = [out_grads.get(n) for n in names]
        else:
            given = [out_grads] if isinstance(out_grads, NDArray) else list(out_grads)
            given += [None] * (len(names) - len(given))
        if self._needy is None:
            self._needy = _that_need_heads(self._symbol.graph.outputs, self._gradients)
        missing = [n for i, (n, g) in enumerate(zip(names, given)) if g is None and i in self._needy]
        if missing and self._gradients:
            raise MXNetError(
                f"Because the last operator is not Loss function, head_gradient is required when calling backward: "
                f"{', '.join(missing)} got none. If you are attempting to minimize the output as an objective, please modify "
                "your network and apply mx.sym.make_loss on the output."
            )
        made, self._recorded = self._recorded, None
        if made is None:
            if not self._gradients:
                return
            made = self._run(False, True)
        heads = [(y, g) for y, g in zip(made, given) if y._origin is not None]
        if heads:
            backward([y for y, _ in heads], [g for _, g in heads], retain_graph=True)
            self._recorded = made

    def copy_params_from(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Copy parameters into the arguments and auxiliary states, converting dtypes.

        Raises ValueError listing all names that there are not (but with allow_extra_params) and all shapes that differ.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=1, no_bias=True, name="top")
        >>> executor = net.simple_bind(mx.cpu(), x=(1, 2))
        >>> executor.copy_params_from({"top_weight": mx.nd.array([[3, 4]])})
        >>> executor.arg_dict["top_weight"].asnumpy()
        array([[3., 4.]], dtype=float32)
        """
        problems = []
        copies = []
        for given, own, what in (
            (arg_params, self._arguments, "the arguments"), (aux_params or {}, self._states, "the auxiliary states")
        ):  # fmt: skip
            for name, array in given.items():
                if name not in own:
                    if not allow_extra_params:
                        problems.append(f'Find name "{name}" that is not in {what}')
                elif array.shape != own[name].shape:
                    problems.append(f"{name} has shape {show(array.shape)}, wanted {show(own[name].shape)}")
                else:
                    copies.append((own[name], array))
        if problems:
            raise ValueError("; ".join(problems))
        for target, array in copies:
            target[:] = array

    def reshape(
        self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: tuple[int, ...]
    ) -> Executor:
        """An Executor for other input shapes that shares all arrays whose shape stays.

        Raises MXNetError when an array that was not named would change (but with partial_shaping) or one would grow (but
        with allow_up_sizing).

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="top")
        >>> executor = net.simple_bind(mx.cpu(), x=(1, 3))
        >>> executor.reshape(x=(5, 3), allow_up_sizing=True).outputs[0].shape
        (5, 2)
        """
        graph = self._symbol.graph
        arguments, states = dict(self._arguments), dict(self._states)
        gradients, held = dict(self._gradients), {**arguments, **states}
        given, dtypes = {n: from_legacy(s) for n, s in kwargs.items()}, {n: a.dtype for n, a in self.arg_dict.items()}
        result = infer(graph, given, dtypes)
        open_ = [n for n in graph.variables() if not is_known(result.spec(Entry(n)).shape)]
        if open_:  # what does not follow from those given stays as it is
            result = infer(graph, {**given, **{n.name: held[n.name].shape for n in open_}}, dtypes)
        for nodes, arrays in ((graph.arguments(), arguments), (graph.auxiliary_states(), states)):
            for node in nodes:
                shape, old = result.spec(Entry(node)).shape, arrays[node.name]
                assert shape is not None
                if shape == old.shape:
                    continue
                if node.name not in kwargs and not partial_shaping:
                    raise MXNetError(
                        f"reshape: {node.name} would change from {show(old.shape)} to {show(shape)}, which was not asked for; "
                        "check the shapes, or set partial_shaping=True"
                    )
                if int(np.prod(shape)) > old.size and not allow_up_sizing:
                    raise MXNetError(
                        f"reshape: {node.name} would grow from {show(old.shape)} to {show(shape)}; set allow_up_sizing=True"
                    )
                arrays[node.name] = zeros_of(old.stype, shape, old.context, old.dtype)
                if node.name in gradients:
                    stype = gradients[node.name].stype
                    gradients[node.name] = zeros_of(stype, shape, old.context, old.dtype)
        return Executor(self._symbol, self._ctx, arguments, gradients, self._requests, states, self._groups)


def _that_need_heads(outputs: Sequence[Entry], wanted: Collection[str]) -> set[int]:
    """Numbers of the outputs whose gradients have a way to the wanted variables. It ends at losses, which start a backward run
    themselves, whatever lies behind them: a loss that is reshaped needs none either."""
    found: dict[tuple[int, int], bool] = {}
    for node in Graph(outputs).nodes:
        rule = None if node.op is None else find_gradient_rule(node.op)
        for index in range(node.num_outputs):
            if node.op is None:
                needed = node.name in wanted
            else:
                ways = node.inputs
                if isinstance(rule, GradientRule):  # else whoever asks hears that there is none
                    reads = any(i == index for _, i in rule.heads)
                    ways = tuple(node.inputs[i] for i in rule.inputs if reads)
                needed = any(found[id(e.node), e.index] for e in ways)
            found[id(node), index] = needed
    return {i for i, e in enumerate(outputs) if found[id(e.node), e.index]}
