"""Files on targets: a fake one in an interpreter of its own, that agrees or does anything else; OpenVINO itself."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.paths import BadInput
from bridge.project.config import target_pythons
from bridge.provenance import read_facts
from bridge.targets import deployed, process
from bridge.targets.place import place_of, variable_of
from bridge.targets.profile import profile_of
from converters.error import UnsupportedModel

from .fake import interpreter

sys_run = CliRunner()


@pytest.fixture
def network(tmp_path: Path) -> str:
    """The prefix of a small network: a product and its softmax."""
    folder = tmp_path / "net"
    folder.mkdir()
    data = mx.sym.var("data")
    out = mx.sym.softmax(mx.sym.FullyConnected(data, num_hidden=3, name="fc"), name="soft")
    rng = np.random.default_rng(0)
    args = {"fc_weight": mx.nd.array(rng.standard_normal((3, 4))), "fc_bias": mx.nd.array(rng.standard_normal(3))}
    mx.model.save_checkpoint(str(folder / "m"), 0, out, args, {})
    return str(folder / "m")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes OpenCV be what a mode says."""

    def named(mode: str, version: str = "5.0.1") -> str:
        folder = tmp_path / f"fake-{mode}"
        folder.mkdir()
        python = interpreter(folder, mode, version)
        monkeypatch.setenv(variable_of("opencv"), python)
        return python

    return named


def converted(network: str, tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    bridge.convert(network, inputs={"data": (2, 4)}, output=path, verify=False)
    return path


def outcome(network: str, tmp_path: Path, **told: float) -> bridge.Outcome:
    (found,) = bridge.verify_targets(converted(network, tmp_path), ["opencv"], **told).outcomes
    return found


def test_one_that_agrees(network: str, tmp_path: Path, fake) -> None:
    python = fake("agree")
    found = outcome(network, tmp_path)
    assert (found.verdict, found.release, found.python) == ("agrees", "opencv-python-headless 5.0.1", python)
    assert found.error is not None
    assert found.error < 1e-6


def test_own_shapes_and_dtypes_are_those_of_the_file_again(network: str, tmp_path: Path, fake) -> None:
    fake("column")
    assert outcome(network, tmp_path).verdict == "agrees"


def test_one_that_differs(network: str, tmp_path: Path, fake) -> None:
    fake("differ")
    result = bridge.verify_targets(converted(network, tmp_path), ["opencv"])
    assert result.wrong == ("opencv",)
    assert "beyond" in result.outcomes[0].reason
    assert (result.outcomes[0].node, result.outcomes[0].operator) == ("fc", "Gemm"), "the first that is made to differ"
    assert result.outcomes[0].error == pytest.approx(0.25, rel=1)


@pytest.mark.parametrize(
    ("mode", "verdict", "words"),
    [
        ("refuse", "refused", "Can't create layer of type Softmax"),
        ("crash", "crashed", "SIGSEGV"),
        pytest.param("fail", "refused", "no memory for blob 3", marks=pytest.mark.slow),
        pytest.param("fewer", "refused", "gives 0 outputs, and the file has 1", marks=pytest.mark.slow),
        pytest.param("exit", "crashed", "exit status 3", marks=pytest.mark.slow),
    ],
)
def test_what_goes_wrong_there_is_a_verdict(
    network: str, tmp_path: Path, fake, mode: str, verdict: str, words: str
) -> None:
    fake(mode)
    found = outcome(network, tmp_path)
    assert found.verdict == verdict
    assert words in found.reason
    assert found.operator == "Gemm", "where it fails first: at once"


def test_one_that_takes_too_long(network: str, tmp_path: Path, fake) -> None:
    fake("late")
    found = outcome(network, tmp_path, time_limit=2.0)
    assert found.verdict == "too late"
    assert "more than 2 s" in found.reason


def test_convert_writes_what_agrees_and_says_so_in_the_file(network: str, tmp_path: Path, fake) -> None:
    fake("agree")
    path = tmp_path / "out.onnx"
    told = sys_run.invoke(
        app,
        ["convert", network, "--input", "data:1,4", "-o", str(path), "--target", "opencv", "--target", "tensorrt-8"],
    )
    assert told.exit_code == 0, told.output
    assert "opencv: opencv-python-headless 5.0.1: agrees" in told.output
    assert "tensorrt-8: fits" in told.output
    facts = read_facts(onnx.load(path))
    assert facts["target.opencv"] == "agrees, opencv-python-headless 5.0.1"
    assert facts["target.tensorrt-8"] == "fits by its profile, not run"


@pytest.mark.parametrize(
    ("mode", "status"), [("differ", 1), pytest.param("refuse", 3, marks=pytest.mark.slow), ("crash", 3)]
)
def test_convert_writes_nothing_that_does_not_agree(network: str, tmp_path: Path, fake, mode: str, status: int) -> None:
    fake(mode)
    path = tmp_path / "out.onnx"
    path.write_bytes(b"what was there")
    told = sys_run.invoke(app, ["convert", network, "--input", "data:1,4", "-o", str(path), "--target", "opencv"])
    assert told.exit_code == status, told.output
    assert "opencv" in told.output
    assert path.read_bytes() == b"what was there"


def test_every_node_that_a_target_lacks_is_told_before_anything_is_run() -> None:
    middle = mx.sym.relu(mx.sym.var("data"), name="fine")
    ends = [mx.sym.topk(middle, k=2, ret_typ="value", name="best"), mx.sym.argmax(middle, axis=1, name="first")]
    with pytest.raises(UnsupportedModel) as found:
        bridge.convert(mx.sym.Group(ends), {}, inputs={"data": (1, 6)}, targets="ncnn", verify=False)
    assert {p.operator for p in found.value.problems} >= {"TopK", "ArgMax"}
    assert "that ncnn does not take" in str(found.value)
    assert "--outputs fine_output --target ncnn" in str(found.value)


def test_the_command_that_is_proposed_works(tmp_path: Path) -> None:
    out = mx.sym.topk(mx.sym.relu(mx.sym.var("data"), name="fine"), k=2, ret_typ="value", name="best")
    mx.model.save_checkpoint(str(tmp_path / "m"), 0, out, {}, {})
    words = ["convert", str(tmp_path / "m"), "--input", "data:1,6", "--target", "ncnn"]
    told = sys_run.invoke(app, words)
    assert told.exit_code == 2
    assert not (tmp_path / "m.onnx").exists()
    _, proposed = told.output.replace("\n", " ").split("up to there it fits: gluonnx ")
    proposed, _ = proposed.split("for more:")
    assert sys_run.invoke(app, [*shlex.split(proposed), "--no-verify"]).exit_code == 0
    assert [n.op_type for n in onnx.load(tmp_path / "m.onnx").graph.node] == ["Relu"]


def test_verify_prints_the_matrix(network: str, tmp_path: Path, fake) -> None:
    fake("crash")
    path = converted(network, tmp_path)
    told = sys_run.invoke(app, ["verify", str(path), "--target", "opencv", "--target", "tensorrt-10", "--json"])
    assert told.exit_code == 3
    found = json.loads(told.output)
    assert [o["verdict"] for o in found["outcomes"]] == ["crashed", "fits"]
    assert found["failed"] == ["opencv"]
    text = sys_run.invoke(app, ["verify", str(path), "--target", "opencv"]).output
    assert "0 of 1 that were run agree" in text
    wrong = sys_run.invoke(app, ["verify", network, "--target", "opencv"])
    assert wrong.exit_code == 2
    assert "convert it first" in wrong.output


def test_a_verification_that_ran_nothing_is_no_success(network: str, tmp_path: Path, fake) -> None:
    """A file that fits TensorRT's profile is not verified: no number was compared."""
    fake("agree")
    path = converted(network, tmp_path)
    told = sys_run.invoke(app, ["verify", str(path), "--target", "tensorrt"])
    assert told.exit_code == 4
    assert (
        "nothing was run, so no numbers were compared; not run, fitting by the profile alone: tensorrt-10"
        in told.output
    )
    assert "TensorRT needs an NVIDIA GPU" in " ".join(told.output.split())
    found = json.loads(sys_run.invoke(app, ["verify", str(path), "--target", "tensorrt", "--json"]).output)
    assert (found["exit"], found["run"], found["failed"]) == (4, [], [])
    both = sys_run.invoke(app, ["verify", str(path), "--target", "opencv", "--target", "tensorrt"])
    assert both.exit_code == 0
    assert "1 of 1 that were run agree; not run, fitting by the profile alone: tensorrt-10" in both.output
    found = bridge.verify_targets(path, ["opencv", "tensorrt"])
    assert found.run == ("opencv",)


@pytest.mark.parametrize(
    "told",
    [
        {"inputs": {"data": (1, 3, 8, 8)}, "batch": "batch"},
        {"preprocess": bridge.Preprocess(layout="NHWC", uint8=True, resize=(8, 8)), "batch": "batch"},
    ],
)
def test_sizes_are_those_of_the_file_and_a_batch_is_chosen(told, tmp_path: Path, fake) -> None:
    fake("agree")
    net = mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=2, no_bias=True, name="conv")
    params, path = {"conv_weight": np.ones((2, 3, 1, 1), np.float32)}, tmp_path / "m.onnx"
    bridge.convert(net, params, output=path, verify=False, **told)
    ran = sys_run.invoke(app, ["verify", str(path), "--target", "opencv"])
    assert ran.exit_code == 0, ran.output
    assert "1 of 1 that were run agree" in ran.output


def test_sizes_that_cannot_be_chosen_are_asked_for_as_the_file_has_them(tmp_path: Path, fake) -> None:
    fake("agree")
    net, path = mx.sym.relu(mx.sym.var("data")), tmp_path / "m.onnx"
    axes = {"data": {0: "batch", 1: "height", 2: "width"}}
    bridge.convert(net, {}, inputs={"data": (1, 8, 8, 3)}, dynamic=axes, output=path, verify=False)
    for target in ("opencv", "tensorrt"):
        asked = sys_run.invoke(app, ["verify", str(path), "--target", target])
        assert asked.exit_code == 2
        assert "--input data:1,224,224,3" in asked.output


def test_targets_are_listed(fake) -> None:
    fake("agree")
    told = sys_run.invoke(app, ["targets", "--json"])
    assert told.exit_code == 0
    listed = {t["name"]: t for t in json.loads(told.output)["targets"]}
    assert listed["opencv"]["installed"]
    assert listed["opencv"]["version"] == "5.0.1"
    assert not listed["tensorrt-8"]["installed"]
    one = sys_run.invoke(app, ["targets", "tensorrt-8"]).output
    assert "onnx-tensorrt" in one
    assert "13" in one
    wrong = sys_run.invoke(app, ["targets", "tensor"])
    assert wrong.exit_code == 2
    assert "wanted one of" in wrong.output


def test_an_interpreter_that_has_not_what_it_is_named_for(
    tmp_path: Path, fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake("agree", version="4.6.0")
    with pytest.raises(BadInput, match=r"has opencv-python-headless 4\.6\.0; opencv wants .* from 5\.0"):
        place_of(profile_of("opencv"))
    monkeypatch.setenv(variable_of("opencv"), str(tmp_path / "none"))
    with pytest.raises(BadInput, match="no such file, wanted a Python interpreter"):
        place_of(profile_of("opencv"))
    monkeypatch.setenv(variable_of("opencv"), "/bin/false")
    with pytest.raises(BadInput, match="wanted a Python interpreter"):
        place_of(profile_of("opencv"))
    listed = sys_run.invoke(app, ["targets"])  # tells of it, and of all others
    assert listed.exit_code == 0


def test_interpreters_named_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "cv"
    folder.mkdir()
    interpreter(folder, "agree")
    (tmp_path / "gluonnx.toml").write_text('[targets]\nopencv = "cv/python"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(variable_of("opencv"), raising=False)
    found = place_of(profile_of("opencv"))
    assert found is not None
    assert found.version == "5.0.1"
    (tmp_path / "gluonnx.toml").write_text('[targets]\nopencv-4.6 = "a"\nonnxruntime-1.15 = "b"\nmnn = "c"\n')
    whole = {"opencv-4.6": "a", "onnxruntime-1.15": "b", "mnn": "c"}  # not the table opencv-4 of 6
    assert {n: Path(p).name for n, p in target_pythons(Path("gluonnx.toml")).items()} == whole
    (tmp_path / "gluonnx.toml").write_text("targets = 3\n")
    with pytest.raises(BadInput, match="wanted a table"):
        place_of(profile_of("opencv"))


def test_a_runner_that_is_closed_leaves_no_process(network: str, tmp_path: Path, fake) -> None:
    fake("agree")
    path = converted(network, tmp_path)
    model = bridge.open_model(path)
    specs = bridge.models.specs_of_onnx(model.proto)  # type: ignore[attr-defined]
    outputs = {o.name: bridge.models.onnx_spec(o) for o in model.proto.graph.output}  # type: ignore[attr-defined]
    place = place_of(profile_of("opencv"))
    assert place is not None
    with process.TargetRunner(profile_of("opencv"), place, path, specs, outputs) as runner:
        runner.run({"data": np.ones((2, 4), np.float32)})
        started = runner._process
        assert started is not None
        assert started.poll() is None
    assert started.poll() is not None


def test_openvino_itself(network: str, tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    result = bridge.convert(
        network, inputs={"data": (2, 4)}, output=tmp_path / "o.onnx", targets=["openvino", "onnxruntime"]
    )
    assert [o.verdict for o in result.targets] == ["agrees", "agrees"]
    assert all(o.release for o in result.targets)
    assert "agrees in float32 (off by" in result.targets[0].words, "OpenVINO is told which precision to take"
    assert result.targets[0].default and not result.targets[1].default
    found = bridge.verify_targets(tmp_path / "o.onnx", ["openvino", "onnx-reference"])
    assert not found.failed


@pytest.mark.parametrize(
    ("default", "said"),
    [
        ("", "o 1: agrees (off by 1.0e-06 of scale at most)"),
        ("float32", "o 1: agrees in float32 (off by 1.0e-06 of scale at most)"),
        (
            "bfloat16",
            "o 1: agrees in float32 (off by 1.0e-06 of scale at most); its own default on this machine is bfloat16: "
            "ask it for float32 where you run it",
        ),
    ],
)
def test_an_engine_of_a_narrower_default_is_told_of(default: str, said: str) -> None:
    assert bridge.Outcome("o", "agrees", release="o 1", error=1e-6, default=default).words == said


def test_an_outcome_says_at_which_sizes_it_was_run(network: str, tmp_path: Path) -> None:
    path = tmp_path / "o.onnx"
    told = {"inputs": {"data": (2, 4)}, "output": path, "targets": ["onnxruntime"]}
    (one,) = bridge.convert(network, dynamic={"data": {0: "batch"}}, **told).targets
    assert one.sizes == {"batch": (2,)} == one.as_dict()["sizes"]
    assert "of scale at most; run at batch 2)" in one.words
    (again,) = bridge.verify_targets(path, ["onnxruntime"], inputs={"data": (5, 4)}).outcomes
    assert again.sizes == {"batch": (5,)}
    table = sys_run.invoke(app, ["verify", str(path), "--target", "onnxruntime", "--input", "data:5,4"])
    assert "run at batch 5" in table.output
    (fixed,) = bridge.convert(network, **told).targets
    assert fixed.sizes == {} and "run at" not in fixed.words, "a file of one size says it"


def test_sizes_of_axes_without_a_label_and_of_inputs_with_other_names() -> None:
    info = onnx.helper.make_tensor_value_info
    inputs = [info("a", 1, [None, "n", 3]), info("b", 1, ["n"])]
    model = onnx.helper.make_model(onnx.helper.make_graph([], "g", inputs, []))
    feeds = [{"x": np.zeros((7, n, 3)), "b": np.zeros(n)} for n in (4, 5, 4)]
    assert deployed.sizes_run(model, feeds, {"x": "a"}) == {"axis 0 of a": (7,), "n": (4, 5)}


def test_a_shape_alone_is_of_the_dtype_of_the_file(tmp_path: Path) -> None:
    """Bytes stay bytes where only their shape is given: OpenVINO takes floats for them without a word."""
    nodes = [
        onnx.helper.make_node("Cast", ["data"], ["x"], to=onnx.TensorProto.FLOAT),
        onnx.helper.make_node("Mul", ["x", "x"], ["y"]),
    ]
    data = onnx.helper.make_tensor_value_info("data", onnx.TensorProto.UINT8, ["batch", 4])
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["batch", 4])
    opsets = [onnx.helper.make_opsetid("", 17)]
    graph = onnx.helper.make_graph(nodes, "bytes", [data], [y])
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), str(tmp_path / "bytes.onnx"))
    fed = []
    runner = deployed.TargetRunner.run

    def run(self: Any, feeds: Any) -> Any:
        fed.append(feeds["data"].dtype)
        return runner(self, feeds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deployed.TargetRunner, "run", run)
        result = bridge.verify_targets(tmp_path / "bytes.onnx", ["onnxruntime"], inputs={"data": (2, 4)})
    assert [o.verdict for o in result.outcomes] == [deployed.AGREES]
    assert set(fed) == {np.dtype(np.uint8)}


def test_one_file_of_a_detector_for_both(tmp_path: Path) -> None:
    """As the face page has it: with NonMaxSuppression or without any, and not with TensorRT's own operator."""
    anchors = mx.sym.var("anchors", shape=(1, 6, 4))
    boxes = mx.sym.contrib.MultiBoxDetection(mx.sym.var("by_class"), mx.sym.var("offsets"), anchors, name="found")
    mx.model.save_checkpoint(str(tmp_path / "m"), 0, boxes, {"anchors": mx.nd.random.uniform(shape=(1, 6, 4))}, {})
    words = ["convert", str(tmp_path / "m"), "--input", "by_class:1,3,6", "--input", "offsets:1,24", "--no-verify"]
    words += ["--target", "openvino", "--target", "tensorrt"]
    for nms, status in (("onnx", 0), ("none", 0), ("tensorrt-plugin", 2)):
        told = sys_run.invoke(app, [*words, "--nms", nms, "-o", str(tmp_path / "out.onnx")])
        assert told.exit_code == status, told.output
    assert "openvino has no operator of the domain TRT" in " ".join(told.output.split())
