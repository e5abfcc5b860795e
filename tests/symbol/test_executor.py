"""Bound executors: MXNet's Module-era way to run a symbol."""

import numpy as np
import pytest

import hybrid as mx
from hybrid import nd, sym


def network() -> mx.Symbol:
    net = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc")
    return sym.BatchNorm(net, name="bn", fix_gamma=False, eps=1e-3)


def bound() -> mx.executor.Executor:
    executor = network().simple_bind(mx.cpu(), data=(2, 4))
    rng = np.random.default_rng(1)
    for array in executor.arg_arrays:
        array[:] = rng.normal(size=array.shape)
    executor.aux_dict["bn_moving_mean"][:] = rng.normal(size=3)
    executor.aux_dict["bn_moving_var"][:] = 0.5 + rng.random(3)
    return executor


def expected(executor: mx.executor.Executor, data: np.ndarray) -> np.ndarray:
    a = {n: x.asnumpy().astype(np.float64) for n, x in {**executor.arg_dict, **executor.aux_dict}.items()}
    y = data.astype(np.float64) @ a["fc_weight"].T + a["fc_bias"]
    return (y - a["bn_moving_mean"]) / np.sqrt(a["bn_moving_var"] + 1e-3) * a["bn_gamma"] + a["bn_beta"]


def test_forward() -> None:
    executor = bound()
    data = np.random.default_rng(2).normal(size=(2, 4)).astype(np.float32)
    assert executor.outputs[0].shape == (2, 3)
    for given in (data, nd.array(data)):
        (y,) = executor.forward(data=given)
        np.testing.assert_allclose(y.asnumpy(), expected(executor, data), rtol=1e-5, atol=1e-6)
    assert executor.outputs[0] is executor.output_dict["bn_output"]
    executor.arg_dict["fc_bias"][:] += 1
    np.testing.assert_allclose(executor.forward()[0].asnumpy(), expected(executor, data), rtol=1e-5, atol=1e-6)


def test_outputs_stay_what_they_were() -> None:
    executor = bound()
    (first,) = executor.forward(data=nd.ones((2, 4)))
    kept = first.asnumpy()
    executor.forward(data=nd.zeros((2, 4)))
    np.testing.assert_array_equal(first.asnumpy(), kept)
    alias = sym.var("x").simple_bind(mx.cpu(), x=(2,))
    (y,) = alias.forward(x=nd.ones(2))
    y[:] = 7
    assert alias.arg_dict["x"].asnumpy().tolist() == [1, 1]


def test_arrays() -> None:
    executor = bound()
    assert (
        list(executor.arg_dict) == ["data", "fc_weight", "fc_bias", "bn_gamma", "bn_beta"] == list(executor.grad_dict)
    )
    assert list(executor.aux_dict) == ["bn_moving_mean", "bn_moving_var"]
    assert executor.arg_arrays[1] is executor.arg_dict["fc_weight"]
    assert executor.aux_arrays[0] is executor.aux_dict["bn_moving_mean"]
    assert executor.grad_arrays[1].shape == (3, 4)
    assert network().simple_bind(mx.cpu(), grad_req="null", data=(2, 4)).grad_arrays == [None] * 5
    half = sym.FullyConnected(sym.var("x"), num_hidden=2).simple_bind(mx.cpu(), type_dict={"x": "float16"}, x=(1, 2))
    assert {a.dtype for a in half.arg_arrays} == {np.float16}


def test_bind() -> None:
    net = sym.FullyConnected(sym.var("x"), num_hidden=3, name="f")
    arrays = [nd.ones((1, 2)), nd.ones((3, 2)), nd.ones(3)]
    named = dict(zip(net.list_arguments(), arrays))
    for args in (arrays, named, {**named, "extra": nd.ones(1)}):
        executor = net.bind(mx.cpu(), args)
        assert executor.forward()[0].asnumpy().tolist() == [[3, 3, 3]]
        assert executor.arg_dict["x"] is arrays[0]
    assert net.eval(**named)[0].asnumpy().tolist() == [[3, 3, 3]]
    assert net.eval(mx.cpu(), **named)[0].shape == (1, 3)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda n: n.bind(mx.cpu(), {"data": nd.ones((1, 2))}), ValueError,
         "`fc_weight`, `fc_bias`, .*`bn_beta` is missing in `args`"),
        (lambda n: n.bind(mx.cpu(), [nd.ones((1, 2))]), ValueError, "Length of args does not match"),
        (lambda n: n.bind(mx.cpu(), 3), TypeError, "Only accept list of NDArrays or dict"),
        (lambda n: n.bind("cpu", {}), TypeError, "Context type error"),
        (lambda n: n.bind(mx.gpu(), {}), mx.MXNetError, "CPUs only"),
        (lambda n: n.eval(data=1), ValueError, "missing"),
        (lambda n: n.simple_bind(mx.cpu()), mx.MXNetError, "cannot decide the shapes of data"),
        (lambda n: n.simple_bind(mx.cpu(), grad_req="foo", data=(1, 2)), ValueError, "grad_req=foo"),
        (lambda n: bound().forward(foo=nd.ones(1)), TypeError, "Unknown argument foo"),
        (lambda n: bound().forward(data=nd.ones((3, 4))), ValueError, r"Argument data, need: \(2, 4\), received: \(3, 4\)"),
        (lambda n: bound().backward(), mx.MXNetError, "head_gradient is required.*got none"),
        (lambda n: bound().copy_params_from({"foo": nd.ones(1), "fc_bias": nd.ones(9)}), ValueError,
         r'(?s)"foo" that is not in the arguments.*fc_bias has shape \(9,\), wanted \(3,\)'),
        (lambda n: bound().copy_params_from({}, {"bar": nd.ones(1)}), ValueError, '"bar" that is not in the auxiliary states'),
        (lambda n: bound().reshape(data=(5, 4)), mx.MXNetError, "allow_up_sizing"),
        (lambda n: bound().reshape(data=(2, 3)), mx.MXNetError, "fc_weight would change.*partial_shaping"),
    ],
)  # fmt: skip
def test_errors(call, error, match) -> None:
    with pytest.raises(error, match=match):
        call(network())


def test_wrong_shapes_are_refused_when_binding() -> None:
    net = sym.FullyConnected(sym.var("x"), num_hidden=3, name="f")
    with pytest.raises(mx.MXNetError, match=r"operator f: .*\(3, 3\)"):
        net.bind(mx.cpu(), {"x": nd.ones((1, 2)), "f_weight": nd.ones((3, 3)), "f_bias": nd.ones(3)})


def test_copy_params() -> None:
    executor = bound()
    executor.copy_params_from(
        {"fc_weight": nd.ones((3, 4), dtype="float64"), "foo": nd.ones(1)}, allow_extra_params=True
    )
    assert executor.arg_dict["fc_weight"].dtype == np.float32
    assert executor.arg_dict["fc_weight"].asnumpy().tolist() == np.ones((3, 4)).tolist()


def test_reshape() -> None:
    executor = bound()
    smaller = executor.reshape(data=(1, 4))
    assert smaller.arg_dict["fc_weight"] is executor.arg_dict["fc_weight"]
    data = np.ones((1, 4), np.float32)
    np.testing.assert_allclose(smaller.forward(data=data)[0].asnumpy(), expected(executor, data), rtol=1e-5, atol=1e-6)
    assert executor.reshape(allow_up_sizing=True, data=(5, 4)).outputs[0].shape == (5, 3)
    other = executor.reshape(partial_shaping=True, allow_up_sizing=True, data=(2, 5))
    assert other.arg_dict["fc_weight"].shape == (3, 5)


def test_nan_weights_show() -> None:
    executor = bound()
    executor.arg_dict["fc_weight"][1] = np.nan
    y = executor.forward(data=nd.ones((2, 4)))[0].asnumpy()
    assert np.isnan(y[:, 1]).all()
    assert np.isfinite(y[:, [0, 2]]).all()


def test_parameters_of_another_shape_are_refused_whatever_their_size() -> None:
    executor = bound()
    before = executor.arg_dict["fc_weight"].asnumpy()
    with pytest.raises(ValueError, match=r"fc_weight has shape .*4.*3.*, wanted .*3.*4"):
        executor.copy_params_from({"fc_weight": nd.zeros((4, 3))})
    assert (executor.arg_dict["fc_weight"].asnumpy() == before).all()
