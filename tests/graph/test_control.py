"""Control flow in the engine, against what MXNet 1.9.1 gave."""

from pathlib import Path

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, nd
from hybrid.core.error import MXNetError, OpError
from hybrid.core.shapes import UNKNOWN
from hybrid.execution.program import Program
from hybrid.ir import json as symbol_json
from hybrid.ir.graph import Entry, Graph
from hybrid.ir.infer import infer
from tests.graph.control import CASES, apply, choice, counting, foreach, growing, one, outputs, two_of_each, variable

FOLDER = Path(__file__).parents[2] / "fixtures" / "json"


@pytest.mark.parametrize("make", CASES.values(), ids=CASES)
def test_runs(make) -> None:
    graph, feeds, wants = make()
    before = {k: v.copy() for k, v in feeds.items()}
    for result, want in zip(Program(graph).run(feeds), wants, strict=True):
        assert result.dtype == np.float32
        np.testing.assert_array_equal(result, np.float32(want))
    assert all((feeds[k] == before[k]).all() or np.isnan(before[k]).any() for k in feeds)


@pytest.mark.parametrize("make", CASES.values(), ids=CASES)
def test_infers_what_it_gives(make) -> None:
    graph, feeds, wants = make()
    result = infer(graph, {k: v.shape for k, v in feeds.items()}, default_dtype="float32")
    for entry, want in zip(graph.outputs, wants, strict=True):
        spec = result.spec(entry)
        assert spec.dtype == np.float32
        assert len(spec.shape) == np.ndim(want)
        assert all(d is UNKNOWN or d == n for d, n in zip(spec.shape, np.shape(want)))


def test_what_depends_on_the_values_stays_unknown() -> None:
    graph, feeds, _ = growing()
    result = infer(graph, {k: v.shape for k, v in feeds.items()})
    assert [result.spec(e).shape for e in graph.outputs] == [(1,), (UNKNOWN,)]
    graph, feeds, _ = choice(0, (5, 6, 7))
    result = infer(graph, {k: v.shape for k, v in feeds.items()})
    assert [result.spec(e).shape for e in graph.outputs] == [(UNKNOWN,), (UNKNOWN,)]


def recurrent() -> Graph:
    """foreach with a FullyConnected of the slice, its weight from outside."""
    data, weight, state = map(variable, ("data-0", "weight", "state-0"))
    new = one("elemwise_add", one("FullyConnected", data, weight, num_hidden=4, no_bias=True), state, name="new")
    return foreach(Graph([one("_copy", new), new]), ["data", "state", "weight"], (0,), (2,), (1,))


def test_a_loop_tells_the_shapes_of_what_its_body_reads() -> None:
    """As in MXNet: weights and states from the data, dtypes from wherever they are known."""
    graph = recurrent()
    result = infer(graph, {"data": (5, 3, 7)}, {"weight": "float64"})
    specs = {n.name: result.spec(Entry(n)) for n in graph.variables()}
    assert specs["weight"].shape == (4, 7)
    assert specs["state"].shape == (3, 4)
    assert {s.dtype for s in specs.values()} == {np.dtype("float64")}
    assert result.spec(graph.outputs[0]) == ((5, 3, 4), np.float64)
    known = infer(graph, {"data": (UNKNOWN, 3, 7), "state": (3, 4)})
    assert known.spec(graph.outputs[0]).shape == (UNKNOWN, 3, 4)


def test_a_loop_in_a_loop_in_a_branch() -> None:
    """Cumulative sums of the rows of every matrix, if asked to."""
    row, total = variable("row"), variable("total")
    inner = foreach(
        Graph([one("elemwise_add", total, row, name="sum"), one("_plus", total, row, name="again")]),
        ["matrix", "zero"],
        (1,),
        (0,),
    ).outputs[0]
    matrices = foreach(Graph([inner]), ["data", "zero"], (0,), (), (1,))
    asked, other = variable("asked"), variable("data")
    node = apply(
        "_cond",
        *map(variable, ("asked", "data", "zero")),
        name="choice",
        subgraphs=(Graph([one("_copy", asked)]), matrices, Graph([one("_copy", other)])),
        num_args=6,
        num_outputs=1,
        cond_input_locs=(0,),
        then_input_locs=(1, 2),
        else_input_locs=(1,),
    )
    data = np.arange(24, dtype="f4").reshape(2, 3, 4)
    for asked, want in ((1, data.cumsum(axis=1)), (0, data)):
        feeds = {"asked": np.float32([asked]), "data": data, "zero": np.zeros(4, "f4")}
        np.testing.assert_array_equal(Program(outputs(node)).run(feeds)[0], want)


def test_a_loop_that_never_starts_has_no_outputs() -> None:
    with pytest.raises(MXNetError, match=r"loop: \[_while_loop\].*does not hold at the start"):
        Program(counting(9)).run({"start": np.float32([9]), "state": np.float32([1, 3])})


def test_a_condition_is_one_element() -> None:
    graph, feeds, _ = choice(1)
    with pytest.raises(MXNetError, match=r"condition of shape \(2,\), wanted one element"):
        Program(graph).run({**feeds, "p": np.float32([1, 2])})


def test_no_steps() -> None:
    graph, feeds, _ = two_of_each()
    with pytest.raises(MXNetError, match="length 0"):
        Program(graph).run({**feeds, "x": np.zeros((0, 2), "f4"), "y": np.zeros((0, 1), "f4")})


def test_lengths_have_to_agree() -> None:
    graph, feeds, _ = two_of_each()
    with pytest.raises(OpError, match=r"each: \[_foreach\] shapes"):
        Program(graph).run({**feeds, "y": np.zeros((4, 1), "f4")})


def test_states_keep_shape_and_dtype() -> None:
    d, s = variable("d-0"), variable("s-0")
    wider = Graph([one("_copy", d), one("Concat", s, s, num_args=2, dim=0)])
    with pytest.raises(OpError, match=r"each: \[_foreach\] shapes \(2,\) and \(4,\) differ"):
        infer(foreach(wider, ["d", "s"], (0,), (1,)), {"d": (3, 2), "s": (2,)})
    other = Graph([one("_copy", d), one("Cast", s, dtype="float64")])
    with pytest.raises(OpError, match="state 0 is float32 before a step and float64 after it"):
        infer(foreach(other, ["d", "s"], (0,), (1,)), {"d": (3, 2), "s": (2,)}, default_dtype="float32")


def test_branches_give_one_dtype() -> None:
    graph, _, _ = choice(1)
    with pytest.raises(OpError, match="output 0 is float32 in one body and float64 in the other"):
        infer(graph, {}, {"p": "float32", "a": "float32", "b": "float64"})


def body_of(count: int) -> Graph:
    d, s = variable("d-0"), variable("s-0")
    return Graph([one("elemwise_add", d, s, name=f"sum{i}") for i in range(count)])


def test_bad_subgraphs() -> None:
    good = foreach(body_of(2), ["d", "s"], (0,), (1,)).outputs[0].node
    given = {"d": (3, 2), "s": (2,)}

    def fails(*subgraphs: Graph, match: str) -> None:
        node = apply(
            "_foreach", *good.inputs, name="each", subgraphs=subgraphs, **{k: good.attrs[k] for k in good.op.fields}
        )
        with pytest.raises(OpError, match=match):
            infer(outputs(node), given)

    fails(match="got 0 subgraphs, wanted 1")
    fails(body_of(2), body_of(2), match="got 2 subgraphs, wanted 1")
    fails(body_of(3), match="subgraph of 3 outputs, wanted 2")
    fails(Graph([variable("d-0"), variable("s-0"), variable("t-0")]), match="inputs d-0, s-0, t-0 got 2")
    fails(Graph([one("elemwise_add", variable("d"), variable("d"))] * 2), match="inputs d, d got 2")


@pytest.mark.parametrize(
    ("attrs", "match"),
    [
        ({"in_data_locs": (0, 0)}, r"locations \(0, 0, 1\), wanted each of the 2 inputs once"),
        ({"in_data_locs": (), "remain_locs": (0,)}, "no data to iterate over"),
        ({"num_out_data": 0}, "1 states, but 2 outputs"),
        ({"num_outputs": 0}, "num_outputs=0"),
    ],
)
def test_bad_locations(attrs: dict, match: str) -> None:
    good = foreach(body_of(2), ["d", "s"], (0,), (1,)).outputs[0].node
    with pytest.raises(OpError, match=match):
        apply("_foreach", *good.inputs, **{**{k: getattr(good.op, k) for k in good.op.fields}, **attrs})


@pytest.mark.parametrize(
    ("attrs", "match"),
    [
        ({"cond_input_locs": (2,)}, r"cond_input_locs=\(2,\) with 2 to choose from"),
        ({"func_var_locs": (0, 5)}, r"func_var_locs=\(0, 5\) with 2 to choose from"),
        ({"func_var_locs": (0, 0)}, "wanted each once"),
        ({"func_var_locs": (0,)}, "1 loop variables, but 2 outputs"),
    ],
)
def test_bad_loop_locations(attrs: dict, match: str) -> None:
    good = counting(0).outputs[0].node
    with pytest.raises(OpError, match=match):
        apply("_while_loop", *good.inputs, **{**{k: getattr(good.op, k) for k in good.op.fields}, **attrs})


def test_it_takes_a_graph() -> None:
    with pytest.raises(OpError, match="got 0 subgraphs, wanted 1, which only a node of a graph has"):
        nd._internal._foreach(
            nd.ones((2, 2)),
            num_args=2,
            num_outputs=1,
            num_out_data=1,
            in_data_locs=(0,),
            in_state_locs=(),
            remain_locs=(),
        )


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*/loops-symbol.json")), ids=lambda p: p.parent.name)
def test_files(path: Path) -> None:
    graph = symbol_json.loads(path.read_text(encoding="utf-8"))
    feeds = dict(np.load(str(path).replace("-symbol.json", "-input.npz")))
    wants = np.load(str(path).replace("-symbol.json", "-output.npz"))
    result = infer(graph, {k: v.shape for k, v in feeds.items()}, default_dtype="float32")
    names = sorted(k for k in wants if k != "names")
    for entry, got, name in zip(graph.outputs, Program(graph).run(feeds), names, strict=True):
        np.testing.assert_allclose(got, wants[name], rtol=0, atol=1e-6)
        assert result.spec(entry) == (got.shape, got.dtype)


def test_bodies_train_when_the_graph_around_them_does() -> None:
    """Bound, they follow is_train whatever the thread's mode is; in blocks they follow that, hybridized or not."""

    def net(F, x, kind):  # noqa: N803
        if kind == "foreach":
            return F.contrib.foreach(lambda d, s: (F.Dropout(d, p=0.5), s), x, [F.zeros((1,))])[0]
        if kind == "while_loop":
            more = F.contrib.while_loop(
                lambda i: i < 1, lambda i: ([F.Dropout(x)], [i + 1]), [F.zeros((1,))], max_iterations=1
            )
            return more[0][0]
        return F.contrib.cond(F.ones((1,)), lambda: F.Dropout(x, p=0.5), lambda: x)

    class Block(mx.gluon.HybridBlock):
        def __init__(self, kind):
            super().__init__()
            self.kind = kind

        def hybrid_forward(self, F, x):  # noqa: N803
            return net(F, x, self.kind)

    x, wrong = nd.ones((50, 4)), []
    modes = {
        "train_mode": (autograd.train_mode, True),
        "predict_mode": (autograd.predict_mode, False),
        "record": (autograd.record, True),
        "record(False)": (lambda: autograd.record(train_mode=False), False),
    }
    for kind in ("foreach", "while_loop", "cond"):
        executor = net(mx.sym, mx.sym.var("x"), kind).bind(mx.cpu(), {"x": x})
        blocks = [Block(kind), Block(kind)]
        blocks[1].hybridize()
        for name, (mode, training) in modes.items():
            with mode():
                found = {f"bound, is_train={t}": (executor.forward(is_train=t)[0], t) for t in (True, False)}
                found |= {f"a block, hybridized {i}": (b(x), training) for i, b in enumerate(blocks)}
            for where, (y, wanted) in found.items():
                if bool((y.asnumpy() == 0).any()) != wanted:
                    wrong.append(f"{kind} in {name}, {where}")
    assert not wrong, "\n".join(wrong)
