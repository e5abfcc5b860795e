"""Time that each stage in a graph's life takes by its number of nodes, which has to stay the same for each node.

python benchmarks/scaling.py [--networks chain,residual,wide,rnn] [--nodes 400,1600,6400,25000,50000] [--stages a,b] [--json]

The networks have about that many operators on tensors of a few numbers, so that what is measured is the engine's own work:

- ``chain``: dense layers and activations, one after the other;
- ``residual``: the same with a sum around every two of them;
- ``wide``: branches from one tensor, joined by one concatenation and one sum of all;
- ``rnn``: an LSTM cell unrolled over one sequence.

Stages are printed in the order in which a model meets them: seconds, and microseconds a node. A stage that took longer than
``--most`` seconds is left out for larger graphs of its network. Everything of a network and size runs in a process of its own.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 4


def chain(mx: Any, count: int) -> Any:
    """Dense layers and activations."""
    x = mx.sym.var("data")
    for i in range(count // 2):
        x = mx.sym.tanh(mx.sym.FullyConnected(x, num_hidden=WIDTH, name=f"dense{i}"))
    return x


def residual(mx: Any, count: int) -> Any:
    """The same with a sum around every two operators."""
    x = mx.sym.var("data")
    for i in range(count // 3):
        x = x + mx.sym.relu(mx.sym.FullyConnected(x, num_hidden=WIDTH, name=f"dense{i}"))
    return x


def wide(mx: Any, count: int) -> Any:
    """Branches from one tensor, joined twice."""
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=WIDTH, name="stem")
    branches = [mx.sym.sigmoid(x * (1 + i / count)) for i in range(count // 2)]
    whole = mx.sym.mean(mx.sym.concat(*branches, dim=1), axis=1, keepdims=True)
    return mx.sym.broadcast_add(mx.sym.add_n(*branches), whole)


def rnn(mx: Any, count: int) -> Any:
    """An LSTM cell over one sequence, in its data's second axis."""
    cell = mx.gluon.rnn.LSTMCell(WIDTH, input_size=WIDTH, prefix="lstm_")
    steps = max(1, count // 12)
    begin = [mx.sym.var("h"), mx.sym.var("c")]
    sequence = mx.sym.reshape(mx.sym.tile(mx.sym.var("data"), reps=(1, steps)), shape=(0, steps, WIDTH))
    return cell.unroll(steps, sequence, begin_state=begin, layout="NTC", merge_outputs=True)[0]


NETWORKS: dict[str, Callable[[Any, int], Any]] = {f.__name__: f for f in (chain, residual, wide, rnn)}


def stages(network: str, count: int, wanted: Callable[[str], bool]) -> Iterator[tuple[str, float]]:
    """Seconds by stage."""
    import hybrid as mx
    from hybrid import native
    from hybrid.execution.memory_planner import Lifetime, assign_offsets
    from hybrid.execution.plan import make_plan
    from hybrid.execution.program import Program
    from hybrid.ir import json as symbol_json
    from hybrid.ir.differentiate import gradients
    from hybrid.ir.infer import infer
    from hybrid.passes import PASSES, Rewriter, optimize

    held: dict[str, Any] = {}

    def timed(name: str, work: Callable[[], Any]) -> Iterator[tuple[str, float]]:
        if not wanted(name):
            return
        gc.collect()
        began = time.perf_counter()
        held[name] = work()
        yield name, time.perf_counter() - began

    warm = NETWORKS[network](mx, 60)  # what is done once a process
    warm_block = mx.gluon.SymbolBlock(warm, [mx.sym.var(n) for n in warm.list_inputs() if n in ("data", "h", "c")])
    warm_block.initialize()
    warm_block.hybridize()
    given = [mx.nd.ones((2, WIDTH))] * (len(warm.list_inputs()) - len(warm_block.collect_params()))
    with mx.autograd.record():
        warm_block(*given)[0].sum().backward()

    yield from timed("build", lambda: NETWORKS[network](mx, count))
    symbol = held["build"]
    yield from timed("json save", symbol.tojson)
    text = held.get("json save")
    if text is not None:
        yield from timed("json load", lambda: symbol_json.loads(text))
    graph = symbol.graph
    inputs = [n for n in ("data", "h", "c") if n in symbol.list_inputs()]
    shapes = dict.fromkeys(inputs, (2, WIDTH))
    yield from timed("infer", lambda: infer(graph, shapes, default_dtype=np.float32))
    yield from timed("infer by symbol", lambda: symbol.infer_shape(**shapes))
    inference = held.get("infer")
    if inference is not None:
        fixed = [n.name for n in graph.variables() if n.name not in inputs]
        names = [n.name for n in graph.variables()]

        def rewriter() -> Rewriter:
            return Rewriter(inference, constants=fixed, native=native.names())

        yield from timed("rewriter", rewriter)
        made, now = held.get("rewriter"), graph
        for name, run in PASSES.items():
            if made is not None:
                yield from timed(f"pass {name}", lambda run=run, now=now: run(now, made))
                now = held.pop(f"pass {name}", now)
        yield from timed("all passes", lambda: optimize(graph, rewriter()))
        held.pop("all passes", None)
        yield from timed("plan", lambda: make_plan(graph, inference, names))
        held.pop("plan", None)
    # tensors that all live long, as those do which the backward part reads, and some that do not
    lives = [Lifetime(64 * (1 + i % 7), i, 2 * count - i if i % 3 else i + 3) for i in range(count)]
    yield from timed("memory planner", lambda: assign_offsets(lives))
    yield from timed(
        "gradients", lambda: gradients([(e, None) for e in graph.outputs], [n for n in graph.nodes if n.op is None])
    )
    held.pop("gradients", None)

    rng = np.random.default_rng(0)
    feeds = {n: rng.uniform(-1, 1, (2, WIDTH)).astype(np.float32) for n in inputs}
    arguments, _, _ = symbol.infer_shape(**shapes)
    params = {
        n: rng.uniform(-0.1, 0.1, s).astype(np.float32)
        for n, s in zip(symbol.list_arguments(), arguments)
        if n not in feeds
    }
    program = Program(graph, params)
    yield from timed("first run", lambda: program.run(feeds))
    yield from timed("second run", lambda: program.run(feeds))

    def block() -> Any:
        net = mx.gluon.SymbolBlock(symbol, [mx.sym.var(n) for n in inputs])
        net.initialize()
        return net

    yield from timed("block", block)
    net = held.get("block")
    if net is not None:
        arrays = [mx.nd.array(feeds[n]) for n in inputs]

        def infer_once() -> None:
            net(*arrays).asnumpy()

        def step() -> None:
            with mx.autograd.record():
                loss = net(*arrays).sum()
            loss.backward()
            mx.nd.waitall()

        yield from timed("eager step", step)
        net.hybridize()
        yield from timed("first inference", infer_once)
        yield from timed("first step", step)
        yield from timed("second step", step)
        del net
        held.pop("block")
    yield from timed("tape", lambda: tape(mx, count))
    if wanted("onnx export"):
        import converters

        yield from timed("onnx export", lambda: converters.to_onnx(symbol, params, shapes))
        yield from timed("onnx import", lambda: converters.import_model(held["onnx export"]))
    held.clear()
    program = inference = made = now = None

    def forget() -> None:
        nonlocal symbol, graph
        symbol = graph = None

    yield from timed("deletion", forget)


def tape(mx: Any, count: int) -> None:
    """Record that many operators one by one, and go back."""
    x = mx.nd.ones((2, WIDTH))
    x.attach_grad()
    with mx.autograd.record():
        y = x
        for _ in range(count // 2):
            y = mx.nd.tanh(y * 0.9)
    y.backward()
    x.grad.asnumpy()


def child(network: str, count: int, chosen: set[str], left_out: set[str]) -> None:
    """Print what each stage of a network took, a line of JSON each."""

    def wanted(name: str) -> bool:
        return name not in left_out and (not chosen or name in (*NEEDED, *chosen))

    for name, seconds in stages(network, count, wanted):
        print(json.dumps([name, seconds]), flush=True)


NEEDED = ("build", "infer", "json save", "rewriter", "block", "onnx export")
"""Stages that others begin with."""


def measure(networks: list[str], counts: list[int], chosen: list[str], most: float) -> dict[str, Any]:
    """Seconds by network, stage and number of nodes."""
    found: dict[str, Any] = {}
    for network in networks:
        rows = found[network] = {}
        slow: set[str] = set()
        for count in counts:
            told = [network, str(count), ",".join(chosen), ",".join(slow)]
            command = [sys.executable, __file__, "--child", *told]
            done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
            for name, seconds in map(json.loads, done.stdout.splitlines()):
                if chosen and name not in chosen:
                    continue
                rows.setdefault(name, {})[count] = seconds
                if seconds > most and name != "build":
                    slow.add(name)
            if done.returncode:
                print(f"{network} of {count} nodes: ended with status {done.returncode}", file=sys.stderr)
    return found


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--nodes", default="400,1600,6400,25000,50000")
    parser.add_argument("--stages", default="")
    parser.add_argument("--most", type=float, default=20.0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        network, count, *sets = arguments.child
        child(network, int(count), *({s for s in text.split(",") if s} for text in sets))
        return
    counts = [int(n) for n in arguments.nodes.split(",")]
    result = measure(
        arguments.networks.split(","), counts, [s for s in arguments.stages.split(",") if s], arguments.most
    )
    if arguments.json:
        print(json.dumps(result, indent=2))
        return
    for network, rows in result.items():
        print(f"{network:40}" + "".join(f"{n:>16}" for n in counts))
        for name, row in rows.items():
            cells = (f"{row[n]:8.3f} {row[n] / n * 1e6:7.1f}" if n in row else f"{'-':>16}" for n in counts)
            print(f"  {name:38}" + "".join(cells))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
