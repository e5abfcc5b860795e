"""Steps of training on 1, 2, ... processes at the same total batch, the parts of them, and what follows for more processes.

python benchmarks/distributed.py [--ranks 1,2,4] [--networks wide,deep] [--rounds 3] [--json]

One process is ``python -m hybrid`` with one thread and no store; N are ``mpirun -n N`` with one thread each and dist_sync. All are
measured in turns, and the fastest of several rounds counts, for others may use the machine. ``wall`` is of 8 steps between
barriers. ``cpu`` is the processor time that a process itself used, which others on the machine do not add to (but for caches and
memory, which they share).

The model: a step of N ranks takes T(N) = C(N) + U + E(N) + X(N) seconds. C(N): forward and backward pass of a batch divided by N,
as one process takes for it; U: the update of all weights, which every rank does whole; E(N): what a rank's processor has to do for
exchanges, from such of 2 and 4 ranks; X(N): latency and bandwidth of what lies between ranks. C, U and E are processor times, so
that every rank has to have a core of its own. docs/distributed.md says what else it assumes."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STEPS = 8
BATCH = {"wide": 256, "deep": 32}
SIZES = (1 << 10, 1 << 16, 1 << 20, 1 << 24)
SHARES = (1, 2, 4, 8, 16)
"""Numbers of ranks that the model tells of."""
LINKS = {"one machine": (0.0, float("inf")), "100 Gbit/s, 20 us": (2e-5, 1.25e10), "10 Gbit/s, 50 us": (5e-5, 1.25e9)}
"""Seconds that a message takes, and bytes a second, beyond what processors do for it."""
SMALL = 1 << 14
"""Bytes up to which an array takes one trip instead of two (hybrid.kvstore.exchanges)."""


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
    """Print, as rank 0, seconds of a step and of its parts, bytes of gradients, and seconds of exchanges by bytes."""
    sys.path.insert(0, str(ROOT))
    import hybrid as mx

    store = mx.kv.create("dist_sync") if distributed else None
    rank, size = (store.rank, store.num_workers) if store is not None else (0, 1)
    mx.runtime.set_num_threads(1)
    net, shape = network(mx, name)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01}, kvstore=store)

    def passes(count: int) -> Callable[[], None]:
        data, label = mx.nd.random.uniform(shape=(count, *shape)), mx.nd.zeros((count,))

        def both() -> None:
            with mx.autograd.record():
                value = loss(net(data), label)
            value.backward()

        return both

    def step() -> None:
        trainer.step(BATCH[name])

    updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.01))

    def update() -> None:
        for i, param in enumerate(net.collect_params().values()):
            updater(i, param.grad(), param.data())

    def timed(*work: Callable[[], None]) -> tuple[float, float]:
        """The least (wall, cpu) seconds of one time."""
        found = []
        for turn in range(5):
            mx.nd.waitall()
            if store is not None:
                store._barrier()
            begin, busy = time.perf_counter(), time.process_time()
            for _ in range(STEPS if turn else 3):
                for each in work:
                    each()
            mx.nd.waitall()
            if store is not None:
                store._barrier()
            if turn:
                found.append(((time.perf_counter() - begin) / STEPS, (time.process_time() - busy) / STEPS))
        return min(wall for wall, _ in found), min(busy for _, busy in found)

    told: dict[str, Any] = {}
    told["step"], told["cpu"] = timed(passes(BATCH[name] // size), step)
    told["arrays"] = [p.data().size * 4 for p in net.collect_params().values()]
    if store is None:
        told["passes"] = {n: timed(passes(BATCH[name] // n))[1] for n in SHARES}
        told["update"] = timed(update)[1]
    elif size > 1:
        told["exchange"] = {}
        for nbytes in SIZES:
            arrays = [mx.nd.zeros((nbytes // 4,)) for _ in range(max(1, min(32, SIZES[-1] // nbytes)))]
            keys = [f"{i} of {nbytes} bytes" for i in range(len(arrays))]
            store.init(keys, arrays)

            def exchange(keys: Any = keys, arrays: Any = arrays) -> None:
                """All at once, as in training, so that what waiting costs is not taken for the cost of a message."""
                for key, array in zip(keys, arrays):
                    store.pushpull(key, array, out=array)
                for array in arrays:
                    array.wait_to_read()

            told["exchange"][nbytes] = [seconds / len(arrays) for seconds in timed(exchange)]
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


def fitted(cost: Mapping[int, Mapping[int, Sequence[float]]]) -> tuple[float, float, float]:
    """Processor seconds of an exchange for each array, for each array and other rank, and for each byte of it that a rank moves.
    cost: (wall, cpu) seconds of one by ranks and bytes."""
    least, most = SIZES[0], SIZES[-1]
    few, many = min(cost), max(cost)
    by_rank = (
        max(0.0, (cost[many][least][1] - cost[few][least][1]) / (many - few)) if many > few else cost[few][least][1]
    )
    for_each = max(0.0, cost[few][least][1] - (few - 1) * by_rank)
    return for_each, by_rank, (cost[few][most][1] - cost[few][least][1]) / ((most - least) * moved(few))


def moved(ranks: int) -> float:
    """Bytes that a rank sends, and receives, for each byte of an array: its share of the sum to all, and theirs to it."""
    return 2 * (ranks - 1) / ranks


def predict(
    compute: float,
    update: float,
    arrays: Sequence[int],
    ranks: int,
    latency: float,
    speed: float,
    work: Sequence[float],
) -> float:
    """Seconds of a step on so many ranks, by the model. work: as fitted gives it."""
    if ranks == 1:
        return compute + update
    for_each, by_rank, by_byte = work
    others, travels = ranks - 1, moved(ranks) * sum(arrays)
    exchange = (for_each + others * by_rank) * len(arrays) + by_byte * travels
    messages = sum(others * (1 if size <= SMALL else 2) for size in arrays)
    return compute + update + exchange + latency * messages + travels / speed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="1,2,4")
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
    report: dict[str, Any] = {"load": os.getloadavg()[0]}
    print(f"load of the machine before it: {report['load']:.1f}, of {os.cpu_count()} cores")
    for name in options.networks.split(","):
        found: dict[int, list[dict[str, Any]]] = {n: [] for n in ranks}
        for _ in range(options.rounds):
            for n in ranks:
                found[n].append(ask(name, n))
        wall = {n: min(told["step"] for told in every) for n, every in found.items()}
        cpu = {n: min(told["cpu"] for told in every) for n, every in found.items()}
        arrays = found[0][0]["arrays"]
        compute = {n: min(told["passes"][str(n)] for told in found[0]) for n in SHARES}
        update = min(told["update"] for told in found[0])
        report[name] = {"arrays": arrays, "wall": wall, "cpu": cpu, "passes": compute, "update": update}
        print(f"{name}: {sum(arrays) / 1e6:.1f} MB of gradients in {len(arrays)} arrays, batch {BATCH[name]}")
        for n, seconds in wall.items():
            title = "one process, no store" if n == 0 else f"{n} ranks, dist_sync"
            print(
                f"  {title:24} {seconds * 1e3:9.2f} ms wall   {cpu[n] * 1e3:9.2f} ms cpu   {wall[0] / seconds:5.2f} x by wall"
                f"   {cpu[0] / cpu[n]:5.2f} x by cpu"
            )
        print(
            "  both passes, ms cpu, of a batch divided by "
            + ", ".join(f"{n}: {t * 1e3:.2f}" for n, t in compute.items())
        )
        print(f"  update {update * 1e3:.2f} ms cpu")
        cost = {
            n: {s: [min(told["exchange"][str(s)][i] for told in every) for i in range(2)] for s in SIZES}
            for n, every in found.items()
            if n > 1
        }
        if not cost:
            continue
        work = fitted(cost)
        report[name] |= {"exchange": cost, "work": work}
        for n, costs in cost.items():
            said = ", ".join(f"{s >> 10} KiB {w * 1e3:.2f} wall {c * 1e3:.2f} cpu" for s, (w, c) in costs.items())
            print(f"  exchange of {n} ranks, ms: {said}")
        each, by_rank, by_byte = work
        print(
            f"  of it {each * 1e6:.0f} us an array, {by_rank * 1e6:.0f} us an array and other rank, {by_byte * 1e9:.2f} ns a byte"
        )
        for title, link in LINKS.items():
            row = {n: predict(compute[n], update, arrays, n, *link, work) for n in SHARES}
            report[name][title] = row
            said = "  ".join(f"{n}: {t * 1e3:7.2f} ms {row[1] / t:5.2f} x" for n, t in row.items())
            print(f"  model, {title:18} {said}")
    if options.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
