"""By which operators a node is read: MXNet's own where they mean the same, the standard's as it stands where they do not. Each row
says which, and what comes out has to be what onnxruntime, onnx's own evaluator or NumPy makes of the node."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import onnx
import onnxruntime.capi.onnxruntime_pybind11_state as pybind
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from converters import UnsupportedModel
from converters.importer import import_model
from tests.grouped import run

from .agreement import agree, by_onnxruntime, on_numpy, same
from .test_import_table import Case, fed, floats, ints, model_of, results

NONE: Mapping[int, Any] = {}


class Way(NamedTuple):
    """A node, and the operators that it becomes."""

    operators: str
    """In the order in which they run."""
    case: Case
    dims: Mapping[int, Sequence[int | str] | None] = NONE
    """Inputs of which less is declared than their sizes: dims with names for those left out, None for no rank."""
    fixed: Sequence[int] = ()
    """Stored inputs that are nodes, which training leaves alone."""


def way(
    operators: str,
    op_type: str,
    opset: int,
    *inputs: Any,
    want: Callable[..., Any] | None = None,
    outputs: int = 1,
    stored: Sequence[int] = (),
    dims: Mapping[int, Sequence[int | str] | None] = NONE,
    fixed: Sequence[int] = (),
    rtol: float = 1e-5,
    **attributes: Any,
) -> Way:
    case = Case(op_type, opset, inputs, attributes, want, outputs, [*stored, *fixed], rtol=rtol)
    return Way(operators, case, dims, fixed)


def declared(row: Way) -> onnx.ModelProto:
    """The model of a node, of whose inputs as much is said as the row says."""
    model = model_of(row.case, "sizes")
    for info in model.graph.input:
        index = int(info.name[1:])
        if index in row.dims:
            code, dims = info.type.tensor_type.elem_type, row.dims[index]
            info.CopyFrom(helper.make_tensor_value_info(info.name, code, dims))
    for index in row.fixed:
        (tensor,) = (t for t in model.graph.initializer if t.name == f"x{index}")
        model.graph.node.insert(0, helper.make_node("Constant", [], [tensor.name], value=tensor))
        model.graph.initializer.remove(tensor)
    return model


def check(row: Way) -> None:
    case = row.case
    found = import_model(declared(row))
    names = [n.op.name for n in found.graph.nodes if n.op is not None]
    assert " ".join(n for n in names if n != "_onnx_Constant") == row.operators
    feeds, model = fed(case), model_of(case, "sizes")
    if case.want is not None:
        wants = case.want(*(a for a in case.inputs if a is not None))
        wants = list(wants) if isinstance(wants, tuple) else [wants]
    else:
        try:
            wants = by_onnxruntime(model, feeds)
        except (pybind.Fail, pybind.InvalidArgument, pybind.InvalidGraph, pybind.RuntimeException):
            wants = list(ReferenceEvaluator(model).run(None, feeds))
    tolerance = max(case.rtol, 2e-3 if any(np.asarray(w).dtype == np.float16 for w in wants) else 0)
    with on_numpy():
        plain = results(found, feeds)
    for several in (plain, results(found, feeds)):
        for one, want in zip(several, wants, strict=True):
            same(one, want, tolerance)


X, IMAGE = floats(3, 4), floats(2, 4, 3, 5)
HALF = X.astype(np.float16)
WHOLE = np.arange(-5, 7, dtype=np.int32).reshape(3, 4)


def elements() -> Iterator[Way]:
    yield way("_onnx_Selu", "Selu", 6, floats(3, 4, dtype="float64"))
    yield way("LeakyReLU", "Selu", 6, HALF)
    slope = floats(4, 1, 1)
    yield way("_onnx_PRelu", "PRelu", 9, IMAGE, slope, dims={0: None})
    yield way("_onnx_PRelu", "PRelu", 9, IMAGE, slope, dims={1: None})
    yield way("_onnx_PRelu", "PRelu", 9, IMAGE, slope, dims={1: ["c", 1, 1]})
    yield way("_onnx_PRelu", "PRelu", 9, IMAGE, slope, dims={0: ["n", "c", "h", "w"]})
    yield way("Reshape LeakyReLU", "PRelu", 9, IMAGE, slope, dims={0: ["n", 4, "h", "w"]})
    yield way("_onnx_PRelu", "PRelu", 9, WHOLE, WHOLE[:, :1], want=lambda x, s: np.where(x < 0, x * s, x))
    yield way("_onnx_PRelu", "PRelu", 9, WHOLE, WHOLE[0], want=lambda x, s: np.where(x < 0, x * s, x))
    # arrays and numbers
    one = np.float32([1.5])
    yield way("broadcast_add", "Add", 13, np.array(2, "f4"), one, fixed=[1], dims={0: None})
    yield way("_plus_scalar", "Add", 13, X, one, fixed=[1])
    yield way("broadcast_add", "Add", 13, X[0], one.reshape(1, 1), fixed=[1])
    cube = floats(2, 3, 4)
    yield way("Reshape broadcast_add", "Add", 6, cube, floats(3), broadcast=1, axis=-2,
              want=lambda a, b: a + b[:, None])  # fmt: skip
    yield way("Reshape broadcast_sub", "Sub", 6, cube, floats(2, 3), broadcast=1, axis=0,
              want=lambda a, b: a - b[..., None])  # fmt: skip
    yield way("broadcast_mul", "Mul", 6, cube, np.float32(3).reshape(()), broadcast=1, axis=1,
              want=lambda a, b: a * b)  # fmt: skip
    yield way("elemwise_add", "Add", 6, cube, cube * 2, axis=0, want=np.add)
    positive = np.abs(X) + 1
    for data, exponent, operators in (
        (positive, np.float32(1.5), "_power_scalar"),
        (positive, np.int64(3), "_power_scalar"),
        (positive.astype(np.float16), np.int64(3), "_onnx_Pow"),
        (positive.astype(np.float16), np.float16(3), "_power_scalar"),
        (WHOLE, np.float32(2), "_onnx_Pow"),
    ):
        exact = lambda x, y: np.power(x.astype("f8"), float(y)).astype(x.dtype)  # noqa: E731
        yield way(operators, "Pow", 13, data, np.asarray(exponent), stored=[1], want=exact)
    words = np.array([["a", "b"], ["c", "b"]], dtype=object)
    yield way("_onnx_Equal", "Equal", 19, words, words[1], want=lambda a, b: a == b)
    yield way("add_n", "Sum", 13, X, X + 1, X * 2)
    yield way("elemwise_add broadcast_add", "Sum", 13, X, X + 1, X[0])
    yield way("broadcast_add elemwise_add", "Sum", 13, X, X[0], X * 2)
    yield way("broadcast_mod", "Mod", 13, WHOLE, np.abs(WHOLE) + 1)
    yield way("_onnx_Mod", "Mod", 13, WHOLE, np.abs(WHOLE) + 1, fmod=1)
    # bounds that no float32 clip has
    nan, low = np.array(np.nan, "f4"), np.array(-1, "f4")
    yield way("clip", "Clip", 11, X, low, low, stored=[1, 2], want=lambda x, a, b: np.full_like(x, -1))
    yield way(
        "_onnx_Clip", "Clip", 11, X, np.array(2, "f4"), low, stored=[1, 2], want=lambda x, a, b: np.full_like(x, -1)
    )
    yield way("_onnx_Clip", "Clip", 11, X, low, dims={})
    yield way("_onnx_Clip", "Clip", 11, X, nan, stored=[1])
    yield way("_onnx_Clip", "Clip", 11, X, None, nan, stored=[2])
    for kind, low_number in (("f", 2.5), ("i", 2)):
        whole = np.array(low_number, {"f": np.float64, "i": np.int64}[kind])
        yield way("_onnx_Clip", "Clip", 12, np.arange(5).astype(whole.dtype), whole, stored=[1])


def reductions() -> Iterator[Way]:
    for kind, own, half, whole in (
        ("Sum", "sum", "sum", "sum"),
        ("Mean", "mean", "mean", "_onnx_ReduceMean"),
        ("Prod", "prod", "prod", "prod"),
        ("L1", "abs sum", "abs sum", "abs sum"),
        ("SumSquare", "square sum", "_onnx_ReduceSumSquare", "square sum"),
        ("L2", "square sum sqrt", "_onnx_ReduceL2", "_onnx_ReduceL2"),
        ("LogSum", "sum log", "_onnx_ReduceLogSum", "_onnx_ReduceLogSum"),
        ("Max", "max", "max", "max"),
        ("Min", "min", "min", "min"),
    ):
        for data, operators in ((X + 3, own), ((X + 3).astype(np.float16), half), (WHOLE + 6, whole)):
            if operators == "_onnx_ReduceLogSum" and data.dtype.kind == "i":
                continue
            yield way(operators, f"Reduce{kind}", 11, data, axes=[-1], want=lambda x, k=kind: reduced(k, x), rtol=1e-4)
        # axes that come at run time, of which there are none
        for noop in (0, 1):
            since = 13 if kind == "Sum" else 18
            for data, apart in ((X + 3, own), (WHOLE + 6, whole)):
                each = {"L1": "abs", "LogSum": "log", "SumSquare": "square", "L2": "abs"}.get(kind, "_copy")
                if apart == "_onnx_ReduceLogSum":  # which is for floats
                    continue
                yield way(each if noop else apart, f"Reduce{kind}", since, data, ints(), noop_with_empty_axes=noop,
                          want=lambda x, _, k=kind, n=noop: pointwise(k, x) if n else reduced(k, x, None), rtol=1e-4)  # fmt: skip
    truths = X > 0
    yield way(
        "_onnx_ReduceMax", "ReduceMax", 20, truths, ints(1), stored=[1], want=lambda x, _: x.any(1, keepdims=True)
    )
    yield way(
        "_onnx_ReduceMin", "ReduceMin", 20, truths, ints(1), stored=[1], want=lambda x, _: x.all(1, keepdims=True)
    )
    nothing = np.zeros((0, 3), np.float32)
    yield way("_onnx_ReduceMax", "ReduceMax", 11, nothing, axes=[1], want=lambda x: np.zeros((0, 1), np.float32))
    for axis, operators in ((1, "max"), (-1, "max"), (0, "_onnx_ReduceMax"), (-2, "_onnx_ReduceMax")):
        yield way(operators, "ReduceMax", 11, X, axes=[axis], dims={0: ["n", 4]})
    yield way("_onnx_ReduceMax", "ReduceMax", 11, X, dims={0: ["n", 4]})
    yield way("_onnx_ReduceMax", "ReduceMax", 11, X, axes=[1], dims={0: None})
    axis = ints(1).reshape(())
    yield way("_np_cumsum", "CumSum", 14, X, axis, stored=[1])
    yield way("_onnx_CumSum", "CumSum", 14, HALF, axis, stored=[1],
              want=lambda x, a: np.cumsum(x.astype("f4"), 1).astype("f2"))  # fmt: skip
    yield way("_onnx_CumSum", "CumSum", 14, X, axis)


def reduced(kind: str, x: np.ndarray, axis: Any = -1) -> np.ndarray:
    wide = x.astype(np.float64)
    how = {"axis": axis, "keepdims": True}
    y = {
        "Sum": lambda: wide.sum(**how),
        "Mean": lambda: wide.mean(**how),
        "Prod": lambda: wide.prod(**how),
        "L1": lambda: np.abs(wide).sum(**how),
        "SumSquare": lambda: (wide**2).sum(**how),
        "L2": lambda: np.sqrt((wide**2).sum(**how)),
        "LogSum": lambda: np.log(wide.sum(**how)),
        "Max": lambda: wide.max(**how),
        "Min": lambda: wide.min(**how),
    }[kind]()
    return y.astype(x.dtype)


def pointwise(kind: str, x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    with np.errstate(divide="ignore"):
        y = {"L1": np.abs, "L2": np.abs, "SumSquare": np.square, "LogSum": np.log}.get(kind, np.asarray)(wide)
        return y.astype(x.dtype)


def layers() -> Iterator[Way]:
    tall, weight = floats(2, 4, 7, 9), floats(6, 4, 3, 2)
    same_weight = {"stored": [1], "rtol": 1e-4}
    yield way("_onnx_Conv", "Conv", 11, tall, weight, dims={1: None})
    yield way("_onnx_Conv", "Conv", 11, tall, weight, dims={1: [6, 4, "a", "b"]})
    yield way("Convolution", "Conv", 11, tall, weight, dims={0: None}, rtol=1e-4)
    for auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        how = {"auto_pad": auto_pad, **same_weight}
        yield way("Pad Convolution", "Conv", 11, tall, weight, **how)
        yield way("Pad Convolution", "Conv", 11, tall, weight, dims={0: None}, **how)
        yield way("Pad Convolution", "Conv", 11, tall, weight, strides=[2, 4], **how)
        yield way("_onnx_Conv", "Conv", 11, tall, weight, strides=[2, 3], **how)  # the windows lie apart
        yield way("_onnx_Conv", "Conv", 11, tall, weight, strides=[2, 4], dims={0: None}, **how)
        yield way("_onnx_Conv", "Conv", 11, tall, weight, strides=[2, 4], dims={0: [2, 4, "h", 9]}, **how)
        dilated = {"want": lambda x, w, a=auto_pad: same_padded(x, w, a)}
        yield way("Pad Convolution", "Conv", 11, tall, weight, dilations=[2, 3], **dilated, **how)
    yield way("Pad Convolution", "Conv", 11, tall, weight, pads=[1, 0, 1, 1], **same_weight)
    yield way("Convolution", "Conv", 11, tall, weight, pads=[1, 2, 1, 2], **same_weight)
    yield way("Convolution", "Conv", 11, tall, weight, auto_pad="VALID", strides=[2, 1], **same_weight)
    line, taps = floats(2, 4, 9), floats(6, 4, 3)
    yield way("_onnx_Conv", "Conv", 11, line, taps, pads=[1, 2], **same_weight)
    yield way("Convolution", "Conv", 11, line, taps, pads=[2, 2], kernel_shape=[3], **same_weight)
    turned = floats(4, 3, 3, 2)
    plain = {"stored": [1], "rtol": 1e-4}
    yield way("Deconvolution", "ConvTranspose", 11, tall, turned, **plain)
    yield way("Deconvolution", "ConvTranspose", 11, tall, turned, dims={0: None}, **plain)
    yield way("_onnx_ConvTranspose", "ConvTranspose", 11, tall, turned, dims={1: None}, rtol=1e-4)
    yield way("Deconvolution", "ConvTranspose", 11, tall, turned, auto_pad="VALID", strides=[2, 3], **plain)
    yield way("Deconvolution", "ConvTranspose", 11, tall, turned, pads=[1, 0, 1, 0], group=2, **plain)
    yield way(
        "Deconvolution", "ConvTranspose", 11, tall, turned, floats(3), strides=[2, 3], output_padding=[1, 2], **plain
    )
    yield way("_onnx_ConvTranspose", "ConvTranspose", 11, tall, turned, pads=[1, 0, 0, 1], **plain)
    yield way("_onnx_ConvTranspose", "ConvTranspose", 11, tall, turned, strides=[2, 2], output_shape=[14, 18], **plain)
    yield way("_onnx_ConvTranspose", "ConvTranspose", 11, tall, turned, strides=[2, 2], auto_pad="SAME_UPPER", **plain)
    for extra in (1, 2):  # as much as a step, or more
        yield way("_onnx_ConvTranspose", "ConvTranspose", 11, tall, turned, dilations=[3, 2], output_padding=[extra, 0],
                  want=lambda x, w, n=extra: spread(x, w, n), **plain)  # fmt: skip
    columns = floats(2, 12, 12)
    image, block = ints(5, 4), ints(2, 2)
    yield way("col2im", "Col2Im", 18, columns, image, block, stored=[1, 2])
    yield way("_onnx_Col2Im", "Col2Im", 18, columns, image, block, stored=[2])
    yield way("_onnx_Col2Im", "Col2Im", 18, columns, image, block, stored=[1])
    yield way("_onnx_Col2Im", "Col2Im", 18, floats(2, 12, 16), ints(4, 4), block, stored=[1, 2], pads=[0, 1, 1, 0], strides=[1, 1],
              want=lambda x, i, b: back(x, (4, 4), (2, 2), (0, 1, 1, 0)))  # fmt: skip
    yield way("col2im", "Col2Im", 18, floats(2, 12, 20), ints(5, 2), block, stored=[1, 2], pads=[0, 2, 0, 2],
              want=lambda x, i, b: back(x, (5, 2), (2, 2), (0, 2, 0, 2)))  # fmt: skip
    # pooling
    pooled = {"MaxPool": "Pooling", "AveragePool": "Pooling", "LpPool": "Pooling"}
    for op_type in pooled:
        own, opset = f"_onnx_{op_type}", 22
        yield way("Pooling", op_type, opset, tall, kernel_shape=[2, 3], strides=[2, 3])
        yield way("Pooling", op_type, opset, tall, kernel_shape=[2, 3], strides=[2, 1], pads=[1, 1, 1, 1])
        yield way(own, op_type, opset, tall, kernel_shape=[2, 3], dilations=[1, 2])
        yield way(
            "Pad Pooling" if op_type == "MaxPool" else own, op_type, opset, tall, kernel_shape=[2, 3], pads=[0, 1, 1, 2]
        )
        yield way(own, op_type, opset, line, kernel_shape=[3], pads=[1, 2])
        # windows that begin in the image or in the padding at its end
        full = "Pooling" if op_type != "LpPool" else own
        yield way("Pooling", op_type, opset, tall, kernel_shape=[3, 3], strides=[2, 3], ceil_mode=1)
        yield way("Pooling", op_type, opset, tall, kernel_shape=[3, 2], strides=[1, 1], ceil_mode=1)
        yield way(full, op_type, opset, tall, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
        yield way("Pooling", op_type, opset, tall, kernel_shape=[2, 2], strides=[1, 1], ceil_mode=1, dims={0: None})
        yield way(full, op_type, opset, tall, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1, dims={0: None})
        yield way(full, op_type, opset, tall, kernel_shape=[4, 3], strides=[2, 2], ceil_mode=1, pads=[1, 1, 1, 1],
                  dims={0: [2, 4, "h", 9]})  # fmt: skip
        yield way(own, op_type, opset, tall, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1, pads=[1, 0, 0, 0])
        yield way(own, op_type, opset, tall, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1, pads=[1, 1, 1, 1])
        yield way("Pooling", op_type, opset, tall, kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")
        yield way(own, op_type, opset, tall, kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_LOWER", dims={0: None})
    yield way("_onnx_LpPool", "LpPool", 18, tall, kernel_shape=[2, 2], p=3)
    yield way("_onnx_MaxPool", "MaxPool", 12, (tall * 40).astype(np.int8), kernel_shape=[2, 3])
    deep = floats(2, 3, 2, 1, 3, 2)
    for op_type, f in (("GlobalAveragePool", np.mean), ("GlobalMaxPool", np.max)):
        yield way("Pooling", op_type, 1, deep[:, :, 0], want=lambda x, f=f: f(x, (2, 3, 4), keepdims=True))
        yield way("Pooling", op_type, 1, line, want=lambda x, f=f: f(x, 2, keepdims=True))
        yield way(f"_onnx_{op_type}", op_type, 1, deep, want=lambda x, f=f: f(x, (2, 3, 4, 5), keepdims=True))
        yield way(
            f"_onnx_{op_type}", op_type, 1, IMAGE, dims={0: None}, want=lambda x, f=f: f(x, (2, 3), keepdims=True)
        )
    # normalizations
    parts = [floats(4), floats(4) + 1, floats(4) / 2, np.abs(floats(4)) + 0.5]
    norm, rest = "_onnx_BatchNormalization", {"stored": [1, 2, 3, 4], "rtol": 1e-4}
    stats = lambda dtype: [v.astype(dtype) for v in parts]  # noqa: E731
    by = {"want": lambda x, *v: normalized(x, *v), **rest}
    yield way("BatchNorm", "BatchNormalization", 15, IMAGE, *parts, **by)
    yield way("BatchNorm", "BatchNormalization", 15, X, *parts, dims={0: None}, **by)
    yield way(norm, "BatchNormalization", 15, IMAGE, *parts, stored=[1, 2], want=by["want"], rtol=1e-4)
    yield way("BatchNorm", "BatchNormalization", 15, IMAGE.astype("f8"), *stats("f8"), **by)
    yield way(norm, "BatchNormalization", 15, IMAGE.astype("f2"), *stats("f2"), **by)
    yield way("BatchNorm", "BatchNormalization", 15, IMAGE.astype("f2"), *stats("f4"), **by)
    scale, shift = floats(4), floats(4) + 1
    eps = {"epsilon": 0.1, "rtol": 1e-4}
    yield way("InstanceNorm", "InstanceNormalization", 6, floats(2, 4, 5), scale, shift, **eps)
    yield way("_onnx_InstanceNormalization", "InstanceNormalization", 6, IMAGE, scale, shift, dims={0: None}, **eps)
    last = {"want": lambda x, s, b=0: layer_norm(x, s, b), **eps}
    cube = floats(2, 3, 4)
    own = "_onnx_LayerNormalization"
    yield way("LayerNorm", "LayerNormalization", 17, cube, scale, shift, **last)
    yield way("LayerNorm", "LayerNormalization", 17, cube, scale, shift, axis=2, **last)
    yield way("LayerNorm", "LayerNormalization", 17, cube, scale, shift, dims={0: ["n", "t", 4]}, **last)
    yield way(
        "LayerNorm", "LayerNormalization", 17, cube, scale, shift, dims={0: ["n", "t", "c"]}, stored=[1, 2], **last
    )
    yield way(own, "LayerNormalization", 17, cube, scale, shift, dims={0: ["n", "t", "c"]}, **last)
    yield way(
        own, "LayerNormalization", 17, cube, scale[:1], shift[:1], dims={0: ["n", "t", "c"]}, stored=[1, 2], **last
    )
    yield way(own, "LayerNormalization", 17, cube, scale, shift, dims={0: None}, **last)
    yield way(own, "LayerNormalization", 17, cube, scale, shift, dims={1: None}, **last)
    yield way(own, "LayerNormalization", 17, cube, scale, shift, dims={2: ["c"]}, **last)
    yield way(own, "LayerNormalization", 17, cube, scale, shift[:1], **last)
    yield way(own, "LayerNormalization", 17, cube, floats(3, 4), shift, **last)
    yield way(own, "LayerNormalization", 17, cube, scale, **last)
    yield way(own, "LayerNormalization", 17, cube.astype("f8"), scale.astype("f8"), shift.astype("f8"), **last)
    in_groups = {"want": lambda x, s, b: group_norm(x, s, b), "num_groups": 2, **eps}
    yield way("GroupNorm", "GroupNormalization", 18, IMAGE, scale[:2], shift[:2], **in_groups)
    yield way(
        "repeat repeat _onnx_GroupNormalization",
        "GroupNormalization",
        18,
        floats(3, 4),
        scale[:2],
        shift[:2],
        **in_groups,
    )
    yield way("repeat repeat _onnx_GroupNormalization", "GroupNormalization", 18, floats(3, 6), scale[:2], shift[:2],
              dims={0: ["n", 6]}, **in_groups)  # fmt: skip
    yield way("LRN", "LRN", 1, IMAGE, size=3, alpha=0.3)
    yield way("_onnx_LRN", "LRN", 1, IMAGE, size=3, alpha=0.3, dims={0: None})


def same_padded(x: np.ndarray, w: np.ndarray, auto_pad: str) -> np.ndarray:
    """The convolution at steps of 1 of taps 2 and 3 apart, as large as the image: of 4 and 3 more, the odd one at the end or at the
    beginning."""
    total = (4, 3)
    less, more = [t // 2 for t in total], [t - t // 2 for t in total]
    before, after = (less, more) if auto_pad == "SAME_UPPER" else (more, less)
    wide = np.pad(x, [(0, 0), (0, 0), *zip(before, after)])
    y = np.zeros((len(x), len(w), *x.shape[2:]))
    for i, j in np.ndindex(*w.shape[2:]):
        part = wide[:, :, 2 * i : 2 * i + x.shape[2], 3 * j : 3 * j + x.shape[3]]
        y += np.einsum("nchw,oc->nohw", part.astype("f8"), w[:, :, i, j].astype("f8"))
    return y.astype(x.dtype)


def spread(x: np.ndarray, w: np.ndarray, extra: int) -> np.ndarray:
    """The transposed convolution at steps of 1 of taps 3 and 2 apart, with more rows of zeros at the end."""
    high, wide = x.shape[2] + 3 * (w.shape[2] - 1), x.shape[3] + 2 * (w.shape[3] - 1)
    y = np.zeros((len(x), w.shape[1], high + extra, wide))
    for i, j in np.ndindex(*w.shape[2:]):
        y[:, :, 3 * i : 3 * i + x.shape[2], 2 * j : 2 * j + x.shape[3]] += np.einsum("nchw,co->nohw", x, w[:, :, i, j])
    return y.astype(x.dtype)


def back(x: np.ndarray, size: Sequence[int], block: Sequence[int], pads: Sequence[int]) -> np.ndarray:
    """The sums of blocks at steps of 1 where they lie on the image."""
    high, wide = size[0] + pads[0] + pads[2], size[1] + pads[1] + pads[3]
    rows, columns = high - block[0] + 1, wide - block[1] + 1
    each = x.reshape(len(x), -1, *block, rows, columns)
    y = np.zeros((len(x), each.shape[1], high, wide), x.dtype)
    for i, j in np.ndindex(*block):
        y[:, :, i : i + rows, j : j + columns] += each[:, :, i, j]
    return y[:, :, pads[0] : pads[0] + size[0], pads[1] : pads[1] + size[1]]


def normalized(x: np.ndarray, *statistics: np.ndarray) -> np.ndarray:
    scale, shift, mean, var = (v.astype("f8").reshape(-1, *[1] * (x.ndim - 2)) for v in statistics)
    return ((x - mean) / np.sqrt(var + 1e-5) * scale + shift).astype(x.dtype)


def layer_norm(x: np.ndarray, scale: np.ndarray, shift: np.ndarray | int) -> np.ndarray:
    wide = x.astype("f8")
    away = wide - wide.mean(-1, keepdims=True)
    return (away / np.sqrt((away**2).mean(-1, keepdims=True) + 0.1) * scale + shift).astype(x.dtype)


def group_norm(x: np.ndarray, scale: np.ndarray, shift: np.ndarray) -> np.ndarray:
    wide = x.astype("f8").reshape(len(x), 2, -1)
    away = wide - wide.mean(-1, keepdims=True)
    wide = away / np.sqrt((away**2).mean(-1, keepdims=True) + 0.1) * scale[:, None] + shift[:, None]
    return wide.reshape(x.shape).astype(x.dtype)


def shapes() -> Iterator[Way]:
    cube, marks = floats(2, 3, 4), np.array([True, False, True])
    pads = ints(0, 0, 1, 2, 0, 0, 3, 4)
    small = floats(2, 3, 5, 6)
    yield way("Pad", "Pad", 13, small, pads, stored=[1])
    yield way("Pad", "Pad", 13, small, pads, np.array(2.5, "f4"), stored=[1, 2])
    yield way("_onnx_Pad", "Pad", 13, small, pads, np.float32([2.5]), stored=[1, 2])  # a weight
    yield way("_npi_pad", "Pad", 13, (small * 9).astype(np.int32), pads, stored=[1])
    yield way("_npi_pad", "Pad", 13, small, ints(1, 0, 0, 2, 0, 1, 3, 0), stored=[1])
    yield way("Pad", "Pad", 13, floats(1, 2, 3, 4, 5), ints(0, 0, 1, 2, 0, 0, 0, 0, 1, 3), stored=[1])
    yield way("_npi_pad", "Pad", 13, floats(3, 4, 5), ints(0, 0, 1, 0, 0, 2), stored=[1])
    yield way("_copy", "Pad", 13, small, ints(*[0] * 8), stored=[1])
    yield way("slice", "Pad", 13, small, ints(0, -1, 0, 0, 0, 0, -2, 0), stored=[1])
    yield way("_onnx_Pad", "Pad", 13, small, ints(0, -1, 0, 0, 0, 0, 2, 0), stored=[1])
    yield way("_onnx_Pad", "Pad", 13, small, pads)
    yield way("_onnx_Pad", "Pad", 13, small, pads, stored=[1], dims={0: None})
    yield way("_onnx_Pad", "Pad", 13, np.zeros((0, 3), np.float32), ints(1, 0, 2, 1), np.array(2.5, "f4"), stored=[1, 2],
              want=lambda x, p, v: np.full((3, 4), 2.5, "f4"))  # fmt: skip
    yield way("_npi_pad", "Pad", 13, cube, ints(0, 0, 1, 0, 0, 3), stored=[1], mode="reflect")
    yield way("_onnx_Pad", "Pad", 13, cube, ints(0, 0, 1, 0, 0, 4), stored=[1], mode="reflect",
              want=lambda x, p: np.pad(x, ((0, 0), (0, 0), (1, 4)), "reflect"))  # fmt: skip
    yield way("_npi_pad", "Pad", 13, cube, ints(0, 0, 1, 0, 0, 4), stored=[1], mode="edge")
    yield way("_onnx_Pad", "Pad", 19, cube, ints(0, 0, 1, 0, 0, 2), stored=[1], mode="wrap")
    yield way("_npi_pad", "Pad", 18, cube, ints(1, 2), None, ints(-1), stored=[1, 3])
    yield way("_npi_pad", "Pad", 18, cube, ints(1, 2, 3, 4), None, ints(2, 0), stored=[1, 3])
    yield way("_onnx_Pad", "Pad", 18, cube, ints(1, 2), None, ints(-1), stored=[1])
    yield way("_onnx_Pad", "Pad", 18, cube, ints(1, 2), None, ints(-1), stored=[3])
    words = np.array([["a", "bc"], ["d", "e"]], dtype=object)
    wide = np.array([["", "a", "bc", "", ""], ["", "d", "e", "", ""]], dtype=object)
    for given in ([1, 3], [3], [1], []):
        yield way("_onnx_Pad", "Pad", 18, words, ints(1, 2), None, ints(1), stored=given, want=lambda x, p, a: wide)
    # Expand and Tile
    yield way("broadcast_to", "Expand", 13, floats(3, 1, 4), ints(3, 2, 1), stored=[1])
    yield way("broadcast_to", "Expand", 13, floats(3, 1, 4), ints(2, 1), stored=[1])
    yield way("_npi_broadcast_to", "Expand", 13, floats(3, 1), ints(2, 1, 4), stored=[1])
    yield way("_npi_broadcast_to", "Expand", 13, floats(3, 1), ints(1, 3, 1), stored=[1])
    yield way("_npi_broadcast_to", "Expand", 13, floats(3, 1), ints(3, 0), stored=[1], want=lambda x, s: x[:, :0])
    yield way("_npi_broadcast_to", "Expand", 13, np.array(2, "f4"), ints(2, 1), stored=[1])
    yield way("_onnx_Expand", "Expand", 13, floats(3, 1), ints(3, 4), stored=[1], dims={0: None})
    yield way("tile", "Tile", 13, X, ints(2, 3), stored=[1])
    yield way("_onnx_Tile", "Tile", 13, X, ints(2, 3))
    tiled = {"stored": [1, 2], "want": lambda x, n, a: np.tile(x, (1, 3, 1))}
    yield way("tile", "Tile", 1, cube, np.float32(3), np.float32(1), **tiled)
    # Gather
    yield way("take", "Gather", 13, X, ints(1, -1, 0))
    yield way("take", "Gather", 13, X, ints(1, -1, 0), stored=[1], dims={0: None})
    yield way("take", "Gather", 13, X, ints(3, -4, 0), axis=-1, stored=[1])
    yield way("take", "Gather", 13, X, ints(2, -3), stored=[1], dims={0: ["n", 4]})
    yield way("slice_axis squeeze", "Gather", 13, X, np.array(-1), axis=1, stored=[1])
    yield way("slice_axis squeeze", "Gather", 13, X, np.array(-2), axis=-1, stored=[1])
    yield way("slice_axis _np_squeeze", "Gather", 13, X[0], np.array(-2), stored=[1])
    none = np.zeros((0, 4), np.float32)
    yield way("take", "Gather", 13, none, ints(), stored=[1], want=lambda x, i: x)
    yield way("transpose gather_nd", "GatherND", 12, cube, ints(1, 2, 0, 1).reshape(2, 2), stored=[])
    yield way("gather_nd", "GatherND", 12, cube, ints(1, -1))
    yield way("_onnx_GatherND", "GatherND", 12, cube, ints(1, 2, 0, 1).reshape(2, 2), dims={1: None})
    yield way("_onnx_GatherND", "GatherND", 12, cube, ints(1, 2).reshape(2, 1), batch_dims=1)
    yield way("_contrib_boolean_mask", "Compress", 11, X, marks, axis=0)
    yield way("_contrib_boolean_mask", "Compress", 11, X, marks, axis=-2)
    yield way("_onnx_Compress", "Compress", 11, X, marks, axis=1)
    square = floats(3, 3)
    yield way("_onnx_Compress", "Compress", 11, square, marks, axis=1)
    yield way("_onnx_Compress", "Compress", 11, square, marks, axis=-1)
    yield way("_onnx_Compress", "Compress", 11, square[0], marks)
    yield way("_onnx_Compress", "Compress", 11, X, marks[:2], axis=0, want=lambda x, c: x[:1])
    yield way("_onnx_Compress", "Compress", 11, X, marks, axis=0, dims={0: ["n", 4]})
    # shapes
    yield way("Reshape", "Reshape", 13, cube, ints(0, -1), stored=[1])
    yield way("_onnx_Reshape", "Reshape", 14, cube, ints(4, 6), allowzero=1)
    yield way("_np_reshape", "Reshape", 14, np.zeros((0, 3), "f4"), ints(3, 0), allowzero=1, stored=[1])
    yield way("_np_reshape", "Reshape", 14, np.zeros((0, 3), "f4"), ints(0, 1, 3), stored=[1])
    yield way("_np_reshape", "Reshape", 13, np.array(2, "f4"), ints(1, 1), stored=[1])
    yield way("_np_reshape", "Reshape", 13, np.zeros((2, 0, 3), "f4"), ints(0, 0, 1, 3), stored=[1],
              want=lambda x, s: np.zeros((2, 0, 1, 3), "f4"))  # fmt: skip
    yield way("Flatten", "Flatten", 13, cube)
    yield way("Flatten", "Flatten", 13, cube, dims={0: None})
    yield way("_onnx_Flatten", "Flatten", 13, cube, axis=2, dims={0: None})
    yield way("_np_reshape", "Flatten", 13, np.array(3, "f4"), axis=0)
    yield way("Reshape", "Flatten", 13, cube, axis=-1)
    yield way("Reshape", "Flatten", 13, cube, axis=2, dims={0: ["n", 3, 4]})
    yield way("_onnx_Flatten", "Flatten", 13, cube, axis=2, dims={0: ["n", 3, "c"]})
    yield way("shape_array", "Shape", 15, cube, dims={0: None})
    for start, end in ((1, None), (0, 2), (-2, -1), (0, -3), (2, 1)):
        yield way(
            "_onnx_Shape", "Shape", 15, cube, start=start, dims={0: None}, **({} if end is None else {"end": end})
        )
        empty = len(range(*slice(start, end).indices(3))) == 0
        if not empty:
            yield way("shape_array slice_axis", "Shape", 15, cube, start=start, dims={0: ["a", "b", "c"]},
                      **({} if end is None else {"end": end}))  # fmt: skip
    one = floats(3, 1, 4, 1)
    yield way("squeeze", "Squeeze", 13, one)
    yield way("squeeze", "Squeeze", 13, one, ints(-1, 1), stored=[1])
    yield way("_np_squeeze", "Squeeze", 13, floats(1, 1))
    yield way("_copy", "Squeeze", 13, X)
    yield way("_copy", "Squeeze", 13, X, ints(), stored=[1], want=lambda x, a: x)
    yield way("_onnx_Squeeze", "Squeeze", 13, one, ints(1), stored=[1], dims={0: None})
    yield way("_np_squeeze", "Squeeze", 13, one, dims={0: None})
    yield way("_onnx_Squeeze", "Squeeze", 13, one, ints(1))
    yield way("expand_dims expand_dims", "Unsqueeze", 13, X, ints(-1, 0), stored=[1])
    yield way("expand_dims", "Unsqueeze", 13, X, ints(-2), stored=[1])
    yield way("_copy", "Unsqueeze", 13, X, ints(), stored=[1], want=lambda x, a: x)
    yield way("_onnx_Unsqueeze", "Unsqueeze", 13, X, ints(-2), stored=[1], dims={0: None})
    yield way("_onnx_Unsqueeze", "Unsqueeze", 13, X, ints(-2))
    # parts
    far = 2**31 - 1
    for starts, ends, steps, operators, known in (
        ([0], [far], [1], "_copy", False),
        ([1], [far], [1], "slice", False),
        ([-far], [2], [1], "slice", False),
        ([-(2**63)], [2**63 - 1], [2], "slice", False),
        ([0], [-1], [1], "slice", False),
        ([-1], [-far], [-1], "slice", False),
        ([far], [-(2**63)], [-2], "slice", False),
        ([2], [0], [-1], "slice", False),
        ([-2], [-far], [-1], "_onnx_Slice", False),
        ([0], [4], [1], "_copy", True),
        ([0], [4], [2], "slice", True),
        ([3], [1], [1], "slice", True),
        ([3], [0], [-1], "slice", True),
        ([0], [3], [-1], "slice", True),
        ([2], [2], [-1], "slice", True),
        ([-9], [-9], [-1], "slice", True),
    ):
        numbers = [ints(*starts), ints(*ends), ints(-1), ints(*steps)]
        dims = {} if known else {0: ["n", "c"]}
        yield way(operators, "Slice", 13, X, *numbers, stored=[1, 2, 3, 4], dims=dims)
    yield way("_onnx_Slice", "Slice", 13, X, ints(1), ints(3), stored=[1, 2], dims={0: None})
    yield way("_onnx_Slice", "Slice", 13, X, ints(1), ints(3), stored=[1])
    yield way("_npi_tril", "Trilu", 14, cube, np.array(-1), upper=0, stored=[1])
    yield way("_npi_tril", "Trilu", 14, cube, np.array(-(2**62)), upper=0, stored=[1], want=lambda x, k: x * 0)
    yield way("_npi_tril", "Trilu", 14, cube, np.array(2**62), upper=0, stored=[1], want=lambda x, k: x)
    yield way("_onnx_Trilu", "Trilu", 14, cube, np.array(-1), upper=1, stored=[1])
    yield way("_onnx_Trilu", "Trilu", 14, cube, np.array(-1), upper=0)
    yield way("_onnx_Trilu", "Trilu", 14, cube, upper=0, dims={0: None})
    thirds = [np.s_[:, :1], np.s_[:, 1:4]]
    yield way("_split_v2", "Split", 13, X, ints(1, 3), axis=1, outputs=2, stored=[1])
    yield way("SliceChannel", "Split", 13, X, ints(2, 2), axis=-1, outputs=2, stored=[1])
    yield way("SliceChannel", "Split", 13, X, axis=1, outputs=2)
    yield way("_split_v2", "Split", 13, none, ints(0, 0), outputs=2, stored=[1], want=lambda x, s: (x, x))
    yield way("_onnx_Split", "Split", 13, X, ints(1, 3), axis=1, outputs=2, stored=[1], dims={0: [3, "c"]})
    yield way(
        "_onnx_Split", "Split", 13, X, ints(1, 3), axis=1, outputs=2, want=lambda x, s: tuple(x[t] for t in thirds)
    )
    yield way("_onnx_Split", "Split", 18, X, ints(1, 3), axis=1, outputs=2)
    yield way("_split_v2", "Split", 18, X, ints(1, 3), axis=1, outputs=2, stored=[1])
    yield way("_split_v2", "Split", 18, X, axis=1, num_outputs=3, outputs=3)
    yield way("_onnx_Split", "Split", 18, X, axis=1, num_outputs=3, outputs=3, dims={0: None})
    for axes, starts in (((0, -1), (1, 0)), ((-1, 0), (2, 1)), ((1, 0), (0, 2))):
        yield way("slice", "Slice", 13, X, ints(*starts), ints(3, 3), ints(*axes), stored=[1, 2, 3])
    yield way("_copy", "Slice", 13, X, ints(), ints(), stored=[1, 2], want=lambda x, *_: x)
    yield way("_npi_broadcast_to", "Expand", 13, np.array(2, "f4"), ints(), stored=[1], want=lambda x, s: x)
    yield way("_npi_broadcast_to", "Expand", 13, floats(3, 1), ints(1, 0), stored=[1], want=lambda x, s: x[:, :0])
    yield way("Reshape", "Reshape", 13, np.zeros((2, 0), "f4"), ints(0, 0, 3), stored=[1], dims={0: ["n", 0]},
              want=lambda x, s: np.zeros((2, 0, 3), "f4"))  # fmt: skip
    yield way("_onnx_Flatten", "Flatten", 13, np.zeros((0, 3, 2), "f4"), axis=2, dims={0: [0, 3, "c"]})
    yield way("_onnx_Pad", "Pad", 13, floats(2, 3, 4), ints(0, 0, 1, 0, 0, 0), stored=[1], dims={0: None})
    # a hundred thousand of one number are not part of the file
    for dtype, count, operators in (("f4", 5000, "_full"), ("f8", 5000, "_full"), ("f2", 4097, "_full"),
                                    ("f4", 4096, ""), ("i4", 5000, "_onnx_ConstantOfShape")):  # fmt: skip
        value = helper.make_tensor("v", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [1], [3])
        yield way(operators, "ConstantOfShape", 9, ints(count, 1), stored=[0], value=value)
    yield way("_onnx_ConstantOfShape", "ConstantOfShape", 9, ints(2, 3))
    classes = ints(1, 0, 3).reshape(1, 3)
    several = "Cast _npi_less_scalar _npi_where _onnx_OneHot"
    yield way(
        "Cast _npi_less_scalar Cast _npi_where _onnx_OneHot",
        "OneHot",
        9,
        classes,
        np.array(4),
        np.float32([2.5, -1]),
        fixed=[2],
    )
    yield way(several, "OneHot", 9, classes, np.array(4), np.float32([2.5, -1]), stored=[1])
    for numbers in (
        ints(3, 2**53 + 1),
        ints(2**53 + 1, 3),
        np.array([False, True]),
    ):  # which no number of MXNet's holds
        yield way(several, "OneHot", 9, classes, np.array(4), numbers, stored=[1], fixed=[2],
                  want=lambda i, n, v: np.where(np.arange(4) == i[..., None], v[1], v[0]))  # fmt: skip
    yield way("one_hot", "OneHot", 9, classes, np.array(4), ints(3, 2**53), stored=[1], fixed=[2],
              want=lambda i, n, v: np.where(np.arange(4) == i[..., None], v[1], v[0]))  # fmt: skip
    for axis, operators, dims in (
        (-1, "one_hot", {}),
        (2, "one_hot", {}),
        (1, "where", {}),
        (-1, "one_hot", {0: None}),
        (2, "where", {0: None}),
    ):
        numbers = np.array([2.5, -1], "f4")
        operators = operators.replace("where", "Cast _npi_less_scalar _npi_where _onnx_OneHot")
        yield way(operators, "OneHot", 9, classes, np.array(4), numbers, stored=[1], fixed=[2], axis=axis, dims=dims)


def scanned() -> Iterator[Way]:
    """Softmax of groups of axes, grids and matrices."""
    cube = floats(2, 3, 4)
    for op_type, own in (("Softmax", "softmax"), ("LogSoftmax", "log_softmax")):
        yield way(f"Reshape {own} reshape_like", op_type, 11, cube)
        yield way(f"Reshape {own} reshape_like", op_type, 11, cube, axis=-2)
        yield way(own, op_type, 11, cube, axis=-1)
        yield way(own, op_type, 11, cube, axis=2)
        yield way(own, op_type, 11, cube, axis=-1, dims={0: None})
        yield way(f"Reshape {own} reshape_like", op_type, 11, cube, axis=1, dims={0: None})
        yield way(own, op_type, 13, cube, axis=1, dims={0: None})
    grid, close = floats(2, 3, 4, 2) * 0.7, {"rtol": 1e-4}
    corners = {"align_corners": 1, "rtol": 1e-4}
    yield way("transpose BilinearSampler", "GridSample", 16, IMAGE, grid, **corners)
    yield way("_onnx_GridSample", "GridSample", 16, IMAGE, grid, rtol=1e-4)
    yield way("_onnx_GridSample", "GridSample", 16, IMAGE, grid, dims={0: None}, **corners)
    yield way("_onnx_GridSample", "GridSample", 16, IMAGE.astype("f8"), grid.astype("f8"), **corners)
    yield way(
        "_onnx_GridSample",
        "GridSample",
        20,
        floats(2, 4, 3, 5, 2),
        floats(2, 3, 2, 4, 3) * 0.7,
        mode="linear",
        **corners,
    )
    square = floats(2, 3, 3)
    determinant = lambda x: np.linalg.det(x.astype("f8")).astype(x.dtype)  # noqa: E731
    yield way("_linalg_det", "Det", 11, square, **close, want=determinant)
    yield way("_onnx_Det", "Det", 11, square[0], **close, want=determinant)
    yield way("_onnx_Det", "Det", 11, square, dims={0: None}, **close, want=determinant)
    yield way("_onnx_Det", "Det", 11, square.astype("f2"), want=determinant)
    m, n = floats(3, 4), floats(4, 5)
    yield way("dot", "MatMul", 13, m, n)
    yield way("dot", "MatMul", 13, cube, n)
    yield way("_npi_matmul", "MatMul", 13, m, n, dims={0: None})
    yield way("_npi_matmul", "MatMul", 13, m, n, dims={1: None})
    rows = floats(2, 4, 5)
    yield way("batch_dot", "MatMul", 13, cube, rows)
    yield way("_npi_matmul", "MatMul", 13, cube, rows[:1])
    yield way("_npi_matmul", "MatMul", 13, cube, rows, dims={0: ["n", 3, 4]})
    yield way("_npi_matmul", "MatMul", 13, cube, rows, dims={1: ["n", 4, 5]})
    yield way("_npi_matmul", "MatMul", 13, cube, rows, dims={0: ["n", 3, 4], 1: ["n", 4, 5]})
    yield way("_npi_matmul", "MatMul", 13, X[0], rows)
    turned, plus = n.T.copy(), floats(5)
    full = "FullyConnected"
    yield way(full, "Gemm", 13, m, turned, plus, transB=1)
    yield way(full, "Gemm", 13, m, turned, transB=1)
    yield way("dot", "Gemm", 13, m, n)
    yield way("dot", "Gemm", 13, m.T.copy(), turned, transA=1, transB=1)
    yield way("dot", "Gemm", 13, m, turned, transB=1, dims={1: ["c", 4]})
    yield way("dot", "Gemm", 13, m, turned, transB=1, dims={1: None})
    yield way("dot broadcast_add", "Gemm", 13, m, turned, plus, transB=1, dims={2: None})
    yield way("dot broadcast_add", "Gemm", 13, m, turned, plus, transB=1, dims={2: ["c"]})
    yield way("dot broadcast_add", "Gemm", 13, m, turned, plus[:1], transB=1)
    yield way("dot broadcast_add", "Gemm", 13, m, turned, floats(3, 5)[:1], transB=1)
    yield way("dot _mul_scalar broadcast_add", "Gemm", 13, m, turned, plus, transB=1, beta=0.5)
    yield way("dot _mul_scalar broadcast_add", "Gemm", 13, m, turned, plus, transB=1, alpha=0.5)
    yield way("dot _mul_scalar", "Gemm", 13, m, turned, transB=1, alpha=0.5)
    halves = [v.astype("f2") for v in (m, turned, plus)]
    product = lambda a, b, c=0: (a.astype("f8") @ b.T.astype("f8") + c).astype(a.dtype)  # noqa: E731
    yield way("_onnx_Gemm", "Gemm", 13, *halves, transB=1, want=product)
    yield way("_onnx_Gemm", "Gemm", 13, *halves[:2], transB=1, want=product)
    whole = [(v * 9).astype("i4") for v in (m, turned)]
    yield way("_onnx_Gemm", "Gemm", 13, *whole, transB=1, want=product)


def images() -> Iterator[Way]:
    """Images resized, and channels that become places and back."""
    small = floats(1, 2, 3, 4)
    own, fine = "_onnx_Resize", {"rtol": 1e-4}

    def scaled(operators: str, x: np.ndarray, *factors: float, dims: Any = NONE, **attributes: Any) -> Way:
        return way(operators, "Resize", 13, x, None, np.float32(factors), fixed=[2], dims=dims, **fine, **attributes)

    def sized(operators: str, x: np.ndarray, *sizes: int, dims: Any = NONE, opset: int = 13, **attributes: Any) -> Way:
        return way(operators, "Resize", opset, x, None, None, ints(*sizes), stored=[3], dims=dims, **fine, **attributes)

    free = {0: ["n", 2, 3, 4]}
    for mode, grown in (("nearest", "UpSampling"), ("linear", "_contrib_BilinearResize2D")):
        yield scaled(grown, small, 1, 1, 2, 2, mode=mode)
        yield scaled(own, small, 1, 2, 2, 2, mode=mode, **({} if mode == "nearest" else {"want": doubled}))
        yield scaled(own, floats(2, 3, 4), 1, 1, 2, mode=mode)
        yield scaled(own, small, 1, 1, 2, 2, mode=mode, dims={0: None})
        yield sized(grown, small, 1, 2, 6, 8, mode=mode)
        yield sized(own, small, 1, 2, 6, 8, mode=mode, dims=free)
        yield sized(own, small, 1, 2, 6, 8, mode=mode, dims={0: None})
        yield way(own, "Resize", 13, small, None, None, ints(1, 2, 6, 8), mode=mode, **fine)
        yield way(own, "Resize", 13, small, None, np.float32([1, 1, 2, 2]), mode=mode, **fine)
        if mode == "nearest":
            yield sized(own, small, 1, 4, 6, 8, mode=mode)
            yield sized(own, small, 2, 2, 6, 8, mode=mode)
            yield scaled(own, (small * 9).astype(np.int32), 1, 1, 2, 2, mode=mode)
        yield scaled(own, small, 1, 1, 2, 2, mode=mode, exclude_outside=1)
        half = {"want": lambda x, *_, m=mode: numbered(x, (1, 2, 6, 8), m)}
        yield sized(own, small, 6, 8, opset=18, axes=[2, 3], mode=mode, **half)
        yield sized(grown, small, 1, 2, 6, 8, opset=18, mode=mode, **half)
        yield sized(own, small, 6, 9, opset=18, mode=mode, axes=[2, 3], keep_aspect_ratio_policy="not_larger", **half)
        yield sized(own, small, 5, 8, opset=18, mode=mode, axes=[2, 3], keep_aspect_ratio_policy="not_smaller", **half)
        for policy in ("not_larger", "not_smaller"):  # which all axes share
            yield sized(own, small, 1, 2, 6, 9, opset=18, mode=mode, keep_aspect_ratio_policy=policy)
    yield scaled("UpSampling", small, 1, 1, 1, 1, mode="nearest")
    yield scaled(own, small, 1, 1, 2, 3, mode="nearest")
    yield scaled(own, small, 1, 1, 0.5, 0.5, mode="nearest")
    yield scaled(own, small, 1, 1, 2.5, 2.5, mode="nearest")
    for coordinates, operators in (
        ("half_pixel", "UpSampling"),
        ("pytorch_half_pixel", "UpSampling"),
        ("asymmetric", own),
        ("align_corners", own),
    ):
        yield scaled(operators, small, 1, 1, 3, 3, mode="nearest", coordinate_transformation_mode=coordinates)
    symmetric = {"coordinate_transformation_mode": "half_pixel_symmetric", "opset": 19}
    yield sized("UpSampling", small, 1, 2, 6, 8, mode="nearest", **symmetric)
    yield sized("_contrib_BilinearResize2D", small, 1, 2, 6, 8, mode="linear", **symmetric)
    yield scaled(
        "UpSampling",
        small,
        1,
        1,
        2,
        2,
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
    )
    yield scaled(
        own, small, 1, 1, 2, 2, mode="nearest", nearest_mode="ceil", coordinate_transformation_mode="asymmetric"
    )
    yield scaled(own, small, 1, 1, 2, 2, mode="nearest", nearest_mode="floor")
    linear = {"mode": "linear"}
    bilinear = "_contrib_BilinearResize2D"
    yield sized(bilinear, small, 1, 2, 2, 6, **linear)
    yield sized(own, small, 1, 2, 1, 6, **linear)
    yield sized(own, small, 1, 2, 6, 1, **linear)
    yield sized(bilinear, small, 1, 2, 1, 6, coordinate_transformation_mode="pytorch_half_pixel", **linear)
    yield sized(bilinear, small, 1, 2, 1, 6, coordinate_transformation_mode="align_corners", **linear)
    yield sized(own, small, 1, 2, 6, 8, coordinate_transformation_mode="asymmetric", **linear)
    yield scaled(bilinear, small, 1, 1, 2, 1.5, **linear)
    yield scaled(own, small, 1, 1, 1.5, 2, **linear)  # 4 and a half
    yield scaled(own, small, 1, 1, 2, 2, dims=free, **linear)
    yield scaled(own, small, 1, 1, 2, 2, mode="cubic")
    # a part of the image
    part = np.float32([0, 0, 0.25, 0.2, 1, 1, 0.75, 0.9])
    for mode in ("nearest", "linear"):
        yield way(own, "Resize", 13, small, part, None, ints(1, 2, 5, 7), stored=[1, 3], mode=mode, extrapolation_value=2.5,
                  coordinate_transformation_mode="tf_crop_and_resize", **fine)  # fmt: skip
        # which nothing else reads
        yield way(own, "Resize", 13, small, part, None, ints(1, 2, 5, 7), stored=[1, 3], mode=mode,
                  coordinate_transformation_mode="asymmetric", **fine)  # fmt: skip
    corner = floats(2, 3, 6, 7)
    for border, end in (((1, 2, 0, 3), (slice(2, -3), slice(1, None))), ((1, 2, 3, 0), (slice(2, None), slice(1, -3))),
                        ((0, 0, 0, 0), (slice(0, None), slice(0, None)))):  # fmt: skip
        yield way("slice", "Crop", 1, corner, border=list(border), want=lambda x, e=end: x[(..., *e)])
    filters, offset, mask = floats(3, 2, 2, 3), floats(2, 24, 2, 3) * 0.7, np.abs(floats(2, 12, 2, 3)) / 2
    deformed = "_contrib_ModulatedDeformableConvolution"
    image, close = floats(2, 2, 3, 5), {"rtol": 1e-4}
    even = floats(4, 2, 2, 3)
    for operators, weights, inputs, dims in (
        (deformed, even, [None, mask], {}),
        ("_onnx_DeformConv", filters, [None, mask], {}),
        ("_onnx_DeformConv", even, [None, None], {}),
        ("_onnx_DeformConv", even, [None, mask], {1: None}),
        ("_onnx_DeformConv", even, [None, mask], {1: [4, 2, "a", "b"]}),
    ):
        yield way(operators, "DeformConv", 19, image, weights, offset, *inputs, offset_group=2, dims=dims, **close)
    deep = floats(2, 8, 3, 5)
    yield way("depth_to_space", "DepthToSpace", 13, deep, blocksize=2)
    yield way("Reshape Reshape transpose Reshape", "DepthToSpace", 13, deep, blocksize=2, mode="CRD")
    yield way("space_to_depth", "SpaceToDepth", 13, floats(2, 3, 4, 6), blocksize=2)


def doubled(x: np.ndarray, *_: Any) -> np.ndarray:
    """Twice as many channels, rows and columns, linear in all three."""
    for axis in (1, 2, 3):
        places = (np.arange(2 * x.shape[axis]) + 0.5) / 2 - 0.5
        low = np.clip(np.floor(places).astype(int), 0, x.shape[axis] - 1)
        high = np.clip(np.floor(places).astype(int) + 1, 0, x.shape[axis] - 1)
        share = (places - np.floor(places)).reshape([-1 if a == axis else 1 for a in range(4)])
        x = x.take(low, axis) * (1 - share) + x.take(high, axis) * share
    return x.astype(np.float32)


def numbered(x: np.ndarray, sizes: Sequence[int], mode: str) -> np.ndarray:
    """Constant that opset 13 makes of these sizes."""
    case = Case("Resize", 13, [x, None, None, ints(*sizes)], {"mode": mode}, stored=[3])
    (found,) = by_onnxruntime(model_of(case, "sizes"), fed(case))
    return found


def layers_in_time() -> Iterator[Way]:
    """Recurrent layers of 4 steps, a batch of 3, inputs of 2 and states of 5."""
    x, c, h = floats(4, 3, 2), 2, 5
    mx = {"RNN": "_zeros RNN expand_dims", "GRU": "_zeros RNN expand_dims", "LSTM": "_zeros _zeros RNN expand_dims"}
    for kind, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        weights = floats(1, gates * h, c) / 2, floats(1, gates * h, h) / 3
        bias, own, outputs = floats(1, 2 * gates * h), f"_onnx_{kind}", 2 + (kind == "LSTM")
        how = {"outputs": outputs, **({"linear_before_reset": 1} if kind == "GRU" else {})}
        yield way(mx[kind], kind, 14, x, *weights, bias, stored=[1, 2, 3], hidden_size=h, **how)
        plain = f"Concat {mx[kind]}"  # of the weights and a bias that stays 0
        yield way(plain, kind, 14, x, *weights, stored=[1, 2], hidden_size=h, **how)
        yield way(plain, kind, 14, x, *weights, stored=[1, 2], dims={0: ["t", "n", c]}, **how, hidden_size=h)
        yield way(own, kind, 14, x, *weights, bias, stored=[1, 2, 3], hidden_size=h, dims={0: None}, **how)
        for left in (1, 2, 3):
            yield way(
                own, kind, 14, x, *weights, bias, stored=[i for i in (1, 2, 3) if i != left], hidden_size=h, **how
            )
        yield way(own, kind, 14, x, *weights, bias, stored=[1, 2, 3], hidden_size=h, clip=0.3, **how)
        state = floats(1, 3, h)
        both = state if kind != "LSTM" else None
        if both is not None:
            yield way(
                "RNN expand_dims", kind, 14, x, *weights, bias, None, both, stored=[1, 2, 3], hidden_size=h, **how
            )
    weights = floats(1, h, c) / 2, floats(1, h, h) / 3
    relu = {"activations": ["Relu"], "hidden_size": h, "outputs": 2, "stored": [1, 2]}
    yield way("Concat _zeros RNN expand_dims", "RNN", 14, x, *weights, **relu)
    for kind, activation in (("f8", "Relu"), ("f8", "Tanh")):
        doubles = [v.astype(kind) for v in (x, *weights)]
        f = {"Relu": lambda v: np.maximum(v, 0), "Tanh": np.tanh}[activation]
        operators = "_onnx_RNN" if activation == "Relu" else "Concat _zeros RNN expand_dims"
        yield way(
            operators, "RNN", 14, *doubles, want=lambda *v, f=f: steps(f, *v), **relu | {"activations": [activation]}
        )
    gates = floats(1, 3 * h, c) / 2, floats(1, 3 * h, h) / 3
    forward = {"outputs": 2, "hidden_size": h, "stored": [1, 2]}
    yield way("_onnx_GRU", "GRU", 14, x, *gates, linear_before_reset=1, activations=["Sigmoid", "Relu"], **forward)
    yield way("_onnx_GRU", "GRU", 14, x, *gates, **forward)
    written = Case("GRU", 14, [x, *gates], {"hidden_size": h}, outputs=2, stored=[1, 2])
    yield way("_onnx_GRU", "GRU", 1, x, *gates, direction="foward",
              want=lambda *_: tuple(by_onnxruntime(model_of(written, "sizes"), fed(written))), **forward)  # fmt: skip
    weights = floats(1, 4 * h, c) / 2, floats(1, 4 * h, h) / 3
    forward["outputs"] = 3
    yield way("_onnx_LSTM", "LSTM", 14, x, *weights, input_forget=1, **forward)
    yield way(
        "Concat _zeros _zeros RNN expand_dims",
        "LSTM",
        14,
        x,
        *weights,
        activations=["SIGMOID", "tanh", "Tanh"],
        **forward,
    )
    yield way("_onnx_LSTM", "LSTM", 14, x, *weights, activations=["Tanh", "Tanh", "Tanh"], **forward)
    first = Case("LSTM", 14, [x, *weights], {"hidden_size": h}, outputs=3, stored=[1, 2])
    yield way(
        "transpose Concat _zeros _zeros RNN expand_dims transpose transpose transpose",
        "LSTM",
        14,
        x.swapaxes(0, 1).copy(),
        *weights,
        layout=1,
        want=lambda *_: tuple(
            v.transpose(2, 0, 1, 3) if v.ndim == 4 else v.swapaxes(0, 1)
            for v in by_onnxruntime(model_of(first, "sizes"), fed(first))
        ),
        **forward,
    )


def steps(f: Callable[..., Any], x: np.ndarray, w: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A plain layer in one direction that begins with zeros."""
    state, found = np.zeros((x.shape[1], r.shape[2])), []
    for one in x:
        state = f(one @ w[0].T + state @ r[0].T)
        found.append(state)
    return np.stack(found)[:, None], state[None]


def seldom() -> Iterator[Way]:
    """Attributes and inputs that few models give."""
    four = floats(1, 4 * 16, 2)
    sizes = ints(2, 2, 2, 3)
    yield way("_onnx_Col2Im", "Col2Im", 18, four, sizes, ints(2, 2, 2, 2), stored=[1, 2])
    yield way(
        "_onnx_Range",
        "Range",
        27,
        *np.float16([0.5, 4, 0.75]),
        stash_type=1,
        want=lambda *v: np.arange(*np.float32(v)).astype("f2"),
    )
    w = floats(6, 4, 2, 2)
    yield way(
        "_contrib_ModulatedDeformableConvolution",
        "DeformConv",
        19,
        IMAGE,
        w,
        floats(2, 8, 2, 4),
        np.zeros(6, "f4"),
        np.ones((2, 4, 2, 4), "f4"),
        kernel_shape=[2, 2],
    )
    yield way(
        "Pad",
        "Pad",
        1,
        IMAGE,
        paddings=[0, 0, 1, 2, 0, 0, 2, 1],
        mode="reflect",
        want=lambda x: np.pad(x, ((0, 0), (0, 0), (1, 2), (2, 1)), "reflect"),
    )
    yield way("Concat", "Concat", 1, X, X[:1], axis=0, want=lambda *x: np.concatenate(x))
    yield way("Concat", "Concat", 1, X, X[:, :1], want=lambda *x: np.concatenate(x, 1))
    short = [a.astype(ml_dtypes.bfloat16) for a in (floats(2, 4, 3, 4), floats(4), floats(4) + 1)]
    yield way("_onnx_LayerNormalization", "LayerNormalization", 17, *short, want=layer_norm, epsilon=0.1)
    yield way(
        "repeat repeat _onnx_GroupNormalization",
        "GroupNormalization",
        18,
        short[0],
        *(v[:2] for v in short[1:]),
        want=group_norm,
        epsilon=0.1,
        num_groups=2,
    )
    yield way("_onnx_LRN", "LRN", 13, IMAGE.astype(ml_dtypes.bfloat16), size=3)
    yield way("_onnx_LayerNormalization", "LayerNormalization", 17, X, X[0], X[0] + 1, stash_type=11)
    for axis in (0, 1):
        yield way("_onnx_ScatterElements", "Scatter", 9, X, ints(1, 0).reshape(1, 2), X[:1, 1:3] + 9, axis=axis)
    yield way("_onnx_QuantizeLinear", "QuantizeLinear", 10, 9 * X, np.array(0.25, "f4"), np.array(77, "u1"))
    yield way(
        "_onnx_DequantizeLinear",
        "DequantizeLinear",
        10,
        np.arange(12, dtype="u1").reshape(3, 4),
        np.array(0.25, "f4"),
        np.array(5, "u1"),
    )
    yield way(
        "_onnx_QuantizeLinear",
        "QuantizeLinear",
        23,
        X.astype("f2"),
        np.array(0.25, "f2"),
        np.array(7, "u1"),
        precision=1,
    )
    yield way(
        "_onnx_DequantizeLinear",
        "DequantizeLinear",
        23,
        np.arange(12, dtype="u1").reshape(3, 4),
        np.array(0.25, "f4"),
        np.array(5, "u1"),
        output_dtype=10,
    )
    yield way("_onnx_ReduceSum", "ReduceSum", 13, floats(2, 3, 4), ints(0, 2), dims={1: None})
    yield way("_onnx_ReduceSum", "ReduceSum", 13, floats(2, 3, 4), ints(0, 2), dims={1: ["n"]})
    yield way("_npi_tril", "Trilu", 14, X, upper=0)
    box = floats(2, 4, 4, 6)
    for operators, mode, order in (
        ("space_to_depth", "DCR", (0, 3, 5, 1, 2, 4)),
        ("Reshape transpose Reshape Reshape", "CRD", (0, 1, 3, 5, 2, 4)),
    ):
        want = functools.partial(lambda order, x: apart(x).transpose(order).reshape(2, 16, 2, 3), order)
        yield way(operators, "SpaceToDepth", 28, box, blocksize=2, mode=mode, want=want)
    yield way(
        "_onnx_Resize",
        "Resize",
        18,
        IMAGE,
        np.float32([0, 0, -0.5, 0.2, 1, 1, 1.5, 0.9]),
        None,
        ints(2, 4, 5, 6),
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=7.5,
        mode="linear",
        stored=[1, 3],
    )
    yield way(
        "_onnx_Resize",
        "Resize",
        13,
        floats(2, 4, 0, 5),
        None,
        None,
        ints(2, 4, 0, 10),
        stored=[3],
        want=lambda x, *_: np.zeros((2, 4, 0, 10), "f4"),
    )
    yield way("_onnx_MaxPool", "MaxPool", 8, IMAGE, kernel_shape=[2, 2], storage_order=1, outputs=2)
    yield way(
        "_onnx_MaxPool",
        "MaxPool",
        12,
        floats(1, 2, 3, 3, 3, 3),
        kernel_shape=[2] * 4,
        want=lambda x: np.lib.stride_tricks.sliding_window_view(x, (2,) * 4, (2, 3, 4, 5)).max((-1, -2, -3, -4)),
    )
    yield way(
        "Pad Pooling",
        "MaxPool",
        10,
        floats(2, 4, 6, 5),
        kernel_shape=[2, 2],
        strides=[2, 2],
        ceil_mode=1,
        auto_pad="SAME_UPPER",
    )
    # the standard's formula for VALID knows no ceil_mode; onnxruntime takes it for explicit pads of 0
    valid = {"kernel_shape": [2, 2], "strides": [2, 2], "auto_pad": "VALID", "ceil_mode": 1}
    view = np.lib.stride_tricks.sliding_window_view
    yield way(
        "Pooling",
        "MaxPool",
        10,
        floats(2, 4, 5, 5),
        **valid,
        want=lambda x: view(x, (2, 2), (2, 3))[:, :, ::2, ::2].max((-1, -2)),
    )
    yield way(
        "_onnx_ConvTranspose",
        "ConvTranspose",
        11,
        floats(1, 2, 3, 3),
        floats(2, 3, 2, 2),
        auto_pad="SAME_UPPER",
        strides=[2, 2],
        dims={0: ["n", 2, "h", "w"]},
    )
    yield way("Flatten", "Flatten", 11, floats(2, 3, 4))
    yield way("_np_reshape", "Flatten", 11, np.float32(3), axis=0, want=lambda x: np.full((1, 1), 3, "f4"))


def apart(x: np.ndarray) -> np.ndarray:
    """Blocks of 2 by 2 pixels of images of 4 by 6."""
    return x.reshape(2, 4, 2, 2, 3, 2)


TABLES = [elements, reductions, layers, shapes, scanned, images, layers_in_time, seldom]


@pytest.mark.parametrize("table", TABLES, ids=lambda f: f.__name__)
def test_a_node_is_read_by_the_operators_that_mean_it(table: Callable[[], Iterator[Way]]) -> None:
    rows = list(table())
    run(
        [(f"{i} {r.case.op_type} {r.case.opset} {r.case.attributes} {dict(r.dims)}", r) for i, r in enumerate(rows)],
        check,
    )


DOUBLE, WHOLE_NUMBERS = TensorProto.DOUBLE, TensorProto.INT32


@pytest.mark.parametrize("like", [False, True])
def test_random_numbers_are_mxnets_where_it_has_them(like: bool) -> None:
    """The operator that draws, and its attributes; a seed, other dtypes, no spread and no size are not MXNet's."""
    end, data = ("Like", [X]) if like else ("", [])
    size = {} if like else {"shape": [2, 3]}
    kept = {} if like else {"shape": "(2, 3)"}
    for op_type, names, numbers in (
        ("RandomNormal", {"mean": "loc", "scale": "scale"}, {"mean": 1.5, "scale": 2.5}),
        ("RandomUniform", {"low": "low", "high": "high"}, {"low": -1.5, "high": 2.5}),
    ):
        own = {"RandomNormal": "_random_normal", "RandomUniform": "_random_uniform"}[op_type] + "_like" * like
        spread = list(numbers)[1]
        plain = {names[n]: v for n, v in numbers.items()}
        rows = [({}, own, plain), ({"dtype": TensorProto.FLOAT}, own, plain), ({"seed": 7.5}, "", {"seed": 7.5})]
        rows += [({"dtype": WHOLE_NUMBERS}, "", {"dtype": "int32"})] if not like or op_type == "RandomUniform" else []
        rows += [({"dtype": DOUBLE}, "" if like else own, {"dtype": "float64"})]
        if op_type == "RandomNormal":
            rows += [({spread: 0.0}, "", {spread: 0.0}), ({spread: 0.125}, own, {spread: 0.125})]
        else:
            rows += [({spread: -1.5}, own, {spread: -1.5}), ({spread: -2.0}, "", {spread: -2.0})]
        if not like:
            rows += [({"shape": [2, 0]}, "", {"shape": "(2, 0)"})]
        for more, name, wanted in rows:
            attributes = {**numbers, **size, **more}
            try:
                found = import_model(model_of(Case(f"{op_type}{end}", 13, data, attributes), "sizes"))
            except UnsupportedModel as error:
                assert more == {"dtype": WHOLE_NUMBERS}, error
                continue
            (op,) = (n.op for n in found.graph.nodes if n.op is not None)
            assert op.name == (name or f"_onnx_{op_type}{end}"), more
            said = {n: getattr(op, n) for n in op.fields}
            for key, value in (kept | wanted).items() if name else wanted.items():
                at = np.dtype(said[key]).name if key == "dtype" else said[key]
                assert at == value or str(at) == value, (more, key, at)
    if like:  # halves drawn for halves, whole numbers never
        for data, name in ((HALF, "_random_normal_like"), (X.astype("f8"), "_random_normal_like")):
            found = import_model(model_of(Case("RandomNormalLike", 13, [data], {}), "sizes"))
            assert [n.op.name for n in found.graph.nodes if n.op is not None] == [name]


def test_dropout_is_mxnets_where_nothing_else_is_asked() -> None:
    share, whole, on, off = np.array(0.25, "f4"), np.array(1, "f4"), np.array(True), np.array(False)
    beyond = np.array(1.5, "f4")
    for inputs, attributes, stored, outputs, name, mode in (
        ([X], {}, [], 1, "Dropout", "training"),
        ([X, share], {}, [1], 1, "Dropout", "training"),
        ([X, share], {"seed": 3}, [1], 1, "Dropout", "training"),
        ([X, share, off], {"seed": 3}, [1, 2], 1, "Dropout", "training"),
        ([X, share, on], {}, [1, 2], 1, "Dropout", "always"),
        ([X, whole * 0, on], {}, [1, 2], 1, "Dropout", "always"),
        ([X, whole, off], {}, [1, 2], 1, "Dropout", "training"),
        ([X, share, on], {"seed": 3}, [1, 2], 1, "_onnx_Dropout", None),
        ([X, share, on], {}, [1], 1, "_onnx_Dropout", None),
        ([X, share], {}, [], 1, "_copy", None),
        ([X, beyond], {}, [1], 1, "_onnx_Dropout", None),
        ([X, -share], {}, [1], 1, "_onnx_Dropout", None),
        ([X, share, on], {}, [1, 2], 2, "_onnx_Dropout", None),
    ):
        found = import_model(model_of(Case("Dropout", 13, inputs, attributes, None, outputs, stored), "sizes"))
        (op,) = (n.op for n in found.graph.nodes if n.op is not None and n.op.name != "_onnx_Constant")
        assert op.name == name, (attributes, stored)
        if mode is not None:
            assert (op.mode, op.p) == (mode, 0.5 if len(inputs) == 1 else float(inputs[1]))
        elif "seed" in attributes:
            assert op.seed == 3


def test_a_grid_that_was_turned_to_be_written_is_taken_as_it_was() -> None:
    for perm, operators in (("0, 2, 3, 1", "BilinearSampler"), ("0, 3, 2, 1", "transpose transpose BilinearSampler")):
        text = f"""<ir_version: 8, opset_import: ["" : 17]>
            main (float[2, 4, 3, 5] x, float[2, 2, 3, 6] grid) => (float[?, ?, ?, ?] y) {{
            turned = Transpose <perm = [{perm}]> (grid)  y = GridSample <align_corners = 1> (x, turned) }}"""
        found = agree(text, {"x": IMAGE, "grid": floats(2, 2, 3, 6) * 0.7}, rtol=1e-4)
        assert " ".join(n.op.name for n in found.graph.nodes if n.op is not None) == operators

    for text, feeds, operators in (
        (
            "float[2, 1, 3, 3] x) => (float[?, ?, ?, ?] y) { grid = Constant <value = float[2, 1, 2, 2] {GRID}> ()",
            {},
            "BilinearSampler",
        ),
        (
            "float[2, 1, 3, 3] x) => (float[?, ?, ?, ?] y) <float[2, 1, 2, 2] grid = {GRID}> {",
            {},
            "transpose BilinearSampler",
        ),
        (
            "float[2, 1, 3, 3] x, float[n] v, int64[k] s) => (float[?, ?, ?, ?] y) { "
            "r = Reshape (v, s) grid = Transpose <perm = [0, 2, 3, 1]> (r)",
            {"v": floats(8) * 0.5, "s": ints(2, 2, 1, 2)},
            "_onnx_Reshape BilinearSampler",
        ),
    ):  # stored in the model, and of a rank that only the run tells
        numbers = ", ".join(map(str, (floats(8) * 0.5).tolist()))
        head = '<ir_version: 8, opset_import: ["" : 17]> main (' + text.replace("GRID", numbers)
        found = agree(
            f"{head} y = GridSample <align_corners = 1> (x, grid) }}", {"x": floats(2, 1, 3, 3), **feeds}, rtol=1e-5
        )
        assert " ".join(n.op.name for n in found.graph.nodes if n.op is not None) == operators


HEAD = '<ir_version: 8, opset_import: ["" : 17]> '
COMPUTED = [
    # shapes that follow from others, and what stands for the broadcast
    ("float[n, m] x", "s = Shape (x) y = Expand (x, s)", "_copy"),
    ("float[n, 4] x", "s = Shape (x) y = Expand (x, s)", "broadcast_to"),
    ("float[1, 4] x, float[n, 3] z", "s = Shape <end = 1> (z) four = Constant <value_ints = [4]> () "
     "t = Concat <axis = 0> (s, four) y = Expand (x, t)", "broadcast_like"),
    ("float[4] x, float[n, 3] z", "s = Shape <end = 1> (z) one = Constant <value_ints = [2, 4]> () "
     "t = Concat <axis = 0> (s, one) y = Expand (x, t)", "expand_dims expand_dims broadcast_to broadcast_like"),
    ("float[1, 1] x, float[n, 3] z, float[m] w", "s = Shape <end = 1> (z) r = Shape (w) "
     "t = Concat <axis = 0> (s, r) y = Expand (x, t)",
     "broadcast_like broadcast_like"),
    ("float[n, 1] x", "s = Shape (x) k = Shape <end = 1> (x) t = Concat <axis = 0> (s, k) y = Expand (x, t)",
     "expand_dims broadcast_like"),
    ("float[n, m] x", "s = Shape <start = 1> (x) y = Expand (x, s)", "_onnx_Expand"),
    ("float[1, 4] x, float[n, 3] z", "s = Shape <end = 1> (z) none = Constant <value_ints = [0]> () "
     "t = Concat <axis = 0> (s, none) "
     "one = Constant <value_ints = [1]> () o = Slice (x, none, one, one) y = Expand (o, t)", "Concat _onnx_Expand"),
    ("float[1, 4] x, float[3, n] z", "s = Shape <start = 1> (z) k = Shape <end = 1> (z) t = Concat <axis = 0> (k, s) "
     "zero = Constant <value_ints = [0]> () one = Constant <value_ints = [1]> () o = Slice (x, zero, one, one) "
     "y = Expand (o, t)", ""),
    # counting along an input
    ("int64[n] x", "s = Shape (x) i = Constant <value = int64 {0}> () k = Squeeze (s) one = Constant <value = int64 {1}> () "
     "y = Range (i, k, one)", "_contrib_arange_like"),
    ("int64[n] x", "s = Shape (x) i = Constant <value = int64 {0}> () k = Squeeze (s) two = Constant <value = int64 {2}> () "
     "y = Range (i, k, two)", "_onnx_Range"),
    ("float[n] x", "s = Shape (x) i = Constant <value = int64 {0}> () k = Squeeze (s) one = Constant <value = int64 {1}> () "
     "y = Range (i, k, one)", "_onnx_Range"),
    ("int64[n] x, int64 by", "s = Shape (x) i = Constant <value = int64 {0}> () k = Squeeze (s) y = Range (i, k, by)",
     "_onnx_Range"),
    ("int64[n] x, int64 from", "s = Shape (x) k = Squeeze (s) one = Constant <value = int64 {1}> () y = Range (from, k, one)",
     "_onnx_Range"),
    # a number divided by a size
    ("float[n] x, float[15] q", "s = Shape (x) t = Constant <value_ints = [15]> () d = Div (t, s) c = Concat <axis = 0> (d, s) "
     "y = Reshape (q, c)", "Reshape"),
    # of a rank that only the run tells
    ("float[n, 3, 4] x, int64[k] s", "r = Reshape (x, s) y = Transpose (r)", "transpose"),
    ("float[n, 3, 4] x, int64[k] s", "r = Reshape (x, s) y = Transpose <perm = [2, 0, 1]> (r)", "transpose"),
    ("float[n, 3, 4] x, int64[k] s, int64[m] i", "r = Reshape (x, s) y = Gather <axis = 1> (r, i)", "take"),
    ("float[n, 3, 4] x, int64[k] s", "r = Reshape (x, s) y = Concat <axis = 1> (r, r)", "Concat"),
    ("float[n, 3, 4] x, int64[k] s", "r = Reshape (x, s) t = Transpose <perm = [2, 1, 0]> (x) y = Concat <axis = 0> (r, t, r)",
     "Concat"),
]  # fmt: skip


def test_shapes_that_are_computed_are_followed() -> None:
    def check_one(case: tuple[str, str, str]) -> None:
        inputs, nodes, operator = case
        kind = "int64[?]" if "Range" in nodes else "float[?, ?, ?]" if "Reshape" in nodes else "float[?, ?]"
        arrays = {
            "x": floats(2, 3, 4),
            "z": floats(5, 3),
            "w": floats(7),
            "q": floats(15),
            "s": ints(4, 3, 2),
            "i": ints(2, 0, -1),
        }
        arrays |= {"by": np.array(2), "from": np.array(1)}
        if "[3, n] z" in inputs:
            arrays["z"] = floats(3, 4)
        if "[n, 4] x" in inputs or "[n, m] x" in inputs or "[1, 4] x" in inputs:
            arrays["x"] = floats(3 if "[n" in inputs[:10] else 1, 4)
        for name, shape in (
            ("float[n, 1] x", (1, 1)),
            ("float[1, 1] x", (1, 1)),
            ("float[4] x", (4,)),
            ("float[n] x", (5,)),
        ):
            if inputs.startswith(name):
                arrays["x"] = floats(*shape)
        if "int64[n] x" in inputs:
            arrays["x"] = ints(5, 6, 7)
        if kind == "float[?, ?]" and "Constant <value_ints = [2, 4]" in nodes:
            kind = "float[?, ?, ?]"
        kind = "float[?, ?, ?]" if "(s, k)" in nodes else kind
        read = [part.split()[-1] for part in inputs.split(", ") if " " in part]
        text = f"{HEAD} main ({inputs}) => ({kind} y) {{ {nodes} }}"
        found = agree(text, {n: arrays[n] for n in read})
        assert operator in " ".join(n.op.name for n in found.graph.nodes if n.op is not None)

    run([(nodes, (inputs, nodes, name)) for inputs, nodes, name in COMPUTED], check_one)


@pytest.mark.parametrize(
    "inputs", ["float[k, 3] x, float[n, 3] z", "float[k, 1] x, float[n, 3] z", "float[k] x, float[n, k] z"]
)
def test_sizes_that_may_be_1_when_it_runs_are_expanded_by_onnx_itself(inputs: str) -> None:
    """Neither of two sizes that only the run tells is known to be 1, or to be the other."""
    shapes = (1, 5), (5, 5), (5, 1), (1, 1)
    runs = []
    for k, n in shapes:
        x = floats(k) if inputs.startswith("float[k] ") else floats(k, 3 if "[k, 3]" in inputs else 1)
        runs.append({"x": x, "z": floats(n, k if inputs.startswith("float[k] ") else 3)})
    found = agree(f"{HEAD} main ({inputs}) => (float[?, ?] y) {{ s = Shape (z) y = Expand (x, s) }}", *runs)
    kinds = [n.op.name for n in found.graph.nodes if n.op is not None]
    assert "_onnx_Expand" in kinds


REFUSED = [
    ("Gather", 13, [X, ints(0, 4)], {"axis": 1}, [1], "indices from 0 to 4 for axis 1 of size 4"),
    ("Gather", 13, [X, ints(-4, 1)], {"axis": 0}, [1], "indices from -4 to 1 for axis 0 of size 3"),
    ("Gather", 13, [X, ints(0)], {"axis": 2}, [1], "got axis 2 for 2 dimensions"),
    ("Gather", 13, [X, ints(0)], {"axis": -3}, [1], "got axis -3 for 2 dimensions"),
    ("Split", 13, [X, ints(2, 2)], {"axis": 1, "outputs": 3}, [1], r"pieces of \[2, 2\] for 3 outputs and an axis of size 4"),
    ("Split", 13, [X, ints(1, 2)], {"axis": 1, "outputs": 2}, [1], r"pieces of \[1, 2\] for 2 outputs"),
    ("Split", 13, [X, ints(5, -1)], {"axis": 1, "outputs": 2}, [1], r"pieces of \[5, -1\]"),
    ("Split", 18, [X], {"axis": 1, "num_outputs": 3, "outputs": 2}, [], "got 2 outputs, wanted num_outputs=3"),
    ("Tile", 1, [X, np.float32(2), np.float32(1)], {}, [1], "only known at run time, wanted constants"),
    ("Tile", 1, [X, np.float32(2), np.float32(1)], {}, [2], "only known at run time, wanted constants"),
    ("Flatten", 13, [X], {"axis": 3}, [], "got axis 3 for 2 dimensions"),
    ("Flatten", 13, [X], {"axis": -3}, [], "got axis -3 for 2 dimensions"),
    ("Softmax", 11, [X], {"axis": 2}, [], "got axis 2 for 2 dimensions, wanted 0 to 1"),
    ("Softmax", 11, [X], {"axis": -3}, [], "got axis -1 for 2 dimensions"),
    ("Slice", 13, [X, ints(0), ints(1), ints(2)], {}, [1, 2, 3], r"axes \[2\] for data of 2 dimensions"),
    ("Slice", 13, [X, ints(0), ints(1), ints(-3)], {}, [1, 2, 3], r"axes \[-1\] for data of 2 dimensions"),
    ("Slice", 13, [X, ints(0), ints(1), ints(1), ints(0)], {}, [1, 2, 3, 4], "no step of 0"),
    ("Slice", 13, [X, ints(0, 1), ints(1)], {}, [1, 2], "wanted equally many"),
    ("Reshape", 13, [X, ints(-1, -1)], {}, [1], "wanted sizes, 0, or one -1"),
    ("Reshape", 13, [X, ints(-2, 6)], {}, [1], "wanted sizes, 0, or one -1"),
    ("Unsqueeze", 13, [X, ints(1, 1)], {}, [1], r"axes \[1, 1\], wanted each once"),
    ("Unsqueeze", 13, [X, ints(1, -3)], {}, [1], "wanted each once"),
    ("Pad", 13, [X, ints(1, 1, 1)], {}, [1], "Pad"),
    ("Pad", 2, [X], {"pads": [1, 1]}, [], "got 2 pads for 2 dimensions"),
    ("Pad", 18, [X, ints(1, 2), None, ints(0, 1)], {}, [1, 3], "wanted two for each of 2 axes"),
    ("BatchNormalization", 15, [X[0], *[X[0, :1]] * 4], {}, [1, 2, 3, 4], "BatchNorm"),
    ("PRelu", 9, [X, floats(1, 1, 1)], {}, [1], "differ in rank"),
    ("ReduceLogSum", 13, [WHOLE], {"axes": [1]}, [], "wanted bfloat16 or float16"),
    ("Trilu", 14, [X[0]], {"upper": 0}, [], "got 1 dimensions, wanted two at least"),
    ("Flatten", 11, [np.float32(3)], {"axis": 1}, [], "got axis 1 for 0 dimensions"),
    ("Pad", 13, [WHOLE, ints(1, 1, 1, 1), WHOLE[0]], {}, [1, 2], r"got x2 of shape \(4,\), wanted one number"),
    ("Pad", 18, [X, ints(1, 1), floats(1), ints(2)], {}, [1, 2, 3], "got axis 2 for 2 dimensions"),
    ("Split", 13, [X, ints(2, 2)], {"axis": 2, "outputs": 2}, [1], "got axis 2 for 2 dimensions"),
    ("Split", 18, [X], {"axis": -3, "outputs": 2, "num_outputs": 2}, [], "got axis -3 for 2 dimensions"),
    ("Tile", 1, [X, np.float32(2), np.float32(2)], {}, [1, 2], "got axis 2 for 2 dimensions"),
    ("Tile", 1, [X, floats(2), np.float32(1)], {}, [1, 2], "wanted one number"),
    ("Range", 11, [ints(0, 1), ints(5), ints(1)], {}, [0, 2], "Range"),
    ("OneHot", 9, [ints(0, 1), ints(3), ints(0, 1, 2)], {}, [1, 2], r"got values of shape \(3,\), wanted two: off and on"),
    ("OneHot", 9, [ints(0, 1), ints(3, 4), ints(0, 1)], {}, [1, 2], "wanted one number"),
    ("TopK", 11, [X, ints(1, 2)], {"outputs": 2}, [1], r"got x1 of shape \(2,\), wanted one number"),
    ("CumSum", 14, [X, ints(0, 1)], {}, [1], "wanted one number"),
    ("Dropout", 13, [X, np.float32(0.5), np.array([True, False])], {}, [1, 2], "wanted one number"),
    ("Gemm", 13, [X[0], X.T], {}, [1], "got A of 1 dimensions, wanted 2; reshape it first"),
    ("Gemm", 6, [X, X[0], floats(1)], {}, [1], "got B of 1 dimensions, wanted 2"),
    ("Add", 6, [X, X[0]], {"broadcast": 1, "axis": 3}, [1], "got axis 3 for 2 dimensions"),
    ("Crop", 1, [IMAGE], {"border": [1, 1]}, [], r"got border=\(1, 1\) and scale=\(\), wanted four numbers and two"),
    ("Crop", 1, [IMAGE], {"border": 1}, [], "attribute border is a number, wanted numbers"),
    ("Crop", 1, [IMAGE], {"scale": [1]}, [], "wanted four numbers and two"),
    ("MaxPool", 12, [IMAGE], {"kernel_shape": [2, 2], "pads": [1]}, [], "MaxPool"),
    ("AveragePool", 11, [IMAGE], {"kernel_shape": [2, 2], "strides": [1]}, [], "AveragePool"),
    ("Conv", 11, [X[0, :2], IMAGE], {"auto_pad": "SAME_UPPER"}, [1], "Conv"),
    ("GlobalLpPool", 1, [IMAGE], {"p": float("inf")}, [], "got p=inf, wanted a whole number"),
    ("GroupNormalization", 18, [X, X[0], X[0]], {"num_groups": 0}, [1, 2], "got num_groups=0, wanted 1 or more"),
    ("LSTM", 14, [IMAGE[0], X[0], X[0]], {"hidden_size": 2}, [1, 2], "LSTM"),
    ("RoiAlign", 10, [IMAGE, X, ints(0, 0, 0)], {"coordinate_transformation_mode": "half_pixel"}, [], "unknown attribute coord"),
    ("Concat", 13, [X, None, X], {"axis": 0}, [], "input inputs is left out"),
    ("Concat", 13, [X, X], {"axis": 0.5}, [], "attribute axis is 0.5, wanted a whole number"),
    ("Transpose", 13, [X], {"perm": [0.0, float("nan")]}, [], "attribute perm is nan, wanted a whole number"),
    ("Softmax", 13, [X], {"axis": onnx.TypeProto()}, [], "attribute axis is a type, wanted a number"),
    ("Transpose", 13, [X], {"perm": [onnx.TypeProto()]}, [], "attribute perm is a list of TypeProto, wanted numbers"),
    ("LessOrEqual", 6, [X, X], {}, [], "no reading for LessOrEqual at opset 6"),
    ("Relu", 13, [X], {"outputs": 0}, [], "got no outputs, wanted one at least"),
]  # fmt: skip


def test_what_cannot_be_meant_is_refused() -> None:
    def refused(case: tuple[Any, ...]) -> None:
        op_type, opset, inputs, attributes, stored, message = case
        attributes = dict(attributes)
        outputs = attributes.pop("outputs", 1)
        arrays = [np.asarray(a) if a is not None else None for a in inputs]
        with pytest.raises(UnsupportedModel, match=message):
            import_model(model_of(Case(op_type, opset, arrays, attributes, None, outputs, stored), "sizes"))

    run([(f"{c[0]} {c[3]} {c[5]}", c) for c in REFUSED], refused)
    for dims in (None, ["n"], ["n", "c", 3]):
        groups = way("", "GroupNormalization", 18, X if dims != ["n"] else X[0], X[0, :2], X[0, :2], num_groups=2,
                     dims={0: dims} if dims is None or len(dims) < 3 else {0: ["n", "c"]})  # fmt: skip
        with pytest.raises(UnsupportedModel, match="the number of channels is not known"):
            import_model(declared(groups))


def test_casts_are_mxnets_where_it_has_both_dtypes() -> None:
    """The operator that casts, and its results for numbers that both dtypes hold."""
    for source, target, name in (
        ("float32", "float16", "Cast"),
        ("float64", "float32", "Cast"),
        ("float16", "bfloat16", "Cast"),
        ("float32", "bfloat16", "Cast"),
        ("int8", "bfloat16", "Cast"),
        ("float64", "bfloat16", "_onnx_Cast"),
        ("int32", "bfloat16", "_onnx_Cast"),
        ("int64", "bfloat16", "_onnx_Cast"),
        ("int32", "uint64", "Cast"),
        ("bool", "uint64", "Cast"),
        ("float32", "uint64", "_onnx_Cast"),
        ("float64", "uint64", "_onnx_Cast"),
        ("float32", "bool", "Cast"),
        ("int32", "object", "_onnx_Cast"),
        (None, "float16", "_onnx_Cast"),
        (None, "int32", "_onnx_Cast"),
    ):
        values = np.array([0, 3, 1, 6])
        x = values.astype(source or "float32")
        code = TensorProto.STRING if target == "object" else helper.np_dtype_to_tensor_dtype(np.dtype(target))
        model = model_of(Case("Cast", 13, [x], {"to": code}), "sizes" if source else "unsaid")
        found = import_model(model)
        assert [n.op.name for n in found.graph.nodes if n.op is not None] == [name], (source, target)
        (got,) = results(found, {"x0": x})
        want = x.astype(str).astype(object) if target == "object" else x.astype(target)
        assert got.dtype == np.dtype(target)
        assert got.tolist() == want.tolist(), (source, target)


def test_nodes_with_an_input_too_many_or_none_are_told_as_the_files() -> None:
    """Not as failures of a reading: what a reading keeps for itself is no parameter, and old files are repaired where there is
    something to repair."""
    number = helper.make_tensor_value_info("x", TensorProto.INT32, [2, 3])
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 2, 3])
    sizes = numpy_helper.from_array(np.array([4], np.int64), "sizes")
    cases = [
        (helper.make_node("BitwiseOr", ["x", "x", "x"], ["y"]), number, [], 18, "got 3 inputs, wanted 2"),
        (helper.make_node("Resize", ["x", "", "", "sizes"], ["y"]), image, [sizes], 19, "got sizes of shape"),
        (helper.make_node("Softmax", [""], ["y"], axis=2), image, [], 9, "Softmax"),
        (helper.make_node("Softmax", [""], ["y"], axis=2), image, [], -1, "no reading for Softmax at opset -1"),
    ]
    for node, given, stored, opset, said in cases:
        output = helper.make_empty_tensor_value_info("y")
        graph = helper.make_graph([node], "mxnet_converted_model", [given], [output], stored)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        with pytest.raises(UnsupportedModel, match=said):
            import_model(model)
