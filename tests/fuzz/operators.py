"""Every operator with one thing about it changed: what inference, NumPy and compiled kernels say of it has to agree.

    python -m tests.fuzz.operators --count 50000 [--seed 1] [--json]

Seeds are the operators' own examples, what MXNet recorded (fixtures/ops), and the operators that gradient rules apply. A change
is one dim, rank, dtype or attribute of one of them. The contract: what inference accepts is computed, in the shapes and
dtypes that it said, by NumPy and compiled alike; what it refuses it refuses with an OpError that its author wrote. What only
values can show (an index out of range, a matrix that has no inverse) both refuse when they run, or neither.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import random
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hybrid.core.attrs import Bool, Choice, DTypeKind, Float, Int, Kind, Optional, Tuple
from hybrid.core.error import InternalError, MXNetError, OpError
from hybrid.core.examples import Maker
from hybrid.core.op import REGISTRY, Example, Op
from hybrid.core.shapes import is_known
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import infer
from hybrid.random import seed as draw_from
from tests.fuzz import REFUSED, RIGHT
from tests.fuzz.__main__ import main
from tests.table.examples import clear_room, graph_of, walk
from tests.table.goldens import cases
from tests.table.rules import gradient_graph

SURFACE = "operators"
LARGE = 1 << 22
"""Elements of an output from which a case is not computed: what limits memory is tested elsewhere."""
SAMPLE = 4
"""Recorded cases of one operator that become seeds."""
MOST = 64
"""Inputs of a trial."""
DTYPES = ("float32", "float64", "float16", "int32", "int64", "int8", "uint8", "bool")
NUMBERS = (0, -1, 1, 2, 3, -2, 7, 100, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 2**63, 10**30)


class Trial(NamedTuple):
    """One changed application of an operator."""

    name: str
    attrs: dict[str, str]
    arrays: tuple[np.ndarray, ...]
    training: bool
    change: str

    def __str__(self) -> str:
        given = ", ".join(f"{a.dtype}{list(a.shape)}" for a in self.arrays)
        return f"{self.name}({self.attrs}) [{given}]{' training' if self.training else ''}: {self.change}"


class Seed(NamedTuple):
    """An application that works, as it goes to the processes that try cases: classes of gradient rules made in a loop have no
    name that a pickle could give."""

    name: str
    attrs: dict[str, str]
    arrays: tuple[np.ndarray, ...]

    @property
    def op(self) -> Op:
        return REGISTRY[self.name].bind(**self.attrs)


class Finding(NamedTuple):
    """Fault that a trial has: its kind, a text by which findings are alike, and all of it."""

    kind: str
    operator: str
    text: str
    trial: str


# -- seeds ----------------------------------------------------------------------------------------------------------------


def _known(arrays: Sequence[np.ndarray]) -> bool:
    return all(a.dtype.kind in "biufcV" and a.size <= 1 << 14 for a in arrays)


@functools.cache
def seeds() -> list[tuple[Seed, ...]]:
    """Applications that work, small and few of each operator. Operators of gradient rules come from the graphs of these."""
    found: dict[str, list[Example]] = collections.defaultdict(list)
    for name, cls in REGISTRY.items():
        if name == cls.name:
            with contextlib.suppress(OpError):  # a part of a gradient rule inherits examples that are not its own
                found[name] += [
                    e for e in cls.examples(Maker(cls)) if _known(e.arrays) and len(e.arrays) == len(e.op.input_names())
                ]
    recorded: dict[str, int] = collections.Counter()
    for case in cases():
        if recorded[case.operator] < SAMPLE:
            recorded[case.operator] += 1
            arrays = tuple(case.arrays())
            if _known(arrays):
                found[REGISTRY[case.operator].name].append(Example(case.op(), arrays))
    for example in [e for examples in list(found.values()) for e in examples[:2]]:
        for part in _parts(example):
            if len(found[part.op.name]) < SAMPLE:
                found[part.op.name].append(part)
    return [
        tuple(Seed(name, e.op.dump(), tuple(e.arrays)) for e in found[name]) for name in sorted(found) if found[name]
    ]


def _parts(example: Example) -> Iterator[Example]:
    """The operators of an example's gradient rule that are no seeds otherwise, with what they are given."""
    op, names = example.op, example.op.input_names()
    feeds = dict(zip(names, example.arrays))
    found = []
    with contextlib.suppress(MXNetError):  # it has no gradient
        forward = Graph(
            Entry(Node(op, "node", [Entry(Node(None, n)) for n in names]), i) for i in range(op.num_visible_outputs())
        )
        outputs = walk(forward, feeds)
        heads = {f"head{i}": np.ones_like(o) for i, o in enumerate(outputs)}
        _, graph = gradient_graph(op, names, range(op.num_visible_outputs()))

        def see(op: Op, given: Sequence[np.ndarray]) -> None:
            if op.name.startswith("_backward_"):
                found.append(Example(op, tuple(a.copy() for a in given)))

        walk(graph, feeds | heads, see)
    return iter([e for e in found if _known(e.arrays) and "subgraphs" not in e.op.needs])


# -- changes --------------------------------------------------------------------------------------------------------------


def _resized(array: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """The array's values, repeated or cut off, in another shape."""
    if array.size == 0:
        return np.zeros(shape, array.dtype)
    return np.resize(array, tuple(shape)).astype(array.dtype, copy=False)


def _number(rng: np.random.Generator, value: Any) -> str:
    return str(rng.choice(np.array([*NUMBERS, int(value or 0) + 1, int(value or 0) - 1], object)))


def _other(rng: np.random.Generator, kind: Kind, value: Any) -> str:
    """Another text for an attribute, mostly one that can be read."""
    if isinstance(kind, Optional):
        if rng.random() < 0.3:
            return "None"
        kind = kind.kind
    if isinstance(kind, Bool):
        return str(not value)
    if isinstance(kind, Int):
        return _number(rng, value)
    if isinstance(kind, Float):
        return str(rng.choice(["0", "-1", "1", "nan", "inf", "-inf", "1e30", "0.5", "-0.5", "1e-30"]))
    if isinstance(kind, Choice):
        return str(rng.choice([*kind.options, "nonsense"]))
    if isinstance(kind, DTypeKind):
        return str(rng.choice([*DTYPES, "S5", "O", ">f4", "datetime64", "f4,i4", "nonsense"]))
    if isinstance(kind, Tuple):
        items = [kind.item.write(v) for v in value or ()]
        change = rng.integers(6)
        if change == 0 and items:
            items.pop(rng.integers(len(items)))
        elif change == 1:
            items.append(items[-1] if items else "1")
        elif items and change in (2, 3, 4):
            place = int(rng.integers(len(items)))
            items[place] = _other(rng, kind.item, (value or (0,))[place])
        elif change == 5:
            items = []
        else:
            items = [_other(rng, kind.item, 1)]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    return str(rng.choice(["", "x", "(", "1", "None"]))


def mutate(source: random.Random, examples: Sequence[Seed]) -> Trial:
    """An example of an operator with one thing changed."""
    rng = np.random.default_rng(source.getrandbits(64))
    example = examples[rng.integers(len(examples))]
    op, arrays = example.op, list(example.arrays)
    attrs, training = op.dump(), bool(rng.random() < 0.2)
    change = rng.choice(["dim", "rank", "dtype", "attr", "swap", "dims"], p=[0.35, 0.15, 0.1, 0.3, 0.05, 0.05])
    if (change == "attr" and op.fields) or not arrays:
        if not op.fields:
            return Trial(op.name, attrs, tuple(arrays), training, "nothing")
        field = op.fields[str(rng.choice(list(op.fields)))]
        attrs[field.name] = _other(rng, field.kind, getattr(op, field.name))
        what = f"{field.name}={attrs[field.name]!r}"
    else:
        place = int(rng.integers(len(arrays)))
        array = arrays[place]
        shape = list(array.shape)
        if change == "dtype":
            arrays[place] = array.astype(str(rng.choice(DTYPES)))
        elif change == "swap":
            other = int(rng.integers(len(arrays)))
            arrays[place], arrays[other] = _resized(array, arrays[other].shape), _resized(arrays[other], shape)
        elif change == "rank" or not shape:
            axis = int(rng.integers(len(shape) + 1))
            if shape and rng.random() < 0.5:
                shape.pop(min(axis, len(shape) - 1))
            else:
                shape.insert(axis, int(rng.choice([1, 1, 2, 3])))
            arrays[place] = _resized(array, shape)
        else:
            for _ in range(1 if change == "dim" else 2):
                axis = int(rng.integers(len(shape)))
                shape[axis] = int(rng.choice([shape[axis] + 1, max(shape[axis] - 1, 0), 0, 1, shape[axis] * 2]))
            arrays[place] = _resized(array, shape)
        what = f"{change} of input {place}: {array.dtype}{list(array.shape)}"
    return Trial(op.name, attrs, tuple(arrays), training, what)


# -- verdicts -------------------------------------------------------------------------------------------------------------


def _bound(case: Trial) -> Example:
    """The operator and as many arrays as it then takes. Raises OpError where the attributes are refused."""
    op = REGISTRY[case.name].bind(**case.attrs)
    arrays, takes = list(case.arrays), len(op.input_names())
    if takes > MOST:
        raise OpError("more inputs than a trial has")
    arrays = [arrays[min(i, len(arrays) - 1)] if arrays else np.zeros((2, 3), np.float32) for i in range(takes)]
    return Example(op, tuple(arrays))


def _root(error: BaseException) -> BaseException:
    """Exception that was raised first."""
    seen = {id(error)}
    while error.__cause__ is not None and id(error.__cause__) not in seen:
        error = error.__cause__
        seen.add(id(error))
    return error


def _typed(error: BaseException) -> BaseException:
    """Of an error and what it came from the first that is MXNet's: what the operator, or the executor in its place, said."""
    while isinstance(error.__cause__, MXNetError) and error.__cause__ is not error:
        error = error.__cause__
    return error


def _place(error: BaseException) -> str:
    """Place in hybrid that an exception came from, by file and function."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/hybrid/" in f.filename]
    return f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "?"


def _message(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error)[:160]} @ {_place(error)}"


def verdict(case: Trial) -> tuple[str, Finding | None]:
    """Outcome of a trial ("computed", "refused", "values": refused for its values, "large" or
    "unreadable"), and what does not hold of it."""

    def found(kind: str, text: str) -> tuple[str, Finding]:
        return kind, Finding(kind, case.name, text, str(case))

    try:
        example = _bound(case)
    except OpError:
        return "unreadable", None
    except Exception as error:
        return found("untyped bind", _message(error))
    graph, feeds = graph_of(example)
    try:
        inference = infer(graph, {k: v.shape for k, v in feeds.items()}, {k: v.dtype for k, v in feeds.items()})
    except Exception as error:
        root = _root(error)
        if not isinstance(error, OpError):
            return found("untyped inference", _message(error))
        return ("refused", None) if isinstance(root, ValueError) else found("inference fails", _message(root))
    specs = [inference.spec(e) for e in graph.outputs]
    if any(is_known(s.shape) and int(np.prod(s.shape, dtype=object)) > LARGE for s in specs):
        return "large", None
    answers: list[Any] = []
    for native in (False, True):
        draw_from(5)
        copies = {k: v.copy() for k, v in feeds.items()}
        try:
            answers.append(Program(graph, training=case.training, native=native).run(copies))
        except Exception as error:
            answers.append(error)
    left, right = answers
    for side, answer in (("NumPy", left), ("compiled", right)):
        if isinstance(answer, Exception) and not isinstance(answer, MXNetError):
            return found(f"untyped {side}", _message(answer))
    if isinstance(left, Exception) != isinstance(right, Exception):
        which, error = ("NumPy", left) if isinstance(left, Exception) else ("compiled", right)
        return found(f"only {which} refuses", _message(_root(error)))
    if isinstance(left, Exception):
        typed = _typed(left)
        open_ended = (
            any(not is_known(s.shape) for s in specs) or "rng" in example.op.needs
        )  # what is drawn is too large, say
        if not isinstance(typed, InternalError) and (example.arrays or open_ended):
            return "values", None
        return found("late", _message(_root(left)))
    for made in answers:
        clear_room(example.op, made)
    for a, b, spec in zip(left, right, specs, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return found("differ in shape", f"{a.dtype}{a.shape} and {b.dtype}{b.shape}")
        if (is_known(spec.shape) and spec.shape != a.shape) or (spec.dtype is not None and spec.dtype != a.dtype):
            return found("not as inferred", f"{a.dtype}{a.shape} where inference said {spec}")
    floor = 64 * max((_largest(a) * _epsilon(a) for a in example.arrays), default=0.0)
    if (
        "rng" not in example.op.needs
        and not example.op.is_ordering
        and not all(_alike(a, b, floor) for a, b in zip(left, right, strict=True))
    ):
        return found("differ in values", "")
    return "computed", None


def _largest(array: np.ndarray) -> float:
    """The largest size of a number, 1 at least."""
    return float(np.abs(array[np.isfinite(array)]).max(initial=1.0)) if array.dtype.kind in "fc" else 1.0


def _epsilon(array: np.ndarray) -> float:
    """Distance of numbers of the dtype at 1; of whole numbers that of float32, in which they may be computed."""
    return float(np.finfo(array.dtype if array.dtype.kind in "fc" else np.float32).eps)


def _alike(a: np.ndarray, b: np.ndarray, floor: float) -> bool:
    """True where arrays are the same but for rounding, which is judged elsewhere: here foreign memory would show. floor: what is no
    difference whatever the scale, for results that are 0 but for what their inputs were rounded by."""
    if a.dtype.kind not in "fc" or a.dtype.itemsize < 2:
        return a.dtype.kind not in "biu" or bool((np.abs(a.astype(float) - b.astype(float)) <= 1).all())
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)):
        return False
    scale = float(np.abs(a[finite]).max(initial=1e-30))
    return bool((np.abs(a[finite] - b[finite]) <= floor + scale * (5e-2 if a.dtype.itemsize == 2 else 2e-3)).all())


def judge(case: Trial) -> str:
    """RIGHT or REFUSED; raises AssertionError where the contract does not hold."""
    outcome, finding = verdict(case)
    assert finding is None, f"{finding.kind}: {finding.operator}: {finding.text}\n{finding.trial}"
    return RIGHT if outcome == "computed" else REFUSED


if __name__ == "__main__":
    sys.exit(main(["--only", SURFACE, *sys.argv[1:]]))
