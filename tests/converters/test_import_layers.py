"""Layers read, at two sizes each: as MXNet's where these mean the same, else as they stand; and old forms of them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import converters
from converters.importer import Imported, import_model
from hybrid import autograd, gluon, nd
from hybrid.core.op import Spec
from tests.versions import needs_opset, old_runtime

from .agreement import agree, by_onnxruntime, same

FREE = ["n", "c", "h", "w", "d"]


def uniform(seed: int, *shape: int, low: float = -1, high: float = 1) -> np.ndarray:
    """Numbers in float32, the same each time."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def layer(
    op_type: str,
    *inputs: Any,
    opset: int = 17,
    rank: int | None = 4,
    outputs: int = 1,
    name: str = "graph",
    **attrs: Any,
) -> onnx.ModelProto:
    """A model of one node on x, whose sizes are free (rank None: nothing is known), and on inputs: stored arrays, None for one that
    is left out, or (name, element type, shape) for one that is fed."""
    x = helper.make_tensor_value_info("x", 1, None if rank is None else FREE[:rank])
    infos, stored, names = [x], [], ["x"]
    for i, value in enumerate(inputs):
        if isinstance(value, np.ndarray):
            stored.append(numpy_helper.from_array(value, f"p{i}"))
        elif value is not None:
            infos.append(helper.make_tensor_value_info(*value))
        names.append("" if value is None else value[0] if isinstance(value, tuple) else f"p{i}")
    made = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op_type, names, made, **attrs)
    graph = helper.make_graph([node], name, infos, [helper.make_empty_tensor_value_info(n) for n in made], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def names(found: Imported) -> list[str]:
    """The operators of what has been read."""
    return [n.op.name for n in found.graph.nodes if n.op is not None]


IMAGES = {"x": uniform(0, 2, 4, 7, 6)}, {"x": uniform(1, 1, 4, 8, 9)}
W = uniform(2, 6, 2, 3, 2)


@pytest.mark.parametrize(
    ("attrs", "wanted"),
    [
        ({"pads": [1, 0, 1, 0], "strides": [2, 1]}, ["Convolution"]),
        ({"pads": [0, 1, 2, 0]}, ["Pad", "Convolution"]),
        ({"auto_pad": "SAME_UPPER"}, ["Pad", "Convolution"]),
        ({"auto_pad": "SAME_LOWER", "strides": [2, 2]}, ["_onnx_Conv"]),
        ({"auto_pad": "VALID", "dilations": [2, 1]}, ["Convolution"]),
    ],
)
@pytest.mark.parametrize("opset", [1, 11, pytest.param(22, marks=needs_opset(22))])
def test_convolution(attrs: dict[str, Any], wanted: list[str], opset: int) -> None:
    found = agree(
        layer("Conv", W, uniform(3, 6), opset=opset, group=2, **attrs), *IMAGES, rtol=1e-5, again=max(opset, 21)
    )
    assert names(found) == wanted


def test_convolution_with_a_kernel_from_outside() -> None:
    model = layer("Conv", ("kernel", 1, ["m", "k", "i", "j"]), group=2)
    found = agree(model, *({**images, "kernel": W} for images in IMAGES), rtol=1e-5)
    assert names(found) == ["_onnx_Conv"]


@pytest.mark.parametrize(
    ("attrs", "wanted"),
    [
        ({"pads": [1, 0, 1, 0], "strides": [2, 1], "output_padding": [1, 0]}, ["Deconvolution"]),
        ({"pads": [0, 1, 2, 0], "strides": [3, 2]}, ["_onnx_ConvTranspose"]),
        ({"auto_pad": "SAME_LOWER", "strides": [2, 1]}, ["_onnx_ConvTranspose"]),
    ],
)
def test_transposed_convolution(attrs: dict[str, Any], wanted: list[str]) -> None:
    found = agree(layer("ConvTranspose", uniform(2, 4, 3, 3, 2), uniform(3, 6), group=2, **attrs), *IMAGES, rtol=1e-5)
    assert names(found) == wanted


POOLS = [
    ("MaxPool", {"pads": [1, 0, 1, 0], "strides": [2, 1]}, ["Pooling"], 7),
    ("MaxPool", {"pads": [0, 0, 1, 1], "strides": [2, 2]}, ["Pad", "Pooling"], 7),
    ("MaxPool", {"strides": [2, 2], "ceil_mode": 1}, ["Pooling"], 10),
    pytest.param(
        *("MaxPool", {"strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1}, ["_onnx_MaxPool"], 10),
        marks=old_runtime("counts windows that begin in the padding behind"),
    ),
    ("MaxPool", {"dilations": [2, 1]}, ["_onnx_MaxPool"], 12),
    ("MaxPool", {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, ["_onnx_MaxPool"], 12),
    ("AveragePool", {"pads": [1, 0, 1, 0]}, ["Pooling"], 7),
    ("AveragePool", {"pads": [1, 0, 1, 0], "count_include_pad": 1}, ["Pooling"], 7),
    ("AveragePool", {"pads": [0, 1, 1, 0], "count_include_pad": 1}, ["_onnx_AveragePool"], 19),
    ("AveragePool", {"strides": [2, 2], "ceil_mode": 1}, ["Pooling"], 19),
    ("AveragePool", {"dilations": [2, 2]}, ["_onnx_AveragePool"], 19),
    ("LpPool", {"pads": [1, 0, 1, 0]}, ["Pooling"], 11),
    ("LpPool", {"p": 3}, ["_onnx_LpPool"], 18),
]


@pytest.mark.parametrize(("kind", "attrs", "wanted", "opset"), POOLS)
def test_pooling(kind: str, attrs: dict[str, Any], wanted: list[str], opset: int) -> None:
    found = agree(layer(kind, opset=opset, kernel_shape=[3, 2], **attrs), *IMAGES, rtol=1e-5, again=max(opset, 21))
    assert names(found) == wanted


def test_places_of_maxima() -> None:
    model = layer("MaxPool", kernel_shape=[3, 2], pads=[1, 0, 0, 1], strides=[2, 2], outputs=2)
    assert names(agree(model, *IMAGES)) == ["_onnx_MaxPool"]


@pytest.mark.parametrize("kind", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
def test_pooling_over_everything(kind: str) -> None:
    assert names(agree(layer(kind), *IMAGES, rtol=1e-5)) == ["Pooling"]
    assert names(agree(layer(kind, rank=None), *IMAGES, rtol=1e-5, again=None)) == [f"_onnx_{kind}"]


@pytest.mark.parametrize(
    ("attrs", "wanted"),
    [
        ({}, ["UpSampling"]),
        ({"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, ["UpSampling"]),
        ({"coordinate_transformation_mode": "asymmetric"}, ["_onnx_Resize"]),
        ({"mode": "linear"}, ["_onnx_Resize"]),
        ({"mode": "linear", "coordinate_transformation_mode": "asymmetric"}, ["_onnx_Resize"]),
        ({"mode": "cubic"}, ["_onnx_Resize"]),
        ({"mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5}, ["_onnx_Resize"]),
    ],
)
def test_resize_by_whole_numbers(attrs: dict[str, Any], wanted: list[str]) -> None:
    model = layer("Resize", None, np.array([1, 1, 2, 2], np.float32), opset=13, **attrs)
    found = agree(model, *IMAGES, rtol=1e-5)
    assert [n for n in names(found) if n != "_onnx_Constant"] == wanted


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_resize_to_sizes_and_by_scales_that_are_fed(mode: str) -> None:
    sizes = layer("Resize", None, None, ("sizes", 7, [4]), opset=19, mode=mode, antialias=int(mode == "linear"))
    runs = [{**x, "sizes": np.array([*x["x"].shape[:2], 5, n])} for x, n in zip(IMAGES, (11, 3))]
    assert names(agree(sizes, *runs, rtol=1e-5)) == ["_onnx_Resize"]
    scales = layer("Resize", np.zeros(0, np.float32), ("scales", 1, [4]), opset=11, mode=mode)
    runs = [{**x, "scales": np.array([1, 1, s, 1.3], np.float32)} for x, s in zip(IMAGES, (0.4, 2.6))]
    agree(scales, *runs, rtol=1e-5)


@pytest.mark.parametrize("opset", [11, 13, 19])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_scales_whose_sizes_are_a_matter_of_rounding_are_written_as_sizes(mode: str, opset: int) -> None:
    """9 times 13 / 9 is 13 in float32, as engines multiply, and less than that exactly, as onnx infers shapes: TensorFlow's
    exporter writes such scales, and what is written of them is no valid model."""
    roi, scales = np.zeros(0, np.float32), np.array([1, 1, 13 / 9, 20 / 7], np.float32)
    model = layer("Resize", roi, scales, opset=opset, mode=mode)
    for axis, size in ((2, 9), (3, 7)):
        model.graph.input[0].type.tensor_type.shape.dim[axis].dim_value = size
    x = {"x": uniform(3, 2, 2, 9, 7)}
    found = agree(model, x, rtol=1e-5, again=None)
    written = converters.to_onnx(found.graph, found.params, {"x": Spec(("n", 2, 9, 7))}, opset)
    onnx.shape_inference.infer_shapes(written, check_type=True, strict_mode=True)
    assert [len(n.input) for n in written.graph.node if n.op_type == "Resize"] == [4]
    same(by_onnxruntime(written, x), by_onnxruntime(model, x), rtol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_upsampling_of_old_opsets(mode: str) -> None:
    agree(layer("Upsample", opset=7, mode=mode, scales=[1.0, 1.0, 2.0, 1.5]), *IMAGES, rtol=1e-5)
    agree(layer("Upsample", np.array([1, 1, 2, 3], np.float32), opset=9, mode=mode), *IMAGES, rtol=1e-5)
    agree(layer("Resize", np.array([1, 1, 0.6, 2], np.float32), opset=10, mode=mode), *IMAGES, rtol=1e-5)
    model = layer("Resize", ("scales", 1, [4]), opset=10, mode=mode)
    agree(model, {**IMAGES[0], "scales": np.array([1, 1, 0.6, 2], np.float32)}, rtol=1e-5)


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize(("mode", "padding"), [("bilinear", "zeros"), ("bicubic", "border"), ("nearest", "reflection")])
def test_grids(mode: str, padding: str, align: int) -> None:
    model = layer(
        "GridSample", ("grid", 1, ["n", "i", "j", 2]), opset=16, mode=mode, padding_mode=padding, align_corners=align
    )
    runs = [{**x, "grid": uniform(4, len(x["x"]), 3, n, 2, low=-1.5, high=1.5)} for x, n in zip(IMAGES, (2, 5))]
    found = agree(model, *runs, rtol=1e-4)
    assert ("BilinearSampler" in names(found)) == (align == 1 and mode == "bilinear")


@pytest.mark.parametrize("opset", [10, 16])
def test_regions(opset: int) -> None:
    model = layer("RoiAlign", ("rois", 1, ["r", 4]), ("at", 7, ["r"]), opset=opset, output_height=2, output_width=3)
    runs = [
        {**x, "rois": np.sort(uniform(5, n, 2, 2, low=0, high=6), 1).reshape(n, 4), "at": np.arange(n) % len(x["x"])}
        for x, n in zip(IMAGES, (3, 1))
    ]
    assert names(agree(model, *runs, rtol=1e-5)) == ["_onnx_RoiAlign"]


VECTORS = [uniform(i, 4, low=0.5, high=1.5) for i in range(6, 10)]


@pytest.mark.parametrize("opset", [7, 9, 14, 15])
def test_batch_normalization_becomes_one_with_states(opset: int) -> None:
    found = agree(layer("BatchNormalization", *VECTORS, opset=opset), *IMAGES, rtol=1e-5)
    assert names(found) == ["BatchNorm"]
    assert {n.name for n in found.graph.auxiliary_states()} == {"p2", "p3"}


def test_statistics_that_are_fed_are_no_states() -> None:
    fed = [("mean", 1, [4]), ("var", 1, [4])]
    model = layer("BatchNormalization", *VECTORS[:2], *fed, opset=15)
    runs = [{**x, "mean": VECTORS[2], "var": VECTORS[3]} for x in IMAGES]
    assert names(agree(model, *runs, rtol=1e-5)) == ["_onnx_BatchNormalization"]


def test_statistics_that_are_read_elsewhere_are_states_of_their_own() -> None:
    model = layer("BatchNormalization", *VECTORS, opset=15)
    model.graph.node.append(helper.make_node("Neg", ["p2"], ["y1"]))
    model.graph.output.append(helper.make_empty_tensor_value_info("y1"))
    found = agree(model, *IMAGES, rtol=1e-5)
    assert set(names(found)) == {"BatchNorm", "negative"}
    assert {n.name for n in found.graph.auxiliary_states()} == {"y0_moving_mean", "p3"}
    assert {"p2", "y0_moving_mean"} <= set(found.params)


def test_batch_normalization_in_training_mode() -> None:
    model = layer("BatchNormalization", *VECTORS, opset=15, training_mode=1, momentum=0.75, outputs=3)
    x = IMAGES[0]["x"]
    mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
    scale, b, old_mean, old_var = VECTORS
    y = (x - mean[:, None, None]) / np.sqrt(var + 1e-5)[:, None, None] * scale[:, None, None] + b[:, None, None]
    wants = [[y, 0.75 * old_mean + 0.25 * mean, 0.75 * old_var + 0.25 * var]]
    found = agree(model, IMAGES[0], wants=wants, rtol=1e-5)
    assert names(found) == ["_onnx_BatchNormalization"]


def test_statistics_of_every_element() -> None:
    x = uniform(0, 3, 2, 2, 2)
    each = [uniform(i, 2, 2, 2, low=0.5, high=1.5) for i in range(4)]
    want = (x - each[2]) / np.sqrt(each[3] + 1e-5) * each[0] + each[1]
    found = agree(layer("BatchNormalization", *each, opset=7, spatial=0), {"x": x}, wants=[[want]], rtol=1e-5)
    assert not found.repairs


def test_spatial_0_of_mxnets_exporter_is_repaired() -> None:
    scale, b, mean, var = (v[:, None, None] for v in VECTORS)
    wants = [[(v["x"] - mean) / np.sqrt(var + 1e-5) * scale + b] for v in IMAGES]
    found = agree(layer("BatchNormalization", *VECTORS, opset=8, spatial=0), *IMAGES, wants=wants, rtol=1e-5)
    assert names(found) == ["BatchNorm"]
    assert any("spatial=0" in r for r in found.repairs)


def test_slopes_for_channels_are_repaired() -> None:
    model = layer("PRelu", VECTORS[0], opset=9)
    images = [{"x": v["x"]} for v in IMAGES]
    wants = [[np.where(v["x"] < 0, v["x"] * VECTORS[0][:, None, None], v["x"])] for v in images]
    model.graph.input[0].type.CopyFrom(helper.make_tensor_type_proto(1, ["n", 4, "h", 7]))
    found = import_model(model)
    assert names(found) == ["LeakyReLU"]
    assert any("slopes of shape (C,)" in r for r in found.repairs)
    x = uniform(0, 2, 4, 3, 7)
    wants = [[np.where(x < 0, x * VECTORS[0][:, None, None], x)]]
    agree(model, {"x": x}, wants=wants, rtol=1e-6)


@pytest.mark.parametrize(
    ("kind", "inputs", "attrs", "wanted"),
    [
        ("InstanceNormalization", VECTORS[:2], {"opset": 6}, "InstanceNorm"),
        ("GroupNormalization", [v[:2] for v in VECTORS[:2]], {"opset": 18, "num_groups": 2}, "GroupNorm"),
        ("GroupNormalization", VECTORS[:2], {"opset": 21, "num_groups": 2}, "_onnx_GroupNormalization"),
        ("LRN", [], {"size": 3, "alpha": 0.3}, "LRN"),
    ],
)
def test_normalizations(kind: str, inputs: list[Any], attrs: dict[str, Any], wanted: str) -> None:
    assert names(agree(layer(kind, *inputs, **attrs), *IMAGES, rtol=2e-5)) == [wanted]


@pytest.mark.parametrize("axis", [-1, 2])
@pytest.mark.parametrize("outputs", [1, 3])
def test_layer_normalization(axis: int, outputs: int) -> None:
    x = {"x": uniform(0, 2, 5, 6)}, {"x": uniform(1, 4, 1, 6)}
    found = agree(
        layer("LayerNormalization", *(uniform(i, 6) for i in (1, 2)), rank=3, axis=axis, outputs=outputs), *x, rtol=1e-5
    )
    assert names(found) == ["LayerNorm" if outputs == 1 else "_onnx_LayerNormalization"]
    agree(layer("LayerNormalization", uniform(1, 6), rank=3, axis=axis), *x, rtol=1e-5)


def test_an_imported_network_learns() -> None:
    stored = {
        "w": uniform(0, 4, 2, 3, 3), "scale": uniform(1, 4) + 1, "b": uniform(2, 4), "mean": uniform(3, 4),
        "var": uniform(4, 4) + 1.5,
        "back": uniform(5, 4, 3, 2, 2), "group": uniform(6, 3) + 1, "bias": uniform(7, 3), "last": uniform(8, 2, 3, 2, 2),
        "grid": uniform(9, 2, 6, 6, 2), "scales": np.array([1, 1, 2, 1.5], np.float32),
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["1"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["1", "scale", "b", "mean", "var"], ["2"]),
        helper.make_node("Relu", ["2"], ["3"]),
        helper.make_node("MaxPool", ["3"], ["4"], kernel_shape=[2, 2], strides=[2, 2], dilations=[2, 1]),
        helper.make_node("ConvTranspose", ["4", "back"], ["5"], strides=[2, 2], pads=[0, 1, 1, 0]),
        helper.make_node("GroupNormalization", ["5", "group", "bias"], ["6"], num_groups=3),
        helper.make_node("Resize", ["6", "", "scales"], ["7"], mode="cubic"),
        helper.make_node("GridSample", ["7", "grid"], ["8"], padding_mode="reflection"),
        helper.make_node("Conv", ["8", "last"], ["y"], auto_pad="SAME_UPPER", strides=[2, 2]),
    ]
    graph = helper.make_graph(
        nodes, "network", [helper.make_tensor_value_info("x", 1, ["n", 2, "h", "w"])],
        [helper.make_empty_tensor_value_info("y")], [numpy_helper.from_array(v, n) for n, v in stored.items()],
    )  # fmt: skip
    symbol, arguments, states = converters.from_onnx(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    )
    assert (symbol.list_auxiliary_states(), sorted(states)) == (["mean", "var"], ["mean", "var"])
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "network")
        symbol.save(f"{path}-symbol.json")
        nd.save(
            f"{path}-0000.params",
            {f"arg:{n}": a for n, a in arguments.items()} | {f"aux:{n}": a for n, a in states.items()},
        )
        net = gluon.SymbolBlock.imports(f"{path}-symbol.json", ["x"], f"{path}-0000.params")
    x = nd.array(uniform(10, 2, 2, 7, 7))
    goal = nd.array(uniform(11, *net(x).shape))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
    before, losses = {n: p.data().asnumpy() for n, p in net.collect_params().items()}, []
    for _ in range(10):
        with autograd.record():
            loss = gluon.loss.L2Loss()(net(x), goal).mean()
        loss.backward()
        trainer.step(1)
        losses.append(loss.asnumpy().item())
    assert losses[-1] < losses[0] / 2
    for name, parameter in net.collect_params().items():
        assert not np.array_equal(parameter.data().asnumpy(), before[name]), name


@pytest.mark.parametrize("size", range(5, 10))
@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool"])
def test_windows_at_the_end_of_known_sizes(op_type: str, size: int) -> None:
    """ceil_mode beside padding, where the size says whether a window is left over."""
    model = layer(op_type, opset=19, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1)
    for dim, known in zip(model.graph.input[0].type.tensor_type.shape.dim, (1, 2, size, size)):
        dim.dim_value = known
    agree(model, {"x": uniform(3, 1, 2, size, size)}, rtol=1e-6)


@pytest.mark.parametrize("wanted", ["sm, sv", "sm", ", sv"])
def test_statistics_of_the_batch_in_old_training_layers(wanted: str) -> None:
    """Outputs four and five of BatchNormalization before opset 14; either alone, too."""
    x, v = uniform(1, 2, 3, 4, 5), uniform(2, 3, low=0.5)
    asked = [n for n in wanted.split(", ") if n]
    outputs = ", ".join(f"float[3] {n}" for n in asked)
    text = f"""<ir_version: 8, opset_import: ["" : 9]>
        main (float[2, 3, 4, 5] x, float[3] v) => (float[2, 3, 4, 5] y, {outputs}) {{
        y, m2, v2, {wanted} = BatchNormalization (x, v, v, v, v) }}"""
    statistics = {"sm": x.mean((0, 2, 3)), "sv": x.var((0, 2, 3))}
    y = (x - x.mean((0, 2, 3), keepdims=True)) / np.sqrt(x.var((0, 2, 3), keepdims=True) + 1e-5)
    scale = v[:, None, None]
    agree(text, {"x": x, "v": v}, wants=[[y * scale + scale, *(statistics[n] for n in asked)]], rtol=1e-5, again=None)
