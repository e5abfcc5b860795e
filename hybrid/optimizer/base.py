"""The base of optimizers: rates and their multipliers, counts of updates, float32 masters of float16 weights."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..core.np_mode import is_np_array
from ..core.op import lookup
from ..ndarray import NDArray, invoke, zeros

T = TypeVar("T", bound=type)
Array = Any
"""An NDArray. Its operators are added when its class is made, where type checkers do not see them."""


class Optimizer:
    """Base class: ``create_state(index, weight)``, then ``update(index, weight, grad, state)`` for every gradient.

    param_idx2name names the weights; by default names that do not end in _weight or _gamma get no decay. sym: a symbol
    whose ``__lr_mult__`` and ``__wd_mult__`` attributes count. param_dict: index to Gluon parameter, whose multipliers
    count before all others.

    Raises AssertionError for a param_idx2name that is no dict.

    Parameters
    ----------
    rescale_grad : float, default 1.0
        Number that gradients are multiplied by first; Trainer sets it to 1 over the batch size.
    param_idx2name : dict or None, default None
        Names of parameters by their index, for lr_mult and wd_mult.
    wd : float, default 0.0
        Weight decay: part of the weight that is added to its gradient.
    clip_gradient : float or None, default None
        Largest absolute value of a gradient's element; None: not clipped.
    learning_rate : float, default None
        Learning rate; of a scheduler, where there is one, its base_lr.
    lr_scheduler : LRScheduler or None, default None
        Learning rate by the number of updates.
    sym : Symbol or None, default None
        Network whose attributes __lr_mult__ and __wd_mult__ count.
    begin_num_update : int, default 0
        Number of updates that counting starts with.
    multi_precision : bool, default False
        Keep weights of float16 in float32 too, and update these.
    param_dict : dict or None, default None
        Parameters by index, whose lr_mult and wd_mult count.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Plain(mx.optimizer.Optimizer):
    ...     def update(self, index, weight, grad, state):
    ...         self._update_count(index)
    ...         weight -= self._get_lr(index) * self.rescale_grad * grad
    >>> optimizer = Plain(learning_rate=0.5)
    >>> weight = mx.nd.array([1, 2])
    >>> optimizer.update(0, weight, mx.nd.array([1, 1]), optimizer.create_state(0, weight))
    >>> weight.asnumpy()
    array([0.5, 1.5], dtype=float32)
    """

    opt_registry: ClassVar[dict[str, type[Optimizer]]] = {}
    stores_rows: ClassVar[bool] = False
    """True when states of row_sparse weights are row_sparse too, unless ``lazy_update`` is off."""

    def __init__(
        self,
        rescale_grad: float = 1.0,
        param_idx2name: dict[int, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: Any = None,
        sym: Any = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: dict[Any, Any] | None = None,
    ) -> None:
        if not isinstance(param_idx2name or {}, dict):
            raise AssertionError("param_idx2name should be a dict of param indexes to names.")
        if lr_scheduler is None and learning_rate is None:
            learning_rate = 0.01
        self.rescale_grad = rescale_grad
        self.lr_scheduler = lr_scheduler
        self.lr = learning_rate
        if lr_scheduler is not None and learning_rate is not None and lr_scheduler.base_lr != learning_rate:
            print(
                UserWarning(
                    "learning rate from ``lr_scheduler`` has been overwritten by ``learning_rate`` in optimizer."
                )
            )
            lr_scheduler.base_lr = learning_rate
        self.wd = wd
        self.lr_mult: dict[Any, float] = {}
        self.wd_mult: dict[Any, float] = {}
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        self._all_index_update_counts: dict[int, dict[Any, int]] = {0: {}}
        self._index_update_count = self._all_index_update_counts[0]
        self.clip_gradient = clip_gradient
        self.multi_precision = multi_precision
        self.aggregate_num = 0
        self.idx2name = dict(param_idx2name or {})
        self.sym_info: tuple[Any, ...] = (sym.attr_dict(), sym.list_arguments()) if sym is not None else ()
        self.param_dict = param_dict or {}
        self.allow_np_array = is_np_array()
        self.set_lr_mult({})
        self.set_wd_mult({})

    def _nothing_yet(self, weight: Array) -> NDArray:
        """A state of zeros, like the weight."""
        stype = weight.stype if self.stores_rows and getattr(self, "lazy_update", True) else "default"
        return zeros(weight.shape, weight.context, weight.dtype, stype=stype)

    @staticmethod
    def register(klass: T) -> T:
        """Make a class (klass) known to ``create`` by its name in small letters. Decorator. Warns where the name is taken.

        Raises AssertionError for what is no class.

        Examples
        --------
        >>> from gluonnx import mx
        >>> @mx.optimizer.Optimizer.register
        ... class MySGD(mx.optimizer.SGD):
        ...     pass
        >>> type(mx.optimizer.create("mysgd")).__name__
        'MySGD'
        """
        if not isinstance(klass, type):
            raise AssertionError(f"register: got {klass!r}, wanted a class")
        known = Optimizer.opt_registry.get(klass.__name__.lower())
        if known is not None:
            warnings.warn(
                f"WARNING: New optimizer {klass.__module__}.{klass.__name__} is overriding existing optimizer "
                f"{known.__module__}.{known.__name__}",
                stacklevel=2,
            )
        Optimizer.opt_registry[klass.__name__.lower()] = klass
        return klass

    @staticmethod
    def create_optimizer(name: str, **kwargs: Any) -> Optimizer:
        """The optimizer of that name, in any letters. Raises ValueError when there is none.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.optimizer.create("adam", learning_rate=0.01).learning_rate
        0.01
        """
        known = Optimizer.opt_registry.get(name.lower())
        if known is None:
            raise ValueError(f"Cannot find optimizer {name}; there are {', '.join(sorted(Optimizer.opt_registry))}")
        return known(**kwargs)

    @property
    def wants_np(self) -> bool:
        """True when updates are to get arrays of mx.np: a program's own optimizer, made with np_array on.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.optimizer.SGD().wants_np
        False
        """
        return getattr(self, "allow_np_array", False) and not type(self).update.__module__.startswith(f"{__package__}.")

    # -- what a subclass defines --------------------------------------------------------------------------------------

    def create_state(self, index: Any, weight: Array) -> Any:
        """Make what is kept of a weight from update to update: an array, a tuple of them, or None.

        index: the weight's number or name.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.optimizer.SGD(momentum=0.9).create_state(0, mx.nd.ones(2)).asnumpy()
        array([0., 0.], dtype=float32)
        """

    def update(self, index: Any, weight: Array, grad: Array, state: Any) -> None:
        """Change the weight (and its state) by one gradient, grad, of its shape.

        index: the weight's number or name, by which its updates are counted and its factors found; several at once are lists.

        Examples
        --------
        >>> from gluonnx import mx
        >>> optimizer = mx.optimizer.SGD(learning_rate=0.5)
        >>> weight = mx.nd.array([1, 2])
        >>> optimizer.update(0, weight, mx.nd.ones(2), None)
        >>> weight.asnumpy()
        array([0.5, 1.5], dtype=float32)
        """
        raise NotImplementedError

    # -- float32 masters ----------------------------------------------------------------------------------------------

    def _masters(self, weight: Array) -> bool:
        """True when a float32 copy of the weight is updated in its place. Warns when a float16 weight has none."""
        half = weight.dtype == np.float16
        if half and not self.multi_precision:
            warnings.warn(
                "Accumulating with float16 in optimizer can lead to poor accuracy or slow convergence. "
                "Consider using multi_precision=True option of the optimizer",
                stacklevel=4,
            )
        return bool(half and self.multi_precision)

    def create_state_multi_precision(self, index: Any, weight: Array) -> Any:
        """create_state of an index and weight; of a float16 weight under multi_precision (float32 master, its state).

        Examples
        --------
        >>> from gluonnx import mx
        >>> optimizer = mx.optimizer.Adam(multi_precision=True)
        >>> master, state = optimizer.create_state_multi_precision(0, mx.nd.ones(2, dtype="float16"))
        >>> master.dtype.__name__
        'float32'
        """
        if not self._masters(weight):
            return self.create_state(index, weight)
        master = weight.astype(np.float32)
        return master, self.create_state(index, master)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """update of index, weight, grad and state, through the float32 master where create_state_multi_precision made one.

        Examples
        --------
        >>> from gluonnx import mx
        >>> optimizer = mx.optimizer.Adam(learning_rate=0.5, multi_precision=True)
        >>> weight = mx.nd.ones(2, dtype="float16")
        >>> state = optimizer.create_state_multi_precision(0, weight)
        >>> optimizer.update_multi_precision(0, weight, mx.nd.ones(2, dtype="float16"), state)
        >>> weight.asnumpy()
        array([0.5, 0.5], dtype=float16)
        """
        if not (self.multi_precision and weight.dtype == np.float16):
            self.update(index, weight, grad, state)
            return
        master, own = state
        self.update(index, master, grad.astype(np.float32), own)
        invoke(lookup("Cast").bind(dtype=np.float16), [master], weight)

    # -- rates --------------------------------------------------------------------------------------------------------

    @property
    def learning_rate(self) -> float:
        """The rate now: the scheduler's, when there is one.

        Examples
        --------
        >>> from gluonnx import mx
        >>> schedule = mx.lr_scheduler.FactorScheduler(step=10, factor=0.5, base_lr=0.2)
        >>> mx.optimizer.SGD(lr_scheduler=schedule).learning_rate
        0.2
        """
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)  # type: ignore[return-value]

    def set_learning_rate(self, lr: float) -> None:
        """Set the rate to lr. Raises UserWarning when a scheduler decides it.

        Examples
        --------
        >>> from gluonnx import mx
        >>> optimizer = mx.optimizer.SGD(learning_rate=0.1)
        >>> optimizer.set_learning_rate(0.01)
        >>> optimizer.learning_rate
        0.01
        """
        if self.lr_scheduler is not None:
            raise UserWarning(
                "LRScheduler of the optimizer has already been defined. Note that set_learning_rate can mutate the value "
                "of the learning rate of the optimizer only when the LRScheduler of the optimizer is undefined."
            )
        self.lr = lr

    def set_lr_scale(self, args_lrscale: Any) -> None:
        """Gone from MXNet; raises DeprecationWarning whatever args_lrscale is. Use set_lr_mult.

        Examples
        --------
        >>> from gluonnx import mx
        >>> optimizer = mx.optimizer.SGD(learning_rate=0.5)
        >>> optimizer.set_lr_mult({0: 0.1})  # the name of today
        >>> optimizer.lr_mult
        {0: 0.1}
        """
        raise DeprecationWarning("set_lr_scale is gone; use set_lr_mult")

    def set_lr_mult(self, args_lr_mult: dict[Any, float]) -> None:
        """Set multipliers of the learning rate by name or index, args_lr_mult, over those of the symbol's attributes.

        Examples
        --------
        >>> from gluonnx import mx
        >>> optimizer = mx.optimizer.SGD(learning_rate=1, param_idx2name={0: "a_weight", 1: "b_weight"})
        >>> optimizer.set_lr_mult({"a_weight": 0.1})
        >>> weights = mx.nd.ones(1), mx.nd.ones(1)
        >>> for index in (0, 1):
        ...     optimizer.update(index, weights[index], mx.nd.ones(1), None)
        >>> [round(weight.asscalar().item(), 3) for weight in weights]
        [0.9, 0.0]
        """
        self.lr_mult = {**self._declared_factors("__lr_mult__"), **args_lr_mult}

    def set_wd_mult(self, args_wd_mult: dict[Any, float]) -> None:
        """Set multipliers of the weight decay by name or index, args_wd_mult, over those of the symbol's attributes and of the
        names: 0 but for names that end in _weight or _gamma.

        Examples
        --------
        >>> from gluonnx import mx
        >>> optimizer = mx.optimizer.SGD(wd=0.1, param_idx2name={0: "a_weight", 1: "a_bias"})
        >>> optimizer.wd_mult
        {'a_bias': 0.0}
        >>> optimizer.set_wd_mult({"a_weight": 0.5})
        >>> optimizer.wd_mult
        {'a_bias': 0.0, 'a_weight': 0.5}
        """
        undecayed = {n: 0.0 for n in self.idx2name.values() if not self._decays(n)}
        self.wd_mult = {**undecayed, **self._declared_factors("__wd_mult__"), **args_wd_mult}

    def _decays(self, name: str) -> bool:
        return name.endswith(("_weight", "_gamma"))

    def _declared_factors(self, key: str) -> dict[str, float]:
        attrs, names = self.sym_info or ({}, ())
        return {n: float(attrs[n][key]) for n in names if key in attrs.get(n, {})}

    def _get_lrs(self, indices: Any) -> list[float]:
        """The learning rate of each index, with its multiplier."""
        rate = self.learning_rate
        return [rate * self._multiplier(i, "lr_mult") for i in indices]

    def _get_lr(self, index: Any) -> float:
        return self._get_lrs([index])[0]

    def _get_wds(self, indices: Any) -> list[float]:
        """The weight decay of each index, with its multiplier."""
        return [self.wd * self._multiplier(i, "wd_mult") for i in indices]

    def _get_wd(self, index: Any) -> float:
        return self._get_wds([index])[0]

    def _multiplier(self, index: Any, which: str) -> float:
        if index in self.param_dict:
            return getattr(self.param_dict[index], which)
        table = getattr(self, which)
        return table[index] if index in table else table.get(self.idx2name.get(index), 1.0)

    # -- counts -------------------------------------------------------------------------------------------------------

    def _set_current_context(self, device_id: int) -> None:
        """Count updates of that device from now on; each has counts of its own."""
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    def _update_count(self, index: Any) -> None:
        """Count an update of one index, or of several."""
        for i in index if isinstance(index, list | tuple) else [index]:
            count = self._index_update_count.get(i, self.begin_num_update) + 1
            self._index_update_count[i] = count
            self.num_update = max(count, self.num_update)

    # -- help for subclasses --------------------------------------------------------------------------------------------

    def _start(self, index: Any, weight: Array, grad: Array) -> tuple[float, float]:
        """Count the update and give (learning rate, weight decay). Raises AssertionError for what are no arrays."""
        if not (isinstance(weight, NDArray) and isinstance(grad, NDArray)):
            raise AssertionError(f"update: got {type(weight).__name__} and {type(grad).__name__}, wanted NDArrays")
        self._update_count(index)
        return self._get_lr(index), self._get_wd(index)

    def _options(self, **more: Any) -> dict[str, Any]:
        """Attributes that every update operator takes, and those of ``more`` that are not None or 0."""
        given = {"clip_gradient": self.clip_gradient, **more}
        return {"rescale_grad": self.rescale_grad, **{k: v for k, v in given.items() if v}}

    def _scale_gradient(self, grad: Array) -> NDArray:
        """The gradient times rescale_grad, clipped to clip_gradient."""
        return self._clip(grad * self.rescale_grad)

    def _clip(self, grad: Array) -> NDArray:
        return grad if self.clip_gradient is None else grad.clip(-self.clip_gradient, self.clip_gradient)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "param_dict"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = {**state, "param_dict": {}}


register = Optimizer.register
create = Optimizer.create_optimizer


@register
class Test(Optimizer):
    """weight + grad * rescale_grad, for tests of what surrounds optimizers. The state is the weight.

    Examples
    --------
    >>> from gluonnx import mx
    >>> optimizer = mx.optimizer.Test(rescale_grad=2)
    >>> weight = mx.nd.array([1, 2])
    >>> optimizer.update(0, weight, mx.nd.ones(2), optimizer.create_state(0, weight))
    >>> weight.asnumpy()
    array([3., 4.], dtype=float32)
    """

    __test__ = False  # no test case of pytest

    def create_state(self, index: Any, weight: Array) -> NDArray:
        return self._nothing_yet(weight)

    def update(self, index: Any, weight: Array, grad: Array, state: Array) -> None:
        weight += grad * self.rescale_grad
        state[:] = weight
