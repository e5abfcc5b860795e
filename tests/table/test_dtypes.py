"""Dtypes that follow from one, operator by operator, against what MXNet 1.9.1 inferred (fixtures/dtypes.json). No operator is
named here but with the reason why MXNet is not followed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hybrid.core.error import MXNetError
from hybrid.core.op import REGISTRY, Op
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import infer

RECORDED = Path(__file__).parents[2] / "fixtures" / "dtypes.json"

# Where MXNet's own rule contradicts what it computes.
NOT_FOLLOWED = {
    "IdentityAttachKLSparseReg": "the moving average is said to be float32 and then read as what data is",
    "_npi_solve": "float32 is said to give float64, and gives float32",
    "_npi_tensorsolve": "float32 is said to give float64, and gives float32",
    "_npi_svd": "integers are said to give integers, and are refused when it runs",
}
OTHERS = ("float16", "float32", "int32", "float64")


class Asked(NamedTuple):
    """An operator of which one input has a dtype, and what MXNet inferred; None for both where it refuses."""

    op: Op
    inputs: list[str]
    given: str
    dtype: str
    into: list[str | None] | None
    out: list[str | None] | None

    def infer(self, **more: str) -> tuple[list[str | None], list[str | None]]:
        """Dtypes of inputs and outputs. Raises OpError."""
        variables = [Node(None, name) for name in self.inputs]
        node = Node(self.op, "node", [Entry(v) for v in variables])
        graph = Graph(Entry(node, i) for i in range(self.op.num_visible_outputs()))
        found = infer(graph, {}, {self.given: self.dtype, **more})
        dtypes = [found.spec(e).dtype for e in (*map(Entry, variables), *graph.outputs)]
        names = [None if d is None else d.name for d in dtypes]
        return names[: len(variables)], names[len(variables) :]

    def __str__(self) -> str:
        return f"{self.op!r} {self.given}={self.dtype}"


def asked() -> Iterator[Asked]:
    for name, sets in json.loads(RECORDED.read_text())["operators"].items():
        cls = REGISTRY.get(name)
        if cls is None:
            continue
        for attrs, inputs, answers in sets:
            variadic = cls.inputs[:1] and cls.inputs[0].startswith("*")
            counted = {cls.count: str(len(inputs)), **attrs} if variadic and cls.count in cls.fields else attrs
            op = cls.bind(**counted)
            for answer in answers:
                yield Asked(op, inputs, *answer)


def test_what_both_infer_agrees() -> None:
    different = []
    for case in asked():
        if case.into is None or case.op.name in NOT_FOLLOWED:
            continue
        try:
            into, out = case.infer()
        except MXNetError:
            continue  # of fewer dtypes than MXNet's, with a reason
        for ours, theirs in zip((*into, *out), (*case.into, *case.out)):
            if ours is not None and theirs is not None and ours != theirs:
                different.append(f"{case}: {into} -> {out}, in MXNet {case.into} -> {case.out}")
    assert not different, "\n".join(different)


def test_no_input_is_guessed() -> None:
    """An input's dtype follows from another's only where no other dtype would do, or where MXNet says so too."""
    guessed = []
    for case in asked():
        if case.into is None:
            continue
        try:
            into, _ = case.infer()
        except MXNetError:
            continue
        for name, ours, theirs in zip(case.inputs, into, case.into):
            if ours is not None and theirs is None and _takes_another(case, name, ours):
                guessed.append(f"{case}: {name} became {ours}")
    assert not guessed, "\n".join(guessed)


def _takes_another(case: Asked, name: str, dtype: str) -> bool:
    for other in OTHERS:
        try:
            if other != dtype:
                case.infer(**{name: other})
                return True
        except MXNetError:
            pass
    return False
