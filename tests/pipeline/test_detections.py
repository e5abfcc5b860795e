"""Rows of detections: what is said of them, and names of classes for a detector."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.pipeline.detections import COLUMNS, KEY, detector_of, rows_of, told
from bridge.pipeline.labels import labels_of
from converters.forms import USUAL, Forms
from hybrid.core.op import Spec

ROOT = Path(__file__).parents[2]
ARCHIVE, KEPT = ROOT / "fixtures" / "sagemaker" / "detection.tar.gz", ROOT / "fixtures" / "sagemaker" / "detection.npz"
YOLO = ROOT / "fixtures" / "models" / "yolo" / "model"
TWO = ("cat", "dog")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with the detector of SageMaker's archive and names of its classes."""
    place = tmp_path_factory.mktemp("detector") / "program"
    bridge.deploy(ARCHIVE, "python", place, labels=TWO, batch="batch", draws=("expected",))
    return place


def recorded() -> dict[str, np.ndarray]:
    """Inputs and outputs that MXNet 1.9.1 gave."""
    with np.load(KEPT) as stored:
        return dict(stored)


def found(array: np.ndarray) -> list[tuple[float, str, list[float]]]:
    """Detections of one picture as MXNet's rows say them, the likeliest first: score, name, box."""
    rows = sorted((r for r in array.tolist() if r[0] >= 0), key=lambda r: -r[1])
    return [(row[1], TWO[int(row[0])], row[2:]) for row in rows]


def test_names_are_those_of_the_classes_of_detections(served: Path) -> None:
    """The file carries them, says which output holds rows, and what is deployed with it gives names and boxes that MXNet gave."""
    kept = recorded()
    wanted = found(kept["outputs/det_out_output"][0])
    proto = bridge.open_model(served / "model.onnx").proto
    assert proto is not None and labels_of(proto) == TWO
    said = json.loads(next(p.value for p in proto.metadata_props if p.key == KEY))
    assert said == {"outputs": ["det_out_output"], "columns": [*COLUMNS]}
    assert (served / "labels.txt").read_text() == "cat\ndog\n"
    sys.path.insert(0, str(served))
    try:
        module = importlib.import_module("served_model")
    finally:
        sys.path.remove(str(served))
        sys.modules.pop("served_model", None)
    model = module.OnnxModel(served / "model.onnx", ["CPUExecutionProvider"])
    (best,) = model.best(model.run({"data": kept["inputs/data"]}), 5)
    assert [b["class"] for b in best] == [name for _, name, _ in wanted[:5]]
    for each, (score, _, box) in zip(best, wanted):
        np.testing.assert_allclose([each["probability"], *each["box"]], [score, *box], atol=1e-5)
    (whole,) = model.best(model.run({"data": kept["inputs/data"]}), None)
    assert len(whole) == len(wanted)


def test_run_and_inspect_say_what_the_rows_are(served: Path, tmp_path: Path) -> None:
    kept = recorded()
    np.savez(tmp_path / "in.npz", data=kept["inputs/data"])
    score, name, _ = found(kept["outputs/det_out_output"][0])[0]
    for source, called in ((served / "model.onnx", name), (ARCHIVE, f"class {TWO.index(name)}")):
        shown = CliRunner().invoke(app, ["run", str(source), "--inputs", str(tmp_path / "in.npz")]).stdout
        assert f"found in det_out_output  {called} {score:.4g} at " in shown, shown
        result = bridge.inspect(source)
        assert result.detections == ("det_out_output",)
        shown = CliRunner().invoke(app, ["inspect", str(source)]).stdout
        assert "rows of class (-1: no detection), score, left, top, right, bottom" in shown
    assert not bridge.inspect(YOLO).detections


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"labels": ("a", "b", "c")}, r"got 3 names for 2 classes .* the background is none of them"),
        ({"labels": TWO, "output": "det_out_output", "top_k": 2}, r"det_out_output holds rows of class .*--postprocess-output"),
        ({"labels": TWO, "output": "det_out_output", "softmax": True}, "det_out_output holds rows of class"),
        ({"labels": TWO, "output": "cls_prob_output"}, "along which axis"),
        ({"labels": TWO, "output": "cls_prob_output", "axis": 1}, "got 2 names for 3 classes"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(bridge.BadInput, match=said):
        bridge.convert(ARCHIVE, postprocess=bridge.Postprocess(**options), verify=False)  # type: ignore[arg-type]


def test_scores_of_all_anchors_may_be_named_with_the_background() -> None:
    wanted = bridge.Postprocess(labels=("none", *TWO), output="cls_prob_output", axis=1)
    assert bridge.convert(ARCHIVE, postprocess=wanted, verify=False).outputs


def test_a_detector_that_ends_in_box_nms_has_as_many_names_as_classes(tmp_path: Path) -> None:
    size = {"data": Spec((1, 3, 32, 48))}
    head = detector_of(bridge.open_model(YOLO), size, None)
    assert head is not None and (head[0].name, head[1]) == ("box_nms0", 3)
    for forms in (USUAL, Forms(nms="none")):
        three = bridge.Postprocess(labels=("a", "b", "c"))
        assert bridge.convert(YOLO, inputs=size, postprocess=three, verify=False, forms=forms).outputs
    with pytest.raises(
        bridge.BadInput, match=r"got 2 names for 3 classes that box_nms0 \(_contrib_box_nms\) tells apart"
    ):
        bridge.convert(YOLO, inputs=size, postprocess=bridge.Postprocess(labels=TWO), verify=False)


def test_names_stand_beside_a_recording_which_they_do_not_change(tmp_path: Path) -> None:
    np.savez(tmp_path / "truth.npz", **{f"0/{name}": array for name, array in recorded().items()})
    wanted = bridge.Postprocess(labels=TWO)
    result = bridge.convert(
        ARCHIVE, expected=tmp_path / "truth.npz", postprocess=wanted, output=tmp_path / "named.onnx"
    )
    assert result.verification is not None
    assert {"det_out_output (second model, recorded)"} <= {d.name for d in result.verification.differences}
    with pytest.raises(bridge.BadInput, match="recorded outputs are those of the network alone"):
        scores = bridge.Postprocess(softmax=True, output="cls_prob_output", axis=1)
        bridge.convert(ARCHIVE, expected=tmp_path / "truth.npz", postprocess=scores)


def test_triton_says_that_it_gives_out_no_names_of_detections(tmp_path: Path) -> None:
    made = bridge.deploy(ARCHIVE, "triton", tmp_path, name="detector", labels=TWO, batch="batch", verify=False)
    assert any("labels.txt is for clients: no output holds a score for each of 2 names" in w for w in made.warnings)
    assert "label_filename" not in (tmp_path / "detector" / "config.pbtxt").read_text()
    assert (tmp_path / "detector" / "labels.txt").read_text() == "cat\ndog\n"


def test_rows_in_words() -> None:
    rows = np.array(
        [[[1, 0.5, 0, 0.1, 1, 1], [-1, 0.9, 0, 0, 0, 0], [0, 0.75, 0.25, 0, 0.5, 1]], [[-1] * 6] * 3], np.float32
    )
    assert told("det", rows, TWO) == [
        ("det[0]", "cat 0.75 at 0.25, 0, 0.5, 1; dog 0.5 at 0, 0.1, 1, 1"),
        ("det[1]", "none"),
    ]
    assert told("det", rows[:1], ()) == [("det", "class 0 0.75 at 0.25, 0, 0.5, 1; class 1 0.5 at 0, 0.1, 1, 1")]
    many = np.tile(np.array([0, 0.5, 0, 0, 1, 1], np.float32), (1, 9, 1))
    assert told("det", many, TWO)[0][1].endswith("; 4 more")
    assert rows_of(bridge.open_model(mx.sym.exp(mx.sym.var("x")), {})) == []
