"""Graphs with their floats in another dtype: types, casts, bodies, and what no other rewriting of this kind gets right."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from converters.precision.retype import GREATEST, WIDENED, from_proto, retype
from converters.writer import Converted

FLOAT, HALF, INT64, BOOL = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.BOOL


def model(nodes, inputs, outputs, constants=(), opset: int = 17) -> Converted:
    """A model; inputs and outputs by name as (type, shape), constants by name as arrays."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(n, *spec) for n, spec in inputs.items()],
        [helper.make_tensor_value_info(n, *spec) for n, spec in outputs.items()],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in dict(constants).items()],
    )
    return from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8))


def run(converted: Converted, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    proto = converted.proto()
    onnx.checker.check_model(proto, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(proto.SerializeToString(), options).run(None, feeds)


def kinds(converted: Converted) -> dict[str, int]:
    typed = onnx.shape_inference.infer_shapes(converted.proto()).graph
    return {i.name: i.type.tensor_type.elem_type for i in (*typed.input, *typed.value_info, *typed.output)}


NODE = helper.make_node
X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def test_inputs_and_outputs_keep_their_types_and_names() -> None:
    made = retype(
        model([NODE("Exp", ["x"], ["e"]), NODE("Neg", ["e"], ["y"])], {"x": (FLOAT, [3, 4])}, {"y": (FLOAT, [3, 4])})
    )
    found = kinds(made.converted)
    assert found["x"] == found["y"] == FLOAT
    assert found["e"] == HALF
    assert made.casts == 2
    [y] = run(made.converted, {"x": X})
    np.testing.assert_allclose(y, -np.exp(X), rtol=2e-3)
    assert (y != -np.exp(X)).any()  # it was computed in float16


def test_turned_inputs_and_outputs_are_float16() -> None:
    whole = model([NODE("Exp", ["x"], ["y"])], {"x": (FLOAT, [3, 4])}, {"y": (FLOAT, [3, 4])})
    made = retype(whole, turned=None)
    assert [kinds(made.converted)[n] for n in "xy"] == [HALF, HALF]
    assert made.casts == 0
    assert run(made.converted, {"x": X.astype(np.float16)})[0].dtype == np.float16
    only = retype(whole, turned={"y"})
    assert [kinds(only.converted)[n] for n in "xy"] == [FLOAT, HALF]


@pytest.mark.parametrize("form", ["to", "shape", "eye", "constant"])
def test_attributes_that_name_a_dtype_follow(form: str) -> None:
    nodes = {
        "to": [NODE("Greater", ["x", "zero"], ["g"]), NODE("Cast", ["g"], ["m"], to=FLOAT)],
        "shape": [NODE("Shape", ["x"], ["s"]), NODE("ConstantOfShape", ["s"], ["m"])],
        "eye": [NODE("EyeLike", ["x"], ["m"], dtype=FLOAT)],
        "constant": [NODE("Constant", [], ["m"], value_floats=[1.0, 2.0, 3.0, 4.0])],
    }[form]
    whole = model(
        [*nodes, NODE("Add", ["x", "m"], ["y"])],
        {"x": (FLOAT, [3, 4])},
        {"y": (FLOAT, [3, 4])},
        {"zero": np.float32(0)},
    )
    made = retype(whole)
    assert kinds(made.converted)["m"] == HALF
    np.testing.assert_allclose(run(made.converted, {"x": X})[0], run(whole, {"x": X})[0], rtol=2e-3, atol=2e-3)


def test_inputs_that_schemas_hold_to_float32_stay() -> None:
    whole = model(
        [NODE("Mul", ["x", "two"], ["d"]), NODE("Resize", ["d", "", "scales"], ["y"], mode="nearest")],
        {"x": (FLOAT, [1, 1, 3, 4])},
        {"y": (FLOAT, [1, 1, 6, 8])},
        {"two": np.float32(2), "scales": np.float32([1, 1, 2, 2])},
    )
    made = retype(whole)
    assert made.converted.initializers["scales"].dtype == np.float32
    assert made.converted.initializers["two"].dtype == np.float16
    assert run(made.converted, {"x": X.reshape(1, 1, 3, 4)})[0].shape == (1, 1, 6, 8)


def test_nodes_that_stay_read_float32_and_constants_are_there_in_both() -> None:
    whole = model(
        [NODE("Mul", ["x", "w"], ["a"]), NODE("Add", ["x", "w"], ["b"]), NODE("Sub", ["a", "b"], ["y"])],
        {"x": (FLOAT, [3, 4])},
        {"y": (FLOAT, [3, 4])},
        {"w": np.float32([1.0001, 2, 3, 4])},
    )
    made = retype(whole, stay={"b"})
    found = kinds(made.converted)
    assert (found["a"], found["b"]) == (HALF, FLOAT)
    assert {n: a.dtype.name for n, a in made.converted.initializers.items()} == {"w": "float16", "w/float32": "float32"}
    alone = retype(whole, stay={"a", "b", "y"}).converted
    assert alone.initializers["w"].dtype == np.float32
    np.testing.assert_array_equal(run(alone, {"x": X})[0], run(whole, {"x": X})[0])


def test_bodies_are_rewritten_like_the_graph_around_them() -> None:
    body = helper.make_graph(
        [
            NODE("Mul", ["state", "w"], ["next"]),
            NODE("Identity", ["go"], ["more"]),
            NODE("Identity", ["next"], ["seen"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", INT64, []),
            helper.make_tensor_value_info("go", BOOL, []),
            helper.make_tensor_value_info("state", FLOAT, [3, 4]),
        ],
        [
            helper.make_tensor_value_info("more", BOOL, []),
            helper.make_tensor_value_info("next", FLOAT, [3, 4]),
            helper.make_tensor_value_info("seen", FLOAT, [3, 4]),
        ],
    )
    nodes = [NODE("Exp", ["x"], ["e"]), NODE("Loop", ["n", "yes", "e"], ["y", "all"], body=body)]
    whole = model(
        nodes,
        {"x": (FLOAT, [3, 4])},
        {"y": (FLOAT, [3, 4]), "all": (FLOAT, ["k", 3, 4])},
        {"n": np.int64(3), "yes": np.array(True), "w": np.float32(1.5)},
    )
    want = run(whole, {"x": X})
    made = retype(whole)
    for got, exact in zip(run(made.converted, {"x": X}), want):
        np.testing.assert_allclose(got, exact, rtol=4e-3)
    assert made.converted.initializers["w"].dtype == np.float16
    stays = retype(whole, stay={"y"})
    assert stays.converted.initializers["w"].dtype == np.float32
    for got, exact in zip(run(stays.converted, {"x": X}), want):
        np.testing.assert_allclose(got, exact, rtol=4e-3)


def test_constants_beyond_float16_become_its_greatest_and_infinity_stays() -> None:
    whole = model(
        [NODE("Max", ["x", "low"], ["y"])],
        {"x": (FLOAT, [3, 4])},
        {"y": (FLOAT, [3, 4])},
        {"low": np.float32([-1e18, -np.inf, 1, 3e38])},
    )
    made = retype(whole)
    np.testing.assert_array_equal(made.converted.initializers["low"], np.float16([-GREATEST, -np.inf, 1, GREATEST]))
    assert abs(made.clamped["low"]) > 1e38


def test_widening_takes_casts_away() -> None:
    nodes = [
        NODE("Cast", ["x"], ["h"], to=HALF),
        NODE("Mul", ["h", "w"], ["p"]),
        NODE("Cast", ["p"], ["back"], to=FLOAT),
        NODE("Neg", ["back"], ["y"]),
    ]
    whole = model(nodes, {"x": (FLOAT, [3, 4])}, {"y": (FLOAT, [3, 4])}, {"w": np.float16(1.5)})
    made = retype(whole, WIDENED, turned=None).converted
    assert [n.op_type for n in made.model.graph.node] == ["Mul", "Neg"]
    np.testing.assert_array_equal(run(made, {"x": X})[0], -1.5 * X)


def test_what_reads_integers_reads_them_as_they_were() -> None:
    """A Cast to integers takes the number as it is held, and never a rounded one for a float32 input."""
    nodes = [NODE("Cast", ["x"], ["i"], to=INT64), NODE("Gather", ["table", "i"], ["y"])]
    table = np.arange(4097, dtype=np.float32)[:, None] / 4096
    whole = model(nodes, {"x": (FLOAT, [2])}, {"y": (FLOAT, [2, 1])}, {"table": table})
    made = retype(whole).converted
    np.testing.assert_allclose(
        run(made, {"x": np.float32([2049, 4095])})[0][:, 0], [2049 / 4096, 4095 / 4096], rtol=1e-3
    )
    assert made.initializers["table"].dtype == np.float16
