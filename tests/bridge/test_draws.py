"""Draws of a verification: as expected, wide, at the edges, at another size, and of every row of small tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest
from onnx import helper, numpy_helper

import bridge
import hybrid as mx
from bridge.cases import make_cases
from bridge.compare import compare
from bridge.domains import Taken, numbers_taken
from bridge.draws import KINDS, Seen, Way, draw
from bridge.engines import NativeEngine
from bridge.judge import _counts
from bridge.models import Model
from hybrid.core.op import REGISTRY, Domain, Spec

RNG = np.random.default_rng(0)
ROWS = 30
S: Any = mx.sym


def dense(x: Any) -> Any:
    return S.FullyConnected(x, num_hidden=3, name="fc", flatten=False)


FC = {"fc_weight": RNG.normal(size=(3, 4)).astype("f"), "fc_bias": np.ones(3, "f")}
TABLE = {"table": RNG.normal(size=(ROWS, 4)).astype("f")}
IDS = S.Embedding(S.var("ids"), S.var("table"), input_dim=ROWS, output_dim=4, name="rows")
MASKED = S.SequenceMask(S.var("x"), S.var("lengths"), use_sequence_length=True, axis=1, name="masked")

POOLED = S.ROIPooling(S.var("x"), S.var("rois"), pooled_size=(2, 3), spatial_scale=0.5, name="pooled")
ALIGNED = S.contrib.ROIAlign(
    S.var("x"), S.var("rois"), pooled_size=(2, 2), spatial_scale=0.5, aligned=True, name="aligned"
)

NETS: dict[str, tuple[Any, dict[str, np.ndarray], dict[str, Any]]] = {
    "dense": (dense(S.var("x")), FC, {"x": (9, 4)}),
    "pixels": (dense((S.var("x") - 127.5) / 128), FC, {"x": (2, 4)}),
    "ids": (dense(IDS), FC | TABLE, {"ids": (2, 5)}),
    "lengths": (dense(MASKED), FC, {"x": (2, 40, 4), "lengths": (2,)}),
    "one": (dense(S.var("x")), FC, {"x": (1, 4)}),
    "pooled": (POOLED, {}, {"x": (2, 3, 9, 7), "rois": (6, 5)}),
    "aligned": (ALIGNED, {}, {"x": (2, 3, 9, 7), "rois": (6, 5)}),
}


def constant(model: onnx.ModelProto, name: str, value: Any) -> str:
    model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return name


def before(model: onnx.ModelProto, name: str, *nodes: onnx.NodeProto) -> None:
    """Put nodes between an input and those that read it; they read name and give "changed"."""
    for node in model.graph.node:
        node.input[:] = ["changed" if n == name else n for n in node.input]
    for at, node in enumerate(nodes):
        model.graph.node.insert(at, node)


def clip(model: onnx.ModelProto) -> None:
    limits = [constant(model, f"limit{i}", np.float32(n)) for i, n in enumerate((-20, 20))]
    before(model, "x", helper.make_node("Clip", ["x", *limits], ["changed"]))


def no_negatives(model: onnx.ModelProto) -> None:
    before(model, "x", helper.make_node("Relu", ["x"], ["changed"]))


def unclipped(model: onnx.ModelProto) -> None:
    [node] = (n for n in model.graph.node if n.op_type == "Clip")
    node.op_type = "Identity"
    node.input[:] = node.input[:1]


def one_row(model: onnx.ModelProto) -> None:
    [table] = (i for i in model.graph.initializer if i.name == "table")
    array = numpy_helper.to_array(table).copy()
    array[23, 1] += 0.01
    table.CopyFrom(numpy_helper.from_array(array, "table"))


def batch_of_two(model: onnx.ModelProto) -> None:
    """One more than it should be where the batch is 2."""
    two, zero = constant(model, "two", np.int64(2)), constant(model, "zero", np.int64(0))
    before(
        model,
        "x",
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", zero], ["batch"]),
        helper.make_node("Equal", ["batch", two], ["is_two"]),
        helper.make_node("Cast", ["is_two"], ["more"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Add", ["x", "more"], ["changed"]),
    )


def never_short(model: onnx.ModelProto) -> None:
    before(model, "lengths", helper.make_node("Max", ["lengths", constant(model, "least", np.float32(2))], ["changed"]))


def attribute(node_type: str, name: str, value: Any) -> Callable[[onnx.ModelProto], None]:
    def plant(model: onnx.ModelProto) -> None:
        [node] = (n for n in model.graph.node if n.op_type == node_type)
        [had] = (a for a in node.attribute if a.name == name)
        had.CopyFrom(helper.make_attribute(name, value))

    return plant


def first_image(model: onnx.ModelProto) -> None:
    """All regions are of the first image."""
    model.graph.node.insert(
        0, helper.make_node("Mul", ["rois", constant(model, "mask", np.float32([0, 1, 1, 1, 1]))], ["r"])
    )
    for node in [*model.graph.node][1:]:
        node.input[:] = ["r" if n == "rois" else n for n in node.input]


FAULTS: dict[str, tuple[str, Callable[[onnx.ModelProto], None], str]] = {
    "a clip at 20": ("dense", clip, "wide"),
    "large numbers": ("pixels", clip, "expected"),
    "an unclipped index": ("ids", unclipped, "edges"),
    "one wrong row of a table": ("ids", one_row, "expected"),
    "a batch of 2": ("one", batch_of_two, "another size"),
    "negative numbers": ("pixels", no_negatives, "wide"),
    "short sequences": ("lengths", never_short, "edges"),
    "another scale of regions": ("pooled", attribute("MaxRoiPool", "spatial_scale", 0.25), "expected"),
    "regions of one image": ("pooled", first_image, "expected"),
    "centres of pixels": (
        "aligned",
        attribute("RoiAlign", "coordinate_transformation_mode", "output_half_pixel"),
        "expected",
    ),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The networks as ONNX, with a batch of any size."""
    folder = tmp_path_factory.mktemp("draws")
    for name, (net, params, inputs) in NETS.items():
        axes = {n: {0: "batch"} for n in inputs}
        bridge.convert(net, params, inputs=inputs, dynamic=axes, output=folder / f"{name}.onnx")
    return folder


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_that_ordinary_inputs_do_not_show_is_found(name: str, files: Path) -> None:
    which, plant, kind = FAULTS[name]
    net, params, inputs = NETS[which]
    model = onnx.load(files / f"{which}.onnx")
    assert bridge.verify(net, model, params=params, inputs=inputs).equivalent
    plant(model)
    onnx.checker.check_model(model)
    wrong = set()
    for seed in (0, 1, 2):
        result = bridge.verify(net, model, params=params, inputs=inputs, seed=seed)
        assert result.verdict == "not equivalent", seed
        wrong |= {run["kind"] for run in result.runs if not all(d["equal"] for d in run["differences"])}
    assert kind in wrong


# -- what is drawn -----------------------------------------------------------------------------------------------------------------


def engine(name: str) -> NativeEngine:
    net, params, _ = NETS[name]
    return NativeEngine(Model(name, net.graph, params))


def test_what_an_edge_is_says_the_operator() -> None:
    taken = numbers_taken(engine("ids").model.infer({"ids": Spec((2, 5))}))["ids"]
    assert taken.domain == Domain(0, 29, True) and taken.rows == 30
    assert taken.accepted is not None and taken.accepted.low < -30 and taken.accepted.high > 60
    lengths = numbers_taken(engine("lengths").model.infer({"x": Spec((2, 9, 4)), "lengths": Spec((2,))}))["lengths"]
    assert lengths == Taken(Domain(1, 9, True), Domain(0, 11, True))
    strict = S.take(S.var("table"), S.var("i"), mode="raise").graph
    given = numbers_taken(Model("m", strict, {"table": np.ones((4, 2), "f")}).infer({"i": Spec((3,))}))["i"]
    assert given == Taken(Domain(0, 3, True), Domain(0, 3, True), rows=4)
    both = S.Group(
        [S.Embedding(S.var("i"), S.var("t"), input_dim=4, output_dim=2), S.take(S.var("s"), S.var("i"), mode="raise")]
    )
    params = {"t": np.ones((4, 2), "f"), "s": np.ones((3, 2), "f")}
    given = numbers_taken(Model("m", both.graph, params).infer({"i": Spec((3,))}))["i"]
    assert given == Taken(Domain(0, 2, True), Domain(0, 2, True), rows=4)  # what one refuses the other may not be given
    moved = S.Embedding(S.Cast(S.clip(S.var("i"), 0, 3), dtype="int32"), S.var("t"), input_dim=4, output_dim=2)
    given = numbers_taken(Model("m", moved.graph, params).infer({"i": Spec((3,))}))["i"]
    assert given.domain == Domain(0, 3, True) and given.accepted == Domain(-9, 12, True) and given.rows == 4


def test_edges_are_all_there_and_become_milder() -> None:
    known = {"i": Taken(Domain(0, 4, True), Domain(-11, 16, True), rows=5)}
    specs = {"i": Spec((3, 5), np.dtype(np.int32))}
    way: Way | None = Way("edges")
    for wanted in ([-11, -5, -1, 0, 4, 5, 16], [-5, -1, 0, 4], [0, 4]):
        assert way is not None
        told: dict[str, str] = {}
        found = draw(specs, known, told=told, way=way)["i"]
        assert np.unique(found).tolist() == wanted and told["i"] == f"edges, of {', '.join(map(str, wanted))}"
        way = way.milder
    assert way is None and Way().milder is None
    inside = draw(specs, known, way=Way("edges"), asked={"i": Domain(1, 3)})["i"]
    assert set(inside.reshape(-1).tolist()) == {1, 3}
    for dtype, wanted in (("uint8", {0, 1, 255}), ("int8", {-128, -5, 0, 1, 127}), ("int64", {-5, 0, 1, 40})):
        assert set(draw({"x": Spec((200,), np.dtype(dtype))}, {}, way=Way("edges"))["x"].tolist()) == wanted
    bools = draw({"x": Spec((3, 2), np.dtype(bool))}, {}, way=Way("edges"))["x"]
    assert bools.any() and not bools.all()


def test_how_wide_draws_are() -> None:
    specs = {"x": Spec((9000,))}
    pixels = {"x": Taken(expected=Domain(0, 255))}
    for known, mild, low, high in (
        (pixels, 0, -1147.5, 1402.5),
        (pixels, 1, -255, 510),
        ({"x": Taken(Domain(0, 1))}, 0, 0, 1),
    ):
        found = draw(specs, known, way=Way("wide", mild))["x"]
        assert found.min() == pytest.approx(low, abs=2) and found.max() == pytest.approx(high, abs=2)
    assert (
        9 < draw(specs, {}, way=Way("wide"))["x"].std() < 11
        and 2.5 < draw(specs, {}, way=Way("wide", 1))["x"].std() < 3.5
    )
    edges = draw({"x": Spec((900, 8))}, {}, way=Way("edges"))["x"]
    assert (edges[:, 6:] == 0).all() and (edges[:, :6] < 0).any() and 150 < np.abs(edges).max() < 600
    ends = draw({"x": Spec((900, 8))}, pixels, way=Way("edges"))["x"]
    assert {0, 255, -255, -1147.5, 1402.5} <= set(ends.reshape(-1).tolist())
    bytes_of = draw({"x": Spec((999,), np.dtype(np.uint8))}, pixels, way=Way("wide"))["x"]
    assert bytes_of.min() < 5 and bytes_of.max() > 250
    seeds = [draw(specs, {}, s, way=Way(k))["x"].tolist() for s in (0, 1) for k in KINDS]
    assert all(a != b for i, a in enumerate(seeds) for b in seeds[:i])


def test_regions_lie_within_their_image() -> None:
    """Each of them has an area, whatever the scale, and every image has some; integers and other orders of numbers alike."""
    for op, attrs in (("ROIPooling", {"pooled_size": (2, 2)}), ("_contrib_ROIAlign", {"pooled_size": (2, 2)})):
        for scale, sides in ((0.0625, (14, 20)), (1.0, (9, 7)), (0, (4, 5)), (0.5, (1, 1))):
            one, (height, width) = REGISTRY[op].bind(**attrs, spatial_scale=scale), sides
            domain = one.domain("rois", [(3, 2, *sides), (200, 5)])
            for kind in KINDS:
                told: dict[str, str] = {}
                rois = draw({"r": Spec((200, 5))}, {"r": Taken(domain, domain)}, told=told, way=Way(kind))["r"]
                seen = [0, 2] if kind == "edges" else [0, 1, 2]
                assert np.unique(rois[:, 0]).tolist() == seen
                low, high = rois[:, 1:3], rois[:, 3:]
                assert (low >= 0).all() and (high > low).all() and "by column" in told["r"]
                assert (high <= [max(w / 2, w - 1) / (scale or 1) for w in (width, height)]).all()
    turned = draw({"r": Spec((5, 200))}, {"r": Taken(domain, domain)})["r"]
    assert not turned.any()
    whole = draw({"r": Spec((200, 5), np.dtype(np.int32))}, {"r": Taken(domain, domain)})["r"]
    assert whole.dtype == np.int32 and whole[:, 0].max() == 2
    asked = draw({"r": Spec((200, 5))}, {"r": Taken(domain, domain)}, asked={"r": Domain(0, 1)})["r"]
    assert set(asked[:, 0]) == {0, 1} and asked.max() <= 1


def test_every_row_of_a_small_table_is_looked_at(files: Path) -> None:
    one = engine("ids")
    cases = make_cases(one, one, {"ids": Spec((2, 5))}, {}, 0)
    looked = {i for c in cases for i in c.feeds["ids"].reshape(-1).tolist() if c.kind != "edges"}
    assert looked == set(range(30)) and cases[0].rows == {"ids": (0, 30)}
    assert [c.kind for c in cases] == ["expected", "another size", "wide", "edges"]
    assert cases[1].shapes == {"ids": (3, 5)}
    few = make_cases(one, one, {"ids": Spec((1, 4))}, {}, 0)
    assert 7 <= len(few) <= 9
    seen = {"ids": Seen(np.zeros(5000, bool))}
    assert not seen["ids"].incomplete  # too large a table
    result = bridge.verify(NETS["ids"][0], files / "ids.onnx", params=FC | TABLE, inputs={"ids": (1, 5)})
    assert result.equivalent and result.warnings == ()
    told = [r["inputs"]["ids"]["rows"] for r in result.runs]
    assert told == sorted(told) and told[0] == [5, 30] and told[-1] == [30, 30]


def test_a_table_that_is_too_large_for_its_input_is_told(monkeypatch: pytest.MonkeyPatch, files: Path) -> None:
    monkeypatch.setattr("bridge.cases.MOST_DRAWS", 1)
    monkeypatch.setattr("bridge.cases.LEAST_DRAWS", 1)
    result = bridge.verify(NETS["ids"][0], files / "ids.onnx", params=FC | TABLE, inputs={"ids": (1, 5)})
    (told,) = result.warnings
    assert result.equivalent and told.partition(" rows")[0] in ("25 of 30", "26 of 30", "27 of 30")


def test_two_onnx_models_are_given_what_they_can_take(files: Path) -> None:
    """Of what the first reads as the second does: whole numbers that pick rows, and sizes that both leave open."""
    result = bridge.verify(files / "ids.onnx", files / "ids.onnx", inputs={"ids": (2, 5)})
    assert result.equivalent and result.runs[-1]["inputs"]["ids"]["rows"] == [30, 30]
    assert [r["kind"] for r in result.runs] == ["expected", "another size", "wide", "edges"]


# -- draws that say nothing, or that an engine refuses -----------------------------------------------------------------------------


def test_draws_that_overflow_or_vanish_are_milder_or_left_out() -> None:
    net = S.exp(S.exp(S.var("x")))
    result = bridge.verify(net, net, params={}, inputs={"x": (40, 5)})
    assert result.verdict == "equivalent" and [r["kind"] for r in result.runs] == ["expected", "another size"]
    assert [w.partition(" was left out: ")[::2] for w in result.warnings] == [
        (f"the draw of {what}", "exp1_output overflows") for what in ("wider numbers", "edges")
    ] or all("overflows" in w for w in result.warnings)
    small = S.sigmoid(S.var("x") * 3 - 60, name="y")
    result = bridge.verify(small, small, params={}, inputs={"x": (2, 2)})
    assert result.verdict == "equivalent"


def test_a_case_that_says_nothing_does_not_turn_the_verdict_of_the_others() -> None:
    """Wide numbers saturate the output; as expected they do not."""
    net = S.hard_sigmoid(S.var("x") * 10, alpha=0.05, name="y")
    result = bridge.verify(net, net, params={}, inputs={"x": (1, 1)}, seed=3)
    assert result.verdict == "equivalent" and result.little == ()
    flat = S.var("x") * 0
    assert bridge.verify(flat, flat, params={}, inputs={"x": (2, 3)}).verdict == "says little"


def test_an_output_is_shown_by_the_case_that_says_most() -> None:
    """One that differs, then one that says something, whatever the others are apart."""
    many, flat = np.arange(9, dtype="f"), np.full(9, 2, "f")
    wrong, plain, little = (
        compare("y", got, want) for got, want in ((many + 1, many), (many, many), (flat * 1.000001, flat))
    )
    assert little.little and little.equal and little.max_rel > plain.max_rel
    assert sorted((plain, wrong, little), key=_counts) == [little, plain, wrong]


def test_what_an_engine_refuses_is_left_out(files: Path) -> None:
    """Positions that MXNet moves inside, and ONNX refuses: what both take is compared, and so is what is counted from behind."""
    net = S.take(S.var("table"), S.var("ids"), mode="wrap", name="rows")
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        net (float[2, 6] ids) => (float[2, 6, 4] rows_output) { i = Cast <to = 7> (ids) rows_output = Gather (table, i) }""")
    model.graph.initializer.append(numpy_helper.from_array(TABLE["table"], "table"))
    result = bridge.verify(net, model, params=TABLE, inputs={"ids": (2, 6)})
    assert result.equivalent
    [edges] = [r for r in result.runs if r["kind"] == "edges"]
    assert edges["inputs"]["ids"]["from"] == "drawn, seed 0: edges, of -30, -1, 0, 29"
    clipped = S.take(S.var("table"), S.var("ids"), name="rows")
    assert not bridge.verify(clipped, model, params=TABLE, inputs={"ids": (2, 6)}).equivalent


def test_the_kinds_that_are_asked_for(files: Path) -> None:
    for draws in ((), ("expected",), ("wide",), KINDS):
        result = bridge.verify(NETS["one"][0], files / "one.onnx", params=FC, draws=draws, runs=2, inputs={"x": (1, 4)})
        assert [r["kind"] for r in result.runs] == ["expected"] * 2 + ["another size"] + [
            k for k in draws if k != "expected"
        ]
    given = {"x": np.ones((1, 4), "f")}
    result = bridge.verify(
        NETS["one"][0], files / "one.onnx", params=FC, inputs=given, also=[{"x": np.zeros((5, 4), "f")}]
    )
    assert [(r["kind"], r["shapes"]["x"]) for r in result.runs] == [("given", (1, 4)), ("given", (5, 4))]


def test_whole_numbers_of_which_nothing_is_known_are_small_where_larger_ones_are_refused(tmp_path: Path) -> None:
    """A loop picks the sample that they name: of two there is no third one. Import draws others, convert too, and both say so."""
    text = """<ir_version: 8, opset_import: ["": 17]> net (float[b, 3] x, int64[2] i) => (float[2, 3] y) {
        rounds = Constant <value = int64 {2}> ()
        true = Constant <value = bool {1}> ()
        y = Loop (rounds, true) <body = each (int64 k, bool on) => (bool next, float[3] row) {
            next = Identity (on)
            zero = Constant <value = int64[1] {0}> ()
            start = Gather (i, k)
            from = Unsqueeze (start, zero)
            one = Constant <value = int64[1] {1}> ()
            to = Add (from, one)
            part = Slice (x, from, to, zero)
            row = Squeeze (part, zero)
        }>
    }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "net.onnx")
    found = bridge.import_onnx(tmp_path / "net.onnx", output=tmp_path / "net")
    said = "whole numbers of i are from 0 to 1: an engine has refused larger ones; give some that go together (--inputs FILE.npz)"
    assert found.verification is not None and found.verification.equivalent and said in found.verification.warnings
    feeds = {"x": (2, 3), "i": (2,)}
    back = bridge.convert(tmp_path / "net-symbol.json", output=tmp_path / "back.onnx", inputs=feeds)
    assert back.verification is not None and back.verification.equivalent and said in back.verification.warnings
