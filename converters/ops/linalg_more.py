"""Packed triangles as Gather, products with triangles as MatMul; ONNX has no decompositions."""

import numpy as np

from hybrid.ops.linalg_more import places

from ..registry import not_exported, to_onnx
from .linear import exchanged


@to_onnx("_linalg_extracttrian")
def _(b, op, a):
    size = a.static[-1]
    rows, columns = places(size, op.offset, op.lower)
    flat = b.reshape(a, [*a.static[:-2], size * size])
    return b.Gather(flat, b.const(rows * size + columns), axis=a.rank - 2)


@to_onnx("_linalg_maketrian")
def _(b, op, a):
    size = op.infer_shape(a.static)[-1]
    table = np.zeros((size, size), np.int64)  # 0: the zero in front
    table[places(size, op.offset, op.lower)] = np.arange(1, a.static[-1] + 1)
    padded = b.Pad(a, [*[0] * (a.rank - 1), 1, *[0] * a.rank])
    return b.Gather(padded, b.const(table), axis=a.rank - 1)


@to_onnx("_linalg_trmm", since=14)
def _(b, op, a, lhs):
    t = b.Trilu(exchanged(b, a, op.transpose), upper=int(op.lower == op.transpose))
    y = b.MatMul(lhs, t) if op.rightside else b.MatMul(t, lhs)
    return y if op.alpha == 1 else b.Mul(y, op.alpha)


not_exported("ONNX solves no equations", "_linalg_trsm", "_linalg_potri")
not_exported("ONNX has no decomposition of matrices", "_linalg_syevd", "_linalg_gelqf")
not_exported("ONNX has the determinant only, which overflows where its logarithm does not", "_linalg_slogdet")
