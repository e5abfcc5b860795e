"""Faces of a comparison: what is measured, what each shows, and that none of them trusts a name."""

import dataclasses
import hashlib
import io
import json
import re
import shutil
import subprocess
import typing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

import bridge
import hybrid as mx
from bridge import measures, report
from bridge.cli import app
from bridge.compare import Difference, compare, one_winner
from bridge.engines import Tensor
from bridge.faces import drawing, html, markdown, text, words
from bridge.faces.blocks import Facts, Grid, Line, Page
from bridge.layers import brief, measure_layers, without_rounding
from bridge.measures import Details, examine, place_in_words
from bridge.pictures import pictures_of, png
from bridge.provenance import read_facts
from bridge.result import GROWN, Case, Divergence, Layer, ModelFile, Neighbour, VerifyResult
from hybrid.formats import images
from tests.house.docs import ROOT

SCHEMA = ROOT / "docs" / "report-schema.md"
HOSTILE = "</script><script>alert(1)</script>|`x`\x1b[31m\u202e<img src=x onerror=y> [a](http://evil)"
VOID = {"meta", "input", "img", "br", "hr", "link"}
LOOSE = {"td", "th", "tr", "i"}


def network(folder: Path) -> tuple[Path, Path]:
    """A small network in both formats, whose second convolution has one filter that is wrong in the ONNX file."""
    x = mx.sym.var("data")
    for i in (1, 2):
        x = mx.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=6, name=f"conv{i}")
        x = mx.sym.Activation(x, act_type="relu", name=f"relu{i}")
    x = mx.sym.FullyConnected(x, num_hidden=5, name="fc")
    rng = np.random.default_rng(0)
    shapes = dict(zip(x.list_arguments(), x.infer_shape(data=(2, 3, 12, 12))[0]))
    params = {n: mx.nd.array(rng.normal(size=s) * 0.3) for n, s in shapes.items() if n != "data"}
    mx.model.save_checkpoint(str(folder / "net"), 0, x, params, {})
    bridge.convert(folder / "net", inputs={"data": (2, 3, 12, 12)}, output=folder / "right.onnx")
    model = onnx.load(folder / "right.onnx")
    tensor = next(i for i in model.graph.initializer if i.name == "conv2_weight")
    weight = onnx.numpy_helper.to_array(tensor).copy()
    weight[4] *= 1.05
    tensor.CopyFrom(onnx.numpy_helper.from_array(weight, tensor.name))
    onnx.save(model, folder / "wrong.onnx")
    return folder / "net", folder / "wrong.onnx"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return network(tmp_path_factory.mktemp("faces"))


@pytest.fixture(scope="module")
def found(models: tuple[Path, Path]) -> VerifyResult:
    return bridge.verify(*models, inputs={"data": (2, 3, 12, 12)})


class Parsed(HTMLParser):
    """Elements and ids of a page; fails where one is not closed."""

    def __init__(self, source: str):
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: dict[str, int] = {}
        self.feed(source)
        self.close()
        assert not [t for t in self.open if t not in LOOSE], self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        for name, value in attrs:
            assert not name.startswith("on"), name
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src"):
                self.links.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open[-1] != tag and self.open[-1] in LOOSE:
            self.open.pop()
        assert self.open and self.open.pop() == tag, (tag, self.open[-3:])


def as_html(result: VerifyResult) -> str:
    return html.page(report.verify_table(result), {"command": "gluonnx verify a b", "versions": {"numpy": "2"}})


# -- measures -------------------------------------------------------------------------------------------------------------


def test_places_are_said_in_words() -> None:
    def said(shape: tuple[int, ...], *places: Any) -> str:
        mask = np.zeros(shape, bool)
        for place in places:
            mask[place] = True
        return place_in_words(mask)

    image = (2, 8, 4, 4)
    assert said(image) == ""
    assert said(image, np.s_[:, 5]) == "channel 5 of 8 (all 32 elements)"
    assert said(image, np.s_[1, 5, 0, 3]) == "image 1 of 2, channel 5 of 8, row 0 of 4, column 3 of 4 (one element)"
    assert said(image, np.s_[:, 2:5]) == "channels 2 to 4 of 8 (all 96 elements)"
    assert said(image, np.s_[..., 0, :], np.s_[..., 3, :]) == "the first and last row of 4 (all 128 elements)"
    assert said(image, np.s_[:, [0, 2, 3]]) == "channels 0, 2, 3 of 8 (all 96 elements)"
    assert said((4, 40), np.s_[:, 1::5]) == "every 5th of 40 columns, from 1 (all 32 elements)"
    assert said((4, 40), np.s_[:, [0, 2, 3, 9, 11]]) == "5 of 40 columns (all 20 elements)"
    assert said((4, 4), np.s_[0, 0], np.s_[1, 1], np.s_[2, 2], np.s_[3, 3]) == "4 of 16 elements"
    assert said((3, 4, 5), np.s_[:, 1]) == "axis 1: 1 of 4 (all 15 elements)"
    assert said((1,), np.s_[:]) == "the one element"


def test_a_closer_look_counts_and_finds() -> None:
    want = np.random.default_rng(0).normal(size=(2, 6, 5, 5)).astype(np.float32)
    got = want.copy()
    got[:, 4] += np.float32(0.25)
    got[1, 4, 2, 3] = want[1, 4, 2, 3] + 3
    seen = examine(got, want)
    assert seen is not None
    assert seen.same == 250 and sum(seen.errors) == 50
    assert seen.errors[measures.BINS * 15 // 20 : measures.BINS * 17 // 20] == tuple(seen.errors[30:34])
    assert (sum(seen.want), sum(seen.got)) == (300, 300)
    assert seen.axis == 1 and [c > 0 for c in seen.channels] == [i == 4 for i in range(6)]
    assert seen.worst[0][0] == (1, 4, 2, 3) and seen.worst[0][2] - seen.worst[0][1] == pytest.approx(3)
    assert len(seen.worst) == 10 and seen.where == "channel 4 of 6 (all 50 elements)"
    assert len(seen.sample) >= 240


def test_a_closer_look_bears_whatever_arrays_hold() -> None:
    nan = np.array([[1, np.nan, np.inf, 4]], np.float32)
    seen = examine(nan, np.array([[1, 2, 3, 4]], np.float32))
    assert seen is not None
    assert seen.where == "columns 1 to 2 of 4 (2 of 2 elements)" or seen.where.startswith("columns 1 to 2 of 4")
    assert seen.same == 2 and seen.edges == (1, 4)
    assert examine(nan, nan).same == 4  # type: ignore[union-attr]
    assert examine(np.zeros((0, 3)), np.zeros((0, 3))) is None
    assert examine(np.array(["a"]), np.array(["b"])) is None
    assert examine(np.zeros(3), np.zeros(4)) is None
    assert examine(np.array(2.0), np.array(1.0)).where == "the one element"  # type: ignore[union-attr]
    for low in (1.0, 3e38, 1e-45):  # no other number lies between these
        near = np.float32([low, np.nextafter(np.float32(low), np.float32(np.inf)), np.nan])
        seen = examine(near, near)
        assert seen is not None and (seen.want[0], seen.want[-1], sum(seen.want)) == (1, 1, 2)
    same = examine(np.array([1e300, np.nan]), np.array([1e300, np.nan]))
    assert same is not None and sum(same.want) == 1
    huge = np.array([1e308, -1e308])
    assert sum(examine(huge, -huge).errors) == 0  # type: ignore[union-attr]  # the span is past float64
    flags = examine(np.array([True, False]), np.array([True, True]))
    assert flags is not None and flags.where == "element 1 of 2 (one element)"


def test_measures_of_each_output() -> None:
    want = np.array([[1, -2, 0, 400]], np.float32)
    got = np.array([[1, -2.5, 0.125, 401]], np.float32)
    d = compare("y", got, want, bridge.Tolerance(0.25, 0.0))
    assert (d.max_abs, d.index, d.relative, d.relative_index) == (1, (0, 3), 0.25, (0, 1))
    assert (d.beyond, d.needs, d.limit, d.scale) == (2, 1, 0.25, 400)
    assert d.rms == pytest.approx(np.sqrt((0.25 + 0.015625 + 1) / 4))
    whole = compare("n", np.array([1, 5]), np.array([1, 3]))
    assert (whole.beyond, whole.index, whole.max_abs) == (1, (1,), 2)


def test_a_tolerance_that_is_told_to_pass_passes() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        want = rng.normal(size=20)
        got = want + rng.normal(size=20) * 10.0 ** rng.integers(-9, 3)
        d = compare("y", got, want, bridge.Tolerance(0.0, 0.0))
        told = float(words.enough(d.needs))
        assert compare("y", got, want, bridge.Tolerance(told, 0.0)).equal
        assert told <= d.needs * 1.11
    assert words.enough(0.0) == "0"


def test_layers_are_measured_in_order_and_in_bounded_memory(
    models: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = bridge.verify(*models, inputs={"data": (2, 3, 12, 12)})
    monkeypatch.setattr("bridge.layers.SHOWN_BYTES", 1)
    single = bridge.verify(*models, inputs={"data": (2, 3, 12, 12)})
    assert [x.tensor for x in whole.layers] == [x.tensor for x in single.layers]
    assert [x.accumulated for x in whole.layers] == [x.accumulated for x in single.layers]
    names = [x.tensor for x in whole.layers]
    assert names[:4] == ["conv1_output", "relu1_output", "conv2_output", "relu2_output"]
    assert whole.first == 2 and whole.layers[1].accumulated.equal  # type: ignore[union-attr]
    assert whole.layers[2].local is not None and not whole.layers[2].local.equal
    assert whole.place("conv2") == "channel 4 of 6 (all 288 elements)"
    closely = {x.tensor for x in whole.layers if x.accumulated and x.accumulated.details}
    assert closely == {"conv2_output", "relu1_output"}


def test_a_runtime_that_shows_some_tensors_alone_is_asked_for_each() -> None:
    class Shy:
        def __init__(self) -> None:
            self.asked: list[int] = []

        def sizes(self, feeds: Any) -> dict[str, int]:
            return {}

        def expose(self, feeds: Any, names: list[str]) -> dict[str, np.ndarray]:
            self.asked.append(len(names))
            if "b" in names:
                raise bridge.EngineError("no")
            return {n: np.ones(3, np.float32) for n in names}

    engines: Any = (Shy(), Shy())
    tensors = [Tensor(n, n, "Op", ()) for n in "abcd"]
    layers = measure_layers(
        engines[0], engines[1], Case({}), [(t, t) for t in tensors], local={}, limits=lambda *_: None
    )
    assert [x.accumulated is not None for x in layers] == [True, False, True, True]
    assert engines[0].asked[0] == 4


def test_few_measures_are_the_right_ones() -> None:
    rng = np.random.default_rng(0)
    want = (rng.normal(size=(2, 6, 5)) * np.array([1000, 1, 1, 1, 1, 1])[:, None]).astype(np.float32)
    for tolerance in (None, bridge.Tolerance(1e-5, 0.0), bridge.Tolerance(1e-5, 0.0, scaled=True)):
        for error in (0.0, 1e-7, 1e-3):
            got = want.copy()
            got[:, 3] += np.float32(error)
            few, all_ = brief("x", got, want, tolerance), compare("x", got, want, tolerance)
            assert few.equal == all_.equal
            for name in ("max_abs", "max_rel", "scale", "limit"):
                assert getattr(few, name) == pytest.approx(getattr(all_, name), rel=1e-5)


def test_layers_are_measured_when_asked_for_or_needed(models: tuple[Path, Path]) -> None:
    symbol, right = models[0], models[0].with_name("right.onnx")
    plain = bridge.verify(symbol, right, inputs={"data": (2, 3, 12, 12)})
    asked = bridge.verify(symbol, right, inputs={"data": (2, 3, 12, 12)}, layers=True)
    assert plain.equivalent and not plain.layers and plain.differences[0].details is None
    assert asked.equivalent and len(asked.layers) > 4 and asked.first is None and asked.around == ((), ())
    assert all(x.accumulated and x.accumulated.equal for x in asked.layers)


def cancelling(folder: Path) -> tuple[Path, Path]:
    """A network in both formats inside which two sums of the same numbers, in another order, cancel: what is left is rounding,
    which no two runtimes share, and the output is too large to show it. And a file where the second sum has one wrong weight."""
    rng = np.random.default_rng(0)
    order, weight = rng.permutation(600), rng.normal(size=(8, 600)).astype(np.float32)
    x = mx.sym.var("data")
    one = mx.sym.FullyConnected(x, num_hidden=8, no_bias=True, name="one")
    moved = mx.sym.take(x, mx.sym.var("order"), axis=1, name="moved")
    two = mx.sym.FullyConnected(moved, num_hidden=8, no_bias=True, name="two")
    left = mx.sym.elemwise_sub(one, two, name="left")
    out = mx.sym.elemwise_add(one, mx.sym.Activation(left, act_type="relu", name="kept"), name="out")
    params = {"one_weight": weight, "two_weight": weight[:, order], "order": order.astype(np.float32)}
    mx.model.save_checkpoint(str(folder / "sums"), 0, out, {n: mx.nd.array(a) for n, a in params.items()}, {})
    bridge.convert(folder / "sums", inputs={"data": (4, 600)}, output=folder / "sums.onnx")
    model = onnx.load(folder / "sums.onnx")
    tensor = next(i for i in model.graph.initializer if i.name == "two_weight")
    wrong = onnx.numpy_helper.to_array(tensor).copy()
    wrong.reshape(-1)[7] += 0.5
    tensor.CopyFrom(onnx.numpy_helper.from_array(wrong, tensor.name))
    onnx.save(model, folder / "wrong.onnx")
    return folder / "sums", folder / "sums.onnx"


@pytest.fixture(scope="module")
def sums(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return cancelling(tmp_path_factory.mktemp("sums"))


def table(source: str) -> dict[str, str]:
    """The rows of the table of all layers, by tensor."""
    rows = re.findall(r"<tr id=layer\d+>.*?</tr>", source, re.DOTALL)
    return {re.sub("<[^>]*>", "", row.split("<td>")[1]): row for row in rows}


def test_rounding_that_added_up_is_no_difference(sums: tuple[Path, Path]) -> None:
    """In any face, in words or colours; what is seen stays there in numbers."""
    found = bridge.verify(*sums, inputs={"data": (4, 600)}, layers=True)
    assert found.equivalent and not found.faults
    by_name = {x.tensor: x for x in found.layers}
    left = by_name["left_output"]
    assert left.accumulated is not None and left.local is not None
    assert left.accumulated.beyond > 0 and left.local.equal  # else this tests nothing
    assert left.accumulated.equal and left.accumulated.settled_by == GROWN
    source = as_html(found)
    body = source[source.index("<body") : source.index("<script>")]
    assert "differs" not in body and "bad tone" not in body and not re.search(r"class=.(key )?e[567]\b", body)
    rows = table(source)
    assert rows["left_output"].endswith("<td>rounding</tr>") and rows["one_output"].endswith("<td>equal</tr>")
    assert "layers say rounding: they are further apart than the tolerance, and no fault." in body
    told = markdown.page(report.verify_table(found), {})
    plain = text.as_text(found, 200)
    for said in (told, plain):
        assert "differs" not in said and "layers say rounding" in said and re.search(r"1-\d+ ok .* \d rounding", said)
    assert not [span for span in text.strip(found, 80).spans if "red" in str(span.style) or "yellow" in str(span.style)]


def test_a_fault_is_not_taken_for_rounding(sums: tuple[Path, Path]) -> None:
    found = bridge.verify(sums[0], sums[1].with_name("wrong.onnx"), inputs={"data": (4, 600)}, layers=True)
    assert found.verdict == "not equivalent" and found.divergence is not None and found.divergence.node == "two"
    source = as_html(found)
    rows = table(source)
    assert rows["two_output"].endswith("<td><span class='bad tone'>differs, the node itself</span></tr>")
    for name in ("left_output", "kept_output"):  # as they are: what is wrong before them is in them
        assert rows[name].endswith("<td><span class='bad tone'>differs</span></tr>"), name
    assert rows["one_output"].endswith("<td>equal</tr>")
    assert "layers say rounding" not in source and not words.reliefs(found)


def test_nothing_behind_what_was_not_judged_is_rounding() -> None:
    apart = Difference("t", "float32", (2,), False, "1 of 2 beyond", max_abs=1.0, max_rel=0.5, beyond=1)
    fine = Difference("t", "float32", (2,), True, "")

    def layer(name: str, found: Difference, own: Difference | None) -> Layer:
        return Layer(name, name, name, "Op", found, own)

    def seen(*layers: Layer, **outputs: str) -> list[tuple[bool, str]]:
        kept = [x.accumulated for x in without_rounding(layers, outputs)]
        return [(d.equal, d.settled_by) for d in kept if d is not None]

    no, yes = (False, ""), (True, GROWN)
    assert seen(layer("a", apart, fine), layer("b", fine, None), layer("c", apart, fine)) == [yes, (True, ""), yes]
    assert seen(layer("a", apart, None), layer("b", apart, fine)) == [no, no]
    near = dataclasses.replace(fine, max_abs=1e-9)  # which is within the tolerance, and may be a fault that grows
    assert seen(layer("a", near, None), layer("b", apart, fine)) == [(True, ""), no]
    assert seen(layer("a", near, fine), layer("b", apart, fine)) == [(True, ""), yes]
    assert seen(layer("a", apart, apart), layer("b", apart, fine)) == [no, no]
    lost = dataclasses.replace(apart, misplaced=1)
    assert seen(layer("a", lost, fine), layer("b", apart, fine)) == [no, no]
    assert seen(layer("a", dataclasses.replace(apart, compared=False), fine)) == [no]
    assert seen(layer("a", apart, None), a="float64") == [(True, "float64")]
    layers = without_rounding((layer("a", apart, None), layer("b", apart, fine), layer("c", fine, apart)), {})
    found = VerifyResult("a", "b", "equivalent", (), (), layers=layers)
    assert [words.row(x, found.verdict) for x in layers] == [
        ("not judged", "warn"), ("not judged", "warn"), ("the node itself", "bad"),
    ]  # fmt: skip
    assert words.spans(found) == ("1-3", "2 not judged") and "2 of 3 layers are not judged" in words.reliefs(found)[0]
    assert [words.row(x, "not equivalent")[0] for x in layers] == ["differs", "differs", "the node itself"]


def test_a_tolerance_that_was_given_judges_no_layers(sums: tuple[Path, Path]) -> None:
    """It decides over outputs alone, and no node was looked at: which is what is said of layers beyond it."""
    found = bridge.verify(*sums, inputs={"data": (4, 600)}, layers=True, tolerance=(1e-9, 1e-3))
    assert found.equivalent and "layers are not judged" in words.reliefs(found)[0]
    rows = table(as_html(found))
    assert rows["left_output"].endswith("<td><span class='warn tone'>not judged</span></tr>")
    assert rows["one_output"].endswith("<td>equal</tr>")
    assert "yellow" in [span.style for span in text.strip(found, 80).spans]
    assert re.search(r"layers +1-6 \S+ \d not judged", text.as_text(found, 200))


def test_the_run_that_numbers_are_of_is_told(models: tuple[Path, Path]) -> None:
    found = bridge.verify(models[0], models[0].with_name("right.onnx"), inputs={"data": (2, 3, 12, 12)})
    [d] = found.differences
    index = found.run_of.get(d.name)
    assert index is not None and d.max_rel == max(r["differences"][0]["max_rel"] for r in found.runs)
    assert found.runs[index]["differences"][0]["index"] == d.index
    assert found.as_dict()["differences"][0]["run"] == index
    said = f"run {index + 1} of {len(found.runs)} ({words.kind(found.runs[index])}, data (2,3,12,12))"
    for shown in (
        as_html(found),
        text.as_text(found, 200),
        markdown.page(report.verify_table(found), {}).replace("\\", ""),
    ):
        assert said in shown and "numbers and counts are of the run where an output is worst" in shown
    alone = dataclasses.replace(found, runs=found.runs[:1])
    assert words.worst(alone) == "" and words.worst(dataclasses.replace(found, run_of={})) == ""
    recorded = dataclasses.replace(d, name=f"{d.name} (first model, recorded)")
    run = {n: v for n, v in found.runs[index].items() if n not in ("kind", "seed")}  # as a recording has it
    several = dataclasses.replace(
        found,
        differences=(d, recorded),
        runs=(*found.runs, run),
        run_of={**found.run_of, recorded.name: len(found.runs)},
    )
    assert f"(given, data (2,3,12,12)) for {recorded.name}" in words.worst(several)


def test_what_a_verdict_rests_on_in_a_line() -> None:
    def of(kind: str, how: str, *shape: int) -> dict[str, Any]:
        return {"kind": kind, "shapes": {"x": shape}, "inputs": {"x": {"from": how, "shape": [*shape]}}}

    d = Difference("y", "float32", (2,), True, "", max_rel=3.4e-7)
    runs = (
        of("expected", "drawn, seed 0: standard normal", 1, 3),
        of("expected", "drawn, seed 1: standard normal", 2, 3),
        of("wide", "drawn, seed 0: wide, normal, 10 times wider", 1, 3),
    )
    found = VerifyResult("a", "b", "equivalent", runs, (d,))
    fixed, open_ = ({"x": {"shape": [size, 3]}} for size in (1, "batch"))
    drawn, off = "compared in 3 runs (standard normal, wide)", "off by 3.4e-07 of scale at most"
    assert words.basis(found, open_) == f"{drawn} at batch 1 and 2: {off}"
    assert words.basis(found, fixed) == words.basis(found, {"x": {"shape": None}}) == f"{drawn}: {off}"
    renamed = [{**r, "inputs": {"x": {**r["inputs"]["x"], "second": "y"}}} for r in runs]
    assert words.basis(dataclasses.replace(found, runs=tuple(renamed)), {"y": {"shape": ["n", "m"]}}) == (
        f"{drawn} at n 1 and 2, m 3: {off}"
    )
    several = tuple(dataclasses.replace(d, name=n) for n in "yzuvw")
    told = words.basis(dataclasses.replace(found, differences=several), fixed)
    assert told == f"compared all 5 outputs in 3 runs (standard normal, wide): {off}", (
        "of which the line before names three"
    )
    lacking = dataclasses.replace(several[0], compared=False)
    told = words.basis(dataclasses.replace(found, differences=(*several[1:], lacking)), fixed)
    assert told.startswith("compared 4 of 5 outputs in 3 runs"), "one that has another shape is not among them"
    given = dataclasses.replace(found, runs=(of("given", "from x.npz", 1, 3),), differences=())
    assert words.basis(given, open_) == "compared in 1 run (given) at batch 1: the same numbers"
    assert words.basis(dataclasses.replace(found, runs=({}, {})), open_) == f"compared in 2 runs (given): {off}"


def test_one_class_in_all_rows_is_said_beside_top_1() -> None:
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc")
    weight, bias = np.full((4, 3), 1e-3, np.float32), np.zeros(4, np.float32)
    for wanted, size in ((2, 9.0), (None, 0.0)):
        bias[2] = size
        weight[1] = 1e-3 if size else 0.5  # which then wins, or loses, by the sign of the inputs
        params = {"fc_weight": mx.nd.array(weight), "fc_bias": mx.nd.array(bias)}
        found = bridge.verify(bridge.open_model(x, params), bridge.open_model(x, params), inputs={"data": (5, 3)})
        assert found.differences[0].winner == wanted
        assert ("100.0%, always 2" in text.as_text(found, 200)) == ("100.0%, always 2" in as_html(found)) == bool(size)
    rows = [{"name": "y", "winner": 2, "shape": (1, 4)}, {"name": "y", "winner": 3, "shape": (1, 4)}]
    assert one_winner("y", [{"differences": rows[:1]}]) is None  # of one row that says nothing
    assert one_winner("y", [{"differences": rows[:1]}] * 2) == 2
    assert one_winner("y", [{"differences": [row]} for row in rows]) is None


def test_outputs_next_to_nothing_get_a_note() -> None:
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, no_bias=True, name="fc")
    for size, noted in ((1e-13, True), (1.0, False)):
        model = bridge.open_model(x, {"fc_weight": np.full((4, 3), size, np.float32)})
        found = bridge.verify(model, model, inputs={"data": (5, 3)})
        assert any("output fc_output is nowhere larger than" in w for w in found.warnings) == noted


def test_a_page_explains_its_words(found: VerifyResult) -> None:
    source = as_html(found)
    for word, meaning in words.LEGEND:
        assert f"<dt>{word}</dt>" in source and html._text(meaning) in source
    assert source.count("What the words mean") == 1
    assert "What the words mean" not in html.page(report.error_page("one", 3), {})
    told = (ROOT / "docs" / "verification.md").read_text()
    assert not [word for word, _ in words.LEGEND if f"**{word}**" not in told]


# -- text -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 80, 100, 140, 200])
def test_text_fits_whatever_width(found: VerifyResult, width: int) -> None:
    lines = text.as_text(found, width).splitlines()
    assert lines[0].startswith("NOT EQUIVALENT")
    assert all(len(line) <= width for line in lines if not line.startswith("next"))
    [strip] = [line for line in lines if line.startswith("layers")]
    assert re.fullmatch(r"layers +1-2 ok [▁-█]+ 3 off, and \d+ of \d+ after it", strip)
    row = next(line for line in lines if line.startswith("fc_"))
    assert row.endswith("differs")
    [where] = [line for line in lines if line.startswith("where")]
    assert where.split(maxsplit=1)[1] == "channel 4 of 6 (all 288 elements)"
    [go_on] = [line for line in lines if line.startswith("next")]
    assert go_on.startswith("next  gluonnx reduce ") and go_on.endswith(" -o repro")
    assert not re.search(r"\d\.\d{8,}", "\n".join(lines))


def test_the_text_is_what_a_result_says(found: VerifyResult) -> None:
    assert str(found) == text.as_text(found)
    assert str(found).count("\n") < 30


def test_the_strip_is_compressed_and_ascii_where_it_has_to_be(found: VerifyResult) -> None:
    assert text.strip(found, 80).plain.isascii() is False
    plain = text.strip(found, 80, ascii_only=True).plain
    assert plain.isascii() and len(plain) == len(found.layers)
    many = dataclasses.replace(found, layers=found.layers * 40)
    assert len(text.strip(many, 50).plain) == 50
    unseen = dataclasses.replace(found, layers=tuple(dataclasses.replace(x, accumulated=None) for x in found.layers))
    assert text.strip(unseen, 50).plain == " " * len(found.layers)


def test_what_is_not_utf_8_gets_plain_characters(found: VerifyResult, monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding, plain in (("ascii", True), ("utf-8", False)):
        out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr("sys.stdout", out)
        report.show(report.verify_table(found))
        out.seek(0)
        told = out.read()
        assert told.isascii() == plain and "layers  1-2 ok " in told


def test_a_pipe_is_as_wide_as_it_is_said_to_be(
    found: VerifyResult, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for columns, most in (("60", 60), ("120", 120), ("", 10_000)):
        monkeypatch.setenv("COLUMNS", columns)
        report.show(report.verify_table(found))
        lines = capsys.readouterr().out.splitlines()
        assert max(len(line) for line in lines if not line.startswith("next")) <= most
        assert len(lines[0]) > 70 or columns in ("60", "120")
        assert any(line.startswith("next") and line.endswith(" -o repro") for line in lines)


def test_levels_grow_with_errors() -> None:
    def layer(relative: float, **more: Any) -> Layer:
        return Layer("t", "t", "n", "Op", Difference("t", "float32", (2,), True, "", max_rel=relative, **more), None)

    seen = [words.level(layer(r), 8) for r in (0.0, 1e-12, 1e-8, 1e-6, 1e-4, 1e-2, 1.0, 100.0, float("inf"))]
    assert seen == sorted(seen) and seen[0] == 0 and seen[-1] == 7  # type: ignore[type-var]
    assert words.level(layer(0.0, compared=False), 8) == 7
    assert words.level(Layer("t", "t", "n", "Op", None, None), 8) is None


def test_top_1_is_told_of_rows_of_scores_alone() -> None:
    flat = Difference("y", "float32", (2, 10), True, "", top1=0.5)
    assert words.top1(flat) == "50.0%"
    assert words.top1(dataclasses.replace(flat, shape=(2, 10, 7, 7))) == ""
    assert words.top1(dataclasses.replace(flat, top1=None)) == ""


# -- HTML and Markdown ----------------------------------------------------------------------------------------------------


def test_a_page_is_whole_small_and_alone(found: VerifyResult) -> None:
    source = as_html(found)
    page = Parsed(source)
    assert len(source.encode()) < 300_000
    assert not re.search(r"https?://|url\(|@import|//[a-z]+\.", source)
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in page.links)
    assert page.tags["svg"] >= 6 and page.tags["img"] == 2
    body = source[source.index("<body") :]
    assert body.index("not equivalent") < body.index("Outputs") < body.index("All layers")
    assert 'name="viewport"' in source and "prefers-color-scheme: dark" in source
    for words_ in ("channel 4 of 6 (all 288 elements)", "sha256", "tolerance", "gluonnx verify a b", "conv2"):
        assert words_ in body


def test_a_notebook_shows_the_same(found: VerifyResult) -> None:
    shown = found._repr_html_()
    page = Parsed(shown)
    assert "not equivalent" in shown and page.tags["svg"] >= 4 and "script" not in page.tags
    assert (
        'class="gluonnx"' in shown
        and re.search(r"(?m)^(?!\.gluonnx|body\.gluonnx|  |@media|\}|<|$)", shown[:200]) is None
    )


def hostile(found: VerifyResult) -> VerifyResult:
    """The same result where every name is an attack."""
    d = dataclasses.replace(found.differences[0], name=HOSTILE, reason=HOSTILE)
    layer = dataclasses.replace(found.layers[2], tensor=HOSTILE, node=HOSTILE, operator=HOSTILE)
    near = Neighbour(HOSTILE, HOSTILE, HOSTILE, (HOSTILE,), {HOSTILE: HOSTILE})
    divergence = Divergence(HOSTILE, HOSTILE, HOSTILE, d, d, {HOSTILE: {"dtype": HOSTILE}})
    given = {HOSTILE: {"shape": [HOSTILE], "dtype": HOSTILE, "from": HOSTILE, "second": HOSTILE}}
    return dataclasses.replace(
        found, a=HOSTILE, b=HOSTILE, differences=(d,), layers=(layer,), divergence=divergence, faults=(HOSTILE, "m"),
        causes={HOSTILE: (HOSTILE,)}, around=((near,), (near,)), warnings=(HOSTILE,), runs=({"inputs": given, "seed": 0},),
        files=((ModelFile(HOSTILE, 1, HOSTILE),), ()), pictures={HOSTILE: (png(np.zeros((8, 8, 1), np.uint8)),)},
        repro=HOSTILE,
    )  # fmt: skip


def test_names_are_text_and_nothing_else(found: VerifyResult) -> None:
    attacked = hostile(found)
    for source in (as_html(attacked), attacked._repr_html_()):
        page = Parsed(source)
        assert page.tags.get("script", 0) == (1 if source.startswith("<!DOCTYPE") else 0)
        assert "\x1b" not in source and "\u202e" not in source
        assert all(link.startswith(("#", "data:")) for link in page.links)
    told = markdown.page(report.verify_table(attacked), {"command": HOSTILE})
    assert "\x1b" not in told and "\u202e" not in told
    outside = re.sub(r"(`+).*?\1", "", told, flags=re.DOTALL)
    assert not re.search(r"(?<!\\)<(?:script|img)", outside)
    assert not re.search(r"(?<!\\)\]\((?=http)", outside)
    assert "\x1b" not in str(attacked)


def test_tables_of_markdown_have_as_many_cells_in_every_row(found: VerifyResult) -> None:
    for result in (found, hostile(found)):
        told = markdown.page(report.verify_table(result), {"command": "gluonnx"})
        widths = [len(re.findall(r"(?<!\\)\|", line)) for line in told.splitlines() if line.startswith("|")]
        assert widths and set(widths) <= {3, 10}
    assert "layers 1-2 ok `▃▃" in markdown.page(report.verify_table(found), {})


def test_every_block_has_every_face() -> None:
    page = Page("title", (Line("good one", "good"), Facts([("n|m", "v*")]), Grid([], []), "raw <b>"), "fine", "good")
    assert "n\\|m" in markdown.page(page, {}) and "v\\*" in markdown.page(page, {})
    source = html.page(page, {})
    Parsed(source)
    assert "good one" in source and "raw &lt;b&gt;" in source and "<title>fine: title</title>" in source


def test_many_layers_are_cut_and_it_is_said(found: VerifyResult) -> None:
    plain = [dataclasses.replace(x, local=None, accumulated=found.layers[0].accumulated) for x in found.layers]
    more = (dataclasses.replace(x, tensor=f"{x.tensor}_{'n' * 90}_{i}") for i in range(250) for x in plain)
    many = dataclasses.replace(found, layers=(*found.layers, *more))
    source = as_html(many)
    Parsed(source)
    assert len(source.encode()) < 300_000
    assert re.search(r"\d+ layers with the smallest errors are left out here", source)


def test_reports_of_errors_are_written_too(models: tuple[Path, Path], tmp_path: Path) -> None:
    for ending, said in (("html", "bad input"), ("md", "# ❌ bad input"), ("json", '"error": ')):
        file = tmp_path / f"r.{ending}"
        done = CliRunner().invoke(
            app, ["verify", str(models[0]), str(models[1]), "--input", "wrong:1", "--report", str(file)]
        )
        assert done.exit_code == 2
        told = file.read_text()
        assert said in told and "wrong" in told and "numpy" in told
        file.unlink()
    Parsed(html.page(report.error_page("one\n<b>two", 3), {}))
    assert "a runtime failed" in html.page(report.error_page("one", 3), {})


# -- JSON -----------------------------------------------------------------------------------------------------------------


def section(heading: str) -> str:
    """The part of docs/report-schema.md below a heading."""
    part = re.split(r"^#+ ", SCHEMA.read_text(), flags=re.MULTILINE)
    [body] = [p for p in part if p.startswith(heading)]
    return body


def documented(heading: str) -> set[str]:
    """Names in the first column of the table below a heading of docs/report-schema.md."""
    cells = [line.split("|")[1] for line in section(heading).splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_every_field_is_documented(models: tuple[Path, Path], tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    asked = ["verify", *map(str, models), "--input", "data:2,3,12,12", "--json", "--report", str(file)]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 1
    told = json.loads(done.stdout, parse_constant=lambda name: pytest.fail(name))
    kept = json.loads(file.read_text())
    assert {**kept, "date": "", "seconds": 0} == {**told, "date": "", "seconds": 0}
    envelope = documented("Every command")
    assert set(told) == envelope | documented("verify\n")
    layer = told["layers"][2]
    assert set(layer) == documented("layer\n")
    assert set(layer["accumulated"]) == documented("difference\n") == {f.name for f in dataclasses.fields(Difference)}
    details = layer["accumulated"]["details"]
    assert set(details) == documented("details\n") == {f.name for f in dataclasses.fields(Details)}
    assert set(told["versions"]) == {"gluonnx", "python", "numpy", "onnx", "onnxruntime"}
    assert [len(x["sha256"]) for side in told["files"] for x in side] == [64, 64, 64]
    assert told["schema"] == "gluonnx-report/1" and told["runs"][0]["seed"] == 0
    assert told["divergence"]["kind"] == "local" and told["around"][0][0]["attributes"]["kernel"] == "(3, 3)"
    assert typing.get_type_hints(VerifyResult)["layers"]


# -- pictures, metadata ---------------------------------------------------------------------------------------------------


def test_inputs_that_look_like_images_are_shown() -> None:
    rng = np.random.default_rng(0)
    feeds = {
        "first": rng.normal(size=(6, 3, 20, 30)).astype(np.float32),
        "last": rng.integers(0, 255, (1, 200, 100, 1)).astype(np.uint8),
        "ids": rng.integers(0, 9, (2, 7)),
        "features": rng.normal(size=(2, 64, 14, 14)).astype(np.float32),
        "small": rng.normal(size=(2, 3, 4, 4)).astype(np.float32),
        "broken": np.full((1, 1, 9, 9), np.nan, np.float32),
    }
    found = pictures_of(Case(feeds))
    assert {n: len(p) for n, p in found.items()} == {"first": 4, "last": 1, "broken": 1}
    assert all(image.startswith(b"\x89PNG") and len(image) < 12_000 for shown in found.values() for image in shown)


def test_a_png_holds_its_pixels() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (9, 11, 3)).astype(np.uint8)
    assert images.decode(png(pixels)).tolist() == pixels.tolist()


def test_a_file_carries_what_it_was_made_from(models: tuple[Path, Path], tmp_path: Path) -> None:
    symbol = models[0]
    options: dict[str, dict[str, Any]] = {"a": {}, "b": {"external_data": True}, "c": {"verify": False}, "d": {}}
    for name, more in options.items():
        bridge.convert(symbol, inputs={"data": (2, 3, 12, 12)}, output=tmp_path / f"{name}.onnx", **more)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "d.onnx").read_bytes()
    facts = {n: read_facts(onnx.load(tmp_path / f"{n}.onnx")) for n in "abc"}
    assert (facts["a"]["verdict"], facts["b"]["verdict"], facts["c"]["verdict"]) == (
        "equivalent",
        "equivalent",
        "not verified",
    )
    assert (
        facts["a"]["tolerance"] == "atol 1e-05 of a channel's largest number + rtol 0.0001"
        and "tolerance" not in facts["c"]
    )
    params = symbol.with_name("net-0000.params")
    assert facts["b"]["params"] == params.name
    assert facts["b"]["params.sha256"] == hashlib.sha256(params.read_bytes()).hexdigest()
    documented_ = set(re.findall(r"`gluonnx\.([a-z0-9.]+)`", section("What an ONNX file carries")))
    of_options = {n for n in documented_ if n.split(".")[0] in ("precision", "preprocess")}
    assert set(facts["a"]) == documented_ - of_options
    for name in "ab":
        onnx.checker.check_model(onnx.load(tmp_path / f"{name}.onnx"), full_check=True)
        assert bridge.verify(symbol, tmp_path / f"{name}.onnx").equivalent
        assert bridge.inspect(tmp_path / f"{name}.onnx").provenance == facts[name]
    shown = CliRunner().invoke(app, ["inspect", str(tmp_path / "a.onnx")]).stdout
    assert re.search(r"made: verdict +equivalent", shown)


# -- in a browser ---------------------------------------------------------------------------------------------------------

BROWSER = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
NARROW = 390 if BROWSER is not None and BROWSER.endswith("headless-shell") else 500
"""Pixels of a phone, or those of which no window of Chromium's is narrower."""
PROBE = """<script>
const wide = [...document.body.querySelectorAll("*")].filter(e => !e.closest(".wide, pre") && !e.closest("svg")
  && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + "." + e.className);
const table = document.getElementById("layers");
table.tHead.rows[0].cells[5].firstChild.click();
const field = document.querySelector('input[data-for="layers"]');
const first = table.tBodies[0].rows[0].cells[1].textContent;
field.value = "relu1"; field.dispatchEvent(new Event("input"));
const shown = [...table.tBodies[0].rows].filter(r => !r.hidden).length;
const colour = getComputedStyle(document.body).backgroundColor;
document.documentElement.dataset.probe = JSON.stringify(
  {width: innerWidth, scroll: document.documentElement.scrollWidth, wide, first, shown, colour});
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="needs a headless Chromium, which apt-get install chromium brings")
@pytest.mark.parametrize(("width", "scheme"), [(1200, 1), (NARROW, 0)])
def test_a_page_in_a_browser(found: VerifyResult, tmp_path: Path, width: int, scheme: int) -> None:
    file = tmp_path / "page.html"
    file.write_text(as_html(found).replace("</body>", f"{PROBE}</body>"))
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900", "--dump-dom"]
    command += [
        f"--blink-settings=preferredColorScheme={scheme}",
        f"--user-data-dir={tmp_path / 'profile'}",
        file.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    probe = re.search(r'data-probe="([^"]*)"', done.stdout)
    assert probe is not None, done.stderr[-500:]
    seen = json.loads(probe[1].replace("&quot;", '"'))
    assert seen["width"] == width and seen["scroll"] <= width and not seen["wide"]
    assert seen["first"] == "conv2_output" and seen["shown"] == 1
    assert seen["colour"] == ("rgb(255, 255, 255)" if scheme else "rgb(20, 24, 28)")
    picture = tmp_path / "page.png"
    command[command.index("--dump-dom")] = f"--screenshot={picture}"
    subprocess.run([*command, "--hide-scrollbars"], capture_output=True, timeout=60, check=True)
    pixels = images.decode(picture.read_bytes())[..., :3]
    assert pixels.shape[:2] == (900, width)

    def share(part: np.ndarray, colour: tuple[int, int, int]) -> float:
        return float((np.abs(part.astype(int) - colour).max(axis=-1) < 24).mean())

    paper, red = ((255, 255, 255), (196, 48, 43)) if scheme else ((20, 24, 28), (255, 123, 114))
    assert share(pixels, paper) > 0.4  # light or dark
    assert share(pixels[:90, : min(width, 400)], red) > 0.03 > share(pixels[300:], red)  # the verdict first


def test_drawings_bear_what_is_missing(found: VerifyResult) -> None:
    bare = tuple(dataclasses.replace(x, accumulated=None, local=None) for x in found.layers)
    shown = drawing.strip(dataclasses.replace(found, layers=bare, divergence=None), str)
    assert "<rect" not in shown and shown.startswith("<svg")
    alone = dataclasses.replace(found, around=(found.around[0], ()))
    assert drawing.neighbourhood(alone).count("<g>") == len(found.around[0])


def test_the_runs_after_the_first_are_told_by_kind_and_size() -> None:
    def run(kind: str, *shape: int) -> dict[str, Any]:
        return {"kind": kind, "shapes": {"x": shape}}

    def told(*runs: dict[str, Any]) -> str:
        return words.further(VerifyResult("a", "b", "equivalent", runs, ()))

    assert told(run("expected", 2, 3)) == ""
    assert told(run("given", 2, 3), run("given", 2, 3)) == ""
    assert told(run("given", 2, 3), run("given", 4, 3)) == "given x (4,3)"
    runs = (run("expected", 2, 3), run("another size", 3, 3), run("wide", 2, 3), run("wide", 2, 3), run("edges", 2, 3))
    assert told(*runs) == "another size x (3,3), wide, edges"
