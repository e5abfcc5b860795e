"""Operators' own examples written with every size left free, or in another dtype than theirs, wherever that is written otherwise
than the example as it stands: onnxruntime computes what the engine does. No operator is named here but with a reason."""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime.capi.onnxruntime_pybind11_state as pybind
import pytest

import converters
from converters.export import Spec
from converters.registry import EXPORT, PASSTHROUGH
from hybrid.core.attrs import DTypeKind
from hybrid.core.error import MXNetError
from hybrid.core.op import Example, lookup
from hybrid.core.shapes import is_known
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import infer
from tests import shares
from tests.grouped import run
from tests.table.examples import examples, graph_of
from tests.table.goldens import PARAMETERS, close
from tests.table.test_core import cut
from tests.table.test_goldens import run_onnx

ALL = [e for e in examples() if e.op.name in EXPORT and e.op.name not in PASSTHROUGH and e.op.name[:6] != "_onnx_"]
DTYPES = ("float16", "float64", "int32")

FLOATS_ALONE = ("_contrib_fft", "_contrib_ifft", "_linalg_gemm")
"""Operators that MXNet computes of floats alone: of whole numbers the engine and the written model round where they may."""
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
"""Operators that onnxruntime computes in float32 alone, with casts around them in float64, or in part (the 1/n of an inverse
DFT). Everything else is as exact as float64."""
INSIDE = "_contrib_interleaved_matmul_", "_sg_mkldnn_selfatt_"
"""Scaled by the root of a size, which in whole numbers may be cut off before or after; MXNet multiplies floats alone."""

NO_BOOLS = "_npi_arctan2", "_npi_svd"
"""Operators that MXNet refuses bools of, or whose results are not unique."""
STOPPING = ("prod",)
"""Operators of whole numbers that onnxruntime computes in float64, and stops at the largest."""


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


def has_ranks(model: onnx.ModelProto) -> bool:
    """True where the ranks of all results are known."""
    return all(o.type.tensor_type.HasField("shape") for o in model.graph.output)


@functools.cache
def plain(number: int) -> onnx.ModelProto | None:
    """The example as it stands."""
    return written(ALL[number])


def kinds(model: onnx.ModelProto) -> list[str]:
    return [n.op_type for n in model.graph.node]


def content(model: onnx.ModelProto) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    return list(model.graph.node), list(model.graph.initializer)


def agrees(example: Example, model: onnx.ModelProto, given: Mapping[str, np.ndarray] | None = None) -> None:
    """given: what the model takes, if something else than the example; it gives all results along one axis then."""
    graph, feeds = graph_of(example)
    try:
        with np.errstate(all="ignore"):
            wants = Program(graph).run(feeds)
    except MXNetError:
        return  # numbers that it does not take
    dtypes = {v.dtype.name for v in feeds.values()}
    wide = "float64" in dtypes and "float32" not in dtypes and example.op.name not in FLOAT32_KERNELS
    narrow = np.float16 if "float16" in dtypes else np.float64 if wide else np.float32
    for got, want in zip(run_onnx(model, feeds if given is None else given), wants, strict=True):
        want = want if given is None else want.reshape(-1)
        if "rng" in example.op.needs:
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
        else:
            close(got, want, example.op, float(np.finfo(narrow).eps))


def with_free_sizes() -> Iterator[tuple[str, Callable[[], None]]]:
    for number, example in enumerate(ALL):
        for opset in (None, *(since for since in EXPORT[example.op.name] if since > converters.default_opset())):
            model = written(example, opset, free=True)
            if model is None or not has_ranks(model):
                continue  # a rank that nobody knows is nothing to end with
            known = plain(number)
            if opset or known is None or content(model) != content(known):
                yield f"{number} {example.op!r} {opset or ''}", lambda e=example, m=model: agrees(e, m)


def _in(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Of about the same numbers: in float64 none of those between whole numbers is one of float32."""
    if dtype == np.float64:
        return np.where(a == np.round(a), a, a * np.float64(1 + 2**-40))
    return np.asarray(a if dtype.kind == "f" else a > 0 if dtype.kind == "b" else np.round(a * 5)).astype(dtype)


def in_other_dtypes() -> Iterator[tuple[str, Callable[[], None]]]:
    for number, example in enumerate(ALL):
        floats = any(a.dtype == np.float32 for a in example.arrays)
        changing = (np.float32,) if floats else (np.int32, np.int64)
        before = plain(number)
        again = number and ALL[number - 1].op.name == example.op.name
        for dtype in map(np.dtype, () if before is None else (*DTYPES, "bool") if floats else ("bool",)):
            if dtype.kind == "i" and (example.op.name in FLOATS_ALONE or example.op.name.startswith(INSIDE)):
                continue
            if dtype.kind == "b" and (again or example.op.name in NO_BOOLS):
                continue
            with np.errstate(all="ignore"):
                arrays = tuple(_in(a, dtype) if a.dtype in changing else a for a in example.arrays)
            changed = Example(example.op, arrays)
            try:
                model = written(changed)
            except (MXNetError, converters.ConversionError):
                continue  # not for that dtype
            all_of_them = dtype == np.float64 and not again
            if model is not None and before is not None and (all_of_them or kinds(model) != kinds(before)):
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


def with_switches_turned() -> Iterator[tuple[str, Callable[[], None]]]:
    """Every attribute that is true or false the other way round, in float64; inputs that are not taken then are left out."""
    for number, example in enumerate(ALL):
        op = example.op
        if op.name.startswith(INSIDE):
            continue
        wide = [_in(a, np.dtype(np.float64)) if a.dtype == np.float32 else a for a in example.arrays]
        for name in (n for n in op.fields if isinstance(getattr(op, n), bool) and "rng" not in op.needs):
            try:
                turned = type(op).bind(**{**op.dump(), name: not getattr(op, name)})
                names = turned.input_names()
                if names != op.input_names()[: len(names)]:
                    continue  # there is no such input
                changed = Example(turned, tuple(wide[: len(names)]))
                model = written(changed)
            except (MXNetError, converters.ConversionError):
                continue
            if model is not None and has_ranks(model):
                yield f"{number} {turned!r}", lambda e=changed, m=model: agrees(e, m)


def of_whole_bytes() -> Iterator[tuple[str, Callable[[], None]]]:
    """Bytes of the whole range for the data, a third of them its ends: sums and products that leave it come back alike."""
    for number, example in enumerate(ALL):
        op = example.op
        again = number and ALL[number - 1].op.name == op.name and op.name[:7] != "_image_"
        if again or "rng" in op.needs or op.name in (*FLOATS_ALONE, *STOPPING) or op.name.startswith(INSIDE):
            continue
        for info in map(np.iinfo, (np.uint8, np.int8)):
            own = example.arrays[0].dtype if example.arrays else None
            if own != info.dtype and (own != np.float32 or number % 2 == (info.min == 0)):
                continue
            rng = np.random.default_rng(number)
            shape = example.arrays[0].shape
            data = rng.integers(info.min, info.max + 1, shape)
            data = np.asarray(np.where(rng.random(shape) < 1 / 3, rng.choice((info.min, info.max), shape), data))
            others = (_in(a, info.dtype) if own == a.dtype == np.float32 else a for a in example.arrays[1:])
            changed = Example(op, (data.astype(info.dtype), *others))
            try:
                model = written(changed)
            except (MXNetError, converters.ConversionError):
                continue  # not for that dtype
            if model is not None:
                yield f"{number} {op!r} {info.dtype}", lambda e=changed, m=model: agrees(e, m)


def of_unknown_ranks() -> Iterator[tuple[str, Callable[[], None]]]:
    """Every input by way of a Reshape to sizes that arrive when it runs, as many as they are, and every output back to one axis."""
    reshape = lookup("_onnx_Reshape").bind()

    def given(name: str) -> Entry:
        return Entry(Node(None, name))

    for number, example in enumerate(ALL):
        alone, feeds = graph_of(example)
        inputs = {k: v for k, v in feeds.items() if k not in PARAMETERS}
        if not inputs or "label" in feeds or "rng" in example.op.needs:
            continue

        def sized(node: Node, _: Any, inputs: Any = inputs) -> list[Entry] | None:
            if node.name not in inputs:
                return None
            return [
                Entry(Node(reshape, f"{node.name}_sized", [given(f"flat_{node.name}"), given(f"sizes_{node.name}")]))
            ]

        made = [Node(reshape, f"y{i}", [e, given("one_axis")]) for i, e in enumerate(alone.rewrite(sized).outputs)]
        arrays = {k: v for k, v in feeds.items() if k in PARAMETERS} | {"one_axis": np.array([-1])}
        for name, array in inputs.items():
            arrays |= {f"flat_{name}": array.reshape(-1), f"sizes_{name}": np.array(array.shape, np.int64)}
        specs = {k: Spec((1 if k == "one_axis" else k,), v.dtype) for k, v in arrays.items() if k not in PARAMETERS}
        graph, stored = Graph(map(Entry, made)), {k: v for k, v in arrays.items() if k in PARAMETERS}
        try:
            model = converters.to_onnx(graph, stored, specs)
        except converters.UnsupportedModel:
            continue
        yield f"{number} {example.op!r}", lambda e=example, m=model, a=arrays: agrees(e, m, a)


def without_elements(example: Example) -> Iterator[tuple[np.ndarray, ...]]:
    """The arrays of an example with an axis of size 0: of all of them, counted from either end, and of each alone."""
    arrays, seen = example.arrays, {tuple(a.shape for a in example.arrays)}
    rank = max((a.ndim for a in arrays), default=0)
    for axis in range(-rank, rank):
        for i in range(-1, len(arrays) if axis >= 0 else 0):
            changed = tuple(cut(a, axis, 0) if i in (-1, j) else a for j, a in enumerate(arrays))
            if tuple(a.shape for a in changed) not in seen:
                seen.add(tuple(a.shape for a in changed))
                yield changed


def agrees_or_is_refused(example: Example, model: onnx.ModelProto) -> None:
    """onnxruntime and onnx's checker may say that they do not take a size; other numbers are wrong."""
    with contextlib.suppress(*REFUSALS):
        agrees(example, model)


REFUSALS = (pybind.Fail, pybind.InvalidArgument, pybind.RuntimeException, onnx.shape_inference.InferenceError)
ENDING = "_np_dot", "_npi_tensordot", "_npi_unique", "RNN"
"""Operators that end the process of onnxruntime 1.32 at sizes of 0 that only the run shows: Einsum, Unique of slices, LSTM, GRU."""


def of_nothing() -> Iterator[tuple[str, Callable[[], None]]]:
    """An axis of size 0, where something comes out of it all the same; known when it is written, and not."""
    for number, example in enumerate(ALL):
        free: list[onnx.ModelProto | None] = []
        for arrays in without_elements(example):
            changed = Example(example.op, arrays)
            graph, feeds = graph_of(changed)
            try:
                known = infer(graph, {k: v.shape for k, v in feeds.items()}, {k: v.dtype for k, v in feeds.items()})
            except MXNetError:
                continue
            if all(is_known(shape := known.spec(e).shape) and 0 in shape for e in graph.outputs):
                continue
            label = f"{number} {example.op!r} of {' '.join(str(a.shape) for a in arrays)}"
            model = written(changed)
            if model is not None:
                yield label, lambda e=changed, m=model: agrees_or_is_refused(e, m)
            if example.op.name in ENDING:
                continue
            free = free or [written(example, free=True)]
            if free[0] is not None and has_ranks(free[0]) and takes(free[0], feeds):
                yield f"{label}, free", lambda e=changed, m=free[0]: agrees_or_is_refused(e, m)


def takes(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> bool:
    """True where inputs have these sizes, and weights too."""
    stored = {t.name: tuple(t.dims) for t in model.graph.initializer}
    if any(stored.get(k, v.shape) != v.shape for k, v in feeds.items()):
        return False
    pairs = ((d, n) for i in model.graph.input for d, n in zip(i.type.tensor_type.shape.dim, feeds[i.name].shape))
    return all(not d.HasField("dim_value") or d.dim_value == n for d, n in pairs)


def test_what_has_no_elements_is_written_as_that() -> None:
    """Known before it runs: whatever operators onnxruntime has for it are not asked."""
    for name, axis in (("_contrib_interleaved_matmul_encdec_qk", 1), ("RNN", 1), ("LayerNorm", 0), ("GroupNorm", 1)):
        example = next(e for e in ALL if e.op.name == name)
        changed = Example(example.op, tuple(cut(a, axis, 0) if a.ndim > axis else a for a in example.arrays))
        if name == "LayerNorm":
            changed = Example(example.op, (example.arrays[0][:0], *example.arrays[1:]))
        model = written(changed)
        assert model is not None
        assert set(kinds(model)) == {"Identity"}
        agrees(changed, model)


def test_slices_without_elements_are_refused() -> None:
    (example,) = (e for e in ALL if e.op.name == "_npi_unique" and e.op.dump().get("axis") == "0")
    graph, _ = graph_of(example)
    with pytest.raises(converters.UnsupportedModel, match="slices without elements"):
        converters.to_onnx(graph, {}, {"data": (3, 0)})


@pytest.mark.parametrize(
    ("rows", "least"),
    [
        (of_nothing, 500),
        (with_free_sizes, 90),
        (in_other_dtypes, 400),
        (with_dtypes_asked_for, 400),
        (of_whole_bytes, 250),
        (with_switches_turned, 200),
        (of_unknown_ranks, 400),
    ],
)
def test_written_otherwise_and_the_same(
    rows: Callable[[], Iterator[tuple[str, Callable[[], None]]]], least: int
) -> None:
    found = list(rows())
    assert len(found) > least
    run(shares.some(found, lambda row: row[0], 2), lambda check: check())
