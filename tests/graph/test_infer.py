"""Inference: a fixed point, the same for every order, never in conflict with what runs."""

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid import sym
from hybrid.core.error import FormatError, InternalError, OpError
from hybrid.core.op import REGISTRY, Spec, lookup
from hybrid.core.shapes import MOST_DIMS, UNKNOWN, identical, is_known, merge
from hybrid.execution.program import Program
from hybrid.ir import facts
from hybrid.ir import infer as inference
from hybrid.ir import json as symbol_json
from hybrid.ir.facts import Facts
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import MOST_ELEMENTS, infer
from tests.graph.control import foreach, one, variable
from tests.graph.random_graphs import SHAPE, feeds, graphs


def node(op: str, name: str, *inputs: Node, **attrs: object) -> Node:
    return Node(REGISTRY[op].bind(**attrs), name, map(Entry, inputs))


def network() -> Graph:
    x = Node(None, "x")
    conv = node("Convolution", "c", x, Node(None, "cw"), Node(None, "cb"), kernel=(3, 3), num_filter=4, pad=(1, 1))
    pool = node("Pooling", "p", conv, kernel=(2, 2), stride=(2, 2))
    dense = node("FullyConnected", "f", pool, Node(None, "fw"), Node(None, "fb"), num_hidden=5)
    return Graph([Entry(dense)])


def variables(graph: Graph, result) -> dict:
    return {n.name: result.spec(Entry(n)).shape for n in graph.variables()}


def test_parameters_from_data() -> None:
    graph = network()
    result = infer(graph, {"x": (2, 3, 8, 8)})
    assert variables(graph, result) == {"x": (2, 3, 8, 8), "cw": (4, 3, 3, 3), "cb": (4,), "fw": (5, 64), "fb": (5,)}
    assert result.spec(graph.outputs[0]).shape == (2, 5)


def test_an_unknown_batch_stays_the_only_unknown() -> None:
    graph = network()
    result = infer(graph, {"x": (UNKNOWN, 3, 8, 8)})
    assert identical(result.spec(graph.outputs[0]).shape, (UNKNOWN, 5))
    assert variables(graph, result)["fw"] == (5, 64)
    assert result.unknown_variables() == ["x", "cw", "cb", "fw", "fb"]  # no dtype was given
    assert infer(graph, {"x": (UNKNOWN, 3, 8, 8)}, default_dtype="float32").unknown_variables() == ["x"]


def test_backward_from_outputs() -> None:
    """A recurrent state of unknown batch learns it from what it is added to."""
    state, x = Node(None, "state", (), {"__shape__": "(0, 4)"}), Node(None, "x")
    graph = Graph([Entry(node("elemwise_add", "s", node("relu", "r", state), x))])
    assert variables(graph, infer(graph, {"x": (3, 4)}))["state"] == (3, 4)


def test_a_size_that_is_open_follows_from_what_is_made_of_it() -> None:
    """As MXNet has it: the other sizes of the variable are known, and those of the result from what it is added to."""
    rows = (
        ("expand_dims", {"axis": 1}, (2, 1, 3)),
        ("expand_dims", {"axis": -1}, (2, 3, 1)),
        ("expand_dims", {"axis": 0}, (1, 2, 3)),
        ("reverse", {"axis": (0,)}, (2, 3)),
        ("_np_roll", {"shift": (1,), "axis": (0,)}, (2, 3)),
        ("transpose", {}, (3, 2)),
        ("_np_cumsum", {"axis": 1}, (2, 3)),
        ("SliceChannel", {"num_outputs": 3}, (2, 1)),
        ("SliceChannel", {"num_outputs": 3, "axis": -1, "squeeze_axis": True}, (2,)),
        ("SliceChannel", {"num_outputs": 2, "axis": 0}, (1, 3)),
    )
    for op, attrs, shape in rows:
        variable = Node(None, "v", (), {"__shape__": "(0, 3)"})
        graph = Graph([Entry(node("elemwise_add", "s", node(op, "r", variable, **attrs), Node(None, "x")))])
        assert variables(graph, infer(graph, {"x": shape}))["v"] == (2, 3), (op, attrs)
    summed = Graph([Entry(node("elemwise_add", "s", node("_np_cumsum", "r", Node(None, "v")), Node(None, "x")))])
    assert variables(summed, infer(summed, {"x": (6,)}))["v"] is None  # flattened: nobody knows


def test_zero_is_a_size() -> None:
    graph = Graph([Entry(node("relu", "r", Node(None, "x")))])
    assert infer(graph, {"x": (0, 3)}).spec(graph.outputs[0]).shape == (0, 3)
    assert infer(graph, {"x": ()}).spec(graph.outputs[0]).shape == ()


def test_dtypes() -> None:
    x = Node(None, "x")
    graph = Graph([Entry(node("elemwise_add", "s", node("Cast", "c", x, dtype="float16"), Node(None, "y")))])
    result = infer(graph, {}, {"x": "int32"})
    assert result.spec(graph.outputs[0]).dtype == np.float16
    assert result.spec(Entry(graph.nodes[-2])).dtype == np.float16  # y learns it
    with pytest.raises(OpError, match=r"operator s: .*float16.*float32"):
        infer(graph, {}, {"x": "int32", "y": "float32"})


def test_contradictions_name_the_node() -> None:
    with pytest.raises(OpError, match=r"operator f: \[FullyConnected\] .*fw|operator f: .*weight"):
        infer(network(), {"x": (2, 3, 8, 8), "fw": (5, 63)})
    with pytest.raises(OpError, match="variable x: __shape__='nonsense'"):
        infer(Graph([Entry(node("relu", "r", Node(None, "x", (), {"__shape__": "nonsense"})))]))


@given(graphs(), st.sets(st.sampled_from(["a", "b", "w"])))
def test_inference_is_a_fixed_point(graph: Graph, given_names: set[str]) -> None:
    names = {n.name for n in graph.variables()}
    first = infer(graph, {n: SHAPE for n in given_names & names})
    again = infer(graph, {n: s for n, s in variables(graph, first).items() if s is not None})
    for key, shape in first.shapes.items():
        assert identical(shape, again.shapes[key])
    more = infer(graph, {n: SHAPE for n in names})
    for key, shape in first.shapes.items():  # who knows more contradicts nothing
        assert shape is None or all(d is UNKNOWN or d == e for d, e in zip(shape, more.shapes[key]))


@given(graphs())
def test_what_is_inferred_is_what_runs(graph: Graph) -> None:
    values = feeds(graph)
    result = infer(graph, {n: v.shape for n, v in values.items()}, {n: v.dtype for n, v in values.items()})
    seen = {}
    Program(graph).run(values, lambda n, outputs: seen.update({id(n): [(o.shape, o.dtype) for o in outputs]}))
    for item in graph.nodes:
        if item.op is None:
            continue
        for i, got in enumerate(seen[id(item)]):
            spec = result.spec(Entry(item, i))
            assert is_known(spec.shape)
            assert got == (spec.shape, spec.dtype)


def test_an_operator_that_says_nothing_takes_nothing_back() -> None:
    """dequantize says uint8 of what an operator made of which nothing is known: forward, that was unknown again each time."""
    nodes = [
        {"op": "NoSuchOperator", "name": "u", "inputs": []},
        {"op": "_contrib_dequantize", "name": "d", "inputs": [[0, 0, 0], [0, 1, 0], [0, 2, 0]]},
    ]
    graph = symbol_json.loads(json.dumps({"nodes": nodes, "arg_nodes": [], "heads": [[1, 0, 0]]}), foreign=True)
    with pytest.raises(OpError, match=r"operator u: .* unknown operator"):  # its shapes, after dtypes have been settled
        infer(graph, default_dtype=np.float32)


def test_a_rule_that_takes_back_what_it_said_is_an_error() -> None:
    graph = Graph([Entry(node("relu", "r", Node(None, "x")))])
    known = {(id(n), 0): None for n in graph.nodes}
    answers = itertools.cycle([1, 2])
    settling = inference._FixedPoint(
        graph.nodes, known, lambda *_: [None, next(answers)], lambda a, b: a == b, lambda _: False
    )
    with pytest.raises(InternalError, match="does not come to an end at r"):
        settling.run()


def test_loops_within_loops_do_not_multiply_the_work(monkeypatch) -> None:
    asked = []
    relu = REGISTRY["relu"]
    rule = relu.infer_shape
    monkeypatch.setattr(relu, "infer_shape", lambda self, *shapes: asked.append(shapes) or rule(self, *shapes))
    body = Graph([one("relu", variable("x"), name="innermost"), variable("s")])
    for _ in range(12):
        body = foreach(body, ["x", "s"], (0,), (1,))
    found = infer(body, {"x": (2,) * 13 + (3,), "s": (4,)})
    assert found.spec(body.outputs[0]).shape == (2,) * 12 + (2, 3)
    assert len(asked) < 100


def pinned(graph: Graph, places: dict[int, tuple]) -> Graph:
    """The graph with tensors said to have the shape of a variable: by number among all visible outputs."""
    entries = graph.internals().outputs
    pins = [
        Entry(Node(REGISTRY["_identity_with_attr_like_rhs"].bind(), f"pin{i}", [entries[i], variable(f"shape{i}")]))
        for i in places
    ]
    return Graph([*graph.outputs, *pins])


@pytest.mark.parametrize(("one", "other"), [*itertools.product([UNKNOWN, 0, 1, 2], repeat=2)])
def test_sizes_merge_or_contradict(one: Any, other: Any) -> None:
    if one is UNKNOWN or other is UNKNOWN or one == other:
        assert identical(merge((3, one), (3, other)), (3, other if one is UNKNOWN else one))
    else:
        with pytest.raises(ValueError, match="differ"):
            merge((3, one), (3, other))


@given(graphs(), st.data())
def test_sizes_given_anywhere_lead_to_the_same(graph: Graph, data: st.DataObject) -> None:
    """Of inputs, outputs and what is between them any part may be given, dims left out: what is found is true of the whole,
    and a size that contradicts the rest is refused at a node."""
    entries = graph.internals().outputs
    full = infer(graph, dict.fromkeys(("a", "b", "w"), SHAPE))
    chosen = data.draw(st.sets(st.integers(0, len(entries) - 1), min_size=1, max_size=4))
    shapes = {i: full.spec(entries[i]).shape for i in sorted(chosen)}
    open_ = {i: tuple(d if data.draw(st.booleans()) else UNKNOWN for d in shape) for i, shape in shapes.items()}
    names = data.draw(st.sets(st.sampled_from(["a", "b", "w"])))
    whole = pinned(graph, shapes)
    found = infer(whole, {**dict.fromkeys(names, SHAPE), **{f"shape{i}": s for i, s in open_.items()}})
    for entry in entries:
        assert identical(merge(found.spec(entry).shape, full.spec(entry).shape), full.spec(entry).shape)
    place = data.draw(st.sampled_from(sorted(shapes)))
    axis = data.draw(st.integers(0, len(shapes[place]) - 1))
    other = data.draw(st.sampled_from([shapes[place][axis] + 5, 0]))  # 0 is a size like any other
    wrong = tuple(other if i == axis else d for i, d in enumerate(shapes[place]))
    with pytest.raises(OpError, match=r"Error in operator (n|pin)"):
        infer(whole, {**dict.fromkeys(("a", "b", "w"), SHAPE), f"shape{place}": wrong})


def test_no_rule_says_a_shape_that_no_array_has(monkeypatch) -> None:
    graph = Graph([Entry(node("relu", "r", Node(None, "x")))])
    for shape, said in (
        ((2, -1), r"shape \(2, -1\)"),
        ((1,) * 65, "65 dims"),
        ((2.5,), r"2\.5"),
        ((0, 1 << 63), "more than any"),
    ):
        monkeypatch.setattr(REGISTRY["relu"], "infer_shape", lambda self, x, shape=shape: shape)
        with pytest.raises(OpError, match=f"operator r: .*{said}"):
            infer(graph, {"x": None})
            infer(graph, {"x": (4,) * len(shape)})
    monkeypatch.setattr(REGISTRY["relu"], "infer_shape", lambda self, x: (True, np.int64(3)))
    monkeypatch.setattr(REGISTRY["relu"], "infer_input_shapes", lambda self, shapes, outputs: shapes)
    (shape,) = (infer(graph, {"x": (1, 3)}).spec(e).shape for e in graph.outputs)
    assert shape == (1, 3) and list(map(type, shape)) == [int, int]


def test_subgraphs_within_subgraphs_end() -> None:
    inner: dict = {"nodes": [{"op": "null", "name": "x", "inputs": []}], "heads": [[0, 0, 0]]}
    for _ in range(40):
        inner = {"nodes": [{"op": "_cond", "name": "c", "inputs": [], "subgraphs": [inner]}], "heads": [[0, 0, 0]]}
    with pytest.raises(FormatError, match="more than 32 subgraphs"):
        symbol_json.loads(json.dumps(inner), foreign=True)


@pytest.mark.parametrize("op", ["ConstantOfShape", "Expand", "Reshape", "Unsqueeze"])
def test_a_size_that_is_a_rank_is_no_larger_than_any_rank(op: str) -> None:
    names = ["n"] if op == "ConstantOfShape" else ["x", "n"]
    graph = Graph([Entry(Node(lookup(f"_onnx_{op}").bind(), "r", [Entry(Node(None, n)) for n in names]))])
    with pytest.raises(OpError, match=r"operator r: .* dims"):
        infer(graph, {"x": (3,), "n": (1 << 40,)})


def test_the_edges_of_what_inference_takes(monkeypatch) -> None:
    """As many dims and elements as there may be, and one more; as many values as are worth knowing, and one more."""
    graph = Graph([Entry(node("relu", "r", Node(None, "x")))])
    monkeypatch.setattr(REGISTRY["relu"], "infer_input_shapes", lambda self, shapes, outputs: shapes)
    for shape, said in (
        ((1,) * MOST_DIMS, None), ((1,) * (MOST_DIMS + 1), "65 dims"),
        ((MOST_ELEMENTS,), None), ((MOST_ELEMENTS + 1,), "more than"),
        ((MOST_ELEMENTS // 2, 2, 0, 1), None), ((MOST_ELEMENTS // 2, 2, 0, 2), "more than"), ((UNKNOWN, MOST_ELEMENTS), None),
        ((1 << 14, 3), None), ((-1, 1 << 20), r"shape \(-1, 1048576\)"), ((3.0, 2), None),
    ):  # fmt: skip
        monkeypatch.setattr(REGISTRY["relu"], "infer_shape", lambda self, x, shape=shape: shape)
        if said is None:
            found = infer(graph, {"x": (2,)}).spec(graph.outputs[0]).shape
            assert identical(found, tuple(d if d is UNKNOWN else int(d) for d in shape))
        else:
            with pytest.raises(OpError, match=f"operator r: .*{said}"):
                infer(graph, {"x": (2,)})
    for count in (1024, 1025):
        asks = Node(lookup("_onnx_Reshape").bind(), "asks", [Entry(Node(None, "x")), Entry(Node(None, "s"))])
        graph = Graph([Entry(node("_plus_scalar", "p", Node(None, "n"), scalar=1)), Entry(asks)])
        shapes, dtypes = {"n": (count,), "x": (2,), "s": (1,)}, {"n": "int64", "x": "float32", "s": "int64"}
        found = infer(graph, shapes, dtypes, values={"n": np.arange(count), "s": np.array([2])})
        known = (found.values or {}).get((id(graph.outputs[0].node), 0))
        assert (None if known is None else known.tolist()) == (list(range(1, 1025)) if count == 1024 else None)


@pytest.mark.parametrize(("at", "least"), [(2, 3), (3, 4), (-3, 3), (-5, 5)])
def test_rules_that_ask_for_axes_that_are_not_there(at: int, least: int, monkeypatch) -> None:
    """It is said of the input that they ask, and how many dimensions it has to have; another may be unknown meanwhile."""
    graph = Graph([Entry(node("elemwise_add", "a", Node(None, "x"), Node(None, "y")))])

    def ask(self: Any, shapes: Any, outputs: Any) -> Any:
        return shapes if shapes[1] is None else ((shapes[1][at],), shapes[1])

    monkeypatch.setattr(REGISTRY["elemwise_add"], "infer_input_shapes", ask)
    with pytest.raises(OpError, match=rf"operator a: .*got rhs of shape \(4, 5\), wanted at least {least} dimensions"):
        infer(graph, {"y": (4, 5)})


def test_dtypes_that_are_not_known_yet_take_nothing_back(monkeypatch) -> None:
    """None says nothing; NumPy takes it for float64."""
    for kind in ("float64", "float32", "int8"):
        one = np.dtype(kind)
        assert (
            inference._agree(one, None) is one
            and inference._agree(None, one) is one
            and inference._agree(one, one) is one
        )
        assert inference._same_dtype(one, np.dtype(kind)) and inference._same_dtype(None, None)
        assert not inference._same_dtype(one, None) and not inference._same_dtype(None, one)
    assert inference._agree(None, None) is None
    with pytest.raises(ValueError, match="dtypes float32 and float64 differ"):
        inference._agree(np.dtype("float32"), np.dtype("float64"))
    monkeypatch.setattr(REGISTRY["elemwise_add"], "infer_input_types", lambda self, dtypes, outputs: [None, None])
    graph = Graph([Entry(node("elemwise_add", "a", Node(None, "x"), Node(None, "y")))])
    found = infer(graph, {"x": (2,)}, {"x": "float64", "y": "float64"})
    assert [found.spec(Entry(n)).dtype for n in graph.variables()] == [np.dtype("float64")] * 2


def test_words_go_through_what_moves_them_alone() -> None:
    x = Node(None, "x")
    for name, attrs in (
        ("Reshape", {"shape": (3, 2)}),
        ("transpose", {}),
        ("slice_axis", {"axis": 1, "begin": 0, "end": 2}),
    ):
        graph = Graph([Entry(node(name, "m", x, **attrs))])
        try:
            assert infer(graph, {"x": (2, 3)}, {"x": "object"}).spec(graph.outputs[0]).dtype == object
        except OpError as error:
            assert (
                "got words or sequences, wanted numbers" in str(error)
                and not REGISTRY[name].view
                and not REGISTRY[name].only_moves_data
            )
    for name in ("relu", "sum", "_plus_scalar"):
        graph = Graph([Entry(node(name, "m", x, **({"scalar": 1} if name.startswith("_") else {})))])
        with pytest.raises(OpError, match=r"operator m: .*got words or sequences, wanted numbers"):
            infer(graph, {"x": (2, 3)}, {"x": "object"})


def test_a_rewritten_graph_reads_the_outputs_that_it_is_told() -> None:
    """Another output of the same node is another tensor."""
    parts = node("SliceChannel", "s", Node(None, "x"), num_outputs=2, axis=0)
    graph = Graph(
        [Entry(Node(REGISTRY["elemwise_sub"].bind(), "d", [Entry(parts, 0), Entry(parts, 1)])), Entry(parts, 1)]
    )
    swapped = graph.rewrite(lambda n, inputs: [Entry(n, 1), Entry(n, 0)] if n is parts else None)
    data = np.array([[1.0, 2], [30, 40]], np.float32)
    assert [a.tolist() for a in Program(graph, native=False).run({"x": data})] == [[[-29, -38]], [[30, 40]]]
    assert [a.tolist() for a in Program(swapped, native=False).run({"x": data})] == [[[29, 38]], [[1, 2]]]
    assert repr(graph.nodes) == "[<variable x>, <SliceChannel s>, <elemwise_sub d>]"


def test_what_a_run_writes_to() -> None:
    """States of what updates them, through views too; all that a body is given that writes."""
    w, g, m = (Node(None, n) for n in ("w", "g", "m"))
    seen = node("Reshape", "v", node("expand_dims", "e", m, axis=0), shape=(-1,))
    step = node("sgd_mom_update", "u", w, g, seen, lr=0.5)
    copied = node("sgd_mom_update", "c", w, g, node("exp", "x", m), lr=0.5)
    for last, want in ((step, {"m"}), (copied, set())):
        assert Graph([Entry(last)]).written_variables(False) == Graph([Entry(last)]).written_variables(True) == want
    norm = node("BatchNorm", "n", *(Node(None, n) for n in ("x", "gamma", "beta", "mean", "var")))
    assert (Graph([Entry(norm)]).written_variables(False), Graph([Entry(norm)]).written_variables(True)) == (
        set(),
        {"mean", "var"},
    )
    data, state = variable("data-0"), variable("state-0")
    stats = [variable(n) for n in ("g", "b", "m", "v")]
    inner = Graph([Entry(Node(REGISTRY["BatchNorm"].bind(), "n", [data, *stats])), state])
    loop = foreach(inner, ["rows", "start", "g", "b", "m", "v"], (0,), (1,), (2, 3, 4, 5))
    outer = Graph([*loop.outputs, Entry(node("relu", "r", Node(None, "else")))])
    assert outer.written_variables(False) == set()
    assert outer.written_variables(True) >= {"m", "v"} and "else" not in outer.written_variables(True)


def test_labels_are_held_to_what_is_known_of_their_data() -> None:
    """Each of several losses, whatever is open at the ones before it; 0 is a size that is not known."""
    a, la, b, lb = map(sym.var, ("a", "la", "b", "lb"))
    wrong, right = {"b": (0, 5), "lb": (4, 6)}, {"b": (4, 5), "lb": (0, 5)}
    for head in (sym.LinearRegressionOutput, sym.SoftmaxOutput, sym.SVMOutput, sym.MAERegressionOutput):
        both = sym.Group([head(a, la, name="first"), sym.LinearRegressionOutput(b, lb, name="second")])
        fits = (4, 5) if "Regression" in head.__name__ else (4,)
        for shapes, said in (
            ({"a": (0, 5), "la": (4, 6)} | right, "first"), ({"a": (0, 5), "la": fits} | wrong, "second"),
            ({"la": fits} | wrong, "second"), ({"a": (0, 5)} | wrong, "second"), (wrong, "second"),
            ({"a": (4, 0), "la": fits} | wrong, "second"), ({"a": (4, 0), "la": (4,)} | wrong, "second"),
        ):  # fmt: skip
            with pytest.raises(OpError, match=rf"operator {said}: .* got label of shape"):
                both.infer_shape_partial(**shapes)
        found = dict(zip(both.list_arguments(), both.infer_shape_partial(a=(0, 5), la=fits, **right)[0]))
        assert found["la"] == fits and found["lb"] == (4, 5) and found["a"] in ((0, 5), (4, 5))


def test_facts_are_inferred_once_for_each_set_of_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks, and however much of what follows anyway is said; never from values that others have taken the place of."""
    asked: list[Any] = []
    monkeypatch.setattr(facts, "infer", lambda *args, **options: asked.append(args) or infer(*args, **options))
    graph, x = network(), {"x": Spec((1, 3, 8, 8))}
    f4 = np.dtype(np.float32)
    known = Facts(graph, {"cw": np.ones((4, 3, 3, 3), f4)})
    first = known.infer(x)
    whole = {n.name: first.spec(Entry(n)) for n in graph.variables() if n.name != "cw"}
    assert whole["fw"] == Spec((5, 64), f4)
    assert known.infer(x) is first and known.infer(whole) is first and known.infer(x | {"other": Spec((7,))}) is first
    assert Program(graph, known.params, facts=known).inference({n: np.ones(*s) for n, s in whole.items()}) is first
    assert len(asked) == 1
    open_ = known.infer({"x": Spec((UNKNOWN, 3, 8, 8))})
    assert open_ is not first and known.infer({"x": Spec((UNKNOWN, 3, 8, 8))}) is open_ and len(asked) == 2
    assert (
        known.infer({"x": Spec((1, 3, 8, 8), np.dtype(np.float64)), "cw": Spec((4, 3, 3, 3), np.dtype(np.float64))})
        is not first
    )
    doubles = known.infer({"x": Spec(None, np.dtype(np.float64)), "cw": Spec(None, np.dtype(np.float64))})
    assert doubles.spec(graph.outputs[0]).dtype == np.float64
    with pytest.raises(OpError, match=r"operator c: .*Convolution"):
        known.infer(x | {"cw": Spec((4, 2, 3, 3))})
    assert Facts(graph, {}, None).infer({}).spec(Entry(graph.variables()[0])).dtype is None
    data, size = Node(None, "data"), Node(None, "size")
    grown = Graph([Entry(Node(lookup("_onnx_Expand").bind(), "e", [Entry(data), Entry(size)]))])
    known = Facts(grown, {"size": np.array([2, 3])})
    assert known.infer({"data": Spec((1, 3), f4)}).spec(grown.outputs[0]).shape == (2, 3)
    other = known.infer({"data": Spec((1, 3), f4), "size": Spec((2,), np.dtype(np.int64))})
    assert not is_known(other.spec(grown.outputs[0]).shape)
