"""Tools that readers write with: constants, folding, subgraphs; and names that scopes and functions hide from each other."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import converters
from bridge.onnx_backend import prepare
from converters import node_importer, onnx_types, ort_kernels, proto_nodes, registry
from converters.error import ConversionError, Problem, Unsupported
from converters.import_state import ImportedValue, ImportState
from converters.importer import KIND, import_model
from converters.node_importer import Importer
from converters.reader import OnnxFile
from converters.registry import IMPORT, ImportHandler
from hybrid.core.error import InternalError, MXNetError
from hybrid.core.op import Spec
from hybrid.core.shapes import UNKNOWN
from hybrid.core.tables import Table
from hybrid.ir.graph import Entry, Node
from tests.fuzz import onnx_nodes

from .agreement import agree, parsed

X = np.float32([[1, -2, 3], [4, 5, -6]])
F4, F8, I8 = (np.dtype(d) for d in (np.float32, np.float64, np.int64))


LOCAL = '<ir_version: 10, opset_import: ["" : 17, "local" : 1]>'
OTHER = '<domain: "local", opset_import: ["" : 17, "local" : 1]>'


def importer(text: str = "m (float[2] x) => (float[2] y) { y = Neg (x) }", opsets: Any = None) -> Importer:
    """One that has read nothing yet; its node is the model's first."""
    proto = parsed(text)
    made = Importer(ImportState(OnnxFile(proto, "m")), {"": 17} if opsets is None else opsets)
    made.node = proto.graph.node[0]
    return made


def unfed(shape: Any, dtype: np.dtype | None = F4, name: str = "v") -> ImportedValue:
    return ImportedValue(name, shape, dtype, None, Entry(Node(None, name)))


def words(count: int) -> np.ndarray:
    return np.array([f"w{i}" for i in range(count)], object)


def test_where_constants_go() -> None:
    """Small ones that the family reads stand in the graph, weights and long ones are parameters, words never are."""
    cases = [
        ("whole numbers", np.arange(1024), False, True, True),
        ("too many", np.arange(1025), False, True, False),
        ("for another operator", np.arange(3), False, False, False),
        ("truth values", np.array([True, False]), False, True, True),
        ("one float", np.float32([2.5]), False, True, True),
        ("two floats", np.float32([2.5, 3]), False, True, False),
        ("one float to be trained", np.float32([2.5]), True, True, False),
        ("words", words(3), False, True, True),
        ("many words", words(1025), False, True, True),
        ("words for another operator", words(2), False, False, True),
    ]
    for name, array, weight, family, inlined in cases:
        g = importer()
        value = g.const(array, name="c")
        value.weight = weight
        node = g.entry(value, family=family).node
        assert (node.op is not None) == inlined, name
        assert node.name == "c"
        assert list(g.shared.params) == ([] if inlined else ["c"]), name
        rate = {"__lr_mult__": str(float(weight)), "__wd_mult__": str(float(weight))}  # as Gluon writes every parameter
        trained = {} if inlined else rate if weight else {**rate, "__grad_req__": "null"}
        assert {k: v for k, v in node.attrs.items() if "mult" in k or "grad" in k} == trained, name
    with pytest.raises(Unsupported, match="nothing has no value"):
        importer().entry(ImportedValue("nothing"))


def test_what_is_computed_when_reading() -> None:
    """Up to 4096 elements that go in or come out, of constants that are not trained, and no sequence."""
    g = importer()

    def const(array: Any, weight: bool = False) -> ImportedValue:
        made = g.const(array)
        made.weight = weight
        return made

    row = np.arange(64, dtype=np.float32) - 20
    cases = [
        ("as many as may be", g.negative(const(np.arange(4096, dtype="f4"))), -np.arange(4096, dtype="f4")),
        ("one more", g.negative(const(np.arange(4097, dtype="f4"))), None),
        ("two together", g.broadcast_add(const(np.arange(4095, dtype="f4")), const(np.float32([7]))),
         np.arange(4095, dtype="f4") + 7),
        ("two too many", g.broadcast_add(const(np.arange(4096, dtype="f4")), const(np.float32([7]))), None),
        ("grown", g.tile(const(row), reps=(64,)), np.tile(row, 64)),
        ("grown too far", g.tile(const(row), reps=(65,)), None),
        ("a weight", g.negative(const(row, True)), None),
        ("beside a weight", g.broadcast_add(const(row), const(row[:1], True)), None),
        ("of a size that data decide", g.apply("_onnx_NonZero", const(np.float32([0, 3, 0, 2]))), np.array([[1, 3]])),
        ("a sequence", g.apply("_onnx_SequenceConstruct", const(row), const(row)), None),
        ("a word", g.apply("_onnx_StringConcat", const(np.array("a", object)), const(np.array("b", object))),
         np.array("ab", object)),
    ]  # fmt: skip
    for name, value, want in cases:
        if want is None:
            assert value.const is None, name
        else:
            assert value.const.shape == want.shape, name
            assert value.const.tolist() == want.tolist(), name
    left, right = g.SliceChannel(const(row), num_outputs=2, axis=0)
    assert [left.const.tolist(), right.const.tolist()] == [row[:32].tolist(), row[32:].tolist()]
    for wrong in (lambda: g.negative(const(row), const(row)), lambda: g.broadcast_add(const(row))):
        with pytest.raises(Unsupported, match=r"takes [12] inputs \(.*\), got [12]$"):
            wrong()
    for name in ("__wrapped__", "no_such_operator"):
        with pytest.raises(AttributeError, match=name):
            getattr(g, name)


def test_the_family_as_it_stands() -> None:
    g = importer("m (float[2] x) => (float[2] y) { y = Gelu (x) }")
    x = unfed((2, 3))
    made = g.passthrough(x, None, approximate="tanh")
    assert (made.shape, made.dtype, made.entry.node.op.approximate) == ((2, 3), F4, "tanh")
    with pytest.raises(Unsupported, match="attribute exact is not known to Gelu; it takes "):
        g.passthrough(x, exact=1)
    for inputs in ((), (x, x), (None,)):
        with pytest.raises(Unsupported, match=rf"got {len([i for i in inputs if i])} inputs, wanted "):
            g.passthrough(*inputs)


def test_sizes_that_inputs_have() -> None:
    g = importer()
    size = node_importer.symbolic_shapes.Count.of_name("x:n")
    doubles, floats = unfed((UNKNOWN,), F8), unfed((3, UNKNOWN), F4)
    g.shared.sizes[size] = [(doubles, 0), (floats, 1)]
    assert g.sized(size, F4) == (floats, 1)
    assert g.sized(size, F8) == (doubles, 0)
    assert [g.sized(size, d) for d in (None, I8)] == [None, None]
    assert g.sized(node_importer.symbolic_shapes.Count.of_name("x:m"), F4) is None
    assert Importer(g.shared, {"": 17}, g).sized(size, F4) is None
    assert Importer(g.shared, {"local": 3}).opset == 1


def test_tensors_that_one_node_alone_reads() -> None:
    g = importer(
        """m (float[2] x) => (float[2] y, float[2] k) <float[2] w = {1, 2}, float[2] v = {3, 4}> {
            c = Constant <value = float[2] {5, 6}> () k = Constant <value = float[2] {7, 8}> ()
            a = Add (x, w) b = Add (a, c) d = Add (b, v) y = Add (d, v)
        }"""
    )
    read = {n: [(r and r.op_type, i) for r, i in readers] for n, readers in g.shared.readers.items()}
    assert read == {"w": [("Add", 1)], "v": [("Add", 1), ("Add", 1)], "c": [("Add", 1)], "k": [(None, -1)]}
    stored = {n: ImportedValue(n, (2,), F4, np.zeros(2, "f4"), weight=True) for n in "wvc"}
    assert g.is_sole_reader(stored["w"])
    assert g.is_sole_reader(stored["c"])
    assert not g.is_sole_reader(stored["v"])
    assert g.is_sole_reader(ImportedValue("v", (2,), F4, np.zeros(2, "f4"))), "of a constant a copy is as good"
    g.shared.stored[id(stored["w"].const)] = "u"
    assert not g.is_sole_reader(stored["w"]), "by another name"
    assert Importer(g.shared, {"": 17}, g).is_sole_reader(stored["v"]), "in a graph of its own"


def test_names_are_given_once() -> None:
    shared = importer().shared
    assert [shared.unique(n) for n in ("a", "a", "x", "", "", "a")] == ["a", "a_1", "x_1", "_1", "_2", "a_2"]


def test_inputs_of_subgraphs_that_the_node_says_nothing_of() -> None:
    g = importer()
    tensor, pair = helper.make_tensor_type_proto(1, [2, "n"]), onnx_types.kind_of("seq(tensor(int64))")
    inputs = [helper.make_value_info(n, t) for n, t in zip("abc", (tensor, tensor, tensor))]
    inputs += [onnx.ValueInfoProto(name="d"), onnx.ValueInfoProto(name="e")]
    outputs = [
        helper.make_value_info("a", tensor),
        helper.make_value_info("b", tensor),
        helper.make_value_info("d", pair),
    ]
    graph = helper.make_graph([], "body", inputs, outputs)
    own = g.body(graph, [None, Spec((5, 3), None), Spec((4,), I8)], [None, None, None, pair])
    assert [(v.shape, v.dtype) for v in own.results] == [((2, UNKNOWN), F4), ((5, 3), F4), (None, None)]
    assert own.results[2].kind == pair
    assert own.inputs == 5
    assert own.reads == (0, 1, 3)
    short = g.body(graph)
    assert [(v.shape, v.dtype) for v in short.results] == [((2, UNKNOWN), F4)] * 2 + [(None, None)]
    assert short.results[2].kind == pair
    # each of several goes by its own type, which the caller knows or the subgraph says of what it gives
    texts = (
        "seq(tensor(int64))",
        "optional(tensor(float))",
        "map(int64,tensor(float))",
        "optional(seq(tensor(string)))",
    )
    types = [onnx_types.kind_of(t) for t in texts]
    untold = [onnx.ValueInfoProto(name=n) for n in "wxyz"]
    told = [helper.make_value_info(n, t) for n, t in zip("wxyz", types)]
    for graph, kinds in (
        (helper.make_graph([], "known", untold, untold), types),
        (helper.make_graph([], "declared", untold, told), ()),
        (helper.make_graph([], "turned", untold, told[::-1]), ()),
        (helper.make_graph([], "of inputs", told, untold), ()),
    ):
        results = {v.name: v.kind for v in importer().body(graph, (), kinds).results}
        assert results == dict(zip("wxyz", types)), graph.name


def chained(depth: int, last: str = "y = Neg (x)") -> str:
    """Functions that call one another in a row; what the last of them does."""
    head = f"{LOCAL} main (bool c, float[N, 3] x) => (float[N, 3] y) {{ y = local.f1 (c, x) }}"
    steps = [f"y = local.f{i + 1} (c, x)" if i < depth else last for i in range(1, depth + 1)]
    return " ".join([head, *(f"{OTHER} f{i} (c, x) => (y) {{ {s} }}" for i, s in enumerate(steps, 1))])


def test_how_deep_models_go() -> None:
    feeds = {"x": X, "c": np.array(True)}
    branches = "y = If (c) <then_branch = yes () => (p) { p = Neg (x) }, else_branch = no () => (q) { q = Abs (x) }>"
    agree(chained(32), feeds, wants=[[-X]], again=None)
    agree(chained(31, branches), feeds, wants=[[-X]], again=None)
    with pytest.raises(converters.UnsupportedModel, match="functions call each other deeper than 32"):
        import_model(parsed(chained(33)))
    with pytest.raises(converters.UnsupportedModel, match="graphs are nested deeper than 32"):
        import_model(parsed(chained(32, branches)))


def test_what_functions_see() -> None:
    """Their inputs and what they make, and no name of those who call them."""
    feeds = {"x": X, "c": np.array(True)}
    shadowed = f"""{LOCAL} main (bool c, float[2, 3] x) => (float[2, 3] y) {{ y = local.f (c, x) }}
        {OTHER} f (c, x, low) => (y) {{ y = If (c) <
            then_branch = yes () => (p) {{ low = Constant <value = float {{2}}> () p = Clip (x, low) }},
            else_branch = no () => (p) {{ p = Clip (x, low) }}
        > }}"""
    agree(shadowed, feeds, feeds | {"c": np.array(False)}, wants=[[X.clip(2)], [X]])
    defaults = f"""{LOCAL} main (float[2, 3] x) => (float[2, 3] y, float[2, 3] z) {{
            y = local.outer (x) z = local.outer <slope = 0.5> (x)
        }}
        {OTHER} outer <slope> (x) => (y) {{ y = local.inner <slope: float = @slope> (x) }}
        {OTHER} inner <slope: float = 0.25, more: float = 3> (x) => (y) {{
            a = LeakyRelu <alpha: float = @slope> (x) b = Elu <alpha: float = @more> (x) y = Add (a, b)
        }}"""
    elu = np.where(X < 0, 3 * np.expm1(X), X)
    agree(defaults, {"x": X}, wants=[[np.where(X < 0, s * X, X) + elu for s in (0.25, 0.5)]], rtol=1e-6)
    softmax = """<ir_version: 10, opset_import: ["ai.onnx" : VERSION, "local" : 1]>
        main (float[2, 2, 3] x) => (float[] y) { y = CALL (x) }
        <domain: "local", opset_import: ["ai.onnx" : OTHER]> f (x) => (y) { y = Softmax <axis = 1> (x) }"""
    x = np.stack([X, X[::-1] / 2])
    for version, other, call, axes in (
        (17, 11, "local.f", (1, 2)),
        (11, 17, "local.f", 1),
        (11, 11, "Softmax", (1, 2)),
        (17, 17, "Softmax", 2),
    ):
        text = softmax.replace("VERSION", str(version)).replace("OTHER", str(other)).replace("CALL", call)
        want = np.exp(x) / np.exp(x).sum(axes, keepdims=True)
        agree(text, {"x": x}, wants=[[want]], rtol=1e-5, again=None)
    main = f"{LOCAL} main (float[2, 3] x) => (float[2, 3] y)"
    refused = [
        (
            f"{main} {{ a = Neg (x) y = local.f (x) }} {OTHER} f (x) => (y) {{ y = Add (x, a) }}",
            ["in the function f: y (Add): its input a is neither"],
        ),
        (
            f"""{main} {{ y = local.f (x) }} {OTHER} f (x, low) => (y) {{ y = local.g (x) }}
            {OTHER} g (x) => (y) {{ y = Clip (x, low) }}""",
            ["y (Clip): its input low is neither"],
        ),
        (
            f"""{main} {{ a = Strange (x) b = local.f (x) y = Add (b, a) }}
            {OTHER} f (x) => (y) {{ b = Odd (x) y = Queer (x) }}""",
            ["a (Strange): no reading", "b (f): in the function f: b (Odd): "],
        ),
    ]
    for text, reasons in refused:
        with pytest.raises(converters.UnsupportedModel) as caught:
            import_model(parsed(text))
        assert len(caught.value.problems) == len(reasons), caught.value
        for problem, reason in zip(caught.value.problems, reasons):
            assert reason in str(problem)
    assert "Queer" in str(caught.value.problems[1])
    assert "Strange" not in str(caught.value.problems[1])


def test_what_follows_from_a_problem_is_none_of_its_own() -> None:
    text = """m (float[2] x, int64[2] i) => (float[2] y, float[2] z) {
        a = Strange (x) b = Add (x, a) c = Add (a, x) d = Neg (b) y = Add (d, c) z = Odd (y)
    }"""
    with pytest.raises(converters.UnsupportedModel) as caught:
        import_model(parsed(text))
    assert [p.node for p in caught.value.problems] == ["a", "z"]
    many = helper.make_node("Relu", ["x"], ["y", "", "z"])
    proto = parsed("m (float[2] x) => (float[2] y) { y = Neg (x) }")
    proto.graph.node[0].CopyFrom(many)
    with pytest.raises(converters.UnsupportedModel, match="output z is not computed"):
        import_model(proto)
    proto.graph.node[0].output[2] = ""
    agree(proto, {"x": X[0, :2]}, wants=[[np.maximum(X[0, :2], 0)]])
    with pytest.raises(converters.UnsupportedModel, match=r"attribute ends, starts is required"):
        import_model(
            onnx.parser.parse_model(
                '<ir_version: 3, opset_import: ["" : 1]> m (float[2] x) => (float[2] y) { y = Slice (x) }'
            )
        )


def test_types_that_definitions_depend_on() -> None:
    assert node_importer._type_of(None) == onnx.TypeProto()
    pair = onnx_types.kind_of("seq(tensor(int64))")
    assert node_importer._type_of(ImportedValue("v", (), np.dtype(object), kind=pair)) == pair
    assert node_importer._type_of(unfed((2, UNKNOWN, 3), F8)) == helper.make_tensor_type_proto(
        TensorProto.DOUBLE, [2, None, 3]
    )
    assert node_importer._type_of(unfed(None, I8)) == helper.make_tensor_type_proto(TensorProto.INT64, None)
    with pytest.raises(Unsupported, match="the dtype of v is not known"):
        node_importer._type_of(unfed((2,), None))


def test_readings_that_go_wrong_are_bugs_of_ours_and_not_the_model_s(monkeypatch: pytest.MonkeyPatch) -> None:
    def raising(error: Exception) -> Any:
        def reading(g: Any, x: Any) -> Any:
            raise error

        return {1: ImportHandler.of(reading)}

    plain = parsed("m (float[2] x) => (float[2] y) { a = Neg (x) y = Abs (a) }")
    nested = parsed("""m (bool c, float[2] x) => (float[2] y) {
        y = If (c) <then_branch = t () => (float[2] a) { a = Neg (x) }, else_branch = e () => (float[2] b) { b = Abs (x) }> }""")
    for model in (plain, nested):
        for told in (MemoryError("4 GB"), Unsupported("4 GB"), ConversionError("4 GB"), MXNetError("4 GB")):
            monkeypatch.setitem(IMPORT, ("", "Neg"), raising(told))
            with pytest.raises(converters.UnsupportedModel) as caught:
                import_model(model)
            said = "memory does not suffice: 4 GB" if isinstance(told, MemoryError) else "4 GB"
            assert caught.value.problems[0] == Problem("a", "Neg", said)
        for bug in (
            TypeError("odd"),
            KeyError("odd"),
            ValueError("odd"),
            AttributeError("odd"),
            ZeroDivisionError("odd"),
        ):
            monkeypatch.setitem(IMPORT, ("", "Neg"), raising(bug))
            with pytest.raises(
                InternalError, match=rf"^a \(Neg\): its reading failed \({type(bug).__name__}: .*; this is a bug"
            ):
                import_model(model)
        monkeypatch.setitem(IMPORT, ("", "Neg"), raising(InternalError("ours already")))
        with pytest.raises(InternalError, match=r"^ours already$"):
            import_model(model)


def test_nodes_drawn_at_random_are_read_or_refused_in_words() -> None:
    """A few of each operator; ``python -m tests.fuzz --only onnx-nodes`` tries more."""
    for number, seed in enumerate(onnx_nodes.seeds()):
        case = onnx_nodes.mutate(random.Random(number), seed)
        try:
            import_model(case)
        except (ConversionError, MXNetError) as error:
            assert not isinstance(error, InternalError), f"{seed}: {error}"


def test_files_without_an_opset() -> None:
    model = helper.make_model(helper.make_graph([], "m", [], []), opset_imports=[helper.make_opsetid("", 17)])
    for opsets, version, want, said in (
        ([], 2, {"": 1}, []),
        ([], 3, {"": 1}, ["the file names no opset: it is read as opset 1"]),
        ([("ai.onnx", 11), ("far", 2)], 8, {"": 11, "far": 2}, []),
        ([("far", 999)], 8, {"far": 999}, []),
    ):
        del model.opset_import[:]
        model.opset_import.extend(helper.make_opsetid(*o) for o in opsets)
        model.ir_version = version
        shared = ImportState(OnnxFile(model, "m"))
        assert (shared.opsets, shared.repairs) == (want, said)


def test_stored_tensors_of_every_form() -> None:
    """Two sparse ones, names that they take, and floats of 16 bits, which are trained as others are."""

    def sparse(name: str, numbers: list[float], places: list[int], code: int = 1) -> onnx.SparseTensorProto:
        stored = helper.make_tensor(name, code, [len(numbers)], numbers)
        return helper.make_sparse_tensor(
            stored, helper.make_tensor("i", TensorProto.INT64, [len(places)], places), [2, 3]
        )

    model = parsed(
        "m (float[2, 3] x) => (float[2, 3] y, bfloat16[2] z) { a = Add (x, v) y = Mul (a, w) z = Identity (b) }"
    )
    model.graph.sparse_initializer.extend([sparse("v", [5, 7], [1, 5]), sparse("w", [2, 3, 4], [0, 1, 5])])
    b = helper.make_tensor("b", TensorProto.BFLOAT16, [2], [1.5, -2])
    model.graph.initializer.append(b)
    found = import_model(model)
    assert sorted(found.params) == ["b", "v", "w"]
    v, w = np.float32([[0, 5, 0], [0, 0, 7]]), np.float32([[2, 3, 0], [0, 0, 4]])
    np.testing.assert_array_equal(found.params["v"], v)
    np.testing.assert_array_equal(found.params["w"], w)
    assert found.params["b"].astype(np.float32).tolist() == [1.5, -2]
    assert all("__grad_req__" not in n.attrs for n in found.graph.variables())
    shared = ImportState(OnnxFile(model, "m"))
    assert shared.names.taken == {"x", "b", "v", "w"}
    inside = parsed(
        """m (bool c, float[2, 3] x) => (float[2, 3] y, float[2, 3] z) {
            y = If (c) <then_branch = a () => (float[2, 3] p) { p = Add (x, v) },
                        else_branch = b () => (float[2, 3] q) { q = Mul (x, v) }>
            n = Constant <value = int64 {2}> () yes = Constant <value = bool {1}> ()
            z = Loop (n, yes, x) <body = l (int64 i, bool go, float[2, 3] s) => (bool on, float[2, 3] t) {
                on = Identity (go) r = Add (s, v) t = Mul (r, w)
            }>
        }"""
    )
    for attribute in (a for n in inside.graph.node for a in n.attribute if a.g.node):
        again = {"a": [sparse("v", [5, 7], [1, 5])], "b": [sparse("v", [2, 3, 4], [0, 1, 5])]}
        again["l"] = [again["a"][0], sparse("w", [2, 3, 4], [0, 1, 5])]
        attribute.g.sparse_initializer.extend(again[attribute.g.name])
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for c, first in ((True, x + v), (False, x * w)):
        got = prepare(inside).run({"c": np.array(c), "x": x})
        np.testing.assert_array_equal(got[0], first)
        np.testing.assert_array_equal(got[1], ((x + v) * w + v) * w)
    string = parsed("m (int64[1] x) => (string[3] y) { y = Identity (s) }")
    stored = sparse("s", [b"one", b"two"], [2, 0], TensorProto.STRING)  # type: ignore[list-item]
    stored.dims[:] = [3]
    string.graph.sparse_initializer.append(stored)
    read = ImportState(OnnxFile(string, "m")).file.sparse(stored)
    assert read.tolist() == ["two", "", "one"]


def test_what_nodes_say() -> None:
    inner = parsed("m (float[2] x) => (float[2] y) { y = Neg (x) }")
    assert list(proto_nodes.reads(inner.graph.node[0])) == ["x"]
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("own", 1, [1], [5]), helper.make_tensor("i", TensorProto.INT64, [1], [1]), [2]
    )
    bodies = []
    for there in ("p", "q"):
        node = helper.make_node("Add", ["own", there], ["r"])
        body = helper.make_graph([node], "b", [], [helper.make_empty_tensor_value_info(n) for n in ("r", f"{there}2")])
        body.sparse_initializer.append(sparse)
        bodies.append(body)
    both = helper.make_node("Both", ["a", "", "c"], ["y"])
    both.attribute.append(helper.make_attribute("bodies", bodies))
    assert list(proto_nodes.reads(both)) == ["a", "c", "p", "p2", "q", "q2"]
    shared = importer().shared
    stored = helper.make_attribute("value", sparse)
    assert proto_nodes.attribute_of(stored, {}, shared.file).tolist() == [0, 5]
    graph = helper.make_attribute("body", bodies[0])
    reference = onnx.AttributeProto(name="then", ref_attr_name="body", type=onnx.AttributeProto.GRAPH)
    with pytest.raises(Unsupported, match="its subgraph then is an attribute of the function around it"):
        proto_nodes.attribute_of(reference, {"body": graph}, shared.file)
    assert proto_nodes.attribute_of(reference, {}, shared.file) is None
    assert proto_nodes.attribute_of(reference, {"body": helper.make_attribute("n", [3, 4])}, shared.file) == (3, 4)
    circle = [
        helper.make_node("Neg", [f"a{(i + 1) % 12}"], [f"a{i}"], name="first" if i == 0 else "") for i in range(12)
    ]
    with pytest.raises(converters.ConversionError) as caught:
        proto_nodes.topological_order(circle)
    assert str(caught.value) == "broken model: a cycle through first, " + ", ".join(f"a{i}" for i in range(1, 10))


def test_functions_of_the_standard() -> None:
    """Given whole, made for the types of the inputs, and none; attributes that are left out are the schema's."""
    gelu = proto_nodes.standard_of(
        helper.make_node("Gelu", ["x"], ["y"]), "", 20, lambda: [helper.make_tensor_type_proto(1, [2])]
    )
    assert gelu is not None
    assert gelu.node[-1].op_type == "Mul"
    norm = proto_nodes.standard_of(helper.make_node("MeanVarianceNormalization", ["x"], ["y"]), "", 13, list)
    assert norm is not None
    assert {n.op_type for n in norm.node} >= {"ReduceMean", "Sub", "Div"}
    (axes,) = norm.attribute_proto
    assert (axes.name, list(axes.ints)) == ("axes", [0, 2, 3])
    for name, domain in (("Neg", ""), ("Unheard", ""), ("Neg", "far.away")):
        assert proto_nodes.standard_of(helper.make_node(name, ["x"], ["y"]), domain, 17, list) is None


def test_registries_take_one_of_each() -> None:
    """A second translation from the same opset on is a mistake; the others stand."""
    before = {n: dict(v) for n, v in registry.EXPORT.items()}
    with pytest.raises(TypeError, match="clip: exported twice since opset 7"):
        registry.exports("clip")(lambda b, op, x: x)
    with pytest.raises(TypeError, match="Neg: imported twice since opset 1"):
        registry.imports("Neg")(lambda g, x: x)
    assert before == registry.EXPORT
    assert registry.family_name("Neg") == "_onnx_Neg"
    assert registry.family_name("Scaler", "ai.onnx.ml") == "_onnx_ml_Scaler"
    assert registry.family_name("Thing", "far.away") == "_onnx_far_away_Thing"
    assert registry.earlier_import_handler("", "NoSuch", 17, ["axes"]) is None
    assert registry.earlier_import_handler("", "ReduceSum", 1, ["axes"]) is None
    found = registry.earlier_import_handler("", "ReduceSum", 13, ["axes"])
    assert found is not None
    assert "axes" in found.attributes


def test_types_of_every_kind() -> None:
    text = onnx_types.text_of(onnx.TypeProto(tensor_type=onnx.TypeProto.Tensor()))
    assert text == "tensor()"
    assert onnx_types.kind_of(text).tensor_type.elem_type == 0
    assert onnx_types.declared_spec(onnx.TypeProto(tensor_type=onnx.TypeProto.Tensor())) == Spec()
    assert onnx_types.declared_spec(onnx_types.kind_of("optional(seq(tensor(float)))")) == ((), np.dtype(object))
    assert onnx_types.declared_spec(onnx.TypeProto()) == Spec()
    strange = onnx.TypeProto(tensor_type=onnx.TypeProto.Tensor(elem_type=99))
    odd = onnx.TypeProto(map_type=onnx.TypeProto.Map(key_type=98, value_type=onnx_types.kind_of("tensor(float)")))
    with pytest.raises(Unsupported, match="element type 99 is not known"):
        onnx_types.text_of(strange)
    with pytest.raises(Unsupported, match="element type 98 is not known to onnx"):
        onnx_types.text_of(odd)
    model = parsed("m (float[2] x, float[2] w) => (float[2] y) { y = Neg (x) }")
    model.graph.input[1].type.CopyFrom(strange)
    with pytest.raises(converters.UnsupportedModel) as caught:
        import_model(model)
    assert [(p.node, p.operator) for p in caught.value.problems] == [("w", "input")]


def test_what_registries_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every name, each once; what is read and what is written as asked."""
    for name in ("EXPORT", "IMPORT", "PASSTHROUGH"):
        monkeypatch.setattr(registry, name, Table())
    registry.one_to_one(sin="Sin", cos="Cos")
    assert {n: list(v) for n, v in registry.EXPORT.items()} == {"sin": [7], "cos": [7]}
    registry.passthrough("A", "B", since=15)
    registry.passthrough("A", since=20)
    registry.passthrough("C", write=False)
    registry.passthrough("D", since=9, read=False)
    registry.passthrough("E", since=5, domain="ai.onnx.ml")
    written = {n: list(v) for n, v in registry.EXPORT.items() if n.startswith("_")}
    assert written == {"_onnx_A": [15], "_onnx_B": [15], "_onnx_D": [9], "_onnx_ml_E": [7]}
    assert {k: list(v) for k, v in registry.IMPORT.items()} == {
        ("", "A"): [15, 20], ("", "B"): [15], ("", "C"): [1], ("ai.onnx.ml", "E"): [5],
    }  # fmt: skip
    assert {f"_onnx_{n}": ("", n) for n in "ABCD"} | {"_onnx_ml_E": ("ai.onnx.ml", "E")} == registry.PASSTHROUGH
    assert registry.export_handler("_onnx_A", 14) is None and registry.export_handler("_onnx_A", 15) is not None
    assert (
        registry.import_handler("", "A", 14) is None
        and registry.import_handler("", "A", 20) is registry.IMPORT["", "A"][20]
    )


def test_which_kernels_a_version_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first of a span to its last, which is the first where none is told."""
    spans = [[7, 12, {"T": ["float32"]}], [13, None, {"T": ["float64"], "S": []}]]
    monkeypatch.setattr(ort_kernels, "_table", lambda: {"types": {"MadeUp": spans}, "lost": {"MadeUp": [14]}})
    found = {v: ort_kernels.runs_on.__wrapped__("MadeUp", v, "T") for v in (6, 7, 8, 12, 13, 14)}
    single, double = frozenset(("float32", "float16")), frozenset(("float64", "float16"))
    assert found == {6: None, 7: single, 8: single, 12: single, 13: double, 14: None}
    assert ort_kernels.runs_on.__wrapped__("MadeUp", 13, "S") == {"float16"}
    assert ort_kernels.runs_on.__wrapped__("MadeUp", 13, "U") is None
    assert ort_kernels.runs_on.__wrapped__("Other", 13, "T") is None
    assert [ort_kernels.is_lost("MadeUp", v) for v in (13, 14)] == [False, True]


def test_dtypes_that_are_not_installed_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> np.dtype:
        raise ValueError(f"{name} is not here")

    monkeypatch.setattr(onnx_types, "named_dtype", missing)
    with pytest.raises(Unsupported, match="float32 is not here"):
        onnx_types.dtype_of(1)


def test_types_are_noted_of_what_nodes_make_alone() -> None:
    found = import_model(parsed("m (float[] x) => (float[] x, float[] y) { y = Relu (x) }"))
    kept = {e.node.name: KIND in e.node.attrs for e in found.graph.outputs}
    assert kept == {"x": False, "y": True}
    two = """m (seq(float[2]) a, seq(int64[2]) b, int64 i) => (float[] p, int64[] q) {
        p = SequenceAt (a, i) q = SequenceAt (b, i)
    }"""
    read = import_model(parsed(two))
    written = converters.to_onnx(read.graph, read.params, {"i": ()}, 17)
    declared = {i.name: onnx_types.text_of(i.type) for i in written.graph.input}
    assert declared == {"a": "seq(tensor(float)[2])", "b": "seq(tensor(int64)[2])", "i": "tensor(int64)[]"}


def test_problems_within_bodies_and_functions_are_told_once() -> None:
    """Consequences of a node that cannot be read are no problems, in a subgraph or beyond it."""
    text = """<ir_version: 8, opset_import: ["" : 18]> m (bool c, float[2] x, int64[2] i, int64[1] j) => (float[2] y) {
        y = If (c) <
            then_branch = yes () => (p) { a = Strange (x) b = Pad (a, i, , j) d = Neg (b) p = Odd (d) },
            else_branch = no () => (q) { q = Neg (x) }
        >
    }"""
    with pytest.raises(converters.UnsupportedModel) as caught:
        import_model(parsed(text))
    assert [p.node for p in caught.value.problems] == ["a", "p"]


def test_functions_that_name_no_opset_go_by_the_models() -> None:
    """Of the standard's own operators, and of a domain that only the model names; those they name themselves are theirs."""
    x = np.stack([X, X[::-1] / 2])
    for version, axes in ((11, (1, 2)), (17, 1)):
        model = parsed(
            f"""<ir_version: 10, opset_import: ["" : {version}, "local" : 1]>
            main (float[2, 2, 3] x) => (float[] y) {{ y = local.f (x) }}
            <domain: "local", opset_import: ["local" : 1]> f (x) => (y) {{ y = Softmax <axis = 1> (x) }}"""
        )
        want = np.exp(x) / np.exp(x).sum(axes, keepdims=True)
        agree(model, {"x": x}, wants=[[want]], rtol=1e-5, again=None)
    whole = """<ir_version: 10, opset_import: ["" : 11, "local" : 1]>
        main (float[2, 3] x) => (float[] y) { y = local.f (x) }
        <domain: "local", opset_import: ["local" : 1]> f (x) => (y) {
            s = SequenceConstruct (x, x) y = ConcatFromSequence <axis = -1> (s) }"""
    agree(whole, {"x": X}, wants=[[np.concatenate([X, X], -1)]], again=None)


def test_what_the_schema_says_of_attributes_and_inputs_is_said_by_name() -> None:
    """Of every form in place of another, and of inputs that are left out where they are needed."""
    graph = helper.make_graph([], "g", [], [])
    forms: dict[str, Any] = {
        "a number": 1, "numbers": [1, 2], "a text": "x", "texts": ["x"], "a graph": graph,
        "a tensor": numpy_helper.from_array(np.ones(1, np.float32)),
    }  # fmt: skip
    wanted = {
        "Concat": ("axis", "a number"), "Transpose": ("perm", "numbers"), "Pad": ("mode", "a text"),
        "ConstantOfShape": ("value", "a tensor"), "StringNormalizer": ("stopwords", "texts"),
    }  # fmt: skip
    for op_type, (name, form) in wanted.items():
        for given, value in forms.items():
            nodes = [helper.make_node(op_type, ["x"], ["y"], **{name: value})]
            proto = helper.make_model(
                helper.make_graph(nodes, "g", [], []), opset_imports=[helper.make_opsetid("", 18)]
            )
            proto.graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2]))
            proto.graph.output.append(helper.make_empty_tensor_value_info("y"))
            said = f"attribute {name} is {given}, wanted {form}"
            try:
                converters.import_model(proto)
            except (ConversionError, MXNetError) as error:
                assert (said in str(error)) == (given != form), (op_type, given, str(error))
            else:
                assert given == form, (op_type, given)
    for op_type, inputs, left in (
        ("Add", ["", "x"], "A"), ("Gather", ["", "x"], "data"), ("Where", ["", "x", "x"], "condition"),
        ("Clip", ["x", "", "e"], ""), ("Slice", ["x", "", "x"], "starts"),
    ):  # fmt: skip
        node = helper.make_node(op_type, inputs, ["y"])
        values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])]
        values.append(helper.make_tensor_value_info("e", TensorProto.FLOAT, []))
        outputs = [helper.make_empty_tensor_value_info("y")]
        proto = helper.make_model(
            helper.make_graph([node], "g", values, outputs), opset_imports=[helper.make_opsetid("", 18)]
        )
        if not left:
            converters.import_model(proto)
            continue
        with pytest.raises(ConversionError, match=f"input {left} is left out"):
            converters.import_model(proto)
