"""Pictures made ready inside the file: beside a pipeline in NumPy, and beside MXNet's transforms as we have them."""

import dataclasses
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import bridge
import hybrid as mx
from bridge.pipeline.preprocess import Preprocess, parse_numbers, parse_resize, parse_size, taken_by
from hybrid.gluon.data.vision import transforms

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def probe(layout="NCHW", dtype="float32"):
    """A network that gives what it gets, with the channels of its layout told by a first convolution."""
    data = mx.sym.var("data")
    cast = {} if dtype == "float32" else {"weight": mx.sym.var("weight", dtype=dtype)}
    made = mx.sym.Convolution(data, kernel=(1, 1), num_filter=3, no_bias=True, layout=layout, name="same", **cast)
    eye = np.eye(3, dtype=dtype)
    weight = eye.reshape(3, 1, 1, 3) if layout == "NHWC" else eye.reshape(3, 3, 1, 1)
    name = "weight" if cast else "same_weight"
    return bridge.open_model(made, {name: weight})


def pixels(*shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


def by_file(path: Path, **feeds):
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, feeds)


def by_both(path: Path, model, wanted, **feeds):
    """Output of the file, after a look at whether it was verified."""
    shapes = {n: a.shape for n, a in feeds.items()}
    result = bridge.convert(model, inputs=shapes, output=path, preprocess=wanted)
    assert result.verification is not None and result.verification.verdict == "equivalent"
    for run in result.verification.runs[:1]:
        assert "0 to 255" in run["inputs"]["data"]["from"]
    return by_file(path, **feeds)[0]


@pytest.mark.parametrize("network", ["NCHW", "NHWC"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("bgr", [False, True])
def test_the_order_of_steps_beside_numpy(tmp_path: Path, network: str, layout: str, bgr: bool) -> None:
    picture = pixels(2, 5, 4, 3)  # NHWC
    wanted = Preprocess(layout=layout, uint8=True, bgr=bgr, mean=(120, 110, 100), scale=0.5, std=(50, 60, 70))
    fed = picture if layout == "NHWC" else picture.transpose(0, 3, 1, 2)
    found = by_both(tmp_path / "m.onnx", probe(network), wanted, data=fed)
    turned = picture[..., ::-1] if bgr else picture
    right = (turned.astype(np.float32) - np.float32([120, 110, 100])) * np.float32(0.5) / np.float32([50, 60, 70])
    right = right if network == "NHWC" else right.transpose(0, 3, 1, 2)
    np.testing.assert_allclose(found, right, rtol=1e-6, atol=1e-6)


def test_to_tensor_and_normalize_of_our_transforms(tmp_path: Path) -> None:
    picture = pixels(6, 7, 3)
    both = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
    right = both(mx.nd.array(picture, dtype="uint8")).asnumpy()
    wanted = Preprocess(layout="NHWC", uint8=True, unit=True, mean=MEAN, std=STD)
    found = by_both(tmp_path / "m.onnx", probe(), wanted, data=picture[None])
    np.testing.assert_allclose(found[0], right, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("size", [(24, 40), (40, 24), (17, 16), (16, 33)])
def test_shorter_side_and_crop_of_our_transforms(tmp_path: Path, size: tuple[int, int]) -> None:
    """Of any size after the file is written, which takes floats here: our Resize rounds bytes to bytes in between."""
    wanted = Preprocess(layout="NHWC", unit=True, resize=16, crop=(12, 14))
    path = tmp_path / "m.onnx"
    result = bridge.convert(probe(), output=path, preprocess=wanted)
    assert result.inputs["data"] == {"shape": [1, "height", "width", 3], "dtype": "float32"}
    assert result.verification is not None and len({str(r["shapes"]) for r in result.verification.runs}) == 2
    picture = pixels(*size, 3).astype(np.float32)
    steps = [transforms.Resize(16, keep_ratio=True), transforms.CenterCrop((14, 12)), transforms.ToTensor()]
    right = transforms.Compose(steps)(mx.nd.array(picture)).asnumpy()
    np.testing.assert_allclose(by_file(path, data=picture[None])[0][0], right, rtol=1e-4, atol=1e-6)


def test_both_sides_of_bytes_within_one_of_our_resize(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    bridge.convert(probe(), output=path, preprocess=Preprocess(layout="NHWC", uint8=True, resize=(12, 20)))
    picture = pixels(31, 26, 3)
    found = by_file(path, data=picture[None])[0][0].transpose(1, 2, 0)
    right = transforms.Resize((20, 12))(mx.nd.array(picture, dtype="uint8")).asnumpy()
    assert found.shape == right.shape
    assert np.abs(found - right).max() <= 1  # they round to bytes, the file does not


def test_dtype_of_the_network_and_dynamic_batch(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    wanted = Preprocess(uint8=True, unit=True)
    result = bridge.convert(
        probe(dtype="float16"), output=path, batch="batch", preprocess=wanted, inputs={"data": (1, 3, 4, 4)}
    )
    assert result.inputs["data"] == {"shape": ["batch", 3, 4, 4], "dtype": "uint8"}
    picture = pixels(3, 3, 4, 4)
    (found,) = by_file(path, data=picture)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, (picture / np.float32(255)).astype(np.float16), rtol=1e-3)


def test_one_input_of_several(tmp_path: Path) -> None:
    left, right = mx.sym.var("left"), mx.sym.var("right")
    both = bridge.open_model(mx.sym.Concat(left, right, dim=1), {})
    shapes = {"left": (1, 3, 4, 4), "right": (1, 3, 4, 4)}
    with pytest.raises(bridge.BadInput, match="--preprocess-input"):
        bridge.convert(both, inputs=shapes, preprocess=Preprocess(mean=1))
    result = bridge.convert(
        both, inputs=shapes, output=tmp_path / "m.onnx", preprocess=Preprocess(mean=7, input="right")
    )
    assert result.verified
    ones = np.ones(shapes["left"], np.float32)
    (found,) = by_file(tmp_path / "m.onnx", left=ones, right=ones)
    assert found[:, :3].max() == 1 and found[:, 3:].max() == -6


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Preprocess(layout="CHWN"), "wanted NCHW or NHWC"),
        (Preprocess(std=(1, 0, 1)), "other than 0"),
        (Preprocess(mean=(1, 2)), "2 numbers for 3 channels"),
        (Preprocess(mean=(1, 2), std=(1, 2, 3)), "as many of each"),
        (Preprocess(resize=8), "--crop"),
        (Preprocess(resize=8, crop=(9, 8)), "does not lie inside"),
        (Preprocess(crop=(9, 2)), "does not lie inside data"),
        (Preprocess(resize=(0, 4)), "wanted HEIGHTxWIDTH"),
        (Preprocess(mean=1, input="label"), "no input 'label'"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path: Path, wanted: Preprocess, said: str) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"before")
    with pytest.raises(bridge.BadInput, match=said):
        bridge.convert(probe(), inputs={"data": (1, 3, 8, 8)}, output=path, preprocess=wanted)
    assert path.read_bytes() == b"before"


def test_refusals_beside_the_rest_of_conversion() -> None:
    with pytest.raises(bridge.BadInput, match="uint8"):
        bridge.convert(probe(), inputs={"data": np.zeros((1, 3, 4, 4), np.float32)}, preprocess=Preprocess(uint8=True))
    with pytest.raises(bridge.BadInput, match=r"--input data:1,224,224,3"):
        bridge.convert(probe(), preprocess=Preprocess(layout="NHWC"))
    with pytest.raises(bridge.BadInput, match="without --training"):
        bridge.convert(probe(), inputs={"data": (1, 3, 4, 4)}, training=True, preprocess=Preprocess(unit=True))


def test_a_network_that_prepares_pixels_itself() -> None:
    """Its own scaling and another one are two, which no comparison shows: the file and the network agree all the same."""
    data = (mx.sym.var("data") - 127.5) * (1 / 128)
    model = bridge.open_model(mx.sym.tanh(data, name="out"), {})
    shapes = {"data": (1, 3, 4, 4)}
    for wanted, steps in (
        (Preprocess(uint8=True, mean=127.5), "mean"),
        (Preprocess(uint8=True, mean=(123.0, 117.0, 104.0), std=(58.0, 57.0, 57.0)), "mean and std"),
        (Preprocess(unit=True), "unit"),
        (Preprocess(uint8=True, mean=1), "mean"),
        (Preprocess(mean=(1.0, 2.0, 3.0)), "mean"),
        (Preprocess(mean=40, std=2), "mean and std"),
        (Preprocess(std=2), "std"),
        (Preprocess(scale=0.9), "scale"),
    ):
        with pytest.raises(
            bridge.BadInput, match=rf"\(data - 127\.5\) \* 0\.0078125.* with {steps} that is done twice"
        ):
            bridge.convert(model, inputs=shapes, preprocess=wanted)
        insisted = bridge.convert(model, inputs=shapes, preprocess=dataclasses.replace(wanted, twice=True))
        assert any("done twice" in w for w in insisted.warnings)
    once = bridge.convert(model, inputs=shapes, preprocess=Preprocess(uint8=True, bgr=True))
    assert not once.warnings


@pytest.mark.parametrize(
    ("own", "wanted"),
    [
        (lambda x: x * 0.017, Preprocess(mean=(103.94, 116.78, 123.68))),  # half of it there, half here
        (lambda x: (x - 0.5) * 2, Preprocess(unit=True)),  # which wants numbers from 0 to 1
        (lambda x: x / 128, Preprocess(mean=127.5)),
        (lambda x: (x - 127.5) / 128, Preprocess(scale=1.0001)),  # which does nothing
        (lambda x: (x - 127.5) / 128, Preprocess(mean=0, std=1)),
    ],
)
def test_scaling_that_is_done_in_two_parts_is_not_done_twice(own, wanted: Preprocess) -> None:
    model = bridge.open_model(mx.sym.tanh(own(mx.sym.var("data")), name="out"), {})
    assert not bridge.convert(model, inputs={"data": (1, 3, 4, 4)}, preprocess=wanted, verify=False).warnings


@pytest.mark.parametrize(("mean", "variance", "refused"), [(120, 3600, True), (0.1, 1.2, False)])
def test_a_normalisation_that_has_seen_pixels_prepares_them_itself(mean: float, variance: float, refused: bool) -> None:
    """MXNet's residual networks begin with a BatchNorm of the pictures; its statistics say what these were."""
    net = mx.sym.BatchNorm(mx.sym.var("data"), name="bn_data", fix_gamma=True)
    params = {"bn_data_gamma": 1.0, "bn_data_beta": 0.0, "bn_data_moving_mean": mean, "bn_data_moving_var": variance}
    model = bridge.open_model(net, {n: np.full(3, v, np.float32) for n, v in params.items()})
    told = {
        "inputs": {"data": (1, 3, 4, 4)},
        "preprocess": Preprocess(mean=(123, 117, 104), std=(58, 57, 57)),
        "verify": False,
    }
    if refused:
        with pytest.raises(bridge.BadInput, match=r"as bn_data does by moving_mean .* that is done twice"):
            bridge.convert(model, **told)
    else:
        assert bridge.convert(model, **told).bytes


def test_a_normalisation_that_has_seen_pixels_less_their_mean_takes_a_mean() -> None:
    net = mx.sym.BatchNorm(mx.sym.var("data"), name="bn_data", fix_gamma=True)
    params = {"bn_data_gamma": 1.0, "bn_data_beta": 0.0, "bn_data_moving_mean": 1, "bn_data_moving_var": 3600}
    model = bridge.open_model(net, {n: np.full(3, v, np.float32) for n, v in params.items()})
    shapes = {"data": (1, 3, 4, 4)}
    assert bridge.convert(model, inputs=shapes, preprocess=Preprocess(mean=123), verify=False).bytes
    with pytest.raises(bridge.BadInput, match="with std that is done twice"):
        bridge.convert(model, inputs=shapes, preprocess=Preprocess(mean=123, std=58), verify=False)


def test_shapes_in_the_networks_layout_are_refused_with_those_of_the_file() -> None:
    with pytest.raises(
        bridge.BadInput, match=r"the file takes NHWC, .* 4 channels, .* takes 3; .* --input data:1,8,4,3$"
    ):
        bridge.convert(probe(), inputs={"data": (1, 3, 8, 4)}, preprocess=Preprocess(layout="NHWC"))
    with pytest.raises(bridge.BadInput, match=r"the file takes NCHW, .* --input data:1,3,8,4$"):
        bridge.convert(probe("NHWC"), inputs={"data": (1, 8, 4, 3)}, preprocess=Preprocess(layout="NCHW"))


@pytest.mark.parametrize("said", [{"inputs": {"input": (1, 8, 8, 3)}}, {"dynamic": {"input": {0: "batch"}}}])
def test_names_that_are_no_inputs_are_said_first(said) -> None:
    with pytest.raises(bridge.BadInput, match=r"^unknown input input: the model takes data$"):
        bridge.convert(probe(), **said, preprocess=Preprocess(layout="NHWC", uint8=True))


def test_the_size_that_is_proposed_is_one_that_the_network_takes() -> None:
    net = mx.sym.FullyConnected(
        mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=1, name="c"), num_hidden=2
    )
    shapes = dict(zip(net.list_arguments(), net.infer_shape(data=(1, 3, 112, 112))[0]))
    model = bridge.open_model(net, {n: np.zeros(s, np.float32) for n, s in shapes.items() if n != "data"})
    with pytest.raises(bridge.BadInput, match=r"--input data:1,112,112,3$"):
        bridge.convert(model, preprocess=Preprocess(layout="NHWC", uint8=True))


def test_sizes_that_are_given_stay(tmp_path: Path) -> None:
    wanted = Preprocess(layout="NHWC", uint8=True, resize=(6, 5))
    fixed = bridge.convert(probe(), inputs={"data": (2, 9, 11, 3)}, preprocess=wanted)
    assert fixed.inputs["data"]["shape"] == [2, 9, 11, 3] and fixed.outputs["same_output"]["shape"] == [2, 3, 6, 5]
    named = bridge.convert(probe(), dynamic={"data": {1: "rows", 0: "n"}}, preprocess=wanted)
    assert named.inputs["data"]["shape"] == ["n", "rows", "width", 3]
    batch = bridge.convert(probe(), batch="batch", preprocess=wanted)
    assert batch.inputs["data"]["shape"] == ["batch", "height", "width", 3]


def test_names_of_the_network_stay_free(tmp_path: Path) -> None:
    """A network that has tensors of the names that steps would take."""
    data = mx.sym.broadcast_add(mx.sym.var("data"), mx.sym.var("data_mean"))
    model = bridge.open_model(
        mx.sym.identity(data, name="data_centered"), {"data_mean": np.ones((1, 3, 1, 1), np.float32)}
    )
    wanted = Preprocess(mean=(1, 2, 3))
    assert bridge.convert(model, inputs={"data": (1, 3, 2, 2)}, output=tmp_path / "m.onnx", preprocess=wanted).verified
    (found,) = by_file(tmp_path / "m.onnx", data=np.zeros((1, 3, 2, 2), np.float32))
    assert found[0, :, 0, 0].tolist() == [0, -1, -2]


def test_pictures_of_a_file_that_takes_them_turned(tmp_path: Path) -> None:
    """``run --image`` reads red, green, blue; the file says that it takes the other order, and bytes in floats."""
    plain, turned = tmp_path / "plain.onnx", tmp_path / "turned.onnx"
    bridge.convert(probe(), output=plain, preprocess=Preprocess(layout="NHWC", resize=(8, 8), unit=True))
    bridge.convert(probe(), output=turned, preprocess=Preprocess(resize=(8, 8), unit=True, bgr=True, uint8=True))
    assert taken_by(onnx.load(turned))["bgr"] is True
    found = []
    for path in (plain, turned):
        model = bridge.open_model(path)
        (feeds,) = bridge.load_images("fixtures/data/a.png", model)
        found.append(bridge.run(model, feeds)["same_output"])
    assert found[0].max() > 0.1
    np.testing.assert_allclose(*found, atol=1e-6)


def test_texts_of_options() -> None:
    assert parse_numbers("mean", "1,2.5,-3") == (1, 2.5, -3) and parse_numbers("mean", None) is None
    assert parse_resize("256") == 256 and parse_resize("2x3") == (2, 3) and parse_size("crop", None) is None
    for call in (lambda: parse_numbers("mean", "1;2"), lambda: parse_resize("2x"), lambda: parse_size("crop", "7")):
        with pytest.raises(bridge.BadInput, match="wanted"):
            call()
