"""Recurrent layers read: as MXNet's RNN where it says the same, else as they stand; at two lengths and batches each."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import converters
from bridge.onnx_backend import run_model
from converters.importer import Imported

from .agreement import agree, by_onnxruntime

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
C, H = 3, 5


def layer(kind: str, lengths: bool = False, begin: bool = False, peepholes: bool = False, opset: int = 17, **attrs):
    """A model of one layer on X of free length and batch; weights are stored."""
    rng, count = np.random.default_rng(1), 2 if attrs.get("direction") == "bidirectional" else 1
    rows = GATES[kind] * H
    stored = {"W": (count, rows, C), "R": (count, rows, H), "B": (count, 2 * rows)} | (
        {"P": (count, 3 * H)} if peepholes else {}
    )
    weights = {n: rng.uniform(-1, 1, s).astype(np.float32) for n, s in stored.items()}
    batched = attrs.get("layout", 0)
    state = ["n", count, H] if batched else [count, "n", H]
    states = ["initial_h", "initial_c"][: 1 + (kind == "LSTM")] if begin else []
    infos = [helper.make_tensor_value_info("X", 1, ["n", "t", C] if batched else ["t", "n", C])]
    infos += [helper.make_tensor_value_info("sequence_lens", onnx.TensorProto.INT32, ["n"])] * lengths
    infos += [helper.make_tensor_value_info(n, 1, state) for n in states]
    wanted = ["X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"][: 8 if kind == "LSTM" else 6]
    there = {i.name for i in infos} | set(weights)
    outputs = ["Y", "Y_h", "Y_c"][: 2 + (kind == "LSTM")]
    node = helper.make_node(kind, [n if n in there else "" for n in wanted], outputs, hidden_size=H, **attrs)
    results = [helper.make_tensor_value_info(n, 1, None) for n in outputs]
    kept = [numpy_helper.from_array(w, n) for n, w in weights.items()]
    graph = helper.make_graph([node], "graph", infos, results, kept)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def feeds(model: onnx.ModelProto, steps: int, batch: int) -> dict[str, np.ndarray]:
    rng, sizes = np.random.default_rng(steps), {"t": steps, "n": batch}
    found = {}
    for info in model.graph.input:
        shape = [d.dim_value or sizes[d.dim_param] for d in info.type.tensor_type.shape.dim]
        found[info.name] = rng.uniform(-1, 1, shape).astype(np.float32)
        if info.name == "sequence_lens":
            found[info.name] = np.array([steps, *range(1, batch)], np.int32)
    return found


def used(found: Imported) -> set[str]:
    return {n.op.name for n in found.graph.nodes if n.op is not None}


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("opset", [7, 17])
def test_plain_layers_are_mxnets(kind: str, direction: str, opset: int) -> None:
    attrs = {"linear_before_reset": 1} if kind == "GRU" else {}
    model = layer(kind, begin=direction != "reverse", direction=direction, opset=opset, **attrs)
    found = agree(model, feeds(model, 4, 3), feeds(model, 6, 2), rtol=1e-5)
    assert "RNN" in used(found)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_lengths(kind: str, direction: str) -> None:
    model = layer(kind, lengths=True, begin=True, direction=direction)
    found = agree(model, feeds(model, 4, 3), feeds(model, 6, 4), rtol=1e-5)
    assert f"_onnx_{kind}" in used(found)


@pytest.mark.parametrize(
    ("kind", "attrs"),
    [
        ("GRU", {}),
        ("GRU", {"clip": 0.3, "linear_before_reset": 1}),
        ("RNN", {"clip": 0.3}),
        ("RNN", {"activations": ["LeakyRelu"], "activation_alpha": [0.2]}),
        (
            "RNN",
            {
                "activations": ["Affine", "Relu"],
                "activation_alpha": [0.2],
                "activation_beta": [0.1],
                "direction": "bidirectional",
            },
        ),
        (
            "GRU",
            {
                "activations": ["HardSigmoid", "ScaledTanh"],
                "activation_alpha": [0.3, 0.7],
                "activation_beta": [0.4, 0.9],
            },
        ),
        ("LSTM", {"peepholes": True, "clip": 0.4, "direction": "bidirectional"}),
        ("LSTM", {"peepholes": True, "input_forget": 1}),
        ("LSTM", {"activations": ["Sigmoid", "Elu", "Softsign"], "activation_alpha": [0.6]}),
        ("LSTM", {"activations": ["HardSigmoid", "Softplus", "ThresholdedRelu"], "activation_alpha": [0.2, 0.1]}),
    ],
)
def test_what_mxnet_has_no_word_for(kind: str, attrs: dict) -> None:
    model = layer(kind, begin=True, **attrs)
    found = agree(model, feeds(model, 4, 3), feeds(model, 6, 2), rtol=1e-5)
    assert f"_onnx_{kind}" in used(found)


USUAL = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}


@pytest.mark.parametrize("kind", USUAL)
def test_one_thing_that_differs_makes_it_another_layer(kind: str) -> None:
    """One activation of either direction, or one attribute: each alone."""
    usual, plain = USUAL[kind] * 2, {"linear_before_reset": 1} if kind == "GRU" else {}
    rows = [{"activations": [*usual[:i], "Softsign", *usual[i + 1 :]]} for i in range(len(usual))] + [{"clip": 0.3}]
    rows += {"RNN": [], "GRU": [{"linear_before_reset": 0}], "LSTM": [{"input_forget": 1}, {"peepholes": True}]}[kind]
    for attrs in rows:
        model = layer(kind, begin=True, direction="bidirectional", **{**plain, **attrs})
        found, given = converters.import_model(model), feeds(model, 4, 3)
        assert f"_onnx_{kind}" in used(found), attrs
        for got, want in zip(run_model(model, given), by_onnxruntime(model, given), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=str(attrs))
    for activations in (usual, [a.lower() for a in usual]):
        model = layer(kind, direction="bidirectional", activations=activations, **plain)
        assert "RNN" in used(converters.import_model(model))


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("lengths", [False, True])
def test_batch_first(kind: str, lengths: bool) -> None:
    """onnxruntime refuses layout 1: the same layer with the axes the other way round says what is right."""
    first, model = (layer(kind, lengths, True, direction="bidirectional", layout=n) for n in (1, 0))
    for steps, batch in ((4, 3), (6, 2)):
        given = feeds(model, steps, batch)
        turned = {n: a.swapaxes(0, 1) if a.ndim == 3 else a for n, a in given.items()}
        y, *last = run_model(first, turned)
        want, *ends = run_model(model, given)
        np.testing.assert_array_equal(y, want.transpose(2, 0, 1, 3))
        for one, other in zip(last, ends, strict=True):
            np.testing.assert_array_equal(one, other.swapaxes(0, 1))


def test_a_sequence_without_steps_ends_in_zeros() -> None:
    """As in onnxruntime 1.31; in 1.18 an RNN ends in its initial state."""
    model = layer("LSTM", lengths=True, begin=True)
    given = feeds(model, 4, 2) | {"sequence_lens": np.array([0, 4], np.int32)}
    for array in run_model(model, given):
        assert not array[..., 0, :].any()
        assert array[..., 1, :].all()


def test_weights_that_do_not_fit() -> None:
    model = layer("LSTM", direction="bidirectional")
    next(a for a in model.graph.node[0].attribute if a.name == "direction").s = b"forward"
    with pytest.raises(converters.UnsupportedModel, match="differ"):
        converters.import_model(model)


@pytest.mark.parametrize("kind", USUAL)
def test_the_first_version_says_whether_every_step_is_wanted(kind: str) -> None:
    """An activation at every step or at the last alone: its outputs say so too."""
    new = layer(kind)
    given = feeds(new, 4, 2)
    for wanted in (0, 1):
        for got, want in zip(
            run_model(layer(kind, opset=1, output_sequence=wanted), given), run_model(new, given), strict=True
        ):
            np.testing.assert_array_equal(got, want)
