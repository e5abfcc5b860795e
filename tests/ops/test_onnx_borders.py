"""Operators of the family ``_onnx_`` at the borders that their definitions draw: the number beside each, and on it, worked out
by hand or written in NumPy; what lies beyond is refused."""

from __future__ import annotations

import string
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from hybrid import autograd, nd
from hybrid.core.boxed import box, unbox
from hybrid.core.error import MXNetError, OpError
from hybrid.core.op import lookup
from hybrid.core.shapes import UNKNOWN
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ops.onnx.rnn import ACTIVATIONS
from tests.grouped import each

INF, NAN = np.inf, np.nan
RNG = np.random.default_rng(11)


def single(*shape: int, low: float = -1, high: float = 1) -> np.ndarray:
    return RNG.uniform(low, high, shape).astype(np.float32)


def whole(*numbers: Any) -> np.ndarray:
    return np.array(numbers, np.int64)


def run(name: str, *arrays: Any, **attrs: Any) -> list[np.ndarray]:
    """The outputs of one operator as a graph, compiled, and where they differ from those of NumPy an error."""
    op = lookup(f"_onnx_{name}").bind(**attrs)
    names, feeds = op.input_names(), [np.asarray(a) for a in arrays]
    graph = Graph(
        Entry(Node(op, "node", [Entry(Node(None, n)) for n in names]), i) for i in range(op.num_visible_outputs())
    )
    found = [Program(graph, native=native).run(dict(zip(names, feeds))) for native in (False, True)]
    for a, b in zip(*found, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-6) if a.dtype.kind == "f" else same(a.astype(float), b.astype(float))
    return found[0]


def same(a: np.ndarray, b: Any) -> None:
    np.testing.assert_array_equal(a, b)


def slopes(name: str, *arrays: Any, **attrs: Any) -> list[np.ndarray]:
    """The gradients of all inputs when the first output has the gradient 1, 2, 3, ..."""
    inputs = [nd.array(a, dtype=a.dtype) for a in map(np.asarray, arrays)]
    for x in inputs:
        x.attach_grad()
    with autograd.record():
        y = getattr(nd._internal, f"_onnx_{name}")(*inputs, **attrs)
    first = y[0] if isinstance(y, list | tuple) else y
    heads = 1 + np.arange(first.size, dtype=first.dtype).reshape(first.shape)
    first.backward(nd.array(heads, dtype=first.dtype))
    return [x.grad.asnumpy() for x in inputs]


X = np.float32
F8 = ml_dtypes.float8_e4m3fn
VALUES = [
    # (operator, attributes, inputs, each output)
    ("PRelu", {}, [X([-2, -0.0, 0, 3]), X(INF)], [X([-INF, 0, 0, 3])]),
    ("Hardmax", {"axis": 0}, [np.zeros((0, 3), X)], [np.zeros((0, 3), X)]),
    ("Hardmax", {"axis": -1}, [X([[1, 3, 3], [5, 4, 5]])], [X([[0, 1, 0], [1, 0, 0]])]),
    ("ThresholdedRelu", {"alpha": 0.5}, [X([0.25, 0.5, 0.75])], [X([0, 0, 0.75])]),
    ("Shrink", {"lambd": 0.5, "bias": 1.0}, [X([-0.75, -0.5, 0.5, 0.75])], [X([0.25, 0, 0, -0.25])]),
    ("Shrink", {"lambd": -0.5, "bias": 2.0}, [np.int32([-3, 0, 1])], [np.int32([-1, 2, -1])]),
    ("Shrink", {"lambd": 1.5, "bias": 0.5}, [np.int32([-(2**24) - 1, -2, 1, 2**24 + 1])],
     [np.int32([-(2**24), -1, 0, 2**24])]),
    ("Shrink", {"lambd": 1.0, "bias": 2.0}, [np.int64([-(2**62) - 1, -1, 2**62 + 1])], [whole(2 - 2**62 - 1, 0, 2**62 - 1)]),
    # two tensors of their own dtypes, the step in double precision where the tensor is
    ("training_Momentum", {"num_args": 8, "alpha": 0.5, "beta": 2.0, "norm_coefficient": 0.0, "mode": "standard"},
     [X(0.5), np.int64(0), X([1, 2]), np.float64([1 + 2.0**-40]), X([4, 8]), np.float64([4]), X([2, 6]), np.float64([2])],
     [X([-1.5, -3.5]), np.float64([-1.5 + 2.0**-40]), X([5, 11]), np.float64([5])]),
    # onnxruntime subtracts in double precision from doubles, in single precision from whole numbers
    ("ml_Scaler", {"offset": X([1e9, 1, 3]), "scale": X([2, 1, 0.1])}, [np.float64([[1e9 + 1.5, 2**24 + 1, 7]])],
     [X([[3, 2**24, X(0.1) * 4]])]),
    ("ml_Scaler", {"offset": X([1e9, 1, 3]), "scale": X([2, 1, 0.1])}, [whole([10**9 + 3, 2**24 + 1, 7])],
     [X([[0, 2**24 - 1, X(0.1) * 4]])]),
    ("ml_Scaler", {"offset": X([1, 0.5])}, [np.int32([[2**24 + 1, 4]])], [X([[2**24 - 1, 3.5]])]),
    ("ml_Scaler", {"scale": X([3])}, [np.float64([[1 + 2.0**-30, 4]])], [X([[3, 12]])]),
    ("ml_Scaler", {}, [np.float64([[1 + 2.0**-30, 4]])], [X([[1, 4]])]),
    ("BitShift", {"direction": "LEFT"}, [np.int8([-3, 0, 5]), np.int8([0, 0, 0])], [np.int8([-3, 0, 5])]),
    ("BitShift", {"direction": "RIGHT"}, [np.int8([-3, 0, 5]), np.int8([0, 8, 7])], [np.int8([-3, 0, 0])]),
    ("BitShift", {"direction": "RIGHT"}, [np.int8([-3, 0, -5]), np.int8([8, -1, 7])], [np.int8([-1, 0, -1])]),
    ("Pow", {}, [X([1.0000001, 3]), np.float64([1e7, 2.5])], [X([np.float64(X(1.0000001)) ** 1e7, 3**2.5])]),
    ("Pow", {}, [np.int32([2, 3, -1]), np.uint8([3, 0, 255])], [np.int32([8, 1, -1])]),
    ("Pow", {}, [whole(2, 1, -1, 0), whole(0, -1, -2, 0)], [whole(1, 1, 1, 1)]),
    ("Cast", {"to": "float8_e4m3fn"}, [X([448, 1e4, -1e4])], [np.array([448, 448, -448], F8)]),
    ("Cast", {"to": "float8_e4m3fn", "saturate": False}, [X([448, 1e4, -1e4])], [np.array([448, NAN, -NAN], F8)]),
    ("Cast", {"to": "float8_e8m0fnu", "round_mode": "down"}, [X([3, 4])], [np.array([2, 4], ml_dtypes.float8_e8m0fnu)]),
    ("Cast", {"to": "float8_e8m0fnu"}, [X([3, 4])], [np.array([4, 4], ml_dtypes.float8_e8m0fnu)]),
    ("Cast", {"to": "float8_e8m0fnu", "saturate": False}, [np.float64([2.0**-127, 2.0**127, 2.0**128])],
     [np.array([2.0**-127, 2.0**127, NAN], ml_dtypes.float8_e8m0fnu)]),
    ("Range", {}, [np.int64(5), np.int64(1), np.int64(2)], [whole()]),
    ("Range", {}, [np.int64(5), np.int64(5), np.int64(2)], [whole()]),
    ("Range", {}, [np.int64(2), np.int64(9), np.int64(3)], [whole(2, 5, 8)]),
    ("Range", {}, [np.int64(2), np.int64(8), np.int64(3)], [whole(2, 5)]),
    ("Range", {}, [np.int64(9), np.int64(2), np.int64(-3)], [whole(9, 6, 3)]),
    ("EyeLike", {"k": 1}, [X([[9, 9, 9], [9, 9, 9]])], [X([[0, 1, 0], [0, 0, 1]])]),
    ("EyeLike", {"k": -1, "dtype": "int32"}, [X([[9, 9, 9], [9, 9, 9]])], [np.int32([[0, 0, 0], [1, 0, 0]])]),
    ("Range", {}, [X(5), X(1), X(0.5)], [X([])]),
    ("Range", {}, [X(1), X(2.25), X(0.5)], [X([1, 1.5, 2])]),
    ("IsInf", {"detect_positive": False}, [X([INF, -INF, NAN, 0, -1])], [np.array([0, 1, 0, 0, 0], bool)]),
    ("Conv", {"auto_pad": "VALID", "pads": (1, 1)}, [X([[[1, 2, 4]]]), X([[[1, 10]]])], [X([[[21, 42]]])]),
    ("ConvTranspose", {"pads": (1, 0, 0, 0)}, [X([[[[1], [2], [4]]]]), X([[[[1]]]])], [X([[[[2], [4]]]])]),
    ("GatherElements", {"axis": 1}, [X([[1, 2], [3, 4]]), np.zeros((2, 0), np.int64)], [np.zeros((2, 0), X)]),
    ("GatherElements", {"axis": 1}, [X([[1, 2], [3, 4]]), whole([1, -2, 0])], [X([[2, 1, 1]])]),
    ("TensorScatter", {"axis": 1}, [X([[1, 2, 3], [4, 5, 6]]), X([[7, 8], [9, 10]])], [X([[7, 8, 3], [9, 10, 6]])]),
    ("TensorScatter", {"axis": 1, "given": ("write_indices",)},
     [X([[1, 2, 3], [4, 5, 6]]), X([[7, 8], [9, 10]]), whole(1, 0)], [X([[1, 7, 8], [9, 10, 6]])]),
    ("TensorScatter", {"axis": 1, "given": ("write_indices",)},
     [X([[1, 2], [4, 5]]), np.zeros((2, 0), X), whole(2, 0)], [X([[1, 2], [4, 5]])]),
    ("TensorScatter", {"axis": 1, "mode": "circular", "given": ("write_indices",)},
     [X([[1, 2, 3], [4, 5, 6]]), X([[7, 8], [9, 10]]), whole(2, 3)], [X([[8, 2, 7], [9, 10, 6]])]),
    ("ReverseSequence", {}, [X([[1, 2, 3], [4, 5, 6]]), whole(2, 0, 1)], [X([[4, 2, 3], [1, 5, 6]])]),
    ("ReverseSequence", {}, [np.zeros((2, 0), X), np.zeros(0, np.int64)], [np.zeros((2, 0), X)]),
    ("NegativeLogLikelihoodLoss", {"reduction": "none"}, [X([[1, 2, 4], [8, 16, 32]]), whole(2, 0)], [X([-4, -8])]),
    ("Gemm", {"alpha": 0.5, "beta": 3.0}, [np.int32([[3, 5]]), np.int32([[1, 2], [3, 4]])], [np.int32([[9, 13]])]),
    ("Gemm", {"alpha": 2.0, "beta": 0.5, "given": ("C",)},
     [np.int32([[3, 5]]), np.int32([[1, 2], [3, 4]]), np.int32([3, -3])], [np.int32([[37, 50]])]),
    ("QLinearMatMul", {}, [np.array([[1, 2]], F8), X(0.5), np.array(0, F8), np.array([[4], [0.5]], F8), X(3), np.array(0, F8),
                           X(0.25), np.array(0, F8)], [np.array([[30]], F8)]),
    ("QLinearMatMul", {}, [np.array([[1, 2]], F8), X(0.5), np.array(1, F8), np.array([[4], [0.5]], F8), X(3), np.array(-1, F8),
                           X(0.25), np.array(2, F8)], [np.array([[11]], F8)]),
    ("ms_QGemm", {"given": ("y_scale",)}, [np.uint8([[3, 5]]), X(0.5), np.uint8(1), np.int8([[2],
     [-4]]), X(2), np.int8(0), X(0.25)],
     [np.uint8([[0]])]),
    ("ms_QGemm", {"given": ("y_scale",)}, [np.uint8([[3, 5]]), X(0.5), np.uint8(1), np.int8([[2],
     [4]]), X(2), np.int8(0), X(0.25)],
     [np.uint8([[80]])]),
    ("ms_QGemm", {"given": ("y_scale", "y_zero_point")},
     [np.uint8([[3, 5]]), X(0.5), np.uint8(1), np.int8([[2], [-4]]), X(2), np.int8(0), X(0.25), np.int8(3)],
     [np.int8([[-45]])]),
    ("BatchNormalization", {"training_mode": True, "num_outputs": 2, "momentum": 0.25, "epsilon": 1.0},
     [X([[1], [5]]), X([2]), X([3]), X([8]), X([16])], [X([[3 - 4 / np.sqrt(5)], [3 + 4 / np.sqrt(5)]]), X([4.25])]),
    ("LayerNormalization", {"axis": 0}, [X(3), X(5)], [X(0)]),
    ("LRN", {"size": 9, "alpha": 9.0, "beta": 1.0}, [X([[1, 2, 3]])], [X([[1, 2, 3]]) / X(15)]),
    ("LRN", {"size": 2, "alpha": 2.0, "beta": 1.0}, [X([[1, 2, 3]])], [X([[1 / 6, 2 / 14, 3 / 10]])]),
    ("Unique", {"axis": 0}, [np.zeros((2, 0), X)], [np.zeros((1, 0), X), whole(0), whole(0, 0), whole(2)]),
    ("Unique", {"axis": 1}, [np.zeros((2, 0), X)], [np.zeros((2, 0), X), whole(), whole(), whole()]),
    ("Unique", {}, [np.zeros((2, 0), X)], [np.zeros(0, X), whole(), whole(), whole()]),
    ("Unique", {"axis": 1}, [X([[3, 1, 3], [2, 9, 2]])], [X([[1, 3], [9, 2]]), whole(1, 0), whole(1, 0, 1), whole(1, 2)]),
    ("MaxPool", {"kernel_shape": (3,), "ceil_mode": True}, [X([[[5]]])], [np.zeros((1, 1, 0), X)]),
    ("MaxPool", {"kernel_shape": (2,), "strides": (5,), "auto_pad": "SAME_UPPER", "num_outputs": 2},
     [X([[[9, 2, 3, 8, 7]]])], [X([[[3]]]), whole(2).reshape(1, 1, 1)]),
    ("MaxPool", {"kernel_shape": (1,), "strides": (6,), "auto_pad": "SAME_LOWER", "num_outputs": 2},
     [X([[[9, 2, 3, 8, 7, 6]]])], [X([[[3]]]), whole(2).reshape(1, 1, 1)]),
    ("AveragePool", {"kernel_shape": (2,), "strides": (5,), "auto_pad": "SAME_UPPER"}, [X([[[9, 2, 3, 8, 7]]])],
     [X([[[2.5]]])]),
    ("GlobalMaxPool", {}, [X([[3, 1], [2, 4]])], [X([[3, 1], [2, 4]])]),
    ("GlobalMaxPool", {}, [X([[[3, 1], [2, 4]]])], [X([[[3], [4]]])]),
    ("MaxUnpool", {"kernel_shape": (2,)}, [X([[[5, 6]]]), whole([[-1, 0]]).reshape(1, 1, 2)], [X([[[6, 0, 5]]])]),
    ("MaxUnpool", {"kernel_shape": (2, 1), "given": ("output_shape",)},
     [X([[[[5, 6, 7]]]]), whole(0, 4, 5).reshape(1, 1, 1, 3), whole(1, 1, 3, 2)], [X([[[[5, 0], [0, 6], [0, 0]]]])]),
    ("ms_QLinearSigmoid", {}, [np.uint8([0, 2]), X(0.5), X(0.25)], [np.uint8([2, 3])]),
    ("ms_QLinearSigmoid", {"given": ("X_zero_point",)}, [np.uint8([5, 7]), X(0.5), np.uint8(5), X(0.25)], [np.uint8([2, 3])]),
    ("ms_QLinearSigmoid", {"given": ("Y_zero_point",)}, [np.uint8([0, 2]), X(0.5), X(0.25), np.uint8(9)], [np.uint8([11, 12])]),
    ("ms_QLinearAdd", {}, [np.uint8([3]), X(0.5), np.uint8([4]), X(2), X(0.25)], [np.uint8([38])]),
    ("ms_QLinearAdd", {"given": ("B_zero_point",)}, [np.uint8([3]), X(0.5), np.uint8([4]), X(2), np.uint8(1), X(0.25)],
     [np.uint8([30])]),
    ("ms_QLinearMul", {"given": ("C_zero_point",)}, [np.int8([3]), X(0.5), np.int8([-4]), X(2), X(0.25), np.int8(5)],
     [np.int8([-43])]),
    ("ms_QLinearConcat", {"axis": 0, "num_args": 11},
     [X(0.5), np.uint8(1), np.uint8([3]), X(0.5), np.uint8(2), np.uint8([4, 5]),
     X(1), np.uint8(3), np.uint8([6]), X(2), np.uint8(0)], [np.uint8([2, 3, 5, 25])]),
    ("QuantizeLinear", {}, [X([3, 5, 7]), np.array(2, ml_dtypes.float8_e8m0fnu)], [np.uint8([2, 2, 4])]),
    ("QuantizeLinear", {"precision": "float16", "given": ("y_zero_point",)}, [X([2049, 5]), X(1), np.uint16(1)],
     [np.uint16([2049, 6])]),
    ("QuantizeLinear", {"given": ("y_zero_point",)}, [X([2049, 5]), X(1), np.uint16(1)], [np.uint16([2050, 6])]),
    ("QuantizeLinear", {"output_dtype": "int8", "given": ("y_zero_point",)}, [X([-3, 5]), X(1), np.int8(1)],
     [np.int8([-2, 6])]),
    ("DequantizeLinear", {"given": ("x_zero_point",)}, [np.array([3, 5], F8), X(0.5), np.array(1, F8)], [X([1, 2])]),
    ("DequantizeLinear", {"output_dtype": "float16"}, [np.uint8([3, 5]), X(0.5)], [np.float16([1.5, 2.5])]),
    ("ReduceMean", {}, [np.zeros((2, 0), np.int32)], [np.int32([[0]])]),
    ("ReduceMean", {}, [np.int32([[-3, -4]])], [np.int32([[-3]])]),
    ("Resize", {"given": ("sizes",), "mode": "linear", "coordinate_transformation_mode": "align_corners"},
     [X([3, 5, 8]), whole(1)], [X([3])]),
    ("Resize", {"given": ("roi", "sizes"), "mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize",
                "extrapolation_value": 9.0}, [X([1, 2, 4]), X([0, 1]), whole(5)], [X([1, 1.5, 2, 3, 4])]),
    ("Resize", {"given": ("roi", "sizes"), "mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize",
                "extrapolation_value": 9.0}, [X([1, 2, 4]), X([0, 0.5]), whole(3)], [X([1, 1.5, 2])]),
    ("Resize", {"given": ("roi", "sizes"), "mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize",
                "extrapolation_value": 9.0}, [X([1, 2, 4]), X([-0.5, 1.5]), whole(3)], [X([9, 2, 9])]),
    *(("Resize", {"given": ("roi", "sizes"), "mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize",
                  "extrapolation_value": beyond}, [np.array([1, 2, 4], kind), X([-0.5, 1.5]), whole(3)],
       [np.array([held, 2, held], kind)])
      for mode in ("nearest", "linear") for kind, beyond, held in (
          ("uint8", -3.5, 0), ("uint8", 300.0, 255), ("uint8", 3.75, 3), ("int8", -3.5, -3), ("int8", -1e9, -128))),
    ("Resize", {"given": ("sizes",), "mode": "linear"}, [whole(2**40 + 1, 2**40 + 3), whole(4)],
     [2**40 + whole(1, 1, 2, 3)]),
    ("GridSample", {"mode": "nearest"}, [X([[[[7, 8], [9, 4]]]]), X([[[[NAN, -1], [-1, NAN], [0.5, INF], [0.5, 0.5]]]])],
     [X([[[[0, 0, 0, 4]]]])]),
    ("OneHot", {}, [X([1.75, -1, 2]), X(3), X([2, 9])], [X([[2, 9, 2], [2, 2, 9], [2, 2, 9]])]),
    *(("EyeLike", {"k": k}, [X([[7, 8, 9, 5]] * 3)], [np.eye(3, 4, k, X)]) for k in (-5, -3, -2, 3, 4, 9)),
    ("DequantizeLinear", {"given": ("x_zero_point",)}, [np.int32([-(2**31), 2**31 - 1]), X(0.5), np.int32(2**30)],
     [X([-3 * 2.0**29, 2.0**29])]),
    ("MaxPool", {"kernel_shape": (2, 1), "dilations": (2, 1), "pads": (1, 0, 0, 0), "num_outputs": 2},
     [np.uint8([[[[5], [0], [3]]]])], [np.uint8([[[[0], [5]]]]), whole([[[1], [0]]])[None].reshape(1, 1, 2, 1)]),
    *(("MaxPool", {"kernel_shape": (2, 3, 4), "num_outputs": 2, "storage_order": order},
       [X(np.arange(24) == 14).reshape(1, 1, 2, 3, 4)], [X(1).reshape((1,) * 5), whole(at).reshape((1,) * 5)])
      for order, at in ((0, 14), (1, 1 + 0 * 2 + 2 * 6))),
    ("MaxPool", {"kernel_shape": (3,), "num_outputs": 2, "storage_order": 1}, [X([[[1, 5, 2, 7]]])],
     [X([[[5, 7]]]), whole([[[1, 3]]]).reshape(1, 1, 2)]),
    ("AveragePool", {"kernel_shape": (1,), "pads": (1, 2)}, [X([[[5]]])], [X([[[0, 5, 0, 0]]])]),
    ("GlobalMaxPool", {}, [np.zeros((2, 3, 0), X)], [np.full((2, 3, 1), -INF, X)]),
    ("RoiAlign", {}, [X([[[[1, 2], [4, 8]]]]), X([[1, 0, 0, 1], [0.5, 0.5, 1.5, 1.5]]), whole(0, 0)],
     [X([0, 3.75]).reshape(2, 1, 1, 1)]),
    ("NonMaxSuppression", {}, [X([[[0, 0, 1, 1]]]), X([[[0.5]]])], [np.zeros((0, 3), np.int64)]),
    ("NonMaxSuppression", {"given": ("max_output_boxes_per_class",)}, [X([[[1, 1, 1, 1],
     [1, 1, 1, 1]]]), X([[[0.5, 0.75]]]), whole(5)],
     [whole([0, 0, 1], [0, 0, 0])]),
    ("RoiAlign", {}, [X([[[[1, 2], [4, 8]]]]), X([[1, 0, 0, 1]]), whole(0)], [X([[[[0]]]])]),
    ("RoiAlign", {"coordinate_transformation_mode": "output_half_pixel", "sampling_ratio": 1},
     [X([[[[1, 2], [4, 8]]]]), X([[0, 0, 1, 1], [1, 1, 1, 1]]), whole(0, 0)], [X([[[[3.75]]], [[[8]]]])]),
    ("RoiAlign", {"coordinate_transformation_mode": "output_half_pixel", "sampling_ratio": 1},
     [X([[[[1, 2], [4, 8]]]]), X([[-1.5, -1.5, -0.5, -0.5], [1.5, 1.5, 2.5, 2.5], [-2, 0, -1, 1],
     [2, 0, 3, 1]]), whole(*[0] * 4)],
     [X([[[[1]]], [[[8]]], [[[0]]], [[[0]]]])]),
    ("QuantizeLinear", {}, [X(7), X([2])], [np.uint8(4)]),
    ("QuantizeLinear", {}, [X([7, 3]), X([2])], [np.uint8([4, 2])]),
    ("DFT", {"given": ("dft_length",)}, [np.zeros((2, 3, 2), X), np.array(0)], [np.zeros((2, 0, 2), X)]),
    ("DFT", {}, [np.zeros((0, 3, 1), X)], [np.zeros((0, 3, 2), X)]),
    ("DFT", {"given": ("dft_length",)}, [np.zeros((2, 0, 2), X), np.array(3)], [np.zeros((2, 3, 2), X)]),
    ("DFT", {"given": ("dft_length",), "onesided": True}, [np.zeros((2, 0, 1), X), np.array(3)], [np.zeros((2, 2, 2), X)]),
    ("DFT", {"given": ("dft_length",), "inverse": True}, [np.zeros((2, 0, 1), X), np.array(3)], [np.zeros((2, 3, 2), X)]),
    ("DFT", {"inverse": True, "onesided": True}, [X([[[3, 0], [1, 0]]])], [X([[[2], [1]]])]),
    ("STFT", {"given": ("window",)}, [X([[[1], [2]]]), np.array(1), X([1, 1, 1])], [np.zeros((1, 0, 2, 2), X)]),
    ("STFT", {}, [X([[[1], [2], [5]]]), np.array(1)], [X([[[[8, 0], [-2.5, 1.5 * np.sqrt(3)]]]])]),
    ("STFT", {"given": ("frame_length",)}, [X([[[1], [2], [5]]]), np.array(1), np.array(2)], [X([[[[3, 0], [-1, 0]],
     [[7, 0], [-3, 0]]]])]),
    ("Split", {"num_outputs": 1, "axis": 1}, [X([[1, 2, 3]])], [X([[1, 2, 3]])]),
    ("Pad", {"mode": "reflect"}, [X([[5], [6]]), whole(1, 2, 0, 1)], [X([[6, 6, 6, 6], [5, 5, 5, 5], [6, 6, 6, 6]])]),
    ("Pad", {"mode": "edge"}, [X([1, 2, 3, 4]), whole(-1, 2)], [X([2, 3, 4, 4, 4])]),
    ("Pad", {"mode": "edge"}, [X([1, 2, 3, 4]), whole(2, -1)], [X([1, 1, 1, 2, 3])]),
    ("Pad", {"mode": "wrap"}, [X([1, 2, 3, 4]), whole(3, -2)], [X([2, 1, 2, 1, 2])]),
    ("Pad", {}, [X([1, 2, 3, 4]), whole(-3, 2)], [X([4, 0, 0])]),
    ("Pad", {}, [X([1, 2, 3, 4]), whole(2, -5)], [X([0])]),
    ("Pad", {"mode": "edge"}, [np.zeros((0, 2), X), whole(0, 3, 0, -1)], [np.zeros((0, 4), X)]),
    ("Pad", {"mode": "edge"}, [np.zeros((0, 2), X), whole(0, -1, 0, 3)], [np.zeros((0, 4), X)]),
    ("GridSample", {"padding_mode": "reflection", "align_corners": True}, [X([[[[7], [9]]]]), X([[[[0.75, -1],
     [-3, 1]]]])], [X([[[[7, 9]]]])]),
    ("GridSample", {"mode": "nearest"}, [np.int32([[[[7, 8], [9, 4]]]]), X([[[[-1, -1], [0.5, -1]]]])],
     [np.int32([[[[7, 8]]]])]),
    ("GridSample", {}, [np.zeros((1, 2, 0, 3), X), X([[[[0, 0]]]])], [np.zeros((1, 2, 1, 1), X)]),
    ("AffineGrid", {}, [X([[[1, 0, 0], [0, 2, 0.5]]]), whole(1, 1, 0, 2)], [np.zeros((1, 0, 2, 2), X)]),
    ("Trilu", {"upper": False, "given": ("k",)}, [X([[1, 2], [3, 4]]), np.int64(-1)], [X([[0, 0], [3, 0]])]),
    ("STFT", {"given": ("window",)}, [X([[[1], [2]]]), np.array(1), X([1, 1, 1, 1, 1])], [np.zeros((1, 0, 3, 2), X)]),
    ("STFT", {"given": ("frame_length",)}, [X([[[3], [5]]]), np.array(1), np.array(1)], [X([[[[3, 0]], [[5, 0]]]])]),
    ("GridSample", {"align_corners": True}, [X([[[1, 2, 4]]]), X([[[0], [0.5]]])], [X([[[2, 3]]])]),
    ("GlobalAveragePool", {}, [X([[[3, 5], [2, 6]]])], [X([[[4], [4]]])]),
    ("DeformConv", {}, [np.zeros((0, 2, 4, 4), X), np.ones((3, 2, 2, 2), X), np.zeros((0, 8, 3, 3), X)],
     [np.zeros((0, 3, 3, 3), X)]),
    ("MaxUnpool", {"kernel_shape": (2,), "given": ("output_shape",)},
     [np.zeros((1, 0, 2), X), np.zeros((1, 0, 2), np.int64), whole(1, 0, 3)],
     [np.zeros((1, 0, 3), X)]),
    ("ml_Binarizer", {"threshold": 0.5}, [X([0.25, 0.5, 0.75])], [X([0, 0, 1])]),
]  # fmt: skip


@each(VALUES, lambda row: (row[0][:1], f"{row[0]} {row[1]}"))
def test_numbers_on_borders(row: Any) -> None:
    name, attrs, arrays, wanted = row
    for got, want in zip(run(name, *arrays, **attrs), wanted, strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=3e-7, atol=2e-7)


SLOPES = [
    # (operator, attributes, inputs, gradients of the inputs for output gradients 1, 2, 3, ...)
    ("HardSwish", {}, [np.float64([-3, 3, -2.999, 2.999])], [[0, 2, 3 * (-2.999 / 3 + 0.5), 4 * (2.999 / 3 + 0.5)]]),
    ("Selu", {"alpha": 2.0, "gamma": 1.5}, [np.float64([0, -0.0, 1])], [[3, 6, 4.5]]),
    ("ThresholdedRelu", {"alpha": 0.5}, [np.float64([0.25, 0.5, 0.75])], [[0, 0, 3]]),
    ("Shrink", {"lambd": 0.5, "bias": 1.0}, [np.float64([-0.75, -0.5, 0.5, 0.75])], [[1, 0, 0, 4]]),
    ("AveragePool", {"kernel_shape": (2,), "strides": (5,), "auto_pad": "SAME_UPPER"}, [np.float64([[[9, 2, 3, 8, 7]]])],
     [[[[0, 0.5, 0.5, 0, 0]]]]),
    ("MaxPool", {"kernel_shape": (2,), "strides": (5,), "auto_pad": "SAME_UPPER"}, [np.float64([[[9, 2, 3, 8, 7]]])],
     [[[[0, 0, 1, 0, 0]]]]),
    ("MaxUnpool", {"kernel_shape": (2,)}, [np.float64([[[5, 6]]]), np.int64([[[-1, 0]]])], [[[[3, 1]]], [[[0, 0]]]]),
    ("Split", {"num_outputs": 1, "axis": 1}, [np.float64([[5, 6, 7]])], [[[1, 2, 3]]]),
    ("Pad", {"mode": "edge"}, [np.float64([1, 2, 3, 4]), np.int64([-1, 2])], [[0, 1, 2, 12], [0, 0]]),
    ("Pad", {"mode": "edge"}, [np.float64([1, 2, 3, 4]), np.int64([2, -1])], [[6, 4, 5, 0], [0, 0]]),
    ("Pad", {"mode": "edge", "given": ("constant_value",)}, [np.float64([1, 2]), np.int64([1, 0]), np.float64(7)],
     [[3, 3], [0, 0], 0]),
    ("Pad", {"given": ("constant_value",)}, [np.float64([1, 2]), np.int64([1, 0]), np.float64(7)], [[2, 3], [0, 0], 1]),
    ("Resize", {"mode": "linear", "given": ("sizes",)}, [np.zeros((0, 3)), np.int64([0, 5])], [np.zeros((0, 3)), [0, 0]]),
    ("Resize", {"given": ("sizes",)}, [np.zeros((0, 3)), np.int64([0, 5])], [np.zeros((0, 3)), [0, 0]]),
    ("DeformConv", {}, [np.zeros((0, 2, 4, 4)), np.ones((3, 2, 2, 2)), np.zeros((0, 8, 3, 3))],
     [*map(np.zeros, ((0, 2, 4, 4), (3, 2, 2, 2), (0, 8, 3, 3)))]),
    ("DFT", {"given": ("dft_length",)}, [np.zeros((2, 3, 2)), np.int64(0)], [np.zeros((2, 3, 2)), 0]),
    ("GridSample", {}, [np.zeros((1, 2, 0, 3)), np.zeros((1, 1, 1, 2))], [np.zeros((1, 2, 0, 3)), np.zeros((1, 1, 1, 2))]),
    ("AveragePool", {"kernel_shape": (3,), "ceil_mode": True}, [np.float64([[[5]]])], [[[[0]]]]),
    ("MaxUnpool", {"kernel_shape": (2, 1), "given": ("output_shape",)},
     [np.float64([[[[5, 6, 7]]]]), np.int64([[[[0, 4, 5]]]]), np.int64([1, 1, 3, 2])], [[[[[1, 4, 0]]]], [[[[0, 0, 0]]]],
     [0] * 4]),
    ("ConvTranspose", {"output_shape": (5,)}, [np.float64([[[3, 5]]]), np.float64([[[1, 10]]])], [[[[21, 32]]], [[[13, 21]]]]),
    ("DequantizeLinear", {"given": ("x_zero_point",)}, [np.uint8([5, 7, 9]), X([2, 3, 4]), np.uint8([1, 2, 3])],
     [[0] * 3, [4, 10, 18], [0] * 3]),
    ("DequantizeLinear", {"axis": 0}, [np.uint8([[5, 7], [9, 1]]), X([2, 3])], [[[0, 0], [0, 0]], [19, 31]]),
    ("ReduceMean", {"keepdims": False}, [np.zeros((2, 0))], [np.zeros((2, 0))]),
    ("Optional", {"given": ("input",)}, [np.float64([3, 4])], [[1, 2]]),
    ("OptionalGetElement", {}, [np.float64([3, 4])], [[1, 2]]),
    ("Split", {"num_outputs": 1, "given": ("split",)}, [np.float64([5, 6]), np.int64([2])], [[1, 2], [0]]),
    ("DeformConv", {"given": ("mask",)}, [*map(np.zeros, ((0, 2, 4, 4), (3, 2, 2, 2), (0, 8, 3, 3), (0, 4, 3, 3)))],
     [np.zeros((0, 2, 4, 4)), np.zeros((3, 2, 2, 2)), np.zeros((0, 8, 3, 3)), np.zeros((0, 4, 3, 3))]),
    ("DFT", {}, [np.zeros((0, 3, 2))], [np.zeros((0, 3, 2))]),
    ("PRelu", {}, [np.float64([-2, 0, 3]), np.float64([0.5])], [[0.5, 1, 3], [-2]]),
    ("Pow", {}, [np.float64([0, 0, 2]), np.float64([1, 2, 3])], [[1, 0, 36], [0, 0, 24 * np.log(2)]]),
]  # fmt: skip


def test_gradients_on_borders() -> None:
    for name, attrs, arrays, wanted in SLOPES:
        with np.errstate(all="ignore"):
            for i, (got, want) in enumerate(zip(slopes(name, *arrays, **attrs), wanted, strict=True)):
                np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-9, err_msg=f"{name} {i}")


BEYOND = [
    # (operator, attributes, inputs, what the refusal says); these are refused by what the inputs hold
    ("GatherElements", {"axis": 1}, [single(3, 4, 5), np.zeros((4, 2, 2), np.int64)], "which are larger or of another rank"),
    ("GatherElements", {"axis": 1}, [single(3, 4, 5), np.zeros((3, 2, 6), np.int64)], "which are larger or of another rank"),
    ("GatherElements", {"axis": 1}, [single(3, 4), np.zeros(3, np.int64)], "which are larger or of another rank"),
    ("GatherElements", {}, [single(3), whole(3)], "got indices from 3 to 3 into 3 places"),
    ("GatherElements", {}, [single(3), whole(-4)], "got indices from -4 to -4 into 3 places"),
    ("GatherND", {"batch_dims": 1}, [single(2, 3), np.zeros((3, 1), np.int64)], "which do not go together"),
    ("GatherND", {"batch_dims": 1}, [single(2, 3), np.zeros((2, 2), np.int64)], "which do not go together"),
    ("GatherND", {"batch_dims": 1}, [single(2, 3, 4), np.zeros((2,), np.int64)], "which do not go together"),
    ("ScatterElements", {}, [single(3), whole(3), single(1)], "got indices from 3 to 3 into 3 places"),
    ("ScatterElements", {"reduction": "add"}, [single(3), whole(-4), single(1)], "got indices from -4 to -4 into 3 places"),
    ("ScatterND", {}, [single(2, 3), whole([1, 3]), single(1)], "got indices from 3 to 3 into 3 places"),
    ("ScatterND", {"reduction": "mul"}, [single(2, 3), whole([-3]), single(1, 3)], "got indices from -3 to -3 into 2 places"),
    ("RotaryEmbedding", {"given": ("position_ids",)}, [single(1, 2, 2, 4), single(3, 2), single(3, 2), whole([-1, 0])],
     "got position_ids -1 to 0, wanted 0 to 2"),
    ("RoiAlign", {}, [single(2, 1, 4, 5), X([[0, 0, 2, 2]]), whole(2)], "got indices from 2 to 2 into 2 places"),
    ("CumSum", {}, [single(2, 3), np.array(-3)], "got axis -3 for 2 dimensions"),
    ("CumProd", {}, [single(2, 3), np.array(2)], "got axis 2 for 2 dimensions"),
    ("ConstantOfShape", {}, [whole(2, -1)], "wanted no negative size"),
    ("TensorScatter", {"given": ("write_indices",)}, [single(1, 3, 4), single(1, 2, 4), whole(2)], "2 steps in a cache of 3"),
    ("TensorScatter", {"given": ("write_indices",)}, [single(1, 3, 4), single(1, 2, 4), whole(-1)], "2 steps in a cache of 3"),
    ("ReverseSequence", {}, [single(3, 2), whole(4, 1)], "wanted 0 to 3"),
    ("ReverseSequence", {}, [single(3, 2), whole(3, -1)], "wanted 0 to 3"),
    ("Col2Im", {"strides": (1,)}, [single(1, 4, 9), whole(4, 4), whole(2, 2)], "wanted numbers for as many axes"),
    ("Col2Im", {"dilations": (1,)}, [single(1, 4, 9), whole(4, 4), whole(2, 2)], "wanted numbers for as many axes"),
    ("Col2Im", {"pads": (0, 0)}, [single(1, 4, 9), whole(4, 4), whole(2, 2)], "wanted numbers for as many axes"),
    ("Col2Im", {}, [single(1, 4, 8), whole(4, 4), whole(2, 2)], "at .3, 3. places of the image"),
    ("Col2Im", {}, [single(1, 6, 9), whole(4, 4), whole(2, 2)], "at .3, 3. places of the image"),
    ("NegativeLogLikelihoodLoss", {}, [single(2, 3), whole(0, 3)], "got class 3, wanted 0 to 2"),
    ("NegativeLogLikelihoodLoss", {}, [single(2, 3), whole(0, -4)], "got class -4, wanted 0 to 2"),
    ("ml_ArrayFeatureExtractor", {}, [single(2, 3), whole(0, 3)], "of 3 features"),
    ("ml_ArrayFeatureExtractor", {}, [single(2, 3), whole(0, -1)], "of 3 features"),
    ("Celu", {"alpha": -1.0}, [single(2)], None),
    ("TopK", {}, [single(2, 3), whole(4)], "got K=4 for 3 numbers"),
    ("TopK", {}, [single(2, 3), whole(-1)], "got K=-1 for 3 numbers"),
    ("Compress", {"axis": 1}, [single(2, 3), np.array([0, 0, 0, 1], bool)], "holds at 3, wanted positions below 3"),
    ("Multinomial", {}, [X([[0, NAN]])], "NaN or infinity"),
    ("Multinomial", {}, [X([[0, INF]])], "NaN or infinity"),
    ("Dropout", {"given": ("ratio",)}, [single(3), X(1)], "wanted 0 to less than 1"),
    ("Dropout", {"given": ("ratio",)}, [single(3), X(-0.125)], "wanted 0 to less than 1"),
    ("RNN", {"given": ("sequence_lens",)}, [single(3, 2, 4), single(1, 5, 4), single(1, 5, 5), np.int32([4, 1])],
     "for 3 steps"),
    ("RNN", {"given": ("sequence_lens",)}, [single(3, 2, 4), single(1, 5, 4), single(1, 5, 5), np.int32([3, -1])],
     "for 3 steps"),
    ("Pad", {"mode": "edge"}, [np.zeros((2, 0), X), whole(0, 1, 0, 0)], "it is empty"),
    ("Pad", {"mode": "reflect"}, [np.zeros((2, 0), X), whole(0, 0, 0, 1)], "it is empty"),
    ("STFT", {"given": ("window", "frame_length")}, [single(2, 14, 1), np.array(3), single(5), np.array(4)], "for frames of 4"),
    ("STFT", {"given": ("frame_length",)}, [single(2, 14, 1), np.array(3), np.array(0)], "wanted at least 1"),
    ("STFT", {}, [single(2, 14, 1), np.array(0)], "got frame_step 0, wanted at least 1"),
    ("MelWeightMatrix", {}, [np.array(4), np.array(16), np.array(8000), X(0), X(16000)],
     "beyond what a sample_rate of 8000 has"),
    ("MelWeightMatrix", {}, [np.array(4), np.array(16), np.array(8000), X(-600), X(3000)], "beyond what a sample_rate of 8000"),
    ("SplitToSequence", {"given": ("split",)}, [single(3), np.array(0)], "0"),
    ("MaxUnpool", {"kernel_shape": (2,)}, [single(1, 1, 2), whole([[[0, 3]]]).reshape(1, 1, 2)], "wanted them within"),
    ("MaxUnpool", {"kernel_shape": (2,)}, [single(1, 1, 2), whole([[[0, -4]]]).reshape(1, 1, 2)], "wanted them within"),
    ("Resize", {"given": ("scales",)}, [single(2, 3), X([1, 0])], "wanted positive ones"),
    ("Resize", {"given": ("sizes",)}, [single(2, 0), whole(2, 3)], "wanted something along axis 1"),
    ("Resize", {"given": ("sizes",)}, [single(2, 3), whole(2, 3, 4)], "got sizes .* wanted 2 numbers"),
    ("Resize", {"given": ("scales",)}, [single(2, 3), X([2])], "got scales .* wanted 2 numbers"),
    ("Resize", {"given": ("scales",)}, [single(2, 3), X([])], "got neither scales nor sizes"),
    ("QuantizeLinear", {"axis": 0, "block_size": 2}, [single(4, 2), X([[1]])], "got scales .1, 1. for blocks of 2"),
    ("QuantizeLinear", {"axis": 0}, [single(4, 2), X([[1]])], "got scales .1, 1. for axis 0"),
    ("Resize", {}, [single(2, 3)], "got neither scales nor sizes"),
    ("Attention", {}, [single(1, 3, 2, 4), single(1, 2, 5, 4), single(1, 2, 5, 4)], "got 3 heads of Q and 2 of K"),
    ("Attention", {}, [single(1, 3, 2, 4), single(1, 0, 5, 4), single(1, 0, 5, 4)], "got 3 heads of Q and 0 of K"),
    ("ml_DictVectorizer", {"string_vocabulary": np.array(["a", "b"], object)}, [box({"b": 1.0, "c": 2.0})], "got key 'c'"),
]  # fmt: skip


@each(BEYOND, lambda row: (row[0][:1], f"{row[0]} {row[3]}"))
def test_what_the_inputs_hold_beyond_borders_is_refused(row: Any) -> None:
    name, attrs, arrays, words = row
    op = lookup(f"_onnx_{name}").bind(**attrs)
    options = {"rng": np.random.default_rng(0)} if "rng" in op.needs else {}
    if words is None:
        with pytest.raises(MXNetError, match="for a positive alpha only"):
            slopes(name, *arrays, **attrs)
        return
    with pytest.raises(OpError, match=words), np.errstate(all="ignore"):
        op.compute(*arrays, **options)


def test_weights_of_mel_bins_are_those_of_the_standard() -> None:
    """Its loops, as onnx's evaluator has them; the last bin may end behind the last row."""
    for bins, length, rate, low, high in (
        (4, 16, 8000, 0, 4000),
        (3, 9, 8000, 100, 3000),
        (4, 16, 8000, 0, 6887),
        (6, 8, 8000, 0, 900),
    ):
        edges = np.linspace(*(2595 * np.log10(1 + hz / 700) for hz in (low, high)), bins + 2, endpoint=False)
        edges = np.floor((length + 1) * 700 * (10 ** (edges / 2595) - 1) / rate).astype(int)
        wanted = np.zeros((length // 2 + 1, bins))
        for i, (left, centre, right) in enumerate(zip(edges, edges[1:], edges[2:])):
            for row in range(left, centre + 1):
                wanted[row, i] = (row - left) / (centre - left) if centre > left else 1
            for row in range(centre, right):
                wanted[row, i] = (right - row) / (right - centre)
        given = np.array(bins), np.array(length), np.array(rate), X(low), X(high)
        np.testing.assert_allclose(
            run("MelWeightMatrix", *given)[0], wanted, atol=1e-6, err_msg=f"{bins} {length} {high}"
        )


def test_samples_stay_below_the_end_and_seeds_count_modulo() -> None:
    (drawn,) = run("RandomUniform", shape=(40000,), dtype="float16", seed=2.0)
    assert drawn.min() == 0 and drawn.max() < 1  # where float16 rounds up to 1, it is 0 instead
    for seed in (3.0, 2.0**32 + 3, 3 - 2.0**32):
        same(run("RandomUniform", shape=(4,), seed=seed, dtype="float64")[0], np.random.RandomState(3).rand(4))
    op = lookup("_onnx_RandomUniform").bind(shape=(4,), seed=INF, dtype="float64")
    same(op.compute(rng=np.random.default_rng(5)), np.random.default_rng(5).random(4))
    likely = np.log(X([[0.25, 0.5, 0.25], [1, 1, 6]]))
    shares = np.cumsum(np.exp(likely.astype(float)), 1)
    drawn = np.random.RandomState(3).rand(2, 50)
    wanted = [[np.searchsorted(row / row[-1], u, "right") for u in us] for row, us in zip(shares, drawn)]
    same(run("Multinomial", likely, sample_size=50, seed=3.0)[0], wanted)


def test_dropout_without_a_ratio_drops_half() -> None:
    data = nd.array(np.arange(1, 41, dtype=np.float32))
    data.attach_grad()
    with autograd.record():
        y, mask = nd._internal._onnx_Dropout(data, nd.array(True, dtype="bool"), given=("training_mode",), seed=1)
    y.backward(nd.array(np.arange(2, 42)))
    passed = np.random.RandomState(1).uniform(size=40) >= 0.5
    same(mask.asnumpy(), passed)
    same(y.asnumpy(), passed * np.arange(1, 41) * 2)
    assert data.grad is not None
    same(data.grad.asnumpy(), passed * np.arange(2, 42) * 2)


def test_activations_at_their_corners() -> None:
    """(value, slope) at the corner and beside it; of two slopes the standard's formula names the one of its "x >= ..."."""
    for name, alpha, beta, x, values, wanted in (
        ("relu", 0, 0, [-1, 0, 1], [0, 0, 1], [0, 0, 1]),
        ("leakyrelu", 0.5, 0, [-1, 0, 1], [-0.5, 0, 1], [0.5, 1, 1]),
        ("thresholdedrelu", 0.5, 0, [0.25, 0.5, 1], [0, 0.5, 1], [0, 1, 1]),
        ("elu", 2, 0, [-1, 0, 1], [2 * np.expm1(-1), 0, 1], [2 * np.exp(-1), 1, 1]),
        ("hardsigmoid", 0.5, 0.25, [-0.5, 0, 1.5], [0, 0.25, 1], [0, 0.5, 0]),
    ):
        kind, at = ACTIVATIONS[name], np.float64(x)
        found = kind.value(at, alpha, beta)
        np.testing.assert_allclose(found, values, err_msg=name)
        np.testing.assert_allclose(kind.slope(at, found, alpha, beta), wanted, err_msg=name)


def test_shapes_are_values_where_they_are_known() -> None:
    shape, size = lookup("_onnx_Shape").bind(start=1), lookup("_onnx_Size").bind()
    same(shape.infer_value([None], [(UNKNOWN, 3, 4)]), [3, 4])
    assert shape.infer_value([None], [(3, UNKNOWN)]) is shape.infer_value([None], [None]) is None
    same(size.infer_value([None], [(2, 3)]), 6)
    assert size.infer_value([None], [(2, UNKNOWN)]) is None


def test_repeats_that_take_as_few_as_they_can_match_the_same_words() -> None:
    words = np.array(["b", "ab", "aab", "aa", "a", "abb"], object)
    for pattern, wanted in (
        (r"a*?b", [1, 1, 1, 0, 0, 0]), (r"a+?b", [0, 1, 1, 0, 0, 0]), (r"a??b", [1, 1, 0, 0, 0, 0]),
        (r"a{2}?b", [0, 0, 1, 0, 0, 0]),
        (r"a{1,2}?b+?", [0, 1, 1, 0, 0, 1]), (r"a{1,}?b*?", [0, 1, 1, 1, 1, 1]), (r"\141+", [0, 0, 0, 1, 1, 0]),
        (r"a\0?", [0, 0, 0, 0, 1, 0]), (r"[]a]+", [0, 0, 0, 1, 1, 0]), (r"[^]a]+", [1, 0, 0, 0, 0, 0]),
    ):  # fmt: skip
        same(run("RegexFullMatch", words, pattern=pattern)[0], np.array(wanted, bool))
    for octal, word in ((r"\0", "\0"), (r"\01", "\1"), (r"\012", "\n"), (r"\101", "A"), (r"\0101", "\x081")):
        assert run("RegexFullMatch", np.array([word], object), pattern=octal)[0].all(), octal
    for pattern in ("a**", "a*?*", "a+?+", "a{2}?{3}", "a|*", "(*a)", "^*"):
        with pytest.raises(OpError, match="nothing to repeat"):
            lookup("_onnx_RegexFullMatch").bind(pattern=pattern)


def test_words_without_anything_left_are_one_empty_word() -> None:
    for shape, wanted in (((0,), (1,)), ((1, 0), (1, 1)), ((2,), (1,)), ((1, 2), (1, 1))):
        op = lookup("_onnx_StringNormalizer").bind(stopwords=np.array(["a"], object))
        found = op.compute(np.full(shape, "A", object))
        assert found.shape == wanted and found.ravel().tolist() == [""]


def test_maps_keep_the_precision_that_they_declare() -> None:
    for dtype, values in (("float64", [0.1, 0.0]), ("int64", [2**53 + 1, 0]), ("float32", [0.5, 0])):
        op = lookup("_onnx_ml_DictVectorizer").bind(string_vocabulary=np.array(["a", "b"], object), values=dtype)
        found = op.compute(box({"a": values[0]}))
        assert (found.dtype.name, found.tolist()) == (dtype, [values])


def test_activations_of_layers_have_the_parameters_of_their_descriptions() -> None:
    """Those that are left out are the defaults, of the second activation too where only the first has some."""
    formulas = {
        "LeakyRelu": (lambda x, a, b: np.where(x >= 0, x, a * x), 0.01, 0.0),
        "ThresholdedRelu": (lambda x, a, b: np.where(x >= a, x, 0), 1.0, 0.0),
        "ScaledTanh": (lambda x, a, b: a * np.tanh(b * x), 1.0, 1.0),
        "HardSigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), 0.2, 0.5),
        "Elu": (lambda x, a, b: np.where(x >= 0, x, a * np.expm1(x)), 1.0, 0.0),
        "Affine": (lambda x, a, b: a * x + b, 1.0, 0.0),
    }
    x, w = np.array([[[1.5, -2.25]]]), np.array([[[1, 0], [0, 1], [0.25, 0.75]], [[1, 0], [0, 1], [0.25, 0.75]]])
    for name, (value, alpha, beta) in formulas.items():
        for alphas, betas in (((), ()), ((0.375,), ()), ((0.375,), (0.125,)), ((0.375, 0.625), (0.125, 0.875))):
            op = lookup("_onnx_RNN").bind(
                activations=(name, name), activation_alpha=alphas, activation_beta=betas, direction="bidirectional"
            )
            y = op.compute(x, w, np.zeros((2, 3, 3)))[0]
            for way in range(2):
                a = alphas[way] if way < len(alphas) else alpha
                b = betas[way] if way < len(betas) else beta
                np.testing.assert_allclose(
                    y[0, way, 0], value(w[way] @ x[0, 0], a, b), err_msg=f"{name} {alphas} {betas}"
                )


def test_places_beside_the_axes_are_refused() -> None:
    for name, attrs, shapes, said in (
        ("OneHot", {"axis": -4}, [(2, 3), (), (2,)], "axis -4 for 3 dimensions"),
        ("OneHot", {"axis": 3}, [(2, 3), (), (2,)], "axis 3 for 3 dimensions"),
        ("GridSample", {"mode": "cubic"}, [(1, 2, 5), (1, 4, 1)], "mode=cubic for X of shape .1, 2, 5., wanted 4 axes"),
        ("GridSample", {"mode": "cubic"}, [(1, 2, 5, 4, 3), (1, 4, 2, 2, 3)], "wanted 4 axes"),
        ("MaxUnpool", {"kernel_shape": (2,), "given": ("output_shape",)}, [(1, 1, 3), (1, 1, 3), (4,)], "differ|4"),
        ("MaxUnpool", {"kernel_shape": (2,)}, [(1, 1, 3), (1, 1, 2)], "differ|3"),
        ("RNN", {"hidden_size": 4}, [(3, 2, 6), (1, 5, 6), (1, 5, 5)], "4.*5|differ"),
        ("RNN", {"given": ("initial_h",)}, [(3, 2, 6), (1, 5, 6), (1, 5, 5), (1, 3, 5)], "initial_h"),
        ("RNN", {"given": ("B",)}, [(3, 2, 6), (1, 5, 6), (1, 5, 5), (1, 11)], "B"),
        ("LSTM", {"given": ("P",)}, [(3, 2, 6), (1, 20, 6), (1, 20, 5), (1, 14)], "P"),
        ("LSTM", {"given": ("initial_c",)}, [(3, 2, 6), (1, 20, 6), (1, 20, 5), (2, 2, 5)], "initial_c"),
    ):
        op = lookup(f"_onnx_{name}").bind(**attrs)
        with pytest.raises((OpError, ValueError), match=said):
            op.infer_shape(*shapes)
    for name, attrs, said in (
        ("LRN", {"size": 0}, "got size=0, wanted at least 1"),
        ("ms_QLinearConcat", {"axis": 0, "num_args": 6}, "wanted 2 and 3 for each array"),
    ):
        with pytest.raises(OpError, match=said):
            lookup(f"_onnx_{name}").bind(**attrs)


def test_characters_that_mean_something_in_patterns_mean_themselves_behind_a_backslash() -> None:
    marks = ".*+?()[]{}|^$\\/-"
    words = np.array([f"a{m}b" for m in marks] + ["ab", "axb", "aab"], object)
    for place, mark in enumerate(marks):
        for pattern in (f"a\\{mark}b", f"a\\x{{{ord(mark):x}}}b", f"a\\x{ord(mark):02x}b"):
            same(run("RegexFullMatch", words, pattern=pattern)[0], np.arange(len(words)) == place)


def test_classes_of_characters_hold_what_re2_says() -> None:
    """Those of POSIX and Perl, each character of ASCII and some beyond; only \\s has no vertical tab."""
    chars = [chr(n) for n in range(1, 128)] + list("é٣ßДｚ\u00a0\u2028")
    letters, digits = string.ascii_letters, string.digits
    classes = {
        "alnum": letters + digits, "alpha": letters, "ascii": "".join(chars[:127]), "blank": " \t", "digit": digits,
        "cntrl": "".join(c for c in chars[:127] if ord(c) < 32 or ord(c) == 127), "graph": letters + digits + string.punctuation,
        "lower": string.ascii_lowercase, "print": letters + digits + string.punctuation + " ", "punct": string.punctuation,
        "space": " \t\n\v\f\r", "upper": string.ascii_uppercase, "word": letters + digits + "_", "xdigit": string.hexdigits,
    }  # fmt: skip
    patterns = {f"[[:{name}:]]": those for name, those in classes.items()}
    patterns |= {
        r"\d": digits,
        r"\w": letters + digits + "_",
        r"\s": " \t\n\f\r",
        r"[\d_]": digits + "_",
        r"[a\s]": "a \t\n\f\r",
    }
    words = np.array(chars, object)
    for pattern, those in patterns.items():
        want = np.array([c in those for c in chars])
        same(run("RegexFullMatch", words, pattern=pattern)[0], want)
        opposite = pattern.upper() if pattern[0] == "\\" else f"[^{pattern[1:]}"
        same(run("RegexFullMatch", words, pattern=opposite)[0], ~want)
    same(run("RegexFullMatch", words, pattern=".")[0], np.array([c != "\n" for c in chars]))
    for name, char in zip("afnrtv", "\a\f\n\r\t\v"):
        for pattern in (
            f"\\{name}",
            f"[\\{name}]",
            f"\\{ord(char):03o}",
            f"\\x{ord(char):02x}",
            f"\\x{{{ord(char):x}}}",
        ):
            same(run("RegexFullMatch", words, pattern=pattern)[0], np.array([c == char for c in chars]))


def test_patterns_that_python_reads_otherwise_are_refused() -> None:
    words = np.array(["ab", "AB", "a_b", "b", "B2"], object)
    for pattern, wanted in (
        ("(?i)ab", [1, 1, 0, 0, 0]), ("(?i:a)b", [1, 0, 0, 0, 0]), (r"[\w]+", [1, 1, 1, 1, 1]), (r"[^\d]+", [1, 1, 1, 1, 0]),
        ("(?P<x>a)b", [1, 0, 0, 0, 0]), ("[[:upper:]]+[[:digit:]]?", [0, 1, 0, 0, 1]), (r"\bab\b", [1, 0, 0, 0, 0]),
         (r"[\x62]", [0, 0, 0, 1, 0]),
        (r"\W*b", [0, 0, 0, 1, 0]),
    ):  # fmt: skip
        same(run("RegexFullMatch", words, pattern=pattern)[0], np.array(wanted, bool))
    for pattern, problem in (
        ("a(?i)b", "in the middle"), ("(?!a)b", "no counterpart"), ("(?=a)b", "no counterpart"), (r"[\W]", "in a set"),
        ("[[:^alpha:]]", "no counterpart"), ("[[:foo:]]", "no counterpart"), (r"\C", "no counterpart"),
         ("*a", "nothing to repeat"),
        (r"[\b]", "no counterpart"),
    ):  # fmt: skip
        with pytest.raises(OpError, match=problem):
            lookup("_onnx_RegexFullMatch").bind(pattern=pattern)


def test_grams_of_a_row_of_one_and_of_places_skipped() -> None:
    grams = {"min_gram_length": 1, "max_gram_length": 2, "ngram_indexes": whole(3, 1, 0)}
    for counts, row, skip, wanted in (
        ((0, 2), [7], 2, [0, 0, 0, 1]),
        ((0, 2), [8], 2, [0, 1, 0, 0]),
        ((0, 2), [7, 1, 8, 7, 8], 0, [1, 2, 0, 2]),
        ((0, 2), [7, 1, 8, 7, 8], 1, [2, 2, 0, 2]),
        ((0, 2), [7, 1, 8, 7, 8], 3, [3, 2, 0, 2]),
    ):
        attrs = grams | {"pool_int64s": whole(7, 8, 7, 8), "ngram_counts": counts, "max_skip_count": skip}
        same(run("TfIdfVectorizer", whole(*row), mode="TF", **attrs)[0], X(wanted))
        same(run("TfIdfVectorizer", whole(*row), mode="IDF", **attrs)[0], X(wanted) > 0)
    alone = {"pool_int64s": whole(7, 8), "ngram_counts": (0, 2), "max_skip_count": 0}  # no pairs in the pool
    same(
        run("TfIdfVectorizer", whole(7, 8, 8), mode="TF", **grams | alone | {"ngram_indexes": whole(1, 0)})[0],
        X([2, 1]),
    )
    with pytest.raises(OpError, match="wanted places in the pool of 2"):
        lookup("_onnx_TfIdfVectorizer").bind(mode="TF", **grams | alone | {"ngram_counts": (0, 3)})


def test_what_is_no_picture_is_decoded_to_nothing() -> None:
    for form, channels in (("RGB", 3), ("BGR", 3), ("Grayscale", 1)):
        (found,) = run("ImageDecoder", np.frombuffer(b"no picture", np.uint8), pixel_format=form)
        assert (found.shape, found.dtype) == ((0, 0, channels), np.uint8)


def test_pieces_of_a_given_size_keep_their_axis() -> None:
    data = np.arange(10, dtype=np.float32).reshape(5, 2)
    for keep in (True, False):
        for split, sizes in (
            (np.array(2), [2, 2, 1]),
            (np.array(1), [1] * 5),
            (whole(0, 4, 1), [0, 4, 1]),
            (np.array(9), [5]),
        ):
            op = lookup("_onnx_SplitToSequence").bind(given=("split",), keepdims=keep)
            found = unbox(op.compute(data, split))
            assert [len(part) for part in found] == sizes
            same(np.concatenate(found), data)
        found = unbox(lookup("_onnx_SplitToSequence").bind(keepdims=keep, axis=1).compute(data))
        assert [part.shape for part in found] == [(5, 1) if keep else (5,)] * 2
    for split in (np.array(0), np.array(-1), whole(2, 2), whole(6, -1)):
        with pytest.raises(OpError, match="got split="):
            lookup("_onnx_SplitToSequence").bind(given=("split",)).compute(data, split)
    with pytest.raises(OpError, match="got a sequence of 0 elements"):
        lookup("_onnx_ConcatFromSequence").bind(axis=0).compute(box([]))


def test_means_are_stashed_in_the_wider_dtype() -> None:
    """In float64 where that is asked for: numbers that differ by less than float32 has digits for stay apart."""
    x = X([[[1, 2, 4], [8, 9, 3]], [[5, 7, 1], [0, 2, 2]]])
    wide, scale, bias = x.astype(float), X([2, 3]), X([1, -1])
    attrs = {"stash_type": "float64", "epsilon": 1e-12}
    y, mean, inverse = run("LayerNormalization", x, X([2, 3, 5]), axis=-1, num_outputs=3, **attrs)
    middle, spread = wide.mean(-1, keepdims=True), wide.std(-1, keepdims=True)
    assert mean.dtype == inverse.dtype == np.float64 and y.dtype == np.float32
    np.testing.assert_allclose(mean, middle, rtol=1e-15)
    np.testing.assert_allclose(inverse, 1 / spread, rtol=1e-11)
    np.testing.assert_allclose(y, (wide - middle) / spread * [2, 3, 5], rtol=1e-6)
    big = x + X(2**20)  # whose squares float32 does not tell apart
    for groups in (1, 2):
        (y,) = run("GroupNormalization", big, scale, bias, num_groups=groups, **attrs)
        parts = wide.reshape(2, groups, -1)
        parts = (parts - parts.mean(-1, keepdims=True)) / parts.std(-1, keepdims=True)
        np.testing.assert_allclose(y, parts.reshape(x.shape) * scale[:, None] + bias[:, None], rtol=1e-5, atol=1e-6)


def test_values_that_inputs_may_have_are_told_input_by_input() -> None:
    """Of those that are drawn to compare a model with its translation; of others (None) any will do."""
    for name, attrs, shapes, wanted in (
        ("Attention", {"given": ("nonpad_kv_seqlen",)}, [(2, 4, 3, 4)] * 3 + [(2,)], {"nonpad_kv_seqlen": (0, 1, True)}),
        ("RotaryEmbedding", {"given": ("position_ids",)}, [(2, 3, 4, 6), (3, 3), (3, 3), (2, 4)],
         {"position_ids": (0, 1, True)}),
        ("ms_GroupQueryAttention", {"num_heads": 2, "kv_num_heads": 1, "given": ("position_ids",)}, [(2, 3, 8), (2,),
         (), (2, 3)],
         dict.fromkeys(("seqlens_k", "total_sequence_length", "position_ids"), (0, 1, True))),
        ("MaxUnpool", {"kernel_shape": (2,)}, [(1, 2, 3)] * 2, {"I": (0, 0, True)}),
        ("Resize", {"given": ("roi", "scales")}, [(2, 3), (0,), (2,)], {"roi": (1, 3, False), "scales": (1, 3, False)}),
        ("Resize", {"given": ("sizes",)}, [(2, 3), (2,)], {"sizes": (1, 3, True)}),
        ("RNN", {"given": ("sequence_lens",)}, [(5, 2, 4), (1, 3, 4), (1, 3, 3), (2,)], {"sequence_lens": (0, 5, True)}),
        ("RNN", {"given": ("sequence_lens",)}, [(UNKNOWN, 2, 4), (1, 3, 4), (1, 3, 3), (2,)], {}),
        ("RNN", {"given": ("sequence_lens",)}, [None] * 4, {}),
        ("RoiAlign", {}, [(1, 2, 3, 4), (5, 4), (5,)], dict.fromkeys(("rois", "batch_indices"), (0, 0, True))),
        ("NonMaxSuppression", {"given": ("max_output_boxes_per_class", "iou_threshold")}, [(1, 2, 4), (1, 3, 2), (), ()],
         {"iou_threshold": (0, 1, False)}),
        ("DFT", {"given": ("dft_length", "axis")}, [(2, 3, 1), (), ()], {"dft_length": (1, 8, True), "axis": (0, 0, True)}),
        ("STFT", {"given": ("window", "frame_length")}, [(2, 14, 1), (), (4,), ()],
         dict.fromkeys(("frame_step", "frame_length"), (1, 4, True))),
        ("HannWindow", {}, [()], {"size": (1, 9, True)}),
    ):  # fmt: skip
        op = lookup(f"_onnx_{name}").bind(**attrs)
        found = {n: op.domain(n, shapes) for n in op.input_names()}
        assert {n: d[:3] for n, d in found.items() if d is not None} == wanted, name


def test_gradients_of_other_shapes_than_the_outputs_are_refused() -> None:
    for name, attrs, arrays in (
        ("Tile", {}, [np.ones((2, 7)), np.ones((2, 3)), whole(1, 2)]),
        ("Tile", {}, [np.ones((2, 6)), np.ones((2, 3)), whole(1, 2, 1)]),
        ("Compress", {"axis": 1, "of": 0}, [np.ones((2, 2)), np.ones((2, 3)), np.array([1, 0, 0], bool)]),
        ("Compress", {"of": 0}, [np.ones(2), np.ones((2, 3)), np.array([1, 0, 0, 0, 1, 1], bool)]),
        ("DFT", {}, [np.ones((2, 4, 2)), np.ones((2, 3, 2))]),
        ("DFT", {"onesided": True}, [np.ones((2, 3, 2)), np.ones((2, 3, 1))]),
        ("Col2Im", {"of": 0}, [np.ones((1, 1, 3, 3)), np.ones((1, 4, 9)), whole(3, 3), whole(2, 2)]),
    ):
        with pytest.raises(OpError, match="wanted"):
            lookup(f"_backward__onnx_{name}").bind(**attrs).compute(*arrays)
    good = lookup("_backward__onnx_Tile").bind().compute(np.arange(12.0).reshape(2, 6), np.ones((2, 3)), whole(1, 2))
    same(good, [[3, 5, 7], [15, 17, 19]])


def test_optionals_know_whether_they_hold_anything() -> None:
    empty, word = box(None), np.array("word", object)
    for given, value, wanted in (((), None, False), (("input",), empty, False), (("input",), word, True),
    (("input",), X([1]), True),
                                 (("input",), np.array([None], object), True), (("input",), box([]), True)):  # fmt: skip
        op = lookup("_onnx_OptionalHasElement").bind(given=given)
        assert op.compute(*([value] if given else [])).item() is wanted
    getting = lookup("_onnx_OptionalGetElement").bind()
    assert getting.compute(word).item() == "word"
    with pytest.raises(OpError, match="ask OptionalHasElement first"):
        getting.compute(empty)


def test_words_are_padded_with_nothing() -> None:
    texts = np.array(["a", "b"], object)
    assert lookup("_onnx_Pad").bind().compute(texts, whole(1, 2)).tolist() == ["", "a", "b", "", ""]
    given = lookup("_onnx_Pad").bind(given=("constant_value",)).compute(texts, whole(-1, 1), np.array("x", object))
    assert given.tolist() == ["b", "x"]


def test_boxes_are_suppressed_by_the_share_that_they_have_in_common() -> None:
    """Strictly above the threshold; corners in any order, or the middle and the size."""
    boxes = X(
        [[1, 0, 3, 3], [3, 4, 1, 1], [1, 3, 3, 6], [1, 0, 3, 2]]
    )  # in common: 4 of 8, 0, 4 of 6; then 2 of 10, 2 of 8
    middles = X([[1.5, 2, 3, 2], [2.5, 2, 3, 2], [4.5, 2, 3, 2], [1, 2, 2, 2]])
    scores = X([[[0.9, 0.8, 0.7, 0.6]]])
    for overlap, least, most, wanted in (
        (0.5, 0, 4, [0, 1, 2]),
        (0.49, 0, 4, [0, 2]),
        (0.25, 0, 4, [0, 2]),
        (0.7, 0, 4, [0, 1, 2, 3]),
        (0.7, 0, 2, [0, 1]),
        (0.7, 0.7, 4, [0, 1]),
        (0.7, 0.65, 4, [0, 1, 2]),
        (0.2, 0.85, 4, [0]),
    ):
        limits = whole(most), X([overlap]), X([np.nextafter(X(least), X(0)) if least == 0.65 else least])
        given = ("max_output_boxes_per_class", "iou_threshold", "score_threshold")
        for own, center in ((boxes, False), (middles, True)):
            (got,) = run("NonMaxSuppression", own[None], scores, *limits, given=given, center_point_box=center)
            assert got.tolist() == [[0, 0, i] for i in wanted], (overlap, least, most, center)
    two = np.stack([boxes, boxes[::-1]]), X([[[0.9, 0.8, 0.7, 0.6]] * 2, [[0.6, 0.7, 0.8, 0.9]] * 2])
    (got,) = run("NonMaxSuppression", *two, whole(1), given=("max_output_boxes_per_class",))
    assert got.tolist() == [[0, 0, 0], [0, 1, 0], [1, 0, 3], [1, 1, 3]]


def test_the_gradient_of_a_scale_is_linear_in_that_of_what_was_scaled() -> None:
    x, zero, h = np.uint8([[5, 7, 2], [9, 1, 4]]), np.uint8([3, 1]), single(2, 3)
    for scale, given, wanted in (
        (X([2, 3]), ("x_zero_point",), (x.astype(float) - [[3], [1]]) * [[5], [7]]),
        (X([2, 3]), (), x.astype(float) * [[5], [7]]),
        (X(2), (), x.astype(float) * 5),
    ):
        scales, heads = nd.array(scale), nd.array(h)
        for variable in (scales, heads):
            variable.attach_grad()
        with autograd.record():
            more = [nd.array(zero, dtype="uint8")] * len(given)
            y = nd._internal._onnx_DequantizeLinear(nd.array(x, dtype="uint8"), scales, *more, axis=0, given=given)
            (first,) = autograd.grad(y, [scales], head_grads=heads, create_graph=True, retain_graph=True)
        each = wanted * h / ([[5], [7]] if scale.ndim else 5)
        np.testing.assert_allclose(first.asnumpy(), each.sum(1) if scale.ndim else each.sum(), rtol=1e-6)
        first.backward(nd.array(X([5, 7]) if scale.ndim else X(5)))
        assert heads.grad is not None
        np.testing.assert_allclose(heads.grad.asnumpy(), wanted, rtol=1e-6)


def test_what_a_transposed_convolution_may_add() -> None:
    """Less than the stride or the dilation, whichever is more; onnxruntime says so."""
    x, w = np.arange(8, dtype=np.float32).reshape(1, 2, 4), np.arange(18, dtype=np.float32).reshape(2, 3, 3)
    for added, stride, dilation in ((0, 1, 1), (1, 2, 1), (2, 3, 1), (1, 1, 2)):
        attrs = {"output_padding": (added,), "strides": (stride,), "dilations": (dilation,)}
        assert run("ConvTranspose", x, w, **attrs)[0].shape == (1, 3, 3 * stride + 2 * dilation + 1 + added)
        for wrong in (max(stride, dilation), -1, 2**62):
            with pytest.raises(MXNetError, match="wanted less than strides or dilations"):
                run("ConvTranspose", x, w, **{**attrs, "output_padding": (wrong,)})
            with pytest.raises(MXNetError, match="wanted less than strides or dilations"):
                run("ConvTranspose", x, w, **{**attrs, "output_padding": (wrong,), "output_shape": (6,)})
