"""The two sides of a comparison: what they take and give, what they show of the inside, and what models are opened from."""

import gc
import importlib
import json
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import bridge
import converters
import hybrid as mx
from bridge import BadInput, EngineError, cases, engines, exact, locate, models, runtime
from bridge.answers import answers_of
from bridge.cases import make_case, pair_outputs
from bridge.cut import cut_out, inner_outputs, widened_model
from bridge.domains import Taken
from bridge.draws import draw
from bridge.engines import NativeEngine, OnnxEngine, ReferenceEngine, tensors
from bridge.exact import Exact, widen
from bridge.inputs import as_specs, load_feeds, parse_dynamic, parse_inputs, save_arrays
from bridge.models import Model, describe, open_model, split_inputs, too_large
from bridge.result import Case
from converters.names import unique
from hybrid import native
from hybrid.core.op import Domain, Spec
from hybrid.core.shapes import UNKNOWN
from hybrid.ir.graph import Entry
from hybrid.ops.absent import ABSENT

TWO = """<ir_version: 8, opset_import: ["": 17]>
net (float[n, 3] x, float[n, 3] z) => (float[n, 3] s, float[n, 3] p)
<float[3] w = {2, -3, 0.5}> { s = Add (x, z)  h = Mul (x, w)  p = Mul (h, z) }"""
X = np.array([[1, 2, 3], [-4, 5, 6]], np.float32)
Z = np.array([[0.5, -1, 2], [3, 4, -5]], np.float32)
W = np.array([2, -3, 0.5], np.float32)


@pytest.fixture
def two(tmp_path: Path) -> Path:
    path = tmp_path / "two.onnx"
    onnx.save(onnx.parser.parse_model(TWO), path)
    return path


def symbol() -> tuple[Any, dict[str, np.ndarray]]:
    """x times 2, then through a layer; a second output of the same input."""
    x = mx.sym.var("x")
    layer = mx.sym.FullyConnected(x * 2, num_hidden=2, name="fc")
    return mx.sym.Group([layer, mx.sym.negative(x, name="neg")]), {
        "fc_weight": np.array([[1, 2, 3], [4, 5, -6]], np.float32),
        "fc_bias": np.array([0.5, -0.5], np.float32),
    }


# -- run -----------------------------------------------------------------------------------------------------------------------


def test_outputs_are_chosen_and_ordered_on_either_engine(two: Path) -> None:
    want = {"s": X + Z, "p": X * W * Z}
    for engine in (None, "native", "onnxruntime"):
        for chosen in (None, ["p"], ["s"], ["p", "s"]):
            found = bridge.run(two, {"x": X, "z": Z}, engine=engine, outputs=chosen)  # type: ignore[arg-type]
            assert list(found) == (chosen or ["s", "p"])
            for name, value in found.items():
                np.testing.assert_array_equal(value, want[name])
    net, params = symbol()
    want = {"fc_output": 2 * X @ params["fc_weight"].T + params["fc_bias"], "neg_output": -X}
    for engine in (None, "native", "onnxruntime"):
        for chosen in (None, ["neg_output"], ["neg", "fc"]):
            found = bridge.run(net, {"x": mx.nd.array(X)}, params=params, engine=engine, outputs=chosen)  # type: ignore[arg-type]
            names = {None: ["fc_output", "neg_output"], 1: ["neg_output"]}.get(
                chosen and len(chosen), ["neg_output", "fc_output"]
            )
            assert list(found) == names
            for name in names:
                np.testing.assert_allclose(found[name], want[name], rtol=1e-6)


def test_what_run_refuses(two: Path, tmp_path: Path) -> None:
    net, params = symbol()
    feeds = {"x": X, "z": Z}
    for source, inputs, options, said in (
        (two, feeds, {"engine": "gpu"}, "got engine 'gpu', wanted native or onnxruntime"),
        (two, {**feeds, "q": X}, {}, "unknown input q: the model takes x, z"),
        (two, {**feeds, "q": X}, {"engine": "native"}, "unknown input q: the model takes x, z"),
        (two, feeds, {"outputs": ["hh", "s"]}, r"no output 'hh' in two \(ONNX\); did you mean"),
        (two, {"x": X}, {}, "missing input z"),
        (two, {"x": X}, {"engine": "native"}, "missing input z"),
        (
            two,
            {"x": X.astype(np.float64), "z": Z[:, :2]},
            {},
            "input x: got float64, wanted float32; convert it with astype",
        ),
        (two, {"x": X, "z": Z[:, :2]}, {}, r"input z: got shape \(2, 2\), two\.onnx wants \(n, 3\)"),
        (two, {"x": X[0], "z": Z}, {}, r"input x: got shape \(3,?\)"),
        (net, {"y": X, "x": X}, {"params": params}, "unknown input y: the model takes x"),
        (net, {}, {"params": params}, "missing input x"),
        (net, {"x": X}, {"params": {"fc_bias": params["fc_bias"]}}, "missing parameter fc_weight"),
        (
            net,
            {"x": X.astype(np.float64)},
            {"params": params},
            "input x: got float64, wanted float32; convert it, as in",
        ),
        (net, {"x": X}, {"params": params, "outputs": ["fd"]}, "no output 'fd' in the graph; did you mean"),
        (two, feeds, {"params": params}, "an ONNX file holds its parameters; do not give"),
        (net, {"x": X}, {"params": 5}, "params: got int, wanted a path or a dict of arrays"),
        (net, {"x": X}, {"params": tmp_path / "no.params"}, "no.params: no such parameter file"),
        (3.5, feeds, {}, "got float, wanted a path, a Symbol, a SymbolBlock or an ONNX ModelProto"),
    ):
        with pytest.raises(BadInput, match=said):
            bridge.run(source, inputs, **options)  # type: ignore[arg-type]
    with pytest.raises(EngineError, match=r"onnxruntime \S+ failed"):
        OnnxEngine(open_model(two)).run_unchecked({"x": X, "z": Z[:, :2]})
    reshaped = onnx.parser.parse_model(TWO.replace("float[n, 3] z", "float[n, m] z").replace("s = Add", "s = Sub"))
    with pytest.raises(EngineError, match="onnx's reference evaluator failed"):
        ReferenceEngine(Model("m", proto=reshaped)).run_unchecked({"x": X, "z": Z[:, :2]})
    with pytest.raises(mx.base.MXNetError, match="shape"):
        bridge.run(net, {"x": X[:, :2]}, params=params)


def test_a_variable_that_is_made_twice_is_one_input() -> None:
    """Symbols that build their data anew at every use have several variables of its name."""
    net = mx.sym.Group([mx.sym.var("data") + mx.sym.var("other"), mx.sym.var("data") * 2])
    model = open_model(net)
    assert model.variables() == ["data", "other"]
    for array in bridge.run(net, {"data": X, "other": X}).values():
        np.testing.assert_array_equal(array, X * 2)


def test_parts_of_one_cut_and_then_of_another() -> None:
    """Nodes that stand between tensors depend on which tensors are cut."""
    n = mx.sym.negative(mx.sym.var("x"), name="n")
    net = mx.sym.identity(mx.sym.square(n, name="s") + 1, name="t")
    native = NativeEngine(open_model(net))
    assert native.model.graph is not None
    called = {node.name: native.name_of(Entry(node)) for node in native.model.graph.nodes}
    for cut, reads, operators in (("nst", "s", 2), ("t", "x", 4), ("nt", "n", 3), ("t", "x", 4)):
        part = native.part(frozenset(called[c] for c in cut), [called["t"]])
        assert (part.reads, part.operators) == ((called[reads],), operators), cut


def test_a_part_is_judged_by_its_least_exact_operator() -> None:
    """In whatever order they stand."""
    x = mx.sym.var("x")
    for net in (mx.sym.relu(mx.sym.linalg.det(x)), mx.sym.linalg.det(mx.sym.relu(x))):
        native = NativeEngine(open_model(net))
        assert native.model.graph is not None
        (end,) = native.outputs
        tolerances = [n.op.tolerance for n in native.model.graph.nodes if n.op is not None]
        part = native.part(frozenset([end]), [end])
        assert part.operators > 1 and part.tolerance == max(tolerances) == 256


def test_parts_of_what_is_no_tensor() -> None:
    box = np.empty((), object)
    box[()] = [np.array([1.0]), {"b": 2, "a": np.array([3])}]
    found = tensors([("y", np.array(5)), ("s", box), ("m", {2: 1.5, 1: 0.5}), ("n", None), ("e", [])])
    # in an order that the values do not decide: sides that name them otherwise are paired by place
    assert [(k, v.tolist()) for k, v in found.items()] == [
        ("y", 5), ("s[2]", 2), ("s[0]", [1.0]), ("s[1]['a']", [3]), ("s[1]['b']", 2), ("m[1]", 0.5), ("m[2]", 1.5), ("e[0]", 0),
    ]  # fmt: skip
    assert unique(["a", "b", "a", "a", "b"]) == ("a", "b", "a_1", "a_2", "b_1")
    for names in (["a", "a", "a_1"], ["a_1", "a", "a"], ["a", "a_1", "a", "a_1", "a_1_1"]):
        assert len(set(unique(names))) == len(names), names


def test_the_inside_of_a_symbol() -> None:
    net, params = symbol()
    engine = NativeEngine(open_model(net, params))
    first = engine.inner_tensors()[0]
    assert [(t.name, t.node, t.operator, t.inputs) for t in engine.inner_tensors()][1:] == [
        ("fc_output", "fc", "FullyConnected", (first.name, "fc_weight", "fc_bias")),
        ("neg_output", "neg", "negative", ("x",)),
    ]
    shown = engine.expose({"x": X}, [first.name, "x", "nothing"])
    assert shown.keys() == {first.name, "x"}
    np.testing.assert_array_equal(shown[first.name], 2 * X)
    seen: list[Any] = []
    groups = [["x", first.name], ["neg_output"], ["nobody"], ["neg_output", first.name]]
    engine.walk({"x": X}, groups, lambda i, shown: seen.append((i, {n: v.tolist() for n, v in shown.items()})))
    double, minus = (2 * X).tolist(), (-X).tolist()
    assert seen == [
        (0, {"x": X.tolist(), first.name: double}), (1, {"neg_output": minus}), (2, {}),
        (3, {"neg_output": minus, first.name: double}),
    ]  # fmt: skip
    tensor = engine.inner_tensors()[1]
    alone = engine.compute_alone(tensor, {first.name: X})
    np.testing.assert_allclose(alone, X @ params["fc_weight"].T + params["fc_bias"])
    assert engine.compute_alone(tensor, {}) is None
    sizes = engine.sizes({"x": X})
    assert sizes == {first.name: 24, "fc_output": 4 * 4 + 24 + 8, "neg_output": 24}
    assert engine.parameter("fc_bias") is not None and engine.parameter("x") is None
    with pytest.raises(BadInput, match="missing input x"):
        engine.complete({})
    assert engine.complete({"x": X, "unread": Z}).keys() == {"x"}
    with pytest.raises(BadInput, match="ONNX models run on onnxruntime; choose --engine onnxruntime"):
        NativeEngine(Model("m", proto=onnx.ModelProto()))


def test_the_inside_of_an_onnx_model(two: Path) -> None:
    engine = OnnxEngine(open_model(two))
    assert [(t.name, t.operator, t.inputs) for t in engine.inner_tensors()] == [
        ("s", "Add", ("x", "z")), ("h", "Mul", ("x",)), ("p", "Mul", ("h", "z")),
    ]  # fmt: skip
    shown = engine.expose({"x": X, "z": Z}, ["h", "s", "h"])
    assert shown.keys() == {"h", "s"}
    np.testing.assert_array_equal(shown["h"], X * W)
    tensor = engine.inner_tensors()[2]
    np.testing.assert_array_equal(engine.compute_alone(tensor, {"h": X, "z": Z}), X * Z)  # type: ignore[arg-type]
    np.testing.assert_array_equal(engine.compute_alone(tensor, {"x": X, "z": Z}), X * W * Z)  # type: ignore[arg-type]
    assert engine.compute_alone(tensor, {"h": X}) is None
    assert engine.parameter("w").tolist() == W.tolist() and engine.parameter("h") is None  # type: ignore[union-attr]
    seen: list[Any] = []
    engine.walk({"x": X, "z": Z}, [["h"], ["p", "s"]], lambda i, shown: seen.append((i, sorted(shown))))
    assert seen == [(0, ["h"]), (1, ["p", "s"])]
    cut, given = frozenset(("s", "h", "p")), {"h": X, "z": Z, "x": X}
    for scratch in (False, True):
        made = OnnxEngine(open_model(two), scratch=scratch).run_forced(cut, given, ["p", "h"])
        np.testing.assert_array_equal(made["p"], X * Z)
        np.testing.assert_array_equal(made["h"], X * W)
    exact = engine.exact_by_oracle(cut, {"h": X, "z": Z}, "p")
    assert exact is not None and exact.dtype == np.float64
    np.testing.assert_array_equal(exact, X.astype(float) * Z)
    ours = engine.exact(cut, {"h": X, "z": Z}, "p")
    assert ours is not None and ours.dtype == np.float64 and np.array_equal(ours, exact)
    unread = Model("m", proto=onnx.parser.parse_model(TWO.replace("Add", "Nothing")))
    blind = OnnxEngine(unread)
    assert blind.native_engine is None and blind.part(cut, ["p"]) is None and blind.exact(cut, given, "p") is None


def test_how_coarse_every_tensor_is() -> None:
    text = """<ir_version: 8, opset_import: ["": 17]> net (float[2] x, float16[2] q) => (float[2] y, float[2] z)
    { h = Cast <to = 10> (x)  b = Cast <to = 16> (q)  y = Cast <to = 1> (h)  c = Cast <to = 1> (b)  s = Add (y, c)
      z = Neg (x)  i = Cast <to = 6> (s) }"""
    model = Model("m", proto=onnx.parser.parse_model(text))
    feeds = {"x": np.ones(2, np.float32), "q": np.ones(2, np.float16)}
    want = {"h": "float16", "b": "bfloat16", "y": "float16", "c": "bfloat16", "s": "bfloat16", "z": "", "i": "bfloat16"}
    found = OnnxEngine(model).precision(feeds)
    assert {n: found[n] for n in want} == want
    x = mx.sym.var("x")
    half = mx.sym.Cast(x, dtype="float16", name="half")
    back = mx.sym.Cast(half, dtype="float32", name="back")
    net = mx.sym.Group([mx.sym.broadcast_add(back, x, name="sum"), mx.sym.negative(x, name="neg")])
    found = NativeEngine(open_model(net)).precision({"x": np.ones(2, np.float32)})
    names = {"half_output": "float16", "back_output": "float16", "sum_output": "float16", "neg_output": "", "x": ""}
    assert {n: found[n] for n in names} == names
    fed = NativeEngine(open_model(mx.sym.Cast(x, dtype="float32", name="back"))).precision(
        {"x": np.ones(2, np.float16)}
    )
    assert fed == {"x": "", "back_output": ""}  # what is fed is not rounded


# -- float64 -------------------------------------------------------------------------------------------------------------------


def test_models_in_float64() -> None:
    inner = helper.make_graph(
        [helper.make_node("Constant", [], ["k"], value_float=0.1), helper.make_node("Add", ["h", "k"], ["o"])],
        "then", [], [helper.make_tensor_value_info("o", TensorProto.FLOAT, [2])],
    )  # fmt: skip
    other = helper.make_graph(
        [helper.make_node("Constant", [], ["k2"], value=numpy_helper.from_array(np.array([0.3, 0.7], np.float32))),
         helper.make_node("Mul", ["h", "k2"], ["o2"])],
        "else", [], [helper.make_tensor_value_info("o2", TensorProto.FLOAT, [2])],
    )  # fmt: skip
    triple = helper.make_function(
        "my", "Triple", ["a"], ["b"],
        [helper.make_node("Constant", [], ["t"], value_floats=[3.0, 0.1]), helper.make_node("Mul", ["a", "t"], ["b"])],
        [helper.make_opsetid("", 17)],
    )  # fmt: skip
    nodes = [
        helper.make_node("Cast", ["i"], ["c"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["c", "w"], ["g"]),
        helper.make_node("Triple", ["g"], ["h"], domain="my"),
        helper.make_node("If", ["on"], ["y"], then_branch=inner, else_branch=other),
    ]
    info = helper.make_tensor_value_info
    weights = numpy_helper.from_array(np.array([0.1, 0.2], np.float32), "w")
    graph = helper.make_graph(
        nodes, "net", [info("i", TensorProto.DOUBLE, [2]), info("on", TensorProto.BOOL, [])],
        [info("y", TensorProto.FLOAT, [2])], [weights],
    )  # fmt: skip
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("my", 1)],
        functions=[triple],
        ir_version=8,
    )
    fine = np.array([1 / 3, 2 / 3])
    for on in (True, False):
        (got,) = (
            ReferenceEngine(Model("m", proto=widened_model(model)))
            .run_unchecked({"i": fine, "on": np.array(on)})
            .values()
        )
        # constants are the float32 numbers that the model holds, those given as attributes too
        h = (fine + np.float32([0.1, 0.2]).astype(float)) * np.float32([3, 0.1]).astype(float)
        want = h + float(np.float32(0.1)) if on else h * np.float32([0.3, 0.7]).astype(float)
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, want, rtol=1e-15)
    half = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> net (float16[2] x) => (float16[2] y) { y = Cast <to = 10> (x) }'
    )
    for halved, kind in ((False, TensorProto.FLOAT16), (True, TensorProto.DOUBLE)):
        wide = widened_model(half, halved)
        assert [wide.graph.input[0].type.tensor_type.elem_type, wide.graph.node[0].attribute[0].i] == [kind, kind]
    assert half.graph.node[0].attribute[0].i == TensorProto.FLOAT16


def test_graphs_in_float64() -> None:
    fine = np.array([1 / 3, -2 / 3, 0.7])
    x = mx.sym.var("x")
    for net, want in (
        (mx.sym.Cast(x, dtype="float32") * 0.1, fine * 0.1),
        (mx.sym.broadcast_add(mx.sym.zeros((3,)) + 0.1, x), fine + 0.1),
        (mx.sym.Group([x * 3, x + 1])[1], fine + 1),
        (
            mx.sym.contrib.quantize(x, mx.sym.zeros((1,)) - 1, mx.sym.zeros((1,)) + 1, out_type="int8")[0],
            np.array([42, -85, 89]),
        ),
        (mx.sym.contrib.cond(mx.sym.sum(x) > 0, lambda: x * 0.1, lambda: x * 0.3), fine * 0.1),
        (mx.sym.Cast(x, dtype="int32"), np.array([0, 0, 0])),
    ):
        (got,) = Exact(net.graph, {}).run({"x": fine})
        np.testing.assert_allclose(got, want, rtol=1e-15, atol=1e-16)
    (stored,) = Exact((x * mx.sym.var("w")).graph, {"w": np.float32([1, 2, 3]), "other": fine}).run({"x": fine})
    np.testing.assert_allclose(stored, fine * [1, 2, 3], rtol=1e-15)
    assert widen(np.float16([1])).dtype == np.float64 and widen(np.int8([1])).dtype == np.int8
    net = Exact(
        (x * mx.sym.var("w") + mx.sym.var("big")).graph,
        {"w": np.float32([1, 2, 3]), "big": np.zeros((1 << 20) + 3, np.float32)[:3]},
    )
    plain, moved = net.run({"x": fine.astype(np.float32)})[0], net.run({"x": fine.astype(np.float32)}, (1.0, 0))[0]
    apart = np.abs(moved / plain - 1) / 2.0**-23
    assert 0.01 < apart.max() <= 2.0


def test_float64_where_operators_have_it_and_where_they_have_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop's outputs though it runs no time; an operator that refuses float64 gets what it was made for."""
    text = """<ir_version: 8, opset_import: ["": 17]> m (int64 n, float[3] x) => (float[3] y, float[k, 3] z, int64[3] w) {
        y, z, w = Loop (n, , x, j) <body = step (int64 i, bool on, float[3] s, int64[3] m) =>
            (bool going, float[3] t, int64[3] p, float[3] u) { going = Identity (on) t = Add (s, s) p = Add (m, i) u = Neg (t) }>
    }""".replace("y, z, w = Loop", "y, w, z = Loop").replace("m (int64 n,", "m (int64 n, int64[3] j,", 1)
    found = Model("loop", proto=onnx.parser.parse_model(text)).native
    x, j = np.float32([1 / 3, -2, 5]), np.array([4, 5, 6])
    for turns in (0, 2):
        y, z, w = Exact(found.graph, found.params).run({"n": np.array(turns), "x": x, "j": j})
        assert [a.dtype for a in (y, z, w)] == [np.float64, np.float64, np.int64]
        assert y.tolist() == (x.astype(float) * 2**turns).tolist()
        assert z.tolist() == [(-x.astype(float) * 2 ** (i + 1)).tolist() for i in range(turns)]
        assert w.tolist() == (j + sum(range(turns))).tolist()
    real = exact.apply

    def refusing(op: Any, arrays: Any, *others: Any, **options: Any) -> Any:
        if op.name in ("sin", "pick") and any(a.dtype == np.float64 for a in arrays):
            raise mx.base.MXNetError("no float64")
        return real(op, arrays, *others, **options)

    monkeypatch.setattr(exact, "apply", refusing)
    third = mx.sym.var("x") * 0.1
    (got,) = Exact(mx.sym.sin(third).graph, {}).run({"x": x})
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, np.sin((x.astype(float) * 0.1).astype(np.float32)))
    picked = mx.sym.pick(mx.sym.var("t"), mx.sym.var("i"), axis=1)
    (got,) = Exact(picked.graph, {}).run({"t": np.stack([x, -x]), "i": np.array([2, 0], np.int32)})
    assert got.tolist() == [5.0, -float(x[0])]
    monkeypatch.undo()
    monkeypatch.setattr(exact, "JITTERED", 3)
    for name, array, feeds, moves in (
        ("w", np.zeros(3, np.float32), {}, True), ("w", np.zeros(4, np.float32), {}, False),
        ("w", np.zeros(4, np.float32), {"w": 0}, True), ("w", np.zeros(2, np.int32), {"w": 0}, False),
    ):  # fmt: skip
        assert Exact._moves(name, array, feeds) == moves


def test_pieces_of_onnx_models() -> None:
    """Sparse weights, stored values that are fed, bodies that read from outside, and what a body makes under a tensor's name."""
    text = """<ir_version: 8, opset_import: ["": 17]> m (float[2, 3] x, bool c) => (float[2, 3] y) {
        , h = Pair (x) a = Add (h, s) b = Mul (a, w) y = If (c) <
            then_branch = yes () => (float[2, 3] p) { d = Add (b, v) p = Neg (d) },
            else_branch = no () => (float[2, 3] q) { q = Identity (a) }>
        d = Abs (b)
    }""".replace(", h = Pair (x)", "h = Relu (x)")
    proto = onnx.parser.parse_model(text)
    values = helper.make_tensor("s", TensorProto.FLOAT, [2], [5, 7])
    indices = helper.make_tensor("i", TensorProto.INT64, [2], [1, 5])
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2, 3]))
    proto.graph.initializer.extend([numpy_helper.from_array(W, "w"), numpy_helper.from_array(W * 2, "v")])
    s = np.float32([[0, 5, 0], [0, 0, 7]])
    one = {"x": X, "a": X + 1, "b": X + 2, "c": np.array(True)}

    def piece(names: list[str], given: dict[str, Any], cut: str = "hab") -> tuple[Any, dict[str, Any]]:
        made = cut_out(proto, set(cut), given, names)
        return made, {i.name for i in made.graph.input}

    own = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "my": 1]>
        m (float[2, 3] x) => (float[2, 3] y) { h = my.Twice (x) y = my.Twice (h) }
        <domain: "my", opset_import: ["": 17]> Twice (a) => (b) { b = Add (a, a) }""")
    made = cut_out(own, {"h"}, {"x": X, "h": Z}, ["y"])
    (got,) = OnnxEngine(Model("twice", proto=made)).run_unchecked({"h": Z}).values()
    np.testing.assert_array_equal(got, Z * 2)

    made, takes = piece(["a"], {**one, "h": Z})
    assert (
        takes == {"h"}
        and [t.values.name for t in made.graph.sparse_initializer] == ["s"]
        and not made.graph.initializer
    )
    (got,) = ReferenceEngine(Model("a", proto=dense(made))).run_unchecked({"h": Z}).values()
    np.testing.assert_array_equal(got, Z + s)
    made, takes = piece(["a"], {**one, "h": Z, "s": Z})
    assert takes == {"h", "s"} and not made.graph.sparse_initializer
    made, takes = piece(["y"], one)
    assert takes == {"a", "b", "c"} and [t.name for t in made.graph.initializer] == ["v"]
    for on, want in ((True, -(X + 2 + W * 2)), (False, X + 1)):
        (got,) = OnnxEngine(Model("y", proto=made)).run_unchecked({**one, "c": np.array(on)}).values()
        np.testing.assert_array_equal(got, want)
    made, takes = piece(["y"], {**one, "v": X}, "ab")
    assert takes == {"a", "b", "c", "v"} and not made.graph.initializer
    made, takes = piece(["b", "a"], {"x": X}, "")
    assert [o.name for o in made.graph.output] == ["b/made", "a/made"] and takes == {"x"}
    assert [n.op_type for n in made.graph.node] == ["Relu", "Add", "Mul", "Identity", "Identity"]
    inside = [t.name for t in OnnxEngine(Model("m", proto=proto)).inner_tensors()]
    assert inside == ["h", "a", "b", "y"]  # d is another tensor in a body
    lists = helper.make_node("Both", ["x"], ["z"])
    graphs = [a.g for a in proto.graph.node[3].attribute]
    lists.attribute.append(helper.make_attribute("bodies", graphs))
    assert sorted(inner_outputs(lists)) == ["d", "p", "q"]


def dense(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its sparse weights as others, for evaluators that read no sparse ones."""
    for sparse in model.graph.sparse_initializer:
        array = np.zeros(tuple(sparse.dims), np.float32).reshape(-1)
        array[numpy_helper.to_array(sparse.indices)] = numpy_helper.to_array(sparse.values)
        model.graph.initializer.append(numpy_helper.from_array(array.reshape(tuple(sparse.dims)), sparse.values.name))
    del model.graph.sparse_initializer[:]
    return model


def test_every_float32_of_a_model_is_widened() -> None:
    """Casts by to and by dtype, constants of every form, several functions, lists of bodies; other attributes stay."""
    functions = [
        helper.make_function(
            "my", n, ["a"], ["b"], [helper.make_node("Cast", ["a"], ["b"], to=1)], [helper.make_opsetid("", 17)]
        )
        for n in ("F", "G")
    ]
    body = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["q"], to=1)], "b", [], [helper.make_tensor_value_info("q", 1, [2])]
    )
    nodes = [
        helper.make_node("RandomNormalLike", ["x"], ["r"], dtype=1, seed=1.0),
        helper.make_node("Odd", ["x"], ["o"], axis=1, to=7, value_float=0.5),
        helper.make_node("Constant", [], ["k"], value_int=1),
        helper.make_node("Constant", [], ["f"], value_floats=[0.1, 2.0]),
        helper.make_node("Constant", [], ["w"], value_string="1"),
        helper.make_node("Both", ["x"], ["z"], bodies=[body, body]),
    ]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [2])], [])
    wide = widened_model(helper.make_model(graph, functions=functions))
    assert [f.node[0].attribute[0].i for f in wide.functions] == [TensorProto.DOUBLE] * 2
    random, odd, whole, floats, word, both = wide.graph.node
    assert {a.name: helper.get_attribute_value(a) for a in random.attribute} == {
        "dtype": TensorProto.DOUBLE,
        "seed": 1.0,
    }
    assert {a.name: helper.get_attribute_value(a) for a in odd.attribute} == {"axis": 1, "to": 7, "value_float": 0.5}
    assert [(n.attribute[0].name, helper.get_attribute_value(n.attribute[0])) for n in (whole, word)] == [
        ("value_int", 1), ("value_string", b"1"),
    ]  # fmt: skip
    assert floats.attribute[0].name == "value"
    found = numpy_helper.to_array(floats.attribute[0].t)
    assert found.dtype == np.float64 and found.tolist() == np.float32([0.1, 2]).astype(float).tolist()
    for inner in both.attribute[0].graphs:
        assert inner.node[0].attribute[0].i == inner.output[0].type.tensor_type.elem_type == TensorProto.DOUBLE


# -- opening -------------------------------------------------------------------------------------------------------------------


def test_formats_recognise_open_and_translate(two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A format recognises and opens again what it translated, from whichever format it came; a further one is one more."""
    net, params = symbol()
    (tmp_path / "braces.txt").write_text("{")
    mine = [net, net.graph, tmp_path / "a.json", tmp_path / "braces.txt"]
    theirs = [onnx.load(two), two.read_bytes(), two]
    (tmp_path / "a.json").write_text("")
    assert [[f.recognises(s) for s in (*mine, *theirs)] for f in models.FORMATS] == [
        [True] * 4 + [False] * 3,
        [False] * 2 + [True] * 5,
    ]
    assert not any(f.recognises(s) for f in models.FORMATS for s in (3, None, "text", {}))
    for source in (open_model(net, params), open_model(two)):
        ours = models.SYMBOL.translated(source).save(tmp_path / "again")
        assert [f.name for f in ours] == ["again-symbol.json", "again-0000.params"]
        back = open_model(ours[0])
        assert back.native.params.keys() == source.native.params.keys()
        specs = {n: Spec((4, 3), np.dtype(np.float32)) for n in back.variables()}
        (made,) = models.ONNX.translated(source, inputs=specs).save(tmp_path / "again.onnx")
        assert bridge.verify(back, made, inputs=specs).equivalent

    class Reversed:
        """A format of our own: words from behind."""

        name, translated = "reversed", None

        def recognises(self, source: Any) -> bool:
            return isinstance(source, str)

        def load(self, source: Any, params: Any = None, foreign: bool = False) -> Model:
            return open_model(net, params)

    monkeypatch.setattr(models, "FORMATS", (Reversed(), *models.FORMATS))
    monkeypatch.setattr(models, "file_of", str)
    monkeypatch.setattr(models, "is_archive", lambda path: False)
    assert open_model("xevni", params).graph is not None


def test_what_models_are_opened_from(two: Path, tmp_path: Path) -> None:
    net, params = symbol()
    mx.model.save_checkpoint(str(tmp_path / "net"), 12, net, {k: mx.nd.array(v) for k, v in params.items()}, {})
    opened = open_model(two)
    assert (opened.name, opened.kind, opened.is_onnx, opened.path, opened.extra_params()) == (
        "two",
        "onnx",
        True,
        two,
        [],
    )
    assert [open_model(two.read_bytes()).name, open_model(onnx.load(two)).name] == ["model", "net"]
    assert opened.native.graph is opened.imported.graph and opened.native is opened.native and not opened.native.is_onnx
    assert opened.native.native is opened.native and opened.native.path == two
    with pytest.raises(BadInput, match=r"no output 'nothing' in two \(ONNX\); did you mean"):
        opened.select(["s", "nothing"])
    for source in (tmp_path / "net", tmp_path / "net-symbol.json", tmp_path):
        found = open_model(source)
        assert (found.name, found.kind, found.path, found.params_path) == (
            "net", "symbol", tmp_path / "net-symbol.json", tmp_path / "net-0012.params",
        )  # fmt: skip
        assert {k: v.tolist() for k, v in found.params.items()} == {k: v.tolist() for k, v in params.items()}
    (tmp_path / "net-0012.params").rename(tmp_path / "net.params")
    assert open_model(tmp_path / "net").params_path == tmp_path / "net.params"
    (tmp_path / "net-12x.params").write_bytes(b"")
    (tmp_path / "nets-0099.params").write_bytes(b"")
    assert open_model(tmp_path / "net").params_path == tmp_path / "net.params"
    net.save(str(tmp_path / "more-symbol.json"))
    with pytest.raises(
        BadInput,
        match=r"2 -symbol\.json files \(more-symbol\.json, net-symbol\.json\); name the one you mean",
    ):
        open_model(tmp_path)
    plain = tmp_path / "plain.txt"
    plain.write_bytes(b" \n" + (tmp_path / "net-symbol.json").read_bytes())
    assert open_model(plain).kind == "symbol"
    (tmp_path / "model.bin").write_bytes(two.read_bytes())
    assert open_model(tmp_path / "model.bin").is_onnx
    unnamed = tmp_path / "list.params"
    mx.nd.save(str(unnamed), [mx.nd.array([1, 2]), mx.nd.array([3])])
    with pytest.raises(BadInput, match="holds a list of 2 unnamed arrays, wanted named parameters"):
        open_model(net, unnamed)
    for given in (
        {"arg:fc_bias": 3, "aux:q": [1, 2], "none": None},
        {"none": None, "arg:fc_bias": 3, "no": None, "aux:q": [1, 2]},
    ):
        assert open_model(net, given).params.keys() == {"fc_bias", "q"}
    assert open_model(net, {**params, "aux:q": 1}).extra_params() == ["q"]


def test_cutting_keeps_the_order_that_was_asked_for() -> None:
    net, params = symbol()
    model = open_model(net, params)
    for chosen in (["fc_output"], ["neg", "fc"], ["fc", "neg_output"], ["neg"]):
        cut = model.select(chosen)
        assert [e.name for e in cut.graph.outputs] == [f"{c.removesuffix('_output')}_output" for c in chosen]  # type: ignore[union-attr]
    assert model.select(None) is model and model.select([]) is model
    with pytest.raises(BadInput) as caught:
        model.select(["fc_outputs", "fc", "nag"])
    assert len(caught.value.problems) == 2
    assert "no output 'fc_outputs' in the graph; did you mean fc_output" in caught.value.problems[0]
    assert "neg" in caught.value.problems[1]


def test_inputs_are_told_from_missing_parameters() -> None:
    """A variable in the place of an operator's parameter is one, unless something else reads it too or it is named."""
    x, w = mx.sym.var("x"), mx.sym.var("w")
    fc = mx.sym.FullyConnected(x, w, num_hidden=2, name="fc")
    assert split_inputs(open_model(fc), {}) == (["x"], ["w", "fc_bias"])
    assert split_inputs(open_model(fc), {"w": None}) == (["x", "w"], ["fc_bias"])
    both = mx.sym.Group([fc, w * 2])
    assert split_inputs(open_model(both), {}) == (["x", "w"], ["fc_bias"])
    assert split_inputs(open_model(fc, {"fc_bias": X[0]}), {}) == (["x"], ["w"])


def test_sizes_past_the_budget_and_descriptions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.models.memory_budget", lambda: 400)
    f4 = np.dtype(np.float32)
    assert too_large([("a", Spec((10, 10), f4)), ("b", Spec((0, 101), f4))]) == []
    (problem,) = too_large([("a", Spec((10, 10), f4)), ("b", Spec((101,), f4)), ("c", Spec(None, f4))])
    assert problem.startswith("b: (101,) takes 404 ") and "the memory budget is 400 " in problem
    assert describe(Spec((2, UNKNOWN, "n"), f4)) == {"shape": [2, "?", "n"], "dtype": "float32"}
    assert describe(Spec()) == {"shape": None, "dtype": None}


# -- inputs --------------------------------------------------------------------------------------------------------------------


def test_what_inputs_are_read_from() -> None:
    assert parse_inputs(["a:1,20,3:float16", "b:c:5", "d:", "e:int8:7:int8"]) == {
        "a": Spec((1, 20, 3), np.dtype(np.float16)), "b:c": Spec((5,)), "d": Spec(()), "e:int8": Spec((7,), np.dtype(np.int8)),
    }  # fmt: skip
    with pytest.raises(BadInput) as caught:
        parse_inputs(["a", "b:1,0,-2", "b:2", "c:3:what", "d:0,3"])
    assert [p.partition(":")[0] for p in caught.value.problems] == ["input 'a'", *(f"input '{n}" for n in "bbcd")]
    assert "--dynamic b:1=batch" in caught.value.problems[1] and "b is given twice" in caught.value.problems[2]
    assert "wanted sizes of 1 or more" in caught.value.problems[4] and "--dynamic d:0=batch" in caught.value.problems[4]
    assert parse_dynamic(["a:0=n,2=h", "a:1=m", "b:c:0=n", "a:0=n"]) == {"a": {0: "n", 2: "h", 1: "m"}, "b:c": {0: "n"}}
    for wrong in ("a", "a:n", "a:0=", "a:0=1x", ":0=n", "a:0=n,", "a:x=n"):
        with pytest.raises(BadInput, match="wanted NAME:AXIS=LABEL"):
            parse_dynamic([wrong])
    specs, arrays = as_specs({"a": (2, 3), "b": X, "c": Spec((4,), X.dtype), "d": [np.int64(5)], "e": mx.nd.array(Z)})
    assert specs == {
        "a": Spec((2, 3)), "b": Spec((2, 3), X.dtype), "c": Spec((4,), X.dtype), "d": Spec((5,)), "e": Spec((2, 3), X.dtype),
    }  # fmt: skip
    assert arrays.keys() == {"b", "e"} and arrays["e"].tolist() == Z.tolist()
    assert as_specs(None) == ({}, {})
    for value, said in (
        ((2, 0), r"got shape \(2, 0\), wanted sizes of 1 or more"), ("2,3", "got '2,3', wanted a shape, an array or a Spec"),
        ({1: 2}, r"got \{1: 2\}, wanted a shape"), ((1.5,), r"got \(1.5,\), wanted a shape"),
        (np.array(["a"]), "got an array of <U1, wanted numbers"),
    ):  # fmt: skip
        with pytest.raises(BadInput, match=f"input q: {said}"):
            as_specs({"q": value})


def test_what_is_drawn() -> None:
    f4, spec = np.dtype(np.float32), Spec
    normal = draw({"x": spec((40, 50))}, {})["x"]
    assert normal.dtype == f4 and abs(float(normal.mean())) < 0.1 and 0.9 < float(normal.std()) < 1.1
    assert set(np.unique(draw({"x": spec((99,), np.dtype(bool))}, {})["x"])) == {False, True}
    assert set(np.unique(draw({"x": spec((99,), np.dtype(np.int64))}, {})["x"]).tolist()) == {0, 1, 2, 3, 4}
    assert draw({"x": spec((9,))}, {}, 3)["x"].tolist() == draw({"y": spec((3,)), "x": spec((9,))}, {}, 3)["x"].tolist()
    for dtype, domain, want in (
        ("uint8", Domain(-1, 1, True), {0, 1}),
        ("uint8", Domain(-1, 1), {0, 1}),
        ("int8", Domain(-1.5, 1.5), {-1, 0, 1}),
        ("int8", Domain(126, 1000, True), {126, 127}),
        ("int32", Domain(-1, 1, True), {-1, 0, 1}),
    ):
        found = draw({"x": spec((99,), np.dtype(dtype))}, {"x": Taken(domain)})["x"]
        assert (found.dtype, set(found.tolist())) == (dtype, want)
    with pytest.raises(BadInput, match="no number that the model could take"):
        draw({"x": spec((9,), np.dtype("uint8"))}, {"x": Taken(Domain(-3, -1, True))})
    one, two, other = (draw({n: spec((9,))}, {}, s)[n].tolist() for n, s in (("x", 3), ("x", 4), ("y", 3)))
    assert one != two and one != other
    given = {"x": np.zeros(0, np.float32), "y": np.float32([7])}
    found = draw({"x": spec((3,)), "y": spec((3,)), "z": spec((3,))}, {"z": Taken(Domain(5, 6))}, 0, given)
    assert found["y"].tolist() == [7, 7, 7] and len(set(found["x"].tolist())) == 3
    assert ((found["z"] >= 5) & (found["z"] <= 6)).all()
    for specs, known, seed, said in (
        ({"x": spec((2,))}, {}, -1, "got seed -1, wanted 0 or more"),
        ({"x": spec((UNKNOWN, 2))}, {}, 0, "input x: the shape has unknown dims; give it"),
        ({"x": spec((2,))}, {"x": Taken(Domain(0, -1, True))}, 0, "there is no number that the model could take"),
    ):
        with pytest.raises(BadInput, match=said):
            draw(specs, known, seed)


def test_files_of_one_array(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.asfortranarray(X))
    assert load_feeds(tmp_path / "x.npy", ["x"])["x"].tolist() == X.tolist()
    with pytest.raises(BadInput, match=r"one array for 2 inputs; wanted an .npz with x, z"):
        load_feeds(tmp_path / "x.npy", ["x", "z"])
    np.savez_compressed(tmp_path / "x.npz", x=X, z=Z)
    assert {k: v.tolist() for k, v in load_feeds(tmp_path / "x.npz", ["x"]).items()} == {
        "x": X.tolist(),
        "z": Z.tolist(),
    }


def test_cases(two: Path) -> None:
    """Arrays as they are, the rest drawn; sizes that are open are asked for."""
    opened = open_model(two)
    one, native = OnnxEngine(opened), NativeEngine(opened.native)
    for a, b in ((one, native), (native, one), (one, one)):
        specs = {"x": Spec(X.shape, X.dtype), "z": Spec((2, 3))}
        case = make_case(a, b, specs, {"x": X}, 4)
        assert case.feeds["x"] is X and case.feeds["z"].dtype == np.float32
        assert (case.seed, case.shapes) == (4, {"x": (2, 3), "z": (2, 3)})
        assert make_case(a, b, specs, {"x": X, "z": Z}, 4).seed is None
        assert make_case(a, b, {}, {}, 0).shapes == {"x": (2, 3), "z": (2, 3)}  # all but the batch is known
        with pytest.raises(BadInput, match="got input 'q', wanted some of x, z"):
            make_case(a, b, {"q": Spec((1,))}, {}, 0)
    net, params = symbol()
    other = NativeEngine(open_model(net, params))
    more = NativeEngine(open_model(mx.sym.var("x") + mx.sym.var("z"), {}))
    for sides in ((more, other), (other, more)):
        with pytest.raises(BadInput) as caught:
            make_case(*sides, {"x": Spec((2, 3))}, {}, 0)
        assert caught.value.problems[0].startswith("give the shape of input z, for instance --input z:")
        assert {p.partition(" ")[2] for p in caught.value.problems[-2:]} == {"takes x, z", "takes x"}
    with pytest.raises(BadInput, match=r"got 2 outputs \(s, p\) against 1 \(y\)"):
        pair_outputs(["s", "p"], ["y"])
    for few, many in ((["a"], ["a", "b"]), (["b", "a"], ["a", "c", "b"])):
        for sides in ((few, many), (many, few)):  # one output too few is no match, though all names are there
            with pytest.raises(BadInput, match=f"got {len(sides[0])} outputs .* against {len(sides[1])} "):
                pair_outputs(*sides)
    # what is drawn suits both sides, whichever is first and whether or not the other minds
    places = mx.sym.var("x")
    tables = [mx.sym.Embedding(places, input_dim=n, output_dim=2) for n in (7, 4)]
    rows = [open_model(t, {f"{t.name}_weight": np.ones((n, 2), np.float32)}) for t, n in zip(tables, (7, 4))]
    free = open_model(places * 2, {})
    for (a, b), most in ((rows, 3), (rows[::-1], 3), ((rows[0], free), 6), ((free, rows[0]), 6)):
        drawn = make_case(NativeEngine(a), NativeEngine(b), {"x": Spec((200,))}, {}, 0).feeds["x"]
        assert np.unique(drawn).tolist() == list(range(most + 1))


# -- verify --------------------------------------------------------------------------------------------------------------------


def test_verification_of_chosen_outputs() -> None:
    """A symbol that is wrong in one output only."""
    net, params = symbol()
    x = mx.sym.var("x")
    wrong = mx.sym.Group([mx.sym.FullyConnected(x * 2, num_hidden=2, name="fc"), mx.sym.identity(x, name="neg")])
    for chosen, equal in ((["fc_output"], True), (["neg_output"], False), (["fc", "neg"], False), (None, False)):
        found = bridge.verify(net, wrong, params=params, inputs={"x": (4, 3)}, outputs=chosen)
        assert found.equivalent == equal, chosen
        if not equal:
            assert found.divergence is not None and found.divergence.node == "neg"
            assert found.faults == ("neg",)
    for runs, seed in ((1, 0), (3, 5), (0, 2)):
        found = bridge.verify(net, net, params=params, inputs={"x": (4, 3)}, runs=runs, seed=seed)
        assert [r["seed"] for r in found.runs if r["kind"] == "expected"] == [seed + i for i in range(max(runs, 1))]
        assert found.as_dict()["equivalent"] is True


class Shown:
    """An engine whose tensors are known. lacks: tensors that it refuses to show."""

    def __init__(self, values: dict[str, np.ndarray], alone: Any = None, lacks: tuple[str, ...] = ()):
        self.values, self.made, self.lacks = values, alone, lacks
        self.asked: list[list[str]] = []

    def inner_tensors(self) -> list[Any]:
        return [locate.Tensor(n, f"node {n}", "Op", ("x",)) for n in self.values]

    def sizes(self, feeds: Any) -> dict[str, int]:
        return {n: v.nbytes for n, v in self.values.items() if n != "unsized"}

    def expose(self, feeds: Any, names: Any) -> dict[str, np.ndarray]:
        names = list(names)
        self.asked.append(names)
        if any(n in self.lacks for n in names):
            raise EngineError("not shown")
        return {n: self.values[n] for n in names if n in self.values}

    def compute_alone(self, tensor: Any, given: Any) -> Any:
        if isinstance(self.made, Exception):
            raise self.made
        return self.made


def test_the_first_tensor_that_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    right = {n: X * i for i, n in enumerate("abcde", 1)}
    case = Case({"x": X})
    for wrong in ("a", "c", "e", "bd", "", "eb"):
        theirs = {n: v + (1 if n in wrong else 0) for n, v in reversed(right.items())}
        for limit, groups in ((1 << 20, 1), (48, 3), (24, 5), (1, 5)):
            monkeypatch.setattr(locate, "EXPOSED_BYTES", limit)
            one: Any = Shown(right, X)
            found = locate.first_divergence(one, Shown(theirs, X), case)  # type: ignore[arg-type]
            assert (found and found.tensor) == (min(wrong) if wrong else None)
            assert wrong or [n for g in one.asked for n in g] == list("abcde")
            assert wrong or len(one.asked) == groups
    monkeypatch.setattr(locate, "EXPOSED_BYTES", 1)
    theirs = {n: v + (n in "bd") for n, v in right.items() if n != "a"}
    for lacks, node in (((), "node b"), (("b",), "node d"), (("b", "d"), None)):
        found = locate.first_divergence(Shown(right, X), Shown(theirs, X, lacks), case)  # type: ignore[arg-type]
        assert (found and found.node) == node
    for mine, other, kind in (
        (X, X, "accumulated"), (X, X + 1, "local"), (None, X, "unknown"), (X, None, "unknown"),
        (EngineError("no"), X, "unknown"), (X, EngineError("no"), "unknown"),
    ):  # fmt: skip
        found = locate.first_divergence(Shown(right, mine), Shown(theirs, other), case)  # type: ignore[arg-type]
        assert found is not None and found.kind == kind
        assert found.inputs["x"]["max"] == 6.0 and found.operator == "Op"
        assert found.accumulated.max_abs == 1


def test_what_differs_by_itself_comes_before_what_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first tensor that differs though its node gets the same inputs, among the first few; and names of either side."""
    right = {n: X * i for i, n in enumerate("abcde", 1)}
    theirs = {n: v + (n != "a") for n, v in right.items()}
    one, two = Shown(right), Shown({n.upper(): v for n, v in theirs.items()})
    pairs = {n: n.upper() for n in right}
    for local, looked, want, kind in (
        ("d", 8, "d", "local"), ("bd", 8, "b", "local"), ("", 8, "b", "accumulated"), ("d", 2, "b", "accumulated"),
    ):  # fmt: skip
        monkeypatch.setattr(locate, "EXPLAINED", looked)
        one.compute_alone = lambda _tensor, _given: X  # type: ignore[method-assign]
        two.compute_alone = lambda t, _given, local=local: X + (t.name.lower() in local)  # type: ignore[method-assign]
        found = locate.first_divergence(one, two, Case({"x": X}), None, pairs)  # type: ignore[arg-type]
        assert found is not None and (found.tensor, found.kind) == (want, kind)
        assert (found.second, found.second_node) == (want.upper(), f"node {want.upper()}")
    assert locate.first_divergence(one, two, Case({"x": X})) is None  # type: ignore[arg-type]
    other = {"a": X[:1], "b": X * 3}  # one of another shape shares the name, and may be something else
    found = locate.first_divergence(Shown({"a": X, "b": X * 2}, X), Shown(other, X), Case({"x": X}))  # type: ignore[arg-type]
    assert found is not None and found.tensor == "b"
    found = locate.first_divergence(Shown({"a": X}, X), Shown({"a": X[:1]}, X), Case({"x": X}))  # type: ignore[arg-type]
    assert found is not None and found.tensor == "a"


def test_tensors_that_one_side_does_not_show_are_passed_over() -> None:
    right = {"a": X, "b": X * 2, "unsized": X * 3}
    case = Case({"x": X})
    for theirs, want in (
        ({"a": None, "b": X * 2 + 1, "unsized": X}, "b"),
        ({"a": X, "b": None, "unsized": X}, "unsized"),
        ({"a": X, "b": X * 2, "unsized": None}, None),
        ({}, None),
        ({"q": X}, None),
    ):
        two = Shown({n: v for n, v in theirs.items() if v is not None})
        two.inside = lambda theirs=theirs: [locate.Tensor(n, n, "Op", ()) for n in theirs]  # type: ignore[method-assign]
        for one, other in ((Shown(right), two), (two, Shown(right))):
            found = locate.first_divergence(one, other, case)  # type: ignore[arg-type]
            assert (found and found.tensor) == want


def test_a_node_with_a_body_alone() -> None:
    loop = mx.sym.contrib.foreach(lambda row, state: (row * 3, state), mx.sym.var("x"), [mx.sym.var("s")])[0]
    engine = NativeEngine(open_model(loop))
    (tensor,) = [t for t in engine.inner_tensors() if t.name == engine.outputs[0]]
    feeds = {"x": X, "s": Z}
    tripled = engine.compute_alone(tensor, feeds)
    assert tripled is not None
    np.testing.assert_array_equal(tripled, 3 * X)
    assert engine.compute_alone(tensor, {}) is None
    with pytest.MonkeyPatch.context() as patch:  # what is forced is NumPy's: kernels are not asked again
        patch.setattr(native, "level", lambda: pytest.fail("kernels were asked for"))
        within = engine.run_forced(frozenset(t.name for t in engine.inner_tensors()), feeds, [tensor.name])
    np.testing.assert_array_equal(within[tensor.name], 3 * X)


def test_one_output_of_a_node_alone() -> None:
    """The one that was asked for, though a variable goes by the node's name."""
    halves = mx.sym.SliceChannel(mx.sym.var("cut"), num_outputs=3, axis=1, name="cut")
    engine = NativeEngine(open_model(mx.sym.Group(list(halves))))
    for index, tensor in enumerate(engine.inner_tensors()):
        found = engine.compute_alone(tensor, {"cut": X})
        assert found is not None
        np.testing.assert_array_equal(found, X[:, index : index + 1])


def test_what_engines_cannot_do_is_none_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    net, params = symbol()
    ours = NativeEngine(open_model(net, params))
    cut = frozenset(t.name for t in ours.inner_tensors())
    mul = ours.inner_tensors()[0].name
    values = {"x": X, mul: X * 2}
    exactly = ours.exact(cut, values, "fc_output")
    assert exactly is not None
    np.testing.assert_allclose(exactly, 2 * X @ params["fc_weight"].astype(float).T + params["fc_bias"])
    assert ours.exact(cut, {**values, mul: X[:, :2]}, "fc_output") is None
    assert ours.exact_by_oracle(cut, values, "fc_output") is None
    monkeypatch.setattr("bridge.models.memory_budget", lambda: 40)
    with pytest.raises(BadInput, match=r"node neg \(negative\): \(4, 3\) takes 48"):
        ours.run({"x": np.ones((4, 3), np.float32)})
    monkeypatch.undo()
    labelled = NativeEngine(open_model(mx.sym.SoftmaxOutput(mx.sym.var("x"), name="softmax")))
    assert labelled.complete({"x": X})["softmax_label"].tolist() == [0, 0]
    with pytest.raises(BadInput) as caught:
        labelled.complete({})
    assert "missing input x" in str(caught.value)
    theirs = OnnxEngine(Model("two", proto=onnx.parser.parse_model(TWO)))
    assert theirs.part(frozenset("shp"), ["nowhere"]) is None
    assert theirs.exact(frozenset("shp"), {}, "nowhere") is None
    assert theirs.sizes({}) == {}
    with pytest.raises(EngineError, match="refused odd"):
        ReferenceEngine(Model("odd", proto=onnx.parser.parse_model(TWO.replace("Add", "Odd")))).open()
    text = """<ir_version: 8, opset_import: ["": 17]>
    m (float[2, 3] x) => (float16[2, 3] y) { h = Cast <to = 10> (x) y = Neg (h) }"""
    half = OnnxEngine(Model("half", proto=onnx.parser.parse_model(text)))
    third = X / 3
    for halved, want in ((True, third.astype(np.float64)), (False, third.astype(np.float16).astype(np.float64))):
        found = half.exact_by_oracle(frozenset("y"), {"x": third}, "y", halved)
        assert found is not None
        np.testing.assert_array_equal(found, -want)
    with pytest.raises(EngineError, match="is no one message"):
        engines._serialize(Unwritable())  # type: ignore[arg-type]


class Unwritable:
    def SerializeToString(self) -> bytes:  # noqa: N802
        raise ValueError("2 GB")


def test_how_coarse_tensors_of_several_outputs_and_no_type_are() -> None:
    text = """<ir_version: 8, opset_import: ["": 17]> m (float[4, 3] x) => (float[2, 3] a, float[2, 3] c) {
        h = Cast <to = 10> (x) p, q = Split (h) a = Cast <to = 1> (p) c = Cast <to = 1> (q) i = Shape (q)
    }"""
    engine = OnnxEngine(Model("m", proto=onnx.parser.parse_model(text)))
    found = engine.precision({})
    assert {n: found[n] for n in "hpqac"} == dict.fromkeys("hpqac", "float16")
    proto = onnx.parser.parse_model(text.replace("Shape (q)", "Odd (x)"))
    assert OnnxEngine(Model("m", proto=proto)).precision({})["i"] == ""
    broken = onnx.parser.parse_model(text.replace("float[2, 3] c", "float16[2, 3] c").replace("to = 10", "to = 1"))
    assert (
        OnnxEngine(Model("m", proto=broken)).precision({})["c"] == "float16"
    )  # as declared, where nothing can be inferred
    same = mx.sym.Group(
        [mx.sym.relu(mx.sym.var("x"), name="y"), mx.sym.relu(mx.sym.Cast(mx.sym.var("x"), dtype="float16"), name="y")]
    )
    native = NativeEngine(open_model(same))
    assert native.outputs == ("y_output", "y_output_1")
    rounded = native.precision({"x": X})
    assert (rounded["y_output_1"], rounded["y_output"] in ("float16", "float32", "")) == ("float16", True)


# -- inspect -------------------------------------------------------------------------------------------------------------------


def test_the_inside_that_inspect_tells(two: Path) -> None:
    found = bridge.inspect(two)
    assert (found.model, found.kind, found.opset, found.checked) == ("two", "onnx", 17, "whole")
    assert found.inputs == {n: {"shape": ["n", 3], "dtype": "float32"} for n in ("x", "z")}
    assert found.outputs.keys() == {"s", "p"} and found.operators == {"Mul": 2, "Add": 1}
    assert (found.parameters, found.parameter_bytes, found.dtypes) == (3, 12, {"float32": 1})
    assert (found.labels, found.missing, found.unused, found.mxnet, found.problems) == ((), (), (), (), ())
    net, params = symbol()
    known = bridge.inspect(net, {**params, "more": np.float64([1, 2])}, inputs={"x": (4, 3)}, opset=15)
    assert (known.kind, known.opset, known.checked, known.unused) == ("symbol", 15, "whole", ("more",))
    assert known.inputs == {"x": {"shape": [4, 3], "dtype": "float32"}}
    assert known.outputs["fc_output"] == {"shape": [4, 2], "dtype": "float32"}
    assert (known.parameters, known.parameter_bytes) == (6 + 2 + 2, 24 + 8 + 16)
    assert known.dtypes == {"float32": 2, "float64": 1}
    assert known.operators == {"_mul_scalar": 1, "FullyConnected": 1, "negative": 1}
    assert json.loads(json.dumps(known.as_dict()))["problems"] == []
    bare = bridge.inspect(net)
    assert (bare.missing, bare.checked) == (("fc_weight", "fc_bias"), "operators")
    assert bare.opset == 13
    assert bridge.inspect(net, opset="newest").opset == bridge.opsets.default_opset()
    labelled = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc"), name="softmax")
    found = bridge.inspect(labelled, params, inputs={"x": (4, 3)})
    assert (found.labels, list(found.inputs), found.checked) == (("softmax_label",), ["x"], "whole")
    for wrong in (6, 99):
        with pytest.raises(BadInput, match=f"got opset {wrong}, wanted 7 to"):
            bridge.inspect(net, opset=wrong)
    clash = bridge.inspect(net, params, inputs={"x": (4, 5)})
    assert len(clash.problems) == 1 and clash.problems[0].reason and clash.checked == "operators"
    lost = bridge.inspect(mx.sym.sgd_update(mx.sym.var("w"), mx.sym.var("g"), lr=0.1), inputs={"w": (2,), "g": (2,)})
    assert [p.operator for p in lost.problems] == ["sgd_update"]
    with pytest.raises(BadInput, match="the table is of MXNet's operators; this is an ONNX model"):
        bridge.operators(two)
    rows = bridge.operators(net)
    assert {r.name for r in rows.operators} == {"FullyConnected", "_mul_scalar", "negative"} and rows.absent == {}
    nodes = [
        {"op": "null", "name": "x", "inputs": []},
        {"op": "Unheard", "name": "u", "inputs": [[0, 0, 0]]},
        {"op": sorted(ABSENT)[0], "name": "a", "inputs": [[1, 0, 0]]},
        {"op": "sin", "name": "s", "inputs": [[2, 0, 0]]},
    ]
    graph = {"nodes": nodes, "arg_nodes": [0], "heads": [[3, 0, 0]], "attrs": {"mxnet_version": ["int", 10901]}}
    two.with_name("odd-symbol.json").write_text(json.dumps(graph))
    rows = bridge.operators(two.with_name("odd-symbol.json"))
    assert [r.name for r in rows.operators] == ["sin"]
    assert rows.absent == {sorted(ABSENT)[0]: ABSENT[sorted(ABSENT)[0]], "Unheard": ""}
    assert list(rows.absent) == sorted(rows.absent)


def test_backend_nodes_and_refusals(two: Path) -> None:
    from bridge import onnx_backend

    node = helper.make_node("Clip", ["x", "", "top"], ["y"])
    assert onnx_backend.run_node(node, [X, np.float32(2.5)])[0].tolist() == np.minimum(X, 2.5).tolist()
    old = helper.make_node("Softmax", ["x"], ["y"])
    cube = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    (flat,) = onnx_backend.run_node(old, [cube], opset_version=11)
    np.testing.assert_allclose(flat.sum((1, 2)), [1, 1], rtol=1e-6)  # before opset 13 over all axes from the first
    (last,) = onnx_backend.run_node(old, [cube])
    np.testing.assert_allclose(last.sum(-1), np.full((2, 2), 1.0), rtol=1e-6)
    ready = onnx_backend.prepare(onnx.load(two))
    for given in ([X, Z], (X, Z), {"z": Z, "x": X}):
        out = ready.run(given)
        assert (out.s.tolist(), out.p.tolist()) == ((X + Z).tolist(), (X * W * Z).tolist())
    assert ready.run({"x": X, "z": Z, "w": W * 2}).p.tolist() == (X * W * 2 * Z).tolist()
    with pytest.raises(ValueError, match=r"got 3 inputs, wanted 2 \(x, z\)"):
        ready.run([X, Z, X])
    with pytest.raises(ValueError, match="got inputs q, wanted some of x, z"):
        ready.run({"x": X, "z": Z, "q": X})
    with pytest.raises(ValueError, match="got device 'CUDA', wanted CPU"):
        onnx_backend.prepare(onnx.load(two), "CUDA")
    broken = onnx.parser.parse_model(TWO.replace("Add", "Nothing"))
    for model, device, fits in (
        (onnx.load(two), "CPU", True),
        (onnx.load(two), "CPU:1", True),
        (onnx.load(two), "CUDA:0", False),
        (broken, "CPU", False),
    ):
        assert onnx_backend.is_compatible(model, device) == fits


# -- models in every form ----------------------------------------------------------------------------------------------------------


def test_names_parameters_and_files_of_models(two: Path, tmp_path: Path) -> None:
    net, params = symbol()
    unnamed = onnx.load(two)
    unnamed.graph.name = ""
    assert [open_model(m).name for m in (onnx.load(two), unnamed, unnamed.SerializeToString())] == [
        "net",
        "model",
        "model",
    ]
    mx.nd.save(str(tmp_path / "own.params"), {f"arg:{n}": mx.nd.array(a) for n, a in params.items()})
    opened = open_model(net, tmp_path / "own.params")
    assert opened.params_path == tmp_path / "own.params" and opened.path is None
    assert opened.extra_params() == [] and opened.variables() == ["x"]
    block = mx.gluon.SymbolBlock(net, [mx.sym.var("x")])
    block.collect_params().initialize()
    block.collect_params().load_dict({n: mx.nd.array(a) for n, a in params.items()})
    for given, factor in ((None, 1), ({n: a * 2 for n, a in params.items()}, 2)):
        found = open_model(block, given).params
        assert {n: a.tolist() for n, a in found.items()} == {n: (a * factor).tolist() for n, a in params.items()}
    rows = mx.nd.sparse.row_sparse_array((np.ones((1, 3), np.float32), [1]), shape=(2, 3))
    held = open_model(net, {"fc_weight": rows, "aux:fc_bias": mx.nd.array(params["fc_bias"]), "gone": None}).params
    assert held.keys() == {"fc_weight", "fc_bias"} and held["fc_weight"].tolist() == [[0, 0, 0], [1, 1, 1]]
    folder = tmp_path / "folder"
    folder.mkdir()
    for count, said in ((0, "a folder with 0 -symbol.json files"), (1, ""), (2, "a folder with 2 -symbol.json files")):
        if count:
            net.save(str(folder / f"m{count}-symbol.json"))
        if said:
            with pytest.raises(BadInput, match=said):
                open_model(folder)
        else:
            assert open_model(folder).name == "m1"
    for name, content in (("braces.onnx", b'{"nodes": []}'), ("plain.json", b"\x08\x01")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(mx.base.MXNetError, match="ONNX" if name.endswith("onnx") else "JSON"):
            open_model(tmp_path / name)
    net.save(str(tmp_path / "bare"))
    assert open_model(tmp_path / "bare").graph is not None


def test_parameters_take_the_dtype_that_the_graph_computes_in() -> None:
    """Floats alone, and only where they contradict it."""
    x = mx.sym.Cast(mx.sym.var("x"), dtype="float16")
    net = mx.sym.broadcast_add(mx.sym.FullyConnected(x, num_hidden=2, name="fc"), mx.sym.var("bias"))
    stored = {
        "fc_weight": np.ones((2, 3), np.float32),
        "fc_bias": np.ones(2, np.float16),
        "bias": np.ones(2, np.float32),
    }
    found = open_model(net, {**stored, "count": np.array([3], np.int32)})
    assert {n: a.dtype.name for n, a in found.params.items()} == {
        "fc_weight": "float16", "fc_bias": "float16", "bias": "float16", "count": "int32",
    }  # fmt: skip
    assert found.cast == ("fc_weight", "bias")
    taken = mx.sym.take(mx.sym.var("t"), mx.sym.var("i"))
    plain = open_model(
        mx.sym.Cast(taken, dtype="float64") * 2, {"t": np.ones((3, 2), np.float32), "i": np.array([0, 2], np.int32)}
    )
    assert plain.cast == () and plain.params["i"].dtype == np.int32
    torn = mx.sym.broadcast_add(
        mx.sym.Cast(mx.sym.var("a"), dtype="float16"), mx.sym.Cast(mx.sym.var("b"), dtype="float64")
    )
    kept = open_model(torn, {"a": np.float32([1]), "b": np.float64([2])})
    assert kept.cast == () and {n: a.dtype.name for n, a in kept.params.items()} == {"a": "float32", "b": "float64"}


def test_what_arrays_of_another_dtype_are_told() -> None:
    w = {"w": np.ones((2, 3), np.float32)}
    model = open_model(mx.sym.broadcast_add(mx.sym.var("x"), mx.sym.var("w")) + mx.sym.var("z"), w)
    f4, f8 = np.dtype(np.float32), np.dtype(np.float64)
    told = lambda **specs: models.check_dtypes(model, specs)  # noqa: E731
    assert told(x=Spec((2, 3), f8), z=Spec((2, 3), f4)) == [
        "input x: got float64, wanted float32; convert it, as in array.astype('float32'), or give its shape without a dtype"
    ]
    assert len(told(x=Spec((2, 3), f8), z=Spec((2, 3), f8))) == 2
    assert told(x=Spec((2, 3), f4), z=Spec((2, 3))) == told(x=Spec(None, f4)) == []
    assert model.infer({"x": Spec(None, f4)}).spec(Entry(model.graph.variables()[0])).dtype == f4
    wrong = models.check_params(open_model(model.graph, {"w": np.ones((5, 3), np.float32)}), {"x": (2, 4), "z": (2, 4)})
    assert wrong == []
    layer, params = symbol()
    both = {"fc_weight": params["fc_weight"].T, "fc_bias": np.ones(3, np.float32)}
    assert models.check_params(open_model(layer, both), {"x": (4, 3)}) == [
        "parameter fc_weight: got shape (3, 2), wanted (2, 3)", "parameter fc_bias: got shape (3,), wanted (2,)",
    ]  # fmt: skip


def test_what_run_says_of_labels_and_engines(two: Path) -> None:
    head = mx.sym.SoftmaxOutput(mx.sym.var("x"), name="softmax")
    with pytest.raises(BadInput) as caught:
        bridge.run(head, {"x": X, "q": X, "r": X})
    assert caught.value.problems == tuple(f"unknown input {n}: the model takes x" for n in "qr")
    want = np.exp(X) / np.exp(X).sum(1, keepdims=True)
    for engine in ("native", "onnxruntime"):
        for feeds in ({"x": X}, {"x": X, "softmax_label": np.float32([0, 1])}):
            (got,) = bridge.run(head, feeds, engine=engine).values()  # type: ignore[arg-type]
            np.testing.assert_allclose(got, want, rtol=1e-5)
    added = mx.sym.broadcast_sub(mx.sym.var("x"), mx.sym.var("z"))
    for engine in ("native", "onnxruntime"):
        (got,) = bridge.run(added, {"x": X, "z": Z}, engine=engine).values()  # type: ignore[arg-type]
        np.testing.assert_array_equal(got, X - Z)
    net, params = symbol()
    made = bridge.convert(net, params, inputs={"x": (2, 3)}, output=two.with_name("fc.onnx"), outputs=["fc"])
    assert list(made.outputs) == ["fc_output"]
    assert bridge.verify(net, two.with_name("fc.onnx"), params=params, inputs={"x": (2, 3)}, outputs=["fc"]).equivalent
    with pytest.raises(BadInput, match="got 2 outputs"):
        bridge.verify(net, two.with_name("fc.onnx"), params=params, inputs={"x": (2, 3)})


def test_where_random_numbers_are_drawn() -> None:
    """All places are named, those in bodies too; on our side where there is one."""
    x = mx.sym.var("x")
    noisy = (
        mx.sym.random.normal(shape=(3,), name="noise")
        + mx.sym.random.uniform(shape=(3,), name="even")
        + mx.sym.relu(x, name="calm")
    )
    engine = NativeEngine(open_model(noisy))
    nodes = [
        helper.make_node("RandomNormalLike", ["x"], ["a"]),
        helper.make_node("Bernoulli", ["a"], ["b"], name="coin"),
    ]
    proto = helper.make_model(
        helper.make_graph(
            nodes, "g", [helper.make_tensor_value_info("x", 1, [3])], [helper.make_tensor_value_info("b", 1, [3])]
        )
    )
    theirs = OnnxEngine(Model("m", proto=proto))
    for engines_, said in (
        ((engine, engine), r"at noise \(_random_normal\), even \(_random_uniform\): runs differ"),
        ((theirs, engine), r"at noise \(_random_normal\), even \(_random_uniform\): runs differ"),
        ((theirs, theirs), r"at a \(RandomNormalLike\), coin \(Bernoulli\): runs differ"),
    ):
        with pytest.raises(BadInput, match=said):
            cases.refuse_random(*engines_)
    calm = NativeEngine(open_model(mx.sym.Dropout(mx.sym.LeakyReLU(x, act_type="rrelu")[0], p=0.5)))
    cases.refuse_random(calm, theirs)


def test_what_is_read_from_files_and_what_is_cut_from_itself(two: Path, tmp_path: Path) -> None:
    by_onnx = ReferenceEngine(open_model(two))
    assert {n: a.tolist() for n, a in by_onnx.run({"x": X, "z": Z}).items()} == {
        "s": (X + Z).tolist(),
        "p": (X * W * Z).tolist(),
    }
    theirs = OnnxEngine(open_model(two))
    (last,) = [t for t in theirs.inner_tensors() if t.name == "p"]
    for given in ({"h": X, "z": Z}, {"h": X, "z": Z, "p": X * 7}):
        found = theirs.compute_alone(last, given)
        assert found is not None
        np.testing.assert_array_equal(found, X * Z)
    assert theirs.compute_alone(last, {"h": X}) is None
    words = np.array([["a", "b"]], object)
    assert tensors([("w", words)])["w"] is words
    net, params = symbol()
    rows = mx.nd.sparse.row_sparse_array((np.float32([[1, 2, 3]]), [1]), shape=(2, 3))
    mx.nd.save(str(tmp_path / "sparse.params"), {"arg:fc_weight": rows, "arg:fc_bias": mx.nd.array(params["fc_bias"])})
    held = open_model(net, tmp_path / "sparse.params").params
    assert held["fc_weight"].tolist() == [[0, 0, 0], [1, 2, 3]]
    torn = bridge.inspect(mx.sym.broadcast_add(net[0], mx.sym.var("z")), params, inputs={"x": (4, 5)})
    assert torn.inputs == {"x": {"shape": [4, 5], "dtype": None}, "z": {"shape": None, "dtype": None}}
    bare = bridge.inspect(mx.sym.broadcast_add(mx.sym.var("x"), mx.sym.var("z")), inputs={"x": (4, 5)})
    assert bare.checked == "operators" and bare.missing == ()


@pytest.mark.parametrize("kind, rows", [("LSTM", 4), ("GRU", 3)])
@pytest.mark.parametrize("place", ["graph", "body", "function"])
def test_what_ends_its_process_is_an_error(kind: str, rows: int, place: str) -> None:
    """onnxruntime 1.32 aborts at an LSTM or GRU of no examples; what comes after it runs."""
    call = f"y = {kind} <hidden_size = 2> (x, w, r)"
    if place == "body":
        call = f"y = If (c) <then_branch = a () => (float[A, B, C, D] z) {{ z = {kind} <hidden_size = 2> (x, w, r) }}, " \
            f"else_branch = b () => (float[A, B, C, D] z) {{ z = {kind} <hidden_size = 2> (x, w, r) }}>"  # fmt: skip
    own = f"""<domain: "my", opset_import: ["": 17]> Own (x, w, r) => (y) {{ {call} }}""" if place == "function" else ""
    text = f"""<ir_version: 8, opset_import: ["": 17, "my": 1]>
        m (float[t, n, 3] x, bool c, float[1, {2 * rows}, 3] w, float[1, {2 * rows}, 2] r) => (float[A, B, C, D] y) {{
            {"y = my.Own (x, w, r)" if own else call}
        }} {own}"""
    engine = OnnxEngine(Model("cells", proto=onnx.parser.parse_model(text)))
    feeds = {
        "c": np.array(True),
        "w": np.ones((1, 2 * rows, 3), np.float32),
        "r": np.ones((1, 2 * rows, 2), np.float32),
    }
    assert engine.run({**feeds, "x": np.ones((4, 5, 3), np.float32)})["y"].shape == (4, 1, 5, 2)
    with pytest.raises(EngineError, match=r"ended the process that ran it \(SIGABRT\)"):
        engine.run({**feeds, "x": np.ones((4, 0, 3), np.float32)})
    assert engine.run({**feeds, "x": np.ones((4, 5, 3), np.float32)})["y"].shape == (4, 1, 5, 2)
    if place == "graph" and kind == "LSTM":
        empty = ReferenceEngine(Model("cells", proto=onnx.parser.parse_model(text)))
        assert empty.run({**feeds, "x": np.ones((4, 0, 3), np.float32)})["y"].shape == (4, 1, 0, 2)


# -- what is seldom given --------------------------------------------------------------------------------------------------------


def test_what_models_lack_may_be_fed_on_either_engine(tmp_path: Path) -> None:
    """A weight of a symbol without parameters, and one that an ONNX model declares as an input; in a dtype of its own."""
    x, w, b = mx.sym.var("x"), mx.sym.var("w"), mx.sym.var("b")
    layer = mx.sym.FullyConnected(x, w, b, num_hidden=2, name="fc")
    text = """<ir_version: 8, opset_import: ["": 17]> net (TYPE[2, 3] x, TYPE[2, 3] w, TYPE[2] b) => (TYPE[2, 2] y)
    { y = Gemm <transB = 1> (x, w, b) }"""
    weight, bias = np.array([[1, 2, -3], [0.5, -1, 4]]), np.array([3, -7.5])
    for dtype, name in ((np.float32, "float"), (np.float64, "double")):
        feeds = {"x": X.astype(dtype), "w": weight.astype(dtype), "b": bias.astype(dtype)}
        want = (X @ weight.T + bias).astype(dtype)
        path = tmp_path / "net.onnx"
        onnx.save(onnx.parser.parse_model(text.replace("TYPE", name)), path)
        for model in (layer, path):
            for engine in (None, "native", "onnxruntime"):
                (got,) = bridge.run(model, feeds, engine=engine).values()  # type: ignore[arg-type]
                assert got.dtype == dtype
                np.testing.assert_array_equal(got, want)
        part = {k: v for k, v in feeds.items() if k != "w"}
        with pytest.raises(BadInput, match="missing parameter w"):
            bridge.run(layer, part)
        held = bridge.run(layer, part, params={"w": feeds["w"]}, engine="onnxruntime")
        np.testing.assert_array_equal(held["fc_output"], want)


def test_what_is_made_for_onnxruntime_is_of_an_opset_that_it_opens(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """run, bench, convert and inspect alike; without a verification nothing need open it."""
    seen: list[Any] = []
    right = converters.convert

    def watched(graph: Any, params: Any, inputs: Any, opset: Any = None, **options: Any) -> Any:
        seen.append((opset, options.get("default"), options.get("newest")))
        return right(graph, params, inputs, opset, **options)

    monkeypatch.setattr(converters, "convert", watched)
    for name in ("run", "bench", "conversion.writing", "inspect"):
        module = importlib.import_module(f"bridge.{name}")
        monkeypatch.setattr(module, "newest", lambda: 16)
        monkeypatch.setattr(module, "default_opset", lambda: 15)
    net, params = symbol()
    bridge.run(net, {"x": X}, params=params, engine="onnxruntime")
    bridge.bench(net, params, inputs={"x": X}, seconds=0.001, rounds=1)
    bridge.convert(net, params, inputs={"x": X})
    bridge.convert(net, params, inputs={"x": X}, verify=False)
    bridge.convert(net, params, inputs={"x": X}, opset=14)
    assert seen == [(None, 15, 16), (None, 15, 16), (None, 15, 16), (None, 15, None), (14, 15, 16)]
    assert (bridge.inspect(net, params).opset, bridge.inspect(net, params, opset="newest").opset) == (13, 15)


def test_the_opset_that_is_asked_for_is_the_one_that_a_model_is_tried_at() -> None:
    """With shapes every node is translated at it, without its operators are looked up at it."""
    net = mx.sym.onnx.CastLike(mx.sym.var("a"), mx.sym.var("b"), name="late")  # since opset 15
    for inputs, checked in ((None, "operators"), ({"a": (2, 2), "b": (2, 3)}, "whole")):
        for opset, refused in ((13, ["late"]), (15, [])):
            found = bridge.inspect(net, {}, inputs=inputs, opset=opset)
            assert ([p.node for p in found.problems], found.checked, found.opset) == (refused, checked, opset)


def test_tensors_past_the_budget_are_told_before_anything_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    net, params = symbol()
    monkeypatch.setattr("bridge.models.memory_budget", lambda: 40)
    monkeypatch.setattr(converters, "convert", lambda *_, **__: pytest.fail("tried"))
    found = bridge.inspect(net, params, inputs={"x": (4, 3)})
    assert [p.reason.split(" takes ")[0] for p in found.problems] == [
        f"node {net.get_internals().list_outputs()[1].removesuffix('_output')} (_mul_scalar): (4, 3)",
        "node neg (negative): (4, 3)",
    ]
    assert {(p.node, p.operator) for p in found.problems} == {(found.model, "")} and found.checked == "whole"


def test_labels_that_are_made_up_have_shape_and_dtype_of_their_own() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        engine = NativeEngine(open_model(mx.sym.LinearRegressionOutput(mx.sym.var("x"), name="head")))
        made = engine.complete({"x": X.astype(dtype)})["head_label"]
        assert (made.shape, made.dtype) == ((2, 3), dtype) and not made.any()
    many = NativeEngine(open_model(mx.sym.SoftmaxOutput(mx.sym.var("x"), multi_output=True, name="head")))
    assert many.complete({"x": np.ones((2, 3, 5, 7), np.float32)})["head_label"].shape == (2, 5, 7)


def test_what_onnxruntime_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads, no copies of the weights for few runs, no fused nodes: as they are asked for and not otherwise."""
    model = Model("m", proto=onnx.parser.parse_model(TWO))
    fused = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    for options, threads, level, frugal in (
        ({}, 0, fused, False),
        ({"threads": 3}, 3, fused, False),
        ({"plain": True}, 0, ort.GraphOptimizationLevel.ORT_DISABLE_ALL, False),
        ({"frugal": True}, 0, fused, True),
    ):
        monkeypatch.setattr(runtime, "open_session", lambda _source, settings: runtime.options_for(settings))
        engine = OnnxEngine(model, **options)  # type: ignore[arg-type]
        engine.open()
        found = engine._session
        assert (found.intra_op_num_threads, found.graph_optimization_level) == (threads, level)
        assert found.log_severity_level == 4
        if frugal:
            assert found.get_session_config_entry("session.disable_prepacking") == "1"


def test_arrays_in_files_keep_their_names_whatever_they_are(tmp_path: Path) -> None:
    arrays = {"a.b": X, "c.npy": Z, "file": X[0], "d/e:0": Z[:1], "f.npy.npz": np.int8([[3]])}
    with open(tmp_path / "x.npz", "wb") as file:
        save_arrays(file, arrays)
    for found in (load_feeds(tmp_path / "x.npz", ["a.b"]), dict(np.load(tmp_path / "x.npz"))):
        assert list(found) == list(arrays)
        assert all(a.dtype == arrays[n].dtype and a.tolist() == arrays[n].tolist() for n, a in found.items())


def test_numbers_like_others_are_drawn_from_all_of_them_in_the_dtype_that_is_asked_for() -> None:
    """A known domain comes first; of whole numbers of every width the same five, but for bytes, which are of pictures."""
    like = {"x": np.arange(12, dtype=np.float32).reshape(3, 4) * 10}
    for dtype in (np.float32, np.float16, np.int32, np.uint8):
        found = draw({"x": Spec((20, 30), np.dtype(dtype))}, {}, 1, like)["x"]
        assert found.dtype == dtype and set(np.unique(found).tolist()) == set(range(0, 120, 10))
    small = draw({"x": Spec((500,))}, {"x": Taken(Domain(2, 3, True))}, 1, like)["x"]
    assert small.dtype == np.float32 and set(small.tolist()) == {2, 3}
    pixels = draw({"x": Spec((9999,), np.dtype("uint8"))}, {})["x"]
    assert pixels.dtype == np.uint8 and {*range(256)} == {*pixels.tolist()}
    for kind in ("int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"):
        found = draw({"x": Spec((99,), np.dtype(kind))}, {})["x"]
        assert found.dtype == kind and set(found.tolist()) == {0, 1, 2, 3, 4}, kind
    for kind in ("float16", "float64"):
        found = draw({"x": Spec((40, 50), np.dtype(kind))}, {})["x"]
        assert found.dtype == kind and abs(float(found.mean())) < 0.1 and 0.9 < float(found.std()) < 1.1


def test_a_folder_is_opened_by_its_one_symbol_file(tmp_path: Path) -> None:
    net, _ = symbol()
    for name in ("mysymbol.json", "net-symbol.json.old", "other.json"):
        net.save(str(tmp_path / name))
    with pytest.raises(BadInput, match=r"a folder with 0 -symbol\.json files"):
        open_model(tmp_path)
    net.save(str(tmp_path / "this-symbol.json"))
    assert open_model(tmp_path).path == tmp_path / "this-symbol.json"


def test_values_given_for_one_node_come_before_stored_ones() -> None:
    net, params = symbol()
    engine = NativeEngine(open_model(net, params))
    first, tensor = engine.inner_tensors()[:2]
    bias = np.float32([100, -200])
    found = engine.compute_alone(tensor, {first.name: X, "fc_bias": bias})
    np.testing.assert_array_equal(found, X @ params["fc_weight"].T + bias)  # type: ignore[arg-type]
    stored = {f"bn_{n}": np.ones(3, np.float32) for n in ("gamma", "beta", "moving_mean", "moving_var")}
    normed = NativeEngine(open_model(mx.sym.BatchNorm(mx.sym.var("x"), name="bn", output_mean_var=True), stored))
    # four stored vectors of three, once: with the first of the outputs
    assert normed.sizes({"x": X})["bn_output"] == X.nbytes + 4 * 12
    assert set(list(normed.sizes({"x": X}).values())[1:]) == {12}


def test_the_left_side_holds_weights_for_one_set_of_sizes_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases of one set of sizes run one after the other, whatever stands between them, and come in their own order."""
    x, w = mx.sym.var("x"), mx.sym.var("fc_weight")
    net = bridge.open_model(
        mx.sym.FullyConnected(x, w, num_hidden=2, no_bias=True, name="fc"), {"fc_weight": np.ones((2, 4), np.float32)}
    )
    engine = NativeEngine(net, {"x": Spec((1, 4), np.dtype(np.float32))})
    told: list[str] = []
    whole = engine.free_memory
    monkeypatch.setattr(engine, "free_memory", lambda: (told.append("free"), whole())[1])
    given = [
        Case({"x": np.full((rows, 4), number, np.float32)}, kind="given") for number, rows in enumerate((1, 2, 1, 3, 2))
    ]
    chosen, want, got, notes = answers_of(engine, engine, given, told.append)
    one, two, three = (f"running gluonnx on x ({rows}, 4)" for rows in (1, 2, 3))
    assert told[:8] == [one, one, "free", two, two, "free", three, "free"]
    assert all(a is b for a, b in zip(chosen, given, strict=True)) and not notes
    for number, (a, b) in enumerate(zip(want, got, strict=True)):
        np.testing.assert_array_equal(a["fc_output"], np.full((given[number].shapes["x"][0], 2), 4 * number))
        np.testing.assert_array_equal(a["fc_output"], b["fc_output"])


def test_memory_that_is_freed_is_free_at_once() -> None:
    """Packed weights, and all that a run has bound, wait for no collection of garbage."""
    net = bridge.open_model(
        mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, no_bias=True, name="fc"),
        {"fc_weight": np.ones((2, 4), np.float32)},
    )
    feeds = {"x": np.ones((3, 4), np.float32)}
    engine = NativeEngine(net, {"x": Spec((3, 4), np.dtype(np.float32))})
    gc.disable()
    try:
        (want,) = engine.run(feeds).values()
        [made] = engine.program._plans.values()
        bound = weakref.ref(made.bound)
        del made
        engine.free_memory()
        assert bound() is None
        np.testing.assert_array_equal(engine.run(feeds)["fc_output"], want)
    finally:
        gc.enable()
