"""Operators' own examples written with every size left free, or in another dtype than theirs, wherever that is written otherwise
than the example as it stands: onnxruntime computes what the engine does. No operator is named here but with a reason."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator

import numpy as np
import onnx
import pytest

import converters
from converters.export import Spec
from converters.registry import EXPORT, PASSTHROUGH
from hybrid.core.attrs import DTypeKind
from hybrid.core.error import MXNetError
from hybrid.core.op import Example
from hybrid.execution.program import Program
from tests.grouped import run
from tests.table.examples import examples, graph_of
from tests.table.goldens import PARAMETERS, close
from tests.table.test_goldens import run_onnx

ALL = [e for e in examples() if e.op.name in EXPORT and e.op.name not in PASSTHROUGH and e.op.name[:6] != "_onnx_"]
DTYPES = ("float16", "float64", "int32")

FLOATS_ALONE = ("_contrib_fft", "_contrib_ifft", "_linalg_gemm")
"""What MXNet computes of floats alone: of whole numbers the engine and what is written round where they may."""
FLOAT32_KERNELS = tuple(
    name
    for line in (
        "Activation Convolution Convolution_v1 Correlation Deconvolution GroupNorm InstanceNorm LRN Pooling Pooling_v1",
        "ROIPooling UpSampling _contrib_AdaptiveAvgPooling2D _contrib_BilinearResize2D _contrib_box_nms _npi_arccos",
        "_npi_arccosh _npi_arcsin _npi_arcsinh _npi_arctan _npi_arctan2 _npi_arctan2_scalar _npi_arctanh _npi_rarctan2_scalar",
        "arccos arccosh arcsin arcsinh arctan arctanh col2im log_sigmoid mish softsign _contrib_ifft",
    )
    for name in line.split()
)
"""What onnxruntime computes in float32 alone, with casts around it in float64, or in part (the 1/n of an inverse DFT). Everything
else is as exact as float64."""
INSIDE = "_contrib_interleaved_matmul_", "_sg_mkldnn_selfatt_"
"""Scaled by the root of a size, which in whole numbers may be cut off before or after; MXNet multiplies floats alone."""


def written(example: Example, opset: int | None = None, *, free: bool = False) -> onnx.ModelProto | None:
    """The example with parameters stored; if free, every axis of every input by a name of its own but for those whose size has
    to be known. None where it is refused."""
    graph, feeds = graph_of(example)
    stored = {k: v for k, v in feeds.items() if k in PARAMETERS}
    dims = {k: [f"{k}_{a}" if free else n for a, n in enumerate(v.shape)] for k, v in feeds.items() if k not in stored}
    while True:
        try:
            return converters.to_onnx(
                graph, stored, {k: Spec(tuple(d), feeds[k].dtype) for k, d in dims.items()}, opset
            )
        except converters.UnsupportedModel as refusal:
            wanted = re.search(r"needs the size of axis (-?\d+) of (\w+), which is dynamic", str(refusal))
            if wanted is None or wanted[2] not in dims:
                return None
            axis, name = int(wanted[1]), wanted[2]
            assert isinstance(dims[name][axis], str), refusal  # it is there
            dims[name][axis] = feeds[name].shape[axis]


def kinds(model: onnx.ModelProto) -> list[str]:
    return [n.op_type for n in model.graph.node]


def agrees(example: Example, model: onnx.ModelProto) -> None:
    graph, feeds = graph_of(example)
    try:
        with np.errstate(all="ignore"):
            wants = Program(graph).run(feeds)
    except MXNetError:
        return  # numbers that it does not take
    dtypes = {v.dtype.name for v in feeds.values()}
    wide = "float64" in dtypes and "float32" not in dtypes and example.op.name not in FLOAT32_KERNELS
    narrow = np.float16 if "float16" in dtypes else np.float64 if wide else np.float32
    for got, want in zip(run_onnx(model, feeds), wants, strict=True):
        if "rng" in example.op.needs:
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
        else:
            close(got, want, example.op, float(np.finfo(narrow).eps))


def with_free_sizes() -> Iterator[tuple[str, Callable[[], None]]]:
    for number, example in enumerate(ALL):
        for opset in (None, *(since for since in EXPORT[example.op.name] if since > converters.default_opset())):
            model = written(example, opset, free=True)
            if model is not None and (opset or any(n in ("Shape", "Size", "NonZero") for n in kinds(model))):
                yield f"{number} {example.op!r} {opset or ''}", lambda e=example, m=model: agrees(e, m)


def _in(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Of about the same numbers: in float64 none of those between whole numbers is one of float32."""
    if dtype == np.float64:
        return np.where(a == np.round(a), a, a * np.float64(1 + 2**-40))
    return np.asarray(a if dtype.kind == "f" else np.round(a * 5)).astype(dtype)


def in_other_dtypes() -> Iterator[tuple[str, Callable[[], None]]]:
    for number, example in enumerate(ALL):
        if not any(a.dtype == np.float32 for a in example.arrays):
            continue
        before = written(example)
        for dtype in map(np.dtype, DTYPES if before is not None else ()):
            if dtype.kind == "i" and (example.op.name in FLOATS_ALONE or example.op.name.startswith(INSIDE)):
                continue
            with np.errstate(all="ignore"):
                arrays = tuple(_in(a, dtype) if a.dtype == np.float32 else a for a in example.arrays)
            changed = Example(example.op, arrays)
            try:
                model = written(changed)
            except (MXNetError, converters.ConversionError):
                continue  # not for that dtype
            first = dtype == np.float64 and (not number or ALL[number - 1].op.name != example.op.name)
            if model is not None and before is not None and (first or kinds(model) != kinds(before)):
                yield f"{number} {example.op!r} {dtype}", lambda e=changed, m=model: agrees(e, m)


def with_dtypes_asked_for() -> Iterator[tuple[str, Callable[[], None]]]:
    """Every attribute that is a dtype, asked for with data of each."""
    for number, example in enumerate(ALL):
        op = example.op
        for name in (n for n, f in op.fields.items() if isinstance(getattr(f.kind, "kind", f.kind), DTypeKind)):
            own = ("float32",)
            if any(a.dtype == np.float32 for a in example.arrays) and "rng" not in op.needs:
                own = ("float32", *DTYPES)
            for wanted, dtype in itertools.product((*DTYPES, "int8"), own):
                arrays = tuple(
                    np.asarray(np.round(a * 2) if dtype[0] == "i" else a * 1.7).astype(dtype)
                    if a.dtype == np.float32
                    else a
                    for a in example.arrays
                )
                try:
                    changed = Example(type(op).bind(**{**op.dump(), name: wanted}), arrays)
                    model = written(changed)
                except (MXNetError, converters.ConversionError):
                    continue  # not for these
                if model is not None:
                    yield f"{number} {changed.op!r} of {dtype}", lambda e=changed, m=model: agrees(e, m)


@pytest.mark.parametrize(
    ("rows", "least"), [(with_free_sizes, 90), (in_other_dtypes, 400), (with_dtypes_asked_for, 400)]
)
def test_written_otherwise_and_the_same(
    rows: Callable[[], Iterator[tuple[str, Callable[[], None]]]], least: int
) -> None:
    found = list(rows())
    assert len(found) > least
    run(found, lambda check: check())
