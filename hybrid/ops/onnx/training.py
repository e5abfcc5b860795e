"""Steps of optimizers (ai.onnx.preview.training). Inputs are the learning rate R, the number of updates T so far, then all tensors,
all their gradients and all their states; outputs all new tensors, then all new states."""

from typing import Any, ClassVar, Literal

import numpy as np

from ...core.attrs import Arity
from ...core.op import op
from ...core.shapes import merge_all
from ..common import narrow, want_one, widen
from .base import Standard

Array = np.ndarray


class OptimizerStep(Standard):
    """Base of the optimizers. Shapes: R and T scalars, then any, as many of each kind -> tensors and states."""

    norm_coefficient: float = 0.0
    num_args: Arity

    exception = "a step of training with several states, which no network is made of"

    inputs = ("*inputs",)
    states: ClassVar[int]
    """Number of states that a tensor has."""

    def check(self):
        kinds = 2 + self.states
        wrong = self.num_args < 2 + kinds or (self.num_args - 2) % kinds
        return f"got {self.num_args} inputs, wanted 2 and a multiple of {kinds}" if wrong else super().check()

    @property
    def tensors(self) -> int:
        """Number of tensors."""
        return (self.num_args - 2) // (2 + self.states)

    def output_names(self):
        return tuple(f"output{i}" for i in range(self.tensors * (1 + self.states)))

    def _results(self, given: Any) -> list[Any]:
        """Shapes or dtypes of the outputs: those of the tensors and the states."""
        rest, count = given[2:], self.tensors
        return [*rest[:count], *rest[2 * count :]]

    def shape(self, *shapes):
        for name, shape in zip(("R", "T"), shapes):
            want_one(self, shape, name)
        for i in range(self.tensors):
            merge_all(shapes[2 + i :: self.tensors])
        return self._results(shapes)

    def dtype(self, *dtypes):
        return self._results(dtypes)

    def update(self, rate: np.float64, count: int, x: Array, g: Array, states: list[Array]) -> list[Array]:
        """A tensor after the step, and its states. g is its gradient, with that of the norm."""
        raise NotImplementedError

    def meaning(self, rate, count, *rest):
        number, done = self.tensors, []
        rate, count = np.float64(rate.item()), int(count.item())  # NumPy's numbers, which may be divided by 0
        for i in range(number):
            x, g, *states = (widen(a) for a in rest[i::number])
            done.append(self.update(rate, count, x, self.norm_coefficient * x + g, states))
        found = [a for kind in zip(*done) for a in kind]
        return tuple(narrow(a, like.dtype) for a, like in zip(found, self._results((None, None, *rest))))

    def gradient(self, F, dy, *arrays):
        raise self.error("has no gradient")


@op("_onnx_training_Adagrad")
class Adagrad(OptimizerStep):
    """H + g^2; X - R / (1 + T decay_factor) g / (sqrt(H) + epsilon): see OptimizerStep.
    Source: ONNX Adagrad (ai.onnx.preview.training 1)."""

    decay_factor: float = 0.0
    epsilon: float = 1e-6

    states = 1

    def update(self, rate, count, x, g, states):
        total = states[0] + g * g
        rate = float(rate / (1 + count * self.decay_factor))
        return [x - rate * g / (np.sqrt(total) + self.epsilon), total]

    @classmethod
    def examples(cls, make):
        x, g, h = make.uniform(3, 2), make.uniform(3, 2), make.uniform(3, 2, low=0.5)
        yield make(make.array(0.1), make.array(2, "int64"), x, g, h, decay_factor=0.1, norm_coefficient=0.01)


@op("_onnx_training_Adam")
class Adam(OptimizerStep):
    """V = alpha V + (1 - alpha) g; H = beta H + (1 - beta) g^2; X - R V / (sqrt(H) + epsilon), where R is corrected for T steps;
    then the norm's share: see OptimizerStep.

    Source: ONNX Adam (ai.onnx.preview.training 1); Kingma and Ba 2014, arXiv:1412.6980."""

    alpha: float = 0.9
    beta: float = 0.999
    epsilon: float = 1e-6
    norm_coefficient_post: float = 0.0

    states = 2

    def update(self, rate, count, x, g, states):
        first = self.alpha * states[0] + (1 - self.alpha) * g
        second = self.beta * states[1] + (1 - self.beta) * g * g
        if count > 0:
            left = [1 - np.float64(factor) ** count for factor in (self.alpha, self.beta)]
            rate = rate * np.sqrt(left[1]) / left[0]
        x = x - float(rate) * first / (np.sqrt(second) + self.epsilon)
        return [(1 - self.norm_coefficient_post) * x, first, second]

    @classmethod
    def examples(cls, make):
        x, g, v, h = make.uniform(3, 2), make.uniform(3, 2), make.uniform(3, 2), make.uniform(3, 2, low=0.5)
        yield make(make.array(0.1), make.array(0, "int64"), x, g, v, h, norm_coefficient=0.01)


@op("_onnx_training_Momentum")
class Momentum(OptimizerStep):
    """V = alpha V + beta g, with 1 for beta in the first step; X - R V, or by Nesterov X - R (g + alpha V): see OptimizerStep.
    Source: ONNX Momentum (ai.onnx.preview.training 1)."""

    alpha: float
    beta: float
    mode: Literal["standard", "nesterov"]
    norm_coefficient: float  # which ONNX requires here

    states = 1

    def update(self, rate, count, x, g, states):
        speed = self.alpha * states[0] + (self.beta if count > 0 else 1.0) * g
        return [x - float(rate) * (speed if self.mode == "standard" else g + self.alpha * speed), speed]

    @classmethod
    def examples(cls, make):
        arrays = (
            make.array(0.1),
            make.array(2, "int64"),
            make.uniform(3, 2),
            make.uniform(2),
            make.uniform(3, 2),
            make.uniform(2),
        )
        for mode in ("standard", "nesterov"):
            yield make(
                *arrays, make.uniform(3, 2), make.uniform(2), alpha=0.9, beta=0.8, mode=mode, norm_coefficient=0.01
            )
