"""The memory budget: whatever decides a size, it is refused before anything is allocated, by an error that says who wants it."""

import json
import tracemalloc
from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import hybrid as mx
from bridge.inspect import inspect
from converters.importer import import_model
from hybrid import native
from hybrid.core import memory_budget
from hybrid.core.error import MXNetError, OutOfMemory
from hybrid.core.op import lookup
from hybrid.eager.sparse import from_parts
from hybrid.execution.program import Program
from hybrid.formats.params import CSR, RowSparse
from hybrid.ir.graph import Entry, Graph, Node

LITTLE = 1 << 20


@pytest.fixture
def little() -> Iterator[None]:
    """A budget of a MB, and next to no memory taken."""
    before = memory_budget.set_memory_budget(LITTLE)
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    memory_budget.set_memory_budget(before)
    assert peak < 8 * LITTLE


def applied(op: str, *shapes: tuple[int, ...], **attrs: object) -> tuple[Graph, dict[str, np.ndarray]]:
    feeds = {f"x{i}": np.ones(s, np.float32) for i, s in enumerate(shapes)}
    return Graph([Entry(Node(lookup(op).bind(**attrs), "big", [Entry(Node(None, n)) for n in feeds]))]), feeds


CREATING = {
    "zeros": ("_zeros", (), {"shape": (10**4, 10**4)}),
    "arange": ("_arange", (), {"start": 0.0, "stop": 1e9}),
    "tile": ("tile", ((2, 3),), {"reps": (10**4, 10**4)}),
    "repeat": ("repeat", ((2, 3),), {"repeats": 10**8}),
    "one_hot": ("one_hot", ((3,),), {"depth": 10**8}),
    "pad": ("Pad", ((1, 1, 2, 2),), {"mode": "constant", "pad_width": (0, 0, 0, 0, 0, 10**4, 0, 10**4)}),
    "eye": ("_eye", (), {"N": 10**5}),
    "broadcast": ("broadcast_to", ((1, 1),), {"shape": (10**5, 10**5)}),
    "uniform": ("_random_uniform", (), {"shape": (10**5, 10**5)}),
}


@pytest.mark.parametrize("native_", [False, True])
@pytest.mark.parametrize("name", CREATING)
@pytest.mark.usefixtures("little")
def test_sizes_that_attributes_say(name: str, native_: bool) -> None:
    op, shapes, attrs = CREATING[name]
    graph, feeds = applied(op, *shapes, **attrs)
    with pytest.raises(OutOfMemory, match=r"operator big: .*memory budget is 1.05 MB"):
        Program(graph, native=native_).run(feeds)


@pytest.mark.parametrize(
    ("op", "arrays"),
    [
        ("_onnx_ConstantOfShape", [np.array([10**5, 10**5])]),
        ("_onnx_Range", [np.array(0), np.array(10**9), np.array(1)]),
        ("_onnx_Expand", [np.ones((1,), np.float32), np.array([10**9])]),
        ("_onnx_Tile", [np.ones((2,), np.float32), np.array([10**9])]),
    ],
)
@pytest.mark.usefixtures("little")
def test_sizes_that_values_say(op: str, arrays: list[np.ndarray]) -> None:
    names = [f"x{i}" for i in range(len(arrays))]
    graph = Graph([Entry(Node(lookup(op).bind(), "big", [Entry(Node(None, n)) for n in names]))])
    with pytest.raises(OutOfMemory, match="operator big"):
        Program(graph).run(dict(zip(names, arrays)))


@pytest.mark.usefixtures("little")
def test_arrays_and_binding() -> None:
    with pytest.raises(OutOfMemory):
        mx.nd.zeros((10**5, 10**5))
    with pytest.raises(OutOfMemory):
        mx.nd.one_hot(mx.nd.array([1, 2]), depth=10**8)
    with pytest.raises(OutOfMemory):
        mx.sym.tile(mx.sym.var("x"), reps=(10**4, 10**4)).simple_bind(mx.cpu(), x=(2, 3)).forward()


@pytest.mark.skipif(native.level() is None, reason="NumPy's steps ask one by one")
@pytest.mark.usefixtures("little")
def test_outputs_of_a_compiled_program_are_asked_for_together() -> None:
    wide = mx.sym.broadcast_to(mx.sym.var("x"), shape=(400, 500))
    many = mx.sym.Group([mx.sym.exp(wide + i) + mx.sym.sin(wide) for i in range(3)])
    with pytest.raises(OutOfMemory):  # no tensor is too large, together they are
        many.simple_bind(mx.cpu(), grad_req="null", x=(1, 1)).forward()


@pytest.mark.parametrize(
    "parts",
    [
        RowSparse(np.ones((1, 3), np.float32), np.array([5]), (10**9, 3)),
        CSR(np.ones(1, np.float32), np.array([0, 1, 1]), np.array([7]), (2, 10**10)),
    ],
)
@pytest.mark.usefixtures("little")
def test_sparse_arrays_made_dense(parts: RowSparse | CSR) -> None:
    held = from_parts(parts)
    assert held.shape == parts.shape
    with pytest.raises(OutOfMemory):
        held.asnumpy()
    with pytest.raises(OutOfMemory):
        mx.nd.exp(held)


@pytest.mark.usefixtures("little")
def test_constants_that_are_folded_when_a_model_is_read() -> None:
    shape = helper.make_tensor("s", TensorProto.INT64, [2], [10**5, 10**5])
    node = helper.make_node("ConstantOfShape", ["s"], ["y"], name="big")
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    model = helper.make_model(helper.make_graph([node], "g", [], [out], [shape]))
    found = import_model(onnx.ModelProto.FromString(model.SerializeToString()))
    with pytest.raises(OutOfMemory):
        Program(found.graph, found.params).run({})


@pytest.mark.usefixtures("little")
def test_inspect_lists_them() -> None:
    nodes = [{"op": "_zeros", "name": "big", "attrs": {"shape": "(100000, 100000)"}, "inputs": []}]
    symbol = mx.sym.load_json(json.dumps({"nodes": nodes, "arg_nodes": [], "heads": [[0, 0, 0]]}))
    (problem,) = inspect(symbol).problems
    assert "node big" in problem.reason and "memory budget" in problem.reason


def test_the_budget_is_the_machines_unless_set() -> None:
    assert memory_budget.set_memory_budget(5) is None
    assert mx.memory_budget() == 5
    assert mx.set_memory_budget(None) == 5
    assert 1 << 20 < mx.memory_budget() < 1 << 62
    with pytest.raises(ValueError, match="-1"):
        mx.set_memory_budget(-1)
    assert issubclass(OutOfMemory, MXNetError)
