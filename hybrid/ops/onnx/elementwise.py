"""Functions of one element and their kin that MXNet lacks."""

import numpy as np

from ...op import op
from ..common import narrow, widen
from .base import Pointwise


@op("_onnx_Mish")
class Mish(Pointwise):
    """x * tanh(log(1 + exp(x))). Source: ONNX Mish (opset 18 to newest); Misra, "Mish: A Self Regularized Neural Activation Function", 2019."""

    def meaning(self, x):
        wide = widen(x)
        return narrow(wide * np.tanh(np.logaddexp(wide, 0)), x.dtype)

    def gradient(self, F, dy, x, y):
        t = F.tanh(F.Activation(x, act_type="softrelu"))
        return dy * (t + x * (1 - t * t) * F.sigmoid(x))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4, low=-3, high=3))
