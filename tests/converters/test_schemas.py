"""Nodes whose inputs have dtypes that ONNX's schemas forbid are not read, nor written; loops that never end end by a budget."""

import math

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from converters.builder import Builder
from converters.error import ConversionError, Unsupported
from converters.importer import import_model
from converters.schemas import attribute_types, misfit, schema_of, well_formed
from hybrid.core.error import MXNetError
from hybrid.core.memory_budget import set_step_budget
from hybrid.execution.program import Program


def model_of(nodes, inputs, outputs, stored=()):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
        [helper.make_tensor_value_info(n, t, s) for n, t, s in outputs],
        [numpy_helper.from_array(a, n) for n, a in stored],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString()


def test_a_reading_gets_no_dtype_that_the_schema_forbids():
    """It is of MXNet's operators, which may mean something by it."""
    node = helper.make_node("ReduceSumSquare", ["x"], ["y"])
    model = model_of([node], [("x", TensorProto.BOOL, (3, 4))], [("y", TensorProto.BOOL, (1, 1))])
    with pytest.raises(ConversionError, match="got data of dtype bool, wanted bfloat16 or float16"):
        import_model(model)


def test_inputs_of_one_type_variable_have_one_dtype():
    stored = [("w", np.zeros((1, 6, 3))), ("r", np.zeros((1, 6, 2), np.float32))]
    node = helper.make_node("GRU", ["x", "w", "r"], ["y"], hidden_size=2)
    model = model_of([node], [("x", TensorProto.FLOAT, (4, 1, 3))], [("y", TensorProto.FLOAT, None)], stored)
    with pytest.raises(ConversionError, match="got X of dtype float32 and W of dtype float64, wanted one dtype"):
        import_model(model)


def test_what_schemas_say():
    single, double, whole = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)
    assert misfit("Add", 13, "", [single, single]) is None
    assert misfit("Add", 13, "", [single, None]) is None
    assert misfit("Concat", 13, "", [single, single, double]) == (
        "got inputs of dtype float32 and inputs of dtype float64, wanted one dtype; cast one of them"
    )
    assert misfit("Loop", 13, "", [whole, np.dtype(bool), single, double]) is None, "each of the states has its own"
    assert misfit("ReduceMax", 13, "", [np.dtype(bool)]) is None, "as the newest has it"
    assert misfit("NoSuchOperator", 13, "", [single]) is None
    assert misfit("Add", 13, "", [single, single, double]) is None, "how many there are is not its matter"


def test_attributes_come_in_the_forms_that_types_say():
    types = {"axis": "INT", "axes": "INTS", "words": "STRINGS", "alpha": "FLOAT"}
    for given, want, said in (
        ({"axis": 1.0, "axes": (2, 3.0), "alpha": 1}, {"axis": 1, "axes": (2, 3), "alpha": 1}, []),
        ({"axes": (), "words": (), "other": ()}, {"axes": (), "words": (), "other": ()}, []),
        ({"axis": ()}, None, ["attribute axis is an empty list, wanted a number"]),
        ({"axis": 1e30}, None, ["attribute axis is 1e+30, wanted a whole number"]),
        ({"axis": math.nan}, None, ["attribute axis is nan, wanted a whole number"]),
        ({"axes": (2, -math.inf)}, None, ["attribute axes is -inf, wanted a whole number"]),
        ({"axes": (1, 0.5)}, None, ["attribute axes is 0.5, wanted a whole number"]),
        ({"axes": 2}, None, ["attribute axes is a number, wanted numbers"]),
        ({"words": (2,)}, None, ["attribute words is numbers, wanted texts"]),
        ({"alpha": onnx.TypeProto()}, None, ["attribute alpha is a type, wanted a number"]),
        ({"words": (onnx.GraphProto(),)}, None, ["attribute words is a list of GraphProto, wanted texts"]),
    ):  # fmt: skip
        formed, problems = well_formed(types, given)
        assert problems == said
        assert want is None or (
            formed == want and [type(v) for v in formed.values()] == [type(v) for v in want.values()]
        )
    assert attribute_types("Cast", 13, "") == {"to": "INT"}
    assert attribute_types("Add", 13, "") == {"consumed_inputs": "INTS", "axis": "INT", "broadcast": "INT"}, (
        "of older versions"
    )
    assert attribute_types("NoSuchOperator", 13, "") == {}
    assert schema_of("Gelu", 19) is None and schema_of("Gelu", 20).name == "Gelu"


def test_a_whole_number_that_a_dtype_does_not_hold_is_no_constant_of_it():
    builder = Builder(18)
    assert builder.const(255, np.uint8).const == 255
    with pytest.raises(Unsupported, match="needs -1 as uint8"):
        builder.const(-1, np.uint8)


def endless(cond: str, most: str = "") -> bytes:
    """A Loop that counts, and goes on for as long as the model says."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["going"], ["on"]), helper.make_node("Add", ["s", "s"], ["t"])],
        "body",
        [helper.make_tensor_value_info(n, t, ()) for n, t in (("i", 7), ("going", 9), ("s", 1))],
        [helper.make_tensor_value_info(n, t, ()) for n, t in (("on", 9), ("t", 1))],
    )
    node = helper.make_node("Loop", [most, cond, "x"], ["y"], body=body)
    stored = [("most", np.array(2**62)), ("yes", np.array(True))]
    return model_of([node], [("x", TensorProto.FLOAT, ())], [("y", TensorProto.FLOAT, ())], stored)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(("cond", "most"), [("yes", ""), ("", "most"), ("yes", "most")])
def test_a_loop_that_never_ends_ends_by_the_budget_of_steps(cond, most, native):
    found = import_model(endless(cond, most))
    before = set_step_budget(20)
    try:
        with pytest.raises(MXNetError, match="after 20 steps, which is all that set_step_budget allows"):
            Program(found.graph, native=native).run({**found.params, "x": np.float32(1)})
    finally:
        set_step_budget(before)


def test_a_budget_of_steps_is_a_number_or_none():
    with pytest.raises(ValueError, match="wanted 0 or more steps"):
        set_step_budget(-1)
