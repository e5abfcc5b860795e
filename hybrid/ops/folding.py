"""Operators that the passes of graph/passes write over parameters, so that weights take up what follows them: computed once.

They compute in float64 and round once."""

import numpy as np

from ..op import Op, op

FLOAT64 = np.dtype(np.float64)


@op("_fused_affine")
class Affine(Op):
    """The factor and the summand that BatchNorm with fixed statistics is: (gamma, beta, mean, var), each (C,) -> scale and shift,
    each (C, 1, ...) with so many ``trailing`` ones, float64 or with ``narrow`` of gamma's dtype."""

    eps: float
    fix_gamma: bool
    trailing: int = 0
    narrow: bool = False

    inputs = ("gamma", "beta", "mean", "var")

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def returns(self):
        return ("scale", "shift")

    def infer_shape(self, gamma, *rest):
        return [(*gamma, *(1,) * self.trailing)] * 2

    def infer_type(self, gamma, *rest):
        return [gamma if self.narrow else FLOAT64] * 2

    def compute(self, gamma, beta, mean, var):
        scale = 1 / np.sqrt(var.astype(FLOAT64) + float(var.dtype.type(self.eps)))
        if not self.fix_gamma:
            scale *= gamma
        shift = beta - mean * scale
        shape, dtype = self.infer_shape(gamma.shape)[0], self.infer_type(gamma.dtype)[0]
        return scale.reshape(shape).astype(dtype, copy=False), shift.reshape(shape).astype(dtype, copy=False)

    @classmethod
    def examples(cls, make):
        parameters = [make.uniform(3), make.uniform(3), make.uniform(3), make.uniform(3, low=0.5, high=1.5)]
        yield make(*parameters, eps=1e-3, fix_gamma=False)
        yield make(*parameters, eps=1e-3, fix_gamma=True, trailing=2, narrow=True)


@op("_fused_scaled")
class Scaled(Op):
    """weight (num_filter, ...) with every filter times its scale, (num_filter,). transposed: weight is that of Deconvolution,
    (channels, num_filter / num_group, ...)."""

    num_group: int = 1
    transposed: bool = False

    inputs = ("weight", "scale")

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def infer_shape(self, weight, scale):
        return weight

    def infer_type(self, weight, scale):
        return weight

    def compute(self, weight, scale):
        if not self.transposed:
            y = weight * scale.astype(FLOAT64).reshape(-1, *(1,) * (weight.ndim - 1))
        else:
            groups = weight.reshape(self.num_group, -1, *weight.shape[1:])
            y = groups * scale.astype(FLOAT64).reshape(self.num_group, 1, -1, *(1,) * (weight.ndim - 2))
        return y.reshape(weight.shape).astype(weight.dtype)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 3, 2, 2), make.uniform(4))
        yield make(make.uniform(4, 3, 2, 2), make.uniform(6), num_group=2, transposed=True)


@op("_fused_shifted")
class Shifted(Op):
    """bias times scale plus shift, all (num_filter,); in bias's dtype."""

    inputs = ("bias", "scale", "shift")

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def infer_shape(self, bias, *rest):
        return bias

    def infer_type(self, bias, *rest):
        return bias

    def compute(self, bias, scale, shift):
        return (bias * scale.astype(FLOAT64) + shift).astype(bias.dtype)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4), make.uniform(4), make.uniform(4))
