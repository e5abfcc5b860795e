"""Every kernel against NumPy, on all applications that there are of its operator (applications.py), at every CPU level."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

from hybrid import native
from hybrid.core.attrs import dtype as dtype_of
from hybrid.core.error import MXNetError
from hybrid.core.op import FUSED, Op, lookup
from tests.native.applications import applications, names
from tests.native.single import LeftToNumPy, Single, reference, specs_of

pytestmark = [
    pytest.mark.skipif(not native.LEVELS, reason="there is no compiled part"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # of NumPy about what the applications ask for
]

HALF = r".*float16.*|.*-f16"
REDUCED = rf"{HALF}|to-.*|zero-size-.*|axis-empty-more"
DECLINED = {
    "BatchNorm": HALF,  # statistics stay float32 beside data of float16
    "L2Normalization": "rank1",
    "Pooling": ".*-NHWC",
    "RNN": ".*projection.*",
    "SequenceLast": HALF,  # lengths of float16, as are those below
    "SequenceReverse": HALF,
    "_arange": f"f16.*|{HALF}",  # what has no input is not widened, as those of one value below
    "_full": HALF,
    "_linalg_potrf": "lowerFalse",
    "_ones": HALF,
    "_zeros": HALF,
    "_backward_Pad": "gradient of Pad",  # of edges and reflections: sums
    "_backward_normalization": "gradient of LayerNorm",  # along an inner axis
    "_contrib_box_nms": "topk0.*",
    "_onnx_MaxPool": "example",  # with positions
    "_linalg_gemm": "axis.*",
    "_linalg_gemm2": "axis.*",
    "_np_cumsum": "int32-to-f32|.*-to-(float|u?int|bool).*",
    "_np_max": "zero-size.*",
    "_np_min": "zero-size.*",
    "_np_prod": REDUCED,
    "_np_sum": REDUCED,
    "_npi_mean": REDUCED,
    "_npi_insert_tensor": "f16-values",  # in an array of another dtype
    "_npi_pad": "maximum.*|minimum.*",
    "_onnx_DequantizeLinear": "example",  # along a last axis, in blocks
    "_onnx_QuantizeLinear": "example",  # as above
    "_slice_assign": "negative-step",
    "log_softmax": r".*float(16|64).*",
    "one_hot": HALF,
    "softmax": r".*float(16|64).*|length-axis.*",
    "softmin": r".*float(16|64).*",
}
"""Operators with applications that their kernels leave to NumPy though there is one for the dtype: sources of these."""

AS = {"opaque1": "float8_e4m3fn", "opaque2": "uint16", "opaque4": "uint32", "opaque8": "uint64"}
OPAQUE = frozenset(AS)
FLOATS = frozenset(("float32", "float64"))
UNREACHED = {
    "Cast": OPAQUE,
    "Embedding": OPAQUE,  # the first input holds indices
    "_contrib_SparseEmbedding": OPAQUE,
    "_onnx_Resize": {"opaque1"},  # which ONNX has no such images of
    "one_hot": OPAQUE,
    "_backward_cast_like": OPAQUE,
    "_onnx_CastLike": OPAQUE,
    "_backward_widen_like": OPAQUE | {"bool", "int32", "int64", "int8", "uint8", "bfloat16", "float64"},
    "_fused_concat": OPAQUE,  # blocked data are float32
    "amp_cast": OPAQUE | {"bool", "int8", "uint8"},
    # which the operators refuse
    **dict.fromkeys(
        ("_npi_ediff1d", "_npi_percentile", "_onnx_ArgMax", "_onnx_ArgMin", "_onnx_OneHot", "_onnx_TopK"),
        frozenset(("bool",)),
    ),
    **dict.fromkeys(
        ("_onnx_CumProd", "_onnx_CumSum", "_onnx_ReduceMean", "_onnx_ReduceProd", "_onnx_ReduceSum"),
        frozenset(("bool", "int8", "uint8")),
    ),
    # sums of rows are made in floats
    **dict.fromkeys(
        ("_backward_Embedding", "_backward__contrib_SparseEmbedding", "_backward_take"),
        OPAQUE | {"bfloat16", "bool", "float16", "int32", "int64", "int8", "uint8"},
    ),
    # conditions of other dtypes are NumPy's
    **dict.fromkeys(("where", "_npi_where"), OPAQUE),
    # indices are cast along with what is tested; the kernels cannot read them in these dtypes
    **dict.fromkeys(("_backward_pick", "_backward_SequenceMask", "_scatter_set_nd", "fill_element_0index"), OPAQUE),
}
"""Rows of kernels.inc, by operator, that take nothing: KERNEL_ANY says more than these kernels do."""


def agree(op: Op, arrays: Sequence[np.ndarray]) -> bool:
    """True where there is a kernel; it has to give what NumPy gives, with inputs constant or not."""
    wanted = specs = None
    for constants in ((), range(1, len(arrays))):
        single = Single(op, arrays, constants, specs=specs)
        specs = single.specs
        if not single.there:
            return False
        given = [a.copy() for a in arrays]
        wanted = reference(op, [a.copy() for a in arrays], specs) if wanted is None else wanted
        try:
            made = single.run(given)
        except LeftToNumPy:
            return False
        for i, (got, want) in enumerate(zip(made, wanted, strict=True)):
            try:
                near(op, got, want)
            except AssertionError:
                exact = exactly(op, arrays, i)
                if exact is None:
                    raise
                near(op, got, want, exact)
    return True


def exactly(op: Op, arrays: Sequence[np.ndarray], output: int) -> np.ndarray | None:
    """Results in float64, against which NumPy itself may have lost digits; None where it cannot be asked."""
    if any(a.dtype != np.float32 for a in arrays):
        return None
    wide = [a.astype(np.float64) for a in arrays]
    return reference(op, wide, specs_of(op, wide))[output]


def near(op: Op, got: np.ndarray, want: np.ndarray, exact: np.ndarray | None = None) -> None:
    """The tolerance is the operator's own, in epsilons of the dtype times the output's scale; against NumPy, or against what is
    exact, element by element."""
    if op.name.startswith(FUSED) and want.ndim == 5 and got.shape != want.shape:
        raise AssertionError(f"{got.shape} instead of {want.shape}")
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    finite = np.abs(want[np.isfinite(want)])
    scale = float(finite.max(initial=0)) or 1.0
    bound = max(op.tolerance, 4) * max(float(np.finfo(want.dtype).eps), op.epsilon)
    np.testing.assert_allclose(got, want if exact is None else exact, rtol=bound, atol=bound * scale)


@pytest.mark.parametrize("name", sorted(names()))
def test_applications(name, level):
    """The kernel gives NumPy's numbers, and it is there wherever it is not said above that it is not."""
    taken = []
    for source, op, arrays in applications()[name]:
        if not native.has_kernel(name, (arrays or specs_of(op, arrays))[0].dtype):
            continue
        try:
            taken.append(agree(op, arrays))
        except AssertionError as error:
            raise AssertionError(f"{source}: {op!r}\n{error}") from error
        assert taken[-1] or re.fullmatch(DECLINED.get(name, ""), source), f"{source}: the kernel declines {op!r}"
    assert any(taken), "no application reaches the kernel"


def test_every_row_is_reached(level):
    """Every row of kernels.inc computes something right, but for those that are said to take nothing."""
    rows: dict[str, set[str]] = {}
    for name, dtype in native.kernels():
        rows.setdefault(name, set()).add(dtype)
    assert set(UNREACHED) <= set(rows) and set(DECLINED) <= set(rows)
    for name, dtypes in sorted(rows.items()):
        missed = {d for d in dtypes - UNREACHED.get(name, frozenset()) if not reached(name, d)}
        assert not missed, f"{name}: nothing reaches its kernel for {', '.join(sorted(missed))}"


def reached(name: str, dtype: str) -> bool:
    """True where an application of the operator agrees when its first input, and what has the same dtype, is cast to this one."""
    wanted = dtype_of(AS.get(dtype, dtype))
    for _, op, arrays in applications()[name]:
        try:
            if not arrays:
                op = type(op).bind(**{**{n: getattr(op, n) for n in op.fields}, "dtype": wanted})
            given = [a.astype(wanted) if a.dtype == arrays[0].dtype else a for a in arrays]
            if agree(op, given):
                return True
        except MXNetError:  # the operator has no such dtype with these attributes
            continue
    return False


def test_what_one_element_gains_excuses_no_other():
    """A kernel is held to float64 in each element where NumPy has lost digits, not in the worst of them."""
    op = lookup("exp").bind()
    exact = np.array([1.0, 1.0, 100.0])
    numpy = (exact * (1 + np.array([0, 0, 1e-4]))).astype(np.float32)
    near(op, exact.astype(np.float32), numpy, exact)
    with pytest.raises(AssertionError):
        near(op, (exact * (1 + np.array([0, 1e-2, 0]))).astype(np.float32), numpy, exact)
