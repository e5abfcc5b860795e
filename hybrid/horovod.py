"""``horovod.mxnet`` for programs that train by it: the same calls, on the processes that MPI has started.

Under ``python -m hybrid`` (compat.py), ``import horovod.mxnet as hvd`` is this module: ``mpirun -n 4 python -m hybrid train.py``
takes the place of horovodrun. Written after Horovod 0.28's documentation of horovod.mxnet.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import autograd
from . import optimizer as opt
from .core.error import MXNetError
from .gluon.parameter import Parameter, ParameterDict
from .gluon.trainer import Trainer
from .kvstore.collectives import broadcast as _broadcast
from .kvstore.collectives import sum_over_ranks
from .kvstore.dist import joined
from .kvstore.world import World
from .ndarray import NDArray, array

__all__ = [
    "DistributedOptimizer",
    "DistributedTrainer",
    "allgather",
    "allreduce",
    "allreduce_",
    "broadcast",
    "broadcast_",
    "broadcast_parameters",
    "cross_rank",
    "cross_size",
    "grouped_allreduce",
    "grouped_allreduce_",
    "init",
    "is_homogeneous",
    "is_initialized",
    "local_rank",
    "local_size",
    "mpi_built",
    "mpi_enabled",
    "mpi_threads_supported",
    "rank",
    "shutdown",
    "size",
]

_WORLD: list[World] = []
_NUMBERS = itertools.count()


def init(comm: Any = None) -> None:
    """Join the other processes. comm: only all of them together (None). Raises MXNetError for a part."""
    if comm:
        raise MXNetError("hvd.init: got a part of the ranks, wanted none named: all of them train together")
    if not _WORLD:
        _WORLD.append(joined())


def shutdown() -> None:
    """Leave; ``init`` joins again. The others are waited for when the process ends."""
    _WORLD.clear()


def is_initialized() -> bool:
    """True between init and shutdown."""
    return bool(_WORLD)


def _world() -> World:
    if not _WORLD:
        raise ValueError("Horovod has not been initialized; use hvd.init().")
    return _WORLD[0]


def rank() -> int:
    """The number of this process. Raises ValueError before init."""
    return _world().rank


def size() -> int:
    """Number of processes."""
    return _world().size


def local_rank() -> int:
    """The number of this process among those on its machine."""
    return _world().local_rank


def local_size() -> int:
    """Number of processes on this machine."""
    return _world().local_size


def cross_rank() -> int:
    """The number of this machine, when all have as many processes."""
    return _world().rank // _world().local_size


def cross_size() -> int:
    """Number of machines, when all have as many processes."""
    return -(-_world().size // _world().local_size)


def is_homogeneous() -> bool:
    """True when all machines have as many processes."""
    return _world().size % _world().local_size == 0


def mpi_threads_supported() -> bool:
    """True: one thread does all that is said to MPI."""
    _world()
    return True


def mpi_enabled() -> bool:
    """True: MPI joins the processes."""
    return True


mpi_built = mpi_enabled


# -- arrays -----------------------------------------------------------------------------------------------------------------


def _name(kind: str, name: str | None) -> str:
    return f"hvd.{kind} {next(_NUMBERS) if name is None else name}"


def _reduced(tensor: Any, average: bool, name: str | None, priority: int, prescale: float, postscale: float) -> NDArray:
    scale = postscale / size() if average else postscale
    given = tensor if prescale == 1.0 else tensor * prescale
    total: Any = sum_over_ranks(_world(), _name("allreduce", name), given, priority)
    return total if scale == 1.0 else total * scale


def allreduce(
    tensor: NDArray,
    average: bool = True,
    name: str | None = None,
    priority: int = 0,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> NDArray:
    """A new array: the mean over all ranks, or the sum. All ranks have to call it in the same order, or by the same names."""
    return _reduced(tensor, average, name, priority, prescale_factor, postscale_factor)


def allreduce_(
    tensor: NDArray,
    average: bool = True,
    name: str | None = None,
    priority: int = 0,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> NDArray:
    """allreduce in place; gives the array."""
    tensor[:] = _reduced(tensor, average, name, priority, prescale_factor, postscale_factor)
    return tensor


def grouped_allreduce(
    tensors: Sequence[NDArray],
    average: bool = True,
    name: str | None = None,
    priority: int = 0,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> list[NDArray]:
    """allreduce of several arrays."""
    names = [None if name is None else f"{name}.{i}" for i in range(len(tensors))]
    return [
        _reduced(t, average, n, priority, prescale_factor, postscale_factor)
        for t, n in zip(tensors, names, strict=True)
    ]


def grouped_allreduce_(
    tensors: Sequence[NDArray],
    average: bool = True,
    name: str | None = None,
    priority: int = 0,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> Sequence[NDArray]:
    """allreduce_ of several arrays."""
    sums = grouped_allreduce(tensors, average, name, priority, prescale_factor, postscale_factor)
    for tensor, total in zip(tensors, sums, strict=True):
        tensor[:] = total
    return tensors


def allgather(tensor: NDArray, name: str | None = None, priority: int = 0) -> NDArray:
    """The arrays of all ranks one behind the other along the first axis, which may differ in length."""
    mine = np.ascontiguousarray(tensor.asnumpy())
    parts = (
        _world().gather(_name("allgather", name), mine.reshape(-1).view(np.uint8), priority) if size() > 1 else [mine]
    )
    rows = [part.view(mine.dtype).reshape(-1, *mine.shape[1:]) for part in parts]
    return array(np.concatenate(rows), tensor.context, dtype=mine.dtype)


def broadcast(tensor: NDArray, root_rank: int, name: str | None = None, priority: int = 0) -> NDArray:
    """A new array: that of rank ``root_rank``. Raises MXNetError when there is no such rank."""
    if not 0 <= root_rank < size():
        raise MXNetError(f"hvd.broadcast: got root_rank {root_rank}, wanted one of 0 to {size() - 1}")
    return _broadcast(_world(), _name("broadcast", name), tensor, root_rank, priority)


def broadcast_(tensor: NDArray, root_rank: int, name: str | None = None, priority: int = 0) -> NDArray:
    """broadcast in place; gives the array."""
    tensor[:] = broadcast(tensor, root_rank, name, priority)
    return tensor


def broadcast_parameters(params: Any, root_rank: int = 0, prefix: str | None = None) -> None:
    """Give all ranks the values that parameters have in one: a dict of arrays, or what ``collect_params`` gives.

    Parameters that wait for their shape get them as soon as they are there. Raises ValueError for anything else."""
    if not isinstance(params, Mapping | ParameterDict):
        raise ValueError(f"invalid params of type: {type(params)}")
    begin = f"parameter.{prefix or ''}"
    for name, value in sorted(params.items()):
        if isinstance(value, NDArray):
            broadcast_(value, root_rank, f"{begin}{name}")
        elif value._deferred_init is not None:
            _broadcast_when_there(value, root_rank, f"{begin}{name}")
        else:
            for own in value.list_data():
                broadcast_(own, root_rank, f"{begin}{name}")


def _broadcast_when_there(param: Parameter, root_rank: int, name: str) -> None:
    finish = param._finish_deferred_init

    def finish_and_broadcast() -> None:
        waited = param._deferred_init is not None
        finish()
        if waited:
            with autograd.pause():
                for own in param.list_data():
                    broadcast_(own, root_rank, name)

    param._finish_deferred_init = finish_and_broadcast  # type: ignore[method-assign]


# -- training ---------------------------------------------------------------------------------------------------------------


class DistributedOptimizer(opt.Optimizer):
    """An optimizer that first takes the mean of gradients over all ranks, for Module and loops with an Updater.

    gradient_predivide_factor: by which gradients are divided before they are added up, and multiplied after."""

    def __init__(self, optimizer: opt.Optimizer, gradient_predivide_factor: float = 1.0, num_groups: int = 0) -> None:
        self._optimizer = optimizer
        self._predivide = gradient_predivide_factor
        optimizer.rescale_grad *= gradient_predivide_factor / size()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_optimizer"], name)

    def create_state(self, index: Any, weight: NDArray) -> Any:
        return self._optimizer.create_state(index, weight)

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> Any:
        return self._optimizer.create_state_multi_precision(index, weight)

    def _add_up(self, index: Any, grad: Any) -> None:
        if size() == 1:
            return
        many = isinstance(index, tuple | list)
        for i, g in zip(index, grad, strict=True) if many else ((index, grad),):
            allreduce_(g, average=False, name=str(i), priority=-i, prescale_factor=1.0 / self._predivide)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._add_up(index, grad)
        self._optimizer.update(index, weight, grad, state)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._add_up(index, grad)
        self._optimizer.update_multi_precision(index, weight, grad, state)

    def set_learning_rate(self, lr: float) -> None:
        self._optimizer.set_learning_rate(lr)

    def set_lr_mult(self, args_lr_mult: Any) -> None:
        self._optimizer.set_lr_mult(args_lr_mult)

    def set_wd_mult(self, args_wd_mult: Any) -> None:
        self._optimizer.set_wd_mult(args_wd_mult)


class DistributedTrainer(Trainer):
    """A Trainer whose steps take the mean of gradients over all ranks.

    ``step(batch_size)`` takes the batch of one rank. prefix: of names, where a program has several trainers."""

    def __init__(
        self,
        params: Any,
        optimizer: Any,
        optimizer_params: dict[str, Any] | None = None,
        gradient_predivide_factor: float = 1.0,
        prefix: str | None = None,
        num_groups: int = 0,
    ) -> None:
        if isinstance(optimizer, DistributedOptimizer):
            optimizer = optimizer._optimizer
            warnings.warn(
                "DistributedTrainer does not take DistributedOptimizer as its optimizer. We have unwrapped it for you.",
                stacklevel=2,
            )
        super().__init__(params, optimizer, optimizer_params, kvstore=None)
        self._scale *= gradient_predivide_factor / size()
        self._predivide = gradient_predivide_factor
        self._prefix = prefix or ""

    def _allreduce_grads(self) -> None:
        if size() == 1:
            return
        for i, param in enumerate(self._params):
            if param.grad_req != "null":
                for gradient in _dense(param, param.list_grad()):
                    scale = 1.0 / self._predivide
                    allreduce_(gradient, average=False, name=f"{self._prefix}{i}", priority=-i, prescale_factor=scale)


def _dense(param: Parameter, gradients: Iterable[NDArray]) -> list[NDArray]:
    found = list(gradients)
    if any(g.stype != "default" for g in found):
        raise MXNetError(
            f"hvd.DistributedTrainer: parameter {param.name} has sparse gradients; gluon.Trainer with 'dist_sync' takes them"
        )
    return found
