"""Models that a fuzzer found to be read wrongly, or not to be refused in words; and what it tried in vain is refused in words."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from bridge.importing import rebuild
from bridge.onnx_backend import OnnxBackendRep
from converters import node_importer
from converters.error import ConversionError
from converters.importer import import_model
from hybrid.core.error import MXNetError

FLOAT, INT64, UINT16, UINT32 = (
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.INT64,
    onnx.TensorProto.UINT16,
    onnx.TensorProto.UINT32,
)


def model(nodes, inputs=(), outputs=("y",), stored=(), opset=18, functions=()):
    """A model of nodes; inputs: (name, element type, shape), stored: arrays by name."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_empty_tensor_value_info(o) for o in outputs],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in dict(stored).items()],
    )
    opsets = [helper.make_opsetid("", opset), *([helper.make_opsetid("own", 1)] if functions else [])]
    return helper.make_model(graph, opset_imports=opsets, functions=functions)


def run(proto, *inputs):
    """Results of our engine for a model, which it also has to give for the model exported and imported again."""
    found = import_model(proto)
    first = OnnxBackendRep(found).run(inputs)
    again = import_model(rebuild(found))
    given = {n: v for n, v in zip(found.inputs, inputs) if n in again.inputs}
    for a, b in zip(first, OnnxBackendRep(again).run(given), strict=True):
        np.testing.assert_equal(b, a)
    return first


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("shape", [(3,), ("n",), None])
@pytest.mark.parametrize("fixed", [True, False])
def test_slice_backwards_from_before_the_first(rows, shape, fixed):
    """ONNX moves a start before the first element to the first when it walks backwards; Python takes nothing there."""
    shape = (rows,) if shape == (3,) else shape
    numbers = {"starts": [-2], "ends": [np.iinfo(np.int64).min], "axes": [0], "steps": [-1]}
    inputs = [("x", FLOAT, shape), *(() if fixed else ((n, INT64, [1]) for n in numbers))]
    node = helper.make_node("Slice", ["x", *numbers], ["y"])
    if shape is None:  # only run: to be written as ONNX the rank has to be known
        found = import_model(model([node], inputs, stored=numbers if fixed else {}))
        feeds = [np.arange(rows, dtype=np.float32), *(() if fixed else map(np.array, numbers.values()))]
        (y,) = OnnxBackendRep(found).run(feeds)
    else:
        feeds = [np.arange(rows, dtype=np.float32), *(() if fixed else map(np.array, numbers.values()))]
        (y,) = run(model([node], inputs, stored=numbers if fixed else {}), *feeds)
    np.testing.assert_array_equal(y, {1: [0], 2: [0], 3: [1, 0]}[rows])


def test_slice_of_a_shape_backwards():
    """The same where a Shape of a dynamic input is cut, which the importer follows without running it."""
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Slice", ["s", "a", "b", "a2", "c"], ["y"])]
    stored = {"a": [-3], "b": [-9], "a2": [0], "c": [-1]}
    (y,) = run(model(nodes, [("x", FLOAT, ["n", 2])], stored=stored), np.zeros((5, 2), np.float32))
    np.testing.assert_array_equal(y, [5])


def test_mod_with_fmod_of_sizes():
    """fmod has the sign of the dividend also where the remainder is followed along with a size that is not known."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Concat", ["m", "s"], ["c"], axis=0),
        helper.make_node("Mod", ["c", "d"], ["r"], fmod=1),
        helper.make_node("Gather", ["r", "i"], ["y"]),
    ]
    stored = {"m": [-7], "d": [3], "i": [0]}
    (y,) = run(model(nodes, [("x", FLOAT, ["n"])], stored=stored), np.zeros(4, np.float32))
    np.testing.assert_array_equal(y, [-1])


def test_reshape_of_nothing_to_a_size_of_nothing():
    """Sizes that the export computes at run time may be 0, which without allowzero is the dim of the data at that place."""
    nodes = [
        helper.make_node("Slice", ["x", "one", "one", "one"], ["e"]),
        helper.make_node("Reshape", ["e", "to"], ["y"]),
    ]
    stored = {"one": [1], "to": [-1, 1, 2]}
    (y,) = run(model(nodes, [("x", FLOAT, ["n", 1, 1])], stored=stored), np.ones((3, 1, 1), np.float32))
    assert y.shape == (0, 1, 2)


def test_words_that_are_constant():
    """Strings are no bytes that could be copied: exported constants had raw data, which no reader takes."""
    nodes = [helper.make_node("StringConcat", ["a", "b"], ["y"])]
    stored = {"a": np.array(["o", "ü"], object), "b": np.array(["nnx"], object)}
    (y,) = run(model(nodes, stored=stored, opset=20))
    assert y.tolist() == ["onnx", "ünnx"]


def test_dtypes_without_a_kernel_are_kept():
    """onnxruntime lacks EyeLike and SplitToSequence for these: the export casts to what it has, but back to the dtype as well."""
    x = np.arange(6, dtype=np.uint32).reshape(2, 3)
    (y,) = run(model([helper.make_node("EyeLike", ["x"], ["y"])], [("x", UINT32, [2, 3])]), x)
    assert y.dtype == np.uint32
    (y,) = run(model([helper.make_node("SplitToSequence", ["x"], ["y"])], [("x", UINT16, [2, 3])]), x.astype(np.uint16))
    assert [a.dtype for a in y] == [np.uint16] * 2


def test_largest_beside_an_axis_of_no_size():
    """The reduced axis has elements, so there is a largest of each of the zero rows."""
    node = helper.make_node("ReduceMax", ["x", "axes"], ["y"], keepdims=0)
    proto = model([node], [("x", FLOAT, ["n", 3])], stored={"axes": [1]})
    (y,) = run(proto, np.zeros((0, 3), np.float32))
    assert y.shape == (0,)


def test_range_with_stash_type():
    """An attribute that Range has from opset 27 on."""
    node = helper.make_node("Range", ["a", "b", "c"], ["y"], stash_type=1)
    stored = {"a": np.float16(0), "b": np.float16(1), "c": np.float16(0.25)}
    (y,) = OnnxBackendRep(import_model(model([node], stored=stored, opset=27))).run([])
    np.testing.assert_array_equal(y, np.array([0, 0.25, 0.5, 0.75], np.float16))


def _calls(level):
    """A function that calls the one below twice."""
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    if not level:
        return helper.make_function("own", "F0", ["x"], ["y"], [helper.make_node("Relu", ["x"], ["y"])], opsets)
    below = f"F{level - 1}"
    nodes = [helper.make_node(below, ["x"], ["t"], domain="own"), helper.make_node(below, ["t"], ["y"], domain="own")]
    return helper.make_function("own", f"F{level}", ["x"], ["y"], nodes, opsets)


X = ("x", FLOAT, [2])
BROKEN = {
    "axes without a dimension": model(
        [helper.make_node("AffineGrid", ["t", "size"], ["y"])],
        [("t", FLOAT, [])],
        stored={"size": [1, 1, 2, 2, 2]},
        opset=20,
    ),
    "weights of another rank": model(
        [helper.make_node("ConvTranspose", ["x", "w"], ["y"])],
        [("x", FLOAT, [1, 1, 2, 2])],
        stored={"w": np.float32(1)},
    ),
    "a kernel for no axes": model(
        [helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2])], [("x", FLOAT, [])]
    ),
    "an axis that is not there": model([helper.make_node("Split", ["x"], ["y"], axis=-3, num_outputs=1)], [X]),
    "pads that are too few": model(
        [helper.make_node("Pad", ["x", "p"], ["y"])], [("x", FLOAT, [1, 2])], stored={"p": np.array([1])}
    ),
    "heads that do not divide": model(
        [helper.make_node("LinearAttention", ["x", "x", "x"], ["y", "z"], q_num_heads=1, kv_num_heads=0)],
        [("x", FLOAT, [2, 4, 32])],
        outputs=("y", "z"),
        opset=27,
    ),
    "an attribute of another type": model([helper.make_node("Transpose", ["x"], ["y"], perm="10")], [X]),
    "an element type that there is not": model([helper.make_node("Relu", ["x"], ["y"])], [("x", 99, [2])]),
    "a sequence of what there is not": helper.make_model(
        helper.make_graph(
            [helper.make_node("SequenceLength", ["x"], ["y"])],
            "g",
            [helper.make_value_info("x", helper.make_sequence_type_proto(helper.make_tensor_type_proto(99, None)))],
            [helper.make_empty_tensor_value_info("y")],
        )
    ),
    "numbers without end": model(
        [helper.make_node("Range", ["a", "b", "c"], ["y"])],
        stored={"a": np.float32(0), "b": np.float32(np.inf), "c": np.float32(1)},
    ),
    "negative sizes": model([helper.make_node("ConstantOfShape", ["s"], ["y"])], stored={"s": [-3, 2]}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_is_said(name):
    """Nothing but the errors that are meant for it comes out of a model that is broken, with the node's name."""
    with pytest.raises((ConversionError, MXNetError), match=r"\by\b|\bx\b"):
        OnnxBackendRep(import_model(BROKEN[name])).run([np.ones(2, np.float32)])


def test_functions_that_double_are_refused(monkeypatch):
    """A few hundred bytes that would become millions of nodes: before any is read; those in subgraphs while they are."""
    functions = [_calls(level) for level in range(25)]
    proto = model([helper.make_node("F24", ["x"], ["y"], domain="own")], [X], functions=functions)
    with pytest.raises(ConversionError, match="expand to more than 200000 "):
        import_model(proto)
    branches = {
        f"{which}_branch": helper.make_graph(
            [helper.make_node("F4", ["x"], ["z"], domain="own")], which, [], [helper.make_empty_tensor_value_info("z")]
        )
        for which in ("then", "else")
    }
    node = helper.make_node("If", ["c"], ["y"], **branches)
    chosen = helper.make_function("own", "Chosen", ["x", "c"], ["y"], [node], functions[0].opset_import)
    call = helper.make_node("Chosen", ["x", "c"], ["y"], domain="own")
    proto = model([call], [X, ("c", onnx.TensorProto.BOOL, [])], functions=[*functions[:5], chosen])
    import_model(proto)
    monkeypatch.setattr(node_importer, "EXPANDED", 92)  # a node, and 46 in each branch
    with pytest.raises(ConversionError, match="expand to more than 92 "):
        import_model(proto)


def test_memory_that_there_is_not():
    """A plan of 8 TiB is refused when it is to be run, in words."""
    nodes = [helper.make_node("Expand", ["x", "s"], ["a"])]
    nodes += [helper.make_node("Relu", [a], [b]) for a, b in ("ab", "bc")]
    nodes.append(helper.make_node("ReduceSum", ["c"], ["y"]))
    program = OnnxBackendRep(import_model(model(nodes, [("x", FLOAT, [1])], stored={"s": [2**41]})))
    with pytest.raises(MXNetError):
        program.run([np.ones(1, np.float32)])


def test_parameters_are_no_constants_whose_shapes_nobody_judged():
    stored = {"x": np.zeros((5, 4, 2, 3), np.float32), "w": np.ones((1, 3, 1, 1), np.float32)}
    node = helper.make_node("Add", ["x", "w"], ["y"])
    with pytest.raises((ConversionError, MXNetError), match="broadcast"):
        import_model(model([node], stored=stored))


def test_whole_numbers_to_large_unsigned_powers():
    node = helper.make_node("Pow", ["x", "p"], ["y"])
    proto = model([node], [("x", onnx.TensorProto.INT32, [4]), ("p", onnx.TensorProto.UINT64, [])])
    (y,) = run(proto, np.array([-1, 0, 2, 3], np.int32), np.array(2**64 - 1, np.uint64))
    # modulo 2**32
    assert y.tolist() == [-1, 0, 0, pow(3, 2**64 - 1, 2**32) - 2**32 * (pow(3, 2**64 - 1, 2**32) >= 2**31)]


def test_lengths_of_an_old_scan_are_one_for_each_example():
    body = helper.make_graph(
        [helper.make_node("Identity", ["s"], ["t"])],
        "body",
        [helper.make_tensor_value_info("s", FLOAT, None)],
        [helper.make_empty_tensor_value_info("t")],
    )
    node = helper.make_node("Scan", ["lengths", "x"], ["y"], body=body, num_scan_inputs=1)
    for shape, fits in ([2], True), ([3], False), ([2, 5], False):
        proto = model([node], [("lengths", INT64, shape), ("x", FLOAT, [2, 3])], opset=8)
        if fits:
            (y,) = OnnxBackendRep(import_model(proto)).run(
                [np.array([1, 3]), np.arange(6, dtype=np.float32).reshape(2, 3)]
            )
            assert y.tolist() == [[0, 0, 0], [3, 4, 5]]
        else:
            with pytest.raises((ConversionError, MXNetError), match="differ"):
                import_model(proto)


def test_models_of_no_opset_are_refused_in_words():
    axis = onnx.AttributeProto(name="axis", i=1, type=onnx.AttributeProto.TYPE_PROTO)
    node = helper.make_node("Softmax", ["x"], ["y"])
    node.attribute.append(axis)
    proto = model([node], [("x", FLOAT, [2, 3])], opset=-1)
    proto.graph.name = "mxnet_converted_model"
    with pytest.raises(ConversionError, match="Softmax"):
        import_model(proto)
