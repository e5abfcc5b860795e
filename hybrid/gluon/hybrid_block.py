"""Blocks that run as written, or traced once into a graph that runs in their stead."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import ndarray, symbol
from ..core.attrs import declared_dtype
from ..core.changes import LAST, structure_changed
from ..core.error import MXNetError
from ..core.np_mode import is_np_array
from ..core.precision import FLOAT32, check_precision
from ..core.shapes import is_known, to_legacy
from ..eager.array import DENSE, _has_pending_work
from ..eager.cached_op import CachedOp, FastCall
from ..eager.faces import as_nd, as_np, want_np
from ..eager.tape import STATE, StateScope
from ..execution.precision_report import PrecisionReport
from ..formats import pairs
from ..ir.graph import Entry
from ..ir.infer import infer
from ..ndarray import NDArray
from ..symbol import Symbol
from .base_block import Block
from .base_parameter import DeferredInitializationError, Parameter
from .functions import ARRAYS, SYMBOLS
from .nested import Format, _flatten, _regroup, kinds
from .parameter_dict import ParameterDict

Graph = tuple[list[Symbol], Symbol]
"""The variables for the inputs, and the outputs as one symbol."""


MISSED = 16
"""Calls that a short one in parts leaves to the long way before another one is looked for; calls of a network that other threads
run before none is looked for."""


def _call_key(args: Sequence[Any]) -> tuple[Any, ...] | None:
    """The shapes of arrays, and of arrays in lists, of a call; None where there is anything else among its arguments."""
    key: list[Any] = []
    for arg in args:
        if type(arg) in DENSE:
            key.append(arg.shape)
        elif type(arg) is list and all(type(a) in DENSE for a in arg):
            key += [len(arg), *(a.shape for a in arg)]
        else:
            return None
    return (len(args), *key)


def _spread(args: Sequence[Any]) -> list[NDArray]:
    """The arrays of a call, those in lists too."""
    found: list[NDArray] = []
    for arg in args:
        if type(arg) is list:
            found += arg
        else:
            found.append(arg)
    return found


class HybridBlock(Block):
    """A block whose ``hybrid_forward(F, x, *args, **parameters)`` computes with arrays and symbols alike.

    After ``hybridize()`` the first call traces it: hybrid_forward gets symbols once, and from then on the graph that this
    gave runs instead. All children must be HybridBlocks.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Doubled(mx.gluon.HybridBlock):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         with self.name_scope():
    ...             self.scale = self.params.get("scale", shape=(2,), init="ones")
    ...     def hybrid_forward(self, F, x, scale):
    ...         return F.broadcast_mul(2 * x, scale)
    >>> net = Doubled()
    >>> net.initialize()
    >>> net.hybridize()
    >>> net(mx.nd.array([[1, 2]])).asnumpy()
    array([[2., 4.]], dtype=float32)
    >>> net(mx.sym.var("data")).list_arguments()[0]
    'data'
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None):
        super().__init__(prefix=prefix, params=params)
        self._cached_graph: Graph | tuple[()] = ()
        self._cached_op: CachedOp | None = None
        self._cached_op_args: list[tuple[bool, Any]] = []
        self._forget_express()
        """Fast calls like those that have been made, by the shape of the input; None where there is none."""
        self._traced: list[Any] = []
        self._traced_in = (False, False)
        """True for recording, and for training mode, when it was traced."""
        self._to_trace: dict[str, Any] | None = None
        """The way in which another process had traced it, of whose training this one goes on (hybrid/resuming)."""
        self._seen_changes = -1
        self._in_format: Format = None
        self._out_format: Format = None
        self._active = False
        self._flags: list[tuple[str, Any]] = []
        self._callback: Callable[..., Any] | None = None
        self._monitor_all = False
        self._backend: str | None = None
        self._backend_opts: dict[str, Any] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, HybridBlock):
            self._clear_cached_op()

    def register_child(self, block: Any, name: str | None = None) -> None:
        """Make a HybridBlock a child, called name or by its number. Raises ValueError for any other."""
        if not isinstance(block, HybridBlock):
            raise ValueError(
                f"Children of HybridBlock must also be HybridBlock, but {block} has type {type(block)}. "
                "If you are using Sequential, please try HybridSequential instead."
            )
        super().register_child(block, name)
        self._clear_cached_op()

    def hybridize(
        self,
        active: bool = True,
        backend: str | None = None,
        clear: bool = True,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Switch running as a graph on (active) or off, for the block and its children.

        static_alloc: keep the memory of a run for the next; static_shape: inputs keep their shapes, so that one plan is kept.
        clear: forget the graph, so that the next call traces anew. Keywords that MXNet does not have: precise: no kernel that
        trades accuracy for speed; precision: "bfloat16" or "int8" to hold constant weights of products so where no gradients
        are wanted, or "float32", whatever set_precision says (precision_report tells what it costs). inline_limit,
        forward_bulk_size and backward_bulk_size are MXNet's and change no results; backend is a partitioner of its graphs, of
        which there is none here: a warning says so.

        Raises ValueError for another precision, and for bfloat16 or int8 with precise.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2)
        >>> net.initialize()
        >>> net.hybridize(static_alloc=True, static_shape=True)
        >>> net(mx.nd.ones((1, 3))).shape
        (1, 2)
        """
        precise = bool(kwargs.pop("precise", False))
        precision = kwargs.pop("precision", None)
        if precision is not None and check_precision(precision, "hybridize(precision)") != FLOAT32 and precise:
            raise ValueError(f"hybridize: got precise=True with precision={precision!r}, wanted one of them")
        if kwargs:
            self._backend_opts = kwargs
        if backend is not None:
            warnings.warn(
                f"there are no graph backends here: {backend!r} is ignored, the graph runs as it is", stacklevel=2
            )
        self._backend = backend
        self._active = active
        sizes = {"forward_bulk_size": forward_bulk_size, "backward_bulk_size": backward_bulk_size}
        options = {"static_alloc": static_alloc, "static_shape": static_shape, "inline_limit": inline_limit}
        if precise:
            options["precise"] = True
        if precision is not None:
            options["precision"] = precision
        self._flags = [*options.items(), *((k, v) for k, v in sizes.items() if v is not None)]
        if clear:
            self._clear_cached_op()
        if active and (self._forward_hooks or self._forward_pre_hooks):
            warnings.warn(
                f'"{self}" is being hybridized while still having forward hook/pre-hook. If "{self}" is a child of '
                "HybridBlock, the hooks will not take effect.",
                stacklevel=2,
            )
        super().hybridize(active, **options, **sizes)

    def precision_report(self, *args: Any) -> PrecisionReport:
        """Costs of the precision of weights on these inputs: the distance of each output from what weights as they are give, and
        the share of each layer's weights that is lost. Raises RuntimeError when the block is not hybridized.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2)
        >>> net.initialize()
        >>> net.hybridize()
        >>> x = mx.nd.ones((1, 3))
        >>> _ = net(x)
        >>> type(net.precision_report(x)).__name__
        'PrecisionReport'
        """
        if not self._active:
            raise RuntimeError(
                f"precision_report: {self.name} is not hybridized, and so has weights as they are; call hybridize"
            )
        op, inputs = self._ready(*args)
        return op.precision_report(inputs)

    def cast(self, dtype: Any) -> None:
        """Convert all parameters to a dtype; the graph is traced anew.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2, in_units=1)
        >>> net.initialize()
        >>> net.cast("float64")
        >>> net(mx.nd.ones((1, 1), dtype="float64")).dtype.__name__
        'float64'
        """
        self._clear_cached_op()
        super().cast(dtype)

    # -- tracing ------------------------------------------------------------------------------------------------------

    def _clear_cached_op(self) -> None:
        structure_changed()
        self._cached_graph = ()
        self._cached_op = None
        self._cached_op_args = []
        self._forget_express()

    def _check_structure(self) -> None:
        """Forget the graph when there are other blocks below this one than when it was traced.

        MXNet forgets it only when this block itself gets a child, and else goes on with what is no longer there."""
        self._seen_changes = LAST.structure
        if self._cached_graph and list(map(id, _below(self))) != list(map(id, self._traced)):
            self._clear_cached_op()
            self._seen_changes = LAST.structure

    def _get_graph(self, *args: Any) -> Graph:
        """The graph for inputs of that structure, traced if there is none yet."""
        if not self._cached_graph:
            self._traced, self._traced_in = _below(self), (STATE.recording, STATE.training)
            flat, self._in_format = _flatten(args, "input")
            given = [arg for arg in flat if arg is not None]
            if not given:
                raise ValueError(f"All args are None and we do not support such a case. Received args={args}")
            names = iter(["data"] if len(given) == 1 else [f"data{i}" for i in range(len(given))])
            variables = [None if arg is None else _like(arg, _variable(next(names), arg)) for arg in flat]
            out = self._symbolic(_regroup(variables, self._in_format))
            outputs, self._out_format = _flatten(out, "output")
            if is_np_array():
                want_np(outputs, f"output of {self.name}")
            self._cached_graph = [v for v in variables if v is not None], _like(outputs[0], symbol.Group(outputs))
        return self._cached_graph

    def _how_traced(self) -> dict[str, Any] | None:
        """The way in which it was traced, as JSON has it, for a process that never runs it; None where it was not."""
        if not self._cached_graph or not self._active:
            return self._to_trace
        faces = [variable is not as_nd(variable) for variable in self._cached_graph[0]]
        return {
            "format": self._in_format,
            "np": faces,
            "dtypes": [variable.attr("__dtype__") for variable in self._cached_graph[0]],
            "recording": self._traced_in[0],
            "training": self._traced_in[1],
        }

    def _graph_to_write(self) -> Graph | tuple[()]:
        """The graph that it was traced into, as the block is now: here, or in the process whose training this one goes on."""
        if self._seen_changes != LAST.structure:
            self._check_structure()
        held = self._to_trace
        if not self._cached_graph and self._active and held is not None:
            said = held.get("dtypes") or [None] * len(held["np"])
            plain = [symbol.var("data", dtype=declared_dtype(dtype)) for dtype in said]
            made = (as_np(one) if face else one for face, one in zip(held["np"], plain, strict=True))
            with StateScope(held["recording"], held["training"]):
                return self._get_graph(*_filled(held["format"], made))
        return self._cached_graph

    def _symbolic(self, args: Sequence[Any]) -> Any:
        """hybrid_forward on symbols, its operators named after the block."""
        variables = {name: parameter.var() for name, parameter in self._reg_params.items()}
        with self.name_scope():
            return self.hybrid_forward(SYMBOLS if is_np_array() else symbol, *args, **variables)

    def _build_cache(self, *args: Any) -> CachedOp:
        """Trace the block and make the graph ready to run, its parameters initialized."""
        variables, out = self._get_graph(*args)
        positions = {variable.name: i for i, variable in enumerate(variables)}
        names = out.list_inputs()
        parameters = dict(self.collect_params().items())
        unknown = [n for n in names if n not in positions and n not in parameters]
        if unknown:
            raise AssertionError(f"Unknown input to HybridBlock: {', '.join(unknown)}")
        self._warn_of_unused(names, positions, parameters)
        used = {name: parameters[name] for name in names if name not in positions}
        try:
            for parameter in used.values():
                parameter.data()
        except DeferredInitializationError:
            self._deferred_infer_shape(*args)
            for parameter in used.values():
                parameter._finish_deferred_init()
        self._cached_op_args = [(True, positions[n]) if n in positions else (False, used[n]) for n in names]
        parameters_at = [i for i, n in enumerate(names) if n not in positions]
        self._cached_op = CachedOp(out, (("param_indices", parameters_at), *self._flags))
        return self._cached_op

    @staticmethod
    def _warn_of_unused(
        names: Sequence[str], positions: Mapping[Any, int], parameters: Mapping[str, Parameter]
    ) -> None:
        used = frozenset(names)
        inputs = ", ".join(f"{i}-th" for name, i in positions.items() if name not in used)
        if inputs:
            warnings.warn(
                f"The {inputs} input to HybridBlock is not used by any computation. Is this intended?", stacklevel=4
            )
        unused = ", ".join(name for name in parameters if name not in used)
        if unused:
            warnings.warn(f"Parameter {unused} is not used by any computation. Is this intended?", stacklevel=4)

    def _deferred_infer_shape(self, *args: Any) -> None:
        try:
            self.infer_shape(*args)
        except Exception as error:  # whatever hybrid_forward raises when it is given symbols, too
            raise ValueError(f"Deferred initialization failed because shape cannot be inferred. {error}") from error

    def infer_shape(self, *args: Any) -> None:
        """Give all parameters the shapes that follow from those of inputs. Raises OpError when they do not.

        Raises ValueError where shapes stay open.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2)
        >>> net.initialize()
        >>> net.infer_shape(mx.nd.ones((1, 3)))
        >>> net.weight.shape
        (2, 3)
        """
        variables, out = self._get_graph(*args)
        found = infer(out.graph, {str(v.name): a.shape for v, a in zip(variables, _arrays(args))})
        shapes = {node.name: found.spec(Entry(node)).shape for node in out.graph.variables()}
        open_ones = [f"{n}: {to_legacy(s)}" for n, s in shapes.items() if not is_known(s)]
        if open_ones:
            raise ValueError(
                "Cannot decide shape for the following arguments (0s in shape means unknown dimensions). "
                f"Consider providing them as input: {', '.join(open_ones)}"
            )
        for parameter in self.collect_params().values():
            if parameter.name in shapes:
                parameter.shape = shapes[parameter.name]

    def infer_type(self, *args: Any) -> None:
        """Give all parameters the dtypes that follow from those of inputs.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2, dtype="float16")
        >>> net.infer_type(mx.nd.ones((1, 3), dtype="float16"))
        >>> net.weight.dtype.__name__
        'float16'
        """
        variables, out = self._get_graph(*args)
        arguments, _, states = out.infer_type_partial(
            **{str(v.name): a.dtype for v, a in zip(variables, _arrays(args))}
        )
        dtypes = dict(zip([*out.list_arguments(), *out.list_auxiliary_states()], [*arguments, *states]))
        for parameter in self.collect_params().values():
            if dtypes.get(parameter.name) is not None:
                parameter.dtype = dtypes[parameter.name]

    def _trace_description(self) -> dict[str, Any]:
        if not self._cached_graph:
            return {"hybridized": False}
        variables, out = self._cached_graph
        return {
            "in_format": self._in_format,
            "out_format": self._out_format,
            "inputs": [variable.tojson() for variable in variables],
            "symbol": out.tojson(),
            "hybridized": True,
        }

    def _restore_trace(self, inputs: list[Symbol], out: Symbol, in_format: Format, out_format: Format) -> None:
        self._cached_graph, self._traced = (inputs, out), _below(self)
        self._in_format, self._out_format = in_format, out_format
        self._active = True

    # -- running ------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any) -> Any:
        if (
            self._express
            and not self._forward_hooks
            and not self._forward_pre_hooks
            and self._callback is None
            and self._active
        ):
            if len(args) == 1 and type(args[0]) in DENSE:
                if (express := self._express.get(args[0].shape)) is not None:
                    out = express(args[0])
                    if out is not None:
                        return out
            elif (key := _call_key(args)) is not None and (express := self._express.get(key)) is not None:
                out = express(*_spread(args))
                if out is not None:
                    many = type(out) is list and self._out_format != [0] * len(out)
                    return _regroup(out, self._out_format) if many else out
        return super().__call__(*args)

    def forward(self, x: Any, *args: Any) -> Any:
        """The outputs for arrays, or for symbols, x and what follows it; they may be nested in lists, and None.

        Raises ValueError when both kinds are mixed or there is neither; when hybridized also for arrays on different
        contexts, and for inputs of another structure than it was traced with.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Activation("relu", prefix="net_")
        >>> net.forward(mx.nd.array([-1, 2])).asnumpy()
        array([0., 2.], dtype=float32)
        >>> net.forward(mx.sym.var("data"))
        <Symbol net_fwd>
        """
        if isinstance(x, NDArray) and not args:
            contexts = [x._ctx]
        else:
            symbols, arrays, contexts = kinds((x, *args))
            if symbols and arrays:
                raise ValueError(
                    "In HybridBlock, we do not support mixed NDArrays and Symbols types for the input. "
                    "Please check the type of the args."
                )
            if not symbols and not arrays:
                raise ValueError(
                    "In HybridBlock, there must be one NDArray or one Symbol in the input. Please check the type of the args."
                )
            if symbols:
                return self._symbolic((x, *args))
        if self._active and len(contexts) > 1:
            raise ValueError(
                "Find multiple contexts in the input, After hybridized, the HybridBlock only supports one input context. "
                f"Find all contexts = {contexts}"
            )
        ctx = contexts[0]
        with ctx:
            if self._active:
                return self._call_cached_op(x, *args)
            try:
                parameters = {name: p.data(ctx) for name, p in self._reg_params.items()}
            except DeferredInitializationError:
                self._deferred_infer_shape(x, *args)
                for parameter in self.params.values():
                    parameter._finish_deferred_init()
                parameters = {name: p.data(ctx) for name, p in self._reg_params.items()}
            return self.hybrid_forward(ARRAYS if is_np_array() else ndarray, x, *args, **parameters)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N803  MXNet's name
        """Compute the block's outputs, with F the module of functions for what x is (mx.nd or mx.sym); for subclasses to define.

        kwargs: the block's own parameters, as arrays or variables.

        Examples
        --------
        >>> from gluonnx import mx
        >>> class Doubled(mx.gluon.HybridBlock):
        ...     def hybrid_forward(self, F, x):
        ...         return 2 * F.relu(x)
        >>> Doubled()(mx.nd.array([-1, 2])).asnumpy()
        array([0., 4.], dtype=float32)
        """
        raise NotImplementedError(f"{type(self).__name__} must define hybrid_forward")

    def _ready(self, *args: Any) -> tuple[CachedOp, list[NDArray]]:
        """The graph as one operator, traced if there is none yet, and what it takes for these inputs."""
        if self._seen_changes != LAST.structure:
            self._check_structure()
        run = self._cached_op or self._build_cache(*args)
        flat, form = _flatten(args, "input")
        if form != self._in_format and not _same_but_for_none(form, self._in_format):
            raise ValueError(
                "The argument structure of HybridBlock does not match the cached version. "
                f"Stored format = {self._in_format}, input format = {form}"
            )
        given = [arg for arg in flat if arg is not None]
        inputs = [given[which] if is_input else _stored(which) for is_input, which in self._cached_op_args]
        return run, inputs

    def _call_cached_op(self, *args: Any) -> Any:
        run, inputs = self._ready(*args)
        if self._callback is not None:
            run._register_op_hook(self._callback, self._monitor_all)
        out = run(*inputs)
        if run.watch is None and type(self).forward in FORWARDS and not (STATE.recording or STATE.training):
            self._make_express(run, inputs, args, out[0] if isinstance(out, list) else out)
        if self._out_format == [0] or self._out_format == 0:
            return out if self._out_format == 0 else [out]
        return _regroup([out] if isinstance(out, NDArray) else out, self._out_format)

    def _make_express(self, run: CachedOp, inputs: Sequence[NDArray], args: Sequence[Any], out: NDArray) -> None:
        """Have the next call like this one run faster, where that is possible and was not found impossible before.

        out: of this call; as long as it is pending, so may be what the backend is to hold for the next one."""
        key = args[0].shape if len(args) == 1 and type(args[0]) in DENSE else _call_key(args)
        if key is None or self._out_format == [0] or self._express.get(key, run) is None:
            return
        if any(type(a) is not run.face for a in _spread(args)):
            return  # what it gives has the face of what it gets
        if key in self._express and (last := self._fast.get(key)) is not None and last.in_parts and last.is_current():
            last.missed += 1
            if last.missed % MISSED:
                return  # it is right as it is: parts of it are looked for as it is called
        if len(self._express) >= 8:
            self._forget_express()
        holders = [which for is_input, which in self._cached_op_args if not is_input]
        given = {i: which for i, (is_input, which) in enumerate(self._cached_op_args) if is_input}
        same = sorted(given.values()) == list(range(len(_spread(args))))
        fast = run.fast_call(inputs, given, holders, self._seen_changes) if same else None
        if fast is not None:
            self._express[key], self._fast[key] = self._as_called(fast), fast
        elif not _has_pending_work(out) or self._tries.get(key, 0) >= MISSED:
            self._express[key] = None
        else:
            self._tries[key] = self._tries.get(key, 0) + 1

    def _forget_express(self) -> None:
        """Let all calls go the long way again, the next ones."""
        self._express: dict[tuple[int, ...], Callable[..., Any] | None] = {}
        self._fast: dict[tuple[int, ...], FastCall] = {}
        self._tries: dict[tuple[int, ...], int] = {}

    def _as_called(self, fast: FastCall) -> Callable[..., Any] | None:
        """A fast call that gives what a call of this gives; None where that is another matter."""
        return fast

    def register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        """Call ``callback(name, operator, array)`` for every output of every operator, backward ones included, when it runs as a
        graph.

        monitor_all: for every input of forward too. MXNet passes the address of the array.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2, prefix="top_")
        >>> net.initialize()
        >>> net.hybridize()
        >>> net.register_op_hook(lambda name, operator, array: print(name, operator, array.shape))
        >>> _ = net(mx.nd.ones((4, 3)))
        top_fwd_output FullyConnected (4, 2)
        """
        self._callback, self._monitor_all = callback, monitor_all
        for child in self._children.values():
            child._callback, child._monitor_all = callback, monitor_all

    def optimize_for(
        self,
        x: Any,
        *args: Any,
        backend: str | None = None,
        clear: bool = False,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Hybridize and trace for such inputs, x and what follows it.

        backend: as in hybridize, but ValueError without one; clear, static_alloc, static_shape, inline_limit, forward_bulk_size and
        backward_bulk_size as there.

        Examples
        --------
        >>> import warnings
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2)
        >>> net.initialize()
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")  # of backends, as there are none
        ...     net.optimize_for(mx.nd.ones((4, 3)), backend="MKLDNN")
        >>> net.weight.shape  # traced, so that the inputs are known
        (2, 3)
        """
        if not backend:
            raise ValueError('Must specify "backend" to optimize_for')
        self.hybridize(
            True,
            backend,
            clear,
            static_alloc,
            static_shape,
            inline_limit,
            forward_bulk_size,
            backward_bulk_size,
            **kwargs,
        )
        symbols, arrays, contexts = kinds((x, *args))
        if not symbols and not arrays:
            raise ValueError("In HybridBlock, there must be one NDArray or one Symbol in the input.")
        if len(contexts) > 1:
            raise ValueError(f"Found multiple contexts in the input, wanted one. Find all contexts = {contexts}")
        self._build_cache(x, *args)

    # -- files --------------------------------------------------------------------------------------------------------

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> None:
        """Write ``PATH-symbol.json`` and ``PATH-NNNN.params``, for SymbolBlock.imports, Module and other languages.

        path: the beginning of their names. epoch: the number NNNN. remove_amp_cast: without the casts that mixed precision put in.

        After ``mx.resuming.Training`` went on from a state behind the last epoch it is traced as it was before.

        Raises MXNetError when the block was not traced as it is now.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2, prefix="top_")
        >>> net.initialize()
        >>> net.hybridize()
        >>> _ = net(mx.nd.ones((1, 3)))
        >>> net.export("net", epoch=1)
        """
        graph = self._graph_to_write()
        if not graph:
            raise MXNetError(
                "Please first call block.hybridize() and then run forward with this block at least once before calling export."
            )
        variables, out = graph
        inputs = {variable.name for variable in variables}
        parameters = self.collect_params()
        states = set(out.list_auxiliary_states())
        stored = {
            f"{'aux' if name in states else 'arg'}:{name}": parameters[name]._reduce()
            for name in out.list_inputs()
            if name not in inputs
        }
        symbols = {f"{path}-symbol.json": out._text(remove_amp_cast)}
        pairs.save(symbols, f"{path}-{epoch:04d}.params", ndarray.to_stored(stored))


def _filled(form: Format, made: Iterator[Symbol]) -> Any:
    """Arguments that _flatten would take apart into that format, of symbols that are made one by one."""
    if isinstance(form, list):
        return [_filled(part, made) for part in form]
    return None if form == -1 else next(made)


def _variable(name: str, given: Any) -> Symbol:
    """The variable for an input. It says the dtype of the array that is given where that is not float32: MXNet says none, and
    what reads the file would take word ids for float32."""
    dtype = declared_dtype(given.attr("__dtype__")) if isinstance(given, Symbol) else np.dtype(given.dtype).name
    return symbol.var(name, dtype=None if dtype == "float32" or dtype == "object" else dtype)


def _below(block: Block) -> list[Block]:
    """All blocks below one."""
    found = list(block._children.values())
    return [*found, *(inner for child in found for inner in _below(child))]


def _like(given: Any, made: Symbol) -> Symbol:
    """A symbol with the face of an array or symbol; of mx.sym.np where this thread has np_array on."""
    return as_np(made) if is_np_array() or given is not as_nd(given) else made


def _stored(parameter: Parameter) -> NDArray:
    """The array of a parameter for the graph, of mx.nd whatever this thread's arrays are; what a program gives in its place."""
    return parameter._array() if type(parameter).data is Parameter.data else parameter.data()


def _arrays(args: Any) -> list[Any]:
    return [arg for arg in _flatten(args, "input")[0] if arg is not None]


def _same_but_for_none(a: Format, b: Format) -> bool:
    """True when one list of formats is the other with Nones at the end, which defaults stand for."""
    short, long = sorted((a, b), key=len)
    return long[: len(short)] == short and all(form == -1 for form in long[len(short) :])


FORWARDS: set[Any] = {HybridBlock.forward}
"""Ways from a call to the graph that do nothing else; SymbolBlock adds its own."""
