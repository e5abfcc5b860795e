"""Random graphs of simple operators, for properties that hold of every graph."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from hybrid.core.op import REGISTRY
from hybrid.ir.graph import Entry, Graph, Node

ELEMENTWISE = [("relu", {}), ("sigmoid", {}), ("negative", {}), ("_plus_scalar", {"scalar": 0.5}),
("_mul_scalar", {"scalar": -2.0}),
               ("identity", {}), ("BlockGrad", {}), ("Dropout", {}), ("clip", {"a_min": -0.5, "a_max": 0.5})]  # fmt: skip
BINARY = ["broadcast_add", "broadcast_mul", "elemwise_add", "elemwise_sub", "broadcast_maximum"]
SHAPE = (4, 6)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Graphs over inputs a, b and a parameter w, whose tensors are all (4, 6): views, splits and joins among them."""
    pool = [Entry(Node(None, n)) for n in ("a", "b", "w")]

    def apply(op: str, name: str, inputs: list[Entry], **attrs: object) -> Node:
        return Node(REGISTRY[op].bind(**attrs), name, inputs)

    for i in range(draw(st.integers(1, 12))):
        one, other = draw(st.sampled_from(pool)), draw(st.sampled_from(pool))
        kind = draw(st.sampled_from(["elementwise", "binary", "reshape", "transpose", "split", "norm"]))
        if kind == "elementwise":
            op, attrs = draw(st.sampled_from(ELEMENTWISE))
            node = apply(op, f"n{i}", [one], **attrs)
        elif kind == "binary":
            node = apply(draw(st.sampled_from(BINARY)), f"n{i}", [one, other])
        elif kind == "reshape":
            flat = apply("Reshape", f"n{i}_flat", [one], shape=(-1,))
            node = apply("Reshape", f"n{i}", [Entry(flat)], shape=SHAPE)
        elif kind == "transpose":
            turned = apply("transpose", f"n{i}_t", [one])
            node = apply("transpose", f"n{i}", [Entry(turned)])
        elif kind == "split":
            parts = apply("SliceChannel", f"n{i}_parts", [one], num_outputs=2, axis=1)
            order = draw(st.permutations([0, 1]))
            node = apply("Concat", f"n{i}", [Entry(parts, k) for k in order], dim=1, num_args=2)
        else:
            node = apply("softmax", f"n{i}", [one], axis=1)
        pool.append(Entry(node))
    outputs = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=4))
    return Graph(outputs)


def feeds(graph: Graph, seed: int = 0, shape: tuple[int, ...] = SHAPE) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    values = {n: rng.normal(size=shape).astype(np.float32) for n in ("a", "b", "w")}
    return {n.name: values[n.name] for n in graph.variables()}
