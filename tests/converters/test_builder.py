"""Tools that translations write with: names, constants, casts, bodies, and what comes of them in the node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import converters
from converters import builder, export, ort_kernels
from converters.builder import Builder, Value
from converters.error import ConversionError, Problem, Unsupported, UnsupportedModel
from converters.registry import EXPORT, ML, MS, TRAINING
from hybrid import symbol as sym
from hybrid.core.error import InternalError
from hybrid.core.op import Spec
from hybrid.core.shapes import UNKNOWN

from .agreement import by_onnxruntime

F4, F8, F2, I8, I4 = (np.dtype(d) for d in ("f4", "f8", "f2", "i8", "i4"))


def made(b: Builder) -> list[tuple[str, tuple[str, ...]]]:
    return [(n.op_type, n.inputs) for n in b.nodes]


def attributes(b: Builder) -> dict[str, Any]:
    """Those of the last node, as ONNX has them."""
    b.nodes[-1].owner[0] = "n"
    return {a.name: helper.get_attribute_value(a) for a in b.nodes[-1].proto().attribute}


def test_sizes_that_have_to_be_known() -> None:
    known, open_ = Value("x", (2, UNKNOWN, 4), F4), Value("y", None, F4)
    assert (known.rank, known.dim(0), known.dim(-1)) == (3, 2, 4)
    assert Value("x", (2, 3), F4).static == (2, 3)
    for ask, said in (
        (lambda: open_.rank, "the rank of y is not known; give the shapes of all inputs"),
        (lambda: open_.dim(0), "needs the size of axis 0 of y, which is dynamic"),
        (lambda: known.dim(1), "needs the size of axis 1 of x, which is dynamic"),
        (lambda: known.static, "needs the size of axis 1 of x"),
    ):
        with pytest.raises(Unsupported, match=said):
            ask()


def test_names_and_what_they_become() -> None:
    b = Builder(17)
    assert [b.unique(n) for n in ("a", "a", "", "", "a")] == ["a", "a_1", "_1", "_2", "a_2"]
    start = b.enter("node")
    x = Value("x", (2, 3), F4)
    inner = b.Neg(x)
    outer = b.Abs(inner)
    left = b.leave(start, [outer, outer, x], ["one", "two", "three"])
    assert [v.name for v in left] == ["one", "one", "x"]
    assert [(n.op_type, n.inputs, n.outputs, n.owner[0]) for n in b.nodes] == [
        ("Neg", ("x",), ["node/Neg_output"], "node/Neg"),
        ("Abs", ("node/Neg_output",), ["one"], "node"),
    ]
    with pytest.raises(AttributeError, match="neg"):
        b.neg  # noqa: B018


def test_versions_of_other_domains() -> None:
    wanted = {"": [13, 14, 22], ML: [2, 2, 5], TRAINING: [1, 1, 1], MS: [1, 1, 1], "far.away": [1, 1, 1]}
    assert {d: [builder.domain_opset(d, o) for o in (13, 14, 22)] for d in wanted} == wanted
    assert [builder.domain_opset(ML, o) for o in (15, 19, 20, 21)] == [3, 3, 4, 4]
    many, one = (("T", True),), (("T", False), ("tensor(int64)", False))
    found = [builder._formal(p, i) for p, i in ((many, 0), (many, 3), (one, 1), (one, 2), ((), 0))]
    assert found == ["T", "T", "tensor(int64)", "", ""]


def test_constants() -> None:
    b = Builder(17)
    for value, dtype, want in (
        (3, None, I8),
        ([], None, I8),
        ([1, 2], None, I8),
        (np.float32(2.5), None, F4),
        (2.5, F4, F4),
        (7, F8, F8),
    ):
        assert b.const(value, dtype).dtype == want
    for value in (2.5, [1, 2.5], True):
        with pytest.raises(TypeError, match="needs a dtype"):
            b.const(value)
    for value, fits in ((127, True), (128, False), (-128, True), (-129, False)):
        if fits:
            assert b.const(value, np.int8).const == value
        else:
            with pytest.raises(Unsupported, match=f"needs {value} as int8, which that cannot hold"):
                b.const(value, np.int8)
    long, longer = np.arange(1024), np.arange(1025)
    assert b.const(long).name == b.const(long).name
    assert b.const(longer).name != b.const(longer).name
    assert b.const(long, name="own").name == "own"
    assert b.const(long, name="own").name == "own_1"
    assert b.const(np.arange(6).reshape(2, 3).T).const.flags.c_contiguous


def test_casts() -> None:
    b = Builder(17)
    start = b.enter("node")
    x, free, c = Value("x", (2,), F2), Value("y", (2,), None), b.const(np.float32([1.5, -2]))
    assert b.cast(x, F2) is x
    assert b.cast(x, F4) is b.cast(x, np.float32)
    assert b.cast(free, F8).dtype == F8  # of a dtype that nobody knows nothing is taken to be so already
    assert b.cast(c, I4).const.tolist() == [1, -2]
    assert b.wide(free) is free
    assert b.wide(x).dtype == F4
    assert b.wide(Value("z", (2,), I4)).dtype == I4
    assert made(b)[start:] == [("Cast", ("x",)), ("Cast", ("y",))]
    b.enter("next")
    assert len(b.nodes) == 2
    b.cast(x, F4)
    assert len(b.nodes) == 3
    small = Builder(17)
    assert small.to_integer(Value("x", (2,), F4), np.int8).dtype == np.int8
    assert [n.attrs["to"] for n in small.nodes] == [TensorProto.INT32, TensorProto.INT8]
    for dtype, code in ((np.int32, TensorProto.INT32), (bool, TensorProto.BOOL)):
        small = Builder(17)
        small.to_integer(Value("x", (2,), F4), dtype)
        assert [n.attrs["to"] for n in small.nodes] == [code]


def test_operands_and_results() -> None:
    """Numbers take the dtype of what they stand beside; where there is no kernel all operands are cast, and the result back."""
    b = Builder(17)
    free = b.Neg(Value("y", (2,), None))
    assert free.dtype is None
    assert b.Add(Value("x", (2,), F2), 3).dtype == F2
    assert b.nodes[-1].inputs[1:] == (b.const(3, F2).name,)
    cut = b.Clip(Value("i", (2,), np.dtype(np.int16)), None, 5)
    ops = [n.op_type for n in b.nodes[2:]]
    assert cut.dtype == np.int16
    assert ops == ["Cast", "Clip", "Cast"]
    clip = b.nodes[3]
    assert clip.inputs[1] == ""
    assert b.initializers[clip.inputs[2]].dtype != np.int16
    filled = b.ConstantOfShape([2, 3], value=helper.make_tensor("v", TensorProto.FLOAT16, [1], [1.5]))
    assert filled.dtype == F2
    assert b.node("RandomNormal", shape=[2], dtype=TensorProto.DOUBLE).dtype == F8
    assert b.Cast(Value("x", (2,), F2), to=TensorProto.INT8).dtype == np.int8
    b.Slice(Value("x", (2,), F2), [0], [1], None, None)
    assert len(b.nodes[-1].inputs) == 3
    b.node("MaxPool", Value("x", (1, 1, 4), F4), kernel_shape=[2], pads=[], strides=None)
    assert attributes(b) == {"kernel_shape": [2], "pads": []}


def test_shapes_that_are_known_are_settled_here() -> None:
    b = Builder(17)
    c, x = b.const(np.arange(6, dtype="f4").reshape(2, 3)), Value("x", (2, UNKNOWN), F4)
    assert b.reshape(c, [3, 2]).const.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert b.reshape(c, [-1]).const.shape == (6,)
    assert b.transpose(c, [1, 0]).const.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert b.transpose(c, [0, 1]) is c
    assert b.unsqueeze(c, [0, 3]).const.shape == (1, 2, 3, 1)
    assert b.unsqueeze(c, []) is c
    assert b.squeeze(x, []) is x
    assert not b.nodes
    assert b.reshape(c, [0, 3]).const is None
    assert b.reshape(c, b.const([3, 2])).const is None
    assert [n.op_type for n in b.nodes] == ["Reshape", "Reshape"]
    b.reshape(x, [0, 3], allowzero=True)
    assert attributes(b) == {"allowzero": 1}
    assert b.size(x, 0) == 2
    assert b.dims(2, 3) == [2, 3]
    before = len(b.nodes)
    one = b.dims(b.size(x, 1))
    assert [n.op_type for n in b.nodes[before:]] == ["Shape", "Gather"]
    assert one.name == b.nodes[-1].outputs[0]
    b.dims(4, 5, one, 6)
    assert [b.initializers[n].tolist() for n in b.nodes[-1].inputs if n in b.initializers] == [[4, 5], [6]]
    (piece,) = b.split(x, [2], 0)
    assert isinstance(piece, Value)
    assert len(b.split(x, [1, 1], 0)) == 2


def test_axes_of_reductions() -> None:
    """An attribute or an input, as the opset has it, and none for all."""
    x = Value("x", (2, 3, 4), F4)
    cases = [
        ("Sum", 13, [1, -1], [1, -1], {"keepdims": 1}),
        ("Sum", 13, [], None, {"keepdims": 0}),
        ("Sum", 13, None, None, {"keepdims": 0}),
        ("Max", 17, [1], None, {"keepdims": 1, "axes": [1]}),
        ("Max", 17, [], None, {"keepdims": 1}),
        ("Max", 17, None, None, {"keepdims": 1}),
        ("Max", 18, [1], [1], {"keepdims": 1}),
        ("Max", 18, (), None, {"keepdims": 0}),
    ]
    for kind, opset, axes, given, want in cases:
        b = Builder(opset)
        b.reduce(kind, x, axes, keepdims=bool(want["keepdims"]))
        read = [b.initializers[n].tolist() for n in b.nodes[-1].inputs[1:]]
        assert read == ([] if given is None else [given]), (kind, opset, axes)
        assert attributes(b) == want, (kind, opset, axes)


def test_bodies() -> None:
    b = Builder(17)
    b.enter("loop")
    outer = Value("outside", (2,), F4)

    def make(inner: Builder, count: Value, going: Value, state: Value, words: Value) -> list[Value]:
        total = inner.Add(state, outer)
        return [going, total, total, outer, words]

    body = b.body(make, Spec((), I8), bool, Spec((UNKNOWN, 3), F4), Spec(None, np.dtype(object)))
    assert [n.op_type for n in body.node] == ["Add", *["Identity"] * 4]
    inputs = [i.type.tensor_type for i in body.input]
    assert [(t.elem_type, t.HasField("shape")) for t in inputs[:3]] == [(7, True), (9, False), (1, True)]
    assert [d.dim_value for d in inputs[2].shape.dim] == [0, 3]
    assert body.input[3].type.WhichOneof("value") is None
    names = [o.name for o in body.output]
    assert len(set(names)) == 5
    assert not {"outside", *(i.name for i in body.input)} & set(names)
    assert body.output[4].type.WhichOneof("value") is None
    assert all(n.name.startswith("loop/body/") for n in body.node)
    lost = Builder(22)
    assert ort_kernels.is_lost("GlobalLpPool", 22)
    with pytest.raises(Unsupported, match="onnxruntime has no kernel at opset 22 for GlobalLpPool"):
        lost.body(lambda inner, x: [inner.GlobalLpPool(x)], F4)
    assert Builder(21).body(lambda inner, x: [inner.GlobalLpPool(x)], F4).node


def test_translations_that_go_wrong_are_bugs_of_ours_and_not_the_model_s(monkeypatch: pytest.MonkeyPatch) -> None:
    x = sym.var("x")
    halves = sym.SliceChannel(x, num_outputs=2, axis=1, name="halves")
    group = sym.Group([sym.sin(halves[0], name="sine"), sym.cos(x, name="cosine")])

    def raising(error: Exception) -> Any:
        def handler(b: Any, op: Any, *inputs: Any) -> Any:
            raise error

        return {13: handler}

    monkeypatch.setitem(EXPORT, "cos", raising(MemoryError("4 GB")))
    with pytest.raises(UnsupportedModel) as caught:
        converters.to_onnx(group, {}, {"x": (3, 4)})
    assert list(caught.value.problems) == [Problem("cosine", "cos", "memory does not suffice: 4 GB")]
    monkeypatch.setitem(EXPORT, "sin", raising(TypeError("odd")))
    bug = r"^sine \(sin\): its translation to ONNX failed \(TypeError: odd\); this is a bug"
    for wrong in (group, sym.contrib.cond(sym.sum(x), lambda: sym.sin(x, name="sine"), lambda: x)):
        with pytest.raises(InternalError, match=bug):
            converters.to_onnx(wrong, {}, {"x": (3, 4)})
    monkeypatch.setitem(EXPORT, "cos", raising(ConversionError("broken")))
    with pytest.raises(ConversionError, match=r"^broken$"):
        converters.to_onnx(sym.cos(x), {}, {"x": (3, 4)})
    monkeypatch.undo()
    monkeypatch.setitem(EXPORT, "SliceChannel", {13: lambda b, op, data: b.slice(data, [0], [2], [1])})
    first = converters.to_onnx(sym.exp(halves[0]), {}, {"x": (3, 4)})
    data = np.arange(12, dtype="f4").reshape(3, 4) / 8
    np.testing.assert_allclose(by_onnxruntime(first, {"x": data})[0], np.exp(data[:, :2]), rtol=1e-6)
    with pytest.raises(UnsupportedModel, match="output halves_output1 has no ONNX counterpart"):
        converters.to_onnx(sym.exp(halves[1]), {}, {"x": (3, 4)})


def test_inputs_and_outputs_that_little_is_known_of() -> None:
    x, y = sym.var("x"), sym.var("y")
    model = converters.to_onnx(x + sym.var("w"), {"w": np.arange(6.0).reshape(2, 3)}, {"x": Spec(None, F8)})
    (info,) = model.graph.input
    assert (info.type.tensor_type.elem_type, [d.dim_value for d in info.type.tensor_type.shape.dim]) == (11, [2, 3])
    with pytest.raises(ConversionError, match=r"cannot tell the shape of x \(\?, ?3\); give shapes for them"):
        converters.to_onnx(x * 2, {}, {"x": Spec((UNKNOWN, 3), F4)})
    gelu = export.convert(sym._onnx_Gelu(x), {}, {"x": (2, 3)}, default_dtype=np.float64, default=17).model
    assert gelu.opset_import[0].version == 20
    assert gelu.graph.input[0].type.tensor_type.elem_type == TensorProto.DOUBLE
    twice = converters.to_onnx(x * y + y * sym.var("x"), {}, {"x": (2,), "y": (2,)})
    assert [i.name for i in twice.graph.input] == ["x", "y"]
    # an axis that is as long as another at some size only does not go by its name
    padded = sym.Group([sym.Concat(x, sym.var("w"), dim=0), y * 2, sym.Concat(x, x, dim=0), x + 1])
    model = converters.to_onnx(padded, {"w": np.ones((2, 3), "f4")}, {"x": ("n", 3), "y": ("m", 3)})
    shapes = [[d.dim_param or d.dim_value for d in o.type.tensor_type.shape.dim] for o in model.graph.output]
    assert shapes[1::2] == [["m", 3], ["n", 3]]
    assert {"m", "n"}.isdisjoint([shapes[0][0], shapes[2][0]])
    bare = export._tensor_info("t", None, None, ()).type.tensor_type
    assert (bare.elem_type, bare.HasField("shape")) == (TensorProto.FLOAT, False)
    odd = helper.make_node("Odd", ["x"], ["a"], domain=MS)
    nodes = [odd, helper.make_node("Neg", ["x"], ["b"])]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)]
    inputs = [helper.make_tensor_value_info("x", 1, [2])]
    assert export._types(nodes, inputs, {}, opsets, ["b"])["b"].tensor_type.elem_type == 1
    with pytest.raises(ConversionError, match="cannot tell the type of the outputs a; give the shapes of all inputs"):
        export._types(nodes, inputs, {}, opsets, ["a", "b"])
    assert export.unexplained_operators() == set()


def test_many_names_of_one_kind_are_found_at_once() -> None:
    """Each by one look: numbers that were given are not tried again, in bodies neither."""
    builder = Builder(17)
    looked = 0

    class Counted(set[str]):
        def __contains__(self, name: object) -> bool:
            nonlocal looked
            looked += 1
            return super().__contains__(name)

    builder.names.taken = Counted(["x_3"])
    assert [builder.unique("x") for _ in range(6)] == ["x", "x_1", "x_2", "x_4", "x_5", "x_6"]
    names = {builder.unique("y") for _ in range(2000)}
    assert (len(names), looked < 2 * 2010 + 20) == (2000, True)
    builder.body(lambda inner, v: [inner.Neg(v)] if inner.unique("y") == "y_2000" else [], np.float32)
