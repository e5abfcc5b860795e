"""Gradient descent: plain, with momentum, by signs, scaled to layers, with noise."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..core.op import lookup
from ..ndarray import NDArray, invoke
from .base import Array, Optimizer, register
from .sparse import by_rows

AGGREGATE = 4
"""Number of weights that one operator updates; MXNet's default of an environment variable."""


class _Momentum(Optimizer):
    """Base of those with one momentum a weight; masters come after it in their states."""

    def __init__(self, momentum: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum

    def create_state(self, index: Any, weight: Array) -> NDArray | None:
        return self._nothing_yet(weight) if self.momentum != 0.0 else None

    def create_state_multi_precision(self, index: Any, weight: Array) -> Any:
        """create_state; of a float16 weight under multi_precision (state, float32 master)."""
        if not self._masters(weight):
            return self.create_state(index, weight)
        master = weight.astype(np.float32)
        return self.create_state(index, master), master

    def _one(self, weight: Array, grad: Array, state: Any, multi: bool, plain: str = "sgd", **options: Any) -> None:
        """One update of one weight, by the operator that its state calls for. plain: that with momentum."""
        mom, master = state if multi else (state, None)
        rule = f"{'mp_' if multi else ''}{'sgd' if mom is None else f'{plain}_mom'}_update"
        if mom is None:
            options.pop("momentum", None)
        elif plain != "sgd":  # the momentum of rows without a gradient decays and moves them
            options["lazy_update"] = False
        by_rows(getattr(nd, rule), weight, grad, [s for s in (mom, master) if s is not None], **options)


class _Aggregated(_Momentum):
    """Base of those that update several weights at once when they are given lists."""

    stores_rows = True

    def __init__(self, momentum: float = 0.0, lazy_update: bool = True, **kwargs: Any) -> None:
        super().__init__(momentum, **kwargs)
        self.lazy_update = lazy_update
        self.aggregate_num = AGGREGATE

    def _update(self, indices: Any, weights: Any, grads: Any, states: Any, multi: bool) -> None:
        raise NotImplementedError

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._update_listed(index, weight, grad, state, False)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        first = weight[0] if isinstance(index, list | tuple) else weight
        self._update_listed(index, weight, grad, state, self.multi_precision and first.dtype == np.float16)

    def _update_listed(self, index: Any, weight: Any, grad: Any, state: Any, multi: bool) -> None:
        if not isinstance(index, list | tuple):
            index, weight, grad, state = [index], [weight], [grad], [state]
        if not all(isinstance(a, NDArray) for a in (*weight, *grad)):
            raise AssertionError("update: weights and gradients have to be NDArrays")
        self._update_count(index)
        self._update(index, weight, grad, state, multi)


def _dense(arrays: Sequence[NDArray]) -> bool:
    return all(a.stype == "default" for a in arrays)


def _blocks(weights: Any, grads: Any, states: Any, multi: bool, momentum: bool) -> list[NDArray]:
    """Inputs of an operator for several weights, weight by weight."""
    mine = [s if multi else (s,) for s in states]
    kept = [s if momentum else s[1:] for s in mine]
    return list(chain.from_iterable((w, g, *s) for w, g, s in zip(weights, grads, kept)))


def _several(prefix: str, multi: bool, momentum: bool) -> str:
    """The name of the operator for several weights."""
    return f"{prefix}multi_{'mp_' if multi else ''}sgd_{'mom_' if momentum else ''}update"


@register
class SGD(_Aggregated):
    """Stochastic gradient descent, with momentum when that is not 0.

    Parameters
    ----------
    momentum : float, default 0.0
        Part of the last step that stays, 0 to 1.
    lazy_update : bool, default True
        Touch only the rows that a row_sparse gradient stores.

    Examples
    --------
    >>> from gluonnx import mx
    >>> rule = mx.optimizer.SGD(learning_rate=0.5)
    >>> weight, gradient = mx.nd.array([1.0]), mx.nd.array([1.0])
    >>> rule.update(0, weight, gradient, rule.create_state(0, weight))
    >>> weight.asscalar().item()
    0.5"""

    def _update(self, indices: Any, weights: Any, grads: Any, states: Any, multi: bool) -> None:
        lrs, wds = self._get_lrs(indices), self._get_wds(indices)
        momentum = self.momentum > 0
        options = self._options(momentum=self.momentum if momentum else None)
        if _dense((*weights, *grads)):
            blocks = _blocks(weights, grads, states, multi, momentum)
            operator = lookup(_several("", multi, momentum))
            invoke(operator.bind(num_weights=len(weights), lrs=tuple(lrs), wds=tuple(wds), **options), blocks, weights)
            return
        for weight, grad, state, lr, wd in zip(weights, grads, states, lrs, wds):
            self._one(weight, grad, state, multi, lr=lr, wd=wd, lazy_update=self.lazy_update, **options)


@register
class ccSGD(SGD):  # noqa: N801  MXNet's name
    """SGD under an old name, with SGD's arguments.

    Examples
    --------
    >>> from gluonnx import mx
    >>> optimizer = mx.optimizer.ccSGD(learning_rate=0.1)
    >>> weight = mx.nd.array([1, 2])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, mx.nd.array([0.5, -0.5]), state)
    >>> weight.asnumpy().round(3)
    array([0.95, 2.05], dtype=float32)
    """


@register
class LARS(_Aggregated):
    """SGD whose rate is scaled, layer by layer, by eta * |weight| / |gradient| (You et al., arXiv 1708.03888).

    Not for biases, gammas and betas. momentum_correction follows changes of the learning rate.

    Parameters
    ----------
    momentum : float, default 0.0
        Part of the last step that stays, 0 to 1.
    lazy_update : bool, default True
        Touch only the rows that a row_sparse gradient stores.
    eta : float, default 0.001
        Part of the weight's norm that a step is as long as.
    eps : float, default 0
        Number that is added to the denominator, against division by 0.

    Examples
    --------
    >>> from gluonnx import mx
    >>> optimizer = mx.optimizer.LARS(learning_rate=0.1, eta=0.1)
    >>> weight = mx.nd.array([1, 2])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, mx.nd.array([0.5, -0.5]), state)
    >>> weight.asnumpy().round(3)
    array([0.984, 2.016], dtype=float32)
    """

    def __init__(
        self,
        momentum: float = 0.0,
        lazy_update: bool = True,
        eta: float = 0.001,
        eps: float = 0,
        momentum_correction: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(momentum, lazy_update, **kwargs)
        self.momentum_correction = momentum_correction
        self.eta, self.eps = eta, eps
        self.skip = 0
        self.last_lr: float | None = None
        self.cur_lr: float | None = None

    def _decays(self, name: str) -> bool:
        return name.endswith("_weight")

    def _get_lrs(self, indices: Any) -> list[float]:
        rate = self.learning_rate
        self.last_lr, self.cur_lr = rate if self.cur_lr is None else self.cur_lr, rate
        return super()._get_lrs(indices)

    def _scales(self, index: Any) -> bool:
        return not self.idx2name.get(index, str(index)).endswith(("gamma", "beta", "bias"))

    def _update(self, indices: Any, weights: Any, grads: Any, states: Any, multi: bool) -> None:
        lrs, wds = self._get_lrs(indices), self._get_wds(indices)
        momentum = self.momentum > 0
        factor = self.cur_lr / self.last_lr if self.momentum_correction and self.last_lr else 1.0  # type: ignore[operator]
        options = self._options(momentum=self.momentum * factor if momentum else None)
        order = sorted(range(len(indices)), key=lambda i: not self._scales(indices[i]))
        indices, weights, grads, states, lrs, wds = (
            [part[i] for i in order] for part in (indices, weights, grads, states, lrs, wds)
        )
        scaled = sum(map(self._scales, indices))
        device = weights[0].context
        rates, decays = nd.array(lrs, ctx=device), nd.array(wds, ctx=device)
        if scaled:
            squares = [nd.multi_sum_sq(*arrays[:scaled], num_arrays=scaled) for arrays in (weights, grads)]
            rates[:scaled] = nd.multi_lars(
                rates[:scaled], *squares, decays[:scaled], eta=self.eta, eps=self.eps, rescale_grad=self.rescale_grad
            )
        if not _dense((*weights, *grads)):
            for weight, grad, state, lr, wd in zip(weights, grads, states, rates.asnumpy(), wds):
                self._one(weight, grad, state, multi, lr=float(lr), wd=wd, lazy_update=self.lazy_update, **options)
            return
        operator = getattr(nd, _several("preloaded_", multi, momentum))
        for start in range(0, len(indices), self.aggregate_num):
            part = slice(start, start + self.aggregate_num)
            blocks = _blocks(weights[part], grads[part], states[part], multi, momentum)
            out = weights[part] if len(weights[part]) > 1 else weights[part][0]
            operator(*blocks, rates[part], decays[part], out=out, num_weights=len(weights[part]), **options)


@register
class NAG(_Momentum):
    """Nesterov's accelerated gradient.

    Parameters
    ----------
    momentum : float, default 0.0
        Part of the last step that stays, 0 to 1.

    Examples
    --------
    >>> from gluonnx import mx
    >>> optimizer = mx.optimizer.NAG(learning_rate=0.1, momentum=0.9)
    >>> weight = mx.nd.array([1, 2])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, mx.nd.array([0.5, -0.5]), state)
    >>> weight.asnumpy().round(3)
    array([0.905, 2.095], dtype=float32)
    """

    def _update(self, index: Any, weight: Array, grad: Array, state: Any, multi: bool) -> None:
        lr, wd = self._start(index, weight, grad)
        options = self._options(momentum=self.momentum if self.momentum > 0 else None, wd=wd)
        self._one(weight, grad, state, multi, "nag", lr=lr, **options)

    def update(self, index: Any, weight: Array, grad: Array, state: Any) -> None:
        self._update(index, weight, grad, state, False)

    def update_multi_precision(self, index: Any, weight: Array, grad: Array, state: Any) -> None:
        multi = self.multi_precision and weight.dtype == np.float16 and isinstance(state, tuple | list)
        self._update(index, weight, grad, state, multi)


@register
class Signum(Optimizer):
    """Steps by the sign of the momentum, or of the gradient when momentum is 0 (Bernstein et al., arXiv 1802.04434).

    Parameters
    ----------
    learning_rate : float, default 0.01
        Learning rate; of a scheduler, where there is one, its base_lr.
    momentum : float, default 0.9
        Part of the last step that stays, 0 to 1.
    wd_lh : float, default 0.0
        Weight decay apart from the gradient.

    Examples
    --------
    >>> from gluonnx import mx
    >>> optimizer = mx.optimizer.Signum(learning_rate=0.1)
    >>> weight = mx.nd.array([1, 2])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, mx.nd.array([0.5, -0.5]), state)
    >>> weight.asnumpy().round(3)
    array([0.9, 2.1], dtype=float32)
    """

    stores_rows = True

    def __init__(self, learning_rate: float = 0.01, momentum: float = 0.9, wd_lh: float = 0.0, **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum, self.wd_lh = momentum, wd_lh

    def create_state(self, index: Any, weight: Array) -> NDArray | None:
        return self._nothing_yet(weight) if self.momentum != 0.0 else None

    def update(self, index: Any, weight: Array, grad: Array, state: Any) -> None:
        lr, wd = self._start(index, weight, grad)
        if state is None:
            nd.signsgd_update(weight, grad, out=weight, lr=lr, **self._options(wd=wd))
            return
        options = self._options(momentum=max(self.momentum, 0), wd_lh=self.wd_lh, wd=wd)
        nd.signum_update(weight, grad, state, out=weight, lr=lr, **options)


@register
class SGLD(Optimizer):
    """Gradient descent with Gaussian noise of variance lr, which samples from the posterior (Welling and Teh, 2011).

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
    >>> optimizer = mx.optimizer.SGLD(learning_rate=1e-6)
    >>> weight = mx.nd.array([1, 2])
    >>> optimizer.update(0, weight, mx.nd.zeros(2), None)
    >>> abs(weight - mx.nd.array([1, 2])).max().asscalar().item() < 0.01
    True
    """

    def update(self, index: Any, weight: Array, grad: Array, state: Any) -> None:
        lr, wd = self._start(index, weight, grad)
        weight += (self._scale_gradient(grad) + wd * weight) * (-lr / 2)
        weight += nd.random.normal(0, math.sqrt(lr), shape=weight.shape, dtype=weight.dtype, ctx=weight.context)


@register
class DCASGD(Optimizer):
    """SGD that makes up for the delay of asynchronous gradients (Zheng et al., arXiv 1609.08326).

    Parameters
    ----------
    momentum : float, default 0.0
        Part of the last step that stays, 0 to 1.
    lamda : float, default 0.04
        Weight of the correction for delay.

    Examples
    --------
    >>> from gluonnx import mx
    >>> optimizer = mx.optimizer.DCASGD(learning_rate=0.1)
    >>> weight = mx.nd.array([1, 2])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, mx.nd.array([0.5, -0.5]), state)
    >>> weight.asnumpy().round(3)
    array([0.95, 2.05], dtype=float32)
    """

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum, self.lamda = momentum, lamda
        self.weight_previous: dict[Any, Any] = {}

    def create_state(self, index: Any, weight: Array) -> Any:
        return None if self.momentum == 0.0 else self._nothing_yet(weight), weight.copy()

    def update(self, index: Any, weight: Array, grad: Array, state: Any) -> None:
        lr, wd = self._start(index, weight, grad)
        mom, previous = state
        grad = self._scale_gradient(grad)
        step = (grad + wd * weight + self.lamda * grad * grad * (weight - previous)) * -lr
        if mom is not None:
            mom *= self.momentum
            mom += step
            step = mom
        previous[:] = weight
        weight += step


@register
class LBSGD(_Momentum):
    """SGD for large batches: gradients of batch_scale calls are added up, the rate warms up (You et al., arXiv 1708.03888).

    warmup_strategy: 'linear', 'power2' and 'sqrt' over warmup_epochs, or 'lars' by the norms.

    Parameters
    ----------
    momentum : float, default 0.0
        Part of the last step that stays, 0 to 1.
    multi_precision : bool, default False
        Keep weights of float16 in float32 too, and update these.
    warmup_strategy : str, default 'linear'
        How the learning rate grows.
    warmup_epochs : int, default 5
        Epochs of the warm-up.
    batch_scale : int, default 1
        Factor of the batch size.
    updates_per_epoch : int, default 32
        Updates of an epoch.
    begin_epoch : int, default 0
        Epoch that counting starts with.
    num_epochs : int, default 60
        Number of epochs.

    Examples
    --------
    >>> from gluonnx import mx
    >>> optimizer = mx.optimizer.LBSGD(learning_rate=0.1, momentum=0.9)
    >>> weight = mx.nd.array([1, 2])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, mx.nd.array([0.5, -0.5]), state)
    >>> weight.asnumpy().round(3)
    array([0.95, 2.05], dtype=float32)
    """

    stores_rows = True

    def __init__(
        self,
        momentum: float = 0.0,
        multi_precision: bool = False,
        warmup_strategy: str = "linear",
        warmup_epochs: int = 5,
        batch_scale: float = 1,
        updates_per_epoch: int = 32,
        begin_epoch: int = 0,
        num_epochs: int = 60,
        **kwargs: Any,
    ) -> None:
        super().__init__(momentum, multi_precision=multi_precision, **kwargs)
        logging.info("Running Large-Batch SGD Algorithm")
        logging.info(
            "(Batch_scale=%f, warmup_epochs=%d, warmup_strategy=%s, updates_per_epoch=%d)",
            batch_scale,
            warmup_epochs,
            warmup_strategy,
            updates_per_epoch,
        )
        self.warmup_strategy, self.warmup_epochs = warmup_strategy, warmup_epochs
        self.batch_scale, self.updates_per_epoch = batch_scale, updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.num_epochs = num_epochs
        self.lbmult = 1
        self.cumgrads: dict[Any, dict[str, Any]] = {}
        self.adaptive = False
        self.admult = 1

    def create_state(self, index: Any, weight: Array) -> Any:
        """The momentum, or of a float16 weight under multi_precision (momentum, float32 master)."""
        if not self._masters(weight):
            return super().create_state(index, weight)
        master = weight.astype(np.float32)
        return super().create_state(index, master), master

    create_state_multi_precision = Optimizer.create_state_multi_precision

    def _get_lbmult(self, nup: int) -> float:
        """Factor of the rate after so many updates."""
        warm, most = self.warmup_epochs * self.updates_per_epoch, float(self.batch_scale)
        if nup >= warm:
            return most
        if self.warmup_strategy not in ("linear", "power2", "sqrt"):
            return 1.0
        exponent = {"linear": 1.0, "power2": 2.0, "sqrt": 0.5}[self.warmup_strategy]
        return 1.0 + (most - 1) * (nup / warm) ** exponent

    def _get_lars(self, weight: Array, grad: Array, wd: float) -> float:
        """Factor of the rate that follows from the norms, from 0.01 to 100."""
        w, g = (float(np.square(a.asnumpy()).sum()) for a in (weight, grad))
        return min(max(math.sqrt(w / (g + wd * w + 1e-18)), 0.01), 100)

    def _cumulate(self, index: Any, grad: Array) -> dict[str, Any]:
        """The gradients of an index added up so far, and how many they are."""
        held = self.cumgrads.get(index)
        if held:
            held = {"cum_grad": held["cum_grad"] + grad, "num_cums": held["num_cums"] + 1}
        else:
            held = {"cum_grad": grad.copy(), "num_cums": self.init_updates + 1}
        self.cumgrads[index] = held
        return held

    def update(self, index: Any, weight: Array, grad: Array, state: Any) -> None:
        lr, wd = self._get_lr(index), self._get_wd(index)
        self._start(index, weight, grad)
        held = self._cumulate(index, grad)
        if held["num_cums"] % self.batch_scale:
            return
        grad = held["cum_grad"] / self.batch_scale
        if self.warmup_strategy == "lars":
            lr *= self._get_lars(weight, grad, wd)
        else:
            lr *= self._get_lbmult(held["num_cums"])
        options = self._options(momentum=self.momentum if self.momentum > 0 else None)
        self._one(weight, grad, state, isinstance(state, list | tuple), lr=lr, wd=wd, **options)
        held["cum_grad"] = 0
