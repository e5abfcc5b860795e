"""Variants of recorded cases, against what MXNet 1.9.1 does with them (fixtures/variants.json): taken or refused, and the numbers.
No operator is named here; variants_reasons.py says which rules are behind the differences."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from hybrid.core.error import MXNetError
from hybrid.core.np_mode import np_shape
from hybrid.core.op import REGISTRY
from hybrid.core.shapes import MaybeShape, to_legacy
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import infer, want_ignored

from . import variants
from .goldens import FOLDER, Case, cases
from .variants_reasons import LESS, NARROWER, OTHERWISE, WIDER, Rule, rule

RECORDED = json.loads((FOLDER.parent / "variants.json").read_text())["operators"]
SHARE = 12
"""One variant in so many is looked at in the quick set."""


class Variant(NamedTuple):
    """A variant of a case and MXNet's answer."""

    case: Case
    text: str
    answer: str
    np_shape: bool

    def __str__(self) -> str:
        return f"{self.case.operator} {self.case.id} {self.text}"


def recorded() -> Iterator[Variant]:
    """All variants but those with an array of no dims where that is one of which no shape is known."""
    known = {(c.operator, c.id): c for c in cases()}
    for operator, answered in RECORDED.items():
        rows = json.loads((FOLDER / f"{operator}.json").read_text())["cases"]
        as_numpy = {row["id"] for row in rows if row.get("np_shape")}
        for number, answers in answered.items():
            if (case := known.get((operator, number))) is None:
                continue
            for answer, texts in answers.items():
                for text in texts:
                    if number in as_numpy or text[-1] != ":":
                        yield Variant(case, text, answer, number in as_numpy)


def found(variant: Variant) -> str:
    """Answer that is given here."""
    with np_shape(variant.np_shape), np.errstate(all="ignore"):
        try:
            return inferred(variant) if variant.text[0] in "?<" else computed(variant)
        except MXNetError:
            return variants.REFUSED


def computed(variant: Variant) -> str:
    """Outputs, as ``variants.described`` says them. Raises MXNetError."""
    case = variant.case
    attrs, arrays = variants.applied(variant.text, case.attrs, case.arrays())
    case = case._replace(attrs=attrs)
    if len(case.op().input_names()) != len(case.names):
        return variants.REFUSED  # where a graph would be made of other inputs
    graph = case.graph()
    feeds = dict(zip(case.names, arrays))
    result = infer(graph, {n: a.shape for n, a in feeds.items()}, {n: a.dtype for n, a in feeds.items()})
    want_ignored(result)
    return ";".join(map(variants.described, Program(graph).run(feeds)))


def inferred(variant: Variant) -> str:
    """Shapes of the inputs that are left open. Raises MXNetError."""
    case = variant.case
    open_, backward = variants.inferred_from(variant.text, len(case.names))
    shapes: dict[str, MaybeShape] = {n: a.shape for n, a in zip(case.names, case.arrays())}
    graph = case.graph()
    if backward:
        whole = infer(graph, shapes)
        ends = [whole.spec(e).shape for e in graph.outputs]
        shapes |= {f"end{i}": s for i, s in enumerate(ends)}
        add = REGISTRY["elemwise_add"].bind()
        graph = Graph(
            Entry(Node(add, f"add{i}", [e, Entry(Node(None, f"end{i}"))])) for i, e in enumerate(graph.outputs)
        )
    result = infer(
        graph, {n: None if n in case.names and case.names.index(n) in open_ else s for n, s in shapes.items()}
    )
    variables = {n.name: n for n in graph.variables()}
    return ";".join(said(result.spec(Entry(variables[case.names[i]])).shape) for i in open_)


def said(shape: MaybeShape) -> str:
    """A shape as the script writes it."""
    there = to_legacy(shape)
    return "?" if there is None else ",".join(map(str, there))


def knows_less(got: str, wanted: str) -> bool:
    """True where shapes say less than others, or something else."""

    def within(mine: str, other: str) -> bool:
        if other in ("", "?") or mine == other:
            return True
        a, b = mine.split(","), other.split(",")
        return len(a) == len(b) and all(y in ("0", "-1") or x == y for x, y in zip(a, b))

    return not all(map(within, got.split(";"), wanted.split(";")))


def as_wanted(got: str, wanted: str) -> bool:
    """True where outputs are those of MXNet; where it did not give the same twice shapes and dtypes are."""
    mine, others = got.split(";"), wanted.split(";")
    return len(mine) == len(others) and all(map(_same_output, mine, others))


def _same_output(got: str, wanted: str) -> bool:
    kind, *numbers = wanted.split(" ")
    if kind.startswith(variants.OPEN):
        return got.split(" ")[0] == kind[1:]
    largest = max((abs(float(n)) for n in numbers if n and "nan" not in n), default=0.0)
    return variants.as_said(wanted, got, 1e-5 + (2e-2 if kind[0] in "be" else 1e-4) * largest)


def difference(variant: Variant) -> tuple[str, list[Rule]] | None:
    """Answer given here and the rules that may say why, where that is not what MXNet answers: None where it is. Where MXNet
    gives no answer, or numbers of memory that is not an array's, whatever is answered here will do."""
    got, wanted = found(variant), variant.answer
    if wanted == variants.NONE or got == wanted:
        return None
    if variant.text[0] in "?<":  # what more is known here is no difference
        less = wanted != variants.REFUSED and (got == variants.REFUSED or knows_less(got, wanted))
        return (got, []) if less else None
    if wanted == variants.REFUSED:
        return got, WIDER
    if got == variants.REFUSED:
        return None if variants.OPEN in wanted else (got, NARROWER)
    return None if as_wanted(got, wanted) else (got, OTHERWISE)


def look(wanted: list[Variant]) -> Counter[tuple[str, str]]:
    """Hold variants to MXNet, and count what is put down to which rule and operator."""
    wrong, seen = [], Counter[tuple[str, str]]()
    for variant in wanted:
        operator = variant.case.operator
        told = None if operator in LESS and variant.text[0] in "?<" else difference(variant)
        if told is None:
            continue
        why = rule(told[1], operator, variant.text)
        if why is None:
            wrong.append(f"{variant}: {told[0]}, in MXNet {variant.answer}")
        else:
            seen[why.why, operator] += 1
    assert not wrong, f"{len(wrong)} differ\n" + "\n".join(wrong)
    return seen


def test_answers_are_those_of_mxnet() -> None:
    """One variant in SHARE."""
    some = [v for v in recorded() if zlib.crc32(str(v).encode()) % SHARE == 0]
    assert len(some) > 2000
    look(some)


@pytest.mark.slow
@pytest.mark.share(8)
def test_all_answers_are_those_of_mxnet() -> None:
    every = list(recorded())
    assert len(every) > 25000
    needed = {key for key in look(every)}
    listed = {(r.why, o) for r in (*WIDER, *NARROWER, *OTHERWISE) for o in r.operators}
    assert needed == listed, "rules that are no longer needed"
