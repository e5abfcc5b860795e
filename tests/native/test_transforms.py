"""Fourier transforms, factorizations, losses over sequences and products of whole numbers: sizes and values that no example has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hybrid import native
from hybrid.core.op import lookup
from tests.native.single import LeftToNumPy, Single, reference
from tests.native.test_kernels import agree

pytestmark = [
    pytest.mark.skipif(not native.LEVELS, reason="there is no compiled part"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def same(name: str, *arrays: Any, **attrs: Any) -> None:
    """The operator has a kernel for these arrays, which gives what NumPy gives."""
    assert agree(lookup(name).bind(**attrs), [np.asarray(a) for a in arrays]), f"{name} {attrs}: there is no kernel"


def refused(name: str, *arrays: Any, **attrs: Any) -> None:
    """The kernel leaves these values to NumPy."""
    single = Single(lookup(name).bind(**attrs), [np.asarray(a) for a in arrays])
    assert single.there
    with pytest.raises(LeftToNumPy):
        single.run([np.asarray(a) for a in arrays])


LENGTHS = (*range(1, 20), 31, 32, 34, 37, 64, 67, 74, 96, 97, 194, 360, 1009)
"""With factors that are summed up as they are, and with larger ones."""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_transforms_of_all_lengths(dtype, level, rng):
    for length in LENGTHS:
        real, pairs = rng.normal(size=(2, length, 1)).astype(dtype), rng.normal(size=(2, length, 2)).astype(dtype)
        same("_contrib_fft", real[..., 0])
        same("_contrib_ifft", pairs.reshape(2, -1))


def test_frames(level, rng):
    signal = rng.normal(size=(2, 50, 1)).astype(np.float32)
    for length, step in ((1, 1), (7, 3), (16, 16), (50, 4)):
        window = rng.normal(size=length).astype(np.float32)
        same("_onnx_STFT", signal, step, window, given=("window",))
        same("_onnx_STFT", signal, step, length, given=("frame_length",), onesided=False)
    same("_onnx_STFT", rng.normal(size=(1, 9, 2)), 2, 4, given=("frame_length",), onesided=False)


def test_factors(level, rng):
    for size in (0, 1, 2, 5, 17, 64):
        a = rng.normal(size=(3, size, size))
        positive = a @ a.swapaxes(-1, -2) + np.eye(size)
        b, row = rng.normal(size=(3, size, 2)), rng.normal(size=(3, 2, size))
        for dtype in ("float32", "float64"):
            for name in ("_linalg_inverse", "_linalg_det", "_linalg_slogdet", "_linalg_potrf", "_linalg_gelqf"):
                same(name, positive.astype(dtype))
            for transpose in (False, True):
                for lower in (False, True):
                    attrs = {"transpose": transpose, "lower": lower, "alpha": 0.5}
                    same("_linalg_trsm", positive.astype(dtype), b.astype(dtype), **attrs)
                    same("_linalg_trsm", positive.astype(dtype), row.astype(dtype), rightside=True, **attrs)
    same("_linalg_gelqf", rng.normal(size=(2, 3, 7)))
    same("_onnx_Det", np.float32([[0, 1], [1, 0]]))
    same("_linalg_slogdet", np.float64([[[1, 2], [2, 4]], [[0, 2], [3, 1]]]))


def test_matrices_without_factors(level):
    refused("_linalg_inverse", np.float32([[1, 2], [2, 4]]))
    refused("_linalg_potrf", np.float32([[1, 2], [2, 1]]))
    refused("_linalg_trsm", np.float32([[1, 0], [2, 0]]), np.ones((2, 1), np.float32))
    refused("_linalg_det", np.float32([[1, np.nan], [2, 4]]))
    refused("_linalg_gelqf", np.float64([[1e-200, 1]]))


def test_labels(level, rng):
    data = rng.normal(size=(9, 4, 6))
    label = np.float32([[1, 2, 2, 0], [5, 0, 0, 0], [0, 3, 1, 1], [3, 3, 3, 3]])
    spans, sizes = np.float32([9, 2, 0, 7]), np.float32([3, 1, 4, 4])
    for dtype in ("float32", "float64"):
        for blank in ("first", "last"):
            scores, own = data.astype(dtype), {"blank_label": blank}
            same("CTCLoss", scores, label, **own)
            same("CTCLoss", scores, label, spans, sizes, use_data_lengths=True, use_label_lengths=True, **own)
            same("CTCLoss", scores, label, sizes, use_label_lengths=True, **own)
            dy = rng.normal(size=4).astype(dtype)
            same("_backward_CTCLoss", dy, scores, label, **own)
            lengths = {"use_data_lengths": True, "use_label_lengths": True}
            same("_backward_CTCLoss", dy, scores, label, spans, sizes, **lengths, **own)
    refused("CTCLoss", data, label + 3)
    refused("CTCLoss", data, label, sizes + 1, use_label_lengths=True)


def test_classes(level, rng):
    scores, classes = rng.normal(size=(3, 5, 2)).astype(np.float32), np.array([[0, 4], [-1, 2], [2, 2]])
    weight = np.float32([0, 1, 2, 0.5, 1])
    for reduction in ("none", "sum", "mean"):
        for ignored in (None, 2):
            attrs = {"reduction": reduction, "ignore_index": ignored}
            same("_onnx_NegativeLogLikelihoodLoss", scores, classes, **attrs)
            same("_onnx_NegativeLogLikelihoodLoss", scores, classes, weight, given=("weight",), **attrs)
    same("_onnx_NegativeLogLikelihoodLoss", scores[:0], classes[:0])
    refused("_onnx_NegativeLogLikelihoodLoss", scores, classes + 1)


INTEGERS = ("int8", "uint8", "int32", "int64", "bool")


@pytest.mark.parametrize("dtype", INTEGERS)
def test_whole_products(dtype, level, rng):
    def numbers(*shape: int) -> np.ndarray:
        return rng.integers(-100, 100, shape).astype(dtype)

    for m, n, k in ((1, 1, 1), (3, 17, 5), (4, 2, 0), (0, 3, 2)):
        for ta in (False, True):
            for tb in (False, True):
                a, b = numbers(*((k, m) if ta else (m, k))), numbers(*((n, k) if tb else (k, n)))
                same("dot", a, b, transpose_a=ta, transpose_b=tb)
                same("batch_dot", np.stack([a, a]), np.stack([b, b]), transpose_a=ta, transpose_b=tb)
    same("_npi_matmul", numbers(2, 1, 3, 4), numbers(5, 4, 2))
    same("_np_dot", numbers(2, 3, 4), numbers(5, 4, 2))
    same("FullyConnected", numbers(3, 4), numbers(5, 4), numbers(5), num_hidden=5)


def test_sums_of_what_is_infinite(level):
    rows = [[1, np.inf, 2], [1, 2, np.inf], [np.inf, np.nan, np.nan], [np.nan, np.nan, np.nan], [-np.inf, np.inf, 1]]
    for dtype in ("float32", "float64"):
        x = np.array(rows, dtype)
        for axis in ((0,), (1,), (0, 1)):
            same("nansum", x, axis=axis)
            same("nansum", x[:, :, None] * np.ones(70, dtype), axis=axis)


def test_places(level, rng):
    data, mask = rng.normal(size=(2, 3, 4)), np.float32([[0, np.nan, -0.0], [1, 0, 0.5]])
    same("_npi_boolean_mask_assign_tensor", data, mask, rng.normal(size=(3, 4)), start_axis=0)
    same("_npi_boolean_mask_assign_tensor", data, mask, rng.normal(size=(1, 4)), start_axis=0)
    same("_npi_boolean_mask_assign_tensor", data, mask[0], rng.normal(size=(2, 1, 1)), start_axis=1)
    refused("_npi_boolean_mask_assign_tensor", data, mask, rng.normal(size=(2, 4)), start_axis=0)
    same("_npi_insert_tensor", data, rng.normal(size=(3, 4)), np.array([2, -1, 0]), axis=1)
    same("_npi_insert_tensor", data, rng.normal(size=(2, 2, 4)), np.array([1]), axis=1)
    same("_npi_insert_tensor", data, rng.normal(size=(2, 2, 4)), np.array(-1), axis=1)
    refused("_npi_insert_tensor", data, rng.normal(size=(1, 1, 4)), np.array([1, 4]), axis=1)
    same("_onnx_ReverseSequence", data, np.array([3, 0]), batch_axis=0, time_axis=1)
    refused("_onnx_ReverseSequence", data, np.array([4, 0]), batch_axis=0, time_axis=1)
    same("_unravel_index", np.float32([0, 7, -5, 11.5]), shape=(3, 2, 2))
    refused("_contrib_count_sketch", data[0], np.ones((1, 4)), np.full((1, 4), 9.0), out_dim=1)


def test_windows(level, rng):
    for shape, attrs in (
        ((2, 3, 7), {"kernel": (3,), "stride": (2,), "pad": (4,)}),
        ((1, 2, 5, 6), {"kernel": (2, 3), "dilate": (2, 1), "pad": (1, 2)}),
        ((1, 1, 3, 4, 5), {"kernel": (2, 2, 2), "stride": (1, 2, 3)}),
        ((0, 2, 4, 4), {"kernel": (2, 2)}),
    ):
        for dtype in ("float32", "float64", "int8", "bool"):
            x = rng.integers(-100, 100, shape).astype(dtype)
            same("im2col", x, **attrs)
            (columns,) = reference(
                lookup("im2col").bind(**attrs), [x], Single(lookup("im2col").bind(**attrs), [x]).specs
            )
            same("col2im", columns, output_size=shape[2:], **attrs)
            same("_backward_im2col", columns, x, **attrs)
    refused("_onnx_Col2Im", np.ones((1, 4, 6), np.float32), np.array([3, 4]), np.array([2, 2]), strides=(2, 2))


def test_first_pooling(level, rng):
    x = rng.normal(size=(2, 2, 6, 7)).astype(np.float32)
    x[0, 0, 2, 3] = np.nan
    for kind in ("max", "avg", "sum"):
        for convention in ("valid", "full"):
            for kernel, stride, pad in (((3, 3), (2, 2), (1, 1)), ((2, 3), (3, 2), (1, 0)), ((6, 7), (1, 1), (0, 2))):
                attrs = {"kernel": kernel, "stride": stride, "pad": pad, "pooling_convention": convention}
                same("Pooling_v1", x - 3, pool_type=kind, **attrs)
        same("Pooling_v1", x, pool_type=kind, global_pool=True)
