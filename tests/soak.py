"""Many threads, many networks, for as long as asked: python -m tests.soak --minutes N [--threads N] [--json]

Every thread takes one task after the other, at random: a recorded network run by the block that all threads share, as it is or
hybridized, with one of the recorded inputs; the same loaded afresh; or some steps of training. Results have to be those that MXNet
recorded, or, of training, those that one thread alone got before. What the process holds at the end is compared with what it held
when every task had run once.

Exit status 0 when all results were right and memory did not grow by more than GROWTH."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import hybrid as mx
from hybrid import autograd, gluon, nd
from tests.house.docs import ROOT
from tests.models.networks import Network, agree, networks

GROWTH = 0.2
"""Of the memory in use, and as many bytes as SLACK."""
SLACK = 64 << 20
Task = Callable[[np.random.Generator], None]


def load(network: Network) -> gluon.SymbolBlock:
    inputs = list(network.runs()[0][0])
    return gluon.SymbolBlock.imports(f"{network.prefix}-symbol.json", inputs, f"{network.prefix}-0000.params")


def infer(network: Network, block: gluon.SymbolBlock, choice: np.random.Generator) -> None:
    """One call, held to what MXNet recorded. Raises AssertionError."""
    runs = network.runs()
    feeds, want = runs[choice.integers(len(runs))]
    got = block(*(nd.array(a, dtype=a.dtype) for a in feeds.values()))
    found = got if isinstance(got, list | tuple) else [got]
    agree(dict(zip(want, (y.asnumpy() for y in found), strict=True)), want, network.limit)


def train(number: int) -> list[np.ndarray]:
    """The parameters after some steps that the number decides about."""
    numbers = np.random.default_rng(number)
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Conv2D(4, 3, in_channels=2, activation="relu"),
        gluon.nn.BatchNorm(in_channels=4),
        gluon.nn.Dense(5, in_units=4 * 16),
    )
    net.initialize()
    for p in net.collect_params().values():
        p.set_data(nd.array(numbers.uniform(0.1, 0.5, p.shape)))
    net.hybridize(active=number % 2 == 1)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    for step in range(4):
        rows = 3 + (number + step) % 3
        x, y = nd.array(numbers.uniform(-1, 1, (rows, 2, 6, 6))), nd.array(numbers.integers(0, 5, rows))
        with autograd.record():
            value = loss(net(x), y)
        value.backward()
        trainer.step(rows)
    return [p.data().asnumpy() for p in net.collect_params().values()]


def tasks() -> dict[str, Task]:
    """Tasks that threads choose from, by name."""
    found: dict[str, Task] = {}
    for network in networks():
        if not network.runs() or not network.runs()[0][0]:
            continue
        try:
            blocks = {"as it is": load(network), "hybridized": load(network)}
            blocks["hybridized"].hybridize(static_alloc=True)
            for block in blocks.values():
                infer(network, block, np.random.default_rng(0))
        except (AssertionError, mx.MXNetError, KeyError):
            continue  # random, or not to be called with its inputs alone: tests/models has it
        for how, block in blocks.items():
            found[f"{network.name}, {how}"] = lambda choice, n=network, b=block: infer(n, b, choice)
        found[f"{network.name}, loaded"] = lambda choice, n=network: infer(n, load(n), choice)
    for number in range(6):
        alone = train(number)
        found[f"training {number}"] = lambda _, n=number, want=alone: same(train(n), want)
    return found


def same(got: list[np.ndarray], want: list[np.ndarray]) -> None:
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def resident() -> int:
    """Bytes that the process has in memory."""
    with open("/proc/self/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


class Soaked(NamedTuple):
    """Result of a soak; memory in bytes."""

    tasks: int
    runs: int
    held: int
    end: int
    problems: list[str]


def soak(minutes: float, threads: int, chosen: dict[str, Task]) -> Soaked:
    """Let threads run tasks."""
    names, runs, problems = list(chosen), [0] * threads, list[str]()

    def work(seed: int) -> None:
        choice = np.random.default_rng(seed)
        while time.monotonic() < end and len(problems) < 10:
            name = names[choice.integers(len(names))]
            try:
                chosen[name](choice)
            except Exception as error:
                problems.append(f"{name}: {type(error).__name__}: {error}")
            runs[seed] += 1

    for name in names:
        chosen[name](np.random.default_rng(1))
    held, end = resident(), time.monotonic() + 60 * minutes
    pool = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    now = resident()
    if now > held * (1 + GROWTH) + SLACK:
        problems.append(f"{held >> 20} MiB were in use when every task had run once, and {now >> 20} in the end")
    return Soaked(len(names), sum(runs), held, now, problems)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--json", action="store_true", help="a record for docs/reliability.jsonl")
    asked = parser.parse_args()
    found = soak(asked.minutes, asked.threads, tasks())
    text = (
        f"{found.runs:,} runs of {found.tasks} tasks in {asked.threads} threads, {asked.minutes:g} minutes: "
        f"{len(found.problems)} wrong; {found.held >> 20} MiB when each had run once, {found.end >> 20} in the end"
    )
    if asked.json:
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        print(
            json.dumps(
                {
                    "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                    "commit": commit.stdout.strip(),
                    "what": "soak",
                    "result": text,
                    "command": f"python -m tests.soak --minutes {asked.minutes:g} --threads {asked.threads}",
                }
            )
        )
    else:
        print(text)
    print(*found.problems, sep="\n", end="\n" if found.problems else "", file=sys.stderr)
    return 1 if found.problems else 0


if __name__ == "__main__":
    sys.exit(main())
