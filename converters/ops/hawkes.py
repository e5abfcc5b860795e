"""Hawkes processes: a Scan over the points of all sequences."""

import numpy as np

from hybrid.core.op import Spec

from ..builder import Value
from ..registry import exports


@exports("_contrib_hawkesll")
def export_contrib_hawkesll(b, op, *inputs):
    inputs = [b.wide(x) for x in inputs]
    lda, alpha, beta, state, lags, marks, valid, until = inputs
    kinds, dtype = b.counting(lda.dim(1)), lda.dtype
    marks = b.unsqueeze(b.cast(b.transpose(marks, [1, 0]), np.int64), [2])  # T, N, 1
    none = b.Expand(b.like(0, lda), b.Shape(until))
    # one point more, which is past all lengths: Scan wants some
    lags = b.Concat(b.transpose(lags, [1, 0]), b.unsqueeze(none, [0]), axis=0)
    marks = b.Concat(marks, b.Expand(b.const([0]), b.dims(1, b.size(lda, 0), 1)), axis=0)
    steps = b.cast(b.counting(b.shape_of(lags, 0)), dtype)
    shape = b.Shape(lda)
    zeros = b.Expand(b.like(0, lda), shape)

    def left_of(inner, since):
        return inner.Exp(inner.Neg(inner.Mul(since, beta)))

    def lost(inner, since, left, state):
        """Number of points expected in that time: (N, K)."""
        past = inner.Mul(alpha, state)
        return inner.Add(inner.Mul(lda, since), inner.Mul(past, inner.Sub(inner.like(1, lda), left)))

    def point(inner, total, state, last, time, step, lag, mark):
        there = inner.Less(step, valid)  # N
        time = inner.Where(there, inner.Add(time, lag), time)
        hit = inner.And(inner.Equal(mark, kinds), inner.unsqueeze(there, [1]))  # N, K
        since = inner.Sub(inner.unsqueeze(time, [1]), last)
        left = left_of(inner, since)
        intensity = inner.Add(lda, inner.Mul(inner.Mul(inner.Mul(alpha, beta), state), left))
        gained = inner.Sub(inner.Log(inner.Where(hit, intensity, inner.like(1, lda))), lost(inner, since, left, state))
        gained = inner.reduce("Sum", inner.Where(hit, gained, inner.like(0, lda)), [1], keepdims=False)
        results = (
            inner.Add(total, gained),
            inner.Where(hit, inner.Add(inner.Mul(state, left), inner.like(1, lda)), state),
            inner.Where(hit, inner.unsqueeze(time, [1]), last),
            time,
        )
        return [Value(r.name, s.shape, dtype) for r, s in zip(results, (valid, state, state, valid))]

    each, pair = Spec(until.shape, dtype), Spec(lda.shape, dtype)
    one = Spec((*lda.shape[:1], 1), np.dtype(np.int64))
    body = b.body(point, each, pair, pair, each, Spec((), dtype), each, one)
    total, state, last, _ = b.Scan(
        none, state, zeros, none, steps, lags, marks, body=body, num_scan_inputs=3, outputs=4
    )
    since = b.Sub(b.unsqueeze(until, [1]), last)
    left = left_of(b, since)
    rest = b.reduce("Sum", lost(b, since, left, state), [1], keepdims=False)
    return b.Sub(total, rest), b.Mul(left, state)
