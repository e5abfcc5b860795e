"""Lowerings: the same numbers by operators that more engines have, in the shapes and dtypes that they have them for."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

import converters
from bridge.targets.check import problems
from bridge.targets.profile import profile_of
from converters.forms import LOWERINGS, Forms
from hybrid import symbol as sym
from hybrid.core.op import Spec
from hybrid.execution.program import Program
from tests.table.goldens import run_onnx

OLD = profile_of("opencv-4.6")
SHAPES = (
    ((2, 3, 4), (2, 1, 4)), ((2, 3, 4), (1, 3, 1)), ((2, 1, 4), (1, 3, 1)), ((2, 3), (2, 1)), ((4,), (1,)), ((4,), (4,)),
    ((2, 3, 4), (1, 1, 1)), ((1, 3, 1), (2, 3, 4)), ((2, 2, 2), (1, 1, 2)), ((2, 2, 2), (2, 2, 2)), ((3, 1), (1, 4)),
    ((2, 3, 2, 3, 2, 2), (2, 3, 2, 3, 2, 2)), ((2, 3, 2, 3), (1, 3, 1, 3)), ((2, 2, 3, 3), (1, 2, 1, 1)),
)  # fmt: skip
PLAIN = ("broadcast_add", "broadcast_sub", "broadcast_mul", "broadcast_div", "broadcast_maximum", "broadcast_minimum")


def draw(*shape: int, seed: int = 1) -> np.ndarray:
    """Numbers of either sign, none of them near 0."""
    signs = np.where(np.arange(np.prod(shape)) % 3, 1, -1).reshape(shape)
    return (np.random.default_rng(seed).uniform(0.25, 2, shape) * signs).astype(np.float32)


def both(
    net: Any, params: dict[str, np.ndarray], opset: int = 10, lowered: Any = OLD.forms["lowered"], **feeds: Any
) -> onnx.ModelProto:
    """The network as it is written for OpenCV 4.6, after its numbers were compared with our engine's."""
    shapes = {n: a.shape for n, a in feeds.items()}
    model = converters.to_onnx(net, params, shapes, opset, forms=Forms(nan_guards=False, lowered=tuple(lowered)))
    onnx.checker.check_model(model, full_check=True)
    want = Program(net._graph if hasattr(net, "_graph") else net.graph).run(params | feeds)
    used = {i.name for i in model.graph.input}
    for got, right in zip(run_onnx(model, {n: a for n, a in feeds.items() if n in used}), want, strict=True):
        np.testing.assert_allclose(got, right, rtol=2e-6, atol=2e-6 * max(1.0, float(np.abs(right).max(initial=0))))
    return model


def fits(model: onnx.ModelProto) -> None:
    assert problems(OLD, model) == []


@pytest.mark.parametrize(("first", "second"), SHAPES)
def test_operands_of_all_shapes(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    for name in PLAIN:
        net = getattr(sym, name)(sym.Variable("x"), sym.Variable("y"))
        fits(both(net, {}, x=draw(*first), y=draw(*second, seed=2)))


@pytest.mark.parametrize(("first", "second"), SHAPES)
def test_constants_on_either_side(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    for name, turned in itertools.product(PLAIN[:4], (False, True)):
        x, c = sym.Variable("x"), sym.Variable("c")
        net = getattr(sym, name)(c, x) if turned else getattr(sym, name)(x, c)
        fits(both(net, {"c": draw(*second, seed=2)}, x=draw(*first)))


X = np.array([[-2, 0, 0.5, 1], [3, 0.5, -1, 0]], np.float32)
Y = np.array([[-2, 1, 0.5, 0], [0, 0.25, -1, 4]], np.float32)


@pytest.mark.parametrize(
    "name",
    [
        "equal",
        "not_equal",
        "greater",
        "greater_equal",
        "lesser",
        "lesser_equal",
        "logical_and",
        "logical_or",
        "logical_xor",
    ],
)
def test_truths_are_numbers(name: str) -> None:
    compared = getattr(sym, f"broadcast_{name}")(sym.Variable("x"), sym.Variable("y"))
    net = sym.where(compared, sym.Variable("x") * 2, sym.Variable("y") - 1)
    model = both(net, {}, x=X, y=Y)
    fits(model)
    assert not {"Where", "Not", "And", "Or", "Less", "Greater", "Equal"} & {n.op_type for n in model.graph.node}


def test_what_may_be_infinite_is_not_left_out_by_a_product() -> None:
    """0 times infinity is NaN: such a choice stays, and the profile says that it has no Where."""
    x = sym.Variable("x")
    net = sym.where(x > 0, sym.log(x), x)
    model = converters.to_onnx(net, {}, {"x": X.shape}, 10, forms=OLD.as_forms())
    assert "Where" in {p.operator for p in problems(OLD, model)}


def test_lookups_are_products_with_one_hot_rows() -> None:
    table = draw(7, 5)
    net = sym.Embedding(sym.Variable("i"), sym.Variable("w"), input_dim=7, output_dim=5)
    model = both(net, {"w": table}, i=np.array([[0, 6, 3], [2, 2, 5]], np.float32))
    fits(model)
    assert "Gather" not in {n.op_type for n in model.graph.node}
    moved = sym.take(sym.Variable("x"), sym.Variable("p"), axis=1)
    fits(both(moved, {"p": np.array([3, 1, 2, 0], np.float32)}, x=draw(2, 4, 3)))


def test_powers_stand_apart_from_numbers_behind_them() -> None:
    x = sym.Variable("x")
    fits(both((x**3) * 0.04 + x * x, {}, x=draw(2, 3)))
    fits(both(sym.abs(x) ** 1.5 * 3 + 2 / (x * x + 1) * 5, {}, x=draw(2, 3)))


def test_products_of_computed_tensors_stand_apart_from_activations() -> None:
    product = sym.batch_dot(sym.Variable("x"), sym.Variable("y"))
    fits(both(sym.relu(product) * 0.5, {}, x=draw(2, 3, 4), y=draw(2, 4, 5)))
    fits(both(product / 3, {}, x=draw(2, 3, 4), y=draw(2, 4, 5)))


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("lengths", [False, True])
def test_recurrences_step_by_step(mode: str, bidirectional: bool, lengths: bool) -> None:
    names = {"data": "x", "parameters": "p", "state": "h"}
    names |= {"state_cell": "c"} if mode == "lstm" else {}
    names |= {"sequence_length": "n"} if lengths else {}
    net = sym.RNN(
        **{k: sym.Variable(n) for k, n in names.items()}, state_size=3, num_layers=1, mode=mode, bidirectional=bidirectional,
        state_outputs=True,        use_sequence_length=lengths,
    )  # fmt: skip
    gates, ways = {"lstm": 4, "gru": 3}.get(mode, 1), 1 + bidirectional
    size = ways * gates * (3 * 4 + 3 * 3 + 2 * 3)
    feeds = {"x": draw(5, 2, 4), "h": draw(ways, 2, 3), "c": draw(ways, 2, 3), "n": np.array([3, 5], np.float32)}
    lowered = ("recurrences",)
    model = both(net, {"p": draw(size) / 2}, 13, lowered, **{n: feeds[n] for n in names.values() if n != "p"})
    assert not {"LSTM", "GRU", "RNN"} & {n.op_type for n in model.graph.node}


@pytest.mark.parametrize("p", [1, 2, 3])
def test_pooling_by_norms(p: int) -> None:
    shared = {"pool_type": "lp", "p_value": p}
    for more in ({"kernel": (2, 3), "stride": (2, 1), "pad": (1, 1)}, {"kernel": (1, 1), "global_pool": True}):
        model = both(sym.Pooling(sym.Variable("x"), **shared, **more), {}, 13, ("pools",), x=draw(2, 3, 6, 7))
        assert not {"LpPool", "GlobalLpPool"} & {n.op_type for n in model.graph.node}


CASES: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "a sequence": (
        lambda x: sym.Convolution(x, sym.Variable("w"), kernel=(3,), num_filter=2, pad=(2,), dilate=(2,), no_bias=True),
        (2, 3, 9),
    ),
    "pooling of a sequence": (lambda x: sym.Pooling(x, kernel=(3,), stride=(2,), pad=(1,), pool_type="max"), (2, 3, 9)),
    "instances": (lambda x: sym.InstanceNorm(x, sym.Variable("g"), sym.Variable("b")), (2, 3, 5, 4)),
    "backwards": (lambda x: sym.reverse(x, axis=(1,)), (2, 4, 3)),
    "parts": (lambda x: sym.slice(x, begin=(0, 3), end=(2, None), step=(1, -2)), (2, 4, 3)),
    "axes": (lambda x: sym.expand_dims(sym.squeeze(sym.slice_axis(x, axis=1, begin=0, end=1), axis=1), axis=0), (2, 4, 3)),
    "tiles": (lambda x: sym.tile(x, reps=(2, 1, 3)), (2, 2, 3)),
    "repeats": (lambda x: sym.broadcast_to(sym.sum(x, axis=1, keepdims=True), shape=(2, 4, 3)), (2, 2, 3)),
    "clip": (lambda x: sym.clip(x, -0.5, 0.75), (2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_forms_of_shapes(name: str) -> None:
    make, shape = CASES[name]
    params = {"w": draw(2, 3, 3), "g": draw(3), "b": draw(3, seed=4)}
    net = make(sym.Variable("x"))
    used = {n: a for n, a in params.items() if n in net.list_arguments()}
    fits(both(net, used, x=draw(*shape)))


def test_a_clip_with_bounds_as_inputs() -> None:
    for low, high in ((0, 1), (-0.5, 0.75), (0, 6)):
        model = both(sym.clip(sym.Variable("x"), low, high), {}, 11, x=draw(2, 3) * 4)
        assert "Clip" not in {n.op_type for n in model.graph.node}


def test_only_what_is_asked_for() -> None:
    net = sym.broadcast_add(sym.Variable("x"), sym.Variable("y"))
    kinds = Counter(n.op_type for n in both(net, {}, 13, (), x=draw(2, 3, 1), y=draw(2, 1, 4)).graph.node)
    assert kinds == {"Add": 1}
    with pytest.raises(ValueError, match="lowered: got 'nothing', wanted some of recurrences"):
        Forms(lowered=("nothing",))
    assert set(OLD.forms["lowered"]) <= set(LOWERINGS)


def again(
    text: str, lowered: tuple[str, ...], feeds: dict[str, np.ndarray], opset: int = 13, **constants: Any
) -> set[str]:
    """The operators of an ONNX graph in the lowered forms, whose numbers are compared with those of the graph itself."""
    made = onnx.parser.parse_model(f'<ir_version: 7, opset_import: ["": {opset}]> {text}')
    made.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items())
    shapes = {n: Spec(a.shape, a.dtype) for n, a in feeds.items()}
    net, params, _ = converters.from_onnx(made)
    forms = Forms(nan_guards=False, lowered=lowered)
    model = converters.to_onnx(net, params, shapes, opset, forms=forms)
    onnx.checker.check_model(model, full_check=True)
    for got, right in zip(run_onnx(model, feeds), run_onnx(made, feeds), strict=True):
        assert got.dtype == right.dtype
        np.testing.assert_allclose(got, right, rtol=1e-6, atol=1e-6)
    return {n.op_type for n in model.graph.node}


HALVES = np.array([[-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, -0.49999997, 8388609, -1e-9, np.inf, -np.inf, np.nan]])


def test_rounding_to_the_even_neighbour_without_round() -> None:
    feeds = {"x": HALVES.astype(np.float32)}
    assert "Round" not in again("g (float[1,13] x) => (float[1,13] y) { y = Round(x) }", ("rounds",), feeds)


@pytest.mark.parametrize(
    "which", ["IsNaN(x)", "IsInf(x)", "IsInf<detect_negative=0>(x)", "IsInf<detect_positive=0>(x)"]
)
def test_special_numbers_by_comparisons(which: str) -> None:
    text = f"g (float[1,13] x) => (float[1,13] y) {{ t = {which} u = Cast<to=1>(t) y = Add(u, u) }}"
    assert not {"IsNaN", "IsInf"} & again(text, ("nans", "infinities"), {"x": HALVES.astype(np.float32)})


def test_gathering_in_batches_by_places_that_name_them() -> None:
    feeds = {"x": draw(2, 5, 3), "i": np.array([[[0], [4], [-1]], [[2], [2], [1]]])}
    text = "g (float[2,5,3] x, int64[2,3,1] i) => (float[2,3,3] y) { y = GatherND<batch_dims=1>(x, i) }"
    assert again(text, ("batches",), feeds) == {"Concat", "GatherND"}


def test_states_of_a_gru_that_has_none() -> None:
    text = 'g (float[4,2,3] x) => (float[4,2,2,5] y) { y = GRU<direction="bidirectional",hidden_size=5>(x, w, r) }'
    weights = {"w": draw(2, 15, 3), "r": draw(2, 15, 5, seed=2)}
    made = onnx.parser.parse_model(f'<ir_version: 7, opset_import: ["": 13]> {text}')
    assert "no state of 2 sequences in 2 directions" in str(problems(profile_of("opencv"), made)[0])
    assert "GRU" in again(text, ("starts",), {"x": draw(4, 2, 3)}, **weights)


def test_greatest_of_small_integers_as_floats() -> None:
    feeds = {"x": np.random.default_rng(3).integers(-128, 128, (1, 2, 6, 6)).astype(np.int8)}
    text = "g (int8[1,2,6,6] x) => (int8[1,2,3,3] y) { y = MaxPool<kernel_shape=[2,2],strides=[2,2]>(x) }"
    assert again(text, ("maxima",), feeds) == {"Cast", "MaxPool"}


def test_a_constant_of_more_axes_before_a_tensor() -> None:
    text = "g (float[1,2,4,5] x) => (float[1,2,3,5] y) { y = MatMul(a, x) }"
    model = onnx.parser.parse_model(f'<ir_version: 5, opset_import: ["": 10]> {text}')
    model.graph.initializer.append(onnx.numpy_helper.from_array(draw(1, 3, 4), "a"))
    assert "takes no constant as input 0" in str(problems(OLD, model)[0])
    again(text, OLD.forms["lowered"], {"x": draw(1, 2, 4, 5)}, 10, a=draw(1, 3, 4))


@pytest.mark.parametrize("n", [-2, 1, 2, 3, 4, 5, 7, 8])
def test_whole_powers_as_products(n: int) -> None:
    text = "g (float[2,3] x) => (float[2,3] y) { y = Pow(x, n) }"
    assert "Pow" not in again(text, ("powers",), {"x": draw(2, 3)}, n=np.float32(n))
    made = onnx.parser.parse_model(f'<ir_version: 7, opset_import: ["": 13]> {text}')
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.float32(n), "n"))
    assert "a power by a whole number" in str(problems(profile_of("ncnn"), made)[-1])


@pytest.mark.parametrize("by", [-0.75, 0.75])
def test_remainders_with_the_sign_of_c(by: float) -> None:
    text = (
        "g (float[2,3] x, float[2,3] z) => (float[2,3] y, float[2,3] w) { y = Mod<fmod=1>(x, k) w = Mod<fmod=1>(k, z) }"
    )
    kinds = again(text, ("remainders",), {"x": draw(2, 3) * 4, "z": draw(2, 3, seed=2) / 9}, k=np.float32(by))
    assert "Abs" in kinds


def test_nodes_read_constants_themselves_where_an_output_is_one() -> None:
    text = "g (float[2,3] x) => (float[2,3] k, float[2,3] y) { k = Reshape(c, s) y = Mul(x, k) }"
    made = onnx.parser.parse_model(f'<ir_version: 5, opset_import: ["": 10]> {text}')
    stored = {"c": draw(6), "s": np.array([2, 3])}
    made.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in stored.items())
    net, params, _ = converters.from_onnx(made)
    written = converters.to_onnx(net, params, {"x": (2, 3)}, 10, forms=OLD.as_forms())
    (product,) = (n for n in written.graph.node if n.op_type == "Mul")
    assert {i.name for i in written.graph.initializer} & set(product.input)


def test_mnn_is_asked_for_no_nan_in_other_words() -> None:
    """Measured with MNN 3.6.1: Equal(x, x) is true of NaN, and places below 0 are left out of ScatterElements."""
    text = "g (float[1,3] x) => (bool[1,3] t) { t = IsNaN(x) }"
    assert "IsNaN" in again(text, profile_of("mnn").forms["lowered"], {"x": draw(1, 3)})
    text = "g (float[1,3] x, float[1,1] u) => (float[1,3] y) { y = ScatterElements<axis=1>(x, i, u) }"
    made = onnx.parser.parse_model(f'<ir_version: 7, opset_import: ["": 13]> {text}')
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.array([[-1]]), "i"))
    assert "places that count from the end" in str(problems(profile_of("mnn"), made)[0])


def test_the_direction_of_sums_is_said() -> None:
    """onnx2torch 1.5.15 takes an absent reverse for 1: the sums come out from the other end."""
    text = "g (float[2,7] x) => (float[2,7] y) { y = CumSum(x, k) }"
    made = onnx.parser.parse_model(f'<ir_version: 7, opset_import: ["": 13]> {text}')
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.int64(1), "k"))
    assert "it takes for reverse=1" in str(problems(profile_of("onnx2torch"), made)[0])
    net, params, _ = converters.from_onnx(made)
    forms = Forms(nan_guards=False, lowered=profile_of("onnx2torch").forms["lowered"])
    written = converters.to_onnx(net, params, {"x": Spec((2, 7), np.dtype(np.float32))}, 13, forms=forms)
    assert problems(profile_of("onnx2torch"), written) == []
    x = draw(2, 7)
    np.testing.assert_allclose(run_onnx(written, {"x": x})[0], np.cumsum(x, 1), rtol=1e-5, atol=1e-6)
