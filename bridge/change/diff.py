"""Differences of two models, found without running them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from converters.passes.fold_batch_norm import FOLDED_NAME
from hybrid.core.op import Spec
from hybrid.core.shapes import show

from ..models import names_of_two, open_with
from . import parameters
from .folding import Fold, fold_of, fused_activation, settled
from .matching import COMMUTATIVE, Matching, key, silent
from .network import Network, Operation, networks_of

Kind = Literal["added", "removed", "operator", "attribute", "parameter", "wiring", "input", "output", "version"]
FORM = (
    "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Cast", "expand_dims", "cast", "Shape", "Size",
    "Expand", "ConstantOfShape",
)  # fmt: skip
"""Operators that files in other forms have more or fewer of."""
GROUPS = (
    "what goes in and comes out",
    "what is computed",
    "weights",
    "form: how sizes are worked out, and arrays laid out",
)
"""Differences that are told together, in this order."""
CLOSE = 1e-6  # of a number up to which an attribute is the same: files hold float32, texts some of its digits
SHOWN = 60  # differences that a text lists


@dataclass(frozen=True)
class Change:
    """One difference.

    Examples
    --------
    >>> import gluonnx
    >>> from gluonnx import mx
    >>> x = mx.sym.var("x")
    >>> change = gluonnx.diff(mx.sym.exp(x, name="e"), mx.sym.sin(x, name="e")).changes[0]
    >>> change.kind, change.node
    ('operator', 'e')
    """

    kind: Kind
    """Class of the difference, such as attribute or wiring."""
    node: str
    """The operation's name in the first model; of what only the second has, its name there. Empty for inputs and outputs."""
    operator: str
    """The operation's operator; empty for inputs and outputs."""
    text: str
    """The difference in words."""
    second: str = ""
    """The name in the second model, where it is another."""
    form: bool = False
    """True where sizes are worked out, or arrays laid out, in another way, which files of other makers do."""

    @property
    def _group(self) -> int:
        """The place among the groups in which differences are told."""
        if self.form:
            return 3
        return 0 if self.kind in ("input", "output", "version") else 2 if self.kind == "parameter" else 1


@dataclass(frozen=True)
class DiffResult:
    """The result of diff: every difference of two models, in the order of the first one's operations.

    Examples
    --------
    >>> import gluonnx
    >>> from gluonnx import mx
    >>> x = mx.sym.var("x")
    >>> result = gluonnx.diff(mx.sym.exp(x, name="e"), mx.sym.sin(x, name="e"))
    >>> result.same, [change.text for change in result.changes]
    (False, ['exp became sin'])
    >>> result.as_dict()["same"], len(result.lines()) > 0
    (False, True)
    """

    a: str
    """Name of the first model."""
    b: str
    """Name of the second."""
    changes: tuple[Change, ...]
    """All differences."""
    rewritten: tuple[str, ...] = ()
    """Forms that differ and mean the same: folded normalizations, transposed weights, copies, other names."""
    matched: int = 0
    """Number of operations that were found in both."""
    operations: tuple[int, int] = (0, 0)
    """Numbers of operations in both."""
    seconds: float = 0.0
    """Seconds that it took."""
    partners: dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Operations of the second model by those of the first."""

    @property
    def same(self) -> bool:
        """True where there is no difference, but for forms that mean the same."""
        return not self.changes

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        out = asdict(self)
        del out["partners"]
        return {**out, "same": self.same}

    def lines(self) -> list[str]:
        """The differences, a line each, and those of one operation under its name: first what the model takes and gives, then what
        is computed, weights, and mere forms, each below a heading where there are several of these."""
        out: list[str] = []
        before = ""
        counts = Counter(change._group for change in self.changes)
        group = None
        for change in sorted(self.changes, key=lambda each: each._group):
            if group != change._group and len(counts) > 1:
                out.append(f"{GROUPS[change._group]} ({counts[change._group]}):")
                before = ""
            group = change._group
            head = ""
            if change.node:
                other = f", {change.second} in {self.b}" if change.second else ""
                head = f"{change.node} ({change.operator}{other})"
            if head != before and head:
                out.append(head)
            out.append(f"{'  ' if head else ''}{change.text}")
            before = head
        return out

    def __str__(self) -> str:
        counts = Counter("form" if c.form else c.kind for c in sorted(self.changes, key=lambda each: each._group))
        told = ", ".join(f"{n} {kind}" for kind, n in counts.items())
        verdict = (
            f"{len(self.changes)} difference{'s' * (len(self.changes) != 1)} ({told})" if counts else "no difference"
        )
        lines = self.lines()
        more = [f"... and {len(lines) - SHOWN} lines more"] if len(lines) > SHOWN else []
        rewritten = [f"the same in another form: {text}" for text in self.rewritten[: SHOWN // 4]]
        if len(self.rewritten) > SHOWN // 4:
            rewritten.append(f"... and {len(self.rewritten) - SHOWN // 4} more in another form")
        found = f"{self.matched} operations of {self.operations[0]} and {self.operations[1]} are matched"
        return "\n".join([f"{self.a} -> {self.b}: {verdict}", *lines[:SHOWN], *more, *rewritten, found])


def diff(a: Any, b: Any, *, params: Any = None) -> DiffResult:
    """Compare two models without running them: operators, attributes, parameters, how they are connected, inputs and outputs.

    a, b: what open_model takes. params: of the symbols among them, by default the newest beside each. A symbol beside an ONNX model
    is compared as the ONNX model that convert would write at that opset. Attributes that are left out have their defaults. What
    means the same in another form (batch normalization folded into a convolution, transposed weights, other names inside) is no
    difference. Raises BadInput, or hybrid's errors.

    Examples
    --------
    >>> import gluonnx
    >>> result = gluonnx.diff("model", "model")
    >>> result.same, result.matched
    (True, 1)
    """
    start = time.perf_counter()
    first, second = (open_with(m, params) for m in (a, b))
    found = compare_networks(*networks_of(first, second))
    return DiffResult(
        *names_of_two(first, second),
        tuple(found.changes),
        tuple(found.rewritten),
        len(found.matching.theirs),
        (len(found.matching.a.operations), len(found.matching.b.operations)),
        time.perf_counter() - start,
        {m.name: t.name for m, t in found.matching.theirs.items()},
    )


def compare_networks(a: Network, b: Network, outer: dict[str, str] | None = None) -> Comparison:
    """The differences of two networks. outer: for bodies, the tensors around them that are one."""
    found = Comparison(Matching(a, b, outer), outer is not None)
    found.run()
    return found


def _of_sizes(network: Network) -> frozenset[str]:
    """Names of the operations that compute sizes: of shapes and parameters alone."""
    found: set[str] = set()
    made: set[str] = set()
    for op in network.operations:
        read = [n for n in op.inputs if n and n not in network.stored]
        if op.operator in ("Shape", "Size") or (read and made.issuperset(read)):
            found.add(op.name)
            made.update(op.outputs)
    return frozenset(found)


def _is_form(change: Change, first: frozenset[str], second: frozenset[str]) -> bool:
    """True for a difference of how sizes are worked out, or arrays laid out. first, second: operations that compute sizes."""
    if change.kind in ("input", "output", "version", "parameter"):
        return False
    own = second if change.kind == "added" else first
    if change.node in own or (change.second and change.second in second):
        return True
    if change.kind == "attribute":  # an order of axes is none, and neither is a dtype
        return change.operator in ("Reshape", "Expand") and change.text.startswith("shape ")
    kinds = change.text.split(" became ") if change.kind == "operator" else [change.operator]
    return all(kind in FORM for kind in kinds)


class Comparison:
    """The differences of two networks whose operations are matched."""

    def __init__(self, matching: Matching, inside: bool = False):
        """inside: of bodies, whose inputs and outputs have a place and no name."""
        self.inside = inside
        self.matching, self.a, self.b = matching, matching.a, matching.b
        self.changes: list[Change] = []
        self.rewritten: list[str] = []
        self.settled: set[Operation] = set()
        """Operations without a partner that the other side does in another one."""
        self.told: set[tuple[str, str]] = set()
        """Parameters that were compared."""
        self.folds: dict[Operation, tuple[Fold, bool]] = {}
        self.ends: dict[Change, tuple[str, ...]] = {}
        """By difference of an output the operations that make it, on both sides."""

    def run(self) -> None:
        """Find them."""
        theirs = self.matching.theirs
        for mine, other in theirs.items():
            self._find_fold(mine, other)
        self._find_copies()
        for name in dict.fromkeys((*self.a.notes, *self.b.notes)):
            old, new = self.a.notes.get(name, "none"), self.b.notes.get(name, "none")
            if old == new:
                continue
            if name.startswith("function "):
                self.changes.append(Change("version", "", "", f"{name}: its body differs"))
            else:
                self.rewritten.append(f"{name}: {old} -> {new}")
        self._inputs()
        order = {op: i for i, op in enumerate(self.b.operations)}
        added = iter(self.matching.added())
        waiting = next(added, None)
        for op in self.a.operations:
            if op not in theirs:
                self._alone(op, "removed")
                continue
            while waiting is not None and order[waiting] < order[theirs[op]]:
                self._alone(waiting, "added")
                waiting = next(added, None)
            self._pair(op, theirs[op])
        while waiting is not None:
            self._alone(waiting, "added")
            waiting = next(added, None)
        self._outputs()
        sizes = _of_sizes(self.a), _of_sizes(self.b)
        self.changes = [replace(c, form=True) if _is_form(c, *sizes) else c for c in self.changes]
        renamed = sum(m.name != t.name for m, t in theirs.items())
        if renamed:
            self.rewritten.append(f"{renamed} operations have other names")

    def _add(self, kind: Kind, mine: Operation, theirs: Operation, text: str) -> None:
        self.changes.append(
            Change(kind, mine.name, mine.operator, text, "" if mine.name == theirs.name else theirs.name)
        )

    # -- operations -----------------------------------------------------------------------------------------------

    def _alone(self, op: Operation, kind: Literal["added", "removed"]) -> None:
        if op in self.settled:
            return
        if silent(op):
            self.rewritten.append(
                f"{op.operator} {op.name} is {'left out' if kind == 'removed' else 'added'}, which changes nothing"
            )
            return
        network = self.a if kind == "removed" else self.b
        read = ", ".join(n for n in op.inputs if n and n not in network.stored)
        self.changes.append(Change(kind, op.name, op.operator, f"{kind}{f'; it reads {read}' if read else ''}"))

    def _find_fold(self, mine: Operation, theirs: Operation) -> None:
        for network, layer, other in ((self.a, mine, theirs), (self.b, theirs, mine)):
            fold = fold_of(network, layer, self.matching)
            if fold is None:
                continue
            self.folds[mine] = fold, network is self.a
            self.settled.add(fold.norm)
            if network is self.a:
                self.matching.connect(fold.norm.outputs[0], other.outputs[0])
            else:
                self.matching.connect(other.outputs[0], fold.norm.outputs[0])
            self.rewritten.append(f"{fold.norm.operator} {fold.norm.name} is folded into {other.operator} {other.name}")
            return
        activation = fused_activation(self.matching, mine, theirs)
        if activation is not None:
            self.settled.add(activation)
            self.matching.connect(activation.outputs[0], theirs.outputs[0])
            self.rewritten.append(f"{activation.operator} {activation.name} is in {theirs.operator} {theirs.name}")

    def _find_copies(self) -> None:
        """Find operations without a partner that compute what another one computes."""
        for network, alone, right in ((self.a, self.matching.removed(), False), (self.b, self.matching.added(), True)):
            if not alone:
                continue
            made: dict[tuple[str, str, tuple[str, ...]], Operation] = {}
            for op in network.operations:
                read = (
                    network.digest(n).hex() if n in network.stored else self.matching.source(n, right)
                    for n in op.inputs
                )
                same = (op.operator, key(op), tuple(read))
                first = made.setdefault(same, op)
                if op not in alone or first is op or op.bodies:
                    continue
                self.settled.add(op)
                self.rewritten.append(f"{op.operator} {op.name} is {first.name} once more")
                for one, other in zip(op.outputs, first.outputs):
                    self.matching.aliases[right][one] = other

    def _pair(self, mine: Operation, theirs: Operation) -> None:
        fused = theirs.operator == f"com.microsoft::Fused{mine.operator}"
        if mine.operator != theirs.operator and not fused:
            self._add("operator", mine, theirs, f"{mine.operator} became {theirs.operator}")
        turned = self._parameters(mine, theirs)
        for name in dict.fromkeys((*mine.attributes, *theirs.attributes)):
            if name in turned or (
                mine.operator != theirs.operator and not (name in mine.attributes and name in theirs.attributes)
            ):
                continue
            old, new = mine.attributes.get(name), theirs.attributes.get(name)
            if not _alike(old, new):
                self._add("attribute", mine, theirs, f"{name} {_told(old, new)}")
        for name in dict.fromkeys((*mine.bodies, *theirs.bodies)):
            if name in mine.bodies and name in theirs.bodies:
                inner = compare_networks(mine.bodies[name], theirs.bodies[name], dict(self.matching.tensors))
                for c in inner.changes:
                    where = f" {c.node} ({c.operator})" if c.node else ""
                    self._add(c.kind, mine, theirs, f"in {name}{where}: {c.text}")
            else:
                self._add("attribute", mine, theirs, f"{name} is in one of them only")
        self._wiring(mine, theirs)

    def _parameters(self, mine: Operation, theirs: Operation) -> set[str]:
        """Compare the parameters of a pair; gives the attributes that are settled by it."""
        turned: set[str] = set()
        if mine in self.folds:
            self._folded(mine, theirs)
            return turned
        for i, (x, y) in enumerate(_slots(mine, theirs)):
            old, new = x in self.a.stored, y in self.b.stored
            slot = (mine.slots[i] if i < len(mine.slots) else theirs.slots[i]) or f"input {i}"
            if old and new:
                if (x, y) in self.told:
                    continue
                self.told.add((x, y))
                have, want = self.b.array(y), self.a.array(x)
                if (x in self.a.computed or y in self.b.computed) and have.dtype.kind == "f" == want.dtype.kind:
                    want = settled(want, have)
                if mine.operator == "Gemm" and have.ndim == want.ndim == 2:
                    name = {0: "transA", 1: "transB"}.get(i)
                    if (
                        name
                        and mine.attributes.get(name) != theirs.attributes.get(name)
                        and parameters.same(have, want.T)
                    ):
                        self.rewritten.append(f"{x} is transposed, as {name} says")
                        turned.add(name)
                        continue
                self._told_parameter(mine, theirs, x, y, have, want)
            elif old and not y:
                self._add("parameter", mine, theirs, f"{slot} {x} is left out")
            elif new and not x:
                self._add("parameter", mine, theirs, f"{slot} {y} is new")
            elif old or new:
                how = ("stored", "computed") if old else ("computed", "stored")
                text = f"input {slot} is {how[0]} in the first model ({x}) and {how[1]} in the second ({y})"
                self._add("parameter", mine, theirs, text.replace("input input ", "input "))
        return turned

    def _told_parameter(
        self, mine: Operation, theirs: Operation, x: str, y: str, have: np.ndarray, want: np.ndarray, how: str = ""
    ) -> None:
        text = parameters.words(have, want, _axes(mine, want.ndim))
        if text:
            place = parameters.single_slice(have, want)
            made = x == y and x.endswith(FOLDED_NAME)  # a name of our own, which nobody has in hand
            shown = x.removesuffix(FOLDED_NAME) if made else x
            name = f"{shown}{'' if place is None else f'[{place}]'}{'' if x == y else f' ({y})'}"
            how += " (folded with its batch normalization)" if made else ""
            role = "bias" if want.ndim == 1 and "bias" in x.lower() else "weight" if want.ndim > 1 else "parameter"
            self._add("parameter", mine, theirs, f"{role} {name}{how}: {text}")

    def _folded(self, mine: Operation, theirs: Operation) -> None:
        """Compare a layer into which a normalization is folded with the other side's, which has both."""
        fold, first = self.folds[mine]
        layer, network = (theirs, self.b) if first else (mine, self.a)
        stored = [n for n in layer.inputs[1:] if n in network.stored]
        how = f" (with {fold.norm.name} folded in)"
        for name, made in zip(stored, (fold.weight, fold.bias)):
            have = network.array(name)
            made = settled(made, have)
            pair = (have, made) if first else (made, have)
            self._told_parameter(mine, theirs, name, name, *pair, how)
        if len(stored) < 2 and np.abs(fold.bias).max(initial=0) > 0:
            self._add("parameter", mine, theirs, f"the bias{how} is left out")

    # -- how they are connected -----------------------------------------------------------------------------------

    def _wiring(self, mine: Operation, theirs: Operation) -> None:
        old = [n for n in mine.inputs if n and n not in self.a.stored]
        new = [n for n in theirs.inputs if n and n not in self.b.stored]
        want = [self.matching.tensors.get(self.matching.source(n)) for n in old]
        have = [self.matching.source(n, right=True) for n in new]
        if want == have or (mine.operator in COMMUTATIVE and sorted(map(str, want)) == sorted(have)):
            return
        if len(want) != len(have):
            if mine.operator == theirs.operator:
                self._add(
                    "wiring",
                    mine,
                    theirs,
                    f"reads {', '.join(new) or 'nothing'} instead of {', '.join(old) or 'nothing'}",
                )
            return
        if None not in want and sorted(map(str, want)) == sorted(have):
            self._add("wiring", mine, theirs, f"reads {', '.join(new)} in another order than {', '.join(old)}")
            return
        for x, y, w, h in zip(old, new, want, have):
            if w != h and not self._explained(x, y):
                self._add("wiring", mine, theirs, f"reads {y} instead of {x}")

    def _explained(self, x: str, y: str) -> bool:
        """True where one of two tensors is made by an operation that is told as added or removed."""
        mine, theirs = (
            self.a.makers.get(self.matching.source(x)),
            self.b.makers.get(self.matching.source(y, right=True)),
        )
        return (mine is not None and mine not in self.matching.theirs) or (
            theirs is not None and theirs not in self.matching.mine
        )

    def _inputs(self) -> None:
        a, b = self.a.inputs, self.b.inputs
        partner = {n: self.matching.tensors[n] for n in a if n in self.matching.tensors}
        for name, spec in a.items():
            other = partner.get(name)
            if other is None:
                self.changes.append(Change("input", "", "", f"input {name} is removed"))
                continue
            if other != name and not self.inside:
                self.changes.append(Change("input", "", "", f"input {name} is called {other}"))
            if other in b and (text := _declared(spec, b[other])):
                self.changes.append(Change("input", "", "", f"input {name}: {text}"))
        new = [n for n in b if n not in partner.values()]
        self.changes += [Change("input", "", "", f"input {n} is added") for n in new]

    def _outputs(self) -> None:
        a, b = self.a.outputs, self.b.outputs
        if len(a) != len(b):
            self.changes.append(Change("output", "", "", f"outputs {', '.join(a)} -> {', '.join(b)}"))
            return
        want = [self.matching.tensors.get(self.matching.source(n)) for n in a]
        have = [self.matching.source(n, right=True) for n in b]
        for i, (x, y) in enumerate(zip(a, b)):
            if x in self.a.stored and y in self.b.stored:
                want[i], have[i] = x, x
                if text := parameters.words(self.b.array(y), self.a.array(x)):
                    self.changes.append(
                        Change("output", "", "", f"output {i}, which nothing that goes in changes: {text}")
                    )
            if want[i] != have[i] and not self._explained(x, y):
                place = want.index(have[i]) if have[i] in want else None
                at = "" if place is None else f", which is output {place}"
                given = a[place] if place is not None and x == y else y  # outputs keep their names, whoever makes them
                change = Change("output", "", "", f"output {i}: {given} instead of {x}{at}")
                self.changes.append(change)
                makers = self.a.makers.get(self.matching.source(x)), self.b.makers.get(have[i])
                self.ends[change] = tuple(op.name for op in makers if op is not None)
            elif x != y and not self.inside:
                self.changes.append(Change("output", "", "", f"output {x} is called {y}"))


def _slots(mine: Operation, theirs: Operation) -> Iterator[tuple[str, str]]:
    """Inputs of a pair by position."""
    for i in range(max(len(mine.inputs), len(theirs.inputs))):
        yield (mine.inputs[i] if i < len(mine.inputs) else "", theirs.inputs[i] if i < len(theirs.inputs) else "")


def _axes(op: Operation, rank: int) -> Sequence[str]:
    """Names of what the axes of an operator's weights count."""
    kind = op.operator.removeprefix("com.microsoft::Fused")
    if kind in ("Conv", "Convolution"):
        return ("filter", "input channel") if rank > 1 else ("channel",)
    if kind in ("ConvTranspose", "Deconvolution"):
        return ("input channel", "filter") if rank > 1 else ("channel",)
    if kind == "Gemm" and rank == 2:
        return ("row", "column") if op.attributes.get("transB") else ("column", "row")
    if "Norm" in kind and rank == 1:
        return ("channel",)
    return ("row", "column") if rank == 2 else ("element",) if rank == 1 else ()


def _declared(old: Spec, new: Spec) -> str:
    """Dtypes and shapes of an input that differ, as far as both are known."""
    parts = []
    if old.dtype is not None and new.dtype is not None and old.dtype != new.dtype:
        parts.append(f"{old.dtype} -> {new.dtype}")
    if old.shape is not None and new.shape is not None:
        dims = list(zip(old.shape, new.shape))
        if len(old.shape) != len(new.shape) or any(
            isinstance(x, str) != isinstance(y, str) or (x != y and not isinstance(x, str)) for x, y in dims
        ):
            parts.append(f"shape {show(old.shape)} -> {show(new.shape)}")
    return ", ".join(parts)


def _alike(old: Any, new: Any) -> bool:
    if isinstance(old, np.ndarray) or isinstance(new, np.ndarray):
        return (
            isinstance(old, np.ndarray)
            and isinstance(new, np.ndarray)
            and old.dtype == new.dtype
            and parameters.same(new, old)
        )
    if isinstance(old, float | int) and isinstance(new, float | int):
        return old == new or abs(old - new) <= CLOSE * max(abs(old), abs(new)) or (old != old and new != new)
    if isinstance(old, tuple | list) and isinstance(new, tuple | list):
        return len(old) == len(new) and all(map(_alike, old, new))
    return bool(old == new)


def _told(old: Any, new: Any) -> str:
    """Two values of an attribute; of numbers only the shortest text that tells them."""
    return f"{value_text(old)} -> {value_text(new)}"


def value_text(value: Any) -> str:
    """The value of an attribute, in as few characters as tell it."""
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.7g}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(value_text, value))}{',' * (len(value) == 1)})"
    if isinstance(value, np.ndarray):
        return value_text(value.tolist()) if value.size <= 8 else f"{value.dtype} {show(value.shape)}"
    return str(value)
