"""Random graphs of what convolutional networks consist of, with parameters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from hybrid.graph.graph import Entry, Graph
from tests.graph.optimizing import apply, var

CHANNELS = [1, 3, 8, 16, 20, 32]


class Picture(NamedTuple):
    """A graph, its inputs and its parameters."""

    graph: Graph
    feeds: dict[str, np.ndarray]
    params: dict[str, np.ndarray]


class _Drawing:
    """A graph in the making: entries with the shapes (channels, height, width) that they have."""

    def __init__(self, draw: st.DrawFn):
        self.draw = draw
        self.rng = np.random.default_rng(draw(st.integers(0, 99)))
        self.params: dict[str, np.ndarray] = {}
        self.size = draw(st.sampled_from([4, 5, 7]))
        channels = draw(st.sampled_from(CHANNELS))
        self.pool: list[tuple[Entry, tuple[int, int, int]]] = [(var("x"), (channels, self.size, self.size))]

    def parameter(self, *shape: int, low: float = -1, high: float = 1) -> Entry:
        name = f"p{len(self.params)}"
        self.params[name] = self.rng.uniform(low, high, shape).astype(np.float32)
        return var(name)

    def any(self) -> tuple[Entry, tuple[int, int, int]]:
        return self.draw(st.sampled_from(self.pool))

    def like(self, shape: tuple[int, int, int]) -> Entry:
        """Something of that shape."""
        return self.draw(st.sampled_from([e for e, s in self.pool if s == shape]))

    def add(self, entry: Entry, shape: tuple[int, int, int]) -> None:
        self.pool.append((entry, shape))

    def convolution(self) -> None:
        x, (c, h, w) = self.any()
        kernel, stride = self.draw(st.sampled_from([1, 3])), self.draw(st.sampled_from([1, 1, 2]))
        groups = self.draw(st.sampled_from([1, 1, c]))
        filters = c if groups > 1 else self.draw(st.sampled_from([c, *CHANNELS]))
        weight = self.parameter(filters, c // groups, kernel, kernel)
        bias = [self.parameter(filters)] if self.draw(st.booleans()) else []
        y = apply(
            "Convolution", x, weight, *bias, kernel=(kernel,) * 2, stride=(stride,) * 2, pad=(kernel // 2,) * 2,
            num_filter=filters, num_group=groups, no_bias=not bias,
        )  # fmt: skip
        self.add(y, (filters, (h - 1) // stride + 1, (w - 1) // stride + 1))

    def normalization(self) -> None:
        x, shape = self.any()
        parameters = [self.parameter(shape[0]) for _ in range(3)]
        y = apply(
            "BatchNorm", x, *parameters, self.parameter(shape[0], low=0.5, high=2), fix_gamma=self.draw(st.booleans())
        )
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
        x, (c, h, w) = self.any()
        kind = self.draw(st.sampled_from(["channels", "slopes", "rows", "gate", "number"]))
        if kind == "slopes":
            y = apply("LeakyReLU", x, self.parameter(c), act_type="prelu")
        elif kind == "gate":
            pooled = apply("Pooling", self.like((c, h, w)), global_pool=True, pool_type="avg")
            y = apply("broadcast_mul", x, apply("sigmoid", pooled))
        else:
            shape = {"channels": (1, c, 1, 1), "rows": (h, 1), "number": (1,)}[kind]
            y = apply(self.draw(st.sampled_from(["broadcast_mul", "broadcast_add"])), x, self.parameter(*shape))
        self.add(y, (c, h, w))

    def pooling(self) -> None:
        x, (c, h, w) = self.any()
        kind = self.draw(st.sampled_from(["max", "avg"]))
        y = apply("Pooling", x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type=kind)
        self.add(y, (c, (h - 1) // 2 + 1, (w - 1) // 2 + 1))

    def concatenation(self) -> None:
        x, (c, h, w) = self.any()
        same = [(e, s) for e, s in self.pool if s[1:] == (h, w)]
        other, (more, *_) = self.draw(st.sampled_from(same))
        if c + more <= 64:
            self.add(apply("Concat", x, other, num_args=2), (c + more, h, w))

    def detour(self) -> None:
        x, (c, h, w) = self.any()
        if self.draw(st.booleans()):
            y = apply("Reshape", apply("Reshape", x, shape=(0, 0, -1)), shape=(0, 0, h, w))
        else:
            y = apply("transpose", apply("transpose", x, axes=(0, 2, 3, 1)), axes=(0, 3, 1, 2))
        self.add(y, (c, h, w))


@st.composite
def pictures(draw: st.DrawFn) -> Picture:
    """Networks over one input x, a batch of pictures; their outputs are pictures, means of pictures, and dense layers over them."""
    drawing = _Drawing(draw)
    steps = [drawing.convolution, drawing.convolution, drawing.normalization, drawing.function, drawing.function, drawing.sum,
             drawing.scale, drawing.pooling, drawing.concatenation, drawing.detour]  # fmt: skip
    for _ in range(draw(st.integers(1, 10))):
        draw(st.sampled_from(steps))()
    outputs = []
    for _ in range(draw(st.integers(1, 3))):
        x, (c, h, w) = drawing.pool[-1] if draw(st.booleans()) else drawing.any()
        kind = draw(st.sampled_from(["picture", "mean", "dense"]))
        if kind == "mean":
            x = apply("mean", x, axis=(2, 3))
        elif kind == "dense":
            x = apply("FullyConnected", x, drawing.parameter(3, c * h * w), num_hidden=3, no_bias=True)
        outputs.append(x)
    batch, (channels, *_) = draw(st.sampled_from([1, 2])), drawing.pool[0][1]
    feeds = {"x": drawing.rng.uniform(-1, 1, (batch, channels, drawing.size, drawing.size)).astype(np.float32)}
    graph = Graph(outputs)
    names = {n.name for n in graph.variables()}
    return Picture(
        graph, {k: v for k, v in feeds.items() if k in names}, {k: v for k, v in drawing.params.items() if k in names}
    )
