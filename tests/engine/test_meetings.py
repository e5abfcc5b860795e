"""States in which computations meet arrays: errors of before, readers and writers that are not done, other devices."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, gluon, native, nd
from hybrid.core.error import InternalError, MXNetError
from hybrid.core.op import lookup
from hybrid.execution.scheduler import SCHEDULER
from tests.engine.test_deferred import deferred  # noqa: F401  a fixture
from tests.engine.test_engine import forget_calls


def broken(values: Any) -> nd.NDArray:
    """An array of which the computation has failed, which nobody knows yet."""
    y = nd.array(values)

    def fail() -> None:
        raise MXNetError("no numbers today")

    SCHEDULER.push(fail, (), [y._shared_var()])
    SCHEDULER.drain()
    return y


class Twice(gluon.HybridBlock):
    def hybrid_forward(self, F, x):  # noqa: N803
        return F.exp(x) * 2


def hybridized(**flags: Any) -> gluon.HybridBlock:
    net = Twice()
    net.hybridize(**flags)
    return net


X = np.array([[1.0, 2, 3], [4, 5, 6]])
USES: dict[str, Callable[[nd.NDArray, nd.NDArray], Any]] = {
    "alone": lambda b, x: nd.exp(b),
    "first": lambda b, x: b * x,
    "second": lambda b, x: x * b,
    "both": lambda b, x: b * b,
    "third": lambda b, x: nd.where(x, x, b),
    "of several": lambda b, x: nd.concat(x, b, x, dim=0),
    "with a number": lambda b, x: 2 - b,
    "spread": lambda b, x: nd.broadcast_add(nd.ones((1, 3)), b),
    "large": lambda b, x: nd.broadcast_add(b.reshape((1, 2, 3)), nd.ones((20_000, 2, 3))),
    "part": lambda b, x: b[1],
    "picked": lambda b, x: b[[1, 0]],
    "shape": lambda b, x: b.reshape((3, 2)),
    "copy": lambda b, x: b.copy(),
    "assigned": lambda b, x: (x.__setitem__(slice(None), b), x)[1],
    "assigned in part": lambda b, x: (x.__setitem__(0, b[0]), x)[1],
    "in place": lambda b, x: x.__iadd__(b),
    "written to another": lambda b, x: nd.exp(b, out=x),
    "several outputs": lambda b, x: nd.split(b, num_outputs=3, axis=1)[2],
    "a block": lambda b, x: hybridized()(b),
    "a block twice": lambda b, x: (net := hybridized(static_alloc=True, static_shape=True), net(x), net(x), net(b))[3],
    "values decide": lambda b, x: nd.contrib.boolean_mask(b, nd.array([0, 1])),
    "sum": lambda b, x: nd.add_n(x, x, b),
}


@pytest.mark.parametrize("later", [False, True])
def test_what_uses_a_failed_array_fails_as_it_did(later: bool, request: pytest.FixtureRequest) -> None:
    """Whatever is done with it, at once or later; and neither is anything else to be seen of it, nor said twice."""
    if later:
        request.getfixturevalue("deferred")
    silent = []
    for name, use in USES.items():
        b, x = broken(X), nd.array(X + 1)
        try:
            use(b, x).asnumpy()
        except MXNetError as error:
            if "no numbers today" not in str(error):
                silent.append((name, str(error)))
            continue
        silent.append((name, "nothing"))
    assert not silent
    nd.waitall()


@pytest.mark.parametrize("later", [False, True])
def test_written_anew_a_failed_array_is_as_good_as_any(later: bool, request: pytest.FixtureRequest) -> None:
    if later:
        request.getfixturevalue("deferred")
    x = nd.array(X + 1)
    writes: dict[str, tuple[Callable[[nd.NDArray], Any], np.ndarray]] = {
        "out": (lambda b: nd.square(x, out=b), (X + 1) ** 2),
        "out of two": (lambda b: nd.elemwise_mul(x, x, out=b), (X + 1) ** 2),
        "out of several": (lambda b: nd.add_n(x, x, x, out=b), (X + 1) * 3),
        "all of it": (lambda b: b.__setitem__(slice(None), x), X + 1),
        "a number": (lambda b: b.__setitem__(slice(None), 7), X * 0 + 7),
        "copied": (lambda b: x.copyto(b), X + 1),
    }
    for name, (write, want) in writes.items():
        b = broken(X)
        write(b)
        np.testing.assert_array_equal(b.asnumpy(), want.astype(np.float32), err_msg=name)
        np.testing.assert_array_equal((b * 2).asnumpy(), 2 * want.astype(np.float32), err_msg=name)
    with pytest.raises(MXNetError, match="no numbers today"):
        nd.waitall()  # nobody has seen one of these
    nd.waitall()


def read_late(x: nd.NDArray) -> tuple[list[np.ndarray], threading.Timer]:
    """Something that reads the array a moment later, in its turn: what it will have read, and what starts that moment."""
    gate, seen = threading.Event(), []

    def read() -> None:
        gate.wait()
        seen.append(x._memory.copy())

    SCHEDULER.push(read, [x._shared_var()], ())
    return seen, threading.Timer(0.01, gate.set)


def test_who_writes_waits_for_those_that_read() -> None:
    """Small operators too, which are computed at once where nothing is in the way."""
    g = nd.array(X)

    writes: dict[str, tuple[Callable[[nd.NDArray, nd.NDArray], Any], Any, Any]] = {
        "out": (lambda x, m: nd.square(g, out=x), X**2, X),
        "out of two": (lambda x, m: nd.elemwise_mul(g, g, out=x), X**2, X),
        "out of three": (lambda x, m: nd.add_n(g, g, g, out=x), X * 3, X),
        "one of two outputs": (lambda x, m: nd.split(nd.concat(g, g, dim=0), num_outputs=2, axis=0, out=[m, x]), X, X),
        "assigned": (lambda x, m: x.__setitem__(slice(None), g), X, X),
        "a part": (lambda x, m: x.__setitem__(1, 9), [[0, 0, 0], [9, 9, 9]], X),
        "in place": (lambda x, m: x.__iadd__(g), X, X),
        "a step": (lambda x, m: nd.sgd_mom_update(x, g, m, lr=1.0, momentum=0.5, wd=0.0, out=x), -X, -X),
        "a step's state": (lambda x, m: nd.sgd_mom_update(x, g, m, lr=1.0, momentum=0.5, wd=0.0, out=x), -X, -X),
    }  # fmt: skip
    for name, (write, want, state) in writes.items():
        x, m = nd.zeros((2, 3)), nd.zeros((2, 3))
        seen, timer = read_late(m if "state" in name else x)
        timer.start()
        write(x, m)
        np.testing.assert_array_equal(x.asnumpy(), np.array(want, np.float32), err_msg=name)
        if "step" in name:
            np.testing.assert_array_equal(m.asnumpy(), state.astype(np.float32))
        SCHEDULER.drain()
        np.testing.assert_array_equal(seen, np.zeros((1, 2, 3)), err_msg=name)
        timer.join()


def test_who_writes_waits_for_those_that_have_yet_to_write() -> None:
    g = nd.array(X)
    for name, write in {
        "out": lambda x: nd.square(g, out=x), "out of two": lambda x: nd.elemwise_mul(g, g, out=x),
        "out of three": lambda x: nd.where(g, g * g, g, out=x), "assigned": lambda x: x.__setitem__(slice(None), g * g),
    }.items():  # fmt: skip
        x, gate = nd.zeros((2, 3)), threading.Event()

        def late(x: nd.NDArray = x, gate: threading.Event = gate) -> None:
            gate.wait()
            x._memory[...] = 5  # type: ignore[index]

        SCHEDULER.push(late, (), [x._shared_var()])
        timer = threading.Timer(0.01, gate.set)
        timer.start()
        write(x)
        np.testing.assert_array_equal(x.asnumpy(), (X**2).astype(np.float32), err_msg=name)
        timer.join()
        big = nd.ones((700, 700))
        target = nd.broadcast_add(nd.dot(big, big)[0][:3] * 0, g)  # which has no memory yet
        assert target._memory is None
        write(target)
        np.testing.assert_array_equal(target.asnumpy(), (X**2).astype(np.float32), err_msg=name)


def test_running_statistics_wait_for_those_that_read_them() -> None:
    net = gluon.nn.BatchNorm(in_channels=1, momentum=0.5)
    net.initialize()
    net.hybridize()
    x = nd.array([[1.0], [3.0]])
    for _ in range(2):
        with autograd.record():
            y = net(x)
        before = net.running_mean.data().asnumpy()
        seen, timer = read_late(net.running_mean.data())
        timer.start()
        y.backward()
        np.testing.assert_allclose(net.running_mean.data().asnumpy(), before * 0.5 + 1)
        SCHEDULER.drain()
        np.testing.assert_array_equal(seen[0], before)
        timer.join()


@pytest.mark.parametrize("flags", [{}, {"static_alloc": True, "static_shape": True}], ids=str)
def test_a_call_that_is_like_one_before_looks_at_everything_again(flags: dict[str, bool]) -> None:
    """A hybridized block goes a shorter way when nothing has changed: each of these has, and gives its own numbers."""
    net = gluon.nn.Dense(2, in_units=3, activation="relu")
    net.initialize(mx.init.Uniform(1))
    net.hybridize(**flags)

    def want(x: np.ndarray) -> np.ndarray:
        weight, bias = net.weight.data().asnumpy(), net.bias.data().asnumpy()
        return np.maximum(x.astype(np.float32) @ weight.T + bias, 0)

    def check(x: nd.NDArray, values: np.ndarray) -> None:
        y = net(x)
        np.testing.assert_allclose(y.asnumpy(), want(values), rtol=1e-5, atol=1e-6)
        assert y.context == x.context and y.shape == (len(values), 2) and y._origin is None

    for _ in range(3):
        check(nd.array(X), X)
    check(nd.array(X - 2), X - 2)
    check(nd.array(X[:1]), X[:1])
    check(nd.array(X), X)
    check(nd.array(X + 1) * 2, X * 2 + 2)
    with pytest.raises(MXNetError, match="dtype"):
        net(nd.array(X, dtype="float64")).asnumpy()
    check(nd.array(X, ctx=mx.cpu(0)), X)
    big = nd.ones((700, 700))
    late = nd.broadcast_add(nd.dot(big, big)[0][:3] * 0, nd.array(X))  # not there yet
    assert late._memory is None
    check(late, X)
    level = native.level()
    native.use(None)
    check(nd.array(X), X)
    native.use(level)
    check(nd.array(X), X)
    with pytest.raises(MXNetError, match="no numbers today"):
        net(broken(X)).asnumpy()
    check(nd.array(X), X)
    net.weight.data()[0] = 0.25
    check(nd.array(X), X)
    net.bias.set_data(nd.array([3, -1]))
    check(nd.array(X), X)
    with autograd.train_mode():
        check(nd.array(X), X)
    x = nd.array(X)
    x.attach_grad()
    with autograd.record():
        y = net(x)
    y.backward()
    active = (want(X) > 0).astype(np.float32)
    np.testing.assert_allclose(x.grad.asnumpy(), active @ net.weight.data().asnumpy(), rtol=1e-5)
    check(nd.array(X), X)
    half = nd.array(X)
    seen, timer = read_late(half)
    timer.start()
    check(half, X)
    timer.join()
    SCHEDULER.drain()
    assert len(seen) == 1
    net.cast("float64")
    got = net(nd.array(X, dtype="float64"))
    assert got.dtype is np.float64
    np.testing.assert_allclose(got.asnumpy(), want(X), rtol=1e-6)


def test_a_fast_call_asks_whose_parameters_these_are_and_what_they_hold() -> None:
    """Parameters on two devices, others in their place with the old ones still about, an array that is being written to."""
    net = gluon.nn.Dense(2, in_units=3, use_bias=False)
    net.initialize(mx.init.Uniform(1), ctx=[mx.cpu(0), mx.cpu(1)])
    net.hybridize()
    weight = net.weight
    weight.data(mx.cpu(1))[:] = nd.array([[3, 0, 0], [0, 0, 2]], ctx=mx.cpu(1))
    inputs, written = [nd.array(X, ctx=mx.cpu(i)) for i in (0, 1)], nd.zeros((1,))
    written._shared_var()

    def check(i: int, x: nd.NDArray | None = None, values: np.ndarray = X) -> None:
        got = net(inputs[i] if x is None else x)
        np.testing.assert_allclose(got.asnumpy(), values @ weight.data(mx.cpu(i)).asnumpy().T, rtol=1e-5, atol=1e-5)
        assert got.context == mx.cpu(i)

    for turn in (0, 0, 1, 1, 0, 1, 1):
        check(turn)
        written[:] = 3
        check(turn)
    before = [weight.data(mx.cpu(i)) for i in (0, 1)]
    net.initialize(mx.init.Constant(0.25), ctx=[mx.cpu(1), mx.cpu(0)], force_reinit=True)
    assert all(x is not before[i] for i in (0, 1) for x in weight.list_data())
    for turn in (1, 0):
        check(turn)
    weight.set_data(nd.array([[1, 2, 3], [4, 5, 6]]))
    for turn in (1, 0, 0):
        check(turn)
    x, gate = nd.array(X), threading.Event()
    var = x._shared_var()

    def write() -> None:
        gate.wait()
        x._memory[...] = 7  # type: ignore[index]

    SCHEDULER.push(write, (), [var])
    assert x._memory is not None and var.writer is not None
    timer = threading.Timer(0.01, gate.set)
    timer.start()
    check(0, x, np.full((2, 3), 7))
    timer.join()


@pytest.mark.parametrize("flags", [{}, {"static_alloc": True, "static_shape": True}])
def test_arrays_that_programs_put_in_the_place_of_parameters_are_seen(flags: dict[str, bool]) -> None:
    """Parts of one array, which have one version, where nothing is made or written to between two calls."""
    rng = np.random.default_rng(0)
    weights, biases, rows = rng.random((3, 16, 32)), rng.random((3, 16)), rng.random((4, 32))
    net = gluon.nn.Dense(16, in_units=32)
    net.initialize()
    net.hybridize(**flags)
    parts = [(nd.array(weights)[i], nd.array(biases)[i]) for i in range(3)]
    stack, bias = nd.array(weights), nd.array(biases)
    parts += [(stack[i], bias[i]) for i in range(3)]
    x = nd.array(rows)
    for _ in range(3):
        net(x).wait_to_read()
    for turn in (0, 3, 4, 5, 5, 4, 4, 3, 1):
        net.weight._data[0], net.bias._data[0] = parts[turn]
        for _ in range(2):
            want = rows @ weights[turn % 3].T + biases[turn % 3]
            np.testing.assert_allclose(net(x).asnumpy(), want, rtol=1e-5)
    net.weight._data = [stack[2]]
    np.testing.assert_allclose(net(x).asnumpy(), rows @ weights[2].T + biases[1], rtol=1e-5)


@pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")
def test_a_fast_call_of_values_that_a_kernel_leaves_to_numpy_is_made_anew() -> None:
    """Positions that are none are named by NumPy; where kernels leave it something again and again nothing is tried first."""
    rows, at = mx.sym.var("rows"), mx.sym.var("at")
    net = gluon.SymbolBlock(mx.sym.take(rows, at, mode="raise") * 2, [rows, at])
    net.hybridize()
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    for turn in range(3):
        for places in ([0, 2], [3, turn]):
            got = net(nd.array(table), nd.array(places, dtype="int32"))
            np.testing.assert_array_equal(got.asnumpy(), table[places] * 2)
            assert None not in net._express.values()
        with pytest.raises(MXNetError, match="positions 0 to 9 on an axis of size 4"):
            net(nd.array(table), nd.array([0, 9], dtype="int32")).wait_to_read()
    far = gluon.SymbolBlock(mx.sym.ROIPooling(rows, at, pooled_size=(2, 2), spatial_scale=1.0) * 2, [rows, at])
    far.hybridize()
    picture = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)
    for turn, corner in enumerate([3, 3] + [1e10] * 8 + [3]):
        got = far(nd.array(picture), nd.array([[0, 0, 0, corner, corner]])).asnumpy()
        want = [[[10, 14], [26, 30]], [[42, 46], [58, 62]]] if corner == 3 else [[[30, 0], [0, 0]], [[62, 0], [0, 0]]]
        np.testing.assert_array_equal(got, [want])
        assert (None in far._express.values()) == (turn > 5)


def test_devices_of_what_has_no_inputs_and_of_what_has() -> None:
    with mx.cpu(2):
        made = nd._internal._arange(start=0, stop=3)
        drawn = nd.random.uniform(shape=(2,))
    assert made.context == drawn.context == mx.cpu(2) != nd._internal._arange(start=0, stop=3).context
    x, y = nd.ones((2,), ctx=mx.cpu(3)), nd.ones((2,), ctx=mx.cpu(3))
    for result in (
        x + y,
        nd.exp(x),
        nd.add_n(x, y, x),
        nd.split(nd.concat(x, y, dim=0), num_outputs=2, axis=0)[1],
        x[:1],
    ):
        assert result.context == mx.cpu(3)
    assert nd.exp(x, out=made[:2]).context == mx.cpu(2)


def test_results_laid_out_otherwise_are_laid_out_as_arrays_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator may give what NumPy keeps in another order, or part of something else, or read-only."""
    op, x = type(lookup("erfinv").bind()), np.array([[0.5, 0.25, -0.5], [0.1, 0.2, 0.3]], np.float32)
    for give in (
        lambda a: np.asfortranarray(a * 2), lambda a: np.repeat(a * 2, 2, axis=1)[:, ::2], lambda a: (a.T * 2).T,
        lambda a: np.frombuffer((a * 2).tobytes(), np.float32).reshape(a.shape), lambda a: a * 2,
    ):  # fmt: skip
        monkeypatch.setattr(op, "compute", lambda self, a, give=give: give(a))
        for _ in range(2):
            y = nd.erfinv(nd.array(x))
            assert y.reshape((3, 2)).asnumpy().tolist() == (x * 2).reshape(3, 2).tolist()
            y[1] = 7
            assert y.asnumpy()[1].tolist() == [7, 7, 7] and y._memory.flags.c_contiguous


def test_waiting_to_write_is_waiting_for_readers_too() -> None:
    x = nd.zeros((2,))
    seen, timer = read_late(x)
    x.wait_to_read()
    assert not seen
    timer.start()
    x.wait_to_write()
    assert len(seen) == 1
    timer.join()


def test_an_operator_that_breaks_its_word_is_found_out_at_its_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eagerly as in graphs; and one that raises is named, once."""
    op = type(lookup("erfinv").bind())
    for number, (give, error, said) in enumerate((
        (lambda a: a[:, :1], MXNetError, r"computed float32\(1, ?1\) where inference said float32\(1, ?2\)"),
        (lambda a: a.astype(np.float64), MXNetError, r"computed float64\(1, ?2\) where inference said float32\(1, ?2\)"),
        (lambda a: 1 / 0, InternalError, r"ZeroDivisionError: division by zero \(inputs: float32\(1, ?2\)\)"),
        (lambda a: [].index(a.tolist()), InternalError, "ValueError"),
    )):  # fmt: skip
        monkeypatch.setattr(op, "compute", lambda self, a, give=give: give(a))
        forget_calls()
        for _ in range(2):
            with pytest.raises(error, match=rf"^Error in operator erfinv: \[erfinv\] {said}") as caught:
                nd.erfinv(nd.array([[0.5, number]]))
            assert str(caught.value).count("Error in operator") == 1
    monkeypatch.setattr(op, "compute", lambda self, a: (a * 2,))
    forget_calls()
    for _ in range(2):
        assert nd.erfinv(nd.array([[0.5, 3]])).asnumpy().tolist() == [[1, 6]]
    monkeypatch.undo()
    forget_calls()


def test_numbers_of_inputs_and_targets() -> None:
    x = nd.array(X)
    for count in (1, 3):
        with pytest.raises(MXNetError, match=f"Concat: got 2 inputs, wanted {count}"):
            nd.concat(x, x, num_args=count)
    out = nd.zeros((1, 3))
    assert nd.contrib.boolean_mask(x, nd.array([0, 1]), out=out) is out
    assert out.asnumpy().tolist() == [[4, 5, 6]]
    for mask, wrong in (([1, 1], (1, 3)), ([0, 1], (2, 3)), ([0, 1], (3,)), ([0, 1], (1, 1, 3))):
        with pytest.raises(MXNetError, match="wanted the same"):
            nd.contrib.boolean_mask(x, nd.array(mask), out=nd.zeros(wrong))
    with pytest.raises(MXNetError, match="wanted the same"):
        nd.contrib.boolean_mask(x, nd.array([0, 1]), out=nd.zeros((1, 3), dtype="int32"))


def test_parts_of_what_is_not_recorded_share_memory_while_recording() -> None:
    x, leaf = nd.array(X), nd.array(X)
    leaf.attach_grad()
    with autograd.record():
        part, row = x[1], x[0:1]
        part[:] = 7
        row[0, 2] = 9
        recorded = leaf[1] * 2
    assert x.asnumpy().tolist() == [[1, 2, 9], [7, 7, 7]]
    recorded.backward()
    assert leaf.grad.asnumpy().tolist() == [[0, 0, 0], [2, 2, 2]]


@pytest.mark.parametrize("request_", ["write", "add"])
def test_no_gradient_changes_no_sum_of_sparse_ones(request_: str) -> None:
    x = nd.array(X).tostype("row_sparse")
    x.attach_grad(request_)
    for factor in (3, 0, 5):
        with autograd.record():
            y = (x * factor).sum() if factor else nd.BlockGrad(x).sum()
        y.backward()
    assert x.grad.stype == "row_sparse"
    assert x.grad.asnumpy().tolist() == [[8, 8, 8], [8, 8, 8]] if request_ == "add" else [[5, 5, 5], [5, 5, 5]]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "bool", "uint8"])
def test_large_results_of_any_dtype(dtype: str) -> None:
    """Memory of the compiled part, or NumPy's: whole graphs, eager calls, several outputs, views."""
    values = np.arange(1 << 18).reshape(512, 512) % 97
    x = nd.array(values, dtype=dtype)
    data = mx.sym.var("x")
    graph = mx.sym.Group([mx.sym.transpose(data), mx.sym.concat(data, data, dim=0)])
    want = values.astype(bool) if dtype == "bool" else values
    for outputs in (graph.eval(x=x), [x.T, nd.concat(x, x, dim=0)]):
        turned, joined = (np.asarray(o.astype("float32").asnumpy()) for o in outputs)
        assert [np.dtype(o.dtype).name for o in outputs] == [dtype] * 2
        np.testing.assert_array_equal(turned, want.T)
        np.testing.assert_array_equal(joined, np.concatenate([want, want]))
