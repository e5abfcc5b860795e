"""Inputs of several dtypes, operator by operator, against what MXNet 1.9.1 takes of them (fixtures/mixed.json): where its numbers
mean something they are ours, in its dtype; what it refuses is refused. No operator is named here but with the reason why MXNet is
not followed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import converters
from converters.registry import EXPORT
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Node
from hybrid.ir.infer import infer, node_dtypes

from .. import shares
from .goldens import Case, cases, close, run_onnx
from .rules import gradient_graph, has_rule

RECORDED = json.loads((Path(__file__).parents[2] / "fixtures" / "mixed.json").read_text())
REFUSED, FAILED, OTHER = "-x~"
"""Answers for what MXNet's inference refuses, and for what then fails or ends the process; mark before the dtypes of numbers that
no computation in one dtype gives (memory that is read as another)."""
PAIRS = frozenset(("fd", "fi", "if", "fl", "di", "f?"))
"""Pairs of dtypes whose numbers are looked at; the others are slow."""

SHARE = 8
"""Of all pairs one in so many is looked at in the slow run."""

NARROWER = {"_contrib_hawkesll": "whole numbers, of which MXNet cuts off the logarithms"}
WIDER = {
    "beside half data or parameters, parameters that are half too": """
        BatchNorm BatchNorm_v1 _contrib_BatchNormWithReLU _contrib_SyncBatchNorm""",
    "other dtypes than float32, of all inputs alike": """
        Crop IdentityAttachKLSparseReg InstanceNorm _contrib_MultiBoxDetection _contrib_MultiBoxTarget""",
    "labels of any dtype": """
        LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput SVMOutput SoftmaxOutput""",
    "whole numbers, computed in float32 and cut off": "_npi_arctan2 _npi_hypot",
    "compared in the dtype that NumPy compares in": """
        _npi_equal _npi_not_equal _npi_greater _npi_greater_equal _npi_less _npi_less_equal""",
    "both of float16, computed in float32": "_npi_solve _npi_tensorsolve",
    "a bound of any dtype, by which singular values are cut": "_npi_pinv",
    "arrays of which each is summed by itself": "multi_sum_sq",
}
TAKEN = {name for names in WIDER.values() for name in names.split()}


class Mixed(NamedTuple):
    """A recorded case with one input of a second dtype."""

    case: Case
    node: Node
    kept: list[np.dtype]
    """Dtypes of the inputs as they were recorded."""
    place: int
    pair: str
    """Letters of the dtype of all that had the first input's, and of that of the input at the place."""
    answer: str

    @property
    def means_something(self) -> bool:
        return self.answer[0] not in (REFUSED, FAILED, OTHER)

    def dtypes(self) -> list[np.dtype]:
        rest, own = map(np.dtype, self.pair)
        return [own if i == self.place else rest if d == self.kept[0] else d for i, d in enumerate(self.kept)]

    def outputs(self) -> list[np.dtype | None]:
        """Dtypes that are inferred of all outputs. Raises OpError."""
        return node_dtypes(self.node, self.dtypes(), [None] * self.node.num_outputs)[len(self.kept) :]

    def numbers(self) -> list[np.ndarray]:
        """Whole numbers that all dtypes hold, in those that were recorded."""
        small: list[Any] = [
            np.nan_to_num(np.rint(np.abs(a) * 2)).clip(0, 3).astype(a.dtype) if a.dtype.kind == "f" else a
            for a in self.case.arrays()
        ]
        return [np.asarray(np.minimum(a, 1) if "?" in self.pair else a, a.dtype) for a in small]

    def __str__(self) -> str:
        return f"{self.case.operator} {self.case.id} {self.case.names[self.place]}={self.pair}"


def recorded() -> Iterator[Mixed]:
    known = {(c.operator, c.id): c for c in cases()}
    tables = [[row.split() for row in text.split("/")] for text in RECORDED["tables"]]
    for operator, sets in RECORDED["operators"].items():
        for number, _, names, places in sets:
            if (case := known.get((operator, number))) is None:
                continue
            kept = [a.dtype for a in case.arrays()]
            node = Node(case.op(), "node", [Entry(Node(None, n)) for n in case.names])
            for name, table in zip(names, places, strict=True):
                for rest, row in zip(RECORDED["codes"], tables[table]):
                    for own, answer in zip(RECORDED["codes"], row):
                        yield Mixed(case, node, kept, case.names.index(name), rest + own, answer)


ALL = list(recorded())
MEANT = [m for m in ALL if m.means_something and m.dtypes() != m.kept and m.case.operator not in NARROWER]


def test_dtypes_are_those_of_mxnet() -> None:
    wrong, wider = [], set()
    for mixed in ALL:
        name, seen = mixed.case.operator, mixed.node.num_visible_outputs
        try:
            letters = "".join("." if d is None else d.char for d in mixed.outputs()[:seen])
        except MXNetError:
            letters = REFUSED
        if mixed.means_something and letters != mixed.answer and not (letters == REFUSED and name in NARROWER):
            wrong.append(f"{mixed}: {letters}, in MXNet {mixed.answer}")
        if mixed.answer == REFUSED and letters != REFUSED:
            wider.add(name)
            if name not in TAKEN:
                wrong.append(f"{mixed}: {letters}, which MXNet refuses")
    assert not wrong, "\n".join(wrong)
    assert wider == TAKEN, "what is wider has changed"
    assert len(ALL) > 20000
    assert len(MEANT) > 8000


def in_one_dtype(mixed: Mixed, numbers: list[np.ndarray]) -> Iterator[list[np.ndarray]]:
    """The outputs for the same numbers in one dtype: float64, what was recorded, each of the two; float64 throughout."""
    wide = np.dtype(np.float64)
    for dtype in (wide, mixed.kept[0], *map(np.dtype, mixed.pair), None):
        arrays = [a if dtype and d != mixed.kept[0] else a.astype(dtype or wide) for a, d in zip(numbers, mixed.kept)]
        try:
            yield Program(mixed.case.graph(), native=False).run(dict(zip(mixed.case.names, arrays)))
        except MXNetError:
            continue


def problem(mixed: Mixed) -> str | None:
    """Report of what is wrong with the numbers, by NumPy, compiled and by onnxruntime; None where nothing is."""
    numbers, op, graph = mixed.numbers(), mixed.case.op(), mixed.case.graph()
    feeds = {n: np.asarray(a).astype(d) for n, a, d in zip(mixed.case.names, numbers, mixed.dtypes())}
    eps = float(np.finfo(np.float16 if "e" in mixed.pair else np.float32).eps)

    def alike(found: list[np.ndarray], wanted: list[np.ndarray]) -> str | None:
        try:
            for a, b in zip(found, wanted, strict=True):
                close(a, b.astype(a.dtype), op, eps)
        except AssertionError as error:
            return str(error)
        return None

    with np.errstate(all="ignore"):
        try:
            found = Program(graph, native=False).run(feeds)
        except MXNetError as error:
            return None if not any(True for _ in in_one_dtype(mixed, numbers)) else f"NumPy: {error}"
        if "".join(a.dtype.char for a in found) != mixed.answer:
            return f"gives {[a.dtype for a in found]}, in MXNet {mixed.answer}"
        if all(alike(found, wanted) for wanted in in_one_dtype(mixed, numbers)):
            return "NumPy gives what no computation in one dtype gives"
        if (told := alike(Program(graph).run(feeds), found)) is not None:
            return f"compiled: {told}"
        if mixed.case.operator in EXPORT and not mixed.case.beyond_onnx:
            model = converters.to_onnx(graph, {}, {n: Spec(a.shape, a.dtype) for n, a in feeds.items()})
            if (told := alike(run_onnx(model, feeds), found)) is not None:
                return f"onnxruntime: {told}"
    return None


def look(wanted: list[Mixed]) -> None:
    random = {m.case.operator for m in wanted if "rng" in m.case.op().needs}
    problems = [f"{m}: {told}" for m in wanted if m.case.operator not in random and (told := problem(m)) is not None]
    assert not problems, "\n".join(problems)


def test_numbers_are_those_of_one_dtype() -> None:
    """One case an operator, input and pair."""
    first = {(m.case.operator, m.place, m.pair): m for m in reversed(MEANT) if m.pair in PAIRS}
    assert len(first) > 300
    look(list(first.values()))


@pytest.mark.slow
def test_all_numbers_are_those_of_one_dtype() -> None:
    look(list(shares.some(MEANT, str, SHARE)))


def test_gradients_have_the_dtypes_of_the_inputs() -> None:
    wrong, seen = [], 0
    for mixed in MEANT:
        op = mixed.case.op()
        if mixed.pair not in PAIRS or not has_rule(op):
            continue
        names, graph = gradient_graph(op, mixed.case.names, [0])
        dtypes = dict(zip(mixed.case.names, mixed.dtypes())) | {"head0": mixed.outputs()[0]}
        try:
            found = infer(graph, {}, dtypes)
        except MXNetError as error:
            wrong.append(f"{mixed}: {error}")
            continue
        seen += 1
        for name, entry in zip(names, graph.outputs, strict=True):
            if found.spec(entry).dtype not in (None, dtypes[name]):
                wrong.append(f"{mixed}: the gradient of {name} is {found.spec(entry).dtype}")
    assert not wrong, "\n".join(wrong)
    assert seen > 500
