"""Matrix products as MatMul and Gemm."""

import math

from hybrid.core.shapes import UNKNOWN, is_known

from ..error import Unsupported
from ..registry import exports, imports
from .binary import ADD, MULTIPLY
from .elementwise import holds_floats, is_short


@exports("FullyConnected")
def export_fully_connected(b, op, data, weight, bias=None):
    if data.rank == 2:
        return b.Gemm(data, weight, bias, transB=1)
    if op.flatten:
        return b.Gemm(b.Flatten(data), weight, bias, transB=1)
    y = b.MatMul(data, b.transpose(weight, [1, 0]))
    return y if bias is None else b.Add(y, bias)


LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def einsum(b, equation, *arrays):
    """ONNX's Einsum. Raises Unsupported where onnxruntime 1.32 may end the process: arrays of size 0, but matrices."""
    shapes = [x.shape or () for x in arrays]
    if any(len(s) > 2 for s in shapes) and any(d is not UNKNOWN and d == 0 for s in shapes for d in s):
        raise Unsupported("a product of nothing: onnxruntime divides by its size; give arrays of other sizes")
    return b.Einsum(*arrays, equation=equation)


def product(b, lhs, rhs):
    """MatMul, with a vector on its right as a column: of a transposed array and a vector onnxruntime 1.32 makes a FusedMatMul that
    gives other numbers, also where it has moved that Transpose there itself."""
    if rhs.rank != 1 or lhs.rank == 1:
        return b.MatMul(lhs, rhs)
    return b.squeeze(b.MatMul(lhs, b.unsqueeze(rhs, [1])), [-1])


def contract(b, lhs, rhs, left_axes, right_axes):
    """The sum over pairs of axes, listed for lhs and for rhs: MatMul where that is what it means, else Einsum."""
    if left_axes == [lhs.rank - 1] and rhs.rank <= 2:
        return b.MatMul(lhs, b.transpose(rhs, [1, 0])) if right_axes == [1] else product(b, lhs, rhs)
    left, right = list(LETTERS[: lhs.rank]), list(LETTERS[lhs.rank : lhs.rank + rhs.rank])
    for i, j in zip(left_axes, right_axes):
        right[j] = left[i]
    out = [c for c in (*left, *right) if (c in left) != (c in right)]
    return einsum(b, f"{''.join(left)},{''.join(right)}->{''.join(out)}", lhs, rhs)


@exports("dot")
def export_dot(b, op, lhs, rhs):
    i, j = op.axes(lhs.rank, rhs.rank)
    y = contract(b, lhs, rhs, [i], [j])
    return b.reshape(y, [1]) if lhs.rank == rhs.rank == 1 else y


@exports("_np_dot")
def export_np_dot(b, op, lhs, rhs):
    if not lhs.rank or not rhs.rank:
        return b.Mul(lhs, rhs)
    return contract(b, lhs, rhs, [lhs.rank - 1], [max(0, rhs.rank - 2)])


def swap_last(b, x, swap):
    """x with its last two axes exchanged if asked."""
    return b.transpose(x, [*range(x.rank - 2), x.rank - 1, x.rank - 2]) if swap else x


@exports("batch_dot")
def export_batch_dot(b, op, lhs, rhs):
    return b.MatMul(swap_last(b, lhs, op.transpose_a), swap_last(b, rhs, op.transpose_b))


@exports("_npi_matmul")
def export_np_matmul(b, op, lhs, rhs):
    return product(b, lhs, rhs)


@exports("_linalg_gemm", "_linalg_gemm2")
def export_linalg_gemm(b, op, lhs, rhs, plus=None):
    row, last = op.axis % lhs.rank, lhs.rank - 1
    front = [i for i in range(last) if i != row]
    rows, columns = ([row, last], [last, row])
    y = b.MatMul(
        b.transpose(lhs, front + (columns if op.transpose_a else rows)),
        b.transpose(rhs, front + (columns if op.transpose_b else rows)),
    )
    order = [*front, row, last]
    y = b.transpose(y, [order.index(i) for i in range(lhs.rank)])
    if op.alpha != 1:
        y = b.Mul(y, op.alpha)
    return y if plus is None else b.Add(y, plus if op.beta == 1 else b.Mul(plus, op.beta))


def parts(b, op, x, count, *wanted):
    """Of (T, N, heads * count * D), the parts of these numbers, each as (N, heads, T, D)."""
    width = x.dim(2) // (op.heads * count)
    sizes = [-1 if d is UNKNOWN else d for d in x.shape[:2]]
    if count == 1:
        pieces, back = [x], [0, 0]
    elif sizes == [-1, -1]:
        pieces, back = b.split(b.reshape(x, [0, 0, op.heads, count, width]), [1] * count, axis=3), [0, 0]
    else:  # no more than four axes, which is what some runtimes have
        pieces, back = b.split(b.reshape(x, [-1, op.heads, count, width]), [1] * count, axis=2), sizes
    return [b.transpose(b.reshape(pieces[i], [*back, op.heads, width]), [1, 2, 0, 3]) for i in wanted]


def attention_scores(b, op, queries, keys, t, s):
    """(N * heads, T, S) from (N, heads, T, D) and (N, heads, S, D), D being the width of a head."""
    return join_heads(b, op, b.MatMul(queries, b.transpose(keys, [0, 1, 3, 2])), t, s)


def join_heads(b, op, product, t, s):
    """(N * heads, T, S) from (N, heads, T, S)."""
    if isinstance(t, int) and isinstance(s, int):
        return b.reshape(product, [-1, t, s])
    # beside a -1 a size that turns out to be 0 could not be said
    batch = b.Mul(b.shape_of(product, 0), [op.heads])
    return b.reshape(product, b.dims(batch, t, s), allowzero=b.since(14))


def attention_values(b, op, attention, values, width):
    """(T, N, heads * D) from (N * heads, T, S) and (N, heads, S, D)."""
    weights = b.reshape(attention, b.dims(-1, op.heads, b.size(attention, 1), b.size(attention, 2)))
    mixed = b.transpose(b.MatMul(weights, values), [2, 0, 1, 3])
    return b.reshape(mixed, [0, 0, width])


@exports("_contrib_interleaved_matmul_selfatt_qk")
def export_contrib_interleaved_matmul_selfatt_qk(b, op, qkv):
    queries, keys = parts(b, op, qkv, 3, 0, 1)
    t = b.size(qkv, 0)
    return attention_scores(b, op, b.Div(queries, math.sqrt(qkv.dim(2) // (op.heads * 3))), keys, t, t)


@exports("_contrib_interleaved_matmul_selfatt_valatt")
def export_contrib_interleaved_matmul_selfatt_valatt(b, op, qkv, attention):
    (values,) = parts(b, op, qkv, 3, 2)
    return attention_values(b, op, attention, values, qkv.dim(2) // 3)


@exports("_contrib_interleaved_matmul_encdec_qk")
def export_contrib_interleaved_matmul_encdec_qk(b, op, queries, keys_values):
    (own,), (keys,) = parts(b, op, queries, 1, 0), parts(b, op, keys_values, 2, 0)
    scaled = b.Div(own, math.sqrt(queries.dim(2) // op.heads))
    return attention_scores(b, op, scaled, keys, b.size(queries, 0), b.size(keys_values, 0))


@exports("_contrib_interleaved_matmul_encdec_valatt")
def export_contrib_interleaved_matmul_encdec_valatt(b, op, keys_values, attention):
    (values,) = parts(b, op, keys_values, 2, 1)
    return attention_values(b, op, attention, values, keys_values.dim(2) // 2)


# -- reading -------------------------------------------------------------------------------------------------------------


@imports("MatMul")
def import_mat_mul(g, a, b):
    if a.shape is not None and b.shape is not None:
        if len(a.shape) >= 2 and len(b.shape) == 2:
            return g.dot(a, b)
        same = len(a.shape) == len(b.shape) == 3 and a.shape[0] is not UNKNOWN and b.shape[0] is not UNKNOWN
        if same and a.shape[0] == b.shape[0]:
            return g.batch_dot(a, b)
    return g.apply("_npi_matmul", a, b)


def _gemm(g, a, b, c, alpha, beta, left, right):
    """alpha * a @ b + beta * c; left and right say whether a and b are transposed first."""
    for name, value in (("A", a), ("B", b)):
        if value.shape is not None and value.rank != 2:
            raise Unsupported(f"got {name} of {value.rank} dimensions, wanted 2; reshape it first")
    if not holds_floats(a) or is_short(a):  # whole numbers have to be cut off, and halves rounded, once
        given = () if c is None else ("C",)
        inputs = [x for x in (a, b, c) if x is not None]
        return g.apply("_onnx_Gemm", *inputs, alpha=alpha, beta=beta, transA=left, transB=right, given=given)
    size = None if b.shape is None else b.shape[0 if right else 1]
    plain = alpha == 1 and right and not left and size is not None and size is not UNKNOWN
    if plain and (c is None or (beta == 1 and c.shape is not None and is_known(c.shape) and c.shape == (size,))):
        return g.FullyConnected(a, b, *([] if c is None else [c]), num_hidden=size, no_bias=c is None)
    y = g.dot(a, b, transpose_a=left, transpose_b=right)
    if alpha != 1:
        y = MULTIPLY(g, y, g.const(alpha, a.dtype))
    if c is None:
        return y
    return ADD(g, y, c if beta == 1 else MULTIPLY(g, c, g.const(beta, a.dtype)))


@imports("Gemm")
def import_gemm_first(g, a, b, c, *, alpha=1.0, beta=1.0, broadcast=0, transA=0, transB=0):  # noqa: N803  ONNX's names
    return _gemm(g, a, b, c, alpha, beta, bool(transA), bool(transB))


@imports("Gemm", since=7)
def import_gemm_since_7(g, a, b, c=None, *, alpha=1.0, beta=1.0, transA=0, transB=0):  # noqa: N803
    return _gemm(g, a, b, c, alpha, beta, bool(transA), bool(transB))
