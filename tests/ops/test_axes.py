"""An axis counted from behind is the axis counted from the front: results, gradients, inference. No operator is named."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np

from hybrid.core.error import OpError
from hybrid.core.op import Op
from tests.ops.test_contracts import computed
from tests.table.examples import examples
from tests.table.options import others
from tests.table.test_gradients import gradients_of, has_rule

NAMES = re.compile(r"(axis|axes|dim\d?|.*_axes.*|axis\d|source|destination)")
"""What attributes are called that hold axes."""


def from_behind(op: Op, rank: int) -> list[tuple[str, Op]]:
    """The operator with each of its attributes that hold axes, these counted from the other end."""
    found = []
    for name in filter(NAMES.fullmatch, op.fields):
        value: Any = getattr(op, name)
        axes = value if isinstance(value, tuple) else (value,)
        if axes and all(isinstance(a, int) and not isinstance(a, bool) and -rank <= a < rank for a in axes):
            other = tuple(a - rank if a >= 0 else a + rank for a in axes)
            try:
                found.append((name, op.bind(**op.dump() | {name: str(other if value is axes else other[0])})))
            except OpError:  # it takes these axes in one form alone
                continue
    return found


def test_axes_from_behind_are_those_from_the_front() -> None:
    wrong, seen = [], set()
    for op, arrays in itertools.chain(examples(), others()):
        if not arrays or set(op.uses) - {"training"} or not any(map(NAMES.fullmatch, op.fields)):
            continue
        wanted = computed(op, [a.copy() for a in arrays])
        heads = {
            i: np.random.default_rng(7).uniform(-1, 1, y.shape).astype(y.dtype)
            for i, y in enumerate(wanted[: op.visible()])
        }
        feeds = dict(zip(op.takes(), arrays))
        ruled = has_rule(op) and all(h.dtype.kind == "f" for h in heads.values())
        slopes = gradients_of(op, op.takes(), feeds, heads) if ruled else {}
        alike: dict[str, bool] = {}  # counted in an input or in an output: in one of them it has to be the same
        for rank in {a.ndim for a in (*arrays, *wanted)}:
            for name, other in from_behind(op, rank):
                shapes, none = [a.shape for a in arrays], [None] * len(wanted)
                try:
                    if str(other.infer_shape(*shapes)) != str(op.infer_shape(*shapes)):
                        continue
                    same = str(other.infer_input_shapes(shapes, none)) == str(op.infer_input_shapes(shapes, none))
                    same &= all(map(np.array_equal, computed(other, [a.copy() for a in arrays]), wanted))
                    found = gradients_of(other, op.takes(), feeds, heads) if ruled else {}
                    same &= all(np.array_equal(found[n], slopes[n]) for n in slopes)
                except ValueError:  # among them OpError
                    continue
                alike[name] = alike.get(name, False) or same
        seen |= {(op.name, n) for n in alike}
        wrong += [f"{op!r} by {n}" for n, same in alike.items() if not same]
    assert len(seen) > 100
    assert not wrong, "\n".join(wrong)
