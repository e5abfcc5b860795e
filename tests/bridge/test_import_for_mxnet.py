"""gluonnx import --for-mxnet: operators and forms of MXNet 1.9.1 alone, which real MXNet loads and computes the same with."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from typer.testing import CliRunner

import bridge
from bridge.cli import app
from converters.for_mxnet import in_mxnet
from hybrid.core.op import REGISTRY
from hybrid.ir import json as symbol_json
from tests.models.networks import Network, networks

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "fixtures/onnx"
GROUPS = json.loads((ROOT / "fixtures/api/mxnet-1.9.1-operators.json").read_text())["groups"]
OPERATORS = {name for group in GROUPS.values() for known, others in group.items() for name in (known, *others)}
"""Names of all operators that MXNet 1.9.1 registers."""


def test_operators_that_mxnet_lacks_are_known() -> None:
    assert {op.name for op in REGISTRY.values() if in_mxnet(op)} <= OPERATORS


def imported(folder: Path, text: str, opset: int = 19, **options: Any) -> tuple[bridge.ImportResult, list[str]]:
    """A model of the text, imported for MXNet; gives the names of its operators too."""
    path = folder / "net.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> net {text}'), path)
    found = bridge.import_onnx(path, output=folder / "out", for_mxnet=True, **options)
    graph = symbol_json.loads((folder / "out-symbol.json").read_bytes(), source="out")
    operators = [n.op.name for n in graph.nodes if n.op is not None]
    assert set(operators) <= OPERATORS
    assert found.verified
    assert not found.mxnet
    return found, operators


FORMS: list[tuple[str, str, str]] = [
    ("(float[1,2,4,6] x) => (float[1,2,12,18] y) <float[4] s = {1, 1, 3, 3}> "
     '{ y = Resize <coordinate_transformation_mode = "half_pixel", nearest_mode = "ceil"> (x, , s) }', "take", "2"),
    ("(float[1,2,4,6] x) => (float[1,2,8,12] y) <int64[4] s = {1, 2, 8, 12}> { y = Resize (x, , , s) }", "UpSampling", "1"),
    ("(float[1,2,4,6] x) => (float[1,2,7,5] y) <int64[4] s = {1, 2, 7, 5}> "
     '{ y = Resize <mode = "cubic", antialias = 1> (x, , , s) }', "dot", "2"),
    ("(float[2,3,5] x) => (float[2,3,11] y) <float[3] s = {1, 1, 2.2}> "
     '{ y = Resize <mode = "linear"> (x, , s) }', "dot", "1"),
    ("(float[3,1] x) => (float[2,3,4] y) <int64[3] s = {2, 1, 4}> { y = Expand (x, s) }", "broadcast_like", ""),
    ("(float[2,3,4] x) => (float[2,4] y) <int64[1] a = {1}> { y = ReduceLogSumExp <keepdims = 0> (x, a) }", "Reshape", "1"),
    ("(float[2,6] x) => (float[2,6] y) { y = LpNormalization <axis = 1, p = 2> (x) }", "broadcast_div", "1"),
    ("(float[2,6] x) => (float[2,6] y) { y = HardSwish (x) }", "clip", ""),
    ("(float[2,6] x) => (float[2,6] y) { y = Selu <alpha = 2.0, gamma = 1.5> (x) }", "expm1", "1"),
    ("(float[2,3] x, float[3,4] w) => (float[2,4] y) { y = Gemm <alpha = 0.5> (x, w) }", "dot", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "operator", "count"), FORMS, ids=[str(i) for i in range(len(FORMS))])
def test_a_form(tmp_path: Path, text: str, operator: str, count: str) -> None:
    """Verified against onnxruntime as every import, and of operators that MXNet has."""
    _, operators = imported(tmp_path, text)
    assert not count or operators.count(operator) == int(count)


def test_quantised_numbers_are_those_of_8_bits(tmp_path: Path) -> None:
    """Halves are rounded to even, which MXNet's rint does not do, and levels end at both ends."""
    text = """(float[12] x) => (float[12] y) <float s = {0.5}, uint8 z = {3}>
    { q = QuantizeLinear (x, s, z)  y = DequantizeLinear (q, s, z) }"""
    path = tmp_path / "net.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 19]> net {text}'), path)
    bridge.import_onnx(path, output=tmp_path / "out", for_mxnet=True)
    x = np.array([-9, -1.75, -1.25, -0.75, -0.25, 0, 0.25, 0.75, 1.25, 1.75, 126, 400], np.float32)
    want = bridge.run(path, {"x": x})["y"]
    np.testing.assert_array_equal(bridge.run(tmp_path / "out", {"x": x})["y"], want)
    assert want[[0, -1]].tolist() == [-1.5, 126]


def test_sizes_decide_forms_and_are_asked_for(tmp_path: Path) -> None:
    text = """(float[n, 3, h, w] x, float[n, 3, a, b] like) => (float[n, 3, a, b] y)
    { s = Shape (like)  y = Resize <mode = "linear"> (x, , , s) }"""
    with pytest.raises(bridge.BadInput, match=r"no form of y \(_onnx_Resize\); .*give sizes to x, like \(--input\)"):
        imported(tmp_path, text)
    assert not list(tmp_path.glob("out*"))
    found, operators = imported(tmp_path, text, inputs={"x": (2, 3, 5, 4), "like": (2, 3, 9, 8)})
    assert operators == ["_contrib_BilinearResize2D"]
    assert found.inputs["x"]["shape"] == [2, 3, 5, 4]


def test_what_has_no_form_is_named_with_what_it_lacks(tmp_path: Path) -> None:
    text = """(float[2, 3] x) => (int64[2, k] y, bfloat16[2, 3] z) { y = NonZero (x)  z = Cast <to = 16> (x) }"""
    path = tmp_path / "net.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 19]> net {text}'), path)
    result = CliRunner().invoke(app, ["import", str(path), "-o", str(tmp_path / "out"), "--for-mxnet"])
    assert result.exit_code == 2, result.output
    said = " ".join(result.output.split())
    assert "y (_onnx_NonZero)" in said
    assert "z of bfloat16" in said
    assert not list(tmp_path.glob("out*"))


def test_halves_are_computed_where_cpus_can(tmp_path: Path) -> None:
    text = "(float16[2, 3] x, float16[3, 4] w) => (float16[2, 4] y) { y = MatMul (x, w) }"
    _, operators = imported(tmp_path, text)
    assert operators.count("Cast") == 3


def test_outputs_keep_their_names(tmp_path: Path) -> None:
    text = """(float[2, 3] x) => (float[2, 3] first, float[2, 3] second, float[2, 3] third)
    { first = HardSwish (x)  second = Relu (first)  third = Expand (second, s) }""".replace(
        "{ first", "<int64[2] s = {2, 3}> { first"
    )
    found, _ = imported(tmp_path, text)
    assert [*found.outputs] == ["first", "second", "third"]
    x = np.linspace(-4, 4, 6, dtype=np.float32).reshape(2, 3)
    assert list(bridge.run(tmp_path / "out", {"x": x})) == ["first", "second", "third"]


RUN = """
import json, sys, numpy as np, mxnet as mx
said = {}
for prefix in sys.argv[1:]:
    try:
        symbol, stored = mx.sym.load(prefix + "-symbol.json"), mx.nd.load(prefix + "-0000.params")
        stored = {k.partition(":")[2]: v for k, v in (stored.items() if isinstance(stored, dict) else ())}
        feeds = np.load(prefix + "-feeds.npz")
        given = {n: mx.nd.array(feeds[n], dtype=feeds[n].dtype) for n in feeds.files} | stored
        args = {n: given[n] for n in symbol.list_arguments()}
        aux = {n: given[n] for n in symbol.list_auxiliary_states()}
        outputs = symbol.bind(mx.cpu(), args, aux_states=aux, grad_req="null").forward(is_train=False)
        np.savez(prefix + "-outputs.npz", **{str(i): y.asnumpy() for i, y in enumerate(outputs)})
        said[prefix] = ""
    except Exception as error:
        said[prefix] = " ".join(str(error).split())[-300:]
print(json.dumps(said))
"""
STEPS = {"ort_qdq_cnn": 0.02, "ort_float16_unet": 2e-3}
"""Networks that round to 8 bits inside, where a last bit decides of a step, or to halves; beside the largest number."""
LEAST = 60
"""Networks that MXNet has to load, of those in fixtures/onnx."""


@pytest.mark.mxnet
def test_mxnet_computes_the_same(tmp_path: Path) -> None:
    """MXNET_PYTHON names the Python of an environment with MXNet 1.9.1. All networks of fixtures/onnx, on their recorded inputs."""
    made = []
    for folder in sorted(MODELS.iterdir()):
        feeds = dict(np.load(folder / "inputs-1.npz", allow_pickle=True))
        prefix = tmp_path / folder.name
        try:
            sizes = {n: a.shape for n, a in feeds.items()}
            bridge.import_onnx(folder / "model.onnx", output=prefix, inputs=sizes, for_mxnet=True, verify=False)
        except bridge.BadInput as error:
            assert "no form" in str(error) or "sizes of 1 or more" in str(error), folder.name
            continue
        np.savez(f"{prefix}-feeds.npz", **feeds)
        made.append(prefix)
    command = [os.environ["MXNET_PYTHON"], "-c", RUN, *map(str, made)]
    said = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True, cwd="/").stdout.splitlines()[-1]
    )
    assert not {n: text for n, text in said.items() if text}
    for prefix in made:
        got, want = np.load(f"{prefix}-outputs.npz"), np.load(MODELS / prefix.name / "outputs-1.npz", allow_pickle=True)
        for index, name in enumerate(want.files):
            mine, theirs = got[str(index)], want[name]
            assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), (prefix.name, name)
            scale = np.abs(theirs.astype(np.float64)).max(initial=0)
            limit = STEPS.get(prefix.name, 2e-3 if theirs.dtype == np.float16 else 1e-4) * max(scale, 1e-9)
            assert np.abs(mine.astype(np.float64) - theirs).max(initial=0) <= limit, (prefix.name, name)
    assert len(made) >= LEAST


# -- networks of MXNet, there and back ---------------------------------------------------------------------------------------

BACK = 80
"""Networks of fixtures/models that come back in MXNet's forms; the others end in NonMaxSuppression or RoiAlign, compute on
integers, or have sequence lengths."""


def back(network: Network, folder: Path) -> Path | None:
    """The prefix of a network that went to ONNX and back, with its recorded inputs; None where MXNet lacks a form."""
    feeds: dict[str, Any] = dict(network.runs()[0][0])
    prefix = folder / network.name
    bridge.convert(network.prefix, inputs=feeds, output=folder / "model.onnx", verify=False)
    try:
        bridge.import_onnx(folder / "model.onnx", output=prefix, for_mxnet=True, verify=False)
    except bridge.BadInput as error:
        assert "no form" in str(error), network.name
        return None
    np.savez(f"{prefix}-feeds.npz", **feeds)
    return prefix


@pytest.mark.mxnet
def test_networks_of_mxnet_come_back(tmp_path: Path) -> None:
    """All networks of fixtures/models: written as ONNX, imported for MXNet, and run there; outputs as recorded of the originals."""
    made = [(n, p) for n in networks() if (p := back(n, tmp_path)) is not None]
    command = [os.environ["MXNET_PYTHON"], "-c", RUN, *(str(p) for _, p in made)]
    said = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True, cwd="/").stdout.splitlines()[-1]
    )
    assert not {n: text for n, text in said.items() if text}
    wrong = {}
    for network, prefix in made:
        got, want = np.load(f"{prefix}-outputs.npz"), list(network.runs()[0][1].values())
        assert len(got.files) == len(want), network.name
        for index, theirs in enumerate(want):
            mine = got[str(index)]
            assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), (network.name, index)
            finite = np.isfinite(theirs)
            assert np.array_equal(np.isfinite(mine), finite), (network.name, index)
            scale = np.abs(theirs[finite].astype(np.float64)).max(initial=1e-9)
            halved = network.limit > 1e-3  # half precision inside, whatever it ends in
            off = np.abs(mine[finite].astype(np.float64) - theirs[finite]).max(initial=0) / scale
            if not off <= (2e-3 if halved else 2e-5):
                wrong[network.name, index] = off
    assert wrong == {}
    assert len(made) >= BACK


@pytest.mark.parametrize("name", ["text_cnn", "numpy_sequence", "numpy_arrays"])
def test_indexes_and_vectors_have_forms_in_mxnet(name: str, tmp_path: Path) -> None:
    """Indexes that are cut are whole numbers, bounds among them; a vector is padded as a matrix; attributes are text alone."""
    (network,) = (n for n in networks() if n.name == name)
    prefix = back(network, tmp_path)
    assert prefix is not None
    nodes = json.loads(Path(f"{prefix}-symbol.json").read_text(encoding="utf-8"))["nodes"]
    assert all(isinstance(v, str) for n in nodes for v in n.get("attrs", {}).values())
    assert {n["op"] for n in nodes} - {"null"} <= OPERATORS
    assert not any(n["op"] == "_npi_pad" and n["attrs"]["pad_width"].count("(") < 3 for n in nodes)


@pytest.mark.parametrize(
    ("bounds", "wanted"),
    [("low, high", [-2, -2, 0, 3, 3]), ("low", [-2, -2, 0, 5, 9]), (", high", [-7, -2, 0, 3, 3])],
)
def test_whole_numbers_are_cut(bounds: str, wanted: list[int], tmp_path: Path) -> None:
    text = f"(int32[5] x) => (int32[5] y) <int32 low = {{-2}}, int32 high = {{3}}> {{ y = Clip(x, {bounds}) }}"
    _, operators = imported(tmp_path, text)
    assert operators.count("clip") == 1
    given = np.array([-7, -2, 0, 5, 9], np.int32)
    np.testing.assert_array_equal(bridge.run(tmp_path / "out", {"x": given})["y"], wanted)
