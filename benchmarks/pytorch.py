"""PyTorch's side of the benchmark of training: the networks of TRAINING (benchmarks/networks.py) as its modules.

Layers are listed in the order in which Gluon lists them, so that both get the same seeded weights. PyTorch runs as its users run it
on a CPU: eagerly, with its fused optimizer; pictures lie as its convolutions like them best (channels last), where that is
faster.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from networks import TRAINING, seeded


def resnet18(torch: Any) -> Any:
    """ResNet-18 V1 (He 2016) with ten classes, convolutions without biases."""
    nn = torch.nn

    def convolution(before: int, after: int, kernel: int, stride: int) -> Any:
        return nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False)

    class Residual(nn.Module):
        def __init__(self, before: int, after: int, stride: int):
            super().__init__()
            self.body = nn.Sequential(
                convolution(before, after, 3, stride),
                nn.BatchNorm2d(after),
                nn.ReLU(inplace=True),
                convolution(after, after, 3, 1),
                nn.BatchNorm2d(after),
            )
            self.shortcut = None
            if before != after:
                self.shortcut = nn.Sequential(convolution(before, after, 1, stride), nn.BatchNorm2d(after))

        def forward(self, x: Any) -> Any:
            return torch.relu((x if self.shortcut is None else self.shortcut(x)) + self.body(x))

    layers = [convolution(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for after in (64, 128, 256, 512):
        layers += [Residual(before, after, 1 if after == 64 else 2), Residual(after, after, 1)]
        before = after
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def lenet(torch: Any) -> Any:
    """LeNet for pictures of 28x28."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 20, 5),
        nn.Tanh(),
        nn.MaxPool2d(2, 2),
        nn.Conv2d(20, 50, 5),
        nn.Tanh(),
        nn.MaxPool2d(2, 2),
        nn.Flatten(),
        nn.Linear(800, 128),
        nn.Tanh(),
        nn.Linear(128, 10),
    )


def classifier(torch: Any) -> Any:
    """An LSTM of two layers over sequences of 64, and a dense layer on all that it answers."""
    nn = torch.nn

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(512, 512, num_layers=2, batch_first=True)
            self.dense = nn.Linear(64 * 512, 10)

        def forward(self, x: Any) -> Any:
            return self.dense(self.lstm(x)[0].flatten(1))

    return Classifier()


MODULES: dict[str, Callable[[Any], Any]] = {
    "resnet18 training": resnet18,
    "lenet training": lenet,
    "lstm training": classifier,
}


CHANNELS_LAST = {"resnet18 training"}


def named(module: Any, torch: Any) -> list[tuple[str, Any]]:
    """(name as Gluon ends it, tensor) of all weights and statistics."""
    found = []
    for prefix, layer in module.named_modules():
        norm = isinstance(layer, torch.nn.BatchNorm2d)
        gluon = {"weight": "gamma", "bias": "beta"} if norm else {}
        for name, tensor in layer.state_dict().items() if not [*layer.children()] else ():
            if name != "num_batches_tracked":
                kind = "bias" if name.startswith("bias") else name
                found.append((f"{prefix}_{gluon.get(kind, kind)}", tensor))
    return found


class PyTorch:
    """PyTorch, on the CPU."""

    def __init__(self, threads: int):
        self.torch: Any = importlib.import_module("torch")
        self.torch.set_num_threads(threads)
        self.call: Callable[[], Any] = lambda: None

    def train(self, name: str, batch: int) -> list[float]:
        """Training steps: forward, backward and update. Gives the losses of the first ones."""
        torch, job = self.torch, TRAINING[name]
        net = MODULES[name](torch).train()
        tensors = named(net, torch)
        values = seeded([(n, tuple(t.shape)) for n, t in tensors], job.scale)
        for (_, tensor), value in zip(tensors, values):
            tensor.copy_(torch.from_numpy(value))
        given = [torch.from_numpy(a) for a in job.inputs(batch).values()]
        if name in CHANNELS_LAST:
            net = net.to(memory_format=torch.channels_last)
            given = [g.contiguous(memory_format=torch.channels_last) for g in given]
        labels = torch.from_numpy(np.random.default_rng(1).integers(0, 10, batch))
        entropy = torch.nn.CrossEntropyLoss()
        trainer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9, fused=True)

        def call() -> Any:
            trainer.zero_grad()
            loss = entropy(net(*given), labels)
            loss.backward()
            trainer.step()
            return loss

        self.call = call
        return [float(call()) for _ in range(3)]
