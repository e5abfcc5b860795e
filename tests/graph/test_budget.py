"""The memory budget: whatever decides a size, it is refused before anything is allocated, by an error that says who wants it."""

import json
import os
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


def test_the_edges_of_budgets(monkeypatch) -> None:
    """A budget of nothing, one that is just enough, one byte less; steps likewise."""
    assert mx.set_memory_budget(7) is None
    try:
        for size, before in ((0, 7), (1, 0), (100, 1)):
            assert mx.set_memory_budget(size) == before
            memory_budget.afford(size, "this")
            with pytest.raises(
                OutOfMemory, match=rf"this takes {size + 1} bytes, and the memory budget is {size} bytes; give"
            ):
                memory_budget.afford(size + 1, "this")
    finally:
        mx.set_memory_budget(None)
    for wrong in (-1, -(10**9)):
        with pytest.raises(ValueError, match="wanted 0 or more bytes, or None"):
            mx.set_memory_budget(wrong)
        with pytest.raises(ValueError, match="wanted 0 or more steps, or None"):
            mx.set_step_budget(wrong)
    memory_budget.afford_step(10**9, "loop")
    assert mx.set_step_budget(0) is None
    try:
        with pytest.raises(MXNetError, match=r"loop: .*after 0 steps"):
            memory_budget.afford_step(0, "loop")
        assert mx.set_step_budget(2) == 0
        memory_budget.afford_step(1, "loop")
        for done in (2, 3):
            with pytest.raises(MXNetError, match=f"after {done} steps"):
                memory_budget.afford_step(done, "loop")
    finally:
        assert mx.set_step_budget(None) == 2
    # without a budget nobody looks at the machine for little
    monkeypatch.setattr(memory_budget, "memory_budget", lambda: 5)
    memory_budget.afford(memory_budget.SMALL, "this")
    with pytest.raises(OutOfMemory):
        memory_budget.afford(memory_budget.SMALL + 1, "this")


def test_the_least_of_what_the_machine_and_the_process_may_have(monkeypatch) -> None:
    class Limits:
        RLIMIT_AS, RLIM_INFINITY = 9, -1
        allowed: int

        def getrlimit(self, what: int) -> tuple[int, int]:
            assert what == 9
            return self.allowed, 1 << 50

    limits = Limits()
    monkeypatch.setattr(memory_budget, "resource", limits)
    for machine, available, allowed, least in (
        (300, 200, -1, 200), (200, 300, -1, 200), (300, 200, 100, 100), (300, 200, 250, 200), (200, 300, 250, 200),
        (300, 200, 0, 0),
    ):  # fmt: skip
        monkeypatch.setattr(memory_budget, "_machine", lambda machine=machine: machine)
        monkeypatch.setattr(memory_budget, "_available", lambda available=available: available)
        limits.allowed = allowed
        assert memory_budget.memory_budget() == least
    monkeypatch.setattr(memory_budget, "resource", None)
    assert memory_budget.memory_budget() == 200


def test_containers_without_a_limit_say_so_in_a_word(monkeypatch) -> None:
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for texts, least in (
        (["max\n", ""], None),
        (["1048576\n", "max"], 1 << 20),
        (["max", "4096"], 4096),
        ([None, None], None),
    ):
        left = list(texts)

        class File:
            def __init__(self, path: str, left: list[str | None] = left):
                self.text = left.pop(0)

            def read_text(self, encoding: str) -> str:
                assert encoding == "utf-8"
                if self.text is None:
                    raise FileNotFoundError
                return self.text

        monkeypatch.setattr(memory_budget, "Path", File)
        assert memory_budget._machine.__wrapped__() == (whole if least is None else least)


def test_bytes_as_people_say_them() -> None:
    for size, text in (
        (0, "0 bytes"), (999_999, "999,999 bytes"), (1_000_000, "1 MB"), (1_234_567, "1.23 MB"), (999_999_999, "1e+03 MB"),
        (1_000_000_000, "1 GB"), (12_345_678_901, "12.3 GB"), (999 * 10**9, "999 GB"), (1000 * 10**9, "1,000 GB"),
        (123_456 * 10**9 + 1, "123,456 GB"),
    ):  # fmt: skip
        assert memory_budget.amount(size) == text
