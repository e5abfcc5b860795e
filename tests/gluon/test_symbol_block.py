"""SymbolBlock, its parameters, and checkpoints: calling, loading, saving, and what they say when files do not fit."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import gluon, nd, sym


def network() -> mx.Symbol:
    net = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc1")
    net = sym.BatchNorm(net, name="bn", fix_gamma=False)
    return sym.Activation(net, act_type="sigmoid", name="out")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A checkpoint; the prefix of its files."""
    executor = network().simple_bind(mx.cpu(), data=(2, 4))
    rng = np.random.default_rng(3)
    arguments = {n: nd.array(rng.normal(size=a.shape)) for n, a in executor.arg_dict.items() if n != "data"}
    states = {n: nd.array(0.5 + rng.random(a.shape)) for n, a in executor.aux_dict.items()}
    mx.model.save_checkpoint(str(tmp_path / "m"), 3, network(), arguments, states)
    return tmp_path / "m"


def imports(saved: Path, inputs="data", params: str = "m-0003.params", **options) -> gluon.SymbolBlock:
    return gluon.SymbolBlock.imports(f"{saved}-symbol.json", inputs, saved.with_name(params), **options)


NAMES = ["fc1_weight", "fc1_bias", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var"]


def test_checkpoints(saved: Path) -> None:
    assert sorted(p.name for p in saved.parent.iterdir()) == ["m-0003.params", "m-symbol.json"]
    symbol, arguments, states = mx.model.load_checkpoint(str(saved), 3)
    assert symbol.list_outputs() == ["out_output"]
    assert [*arguments, *states] == NAMES
    assert list(mx.model.load_params(str(saved), 3)[1]) == NAMES[4:]
    executor = symbol.simple_bind(mx.cpu(), data=(5, 4))
    executor.copy_params_from(arguments, states)
    x = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    np.testing.assert_array_equal(executor.forward(data=x)[0].asnumpy(), imports(saved)(nd.array(x)).asnumpy())
    with pytest.raises(FileNotFoundError, match=r"m-0004\.params"):
        mx.model.load_checkpoint(str(saved), 4)


def test_calling(saved: Path) -> None:
    block = imports(saved, ["data"])
    y = block(nd.ones((2, 4)))
    assert isinstance(y, nd.NDArray)
    assert y.shape == (2, 3)
    assert block(nd.ones((7, 4))).shape == (7, 3)
    z = block(sym.var("x"))
    assert z.list_arguments() == ["x", *NAMES[:4]]
    assert repr(block) == "SymbolBlock(\n<Symbol out> : 1 -> 1\n)"


def test_several_outputs_and_inputs() -> None:
    a, b = sym.var("a"), sym.var("b")
    block = gluon.SymbolBlock([a + b, sym.Group([a * b, b])], [b, a])
    assert len(block.collect_params()) == 0
    total, (product, second) = block(nd.array([2.0]), nd.array([3.0]))  # grouped as the outputs were, as in MXNet
    assert [r.asscalar() for r in (total, product, second)] == [5, 6, 2]
    second[:] = 9
    pair = gluon.SymbolBlock(sym.split(a, num_outputs=2), a)
    assert [r.shape for r in pair(nd.ones((1, 4)))] == [(1, 2), (1, 2)]


def test_outputs_are_not_the_inputs(saved: Path) -> None:
    a = sym.var("a")
    x = nd.ones((2, 2))
    for outputs in (a, sym.identity(a), sym.Reshape(a, shape=(4,)), sym.Dropout(a), sym.transpose(a), sym.BlockGrad(a)):
        gluon.SymbolBlock(outputs, a)(x)[:] = 7
        assert x.asnumpy().max() == 1
    weight = gluon.SymbolBlock(sym.var("w") * 1, [])
    weight.params["w"].set_data(x)
    both = gluon.SymbolBlock([sym.var("w"), sym.var("a")], a)
    both.params["w"].set_data(x)
    both(nd.zeros(1))[0][:] = 7
    assert both.params["w"].data().asnumpy().max() == 1


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda b: b(np.ones((2, 4))), TypeError, "input data must be an NDArray"),
        (lambda b: b(), ValueError, "got 0 inputs, wanted 1"),
        (lambda b: b(nd.ones((2, 4)), nd.ones(1)), ValueError, "got 2 inputs, wanted 1"),
        (lambda b: b(nd.ones((2, 5))), mx.MXNetError, r"operator fc1.*\(2, 5\)"),
        (
            lambda b: b(nd.ones((2, 4), dtype="float64")),
            mx.MXNetError,
            "operator fc1.*float64.*float32|operator fc1.*float32.*float64",
        ),
    ],
)
def test_wrong_calls(saved: Path, call, error, match) -> None:
    with pytest.raises(error, match=match):
        call(imports(saved))


def test_parameters(saved: Path) -> None:
    block = imports(saved)
    parameters = block.collect_params()
    assert list(parameters) == NAMES
    weight = parameters["fc1_weight"]
    assert repr(weight) == "Parameter fc1_weight (shape=(3, 4), dtype=<class 'numpy.float32'>)"
    assert (weight.grad_req, parameters["bn_moving_mean"].grad_req) == ("write", "null")
    assert weight.var().name == "fc1_weight"
    assert list(block.collect_params(".*weight")) == ["fc1_weight"]
    assert repr(block.collect_params(".*weight")) == f"(\n  {weight!r}\n)"
    with pytest.raises(KeyError):
        parameters["nope"]
    before = block(nd.ones((1, 4))).asnumpy()
    weight.set_data(weight.data() * 2)
    changed = block(nd.ones((1, 4))).asnumpy()
    assert not np.array_equal(before, changed)
    weight.data()[:] = 0
    assert not np.array_equal(changed, block(nd.ones((1, 4))).asnumpy())
    with pytest.raises(gluon.ParameterError, match="incompatible"):
        weight.set_data(nd.ones((9, 9)))


def test_cast(saved: Path) -> None:
    block = imports(saved)
    single = block(nd.ones((1, 4))).asnumpy()
    block.cast("float64")
    double = block(nd.ones((1, 4), dtype="float64"))
    assert double.dtype is np.float64
    np.testing.assert_allclose(double.asnumpy(), single, rtol=1e-5)


def test_export_and_parameter_files(saved: Path, tmp_path: Path) -> None:
    block = imports(saved)
    assert block.export(str(tmp_path / "e"), 7) is None
    assert {p.name for p in tmp_path.glob("e-*")} == {"e-symbol.json", "e-0007.params"}
    assert list(nd.load(tmp_path / "e-0007.params")) == [
        *(f"arg:{n}" for n in NAMES[:4]),
        *(f"aux:{n}" for n in NAMES[4:]),
    ]
    again = gluon.SymbolBlock.imports(tmp_path / "e-symbol.json", ["data"], tmp_path / "e-0007.params")
    x = nd.ones((2, 4))
    np.testing.assert_array_equal(again(x).asnumpy(), block(x).asnumpy())
    block.save_parameters(tmp_path / "p.params")
    assert list(nd.load(tmp_path / "p.params")) == NAMES
    again.load_parameters(tmp_path / "p.params")
    np.testing.assert_array_equal(again(x).asnumpy(), block(x).asnumpy())


def test_everything_wrong_is_said_at_once(saved: Path) -> None:
    nd.save(
        saved.with_name("bad.params"), {"arg:fc1_weight": nd.ones((3, 4)), "arg:foo": nd.ones(2), "bar": nd.ones(2)}
    )
    with pytest.raises(gluon.ParameterError) as caught:
        imports(saved, params="bad.params")
    for name in (*NAMES[1:], "foo", "bar", "bad.params", "allow_missing", "ignore_extra"):
        assert name in str(caught.value)
    assert isinstance(caught.value, AssertionError)
    with pytest.raises(gluon.ParameterError, match="not in the network: foo, bar"):
        imports(saved, params="bad.params", allow_missing=True)
    block = imports(saved, params="bad.params", allow_missing=True, ignore_extra=True)
    with pytest.raises(mx.MXNetError, match=r"'fc1_bias', 'bn_gamma', .*has not been initialized"):
        block(nd.ones((2, 4)))


def test_wrong_shapes_are_said_when_loading(saved: Path) -> None:
    stored = nd.load(saved.with_name("m-0003.params"))
    nd.save(saved.with_name("bad.params"), {**stored, "arg:fc1_bias": nd.ones(5)})
    with pytest.raises(gluon.ParameterError, match=r"fc1.*bias.*\(5,\)"):
        imports(saved, params="bad.params")
    block = imports(saved)
    nd.save(saved.with_name("bad.params"), {**stored, "arg:fc1_bias": nd.ones(5), "arg:bn_beta": nd.ones((1, 3))})
    kept = block.params["fc1_weight"].data().asnumpy()
    with pytest.raises(
        gluon.ParameterError, match=r"fc1_bias \(5,\) \(wanted \(3,\)\), bn_beta \(1, 3\) \(wanted \(3,\)\)"
    ):
        block.load_parameters(saved.with_name("bad.params"))
    np.testing.assert_array_equal(block.params["fc1_weight"].data().asnumpy(), kept)


def test_lists_and_foreign_files(saved: Path) -> None:
    nd.save(saved.with_name("list.params"), [nd.ones(2)])
    with pytest.raises(gluon.ParameterError, match="list of 1 arrays without names"):
        imports(saved, params="list.params")
    saved.with_name("lfs.params").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(mx.error.FormatError, match="git lfs pull"):
        imports(saved, params="lfs.params")
    with pytest.raises(mx.error.FormatError, match=r"a .params file"):
        gluon.SymbolBlock.imports(f"{saved}-0003.params", "data", f"{saved}-0003.params")


def test_wrong_inputs(saved: Path) -> None:
    with pytest.raises(gluon.ParameterError, match=r"inputs foo, bar are not in .*data, fc1_weight"):
        imports(saved, ["foo", "data", "bar"])
    with pytest.raises(gluon.ParameterError, match="fc1_weight"):
        imports(saved, ["data", "fc1_weight"])
    net = network()
    with pytest.raises(gluon.ParameterError, match="must be variable, but fc1"):
        gluon.SymbolBlock(net, net.get_internals()["fc1_output"])
    with pytest.raises(TypeError, match="outputs must be a Symbol"):
        gluon.SymbolBlock(3, sym.var("data"))


def test_nan_weights_are_not_hidden(saved: Path) -> None:
    block = imports(saved)
    block.params["fc1_weight"].data()[1, 2] = np.nan
    y = block(nd.ones((2, 4))).asnumpy()
    assert np.isnan(y[:, 1]).all()
    assert np.isfinite(y[:, [0, 2]]).all()


def test_concurrent_calls_give_what_serial_calls_give(saved: Path) -> None:
    block = imports(saved)
    rng = np.random.default_rng(5)
    inputs = [nd.array(rng.normal(size=(1 + i % 3, 4))) for i in range(24)]
    wanted = [block(x).asnumpy() for x in inputs]
    fresh = imports(saved)
    got: list[list[np.ndarray]] = [[] for _ in range(4)]

    def work(results: list[np.ndarray]) -> None:
        for _ in range(5):
            results[:] = [fresh(x).asnumpy() for x in inputs]

    threads = [threading.Thread(target=work, args=(results,)) for results in got]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for results in got:
        for one, other in zip(results, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_parameter_states() -> None:
    parameter = gluon.Parameter("q", shape=(0, 3))
    with pytest.raises(mx.MXNetError, match="'q' has not been initialized"):
        parameter.data()
    parameter.set_data(np.ones((2, 3)))
    assert parameter.shape == (2, 3)
    assert parameter.data().dtype is np.float32
    parameter.cast("float16")
    assert parameter.data().dtype is np.float16
    with pytest.raises(gluon.ParameterError, match="incompatible"):
        parameter.shape = (3, 3)
    assert gluon.ParameterDict("x_").get("w", shape=(2,)).name == "x_w"


def test_how_inputs_and_outputs_are_nested_and_mixed() -> None:
    a, b, c = (sym.var(n) for n in "abc")
    x, y, z = nd.array([2.0]), nd.array([3.0]), nd.array([10.0])
    nested = gluon.SymbolBlock(a - 2 * b + c, [[a, b], c])
    assert nested([x, y], z).asscalar() == 6
    one = gluon.SymbolBlock([a + b], [a, b])
    assert isinstance(one(x, y), nd.NDArray)  # as in MXNet, not a list
    for wrong, name in (((x, b), "b"), ((a, x), "a"), ((None, x), "a"), ((x, None), "b")):
        with pytest.raises(TypeError, match=f"input {name} must be an NDArray"):
            one(*wrong)
    assert one(b, c).list_arguments() == ["b", "c"]
    none = gluon.SymbolBlock(sym.var("w") * 2, [])
    none.params["w"].set_data(nd.array([4.0, 5]))
    assert none().asnumpy().tolist() == [8, 10]
    with pytest.raises(TypeError, match=r"outputs must be a Symbol or a .* got str"):
        gluon.SymbolBlock("abc", a)


def test_casting_spares_whole_normalizations_only() -> None:
    """Those of which mean, variance, gamma and beta are all there."""
    groups = {"x_": ("running_var", "running_mean", "gamma"), "y_": ("moving_var", "moving_mean", "gamma", "beta")}
    names = [p + n for p, own in groups.items() for n in own]
    block = gluon.SymbolBlock(sym.add_n(sym.var("data"), *(sym.var(n) for n in names)), sym.var("data"))
    for parameter in block.params.values():
        parameter.set_data(nd.array([1.5]))
    block.cast("float16")
    kinds = {n: np.dtype(p.data().dtype).name for n, p in block.params.items()}
    assert kinds == {n: "float32" if n.startswith("y_") else "float16" for n in names}


def test_what_trains_and_where_parameters_are() -> None:
    variables = [sym.var("w", dtype=d) for d in ("float16", "bfloat16", "int32")]
    requests = [gluon.SymbolBlock(sym.cast(v, "float32"), []).params["w"].grad_req for v in variables]
    assert requests == ["write", "write", "null"]
    block = gluon.SymbolBlock(sym.var("data") * sym.var("w_one") + sym.var("w_two"), sym.var("data"))
    assert list(block._reg_params) == ["one", "two"]
    for i, parameter in enumerate(block.params.values()):
        parameter.set_data(nd.array([2.0 + i]))
    block.reset_ctx(mx.cpu(1))
    assert [p.list_ctx() for p in block.params.values()] == [[mx.cpu(1)]] * 2
    out = block(nd.array([5.0], ctx=mx.cpu(1)))
    assert (out.context, out.asscalar()) == (mx.cpu(1), 13)


def test_parameters_that_contradict_each_other_are_told_when_loading(saved: Path) -> None:
    values = nd.load(f"{saved}-0003.params")
    values["arg:fc1_bias"] = nd.ones(5)
    nd.save(saved.with_name("bad.params"), values)
    with pytest.raises(gluon.ParameterError, match=r"parameters do not fit the network: .*fc1"):
        imports(saved, params="bad.params")


def test_parameters_that_contradict_each_other_where_none_has_a_shape_of_its_own(tmp_path: Path) -> None:
    net = sym.broadcast_add(sym.var("data"), sym.elemwise_add(sym.var("v"), sym.var("w"), name="both"))
    net.save(str(tmp_path / "n-symbol.json"))
    for shape in ((2,), (3,)):
        nd.save(tmp_path / "n.params", {"arg:v": nd.array([1.0, 2]), "arg:w": nd.ones(shape)})
        if shape == (2,):
            assert imports(tmp_path / "n", params="n.params")(nd.array([[5.0, 7]])).asnumpy().tolist() == [[7, 10]]
            continue
        with pytest.raises(
            gluon.ParameterError, match=r"parameters do not fit the network: .*both.*\(2,\) and \(3,\) differ"
        ):
            imports(tmp_path / "n", params="n.params")


def test_inputs_may_be_one_group_of_variables() -> None:
    a, b = sym.var("a"), sym.var("b")
    block = gluon.SymbolBlock(a - 2 * b, sym.Group([b, a]))
    assert block(nd.array([3.0]), nd.array([10.0])).asscalar() == 4
    built = block._cached_op
    assert block._build_cache(nd.array([3.0]), nd.array([10.0])) is built  # what another thread has built meanwhile


def test_imported_words_and_sequences_are_taken_and_given_as_they_are() -> None:
    import onnx.parser

    import converters

    def block(text: str, names: list[str]) -> Any:
        model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]> {text}')
        return gluon.SymbolBlock(converters.from_onnx(model)[0], [sym.var(n) for n in names])

    x, y = nd.array([1.0, 2]), nd.array([[3.0]])
    pair = block("net (float[2] x, float[1,1] y) => (seq(float) s) { s = SequenceConstruct (x, y) }", ["x", "y"])
    got = pair(x, y)
    assert [a.asnumpy().tolist() for a in got] == [[1, 2], [[3]]]
    again = block("net (seq(float) s) => (seq(float) t) { t = Identity (s) }", ["s"])
    for sequence in (got, tuple(got), [nd.array([5.0])], []):
        found = again(sequence)
        assert [a.asnumpy().tolist() for a in found] == [a.asnumpy().tolist() for a in sequence]
    assert again(x).asnumpy().tolist() == [1, 2]  # an array is no list of its rows
    words = block("net (float[2] x) => (string[2] v) { v = Cast <to = 8> (x) }", ["x"])(x)
    assert [float(word) for word in words.asnumpy()] == [1, 2]
