"""Samples of a batch held against the file that takes them one by one: what proves that a model means the same at another batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx

from .compare import TOLERANCES, Tolerance, compare
from .conditioning import settle, truth_of
from .engines import Arrays, Engine, NativeEngine
from .models import BadInput, Model
from .resizing import Shape, declared_inputs, resized


@dataclass(frozen=True)
class Batches:
    """A model at the batch that its file was exported with, to be run sample by sample."""

    model: Model
    axes: Mapping[str, int]
    """The axis of the batch, by input; empty where other axes alone have other sizes."""
    batch: int
    changes: tuple[str, ...]

    def check(
        self, engine: NativeEngine, witness: Engine, runs: Sequence[Arrays], tolerance: Tolerance | None
    ) -> list[str]:
        """Compare what an engine gives for whole batches with what the file, which the witness runs, gives for its samples; gives
        warnings.

        Raises BadInput naming what was changed in the model, when they differ: the batch is held elsewhere, or samples meet."""
        if not self.axes:
            return ["at these sizes the model was compared with onnxruntime alone: the file itself does not take them"]
        for feeds in runs:
            self._compare(engine, witness, feeds, tolerance)
        return []

    def _compare(self, engine: NativeEngine, witness: Engine, feeds: Arrays, tolerance: Tolerance | None) -> None:
        whole = engine.run(feeds)
        count = next(feeds[n].shape[a] for n, a in self.axes.items())
        parts: dict[str, list[np.ndarray]] = {n: [] for n in whole}
        for first in range(0, count, self.batch):
            rows = (first + np.arange(self.batch)) % count
            made = witness.run({n: np.take(a, rows, self.axes[n]) if n in self.axes else a for n, a in feeds.items()})
            for name, own in zip(whole, witness.outputs):
                parts[name].append(made[own])
        together = {n: self._joined(whole[n], each, count) for n, each in parts.items()}
        apart = [n for n, each in together.items() if each is None]
        pairs = [(n, n) for n, each in together.items() if each is not None]
        want = {n: each for n, each in together.items() if each is not None}
        limits = {n: tolerance or TOLERANCES.get(np.dtype(a.dtype).name) for n, a in want.items()}
        differences = [compare(n, whole[n], want[n], limits[n]) for n, _ in pairs]
        if tolerance is None and not all(d.equal for d in differences):
            differences = settle(differences, pairs, want, whole, truth_of(engine, engine.complete(feeds)))
        wrong = [
            *(f"{n} {whole[n].shape}" for n in apart),
            *(f"{d.name} ({d.reason})" for d in differences if not d.equal),
        ]
        if wrong:
            changed = f"; written anew were {'; '.join(self.changes)}" if self.changes else ""
            raise BadInput(
                f"the model does not mean the same at a batch of {count}: {', '.join(wrong)} is not what the file gives for the "
                f"samples by themselves{changed}; export the model at this batch, or with that axis open"
            )

    def _joined(self, whole: np.ndarray, parts: Sequence[np.ndarray], count: int) -> np.ndarray | None:
        """The outputs of all samples along the axis that grew; None when none did, or more than one."""
        own = parts[0].shape
        if whole.ndim != len(own):
            return None
        if count == self.batch:
            return parts[0]
        grew = [a for a in range(len(own)) if whole.shape[a] != own[a]]
        if len(grew) != 1 or whole.shape[grew[0]] * self.batch != own[grew[0]] * count:
            return None
        return np.take(np.concatenate(parts, grew[0]), np.arange(whole.shape[grew[0]]), grew[0])


def at_sizes(source: Model, sizes: Mapping[str, Shape]) -> tuple[Model, Batches | None, tuple[str, ...]]:
    """A model at other sizes, what its batches are to be held against (None where the file takes these sizes itself), and what was
    changed in it. Raises BadInput."""
    assert source.proto is not None
    whole = source.proto if source.path is None else onnx.load(source.path)
    declared = declared_inputs(whole)
    found = resized(whole, sizes)
    model = Model(source.name, proto=found.proto)
    changed = {
        n: [a for a, (o, w) in enumerate(zip(declared[n] or (), wanted)) if isinstance(o, int) and o != w]
        for n, wanted in sizes.items()
    }
    changed = {n: axes for n, axes in changed.items() if axes}
    if not changed:
        return model, None, found.changes
    old = {(declared[n] or ())[axes[0]] for n, axes in changed.items()}
    new = {sizes[n][axes[0]] for n, axes in changed.items()}
    batch = next(iter(old))
    assert isinstance(batch, int)
    if len(old) > 1 or len(new) > 1 or any(axes[0] > 1 for axes in changed.values()):
        return model, Batches(model, {}, batch, found.changes), found.changes
    axes = {n: each[0] for n, each in changed.items()}
    base = Model(source.name, proto=whole, path=source.path, archive=source.archive)
    kept = {n: tuple(batch if i == axes.get(n) else w for i, w in enumerate(sizes[n])) for n in sizes}
    if any(isinstance(o, int) and o != w for n, dims in kept.items() for o, w in zip(declared[n] or (), dims)):
        base = Model(source.name, proto=resized(whole, kept).proto)  # other axes have other sizes as well
    return model, Batches(base, axes, batch, found.changes), found.changes
