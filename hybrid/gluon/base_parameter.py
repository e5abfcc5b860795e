"""Parameters of blocks: named arrays with gradients, one copy a context, made when their shapes are known."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .. import autograd, initializer, ndarray, symbol
from ..context import Context, cpu, current_context, resolve
from ..core.attrs import dtype as read_dtype
from ..core.changes import changed
from ..core.error import MXNetError
from ..core.np_mode import is_np_array, is_np_shape
from ..core.shapes import show
from ..eager.array import untouched_zeros
from ..eager.faces import as_nd, as_np, dressed
from ..eager.sparse import RowSparseNDArray, rows_of_array
from ..formats.params import RowSparse
from ..ndarray import NDArray
from .utils import shape_is_known

_STYPES = ("default", "row_sparse", "csr")
_REQUESTS = ("write", "add", "null")


class ParameterError(MXNetError, AssertionError, ValueError):
    """Parameters and a network that do not fit together; says everything that does not."""


class DeferredInitializationError(MXNetError):
    """A parameter was read before its shape was known.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import contextlib
    >>> net = mx.gluon.nn.Dense(2)  # how many inputs is not known
    >>> net.initialize()
    >>> with contextlib.suppress(mx.gluon.DeferredInitializationError):
    ...     print(net.weight.data())
    >>> _ = net(mx.nd.ones((1, 3)))
    >>> net.weight.data().shape
    (2, 3)
    """


class _Copies(list[NDArray]):
    """The arrays of a parameter. Whoever knows them by their place is told when a program puts another one there."""

    def __setitem__(self, place: Any, array: Any) -> None:
        super().__setitem__(place, array)
        changed()


class _Deferred(NamedTuple):
    """An initialisation that waits for the shape."""

    init: Any
    contexts: list[Context]
    default_init: Any
    data: NDArray | None = None


def _contexts(ctx: Any) -> list[Context]:
    """The contexts that a script names: none is the current one. Raises MXNetError for one that there is not."""
    return [resolve(c) for c in (ctx if isinstance(ctx, list | tuple) else [ctx])]


class Parameter:
    """A named array of a block, with a copy and a gradient on each of its contexts.

    Its shape may hold 0 for what is not known, or be None; then its initialisation is deferred until it is. stype and
    grad_stype say as what values and gradients show; the memory behind both is dense, but for gradients that are row_sparse.
    Raises ParameterError when it is given an array of another shape, AssertionError for another grad_req, stype or grad_stype.

    Parameters
    ----------
    name : str
        Name of the parameter.
    grad_req : str, default 'write'
        write: gradients replace earlier ones; add: they add up; null: there are none.
    dtype : str or dtype, default <class 'numpy.float32'>
        Dtype of the numbers.
    lr_mult : float, default 1.0
        Factor of the learning rate.
    wd_mult : float, default 1.0
        Factor of the weight decay.
    init : Initializer, str or None, default None
        How it begins; None: as ``initialize`` says.
    allow_deferred_init : bool, default False
        Wait for the first input where the shape is not known; else that is an error.
    differentiable : bool, default True
        It may have a gradient.

    Examples
    --------
    >>> from gluonnx import mx
    >>> weight = mx.gluon.Parameter("weight", shape=(2, 3), init="ones", lr_mult=0.1)
    >>> weight.initialize()
    >>> weight.data().asnumpy()
    array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float32)
    >>> weight.shape
    (2, 3)
    >>> weight.dtype = "float16"
    >>> weight.data().dtype.__name__, weight.stype, weight.grad_stype
    ('float16', 'default', 'default')
    """

    def __init__(
        self,
        name: str,
        grad_req: str = "write",
        shape: Any = None,
        dtype: Any = np.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: Any = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ):
        self._var: symbol.Symbol | None = None
        self._copies: _Copies | None = None
        self._grad: list[NDArray] | None = None
        self._ctx_list: list[Context] | None = None
        self._ctx_map: list[list[int | None]] | None = None
        """Index of the copy for a context, by its kind (all CPU memory is one) and its number. Programs read and write it."""
        self._as_np = False
        """True when the arrays were made with np_array on. They are stored as those of mx.nd all the same."""
        self._trainer: Any = None
        self._deferred_init: _Deferred | None = None
        self._differentiable = differentiable
        self._allow_deferred_init = allow_deferred_init
        self._grad_req = ""
        self._shape = (shape,) if isinstance(shape, int) else shape
        self.name = name
        self._dtype = dtype
        self.lr_mult, self.wd_mult = lr_mult, wd_mult
        self.grad_req = grad_req
        self.init = init
        for what, value in (("grad_stype", grad_stype), ("stype", stype)):
            if value not in _STYPES:
                raise AssertionError(
                    f"{what} for Parameter '{name}' must be one of 'default', 'row_sparse', or 'csr', but got '{value}'"
                )
        self._grad_stype, self._stype = grad_stype, stype

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.name} (shape={self.shape}, dtype={self.dtype})"

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def _data(self) -> list[NDArray] | None:
        """The arrays, one a context; programs put others in their place, or another list in that of all."""
        return self._copies

    @_data.setter
    def _data(self, arrays: list[NDArray] | None) -> None:
        self._copies = None if arrays is None else _Copies(arrays)
        changed()

    @property
    def grad_req(self) -> str:
        """Request for gradients: "write", "add", or "null" for none.

        Examples
        --------
        >>> from gluonnx import mx
        >>> weight = mx.gluon.Parameter("weight", shape=(2,))
        >>> weight.grad_req = "null"
        >>> weight.initialize()
        >>> weight.data().grad is None
        True
        """
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req not in _REQUESTS:
            raise AssertionError(f"grad_req must be one of 'write', 'add', or 'null', but got '{req}'")
        req = req if self._differentiable else "null"
        if req == self._grad_req:
            return
        self._grad_req = req
        if req == "null" and self._grad is not None:
            self._grad = None
            self._data = [array.detach() for array in self._data or []]
        elif self._data is not None:
            self._init_grad(self._data)

    @property
    def dtype(self) -> Any:
        """The dtype as it was given; setting it converts the values."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        self.cast(dtype)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape, 0 for an unknown dimension (-1 with np_shape), None when nothing is known."""
        if self._shape is None or not is_np_shape():
            return self._shape
        return tuple(-1 if d == 0 else d for d in self._shape)  # no parameter is of no size

    @shape.setter
    def shape(self, new: Any) -> None:
        if not self._accepts(new):
            raise ParameterError(
                f"Parameter '{self.name}': Expected shape {tuple(new)} is incompatible with given shape {self._shape}."
            )
        self._shape = new if new is None else tuple(new)

    @property
    def stype(self) -> str:
        """Storage type of the values: "default", "row_sparse" or "csr"."""
        return self._stype

    @property
    def grad_stype(self) -> str:
        """Storage type of the gradient."""
        return self._grad_stype

    def _accepts(self, shape: Sequence[int]) -> bool:
        """True when an array of that shape fits what is known of this parameter's."""
        if self._shape is None:
            return True
        return len(self._shape) == len(shape) and all(own in (0, -1, given) for own, given in zip(self._shape, shape))

    # -- initialisation -----------------------------------------------------------------------------------------------

    def initialize(
        self,
        init: Any = None,
        ctx: Any = None,
        default_init: Any = initializer.Uniform(),  # noqa: B008  MXNet's default; it holds no state
        force_reinit: bool = False,
    ) -> None:
        """Make the arrays: by init, else the parameter's own initializer, else default_init.

        ctx: contexts to put them on, one or a list; None: the current one. force_reinit: also where it has values, which else stay,
        with a warning. When the shape is not known yet, that waits for the first forward pass. Raises ValueError where it must
        not.

        Examples
        --------
        >>> from gluonnx import mx
        >>> weight = mx.gluon.Parameter("weight", shape=(2,))
        >>> weight.initialize(mx.init.Constant(3))
        >>> weight.data().asnumpy()
        array([3., 3.], dtype=float32)
        """
        if self._data is not None and not force_reinit:
            warnings.warn(
                f"Parameter '{self.name}' is already initialized, ignoring. Set force_reinit=True to re-initialize.",
                stacklevel=2,
            )
            return
        self._data = self._grad = None
        if init is None:
            init = default_init if self.init is None else self.init
        if not shape_is_known(self.shape) and not self._allow_deferred_init:
            raise ValueError(f"Cannot initialize Parameter '{self.name}' because it has invalid shape: {self.shape}.")
        self._deferred_init = _Deferred(init, _contexts(ctx), default_init)
        if shape_is_known(self.shape):
            self._finish_deferred_init()

    def _finish_deferred_init(self) -> None:
        """Do what waited for the shape. Raises ParameterError when it is still not known."""
        if self._deferred_init is None:
            return
        waiting, self._deferred_init = self._deferred_init, None
        if not shape_is_known(self.shape):
            raise ParameterError(
                f"Cannot initialize Parameter '{self.name}' because it has invalid shape: {self.shape}. "
                "Please specify in_units, in_channels, etc for `Block`s."
            )
        with autograd.pause():
            data = self._initial(waiting) if waiting.data is None else waiting.data
            self._init_impl(data, waiting.contexts)

    def _initial(self, waiting: _Deferred) -> NDArray:
        data = ndarray.zeros(self.shape, dtype=self.dtype, ctx=cpu())
        described = initializer.InitDesc(self.name, {"__init__": waiting.init})
        initializer.create(waiting.default_init)(described, dressed(data))
        return data

    def _init_impl(self, data: NDArray, ctx_list: Sequence[Context], adopt: bool = False) -> None:
        """Copy the values to all contexts and make gradients. adopt: data is nobody else's, and may become the parameter's."""
        self._as_np = is_np_array()
        self._ctx_list = list(ctx_list)
        self._ctx_map = [[], []]
        for i, ctx in enumerate(self._ctx_list):
            places = self._ctx_map[ctx.device_typeid & 1]
            places.extend([None] * (ctx.device_id + 1 - len(places)))
            places[ctx.device_id] = i
        own = adopt and data.context == self._ctx_list[0]
        self._data = [data if own and i == 0 else data.copyto(ctx) for i, ctx in enumerate(self._ctx_list)]
        self._init_grad(self._data)

    def _init_grad(self, arrays: list[NDArray]) -> None:
        if self.grad_req == "null":
            self._grad = None
            return
        if self._grad_stype == "row_sparse":
            self._grad = [ndarray.zeros(a.shape, a.context, a._dtype, stype="row_sparse") for a in arrays]
        else:
            self._grad = [NDArray._own(untouched_zeros(a.shape, a._dtype), a.context) for a in arrays]
        autograd.mark_variables(arrays, self._grad, self.grad_req)

    def _load_init(
        self, data: NDArray, ctx: Any, cast_dtype: bool = False, dtype_source: str = "current", adopt: bool = False
    ) -> None:
        """Take values from a file. Raises ParameterError when shape, dtype or contexts do not fit. adopt: see _init_impl."""
        problem = self._unfit(data, ctx, cast_dtype, dtype_source)
        if problem is not None:
            raise ParameterError(f"Failed loading Parameter '{self.name}' from saved params: {problem}")
        self.shape = data.shape
        if self.dtype and read_dtype(self.dtype).type is not data.dtype:
            if dtype_source == "current":
                data = data.astype(self.dtype, copy=False)
            else:
                self.dtype = data.dtype
        if data.stype != "default":
            data = data.tostype("default")
        if self._data is not None:
            self.set_data(data)
        else:
            contexts = (
                self._deferred_init.contexts if self._deferred_init else [cpu()] if ctx is None else _contexts(ctx)
            )
            self._init_impl(data, contexts, adopt)
        self._deferred_init = None

    def _unfit(self, data: NDArray, ctx: Any, cast_dtype: bool, dtype_source: str) -> str | None:
        """Reason why values from a file cannot become this parameter's; None when they can."""
        if cast_dtype and dtype_source not in ("current", "saved"):
            return f"dtype_source must be 'current' or 'saved', got {dtype_source!r}"
        if not self._accepts(data.shape):
            return f"shape incompatible expected {show(self.shape)} vs saved {show(data.shape)}"
        if self.dtype and not cast_dtype and read_dtype(self.dtype).type is not data.dtype:
            return (
                f"dtype incompatible expected {self.dtype} vs saved {data.dtype}. "
                "Set cast_dtype=True to cast the dtype of saved params."
            )
        if ctx is not None and (self._data is not None or self._deferred_init is not None):
            wanted, there = _contexts(ctx), self.list_ctx()
            if set(wanted) != set(there):
                return f"cannot load on {wanted} because it was previously initialized on {there}"
        return None

    def reset_ctx(self, ctx: Any) -> None:
        """Move to other contexts, ctx: one or a list; copies that differ are averaged. Raises ValueError when there is nothing
        to move.

        Examples
        --------
        >>> from gluonnx import mx
        >>> weight = mx.gluon.Parameter("weight", shape=(2,), init="ones")
        >>> weight.initialize(ctx=mx.cpu(0))
        >>> weight.reset_ctx([mx.cpu(0), mx.cpu(1)])
        >>> weight.list_ctx()
        [cpu(0), cpu(1)]
        """
        contexts = _contexts(ctx)
        if self._data is not None:
            data = self._reduce()
            with autograd.pause():
                self._init_impl(data, contexts)
        elif self._deferred_init is not None:
            self._deferred_init = self._deferred_init._replace(contexts=contexts)
        else:
            raise ValueError(f"Cannot reset context for Parameter '{self.name}' because it has not been initialized.")

    def _reduce(self) -> NDArray:
        """A copy of the values, the mean of all contexts' copies, as files hold it."""
        if self._data is None:
            self._refuse()
        arrays = [array.copyto(cpu()) for array in self._data]
        mean = arrays[0] if len(arrays) == 1 else ndarray.add_n(*arrays) / len(arrays)
        return mean.tostype(self._stype)

    # -- values and gradients -----------------------------------------------------------------------------------------

    def _check_and_get(self, arrays: list[NDArray] | None, ctx: Context | None) -> NDArray:
        if arrays is None:
            self._refuse()
        if ctx is None:
            if len(arrays) == 1:
                return arrays[0]
            ctx = current_context()
        places = [] if self._ctx_map is None else self._ctx_map[ctx.device_typeid & 1]
        at = places[ctx.device_id] if ctx.device_id < len(places) else None
        if at is None:
            raise MXNetError(
                f"Parameter '{self.name}' was not initialized on context {ctx}. It was only initialized on {self._ctx_list}."
            )
        return arrays[at]

    def _refuse(self) -> NoReturn:
        """Say why there are no arrays."""
        if self._deferred_init is not None:
            raise DeferredInitializationError(
                f"Parameter '{self.name}' has not been initialized yet because initialization was deferred: its shape "
                f"{self.shape} is not known before data has passed through the network. Do one forward pass first, or "
                "give the layers in_units, in_channels, etc."
            )
        raise MXNetError(
            f"Parameter '{self.name}' has not been initialized. Call initialize() or load_parameters() of the whole "
            "block, or initialize() of its collect_params(); Block.params leaves its children's parameters out"
        )

    def _dense_only(self, call: str) -> None:
        if self._stype != "default":
            raise MXNetError(
                f"Cannot return a copy of Parameter '{self.name}' via {call} because its storage type is {self._stype}. "
                "Please use row_sparse_data() instead."
            )

    def data(self, ctx: Context | None = None) -> NDArray:
        """The array on a context, ctx (None: the current one, or the only one); writing into it changes the parameter.

        Raises DeferredInitializationError when it waits for its shape, MXNetError when it is not on that context, not
        initialized, or sparse.

        Examples
        --------
        >>> from gluonnx import mx
        >>> weight = mx.gluon.Parameter("weight", shape=(2,), init="zeros")
        >>> weight.initialize()
        >>> weight.data()[:] = 5
        >>> weight.data().asnumpy()
        array([5., 5.], dtype=float32)
        """
        if self._stype != "default":
            self._dense_only("data()")
        return self._dressed(self._check_and_get(self._copies, ctx))

    def _dressed(self, found: Any) -> Any:
        """Arrays as a program gets them: of mx.np where they were made, or are asked for, with np_array on."""
        return as_np(found) if self._as_np or is_np_array() else found

    def _array(self) -> NDArray:
        """The array on the current context, as it is stored: of mx.nd, whatever this thread's arrays are."""
        if self._stype != "default":
            self._dense_only("data()")
        return self._check_and_get(self._copies, None)

    def list_data(self) -> list[NDArray]:
        """The arrays on all contexts; see data.

        Examples
        --------
        >>> from gluonnx import mx
        >>> weight = mx.gluon.Parameter("weight", shape=(2,), init="zeros")
        >>> weight.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
        >>> len(weight.list_data())
        2
        """
        self._dense_only("list_data()")
        if self._data is None:
            self._refuse()
        return self._dressed(self._data)

    def set_data(self, data: Any) -> None:
        """Give the parameter its values, data, on all contexts; one that was never initialized becomes it, on the current one.

        Raises ParameterError for another shape.

        Examples
        --------
        >>> from gluonnx import mx
        >>> weight = mx.gluon.Parameter("weight", shape=(2,))
        >>> weight.set_data(mx.nd.array([3, 4]))
        >>> weight.data().asnumpy()
        array([3., 4.], dtype=float32)
        """
        array = as_nd(data) if isinstance(data, NDArray) else ndarray.array(data, dtype=self.dtype)
        self.shape = array.shape
        if self._data is not None:
            trainer = self._trainer
            if (
                trainer is not None
                and trainer._kv_initialized
                and trainer._update_on_kvstore
                and all(waiting is not self for waiting in trainer._params_to_init)
            ):
                trainer._reset_kvstore()  # its own copy would overwrite what is set here
            for own in self._data:
                own[:] = array
        elif self._deferred_init is not None:
            self._deferred_init = self._deferred_init._replace(data=array)
        else:
            with autograd.pause():
                self._init_impl(array.astype(self.dtype, copy=False), [current_context()])

    def row_sparse_data(self, row_id: NDArray) -> NDArray:
        """The rows of a row_sparse parameter that row_id lists, where row_id is; while recording the whole array, whose gradient
        can be asked for. Raises MXNetError without a Trainer.

        Examples
        --------
        >>> from gluonnx import mx
        >>> weight = mx.gluon.Parameter("weight", shape=(4, 2), init="ones", stype="row_sparse")
        >>> weight.initialize()
        >>> trainer = mx.gluon.Trainer([weight], "sgd")
        >>> weight.row_sparse_data(mx.nd.array([1, 3])).indices.asnumpy()
        array([1, 3])
        """
        return self._check_and_get(self._rows(row_id, "row_sparse_data()"), row_id.context)

    def list_row_sparse_data(self, row_id: NDArray) -> list[NDArray]:
        """row_sparse_data of the rows row_id on all contexts.

        Examples
        --------
        >>> from gluonnx import mx
        >>> weight = mx.gluon.Parameter("weight", shape=(4, 2), init="ones", stype="row_sparse")
        >>> weight.initialize()
        >>> trainer = mx.gluon.Trainer([weight], "sgd")
        >>> [rows.stype for rows in weight.list_row_sparse_data(mx.nd.array([1, 3]))]
        ['row_sparse']
        """
        return self._rows(row_id, "list_row_sparse_data()")

    def _rows(self, row_id: NDArray, call: str) -> list[NDArray]:
        if self._stype != "row_sparse":
            raise MXNetError(
                f"Cannot return a copy of Parameter '{self.name}' via {call} because its storage type is {self._stype}. "
                "Please use data() instead."
            )
        if not isinstance(row_id, NDArray):
            raise TypeError(f"row_id must have NDArray type, but {type(row_id)} is given")
        if self._trainer is None:
            raise MXNetError(
                f"Cannot get row_sparse data for Parameter '{self.name}' when no Trainer is created with it."
            )
        if self._data is None:
            self._refuse()
        if autograd.is_recording():
            return self._data
        rows = np.unique(row_id.asnumpy().astype(np.int64))
        kept = []
        for array in self._data:
            kept.append(RowSparseNDArray(RowSparse(rows_of_array(array, rows), rows, array.shape), array.context))
        return kept

    def _no_gradient(self) -> None:
        if self._data is not None and self._grad is None:
            raise MXNetError(f"Cannot get gradient array for Parameter '{self.name}' because grad_req='null'")

    def grad(self, ctx: Context | None = None) -> NDArray:
        """The gradient on a context, ctx as in data. Raises MXNetError when grad_req is "null"; else as data.

        With a sparse grad_stype it holds the rows that have one.

        Examples
        --------
        >>> from gluonnx import mx
        >>> weight = mx.gluon.Parameter("weight", shape=(2,), init="ones")
        >>> weight.initialize()
        >>> with mx.autograd.record():
        ...     y = (3 * weight.data()).sum()
        >>> y.backward()
        >>> weight.grad().asnumpy()
        array([3., 3.], dtype=float32)
        """
        self._no_gradient()
        gradient = self._check_and_get(self._grad, ctx)
        return self._dressed(gradient) if self._grad_stype == "default" else gradient.tostype(self._grad_stype)

    def list_grad(self) -> list[NDArray]:
        """The gradients on all contexts; see grad.

        Examples
        --------
        >>> from gluonnx import mx
        >>> weight = mx.gluon.Parameter("weight", shape=(2,), init="ones")
        >>> weight.initialize()
        >>> [g.shape for g in weight.list_grad()]
        [(2,)]
        """
        return self._dressed(self._gradients())

    def _gradients(self) -> list[NDArray]:
        """The gradients on all contexts, as they are stored: of mx.nd, whatever this thread's arrays are."""
        self._no_gradient()
        if self._grad is None:
            self._refuse()
        return self._grad if self._grad_stype == "default" else [g.tostype(self._grad_stype) for g in self._grad]

    def list_ctx(self) -> list[Context]:
        """The contexts that it is, or will be, initialized on.

        Raises MXNetError for a parameter that was not initialized.

        Examples
        --------
        >>> from gluonnx import mx
        >>> weight = mx.gluon.Parameter("weight", shape=(2,))
        >>> weight.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
        >>> weight.list_ctx()
        [cpu(0), cpu(1)]
        """
        if self._data is not None:
            return self._ctx_list or []
        if self._deferred_init is not None:
            return self._deferred_init.contexts
        raise MXNetError(f"Parameter '{self.name}' has not been initialized")

    def zero_grad(self) -> None:
        """Set the gradients to 0, if there are any.

        Examples
        --------
        >>> from gluonnx import mx
        >>> weight = mx.gluon.Parameter("weight", shape=(2,), init="ones", grad_req="add")
        >>> weight.initialize()
        >>> with mx.autograd.record():
        ...     y = (3 * weight.data()).sum()
        >>> y.backward()
        >>> weight.zero_grad()
        >>> weight.grad().asnumpy()
        array([0., 0.], dtype=float32)
        """
        for gradient in self._grad or ():
            ndarray.zeros_like(gradient, out=gradient)

    def cast(self, dtype: Any) -> None:
        """Convert values and gradients to a dtype.

        Examples
        --------
        >>> from gluonnx import mx
        >>> weight = mx.gluon.Parameter("weight", shape=(2,), init="ones")
        >>> weight.initialize()
        >>> weight.cast("float16")
        >>> weight.data().dtype.__name__
        'float16'
        """
        self._dtype = dtype
        if self._data is None:
            return
        with autograd.pause():
            self._data = [array.astype(dtype) for array in self._data]
            if self._grad is not None:
                self._grad = [array.astype(dtype) for array in self._grad]
                autograd.mark_variables(self._data, self._grad, self.grad_req)

    def var(self) -> symbol.Symbol:
        """The variable that stands for the parameter in symbols; of one node always.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.gluon.Parameter("weight", shape=(2,)).var()
        <Symbol weight>
        """
        if self._var is None:
            self._var = symbol.var(
                self.name,
                shape=self.shape,
                dtype=self.dtype,
                lr_mult=self.lr_mult,
                wd_mult=self.wd_mult,
                init=self.init,
                stype=self._stype,
            )
        return dressed(self._var)

    def _set_trainer(self, trainer: Any) -> None:
        if self._stype != "default" and self._trainer and trainer and self._trainer is not trainer:
            raise MXNetError(
                f"Failed to set the trainer for Parameter '{self.name}' because it was already set. "
                f"More than one trainers for a {self._stype} Parameter is not supported."
            )
        self._trainer = trainer


class Fixed(Parameter):
    """A parameter that training leaves as it is, whatever values it is given."""

    @property
    def grad_req(self) -> str:
        """Always "null"."""
        return "null"

    @grad_req.setter
    def grad_req(self, req: str) -> None:
        if req != "null":
            warnings.warn(
                f'Constant parameter "{self.name}" does not support grad_req other than "null", '
                f'and new value "{req}" is ignored.',
                stacklevel=2,
            )


class Constant(Fixed):
    """A parameter that training leaves as it is; ``set_data`` still changes it.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : float or array
        The number, or the numbers, in every place.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mean = mx.gluon.Constant("mean", [0.5, 0.25])
    >>> mean.initialize()
    >>> mean.data().asnumpy(), mean.grad_req
    (array([0.5 , 0.25], dtype=float32), 'null')
    """

    def __init__(self, name: str, value: Any):
        self.value: NDArray = dressed(value if isinstance(value, NDArray) else ndarray.array(value))
        super().__init__(
            name,
            grad_req="null",
            shape=self.value.shape,
            dtype=self.value.dtype,
            init=f"Constant_{name}_{id(self)}",  # a name for the symbol's file; the values are not the initializer's
        )

    def _initial(self, waiting: _Deferred) -> NDArray:
        return as_nd(self.value) if waiting.init == self.init else super()._initial(waiting)
