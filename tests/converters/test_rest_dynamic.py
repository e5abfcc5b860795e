"""Point processes, transforms and sparse rows as ONNX, against the engine, with dynamic sizes; whole numbers exactly."""

import numpy as np
import pytest

import converters
from hybrid.core.op import Spec
from hybrid.execution.program import Program
from hybrid.ir.graph import Graph
from tests.graph.optimizing import apply, var
from tests.table.test_goldens import run_onnx

from .test_detection_dynamic import check, graph_of


def test_point_processes():
    graph = graph_of("_contrib_hawkesll", {})
    shapes = {"lda": ("n", 3), "alpha": (3,), "beta": (3,), "state": ("n", 3), "lags": ("n", "t"), "marks": ("n", "t")}
    shapes |= {"valid_length": ("n",), "max_time": ("n",)}
    rng = np.random.default_rng(0)
    inputs = {k: Spec(v, np.dtype(np.int32 if k == "marks" else np.float32)) for k, v in shapes.items()}
    model = converters.to_onnx(graph, {}, inputs)
    for sizes in ({"n": 2, "t": 4}, {"n": 5, "t": 9}):
        feeds = {k: rng.uniform(0.2, 1.5, [sizes.get(d, d) for d in v]).astype(np.float32) for k, v in shapes.items()}
        feeds["marks"] = rng.integers(0, 3, feeds["lags"].shape).astype(np.int32)
        feeds["valid_length"] = rng.integers(0, sizes["t"] + 1, sizes["n"]).astype(np.float32)
        feeds["max_time"] += 10
        check(graph, model, feeds)


@pytest.mark.parametrize(("name", "size"), [("_contrib_fft", 1), ("_contrib_ifft", 2)])
@pytest.mark.parametrize("opset", [17, 20, 24])
def test_transforms(name, size, opset):
    graph = graph_of(name, {})
    model = converters.to_onnx(graph, {}, {"data": ("n", "k")}, opset)
    for rows, count in ((3, 8), (1, 37)):
        data = np.random.default_rng(count).normal(size=(rows, size * count)).astype(np.float32)
        check(graph, model, {"data": data})


@pytest.mark.parametrize("name", ["_contrib_fft", "_contrib_ifft"])
def test_transforms_of_a_known_size_before_opset_17(name):
    graph = graph_of(name, {})
    model = converters.to_onnx(graph, {}, {"data": ("n", 2, 3, 60)}, 13)
    check(graph, model, {"data": np.random.default_rng(0).normal(size=(2, 2, 3, 60)).astype(np.float32)})


def test_rows_that_stay():
    graph = graph_of("_sparse_retain", {})
    model = converters.to_onnx(graph, {}, {"data": ("n", 3), "indices": ("k",)})
    for rows, chosen in ((5, [0, 3, 3]), (2, [])):
        data = np.random.default_rng(rows).normal(size=(rows, 3)).astype(np.float32)
        check(graph, model, {"data": data, "indices": np.array(chosen, np.float32)})


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16"])
@pytest.mark.parametrize("interp", range(6))
def test_pictures_of_whole_numbers_are_resized_to_the_last_digit(dtype, interp):
    rng = np.random.default_rng(interp)
    for old in ((6, 8), (7, 5), (1, 3)):
        for new in ((3, 4), (5, 5), (13, 2), (14, 15)):
            data = (rng.integers(0, 256, (*old, 2)) * (1 if dtype == "uint8" else 100)).astype(dtype)
            graph = graph_of("_image_resize", {"size": new[::-1], "interp": interp})
            (got,) = run_onnx(converters.to_onnx(graph, {}, {"data": data}, 17), {"data": data})
            np.testing.assert_array_equal(got, Program(graph).run({"data": data})[0], err_msg=f"{old} to {new}")


@pytest.mark.parametrize("values", [(), (1, 2, 3), (9,)])
def test_borders_by_channel(values):
    graph = graph_of("_cvcopyMakeBorder", {"top": 1, "bot": 0, "left": 2, "right": 3, "value": 7, "values": values})
    data = np.random.default_rng(0).integers(0, 256, (3, 4, 3)).astype(np.uint8)
    (got,) = run_onnx(converters.to_onnx(graph, {}, {"src": data}), {"src": data})
    np.testing.assert_array_equal(got, Program(graph).run({"src": data})[0])


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_ranges_that_infer_their_length(dtype):
    """As old GluonNLP counts places: the range is as long as what it is added to, whatever that is."""
    x, span = var("x"), {"start": 2, "step": 3, "repeat": 2, "infer_range": True, "dtype": dtype}
    counted = apply("_arange", **span)
    graph = Graph([apply("elemwise_mul", apply("zeros_like", x), counted), apply("elemwise_add", counted, x), counted])
    model = converters.to_onnx(graph, {}, {"x": ("n",)})  # the dtype follows from that of the range
    for size in (4, 1, 7):
        check(graph, model, {"x": np.arange(size).astype(dtype)})
