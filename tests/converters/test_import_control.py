"""If, Loop, Scan and SequenceMap: read, run, written and differentiated."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import converters
from bridge.onnx_backend import OnnxBackendRep
from converters import UnsupportedModel
from converters.importer import import_model
from hybrid.core.error import MXNetError
from hybrid.execution.program import Program
from hybrid.ir.differentiate import gradients
from hybrid.ir.graph import Entry, Graph

from .agreement import agree, parsed

X = np.float32([[1, -2, 3], [4, 5, -6]])


def names(found) -> list[str]:
    """The operators of the outermost graph."""
    return [n.op.name for n in found.graph.nodes if n.op is not None]


# -- If ---------------------------------------------------------------------------------------------------------------


def test_if_takes_what_is_around() -> None:
    text = """main (bool c, float[N, 3] x) => (float[M, 3] y, float[N, 3] z) {
        a = Neg (x)
        y, z = If (c) <
            then_branch = yes () => (float[N, 3] p, float[N, 3] q) { p = Mul (a, x) q = Identity (a) },
            else_branch = no () => (float[M, 3] p, float[N, 3] q) { p = Concat <axis = 0> (x, a) q = Identity (x) }
        >
    }"""
    found = agree(text, *({"c": np.array(c), "x": x} for c in (True, False) for x in (X, X[:1])))
    assert "_onnx_If" in names(found)


def test_branches_tell_outputs_of_one_node_around_them_apart() -> None:
    text = """main (bool c, float[N, 4] x) => (float[N, 2] y) {
        a, b = Split <axis = 1> (x)
        y = If (c) <
            then_branch = yes () => (float[N, 2] p) { p = Sub (a, b) },
            else_branch = no () => (float[N, 2] q) { q = Div (b, a) }
        >
    }"""
    x = np.arange(1, 9, dtype=np.float32).reshape(2, 4) ** 2
    agree(text, *({"c": np.array(c), "x": x} for c in (True, False)))


def test_branches_give_what_is_around_inputs_and_constants() -> None:
    text = """main (bool c, float[3] x) => (float[3] y, int64[2] z, float[3] same) {
        y, z, same = If (c) <
            then_branch = yes () => (float[3] x, int64[2] z, float[3] x2) {
                z = Constant <value = int64[2] {1, 2}> () x2 = Identity (x)
            },
            else_branch = no () => (float[3] p, int64[2] q, float[3] x) <float[3] p = {1, 2, 3}, int64[2] q = {3, 4}> { }
        >
    }"""
    wants = [[X[0], np.array([1, 2]), X[0]], [np.float32([1, 2, 3]), np.array([3, 4]), X[0]]]
    agree(text, *({"c": np.array(c), "x": X[0]} for c in (True, False)), wants=wants)


def test_constant_conditions_leave_no_trace() -> None:
    text = """main (float[N, 3] x) => (float[N, 3] y) {
        shape = Shape (x)
        rank = Size (shape)
        two = Constant <value = int64 {2}> ()
        flat = Equal (rank, two)
        a = Relu (x)
        y = If (flat) <
            then_branch = yes () => (float[N, 3] p) { b = Neg (a) p = Add (b, x) },
            else_branch = no () => (float[N, 3] p) { p = Unheard <strange = 1> (a) }
        >
    }"""
    found = agree(text, {"x": X}, {"x": X[:1]}, wants=[[np.minimum(X, 0)], [np.minimum(X[:1], 0)]])
    assert not any("If" in n for n in names(found))


def test_bodies_in_bodies_capture_captures() -> None:
    text = """main (bool c, bool d, float[N] x) => (float[N] y) {
        a = Neg (x)
        y = If (c) <
            then_branch = yes () => (float[N] p) {
                b = Mul (a, x)
                p = If (d) <
                    then_branch = yes2 () => (float[N] r) { s = Add (a, b) r = Sub (s, x) },
                    else_branch = no2 () => (float[N] r) { r = Identity (b) }
                >
            },
            else_branch = no () => (float[N] p) { p = If (d) <
                then_branch = yes3 () => (float[N] r) { r = Identity (a) },
                else_branch = no3 () => (float[N] r) { r = Abs (x) }
            > }
        >
    }"""
    bools = (True, False)
    agree(text, *({"c": np.array(c), "d": np.array(d), "x": X[0]} for c in bools for d in bools))


def test_a_choice_that_mxnet_has() -> None:
    """Its condition has a dimension, and what the branches give one shape; MXNet 1.9.1 loads and runs the JSON."""
    text = """main (bool[1] c, float[2, 3] x) => (float[2, 3] y, float[3] z) <float[3] w = {0.5, -1.5, 2}> {
        y, z = If (c) <
            then_branch = yes () => (float[2, 3] p, float[3] q) { p = Mul (x, w) q = Add (w, w) },
            else_branch = no () => (float[2, 3] p, float[3] q) { p = Add (x, x) q = Mul (w, w) }
        >
    }"""
    found = agree(text, *({"c": np.array([c]), "x": X} for c in (True, False)))
    assert names(found) == ["_cond"]


def test_names_that_bodies_share() -> None:
    """Each body has its own w and t, and its own weights w."""
    text = """main (bool c, float[3] x) => (float[3] y, float[3] z) <float[3] v = {10, 20, 30}> {
        y = If (c) <
            then_branch = yes () => (float[3] t) <float[3] w = {1, 2, 3}> { u = Mul (x, w) t = Add (u, v) },
            else_branch = no () => (float[3] t) <float[3] w = {4, 5, 6}> { u = Mul (x, w) t = Sub (u, v) }
        >
        z = If (c) <
            then_branch = yes () => (float[3] t) <float[3] w = {7, 8, 9}> { u = Mul (x, w) t = Mul (u, v) },
            else_branch = no () => (float[3] t) { t = Mul (x, v) }
        >
    }"""
    found = agree(text, *({"c": np.array(c), "x": X[0]} for c in (True, False)))
    arrays = {k: v.tolist() for k, v in found.params.items()}
    assert arrays["v"] == [10, 20, 30]
    assert sorted(map(tuple, arrays.values())) == [(1, 2, 3), (4, 5, 6), (7, 8, 9), (10, 20, 30)]


def test_nodes_of_a_body_in_any_order() -> None:
    text = """main (bool c, float[3] x) => (float[3] y) {
        y = If (c) <
            then_branch = yes () => (float[3] t) { t = Add (u, x) u = Mul (x, x) },
            else_branch = no () => (float[3] t) { t = Neg (x) }
        >
    }"""
    found = agree(text, {"c": np.array(True), "x": X[0]}, wants=[[X[0] * X[0] + X[0]]])
    assert found.repairs


def test_everything_wrong_in_bodies_is_said_at_once() -> None:
    text = """main (bool c, float[3] x) => (float[3] y) {
        a = Strange (x)
        y = If (c) <
            then_branch = yes () => (float[3] t) { u = Odd (x) t = Queer (x) },
            else_branch = no () => (float[3] t) { t = Neg (a) }
        >
    }"""
    with pytest.raises(converters.UnsupportedModel) as caught:
        import_model(parsed(text))
    assert [p.operator for p in caught.value.problems] == ["Strange", "Odd", "Queer"]


def test_gradient_of_if() -> None:
    text = """main (bool c, float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}> {
        y = If (c) <
            then_branch = yes () => (float[3] t) { u = Mul (x, w) t = Mul (u, u) },
            else_branch = no () => (float[3] t) { t = Neg (x) }
        >
    }"""
    x, w = np.float32([1, 2, -1]), np.float32([1, 2, 3])
    for c, dx, dw in ((True, 2 * x * w * w, 2 * w * x * x), (False, -np.ones(3), np.zeros(3))):
        found = derivatives(import_model(parsed(text)), {"c": np.array(c), "x": x}, ["x", "w"])
        np.testing.assert_allclose(found[0], dx, rtol=1e-6)
        np.testing.assert_allclose(found[1], dw, rtol=1e-6)


def derivatives(found, feeds: dict, wanted: list[str]) -> list[np.ndarray]:
    """The gradients of the sum of all float outputs with respect to inputs or parameters."""
    variables = {n.name: n for n in found.graph.variables()}
    made = gradients([(e, None) for e in found.graph.outputs], [variables[n] for n in wanted])
    return Program(Graph(e for e in made if e is not None), found.params).run(
        {k: v for k, v in feeds.items() if k in {n.name for n in Graph(e for e in made if e).variables()}}
    )


# -- Loop -------------------------------------------------------------------------------------------------------------


def test_conditions_of_one_element() -> None:
    """PaddlePaddle's loops go on while an array of shape (1,) is true; onnxruntime wants the body's condition declared like the
    first one, and takes what is written without a dimension."""
    text = """main (float[2, 3] x, float[1] limit) => (float[2, 3] last) {
        zero = Constant <value = float[1] {0.0}> ()
        go = Less (zero, limit)
        count, last = Loop (, go, zero, x) <body = body (int64 i, bool[1] c, float[1] n, float[2, 3] s) =>
            (bool[1] d, float[1] m, float[2, 3] t) {
            one = Constant <value = float {1.0}> ()
            m = Add (n, one)
            t = Mul (s, m)
            d = Less (m, limit)
        }>
    }"""
    agree(text, *({"x": X, "limit": np.float32([n])} for n in (0, 1, 3)))


COUNT = """main (int64 most, bool go, float[3] x) => (float[3] last, float[T, 3] all, int64[T] steps) {
    last, all, steps = Loop (most, go, x) <body = body
        (int64 i, bool c, float[3] s) => (bool d, float[3] t, float[3] row, int64 n) {
        t = Add (s, x)
        total = ReduceSum <keepdims = 0> (t)
        bound = Constant <value = float {50.0}> ()
        d = Less (total, bound)
        row = Mul (t, t)
        n = Identity (i)
    }>
}"""


def test_loop_ends_early_late_and_never_begins() -> None:
    x = np.float32([1, 2, 3])
    runs = [
        {"most": np.array(m), "go": np.array(g), "x": x}
        for m, g in ((3, True), (100, True), (0, True), (5, False), (1, True))
    ]
    agree(COUNT, *runs)


@pytest.mark.parametrize("form", ["most", "condition", "both", "neither"])
def test_loop_without_one_or_the_other(form: str) -> None:
    most = "most" if form in ("most", "both") else "none"
    go = "go" if form in ("condition", "both") else "none"
    inputs = ", ".join(t for t, n in (("int64 most", most), ("bool go", go), ("float[1] x", "x")) if n != "none")
    text = f"""main ({inputs}) => (float[1] last, float[T, 1] all) {{
        last, all = Loop ({most}, {go}, x) <body = body (int64 i, bool c, float[1] s) => (bool d, float[1] t, float[1] u) {{
            t = Mul (s, s)
            u = Identity (s)
            bound = Constant <value = float {{1000.0}}> ()
            small = Less (t, bound)
            one = Constant <value_ints = [0]> ()
            d = Squeeze (small, one)
        }}>
    }}"""
    feeds = {"most": np.array(2), "go": np.array(True), "x": np.float32([2])}
    model = parsed(text)
    loop = model.graph.node[0]
    loop.input[:] = [
        n.replace("none", "") for n in loop.input
    ]  # an older parser knows no input that is left out in front
    agree(model, {n: a for n, a in feeds.items() if n in (most, go, "x")})


def test_states_that_grow() -> None:
    text = """main (int64 most, float[N] x) => (float[M] y, float[K] z) {
        y, z = Loop (most, , x, x) <body = body (int64 i, bool c, float[A] s, float[B] r) => (bool c2, float[A2] t, float[B2] q) {
            c2 = Identity (c)
            t = Concat <axis = 0> (s, x)
            shape = Shape (s)
            length = Cast <to = 1> (shape)
            q = Add (r, length)
        }>
    }"""
    runs = [{"most": np.array(m), "x": np.arange(n, dtype="f4")} for m in (0, 1, 3) for n in (1, 4)]
    agree(text, *runs)


def test_state_whose_rank_changes() -> None:
    text = """main (int64 most, float[2, 3] x) => (float y) {
        last = Loop (most, , x) <body = body (int64 i, bool c, float s) => (bool c2, float t) {
            c2 = Identity (c)
            axes = Constant <value_ints = [0]> ()
            t = Unsqueeze (s, axes)
        }>
        y = ReduceSum <keepdims = 0> (last)
    }"""
    agree(text, {"most": np.array(3), "x": X}, wants=[[X.sum()]], again=None)


def test_gradient_of_loop() -> None:
    text = """main (int64 most, float[3] x) => (float[3] y, float[T, 3] z) <float[3] w = {1.1, 1.2, 1.3}> {
        y, z = Loop (most, , x) <body = body (int64 i, bool c, float[3] s) => (bool c2, float[3] t, float[3] u) {
            c2 = Identity (c)
            t = Mul (s, w)
            number = Cast <to = 1> (i)
            u = Mul (t, number)
        }>
    }"""
    found = import_model(parsed(text))
    feeds = {"most": np.array(3), "x": np.float32([1, 2, -1])}
    dx, dw = derivatives(found, feeds, ["x", "w"])
    x, w = feeds["x"].astype("f8"), np.array([1.1, 1.2, 1.3])
    # y = x w^3, z = 0, x w^2, 2 x w^3
    np.testing.assert_allclose(dx, w**3 + w**2 + 2 * w**3, rtol=1e-5)
    np.testing.assert_allclose(dw, x * (9 * w**2 + 2 * w), rtol=1e-5)


# -- Scan -------------------------------------------------------------------------------------------------------------

SUM = """main (float[3] start, float[T, 3] x, float[T, 3] y) => (float[3] last, float[?, 3] sums, float[?, 3] rows) {
    last, sums, rows = Scan <num_scan_inputs = 2, ATTRIBUTES
        body = body (float[3] s, float[3] a, float[3] b) => (float[3] t, float[3] u, float[3] v) {
            ab = Mul (a, b) t = Add (s, ab) u = Identity (t) v = Sub (a, s)
        }
    > (start, x, y)
}"""


@pytest.mark.parametrize(
    "attributes",
    ["", "scan_input_directions = [0, 1],", "scan_output_directions = [1, 0], scan_input_directions = [1, 1],"],
)
def test_scan_directions(attributes: str) -> None:
    rng = np.random.default_rng(1)
    runs = [
        {"start": X[0], "x": rng.normal(size=(t, 3)).astype("f4"), "y": rng.normal(size=(t, 3)).astype("f4")}
        for t in (1, 4)
    ]
    agree(SUM.replace("ATTRIBUTES", attributes), *runs, rtol=1e-6)


def test_scan_without_a_slice() -> None:
    none = np.zeros((0, 3), "f4")
    found = agree(SUM.replace("ATTRIBUTES", ""), {"start": X[0], "x": none, "y": none}, wants=[[X[0], none, none]])
    assert names(found) == ["_onnx_Scan"]


def test_scan_axes() -> None:
    text = """main (float[2] start, float[2, T] x) => (float[2] last, float[2, ?] sums, float[2, ?] more) {
        last, sums, more = Scan <num_scan_inputs = 1, scan_input_axes = [-1], scan_output_axes = [1, -1], body = body
            (float[2] s, float[2] a) => (float[2] t, float[2] u, float[2] v) { t = Add (s, a) u = Identity (t) v = Neg (s) }
        > (start, x)
    }"""
    agree(text, {"start": X[:, 0], "x": X}, {"start": X[:, 0], "x": X[:, :1]})


def test_plain_scan_is_foreach() -> None:
    text = SUM.replace("ATTRIBUTES", "").replace("T, 3", "4, 3")
    rng = np.random.default_rng(2)
    feeds = {"start": X[0], "x": rng.normal(size=(4, 3)).astype("f4"), "y": rng.normal(size=(4, 3)).astype("f4")}
    found = agree(text, feeds, rtol=1e-6)
    assert names(found) == ["_foreach"]


def test_foreach_reads_in_an_order_of_its_own() -> None:
    """Its outputs come first, so that its variables are met in another order than those of the Scan."""
    text = """main (float[2] s0, float[2] r0, float[3, 2] x, float[3, 2] y)
        => (float[2] s, float[2] r, float[3, 2] u, float[3, 2] v) {
        w = Exp (r0)
        s, r, u, v = Scan <num_scan_inputs = 2, body = body
            (float[2] a, float[2] b, float[2] c, float[2] d) => (float[2] e, float[2] f, float[2] g, float[2] h) {
                g = Sub (d, w) h = Mul (c, b) i = Sub (a, d) e = Sub (i, c) f = Add (b, c)
            }
        > (s0, r0, x, y)
    }"""
    rng = np.random.default_rng(6)
    feeds = {n: rng.normal(size=s).astype("f4") for n, s in {"s0": 2, "r0": 2, "x": (3, 2), "y": (3, 2)}.items()}
    assert "_foreach" in names(agree(text, feeds, rtol=1e-6))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("length", ["T", "3"])
def test_gradient_of_scan(axis: int, length: str) -> None:
    sizes = [length, "2"] if axis == 0 else ["2", length]
    text = f"""main (float[2] start, float[{", ".join(sizes)}] x) => (float[2] last, float[?, 2] rows)
    <float[2] w = {{0.5, -1.5}}> {{
        last, rows = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}], scan_input_directions = [{axis}], body = body
            (float[2] s, float[2] a) => (float[2] t, float[2] u) {{ p = Mul (s, w) t = Add (p, a) u = Mul (t, a) }}
        > (start, x)
    }}"""
    found = import_model(parsed(text))
    rng = np.random.default_rng(3)
    x = rng.normal(size=(3, 2) if axis == 0 else (2, 3)).astype("f4")
    feeds = {"start": np.float32([1, -2]), "x": x, "w": np.float32([0.5, -1.5])}
    made = derivatives(found, feeds, ["start", "x", "w"])

    def value(start, x, w):
        slices = x if axis == 0 else x.T[::-1]
        s, total = start, 0.0
        for a in slices:
            s = s * w + a
            total += (s * a).sum()
        return total + s.sum()

    args = {k: v.astype("f8") for k, v in feeds.items()}
    for got, name in zip(made, ("start", "x", "w")):
        for index in np.ndindex(args[name].shape):
            ends = []
            for step in (1e-5, -1e-5):
                moved = {k: v.copy() for k, v in args.items()}
                moved[name][index] += step
                ends.append(value(**moved))
            assert got[index] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-4, abs=1e-5)


def scan8(lengths: bool) -> onnx.ModelProto:
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "a"], ["t"]), helper.make_node("Identity", ["t"], ["u"])],
        "body",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ("s", "a")],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ("t", "u")],
    )
    node = helper.make_node(
        "Scan", ["lengths" if lengths else "", "start", "x"], ["last", "sums"], body=body, num_scan_inputs=1
    )
    infos = [helper.make_tensor_value_info("start", 1, ["B", 2]), helper.make_tensor_value_info("x", 1, ["B", "T", 2])]
    if lengths:
        infos.append(helper.make_tensor_value_info("lengths", TensorProto.INT64, ["B"]))
    outputs = [
        helper.make_tensor_value_info("last", 1, ["B", 2]),
        helper.make_tensor_value_info("sums", 1, ["B", "T", 2]),
    ]
    graph = helper.make_graph([node], "main", infos, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)], ir_version=3)


@pytest.mark.parametrize("lengths", [False, True])
def test_scan_with_a_batch(lengths: bool) -> None:
    rng = np.random.default_rng(4)
    runs = []
    for batch, time in ((1, 1), (2, 3), (3, 4)):
        feeds = {"start": rng.normal(size=(batch, 2)).astype("f4"), "x": rng.normal(size=(batch, time, 2)).astype("f4")}
        if lengths:
            feeds["lengths"] = np.arange(batch) % time + 1
        runs.append(feeds)
    agree(scan8(lengths), *runs, again=None if lengths else 21)


# -- SequenceMap and what is no tensor --------------------------------------------------------------------------------


def test_sequence_map_takes_what_is_around() -> None:
    text = """main (seq(float[?]) s, float[1] x) => (seq(float[?]) y, seq(int64[?]) z) {
        a = Neg (x)
        y, z = SequenceMap <body = body (float[?] e) => (float[?] r, int64[?] n) { r = Mul (e, a) n = Shape (e) }> (s)
    }"""
    found = agree(text, {"s": [X[0], X[0, :1]], "x": np.float32([3])}, {"s": [X[1]], "x": np.float32([2])})
    assert "_onnx_SequenceMap" in names(found)


def test_sequences_as_states() -> None:
    text = """main (int64 most, float[3] x) => (seq(float[3]) all, int64 count) {
        empty = SequenceEmpty <dtype = 1> ()
        all = Loop (most, , empty) <body = body (int64 i, bool c, seq(float[3]) s) => (bool c2, seq(float[3]) t) {
            c2 = Identity (c)
            number = Cast <to = 1> (i)
            row = Mul (x, number)
            t = SequenceInsert (s, row)
        }>
        count = SequenceLength (all)
    }"""
    agree(text, *({"most": np.array(m), "x": X[0]} for m in (1, 3, 0)))


COLLECTING = """main (int64 most, float[3, 3] w, float[N, 3] x) => (float[N, M, 3] y, float[P, 3] z, float[N, 3] last) {
    empty = SequenceEmpty ()
    axes = Constant <value_ints = [0]> ()
    last, all, rows = Loop (most, , x, empty, empty) <
        body = body (int64 i, bool c, float[N, 3] h, seq(float) s, seq(float) r) =>
            (bool c2, float[N, 3] k, seq(float) t, seq(float) q)
        {
            c2 = Identity (c)
            k = MatMul (h, w)
            t = SequenceInsert (s, k)
            one = ReduceSum <keepdims = 1> (k, axes)
            q = SequenceInsert (r, one)
        }
    >
    y = ConcatFromSequence <axis = 1, new_axis = 1> (all)
    z = ConcatFromSequence <axis = 0> (rows)
}"""


def test_what_a_loop_collects_has_gradients() -> None:
    """PyTorch writes a list that a loop appends to, and torch.stack, as a sequence; it is an output of the loop."""
    w = np.float32([[1, 2, 0], [0, 1, -1], [1, 0, 1]])
    found = agree(COLLECTING, *({"most": np.array(m), "w": w, "x": x} for m in (1, 3) for x in (X, X[:1])))
    assert not [n for n in names(found) if "Sequence" in n]
    dw, dx = derivatives(found, {"most": np.array(2), "w": w, "x": X}, ["w", "x"])
    ones = np.ones_like(X)
    # y, z and last of h w and h w w: two of the first, three of the second
    np.testing.assert_allclose(dx, 2 * ones @ w.T + 3 * ones @ (w @ w).T, rtol=1e-6)
    np.testing.assert_allclose(dw, 2 * X.T @ ones + 3 * (X.T @ ones @ w.T + (X @ w).T @ ones), rtol=1e-6)


def test_what_a_loop_collects_of_several_sizes_stays_a_sequence() -> None:
    text = """main (int64 most, float[3] x) => (float[N] y) {
        empty = SequenceEmpty ()
        begin = Constant <value_ints = [0]> ()
        all = Loop (most, , empty) <body = body (int64 i, bool c, seq(float) s) => (bool c2, seq(float) t) {
            c2 = Identity (c)
            end = Unsqueeze (i, begin)
            some = Slice (x, begin, end)
            t = SequenceInsert (s, some)
        }>
        y = ConcatFromSequence <axis = 0> (all)
    }"""
    found = agree(text, *({"most": np.array(m), "x": X[0]} for m in (2, 3)))
    assert "_onnx_ConcatFromSequence" in names(found)


def test_loops_in_loops() -> None:
    text = """main (int64 most, float[N] x) => (float[N] y, float[A, B, N] all) {
        y, all = Loop (most, , x) <outer = outer (int64 i, bool c, float[N] s) => (bool c2, float[N] t, float[B, N] rows) {
            c2 = Identity (c)
            t, rows = Loop (most, , s) <inner = inner (int64 j, bool d, float[N] r) => (bool d2, float[N] q, float[N] row) {
                d2 = Identity (d)
                k = Add (i, j)
                f = Cast <to = 1> (k)
                p = Mul (x, f)
                q = Add (p, r)
                row = Sub (q, s)
            }>
        }>
    }"""
    text = text.replace("<outer", "<body").replace("<inner", "<body")
    agree(text, *({"most": np.array(m), "x": np.arange(1, n + 1, dtype="f4")} for m in (1, 3) for n in (1, 4)))


def test_a_sequence_that_is_written_without_types_is_read_again() -> None:
    """Inputs of bodies that are no tensors are written without a type; what they contain follows from what goes in."""
    text = """main (seq(float[?]) s, int64 most) => (seq(float[?]) y, float[N] z) {
        y = Loop (most, , s) <body = body (int64 i, bool c, seq(float[?]) t) => (bool c2, seq(float[?]) u) {
            c2 = Identity (c)
            e = SequenceAt (t, i)
            f = Exp (e)
            u = SequenceInsert (t, f)
        }>
        z = SequenceAt (y, most)
    }"""
    agree(text, {"s": [X[0], X[1, :1]], "most": np.array(2)}, rtol=1e-6)


def test_a_branch_that_does_not_fit_is_why_the_other_is_taken() -> None:
    """PyTorch's atleast_2d asks for the rank, and makes a row of what is one number."""
    text = """main (seq(float[?]) s) => (seq(float[?]) y) {
        y = SequenceMap <body = body (float[?] e) => (float[?] r) {
            size = Size (e)
            one = Constant <value_int = 1> ()
            single = Equal (size, one)
            r = If (single) <
                then_branch = yes () => (float[?] p) { to = Constant <value_ints = [1]> () p = Reshape (e, to) },
                else_branch = no () => (float[?] q) { q = Exp (e) }
            >
        }> (s)
    }"""
    (found,) = OnnxBackendRep(import_model(parsed(text))).run({"s": [X[0], X[0, :1]]})
    np.testing.assert_allclose(found[0], np.exp(X[0]), rtol=1e-6)
    assert found[1].tolist() == [1]


def test_condition_of_several_elements_is_refused() -> None:
    text = """main (bool[N] c, float[3] x) => (float[3] y) { y = If (c) <
        then_branch = yes () => (float[3] t) { t = Neg (x) }, else_branch = no () => (float[3] t) { t = Abs (x) }
    > }"""
    found = import_model(parsed(text))
    with pytest.raises(MXNetError, match="one element"):
        Program(found.graph).run({"c": np.array([True, False]), "x": X[0]})


def test_captures_are_inputs_of_the_node() -> None:
    text = """main (bool c, float[3] x) => (float[3] y) { a = Neg (x) y = If (c) <
        then_branch = yes () => (float[3] t) { t = Neg (a) }, else_branch = no () => (float[3] t) { t = Abs (a) }
    > }"""
    (node,) = [n for n in import_model(parsed(text)).graph.nodes if n.op is not None and n.subgraphs]
    assert [e.node.name for e in node.inputs] == ["c", "a"]
    assert isinstance(node.inputs[1], Entry)


def test_a_counter_that_is_declared_with_a_dimension_has_it() -> None:
    text = """main (float[5] x, int64 steps) => (float[n, 1] y) <bool on = {1}, int64[1] one = {1}>
{ y = Loop (steps, on) <body = step (int64[1] i, bool going) => (bool going_on, float[1] z) {
    going_on = Identity (going)  next = Add (i, one)  z = Slice (x, i, next) }> }"""
    agree(text, *({"x": np.arange(5, dtype=np.float32), "steps": np.array(n)} for n in (1, 3)))


# -- which of MXNet's means the same ------------------------------------------------------------------------------------

CHOICES = [
    # a condition that is a vector of one, and branches that take something and give the same
    ("bool[1] c", "t = Neg (a)", "t = Abs (a)", "float[2, 3] t", "Cast _cond"),
    ("bool[1] c", "t = Neg (a) u = Mul (a, b)", "u = Neg (b) t = Abs (a)", "float[2, 3] t, float[2, 3] u", "_cond"),
    ("bool c", "t = Neg (a)", "t = Abs (a)", "float[2, 3] t", "_onnx_If"),
    ("bool[n] c", "t = Neg (a)", "t = Abs (a)", "float[2, 3] t", "_onnx_If"),
    ("bool[1] c", "t = Neg (a)", "t = ReduceSum <keepdims = 1> (a)", "float[?, ?] t", "_onnx_If"),
    (
        "bool[1] c",
        "t = Neg (a) u = Abs (b)",
        "t = Abs (a) u = ReduceSum (b)",
        "float[2, 3] t, float[?, ?] u",
        "_onnx_If",
    ),
    ("bool[1] c", "t = Shape (free)", "t = Constant <value_ints = [5, 7]> ()", "int64[2] t", "_onnx_If"),
    ("bool[1] c", "t = ReduceSum <keepdims = 0> (a)", "t = ReduceMax <keepdims = 0> (a)", "float t", "_onnx_If"),
    ("bool[1] c", "t = Neg (free)", "t = Abs (free)", "float[n, 3] t", "_onnx_If"),
    ("bool[1] c", "t = SequenceConstruct (a)", "t = SequenceConstruct (b)", "seq(float[2, 3]) t", "_onnx_If"),
]


def test_choices_are_mxnets_where_they_mean_the_same() -> None:
    feeds = {"a": X, "b": X * 2 + 1, "free": X - 3}
    for condition, yes, no, results, operators in CHOICES:
        kinds = [r.rsplit(" ", 1) for r in results.split(", float")]
        outer = ", ".join(f"{'float' if i else ''}{kind} {name}_" for i, (kind, name) in enumerate(kinds))
        results_of = [name for _, name in kinds]
        free = ", float[n, 3] free" if "free" in yes else ""
        text = f"""main ({condition}, float[2, 3] a, float[2, 3] b{free}) => ({outer}) {{
            {", ".join(f"{n}_" for n in results_of)} = If (c) <then_branch = yes () => ({results}) {{ {yes} }},
            else_branch = no () => ({results}) {{ {no} }}> }}"""
        used = {n: a for n, a in feeds.items() if n != "free" or free}
        runs = [{"c": np.full(() if condition == "bool c" else 1, on), **used} for on in (True, False)]
        found = agree(text, *runs)
        assert operators.split()[-1] in names(found), text
        if "_onnx_" not in operators and "Abs" in text:  # a dtype that NumPy says is None
            runs = [{n: a.astype(np.float64) if n != "c" else a for n, a in run.items()} for run in runs]
            found = agree(text.replace("float", "double"), *runs, again=None)
            assert operators.split()[-1] in names(found), text


def test_a_stored_condition_is_one_truth() -> None:
    text = """main (float[2, 3] a) => (float[2, 3] y) <bool[SIZE] c = {VALUES}> {
        y = If (c) <then_branch = yes () => (float[2, 3] t) { t = Neg (a) },
                    else_branch = no () => (float[2, 3] t) { t = Exp (a) }> }"""
    for value, operators in (("1", ["negative"]), ("0", ["exp"])):
        found = agree(text.replace("SIZE", "1").replace("VALUES", value), {"a": X}, rtol=1e-6)
        assert names(found) == operators
    with pytest.raises(UnsupportedModel, match="wanted one element"):
        import_model(parsed(text.replace("SIZE", "2").replace("VALUES", "1, 0")))


SCANS = [
    # inputs, attributes, the body, what its inputs are, results
    ("float[2] s, float[4, 2] d", "", "t = Add (p, q) u = Mul (p, q)", "float[2] p, float[2] q", "_foreach"),
    ("float[2] s, float[4, 2] d", "", "t = Add (p, q) u = ReduceSum <keepdims = 0> (q)", "float[2] p, float[2] q", "_onnx_Scan"),
    ("float[2] s, float[4] d", "", "t = Add (p, q) u = Mul (p, q)", "float[2] p, float q", "_onnx_Scan"),
    ("float[2] s, float[1, 2] d", "", "t = Add (p, q) u = Mul (p, q)", "float[2] p, float[2] q", "_foreach"),
    ("float[2] s, float[] d", "", "t = Add (p, q) u = Mul (p, q)", "float[2] p, float[2] q", "_onnx_Scan"),
    ("float[2] s, float[k, 2] d", "", "t = Add (p, q) u = Mul (p, q)", "float[2] p, float[2] q", "_onnx_Scan"),
    ("float[n] s, float[4, 2] d", "", "t = Add (p, q) u = Mul (p, q)", "float[n] p, float[2] q", "_onnx_Scan"),
    ("float[2] s, float[4, 2] d", "", "t = Abs (q) u = Mul (q, q)", "float[2] p, float[2] q", "_onnx_Scan"),
    ("float[2] s, float[4, 2] d", "", "t = Abs (p) u = Mul (p, p)", "float[2] p, float[2] q", "_onnx_Scan"),
    ("float[2] s, float[4, 2] d", "", "v = Mul (q, w) t = Add (p, v) z = Sub (v, m) u = Mul (z, t)", "float[2] p, float[2] q",
     "_foreach"),
    ("float[2] s, float[4, 2] d", "scan_input_axes = [1],", "t = Abs (p) u = Mul (q, q)", "float[2] p, float[4] q", "_onnx_Scan"),
    ("float[2] s, float[4, 2] d", "scan_output_axes = [1],", "t = Add (p, q) u = Mul (q, q)", "float[2] p, float[2] q",
     "_onnx_Scan"),
    ("float[2] s, float[4, 2] d", "scan_output_directions = [1],", "t = Add (p, q) u = Mul (q, q)", "float[2] p, float[2] q",
     "_onnx_Scan"),
    ("float[2] s, float[4, 2] d", "scan_input_directions = [1],", "t = Add (p, q) u = Mul (p, q)", "float[2] p, float[2] q",
     "_onnx_Scan"),
]  # fmt: skip


def test_scans_are_mxnets_where_they_mean_the_same() -> None:
    rng = np.random.default_rng(4)
    for inputs, attributes, body, formal, operator in SCANS:
        out = "float" if "ReduceSum" in body else "float[?]"
        rows = "float[?]" if out == "float" else "float[?, ?]"
        text = f"""main ({inputs}, float[2] w, float[2] m) => (float[?] y, {rows} all) {{
            y, all = Scan <num_scan_inputs = 1, {attributes}
                body = step ({formal}) => (float[?] t, {out} u) {{ {body} }}> (s, d) }}"""
        feeds = {"s": rng.normal(size=2), "d": rng.normal(size=4 if "float[4] d" in inputs else (4, 2))}
        feeds |= {"w": rng.normal(size=2), "m": rng.normal(size=2)}
        if "float[1, 2] d" in inputs:
            feeds["d"] = feeds["d"][:1]
        again = None if "float[] d" in inputs else 21
        found = agree(text, {n: a.astype(np.float32) for n, a in feeds.items()}, rtol=1e-6, again=again)
        assert operator in names(found), text


def test_a_scan_of_states_alone_and_one_of_rows_alone() -> None:
    states = """main (float[2] s, float[4, 2] d) => (float[2] y) {
        y = Scan <num_scan_inputs = 1, body = step (float[2] p, float[2] q) => (float[2] t) { t = Sub (q, p) }> (s, d) }"""
    rows = """main (float[4, 2] d) => (float[4, 2] y) {
        y = Scan <num_scan_inputs = 1, body = step (float[2] q) => (float[2] t) { t = Mul (q, q) }> (d) }"""
    d = np.random.default_rng(5).normal(size=(4, 2)).astype(np.float32)
    for text, feeds in ((states, {"s": d[0] + 1, "d": d}), (rows, {"d": d})):
        assert names(agree(text, feeds, rtol=1e-6)) == ["_foreach"]


def test_loops_that_do_not_fit_their_bodies_are_refused() -> None:
    loop = """main (int64 m, bool c, float[2] s) => (float[2] y) {
        y = Loop (m, c, INPUTS) <body = step (FORMAL) => (RESULTS) { BODY }> }"""
    scan = """main (float[2] s, float[4, 2] d) => (float[2] y) {
        y = Scan <num_scan_inputs = COUNT, body = step (FORMAL) => (RESULTS) { BODY }> (INPUTS) }"""
    same, one = "e = Identity (d) t = Neg (p)", "float[2] t"
    for text, count, inputs, formal, results, body, message in (
        (loop, 0, "s", "int64 i, bool d", "bool e", "e = Identity (d)", "wanted 3 inputs and 2 outputs"),
        (
            loop,
            0,
            "s",
            "int64 i, bool d, float[2] p",
            "bool e",
            "e = Identity (d)",
            "3 inputs and 1 outputs with 1 states",
        ),
        (loop, 0, "s", "int64 i, bool d, float[2] p, float[2] q", f"bool e, {one}", same, "wanted 3 inputs"),
        (
            scan,
            1,
            "s, d",
            "float[2] p",
            one,
            "t = Neg (p)",
            "got 2 inputs, 1 of them states, with a body of 1 inputs and 1 outputs",
        ),
        (scan, 3, "s, d", "float[2] p, float[2] q", one, "t = Add (p, q)", "got 2 inputs, 0 of them states"),
        (
            scan,
            1,
            "s, d",
            "float[2] p, float[2] q",
            "",
            "t = Add (p, q)",
            "wanted as many inputs and an output for each state",
        ),
    ):
        text = text.replace("INPUTS", inputs).replace("FORMAL", formal).replace("RESULTS", results)
        with pytest.raises(UnsupportedModel, match=message):
            import_model(parsed(text.replace("COUNT", str(count)).replace("BODY", body)))
    missing = """main (int64 m, float[2] s) => (float[2] y, float[2] z) {
        y, z = Loop (m, , , s) <body = step (INPUTS) => (OUTPUTS) { BODY }> }"""
    missing = missing.replace("INPUTS", "int64 i, bool d, float[2] p, float[2] q").replace(
        "BODY", f"{same} u = Abs (q)"
    )
    with pytest.raises(UnsupportedModel, match="got no value for state 0 to begin with"):
        import_model(parsed(missing.replace("OUTPUTS", f"bool e, {one}, float[2] u")))
    text = scan.replace("INPUTS", ", d").replace("FORMAL", "float[2] p, float[2] q").replace("RESULTS", one)
    with pytest.raises(UnsupportedModel, match="got 2 inputs, 1 of them states, with a body of 2 inputs and 1 outputs"):
        import_model(parsed(text.replace("BODY", "t = Add (p, q)").replace("COUNT", "1")))


# -- SequenceMap ----------------------------------------------------------------------------------------------------------


def test_a_sequence_map_beside_tensors_and_other_sequences() -> None:
    text = """main (seq(float[?]) s, seq(float[?]) u, float[2] x) => (seq(float[?]) y) {
        y = SequenceMap <body = body (float[?] e, float[?] f, float[2] g) => (float[?] r) {
            h = Add (e, f) r = Mul (h, g) }> (s, u, x)
    }"""
    feeds = {"s": [X[0, :2], X[1, 1:]], "u": [X[0, 1:], X[1, :2]], "x": np.float32([2, -3])}
    want = [(a + b) * feeds["x"] for a, b in zip(feeds["s"], feeds["u"])]
    found = agree(text, feeds, wants=[[want]])
    assert names(found) == ["_onnx_SequenceMap"]
    inner = """main (seq(float[?]) s) => (seq(int64[?]) y) {
        y = SequenceMap <body = body (float[?] e) => (int64[?] r) { r = Shape (e) }> (s) }"""
    agree(inner, {"s": [X[0], X[0, :1]]})


def test_sequence_maps_that_do_not_fit_their_bodies_are_refused() -> None:
    text = """main (seq(float[?]) s, float[2] x) => (seq(float[?]) y) {
        y = SequenceMap <body = body (float[?] e) => (float[?] r) { r = Neg (e) }> (s, x) }"""
    with pytest.raises(UnsupportedModel, match="got 2 inputs with a body of 1, wanted as many"):
        import_model(parsed(text))
    text = """main (seq(float[?]) s, float[2] x) => (seq(float[?]) y) {
        y = SequenceMap <body = body (float[?] e, float[2] f, float[2] g) => (float[?] r) { r = Add (e, g) }> (s, , x) }"""
    with pytest.raises(UnsupportedModel, match="got 3 inputs with a body of 3, wanted as many"):
        import_model(parsed(text))


def test_a_scan_of_batches_with_two_states_and_two_arrays() -> None:
    text = """<ir_version: 3, opset_import: ["" : 8]>
        main (float[B, 2] s, float[B, 3] r, float[B, T, 2] x, float[B, T, 3] y)
            => (float[B, 2] s1, float[B, 3] r1, float[B, T, 2] u, float[B, T, 3] v) {
        s1, r1, u, v = Scan <num_scan_inputs = 2, body = step (float[2] a, float[3] b, float[2] c, float[3] d)
            => (float[2] a1, float[3] b1, float[2] e, float[3] f) {
            a1 = Sub (a, c) b1 = Add (b, d) e = Mul (a, c) f = Mul (b, d) }> (none, s, r, x, y) }"""
    model = parsed(text)
    model.graph.node[0].input[0] = ""
    rng = np.random.default_rng(7)
    for batch, time in ((1, 2), (3, 4)):
        sizes = {"s": (batch, 2), "r": (batch, 3), "x": (batch, time, 2), "y": (batch, time, 3)}
        agree(model, {n: rng.normal(size=z).astype(np.float32) for n, z in sizes.items()}, rtol=1e-6)


def test_what_a_scan_of_lengths_cannot_be_written_as() -> None:
    found = import_model(scan8(True))
    with pytest.raises(UnsupportedModel, match="sequence_lens of opset 8"):
        converters.to_onnx(found.graph, found.params, {n: s for n, s in found.inputs.items()}, 21)


def test_a_scan_of_lengths_may_go_backwards() -> None:
    """Each array in its own direction: of each example its own length is turned, and what lies beyond it is not read."""
    text = """<ir_version: 3, opset_import: ["" : 8]>
        main (int64[B] n, float[B, 2] s, float[B, T, 2] x, float[B, T, 2] y) => (float[B, 2] last, float[B, T, 2] all) {
        last, all = Scan <num_scan_inputs = 2, directions = [1, 0], body = step (float[2] a, float[2] c, float[2] d)
            => (float[2] b, float[2] e) { f = Mul (a, c) b = Add (f, d) e = Sub (b, c) }> (n, s, x, y) }"""
    rng = np.random.default_rng(8)
    n, s = np.array([4, 3]), rng.uniform(-1, 1, (2, 2)).astype(np.float32)
    x, y = rng.uniform(-1, 1, (2, 2, 4, 2)).astype(np.float32)
    last, every = s.copy(), np.zeros_like(x)
    for row, length in enumerate(n):
        for step in range(length):
            last[row] = last[row] * x[row, length - 1 - step] + y[row, step]
            every[row, step] = last[row] - x[row, length - 1 - step]
    found = OnnxBackendRep(import_model(parsed(text)))
    got = found.run({"n": n, "s": s, "x": x, "y": y})
    np.testing.assert_allclose(got[0], last, rtol=1e-5)
    for row, length in enumerate(n):
        np.testing.assert_allclose(got[1][row, :length], every[row, :length], rtol=1e-5)


def test_a_sequence_map_over_elements_of_several_dtypes() -> None:
    text = """main (seq(float[?]) s, seq(int64[?]) u, double[2] x) => (seq(double[?]) y, seq(int64[?]) z) {
        y, z = SequenceMap <body = body (float[?] e, int64[?] f, double[2] g) => (double[?] r, int64[?] q) {
            h = Cast <to = 11> (e) r = Mul (h, g) q = Neg (f) }> (s, u, x) }"""
    feeds = {"s": [X[0, :2], X[1, 1:]], "u": [np.array([2**53 + 1, 5]), np.array([-7, 3])], "x": np.array([2.5, -3])}
    want = [[a.astype(np.float64) * feeds["x"] for a in feeds["s"]], [-a for a in feeds["u"]]]
    found = agree(text, feeds, wants=[want])
    (node,) = [n for n in found.graph.nodes if n.op is not None]
    assert node.op.elems == tuple(map(np.dtype, ("float32", "int64", "float64")))


def test_words_go_through_bodies_of_onnxs_own() -> None:
    """MXNet has no arrays of words: a choice or a loop that gives some is not its _cond or _foreach, whatever else is."""
    choice = """main (bool[1] q, KIND[2] a, KIND[2] b) => (KIND[2] y) {
        y = If (q) <
            then_branch = yes () => (KIND[2] t) { t = Identity (a) },
            else_branch = no () => (KIND[2] e) { e = Identity (b) }
        >
    }"""
    loop = """main (float[1] s, float[2, 3] x, KIND[2] w) => (float[1] last, KIND[2, 2] y) {
        last, y = Scan <num_scan_inputs = 1, body = step (float[1] a, float[3] r) => (float[1] b, KIND[2] o) {
            k = ReduceSum (r) b = Add (a, k) o = Identity (w)
        }> (s, x)
    }"""
    for kind, words, operators in (
        ("string", np.array([["a", "bc"], ["d", ""]], object), ("_onnx_If", "_onnx_Scan")),
        ("float", X[:, :2], ("_cond", "_foreach")),
    ):
        runs = [{"q": np.array([q]), "a": words[0], "b": words[1]} for q in (True, False)]
        assert names(agree(choice.replace("KIND", kind), *runs)) == [operators[0]]
        found = agree(loop.replace("KIND", kind), {"s": X[0, :1], "x": X, "w": words[1]}, rtol=1e-6)
        assert names(found) == [operators[1]]
