"""NumPy's array functions with dynamic axes: one ONNX model for every size, zero among them where NumPy has an answer."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import converters
from hybrid.core.op import REGISTRY, Spec
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from tests.grouped import over
from tests.table.goldens import close
from tests.table.test_goldens import run_onnx

SIZES = ({"n": 2, "t": 5}, {"n": 4, "t": 3}, {"n": 7, "t": 8})


class Input(NamedTuple):
    shape: tuple[Any, ...]
    """With names for dynamic axes."""
    draw: Callable[[np.random.Generator, list[int]], np.ndarray]


def real(*shape: Any, low: float = -1) -> Input:
    return Input(shape, lambda rng, dims: rng.uniform(low, 1, dims).astype(np.float32))


def whole(*shape: Any, high: int, low: int = 0, dtype: str = "int64") -> Input:
    return Input(shape, lambda rng, dims: rng.integers(low, high, dims).astype(dtype))


def truth(*shape: Any) -> Input:
    return Input(shape, lambda rng, dims: rng.integers(0, 2, dims).astype(bool))


ROWS: list[tuple[str, tuple[Input, ...], dict[str, Any]]] = [
    ("_np_atleast_1d", (real("n"), real("n", "t")), {}),
    ("_np_atleast_2d", (real("n"), real("n", "t"), real("n", 2, "t")), {}),
    ("_np_atleast_3d", (real("n"), real("n", "t"), real("n", 2, "t", 1)), {}),
    ("_np_diagflat", (real("n"),), {"k": 2}),
    ("_np_diagflat", (real("n", "t"),), {"k": -1}),
    ("_np_trace", (real("n", "t"),), {"offset": 1}),
    ("_np_trace", (real("n", 3, "t"),), {"axis1": -1, "axis2": 0, "offset": -1}),
    ("_npi_diag_indices_from", (real("n", "n"),), {}),
    ("_npi_diff", (real("n", "t"),), {"n": 2}),
    ("_npi_diff", (real("n", "t"),), {"n": 4, "axis": 0}),
    ("_npi_ediff1d", (real("n", "t"), real("n")), {"to_begin_arr_given": True, "to_end_scalar": 3.0}),
    ("_npi_polyval", (real(4), real("n", "t")), {}),
    ("_npi_polyval", (real(65), real("n", "t")), {}),
    ("_npi_average", (real("n", "t"), real("n", "t", low=0.1)), {"axis": 1, "returned": True}),
    ("_npi_average", (real("n", "t"), real("t", low=0.1)), {"axis": -1, "returned": True}),
    ("_npi_average", (real("n", "t"),), {"weighted": False, "returned": True}),
    ("_npi_average", (real("n", "t"),), {"weighted": False, "axis": (), "returned": True}),
    ("_npi_average", (real("n", "t"), real("n", "t", low=0.1)), {"axis": (), "returned": True}),
    ("_npi_average", (whole("n", "t", high=9),), {"weighted": False, "axis": 0, "returned": True}),
    ("_np_cumsum", (truth("n", "t"),), {"axis": 1}),
    ("_npi_lcm", (whole("n", 1, low=-20, high=20), whole("t", low=-20, high=20)), {}),
    ("_npi_ldexp", (real("n", 1), real("t")), {}),
    ("_npx_nonzero", (whole("n", "t", high=2),), {}),
    ("_npi_unique", (whole("n", "t", high=4),), {"return_index": True, "return_inverse": True, "return_counts": True}),
    ("_npi_unique", (whole("n", 2, "t", high=2),), {"return_inverse": True, "axis": 1}),
    ("_npi_delete", (real("n", "t"),), {"int_ind": -1, "axis": 0}),
    ("_npi_delete", (real("n", "t"),), {"int_ind": 1}),
    ("_npi_delete", (real("n", "t"),), {"start": -2, "step": 1, "axis": 1}),
    ("_npi_delete", (real("n", "t"),), {"step": -2}),
    ("_npi_delete", (real("n", "t"), whole("n", high=3)), {"axis": 1}),
    ("_npi_insert_scalar", (real("n", "t"), real("t")), {"int_ind": -1, "axis": 0}),
    ("_npi_insert_scalar", (real("n", "t"), real(3, "n")), {"int_ind": 1, "axis": 1}),
    ("_npi_insert_scalar", (real("n", "t"),), {"int_ind": -2, "val": 2.5}),
    ("_npi_insert_slice", (real("n", "t"), real("n", 1)), {"start": 0, "step": 2, "axis": 1}),
    ("_npi_insert_slice", (real("n", "t"),), {"start": -2, "step": 1, "val": 2.5}),
    ("_npi_insert_tensor", (real("n", "t"), real("n", 2), whole(2, low=-3, high=4)), {"axis": 1}),
    ("_npi_insert_tensor", (real("n", "t"), whole(3, high=3)), {"axis": 0, "val": 1.5}),
    ("_npi_insert_tensor", (real("n", "t"), whole(3, high=3)), {"val": 1.5}),
    ("_npi_boolean_mask_assign_scalar", (real("n", "t"), truth("n", "t")), {"value": 3, "start_axis": 0}),
    ("_npi_boolean_mask_assign_scalar", (real("n", "t", 2), truth("t")), {"value": 3, "start_axis": 1}),
    ("_npi_boolean_mask_assign_tensor", (real("n", "t", 2), truth("t"), real("n", 1, 2)), {"start_axis": 1}),
    ("_npi_boolean_mask_assign_tensor", (real("n", "t"), truth("n", "t"), real()), {"start_axis": 0}),
    ("_npi_bincount", (whole("n", high=9),), {"minlength": 3}),
    ("_npi_bincount", (whole("n", high=9), real("n")), {"has_weights": True}),
    ("_histogram", (real("n", "t"),), {"bin_cnt": 4, "range": (-0.75, 0.5)}),
    ("_histogram", (real("n", "t"),), {"bin_cnt": 4, "range": (0.25, 0.25)}),
    ("_histogram", (real("n", "t"), Input(("t",), lambda rng, dims: np.linspace(-1, 1, dims[0], dtype="f"))), {}),
    ("_npi_percentile", (real("n", "t"),), {"q_scalar": 30, "axis": 1}),
    ("_npi_percentile", (real("n", "t"),), {"q_scalar": 30, "axis": ()}),
    (
        "_npi_percentile",
        (real("n", "t"), Input((2,), lambda rng, dims: rng.uniform(0, 100, dims))),
        {"axis": (), "keepdims": True},
    ),
    ("_npi_percentile", (real("n", "t"), Input((2,), lambda rng, dims: np.array([10, 90], "f"))), {"axis": 0}),
    ("_npi_percentile", (real("n", "t"),), {"q_scalar": 66, "interpolation": "nearest", "keepdims": True}),
    ("_npx_constraint_check", (Input(("n", "t"), lambda rng, dims: np.ones(dims, bool)),), {}),
]


@pytest.mark.parametrize(
    ("operator", "inputs", "attrs"),
    [pytest.param(*r, id=f"{r[0]}-{i}") for i, r in enumerate(ROWS)],
)
@over("opset", [13, 21])
def test_one_model_serves_every_size(
    operator: str, inputs: tuple[Input, ...], attrs: dict[str, Any], opset: int
) -> None:
    cls = REGISTRY[operator]
    op = cls.bind(**attrs, **({cls.count: len(inputs)} if cls.inputs[0].startswith("*") else {}))
    node = Node(op, "node", [Entry(Node(None, f"in{i}")) for i in range(len(inputs))], op.dump())
    graph = Graph(Entry(node, i) for i in range(node.num_visible_outputs))

    def feeds(seed: int, sizes: dict[str, int]) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(seed)
        return {f"in{i}": x.draw(rng, [sizes.get(d, d) for d in x.shape]) for i, x in enumerate(inputs)}

    dtypes = {name: array.dtype for name, array in feeds(0, SIZES[0]).items()}
    specs = {f"in{i}": Spec(x.shape, dtypes[f"in{i}"]) for i, x in enumerate(inputs)}
    model = converters.to_onnx(graph, {}, specs, opset)
    for seed, sizes in enumerate(SIZES):
        given = feeds(seed, sizes)
        for got, expected in zip(run_onnx(model, given), Program(graph).run(given), strict=True):
            close(got, expected, op)


@pytest.mark.parametrize("count", [64, 65, 1200])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_polynomials_of_many_coefficients(count: int, dtype: str) -> None:
    """Few have nodes of their own, many are gone through by one; points of any rank."""
    rng = np.random.default_rng(count)
    for shape in ((2, 3), (5,)) if count < 100 else ((2, 3),):
        p, x = rng.uniform(-1, 1, count), rng.uniform(-0.9, 0.9, shape)
        if dtype == "int32":
            p, x = np.arange(count) % 5 - 2, rng.integers(-1, 2, shape)
        arrays = [p.astype(dtype), x.astype(dtype)]
        node = Node(REGISTRY["_npi_polyval"].bind(), "node", [Entry(Node(None, n)) for n in ("p", "x")])
        graph, feeds = Graph([Entry(node)]), dict(zip(("p", "x"), arrays))
        (want,) = Program(graph).run(feeds)
        for stored in ({}, {"p": arrays[0]}):
            model = converters.to_onnx(graph, stored, {k: v for k, v in feeds.items() if k not in stored})
            assert len(model.graph.node) < (300 if count == 64 else 20)
            (got,) = run_onnx(model, {k: v for k, v in feeds.items() if k not in stored})
            close(got, want, node.op)


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["_npi_argmax", "_npi_argmin"])
def test_the_extreme_of_a_number(name: str, axis: int, keepdims: bool) -> None:
    """As NumPy, which takes a number's axis for 0 or -1."""
    op = REGISTRY[name].bind(axis=axis, keepdims=keepdims)
    graph, feeds = Graph([Entry(Node(op, "node", [Entry(Node(None, "x"))]))]), {"x": np.array(3, np.float32)}
    (got,), (want,) = run_onnx(converters.to_onnx(graph, {}, feeds), feeds), Program(graph).run(feeds)
    assert (got, got.shape) == (want, want.shape) == (0, ())
