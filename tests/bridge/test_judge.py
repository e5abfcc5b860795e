"""What the judge decides when all that it asks is known: each side, each order, each name."""

from typing import Any

import numpy as np
import pytest

import hybrid as mx
from bridge import BadInput, judge
from bridge.cases import pair_outputs
from bridge.cli import _status
from bridge.compare import compare
from bridge.inputs import domains, draw
from bridge.result import Case, VerifyResult
from bridge.stepwise import Inner
from hybrid.core.op import Domain, Spec

WANT = np.linspace(1, 2, 12, dtype=np.float32).reshape(3, 4)


class Side:
    """An engine as far as a verdict over known outputs needs one."""

    def __init__(self, label: str, precision: dict[str, str]):
        self.label = label
        self._precision = precision

    def precision(self, feeds: Any) -> dict[str, str]:
        return self._precision


def decided(
    monkeypatch: pytest.MonkeyPatch, one: Side, two: Side, reference: Side, want: Any, got: Any, truth: Any = None
) -> Any:
    """The difference of one output, that is called a here and b there; every node is right by itself."""
    monkeypatch.setattr(judge, "node_by_node", lambda *_: Inner({"inside": compare("inside", WANT, WANT)}))
    monkeypatch.setattr(judge, "_truth", lambda *_: truth)
    sides: Any = (one, two)
    trial = judge._Trial(*sides, [Case({}, 0)], reference, None, None, lambda _: None)  # type: ignore[arg-type]
    trial.pairs = [("a", "b")]
    (difference,) = trial._decided(0, {"a": want}, {"b": got})
    return difference


@pytest.mark.parametrize("coarse", ["one", "two", "both", "none"])
@pytest.mark.parametrize("reference", ["one", "two"])
def test_the_precision_of_the_reference_counts(monkeypatch: pytest.MonkeyPatch, coarse: str, reference: str) -> None:
    one = Side("one", {"a": "float16" if coarse in ("one", "both") else ""})
    two = Side("two", {"b": "float16" if coarse in ("two", "both") else ""})
    held = one if reference == "one" else two
    found = decided(monkeypatch, one, two, held, WANT, WANT * np.float32(1.001))
    assert found.equal == (coarse in (reference, "both"))


NEAR, FAR = 2e-3, 1e-1


@pytest.mark.parametrize(
    ("here", "there", "settled"),
    [
        (NEAR, -NEAR, True),
        (FAR, -NEAR, False),
        (NEAR, -FAR, False),
        (FAR, -FAR, False),
        (0, FAR, False),
        (FAR, 0, False),
    ],
)
def test_both_sides_have_to_be_near_the_truth(
    monkeypatch: pytest.MonkeyPatch, here: float, there: float, settled: bool
) -> None:
    one, two = Side("one", {}), Side("two", {})
    truth = {"a": WANT.astype(np.float64)}, [{"a": WANT + np.float32(d)} for d in (0, 1e-3, -1e-3)]
    found = decided(monkeypatch, one, two, one, WANT + np.float32(here), WANT + np.float32(there), truth)
    assert (found.equal, found.settled_by) == ((True, "float64") if settled else (False, ""))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("little", [(), ("y is one value everywhere",)])
@pytest.mark.parametrize(("verdict", "status"), [("equivalent", 0), ("says little", 4), ("not equivalent", 1)])
def test_every_verdict_has_its_exit_status(verdict: Any, status: int, little: tuple[str, ...], strict: bool) -> None:
    """An output that says little beside others that say enough counts with --strict alone."""
    result = VerifyResult("a", "b", verdict, (), (), little=little)
    assert _status(result, strict) == (4 if verdict == "equivalent" and strict and little else status)


def test_outputs_belong_together_by_name_in_any_order() -> None:
    assert pair_outputs(["a", "b", "c"], ["c", "a", "b"]) == [("a", "a"), ("b", "b"), ("c", "c")]
    assert pair_outputs(["a", "b"], ["b", "x"]) == [("a", "b"), ("b", "x")]
    with pytest.raises(BadInput, match=r"got 2 outputs \(a, b\) against 1"):
        pair_outputs(["a", "b"], ["a"])


@pytest.mark.parametrize("turned", [False, True])
def test_what_two_operators_read_suits_both(turned: bool) -> None:
    """Places in a table of seven rows and in one of four are places below four; numbers that have to be whole stay whole."""
    x = mx.sym.var("x")
    sums = [mx.sym.Embedding(x, input_dim=size, output_dim=2, name=f"table{size}") for size in (7, 4)]
    model = (sums[1] + sums[0] if turned else sums[0] + sums[1]).graph
    assert domains(model, {"x": (3,)})["x"] == Domain(0, 3, integer=True)


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
@pytest.mark.parametrize(("low", "high"), [(0, 0), (0, 1), (0, 6), (-3, -1), (-2, 2), (7, 7)])
def test_every_number_of_a_domain_is_drawn_and_no_other(low: int, high: int, dtype: str) -> None:
    known = {"x": Domain(low, high, integer=True)}
    drawn = draw({"x": Spec((40, 10), np.dtype(dtype))}, known, seed=3)["x"]
    assert drawn.dtype == dtype
    assert np.unique(drawn).tolist() == list(range(low, high + 1))


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (0.25, 0.5), (-3.0, 2.0)])
def test_a_domain_of_fractions_is_drawn_from_end_to_end(low: float, high: float) -> None:
    drawn = draw({"x": Spec((2000,), np.dtype(np.float64))}, {"x": Domain(low, high)}, seed=3)["x"]
    near = 0.01 * (high - low)
    assert low <= drawn.min() <= low + near
    assert high - near <= drawn.max() <= high


@pytest.mark.parametrize("rows", [1, 3])
def test_all_rows_of_a_table_are_asked_for(rows: int) -> None:
    """Lengths of sequences are counted from 1."""
    x = mx.sym.var("x")
    for first, table in (
        (0, mx.sym.Embedding(x, input_dim=rows, output_dim=2)),
        (0, mx.sym.take(mx.sym.zeros((rows, 2)), x)),
        (0, mx.sym.pick(mx.sym.zeros((64, rows)), x)),
        (1, mx.sym.SequenceReverse(mx.sym.zeros((rows, 64)), x, use_sequence_length=True)),
    ):
        drawn = draw({"x": Spec((64,))}, domains(table.graph, {"x": (64,)}), seed=5)["x"]
        assert np.unique(drawn).tolist() == list(range(first, first + rows)), table.name
