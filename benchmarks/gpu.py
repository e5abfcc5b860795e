"""Time of networks on a GPU, beside PyTorch, and what the GPU could do at best.

python benchmarks/gpu.py [--only resnet50] [--json]

ResNet-50 (inference at batch 1, 32 and 256, a step of training at 64), BERT-base (128 and 512 tokens), an LSTM (two layers
of 512 units, 64 steps of 32 sequences): milliseconds, the least of several rounds, each ended by waiting for the GPU.
PyTorch runs eagerly and compiled where it (and torchvision, for ResNet-50) is installed, in float32 as we do, TF32 off on
both sides.

limit: the time that the arithmetic takes at the rate of a large matrix product, or reading the weights once at that of a
large copy, whichever is longer; both rates are measured here first. It ends with 3 where there is no GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from networks import NETWORKS, build_block

import hybrid as mx
from hybrid.core.error import MXNetError
from hybrid.device import registry

ROUNDS, SECONDS = 5, 1.0


@dataclass
class Case:
    """One to measure. operations: multiplications and additions of a run; weights: numbers."""

    name: str
    network: str
    batch: int
    training: bool
    operations: float
    weights: float
    tokens: int = 0


def cases() -> list[Case]:
    """All, with their arithmetic: 4.1 G products a picture; 85 M weights of layers for each token, and attention; 8 * 512 *
    1024 a step."""
    found = [Case(f"resnet50 batch {b}", "resnet50_v1", b, False, 8.2e9 * b, 25.6e6) for b in (1, 32, 256)]
    found.append(Case("resnet50 training 64", "resnet50_v1", 64, True, 3 * 8.2e9 * 64, 25.6e6))
    for tokens in (128, 512):
        attention = 12 * 4 * 768 * tokens * tokens
        found.append(Case(f"bert_base {tokens}", "bert_base", 1, False, 2 * 85e6 * tokens + attention, 85e6, tokens))
    found.append(Case("lstm", "lstm", 32, False, 2 * 2 * 64 * 32 * 4 * 512 * 1024, 4.2e6))
    return found


def least(run: Callable[[], Any], wait: Callable[[], Any]) -> float:
    """Milliseconds of a run, at best."""
    for _ in range(4):  # the third is captured
        run()
    wait()
    times = []
    for _ in range(ROUNDS):
        count, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < SECONDS / ROUNDS or not count:
            run()
            count += 1
        wait()
        times.append((time.perf_counter() - begin) / count)
    return 1e3 * min(times)


def inputs(case: Case) -> list[np.ndarray]:
    """Seeded inputs of a case."""
    arrays = NETWORKS[case.network].inputs(case.batch)
    if case.tokens:
        random = np.random.default_rng(0)
        arrays["data0"] = random.integers(0, 30522, (case.batch, case.tokens)).astype(np.float32)
        arrays["data1"] = random.integers(0, 2, (case.batch, case.tokens)).astype(np.float32)
        arrays["data2"] = np.full(case.batch, case.tokens, np.float32)
    return list(arrays.values())


def ours(case: Case) -> float:
    """Our time."""
    net = build_block(mx, NETWORKS[case.network], case.batch)
    net.collect_params().reset_ctx(mx.gpu())
    net.hybridize(static_alloc=True, static_shape=True)
    given = [mx.nd.array(a, ctx=mx.gpu()) for a in inputs(case)]
    if not case.training:
        return least(lambda: net(*given), mx.nd.waitall)
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})
    labels = mx.nd.zeros((case.batch,), ctx=mx.gpu())

    def step() -> None:
        with mx.autograd.record():
            found = loss(net(*given), labels)
        found.backward()
        trainer.step(case.batch)

    return least(step, mx.nd.waitall)


def theirs(case: Case, compiled: bool) -> float | None:
    """PyTorch's time; None where what it takes is not installed."""
    try:
        import torch

        if case.network == "resnet50_v1":
            import torchvision

            net: Any = torchvision.models.resnet50()
            given: Any = torch.tensor(inputs(case)[0], device="cuda")
        elif case.network == "bert_base":
            layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, activation="gelu", batch_first=True)
            net = torch.nn.TransformerEncoder(layer, 12)
            given = torch.randn(case.batch, case.tokens, 768, device="cuda")
        else:
            net = torch.nn.LSTM(512, 512, 2)
            given = torch.tensor(inputs(case)[0], device="cuda")
    except ImportError:
        return None
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    net = net.cuda().train(case.training)
    run = torch.compile(net) if compiled else net
    if not case.training:
        with torch.no_grad():
            return least(lambda: run(given), torch.cuda.synchronize)
    optimizer = torch.optim.SGD(net.parameters(), 0.01, 0.9)
    labels = torch.zeros(case.batch, dtype=torch.long, device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(run(given), labels).backward()
        optimizer.step()

    return least(step, torch.cuda.synchronize)


def rates() -> tuple[float, float]:
    """Operations and bytes a second: those of a product of 8192 x 8192, and of a copy of 1 GB, which is read and written."""
    device = registry.device(0)
    a = device.full((8192, 8192), 1.0, np.float32)
    product = least(lambda: np.matmul(a, a), device.synchronize)
    big = device.full((1 << 28,), 1.0, np.float32)
    copy = least(lambda: device.duplicate(big), device.synchronize)
    return 2 * 8192**3 / (product / 1e3), 2 * big.nbytes / (copy / 1e3)


def measured(only: str) -> Iterator[dict[str, Any]]:
    """A row for each case."""
    arithmetic, memory = rates()
    for case in cases():
        if only not in case.name:
            continue
        row: dict[str, Any] = asdict(case)
        row["limit_ms"] = 1e3 * max(case.operations / arithmetic, 4 * case.weights / memory)
        row["ours_ms"] = ours(case)
        row["pytorch_ms"], row["pytorch_compiled_ms"] = (theirs(case, c) for c in (False, True))
        yield row


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="of the cases, those whose names hold this")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        registry.device(0)
    except MXNetError as error:
        print(f"nothing was measured: {error}", file=sys.stderr)
        return 3
    if not given.json:
        print(f"{'milliseconds':24} {'ours':>10} {'PyTorch':>10} {'compiled':>10} {'limit':>10}")
    for row in measured(given.only):
        if given.json:
            print(json.dumps(row), flush=True)
            continue
        times = (row["ours_ms"], row["pytorch_ms"], row["pytorch_compiled_ms"], row["limit_ms"])
        print(f"{row['name']:24}", *(f"{'-':>10}" if t is None else f"{t:10.2f}" for t in times), flush=True)
    return 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
