"""Small graphs with control flow, as MXNet's contrib.foreach, while_loop and cond build them, and what 1.9.1 gave for them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hybrid.core.op import lookup
from hybrid.ir.graph import Entry, Graph, Node


def variable(name: str) -> Entry:
    return Entry(Node(None, name))


def apply(operator: str, *inputs: Entry, name: str = "", subgraphs: tuple[Graph, ...] = (), **attrs: Any) -> Node:
    op = lookup(operator).bind(**attrs)
    return Node(op, name or operator.strip("_"), inputs, op.dump(), subgraphs)


def one(operator: str, *inputs: Entry, name: str = "", **attrs: Any) -> Entry:
    return Entry(apply(operator, *inputs, name=name, **attrs))


def outputs(node: Node) -> Graph:
    return Graph(Entry(node, i) for i in range(len(node.outputs)))


def foreach(body: Graph, inputs: list[str], data: tuple, states: tuple, rest: tuple = (), count: int = 1) -> Graph:
    node = apply(
        "_foreach",
        *map(variable, inputs),
        name="each",
        subgraphs=(body,),
        num_args=len(inputs) + 1,
        num_outputs=len(body.outputs),
        num_out_data=count,
        in_data_locs=data,
        in_state_locs=states,
        remain_locs=rest,
    )
    return outputs(node)


def while_loop(
    condition: Graph,
    body: Graph,
    inputs: list[str],
    reads: tuple[int, ...],
    *,
    states: tuple[int, ...],
    steps: int,
    count: int,
) -> Graph:
    """A loop. Its condition reads the first input, its body those in ``reads``; ``count`` outputs are stacked."""
    node = apply(
        "_while_loop",
        *map(variable, inputs),
        name="loop",
        subgraphs=(condition, body),
        num_args=len(inputs) + 2,
        num_outputs=len(body.outputs),
        num_out_data=count,
        max_iterations=steps,
        cond_input_locs=(0,),
        func_input_locs=reads,
        func_var_locs=states,
    )
    return outputs(node)


class Case(NamedTuple):
    """A graph, what to feed it, and what MXNet 1.9.1 computed."""

    graph: Graph
    feeds: dict[str, np.ndarray]
    wants: list[Any]


def two_of_each() -> Case:
    """foreach over two arrays with two states that change places; the body's variables are x, s, y, z."""
    x, s, y, z = map(variable, ("x-0", "s-0", "y-0", "z-0"))
    results = [
        one("elemwise_add", x, s, name="sum"),
        one("_copy", y, name="copy"),
        one("elemwise_add", z, x, name="next"),
        one("_copy", s, name="swap"),
    ]
    feeds = {
        "x": np.arange(6, dtype="f4").reshape(3, 2),
        "y": np.arange(3, dtype="f4").reshape(3, 1),
        "s": np.float32([1, 1]),
        "z": np.float32([7, 7]),
    }
    wants = [[[1, 2], [9, 11], [7, 9]], [[0], [1], [2]], [11, 13], [3, 4]]
    return Case(foreach(Graph(results), ["x", "y", "s", "z"], (0, 2), (1, 3), (), 2), feeds, wants)


def rank_one() -> Case:
    """Slices of an array of rank 1 have one element."""
    d, s = variable("d-0"), variable("s-0")
    body = Graph([one("elemwise_add", d, s, name="a"), one("elemwise_add", s, d, name="b")])
    return Case(
        foreach(body, ["d", "s"], (0,), (1,)), {"d": np.float32([2, 3]), "s": np.float32([1])}, [[[3], [6]], [6]]
    )


def counting(start: float, limit: float = 4) -> Graph:
    """while start < 4: outputs state and start * 2; start + 1, state * 2. Six times at most."""
    i, s = variable("start-0"), variable("state-0")
    condition = Graph([one("_lesser_scalar", variable("start-0"), scalar=limit)])
    body = [
        one("_copy", s, name="seen"),
        one("_mul_scalar", i, scalar=2, name="double"),
        one("_plus_scalar", i, scalar=1, name="more"),
        one("_mul_scalar", s, scalar=2, name="grown"),
    ]
    return while_loop(condition, Graph(body), ["start", "state"], (1, 0), states=(1, 0), steps=6, count=2)


def counted(start: float) -> Case:
    """The rows of steps taken are MXNet's; the rest is 0 here and stray memory there."""
    steps = [start + i for i in range(6) if start + i < 4]
    seen = [[2**i, 3 * 2**i] if i < len(steps) else [0, 0] for i in range(6)]
    double = [[2 * steps[i] if i < len(steps) else 0] for i in range(6)]
    ends = [[start + len(steps)], [2 ** len(steps), 3 * 2 ** len(steps)]]
    return Case(counting(start), {"start": np.float32([start]), "state": np.float32([1, 3])}, [seen, double, *ends])


def growing() -> Case:
    """A loop variable may change its shape."""
    i, s = variable("i-0"), variable("s-0")
    condition = Graph([one("_lesser_scalar", variable("i-0"), scalar=4)])
    body = Graph([one("_plus_scalar", i, scalar=1, name="more"), one("Concat", s, s, num_args=2, dim=0)])
    loop = while_loop(condition, body, ["start", "s"], (0, 1), states=(0, 1), steps=6, count=0)
    return Case(loop, {"start": np.float32([2]), "s": np.float32([1, 2])}, [[4], [1, 2] * 4])


def not_started() -> Case:
    """Without outputs to fill, a loop that does not start gives back its variables."""
    case = growing()
    return case._replace(feeds={**case.feeds, "start": np.float32([10])}, wants=[[10], [1, 2]])


def choice(p: float, b: tuple[float, ...] = (5, 6)) -> Case:
    """p ? (2a, a) : (b, b + 1); the bodies' outputs may differ in shape."""
    a = variable("a")
    then = Graph([one("_mul_scalar", a, scalar=2, name="double"), one("_copy", a, name="same")])
    b_in = variable("b")
    other = Graph([one("_copy", b_in, name="other"), one("_plus_scalar", b_in, scalar=1, name="more")])
    node = apply(
        "_cond",
        *map(variable, "pab"),
        name="choice",
        subgraphs=(Graph([one("_copy", variable("p"), name="asked")]), then, other),
        num_args=6,
        num_outputs=2,
        cond_input_locs=(0,),
        then_input_locs=(1,),
        else_input_locs=(2,),
    )
    feeds = {"p": np.float32([p]), "a": np.float32([1, 2]), "b": np.float32(b)}
    return Case(outputs(node), feeds, [list(b), [x + 1 for x in b]] if p == 0 else [[2, 4], [1, 2]])


CASES = {
    "two-of-each": two_of_each,
    "rank-one": rank_one,
    **{f"while-{start}": (lambda start=start: counted(start)) for start in (0, 2, -1, -5)},
    "growing": growing,
    "not-started": not_started,
    **{f"cond-{p}": (lambda p=p: choice(p)) for p in (2, 0, 0.5, float("nan"))},
    "cond-shapes": lambda: choice(0, (5, 6, 7)),
}
