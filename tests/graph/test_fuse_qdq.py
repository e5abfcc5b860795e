"""Operators between DequantizeLinear and QuantizeLinear on integers: which become what, and the integers they give."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid.core.op import lookup
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.passes import optimize

from .optimizing import NATIVE, counted, plainly, rewriter_of, run

RNG = np.random.default_rng(0)


def var(name: str) -> Entry:
    return Entry(Node(None, name))


def apply(op: str, *inputs: Entry, **attrs: Any) -> Entry:
    return Entry(Node(lookup(op).bind(**attrs), f"{op}{id(inputs) % 999}", inputs))


def constant(value: Any, dtype: str = "float32") -> Entry:
    return apply("_onnx_Constant", value=np.array(value, dtype))


def dequantized(entry: Entry, scale: Any, zero: Any, dtype: str = "uint8", **attrs: Any) -> Entry:
    return apply(
        "_onnx_DequantizeLinear", entry, constant(scale), constant(zero, dtype), given=("x_zero_point",), **attrs
    )


def quantized(entry: Entry, scale: float = 0.07, zero: int = 100, dtype: str = "uint8") -> Entry:
    return apply("_onnx_QuantizeLinear", entry, constant(scale), constant(zero, dtype), given=("y_zero_point",))


def whole(*shape: int, dtype: str = "uint8") -> np.ndarray:
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def left(name: str, shape: tuple[int, ...], dtype: str = "uint8") -> tuple[Entry, dict[str, np.ndarray]]:
    return dequantized(var(name), 0.05, 90, dtype), {name: whole(*shape, dtype=dtype)}


def per_channel(name: str, shape: tuple[int, ...], axis: int) -> tuple[Entry, dict[str, np.ndarray]]:
    size = shape[axis]
    weight = dequantized(var(name), np.linspace(0.001, 0.01, size), [0] * size, "int8", axis=axis)
    return weight, {name: whole(*shape, dtype="int8")}


def forms() -> dict[str, tuple[Entry, dict[str, np.ndarray], dict[str, np.ndarray], str | None]]:
    """By name a graph's output, what it is fed, its parameters, and the operator that it becomes; None: it stays."""
    image, images = left("x", (2, 4, 9, 7))
    other, others = left("y", (2, 4, 9, 7))
    rows, matrix = left("x", (2, 3, 6))
    filters, kernel = per_channel("w", (5, 4, 3, 2), 0)
    across, transposed = per_channel("w", (5, 6), 0)
    plain, straight = per_channel("w", (6, 5), 1)
    bias, row = var("b"), {"b": RNG.normal(size=5).astype("float32")}
    conv = {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 0), "num_filter": 5}
    keys, more = dequantized(var("k"), 0.02, 3), {"k": whole(2, 6, 4)}
    dot = apply("dot", rows, plain)
    pool = {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1)}
    return {
        "convolution": (
            quantized(apply("Convolution", image, filters, bias, **conv)), images, kernel | row, "_onnx_QLinearConv"),
        "dense": (
            quantized(apply("FullyConnected", rows, across, bias, num_hidden=5, flatten=False)), matrix,
            transposed | row, "_onnx_ms_QGemm"),
        "product": (quantized(dot), matrix, straight, "_onnx_ms_QGemm"),
        "product and sum": (
            quantized(apply("broadcast_add", bias, apply("dot", rows, plain))), matrix, straight | row, "_onnx_ms_QGemm"),
        "batches": (quantized(apply("_npi_matmul", rows, keys)), matrix | more, {}, "_onnx_QLinearMatMul"),
        "sum": (quantized(apply("elemwise_add", image, other)), images | others, {}, "_onnx_ms_QLinearAdd"),
        "multiplication": (quantized(apply("elemwise_mul", image, other)), images | others, {}, "_onnx_ms_QLinearMul"),
        "maximum": (quantized(apply("Pooling", image, pool_type="max", **pool), 0.05, 90), images, {}, "_onnx_MaxPool"),
        "mean": (
            quantized(apply("Pooling", image, pool_type="avg", global_pool=True)), images, {},
            "_onnx_ms_QLinearGlobalAveragePool"),
        "transposition": (quantized(apply("transpose", image), 0.05, 90), images, {}, "transpose"),
        "reshaping": (quantized(apply("Flatten", image), 0.3, 90), images, {}, "_fused_lookup"),
        "function": (
            quantized(apply("tanh", apply("_mul_scalar", image, scalar=0.3)), 0.01), images, {}, "_fused_lookup"),
        "other dtypes": (
            quantized(apply("elemwise_add", image, dequantized(var("y"), 0.05, 9, "int8"))),
            images | {"y": whole(2, 4, 9, 7, dtype="int8")}, {}, None),
        "weights that change": (quantized(apply("Convolution", image, filters, bias, **conv)), images | kernel, row, None),
        "windows that are averaged": (quantized(apply("Pooling", image, pool_type="avg", **pool)), images, {}, None),
    }  # fmt: skip


def test_forms() -> None:
    failed = []
    for name, (output, feeds, params, wanted) in forms().items():
        graph = Graph([output])
        found = optimize(graph, rewriter_of(graph, feeds, params, native=NATIVE | {"_fused_lookup"}))
        ops = counted(found.main)
        integers = "_onnx_QuantizeLinear" not in ops and "_onnx_DequantizeLinear" not in ops
        if integers != (wanted is not None) or (wanted and wanted not in ops):
            failed.append(f"{name}: {dict(ops)}")
            continue
        (got,), (want,) = run(found, feeds, params), plainly(graph, feeds, params)
        apart = np.abs(got.astype(int) - want.astype(int))
        exact = wanted in ("_fused_lookup", "transpose", "_onnx_MaxPool", None)
        if got.dtype != want.dtype or apart.max() > (0 if exact else 1) or np.mean(apart > 0) > 0.02:
            failed.append(f"{name}: {apart.max()} apart, {np.mean(apart > 0):.1%} differ")
    assert not failed, "\n".join(failed)


def test_what_quantisers_write_themselves() -> None:
    """Products that are quantised as they come, and functions of quantised numbers: the same numbers."""
    x, w, scale, row = var("x"), var("w"), var("s"), var("b")
    params = {
        "w": whole(6, 5, dtype="int8"),
        "s": RNG.uniform(size=5).astype("float32"),
        "b": RNG.normal(size=5).astype("f"),
    }
    feeds = {"x": RNG.normal(size=(2, 3, 6)).astype("float32")}
    small = apply("_onnx_DynamicQuantizeLinear", x)
    y, y_scale, y_zero = (Entry(small.node, i) for i in range(3))
    cast = apply("Cast", apply("_onnx_MatMulInteger", y, w, y_zero, given=("a_zero_point",)), dtype="float32")
    product = apply("broadcast_mul", cast, scale)
    one = apply("broadcast_mul", apply("broadcast_mul", y_scale, constant([0.1])), cast)
    image, images = var("i"), {"i": whole(2, 4, 6, 8)}
    scales = constant(0.05), constant(90, "uint8"), constant(0.02), constant(100, "uint8")
    given = {"given": ("X_zero_point", "Y_zero_point")}
    floats, tables = ("_onnx_DequantizeLinear", "_onnx_QuantizeLinear"), ("_fused_lookup",)
    pool = {"kernel_shape": (3, 3), "pads": (1, 1, 1, 1), "strides": (2, 1), "count_include_pad": True}
    cases = {
        "a row of scales": (product, feeds, params, ("_onnx_ms_MatMulIntegerToFloat",)),
        "one scale": (one, feeds, params, ("_onnx_ms_MatMulIntegerToFloat",)),
        "plus a row": (apply("broadcast_add", row, product), feeds, params, ("_onnx_ms_MatMulIntegerToFloat",)),
        "sigmoid": (apply("_onnx_ms_QLinearSigmoid", image, *scales, **given), images, {}, tables),
        "leaky": (apply("_onnx_ms_QLinearLeakyRelu", image, *scales, alpha=0.3, **given), images, {}, tables),
        "softmax": (apply("_onnx_ms_QLinearSoftmax", image, *scales, axis=1, **given), images, {}, floats),
        "means": (apply("_onnx_ms_QLinearAveragePool", image, *scales, **pool, **given), images, {}, floats),
    }
    failed = []
    for name, (output, inputs, constants, wanted) in cases.items():
        graph = Graph([output])
        held = {n.name: constants[n.name] for n in graph.variables() if n.name in constants}
        found = optimize(graph, rewriter_of(graph, inputs, held, native=NATIVE | {"_fused_lookup"}))
        ops = counted(found.main)
        (got,), (want,) = run(found, inputs, held), plainly(graph, inputs, held)
        if not ops.keys() >= set(wanted) or ops.keys() & {"_onnx_MatMulInteger", output.node.op.name}:
            failed.append(f"{name}: {dict(ops)}")
        elif got.dtype != want.dtype or not np.array_equal(got, want):
            failed.append(f"{name}: {np.abs(got.astype(float) - want.astype(float)).max()} apart")
    assert not failed, "\n".join(failed)


def test_sixteen_bits_are_rounded_floats() -> None:
    x = var("x")
    numbers = (RNG.normal(size=(3, 50)) * 2).astype("float32")
    numbers[0, :6] = 0.0, 0.15, -0.25, np.inf, -np.inf, np.nan
    numbers[1] = np.arange(-25, 25) * np.float32(0.0001) + np.float32(0.00005)  # half way, or next to it
    numbers[2] = (np.arange(-25, 25) + 0.5) / 8192
    for dtype, zero in (("int16", 7), ("uint16", 30000), ("uint16", 0)):
        for step in (0.0001, 1 / 8192):
            both = {"scale": step, "zero": zero, "dtype": dtype}
            graph = Graph([dequantized(quantized(x, **both), **both)])
            found = optimize(graph, rewriter_of(graph, {"x": numbers}, {}, native=NATIVE))
            assert counted(found.main) == {"_fused_chain": 1}
            (got,), (want,) = run(found, {"x": numbers}, {}), plainly(graph, {"x": numbers}, {})
            np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def test_what_others_read_stays_float() -> None:
    """A result that is also an output, or read by somebody else."""
    x, feeds = left("x", (2, 4, 3, 3))
    y = apply("tanh", x)
    for outputs in ([quantized(y), y], [quantized(y), apply("relu", y)]):
        graph = Graph(outputs)
        found = optimize(graph, rewriter_of(graph, feeds, {}, native=NATIVE | {"_fused_lookup"}))
        assert "_fused_lookup" not in counted(found.main)


def test_training_keeps_floats() -> None:
    x, feeds = left("x", (2, 4, 3, 3))
    graph = Graph([quantized(apply("tanh", x))])
    found = optimize(graph, rewriter_of(graph, feeds, {}, native=NATIVE | {"_fused_lookup"}, training=True))
    assert "_fused_lookup" not in counted(found.main)
