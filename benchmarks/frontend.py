"""Speed of the Gluon front end: hybridized against imperative, and both against real MXNet where it is installed.

    python benchmarks/frontend.py [--mxnet PYTHON] [--repeats N] [--json]

``--mxnet`` names a Python in which MXNet 1.9.1 is installed; its jobs run in turns with ours, each in a fresh process, so that
the machine's moods fall on all alike. Reported are medians, and ratios; on a busy machine only the ratios mean something.

- ``mlp``: the forward pass of the tutorials' MLP (512-256-128-2, one sample), microseconds a call.
- ``lenet``, ``lstm``: a training step (forward, backward, update), milliseconds: LeNet on 32 images of 28x28, and a two-layer LSTM
  of 64 units over 16 steps of 16 sequences.
- ``eager``: one operator on tiny arrays, microseconds a call.
- ``memory``: what a forward pass of a deep MLP allocates at its peak (tracemalloc, MB): imperative, and hybridized with
  static_alloc.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
EAGER: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a + b": lambda nd, a, b: a + b,
    "a * 2": lambda nd, a, b: a * 2.0,
    "a > b": lambda nd, a, b: a > b,
    "nd.relu(a)": lambda nd, a, b: nd.relu(a),
    "nd.exp(a)": lambda nd, a, b: nd.exp(a),
    "nd.broadcast_add(a, b)": lambda nd, a, b: nd.broadcast_add(a, b),
    "nd.elemwise_mul(a, b)": lambda nd, a, b: nd.elemwise_mul(a, b),
    "a.sum()": lambda nd, a, b: a.sum(),
    "nd.dot(a, b.T)": lambda nd, a, b: nd.dot(a, b, transpose_b=True),
    "nd.concat(a, b)": lambda nd, a, b: nd.concat(a, b, dim=0),
    "a[0]": lambda nd, a, b: a[0],
    "a.reshape((-1,))": lambda nd, a, b: a.reshape((-1,)),
}


def per_call(function: Callable[[], Any], seconds: float = 0.25) -> float:
    """Seconds a call, the best of five rounds."""
    function()
    count, best = 1, float("inf")
    while True:
        start = time.perf_counter()
        for _ in range(count):
            function()
        if time.perf_counter() - start > seconds / 10:
            break
        count *= 2
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(count):
            function()
        best = min(best, (time.perf_counter() - start) / count)
    return best


def mlp(mx: Any, hybridize: bool) -> dict[str, float]:
    """Microseconds a call of the tutorials' network."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(2))
    net.initialize()
    if hybridize:
        net.hybridize()
    x = mx.nd.array(np.random.RandomState(0).normal(size=(1, 512)))

    def calls() -> None:
        for _ in range(100):
            net(x)
        mx.nd.waitall()

    return {"mlp": per_call(calls) * 1e4}


def training(mx: Any, net: Any, shape: tuple[int, ...], hybridize: bool) -> float:
    """Milliseconds a training step."""
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize(static_alloc=True)
    random = np.random.RandomState(0)
    x, y = mx.nd.array(random.normal(size=shape)), mx.nd.array(random.randint(0, 10, shape[0]))
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    net(x)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})

    def steps() -> None:
        for _ in range(5):
            with mx.autograd.record():
                value = loss(net(x), y)
            value.backward()
            trainer.step(shape[0])
        mx.nd.waitall()

    return per_call(steps, 1.0) * 200


def lenet(mx: Any, hybridize: bool) -> dict[str, float]:
    """Milliseconds a training step of LeNet."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(20, 5, activation="tanh"),
        nn.MaxPool2D(2, 2),
        nn.Conv2D(50, 5, activation="tanh"),
        nn.MaxPool2D(2, 2),
        nn.Dense(128, activation="tanh"),
        nn.Dense(10),
    )
    return {"lenet": training(mx, net, (32, 1, 28, 28), hybridize)}


def lstm(mx: Any, hybridize: bool) -> dict[str, float]:
    """Milliseconds a training step of an LSTM that classifies sequences."""
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.rnn.LSTM(64, num_layers=2, layout="NTC", input_size=32), mx.gluon.nn.Dense(10))
    return {"lstm": training(mx, net, (16, 16, 32), hybridize)}


def eager(mx: Any, hybridize: bool) -> dict[str, float]:
    """Microseconds a call of single operators."""
    a, b = mx.nd.ones((2, 3)), mx.nd.ones((2, 3))

    def calls(function: Callable[[Any, Any, Any], Any]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(100):
                function(mx.nd, a, b)
            mx.nd.waitall()

        return run

    return {f"eager {name}": per_call(calls(function)) * 1e4 for name, function in EAGER.items()}


def memory(mx: Any, hybridize: bool) -> dict[str, float]:
    """Megabytes that a forward pass allocates at its peak; of ours only, since MXNet's memory is not Python's."""
    if mx.__name__ == "mxnet":
        return {}
    import tracemalloc

    net = mx.gluon.nn.HybridSequential()
    for _ in range(12):
        net.add(mx.gluon.nn.Dense(512, activation="relu", in_units=512))
    net.initialize()
    if hybridize:
        net.hybridize(static_alloc=True, static_shape=True)
    x = mx.nd.ones((2048, 512))
    net(x).wait_to_read()
    tracemalloc.start()
    for _ in range(3):
        net(x)
    mx.nd.waitall()
    return {"memory": tracemalloc.get_traced_memory()[1] / 1e6}


JOBS = {f.__name__: f for f in (mlp, lenet, lstm, eager, memory)}


def child(engine: str, job: str, hybridize: bool) -> None:
    """Run one job in this process and print its numbers."""
    sys.path.insert(0, str(ROOT))
    print(json.dumps(JOBS[job](importlib.import_module(engine), hybridize)))


def run(python: str, engine: str, job: str, hybridize: bool) -> dict[str, float]:
    """One job in a fresh process."""
    command = [python, __file__, "--child", engine, job, str(int(hybridize))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(mxnet: str | None, repeats: int) -> dict[str, dict[str, float]]:
    """Medians: {number: {"imperative": ..., "hybridized": ..., "mxnet imperative": ..., ...}}."""
    sides = [(sys.executable, "hybrid", "")] + ([(mxnet, "mxnet", "mxnet ")] if mxnet else [])
    seen: dict[str, dict[str, list[float]]] = {}
    for job in JOBS:
        for _ in range(repeats):
            for python, engine, prefix in sides:
                for hybridize in (False,) if job == "eager" else (False, True):
                    column = prefix + ("hybridized" if hybridize else "imperative")
                    for name, value in run(python, engine, job, hybridize).items():
                        seen.setdefault(name, {}).setdefault(column, []).append(value)
    return {n: {c: statistics.median(v) for c, v in columns.items()} for n, columns in seen.items()}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--mxnet", metavar="PYTHON", help="a Python with MXNet 1.9.1")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        engine, job, hybridize = options.child
        child(engine, job, hybridize == "1")
        return
    results = measure(options.mxnet, options.repeats)
    if options.json:
        print(json.dumps(results, indent=1))
        return
    for name, row in results.items():
        line = f"{name:28}" + "".join(f"  {column} {value:8.2f}" for column, value in row.items())
        if "hybridized" in row:
            line += f"  | imperative / hybridized {row['imperative'] / row['hybridized']:.2f}"
        for column in ("imperative", "hybridized"):
            if f"mxnet {column}" in row:
                line += f"  | mxnet / ours {column} {row[f'mxnet {column}'] / row[column]:.2f}"
        print(line)


if __name__ == "__main__":
    main()
