"""Equations and factorisations of matrices (..., M, N), which ONNX has no operator for, as Loops over rows or columns.

They are the algorithms of LAPACK without its blocks, so their errors have the same bounds: backward errors of a small
multiple of N epsilons, and in the result that times the condition of the matrix. What LAPACK refuses (a pivot of 0, a matrix
that is not positive definite) gives infinities or NaN, since a graph cannot raise.
"""

import numpy as np

from hybrid.core.op import Spec

COUNTER, GOING = Spec((), np.dtype(np.int64)), Spec((), np.dtype(np.bool_))


def floating(b, x):
    """x in a dtype to compute in: float32 for 16 bits, float64 for whole numbers."""
    return b.wide(x) if x.dtype.kind not in "iub" else b.cast(x, np.float64)


def with_shape_of(x, like):
    """x, of which it is known that it has the shape of another."""
    x.shape = like.shape
    return x


def loop(b, count, step, *states):
    """The states after count steps: step(builder, number of the step as a 1-D tensor, *states) gives the next ones."""

    def body(inner, i, going, *given):
        return [going, *step(inner, inner.reshape(i, [1]), *given)]

    graph = b.body(body, COUNTER, GOING, *(Spec(s.shape, s.dtype) for s in states))
    count = b.const(count) if isinstance(count, int) else count
    made = b.Loop(count, None, *states, outputs=len(states), body=graph)
    return [with_shape_of(y, s) for y, s in zip([made] if len(states) == 1 else made, states)]


def row_numbers(b, n):
    """The numbers of the rows (n, 1) and of the columns (n,), to compare."""
    columns = b.counting(n)
    return b.unsqueeze(columns, [1]), columns


def transpose_matrices(b, x):
    """Matrices transposed."""
    rank = x.rank
    y = b.transpose(x, [*range(rank - 2), rank - 1, rank - 2])
    y.shape = (*x.shape[:-2], x.shape[-1], x.shape[-2])
    return y


def triangle(b, a):
    """The lower triangle of matrices, diagonal included, with zeros elsewhere."""
    rows, _ = row_numbers(b, b.size(a, -2))
    columns = b.counting(b.size(a, -1))
    return with_shape_of(b.Where(b.LessOrEqual(columns, rows), a, b.like(0, a)), a)


def identity(b, a):
    """Identity matrices in the shape of a, (..., N, N)."""
    rows, columns = row_numbers(b, b.size(a, -1))
    one = b.Where(b.Equal(rows, columns), b.like(1, a), b.like(0, a))
    return with_shape_of(b.Expand(one, b.shape_of(a)), a)


def substitute(b, t, rhs, *, lower):
    """The X of T X = rhs by substitution, where T is a triangle of t, whose other triangle is not read."""
    n, rank = b.size(t, -1), t.rank
    rows, _ = row_numbers(b, n)

    def step(inner, k, x):
        if not lower:
            k = inner.Sub(inner.Sub(b.const([n]) if isinstance(n, int) else n, 1), k)
        column = inner.Gather(t, k, axis=rank - 1)
        solved = inner.Div(inner.Gather(x, k, axis=rank - 2), inner.Gather(column, k, axis=rank - 2))
        rest = inner.Sub(x, inner.Mul(column, solved))
        beyond = inner.Greater(rows, k) if lower else inner.Less(rows, k)
        return [inner.Where(beyond, rest, inner.Where(inner.Equal(rows, k), solved, x))]

    return loop(b, n, step, rhs)[0]


def eliminate(b, a, rhs=None):
    """(U, right sides, signs): a, whose upper triangle is U after Gauss's elimination with the largest pivot of each column
    (the first of equal ones), rhs after the same steps, and -1 (..., 1, 1) where an odd number of rows changed places."""
    n, rank = b.size(a, -1), a.rank
    rows, _ = row_numbers(b, n)
    none, one, minus = b.like(0, a), b.like(1, a), b.like(-1, a)

    def step(inner, k, sign, *matrices):
        column = inner.Gather(matrices[0], k, axis=rank - 1)
        below = inner.Where(inner.Less(rows, k), minus, inner.Abs(column))
        pivot_row = inner.ArgMax(below, axis=rank - 2, keepdims=1)
        here, there = inner.Equal(rows, k), inner.Equal(rows, pivot_row)
        tops = [inner.reduce("Sum", inner.Where(there, m, none), [rank - 2], keepdims=True) for m in matrices]
        olds = [inner.Gather(m, k, axis=rank - 2) for m in matrices]
        swapped = [inner.Where(here, t, inner.Where(there, o, m)) for m, t, o in zip(matrices, tops, olds)]
        column, pivot = (
            inner.Gather(swapped[0], k, axis=rank - 1),
            inner.Gather(tops[0], k, axis=rank - 1),
        )
        wanted = inner.And(inner.Greater(rows, k), inner.Not(inner.Equal(pivot, none)))
        factors = inner.Where(wanted, inner.Div(column, pivot), none)
        turned = inner.Mul(sign, inner.Where(inner.Equal(pivot_row, k), one, minus))
        return [turned, *(inner.Sub(m, inner.Mul(factors, t)) for m, t in zip(swapped, tops))]

    lead = b.slice(b.shape_of(a), [0], [-2], [0])
    signs = b.Expand(one, b.dims(lead, 1, 1))
    signs.shape = (*a.shape[:-2], 1, 1)
    signs, *matrices = loop(b, n, step, signs, *([a] if rhs is None else [a, rhs]))
    return matrices[0], matrices[-1], signs


def solve(b, a, rhs):
    """The X of A X = rhs."""
    upper, rhs, _ = eliminate(b, a, rhs)
    return substitute(b, upper, rhs, lower=False)


def cholesky(b, a):
    """The lower triangular L with A = L L^T, of which the lower triangle is read."""
    n, rank = b.size(a, -1), a.rank
    rows, columns = row_numbers(b, n)
    none = b.like(0, a)

    def step(inner, k, m):
        column = inner.Gather(m, k, axis=rank - 1)
        root = inner.Sqrt(inner.Gather(column, k, axis=rank - 2))
        made = inner.Where(inner.Less(rows, k), none, inner.Div(column, root))
        outer = inner.Mul(made, inner.transpose(made, [*range(rank - 2), rank - 1, rank - 2]))
        rest = inner.Where(inner.Greater(columns, k), inner.Sub(m, outer), m)
        return [inner.Where(inner.Equal(columns, k), made, rest)]

    return triangle(b, loop(b, n, step, a)[0])


def row_space(b, a):
    """(Q, L): orthonormal rows Q (..., M, N) and lower triangular L (..., M, M) with A = L Q, by reflections as in LAPACK.

    Elements of the diagonal of L have the sign opposite to what they replace, unless nothing but zeros is right of that."""
    count, width, rank = b.size(a, -2), b.size(a, -1), a.rank
    rows, _ = row_numbers(b, width)
    columns = b.counting(width)
    none, one = b.like(0, a), b.like(1, a)
    largest = b.reduce("Max", b.Abs(a), [rank - 2, rank - 1], keepdims=True)
    scale = b.Where(b.Greater(largest, none), largest, one)  # so that squares stay within bounds
    start = with_shape_of(b.Div(a, scale), a)
    lead = b.slice(b.shape_of(a), [0], [-2], [0])
    eye = b.Where(b.Equal(rows, columns), one, none)
    whole = b.Expand(eye, b.dims(lead, width, width))
    whole.shape = (*a.shape[:-2], a.shape[-1], a.shape[-1])

    def step(inner, k, m, q):
        row = inner.Gather(m, k, axis=rank - 2)
        head = inner.Gather(row, k, axis=rank - 1)
        tail = inner.Where(inner.Greater(columns, k), row, none)
        rest = inner.reduce("Sum", inner.Mul(tail, tail), [rank - 1], keepdims=True)
        length = inner.Sqrt(inner.Add(inner.Mul(head, head), rest))
        wanted = inner.Where(inner.Less(inner.Reciprocal(head), none), length, inner.Neg(length))  # -0 is below 0 here
        idle = inner.Equal(rest, none)
        gap = inner.Where(idle, one, inner.Sub(head, wanted))
        mirror = inner.Where(inner.Equal(columns, k), one, inner.Div(tail, gap))
        weight = inner.Where(idle, none, inner.Div(inner.Sub(wanted, head), inner.Where(idle, one, wanted)))
        across = inner.transpose(mirror, [*range(rank - 2), rank - 1, rank - 2])

        def reflected(x):
            return inner.Sub(x, inner.Mul(inner.Mul(weight, inner.MatMul(x, across)), mirror))

        return [reflected(m), reflected(q)]

    lower, basis = loop(b, count, step, start, whole)
    first = b.counting(count)
    q = transpose_matrices(b, basis)
    q = with_shape_of(b.Gather(q, first, axis=rank - 2), a)
    square = b.Gather(lower, first, axis=rank - 1)
    square.shape = (*a.shape[:-1], a.shape[-2])
    return q, with_shape_of(b.Mul(triangle(b, square), scale), square)
