"""Every operator's training form inside of graphs: what compiled kernels and passes make of it is what NumPy makes of it.

Alone an operator is hardly rewritten. Here it stands among others, and all is compared: outputs, gradients, states that move,
three times in a row. No operator is named."""

import itertools

import numpy as np
import pytest

from hybrid.core.error import OpError
from hybrid.core.op import Example
from hybrid.ir.infer import infer
from tests import shares
from tests.grouped import each
from tests.table.examples import Numbered, examples, graph_of, numbered
from tests.table.goldens import Case, cases
from tests.table.inside import FORMS, Arrays, inside
from tests.table.training import differences, numpy_alone, trained


def has_words(example: Example) -> bool:
    """True where it takes or gives what no NDArray holds."""
    graph, feeds = graph_of(example)
    found = infer(graph, {n: a.shape for n, a in feeds.items()}, {n: a.dtype for n, a in feeds.items()})
    return any(d is not None and d.hasobject for d in found.dtypes.values())


ALL = each([row for row in enumerate(examples()) if not has_words(row[1])], numbered)


def check(example: Example, form: str, rounding: float = 0.0) -> None:
    """Assert that the example in that form trains compiled as it trains in NumPy."""
    found = inside(example, form)
    if found is None:
        return
    graph, feeds = found
    with numpy_alone():
        try:
            want = trained(graph, copied(feeds))
        except OpError:
            if form == "alike":  # an array that is right for one input may be none for another
                return
            raise
    got = trained(graph, copied(feeds))
    problems = differences(got, want, example.op.tolerance, max(example.op.epsilon, rounding))
    assert not problems, "\n".join(problems)


def copied(feeds: Arrays) -> Arrays:
    return {name: np.array(a) for name, a in feeds.items()}


@ALL
def test_trains_among_others_as_numpy_does(row: Numbered) -> None:
    check(row[1], "together")


@pytest.mark.slow
@ALL
def test_trains_in_each_place_as_numpy_does(row: Numbered) -> None:
    """Of each example one place: that an operator's examples stand in all of them, their number sees to."""
    for form in shares.one([f for f in FORMS if f != "together"], " ".join(numbered(row))):
        check(row[1], form)


EACH = 40
"""Of so many recorded applications one is tried: all of them take half an hour."""


ILL = {
    ("_npi_std", "large-offset-more"): "its gradient is what is left of numbers a thousand times as large",
    ("RNN", "rnn_tanh-large"): "derivatives of tanh where it is 1 but for a few units in the last place",
}
"""Recorded applications whose gradients have lost their digits in both, and why."""


@pytest.mark.slow
@each([c for c in itertools.islice(cases(), 0, None, EACH) if c.label() not in ILL], Case.label)
def test_recorded_applications_train_among_others_as_numpy_does(case: Case) -> None:
    """Sets of attributes that MXNet was asked about."""
    check(Example(case.op(), tuple(case.arrays())), "together", case.eps)
