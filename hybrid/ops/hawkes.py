"""The log likelihood of marked Hawkes processes, which excite themselves."""

import numpy as np

from ..core.error import OpError
from ..core.op import WHOLE, Domain, Op, op
from ..core.shapes import UNKNOWN, merge
from .backward import Once
from .common import part_of, want_rank, widen


class _Walk:
    """Goes through the points of all samples, in time: what the likelihood and its gradient share."""

    def __init__(self, lda, alpha, beta, state, max_time):
        self.lda, self.alpha, self.beta, self.max_time = lda, alpha, beta, max_time
        self.state, self.last, self.time = state.copy(), np.zeros_like(state), np.zeros_like(max_time)

    def points(self, lags, marks, valid_length):
        """At every point (samples that still have one, their marks, time since the last of the mark, what is left of it)."""
        for j in range(lags.shape[1]):
            n = np.flatnonzero(j < valid_length)
            m = marks[n, j]
            if m.size and not 0 <= m.min() <= m.max() < self.state.shape[1]:
                raise OpError(f"got marks {m.min()} to {m.max()}, wanted 0 to {self.state.shape[1] - 1}")
            self.time[n] += lags[n, j]
            since = self.time[n] - self.last[n, m]
            left = np.exp(-self.beta[m] * since)
            yield n, m, since, left
            self.state[n, m] = 1 + self.state[n, m] * left
            self.last[n, m] = self.time[n]

    def rest(self):
        """(since, left) of all marks (N, K) at the end of the observation."""
        since = self.max_time[:, None] - self.last
        return since, np.exp(-self.beta * since)


@op("_contrib_hawkesll")
class HawkesLL(Op):
    """The log likelihood of each of N sequences of points with K kinds of marks, and what is left of the past at the end.

    The intensity of a mark is lda + alpha * beta * (sum over its past points of exp(-beta * their age)). Shapes: lda (N, K),
    alpha (K,), beta (K,), state (N, K) of those sums at the beginning, lags (N, T) between points, marks (N, T) int32,
    valid_length (N,) of points that count, max_time (N,) at which observation ends -> (N,) and the new state (N, K). The
    gradient is that of the likelihood, by lda, alpha and beta. Source: MXNet hawkesll; Hawkes 1971, Biometrika 58."""

    meanings = {
        "alpha": "Growth of the intensity by a point, for each mark.",
        "beta": "Rate at which that is forgotten, per unit of time.",
        "state": "Sums over the past at the beginning.",
    }

    exception = "a recurrence over events"

    refuses = WHOLE

    inputs = ("lda", "alpha", "beta", "state", "lags", "marks", "valid_length", "max_time")
    tolerance = 128.0
    epsilon = float(np.finfo(np.float32).eps)  # MXNet's exponential and logarithm

    def output_names(self):
        return ("output", "out_state")

    def infer_input_shapes(self, shapes, outputs):
        lda, alpha, beta, state, lags, marks, valid, until = shapes
        lda = merge(merge(lda, state), outputs[1])
        lags = merge(lags, marks)
        samples = UNKNOWN if lda is None else lda[0]
        lags = merge(lags, (samples, UNKNOWN))
        samples = lags[0]
        kinds = (UNKNOWN if lda is None else lda[1],)
        kinds = merge(merge(kinds, alpha), beta)
        lda = merge(lda, (samples, *kinds))
        each = merge(merge((samples,), valid), until)
        return [lda, kinds, kinds, lda, lags, lags, each, each]

    def infer_shape(self, lda, *rest):
        want_rank(self, lda, 2, what="lda")
        return [lda[:1], lda]

    def infer_type(self, lda, *rest):
        return [lda, lda]

    def infer_input_types(self, dtypes, outputs):
        marks = np.dtype(np.int32)
        if dtypes[5] is not None and dtypes[5] != marks:
            raise self.error(f"got marks of dtype {dtypes[5]}, wanted int32; cast them")
        known = super().infer_input_types([d for i, d in enumerate(dtypes) if i != 5], outputs)
        return [*known[:5], marks, *known[5:]]

    def domain(self, name, shapes):
        lda, lags = shapes[0], shapes[4]
        if name == "marks":
            return None if lda is None or lda[1] is UNKNOWN else Domain(0, lda[1] - 1, integer=True)
        if name == "valid_length":
            return None if lags is None or lags[1] is UNKNOWN else Domain(0, lags[1], integer=True)
        return {"max_time": Domain(50, 100), "lda": Domain(0.1, 2)}.get(name, Domain(0, 1))

    def compute(self, *arrays):
        dtype = arrays[0].dtype
        lda, alpha, beta, state, lags, marks, valid_length, max_time = map(widen, arrays)
        walk = _Walk(lda, alpha, beta, state, max_time)
        total = np.zeros_like(max_time)
        for n, m, since, left in walk.points(lags, marks, valid_length):
            past = alpha[m] * walk.state[n, m]
            intensity = lda[n, m] + beta[m] * past * left
            total[n] += np.log(intensity) - lda[n, m] * since - past * (1 - left)
        since, left = walk.rest()
        total -= (lda * since + alpha * walk.state * (1 - left)).sum(1)
        return total.astype(dtype, copy=False), (left * walk.state).astype(dtype, copy=False)

    def gradient(self, F, dy, *arrays):
        return (*F._backward_hawkesll(dy[0], *arrays[:8]), *[None] * 5)

    @classmethod
    def examples(cls, make):
        yield make(
            make.uniform(2, 3, low=0.5, high=1.5),
            make.uniform(3, low=0.1, high=0.7),
            make.uniform(3, low=0.5, high=2),
            make.uniform(2, 3, low=0),
            make.uniform(2, 4, low=0),
            make.integers(2, 4, high=3, dtype="int32"),
            make.array([4, 2]),
            make.array([6, 5]),
        )


@op("_backward_hawkesll")
@part_of("_contrib_hawkesll", dy=0)
class BackwardHawkesLL(Once):
    """Gradient by lda, alpha and beta: (dy, inputs) -> as these."""

    inputs = ("dy", *HawkesLL.inputs)

    def output_names(self):
        return ("lda", "alpha", "beta")

    def infer_shape(self, dy, lda, alpha, *rest):
        return [lda, alpha, alpha]

    def infer_type(self, dy, lda, *rest):
        return [lda] * 3

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def compute(self, dy, *arrays):
        dtype = arrays[0].dtype
        dy, lda, alpha, beta, state, lags, marks, valid_length, max_time = map(widen, (dy, *arrays))
        walk = _Walk(lda, alpha, beta, state, max_time)
        d_lda, d_alpha, d_beta = np.zeros_like(lda), np.zeros_like(lda), np.zeros_like(lda)
        slope = np.zeros_like(lda)  # of the state, by beta
        for n, m, since, left in walk.points(lags, marks, valid_length):
            past, by_beta = walk.state[n, m], slope[n, m]
            intensity = lda[n, m] + alpha[m] * beta[m] * past * left
            d_lda[n, m] += 1 / intensity - since
            d_alpha[n, m] += beta[m] * past * left / intensity - past * (1 - left)
            rise = left * (past * (1 - beta[m] * since) + beta[m] * by_beta)
            d_beta[n, m] += alpha[m] * (rise / intensity - by_beta * (1 - left) - past * since * left)
            slope[n, m] = left * (by_beta - since * past)
        since, left = walk.rest()
        d_lda -= since
        d_alpha -= walk.state * (1 - left)
        d_beta -= alpha * (slope * (1 - left) + walk.state * since * left)
        heads = dy[:, None]
        results = d_lda * heads, (d_alpha * heads).sum(0), (d_beta * heads).sum(0)
        return tuple(r.astype(dtype, copy=False) for r in results)
