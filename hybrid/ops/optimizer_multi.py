"""Update operators for several weights at once: the rules of optimizer.py, one weight after the other.

Their inputs come weight by weight: weight_0, grad_0, its states, weight_1 ...
"""

from typing import Any, ClassVar

import numpy as np

from ..core.attrs import Arity, Floats, Shape
from ..core.forking import cached_property
from ..core.op import WHOLE, Op, op
from ..core.shapes import merge_all
from . import updating
from .common import widen
from .optimizer import Writer, adamw, lamb_direction, lamb_scaled, sgd, sgd_momentum, single


class MultiUpdate(Writer):
    """Base. ``block`` names the inputs of one weight, ``tail`` those behind all of them; states wide as in Update."""

    meanings = {"*data": "For each weight in turn: the weight, its gradient, its states."}

    exception = "writes to weights and states in place"

    inputs = ("*data",)
    count = ""  # what counts is the number of weights, which MXNet wants said
    counter: ClassVar[str] = "num_weights"
    refuses = WHOLE
    block: ClassVar[Any] = ()
    wide: ClassVar[Any] = ()
    tail: ClassVar[Any] = ()
    tail_size: ClassVar[int | None] = None
    """Number of elements of an array of the tail; None: one for each weight."""

    @property
    def weights(self) -> int:
        """Number of weights."""
        return getattr(self, self.counter)

    def input_names(self):
        return (*(f"{n}_{i}" for i in range(self.weights) for n in self.block), *self.tail)

    def output_names(self):
        return ("output",) if self.weights == 1 else tuple(f"output{i}" for i in range(self.weights))

    @cached_property
    def mutates(self):  # type: ignore[override]  # an instance knows how many states it has
        return tuple(f"{n}_{i}" for i in range(self.weights) for n in self.block[2:])

    def blocks(self, values: Any) -> list[Any]:
        """The values of each weight."""
        size = len(self.block)
        return [values[i * size : (i + 1) * size] for i in range(self.weights)]

    def check(self):
        wrong = [
            f"got {n}={getattr(self, n)}, wanted {self.weights} numbers"
            for n in ("lrs", "wds", "etas", "learning_rates", "step_count")
            if n in self.fields and len(getattr(self, n)) != self.weights
        ]
        return "; ".join(wrong) or None

    def infer_shape(self, *shapes):
        got = [merge_all(block) for block in self.blocks(shapes)]
        return got if len(got) > 1 else got[0]

    def infer_input_shapes(self, shapes, outputs):
        sizes = [self.weights if self.tail_size is None else self.tail_size] * len(self.tail)
        known = [merge_all((*block, out)) for block, out in zip(self.blocks(shapes), outputs)]
        return [*(s for s in known for _ in self.block), *((size,) for size in sizes)]

    def infer_input_types(self, dtypes, outputs):
        wide = np.dtype(np.float32)
        filled = []
        for block, out in zip(self.blocks(dtypes), outputs):
            narrow = [d for d, n in zip(block, self.block) if n not in self.wide]
            same = iter(super().infer_input_types(narrow, [out]))
            filled += [wide if n in self.wide else next(same) for n in self.block]
        return [*filled, *(wide for _ in self.tail)]

    def infer_type(self, *dtypes):
        got = [block[0] for block in self.blocks(dtypes)]
        return got if len(got) > 1 else got[0]

    def one(self, i, more, weight, grad, *states):
        """One step of weight i: (new weight, *new states). more: the tail, then the weight that came first in the block."""
        raise NotImplementedError

    rule: ClassVar[str] = ""
    """The name that updating.py knows the rule by."""

    def rates(self, i, tail):
        """lr and wd of weight i."""
        return self.lrs[i], self.wds[i]  # type: ignore[attr-defined]

    def compute_into(self, arrays, outs):
        if not self.rule or self.block != ("weight", "grad", *updating.RULES[self.rule].states):
            return False
        tail = arrays[len(arrays) - len(self.tail) :]
        blocks = enumerate(zip(self.blocks(arrays), outs))
        return updating.update(
            self.rule, self, [updating.WeightUpdate(*self.rates(i, tail), b, o) for i, (b, o) in blocks]
        )

    def compute(self, *arrays):
        tail = arrays[len(arrays) - len(self.tail) :]
        place = self.block.index("weight32") if "weight32" in self.block else None
        results = []
        for i, block in enumerate(self.blocks(arrays)):
            given = list(block)
            master = None if place is None else given.pop(place)
            weight, grad, *states = map(widen, given)
            if master is not None:
                weight, grad = master, grad.astype(np.float32, copy=False)
            new, *changed = self.one(i, (*tail, block[0]), weight, grad, *states)
            for state, value in zip(given[2:], changed):
                state[...] = value
            if master is not None:
                master[...] = new
            results.append(new.astype(block[0].dtype, copy=False))
        return tuple(results)

    @classmethod
    def examples(cls, make):
        half = "weight32" in cls.block
        arrays = [
            make.uniform(*shape, low=0.1, dtype="float16" if half and n not in cls.wide else "float32")
            for shape in ((2, 3), (4,))
            for n in cls.block
        ]
        tail = [make.uniform(2 if cls.tail_size is None else cls.tail_size, low=0.1) for _ in cls.tail]
        rates = {n: (0.1, 0.2) for n in ("lrs", "wds", "etas", "learning_rates") if n in cls.fields}
        steps = {"step_count": (1, 2)} if "step_count" in cls.fields else {}
        yield make(*arrays, *tail, **rates, **steps, **{cls.counter: 2})


# -- gradient descent -----------------------------------------------------------------------------------------------------


class MultiSgd(MultiUpdate):
    """Base of those whose rates are attributes."""

    lrs: Floats
    wds: Floats
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    num_weights: Arity = 1

    block = ("weight", "grad")
    rule = "sgd"

    def one(self, i, more, weight, grad, *states):
        return sgd(self, single(self.lrs[i]), single(self.wds[i]), weight, grad)


class MultiSgdMom(MultiUpdate):
    """Base of those with momentum whose rates are attributes."""

    lrs: Floats
    wds: Floats
    momentum: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    num_weights: Arity = 1

    block = ("weight", "grad", "mom")
    rule = "sgd_momentum"

    def one(self, i, more, weight, grad, mom):
        return sgd_momentum(self, single(self.lrs[i]), single(self.wds[i]), weight, grad, mom)


@op("multi_sgd_update")
class MultiSgdUpdate(MultiSgd):
    """sgd_update of several weights, each with its lr and wd."""


@op("multi_mp_sgd_update")
class MultiMpSgdUpdate(MultiSgd):
    """mp_sgd_update of several weights, each with its lr and wd."""

    block = ("weight", "grad", "weight32")
    wide = ("weight32",)


@op("multi_sgd_mom_update")
class MultiSgdMomUpdate(MultiSgdMom):
    """sgd_mom_update of several weights, each with its lr and wd."""


@op("multi_mp_sgd_mom_update")
class MultiMpSgdMomUpdate(MultiSgdMom):
    """mp_sgd_mom_update of several weights, each with its lr and wd."""

    block = ("weight", "grad", "mom", "weight32")
    wide = ("mom", "weight32")


class PreloadedSgd(MultiUpdate):
    """Base of those whose rates are arrays."""

    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    num_weights: Arity = 1

    block = ("weight", "grad")
    tail = ("lrs", "wds")
    rule = "sgd"

    def rates(self, i, tail):
        return tail[0][i], tail[1][i]

    def one(self, i, more, weight, grad, *states):
        return sgd(self, more[0][i], more[1][i], weight, grad)


class PreloadedSgdMom(MultiUpdate):
    """Base of those with momentum whose rates are arrays."""

    momentum: float = 0.0
    rescale_grad: float = 1.0
    clip_gradient: float = -1.0
    num_weights: Arity = 1

    block = ("weight", "grad", "mom")
    tail = ("lrs", "wds")
    rule = "sgd_momentum"

    def rates(self, i, tail):
        return tail[0][i], tail[1][i]

    def one(self, i, more, weight, grad, mom):
        return sgd_momentum(self, more[0][i], more[1][i], weight, grad, mom)


@op("preloaded_multi_sgd_update")
class PreloadedMultiSgdUpdate(PreloadedSgd):
    """sgd_update of several weights; lrs and wds are float32 arrays, one number for each weight."""


@op("preloaded_multi_mp_sgd_update")
class PreloadedMultiMpSgdUpdate(PreloadedSgd):
    """mp_sgd_update of several weights; lrs and wds are float32 arrays, one number for each weight."""

    block = ("weight", "grad", "weight32")
    wide = ("weight32",)


@op("preloaded_multi_sgd_mom_update")
class PreloadedMultiSgdMomUpdate(PreloadedSgdMom):
    """sgd_mom_update of several weights; lrs and wds are float32 arrays, one number for each weight."""


@op("preloaded_multi_mp_sgd_mom_update")
class PreloadedMultiMpSgdMomUpdate(PreloadedSgdMom):
    """mp_sgd_mom_update of several weights; lrs and wds are float32 arrays, one number for each weight."""

    block = ("weight", "grad", "mom", "weight32")
    wide = ("mom", "weight32")


# -- AdamW and LAMB ---------------------------------------------------------------------------------------------------------


class MultiAdamw(MultiUpdate):
    """Base of AdamW; as for one weight, a rescale_grad that is zero or not finite changes nothing."""

    lrs: Floats
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    wds: Floats
    etas: Floats
    clip_gradient: float = -1.0
    num_weights: Arity = 1

    block = ("weight", "grad", "mean", "var")
    tail = ("rescale_grad",)
    tail_size = 1

    def one(self, i, more, weight, grad, mean, var):
        scale = more[0][0]
        if scale == 0 or not np.isfinite(scale):
            return weight, mean, var
        lr, wd = single(self.lrs[i]), single(self.wds[i])
        return adamw(self, lr, wd, weight, grad, mean, var, eta=self.etas[i], scale=scale)


@op("_multi_adamw_update")
class MultiAdamwUpdate(MultiAdamw):
    """_adamw_update of several weights, each with its lr, wd and eta; rescale_grad has the dtype of the weights.

    MXNet reads it as float32 whatever it is, and so changes nothing in float64."""

    def infer_input_types(self, dtypes, outputs):
        filled = super().infer_input_types(dtypes, outputs)
        return [*filled[:-1], filled[0]]


@op("_multi_mp_adamw_update")
class MultiMpAdamwUpdate(MultiAdamw):
    """_mp_adamw_update of several weights, each with its lr, wd and eta."""

    block = ("weight", "grad", "mean", "var", "weight32")
    wide = ("mean", "var", "weight32")


def norm(array: Any) -> Any:
    """The Euclidean norm as MXNet takes it here: squares in the array's dtype, added in float32 or wider."""
    return np.sqrt(widen(np.square(array)).sum())


class MultiLamb(MultiUpdate):
    """Base of LAMB: both phases, each weight with its own count of steps."""

    meanings = {
        "lower_bound": "Least norm of a weight; negative: none.",
        "upper_bound": "Greatest norm of a weight; negative: none.",
    }

    learning_rates: Floats
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-6
    wds: Floats
    rescale_grad: float = 1.0
    lower_bound: float = -1.0
    upper_bound: float = -1.0
    clip_gradient: float = -1.0
    bias_correction: bool = True
    step_count: Shape
    num_tensors: Arity = 1

    block = ("weight", "grad", "mean", "var")
    counter = "num_tensors"

    def one(self, i, more, weight, grad, mean, var):
        step, mean, var = lamb_direction(self, single(self.wds[i]), self.step_count[i], weight, grad, mean, var)
        return lamb_scaled(self, single(self.learning_rates[i]), weight, step, norm(more[-1]), norm(step)), mean, var


@op("_multi_lamb_update")
class MultiLambUpdate(MultiLamb):
    """LAMB's update of several weights, each with its learning rate, wd and count of steps (arXiv 1904.00962)."""


@op("_multi_mp_lamb_update")
class MultiMpLambUpdate(MultiLamb):
    """_multi_lamb_update of float32 weights; the outputs are their rounded copies."""

    block = ("weight", "grad", "mean", "var", "weight32")
    wide = ("mean", "var", "weight32")


# -- for all weights of a network ---------------------------------------------------------------------------------------------


@op("multi_lars")
class MultiLars(Op):
    """lr * eta * |weight| / (|grad| + wd * |weight| + eps) for each layer; lr where a norm is zero (LARS, arXiv 1708.03888).

    Shapes: lrs, weights_sum_sq, grads_sum_sq, wds (n,) -> (n,).
    """

    meanings = {
        "eta": "Part of the weight's norm that a step is as long as.",
        "eps": "Number that is added to the denominator, against division by 0.",
    }

    eta: float
    eps: float
    rescale_grad: float = 1.0

    exception = "writes to weights and states in place"

    inputs = ("lrs", "weights_sum_sq", "grads_sum_sq", "wds")

    def infer_shape(self, *shapes):
        return merge_all(shapes)

    def infer_input_shapes(self, shapes, outputs):
        return [merge_all((*shapes, *outputs))] * len(shapes)

    def compute(self, lrs, weights_sum_sq, grads_sum_sq, wds):
        weights = np.sqrt(weights_sum_sq)
        grads = np.sqrt(grads_sum_sq) * single(self.rescale_grad)
        some = (weights > 0) & (grads > 0)
        bottom = np.where(some, grads + wds * weights + single(self.eps), 1)
        return np.where(some, lrs * single(self.eta) * weights / bottom, lrs).astype(lrs.dtype, copy=False)

    @classmethod
    def examples(cls, make):
        yield make(*(make.uniform(3, low=0.1) for _ in range(4)), eta=0.01, eps=1e-3)


@op("reset_arrays")
class ResetArrays(Writer):
    """Every array becomes zeros. They are the outputs too, where MXNet has none."""

    num_arrays: Arity

    exception = "writes to weights and states in place"

    inputs = ("*data",)
    count = "num_arrays"

    @cached_property
    def mutates(self):  # type: ignore[override]  # an instance knows how many arrays it has
        return self.input_names()

    def output_names(self):
        return tuple(f"output{i}" for i in range(self.num_arrays))

    def infer_shape(self, *shapes):
        return [*shapes] if self.num_arrays > 1 else shapes[0]

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def infer_type(self, *dtypes):
        return [*dtypes] if self.num_arrays > 1 else dtypes[0]

    def compute(self, *arrays):
        for array in arrays:
            array[...] = 0
        return tuple(np.zeros_like(a) for a in arrays)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3), make.uniform(4))
