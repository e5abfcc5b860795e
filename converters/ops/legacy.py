"""Operators of no family."""

import numpy as np

from ..registry import exports


@exports("IdentityAttachKLSparseReg")
def export_identity_attach_kl_sparse_reg(b, op, data, moving_avg):
    return b.Identity(data)


@exports("_onehot_encode")
def export_onehot_encode(b, op, lhs, rhs):
    places = b.counting(b.size(rhs, 1))
    return b.cast(b.Equal(b.unsqueeze(b.cast(lhs, np.int64), [1]), places), rhs.dtype)


@exports("_contrib_allclose")
def export_contrib_allclose(b, op, a, c):
    x, y = (b.wide(v) if v.dtype.kind == "f" else b.cast(v, np.float32) for v in (a, c))
    limit = b.Add(b.Mul(b.Abs(y), op.rtol), op.atol)
    near = b.Or(b.LessOrEqual(b.Abs(b.Sub(x, y)), limit), b.Equal(x, y))
    if op.equal_nan:
        near = b.Or(near, b.And(b.IsNaN(x), b.IsNaN(y)))
    far = b.reduce("Sum", b.cast(b.Not(near), np.int64), None, keepdims=False)
    return b.cast(b.Equal(far, 0), np.uint8)
