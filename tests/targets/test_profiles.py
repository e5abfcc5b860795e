"""Profiles of targets: well-formed, about operators that ONNX has, about forms that there are."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import onnx
import onnx.defs
import onnx.parser
import pytest
from onnx import TensorProto, helper

from bridge.paths import BadInput
from bridge.targets.check import problems
from bridge.targets.place import variable_of
from bridge.targets.profile import PLACES, Profile, profile_of, profiles, profiles_of
from bridge.targets.rules import RULES
from bridge.targets.writing import written_for
from converters.forms import USUAL, Forms

OPERATORS = {s.name: s for s in onnx.defs.get_all_schemas() if not s.domain}
EVERY = {s.name for s in onnx.defs.get_all_schemas_with_history() if not s.domain}
ADAPTERS = {"", "onnxruntime", "reference", "openvino", "opencv", "mnn", "ncnn", "tract", "onnx2torch"}


@pytest.mark.parametrize("profile", profiles().values(), ids=lambda p: p.name)
def test_well_formed(profile: Profile) -> None:
    oldest, newest = profile.opsets
    assert 7 <= oldest <= newest
    assert profile.opset is None or oldest <= profile.opset <= newest
    assert profile.ir >= 3
    assert profile.description
    assert profile.sources
    assert profile.adapter in ADAPTERS
    assert bool(profile.adapter) == bool(profile.packages), "what is run is looked for in packages"
    named = {
        *(profile.accepts or ()),
        *profile.lacks,
        *profile.constant,
        *profile.computed,
        *profile.attributes,
        *profile.ranks,
    }
    assert {n for n in named if "." not in n} <= EVERY
    for operator, limited in profile.attributes.items():
        assert set(limited) <= set(OPERATORS[operator].attributes), operator
    for operator, places in {**profile.constant, **profile.computed}.items():
        inputs = OPERATORS[operator].inputs
        variadic = inputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
        assert variadic or max(places) < len(inputs), operator
    assert set(profile.forms) <= {f.name for f in fields(Forms)}
    assert set(profile.wrong) <= set(RULES)
    assert set(profile.dtypes) <= set(PLACES)
    assert {d.upper() for dtypes in profile.dtypes.values() for d in dtypes} <= set(TensorProto.DataType.keys())
    assert profile.rounding is None or 0 < profile.rounding <= 5e-3
    assert profile.as_forms() == replace(USUAL, **profile.forms)


def test_those_that_were_asked_for_are_there() -> None:
    wanted = {"onnxruntime", *(f"onnxruntime-1.{n}" for n in range(8, 19)), "tensorrt-7", "tensorrt-8", "tensorrt-10"}
    wanted |= {"openvino-2023", "openvino", "opencv-4.6", "opencv", "ncnn", "mnn", "tract", "coreml", "tflite"}
    wanted |= {"onnxruntime-mobile", "onnxruntime-web", "onnx2torch", "onnx-reference"}
    assert wanted <= set(profiles())


def test_names_of_variables_are_apart() -> None:
    assert len({variable_of(n) for n in profiles()}) == len(profiles())
    assert variable_of("opencv-4.6") == "GLUONNX_TARGET_PYTHON_OPENCV_4_6"


def test_releases_of_onnxruntime() -> None:
    """The first that reads an opset, as its table of releases has it."""
    first = {14: "1.8", 15: "1.9", 16: "1.11", 17: "1.12", 18: "1.14", 19: "1.15", 20: "1.17", 21: "1.18"}
    for opset, release in first.items():
        reads = [n for n, p in profiles().items() if n.startswith("onnxruntime-1.") and p.opsets[1] >= opset]
        assert reads[0] == f"onnxruntime-{release}"


@pytest.mark.parametrize(
    ("version", "covered"),
    [
        ("4.6.0.66", True),
        ("4.6.0rc1", True),
        ("4.7.0", False),
        ("4.5.3", False),
        ("5.0.0.93", False),
        ("4.10.0", False),
    ],
)
def test_releases_are_numbers_not_texts(version: str, covered: bool) -> None:
    assert profile_of("opencv-4.6").covers(version) is covered


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(BadInput, match="did you mean openvino"):
        profile_of("openvno")
    with pytest.raises(BadInput) as found:
        profiles_of(["tensort-8", "mn"])
    assert len(found.value.problems) == 2
    assert len(profiles_of(["all"])) == len(profiles())


def model(
    *nodes: onnx.NodeProto, opset: int = 13, ir: int = 7, shape: tuple[int | str, ...] = (1, 3, 4, 4)
) -> onnx.ModelProto:
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        list(nodes), "g", [info("x", TensorProto.FLOAT, shape)], [info("y", TensorProto.FLOAT, None)],
        [helper.make_tensor("k", TensorProto.INT64, [1], [2])],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)


def node(kind: str, *inputs: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(kind, list(inputs or ("x",)), ["y"], name="n", **attributes)


def reasons(target: str, made: onnx.ModelProto) -> list[str]:
    return [f"{p.node} {p.operator}: {p.reason}" for p in problems(profile_of(target), made)]


def of_tensors(target: str, made: onnx.ModelProto) -> list[str]:
    """Those that are not about the file's versions."""
    return [r for r in reasons(target, made) if not r.startswith("the file ")]


def test_what_fits_has_no_problem() -> None:
    for name, profile in profiles().items():
        opset = profile.opset or 13
        assert reasons(name, model(node("Relu"), opset=opset, ir=min(7, profile.ir))) == []


def test_every_kind_of_problem_is_told() -> None:
    assert reasons("tensorrt-8", model(node("ConvInteger", "x", "x"))) == [
        "n ConvInteger: tensorrt-8 has no ConvInteger"
    ]
    assert reasons("mnn", model(node("IsNaN"))) == ["n IsNaN: mnn has no IsNaN"]
    assert reasons("onnxruntime-1.8", model(node("Relu"), opset=17, ir=8)) == [
        "the file opset: opset 17, and onnxruntime-1.8 reads 7 to 14",
        "the file IR: IR version 8, and onnxruntime-1.8 reads 7",
    ]
    (told,) = reasons("ncnn", model(node("Relu"), shape=("batch", 3, 4, 4)))
    assert "size ['batch', 3, 4, 4] is open" in told
    topk = helper.make_node("TopK", ["x", "k2"], ["y", "i"], name="n")
    shape = helper.make_node("Shape", ["x"], ["k2"], name="s")
    assert reasons("tensorrt-8", model(shape, topk)) == ["n TopK: tensorrt-8 wants input 1 (k2) to be a constant"]
    assert reasons("tensorrt-8", model(helper.make_node("TopK", ["x", "k"], ["y", "i"], name="n"))) == []
    resize = {"mode": "nearest", "coordinate_transformation_mode": "tf_crop_and_resize"}
    (told,) = reasons("tensorrt-8", model(node("Resize", "x", "x", "x", **resize)))
    assert "coordinate_transformation_mode=tf_crop_and_resize" in told
    (told,) = reasons("tensorrt-7", model(node("BatchNormalization", *"xxxxx"), shape=(2, 3)))
    assert "2 dimensions, and tensorrt-7 takes 3 to 5" in told
    halved = helper.make_node("Cast", ["x"], ["half"], name="h", to=TensorProto.FLOAT16)
    told, _ = reasons("opencv-4.6", model(halved, node("Cast", "half", to=TensorProto.FLOAT), opset=10, ir=5))
    assert told == "h Cast: half is of float16, which opencv-4.6 has not"
    pooled = node("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    (told,) = reasons("opencv-4.6", model(pooled, opset=10, ir=5))
    assert "count_include_pad=1, which it overlooks" in told
    (told,) = reasons(
        "opencv-4.6", model(node("InstanceNormalization", "x", "k", "k"), opset=10, ir=5, shape=(2, 3, 4, 4))
    )
    assert "a batch of 2" in told
    assert reasons("opencv-4.6", model(node("InstanceNormalization", "x", "k", "k"), opset=10, ir=5)) == []


def test_division_that_opencv_turns_round() -> None:
    """Measured with OpenCV 4.6: a constant of several numbers over a tensor, and a tensor that is broadcast over another."""
    two = helper.make_node("ReduceMean", ["x"], ["m"], name="m", axes=[1], keepdims=1)
    halves = model(two, helper.make_node("Div", ["m", "x"], ["y"], name="n"), opset=10, ir=5)
    (told,) = reasons("opencv-4.6", halves)
    assert "the other way round" in told
    assert reasons("opencv-4.6", model(two, helper.make_node("Div", ["x", "m"], ["y"], name="n"), opset=10, ir=5)) == []
    (told,) = reasons("opencv-4.6", model(two, helper.make_node("Sub", ["x", "m"], ["y"], name="n"), opset=10, ir=5))
    assert "does not broadcast" in told


def test_bodies_of_control_flow_are_looked_into() -> None:
    body = helper.make_graph(
        [helper.make_node("IsNaN", ["x"], ["b"], name="inside")], "b", [],
        [helper.make_tensor_value_info("b", TensorProto.BOOL, None)],
    )  # fmt: skip
    made = model(helper.make_node("If", ["c"], ["y"], name="n", then_branch=body, else_branch=body))
    assert reasons("mnn", made)[:1] == ["inside IsNaN: mnn has no IsNaN"]


def test_operators_of_other_domains() -> None:
    custom = helper.make_node("Thing", ["x"], ["y"], name="n", domain="org.example")
    assert reasons("openvino", model(custom)) == ["n Thing: openvino has no operator of the domain org.example"]


def test_one_file_for_several_targets() -> None:
    how = written_for(["openvino", "opencv-4.6"], None)
    assert how.opsets[0] == 10
    assert how.newest == 12
    assert not how.forms.nan_guards
    assert not how.forms.counted_pads
    assert written_for((), 15).opsets == (15,)
    with pytest.raises(BadInput, match="no opset is read by all"):
        written_for(["coreml", "onnxruntime-mobile"], None)
    with pytest.raises(BadInput, match="got opset 17, wanted 7 to 12"):
        written_for("opencv-4.6", 17)


def graph(text: str, opset: int = 13, **constants: Any) -> onnx.ModelProto:
    """A model of nodes in ONNX's text; constants are stored in it."""
    made = onnx.parser.parse_model(f'<ir_version: 7, opset_import: ["": {opset}]> {text}')
    made.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items())
    return made


W, V = np.ones((4, 3), np.float32), np.ones((3, 4), np.float32)


@pytest.mark.parametrize(
    ("target", "text", "constants", "told"),
    [
        ("opencv", "g (float[2,3] a, float[2,3] b) => (float[2,3] y) { s = HardSigmoid<alpha=0.16666667>(b) y = Mul(a, s) }", {},
         "a multiplied by HardSigmoid of another tensor, which it takes for an activation of that tensor"),
        ("opencv", "g (float[2,3] a) => (float[2,3] y) { s = HardSigmoid<alpha=0.16666667>(a) y = Mul(a, s) }", {}, ""),
        ("opencv", "g (float[2,3] a, float[2,3] b) => (float[2,3] y) { s = HardSigmoid(b) y = Mul(s, a) }", {}, ""),
        ("opencv", "g (float[2,3] a, float[2,3] b) => (float[2,3] y) { s = Softplus(b) t = Tanh(s) y = Mul(t, a) }", {},
         "a multiplied by Tanh of another tensor"),
        ("opencv", "g (float[2,3] a) => (float[2,3] y) { s = Softplus(a) t = Tanh(s) y = Mul(a, t) }", {}, ""),
        ("opencv", "g (float[2,3] a, float[2,3] b) => (float[2,3] y) { d = Div(b,k) e = Erf(d) f = Add(e,o) y = Mul(a,f) }",
         {"k": np.float32(1.5), "o": np.float32(1)}, "a multiplied by Add of another tensor"),
        ("opencv", "g (float[2,3] a) => (float[2,3] y) { d = Div(a, k) e = Erf(d) f = Add(e, o) h = Mul(a, k) y = Mul(h, f) }",
         {"k": np.float32(1.5), "o": np.float32(1)}, ""),
        ("opencv", "g (float[3] c) => (float[3] y) { a = Mul(c,k) d = Div(a,k) e = Erf(d) f = Add(e,o) h = Mul(a,k) y = Mul(h,f) }",
         {"k": np.float32(1.5), "o": np.float32(1)}, ""),
        ("opencv", "g (float[2,3] a, float[2,3] b) => (float[2,3] y) { n = ReduceL2<axes=[1]>(b) y = Div(a, n) }", {},
         "a divided by ReduceL2 of another tensor"),
        ("opencv", "g (float[2,3] a) => (float[2,3] y) { n = ReduceL2<axes=[1]>(a) y = Div(a, n) }", {}, ""),
        ("tensorrt-8", "g (float[3] a) => (uint8[3] y) { y = QuantizeLinear(a, k, z) }",
         {"k": np.float32(1), "z": np.uint8(0)}, "integers of uint8, which it does not read"),
        ("tensorrt-8", "g (float[3] a) => (int8[3] y) { y = QuantizeLinear(a, k, z) }", {"k": np.float32(1), "z": np.int8(3)},
         "a zero point of 3"),
        ("tensorrt-8", "g (float[3] a) => (int8[3] y) { y = QuantizeLinear(a, k, z) }", {"k": np.float32(1), "z": np.int8(0)}, ""),
        ("opencv", "g (int64[2,3] a) => (int64[1,1] y) { y = ReduceMax<axes=[0,1]>(a) }", {}, "whole numbers, which it crashes on"),
        ("opencv", "g (int64[2,3] a) => (int64[1,1] y) { y = ReduceSum(a, k) }", {"k": np.array([0, 1])}, "it crashes on"),
        ("opencv", "g (int64[2,3] a) => (int64[2,1] y) { y = ReduceMax<axes=[1]>(a) }", {}, ""),
        ("opencv", "g (double[1,2,5,5] a) => (double[1,2,4,4] y) { y = MaxPool<kernel_shape=[2,2]>(a) }", {}, "of double, for"),
        ("onnxruntime-1.15", "g (int8[3] a, int8[3] b) => (int8[3] y) { y = Max(a, b) }", {}, "of int8"),
        ("onnxruntime-1.15", "g (int32[3] a, int32[3] b) => (int32[3] y) { y = Max(a, b) }", {}, ""),
        ("mnn", "g (float[1,2,4,4,4] a) => (float[1,2,3,3,3] y) { y = MaxPool<kernel_shape=[2,2,2]>(a) }", {}, "5 dimensions"),
        ("onnx2torch", "g (float[1,2,5,5] a) => (float[1,2,4,4] y) { y = AveragePool<kernel_shape=[3,3],pads=[0,0,1,1]>(a) }", {},
         "pads=[0, 0, 1, 1], which it has not"),
        ("openvino", "g (float[5,4] x, float[5,4] l) => (float[5,4] y) { h = MatMul(x,W) t = Tanh(h) p = MatMul(t,V) y= Sub(p,l) }",
         {"W": W, "V": V}, "a product of 5 rows behind a product, which it crashes on"),
        ("openvino", "g (float[5,4] x, float[5,4] l) => (float[5,4] y) { h = MatMul(x,W) t = Tanh(h) p = MatMul(t,V) y= Add(p,l) }",
         {"W": W, "V": V}, ""),
        ("openvino", "g (float[16,4] x, float[16,4] l) => (float[16,4] y) { h = MatMul(x, W) p = MatMul(h, V) y = Sub(p, l) }",
         {"W": W, "V": V}, ""),
        ("openvino", "g (float[5,4] x, float[5,3] l) => (float[5,3] y) { h = MatMul(x, W) y = Sub(h, l) }", {"W": W}, ""),
    ],
)  # fmt: skip
def test_what_engines_crash_on_or_take_for_something_else(target: str, text: str, constants: Any, told: str) -> None:
    found = reasons(target, graph(text, **constants))
    assert len(found) == bool(told), found
    assert all(told in f for f in found)


@pytest.mark.parametrize(("target", "taken"), [("tensorrt-7", False), ("tensorrt-8", True), ("tensorrt-10", True)])
def test_tensorrt_takes_bytes_from_8_5_on(target: str, taken: bool) -> None:
    text = "g (uint8[1,4] data) => (float[1,4] y) { y = Cast<to=1>(data) }"
    refused = f"data input: {target} takes no uint8 inputs: leave out --uint8, or give the input as float32"
    assert reasons(target, graph(text, 11)) == ([] if taken else [refused])
    stored = graph(
        "g (float[1,4] a, uint8[4] k) => (float[1,4] y) { c = Cast<to=1>(k) y = Mul(a, c) }", 11, k=np.uint8([1] * 4)
    )
    assert reasons(target, stored) == [], "what is stored is no input, though the list of inputs has it"


@pytest.mark.parametrize(
    ("target", "dtype", "inside", "output"),
    [
        ("tensorrt-7", "uint8", "tensorrt-7 has as a constant alone", "tensorrt-7 has as a constant alone"),
        ("tensorrt-8", "uint8", "tensorrt-8 has as an input, as a constant or as an output alone", ""),
        ("tensorrt-10", "uint8", "tensorrt-10 has as an input, as a constant or as an output alone", ""),
        ("tensorrt-8", "int16", "tensorrt-8 has not", "tensorrt-8 has not"),
        ("tensorrt-7", "int32", "", ""),
        ("coreml", "float16", "coreml has not", "coreml has not"),
        ("onnxruntime", "uint8", "", ""),
    ],
)
def test_a_dtype_is_refused_wherever_a_target_lacks_it(target: str, dtype: str, inside: str, output: str) -> None:
    """Of what nodes compute too, and not of inputs alone."""
    code = getattr(TensorProto, dtype.upper())
    text = f"g (float[1,4] data) => (float[1,4] y) {{ c = Cast<to={code}>(data) y = Cast<to=1>(c) }}"
    assert of_tensors(target, graph(text, 11)) == [f"{n} Cast: c is of {dtype}, which {inside}" for n in "cy" if inside]
    text = f"g (float[1,4] data) => ({dtype}[1,4] y) {{ y = Cast<to={code}>(data) }}"
    assert of_tensors(target, graph(text, 11)) == ([f"y Cast: y is of {dtype}, which {output}"] if output else [])


def test_an_input_of_a_dtype_that_is_lacking_is_told_once() -> None:
    text = "g (float16[1,4] x) => (float[1,4] y) { a = Cast<to=1>(x) b = Cast<to=1>(x) y = Add(a, b) }"
    assert of_tensors("coreml", graph(text, 11)) == [
        "x input: coreml takes no float16 inputs: give the input as float32"
    ]
    assert of_tensors("opencv-4.6", graph(text, 11)) == [], "which casts at the ends by itself"
    both = text.replace("y = Add", "d = Neg(x) y = Add")
    assert [r for r in of_tensors("opencv-4.6", graph(both, 11)) if "input:" in r] == [
        "x input: opencv-4.6 takes no float16 inputs: give the input as float32"
    ]


def test_a_node_called_as_a_word_of_python_is_no_module_of_pytorch() -> None:
    made = helper.make_node("Relu", ["x"], ["y"], name="class")
    assert "the name class, which is none" in "".join(reasons("onnx2torch", model(made)))


def test_an_output_that_is_a_constant() -> None:
    made = helper.make_node("Reshape", ["k", "k"], ["y"], name="n")
    assert "y is a constant, which it does not give" in "".join(reasons("opencv-4.6", model(made, opset=10, ir=5)))
    assert reasons("opencv-4.6", model(node("Relu"), opset=10, ir=5)) == []


def test_slices_with_steps() -> None:
    """Measured with ncnn 1.0.20261020: no layers for Tensor.slice."""
    text = "g (float[1,3,6] x) => (float[1,3,3] y) { y = Slice(x, a, b, d, s) }"
    given = {"a": np.array([0]), "b": np.array([6]), "d": np.array([2])}
    assert "steps of [2], which it has no layer for" in "".join(reasons("ncnn", graph(text, s=np.array([2]), **given)))
    assert reasons("ncnn", graph(text, s=np.array([1]), **given)) == []
