"""mx.test_utils: what holds, what does not, and what is said then. The messages are MXNet 1.9.1's."""

import contextlib
import gzip
import math
import os
import struct
import sys

import numpy as np
import pytest

import hybrid as mx
from hybrid import test_utils as tu
from hybrid.gluon import nn


def test_defaults_are_those_of_mxnet() -> None:
    assert tu.default_dtype() is np.float32
    assert [tu.get_rtol(dtype=np.dtype(d)) for d in ("float16", "float32", "float64", "int32")] == [1e-2, 1e-4, 1e-5, 0]
    assert [tu.get_atol(dtype=np.dtype(d)) for d in ("float16", "float32", "float64", "int32")] == [
        1e-1,
        1e-3,
        1e-20,
        0,
    ]
    assert (tu.get_rtol(), tu.get_atol(), tu.get_etol()) == (1e-5, 1e-20, 0)
    assert tu.get_tols(np.ones(3, "float16"), 1.0, None, None) == (1e-2, 1e-1)
    assert tu.get_tols(np.ones(3, "float32"), np.ones(3), {np.dtype("float32"): 0.5}, 0.25) == (0.5, 0.25)
    assert tu.default_numeric_eps()[np.dtype("float32")] == 2.0**-9


def test_assert_almost_equal_says_where(capsys: pytest.CaptureFixture[str]) -> None:
    a, b = np.array([[1, 2, np.nan], [3, 4, 5.0]]), np.array([[1, 2.5, 3], [3, 4, 7.0]])
    with pytest.raises(AssertionError) as raised:
        tu.assert_almost_equal(a, b, names=("x", "y"))
    assert str(raised.value).startswith(
        "\nItems are not equal:\nError nan exceeds tolerance rtol=1.000000e-05, atol=1.000000e-20 (mismatch 50.000000%).\n"
        "Location of maximum error: (0, 2), x=nan, y=3.00000000\n ACTUAL: array([[ 1.,  2., nan],"
    )
    assert capsys.readouterr().out == (
        "\n*** Maximum errors for vector of size 6:  rtol=1e-05, atol=1e-20\n\n"
        "  1: Error nan  Location of error: (0, 2), x=nan, y=3.00000000\n"
        "  2: Error 28571.428571  Location of error: (1, 2), x=5.00000000, y=7.00000000\n"
        "  3: Error 20000.000000  Location of error: (0, 1), x=2.00000000, y=2.50000000\n"
    )
    with pytest.raises(AssertionError, match="mismatch at least 33"):
        tu.assert_almost_equal(a, b, mismatches=(1, 1))
    with pytest.raises(AssertionError, match="Error 50000"):
        tu.assert_almost_equal(1.0, 2.0)
    with pytest.raises(AssertionError, match=r"a.shape = \(2, 3\) and b.shape = \(2, 1\) are not equal"):
        tu.assert_almost_equal(np.ones((2, 3)), np.ones((2, 1)), use_broadcast=False)
    with pytest.raises(ValueError, match="broadcast"):
        tu.almost_equal(np.ones(2), np.ones(3))


def test_what_counts_as_almost_equal() -> None:
    a = np.array([1.0, np.nan])
    tu.assert_almost_equal(a, a, equal_nan=True)
    tu.assert_allclose(a, a)
    with pytest.raises(AssertionError):
        tu.assert_allclose(a, a, equal_nan=False)
    tu.assert_almost_equal(mx.nd.ones(3), np.ones(3, "int32"))
    tu.assert_almost_equal_with_err(np.ones(4), np.array([1, 1, 1, 2.0]), etol=0.3)
    tu.assert_almost_equal_ignore_nan(a, np.array([1.0, 2.0]))
    with pytest.raises(AssertionError):
        tu.assert_almost_equal_with_err(np.ones(4), np.array([1, 1, 3, 2.0]), etol=0.3)
    assert tu.same(mx.nd.ones(2), np.ones(2)) and not tu.same(np.ones(2), np.ones(3))
    x = mx.nd.zeros((2, 3))
    assert tu.same_array(x, x[0:2]) and not tu.same_array(x, x.copy())
    tu.compare_ndarray_tuple((x, (x, None)), (x, (x, 1)))
    tu.assert_exception(lambda: {}["x"], KeyError)
    with pytest.raises(AssertionError, match="raised nothing"):
        tu.assert_exception(dict, KeyError)
    with pytest.raises(AssertionError, match="raised nothing"):  # which is not what was wanted of the function
        tu.assert_exception(dict, AssertionError)


# -- symbols ----------------------------------------------------------------------------------------------------------------

X = mx.sym.var("x")
TWO = np.full(2, 2.0)


def test_forward_and_backward_are_checked() -> None:
    assert tu.simple_forward(X * 2, x=np.ones(2)).tolist() == [2, 2]
    tu.check_symbolic_forward(X * 2, [np.ones(2)], [TWO])
    tu.check_symbolic_backward(X * 2, {"x": np.ones(2)}, [np.ones(2)], {"x": TWO})
    tu.check_symbolic_backward(X * 2, [np.ones(2)], [np.ones(2)], [TWO], grad_req="add")
    tu.check_symbolic_backward(X * 2, [np.ones(2)], [np.ones(2)], [TWO], grad_req="null")
    with pytest.raises(AssertionError, match=r"EXPECTED_y_output=3.*FORWARD_y_output=2"):
        tu.check_symbolic_forward(mx.sym.identity(X * 2, name="y"), [np.ones(2)], [np.full(2, 3.0)])
    with pytest.raises(AssertionError, match=r"EXPECTED_x=3.*BACKWARD_x=2"):
        tu.check_symbolic_backward(X * 2, [np.ones(2)], [np.ones(2)], [np.full(2, 3.0)])
    with pytest.raises(ValueError, match="do not match"):
        tu.check_symbolic_forward(X * 2, {"y": np.ones(2)}, [TWO])


def test_gradients_are_checked_by_differences() -> None:
    np.random.seed(0)
    tu.check_numeric_gradient(mx.sym.exp(X), [np.random.rand(2, 3)], rtol=1e-2)
    norm = mx.sym.BatchNorm(X, name="bn", fix_gamma=False)
    location, states = [np.random.randn(3, 2, 4), np.ones(2), np.ones(2)], [np.zeros(2), np.ones(2)]
    tu.check_numeric_gradient(norm, location, states, numeric_eps=1e-2, rtol=0.1, atol=0.02)
    tu.check_numeric_gradient(norm, location, states, numeric_eps=1e-6, dtype=np.float64)
    with pytest.raises(AssertionError, match="NUMERICAL_x"):
        tu.check_numeric_gradient(mx.sym.BlockGrad(X) * X, [np.ones(2)])
    with pytest.raises(ValueError, match="grad_req=other"):
        tu.check_numeric_gradient(mx.sym.exp(X), [np.ones(2)], grad_nodes={"x": "other"})
    # the least step of float32, and one below; gradients may be stored sparsely, where there are some
    for step, fits in ((1e-5, True), (0.9e-5, False)):
        with contextlib.nullcontext() if fits else pytest.raises(AssertionError, match="too small"):
            tu.check_numeric_gradient(X * 2, [np.ones(2)], numeric_eps=step, rtol=1, atol=9)
    both = mx.sym.dot(X, mx.sym.var("w"))
    places = {"x": "default", "w": "row_sparse", "other": "row_sparse"}
    for stypes in (places, dict(reversed(places.items()))):
        tu.check_numeric_gradient(both, [np.eye(2), np.ones((2, 2))], grad_stype_dict=stypes, rtol=1e-2)


def test_consistency_of_dtypes() -> None:
    ways = [{"ctx": mx.cpu(), "x": (2, 3), "type_dict": {"x": d}} for d in (np.float16, np.float64, np.float32)]
    truth = tu.check_consistency(mx.sym.tanh(X, name="y"), ways)
    assert {k: np.dtype(v.dtype) for k, v in truth.items()} == {"x": np.float64, "y_output": np.float64}
    with pytest.raises(AssertionError):
        tu.check_consistency([mx.sym.exp(X, name="y"), mx.sym.sin(X, name="y")], ways[1:])


@pytest.mark.parametrize(
    ("asked", "done", "notices"),
    [
        ("write", "write", False),
        ("write", "add", True),
        ("write", "null", True),
        ("add", "add", False),
        ("add", "write", True),
        ("add", "null", True),
        ("null", "null", False),
        ("null", "write", True),
        ("null", "add", True),
    ],
)
def test_gradients_put_otherwise_than_asked_are_noticed(
    monkeypatch: pytest.MonkeyPatch, asked: str, done: str, notices: bool
) -> None:
    """An executor that takes one grad_req for another."""
    bind = mx.sym.Symbol.bind

    def confused(self, ctx, args, args_grad=None, grad_req="write", aux_states=None):
        req = {k: done if v == asked else v for k, v in grad_req.items()}
        return bind(self, ctx, args, args_grad, req, aux_states)

    monkeypatch.setattr(mx.sym.Symbol, "bind", confused)
    np.random.seed(0)
    values, heads = np.array([0.5, -1.5, 2.0]), np.array([1.0, 3.0, -2.0])
    checks = (
        lambda: tu.check_symbolic_backward(X * X, [values], [heads], [2 * values * heads], grad_req=asked),
        lambda: tu.check_numeric_gradient(X * X, [values], grad_nodes={"x": asked}, rtol=1e-2, atol=1e-3),
    )
    for check in checks:
        if notices:
            with pytest.raises(AssertionError, match="BACKWARD_x"):
                check()
        else:
            check()


def test_nan_is_equal_to_nan_where_that_is_asked() -> None:
    """In all three checks that take equal_nan; a number is never equal to it."""
    values = np.array([-1.0, 2.0, 0.5])
    root, heads = np.sqrt(np.where(values < 0, np.nan, values)), np.array([1.0, 3.0, -2.0])
    numbers, slopes = np.nan_to_num(root), heads / (2 * root)
    y = mx.sym.sqrt(X, name="y")
    ways = [{"ctx": mx.cpu(), "x": (3,), "type_dict": {"x": d}} for d in (np.float64, np.float32)]
    truth = {"y_output": mx.nd.array(numbers), "x": mx.nd.array(np.nan_to_num(slopes))}
    for check, wrong in (
        (lambda **more: tu.check_symbolic_forward(y, [values], [root], rtol=1e-5, **more), False),
        (lambda **more: tu.check_symbolic_forward(y, [values], [numbers], rtol=1e-5, **more), True),
        (lambda **more: tu.check_symbolic_backward(y, [values], [heads], [slopes], rtol=1e-5, **more), False),
        (lambda **more: tu.check_symbolic_backward(y, [values], [heads], [slopes * 0 + 1], rtol=1e-5, **more), True),
        (lambda **more: tu.check_consistency(y, ways, arg_params={"x": values}, **more), False),
        (lambda **more: tu.check_consistency(y, ways, arg_params={"x": values}, grad_req="null", **more), False),
        (
            lambda **more: tu.check_consistency(
                y, ways, arg_params={"x": values}, ground_truth=truth, grad_req="null", **more
            ),
            True,
        ),
    ):
        for more in ({}, {"equal_nan": False}):
            with pytest.raises(AssertionError):
                check(**more)
        if wrong:
            with pytest.raises(AssertionError):
                check(equal_nan=True)
        else:
            check(equal_nan=True)


def test_every_parameter_of_the_checks_of_values_and_gradients() -> None:
    values, heads = np.array([0.5, -1.5, 2.0]), np.array([1.0, 3.0, -2.0])
    cube, slopes = values**3, 3 * values**2
    y = mx.sym.identity(X * X * X, name="y")
    # dtype: of all arrays, or with "asnumpy" each one's own
    for dtype, given, want in (
        (np.float16, values, "float16"),
        (np.float64, values, "float64"),
        ("asnumpy", values.astype(np.float16), "float16"),
        ("asnumpy", values, "float64"),
    ):
        (found,) = tu.check_symbolic_forward(y, [given], [cube.astype(given.dtype)], dtype=dtype)
        assert found.dtype == np.dtype(want)
        wanted = (slopes * heads).astype(given.dtype)
        gradients = tu.check_symbolic_backward(y, [given], [heads.astype(given.dtype)], [wanted], dtype=dtype)
        assert gradients["x"].dtype == np.dtype(want)
    # rtol and atol, one without the other
    for check in (
        lambda **more: tu.check_symbolic_forward(y, [values], [cube * 1.01], **more),
        lambda **more: tu.check_symbolic_backward(y, [values], [heads], [slopes * heads * 1.01], **more),
        lambda **more: tu.check_symbolic_backward(
            y, [values], {"y_output": heads}, {"x": slopes * heads * 1.01}, **more
        ),
        # (a + h)^3 - (a - h)^3 is 6 a^2 h + 2 h^3: a step of 0.4 puts the slope 0.04 too high
        lambda **more: tu.check_numeric_gradient(y, [values], numeric_eps=0.4, dtype=np.float64, **more),
    ):
        for more in ({"rtol": 0.001, "atol": 0}, {"rtol": 0, "atol": 0.001}):
            with pytest.raises(AssertionError):
                check(**more)
        check(rtol=0.08, atol=0)
        check(rtol=0, atol=0.5)
    # the width of the step, for float arguments alone
    executor = y.bind(mx.cpu(), {"x": mx.nd.array(values, dtype="float64")})
    for eps in (0.4, 1.0):
        found = tu.numeric_grad(executor, {"x": values}, eps=eps, dtype=np.float64)["x"]
        np.testing.assert_allclose(found, slopes + eps**2 / 4, rtol=1e-9)
    assert tu.numeric_grad(executor, {"x": np.array([1, 2, 3])}, dtype=np.float64)["x"].tolist() == [0, 0, 0]
    # differences of runs that are no training runs, and states that are put back before each run
    norm = mx.sym.BatchNorm(X, name="bn", fix_gamma=False, momentum=0.5)
    rows = np.array([[0.5, -1.0], [2.0, 0.25], [-1.5, 3.0], [1.0, 1.5]])
    given = [rows, np.array([1.5, 0.5]), np.array([0.25, -0.5])], [np.array([0.5, 1.0]), np.array([2.0, 3.0])]
    exact = {"numeric_eps": 1e-5, "dtype": np.float64, "rtol": 1e-4, "atol": 1e-6}
    tu.check_numeric_gradient(norm, *given, **exact)
    with pytest.raises(AssertionError, match="NUMERICAL_"):
        tu.check_numeric_gradient(norm, *given, use_forward_train=False, **exact)
    fixed = mx.sym.BatchNorm(X, name="bn", fix_gamma=False, use_global_stats=True)
    tu.check_numeric_gradient(fixed, *given, use_forward_train=False, **exact)
    location = dict(zip(fixed.list_arguments(), given[0]))
    executor = fixed.simple_bind(mx.cpu(), x=rows.shape, type_dict={"x": np.float64})
    found = tu.numeric_grad(
        executor, location, {"bn_moving_mean": given[1][0], "bn_moving_var": given[1][1]}, dtype=np.float64
    )
    want = given[0][1] / np.sqrt(given[1][1] + 1e-3)
    np.testing.assert_allclose(found["x"], np.broadcast_to(want, rows.shape), rtol=1e-4)
    # which arguments are looked at
    halted = X * mx.sym.BlockGrad(mx.sym.var("b"))
    pair = {"x": values, "b": heads}
    tu.check_numeric_gradient(halted, pair, grad_nodes=["x"], **exact)
    for nodes in (None, ["b"], {"x": "write", "b": "add"}):
        with pytest.raises(AssertionError, match="NUMERICAL_b"):
            tu.check_numeric_gradient(halted, pair, grad_nodes=nodes, **exact)
    # sparse gradients
    table = mx.sym.Embedding(mx.sym.var("i"), X, input_dim=4, output_dim=2, sparse_grad=True)
    weight, places = np.arange(8.0).reshape(4, 2), np.array([2.0, 0.0, 2.0])
    out_grads = np.array([[1.0, 2], [3, 4], [5, 6]])
    want = np.array([[3.0, 4], [0, 0], [6, 8], [0, 0]])
    location = {"i": places, "x": weight}
    for stype in ("default", "row_sparse"):
        found = tu.check_symbolic_backward(table, location, [out_grads], {"x": want}, grad_req={"i": "null", "x": "write"},
            grad_stypes={"x": stype})["x"]  # fmt: skip
        assert found.stype == stype and found.asnumpy().tolist() == want.tolist()
        with pytest.raises(AssertionError):
            tu.check_symbolic_backward(table, location, [out_grads], {"x": want + 1}, grad_req={"i": "null", "x": "write"},
                grad_stypes={"x": stype})  # fmt: skip


def test_every_parameter_of_the_check_of_consistency(capsys: pytest.CaptureFixture[str]) -> None:
    ways = [{"ctx": mx.cpu(), "x": (3, 40), "type_dict": {"x": d}} for d in (np.float32, np.float64)]
    y = mx.sym.identity(X, name="y")
    values = np.linspace(-2, 3, 120).reshape(3, 40)

    def drawn(**more) -> np.ndarray:
        np.random.seed(5)
        return tu.check_consistency(y, ways, **more)["y_output"].asnumpy()

    # what is drawn: normal, times scale; evenly up to 0.92 of scale; rounded to rand_type
    np.random.seed(5)
    normal = np.random.normal(size=(3, 40))
    np.random.seed(5)
    even = np.random.uniform(-0.92, 0.92, (3, 40))
    np.testing.assert_array_equal(drawn(rand_type=np.float32), normal.astype(np.float32))
    np.testing.assert_array_equal(drawn(rand_type=np.float16, scale=3.0), (3 * normal).astype(np.float16))
    np.testing.assert_allclose(drawn(rand_type=np.float32, scale=2.0, use_uniform=True), 2 * even, rtol=1e-6)
    np.testing.assert_array_equal(drawn(arg_params={"x": values.astype(np.float16)}), values.astype(np.float16))
    # grad_req: without gradients only outputs are compared
    odd = [y, mx.sym.identity(mx.sym.BlockGrad(X), name="y")]
    assert set(tu.check_consistency(y, ways)) == {"y_output", "x"}
    assert set(tu.check_consistency(odd, ways, grad_req="null")) == {"y_output"}
    with pytest.raises(AssertionError):
        tu.check_consistency(odd, ways)
    assert capsys.readouterr().out.endswith("Train Err: ctx 0 vs ctx 1 at x\n")
    # tolerances, and what is compared with
    near = [mx.sym.identity(X * 1.01, name="y"), y]
    given = {"arg_params": {"x": np.abs(values) + 1}, "grad_req": "null"}
    for more in ({}, {"rtol": 0.005, "atol": 0}, {"rtol": 0, "atol": 0.015}):
        with pytest.raises(AssertionError):
            tu.check_consistency(near, ways, **given, **more)
    for more in ({"rtol": 0.02, "atol": 0}, {"rtol": 0, "atol": 0.05}):
        tu.check_consistency(near, ways, **given, **more)
    capsys.readouterr()
    tu.check_consistency(near, ways, raise_on_err=False, **given)
    said = capsys.readouterr()
    assert "Predict Err: ctx 0 vs ctx 1 at y_output\n" in said.out and "AssertionError" in said.err
    with pytest.raises(AssertionError):
        tu.check_consistency(y, ways, ground_truth={"y_output": mx.nd.array(np.abs(values) + 2)}, **given)
    # what has no gradient is not compared
    held = {"x": np.array([1.0, 2]), "z": np.array([3.0, 4])}
    two = mx.sym.elemwise_mul(X, mx.sym.var("z"), name="two")
    truth = {"two_output": mx.nd.array([3, 8]), "z": mx.nd.array([5, 5]), "x": mx.nd.array([9, 32])}
    each = [{"ctx": mx.cpu(), "x": (2,), "z": (2,)}] * 2
    tu.check_consistency(
        two, each, grad_req={"x": "write", "z": "null"}, arg_params=held, ground_truth=truth, rtol=1e-5, atol=1e-5
    )
    # states of the network: zeros where none are given
    norm = mx.sym.BatchNorm(X, name="y", use_global_stats=True, fix_gamma=True, eps=1.0)
    ways = [{"ctx": mx.cpu(), "x": (3, 4)}, {"ctx": mx.cpu(), "x": (3, 4)}]
    given = {
        "arg_params": {"x": values[:, :4], "y_gamma": np.full(4, 1.0), "y_beta": np.arange(4) / 4},
        "grad_req": "null",
    }
    mean = np.array([0.5, -1, 2, 3])
    for states, want in (
        ({}, values[:, :4]),
        ({"y_moving_mean": mean, "y_moving_var": np.full(4, 3.0)}, (values[:, :4] - mean) / 2),
    ):
        found = tu.check_consistency(norm, ways, aux_params=states, **given)["y_output"].asnumpy()
        np.testing.assert_allclose(found, want + np.arange(4) / 4, rtol=1e-5, atol=1e-6)


def test_speed_is_a_time() -> None:
    assert 0 < tu.check_speed(mx.sym.exp(X), x=(3, 3), N=2) < 10
    assert 0 < tu.check_speed(mx.sym.exp(X), {"x": np.ones((3, 3))}, N=2, typ="forward") < 10
    with pytest.raises(ValueError, match="typ"):
        tu.check_speed(mx.sym.exp(X), x=(3, 3), typ="backward")


def test_hybridizing_changes_nothing() -> None:
    data = [mx.nd.array(np.random.randn(2, 4))]
    tu.check_gluon_hybridize_consistency(lambda prefix: nn.Dense(3, prefix=prefix), data)

    class Odd(nn.HybridBlock):
        def hybrid_forward(self, F, x):  # noqa: N803
            return x if F is mx.nd else x + 1

    with pytest.raises(AssertionError, match="exceeds tolerance"):
        tu.check_gluon_hybridize_consistency(lambda prefix: Odd(prefix=prefix), data)
    ones = [mx.nd.ones((2, 4))]
    for more, fits in (
        ({}, False),
        ({"rtol": 1.1}, True),
        ({"rtol": 0.9}, False),
        ({"atol": 1.1}, True),
        ({"atol": 0.9}, False),
    ):
        with contextlib.nullcontext() if fits else pytest.raises(AssertionError, match="exceeds tolerance"):
            tu.check_gluon_hybridize_consistency(
                lambda prefix: Odd(prefix=prefix), ones, lambda x: x + 1, False, **more
            )


def test_of_several_arrays_each_is_checked() -> None:
    """One that is wrong, at any place among several, is noticed."""
    a, b = mx.sym.var("a"), mx.sym.var("b")
    both, values = mx.sym.Group([a * 2 + b, a * b]), [np.full((2, 3), 3.0), np.full((2, 3), 5.0)]
    outputs, slopes = [values[0] * 2 + values[1], values[0] * values[1]], [2 + values[1], 1 + values[0]]
    heads = [np.ones((2, 3))] * 2
    unlike = mx.sym.Group([mx.sym.identity(a * 2 + b, name="one"), mx.sym.identity(a * b + 1, name="two")])
    like = mx.sym.Group([mx.sym.identity(a * 2 + b, name="one"), mx.sym.identity(a * b, name="two")])

    class Odd(nn.HybridBlock):
        """The gradient of one input is another when it is hybridized."""

        place = 0

        def hybrid_forward(self, F, *xs):  # noqa: N803
            if F is mx.nd:
                return xs[0] * xs[1]
            held = [F.BlockGrad(x) if i == self.place else x for i, x in enumerate(xs)]
            return held[0] * held[1]

    checks = {}
    for place in (0, 1):
        outs, grads = ([x + (i == place) for i, x in enumerate(xs)] for xs in (outputs, slopes))
        kind = type("Odd", (Odd,), {"place": place})
        checks |= {
            f"forward {place}": lambda outs=outs: tu.check_symbolic_forward(both, values, outs),
            f"backward {place}": lambda grads=grads: tu.check_symbolic_backward(both, values, heads, grads),
            f"hybridized {place}": lambda kind=kind: tu.check_gluon_hybridize_consistency(
                lambda prefix: kind(prefix=prefix), [mx.nd.array(v) for v in values]
            ),
            f"numeric {place}": lambda place=place: tu.check_numeric_gradient(
                mx.sym.BlockGrad(a) * b if place == 0 else a * mx.sym.BlockGrad(b), values
            ),
        }
    ways = [
        {"ctx": mx.cpu(), "a": (2, 3), "b": (2, 3), "type_dict": dict.fromkeys("ab", t)}
        for t in (np.float64, np.float32)
    ]
    checks["consistency"] = lambda: tu.check_consistency([like, unlike], ways)
    tu.check_symbolic_forward(both, values, outputs)
    tu.check_symbolic_backward(both, values, heads, slopes)
    tu.check_consistency([like, like], ways)
    missed = []
    for name, check in checks.items():
        with contextlib.suppress(AssertionError):
            check()
            missed.append(name)
    assert not missed


def test_optimizers_are_compared() -> None:
    sgd = mx.optimizer.SGD
    tu.compare_optimizer(sgd(momentum=0.9), sgd(momentum=0.9), (3, 4), "float32")
    with pytest.raises(AssertionError):
        tu.compare_optimizer(sgd(learning_rate=0.5), sgd(learning_rate=0.1), (3, 4), "float32")


def test_same_symbol_structure() -> None:
    assert tu.same_symbol_structure(X * 2, X * 3) and not tu.same_symbol_structure(X * 2, X + 2)


# -- random things ----------------------------------------------------------------------------------------------------------


def test_shapes_are_those_that_mxnet_draws() -> None:
    np.random.seed(1)
    assert tu.rand_shape_2d() == (6, 9)
    assert tu.rand_shape_3d() == (10, 6, 1)
    assert tu.rand_shape_nd(3) == (1, 2, 8)
    assert tuple(map(int, tu.rand_coord_2d(0, 5, 6, 9))) == (4, 8)
    assert tu.random_sample([1, 2, 3, 4], 2) == [4, 1]


def test_sparse_arrays_hold_what_is_asked() -> None:
    np.random.seed(2)
    assert tu.rand_ndarray((3, 4)).dtype == np.float32
    rows, (values, indices) = tu.rand_sparse_ndarray((6, 2), "row_sparse", density=0.5, data_init=2)
    assert np.array_equal(np.flatnonzero(rows.asnumpy().any(1)), indices) and (values == 2).all()
    csr, (starts, columns, data) = tu.rand_sparse_ndarray((5, 8), "csr", density=0.5)
    assert len(data) == len(columns) == int(starts.asnumpy()[-1]) == 20
    assert np.count_nonzero(csr.asnumpy()) == 20
    _, (starts, _, _) = tu.rand_sparse_ndarray((5, 16), "csr", density=0.5, distribution="powerlaw")
    counts = np.diff(starts.asnumpy())
    assert counts.sum() == 40 and counts[2] == 2 * counts[1]
    with pytest.raises(AssertionError, match="not supported for row_sparse"):
        tu.rand_ndarray((5, 8), "row_sparse", distribution="powerlaw")


def test_matrices_are_what_their_names_say() -> None:
    np.random.seed(3)
    q = tu.new_orthonormal_matrix_2d(4)
    np.testing.assert_allclose(q @ q.T, np.eye(4), atol=1e-12)
    symmetric = tu.new_sym_matrix_with_real_eigvals_nd((2, 3, 3))
    np.testing.assert_allclose(symmetric, np.swapaxes(symmetric, -1, -2), atol=1e-12)
    assert np.isreal(np.linalg.eigvals(tu.new_matrix_with_real_eigvals_nd((2, 3, 3)))).all()
    assert tu.create_2d_tensor(2, 3).asnumpy().tolist() == [[0, 0, 0], [1, 1, 1]]
    assert tu.collapse_sum_like(np.ones((2, 3, 4)), (3, 1)).tolist() == [[8], [8], [8]]
    assert tu.np_reduce(np.ones((2, 3)), (0,), True, np.sum).tolist() == [[2, 2, 2]]


def test_distributions_are_told_apart() -> None:
    rng = np.random.default_rng(4)
    buckets, probs = tu.gen_buckets_probs_with_ppf(lambda p: p, 5)
    assert min(tu.verify_generator(rng.random, buckets, probs, nsamples=20000, success_rate=0.4)) >= 0
    with pytest.raises(AssertionError, match="Generator test fails"):
        tu.verify_generator(lambda n: rng.random(n) ** 1.2, buckets, probs, nsamples=20000)
    assert tu.mean_check(rng.standard_normal, 0, 1, 10000) and tu.var_check(rng.standard_normal, 1, 10000)
    assert not tu.mean_check(lambda n: rng.standard_normal(n) + 0.2, 0, 1, 10000)
    # just three standard deviations of the variance away is too far: 3 where there are 3 samples
    assert not tu.var_check(lambda n: [-2.0, 0.0, 2.0], 1, 3) and tu.var_check(lambda n: [-1.99, 0.0, 1.99], 1, 3)
    # a p value has to be above alpha
    fixed = {"generator": lambda n: [0] * 7 + [1] * 3, "buckets": [0, 1], "probs": [0.5, 0.5], "nsamples": 10}
    (p,) = tu.verify_generator(**fixed, nrepeat=1, alpha=0)
    assert p == pytest.approx(math.erfc(math.sqrt(1.6 / 2)))
    for alpha, fits in ((p - 1e-6, True), (p, False), (p + 1e-6, False)):
        with contextlib.nullcontext() if fits else pytest.raises(AssertionError, match="Generator test fails"):
            tu.verify_generator(**fixed, nrepeat=1, success_rate=1, alpha=alpha)


@pytest.mark.parametrize(
    ("statistic", "freedom", "wanted"),  # from tables of the chi-square distribution
    [(3.841459, 1, 0.05), (9.487729, 4, 0.05), (18.307038, 10, 0.05), (2.167350, 7, 0.95), (124.342113, 100, 0.05)],
)
def test_chi_square_tail(statistic: float, freedom: int, wanted: float) -> None:
    from hybrid.test_utils.statistics import _chi_square_tail

    assert _chi_square_tail(statistic, freedom) == pytest.approx(wanted, abs=1e-6)


# -- surroundings -----------------------------------------------------------------------------------------------------------


def test_environment_is_restored() -> None:
    with tu.environment({"GLUONNX_A": "1", "PATH": None}):
        assert tu.getenv("GLUONNX_A") == "1" and tu.getenv("PATH") is None
    assert tu.getenv("GLUONNX_A") is None and tu.getenv("PATH")
    with pytest.raises(AssertionError), tu.environment("GLUONNX_A"):
        pass


def test_retry_calls_again() -> None:
    calls = []

    @tu.retry(3)
    def flaky() -> None:
        calls.append(1)
        assert len(calls) == 2

    flaky()
    assert len(calls) == 2
    with pytest.raises(AssertionError):
        flaky()
    assert len(calls) == 5


def test_stderr_is_discarded(capfd: pytest.CaptureFixture[str]) -> None:
    with tu.discard_stderr():
        os.write(sys.stderr.fileno(), b"hidden")
    sys.stderr.write("shown")
    assert capfd.readouterr().err == "shown"


def test_default_context() -> None:
    before = tu.default_context()
    tu.set_default_context(mx.cpu(3))
    assert mx.current_context() == tu.default_context() == mx.cpu(3)
    tu.set_default_context(before)
    assert list(tu.list_gpus()) == [] and not tu.has_tvm_ops() and tu.is_op_runnable()


def test_dummy_iterator_repeats_the_first_batch() -> None:
    dummy = tu.DummyIter(mx.io.NDArrayIter(np.arange(6.0).reshape(3, 2), np.zeros(3), 1))
    assert [next(dummy).data[0].asnumpy().tolist() for _ in range(5)] == [[[0, 1]]] * 5


def test_files_have_to_be_there(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for function in (tu.get_mnist, tu.get_mnist_ubyte, tu.get_mnist_pkl, tu.get_cifar10):
        with pytest.raises(mx.MXNetError, match="is not downloaded"):
            function()
    with pytest.raises(mx.MXNetError, match=r"x\.zip is not there, and http://example\.org/x\.zip is not downloaded"):
        tu.download("http://example.org/x.zip", dirname="data")
    for part, count in (("train", 3), ("t10k", 2)):
        pixels = bytes(range(256))[:1] * (count * 784)
        with gzip.open(f"{part}-images-idx3-ubyte.gz", "wb") as file:
            file.write(struct.pack(">4I", 2051, count, 28, 28) + pixels)
        with gzip.open(f"{part}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">2I", 2049, count) + bytes(range(count)))
    data = tu.get_mnist()
    assert data["train_data"].shape == (3, 1, 28, 28) and data["test_label"].tolist() == [0, 1]


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed + sum(shape)).uniform(-1, 1, shape).astype(np.float32)


def test_checks_over_several_outputs_and_on_another_device() -> None:
    """Every check takes NDArrays, dicts of several, and a device; the wrong one of several is noticed."""
    a, b = mx.sym.var("a"), mx.sym.var("b")
    pair = mx.sym.Group([mx.sym.elemwise_mul(a, b, name="p"), mx.sym.square(b, name="q")])
    x, y = numbers(2, 3), numbers(2, 3, seed=1)
    there = mx.cpu(1)
    location = {"b": mx.nd.array(y, ctx=there), "a": mx.nd.array(x, ctx=there)}
    heads = [numbers(2, 3, seed=2), numbers(2, 3, seed=3)]
    da, db = heads[0] * y, heads[0] * x + 2 * y * heads[1]
    one = mx.nd.array(heads[0])
    for got in tu.check_symbolic_forward(pair, location, {"q_output": y * y, "p_output": x * y}, ctx=there):
        assert got.context == there
    for given in (heads, [mx.nd.array(h) for h in heads], dict(zip(["p_output", "q_output"], heads)), [one, heads[1]]):
        tu.check_symbolic_backward(pair, location, given, {"b": db, "a": da}, ctx=there)
        tu.check_symbolic_backward(pair, [x, y], given, [da, db])
    tu.check_symbolic_backward(pair, [x, y], {"p_output": one, "q_output": mx.nd.array(heads[1])}, [da, db])
    loss = mx.sym.make_loss(a * b)
    tu.check_symbolic_backward(loss, [x, y], None, [y, x])
    drop = mx.sym.Dropout(a, p=0.99)
    np.testing.assert_array_equal(tu.simple_forward(drop, a=x), x)
    drawn = tu.simple_forward(drop, there, is_train=True, a=np.ones((40, 40)))
    assert (drawn == 0).mean() > 0.8 and drawn.max() > 50
    tu.check_numeric_gradient(a * b, location, rtol=0.05, atol=1e-3, ctx=there)
    tu.check_numeric_gradient(a * b, [x, y], rtol=0.05, atol=1e-3, numeric_eps=1e-3)
    tu.check_numeric_gradient(mx.sym.dot(a, b), [x, y.T], rtol=0.05, atol=1e-2, grad_stype_dict={"a": "default"})
    with pytest.raises(AssertionError, match="too small"):
        tu.check_numeric_gradient(a * b, [x, y], numeric_eps=0.9e-5)
    norm = mx.sym.BatchNorm(a, mx.sym.var("g"), mx.sym.var("c"), fix_gamma=False, use_global_stats=True, name="n")
    states = {"n_moving_mean": numbers(3), "n_moving_var": numbers(3, seed=4) + 2}
    factor = 1 / np.sqrt(states["n_moving_var"] + 1e-3)
    wanted = {"a": heads[0] * y[0] * factor, "c": heads[0].sum(0)}
    for given in (states, list(states.values())):
        tu.check_symbolic_backward(norm, [x, y[0], x[0]], [heads[0]], wanted, rtol=1e-4, aux_states=given)
    with pytest.raises(AssertionError):
        tu.check_symbolic_backward(
            norm, [x, y[0], x[0]], [heads[0]], wanted, rtol=1e-4, aux_states={**states, "n_moving_var": np.ones(3)}
        )
    with pytest.raises(AssertionError):
        tu.check_symbolic_forward(pair, [x, y], [x * y, y * y + 0.1])
    with pytest.raises(
        ValueError, match=r"arguments and keys .* do not match: symbol \['a', 'b'\], given \['a', 'c'\]"
    ):
        tu.check_symbolic_forward(pair, {"c": x, "a": y}, [x, x])
    assert tu.check_speed(pair, {"a": x, "b": y}, there, N=2) > 0
    assert tu.check_speed(pair, N=2, typ="forward", grad_req="null", a=(2, 3), b=(2, 3)) > 0


def test_consistency_of_several_ways() -> None:
    a = mx.sym.var("a")
    ways = [{"ctx": mx.cpu(), "a": (2, 3), "type_dict": {"a": d}} for d in (np.float64, np.float16, np.float32)]
    rough = mx.sym.Group([mx.sym.square(a, name="x"), mx.sym.Cast(a, dtype="int32", name="i")])
    np.random.seed(3)
    found = tu.check_consistency(rough, ways, scale=3.0)
    assert {"x_output", "i_output", "a"} <= set(found) and found["x_output"].dtype == np.float64
    with pytest.raises(AssertionError, match="one symbol for each way"):
        tu.check_consistency([a * 2, a * 2], ways)
    with pytest.raises(AssertionError, match="one symbol for each way"):
        tu.check_consistency([a * 2, a * 2, mx.sym.var("b") * 2], ways)
    with pytest.raises(AssertionError):  # the gradient of a whole number is none
        tu.check_consistency(rough, ways, ground_truth={"x_output": mx.nd.ones((2, 3)), "a": None})
    tu.check_consistency(rough, ways, ground_truth={"a": None})
    # a float32 output of half floats is as good as they are
    loose = mx.sym.Cast(mx.sym.exp(mx.sym.Cast(a, dtype="float16")), dtype="float32")
    exact = mx.sym.exp(a, name=loose.name)
    narrow = [{"ctx": mx.cpu(), "a": (50,), "type_dict": {"a": np.float32}}] * 2
    with pytest.raises(AssertionError):
        tu.check_consistency([exact, loose], narrow, rtol=1e-6, atol=1e-6)


def test_blocks_and_optimizers_that_differ() -> None:
    class Two(nn.HybridBlock):
        def hybrid_forward(self, F, x, y):  # noqa: N803
            return x * x * y

    data = [mx.nd.array(numbers(2, 3)), mx.nd.array(numbers(2, 3, seed=1))]
    tu.check_gluon_hybridize_consistency(Two, data, lambda x, y: x * x * y)
    tu.check_gluon_hybridize_consistency(Two, data, lambda x, y: x * x * y, test_grad=False)
    with pytest.raises(AssertionError):
        tu.check_gluon_hybridize_consistency(Two, data, lambda x, y: x * y)

    class Unlike(Two):
        def hybrid_forward(self, F, x, y):  # noqa: N803
            return F.BlockGrad(x) * x * y if F is mx.sym else x * x * y

    tu.check_gluon_hybridize_consistency(Unlike, data, test_grad=False)
    with pytest.raises(AssertionError):
        tu.check_gluon_hybridize_consistency(Unlike, data)
    sgd = mx.optimizer.SGD

    class Forgets(sgd):
        """Weights are right, and the state is changed afterwards."""

        def update_multi_precision(self, index, weight, grad, state):
            super().update_multi_precision(index, weight, grad, state)
            for one in state if isinstance(state, list) else [state]:
                one[:] = 7

    for shape, more in (((3, 4), {}), ([(3, 4), (2,)], {"ntensors": 2})):
        tu.compare_optimizer(sgd(momentum=0.5), sgd(momentum=0.5), shape, np.float32, **more)
        tu.compare_optimizer(sgd(momentum=0.5), Forgets(momentum=0.5), shape, np.float32, compare_states=False, **more)
        with pytest.raises(AssertionError):
            tu.compare_optimizer(sgd(momentum=0.5), Forgets(momentum=0.5), shape, np.float32, **more)
        tu.compare_optimizer(sgd(momentum=0.5), Forgets(momentum=0.5), shape, np.float32, rtol=100, atol=100, **more)
    with pytest.raises(AssertionError, match="ntensors=2 for one shape"):
        tu.compare_optimizer(sgd(), sgd(), (3, 4), np.float32, ntensors=2)
    tu.compare_optimizer(sgd(lazy_update=False), sgd(lazy_update=False), (6, 4), np.float32, "row_sparse", "row_sparse")


def test_random_arrays_of_every_kind() -> None:
    """Shapes may be empty where that is asked, sparse ones are as full, as large, and as much in order as asked."""
    there = mx.cpu(1)
    np.random.seed(0)
    sizes = [n for _ in range(40) for n in tu.rand_shape_3d(2, 2, 2, allow_zero_size=True)]
    assert set(sizes) == {0, 1, 2} and {n for _ in range(40) for n in tu.rand_shape_3d(2, 2, 2)} == {1, 2}
    assert {n for _ in range(40) for n in tu.rand_shape_2d(2, 2, True) + tu.rand_shape_nd(2, 2, True)} == {0, 1, 2}
    whole = tu.rand_ndarray((3, 4), "default", dtype="float64", ctx=there)
    assert (whole.dtype, whole.context, whole.shape) == (np.float64, there, (3, 4))
    rows = tu.rand_ndarray((5, 4), "row_sparse", density=1.0, dtype="float64", modifier_func=lambda v: v + 3, ctx=there)
    assert rows.dtype == np.float64 and rows.context == there and (rows.asnumpy() >= 3).all()
    full = tu.rand_ndarray((4, 6), "csr", density=1.0, shuffle_csr_indices=True, ctx=there)
    assert full.context == there
    orders = [full.indices.asnumpy()[6 * i : 6 * i + 6].tolist() for i in range(4)]
    assert all(sorted(o) == list(range(6)) for o in orders) and any(o != list(range(6)) for o in orders)
    kept = tu.rand_ndarray((4, 6), "csr", density=1.0)
    assert kept.indices.asnumpy().reshape(4, 6).tolist() == [list(range(6))] * 4
    made = tu.create_sparse_array((4, 5), "csr", data_init=2.5, density=0.5, dtype="float64")
    assert made.dtype == np.float64 and sorted(made.asnumpy().ravel()) == [0] * 10 + [2.5] * 10
    zero = tu.create_sparse_array_zd((4, 5), "csr", 0.5, data_init=2.5, dtype="float64")
    assert zero.dtype == np.float64 and (zero.asnumpy() == 2.5).sum() == 10
    some = tu.create_sparse_array_zd(
        (4, 5), "row_sparse", 0.9, dtype="float64", rsp_indices=[2, 0], modifier_func=lambda v: 4
    )
    assert some.dtype == np.float64 and some.asnumpy().tolist() == [[4] * 5, [0] * 5, [4] * 5, [0] * 5]
    shuffled = tu.create_sparse_array_zd((3, 9), "csr", 1.0, shuffle_csr_indices=True)
    assert shuffled.indices.asnumpy().tolist() != list(range(9)) * 3
    assert tu.create_sparse_array((4, 2), "row_sparse", rsp_indices=[3, 1], density=1.0).indices.asnumpy().tolist() == [
        1,
        3,
    ]
    for density, wanted in ((1 / 3, [2, 4, 1, 1]), (0.5, [2, 4, 5, 1]), (14 / 24, [2, 4, 6, 2]), (0.75, [2, 4, 6, 6])):
        found, _ = tu.rand_sparse_ndarray((4, 6), "csr", density, distribution="powerlaw", ctx=there)
        assert found.context == there and (found.asnumpy()[:, 0] > 1).all()
        assert (found.asnumpy() != 0).sum(1).tolist() == wanted
    assert (tu.rand_sparse_ndarray((3, 4), "csr", 0.5, distribution="powerlaw")[0].asnumpy() != 0).sum() == 6
    uniform, (starts, columns, data) = tu.rand_sparse_ndarray((4, 6), "csr", 0.5, distribution="uniform")
    assert starts[-1] == len(columns.asnumpy()) == len(data.asnumpy()) == 12 and (uniform.asnumpy() < 1).all()
    power = lambda *given: tu.rand_sparse_ndarray(*given, distribution="powerlaw")  # noqa: E731
    for error, text, call in (
        (AssertionError, "not supported for row_sparse", lambda: power((4, 6), "row_sparse", 1)),
        (AssertionError, "not supported for csr", lambda: tu.rand_sparse_ndarray((4, 6), "csr", 1, distribution="other")),
        (AssertionError, "two dimensions", lambda: tu.rand_sparse_ndarray((4, 6, 1), "csr", 1)),
        (ValueError, "greater than 0", lambda: tu.rand_sparse_ndarray((4, 0), "csr", 1)),
        (ValueError, "between 0 and 1", lambda: tu.rand_sparse_ndarray((4, 6), "csr", 1.1)),
        (ValueError, "Please keep", lambda: power((4, 6), "csr", 7 / 24)),
        (ValueError, "not supported for this density", lambda: power((2, 30), "csr", 0.9)),
        (AssertionError, "cannot be broadcast", lambda: tu.collapse_sum_like(np.ones((2, 3)), (1, 2, 3))),
        (AssertionError, "cannot be broadcast", lambda: tu.collapse_sum_like(np.ones((2, 3)), (3, 3))),
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            call()


def test_frequencies_of_discrete_values() -> None:
    """Pearson's statistic by hand, of values and of intervals with gaps; what lies outside of all is not counted."""
    samples = np.repeat([0, 1, 2, 3], [30, 50, 10, 10])
    p, observed, expected = tu.chi_square_check(lambda n: samples, [0, 1, 2], [0.25, 0.5, 0.25], 100)
    assert observed.tolist() == [30, 50, 10] and expected.tolist() == [25, 50, 25]
    assert p == pytest.approx(np.exp(-(25 / 25 + 225 / 25) / 2))  # two degrees of freedom
    p, observed, _ = tu.chi_square_check(
        lambda n: samples, [(-0.5, 0.5), (1.5, 2.5), (2.5, 2.75)], [0.3, 0.1, 0.6], 100
    )
    assert observed.tolist() == [30, 60, 0]  # as MXNet's does, what lies between two goes to the next
    p, _, _ = tu.chi_square_check(lambda n: samples, [0, 1], [0.3, 0.5], 100)
    assert p == 1.0
    assert tu.chi_square_check(lambda n: samples, [0], [0.1], 100)[0] == 1.0  # no freedom
    with pytest.raises(AssertionError, match="2 probabilities for 2 buckets, wanted a list"):
        tu.chi_square_check(lambda n: samples, (0, 1), [0.5, 0.5], 100)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="1 probabilities for 2 buckets"):
        tu.chi_square_check(lambda n: samples, [0, 1], [0.5], 100)
    with pytest.raises(AssertionError, match="not in ascending order"):
        tu.chi_square_check(lambda n: samples, [(1, 2), (0, 1)], [0.5, 0.5], 100)
    good, bad = np.repeat([0, 1], [50, 50]), np.repeat([0, 1], [90, 10])
    for wrong, fails in ((2, False), (3, True)):
        turns = iter([bad] * wrong + [good] * (4 - wrong))
        call = lambda: tu.verify_generator(lambda n: next(turns), [0, 1], [0.5, 0.5], 100, nrepeat=4, success_rate=0.5)  # noqa: E731, B023
        if fails:
            with pytest.raises(AssertionError, match="Generator test fails"):
                call()
        else:
            assert [v > 0.05 for v in call()] == [False, False, True, True]


def test_tolerances_are_handed_on(capsys: pytest.CaptureFixture[str]) -> None:
    a, b = np.array([1.0, 2.0, np.nan, 4.0]), np.array([1.0, 2.1, np.nan, 4.0])
    tu.assert_almost_equal_with_err(a, b, rtol=0.2, equal_nan=True)
    tu.assert_almost_equal_with_err(a[:2], b[:2], atol=0.2)
    tu.assert_almost_equal_with_err(a[:2], b[:2], etol=0.5)  # as many as may be wrong
    tu.assert_almost_equal_ignore_nan(a, b, rtol=0.1)
    tu.assert_almost_equal_ignore_nan(a, b, atol=0.2)
    tu.compare_ndarray_tuple(
        (mx.nd.array(a[:2]), (None, mx.nd.array(b[:2]))), (mx.nd.array(b[:2]), (3, mx.nd.array(a[:2]))), 0.2, 0
    )
    tu.compare_ndarray_tuple((mx.nd.array(a[:2]),), (mx.nd.array(b[:2]),), 0, 0.2)
    tu.compare_ndarray_tuple((mx.nd.array(a[:2]),), (None,))
    tu.compare_ndarray_tuple(mx.nd.array(a[:2]), None)
    for call in (
        lambda: tu.assert_almost_equal_with_err(a, b, rtol=0.2),
        lambda: tu.assert_almost_equal_with_err(a, b, atol=0.2),
        lambda: tu.assert_almost_equal_with_err(a, b, equal_nan=True),
        lambda: tu.assert_almost_equal_with_err(a[:3], b[:3], etol=0.3),
        lambda: tu.assert_almost_equal_ignore_nan(a, b, rtol=0.01),
        lambda: tu.compare_ndarray_tuple((mx.nd.array(a[:2]),), (mx.nd.array(b[:2]),)),
        lambda: tu.assert_almost_equal(a[:2], b[:1] + 0 * a[:2], use_broadcast=False),
    ):
        with pytest.raises(AssertionError):
            call()
    with pytest.raises(AssertionError, match="x=2"):
        tu.assert_almost_equal_ignore_nan(a, b, names=("x", "y"))
    assert not tu.almost_equal(a[:2], b[:2]) and tu.almost_equal(a[:1], b[:1] + np.zeros(3))
    with pytest.raises(AssertionError):
        tu.almost_equal(a[:1], np.ones(3), use_broadcast=False)
    capsys.readouterr()
    with pytest.raises(AssertionError, match=r"mismatch at least 100\.000000%"):
        tu.assert_almost_equal(np.arange(3.0), np.arange(3.0) + 1, mismatches=(1, 2))
    assert capsys.readouterr().out.count("Error") == 1
    shared = mx.nd.ones(3)
    assert tu.same_array(shared, shared) and not tu.same_array(shared, mx.nd.ones(3) * 2)
    assert shared.asnumpy().tolist() == [1, 1, 1]


def test_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    for machine in ("aarch64", "x86_64"):
        monkeypatch.setattr("platform.machine", lambda machine=machine: machine)
        assert tu.is_aarch64_run() is (machine == "aarch64")
    for value, wanted in (("1", True), ("0", False), (None, False)):
        with tu.environment("CD_JOB", value):
            assert tu.is_cd_run() is wanted
    for wrong in (("A", "B", "C"), ("A",), ({"A": "B"}, "C", "D")):
        with pytest.raises(AssertionError, match="one dict arg or two"), tu.environment(*wrong):
            pass
    monkeypatch.setattr(sys, "stderr", None)
    with tu.discard_stderr():
        pass
    iterator = mx.io.NDArrayIter(np.arange(6).reshape(3, 2), None, 1)
    for batch in (b for b, _ in zip(tu.DummyIter(iterator), range(3))):
        assert batch.data[0].asnumpy().tolist() == [[0, 1]]
    (tmp_path / "there.bin").write_bytes(b"x")
    (tmp_path / "own").write_bytes(b"y")
    assert tu.download("http://x/there.bin", dirname=str(tmp_path)) == str(tmp_path / "there.bin")
    assert tu.download("http://x/none.bin", "own", str(tmp_path), retries=1) == str(tmp_path / "own")
    for call in (
        lambda: tu.download("http://x/there.bin", dirname=str(tmp_path), overwrite=True),
        lambda: tu.download("http://x/none.bin", dirname=str(tmp_path)),
    ):
        with pytest.raises(mx.MXNetError, match="unless the user says so"):
            call()


def test_requests_in_a_list_belong_to_arguments_in_their_order() -> None:
    """Whatever order what is expected is given in, and of how many arguments."""
    x, y, z = (mx.sym.var(n) for n in "xyz")
    net, given = x * y + z * 3, [np.full(2, v, np.float32) for v in (2, 5, 7)]
    requests = ["write", "null", "add"]
    for names in ("zyx", "xyz", "zx", "z"):
        want = {n: {"x": given[1], "y": given[0], "z": np.full(2, 3.0, np.float32)}[n] for n in names}
        found = tu.check_symbolic_backward(net, given, [np.ones(2, np.float32)], want, grad_req=requests)
        assert [*found] == sorted(names)
        if "x" in names:
            np.testing.assert_allclose(found["x"].asnumpy(), 5, rtol=1e-5)
        with pytest.raises(AssertionError):
            wrong = want | {"z": want["z"] + 1}
            tu.check_symbolic_backward(net, given, [np.ones(2, np.float32)], wrong, grad_req=requests)
