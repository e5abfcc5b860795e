"""verify: verdicts, the first diverging node, local and accumulated error."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import bridge
import hybrid as mx
from bridge.compare import compare
from converters.forms import Forms
from hybrid.core.op import Spec
from tests.bridge.repros import Repro
from tests.models.networks import FOLDER, networks

NETWORK = next(n for n in networks() if n.name == "lenet")
INPUTS = NETWORK.runs()[0][0]


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> str:
    target = tmp_path_factory.mktemp("onnx") / "net.onnx"
    bridge.convert(NETWORK.prefix, inputs=INPUTS, output=target)
    return str(target)


def test_symbol_against_onnx(converted: str) -> None:
    result = bridge.verify(NETWORK.prefix, converted, runs=3)
    assert result.equivalent
    assert [r["kind"] for r in result.runs] == ["expected"] * 3 + ["wide", "edges"]  # the file has a fixed size
    assert result.divergence is None
    (difference,) = result.differences
    assert 0 <= difference.max_rel < 1e-5
    assert difference.cosine > 0.999999


def test_symbol_against_itself_and_onnx_against_itself(converted: str) -> None:
    assert bridge.verify(NETWORK.prefix, NETWORK.prefix, inputs=INPUTS).equivalent
    assert bridge.verify(converted, converted).equivalent


def test_given_inputs_are_used(converted: str) -> None:
    result = bridge.verify(NETWORK.prefix, converted, inputs=INPUTS)
    assert result.runs[0]["seed"] is None


@pytest.mark.parametrize(("value", "told"), [(np.nan, "1 NaN"), (-np.inf, "1 infinite"), (0.0, "")])
def test_numbers_that_are_none_are_told_wherever_they_are_given(value: float, told: str, tmp_path: Path) -> None:
    """Beside another model, beside a recording, in a conversion, in a file on 8-bit integers: what follows from them is the same
    on both sides, whatever these do."""
    x, weight = mx.sym.var("x"), np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    net = bridge.open_model(mx.sym.FullyConnected(x, num_hidden=3, no_bias=True, name="fc"), {"fc_weight": weight})
    array = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    array[1, 2] = value
    np.savez(tmp_path / "x.npz", x=array)
    words = f"input x ({{}}) holds {told} of 20 numbers: what comes of these says nothing of the models"
    bridge.convert(net, inputs={"x": (5, 4)}, output=tmp_path / "net.onnx")
    bridge.convert_in(bridge.Quantized(), net, inputs={"x": (5, 4)}, output=tmp_path / "int8.onnx")
    bridge.record(net, {"x": array}, tmp_path / "truth.npz")
    for found, origin in (
        (bridge.verify(net, tmp_path / "net.onnx", inputs=tmp_path / "x.npz"), "from x.npz"),
        (bridge.verify(net, tmp_path / "net.onnx", inputs={"x": array}), "given"),
        (bridge.verify(net, expected=tmp_path / "truth.npz"), ""),
        (bridge.convert(net, inputs={"x": array}), "given"),
        (bridge.verify(net, tmp_path / "int8.onnx", inputs={"x": array}, tolerance=None), "given"),
    ):
        said = [w for w in found.warnings if "numbers: what comes of these" in w]
        assert len(said) == bool(told)
        assert not told or not origin or said == [words.format(origin)]


def changed_weight(path: str, factor: float) -> tuple[onnx.ModelProto, str]:
    """The model with the second weight scaled, and the name of the node that uses it."""
    model = onnx.load(path)
    weights = [i for i in model.graph.initializer if i.name.endswith("_weight")]
    tensor = weights[1]
    array = onnx.numpy_helper.to_array(tensor) * np.float32(factor)
    tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    node = next(n for n in model.graph.node if tensor.name in n.input)
    return model, node.name


def test_the_node_with_a_changed_weight_is_named(converted: str) -> None:
    model, node = changed_weight(converted, 1.01)
    result = bridge.verify(NETWORK.prefix, model, inputs=INPUTS)
    assert not result.equivalent
    assert result.divergence is not None
    assert result.divergence.node == node
    assert result.divergence.kind == "local"
    assert result.divergence.inputs


def test_onnx_against_onnx_names_the_node_too(converted: str) -> None:
    model, node = changed_weight(converted, 1.01)
    result = bridge.verify(converted, model)
    assert result.divergence is not None
    assert result.divergence.node == node


def test_parameters_belong_to_the_symbol_on_whichever_side(converted: str) -> None:
    """A file, a message or its bytes have their own; two of them have no use for any."""
    symbol, params = mx.sym.load(f"{NETWORK.prefix}-symbol.json"), f"{NETWORK.prefix}-0000.params"
    proto = onnx.load(converted)
    for model in (converted, Path(converted), proto, proto.SerializeToString()):
        for pair in ((symbol, model), (model, symbol)):
            assert bridge.verify(*pair, params=params, inputs=INPUTS).equivalent
    with pytest.raises(bridge.BadInput, match="an ONNX file holds its parameters"):
        bridge.verify(converted, converted, params=params)


def test_accumulated_error_is_told_from_local(converted: str) -> None:
    """Under a tolerance that rounding breaks somewhere, nodes that are right alone are not called wrong."""
    result = bridge.verify(NETWORK.prefix, converted, inputs=INPUTS, tolerance=(1e-9, 0))
    if result.divergence is not None and result.divergence.local is not None:
        assert (result.divergence.kind == "accumulated") == result.divergence.local.equal


def test_unknown_input_names(converted: str) -> None:
    with pytest.raises(bridge.BadInput, match="got input 'image'"):
        bridge.verify(NETWORK.prefix, converted, inputs={"image": Spec((1, 2))})


class TestCompare:
    def test_within_and_beyond(self) -> None:
        want = np.linspace(-10, 10, 100, dtype=np.float32)
        assert compare("x", want + np.float32(4e-6), want).equal  # of a vector each element is a channel of its own
        far = compare("x", want + np.float32(5e-3), want)
        assert not far.equal
        assert far.max_abs == pytest.approx(5e-3, rel=1e-2)
        assert far.max_rel == pytest.approx(5e-4, rel=1e-2)

    def test_nan_and_infinity_have_to_be_at_the_same_places(self) -> None:
        want = np.array([1, np.nan, np.inf, -np.inf], np.float32)
        assert compare("x", want.copy(), want).equal
        for place, value in ((0, np.nan), (1, 1.0), (2, -np.inf), (3, 0.0)):
            got = want.copy()
            got[place] = value
            result = compare("x", got, want)
            assert not result.equal
            assert "NaN or infinity" in result.reason

    def test_shape_and_dtype(self) -> None:
        want = np.zeros((2, 3), np.float32)
        assert "shape" in compare("x", want.T, want).reason
        assert "dtype" in compare("x", want.astype(np.float64), want).reason

    def test_integers_are_exact(self) -> None:
        want = np.arange(5)
        assert compare("x", want.copy(), want).equal
        assert compare("x", want + 1, want).reason == "5 of 5 differ"

    def test_zeros(self) -> None:
        want = np.zeros(4, np.float32)
        assert compare("x", want.copy(), want).equal
        assert compare("x", want.copy(), want).constant
        assert not compare("x", want + np.float32(1e-3), want).equal

    def test_saturated(self) -> None:
        want = np.eye(3, dtype=np.float32)
        assert compare("x", want.copy(), want).saturated
        assert not compare("x", want * 0.9, want * 0.9).saturated
        assert not compare("x", np.ones(3, np.float32), np.ones(3, np.float32)).saturated

    def test_empty(self) -> None:
        assert compare("x", np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)).equal


# -- reproductions of nodes with several outputs ---------------------------------------------------------------------------

X = mx.sym.var("x")
SEVERAL: dict[str, tuple[Any, int]] = {
    "SliceChannel": (mx.sym.SliceChannel(X, num_outputs=3, axis=1, name="node"), 3),
    "topk": (mx.sym.topk(X, k=2, ret_typ="both", name="node"), 2),
    "moments": (mx.sym.moments(X, axes=(1,), name="node"), 2),
    "LayerNorm": (mx.sym.LayerNorm(X, name="node", output_mean_var=True), 3),
    "BatchNorm": (mx.sym.BatchNorm(X, name="node", fix_gamma=False, output_mean_var=True), 3),
    "RNN": (mx.sym.RNN(X, state_size=4, num_layers=1, mode="lstm", state_outputs=True, name="node"), 3),
}


@pytest.mark.parametrize(("kind", "place"), [(k, i) for k, (_, count) in SEVERAL.items() for i in range(count)])
def test_a_reproduction_is_of_the_output_that_differs(kind: str, place: int, tmp_path: Path) -> None:
    """The ONNX model gives half more of one output; the folder shows that one, whichever of the node's it is."""
    symbol = SEVERAL[kind][0]
    rng = np.random.default_rng(place)
    shapes, _, states = symbol.infer_shape(x=(5, 6, 4))
    names = [*symbol.list_arguments(), *symbol.list_auxiliary_states()]
    arrays = {n: rng.uniform(0.2, 1, s).astype(np.float32) for n, s in zip(names, [*shapes, *states], strict=True)}
    params = {n: a for n, a in arrays.items() if n.endswith(("gamma", "beta", "mean", "var", "parameters"))}
    feeds = {n: a for n, a in arrays.items() if n not in params}
    kept = Forms(keep_graph=True)  # each output is made from the inputs alone, and none from another
    bridge.convert(symbol, params, inputs=feeds, output=tmp_path / "right.onnx", forms=kept)
    model, right = onnx.load(tmp_path / "right.onnx"), bridge.run(tmp_path / "right.onnx", feeds)
    name = symbol.list_outputs()[place]
    for node in model.graph.node:
        node.output[:] = ["right" if o == name else o for o in node.output]
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(1.5, np.float32), "more"))
    model.graph.node.append(onnx.helper.make_node("Mul", ["right", "more"], [name]))
    result = bridge.verify(symbol, model, params=params, inputs=feeds, repro=tmp_path / "found")
    assert result.divergence is not None
    assert (result.divergence.tensor, result.divergence.node) == (name, "node")
    folder = tmp_path / "found"
    found = Repro(folder)
    assert list(found.want) == [name]
    assert found.want[name].ndim == right[name].ndim
    np.testing.assert_allclose(found.ours(), found.want[name], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.theirs(), found.want[name] * 1.5, rtol=1e-5, atol=1e-6)


def test_every_network_folder_is_seen() -> None:
    assert len(networks()) == len(list(FOLDER.glob("*/model-symbol.json")))
