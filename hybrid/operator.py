"""Operators written in Python: ``mx.operator``.

A CustomOpProp says what an operator takes and gives, a CustomOp computes it. ``register("name")`` makes it known, and
``nd.Custom(x, op_type="name")`` and ``sym.Custom`` apply it: eagerly, in symbols, and in hybridized blocks.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from . import symbol
from .context import Context, resolve
from .core.attrs import dtype_flag
from .core.error import MXNetError, OpError
from .core.op import REGISTRY, lookup
from .eager.array import NDArray
from .eager.tape import STATE
from .ops.custom import KNOWN
from .symbol import Symbol


class CustomOp:
    """The computation of a custom operator. ``forward`` and ``backward`` read and fill the arrays they are given.

    A bound executor, so a Module too, has one for all of its calls, forward and backward: what it stores in itself stays, such
    as a factor that falls from step to step. Elsewhere one is made for every forward call, and that call's backward gets the same.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Clipped(mx.operator.CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], in_data[0].clip(0, 1))
    ...     def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
    ...         inside = (in_data[0] > 0) * (in_data[0] < 1)
    ...         self.assign(in_grad[0], req[0], out_grad[0] * inside)
    >>> @mx.operator.register("clipped")
    ... class ClippedProp(mx.operator.CustomOpProp):
    ...     def create_operator(self, ctx, in_shapes, in_dtypes):
    ...         return Clipped()
    >>> x = mx.nd.array([-1, 0.5, 2])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = mx.nd.Custom(x, op_type="clipped")
    >>> y.backward()
    >>> y.asnumpy(), x.grad.asnumpy()
    (array([0. , 0.5, 1. ], dtype=float32), array([0., 1., 0.], dtype=float32))
    """

    def forward(
        self, is_train: bool, req: list[str], in_data: list[NDArray], out_data: list[NDArray], aux: list[NDArray]
    ) -> None:
        """Compute out_data from in_data; req says how each is to be put there (see assign). aux may be changed.

        is_train: True in training mode. in_data, out_data, aux: arrays in the order of list_arguments, list_outputs and
        list_auxiliary_states, of the shapes that infer_shape gave."""

    def backward(
        self,
        req: list[str],
        out_grad: list[NDArray],
        in_data: list[NDArray],
        out_data: list[NDArray],
        in_grad: list[NDArray],
        aux: list[NDArray],
    ) -> None:
        """Compute in_grad from the gradients of the outputs, out_grad, and in_data, out_data and aux as forward has them; aux may
        be changed.

        req: how each of in_grad is to be put there (see assign). in_grad has the shapes of in_data."""

    def assign(self, dst: NDArray, req: str, src: Any) -> None:
        """Bring src into dst as req says: "write" and "inplace" replace, "add" adds, "null" does nothing."""
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst[:] += src


class CustomOpProp:
    """The interface of a custom operator: its inputs and outputs. Its attributes are the arguments of ``__init__``, all of
    them texts.

    need_top_grad: whether the gradients depend on those of the outputs; False for losses.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Scaled(mx.operator.CustomOp):
    ...     def __init__(self, factor):
    ...         super().__init__()
    ...         self.factor = factor
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], self.factor * in_data[0])
    >>> @mx.operator.register("scaled")
    ... class ScaledProp(mx.operator.CustomOpProp):
    ...     def __init__(self, factor="1"):
    ...         super().__init__(need_top_grad=True)
    ...         self.factor = float(factor)  # attributes are texts
    ...     def list_arguments(self):
    ...         return ["data"]
    ...     def list_outputs(self):
    ...         return ["output"]
    ...     def infer_shape(self, in_shape):
    ...         return in_shape, [in_shape[0]], []
    ...     def create_operator(self, ctx, in_shapes, in_dtypes):
    ...         return Scaled(self.factor)
    >>> mx.nd.Custom(mx.nd.array([1, 2]), op_type="scaled", factor=3).asnumpy()
    array([3., 6.], dtype=float32)
    >>> mx.sym.Custom(mx.sym.var("x"), op_type="scaled", factor=3).infer_shape(x=(2, 3))[1]
    [(2, 3)]
    """

    def __init__(self, need_top_grad: bool = True):
        self.need_top_grad_ = need_top_grad

    def infer_shape(self, in_shape: list[list[int]]) -> Any:
        """(shapes of arguments, of outputs, of auxiliary states) from those of the arguments; the last may be left out.

        in_shape: a list of shapes, each a list of int, one for each of list_arguments."""
        return in_shape, (in_shape[0],) * len(self.list_outputs()), ()

    def infer_type(self, in_type: list[Any]) -> Any:
        """As infer_shape, for dtypes.

        Examples
        --------
        >>> from gluonnx import mx
        >>> class Rounded(mx.operator.CustomOp):
        ...     def forward(self, is_train, req, in_data, out_data, aux):
        ...         self.assign(out_data[0], req[0], in_data[0].round().astype("int32"))
        >>> @mx.operator.register("rounded")
        ... class RoundedProp(mx.operator.CustomOpProp):
        ...     def infer_type(self, in_type):
        ...         return in_type, ["int32"], []
        ...     def create_operator(self, ctx, in_shapes, in_dtypes):
        ...         return Rounded()
        >>> mx.nd.Custom(mx.nd.array([1.2, 2.7]), op_type="rounded").asnumpy()
        array([1, 3], dtype=int32)
        """
        return in_type, [in_type[0]] * len(self.list_outputs()), [in_type[0]] * len(self.list_auxiliary_states())

    def infer_storage_type(self, in_stype: list[str]) -> Any:
        """As infer_shape, for storage types. Arrays are dense here, whatever it says.

        in_stype: a list of storage types, one for each of list_arguments.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.operator.CustomOpProp().infer_storage_type(["default"])
        (['default'], ['default'], [])
        """
        dense = "default"
        return in_stype, [dense] * len(self.list_outputs()), [dense] * len(self.list_auxiliary_states())

    def infer_storage_type_backward(
        self,
        ograd_stype: list[str],
        in_stype: list[str],
        out_stype: list[str],
        igrad_stype: list[str],
        aux_stype: list[str],
    ) -> Any:
        """Storage types of what backward takes and gives. Arrays are dense here, whatever it says.

        ograd_stype, in_stype, out_stype, igrad_stype, aux_stype: lists of storage types, of the gradients of outputs,
        of inputs, outputs, gradients of inputs and auxiliary states.

        Examples
        --------
        >>> from gluonnx import mx
        >>> one = ["default"]
        >>> mx.operator.CustomOpProp().infer_storage_type_backward(one, one, one, one, [])
        (['default'], ['default'], ['default'], ['default'], [])
        """
        return tuple(["default"] * len(s) for s in (ograd_stype, in_stype, out_stype, igrad_stype, aux_stype))

    def list_outputs(self) -> list[str]:
        """Names of the outputs.

        Examples
        --------
        >>> from gluonnx import mx
        >>> class Parted(mx.operator.CustomOp):
        ...     def forward(self, is_train, req, in_data, out_data, aux):
        ...         self.assign(out_data[0], req[0], in_data[0].clip(0, 100))
        ...         self.assign(out_data[1], req[1], in_data[0].clip(-100, 0))
        >>> @mx.operator.register("parted")
        ... class PartedProp(mx.operator.CustomOpProp):
        ...     def list_outputs(self):
        ...         return ["above", "below"]
        ...     def create_operator(self, ctx, in_shapes, in_dtypes):
        ...         return Parted()
        >>> above, below = mx.nd.Custom(mx.nd.array([-1, 2]), op_type="parted")
        >>> above.asnumpy(), below.asnumpy()
        (array([0., 2.], dtype=float32), array([-1.,  0.], dtype=float32))
        >>> mx.sym.Custom(mx.sym.var("x"), op_type="parted", name="cut").list_outputs()
        ['cut_above', 'cut_below']
        """
        return ["output"]

    def list_arguments(self) -> list[str]:
        """Names of the inputs.

        Examples
        --------
        >>> from gluonnx import mx
        >>> class Scaled(mx.operator.CustomOp):
        ...     def forward(self, is_train, req, in_data, out_data, aux):
        ...         self.assign(out_data[0], req[0], in_data[0] * in_data[1])
        >>> @mx.operator.register("scaled_by")
        ... class ScaledProp(mx.operator.CustomOpProp):
        ...     def list_arguments(self):
        ...         return ["data", "scale"]
        ...     def infer_shape(self, in_shape):
        ...         return [in_shape[0], [1]], [in_shape[0]], []
        ...     def create_operator(self, ctx, in_shapes, in_dtypes):
        ...         return Scaled()
        >>> mx.nd.Custom(mx.nd.array([1, 2]), mx.nd.array([10]), op_type="scaled_by").asnumpy()
        array([10., 20.], dtype=float32)
        >>> mx.sym.Custom(mx.sym.var("data"), op_type="scaled_by", name="s").list_arguments()
        ['data', 's_scale']
        """
        return ["data"]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the auxiliary states.

        Examples
        --------
        >>> from gluonnx import mx
        >>> class Counted(mx.operator.CustomOp):
        ...     def forward(self, is_train, req, in_data, out_data, aux):
        ...         aux[0][:] += 1
        ...         self.assign(out_data[0], req[0], in_data[0])
        >>> @mx.operator.register("counted")
        ... class CountedProp(mx.operator.CustomOpProp):
        ...     def list_auxiliary_states(self):
        ...         return ["calls"]
        ...     def infer_shape(self, in_shape):
        ...         return in_shape, in_shape, [[1]]
        ...     def create_operator(self, ctx, in_shapes, in_dtypes):
        ...         return Counted()
        >>> calls = mx.nd.zeros(1)
        >>> for _ in range(3):
        ...     _ = mx.nd.Custom(mx.nd.ones(2), calls, op_type="counted")
        >>> calls.asnumpy()
        array([3.], dtype=float32)
        """
        return []

    def declare_backward_dependency(self, out_grad: list[int], in_data: list[int], out_data: list[int]) -> list[int]:
        """Select from these numbers of arrays those that backward reads; without any of out_grad the operator is a loss.

        out_grad, in_data, out_data: lists of numbers, which stand for gradients of outputs, for inputs and for outputs.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.operator.CustomOpProp().declare_backward_dependency([0], [1], [2])
        [0, 1, 2]
        >>> mx.operator.CustomOpProp(need_top_grad=False).declare_backward_dependency([0], [1], [2])
        [1, 2]
        """
        return [*(out_grad if self.need_top_grad_ else ()), *in_data, *out_data]

    def create_operator(self, ctx: Context, in_shapes: list[list[int]], in_dtypes: list[int]) -> Any:
        """The CustomOp for inputs of such shapes and dtypes (as MXNet's codes).

        Examples
        --------
        >>> from gluonnx import mx
        >>> class Filled(mx.operator.CustomOp):
        ...     def __init__(self, shape):
        ...         self.size = shape[0]
        ...     def forward(self, is_train, req, in_data, out_data, aux):
        ...         self.assign(out_data[0], req[0], mx.nd.full(self.size, self.size))
        >>> @mx.operator.register("filled")
        ... class FilledProp(mx.operator.CustomOpProp):
        ...     def create_operator(self, ctx, in_shapes, in_dtypes):
        ...         return Filled(in_shapes[0])
        >>> mx.nd.Custom(mx.nd.array([1, 2, 7]), op_type="filled").asnumpy()
        array([3., 3., 3.], dtype=float32)
        """
        return CustomOp()


T = TypeVar("T", bound=type[CustomOpProp])


def register(reg_name: str) -> Callable[[T], T]:
    """``@register("name")`` on a CustomOpProp makes it known as ``op_type="name"``; what had the name before loses it.

    reg_name: the name.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Same(mx.operator.CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], in_data[0])
    >>> @mx.operator.register("same")
    ... class SameProp(mx.operator.CustomOpProp):
    ...     def create_operator(self, ctx, in_shapes, in_dtypes):
    ...         return Same()
    >>> mx.nd.Custom(mx.nd.array([1, 2]), op_type="same").asnumpy()
    array([1., 2.], dtype=float32)
    """

    def do_register(prop_cls: T) -> T:
        make: Any = prop_cls  # whose own __init__ takes the attributes
        KNOWN[reg_name] = lambda texts: _Adapter(make(**texts))
        return prop_cls

    return do_register


class _Adapter:
    """See ops.custom.Adapter."""

    lasts = False
    op: Any = None
    """The operator of all calls, where that lasts, from the first call on."""

    def __init__(self, prop: CustomOpProp):
        self.prop = prop
        self.arguments, self.outputs = tuple(prop.list_arguments()), tuple(prop.list_outputs())
        self.states = tuple(prop.list_auxiliary_states())
        numbers = iter(range(len(self.arguments) + 2 * len(self.outputs)))
        heads, inputs, outputs = (
            [next(numbers) for _ in part] for part in (self.outputs, self.arguments, self.outputs)
        )
        self.top = not set(heads).isdisjoint(prop.declare_backward_dependency(heads, inputs, outputs))

    def infer_shape(self, shapes: list[list[int]]) -> tuple[list[Any], list[Any], list[Any]]:
        return _three(self.prop.infer_shape(shapes))

    def infer_type(self, dtypes: list[type]) -> tuple[list[Any], list[Any], list[Any]]:
        return _three(self.prop.infer_type(dtypes))

    def forward(
        self, inputs: list[np.ndarray], outputs: list[np.ndarray], states: list[np.ndarray], training: bool
    ) -> _CustomCall:
        op = self.op
        if op is None:
            shapes, dtypes = [list(x.shape) for x in inputs], [dtype_flag(x.dtype) for x in inputs]
            op = self.prop.create_operator(resolve(None), shapes, dtypes)
        if self.lasts:
            self.op = op
        # copies: what the operator keeps for backward has to stay what it is when this memory is used again
        given = [_reading(x.copy()) for x in inputs]
        wanted, auxiliary = _writing(outputs), _writing(states)
        with _Unrecorded(training):
            op.forward(is_train=training, req=["write"] * len(outputs), in_data=given, out_data=wanted, aux=auxiliary)
        _finish(wanted, auxiliary)
        return _CustomCall(op)

    def lasting(self) -> _Adapter:
        other = copy.copy(self)
        other.lasts, other.op = True, None
        return other


class _CustomCall:
    """A forward call as its backward call needs it."""

    def __init__(self, op: Any):
        self.op = op

    def backward(
        self,
        heads: list[np.ndarray],
        inputs: list[np.ndarray],
        outputs: list[np.ndarray],
        gradients: list[np.ndarray],
        states: list[np.ndarray],
        training: bool,
    ) -> None:
        wanted, auxiliary = _writing(gradients), _writing(states)
        with _Unrecorded(training):
            self.op.backward(
                req=["write"] * len(gradients),
                out_grad=[*map(_reading, heads)],
                in_data=[*map(_reading, inputs)],
                out_data=[*map(_reading, outputs)],
                in_grad=wanted,
                aux=auxiliary,
            )
        _finish(wanted, auxiliary)


class _Unrecorded:
    """``with`` block for a user's code that runs inside an operator: it is no part of what is being recorded."""

    def __init__(self, training: bool):
        self.training = training

    def __enter__(self) -> None:
        self.before = STATE.recording, STATE.training
        STATE.recording, STATE.training = False, self.training

    def __exit__(self, *exception: object) -> None:
        STATE.recording, STATE.training = self.before


def _reading(memory: np.ndarray) -> NDArray:
    """An NDArray of the memory that refuses to be written to."""
    view = memory.view()
    view.flags.writeable = False
    return NDArray._own(view, resolve(None))


def _writing(memories: list[np.ndarray]) -> list[NDArray]:
    return [NDArray._own(m, resolve(None)) for m in memories]


def _finish(*groups: list[NDArray]) -> None:
    for group in groups:
        for array in group:
            array.wait_to_read()


def _three(found: Any) -> tuple[list[Any], list[Any], list[Any]]:
    if len(found) not in (2, 3):
        raise ValueError(f"got {len(found)} lists, wanted 2 or 3: arguments, outputs, auxiliary states")
    return list(found[0]), list(found[1]), list(found[2]) if len(found) == 3 else []


# -- before CustomOp --------------------------------------------------------------------------------------------------


class PythonOp:
    """Base of NumpyOp and NDArrayOp: one object that says what it takes and computes it.

    Calling it with symbols gives the symbol of its output. Kept for programs of MXNet 0.x; CustomOp is its successor.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Doubled(mx.operator.NumpyOp):
    ...     def forward(self, in_data, out_data):
    ...         out_data[0][:] = 2 * in_data[0]
    ...     def backward(self, out_grad, in_data, out_data, in_grad):
    ...         in_grad[0][:] = 2 * out_grad[0]
    >>> doubled = Doubled()
    >>> doubled.list_arguments(), doubled.list_outputs(), doubled.need_top_grad()
    (['data'], ['output'], True)
    >>> doubled.infer_shape([[2, 3]])
    ([[2, 3]], [[2, 3]])
    >>> net = doubled.get_symbol(mx.sym.var("x"), name="double")
    >>> executor = net.bind(mx.cpu(), {"x": mx.nd.array([1, 2])}, {"x": mx.nd.zeros(2)})
    >>> executor.forward(is_train=True)[0].asnumpy()
    array([2., 4.], dtype=float32)
    >>> executor.backward(mx.nd.array([1, 10]))
    >>> executor.grad_dict["x"].asnumpy()
    array([ 2., 20.], dtype=float32)
    """

    _kind: ClassVar[str] = ""
    _count: ClassVar[int] = 0

    def __init__(self, need_top_grad: bool = True):
        self.need_top_grad_ = need_top_grad
        warnings.warn(f"{type(self).__name__} has been deprecated. Please use CustomOp", stacklevel=2)

    def __call__(self, *args: Any, **kwargs: Any) -> Symbol:
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: Symbol, **kwargs: Any) -> Symbol:
        """The symbol of the operator applied to symbols; inputs that are missing become variables."""
        if not self._kind:
            raise NotImplementedError("Must override this")
        PythonOp._count += 1
        name = f"{type(self).__name__}-{PythonOp._count}"
        adapter = _OldAdapter(self)
        KNOWN[name] = lambda texts: adapter
        return _apply(self._kind, args, kwargs, {"op_type": name})

    def forward(self, in_data: list[Any], out_data: list[Any]) -> None:
        """Fill out_data, arrays of the outputs, from in_data, arrays of the inputs."""
        out_data[0][:] = in_data[0]

    def backward(self, out_grad: list[Any], in_data: list[Any], out_data: list[Any], in_grad: list[Any]) -> None:
        """Fill in_grad, of the shapes of in_data, from in_data, out_data and the gradients of the outputs, out_grad."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape: list[list[int]]) -> Any:
        """(shapes of the inputs, of the outputs) from those of the inputs, in_shape, each a list of int."""
        return in_shape, [in_shape[0]]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return ["output"]

    def list_arguments(self) -> list[str]:
        """Names of the inputs."""
        return ["data"]

    def need_top_grad(self) -> bool:
        """True when the gradients depend on those of the outputs."""
        return self.need_top_grad_


class NumpyOp(PythonOp):
    """A PythonOp that computes with NumPy arrays, all float32.

    Examples
    --------
    >>> import numpy
    >>> from gluonnx import mx
    >>> class Sorted(mx.operator.NumpyOp):
    ...     def forward(self, in_data, out_data):
    ...         out_data[0][:] = numpy.sort(in_data[0])
    >>> net = Sorted()(mx.sym.var("x"))
    >>> net.eval(x=mx.nd.array([3, 1, 2]))[0].asnumpy()
    array([1., 2., 3.], dtype=float32)
    """

    _kind = "_Native"


class NDArrayOp(PythonOp):
    """A PythonOp that computes with NDArrays, all float32.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Doubled(mx.operator.NDArrayOp):
    ...     def forward(self, in_data, out_data):
    ...         out_data[0][:] = 2 * in_data[0]
    >>> net = Doubled()(mx.sym.var("x"))
    >>> net.eval(x=mx.nd.array([1, 2]))[0].asnumpy()
    array([2., 4.], dtype=float32)
    """

    _kind = "_NDArray"

    def declare_backward_dependency(self, out_grad: list[int], in_data: list[int], out_data: list[int]) -> list[int]:
        """Select from these numbers of arrays those that backward reads.

        out_grad, in_data, out_data: lists of numbers, which stand for gradients of outputs, for inputs and for outputs.

        Examples
        --------
        >>> from gluonnx import mx
        >>> loss = mx.operator.NDArrayOp(need_top_grad=False)
        >>> loss.declare_backward_dependency([0], [1], [2])
        [1, 2]
        """
        return [*(out_grad if self.need_top_grad() else ()), *in_data, *out_data]


class _OldAdapter:
    """See ops.custom.Adapter; it is what backward comes back to, too."""

    def __init__(self, op: PythonOp):
        self.op = op
        self.arguments, self.outputs = tuple(op.list_arguments()), tuple(op.list_outputs())
        self.states: tuple[str, ...] = ()
        self.top = op.need_top_grad()
        self.arrays = isinstance(op, NDArrayOp)

    def infer_shape(self, shapes: list[list[int]]) -> tuple[list[Any], list[Any], list[Any]]:
        return _three(self.op.infer_shape(shapes))

    def infer_type(self, dtypes: list[type]) -> tuple[list[Any], list[Any], list[Any]]:
        return [np.float32] * len(self.arguments), [np.float32] * len(self.outputs), []

    def forward(
        self, inputs: list[np.ndarray], outputs: list[np.ndarray], states: list[np.ndarray], training: bool
    ) -> _OldAdapter:
        wanted: list[Any] = _writing(outputs) if self.arrays else outputs
        with _Unrecorded(training):
            self.op.forward(in_data=[self._as_input(x.copy()) for x in inputs], out_data=wanted)
        _finish(wanted if self.arrays else [])
        return self

    def backward(
        self,
        heads: list[np.ndarray],
        inputs: list[np.ndarray],
        outputs: list[np.ndarray],
        gradients: list[np.ndarray],
        states: list[np.ndarray],
        training: bool,
    ) -> None:
        wanted: list[Any] = _writing(gradients) if self.arrays else gradients
        given = ([self._as_input(a) for a in part] for part in (heads, inputs, outputs))
        with _Unrecorded(training):
            self.op.backward(**dict(zip(("out_grad", "in_data", "out_data"), given)), in_grad=wanted)
        _finish(wanted if self.arrays else [])

    def lasting(self) -> _OldAdapter:
        return self  # it is one object anyhow

    def _as_input(self, memory: np.ndarray) -> Any:
        """An input as the operator wants it, not to be written to."""
        if self.arrays:
            return _reading(memory)
        view = memory.view()
        view.flags.writeable = False
        return view


def _apply(hint: str, args: Any, kwargs: dict[str, Any], given: dict[str, Any]) -> Symbol:
    return symbol.custom(hint, args, {**kwargs, **given})


# -- what operators there are -----------------------------------------------------------------------------------------


class OperatorArguments(NamedTuple):
    """Inputs and attributes of an operator: how many (narg), their names, and what each may be (types).

    Examples
    --------
    >>> from gluonnx import mx
    >>> found = mx.operator.get_operator_arguments("clip")
    >>> found.narg, found.types
    (3, ['NDArray-or-Symbol', 'float', 'float'])
    """

    narg: int
    names: list[str]
    types: list[str]


def get_all_registered_operators() -> list[str]:
    """Names of all operators, aliases included.

    Examples
    --------
    >>> from gluonnx import mx
    >>> "Convolution" in mx.operator.get_all_registered_operators()
    True
    """
    return list(REGISTRY)


def get_operator_arguments(op_name: str) -> OperatorArguments:
    """Names of an operator's inputs, then of its attributes, with what each may be.

    Raises MXNetError for an unknown op_name.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.operator.get_operator_arguments("clip").names
    ['data', 'a_min', 'a_max']
    """
    try:
        cls = lookup(op_name)
    except OpError as error:
        raise MXNetError(str(error)) from None
    names = [n.lstrip("*") for n in cls.inputs]
    types = ["NDArray-or-Symbol[]" if n.startswith("*") else "NDArray-or-Symbol" for n in cls.inputs]
    return OperatorArguments(
        len(names) + len(cls.fields),
        [*names, *cls.fields],
        [*types, *(field.kind.label for field in cls.fields.values())],
    )
