"""convert: what it finds by itself, what it refuses, and that a file appears only when the numbers are right."""

import dataclasses
import hashlib
import importlib
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from typer.testing import CliRunner

import bridge
import converters
import hybrid
import hybrid as mx
import hybrid.formats.params
from bridge import opsets
from bridge.cli import app
from bridge.compare import compare
from bridge.conversion.network import _warnings, other_sizes, settle_inputs
from bridge.conversion.proof import _only_ties_differ
from bridge.conversion.writing import check_model
from bridge.draws import draw
from bridge.job import Clock, check_target, publish
from bridge.models import BadInput
from bridge.result import Divergence, VerifyResult
from converters.registry import EXPORT
from converters.writer import Converted
from hybrid.core.op import Spec, lookup
from hybrid.execution import program
from hybrid.ir import facts
from hybrid.ir.graph import Entry, Graph, Node
from tests.bridge.repros import Repro
from tests.models.networks import FOLDER
from tests.versions import needs_opset


@pytest.fixture
def lenet(tmp_path: Path) -> Path:
    """A copy of a network to play with; gives the prefix."""
    shutil.copytree(FOLDER / "lenet", tmp_path / "net")
    return tmp_path / "net" / "model"


def shape_of(name: str) -> tuple[int, ...]:
    with np.load(FOLDER / name / "inputs.npz") as stored:
        return stored["data"].shape


def test_newest_parameters_are_found(lenet: Path) -> None:
    first = lenet.with_name("model-0000.params")
    for epoch in (3, 10):
        scaled = {k: v * epoch for k, v in hybrid.formats.params.load(first).items()}
        hybrid.formats.params.save(lenet.with_name(f"model-{epoch:04}.params"), scaled)
    model = bridge.open_model(lenet)
    assert model.params_path is not None
    assert model.params_path.name == "model-0010.params"


def test_files_appear_when_they_are_verified_and_not_before(tmp_path: Path) -> None:
    right, wrong = (VerifyResult("a", "b", verdict, (), (), None) for verdict in ("equivalent", "not equivalent"))
    place, seen = tmp_path / "net", []

    def write(folder: Path) -> list[Path]:
        files = [folder / f"net{end}" for end in (".one", ".two")]
        for file in files:
            file.write_text("made")
        return files

    def verify(result: VerifyResult) -> Callable[[list[Path]], VerifyResult]:
        def verified(files: list[Path]) -> VerifyResult:
            seen.extend(f.read_text() for f in files)
            assert not [f for f in tmp_path.iterdir() if f.is_file()]
            return result

        return verified

    def run(result: VerifyResult | None, at: Path | None, *reads: Path, strict: bool = False) -> Any:
        clock, check = Clock(), None if result is None else verify(result)
        found = publish(write, check, at, reads, strict=strict, warnings=["w"], tell=lambda _text: None, clock=clock)
        return *found, list(clock.laps)

    assert run(right, None) == ([], right, ["write", "verify"]) and not list(tmp_path.iterdir())
    for refused in (wrong, dataclasses.replace(right, verdict="says little", little=("y is empty",))):
        with pytest.raises(bridge.NotEquivalent) as caught:
            run(refused, place, strict=True)
        assert caught.value.warnings == ("w",) and not list(tmp_path.iterdir())
    files = [tmp_path / "net.one", tmp_path / "net.two"]
    assert run(None, place) == (files, None, ["write"]) and [f.read_text() for f in files] == ["made", "made"]
    with pytest.raises(BadInput, match=r"net\.two: read as well"):
        run(None, place, files[1])
    assert seen == ["made"] * 6


def test_a_job_infers_the_graph_once_for_each_set_of_sizes(lenet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversion with an axis that may vary: at the sizes given, with the axis unknown, at two sizes that show which axes of the
    outputs follow it, and at the second size that is verified. An import and a verification: at the sizes that they run, and a
    verification at another batch, which is tried, and as the conversion before it, for what differs and no input tells."""
    asked: list[Graph] = []
    whole = facts.infer
    monkeypatch.setattr(
        facts, "infer", lambda graph, *args, **options: asked.append(graph) or whole(graph, *args, **options)
    )
    monkeypatch.setattr(
        program, "infer", lambda graph, *args, **options: asked.append(graph) or whole(graph, *args, **options)
    )
    data, made = {"data": shape_of("lenet")}, lenet.with_name("m.onnx")
    for count, job in (
        (1, lambda: bridge.convert(lenet, inputs=data)),
        (5, lambda: bridge.convert(lenet, inputs=data, dynamic={"data": {0: "batch"}}, output=made)),
        (2, lambda: bridge.import_onnx(made)),
        (2 + 3, lambda: bridge.verify(lenet, made, inputs=data)),
    ):
        asked.clear()
        job()
        assert len(asked) == count, job


def test_a_job_compiles_the_graph_once_for_each_set_of_sizes(lenet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking inside, inferring and evaluating in float64 compile nothing."""
    bound: list[Any] = []
    whole = program.bind
    monkeypatch.setattr(program, "bind", lambda request: bound.append(request) or whole(request))
    data = {"data": shape_of("lenet")}
    for count, dynamic in ((1, None), (2, {"data": {0: "batch"}})):
        bound.clear()
        assert bridge.convert(lenet, inputs=data, dynamic=dynamic).verified
        assert len(bound) == count


@pytest.mark.parametrize("name", ["resnet-v1.5", "a.b.c", ".hidden", "model.onnx.old", "v1.params"])
def test_prefixes_with_dots(lenet: Path, name: str) -> None:
    for end in ("-symbol.json", "-0000.params"):
        lenet.with_name(f"model{end}").rename(lenet.with_name(f"{name}{end}"))
    model = bridge.open_model(lenet.with_name(name))
    assert model.name == name and model.path == lenet.with_name(f"{name}-symbol.json")
    assert model.params_path == lenet.with_name(f"{name}-0000.params")


def test_parameters_named_win(lenet: Path) -> None:
    hybrid.formats.params.save(lenet.with_name("model-0007.params"), {"arg:x": np.zeros(1, np.float32)})
    model = bridge.open_model(lenet, lenet.with_name("model-0000.params"))
    assert model.params_path == lenet.with_name("model-0000.params")


def test_labels_are_pruned_and_names_kept(lenet: Path) -> None:
    result = bridge.convert(lenet, inputs={"data": shape_of("lenet")})
    assert list(result.inputs) == ["data"]
    assert result.pruned == ("softmax_label",)
    assert list(result.outputs) == ["softmax_output"]


def test_cut_at_an_internal_output(lenet: Path, tmp_path: Path) -> None:
    names = [e.name for e in bridge.open_model(lenet).graph.internals().outputs]
    inner = next(n for n in names if n.endswith("_output") and n != "softmax_output")
    result = bridge.convert(lenet, inputs={"data": shape_of("lenet")}, outputs=[inner], output=tmp_path / "cut.onnx")
    assert list(result.outputs) == [inner]
    with pytest.raises(bridge.BadInput, match="no output 'nonsense'"):
        bridge.convert(lenet, inputs={"data": shape_of("lenet")}, outputs=["nonsense"])


def test_dynamic_batch_is_verified_at_two_sizes(lenet: Path, tmp_path: Path) -> None:
    target = tmp_path / "net.onnx"
    result = bridge.convert(lenet, inputs={"data": shape_of("lenet")}, dynamic={"data": {0: "batch"}}, output=target)
    assert result.inputs["data"]["shape"][0] == "batch"
    assert result.outputs["softmax_output"]["shape"][0] == "batch"
    assert result.verification is not None
    batches = {run["shapes"]["data"][0] for run in result.verification.runs}
    assert len(batches) == 2
    session = onnxruntime.InferenceSession(str(target), providers=["CPUExecutionProvider"])
    assert session.run(None, {"data": np.zeros((7, *shape_of("lenet")[1:]), np.float32)})[0].shape[0] == 7


def test_the_second_size_has_the_values_of_the_first() -> None:
    """A model that normalises images by itself is not to be judged by noise around 0."""
    given = {"x": np.array([[128.0, 255.0]], np.float32)}
    (drawn,) = draw({"x": Spec((3, 4))}, {}, like=given).values()
    assert set(drawn.ravel().tolist()) <= {128.0, 255.0}
    assert np.array_equal(drawn, draw({"x": Spec((3, 4))}, {}, like=given)["x"])


def test_opsets_outside_the_range_are_refused(lenet: Path) -> None:
    for opset in (6, converters.newest_opset() + 1, "latest"):
        with pytest.raises(bridge.BadInput, match=f"got opset {opset}, wanted 7 to"):
            bridge.convert(lenet, inputs={"data": shape_of("lenet")}, opset=opset)


def test_an_opset_that_onnxruntime_does_not_open(lenet: Path, tmp_path: Path) -> None:
    if opsets.opens(converters.newest_opset()):
        return  # this onnxruntime keeps up with onnx
    target = tmp_path / "net.onnx"
    with pytest.raises(bridge.BadInput, match=f"the newest is {opsets.newest()}"):
        bridge.convert(lenet, inputs={"data": shape_of("lenet")}, opset=converters.newest_opset(), output=target)
    assert not target.exists()
    bridge.convert(
        lenet, inputs={"data": shape_of("lenet")}, opset=converters.newest_opset(), output=target, verify=False
    )
    assert onnx.load(target).opset_import[0].version == converters.newest_opset()


@needs_opset(22)
def test_an_opset_that_loses_kernels_is_refused_with_the_list(tmp_path: Path) -> None:
    data, noise = hybrid.sym.Variable("data"), hybrid.sym.random.normal(shape=(3,), name="noise")
    net = hybrid.sym.broadcast_add(data, noise + hybrid.sym.random.uniform(shape=(3,), name="more"))
    net.save(str(tmp_path / "noisy-symbol.json"))
    with pytest.raises(converters.UnsupportedModel, match="opset 21 loses nothing") as caught:
        bridge.convert(tmp_path / "noisy-symbol.json", inputs={"data": (2, 3)}, opset=22)
    assert {(p.node, p.operator) for p in caught.value.problems} == {
        ("noise", "RandomNormalLike"),
        ("more", "RandomUniformLike"),
    }


def test_an_output_of_unknown_rank_is_refused(tmp_path: Path) -> None:
    node = Node(lookup("_np_squeeze").bind(), "squeezed", [Entry(Node(None, "data"))])
    hybrid.symbol.Symbol([Entry(node)]).save(str(tmp_path / "net-symbol.json"))
    with pytest.raises(converters.ConversionError, match="how many dimensions squeezed_output has depends on sizes"):
        bridge.convert(tmp_path / "net-symbol.json", inputs={"data": (2, 1, 3)}, dynamic={"data": {0: "n"}})


def test_external_data(lenet: Path, tmp_path: Path) -> None:
    target = tmp_path / "net.onnx"
    result = bridge.convert(lenet, inputs={"data": shape_of("lenet")}, output=target, external_data=True)
    assert [Path(f).name for f in result.files] == ["net.onnx", "net.onnx.data"]
    model = onnx.load(target)
    stored = bridge.open_model(lenet).params
    for tensor in model.graph.initializer:
        if tensor.name in stored:
            np.testing.assert_array_equal(onnx.numpy_helper.to_array(tensor), stored[tensor.name])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net", "net.onnx", "net.onnx.data"]


def test_saved_file_is_the_proto(lenet: Path, tmp_path: Path) -> None:
    """The file written piece by piece is what protobuf reads as the model built in memory."""
    model = bridge.open_model(lenet)
    converted = converters.convert(model.graph, model.params, {"data": shape_of("lenet")})
    (path,) = converted.save(tmp_path / "a.onnx")
    assert onnx.load(path) == converted.proto()


def test_a_wrong_translation_leaves_no_file(lenet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "net.onnx"
    target.write_bytes(b"what was here before")
    good = EXPORT["Pooling"][min(EXPORT["Pooling"])]

    def wrong(b, op, data):
        return b.Add(good(b, op, data), 0.01)

    monkeypatch.setitem(EXPORT, "Pooling", {min(EXPORT["Pooling"]): wrong})
    with pytest.raises(bridge.NotEquivalent) as caught:
        bridge.convert(lenet, inputs={"data": shape_of("lenet")}, output=target, repro=tmp_path / "repro")
    assert target.read_bytes() == b"what was here before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net", "net.onnx", "repro"]
    found = caught.value.result.divergence
    assert found is not None
    first = next(n.name for n in bridge.open_model(lenet).graph.nodes if n.op is not None and n.op.name == "Pooling")
    assert (found.node, found.operator, found.kind) == (first, "Pooling", "local")
    written = Repro(tmp_path / "repro")
    np.testing.assert_allclose(written.theirs(), written.want[found.tensor] + 0.01, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(written.ours(), written.want[found.tensor], rtol=1e-6, atol=1e-7)
    assert written.script() == 1


def test_symbols_and_dicts_are_taken_as_they_are(lenet: Path) -> None:
    model = bridge.open_model(lenet)
    params = {f"arg:{k}": np.array(v) for k, v in model.params.items()}
    proto = converters.to_onnx(model.graph, params, {"data": shape_of("lenet")}, opset=15)
    assert proto.opset_import[0].version == 15
    assert {i.name for i in proto.graph.initializer} >= set(model.params)


def test_half_and_double_keep_their_dtype() -> None:
    for name, dtype in (("float16_resnet", "float16"), ("float64_resnet", "float64")):
        result = bridge.convert(FOLDER / name / "model", inputs={"data": shape_of(name)})
        assert {s["dtype"] for s in (*result.inputs.values(), *result.outputs.values())} == {dtype}


def test_large_models_are_verified_in_place(lenet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past a size, onnxruntime maps the bytes of the written file; what it sees is the model that was written."""
    monkeypatch.setattr(importlib.import_module("bridge.conversion.proof"), "MAPPED_OVER", 0)
    target = tmp_path / "net.onnx"
    assert bridge.convert(lenet, inputs={"data": shape_of("lenet")}, output=target).verified
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net", "net.onnx"]
    beside = bridge.convert(
        lenet, inputs={"data": shape_of("lenet")}, output=tmp_path / "beside.onnx", external_data=True
    )
    assert beside.verified and len(beside.files) == 2  # whose weights are mapped as they lie
    model = bridge.open_model(lenet)
    converted = converters.convert(model.graph, model.params, {"data": shape_of("lenet")})
    (tmp_path / "mapped.onnx").write_bytes(converted.with_external_data("net.onnx").SerializeToString())
    mapped = {i.name: onnx.numpy_helper.to_array(i) for i in onnx.load(tmp_path / "mapped.onnx").graph.initializer}
    written = {i.name: onnx.numpy_helper.to_array(i) for i in onnx.load(target).graph.initializer}
    assert mapped.keys() == written.keys()
    for name, array in written.items():
        np.testing.assert_array_equal(mapped[name], array)


@pytest.mark.slow
@pytest.mark.share(8)
def test_weights_past_two_gigabytes_go_beside_the_file(tmp_path: Path) -> None:
    data = Node(None, "data")
    weight = Node(None, "fc_weight")
    attrs = {"num_hidden": "33000", "no_bias": "True"}
    fc = Node(lookup("FullyConnected").bind(**attrs), "fc", [Entry(data), Entry(weight)], attrs)
    shape = (33000, 16384)
    with open(tmp_path / "weights", "wb") as file:
        file.truncate(33000 * 16384 * 4)  # a hole: zeros that take no room
    weights = np.memmap(tmp_path / "weights", np.float32, "r+", shape=shape)
    weights[::1000, ::1000] = 1.5
    target = tmp_path / "big.onnx"
    result = bridge.convert(Graph([Entry(fc)]), {"fc_weight": weights}, inputs={"data": (2, 16384)}, output=target)
    assert result.verified
    assert [Path(f).name for f in result.files] == ["big.onnx", "big.onnx.data"]
    assert target.stat().st_size < 10_000


def test_what_the_engine_loads_converts_as_it_is(lenet: Path) -> None:
    """A Symbol with its checkpoint's arrays, and a SymbolBlock."""
    symbol, arg_params, aux_params = hybrid.model.load_checkpoint(str(lenet), 0)
    params = {**arg_params, **aux_params}
    assert bridge.convert(symbol, params, inputs={"data": shape_of("lenet")}).verified
    names = {i.name for i in converters.to_onnx(symbol, params, {"data": shape_of("lenet")}).graph.initializer}
    assert set(arg_params) <= names
    block = hybrid.gluon.SymbolBlock.imports(f"{lenet}-symbol.json", ["data", "softmax_label"], f"{lenet}-0000.params")
    assert bridge.convert(block, inputs={"data": shape_of("lenet")}).verified


def ranking() -> Graph:
    """The place of the largest of a few coarse numbers: ties are common."""
    steps = [("_mul_scalar", {"scalar": "3"}), ("floor", {}), ("argmax", {"axis": "1"})]
    entry = Entry(Node(None, "data"))
    for name, attrs in steps:
        entry = Entry(Node(lookup(name).bind(**attrs), name, [entry], attrs))
    return Graph([entry])


def later_by_rounding(b, op, data):
    """floor, with later numbers larger by a few units in the last place: what other rounding does to ties."""
    return b.Mul(b.Floor(data), b.like(1 + np.arange(8) * 2e-7, data))


@pytest.mark.parametrize("translation", [later_by_rounding, None])
def test_near_ties_in_a_ranking_are_drawn_again(translation, monkeypatch: pytest.MonkeyPatch) -> None:
    tied, clear = [], []
    for seed in range(40):
        data = np.floor(draw({"data": Spec((1, 8), np.dtype("float32"))}, {}, seed)["data"] * 3)
        (tied if (data == data.max()).sum() > 1 else clear).append(seed)
    assert tied and clear
    if translation is not None:
        monkeypatch.setitem(EXPORT, "floor", {13: translation})
    verdicts = set()
    for seed in tied[:4]:
        try:
            result = bridge.convert(ranking(), inputs={"data": (1, 8)}, seed=seed)
            verdicts.add(any("near ties" in w or "chosen otherwise" in w for w in result.warnings))
        except bridge.NotEquivalent as error:
            assert error.result.divergence is not None
            assert (error.result.divergence.operator, error.result.divergence.kind) == ("argmax", "accumulated")
            verdicts.add("refused")
    # with ties in all the draws it stays refused; without other rounding there is nothing to tell
    assert verdicts <= ({True, "refused"} if translation else {False})
    assert translation is None or True in verdicts


def test_a_wrong_ranking_is_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXPORT, "argmax", {13: lambda b, op, data: b.ArgMin(data, axis=1, keepdims=0)})
    with pytest.raises(bridge.NotEquivalent) as caught:
        bridge.convert(ranking(), inputs={"data": (1, 8)})
    assert caught.value.result.divergence is not None
    assert caught.value.result.divergence.kind == "local"


def test_inference_that_does_not_see_constants_around_a_body_is_no_objection(tmp_path: Path) -> None:
    """onnx takes the bounds of the Slice, which are stored around the Loop, for empty, and so the sizes for too few."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
net (float[1, 1, h, w] x, int64 steps) => (float[n, 1, 1, 4, 4] y)
<int64[1] zero = {0}, int64[1] two = {2}, int64[2] four = {4, 4}, bool on = {1}>
{ y = Loop (steps, on) <body = step (int64 i, bool going) => (bool going_on, float[1, 1, 4, 4] z) {
    going_on = Identity (going)  shape = Shape (x)  front = Slice (shape, zero, two, zero)
    sizes = Concat <axis = 0> (front, four)  z = Resize <mode = "nearest"> (x, , , sizes) }> }""")
    path = tmp_path / "loop.onnx"
    onnx.save(model, path)
    inputs = {"x": np.random.default_rng(0).standard_normal((1, 1, 3, 5)).astype(np.float32), "steps": np.array(2)}
    bridge.import_onnx(path, output=tmp_path / "net", inputs=inputs)
    assert bridge.convert(tmp_path / "net", inputs=inputs, output=tmp_path / "again.onnx").verified


# -- what is decided before and told afterwards --------------------------------------------------------------------------------


def test_a_second_size_for_each_label() -> None:
    """Leading axes one longer, others twice; one label has one size wherever it stands: that of where it comes first."""
    specs = {"a": Spec((3, 4, 5)), "b": Spec((4, 3)), "c": Spec((7,))}
    for dynamic, want in (
        ({"a": {0: "n"}}, {"a": (4, 4, 5), "b": (4, 3), "c": (7,)}),
        ({"a": {2: "w"}}, {"a": (3, 4, 10), "b": (4, 3), "c": (7,)}),
        ({"a": {0: "n", 1: "h"}, "b": {1: "n", 0: "h"}}, {"a": (4, 8, 5), "b": (8, 4), "c": (7,)}),
        ({"b": {0: "n"}, "c": {0: "m"}}, {"a": (3, 4, 5), "b": (5, 3), "c": (8,)}),
        ({}, {"a": (3, 4, 5), "b": (4, 3), "c": (7,)}),
    ):
        assert {n: s.shape for n, s in other_sizes(specs, dynamic).items()} == want, dynamic


def two_heads() -> tuple[hybrid.symbol.Symbol, dict[str, np.ndarray]]:
    x = hybrid.sym.var("x")
    one = hybrid.sym.FullyConnected(x, num_hidden=2, name="one")
    two = hybrid.sym.relu(hybrid.sym.relu(one, name="r1") + 1, name="r2")
    net = hybrid.sym.Group([two, hybrid.sym.SoftmaxOutput(one, name="softmax")])
    rng = np.random.default_rng(1)
    return net, {"one_weight": rng.normal(size=(2, 3)).astype("f4"), "one_bias": rng.normal(size=2).astype("f4")}


def test_everything_that_a_conversion_tells(tmp_path: Path) -> None:
    net, params = two_heads()
    extra = {**params, "arg:more": np.zeros((4, 5), np.float32)}
    target = tmp_path / "net.onnx"
    found = bridge.convert(net, extra, inputs={"x": (2, 3)}, output=target, dynamic={"x": {0: "n"}}, opset=15, seed=6)
    assert (found.model, found.files, found.opset, found.verified) == (net.name or "model", (str(target),), 15, True)
    assert found.inputs == {"x": {"shape": ["n", 3], "dtype": "float32"}}
    assert found.outputs == {n: {"shape": ["n", 2], "dtype": "float32"} for n in ("r2_output", "softmax_output")}
    proto = onnx.load(target)
    kinds = [n.op_type for n in proto.graph.node]
    assert found.operators == {k: kinds.count(k) for k in kinds} and found.operators["Relu"] == 2
    assert (found.parameters, found.bytes) == (6 + 2, target.stat().st_size)
    assert (found.pruned, found.unused, found.warnings) == (("softmax_label",), ("more",), ())
    assert list(found.seconds) == ["read", "convert", "write", "verify"] and min(found.seconds.values()) >= 0
    assert found.verification is not None
    assert [(r["seed"], r["shapes"]["x"]) for r in found.verification.runs] == [
        (6, (2, 3)),
        (7, (3, 3)),
        (6, (2, 3)),
        (6, (2, 3)),
    ]
    assert [d.name for d in found.verification.differences] == ["r2_output", "softmax_output"]
    assert found.as_dict()["verification"]["verdict"] == "equivalent"
    bare = bridge.convert(net, params, inputs={"x": (2, 3)}, verify=False)
    assert (bare.files, bare.verified, bare.verification, list(bare.seconds)) == ((), False, None, ["read", "convert"])
    assert bare.bytes > 0 and bare.as_dict()["verification"] is None
    also = [{"x": np.full((5, 3), 0.5, np.float32)}, {"x": (4, 3)}]
    further = bridge.convert(net, params, inputs={"x": (2, 3)}, dynamic={"x": {0: "n"}}, also=also, seed=1).verification
    assert further is not None
    assert [(r["seed"], r["shapes"]["x"][0]) for r in further.runs] == [(1, 2), (None, 5), (3, 4), (1, 2), (1, 2)]
    with pytest.raises(bridge.BadInput, match="is ONNX already; convert takes an MXNet symbol"):
        bridge.convert(target)


def test_what_inputs_are_settled_to() -> None:
    net, params = two_heads()
    model = bridge.open_model(net, params)
    assert settle_inputs(model, {"x": Spec((2, 3))}, {}) == {"x": Spec((2, 3), np.dtype(np.float32))}
    assert settle_inputs(model, {"x": Spec((2, 3), np.dtype(np.float32))}, {"x": {1: "m"}})["x"].shape == (2, 3)
    for specs, dynamic, said in (
        ({}, {}, "cannot tell the shape of input x; give it, for instance --input x:"),
        ({"x": Spec((2, 3)), "q": Spec((1,))}, {}, "unknown input q: the model takes x, softmax_label"),
        ({"x": Spec((2, 3))}, {"q": {0: "n"}}, "unknown input q"),
        ({"x": Spec((2, 3))}, {"x": {2: "n"}}, "dynamic axis 2 of x: it has 2 dimensions"),
        ({"x": Spec((2, 3))}, {"x": {-1: "n"}}, "dynamic axis -1 of x: it has 2 dimensions"),
        ({"x": Spec((2, 4))}, {}, r"parameter one_weight: got shape \(2, 3\), wanted \(2, 4\)"),
    ):
        with pytest.raises(bridge.BadInput, match=said):
            settle_inputs(model, specs, dynamic)
    lacking = bridge.open_model(net, {"one_bias": params["one_bias"], "left": params["one_bias"]})
    with pytest.raises(bridge.BadInput) as caught:
        settle_inputs(lacking, {"x": Spec((2, 3))}, {})
    assert caught.value.problems == (
        "in the parameters given are 1 other parameters: left",
        "missing parameter one_weight: neither in the parameters given nor an input",
    )


def test_where_files_may_be_written(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_bytes(b"1")
    check_target(tmp_path / "new")
    check_target(mine)
    check_target(mine, None, tmp_path / "gone", tmp_path)
    for target, reads, said in (
        (tmp_path / "no" / "new", (), "no such folder to write new to"),
        (tmp_path, (), "a folder; give the name of the file to write"),
        (mine, (None, mine), "read as well, so that writing it would destroy it"),
        (Path(os.devnull), (), "a device or a pipe, wanted a place for a file"),
    ):
        with pytest.raises(bridge.BadInput, match=said):
            check_target(target, *reads)


def test_which_differences_another_draw_may_clear() -> None:
    """Ranking nodes that are right by themselves, and inputs that were drawn."""
    right, wrong = (compare("y", np.arange(4.0) + s, np.arange(4.0)) for s in (0, 1))
    runs = ({"seed": None}, {"seed": 3})
    for operator, local, drawn, verdict, again in (
        ("argmax", right, runs, "not equivalent", True), ("topk", right, runs[1:], "not equivalent", True),
        ("argmax", right, runs[:1], "not equivalent", False), ("argmax", wrong, runs, "not equivalent", False),
        ("argmax", None, runs, "not equivalent", False), ("relu", right, runs, "not equivalent", False),
        ("NoSuch", right, runs, "not equivalent", False), ("argmax", right, runs, "equivalent", False),
    ):  # fmt: skip
        found = VerifyResult("a", "b", verdict, drawn, (), Divergence("t", "n", operator, wrong, local, {}))
        assert _only_ties_differ(found) == again, (operator, drawn)
    assert not _only_ties_differ(VerifyResult("a", "b", "not equivalent", runs, ()))


def test_parameters_that_are_not_finite_are_counted() -> None:
    huge = np.full(4, 3e38, np.float32)  # the sum is infinite, the elements are not
    params = {
        "a": np.array([1, np.nan, np.inf]),
        "b": huge,
        "c": np.array([1, 2]),
        "d": np.array([-np.inf], np.float16),
        "e": np.array([np.nan, 1, np.inf, -np.inf], ml_dtypes.bfloat16),
    }
    model = bridge.models.Model("m", Graph([Entry(Node(None, "x"))]), params, cast=tuple("pqrs"))
    assert _warnings(model) == [
        "4 parameters were stored in another dtype than the graph computes in, and cast to it: p, q, r ...",
        "parameter a holds 2 NaN or infinite values",
        "parameter d holds 1 NaN or infinite values",
        "parameter e holds 3 NaN or infinite values",
    ]


def test_operators_that_count_what_mxnet_leaves_out_are_named() -> None:
    x, parts, state, lengths = (mx.sym.var(n) for n in ("x", "parts", "state", "lengths"))
    given = {"state_size": 4, "num_layers": 1, "mode": "rnn_tanh", "use_sequence_length": True}
    first = mx.sym.RNN(x, parts, state, sequence_length=lengths, name="a", **given)
    net = mx.sym.RNN(
        mx.sym.RNN(first, parts, state, name="plain", **given | {"use_sequence_length": False}),
        parts,
        state,
        sequence_length=lengths,
        name="b",
        **given,
    )
    [said] = _warnings(bridge.models.Model("m", net.graph, {}))
    assert said.startswith(
        "a (RNN), b (RNN): heeds sequence lengths, as on a GPU; on a CPU MXNet 1.9.1 leaves that out"
    )
    clipped = mx.sym.RNN(
        x,
        parts,
        state,
        mx.sym.var("cell"),
        state_size=4,
        num_layers=1,
        mode="lstm",
        lstm_state_clip_min=-1,
        lstm_state_clip_max=1,
    )
    [said] = _warnings(bridge.models.Model("m", clipped.graph, {}))
    assert "heeds the clipping of the cell state" in said


def test_what_a_refusal_says() -> None:
    """The first output that differs, else the tensor where models part; the node; and the notes."""
    right, wrong, off = (compare(n, np.arange(4.0) + s, np.arange(4.0)) for n, s in (("y", 0), ("z", 1), ("t", 2)))
    where = Divergence("t", "conv", "Convolution", off, None, {})
    for differences, divergence, warnings, want in (
        ((right, wrong, off), where, ("one", "two"),
         f"not equivalent: z: {wrong.reason}; the first node that differs is conv (Convolution); one; two"),
        ((wrong,), None, (), f"not equivalent: z: {wrong.reason}"),
        ((right,), where, (), f"not equivalent: t: {off.reason}; the first node that differs is conv (Convolution)"),
        ((right,), None, ("one",), "not equivalent"),
    ):  # fmt: skip
        found = bridge.NotEquivalent(VerifyResult("a", "b", "not equivalent", (), differences, divergence), warnings)
        assert str(found) == want
        assert found.warnings == warnings
    little = VerifyResult("a", "b", "says little", (), (right,), little=("y is empty", "z is constant"))
    assert str(bridge.NotEquivalent(little)) == "says little: y is empty; z is constant"


def test_what_is_missing_and_where_it_was_looked_for(tmp_path: Path) -> None:
    net, params = two_heads()
    net.save(str(tmp_path / "net-symbol.json"))
    shape = {"x": Spec((2, 3))}
    advice = f"no .params file was found beside {tmp_path / 'net-symbol.json'}, and one_weight, one_bias are missing"
    advice += "; give it with --params FILE"
    for given, saved, told in (
        (None, None, [advice]),
        ({}, None, [advice]),
        (None, {"left": params["one_bias"]}, [f"in {tmp_path / 'net-0000.params'} are 1 other parameters: left"]),
        (None, {"arg:one_bias": params["one_bias"]}, []),
    ):
        path = tmp_path / "net-0000.params"
        path.unlink(missing_ok=True)
        if saved is not None:
            hybrid.nd.save(str(path), {n: hybrid.nd.array(a) for n, a in saved.items()})
        model = bridge.open_model(tmp_path / "net-symbol.json", given)
        with pytest.raises(bridge.BadInput) as caught:
            settle_inputs(model, shape, {})
        missing = [p for p in caught.value.problems if p.startswith("missing parameter one_weight")]
        assert missing and (f"neither in {path}" in missing[0]) == (saved is not None)
        assert [p for p in caught.value.problems if not p.startswith("missing")] == told
    f8 = np.dtype(np.float64)
    model = bridge.open_model(hybrid.sym.var("x") * 2)
    assert settle_inputs(model, {"x": Spec((2, 3), f8)}, {}) == {"x": Spec((2, 3), f8)}
    scalar = bridge.open_model(hybrid.sym.var("x", shape=(3,)) + hybrid.sym.var("y"))
    assert settle_inputs(scalar, {"y": Spec(None, np.dtype(np.float32))}, {})["y"].shape == (3,)
    with pytest.raises(bridge.BadInput) as caught:
        settle_inputs(
            bridge.open_model(hybrid.sym.Group([hybrid.sym.var("a") * 2, hybrid.sym.var("b") * 2])), {}, {"a": {0: "n"}}
        )
    assert [p.split(";")[0] for p in caught.value.problems] == [f"cannot tell the shape of input {n}" for n in "ab"]


def test_labels_take_the_axes_of_what_they_belong_to() -> None:
    """A label's axis changes with that of the data; not where the call names axes of the label itself."""
    data, other = hybrid.sym.var("data"), hybrid.sym.var("other")
    one = hybrid.sym.SoftmaxOutput(data, multi_output=True, name="one")
    two = hybrid.sym.LinearRegressionOutput(other, name="two")
    net = hybrid.sym.Group([one, two])
    inputs = {"data": (2, 3, 5), "other": (4, 7)}

    def labels(dynamic: dict[str, dict[int, str]]) -> dict[str, list[object]]:
        found = bridge.convert(net, {}, inputs=inputs, dynamic=dynamic, training=True, verify=False)
        return {n: found.inputs[n]["shape"] for n in ("one_label", "two_label")}

    assert labels({"data": {0: "n", 2: "w"}, "other": {0: "m"}}) == {"one_label": ["n", "w"], "two_label": ["m", 7]}
    assert labels({"data": {2: "w"}}) == {"one_label": [2, "w"], "two_label": [4, 7]}
    assert labels({"data": {0: "n"}, "one_label": {0: "k"}}) == {"one_label": ["k", 5], "two_label": [4, 7]}
    assert labels({"other": {1: "v"}}) == {"one_label": [2, 5], "two_label": [4, "v"]}


def test_models_that_onnx_itself_refuses_are_a_fault_of_ours() -> None:
    info = onnx.helper.make_tensor_value_info

    def made(nodes: list[onnx.NodeProto], *outputs: onnx.ValueInfoProto) -> Converted:
        graph = onnx.helper.make_graph(nodes, "g", [info("x", 1, [2, 3])], outputs)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        return Converted(model, {"w": np.float32([1, 2])})

    node = onnx.helper.make_node
    y, any_y = info("y", 1, [2, 3]), onnx.helper.make_empty_tensor_value_info("y")
    check_model(made([node("Neg", ["x"], ["y"])], y))
    unranked = onnx.helper.make_value_info("y", onnx.helper.make_tensor_type_proto(1, None))
    z = onnx.helper.make_value_info("z", onnx.helper.make_tensor_type_proto(1, None))
    with pytest.raises(
        converters.ConversionError, match="how many dimensions y, z has depends on sizes that are dynamic"
    ):
        check_model(made([node("Neg", ["x"], ["y"]), node("Abs", ["x"], ["z"])], unranked, z))
    words = onnx.helper.make_value_info(
        "y", onnx.helper.make_sequence_type_proto(onnx.helper.make_tensor_type_proto(1, None))
    )
    check_model(made([node("SequenceConstruct", ["x", "x"], ["y"])], words))
    for nodes in (
        [node("Nothing", ["x"], ["y"])],
        [node("Reshape", ["x"], ["y"])],
        [node("MatMul", ["x", "x"], ["y"])],
    ):
        with pytest.raises(
            converters.ConversionError, match="the converted model is not valid ONNX, a fault of gluonnx: "
        ):
            check_model(made(nodes, y if nodes[0].op_type != "Nothing" else any_y))


def test_places_that_may_not_be_written_to_and_opsets_that_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, params = two_heads()
    options = {"inputs": {"x": (2, 3)}, "opset": 15}
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write anywhere
    with pytest.raises(
        bridge.BadInput, match=r"nothing may be written to this folder; give another place for new\.onnx"
    ):
        check_target(tmp_path / "new.onnx")
    monkeypatch.undo()
    monkeypatch.setattr(importlib.import_module("bridge.conversion.writing"), "opens", lambda opset: opset != 15)
    with pytest.raises(bridge.BadInput, match="opens no model of opset 15 to verify it"):
        bridge.convert(net, params, **options)
    assert bridge.convert(net, params, verify=False, **options).opset == 15
    assert bridge.convert(net, params, **{**options, "opset": 16}).opset == 16
    for opset in (6, 99):
        with pytest.raises(bridge.BadInput, match=f"got opset {opset}"):
            bridge.convert(net, params, **{**options, "opset": opset})


def test_inputs_that_nothing_reads_any_more_are_left_out_of_what_is_verified(tmp_path: Path) -> None:
    """Of a network that is cut, arrays and shapes for what lies behind the cut may be given all the same."""
    x, y = hybrid.sym.var("x"), hybrid.sym.var("y")
    net = hybrid.sym.Group([hybrid.sym.relu(x, name="first"), hybrid.sym.broadcast_add(x, y, name="second")])
    arrays = {"x": np.float32([[1, -2, 3]]), "second_label": np.float32([1])}
    for given in ({"x": arrays["x"]}, {"x": (1, 3)}):
        found = bridge.convert(net, {}, inputs=given, outputs=["first"], also=[{"x": np.float32([[5, -6, 7]])}])
        assert found.verification is not None
        drawn = isinstance(given["x"], tuple)
        assert [r["shapes"] for r in found.verification.runs] == [{"x": (1, 3)}] * (4 if drawn else 2)
        assert list(found.inputs) == ["x"]
    head = hybrid.sym.SoftmaxOutput(x, name="softmax")
    fed = {"x": arrays["x"], "softmax_label": np.float32([2])}
    found = bridge.convert(head, {}, inputs=fed, output=tmp_path / "head.onnx", dynamic={"x": {0: "n"}})
    assert found.verified and list(found.inputs) == ["x"] and found.pruned == ("softmax_label",)


# -- what is verified: how often, with what, under which name ----------------------------------------------------------------------


def test_other_inputs_are_drawn_for_near_ties_only_and_each_draw_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three draws at most; a draw counts when it agrees throughout, and the first one has the reproduction."""
    right, wrong = (compare("y", np.arange(4.0) + s, np.arange(4.0)) for s in (0, 1))
    runs = ({"seed": 5},)

    def found(verdict: str, operator: str = "argmax", note: str = "") -> VerifyResult:
        at = None if verdict == "equivalent" else Divergence("t", "rank", operator, wrong, right, {})
        return VerifyResult("", "", verdict, runs, (right,), at, warnings=(note,) if note else ())  # type: ignore[arg-type]

    tie, other = found("not equivalent", note="tie"), found("not equivalent", "relu")
    fine, little = found("equivalent", note="fine"), found("says little", note="little")
    told = "with seed 5 near ties came in another order at rank, which is right by itself; seed {} agrees throughout"
    for results, kept, asked in (
        ((fine,), ("fine",), 1),
        ((other,), None, 1),
        ((tie, fine), (told.format(1005), "fine"), 2),
        ((tie, tie, fine), (told.format(2005), "fine"), 3),
        ((tie, little, fine), (told.format(2005), "fine"), 3),
        ((tie, other, fine), (told.format(2005), "fine"), 3),
        ((tie, tie, little), None, 3),
    ):
        waiting, seen = iter(results), []

        def check(one, two, cases, *, waiting=waiting, seen=seen, **options):
            seen.append(([c.seed for c in cases], options["repro"], options["tolerance"]))
            return next(waiting)

        monkeypatch.setattr(importlib.import_module("bridge.conversion.proof"), "check", check)
        options = {
            "inputs": {"data": (1, 8)},
            "also": [{"data": (2, 8)}],
            "seed": 5,
            "repro": "there",
            "draws": ("expected",),
        }
        if kept is None:
            with pytest.raises(bridge.NotEquivalent) as caught:
                bridge.convert(ranking(), **options)
            assert caught.value.result.warnings == results[0].warnings
        else:
            verification = bridge.convert(ranking(), **options).verification
            assert verification is not None and verification.warnings == kept
        seeds = [[5 + 1000 * i, 6 + 1000 * i] for i in range(asked)]
        assert seen == [(s, None if i else "there", None) for i, s in enumerate(seeds)]


def test_a_verification_bears_the_names_of_model_and_file_and_lasts_a_while(
    lenet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for over in (64 << 20, 0):  # where the bytes of the file are mapped too
        monkeypatch.setattr(importlib.import_module("bridge.conversion.proof"), "MAPPED_OVER", over)
        for output, name in ((tmp_path / "other.onnx", "other.onnx"), (None, "model.onnx")):
            found = bridge.convert(lenet, inputs={"data": shape_of("lenet")}, output=output).verification
            assert found is not None
            assert (found.a, found.b, found.seconds > 0) == ("model", name, True)


def test_what_trains_is_verified_without_chance_at_its_own_opset(monkeypatch: pytest.MonkeyPatch) -> None:
    data = hybrid.sym.var("data")
    layer = hybrid.sym.Dropout(hybrid.sym.FullyConnected(data, num_hidden=2, name="fc"), p=0.5)
    net = hybrid.sym.SoftmaxOutput(layer, name="softmax")
    params = {"fc_weight": np.float32([[1, 2, 3], [4, 5, -6]]), "fc_bias": np.float32([0.5, -0.5])}
    seen = []
    verify = importlib.import_module("bridge.conversion.proof").compared

    def watched(model, path, written, *rest):
        proto = onnx.load(path)
        seen.append((proto.opset_import[0].version, written.opset, {n.op_type for n in proto.graph.node}))
        return verify(model, path, written, *rest)

    monkeypatch.setattr(importlib.import_module("bridge.conversion.proof"), "compared", watched)
    for opset in (14, 18):
        found = bridge.convert(net, params, inputs={"data": (4, 3)}, training=True, opset=opset)
        assert (found.opset, found.pruned, found.warnings) == (
            opset, (), ("verified without what is random: Dropout left out, slopes of rrelu at their mean",),
        )  # fmt: skip
        assert found.inputs["softmax_label"] == {"shape": [4], "dtype": "float32"}
        assert seen[-1][:2] == (opset, opset) and "Dropout" not in seen[-1][2]
        assert found.operators["Dropout"] == 1


def test_inputs_whose_values_nothing_reads_are_told_as_left_out() -> None:
    """Not labels alone: where sizes are fixed, an input may be read for its shape only."""
    net = hybrid.sym.broadcast_like(hybrid.sym.var("x"), hybrid.sym.var("y"))
    found = bridge.convert(net, {}, inputs={"x": (1, 3), "y": (4, 3)})
    assert (list(found.inputs), found.pruned) == (["x"], ("y",))
    assert bridge.convert(hybrid.sym.sin(hybrid.sym.var("x")), {}, inputs={"x": (2,)}).pruned == ()


def test_each_stage_has_its_own_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([10.0, 10.5, 13.25, 13.25006])
    monkeypatch.setattr("time.perf_counter", lambda: next(times))
    clock = Clock()
    for name in ("one", "two", "three"):
        clock.lap(name)
    assert clock.laps == {"one": 0.5, "two": 2.75, "three": 0.0001}


def test_weights_that_go_beside_the_file_by_themselves_take_no_place_of_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That they do is known only when the model is written; external_data=True is looked at before."""
    net, params = two_heads()
    stored = tmp_path / "net.onnx.data"
    hybrid.nd.save(str(stored), {n: hybrid.nd.array(a) for n, a in params.items()})
    before = stored.read_bytes()
    options = {"inputs": {"x": (2, 3)}, "output": tmp_path / "net.onnx"}
    for external, limit in ((True, 2**31), (None, 0)):
        monkeypatch.setattr("converters.writer.PROTOBUF_LIMIT", limit)
        with pytest.raises(bridge.BadInput, match=r"net\.onnx\.data: read as well"):
            bridge.convert(net, stored, external_data=external, verify=False, **options)
        assert stored.read_bytes() == before and not (tmp_path / "net.onnx").exists()
    monkeypatch.undo()
    assert bridge.convert(net, stored, external_data=False, **options).files == (str(tmp_path / "net.onnx"),)


def test_operators_are_told_in_the_order_of_how_often_they_occur(tmp_path: Path) -> None:
    """The most frequent first; of equals the one that comes first."""
    x = hybrid.sym.var("x")
    for _ in range(3):
        x = hybrid.sym.relu(hybrid.sym.sin(x))
    net = hybrid.sym.negative(hybrid.sym.relu(hybrid.sym.tanh(x)))
    target = tmp_path / "net.onnx"
    made = bridge.convert(net, {}, inputs={"x": (2,)}, output=target, verify=False)
    want = [("Relu", 4), ("Sin", 3), ("Tanh", 1), ("Neg", 1)]
    assert list(made.operators.items()) == list(bridge.inspect(target).operators.items()) == want
    ours = [("relu", 4), ("sin", 3), ("tanh", 1), ("negative", 1)]
    assert list(bridge.inspect(net).operators.items()) == ours
    back = bridge.import_onnx(target, verify=False).operators
    assert list(back.items()) == [("Activation", 5), ("sin", 3), ("negative", 1)]


@needs_opset(23)
def test_the_opset_that_is_told_is_the_file_s(lenet: Path, tmp_path: Path) -> None:
    """Asked for, the default, or the first that has what the network needs."""
    newer = hybrid.sym.onnx.RMSNormalization(hybrid.sym.var("x"), hybrid.sym.var("scale"))
    for model, given, params, opset in (
        (lenet, {"data": shape_of("lenet")}, None, None),
        (lenet, {"data": shape_of("lenet")}, None, 15),
        (newer, {"x": (2, 3)}, {"scale": np.ones(3, np.float32)}, None),
    ):
        found = bridge.convert(model, params, inputs=given, output=tmp_path / "m.onnx", opset=opset)
        assert found.opset == onnx.load(tmp_path / "m.onnx").opset_import[0].version
        if opset is not None:
            assert found.opset == opset


def test_a_report_names_the_file_that_it_proves(lenet: Path, tmp_path: Path) -> None:
    """By its hash, and with the sizes of open axes at which it was compared, as the terminal says them; of the file that is there
    at the end also where it was rewritten."""
    report, target = tmp_path / "r.html", tmp_path / "x.onnx"
    for more in ((), ("--fp16",)):
        asked = ["convert", lenet, "-o", target, "--input", "data:2,1,28,28", "--dynamic", "data:0=batch", *more]
        done = CliRunner().invoke(app, [*map(str, asked), "--report", str(report), "--json"])
        assert done.exit_code == 0, done.output
        digest = hashlib.sha256(target.read_bytes()).hexdigest()
        assert json.loads(done.stdout)["sha256"] == {str(target): digest}
        text = report.read_text()
        assert digest in text and re.search("at batch 2 and [0-9]+", text), more
