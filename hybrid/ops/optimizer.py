"""Update operators: one step of an optimizer for one weight. The rules are functions, which optimizer_multi.py shares.

They write to their states (``mutates``) whenever they run, training or not, and give the new weight as output, which callers
write over the old one: ``nd.sgd_update(weight, grad, out=weight, lr=0.1)``. Attributes are float32 numbers, as in MXNet.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ..core.op import MISSING, WHOLE, Op, op
from ..core.shapes import merge_all
from . import updating
from .common import as_array, mean_over, want_rank, widen

UpdateRule = Any
"""A function (op, lr, wd, weight, grad, *states) -> (new weight, *new states)."""

single = np.float32


def scale_gradient(op: Any, grad: np.ndarray) -> np.ndarray:
    """The gradient times rescale_grad, then clipped to clip_gradient unless that is negative."""
    return clip_to(grad * single(op.rescale_grad), op.clip_gradient)


def clip_to(grad: np.ndarray, limit: float) -> np.ndarray:
    """grad within -limit to limit; all of it when limit is negative."""
    return np.clip(grad, -single(limit), single(limit)) if limit >= 0 else grad


def follow(beta: Any, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The running average of which the old part is beta."""
    return single(beta) * old + (1 - single(beta)) * new


def power(weight: np.ndarray, beta: float, t: int) -> Any:
    """beta to the power of t, in the weight's dtype."""
    return weight.dtype.type(single(beta)) ** t


def decay_gradient(op: Any, wd: Any, weight: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """The scaled gradient plus wd times the weight, in memory of its own."""
    grad = as_array(scale_gradient(op, grad))
    grad += wd * weight
    return grad


# -- rules ----------------------------------------------------------------------------------------------------------------


def sgd(op: Any, lr: Any, wd: Any, weight: Any, grad: Any) -> Any:
    """Gradient descent."""
    step = decay_gradient(op, wd, weight, grad)
    step *= lr
    return (np.subtract(weight, step, out=step),)


def sgd_momentum(op: Any, lr: Any, wd: Any, weight: Any, grad: Any, mom: Any) -> Any:
    """Gradient descent with momentum; the learning rate is part of what is remembered."""
    step = decay_gradient(op, wd, weight, grad)
    step *= lr
    mom = np.subtract(single(op.momentum) * mom, step, out=step)
    return weight + mom, mom


def nag(op: Any, lr: Any, wd: Any, weight: Any, grad: Any, mom: Any) -> Any:
    """Nesterov's accelerated gradient. What is remembered sees the decay of the new weight, which MXNet has written by then."""
    grad = scale_gradient(op, grad)
    step = lr * (grad + wd * weight)
    new = weight + single(op.momentum) * (single(op.momentum) * mom - step) - step
    return new, single(op.momentum) * mom - lr * (grad + wd * new)


def adam(op: Any, lr: Any, wd: Any, weight: Any, grad: Any, mean: Any, var: Any) -> Any:
    """Adam (Kingma and Ba, arXiv 1412.6980); lr carries the correction of the bias."""
    grad = clip_to(grad * single(op.rescale_grad) + wd * weight, op.clip_gradient)
    mean, var = follow(op.beta1, mean, grad), follow(op.beta2, var, grad * grad)
    return weight - lr * mean / (np.sqrt(var) + single(op.epsilon)), mean, var


def adamw(op: Any, lr: Any, wd: Any, weight: Any, grad: Any, mean: Any, var: Any, *, eta: Any, scale: Any) -> Any:
    """Adam with decoupled weight decay (Loshchilov and Hutter, arXiv 1711.05101)."""
    grad = clip_to(grad * scale, op.clip_gradient)
    mean, var = follow(op.beta1, mean, grad), follow(op.beta2, var, grad * grad)
    step = lr * mean / (np.sqrt(var) + single(op.epsilon)) + wd * weight
    return weight - single(eta) * step, mean, var


def lamb_direction(op: Any, wd: Any, t: int, weight: Any, grad: Any, mean: Any, var: Any) -> Any:
    """LAMB's step before it is scaled to the weight (You et al., arXiv 1904.00962), and the new mean and variance."""
    grad = scale_gradient(op, grad)
    mean, var = follow(op.beta1, mean, grad), follow(op.beta2, var, grad * grad)
    mean_hat, var_hat = mean, var
    if op.bias_correction:
        mean_hat = mean / (1 - power(weight, op.beta1, t))
        var_hat = var / (1 - power(weight, op.beta2, t))
    return mean_hat / (np.sqrt(var_hat) + single(op.epsilon)) + wd * weight, mean, var


def lamb_scaled(op: Any, lr: Any, weight: Any, step: Any, r1: Any, r2: Any) -> Any:
    """The weight after LAMB's step; r1 is the norm of the weight, kept within the bounds, r2 that of the step."""
    if op.lower_bound >= 0:
        r1 = np.maximum(r1, single(op.lower_bound))
    if op.upper_bound >= 0:
        r1 = np.minimum(r1, single(op.upper_bound))
    ratio = np.where((r1 == 0) | (r2 == 0), single(1), r1 / r2)
    return weight - lr * ratio * step


updating.RULES |= {
    "adam": updating.FusedUpdateRule(adam, ("mean", "var"), ("beta1", "beta2", "epsilon")),
    "nag": updating.FusedUpdateRule(nag, ("mom",), ("momentum",)),
    "sgd": updating.FusedUpdateRule(sgd, (), ()),
    "sgd_momentum": updating.FusedUpdateRule(sgd_momentum, ("mom",), ("momentum",)),
}


# -- bases ----------------------------------------------------------------------------------------------------------------


class Writer(Op):
    """An operator that writes to its states whenever it runs."""

    always_mutates: ClassVar[bool] = True

    exception = "writes to weights and states in place"

    def decides(self):
        return (len(self.input_names()),)


class Update(Writer):
    """Base of single updates. All inputs have the weight's shape, those in ``small`` one element; those in ``wide`` are float32.

    With an input weight32 that is the weight proper, and the float16 weight no more than its rounded copy."""

    meanings = {"momentum": "Part of the last step that stays, 0 to 1."}

    refuses = WHOLE

    small: ClassVar[tuple[str, ...]] = ()
    wide: ClassVar[tuple[str, ...]] = ()
    rule: ClassVar[Any]
    """One step, an UpdateRule."""

    def infer_shape(self, *shapes):
        return merge_all(s for s, n in zip(shapes, self.inputs) if n not in self.small)

    def infer_input_shapes(self, shapes, outputs):
        known = merge_all((*(s for s, n in zip(shapes, self.inputs) if n not in self.small), *outputs))
        return [(1,) if n in self.small else known for n in self.inputs]

    def infer_input_types(self, dtypes, outputs):
        narrow = [d for d, n in zip(dtypes, self.inputs) if n not in self.wide]
        same = iter(super().infer_input_types(narrow, outputs))
        return [np.dtype(np.float32) if n in self.wide else next(same) for n in self.inputs]

    def compute(self, *arrays):
        given = dict(zip(self.inputs, arrays))
        master = given.pop("weight32", None)
        weight, grad, *others = map(widen, given.values())
        if master is not None:
            weight, grad = master, grad.astype(np.float32, copy=False)
        lr, wd = (weight.dtype.type(single(getattr(self, n, 0))) for n in ("lr", "wd"))
        new, *states = self.rule(lr, wd, weight, grad, *others)
        for name, state in zip((n for n in self.mutates if n != "weight32"), states):
            given[name][...] = state
        if "weight32" in self.mutates:
            assert master is not None
            master[...] = new
        return new.astype(arrays[0].dtype if self.keeps else np.float32, copy=False)

    keeps: ClassVar[bool] = True
    """False when the output is a float32 step and not the new weight."""

    def compute_into(self, arrays, outs):
        known = next((n for n, r in updating.RULES.items() if r.meaning is getattr(type(self), "rule", None)), None)
        if known is None or self.inputs != ("weight", "grad", *updating.RULES[known].states):
            return False
        step = updating.WeightUpdate(self.lr, self.wd, arrays, *outs)  # type: ignore[attr-defined]
        return updating.update(known, self, [step])

    @classmethod
    def examples(cls, make):
        half = "weight32" in cls.inputs
        arrays = [
            make.uniform(
                *((1,) if n in cls.small else (2, 3)),
                low=0.1,
                dtype="float16" if half and n not in cls.wide else "float32",
            )
            for n in cls.inputs
        ]
        yield make(*arrays, **{f.name: 1 for f in cls.fields.values() if f.default is MISSING})


# -- gradient descent -------------------------------------------------------------------------------------------------------


@op("sgd_update", "_sparse_sgd_update")
class SgdUpdate(Update):
    """weight - lr * (clip(rescale_grad * grad) + wd * weight)."""

    lr: float
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    lazy_update: bool = True

    inputs = ("weight", "grad")
    rule = sgd


@op("mp_sgd_update")
class MpSgdUpdate(Update):
    """sgd_update of a float32 weight; the output is its rounded copy."""

    lr: float
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    lazy_update: bool = True

    inputs = ("weight", "grad", "weight32")
    mutates = wide = ("weight32",)
    rule = sgd


@op("sgd_mom_update", "_sparse_sgd_mom_update")
class SgdMomUpdate(Update):
    """mom = momentum * mom - lr * (clip(rescale_grad * grad) + wd * weight), and weight + mom."""

    lr: float
    momentum: float = 0.0
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    lazy_update: bool = True

    inputs = ("weight", "grad", "mom")
    mutates = ("mom",)
    rule = sgd_momentum


@op("mp_sgd_mom_update")
class MpSgdMomUpdate(Update):
    """sgd_mom_update of a float32 weight; the output is its rounded copy."""

    lr: float
    momentum: float = 0.0
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    lazy_update: bool = True

    inputs = ("weight", "grad", "mom", "weight32")
    mutates = wide = ("mom", "weight32")
    rule = sgd_momentum


@op("nag_mom_update")
class NagMomUpdate(Update):
    """mom = momentum * mom - lr * g, and weight + momentum * mom - lr * g, with g = clip(rescale_grad * grad) + wd * weight.

    The mom that is kept has the new weight in its g, as in MXNet."""

    lr: float
    momentum: float = 0.0
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0

    inputs = ("weight", "grad", "mom")
    mutates = ("mom",)
    rule = nag


@op("mp_nag_mom_update")
class MpNagMomUpdate(Update):
    """nag_mom_update of a float32 weight; the output is its rounded copy."""

    lr: float
    momentum: float = 0.0
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0

    inputs = ("weight", "grad", "mom", "weight32")
    mutates = wide = ("mom", "weight32")
    rule = nag


@op("signsgd_update")
class SignSgdUpdate(Update):
    """(1 - lr * wd) * weight - lr * sign(grad)."""

    lr: float
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0

    inputs = ("weight", "grad")

    def rule(self, lr, wd, weight, grad):
        return ((1 - lr * wd) * weight - lr * np.sign(grad),)


@op("signum_update")
class SignumUpdate(Update):
    """mom = momentum * mom - (1 - momentum) * (g + wd * weight), and (1 - lr * wd_lh) * weight + lr * sign(mom)."""

    lr: float
    momentum: float = 0.0
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    wd_lh: float = 0.0

    inputs = ("weight", "grad", "mom")
    mutates = ("mom",)

    def rule(self, lr, wd, weight, grad, mom):
        mom = follow(self.momentum, mom, -(scale_gradient(self, grad) + wd * weight))
        return (1 - lr * single(self.wd_lh)) * weight + lr * np.sign(mom), mom


# -- steps of adapted length --------------------------------------------------------------------------------------------------


@op("adam_update", "_sparse_adam_update")
class AdamUpdate(Update):
    """mean and var follow g = clip(rescale_grad * grad + wd * weight) and its square; weight - lr * mean / (sqrt(var) + epsilon).

    The correction of the bias is the caller's, in lr (Kingma and Ba, arXiv 1412.6980)."""

    lr: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    lazy_update: bool = True

    inputs = ("weight", "grad", "mean", "var")
    mutates = ("mean", "var")
    rule = adam


class Decoupled(Update):
    """Base of AdamW. An infinite, NaN or zero rescale_grad changes nothing: the loss was scaled too far."""

    lr: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    wd: float = 0.0
    eta: float
    clip_gradient: float = -1.0

    small = ("rescale_grad",)

    def rule(self, lr, wd, weight, grad, mean, var, scale):
        if scale == 0 or not np.isfinite(scale):
            return weight, mean, var
        return adamw(self, lr, wd, weight, grad, mean, var, eta=self.eta, scale=scale[0])


@op("_adamw_update")
class AdamwUpdate(Decoupled):
    """Adam with the weight decay apart: weight - eta * (lr * mean / (sqrt(var) + epsilon) + wd * weight).

    rescale_grad is an array of one float32; when it is zero, infinite or NaN nothing changes (arXiv 1711.05101)."""

    inputs = ("weight", "grad", "mean", "var", "rescale_grad")
    mutates = ("mean", "var")
    wide = ("rescale_grad",)


@op("_mp_adamw_update")
class MpAdamwUpdate(Decoupled):
    """_adamw_update of a float32 weight; the output is its rounded copy."""

    inputs = ("weight", "grad", "mean", "var", "weight32", "rescale_grad")
    mutates = ("mean", "var", "weight32")
    wide = (*mutates, "rescale_grad")


@op("ftrl_update", "_sparse_ftrl_update")
class FtrlUpdate(Update):
    """Follow the regularized leader (McMahan et al., 2013): weights whose z is within lamda1 become zero."""

    meanings = {"beta": "Summand of the learning rate's denominator."}

    lr: float
    lamda1: float = 0.01
    beta: float = 1.0
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0

    inputs = ("weight", "grad", "z", "n")
    mutates = ("z", "n")

    def rule(self, lr, wd, weight, grad, z, n):
        grad = scale_gradient(self, grad)
        total = n + grad * grad
        z = z + grad - (np.sqrt(total) - np.sqrt(n)) * weight / lr
        bound = single(self.lamda1)
        new = (np.sign(z) * bound - z) / ((single(self.beta) + np.sqrt(total)) / lr + wd)
        return (new * (np.abs(z) > bound)).astype(weight.dtype), z, total  # a product: what is NaN stays seen


@op("ftml_update")
class FtmlUpdate(Update):
    """Follow the moving leader (Zheng and Kwok, ICML 2017), with g = clip(rescale_grad * grad + wd * weight)."""

    meanings = {"v": "Running mean of the gradient's square."}

    lr: float
    beta1: float = 0.6
    beta2: float = 0.999
    epsilon: float = 1e-8
    t: int
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_grad: float = -1.0

    inputs = ("weight", "grad", "d", "v", "z")
    mutates = ("d", "v", "z")

    def rule(self, lr, wd, weight, grad, d, v, z):
        grad = clip_to(grad * single(self.rescale_grad) + wd * weight, self.clip_grad)
        v = follow(self.beta2, v, grad * grad)
        root = np.sqrt(v / (1 - power(weight, self.beta2, self.t)))
        new = (1 - power(weight, self.beta1, self.t)) / lr * (root + weight.dtype.type(self.epsilon))
        z = follow(self.beta1, z, grad) - (new - single(self.beta1) * d) * weight
        return -z / new, new, v, z


@op("rmsprop_update")
class RmspropUpdate(Update):
    """n follows the square of g = clip(rescale_grad * grad + wd * weight); weight - lr * g / sqrt(n + epsilon)."""

    lr: float
    gamma1: float = 0.95
    epsilon: float = 1e-8
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    clip_weights: float = -1.0

    inputs = ("weight", "grad", "n")
    mutates = ("n",)

    def rule(self, lr, wd, weight, grad, n):
        grad = clip_to(grad * single(self.rescale_grad) + wd * weight, self.clip_gradient)
        n = follow(self.gamma1, n, grad * grad)
        return clip_to(weight - lr * grad / np.sqrt(n + single(self.epsilon)), self.clip_weights), n


@op("rmspropalex_update")
class RmspropAlexUpdate(Update):
    """rmsprop_update with the square of the mean gradient taken off the mean square, and momentum (Graves, arXiv 1308.0850)."""

    lr: float
    gamma1: float = 0.95
    gamma2: float = 0.9
    epsilon: float = 1e-8
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    clip_weights: float = -1.0

    inputs = ("weight", "grad", "n", "g", "delta")
    mutates = ("n", "g", "delta")

    def rule(self, lr, wd, weight, grad, n, g, delta):
        grad = clip_to(grad * single(self.rescale_grad) + wd * weight, self.clip_gradient)
        n, g = follow(self.gamma1, n, grad * grad), follow(self.gamma1, g, grad)
        delta = single(self.gamma2) * delta - lr * grad / np.sqrt(n - g * g + single(self.epsilon))
        return clip_to(weight + delta, self.clip_weights), n, g, delta


@op("_sparse_adagrad_update")
class AdagradUpdate(Update):
    """history + g * g with g = clip(rescale_grad * grad), and weight - lr * g / sqrt(history + epsilon); without wd."""

    lr: float
    epsilon: float = 1e-7
    wd: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0

    inputs = ("weight", "grad", "history")
    mutates = ("history",)

    def check(self):
        return f"got wd={self.wd}, wanted 0: this update has no weight decay" if self.wd else None

    def rule(self, lr, wd, weight, grad, history):
        grad = scale_gradient(self, grad)
        history = history + grad * grad
        return weight - lr * grad / np.sqrt(history + single(self.epsilon)), history


@op("_contrib_group_adagrad_update")
class GroupAdagradUpdate(Update):
    """Adagrad with one history a row: the mean of g * g over the row. Shapes: (N, D), (N, D), (N, 1) -> (N, D)."""

    lr: float
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    epsilon: float = 1e-5

    inputs = ("weight", "grad", "history")
    mutates = ("history",)

    def infer_shape(self, weight, grad, history):
        want_rank(self, weight, 2, what="weight")
        return merge_all((weight, grad))

    def infer_input_shapes(self, shapes: Sequence[Any], outputs: Sequence[Any]):
        known = merge_all((*shapes[:2], *outputs))
        return [known, known, None if known is None else (known[0], 1)]

    def rule(self, lr, wd, weight, grad, history):
        grad = scale_gradient(self, grad)
        history = history + mean_over(grad * grad, 1, keepdims=True)
        return weight - lr * grad / np.sqrt(history + single(self.epsilon)), history

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 2), make.uniform(3, 2), make.uniform(3, 1, low=0.1), lr=0.1)


# -- LAMB -----------------------------------------------------------------------------------------------------------------


class LambPhase1(Update):
    """Base of the first phase: the step before it is scaled to the weight."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-6
    t: int
    bias_correction: bool = True
    wd: float
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0

    def rule(self, lr, wd, weight, grad, mean, var):
        return lamb_direction(self, wd, self.t, weight, grad, mean, var)


@op("lamb_update_phase1")
class LambUpdatePhase1(LambPhase1):
    """mean_hat / (sqrt(var_hat) + epsilon) + wd * weight: LAMB's step before it is scaled to the weight (arXiv 1904.00962)."""

    inputs = ("weight", "grad", "mean", "var")
    mutates = ("mean", "var")


@op("mp_lamb_update_phase1")
class MpLambUpdatePhase1(LambPhase1):
    """lamb_update_phase1 of a float32 weight; the step is float32."""

    inputs = ("weight", "grad", "mean", "var", "weight32")
    mutates = ("mean", "var")
    wide = (*mutates, "weight32")
    keeps = False

    def infer_type(self, *dtypes):
        return np.dtype(np.float32)


class LambPhase2(Update):
    """Base of the second phase: the weight after the step."""

    meanings = {
        "lower_bound": "Least norm of the weight; negative: none.",
        "upper_bound": "Greatest norm of the weight; negative: none.",
    }

    lr: float
    lower_bound: float = -1.0
    upper_bound: float = -1.0

    small = ("r1", "r2")

    def rule(self, lr, wd, weight, grad, r1, r2):
        return (lamb_scaled(self, lr, weight, grad, r1, r2),)


@op("lamb_update_phase2")
class LambUpdatePhase2(LambPhase2):
    """weight - lr * r1 / r2 * g: r1 is the norm of weight, kept within the bounds, r2 that of g (arXiv 1904.00962)."""

    inputs = ("weight", "g", "r1", "r2")


@op("mp_lamb_update_phase2")
class MpLambUpdatePhase2(LambPhase2):
    """lamb_update_phase2 of a float32 weight; the output is its rounded copy.

    MXNet 1.9.1 gives that copy and leaves the float32 weight as it was, so that training stands still; here it is written."""

    inputs = ("weight", "g", "r1", "r2", "weight32")
    mutates = ("weight32",)
    wide = ("g", "r1", "r2", "weight32")
