"""Attention as one operator, that exists inside compiled graphs only: the pass fuse_attention and compositions write it.

B is the batch, S the number of queries, T of keys, H of heads of the queries and K of keys and values, D the size of a head and V
that of a value."""

import math
from typing import Any, Literal

import numpy as np

from ..core.attrs import Shape
from ..core.op import Op, op
from ..core.shapes import UNKNOWN, merge
from .common import narrow, spread, want_rank, widen

Array = np.ndarray
PLAIN = (0, 1, 2, 3)
"""Axes of (B, H, S, D) that lies so."""
INFINITY = float("inf")
Blind = Literal["nan", "zeros", "finite"]


def placed(sizes: tuple[Any, ...], axes: tuple[int, ...]) -> tuple[Any, ...]:
    """Sizes of batch, head, place and feature as the axes of a result lie."""
    found: list[Any] = [None] * 4
    for size, axis in zip(sizes, axes):
        found[axis] = size
    return tuple(found)


@op("_fused_attention")
class FusedAttention(Op):
    """softmax(softcap(scale Q K') + mask) V over keys, per head.

    query_axes, key_axes, value_axes: which axes of the inputs are batch, head, place and feature: (0, 1, 2, 3) of (B, H, S, D),
    (0, 2, 1, 3) of (B, S, H, D). Five numbers are of an input with one axis more, the fifth of them is the place along that:
    (1, 2, 0, 4, 1) are the keys of (S, B, H, 3, D). result_axes: the same of the result. H is a multiple of K: neighbouring
    heads share a key.

    Keys and values may be halves beside queries of float32. What becomes of scores, in this order: keep (bool, True where they
    stay; others become ``fill``), added (a summand, which may be float32 beside halves); both have 4 axes and broadcast to
    (B, H, S, T). Query i stands at ``offset + i``: with ``after`` it sees so many keys behind its own, with ``before`` so many
    ahead of it, the others are -inf to it.

    blind: what a query gets that sees no key, or none above -inf: NaN, as softmax has it, or zeros; ``finite`` are zeros for
    one that sees NaN or infinity, too."""

    query_axes: Shape = PLAIN
    key_axes: Shape = PLAIN
    value_axes: Shape = PLAIN
    result_axes: Shape = PLAIN
    scale: float = 1.0
    softcap: float = 0.0
    keep: bool = False
    added: bool = False
    fill: float = -INFINITY
    before: int | None = None
    after: int | None = None
    offset: int = 0
    blind: Blind = "nan"

    inputs = ("query", "key", "value", "keep", "added")

    def input_names(self):
        there = {"keep": self.keep, "added": self.added}
        return tuple(n for n in self.inputs if there.get(n, True))

    def check(self):
        for name in ("query_axes", "key_axes", "value_axes", "result_axes"):
            axes = getattr(self, name)
            most = 4 if name == "result_axes" or len(axes) == 4 else 5
            if len(axes) != most or len({*axes[:4]}) < 4 or not all(0 <= a < most for a in axes[:4]) or min(axes) < 0:
                return f"got {name}={axes}, wanted different axes for batch, head, place and feature"
        if math.isnan(self.scale) or math.isnan(self.softcap) or self.softcap < 0:
            return f"got scale={self.scale}, softcap={self.softcap}, wanted numbers, the second not negative"
        if any(n is not None and n < 0 for n in (self.before, self.after)):
            return f"got before={self.before}, after={self.after}, wanted 0 or more"
        return super().check()

    def _sizes(self, shape: Any, axes: tuple[int, ...], what: str) -> tuple[Any, ...]:
        """Sizes of batch, head, place and feature of an input."""
        want_rank(self, shape, len(axes), what=what)
        if len(axes) == 5:
            (rest,) = {*range(5)}.difference(axes[:4])
            if shape[rest] is not UNKNOWN and axes[4] >= shape[rest]:
                raise self.error(f"got {what} of {shape[rest]} parts, wanted more than {axes[4]}")
        return tuple(shape[a] for a in axes[:4])

    def infer_shape(self, query, key, value, *masks):
        q = self._sizes(query, self.query_axes, "query")
        k = self._sizes(key, self.key_axes, "key")
        v = self._sizes(value, self.value_axes, "value")
        merge((q[0], q[3]), (k[0], k[3]))
        merge(k[:3], v[:3])
        if q[1] is not UNKNOWN and k[1] is not UNKNOWN and (not k[1] or q[1] % k[1]):
            raise self.error(f"got {q[1]} heads of queries and {k[1]} of keys, wanted a multiple")
        for name, mask in zip(self.input_names()[3:], masks):
            want_rank(self, mask, 4, what=name)
            spread(self, mask, (*q[:3], k[2]))
        return placed((*q[:3], v[3]), self.result_axes)

    def infer_type(self, query, key, value, *masks):
        if key != value or (key != query and (query != np.float32 or key is None or key.itemsize != 2)):
            raise self.error(f"got {query}, {key} and {value}, wanted one dtype, or halves beside float32")
        if query is not None and query.kind in "iub":
            raise self.error(f"got {query}, wanted floats")
        for name, mask in zip(self.input_names()[3:], masks):
            wanted = {np.dtype(bool)} if name == "keep" else {query, np.dtype(np.float32)}
            if mask is not None and query is not None and mask not in wanted:
                raise self.error(f"got {name} of {mask}, wanted {' or '.join(map(str, wanted))}")
        return query

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    @staticmethod
    def _view(x: Array, axes: tuple[int, ...]) -> Array:
        """(B, H, S, D) of an input."""
        if len(axes) == 4:
            return x.transpose(axes)
        (rest,) = {*range(5)}.difference(axes[:4])
        return x.transpose(*axes[:4], rest)[..., axes[4]]

    def compute(self, query, key, value, *masks):
        q, k, v = (
            widen(self._view(x, axes))
            for x, axes in zip((query, key, value), (self.query_axes, self.key_axes, self.value_axes))
        )
        named = dict(zip(self.input_names()[3:], masks))
        b, h, s, _ = q.shape
        groups, t = k.shape[1], k.shape[2]
        number = q.dtype.type
        if not groups or h % groups:
            raise self.error(f"got {h} heads of queries and {groups} of keys, wanted a multiple")
        q = q.reshape(b, groups, h // groups, s, q.shape[3])
        scores = (q @ k[:, :, None].swapaxes(-1, -2)).reshape(b, h, s, t) * number(self.scale)
        if self.softcap:
            scores = number(self.softcap) * np.tanh(scores / number(self.softcap))
        if self.keep:
            scores = np.where(named["keep"], scores, number(self.fill))
        if self.added:
            scores = scores + widen(named["added"])
        places, keys = np.arange(s)[:, None] + self.offset, np.arange(t)
        if self.before is not None:
            scores = np.where(places - keys <= self.before, scores, -number(INFINITY))
        if self.after is not None:
            scores = np.where(keys - places <= self.after, scores, -number(INFINITY))
        top = scores.max(-1, keepdims=True, initial=-number(INFINITY))
        with np.errstate(invalid="ignore"):
            shares = np.exp(scores - top)
            shares = shares / shares.sum(-1, keepdims=True)
        if self.blind != "nan":
            none = np.isneginf(top) if self.blind == "zeros" else np.isnan(shares).any(-1, keepdims=True)
            shares = np.where(none, number(0), shares)
        y = (shares.reshape(b, groups, h // groups, s, t) @ v[:, :, None]).reshape(b, h, s, v.shape[3])
        result = np.empty_like(y, order="C", shape=placed(y.shape, self.result_axes))
        result.transpose(self.result_axes)[...] = y
        return narrow(result, query.dtype)

    @classmethod
    def examples(cls, make):
        q, k, v = make.uniform(2, 4, 3, 8), make.uniform(2, 2, 5, 8), make.uniform(2, 2, 5, 7)
        yield make(q, k, v, scale=0.3)
        mask = make.uniform(2, 1, 1, 5)
        yield make(q, k, v, mask, added=True, softcap=1.5)
        seen = make.array([[[[True, False, True, True, False]] * 3]], "bool")
        yield make(q, k, v, seen, keep=True, fill=-3e4, blind="finite")
        yield make(q, k, v, seen, mask, keep=True, added=True, after=0, before=1, offset=2, blind="zeros")
        qkv = make.uniform(5, 2, 3, 3, 8)
        axes = {"query_axes": (1, 2, 0, 4, 0), "key_axes": (1, 2, 0, 4, 1), "value_axes": (1, 2, 0, 4, 2)}
        yield make(qkv, qkv, qkv, scale=0.25, result_axes=(1, 2, 0, 3), **axes)
        turned = {"query_axes": (0, 2, 1, 3), "value_axes": (0, 2, 1, 3), "result_axes": (0, 2, 1, 3)}
        yield make(make.uniform(1, 33, 2, 17), make.uniform(1, 2, 40, 17), make.uniform(1, 40, 2, 20), **turned)
