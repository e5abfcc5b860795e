"""Reading operators that move, cut and index: against onnxruntime, with what may be a constant arriving at run time
too, with sizes that are not known when reading, and written and read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

import converters
from converters import UnsupportedModel
from converters.importer import Imported, import_model
from hybrid.core.error import OpError
from hybrid.execution.program import Program
from hybrid.ir.declared import SIZES
from tests.grouped import over

FAR = np.iinfo(np.int64)


class Case(NamedTuple):
    """One node: its inputs in order, None for those left out; those but the first may be constants."""

    op_type: str
    opset: int
    inputs: Sequence[Any]
    attributes: dict[str, Any]
    outputs: int = 1


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def whole(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def model_of(case: Case, *, constant: bool, dynamic: bool) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """The model of the node and what to feed it."""
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(case.inputs)]
    arrays = {n: a for n, a in zip(names, case.inputs) if n}
    stored = {n: a for n, a in arrays.items() if constant and n != "x0"}
    feeds = {n: a for n, a in arrays.items() if n not in stored}
    outputs = [f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(case.op_type, names, outputs, **case.attributes)
    infos = [
        helper.make_tensor_value_info(
            n,
            helper.np_dtype_to_tensor_dtype(a.dtype),
            [f"{n}_{i}" for i in range(a.ndim)] if dynamic else a.shape,
        )
        for n, a in feeds.items()
    ]
    graph = helper.make_graph(
        [node],
        "node",
        infos,
        [helper.make_empty_tensor_value_info(n) for n in outputs],
        [numpy_helper.from_array(a, n) for n, a in stored.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=8), feeds


def run(model: Imported, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    program = Program(model.graph, model.params)
    return program.run({n: a for n, a in feeds.items() if n in program.inputs})


def again(model: Imported, opset: int) -> Imported:
    """The model written and read."""
    used = {n.name for n in model.graph.variables()}
    inputs = {n: s for n, s in model.inputs.items() if n in used}
    return import_model(converters.to_onnx(model.graph, model.params, inputs, opset=max(opset, 13)))


def equal(got: np.ndarray, want: np.ndarray) -> None:
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_array_equal(got, want)


def cases() -> Iterator[Case]:
    x = numbers(2, 3, 4)
    for target in ((0, -1), (4, -1, 2), (-1,), (3, 8)):
        yield Case("Reshape", 13, (x, whole(*target)), {})
    yield Case("Reshape", 14, (numbers(0, 3), whole(3, 0)), {"allowzero": 1})
    yield Case("Reshape", 14, (numbers(1), whole()), {})
    for axis in range(-3, 4):
        yield Case("Flatten", 13, (x,), {"axis": axis})
    yield Case("Flatten", 9, (numbers(0, 3),), {"axis": 0})
    for start, end in ((0, 2), (-1, 9), (1, -1), (5, 7)):
        yield Case("Shape", 15, (x,), {"start": start, "end": end})
    yield Case("Size", 13, (x,), {})
    for axes in ((0,), (-1,), (0, 2)):
        yield Case("Squeeze", 13, (numbers(1, 3, 1), whole(*axes)), {})
        yield Case("Squeeze", 11, (numbers(1, 3, 1),), {"axes": axes})
        yield Case("Unsqueeze", 13, (numbers(3, 2), whole(*axes)), {})
        yield Case("Unsqueeze", 11, (numbers(3, 2),), {"axes": axes})
    yield Case("Squeeze", 13, (numbers(1, 1),), {})
    for target in ((2, 1, 6), (3, 4), (1, 1, 1), (1,)):
        yield Case("Expand", 13, (numbers(3, 1), whole(*target)), {})
    yield Case("Expand", 8, (np.array(2.5, np.float32), whole(2, 0)), {})
    yield Case("Tile", 13, (numbers(2, 3), whole(2, 0)), {})
    yield Case("Tile", 6, (numbers(2, 3), whole(1, 3)), {})
    slices = (
        ((-3,), (FAR.max,), (1,), None),
        ((-1,), (FAR.min,), (0,), (-1,)),
        ((4, 5), (-100, 0), (0, 1), (-2, -3)),
        ((10,), (20,), (0,), None),
        ((-100,), (-2,), (-1,), (2,)),
        ((3,), (-1,), (0,), (-1,)),
        ((1, 2), (4, 5), None, None),
        ((-1,), (-7,), (0,), (-1,)),
    )
    for starts, ends, axes, steps in slices:
        inputs = [None if v is None else whole(*v) for v in (starts, ends, axes, steps)]
        yield Case("Slice", 13, (numbers(5, 6), *inputs), {})
        if steps is None:
            yield Case(
                "Slice", 9, (numbers(5, 6),), {"starts": starts, "ends": ends, **({"axes": axes} if axes else {})}
            )
    for mode in ("constant", "reflect", "edge", "wrap"):
        for pads in ((1, 0, 2, 1), (-1, 1, 0, -2), (0, -1, 0, -1)):
            yield Case("Pad", 19, (numbers(3, 4), whole(*pads), np.array(1.5, np.float32)), {"mode": mode})
    yield Case("Pad", 18, (numbers(2, 3, 4), whole(1, 2, 0, 1), None, whole(-1, 0)), {})
    yield Case("Pad", 13, (whole(2**62 + 1, 5), whole(1, 1), np.array(2**62 + 3)), {})
    yield Case("Pad", 2, (numbers(1, 2, 3, 3),), {"pads": (0, 0, 1, 1, 0, 0, 2, 0), "value": 0.5})
    for indices in (whole(0, -1, 2), np.array(-1), np.array([[0, 1], [-4, 3]]), whole()):
        for axis in (0, -1):
            yield Case("Gather", 13, (numbers(5, 4), indices), {"axis": axis})
    yield Case("GatherElements", 13, (numbers(3, 4), np.array([[0, -4], [2, 1]])), {"axis": 1})
    yield Case("GatherND", 13, (numbers(2, 3, 4), np.array([[0, 1], [1, -1]])), {})
    yield Case("GatherND", 13, (numbers(2, 3, 4), np.array([[[0, 1]], [[-1, 2]]])), {"batch_dims": 1})
    for reduction in ("none", "add", "mul", "max", "min"):
        where = np.array([[0, -1, 2], [1, 0, -3]])
        yield Case("ScatterElements", 18, (numbers(3, 4), where, numbers(2, 3)), {"reduction": reduction})
        yield Case("ScatterND", 18, (numbers(3, 4), np.array([[0], [-1]]), numbers(2, 4)), {"reduction": reduction})
    yield Case("Scatter", 9, (numbers(3, 4), np.array([[0, 2, 1]]), numbers(1, 3)), {})
    for sizes in ((2, 4), (3, 3), (0, 6)):
        yield Case("Split", 13, (numbers(6, 2), whole(*sizes)), {}, 2)
        yield Case("Split", 2, (numbers(6, 2),), {"split": sizes}, 2)
    yield Case("Split", 18, (numbers(7, 2),), {"num_outputs": 3}, 3)
    yield Case("Split", 13, (numbers(6, 2),), {}, 3)
    ties = np.array([[1, 3, 3, 1, 2, 2], [0, 0, 0, 0, 0, 0]], np.float32)
    for largest in (0, 1):
        for k in (0, 1, 4):
            yield Case("TopK", 11, (ties, whole(k)), {"largest": largest}, 2)
    yield Case("TopK", 1, (ties,), {"k": 2, "axis": 0}, 2)
    yield Case("TopK", 10, (ties, whole(2)), {"axis": 1}, 2)
    for condition, attributes in (([1, 0, 1], {"axis": 0}), ([0, 1], {"axis": 1}), ([1, 0, 1, 1, 1], {})):
        yield Case("Compress", 11, (numbers(3, 4), np.array(condition, bool)), attributes)
    for ordered in (0, 1):
        yield Case("Unique", 11, (np.array([2, 1, 1, 3, 4, 3], np.float32),), {"sorted": ordered}, 4)
        yield Case("Unique", 11, (np.array([[1, 0], [1, 0], [0, 5]]),), {"sorted": ordered, "axis": 0}, 4)
    yield Case("NonZero", 13, (np.array([[1, 0], [0, 2]], np.float32),), {})
    yield Case("ReverseSequence", 10, (numbers(4, 3, 2), whole(1, 2, 4)), {})
    yield Case("ReverseSequence", 10, (numbers(3, 4), whole(1, 2, 4)), {"batch_axis": 0, "time_axis": 1})
    for upper in (0, 1):
        for k in (None, -1, 2**40):
            yield Case("Trilu", 14, (numbers(2, 3, 4), None if k is None else np.array(k)), {"upper": upper})
    for mode in ("DCR", "CRD"):
        yield Case("DepthToSpace", 13, (numbers(2, 8, 2, 3),), {"blocksize": 2, "mode": mode})
    yield Case("SpaceToDepth", 13, (numbers(2, 3, 4, 6),), {"blocksize": 2})
    yield Case("CenterCropPad", 18, (numbers(3, 5), whole(6, 2)), {})
    corners = np.random.default_rng(0).uniform(0, 3, (1, 9, 2))
    boxes = np.concatenate([corners, corners + np.random.default_rng(1).uniform(-1, 2, (1, 9, 2))], -1).astype(
        np.float32
    )
    scores = np.random.default_rng(2).uniform(0, 1, (1, 2, 9)).round(1).astype(np.float32)
    limits = (whole(4), np.array([0.3], np.float32), np.array([0.2], np.float32))
    for given in (limits, (limits[0], None, limits[2]), (limits[0],)):
        yield Case("NonMaxSuppression", 11, (boxes, scores, *given), {})


@pytest.mark.parametrize("case", [pytest.param(c, id=f"{c.op_type}-{c.opset}-{i}") for i, c in enumerate(cases())])
@over("dynamic", [False, True])
def test_onnxruntime_gives_the_same(case: Case, dynamic: bool) -> None:
    for constant in (False, True):
        model, feeds = model_of(case, constant=constant, dynamic=dynamic)
        want = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
        found = import_model(model)
        got = run(found, feeds)
        for a, b in zip(got, want, strict=True):
            equal(a, np.asarray(b))
        for a, b in zip(got, run(again(found, case.opset), feeds), strict=True):
            equal(b, a)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_parts_between_any_bounds_in_any_steps(size: int, dynamic: bool) -> None:
    """Of NumPy where a walk begins inside; of onnxruntime everywhere, which begins at the first when that is ahead of it."""
    rng = np.random.default_rng(size)
    bounds = [*range(-size - 2, size + 3)]
    # backwards to FAR.max onnxruntime gives one element, where its own inference of shapes and the standard have none
    far = {True: (FAR.min, FAR.max), False: (FAR.min,)}
    parts = [(a, b, s) for s in (-size, -2, -1, 1, 3) for a in bounds for b in (*bounds, *far[s > 0])]
    parts = [parts[i] for i in rng.choice(len(parts), min(len(parts), 150), replace=False)]
    parts += [
        (size - 1, b, s) for b in (0, -size, size - 1, size - 2) for s in (-1, -2)
    ]  # from the last to the first ones
    x = np.arange(size * 3).reshape(3, size)
    nodes, stored = [], {"axis": whole(1)}
    for i, part in enumerate(parts):
        stored |= {f"{what}{i}": whole(n) for what, n in zip("abs", part)}
        nodes.append(helper.make_node("Slice", ["x", f"a{i}", f"b{i}", "axis", f"s{i}"], [f"y{i}"]))
    graph = helper.make_graph(
        nodes,
        "parts",
        [helper.make_tensor_value_info("x", onnx.TensorProto.INT64, ["n", "m"] if dynamic else x.shape)],
        [helper.make_empty_tensor_value_info(f"y{i}") for i in range(len(parts))],
        [numpy_helper.from_array(a, n) for n, a in stored.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    theirs = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    found = import_model(model)
    ours, written = (run(m, {"x": x}) for m in (found, again(found, 13)))
    for part, want, *got in zip(parts, theirs, ours, written, strict=True):
        for y in got:
            np.testing.assert_array_equal(y, want, err_msg=str(part), strict=True)
        if part[2] > 0 or part[0] >= -size:
            np.testing.assert_array_equal(want, x[:, slice(*part)], err_msg=str(part), strict=True)


MOVED = [
    (Case("Reshape", 24, (None, whole(4, -1)), {}), lambda x: x.reshape(4, -1)),
    (Case("Transpose", 24, (None,), {}), lambda x: x.T),
    (Case("Slice", 24, (None, whole(2), whole(-9), whole(0), whole(-1)), {}), lambda x: x[2::-1]),
    (Case("Expand", 24, (None, whole(2, 1, 1)), {}), lambda x: np.stack([x, x])),
    (Case("Tile", 24, (None, whole(2, 1)), {}), lambda x: np.concatenate([x, x])),
    (Case("Gather", 24, (None, whole(2, -1)), {}), lambda x: x[[2, -1]]),
    (Case("GatherElements", 24, (None, np.array([[2], [0]])), {}), lambda x: np.stack([x[2, :1], x[0, :1]])),
    (Case("GatherND", 24, (None, np.array([[2, 1]])), {}), lambda x: x[2:, 1]),
    (Case("Squeeze", 24, (None, whole()), {}), lambda x: x),
    (Case("Unsqueeze", 24, (None, whole(0, -1)), {}), lambda x: x[None, ..., None]),
    (Case("Pad", 24, (None, whole(0, 1, 0, 0)), {"mode": "edge"}), lambda x: np.concatenate([x[:, :1], x], 1)),
    (Case("Concat", 24, (None,), {"axis": 0}), lambda x: x),
    (Case("Compress", 11, (None, np.array([False, True])), {"axis": 0}), lambda x: x[1:2]),
    (Case("Identity", 24, (None,), {}), lambda x: x),
    (Case("ReverseSequence", 10, (None, whole(3, 1, 1, 1)), {}), lambda x: np.concatenate([x[::-1, :1], x[:, 1:]], 1)),
]
DTYPES = (
    "bool",
    "uint8",
    "int64",
    "float16",
    "complex64",
    "bfloat16",
    "float8_e4m3fn",
    "int4",
    "float4_e2m1fn",
    "object",
)


@pytest.mark.parametrize("name", DTYPES)
def test_whatever_the_dtype_numbers_are_moved_as_they_are(name: str) -> None:
    from hybrid.core.attrs import dtype

    try:
        kind = np.dtype(object) if name == "object" else dtype(name)
        helper.np_dtype_to_tensor_dtype(kind)
    except (KeyError, ValueError):
        pytest.skip(f"the installed ml_dtypes or onnx {onnx.__version__} cannot say {name}")
    plain = np.arange(12).reshape(3, 4) % 4
    x = plain.astype(str).astype(object) if name == "object" else plain.astype(kind)
    for case, move in MOVED:
        for constant in (False, True):
            model, feeds = model_of(case._replace(inputs=(x, *case.inputs[1:])), constant=constant, dynamic=False)
            (got,) = run(import_model(model), feeds)
            assert got.dtype == kind, case
            want = move(x)
            assert got.shape == want.shape, case
            assert got.tolist() == want.tolist() if name in ("object", "bool") else got.tobytes() == want.tobytes(), (
                case
            )


def test_what_does_not_fit_is_refused() -> None:
    wrong = [
        Case("Gather", 13, (numbers(5, 4), whole(5)), {}),
        Case("Split", 13, (numbers(6, 2), whole(2, 2)), {}, 2),
        Case("TopK", 11, (numbers(2, 3), whole(4)), {}, 2),
        Case("Unsqueeze", 13, (numbers(3), whole(0, 0)), {}),
        Case("Slice", 13, (numbers(3), whole(0), whole(1), whole(0), whole(0)), {}),
        Case("Reshape", 14, (numbers(2, 3), whole(-1, -1)), {}),
    ]
    for case in wrong:
        with pytest.raises(UnsupportedModel):
            import_model(model_of(case, constant=True, dynamic=False)[0])


def test_a_scalar_counts_as_an_array_without_rows() -> None:
    """ONNX NonZero: "scalar input produces output shape (0, N) instead of (1, N)", which onnxruntime gives."""
    model, feeds = model_of(Case("NonZero", 13, (np.array(2.0, np.float32),), {}), constant=False, dynamic=False)
    assert run(import_model(model), feeds)[0].shape == (0, 1)


def test_a_reshape_to_a_tensors_shape_follows_it_at_other_sizes_than_are_declared() -> None:
    """As the groups of PyTorch's GroupNorm are put together again: with 8 rows, which the file declares, and with 12, which MXNet
    takes, since it passes over the declaration."""

    def model(rows: int) -> onnx.ModelProto:
        x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", 4, rows, "time"])
        y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
        nodes = [
            helper.make_node("MaxPool", ["x"], ["half"], kernel_shape=[2, 2], strides=[2, 2]),
            helper.make_node("Reshape", ["half", "apart"], ["groups"]),
            helper.make_node("Softmax", ["groups"], ["shares"], axis=2),
            helper.make_node("Shape", ["half"], ["shape"]),
            helper.make_node("Reshape", ["shares", "shape"], ["whole"]),
            helper.make_node("ReduceSum", ["whole", "axis"], ["y"], keepdims=0),
        ]
        stored = [numpy_helper.from_array(whole(0, 2, -1), "apart"), numpy_helper.from_array(whole(2), "axis")]
        graph = helper.make_graph(nodes, "groups", [x], [y], stored)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    imported = import_model(model(8))
    with pytest.raises(OpError, match=r"input x: got shape \(2, 4, 12, 10\), wanted \(batch, 4, 8, time\)"):
        Program(imported.graph, imported.params).run({"x": numbers(2, 4, 12, 10)})
    for variable in imported.graph.variables():
        variable.attrs.pop(SIZES, None)
    for rows in (8, 12):
        feeds = {"x": numbers(2, 4, rows, 10)}
        [want] = ort.InferenceSession(model(rows).SerializeToString()).run(None, feeds)
        [got] = Program(imported.graph, imported.params).run(feeds)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
