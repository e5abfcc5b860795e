"""Models that draw random numbers convert, but nothing is claimed of their equivalence."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import bridge
import hybrid as mx

SHAPE = (4, 50)


def noisy() -> mx.Symbol:
    data = mx.sym.var("data")
    return data + mx.sym.random.normal_like(data, scale=1e-9, name="noise")


def test_verification_is_refused_even_where_the_numbers_nearly_agree() -> None:
    with pytest.raises(bridge.BadInput, match=r"noise \(_random_normal_like\).*nothing can be said of equivalence"):
        bridge.convert(noisy(), {}, inputs={"data": SHAPE})


def test_without_verification_it_converts_and_says_so(tmp_path: Path) -> None:
    target = tmp_path / "noisy.onnx"
    result = bridge.convert(noisy(), {}, inputs={"data": SHAPE}, output=target, verify=False)
    assert not result.verified
    with pytest.raises(bridge.BadInput, match="noise"):
        bridge.verify(noisy(), str(target), inputs={"data": SHAPE})
    with pytest.raises(bridge.BadInput, match="RandomNormalLike"):
        bridge.verify(str(target), str(target))


def test_outputs_before_the_sampler_are_compared() -> None:
    data = mx.sym.var("data")
    doubled = mx.sym.broadcast_mul(data, data, name="square")
    both = mx.sym.Group([doubled, mx.sym.random.normal_like(doubled)])
    result = bridge.convert(both, {}, inputs={"data": SHAPE}, outputs=["square_output"])
    assert result.verified


def test_dropout_that_is_always_on_is_refused_and_other_dropout_is_not() -> None:
    data = mx.sym.var("data")
    with pytest.raises(bridge.BadInput, match="Dropout"):
        bridge.convert(mx.sym.Dropout(data, mode="always"), {}, inputs={"data": SHAPE})
    assert bridge.convert(mx.sym.Dropout(data) * 2, {}, inputs={"data": SHAPE}).verified


def test_what_draws_nothing_is_not_random() -> None:
    """A dropout that keeps everything, and a draw that no output follows from."""
    data = mx.sym.var("data")
    assert bridge.convert(mx.sym.Dropout(data, p=0, mode="always") * 2, {}, inputs={"data": SHAPE}).verified
    for training, drawn in ((None, "mask"), (False, "mask"), (False, ""), (True, "mask"), (True, "")):
        for noise in (False, True):
            model = dropping(training, drawn, noise)
            if training:
                with pytest.raises(bridge.BadInput, match=r"drop \(Dropout\)"):
                    bridge.verify(model, model)
            else:
                assert bridge.verify(model, model).equivalent


def dropping(training: bool | None, mask: str, noise: bool) -> onnx.ModelProto:
    """A model with a Dropout, and with noise that nothing reads."""
    flags = () if training is None else ("ratio", "training")
    nodes = [onnx.helper.make_node("Dropout", ["x", *flags], ["y", mask] if mask else ["y"], name="drop")]
    nodes += [onnx.helper.make_node("RandomNormalLike", ["y"], ["unread"])] if noise else []
    ends = [onnx.helper.make_tensor_value_info(n, 1, SHAPE) for n in ("x", "z")]
    stored = {"ratio": np.float32(0.5), "training": np.bool_(training)} if flags else {}
    graph = onnx.helper.make_graph(
        [*nodes, onnx.helper.make_node("Relu", ["y"], ["z"])], "g", ends[:1], ends[1:],
        [onnx.numpy_helper.from_array(np.asarray(v), n) for n, v in stored.items()],
    )  # fmt: skip
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)


def run(symbol: mx.Symbol, path: Path, inputs: dict[str, np.ndarray]) -> np.ndarray:
    bridge.convert(symbol, {}, inputs=inputs, output=path, verify=False)
    return ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, inputs)[0]


S = mx.sym.random
A, B = np.array([0.5, 2.0], np.float32), np.array([1.0, 3.0], np.float32)
CASES = {
    "uniform": (S.uniform(2, 5, shape=(20000,)), {}, 3.5, 9 / 12),
    "normal": (S.normal(1, 2, shape=(20000,), dtype="float64"), {}, 1, 4),
    "exponential": (S.exponential(3, shape=(20000,)), {}, 3, 9),
    "randint": (S.randint(-2, 3, shape=(20000,)), {}, 0, 2),
    "sample_uniform": (S.uniform(mx.sym.var("a"), mx.sym.var("b"), shape=20000), {"a": A, "b": B}, [0.75, 2.5], [1 / 48, 1 / 12]),
    "sample_normal": (S.normal(mx.sym.var("a"), mx.sym.var("b"), shape=20000), {"a": A, "b": B}, A, B**2),
    "sample_exponential": (mx.sym.sample_exponential(mx.sym.var("a"), shape=20000), {"a": A}, 1 / A, 1 / A**2),
    "multinomial": (
        S.multinomial(mx.sym.var("p"), shape=20000, get_prob=False),
        {"p": np.array([[0, 0.25, 0.75], [0.5, 0, 0.5]], np.float32)},
        [1.75, 1],
        [0.1875, 1],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_onnxruntime_draws_from_the_same_distribution(name: str, tmp_path: Path) -> None:
    symbol, inputs, mean, variance = CASES[name]
    drawn = run(symbol, tmp_path / "model.onnx", inputs).astype(np.float64)
    # five standard errors of the mean; the fourth moments of these are at most nine times the squared variance
    error = 5 * np.sqrt(np.asarray(variance) / 20000)
    assert np.all(np.abs(drawn.mean(-1) - mean) < error)
    assert np.all(np.abs(drawn.var(-1) / variance - 1) < 5 * np.sqrt(9 / 20000))
