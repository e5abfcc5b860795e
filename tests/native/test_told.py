"""Graphs whose shapes depend on integers among what each call gives, as programs for their values, against NumPy."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from hybrid import native
from hybrid.core.error import MXNetError
from hybrid.execution.lower import CompiledProgram
from hybrid.execution.program import Program
from hybrid.execution.stages import VALUES, Staged
from hybrid.execution.told import Told
from hybrid.ir.graph import Entry, Graph, Node
from tests.graph.control import apply, one, outputs, variable

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

X = np.random.default_rng(4).uniform(-1, 1, (3, 4)).astype(np.float32)


def told(program: Program, given: dict[str, np.ndarray]) -> Told:
    bound = program.prepare(tuple(x for n in program.names for x in (given[n].shape, given[n].dtype))).bound
    assert isinstance(bound, Told)
    return bound


def same(graph: Graph, calls: list[dict[str, np.ndarray]]) -> Told:
    """Each call three times, in turns: once before there is a program, once as it is made, once with it."""
    program, meaning = (Program(graph, native=n) for n in (True, False))
    for _ in range(3):
        for given in calls:
            found, wanted = program.run(given), meaning.run(given)
            for mine, want in zip(found, wanted, strict=True):
                assert mine.shape == want.shape and mine.dtype == want.dtype
                np.testing.assert_allclose(mine, want, rtol=1e-5, atol=1e-6)
                mine[...] = 7  # memory of its own
    return told(program, calls[-1])


def loop(body: Graph, *inputs: Entry, reads: tuple[int, ...], states: int, count: int) -> Node:
    return apply(
        "_onnx_Loop",
        *inputs,
        name="loop",
        subgraphs=(body,),
        num_args=len(inputs) + 1,
        num_outputs=count,
        num_states=states,
        body_reads=reads,
        given=("M", "cond"),
    )


def reshaped() -> Graph:
    there = one("_onnx_Reshape", variable("x"), variable("dims"), name="there")
    return Graph([one("softmax", there, name="s"), one("_mul_scalar", variable("dims"), scalar=2.0, name="twice")])


def test_a_shape_that_a_call_gives(level):
    bound = same(reshaped(), [{"x": X, "dims": np.array(d)} for d in ([2, 6], [-1, 3], [12, 1])])
    assert isinstance(bound._last, CompiledProgram) and bound.fallbacks() == []
    assert len(bound._found) == 3


def test_values_that_do_not_fit_are_told_as_numpy_tells_it(level):
    program, meaning = (Program(reshaped(), native=n) for n in (True, False))
    wrong = {"x": X, "dims": np.array([5, 5])}
    for _ in range(3):
        messages = []
        for each in (program, meaning):
            with pytest.raises(MXNetError) as error:
                each.run(wrong)
            messages.append(str(error.value))
        assert messages[0] == messages[1]


def test_values_that_rarely_come_again_are_no_programs(level):
    """New values every time make none; many that come again in turns make no more than others pay for."""
    program = Program(reshaped())
    x = np.ones((4, 60), np.float32)
    sizes = [n for n in range(1, 241) if 240 % n == 0]
    for n in sizes:
        program.run({"x": x, "dims": np.array([n, -1])})
    bound = told(program, {"x": x, "dims": np.array([1, -1])})
    assert len(sizes) > 2 * VALUES and not bound._found
    made = []
    program_of = bound._program
    bound._program = lambda arrays: made.append(1) or program_of(arrays)  # type: ignore[method-assign]
    for n in 4 * sizes:
        assert program.run({"x": x, "dims": np.array([n, -1])})[0].shape == (n, 240 // n)
    assert len(bound._found) == VALUES == len(made)


def test_masks_and_what_decides_about_no_shape_are_data(level):
    mask = Graph([one("_onnx_Compress", variable("x"), variable("keep"), axis=1)])
    given = {"x": X, "keep": np.array([True, False, True, True])}
    key = tuple(x for n in Program(mask).names for x in (given[n].shape, given[n].dtype))
    assert not isinstance(Program(mask).prepare(key).bound, Told)
    rows = Graph([one("_onnx_NonZero", one("take", variable("x"), variable("at"), name="t"))])
    given = {"x": X, "at": np.array([0, 1])}
    key = tuple(x for n in Program(rows).names for x in (given[n].shape, given[n].dtype))
    assert isinstance(Program(rows).prepare(key).bound, Staged)


def test_a_condition_that_is_constant_compresses_without_numpy(level):
    x = variable("x")
    for axis, keep in ((1, [True, False, True]), (-1, [False, False, False, True]), (None, [True] * 3 + [False] * 9)):
        held = one("_onnx_Constant", value=np.array(keep), name="keep")
        graph = Graph([one("tanh", one("_onnx_Compress", x, held, axis=axis, name="some"), name="t")])
        program = Program(graph)
        bound = program.prepare((X.shape, X.dtype)).bound
        assert isinstance(bound, CompiledProgram) and bound.fallbacks() == []
        np.testing.assert_allclose(program.run({"x": X})[0], np.tanh(X.compress(keep, axis)), rtol=1e-5, atol=1e-6)


def test_a_condition_beyond_the_end_is_refused(level):
    held = one("_onnx_Constant", value=np.array([0, 0, 0, 0, 1], bool), name="keep")
    program = Program(Graph([one("_onnx_Compress", variable("x"), held, axis=1, name="some")]))
    with pytest.raises(MXNetError, match="holds at 4, wanted positions below 4"):
        program.run({"x": X})


def branches(nested: bool = False) -> Graph:
    """An If whose branches give other shapes, in one of which there may be another."""
    x, flip = variable("x"), variable("flip")
    inside = variable("inner_x")
    wide = one("Concat", inside, inside, dim=1, num_args=2, name="wide")
    if nested:
        again = (
            Graph([one("negative", variable("z"), name="n")]),
            Graph([one("Concat", *2 * (variable("z"),), dim=0, num_args=2, name="n")]),
        )
        node = apply(
            "_onnx_If", variable("inner_flag"), wide, name="again", subgraphs=again, num_args=4, num_outputs=1,
            then_reads=(0,), else_reads=(0,),
        )  # fmt: skip
        then, reads = Graph([Entry(node)]), (1, 0)
    else:
        then, reads = Graph([wide]), (0,)
    other = Graph([one("_plus_scalar", variable("other_x"), scalar=1.0, name="n")])
    node = apply(
        "_onnx_If", flip, x, *([variable("flag")] if nested else []), name="if", subgraphs=(then, other),
        num_args=4 + nested, num_outputs=1, then_reads=reads, else_reads=(0,),
    )  # fmt: skip
    return Graph([one("tanh", Entry(node), name="wide")])  # a name that a branch has too


@pytest.mark.parametrize("nested", [False, True])
def test_a_flag_that_a_call_gives_chooses(level, nested):
    flags: list[dict[str, Any]] = [
        {"flip": np.array(a), "flag": np.array(b)} for a in (True, False) for b in (False, True)
    ]
    calls = [{"x": X, **f} for f in flags]
    if not nested:
        calls = [{n: c[n] for n in ("x", "flip")} for c in calls[::2]]
    bound = same(branches(nested), calls)
    assert isinstance(bound._last, CompiledProgram)


def counting(condition: bool = False, sequence: str = "") -> Graph:
    """s = tanh(s + x + i) so often; its rows, stacked or put into a sequence (in ways that are no rows, too). condition: it ends
    where the sum of s is large."""
    x, most = variable("x"), variable("most")
    i, s, held, seen = (variable(n) for n in ("i", "s", "held", "seen"))
    step = one(
        "broadcast_add", one("elemwise_add", s, held, name="a"), one("Cast", i, dtype="float32", name="f"), name="b"
    )
    after = one("tanh", step, name="after")
    goes = one("_lesser_scalar", one("sum", after, name="total"), scalar=6.0, name="less")
    goes = one("Cast", goes, dtype="bool", name="goes")
    if not condition:
        goes = one("_onnx_Constant", value=np.array(True), name="goes")
    yes = one("_onnx_Constant", value=np.array(True), name="yes")
    if not sequence:
        body = Graph([goes, after, after])
        place = {id(i.node): 0, id(s.node): 2, id(held.node): 3}
        node = loop(body, most, yes, x, x, reads=tuple(place[id(v)] for v in body.variables()), states=1, count=2)
        return outputs(node)
    empty = one("_onnx_SequenceEmpty", name="empty")
    at = [one("_onnx_Constant", value=np.array(0), name="at")] if sequence == "front" else []
    put = one("_onnx_SequenceInsert", seen, after, *at, given=("position",) if at else (), name="put")
    body = Graph([goes, put, after])
    place = {id(i.node): 0, id(seen.node): 2, id(s.node): 3, id(held.node): 4}
    node = loop(body, most, yes, empty, x, x, reads=tuple(place[id(v)] for v in body.variables()), states=2, count=2)
    found = [one("_onnx_ConcatFromSequence", Entry(node, 0), axis=a, new_axis=True, name=f"j{a}") for a in (0, 1, -1)]
    if sequence == "joined":
        found = [one("_onnx_ConcatFromSequence", Entry(node, 0), axis=1, name="j")]
    return Graph([Entry(node, 1), *found])


def times(*counts: int) -> list[dict[str, np.ndarray]]:
    return [{"x": X, "most": np.array(n)} for n in counts]


def test_a_loop_goes_round_as_often_as_a_call_says(level):
    bound = same(counting(), times(2, 5, 0, 3))
    assert isinstance(bound._last, CompiledProgram) and bound.fallbacks() == []


def test_a_loop_that_may_end_early_has_room_for_its_steps(level):
    bound = same(counting(condition=True), times(40, 1, 2, 7))
    assert isinstance(bound._last, Staged)
    assert bound.fallbacks() == []


def test_what_a_loop_puts_into_a_sequence_is_stacked(level):
    bound = same(counting(sequence="stacked"), times(2, 5, 3))
    assert isinstance(bound._last, CompiledProgram) and bound.fallbacks() == []


@pytest.mark.parametrize("sequence", ["front", "joined"])
def test_sequences_that_are_no_rows_stay_sequences(level, sequence):
    bound = same(counting(sequence=sequence), times(2, 5))
    assert not isinstance(bound._last, CompiledProgram)


@pytest.mark.parametrize("condition", [False, True])
def test_a_sequence_that_stays_empty_cannot_be_joined(level, condition):
    program = Program(counting(condition, "stacked"))
    for _ in range(3):
        with pytest.raises(MXNetError, match="got a sequence of 0 elements"):
            program.run(times(0)[0])


def test_a_loop_that_may_end_early_fills_a_sequence(level):
    same(counting(condition=True, sequence="stacked"), times(40, 1, 7))


def test_results_of_a_body_that_are_one_another(level):
    """The condition is an input, so that results are counted from the second on: what is a copy has to be that of the right one."""
    i, s, t, go = (variable(n) for n in ("i", "s", "t", "go"))
    first, second = one("_plus_scalar", s, scalar=1.0, name="first"), one("_mul_scalar", t, scalar=3.0, name="second")
    body = Graph([go, first, second, first, second, t])
    place = {id(i.node): 0, id(go.node): 1, id(s.node): 2, id(t.node): 3}
    yes = one("_onnx_Constant", value=np.array(True), name="yes")
    most = one("_onnx_Constant", value=np.array(3), name="most")
    node = loop(
        body,
        most,
        yes,
        variable("x"),
        variable("y"),
        reads=tuple(place[id(v)] for v in body.variables()),
        states=2,
        count=5,
    )
    program, meaning = (Program(outputs(node), native=n) for n in (True, False))
    given = {"x": X, "y": 2 * X}
    assert isinstance(program.prepare((X.shape, X.dtype) * 2).bound, CompiledProgram)
    for mine, want in zip(program.run(given), meaning.run(given), strict=True):
        np.testing.assert_array_equal(mine, want)


def test_many_threads_tell_values(level):
    program = Program(counting())
    wants = {n: Program(counting(), native=False).run(times(n)[0]) for n in (1, 2, 3)}
    wrong = []

    def work(seed: int) -> None:
        for n in np.random.default_rng(seed).integers(1, 4, 40):
            for mine, want in zip(program.run(times(int(n))[0]), wants[int(n)], strict=True):
                if mine.shape != want.shape or not np.allclose(mine, want, rtol=1e-5, atol=1e-6):
                    wrong.append(n)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
