"""Recorded answers of inference that may not change: every example of every operator with one thing about it changed.

    python -m tests.answers.inference      (writes what is answered now, and prints for which operators that has changed)

A change is one dim, the rank, the dtype or the knowledge of one input, or one attribute. That what inference says is computed, and
what it refuses is refused, is held by tests/fuzz/operators.py with numbers; here each answer is two digits, so that all of them fit
into a test of seconds: a rule that was changed by mistake has no other witness for most of what it refuses."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hybrid.core.attrs import Bool, Choice, DTypeKind, Float, Int, Kind, Optional, Tuple
from hybrid.core.error import OpError
from hybrid.core.examples import Maker
from hybrid.core.op import OPS, Example, Op
from hybrid.core.shapes import is_known
from hybrid.ir.infer import infer
from tests.table.examples import graph_of

RECORDED = Path(__file__).with_name("inference.json")
REFUSED = "--"
LARGE = 1 << 22
"""Elements of an output, from which on only the number of its dims counts: how much memory there may be is the machine's affair."""


def texts(kind: Kind, value: Any) -> Iterator[str]:
    """Texts of other values of an attribute, some that it cannot have among them."""
    if isinstance(kind, Optional):
        yield "None"
        kind = kind.kind
    if isinstance(kind, Bool):
        yield str(not value)
    elif isinstance(kind, Int):
        yield from map(str, dict.fromkeys([int(value or 0) + 1, int(value or 0) - 1, -1, 0, 7]))
    elif isinstance(kind, Float):
        yield from ("0", "-1", "nan")
    elif isinstance(kind, Choice):
        yield from (o for o in kind.options if o != value)
    elif isinstance(kind, DTypeKind):
        yield from ("float16", "int8", "int64")
    elif isinstance(kind, Tuple):
        items = [kind.item.write(v) for v in value or ()]
        changed = [[], [*items, items[-1] if items else "1"], items[1:]]
        for place in range(min(len(items), 2)):
            changed += [[*items[:place], t, *items[place + 1 :]] for t in texts(kind.item, (value or (0,))[place])]
        for given in changed:
            yield f"({', '.join(given)}{',' if len(given) == 1 else ''})"


def sizes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...] | None]:
    """Other shapes: unknown, of one dim more or fewer, with one that is longer, or nothing."""
    yield None
    yield (1, *shape)
    if shape:
        yield shape[1:]
        yield shape[:-1]
    else:
        yield from ((2,), (3, 2))
    for axis in range(len(shape)):
        yield (*shape[:axis], shape[axis] + 1, *shape[axis + 1 :])
    for axis in range(min(len(shape), 2)):
        yield (*shape[:axis], 0, *shape[axis + 1 :])


TOGETHER: dict[str, Callable[[tuple[int, ...]], tuple[int, ...]]] = {
    "with a dim more": lambda s: (1, *s),
    "with a dim fewer": lambda s: s[1:],
    "longer": lambda s: (s[0] + 1, *s[1:]) if s else s,
    "wider": lambda s: (*s[:-1], s[-1] + 1) if s else s,
    "empty": lambda s: (0, *s[1:]) if s else s,
}
DTYPES = ("float32", "float16", "int32", "int8", "bool")


def code(example: Example, shapes: Mapping[str, Any], dtypes: Mapping[str, Any]) -> str:
    """Two digits of what inference says of an application, its inputs included, or REFUSED."""
    graph, _ = graph_of(example)
    known = {n: s for n, s in shapes.items() if s is not None}
    try:
        found = infer(graph, known, {n: t for n, t in dtypes.items() if t is not None})
    except OpError:
        return REFUSED
    told = []
    for entry in [*graph.outputs, *(e for o in graph.outputs[:1] for e in o.node.inputs)]:
        spec = found.spec(entry)
        shape = spec.shape
        if is_known(shape) and np.prod(shape, dtype=object) > LARGE:
            shape = len(shape)
        told.append(f"{shape} {spec.dtype}")
    return f"{zlib.crc32(' '.join(told).encode()) & 255:02x}"


def changes(example: Example) -> Iterator[tuple[str, str]]:
    """Changes of an example, each with the answer."""
    names = example.op.input_names()
    shapes = {n: a.shape for n, a in zip(names, example.arrays)}
    dtypes: dict[str, Any] = {n: a.dtype for n, a in zip(names, example.arrays)}
    yield "nothing", code(example, shapes, dtypes)
    for name in names[:6]:
        for shape in sizes(shapes[name]):
            yield f"{name} of shape {shape}", code(example, {**shapes, name: shape}, dtypes)
        for dtype in (None, *DTYPES):
            if dtype != dtypes[name]:
                yield f"{name} of {dtype}", code(example, shapes, {**dtypes, name: dtype and np.dtype(dtype)})
    if len(names) > 1:
        for kind, change in TOGETHER.items():
            yield f"all {kind}", code(example, {n: change(s) for n, s in shapes.items()}, dtypes)
        for name in names[:6]:
            yield f"only {name} known", code(example, {name: shapes[name]}, {name: dtypes[name]})
        for dtype in DTYPES:
            given = {n: np.dtype(dtype) if t == dtypes[names[0]] else t for n, t in dtypes.items()}
            yield f"all of {dtype}", code(example, shapes, given)
    for change, other in with_other_attributes(example):
        if other is None:
            yield change, REFUSED
        else:
            names = other.op.input_names()
            given = dict(zip(names, other.arrays))
            yield change, code(other, {n: a.shape for n, a in given.items()}, {n: a.dtype for n, a in given.items()})


def with_other_attributes(example: Example) -> Iterator[tuple[str, Example | None]]:
    """Changes of an example and the example after each, None where the operator refuses its attributes: with as many arrays as it
    then takes, the last one again and again."""
    op = example.op
    attrs = op.dump()
    for field in op.fields.values():
        for text in texts(field.kind, getattr(op, field.name)):
            try:
                other = type(op).bind(**{**attrs, field.name: text})
                count = len(other.input_names())
            except OpError:
                yield f"{field.name}={text}", None
                continue
            if count <= 64 and (example.arrays or not count):
                arrays = tuple(example.arrays[min(i, len(example.arrays) - 1)] for i in range(count))
                yield f"{field.name}={text}", Example(other, arrays)


def answers(cls: type[Op]) -> list[tuple[str, str]]:
    """Changes of all examples of an operator, and what inference says."""
    return [
        (f"example {i}, {change}", digits)
        for i, example in enumerate(cls.examples(Maker(cls)))
        if len(example.arrays) == len(example.op.input_names())
        for change, digits in changes(example)
    ]


def main() -> None:
    """Record all answers anew."""
    then = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    now = {name: "".join(d for _, d in answers(cls)) for name, cls in sorted(OPS.items())}
    print("changed:", *(n for n in now if n in then and now[n] != then[n]))
    RECORDED.write_text("{\n" + ",\n".join(f'"{n}": "{d}"' for n, d in now.items() if d) + "\n}\n")


if __name__ == "__main__":
    main()
