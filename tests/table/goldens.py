"""Reads fixtures/ops: applications of single operators, with the numbers that real MXNet 1.9.1 gave for them."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hybrid.graph.graph import Entry, Graph, Node
from hybrid.op import REGISTRY, Op

FOLDER = Path(__file__).parents[2] / "fixtures" / "ops"

# inputs that a model stores rather than is fed
PARAMETERS = {"weight", "bias", "gamma", "beta", "moving_mean", "moving_var", "parameters"}


class Case(NamedTuple):
    """One recorded application."""

    operator: str
    id: str
    attrs: dict[str, str]
    names: tuple[str, ...]
    data: dict[str, dict[str, np.ndarray]]
    """Recorded arrays by kind ("in", "out", "train", "aux", "auxafter", "head", "grad") and name."""

    def arrays(self) -> list[np.ndarray]:
        """All inputs, auxiliary states last, fresh copies."""
        known = {**self.data.get("in", {}), **self.data.get("aux", {})}
        return [known[n].copy() for n in self.names]

    def outputs(self, kind: str = "out") -> list[np.ndarray]:
        found = self.data.get(kind, {})
        return [found[str(i)] for i in range(len(found))]

    def op(self) -> Op:
        """The typed operator; variadic ones are told their number of inputs, as the JSON reader does."""
        cls, attrs = REGISTRY[self.operator], dict(self.attrs)
        if cls.inputs[:1] and cls.inputs[0].startswith("*") and cls.count in cls.fields:
            attrs.setdefault(cls.count, str(len(self.names)))
        return cls.bind(**attrs)

    def graph(self) -> Graph:
        """The one-operator graph, showing all visible outputs."""
        node = Node(self.op(), "node", [Entry(Node(None, n)) for n in self.names], self.attrs)
        return Graph(Entry(node, i) for i in range(node.visible))


@functools.lru_cache(maxsize=None)
def _load(path: Path) -> tuple[Case, ...]:
    table = json.loads(path.read_text())
    arrays: dict[str, dict[str, dict[str, np.ndarray]]] = {}
    with np.load(path.with_suffix(".npz")) as stored:
        for key in stored.files:
            case, kind, name = key.rsplit("/", 2)
            arrays.setdefault(case, {}).setdefault(kind, {})[name] = stored[key]
    return tuple(
        Case(
            table["operator"],
            row["id"],
            row["attrs"],
            (*row["inputs"], *(n for n in row.get("aux") or {} if n not in row["inputs"])),
            arrays.get(row["id"], {}),
        )
        for row in table["cases"]
        if not row.get("error")
    )


def cases(*, known: bool = True) -> Iterator[Case]:
    """All recorded cases that MXNet accepted, of operators that are defined here (or of all)."""
    for path in sorted(FOLDER.glob("*.json")):
        if not known or path.stem in REGISTRY:
            yield from _load(path)


def close(got: Any, want: np.ndarray, op: Op, eps: float | None = None) -> None:
    """Assert that got is want within the operator's tolerance: so many epsilons of want's dtype, times want's scale.

    Infinities and NaNs have to be at the same places; integers have to be equal."""
    got = np.asarray(got)
    assert got.shape == want.shape, f"shape {got.shape}, wanted {want.shape}"
    assert got.dtype == want.dtype, f"dtype {got.dtype}, wanted {want.dtype}"
    if want.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want)
        return
    finite = np.isfinite(want)
    np.testing.assert_array_equal(got[~finite], want[~finite])
    scale = max(float(np.abs(want[finite]).max(initial=0)), float(np.finfo(want.dtype).tiny))
    eps = max(float(np.finfo(want.dtype).eps), eps or 0)
    np.testing.assert_allclose(got[finite], want[finite], rtol=0, atol=op.tolerance * eps * scale)
