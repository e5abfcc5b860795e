"""Steps of optimizers in one pass over memory: an operator for the compiled part's kernel, and its use on arrays in place.

NumPy's rules (optimizer.py) go over memory once for every product and sum; weights, which no cache holds, are read ten times.
"""

import functools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from .. import native
from ..core.changes import LAST
from ..core.op import Op, op
from ..core.shapes import merge, merge_all

NUMBERS = ("lr", "wd", "rescale_grad", "clip_gradient", "first", "second", "epsilon")
"""Numbers that a rule may read, in the kernel's order; first and second: of momentum or of the two averages."""


class FusedUpdateRule(NamedTuple):
    """A rule of optimizer.py as the kernel is told of it."""

    meaning: Callable[..., Any]
    states: tuple[str, ...]
    reads: tuple[str, ...]
    """The operator's attributes that are its numbers from ``first`` on."""


RULES: dict[str, FusedUpdateRule] = {}
"""By the name that the kernel knows; optimizer.py fills it."""


@op("_fused_update")
class FusedUpdate(Op):
    """One step for one float32 weight: (weight, grad, *states, numbers) -> (weight, *states); numbers: those of NUMBERS."""

    rule: Literal["adam", "nag", "sgd", "sgd_momentum"]

    inputs: ClassVar[tuple[str, ...]] = ("weight", "grad", "*states", "numbers")

    def input_names(self):
        return ("weight", "grad", *RULES[self.rule].states, "numbers")

    def output_names(self):
        return ("weight", *RULES[self.rule].states)

    def infer_type(self, *dtypes):
        if wrong := [d for d in dtypes if d != np.float32]:
            raise self.error(f"got {wrong[0]}, wanted float32")
        return super().infer_type(*dtypes)

    def infer_shape(self, weight, *rest):
        *arrays, numbers = rest
        merge_all((weight, *arrays))
        merge(numbers, (len(NUMBERS),))
        return [weight] * len(self.output_names()) if len(self.output_names()) > 1 else weight

    def compute(self, weight, grad, *rest):
        *states, numbers = rest
        rule = RULES[self.rule]
        given = dict(zip(NUMBERS, numbers))
        values = SimpleNamespace(**given | dict(zip(rule.reads, numbers[4:])))
        return tuple(rule.meaning(values, given["lr"], given["wd"], weight, grad, *states))

    @classmethod
    def examples(cls, make):
        for name, rule in RULES.items():
            for clip in (-1, 0.3):
                numbers = np.array([0.1, 0.01, 0.5, clip, 0.9, 0.99, 1e-8], np.float32)
                arrays = [make.uniform(5, 7, low=0.1) for _ in ("weight", "grad", *rule.states)]
                yield make(*arrays, numbers, rule=name)


class WeightUpdate(NamedTuple):
    """One weight's step: weight, gradient and states, which are written to, and where the new weight goes."""

    lr: Any
    wd: Any
    arrays: Sequence[np.ndarray]
    out: np.ndarray


def update(rule: str, op: Any, steps: Sequence[WeightUpdate]) -> bool:
    """Take all steps by the compiled part; False, and nothing done, when it cannot. op: whose attributes the rule reads."""
    if not native.has_kernel("_fused_update", "float32"):
        return False
    if not all(_plain(a) and a.shape == s.out.shape for s in steps for a in (*s.arrays, s.out)):
        return False
    for s in steps:
        others = [a for a in s.arrays if a is not s.out]
        if any(np.may_share_memory(s.out, a) for a in others):
            return False
    fixed = [op.rescale_grad, op.clip_gradient, *(getattr(op, n) for n in RULES[rule].reads)]
    for s in steps:
        numbers = np.zeros(len(NUMBERS), np.float32)
        numbers[: 2 + len(fixed)] = (s.lr, s.wd, *fixed)
        _program(rule, s.out.size, LAST.backends).run([*s.arrays, numbers], [s.out, *s.arrays[2:]], None)
    return True


def _plain(array: np.ndarray) -> bool:
    flags = array.flags
    return array.dtype == np.float32 and flags.c_contiguous and flags.aligned and array.size > 0


@functools.lru_cache(maxsize=1024)
def _program(rule: str, size: int, backends: int) -> Any:
    """The step alone, on arrays of that size. backends: ``LAST.backends``, with which it was made."""
    inputs, outputs = 1, 2  # places, as in execution/lower.py
    states = len(RULES[rule].states)
    tensors: list[Any] = [("float32", (size,), False, 0, 0, 0, inputs, i) for i in range(2 + states)]
    tensors.append(("float32", (len(NUMBERS),), False, 0, 0, 0, inputs, 2 + states))
    tensors += [("float32", (size,), False, 0, 0, 0, outputs, i) for i in range(1 + states)]
    numbers = list(range(len(tensors)))
    step = ("_fused_update", {"rule": rule}, numbers[: 3 + states], numbers[3 + states :], False)
    return native.program(tensors, [step], 0, 3 + states, 1 + states, 0, native.threads(), True, False)
