"""Work that grows no faster than the graph: calls of Python functions by each stage, counted for three sizes.

Nothing is timed. Of a stage whose work is linear, twice the nodes take twice the calls; what is quadratic takes four times as many.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import hybrid as mx
from hybrid.execution.memory_planner import Lifetime, assign_offsets
from hybrid.execution.program import Program
from hybrid.ir import json
from hybrid.ir.differentiate import gradients
from hybrid.ir.infer import infer

SIZES = 24, 48, 96
MOST = 2.5
"""Factor of the calls by which those for twice the nodes may be more: what grows with n log n takes a few more than twice."""


def chain(count: int) -> Any:
    x = mx.sym.var("data")
    for i in range(count // 3):
        x = x + mx.sym.tanh(mx.sym.FullyConnected(x, num_hidden=4, name=f"dense{i}"))
    return x


def wide(count: int) -> Any:
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="stem")
    parts = mx.sym.split(mx.sym.concat(*[mx.sym.sigmoid(x * (i + 1)) for i in range(count)], dim=1), num_outputs=count)
    return mx.sym.add_n(*parts) + mx.sym.sum(mx.sym.stack(*parts), axis=0)


def calls(work: Callable[[], Any]) -> int:
    """Number of calls of Python functions and of C functions that work makes."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def train(net: Any, x: Any) -> None:
    with mx.autograd.record():
        y = net(x)
    y.backward()


def stages(make: Callable[[int], Any], count: int) -> dict[str, Callable[[], Any]]:
    """Work by stage, for a network of that many nodes."""
    symbol = make(count)
    graph, text = symbol.graph, symbol.tojson()
    x = np.ones((2, 4), np.float32)
    names, shapes = symbol.list_arguments(), symbol.infer_shape(data=x.shape)[0]
    params = {n: np.full(s, 0.1, np.float32) for n, s in zip(names, shapes) if n != "data"}
    program = Program(graph, params)
    net = mx.gluon.SymbolBlock(symbol, [mx.sym.var("data")])
    net.initialize()
    net.hybridize()
    variables = graph.variables()
    return {
        "building": lambda: make(count),
        "saving": symbol.tojson,
        "loading": lambda: json.loads(text),
        "inference": lambda: infer(graph, {"data": x.shape}, default_dtype=np.float32),
        "gradients": lambda: gradients([(e, None) for e in graph.outputs], variables),
        "the first run": lambda: program.run({"data": x}),
        "the first step of training": lambda: train(net, mx.nd.array(x)),
        "the tape": lambda: tape(count),
    }


def tape(count: int) -> Any:
    x = leaf(np.ones(4, np.float32))
    with mx.autograd.record():
        y = x
        for _ in range(count):
            y = mx.nd.tanh(y)
        z = mx.nd.concat(*[y * 2 for _ in range(count)], dim=0)
    z.backward()
    return x


def leaf(values: np.ndarray) -> Any:
    x = mx.nd.array(values)
    x.attach_grad()
    return x


def test_calls_by_stage() -> None:
    found: list[str] = []
    for make in (chain, wide):
        for work in stages(make, SIZES[0]).values():
            work()  # what is done once a process
        counts = [{name: calls(work) for name, work in stages(make, n).items()} for n in SIZES]
        for name in counts[0]:
            few, some, many = (c[name] for c in counts)
            if many - some > MOST * (some - few):
                found.append(f"{name} of {make.__name__}: {few}, {some}, {many} calls for {SIZES} nodes")
    assert not found


def test_calls_of_the_memory_planner() -> None:
    def lives(count: int) -> list[Lifetime]:
        return [Lifetime(64 * (1 + i % 7), i, 2 * count - i if i % 3 else i + 3) for i in range(count)]

    few, some, many = (calls(lambda n=n: assign_offsets(lives(n))) for n in (200, 400, 800))
    assert many - some < MOST * (some - few), (few, some, many)


def test_deep_graphs() -> None:
    """Nothing goes down a graph by calling itself, not even its deletion."""
    depth = 3 * sys.getrecursionlimit()
    x = mx.sym.var("data")
    for _ in range(depth):
        x = mx.sym.tanh(x)
    entry = gradients([(x.graph.outputs[0], None)], x.graph.variables())[0]
    assert entry is not None
    assert len(infer(x.graph, {"data": (1,)}).shapes) == depth + 1
    assert json.loads(x.tojson()).outputs[0].node.name == x.name
    y = leaf(np.ones(1, np.float32))
    with mx.autograd.record():
        z = y
        for _ in range(depth):
            z = mx.nd.negative(z)
    z.backward()
    assert y.grad.asnumpy() == (-1) ** depth
    del x, entry, y, z
