"""Graphs in which values decide about shapes, in stages, against NumPy."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import hybrid as mx
from hybrid import native
from hybrid.core.error import MXNetError
from hybrid.eager.cached_op import CachedOp
from hybrid.execution.interpreter import Interpretation
from hybrid.execution.lower import CompiledProgram
from hybrid.execution.program import Program
from hybrid.execution.stages import PATIENCE, Decided, Staged
from hybrid.ir.graph import Graph
from tests.graph.control import apply, one, outputs, variable

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")


def places() -> Graph:
    """Positions where relu(x w) is not 0, and what is computed of them; an input, a constant, a result of each stage."""
    x, w = variable("x"), variable("w")
    product = one("dot", x, w, name="product")
    positive = one("Activation", product, act_type="relu", name="relu")
    at = one("_onnx_NonZero", positive, name="at")
    wide = one("Cast", at, dtype="float32", name="wide")
    twice = one("_mul_scalar", wide, scalar=2.0, name="twice")
    again = one("_onnx_NonZero", one("tanh", twice, name="t"), name="again")
    picked = one("broadcast_add", twice, one("sum", positive, name="total"), name="picked")
    return Graph([x, positive, at, picked, again, w, at])


def feeds(seed: int, rows: int = 4) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).uniform(-1, 1, (rows, 3)).astype(np.float32)}


WEIGHTS = np.random.default_rng(9).uniform(-1, 1, (3, 5)).astype(np.float32)


def staged(program: Program, given: dict[str, np.ndarray]) -> Staged:
    arrays = [given[n] if n in given else program.constants[n] for n in program.names]
    bound = program.prepare(tuple(x for a in arrays for x in (a.shape, a.dtype))).bound
    assert isinstance(bound, Staged)
    return bound


def test_stages_give_what_numpy_gives(level):
    program, meaning = (Program(places(), {"w": WEIGHTS}, native=n) for n in (True, False))
    for seed in (0, 0, 0, 1, 1, 0, 2, 2):
        for rows in (4, 1):
            given = feeds(seed, rows)
            found, wanted = program.run(given), meaning.run(given)
            for mine, want in zip(found, wanted, strict=True):
                assert mine.shape == want.shape and mine.dtype == want.dtype
                np.testing.assert_allclose(mine, want, rtol=1e-5, atol=1e-6)
            before = [f.copy() for f in found]
            for result in found:  # memory of its own, which may be written to
                result[...] = 7
            for again, first in zip(
                program.run(given), before, strict=True
            ):  # NumPy may have run the first: other roundings
                np.testing.assert_allclose(again, first, rtol=1e-5, atol=1e-6)
    staged(program, feeds(0))


def test_shapes_that_never_come_again_are_left_to_numpy(level):
    """Behind the first stage, where there is another one, which is no graph for sizes that vary."""
    program, meaning = (Program(places(), {"w": np.eye(3, 5, dtype=np.float32)}, native=n) for n in (True, False))
    x = np.full((40, 3), -1, np.float32)
    bound = staged(program, {"x": x})
    for row in range(2 * PATIENCE):
        x[row, 0] = 1
        for mine, want in zip(program.run({"x": x}), meaning.run({"x": x}), strict=True):
            np.testing.assert_allclose(mine, want, rtol=1e-5)
    assert bound._stages.misses == PATIENCE + 1
    first, behind = bound._ran
    assert isinstance(first, CompiledProgram) and isinstance(behind, Interpretation)


def test_shapes_that_vary_behind_a_stage_are_one_trace(level):
    """A detector whose boxes are never as many as before: NumPy computes nothing, and few programs are made."""
    boxes, scores = variable("boxes"), variable("scores")
    names = ("max_output_boxes_per_class", "iou_threshold", "score_threshold")
    limits = [variable(n) for n in names]
    rows = one("_onnx_NonMaxSuppression", boxes, scores, *limits, given=names, name="rows")
    places = one("slice_axis", rows, axis=1, begin=2, end=3, name="places")
    taken = one("take", one("Reshape", boxes, shape=(-1, 4), name="flat"), places, mode="raise", name="taken")
    graph = Graph([rows, one("_mul_scalar", one("softmax", taken, name="s"), scalar=2.0, name="twice")])
    held = {names[0]: np.array([30]), names[1]: np.array([0.5], np.float32), names[2]: np.array([0.6], np.float32)}
    program, meaning = (Program(graph, held, native=n) for n in (True, False))
    counts = set()
    for seed in range(3 * PATIENCE):
        rng = np.random.default_rng(seed)
        corners = rng.uniform(0, 4, (1, 40, 2)).astype(np.float32)
        given = {
            "boxes": np.concatenate([corners, corners + rng.uniform(0.1, 3, corners.shape).astype(np.float32)], -1),
            "scores": rng.uniform(size=(1, 2, 40)).astype(np.float32),
        }
        found = program.run(given)
        counts.add(len(found[0]))
        for mine, want in zip(found, meaning.run(given), strict=True):
            np.testing.assert_allclose(mine, want, rtol=1e-5)
    bound = staged(program, given)
    assert len(counts) > 8 and bound._stages.misses <= 4 and bound.fallbacks() == []


def test_zeros_alone_and_numbers_without_axes(level):
    at = one("_onnx_NonZero", variable("x"), name="at")
    graph = Graph([at, one("Cast", at, dtype="float32", name="wide")])
    program, meaning = (Program(graph, native=n) for n in (True, False))
    nan = np.array([[np.nan, 0, -0.0], [1, 0, np.inf]])
    for x in (np.zeros((2, 3)), np.zeros((0, 3)), np.array(0.0), np.array(3.0), nan, np.ones((2, 1, 3, 2))):
        for dtype in ("float32", "float16", "float64", "int8", "uint8", "int32", "int64", "bool"):
            with np.errstate(all="ignore"):
                given = {"x": x.astype(dtype)}
            for mine, want in zip(program.run(given), meaning.run(given), strict=True):
                assert mine.dtype == want.dtype
                np.testing.assert_array_equal(mine, want)


def test_what_numpy_is_slow_at_is_compiled_for_new_shapes(level):
    at = one("Cast", one("_onnx_NonZero", variable("x"), name="at"), dtype="float32", name="wide")
    picture = one("expand_dims", one("expand_dims", at, axis=0, name="one"), axis=0, name="picture")
    joined = one("Convolution", picture, variable("w"), kernel=(1, 1), num_filter=4, no_bias=True, name="joined")
    graph = Graph([joined])
    weights = {"w": np.arange(4, dtype=np.float32).reshape(4, 1, 1, 1)}
    program, meaning = Program(graph, weights), Program(graph, weights, native=False)
    x = np.zeros((40, 3), np.float32)
    for row in range(PATIENCE + 4):
        x[row, row % 3] = 1
        (found,), (wanted,) = program.run({"x": x}), meaning.run({"x": x})
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        bound = staged(program, {"x": x})
        assert bound._ran and bound._reference not in bound._ran


def test_other_values_of_what_rarely_changes(level):
    program = Program(places(), fixed=("w",))
    meaning = Program(places(), native=False)
    for weights in (WEIGHTS, -WEIGHTS, WEIGHTS):
        for _ in range(3):
            given = {**feeds(3), "w": weights}
            for mine, want in zip(program.run(given), meaning.run(given), strict=True):
                np.testing.assert_allclose(mine, want, rtol=1e-5, atol=1e-6)


def test_integers_that_rarely_change_decide(level):
    """Shapes that a parameter says: a program for each of its values."""
    reshaped = one("_onnx_Reshape", variable("x"), variable("dims"), name="reshaped")
    graph = Graph([one("softmax", reshaped, name="s"), one("_mul_scalar", reshaped, scalar=2.0, name="twice")])
    program, meaning = Program(graph, fixed=("dims",)), Program(graph, native=False)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for dims in ((2, 6), (2, 6), (12, 1), (2, 6), *((1, 12, *(1,) * n) for n in range(12)), (2, 6)):
        given = {"x": x, "dims": np.array(dims, np.int64)}
        for mine, want in zip(program.run(given), meaning.run(given), strict=True):
            assert mine.shape == want.shape == dims
            np.testing.assert_allclose(mine, want, rtol=1e-6)
    arrays = [x, np.array((2, 6), np.int64)]
    bound = program.prepare((x.shape, x.dtype, arrays[1].shape, arrays[1].dtype)).bound
    assert isinstance(bound, Decided) and all(r["native"] for r in bound.profile(arrays) or ())


def test_parameters_that_are_written_to(level):
    """In place, between calls of a block: what was packed of them is packed again."""
    x, w, dims = (
        mx.nd.array(np.arange(12).reshape(3, 4) - 5),
        mx.nd.array(np.eye(4, 6)),
        mx.nd.array([2, 9], dtype="int64"),
    )
    names = ("x", "w", "dims")
    weight = variable("w")
    product = one("dot", variable("x"), weight, name="product")
    at = one("Cast", one("_onnx_NonZero", product, name="at"), dtype="float32", name="wide")
    behind = one(
        "dot",
        one("transpose", at, name="t"),
        one("slice_axis", weight, axis=0, begin=0, end=2, name="few"),
        name="b",
    )
    graphs = [Graph([product, behind]), Graph([one("_onnx_Reshape", product, variable("dims"), name="r")])]
    for graph in graphs:
        made = CachedOp(mx.sym.Symbol(graph.outputs), (("param_indices", (1, 2)[: len(graph.variables()) - 1]),))
        values = dict(zip(names, (x, w, dims)))
        for scale in (1.0, 1.0, 1.0, -3.0, 2.0):
            w[:] = mx.nd.array(np.eye(4, 6)) * scale
            dims[:] = [9, 2] if scale < 0 else [2, 9]
            found = made(*(values[n.name] for n in graph.variables()))
            feeds = {n.name: values[n.name].asnumpy() for n in graph.variables()}
            want = Program(graph, native=False).run(feeds)
            for mine, wanted in zip(found if isinstance(found, list) else [found], want, strict=True):
                np.testing.assert_allclose(mine.asnumpy(), wanted, rtol=1e-5)


def test_what_does_not_fit_is_told_as_numpy_tells_it(level):
    at = one("_onnx_NonZero", variable("x"), name="at")
    graph = outputs(apply("elemwise_add", one("Cast", at, dtype="float32", name="wide"), variable("y"), name="sum"))
    program, meaning = Program(graph), Program(graph, native=False)
    good = {"x": np.ones((2, 2), np.float32), "y": np.ones((2, 4), np.float32)}
    bad = {**good, "x": np.eye(2, dtype=np.float32)}
    for _ in range(3):
        assert np.array_equal(program.run(good)[0], meaning.run(good)[0])
        said = []
        for one_of in (program, meaning):
            with pytest.raises(MXNetError) as error:
                one_of.run(bad)
            said.append(str(error.value))
        assert said[0] == said[1]


def test_stages_run_in_many_threads(level):
    program, meaning = (Program(places(), {"w": WEIGHTS}, native=n) for n in (True, False))
    wanted = [meaning.run(feeds(i)) for i in range(4)]
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(30):
            found = program.run(feeds(number))
            if any(a.shape != b.shape or np.abs(a - b).max(initial=0) > 1e-5 for a, b in zip(found, wanted[number])):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_tensor_of_a_shape_that_varies_is_filled_without_numpy(level):
    x = variable("x")
    for value in (np.array([2.5], np.float32), np.array([7]), np.array([True])):
        made = one("_onnx_ConstantOfShape", one("shape_array", x, name="s"), value=value, name="filled")
        graph = Graph([one("Cast", made, dtype="float32", name="wide"), one("tanh", x, name="t")])
        program, meaning = (Program(graph, native=n) for n in (True, False))
        for rows in (2, 5, 4, 7):
            given = {"x": feeds(rows, rows)["x"]}
            for mine, want in zip(program.run(given), meaning.run(given), strict=True):
                np.testing.assert_allclose(mine, want, rtol=1e-6)
        bound = program.prepare(((9, 3), np.dtype("float32"))).bound
        assert isinstance(bound, CompiledProgram) and bound.symbols == (9,) and bound.fallbacks() == []
