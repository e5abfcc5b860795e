"""Questions of programs that were written for MXNet and not here; the answers are those of MXNet 1.9.1."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import nd, sym
from tests.compat.test_compat import python


def test_importing_mxnet_imports_what_it_imports() -> None:
    """Sockeye uses multiprocessing.pool without importing it; importing hybrid alone does not pay for it."""
    program = """
import sys
import hybrid
assert "multiprocessing.pool" not in sys.modules
hybrid.install_as_mxnet()
import multiprocessing
import mxnet
with multiprocessing.pool.ThreadPool(1) as pool:
    print(pool.map(str, [1, 2]))
"""
    done = python("-c", program)
    assert (done.stdout, done.stderr) == ("['1', '2']\n", "")


def test_modules_that_libraries_look_for_are_there_once_mxnet_is() -> None:
    """einops asks sys.modules for mxnet.ndarray before it takes an array for one of MXNet's."""
    program = """
import sys
import hybrid
hybrid.install_as_mxnet()
import mxnet
print([name for name in ("mxnet.gluon", "mxnet.ndarray", "mxnet.symbol") if sys.modules[name] is not getattr(hybrid, name[6:])])
"""
    done = python("-c", program)
    assert (done.stdout, done.stderr) == ("[]\n", "")


class Holder:
    """Something with a dtype."""

    def __init__(self, dtype: Any):
        self.dtype = dtype


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (nd.zeros((2, 2), dtype="int32"), "int32"),
        (nd.zeros((2, 2), dtype="float16").tostype("csr"), "float16"),
        (mx.gluon.Parameter("p", shape=(1,), dtype="float64"), "float64"),
        (np.float16(3), "float16"),
        (Holder("int8"), "int8"),
        (Holder(np.uint8), "uint8"),
        (Holder(None), "float64"),  # as NumPy has it
    ],
)
def test_a_dtype_is_taken_from_anything_that_has_one(given: Any, wanted: str) -> None:
    x = nd.array([1.7, 2])
    made = [
        x.astype(given), nd.cast(x, dtype=given), nd.ones((2,), dtype=given), nd.array([1, 2], dtype=given),
        nd.arange(2, dtype=given), nd.one_hot(x, depth=3, dtype=given), nd.ones((2, 2)).tostype("csr").astype(given),
    ]  # fmt: skip
    assert [np.dtype(a.dtype).name for a in made] == [wanted] * len(made)
    assert x.astype(nd.ones((1,)), copy=False) is x
    if given is not None and getattr(given, "dtype", None) is not None:
        for symbol in (sym.cast(sym.var("x"), dtype=given), sym.zeros((2,), dtype=given), sym.var("x").astype(given)):
            assert next(iter(symbol.attr_dict().values()))["dtype"] == wanted


@pytest.mark.parametrize("given", [np.zeros(1, "int8"), Holder("text"), Holder(Holder(5))])
def test_what_has_no_dtype_of_arrays_is_refused(given: Any) -> None:
    with pytest.raises(TypeError):
        nd.ones((2,)).astype(given)
    with pytest.raises((TypeError, ValueError)):
        sym.zeros((2,), dtype=given)


def test_numbers_are_drawn_in_the_dtype_of_an_array() -> None:
    like = nd.zeros((1,), dtype="float64")
    assert nd.random.uniform(shape=(2,), dtype=like).dtype is np.float64
    assert nd.random.multinomial(nd.array([0.5, 0.5]), dtype=like).dtype is np.float64


def test_arrays_are_made_of_numbers_as_texts() -> None:
    for source in (["1", "2"], [b"1", b"2"], np.array(["1", "2"]), np.array(["1", 2], object), [1, "2"]):
        for dtype in ("int32", "float16", "uint8"):
            made = nd.array(source, dtype=dtype)
            assert made.dtype is np.dtype(dtype).type
            assert made.asnumpy().tolist() == [1, 2]
    made = nd.array([["1.5", "2"]])
    assert made.dtype is np.float32
    assert made.asnumpy().tolist() == [[1.5, 2]]
    assert np.isnan(nd.array([None]).asscalar())
    for source, dtype in ((["a"], "float32"), (["1.5"], "int32"), ([None], "int32"), ([[1], [2, 3]], None)):
        with pytest.raises(TypeError, match="source_array must be array like object"):
            nd.array(source, dtype=dtype)


class Plain(mx.io.DataIter):
    """Two batches, described by plain tuples or as told."""

    def __init__(self, data: Any, label: Any):
        super().__init__(4)
        self.provide_data, self.provide_label = data, label
        self.reset()

    def reset(self) -> None:
        self.left = 2

    def next(self) -> mx.io.DataBatch:
        if not self.left:
            raise StopIteration
        self.left -= 1
        return mx.io.DataBatch([nd.ones((4, 2)) * self.left], [nd.ones((4,))], pad=0)


def test_iterators_that_describe_batches_by_tuples_are_read_ahead() -> None:
    data, label = [("data", (4, 2))], [("lab", (4,))]
    ahead = mx.io.PrefetchingIter(Plain(data, label))
    assert (ahead.provide_data, ahead.provide_label, ahead.batch_size) == (data, label, 4)
    assert [(b.data[0].asnumpy()[0, 0], b.provide_data, b.provide_label) for b in ahead] == [
        (1, data, label), (0, data, label),
    ]  # fmt: skip
    ahead.reset()
    total = sym.LinearRegressionOutput(sym.sum(sym.var("data"), axis=1), sym.var("lab"))
    module = mx.mod.Module(total, label_names=["lab"])
    module.fit(ahead, num_epoch=1)
    assert module.get_outputs()[0].asnumpy().tolist() == [0, 0, 0, 0]


def test_only_descriptions_are_renamed() -> None:
    new = {"rename_data": [{"data": "x"}], "rename_label": [{"lab": "y"}]}
    plain = mx.io.PrefetchingIter(Plain([("data", (4, 2), "int32", "NT")], [("lab", (4,))]), **new)
    said = mx.io.PrefetchingIter(Plain([mx.io.DataDesc("data", (4, 2))], [mx.io.DataDesc("lab", (4,))]), **new)
    first = plain.provide_data[0]
    assert (first.name, first.dtype, first.layout, plain.provide_label[0].name) == ("data", "int32", "NT", "lab")
    assert (said.provide_data[0].name, said.provide_label[0].name) == ("x", "y")
    with pytest.raises(TypeError, match="must be lists"):
        mx.io.PrefetchingIter(Plain(("data", (4, 2)), [("lab", (4,))]))


@pytest.mark.filterwarnings("ignore:Context.default_ctx:DeprecationWarning")
def test_the_default_context_by_its_old_name() -> None:
    """MXFusion reads it."""
    assert mx.Context.default_ctx == mx.cpu(0)
    with mx.cpu(4):
        assert mx.Context.default_ctx == mx.cpu(4)
        mx.Context.default_ctx = mx.cpu(5)
        assert mx.current_context() == nd.zeros((1,)).context == mx.cpu(5)
    assert mx.Context.default_ctx == mx.cpu(0)
    try:
        mx.Context.default_ctx = mx.cpu(3)
        with mx.cpu(1):
            pass
        assert mx.current_context() == nd.zeros((1,)).context == mx.cpu(3)
    finally:
        mx.Context.default_ctx = mx.cpu(0)
    with pytest.raises(TypeError, match="wanted a Context"):
        mx.Context.default_ctx = "cpu"


def test_the_default_context_warns() -> None:
    with pytest.warns(DeprecationWarning, match="current_context"):
        assert mx.Context.default_ctx == mx.cpu(0)
    with pytest.warns(DeprecationWarning, match="current_context"):
        mx.Context.default_ctx = mx.cpu(0)


def test_copies_of_parameters_are_found_as_mxnet_finds_them() -> None:
    """MXFusion and xfer give a parameter values of their own through its private attributes."""
    parameter = mx.gluon.Parameter("w", shape=(2,))
    assert (parameter._ctx_map, parameter._ctx_list) == (None, None)
    parameter.initialize(ctx=[mx.cpu(0), mx.cpu(2), mx.cpu_pinned(1)])
    assert parameter._ctx_map == [[], [0, 2, 1]]
    assert parameter.data(mx.cpu(1)).context == mx.cpu_pinned(1)
    assert parameter.data(mx.cpu_pinned(2)).context == mx.cpu(2)
    with pytest.raises(mx.MXNetError, match=r"not initialized on context cpu\(3\)"):
        parameter.data(mx.cpu(3))
    parameter.reset_ctx([mx.cpu(2)])
    assert parameter._ctx_map == [[], [None, None, 0]]
    parameter = mx.gluon.Parameter("v", shape=(2,))
    parameter._data, parameter._ctx_list, parameter._ctx_map = [nd.ones((2,))] * 2, [mx.cpu(0), mx.cpu(1)], [[], [1, 0]]
    assert parameter.data(mx.cpu(1)).asnumpy().tolist() == [1, 1]


def collect(seen: dict[str, Any], name: Any, array: Any) -> None:
    """Do what gluonnlp's and MXNet's own calibrators do with what a callback is given."""
    handle = ctypes.cast(array, mx.base.NDArrayHandle)
    seen[mx.base.py_str(name)] = nd.NDArray(handle, writable=False).copyto(mx.cpu()).asnumpy().tolist()


def test_callbacks_can_decode_names_and_make_arrays_of_handles() -> None:
    seen: dict[str, Any] = {}
    kinds: set[Any] = set()
    net = mx.gluon.nn.HybridSequential(prefix="")
    net.add(mx.gluon.nn.Dense(2, in_units=2, use_bias=False, prefix="a_"), mx.gluon.nn.Activation("relu", prefix="b_"))
    net.initialize(mx.init.Constant(2))
    net.hybridize()

    def hook(name: Any, operator: Any, array: Any) -> None:
        kinds.add(operator.decode())
        collect(seen, name, array)

    net.register_op_hook(hook)
    net(nd.array([[1, -2]]))
    assert (seen, kinds) == (
        {"a_fwd_output": [[-2, -2]], "b_fwd_output": [[0, 0]]},
        {"FullyConnected", "Activation"},
    )
    seen.clear()
    executor = sym.exp(sym.var("x"), name="e").simple_bind(mx.cpu(), x=(1,))
    executor.set_monitor_callback(lambda name, array: collect(seen, name, array), True)
    executor.forward()
    assert seen == {"x": [0], "e_input0": [0], "e_output": [1]}
    monitor = mx.mon.Monitor(1)
    monitor.install(executor)
    monitor.tic()
    executor.forward()
    assert {type(name) for _, name, _ in monitor.toc()} == {str}


def test_handles_are_those_of_living_arrays() -> None:
    array = nd.array([1, 2])
    handle = ctypes.cast(array, mx.base.NDArrayHandle)
    same = nd.NDArray(handle)
    array[:] = 5
    assert same.asnumpy().tolist() == [5, 5]
    del array, same
    gc.collect()
    for gone in (handle, ctypes.c_void_p(None), ctypes.c_void_p(12345)):
        with pytest.raises(mx.MXNetError, match="this handle is none of a living array"):
            nd.NDArray(gone)


def test_counts_of_metrics_are_whole_numbers_where_mxnet_counts_so() -> None:
    labels, predictions = [nd.array([0, 1, 1, 0])], [nd.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.4, 0.6]])]
    said = []
    for metric in (mx.metric.F1(average="micro"), mx.metric.F1(), mx.metric.MCC(average="micro"), mx.metric.MCC()):
        metric.update(labels, predictions)
        said.append(f"{metric.num_inst} {metric.global_num_inst}")
    assert said == ["4 4", "1 1", "4 4", "1.0 1.0"]


def test_the_gradient_of_gather_nd_by_its_name() -> None:
    where = nd.array([[0, 1, 0], [1, 0, 1]])
    data = nd.array([1, 2, 3])
    data.attach_grad()
    with mx.autograd.record():
        out = nd._internal._backward_gather_nd(data, where, shape=(2, 2))
        loss = (out * out).sum()
    loss.backward()
    assert out.asnumpy().tolist() == [[0, 4], [2, 0]]
    assert data.grad.asnumpy().tolist() == [8, 4, 8]
    rows = nd._internal._backward_gather_nd(nd.array([[1, 2], [3, 4], [5, 6]]), nd.array([[0, 1, 0]]), shape=(2, 2))
    assert rows.asnumpy().tolist() == [[6, 8], [3, 4]]
    whole = nd._internal._backward_gather_nd(data.astype("int32"), where.astype("int32"), shape=(2, 2))
    assert (whole.dtype, whole.asnumpy().tolist()) == (np.int32, [[0, 4], [2, 0]])
    symbol = sym._internal._backward_gather_nd(sym.var("a"), sym.var("b"), shape=(2, 2))
    assert sym.load_json(symbol.tojson()).eval(a=data, b=where)[0].asnumpy().tolist() == [[0, 4], [2, 0]]
    assert "_backward_gather_nd" in dir(nd._internal)
