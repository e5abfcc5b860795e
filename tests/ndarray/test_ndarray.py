"""NDArray: what it holds, shows, shares and refuses. What is wanted was asked of MXNet 1.9.1."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hybrid as mx
from hybrid import nd


def grid() -> nd.NDArray:
    return nd.arange(12).reshape((3, 4))


def test_making() -> None:
    assert nd.array([[1, 2], [3, 4]]).dtype is np.float32
    assert nd.array(np.ones(2)).dtype is np.float32
    assert nd.array(np.ones(2, "int32")).dtype is np.float32
    assert nd.array(nd.ones(2, dtype="int32")).dtype is np.int32
    assert nd.array([1], dtype="float16").dtype is np.float16
    assert nd.array([]).shape == (0,)
    assert nd.zeros(3).shape == (3,)
    assert nd.zeros((0, 3)).shape == (0, 3)
    assert nd.full((2,), 3, dtype="int32").asnumpy().tolist() == [3, 3]
    assert nd.arange(3).asnumpy().tolist() == [0, 1, 2]
    assert nd.arange(1, 7, 2).asnumpy().tolist() == [1, 3, 5]
    assert nd.arange(0, 3, repeat=2, dtype="int32").asnumpy().tolist() == [0, 0, 1, 1, 2, 2]
    assert nd.linspace(0, 1, 5).asnumpy().tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert nd.eye(2, 3, 1).asnumpy().tolist() == [[0, 1, 0], [0, 0, 1]]
    with pytest.raises(TypeError, match="array like"):
        nd.array("x")


def test_printed_forms() -> None:
    assert repr(nd.array([[1, 2]])) == "\n[[1. 2.]]\n<NDArray 1x2 @cpu(0)>"
    assert repr(nd.ones((2, 1), dtype="int32", ctx=mx.cpu(1))) == "\n[[1]\n [1]]\n<NDArray 2x1 @cpu(1)>"
    big = "[0.000e+00 1.000e+00 2.000e+00 ... 1.997e+03 1.998e+03 1.999e+03]"
    assert repr(nd.arange(2000)) == f"\n{big}\n<NDArray 2000 @cpu(0)>"


def test_scalars() -> None:
    one = nd.ones(1)
    assert (bool(one), float(one), int(one * 3.7), one.asscalar()) == (True, 1.0, 3, 1.0)
    assert [7, 8][nd.ones(1, dtype="int32")] == 8
    with pytest.raises(ValueError, match="ambiguous"):
        bool(nd.ones(2))
    with pytest.raises(ValueError, match="not a scalar"):
        nd.ones(2).asscalar()


def test_numpy() -> None:
    x = grid()
    assert np.array(x).dtype == np.float32
    copied = np.asarray(x)
    copied[:] = -1
    x.asnumpy()[:] = -1
    assert x.asnumpy().min() == 0
    assert (x.shape, x.size, x.ndim, len(x), x.stype, x.T.shape) == ((3, 4), 12, 2, 3, "default", (4, 3))


KEYS = [1, -1, slice(1, 3), slice(None, None, 2), slice(None, None, -1), slice(2, 10), slice(1, 1), Ellipsis, None, (),
        (slice(None), 1), (Ellipsis, slice(1, 3)), (slice(1, 2), slice(1, 3)), [0, 2], ([0, 1], [2, 3]),
        ([0, 1], slice(1, 3))]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_reading_and_writing_parts(key) -> None:
    x, plain = grid(), np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(x[key].asnumpy(), plain[key])
    x[key] = -1
    plain[key] = -1
    np.testing.assert_array_equal(x.asnumpy(), plain)


@pytest.mark.parametrize(
    ("key", "shared"),
    [(1, True), (slice(1, 3), True), ((slice(None), 1), False), ((1, 2), True), (slice(None, None, 2), False), (Ellipsis, True),
     ((slice(1, 2), slice(1, 3)), True), ((1, slice(0, 2)), True), (None, True), ([0], False), ((), True)],
)  # fmt: skip
def test_contiguous_parts_share_memory(key, shared: bool) -> None:
    x = grid()
    x[key][:] = -1
    assert bool((x.asnumpy() == -1).any()) == shared


@pytest.mark.parametrize(
    ("name", "shared"),
    [("reshape", True), ("nd.reshape", False), ("T", False), ("flatten", False), ("expand_dims", False),
     ("expand_dims inplace", True), ("detach", True), ("as_in_context", True), ("astype", False),
     ("astype same", True), ("copy", False)],
)  # fmt: skip
def test_what_shares_memory(name: str, shared: bool) -> None:
    make = {
        "reshape": lambda x: x.reshape((4, 3)),
        "nd.reshape": lambda x: nd.reshape(x, shape=(4, 3)),
        "T": lambda x: x.T,
        "flatten": lambda x: x.flatten(),
        "expand_dims": lambda x: x.expand_dims(0),
        "expand_dims inplace": lambda x: x.expand_dims(0, inplace=True),
        "detach": lambda x: x.detach(),
        "as_in_context": lambda x: x.as_in_context(mx.cpu()),
        "astype": lambda x: x.astype("float32"),
        "astype same": lambda x: x.astype("float32", copy=False),
        "copy": lambda x: x.copy(),
    }[name]
    x = grid()
    make(x)[:] = -1
    assert bool((x.asnumpy() == -1).all()) == shared


def test_single_elements_are_arrays_of_one() -> None:
    assert grid()[1, 2].shape == (1,)
    assert [x.shape for x in nd.arange(2)] == [(1,), (1,)]


def test_boolean_arrays_are_indices() -> None:
    """As MXNet has it outside of its NumPy mode: they are cast to integers."""
    x = grid()
    assert x[np.array([True, False])].asnumpy().tolist() == [[4, 5, 6, 7], [0, 1, 2, 3]]
    assert x[nd.array([0, 2])].asnumpy().tolist() == [[0, 1, 2, 3], [8, 9, 10, 11]]


@pytest.mark.parametrize(
    ("key", "error", "match"),
    [(5, IndexError, "out of bounds"), ("a", ValueError, "does not support slicing with key a"), (1.0, ValueError, "key 1.0"),
     ((1, 2, 3), IndexError, "too many indices")],
)  # fmt: skip
def test_wrong_keys(key, error, match) -> None:
    with pytest.raises(error, match=match):
        grid()[key]


def test_assignment_casts_and_broadcasts() -> None:
    x = grid()
    x[:] = nd.ones(4, dtype="int32")
    x[:, 1] = [7, 8, 9]
    assert x.asnumpy().tolist() == [[1, 7, 1, 1], [1, 8, 1, 1], [1, 9, 1, 1]]
    with pytest.raises(ValueError, match="broadcast"):
        x[0] = nd.ones(3)


def test_reshape_codes() -> None:
    x = grid()
    codes = {
        (-1,): (12,),
        (0, -1): (3, 4),
        (-2,): (3, 4),
        (-3,): (12,),
        (2, -1): (2, 6),
        (-4, 3, 1, 4): (3, 1, 4),
        (0, -4, 2, -1): (3, 2, 2),
    }
    for code, shape in codes.items():
        assert x.reshape(code).shape == x.reshape(*code).shape == x.reshape(shape=code).shape == shape
    with pytest.raises(mx.MXNetError, match="shape"):
        x.reshape((5, 5))
    with pytest.raises(AssertionError, match="Shape must be provided"):
        x.reshape()


def test_arithmetic() -> None:
    x, y = nd.array([1, 2, 4]), nd.array([2, 2, 2])
    for made, wanted in ((x + y, [3, 4, 6]), (x - 1, [0, 1, 3]), (1 - x, [0, -1, -3]), (x * y, [2, 4, 8]), (x / y, [0.5, 1, 2]),
                         (4 / x, [4, 2, 1]), (x % 3, [1, 2, 1]), (x**2, [1, 4, 16]), (2**x, [2, 4, 16]), (-x, [-1, -2, -4]),
                         (abs(-x), [1, 2, 4]), (x > y, [0, 0, 1]), (x == 2, [0, 1, 0]), (x != y, [1, 0, 1]), (2 < x, [0, 0, 1]),  # noqa: SIM300
                         (nd.maximum(x, 2), [2, 2, 4]), (nd.add(1, x), [2, 3, 5])):  # fmt: skip
        assert made.dtype is np.float32
        assert made.asnumpy().tolist() == wanted
    assert (nd.maximum(1, 2), nd.add(1, 2)) == (2, 3)
    assert (nd.ones((3, 4)) + nd.ones(4)).shape == (3, 4)
    assert (nd.ones(2, dtype="int32") + 1.5).asnumpy().tolist() == [2, 2]
    assert (nd.array([-3], dtype="int32") / 2).asnumpy().tolist() == [-1]


def test_arithmetic_in_place() -> None:
    x = nd.ones((2, 3))
    y = x
    x += nd.ones(3)
    x *= 3
    x -= 1
    x /= 5
    assert y is x
    assert y.asnumpy().tolist() == [[1, 1, 1]] * 2
    with pytest.raises(mx.MXNetError, match=r"result is float32\(2, 3\), but out is float32\(3,\)"):
        nd.ones(3).__iadd__(nd.ones((2, 3)))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda x: x + nd.ones((2, 1)), mx.MXNetError, r"\(3, 4\), \(2, 1\) do not broadcast"),
        (lambda x: x + nd.ones((3, 4), dtype="int32"), mx.MXNetError, "float32 and int32, wanted one dtype"),
        (lambda x: x + np.ones(4), TypeError, "numpy.ndarray.* not supported"),
        (lambda x: np.ones((3, 4)) + x, TypeError, "numpy.ndarray.* not supported"),
        (lambda x: x == None, TypeError, "NoneType.* not supported"),  # noqa: E711
        (lambda x: x @ x, TypeError, "@"),
        (lambda x: nd.relu(np.ones(2)), AssertionError, "NDArray"),
        (lambda x: nd.FullyConnected(x, x, num_hidden=3), mx.MXNetError, "bias missing"),
        (lambda x: nd.FullyConnected(x, x, x, num_hidden=3, no_bias=True), mx.MXNetError, "bias not taken"),
        (lambda x: nd.FullyConnected(x, x, x, num_hidden="q"), mx.MXNetError, "num_hidden='q' is not int"),
        (lambda x: nd.FullyConnected(x, x, x, num_hidden=3, foo=1), mx.MXNetError, "'foo'"),
        (lambda x: nd.relu(x, out=nd.zeros(4)), mx.MXNetError, "out is"),
        (lambda x: nd.relu(x, out=nd.zeros((3, 4), dtype="int32")), mx.MXNetError, "out is int32"),
        (lambda x: nd.concat([x, x]), TypeError, "NDArray"),
        (lambda x: nd.foo, AttributeError, "no attribute 'foo'"),
        (lambda x: x.foo, AttributeError, "no attribute 'foo'"),
        (lambda x: nd.ones(2, ctx=mx.gpu()), mx.MXNetError, "CPUs only"),
        (lambda x: x.copyto(nd.zeros((2, 4))), mx.MXNetError, r"wanted \(3, 4\)"),
    ],
)
def test_errors(call, error, match) -> None:
    with pytest.raises(error, match=match):
        call(grid())


def test_results_own_their_memory() -> None:
    x = grid()
    for result in (nd.relu(x), nd.identity(x), nd.transpose(x), nd.broadcast_to(nd.ones((1, 4)), shape=(3, 4)), nd.Dropout(x),
                   *nd.split(x, num_outputs=2, axis=1), nd.Reshape(x, shape=(4, 3)), nd.slice_axis(x, axis=0,
                       begin=1, end=3)):  # fmt: skip
        result[:] = -5
    assert x.asnumpy().min() == 0


def test_out() -> None:
    out = nd.zeros((3, 4))
    assert nd.relu(-grid(), out=out) is out
    parts = [nd.zeros((3, 2)), nd.zeros((3, 2))]
    nd.split(grid(), num_outputs=2, axis=1, out=parts)
    assert parts[1].asnumpy().tolist() == [[2, 3], [6, 7], [10, 11]]


def test_functions() -> None:
    x = grid()
    assert nd.concat(x, x, dim=0).shape == nd.concatenate([x, x]).shape == (6, 4)
    assert isinstance(nd.split(x, num_outputs=2, axis=1), list)
    assert isinstance(nd.split(x, num_outputs=1, axis=1), nd.NDArray)
    assert [p.shape for p in nd.split_v2(x, (1, 3), axis=1)] == [(3, 1), (3, 2), (3, 1)]
    assert nd.moveaxis(nd.ones((2, 3, 4)), 0, 2).shape == (3, 4, 2)
    assert nd.clip(x, 0, 1, name="ignored").shape == nd.op.clip(x, a_min=0, a_max=1).shape == (3, 4)
    assert nd.FullyConnected(data=x, weight=nd.ones((2, 4)), no_bias=True, num_hidden=2).shape == (3, 2)
    assert x.transpose((1, 0)).shape == x.transpose().shape == x.transpose(1, 0).shape == (4, 3)
    assert x.broadcast_to((2, 3, 4)).shape == (2, 3, 4)
    assert x.slice_axis(0, 0, 1).shape == (1, 4)
    assert x.copyto(nd.zeros((3, 4), dtype="int32")).dtype is np.int32
    assert nd.waitall() is None


def test_contexts() -> None:
    assert mx.current_context() == mx.cpu() == mx.cpu(0) != mx.cpu(1)
    assert (repr(mx.cpu(1)), repr(mx.cpu_pinned()), repr(mx.gpu(2))) == ("cpu(1)", "cpu_pinned(0)", "gpu(2)")
    with mx.Context("cpu", 1):
        assert nd.ones(1).context == mx.cpu(1)
        assert (nd.ones(1) + 1).ctx == mx.cpu(1)
    assert nd.ones(1).context == mx.cpu(0)
    assert mx.num_gpus() == 0
    with pytest.raises(KeyError):
        mx.Context("tpu")


def test_copies() -> None:
    x = grid()
    for twin in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        twin[:] = -1
        assert twin.shape == x.shape
        assert x.asnumpy().min() == 0
    with pytest.warns(RuntimeWarning, match="itself"):
        x.copyto(x)


def test_files(tmp_path) -> None:
    path = tmp_path / "a.params"
    nd.save(path, {"a": grid(), "b": nd.ones(2, dtype="int8")})
    again = nd.load(str(path))
    assert list(again) == ["a", "b"]
    assert again["b"].dtype is np.int8
    again["a"][:] = 5  # what was loaded can be written to, and the file does not change
    assert nd.load_frombuffer(path.read_bytes())["a"].asnumpy().tolist() == grid().asnumpy().tolist()
    nd.save(path, [grid()])
    assert isinstance(nd.load(path), list)
    nd.save(path, grid())
    assert len(nd.load(path)) == 1
    for wrong, error in (
        (3, ValueError),
        ((grid(),), ValueError),
        ({"a": 1}, TypeError),
        ([np.ones(2)], TypeError),
        ({1: grid()}, TypeError),
    ):
        with pytest.raises(error):
            nd.save(path, wrong)


def test_sparse_arrays(tmp_path) -> None:
    dense = nd.array([[0, 1], [0, 0]])
    rows, csr = dense.tostype("row_sparse"), dense.tostype("csr")
    assert repr(rows) == "\n<RowSparseNDArray 2x2 @cpu(0)>"
    assert repr(csr) == "\n<CSRNDArray 2x2 @cpu(0)>"
    assert (rows.indices.asnumpy().tolist(), rows.data.asnumpy().tolist()) == ([0], [[0, 1]])
    assert (csr.indices.asnumpy().tolist(), csr.indptr.asnumpy().tolist(), csr.data.asnumpy().tolist()) == (
        [1],
        [0, 1, 1],
        [1],
    )
    nd.save(tmp_path / "s.params", {"r": rows, "c": csr})
    for name, again in nd.load(tmp_path / "s.params").items():
        assert again.stype == {"r": "row_sparse", "c": "csr"}[name]
        np.testing.assert_array_equal(again.asnumpy(), dense.asnumpy())
        np.testing.assert_array_equal(again.tostype("default").asnumpy(), dense.asnumpy())
        with pytest.raises(mx.MXNetError, match=r"only supports \[:\]"):
            again[0] = 1
    with pytest.raises(mx.MXNetError, match="wanted 'default'"):
        dense.tostype("x")


@given(
    hnp.array_shapes(max_dims=4, max_side=4).flatmap(
        lambda s: st.tuples(st.just(s), hnp.basic_indices(s, allow_newaxis=True))
    )
)
def test_basic_indexing_is_that_of_numpy(case) -> None:
    shape, key = case
    plain = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    got = nd.array(plain)[key].asnumpy()
    np.testing.assert_array_equal(got, np.atleast_1d(plain[key]))
    x = nd.array(plain)
    x[key] = -1
    plain[key] = -1
    np.testing.assert_array_equal(x.asnumpy(), plain)


def test_what_is_the_array_itself() -> None:
    """As MXNet: x[:] and the transpose of one dimension are no new arrays, and share even the gradient."""
    x = nd.arange(3)
    assert x[:] is x and x[::1] is x and x.T is x
    assert x[...] is not x and x[0:3] is not x and nd.ones((2, 3)).T.shape == (3, 2)
