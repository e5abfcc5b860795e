"""Deferred work gives what work at once gives: memory of its own, every order of views and writes, errors, interruption."""

from __future__ import annotations

import _thread
import gc
import random
import signal
import threading
import time

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, gluon, nd
from hybrid.eager import cached_op, dispatch
from hybrid.execution.scheduler import SCHEDULER, Scheduler, Var
from tests.engine.test_engine import forget_calls


@pytest.fixture
def deferred(monkeypatch: pytest.MonkeyPatch):
    """Everything is handed to the engine, however small."""
    for module in (dispatch, cached_op):
        monkeypatch.setattr(module, "SMALL", -1)
    forget_calls()
    yield
    forget_calls()


COPIES = {
    "copy": lambda x: x.copy(),
    "identity": nd.identity,
    "astype": lambda x: x.astype("float32"),
    "dropout": nd.Dropout,
    "block_grad": nd.BlockGrad,
    "reshape": lambda x: nd.reshape(x, shape=(-1,)),
}


@pytest.mark.parametrize("size", [4, 700])
@pytest.mark.parametrize("name", COPIES)
def test_results_have_memory_of_their_own(name: str, size: int) -> None:
    """Small arrays are computed at once, large ones later: neither may hand out the input itself."""
    x = nd.zeros((size, size))
    y = COPIES[name](x)
    y.wait_to_read()
    x[:] = 1
    assert y.asnumpy().max() == 0


@pytest.mark.parametrize("size", [4, 700])
def test_outputs_of_a_hybrid_block_do_not_share_memory(size: int) -> None:
    class Twice(gluon.HybridBlock):
        def hybrid_forward(self, F, x):  # noqa: N803
            y = x * 2
            return [y, F.identity(y), x]

    net = Twice()
    net.hybridize()
    x = nd.zeros((size, size))
    first, second, third = net(x)
    first[:] = 1
    x[:] = 3
    assert second.asnumpy().max() == 0 and third.asnumpy().max() == 0


@pytest.mark.parametrize("seed", range(10))
def test_views_and_writes_do_as_numpy_does(seed: int, deferred: None) -> None:
    """Random reads, writes, views and copies, every one deferred, against the same on NumPy arrays."""
    choose, numbers = random.Random(seed), np.random.default_rng(seed)
    starts = [numbers.uniform(-1, 1, (4, 6)).astype("float32") for _ in range(3)]
    pairs = [(a.copy(), nd.array(a)) for a in starts]
    for _ in range(60):
        n, m = choose.choice(pairs)
        n2, m2 = choose.choice([p for p in pairs if p[0].shape == n.shape])
        what = choose.randrange(12)
        if what == 0:
            n += n2
            m += m2
        elif what == 1:
            n *= 0.5
            m *= 0.5
        elif what == 2:
            n[:] = n2
            m[:] = m2
        elif what == 3 and n.ndim > 1 and len(n) > 1:
            at = choose.randrange(len(n) - 1)
            pairs.append((n[at : at + 2], m[at : at + 2]))
        elif what == 4 and n.ndim > 1:
            at = choose.randrange(len(n))
            pairs.append((n[at], m[at]))
        elif what == 5:
            pairs.append((n.reshape(-1), m.reshape((-1,))))
        elif what == 6:
            pairs.append((n + n2, m + m2))
        elif what == 7 and len(n) > 1:
            n[1] = n2[0]
            m[1] = m2[0]
        elif what == 8:
            np.copyto(n, np.tanh(n2))
            nd.tanh(m2, out=m)
        elif what == 9:
            pairs.append((n.copy(), m.copy()))
        elif what == 10:
            n[::2] = 7
            m[::2] = 7
        elif what == 11 and len(pairs) > 1:
            pairs.pop(choose.randrange(len(pairs)))
    for n, m in pairs:
        np.testing.assert_allclose(m.asnumpy(), n, rtol=1e-4, atol=1e-4)


def test_a_program_goes_on_after_an_error(deferred: None) -> None:
    """An array that failed says so, to everyone who reads it; written anew it is as good as any array."""
    x, outside = nd.ones((5, 5)), nd.array([[100], [0]])
    x.attach_grad()
    with autograd.record():
        loss = nd.gather_nd(x, outside).sum()
    loss.backward()
    for _ in range(2):
        with pytest.raises(mx.MXNetError, match=r"gather_nd.*got coordinates outside of data of shape \(5, 5\)"):
            loss.asnumpy()
    with pytest.raises(mx.MXNetError, match="gather_nd"):
        x.grad.asnumpy()
    with autograd.record():
        loss = (x * x).sum()
    loss.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), np.full((5, 5), 2))
    out = nd.zeros((1,))
    nd.gather_nd(x, outside, out=out)
    with pytest.raises(mx.MXNetError, match="gather_nd"):
        out.asnumpy()
    out[:] = 3
    assert out.asscalar() == 3
    nd.waitall()


def test_a_write_over_a_part_does_not_hide_an_error(deferred: None) -> None:
    out = nd.zeros((2, 1))
    nd.gather_nd(nd.ones((5, 5)), nd.array([[100, 1], [0, 0]]), out=out.reshape((2,)))
    with pytest.raises(mx.MXNetError, match="gather_nd"):
        out[0] = 3
        out.asnumpy()


@pytest.mark.parametrize("in_place", [(), (0,), (1,)])
def test_ctrl_c_reaches_the_program(in_place: tuple[int, ...]) -> None:
    """A KeyboardInterrupt that strikes while a waiting program does deferred work is the program's, and not that work's."""
    machine = Scheduler(0)  # no threads of its own: who waits does everything
    other, more, result = Var(), Var(), Var()
    runs: list[str] = []

    def interrupted() -> None:
        runs.append("other")
        if len(runs) == 1:
            raise KeyboardInterrupt

    machine.push(interrupted, [(other, more)[i] for i in in_place], [other, more])
    machine.push(lambda: runs.append("result"), [], [result])
    with pytest.raises(KeyboardInterrupt):
        machine.wait(result)
    machine.wait(result)
    if in_place:
        with pytest.raises(mx.MXNetError, match="interrupted"):
            machine.wait(other)
    else:
        machine.wait(other)
        assert sorted(runs) == ["other", "other", "result"]


def test_ctrl_c_ends_a_loop_and_the_parameters_can_be_saved(deferred: None, tmp_path) -> None:
    net = gluon.nn.Dense(50, in_units=50)
    net.initialize()
    x = nd.ones((50, 50))
    # a process started in the background ignores SIGINT, and interrupt_main then does nothing
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            while time.monotonic() - start < 60:
                x = nd.tanh(net(x))
                x.wait_to_read()
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    net.save_parameters(str(tmp_path / "net.params"))
    assert x.shape == x.asnumpy().shape
    SCHEDULER.drain()


def test_threads_train_networks_of_their_own(deferred: None) -> None:
    """Six threads, half of them hybridized, give the weights that training one after the other gives."""

    def build(number: int) -> gluon.nn.HybridSequential:
        mx.random.seed(number)
        net = gluon.nn.HybridSequential(prefix=f"net{number}_")
        net.add(
            gluon.nn.Dense(16, activation="tanh", in_units=6),
            gluon.nn.BatchNorm(in_channels=16),
            gluon.nn.Dense(3, in_units=16),
        )
        net.initialize(mx.init.Xavier())
        net.hybridize(active=number % 2 == 1)
        return net

    def train(net: gluon.nn.HybridSequential, number: int, found: dict[int, list[np.ndarray]]) -> None:
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05, "momentum": 0.9})
        loss, numbers = gluon.loss.L2Loss(), np.random.default_rng(number)
        for step in range(15):
            x, y = nd.array(numbers.uniform(-1, 1, (8, 6))), nd.array(numbers.uniform(-1, 1, (8, 3)))
            with autograd.record():
                value = loss(net(x), y)
            value.backward()
            trainer.step(8)
            if step % 7 == 0:
                value.asnumpy()
        found[number] = [p.data().asnumpy() for p in net.collect_params().values()]

    apart: dict[int, list[np.ndarray]] = {}
    together: dict[int, list[np.ndarray]] = {}
    for number in range(6):
        train(build(number), number, apart)
    nets = [build(number) for number in range(6)]
    threads = [threading.Thread(target=train, args=(net, i, together)) for i, net in enumerate(nets)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert set(together) == set(apart)
    for number, arrays in apart.items():
        for a, b in zip(arrays, together[number]):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("backward", [False, True])
def test_training_keeps_nothing(hybrid: bool, backward: bool) -> None:
    """As many objects after a hundred steps as after ten."""
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(2, 3, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dropout(0.3), gluon.nn.Dense(3))
    net.initialize()
    net.hybridize(active=hybrid)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})
    x = nd.ones((2, 1, 6, 6))

    def steps(count: int) -> int:
        for _ in range(count):
            with autograd.record():
                loss = net(x).sum()
            if backward:
                loss.backward()
                trainer.step(2)
        nd.waitall()
        del loss
        gc.collect()
        return len(gc.get_objects())

    before = steps(10)
    assert steps(90) <= before + 20
