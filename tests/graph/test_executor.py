"""Programs: a planned run equals a step-by-step run, alone and beside others, and its outputs are nobody else's memory."""

import pickle
import threading
import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hybrid as mx
from hybrid import gluon, native, nd, sym
from hybrid.core.error import InternalError, MXNetError, OpError, OutOfMemory, without_given
from hybrid.core.op import REGISTRY, lookup
from hybrid.core.shapes import UNKNOWN, is_known
from hybrid.eager.cached_op import CachedOp
from hybrid.execution.lower import CompiledProgram, attributes
from hybrid.execution.memory_planner import Lifetime, assign_offsets
from hybrid.execution.plan import make_plan
from hybrid.execution.program import Program, Specialization
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import infer
from tests.graph.random_graphs import feeds, graphs


def step_by_step(graph: Graph, values: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs, every node computed once, with all of its own memory, and nothing reused."""
    results: dict[tuple[int, int], np.ndarray] = {}
    for node in graph.nodes:
        if node.op is None:
            results[id(node), 0] = values[node.name].copy()
            continue
        options = {"training": False} if "training" in node.op.needs else {}
        if "rng" in node.op.needs:
            options["rng"] = np.random.default_rng(0)
        made = node.op.compute(*(results[id(e.node), e.index].copy() for e in node.inputs), **options)
        for i, array in enumerate(made if isinstance(made, tuple | list) else (made,)):
            results[id(node), i] = np.array(array)
    return [results[id(e.node), e.index] for e in graph.outputs]


@pytest.mark.usefixtures("by_numpy")  # equal to the last digit, which kernels round otherwise
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graphs())
def test_a_planned_run_equals_a_run_step_by_step(graph: Graph) -> None:
    values = feeds(graph)
    kept = {n: v.copy() for n, v in values.items()}
    constants = {n: v for n, v in values.items() if n == "w"}
    program = Program(graph, constants)
    given_ones = {n: v for n, v in values.items() if n != "w"}
    wanted = step_by_step(graph, values)
    first = program.run(given_ones)
    second = program.run(given_ones)
    for one, other, want in zip(first, second, wanted, strict=True):
        np.testing.assert_array_equal(one, want)
        np.testing.assert_array_equal(other, want)
    for name, value in values.items():
        np.testing.assert_array_equal(value, kept[name])


@given(graphs())
def test_outputs_are_nobody_elses_memory(graph: Graph) -> None:
    values = feeds(graph)
    program = Program(graph, {n: v for n, v in values.items() if n == "w"})
    given_ones = {n: v for n, v in values.items() if n != "w"}
    outputs = program.run(given_ones)
    kept = [o.copy() for o in outputs]
    for output in outputs:
        assert not any(np.shares_memory(output, v) for v in values.values())
    program.run({n: v * 3 for n, v in given_ones.items()})
    for output, before in zip(outputs, kept):
        np.testing.assert_array_equal(output, before)
    for output in {id(o): o for o in outputs}.values():
        assert output.flags.writeable


@given(graphs())
def test_live_tensors_of_a_plan_never_overlap(graph: Graph) -> None:
    """With views: a buffer is taken until the last reader of anything that looks into it."""
    values = feeds(graph)
    known = infer(graph, {n: v.shape for n, v in values.items()}, {n: v.dtype for n, v in values.items()})
    plan = make_plan(graph, known, [n.name for n in graph.variables()])
    root: dict[int, int] = {}
    last: dict[int, int] = {}
    for index, step in enumerate(plan.steps):
        for slot in step.inputs:
            last[root.get(slot, slot)] = index
        for slot in step.outputs:
            if step.op.view and step.inputs:
                root[slot] = root.get(step.inputs[0], step.inputs[0])
            last.setdefault(root.get(slot, slot), index)
    for slot, _ in plan.results:
        last[root.get(slot, slot)] = len(plan.steps)
    spans = []
    for index, step in enumerate(plan.steps):
        if step.buffer is not None:
            buffer = plan.buffers[step.buffer]
            size = int(np.prod(buffer.shape)) * buffer.dtype.itemsize
            spans.append((buffer.offset, buffer.offset + size, index, last[step.outputs[0]]))
    for i, (start, end, born, dead) in enumerate(spans):
        for other_start, other_end, other_born, other_dead in spans[i + 1 :]:
            together = born <= other_dead and other_born <= dead
            assert not together or end <= other_start or other_end <= start
        assert end <= plan.arena


@settings(max_examples=15)
@given(graphs(), st.integers(0, 1000))
def test_concurrent_runs_equal_serial_ones(graph: Graph, seed: int) -> None:
    batches = [feeds(graph, seed + i) for i in range(6)]
    wanted = [Program(graph).run(batch) for batch in batches]
    program = Program(graph)
    got: list[list[list[np.ndarray]]] = [[] for _ in range(3)]

    def work(results: list[list[np.ndarray]]) -> None:
        results.extend(program.run(batch) for batch in batches)

    threads = [threading.Thread(target=work, args=(results,)) for results in got]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for results in got:
        for outputs, want in zip(results, wanted, strict=True):
            for one, other in zip(outputs, want, strict=True):
                np.testing.assert_array_equal(one, other)


def dense() -> Graph:
    x, w = Node(None, "x"), Node(None, "w")
    node = Node(REGISTRY["FullyConnected"].bind(num_hidden=3, no_bias=True), "f", [Entry(x), Entry(w)])
    return Graph([Entry(node)])


def test_plans_are_kept_per_shapes_and_dtypes() -> None:
    program = Program(dense(), {"w": np.ones((3, 4), np.float32)})
    x = np.ones((2, 4), np.float32)
    assert program.plan({"x": x}) is program.plan({"x": x + 1})
    assert program.plan({"x": x}) is not program.plan({"x": np.ones((5, 4), np.float32)})
    for size in range(1, 2 * Program.PLANS):
        assert program.run({"x": np.ones((size, 4), np.float32)})[0].shape == (size, 3)
    assert len(program._plans) == Program.PLANS


def test_one_graph_is_bound_while_another_is() -> None:
    """Each once, whoever asks: to bind takes time, and may wait for what another thread binds."""
    program = Program(dense(), {"w": np.ones((3, 4), np.float32)})
    request = program.prepare(tuple(x for n in program.names for x in ((3, 4), np.dtype(np.float32)))).request
    second_is_bound, made = threading.Event(), []

    def bind_first() -> None:
        made.append(second_is_bound.wait(30))

    def bind_second() -> None:
        second_is_bound.set()

    first, second = (Specialization(lambda: request, bind) for bind in (bind_first, bind_second))
    asking = [threading.Thread(target=lambda: first.bound) for _ in range(2)]
    for thread in asking:
        thread.start()
    assert second.bound is second.reference
    for thread in asking:
        thread.join()
    assert made == [True]
    assert first.bound is first.reference


def test_zero_size_batches_and_scalars() -> None:
    program = Program(dense(), {"w": np.ones((3, 4), np.float32)})
    assert program.run({"x": np.ones((0, 4), np.float32)})[0].shape == (0, 3)
    relu = Graph([Entry(Node(REGISTRY["relu"].bind(), "r", [Entry(Node(None, "x"))]))])
    assert Program(relu).run({"x": np.float32(-2)})[0].shape == ()


def test_observers_see_every_step() -> None:
    seen = []
    Program(dense()).run(
        {"x": np.ones((1, 2), np.float32), "w": np.ones((3, 2), np.float32)},
        lambda node, outputs: seen.append((node.name, outputs[0].sum())),
    )
    assert seen == [("f", 6)]


def test_wrong_feeds() -> None:
    x, w = np.ones((2, 4), np.float32), np.ones((3, 4), np.float32)
    with pytest.raises(MXNetError, match="missing x, w; unknown foo, bar; it takes x, w"):
        Program(dense()).run({"foo": x, "bar": x})
    with pytest.raises(OpError, match=r"operator f: .*\(3, 4\)"):
        Program(dense()).run({"x": np.ones((2, 5), np.float32), "w": w})
    with pytest.raises(OpError, match=r"operator f: .*float64"):
        Program(dense()).run({"x": x.astype(np.float64), "w": w})


def test_one_variable_name_twice_is_one_input() -> None:
    twice = Graph([Entry(Node(REGISTRY["elemwise_add"].bind(), "s", [Entry(Node(None, "x")), Entry(Node(None, "x"))]))])
    assert Program(twice).run({"x": np.ones(2, np.float32)})[0].tolist() == [2, 2]


@pytest.mark.parametrize("native", [True, False])
def test_constants_that_are_not_aligned_are_copied_once(native: bool) -> None:
    """By who runs the graph: what is packed from where it lies is not copied as a whole."""
    stored = np.frombuffer(b"x" + np.arange(6, dtype=np.float32).tobytes(), np.uint8)[1:].view(np.float32)
    assert not stored.flags.aligned
    x, w = Node(None, "x"), Node(None, "w")
    graph = Graph([Entry(Node(REGISTRY["elemwise_add"].bind(), "s", [Entry(x), Entry(w)]))])
    seen = []
    program = Program(graph, {"w": stored}, native=native)
    given = np.ones(6, np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(program.run({"x": given})[0], np.arange(6) + 1)
    program.run({"x": given}, observe=lambda node, outputs: seen.append(node.name))
    assert seen == ["s"]
    bound = program.prepare(((6,), given.dtype, (6,), given.dtype)).bound
    assert bound.aligns or program._aligned["w"].flags.aligned
    np.testing.assert_array_equal(bound.run([given, stored])[0], np.arange(6) + 1)


# -- shapes that the data decide ---------------------------------------------------------------------------------------------


def node(name: str, *inputs: Node | Entry, subgraphs: Sequence[Graph] = (), **attrs: Any) -> Node:
    """An application of an operator."""
    entries = [i if isinstance(i, Entry) else Entry(i) for i in inputs]
    return Node(lookup(name).bind(**attrs), name, entries, {}, subgraphs)


def selection() -> Graph:
    """(What of x * 2 the condition selects) + 1 and its relu in the selected shape; and as many numbers from 0 on."""
    x, condition = Node(None, "x"), Node(None, "condition")
    found = node("_onnx_Compress", node("_mul_scalar", x, scalar=2), condition, axis=0)
    shape = node("shape_array", found)
    more = node("_onnx_Reshape", node("relu", node("_plus_scalar", found, scalar=1)), shape)
    rest = node("_onnx_Slice", more, *(node("_onnx_Constant", value=np.array([n])) for n in (0, 2)))
    return Graph([Entry(found), Entry(more), Entry(rest)])


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=2, max_size=5), st.integers(0, 99))
def test_later_runs_take_the_shapes_of_their_own_data(conditions: list[list[bool]], seed: int) -> None:
    program, rng = Program(selection()), np.random.default_rng(seed)
    kept = []
    for condition in conditions:
        x = rng.uniform(-1, 1, (4, 3)).astype(np.float32)
        got = program.run({"x": x, "condition": np.array(condition)})
        want = x[condition] * 2
        more = np.maximum(want + 1, 0)
        kept += zip(got, (want, more, more[:2]))
    for got, want in kept:  # at the end, when nothing that later runs wrote may have reached earlier results
        np.testing.assert_array_equal(got, want)


def test_only_steps_whose_shapes_are_known_go_without_checks_later() -> None:
    program = Program(selection())
    feeds = {"x": np.ones((4, 3), np.float32), "condition": np.ones(4, bool)}
    plain = {s.op.name for s in program.plan(feeds).steps if s.plain}
    assert plain == {"_mul_scalar", "_onnx_Constant"}
    known = program.plan(feeds).outputs
    assert [s.shape for s in known] == [(UNKNOWN, 3), (UNKNOWN, UNKNOWN), (UNKNOWN, UNKNOWN)]


def test_a_later_run_finds_an_operator_out_that_breaks_its_word(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(selection())
    feeds = {"x": np.ones((4, 3), np.float32), "condition": np.ones(4, bool)}
    program.run(feeds)
    monkeypatch.setattr(lookup("_onnx_Compress"), "meaning", lambda self, data, condition: data[condition, :2])
    with pytest.raises(MXNetError, match=r"_onnx_Compress.*inference said.*\(\?, 3\)"):
        program.run(feeds)


def test_a_constant_given_anew_decides_shapes_anew() -> None:
    x, shape = Node(None, "x"), Node(None, "shape")
    program = Program(Graph([Entry(node("relu", node("_onnx_Reshape", x, shape)))]), {"shape": np.array([2, 6])})
    feeds = {"x": np.ones(12, np.float32)}
    for _ in range(2):
        assert program.run(feeds)[0].shape == (2, 6)
        assert program.run({**feeds, "shape": np.array([3, 4])})[0].shape == (3, 4)
        assert program.run({**feeds, "shape": np.array([-1, 2])})[0].shape == (6, 2)


def sequences() -> Graph:
    """Sequences of what lies in the arena, made in every way that there is; then others take that memory."""
    x = Node(None, "x")
    inside = node("sin", node("_plus_scalar", x, scalar=1))
    made = node("_onnx_SequenceConstruct", inside, inside, num_args=2)
    more = node("_onnx_SequenceInsert", made, node("cos", inside))
    split = node("_onnx_SplitToSequence", inside, axis=0)
    item = Node(None, "item")
    bodies = [Graph([Entry(item)]), Graph([Entry(node("sin", node("cos", item)))])]
    mapped = [
        node("_onnx_SequenceMap", more, subgraphs=[b], num_args=2, num_outputs=1, elems=("float32",), body_reads=(0,))
        for b in bodies
    ]
    optional = node("_onnx_Optional", made, given=("input",), kind="seq")
    last = x
    for _ in range(4):
        last = node("cos", node("sin", last))
    return Graph(map(Entry, (made, more, split, *mapped, optional, last)))


def test_sequences_hold_no_memory_of_the_arena() -> None:
    program, rng = Program(sequences(), native=False), np.random.default_rng(0)
    first = rng.uniform(-1, 1, (3, 5)).astype(np.float32)
    results = program.run({"x": first})
    held = [list(r.item()) for r in results[:-1]]
    before = [[e.copy() for e in elements] for elements in held]
    (prepared,) = program._plans.values()
    assert prepared.reference.plan.arena
    (arena,) = prepared.reference.arenas
    assert not any(np.shares_memory(e, arena.memory) or np.shares_memory(e, first) for part in held for e in part)
    program.run({"x": first * 3})
    for part, old in zip(held, before, strict=True):
        for element, want in zip(part, old, strict=True):
            np.testing.assert_array_equal(element, want)
    np.testing.assert_array_equal(held[0][1], np.sin(first + 1))


def test_inference_of_values_leaves_big_constants_alone() -> None:
    big, x = Node(None, "big"), Node(None, "x")
    wide = node("_onnx_Cast", node("_plus_scalar", node("negative", big), scalar=1), to="float64")
    starts = node("_onnx_Constant", value=np.array([0])), node("_onnx_Constant", value=np.array([2]))
    few = node("_onnx_Slice", big, *starts)
    graph = Graph(
        [Entry(wide), Entry(node("_onnx_Reshape", x, few)), Entry(node("_onnx_Expand", x, node("_onnx_Shape", big)))]
    )
    values = {"big": np.full(4 << 20, 2, np.int64)}
    shapes, dtypes = {"big": values["big"].shape, "x": (1,)}, {"big": "int64", "x": "float32"}
    infer(graph, shapes, dtypes, values=values)  # what is loaded once
    tracemalloc.start()
    known = infer(graph, shapes, dtypes, values=values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20
    assert [known.spec(e).shape for e in graph.outputs] == [(4 << 20,), (UNKNOWN, UNKNOWN), (4 << 20,)]


def test_a_value_that_cannot_be_computed_is_the_matter_of_the_run() -> None:
    far = node("_onnx_GatherElements", *(node("_onnx_Constant", value=np.array([n])) for n in (3, 7)))
    graph = Graph([Entry(node("_onnx_Reshape", Node(None, "x"), far))])
    assert infer(graph, {"x": (4,)}, {"x": "float32"}).spec(graph.outputs[0]).shape == (UNKNOWN,)
    with pytest.raises(MXNetError, match=r"_onnx_GatherElements.*got indices from 7"):
        Program(graph).run({"x": np.ones(4, np.float32)})


@pytest.mark.skipif(native.level() is None, reason="the compiled part is not there")
@pytest.mark.parametrize(
    ("raised", "wanted"), [(RuntimeError, InternalError), (MemoryError, OutOfMemory), (OpError, OpError)]
)
def test_what_the_compiled_part_raises_is_an_error_of_ours(monkeypatch, raised, wanted) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise raised("no")

    graph = Graph([Entry(Node(REGISTRY["exp"].bind(), "e", [Entry(Node(None, "x"))]))])
    monkeypatch.setattr(native, "template", refuse)
    with pytest.raises(wanted, match="no"):
        Program(graph).run({"x": np.ones((300, 300), np.float32)})


def test_a_size_that_values_decide_against_the_readers_is_no_bug_of_the_operator() -> None:
    x, k, y = (Node(None, n) for n in "xky")
    top = Node(lookup("_onnx_TopK").bind(), "top", map(Entry, (x, k)))
    graph = Graph([Entry(Node(REGISTRY["elemwise_add"].bind(), "sum", [Entry(top), Entry(y)]))])
    with pytest.raises(MXNetError, match=r"operator top: .*do not fit the rest of the graph"):
        Program(graph).run({"x": np.ones((3, 4), np.float32), "k": np.array([2]), "y": np.ones((3, 4), np.float32)})


# -- calls that are not alike --------------------------------------------------------------------------------


def applied(op: str, *inputs: Entry, name: str = "", **attrs: Any) -> Entry:
    return Entry(Node(lookup(op).bind(**attrs), name or op, inputs))


@pytest.mark.parametrize("by_kernels", [False, True])
def test_shapes_and_dtypes_that_change_between_calls(by_kernels: bool) -> None:
    """Each call gives what its own inputs say, also when it comes back to shapes of before; results of before stay."""
    x, w = Entry(Node(None, "x")), Entry(Node(None, "w"))
    y = applied("FullyConnected", x, w, num_hidden=3, no_bias=True)
    z = applied("broadcast_mul", applied("relu", y), applied("sum", y, axis=(1,), keepdims=True))
    program = Program(Graph([z, applied("transpose", y), x]), native=by_kernels)
    rng = np.random.default_rng(1)
    kept = []
    for rows, dtype in (
        (2, "float32"),
        (5, "float32"),
        (2, "float64"),
        (2, "float32"),
        (1, "float32"),
        (5, "float32"),
        (0, "float32"),
    ):
        for _ in range(2):
            a, b = (rng.standard_normal(s).astype(dtype) for s in ((rows, 4), (3, 4)))
            made = program.run({"x": a, "w": b})
            product = a.astype(np.float64) @ b.T.astype(np.float64)
            wanted = [np.maximum(product, 0) * product.sum(1, keepdims=True), product.T, a]
            kept.append((made, wanted))
            for arrays, wants in kept:
                for got, want in zip(arrays, wants, strict=True):
                    assert got.shape == want.shape
                    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
            assert all(m.dtype == dtype for m in made)
            assert not any(np.shares_memory(m, a) for m in made)


def test_constants_inputs_and_the_newest_plans() -> None:
    x, w = Entry(Node(None, "x")), Entry(Node(None, "w"))
    graph = Graph([applied("broadcast_add", applied("broadcast_mul", x, w), w)])
    w0 = np.array([2.0, 3], np.float32)
    program = Program(graph, {"w": w0, "unread": w0}, plans=2)
    assert (program.inputs, program.names, set(program.constants)) == (("x",), ("x", "w"), {"w"})
    ones = np.array([[1.0, 10]], np.float32)
    for _ in range(2):
        assert program.run({"x": ones})[0].tolist() == [[4, 33]]
        assert program.run({"x": ones, "w": w0 * 2})[0].tolist() == [[8, 66]]
    for rows in (1, 2, 3, 4):
        program.run({"x": np.tile(ones, (rows, 1))})
        assert len(program._plans) <= 2
    for feeds_, said in (
        ({}, "missing x; it takes x"), ({"x": ones, "q": ones}, "unknown q; it takes x"), ({"q": ones}, "missing x; unknown q"),
        ({"x": ones, "unread": w0}, "unknown unread"),
    ):  # fmt: skip
        with pytest.raises(MXNetError, match=said):
            program.run(feeds_)


def test_views_of_inputs_and_of_each_other_come_out_as_copies() -> None:
    x = Entry(Node(None, "x"))
    flat = applied("Reshape", x, shape=(-1,), name="flat")
    again = applied("Reshape", flat, shape=(2, 3), name="again")
    graph = Graph(
        [
            x,
            flat,
            again,
            flat,
            applied("relu", again, name="relu"),
            applied("Reshape", applied("negative", again), shape=(3, 2)),
        ]
    )
    values = np.array([[1.0, -2, 3], [-4, 5, -6]], np.float32)
    for native_too in (False, True):
        program = Program(graph, native=native_too)
        for _ in range(3):
            given_array = values.copy()
            made = program.run({"x": given_array})
            wanted = [
                values,
                values.reshape(-1),
                values,
                values.reshape(-1),
                np.maximum(values, 0),
                -values.reshape(3, 2),
            ]
            for got, want in zip(made, wanted, strict=True):
                assert got.tolist() == want.tolist()
            for i, one in enumerate(made):
                one[...] = i
            assert given_array.tolist() == values.tolist()
            assert [set(m.ravel().tolist()) for m in made[3:]] == [{3}, {4}, {5}]


def test_which_variables_are_parameters_and_which_are_written() -> None:
    x, w, both = (Entry(Node(None, n)) for n in ("x", "w", "both"))
    dense = applied("FullyConnected", x, w, num_hidden=3, no_bias=True)
    other = applied("FullyConnected", x, both, num_hidden=3, no_bias=True, name="other")
    stats = [Entry(Node(None, n)) for n in ("gamma", "beta", "mean", "var")]
    norm = applied("BatchNorm", applied("elemwise_add", dense, other), *stats)
    graph = Graph([norm, applied("relu", both)])
    assert Program(graph).fixed == {"w", "gamma", "beta", "mean", "var"}
    assert Program(graph, fixed=["both"]).fixed == {"w", "gamma", "beta", "mean", "var", "both"}
    assert Program(graph, fixed=None).fixed == set()
    assert Program(graph, {"x": np.zeros((1, 2))}, fixed=None).fixed == {"x"}
    training = Program(graph, training=True)
    assert training.fixed == set() and {training.names[i] for i in training.written} == {"mean", "var"}
    assert Program(graph).written == ()


def test_places_in_an_arena_by_hand() -> None:
    """Largest first, each in the lowest gap that is free for its whole life; sizes are rounded up to 64 bytes."""
    for tensors, offsets, size in (
        ([], [], 0),
        ([Lifetime(100, 0, 1)], [0], 128),
        ([Lifetime(64, 0, 1), Lifetime(64, 1, 2)], [0, 64], 128),
        ([Lifetime(64, 0, 1), Lifetime(64, 2, 3)], [0, 0], 64),
        ([Lifetime(64, 0, 3), Lifetime(128, 0, 0), Lifetime(65, 1, 3)], [128, 0, 0], 192),
        ([Lifetime(256, 0, 1), Lifetime(64, 1, 4), Lifetime(192, 2, 3), Lifetime(64, 4, 5)], [0, 256, 0, 0], 320),
        ([Lifetime(128, 0, 2), Lifetime(128, 2, 4), Lifetime(64, 1, 1), Lifetime(64, 3, 3)], [0, 128, 128, 0], 256),
    ):
        assert assign_offsets(tensors) == (offsets, size), tensors
    with pytest.raises(OutOfMemory, match="which no memory has"):
        assign_offsets([Lifetime(2**61, 0, 1), Lifetime(2**61, 0, 1), Lifetime(1, 0, 1)])


# -- operators that break their word, and machines that have not enough -------------------------------------------------------


@pytest.mark.parametrize("again", [False, True])
def test_what_is_said_of_an_operator_that_fails(again: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the first run and by later ones, which go a shorter way: with the node's name, once, and as what it is."""
    x = Entry(Node(None, "x"))
    graph = Graph([applied("erfinv", applied("negative", x), name="mine")])
    data, does = np.array([[0.5, -0.25, 0.125]], np.float32), [lambda a: a * 3]
    monkeypatch.setattr(REGISTRY["erfinv"], "compute", lambda self, data: does[0](data))
    program = Program(graph, native=False)
    np.testing.assert_array_equal(program.run({"x": data})[0], -3 * data)
    if not again:
        program = Program(graph, native=False)

    def raising(error: Exception) -> Any:
        def compute(data: np.ndarray) -> Any:
            raise error

        return compute

    where = r"^Error in operator mine: \[erfinv\] "
    fails: list[tuple[Exception, type[Exception], str]] = [
        (MemoryError("no room"), OutOfMemory, "memory does not suffice: no room"),
        (np.linalg.LinAlgError("singular"), OpError, "got a matrix that has no answer"),
        (ZeroDivisionError("by zero"), InternalError, r"ZeroDivisionError: by zero \(inputs: float32\(1, ?3\)\)"),
        (ValueError("odd"), InternalError, "ValueError: odd"),
        (OpError("erfinv: no such data"), OpError, "erfinv: no such data"),
        (MXNetError("tired"), MXNetError, "tired"),
    ]
    for what, error, said in fails:
        does[0] = raising(what)
        with pytest.raises(error, match=where + said) as caught:
            program.run({"x": data})
        assert str(caught.value).count("Error in operator") == 1
        assert type(caught.value) is error
    if not again:
        for made, said in (
            (lambda a: a[:, :2], r"computed float32\(1, ?2\) where inference said float32\(1, ?3\)"),
            (lambda a: a.astype(np.float64), r"computed float64\(1, ?3\) where inference said float32\(1, ?3\)"),
            (lambda a: (a, a), "computed 2 results, wanted 1"), (lambda a: (), "computed 0 results, wanted 1"),
        ):  # fmt: skip
            does[0] = made
            with pytest.raises(InternalError, match=where + said):
                program.run({"x": data})
    does[0] = lambda a: [a * 2]
    np.testing.assert_array_equal(program.run({"x": data})[0], -2 * data)


def test_what_is_said_of_the_inputs_and_outputs_of_one_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each input, by a first run and by later ones; a second output that is wrong is the operator's fault as a first one is."""
    x, i = (Entry(Node(None, n)) for n in "xi")
    program = Program(Graph([applied("take", x, i, name="chosen", mode="raise")]), native=False)
    feeds = {"x": np.ones((3, 2), np.float32), "i": np.array([0.0, 2.0], np.float32)}
    for _ in range(2):
        with pytest.raises(
            OpError, match=r"operator chosen: \[take\] .*\(inputs: float32\(3, 2\), float32\(2,\)\)$"
        ) as caught:
            program.run({**feeds, "i": np.array([0.0, 7.0], np.float32)})
        assert str(caught.value).count("Error in operator") == 1
        np.testing.assert_array_equal(program.run(feeds)[0], np.ones((2, 2)))
    split = Node(lookup("SliceChannel").bind(num_outputs=2), "halves", [x])
    monkeypatch.setattr(lookup("SliceChannel"), "compute", lambda self, a, **_: [a[:, :1], a[:, :2]])
    with pytest.raises(InternalError, match=r"operator halves: .*this is a bug in the operator"):
        Program(Graph([Entry(split), Entry(split, 1)]), native=False).run({"x": feeds["x"]})


def test_what_inference_says_at_the_run_is_told_as_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ValueError is about the values; anything else is a fault of the operator."""
    chosen = node("_onnx_Compress", Node(None, "x"), Node(None, "c"), axis=0)
    program = Program(Graph([Entry(node("erfinv", chosen))]), native=False)
    feeds = {"x": np.full((2, 3), 0.5, np.float32), "c": np.array([True, False])}
    assert program.run(feeds)[0].shape == (1, 3)
    for error, wanted, said in (
        (ValueError("too few"), OpError, r"^Error in operator erfinv: \[erfinv\] .*too few"),
        (OpError("erfinv: too odd"), OpError, "too odd"),
        (
            ZeroDivisionError("by zero"),
            InternalError,
            r"^Error in operator erfinv: \[erfinv\] ZeroDivisionError: by zero",
        ),
    ):

        def refuse(self: Any, *shapes: Any, error: Exception = error, **_: Any) -> Any:
            if not is_known(shapes[0]):
                return shapes[0]
            raise error

        monkeypatch.setattr(lookup("erfinv"), "infer_shape", refuse)
        with pytest.raises(wanted, match=said) as caught:
            program.run(feeds)
        assert type(caught.value) is wanted and str(caught.value).count("Error in operator") == 1


def test_errors_tell_the_node_that_they_happened_at() -> None:
    """Those of inference, of a run, and of a run that knows more than inference did: once in words, and by name."""
    kept = applied("_contrib_boolean_mask", Entry(Node(None, "x")), Entry(Node(None, "i")), name="kept")
    program = Program(Graph([applied("broadcast_add", kept, Entry(Node(None, "z")), name="sum")]), native=False)
    feeds = {"x": np.ones((4, 2), "f"), "i": np.array([1, 0, 1, 1], "f"), "z": np.ones((2, 2), "f")}
    with pytest.raises(OpError, match=r"^Error in operator sum: \[broadcast_add\] shapes \(3, 2\), \(2, 2\)") as caught:
        program.run(feeds)
    assert (caught.value.node, caught.value.operator) == ("sum", "broadcast_add")
    assert caught.value.reason == "shapes (3, 2), (2, 2) do not broadcast"
    assert (
        without_given(caught.value) == "Error in operator sum: [broadcast_add] shapes (3, 2), (2, 2) do not broadcast"
    )
    with pytest.raises(OpError, match=r"\(input shapes: ") as caught:
        program.run({**feeds, "z": np.ones((2, 3), "f")})
    assert caught.value.node == "sum"
    picked = Program(
        Graph([applied("take", *(Entry(Node(None, n)) for n in "xi"), name="p", mode="raise")]), native=False
    )
    with pytest.raises(OpError) as caught:
        picked.run({"x": feeds["x"], "i": np.array([7], "f")})
    assert caught.value.node == "p"
    with pytest.raises(OpError) as caught:
        nd.dot(nd.ones((2, 3)), nd.ones((2, 3)))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.node, str(again)) == (caught.value.node, str(caught.value)) and again.node


def test_plans_that_do_not_fit_into_memory_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    x = Entry(Node(None, "x"))
    graph = Graph([applied("negative", applied("exp", x))])
    data = {"x": np.ones((2, 3), np.float32)}
    for error in (MemoryError("none left"), ValueError("array is too big")):
        program, empty = Program(graph, native=False), np.empty

        def refuse(shape: Any, *rest: Any, error: Exception = error, empty: Any = empty, **named: Any) -> np.ndarray:
            if rest == (np.uint8,):
                raise error
            return empty(shape, *rest, **named)

        with monkeypatch.context() as patched:
            patched.setattr(np, "empty", refuse)
            with pytest.raises(OutOfMemory, match=f"do not fit into memory: {error}; give smaller inputs"):
                program.run(data)
        np.testing.assert_allclose(program.run(data)[0], -np.exp(data["x"]), rtol=1e-6)


# -- the compiled part --------------------------------------------------------------------------------------------------------

compiled = pytest.mark.skipif(native.level() is None, reason="the compiled part is not there")


def attributes_of(name: str, training: bool = False, **attrs: Any) -> dict[str, Any] | None:
    return attributes(lookup(name).bind(**attrs), training)


def test_attributes_as_kernels_are_told_them() -> None:
    """Plain values: dtypes and lists of words or floats as text; an operator of which one is no plain value has no kernel."""
    conv = attributes_of("Convolution", num_filter=4, kernel=(3, 2), layout="NCHW")
    assert conv is not None
    assert (conv["kernel"], conv["num_filter"], conv["no_bias"], conv["layout"]) == ((3, 2), 4, False, "NCHW")
    assert attributes_of("Cast", dtype="float16") == {"dtype": "float16"}
    prior = attributes_of("_contrib_MultiBoxPrior", sizes=(0.5, 0.25), ratios=(1, 2))
    assert prior is not None and (prior["sizes"], prior["ratios"]) == ("0.5 0.25", "1.0 2.0")
    assert attributes_of("slice", begin=(None, 1), end=(2, None)) == {"begin": (None, 1), "end": (2, None), "step": ()}
    assert attributes_of("Concat", num_args=3, dim=1) == {"dim": 1}
    assert attributes_of("_onnx_Constant", value=np.ones(2)) is None
    pad = attributes_of("_npi_pad", pad_width=((1, 2), (0, 1)), mode="constant")
    assert pad is not None and pad["pad_width"] == (1, 2, 0, 1)
    for training in (False, True):
        dropout = attributes_of("Dropout", training, p=0.5)
        assert dropout is not None and dropout["training"] is training
    relu = attributes_of("relu", True)
    assert relu == {}


@compiled
@pytest.mark.parametrize("precise", [False, True])
def test_what_trades_accuracy_for_speed_is_left_out_where_that_is_asked_for(precise: bool) -> None:
    """Also of bodies, of hybridized blocks, and in training."""
    conv = sym.Convolution(sym.var("x"), sym.var("w"), kernel=(3, 3), pad=(1, 1), num_filter=64, no_bias=True, name="c")
    shapes = {"x": (1, 64, 28, 28), "w": (64, 64, 3, 3)}
    blocks = gluon.SymbolBlock(conv, [sym.var("x")])
    blocks.hybridize(precise=precise)
    rng = np.random.default_rng(2)
    feeds = {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}

    def ways(program: Program) -> str:
        key = tuple(v for n in program.names for v in (shapes[n], np.dtype(np.float32)))
        found = program.prepare(key).bound
        assert isinstance(found, CompiledProgram) and found.memory > 0
        rows = found.describe()
        assert {r["node"] for r in rows} >= {"c"} and all(r["native"] for r in rows)
        assert next(r["shape"] for r in rows if r["node"] == "c") in ((1, 64, 28, 28), (1, 4, 28, 28, 16))
        return " ".join(r["how"] for r in rows)

    for program in (Program(conv.graph, precise=precise), CachedOp(conv, {"precise": precise}.items()).program(False)):
        assert ("winograd" in ways(program)) == (not precise)
    assert "winograd" not in ways(Program(conv.graph, precise=precise, training=True))
    (exact,) = Program(conv.graph, {"w": feeds["w"].astype(np.float64)}).run({"x": feeds["x"].astype(np.float64)})
    (got,) = Program(conv.graph, precise=precise).run(feeds)
    error = np.abs(got - exact).max() / np.abs(exact).max()
    assert error < (3e-6 if precise else 3e-5)
    loop = sym.contrib.foreach(
        lambda d, s: (sym.Convolution(d, s, kernel=(3, 3), pad=(1, 1), num_filter=64, no_bias=True, name="c"), s),
        sym.var("x"), sym.var("w"),
    )[0]  # fmt: skip
    program = Program(loop.graph, precise=precise)
    (body,) = program._subprograms.values()
    assert body.precise == precise
    (looped,) = program.run({"x": feeds["x"][None], "w": feeds["w"]})
    np.testing.assert_allclose(looped[0], got, rtol=0, atol=1e-5 * np.abs(got).max())
    blocks.collect_params()["w"]._load_init(nd.array(feeds["w"]), mx.cpu())
    np.testing.assert_array_equal(blocks(nd.array(feeds["x"])).asnumpy(), got)


@compiled
def test_fixed_arrays_that_others_exchange_meanwhile() -> None:
    """Between a look at the versions and the run, or the wait for who refreshes, other threads may do anything: here they do it
    while versions are compared."""
    x, w = (Entry(Node(None, n)) for n in "xw")
    program = Program(Graph([applied("FullyConnected", x, w, num_hidden=3, no_bias=True)]))
    assert program.names == ("x", "w")
    data, one, other = (
        np.arange(8.0, dtype=np.float32).reshape(2, 4),
        np.eye(3, 4, dtype=np.float32),
        np.ones((3, 4), np.float32),
    )
    lowered = program.prepare((data.shape, data.dtype, one.shape, one.dtype)).bound
    assert isinstance(lowered, CompiledProgram)

    class Version:
        """Of whom it says whether it is the one held, in turn; at the first question something happens."""

        def __init__(self, happens: Any, *answers: bool):
            self.happens, self.answers = [happens], list(answers)

        def __eq__(self, held: object) -> bool:
            if self.happens:
                self.happens.pop()()
            return self.answers.pop(0) if self.answers else held is self

        __hash__ = None  # type: ignore[assignment]

    def run(weight: np.ndarray, version: Any) -> None:
        np.testing.assert_array_equal(lowered.run([data, weight], [None, version])[0], data @ weight.T)

    run(one, 1)
    run(one, Version(lambda: run(other, 2), True, False))
    number = lowered._packed.number
    run(one, Version(lambda: run(one, 3), False, True))
    assert lowered._packed.number == number + 1 and lowered._packed.versions == [3]
    run(other, 4)
    run(one, Version(lambda: run(one, 5), False, False))
    run(other, 6)


@compiled
def test_without_kernels_for_blocks_nothing_is_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = (Entry(Node(None, n)) for n in "xw")
    y = applied("Convolution", x, w, kernel=(3, 3), num_filter=32, no_bias=True)
    y = applied("Pooling", applied("elemwise_mul", applied("tanh", y), y), kernel=(2, 2))
    graph = Graph([applied("exp", applied("sum", y, axis=(1,)))])
    rng = np.random.default_rng(0)
    feeds = {"x": rng.uniform(-1, 1, (2, 3, 8, 7)).astype(np.float32)}
    params = {"w": rng.uniform(-1, 1, (32, 3, 3, 3)).astype(np.float32)}
    want = Program(graph, params, native=False).run(feeds)[0]
    template_of, asked = native.template, []

    class Without:
        """A program that has no kernel for a step of that name."""

        def __init__(self, name: str, *given: Any):
            self.made, self.steps, self.name = template_of(*given), given[5], name
            asked.append({s[0] for s in self.steps})

        def program(self, *sizes: Any) -> Any:
            self.core = self.made.program(*sizes)
            return self

        def evaluate(self, symbols: Any) -> Any:
            return self.made.evaluate(symbols)

        def native(self) -> list[bool]:
            return [there and step[0] != self.name for step, there in zip(self.steps, self.core.native())]

        def __getattr__(self, name: str) -> Any:
            return getattr(self.core, name)

    for name, more in (("_fused_pool", True), ("_fused_chain", False)):  # chains are of plain data, too
        asked.clear()
        with monkeypatch.context() as patched:
            patched.setattr(native, "template", lambda *given, name=name: Without(name, *given))
            program = Program(graph, params)
            np.testing.assert_allclose(program.run(feeds)[0], want, rtol=1e-4)
        assert [name in steps for steps in asked] == [True, not more]
        (prepared,) = program._plans.values()
        assert prepared.bound is not prepared.reference  # what is plain NumPy computes, step by step


@compiled
def test_parts_of_several_concatenations() -> None:
    """An array that is joined twice, or read otherwise too, or fed, or constant, or an output, is whole in each."""
    rng = np.random.default_rng(3)
    x = Entry(Node(None, "x"))
    params: dict[str, np.ndarray] = {}

    def conv(data: Entry, channels: int, kernel: int = 3, of: int = 3) -> Entry:
        name = f"w{len(params)}"
        params[name] = rng.standard_normal((channels, of, kernel, kernel)).astype(np.float32)
        attrs = {"kernel": (kernel,) * 2, "pad": (kernel // 2,) * 2, "num_filter": channels, "no_bias": True}
        return applied("Convolution", data, Entry(Node(None, name)), name=f"c{name}", **attrs)

    def join(*parts: Entry) -> Entry:
        return applied("Concat", *parts, name=f"join{len(params)}", num_args=len(parts))

    def pooled(data: Entry) -> Entry:
        return applied("Pooling", data, name=f"p{len(params)}", global_pool=True, pool_type="avg")

    one, two, three = conv(x, 32), conv(x, 16), conv(x, 48)
    params["k"], params["v"] = (rng.standard_normal(s).astype(np.float32) for s in ((2, 16, 5, 4), (3, 32)))
    k, v, fed = (Entry(Node(None, n)) for n in ("k", "v", "fed"))
    first, second = pooled(one), pooled(two)
    graphs_ = {
        "one in two": [conv(join(one, two), 8, 3, 48), conv(join(one, three), 8, 1, 80)],
        "one in two, at other places": [conv(join(two, one), 8, 3, 48), conv(join(three, one, two), 8, 3, 96)],
        "twice in one": [conv(join(one, two, one), 8, 3, 80)],
        "of joined ones": [conv(join(join(one, two), three), 8, 3, 96), conv(join(two, three), 8, 5, 64)],
        "with a constant": [conv(join(one, k), 8, 3, 48), conv(join(k, two), 8, 1, 32)],
        "with what is fed": [conv(join(fed, two), 8, 3, 48)],
        "an output too": [conv(join(one, two), 8, 3, 48), two],
        "of single pixels": [conv(join(first, second), 8, 1, 48),
                             applied("FullyConnected", applied("Flatten", first), v, num_hidden=3, no_bias=True)],
        "padded and not": [conv(join(one, two), 8, 3, 48), conv(one, 8, 1, 32), conv(two, 8, 5, 16)],
        "squashed": [conv(applied("tanh", join(one, two)), 8, 3, 48), applied("exp", one)],
        "of chains": [conv(join(one, applied("elemwise_mul", applied("tanh", two), applied("exp", two))), 8, 3, 48)],
    }  # fmt: skip
    for name, outputs in graphs_.items():
        graph = Graph(outputs)
        names = {n.name for n in graph.variables()}
        values = {"x": rng.standard_normal((2, 3, 5, 4)), "fed": rng.standard_normal((2, 32, 5, 4))}
        values = {n: a.astype(np.float32) for n, a in values.items() if n in names}
        stored = {n: a for n, a in params.items() if n in names}
        program = Program(graph, stored)
        for _ in range(2):
            wants = Program(graph, stored, native=False).run(values)
            for got, want in zip(program.run(values), wants, strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max(), err_msg=name)


@compiled
@pytest.mark.parametrize("groups", [1, 16])
def test_paddings_of_any_width(groups: int) -> None:
    """Up to four cells around an image are kept in memory; beyond that they are not, and on each side as many as are wanted."""
    rng = np.random.default_rng(5)
    first = rng.standard_normal((16, 3, 1, 1)).astype(np.float32)
    for pad in (*((p, 1) for p in range(7)), (1, 4), (2, 5), (5, 5)):
        x = Entry(Node(None, "x"))
        data = applied("Convolution", x, Entry(Node(None, "v")), name="a", kernel=(1, 1), num_filter=16, no_bias=True)
        kernel = tuple(2 * p + 1 for p in pad)
        attrs = {"kernel": kernel, "pad": pad, "num_filter": 16, "num_group": groups, "no_bias": True}
        y = applied("Convolution", data, Entry(Node(None, "w")), name="b", **attrs)
        graph = Graph([y, applied("Pooling", data, kernel=(2, 2), pad=(1, 1), pool_type="avg")])
        params = {"v": first, "w": rng.standard_normal((16, 16 // groups, *kernel)).astype(np.float32)}
        feeds = {"x": rng.standard_normal((1, 3, 6, 5)).astype(np.float32)}
        wants = Program(graph, params, native=False).run(feeds)
        for got, want in zip(Program(graph, params).run(feeds), wants, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5 * np.abs(want).max(), err_msg=str(pad))


def test_sizes_that_only_the_run_knows_are_held_to_the_budget() -> None:
    """NumPy's own tile reckons in 64 bits, and wrote where it may not."""
    x = sym.onnx.TopK(sym.var("x"), sym.var("k"), axis=-1)[0]
    program = Program(sym.tile(x, reps=(100_000, 1 << 40)).graph)
    with pytest.raises(MXNetError, match="memory budget"):
        program.run({"x": np.ones((3, 4), np.float32), "k": np.array([2])})
