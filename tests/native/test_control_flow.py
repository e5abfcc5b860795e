"""Control flow in the compiled program against the operators' own rules."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from hybrid import native
from hybrid.core.error import MXNetError
from hybrid.core.memory_budget import set_step_budget
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph
from tests.graph.control import apply, one, outputs, variable

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

Feeds = Mapping[str, Any]
RNG = np.random.default_rng(0)


def numbers(*shape: int) -> np.ndarray:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def control_rows(program: Program, feeds: Feeds) -> list[dict[str, Any]]:
    """Rows of a profile that are control flow."""
    arrays = [np.asarray(feeds[n]) if n in feeds else program.constants[n] for n in program.names]
    rows = program.prepare(tuple(x for a in arrays for x in (a.shape, a.dtype))).bound.profile(arrays)
    flow = ("_foreach", "_while_loop", "_cond", "_onnx_Loop", "_onnx_Scan", "_onnx_If")
    return [r for r in rows or () if r["op"] in flow]


def alike(graph: Graph, *runs: Feeds, constants: Feeds | None = None) -> Program:
    """Hold a graph, whose control flow has to be compiled, against NumPy."""
    program, meaning = Program(graph, constants), Program(graph, constants, native=False)
    for feeds in runs:
        given = {k: np.asarray(v) for k, v in feeds.items()}
        want = meaning.run(given, rng=np.random.default_rng(7))
        for _ in range(2):
            got = program.run(given, rng=np.random.default_rng(7))
            assert len(got) == len(want)
            for mine, wanted in zip(got, want):
                assert mine.dtype == wanted.dtype
                np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)
        rows = control_rows(program, given)
        assert rows and all(r["native"] for r in rows), rows
    return program


def foreach(body: Graph, kinds: str, count: int, *inputs: Entry) -> Graph:
    """A loop whose body's variables are, in order, data (d), states (s) and what is captured (c)."""
    places = {k: tuple(i for i, kind in enumerate(kinds) if kind == k) for k in "dsc"}
    order = [inputs[i] for i in (*places["d"], *places["s"], *places["c"])]
    node = apply(
        "_foreach", *order, name="each", subgraphs=(body,), num_args=len(order) + 1, num_outputs=len(body.outputs),
        num_out_data=count, in_data_locs=places["d"], in_state_locs=places["s"], remain_locs=places["c"],
    )  # fmt: skip
    return outputs(node)


def of(*names: str) -> list[Entry]:
    return [variable(n) for n in names]


def both(body: Callable[..., tuple[list[Entry], int]], kinds: str, *names: str) -> Graph:
    """A foreach whose body has variables of the names of its inputs: (results, how many are stacked) of them."""
    inside = of(*names)
    results, count = body(*inside)
    order = {id(n): i for i, n in enumerate(Graph(results).variables())}
    assert len(order) == len(names), "a body reads all of its variables"
    place = sorted(range(len(names)), key=lambda i: order[id(inside[i].node)])
    return foreach(Graph(results), "".join(kinds[i] for i in place), count, *(variable(names[i]) for i in place))


def cell(x, h, w):
    new = one("tanh", one("elemwise_add", one("dot", x, w, name="p"), h, name="a"), name="t")
    return [one("_mul_scalar", new, scalar=2.0, name="y"), new], 1


def swapped(x, a, b):
    """States that change places, and rows that are states, data and one another."""
    return [b, x, a, one("elemwise_add", b, x, name="n"), a], 3


def held(x, a, b):
    """A state that stays, one that becomes another, one that becomes a slice."""
    total = one("elemwise_add", one("elemwise_add", x, a, name="o"), b, name="p")
    return [total, total, a, x], 2


def same_twice(x, a, b):
    """Two states and a row that are one thing."""
    new = one("elemwise_add", one("elemwise_mul", a, b, name="m"), x, name="n")
    return [new, new, new], 1


def through(x, h, w):
    """A state that is captured from outside, and one computed from it alone."""
    return [one("elemwise_add", h, x, name="n"), w], 1


def hoisted(x, h, w):
    """Something that weights alone decide, handed on among the results."""
    twice = one("_mul_scalar", w, scalar=2.0, name="twice")
    return [one("elemwise_add", one("dot", x, twice, name="p"), h, name="n"), twice], 1


def without_kernel(x, h):
    """Steps that NumPy computes."""
    ordered = one("gamma", one("_plus_scalar", x, scalar=3.0, name="more"), name="g")
    return [ordered, one("elemwise_add", h, ordered, name="n")], 1


def drawing(x, h):
    drawn = one(
        "elemwise_mul", x, one("Dropout", one("elemwise_add", x, h, name="s"), p=0.5, mode="always", name="d"), name="m"
    )
    return [drawn, one("elemwise_add", h, drawn, name="n")], 1


FOREACH: dict[str, tuple[Graph, Feeds]] = {
    "cell": (both(cell, "dsc", "x", "h", "w"), {"x": numbers(5, 2, 4), "h": numbers(2, 4), "w": numbers(4, 4)}),
    "one step": (both(cell, "dsc", "x", "h", "w"), {"x": numbers(1, 2, 4), "h": numbers(2, 4), "w": numbers(4, 4)}),
    "no example": (both(cell, "dsc", "x", "h", "w"), {"x": numbers(3, 0, 4), "h": numbers(0, 4), "w": numbers(4, 4)}),
    "swapped": (both(swapped, "dss", "x", "a", "b"), {"x": numbers(4, 3), "a": numbers(3), "b": numbers(3)}),
    "held": (both(held, "dss", "x", "a", "b"), {"x": numbers(4, 3), "a": numbers(3), "b": numbers(3)}),
    "same twice": (both(same_twice, "dss", "x", "a", "b"), {"x": numbers(4, 3), "a": numbers(3), "b": numbers(3)}),
    "through": (both(through, "dsc", "x", "h", "w"), {"x": numbers(4, 3), "h": numbers(3), "w": numbers(3)}),
    "rank one": (both(through, "dsc", "x", "h", "w"), {"x": numbers(4), "h": numbers(1), "w": numbers(1)}),
    "no kernel": (both(without_kernel, "ds", "x", "h"), {"x": numbers(4, 3), "h": numbers(3)}),
    "drawing": (both(drawing, "ds", "x", "h"), {"x": numbers(4, 30), "h": numbers(30)}),
}


def test_foreach(level, threads):
    for graph, feeds in FOREACH.values():
        alike(graph, feeds)


def test_what_constants_decide_is_computed_once(level):
    """Computed from weights inside a body, and handed on from there; with other weights anew."""
    graph = both(hoisted, "dsc", "x", "h", "w")
    feeds = {"x": numbers(3, 4, 4), "h": numbers(4, 4)}
    for weights in (numbers(4, 4), numbers(4, 4)):
        program = alike(graph, feeds, constants={"w": weights})
        alike(graph, {**feeds, "w": weights})
    want = Program(graph, native=False).run({**feeds, "w": 2 * weights})
    for mine, wanted in zip(program.run({**feeds, "w": 2 * weights}), want):
        np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)


def while_loop(condition: Graph, body: Graph, count: int, most: int, inputs: list[Entry], *, states: int) -> Graph:
    """A loop whose first inputs are the states; condition and body take all inputs."""
    every = tuple(range(len(inputs)))
    node = apply(
        "_while_loop", *inputs, name="loop", subgraphs=(condition, body), num_args=len(inputs) + 2,
        num_outputs=len(body.outputs), num_out_data=count, max_iterations=most,
        cond_input_locs=every[: len(condition.variables())], func_input_locs=every, func_var_locs=every[:states],
    )  # fmt: skip
    return outputs(node)


def test_while_loop(level):
    for dtype in (None, "int32", "float64", "float16", "int8", "bool"):
        (a,) = of("a")
        asked = one("_greater_scalar", a, scalar=0.0, name="more")
        condition = Graph([asked if dtype is None else one("Cast", asked, dtype=dtype, name="as")])
        a, b = of("a", "b")
        less = one("_minus_scalar", a, scalar=1.0, name="less")
        body = Graph([one("broadcast_mul", less, b, name="row"), less])
        graph = while_loop(condition, body, 1, 6, of("a", "b"), states=1)
        runs = [{"a": np.full((1,), n, np.float32), "b": numbers(3)} for n in (1, 4, 6, 9, 0.5, np.nan)]
        alike(graph, *runs[:-1])
        for graph_of, wrong in ((graph, 0.0), (graph, -1.0)):
            feeds = {"a": np.full((1,), wrong, np.float32), "b": numbers(3)}
            said = []
            for compiled in (True, False):
                with pytest.raises(MXNetError) as error:
                    Program(graph_of, native=compiled).run(feeds)
                said.append(str(error.value))
            assert said[0] == said[1] and "does not hold at the start" in said[0]
        # without rows a loop of no step is none to complain of
        alike(
            while_loop(condition, Graph([less]), 0, 3, of("a"), states=1),
            {"a": np.zeros(1, np.float32)},
            {"a": np.ones(1, np.float32)},
        )


def test_conditions_that_are_no_numbers_hold(level):
    (a,), (b,) = of("a"), of("a")
    graph = while_loop(
        Graph([one("_copy", a, name="is")]),
        Graph([one("_mul_scalar", b, scalar=0.5, name="half")]),
        0,
        5,
        of("a"),
        states=1,
    )
    alike(graph, {"a": np.full((1,), np.nan, np.float32)}, {"a": np.full((1,), -0.0, np.float32)})


def cond(condition: Graph, then: Graph, other: Graph, inputs: list[Entry], *reads: tuple[int, ...]) -> Graph:
    node = apply(
        "_cond", *inputs, name="cond", subgraphs=(condition, then, other), num_args=len(inputs) + 3,
        num_outputs=len(then.outputs), cond_input_locs=reads[0], then_input_locs=reads[1], else_input_locs=reads[2],
    )  # fmt: skip
    return outputs(node)


def branches() -> Graph:
    """p > 0 chooses between a + b, a and b as they are, a."""
    (p,), (a, b), (c, d) = of("p"), of("a", "b"), of("b", "a")
    return cond(
        Graph([one("_greater_scalar", p, scalar=0.0, name="more")]),
        Graph([one("elemwise_add", a, b, name="sum"), a]),
        Graph([c, one("tanh", d, name="t")]),
        of("p", "a", "b"),
        (0,),
        (1, 2),
        (2, 1),
    )


def test_cond(level):
    given = {"a": numbers(2, 3), "b": numbers(2, 3)}
    runs = [{"p": np.array([p], np.float32), **given} for p in (1, -1)]
    alike(branches(), *runs)
    alike(branches(), *({"p": r["p"], "b": given["b"]} for r in runs), constants={"a": given["a"]})


def standard(operator: str, inputs: list[Entry], *bodies: Graph, reads: tuple[int, ...] = (), **attrs: Any) -> Graph:
    """An operator of the family _onnx_ with bodies."""
    if reads:
        attrs["body_reads"] = reads
    node = apply(operator, *inputs, name="flow", subgraphs=bodies, num_args=len(inputs) + len(bodies), **attrs)
    return outputs(node)


def loop(given: tuple[str, ...] = ("M", "cond")) -> Graph:
    """s = choice of s + x and s - i (an If inside), while it is small."""
    s, x = of("s", "x")
    then = Graph([one("elemwise_add", *of("s", "x"), name="sum")])
    other = Graph([one("broadcast_sub", *of("s", "f"), name="difference")])
    f = one("Cast", variable("i"), dtype="float32", name="f")
    i = f.node.inputs[0]
    odd = one("Cast", one("_mod_scalar", i, scalar=2.0, name="mod"), dtype="bool", name="odd")
    (chosen,) = standard(
        "_onnx_If", [odd, s, x, f], then, other, then_reads=(0, 1), else_reads=(0, 2), num_outputs=1
    ).outputs
    small = one(
        "_lesser_scalar", one("sum", one("square", chosen, name="size"), name="total"), scalar=50.0, name="small"
    )
    body = Graph([one("Cast", small, dtype="bool", name="going"), chosen])
    order = [v.name for v in body.variables()]
    places = {"i": 0, "c": 1, "s": 2, "x": 3}
    names = {"M": "most", "cond": "begin"}
    return standard(
        "_onnx_Loop", of(*(names[g] for g in given), "s", "x"), body, reads=tuple(places[n] for n in order), num_states=1,
        num_outputs=1, given=given,
    )  # fmt: skip


def test_loop(level):
    state = {"s": numbers(3), "x": np.abs(numbers(3))}
    runs = [
        {"most": np.array(m, np.int64), "begin": np.array(b), **state}
        for m, b in ((0, True), (5, True), (1000, True), (3, False), (-1, True))
    ]
    alike(loop(), *runs)
    alike(loop(("cond",)), {"begin": np.array(True), **state}, {"begin": np.array(False), **state})
    alike(loop(("M",)), {"most": np.array([7], np.int64), **state})
    before = set_step_budget(4)
    try:
        for compiled in (True, False):
            with pytest.raises(MXNetError, match="still holds after 4 steps"):
                Program(loop(), native=compiled).run(runs[1])
        assert Program(loop()).run({**runs[1], "most": np.array(4, np.int64)})
    finally:
        set_step_budget(before)


def scan(**attrs: Any) -> Graph:
    """h + x, and twice that; x itself once more."""
    h, x = of("h", "x")
    new = one("elemwise_add", h, x, name="new")
    body = Graph([new, one("_mul_scalar", new, scalar=2.0, name="twice"), x])
    first = ("lengths",) if attrs.get("given") else ()
    return standard(
        "_onnx_Scan", of(*first, "h", "x"), body, reads=(0, 1), num_states=1, num_outputs=3, num_scan_inputs=1, **attrs
    )


def test_scan(level):
    feeds = {"h": numbers(2, 3), "x": numbers(5, 2, 3)}
    for ahead in (0, 1):
        for out in ((0, 0), (1, 0), (1, 1)):
            alike(scan(scan_input_directions=(ahead,), scan_output_directions=out), feeds)
    for axis, outs in ((1, (0, 0)), (-1, (1, 2)), (2, (-1, -2))):
        moved = {"h": feeds["h"], "x": np.moveaxis(feeds["x"], 0, axis)}
        alike(scan(scan_input_axes=(axis,), scan_output_axes=outs, scan_input_directions=(1,)), moved)
    many = {"h": numbers(4, 2, 3), "x": numbers(4, 5, 2, 3)}
    alike(scan(batched=True), many, {k: v[:1] for k, v in many.items()})
    for lengths in ((5, 0, 3, 1), (0, 0, 0, 0)):
        given = {**many, "lengths": np.array(lengths, np.int64)}
        alike(
            scan(batched=True, given=("sequence_lens",), scan_input_directions=(1,), scan_output_directions=(0, 1)),
            given,
        )


def test_loops_of_known_length(level):
    """Rows of a loop whose steps follow from constants: a number that is given, or a condition on what is counted."""
    for most, end, steps in ((5, None, 5), (100, 3, 4), (2, 3, 2), (None, 6, 7)):
        i, c, s, x = of("i", "c", "s", "x")
        new = one("broadcast_add", s, x, name="new")
        going = (
            c
            if end is None
            else one("_lesser_scalar", one("Cast", i, dtype="float32", name="f"), scalar=float(end), name="less")
        )
        going = one(
            "_copy" if end is None else "Cast", going, name="going", **({} if end is None else {"dtype": "bool"})
        )
        body = Graph([going, new, one("_mul_scalar", new, scalar=2.0, name="row")])
        places = {"i": 0, "c": 1, "s": 2, "x": 3}
        given = ("cond",) if most is None else ("M", "cond")
        graph = standard(
            "_onnx_Loop", of(*(["most"] if most else []), "begin", "s", "x"), body,
            reads=tuple(places[v.name] for v in body.variables()), num_states=1, num_outputs=2, given=given,
        )  # fmt: skip
        constants = {"begin": np.array(True), **({"most": np.array(most, np.int64)} if most else {})}
        program = alike(graph, {"s": numbers(3), "x": numbers(3)}, constants=constants)
        assert program.run({"s": numbers(3), "x": numbers(3)})[1].shape == (steps, 3)


def test_loops_of_unknown_length(level):
    """Rows whose number only the run shows, of more steps than there is room for at first, and of none."""
    for given in (("M", "cond"), ("cond",), ("M",)):
        c, s, x = of("c", "s", "x")
        new = one("broadcast_add", s, x, name="new")
        small = one("_lesser_scalar", one("sum", new, name="total"), scalar=300.0, name="small")
        going = one("broadcast_logical_and", one("Cast", c, dtype="float32", name="told"), small, name="and")
        body = Graph(
            [one("Cast", going, dtype="bool", name="going"), new, one("_mul_scalar", new, scalar=2.0, name="row"), x]
        )
        places = {"i": 0, "c": 1, "s": 2, "x": 3}
        names = {"M": "most", "cond": "begin"}
        graph = standard(
            "_onnx_Loop", of(*(names[g] for g in given), "s", "x"), body, num_states=1, num_outputs=3, given=given,
            reads=tuple(places[v.name] for v in body.variables()),
        )  # fmt: skip
        rows = one("_mul_scalar", graph.outputs[1], scalar=3.0, name="after")
        graph = Graph([*graph.outputs, rows])
        program, meaning = Program(graph), Program(graph, native=False)
        for most, begin, by in (
            (5, True, 0.1),
            (500, True, 0.1),
            (70, True, 0.1),
            (0, True, 0.1),
            (9, False, 0.1),
            (100, True, 50),
        ):
            feeds = {"s": numbers(3), "x": np.full(3, by, np.float32)}
            feeds |= {"most": np.array(most, np.int64)} if "M" in given else {}
            feeds |= {"begin": np.array(begin)} if "cond" in given else {}
            for _ in range(3):
                for mine, wanted in zip(program.run(feeds), meaning.run(feeds), strict=True):
                    assert mine.shape == wanted.shape and mine.dtype == wanted.dtype, (given, most)
                    np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)


def test_nested(level):
    """A foreach in a foreach, what it captures handed through two bodies, constants among it."""
    x, h, w = of("x", "h", "w")
    inner = both(cell, "dsc", "x", "h", "w").outputs[0].node
    node = apply(
        "_foreach", x, h, w, name="inner", subgraphs=inner.subgraphs,
        **{n: getattr(inner.op, n) for n in inner.op.fields if n not in ("num_args",)}, num_args=4,
    )  # fmt: skip
    rows, last = outputs(node).outputs
    graph = foreach(Graph([rows, last]), "dsc", 1, *of("x", "h", "w"))
    feeds = {"x": numbers(3, 4, 2, 5), "h": numbers(2, 5)}
    alike(graph, {**feeds, "w": numbers(5, 5)})
    alike(graph, feeds, constants={"w": numbers(5, 5)})


def test_many_at_once(level):
    """Runs of one program in several threads, each with data of its own."""
    graph, feeds = FOREACH["cell"]
    program, meaning = Program(graph), Program(graph, native=False)
    runs = [{"x": numbers(40, 2, 4), "h": feeds["h"], "w": feeds["w"]} for _ in range(4)]
    wanted = [meaning.run(r) for r in runs]
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(50):
            if any(np.abs(a - b).max() > 1e-5 for a, b in zip(program.run(runs[number]), wanted[number])):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_failures_in_a_body_are_told(level):
    """Errors of a step in a body that NumPy computes; the program runs again afterwards."""

    def body(x, h):
        root = one("_linalg_potrf", x, name="root")
        return [root, one("elemwise_add", h, root, name="n")], 1

    graph = both(body, "ds", "x", "h")
    good = {"x": np.stack([np.eye(3, dtype=np.float32)] * 2), "h": np.zeros((3, 3), np.float32)}
    bad = {**good, "x": -good["x"]}
    program = alike(graph, good)
    said = []
    for one_of in (program, Program(graph, native=False)):
        with pytest.raises(MXNetError, match="root") as error:
            one_of.run(bad)
        said.append(str(error.value))
    assert said[0] in said[1]
    program.run(good)


def test_control_flow_for_sizes_that_vary_is_a_graph_of_its_own(level):
    """A trace has no bodies: NumPy is asked for the loop, which is compiled for the sizes that it meets again."""
    graph = scan()
    graph = Graph([one("_mul_scalar", e, scalar=2.0, name=f"twice{i}") for i, e in enumerate(graph.outputs)])
    program, meaning = Program(graph), Program(graph, native=False)
    for _ in range(3):
        for rows in (2, 3, 5, 4):
            feeds = {"h": numbers(rows, 3), "x": numbers(5, rows, 3)}
            for mine, wanted in zip(program.run(feeds), meaning.run(feeds), strict=True):
                np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)
    assert program._flow is not None
    (loop_alone,) = program._flow._nodes.values()
    assert loop_alone is not None
    (alone,) = loop_alone._programs.values()
    bound = alone.bound_for(((4, 3), np.dtype("float32"), (5, 4, 3), np.dtype("float32")))
    assert bound is not None and bound.fallbacks() == []
