"""Two branches on two places against the same on one: ``python -m benchmarks.places [--repeats 20]``.

Three forms of such work: a symbol of two independent branches with group2ctx, hybridized blocks over split_and_load, and Module
with two contexts. Kernels use one thread each (``set_num_threads(1)``), so that what is gained is gained by places. Both are
timed in turns and the least times compared: wall time, CPU time of the whole process, which tells whether others had the machine
meanwhile (CPU time by wall time is the number of cores that were had), and that of its busiest thread.

``--sizes`` asks something else: what a symbol of two independent branches gains by a second core when it is one program on one
place, whose steps share the threads one after another, and when its branches are on two (decision 0033)."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import hybrid as mx
from hybrid import autograd, gluon, native, nd, sym

BATCH, WIDTH, DEPTH = 512, 1024, 4


def two_branches(places: bool, train: bool, batch: int = BATCH, width: int = WIDTH) -> Callable[[], None]:
    """A step of a symbol whose branches are in two groups."""
    data, ends = sym.var("data"), []
    for name in "ab":
        with mx.AttrScope(ctx_group=name):
            x = data
            for i in range(DEPTH):
                x = sym.Activation(sym.FullyConnected(x, num_hidden=width, name=f"{name}{i}"), act_type="relu")
            ends.append(sym.FullyConnected(x, num_hidden=10, name=f"{name}_end"))
    with mx.AttrScope(ctx_group="a"):
        network = sym.SoftmaxOutput(ends[0] + ends[1], name="softmax")
    groups = {"a": mx.cpu(0), "b": mx.cpu(1)} if places else None
    made = network.simple_bind(mx.cpu(0), group2ctx=groups, grad_req="write" if train else "null", data=(batch, width))
    for array in made.arg_dict.values():
        array[:] = nd.random.normal(0, 0.05, array.shape)

    def step() -> None:
        made.forward(is_train=train)
        if train:
            made.backward()
        nd.waitall()

    return step


def dense() -> Any:
    """The network of the other two forms."""
    net = gluon.nn.HybridSequential()
    for _ in range(DEPTH):
        net.add(gluon.nn.Dense(WIDTH, activation="relu", in_units=WIDTH))
    net.add(gluon.nn.Dense(10, in_units=WIDTH))
    return net


def split_batch(places: bool, train: bool) -> Callable[[], None]:
    """A step of hybridized blocks and a Trainer on a batch that is split over contexts."""
    contexts = [mx.cpu(0), mx.cpu(1)] if places else [mx.cpu(0)]
    net = dense()
    net.initialize(ctx=contexts)
    net.hybridize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    loss.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    data, label = nd.random.normal(shape=(2 * BATCH, WIDTH)), nd.array(np.arange(2 * BATCH) % 10)

    def step() -> None:
        parts = gluon.utils.split_and_load(data, contexts)
        labels = gluon.utils.split_and_load(label, contexts)
        if train:
            with autograd.record():
                losses = [loss(net(x), y) for x, y in zip(parts, labels)]
            autograd.backward(losses)
            trainer.step(2 * BATCH)
        else:
            found = [net(x) for x in parts]
            for x in found:
                x.wait_to_read()
        nd.waitall()

    return step


def module(places: bool, train: bool) -> Callable[[], None]:
    """A step of Module."""
    contexts = [mx.cpu(0), mx.cpu(1)] if places else [mx.cpu(0)]
    network = sym.SoftmaxOutput(dense()(sym.var("data")), name="softmax")
    made = mx.mod.Module(network, context=contexts)
    made.bind([("data", (2 * BATCH, WIDTH))], [("softmax_label", (2 * BATCH,))], for_training=train)
    made.init_params()
    batch = mx.io.DataBatch([nd.random.normal(shape=(2 * BATCH, WIDTH))], [nd.array(np.arange(2 * BATCH) % 10)])
    if train:
        made.init_optimizer()

    def step() -> None:
        if train:
            made.forward_backward(batch)
            made.update()
        else:
            made.forward(batch, is_train=False)
        nd.waitall()

    return step


FORMS = {"group2ctx": two_branches, "split_and_load": split_batch, "Module": module}


def cpu_of_threads() -> dict[str, int]:
    """Nanoseconds that each thread of this process has had a CPU for; nothing where the system does not say."""
    found = {}
    for file in Path("/proc/self/task").glob("*/schedstat"):
        try:
            found[file.parent.name] = int(file.read_text().split()[0])
        except OSError:  # the thread has ended meanwhile
            continue
    return found


def measure(form: str, train: bool, repeats: int) -> dict[str, Any]:
    """One row: least wall and CPU milliseconds on one place and on two, in turns, and the ratio of wall times. busiest: CPU time of
    the thread that had most of it. at_best: CPU time on one place by that of the busiest thread on two (or half of all, if that is
    more), which is the most that the ratio can be on cores that nobody else wants."""
    steps = [FORMS[form](places, train) for places in (False, True)]
    wall, cpu, busiest = [[float("inf")] * 2 for _ in range(3)]
    for _ in range(3):
        for step in steps:
            step()
    for _ in range(repeats):
        for i, step in enumerate(steps):
            before, used, began = cpu_of_threads(), time.process_time(), time.perf_counter()
            step()
            wall[i] = min(wall[i], time.perf_counter() - began)
            cpu[i] = min(cpu[i], time.process_time() - used)
            spent = [1e-9 * (now - before.get(thread, 0)) for thread, now in cpu_of_threads().items()]
            busiest[i] = min(busiest[i], max(spent, default=float("inf")))
    row: dict[str, Any] = {"form": form, "train": train, "ratio": round(wall[0] / wall[1], 2)}
    row["at_best"] = round(cpu[0] / max(busiest[1], cpu[1] / 2), 2)
    for name, values in (("wall", wall), ("cpu", cpu), ("busiest", busiest)):
        row[f"{name}_ms"] = [round(1e3 * v, 2) for v in values]
    return row


SIZES = [(1, 128), (1, 512), (1, 1024), (16, 256), (64, 256), (64, 512), (256, 512)]
"""Batch and width of layers, from a step of tens of microseconds on."""


def by_size(batch: int, width: int, repeats: int) -> dict[str, Any]:
    """One row: least microseconds of inference on one place with a thread and with two, and on two places with a thread each, in
    turns."""
    steps = [two_branches(places, False, batch, width) for places in (False, False, True)]
    least = [float("inf")] * 3
    for turn in range(3 + repeats):
        for i, (step, threads) in enumerate(zip(steps, (1, 2, 2))):
            native.set_num_threads(threads)
            step()  # threads that were asleep wake
            began = time.perf_counter()
            step()
            if turn >= 3:
                least[i] = min(least[i], time.perf_counter() - began)
    one, two, places = (round(1e6 * v) for v in least)
    gains = {"two_threads": round(one / two, 2), "two_places": round(one / places, 2)}
    return {"batch": batch, "width": width, "us": [one, two, places], **gains}


def main() -> None:
    """Print a row of JSON for each form, or each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1, help="threads that kernels may use")
    parser.add_argument("--forms", nargs="*", default=list(FORMS), choices=list(FORMS))
    parser.add_argument("--sizes", action="store_true", help="two branches on one place, by their size")
    parser.add_argument("--json", action="store_true", help="as it is")
    options = parser.parse_args()
    if options.sizes:
        for batch, width in SIZES:
            print(json.dumps(by_size(batch, width, options.repeats)), flush=True)
        return
    native.set_num_threads(options.threads)
    for form in options.forms:
        for train in (False, True):
            print(json.dumps(measure(form, train, options.repeats)), flush=True)


if __name__ == "__main__":
    main()
