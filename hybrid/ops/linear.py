"""Matrix products: FullyConnected, dot, batch_dot and their kin."""

import math

import numpy as np

from ..op import Op, op
from .common import widen


@op("FullyConnected", "_npx_fully_connected", "_sparse_FullyConnected")
class FullyConnected(Op):
    """data @ weight.T + bias, over the last axis, or with flatten over all axes but the first.

    Shapes: data (N, ...), weight (num_hidden, K), bias (num_hidden,) -> (N, num_hidden), or (..., num_hidden) unflattened.
    """

    num_hidden: int
    no_bias: bool = False
    flatten: bool = True

    inputs = ("data", "weight", "bias")

    def takes(self):
        return self.inputs[: 2 if self.no_bias else 3]

    def infer_input_shapes(self, shapes, outputs):
        data, weight, *bias = shapes
        if data is not None:
            weight = (self.num_hidden, math.prod(data[1:]) if self.flatten else data[-1])
        return [data, weight, *((self.num_hidden,) for _ in bias)]

    def infer_shape(self, data, weight, *bias):
        return (*(data[:1] if self.flatten else data[:-1]), self.num_hidden)

    def compute(self, data, weight, *bias):
        x = data.reshape(len(data), math.prod(data.shape[1:])) if self.flatten else data
        y = widen(x) @ widen(weight).T
        if bias:
            y += bias[0]
        return y.astype(data.dtype, copy=False)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 2, 4), make.uniform(3, 8), make.uniform(3), num_hidden=3)
        yield make(make.uniform(2, 2, 4), make.uniform(3, 4), make.uniform(3), num_hidden=3, flatten=False)
        yield make(make.uniform(2, 4), make.uniform(3, 4), num_hidden=3, no_bias=True)
