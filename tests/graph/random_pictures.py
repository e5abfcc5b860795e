"""Random graphs of what convolutional networks consist of, with parameters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from hybrid.ir.graph import Entry, Graph
from tests.graph.optimizing import apply, var

CHANNELS = [1, 3, 8, 16, 20, 32]
SCALES = ["broadcast_mul", "broadcast_add", "broadcast_sub"]
MOST = 20_000
"""Elements of an array."""


class Picture(NamedTuple):
    """A graph, its inputs and its parameters."""

    graph: Graph
    feeds: dict[str, np.ndarray]
    params: dict[str, np.ndarray]


Shape = tuple[int, int, int, int]


class _Drawing:
    """A graph in the making: entries with the shapes (batch, channels, height, width) that they have."""

    def __init__(self, draw: st.DrawFn):
        self.draw = draw
        self.rng = np.random.default_rng(draw(st.integers(0, 99)))
        self.params: dict[str, np.ndarray] = {}
        size = draw(st.sampled_from([4, 5, 7]))
        self.first = draw(st.sampled_from([1, 2])), draw(st.sampled_from(CHANNELS)), size, size
        self.pool: list[tuple[Entry, Shape]] = [(var("x"), self.first)]

    def parameter(self, *shape: int, low: float = -1, high: float = 1) -> Entry:
        name = f"p{len(self.params)}"
        self.params[name] = self.rng.uniform(low, high, shape).astype(np.float32)
        return var(name)

    def any(self) -> tuple[Entry, Shape]:
        return self.draw(st.sampled_from(self.pool))

    def like(self, shape: Shape) -> Entry:
        """Something of that shape."""
        return self.draw(st.sampled_from([e for e, s in self.pool if s == shape]))

    def add(self, entry: Entry, shape: Shape) -> None:
        if np.prod(shape) <= MOST:
            self.pool.append((entry, shape))

    def convolved(self, x: Entry, shape: Shape, kernel: int, groups: int, filters: int) -> tuple[Entry, Shape]:
        """x through a convolution with a stride, padding and a bias, perhaps."""
        n, c, h, w = shape
        stride, pad = self.draw(st.sampled_from([(1, 1), (1, 1), (2, 2), (1, 2)])), kernel // 2
        weight = self.parameter(filters, c // groups, kernel, kernel)
        bias = [self.parameter(filters)] if self.draw(st.booleans()) else []
        y = apply(
            "Convolution", x, weight, *bias, kernel=(kernel,) * 2, stride=stride, pad=(pad,) * 2,
            num_filter=filters, num_group=groups, no_bias=not bias,
        )  # fmt: skip
        return y, (n, filters, (h - 1) // stride[0] + 1, (w - 1) // stride[1] + 1)

    def convolution(self) -> None:
        x, shape = self.any()
        c = shape[1]
        groups = self.draw(st.sampled_from([1, 1, c, 2 - c % 2]))
        filters = c if groups > 1 else self.draw(st.sampled_from([c, *CHANNELS]))
        self.add(*self.convolved(x, shape, self.draw(st.sampled_from([1, 3])), groups, filters))

    def separable(self) -> None:
        """A convolution of each channel for itself, or what scales each, and one of 1 x 1 that reads it."""
        x, shape = self.any()
        c = shape[1]
        if self.draw(st.booleans()):
            x, shape = self.convolved(x, shape, 3, c, c)
        else:
            x = apply("BatchNorm", x, *(self.parameter(c) for _ in range(3)), self.parameter(c, low=0.5, high=2))
        if self.draw(st.booleans()):
            x = apply("relu", x)
        self.add(*self.convolved(x, shape, 1, self.draw(st.sampled_from([1, 1, 2 - c % 2])), c))

    def normalization(self) -> None:
        x, shape = self.any()
        c = shape[1]
        parameters = [self.parameter(c) for _ in range(3)]
        y = apply("BatchNorm", x, *parameters, self.parameter(c, low=0.5, high=2), fix_gamma=self.draw(st.booleans()))
        self.add(y, shape)

    def function(self) -> None:
        x, shape = self.any()
        functions: list[tuple[str, dict[str, Any]]] = [
            ("relu", {}), ("sigmoid", {}), ("Activation", {"act_type": "tanh"}), ("LeakyReLU", {"slope": 0.2}),
            ("clip", {"a_min": -0.5, "a_max": 0.7}), ("_mul_scalar", {"scalar": 0.5}), ("_rminus_scalar", {"scalar": 1}),
            ("Dropout", {}), ("identity", {}), ("zeros_like", {}),
        ]  # fmt: skip
        op, attrs = self.draw(st.sampled_from(functions))
        self.add(apply(op, x, **attrs), shape)

    def sum(self) -> None:
        x, shape = self.any()
        op = self.draw(st.sampled_from(["elemwise_add", "elemwise_mul", "broadcast_sub", "broadcast_maximum"]))
        self.add(apply(op, x, self.like(shape)), shape)

    def scale(self) -> None:
        x, (n, c, h, w) = self.any()
        kind = self.draw(st.sampled_from(["channels", "slopes", "rows", "gate", "number"]))
        if kind == "slopes":
            y = apply("LeakyReLU", x, self.parameter(c), act_type="prelu")
        elif kind == "gate":
            pooled = apply("Pooling", self.like((n, c, h, w)), global_pool=True, pool_type="avg")
            y = apply("broadcast_mul", x, apply("sigmoid", pooled))
        else:
            shape = {"channels": (1, c, 1, 1), "rows": (h, 1), "number": (1,)}[kind]
            op, pair = self.draw(st.sampled_from(SCALES)), [x, self.parameter(*shape)]
            y = apply(op, *(pair if self.draw(st.booleans()) else pair[::-1]))
        self.add(y, (n, c, h, w))

    def pooling(self) -> None:
        x, (n, c, h, w) = self.any()
        kind = self.draw(st.sampled_from(["max", "avg"]))
        y = apply("Pooling", x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type=kind)
        self.add(y, (n, c, (h - 1) // 2 + 1, (w - 1) // 2 + 1))

    def concatenation(self) -> None:
        """Along channels or any other axis."""
        x, shape = self.any()
        axis = self.draw(st.sampled_from([1, 1, 1, 0, 2, 3]))
        alike = [(e, s) for e, s in self.pool if all(a == axis or s[a] == shape[a] for a in range(4))]
        other, more = self.draw(st.sampled_from(alike))
        joined: Any = tuple(d + more[a] if a == axis else d for a, d in enumerate(shape))
        if joined[1] <= 64:
            self.add(apply("Concat", x, other, num_args=2, dim=self.draw(st.sampled_from([axis, axis - 4]))), joined)

    def detour(self) -> None:
        x, shape = self.any()
        if self.draw(st.booleans()):
            y = apply("Reshape", apply("Reshape", x, shape=(0, 0, -1)), shape=(0, 0, *shape[2:]))
        else:
            y = apply("transpose", apply("transpose", x, axes=(0, 2, 3, 1)), axes=(0, 3, 1, 2))
        self.add(y, shape)

    def end(self) -> Entry:
        """An output: a picture, means of pictures, or a product of them with a matrix."""
        x, (n, c, h, w) = self.pool[-1] if self.draw(st.booleans()) else self.any()
        kind = self.draw(st.sampled_from(["picture", "mean", "dense", "dot"]))
        if kind == "mean":
            return apply("mean", x, axis=(2, 3))
        if kind == "dense":
            return apply("FullyConnected", x, self.parameter(3, c * h * w), num_hidden=3, no_bias=True)
        if kind == "dot":
            turned, other = self.draw(st.booleans()), self.draw(st.booleans())
            inner = n if turned else c * h * w
            matrix = self.parameter(*((3, inner) if other else (inner, 3)))
            return apply("dot", apply("Flatten", x), matrix, transpose_a=turned, transpose_b=other)
        return x


@st.composite
def pictures(draw: st.DrawFn) -> Picture:
    """Networks over an input x, a batch of pictures, whose outputs are pictures, means of pictures, and products over them. Now
    and then a parameter is an input too, as when it is being trained."""
    drawing = _Drawing(draw)
    steps = [drawing.convolution, drawing.convolution, drawing.separable, drawing.normalization, drawing.function,
             drawing.function, drawing.sum, drawing.scale, drawing.pooling, drawing.concatenation, drawing.detour]  # fmt: skip
    for _ in range(draw(st.integers(1, 10))):
        draw(st.sampled_from(steps))()
    graph = Graph([drawing.end() for _ in range(draw(st.integers(1, 3)))])
    names = {n.name for n in graph.variables()}
    arrays = {"x": drawing.rng.uniform(-1, 1, drawing.first).astype(np.float32), **drawing.params}
    fed = {"x"} | ({n for n in drawing.params if drawing.rng.random() < 0.3} if draw(st.booleans()) else set())
    return Picture(
        graph,
        {k: v for k, v in arrays.items() if k in names and k in fed},
        {k: v for k, v in arrays.items() if k in names and k not in fed},
    )
