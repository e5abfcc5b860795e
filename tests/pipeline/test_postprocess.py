"""Scores made into what is wanted of them inside the file, and names of classes in its metadata."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import bridge
import hybrid as mx
from bridge.pipeline.labels import KEY, as_metadata, labels_of, ranked, read_labels
from bridge.pipeline.postprocess import Postprocess

NAMES = tuple(f"it's class {i}" for i in range(6))


def scores():
    """A network whose scores are its input."""
    return bridge.open_model(mx.sym.identity(mx.sym.var("data"), name="fc"), {})


def made(path: Path, shape, wanted: Postprocess, data: np.ndarray):
    result = bridge.convert(scores(), inputs={"data": shape}, output=path, postprocess=wanted)
    assert result.verification is not None and result.verification.verdict == "equivalent"
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, {"data": data})))


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize(("shape", "axis", "wanted"), [((3, 6), 1, None), ((2, 6, 3, 4), 1, None), ((2, 3, 6), 2, -1)])
def test_softmax_argmax_and_top_k_beside_numpy(tmp_path: Path, shape, axis: int, wanted) -> None:
    data = np.random.default_rng(3).normal(size=shape).astype(np.float32)
    right = softmax(data, axis)
    out = made(tmp_path / "a.onnx", shape, Postprocess(softmax=True, axis=wanted), data)
    np.testing.assert_allclose(out["fc_softmax_output"], right, rtol=1e-5)
    out = made(tmp_path / "b.onnx", shape, Postprocess(argmax=True, axis=wanted), data)
    assert out["fc_class"].dtype == np.int64
    np.testing.assert_array_equal(out["fc_class"], data.argmax(axis))
    out = made(tmp_path / "c.onnx", shape, Postprocess(softmax=True, top_k=2, axis=wanted), data)
    order = np.argsort(-data, axis)
    first = np.take(order, [0, 1], axis)
    np.testing.assert_array_equal(out["fc_classes"], first)
    np.testing.assert_allclose(out["fc_scores"], np.take_along_axis(right, first, axis), rtol=1e-5)


def test_one_output_of_several(tmp_path: Path) -> None:
    data = mx.sym.var("data")
    model = bridge.open_model(mx.sym.Group([mx.sym.tanh(data, name="boxes"), mx.sym.identity(data, name="fc")]), {})
    with pytest.raises(bridge.BadInput, match="--postprocess-output"):
        bridge.convert(model, inputs={"data": (2, 6)}, postprocess=Postprocess(argmax=True))
    with pytest.raises(bridge.BadInput, match="no output 'fcc'"):
        bridge.convert(model, inputs={"data": (2, 6)}, postprocess=Postprocess(argmax=True, output="fcc"))
    wanted = Postprocess(argmax=True, output="fc_output")
    result = bridge.convert(model, inputs={"data": (2, 6)}, output=tmp_path / "m.onnx", postprocess=wanted)
    assert list(result.outputs) == ["boxes_output", "fc_class"] and result.verified
    renamed = bridge.convert(model, inputs={"data": (2, 6)}, postprocess=wanted, rename={"fc_class": "best"})
    assert list(renamed.outputs) == ["boxes_output", "best"]


def test_names_of_classes_find_the_only_axis_as_long_as_they_are(tmp_path: Path) -> None:
    data = mx.sym.var("data")
    heads = [mx.sym.sum(data, axis=2, name="state"), mx.sym.identity(data, name="fc")]
    model = bridge.open_model(mx.sym.Group(heads), {})
    named = Postprocess(labels=tuple("abcdef"))
    result = bridge.convert(model, inputs={"data": (2, 3, 6)}, postprocess=named, output=tmp_path / "n.onnx")
    assert result.verified and list(result.outputs) == ["state_output", "fc_output"]
    best = Postprocess(labels=tuple("abcdef"), argmax=True)
    result = bridge.convert(model, inputs={"data": (2, 3, 6)}, postprocess=best, output=tmp_path / "m.onnx")
    assert result.outputs["fc_class"]["shape"] == [2, 3]
    # the file says which axis of which output it is, since it has no names to be counted where this is read
    assert bridge.verify(model, tmp_path / "m.onnx", inputs={"data": (2, 3, 6)}).equivalent
    three = Postprocess(labels=tuple("abc"), argmax=True)
    for wrong, shape in ((three, (2, 3, 6)), (best, (2, 6, 6)), (named, (2, 3, 5))):
        with pytest.raises(bridge.BadInput, match="--postprocess-output"):  # two outputs, two axes, and none
            bridge.convert(model, inputs={"data": shape}, postprocess=wrong)


def test_what_does_not_go_together_is_refused() -> None:
    data = mx.sym.var("data")
    twice = bridge.open_model(mx.sym.softmax(data, name="prob"), {})
    for model, shape, wanted, said in (
        (twice, (2, 6), Postprocess(softmax=True), "comes out of softmax already"),
        (scores(), (2, 6), Postprocess(top_k=7), "has 6 classes"),
        (scores(), (2, 6), Postprocess(top_k=0), "wanted 1 or more"),
        (scores(), (2, 6), Postprocess(top_k=1, argmax=True), "one of them"),
        (scores(), (2, 6), Postprocess(labels=("a", "b")), "2 names for 6 classes"),
        (scores(), (2, 3, 6), Postprocess(softmax=True), "--class-axis"),
        (scores(), (2, 6), Postprocess(softmax=True, axis=2), "has 2 axes"),
    ):
        with pytest.raises(bridge.BadInput, match=said):
            bridge.convert(model, inputs={"data": shape}, postprocess=wanted)


def test_labels_go_through_the_file(tmp_path: Path) -> None:
    text = tmp_path / "labels.txt"
    text.write_text("\n".join(NAMES) + "\n\n", encoding="utf-8")
    assert read_labels(text) == NAMES
    bridge.convert(
        scores(), inputs={"data": (1, 6)}, output=tmp_path / "m.onnx", postprocess=Postprocess(labels=read_labels(text))
    )
    assert labels_of(onnx.load(tmp_path / "m.onnx")) == NAMES
    assert bridge.inspect(tmp_path / "m.onnx").classes == NAMES
    onnx.checker.check_model(onnx.load(tmp_path / "m.onnx"), full_check=True)


@pytest.mark.parametrize("content", [b"", b"a\n\nb\n", b"\xff\xfe\n"])
def test_labels_that_are_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "labels.txt"
    path.write_bytes(content)
    with pytest.raises(bridge.BadInput, match="labels"):
        read_labels(path)
    with pytest.raises(bridge.BadInput, match="labels"):
        read_labels(tmp_path / "none.txt")


def test_a_program_is_no_list_of_names(tmp_path: Path) -> None:
    for name, content, said in (
        ("inference.py", "a\nb\n", "a .py file, wanted names"),
        ("labels.txt", "import os\nx = 1\n", "line 1 .*of a program"),
        ("labels", "cat\ndef model_fn(folder):\n", "line 2 .*of a program"),
        ("labels.json", "cat\ndog\n", "wanted JSON such as"),
    ):
        path = tmp_path / name
        path.write_text(content)
        with pytest.raises(bridge.BadInput, match=said):
            read_labels(path)


@pytest.mark.parametrize("content", ['["cat", "dog"]', '{"1": "dog", "0": "cat"}'])
def test_labels_of_json(tmp_path: Path, content: str) -> None:
    path = tmp_path / "labels.json"
    path.write_text(content)
    assert read_labels(path) == ("cat", "dog")


def test_a_name_of_two_classes_is_told(tmp_path: Path) -> None:
    names = ("oak", "elm", "oak", "ash", "fir", "yew")
    made = bridge.convert(scores(), inputs={"data": (1, 6)}, postprocess=Postprocess(labels=names))
    assert [w for w in made.warnings if "'oak' 2 times" in w]
    path = tmp_path / "m.onnx"
    bridge.convert(scores(), inputs={"data": (1, 6)}, output=path)
    told = bridge.deploy(path, "triton", tmp_path / "place", labels=names).warnings
    assert [w for w in told if "'oak' 2 times" in w]
    assert not [w for w in bridge.deploy(path, "triton", tmp_path / "other", labels=NAMES).warnings if "one name" in w]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("{0: 'a', 1: 'b'}", ("a", "b")),
        ('{"0": "a", "1": "b"}', ("a", "b")),
        ("['a', 'b']", ("a", "b")),
        ("{0: 'a', 2: 'b'}", ()),
        ("__import__('os')", ()),
        ("(" * 5000, ()),
        ("[1, 2]", ()),
    ],
)
def test_labels_that_others_wrote(text: str, right: tuple[str, ...]) -> None:
    proto = onnx.ModelProto()
    proto.metadata_props.add(key=KEY, value=text)
    assert labels_of(proto) == right


def test_names_of_results() -> None:
    assert as_metadata(()) == {} and labels_of(onnx.ModelProto()) == ()
    told = ranked(
        {"p": np.float32([[0, 3, 1]]), "k": np.int64([[2, 1], [0, 1]]), "n": np.int64([7]), "x": np.zeros((1, 4))},
        ("cat", "dog", "cow"),
    )
    assert told == [("p", "dog 3, cow 1, cat 0"), ("k[0]", "cow, dog"), ("k[1]", "cat, dog")]
    assert ranked({"p": np.float32([0, 1])}, ()) == []
