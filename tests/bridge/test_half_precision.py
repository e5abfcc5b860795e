"""Networks in half precision as users hold them: bfloat16 by AMP, float16 inside with parameters stored otherwise."""

from pathlib import Path

import numpy as np
import pytest

import bridge
import hybrid as mx
from bridge.exact import Exact
from hybrid.contrib import amp
from tests.asked.precision import NETS
from tests.asked.questions import numbers

S = mx.sym
SHAPE = (2, 3, 8, 8)


def network(inside: str | None) -> mx.sym.Symbol:
    """A convolution with a norm, its maxima and a dense layer, computed in another dtype but for what is around them."""
    x = S.var("data")
    x = x if inside is None else S.amp_cast(x, dtype=inside)
    x = S.Convolution(x, kernel=(3, 3), num_filter=4, pad=(1, 1), no_bias=True, name="conv")
    x = S.Activation(S.BatchNorm(x, fix_gamma=False, name="norm"), act_type="relu")
    x = S.Pooling(x, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="max")
    x = S.FullyConnected(x, num_hidden=5, name="dense")
    return S.softmax(x if inside is None else S.amp_cast(x, dtype="float32"), name="scores")


def parameters(symbol: mx.sym.Symbol, **dtypes: str) -> dict[str, mx.nd.NDArray]:
    """By name, float32 but for those whose names begin so."""
    rng = np.random.default_rng(0)
    shapes, _, states = symbol.infer_shape(data=SHAPE)
    named = [*zip(symbol.list_arguments(), shapes), *zip(symbol.list_auxiliary_states(), states)]
    return {
        n: mx.nd.array(
            rng.uniform(0.5, 1, s) if n.startswith("norm") else rng.normal(0, 0.1, s),
            dtype=next((d for start, d in dtypes.items() if n.startswith(start)), "float32"),
        )
        for n, s in named
        if n != "data"
    }


def data() -> np.ndarray:
    return np.random.default_rng(1).normal(0, 1, SHAPE).astype(np.float32)


@pytest.mark.parametrize("opset", [13, 17, 21, 23])
@pytest.mark.parametrize("stored", ["float32", "bfloat16"])
def test_bfloat16_of_amp(stored: str, opset: int, tmp_path: Path) -> None:
    """onnxruntime has no kernel of most operators in bfloat16; before opset 22 ONNX has no such operators either."""
    symbol = network("bfloat16")
    params = parameters(symbol, conv=stored, dense=stored)
    result = bridge.convert(symbol, params, inputs={"data": SHAPE}, output=tmp_path / "m.onnx", opset=opset)
    assert result.verified
    got = bridge.run(str(tmp_path / "m.onnx"), {"data": data()})["scores_output"]
    want = bridge.run(symbol, {"data": data()}, params=params)["scores_output"]
    np.testing.assert_allclose(got, want, atol=2e-2)


def test_bfloat16_goes_in_and_comes_out(tmp_path: Path) -> None:
    symbol = S.Pooling(S.var("data") * 2, kernel=(2, 2), pool_type="max", name="pool")
    given = data().astype(mx.nd.array([0], dtype="bfloat16").dtype)
    bridge.convert(symbol, {}, inputs={"data": given}, output=tmp_path / "m.onnx")
    got = bridge.run(str(tmp_path / "m.onnx"), {"data": given})["pool_output"]
    assert got.dtype.name == "bfloat16"
    want = (2 * given.astype(np.float32)).reshape(2, 3, 4, 2, 4, 2)
    assert got.shape == (2, 3, 7, 7)
    assert (got[..., ::2, ::2].astype(np.float32) == want.max((3, 5))).all()


@pytest.mark.parametrize("inside", ["float16", "bfloat16"])
def test_parameters_are_cast_to_what_the_graph_computes_in(inside: str, tmp_path: Path) -> None:
    """As Module does when it binds what the symbol says and copies into it what a file holds."""
    symbol = network(inside)
    params = parameters(symbol)
    module = mx.mod.Module(symbol, ["data"], None)
    module.bind([("data", SHAPE)], for_training=False)
    split = [
        {n: params[n] for n in names if n in params}
        for names in (symbol.list_arguments(), symbol.list_auxiliary_states())
    ]
    module.set_params(*split)
    module.forward(mx.io.DataBatch([mx.nd.array(data())]), is_train=False)
    want = module.get_outputs()[0].asnumpy()
    assert (bridge.run(symbol, {"data": data()}, params=params)["scores_output"] == want).all()
    result = bridge.convert(symbol, params, inputs={"data": SHAPE}, output=tmp_path / "m.onnx")
    assert any(w.startswith("3 parameters were stored in another dtype") for w in result.warnings)
    got = bridge.run(str(tmp_path / "m.onnx"), {"data": data()})["scores_output"]
    np.testing.assert_allclose(got, want, atol=2.5e-3 if inside == "float16" else 2e-2)


def test_parameters_that_fit_stay_as_they_are() -> None:
    symbol = network(None)
    model = bridge.open_model(symbol, parameters(symbol, conv="float16"))
    assert model.cast == ("conv_weight",)  # the graph says nothing of float16: float32, exactly
    assert model.params["conv_weight"].dtype == np.float32
    whole = bridge.open_model(symbol, parameters(symbol, conv="float16", dense="float16"))
    assert whole.cast == ()


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("inside", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["residual", "encoder"])
def test_networks_that_amp_converts(name: str, inside: str, stored: bool, tmp_path: Path) -> None:
    """Casts of parameters round in float64 too, which decides where the two models round in other ways."""
    shapes = {"residual": {"data": (2, 3, 8, 8)}, "encoder": {"tokens": (2, 5), "types": (2, 5)}}[name]
    net = NETS[name][0](mx)
    arguments, _, states = net.infer_shape(**shapes)
    own = {n: mx.nd.array(numbers(*s, seed=i)) / 2 for i, (n, s) in enumerate(zip(net.list_arguments(), arguments))}
    given = {n: (a if n == "data" else a > 0).asnumpy() for n, a in own.items() if n in shapes}
    fed = {n: mx.nd.array(a) for n, a in given.items()}
    aux = {n: mx.nd.ones(s) for n, s in zip(net.list_auxiliary_states(), states)}
    weights = {n: a for n, a in own.items() if n not in shapes}
    made, args, states = amp.convert_model(net, weights, aux, inside, cast_optional_params=stored)
    target = tmp_path / "m.onnx"
    assert bridge.convert(made, {**args, **states}, inputs=given, output=target).verified
    got = bridge.run(str(target), given)
    for out, want in zip(made.list_outputs(), net.bind(mx.cpu(), {**own, **fed}, aux_states=aux).forward()):
        scale = np.abs(want.asnumpy()).max()
        np.testing.assert_allclose(got[out], want.asnumpy(), atol=(2e-3 if inside == "float16" else 2e-2) * scale)


def test_numbers_of_operators_are_of_half_precision_in_float64_too() -> None:
    """A scalar beside float16 is a float16 in every runtime; what float64 says of the network says it of that number."""
    x = np.linspace(-1, 1, 7).astype(np.float16)
    data = mx.sym.var("data")
    for net, want in (
        (data * 0.3, x.astype(np.float64) * float(np.float16(0.3))),
        (data + 0.7, x.astype(np.float64) + float(np.float16(0.7))),
        (mx.sym.clip(data, a_min=-0.3, a_max=0.7), np.clip(x.astype(np.float64), *map(float, np.float16([-0.3, 0.7])))),
    ):
        [found] = Exact(net.graph, {}).run({"data": x})
        assert found.dtype == np.float64
        assert np.abs(found - want).max() < 1e-7  # a runtime may hold the number in float32 on the way
    [found] = Exact((data * 0.3).graph, {}).run({"data": x.astype(np.float32)})
    assert np.array_equal(found, x.astype(np.float64) * 0.3)
