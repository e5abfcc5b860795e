"""Normalization that exists inside compiled graphs only: the pass fuse_layer_norm writes it."""

import numpy as np

from ..core.op import Op, op
from ..core.shapes import merge
from .common import want_rank_from


@op("_fused_rms_norm")
class RMSNorm(Op):
    """data divided by the root of the mean of its squares (and eps) along the last axis, times gamma. Shapes: (..., N), (N,) ->
    (..., N). Source: Zhang and Sennrich 2019, arXiv:1910.07467."""

    eps: float = 1e-5

    inputs = ("data", "gamma")

    def infer_shape(self, data, gamma):
        want_rank_from(self, data, 1)
        merge(gamma, data[-1:])
        return data

    def compute(self, data, gamma):
        mean = np.square(data).mean(-1, keepdims=True)
        return (data / np.sqrt(mean + data.dtype.type(self.eps)) * gamma).astype(data.dtype, copy=False)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 37), make.uniform(37), eps=0.1)
        yield make(make.uniform(4), make.uniform(4))
