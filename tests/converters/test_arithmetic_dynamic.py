"""Arithmetic, reductions, softmax and loss heads with dynamic axes: one ONNX model for every size."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import converters
from converters.export import Spec
from hybrid.core.error import MXNetError
from hybrid.core.op import OPS, REGISTRY
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ops.arg_extremes import ArgExtreme
from hybrid.ops.reduce import NpReduction, Reduction
from tests.grouped import each
from tests.table.goldens import close
from tests.table.test_goldens import run_onnx

SIZES = ({"n": 2, "t": 3}, {"n": 5, "t": 1}, {"n": 1, "t": 7})


class Row(NamedTuple):
    operator: str
    attrs: dict[str, Any]
    inputs: tuple[Sequence[Any], ...]
    """Shapes, with names for dynamic axes."""
    dtype: str = "float32"


def row(operator: str, *inputs: Sequence[Any], dtype: str = "float32", **attrs: Any) -> Row:
    return Row(operator, attrs, inputs, dtype)


BT = ("n", "t", 4)
REDUCTIONS = [
    row(name, BT, dtype=dtype, **attrs)
    for name, cls in OPS.items()
    if issubclass(cls, Reduction | NpReduction)
    for attrs in ({}, {"axis": 1}, {"axis": (0, 2), "keepdims": True}, {"axis": (0, 1)})
    for dtype in ("float32", "int32")
]
PLACES = [
    row(name, BT, **attrs)
    for name, cls in OPS.items()
    if issubclass(cls, ArgExtreme)
    for attrs in ({}, {"axis": 1}, {"axis": 0, "keepdims": True}, {"axis": -1})
]
ROWS = [
    *REDUCTIONS,
    *PLACES,
    row("argmax_channel", BT),
    row("norm", BT),
    row("norm", BT, axis=1),
    row("norm", BT, ord=1, axis=(1, 2)),
    row("moments", BT, axes=(0, 1)),
    row("multi_sum_sq", BT, ("n",), num_arrays=2),
    row("broadcast_add", BT, ("n", 1, 4)),
    row("broadcast_mod", BT, (1, "t", 1)),
    row("broadcast_hypot", BT, ("n", "t", 1)),
    row("elemwise_mul", BT, BT),
    row("_npi_arctan2", BT, ("t", 4)),
    row("_npi_true_divide", BT, (4,), dtype="int32"),
    row("_power_scalar", BT, scalar=3, dtype="int32"),
    row("_rdiv_scalar", BT, scalar=7, dtype="int32"),
    row("_rmod_scalar", BT, scalar=-2.5),
    row("expm1", BT),
    row("log2", BT, dtype="int32"),
    row("clip", BT, a_min=-0.3, a_max=0.4),
    row("clip", BT, a_min=-1.5, a_max=2.5, dtype="int32"),
    row("_contrib_div_sqrt_dim", BT),
    row("_contrib_div_sqrt_dim", ("n", "t")),
    row("add_n", BT, BT, BT, num_args=3),
    row("where", BT, BT, BT),
    row("where", ("n",), BT, BT),
    row("_npi_where", ("n", 1, 4), BT, (4,)),
    row("all_finite", BT),
    row("softmax", BT, axis=1),
    row("softmax", BT, axis=2, temperature=0.5),
    row("log_softmax", BT, axis=0),
    row("softmin", BT),
    row("SoftmaxActivation", BT),
    row("SoftmaxActivation", BT, mode="channel"),
    row("softmax_cross_entropy", ("n", "t"), ("n",)),
    row("SoftmaxOutput", ("n", 4), ("n",)),
    row("SoftmaxOutput", BT, ("n", "t")),
    row("SoftmaxOutput", BT, ("n", "t"), preserve_shape=True),
    row("SoftmaxOutput", BT, ("n", 4), multi_output=True),
    row("LogisticRegressionOutput", BT, BT),
]


def converted(row: Row) -> tuple[Graph, Any]:
    cls = REGISTRY[row.operator]
    op = cls.bind(**{k: str(v) for k, v in row.attrs.items()})
    names = op.input_names()
    node = Node(op, "node", [Entry(Node(None, n)) for n in names], {})
    graph = Graph(Entry(node, i) for i in range(node.num_visible_outputs))
    inputs = dict(zip(names, row.inputs, strict=True))
    return graph, converters.convert(graph, {}, inputs, default_dtype=np.dtype(row.dtype)).proto()


@each(ROWS, lambda row: (row.operator, f"{row.attrs}-{row.dtype}"))
def test_one_model_for_every_size(row: Row) -> None:
    graph, model = converted(row)
    rng = np.random.default_rng(7)
    for sizes in SIZES:
        feeds = {}
        for variable, shape in zip(graph.variables(), row.inputs, strict=True):
            array = rng.uniform(-3, 3, [sizes.get(d, d) for d in shape])
            # not 0, for division, and a product that int32 holds
            feeds[variable.name] = (np.where(array > -2, 1, -2) if row.dtype == "int32" else array).astype(row.dtype)
        want = Program(graph).run(feeds)
        for got, wanted in zip(run_onnx(model, feeds), want, strict=True):
            close(got, wanted, graph.nodes[-1].op)


def test_reductions_of_what_is_empty_when_it_runs() -> None:
    """NaN, 0, 1 or nothing, as the engine has it, which follows MXNet; what that refuses onnxruntime may answer."""
    rows = [
        *REDUCTIONS,
        row("moments", BT, axes=(0, 1)),
        row("moments", BT, axes=(1,)),
        row("_npi_var", BT, axis=1, ddof=1),
    ]
    rows += [
        row(name, BT, axis=1, dtype="float64") for name in ("mean", "prod", "sum", "_np_prod", "_npi_mean", "_npi_std")
    ]
    answered = set()
    for one in rows:
        graph, model = converted(one)
        for sizes in ({"n": 2, "t": 0}, {"n": 0, "t": 3}):
            feeds = {graph.variables()[0].name: np.zeros([sizes.get(d, d) for d in BT], one.dtype)}
            try:
                with np.errstate(all="ignore"):
                    want = Program(graph).run(feeds)
            except MXNetError:
                continue
            answered.add(one.operator)
            for got, wanted in zip(run_onnx(model, feeds), want, strict=True):
                np.testing.assert_array_equal(got, wanted, f"{one} {sizes}", strict=True)
    assert {"mean", "moments", "prod", "_np_prod", "_npi_mean", "_npi_var", "_npi_std", "sum"} <= answered


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_integers_are_divided_by_the_whole_number_in_a_root(dtype: str) -> None:
    """As MXNet 1.9.1 does: the root of 5 is 2, and what is left of a division is dropped."""
    node = Node(REGISTRY["_contrib_div_sqrt_dim"].bind(), "node", [Entry(Node(None, "data"))])
    given = np.array([[10, -10, 21, 100, -7]]).astype(dtype)
    wanted = np.array([[5, 123 if dtype == "uint8" else -5, 10, 50, 124 if dtype == "uint8" else -3]]).astype(dtype)
    for native in (False, True):
        (found,) = Program(Graph([Entry(node)]), native=native).run({"data": given})
        np.testing.assert_array_equal(found, wanted, strict=True)
    for last in (5, "n"):
        model = converters.to_onnx(Graph([Entry(node)]), {}, {"data": Spec((1, last), np.dtype(dtype))})
        (found,) = run_onnx(model, {"data": given})
        np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize("order", [1, 2])
def test_norms_of_no_numbers_are_0(order: int) -> None:
    graph, model = converted(row("norm", ("n", "t"), ord=order, axis=1))
    feeds = {graph.variables()[0].name: np.zeros((2, 0), np.float32)}
    for got, wanted in zip(run_onnx(model, feeds), Program(graph).run(feeds), strict=True):
        np.testing.assert_array_equal(wanted, [0, 0])
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("operator", ["SoftmaxOutput", "LinearRegressionOutput", "SVMOutput"])
def test_the_label_is_no_input(operator: str) -> None:
    node = Node(REGISTRY[operator].bind(), "node", [Entry(Node(None, n)) for n in ("data", "label")], {})
    model = converters.to_onnx(Graph([Entry(node)]), {}, {"data": ("n", 3)})
    assert [i.name for i in model.graph.input] == ["data"]


@pytest.mark.parametrize("length", ["int32", "int64"])
def test_softmax_over_dynamic_lengths(length: str) -> None:
    op = REGISTRY["softmax"].bind(axis="1", use_length="True")
    node = Node(op, "node", [Entry(Node(None, n)) for n in op.input_names()], {})
    graph = Graph([Entry(node)])
    graph.variables()[0].attrs["__dtype__"] = "0"
    graph.variables()[1].attrs["__dtype__"] = {"int32": "4", "int64": "6"}[length]
    model = converters.to_onnx(graph, {}, {"data": BT, "length": ("n", 4)})
    for sizes in SIZES:
        shape = [sizes.get(d, d) for d in BT]
        rng = np.random.default_rng(3)
        feeds = {
            "data": rng.normal(size=shape).astype("float32"),
            "length": rng.integers(0, shape[1] + 1, (shape[0], 4)).astype(length),
        }
        (want,) = Program(graph).run(feeds)
        close(run_onnx(model, feeds)[0], want, op)
