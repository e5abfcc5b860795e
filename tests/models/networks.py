"""The whole networks of fixtures/models: exported by real MXNet 1.9.1, with inputs and the outputs it gave."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FOLDER = Path(__file__).parents[2] / "fixtures" / "models"


class Network(NamedTuple):
    """One folder."""

    name: str
    folder: Path
    birth: dict[str, Any]

    @property
    def prefix(self) -> str:
        return str(self.folder / "model")

    @property
    def limit(self) -> float:
        """Bound on the error of outputs, over their scale: float32 accuracy unless the graph computes in float16."""
        text = (self.folder / "model-symbol.json").read_text()
        fed = [a.dtype.name for inputs, outputs in self.runs() for a in (*inputs.values(), *outputs.values())]
        return 2e-3 if "float16" in fed or re.search(r'"float16"|"__dtype__": "2"', text) else 1e-5

    def runs(self) -> list[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]]:
        """(inputs, outputs) of every recorded run."""
        out = []
        for suffix in ("", "-2"):
            inputs, outputs = self.folder / f"inputs{suffix}.npz", self.folder / f"outputs{suffix}.npz"
            if outputs.exists():
                out.append((_arrays(inputs) if inputs.exists() else {}, _arrays(outputs)))
        return out

    def dynamic(self) -> dict[str, dict[int, str]]:
        """Axes that differ between the recorded runs, by one name for each pair of sizes."""
        runs = self.runs()
        if len(runs) < 2:
            return {}
        names: dict[tuple[int, int], str] = {}
        out: dict[str, dict[int, str]] = {}
        for name, array in runs[0][0].items():
            for axis, sizes in enumerate(zip(array.shape, runs[1][0][name].shape)):
                if sizes[0] != sizes[1]:
                    out.setdefault(name, {})[axis] = names.setdefault(sizes, f"n{len(names)}")
        return out


def _arrays(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as stored:
        return {k: stored[k] for k in stored.files}


def networks() -> list[Network]:
    return [Network(p.parent.name, p.parent, json.loads(p.read_text())) for p in sorted(FOLDER.glob("*/birth.json"))]


def agree(got: dict[str, np.ndarray], want: dict[str, np.ndarray], limit: float, least: float = 0.0) -> None:
    """Assert that all outputs are there and within the limit, times the output's scale. least: the least scale there is, of the
    numbers that were added up: a sum that cancels (a gradient that is 0) holds nothing but rounding, another on each machine."""
    assert len(got) == len(want)
    by_name = set(got) == set(want)
    for (name, array), other in zip(want.items(), list(got.values())):
        value = got[name] if by_name else other
        assert value.shape == array.shape, name
        assert value.dtype == array.dtype, name
        finite = np.isfinite(array)
        np.testing.assert_array_equal(value[~finite], array[~finite], err_msg=name)
        scale = max(float(np.abs(array[finite]).max(initial=0)), least) or 1.0
        error = float(np.abs(value[finite].astype(np.float64) - array[finite].astype(np.float64)).max(initial=0))
        assert error <= limit * scale, f"{name}: off by {error:.3g} of scale {scale:.3g}"
