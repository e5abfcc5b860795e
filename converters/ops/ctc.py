"""Connectionist temporal classification: the forward recursion, in log space, is one Scan over the steps."""

import numpy as np

from ..registry import exports


def _log_sum(b, *terms):
    """The log of the sum of exponentials, element by element; -inf where all terms are."""
    most = b.Max(*terms)
    ground = b.Where(b.Equal(most, -np.inf), b.like(0, most), most)
    return b.Add(ground, b.Log(b.Sum(*(b.Exp(b.Sub(t, ground)) for t in terms))))


def _in_turns(b, start, *parts):
    """start (N, 1), then the elements of parts (N, L) in turns: (N, 2L + 1)."""
    pairs = b.Concat(*(b.unsqueeze(p, [2]) for p in parts), axis=2)
    return b.Concat(start, b.reshape(pairs, [0, -1]), axis=1)


def _vector(b, size):
    """A size, as ``b.size`` gives it, as a tensor of length 1."""
    return b.const([size]) if isinstance(size, int) else size


@exports("CTCLoss")
def export_ctc_loss(b, op, data, label, *lengths):
    logs, label = b.LogSoftmax(b.wide(data), axis=2), b.cast(label, np.int64)
    steps, batch, classes = (_vector(b, b.size(data, axis)) for axis in range(3))
    blank, padding = (b.const([0]), 0) if op.blank_label == "first" else (b.Sub(classes, 1), -1)
    given = {n: b.unsqueeze(b.cast(v, np.int64), [1]) for n, v in zip(op.input_names()[2:], lengths)}  # (N, 1)
    sizes = given.get("label_lengths")
    if sizes is None:
        ended = b.CumSum(b.cast(b.Equal(label, padding), np.int64), b.const(1))
        sizes = b.reduce("Sum", b.cast(b.Equal(ended, 0), np.int64), [1], keepdims=True)
    # the classes with blanks around each; a class may follow the one before it directly, unless they are equal
    shown = b.Where(b.Less(label, 0), blank, label)
    blanks = b.Add(b.Mul(shown, 0), blank)
    column = b.Expand(b.unsqueeze(blank, [0]), b.dims(batch, 1))
    before = b.slice(b.Concat(b.Expand(b.const([[-1]]), b.dims(batch, 1)), shown, axis=1), [0], [-1], [1])
    equal = b.Equal(shown, before)
    follows = b.Not(b.Or(equal, b.Equal(before, -1)))
    never = b.Expand(b.const([[False]], np.bool_), b.dims(batch, 1))
    symbols = _in_turns(b, column, shown, blanks)  # (N, S)
    skips = _in_turns(b, never, follows, b.And(follows, never))
    emitted = b.GatherElements(logs, b.Expand(b.unsqueeze(symbols, [0]), b.dims(steps, 1, 1)), axis=2)  # (T, N, S)
    moments = b.unsqueeze(b.counting(b.size(data, 0)), [1, 2])  # (T, 1, 1)
    least = b.like(-np.inf, logs)

    def step(inner, alpha, emission, moment):
        one, two = (inner.Pad(alpha, inner.const([0, by, 0, -by]), least) for by in (1, 2))
        moved = _log_sum(inner, alpha, one, inner.Where(skips, two, least))
        after = inner.Add(inner.Where(inner.Equal(moment, 0), alpha, moved), emission)
        if "data_lengths" in given:
            after = inner.Where(inner.Less(moment, given["data_lengths"]), after, alpha)
        return (after,)

    places = b.counting(b.size(symbols, 1))
    start = b.Where(b.Less(places, 2), b.like(0, logs), least)
    start = b.Expand(b.unsqueeze(start, [0]), b.dims(batch, 1))
    body = b.body(step, logs.dtype, logs.dtype, np.int64)
    alpha = b.Scan(start, emitted, moments, body=body, num_scan_inputs=2)
    last = b.Mul(sizes, 2)
    ends = [b.GatherElements(alpha, b.Max(place, b.const(0)), axis=1) for place in (last, b.Sub(last, 1))]
    loss = b.Neg(_log_sum(b, ends[0], b.Where(b.Greater(sizes, 0), ends[1], least)))
    # steps that cannot hold the label count as no loss
    counted = b.And(equal, b.Less(b.unsqueeze(b.counting(b.size(label, 1)), [0]), sizes))
    needed = b.Add(sizes, b.reduce("Sum", b.cast(counted, np.int64), [1], keepdims=True))
    return b.squeeze(b.Where(b.Greater(needed, given.get("data_lengths", steps)), b.like(0, loss), loss), [1])
