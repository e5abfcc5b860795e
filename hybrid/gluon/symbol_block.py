"""Blocks made of a symbol: networks that were exported to files, or parts of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import symbol
from ..context import Context, current_context
from ..core.attrs import dtype as read_dtype
from ..core.boxed import box, unbox
from ..core.error import MXNetError, OperandError, OpError
from ..core.forking import lock
from ..core.shapes import is_known, show
from ..eager.cached_op import CachedOp, FastCall
from ..eager.faces import dressed
from ..formats import pairs, params
from ..ir.declared import SIZES
from ..ir.graph import Entry, Graph, Node
from ..ir.infer import infer
from ..ir.weights import WEIGHTS, is_input
from ..ndarray import NDArray
from ..symbol import Symbol
from .base_parameter import Fixed, Parameter, ParameterError
from .hybrid_block import FORWARDS, HybridBlock
from .nested import _flatten, _regroup
from .parameter_dict import ParameterDict

_OBJECT = np.dtype(object)
_SLOTS = {*WEIGHTS, "bias", "beta", "moving_mean", "moving_var"}
"""Inputs of operators that parameters stand at."""


class SymbolBlock(HybridBlock):
    """The network of a symbol. Safe to call from several threads at once.

    outputs: a symbol or a (nested) list of them; inputs: the variables to call it with, in order. All other variables are
    parameters, shared with those of ``params``. Raises TypeError or ParameterError for inputs that are no variables of the
    outputs.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.sym.var("data")
    >>> hidden = mx.sym.FullyConnected(x, num_hidden=2, name="top")
    >>> net = mx.gluon.SymbolBlock([hidden, mx.sym.relu(hidden)], [x])
    >>> list(net.collect_params())
    ['top_weight', 'top_bias']
    >>> net.initialize()
    >>> [y.shape for y in net(mx.nd.ones((4, 3)))]
    [(4, 2), (4, 2)]
    """

    def __init__(self, outputs: Any, inputs: Any, params: ParameterDict | None = None):
        super().__init__(prefix=None, params=None)
        self._prefix = ""
        self._params = ParameterDict("", params)
        heads, variables = list(_symbols(outputs, "outputs")), []
        for entry in (e for s in _symbols(inputs, "inputs") for e in s._entries):
            if not entry.node.is_variable:
                raise ParameterError(f"Input symbols must be variable, but {entry.node.name} is an output of operators")
            variables.append(dressed(Symbol([entry])))
        out = heads[0] if len(heads) == 1 else dressed(symbol.Group(heads))
        shape = outputs[0] if isinstance(outputs, list | tuple) and len(outputs) == 1 else outputs
        self._out_format = _flatten(shape, "output")[1]
        self._in_format = [0] * len(variables) if _flat(inputs) else _flatten(list(inputs), "input")[1]
        self._cached_graph = variables, out
        kinds = {n.name for n in out.graph.variables() if "__kind__" in n.attrs}
        self._sequences = {i for i, v in enumerate(variables) if v.name in kinds}
        """Numbers of the inputs that are no tensors."""
        self._lock = lock()
        self._make_parameters(out.graph, {v.name for v in variables})
        common = len(_common_prefix(list(self._params.keys())))
        self._reg_params = {name[common:]: p for name, p in self._params.items()}

    def _make_parameters(self, graph: Graph, inputs: set[str | None]) -> None:
        """A parameter for each variable that is no input, with what the graph says of it."""
        declared = infer(graph)
        for node in (*graph.arguments(), *graph.auxiliary_states()):
            if node.name in inputs:
                continue
            spec = declared.spec(Entry(node))
            found = self._params._find(node.name)
            if found is not None:  # shared: it knows better
                continue
            state = graph.is_auxiliary(node)
            held = "__held__" in node.attrs  # by an import from ONNX, until somebody sets grad_req
            kind = Fixed if _is_fixed(node) and not state and not held else Parameter
            made = kind(
                node.name,
                shape=spec.shape if is_known(spec.shape) else None,
                dtype=np.float32 if spec.dtype is None else spec.dtype.type,
                grad_req="null" if state or _is_fixed(node) or not _trains(spec.dtype) else "write",
                lr_mult=1.0 if held else float(node.attrs.get("__lr_mult__", 1.0)),
                wd_mult=1.0 if held else float(node.attrs.get("__wd_mult__", 1.0)),
                allow_deferred_init=True,
                differentiable=not state,  # as BatchNorm's own: nobody means to decay running means
            )
            self._params._put(made)

    def __repr__(self) -> str:
        variables, out = self._get_graph()
        return f"SymbolBlock(\n{out} : {len(variables)} -> {len(out)}\n)"

    @property
    def graph(self) -> Graph:
        """The graph that it runs.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.sym.var("data")
        >>> net = mx.gluon.SymbolBlock(mx.sym.relu(x, name="relu"), x)
        >>> [node.name for node in net.graph.nodes]
        ['data', 'relu']
        """
        return self._get_graph()[1].graph

    @staticmethod
    def imports(
        symbol_file: Any,
        input_names: Any,
        param_file: Any = None,
        ctx: Context | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> SymbolBlock:
        """The network of a symbol file, with the parameters of a parameter file.

        symbol_file, param_file: paths; without the latter parameters are yet to be loaded. input_names: the inputs, a name or
        a list. ctx: contexts to put the parameters on. allow_missing: leave parameters that the file has not. ignore_extra:
        pass over arrays that the network has not. Raises ParameterError naming every input that the symbol lacks, and every
        parameter that is missing, not wanted, or of a shape that does not fit the others.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.initialize()
        >>> net.hybridize()
        >>> x = mx.nd.ones((1, 3))
        >>> y = net(x)
        >>> files = net.export("net")
        >>> again = mx.gluon.SymbolBlock.imports("net-symbol.json", ["data"], "net-0000.params")
        >>> (again(x) == y).asnumpy().all().item()
        True
        """
        loaded = symbol.load(symbol_file)
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        known = loaded.list_inputs()
        unknown = [n for n in names if n not in known]
        if unknown:
            raise ParameterError(
                f"inputs {', '.join(unknown)} are not in {symbol_file}; its variables are {', '.join(known)}"
            )
        block = SymbolBlock(dressed(loaded), [dressed(symbol.var(n)) for n in names])
        if param_file is not None:
            pairs.check(symbol_file, param_file)
            try:
                block.collect_params().load(
                    param_file, ctx, allow_missing, ignore_extra, cast_dtype=True, dtype_source="saved"
                )
            except ParameterError as error:
                forgotten = block._forgotten_inputs(param_file)
                if not forgotten:
                    raise
                every = [n for n in loaded.list_inputs() if n in names or n in forgotten]
                raise ParameterError(
                    f"{', '.join(forgotten)} must be named among the inputs, for {param_file} has no array for "
                    f"{'it' if len(forgotten) == 1 else 'them'}: SymbolBlock.imports({str(symbol_file)!r}, {every}, ...), in the "
                    "order that calls are to give them"
                ) from error
            block._check_shapes()
        return block

    def _forgotten_inputs(self, param_file: Any) -> list[str]:
        """Variables without an array in a file that are inputs by all signs: whole numbers, or of open sizes and no weights."""
        held = params.load(param_file)
        there = {str(n).rpartition(":")[2] for n in held} if isinstance(held, dict) else set()
        declared = infer(self.graph)
        readers = self.graph.uses()
        found = []
        for node in self.graph.arguments():
            if node.name not in self._params or node.name in there:
                continue
            if is_input(node):
                found.append(node.name)
                continue
            spec = declared.spec(Entry(node))
            slots = {r.op.input_names()[i] for r, i in readers.get((id(node), 0), ()) if r.op is not None}
            if not _trains(spec.dtype) or (not is_known(spec.shape) and not slots & _SLOTS):
                found.append(node.name)
        return found

    def _check_shapes(self) -> None:
        """Raise ParameterError where the loaded parameters contradict the network, as far as they alone can tell."""
        arrays = {n: p.data() for n, p in self._params.items() if p._data is not None}
        try:
            infer(self.graph, {n: a.shape for n, a in arrays.items()}, {n: a.dtype for n, a in arrays.items()})
        except OpError as error:
            raise ParameterError(f"parameters do not fit the network: {error}") from error

    def _clear_cached_op(self) -> None:
        kept = self._cached_graph
        super()._clear_cached_op()
        self._cached_graph = kept

    def _build_cache(self, *args: Any) -> CachedOp:
        with self._lock:
            if self._cached_op is not None:
                return self._cached_op
            parameters = {n: self._params[n] for n in self._get_graph()[1].list_inputs() if n in self._params}
            missing = [n for n, p in parameters.items() if p._data is None and p._deferred_init is None]
            if missing:
                raise MXNetError(
                    f"Parameter {', '.join(map(repr, missing))} has not been initialized; load the network's parameters first"
                )
            return super()._build_cache(*args)

    def forward(self, x: Any = None, *args: Any) -> Any:
        """The outputs for arrays, or for symbols, x and what follows it. Inputs and outputs of an imported network that are
        sequences are lists.

        Raises OperandError for inputs that are no arrays.

        Raises TypeError for other inputs, ValueError for too few or many, MXNetError when shapes or dtypes do not fit."""
        given = () if x is None and not args else (x, *args)
        if self._sequences:
            given = [
                _box_sequence(a) if i in self._sequences and isinstance(a, list | tuple) else a
                for i, a in enumerate(given)
            ]
        flat: list[Any] = _flatten(list(given), "input")[0] if _is_nested(given) else list(given)
        variables, out = self._get_graph()
        names = [str(v.name) for v in variables]
        if len(flat) != len(names):
            raise ValueError(f"got {len(flat)} inputs, wanted {len(names)} ({', '.join(names)})")
        if flat and all(isinstance(a, Symbol) for a in flat):
            _declare_sizes(out.graph, dict(zip(names, flat)))
            return _regroup(list(out(**dict(zip(names, flat)))), self._out_format)
        for name, arg in zip(names, flat):
            if not isinstance(arg, NDArray):
                raise OperandError(
                    f"input {name} must be an NDArray (or all inputs Symbols), got {type(arg).__name__}; use mx.nd.array"
                )
        if not flat:
            return self._call_cached_op()
        with flat[0].context:
            found = self._call_cached_op(*given)
        if isinstance(found, list):
            return [_unbox_output(f) if isinstance(f, NDArray) else f for f in found]
        return _unbox_output(found)

    def _as_called(self, fast: FastCall) -> Callable[..., Any] | None:
        boxes = fast.boxes
        if not boxes:
            return fast
        if fast.count < 2 or self._out_format not in (fast.count, [0] * fast.count):
            return None  # one sequence, or lists of them, could be taken for several outputs

        def call(*given: NDArray) -> list[Any] | None:
            found: Any = fast(*given)
            if found is not None:
                for i in boxes:
                    ctx, value = found[i]._ctx, found[i]._memory[()]
                    if type(value) is list:  # made by this call, nobody else has them
                        own = NDArray._own
                        found[i] = [own(v, ctx) for v in value]
            return found

        return call

    def _summary_nodes(self, given: Any, output: Any) -> list[tuple[str, str, list[Any]]]:
        variables, out = self._get_graph()
        graph, flat = out.graph, _flatten(list(given), "input")[0]
        fed = {str(v.name): a for v, a in zip(variables, flat) if isinstance(a, NDArray)}
        known = {**fed, **{n: p.data() for n, p in self._params.items() if p._data is not None}}
        inferred = infer(graph, {n: a.shape for n, a in known.items()}, {n: a.dtype for n, a in known.items()})
        lines = []
        for node in graph.nodes:
            if node.op is None or not node.inputs:  # constants are no layers
                continue
            shapes = [inferred.spec(Entry(node, i)).shape for i in range(node.num_visible_outputs)]
            read = dict.fromkeys(e.node.name for e in node.inputs if e.node.is_variable)
            own = [self._params[n] for n in read if n in self._params and self._params[n]._data is not None]
            lines.append((f"{node.name} ({node.op.name})", ", ".join(map(show, shapes)), own))
        return lines

    def cast(self, dtype: Any) -> None:
        """Convert all parameters to a dtype; those of BatchNorm stay in float32 when it is float16."""
        super().cast(dtype)
        if read_dtype(dtype).name != "float16":
            return
        for name in self._params:
            for ending, mean in (("running_var", "running_mean"), ("moving_var", "moving_mean")):
                group = [name.removesuffix(ending) + part for part in (mean, "gamma", "beta")]
                if name.endswith(ending) and all(n in self._params for n in group):
                    for one in (name, *group):
                        self._params[one].cast("float32")

    def reset_ctx(self, ctx: Any) -> None:
        """Move all parameters to other contexts, ctx: one or a list.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.sym.var("data")
        >>> net = mx.gluon.SymbolBlock(mx.sym.FullyConnected(x, num_hidden=2, name="top"), x)
        >>> net.initialize()
        >>> _ = net(mx.nd.ones((4, 3)))
        >>> net.reset_ctx(mx.cpu(1))
        >>> net.collect_params()["top_weight"].list_ctx()
        [cpu(1)]
        """
        self.collect_params().reset_ctx(ctx)


def _symbols(given: Any, what: str) -> Iterator[Symbol]:
    """All symbols of a symbol or a (nested) list of them."""
    if isinstance(given, Symbol):
        yield given
    elif isinstance(given, Sequence) and not isinstance(given, str):
        for item in given:
            yield from _symbols(item, what)
    else:
        raise TypeError(f"SymbolBlock: {what} must be a Symbol or a (nested) list of them, got {type(given).__name__}")


def _box_sequence(values: Sequence[Any]) -> NDArray:
    """A list of arrays as the graph's sequences carry it."""
    return NDArray._own(
        box([v.asnumpy() if isinstance(v, NDArray) else np.array(v) for v in values]), current_context()
    )


FORWARDS.add(SymbolBlock.forward)


def _unbox_output(array: NDArray) -> Any:
    """An output; a sequence as a list."""
    if array._dtype != _OBJECT or array.ndim:
        return array
    value = unbox(array._read())
    if not isinstance(value, list):
        return array
    ctx = array.context
    return [NDArray._own(np.array(v, order="C"), ctx) for v in value]


def _is_fixed(node: Node) -> bool:
    """True for a variable that the graph keeps from training: a number of the structure of an imported ONNX model, which
    even a rate of 0 would spoil where it is infinite."""
    return node.attrs.get("__grad_req__") == "null"


def _trains(dtype: np.dtype | None) -> bool:
    """True for dtypes whose numbers can change a little: no integers (axes and sizes of imported networks), no strings."""
    return dtype is None or dtype.kind == "f" or dtype.name == "bfloat16"


def _declare_sizes(graph: Graph, given: dict[str, Any]) -> None:
    """Let variables that are to stand for declared inputs of a graph declare the same sizes: those of a block around this one."""
    for node in graph.variables():
        one = given[node.name]._entries[0].node if node.name in given else None
        if one is not None and one.is_variable and is_input(node):
            one.attrs.setdefault(SIZES, node.attrs[SIZES])


def _is_nested(given: Sequence[Any]) -> bool:
    return any(isinstance(g, list | tuple) for g in given)


def _flat(inputs: Any) -> bool:
    return isinstance(inputs, Symbol) or not _is_nested(inputs)


def _common_prefix(names: Sequence[str]) -> str:
    """Longest text that all names start with."""
    low, high = min(names, default=""), max(names, default="")
    for i, (a, b) in enumerate(zip(low, high)):
        if a != b:
            return low[:i]
    return low
