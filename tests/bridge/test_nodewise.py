"""Networks that round to whole numbers inside are held against onnxruntime node by node."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import bridge
import hybrid as mx
from bridge import nodewise
from bridge.compare import slice_scales
from bridge.engines import NativeEngine, OnnxEngine, Part, Tensor
from bridge.nodewise import node_by_node, rounds_to_integers
from bridge.result import Case
from hybrid.core.op import OPS
from hybrid.ir.graph import Graph
from tests.models.onnx_networks import FOLDER, OnnxNetwork

NETWORK = OnnxNetwork("ort_qdq_int16_cnn", FOLDER / "ort_qdq_int16_cnn")


def compared() -> dict[str, bool]:
    """Tensors of the network, and whether they are the same from the same inputs."""
    ours, theirs = bridge.open_model(NETWORK.model).native, bridge.open_model(NETWORK.model)
    case = Case(NETWORK.runs()[0][0])
    return {
        n: d.equal for n, d in node_by_node(NativeEngine(ours), OnnxEngine(theirs, plain=True), case).compared.items()
    }


def test_every_node_is_compared() -> None:
    found = compared()
    made = {o for n in onnx.load(NETWORK.model).graph.node for o in n.output}
    assert all(found.values())
    assert len(found) > 0.8 * len(made)


def test_only_the_wrong_node_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    right = OPS["_onnx_QuantizeLinear"].compute
    monkeypatch.setattr(OPS["_onnx_QuantizeLinear"], "compute", lambda op, *a, **k: right(op, *a, **k) + np.uint16(1))
    graph = onnx.load(NETWORK.model).graph
    wrong = {n.output[0] for n in graph.node if n.op_type == "QuantizeLinear"}
    assert {n for n, equal in compared().items() if not equal} == wrong


def test_the_import_says_what_was_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    feeds = NETWORK.runs()[1][0]
    found = bridge.import_onnx(NETWORK.model, inputs=feeds)
    assert found.verified
    assert found.verification is not None
    assert found.verification.inner > 50  # nodes that were given the same values on both sides
    right = OPS["_onnx_QuantizeLinear"].compute
    monkeypatch.setattr(OPS["_onnx_QuantizeLinear"], "compute", lambda op, *a, **k: right(op, *a, **k) + np.uint16(1))
    with pytest.raises(bridge.NotEquivalent):
        bridge.import_onnx(NETWORK.model, inputs=feeds)


def test_other_networks_are_compared_as_a_whole(tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["": 17]> net (float[2] x) => (float[2] y) { y = Round (x) }'
    assert not rounds_to_integers(onnx.parser.parse_model(text))
    assert rounds_to_integers(onnx.load(NETWORK.model, load_external_data=False))


def test_what_onnxruntime_fuses_is_told_from_what_differs(tmp_path: Path) -> None:
    feeds = NETWORK.runs()[0][0]
    bridge.import_onnx(NETWORK.model, output=tmp_path / "out", inputs=feeds)
    converted = bridge.convert(tmp_path / "out", inputs=feeds, output=tmp_path / "back.onnx")
    assert converted.verified
    assert bridge.verify(tmp_path / "out", tmp_path / "back.onnx", inputs=feeds).equivalent
    broken = onnx.load(tmp_path / "back.onnx")
    scale = next(n.input[1] for n in broken.graph.node if n.op_type == "DequantizeLinear")
    stored = next(i for i in broken.graph.initializer if i.name == scale)
    stored.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(stored) * np.float32(1.5), scale))
    onnx.save(broken, tmp_path / "broken.onnx")
    assert not bridge.verify(tmp_path / "out", tmp_path / "broken.onnx", inputs=feeds).equivalent


# -- one node, when everything that is asked about it is known ------------------------------------------------------------------

EPS = 2.0**-23
TRUTH = np.array([1.0, 2.0, 4.0, 8.0])
NODE = Tensor("t", "node", "Op", ("a",))


class Known:
    """A side that says of one node what a test wants. moves: by how many epsilons a unit in the last place moves it."""

    label = "known"

    def __init__(self, truth: Any, moves: float = 0.0, part: Part | None = None, foreign: Any = None):
        self.truth, self.moves, self.piece, self.witness = truth, moves, part, foreign
        self.asked: list[Any] = []

    def part(self, cut: Any, names: Any) -> Part | None:
        return self.piece

    def exact(self, cut: Any, values: Any, name: str, jitter: Any = None, halved: bool = False) -> Any:
        self.asked.append(jitter)
        if jitter is None or self.truth is None:
            return self.truth
        return self.truth * (1 + self.moves * (1, -0.25, 0.5, 0)[(jitter[1] + self.first) % 4])

    first = 0

    def exact_by_oracle(self, cut: Any, values: Any, name: str, halved: bool = False) -> Any:
        self.asked.append(f"foreign {name} {sorted(values)} {halved}")
        return self.witness


def part(operators: int = 1, tolerance: float = 0.0) -> Part:
    return Part(Graph([]), (), operators, tolerance)


def local(source: Known, other: Known, got: Any, want: Any, rounded: str = "", values: Any = None) -> Any:
    sides: Any = (source, other)
    judge = nodewise._Judge(*sides, frozenset(), frozenset(), {"t": "u", "a": "b"})
    return judge.local(NODE, got, want, values or {"a": np.zeros(1)}, rounded)


def off(shift: float, place: int | None = None, dtype: Any = np.float64) -> np.ndarray:
    """The truth, off by so many epsilons of each element, or of one."""
    return (TRUTH * (1 + shift * EPS * (1 if place is None else np.arange(4) == place))).astype(dtype)


F32 = np.float32


def test_rounding_of_one_node_needs_no_other_witness() -> None:
    """32 epsilons of a slice, or the operator's own tolerance."""
    for tolerance, units in ((0.0, 32), (16.0, 32), (64.0, 64)):
        for place in range(4):
            source = Known(None, part=part(8, tolerance))
            found, note = local(source, Known(None), off(units, place, F32), off(0, dtype=F32))
            assert (found.equal, found.settled_by, note) == (True, "rounding of one node", "")
            assert source.asked == []
            source = Known(None, part=part(8, tolerance))
            found, _ = local(source, Known(None), off(units + 2, place, F32), off(0, dtype=F32))
            assert source.asked, (units, place)
    found, _ = local(Known(None), Known(None), off(32, 1, F32), off(0, dtype=F32))  # no part is known
    assert found.settled_by == "rounding of one node"


def test_what_is_computed_in_half_precision_has_its_own_limit() -> None:
    half = 2.0**-10
    want = TRUTH.astype(np.float16)
    for rounded, shift, near_enough in (("float16", 1, True), ("float16", 2, False), ("", 1, False)):
        got = (TRUTH * (1 + shift * half)).astype(np.float16)
        source = Known(None, part=part())
        local(source, Known(None), got, want, rounded)
        assert (source.asked == []) == near_enough, (rounded, shift)


def test_float64_decides_beyond_that() -> None:
    """Moved by 64 epsilons: 32 times (64 + 1) are allowed; a sure tolerance is 1024. Foreign witnesses may be 129 off."""
    rows: list[tuple[float, Any, Any, bool, str]] = [
        # how far got is, onnx's evaluator, our reading of the other model, equal, said
        (1000, None, None, True, ""),
        (-1000, None, None, True, ""),
        (1100, None, None, False, "beyond a sure tolerance, and float64 does not confirm it"),
        (1100, off(0), None, True, ""),
        (1100, None, off(0), True, ""),
        (1100, off(128), None, True, ""),
        (1100, off(-128), None, True, ""),
        (1100, None, off(128), True, ""),
        (1100, off(131), None, False, "differ between the models in float64 too"),
        (1100, off(131, 2), off(0), True, ""),
        (1100, off(0, dtype=np.float64)[:2], None, False, "beyond a sure tolerance, and float64 does not confirm it"),
        (2078, off(0), None, True, ""),
        (2100, off(0), None, True, "known is inexact at node (Op): 2.5e-04 of its scale from float64, known 0.0e+00;"),
        (2100, None, off(0), False, "beyond what rounding gives"),
        (2100, None, None, False, "beyond what rounding gives"),
        (2100, off(2100), None, False, "differ between the models in float64 too"),
        (2100, off(200_000), None, False, "beyond what rounding gives"),
        (8300, off(0), None, True, "known is inexact at node (Op): 9.9e-04 of its scale from float64"),
        (8500, off(0), None, False, "beyond what rounding gives"),
    ]
    for shift, foreign, read, equal, said in rows:
        for first in range(4):  # whichever of the four draws moves most
            source, other = Known(TRUTH, 64 * EPS, part()), Known(read, foreign=foreign)
            source.first = first
            found, note = local(source, other, off(shift, dtype=F32), off(0, dtype=F32))
            row = (shift, foreign, read)
            assert found.equal == equal, row
            assert (found.settled_by, found.reason) == ("float64", "") if equal else said in found.reason, row
            assert note.startswith(said) if equal else not note, row
            assert source.asked == [None, (1.0, 0), (1.0, 1), (1.0, 2), (1.0, 3)]
            if abs(shift) < 1024:
                assert other.asked == []
            else:
                assert other.asked[0] == "foreign u ['b'] False"


def test_rounding_on_the_way_is_known_by_what_the_other_side_rounds() -> None:
    """Only where several nodes lie between; the models have to agree in float64 all the same. And as far off is not inexact."""
    rows: list[tuple[int, float, float, Any, Any, bool, str]] = [
        # operators, how far off want and got are, onnx's evaluator, our reading, equal, said
        (5, -1500, 2900, None, off(0), True, ""),
        (5, -1500, 3100, None, off(0), False, "beyond what rounding gives"),
        (1, -1500, 2900, None, off(0), False, "beyond what rounding gives"),
        (5, -1500, 2900, None, None, False, "beyond a sure tolerance, and float64 does not confirm it"),
        (5, -1500, 2900, off(2900), None, False, "differ between the models in float64 too"),
        (
            5,
            -1500,
            3100,
            off(0),
            None,
            True,
            "known is inexact at node (Op): 3.7e-04 of its scale from float64, known 1.8e-04",
        ),
        (1, -1500, 2900, off(0), None, True, ""),
        (
            1,
            -500,
            2900,
            off(0),
            None,
            True,
            "known is inexact at node (Op): 3.5e-04 of its scale from float64, known 6.0e-05",
        ),
    ]
    for operators, want, got, foreign, read, equal, said in rows:
        source, other = Known(TRUTH, 0.0, part(operators)), Known(read, foreign=foreign)
        found, note = local(source, other, off(got, dtype=F32), off(want, dtype=F32))
        assert found.equal == equal, (operators, want, got, found.reason)
        assert (note.startswith(said) and bool(note) == bool(said)) if equal else said in found.reason, (said, note)


def test_the_reason_says_how_many_and_the_worst() -> None:
    got = off(0, dtype=F32)
    got[1] += F32(0.5)
    got[3] -= F32(1)
    found, _ = local(Known(TRUTH, part=part()), Known(None), got, off(0, dtype=F32))
    assert found.reason == "2 of 4 beyond what rounding gives, the worst at (3,): 7 for 8"
    assert not found.equal and found.max_abs == 1.0


def test_many_operators_in_one_piece_need_a_witness_even_within_rounding() -> None:
    for operators, foreign, equal in (
        (8, None, True),
        (9, None, True),
        (9, off(200), False),
        (8, off(200), True),
    ):
        source, other = Known(TRUTH, 0.0, part(operators)), Known(None, foreign=foreign)
        found, _ = local(source, other, off(20, dtype=F32), off(0, dtype=F32))
        assert found.equal == equal, (operators, foreign)
        assert bool(other.asked) == (operators == 9)
    same, _ = local(Known(None, part=part(9)), Known(None), off(0, dtype=F32), off(0, dtype=F32))
    assert same.equal and same.settled_by == ""


def test_whole_numbers_may_move_as_far_as_eight_units_move_them() -> None:
    truth = np.array([3.0, 10.0, -7.0, 0.0])
    want = truth.astype(np.int32)
    for shift, foreign, equal in (
        (0, None, True),
        (1, truth, True),
        (2, truth, False),
        (1, None, False),
        (-1, truth, True),
    ):
        source, other = Known(truth, 0.1, part()), Known(None, foreign=foreign)
        got = want + np.array([0, shift, 0, 0], np.int32)  # 10 moves by 1, the others by less
        found, _ = local(source, other, got, want)
        assert found.equal == equal, (shift, foreign)
        assert source.asked == ([] if shift == 0 else [None, *((8.0, seed) for seed in range(4))])
    source = Known(truth, 0.1, part())
    assert not local(source, Known(None, foreign=truth), want + np.array([1, 0, 0, 0], np.int32), want)[0].equal


def test_without_float64_the_plain_tolerance_decides() -> None:
    for shift, equal in ((900, True), (4000, False)):
        found, _ = local(Known(None, part=part()), Known(None), off(shift, dtype=F32), off(0, dtype=F32))
        assert (found.equal, found.settled_by) == (equal, "tolerance" if equal else "")
    other_shape = Known(TRUTH[:2], part=part())
    assert local(other_shape, Known(None), off(900, dtype=F32), off(0, dtype=F32))[0].settled_by == "tolerance"
    # that of the dtype which the node computes in: whole numbers come of float32, what is only held in half precision too
    for want, rounded, step, near_enough in (
        (np.array([10**6, -3, 5]), "", (10, 0, 0), True),
        (np.array([10**6, -3, 5]), "", (200, 0, 0), False),
        (np.float16([1000, 2, 3]), "float16", (1, 0, 0), True),
        (np.float16([1000, 2, 3]), "float16", (8, 0, 0), False),
        (np.float16([1000, 2, 3]), "", (1, 0, 0), False),
    ):
        found, _ = local(Known(None, part=part()), Known(None), want + np.array(step, want.dtype), want, rounded)
        assert found.equal == near_enough, (want, rounded, step, found)


def test_shapes_and_dtypes_of_one_node() -> None:
    want = np.arange(8, dtype=F32).reshape(2, 4)
    rows = np.stack([want[0]] * 2)
    assert local(Known(None), Known(None), rows[:1], rows)[0].equal  # one row that those who read it broadcast
    assert not local(Known(None), Known(None), want[:1], want)[0].equal
    for got in (want[0], want[:, :2], want.reshape(4, 2), want[None]):
        found, _ = local(Known(None), Known(None), got, want)
        assert not found.equal and not found.compared
    for dtype in (np.float64, np.float16):
        found, _ = local(Known(None), Known(None), want.astype(dtype), want)
        assert found.equal and found.dtype == "float32"
    inexact = local(Known(None), Known(None), (want + F32(0.1)).astype(np.float16), want)[0]
    assert not inexact.equal
    assert "dtype" in local(Known(None), Known(None), want.astype(np.int32), want)[0].reason
    words = np.array(["a", "b"])
    assert local(Known(None), Known(None), words, words)[0].equal
    assert not local(Known(None), Known(None), words[::-1], words)[0].equal
    holes = want.copy()
    holes[1, 1] = np.nan
    for got, held in ((holes, want), (want, holes)):
        found, _ = local(Known(want.astype(np.float64), 1.0, part()), Known(None), got, held)
        assert not found.equal and "NaN or infinity differ at 1 of 8" in found.reason
    assert local(Known(None), Known(None), holes, holes)[0].equal


def test_measures_of_one_node() -> None:
    most = float(np.finfo(np.float32).max)
    inf, nan, tiny = np.inf, np.nan, float(np.finfo(np.float32).tiny)
    got = np.array([1.0, 1.0, nan, nan, inf, inf, inf, -inf, inf, tiny, 2 * tiny, inf])
    truth = np.array([1.5, 1.6, nan, 1.0, inf, most, most * 0.98, most, -most, 0.0, 0.0, nan])
    wanted = [True, False, True, False, True, True, False, False, False, True, False, False]
    allowed = np.array([0.5] * 8 + [0.0] * 4)
    assert nodewise._within(got, truth, allowed).tolist() == wanted
    array = np.array([[1.0, -8.0], [2.0, 4.0], [nan, inf]])
    assert slice_scales(array).tolist() == [[2, 8], [2, 8], [2, 8]]
    cube = np.arange(24.0).reshape(2, 3, 4) - 12
    by_hand = np.minimum(np.abs(cube).max((0, 2), keepdims=True), np.abs(cube).max((0, 1), keepdims=True))
    assert np.array_equal(slice_scales(cube), np.broadcast_to(by_hand, cube.shape))
    assert slice_scales(np.zeros((0, 2))).shape == (0, 2)
    assert (nodewise._scale(array), nodewise._scale(np.zeros(2)), nodewise._scale(np.array([nan]))) == (8, 1, 1)
    assert nodewise._same_kind(np.array([nan, inf, 1]), np.array([nan, 1, -inf]))
    assert not nodewise._same_kind(np.array([nan, 1]), np.array([1, nan]))
    for shape, spreads in (
        ((2, 3), True),
        ((1, 3), True),
        ((2, 1), True),
        ((1, 1), True),
        ((3,), False),
        ((2, 2), False),
    ):
        assert nodewise._spreads(np.zeros(shape), (2, 3)) == spreads, shape
    said = nodewise._count_wrong(
        np.array([[True, False], [True, False]]), np.array([[1.0, 9], [3, 0]]), np.array([[0.5, 0], [1, 5]]), "off"
    )
    assert said == "2 of 4 off, the worst at (1, 0): 3 for 1"
    said = nodewise._count_wrong(np.array([True, True]), np.array([nan, 9]), np.array([1.0, 1]), "off")
    assert said == "2 of 2 off, the worst at (0,): nan for 1"


def test_zeros_are_filled_with_other_values_of_the_same() -> None:
    array = np.array([[0.0, 3.0, 0.0], [-2.0, np.inf, 0.0]], np.float32)
    found = nodewise.without_zeros(array, "x")
    kept = array != 0
    assert np.array_equal(found[kept], array[kept]) and array[0, 0] == 0
    assert set(found[~kept].tolist()) <= {3.0, -2.0}
    assert np.array_equal(found, nodewise.without_zeros(array, "x"))
    many = np.where(np.arange(64) % 2, np.arange(64.0), 0)
    assert len(set(nodewise.without_zeros(many, "x")[::2].tolist())) > 15
    assert not np.array_equal(nodewise.without_zeros(many, "x"), nodewise.without_zeros(many, "y"))
    drawn = nodewise.without_zeros(np.zeros(500, np.float16), "x")
    assert drawn.dtype == np.float16 and (drawn != 0).all() and abs(float(drawn.mean())) < 0.3 < float(drawn.std())
    for same in (np.zeros(1, np.float32), np.array([1.0, 2]), np.zeros(3, np.int32)):
        assert nodewise.without_zeros(same, "x") is same
    assert nodewise.without_zeros(np.array([0.0, 5.0]), "x").tolist() == [5, 5]


class Inside:
    """An engine as far as its tensors' names are concerned."""

    def __init__(self, *names: str):
        self.names = names

    def inner_tensors(self) -> list[Tensor]:
        return [Tensor(n, f"node {n}", "Op", ()) for n in self.names]


def test_which_tensors_belong_together() -> None:
    """By name where it is one of a kind on each side; outputs as they are paired, and never with another of that name."""
    one: Any = Inside("a", "b", "twice", "twice", "c", "y", "mine")
    two: Any = Inside("c", "twice", "b", "a", "z", "y", "b2")

    def pairs(*given: Any, only: bool = False) -> list[tuple[str, str]]:
        return [(x.name, y.name) for x, y in nodewise._pairs(one, two, given, only)]

    assert pairs() == [("a", "a"), ("b", "b"), ("c", "c"), ("y", "y")]
    assert pairs(("y", "z")) == [("a", "a"), ("b", "b"), ("c", "c"), ("y", "z")]
    assert pairs(("mine", "b")) == [("a", "a"), ("c", "c"), ("y", "y"), ("mine", "b")]
    assert pairs(("y", "z"), ("mine", "b2"), only=True) == [("y", "z"), ("mine", "b2")]
    assert pairs(("y", "gone"), only=True) == []


def test_which_operators_round_to_whole_numbers() -> None:
    for name, both in (
        ("QuantizeLinear", (True, True)), ("DynamicQuantizeLinear", (True, True)), ("QLinearConv", (True, True)),
        ("QGemm", (True, True)), ("DynamicQuantizeLSTM", (True, True)), ("DequantizeLinear", (False, True)),
        ("MatMulNBits", (False, True)), ("MatMulInteger", (False, True)), ("ConvInteger", (False, True)),
        ("Round", (False, False)), ("MatMul", (False, False)),
    ):  # fmt: skip
        graph = onnx.helper.make_graph([onnx.helper.make_node(n, ["x"], ["y"]) for n in ("Relu", name)], "g", [], [])
        model = onnx.helper.make_model(graph)
        assert (rounds_to_integers(model), nodewise.is_quantized(model)) == both, name


# -- whole models ----------------------------------------------------------------------------------------------------------------


class Acted:
    """An engine of which a test says what each tensor is: when the model runs, and when made from values that are given."""

    label = "acted"

    def __init__(
        self, shown: dict[str, Any], made: Any = None, reads: dict[str, tuple[str, ...]] | None = None, **said: Any
    ):
        self.shown, self.made, self.reads = shown, shown if made is None else made, reads or {}
        self.weights: dict[str, np.ndarray] = said.get("weights", {})
        self.precisions: dict[str, str] = said.get("precision", {})
        self.bytes: dict[str, int] = said.get("bytes", {})
        self.cuts = said.get("parts", True)
        self.foreigner: Any = said.get("foreign")
        self.forcing: list[tuple[list[str], dict[str, Any]]] = []
        self.groups: list[list[str]] = []

    def inner_tensors(self) -> list[Tensor]:
        return [Tensor(n, f"node {n}", "Op", self.reads.get(n, ())) for n in self.shown]

    def precision(self, feeds: Any) -> dict[str, str]:
        return self.precisions

    def sizes(self, feeds: Any) -> dict[str, int]:
        return self.bytes

    def part(self, cut: Any, names: Any) -> Part | None:
        read = dict.fromkeys(r for n in names for r in self.reads.get(n, ()))
        return Part(Graph([]), tuple(read), 1, 0.0) if self.cuts else None

    def parameter(self, name: str) -> Any:
        return self.weights.get(name)

    def expose(self, feeds: Any, names: Any) -> dict[str, Any]:
        return {n: self.shown[n] for n in names if self.shown.get(n) is not None}

    def walk(self, feeds: Any, groups: Any, visit: Any) -> None:
        self.groups = [list(g) for g in groups]
        for index, group in enumerate(groups):
            visit(index, {n: self.shown[n] for n in group if self.shown.get(n) is not None})

    def run_forced(self, cut: Any, values: Any, names: Any) -> dict[str, Any]:
        self.forcing.append((list(names), dict(values)))
        if isinstance(self.made, Exception):
            raise self.made
        made = self.made(values) if callable(self.made) else self.made
        return {n: made[n] for n in names if made.get(n) is not None}

    def exact(self, cut: Any, values: Any, name: str, jitter: Any = None, halved: bool = False) -> Any:
        found = self.shown.get(name)
        return None if found is None else found.astype(np.float64)

    def exact_by_oracle(self, cut: Any, values: Any, name: str, halved: bool = False) -> Any:
        return self.foreigner


A = np.linspace(1, 3, 8, dtype=np.float32).reshape(2, 4)
FED = Case({"x": A * 2})


def met(one: Any, two: Any, *outputs: tuple[str, str], reference: Any = None) -> Any:
    return node_by_node(one, two, FED, outputs, reference)


def test_why_nothing_inside_was_compared() -> None:
    """The reason is the first thing that went wrong: with all tensors, not with the outputs alone after that."""
    assert met(Acted({"a": A}), Acted({"b": A[1:]})).problem == "no tensor goes by the same name in both"
    for error in (
        bridge.EngineError("refused\nat length"),
        nodewise.MXNetError("refused\nat length"),
        KeyError("refused"),
    ):
        inner = met(Acted({"a": A, "y": A}), Acted({"a": A, "z": A}, error), ("y", "z"))
        assert inner.problem.strip("'") == "refused"
        assert not inner.agrees and not inner.compared
        assert met(Acted({"a": A}), Acted({"a": A}, error)).problem.strip("'") == "refused"
    assert met(Acted({"a": None}), Acted({"a": A})).problem == "no tensor inside could be shown"
    assert met(Acted({"a": np.array(["w"], object)}), Acted({"a": A})).problem == "no tensor inside could be shown"
    # onnxruntime may not show what is inside, and run all the same
    broken = Acted({"a": A, "z": A}, lambda values: {"z": A} if len(values) < 3 else {}["a"])
    inner = met(Acted({"a": A, "y": A}), broken, ("y", "z"))
    assert (inner.problem, list(inner.compared)) == ("", ["y"]) and inner.agrees


def test_what_is_compared_of_a_whole_model() -> None:
    """Each tensor from the values of one side; those that either side cannot show are passed over."""
    shown = {"a": A, "b": A * 3, "gone": None, "c": A + 1, "d": np.arange(4)}
    two = Acted(shown, {"a": A, "b": A * 3 + np.float32(0.5), "gone": A, "c": None, "d": np.array([0, 1, 2, 4])})
    one = Acted(shown, reads={"b": ("a", "x", "a"), "d": ("b", "weight")})
    inner = met(one, two)
    assert {n: d.equal for n, d in inner.compared.items()} == {"a": True, "b": False, "d": False}
    assert [(f.tensor, f.node, f.operator) for f in inner.faults] == [("b", "node b", "Op"), ("d", "node d", "Op")]
    assert list(inner.faults[0].inputs) == ["a", "x"]
    assert inner.faults[0].inputs["a"]["max"] == 3.0 and inner.faults[0].inputs["x"]["max"] == 6.0
    assert list(inner.faults[1].inputs) == ["b"]
    assert not inner.agrees and inner.source is one
    (names, values) = two.forcing[0]
    assert names == ["a", "b", "gone", "c", "d"] and values.keys() == {"a", "b", "c", "d", "x"}
    assert np.array_equal(values["b"], A * 3)
    two = Acted({"z": A}, {"z": A})
    assert met(Acted({"y": A}), two, ("y", "z")).agrees
    assert two.forcing[0][1].keys() == {"z", "x"}  # by the names of that side


def test_the_side_whose_precision_counts_is_asked_by_its_own_names() -> None:
    half = np.array([[1, 2, 4, 8], [8, 4, 2, 1]], np.float16)
    off = half * np.float16(1 + 2.0**-10)
    for whose in ("one", "two", "none"):
        one = Acted({"y": half}, precision={"y": "float16"} if whose == "one" else {})
        two = Acted({"z": off}, precision={"z": "float16"} if whose == "two" else {})
        for reference in (one, two):
            inner = met(one, two, ("y", "z"), reference=reference)
            near = inner.compared["y"].settled_by == "rounding of one node"
            assert near == (whose == ("one" if reference is one else "two")), (whose, reference is one)


def test_what_a_runtime_computes_badly_is_noted() -> None:
    truth = A.astype(np.float64)
    off = A.copy()
    off[1, 2] += np.float32(1e-4 * 3)
    inner = met(Acted({"a": A}), Acted({"a": off}, foreign=truth))
    assert inner.agrees
    assert [n.startswith("acted is inexact at node a (Op): ") for n in inner.notes] == [True]
    assert met(Acted({"a": A}), Acted({"a": A})).notes == []


def test_what_a_runtime_is_off_is_kept_only_where_the_models_agree() -> None:
    truth, eps = A.astype(np.float64), float(np.finfo(np.float32).eps)

    def closer(off: Any, foreign: Any) -> Any:
        return nodewise.look_closer(Acted({"a": A}), Acted({"b": off}, foreign=foreign), FED, {"a": "b"})

    for units, kept in ((2, False), (64, True)):
        off = A.copy()
        off[0, 2] += np.float32(units * eps * 3)
        found = closer(off, truth)
        assert list(found) == (["a"] if kept else [])
        if kept:
            np.testing.assert_array_equal(found["a"], off.astype(np.float64) - truth)
            assert closer(off, off.astype(np.float64)) == {}, "another model is no rounding"
            assert closer(off, None) == {}, "nor what nobody confirms"
            assert closer(off[:1], truth) == {} and closer(off.astype(np.float64), truth) == {}
    noted = A.copy()
    noted[1, 2] += np.float32(1e-4 * 3)
    inner = met(Acted({"a": A}), Acted({"a": noted}, foreign=truth))
    np.testing.assert_array_equal(inner.inexact["a"], noted.astype(np.float64) - truth)
    assert met(Acted({"a": A}), Acted({"a": noted}, foreign=noted.astype(np.float64))).inexact == {}


def test_groups_hold_as_many_bytes_as_may_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodewise, "EXPOSED_BYTES", 640)
    names = ["a", "b", "c", "d"]
    reads = {"b": ("a",), "d": ("c", "a", "x")}
    for sizes, want in (
        ({"a": 300, "b": 339, "c": 1, "d": 0}, [["a", "b", "c", "d"]]),
        ({"a": 300, "b": 340, "c": 1, "d": 0}, [["a", "b"], ["c", "d", "a"]]),
        ({"a": 300, "b": 341, "c": 1, "d": 0}, [["a"], ["b", "c", "d", "a"]]),
        ({"a": 641}, [["a"], ["b", "c", "d", "a"]]),
        ({"a": 630}, [["a", "b"], ["c", "d", "a"]]),
        ({"a": 620}, [["a", "b", "c"], ["d", "a", "c"]]),
        ({"a": 610}, [["a", "b", "c", "d"]]),
        ({}, [["a", "b", "c", "d"]]),
    ):
        for parts in (True, False):
            shown = dict.fromkeys(names, A)
            one = Acted(shown, reads=reads, bytes=sizes, parts=parts)
            assert met(one, Acted(shown)).agrees
            assert [sorted(g) for g in one.groups] == [sorted(g) for g in want], (sizes, parts)


def test_weights_that_are_not_stored_alike_meet_no_zeros() -> None:
    """A layer whose inputs are dead here is held against the other again, with numbers where the zeros were."""
    dead = A.copy()
    dead[:, 1] = 0
    w, other = np.float32([1, 2, 3, 4]), np.float32([1, 9, 3, 4])

    def layer(weight: np.ndarray) -> Any:
        return lambda values: {"a": dead, "y": values["a"] * weight}

    shown, reads = {"a": dead, "y": dead * w}, {"y": ("a", "w")}
    one = lambda: Acted(shown, layer(w), reads, weights={"w": w})  # noqa: E731
    inner = met(one(), Acted(shown, layer(other), reads))
    assert [f.tensor for f in inner.faults] == ["y"]
    assert inner.compared["y"].reason.endswith(", where no zero goes in")
    assert met(one(), Acted(shown, layer(w), reads)).agrees
    alike = Acted(shown, layer(other), reads, weights={"w": w})
    assert met(one(), alike).agrees and len(alike.forcing) == 1  # stored alike: nothing is tried
    uncut = Acted(shown, layer(w), reads, weights={"w": w}, parts=False)
    theirs = Acted(shown, layer(other), reads)
    assert met(uncut, theirs).agrees and len(theirs.forcing) == 1

    def refusing(values: Any) -> Any:
        if (values["a"] != 0).all():
            raise bridge.EngineError("no such number")
        return {"a": dead, "y": values["a"] * other}

    assert met(one(), Acted(shown, refusing, reads)).agrees
    wrong = Acted(shown, lambda values: {"a": dead, "y": values["a"] * w + 1}, reads)
    assert met(one(), wrong).compared["y"].equal is False and len(wrong.forcing) == 1  # wrong already


def test_float64_where_little_is_known() -> None:
    """No part, no answer to some draws, two who doubt, half precision, and numbers past the greatest float32."""
    bare = Known(TRUTH, 64 * EPS)
    assert local(bare, Known(None), off(1000, dtype=F32), off(0, dtype=F32))[0].settled_by == "float64"

    for operators, asked in ((8, False), (9, True)):
        other = Known(None, foreign=TRUTH)
        found, _ = local(Known(TRUTH, 64 * EPS, part(operators)), other, off(1000, dtype=F32), off(0, dtype=F32))
        assert found.equal and bool(other.asked) == asked

    class Deaf(Known):
        def exact(self, cut: Any, values: Any, name: str, jitter: Any = None, halved: bool = False) -> Any:
            return {0: None, 1: TRUTH[:2]}.get(jitter[1], TRUTH * (1 + 64 * EPS)) if jitter else TRUTH

    assert local(Deaf(TRUTH, part=part()), Known(None), off(1000, dtype=F32), off(0, dtype=F32))[0].equal
    far, near = off(200_000), off(1100)
    found, _ = local(Known(TRUTH, 64 * EPS, part()), Known(near, foreign=far), off(1100, dtype=F32), off(0, dtype=F32))
    assert "differ between the models in float64 too" in found.reason

    half, want = 2.0**-10, TRUTH.astype(np.float16)
    for shift, foreign, equal, said in (
        (1, None, True, ""),
        (2, None, False, "beyond a sure tolerance, and float64 does not confirm it"),
        (2, TRUTH, True, ""),
        (4, None, False, "beyond a sure tolerance"),
        (7, None, False, "beyond what rounding gives"),
        (7, TRUTH, False, "beyond what rounding gives"),
    ):
        other = Known(None, foreign=foreign)
        got = (TRUTH * (1 + shift * half)).astype(np.float16)
        found, note = local(Known(TRUTH, 0.5 * half, part()), other, got, want, "float16")
        assert (found.equal, note) == (equal, ""), (shift, foreign, found)
        assert said in found.reason
        assert shift == 1 or other.asked[0] == "foreign u ['b'] True"

    got = (TRUTH * (1 + np.array([7 * half, 0, 0, 0]))).astype(
        np.float16
    )  # of its scale less than the dtype's own tolerance
    for foreign, equal in ((None, False), (TRUTH, True)):
        found, note = local(Known(TRUTH, part=part()), Known(None, foreign=foreign), got, want, "float16")
        assert (found.equal, note) == (equal, "")

    most = float(np.finfo(np.float32).max)
    truth = np.array([1.0, most * 0.995, 3.0, -2.0])
    want = truth.astype(np.float32)
    over = want.copy()
    over[1] = np.inf
    assert local(Known(truth, part=part()), Known(None), over, want)[0].settled_by == "float64"
    low = np.array([1.0, most * 0.9, 3.0, -2.0])
    assert not local(Known(low, part=part()), Known(None), over, low.astype(np.float32))[0].equal
    whole = np.array([3, 1, 2, 5], np.int32)
    found, _ = local(Known(None), Known(None), whole.astype(np.float32), whole)
    assert not found.equal and "dtype float32, wanted int32" in found.reason
    assert not nodewise._spreads(np.zeros(2), (2, 3)) and not nodewise._spreads(np.zeros((2, 3)), (2,))


def test_zeros_of_inputs_that_are_renamed_are_filled_on_both_sides(tmp_path: Path) -> None:
    """States of zeros, as a recurrent network begins with, beside a file that calls them otherwise."""
    data, h, c = (mx.sym.var(n) for n in ("data", "h", "c"))
    net = mx.sym.RNN(
        data, mx.sym.var("lstm_parameters"), h, c, state_size=5, num_layers=1, mode="lstm", state_outputs=True
    )
    rng = np.random.default_rng(0)
    shapes = {"data": (4, 2, 3), "h": (1, 2, 5), "c": (1, 2, 5)}
    sizes = dict(zip(net.list_arguments(), net.infer_shape(**shapes)[0]))
    params = {"lstm_parameters": mx.nd.array(rng.normal(size=sizes["lstm_parameters"]))}
    feeds = {"data": rng.normal(size=shapes["data"]).astype(np.float32)}
    feeds |= {n: np.zeros(shapes[n], np.float32) for n in "hc"}
    result = bridge.convert(net, params=params, inputs=feeds, output=tmp_path / "a.onnx", rename={"h": "hidden_in"})
    assert result.verification is not None and result.verification.equivalent
    assert bridge.verify(net, tmp_path / "a.onnx", inputs=feeds, params=params, names={"h": "hidden_in"}).equivalent


def test_a_sigmoid_far_down_is_as_exact_as_runtimes_are(tmp_path: Path) -> None:
    """Scores that are all near to 0: onnxruntime's sigmoid is off by an epsilon of 1 there, which is more than they are. Another
    bias is found all the same."""
    layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=6, name="fc")
    score, features = mx.sym.sigmoid(layer, name="score"), mx.sym.tanh(layer * 0.1, name="features")
    net = mx.sym.Group([score, features])
    rng = np.random.default_rng(0)
    params = {"fc_weight": mx.nd.array(rng.normal(size=(6, 8))), "fc_bias": mx.nd.array(np.linspace(-26, -23, 6))}
    feeds = {"data": rng.normal(size=(64, 8)).astype(np.float32)}
    found = bridge.convert(net, params=params, inputs=feeds, output=tmp_path / "a.onnx").verification
    assert found is not None and found.equivalent
    for other in (0.02, 0.5):
        wrong = {**params, "fc_bias": params["fc_bias"] + other}
        assert not bridge.verify(net, tmp_path / "a.onnx", params=wrong, inputs=feeds).equivalent
    alone = mx.sym.sigmoid(layer, name="score")
    bridge.convert(alone, params=params, inputs=feeds, output=tmp_path / "b.onnx")
    wrong = {**params, "fc_bias": params["fc_bias"] + 0.5}
    assert not bridge.verify(alone, tmp_path / "b.onnx", params=wrong, inputs=feeds).equivalent
