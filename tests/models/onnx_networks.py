"""The networks of fixtures/onnx: written by several exporters, with two sets of inputs and what onnxruntime computed from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FOLDER = Path(__file__).parents[2] / "fixtures" / "onnx"


class OnnxNetwork(NamedTuple):
    """One folder."""

    name: str
    folder: Path

    @property
    def model(self) -> Path:
        return self.folder / "model.onnx"

    def runs(self) -> list[tuple[dict[str, Any], dict[str, np.ndarray]]]:
        """(inputs, outputs) of both recorded runs; of outputs that are no tensors the parts, by the names they are stored under."""
        return [(_inputs(self.folder / f"inputs-{i}.npz"), _arrays(self.folder / f"outputs-{i}.npz")) for i in (1, 2)]


def onnx_networks() -> list[OnnxNetwork]:
    """All of them."""
    return [OnnxNetwork(folder.name, folder) for folder in sorted(FOLDER.iterdir()) if (folder / "model.onnx").exists()]


def parts(name: str, value: Any) -> dict[str, np.ndarray]:
    """A result under the names that fixtures/make/onnx_files.py stores it by: items of a sequence after a slash, and the keys and
    values of a map."""
    if isinstance(value, list):
        return {k: v for i, item in enumerate(value) for k, v in parts(f"{name}/{i}", item).items()}
    if isinstance(value, dict):
        return {f"{name}/keys": np.array(list(value)), f"{name}/values": np.array(list(value.values()), np.float32)}
    return {} if value is None else {name: np.asarray(value)}


def _inputs(path: Path) -> dict[str, Any]:
    """Feeds: the items of a sequence as a list, words as objects."""
    out: dict[str, Any] = {}
    for name, array in _arrays(path).items():
        base, _, index = name.rpartition("/")
        if base and index.isdigit():
            out.setdefault(base, []).append(array)
        else:
            out[name] = array.astype(object) if array.dtype.kind == "U" else array
    return out


def _arrays(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as stored:
        return {k: stored[k] for k in stored.files}
