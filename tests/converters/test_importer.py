"""Parts of models and how they fit: functions, scopes, order, names, inputs and outputs of every kind."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import converters
from converters import onnx_types
from converters.importer import KIND, import_model
from converters.onnx_types import kind_of, text_of
from converters.writer import Converted
from hybrid.core.shapes import UNKNOWN
from hybrid.execution.program import Program
from tests.versions import old_runtime

from .agreement import agree, parsed

X = np.float32([[1, -2, 3], [4, 5, -6]])


def operators(found) -> list[str]:
    """The operators of the outermost graph."""
    return [n.op.name for n in found.graph.nodes if n.op is not None]


# -- functions --------------------------------------------------------------------------------------------------------

LOCAL = '<ir_version: 10, opset_import: ["" : 17, "local" : 1]>'


def test_functions_in_functions() -> None:
    text = (
        LOCAL
        + """main (float[N, 3] x) => (float[N, 3] y, float[N, 3] z) { y, a = local.outer (x) z = local.inner (a) }
        <domain: "local", opset_import: ["" : 17, "local" : 1]> outer (x) => (y, z) {
            a = local.inner (x) y = local.inner (a) z = Neg (a)
        }
        <domain: "local", opset_import: ["" : 17]> inner (y) => (x) { a = Relu (y) x = Sub (a, y) }"""
    )
    agree(text, {"x": X}, {"x": X[:1]})


def test_attributes_of_functions() -> None:
    """Given, left at their default, left out, and handed on."""
    text = (
        LOCAL
        + """main (float[N, 3] x) => (float[N, 3] a, float[N, 3] b, float[N, 3] c) {
            a = local.leaky <slope = 0.5> (x)
            b = local.leaky (x)
            c = local.twice <outer = 0.25> (x)
        }
        <domain: "local", opset_import: ["" : 17]> leaky <slope: float = 0.125> (x) => (y) {
            y = LeakyRelu <alpha: float = @slope> (x)
        }
        <domain: "local", opset_import: ["" : 17, "local" : 1]> twice <outer> (x) => (y) {
            a = local.leaky <slope: float = @outer> (x)
            y = local.leaky <slope: float = @outer> (a)
        }"""
    )
    found = agree(text, {"x": X}, wants=[[np.where(X < 0, s * X, X) for s in (0.5, 0.125, 0.0625)]])
    assert len(operators(found)) == 4


def test_an_attribute_that_nobody_gives_is_left_out() -> None:
    text = (
        LOCAL
        + """main (float[N, 3] x) => (float[N, 3] y) { y = local.leaky (x) }
        <domain: "local", opset_import: ["" : 17]> leaky <slope> (x) => (y) { y = LeakyRelu <alpha: float = @slope> (x) }"""
    )
    agree(text, {"x": X}, wants=[[np.where(X < 0, np.float32(0.01) * X, X)]])


def test_inputs_of_functions_that_are_left_out() -> None:
    text = (
        LOCAL
        + """main (float[N, 3] x, float low) => (float[N, 3] y, float[N, 3] z) { y = local.clip (x, , low) z = local.clip (x, low) }
        <domain: "local", opset_import: ["" : 17]> clip (x, low, high) => (y) { y = Clip (x, low, high) }"""
    )
    feeds = {"x": X, "low": np.float32(1)}
    want = [np.minimum(X, 1), np.maximum(X, 1)]
    agree(text, feeds, wants=[want])
    # what a call leaves out is left out of the calls within it too, and what those leave out themselves
    passed = """<domain: "local", opset_import: ["" : 17, "local" : 1]>"""
    head, _, inner = text.partition(passed.replace(', "local" : 1', ""))
    deeper = f"""{head}
        {passed} clip (x, low, high) => (y) {{ y = local.second (low, x, high) }}
        {passed} second (low, x, high) => (y) {{ y = local.third (x, , high, low) }}
        {passed} third (x, nothing, high, low) => (y) {{
            yes = Constant <value = bool {{1}}> ()
            y = If (yes) <then_branch = a () => (p) {{ p = Clip (x, low, high) }}, else_branch = b () => (q) {{ q = Neg (x) }}>
        }}"""
    assert inner
    agree(deeper, feeds, wants=[want])
    agree(deeper.replace("bool {1}", "bool {0}"), feeds, wants=[[-X, -X]])
    apart = deeper.replace(
        "yes = Constant <value = bool {1}> ()",
        "yes = Less (x, x) some = ReduceMax <keepdims = 0> (x) on = Less (some, some)",
    )
    apart = apart.replace("yes = Less (x, x) ", "").replace("If (yes)", "If (on)")
    agree(apart, feeds, wants=[[-X, -X]])


def test_an_input_left_out_is_so_in_bodies_too() -> None:
    text = (
        LOCAL
        + """main (bool c, float[N, 3] x, float low) => (float[N, 3] y) { y = local.clip (x, c, , low) }
        <domain: "local", opset_import: ["" : 17]> clip (x, c, low, high) => (y) { y = If (c) <
            then_branch = yes () => (p) { p = Clip (x, low, high) }, else_branch = no () => (p) { p = Neg (x) }
        > }"""
    )
    runs = [{"c": np.array(c), "x": X, "low": np.float32(1)} for c in (True, False)]
    agree(text, *runs, wants=[[np.minimum(X, 1)], [-X]])


def test_bodies_in_functions_see_the_function_alone() -> None:
    """The function's x is the caller's a, and its a another one; bodies take each by the name that the function gives it."""
    text = (
        LOCAL
        + """main (bool c, float[N, 3] x) => (float[N, 3] y) { a = Neg (x) y = local.f (c, a, x) }
        <domain: "local", opset_import: ["" : 17]> f (d, x, b) => (y) {
            a = Mul (b, b)
            y = If (d) <
                then_branch = yes () => (float[N, 3] p) { q = Sub (x, a) p = Add (q, b) },
                else_branch = no () => (float[N, 3] p) { q = Identity (b) p = Sub (q, a) }
            >
        }"""
    )
    agree(text, *({"c": np.array(c), "x": X} for c in (True, False)))


def test_functions_in_bodies() -> None:
    text = (
        LOCAL
        + """main (bool c, float[N, 3] x) => (float[N, 3] y) { a = Neg (x) y = If (c) <
            then_branch = yes () => (float[N, 3] p) { p = local.f (a) },
            else_branch = no () => (float[N, 3] p) { b = local.f (x) p = local.f (b) }
        > }
        <domain: "local", opset_import: ["" : 17]> f (x) => (y) { a = Mul (x, x) y = Add (a, x) }"""
    )
    agree(text, *({"c": np.array(c), "x": X} for c in (True, False)))


def test_functions_at_an_opset_of_their_own() -> None:
    """Softmax means something else before opset 13."""
    text = (
        LOCAL
        + """main (float[2, 3, 2] x) => (float[2, 3, 2] y) { y = local.f (x) }
        <domain: "local", opset_import: ["" : 11]> f (x) => (y) { y = Softmax <axis = 1> (x) }"""
    )
    x = np.linspace(-1, 1, 12, dtype="f4").reshape(2, 3, 2)
    want = np.exp(x) / np.exp(x).sum((1, 2), keepdims=True)
    agree(text, {"x": x}, wants=[[want]], rtol=1e-6)


def test_overloads() -> None:
    """Of one name, told apart by the node's overload."""
    if "overload" not in {f.name for f in onnx.FunctionProto.DESCRIPTOR.fields}:
        return  # onnx 1.16 has them
    make = [
        helper.make_function(
            "local", "f", ["x"], ["y"], [helper.make_node(o, ["x"], ["y"])], [helper.make_opsetid("", 17)]
        )
        for o in ("Neg", "Abs")
    ]
    make[1].overload = "other"
    nodes = [helper.make_node("f", ["x"], [o], domain="local") for o in ("y", "z")]
    nodes[1].overload = "other"
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "main", [info("x", 1, [2, 3])], [info(n, 1, [2, 3]) for n in "yz"])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    agree(helper.make_model(graph, functions=make, opset_imports=opsets), {"x": X}, wants=[[-X, abs(X)]])


@pytest.mark.parametrize("through", ["f", "g"])
def test_recursion_is_refused(through: str) -> None:
    text = (
        LOCAL
        + f"""main (float[N, 3] x) => (float[N, 3] y) {{ y = local.f (x) }}
        <domain: "local", opset_import: ["" : 17, "local" : 1]> f (x) => (y) {{ a = local.{through} (x) y = local.{through} (a) }}
        <domain: "local", opset_import: ["" : 17, "local" : 1]> g (x) => (y) {{ a = local.f (x) y = local.f (a) }}"""
    )
    with pytest.raises(converters.UnsupportedModel, match="function f calls itself"):
        import_model(parsed(text))


def test_operators_that_onnx_defines_by_others() -> None:
    """Without a reading of ours they are what their definition says, bodies that depend on the types included."""
    text = """main (float[N, 3] x) => (float[N, 3] y, float[N, 3] z) {
        y = MeanVarianceNormalization <axes = [0, 1]> (x)
        z = Shrink (x)
    }"""
    agree(text, {"x": X}, rtol=1e-5)


def test_what_a_function_holds_that_cannot_be_read_is_said() -> None:
    text = (
        LOCAL
        + """main (float[N, 3] x) => (float[N, 3] y) { y = local.f (x) }
        <domain: "local", opset_import: ["" : 17]> f (x) => (y) { a = Strange (x) y = Odd (a) }"""
    )
    with pytest.raises(converters.UnsupportedModel, match=r"in the function f: .*Strange") as caught:
        import_model(parsed(text))
    assert len(caught.value.problems) == 1


# -- graphs -----------------------------------------------------------------------------------------------------------


def plain(
    nodes, inputs=("x",), outputs=("y",), initializers=(), opset: int | None = 17, ir_version: int = 8
) -> onnx.ModelProto:
    """A model of float tensors of shape (2, 3)."""
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node(*n) if isinstance(n, tuple) else n for n in nodes],
        "main",
        [info(n, 1, [2, 3]) for n in inputs],
        [info(n, 1, [2, 3]) for n in outputs],
        list(initializers),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset or 1)], ir_version=ir_version)
    if opset is None:
        del model.opset_import[:]
    return model


W = helper.make_tensor("w", TensorProto.FLOAT, [2, 3], [1, 2, 3, 4, 5, 6])


def test_outputs_that_are_inputs_or_stored() -> None:
    model = plain([("Neg", ["x"], ["y"])], outputs=("x", "w", "y", "w2"), initializers=[W])
    model.graph.node.append(helper.make_node("Identity", ["w"], ["w2"]))
    found = agree(
        model,
        {"x": X},
        wants=[[X, np.arange(1, 7, dtype="f4").reshape(2, 3), -X, np.arange(1, 7, dtype="f4").reshape(2, 3)]],
    )
    assert found.outputs == ("x", "w", "y", "w2")


def test_what_is_kept_of_each_input_and_output() -> None:
    """Types as the inputs declare them; shapes but for sizes of 0, which MXNet reads as not known; of each output its own type."""
    text = """m (string[3] w, float[2, n] a, float[0, 3] b, float c, float[] d, seq(float[2]) s)
    => (string[] w, float[2, n] y, float[] z) {
        y = Relu (a) z = Relu (d)
    }"""
    found = import_model(parsed(text))
    told = {"w": "string)[3]", "a": "float)[2,n]", "b": "float)[0,3]", "c": "float)[]", "d": "float)"}
    assert {n: text_of(k) for n, k in found.kinds.items() if n in told} == {n: f"tensor({t}" for n, t in told.items()}
    every = import_model(parsed(text.replace("z = Relu (d)", "z = Sum (d, c, b, a)")))
    attrs = {n.name: n.attrs for n in every.graph.variables()}
    assert {n: attrs[n].get("__shape__") for n in "abcd"} == {"a": "(2, 0)", "b": None, "c": None, "d": None}
    both = """m (bool c, float[] x, int64[] i) => (float[] p, int64[] q) {
        p, q = If (c) <then_branch = a () => (float[] p1, int64[] q1) { p1 = Relu (x) q1 = Neg (i) },
                       else_branch = b () => (float[] p2, int64[] q2) { p2 = Neg (x) q2 = Abs (i) }>
    }"""
    kept = [e.node.attrs.get(KIND) for e in import_model(parsed(both)).graph.outputs]
    assert kept == ["tensor(float)"] * 2  # of the node, whose first output that is


def test_doubts_and_repairs_are_each_told_once_and_all() -> None:
    text = """<ir_version: 4, opset_import: ["" : 9]> mxnet_converted_model (float[2, 3, 4, 4] x, float[2, 3] r)
    => (float[2, 3] y, float[2, 3, k, l] z, float[2, 3, k, l] v) {
        e = Softmax <axis = 1> (r) f = Softmax <axis = 1> (e) y = Neg (f)
        [one] z = AveragePool <kernel_shape = [2, 2], pads = [1, 1, 1, 1]> (x)
        [two] v = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x)
    }"""
    found = import_model(parsed(text))
    for said in (found.repairs, found.doubts):
        for name in ("one", "two"):
            assert len([s for s in said if s.startswith(f"{name}: ")]) == 1, said
    assert len(found.repairs) == len(found.doubts) == 2


def test_outputs_listed_twice_and_not_at_all() -> None:
    model = plain(
        [("Neg", ["x"], ["y"]), ("Abs", ["x"], ["unused"]), ("Split", ["x"], ["", "b"])], outputs=("y", "y", "b")
    )
    model.graph.node[2].attribute.append(helper.make_attribute("axis", 0))
    model.graph.output[2].type.tensor_type.shape.dim[0].dim_value = 1
    found = agree(model, {"x": X}, wants=[[-X, -X, X[1:]]])
    assert found.outputs == ("y", "y", "b")


def test_parameters_of_nodes_that_nothing_reads_are_left_out() -> None:
    model = plain([("Neg", ["x"], ["y"]), ("Add", ["x", "w"], ["unused"])], initializers=[W])
    symbol, arguments, states = converters.from_onnx(model)
    assert symbol.list_arguments() == ["x"]
    assert arguments == states == {}


def test_inputs_that_nothing_reads_stay_inputs() -> None:
    model = plain([("Neg", ["x"], ["y"])], inputs=("unread", "x"))
    found = agree(model, {"unread": X, "x": X + 1})
    assert list(found.inputs) == ["unread", "x"]


NOTHING = (
    (8, "ImageScaler <scale = 1.0> (image)"),
    (8, "Crop <border = [0, 0, 0, 0]> (image)"),
    (6, "Sum (x)"),
    (13, "Mean (x)"),
    (13, "Max (x)"),
    (13, "Min (x)"),
    (13, "Identity (x)"),
    (13, "Dropout (x)"),
    (6, "Dropout <is_test = 1> (x)"),
    (13, "Concat <axis = 1> (x)"),
    (13, "Flatten <axis = 1> (x)"),
    (13, "Transpose <perm = [0, 1]> (x)"),
    (13, "Cast <to = 1> (x)"),
    (15, "CastLike (x, x)"),
    (13, 'Einsum <equation = "ij->ij"> (x)'),
    (11, "Clip (x)"),
    (6, "Slice <axes = [0], starts = [0], ends = [99]> (x)"),
    (2, "Pad <pads = [0, 0, 0, 0]> (x)"),
    (11, "Squeeze <axes : ints = []> (x)"),
    (11, "Unsqueeze <axes : ints = []> (x)"),
    (5, "Reshape (x, kept)"),
    (8, "Expand (x, ones)"),
    (6, "Tile (x, ones)"),
    (18, "ReduceSum <noop_with_empty_axes = 1> (x)"),
    (9, 'Upsample <mode = "nearest"> (x, scales)'),
    (10, 'Resize <mode = "linear"> (x, scales)'),
)
"""Nodes that give what they get."""


def test_what_does_nothing_has_a_name_of_its_own() -> None:
    stored = "<int64[2] kept = {0, -1}, int64[2] ones = {1, 1}, float[2] scales = {1.0, 1.0}>"
    failed = []
    for opset, node in NOTHING:
        name, given = ("image", X.reshape(1, 2, 1, 3)) if "image" in node else ("x", X)
        of = f"float[{', '.join(map(str, given.shape))}]"
        text = f'<ir_version: 8, opset_import: ["" : {opset}]> net ({of} {name}) => ({of} y, {of} z) {stored}'
        symbol, params, _ = converters.from_onnx(onnx.parser.parse_model(f"{text} {{ y = {node} z = Neg (y) }}"))
        y, z = Program(symbol.graph, {k: v.asnumpy() for k, v in params.items()}).run({name: given})
        if symbol.list_outputs() != ["y_output", "z_output"] or not np.array_equal([y, z], [given, -given]):
            failed.append(f"{node}: {symbol.list_outputs()}")
    assert not failed


def test_initializers_that_are_inputs_too() -> None:
    """Before IR 4 all were."""
    found = agree(plain([("Add", ["x", "w"], ["y"])], ("x", "w"), initializers=[W], opset=8, ir_version=3), {"x": X})
    assert list(found.inputs) == ["x"]
    assert list(found.params) == ["w"]


def test_names_of_nodes_and_tensors_may_coincide() -> None:
    nodes = [helper.make_node("Neg", ["x"], ["a"], name="x"), helper.make_node("Mul", ["a", "w"], ["y"], name="w")]
    found = agree(plain(nodes, initializers=[W]), {"x": X})
    names = [n.name for n in found.graph.nodes]
    assert len(set(names)) == len(names)
    assert {"x", "w"} <= {n.name for n in found.graph.variables()}


def test_one_stored_tensor_stays_one() -> None:
    """However many nodes read it, under whatever name."""
    nodes = [
        ("Identity", ["w"], ["v"]),
        ("Add", ["x", "w"], ["a"]),
        ("Mul", ["a", "v"], ["b"]),
        ("Sub", ["b", "w"], ["y"]),
    ]
    assert list(agree(plain(nodes, initializers=[W]), {"x": X}).params) == ["w"]


def test_nodes_in_any_order() -> None:
    nodes = [("Add", ["b", "a"], ["y"]), ("Neg", ["a"], ["b"]), ("Abs", ["x"], ["a"])]
    found = agree(plain(nodes), {"x": X}, wants=[[abs(X) - abs(X)]])
    assert found.repairs == ("nodes stood before what they read: put in order",)


def test_a_cycle_is_refused() -> None:
    nodes = [("Add", ["x", "b"], ["a"]), ("Neg", ["a"], ["b"]), ("Neg", ["b"], ["y"])]
    with pytest.raises(converters.ConversionError, match="cycle through a, b"):
        import_model(plain(nodes))


def test_a_tensor_that_two_nodes_make_is_refused() -> None:
    with pytest.raises(converters.ConversionError, match="several nodes make y, wanted one"):
        import_model(plain([("Neg", ["x"], ["y"]), ("Abs", ["x"], ["y"])]))


def test_an_opset_that_onnx_does_not_define_is_refused() -> None:
    model = plain([("Neg", ["x"], ["y"])])
    model.opset_import[0].version = 999
    with pytest.raises(converters.ConversionError, match="got a model of opset 999, wanted 1 to"):
        import_model(model)


def test_a_tensor_that_nobody_makes_is_named() -> None:
    with pytest.raises(converters.UnsupportedModel, match="its input nowhere is neither"):
        import_model(plain([("Add", ["x", "nowhere"], ["y"])]))
    with pytest.raises(converters.UnsupportedModel, match="no node makes it"):
        import_model(plain([("Neg", ["x"], ["a"])]))


@pytest.mark.parametrize(
    "ir_version", [*range(3, 11), pytest.param(11, marks=old_runtime("reads up to IR version 10"))]
)
def test_every_ir_version(ir_version: int) -> None:
    agree(plain([("Relu", ["x"], ["y"])], opset=8, ir_version=ir_version), {"x": X})


def test_without_opset() -> None:
    """Opset 1, as ONNX has it; broadcasting was an attribute there."""
    add = helper.make_node("Add", ["x", "b"], ["y"], broadcast=1, axis=0, consumed_inputs=[0, 0])
    bias = helper.make_tensor("b", TensorProto.FLOAT, [2], [10, 20])
    found = agree(plain([add], initializers=[bias], opset=None), {"x": X}, wants=[[X + np.float32([[10], [20]])]])
    assert found.opset == 1
    assert found.repairs == ("the file names no opset: it is read as opset 1",)


def test_the_standard_by_its_full_name() -> None:
    node = helper.make_node("Neg", ["x"], ["y"], domain="ai.onnx")
    agree(plain([node]), {"x": X})


def test_unknown_things_are_refused_by_name() -> None:
    nodes = [
        helper.make_node("Neg", ["x"], ["a"], name="first", extra=1),
        helper.make_node("Unheard", ["x"], ["b"], name="second"),
        helper.make_node("Relu", ["x", "x"], ["c"], name="third"),
        helper.make_node("Thing", ["x"], ["d"], name="fourth", domain="far.away"),
        helper.make_node("Sum", ["a", "b", "c", "d"], ["y"], name="follows"),
    ]
    with pytest.raises(converters.UnsupportedModel) as caught:
        import_model(plain(nodes))
    assert [p.node for p in caught.value.problems] == ["first", "second", "third", "fourth"]


def test_sparse_initializers() -> None:
    values = helper.make_tensor("w", TensorProto.FLOAT, [2], [5, 7])
    indices = helper.make_tensor("i", TensorProto.INT64, [2], [1, 5])
    model = plain([("Add", ["x", "w"], ["y"])])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2, 3]))
    agree(model, {"x": X}, wants=[[X + np.float32([[0, 5, 0], [0, 0, 7]])]])


def test_symbolic_sizes_stay_free() -> None:
    text = """main (float[N, C] x) => (float[C, N] y, int64[2] s) { y = Transpose (x) s = Shape (y) }"""
    found = agree(text, {"x": X}, {"x": X[:1]}, {"x": X[:0]})
    assert found.inputs["x"].shape == ("N", "C")


# -- types ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["tensor(float)", "tensor(int64)[2,n,?]", "tensor(bool)[]", "seq(tensor(string))", "optional(seq(tensor(float)[?,3]))",
     "map(int64,tensor(float))", "seq(map(string,tensor(double)))", "optional(tensor(bfloat16)[1])"],
)  # fmt: skip
def test_types_are_texts(text: str) -> None:
    assert text_of(kind_of(text)) == text


@pytest.mark.parametrize("text", ["", "float", "tensor(", "tensor(number)", "list(tensor(float))", "seq(float)"])
def test_texts_that_are_no_types(text: str) -> None:
    with pytest.raises(converters.ConversionError, match="wanted one such as"):
        kind_of(text)


def test_inputs_that_are_no_tensors_keep_their_type() -> None:
    text = """main (seq(float[?, 3]) s, int64 i) => (float[N, 3] y, seq(float[?, 3]) t) {
        y = SequenceAt (s, i) t = SequenceErase (s)
    }"""
    found = agree(text, {"s": [X, X[:1]], "i": np.array(-1)}, {"s": [X[:1], X], "i": np.array(0)})
    assert {n.name: n.attrs.get("__kind__") for n in found.graph.variables()} == {
        "s": "seq(tensor(float)[?,3])",
        "i": None,
    }


def test_what_the_model_gives_keeps_its_name() -> None:
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
net (float[2, 3] x) => (float[2, 3] logits) { h = Relu (x)  logits = Sigmoid (h) }""")
    model.graph.node[0].name, model.graph.node[1].name = "/act/Relu", "/head/Sigmoid"
    found = import_model(model)
    assert [n.name for n in found.graph.nodes] == ["x", "/act/Relu", "logits"]
    assert found.graph.outputs[0].name == "logits_output"


# -- what is refused, and what beside it is not ---------------------------------------------------------------------------


def refusals() -> list[tuple[int, str, str]]:
    """Opset, a model after its name, and a part of the reason; empty where it is read."""
    one = "(float[2, 6] x) => (float[] y)"
    fed = "(float[2, 6] x, int64[1] i) => (float[] y)"
    branch = """(bool c, float[3] x) => (float[3] y) {
        y = If (c) <then_branch = yes () => (THEN, else_branch = no () => (ELSE>
    }"""
    same = "float[3] p) { p = Neg (x) }"
    loop = """(int64 n, float[3] x) => (float[3] y) {
        y = Loop (n, , STATES) <body = step (INPUTS) => (bool going, float[3] t) {BODY} >
    }"""
    step = " going = Constant <value = bool {1}> () t = Neg (s) "
    scan = """(float[3] s, float[4, 3] x) => (float[3] y, float[4, 3] z) {
        y, z = Scan <num_scan_inputs = 1, AXES body = step (INPUTS) => (float[3] t, float[3] u) {
            t = Add (a, a) u = Neg (t)
        }> (s, x)
    }"""
    return [
        (17, f"{one} {{ y = Neg <extra = 1> (x) }}", "unknown attribute extra (at opset 17 it takes none)"),
        (6, f"{one} {{ y = Clip <least = 1.0> (x) }}", "unknown attribute least (at opset 6 it takes max, min)"),
        (
            17,
            f"{one} {{ y = Unheard (x) }}",
            "no reading for Unheard at opset 17, an operator that ONNX has never had; define one in a plug-in (--plugin FILE.py)"
            " with converters.registry.imports('Unh",
        ),
        (
            17,
            f"{one} {{ y = BitwiseAnd (x, x) }}",
            "no reading for BitwiseAnd at opset 17, which ONNX has had since opset 18; ",
        ),
        (17, f"{one} {{ y = local.Unheard (x) }}", "no reading for Unheard of domain local at opset 1; "),
        (17, f"{one} {{ y = Relu (x, x) }}", "got 2 inputs, wanted 1 to 1"),
        (17, f"{one} {{ y = Pow (x) }}", "got 1 inputs, wanted 2 to 2"),
        (17, f"{one} {{ y = Sum () }}", "got 0 inputs, wanted 1 to any number"),
        (17, f"{one} {{ y = LRN (x) }}", "attribute size is required"),
        (17, f"{one} {{ y = LRN <sizes = 3> (x, x) }}", "; attribute size is required; got 2 inputs, wanted 1 to 1"),
        (17, f"{fed} {{ y = Add (x, i) }}", "got A of dtype float32 and B of dtype int64, wanted one dtype"),
        (17, f"{one} {{ y = Not (x) }}", "got X of dtype float32, wanted bool"),
        (17, "(float[2, 6] x) => (float[] y, float[] z) { y, z = Relu (x) }", "output z is not computed"),
        (18, f"{one} {{ y, z = Split <num_outputs = 3, axis = 1> (x) }}", "got 2 outputs, wanted num_outputs=3"),
        (18, f"{one} {{ y, z = Split <num_outputs = 2, axis = 1> (x) }}", ""),
        (
            11,
            f"{one} {{ y, z = Split <split = [1, 3], axis = 1> (x) }}",
            "got pieces of [1, 3] for 2 outputs and an axis of size 6",
        ),
        (11, f"{one} {{ y, z = Split <split = [1, 5], axis = 1> (x) }}", ""),
        (11, f"{one} {{ y = Flatten <axis = 3> (x) }}", "got axis 3 for 2 dimensions"),
        (11, f"{one} {{ y = Flatten <axis = -3> (x) }}", "got axis -3 for 2 dimensions"),
        (11, f"{one} {{ y = Flatten <axis = 2> (x) }}", ""),
        (
            9,
            f"{one} {{ y = Slice <starts = [0], ends = [1], axes = [2]> (x) }}",
            "got axes [2] for data of 2 dimensions",
        ),
        (
            9,
            f"{one} {{ y = Slice <starts = [0, 1], ends = [1], axes = [1]> (x) }}",
            "wanted equally many and no step of 0",
        ),
        (11, f"{one} {{ y = Unsqueeze <axes = [1, 1]> (x) }}", "got axes [1, 1], wanted each once"),
        (11, f"{one} {{ y = Unsqueeze <axes = [1, -3]> (x) }}", "wanted each once"),
        (4, f"{one} {{ y = Reshape <shape = [-2, 6]> (x) }}", "got shape [-2, 6], wanted sizes, 0, or one -1"),
        (4, f"{one} {{ y = Reshape <shape = [-1, -1]> (x) }}", "wanted sizes, 0, or one -1"),
        (2, f"{one} {{ y = Pad <pads = [1, 2]> (x) }}", "got 2 pads for 2 dimensions, wanted two for each"),
        (1, "(float[2, 6] x, float[1] n, float[1] a) => (float[] y) { y = Tile (x, n, a) }", "only known at run time"),
        (1, "(float[2, 1, 3] x) => (float[] y) { y = GlobalLpPool <p = 2.5> (x) }", "got p=2.5, wanted a whole number"),
        (1, "(float[2, 1, 3] x) => (float[] y) { y = GlobalLpPool <p = 3.0> (x) }", ""),
        (17, "() => (float[] y) { y = Constant <value_float = 1.5, value_int = 2> () }", "got 2 values, wanted one"),
        (17, "() => (float[] y) { y = Constant () }", "got 0 values, wanted one"),
        (17, branch.replace("THEN", same).replace("ELSE", same), ""),
        (
            17,
            branch.replace("THEN", same).replace("ELSE", "float[3] p, float[3] q) { p = Neg (x) q = Abs (x) }"),
            "got branches of 1 and 2 outputs",
        ),
        (
            17,
            branch.replace("THEN", same).replace("ELSE", "float[3] p) { q = Neg (x) }"),
            "the subgraph's output p is made by nothing",
        ),
        (17, loop.replace("STATES", "x").replace("INPUTS", "int64 i, bool on, float[3] s").replace("BODY", step), ""),
        (
            17,
            loop.replace("STATES", "x")
            .replace("INPUTS", "int64 i, bool on")
            .replace("BODY", step.replace("(s)", "(x)")),
            "got a body of 2 inputs and 2 outputs with 1 states",
        ),
        (17, scan.replace("AXES", "").replace("INPUTS", "float[3] a, float[3] b"), ""),
        (
            17,
            scan.replace("AXES", "").replace("INPUTS", "float[3] a"),
            "got 2 inputs, 1 of them states, with a body of 1 inputs and 2 outputs",
        ),
        (
            17,
            scan.replace("AXES", "scan_input_axes = [2],").replace("INPUTS", "float[3] a, float[4] b"),
            "got axis 2 to scan of 2 dimensions",
        ),
        (17, "(float[2] x) => (float[2] y, float[2] z) { y = Neg (x) }", "z (output): no node makes it"),
        (17, "(float[2] x) => () { y = Neg (x) }", "the model has no outputs"),
        (17, "(float[2] x) => (float[2] y) { y = Neg (w) }", "its input w is neither an input of the model"),
        (15, "(seq(float[2]) x) => (float[2] y) { y = Optional () }", "got neither an input nor a type"),
    ]


def test_what_is_refused_says_why_and_what_beside_it_is_not() -> None:
    wrong = []
    for opset, text, reason in refusals():
        try:
            import_model(
                onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}, "local" : 1]> g {text}')
            )
        except converters.ConversionError as error:
            if not reason or reason not in str(error):
                wrong.append(f"{text}: {error}")
        else:
            wrong += [f"{text}: read, though {reason}"] if reason else []
    assert not wrong, "\n".join(wrong)


def test_types_hold_sizes_and_elements() -> None:
    tensor = kind_of("tensor(int64)[2,n,?]").tensor_type
    assert [(d.dim_value, d.dim_param) for d in tensor.shape.dim] == [(2, ""), (0, "n"), (0, "")]
    assert tensor.elem_type == onnx.TensorProto.INT64
    assert not kind_of("tensor(float)").tensor_type.HasField("shape")
    for wrap in (onnx_types.sequence_of, onnx_types.optional_of):
        assert wrap(None) is None
        assert onnx_types.element_type(wrap(kind_of("tensor(double)[3]"))) == kind_of("tensor(double)[3]")
        assert onnx_types.element_dtype(wrap(kind_of("tensor(double)[3]"))) == np.float64
    assert onnx_types.tensor_of(None) is None
    assert onnx_types.tensor_of(np.dtype(np.int8)) == kind_of("tensor(int8)")
    assert onnx_types.element_type(kind_of("tensor(double)")) is None
    assert onnx_types.element_dtype(None) is None
    assert onnx_types.declared_spec(kind_of("tensor(int8)[2,n,?]")) == ((2, "n", "?"), np.int8)
    assert onnx_types.declared_spec(kind_of("seq(tensor(int8))")) == ((), np.dtype(object))
    assert onnx_types.declared_spec(kind_of("optional(tensor(int8)[2])")) == (None, None)
    assert [onnx_types.known_dims(s) for s in (None, (2, "n", -1, 0))] == [None, (2, UNKNOWN, UNKNOWN, 0)]
    for dtype in (np.dtype("datetime64[s]"), np.dtype("V3")):
        with pytest.raises(converters.error.Unsupported, match="for which ONNX has no element type"):
            onnx_types.code_of(dtype)
    with pytest.raises(converters.error.Unsupported, match="element type 99 is not known"):
        onnx_types.dtype_of(99)


def test_weights_beside_a_model_that_is_given_as_bytes(tmp_path: Path) -> None:
    arrays = {"w": np.arange(600, dtype=np.float32).reshape(200, 3)}
    node = helper.make_node("Gemm", ["x", "w"], ["y"], transB=1)
    info = [helper.make_tensor_value_info("x", 1, ["n", 3])], [helper.make_tensor_value_info("y", 1, ["n", 200])]
    graph = helper.make_graph([node], "g", *info)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path, _ = Converted(model, arrays).save(tmp_path / "m.onnx", external=True)
    for source, options in (
        (path, {}),
        (path.read_bytes(), {"folder": tmp_path}),
        (str(path), {"folder": str(tmp_path)}),
    ):
        symbol, params, aux = converters.from_onnx(source, **options)
        assert (list(params), aux) == (["w"], {})
        np.testing.assert_array_equal(params["w"].asnumpy(), arrays["w"])
        assert symbol.list_arguments() == ["x", "w"]
        found = import_model(source, **options)
        (got,) = Program(found.graph, found.params).run({"x": X})
        np.testing.assert_allclose(got, X @ arrays["w"].T)


def test_constants_of_every_kind() -> None:
    text = """main (float[3] x, string[2] w) => (float[3] y, int64[2] i, float f, int64 k, bool[2] e, string one, float[4] d) {
        c = Constant <value_floats = [1.5, 2.5, -3.0]> () y = Add (x, c)
        i = Constant <value_ints = [3, 4]> ()
        f = Constant <value_float = 2.5> ()
        k = Constant <value_int = 7> ()
        s = Constant <value_strings = ["a", "b"]> () e = Equal (w, s)
        one = Constant <value_string = "hi"> ()
        d = Constant () }"""
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("", TensorProto.FLOAT, [2], [1.5, -2]),
        helper.make_tensor("", TensorProto.INT64, [2], [0, 3]),
        [4],
    )
    model = parsed(text)
    model.graph.node[-1].attribute.append(helper.make_attribute("sparse_value", sparse))
    wants = [
        *(X[0] + np.float32([1.5, 2.5, -3]), np.array([3, 4]), np.float32(2.5), np.int64(7), np.array([True, False])),
        *(np.array("hi", object), np.float32([1.5, 0, 0, -2])),
    ]
    agree(model, {"x": X[0], "w": np.array(["a", "c"], object)}, wants=[wants])


def test_a_negative_size_is_an_open_axis() -> None:
    """So some exporters write it, and onnxruntime reads it."""
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [-1, 3]) for n in "xy")
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [x], [y])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    assert import_model(proto).inputs["x"].shape == ("?", 3)
    agree(proto, {"x": np.ones((2, 3), np.float32)}, {"x": np.ones((5, 3), np.float32)})
