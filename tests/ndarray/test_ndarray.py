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
    for key in (nd.array([1, 0, 1], dtype="bool"), (slice(None), nd.array([1, 0, 1, 0], dtype="bool"))):
        with pytest.raises(ValueError, match="boolean indexing in legacy mode"):  # of MXNet's own arrays
            x[key]
        with pytest.raises(ValueError, match="boolean indexing in legacy mode"):
            x[key] = 1


def test_ranges_and_tuples_are_indices() -> None:
    x = grid()
    for key in (range(0, 3, 2), ((0, 2),), (range(0, 3, 2), slice(None))):
        assert x[key].asnumpy().tolist() == [[0, 1, 2, 3], [8, 9, 10, 11]]
    x[(2, 0), range(1, 3)] = 7
    assert x[:, 1:3].asnumpy().tolist() == [[1, 7], [5, 6], [7, 10]]


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


# -- numbers of what had been looked at for its shape --------------------------------------------------------------------------


def test_arrays_that_are_made_hold_these_numbers() -> None:
    for made, want, dtype in (
        (nd.arange(5), [0, 1, 2, 3, 4], "float32"),
        (nd.arange(2, 7, 2), [2, 4, 6], "float32"),
        (nd.arange(2, 8, 2, dtype="int32"), [2, 4, 6], "int32"),
        (nd.arange(3, 0, -1), [3, 2, 1], "float32"),
        (nd.arange(1, 3, repeat=3), [1, 1, 1, 2, 2, 2], "float32"),
        (nd.arange(1, 2, 0.25, dtype="float64"), [1, 1.25, 1.5, 1.75], "float64"),
        (nd.linspace(1, 3, 5), [1, 1.5, 2, 2.5, 3], "float32"),
        (nd.linspace(1, 3, 4, endpoint=False, dtype="float64"), [1, 1.5, 2, 2.5], "float64"),
        (nd.eye(2), [[1, 0], [0, 1]], "float32"),
        (nd.eye(2, 3, 1, dtype="int8"), [[0, 1, 0], [0, 0, 1]], "int8"),
        (nd.eye(3, 2, k=-1), [[0, 0], [1, 0], [0, 1]], "float32"),
        (nd.full((2, 2), 3.5), [[3.5, 3.5], [3.5, 3.5]], "float32"),
        (nd.full(2, 3.9, dtype="int32"), [3, 3], "int32"),
        (nd.ones((1, 2), dtype="float64"), [[1, 1]], "float64"),
        (nd.zeros(2, dtype="uint8"), [0, 0], "uint8"),
        (nd.empty((2, 1)), [[0], [0]], "float32"),
        (nd.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]], "float32"),
        (nd.array(np.array([1, 2], np.int64)), [1, 2], "float32"),
        (nd.array(nd.array([1, 2], dtype="int8")), [1, 2], "int8"),
        (nd.array([1.9, -1.9], dtype="int32"), [1, -1], "int32"),
        (nd.from_numpy(np.array([[1, 2], [3, 4]], np.int64).T, zero_copy=False), [[1, 3], [2, 4]], "int64"),
        (nd.concatenate([grid(), grid()[:1]]), [*grid().asnumpy().tolist(), [0, 1, 2, 3]], "float32"),
        (nd.concatenate([grid()[:, 2:], grid()[:, :1]], axis=1), [[2, 3, 0], [6, 7, 4], [10, 11, 8]], "float32"),
        (nd.onehot_encode(nd.array([2, 0]), nd.ones((2, 3))), [[0, 0, 1], [1, 0, 0]], "float32"),
        (grid().broadcast_like(nd.zeros((2, 3, 4))), [grid().asnumpy().tolist()] * 2, "float32"),
        (grid()._at(1), [4, 5, 6, 7], "float32"),
        (grid()._slice(1, 2), [[4, 5, 6, 7]], "float32"),
        (grid().diag(), [0, 5, 10], "float32"),
        (grid().diag(k=1), [1, 6, 11], "float32"),
        (-grid()[0], [0, -1, -2, -3], "float32"),
        (abs(grid()[0] - 2), [2, 1, 0, 1], "float32"),
    ):
        assert (made.asnumpy().tolist(), made.dtype) == (want, np.dtype(dtype).type)
    out = nd.zeros((2, 3))
    assert (
        nd.ones((2, 3), out=out) is out
        and nd.full((2, 3), 4, out=out) is out
        and out.asnumpy().tolist() == [[4] * 3] * 2
    )
    assert nd.eye(2, 3, out=out) is out and out.asnumpy().tolist() == [[1, 0, 0], [0, 1, 0]]
    one = grid()
    assert nd.concatenate([one], always_copy=False) is one and nd.concatenate([one]) is not one
    for make in (nd.ones, nd.zeros, nd.empty):
        assert make(3, ctx=mx.cpu(2)).context == mx.cpu(2)
    for call, error in (
        (lambda: nd.arange(1, 2, 0), mx.MXNetError), (lambda: nd.ones(-1), mx.MXNetError), (lambda: nd.ones("a"), mx.MXNetError),
        (lambda: nd.ones(2, colour=1), mx.MXNetError), (lambda: nd.array("a"), TypeError),
        (lambda: nd.array([[1], [1, 2]]), TypeError), (lambda: nd.from_numpy(np.array(["a"], object)), ValueError),
        (lambda: nd.concatenate([]), TypeError), (lambda: nd.from_numpy(np.array([1j])), ValueError),
        (lambda: nd.from_numpy(np.zeros((2, 3)).T), ValueError), (lambda: nd.zeros(2, dtype="complex64"), TypeError),
    ):  # fmt: skip
        with pytest.raises(error):
            call()


def test_parts_that_are_split_off() -> None:
    x, plain = nd.arange(24).reshape((2, 3, 4)), np.arange(24).reshape(2, 3, 4)
    for cut, axis in (((1,), 1), ((1, 3), 2), ((0, 2), 2), (2, 0), (3, 1), (2, 2), (4, -1)):
        for squeeze in (False, True):
            cuts = list(cut) if isinstance(cut, tuple) else cut
            wanted = np.split(plain, cuts, axis)
            if squeeze and all(p.shape[axis] == 1 for p in wanted):
                wanted = [p.squeeze(axis) for p in wanted]
            elif squeeze:
                continue
            found = nd.split_v2(x, cut, axis, squeeze)
            assert [p.asnumpy().tolist() for p in found] == [p.tolist() for p in wanted], (cut, axis)
    with pytest.raises(ValueError, match="equal division"):
        nd.split_v2(x, 2, 1)
    with pytest.raises(ValueError, match="either int or tuple"):
        nd.split_v2(x, [1], 1)
    for source, to in ((0, 2), (2, 0), (-1, 1), ((0, 1), (2, 0)), ((0, 1, 2), (1, 2, 0)), ((1, 0), (-1, 0))):
        assert nd.moveaxis(x, source, to).asnumpy().tolist() == np.moveaxis(plain, source, to).tolist()
    for source, to in ((3, 0), (0, -4), ((0, 1), (0,)), ((0, 0), (0, 1)), ((0, 1), (1, 1))):
        with pytest.raises(ValueError):
            nd.moveaxis(x, source, to)
    values = nd.array([0.5, 1, 1.5, 2.5, 4, -1])
    for bins, span, counts, edges in (
        (nd.array([0, 1, 2, 4]), None, [1, 2, 2], [0, 1, 2, 4]),
        (2, (0, 4), [3, 2], [0, 2, 4]),
        (5, None, [1, 1, 2, 1, 1], [-1, 0, 1, 2, 3, 4]),
    ):
        found = nd.histogram(values, bins, span)
        assert (found[0].asnumpy().tolist(), found[1].asnumpy().tolist()) == (counts, edges)
        assert found[0].dtype is (np.int64 if span or isinstance(bins, nd.NDArray) else np.float32)
    with pytest.raises(ValueError, match="either an integer or an NDArray"):
        nd.histogram(values, 2.5)


BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "modulo": np.mod, "power": np.power,
    "maximum": np.maximum, "minimum": np.minimum, "equal": np.equal, "not_equal": np.not_equal, "greater": np.greater,
    "greater_equal": np.greater_equal, "lesser": np.less, "lesser_equal": np.less_equal, "logical_and": np.logical_and,
    "logical_or": np.logical_or, "logical_xor": np.logical_xor, "true_divide": np.divide,
}  # fmt: skip


@pytest.mark.parametrize("large", [False, True])
def test_functions_of_two_arrays_or_numbers(large: bool) -> None:
    """Every pair of ranks that broadcast, and a number on either side; large arrays go through the engine."""
    rng = np.random.default_rng(3)
    many = 18_000 if large else 3
    shapes = [(2, many, 4), (many, 4), (4,), (1,), (2, 1, 4), (2, many, 1)]
    arrays = [rng.integers(1, 5, s).astype(np.float32) for s in shapes[:: 2 if large else 1]]
    for name, plain in BINARY.items():
        function = getattr(nd, name)
        for a in arrays[:1] if large else arrays:
            for b in arrays:
                for x, y in ((a, b), (b, a)):
                    np.testing.assert_allclose(
                        function(nd.array(x), nd.array(y)).asnumpy(), plain(x, y), rtol=1e-6, err_msg=name
                    )
            for number in (2, 2.5, np.float32(3)):
                right, left = function(nd.array(a), number), function(number, nd.array(a))
                assert right.dtype is left.dtype is np.float32
                np.testing.assert_allclose(right.asnumpy(), plain(a, number), rtol=2e-6, err_msg=name)
                np.testing.assert_allclose(left.asnumpy(), plain(number, a), rtol=2e-6, err_msg=name)
        assert float(function(3, 2)) == float(plain(3, 2)), name
    for operation in ("__iadd__", "__isub__", "__imul__", "__itruediv__", "__imod__"):
        plain = {"iadd": np.add, "isub": np.subtract, "imul": np.multiply, "itruediv": np.divide, "imod": np.mod}[
            operation[2:-2]
        ]
        for other in (arrays[0] * 2, arrays[1], 3):
            x = nd.array(arrays[0])
            view = x[1:]
            made = getattr(x, operation)(other if isinstance(other, int) else nd.array(other))
            want = plain(arrays[0], other)
            assert made is x
            np.testing.assert_allclose(x.asnumpy(), want, rtol=1e-6)
            np.testing.assert_allclose(view.asnumpy(), want[1:], rtol=1e-6)  # in place: views see it


@pytest.mark.parametrize("large", [False, True])
def test_writes_through_views_of_views(large: bool) -> None:
    """The array, its views and the views of these are one memory, in whatever order they are written and read."""
    shape = (6, 4, 6000) if large else (6, 4, 5)
    plain = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    x = nd.array(plain) * 2  # large: still to come
    plain = plain * 2
    views = [(x, plain)]
    for key in (slice(1, 5), 2, slice(0, 3), (1,)):
        made, numpy = views[-1]
        views.append((made[key], numpy[key]))
    views.append((x.reshape((-1,)), plain.reshape(-1)))
    views.append((x.reshape((4, 6, -1))[3], plain.reshape(4, 6, -1)[3]))
    views.append((x.detach(), plain))
    for number, (made, numpy) in enumerate([*views, *views[::-1]]):
        made[:] = made * 3 + number
        numpy[...] = numpy * 3 + number
        for one, other in views:
            np.testing.assert_array_equal(one.asnumpy(), other, err_msg=str(number))
    copies = [x.copy(), x[::2], x[:, 1], x.T, x.astype("float32"), x[[0, 1]], nd.array(x), x * 1]
    kept = [c.asnumpy() for c in copies]
    x[:] = -1
    for copied, before in zip(copies, kept, strict=True):
        np.testing.assert_array_equal(copied.asnumpy(), before)


def test_copies_between_dtypes_and_places() -> None:
    values = np.array([[-1.5, 0.0, 2.75], [200.0, -3.25, 7.0]])
    for source in ("float64", "float32", "float16", "int32", "int64"):
        x = nd.array(values, dtype=source)
        held = x.asnumpy()
        assert held.dtype == source and held.tolist() == values.astype(source).tolist()
        for target in ("float64", "float32", "float16", "int32", "int64"):
            want = held.astype(target)
            to = nd.ones((2, 3), ctx=mx.cpu(1), dtype=target)
            assert x.copyto(to) is to and to.context == mx.cpu(1)
            for found in (to, x.astype(target), nd.array(x, dtype=target), nd.Cast(x, dtype=target)):
                assert found.dtype is np.dtype(target).type and found.asnumpy().tolist() == want.tolist()
            to[:] = 0
            to[1:, :2] = x[1:, :2]
            assert to.asnumpy().tolist() == [[0, 0, 0], [*want[1, :2].tolist(), 0]]
            to._sync_copyfrom(held)
            assert to.asnumpy().tolist() == want.tolist()
            assert (x.astype(target, copy=False) is x) == (source == target)
    x = nd.array(values)
    for call, error, said in (
        (lambda: x.copyto(nd.zeros((3, 2))), mx.MXNetError, r"got an array of shape \(3, 2\), wanted \(2, 3\)"),
        (lambda: x.copyto(3), TypeError, "does not support type"),
        (lambda: x._sync_copyfrom(np.zeros(3)), ValueError, "Shape inconsistent"),
        (
            lambda: np.array(x, copy=False) if np.__version__ >= "2" else x.__array__(copy=False),
            ValueError,
            "copy only",
        ),
        (lambda: len(nd.zeros(())), TypeError, "0-d"),
        (lambda: bool(x), ValueError, "ambiguous"),
        (lambda: float(x), ValueError, "not a scalar"),
        (lambda: x.reshape((2, 3), size=1), TypeError, "takes the keywords shape and reverse, got size"),
        (lambda: x.broadcast_to((0, 3)), mx.MXNetError, "cannot be broadcast"),
        (lambda: x.transpose(axis=1), mx.MXNetError, "Cannot find argument axis, wanted axes"),
        (lambda: nd.add(x, "a"), TypeError, "not supported"),
        (lambda: nd.add(None, 2), TypeError, "not supported"),
        (lambda: x[np.array(["a"])], IndexError, "wanted integers"),
        (lambda: x[[0, 1], [0, 1, 2]], ValueError, "not broadcastable"),
        (
            lambda: nd.zeros((2, 3, 4))[[0], [0, 1, 2], [0, 1, 2, 3]],
            ValueError,
            r"shape1=\(3,\) is not broadcastable to shape2=\(4,\)",
        ),
        (lambda: nd.zeros((2, 3, 4))[[[0], [1]], [0, 1, 2], [0, 1]], ValueError, r"shape1=\(2, 3\) .* shape2=\(2,\)"),
        (
            lambda: nd.split(x, num_outputs=3, axis=1, out=[nd.zeros((2, 1))]),
            mx.MXNetError,
            "got 1 arrays in out, wanted 3",
        ),
        (lambda: nd.relu(x, out=nd.zeros((2, 3), dtype="float64")), mx.MXNetError, "but out is float64"),
        (lambda: nd.relu(x, out=nd.zeros((3, 2))), mx.MXNetError, r"but out is float32\(3, 2\)"),
    ):
        with pytest.raises(error, match=said):
            call()
    assert (bool(nd.zeros((0,))), bool(nd.zeros(1)), bool(nd.array([0.5])), x.writable) == (False, False, True, True)
    assert (int(nd.array([3.7])), float(nd.array([[3.5]])), [1, 2, 3][nd.array([1], dtype="int32")]) == (3, 3.5, 2)
    target = nd.zeros((4, 5))
    assert target.slice_assign(nd.array([[1.0, 2], [3, 4]]), (0, 1), (4, 5), (2, 3)) is target
    assert target.asnumpy().tolist() == [[0, 1, 0, 0, 2], [0] * 5, [0, 3, 0, 0, 4], [0] * 5]
    target.slice_assign_scalar(9, (None, 0), (1, 1), (None, None))
    assert target.asnumpy()[:, 0].tolist() == [9, 0, 0, 0]


def test_memory_is_shared_with_other_libraries_only_where_asked() -> None:
    plain = np.array([[1.0, 2], [3, 4]], np.float32)
    shared, apart = nd.from_numpy(plain), nd.from_numpy(plain, zero_copy=False)
    plain[0, 0] = 9
    assert (shared.asnumpy()[0, 0], apart.asnumpy()[0, 0]) == (9, 1)
    shared[1] = 7
    assert plain.tolist() == [[9, 2], [7, 7]]
    x = grid()
    for taken in (
        nd.from_dlpack(x), nd.from_dlpack(x.to_dlpack_for_write()), nd.from_dlpack(nd.to_dlpack_for_read(x)),
        nd.from_dlpack(nd.to_dlpack_for_write(x)), nd.from_dlpack(x.to_dlpack_for_read()),
    ):  # fmt: skip
        before = x.asnumpy()
        taken[1, 2] = taken[1, 2] * 2
        before[1, 2] *= 2
        np.testing.assert_array_equal(x.asnumpy(), before)
    assert x.__dlpack_device__() == (1, 0)
    assert nd.from_dlpack(np.arange(6).reshape(2, 3).T).asnumpy().tolist() == [[0, 3], [1, 4], [2, 5]]


def test_new_axes_behind_index_arrays() -> None:
    """Shapes and sums (each element times its place) from MXNet 1.9.1, which puts the axis as many places too early as index arrays
    that stand side by side make axes."""
    x, every = nd.arange(120).reshape((2, 3, 4, 5)), slice(None)
    for key, shape, total in (
        (([0, 1], None), (1, 2, 3, 4, 5), 568820), ((every, [0, 1], None), (2, 1, 2, 4, 5), 215080),
        ((every, [0, 2], [1, 3], None), (2, 1, 2, 5), 16070), (([0, 1], every, [1, 3], None), (2, 3, 1, 5), 36905),
        (([0, 1], None, every, None), (1, 2, 1, 3, 4, 5), 568820),
        ((every, [0, 2], [1, 3], None, every, None), (2, 1, 2, 1, 5), 16070),
        (([0, 1], every, every, [4, 2], None), (2, 3, 4, 1), 22304), ((1, [0, 2], None), (1, 2, 4, 5), 79140),
        (([1, 0], 2, None), (1, 2, 4, 5), 51340), ((every, [[0, 1], [2, 0]], None), (2, 1, 2, 2, 4, 5), 898560),
        ((None, [0, 1], None), (1, 1, 2, 3, 4, 5), 568820), (([0, 1], ..., [1, 2], None), (2, 3, 4, 1), 22106),
        (([0, 1], ..., None), (2, 3, 4, 1, 5), 568820), ((every, every, [0, 1], None, [4, 2]), (2, 2, 3, 1), 4417),
        (([0], None, None), (1, 1, 1, 3, 4, 5), 70210), ((0, every, [1, 2], None), (2, 3, 1, 5), 15455),
    ):  # fmt: skip
        got = x[key].asnumpy()
        assert (got.shape, (got.ravel() * np.arange(got.size)).sum(dtype=np.float64)) == (shape, total), key
        x.attach_grad()
        with mx.autograd.record():
            assert x[key].shape == shape
    with mx.autograd.record():
        for key, said in (((2,), "index 2 .*axis 0 with size 2"), ((0, -4), "index -4 .*axis 1 with size 3"),
                          ((0, None, 3), "index 3 .*axis 1 with size 3"), ((..., 5), "index 5 .*axis 3 with size 5")):  # fmt: skip
            with pytest.raises(IndexError, match=said):
                x[key]
        assert x[1, -3, 3, 4].asscalar() == 79
        for key in ("0", np.str_("1"), b"0", 1.0):
            with pytest.raises(ValueError, match="does not support slicing"):
                x[key]


def test_equal_numbers_that_are_not_the_same() -> None:
    """0.0 and -0.0, in turns, alone and in tuples, and 0: what is remembered of calls with the one is not used for the other."""
    x, zero = nd.array([[-1.0, 2]]), nd.zeros((1, 1, 2))
    calls = (
        lambda v: nd.clip(-abs(x), v, 1),
        lambda v: nd.clip(-abs(x), a_min=v, a_max=1),
        lambda v: nd.pad(x.reshape((1, 1, 1, 2)), "constant", (0, 0, 0, 0, 0, 0, 0, 1), v)[:, :, :, 2:],
        lambda v: nd.one_hot(nd.array([9.0]), 2, off_value=v),
        lambda v: nd.full((2,), v),
        lambda v: nd.maximum(x * -0.0, v)[:, 1:],
        lambda v: abs(x) * v,
        lambda v: nd.image.normalize(nd.negative(zero), mean=(-float(v),), std=(1.0,)),
        lambda v: nd.image.normalize(nd.negative(zero), (-float(v),), (1.0,)),
    )
    for number, call in enumerate(calls):
        for value in (0.0, -0.0, 0, -0.0, 0.0, False, -0.0):
            assert np.signbit(call(value).asnumpy()).all() == np.signbit(value), (number, value)
            assert np.signbit(call(value).asnumpy()).any() == np.signbit(value), (number, value)


def test_attributes_by_position_and_by_name() -> None:
    x = nd.array([[1, 2, 3], [4, 5, 6]])
    for clipped in (nd.clip(x, 2, 5), nd.clip(x, 2, a_max=5), nd.clip(x, a_min=2, a_max=5), nd.clip(data=x, a_max=5, a_min=2),
                    x.clip(2, 5), nd.clip(a_max=5, a_min=2, data=x)):  # fmt: skip
        assert clipped.asnumpy().tolist() == [[2, 2, 3], [4, 5, 5]]
    for _ in range(2):  # what has been refused once is refused again
        for wrong, error, said in (
            (lambda: nd.clip(x, 2, 5, a_min=1), TypeError, "multiple values for argument 'a_min'"),
            (lambda: nd.clip(x, 2, 5, a_max=1), TypeError, "multiple values for argument 'a_max'"),
            (lambda: nd.clip(x, 2, 5, data=x), TypeError, "multiple values for argument 'data'"),
            (lambda: nd.clip(x, 2, 3, 4), TypeError, "takes 3 positional arguments but 4"),
            (lambda: nd.concat(x, x, 1), TypeError, "inputs must be NDArrays, got int"),
            (lambda: nd.FullyConnected(x, x, 3), TypeError, "inputs must be NDArrays, got int"),
            (lambda: nd.clip(x, 2, 5, 7, a_min=1), TypeError, "takes 3 positional"),
            (lambda: nd.clip(x, 2), mx.MXNetError, "a_max"),
            (lambda: nd.clip(x, 2, 5, axis=1), mx.MXNetError, "Cannot find argument 'axis'"),
            (lambda: nd.concat(x, arg2=x, dim=0), mx.MXNetError, "Cannot find argument 'arg2'"),
        ):
            with pytest.raises(error, match=said):
                wrong()
    y, z = x + 10, x + 20
    for made in (
        nd.concat(x, y, z, dim=0),
        nd.concat(x, arg1=y, arg2=z, dim=0),
        nd.concat(arg2=z, arg0=x, arg1=y, dim=0),
    ):
        assert made.asnumpy()[:, 0].tolist() == [1, 4, 11, 14, 21, 24]
    assert nd.expand_dims(x, 1).shape == nd.expand_dims(x, axis=1).shape == (2, 1, 3)
    # attributes of other versions, which mean nothing any more
    made = nd._internal._linspace(start=0, stop=1, num=3, step=9, repeat=4, infer_range=True)
    assert made.asnumpy().tolist() == [0, 0.5, 1]


def test_what_the_modules_of_functions_show() -> None:
    inside = dir(nd._internal)
    assert (
        {"_plus_scalar", "_onnx_Gelu", "_onnx_Conv"} <= {*inside}
        and "relu" not in inside
        and len({*inside}) == len(inside)
    )
    assert {"Gelu", "Conv"} <= {*dir(nd.onnx)} and {"box_nms", "foreach"} <= {*dir(nd.contrib)}
    assert "FullyConnected" in dir(nd.op) and not any(n.startswith("_") for n in dir(nd.op))
    for module in (nd.op, nd.contrib, nd.linalg, nd.random, nd.onnx, mx.sym.contrib, mx.sym.op):
        names = [n for n in dir(module) if not n.startswith("__")]
        assert len({*names}) == len(names) and names == sorted(names)
        assert repr(module) == f"<module {module.__name__!r} of operators>"
    assert (
        nd._internal._plus_scalar(nd.ones(1), scalar=2).asscalar()
        == nd._internal._PlusScalar(nd.ones(1), scalar=2).asscalar()
        == 3
    )
    for module, name in ((nd.op, "_plus_scalar"), (nd.contrib, "relu"), (nd.op, "nothing"), (nd._internal, "_nothing")):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(module, name)


def test_shapes_and_axes_one_by_one_or_together() -> None:
    x = nd.arange(24).reshape((2, 3, 4))
    want = np.arange(24).reshape(2, 3, 4)
    for y in (x.transpose(1, 2, 0), x.transpose((1, 2, 0)), x.transpose([1, 2, 0]), x.transpose(axes=(1, 2, 0))):
        np.testing.assert_array_equal(y.asnumpy(), want.transpose(1, 2, 0))
    for y in (x.transpose(), x.transpose(()), x.T):
        np.testing.assert_array_equal(y.asnumpy(), want.T)
    assert nd.arange(3).transpose(0).asnumpy().tolist() == [0, 1, 2]
    for y in (
        x.reshape(6, 4),
        x.reshape((6, 4)),
        x.reshape([6, 4]),
        x.reshape(shape=(6, 4)),
        x.reshape(shape=[6, 4]),
        x.reshape(-1, 4),
    ):
        np.testing.assert_array_equal(y.asnumpy(), want.reshape(6, 4))
    assert x.reshape(24).shape == x.reshape(shape=24).shape == x.reshape((24,)).shape == (24,)
    one = nd.array([[1], [2]])
    assert nd.array([7]).broadcast_to(3).asnumpy().tolist() == [7, 7, 7]
    assert one.broadcast_to((2, 3)).asnumpy().tolist() == [[1, 1, 1], [2, 2, 2]]
    assert one.broadcast_to((2, 2, 2)).asnumpy().tolist() == [[[1, 1], [2, 2]]] * 2
    assert nd.zeros((0, 3)).broadcast_to((0, 3)).shape == (0, 3)
    for source, shape in ((nd.ones((1, 3)), (0, 3)), (nd.zeros((0, 3)), (2, 0, 3))):
        with pytest.raises(mx.MXNetError, match="cannot be broadcast"):
            source.broadcast_to(shape)
    assert nd.add(2, one).asnumpy().tolist() == [[3], [4]] and nd.maximum(2, 3) == 3
    for wrong in (lambda: nd.add(3, "x"), lambda: nd.add("x", 3), lambda: nd.add(one, None), lambda: nd.add([1], one)):
        with pytest.raises(TypeError, match="not supported"):
            wrong()
    assert len({hash(one): 0, hash(x): 0}) == 2 and hash(one) == hash(one)


def test_outputs_that_are_not_shown_need_no_target() -> None:
    """BatchNorm has three, of which one is seen; and of several targets each gets its own."""
    x, target = nd.array([[1.0, 20], [3, 60]]), nd.zeros((2, 2))
    rest = [nd.array(v) for v in ([1, 2], [0, 5], [2, 40], [1, 400])]
    assert nd.BatchNorm(x, *rest, fix_gamma=False, eps=0, out=target) is target
    np.testing.assert_allclose(target.asnumpy(), [[-1, 3], [1, 7]], rtol=1e-6)
    one, two = nd.zeros((2, 1)), nd.zeros((2, 1))
    assert nd.split(x, num_outputs=2, axis=1, out=[one, two]) == [one, two]
    assert (one.asnumpy().tolist(), two.asnumpy().tolist()) == ([[1], [3]], [[20], [60]])
    for out, said in (([one], "got 1 arrays in out, wanted 2"), ([one, target], "wanted the same"),
                      ([one, nd.zeros((2, 1), dtype="int32")], "wanted the same")):  # fmt: skip
        with pytest.raises(mx.MXNetError, match=said):
            nd.split(x, num_outputs=2, axis=1, out=out)


def test_targets_of_results_whose_sizes_only_the_values_say() -> None:
    x = nd.array([3, 1, 3, 2])
    targets = nd.zeros((3,)), nd.zeros((3,), dtype="int64")
    assert nd._internal._npi_unique(x, return_index=True, out=list(targets)) == list(targets)
    assert [t.asnumpy().tolist() for t in targets] == [[1, 2, 3], [1, 3, 0]]
    for wrong in (
        [nd.zeros((2,)), targets[1]],
        [targets[0], nd.zeros((2,), dtype="int64")],
        [targets[0], nd.zeros((3,))],
        [targets[0]],
    ):
        with pytest.raises(mx.MXNetError, match="wanted"):
            nd._internal._npi_unique(x, return_index=True, out=wrong)


def test_forms_that_numpy_and_broadcasting_ask_for() -> None:
    x = nd.array([1.5, 2, 3])
    for dtype in (np.int64, "float64", None):
        got = np.asarray(x, dtype=dtype)
        assert (
            got.dtype == np.dtype(dtype or np.float32)
            and got.tolist() == x.asnumpy().astype(dtype or np.float32).tolist()
        )
    for shape in ((2, 4, 3), (4, 3), (3,), (1, 1, 1, 3)):
        np.testing.assert_array_equal(x.broadcast_to(shape).asnumpy(), np.broadcast_to(x.asnumpy(), shape))
        np.testing.assert_array_equal(x.broadcast_like(nd.zeros(shape)).asnumpy(), np.broadcast_to(x.asnumpy(), shape))
    alone = nd.NDArray._own(np.array(2.5, np.float32), x.context)  # of no axes, as ONNX has them
    assert alone.shape == alone[...].shape == alone[()].shape == () and alone[...].asscalar() == 2.5


def test_arrays_of_one_number_are_numbers_to_python() -> None:
    one = nd.array([[2.5]]).asnumpy()
    assert (complex(one), float(one), int(one), f"{float(one):.2f}") == (2.5 + 0j, 2.5, 2, "2.50")
    assert (
        one.shape == (1, 1)
        and (one + 1).shape == (1, 1)
        and one[0].shape == (1,)
        and repr(one) == "array([[2.5]], dtype=float32)"
    )
    with pytest.raises(TypeError):
        float(nd.array([1, 2]).asnumpy())
