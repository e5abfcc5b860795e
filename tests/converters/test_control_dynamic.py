"""Control flow as Scan, Loop and If, against the engine and what MXNet 1.9.1 gave, with dynamic sizes."""

import numpy as np
import onnx
import pytest

import converters
from hybrid.execution.program import Program
from hybrid.ir.graph import Graph
from tests.graph.control import CASES, apply, choice, counting, foreach, growing, one, outputs, variable
from tests.table.test_goldens import run_onnx
from tests.versions import needs_opset


@pytest.mark.parametrize("opset", [13, 17, 21, pytest.param(24, marks=needs_opset(24))])
@pytest.mark.parametrize("make", CASES.values(), ids=CASES)
def test_gives_what_mxnet_gave(make, opset: int) -> None:
    graph, feeds, wants = make()
    model = converters.to_onnx(graph, {}, feeds, opset)
    onnx.checker.check_model(model, full_check=True)
    for result, want in zip(run_onnx(model, feeds), wants, strict=True):
        assert result.dtype == np.float32
        np.testing.assert_array_equal(result, np.float32(want))


def check(graph: Graph, params: dict, axes: dict, *runs: dict, limit: float = 0.0) -> onnx.ModelProto:
    model = converters.to_onnx(graph, params, axes)
    onnx.checker.check_model(model, full_check=True)
    for feeds in runs:
        for got, want in zip(run_onnx(model, feeds), Program(graph, params).run(feeds), strict=True):
            assert got.shape == want.shape
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=0, atol=limit)
    return model


def test_while_at_any_size() -> None:
    runs = [{"start": np.float32([s]), "state": np.arange(n, dtype="f4")} for s, n in ((1, 3), (-4, 1), (3, 5))]
    check(counting(0), {}, {"start": (1,), "state": ("n",)}, *runs)
    runs = [{"start": np.float32([s]), "s": np.arange(n, dtype="f4")} for s, n in ((1, 3), (9, 2), (3, 5))]
    check(growing()[0], {}, {"start": (1,), "s": ("n",)}, *runs)


def test_branches_at_any_size() -> None:
    runs = [{"p": np.float32([p]), "a": np.ones(a, "f4"), "b": np.ones(b, "f4")} for p, a, b in ((1, 2, 3), (0, 4, 1))]
    check(choice(1)[0], {}, {"p": (1,), "a": ("a",), "b": ("b",)}, *runs)


def recurrent(rng: np.random.Generator) -> tuple[Graph, dict[str, np.ndarray]]:
    """A tanh RNN whose weight is a parameter and whose body takes the batch from the state, which has no fixed size."""
    data, weight, bias, state = map(variable, ("data-0", "weight", "bias", "state-0"))
    mixed = one("FullyConnected", one("Concat", data, state, num_args=2, dim=1), weight, bias, num_hidden=4)
    new = one("tanh", mixed, name="new")
    graph = foreach(
        Graph([one("_mul_scalar", new, scalar=2), new]), ["data", "state", "weight", "bias"], (0,), (1,), (2, 3)
    )
    params = {"weight": rng.normal(size=(4, 7)).astype("f4"), "bias": rng.normal(size=4).astype("f4")}
    return graph, params


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_recurrent_at_any_length_and_batch(dtype: str) -> None:
    rng = np.random.default_rng(0)
    graph, params = recurrent(rng)
    params = {k: v.astype(dtype) for k, v in params.items()}
    runs = [
        {"data": rng.normal(size=(t, n, 3)).astype(dtype), "state": rng.normal(size=(n, 4)).astype(dtype)}
        for t, n in ((5, 2), (1, 1), (9, 4))
    ]
    model = check(graph, params, {"data": ("t", "n", 3), "state": ("n", 4)}, *runs, limit=2e-6)
    assert [n.op_type for n in model.graph.node] == ["Scan"]
    assert {i.name for i in model.graph.initializer} >= {"weight", "bias"}
    (shape, _) = (o.type.tensor_type.shape for o in model.graph.output)
    assert [d.dim_param or d.dim_value for d in shape.dim] == ["t", "n", 4]


def test_states_of_several_dtypes() -> None:
    """Results of Scan and Loop have the dtypes of their bodies, not those of whichever input comes last."""
    d, i = variable("d-0"), variable("i-0")
    body = Graph([one("Cast", one("_plus_scalar", i, scalar=1, name="more"), dtype="float64"), one("_copy", d)])
    body = Graph([*body.outputs, one("elemwise_add", i, i, name="double")])
    graph = foreach(body, ["d", "i"], (1,), (0,), (), 2)  # the body meets i first
    runs = [{"d": np.ones((t, 2), "f4"), "i": np.array([3], "i4")} for t in (2, 4)]
    model = converters.to_onnx(graph, {}, {"d": ("t", 2), "i": np.array([3], "i4")})
    for feeds in runs:
        for got, want in zip(run_onnx(model, feeds), Program(graph).run(feeds), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


def test_a_loop_in_a_branch_reads_what_is_outside_both() -> None:
    row, total, weight = variable("row"), variable("total"), variable("weight")
    step = one("elemwise_add", total, one("elemwise_mul", row, weight), name="sum")
    sums = foreach(Graph([step, one("_copy", step)]), ["data", "zero", "weight"], (1,), (0,), (2,)).outputs[0]
    asked, other = variable("asked"), variable("data")
    node = apply(
        "_cond",
        *map(variable, ("asked", "data", "zero", "weight")),
        name="choice",
        subgraphs=(Graph([one("_greater_scalar", asked, scalar=0)]), Graph([sums]), Graph([one("_copy", other)])),
        num_args=7,
        num_outputs=1,
        cond_input_locs=(0,),
        then_input_locs=tuple(("asked", "data", "zero", "weight").index(v.name) for v in Graph([sums]).variables()),
        else_input_locs=(1,),
    )
    rng = np.random.default_rng(0)
    params = {"weight": rng.normal(size=2).astype("f4")}
    runs = [
        {"asked": np.float32([a]), "data": rng.normal(size=(n, 2)).astype("f4"), "zero": np.zeros(2, "f4")}
        for a, n in ((1, 3), (-1, 3), (1, 6))
    ]
    check(outputs(node), params, {"asked": (1,), "data": ("n", 2), "zero": (2,)}, *runs, limit=1e-6)


def test_what_a_body_cannot_say_names_its_node() -> None:
    d, s = variable("d-0"), variable("s-0")
    body = Graph([one("_npi_eigvals", d, name="inner"), one("_copy", s)])
    graph = foreach(body, ["d", "s"], (0,), (1,))
    assert [(p.node, p.operator) for p in converters.export.untranslatable(graph)] == [("inner", "_npi_eigvals")]
    with pytest.raises(converters.UnsupportedModel) as caught:
        converters.to_onnx(graph, {}, {"d": (3, 2, 2), "s": (2,)})
    assert [(p.node, p.operator) for p in caught.value.problems] == [("inner", "_npi_eigvals")]
