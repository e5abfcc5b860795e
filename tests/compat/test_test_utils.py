"""mx.test_utils: what holds, what does not, and what is said then. The messages are MXNet 1.9.1's."""

import gzip
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
        with pytest.raises(mx.MXNetError, match="nothing is ever downloaded"):
            function()
    with pytest.raises(mx.MXNetError, match=r"Put the file at .*x\.zip"):
        tu.download("http://example.org/x.zip", dirname="data")
    for part, count in (("train", 3), ("t10k", 2)):
        pixels = bytes(range(256))[:1] * (count * 784)
        with gzip.open(f"{part}-images-idx3-ubyte.gz", "wb") as file:
            file.write(struct.pack(">4I", 2051, count, 28, 28) + pixels)
        with gzip.open(f"{part}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">2I", 2049, count) + bytes(range(count)))
    data = tu.get_mnist()
    assert data["train_data"].shape == (3, 1, 28, 28) and data["test_label"].tolist() == [0, 1]
