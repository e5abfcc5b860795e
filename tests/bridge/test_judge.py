"""Decisions of the judge where all that it asks is known: each side, each order, each name."""

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest

import bridge
import converters
import hybrid as mx
from bridge import TOLERANCES, BadInput, Tolerance, conditioning, exact, judge
from bridge.cases import pair_outputs
from bridge.command.shell import status_of
from bridge.compare import compare, distance
from bridge.domains import Taken, numbers_taken
from bridge.draws import draw
from bridge.engines import NativeEngine, OnnxEngine
from bridge.faces import words
from bridge.nodewise import NodewiseResult
from bridge.result import Case, Divergence, VerifyResult
from hybrid.core.op import Domain, Spec
from hybrid.ir.infer import infer


@pytest.fixture(autouse=True)
def _outputs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sides that are known by their outputs have no layers to look at."""
    monkeypatch.setattr(judge, "study", lambda result, *_args, **_options: result)


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
    monkeypatch.setattr(judge, "node_by_node", lambda *_: NodewiseResult({"inside": compare("inside", WANT, WANT)}))
    monkeypatch.setattr(judge, "_truth", lambda *_: truth)
    sides: Any = (one, two)
    trial = judge._Trial(*sides, [Case({}, 0)], reference, None, None, lambda _: None)  # type: ignore[arg-type]
    trial.pairs = [("a", "b")]
    (difference,) = trial._decide(0, {"a": want}, {"b": got})
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
    assert status_of(result, strict) == (4 if verdict == "equivalent" and strict and little else status)


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
    assert numbers_taken(infer(model, {"x": (3,)}))["x"].domain == Domain(0, 3, integer=True)


@pytest.mark.parametrize("dtype", ["float32", "int32", "int64"])
@pytest.mark.parametrize(("low", "high"), [(0, 0), (0, 1), (0, 6), (-3, -1), (-2, 2), (7, 7)])
def test_every_number_of_a_domain_is_drawn_and_no_other(low: int, high: int, dtype: str) -> None:
    known = {"x": Taken(Domain(low, high, integer=True))}
    drawn = draw({"x": Spec((40, 10), np.dtype(dtype))}, known, seed=3)["x"]
    assert drawn.dtype == dtype
    assert np.unique(drawn).tolist() == list(range(low, high + 1))


def test_no_number_is_rounded_out_of_its_domain() -> None:
    """Dtypes of few bits do not have every whole number."""
    for dtype, low, others in (
        (np.float16, 4096, []),
        (ml_dtypes.bfloat16, 296, [298]),
        (np.float32, 2**24, [2**24 + 2]),
    ):
        drawn = draw({"x": Spec((200,), np.dtype(dtype))}, {"x": Taken(Domain(low, low + 3, integer=True))}, seed=3)[
            "x"
        ]
        assert drawn.dtype == dtype
        assert np.unique(drawn.astype(np.float64)).tolist() == [low, *others], dtype


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (0.25, 0.5), (-3.0, 2.0)])
def test_a_domain_of_fractions_is_drawn_from_end_to_end(low: float, high: float) -> None:
    drawn = draw({"x": Spec((2000,), np.dtype(np.float64))}, {"x": Taken(Domain(low, high))}, seed=3)["x"]
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
        drawn = draw({"x": Spec((64,))}, numbers_taken(infer(table.graph, {"x": (64,)})), seed=5)["x"]
        assert np.unique(drawn).tolist() == list(range(first, first + rows)), table.name


# -- a whole comparison ----------------------------------------------------------------------------------------------------


class Played(Side):
    """A side whose outputs of each case are known."""

    def __init__(self, label: str, given: list[dict[str, np.ndarray]], precision: dict[str, str] | None = None):
        super().__init__(label, precision or {})
        self.given = given
        self.rested = 0

    def run(self, feeds: Any) -> Any:
        return self.given[int(feeds["case"])]

    def free_memory(self) -> None:
        self.rested += 1


CASES = [Case({"case": np.array(i)}, 5 + i) for i in range(3)]
SAYS = NodewiseResult({"inside": compare("inside", WANT, WANT)})


class Told:
    """Questions that a comparison asked others, recorded."""

    def __init__(self) -> None:
        self.inspected: list[int] = []
        self.located: list[tuple[int, Any]] = []


def tried(
    monkeypatch: pytest.MonkeyPatch,
    one: Any,
    two: Any,
    inner: Any = SAYS,
    tolerance: Tolerance | None = None,
    truth: Any = None,
    reference: Any = None,
) -> tuple[VerifyResult, Told]:
    """The verdict over what two sides gave. inner: what node by node finds, of every case or by the case's number."""
    told = Told()

    def stepped(_one: Any, _two: Any, case: Case, pairs: Any, ref: Any, _exercised: Any) -> NodewiseResult:
        index = int(case.feeds["case"])
        assert ref is (reference or one)
        told.inspected.append(index)
        found = inner[index] if isinstance(inner, list) else inner
        return NodewiseResult(dict(found.compared), list(found.faults), list(found.notes), found.problem)

    def located(_one: Any, _two: Any, case: Case, limits: Any, _pairs: Any) -> None:
        told.located.append((int(case.feeds["case"]), limits))

    monkeypatch.setattr(judge, "node_by_node", stepped)
    monkeypatch.setattr(judge, "first_divergence", located)
    monkeypatch.setattr(judge, "_truth", lambda *_: truth)
    result = judge.check(one, two, CASES[: len(one.given)], tolerance=tolerance, reference=reference)
    assert one.rested == two.rested == 1
    return result, told


def outputs(*changes: dict[str, float]) -> list[dict[str, np.ndarray]]:
    """Outputs y and z of so many cases, some of them off by a share."""
    base = {"y": WANT, "z": WANT.T * np.float32(3)}
    return [{n: a * np.float32(1 + change.get(n, 0)) for n, a in base.items()} for change in changes]


def test_one_wrong_output_of_one_run_is_found_wherever_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in range(3):
        for name in ("y", "z"):
            changes: list[dict[str, float]] = [{}, {}, {}]
            changes[wrong] = {name: 0.01}
            one, two = Played("one", outputs({}, {}, {})), Played("two", outputs(*changes))
            for tolerance in (None, Tolerance(1e-3, 0)):
                found, told = tried(monkeypatch, one, two, tolerance=tolerance)
                assert found.verdict == "not equivalent" and not found.equivalent
                assert [(d.name, d.equal) for d in found.differences] == [("y", name != "y"), ("z", name != "z")]
                flags = [[d["equal"] for d in run["differences"]] for run in found.runs]
                assert flags == [[not (i == wrong and n == name) for n in ("y", "z")] for i in range(3)]
                assert [run["seed"] for run in found.runs] == [5, 6, 7]
                assert [run["shapes"] for run in found.runs] == [{"case": ()}] * 3
                assert told.inspected == ([wrong] if tolerance else sorted({0, wrong}))
                assert [index for index, _ in told.located] == [wrong]
                assert (found.inner, found.repro) == (1, None)
                one.rested = two.rested = 0


def test_the_worst_of_each_output_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs that differ come before those that are equal, then those that are farther off."""
    one = Played("one", outputs({}, {}, {}))
    two = Played("two", outputs({"y": 2e-5, "z": 0.3}, {"y": 4e-5, "z": 0.1}, {"y": 1e-5, "z": 0.2}))
    found, told = tried(monkeypatch, one, two)
    by_name = {d.name: d for d in found.differences}
    assert by_name["y"].equal and by_name["y"].max_rel == pytest.approx(4e-5, rel=1e-2)
    assert not by_name["z"].equal and by_name["z"].max_rel == pytest.approx(0.3, rel=1e-4)
    assert told.located[0][0] == 0 and (found.a, found.b) == ("one", "two")
    one, two = Played("one", outputs({}, {})), Played("two", outputs({"y": 0.01}, {"y": 1e-6}))
    assert not {d.name: d for d in tried(monkeypatch, one, two)[0].differences}["y"].equal
    for order in (1, -1):  # NaN at one place, the rest exact: farther off is what differs, wherever it comes
        given = outputs({"y": 4e-5}, {}, {"y": 3e-5})[::order]
        given[1]["y"].flat[2] = np.nan
        one, two = Played("one", outputs({}, {}, {})), Played("two", given)
        (worst,) = [d for d in tried(monkeypatch, one, two)[0].differences if d.name == "y"]
        assert (worst.equal, worst.misplaced, worst.max_rel) == (False, 1, 0)


def parted(node: str, operator: str = "Conv") -> Divergence:
    wrong = compare(node, WANT * 2, WANT)
    return Divergence(f"{node}_output", node, operator, wrong, wrong, {})


def test_nodes_that_are_wrong_are_told_though_outputs_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = Played("one", outputs({}, {})), Played("two", outputs({}, {}))
    for count, more in ((1, []), (2, []), (6, []), (7, ["and 1 more"])):
        one.rested = two.rested = 0
        inner = NodewiseResult(
            {"inside": compare("inside", WANT, WANT)}, [parted(f"n{i}") for i in range(count)], ["a note"]
        )
        found, told = tried(monkeypatch, one, two, inner)
        assert found.verdict == "not equivalent"
        assert found.faults == tuple(f"n{i}" for i in range(count))
        assert found.divergence is not None and found.divergence.node == "n0"
        further = [line.split(":")[0] for line in words.others(found)]
        assert further == [f"n{i} (Conv)" for i in range(1, min(count, 6))] + more
        assert told.located == [] and "a note" in found.warnings
        assert found.inner == 1
    one.rested = two.rested = 0
    twice = [NodewiseResult({}, [parted("a"), parted("b")]), NodewiseResult({}, [parted("b"), parted("c")])]
    two.given = outputs({}, {"y": 0.1})
    found, _ = tried(monkeypatch, one, two, twice)
    assert found.faults == ("a", "b", "c")
    assert found.divergence is not None and found.divergence.node == "a"


def test_outputs_that_say_little_need_something_before_them(monkeypatch: pytest.MonkeyPatch) -> None:
    flat = {"y": np.full((2, 2), 3, np.float32), "z": WANT}
    empty = compare("none", np.zeros(0), np.zeros(0))
    same, off = compare("inside", WANT, WANT), compare("off", WANT * 2, WANT)
    for compared, verdict, before in (
        ({"inside": same}, "equivalent", "; inside before it agrees"),
        ({"inside": same, "y": same, "none": empty, "off": off}, "equivalent", "; inside before it agrees"),
        ({"first": same, "inside": same}, "equivalent", "; inside before it agrees"),
        ({"y": same, "z": same}, "says little", ""),
        ({"none": empty}, "says little", ""),
        ({}, "says little", ""),
    ):
        one, two = Played("one", [flat]), Played("two", [flat])
        found, _ = tried(monkeypatch, one, two, NodewiseResult(dict(compared)))
        assert found.verdict == verdict, compared
        assert found.little == ("y is one value everywhere",)
        assert found.warnings == (f"output y is one value everywhere: agreement there says little{before}",)
    one, two = Played("one", [flat]), Played("two", [flat])
    assert tried(monkeypatch, one, two, tolerance=Tolerance(0, 0))[0].verdict == "equivalent"
    one, two = Played("one", [flat]), Played("two", [flat])
    problem = NodewiseResult({"inside": same}, problem="why")
    found, _ = tried(monkeypatch, one, two, problem)
    assert found.verdict == "says little"
    assert found.warnings[0] == "tensors inside were not compared (why): only the outputs were"
    one, two = Played("one", [flat]), Played("two", [{**flat, "y": flat["y"] * 2}])
    found, _ = tried(monkeypatch, one, two)
    why = ("no node is named: every tensor inside that both have is the same",)
    assert (found.verdict, found.little, found.warnings) == ("not equivalent", (), why)
    holes = {"y": np.array([1, np.nan, 2, np.inf], np.float32)}
    one, two = Played("one", [holes]), Played("two", [holes])
    found, _ = tried(monkeypatch, one, two)
    assert (found.verdict, found.little) == ("equivalent", ())
    assert found.warnings == ("output y holds 2 NaN or infinite values of 4",)


def test_a_later_run_is_looked_into_when_it_says_little_or_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    flat = {"y": np.full((2, 2), 3, np.float32)}
    plain = {"y": WANT[:2, :2]}
    one, two = Played("one", [plain, flat, plain]), Played("two", [plain, flat, plain])
    found, told = tried(monkeypatch, one, two)
    assert told.inspected == [0, 1] and found.verdict == "equivalent"


def test_the_limits_of_a_search_are_those_of_the_coarsest_tensor(monkeypatch: pytest.MonkeyPatch) -> None:
    for precision, limits in (
        ({}, None),
        ({"y": "float16"}, TOLERANCES["float16"]),
        ({"y": "", "q": "bfloat16"}, TOLERANCES["bfloat16"]),
    ):
        one, two = Played("one", outputs({}), precision), Played("two", outputs({"y": 0.5}))
        assert tried(monkeypatch, one, two)[1].located == [(0, limits)]
        two.rested = one.rested = 0
        assert tried(monkeypatch, one, two, tolerance=Tolerance(1e-3, 0))[1].located == [(0, Tolerance(1e-3, 0))]


def test_outputs_are_paired_by_name_and_by_place(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Played("one", [{"y": WANT, "z": WANT * 2}])
    for there, equal in (
        ({"z": WANT * 2, "y": WANT}, True),
        ({"p": WANT, "q": WANT * 2}, True),
        ({"p": WANT * 2, "q": WANT}, False),
    ):
        one.rested = 0
        found, _ = tried(monkeypatch, one, Played("two", [there]))
        assert (found.verdict == "equivalent") == equal
    # a sequence has as many parts as the inputs of each run decide: more, fewer, and a wrong one in the last
    for last, equal in ((WANT * 4, True), (WANT * 5, False)):
        parts = [{f"s[{i}]": WANT * (i + 2) for i in range(count)} for count in (2, 1, 3)]
        theirs = [{n.replace("s", "t"): a for n, a in run.items()} for run in parts]
        theirs[2]["t[2]"] = last
        found, _ = tried(monkeypatch, Played("one", parts), Played("two", theirs))
        assert (found.verdict == "equivalent") == equal
        assert {d.name for d in found.differences} == {"s[0]", "s[1]", "s[2]"}
        assert [len(run["differences"]) for run in found.runs] == [2, 1, 3]


def test_the_truth_is_asked_of_the_reference_where_that_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the other side where the reference cannot be evaluated in NumPy."""
    one, two = (Played(n, [{"y": WANT}], {}) for n in ("one", "two"))
    far = compare("y", WANT * 2, WANT)
    for reference, able, asked in (
        (one, {one, two}, (one, two)), (two, {one, two}, (two, two)), (two, {one}, (one, two)), (one, {two}, (one, two)),
    ):  # fmt: skip
        seen: list[tuple[Any, Any]] = []
        monkeypatch.setattr(judge, "native_of", lambda side, able=able: side if side in able else None)
        monkeypatch.setattr(judge, "_truth", lambda a, b, _case, seen=seen: seen.append((a, b)))
        trial = judge._Trial(one, two, CASES[:1], reference, None, None, lambda _text: None)
        trial.pairs = [("y", "y")]
        assert trial._by_float64(CASES[0], [far], {"y": WANT}, {"y": WANT * 2}) == [far]
        assert seen == [asked]


# -- float64 -----------------------------------------------------------------------------------------------------------------

SCALE = 4.0
TRUTH = np.array([1.0, -4.0, 2.0, 0.5])


def by_float64(monkeypatch: pytest.MonkeyPatch, here: float, there: float, usual: float, place: int = 0) -> Any:
    """The difference and warnings where sides are so far from the truth at one place, and runs in NumPy by ``usual``."""
    shift = np.zeros(4)
    shift[place] = 1
    runs = [{"a": TRUTH}, {"a": TRUTH - usual * shift}, {"a": TRUTH + usual / 2 * shift}]
    monkeypatch.setattr(judge, "_truth", lambda *_: ({"a": TRUTH}, runs))
    sides: Any = (Side("here", {}), Side("there", {}))
    trial = judge._Trial(*sides, CASES[:1], sides[0], None, None, lambda _: None)
    trial.pairs = [("a", "b")]
    want, got = {"a": TRUTH + here * shift}, {"b": TRUTH + there * shift}
    plain = compare("a", got["b"], want["a"], Tolerance(0, 0))
    (found,) = trial._by_float64(CASES[0], [plain], want, got)
    return found, trial.warnings


def test_how_far_from_float64_a_side_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """8 times what runs in NumPy are off, or 1e-5 of the scale; past 1/20 of the scale rounding alone decides."""
    step = 2.0**-10
    for usual in (2.0**-6, 2.0**-9):
        for place in range(4):
            for sides in ((8 * usual, 0), (0, 8 * usual), (-8 * usual, 8 * usual)):
                found, warnings = by_float64(monkeypatch, *sides, usual, place)
                assert (found.equal, found.settled_by, found.reason) == (True, "float64", "")
                assert warnings[0].startswith(
                    f"rounding grows in this network: a is {abs(sides[0]) / SCALE:.1e} of its scale from float64 in here, "
                    f"{abs(sides[1]) / SCALE:.1e} in there, and {usual / SCALE:.1e} in float32 runs"
                )
            for sides in ((8 * usual + step, 0), (0, -8 * usual - step)):
                found, warnings = by_float64(monkeypatch, *sides, usual, place)
                assert not found.equal and warnings == []
                told = f"{abs(sides[0]):.2e} and {abs(sides[1]):.2e} from float64, where {usual:.2e} is usual"
                assert found.reason.endswith(told)
    floor = 1e-5 * TRUTH[0]  # of its own channel
    assert by_float64(monkeypatch, floor * 0.99, 0, 0)[0].equal
    assert not by_float64(monkeypatch, floor * 1.01, 0, 0)[0].equal
    for usual, settled in ((0.05 * SCALE + 1e-6, "node by node"), (0.05 * SCALE - 1e-6, "float64")):
        found, warnings = by_float64(monkeypatch, 0.3, 0, usual)
        assert (found.settled_by, found.equal) == (settled, True)
        assert warnings[0].startswith("rounding alone decides here" if settled == "node by node" else "rounding grows")


def test_distances_from_the_truth() -> None:
    inf, nan = np.inf, np.nan
    for got, truth, error in (
        ([1.0, 2.0], [1.5, 1.0], 1.0),
        ([nan, inf, -inf, 1.0], [nan, inf, -inf, 1.25], 0.25),
        ([nan, 1.0], [0.0, 1.0], inf),
        ([0.0], [nan], inf),
        ([inf], [-inf], inf),
        ([inf], [1e38], inf),
        ([], [], 0.0),
    ):
        want = np.finfo(np.float64).max if error == inf else error
        found = distance(np.array(got), np.array(truth))
        assert found >= want if error == inf else found == error, (got, truth)


def test_what_is_moved() -> None:
    array = np.linspace(-3, 5, 50, dtype=np.float32)
    assert conditioning.moved("x", array, 0) is array
    whole = np.arange(5)
    assert conditioning.moved("x", whole, 1) is whole
    first, second, other = (conditioning.moved(n, array, s) for n, s in (("x", 1), ("x", 2), ("y", 1)))
    for found in (first, second, other):
        assert found.dtype == np.float32
        assert (found != array).mean() > 0.2
        np.testing.assert_array_max_ulp(found, array, 2)
    assert (first != second).any() and (first != other).any()
    for dtype, eps in ((np.float16, 2.0**-10), (np.float32, 2.0**-23), (np.float64, 2.0**-23)):
        given = np.linspace(1, 2, 2000).astype(dtype)
        ratio = np.abs(exact.perturb(given, 3.0, 7, "x") / given.astype(np.float64) - 1) / eps
        assert 2.9 < ratio.max() <= 3.0001, dtype


def test_the_truth_is_float64_of_whichever_side_is_ours() -> None:
    x, w = mx.sym.var("x"), mx.sym.var("w_weight")
    net = bridge.open_model(mx.sym.FullyConnected(x, w, num_hidden=2, no_bias=True, name="fc"), {"w_weight": WANT[:2]})
    ours = NativeEngine(net)
    theirs = OnnxEngine(bridge.models.Model("net", proto=converters.to_onnx(net.graph, net.params, {"x": (3, 4)})))
    feeds = {"x": WANT + np.float32(0.1)}
    exactly = feeds["x"].astype(np.float64) @ WANT[:2].astype(np.float64).T
    for one, two in ((ours, theirs), (theirs, ours), (theirs, theirs)):
        found = judge._truth(one, two, Case(feeds))
        assert found is not None
        truth, runs = found
        (name,) = truth
        np.testing.assert_allclose(truth[name], exactly, rtol=1e-14)
        assert len(runs) == 3 and [r[name].dtype for r in runs] == [np.float32] * 3
        np.testing.assert_array_equal(runs[0][name], feeds["x"] @ WANT[:2].T)
        errors = [np.abs(r[name] / exactly - 1).max() for r in runs]
        assert max(errors) < 1e-6 and len({r[name].tobytes() for r in runs}) == 3
    bare = NativeEngine(bridge.open_model(mx.sym.var("x") * 3))
    found = judge._truth(bare, bare, Case(feeds))  # what is fed is moved, where there are no parameters
    assert found is not None and len({r.tobytes() for run in found[1] for r in run.values()}) == 3


# -- fused nodes and nodes that round to whole numbers -------------------------------------------------------------------------


class Runtime(Played):
    """A runtime that gives other numbers without fused nodes."""

    native_engine = None

    def __init__(self, model: Any, plain: bool = False):
        super().__init__("runtime", [model["plain" if plain else "fused"]], model.get("precision"))
        self.model, self.plain, self.proto = model, plain, model["proto"]


def settled(
    monkeypatch: pytest.MonkeyPatch,
    proto: str,
    plain: float | dict[str, float],
    precision: dict[str, str] | None = None,
    fused: float | dict[str, float] = 0.01,
) -> VerifyResult:
    """plain, fused: by which share the runtime's y is off, or its outputs by their names."""
    monkeypatch.setattr(judge, "OnnxEngine", Runtime)
    monkeypatch.setattr(judge, "rounds_to_integers", lambda p: p == "rounds")
    monkeypatch.setattr(judge, "is_quantized", lambda p: p in ("coarse", "rounds"))
    monkeypatch.setattr(judge, "refuse_random", lambda *_: None)
    one = Played("ours", outputs({}), precision)
    runs: dict[str, Any] = {
        n: outputs(v if isinstance(v, dict) else {"y": v})[0] for n, v in (("fused", fused), ("plain", plain))
    }
    made = {**runs, "proto": proto}
    return tried(monkeypatch, one, Runtime(made))[0]


def test_what_a_runtime_fuses_counts_only_where_numbers_are_coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    note = "both agree with onnxruntime's graph optimizations off; with them on, fused nodes round elsewhere (y: "
    for proto, precision, plain, verdict, told in (
        ("coarse", None, 0.0, "equivalent", note),
        ("", {"q": "float16"}, 0.0, "equivalent", note),
        ("", None, 0.0, "not equivalent", note),
        ("coarse", None, 0.01, "not equivalent", ""),
        (
            "rounds",
            None,
            0.01,
            "says little",
            "the model rounds to whole numbers inside, which magnifies rounding (y: ",
        ),
    ):
        found = settled(monkeypatch, proto, plain, precision)
        inner = "equivalent" if verdict == "says little" else verdict
        assert found.verdict == inner, (proto, precision, plain)
        said = [w for w in found.warnings if told and w.startswith(told)]
        assert bool(said) == bool(told), found.warnings
        if told == note:
            assert said[0].endswith("; --atol and --rtol accept it") == (verdict == "not equivalent")
        by_name = {d.name: d for d in found.differences}
        assert by_name["z"].equal and by_name["z"].settled_by == ""
        assert by_name["y"].settled_by == ("node by node" if proto == "rounds" else "")
        assert (found.little == ("y depends on how sums are rounded",)) == (proto == "rounds")


def test_each_output_counts_without_fused_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that differ with them, and those that differ without them alone."""
    for fused in ({"y": 0.01}, {"z": 0.01}, {"y": 0.01, "z": 0.01}):
        for plain in ({}, {"y": 0.01}, {"z": 0.01}):
            found = settled(monkeypatch, "coarse", plain, fused=fused)
            assert found.verdict == ("not equivalent" if plain else "equivalent"), (fused, plain)
            assert {d.name for d in found.differences if not d.equal} == (set(fused) if plain else set())


def test_float64_is_asked_only_where_every_node_was_compared_and_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """The truth would settle every difference here."""
    base = {n: a.astype(np.float64) for n, a in outputs({})[0].items()}
    truth = ({n: a * 1.005 for n, a in base.items()}, [{n: a * 1.004 for n, a in base.items()}])
    one, two = Played("one", outputs({})), Played("two", outputs({"y": 0.01, "z": 0.01}))
    assert tried(monkeypatch, one, two, truth=truth)[0].equivalent
    one.rested = two.rested = 0
    unseen = NodewiseResult(dict(SAYS.compared), problem="no names")
    found, _ = tried(monkeypatch, one, two, unseen, truth=truth)
    assert found.verdict == "not equivalent"
    assert found.warnings[0] == "tensors inside were not compared (no names): only the outputs were"
    one.rested = 0
    short = outputs({"y": 0.01})
    short[0]["z"] = short[0]["z"][:2]
    found, _ = tried(monkeypatch, one, Played("two", short), truth=truth)
    assert [d.equal for d in found.differences] == [False, False]


def test_what_float64_says_of_outputs_of_every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only of floats that differ, of which it knows, in the shape that they have; by the name of either side."""
    truth = {"a": TRUTH, "there": TRUTH, "short": TRUTH[:2], "whole": TRUTH}
    monkeypatch.setattr(judge, "_truth", lambda *_: (truth, [truth]))
    sides: Any = (Side("here", {}), Side("there", {}))
    trial = judge._Trial(*sides, CASES[:1], sides[0], None, None, lambda _: None)
    trial.pairs = [
        ("a", "a"),
        ("here", "there"),
        ("short", "short"),
        ("whole", "whole"),
        ("gone", "gone"),
        ("cut", "cut"),
    ]
    want = {n: TRUTH.astype(np.float32) for n in ("a", "here", "short", "gone", "cut")} | {
        "whole": TRUTH.astype(np.int32)
    }
    got = {b: want[a] + want[a].dtype.type(2) * (np.arange(4) == 1) for a, b in trial.pairs}
    got["a"], got["there"] = want["a"], want["here"] * np.float32(1 + 1e-6)
    got["cut"] = want["cut"][:2]
    plain = [compare(a, got[b], want[a], Tolerance(0, 0) if a == "here" else None) for a, b in trial.pairs]
    assert [d.equal for d in plain] == [True] + [False] * 5
    found = trial._by_float64(CASES[0], plain, want, got)
    assert [(d.name, d.equal, d.settled_by) for d in found[:2]] == [("a", True, ""), ("here", True, "float64")]
    assert [(d.name, d.equal, d.settled_by) for d in found[2:]] == [(n, False, "") for n, _ in trial.pairs[2:]]
    assert [d.reason for d in found[2:]] == [d.reason for d in plain[2:]]


def test_notes_of_outputs_that_say_little_or_are_not_finite(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = Played("one", outputs({})), Played("two", outputs({}))
    holes = WANT.copy()
    holes[1, 1] = np.nan
    for side in (one, two):
        side.given[0] = {"y": np.full((3,), 2, np.float32), "z": np.zeros((0, 2), np.float32), "h": holes, "w": holes.T}
    two.given[0]["w"] = holes.T + np.float32(1)
    found, _ = tried(monkeypatch, one, two)
    assert [w for w in found.warnings if "output" in w] == [
        "output y is one value everywhere: agreement there says little; inside before it agrees",
        "output z is empty: agreement there says little; inside before it agrees",
        "output h holds 1 NaN or infinite values of 12",
    ]
    assert found.little == ("y is one value everywhere", "z is empty")


def test_a_reproduction_is_written_where_there_is_something_to_show(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    written: list[Any] = []

    def write(folder: Any, one: Any, two: Any, found: Any, case: Case) -> Any:
        written.append((folder, found.node, int(case.feeds["case"])))
        return folder

    monkeypatch.setattr(judge, "write_repro", write)
    monkeypatch.setattr(judge, "node_by_node", lambda *_: SAYS)
    for change, where, want in (
        ({}, parted("conv"), None),
        ({"y": 0.01}, None, None),
        ({"y": 0.01}, parted("conv"), str(tmp_path)),
    ):
        monkeypatch.setattr(judge, "first_divergence", lambda *_, where=where: where)
        monkeypatch.setattr(judge, "_truth", lambda *_: None)
        one, two = Played("one", outputs({}, {})), Played("two", outputs({}, change))
        sides: Any = (one, two)
        assert judge.check(*sides, CASES[:2], repro=tmp_path).repro == want
        assert judge.check(*sides, CASES[:2]).repro is None
    assert written == [(tmp_path, "conv", 1)]


def test_without_a_side_of_ours_there_is_no_truth() -> None:
    """Models that we cannot read, and operators that have no float64."""
    x = onnx.helper.make_tensor_value_info("x", 1, [3, 4])
    proto = onnx.helper.make_model(onnx.helper.make_graph([onnx.helper.make_node("Odd", ["x"], ["y"])], "g", [x], []))
    unread = OnnxEngine(bridge.models.Model("odd", proto=proto))
    assert judge._truth(unread, unread, Case({"x": WANT})) is None
    ours = NativeEngine(bridge.open_model(mx.sym.var("x") * 2))
    found = judge._truth(unread, ours, Case({"x": WANT}))
    assert found is not None
    np.testing.assert_array_equal(found[0][ours.outputs[0]], WANT.astype(np.float64) * 2)
    broken = NativeEngine(
        bridge.open_model(mx.sym.FullyConnected(mx.sym.var("x"), mx.sym.var("w"), no_bias=True, num_hidden=2)), {"w": 0}
    )
    assert judge._truth(broken, broken, Case({"x": WANT, "w": WANT[:2, :3]})) is None


def test_fused_nodes_are_looked_into_once_and_for_either_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """A side that already runs node by node is not asked again; one of two models that rounds is enough."""
    monkeypatch.setattr(judge, "OnnxEngine", Runtime)
    monkeypatch.setattr(judge, "rounds_to_integers", lambda p: p == "rounds")
    monkeypatch.setattr(judge, "is_quantized", lambda p: p == "coarse")
    monkeypatch.setattr(judge, "refuse_random", lambda *_: None)
    right, wrong = outputs({})[0], outputs({"y": 0.01})[0]

    def sides(first: str, second: str, plain: bool = False, precision: Any = None) -> VerifyResult:
        one = Runtime({"fused": right, "plain": right, "proto": first, "precision": precision})
        two = Runtime({"fused": wrong, "plain": wrong if plain else right, "proto": second}, plain)
        one.plain = plain
        return tried(monkeypatch, one, two)[0]

    for pair in (("rounds", ""), ("", "rounds")):
        assert sides(*pair).warnings[0].startswith("the model rounds to whole numbers inside")
    for pair in (("coarse", ""), ("", "coarse")):
        assert sides(*pair).equivalent
    assert sides("", "", precision={"q": "", "r": "float16", "s": ""}).equivalent
    found = sides("coarse", "", plain=True)
    assert found.verdict == "not equivalent" and not any("fused" in w for w in found.warnings)
