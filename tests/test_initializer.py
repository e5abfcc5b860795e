"""Initializers: the numbers and texts are those of MXNet 1.9.1, random ones are held against their distribution."""

import json
import logging
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import init, nd
from hybrid.core.error import MXNetError
from hybrid.initializer import InitDesc


@pytest.fixture(autouse=True)
def seeded() -> None:
    mx.random.seed(11)


def filled(initializer: Any, desc: Any = "", shape: tuple[int, ...] = (2, 3), dtype: str = "float32") -> np.ndarray:
    """Array that the initializer makes of one of nines."""
    array = nd.full(shape, 9, dtype=dtype)
    initializer(desc if isinstance(desc, InitDesc) else InitDesc(desc or "x_weight"), array)
    return array.asnumpy()


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (init.Zero(), '["zero", {}]'),
        (init.One(), '["one", {}]'),
        (init.Constant(3), '["constant", {"value": 3}]'),
        (init.Constant(nd.array([1, 2])), '["constant", {"value": [1.0, 2.0]}]'),
        (init.Constant(np.array([1, 2.0])), '["constant", {"value": [1.0, 2.0]}]'),
        (init.Uniform(), '["uniform", {"scale": 0.07}]'),
        (init.Normal(), '["normal", {"sigma": 0.01}]'),
        (init.Orthogonal(), '["orthogonal", {"scale": 1.414, "rand_type": "uniform"}]'),
        (init.Xavier(), '["xavier", {"rnd_type": "uniform", "factor_type": "avg", "magnitude": 3}]'),
        (init.MSRAPrelu(), '["msraprelu", {"factor_type": "avg", "slope": 0.25}]'),
        (init.Bilinear(), '["bilinear", {}]'),
        (init.LSTMBias(2.0), '["lstmbias", {"forget_bias": 2.0}]'),
        (
            init.FusedRNN(None, 3, 2, "lstm"),
            '["fusedrnn", {"init": null, "num_hidden": 3, "num_layers": 2, "mode": "lstm", "bidirectional": false, '
            '"forget_bias": 1.0}]',
        ),
    ],
)
def test_dumps_and_back(made: Any, text: str) -> None:
    assert made.dumps() == text
    again = init.create(text)
    assert type(again) is type(made)
    assert again.dumps() == text
    assert again == made or isinstance(made, init.Constant)
    assert mx.sym.var("a", init=made).attr("__init__") == text


def test_create_takes_names_texts_dicts_and_objects() -> None:
    assert init.create("zeros") == init.create("Zero") == init.Zero()
    assert init.create("ones") == init.One() != init.Zero()
    assert init.create("constant", 3) == init.create("constant", value=3) == init.Constant(3)
    assert init.create({"initializer": "normal", "sigma": 0.5}) == init.create(
        '{"initializer": "normal", "sigma": 0.5}'
    )
    one = init.One()
    assert init.create(one) is one
    for wrong in ("foo", None, 3):
        with pytest.raises(AssertionError):
            init.create(wrong)
    with pytest.raises(AssertionError):
        init.create(one, 3)
    assert mx.initializer is mx.init


def test_registering_a_class() -> None:
    @init.register
    @init.alias("myinit", "Other")
    class Mine(init.Initializer):
        def __init__(self, v: float = 1):
            super().__init__(v=v)
            self.v = v

        def _init_weight(self, _: Any, arr: Any) -> None:
            arr[:] = self.v

        def _init_bias(self, _: Any, arr: Any) -> None:
            arr[:] = -self.v

    assert [init.create(n).dumps() for n in ("mine", "myinit", "other")] == ['["mine", {"v": 1}]'] * 3
    assert filled(Mine(3), "fc_bias")[0, 0] == -3
    assert filled(init.One(), InitDesc("fc_bias", {"__init__": Mine(3).dumps()}))[0, 0] == 3
    with pytest.raises(AssertionError, match="subclass"):
        init.register(int)
    with pytest.warns(UserWarning, match="overriding"):
        init.register(type("Mine", (init.Initializer,), {}))


@pytest.mark.parametrize(
    ("name", "value"),
    {
        "fc_weight": 4, "fc_bias": 0, "bn_gamma": 1, "bn_beta": 0, "q_min": 0, "q_max": 1, "fc_bias_quantize": 0,
    }.items(),
)  # fmt: skip
def test_the_end_of_the_name_decides(name: str, value: float) -> None:
    assert set(filled(init.Constant(4), name).ravel()) == {value}


def test_names_that_say_nothing_are_refused() -> None:
    for name in ("foo", "x_running_mean", "x_moving_var", "parameters"):
        with pytest.raises(ValueError, match=f"Unknown initialization pattern for {name}"):
            filled(init.Constant(4), name)
    with pytest.raises(NotImplementedError):
        filled(init.Initializer(), "weight")
    assert not filled(init.Initializer(), "bias").any()
    quantized = np.unique(filled(init.Constant(4), "fc_weight_quantize", dtype="int8"))
    assert len(quantized) == 1
    assert -127 <= quantized[0] < 127


LEGACY = {
    "upsampling_weight": [[1, 0], [0, 0]], "stn_loc_weight": 0, "x_bias": 0, "x_gamma": 1, "x_beta": 0, "x_weight": 4,
    "x_moving_mean": 0, "x_moving_var": 1, "x_moving_inv_var": 0, "x_moving_avg": 0, "x_min": 0, "x_max": 1,
}  # fmt: skip


@pytest.mark.parametrize("name", LEGACY)
def test_plain_texts_as_names(name: str) -> None:
    array = nd.full((1, 1, 2, 2), 9)
    with pytest.warns(DeprecationWarning, match="deprecated"):
        init.Constant(4)(name, array)
    assert np.all(array.asnumpy() == np.array(LEGACY[name]))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_other_plain_names() -> None:
    bias = nd.zeros(6)
    init.Constant(4)("stn_loc_bias", bias)
    assert bias.asnumpy().tolist() == [1, 0, 0, 0, 1, 0]
    for name, array, error in (("foo", bias, ValueError), (3, bias, TypeError), ("weight", np.zeros(3), TypeError)):
        with pytest.raises(error):
            init.One()(name, array)


def test_a_variable_may_say_how() -> None:
    assert filled(init.Constant(4), InitDesc("foo", {"__init__": "ones"})).tolist() == [[1, 1, 1]] * 2
    own = '["constant", {"value": 7}]'
    assert filled(init.Constant(4), InitDesc("foo_bias", {"__init__": own}))[0, 0] == 7
    desc = InitDesc("x_weight")
    assert (desc, desc.attrs, desc.global_init) == ("x_weight", {}, None)
    zero = init.Zero()
    filled(zero, desc)
    assert desc.global_init is zero


@pytest.mark.parametrize(
    ("shape", "want"),
    [
        ((1, 1, 4, 4), [[0.0625, 0.1875, 0.1875, 0.0625], [0.1875, 0.5625, 0.5625, 0.1875]] * 2),
        ((2, 3, 3, 3), [[0.0625, 0.1875, 0.1875], [0.1875, 0.5625, 0.5625], [0.1875, 0.5625, 0.5625]]),
        ((1, 1, 5, 2), [[1, 0], [0, 0], [-1, 0], [-2, 0], [-3, 0]]),
    ],
)
def test_bilinear(shape: tuple[int, ...], want: list[list[float]]) -> None:
    want = [*want[:2], want[1], want[0]] if shape[2] == 4 else want
    np.testing.assert_array_equal(filled(init.Bilinear(), shape=shape), np.broadcast_to(want, shape))


def test_constants_and_lstm_biases() -> None:
    assert filled(init.Constant(nd.array([1, 2, 3]))).tolist() == [[1, 2, 3]] * 2
    assert filled(init.Constant(2.5), dtype="int32").tolist() == [[2, 2, 2]] * 2
    with pytest.raises(ValueError):
        filled(init.Constant(nd.array([1, 2])))
    assert filled(init.LSTMBias(2.0), shape=(8,)).tolist() == [0, 0, 2, 2, 0, 0, 0, 0]


# runs of equal numbers in the packed parameters, for 3 inputs, 2 units and 2 layers
PACKED = {
    ("lstm", False): [(5, 72), (0, 2), *[(2, 2), (0, 6)] * 3, (2, 2), (0, 4)],
    ("lstm", True): [(5, 176), (0, 2), *[(2, 2), (0, 6)] * 7, (2, 2), (0, 4)],
    ("gru", False): [(5, 54), (0, 24)],
}


@pytest.mark.parametrize("given", ["own", "global", "text"])
@pytest.mark.parametrize("network", PACKED, ids=str)
def test_fused_rnn(network: tuple[str, bool], given: str) -> None:
    want = np.concatenate([np.full(n, v, np.float32) for v, n in PACKED[network]])
    inner = {"own": init.Constant(5), "global": None, "text": '["constant", {"value": 5}]'}[given]
    fused = init.FusedRNN(inner, 2, 2, *network, forget_bias=2.0)
    desc = InitDesc("parameters", {"__init__": fused.dumps()})
    np.testing.assert_array_equal(filled(init.Constant(5), desc, want.shape), want)
    with pytest.raises(ValueError, match="packed parameters"):
        filled(init.Constant(5), desc, (len(want) + 1,))


def test_fused_rnn_of_one_feature_and_of_none() -> None:
    """Gates of three cells, in the order i, f, c, o: weights of the input, of the state, biases of both."""
    fused = init.FusedRNN(init.One(), 3, 1, "lstm", forget_bias=2.0)
    desc = InitDesc("parameters", {"__init__": fused.dumps()})
    for features in (1, 2):
        biases = np.repeat([0, 2, 0, 0, 0, 2, 0, 0], 3)
        want = np.concatenate([np.ones(12 * features + 36), biases])
        np.testing.assert_array_equal(filled(init.Zero(), desc, want.shape), want)
    with pytest.raises(ValueError, match="fit no input"):
        filled(init.Zero(), desc, (36 + 24,))


def test_fused_rnn_sees_each_gate() -> None:
    """Xavier's range depends on the shape: that of one gate."""
    fused = init.FusedRNN(init.Xavier(factor_type="out"), 50, 1, "gru")
    size = 3 * 50 * (30 + 50 + 2)
    desc = InitDesc("parameters", {"__init__": fused.dumps()})
    drawn = filled(init.Zero(), desc, (size,))[: 3 * 50 * 80]
    assert 0.95 * math.sqrt(3 / 50) < np.abs(drawn).max() <= math.sqrt(3 / 50)


def test_load(tmp_path: Path) -> None:
    arrays = {"arg:a": nd.ones((2,)), "aux:b": nd.full((2,), 3)}
    nd.save(str(tmp_path / "x.params"), arrays)
    for source in (arrays, str(tmp_path / "x.params")):
        load = init.Load(source, default_init=init.Constant(5))
        assert [filled(load, InitDesc(n), (2,))[0] for n in ("a", "b", "c_weight")] == [1, 3, 5]
        with pytest.raises(AssertionError, match="Shape mismatch"):
            filled(load, InitDesc("a"), (3,))
    with pytest.raises(AssertionError, match="Not found in loaded param"):
        filled(init.Load({}), InitDesc("a"))


def test_mixed() -> None:
    mixed = init.Mixed(["fc.*", ".*"], [init.Constant(2), init.Constant(3)])
    assert [filled(mixed, n)[0, 0] for n in ("fc_weight", "conv_weight", "conv_bias")] == [2, 3, 0]
    with pytest.raises(ValueError, match="did not match any pattern"):
        filled(init.Mixed(["x"], [init.One()]), "weight")
    with pytest.raises(AssertionError):
        init.Mixed(["x"], [])


def test_verbosity(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        filled(init.Constant(4).set_verbosity(True), "weight")
        filled(init.Constant(4).set_verbosity(True, lambda x: "hi"), "bias")
        filled(init.Constant(4).set_verbosity(True, lambda x: "hi"), InitDesc("foo", {"__init__": "ones"}))
        filled(init.Constant(4), "weight")
        filled(init.Constant(4).set_verbosity(True).set_verbosity(False), "weight")
    assert [r.message for r in caplog.records] == [
        "Initialized weight as weight: 4.0",
        "Initialized bias as bias: hi",
        "Initialized foo as ones: hi",
    ]


# -- random ones -------------------------------------------------------------------------------------------------------------

SHAPE = (40, 30, 3, 3)
FANS = {"in": 270, "out": 360, "avg": 315}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("made", "deviation", "bound"),
    [
        (init.Uniform(0.5), 0.5 / math.sqrt(3), 0.5),
        (init.Normal(0.2), 0.2, None),
        *((init.Xavier(factor_type=f), math.sqrt(1 / n), math.sqrt(3 / n)) for f, n in FANS.items()),
        *((init.Xavier("gaussian", f, 2), math.sqrt(2 / n), None) for f, n in FANS.items()),
        (init.MSRAPrelu("in", 0.5), math.sqrt(2 / 1.25 / 270), None),
    ],
)
def test_random_numbers(made: Any, deviation: float, bound: float | None, dtype: str) -> None:
    drawn = filled(made, shape=SHAPE, dtype=dtype)
    assert drawn.dtype == dtype
    drawn = drawn.astype(np.float64)
    assert abs(drawn.mean()) < 5 * deviation / math.sqrt(drawn.size)
    assert abs(drawn.std() / deviation - 1) < 5 / math.sqrt(drawn.size)
    if bound is None:
        assert np.abs(drawn).max() > 3.2 * deviation
    else:
        assert 0.99 * bound < np.abs(drawn).max() <= bound * (1 + 1e-3)


@pytest.mark.parametrize("rand_type", ["uniform", "normal"])
@pytest.mark.parametrize("shape", [(6, 20), (20, 6), (6, 5, 4)])
def test_orthogonal(shape: tuple[int, ...], rand_type: str) -> None:
    drawn = filled(init.Orthogonal(2.0, rand_type), shape=shape).reshape(shape[0], -1).astype(np.float64)
    square = drawn @ drawn.T if drawn.shape[0] <= drawn.shape[1] else drawn.T @ drawn
    np.testing.assert_allclose(square, 4 * np.eye(len(square)), atol=1e-5)


def test_a_seed_repeats_parameters() -> None:
    first = filled(init.Xavier())
    assert not np.array_equal(first, filled(init.Xavier()))
    mx.random.seed(11)
    np.testing.assert_array_equal(first, filled(init.Xavier()))


@pytest.mark.parametrize(
    ("made", "shape", "error"),
    [
        (init.Xavier(), (3,), ValueError),
        (init.Xavier(factor_type="z"), (2, 3), ValueError),
        (init.Xavier(rnd_type="z"), (2, 3), ValueError),
        (init.Orthogonal(rand_type="z"), (2, 3), ValueError),
        (init.Bilinear(), (3, 3), IndexError),
    ],
)
def test_refusals(made: Any, shape: tuple[int, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        filled(made, shape=shape)


def test_random_numbers_are_no_integers() -> None:
    with pytest.raises(MXNetError):
        filled(init.Xavier(), dtype="int32")


def test_json_of_all_is_json() -> None:
    assert json.loads(init.FusedRNN(init.Xavier(), 3, 2, "lstm").dumps())[1]["init"] == init.Xavier().dumps()


def test_settings_of_random_initializers() -> None:
    """Each against what it says, made of the same random numbers with NumPy."""

    def drawn(initializer: Any, shape: tuple[int, ...]) -> np.ndarray:
        mx.random.seed(3)
        array = nd.zeros(shape)
        initializer._init_weight("x_weight", array)
        return array.asnumpy()

    wrong = []
    for shape in ((4, 6), (6, 4), (5, 5), (3, 2, 3, 1), (1, 4)):
        area = math.prod(shape[2:])
        fans = {"in": shape[1] * area, "out": shape[0] * area, "avg": (shape[0] + shape[1]) * area / 2}
        mx.random.seed(3)
        normal = nd.random.normal(0, 1, shape).asnumpy()
        for factor, fan in fans.items():
            for slope in (0, 0.25, 1):
                got = drawn(init.MSRAPrelu(factor, slope), shape)
                if not np.allclose(got, normal * math.sqrt(2 / (1 + slope**2) / fan), rtol=1e-5):
                    wrong.append(("MSRAPrelu", shape, factor, slope))
            for magnitude in (0.5, 2.5):
                got = drawn(init.Xavier("gaussian", factor, magnitude), shape)
                if not np.allclose(got, normal * math.sqrt(magnitude / fan), rtol=1e-5):
                    wrong.append(("Xavier", shape, factor, magnitude))
        flat = (shape[0], shape[1] * area)
        for kind, draw in (
            ("uniform", lambda s: nd.random.uniform(-1, 1, s)),
            ("normal", lambda s: nd.random.normal(0, 1, s)),
        ):
            mx.random.seed(3)
            left, _, right = np.linalg.svd(draw(flat).asnumpy(), full_matrices=False)
            want = left if flat[0] >= flat[1] else right  # of a square the left ones, as MXNet takes
            for scale in (0, 1.414):
                if not np.allclose(drawn(init.Orthogonal(scale, kind), shape), scale * want.reshape(shape), atol=1e-6):
                    wrong.append(("Orthogonal", shape, kind, scale))
    assert not wrong
