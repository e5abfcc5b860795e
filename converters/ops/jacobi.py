"""Eigenvalues of symmetric matrices and singular values, by Jacobi's rotations in a Loop.

Each step turns half as many pairs of rows as there are, at once, in the order of a round-robin tournament; sweeps of all pairs
are repeated until what is off the diagonal is below an epsilon of the largest element (eigenvalues), or rows are
orthogonal to 16 epsilons (singular values), which takes 5 to 10 sweeps. Errors are a small multiple of N epsilons of the norm.
Vectors of values that are (nearly) equal are any orthonormal basis of their space, here and in LAPACK; signs are MXNet's.

Source: Golub, Van Loan, Matrix Computations, 8.5; Brent, Luk 1985, SIAM J. Sci. Stat. Comput. 6.
"""

import numpy as np

from hybrid.core.op import Spec
from hybrid.core.shapes import UNKNOWN

from .solving import COUNTER, GOING, identity, row_numbers, transpose_matrices, with_shape_of

SWEEPS = 24
"""At most so many; then what has been reached is taken."""


def epsilon(x):
    """The distance from 1 to the next number of its dtype."""
    return float(np.finfo(x.dtype).eps)


def tournament_rounds(b, n):
    """Number of rounds that a tournament of n has: n, or one more when that is even. A number or a 1-D tensor, as n."""
    return n | 1 if isinstance(n, int) else b.Add(b.Mul(b.Div(n, 2), 2), 1)


def rotation(b, gram, rank, k, n, turns):
    """(J, pairs): rotations J that make the elements of J^T gram J for pairs of step k vanish; True where these are."""
    rows, columns = row_numbers(b, n)
    partner = b.Mod(b.Sub(k, columns), turns)
    partner = b.Where(b.Less(partner, n if not isinstance(n, int) else b.const(n)), partner, columns)
    alone = b.Equal(partner, columns)
    same = b.Equal(rows, columns)
    pairs = b.And(b.Equal(b.unsqueeze(partner, [1]), columns), b.Not(same))
    none, one, minus = b.like(0, gram), b.like(1, gram), b.like(-1, gram)
    own = b.reduce("Sum", b.Where(same, gram, none), [rank - 1], keepdims=False)
    others = b.Gather(own, partner, axis=rank - 2)
    between = b.reduce("Sum", b.Where(pairs, gram, none), [rank - 1], keepdims=False)
    still = b.Or(alone, b.Equal(between, none))
    half = b.Div(b.Sub(others, own), b.Mul(b.Where(still, one, between), b.like(2, gram)))
    # of a pair of equals the first turns one way and the second the other
    back = b.Or(b.Less(half, none), b.And(b.Equal(half, none), b.Less(partner, columns)))
    length = b.Add(b.Abs(half), b.Sqrt(b.Add(b.Mul(half, half), one)))
    tangent = b.Where(still, none, b.Div(b.Where(back, minus, one), length))
    cosine = b.Reciprocal(b.Sqrt(b.Add(b.Mul(tangent, tangent), one)))
    sine = b.unsqueeze(b.Mul(tangent, cosine), [rank - 1])
    return b.Where(same, b.unsqueeze(cosine, [rank - 1]), b.Where(pairs, sine, none)), pairs


def loop_until_diagonal(b, n, step, *states):
    """The states once step(builder, k, *states) says that there is nothing left to turn: it gives (how much is, *states)."""
    turns = tournament_rounds(b, n)

    def body(inner, i, going, *given):
        left, *after = step(inner, inner.reshape(i, [1]), turns, *given)
        return [inner.Greater(inner.reduce("Sum", left, None, keepdims=False), inner.like(0, left)), *after]

    graph = b.body(body, COUNTER, GOING, *(Spec(s.shape, s.dtype) for s in states))
    most = b.const(SWEEPS * turns) if isinstance(turns, int) else b.Mul(turns, SWEEPS)
    made = b.Loop(most, None, *states, outputs=len(states), body=graph)
    return [with_shape_of(y, s) for y, s in zip(made, states)]


def _transpose(b, x, rank):
    return b.transpose(x, [*range(rank - 2), rank - 1, rank - 2])


def eigenvalues(b, a):
    """(w, U): ascending eigenvalues (..., N) of symmetric matrices and the eigenvectors as rows, the largest element positive."""
    n, rank, dtype, bound = b.size(a, -1), a.rank, a.dtype, epsilon(a) / 8
    a = b.cast(a, np.float64)  # roundings of float32 would add up over the sweeps of large matrices
    none = b.like(0, a)

    def step(inner, k, turns, m, vectors):
        j, pairs = rotation(inner, m, rank, k, n, turns)
        turned = inner.MatMul(_transpose(inner, j, rank), inner.MatMul(m, j))
        turned = inner.Mul(inner.Add(turned, _transpose(inner, turned, rank)), inner.like(0.5, a))
        turned = inner.Where(pairs, none, turned)
        rows, columns = row_numbers(inner, n)
        outside = inner.Abs(inner.Where(inner.Equal(rows, columns), none, turned))
        most = inner.reduce("Max", outside, [rank - 2, rank - 1], keepdims=False)
        scale = inner.reduce("Max", inner.Abs(turned), [rank - 2, rank - 1], keepdims=False)
        left = inner.cast(inner.Greater(most, inner.Mul(scale, inner.like(bound, a))), a.dtype)
        return [left, turned, inner.MatMul(vectors, j)]

    vectors = identity(b, a)
    if not isinstance(n, int) or n:
        a, vectors = loop_until_diagonal(b, n, step, a, vectors)
    rows, columns = row_numbers(b, n)
    values = b.reduce("Sum", b.Where(b.Equal(rows, columns), a, none), [rank - 1], keepdims=False)
    values, order = sort_values(b, values, n, rank, descending=False)
    rows = b.cast(take_rows(b, transpose_matrices(b, vectors), order, rank), dtype)
    return b.cast(values, dtype), facing_up(b, rows, rank)


def sort_values(b, values, n, rank, *, descending):
    """Sorted values (..., N) of matrices of a rank, and where they were."""
    count = b.const([n]) if isinstance(n, int) else n
    return b.TopK(values, count, axis=rank - 2, largest=int(descending), sorted=1, outputs=2)


def take_rows(b, rows, order, rank):
    """Rows of matrices in an order (..., N)."""
    if rows.shape[-1] is not UNKNOWN and rows.shape[-1] == 0:
        return rows
    places = b.Expand(b.unsqueeze(order, [rank - 1]), b.shape_of(rows))
    return with_shape_of(b.GatherElements(rows, places, axis=rank - 2), rows)


def facing_up(b, rows, rank):
    """Vectors of length 1, along the last axis, turned as hybrid.ops.linalg_decompositions.facing_up turns them."""
    if any(d is not UNKNOWN and d == 0 for d in rows.shape[-2:]):
        return rows
    sizes = b.Abs(rows)
    least = b.Mul(b.reduce("Max", sizes, [rank - 1], keepdims=True), b.like(1 - 64 * epsilon(rows), rows))
    first = b.ArgMax(b.cast(b.GreaterOrEqual(sizes, least), np.int32), axis=rank - 1, keepdims=1)
    down = b.Less(b.GatherElements(rows, first, axis=rank - 1), b.like(0, rows))
    return with_shape_of(b.Where(down, b.Neg(rows), rows), rows)


def singular_value_decomposition(b, a):
    """(U as rows (..., M, M), values (..., M), W): descending singular values of matrices (..., M, N), M <= N, and A = U^T W, where
    rows of W are as long as the values."""
    n, rank = b.size(a, -2), a.rank
    none, one = b.like(0, a), b.like(1, a)
    largest = b.reduce("Max", b.Abs(a), [rank - 2, rank - 1], keepdims=True)
    scale = b.Where(b.Greater(largest, none), largest, one)  # so that squares stay within bounds
    w = with_shape_of(b.Div(a, scale), a)

    def step(inner, k, turns, w, u):
        gram = inner.MatMul(w, _transpose(inner, w, rank))
        gram = inner.Mul(inner.Add(gram, _transpose(inner, gram, rank)), inner.like(0.5, a))
        j, _ = rotation(inner, gram, rank, k, n, turns)
        back = _transpose(inner, j, rank)
        rows, columns = row_numbers(inner, n)
        same = inner.Equal(rows, columns)
        lengths = inner.Sqrt(inner.reduce("Sum", inner.Where(same, gram, none), [rank - 1], keepdims=True))
        bound = inner.Mul(inner.Mul(lengths, _transpose(inner, lengths, rank)), inner.like(16 * epsilon(a), a))
        open_ = inner.Greater(inner.Abs(inner.Where(same, none, gram)), bound)
        return [inner.cast(open_, a.dtype), inner.MatMul(back, w), inner.MatMul(back, u)]

    lead = b.slice(b.shape_of(a), [0], [-2], [0])
    rows, columns = row_numbers(b, n)
    u = b.Expand(b.Where(b.Equal(rows, columns), one, none), b.dims(lead, n, n))
    u.shape = (*a.shape[:-1], a.shape[-2])
    if not isinstance(n, int) or n:
        w, u = loop_until_diagonal(b, n, step, w, u)
    values = b.Sqrt(b.reduce("Sum", b.Mul(w, w), [rank - 1], keepdims=False))
    values, order = sort_values(b, values, n, rank, descending=True)
    scaled = b.Mul(values, b.squeeze(scale, [rank - 1]))
    w = with_shape_of(b.Mul(take_rows(b, w, order, rank), scale), a)
    return take_rows(b, u, order, rank), scaled, w
