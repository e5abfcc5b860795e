"""Control flow in Symbol JSON: subgraphs are read and survive."""

import json
from pathlib import Path

import pytest

from hybrid.core.error import OpError
from hybrid.ir import json as symbol_json
from hybrid.ir.graph import Graph

FOLDER = Path(__file__).parents[2] / "fixtures" / "json"
FILES = sorted(FOLDER.glob("*/loops-symbol.json"))


def loops(path: Path) -> Graph:
    return symbol_json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(params=FILES, ids=[p.parent.name for p in FILES])
def graph(request: pytest.FixtureRequest) -> Graph:
    return loops(request.param)


def control(graph: Graph) -> dict[str, object]:
    return {n.op.name: n for n in graph.nodes if n.subgraphs}


def test_every_body_is_read(graph: Graph) -> None:
    found = control(graph)
    assert {name: len(node.subgraphs) for name, node in found.items()} == {"_foreach": 1, "_while_loop": 2, "_cond": 3}
    for node in found.values():
        assert len(node.inputs) == len(node.op.input_names())
        assert len(node.outputs) == node.op.num_outputs
    loop = found["_foreach"]
    (body,) = loop.subgraphs
    assert len(body.outputs) == loop.op.num_outputs
    locations = loop.op.in_data_locs + loop.op.in_state_locs + loop.op.remain_locs
    assert sorted(locations) == list(range(len(body.variables())))


def test_written_text_reads_the_same(graph: Graph) -> None:
    text = symbol_json.dumps(graph)
    again = symbol_json.loads(text)
    assert symbol_json.dumps(again) == text
    assert [n.op for n in again.nodes] == [n.op for n in graph.nodes]
    for one, other in zip(control(graph).values(), control(again).values(), strict=True):
        assert one.attrs == other.attrs
        for a, b in zip(one.subgraphs, other.subgraphs, strict=True):
            assert [(n.name, n.op, n.attrs) for n in a.nodes] == [(n.name, n.op, n.attrs) for n in b.nodes]
            assert [e.name for e in a.outputs] == [e.name for e in b.outputs]


def test_what_mxnet_wrote_comes_back() -> None:
    """1.9.1's own file, node for node: names, operators, inputs, attributes, subgraphs."""
    path = FOLDER / "1.9.1" / "loops-symbol.json"
    wrote, ours = json.loads(path.read_text()), json.loads(symbol_json.dumps(loops(path)))

    def same(a: dict, b: dict) -> None:
        assert a["heads"] == b["heads"]
        assert a["arg_nodes"] == b["arg_nodes"]
        for one, other in zip(a["nodes"], b["nodes"], strict=True):
            assert {k: v for k, v in one.items() if k != "subgraphs"} == {
                k: v for k, v in other.items() if k != "subgraphs"
            }
            for inner, outer in zip(one.get("subgraphs", []), other.get("subgraphs", []), strict=True):
                same(inner, outer)

    same(wrote, ours)


def test_a_loop_with_a_wrong_count_of_inputs_is_refused() -> None:
    data = json.loads((FOLDER / "1.9.1" / "loops-symbol.json").read_text())
    next(n for n in data["nodes"] if n["op"] == "_foreach")["attrs"]["num_args"] = "3"
    with pytest.raises(OpError, match=r"_foreach: got locations \(0, 2, 1\), wanted each of the 2 inputs once"):
        symbol_json.loads(json.dumps(data))
