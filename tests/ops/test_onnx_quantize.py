"""Quantised arithmetic against onnxruntime, bit for bit, and against numbers worked out by hand."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

import converters
from hybrid.core.attrs import dtype
from hybrid.core.error import OpError
from hybrid.core.op import lookup
from hybrid.execution.program import Program
from hybrid.ops.onnx.conversion import convert
from hybrid.ops.onnx.quantize import dequantize, quantize
from tests.versions import OLD_RUNTIME, exact_bytes, old_runtime

MS = "com.microsoft"


def scale(value) -> np.ndarray:
    return np.asarray(value, np.float32)


def zero(value, kind="uint8") -> np.ndarray:
    return np.asarray(value, kind)


def small(seed: int, *shape: int, kind: str = "uint8") -> np.ndarray:
    """Random numbers from all of the range of an integer type."""
    info = np.iinfo(kind)
    return np.random.default_rng(seed).integers(info.min, info.max + 1, shape).astype(kind)


def model_of(op_type, arrays, kinds, *, opset=21, domain="", attributes=None) -> onnx.ModelProto:
    """A model of one node whose inputs have symbolic first dims; arrays may be None for inputs left out."""
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(arrays)]
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, arrays)
        if a is not None
    ]
    outputs = [
        helper.make_tensor_value_info(f"y{i}", helper.np_dtype_to_tensor_dtype(dtype(k)), None)
        for i, k in enumerate(kinds)
    ]
    node = helper.make_node(op_type, names, [o.name for o in outputs], domain=domain)
    node.attribute.extend(helper.make_attribute(k, v) for k, v in (attributes or {}).items())
    graph = helper.make_graph([node], "graph", inputs, outputs)
    opsets = [helper.make_opsetid("", opset), *([helper.make_opsetid(domain, 1)] if domain else [])]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def agree(op_type, arrays, kinds=("uint8",), **options) -> None:
    """The imported model, and what is exported of it and imported again, give onnxruntime's numbers bit for bit."""
    model = model_of(op_type, arrays, kinds, **options)
    feeds = {f"x{i}": a for i, a in enumerate(arrays) if a is not None}
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    graph = converters.import_model(model).graph
    again = converters.import_model(converters.to_onnx(graph, {}, feeds, opset=max(13, options.get("opset", 21)))).graph
    for want, first, second in zip(
        session.run(None, feeds), Program(graph).run(feeds), Program(again).run(feeds), strict=True
    ):
        np.testing.assert_array_equal(first, want, strict=True)
        np.testing.assert_array_equal(second, want, strict=True)


WIDE = np.concatenate(
    [
        np.random.default_rng(0).normal(0, 30, 2000),
        np.arange(-20, 20, 0.125),
        [np.nan, np.inf, -np.inf, 1e30, -1e30, -0.0],
    ]
).astype(np.float32)


@pytest.mark.parametrize("kind", ["uint8", "int8", "uint16", "int16"])
@pytest.mark.parametrize("size", [0.25, 0.1, 0.003])
def test_quantize(kind, size):
    for offset in (0, 3):
        agree("QuantizeLinear", [WIDE, scale(size), zero(offset, kind)], (kind,))


def test_quantize_by_axis_and_by_block():
    x = WIDE[:120].reshape(2, 5, 12)
    by_axis, blocks = scale(np.linspace(0.1, 2, 5)), scale(np.linspace(0.1, 2, 20).reshape(2, 5, 2))
    for axis in (1, -2):
        for opset in (13, 19, 21):
            agree("QuantizeLinear", [x, by_axis, small(1, 5)], opset=opset, attributes={"axis": axis})
    if OLD_RUNTIME:  # which has no blocks
        return
    agree("QuantizeLinear", [x, blocks, small(2, 2, 5, 2)], attributes={"axis": 2, "block_size": 6})
    agree("QuantizeLinear", [x[:, :, :11], blocks, small(2, 2, 5, 2)], attributes={"axis": -1, "block_size": 6})
    agree("QuantizeLinear", [x, scale(0.3)], opset=10)
    agree("QuantizeLinear", [x, scale(0.3)], ("int16",), attributes={"output_dtype": onnx.TensorProto.INT16})


def test_rounding_is_half_to_even_before_the_zero_point_is_added():
    x = scale([0.5, 1.5, 2.5, -0.5, -1.5, 300, -300])
    assert quantize(x, scale(1), zero(1), np.dtype("uint8")).tolist() == [1, 3, 3, 1, 0, 255, 0]
    assert quantize(x, scale(1), zero(1, "int8"), np.dtype("int8")).tolist() == [1, 3, 3, 1, -1, 127, -128]


@pytest.mark.parametrize(
    ("kind", "want"),
    [
        ("int4", [-8, -8, -2, 0, 2, 7, 7]),
        ("uint4", [0, 0, 0, 0, 2, 12, 15]),
        ("int2", [-2, -2, -2, 0, 1, 1, 1]),
        ("uint2", [0, 0, 0, 0, 2, 3, 3]),
        ("float4_e2m1fn", [-6, -6, -2, 0, 1.5, 6, 6]),
    ],
)
def test_narrow_targets_saturate(kind, want):
    x = scale([-1000, -12, -2, 0.25, 1.5, 12, 1000])
    got = quantize(x, scale(1), None, dtype(kind))
    assert got.dtype == dtype(kind)
    assert got.astype(np.float32).tolist() == want


def test_quantize_to_eight_bit_floats():
    x = scale([1, 300, 1e6, -np.inf, np.nan])
    got = quantize(x, scale(0.5), None, dtype("float8_e4m3fn"))
    np.testing.assert_array_equal(got.astype(np.float32), np.array([2, 448, 448, -448, np.nan], np.float32))
    moved = quantize(scale([1, 3, -2]), scale(0.5), scale(1.5), dtype("float8_e4m3fn"))
    assert moved.astype(np.float32).tolist() == [3.5, 7.5, -2.5]
    got = quantize(x, scale(0.5), None, dtype("float8_e4m3fn"), saturate=False)
    np.testing.assert_array_equal(got.astype(np.float32), np.array([2, np.nan, np.nan, np.nan, np.nan], np.float32))


def test_what_is_beyond_eight_bit_floats_is_read_as_it_is_written():
    """The largest number with saturation, without it NaN, or infinity where the type has that; against onnxruntime."""
    x = scale([1, -300, 1e6, -np.inf, np.nan, 0.3, -1e5])
    for kind in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"):
        for saturate in (0, 1):
            arrays = [x, scale(0.5), np.zeros((), dtype(kind))]
            model = model_of("QuantizeLinear", arrays, [kind], attributes={"saturate": saturate})
            model.graph.node.append(helper.make_node("Cast", ["y0"], ["z"], to=onnx.TensorProto.FLOAT))
            model.graph.output[0].CopyFrom(helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, None))
            del model.graph.input[2]  # Python's onnxruntime takes no arrays of such types: it is stored
            code = helper.np_dtype_to_tensor_dtype(dtype(kind))
            model.graph.initializer.append(helper.make_tensor("x2", code, (), b"\0", raw=True))
            feeds = dict(zip(("x0", "x1"), arrays))
            session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            (want,) = session.run(None, feeds)
            found = converters.import_model(model)
            written = converters.import_model(converters.to_onnx(found.graph, found.params, feeds, opset=21))
            for one in (found, written):
                (got,) = Program(one.graph, one.params).run(feeds)
                np.testing.assert_array_equal(got, want, f"{kind} {saturate}", strict=True)


def test_precision_is_that_of_the_scale_or_of_the_attribute():
    """1001 / 0.1 in float16 is 10008, in float32 10012.447 with the same scale."""
    x, tenth = np.array([1001], np.float16), np.array(0.1, np.float16)
    exact = 1001 / float(tenth)
    half = float(np.float16(exact))
    assert half != round(exact)
    kind = np.dtype("int16")
    assert quantize(x, tenth, None, kind).tolist() == [int(half)]
    assert quantize(x, tenth, None, kind, precision=np.dtype("float32")).tolist() == [round(exact)]


@pytest.mark.parametrize("kind", ["uint8", "int8", "uint16", "int16", "int32"])
def test_dequantize(kind):
    x = small(3, 4, 6, 5, kind=kind)
    offset = None if kind == "int32" else zero(7, kind)
    agree("DequantizeLinear", [x, scale(0.1), offset], ("float32",))
    agree("DequantizeLinear", [x, scale(0.1).astype(np.float16), offset], ("float16",))
    by_axis = None if kind == "int32" else small(4, 6, kind=kind)
    agree("DequantizeLinear", [x, scale(np.linspace(0.1, 1, 6)), by_axis], ("float32",))
    if kind != "int32" and not OLD_RUNTIME:  # which has no blocks
        blocks = scale(np.linspace(0.1, 1, 48).reshape(4, 6, 2))
        given_ = [x, blocks, small(5, 4, 6, 2, kind=kind)]
        agree("DequantizeLinear", given_, ("float32",), attributes={"axis": 2, "block_size": 3})


def test_dequantize_narrow_types():
    for kind, values in (
        ("int4", [-8, 7]),
        ("uint2", [0, 3]),
        ("float8_e5m2", [-57344, 0.5]),
        ("float4_e2m1fn", [6, -0.5]),
    ):
        x = convert(np.array(values, np.float32), kind)
        np.testing.assert_array_equal(dequantize(x, scale(0.5), None), np.array(values, np.float32) / 2)


def test_shapes_of_scales_are_checked():
    bind = lookup("_onnx_QuantizeLinear").bind
    x = np.zeros((2, 3, 4), np.float32)
    for attributes, size, message in (
        ({}, (4,), r"got scales \(4,\) for axis 1"),
        ({"axis": 3}, (4,), "got axis 3 for 3 dimensions"),
        ({"axis": 2, "block_size": 3}, (2, 3, 3), r"wanted \(2, 3, 2\)"),
        ({}, (2, 3, 4), r"wanted \(3,\) or one number"),
    ):
        with pytest.raises(OpError, match=message):
            bind(**attributes).compute(x, np.ones(size, np.float32))
    with pytest.raises(OpError, match="wanted one dtype"):
        bind(output_dtype="int8", given=("y_zero_point",)).infer_type(*map(np.dtype, ("float32", "float32", "uint8")))


@pytest.mark.parametrize("x", [WIDE[:99], WIDE[:99] * 0, np.abs(WIDE[:99]) + 3, -np.abs(WIDE[:99]) - 3, scale(2.5)])
def test_dynamic(x):
    agree("DynamicQuantizeLinear", [x], ("uint8", "float32", "uint8"))


@exact_bytes
@old_runtime("has no kernel of ConvInteger for int8")
def test_integer_products():
    a, b = small(0, 2, 5, 700), small(1, 700, 6, kind="int8")
    agree("MatMulInteger", [a, b, zero(7), small(2, 6, kind="int8")], ("int32",))
    agree("MatMulInteger", [a[0, 0], b], ("int32",))
    x, w = small(3, 2, 4, 7, 8), small(4, 6, 2, 3, 3, kind="int8")
    more = {"group": 2, "pads": [1, 0, 1, 2], "dilations": [2, 1]}
    agree("ConvInteger", [x, w, zero(120), zero(3, "int8")], ("int32",), attributes=more)
    for pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        agree(
            "ConvInteger",
            [x, small(4, 6, 4, 2, 3), zero(9)],
            ("int32",),
            attributes={"auto_pad": pad, "strides": [2, 2]},
        )


def test_a_zero_point_for_each_row():
    a, b, offsets = small(0, 3, 4), small(1, 4, 2, kind="int8"), small(2, 3)
    op = lookup("_onnx_MatMulInteger").bind(given=("a_zero_point",))
    want = (a.astype(int) - offsets[:, None]) @ b.astype(int)
    np.testing.assert_array_equal(op.compute(a, b, offsets), want.astype(np.int32), strict=True)


def test_sums_wrap_round():
    a = np.full((1, 40000), 255, np.uint8)
    total = 40000 * 255 * 255
    got = lookup("_onnx_MatMulInteger").bind().compute(a, a.T)
    assert got.tolist() == [[(total + 2**31) % 2**32 - 2**31]]


@exact_bytes
@old_runtime("has no kernel of QLinearMatMul for opset 21")
@pytest.mark.parametrize("seed", range(4))
def test_quantised_products(seed):
    rng = np.random.default_rng(seed)
    sizes, offsets = scale(rng.random(14) / 20), np.zeros(14, np.int8)
    b = small(seed, 33, 14, kind="int8")
    agree("QLinearMatMul", [small(9, 20, 33), scale(0.03), zero(120), b, sizes, offsets, scale(0.11), zero(99)])
    bias = rng.integers(-3000, 3000, 6).astype(np.int32)
    w = small(seed, 6, 2, 3, 3, kind="int8")
    inputs = [small(8, 2, 4, 7, 8), scale(0.03), zero(120), w, sizes[:6], offsets[:6], scale(0.21), zero(99), bias]
    agree("QLinearConv", inputs, attributes={"group": 2, "pads": [1, 0, 1, 2], "strides": [2, 1]})


@pytest.mark.parametrize("op_type", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_sums_and_products_near_halves(op_type, kind):
    rng = np.random.default_rng(0)
    for seed in range(8):
        a, b = small(seed, 300, 20, kind=kind), small(seed + 50, 20, kind=kind)
        offsets = [zero(z, kind) for z in small(seed + 99, 3, kind=kind)]
        first, second, third = (scale(v) for v in rng.integers(1, 100, 3) / 500)
        agree(op_type, [a, first, offsets[0], b, second, offsets[1], scale(third * 2), offsets[2]], (kind,), domain=MS)
    ties = [small(1, 300, 4), scale(0.25), zero(3), small(2, 4), scale(0.25), zero(100), scale(0.5), zero(11)]
    agree(op_type, ties, domain=MS)


OVERHANG = old_runtime("counts windows that begin in the padding behind")


@pytest.mark.parametrize(
    ("op_type", "attributes"),
    [
        ("QLinearSigmoid", {}),
        ("QLinearLeakyRelu", {"alpha": 0.2}),
        ("QLinearGlobalAveragePool", {}),
        ("QLinearGlobalAveragePool", {"channels_last": 1}),
        ("QLinearSoftmax", {"opset": 13, "axis": -1}),
        ("QLinearSoftmax", {"opset": 12, "axis": 1}),
        ("QLinearAveragePool", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}),
        pytest.param(
            *("QLinearAveragePool", {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "ceil_mode": 1, "strides": [2, 2]}),
            marks=OVERHANG,
        ),
        ("QLinearAveragePool", {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "count_include_pad": 1}),
        pytest.param(
            "QLinearAveragePool",
            {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "ceil_mode": 1, "strides": [2, 2], "count_include_pad": 1},
            marks=OVERHANG,
        ),
        (
            "QLinearAveragePool",
            {"kernel_shape": [3, 2], "auto_pad": "SAME_UPPER", "strides": [2, 2], "channels_last": 1},
        ),
    ],
)
def test_functions_of_one(op_type, attributes):
    # softmax: onnxruntime rounds 1 / y_scale to a whole number, which here it is
    size = 1 / 256 if op_type == "QLinearSoftmax" else 0.013
    agree(
        op_type, [small(0, 2, 8, 6, 6), scale(0.04), zero(99), scale(size), zero(7)], domain=MS, attributes=attributes
    )


@exact_bytes
def test_products_with_floats_and_joining():
    parts = [small(0, 2, 3), scale(0.02), zero(3), small(1, 2, 5), scale(0.07), zero(9)]
    agree("QLinearConcat", [scale(0.05), zero(20), *parts], domain=MS, attributes={"axis": 1})
    for axis, shapes in ((1, ((2, 3, 4), (2, 5, 4))), (-2, ((2, 3, 4), (2, 5, 4))), (-1, ((2, 3, 4), (2, 3, 7)))):
        deep = [small(0, *shapes[0]), scale(0.02), zero(3), small(1, *shapes[1]), scale(0.07), zero(9)]
        agree("QLinearConcat", [scale(0.05), zero(20), *deep], domain=MS, attributes={"axis": axis})
    a, b = small(2, 5, 7), small(3, 7, 9, kind="int8")
    rng = np.random.default_rng(0)
    bias, sizes = rng.random(9, np.float32), rng.random(9, np.float32)
    given_ = [a, scale(0.02), zero(100), b.T.copy(), scale(0.05), zero(0, "int8")]
    c = rng.integers(-500, 500, 9).astype(np.int32)
    agree("QGemm", [*given_, c, scale(0.09), zero(60)], domain=MS, attributes={"transB": 1})
    close = {"rtol": 1e-6, "atol": 1e-6}
    for op_type, arrays, attributes in (
        ("QGemm", [a, scale(0.02), zero(100), b, sizes, np.zeros(9, np.int8)], {"alpha": 0.5}),
        ("MatMulIntegerToFloat", [a, b, scale(0.02), scale(0.1), zero(100), zero(3, "int8"), bias], {}),
        ("DynamicQuantizeMatMul", [rng.normal(0, 1, (5, 7)).astype(np.float32), b, scale(0.02), None, bias], {}),
    ):
        model = model_of(op_type, arrays, ("float32",), domain=MS, attributes=attributes)
        feeds = {f"x{i}": x for i, x in enumerate(arrays) if x is not None}
        (want,) = ort.InferenceSession(model.SerializeToString()).run(None, feeds)
        np.testing.assert_allclose(Program(converters.import_model(model).graph).run(feeds)[0], want, **close)
