"""If, Loop, Scan and SequenceMap of ONNX as their operators see them: several states, slices and stacked results, each read from
and written to its own place, forwards and backwards. Bodies are Python functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hybrid.core.boxed import box, unbox
from hybrid.core.error import OpError
from hybrid.core.op import Op, lookup
from hybrid.core.shapes import UNKNOWN

RNG = np.random.default_rng(9)
FLOAT64, FLOAT32, OBJECT, INT64 = (np.dtype(n) for n in ("float64", "float32", "object", "int64"))
Arrays = list[np.ndarray]


def op(name: str, **attrs: Any) -> Op:
    return lookup(f"_onnx_{name}" if not name.startswith("_") else name).bind(**attrs)


def uniform(*shape: int) -> np.ndarray:
    return RNG.uniform(0.4, 1.5, shape)


# -- Loop: inputs M, cond, states a (2,) and n (), captured w (2,); the body reads w, a, the number of the step, n ----------------

LOOP = {"num_args": 6, "num_outputs": 4, "num_states": 2, "given": ("M", "cond"), "body_reads": (4, 2, 0, 3)}
LOOP_SPECS = [((2,), FLOAT64), ((), FLOAT64), ((UNKNOWN, 2), FLOAT64), ((UNKNOWN,), FLOAT64)]


def loop_step(variables: Arrays) -> Arrays:
    w, a, k, n = variables
    return [k + 1 < 3, a * w + k, n / 2 + a.sum(), a * n, n * 3]


def loop_back(variables: Arrays) -> Arrays:
    w, a, n, da, dn, drows, dnumbers = variables
    return [da * a, da * w + dn + drows * n, dn / 2 + (drows * a).sum() + 3 * dnumbers]


def looped(most: int, begin: bool, a: np.ndarray, n: np.ndarray, w: np.ndarray) -> Arrays:
    rows, numbers = np.zeros((0, 2)), np.zeros(0)
    for k in range(min(most, 3) if begin else 0):
        rows, numbers = np.vstack([rows, a * n]), np.append(numbers, n * 3)
        a, n = a * w + k, n / 2 + a.sum()
    return [a, n, rows, numbers]


def same(found: Any, wanted: Any) -> None:
    for got, want in zip(found, wanted, strict=True):
        assert np.shape(got) == np.shape(want)
        np.testing.assert_allclose(got, want)


def test_loops_hand_on_several_states_and_stack_several_results() -> None:
    given = uniform(2), uniform(), uniform(2)
    for most in (0, 1, 2, 5):
        for begin in (True, False):
            whole = (np.array(most), np.array(begin), *given)
            same(
                op("Loop", **LOOP).compute(*whole, subgraphs=(loop_step,), specs=LOOP_SPECS),
                looped(most, begin, *given),
            )
    for names in ((), ("M",), ("cond",)):
        whole = [x for n, x in (("M", np.array(2)), ("cond", np.array(True))) if n in names]
        found = op("Loop", **LOOP | {"given": names, "num_args": 4 + len(names)}).compute(
            *whole, *given, subgraphs=(loop_step,), specs=LOOP_SPECS
        )
        same(found, looped(2 if "M" in names else 9, True, *given))


# -- Scan: states a (2,) and n (), slices of r (2, T) along axis 1 and of q (T,) backwards, captured w (2,) -----------------------

SCAN = {
    "num_args": 6, "num_outputs": 4, "num_states": 2, "num_scan_inputs": 2, "body_reads": (4, 2, 1, 3, 0),
    "scan_input_axes": (-1, 0), "scan_input_directions": (0, 1), "scan_output_axes": (1, -1), "scan_output_directions": (1, 0),
}  # fmt: skip
SCAN_SPECS = [((2,), FLOAT64), ((), FLOAT64), ((2, UNKNOWN), FLOAT64), ((UNKNOWN,), FLOAT64)]


def scan_step(variables: Arrays) -> Arrays:
    w, r, n, q, a = variables
    return [a * w + r, n / 2 + q * a.sum(), a * r, n * q]


def scan_back(variables: Arrays) -> Arrays:
    w, r, n, q, a, da, dn, drows, dnumbers = variables
    return [da * a, da + drows * a, dn / 2 + dnumbers * q, dn * a.sum() + dnumbers * n, da * w + dn * q + drows * r]


def scanned(a: np.ndarray, n: np.ndarray, r: np.ndarray, q: np.ndarray, w: np.ndarray) -> Arrays:
    steps = len(q)
    rows, numbers = np.zeros((2, steps)), np.zeros(steps)
    for t in range(steps):
        part, number = r[:, t], q[steps - 1 - t]
        rows[:, steps - 1 - t], numbers[t] = a * part, n * number
        a, n = a * w + part, n / 2 + number * a.sum()
    return [a, n, rows, numbers]


def test_scans_slice_and_stack_several_each_in_its_way() -> None:
    for steps in (0, 1, 3):
        given = uniform(2), uniform(), uniform(2, steps), uniform(steps), uniform(2)
        same(op("Scan", **SCAN).compute(*given, subgraphs=(scan_step,), specs=SCAN_SPECS), scanned(*given))
    bare = {n: v for n, v in SCAN.items() if "axes" not in n and "directions" not in n}
    a, n, r, q, w = uniform(2), uniform(), uniform(3, 2), uniform(3), uniform(2)
    specs = [*SCAN_SPECS[:2], ((UNKNOWN, 2), FLOAT64), ((UNKNOWN,), FLOAT64)]
    wanted = scanned(a, n, r.T, q[::-1], w)
    wanted[2] = wanted[2].T[::-1]
    same(op("Scan", **bare).compute(a, n, r, q, w, subgraphs=(scan_step,), specs=specs), wanted)
    wanted = scanned(a, n, r.T, q, w)
    for ways in ((0, 0), (0, 1), (1, 0), (1, 1)):
        turned = bare | {"scan_input_directions": (0, 1), "scan_output_directions": ways}
        rows, numbers = wanted[2].T[::-1], wanted[3]  # in the order of the steps
        stacked = [rows[::-1] if ways[0] else rows, numbers[::-1] if ways[1] else numbers]
        found = op("Scan", **turned).compute(a, n, r, q, w, subgraphs=(scan_step,), specs=specs)
        same(found, [*wanted[:2], *stacked])
    with pytest.raises(OpError, match=r"got tensors of \[2, 3\] slices"):
        op("Scan", **bare).compute(a, n, r, q[:2], w, subgraphs=(scan_step,), specs=specs)


def test_scans_with_a_batch_go_as_far_as_each_is_long() -> None:
    attrs = {n: v for n, v in SCAN.items() if "axes" not in n and "output_dir" not in n} | {"batched": True}
    specs = [
        ((UNKNOWN, 2), FLOAT64),
        ((UNKNOWN,), FLOAT64),
        ((UNKNOWN, UNKNOWN, 2), FLOAT64),
        ((UNKNOWN, UNKNOWN), FLOAT64),
    ]
    a, n, r, q, w = uniform(3, 2), uniform(3), uniform(3, 4, 2), uniform(3, 4), uniform(2)
    for lengths in (None, np.array([2, 4, 0])):
        wanted: list[Arrays] = []
        for b in range(3):
            stop = 4 if lengths is None else lengths[b]
            own = scanned(a[b], n[b], r[b, :stop].T, q[b, :stop], w)
            own[2] = np.pad(own[2].T[::-1], [(0, 4 - stop), (0, 0)])
            wanted.append([*own[:3], np.pad(own[3], (0, 4 - stop))])
        first = [] if lengths is None else [lengths]
        own_attrs = attrs | {"given": ("sequence_lens",) * len(first), "num_args": 6 + len(first)}
        found = op("Scan", **own_attrs).compute(*first, a, n, r, q, w, subgraphs=(scan_step,), specs=specs)
        same(found, [np.stack(column) for column in zip(*wanted)])
        none = op("Scan", **own_attrs).compute(
            *(x[:0] for x in (*first, a, n, r, q)), w, subgraphs=(scan_step,), specs=[*specs[:3], (None, FLOAT32)]
        )
        assert [(x.shape, x.dtype) for x in none] == [
            ((0, 2), FLOAT64),
            ((0,), FLOAT64),
            ((0, 0, 2), FLOAT64),
            ((0,), FLOAT32),
        ]

    def shapes(variables: Any) -> Any:
        _w, r, n, q, a = variables
        return variables, [a, n, r, q]

    found = op("Scan", **attrs).infer_shape(
        (3, 2), (UNKNOWN,), (3, UNKNOWN, 2), (UNKNOWN, 4), (2,), subgraphs=(shapes,)
    )
    assert str(found) == str([(3, 2), (3,), (3, 4, 2), (3, 4)])
    with pytest.raises(OpError, match="with a batch axis is not differentiated"):
        back = op("_backward__onnx_Scan", **attrs, reads=((),), reaches=((),))
        back.compute(*(np.zeros(1),) * 4, a, n, r, q, w, subgraphs=(scan_step, scan_back))


def test_gradients_of_loops_reach_every_state_and_slice() -> None:
    for name, attrs, subgraphs, specs, reads, reaches, given in (
        ("Loop", LOOP, (loop_step, loop_back), LOOP_SPECS, (0, 1, 3, 5, 6, 7, 8), (0, 1, 3),
         [np.array(5), np.array(True), uniform(2), uniform(), uniform(2)]),
        ("Scan", SCAN, (scan_step, scan_back), SCAN_SPECS, tuple(range(9)), tuple(range(5)),
         [uniform(2), uniform(), uniform(2, 3), uniform(3), uniform(2)]),
    ):  # fmt: skip
        forward = op(name, **attrs)
        back = op(f"_backward__onnx_{name}", **attrs, reads=(reads,), reaches=(reaches,))
        heads = [RNG.uniform(-1, 1, np.shape(y)) for y in forward.compute(*given, subgraphs=subgraphs[:1], specs=specs)]
        for i, gradient in enumerate(back.compute(*heads, *given, subgraphs=subgraphs)):
            if given[i].dtype.kind != "f":
                assert not gradient.any()
                continue
            for place in np.ndindex(given[i].shape):
                ends = []
                for step in (1e-6, -1e-6):
                    moved = [g.copy() for g in given]
                    moved[i][place] += step
                    found = forward.compute(*moved, subgraphs=subgraphs[:1], specs=specs)
                    ends.append(sum(float((h * y).sum()) for h, y in zip(heads, found)))
                np.testing.assert_allclose(
                    gradient[place], (ends[0] - ends[1]) / 2e-6, rtol=1e-6, err_msg=f"{name} {i} {place}"
                )


def test_what_loops_stack_has_one_shape_and_is_known_before() -> None:
    def growing(variables: Arrays) -> Arrays:
        _w, a, k, n = variables
        return [np.array(True), a, n, np.zeros(int(k) + 1), n]

    given = np.array(2), np.array(True), uniform(2), uniform(), uniform(2)
    with pytest.raises(ValueError, match=r"changes its shape from step to step: \[\(1,\), \(2,\)\]"):
        op("Loop", **LOOP).compute(*given, subgraphs=(growing,), specs=LOOP_SPECS)
    for spec in ((None, FLOAT64), ((UNKNOWN, 2), None)):
        with pytest.raises(ValueError, match="what there would be to stack is not known"):
            op("Loop", **LOOP).compute(
                np.array(0), *given[1:], subgraphs=(loop_step,), specs=[*LOOP_SPECS[:2], spec, LOOP_SPECS[3]]
            )


def test_shapes_and_dtypes_of_loops_are_those_that_hold_in_every_step() -> None:
    loop = op("Loop", **LOOP)

    def shapes(variables: Any) -> Any:
        w, a, k, _n = variables
        assert k == ()
        return variables, [(), w, a, a, None]

    # n takes a's shape in the second step, a that of w: what differs from step to step is not known
    assert str(loop.infer_shape((), (), (2,), (2,), (2,), subgraphs=(shapes,))) == str([(2,), (2,), (UNKNOWN, 2), None])
    found = loop.infer_shape((), (), (3, 4), (5, 4), (2, 4), subgraphs=(shapes,))
    assert str(found) == str([(UNKNOWN, 4), (UNKNOWN, 4), (UNKNOWN, UNKNOWN, 4), None])
    found = loop.infer_shape((), (), (3,), (5, 4), (2, 4), subgraphs=(shapes,))
    assert str(found) == str([None, None, None, None])

    def dtypes(variables: Any) -> Any:
        w, a, k, n = variables
        assert k == INT64
        return variables, [np.dtype(bool), w, a, a, n]

    # as texts: to NumPy None is a float64
    assert str(loop.infer_type(INT64, None, FLOAT64, FLOAT64, FLOAT64, subgraphs=(dtypes,))) == str([FLOAT64] * 4)
    # what is a tensor in the first step and a sequence later has no dtype, and neither has what takes its place
    assert str(loop.infer_type(INT64, None, FLOAT64, FLOAT64, OBJECT, subgraphs=(dtypes,))) == str([None] * 4)
    assert str(loop.infer_type(INT64, None, None, FLOAT64, FLOAT64, subgraphs=(dtypes,))) == str([None] * 4)
    with pytest.raises(ValueError, match="got float64 one time and float32 another"):
        loop.infer_type(INT64, None, FLOAT64, FLOAT64, FLOAT32, subgraphs=(dtypes,))

    def scanned(variables: Any) -> Any:
        w, r, n, _q, _a = variables
        return variables, [w, n, r, None]

    scan = op("Scan", **SCAN)
    found = scan.infer_shape((2,), (), (2, UNKNOWN), (3,), (2,), subgraphs=(scanned,))
    assert str(found) == str([(2,), (), (2, 3), None])
    found = scan.infer_shape((4,), (), (2, UNKNOWN), (3,), (2,), subgraphs=(scanned,))
    assert str(found) == str([(UNKNOWN,), (), (2, 3), None])
    found = scan.infer_shape((4, 2), (), (2, UNKNOWN), (3,), (2,), subgraphs=(scanned,))
    assert str(found) == str([None, (), (2, 3), None])


def test_choices_give_what_both_bodies_may_give() -> None:
    attrs = {"num_args": 5, "num_outputs": 2, "then_reads": (1, 0), "else_reads": (1,)}
    choice, x, y = op("If", **attrs), uniform(3), uniform(2)
    subgraphs = (lambda v: [v[0], v[1] * 2]), (lambda v: [v[0] + 1, v[0]])
    for condition in (True, False):
        found = choice.compute(np.array([condition]), x, y, subgraphs=subgraphs)
        same(found, [y, x * 2] if condition else [y + 1, y])

    def types(*outputs: Any) -> Any:
        return lambda variables: (variables, list(outputs))

    for one, other, wanted in (
        ((FLOAT32, OBJECT), (FLOAT32, OBJECT), [FLOAT32, OBJECT]),
        ((FLOAT32, FLOAT32), (OBJECT, None), [None, None]),
        ((None, OBJECT), (FLOAT32, INT64), [None, None]),
    ):
        assert choice.infer_type(np.dtype(bool), FLOAT32, FLOAT32, subgraphs=(types(*one), types(*other))) == wanted
    with pytest.raises(ValueError, match="got float32 one time and int64 another"):
        choice.infer_type(np.dtype(bool), FLOAT32, FLOAT32, subgraphs=(types(FLOAT32, OBJECT), types(INT64, OBJECT)))


MAP = {
    "num_args": 6,
    "num_outputs": 2,
    "elems": ("float64", "float64", "float64", "object"),
    "body_reads": (4, 1, 0, 2, 3),
}


def test_sequences_are_gone_through_side_by_side() -> None:
    one, other = [uniform(2), uniform(3), uniform(2)], [uniform(), uniform(), uniform()]
    factor, words, extra = uniform(), np.array(["a", "b"], object), np.array(5.0)

    def body(variables: Any) -> Any:
        five, number, row, times, text = variables
        assert five == 5 and text.tolist() == ["a", "b"]
        return [row * number, number * times]

    found = op("SequenceMap", **MAP).compute(box(one), box(other), factor, words, extra, subgraphs=(body,))
    same(unbox(found[0]), [a * b for a, b in zip(one, other)])
    same(unbox(found[1]), [b * factor for b in other])
    # what is around the node is not gone through, be it a sequence
    outside = op("SequenceMap", num_args=4, num_outputs=1, elems=("float64", "float64"), body_reads=(2, 0, 1))
    (found,) = outside.compute(
        box(one), factor, box([factor] * 5), subgraphs=(lambda v: [v[1] * len(unbox(v[0])) + v[2]],)
    )
    same(unbox(found), [5 * a + factor for a in one])
    alone = np.empty((), object)
    alone[()] = "word"
    mapped = op("SequenceMap", num_args=3, num_outputs=1, elems=("float64", "object"), body_reads=(1, 0))
    (found,) = mapped.compute(box(one), alone, subgraphs=(lambda v: [v[1] * len(v[0][()])],))
    same(unbox(found), [a * 4 for a in one])
    for given in ((factor, box(other)), (box(one), box(other[:2])), (words, box(other)), (alone, box(other))):
        with pytest.raises(OpError, match="wanted a sequence first, and all sequences of one length"):
            op("SequenceMap", **MAP).compute(*given, factor, words, extra, subgraphs=(body,))
    for count in (1, 2, 3):
        several = op("SequenceMap", num_args=2, num_outputs=count, elems=("float64",), body_reads=(0,))
        assert several.infer_type(OBJECT) == [OBJECT] * count and several.infer_shape(()) == [()] * count
    same(unbox(op("SequenceMap", **MAP).compute(box([]), box([]), factor, words, extra, subgraphs=(body,))[1]), [])


def test_numbers_of_inputs_and_outputs_that_do_not_fit_are_refused() -> None:
    for name, base, attrs, words in (
        ("If", {"num_args": 2, "num_outputs": 1, "then_reads": (), "else_reads": ()}, {}, "got no condition"),
        (
            "If",
            {"num_args": 4, "num_outputs": 1, "then_reads": (0,), "else_reads": (1,)},
            {},
            "else_reads=.1,. with 1 to choose",
        ),
        ("Loop", LOOP, {"num_states": 5}, "got 5 inputs, wanted 7 at least"),
        ("Loop", LOOP, {"num_states": 3, "num_outputs": 2}, "got 2 outputs with 3 states"),
        ("Loop", LOOP, {"given": ("M", "N")}, "wanted some of M and cond"),
        ("Loop", LOOP, {"given": ("M", "M")}, "wanted some of M and cond"),
        ("Loop", LOOP, {"body_reads": (5,)}, "with 5 to choose from"),
        ("Loop", LOOP, {"num_args": 4}, "got 3 inputs, wanted 4 at least"),
        ("Scan", SCAN, {"given": ("sequence_lens",)}, "wanted sequence_lens if anything, and that when batched"),
        ("Scan", SCAN, {"given": ("lengths",), "batched": True}, "wanted sequence_lens if anything"),
        ("Scan", SCAN, {"scan_input_axes": (0,)}, "got scan_input_axes=.0,., wanted 2"),
        ("Scan", SCAN, {"scan_output_axes": (0, 1, 2)}, "got scan_output_axes=.*, wanted 2"),
        ("Scan", SCAN, {"scan_input_directions": (0, 1, 0)}, "got scan_input_directions=.*, wanted 2"),
        ("Scan", SCAN, {"scan_output_directions": (0,)}, "got scan_output_directions=.*, wanted 2"),
        ("Scan", SCAN, {"scan_output_directions": (0, 2)}, "wanted each 0 .forward. or 1"),
        ("Scan", SCAN, {"scan_input_directions": (-1, 0)}, "wanted each 0 .forward. or 1"),
        (
            "Scan",
            SCAN,
            {"num_scan_inputs": 0, "scan_input_axes": None, "scan_input_directions": None},
            "got nothing to scan",
        ),
        ("Scan", SCAN, {"num_args": 4}, "got 3 inputs, wanted 4 at least"),
        ("Scan", SCAN, {"body_reads": (0, 5)}, "with 5 to choose from"),
        (
            "Scan",
            SCAN,
            {"num_outputs": 1, "scan_output_axes": None, "scan_output_directions": None},
            "got 1 outputs with 2 states",
        ),
        ("SequenceMap", MAP, {"elems": ()}, "got 0 elems of 5 inputs"),
        ("SequenceMap", MAP, {"elems": ("float32",) * 6}, "got 6 elems of 5 inputs"),
        ("SequenceMap", MAP, {"body_reads": (5,)}, "with 5 to choose from"),
    ):
        with pytest.raises(OpError, match=words):
            op(name, **base | attrs)
    for name, base, attrs in (
        ("Loop", LOOP, {"num_args": 5, "body_reads": (3,)}),
        ("Scan", SCAN, {"num_args": 5, "body_reads": (3,)}),
        ("SequenceMap", MAP, {"elems": ("float32",) * 5}),
        ("SequenceMap", MAP, {"elems": ("float32",), "body_reads": (0, 4)}),
        ("Loop", LOOP, {"num_outputs": 2}),
    ):
        op(name, **base | attrs)  # just enough
