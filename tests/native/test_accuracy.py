"""Distances of kernels from float64: each within the bound that docs/accuracy.md states, in epsilons of its output's scale.

The cases are those of benchmarks/accuracy.py, at depths where a single chain of additions, a sum in float16 or a polynomial with
a wrong digit shows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from benchmarks.precisions import CASES, Case, bound_of, computed, deviation, exactly
from hybrid import native

compiled = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")


LARGE = 1 << 20
"""Elements of a case that runs in the long set only: there are smaller ones of its kind."""


def parameters(cases: Iterable[Case]) -> list[Any]:
    """The cases, named, the large ones marked slow."""
    return [
        pytest.param(
            case,
            id=f"{case.family}: {case.title}",
            marks=[pytest.mark.slow] if sum(math.prod(s) for s in case.shapes.values()) > LARGE else [],
        )
        for case in cases
    ]


def hold(case: Case) -> None:
    """Every output, or gradient, within the bound."""
    names, exact = exactly(mx, case)
    for name, got, want in zip(names, computed(mx, case), exact, strict=True):
        assert got.dtype == case.dtype
        assert deviation(got, want, case.ulp)[0] <= bound_of(case), name


@compiled
@pytest.mark.parametrize("case", parameters(CASES))
def test_kernels_keep_their_bound(case, level):
    hold(case)


CHAINED = ("Convolution, direct", "FullyConnected", "Products")
HALVES = [c for c in CASES if c.dtype == "float16"]
SUMS = [c for c in CASES if c.family.startswith("Reductions") and c.operator != "mean"]


@pytest.mark.parametrize("case", parameters(HALVES))
def test_numpy_adds_up_thousands_of_halves_in_single_precision(case):
    before = native.use(None)
    try:
        hold(case)
    finally:
        native.use(before)


@pytest.mark.parametrize("case", parameters(SUMS))
def test_numpy_keeps_the_bounds_of_sums(case):
    before = native.use(None)
    try:
        hold(case)
    finally:
        native.use(before)


@pytest.mark.parametrize("operator", ["FullyConnected", "Convolution", "dot"])
def test_the_bound_refuses_a_single_chain_of_additions(operator):
    """The loop over K that kernels had: what it loses is more than the bound allows."""
    random = np.random.default_rng(0)
    rows, columns = (np.abs(random.standard_normal((32, 4608))).astype("f") for _ in range(2))
    total = np.zeros((32, 32), "f")
    for k in range(4608):
        total += np.outer(rows[:, k], columns[:, k])
    exact = rows.astype("d") @ columns.astype("d").T
    (bound,) = {bound_of(c) for c in CASES if c.operator == operator and c.family in CHAINED}
    assert deviation(total, exact, False)[0] > bound
