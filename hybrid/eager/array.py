"""Arrays, and how operators are applied to them. Everything that computes eagerly goes through ``invoke``.

An NDArray holds a NumPy array of its own, C-contiguous and writable; slices that MXNet gives as views (whole rows, or
anything contiguous) and reshapes share it, so writing to one shows in the other; everything else is a copy.

Small operations on arrays that are ready are computed at once. Others are handed to the engine: the call returns an array
whose shape and dtype are known and whose memory comes later. Views share a Var, so that the engine sees one memory.
"""

from __future__ import annotations

import math
import mmap
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from ctypes import c_void_p
from typing import Any

import numpy as np

from ..core import functions, rng
from ..core.changes import LAST
from ..core.error import MXNetError, OperandError, OpError
from ..core.fp_warnings import WITHOUT_WARNINGS
from ..core.memory_budget import afford, afford_array
from ..core.np_mode import is_np_shape
from ..core.op import INSTANCES, Op, Spec, lookup
from ..core.shapes import show
from ..device.memory import (
    capsule,
    compact,
    device_copy,
    host_copy,
    is_far,
    is_whole,
    layout,
    on_host,
    put,
    synchronize,
)
from ..execution.apply import apply, failure
from ..execution.backends import update
from ..execution.context import Context, device_for, resolve
from ..execution.on_device import apply_on_device
from ..execution.scheduler import SCHEDULER, Var
from ..ir.differentiate import GradientRule, rule
from ..ops.casting import Cast
from ..ops.elementwise import Abs, Copy
from ..ops.expand import BroadcastTo
from ..ops.flip_roll import Diag
from ..ops.indexing import Take
from ..ops.shape import ExpandDims, Flatten, NumpyReshape, Reshape, Squeeze, Transpose
from ..ops.slicing import Slice, SliceAssign, SliceAssignScalar
from .dispatch import (
    SpecializedCall,
    array_dtype,
    bind_call,
    check_first_result,
    check_targets,
    specialize,
    without_aliasing,
)
from .handles import array_of, handle_of
from .indexing import Index, gather, gather_numbers, read_key, slicing
from .scalar_array import as_number
from .tape import STATE, Leaf, OpRecord, Origin, TapeRecord, living


def invoke(op: Op, inputs: Sequence[NDArray], out: Any = None) -> Any:
    """Apply an operator: an NDArray, or a list of them when it has several visible outputs.

    inputs in the order of ``op.input_names()``. out: an NDArray or a list of them to write the results to. Raises OpError when
    inputs (or out) do not fit the operator, MXNetError when it fails."""
    arrays: Sequence[Any]
    count = len(inputs)
    if count == 1:
        memory, var = inputs[0]._memory, inputs[0]._var
        if type(memory) is _ARRAY and (var is None or (var.writer is None and var.error is None)):
            arrays, known, ready = (memory,), (memory.shape, memory.dtype), True
        else:
            arrays, known, ready = _signature(inputs)
    elif count == 2:
        first, second = inputs
        memory, other = first._memory, second._memory
        var, second_var = first._var, second._var
        if (
            type(memory) is _ARRAY
            and type(other) is _ARRAY
            and (var is None or (var.writer is None and var.error is None))
            and (second_var is None or (second_var.writer is None and second_var.error is None))
        ):
            arrays, known, ready = (memory, other), (memory.shape, memory.dtype, other.shape, other.dtype), True
        else:
            arrays, known, ready = _signature(inputs)
    else:
        arrays, known, ready = _signature(inputs)
    call = op.calls.get(known) or specialize(op, known)
    if ready and call.fast_path == LAST.settings and (out is None or _can_write_into(out, call.specs[0])):
        try:
            result = WITHOUT_WARNINGS.run(op.compute, *arrays)
        except Exception as error:
            raise failure(op, arrays, op.name, error) from error
        if not call.validated:
            result = check_first_result(op, result, call)
        elif type(result) is tuple:
            (result,) = result
        if out is not None:
            out._memory[...] = result
            if out._var is not None:
                out._var.mark_written()
            return out
        if type(result) is not _ARRAY or result.base is not None or not result.flags.c_contiguous:
            result = np.array(result, order="C")
        else:
            for array in arrays:
                if array is result:
                    result = result.copy()
                    break
        first = inputs[0] if inputs else _NO_INPUT
        made = _NEW(first._face)
        made._memory = result
        made._var = made._origin = None
        made._ctx = first._ctx if inputs else resolve(None)
        if STATE.recording:
            record(op, inputs, [made], call.specs)
        return made
    if call.settings != LAST.settings:
        call = specialize(op, known)
    return _invoke(op, inputs, out, call, ready)


_INPLACE = "Inplace operations (+=, -=, x[:]=, etc) are not supported when recording with autograd."
_ARRAY, _NEW, _ALL = np.ndarray, object.__new__, slice(None)


def _can_write_into(out: Any, spec: Spec) -> bool:
    """True when the result can be written to ``out`` at once, and that is all there is to do."""
    if type(out) not in DENSE or STATE.recording:
        return False
    memory, var = out._memory, out._var
    return (
        type(memory) is _ARRAY
        and memory.shape == spec.shape
        and memory.dtype == spec.dtype
        and (var is None or not (var.writer is not None or var.readers or var.error is not None))
    )


def _signature(inputs: Sequence[NDArray]) -> tuple[list[Any], tuple[Any, ...], bool]:
    """The inputs' memory, their shapes and dtypes in turns, and whether all hold their values in the host's memory, where results
    come, too."""
    arrays: list[Any] = []
    key: list[Any] = []
    ready = bool(inputs) or not Context.current.is_device
    for x in inputs:
        memory, var = x._memory, x._var
        if var is not None and (var.writer is not None or var.error is not None):
            ready = False
        if memory is None:
            memory = x._memory  # it may have come this moment
        if memory is None:
            key += (var.shape, var.dtype)  # type: ignore[union-attr]
        else:
            key += (memory.shape, memory.dtype)
            if type(memory) is not _ARRAY:
                ready = False
        arrays.append(memory)
    return arrays, tuple(key), ready


def _is_recorded(target: NDArray, inputs: Sequence[NDArray]) -> bool:
    """True when a target is part of a graph, or was and is read too: what a gradient would read would be written over."""
    origin = target._origin
    return origin is not None and (living(origin) is not None or any(x is target for x in inputs))


def _invoke(op: Op, inputs: Sequence[NDArray], out: Any, call: SpecializedCall, ready: bool) -> Any:
    """invoke for all but the simplest case."""
    visible = op.num_visible_outputs()
    targets: list[NDArray] | None = None
    if out is not None:
        targets = [out] if isinstance(out, NDArray) else list(out)
        check_targets(op, targets, call.specs[:visible])
        if STATE.recording and any(_is_recorded(t, inputs) for t in targets):
            raise MXNetError(f"{op.name}: {_INPLACE}")
    changed = [inputs[i] for i in call.changed]
    options = {
        "training": STATE.training,
        "rng": rng.fork() if "rng" in op.needs and (inputs or not call.small) else None,
    }
    wait = not call.static_shapes or (
        call.small and (ready or not inputs) and not any(_has_pending_work(x) for x in (*changed, *(targets or ())))
    )
    ctx = targets[0]._ctx if targets else inputs[0]._ctx if inputs else resolve(None)
    face = inputs[0]._face if inputs else NDArray
    device = device_for(op.name, [x._ctx for x in (*inputs, *(targets or ()))] or [ctx])
    if device is not None:
        for x in changed:
            x.wait_to_write()
        arrays = [x._settled() for x in inputs]
        results, _ = apply_on_device(device, op, arrays, call.specs, name=op.name, **options)
        if targets and not call.static_shapes:
            check_targets(op, targets, [Spec(r.shape, r.dtype) for r in results[:visible]])
        made = _adopt(results, targets, visible, ctx, face)
        for x in (*changed, *(targets or ())):
            x._mark_written()
    elif wait:
        for x in changed:
            x.wait_to_write()
        arrays = [x._read() for x in inputs]
        if targets and op.always_mutates and update(op, call.work, arrays, [t._overwrite() for t in targets]):
            made = targets
        else:
            results = _compute(op, call, inputs, arrays, options)
            if targets and not call.static_shapes:  # only now is it known
                check_targets(op, targets, [Spec(r.shape, r.dtype) for r in results[:visible]])
            made = _adopt(results, targets, visible, ctx, face)
        for x in (*changed, *(targets or ())):
            x._mark_written()
    else:
        made = [pending(s, ctx, face) for s in call.specs]
        if targets is not None:
            made[:visible] = targets

        def run() -> None:
            arrays = [x._storage() for x in inputs]
            if targets and op.always_mutates and update(op, call.work, arrays, [t._storage() for t in targets]):
                return
            for y, result in zip(made, _compute(op, call, inputs, arrays, options)):
                y._fulfil(result)

        writes = [y._shared_var() for y in (*made, *changed)]
        SCHEDULER.push(run, [x._shared_var() for x in inputs], writes, call.size, ctx.queue)
    if STATE.recording:
        record(op, inputs, made, call.specs)
    if out is not None:
        return out
    return made[0] if visible == 1 else made[:visible]


def _compute(
    op: Op,
    call: SpecializedCall,
    inputs: Sequence[NDArray],
    arrays: Sequence[np.ndarray],
    options: dict[str, Any],
) -> list[np.ndarray]:
    """The results, each in memory of its own."""
    bound = bind_call(op, call, inputs, options["training"])
    if bound is not None:
        return bound.run(arrays, None, options["rng"])
    return without_aliasing(apply(op, arrays, call.specs, name=op.name, **options), arrays)


def _adopt(
    results: Sequence[np.ndarray], targets: list[NDArray] | None, visible: int, ctx: Context, face: type[NDArray]
) -> list[NDArray]:
    """Arrays of results in memory of their own: the targets, for as many as are visible, and new ones."""
    made = []
    for i, result in enumerate(results):
        if targets is not None and i < visible:
            targets[i]._overwrite()[...] = result
            made.append(targets[i])
        else:
            made.append(face._own(result, ctx))
    return made


def _has_pending_work(x: NDArray) -> bool:
    """True when something is still to be written to, or read from, its memory."""
    return x._var is not None and (x._var.writer is not None or bool(x._var.readers))


def pending(spec: Spec, ctx: Context, face: type[NDArray]) -> NDArray:
    """An array whose memory comes later."""
    made = _NEW(face)
    made._memory, made._origin, made._ctx = None, None, ctx
    made._var = Var(spec.shape, spec.dtype)
    return made


def find_gradient_rule(op: Op) -> GradientRule | OpError:
    """The operator's gradient rule, or why it has none."""
    found = op.memo.get("rule")
    if found is None:
        try:
            found = rule(op)
        except OpError as error:
            found = error
        op.memo["rule"] = found
    return found


def record(op: Op, inputs: Sequence[NDArray], outputs: Sequence[NDArray], specs: Sequence[Spec]) -> None:
    """Note on the tape that an operator made outputs of inputs, when a gradient may be asked for through one of them."""
    parents = [living(x._origin) for x in inputs]
    if not any(p is not None for p in parents):
        return
    found = find_gradient_rule(op)
    if isinstance(found, OpError):
        made_by = OpRecord(op, parents, {}, {}, specs)
    else:
        kept = {i: inputs[i]._detached_alias() for _, i in found.reads}
        made_by = OpRecord(op, parents, kept, {i: outputs[i]._detached_alias() for _, i in found.results}, specs)
    for i, y in enumerate(outputs):
        y._origin = (made_by, i)


def zeros(shape: Any, ctx: Context | None = None, dtype: Any = None) -> NDArray:
    """An array of zeros, float32 when dtype is None. Raises OutOfMemory where it takes more than the memory budget."""
    kind = array_dtype(dtype)
    afford_array(shape, kind, "an array")
    return NDArray._own(np.zeros(shape, kind), resolve(ctx))


def with_origin(array: NDArray, origin: Origin) -> NDArray:
    """The array with its history."""
    if array._origin is origin:
        return array
    alias = array._without_history()
    alias._origin = origin
    return alias


def untouched_zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Zeros that take no memory before somebody writes to them, when they are many: gradients that may never be asked for.

    NumPy's come from memory that was given back when there is some, and are written then."""
    size = math.prod(shape) * dtype.itemsize
    afford(size, f"an array {dtype}{show(shape)}")
    if size < 1 << 16:
        return np.zeros(shape, dtype)
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}
    return np.frombuffer(mmap.mmap(-1, size, **private), dtype).reshape(shape)


class NDArray:
    """An array of numbers on a device. Made by ``mx.nd.array`` and its kin.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.nd.array([[1, 2], [3, 4]])
    >>> x.shape, x.dtype.__name__, x.context
    ((2, 2), 'float32', cpu(0))
    >>> (2 * x + 1)[0].asnumpy()
    array([3., 5.], dtype=float32)
    >>> x[:, 1] = 0
    >>> print(x)
    <BLANKLINE>
    [[1. 0.]
     [3. 0.]]
    <NDArray 2x2 @cpu(0)>
    """

    __slots__ = ("__weakref__", "_ctx", "_memory", "_origin", "_var")
    backward: Callable[..., None]  # from ndarray.py, as the next
    tostype: Callable[[str], Any]
    as_np_ndarray: Callable[[], Any]
    __array_priority__ = 1000.0  # NumPy's operators leave mixed operands to ours

    _memory: Any
    """The values, as device/memory.py has them, an array of NumPy or one of a device; None while they are to come and nobody needs
    a place for them yet."""
    _var: Var | None
    """The scheduler's variable of this memory, once it had to do with it."""
    _origin: Any
    """Origin of the array, for autograd: see tape.py."""

    stype = "default"
    _face: type[NDArray]
    """The class of what is computed of such arrays, the first of them deciding: this one, or that of mx.np (np_array.py)."""

    def __init__(self, source: Any, ctx: Context | None = None, dtype: Any = None, writable: bool = True):
        """writable: MXNet's, of arrays made of handles; here they can be written as any."""
        if isinstance(source, c_void_p):
            same = array_of(source)._without_history()
            self._memory, self._ctx, self._var, self._origin = same._memory, same._ctx, same._var, None
            return
        self._memory = np.array(source, dtype=dtype, order="C")
        self._ctx = resolve(ctx)
        if self._ctx.is_device:
            self._memory = device_copy(self._memory, self._ctx.device)
        self._var = self._origin = None

    @classmethod
    def _own(cls, memory: Any, ctx: Context) -> Any:
        """The array of this very memory, which must be C-contiguous and writable; of a copy on the context's device, where that has
        memory of its own and this is the host's."""
        if ctx.device_typeid == 2 and not is_far(memory):
            memory = device_copy(memory, ctx.device)
        made = _NEW(cls)
        made._memory, made._ctx = memory, ctx
        made._var = made._origin = None
        return made

    @property
    def _as_parameter_(self) -> c_void_p:
        """The address by which ctypes takes the array for a handle."""
        return handle_of(self)

    # -- memory -------------------------------------------------------------------------------------------------------

    def _read(self) -> np.ndarray:
        """The memory once it holds its values, to be read; a copy of it where it is a device's. Raises what kept it from that."""
        return on_host(self._settled())

    def _settled(self) -> Any:
        """The memory once it holds its values, wherever it is. Raises what kept it from that."""
        if self._var is not None:
            SCHEDULER.wait(self._var)
        return self._memory

    def _write(self) -> Any:
        """The memory once nobody else has to read it or write to it. Raises what kept it from being written."""
        if self._var is not None:
            SCHEDULER.wait(self._var, write=True)
        return self._memory  # type: ignore[return-value]

    def _overwrite(self) -> Any:
        """_write, for all of the memory: what kept it from being written so far is forgotten."""
        memory = self._storage()
        if self._var is not None:
            SCHEDULER.wait(self._var, write=True, whole=is_whole(memory))
        return memory

    def _shared_var(self) -> Var:
        """The scheduler's variable of this memory, made when it is first asked for."""
        if self._var is None:
            self._var = Var()
        return self._var

    def _value_version(self) -> Any:
        """Something that is the same as long as the array holds the same values: parts of one memory share its Var, and each says
        which it is."""
        version, memory = self._shared_var().value_version(), self._memory
        return version if memory is None or is_whole(memory) else (version, *layout(memory))

    def _mark_written(self) -> None:
        """To be called when the memory has been written to by the caller, who waited for its turn: what others have seen of it
        meanwhile, in other threads, is neither the old values nor the new ones."""
        if self._var is not None:
            self._var.mark_written()

    def _mark_external(self) -> NDArray:
        """The array itself, known from now on as one that others may write to unseen."""
        self._shared_var().external = True
        self._mark_written()
        return self

    def _storage(self) -> Any:
        """The memory, where it will be, whether it holds its values or not."""
        if self._memory is None:
            assert self._var is not None
            with SCHEDULER.lock:
                if self._memory is None:
                    self._memory = np.empty(self._var.shape, self._var.dtype)
        return self._memory

    def _fulfil(self, result: np.ndarray) -> None:
        """Take over what an operator has computed, in memory of its own."""
        if self._memory is None:
            with SCHEDULER.lock:
                if self._memory is None:
                    self._memory = result
                    return
        self._memory[...] = result

    def _view(self, memory: np.ndarray) -> NDArray:
        """An array of part of this one's memory."""
        made = self._face._own(memory, self._ctx)
        made._var = self._shared_var()
        return made

    def _without_history(self) -> NDArray:
        """The same memory without history."""
        return self._view(self._storage())

    def _detached_alias(self) -> NDArray:
        """The same values for the tape: without history, so that no array keeps itself."""
        return self if self._memory is None else self._view(self._memory)

    def _check_writable(self) -> None:
        """Raise MXNetError when this kind of array cannot be written to."""

    @property
    def _dtype(self) -> np.dtype:
        memory = self._memory
        return self._var.dtype if memory is None else memory.dtype  # type: ignore[union-attr]

    # -- what it is ---------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.nd.ones((2, 3)).shape
        (2, 3)
        """
        memory = self._memory
        return self._var.shape if memory is None else memory.shape  # type: ignore[union-attr]

    @property
    def dtype(self) -> type:
        """NumPy's type of an element, such as ``numpy.float32``.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.nd.ones(2, dtype="float16").dtype.__name__
        'float16'
        """
        return self._dtype.type

    @property
    def size(self) -> int:
        """Number of elements.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.nd.ones((2, 3)).size
        6
        """
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """Number of axes.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.nd.ones((2, 3)).ndim
        2
        """
        return len(self.shape)

    @property
    def context(self) -> Context:
        """The device that the array is on.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.nd.ones(2).context
        cpu(0)
        """
        return self._ctx

    ctx = context

    @property
    def T(self) -> NDArray:  # noqa: N802  MXNet's and NumPy's name
        """The array with its axes in reverse order; of fewer than two axes itself.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.nd.ones((2, 3)).T.shape
        (3, 2)
        """
        return self if self.ndim < 2 else self.transpose()

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a 0-d NDArray")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"\n{self._read()!s}\n<{type(self).__name__} {'x'.join(map(str, self.shape))} @{self._ctx}>"

    def __bool__(self) -> bool:
        if self.size != 1:
            if self.size == 0:
                return False
            raise ValueError("The truth value of an NDArray with multiple elements is ambiguous.")
        return bool(self._read().item())

    def __hash__(self) -> int:
        return id(self) // 16

    def __float__(self) -> float:
        return float(self.asscalar())

    def __int__(self) -> int:
        return int(self.asscalar())

    def __index__(self) -> int:
        return operator.index(self.asscalar())

    def __iter__(self) -> Iterator[NDArray]:
        return map(self.__getitem__, range(len(self)))  # which can be pickled, as MXNet's iterators can

    # -- gradients ----------------------------------------------------------------------------------------------------

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Make room for a gradient, of zeros for now, which ``backward`` puts there. Cuts the array off its history.

        grad_req: "write" replaces what is there, "add" adds to it, "null" keeps none; another raises ValueError. stype: storage of
        the gradient, such as row_sparse; None: as the array's.

        >>> from gluonnx import mx
        >>> x = mx.nd.array([1, 2, 3])
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad.asnumpy().tolist()
        [2.0, 4.0, 6.0]"""
        if grad_req not in ("write", "add", "null"):
            raise ValueError(f"grad_req={grad_req!r} is not 'write', 'add' or 'null'")
        grad = self._face._own(np.zeros(self.shape, self._dtype), self._ctx)
        self._origin = Leaf(grad if stype is None else grad.tostype(stype), grad_req)

    @property
    def grad(self) -> NDArray | None:
        """The array in which gradients arrive, or None without attach_grad.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.nd.array([1, 2])
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     y = 3 * x
        >>> y.backward()
        >>> x.grad.asnumpy()
        array([3., 3.], dtype=float32)
        """
        node = self._origin
        if not isinstance(node, Leaf) or node.request == "null":
            return None
        return node.grad if node.grad._face is self._face else with_face(node.grad, self._face)

    @property
    def _fresh_grad(self) -> bool:
        """True when the gradient has come since this was last set to False."""
        return isinstance(self._origin, Leaf) and self._origin.fresh

    @_fresh_grad.setter
    def _fresh_grad(self, fresh: bool) -> None:
        if isinstance(self._origin, Leaf):
            self._origin.fresh = bool(fresh)

    def detach(self) -> NDArray:
        """The same memory without history.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.nd.array([2])
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     y = x * (x * x).detach()  # no gradient through the square
        >>> y.backward()
        >>> x.grad.asnumpy()
        array([4.], dtype=float32)
        """
        return self._view(self._storage())

    # -- to and fro ---------------------------------------------------------------------------------------------------

    def asnumpy(self) -> np.ndarray:
        """A NumPy array with a copy of the values, which it waits for.

        One of a single element is a number to ``float``, ``int`` and formatting under any NumPy.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.nd.array([1, 2]).asnumpy()
        array([1., 2.], dtype=float32)
        """
        return as_number(host_copy(self._settled()))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an NDArray gives its values as a copy only")
        return np.array(self._read(), dtype=dtype)

    def asscalar(self) -> Any:
        """The only value. Raises ValueError when there is not exactly one.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.nd.array([3]).asscalar().item()
        3.0
        """
        if self.size != 1:
            raise ValueError("The current array is not a scalar")
        return self._read().reshape(())[()]

    item = asscalar

    def astype(self, dtype: Any, copy: bool = True) -> NDArray:
        """The values in another dtype; operator Cast.

        dtype: its name, or NumPy's. copy: False gives the array itself where it has the dtype already. Raises TypeError for what is
        no dtype.

        >>> from gluonnx import mx
        >>> mx.nd.array([1.5, -1.5]).astype("int32").asnumpy().tolist()
        [1, -1]"""
        wanted = array_dtype(dtype)
        if not copy and wanted == self._dtype:
            return self
        return invoke(Cast.bind(dtype=wanted), [self])

    def copy(self) -> NDArray:
        """A copy in memory of its own, on the same device.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.nd.ones(2)
        >>> y = x.copy()
        >>> y[:] = 3
        >>> x.asnumpy()
        array([1., 1.], dtype=float32)
        """
        return invoke(_COPY, [self])

    def copyto(self, other: NDArray | Context) -> NDArray:
        """Copy the values into another array of the same shape (its dtype stays), or into a new one on a device.

        other: the array, or a context. Returns where they are now. Raises MXNetError for another shape, TypeError for what is
        neither.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.nd.zeros(2)
        >>> _ = mx.nd.ones(2).copyto(x)
        >>> x.asnumpy()
        array([1., 1.], dtype=float32)
        """
        if isinstance(other, Context):
            return self._on(resolve(other))
        if not isinstance(other, NDArray):
            raise TypeError(f"copyto does not support type {type(other)}")
        if other is self:
            warnings.warn("You are attempting to copy an array to itself", RuntimeWarning, stacklevel=2)
            return self
        if other.shape != self.shape:
            raise MXNetError(f"copyto: got an array of shape {show(other.shape)}, wanted {show(self.shape)}")
        if STATE.recording and self._origin is not None:
            return invoke(_COPY, [self if other._dtype == self._dtype else self.astype(other._dtype)], other)
        other._assign(..., self)
        return other

    def _on(self, ctx: Context) -> NDArray:
        """A copy on a device."""
        if (not ctx.is_device and not is_far(self._memory)) or self._ctx == ctx:
            copied = self.copy()
            copied._ctx = ctx
            return copied
        memory = self._settled()
        made = self._face._own(device_copy(memory, ctx.device) if ctx.is_device else on_host(memory), ctx)
        if STATE.recording and living(self._origin) is not None:
            made._origin = MoveRecord(self._origin, self._ctx), 0
        return made

    def as_in_context(self, context: Context) -> NDArray:
        """The array itself where it is on the device that context names, else a copy there.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.nd.ones(2)
        >>> x.as_in_context(mx.cpu()) is x, x.as_in_context(mx.cpu(1)).context
        (True, cpu(1))
        """
        return self if context == self._ctx else self.copyto(context)

    as_in_ctx = as_in_context

    def as_nd_ndarray(self) -> NDArray:
        """The array as one of mx.nd: itself.

        Examples
        --------
        >>> from gluonnx import mx
        >>> type(mx.np.ones(2).as_nd_ndarray()).__name__
        'NDArray'
        """
        return self

    def slice_assign(self, rhs: NDArray, begin: Any, end: Any, step: Any) -> NDArray:
        """Write rhs over self[begin:end:step], each a tuple of numbers or None, one for each axis; gives the array.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.nd.zeros(4)
        >>> x.slice_assign(mx.nd.array([1, 2]), (1,), (3,), (1,)).asnumpy()
        array([0., 1., 2., 0.], dtype=float32)
        """
        return invoke(SliceAssign.bind(begin=begin, end=end, step=step), [self, rhs], self)

    def slice_assign_scalar(self, value: float, begin: Any, end: Any, step: Any) -> NDArray:
        """Write a number, value, over self[begin:end:step], as slice_assign does.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.nd.zeros(4).slice_assign_scalar(5, (1,), (3,), (1,)).asnumpy()
        array([0., 5., 5., 0.], dtype=float32)
        """
        op = SliceAssignScalar.bind(scalar=value, begin=begin, end=end, step=step)
        return invoke(op, [self], self)

    def _at(self, idx: int) -> NDArray:
        return self[idx]

    def _slice(self, start: int, stop: int) -> NDArray:
        return self[start:stop]

    def _sync_copyfrom(self, source_array: Any) -> None:
        """Write what is in a NumPy array or the like over this one. Raises ValueError unless the shapes are the same."""
        source = np.asarray(source_array)
        if source.shape != self.shape:
            raise ValueError(f"Shape inconsistent: expected {source.shape} vs got {self.shape}")
        self._assign(..., source)

    @property
    def writable(self) -> bool:
        """True: every array can be written to.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.nd.zeros(4).writable
        True
        """
        return True

    # -- DLPack: memory shared with other libraries ---------------------------------------------------------------------

    def __dlpack__(self, **options: Any) -> Any:
        self._mark_external()
        return capsule(self._write(), **{k: v for k, v in options.items() if v is not None})

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self._ctx.device_id) if self._ctx.is_device else (1, 0)

    def to_dlpack_for_read(self) -> Any:
        """A DLPack capsule of the memory once it holds its values, to be read.

        Nothing keeps who takes it from writing (``from_dlpack`` gives an array like any other), so it counts as shared.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.nd.from_dlpack(mx.nd.ones(2).to_dlpack_for_read()).asnumpy()
        array([1., 1.], dtype=float32)
        """
        self._mark_external()
        return capsule(self._settled())

    def to_dlpack_for_write(self) -> Any:
        """A DLPack capsule of the memory once nobody else has to read it, to be written to.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.nd.ones(2)
        >>> mx.nd.from_dlpack(x.to_dlpack_for_write())[:] = 3
        >>> x.asnumpy()
        array([3., 3.], dtype=float32)
        """
        self._mark_external()
        return capsule(self._write())

    def _finish(self) -> None:
        """Return when nobody computes the values any more, also where that has failed."""
        if self._var is not None:
            SCHEDULER.finish(self._var)

    def wait_to_read(self) -> None:
        """Return when the values are there. Raises what kept them from being computed.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.nd.ones((2, 2)) * 3
        >>> x.wait_to_read()  # by now it is computed
        """
        if self._var is not None:
            SCHEDULER.wait(self._var)
        synchronize(self._memory)

    def wait_to_write(self) -> None:
        """Return when nobody has to read the values any more.

        Examples
        --------
        >>> from gluonnx import mx
        >>> x = mx.nd.ones((2, 2))
        >>> x.wait_to_write()
        """
        if self._var is not None:
            SCHEDULER.wait(self._var, write=True)

    def _saved_form(self) -> Any:
        """Return what params.save writes."""
        return self._read()

    def __reduce__(self) -> Any:
        return type(self), (self._read(), self._ctx)

    def __setstate__(self, state: Any) -> None:
        """Become what MXNet pickled: ``handle`` is a record as in parameter files."""
        from ..formats.params import load_record

        self._memory = np.array(load_record(bytes(state["handle"])))

    def __copy__(self) -> NDArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> NDArray:
        return self.copy()

    # -- parts --------------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> NDArray:
        if type(key) is slice and key.start is None and key.stop is None and (key.step is None or key.step == 1):
            return self
        index, basic = ((key, ...), True) if type(key) is int else read_key(key, self.ndim, NDArray)
        if STATE.recording and self._origin is not None:
            return self._index_recording(index, basic)
        memory = self._storage() if basic else self._settled()
        part = memory[index] if basic else gather(memory, index)
        if part.ndim == 0 and self.ndim and not is_np_shape():
            part = part.reshape(1)  # MXNet has no 0-d arrays outside of its NumPy mode
        if basic and part.flags.c_contiguous:
            return self._view(part)
        self._settled()
        return self._face._own(compact(part), self._ctx)

    def _index_recording(self, index: Index, basic: bool) -> NDArray:
        """self[index] by operators, so that the tape knows of it."""
        if not basic:
            places = self._face._own(gather_numbers(index, self.shape), self._ctx)
            return invoke(Take.bind(axis=0, mode="clip"), [self.reshape((-1,)), places])
        found = slicing(index, self.shape)
        if found is None:
            return self._face._own(compact(self._settled()[index]), self._ctx)
        sliced = invoke(Slice.bind(**found[0]), [self])
        return sliced if sliced.shape == found[1] else sliced._alias(NumpyReshape.bind(newshape=found[1]))

    def __setitem__(self, key: Any, value: Any) -> None:
        index: Index = (...,) if key is True or key is False else read_key(key, self.ndim, NDArray)[0]
        if not (STATE.recording and self._assign_recording(index, value)):
            self._assign(index, value)

    def _assign_recording(self, index: Any, value: Any) -> bool:
        """The part of an assignment that the tape has to know of; True where that is all.

        Raises MXNetError where the array is part of a graph already, or the value and not all of the array is replaced."""
        if living(self._origin) is not None:
            raise MXNetError(
                "Assigning to NDArrays that are already in a computational graph will cause undefined behavior when "
                f"evaluating gradients. {_INPLACE}"
            )
        if not isinstance(value, NDArray) or living(value._origin) is None:
            return False
        if any(part is not Ellipsis and not (type(part) is slice and part == _ALL) for part in index):
            raise MXNetError(_INPLACE)
        self._check_writable()
        value = value if value.shape == self.shape else value.broadcast_to(self.shape)
        invoke(_COPY, [value if value._dtype == self._dtype else value.astype(self._dtype)], self)
        return True

    def _assign(self, index: Any, value: Any) -> None:
        """self[index] = value, broadcast and cast to the dtype of this array as MXNet does."""
        self._check_writable()
        whole = index is Ellipsis or all(p is Ellipsis or (type(p) is slice and p == _ALL) for p in index)
        waits = isinstance(value, NDArray) and value._var is not None and value._var.writer is not None
        there = is_far(self._memory)
        if there or (isinstance(value, NDArray) and is_far(value._memory)):
            waits = False  # a copy between devices waits for its turn here
        elif _has_pending_work(self):
            waits = True
        if not waits:
            if isinstance(value, NDArray):
                value = value._settled() if there else value._read()
            put(self._overwrite() if whole else self._write(), index, value)
            self._mark_written()
            return
        source = value if isinstance(value, NDArray) else np.array(value)
        reads = [value._shared_var()] if isinstance(value, NDArray) else []
        own = self._shared_var()
        target = self._storage()
        np.broadcast_to(np.empty(()), np.broadcast_shapes(target[index].shape, source.shape))  # raises at the call

        def run() -> None:
            put(target, index, source._storage() if isinstance(source, NDArray) else source)

        SCHEDULER.push(run, reads if whole and is_whole(target) else [*reads, own], [own], 0, self._ctx.queue)

    def reshape(self, *shape: Any, **kwargs: Any) -> NDArray:
        """The same memory in another shape.

        shape: numbers, or a tuple of them; 0 keeps the axis, -1 is what is left over, -2 all further axes, -3 two axes in one, -4
        one axis as the two that follow, as in the operator Reshape. reverse=True reads shapes from the right. Raises OpError where
        the number of elements does not fit.

        Raises AssertionError without a shape, TypeError for other keywords.

        >>> from gluonnx import mx
        >>> mx.nd.ones((2, 3, 4)).reshape((0, -1)).shape
        (2, 12)"""
        if len(shape) == 1 and isinstance(shape[0], tuple | list):
            shape = tuple(shape[0])
        elif not shape:
            shape = kwargs.pop("shape", ())
            shape = (shape,) if isinstance(shape, int) else tuple(shape)
            if not shape:
                raise AssertionError("Shape must be provided.")
        reverse = kwargs.pop("reverse", False)
        if kwargs:
            raise TypeError(f"reshape() takes the keywords shape and reverse, got {', '.join(kwargs)}")
        return self._alias(Reshape.bind(shape=shape, reverse=reverse))

    def _alias(self, op: Op) -> NDArray:
        """The array in the shape that an operator would give it, sharing memory."""
        key = (self.shape, self._dtype)
        call = op.calls.get(key) or specialize(op, key)
        made = self._view(self._storage().reshape(call.specs[0].shape))  # type: ignore[arg-type]
        if STATE.recording:
            record(op, [self], [made], call.specs)
        return made

    def expand_dims(self, axis: int, inplace: bool = False) -> NDArray:
        """With another axis of length 1; operator expand_dims.

        axis: its place in the result, from -ndim - 1 to ndim; another raises OpError. inplace: share the memory, else a copy.

        >>> from gluonnx import mx
        >>> mx.nd.ones((2, 3)).expand_dims(1).shape
        (2, 1, 3)"""
        op = ExpandDims.bind(axis=axis)
        return self._alias(op) if inplace else invoke(op, [self])

    def flatten(self, inplace: bool = False) -> NDArray:
        """(N, ...) -> (N, all others in one); operator Flatten. inplace: share the memory, else a copy.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.nd.ones((4, 3, 2)).flatten().shape
        (4, 6)
        """
        op = Flatten.bind()
        return self._alias(op) if inplace else invoke(op, [self])

    def squeeze(self, axis: Any = None, inplace: bool = False) -> NDArray:
        """Without axes of length 1; operator squeeze.

        axis: an int or a tuple of those to leave out, each of length 1 or OpError is raised; None: all of them. inplace: share the
        memory, else a copy.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.nd.ones((4, 1, 1)).squeeze(axis=1).shape
        (4, 1)
        """
        op = Squeeze.bind(axis=axis)
        return self._alias(op) if inplace else invoke(op, [self])

    def transpose(self, *axes: Any, **kwargs: Any) -> NDArray:
        """Axes in another order; operator transpose.

        axes: the old axes in their new order, as a tuple or one by one; without any in reverse. Raises OpError for what is no
        permutation.

        >>> from gluonnx import mx
        >>> mx.nd.ones((2, 3, 4)).transpose((0, 2, 1)).shape, mx.nd.ones((2, 3, 4)).transpose().shape
        ((2, 4, 3), (4, 3, 2))"""
        unknown = kwargs.keys() - {"axes"}
        if unknown:
            raise OpError(f"transpose: Cannot find argument {', '.join(sorted(unknown))}, wanted axes")
        chosen = kwargs.get("axes", axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes)
        return invoke(Transpose.bind(axes=tuple(chosen or ())), [self])

    def broadcast_to(self, shape: Any) -> NDArray:
        """Repeated along axes of length 1 to a shape, which may have further axes in front; operator broadcast_to.

        Raises OpError where the shapes do not fit.

        >>> from gluonnx import mx
        >>> mx.nd.array([[1], [2]]).broadcast_to((2, 3)).asnumpy().tolist()
        [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]"""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if 0 in shape and shape != self.shape:
            raise OpError(f"broadcast_to: array of shape {self.shape} cannot be broadcast to {shape}")
        missing = len(shape) - self.ndim
        source = self if missing <= 0 else self.reshape((1,) * missing + self.shape)
        return invoke(BroadcastTo.bind(shape=shape), [source])

    def broadcast_like(self, other: NDArray) -> NDArray:
        """As broadcast_to the shape of other.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.nd.array([[1], [2]]).broadcast_like(mx.nd.zeros((2, 3))).asnumpy()
        array([[1., 1., 1.],
               [2., 2., 2.]], dtype=float32)
        """
        return self.broadcast_to(other.shape)

    def diag(self, k: int = 0, **kwargs: Any) -> NDArray:
        """The k-th diagonal of a matrix (0 the main one, above it more than 0), or the matrix of a vector; operator diag.

        Of more axes it is taken over axis1 and axis2, 0 and 1 where not given. Raises OpError where there is no such diagonal.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.nd.array([[1, 2], [3, 4]]).diag().asnumpy(), mx.nd.array([1, 2]).diag().asnumpy()
        (array([1., 4.], dtype=float32), array([[1., 0.],
               [0., 2.]], dtype=float32))
        """
        return invoke(Diag.bind(k=k, **kwargs), [self])

    # -- arithmetic ---------------------------------------------------------------------------------------------------

    def __neg__(self) -> NDArray:
        return binary(functions.BINARY["multiply"], self, -1.0)

    def __abs__(self) -> NDArray:
        return invoke(Abs.bind(), [self])

    def __iadd__(self, other: Any) -> NDArray:
        return self._inplace("add", other)

    def __isub__(self, other: Any) -> NDArray:
        return self._inplace("subtract", other)

    def __imul__(self, other: Any) -> NDArray:
        return self._inplace("multiply", other)

    def __itruediv__(self, other: Any) -> NDArray:
        return self._inplace("divide", other)

    def __imod__(self, other: Any) -> NDArray:
        return self._inplace("modulo", other)

    def _inplace(self, name: str, other: Any) -> NDArray:
        return binary(functions.BINARY[name], self, other, out=self)


class MoveRecord(TapeRecord):
    """A recorded copy to another device: gradients come back the same way."""

    __slots__ = ("_ctx",)

    def __init__(self, parent: Any, ctx: Context):
        super().__init__([parent], 1)
        self._ctx = ctx

    def release(self) -> None:
        """There is nothing that it keeps."""

    def backward(self, dys: Sequence[NDArray | None]) -> Sequence[NDArray | None]:
        return [None if dy is None else dy.as_in_context(self._ctx) for dy in dys]


NDArray._face = NDArray
DENSE = {NDArray}
"""The classes of arrays whose memory is all of them: this one, and that of mx.np."""
_NO_INPUT: Any = NDArray
"""Stand-in for the first input of operators that have none."""
_COPY = Copy.bind()


def with_face(array: NDArray, face: type[NDArray]) -> Any:
    """The same memory and history, as an array of that class. Raises TypeError for a sparse array."""
    if array._face is face and array.stype == "default":
        return array
    if array.stype != "default":
        raise TypeError(
            f"as_np_ndarray: a {array.stype} array has no face in mx.np; make it dense with tostype('default')"
        )
    made = face._own(array._storage(), array._ctx)
    made._var, made._origin = array._shared_var(), array._origin
    return made


_SCALARS: dict[tuple[str, float], Op] = {}


def _scalar(name: str, number: Any) -> Op:
    """The operator of a number, remembered (0.0 and -0.0 are equal, so they are not)."""
    value = float(number)
    key = (name, value)
    found = _SCALARS.get(key) if value else None
    if found is None:
        found = lookup(name).bind(scalar=value)
        if len(_SCALARS) >= INSTANCES:
            _SCALARS.clear()
        if value:
            _SCALARS[key] = found
    return found


def binary(row: functions.Binary, lhs: Any, rhs: Any, out: NDArray | None = None) -> Any:
    """A function of two arguments of which either may be a number. Raises OperandError for anything else."""
    if _OPERANDS:
        lhs, rhs = _OPERANDS[NDArray](row, lhs, rhs)
    if isinstance(lhs, NDArray):
        if isinstance(rhs, NDArray):
            a, b = lhs._memory, rhs._memory
            if a is None or b is None or a.ndim != b.ndim:
                rank = lhs.ndim - rhs.ndim
                if rank > 0:
                    rhs = rhs.tostype("default").reshape((1,) * rank + rhs.shape)
                elif rank < 0:
                    lhs = lhs.tostype("default").reshape((1,) * -rank + lhs.shape)
            return invoke(_default(row.array), (lhs, rhs), out)
        if isinstance(rhs, _NUMBERS):
            return invoke(_scalar(row.scalar, rhs), (lhs,), out)
    elif isinstance(lhs, _NUMBERS):
        if isinstance(rhs, NDArray):
            return invoke(_scalar(row.reflected, lhs), (rhs,), out)
        if isinstance(rhs, _NUMBERS):
            return row.plain(lhs, rhs)
        lhs = rhs
    wrong = rhs if isinstance(lhs, NDArray) else lhs
    raise OperandError(f"type {type(wrong)} not supported")


_NUMBERS = (int, float, np.number, np.bool_)
_OPERANDS = functions.OPERANDS


_DEFAULTS: dict[str, Op] = {}


def _default(name: str) -> Op:
    """The operator with no attribute given."""
    found = _DEFAULTS.get(name)
    if found is None:
        found = _DEFAULTS[name] = lookup(name).bind()
    return found


functions.add_operators(NDArray, binary)
