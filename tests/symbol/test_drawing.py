"""Drawings of graphs: everything is in its layer, nothing overlaps, arrows lead from above to below."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

import hybrid as mx
from hybrid.frontend.brief import briefly, in_runs, once
from hybrid.frontend.drawing import BELOW, BOX, TALL, Drawing, layers_of, layout, of_graph, svg


def drawing(*edges: str) -> Drawing:
    """A drawing of arrows such as "a>b"."""
    made = Drawing()
    for edge in edges:
        giver, taker = edge.split(">")
        made.edge(taker, giver)
    return made


def test_layers_are_the_longest_way_and_an_input_is_above_what_takes_it() -> None:
    assert layers_of(drawing("a>b", "b>c", "a>c", "d>c")) == {"a": 0, "b": 1, "c": 2, "d": 1}
    with pytest.raises(mx.MXNetError, match="circle"):
        layers_of(drawing("a>b", "b>a"))


@pytest.mark.parametrize("seed", range(5))
def test_boxes_do_not_overlap_and_arrows_go_down(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = drawing(*(f"{a}>{b}" for b in range(1, 30) for a in rng.choice(b, min(b, 2), replace=False)))
    found = layout(made)
    boxes = list(found.at.values())
    for i, (x, y) in enumerate(boxes):
        assert BOX / 2 <= x <= found.width - BOX / 2 and TALL / 2 <= y <= found.height - TALL / 2
        assert all(abs(x - p) > BOX or abs(y - q) > TALL for p, q in boxes[:i])
    for bends in found.bends:
        assert all(above[1] < below[1] for above, below in pairwise(bends))


@pytest.mark.parametrize("seed", range(3))
def test_lines_pass_between_boxes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = drawing(*(f"{a}>{b}" for b in range(1, 20) for a in rng.choice(b, min(b, 2), replace=False)))
    lines = re.findall(r'<path d="(M[^"]+)" fill="none"', svg(made))
    assert len(lines) == len(made.edges) and any("V" in line for line in lines)
    for line in lines:
        x, y = map(float, re.findall(r"[-\d.]+", line.partition("C")[0]))
        for kind, told in re.findall(r"([CV])([^CV]+)", line):
            numbers = [float(n) for n in told.split()]
            if kind == "V":
                assert numbers[0] - y <= TALL + 1  # beside a layer
                assert all(abs(x - p) >= BOX / 2 or not y < q < numbers[0] for p, q in layout(made).at.values())
                y = numbers[0]
            else:
                assert y <= numbers[1] <= numbers[5] and numbers[5] - y <= BELOW + 1  # between two layers
                x, y = numbers[4:]


def test_a_chain_is_straight() -> None:
    found = layout(drawing("a>b", "b>c", "c>d", "d>e"))
    assert len({x for x, _ in found.at.values()}) == 1


def test_a_symbol_is_drawn_without_its_parameters() -> None:
    data = mx.sym.var("<data>")
    left = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=4, name="fc"), act_type="relu", name="act")
    made = of_graph((left + mx.sym.FullyConnected(data, num_hidden=4, name="side")).graph)
    assert "fc_weight" not in made.boxes and {"<data>", "fc", "act", "side"} < {*made.boxes}
    assert {(e.giver, e.taker) for e in made.edges} > {("<data>", "fc"), ("fc", "act"), ("<data>", "side")}
    tree = ElementTree.fromstring(svg(made))
    texts = [t.text for t in tree.iter() if t.tag.endswith("}text")]
    assert "<data>" in texts and "FullyConnected" in texts
    assert len([t for t in tree.iter() if t.tag.endswith("}rect")]) == len(made.boxes) == 5
    shown = mx.sym.Group([left])._repr_html_()
    assert re.search(r"<svg .*</svg>.*<table", shown, re.DOTALL)


def test_a_step_stands_beside_what_takes_it() -> None:
    made = drawing("in>a1", "in>a2", "a1>b1", "b1>c", "a2>b2", "c>b2")
    assert layers_of(made) == {"in": 0, "a1": 1, "b1": 2, "c": 3, "a2": 3, "b2": 4}


def test_a_long_edge_is_straight() -> None:
    found = layout(drawing(*(f"{i}>{i + 1}" for i in range(6)), "0>6"))
    (bends,) = [b for b in found.bends if len(b) == 7]
    assert max(x for x, _ in bends[1:-1]) - min(x for x, _ in bends[1:-1]) < 1


def test_runs_are_one_box_and_inputs_stay() -> None:
    made = drawing("in>a", "a>b", "b>c", "c>d", "b>d")
    made.node("in", "in", shape="oval")
    for name in "abcd":
        made.node(name, f"Op{name}\n{name}")
    joined = in_runs(made)
    assert joined.boxes["a"].label == "Opa, Opb\n2 operators\nOpa a\nOpb b" and joined.boxes["c"].label == "Opc\nc"
    assert {*joined.boxes} == {"in", "a", "c", "d"}
    assert [(e.giver, e.taker) for e in joined.edges] == [("in", "a"), ("a", "c"), ("c", "d"), ("a", "d")]


def test_a_run_ends_before_a_layer_and_tells_its_size() -> None:
    made = drawing("in>a", "a>b", "b>c", "c>d")
    made.node("in", "in", shape="oval")
    for name, kind in zip("abcd", ("Convolution", "BatchNorm", "Convolution", "relu")):
        made.node(name, f"{kind}\n3x3, {name}" if kind == "Convolution" else f"{kind}\n{name}")
        made.kinds[name] = ("layer" if kind == "Convolution" else "", kind)
    joined = in_runs(made, by_layer=True)
    assert {*joined.boxes} == {"in", "a", "c"}
    assert joined.boxes["c"].label == "Convolution, relu\n3x3, c\nConvolution 3x3, c\nrelu d"
    assert joined.kinds["a"] == ("layer", "Convolution", "", "BatchNorm")
    assert {*in_runs(made).boxes} == {"in", "a"}


def blocks(count: int, **kinds: tuple[str, ...]) -> Drawing:
    """Residual blocks in a row, of which each box is of the kind of its letter, behind an input, and before a box of its own."""
    made = Drawing()
    made.node("in", shape="oval")
    before = "in"
    for i in range(count):
        for name, letter, takes in (
            (f"a{i}", "a", [before]),
            (f"b{i}", "b", [f"a{i}"]),
            (f"c{i}", "c", [f"b{i}", before]),
        ):
            made.node(name, f"{letter}\n{name}")
            made.kinds[name] = kinds.get(name, (letter,))
            for giver in takes:
                made.edge(name, giver)
        before = f"c{i}"
    made.node("end")
    made.edge("end", before)
    return made


def test_equal_blocks_in_a_row_are_drawn_once() -> None:
    made = once(blocks(5))  # the first takes from an input, which is no block
    assert [*made.boxes] == ["in", "a0", "b0", "c0", "a1", "b1", "c1", "a2", "end"]
    assert made.boxes["a2"].label.split("\n")[:3] == ["3 above, 3 times more", "up to c4", "a a2"]
    assert {(e.giver, e.taker) for e in made.edges if "a2" in e[:2]} == {("c1", "a2"), ("a2", "end")}
    assert len(made.edges) == len({*made.edges}) == 10
    assert layers_of(made)["end"] == 8 and 'stroke-dasharray="5 3"' in svg(made)


def test_blocks_that_differ_are_all_drawn() -> None:
    for other in ({"b2": ("b", "wider")}, {"a2": ("relu",)}):
        made = once(blocks(4, **other))
        assert [*made.boxes] == [*blocks(4).boxes] and made.edges == blocks(4).edges
    labelled = blocks(3)
    labelled.edges = [e._replace(label=f"{i}") for i, e in enumerate(labelled.edges)]
    assert len(once(labelled).boxes) == len(labelled.boxes)


def test_what_all_blocks_take_stays_and_they_are_drawn_once() -> None:
    made = blocks(6)
    made.boxes = {"mask": made.boxes["end"], **made.boxes}  # in its place, before what takes it
    for i in range(6):
        made.edge(f"b{i}", "mask")
    short = once(made)
    assert "4 times more" in short.boxes["a2"].label and ("mask", "a2") in {(e.giver, e.taker) for e in short.edges}
    assert len([e for e in short.edges if e[:2] == ("mask", "a2")]) == 1


def test_an_output_on_the_way_is_drawn() -> None:
    made = blocks(6)
    made.node("side")
    made.edge("side", "b3")
    short = once(made)
    assert {"side", "b3"} <= {*short.boxes} and ("b3", "side") in {(e.giver, e.taker) for e in short.edges}


def test_boxes_in_no_order_are_drawn_as_they_are() -> None:
    made = drawing("b>c", "a>b", "c>d")
    made.boxes = {name: made.boxes[name] for name in "dcba"}
    assert once(made).boxes == made.boxes and once(made).edges == made.edges


@pytest.mark.parametrize(
    ("name", "most", "told"),
    [
        ("resnet50_v1", 50, "4 above, 4 times more"),
        ("resnet152_v2", 50, "33 times more"),
        ("densenet121", 60, "22 times more"),
        ("vgg19_bn", 30, "1 above, 2 times more"),
        ("inception_v3", 60, "5 above, once more"),
        ("mobilenet1_0", 30, "2 above, 4 times more"),
    ],
)
def test_deep_networks_can_be_read(name: str, most: int, told: str) -> None:
    whole = of_graph(getattr(mx.gluon.model_zoo.vision, name)()(mx.sym.var("data")).graph)
    made = briefly(whole)
    assert len(made.boxes) < most < len(whole.boxes)
    assert any(told in box.label for box in made.boxes.values()), [
        box.label.split("\n")[0] for box in made.boxes.values()
    ]
    layers_of(made)


def test_a_large_network_is_drawn_with_its_runs_joined() -> None:
    shown = mx.gluon.model_zoo.vision.resnet50_v1()(mx.sym.var("data"))._repr_html_()
    assert 30 < shown.count("<rect") < 50 and "3 operators" in shown and "474 nodes; operators in a row" in shown


def test_long_names_keep_their_ends() -> None:
    made = Drawing()
    made.node("pretraining0_layer11_broadcast_add1")
    assert ">pretraining...dcast_add1<" in svg(made) and "<title>pretraining0_layer11_broadcast_add1<" in svg(made)


def test_names_that_are_there_twice_get_boxes_of_their_own() -> None:
    twice = mx.sym.var("x") + mx.sym.var("x")
    made = of_graph(twice.graph)
    assert len(made.boxes) == 3 and len(made.edges) == 2


def test_nothing_is_drawn_of_nothing() -> None:
    assert ElementTree.fromstring(svg(Drawing())).get("height") == "18"
