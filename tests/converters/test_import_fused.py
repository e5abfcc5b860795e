"""onnxruntime's fused operators, read as what they stand for: against onnxruntime, at two shapes each."""

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

import converters
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
    agree("SkipLayerNormalization", x, skip, gamma, beta, bias, outputs=4)
    agree("SkipSimplifiedLayerNormalization", x, skip, gamma, epsilon=1e-5)
    if not OLD_RUNTIME:  # which passes over the bias
        agree("SkipSimplifiedLayerNormalization", x, skip, gamma, bias, outputs=4, epsilon=1e-5)
    agree("SimplifiedLayerNormalization", x, gamma, domain="", axis=-1, epsilon=1e-6)


def test_what_is_not_read_is_said():
    with pytest.raises(converters.UnsupportedModel, match="activation=Swish, wanted one of Relu"):
        agree_without_session("FusedGemm", activation="Swish")
    with pytest.raises(converters.UnsupportedModel, match="transBatchA or transBatchB"):
        agree_without_session("FusedMatMul", transBatchA=1)


def agree_without_session(op_type, **attributes):
    """Reads a product of two (2, 2) matrices."""
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, (2, 2)) for n in "aby"]
    graph = helper.make_graph(
        [helper.make_node(op_type, ["a", "b"], ["y"], domain=MS, **attributes)], "graph", infos[:2], infos[2:]
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)]
    return converters.import_model(helper.make_model(graph, opset_imports=opsets))
