"""Networks of other exporters, imported: the numbers that onnxruntime recorded, on our engine, as a block, and exported again."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import bridge
from bridge.compare import TOLERANCES, coarsest, compare
from bridge.engines import NativeEngine, OnnxEngine
from bridge.importing import rebuild
from bridge.nodewise import node_by_node, rounds_to_integers
from bridge.onnx_backend import OnnxBackendRep
from bridge.result import Case
from converters.importer import import_model
from hybrid.execution.program import Program
from tests.backend.again import same
from tests.models.onnx_networks import OnnxNetwork, onnx_networks, parts
from tests.versions import saturates

pytestmark = pytest.mark.models
every = pytest.mark.parametrize("network", [pytest.param(n, id=n.name) for n in onnx_networks()])


def _flat(names: tuple[str, ...], results: Any) -> dict[str, np.ndarray]:
    return {k: v for name, value in zip(names, results, strict=True) for k, v in parts(name, value).items()}


@every
def test_both_runs_give_what_onnxruntime_recorded(network: OnnxNetwork) -> None:
    found = import_model(network.model)
    ready = OnnxBackendRep(found)
    for feeds, want in network.runs():
        got = _flat(found.outputs, ready.run(feeds))
        assert got.keys() == want.keys()
        limits = TOLERANCES.get(coarsest(a.dtype.name for a in (*found.params.values(), *want.values())))
        for name, expected in want.items():
            if expected.dtype.kind == "U":
                assert got[name].astype(str).tolist() == expected.tolist()
            else:
                difference = compare(name, got[name], expected, limits if expected.dtype.kind == "f" else None)
                if not difference.equal and rounds_to_integers(onnx.load(network.model, load_external_data=False)):
                    _same_node_by_node(network, feeds)
                    break
                assert difference.equal, f"{name}: {difference.reason}"


def _same_node_by_node(network: OnnxNetwork, feeds: dict[str, Any]) -> None:
    """Assert that each node gives what onnxruntime gives from the same inputs: outputs of a network that rounds to whole numbers
    inside differ by whole steps."""
    ours, theirs = bridge.open_model(network.model).native, bridge.open_model(network.model)
    compared = node_by_node(NativeEngine(ours), OnnxEngine(theirs, plain=True), Case(feeds))
    assert compared.agrees, [f"{f.node}: {f.accumulated.reason}" for f in compared.faults]


@every
def test_import_export_import_keeps_every_bit(network: OnnxNetwork) -> None:
    found = import_model(network.model)
    again = import_model(rebuild(found))
    first, second = OnnxBackendRep(found), OnnxBackendRep(again)
    for feeds, want in network.runs():
        kept = {n: v for n, v in feeds.items() if n in again.inputs}
        if coarsest(a.dtype.name for a in (*found.params.values(), *want.values())):
            # compiled, what float32 is kept between depends on which nodes stand together (passes/widening.py)
            plain = (Program(f.graph, f.params, native=False).run(kept) for f in (found, again))
            for a, b in zip(*plain, strict=True):
                same(a, b)
            continue
        for a, b in zip(first.run(kept), second.run(kept), strict=True):
            same(a, b)


SIGNED = {"ort_dynamic_encoder", "ort_qoperator_cnn", "ort_qoperator_conv"}
"""Networks of products of uint8 and int8, which onnxruntime verifies."""


@every
def test_the_command_verifies_and_writes(network: OnnxNetwork, tmp_path: Path) -> None:
    feeds = [
        {n: v for n, v in run.items() if isinstance(v, np.ndarray) and v.dtype != object} for run, _ in network.runs()
    ]
    if len(feeds[0]) < len(network.runs()[0][0]):
        pytest.xfail("words and sequences are not fed by the command")
    if network.name in SIGNED and saturates():
        pytest.skip("onnxruntime's sums of products of bytes saturate on this machine")
    result = bridge.import_onnx(network.model, output=tmp_path / "net", inputs=feeds[0], also=feeds[1:])
    assert result.verified
    assert [Path(f).name for f in result.files] == ["net-symbol.json", "net-0000.params"]
    got = bridge.run(
        tmp_path / "net", {n: v for n, v in feeds[1].items() if n in bridge.inspect(tmp_path / "net").inputs}
    )
    want = [v for n, v in network.runs()[1][1].items() if "/" not in n]  # the others are parts of lists and maps
    assert [v.shape for n, v in got.items() if "[" not in n] == [v.shape for v in want]
