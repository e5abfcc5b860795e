"""Variants of recorded cases: one input in another shape or with other numbers, one attribute with another value, one shape left
open. No import of MXNet or hybrid: the script that records and the tests both read it.

A variant is a text: ``axis=-4`` (an attribute), ``0:2,3`` (the shape of input 0; ``*:`` of all), ``1#negated`` (the numbers of
input 1), ``?0`` (what follows of input 0 from the others), ``<`` (what follows of all inputs from the outputs), ``<0`` (of input 0
from both)."""

from __future__ import annotations

import math
import random
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

MOST = 34
"""Variants of one case that are recorded, drawn by a seed of its own where there are more."""
SETS = 2
"""Cases of an operator that are varied: the first that differ in their attributes or ranks."""
LARGEST = 2000
"""Elements of an array beyond which a case is left alone."""
REFUSED, NONE, OPEN = "-", "x", "~"
"""Answers: refused; the process ends or hangs; mark before shapes of numbers that are not the same twice (random, or memory that is
not written, or not part of an array)."""

NUMBERS = {
    "negated": lambda a: (
        ~a if a.dtype == bool else -a if a.dtype.kind == "f" else (-a.astype(np.int64)).astype(a.dtype)
    ),
    "zeros": np.zeros_like,
    "more": lambda a: (a.astype(np.float64) + 3).astype(a.dtype),
    "nan": lambda a: np.where(np.arange(a.size).reshape(a.shape) % 5 == 1, np.float32(np.nan), a).astype(a.dtype),
}
"""Other numbers for an input, by name."""


def base_cases(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The cases of an operator's file in fixtures/ops that are varied."""
    seen: list[Any] = []
    for case in record["cases"]:
        specs = [*case["inputs"].values(), *case["aux"].values()]
        shapes = [shape_of(s) for s in specs]
        kind = sorted((k, v in ("0", "False", "None", "()")) for k, v in case["attrs"].items()), list(map(len, shapes))
        if case["error"] or kind in seen or len(seen) == SETS or any(math.prod(s) > LARGEST for s in shapes):
            continue
        seen.append(kind)
        yield case


def shape_of(spec: str) -> tuple[int, ...]:
    """The shape in "float32[2,3]"."""
    return tuple(map(int, re.findall(r"\d+", spec.partition("[")[2])))


def _reshaped(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for axis, size in enumerate(shape):
        for other in (size + 1, 1):
            yield (*shape[:axis], other, *shape[axis + 1 :])
    yield from (shape[::-1], (1, *shape), (*shape, 1), shape[1:], shape[:-1], (math.prod(shape),), (1,), ())
    if shape and shape[-1] % 2 == 0:
        yield (*shape[:-1], 2, shape[-1] // 2)


def _values(kind: str, given: str | None, rank: int) -> Iterator[str]:
    """Texts for an attribute, by MXNet's own description of its type."""
    options = re.findall(r"'([^']*)'", kind.partition("}")[0]) if kind.startswith("{") else []
    yield from (*options, "nonsense", "None") if options else ()
    if "tuple" in kind or "Shape" in kind:
        parts = [p.strip() for p in (given or "()").strip("()[]").split(",") if p.strip()]
        for other in (
            parts[:-1],
            [*parts, *(parts[-1:] or ["1"])],
            ["-1", *parts[1:]],
            ["0", *parts[1:]],
            ["1"] * len(parts),
        ):
            yield f"({', '.join(other)}{',' * (len(other) == 1)})"
        yield from (
            "()",
            "None",
            "1",
            "(1,)",
            f"({rank},)",
            f"({-rank - 1},)",
            "(0, 1)",
            "(1, 0)",
            "(0, 0)",
            "(-1,)",
            "[1]",
        )
    elif kind.startswith(("int", "long", "Long")):
        yield from ("0", "1", "-1", "2", "3", "-2", str(rank), str(-rank), str(-rank - 1), "None", "1.5", "True", "100")
    elif kind.startswith(("float", "double")):
        yield from ("0", "1", "-1", "0.5", "2", "1e30", "nan", "None")
    elif kind.startswith("boolean"):
        yield from ("True", "False", "1", "0", "None", "2")


def variants(case: Mapping[str, Any], operator: str, attributes: Mapping[str, str]) -> Sequence[str]:
    """Those of a case that are recorded. attributes: name -> MXNet's description of its type."""
    shapes = [shape_of(s) for s in (*case["inputs"].values(), *case["aux"].values())]
    specs = [*case["inputs"].values(), *case["aux"].values()]
    rank = len(shapes[0]) if shapes else 1
    found = [
        [f"{n}={v}" for v in _values(k, case["attrs"].get(n), rank) if v != case["attrs"].get(n)]
        for n, k in attributes.items()
    ]
    for place, shape in enumerate(shapes):
        found.append([f"{place}:{_text(s)}" for s in _reshaped(shape) if s != shape])
        found.append([f"{place}#{name}" for name in NUMBERS if specs[place].startswith("float") or name != "nan"])
    if len(shapes) > 1 and len(set(shapes)) == 1:
        found.append([f"*:{_text(s)}" for s in _reshaped(shapes[0]) if s != shapes[0]])
    if shapes:
        found.append(["<", *(f"?{i}" for i in range(len(shapes))), *(f"<{i}" for i in range(len(shapes)))])
    rng = random.Random(zlib.crc32(f"{operator} {case['id']}".encode()))
    groups = [sorted(dict.fromkeys(g), key=lambda _: rng.random()) for g in found]
    chosen: list[str] = []
    while any(groups) and len(chosen) < MOST:  # a few of each kind
        chosen += [g.pop() for g in groups if g]
    return chosen[:MOST]


def _text(shape: Sequence[int]) -> str:
    return ",".join(map(str, shape))


def applied(
    variant: str, attrs: Mapping[str, str], arrays: Sequence[np.ndarray]
) -> tuple[dict[str, str], list[np.ndarray]]:
    """Attributes and inputs of a variant that is run."""
    if "=" in variant:
        name, _, value = variant.partition("=")
        return {**attrs, name: value}, list(arrays)
    place, mark, rest = re.fullmatch(r"([\d*]+)([:#])(.*)", variant, re.DOTALL).groups()  # type: ignore[union-attr]
    made = []
    for i, array in enumerate(arrays):
        if place not in ("*", str(i)):
            made.append(array)
        elif mark == "#":
            with np.errstate(all="ignore"):
                made.append(np.asarray(NUMBERS[rest](array), array.dtype))
        else:
            made.append(np.resize(array, tuple(map(int, filter(None, rest.split(","))))))
    return dict(attrs), made


def inferred_from(variant: str, count: int) -> tuple[list[int], bool]:
    """Of a variant that is inferred: the inputs whose shapes are left open, and whether those of the outputs are known."""
    place = variant[1:]
    return ([int(place)] if place else list(range(count))), variant[0] == "<"


def described(array: np.ndarray) -> str:
    """Dtype, shape and numbers: all of a few, of more two sums to which every one counts differently."""
    letter = array.dtype.char
    if array.dtype.itemsize == 2 and letter not in "ehH":  # bfloat16, in MXNet's arrays and in ours
        array, letter = (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32), "bf"
    flat = np.asarray(array).reshape(-1).astype(np.float64)
    finite = np.isfinite(flat)
    with np.errstate(all="ignore"):
        wild = (
            f" {np.isnan(flat).sum()}nan{(flat == np.inf).sum()}inf{(flat == -np.inf).sum()}"
            if not finite.all()
            else ""
        )
        flat = np.where(finite, flat, 0)
        if flat.size > 3:
            turns = np.cos(np.arange(1.0, flat.size + 1))
            flat = np.array([flat.sum(), (flat * turns).sum()]) / flat.size**0.5
    return f"{letter}:{_text(array.shape)}{wild} {' '.join(f'{v:.6g}' for v in flat)}"


def as_said(answer: str, text: str, epsilon: float) -> bool:
    """True where a text that ``described`` made says what another said, up to epsilon times the largest number."""
    a, b = answer.split(" "), text.split(" ")
    if len(a) != len(b):
        return False
    return all(x == y or _near(x, y, epsilon) for x, y in zip(a, b))


def _near(a: str, b: str, epsilon: float) -> bool:
    try:
        x, y = float(a), float(b)
    except ValueError:
        return False
    return abs(x - y) <= max(2e-5 * max(abs(x), abs(y)), epsilon)
