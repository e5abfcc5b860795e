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
    for name, reason in (("p3", "servers of its own"), ("nccl", "needs GPUs"), ("nonsense", "no such store")):
        with pytest.raises(MXNetError, match=reason):
            mx.kv.create(name)
    with pytest.raises(TypeError, match="name must be a string"):
        mx.kv.create(3)  # type: ignore[arg-type]
    test = mx.kv.create("TestStore")
    out = mx.nd.zeros((2,))
    test.pushpull(0, [mx.nd.ones((2,))] * 2, out)
    assert values(out) == [[2, 2]]
    assert not test.is_capable("optimizer")
    with pytest.raises(MXNetError, match="no server processes"):
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


class Other(mx.kvstore.KVStoreBase):  # type: ignore[name-defined]
    """Registered twice."""


def test_sums_of_sparse_arrays_and_stores_of_programs() -> None:
    """Sparse pieces give a sparse sum, mixed ones a dense; a name that is registered again warns; other kinds are refused."""
    from hybrid.kvstore import base

    table = mx.nd.array([[0, 1.5], [0, 0], [2, -1]])
    for kind in ("csr", "row_sparse", "default"):
        total = base.sum_arrays([table.tostype(kind), (table * 2).tostype(kind), table.tostype(kind)])
        assert total.stype == kind
        np.testing.assert_array_equal(total.asnumpy(), table.asnumpy() * 4)
    mixed = base.sum_arrays([table.tostype("row_sparse"), table])
    assert mixed.stype == "default" and (mixed.asnumpy() == 2 * table.asnumpy()).all()
    mx.kvstore.KVStoreBase.register(Other)
    try:
        with pytest.warns(UserWarning, match="overriding existing"):
            mx.kvstore.KVStoreBase.register(Other)
        assert type(mx.kv.create("OTHER")) is Other
    finally:
        del mx.kvstore.KVStoreBase.kv_registry["other"]
    with pytest.raises(TypeError, match="KVStore, str or None"):
        base.choose(3, 2, {})


def test_where_weights_are_updated() -> None:
    """MXNet's store "local" does not update more than 16M numbers itself; "device" and one device are another matter."""
    from types import SimpleNamespace

    from hybrid.kvstore import base

    most = 1024 * 1024 * 16
    sizes = lambda n: {"a": SimpleNamespace(size=5), "b": SimpleNamespace(size=n)}  # noqa: E731
    for store, devices, count, want in (
        ("local", 2, most, (True, True)), ("local", 2, most + 1, (True, False)), ("device", 2, most + 1, (True, True)),
        ("local", 1, 5, (False, False)), (None, 2, 5, (False, False)), (mx.kv.create("local"), 1, most + 1, (True, True)),
        (mx.kv.create("teststore"), 2, 5, (True, False)),
    ):  # fmt: skip
        made, there = base.choose(store, devices, sizes(count))
        assert (made is not None, there) == want, (store, count)
    assert base.choose("local", 2, {})[1]


def test_sparse_arrays_are_pulled_when_that_is_asked() -> None:
    kv = mx.kv.create()
    kv.init("r", mx.nd.array([[0, 1.5], [2, -1]]).tostype("row_sparse"))
    out = mx.nd.zeros((2, 2), stype="row_sparse")
    with pytest.warns(UserWarning, match="pull leaves out r, which is row_sparse"):
        kv.pull("r", out)
    assert (out.asnumpy() == 0).all()
    kv.pull("r", out, ignore_sparse=False)
    assert out.asnumpy().tolist() == [[0, 1.5], [2, -1]]
    assert kv._barrier() is None
    for given in ([], [out, 3.0], [3.0, out]):
        with pytest.raises(AssertionError, match="wanted an NDArray"):
            kv.push("r", given)
