"""onnxruntime's fused operators, read as what they stand for: against onnxruntime, at two shapes each."""

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import converters
from bridge.onnx_backend import OnnxBackendRep
from hybrid.execution.program import Program
from tests.versions import OLD_RUNTIME

MS = "com.microsoft"
RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(0, 1, shape).astype(np.float32)


def agree(op_type, *arrays, opset=17, domain=MS, outputs=1, **attributes):
    """The first array is given with as many rows as it has, and with twice as many; what else is an array is a parameter."""
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(arrays)]
    rows = [
        ("n", *a.shape[1:]) if a is not None and a.shape[:1] == arrays[0].shape[:1] and a.ndim > 1 else None
        for a in arrays
    ]
    fed = {n: a for n, a, r in zip(names, arrays, rows) if r is not None}
    stored = [
        helper.make_tensor(n, TensorProto.FLOAT, a.shape, a) for n, a, r in zip(names, arrays, rows) if r is None and n
    ]
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, r) for n, r in zip(names, rows) if r is not None]
    made = [
        helper.make_tensor_value_info(f"y{i}" if i in (0, 3) else "", TensorProto.FLOAT, None) for i in range(outputs)
    ]
    node = helper.make_node(op_type, names, [o.name for o in made], domain=domain, **attributes)
    graph = helper.make_graph([node], "graph", inputs, [o for o in made if o.name], stored)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MS, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found = converters.import_model(model)
    for times in (1, 2):
        feeds = {n: np.concatenate([a] * times) for n, a in fed.items()}
        results = Program(found.graph).run({**feeds, **found.params})
        for got, want in zip(results, session.run(None, feeds), strict=True):
            np.testing.assert_allclose(got, want, rtol=2e-6, atol=2e-6)
            assert got.dtype == want.dtype


def test_activations():
    x = normal(3, 8)
    agree("Gelu", x)
    agree("BiasGelu", x, normal(8))
    agree("FastGelu", x)
    agree("FastGelu", x, normal(8))
    agree("QuickGelu", x)
    agree("QuickGelu", x, alpha=1.1)


def test_products():
    a, b = normal(2, 3, 4), normal(4, 5)
    agree("FusedMatMul", a, b)
    agree("FusedMatMul", a, b.T.copy(), transB=1, alpha=0.5)
    agree("FusedMatMul", normal(2, 4, 3), b, transA=1)
    x, w = normal(2, 3, 6, 6), normal(4, 3, 3, 3)
    for activation, parameters in (
        ("Relu", None),
        ("LeakyRelu", [0.1]),
        ("HardSigmoid", [0.2, 0.4]),
        ("Tanh", None),
        ("Sigmoid", None),
        ("Clip", [0.0, 6.0]),
    ):
        more = {} if parameters is None else {"activation_params": parameters}
        agree("FusedConv", x, w, normal(4), activation=activation, pads=[1, 1, 1, 1], **more)
    if not OLD_RUNTIME:  # which refuses what is added where the number of rows differs
        agree("FusedConv", x, w, normal(4), normal(2, 4, 6, 6), activation="Relu", pads=[1, 1, 1, 1])
    agree("FusedGemm", normal(3, 4), normal(4, 5), normal(5), activation="LeakyRelu", activation_alpha=0.3, alpha=0.7)
    agree("FusedGemm", normal(3, 4), normal(5, 4), activation="Relu", transB=1)


def test_layer_normalisation():
    x, skip, gamma, beta, bias = normal(3, 5, 8), normal(3, 5, 8), normal(8), normal(8), normal(8)
    agree("SkipLayerNormalization", x, skip, gamma, beta, bias, epsilon=1e-5)
    agree("SkipLayerNormalization", x, skip, gamma)
    agree("SkipLayerNormalization", x, skip, gamma, beta)
    agree("SkipLayerNormalization", x, skip, gamma, None, bias)
    agree("SkipLayerNormalization", x, skip, gamma, None, bias, outputs=4)
    agree("SkipLayerNormalization", x, skip, gamma, beta, bias, outputs=4)
    agree("SkipSimplifiedLayerNormalization", x, skip, gamma, epsilon=1e-5)
    if not OLD_RUNTIME:  # which passes over the bias
        agree("SkipSimplifiedLayerNormalization", x, skip, gamma, bias, outputs=4, epsilon=1e-5)
    agree("SimplifiedLayerNormalization", x, gamma, domain="", axis=-1, epsilon=1e-6)
    agree("SimplifiedLayerNormalization", x, normal(5, 8), domain="", axis=1, epsilon=1e-6, stash_type=1)


def test_what_is_not_read_is_said():
    with pytest.raises(converters.UnsupportedModel, match="activation=Swish, wanted one of Relu"):
        agree_without_session("FusedGemm", activation="Swish")
    with pytest.raises(converters.UnsupportedModel, match="transBatchA or transBatchB"):
        agree_without_session("FusedMatMul", transBatchA=1)
    with pytest.raises(converters.UnsupportedModel, match="transBatchA or transBatchB"):
        agree_without_session("FusedMatMul", transBatchB=1)


def agree_without_session(op_type, **attributes):
    """Reads a product of two (2, 2) matrices."""
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, (2, 2)) for n in "aby"]
    graph = helper.make_graph(
        [helper.make_node(op_type, ["a", "b"], ["y"], domain=MS, **attributes)], "graph", infos[:2], infos[2:]
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)]
    return converters.import_model(helper.make_model(graph, opset_imports=opsets))


def read(op_type, names, outputs, *, untyped=(), domain=MS, **attributes):
    """One node of inputs by name and shape; the dtypes of those in untyped are not said."""
    infos = [helper.make_tensor_value_info(n, 0 if n in untyped else 1, s) for n, s in names.items() if s is not None]
    made = [helper.make_empty_tensor_value_info(o) for o in outputs.split() if o != "-"]
    reads = [n if s is not None else "" for n, s in names.items()]
    node = helper.make_node(op_type, reads, [o.replace("-", "") for o in outputs.split()], domain=domain, **attributes)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)]
    graph = helper.make_graph([node], "graph", infos, made)
    return converters.import_model(helper.make_model(graph, opset_imports=opsets, ir_version=9))


def test_ends_of_fused_operators():
    """No activation, no bias, and vectors, which have nothing to turn."""
    x, w = normal(2, 3, 6, 6), normal(4, 3, 3, 2)
    agree("FusedConv", x, w, activation="Relu", pads=[1, 0, 1, 1], strides=[2, 1])
    agree("FusedConv", x, w, None, normal(2, 4, 6, 6), activation="Tanh", pads=[1, 0, 1, 1])
    agree("FusedGemm", normal(3, 4), normal(4, 5), activation="HardSigmoid", activation_alpha=0.3, activation_beta=0.4)
    # a third parameter, which no activation has
    parameters = {"activation_alpha": 0.3, "activation_beta": 0.4, "activation_gamma": 0.7}
    agree("FusedGemm", normal(3, 4), normal(4, 5), activation="HardSigmoid", **parameters)
    a, b = normal(4), normal(4, 5)
    for shapes, attributes, wants in (
        (((4,), (4, 5)), {"transA": 1}, a @ b),
        (((4,), (5, 4)), {"transA": 1, "transB": 1, "alpha": 0.5}, a @ b * 0.5),
        (((5, 4), (4,)), {"transA": 0, "transB": 1}, b.T @ a),
    ):
        feeds = {"a": a, "b": b.T if shapes[1] == (5, 4) else b}
        if shapes[1] == (4,):
            feeds = {"a": b.T, "b": a}
        found = read("FusedMatMul", dict(zip("ab", shapes)), "y", **attributes)
        np.testing.assert_allclose(Program(found.graph).run({**feeds, **found.params})[0], wants, rtol=1e-5)


@pytest.mark.parametrize("named", ["y m d -", "y m - s", "y - d s", "y m d s"])
def test_mean_and_deviation_of_a_skip(named):
    """onnxruntime computes them on other devices only: by what its documentation says they are."""
    shapes = {"x": (2, 3, 8), "skip": (2, 3, 8), "gamma": (8,), "beta": (8,), "bias": (8,)}
    feeds = {n: normal(*s) for n, s in shapes.items()}
    found = read("SkipLayerNormalization", shapes, named, epsilon=0.1)
    total = (feeds["x"] + feeds["skip"] + feeds["bias"]).astype("f8")
    mean = total.mean(-1, keepdims=True)
    deviation = 1 / np.sqrt(total.var(-1, keepdims=True) + 0.1)
    wants = {"y": (total - mean) * deviation * feeds["gamma"] + feeds["beta"], "m": mean, "d": deviation, "s": total}
    wanted = [n for n in named.split() if n != "-"]
    for name, got in zip(wanted, Program(found.graph).run(feeds), strict=True):
        np.testing.assert_allclose(got, wants[name], rtol=2e-5, atol=2e-5, err_msg=name)


def test_what_fused_operators_have_to_be_told():
    rows = {"x": (2, 3, 8), "skip": (2, 3, 8), "gamma": (8,)}
    for outputs in ("y m", "y - d", "y m d"):
        with pytest.raises(converters.UnsupportedModel, match="mean and inv_std_var are wanted"):
            read("SkipSimplifiedLayerNormalization", rows, outputs)
    with pytest.raises(converters.UnsupportedModel, match="the dtype of X is not known"):
        read("QuickGelu", {"x": (2, 3)}, "y", untyped="x")
    with pytest.raises(converters.UnsupportedModel, match="the dtype of A is not known"):
        read("FusedMatMul", {"a": (2, 3), "b": (3, 2)}, "y", untyped="a", alpha=0.5)
    found = read("FusedMatMul", {"a": (2, 3), "b": (3, 2)}, "y", untyped="a")
    a, b = normal(2, 3), normal(3, 2)
    np.testing.assert_allclose(Program(found.graph).run({"a": a, "b": b})[0], a @ b, rtol=1e-6)


@pytest.mark.parametrize("opset", [13, 16])
def test_layer_normalisation_that_onnxruntime_writes_into_older_opsets(opset: int) -> None:
    """Its optimiser makes one of the operators that mean the same before opset 17, in the standard's own domain."""
    agree("LayerNormalization", normal(2, 3, 4), normal(4), normal(4), opset=opset, domain="", epsilon=1e-3)


@pytest.mark.parametrize("last", [0, 1])
def test_quantised_convolution_and_pooling_of_either_layout(last: int) -> None:
    rng = np.random.default_rng(0)
    shape = (2, 6, 5, 3) if last else (2, 3, 6, 5)
    x = rng.integers(0, 256, shape).astype(np.uint8)
    stored = {
        "w": rng.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8),
        "b": rng.integers(-900, 900, 4).astype(np.int32),
    }
    stored |= {"xs": np.float32(0.05), "ws": np.float32(0.02), "ys": np.float32(0.3)}
    stored |= {"xz": np.uint8(120), "wz": np.int8(0), "yz": np.uint8(110)}
    reads = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"]
    nodes = [helper.make_node("QLinearConv", reads, ["made"], domain=MS, channels_last=last, pads=[1, 1, 1, 1])]
    name, domain = ("NhwcMaxPool", MS) if last else ("MaxPool", "")
    nodes.append(helper.make_node(name, ["made"], ["y"], domain=domain, kernel_shape=[2, 2], strides=[2, 1]))
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, ["n", *shape[1:]])],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, None)],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in stored.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    want = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    got = OnnxBackendRep(converters.import_model(model)).run({"x": x})[0]
    assert got.dtype == want.dtype and np.abs(got.astype(int) - want.astype(int)).max() <= 1  # where a half is rounded


def test_blocks_of_channels_are_refused_with_advice() -> None:
    node = helper.make_node("ReorderInput", ["x"], ["y"], domain="com.microsoft.nchwc")
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 8, 4, 4]) for n in "xy"]
    graph = helper.make_graph([node], "graph", infos[:1], infos[1:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft.nchwc", 1)]
    with pytest.raises(converters.UnsupportedModel, match="give the model before them, or one that level extended has"):
        converters.import_model(helper.make_model(graph, opset_imports=opsets, ir_version=9))
