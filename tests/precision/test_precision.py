"""Files in another precision, from the command line and from Python: what stays and why, what it costs, what is refused."""

import json

import numpy as np
import onnx
import pytest
from PIL import Image
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge.cli import app
from bridge.precision.accuracy import top
from bridge.precision.examples import Examples, check_examples
from bridge.precision.job import TooInexact
from bridge.troubles import trouble_of
from converters.forms import Forms
from tests.models.networks import agree, networks

S = mx.sym
NETWORKS = {n.name: n for n in networks()}
INTEGERS = [n for n in NETWORKS if n.startswith("quantized_") and n != "quantized_attention"]


def small(**shapes: tuple[int, ...]):
    """The arguments of a symbol as arrays: weights of a seeded normal draw."""

    def fill(symbol):
        rng = np.random.default_rng(3)
        sizes, _, states = symbol.infer_shape(**shapes)
        found = {n: rng.standard_normal(s) * 0.3 for n, s in zip(symbol.list_arguments(), sizes) if n not in shapes}
        found |= {n: np.ones(s) for n, s in zip(symbol.list_auxiliary_states(), states)}
        return {n: a.astype(np.float32) for n, a in found.items()}

    return fill


def classifier():
    x = S.Convolution(S.var("data"), name="conv", num_filter=8, kernel=(3, 3), pad=(1, 1))
    x = S.Activation(x, act_type="relu", name="relu")
    x = S.Pooling(x, global_pool=True, pool_type="avg", name="pool")
    return S.FullyConnected(x, num_hidden=7, name="fc")


SHAPE = (2, 3, 10, 10)


def saved(tmp_path, symbol=None, params=None, shape=SHAPE) -> str:
    symbol = classifier() if symbol is None else symbol
    params = small(data=shape)(symbol) if params is None else params
    prefix = str(tmp_path / "net")
    symbol.save(f"{prefix}-symbol.json")
    mx.nd.save(f"{prefix}-0000.params", {f"arg:{n}": mx.nd.array(a, dtype=a.dtype) for n, a in params.items()})
    return prefix


def kinds(path) -> dict[str, int]:
    graph = onnx.shape_inference.infer_shapes(onnx.load(path)).graph
    return {i.name: i.type.tensor_type.elem_type for i in (*graph.input, *graph.value_info, *graph.output)}


# -- float16 --------------------------------------------------------------------------------------------------------------


def test_float16_keeps_inputs_and_outputs_unless_it_is_told(tmp_path) -> None:
    prefix, path = saved(tmp_path), tmp_path / "half.onnx"
    result = bridge.convert_in(bridge.Half(), prefix, inputs={"data": SHAPE}, output=path)
    assert result.inputs["data"]["dtype"] == result.outputs["fc_output"]["dtype"] == "float32"
    assert kinds(path)["conv_output"] == onnx.TensorProto.FLOAT16
    report = result.accuracy
    assert report is not None
    assert 50 < report.outputs[0].sqnr < 100
    assert result.against is not None
    assert result.against.equivalent
    assert {a.tensor for a in report.layers} >= {"conv_output", "relu_output", "pool_output", "fc_output"}
    assert bridge.verify(prefix, path, inputs={"data": SHAPE}).equivalent
    half = bridge.convert_in(bridge.Half(io=True), prefix, inputs={"data": SHAPE}, output=path)
    assert half.inputs["data"]["dtype"] == half.outputs["fc_output"]["dtype"] == "float16"
    assert bridge.verify(prefix, path, inputs={"data": SHAPE}).equivalent


def test_the_file_is_half_the_size(tmp_path) -> None:
    shape = (1, 2000)
    symbol = S.FullyConnected(S.var("data"), num_hidden=200, name="fc")
    prefix = saved(tmp_path, symbol, small(data=shape)(symbol))
    result = bridge.convert_in(bridge.Half(), prefix, inputs={"data": shape}, output=tmp_path / "half.onnx")
    assert result.accuracy is not None
    before, after = result.accuracy.bytes
    assert after < 0.51 * before
    assert after == (tmp_path / "half.onnx").stat().st_size == result.bytes


def test_what_is_asked_for_stays_by_node_and_by_operator(tmp_path) -> None:
    prefix, path = saved(tmp_path), tmp_path / "half.onnx"
    for keep in ("conv", "Conv", "conv_output"):
        result = bridge.convert_in(bridge.Half(keep=[keep]), prefix, inputs={"data": SHAPE}, output=path)
        assert result.accuracy is not None
        assert [(s.node, s.reason) for s in result.accuracy.stays] == [("conv", "asked for")]
        assert kinds(path)["conv_output"] == onnx.TensorProto.FLOAT
    with pytest.raises(bridge.BadInput, match="nonsense: no node and no operator"):
        bridge.convert_in(bridge.Half(keep=["nonsense"]), prefix, inputs={"data": SHAPE})


def test_numbers_beyond_float16_stay_and_are_named(tmp_path) -> None:
    x = S.FullyConnected(S.var("data"), num_hidden=6, name="big", no_bias=True)
    y = S.FullyConnected(x * 1e-5, num_hidden=5, name="fc")
    params = small(data=(2, 8))(y)
    params["big_weight"] *= 1e6
    prefix, path = saved(tmp_path, y, params), tmp_path / "half.onnx"
    result = bridge.convert_in(bridge.Half(), prefix, inputs={"data": (2, 8)}, output=path)
    report = result.accuracy
    assert report is not None
    assert "big" in {s.node for s in report.stays}
    assert {(b.tensor, b.kind) for b in report.beyond} >= {("big_weight", "weight"), ("big_output", "activation")}
    assert "fc" not in {s.node for s in report.stays}
    assert any("big_weight" in w for w in result.warnings)
    assert report.outputs[0].sqnr > 50


def test_masks_are_clamped_where_only_softmax_reads_them(tmp_path) -> None:
    scores = S.FullyConnected(S.var("data"), num_hidden=6, name="fc")
    masked = S.where(S.broadcast_lesser(S.var("data2"), S.zeros((1, 6))), S.ones_like(scores) * -1e18, scores)
    y = S.softmax(masked, name="prob")
    prefix, path = saved(tmp_path, y, small(data=(2, 8), data2=(2, 6))(y)), tmp_path / "half.onnx"
    feeds = {
        "data": np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8),
        "data2": np.float32([[-1] * 6, [1, -1, 1, -1, 1, 1]]),  # the first row is masked altogether
    }
    result = bridge.convert_in(bridge.Half(), prefix, inputs=feeds, output=path)
    got = bridge.run(path, feeds)["prob_output"]
    np.testing.assert_allclose(got[0], np.full(6, 1 / 6), rtol=1e-3)
    assert (got[1, [1, 3]] == 0).all()
    assert result.accuracy is not None
    assert any(b.value < -1e17 for b in result.accuracy.beyond)


def test_positions_past_2048_are_exact(tmp_path) -> None:
    y = S.FullyConnected(
        S.Embedding(S.var("data"), input_dim=5000, output_dim=4, name="embed"), num_hidden=3, name="fc"
    )
    prefix, path = saved(tmp_path, y, small(data=(1, 6))(y)), tmp_path / "half.onnx"
    tokens = np.float32([[0, 1, 2049, 2051, 4097, 4999]])
    bridge.convert_in(bridge.Half(io=True), prefix, inputs={"data": tokens}, output=path)
    assert kinds(path)["data"] == onnx.TensorProto.FLOAT
    exact = bridge.run(prefix, {"data": tokens})["fc_output"]
    np.testing.assert_allclose(bridge.run(path, {"data": tokens})["fc_output"], exact, atol=4e-3)


@pytest.mark.parametrize(
    "name", ["numpy_attention", *(pytest.param(n, marks=pytest.mark.models) for n in ("ssd", "warping", "yolo"))]
)
def test_networks_that_decide_and_mask_stay_right_in_float16(name: str, tmp_path) -> None:
    network, path = NETWORKS[name], tmp_path / "half.onnx"
    inputs = network.runs()[0][0]
    result = bridge.convert_in(bridge.Half(), network.prefix, inputs=inputs, output=path, draws=("expected",))
    assert result.accuracy is not None
    assert result.accuracy.worst is not None
    assert result.accuracy.worst.sqnr > 40
    found = bridge.verify(network.prefix, path, inputs=inputs, draws=("expected",))
    assert found.verdict != "not equivalent", found.differences


def test_a_file_that_overflows_is_not_equivalent(tmp_path) -> None:
    """Verification looks at NaN and infinity of float16 too, and not only at what is within its range."""
    from converters.precision.retype import from_proto, retype

    x = S.FullyConnected(S.var("data"), num_hidden=6, name="big", no_bias=True)
    params = small(data=(2, 8))(x)
    params["big_weight"] *= 3e4
    prefix = saved(tmp_path, x * 30, params)
    feeds = {"data": np.full((2, 8), 10, np.float32)}
    bridge.convert(prefix, inputs=feeds, output=tmp_path / "plain.onnx")
    retype(from_proto(onnx.load(tmp_path / "plain.onnx"))).converted.save(tmp_path / "half.onnx")
    assert not bridge.verify(prefix, tmp_path / "half.onnx", inputs=feeds).equivalent


# -- float32 --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["float16_resnet", "cast_float16_symbol", "amp_casts", "float16_elementwise"])
def test_float32_out_of_half_precision(name: str, tmp_path) -> None:
    network, path = NETWORKS[name], tmp_path / "single.onnx"
    inputs, outputs = network.runs()[0]
    result = bridge.convert_in(bridge.Single(), network.prefix, inputs=inputs, output=path, draws=("expected",))
    proto = onnx.load(path)
    assert onnx.TensorProto.FLOAT16 not in {*kinds(path).values(), *(i.data_type for i in proto.graph.initializer)}
    assert all(a.i != onnx.TensorProto.FLOAT16 for n in proto.graph.node if n.op_type == "Cast" for a in n.attribute)
    got = bridge.run(path, {n: a.astype(np.float32) if a.dtype == np.float16 else a for n, a in inputs.items()})
    assert result.accuracy is not None
    for value, want in zip(got.values(), outputs.values()):
        np.testing.assert_allclose(value, want.astype(value.dtype), atol=5e-3 * np.abs(want).max())


def test_nothing_to_widen_is_said(tmp_path) -> None:
    with pytest.raises(bridge.BadInput, match="nothing in it is float16"):
        bridge.convert_in(bridge.Single(), saved(tmp_path), inputs={"data": SHAPE})


# -- 8-bit integers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "activations"), [("minmax", "int8"), ("minmax", "uint8"), ("percentile", "uint8"), ("entropy", "uint8")]
)
def test_integers_by_each_calibration(method: str, activations: str, tmp_path) -> None:
    prefix, path = saved(tmp_path), tmp_path / "int8.onnx"
    data = np.random.default_rng(0).standard_normal((16, *SHAPE[1:])).astype(np.float32)
    wishes = bridge.Quantized(data={"data": data}, method=method, activations=activations)
    result = bridge.convert_in(wishes, prefix, inputs={"data": SHAPE}, output=path)
    report = result.accuracy
    assert report is not None
    assert set(report.quantized) == {"conv", "pool", "fc"}
    assert report.examples == 8
    assert 18 < report.outputs[0].sqnr < 60
    arrays = {i.name: onnx.numpy_helper.to_array(i) for i in onnx.load(path).graph.initializer}
    zeros = {n: a for n, a in arrays.items() if n.endswith("/zero_point")}
    assert {a.dtype.name for a in zeros.values()} == {activations}
    if activations == "int8":
        assert not any(a.any() for a in zeros.values())
    assert arrays["conv_output/weight_scale"].shape == (8,)
    assert 0 < report.outputs[0].max_rel < 0.2


def test_fused_kernels_give_what_the_file_says(tmp_path) -> None:
    """Without VNNI onnxruntime saturates sums of products of uint8 and int8; weights of uint8 are the same numbers, and exact."""
    network = NETWORKS["lenet"]
    result = bridge.convert_in(
        bridge.Quantized(), network.prefix, inputs=network.runs()[0][0], output=tmp_path / "q.onnx"
    )
    report = result.accuracy
    assert report is not None
    for output in report.outputs:
        assert report.runtime[output.tensor] == pytest.approx(output.sqnr, abs=0.5)
    assert not any("integer kernels" in w for w in result.warnings)


def test_layers_that_hurt_stay_and_are_named(tmp_path) -> None:
    data = S.var("data")
    x = S.FullyConnected(data, num_hidden=6, name="fine")
    y = S.FullyConnected(S.elemwise_mul(data, S.var("gain"), name="wild"), num_hidden=6, name="coarse")
    symbol = S.broadcast_add(x, y, name="out")
    params = small(data=(4, 8), gain=(4, 8))(symbol)
    prefix, path = saved(tmp_path, symbol, params), tmp_path / "int8.onnx"
    gain = np.ones((4, 8), np.float32)
    gain[0, 0] = 2000  # one number takes all levels
    feeds = {"data": np.random.default_rng(1).standard_normal((4, 8)).astype(np.float32), "gain": gain}
    params["coarse_weight"][:, 0] = 0  # and means nothing
    prefix = saved(tmp_path, symbol, params)
    result = bridge.convert_in(bridge.Quantized(), prefix, inputs=feeds, output=path)
    report = result.accuracy
    assert report is not None
    [stay] = report.stays
    assert stay.node == "coarse"
    assert stay.reason.endswith("dB of signal to noise on integers, where 10 are wanted")
    assert report.quantized == ("fine",)
    with pytest.raises(TooInexact, match=r"no layer is left .* 10 dB of each .*a lower one lets") as refused:
        bridge.convert_in(bridge.Quantized(keep=["fine"]), prefix, inputs=feeds, output=tmp_path / "none.onnx")
    assert refused.value.report.precision == "int8"
    assert not (tmp_path / "none.onnx").exists()


def test_what_has_nothing_to_quantise_says_which_nodes_there_are(tmp_path) -> None:
    network = NETWORKS["lstm_states"]
    with pytest.raises(bridge.BadInput, match=r"nothing to quantise: rnn_rnn0/LSTM \(LSTM\): recurrent"):
        bridge.convert_in(bridge.Quantized(), network.prefix, inputs=network.runs()[0][0], verify=False)


@pytest.mark.parametrize(
    "name", ["quantized_attention", *(pytest.param(n, marks=pytest.mark.models) for n in INTEGERS)]
)
def test_networks_of_mxnet_on_integers_have_the_same_numbers_as_pairs(name: str, tmp_path) -> None:
    network = NETWORKS[name]
    inputs, outputs = network.runs()[0]
    path = tmp_path / "pairs.onnx"
    result = bridge.convert(
        network.prefix, inputs=inputs, output=path, forms=Forms(quantized="qdq"), draws=("expected",)
    )
    assert "DequantizeLinear" in result.operators
    assert not {"ConvInteger", "MatMulInteger"} & result.operators.keys()
    agree(bridge.run(path, inputs), outputs, network.limit)


# -- examples and labels --------------------------------------------------------------------------------------------------


def test_top_counts_labels_among_the_greatest_scores() -> None:
    scores = np.float32([[0.1, 0.9, 0], [0.8, 0.1, 0.1], [0.2, 0.3, 0.5]])
    labels = np.array([1, 2, 0])
    assert top(scores, labels, 1) == pytest.approx(1 / 3)
    assert top(scores, labels, 2) == pytest.approx(1 / 3 + 1 / 3 * (top(scores[1:2], labels[1:2], 2) > 0))
    assert top(scores, labels, 3) == 1


def test_labels_give_top_1_before_and_after(tmp_path) -> None:
    prefix = saved(tmp_path)
    data = np.random.default_rng(0).standard_normal((9, *SHAPE[1:])).astype(np.float32)
    np.savez(tmp_path / "data.npz", data=data)
    padded = np.concatenate([data, data[:1]])
    scores = np.concatenate([bridge.run(prefix, {"data": padded[i : i + 2]})["fc_output"] for i in range(0, 10, 2)])[:9]
    right = scores.argmax(1)
    labels = np.where(np.arange(9) < 3, (right + 1) % 7, right)  # three are wrong
    (tmp_path / "labels.txt").write_text("".join(f"image{i}.png {c}\n" for i, c in enumerate(labels)))
    wishes = bridge.Half(data=tmp_path / "data.npz", labels=tmp_path / "labels.txt")
    result = bridge.convert_in(wishes, prefix, inputs={"data": SHAPE})
    assert result.accuracy is not None
    found = result.accuracy.labelled
    assert found is not None
    assert found.examples == 9
    assert found.top1 == pytest.approx((6 / 9, 6 / 9))
    assert found.top5 is not None
    (tmp_path / "labels.txt").write_text("1\n2\n")
    with pytest.raises(bridge.BadInput, match="labels: got 2, wanted 9"):
        bridge.convert_in(wishes, prefix, inputs={"data": SHAPE})


def test_folders_of_pictures_by_class_have_labels(tmp_path) -> None:
    prefix, rng = saved(tmp_path), np.random.default_rng(5)
    for name in ("cat", "dog", "emu"):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        for i in range(4):
            pixels = rng.integers(0, 255, (12, 12, 3), np.uint8)
            Image.fromarray(pixels).save(tmp_path / "pictures" / name / f"{i}.png")
    wishes = bridge.Quantized(data=tmp_path / "pictures")
    result = bridge.convert_in(wishes, prefix, inputs={"data": SHAPE}, output=tmp_path / "q.onnx")
    assert result.accuracy is not None
    assert result.accuracy.examples == 6
    assert result.accuracy.labelled is not None
    assert result.accuracy.labelled.examples == 12
    assert "12 pictures" in result.accuracy.data


@pytest.mark.parametrize("given", ["one.png", "."])
def test_pictures_of_no_two_folders_have_no_classes(given: str, tmp_path) -> None:
    """The name of the one folder that pictures are in says nothing of what is right."""
    prefix, folder = saved(tmp_path, shape=(1, 3, 10, 10)), tmp_path / "of" / "photographs"
    folder.mkdir(parents=True)
    pixels = np.random.default_rng(5).integers(0, 255, (12, 12, 3), np.uint8)
    Image.fromarray(pixels).save(folder / "one.png")
    data = folder / "one.png" if given == "one.png" else folder.parent
    arguments = [
        "convert",
        prefix,
        "-o",
        str(tmp_path / "q.onnx"),
        "--input",
        "data:1,3,10,10",
        "--quantize",
        str(data),
    ]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0, shown.output
    assert f", on 1 picture of {data.name}\n" in shown.output
    assert "top-1" not in shown.output and "classes" not in shown.output
    (tmp_path / "truth.txt").write_text("3\n")
    truth = CliRunner().invoke(app, [*arguments, "--truth", str(tmp_path / "truth.txt")])
    assert "top-1" in truth.output and truth.output.count(", of 1 example\n") == 1, truth.output


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        (
            {"other": np.zeros((4, 3, 10, 10), np.float32)},
            "^[^\n]*no input other, and nothing for input data, [^\n]*rename the array to data$",
        ),
        ({n: np.zeros((4, 3, 10, 10), np.float32) for n in ("a", "b")}, "no input a; there are data\n.*no input b"),
        ({"data": np.zeros((4, 3, 9, 9), np.float32)}, r"data is \(4, 3, 9, 9\), wanted \(N, ...\)"),
        ({"data": np.zeros((0, 3, 10, 10), np.float32)}, "no examples in it"),
    ],
)
def test_examples_that_do_not_fit_are_refused(arrays, told: str, tmp_path) -> None:
    prefix = saved(tmp_path)
    np.savez(tmp_path / "data.npz", **arrays)
    with pytest.raises(bridge.BadInput, match=told):
        bridge.convert_in(bridge.Quantized(data=tmp_path / "data.npz"), prefix, inputs={"data": SHAPE}, verify=False)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda a: a * 0,
            r"calibration: data is 0 throughout in 4 examples of data.npz, wanted numbers that vary.*give",
        ),
        (lambda a: a * 0 + 2.5, "data is 2.5 throughout"),
        (
            lambda a: np.where(a == a.max(), np.nan, a),
            r"holds 1 of 1200 numbers that are NaN or infinite, wanted finite",
        ),
        (lambda a: np.where(a == a.max(), np.inf, a), r"holds 1 of 1200 numbers that are NaN or infinite"),
    ],
)
def test_calibration_that_tells_nothing_is_refused(change, told: str, tmp_path) -> None:
    prefix, path = saved(tmp_path), tmp_path / "q.onnx"
    array = np.random.default_rng(1).standard_normal((4, *SHAPE[1:])).astype(np.float32)
    np.savez(tmp_path / "data.npz", data=change(array).astype(np.float32))
    with pytest.raises(bridge.BadInput, match=told) as caught:
        bridge.convert_in(
            bridge.Quantized(data=tmp_path / "data.npz"), prefix, inputs={"data": SHAPE}, output=path, verify=False
        )
    assert not path.exists()
    assert trouble_of(caught.value).anchor == "calibration"


def test_examples_of_float16_may_be_infinite_or_the_same_and_not_nan(tmp_path) -> None:
    """As a mask is, and of NaN both files make NaN."""
    prefix = saved(tmp_path)
    array = np.random.default_rng(1).standard_normal((4, *SHAPE[1:])).astype(np.float32)
    array[0, 0, 0, 0] = np.nan
    with pytest.raises(bridge.BadInput, match=r"examples: data of .* holds 1 of 1200 numbers that are NaN, wanted"):
        bridge.convert_in(bridge.Half(data={"data": array}), prefix, inputs={"data": SHAPE})
    for plain in (np.float32([1, 1]), np.float32([1, np.inf])):
        check_examples(Examples([{"data": plain}], "arrays given"), False)


def test_one_input_may_be_the_same_throughout(tmp_path) -> None:
    """States that a sequence begins with are zeros."""
    check_examples(Examples([{"data": np.float32([1, 2]), "state": np.zeros(4, np.float32)}], "arrays given"), True)
    with pytest.raises(bridge.BadInput, match="data is 1 throughout, state is 0 throughout"):
        check_examples(Examples([{"data": np.float32([1, 1]), "state": np.zeros(4, np.float32)}], "arrays given"), True)


def quantized_by_command(tmp_path, *options: str):
    """The lines of the command, and the notes of its JSON."""
    prefix = saved(tmp_path)
    arguments = ["convert", f"{prefix}-symbol.json", "-o", str(tmp_path / "q.onnx"), "--input", "data:2,3,10,10"]
    shown = CliRunner().invoke(app, [*arguments, *options])
    assert shown.exit_code == 0, shown.output
    told = json.loads(CliRunner().invoke(app, [*arguments, *options, "--json"]).stdout)
    return shown.output.splitlines(), told["accuracy"]["notes"]


def test_calibration_on_drawn_numbers_is_said_beside_the_verdict(tmp_path) -> None:
    lines, notes = quantized_by_command(tmp_path, "--quantize", "drawn")
    [note] = [line for line in lines[-4:] if "drawn numbers" in line]
    assert note.startswith("note: calibrated on drawn numbers (8 sets drawn, seed 0)")
    assert "give examples of your own" in note and lines[-1].startswith("equivalent before")
    assert any(w.startswith("calibrated on drawn numbers") for w in notes)
    half = bridge.convert_in(bridge.Half(), tmp_path / "net", inputs={"data": SHAPE})
    assert not half.accuracy.notes  # nothing is calibrated there


@pytest.mark.parametrize(
    ("scale", "options", "said"),
    [(255, [], True), (255, ["--range", "data:0,255"], False), (1, [], False), (0.01, [], True)],
)
def test_calibration_far_from_what_was_compared_on_is_said(scale: float, options, said: bool, tmp_path) -> None:
    array = np.random.default_rng(1).uniform(0, 1, (8, *SHAPE[1:])).astype(np.float32) * np.float32(scale)
    array[0, 0, 0, :2] = 0, scale
    np.savez(tmp_path / "data.npz", data=array)
    lines, notes = quantized_by_command(tmp_path, "--quantize", str(tmp_path / "data.npz"), *options)
    told = f"data: calibrated on 0 to {scale:g}, compared on standard normal (at most "
    assert any(line.startswith(f"note: {told}") for line in lines[-4:]) == said
    assert any(w.startswith(told) for w in notes) == said
    assert not any("drawn numbers" in w for w in notes)


@pytest.mark.parametrize(("width", "said"), [(8, True), (200, False)])
def test_int8_that_is_larger_than_float16_says_so(width: int, said: bool, tmp_path) -> None:
    x = S.Convolution(S.var("data"), name="conv", num_filter=width, kernel=(3, 3))
    x = S.Convolution(x, name="conv2", num_filter=width, kernel=(3, 3))
    prefix, half = saved(tmp_path, x), tmp_path / "half.onnx"
    made = bridge.convert_in(bridge.Quantized(), prefix, inputs={"data": SHAPE}, output=tmp_path / "q.onnx").accuracy
    bridge.convert_in(bridge.Half(), prefix, inputs={"data": SHAPE}, output=half)
    assert made is not None
    assert (half.stat().st_size < made.bytes[1]) == said
    told = [n for n in made.notes if n.startswith("float16 would be smaller: about ")]
    assert len(told) == said


# -- the command ----------------------------------------------------------------------------------------------------------


def test_the_command_writes_and_tells(tmp_path) -> None:
    prefix, path = saved(tmp_path), tmp_path / "half.onnx"
    arguments = ["convert", f"{prefix}-symbol.json", "-o", str(path), "--input", "data:2,3,10,10"]
    shown = CliRunner().invoke(app, [*arguments, "--fp16"])
    assert shown.exit_code == 0, shown.output
    before, size, own, verdict = shown.output.splitlines()[-4:]
    assert before.startswith("before it became float16: compared in ")
    assert size.startswith("float16: ") and "of the size" in size
    assert own.startswith("float16: off by ") and "signal to noise" in own
    off = own.removeprefix("float16: ").partition(";")[0]
    assert verdict.startswith(f"equivalent before it became float16; as float16 {off}: wrote ")
    assert off not in before  # which is of float32
    whole = CliRunner().invoke(app, [*arguments, "--quantize", "drawn", "-v"])
    assert "accuracy by layer" in whole.output
    told = json.loads(CliRunner().invoke(app, [*arguments, "--fp16", "--json"]).stdout)
    assert told["accuracy"]["precision"] == "float16"
    assert told["accuracy"]["layers"][0].keys() >= {"tensor", "max_abs", "max_rel", "cosine", "sqnr", "reduced"}
    assert told["against"]["equivalent"]
    facts = {p.key: p.value for p in onnx.load(path).metadata_props}
    assert facts["gluonnx.precision"] == "float16"
    assert facts["gluonnx.verdict"] == "equivalent"


def test_outputs_that_choose_are_named(tmp_path) -> None:
    """Places, truths, whole numbers and rows that are picked differ by whole steps on other inputs than were measured."""
    scores = classifier()
    best, order = S.argmax(scores, axis=1, name="best"), S.topk(scores, k=3, ret_typ="both", name="order")
    above = S.broadcast_greater(scores, S.BlockGrad(S.mean(scores, axis=1, keepdims=True)), name="above")
    whole = S.Cast(S.Cast(scores * 10, dtype="int32"), dtype="float32", name="whole")
    row = S.Embedding(best, S.var("table"), input_dim=7, output_dim=4, name="row")
    leaky = S.where(scores > 0, scores, scores * 0.1, name="leaky")
    net = S.Group([scores, best, order, above, whole, row, leaky, S.relu(scores, name="active")])
    params = small(data=SHAPE)(scores) | {"table": np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32)}
    prefix = saved(tmp_path, net, params)
    command = ["convert", prefix, "-o", str(tmp_path / "half.onnx"), "--input", "data:2,3,10,10", "--fp16"]
    told = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert told["accuracy"]["chosen"] == {
        "best_output": "ArgMax",
        "order_output1": "TopK",
        "above_output": "Greater",
        "whole_output": "Cast",
        "row_output": "ArgMax",
    }
    shown = " ".join(CliRunner().invoke(app, command).output.split())
    assert (
        "float16: best_output (ArgMax), order_output1 (TopK), above_output (Greater) and 2 more choose between numbers"
        in shown
    )
    command[-1:] = ["--quantize", "drawn"]
    assert "int8: best_output (ArgMax), order" in " ".join(CliRunner().invoke(app, command).output.split())
    plain = CliRunner().invoke(app, ["convert", saved(tmp_path), *command[2:-2], "--fp16"])
    assert plain.exit_code == 0 and "between numbers" not in plain.output


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--fp16", "--fp32"], "one precision a file"),
        (["--fp16-io"], "goes with --fp16"),
        (["--truth", "x.txt"], "go with --fp16"),
        (["--calibration", "entropy"], "goes with --quantize"),
        (["--quantize", "drawn", "--calibration", "kl"], "got kl, wanted minmax, percentile, entropy"),
        (["--quantize", "nowhere"], "no such file or folder"),
    ],
)
def test_options_that_do_not_go_together(options: list[str], told: str, tmp_path) -> None:
    prefix = saved(tmp_path)
    arguments = ["convert", f"{prefix}-symbol.json", "-o", str(tmp_path / "x.onnx"), "--input", "data:2,3,10,10"]
    shown = CliRunner().invoke(app, [*arguments, *options])
    assert shown.exit_code == 2
    assert told in " ".join(shown.output.split())
    assert not (tmp_path / "x.onnx").exists()


@pytest.mark.slow
@pytest.mark.share(2)
@pytest.mark.parametrize("network", networks(), ids=lambda n: n.name)
def test_every_network_in_every_precision(network) -> None:
    """The tables of docs/precision.md: none silently wrong, and where one is refused a node is named."""
    from tests.precision.sweep import half, whole

    found = half(network)
    assert not found.refused
    assert found.verdict != "not equivalent"
    assert found.sqnr > 40
    integers = whole(network)
    if integers.refused:
        assert "nothing to quantise" in integers.refused or "(Gemm): the outputs lose too much" in integers.refused
    else:
        assert integers.sqnr > 15
        assert integers.fused > integers.sqnr - 3


def with_states():
    """A sequence through an LSTM whose states, (layers, batch, units), are inputs."""
    rnn = S.RNN(S.var("x"), S.var("w"), S.var("h"), S.var("c"), mode="lstm", state_size=4, num_layers=2, name="rnn")
    last = S.SequenceLast(rnn, name="last")
    return S.FullyConnected(last, num_hidden=3, name="top")


@pytest.mark.parametrize("dynamic", [(), ("--dynamic", "batch")])
@pytest.mark.parametrize("form", ["in place", "one each", "folder", "other batches"])
def test_examples_with_a_batch_that_is_not_in_front(form: str, dynamic: tuple[str, ...], tmp_path) -> None:
    """One .npz with N in the place of the batch, or an axis more; a folder with a set in each."""
    prefix = saved(tmp_path, with_states(), small(x=(5, 1, 6), h=(2, 1, 4), c=(2, 1, 4))(with_states()))
    rng = np.random.default_rng(1)
    sets = [{"x": (5, 1, 6), "h": (2, 1, 4), "c": (2, 1, 4)} for _ in range(18)]
    drawn = [{n: rng.normal(size=s).astype(np.float32) for n, s in each.items()} for each in sets]
    source = tmp_path / "sets.npz"
    if form == "in place":
        np.savez(source, **{n: np.concatenate([d[n] for d in drawn], 1) for n in sets[0]})
    elif form == "one each":
        np.savez(source, **{n: np.stack([d[n] for d in drawn]) for n in sets[0]})
    else:
        source = tmp_path / "sets"
        source.mkdir()
        size = 3 if form == "other batches" and dynamic else 1
        for i in range(0, len(drawn), size):
            each = {n: np.concatenate([d[n] for d in drawn[i : i + size]], 1) for n in sets[0]}
            np.savez(source / f"{i:02}.npz", **each)
    words = [
        "convert",
        prefix,
        "-o",
        str(tmp_path / "q.onnx"),
        "--input",
        "x:5,1,6",
        *dynamic,
        "--quantize",
        str(source),
    ]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0, told.output
    said = " ".join(told.output.split())
    if source.suffix:
        assert "on 18 examples of sets.npz" in said
    else:
        count = len(list(source.iterdir()))
        assert f"on {count} sets of {count} files in sets" in said


def test_examples_that_fit_nowhere(tmp_path) -> None:
    prefix = saved(tmp_path, with_states(), small(x=(5, 1, 6), h=(2, 1, 4), c=(2, 1, 4))(with_states()))
    np.savez(tmp_path / "a.npz", x=np.ones((5, 7, 6)), h=np.ones((2, 7, 5)), c=np.ones((2, 7, 4)))
    (tmp_path / "empty").mkdir()
    for source, said in (("a.npz", "h is (2, 7, 5), wanted (N, ...) of 2x1x4"), ("empty", "a folder without pictures")):
        words = ["convert", prefix, "-o", str(tmp_path / "q.onnx"), "--input", "x:5,1,6", "--quantize"]
        told = CliRunner().invoke(app, [*words, str(tmp_path / source)])
        assert told.exit_code == 2 and said in " ".join(told.output.split()), told.output
