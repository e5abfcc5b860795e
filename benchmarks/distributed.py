"""Steps of training on 1, 2, ... processes at the same total batch, what their exchanges cost, and what follows for more of them.

python benchmarks/distributed.py [--ranks 1,2] [--networks wide,deep] [--rounds 5] [--json]

One process is ``python -m hybrid`` with one thread and no store; N are ``mpirun -n N`` with one thread each and dist_sync. All are
measured in turns, and the fastest of several rounds counts, for others may use the machine. Times are of 8 steps between barriers,
and of a core: what rank 0 itself used of one. ``exchange`` is a sum of so many bytes over two ranks, from which the model below
takes its two numbers.

The model: a step of N ranks takes C/N + max(0, 2(N-1)(a + b/(N k)) - o C/N) seconds, where C is the step of one process, b the
bytes of all gradients, k the bytes a second and a the seconds that the messages of all arrays take, and o the share of the step
during which gradients can travel. docs/distributed.md says what it assumes."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STEPS = 8
BATCH = {"wide": 256, "deep": 32}
SIZES = (1 << 10, 1 << 16, 1 << 20, 1 << 24)


def network(mx: Any, name: str) -> tuple[Any, tuple[int, ...]]:
    """The network, and the shape of one sample: ``wide`` has many weights, ``deep`` many operations on few."""
    net = mx.gluon.nn.HybridSequential()
    if name == "wide":
        for _ in range(2):
            net.add(mx.gluon.nn.Dense(1024, activation="relu"))
        shape: tuple[int, ...] = (784,)
    else:
        for channels in (16, 32, 32, 64):
            net.add(mx.gluon.nn.Conv2D(channels, 3, padding=1, activation="relu"), mx.gluon.nn.MaxPool2D())
        shape = (3, 64, 64)
    net.add(mx.gluon.nn.Dense(10))
    return net, shape


def measure(name: str, distributed: bool) -> None:
    """Print, as rank 0, seconds a step, bytes of gradients, and seconds of exchanges by bytes."""
    sys.path.insert(0, str(ROOT))
    import hybrid as mx

    store = mx.kv.create("dist_sync") if distributed else None
    rank, size = (store.rank, store.num_workers) if store is not None else (0, 1)
    mx.runtime.set_num_threads(1)
    net, shape = network(mx, name)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    count = BATCH[name] // size
    data, label = mx.nd.random.uniform(shape=(count, *shape)), mx.nd.zeros((count,))
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01}, kvstore=store)

    def steps(number: int) -> tuple[float, float]:
        mx.nd.waitall()
        if store is not None:
            store._barrier()
        begin, busy = time.perf_counter(), time.process_time()
        for _ in range(number):
            with mx.autograd.record():
                value = loss(net(data), label)
            value.backward()
            trainer.step(BATCH[name])
        mx.nd.waitall()
        if store is not None:
            store._barrier()
        return (time.perf_counter() - begin) / number, (time.process_time() - busy) / number

    steps(3)
    found = [steps(STEPS) for _ in range(4)]
    told: dict[str, Any] = {"step": min(wall for wall, _ in found), "cpu": min(busy for _, busy in found)}
    told["bytes"] = sum(p.data().size * 4 for p in net.collect_params().values())
    told["arrays"] = len(net.collect_params())
    if store is not None and size > 1:
        told["exchange"] = {}
        for nbytes in SIZES:
            array = mx.nd.zeros((nbytes // 4,))
            store.init(f"of {nbytes} bytes", array)
            times = []
            for _ in range(20):
                store._barrier()
                begin = time.perf_counter()
                store.pushpull(f"of {nbytes} bytes", array, out=array)
                array.wait_to_read()
                times.append(time.perf_counter() - begin)
            told["exchange"][nbytes] = min(times)
    if rank == 0:
        print(json.dumps(told), flush=True)


def ask(name: str, ranks: int) -> dict[str, Any]:
    """Measure in processes of their own; ranks 0 is one without a store."""
    mpirun = Path(sys.executable).parent / "mpirun"
    start = [] if ranks == 0 else [str(mpirun) if mpirun.exists() else "mpirun", "-n", str(ranks)]
    words = [*start, sys.executable, __file__, "--measure", name, *(["--distributed"] if ranks else [])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def predict(step: float, nbytes: int, arrays: int, ranks: int, latency: float, speed: float, overlap: float) -> float:
    """Seconds a step on so many ranks, by the model."""
    compute = step / ranks
    exchange = 2 * (ranks - 1) * (arrays * latency + nbytes / (ranks * speed))
    return compute + max(0.0, exchange - overlap * compute)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--networks", default="wide,deep")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--distributed", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.distributed)
        return
    ranks = [0, *map(int, options.ranks.split(","))]
    report: dict[str, Any] = {}
    for name in options.networks.split(","):
        found = {n: [ask(name, n)] for n in ranks}
        for _ in range(options.rounds - 1):
            for n in ranks:
                found[n].append(ask(name, n))
        best = {n: min(told["step"] for told in every) for n, every in found.items()}
        report[name] = {"bytes": found[0][0]["bytes"], "arrays": found[0][0]["arrays"], "step": best}
        cpu = {n: min(told["cpu"] for told in every) for n, every in found.items()}
        size, arrays = report[name]["bytes"], report[name]["arrays"]
        print(f"{name}: {size / 1e6:.1f} MB of gradients in {arrays} arrays, batch {BATCH[name]}")
        for n, seconds in best.items():
            title = "one process, no store" if n == 0 else f"{n} ranks, dist_sync"
            print(
                f"  {title:24} {seconds * 1e3:9.2f} ms a step   {best[0] / seconds:5.2f} x   {cpu[n] * 1e3:8.2f} ms of a core"
            )
        exchanged = [told["exchange"] for every in found.values() for told in every if "exchange" in told]
        if not exchanged:
            continue
        cost = {s: min(e[str(s)] for e in exchanged) for s in SIZES}
        latency = cost[SIZES[0]] / 2
        speed = SIZES[-1] / (cost[SIZES[-1]] - cost[SIZES[0]])
        report[name]["exchange"] = cost
        print("  exchange of two ranks: " + ", ".join(f"{s / 1024:.0f} KiB {t * 1e3:.2f} ms" for s, t in cost.items()))
        for title, a, k in (
            ("measured exchange", latency, speed),
            ("10 Gbit/s, 50 us", 5e-5, 1.25e9),
            ("100 Gbit/s, 20 us", 2e-5, 1.25e10),
        ):
            row = [predict(best[0], size, arrays, n, a, k, 0.5) for n in (2, 4, 8, 16)]
            print(
                f"  model, {title:18} "
                + "  ".join(f"{n}: {best[0] / t:5.2f} x" for n, t in zip((2, 4, 8, 16), row, strict=True))
            )
    if options.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
