"""Reading single nodes, of every age: a table of attributes, inputs and old versions, each with sizes declared, sizes left free and
nothing declared, with what may be stored arriving at run time too; written again at several opsets.

What is wanted comes from onnxruntime, from onnx's own evaluator, or from NumPy where neither knows the version."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime.capi.onnxruntime_pybind11_state as pybind
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import converters
from bridge.onnx_backend import OnnxBackendRep
from converters import UnsupportedModel
from converters.importer import Imported, import_model
from tests.grouped import run

from .agreement import by_onnxruntime, on_numpy, same

Want = Callable[..., Any]


class Case(NamedTuple):
    """One node, applied to arrays; None for inputs left out."""

    op_type: str
    opset: int
    inputs: Sequence[Any]
    attributes: dict[str, Any] = {}
    want: Want | None = None
    """Function of the inputs that are there, in NumPy; None to ask a runtime."""
    outputs: int = 1
    stored: Sequence[int] = ()
    """Inputs that are part of the model."""
    declared: Sequence[str] = ("sizes", "rank", "nothing", "untyped", "unsaid")
    """Knowledge of the inputs that is tried: the last two say no dtypes either, with sizes and without."""
    rtol: float = 1e-5


def floats(*shape: int, dtype: str = "float32") -> np.ndarray:
    """Numbers of both signs that are all different."""
    return np.random.default_rng(sum(shape) + len(shape)).uniform(-2, 2, shape).astype(dtype)


def ints(*values: int, dtype: Any = np.int64) -> np.ndarray:
    return np.array(values, dtype)


def model_of(case: Case, declared: str) -> onnx.ModelProto:
    names = ["" if a is None else f"x{i}" for i, a in enumerate(case.inputs)]
    made = [f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(case.op_type, names, made, **case.attributes)
    infos, stored = [], []
    for i, (name, array) in enumerate(zip(names, case.inputs)):
        if not name:
            continue
        if i in case.stored:
            stored.append(numpy_helper.from_array(array, name))
            continue
        free = [f"{name}_{a}" for a in range(array.ndim)]
        dims = {"sizes": array.shape, "rank": free, "untyped": array.shape}.get(declared)
        code = 0 if declared in ("untyped", "unsaid") else helper.np_dtype_to_tensor_dtype(array.dtype)
        infos.append(helper.make_tensor_value_info(name, code, dims))
    graph = helper.make_graph([node], "node", infos, [helper.make_empty_tensor_value_info(n) for n in made], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=8)


def wanted(case: Case) -> list[np.ndarray]:
    if case.want is not None:
        found = case.want(*(a for a in case.inputs if a is not None))
        return list(found) if isinstance(found, tuple) else [found]
    model = model_of(case, "sizes")
    feeds = fed(case)
    try:
        return by_onnxruntime(model, feeds)
    except (pybind.Fail, pybind.InvalidArgument, pybind.InvalidGraph):
        return list(ReferenceEvaluator(model).run(None, feeds))


def fed(case: Case) -> dict[str, np.ndarray]:
    return {f"x{i}": a for i, a in enumerate(case.inputs) if a is not None and i not in case.stored}


def results(found: Imported, feeds: dict[str, np.ndarray]) -> list[Any]:
    """Results of the engine for a model that has been read."""
    return list(OnnxBackendRep(found).run({n: a for n, a in feeds.items() if n in found.inputs}))


def check(numbered: tuple[int, Case]) -> None:
    index, case = numbered
    wants, feeds = wanted(case), fed(case)
    tolerance = max(case.rtol, 2e-3 if any(np.asarray(w).dtype == np.float16 for w in wants) else 0)
    for number, declared in enumerate(case.declared):
        if number and number % 2 != index % 2 and len(case.declared) > 2:
            continue  # what comes after the first takes turns
        try:
            found = import_model(model_of(case, declared))
        except UnsupportedModel as error:
            assert (case.op_type, declared) in (("Pad", "untyped"), ("Pad", "unsaid")), error
            assert "the dtype of data is not known" in str(error), error
            continue
        got = [results(found, feeds)]
        if declared == "sizes":
            with on_numpy():
                got.append(results(found, feeds))
            got += again(found, feeds, OPSETS[index % len(OPSETS)])
        for several in got:
            for one, want in zip(several, wants, strict=True):
                same(one, want, tolerance)


OPSETS = (21, 13, 17)
"""Cases take turns."""


def again(found: Imported, feeds: dict[str, np.ndarray], opset: int) -> Iterator[list[Any]]:
    """Results of a runtime for the model when it is written again; nothing where that opset has no words for it."""
    used = {n.name for n in found.graph.variables()}
    inputs = {n: a for n, a in feeds.items() if n in used}
    try:
        model = converters.to_onnx(found.graph, found.params, inputs, opset)
    except UnsupportedModel as error:
        assert "opset" in str(error), error
        return
    try:
        yield by_onnxruntime(model, inputs)
    except (pybind.Fail, pybind.InvalidArgument, pybind.InvalidGraph):
        yield list(ReferenceEvaluator(model).run(None, inputs))


IMAGE = floats(2, 4, 3, 5)
X = floats(3, 4)


def selu(x: np.ndarray, alpha: float = 1.6732, gamma: float = 1.0507) -> np.ndarray:
    return (gamma * np.where(x > 0, x, alpha * (np.exp(x) - 1))).astype(x.dtype)


def elements() -> Iterator[Case]:
    """Functions of single elements, and of several arrays."""
    yield Case("Selu", 1, [X], want=selu)
    yield Case("Selu", 1, [X], {"alpha": 1.25, "gamma": 1.5}, lambda x: selu(x, 1.25, 1.5))
    yield Case("Selu", 6, [X])
    yield Case("Selu", 6, [X], {"alpha": 1.25, "gamma": 1.5})
    yield Case("Elu", 6, [X], {"alpha": 0.3})
    yield Case("LeakyRelu", 6, [X], {"alpha": 0.3})
    yield Case("LeakyRelu", 16, [X])
    yield Case("HardSigmoid", 6, [X], {"alpha": 0.3, "beta": 0.4})
    yield Case("HardSigmoid", 6, [X])
    yield Case("ThresholdedRelu", 10, [X], {"alpha": 0.5})
    yield Case("ThresholdedRelu", 10, [X])
    yield Case("Shrink", 9, [X], {"lambd": 0.25, "bias": 0.5})
    yield Case("Celu", 12, [X], {"alpha": 0.5})
    yield Case("Clip", 6, [X], {"min": -0.5, "max": 0.75})
    yield Case("Clip", 6, [X], {"max": 0.75})
    yield Case("Clip", 11, [X, None, np.float32(0.75).reshape(())], stored=[2])
    for approximate in ("none", "tanh"):
        for dtype in ("float32", "float16"):
            yield Case("Gelu", 20, [floats(3, 5, dtype=dtype)], {"approximate": approximate})
    yield Case("Mish", 18, [X])
    yield Case("PRelu", 1, [IMAGE, floats(4)], want=lambda x, s: np.where(x < 0, x * s[:, None, None], x), stored=[1])
    yield Case("PRelu", 1, [IMAGE, floats(1, 1)], want=lambda x, s: np.where(x < 0, x * s[0, 0], x))
    for shape in ((4, 1, 1), (5,), (1, 1, 3, 1)):
        yield Case("PRelu", 9, [IMAGE, floats(*shape)], stored=[1])
        yield Case("PRelu", 9, [IMAGE, floats(*shape)])
    for negative, positive in itertools.product((0, 1), repeat=2):
        values = np.array([1, -np.inf, np.inf, np.nan, -2], np.float32)
        yield Case("IsInf", 10, [values], {"detect_negative": negative, "detect_positive": positive})
    a, b, c = floats(3, 4), floats(3, 4) * 2, floats(3, 4) - 0.5
    for count in (1, 2, 3):
        for op_type in ("Sum", "Mean", "Max", "Min"):
            yield Case(op_type, 8, [a, b, c][:count])
            yield Case(op_type, 8, [a, floats(4), floats(3, 1)][:count])
            halves = [v.astype(np.float16) for v in (a, b, c)][:count]
            exact = {"Sum": np.sum, "Mean": np.mean, "Max": np.max, "Min": np.min}[op_type]
            yield Case(op_type, 13, halves, want=lambda *v, f=exact: f(np.float64(v), 0).astype(np.float16), rtol=1e-3)
    for fmod in (0, 1):
        yield Case("Mod", 13, [ints(-7, 7, -5, 5), ints(3, -3, 2, -4)], {"fmod": fmod})
    yield Case("Mod", 13, [floats(7), floats(1)], {"fmod": 1})
    for op_type, f in (("Greater", np.greater), ("Less", np.less), ("Equal", np.equal), ("And", np.logical_and)):
        x, y = ints(*range(12)).reshape(3, 4) % 5, ints(2, 0, 4)
        x, y = (x > 1, y > 1) if op_type == "And" else (x, y) if op_type == "Equal" else (x / 1, y / 1)
        yield Case(
            op_type, 1, [x, y], {"broadcast": 1, "axis": 0}, lambda x, y, f=f: f(x, y[:, None]), declared=["sizes"]
        )


def shapes() -> Iterator[Case]:
    """Operators that move elements."""
    x = floats(2, 3, 4)
    yield Case("Concat", 1, [x, floats(2, 2, 4)], want=lambda *v: np.concatenate(v, 1))
    yield Case("Concat", 4, [x, floats(2, 3, 1)], {"axis": 2})
    yield Case("Concat", 11, [x, floats(5, 3, 4), x], {"axis": -3})
    yield Case("Split", 2, [floats(2, 6)], {"axis": 1}, outputs=3)
    yield Case("Split", 2, [floats(2, 6)], {"axis": 1, "split": [1, 3, 2]}, outputs=3)
    yield Case("Split", 2, [floats(5, 2)], {"split": [4, 1]}, outputs=2)
    pieces = lambda x, s: tuple(np.split(x, np.int64(np.cumsum(s)[:-1]), 1))  # noqa: E731
    yield Case("Split", 1, [floats(2, 6), np.float32([1, 5])], {"axis": 1}, pieces, 2, stored=[1])
    yield Case("Split", 1, [floats(2, 6), np.float32([1, 5])], {"axis": 1}, pieces, 2)
    for stored in ([], [1]):
        yield Case("Split", 13, [floats(2, 6), ints(2, 3, 1)], {"axis": -1}, outputs=3, stored=stored)
    yield Case("Split", 18, [floats(7, 2)], {"num_outputs": 3}, outputs=3)
    yield Case("Split", 18, [floats(2, 6)], {"num_outputs": 2, "axis": -1}, outputs=2)
    yield Case(
        "Tile",
        1,
        [X, np.float32([2]), np.float32([1])],
        want=lambda x, n, a: np.tile(x, (1, 2)),
        stored=[1, 2],
        declared=["sizes", "rank"],
    )
    yield Case("Tile", 6, [X, ints(2, 3)], stored=[1])
    yield Case(
        "Pad",
        1,
        [X],
        {"paddings": [1, 0, 2, 3], "value": 0.5},
        lambda x: np.pad(x, [(1, 2), (0, 3)], constant_values=0.5),
    )
    for mode in ("constant", "reflect", "edge"):
        yield Case("Pad", 2, [IMAGE], {"pads": [0, 0, 1, 2, 0, 0, 0, 3], "mode": mode})
        yield Case("Pad", 11, [x, ints(0, 1, 2, 1, 0, 3)], {"mode": mode}, stored=[1])
        yield Case("Pad", 11, [x, ints(0, 1, 2, 1, 0, 3)], {"mode": mode})
    yield Case("Pad", 2, [X], {"pads": [0, 0, 0, 0]})
    yield Case("Pad", 11, [ints(3, 1, 2), ints(1, 2), ints(7).reshape(())], stored=[1, 2])
    yield Case("Pad", 18, [X, ints(1, 2), np.float32(0.5).reshape(()), ints(-1)], stored=[1, 2, 3])
    yield Case("Pad", 18, [X, ints(1, 2), None, ints(0)], stored=[1])
    yield Case("Expand", 8, [floats(3, 1), ints(3, 0)], stored=[1], declared=["sizes", "rank"])
    yield Case("Expand", 8, [floats(3, 1), ints(2, 1, 4)], stored=[1])
    yield Case("Expand", 8, [floats(2, 3, 1), ints(1, 4)], stored=[1])
    yield Case("Expand", 8, [floats(3, 1), ints(2, 3, 4)])
    yield Case("Reshape", 1, [x], {"shape": [0, -1]}, lambda x: x.reshape(2, 12))
    yield Case("Reshape", 1, [floats(6)], want=lambda x: x)
    yield Case("Reshape", 5, [x, ints(4, 0, -1)], want=lambda x, s: x.reshape(4, 3, 2))
    for axis in (0, 1, 2, 3):
        yield Case("Flatten", 9, [x], {"axis": axis})
    yield Case("Flatten", 11, [x], {"axis": -1})
    yield Case("Transpose", 1, [x])
    yield Case("Transpose", 13, [x], {"perm": [1, 2, 0]})
    yield Case("Squeeze", 1, [floats(1, 3, 1, 2)])
    yield Case("Squeeze", 1, [floats(1, 3, 1, 2)], {"axes": [2]})
    yield Case("Squeeze", 11, [floats(1, 3, 1, 2)], {"axes": [-2, 0]})
    for stored in ([], [1]):
        yield Case("Squeeze", 13, [floats(1, 3, 1, 2), ints(-2)], stored=stored)
        yield Case("Unsqueeze", 13, [X, ints(-1, 1)], stored=stored)
    yield Case("Unsqueeze", 1, [X], {"axes": [2, 0]})
    yield Case("Unsqueeze", 11, [X], {"axes": [-1, 1]})
    yield Case("Slice", 1, [x], {"starts": [1, -2], "ends": [9, -1]})
    yield Case("Slice", 1, [x], {"starts": [-3, 1], "ends": [3, 2], "axes": [2, 1]})
    yield Case("Slice", 10, [x, ints(-1, 0), ints(-99, 2), ints(-1, 1), ints(-2, 1)], stored=[1, 2, 3, 4])
    yield Case("Slice", 10, [x, ints(-1, 0), ints(-99, 2), ints(-1, 1), ints(-2, 1)])
    for mode in ("DCR", "CRD"):
        yield Case("DepthToSpace", 11, [floats(2, 12, 3, 2)], {"blocksize": 2, "mode": mode})
    yield Case("DepthToSpace", 1, [floats(1, 8, 3, 2)], {"blocksize": 2})
    yield Case("SpaceToDepth", 1, [floats(2, 3, 4, 6)], {"blocksize": 2})
    yield Case("ReverseSequence", 10, [floats(4, 3, 2), ints(1, 4, 2)], {"batch_axis": 1, "time_axis": 0})
    yield Case("ReverseSequence", 10, [floats(3, 4, 2), ints(1, 4, 2)], {"batch_axis": 0, "time_axis": 1})
    for upper, k in itertools.product((0, 1), (None, -1, 2)):
        diagonal = None if k is None else ints(k).reshape(())
        yield Case("Trilu", 14, [floats(2, 4, 5), diagonal], {"upper": upper}, stored=[1])
    yield Case("Compress", 9, [x, np.array([True, False, True])], {"axis": 1})
    yield Case("Compress", 9, [x, np.array([False, True, True, False, True])])
    for stored in ([], [1]):
        yield Case("GatherND", 11, [x, np.array([[0, 1], [1, 2]])], stored=stored)
        yield Case("GatherND", 12, [x, np.array([[[2], [0]], [[1], [1]]])], {"batch_dims": 1}, stored=stored)
    yield Case("GatherElements", 11, [X, np.array([[0, -3, 2, 1]])], {"axis": 0})
    yield Case("EyeLike", 9, [X], {"k": 1, "dtype": onnx.TensorProto.INT64})
    yield Case("EyeLike", 9, [X], {"k": -1})
    for axis, dtype in ((-1, "float32"), (0, "float64"), (1, "int32"), (-2, "int64")):
        values = np.array([2, 7], dtype)
        yield Case(
            "OneHot",
            11,
            [ints(1, -1, 3, 9).reshape(2, 2), ints(4), values],
            {"axis": axis},
            lambda i, n, v, axis=axis: np.moveaxis(one_hot(i, v), -1, axis),
            stored=[1, 2],
            declared=["sizes", "rank"],
        )
    yield Case("CenterCropPad", 18, [floats(5, 4, 3), ints(3, 6)], {"axes": [0, -1]}, stored=[1])


def one_hot(indices: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Of four classes; what is beyond them is off everywhere."""
    return values[np.int64(np.where(indices < 0, indices + 4, indices)[..., None] == np.arange(4))]


def reductions() -> Iterator[Case]:
    """Operators that reduce, order and normalize."""
    x = floats(2, 3, 4) + 3
    kinds = ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")
    for i, kind in enumerate(kinds):
        yield Case(f"Reduce{kind}", 11, [x], {"axes": [-1, 0], "keepdims": i % 2})
        yield Case(f"Reduce{kind}", 1, [x], {"keepdims": 1 - i % 2})
        since = 13 if kind == "Sum" else 18
        yield Case(f"Reduce{kind}", since, [x, ints(1)], {"keepdims": i % 2}, stored=[1])
        yield Case(f"Reduce{kind}", since, [x, ints(-1, 1)], {"keepdims": 1 - i % 2})
        yield Case(f"Reduce{kind}", since, [x], {"noop_with_empty_axes": 1})
        yield Case(f"Reduce{kind}", since, [x, ints()], {"noop_with_empty_axes": i % 2, "keepdims": 0}, stored=[1])
    ties = np.array([[3, 1, 3], [0, 2, 2]], np.float32)
    for op_type, last in itertools.product(("ArgMax", "ArgMin"), (0, 1)):
        yield Case(op_type, 12, [ties], {"axis": -1, "keepdims": 0, "select_last_index": last})
        yield Case(op_type, 1, [ties], {"axis": last, "keepdims": last})
    yield Case("ArgMax", 1, [ties])
    for exclusive, reverse in itertools.product((0, 1), repeat=2):
        for stored in ([], [1]):
            yield Case(
                "CumSum", 14, [x, ints(1).reshape(())], {"exclusive": exclusive, "reverse": reverse}, stored=stored
            )
    yield Case(
        "TopK",
        1,
        [X],
        {"k": 2},
        lambda x: (-np.sort(-x)[:, :2], np.argsort(-x)[:, :2]),
        2,
    )
    yield Case("TopK", 10, [X, ints(3)], {"axis": 0}, outputs=2, stored=[1])
    for largest in (0, 1):
        for stored in ([], [1]):
            yield Case("TopK", 11, [X, ints(2)], {"axis": -1, "largest": largest}, outputs=2, stored=stored)
    for p, axis in itertools.product((1, 2), (0, -1)):
        yield Case("LpNormalization", 1, [X], {"p": p, "axis": axis})
    yield Case("MeanVarianceNormalization", 9, [IMAGE], {"axes": [0, 2]})
    yield Case("MeanVarianceNormalization", 9, [IMAGE])
    for op_type, axis in itertools.product(("Softmax", "LogSoftmax", "Hardmax"), (0, 1, 2)):
        yield Case(op_type, 1, [floats(2, 3, 4)], {"axis": axis}, declared=["sizes", "rank"])
        yield Case(op_type, 13, [floats(2, 3, 4)], {"axis": axis - 3})
    for size, shape in ((3, (2, 5, 3, 2)), (4, (2, 5, 3, 2)), (3, (2, 5, 3))):
        attrs = {"size": size, "alpha": 0.3, "beta": 0.6, "bias": 1.5}
        known = ["rank", "nothing"] + ["sizes"] * (size == 3 and len(shape) == 4)  # no runtime takes the others
        yield Case("LRN", 1, [floats(*shape)], attrs, lambda x, n=size: lrn(x, n), rtol=1e-4, declared=known)
    weights = floats(4), floats(4) + 0.5
    for shape in ((2, 4, 5), (2, 4, 3, 2)):
        yield Case("InstanceNormalization", 6, [floats(*shape), *weights], {"epsilon": 0.1}, stored=[1, 2], rtol=1e-4)
    for shape in ((3, 4), (3, 4, 5)):
        yield Case("GroupNormalization", 18, [floats(*shape), floats(2), floats(2) + 0.5], {"num_groups": 2, "epsilon": 0.1},
                   groups, stored=[1, 2], declared=["sizes"], rtol=1e-4)  # fmt: skip
    for axis, size in ((-1, (4,)), (1, (3, 4)), (2, (4,))):
        yield Case(
            "LayerNormalization",
            17,
            [floats(2, 3, 4), floats(*size), floats(*size) + 1],
            {"axis": axis, "epsilon": 0.1},
            rtol=1e-4,
        )
        yield Case(
            "LayerNormalization", 17, [floats(2, 3, 4), floats(*size)], {"axis": axis}, outputs=3, stored=[1], rtol=1e-4
        )
    left, right = floats(2, 3, 4), floats(2, 4, 5)
    for a, b in (
        (left, right),
        (left, right[:1]),
        (left[0], right[0]),
        (left, right[0]),
        (left[0, 0], right),
        (left, right[0, :, 0]),
    ):
        yield Case("MatMul", 13, [a, b])
    for a, b in itertools.product((0, 1), repeat=2):
        m, n = (floats(4, 3) if a else X), (floats(5, 4) if b else floats(4, 5))
        attrs = {"transA": a, "transB": b, "alpha": 0.5, "beta": 2.0}
        yield Case("Gemm", 6, [m, n, floats(5)], attrs | {"broadcast": 1}, gemm(attrs))
        yield Case("Gemm", 11, [m, n], attrs)
        yield Case("Gemm", 13, [m, n, floats(3, 1)], attrs)
        halves = [v.astype(np.float16) for v in (m, n, floats(5))]
        yield Case("Gemm", 13, halves, attrs, gemm(attrs), rtol=4e-3)
        whole = [np.arange(-5, 7).reshape(m.shape).astype("i4"), np.arange(20).reshape(n.shape).astype("i4") % 7]
        yield Case(
            "Gemm", 11, [*whole, ints(5, 4, 3, 2, 1, dtype="i4")], attrs | {"alpha": 2.0}, gemm(attrs | {"alpha": 2.0})
        )


def lrn(x: np.ndarray, size: int) -> np.ndarray:
    squares = np.float64(x) ** 2
    low, high = (size - 1) // 2, size // 2 + 1
    total = np.stack([squares[:, max(0, c - low) : c + high].sum(1) for c in range(x.shape[1])], 1)
    return (x / (1.5 + 0.3 / size * total) ** 0.6).astype(x.dtype)


def groups(x: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> np.ndarray:
    apart = x.reshape(len(x), 2, -1).astype(np.float64)
    apart = (apart - apart.mean(-1, keepdims=True)) / np.sqrt(apart.var(-1, keepdims=True) + 0.1)
    return (apart * scale[:, None] + bias[:, None]).reshape(x.shape).astype(x.dtype)


def gemm(attrs: dict[str, Any]) -> Want:
    def want(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        a, b, wide = (a.T if attrs["transA"] else a), (b.T if attrs["transB"] else b), np.float64
        return (attrs["alpha"] * (wide(a) @ wide(b)) + attrs["beta"] * wide(c)).astype(a.dtype)

    return want


def layers() -> Iterator[Case]:
    """Layers of images."""
    yield Case("ImageScaler", 1, [IMAGE], want=lambda x: x)
    bias = [0.5, -1.0, 2.0, 0.25]
    plus = np.float32(bias)[:, None, None]
    yield Case("ImageScaler", 1, [IMAGE], {"scale": 2.5}, lambda x: x * np.float32(2.5))
    yield Case("ImageScaler", 1, [IMAGE], {"bias": bias}, lambda x: x + plus)
    yield Case("ImageScaler", 1, [IMAGE], {"scale": 2.5, "bias": bias}, lambda x: x * np.float32(2.5) + plus)
    tall = floats(1, 2, 7, 9)
    yield Case("Crop", 1, [tall], {"border": [1, 2, 3, 0]}, lambda x: x[:, :, 2:, 1:-3])
    yield Case("Crop", 1, [tall], {"border": [1, 2, 3, 4], "scale": [3, 5]}, lambda x: x[:, :, 2:5, 1:6])
    shape = (2, 3, 2, 4)
    x, (scale, shift, mean), var = floats(*shape), (floats(3), floats(3) * 2, floats(3) / 2), abs(floats(3)) + 0.5
    by = {"epsilon": 0.1, "momentum": 0.75}
    for opset, more in ((1, {"is_test": 1}), (6, {"is_test": 1}), (7, {}), (9, {}), (15, {})):
        for stored in ([1, 2, 3, 4], [1]):
            yield Case(
                "BatchNormalization",
                opset,
                [x, scale, shift, mean, var],
                {**by, **more},
                norm,
                stored=stored,
                declared=["sizes", "rank"],
            )
    each = [floats(3, 2, 4) + i for i in range(3)]
    yield Case(
        "BatchNormalization",
        7,
        [x, *each, abs(each[0]) + 1],
        {**by, "spatial": 0},
        plain,
        stored=[1, 2, 3, 4],
        declared=["sizes"],
        rtol=1e-4,
    )
    for opset in (1, 7):
        yield Case(
            "BatchNormalization",
            opset,
            [x, scale, shift, mean, var],
            by,
            trained,
            5,
            declared=["sizes", "rank"],
            rtol=1e-4,
        )
    yield Case(
        "BatchNormalization",
        15,
        [x, scale, shift, mean, var],
        {**by, "training_mode": 1},
        lambda *v: trained(*v)[:3],
        3,
        rtol=1e-4,
        declared=["sizes", "rank"],
    )
    small = floats(1, 2, 3, 4)
    for mode in ("nearest", "linear"):
        old = {"mode": "bilinear" if mode == "linear" else mode}
        scales = np.float32([1, 1, 2, 3])
        yield Case(
            "Upsample", 1, [small], {**old, "height_scale": 2.0, "width_scale": 3.0}, lambda x, m=mode: resized(x, m)
        )
        yield Case(
            "Upsample", 7, [small], {"mode": mode, "scales": [1.0, 1.0, 2.0, 3.0]}, lambda x, m=mode: resized(x, m)
        )
        for stored in ([], [1]):
            yield Case("Upsample", 9, [small, scales], {"mode": mode}, stored=stored)
            for factors in ((2, 3), (0.6, 2), (0.5, 0.5), (2, 2)):
                yield Case("Resize", 10, [small, np.float32([1, 1, *factors])], {"mode": mode}, stored=stored)
    nearest = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    for way in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn"):
        for i, rule in enumerate(nearest):
            attrs = {"coordinate_transformation_mode": way, "nearest_mode": rule}
            scales = np.float32([1, 1, *((2, 2), (3, 1.5))[i % 2]])
            yield Case("Resize", 11, [small, floats(0), scales], attrs, stored=[1, 2])
            yield Case("Resize", 11, [small, floats(0), floats(0), ints(1, 2, 7, 3 + i)], attrs, stored=[1, 2, 3])
        attrs = {"coordinate_transformation_mode": way, "mode": "linear"}
        yield Case("Resize", 13, [small, None, None, ints(1, 2, 7, 6)], attrs, stored=[3])
        yield Case("Resize", 13, [small, None, np.float32([1, 1, 2, 3])], attrs, stored=[2])
        yield Case("Resize", 13, [small, None, np.float32([1, 1, 1.5, 0.75])], attrs | {"mode": "cubic"}, stored=[2])
    for dtype, p in (("float32", 1), ("float32", 2), ("float64", 3)):
        yield Case(
            "GlobalLpPool",
            2,
            [floats(2, 3, 4, 2, dtype=dtype)],
            {"p": p},
            lambda x, p=p: (abs(x) ** p).sum((2, 3), keepdims=True) ** x.dtype.type(1 / p),
        )
    yield Case("GlobalAveragePool", 1, [IMAGE])
    yield Case("GlobalMaxPool", 1, [IMAGE])
    boxes = np.float32([[0, 0, 0, 3, 2], [1, 1, 0, 4, 2]])
    yield Case("MaxRoiPool", 1, [IMAGE, boxes], {"pooled_shape": [2, 3], "spatial_scale": 0.75})
    yield Case("MaxRoiPool", 1, [IMAGE, boxes], {"pooled_shape": [1, 2]})
    grid = floats(2, 3, 4, 2) * 0.7
    for mode, padding, corners in itertools.product(
        ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (0, 1)
    ):
        yield Case(
            "GridSample",
            16,
            [IMAGE, grid],
            {"mode": mode, "padding_mode": padding, "align_corners": corners},
            rtol=1e-4,
        )
    for more in (
        {},
        {"dilations": [2, 1], "pads": [1, 2, 1, 2]},
        {"pads": [0, 1, 2, 1]},
        {"strides": [2, 1], "pads": [2, 0, 2, 0]},
    ):
        image, block = {0: (5, 4)}.get(len(more), (5, 4)), (2, 3)
        spans = [
            n + p - d * (k - 1) - 1 for n, p, d, k in zip(image, pads_of(more), more.get("dilations", (1, 1)), block)
        ]
        count = int(np.prod([s // t + 1 for s, t in zip(spans, more.get("strides", (1, 1)))]))
        yield Case("Col2Im", 18, [floats(2, 12, count), ints(*image), ints(*block)], more, stored=[1, 2])
        yield Case("Col2Im", 18, [floats(2, 12, count), ints(*image), ints(*block)], more)

    weight, bias = floats(6, 2, 2, 3), floats(6)
    for more in (
        {},
        {"pads": [1, 0, 1, 0]},
        {"pads": [0, 1, 2, 0]},
        {"strides": [2, 1], "dilations": [1, 2], "pads": [1, 2, 1, 2]},
    ):
        spans = [
            n + p - d * (k - 1) - 1 for n, p, d, k in zip((6, 7), pads_of(more), more.get("dilations", (1, 1)), (2, 3))
        ]
        size = [s // t + 1 for s, t in zip(spans, more.get("strides", (1, 1)))]
        offset, mask = floats(2, 24, *size) * 0.7, abs(floats(2, 12, *size)) / 2
        attrs = {"group": 2, "offset_group": 2, **more}
        for inputs in ([bias, mask], [None, mask], [bias, None]):
            yield Case("DeformConv", 19, [floats(2, 4, 6, 7), weight, offset, *inputs], attrs, stored=[1, 3], rtol=1e-4)


def along_the_middle() -> Iterator[Case]:
    """Nodes that have an axis, along the middle one of three."""
    x, at = floats(2, 7, 4), {"axis": 1}
    for stored in ([], [1]):
        yield Case("Split", 13, [x, ints(4, 1, 2)], at, outputs=3, stored=stored)
        yield Case("Gather", 13, [x, ints(5, -2, 0)], at, stored=stored)
        yield Case("GatherElements", 13, [x, ints(*range(8)).reshape(1, 2, 4) % 7], at, stored=stored)
        yield Case("TopK", 11, [x, ints(3)], at, outputs=2, stored=stored)
        places = ints(*range(0, 16, 2)).reshape(1, 2, 4) % 7
        for op_type, opset in (("ScatterElements", 11), ("Scatter", 9)):
            yield Case(op_type, opset, [x, places, floats(1, 2, 4) * 5], at, stored=stored)
    yield Case("Split", 18, [x], {"num_outputs": 3, **at}, outputs=3)
    yield Case("Split", 11, [x], {"split": [3, 4], **at}, outputs=2)
    for op_type in ("Softmax", "LogSoftmax", "Hardmax"):
        yield Case(op_type, 13, [x], at)
    yield Case("ScatterElements", 18, [x, places, floats(1, 2, 4) * 5], {"reduction": "mul", **at})
    yield Case("Concat", 13, [x, floats(2, 3, 4)], at)
    yield Case("Compress", 11, [x, np.array([True, False, False, True, True, False, True])], at)
    yield Case("ArgMin", 13, [x], at)
    yield Case("LpNormalization", 1, [x], {"p": 1, "axis": -2})
    yield Case("LayerNormalization", 17, [x, floats(7, 4), floats(7, 4) + 1], at, outputs=3)
    steps, zeros = np.abs(floats(7)) + 0.1, ints(*range(7), dtype=np.uint8)
    yield Case("QuantizeLinear", 13, [x * 9, steps, zeros], at)
    yield Case("DequantizeLinear", 13, [np.uint8(x * 9 + 99), steps, zeros], at)
    yield Case("QuantizeLinear", 13, [x * 9, steps, zeros], at, stored=[1, 2])
    yield Case("DequantizeLinear", 13, [np.uint8(x * 9 + 99), steps, zeros], at, stored=[1, 2])
    yield Case("OneHot", 11, [ints(1, 3, 2, 0, 5, 4).reshape(2, 3), ints(6), floats(2)], at, stored=[1])


def pads_of(attrs: dict[str, Any]) -> list[int]:
    pads = attrs.get("pads", (0, 0, 0, 0))
    return [pads[0] + pads[2], pads[1] + pads[3]]


def norm(x: np.ndarray, scale: np.ndarray, shift: np.ndarray, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
    return plain(x, *(v[:, None, None] for v in (scale, shift, mean, var)))


def plain(x: np.ndarray, scale: np.ndarray, shift: np.ndarray, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
    return ((x - mean) / np.sqrt(var + np.float32(0.1)) * scale + shift).astype(np.float32)


def trained(
    x: np.ndarray, scale: np.ndarray, shift: np.ndarray, mean: np.ndarray, var: np.ndarray
) -> tuple[np.ndarray, ...]:
    center, spread = x.mean((0, 2, 3)), x.var((0, 2, 3))
    moved = [(old * np.float32(0.75) + new * np.float32(0.25)) for old, new in ((mean, center), (var, spread))]
    return norm(x, scale, shift, center, spread), *moved, center, spread


def resized(x: np.ndarray, mode: str) -> np.ndarray:
    """Two and three times as high and wide, as onnxruntime does it at opset 10."""
    model = model_of(Case("Resize", 10, [x, np.float32([1, 1, 2, 3])], {"mode": mode}), "sizes")
    (found,) = by_onnxruntime(model, {"x0": x, "x1": np.float32([1, 1, 2, 3])})
    return found


@pytest.mark.parametrize("table", [elements, shapes, reductions, layers], ids=lambda f: f.__name__)
def test_nodes_mean_what_they_meant(table: Callable[[], Iterator[Case]]) -> None:
    cases = list(table())
    run([(f"{i} {c.op_type} {c.opset} {c.attributes} {list(c.stored)}", (i, c)) for i, c in enumerate(cases)], check)


NARROW = "Gelu", "Hardmax", "Shrink"
"""Operators whose float64 onnxruntime computes in float32, in part; the old Hardmax is taken for the new by onnx's evaluator."""


def in_float64() -> Iterator[tuple[str, tuple[Case, onnx.ModelProto, list[np.ndarray]]]]:
    """The cases of float32 that onnxruntime computes in float64 too, of numbers that float32 does not have."""
    for case in itertools.chain(elements(), shapes(), reductions(), layers()):
        floats = [i for i, a in enumerate(case.inputs) if a is not None and a.dtype == np.float32]
        if case.want is not None or case.op_type in NARROW or not floats:
            continue
        inputs = list(case.inputs)
        for i in floats:
            inputs[i] = np.where(inputs[i] == np.round(inputs[i]), inputs[i], inputs[i] * np.float64(1 + 2**-40))
        case = case._replace(inputs=inputs)
        model = model_of(case, "sizes")
        wants = []
        with contextlib.suppress(Exception):  # it has kernels of float32 alone, or the operator wants them
            wants = by_onnxruntime(model, fed(case))
        if wants:
            yield f"{case.op_type} {case.opset} {case.attributes}", (case, model, wants)


def test_float64_stays_float64() -> None:
    def exact(row: tuple[Case, onnx.ModelProto, list[np.ndarray]]) -> None:
        case, model, wants = row
        for one, want in zip(results(import_model(model), fed(case)), wants, strict=True):
            same(one, want, 1e-13)

    rows = list(in_float64())
    assert len(rows) > 200
    run(rows, exact)


def counted_from_the_other_end(case: Case) -> Case | None:
    """The case with its axis counted from the other end; None where it has none, or that opset counts from the front alone."""
    axis, rank = case.attributes.get("axis"), np.ndim(case.inputs[0]) + (case.op_type == "OneHot")
    if not isinstance(axis, int) or not -rank <= axis < rank or (axis >= 0 and case.opset < 11):
        return None
    wants = wanted(case)
    turned = {**case.attributes, "axis": axis - rank if axis >= 0 else axis + rank}
    return case._replace(attributes=turned, want=lambda *_: tuple(wants), declared=("sizes",))


def test_axes_count_from_either_end() -> None:
    tables = elements, shapes, reductions, layers, along_the_middle
    found = [counted_from_the_other_end(c) for table in tables for c in table()]
    cases = [c for c in found if c is not None]
    assert len(cases) > 50
    run([(f"{i} {c.op_type} {c.opset} {c.attributes}", (i, c)) for i, c in enumerate(cases)], check)
