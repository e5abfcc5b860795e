"""Many small models, made from a few of fixtures/models by other weights."""

from __future__ import annotations

import shutil
from itertools import cycle, islice
from pathlib import Path

import numpy as np

import hybrid as mx
from tests.models.networks import FOLDER, Network

KINDS = ("linear_regression", "mlp_activations", "logistic_regression", "lenet", "two_inputs_three_outputs")


def make_models(folder: Path, count: int, kinds: tuple[str, ...] = KINDS) -> list[str]:
    """Write so many models into a folder, ``0000`` and on, the kinds in turns, each with weights of its own.

    Gives the lines of a list, for who stands in that folder: each model with its output and the shapes of its inputs."""
    lines = []
    for number, kind in enumerate(islice(cycle(kinds), count)):
        source = Network(kind, FOLDER / kind, {})
        inside = folder / f"{number:04}"
        inside.mkdir(parents=True)
        shutil.copyfile(source.folder / "model-symbol.json", inside / "model-symbol.json")
        random = np.random.default_rng(number)
        weights = mx.nd.load(str(source.folder / "model-0000.params"))
        changed = {
            name: mx.nd.array(w.asnumpy() * random.uniform(0.9, 1.1, w.shape), dtype=w.dtype)
            for name, w in weights.items()
        }
        mx.nd.save(str(inside / "model-0000.params"), changed)
        shapes = [f"--input {name}:{','.join(map(str, a.shape))}" for name, a in source.runs()[0][0].items()]
        lines.append(f"{number:04} -o {number // 100}/{number:04} {' '.join(shapes)}")
    return lines
