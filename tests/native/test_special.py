"""Values that are no numbers, and positions that there are not, by every kernel as NumPy has it; and kernels bound to what they
were not made for (mutations.py)."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from hybrid import native
from hybrid.core.error import MXNetError
from hybrid.core.op import FUSED
from tests.native.applications import Application, applications, names
from tests.native.mutations import changes, outcome
from tests.native.single import LeftToNumPy, Single, reference
from tests.native.test_kernels import near

pytestmark = [
    pytest.mark.skipif(not native.LEVELS, reason="there is no compiled part"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # of NumPy about such values
]

KINDS = {
    "nan": (np.nan,),
    "inf": (np.inf,),
    "-inf": (-np.inf,),
    "all": (np.nan, np.inf, -np.inf, -0.0),
    "positions": (-1, -2, 1e9, 2.0**31, -(2.0**31), 2.0**63, 1e30, -1e30, 0.5, 3.99, -0.5),
}
LARGEST = 12
"""Applications of an operator that are tried."""

APART = {
    # Padding times a weight that is no number: the kernel looks at taps that lie beyond the data, which are 0 there.
    "Deconvolution": {1},
    "UpSampling": {1},
    "_backward_Convolution_data": {1},
    "_backward_Convolution_weight": {0},
    "_backward_Deconvolution_weight": {0},
    # NumPy's form is a product of matrices, where a NaN goes along all of its row; the kernel leaves it where it comes from.
    "_contrib_ROIAlign": {0},
    "_backward_ROIAlign": {0},
    "_backward__contrib_BilinearResize2D": {0},
    # Sums are made in float64 by NumPy, where nothing is infinite that is large; and padding is read there, where the kernel reads
    # the outermost pixel with a weight of 0.
    "_contrib_DeformableConvolution": {0, 2},
    "_contrib_ModulatedDeformableConvolution": {0, 2, 3},
    "_onnx_DeformConv": {0, 1, 4},
    # Gates never come to 0, so that an infinite state keeps its sign where NumPy has 0 times infinity.
    "RNN": {1, 2, 3},
    "_backward_RNN": {0, 1, 2, 3, 4, 5, 6, 7},
    # An infinite gamma is multiplied earlier or later.
    "GroupNorm": {1},
    "InstanceNorm": {1},
    "_backward_normalization": {2},
    "_backward_batch_normalization": {2},
    # Values of keys that masks hide are not read, where NumPy has 0 times what they are.
    "_fused_attention": {1, 2},
    # Probabilities are never infinite.
    "_backward_softmax": {1},
}
"""Inputs, by operator, that get no such values, and why."""


def spoilt(application: Application, kind: str, rng: np.random.Generator) -> list[np.ndarray]:
    """The inputs with some of these values in floats and, as far as these hold them, in integers."""
    arrays = [a.copy() for a in application.arrays]
    for i, array in enumerate(arrays):
        if (
            i in APART.get(application.op.name, ())
            or not array.size
            or (array.dtype.kind != "f" and kind != "positions")
        ):
            continue
        at = rng.integers(0, array.size, max(1, array.size // 16))
        chosen = rng.choice(KINDS[kind], len(at))
        array.reshape(-1)[at] = chosen.astype(array.dtype)
    return arrays


@pytest.mark.parametrize("name", sorted(names()))
def test_special_values(name, level):
    for number, application in enumerate(applications()[name][:LARGEST]):
        op, arrays = application.op, application.arrays
        if not arrays or not native.has_kernel(name, arrays[0].dtype):
            continue
        if name.startswith(FUSED) and any(a.ndim == 5 for a in arrays):
            continue  # what lies beyond the channels is anything: test_conv and test_pool look at these
        for kind in KINDS:
            given = spoilt(application, kind, np.random.default_rng((zlib.crc32(name.encode()), number, len(kind))))
            try:
                single = Single(op, given)
                want = reference(op, [a.copy() for a in given], single.specs)
            except MXNetError:  # values that NumPy refuses; so does whoever runs the compiled step
                continue
            if not single.there:
                continue
            try:
                found = single.run(given)
            except LeftToNumPy:
                continue
            for made, wanted in zip(found, want):
                try:
                    near(op, made, wanted)
                except AssertionError as error:
                    raise AssertionError(f"{application.source}, {kind}: {op!r}\n{error}") from error


@pytest.mark.parametrize("name", sorted(names()))
def test_kernels_decline_or_keep_to_their_memory(name, level):
    """With a dim, a rank, a dtype, an attribute, an operand or a result changed, past all inference."""
    for changed in changes(name, 12, 2024):
        try:
            outcome(changed)
        except AssertionError as error:
            raise AssertionError(f"{changed.what}: {changed.op!r} {changed.attrs}\n{error}") from error
