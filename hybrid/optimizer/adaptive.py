"""Optimizers that adapt the length of the step to each weight's history."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..ndarray import NDArray
from .base import Array, Optimizer, register
from .sparse import by_rows


@register
class Adam(Optimizer):
    """Adam (Kingma and Ba, arXiv 1412.6980).

    Parameters
    ----------
    learning_rate : float, default 0.001
        Learning rate; of a scheduler, where there is one, its base_lr.
    beta1 : float, default 0.9
        Part of the mean gradient that stays at each step, 0 to 1.
    beta2 : float, default 0.999
        Part of the mean square that stays at each step, 0 to 1.
    epsilon : float, default 1e-08
        Number that is added to the denominator, against division by 0.
    lazy_update : bool, default True
        Touch only the rows that a row_sparse gradient stores.

    Examples
    --------
    >>> from gluonnx import mx
    >>> optimizer = mx.optimizer.Adam(learning_rate=0.1)
    >>> weight = mx.nd.array([1, 2])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, mx.nd.array([0.5, -0.5]), state)
    >>> weight.asnumpy().round(3)
    array([0.9, 2.1], dtype=float32)
    """

    stores_rows = True

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.lazy_update = lazy_update

    def create_state(self, index: Any, weight: Array) -> tuple[NDArray, NDArray]:
        """(mean, variance) of gradients."""
        return self._nothing_yet(weight), self._nothing_yet(weight)

    def update(self, index: Any, weight: Array, grad: Array, state: Any) -> None:
        lr, wd = self._start(index, weight, grad)
        t = self._index_update_count[index]
        lr *= math.sqrt(1.0 - self.beta2**t) / (1.0 - self.beta1**t)
        options = {"beta1": self.beta1, "beta2": self.beta2, "epsilon": self.epsilon, **self._options(wd=wd)}
        by_rows(nd.adam_update, weight, grad, state, lr=lr, lazy_update=self.lazy_update, **options)


@register
class AdaGrad(Optimizer):
    """AdaGrad (Duchi et al., 2011).

    Parameters
    ----------
    eps : float, default 1e-07
        Number that is added to the denominator, against division by 0.

    Examples
    --------
    >>> from gluonnx import mx
    >>> optimizer = mx.optimizer.AdaGrad(learning_rate=0.1)
    >>> weight = mx.nd.array([1, 2])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, mx.nd.array([0.5, -0.5]), state)
    >>> weight.asnumpy().round(3)
    array([0.9, 2.1], dtype=float32)
    """

    stores_rows = True

    def __init__(self, eps: float = 1e-7, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Any, weight: Array) -> NDArray:
        """The sum of squares of gradients."""
        return self._nothing_yet(weight)

    def update(self, index: Any, weight: Array, grad: Array, state: Array) -> None:
        lr, wd = self._start(index, weight, grad)
        if grad.stype == "row_sparse":
            options = self._options(epsilon=self.float_stable_eps)
            by_rows(nd.sparse.adagrad_update, weight, grad, [state], lr=lr, wd=wd, **options)
            return
        grad = self._scale_gradient(grad)
        state += grad * grad
        weight += (grad / (state + self.float_stable_eps).sqrt() + weight * wd) * -lr


@register
class RMSProp(Optimizer):
    """RMSProp: Tieleman and Hinton's of 2012, or with centered Graves's (arXiv 1308.0850).

    Parameters
    ----------
    learning_rate : float, default 0.001
        Learning rate; of a scheduler, where there is one, its base_lr.
    gamma1 : float, default 0.9
        Part of the mean square that stays at each step, 0 to 1.
    gamma2 : float, default 0.9
        Part of the last step that stays, 0 to 1 (centered).
    epsilon : float, default 1e-08
        Number that is added to the denominator, against division by 0.
    centered : bool, default False
        Take the square of the mean gradient off the mean square (Graves 2013).
    clip_weights : float or None, default None
        Largest absolute value of a weight; None: not clipped.

    Examples
    --------
    >>> from gluonnx import mx
    >>> optimizer = mx.optimizer.RMSProp(learning_rate=0.1)
    >>> weight = mx.nd.array([1, 2])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, mx.nd.array([0.5, -0.5]), state)
    >>> weight.asnumpy().round(3)
    array([0.684, 2.316], dtype=float32)
    """

    stores_rows = True

    def __init__(
        self,
        learning_rate: float = 0.001,
        gamma1: float = 0.9,
        gamma2: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        clip_weights: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1, self.gamma2, self.epsilon = gamma1, gamma2, epsilon
        self.centered, self.clip_weights = centered, clip_weights

    def create_state(self, index: Any, weight: Array) -> tuple[NDArray, ...]:
        """(mean square,), and with centered (mean square, mean, last step)."""
        return tuple(self._nothing_yet(weight) for _ in range(3 if self.centered else 1))

    def update(self, index: Any, weight: Array, grad: Array, state: Any) -> None:
        lr, wd = self._start(index, weight, grad)
        options = {
            "gamma1": self.gamma1,
            "epsilon": self.epsilon,
            **self._options(clip_weights=self.clip_weights, wd=wd),
        }
        if self.centered:
            nd.rmspropalex_update(weight, grad, *state, out=weight, lr=lr, gamma2=self.gamma2, **options)
        else:
            nd.rmsprop_update(weight, grad, *state, out=weight, lr=lr, **options)


@register
class AdaDelta(Optimizer):
    """AdaDelta (Zeiler, arXiv 1212.5701). It has no learning rate.

    Parameters
    ----------
    rho : float, default 0.9
        Part of the mean squares that stays at each step, 0 to 1.
    epsilon : float, default 1e-05
        Number that is added to the denominator, against division by 0.

    Examples
    --------
    >>> from gluonnx import mx
    >>> optimizer = mx.optimizer.AdaDelta()
    >>> weight = mx.nd.array([1, 2])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, mx.nd.array([0.5, -0.5]), state)
    >>> weight.asnumpy().round(3)
    array([0.99, 2.01], dtype=float32)
    """

    def __init__(self, rho: float = 0.90, epsilon: float = 1e-5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rho, self.epsilon = rho, epsilon

    def create_state(self, index: Any, weight: Array) -> tuple[NDArray, NDArray]:
        """Mean squares of gradients and of steps."""
        return self._nothing_yet(weight), self._nothing_yet(weight)

    def update(self, index: Any, weight: Array, grad: Array, state: Any) -> None:
        _, wd = self._start(index, weight, grad)
        gradients, steps = state
        grad = self._scale_gradient(grad)
        gradients *= self.rho
        gradients += (1.0 - self.rho) * grad * grad
        step = (steps + self.epsilon).sqrt() / (gradients + self.epsilon).sqrt() * grad
        steps *= self.rho
        steps += (1.0 - self.rho) * step * step
        weight -= step + wd * weight


@register
class Ftrl(Optimizer):
    """Follow the regularized leader (McMahan et al., 2013): sparse weights.

    Parameters
    ----------
    lamda1 : float, default 0.01
        Weight of the L1 regularization.
    learning_rate : float, default 0.1
        Learning rate; of a scheduler, where there is one, its base_lr.
    beta : float, default 1
        Summand of the learning rate's denominator.

    Examples
    --------
    >>> from gluonnx import mx
    >>> optimizer = mx.optimizer.Ftrl(learning_rate=0.1)
    >>> weight = mx.nd.array([1, 2])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, mx.nd.array([0.5, -0.5]), state)
    >>> weight.asnumpy().round(3)
    array([0.299, 0.699], dtype=float32)
    """

    stores_rows = True

    def __init__(self, lamda1: float = 0.01, learning_rate: float = 0.1, beta: float = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.lamda1, self.beta = lamda1, beta
        self.lr = learning_rate

    def create_state(self, index: Any, weight: Array) -> tuple[NDArray, NDArray]:
        """(z, n) of the paper."""
        return self._nothing_yet(weight), self._nothing_yet(weight)

    def update(self, index: Any, weight: Array, grad: Array, state: Any) -> None:
        lr, wd = self._start(index, weight, grad)
        options = {"lamda1": self.lamda1, "beta": self.beta, **self._options(wd=wd)}
        lazy = weight.stype == "row_sparse"  # a dense weight is updated in all rows, in MXNet too
        by_rows(nd.ftrl_update, weight, grad, state, lr=lr, lazy_update=lazy, **options)


@register
class FTML(Optimizer):
    """Follow the moving leader (Zheng and Kwok, ICML 2017).

    Parameters
    ----------
    beta1 : float, default 0.6
        Part of the mean gradient that stays at each step, 0 to 1.
    beta2 : float, default 0.999
        Part of the mean square that stays at each step, 0 to 1.
    epsilon : float, default 1e-08
        Number that is added to the denominator, against division by 0.

    Examples
    --------
    >>> from gluonnx import mx
    >>> optimizer = mx.optimizer.FTML(learning_rate=0.1)
    >>> weight = mx.nd.array([1, 2])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, mx.nd.array([0.5, -0.5]), state)
    >>> weight.asnumpy().round(3)
    array([0.9, 2.1], dtype=float32)
    """

    def __init__(self, beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-8, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def create_state(self, index: Any, weight: Array) -> tuple[NDArray, ...]:
        """(d, v, z) of the paper."""
        return self._nothing_yet(weight), self._nothing_yet(weight), self._nothing_yet(weight)

    def update(self, index: Any, weight: Array, grad: Array, state: Any) -> None:
        lr, wd = self._start(index, weight, grad)
        options = {"beta1": self.beta1, "beta2": self.beta2, "epsilon": self.epsilon, "rescale_grad": self.rescale_grad}
        if self.clip_gradient:
            options["clip_grad"] = self.clip_gradient
        t = self._index_update_count[index]
        nd.ftml_update(weight, grad, *state, out=weight, lr=lr, wd=wd, t=t, **options)


@register
class Adamax(Optimizer):
    """Adam by the greatest gradient instead of the mean square (Kingma and Ba, arXiv 1412.6980).

    Parameters
    ----------
    learning_rate : float, default 0.002
        Learning rate; of a scheduler, where there is one, its base_lr.
    beta1 : float, default 0.9
        Part of the mean gradient that stays at each step, 0 to 1.
    beta2 : float, default 0.999
        Part of the mean square that stays at each step, 0 to 1.

    Examples
    --------
    >>> from gluonnx import mx
    >>> optimizer = mx.optimizer.Adamax(learning_rate=0.1)
    >>> weight = mx.nd.array([1, 2])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, mx.nd.array([0.5, -0.5]), state)
    >>> weight.asnumpy().round(3)
    array([0.9, 2.1], dtype=float32)
    """

    def __init__(self, learning_rate: float = 0.002, beta1: float = 0.9, beta2: float = 0.999, **kwargs: Any) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2 = beta1, beta2

    def create_state(self, index: Any, weight: Array) -> tuple[NDArray, NDArray]:
        """(mean, greatest)."""
        return self._nothing_yet(weight), self._nothing_yet(weight)

    def update(self, index: Any, weight: Array, grad: Array, state: Any) -> None:
        lr, wd = self._start(index, weight, grad)
        lr /= 1.0 - self.beta1 ** self._index_update_count[index]
        grad = self._clip(grad * self.rescale_grad + wd * weight)
        mean, greatest = state
        mean *= self.beta1
        mean += (1.0 - self.beta1) * grad
        greatest[:] = nd.maximum(self.beta2 * greatest, grad.abs())
        weight -= lr * mean / greatest


@register
class Nadam(Optimizer):
    """Adam with Nesterov's momentum (Dozat, 2016). The schedule of momentum is one for all weights.

    Parameters
    ----------
    learning_rate : float, default 0.001
        Learning rate; of a scheduler, where there is one, its base_lr.
    beta1 : float, default 0.9
        Part of the mean gradient that stays at each step, 0 to 1.
    beta2 : float, default 0.999
        Part of the mean square that stays at each step, 0 to 1.
    epsilon : float, default 1e-08
        Number that is added to the denominator, against division by 0.
    schedule_decay : float, default 0.004
        Decay of the momentum's schedule.

    Examples
    --------
    >>> from gluonnx import mx
    >>> optimizer = mx.optimizer.Nadam(learning_rate=0.1)
    >>> weight = mx.nd.array([1, 2])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, mx.nd.array([0.5, -0.5]), state)
    >>> weight.asnumpy().round(3)
    array([0.894, 2.106], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        schedule_decay: float = 0.004,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

    def create_state(self, index: Any, weight: Array) -> tuple[NDArray, NDArray]:
        """(mean, variance) of gradients."""
        return self._nothing_yet(weight), self._nothing_yet(weight)

    def update(self, index: Any, weight: Array, grad: Array, state: Any) -> None:
        lr, wd = self._start(index, weight, grad)
        t = self._index_update_count[index]
        grad = self._clip(grad * self.rescale_grad + wd * weight)
        now, then = (self.beta1 * (1.0 - 0.5 * 0.96 ** (s * self.schedule_decay)) for s in (t, t + 1))
        self.m_schedule *= now
        mean, var = state
        mean *= self.beta1
        mean += (1.0 - self.beta1) * grad
        var *= self.beta2
        var += (1.0 - self.beta2) * grad * grad
        first = (1.0 - now) * (grad / (1.0 - self.m_schedule))
        ahead = then * (mean / (1.0 - self.m_schedule * then))
        weight -= lr * (first + ahead) / ((var / (1.0 - self.beta2**t)).sqrt() + self.epsilon)


@register
class LAMB(Optimizer):
    """Adam's step scaled to the norm of each layer, for large batches (You et al., arXiv 1904.00962).

    Parameters
    ----------
    learning_rate : float, default 0.001
        Learning rate; of a scheduler, where there is one, its base_lr.
    beta1 : float, default 0.9
        Part of the mean gradient that stays at each step, 0 to 1.
    beta2 : float, default 0.999
        Part of the mean square that stays at each step, 0 to 1.
    epsilon : float, default 1e-06
        Number that is added to the denominator, against division by 0.
    lower_bound : float or None, default None
        Least norm of the weight; None: none.
    upper_bound : float or None, default None
        Greatest norm of the weight; None: none.
    bias_correction : bool, default True
        Correct mean and mean square for having begun at 0.

    Examples
    --------
    >>> from gluonnx import mx
    >>> optimizer = mx.optimizer.LAMB(learning_rate=0.1)
    >>> weight = mx.nd.array([1, 2])
    >>> state = optimizer.create_state(0, weight)
    >>> optimizer.update(0, weight, mx.nd.array([0.5, -0.5]), state)
    >>> weight.asnumpy().round(3)
    array([0.842, 2.158], dtype=float32)
    """

    stores_rows = True

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        bias_correction: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.lower_bound, self.upper_bound = lower_bound, upper_bound
        self.bias_correction = bias_correction
        self.aggregate_num = 45  # MXNet's most

    def create_state(self, index: Any, weight: Array) -> tuple[NDArray, NDArray]:
        """(mean, variance) of gradients."""
        return self._nothing_yet(weight), self._nothing_yet(weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        self._update(index, weight, grad, state, False)

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        first = weight[0] if isinstance(index, list | tuple) else weight
        self._update(index, weight, grad, state, self.multi_precision and first.dtype == np.float16)

    def _moments(self) -> dict[str, Any]:
        return {
            "beta1": self.beta1,
            "beta2": self.beta2,
            "epsilon": self.epsilon,
            "bias_correction": self.bias_correction,
            **self._options(),
        }

    def _bounds(self) -> dict[str, float]:
        given = {"lower_bound": self.lower_bound, "upper_bound": self.upper_bound}
        return {k: v for k, v in given.items() if v}

    def _update(self, index: Any, weight: Any, grad: Any, state: Any, multi: bool) -> None:
        if not isinstance(index, list | tuple):
            self._one(index, weight, grad, state, multi)
            return
        for start in range(0, len(index), self.aggregate_num):
            part = slice(start, start + self.aggregate_num)
            self._several(index[part], list(weight[part]), grad[part], state[part], multi)

    def _one(self, index: Any, weight: Array, grad: Array, state: Any, multi: bool) -> None:
        lr, wd = self._start(index, weight, grad)
        master, (mean, var) = state if multi else (None, state)
        extra = [] if master is None else [master]
        prefix = "mp_" if multi else ""
        options = self._moments()
        phase1, phase2 = (getattr(nd, f"{prefix}lamb_update_phase{n}") for n in (1, 2))
        step = phase1(weight, grad, mean, var, *extra, t=self._index_update_count[index], wd=wd, **options)
        norms = ((weight if master is None else master).norm(), step.norm())
        phase2(weight, step, *norms, *extra, lr=lr, out=weight, **self._bounds())

    def _several(self, indices: Any, weights: list[NDArray], grads: Any, states: Any, multi: bool) -> None:
        rates = [self._start(i, w, g) for i, w, g in zip(indices, weights, grads)]
        blocks: list[Array] = []
        for weight, grad, state in zip(weights, grads, states):
            master, (mean, var) = state if multi else (None, state)
            blocks += [weight, grad, mean, var, *([] if master is None else [master])]
        operator = nd._internal._multi_mp_lamb_update if multi else nd._internal._multi_lamb_update
        operator(
            *blocks,
            out=weights if len(weights) > 1 else weights[0],
            num_tensors=len(weights),
            step_count=[self._index_update_count[i] for i in indices],
            learning_rates=[lr for lr, _ in rates],
            wds=[wd for _, wd in rates],
            **self._moments(),
            **self._bounds(),
        )
