"""Arrays meeting the rest of the world: DLPack, NumPy, contexts, pickles, and assignments while gradients are recorded."""

import copy
import pickle
import struct

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, nd
from hybrid.formats import params


def test_dlpack_shares_memory_both_ways() -> None:
    x = nd.array([1, 2, 3])
    shared = np.from_dlpack(x)  # type: ignore[arg-type]
    x[0] = 7
    assert shared.tolist() == [7, 2, 3]
    plain = np.arange(3, dtype=np.float32)
    y = nd.from_dlpack(plain)
    again = nd.from_dlpack(y.to_dlpack_for_read())
    y[1] = 9
    assert again.asnumpy().tolist() == [0, 9, 2]
    assert nd.from_dlpack(nd.to_dlpack_for_write(x)).asnumpy().tolist() == [7, 2, 3]


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "int64", "uint8", "bool"])
def test_dlpack_keeps_dtypes(dtype: str) -> None:
    x = nd.array([[1, 0]], dtype=dtype)
    y = nd.from_dlpack(x)
    assert y.dtype is x.dtype
    assert y.asnumpy().tolist() == x.asnumpy().tolist()


def test_dlpack_of_what_cannot_be_written_to_is_a_copy() -> None:
    plain = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert nd.from_dlpack(plain.T).asnumpy().tolist() == plain.T.tolist()


def test_contexts_may_be_texts() -> None:
    assert nd.zeros(2, ctx="cpu(1)").context == mx.cpu(1)
    with pytest.raises(mx.MXNetError, match="CPUs only"):
        nd.zeros(2, ctx="gpu(0)")
    with pytest.raises(TypeError, match="Context"):
        nd.zeros(2, ctx="cpu")


def test_complex_numbers_are_refused() -> None:
    for make in (
        lambda: nd.array([1], dtype="complex64"),
        lambda: nd.ones(2).astype("complex64"),
        lambda: nd.zeros(2, dtype="S1"),
    ):
        with pytest.raises(TypeError, match="NDArray can have"):
            make()


def test_pickles_of_mxnet_are_read(tmp_path) -> None:
    """MXNet gives its arrays a state with the record that parameter files hold too."""
    nd.save(tmp_path / "x", [nd.array([1, 2], dtype="int32")])
    record = (tmp_path / "x").read_bytes()[24:-8]
    x = nd.NDArray(0)
    x.__setstate__({"handle": bytearray(record)})
    assert (x.dtype, x.asnumpy().tolist()) == (np.int32, [1, 2])
    with pytest.raises(params.FormatError):
        x.__setstate__({"handle": struct.pack("<I", 5)})
    for sparse in (x.reshape((1, 2)).tostype("csr"), x.tostype("row_sparse")):
        for again in (pickle.loads(pickle.dumps(sparse)), copy.deepcopy(sparse), copy.copy(sparse)):
            assert again.stype == sparse.stype
            assert again.asnumpy().tolist() == sparse.asnumpy().tolist()


def test_whole_assignments_are_recorded() -> None:
    x = nd.array([1, 2, 3])
    x.attach_grad()
    with autograd.record():
        y = nd.zeros((2, 3), dtype="float64")
        y[:] = x * 2
        z = y * 3
    z.backward()
    assert x.grad.asnumpy().tolist() == [12, 12, 12]


def test_assignments_that_gradients_would_miss_are_refused() -> None:
    x = nd.array([1, 2, 3])
    x.attach_grad()
    with autograd.record():
        y = nd.zeros(3)
        with pytest.raises(mx.MXNetError, match="Inplace operations"):
            y[1:2] = x[1:2] * 2
        with pytest.raises(mx.MXNetError, match="already in a computational graph"):
            x[0] = 1
        with pytest.raises(mx.MXNetError, match="Inplace operations"):
            z = x * 2
            z += x
        y[1:2] = 5


@pytest.mark.parametrize(
    "function",
    [nd.array, lambda x: nd.moveaxis(x, 0, 1), lambda x: x[None, 1:, ::-1], lambda x: x[[0, 1], [2, 2]],
     lambda x: x.astype("float64")],
)  # fmt: skip
def test_gradients_come_through(function) -> None:
    x = nd.arange(6).reshape((2, 3))
    x.attach_grad()
    with autograd.record():
        y = function(x)
        z = (y * y).sum()
    z.backward()
    wanted = np.zeros((2, 3))
    for number in y.asnumpy().ravel():
        wanted.ravel()[int(number)] = 2 * number
    np.testing.assert_array_equal(x.grad.asnumpy(), wanted)


def test_empty_parts() -> None:
    x = nd.ones((2, 3))
    x.attach_grad()
    assert x[1:1].shape == (0, 3)
    with autograd.record():
        assert x[:, 3:].shape == (2, 0)


def test_one_element_is_a_number_under_any_numpy() -> None:
    """As programs take it: NumPy 2.4 refuses to convert arrays of shape (1,)."""
    loss = nd.array([2.5]).asnumpy()
    shown = "%.2f %d" % (loss, loss)  # noqa: UP031  as programs do
    assert (shown, f"{float(loss)} {int(loss)}", round(float(loss), 1)) == ("2.50 2", "2.5 2", 2.5)
    assert (repr(loss), str(loss), loss.shape, loss.dtype) == ("array([2.5], dtype=float32)", "[2.5]", (1,), np.float32)
    for derived in (loss + 1, loss * np.ones(3), loss[0], loss[:1], np.concatenate([loss, loss]), loss.sum(), -loss):
        assert type(derived) in (np.ndarray, np.float32)
    again = pickle.loads(pickle.dumps(loss))
    assert type(again) is np.ndarray
    assert again == 2.5
    assert isinstance(loss, np.ndarray)
    loss += 1
    assert float(loss) == 3.5
    with pytest.raises(TypeError):
        float(nd.ones(2).asnumpy())
