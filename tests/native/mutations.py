"""Kernels bound to what they were not made for: applications with a dim, a rank, a dtype, an attribute, an operand or a result
changed, past all inference. A kernel declines these, or it computes something without touching what is not its own.

    python -m tests.native.mutations --count 20000 --seed 1 --only softmax

What was at work when the process dies is in the file that it says.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hybrid import native
from hybrid.core.error import MXNetError
from hybrid.core.op import Op
from tests.native.applications import Application, applications, names
from tests.native.single import LeftToNumPy, Single, specs_of

MOST = 1 << 16
"""Elements of an operand."""
SCRATCH = 1 << 26
"""Bytes that a kernel may want: what wants more is bound only."""
DTYPES = ("float32", "float64", "float16", "int8", "uint8", "int32", "int64", "bool")
NUMBERS = (0, 1, 2, 3, 5, 16, -1, -2, -5, 1 << 31, -(1 << 31), 1 << 40, (1 << 62) + 1, -(1 << 62))
WORDS = ("clip", "wrap", "max", "avg", "sum", "lp", "lstm", "gru", "rnn_tanh", "instance", "channel", "")
VALUES = (np.nan, np.inf, -np.inf, -1, -2, 1e30, -1e30, 2.0**31, 2.0**63, -(2.0**63), 100, 0.5)


class Spec(NamedTuple):
    """Of a result."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class Changed(NamedTuple):
    """An application that was changed, and what was changed."""

    what: str
    op: Op
    arrays: list[np.ndarray]
    specs: list[Spec]
    attrs: dict[str, Any]


def mutate(application: Application, rng: np.random.Generator) -> Changed:
    """One to three changes; results keep the shapes that they had, unless these change too."""
    _, op, arrays = application
    specs = [Spec(tuple(s.shape), np.dtype(s.dtype)) for s in specs_of(op, arrays)]
    changed = Changed("", op, [a.copy() for a in arrays], specs, {n: getattr(op, n) for n in op.fields})
    what = []
    for _ in range(rng.integers(1, 4)):
        change = CHANGES[rng.integers(len(CHANGES))]
        what.append(f"{change.__name__[1:]}: {change(changed, rng)}")
    return changed._replace(what="; ".join(what))


def _pick(items: Sequence[Any], rng: np.random.Generator) -> Any:
    return items[int(rng.integers(len(items)))]


def _reshaped(shape: tuple[int, ...], rng: np.random.Generator) -> tuple[int, ...]:
    """Another shape: a dim changed, or gone, or one more, or two exchanged."""
    dims = list(shape)
    kind = rng.integers(5)
    at = int(rng.integers(len(dims))) if dims else 0
    if kind == 0 and dims:
        dims[at] = max(0, dims[at] + int(_pick((-1, 1, 1, 2, -2, 7), rng)))
    elif kind == 1 and dims:
        dims[at] = int(_pick((0, 1, 2, 3, 17, 64, 1 << 33), rng))
        if dims[at] >= 1 << 33:  # only where there is nothing
            dims[(at + 1) % len(dims)] = 0
    elif kind == 2 and dims:
        del dims[at]
    elif kind == 3 and len(dims) < 7:
        dims.insert(at, int(_pick((1, 1, 2, 3), rng)))
    elif dims:
        other = int(rng.integers(len(dims)))
        dims[at], dims[other] = dims[other], dims[at]
    count = 1
    for d in dims:
        count *= d
    return tuple(dims) if count <= MOST else shape


def _shape(changed: Changed, rng: np.random.Generator) -> str:
    if not changed.arrays:
        return ""
    i = int(rng.integers(len(changed.arrays)))
    old = changed.arrays[i]
    shape = _reshaped(old.shape, rng)
    if 0 in shape and max(shape) >= 1 << 33:
        changed.arrays[i] = np.empty(shape, old.dtype)
    else:
        changed.arrays[i] = np.resize(old, shape) if old.size else np.zeros(shape, old.dtype)
    return f"input {i} {old.shape} -> {shape}"


def _result(changed: Changed, rng: np.random.Generator) -> str:
    i = int(rng.integers(len(changed.specs)))
    old = changed.specs[i]
    changed.specs[i] = Spec(_reshaped(old.shape, rng), old.dtype if rng.integers(4) else np.dtype(_pick(DTYPES, rng)))
    return f"output {i} {old} -> {changed.specs[i]}"


def _together(changed: Changed, rng: np.random.Generator) -> str:
    """The same dim in everything that has it, so that the change is carried through as inference would."""
    dims = sorted({d for a in changed.arrays for d in a.shape})
    if not dims:
        return ""
    old, new = _pick(dims, rng), int(_pick((0, 1, 2, 3, 4, 15, 17, 33), rng))

    def of(shape: tuple[int, ...]) -> tuple[int, ...]:
        made = tuple(new if d == old else d for d in shape)
        return made if np.prod(made, dtype=np.float64) <= MOST else shape

    for i, a in enumerate(changed.arrays):
        changed.arrays[i] = np.resize(a, of(a.shape)) if a.size else np.zeros(of(a.shape), a.dtype)
    for i, s in enumerate(changed.specs):
        changed.specs[i] = Spec(of(s.shape), s.dtype)
    return f"{old} -> {new}"


def _dtype(changed: Changed, rng: np.random.Generator) -> str:
    if not changed.arrays:
        return ""
    i, dtype = int(rng.integers(len(changed.arrays))), _pick(DTYPES, rng)
    with np.errstate(all="ignore"):
        changed.arrays[i] = changed.arrays[i].astype(dtype)
    return f"input {i} {dtype}"


def _values(changed: Changed, rng: np.random.Generator) -> str:
    """Values that are no numbers, or no indices, in places."""
    for a in changed.arrays:
        if a.size:
            with np.errstate(all="ignore"):
                many = rng.integers(0, a.size, max(1, a.size // 4))
                a.reshape(-1)[many] = rng.choice(np.array(VALUES), len(many)).astype(a.dtype)
    return "special"


def _operand(changed: Changed, rng: np.random.Generator) -> str:
    if len(changed.arrays) > 1 and rng.integers(2):
        changed.arrays.pop()
        return "one less"
    if changed.arrays:
        changed.arrays.append(_pick(changed.arrays, rng).copy())
    return "one more"


def _attribute(changed: Changed, rng: np.random.Generator) -> str:
    if not changed.attrs:
        return ""
    name = _pick(sorted(changed.attrs), rng)
    old = changed.attrs[name]
    if isinstance(old, bool):
        new: Any = not old
    elif isinstance(old, int):
        new = int(_pick(NUMBERS, rng))
    elif isinstance(old, float):
        new = float(_pick((*VALUES, 0), rng))
    elif isinstance(old, tuple):
        items = list(old)
        kind = rng.integers(3)
        if kind == 0 and items:
            items.pop()
        elif kind == 1 or not items:
            items.append(int(_pick(NUMBERS, rng)) if all(isinstance(i, int) for i in items) else _pick(items, rng))
        else:
            items[int(rng.integers(len(items)))] = int(_pick(NUMBERS, rng))
        new = tuple(items)
    elif old is None:
        new = _pick((0, 1, -1, 3, (0,), (1, -1), ()), rng)
    elif isinstance(old, str):
        new = _pick([word for word in WORDS if word != old], rng)
    else:
        return ""
    changed.attrs[name] = new
    return f"{name}={old!r} -> {new!r}"


CHANGES = (_shape, _shape, _shape, _together, _together, _result, _dtype, _values, _operand, _attribute, _attribute)


def outcome(changed: Changed, threads: int = 1) -> str:
    """Outcome of the mutation: "declined", "refused" (bind says what is wrong), "large" (bound, not run), "left to NumPy" (as a
    kernel may that is not sure), "ran".

    Raises AssertionError for what a kernel did to memory."""
    try:
        single = Single(changed.op, changed.arrays, threads=threads, specs=changed.specs, attrs=changed.attrs)
    except RuntimeError as error:
        if "attribute" in str(error):
            return "refused"
        raise
    if not single.there:
        return "declined"
    if single.program.arena_bytes() > SCRATCH:
        return "large"
    try:
        single.run(changed.arrays)
    except LeftToNumPy:
        return "left to NumPy"
    return "ran"


def changes(name: str, count: int, seed: int) -> Iterator[Changed]:
    """So many changed applications of an operator, the same for a seed."""
    known = [a for a in applications()[name] if a.arrays and max(x.size for x in a.arrays) <= MOST]
    rng = np.random.default_rng((seed, zlib.crc32(name.encode())))
    for _ in range(count if known else 0):
        try:
            yield mutate(_pick(known, rng), rng)
        except MXNetError:  # values that decide what inference says
            continue


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.native.mutations", description=__doc__)
    parser.add_argument("--count", type=int, default=20000, help="mutations, shared among the operators")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of an operator's name")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    faulthandler.enable()
    at_work = Path(tempfile.gettempdir(), f"mutation-{os.getpid()}.txt")
    print(f"at work: {at_work}", flush=True)
    found = [n for n in sorted(names()) if options.only in n]
    total: Counter[str] = Counter()
    wrong: list[str] = []
    for name in found:
        here: Counter[str] = Counter()
        for changed in changes(name, -(-options.count // len(found)), options.seed):
            shapes = [(a.shape, str(a.dtype)) for a in changed.arrays]
            at_work.write_text(f"{name} {changed.what} {changed.attrs} {shapes} {changed.specs}\n", encoding="utf-8")
            try:
                here[outcome(changed, options.threads)] += 1
            except Exception as error:  # the next ones are wanted too
                here["WRONG"] += 1
                wrong.append(f"{name}: {changed.what}: {changed.attrs}: {type(error).__name__}: {error}")
        print(f"{name}: {dict(here)}", flush=True)
        total += here
    at_work.unlink()
    print(f"level {native.level()}: {sum(total.values())} mutations of {len(found)} operators: {dict(total)}")
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
