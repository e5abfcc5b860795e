"""Nothing that was computed from parameters outlives them: random programs against a plain shadow, and what these cannot do."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import gluon, nd, sym
from hybrid.eager.cached_op import CachedOp
from hybrid.execution.program import Program
from tests import shares

from .interleavings import CHANNELS, SHAPES, SURFACES, Block, Shadow, interleave, same


@pytest.mark.parametrize("surface", SURFACES, ids=lambda s: s.__name__)
def test_any_order_of_writes_and_runs_gives_what_the_shadow_gives(surface) -> None:
    """The first time that a parameter is read after any kind of change, compiled constants are those of its new values."""
    done = [step for seed in range(12) for step in interleave(surface, seed)]
    assert {s.split()[0] for s in done} == {"infer", "look", "train", "write", "move"}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("surface", SURFACES, ids=lambda s: s.__name__)
def test_many_more_orders_do(surface) -> None:
    for seed in range(100, 200) if shares.everything else range(100, 140):
        interleave(surface, seed)


def test_statistics_that_only_a_backward_pass_moved_are_seen() -> None:
    rng = np.random.default_rng(0)
    values = {n: rng.uniform(0.5, 1.5, s).astype(np.float32) for n, s in SHAPES.items()}
    place, shadow = Block(values, rng), Shadow(values)
    x = rng.uniform(-2, 2, (2, CHANNELS, 2, 3)).astype(np.float32)
    for _ in range(3):
        same(place.infer(x), shadow.forward(x, False), "inference")
        y = shadow.forward(5 * x + 3, True)
        place.train(5 * x + 3, np.ones_like(y, np.float32))
        shadow.backward(np.ones_like(y))
    same(place.infer(x), shadow.forward(x, False), "inference")


def test_threads_with_parameters_of_their_own_get_results_of_their_own() -> None:
    """One CachedOp, two sets of parameters: what is packed for one thread is never run with by the other."""
    out = sym.FullyConnected(sym.var("data"), num_hidden=64, name="dense")
    op = CachedOp(out, (("param_indices", (1, 2)),))
    x = nd.ones((4, 64))
    sets = [(nd.full((64, 64), k), nd.zeros((64,))) for k in (1, 2, 3)]
    wrong: list[float] = []

    def work(k: int) -> None:
        for _ in range(150):
            found = op(x, *sets[k]).asnumpy()
            wrong.extend(found[found != 64.0 * (k + 1)].ravel())

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_new_array_at_the_address_of_an_old_one_is_another() -> None:
    """Parameters that were initialized anew lie where the old ones did, more often than not."""
    net = gluon.nn.Dense(3, in_units=3, use_bias=False)
    net.initialize(mx.init.Constant(1.0))
    net.hybridize()
    x = nd.ones((1, 3))
    for k in range(2, 30):
        for _ in range(3):
            net(x)
        net.initialize(mx.init.Constant(float(k)), force_reinit=True)
        assert net(x).asnumpy().tolist() == [[3.0 * k] * 3]


@mx.operator.register("interleaved_counter")
class _Counter(mx.operator.CustomOpProp):
    """Adds its state to the data, and counts its calls there, training or not."""

    def list_auxiliary_states(self) -> list[str]:
        return ["weight"]

    def infer_shape(self, in_shape: Any) -> Any:
        return in_shape, [in_shape[0]], [[1]]

    def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Any:
        class Count(mx.operator.CustomOp):
            def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
                self.assign(out_data[0], req[0], in_data[0] + aux[0])
                aux[0][:] = aux[0] + 1

            def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
                self.assign(in_grad[0], req[0], out_grad[0])

        return Count()


def test_states_that_inference_itself_writes_to_are_no_constants() -> None:
    """A user's operator may write to its states without training; whoever reads them next sees it."""
    counted = sym.Custom(sym.var("data"), op_type="interleaved_counter", name="count")
    out = sym.FullyConnected(counted, num_hidden=2, no_bias=True, name="dense")
    state, arrays = nd.zeros((1,)), {"data": nd.zeros((1, 2)), "dense_weight": nd.ones((2, 2))}
    run = out.bind(mx.cpu(), arrays, aux_states=[state])
    reader = sym.FullyConnected(sym.var("data"), num_hidden=1, no_bias=True, name="r")
    seen = reader.bind(mx.cpu(), {"data": nd.ones((1, 1)), "r_weight": state.reshape((1, 1))})
    for k in range(4):
        assert run.forward()[0].asnumpy().tolist() == [[2.0 * k] * 2]
        assert seen.forward()[0].asscalar() == k + 1


def test_loops_see_weights_that_were_written_in_place() -> None:
    """Bodies of control flow are programs too, which get the outer program's arrays."""

    class Net(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.dense = gluon.nn.Dense(2, in_units=2, use_bias=False)

        def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
            return F.contrib.foreach(lambda row, state: (self.dense(row) + state,) * 2, x, F.zeros((1, 2)))[0]

    net = Net()
    net.initialize(mx.init.Constant(1.0))
    net.hybridize()
    x = nd.ones((3, 1, 2))
    for k in range(1, 6):
        net.dense.weight.data()[:] = k
        assert net(x).asnumpy()[-1].tolist() == [[6.0 * k] * 2]


def test_arrays_fed_to_a_program_may_be_written_to_between_runs() -> None:
    graph = sym.FullyConnected(sym.var("data"), num_hidden=2, no_bias=True, name="dense").graph
    program, x, weight = Program(graph), np.ones((1, 2), np.float32), np.ones((2, 2), np.float32)
    for k in range(4):
        weight[...] = k
        assert program.run({"data": x, "dense_weight": weight})[0].tolist() == [[2.0 * k] * 2]


def test_memory_that_was_handed_out_for_reading_counts_as_shared() -> None:
    """from_dlpack makes an array of it that can be written to."""
    net = gluon.nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(mx.init.Constant(1.0))
    net.hybridize()
    x = nd.ones((1, 2))
    for _ in range(3):
        net(x)
    other = nd.from_dlpack(net.weight.data().to_dlpack_for_read())
    for k in range(3):
        other[:] = k
        assert net(x).asscalar() == 2.0 * k
