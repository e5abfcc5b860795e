"""Constants that belong to the graph, not to its parameters."""

import numpy as np

from ...core.op import op
from .base import Standard


@op("_onnx_Constant")
class Constant(Standard):
    """A small tensor that is part of the graph: a shape, axes, a threshold, words. Source: ONNX Constant (opset 1 to newest)."""

    primitive = True
    value: np.ndarray

    exception = "holds its numbers as an attribute"

    inputs = ()

    def shape(self):
        return self.value.shape

    def dtype(self):
        return self.value.dtype

    def meaning(self):
        return self.value.copy()

    def gradient(self, F, dy, y):
        return []

    @classmethod
    def examples(cls, make):
        yield make(value=make.array([[1.5, -2], [0.1, 3]]))
        yield make(value=make.array(7, "int64"))
