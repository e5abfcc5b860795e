"""Sizes that an ONNX model declares for its inputs: kept in the symbol, held to, and left to MXNet, which passes over them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.inspect import nodes
from bridge.models import open_model
from converters.importer import import_model
from hybrid import native
from hybrid.core.error import MXNetError, OpError
from hybrid.core.shapes import UNKNOWN
from hybrid.ir import json as symbol_json
from hybrid.ir.declared import SIZES, declare, declared
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import infer
from hybrid.ir.weights import is_input, is_parameter, parameters_of

ONNX = Path(__file__).parents[2] / "fixtures/onnx"
FIXED = """<ir_version: 8, opset_import: ["" : 17]> g (float[2, 3, 4] x) => (float[2, 12] y)
    <int64[2] flat = {2, 12}, float[1, 3, 1] scale = {1, 2, 3}> { z = Mul (x, scale) y = Reshape (z, flat) }"""
TIED = """<ir_version: 8, opset_import: ["" : 17]> g (float[batch, 3] x, float[batch, width] m) => (float[batch, 1] y)
    <float[3, 5] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, int64[1] last = {1}>
    { h = MatMul (x, w) s = ReduceSum (m, last) t = ReduceSum (h, last) y = Add (s, t) }"""


def files(text: str, folder: Path, **options: Any) -> str:
    """The prefix of an imported model's files."""
    onnx.save(onnx.parser.parse_model(text), folder / "model.onnx")
    bridge.import_onnx(folder / "model.onnx", output=folder / "net", **options)
    return str(folder / "net")


def test_a_declaration_is_what_it_was() -> None:
    for shape, want in (
        ((2, 3), (2, 3)),
        (("batch", 3, "?"), ("batch", 3, None)),
        ((UNKNOWN, 0), (None, 0)),
        ((), ()),
        (("2*n, floor(m)",), ("2*n, floor(m)",)),
    ):
        assert declared(Node(None, "x", (), declare(shape))) == want
    assert declare(None) == {} and declared(Node(None, "x")) is None
    for text in ("nonsense", "3", "[1.5]", "[-1]", "[true]", "{}", "[" * 9999):
        with pytest.raises(OpError, match=r"variable x: __sizes__=.* is not a list of sizes"):
            declared(Node(None, "x", (), {SIZES: text}))


@pytest.mark.parametrize("hybridized", (False, True))
def test_other_sizes_than_the_file_declares_are_refused(hybridized: bool, tmp_path: Path) -> None:
    """By a block, a module and inference, as onnxruntime refuses them."""
    prefix = files(FIXED, tmp_path)
    net = mx.gluon.SymbolBlock.imports(f"{prefix}-symbol.json", ["x"], f"{prefix}-0000.params")
    if hybridized:
        net.hybridize(static_alloc=True, static_shape=True)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    for shape in ((2, 3, 4), (4, 3, 2), (2, 3, 4), (1, 3, 8), (2, 12)):  # all but one of as many elements
        x = np.arange(24, dtype=np.float32).reshape(shape)
        if shape == (2, 3, 4):
            np.testing.assert_array_equal(net(mx.nd.array(x)).asnumpy(), session.run(None, {"x": x})[0])
            continue
        with pytest.raises(InvalidArgument):
            session.run(None, {"x": x})
        advice = "--dynamic x:0=batch,2=d2" if len(shape) == 3 else "Give the axes"
        with pytest.raises(
            MXNetError, match=r"input x: got shape .*, wanted \(2, 3, 4\), as the ONNX model declares"
        ) as raised:
            net(mx.nd.array(x))
        assert advice in str(raised.value)
    symbol, arguments, _ = mx.model.load_checkpoint(prefix, 0)
    module = mx.mod.Module(symbol, ["x"], None)
    with pytest.raises(MXNetError, match="as the ONNX model declares"):
        module.bind([("x", (1, 3, 8))], for_training=False)
    assert symbol.infer_shape()[1] == [(2, 12)]
    assert "scale" in arguments


class Around(mx.gluon.HybridBlock):
    """A network with an imported one inside."""

    def __init__(self, body: mx.gluon.SymbolBlock):
        super().__init__(prefix="around_")
        self.body = body

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.relu(self.body(x))


@pytest.mark.parametrize("hybridized", (False, True))
def test_a_block_around_an_imported_one_holds_to_its_sizes(hybridized: bool, tmp_path: Path) -> None:
    """And so does what it exports."""
    prefix = files(FIXED, tmp_path)
    net = Around(mx.gluon.SymbolBlock.imports(f"{prefix}-symbol.json", ["x"], f"{prefix}-0000.params"))
    if hybridized:
        net.hybridize()
    assert net(mx.nd.ones((2, 3, 4))).shape == (2, 12)
    with pytest.raises(MXNetError, match=r"wanted \(2, 3, 4\), as the ONNX model declares"):
        net(mx.nd.ones((1, 3, 8)))
    if hybridized:
        net.export(str(tmp_path / "again"))
        assert bridge.inspect(tmp_path / "again").inputs["data"]["shape"] == [2, 3, 4]
        with pytest.raises(bridge.BadInput, match="as the ONNX model declares"):
            bridge.convert(tmp_path / "again", inputs={"data": (1, 3, 8)})


def test_axes_that_are_opened_take_any_size(tmp_path: Path) -> None:
    prefix = files(FIXED, tmp_path, dynamic={"x": {0: "batch"}})
    net = mx.gluon.SymbolBlock.imports(f"{prefix}-symbol.json", ["x"], f"{prefix}-0000.params")
    for batch in (1, 2, 5):
        assert net(mx.nd.ones((batch, 3, 4))).shape == (batch, 12)
    with pytest.raises(MXNetError, match=r"wanted \(batch, 3, 4\)"):
        net(mx.nd.ones((2, 3, 5)))
    with pytest.raises(bridge.BadInput, match="as the ONNX model declares"):
        bridge.convert(prefix, inputs={"x": (2, 3, 5)})


def test_a_program_opens_axes_itself(tmp_path: Path) -> None:
    """As one does that trained with batches of its own on a file made for one picture."""
    onnx.save(onnx.parser.parse_model(FIXED), tmp_path / "model.onnx")
    for asked in ({"dynamic": {"x": {0: "batch"}}}, {"batch": "batch"}):
        net = mx.contrib.onnx.import_to_gluon(tmp_path / "model.onnx", **asked)
        assert net(mx.nd.ones((5, 3, 4))).shape == (5, 12)
    symbol, arguments, _ = mx.contrib.onnx.import_model(tmp_path / "model.onnx", dynamic={"x": {0: "batch"}})
    assert symbol.infer_shape(x=(7, 3, 4))[1] == [(7, 12)]
    assert list(arguments) == ["scale"]
    with pytest.raises(bridge.BadInput, match="dynamic z"):
        mx.contrib.onnx.import_model(tmp_path / "model.onnx", dynamic={"z": {0: "batch"}})


TWO = """<ir_version: 8, opset_import: ["" : 17]> g (float[1, 3, 4] x, float[1, 12] y, float[12] z) => (float[1, 12] s)
    <int64[2] flat = {1, -1}> { f = Reshape (x, flat) t = Add (f, y) s = Add (t, z) }"""


def test_the_batch_of_all_inputs_is_opened_by_one_word(tmp_path: Path) -> None:
    """As a fixed batch's error proposes, and only where samples stay apart."""
    prefix = files(TWO, tmp_path)
    net = mx.gluon.SymbolBlock.imports(f"{prefix}-symbol.json", ["x", "y", "z"], f"{prefix}-0000.params")
    inputs = mx.nd.ones((5, 3, 4)), mx.nd.ones((5, 12)), mx.nd.ones((12,))
    with pytest.raises(MXNetError, match=r"gluonnx import FILE\.onnx --dynamic batch$"):
        net(*inputs)
    ran = CliRunner().invoke(app, ["import", f"{tmp_path}/model.onnx", "-o", prefix, "--dynamic", "batch"])
    assert ran.exit_code == 0, ran.output
    net = mx.gluon.SymbolBlock.imports(f"{prefix}-symbol.json", ["x", "y", "z"], f"{prefix}-0000.params")
    assert net(*inputs).shape == (5, 12)
    with pytest.raises(bridge.BadInput, match="dynamic batch: the file fixes the first axis of no input"):
        files(TIED, tmp_path, batch="batch")
    meeting = TWO.replace("s = Add (t, z)", "m = ReduceMean <axes = [0]> (t) s = Add (m, z)")
    with pytest.raises(bridge.BadInput, match="does not mean the same at a batch of"):
        files(meeting, tmp_path, batch="batch")


@pytest.mark.parametrize("name", ["mx131_cnn", "mx151_cnn", "mx131_dense_unflat"])
def test_files_that_run_only_when_repaired_are_compared_at_other_batches(name: str, tmp_path: Path) -> None:
    """As those of MXNet's first exporters, whose sizes are fixed, always."""
    result = bridge.import_onnx(ONNX / name / "model.onnx", output=tmp_path / "net", dynamic={"data": {0: "batch"}})
    assert result.verified and "on the repaired model" in result.witness
    assert result.inputs["data"]["shape"][0] == "batch"


def test_inspect_and_convert_know_what_the_file_left_open(tmp_path: Path) -> None:
    prefix = files(TIED, tmp_path)
    found = bridge.inspect(prefix)
    assert {n: s["shape"] for n, s in found.inputs.items()} == {"x": ["batch", 3], "m": ["batch", "width"]}
    assert [s["shape"] for s in found.outputs.values()] == [["batch", 1]]
    assert found.checked == "whole" and not found.problems and found.fallbacks is not None
    assert not found.sizes_wanted
    told = {n["node"]: next(iter(n["outputs"].values()))["shape"] for n in nodes(prefix).nodes}
    assert told["h"] == ["?", 5]

    def axes(**options: Any) -> tuple[Any, ...]:
        made = bridge.convert(prefix, **options)
        assert made.verified
        said = [w for w in made.warnings if "may vary" in w]
        return tuple(made.inputs[n]["shape"] for n in ("x", "m")), "".join(said)

    shapes, said = axes()
    assert shapes == (["batch", 3], ["batch", "width"])
    told = "may vary, as in the ONNX model that the symbol was imported from; --input"
    assert said == f"batch, width {told} m:1,16 --input x:1,3 fixes the sizes"
    assert axes(inputs={"x": (4, 3)}) == (([4, 3], [4, "width"]), f"width {told} m:4,16 fixes the sizes")
    assert axes(inputs={"x": (4, 3), "m": (4, 7)}) == (([4, 3], [4, 7]), "")
    assert axes(dynamic={"x": {0: "n"}})[0] == (["n", 3], ["n", "width"])
    assert axes(batch=3)[0] == ([3, 3], [3, "width"])
    assert axes(batch="batch")[0] == (["batch", 3], ["batch", "width"])


def test_a_fixed_size_needs_no_input(tmp_path: Path) -> None:
    prefix = files(FIXED, tmp_path)
    assert bridge.inspect(prefix).inputs["x"]["shape"] == [2, 3, 4]
    assert bridge.convert(prefix).outputs["y"]["shape"] == [2, 12]
    if native.level() is not None:
        assert bridge.compile(prefix).inputs["x"]["shape"] == [2, 3, 4]


@pytest.mark.skipif(native.level() is None, reason="NumPy has no programs to save")
def test_sizes_that_are_proposed_are_the_declared_ones(tmp_path: Path) -> None:
    prefix = files(FIXED.replace("float[2,", "float[batch,").replace("{2, 12}", "{-1, 12}"), tmp_path)
    with pytest.raises(bridge.BadInput, match=r"--input x:1,3,4$"):
        bridge.compile(prefix)
    with pytest.raises(bridge.BadInput, match=r"--input x:1,3,4$"):
        bridge.record(prefix, output=tmp_path / "recorded.npz")


def test_parameters_and_inputs_say_what_they_are() -> None:
    found = import_model(onnx.parser.parse_model(TIED))
    graph = symbol_json.loads(symbol_json.dumps(found.graph))
    kinds = {n.name: (is_input(n), is_parameter(n)) for n in graph.variables()}
    assert kinds == {"x": (True, False), "m": (True, False), "w": (False, True)}
    assert parameters_of(graph) == {"w"}
    bare = open_model(mx.sym.Symbol(list(graph.outputs)), {})
    with pytest.raises(bridge.BadInput, match="missing parameter w"):
        bridge.convert(bare.graph, {}, inputs={"x": (2, 3), "m": (2, 3)})


def test_a_declaration_is_more_than_a_start() -> None:
    """``__shape__`` gives way to what is given, as in MXNet; sizes that are declared do not."""

    def shape(attrs: dict[str, str], *given: int) -> Any:
        x = Node(None, "x", (), attrs)
        return infer(Graph([Entry(x)]), {"x": given} if given else {}).spec(Entry(x)).shape

    assert shape({"__shape__": "(2, 3)"}, 5, 3) == (5, 3)
    assert shape(declare((0, "n")), 0, 4) == (0, 4)
    assert shape(declare(())) == ()
    with pytest.raises(OpError, match=r"got shape \(5, 3\), wanted \(2, 3\)"):
        shape({"__shape__": "(2, 3)", **declare((2, 3))}, 5, 3)
