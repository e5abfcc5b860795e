"""Control flow as its operators see it: which input goes to which variable, step by step, forwards and backwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hybrid.core.error import OpError
from hybrid.core.op import Op, lookup
from hybrid.core.shapes import UNKNOWN

RNG = np.random.default_rng(4)
Arrays = list[np.ndarray]


def op(name: str, **attrs: Any) -> Op:
    return lookup(name).bind(**attrs)


EACH = {
    "num_args": 5, "num_outputs": 2, "num_out_data": 1, "in_data_locs": (2, 0), "in_state_locs": (3,), "remain_locs": (1,),
}  # fmt: skip
LOOP = {
    "num_args": 5, "num_outputs": 3, "num_out_data": 1, "max_iterations": 5, "cond_input_locs": (1,),
    "func_input_locs": (2, 0, 1), "func_var_locs": (1, 2),
}  # fmt: skip
COND = {"num_args": 6, "num_outputs": 1, "cond_input_locs": (0,), "then_input_locs": (2, 1), "else_input_locs": (1,)}


def each_step(held: Arrays) -> Arrays:
    number, weight, row, state = held
    return [row * weight + number * state, state * weight + row]


def each_back(held: Arrays) -> Arrays:
    number, weight, row, state, dy, dstate = held
    dnumber = (dy * state).sum(keepdims=True)
    return [dnumber, dy * row + dstate * state, dy * weight + dstate, dy * number + dstate * weight]


def loop_step(held: Arrays) -> Arrays:
    weight, x, left = held
    return [x * weight, x * weight + 1, left - 1]


def loop_back(held: Arrays) -> Arrays:
    weight, x, _, dy, dx, dleft = held
    return [(dy + dx) * x, (dy + dx) * weight, dleft]


FORMS = {
    "_foreach": (EACH, [each_step], [each_back], ((0, 1, 2, 3, 4, 5),), ((0, 1, 2, 3),), [(3, 2), (3,), (2,), (2,)]),
    "_while_loop": (
        LOOP, [lambda held: [held[0] > 0], loop_step], [loop_back], ((0, 1, 2, 3, 4, 5),), ((0, 1, 2),), [(2,), (), (2,)]
    ),
    "_cond": (
        COND, [lambda held: [held[0] > 0], lambda held: [held[0] ** 2 * held[1]], lambda held: [held[0] ** 3]],
        [lambda held: [2 * held[0] * held[1] * held[2], held[0] ** 2 * held[2]], lambda held: [3 * held[0] ** 2 * held[1]]],
        ((0, 1, 2), (0, 1)), ((0, 1), (0,)), [(), (2,), (2,)],
    ),
}  # fmt: skip
"""Attributes, bodies, those of the gradients, what these read and reach, and shapes of the inputs."""


def inputs_of(name: str) -> Arrays:
    given = [RNG.uniform(0.4, 1.5, s) for s in FORMS[name][5]]
    if name == "_while_loop":
        given[1] = np.array(2.5)  # three steps
    return given


def test_each_input_goes_to_its_place() -> None:
    rows, numbers, state, weight = given = inputs_of("_foreach")
    outputs, now = [], state
    for row, number in zip(rows, numbers):
        outputs.append(row * weight + number * now)
        now = now * weight + row
    found = op("_foreach", **EACH).compute(*given, subgraphs=(each_step,))
    np.testing.assert_allclose(found[0], outputs)
    np.testing.assert_allclose(found[1], now)
    x, left, weight = given = inputs_of("_while_loop")
    outputs = np.zeros((5, 2))
    for step in range(3):
        outputs[step] = x * weight
        x = x * weight + 1
    found = op("_while_loop", **LOOP).compute(*given, subgraphs=tuple(FORMS["_while_loop"][1]))
    for got, wanted in zip(found, (outputs, x, left - 3), strict=True):
        np.testing.assert_allclose(got, wanted)
    for sign in (1, -1):
        p, a, b = inputs_of("_cond")
        (got,) = op("_cond", **COND).compute(sign * p, a, b, subgraphs=tuple(FORMS["_cond"][1]))
        np.testing.assert_allclose(got, b**2 * a if sign > 0 else a**3)


@pytest.mark.parametrize("name", [*FORMS, "_cond else"])
def test_gradients_of_control_flow_are_derivatives(name: str) -> None:
    name, _, other = name.partition(" ")
    attrs, subgraphs, backs, reads, reaches, _ = FORMS[name]
    forward, back = op(name, **attrs), op(f"_backward_{name}", **attrs, reads=reads, reaches=reaches)
    given = inputs_of(name)
    if other:
        given[0] = -given[0]
    heads = [RNG.uniform(-1, 1, y.shape) for y in forward.compute(*given, subgraphs=tuple(subgraphs))]
    found = back.compute(*heads, *given, subgraphs=(*subgraphs, *backs))
    assert back.infer_shape(*(h.shape for h in heads), *(g.shape for g in given)) == [f.shape for f in found]
    for i, gradient in enumerate(found):
        along, ends = RNG.uniform(-1, 1, gradient.shape), []
        for step in (1e-6, -1e-6):
            moved = [g + step * along if i == j else g for j, g in enumerate(given)]
            ends.append(sum((h * y).sum() for h, y in zip(heads, forward.compute(*moved, subgraphs=tuple(subgraphs)))))
        np.testing.assert_allclose(
            (gradient * along).sum(), (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-8, err_msg=f"{i}"
        )
    with pytest.raises(OpError, match="which only a node of a graph has"):
        back.compute(*heads, *given, subgraphs=tuple(subgraphs))


def test_what_does_not_fit_control_flow_is_refused() -> None:
    for name, attrs, words in (
        ("_foreach", {"remain_locs": (2,)}, "each of the 4 inputs once"),
        ("_foreach", {"in_data_locs": (), "remain_locs": (0, 1, 2)}, "no data to iterate over"),
        ("_foreach", {"num_outputs": 3}, "got 1 states, but 2 outputs"),
        ("_foreach", {"num_args": 0}, "at least"),
        ("_foreach", {"num_outputs": 0}, "at least"),
        ("_while_loop", {"func_var_locs": (1,)}, "got 1 loop variables, but 2 outputs"),
        ("_while_loop", {"func_var_locs": (1, 1)}, "each once"),
        ("_while_loop", {"func_input_locs": (2, 0, 0)}, "each once"),
        ("_while_loop", {"func_var_locs": (1, 3)}, "with 3 to choose from"),
        ("_while_loop", {"func_var_locs": (1, -1)}, "func_var_locs"),
        ("_while_loop", {"cond_input_locs": (3,)}, "cond_input_locs=.*with 3 to choose from"),
        ("_while_loop", {"num_args": 1}, "2 and 1 at least"),
        ("_cond", {"else_input_locs": (3,)}, "else_input_locs"),
        ("_cond", {"then_input_locs": (2, -1)}, "then_input_locs"),
        ("_cond", {"num_args": 2}, "3 and 1 at least"),
    ):
        with pytest.raises(OpError, match=words):
            op(name, **FORMS[name][0] | attrs)
    rows, numbers, state, weight = inputs_of("_foreach")
    loops = {name: op(name, **form[0]) for name, form in FORMS.items()}
    always, never = (lambda held: [np.array(True)]), (lambda held: [np.array([0.0])])
    given = inputs_of("_while_loop")
    for name, arrays, subgraphs, words in (
        ("_foreach", (rows[:0], numbers[:0], state, weight), (each_step,), "length 0"),
        ("_foreach", (rows, numbers, state, weight), (), "got 0 subgraphs, wanted 1"),
        ("_foreach", (rows, numbers, state, weight), (lambda held: held[:1],), "1 outputs, wanted 2"),
        ("_while_loop", given, (never, loop_step), "does not hold at the start"),
        ("_while_loop", given, (lambda held: [np.zeros(2)], loop_step), r"condition of shape \(2,\)"),
        ("_while_loop", given, (always, lambda held: [np.tile(held[1], len(held[1])), np.tile(held[1], 2), held[2]]),
         "changes its shape"),
        ("_cond", (state, state, weight), (never, never), "got 2 subgraphs, wanted 3"),
    ):  # fmt: skip
        with pytest.raises(OpError, match=words):
            loops[name].compute(*arrays, subgraphs=subgraphs)
    with pytest.raises(OpError, match="an axis to iterate over"):
        loops["_foreach"].infer_input_shapes([(3, 2), (), (2,), (2,)], [None, None], subgraphs=(lambda s: (s, s[:2]),))
    with pytest.raises(OpError, match="ir/differentiate"):
        loops["_cond"].gradient(None, None)


def test_shapes_and_dtypes_go_through_bodies() -> None:
    """A body that gives (row, state). Of data of unknown rank a slice does not tell: (1,) may be of numbers or of rows."""
    half, single = np.dtype(np.float16), np.dtype(np.float32)

    def shapes(held: list[Any]) -> tuple[list[Any], list[Any]]:
        number, weight, row, state = held
        return [(1,) if number is None else number, weight or row, row, state or row], [row, state]

    each = op("_foreach", **EACH)
    found = each.infer_input_shapes([(UNKNOWN, 2), None, None, None], [(3, UNKNOWN), None], subgraphs=(shapes,))
    assert str(found) == str([(3, 2), None, (2,), (2,)])
    found = each.infer_input_shapes([(3, 2), (UNKNOWN,), None, None], [None, (2,)], subgraphs=(shapes,))
    assert str(found) == str([(3, 2), (3,), (2,), (2,)])
    assert each.infer_shape((3, 2), (3,), (2,), (2,), subgraphs=(shapes,)) == [(3, 2), (2,)]

    def dtypes(held: list[Any]) -> tuple[list[Any], list[Any]]:
        return held, [held[2], held[3]]

    assert each.infer_type(half, single, single, half, subgraphs=(dtypes,)) == [half, single]
    assert each.infer_input_types([half, single, None, half], [None, None], subgraphs=(dtypes,)) == [
        half,
        single,
        None,
        half,
    ]
    with pytest.raises(OpError, match="state 0 is float32 before a step and float16 after"):
        each.infer_type(half, single, single, half, subgraphs=(lambda held: (held, [held[2], held[2]]),))
    with pytest.raises(OpError, match="output 0 is float16 in one body and float32 in the other"):
        op("_cond", **COND).infer_type(half, half, single, subgraphs=(dtypes_of(0), dtypes_of(1), dtypes_of(0, single)))
    growing = op("_while_loop", **LOOP)
    found = growing.infer_shape(
        (2,),
        (),
        (2,),
        subgraphs=(lambda held: (held, [()]), lambda held: (held, [held[1], tuple(d + 1 for d in held[1]), ()])),
    )
    assert str(found) == str([(5, UNKNOWN), (UNKNOWN,), ()])
    either = op("_cond", **COND)
    found = either.infer_shape((), (2, 3), (2, 4), subgraphs=(dtypes_of(0), dtypes_of(0), dtypes_of(0)))
    assert str(found) == str([(2, UNKNOWN)])


def dtypes_of(which: int, instead: Any = None) -> Any:
    """A body that gives one of its variables, or something else."""
    return lambda held: (held, [held[which] if instead is None else instead])


def test_what_bodies_do_not_tell_stays_open() -> None:
    """A body of which nothing is known yet, or a part: what is known without it stays, and no more is said."""
    half, single = np.dtype(np.float16), np.dtype(np.float32)

    def gives(*results: Any) -> Any:
        return lambda held: (held, list(results))

    each = op("_foreach", **EACH)
    given = [(3, 2), (3,), (2,), (2,)]
    assert each.infer_shape(*given, subgraphs=(gives(None, None),)) == [None, (2,)]
    assert each.infer_shape(*given[:2], None, (2,), subgraphs=(gives((4,), (2,)),)) == [(3, 4), (2,)]
    silent = lambda held: ([None] * 4, [None, None])  # noqa: E731
    assert each.infer_input_shapes(given, [(3, 2), (2,)], subgraphs=(silent,))[:2] == [(3, 2), (3,)]
    for before, after in ((half, None), (None, half), (None, None), (half, half)):
        assert each.infer_type(half, single, before, single, subgraphs=(gives(single, after),)) == [single, before]
    loop = op("_while_loop", **LOOP)
    assert loop.infer_shape((2,), (), (2,), subgraphs=(gives(()), gives(None, (2,), ()))) == [None, (2,), ()]
    assert loop.infer_shape((2,), (), (2,), subgraphs=(gives(()), gives((2, 4), None, ()))) == [(5, 2, 4), None, ()]
    either = op("_cond", **COND)
    for first, second, wanted in ((half, None, half), (None, single, single), (None, None, None), (half, half, half)):
        assert either.infer_type(half, half, half, subgraphs=(gives(half), gives(first), gives(second))) == [wanted]
    for one, other, wanted in (
        ((UNKNOWN, 3), (2, 3), (UNKNOWN, 3)), ((2, 3), (UNKNOWN, 3), (UNKNOWN, 3)), ((2, 3), (3,), None), (None, (3,), None),
    ):  # fmt: skip
        found = either.infer_shape((), (2,), (2,), subgraphs=(gives(()), gives(one), gives(other)))
        assert str(found) == str([wanted])


def test_counts_of_inputs_at_their_least() -> None:
    constants = {"num_outputs": 1, "cond_input_locs": (), "then_input_locs": (), "else_input_locs": ()}
    assert op("_cond", num_args=3, **constants).input_names() == ()
    with pytest.raises(OpError, match="num_args=2 and num_outputs=1 want 3 and 1 at least"):
        op("_cond", num_args=2, **constants)
    only = {
        **EACH,
        "num_args": 3,
        "num_outputs": 1,
        "num_out_data": 0,
        "in_data_locs": (0,),
        "in_state_locs": (1,),
        "remain_locs": (),
    }
    data, state = np.zeros((0, 2)), np.array([3.0, 4.0])
    (found,) = op("_foreach", **only).compute(data, state, subgraphs=(lambda held: [held[0] + held[1]],))
    np.testing.assert_array_equal(found, state)  # no step, and nothing to stack
    (found,) = op("_foreach", **only).compute(
        np.array([[1, 2], [5, 7.0]]), state, subgraphs=(lambda held: [held[0] + held[1]],)
    )
    np.testing.assert_array_equal(found, [9, 13])
    with pytest.raises(OpError, match="length 0"):
        op("_foreach", **{**only, "num_outputs": 2, "num_out_data": 1}).compute(
            data, state, subgraphs=(lambda held: [held[0], held[1]],)
        )
