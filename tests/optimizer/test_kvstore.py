"""Stores within one process."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid.core.error import MXNetError


def values(*arrays: Any) -> list[list[float]]:
    return [a.asnumpy().ravel().tolist() for a in arrays]


def store(kind: str = "local") -> Any:
    made = mx.kv.create(kind)
    made.init(3, mx.nd.ones((2,)))
    made.init(["a", "b"], [mx.nd.zeros((2,)), mx.nd.full((2,), 5)])
    return made


@pytest.mark.parametrize("kind", ["local", "device"])
def test_adds_up_what_is_pushed(kind: str) -> None:
    kv = store(kind)
    assert (kv.type, kv.rank, kv.num_workers, kv.is_capable("optimizer")) == (kind, 0, 1, True)
    one, two = mx.nd.zeros((2,)), mx.nd.zeros((2,), ctx=mx.cpu(1))
    kv.pull(3, out=[one, two])
    assert values(one, two) == [[1, 1], [1, 1]]
    kv.push(3, [mx.nd.full((2,), 2), mx.nd.full((2,), 3, ctx=mx.cpu(1))])
    kv.pull(3, one)
    assert values(one) == [[5, 5]]
    kv.pushpull(["a", "b"], [[one, two], [two, two]], out=[[one], [two]])
    assert values(one, two) == [[6, 6], [2, 2]]
    kv.pushpull("a", [one, two])
    assert values(one, two) == [[8, 8], [8, 8]]


def test_updates_what_is_kept(tmp_path: Path) -> None:
    kv = store()
    kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.5))
    out = mx.nd.zeros((2,))
    for want in (0.5, -0.25):
        kv.pushpull(3, mx.nd.ones((2,)), out)
        assert values(out) == [[want, want]]
    kv.save_optimizer_states(str(tmp_path / "states"), dump_optimizer=True)
    other = store()
    other.set_optimizer(mx.optimizer.Adam())
    other.load_optimizer_states(str(tmp_path / "states"))
    assert other._updater.optimizer.momentum == 0.5
    assert values(other._updater.states[3]) == [[-0.75, -0.75]]


def test_calls_the_updater_of_the_program() -> None:
    kv = store()
    calls = []

    def update(key: Any, pushed: Any, kept: Any) -> None:
        calls.append(key)
        kept += pushed * 2

    kv._set_updater(update)
    out = mx.nd.zeros((2,))
    kv.push("b", [mx.nd.ones((2,))] * 2)
    kv.pull("b", out)
    assert (calls, values(out)) == (["b"], [[9, 9]])
    with pytest.raises(AssertionError, match="no optimizer"):
        kv.save_optimizer_states("nowhere")


def test_rows() -> None:
    kv = mx.kv.create()
    kv.init("w", mx.nd.arange(6).reshape((3, 2)))
    dense, sparse = mx.nd.ones((3, 2)), mx.nd.ones((3, 2)).tostype("row_sparse")
    kv.row_sparse_pull("w", out=[dense, sparse], row_ids=mx.nd.array([2, 0, 2]))
    for out in (dense, sparse):
        np.testing.assert_array_equal(out.asnumpy(), [[0, 1], [0, 0], [4, 5]])
    assert sparse.indices.asnumpy().tolist() == [0, 2]


def test_stores_by_name() -> None:
    for name, reason in (("dist_sync", "several machines"), ("nccl", "needs GPUs"), ("nonsense", "no such store")):
        with pytest.raises(MXNetError, match=reason):
            mx.kv.create(name)
    with pytest.raises(TypeError, match="name must be a string"):
        mx.kv.create(3)  # type: ignore[arg-type]
    test = mx.kv.create("TestStore")
    out = mx.nd.zeros((2,))
    test.pushpull(0, [mx.nd.ones((2,))] * 2, out)
    assert values(out) == [[2, 2]]
    assert not test.is_capable("optimizer")
    with pytest.raises(MXNetError, match="no stores that join several machines"):
        mx.kvstore.KVStoreServer(test)


def test_what_does_not_fit() -> None:
    kv = store()
    with pytest.raises(MXNetError, match="duplicate init of key 3"):
        kv.init(3, mx.nd.ones((2,)))
    with pytest.raises(MXNetError, match="key 4 has not been inited"):
        kv.pull(4, mx.nd.ones((2,)))
    with pytest.raises(AssertionError, match="2 keys and 1 values"):
        kv.push([3, 4], [mx.nd.ones((2,))])
    with pytest.raises(AssertionError, match="inconsistent types"):
        kv.push([3, "a"], [mx.nd.ones((2,))] * 2)
    with pytest.raises(AssertionError, match="wanted an NDArray"):
        kv.push(3, 1.0)
    with pytest.raises(ValueError, match="Unknown capability"):
        kv.is_capable("flight")
    with pytest.raises(MXNetError, match="Gradient compression"):
        kv.set_gradient_compression({"type": "2bit"})
