"""Every kernel against NumPy, on the operators' own examples and on what MXNet was asked (fixtures/ops), at every CPU level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from hybrid import native
from hybrid.op import BACKWARD, FUSED, REGISTRY, Op
from tests.native.single import Single, reference, specs_of
from tests.table.examples import Maker, examples
from tests.table.goldens import cases

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="there is no compiled part")

NAMES = {name for name, _ in native.kernels()}


def agree(op: Op, arrays: Sequence[np.ndarray]) -> bool:
    """Whether there is a kernel; it has to give what NumPy gives, with inputs constant or not."""
    if not arrays or not native.takes(op.name, arrays[0].dtype):
        return False
    for constants in ((), range(1, len(arrays))):
        single = Single(op, arrays, constants)
        if not single.there:
            return False
        wanted, made = reference(op, arrays, single.specs), single.run(arrays)
        for i, (got, want) in enumerate(zip(made, wanted, strict=True)):
            try:
                near(op, got, want)
            except AssertionError:
                if not nearer(op, arrays, i, got, want):
                    raise
    return True


def nearer(op: Op, arrays: Sequence[np.ndarray], output: int, got: np.ndarray, want: np.ndarray) -> bool:
    """Whether the kernel is nearer than NumPy to what float64 gives: then it is NumPy that has lost digits."""
    if any(a.dtype != np.float32 for a in arrays):
        return False
    wide = [a.astype(np.float64) for a in arrays]
    exact = reference(op, wide, specs_of(op, wide))[output]
    return float(np.abs(got - exact).max()) < float(np.abs(want - exact).max())


def near(op: Op, got: np.ndarray, want: np.ndarray) -> None:
    """The tolerance is the operator's own, in epsilons of the dtype times the output's scale."""
    if op.name.startswith(FUSED) and want.ndim == 5 and got.shape != want.shape:
        raise AssertionError(f"{got.shape} instead of {want.shape}")
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    finite = np.abs(want[np.isfinite(want)])
    scale = float(finite.max(initial=0)) or 1.0
    bound = max(op.tolerance, 4) * max(float(np.finfo(want.dtype).eps), op.epsilon)
    np.testing.assert_allclose(got, want, rtol=bound, atol=bound * scale)


OWN = [e for e in examples() if e.op.name in NAMES]
FUSED_ONES = [e for n, c in REGISTRY.items() if n.startswith(FUSED) for e in c.examples(Maker(c))]
GOLDENS = [pytest.param(c, id=f"{c.operator}-{c.id}") for c in cases() if c.op().name in NAMES]


@pytest.mark.parametrize("example", [*OWN, *FUSED_ONES], ids=lambda e: e.op.name)
def test_examples(example, level):
    agree(example.op, example.arrays)


@pytest.mark.parametrize("case", GOLDENS)
def test_what_mxnet_was_asked(case, level):
    agree(case.op(), case.arrays())


def test_kernels_do_something(level):
    """For every kernel there is an example that it takes: a kernel that declines everything is none."""
    given = [(e.op, e.arrays) for e in (*OWN, *FUSED_ONES)]
    given += [(c.op(), c.arrays()) for (c,) in (p.values for p in GOLDENS)]
    taken: set[str] = set()
    for op, arrays in given:
        if op.name not in taken and agree(op, arrays):
            taken.add(op.name)
    assert not {n for n in NAMES - taken if not n.startswith(BACKWARD)}
