"""The class Symbol, and how operators are applied to symbols. The functions of ``mx.sym`` are in symbol.py.

A Symbol is a list of entries (outputs of nodes); all else follows from the graph behind them. Nodes are shared freely
between symbols and never changed but by ``_set_attr``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ..core import functions
from ..core.attribute import AttrScope
from ..core.attrs import dtype as read_dtype
from ..core.attrs import dtype_held
from ..core.error import MXNetError, NotImplementedForSymbol, OperandError, OpError
from ..core.html import table
from ..core.name import NameManager
from ..core.op import Op
from ..core.shapes import from_legacy, is_known, to_legacy
from ..execution.context import Context, current_context
from ..formats.files import open_file, write
from ..ir import json as symbol_json
from ..ir.graph import Entry, Graph, Node
from ..ir.infer import Inference, infer, want_ignored
from ..ops.casting import AmpCast, AmpMulticast


def _single(symbol: Any, what: str) -> Entry:
    if not isinstance(symbol, Symbol):
        raise OperandError(
            f"{what} must be a Symbol, got {type(symbol).__name__}; make one with mx.sym.var or mx.sym.load"
        )
    if len(symbol._entries) != 1:
        raise MXNetError(
            f"{what} is a tuple of {len(symbol._entries)} outputs ({symbol}), single value is required; index it"
        )
    return symbol._entries[0]


def create(
    cls: type[Op],
    hint: str,
    inputs: Mapping[str, Symbol] | Sequence[Symbol],
    given: Mapping[str, Any],
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
    subgraphs: Sequence[Graph] = (),
    face: type[Symbol] | None = None,
) -> Any:
    """A symbol that applies an operator, of class face (Symbol). Inputs that are missing become variables named after it.

    inputs: by name, or in order where there can be any number of them; given: attributes as values or texts.
    Raises OpError for attributes or inputs that the operator does not take."""
    if "dtype" in given:
        given = {**given, "dtype": dtype_held(given["dtype"])}
    texts = {k: functions.attribute_text(v) for k, v in given.items()}
    # GluonCV gives {"__init__": an Initializer}
    around = {k: functions.attribute_text(v) for k, v in AttrScope.current.get(attr).items()}
    kept: dict[str, str] = {}  # of the node, not of the operator
    for key, value in {**texts, **around}.items():
        if key in symbol_json.HIDDEN or symbol_json.is_hidden(key):
            # of the two spellings of one the first is taken, as MXNet does, which goes through them in this order too
            kept.setdefault(f"__{key}__" if key in symbol_json.HIDDEN else key, value)
            texts.pop(key, None)
        else:
            texts.setdefault(key, value)
    op = cls.bind(**functions.attributes(cls, texts, len(inputs)))
    wanted = op.input_names()
    named = dict(zip(wanted, inputs)) if not isinstance(inputs, Mapping) else dict(inputs)
    if not isinstance(inputs, Mapping) and len(inputs) > len(wanted):
        raise op.error(f"got {len(inputs)} inputs, wanted {len(wanted)}")
    extra = [n for n in named if n not in wanted]
    if extra:
        raise OpError(
            f"{op.name}: Keyword argument name {', '.join(extra)} not found. Candidate arguments: {', '.join(wanted) or 'none'}"
        )
    entries = {n: _single(s, f"{op.name}: input {n}") for n, s in named.items()}
    full_name: str = NameManager.current.get(name, hint.lower())
    attrs = {**kept, **{k: str(v) for k, v in texts.items()}}

    filled = [entries.get(n) or Entry(symbol_json.make_variable(op, full_name, n, attrs)) for n in wanted]
    symbol_json.set_initial(op, filled)
    node = Node(op, full_name, filled, attrs, subgraphs)
    return (face or Symbol)(Entry(node, i) for i in range(node.num_visible_outputs))


def _call(
    cls: type[Op],
    name: str,
    inputs: dict[str, Any] | list[Any],
    given: dict[str, Any],
    face: type[Symbol] | None = None,
) -> Any:
    """Apply an operator to symbols: the body of every sym function; see functions.FrontendCall. face: their class, and that of the
    result (Symbol)."""
    kind = face or Symbol
    for value in (*(inputs if isinstance(inputs, list) else inputs.values()), *given.values()):
        if isinstance(value, Symbol) and value._face is not kind:
            raise OperandError(
                f"{name}: got a symbol of {value._face.__name__}, wanted {kind.__name__}: symbols of mx.sym and of mx.sym.np are "
                f"not mixed; call as_{'nd' if kind is Symbol else 'np'}_ndarray() upon it"
            )
    node_name, attr = given.pop("name", None), given.pop("attr", None)
    given.pop("out", None)
    symbols = {k: given.pop(k) for k in list(given) if isinstance(given[k], Symbol)}
    name = (
        name.removeprefix("_npi_").removeprefix("_npx_").removeprefix("_np_") if face else name
    )  # as modules of MXNet show it
    if isinstance(inputs, dict):
        return _outputs(create(cls, name, {**inputs, **symbols}, given, node_name, attr, face=face))
    if symbols:  # MXNet names the inputs of such operators arg0, arg1, ...
        names = [f"arg{i}" for i in range(len(inputs) + len(symbols))]
        missing = [n for n in names[len(inputs) :] if n not in symbols]
        if missing:
            raise OpError(f"{cls.name}: got inputs {', '.join(symbols)}, wanted {', '.join(names[len(inputs) :])}")
        inputs = [*inputs, *(symbols[n] for n in names[len(inputs) :])]
    return _outputs(create(cls, name, inputs, given, node_name, attr, face=face))


def _outputs(made: Symbol) -> Any:
    """The symbol, or a list of symbols where they are several of mx.sym.np, as functions of MXNet give them out."""
    return made if made._face is Symbol or len(made._entries) == 1 else list(made)


PICTURED = 300
"""Boxes of the largest drawing that a notebook shows."""


class Symbol:
    """Outputs of a graph, with all that leads to them. Made by ``mx.sym.var``, the functions of ``mx.sym``, and ``load``.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top")
    >>> net = mx.sym.softmax(net)
    >>> net.list_arguments()
    ['data', 'top_weight', 'top_bias']
    >>> net.infer_shape(data=(4, 3))[1]
    [(4, 2)]
    """

    __slots__ = ("_entries", "_graph")
    _face: type[Symbol]
    """The class of what is made of such symbols: this one, or that of mx.sym.np (np_symbol.py)."""
    bind: Callable[..., Any]  # from symbol.py, as the next
    simple_bind: Callable[..., Any]
    as_np_ndarray: Callable[[], Any]
    __array_priority__ = 1000.0  # NumPy's operators leave mixed operands to ours
    __hash__ = None  # type: ignore[assignment]  == makes a symbol

    def __init__(self, entries: Any):
        self._entries: tuple[Entry, ...] = tuple(entries)
        self._graph: Graph | None = None

    @property
    def graph(self) -> Graph:
        """The graph that computes the outputs.

        Examples
        --------
        >>> from gluonnx import mx
        >>> len(mx.sym.relu(mx.sym.var("x")).graph.nodes)
        2
        """
        if self._graph is None:
            self._graph = Graph(self._entries)
        return self._graph

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """The node's name; None for outputs of several nodes.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.sym.relu(mx.sym.var("x"), name="act").name
        'act'
        """
        nodes = {id(e.node): e.node for e in self._entries}
        return self._entries[0].node.name if len(nodes) == 1 else None

    def __repr__(self) -> str:
        if self.name is None:
            return f"<Symbol group [{', '.join(e.node.name for e in self._entries)}]>"
        return f"<Symbol {self.name}>"

    def _repr_html_(self) -> str:
        """Its graph as a picture, where it is not too large for one, and its nodes as a table, for notebooks."""
        nodes = self.graph.nodes
        rows = [
            (
                node.name,
                "" if node.op is None else node.op.name,
                ", ".join(e.name for e in node.inputs),
                ", ".join(f"{k}={v}" for k, v in node.attrs.items()),
            )
            for node in nodes
        ]
        outputs = ", ".join(self.list_outputs())
        listed = table(f"{len(nodes)} nodes -> {outputs}", ("node", "operator", "inputs", "attributes"), rows)
        from .brief import SINGLY, briefly
        from .drawing import of_graph, svg

        drawing, said = of_graph(self.graph), f"{len(nodes)} nodes"
        if len(drawing.boxes) > SINGLY:
            drawing = briefly(drawing)
            said += "; operators in a row are one box, which lists them under the pointer, equal blocks in a row are drawn once"
        if len(drawing.boxes) > PICTURED:
            return listed
        picture = f'<div style="overflow:auto;max-height:600px;background:#fff">{svg(drawing)}</div>'
        return f"{picture}<details><summary>{said}</summary>{listed}</details>"

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Symbol]:
        return (type(self)([e]) for e in self._entries)

    def __getitem__(self, index: Any) -> Symbol:
        if isinstance(index, slice):
            return type(self)(self._entries[index])
        if isinstance(index, str):
            found = [e for e in self._entries if e.name == index]
            if not found:
                raise ValueError(f'Cannot find output that matches name "{index}"')
            if len(found) > 1:
                raise ValueError(f'There are multiple outputs with name "{index}"')
            return type(self)(found)
        if not hasattr(index, "__index__"):
            raise TypeError("Symbol only support integer index to fetch i-th output")
        if index < 0:
            raise MXNetError(f"Symbol only accept nonnegative index, got {index}")
        if index >= len(self._entries):
            raise IndexError(f"index {index} of a symbol with {len(self._entries)} outputs")
        return type(self)([self._entries[index]])

    def __bool__(self) -> bool:
        raise _only_arrays("__bool__", "bool")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: NumPy's functions (np.exp, for instance) cannot compute with what has no values yet."""
        raise _only_arrays("__array__", "np.array")

    def list_arguments(self) -> list[str]:
        """Names of the variables but auxiliary states, in the order in which nodes need them: inputs, parameters and labels.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top").list_arguments()
        ['data', 'top_weight', 'top_bias']
        """
        return [n.name for n in self.graph.arguments()]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the variables that operators write to, such as the moving statistics of BatchNorm.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.sym.BatchNorm(mx.sym.var("data"), name="bn").list_auxiliary_states()
        ['bn_moving_mean', 'bn_moving_var']
        """
        return [n.name for n in self.graph.auxiliary_states()]

    def list_inputs(self) -> list[str]:
        """Names of all variables, auxiliary states included.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.sym.BatchNorm(mx.sym.var("data"), name="bn").list_inputs()
        ['data', 'bn_gamma', 'bn_beta', 'bn_moving_mean', 'bn_moving_var']
        """
        return [n.name for n in self.graph.variables()]

    def list_outputs(self) -> list[str]:
        """Names of the outputs: the node's with ``_output`` (and a number, where it has several) behind it, a variable's own.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.sym.var("x")
        >>> mx.sym.relu(x, name="act").list_outputs()
        ['act_output']
        >>> mx.sym.split(x, num_outputs=2, name="cut").list_outputs()
        ['cut_output0', 'cut_output1']
        """
        return [e.name for e in self._entries]

    def get_internals(self) -> Symbol:
        """All outputs of all nodes that lead here.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.relu(mx.sym.exp(mx.sym.var("x"), name="e"), name="act")
        >>> net.get_internals().list_outputs()
        ['x', 'e_output', 'act_output']
        >>> net.get_internals()["e_output"]
        <Symbol e>
        """
        return type(self)(self.graph.internals().outputs)

    def get_children(self) -> Symbol | None:
        """The inputs of the nodes that these are outputs of; None when they have none.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="top").get_children().list_outputs()
        ['x', 'top_weight', 'top_bias']
        """
        nodes = {id(e.node): e.node for e in self._entries}
        inputs = [entry for node in nodes.values() for entry in node.inputs]
        return type(self)(inputs) if inputs else None

    # -- attributes ---------------------------------------------------------------------------------------------------

    def attr(self, key: str) -> str | None:
        """The text of an attribute (key) of the first node, or None; ``lr_mult`` finds ``__lr_mult__`` too, ``_value_index`` is
        which of its node's outputs a single output is.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2).attr("num_hidden")
        '2'
        """
        if key == "_value_index" and len(self._entries) == 1:
            return str(self._entries[0].index)
        return self.list_attr().get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """All attributes of the (first) node. Raises DeprecationWarning when recursive: attr_dict does that.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2).list_attr()
        {'num_hidden': '2'}
        """
        if recursive:
            raise DeprecationWarning(
                "Symbol.list_attr with recursive=True has been deprecated. Please use attr_dict instead."
            )
        return _all_attrs(self._entries[0].node) if self._entries else {}

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """Attributes of all nodes that have any, by the node's name.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.sym.var("x", lr_mult=0.1).attr_dict()
        {'x': {'__lr_mult__': '0.1', 'lr_mult': '0.1'}}
        """
        return {n.name: _all_attrs(n) for n in self.graph.nodes if n.attrs}

    def _set_attr(self, **kwargs: str) -> None:
        """Set attributes of the node itself, as every symbol that shares it will see."""
        if self.name is None:
            raise MXNetError("a group of symbols has no attributes to set")
        node = self._entries[0].node
        texts = {f"__{k}__" if k in symbol_json.HIDDEN else k: v for k, v in kwargs.items()}
        for value in texts.values():
            if not isinstance(value, str):
                raise ValueError("Set Attr only accepts string values")
        if node.op is not None and any(k in node.op.fields for k in texts):
            own = {k: v for k, v in {**node.attrs, **texts}.items() if k in node.op.fields}
            node.op = type(node.op).bind(**own)
        node.attrs.update(texts)

    # -- putting together ---------------------------------------------------------------------------------------------

    def __call__(self, *args: Symbol, name: str | None = None, **kwargs: Symbol) -> Symbol:
        """The same graph with variables replaced by symbols: by position among the arguments, or by name."""
        if args and kwargs:
            raise TypeError("compose only accept input Symbols either as positional or keyword arguments, not both")
        arguments = self.list_arguments()
        if len(args) > len(arguments):
            raise MXNetError(f"compose: got {len(args)} symbols for {len(arguments)} arguments")
        if not all(isinstance(s, Symbol) for s in (*args, *kwargs.values())):
            raise TypeError("Compose expect `Symbol` as arguments")
        given = {n: _single(s, f"compose: argument {n}") for n, s in (*zip(arguments, args), *kwargs.items())}
        unknown = [n for n in given if n not in arguments]
        if unknown:
            raise MXNetError(
                f"Keyword argument name {', '.join(unknown)} not found. Candidate arguments: {', '.join(arguments)}"
            )
        head = self._entries[0].node if self.name is not None and name else None

        def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
            if node.is_variable:
                return [given[node.name]] if node.name in given else None
            if node is not head:
                return None
            renamed = Node(node.op, name or node.name, inputs, node.attrs, node.subgraphs)
            return [Entry(renamed, i) for i in range(node.num_outputs)]

        return type(self)(self.graph.rewrite(change).outputs)

    def __copy__(self) -> Symbol:
        return self.__deepcopy__(None)

    def __deepcopy__(self, memo: Any) -> Symbol:
        def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry]:
            twin = Node(node.op, node.name, inputs, node.attrs, node.subgraphs)
            return [Entry(twin, i) for i in range(node.num_outputs)]

        return type(self)(self.graph.rewrite(change).outputs)

    def __reduce__(self) -> Any:
        return load_json, (self.tojson(remove_amp_cast=False),)

    def __neg__(self) -> Symbol:
        return _binary(functions.BINARY["multiply"], self, -1.0)

    def __abs__(self) -> Symbol:
        return sym_op.abs(self)

    def astype(self, dtype: Any) -> Symbol:
        """Cast to dtype, its name or NumPy's; operator Cast.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.sym.var("x").astype("float16").infer_type(x="float32")[1]
        [<class 'numpy.float16'>]
        """
        return sym_op.cast(self, dtype=dtype)

    def reshape(self, *args: Any, **kwargs: Any) -> Symbol:
        """Of another shape; operator Reshape, whose arguments it takes: shape, and reverse.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.sym.var("x").reshape(shape=(-1, 2)).infer_shape(x=(4, 3))[1]
        [(6, 2)]
        """
        return sym_op.reshape(self, *args, **kwargs)

    def flatten(self, inplace: bool = False, **kwargs: Any) -> Symbol:
        """(N, ...) -> (N, all others in one); operator Flatten. inplace is read over.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.sym.var("x").flatten().infer_shape(x=(4, 3, 2))[1]
        [(4, 6)]
        """
        return sym_op.flatten(self, **kwargs)

    def expand_dims(self, axis: int, inplace: bool = False, **kwargs: Any) -> Symbol:
        """With another axis of length 1 in the place axis, from -ndim - 1 to ndim; operator expand_dims. inplace is read over.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.sym.var("x").expand_dims(axis=1).infer_shape(x=(4, 3))[1]
        [(4, 1, 3)]
        """
        return sym_op.expand_dims(self, axis=axis, **kwargs)

    def squeeze(self, axis: Any = None, inplace: bool = False, **kwargs: Any) -> Symbol:
        """Without axes of length 1: those of axis (an int or a tuple) or all; operator squeeze. inplace is read over.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.sym.var("x").squeeze(axis=1).infer_shape(x=(4, 1, 1))[1]
        [(4, 1)]
        """
        return sym_op.squeeze(self, axis=axis, **kwargs)

    def diag(self, k: int = 0, **kwargs: Any) -> Symbol:
        """The k-th diagonal of a matrix, or the matrix of a vector; operator diag, whose axis1 and axis2 it takes too.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.sym.var("x").diag().infer_shape(x=(4, 3))[1]
        [(3,)]
        """
        return sym_op.diag(self, k=k, **kwargs)

    def as_nd_ndarray(self) -> Symbol:
        """The same outputs as a symbol of mx.sym.

        Examples
        --------
        >>> from gluonnx import mx
        >>> type(mx.sym.np.abs(mx.sym.var("x").as_np_ndarray()).as_nd_ndarray()).__name__
        'Symbol'
        """
        return self if self._face is Symbol else Symbol(self._entries)

    def gradient(self, wrt: Any) -> Symbol:
        """Refuse with MXNetError, as MXNet does: gradients come from autograd.grad, or from the backward of a bound executor.

        wrt: names of arguments.

        Examples
        --------
        >>> from gluonnx import mx
        >>> try:
        ...     mx.sym.var("x").gradient(["x"])
        ... except mx.MXNetError as error:
        ...     print(error)
        Symbol.gradient is not implemented; use autograd, or bind with args_grad and call backward
        """
        raise MXNetError("Symbol.gradient is not implemented; use autograd, or bind with args_grad and call backward")

    def get_backend_symbol(self, backend: str) -> Symbol:
        """For "MKLDNN_QUANTIZE" the symbol with nodes fused that can be quantised together, as contrib.quantization wants it.

        backend: the name. Raises MXNetError for others: MXNet's backends fuse nodes into operators of a library's own, which
        nothing else can run.

        Examples
        --------
        >>> from gluonnx import mx
        >>> dense = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="top")
        >>> fused = mx.sym.relu(dense, name="act").get_backend_symbol("MKLDNN_QUANTIZE")
        >>> fused.get_internals().list_outputs()
        ['x', 'top_weight', 'top_bias', 'sg_mkldnn_fully_connected_0_output', 'act_output']
        """
        if backend != "MKLDNN_QUANTIZE":
            raise MXNetError(
                f"get_backend_symbol: there is no backend {backend!r}; this engine runs every symbol as it is, leave the call out"
            )
        from ..passes.quantize import merge, partition

        return Symbol(merge(partition(self.graph)).outputs)

    def optimize_for(
        self,
        backend: str,
        args: Any = None,
        aux: Any = None,
        ctx: Any = None,
        shape_dict: Any = None,
        type_dict: Any = None,
        stype_dict: Any = None,
        skip_infer: bool = False,
        **kwargs: Any,
    ) -> Symbol:
        """The symbol itself, with a warning: there are no backends, and what one would compute is the same.

        backend: its name, for the warning. args, aux, ctx, shape_dict, type_dict, stype_dict and skip_infer, of which MXNet infers
        what a backend has to know, are read over.

        Examples
        --------
        >>> import warnings
        >>> from gluonnx import mx
        >>> x = mx.sym.var("x")
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")  # of backends, as there are none
        ...     same = x.optimize_for("MKLDNN") is x
        >>> same
        True
        """
        warnings.warn(
            f"optimize_for: there is no backend {backend!r}; the symbol stays as it is, which changes no result",
            stacklevel=2,
        )
        return self

    def debug_str(self) -> str:
        """The graph as text: outputs, then every node with its inputs and attributes.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.sym.relu(mx.sym.var("x"), name="act").debug_str().splitlines()[2:5]
        ['Variable:x', '--------------------', 'Op:relu, Name=act']
        """
        return symbol_json.describe_graph(self.graph)

    # -- files --------------------------------------------------------------------------------------------------------

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """Symbol JSON in the form of MXNet 1.9.1. remove_amp_cast: without the casts that mixed precision put in, as there.

        Examples
        --------
        >>> from gluonnx import mx
        >>> text = mx.sym.relu(mx.sym.var("x"), name="act").tojson()
        >>> mx.sym.load_json(text).list_outputs()
        ['act_output']
        """
        return self._text(remove_amp_cast)({})

    def _text(self, remove_amp_cast: bool) -> Callable[[Mapping[str, Any]], str]:
        """Symbol JSON, given what else it is to say of the graph."""
        return partial(symbol_json.dumps, _without_amp(self.graph) if remove_amp_cast else self.graph)

    def save(self, fname: Any, remove_amp_cast: bool = True) -> None:
        """Write the JSON to a file; an existing one is replaced only once the new one is whole on disk.

        fname: its path; TypeError for what is none. remove_amp_cast: as in tojson.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.sym.relu(mx.sym.var("x"), name="act").save("net-symbol.json")
        >>> mx.sym.load("net-symbol.json")
        <Symbol act>
        """
        if not isinstance(fname, str | os.PathLike):
            raise TypeError(f"fname need to be string or path, got {type(fname).__name__}")
        write(fname, self.tojson(remove_amp_cast))

    # -- inference ----------------------------------------------------------------------------------------------------

    def infer_shape(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Shapes of (arguments, outputs, auxiliary states) from those given, by position or name; 0 means unknown.

        (None, None, None) and a warning when something stays unknown. Raises OpError where shapes contradict each other.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top")
        >>> arguments, outputs, states = net.infer_shape(data=(4, 3))
        >>> dict(zip(net.list_arguments(), arguments))
        {'data': (4, 3), 'top_weight': (2, 3), 'top_bias': (2,)}
        >>> outputs, states
        ([(4, 2)], [])
        """
        found = self._infer_shapes(args, kwargs)
        if all(is_known(s) for part in found for s in part):
            return _legacy(found)
        open_ones = [(n, s) for n, s in zip(self.list_arguments(), found[0]) if not is_known(s)]
        lines = "".join(f"\n\t{n}: {to_legacy(s)}" for n, s in open_ones)
        warnings.warn(
            "Cannot decide shape for the following arguments (0s in shape means unknown dimensions). "
            f"Consider providing them as input:{lines}",
            stacklevel=2,
        )
        return None, None, None

    def infer_shape_partial(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """As infer_shape, with what is known: () for an unknown shape, 0 for an unknown dimension.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top")
        >>> net.infer_shape_partial()
        ([(), (), (2,)], [()], [])
        """
        return _legacy(self._infer_shapes(args, kwargs))

    def _infer_shapes(self, args: Any, kwargs: Any) -> list[list[Any]]:
        given = self._values_by_name(args, kwargs, "shape")
        for name, shape in given.items():
            if not isinstance(shape, tuple):
                raise TypeError(f"Arguments need to be shapes (tuple), but '{name}' is {type(shape)}.")
        result = infer(self.graph, {n: from_legacy(s) for n, s in given.items()})
        want_ignored(result)
        return self._parts(result, lambda spec: spec.shape)

    def infer_type(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """dtypes of (arguments, outputs, auxiliary states), as NumPy types; else as infer_shape.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top")
        >>> [t.__name__ for t in net.infer_type(data="float16")[0]]
        ['float16', 'float16', 'float16']
        """
        found = self.infer_type_partial(*args, **kwargs)
        if all(t is not None for part in found for t in part):
            return found
        lines = "".join(f"\n\t{n}: {t}" for n, t in zip(self.list_arguments(), found[0]) if t is None)
        warnings.warn(
            f"Cannot decide type for the following arguments. Consider providing them as input:{lines}", stacklevel=2
        )
        return None, None, None

    def infer_type_partial(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """As infer_type, with None for a dtype that is unknown.

        Raises TypeError for what is no dtype.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.sym.relu(mx.sym.var("x")).infer_type_partial()
        ([None], [None], [])
        """
        named = self._values_by_name(args, kwargs, "type")
        try:
            given = {n: read_dtype(d) for n, d in named.items()}
        except ValueError as error:
            raise TypeError(str(error)) from None
        result = infer(self.graph, {}, given)
        arguments, outputs, states = self._parts(result, lambda spec: None if spec.dtype is None else spec.dtype.type)
        return arguments, outputs, states

    def _values_by_name(self, args: Any, kwargs: Mapping[str, Any], what: str) -> dict[str, Any]:
        """Values by name of variable. Raises MXNetError for names and positions that there are not."""
        if args and kwargs:
            raise ValueError(f"Can only specify known argument {what}s either by positional or kwargs way.")
        arguments, inputs = self.list_arguments(), self.list_inputs()
        if len(args) > len(arguments):
            raise MXNetError(f"infer_{what}: got {len(args)} {what}s for {len(arguments)} arguments")
        unknown = [n for n in kwargs if n not in inputs]
        if unknown:
            raise MXNetError(
                f"infer_{what}: Keyword argument name {', '.join(unknown)} not found. Candidate arguments: {', '.join(inputs)}"
            )
        pairs = kwargs.items() if kwargs else zip(arguments, args)
        return {n: v for n, v in pairs if v is not None}

    def _parts(self, result: Inference, get: Any) -> list[list[Any]]:
        graph = self.graph
        entries = ([Entry(n) for n in graph.arguments()], self._entries, [Entry(n) for n in graph.auxiliary_states()])
        return [[get(result.spec(e)) for e in part] for part in entries]

    # -- running ------------------------------------------------------------------------------------------------------

    def eval(self, ctx: Context | None = None, **kwargs: Any) -> list[Any]:
        """The outputs, a list of arrays, for arrays given by name of argument and auxiliary state.

        ctx: the device; None: the current one. Raises ValueError or MXNetError for arrays that are missing or do not fit.

        >>> from gluonnx import mx
        >>> a, b = mx.sym.var("a"), mx.sym.var("b")
        >>> (a + b).eval(a=mx.nd.ones(2), b=mx.nd.ones(2))[0].asnumpy().tolist()
        [2.0, 2.0]"""
        states = {n: kwargs[n] for n in self.list_auxiliary_states() if n in kwargs}
        return self.bind(ctx or current_context(), kwargs, grad_req="null", aux_states=states or None).forward()


_INPLACE = {"iadd": "+=", "isub": "-=", "imul": "*=", "itruediv": "/=", "imod": "%="}


def _only_arrays(function: str, alias: str | None = None, *args: Any) -> NotImplementedForSymbol:
    text = f"Function {function}"
    text += f' (namely operator "{alias}")' if alias else ""
    text += f" with arguments ({', '.join(str(type(a)) for a in args)})" if args else ""
    return NotImplementedForSymbol(f"{text} is not implemented for Symbol and only available in NDArray.")


def _refuse_inplace(dunder: str, alias: str) -> Any:
    def refuse(self: Symbol, other: Any) -> Any:
        raise _only_arrays(dunder, alias, other)

    return refuse


def _refuse(name: str) -> Any:
    def refuse(self: Symbol, *args: Any, **kwargs: Any) -> Any:
        raise _only_arrays(name)

    given = "mx.cpu()" if name == "as_in_context" else ""
    refuse.__name__ = name
    refuse.__doc__ = f"""Raises NotImplementedForSymbol: only arrays can do this.

Examples
--------
>>> from gluonnx import mx
>>> try:
...     mx.sym.var("x").{name}({given})
... except mx.base.NotImplementedForSymbol as error:
...     print(error)
Function {name} is not implemented for Symbol and only available in NDArray.
"""
    return refuse


Symbol._face = Symbol
for _name, _alias in _INPLACE.items():
    setattr(Symbol, f"__{_name}__", _refuse_inplace(f"__{_name}__", _alias))
for _name in ("asnumpy", "asscalar", "wait_to_read", "detach", "backward", "copy", "as_in_context"):
    setattr(Symbol, _name, _refuse(_name))


def _all_attrs(node: Node) -> dict[str, str]:
    """A node's attributes; what steers training shows under both of its spellings, as in MXNet."""
    plain = {k: node.attrs[f"__{k}__"] for k in symbol_json.HIDDEN if f"__{k}__" in node.attrs}
    return {**node.attrs, **plain}


def _legacy(parts: list[list[Any]]) -> tuple[Any, Any, Any]:
    arguments, outputs, states = ([to_legacy(s) for s in part] for part in parts)
    return arguments, outputs, states


def _without_amp(graph: Graph) -> Graph:
    """The graph without the casts that MXNet's automatic mixed precision puts in; it writes files without them, but for one that is
    an output, whose dtype it decides."""
    heads = {id(entry.node) for entry in graph.outputs}
    cast = {id(n) for n in graph.nodes if n.means(AmpCast, AmpMulticast) and id(n) not in heads}
    return graph.rewrite(lambda node, inputs: inputs if id(node) in cast else None) if cast else graph


def _binary(row: functions.Binary, lhs: Any, rhs: Any) -> Any:
    """A function of two arguments of which either may be a number. Raises TypeError for anything else."""
    if isinstance(lhs, functions.NUMBER) and not isinstance(rhs, Symbol):
        return row.plain(lhs, rhs)
    if functions.OPERANDS:
        lhs, rhs = functions.OPERANDS[Symbol](row, lhs, rhs)
    return create(*functions.application(row, lhs, rhs, Symbol))


def load(fname: Any) -> Symbol:
    """The symbol of a JSON file. Raises FormatError, saying what it is, for a file that is none.

    Raises TypeError for what is no path.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.sym.relu(mx.sym.var("x"), name="act").save("net-symbol.json")
    >>> mx.sym.load("net-symbol.json").list_inputs()
    ['x']
    """
    if not isinstance(fname, str | os.PathLike):
        raise TypeError(f"fname need to be string or path, got {type(fname).__name__}")
    with open_file(fname) as file:
        return _parse(file.read(), os.fspath(fname))


def load_json(json_str: Any) -> Symbol:
    """The symbol of a JSON text or its bytes, or of the file at a path object.

    Raises TypeError for anything else, FormatError for a text that is no symbol.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.sym.load_json(mx.sym.relu(mx.sym.var("x"), name="act").tojson())
    <Symbol act>
    """
    if isinstance(json_str, os.PathLike):
        return load(json_str)
    if not isinstance(json_str, str | bytes | bytearray):
        raise TypeError(f"json_str required to be string, bytes or path, got {type(json_str).__name__}")
    return _parse(bytes(json_str) if isinstance(json_str, bytearray) else json_str, "symbol JSON")


def _parse(text: str | bytes, source: str) -> Symbol:
    return Symbol(symbol_json.loads(text, source=source).outputs)


# -- functions made from the operators ----------------------------------------------------------------------------------------

TAIL = ("name", "attr", "out")


def namespace(name: str, prefix: str, more: str | None = None, face: type[Symbol] | None = None) -> functions.Namespace:
    """A module of functions of symbols of a class (Symbol); see functions.Namespace."""
    return functions.Namespace(name, prefix, partial(_call, face=face) if face else _call, TAIL, more=more)


sym_op = namespace("hybrid.symbol.op", "")
"""All operators."""
INTERNAL = namespace("hybrid.symbol._internal", "_")
"""Those whose names begin with an underscore, with it or without."""
functions.add_operators(Symbol, _binary)
Symbol.__hash__ = None  # type: ignore[assignment]
functions.add_methods(Symbol, sym_op)
