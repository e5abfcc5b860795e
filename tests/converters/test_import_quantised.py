"""Networks that onnxruntime's own tools quantised: imported, they give its numbers, and do so again after export."""

import warnings

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import converters
from hybrid import autograd, gluon, nd
from hybrid.execution.program import Program
from tests.versions import exact_bytes, old_runtime

quantization = pytest.importorskip("onnxruntime.quantization")


def network() -> onnx.ModelProto:
    """Convolutions with a branch, a mean and a product; any number of pictures."""
    rng = np.random.default_rng(0)
    stored = {
        "w0": rng.normal(0, 0.4, (8, 3, 3, 3)),
        "b0": rng.normal(0, 0.2, 8),
        "w1": rng.normal(0, 0.3, (8, 4, 3, 3)),
        "w2": rng.normal(0, 0.4, (16, 10)),
        "b2": rng.normal(0, 0.2, 10),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w0", "b0"], ["c0"], pads=[1, 1, 1, 1]),
        helper.make_node("LeakyRelu", ["c0"], ["r0"], alpha=0.1),
        helper.make_node("MaxPool", ["r0"], ["p0"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p0", "w1"], ["c1"], pads=[1, 1, 1, 1], group=2),
        helper.make_node("Sigmoid", ["c1"], ["s1"]),
        helper.make_node("Mul", ["s1", "p0"], ["m1"]),
        helper.make_node("Add", ["m1", "p0"], ["a1"]),
        helper.make_node("AveragePool", ["a1"], ["v1"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Concat", ["v1", "a1"], ["j1"], axis=1),
        helper.make_node("GlobalAveragePool", ["j1"], ["g1"]),
        helper.make_node("Flatten", ["g1"], ["f1"]),
        helper.make_node("Gemm", ["f1", "w2", "b2"], ["y"]),
    ]
    weights = [numpy_helper.from_array(a.astype(np.float32), name) for name, a in stored.items()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 10])]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def pictures(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 1, (count, 3, 8, 8)).astype(np.float32)


class Pictures(quantization.CalibrationDataReader):
    """Pictures that the quantiser looks at."""

    def __init__(self):
        self.left = iter([{"x": pictures(seed, 4)} for seed in range(3)])

    def get_next(self):
        return next(self.left, None)


def quantised(kind: str, folder) -> onnx.ModelProto:
    target = str(folder / f"{kind}.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "dynamic":
            quantization.quantize_dynamic(network(), target, weight_type=quantization.QuantType.QInt8)
        else:
            form = {
                "quant_format": getattr(quantization.QuantFormat, kind.split("-")[0]),
                "per_channel": kind.endswith("channel"),
            }
            signed = quantization.QuantType.QInt8 if "int8" in kind else quantization.QuantType.QUInt8
            quantization.quantize_static(
                network(), target, Pictures(), activation_type=signed, weight_type=quantization.QuantType.QInt8, **form
            )
    return onnx.load(target)


@old_runtime("does not quantise these networks: it loses a tensor between its steps, or has no kernel")
@pytest.mark.parametrize(
    "kind",
    [
        *("QDQ", "QDQ-channel", "QDQ-int8", "QOperator-int8"),
        *(pytest.param(kind, marks=exact_bytes) for kind in ("QOperator", "QOperator-channel", "dynamic")),
    ],
)
@pytest.mark.usefixtures("by_numpy")  # a sum between two steps falls to either side with its last digit
def test_quantised_networks(kind, tmp_path):
    model = quantised(kind, tmp_path)
    options = ort.SessionOptions()
    # as the file says: fusing moves where numbers are rounded
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    if kind.startswith("QOperator"):
        used = {n.op_type for n in model.graph.node}
        assert {
            "QLinearConv",
            "QLinearAdd",
            "QLinearMul",
            "QLinearSigmoid",
            "QLinearLeakyRelu",
            "QLinearConcat",
            "QGemm",
        } <= used
    found = converters.import_model(model)
    written = converters.to_onnx(found.graph, found.params, {"x": ("n", 3, 8, 8)}, opset=21)
    again = converters.import_model(written)
    for seed, count in ((9, 1), (10, 5)):
        feeds = {"x": pictures(seed, count)}
        (want,) = session.run(None, feeds)
        first, second = (Program(m.graph).run({**feeds, **m.params})[0] for m in (found, again))
        np.testing.assert_array_equal(first, second, strict=True)
        np.testing.assert_allclose(first, want, rtol=1e-5, atol=1e-5)


def test_weights_of_four_bits_run_train_and_are_stored(tmp_path):
    """x @ ((w - zero) * scale), w int4: the block learns what the scales are, the int4 weights stay."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    rng = np.random.default_rng(0)
    w = rng.integers(-8, 8, (6, 4)).astype(ml_dtypes.int4)
    sizes = rng.uniform(0.1, 0.2, 4).astype(np.float32)
    packed = helper.make_tensor("w", TensorProto.INT4, w.shape, w.astype(int).reshape(-1).tolist())
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "scale"], ["wide"], axis=1),
        helper.make_node("MatMul", ["x", "wide"], ["y"]),
    ]
    infos = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 6]),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4]),
    ]
    graph = helper.make_graph(nodes, "graph", infos[:1], infos[1:], [packed, numpy_helper.from_array(sizes, "scale")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    symbol, arguments, states = converters.from_onnx(model)
    assert not states
    assert arguments["w"].dtype == ml_dtypes.int4
    symbol.save(str(tmp_path / "m-symbol.json"))
    nd.save(str(tmp_path / "m-0000.params"), {f"arg:{k}": v for k, v in arguments.items()})
    block = gluon.SymbolBlock.imports(str(tmp_path / "m-symbol.json"), ["x"], str(tmp_path / "m-0000.params"))
    x = rng.normal(0, 1, (16, 6)).astype(np.float32)
    np.testing.assert_allclose(block(nd.array(x)).asnumpy(), x @ (w.astype(np.float32) * sizes), rtol=1e-5, atol=1e-6)
    wanted = nd.array(x @ (w.astype(np.float32) * sizes * 1.5))
    trainer = gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.0002})
    losses = []
    for _ in range(20):
        with autograd.record():
            loss = ((block(nd.array(x)) - wanted) ** 2).sum()
        loss.backward()
        trainer.step(1)
        losses.append(loss.asscalar())
    assert losses[-1] < losses[0] / 10
    np.testing.assert_array_equal(block.collect_params()["w"].data().asnumpy(), w)
