"""Operators of the family ``_onnx_`` in every dtype that they take: their numbers and gradients are those of double precision,
rounded once. No operator is named but with the reason why it differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np

from hybrid.core.attrs import dtype as dtype_of
from hybrid.core.error import MXNetError
from hybrid.core.op import REGISTRY, Example
from hybrid.ops.adjoint import Adjoint
from tests.table.examples import examples, graph_of
from tests.table.rules import has_rule
from tests.table.test_gradients import gradients_of, run

from .test_onnx_options import ROWS

ALL = [e for e in examples() if e.op.name.startswith("_onnx_")] + [row[2] for row in ROWS]
HALVES = ("float16", "bfloat16")
WHOLE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
UNLIKE = {
    "_onnx_BitCast": "reads as many bits, not a number",
    "_onnx_ml_Imputer": "has other attributes for whole numbers",
}
"""Operators that mean something else of another dtype."""
BETWEEN = {"_onnx_Resize", "_onnx_GridSample"}
"""Operators whose whole numbers come of places between elements, which single precision may put on the other side of one."""


def converted(example: Example, kind: str) -> Iterator[Example]:
    """The example with all its float32 numbers in a dtype, with those alone that have the dtype of its first input, and with all
    but those, as far as it takes them; whole numbers are four times as large, without signs where there are none."""
    op, arrays, dtype = example.op, example.arrays, dtype_of(kind)
    names, shapes = op.input_names(), [a.shape for a in arrays]
    floats = {n for n, a in zip(names, arrays) if a.dtype == np.float32 and op.domain(n, shapes) is None}
    first = next((set(g.split()) for g in op.types if names and names[0] in g.split()), set(names[:1]))
    for some in {frozenset(floats), frozenset(floats & first), frozenset(floats - first)} - {frozenset()}:
        cast = [a if n not in some else of(a, dtype) for n, a in zip(names, arrays)]
        try:
            op.infer_type(*[a.dtype for a in cast])
        except MXNetError:
            continue
        yield Example(op, tuple(cast))


def of(array: np.ndarray, dtype: Any) -> np.ndarray:
    """The numbers of an array, or those that it has for a dtype of whole ones."""
    if dtype.kind in "iu":
        array = np.rint(array * 4)
        array = np.abs(array) if dtype.kind == "u" else array
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(dtype)


def doubled(example: Example, like: Example) -> Example:
    """The example with double precision for all that is float32 in another one."""
    arrays = zip(example.arrays, like.arrays)
    return Example(example.op, tuple(a.astype(float) if b.dtype == np.float32 else a for a, b in arrays))


def listed(found: Any) -> list[Any]:
    return list(found) if isinstance(found, tuple | list) else [found]


def size_of(array: np.ndarray) -> float:
    """The greatest finite number, not too small for half precision to have all digits of it."""
    return max(float(np.abs(np.where(np.isfinite(array), array, 0)).max()), 2.0**-10)


def problems_of(example: Example, like: Example) -> Iterator[str]:
    """Faults in the outputs of an example that was made from another one."""
    op, wide = example.op, doubled(example, like)
    dtypes = listed(op.infer_type(*[a.dtype for a in example.arrays]))
    coarsest = max((float(ml_dtypes.finfo(a.dtype).eps) for a in example.arrays if a.dtype.kind in "fV"), default=0.0)
    with np.errstate(all="ignore"):
        got, want = listed(op.compute(*(a.copy() for a in example.arrays))), listed(op.compute(*wide.arrays))
    for i, (x, y, dtype) in enumerate(zip(got, want, dtypes, strict=True)):
        if (x.dtype, x.shape) != (dtype, y.shape):
            yield f"output {i} is {x.dtype} {x.shape}, wanted {dtype} {y.shape}"
        elif dtype.kind in "iub" and x.size:
            info = np.iinfo(dtype) if dtype.kind in "iu" else None
            there = np.ones(y.shape, bool) if info is None else (y >= info.min) & (y <= info.max)
            away = np.abs(x.astype(float) - y)[there]
            exact = (y == np.rint(y))[there] & (y.dtype.kind == "f") & (op.name not in BETWEEN)
            if (away > 1.001 + 2 * coarsest * size_of(y)).any() or away[exact & (coarsest < 1e-5)].any():
                yield f"output {i} is {x[there][away.argmax()]}, wanted {y[there][away.argmax()]}"
        elif x.size and not dtype.hasobject:
            info = ml_dtypes.finfo(dtype)
            y = np.where(np.abs(y) <= float(info.max), y, np.nan)
            away = np.nanmax(np.abs(x.astype(float) - y), initial=0) / float(info.eps) / size_of(y)
            if away > 2:
                yield f"output {i} is {away:.3g} units of {dtype} away"


def test_numbers_are_those_of_double_precision_whatever_the_dtype() -> None:
    """Of floats in half precision; of whole numbers too where fractions are cut off or rounded, to 1."""
    wrong, seen, ran = [], Counter[str](), Counter[str]()
    for example in ALL:
        op = example.op
        if "rng" in op.needs or op.name in UNLIKE:
            continue
        seen[op.name] += 1
        turn = WHOLE if seen[op.name] == 1 else WHOLE[seen[op.name] % len(WHOLE) :][:1]
        for kind in (*HALVES, *(turn if op.types and not op.inputs[0].startswith("*") else ())):
            for made in converted(example, kind):
                ran[kind] += 1
                wrong += [f"{op!r} of {[a.dtype.name for a in made.arrays]}: {p}" for p in problems_of(made, example)]
    assert not wrong, "\n".join(wrong)
    assert ran["float16"] > 700 and ran["bfloat16"] > 700 and all(ran[kind] > 50 for kind in WHOLE), ran


COARSE = {
    "_onnx_SoftmaxCrossEntropyLoss": "the gradient of the weights is made of its second output, which is rounded",
    "_onnx_NegativeLogLikelihoodLoss": "the gradient of a mean weighs numbers against one that is rounded",
}


def test_gradients_in_half_precision_are_those_of_double() -> None:
    """In the dtype of each input, also where the inputs have several."""
    wrong, seen = [], set()
    for number, example in enumerate(ALL):
        op, names = example.op, example.op.input_names()
        if "rng" in op.needs or op.name in seen or not has_rule(op):
            continue
        seen.add(op.name)
        for made in converted(example, HALVES[number % 2]):
            wide = doubled(made, example)
            try:
                values = run(*graph_of(wide))
            except MXNetError:
                wide = Example(op, tuple(a.astype(b.dtype) for a, b in zip(made.arrays, example.arrays)))
                values = run(*graph_of(wide))
            dtypes, rng = listed(op.infer_type(*[a.dtype for a in made.arrays])), np.random.default_rng(number)
            heads = {i: rng.uniform(-1, 1, y.shape) for i, y in enumerate(values) if y.dtype.kind == "f" and y.size}
            heads = {i: h.astype(dtypes[i]) for i, h in heads.items()}
            got = gradients_of(op, names, dict(zip(names, made.arrays)), heads)
            heads = {i: h.astype(values[i].dtype) for i, h in heads.items()}
            want = gradients_of(op, names, dict(zip(names, wide.arrays)), heads)
            for name, array, other in zip(names, made.arrays, wide.arrays):
                x, y = got[name], want[name].astype(float)
                if (x.dtype, x.shape) != (array.dtype, array.shape):
                    wrong.append(f"{op!r} {name}: {x.dtype} {x.shape}, wanted {array.dtype} {array.shape}")
                elif other.dtype.kind == "f" and x.size:
                    eps = max(float(ml_dtypes.finfo(a.dtype).eps) for a in made.arrays if a.dtype.kind in "fV")
                    away = np.abs(x.astype(float) - y).max() / eps / size_of(y)
                    if away > (12 if op.name in COARSE else 4):
                        wrong.append(f"{op!r} {name}: {away:.3g} units of {HALVES[number % 2]} away")
    assert not wrong, "\n".join(wrong)
    assert len(seen) > 100


def test_gradients_of_what_is_linear_are_transposes_in_double_precision() -> None:
    """Of what an operator does with v, the product with dy is that of v with what comes back of dy: to the last digits, which
    differences cannot tell."""
    wrong, ran = [], 0
    for number, example in enumerate(ALL):
        op, names = example.op, example.op.input_names()
        back = REGISTRY.get(f"_backward_{op.name}")
        if "B" in getattr(op, "given", ()):  # a bias, which is not multiplied
            example = Example(type(op).bind(**{**op.dump(), "given": ()}), example.arrays[:2])
            op, names = example.op, example.op.input_names()
        if back is None or not issubclass(back, Adjoint):
            continue
        rng = np.random.default_rng(number)
        for of in back.linear_in or range(len(names)):
            if of >= len(names) or example.arrays[of].dtype != np.float32:
                continue
            wide = {i for i in (back.linear_in or range(len(names))) if i < len(names)}
            arrays = [
                a.astype(float) if i in wide and a.dtype == np.float32 else a for i, a in enumerate(example.arrays)
            ]
            v, y = rng.uniform(-1, 1, arrays[of].shape), op.compute(*arrays)
            moved = op.compute(*(a + v if i == of else a for i, a in enumerate(arrays)))
            if isinstance(y, tuple) or y.dtype != np.float64:
                continue
            dy = rng.uniform(-1, 1, y.shape)
            got = back.bind(**op.dump(), of=of).compute(dy, *arrays)
            one, other, size = float(((moved - y) * dy).sum()), float((got * v).sum()), float(np.abs(got * v).sum())
            ran += 1
            if got.dtype != np.float64 or got.shape != v.shape or abs(one - other) > 1e-12 * (size + 1):
                wrong.append(f"{op!r} of {names[of]}: {other}, wanted {one} ({got.dtype} {got.shape})")
    assert not wrong, "\n".join(wrong)
    assert ran > 150
