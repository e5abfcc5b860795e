"""Reads fixtures/ops: applications of single operators, with the numbers that real MXNet 1.9.1 gave for them."""

from __future__ import annotations

import functools
import io
import json
import zipfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime as ort

from hybrid.core.op import REGISTRY, Op
from hybrid.ir.graph import Entry, Graph, Node

FOLDER = Path(__file__).parents[2] / "fixtures" / "ops"

# inputs that a model stores rather than is fed
PARAMETERS = {"weight", "bias", "gamma", "beta", "moving_mean", "moving_var", "parameters"}


# Cases whose recorded numbers nobody can want, or that a model file cannot hold, and why.
MEANINGLESS = {
    **dict.fromkeys(
        (("_np_sum", "infinite-more"), ("_npi_mean", "infinite-more")),
        "MXNet's compensated summation makes NaN of an infinity that a number follows; on a GPU it is infinite, as here",
    ),
    (
        "SoftmaxOutput",
        "rank4-plain",
    ): "oneDNN takes the last axis at rank 4, and there only; MXNet's own kernel, and training, all but the first",
    ("softmax_cross_entropy", "label-out-of-range"): "MXNet reads other rows of the array at such labels",
    **dict.fromkeys(
        (("softmax", "nan"), ("log_softmax", "nan"), ("SoftmaxOutput", "nan")),
        "oneDNN spoils part of a row that holds NaN or infinity; MXNet's own kernels (softmin, training) all of it, as we do",
    ),
    (
        "_zeros",
        "zero-size-np",
    ): "0 is a size under np_shape only, which is no part of the node; np networks write _npi_zeros",
    (
        "_ones",
        "zero-size-np",
    ): "0 is a size under np_shape only, which is no part of the node; np networks write _npi_ones",
    (
        "Activation",
        "relu-special",
    ): "oneDNN's float32 relu makes 0 of NaN; MXNet's own kernels and relu keep it, as we do",
    ("_unravel_index", "rank2-data"): "MXNet infers a shape that has no room for the coordinates",
    ("_contrib_boolean_mask", "none-np"): "under np_shape MXNet forgets the shape of the rows when it keeps none",
}

# Cases whose recorded numbers are only as good as a narrower dtype than their own: MXNet computes them in the dtype of the
# data and widens afterwards.
COARSE = {
    (operator, f"{source}-to-{target}"): source
    for operator in ("softmax", "log_softmax", "softmin")
    for source, target in (("float16", "float32"), ("float16", "float64"), ("float32", "float64"))
} | {
    ("_image_to_tensor", "float16"): "float16",
    ("_npi_percentile", "f16"): "float16",
    **{
        (f"_npi_{n}", f"float16-to-{target}-more"): "float16"
        for n in ("var", "std")
        for target in ("float32", "float64")
    },
}

# Cases whose recorded numbers have lost more digits than their dtype has to lose, the factor, and why. The compiled kernel is
# within an epsilon of float64 there, and NumPy's rule loses what MXNet loses.
ILL = {
    ("LayerNorm", "large-offset"): 160.0
}  # data 5000 deviations from 0: rounding the mean alone shifts all by 5000 / 2 epsilons

# Cases that the engine reproduces and ONNX cannot say, and why.
BEYOND_ONNX = {
    (operator, "nan"): "NaN has no place in an order: MXNet leaves it where its sort happens to, onnxruntime elsewhere"
    for operator in ("topk", "sort", "argsort")
} | {
    ("RNN", "nan"): "onnxruntime's recurrent kernels make numbers of NaN",
    (
        "Pooling",
        "max-nan",
    ): "MXNet's maximum passes over NaN; ONNX leaves it open and onnxruntime's depends on the position",
    (
        "LayerNorm",
        "large-offset",
    ): "at an offset of 5000 deviations MXNet is off by 1e-4 too; the order of additions decides",
}


# Outputs that hold vectors, as columns, of which LAPACK leaves the sign open and MXNet takes what its own LAPACK gives.
UP_TO_SIGN = {("_npi_eig", 1)}


class Anything(NamedTuple):
    """An output of which MXNet fixes no more than this: random, or memory that it never writes to."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @classmethod
    def of(cls, spec: str) -> Anything:
        """From text such as ``float32[2,3]``."""
        name, _, dims = spec.rstrip("]").partition("[")
        return cls(tuple(map(int, filter(None, dims.split(",")))), np.dtype(name))


class Recorded(Mapping[str, Mapping[str, np.ndarray]]):
    """The arrays of one case by kind and name. Which there are is known at once; the file is read when one is asked for."""

    def __init__(self, path: Path, case: str, names: Mapping[str, Collection[str]]):
        self.names = names
        self._path, self._case = path, case
        self._read: dict[str, Mapping[str, np.ndarray]] = {}

    def __getitem__(self, kind: str) -> Mapping[str, np.ndarray]:
        """Raises KeyError where no array is of that kind."""
        found = self._read.get(kind)
        if found is None:
            found = {n: _array(self._path, f"{self._case}/{kind}/{n}") for n in self.names[kind]}
            self._read[kind] = found
        return found

    def __contains__(self, kind: object) -> bool:  # Mapping's own asks for the arrays, which reads the file
        return kind in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@functools.cache  # all files together have 4 MB; it takes seconds to make arrays of all that
def _stored(path: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(path.read_bytes()))


def _array(path: Path, name: str) -> np.ndarray:
    """An array of a file, which cannot be written to. ``numpy.load`` takes three times as long: it reads every header anew."""
    raw = _stored(path).read(f"{name}.npy")
    start = 10 + int.from_bytes(raw[8:10], "little")
    shape, in_columns, dtype = _header(raw[:start])
    return np.ndarray(shape, dtype, raw, start, order="F" if in_columns else "C")


@functools.cache
def _header(raw: bytes) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, order and dtype; of version 1.0, as all are here."""
    file = io.BytesIO(raw)
    assert np.lib.format.read_magic(file) == (1, 0)
    return np.lib.format.read_array_header_1_0(file)


class Case(NamedTuple):
    """One recorded application."""

    operator: str
    id: str
    attrs: dict[str, str]
    names: tuple[str, ...]
    data: Mapping[str, Mapping[str, np.ndarray]]
    """Recorded arrays by kind ("in", "out", "train", "aux", "auxafter", "head", "grad") and name."""

    @property
    def eps(self) -> float:
        """The epsilon that the recorded numbers are good to, where it is not that of their dtype."""
        case = self.operator, self.id
        if case in ILL:
            return ILL[case] * float(np.finfo(np.float32).eps)
        return float(np.finfo(COARSE[case]).eps) if case in COARSE else 0.0

    @property
    def beyond_onnx(self) -> bool:
        return any(
            self.operator == operator and (word == self.id or word in self.id.split("-"))
            for operator, word in BEYOND_ONNX
        )

    def label(self) -> tuple[str, str]:
        """The group and the row that a test of all cases has it in."""
        return self.operator, self.id

    def arrays(self) -> list[np.ndarray]:
        """All inputs, auxiliary states last, fresh copies."""
        known = {**self.data.get("in", {}), **self.data.get("aux", {})}
        return [known[n].copy() for n in self.names]

    undefined: dict[int, Anything]
    """Outputs in inference without recorded numbers that mean something."""

    moves_backward: bool
    """True where it is the backward pass that changes the auxiliary states."""

    def outputs(self, kind: str = "out") -> list[Any]:
        found: dict[int, Any] = {int(i): array for i, array in self.data.get(kind, {}).items()}
        if kind == "out":
            found |= self.undefined
        return [found[i] for i in range(len(found))]

    def turned(self, index: int, got: np.ndarray) -> np.ndarray:
        """An output with each column turned to where the recorded one points, where their signs are left open."""
        if (self.operator, index) not in UP_TO_SIGN:
            return got
        return got * np.where((got * self.outputs()[index]).sum(-2, keepdims=True) < 0, -1, 1).astype(got.dtype)

    def op(self) -> Op:
        """The typed operator; variadic ones are told their number of inputs, as the JSON reader does."""
        cls, attrs = REGISTRY[self.operator], dict(self.attrs)
        if cls.inputs[:1] and cls.inputs[0].startswith("*") and cls.count in cls.fields:
            attrs.setdefault(cls.count, str(len(self.names)))
        return cls.bind(**attrs)

    def graph(self, suffix: str = "") -> Graph:
        """The one-operator graph, showing all visible outputs; all names end with the suffix."""
        node = Node(self.op(), f"node{suffix}", [Entry(Node(None, n + suffix)) for n in self.names], self.attrs)
        return Graph(Entry(node, i) for i in range(node.num_visible_outputs))


@functools.cache
def _load(path: Path) -> tuple[Case, ...]:
    table = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, dict[str, list[str]]] = {}
    numbers = path.with_suffix(".npz")
    for key in _stored(numbers).namelist():
        case, kind, name = key.removesuffix(".npy").rsplit("/", 2)
        names.setdefault(case, {}).setdefault(kind, []).append(name)
    return tuple(
        Case(
            table["operator"],
            row["id"],
            row["attrs"],
            _names(row, REGISTRY.get(table["operator"])),
            Recorded(numbers, row["id"], names.get(row["id"], {})),
            _undefined(row, names.get(row["id"], {}).get("out", ())),
            row.get("aux_updated_by") == "backward",
        )
        for row in table["cases"]
        if not row.get("error") and (table["operator"], row["id"]) not in MEANINGLESS
    )


def _names(row: dict[str, Any], cls: type[Op] | None) -> tuple[str, ...]:
    """Names of the inputs in the order in which the operator takes them; auxiliary states are mostly last."""
    names = (*row["inputs"], *(n for n in row.get("aux") or {} if n not in row["inputs"]))
    return cls.inputs if cls is not None and set(cls.inputs) == set(names) else names


def _undefined(row: dict[str, Any], recorded: Collection[str]) -> dict[int, Anything]:
    marked = row.get("undefined", ())
    return {
        i: Anything.of(spec) for i, spec in enumerate(row["outputs"]) if f"out/{i}" in marked or str(i) not in recorded
    }


def cases(*, known: bool = True) -> Iterator[Case]:
    """All recorded cases that MXNet accepted, of operators that are defined here (or of all)."""
    for path in sorted(FOLDER.glob("*.json")):
        if not known or path.stem in REGISTRY:
            yield from _load(path)


def run_onnx(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Results of onnxruntime for a model; inputs that it does not have are left out."""
    onnx.checker.check_model(model, full_check=True)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    wanted = {i.name for i in session.get_inputs()}
    return session.run(None, {k: v for k, v in feeds.items() if k in wanted})


def close(got: Any, want: Any, op: Op, eps: float | None = None) -> None:
    """Assert that got is want within the operator's tolerance: so many epsilons of want's dtype, times want's scale.

    Infinities and NaNs have to be at the same places; integers have to be equal."""
    got = np.asarray(got)
    assert got.shape == want.shape, f"shape {got.shape}, wanted {want.shape}"
    assert got.dtype == want.dtype, f"dtype {got.dtype}, wanted {want.dtype}"
    if isinstance(want, Anything):
        return
    if want.dtype.kind not in "fc":
        same(got, want)
        return
    finite = np.isfinite(want)
    if not finite.all():
        np.testing.assert_array_equal(got[~finite], want[~finite])
        got, want = got[finite], want[finite]
    scale = max(float(np.abs(want).max(initial=0)), float(np.finfo(want.dtype).tiny))
    eps = max(float(np.finfo(want.dtype).eps), eps or 0, op.epsilon)
    bound = op.tolerance * eps * scale
    if not (np.abs(got - want) <= bound).all():  # asked first, as NumPy's own takes a tenth of a millisecond
        np.testing.assert_allclose(got, want, rtol=0, atol=bound)


def same(got: np.ndarray, want: np.ndarray, message: str = "") -> None:
    """Assert that two arrays are equal, NaN being equal to NaN."""
    alike = (got.shape, got.dtype) == (want.shape, want.dtype) and not got.dtype.hasobject
    if not alike or got.tobytes() != want.tobytes():
        np.testing.assert_array_equal(got, want, err_msg=message)
