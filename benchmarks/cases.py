"""Graphs that benchmarks/breadth.py measures: committed networks, and public architectures of real sizes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))  # behind what is installed, which has the compiled part

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from architectures import ARCHITECTURES, Architecture  # noqa: E402

from hybrid.core.shapes import is_known  # noqa: E402
from hybrid.ir.graph import Entry  # noqa: E402
from hybrid.ir.infer import infer  # noqa: E402
from hybrid.passes.strip_labels import label_names  # noqa: E402

Row = dict[str, Any]
WORDS = (onnx.TensorProto.STRING, onnx.TensorProto.UNDEFINED)
"""Types of elements of outputs that are not compared; sequences and maps have none."""
Arrays = dict[str, np.ndarray]


class Case(NamedTuple):
    """A graph on both sides."""

    name: str
    prefix: Path
    """Of the symbol and parameters that we load."""
    onnx: Path
    names: tuple[str, ...]
    """Inputs of the symbol, in the order of"""
    runs: list[Arrays]
    """those of the ONNX file, by name."""
    set: str = "fixtures"
    """Or the dtype of an architecture."""
    built: str = ""
    """Part of an architecture that was built."""
    steady: tuple[int, ...] | None = None
    """Outputs that can be compared; None: all."""
    mode: str = ""
    """Name of what grows, and where it stands; nothing: fixed and changing."""


def fixtures(only: str, scratch: Path) -> Iterator[Case | Row]:
    """The committed networks, or a row that says why one has nothing to compare."""
    import bridge
    from tests.models.networks import FOLDER, Network
    from tests.models.onnx_networks import onnx_networks

    for folder in sorted(FOLDER.iterdir()):
        if only not in folder.name or not (folder / "birth.json").exists():
            continue
        network = Network(folder.name, folder, json.loads((folder / "birth.json").read_text()))
        target = scratch / f"{network.name}.onnx"
        try:
            runs = [inputs for inputs, _ in network.runs()]
            if not runs:
                continue
            names = tuple(n for n in network.birth["inputs"] if n in runs[0])
            specs = {n: runs[0][n] for n in names}
            options: dict[str, Any] = {"dynamic": network.dynamic()} if network.dynamic() else {}
            bridge.convert(network.prefix, inputs=specs, output=target, verify=False, **options)
            runs = [_with_labels(network.prefix, {n: r[n] for n in names}) for r in runs]
            yield Case(network.name, Path(network.prefix), target, tuple(runs[0]), runs)
        except Exception as failed:  # one that cannot be measured is a row of the table
            yield {
                "name": network.name,
                "set": "fixtures",
                "failed": f"{type(failed).__name__}: {failed}".splitlines()[0],
            }
    for network in onnx_networks():
        if only not in network.name:
            continue
        try:
            runs = [inputs for inputs, _ in network.runs()]
            if any(not isinstance(v, np.ndarray) or v.dtype == object for r in runs for v in r.values()):
                continue  # sequences and words are no arrays
            opened = bridge.open_model(network.model)
            if opened.imported.changes_numerics:
                continue  # an exporter of MXNet wrote it, and onnxruntime reads it otherwise than it was meant
            found = bridge.import_onnx(opened, output=scratch / network.name, verify=False)
            runs = [{n: r[n] for n in found.inputs} for r in runs]
            outputs = onnx.load(network.model).graph.output
            steady = tuple(i for i, o in enumerate(outputs) if o.type.tensor_type.elem_type not in WORDS)
            case = Case(network.name, scratch / network.name, network.model, tuple(found.inputs), runs)
            yield case if len(steady) == len(outputs) else case._replace(steady=steady)
        except Exception as failed:
            yield {
                "name": network.name,
                "set": "fixtures",
                "failed": f"{type(failed).__name__}: {failed}".splitlines()[0],
            }


def _with_labels(prefix: str, run: Arrays) -> Arrays:
    """The inputs, and zeros for the labels that loss heads take, which no output depends on."""
    import bridge

    model = bridge.open_model(prefix)
    assert model.graph is not None
    found = infer(model.graph, {n: a.shape for n, a in run.items()})
    labels = {
        n: found.spec(Entry(v)).shape for v in model.graph.variables() if (n := v.name) in {*label_names(model.graph)}
    }
    return run | {n: np.zeros(shape, np.float32) for n, shape in labels.items() if is_known(shape) and n not in run}


def architectures(
    names: Sequence[str], dtypes: Sequence[str], layers: int, scratch: Path, growth: bool = False
) -> Iterator[Case | Row]:
    """Architectures in these dtypes, so deep at most, written to a folder unless they are there; then how float32 grows."""
    for name in names or ARCHITECTURES:
        architecture = ARCHITECTURES[name]
        for dtype in dtypes:
            about = {"name": name, "set": dtype}
            try:
                case = _built(name, architecture, dtype, layers, scratch)
                yield case
                if growth and dtype == "float32":
                    yield from _grown(name, architecture, layers, case, scratch)
            except Exception as failed:
                yield about | {"failed": f"{type(failed).__name__}: {failed}".splitlines()[0]}


def _built(name: str, architecture: Architecture, dtype: str, layers: int, scratch: Path) -> Case:
    """An architecture, imported."""
    import onnx

    import bridge

    stem = f"{name}-{dtype}-{min(layers, architecture.layers)}"
    target = scratch / f"{stem}.onnx"
    if not target.exists():
        architecture.build(dtype, layers, target)
    found = bridge.import_onnx(target, output=scratch / stem, verify=False)
    runs = [{n: r[n] for n in found.inputs} for r in architecture.feeds(dtype, layers)]
    case = Case(name, scratch / stem, target, tuple(found.inputs), runs, dtype, architecture.words(layers))
    if architecture.steady and dtype != "float32":
        outputs = [o.name for o in onnx.load(target, load_external_data=False).graph.output]
        case = case._replace(steady=tuple(map(outputs.index, architecture.steady)))
    return case


def _grown(name: str, architecture: Architecture, layers: int, case: Case, scratch: Path) -> Iterator[Case]:
    """The same with other sizes and with more layers."""
    for what, sizes in architecture.grown.items():
        for one, run in zip(sizes, architecture.feeds(case.set, layers, sizes), strict=True):
            at = one.get(what) or next(v for k, v in one.items() if k != "batch")
            yield case._replace(runs=[{n: run[n] for n in case.names}], mode=f"{what} {at}")
    if "length" in architecture.grown and architecture.layers > 1:
        for depth in (1, 2, 4):
            deep = _built(name, architecture, case.set, depth, scratch)
            yield deep._replace(runs=deep.runs[:1], mode=f"layers {depth}")
