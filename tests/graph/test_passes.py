"""The passes, one by one: what they make of a graph, and what they leave alone."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid import native
from hybrid.core.attrs import dtype as dtype_of
from hybrid.core.error import MXNetError
from hybrid.core.fp_warnings import ignoring_fp_warnings
from hybrid.core.op import lookup
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ops.fused import FusedElementwise
from hybrid.passes import PASSES, optimize
from hybrid.passes.elementwise_code import opcodes_of
from tests.graph.optimizing import ALL, apply, counted, optimized, plainly, rewriter_of, run, var
from tests.graph.random_graphs import feeds as random_feeds
from tests.graph.random_graphs import graphs
from tests.graph.random_pictures import Picture, pictures
from tests.table.examples import examples

rng = np.random.default_rng(7)
NORMS = ("gamma", "beta", "mean", "var")


def f32(values: Any) -> np.ndarray:
    return np.array(values, np.float32)


def uniform(*shape: int, low: float = -1, high: float = 1) -> np.ndarray:
    return rng.uniform(low, high, shape).astype(np.float32)


def norm_parameters(channels: int) -> dict[str, np.ndarray]:
    """gamma, beta, mean and var of a trained layer."""
    return dict(
        zip(NORMS, (uniform(channels), uniform(channels), uniform(channels), uniform(channels, low=0.3, high=2)))
    )


def kept(graph: Graph, feeds: dict[str, np.ndarray], params: dict[str, np.ndarray], **options: Any) -> Any:
    """Graph that the passes make, after a check that it gives the same."""
    training = options.get("training", False)
    found = optimized(graph, feeds, params, **options)
    want = plainly(graph, feeds, params, training=training)
    for one, other in zip(run(found, feeds, params, training=training), want, strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6 * max(1, np.abs(other).max(initial=0)))
    return found


# -- all of them -----------------------------------------------------------------------------------------------------------


@given(graphs(), st.sampled_from([(), *((n,) for n in ALL), *(tuple(m for m in ALL if m != n) for n in ALL)]))
def test_random_graphs_keep_their_outputs(graph: Graph, without: tuple[str, ...]) -> None:
    values = random_feeds(graph)
    params = {n: v for n, v in values.items() if n == "w"}
    feeds = {n: v for n, v in values.items() if n != "w"}
    found = optimized(graph, feeds, params, without)
    for one, other in zip(run(found, feeds, params), plainly(graph, feeds, params), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@given(pictures(), st.sampled_from([(), *((n,) for n in ALL)]))
def test_random_convolutional_graphs_keep_their_outputs(picture: Picture, without: tuple[str, ...]) -> None:
    graph, feeds, params = picture
    found = optimized(graph, feeds, params, without)
    for one, other in zip(run(found, feeds, params), plainly(graph, feeds, params), strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * max(1, np.abs(other).max(initial=0)))


@pytest.mark.skipif(native.level() is None, reason="the compiled part is not there")
@given(pictures())
def test_random_convolutional_graphs_are_compiled(picture: Picture) -> None:
    graph, feeds, params = picture
    want = plainly(graph, feeds, params)
    program = Program(graph, params)
    for _ in range(2):
        for one, other in zip(program.run(feeds), want, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5 * max(1, np.abs(other).max(initial=0)))


PAIRS = {"first": ["each channel", "groups", "scaled"], "bias": [True, False], "groups": [1, 4], "kernel": [1, 3],
         "stride": [(1, 1), (2, 2), (1, 2)], "pad": [0, 1], "channels": [16, 20]}  # fmt: skip


@pytest.mark.parametrize("first", PAIRS["first"])
def test_pairs_of_convolutions_keep_their_outputs(first: str) -> None:
    """Whatever the first one is and the second one is like: what looks nearly like a pair that can be joined is not joined."""
    for bias, groups, kernel, stride, pad, channels in itertools.product(*list(PAIRS.values())[1:]):
        params = {"v": uniform(channels, 1 if first == "each channel" else channels // 2, 3, 3), "c": uniform(channels)}
        params |= {"w": uniform(12, channels // groups, kernel, kernel), "b": uniform(12), **norm_parameters(channels)}
        if first == "scaled":
            x = apply("relu", apply("BatchNorm", var("x"), *map(var, NORMS), fix_gamma=False))
        else:
            rest, parts = [var("c")] * bias, channels if first == "each channel" else 2
            attrs = {"kernel": (3, 3), "pad": (1, 1), "num_filter": channels, "num_group": parts, "no_bias": not bias}
            x = apply("Convolution", var("x"), var("v"), *rest, **attrs)
        attrs = {"kernel": (kernel,) * 2, "stride": stride, "pad": (pad,) * 2, "num_filter": 12, "num_group": groups}
        graph = Graph([apply("Convolution", x, var("w"), *[var("b")] * bias, no_bias=not bias, **attrs)])
        names = {n.name for n in graph.variables()}
        kept(graph, {"x": uniform(1, channels, 5, 4)}, {k: v for k, v in params.items() if k in names})


@pytest.mark.skipif(native.level() is None, reason="the compiled part is not there")
def test_what_is_joined_to_itself_is_there_twice() -> None:
    x = apply("Convolution", var("x"), var("w"), kernel=(1, 1), num_filter=16, no_bias=True)
    graph = Graph([apply("Concat", x, x, num_args=2)])
    feeds, params = {"x": uniform(1, 3, 4, 4)}, {"w": uniform(16, 3, 1, 1)}
    (got,), (want,) = Program(graph, params).run(feeds), plainly(graph, feeds, params)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_a_pass_that_does_not_exist_is_refused() -> None:
    graph = Graph([apply("relu", var("x"))])
    context = rewriter_of(graph, {"x": uniform(2)}, {})
    with pytest.raises(MXNetError, match="no passes colour; there are fold_shapes, prepare_quantized, decompose"):
        optimize(graph, context, ["colour"])


def test_a_pass_that_breaks_an_output_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph([apply("relu", var("x"))])
    monkeypatch.setitem(PASSES, "fold_shapes", lambda graph, context: Graph([context.reshape(graph.outputs[0], (6,))]))
    with pytest.raises(MXNetError, match=r"pass fold_shapes made float32\(6,\) of an output of float32\(2, ?3\)"):
        optimized(graph, {"x": uniform(2, 3)}, {})


def test_the_graph_itself_stays_as_it_is() -> None:
    x = var("x")
    y = apply("relu", apply("BatchNorm", apply("Convolution", x, var("w"), kernel=(3, 3), num_filter=20, no_bias=True),
                            *map(var, NORMS)))  # fmt: skip
    graph = Graph([apply("Pooling", y, kernel=(2, 2)), y, x])
    before = [(n, n.op, n.inputs) for n in graph.nodes]
    found = kept(graph, {"x": uniform(1, 4, 8, 8)}, {"w": uniform(20, 4, 3, 3), **norm_parameters(20)})
    assert [(n, n.op, n.inputs) for n in graph.nodes] == before
    assert found.main.outputs[2] == x


def test_unknown_shapes_are_left_alone() -> None:
    """A node that depends on values has no shape before it runs, nor has what follows."""
    y = apply("relu", apply("_contrib_boolean_mask", var("x"), var("m")))
    found = kept(Graph([y]), {"x": f32([3, 1, 3]), "m": f32([1, 0, 1])}, {})
    assert counted(found.main)["relu"] == 1


def test_nothing_is_fused_without_kernels() -> None:
    conv = apply("Convolution", var("x"), var("w"), kernel=(1, 1), num_filter=2, no_bias=True)
    graph = Graph([apply("FullyConnected", apply("relu", conv), var("v"), num_hidden=3, no_bias=True)])
    feeds, params = {"x": uniform(1, 3, 4, 4)}, {"w": uniform(2, 3, 1, 1), "v": uniform(3, 32)}
    found = optimize(graph, rewriter_of(graph, feeds, params, native=()))
    assert counted(found.main) == counted(graph)


# -- identities ------------------------------------------------------------------------------------------------------------

IDENTITIES = {
    "identity": lambda x: apply("identity", x),
    "BlockGrad": lambda x: apply("BlockGrad", x),
    "make_loss": lambda x: apply("make_loss", x),
    "Dropout": lambda x: apply("Dropout", x, p=0.5),
    "Cast": lambda x: apply("Cast", x, dtype="float32"),
    "Reshape": lambda x: apply("Reshape", x, shape=(0, -1, 4)),
    "there and back": lambda x: apply("Reshape", apply("Flatten", x), shape=(2, 3, 4)),
    "expand, squeeze": lambda x: apply("squeeze", apply("expand_dims", x, axis=1), axis=(1,)),
    "transpose twice": lambda x: apply("transpose", apply("transpose", x, axes=(1, 2, 0)), axes=(2, 0, 1)),
    "transpose, swap": lambda x: apply("SwapAxis", apply("transpose", x, axes=(0, 2, 1)), dim1=1, dim2=2),
    "Concat": lambda x: apply("Concat", x, num_args=1),
    "add_n": lambda x: apply("add_n", x, num_args=1),
    "slice_axis": lambda x: apply("slice_axis", x, axis=1, begin=0, end=None),
    "tile": lambda x: apply("tile", x, reps=(1, 1)),
    "broadcast_to": lambda x: apply("broadcast_to", x, shape=(2, 3, 4)),
    "all": lambda x: apply("identity", apply("BlockGrad", apply("Dropout", apply("identity", x)))),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_identities_disappear(name: str) -> None:
    x = var("x")
    found = kept(Graph([IDENTITIES[name](x), x]), {"x": uniform(2, 3, 4)}, {})
    assert found.main.outputs == (x, x)


def test_padding_by_nothing_disappears() -> None:
    x = var("x")
    y = apply("Pad", x, mode="edge", pad_width=(0,) * 8)
    assert kept(Graph([y]), {"x": uniform(2, 3, 4, 1)}, {}).main.outputs == (x,)


def test_what_only_moves_axes_of_size_one_is_a_reshape() -> None:
    found = kept(Graph([apply("transpose", var("x"), axes=(0, 2, 1, 3))]), {"x": uniform(2, 1, 3, 4)}, {})
    assert counted(found.main) == {"Reshape": 1}


def test_transposes_become_one() -> None:
    y = apply("transpose", apply("transpose", var("x"), axes=(1, 2, 0)), axes=(1, 0, 2))
    assert counted(kept(Graph([y]), {"x": uniform(2, 3, 4)}, {}).main) == {"transpose": 1}


@pytest.mark.parametrize("mode", ["training", "always"])
def test_dropout_stays_where_it_drops(mode: str) -> None:
    graph = Graph([apply("Dropout", var("x"), p=0.5, mode=mode)])
    found = kept(graph, {"x": uniform(2, 3)}, {}, training=True)
    assert counted(found.main) == {"Dropout": 1}
    assert bool(counted(optimized(graph, {"x": uniform(2, 3)}, {}).main)) == (mode == "always")


def test_a_mask_that_is_read_keeps_dropout() -> None:
    dropout = apply("Dropout", var("x"), p=0.5)
    graph = Graph([dropout, apply("relu", Entry(dropout.node, 1))])
    assert counted(kept(graph, {"x": uniform(2, 3)}, {}).main)["Dropout"] == 1


@pytest.mark.parametrize("shape", [(0, 3), (3, 0, 2), ()])
def test_arrays_without_elements_or_dimensions(shape: tuple[int, ...]) -> None:
    y = apply("relu", apply("_npx_reshape", apply("expand_dims", var("x"), axis=0), newshape=shape))
    kept(Graph([y]), {"x": uniform(*shape)}, {})


FORMS: dict[str, tuple[Any, set[str]]] = {
    "reshape_like": (lambda x, y: apply("reshape_like", x, apply("Flatten", y)), {"Reshape"}),
    "its gradient": (lambda x, y: apply("_backward_reshape_like", x, apply("Flatten", y)), {"Reshape"}),
    "slice_like": (lambda x, y: apply("slice_like", x, apply("slice_axis", y, axis=1, begin=1, end=3)), {"slice"}),
    "ends from a shape": (lambda x, y: apply("_onnx_Slice", x, apply("_onnx_Constant", value=np.array([1])),
                                             apply("slice_axis", apply("shape_array", y), axis=0, begin=0, end=1)), {"slice"}),
    "broadcast_like": (lambda x, y: apply("broadcast_like", apply("max", x, axis=1, keepdims=True), y), {"max", "broadcast_to"}),
    "of lower rank": (lambda x, y: apply("_backward_broadcast_like", apply("max", x, axis=0), y),
                      {"max", "Reshape", "broadcast_to"}),
    "cast_like": (lambda x, y: apply("_backward_cast_like", x, apply("Cast", y, dtype="int32")), {"Cast"}),
    "nothing to cast": (lambda x, y: apply("_backward_cast_like", x, y), set()),
    "nothing to sum": (lambda x, y: apply("_backward_sum_like", x, y), set()),
    "restored": (lambda x, y: apply("_backward_restore", apply("max", x, axis=1), y, axis=1), {"max", "Reshape"}),
    "a count": (lambda x, y: apply("_backward_over_count", x, y, axis=1), {"_fused_chain"}),
    "zeros_like": (lambda x, y: apply("zeros_like", x), set()),
    "arange_like": (lambda x, y: apply("_contrib_arange_like", x, axis=1), set()),
    "shape_array": (lambda x, y: apply("shape_array", x), set()),
    "index_array": (lambda x, y: apply("_contrib_index_array", x), set()),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_what_lends_its_form_only_is_not_asked(name: str) -> None:
    make, left = FORMS[name]
    found = kept(Graph([make(var("x"), var("y"))]), {"x": uniform(2, 3, 4), "y": uniform(2, 3, 4)}, {})
    assert set(counted(found.main)) == left
    assert "y" not in {n.name for n in found.main.variables()}


# -- values, duplicates, hoisting --------------------------------------------------------------------------------------------


def test_what_follows_from_shapes_is_constant() -> None:
    y = apply("shape_array", apply("relu", var("x")))
    found = kept(Graph([y]), {"x": uniform(2, 3)}, {}, without=["resolve_like_ops"])
    assert not found.main.nodes[0].op
    assert counted(found.constant) == {"_onnx_Constant": 1}


def test_zeros_whose_shape_readers_decide_are_constant() -> None:
    zeros = apply("_zeros", shape=(0, 4), dtype="int32")
    found = kept(
        Graph([apply("_backward_clip", var("x"), zeros, a_min=0, a_max=1)]), {"x": np.ones((3, 4), np.int32)}, {}
    )
    assert counted(found.main) == {"_backward_clip": 1}
    assert found.constant.outputs[0].node.op.shape == (3, 4)


@pytest.mark.parametrize(
    ("attrs", "count"),
    [({"start": 3}, 5), ({"start": 2, "step": 0.1}, 7), ({"start": 4, "step": -1, "repeat": 2}, 6), ({"start": 0}, 1)],
)
def test_ranges_whose_length_readers_decide_are_constant(attrs: dict[str, Any], count: int) -> None:
    """That they are read by zeros, which go away, does not leave them without a length."""
    x = var("x")
    counted_up = apply("_arange", infer_range=True, **attrs)
    y = apply("broadcast_mul", apply("elemwise_add", counted_up, apply("zeros_like", x)), x)
    found = kept(Graph([y]), {"x": uniform(count)}, {})
    assert found.constant is not None
    (made,) = (n.op for n in found.constant.nodes if n.op is not None and n.op.name == "_arange")
    assert made.infer_shape() == (count,)


def test_equal_nodes_become_one() -> None:
    x = var("x")
    one, other = (apply("softmax", apply("_plus_scalar", x, scalar=2.0)) for _ in range(2))
    third = apply("softmax", apply("_plus_scalar", x, scalar=3.0))
    graph = Graph([apply("Concat", one, other, third, num_args=3), other])
    assert counted(kept(graph, {"x": uniform(2, 3)}, {}).main)["softmax"] == 2


def test_random_nodes_are_never_one() -> None:
    x = var("x")
    graph = Graph([apply("Concat", *(apply("_sample_normal", x, x) for _ in range(2)), num_args=2)])
    found = optimized(graph, {"x": uniform(2, 3)}, {})
    assert counted(found.main)["_sample_normal"] == 2
    # nor the same in every run
    assert optimized(graph, {}, {"x": uniform(2, 3)}).constant is None


@pytest.mark.parametrize("op", ["_sample_normal", "_random_uniform", "Dropout"])
def test_equal_nodes_that_draw_stay_two(op: str) -> None:
    """By the pass itself, whatever is checked around it."""
    inputs, attrs = {"_sample_normal": (2, {}), "_random_uniform": (0, {"shape": (2, 3)}), "Dropout": (1, {})}[op]
    x = var("x")
    graph = Graph([apply(op, *[x] * inputs, **attrs) for _ in range(2)])
    assert (
        PASSES["eliminate_common_subexpressions"](graph, rewriter_of(graph, {"x": uniform(2, 3)}, {}, training=True))
        is graph
    )


def test_equal_nodes_that_change_a_state_stay_two() -> None:
    """The second update goes on from the momentum that the first has left."""
    inputs = [var(n) for n in "wgm"]
    graph = Graph([apply("sgd_mom_update", *inputs, lr=0.5, momentum=0.5) for _ in range(2)])
    feeds = {"w": f32([1, 2]), "g": f32([1, 3]), "m": f32([0, 0])}
    one, two = run(optimized(graph, feeds, {}), feeds, {})
    np.testing.assert_array_equal(one, [0.5, 0.5])
    np.testing.assert_array_equal(two, [0.25, -0.25])
    np.testing.assert_array_equal(feeds["m"], [-0.75, -2.25])


def test_loops_over_the_same_arrays_are_as_many_as_their_bodies() -> None:
    x, s = var("x"), var("s")
    graph = Graph([Entry(loop_of(op, x, s)) for op in ("elemwise_add", "elemwise_mul", "elemwise_add")])
    feeds = {"x": f32([[2, 3], [4, 5], [0.5, 2]]), "s": f32([1, 1])}
    sums, products, again = run(optimized(graph, feeds, {}), feeds, {})
    np.testing.assert_array_equal(sums, 1 + np.cumsum(feeds["x"], axis=0))
    np.testing.assert_array_equal(products, np.cumprod(feeds["x"], axis=0))
    np.testing.assert_array_equal(again, sums)


def loop_of(op: str, x: Entry, s: Entry) -> Node:
    """foreach over the rows of x with a state that begins as s: the operator's result, which is the next state too."""
    body = Graph([apply(op, var("s_in"), var("x_in"))] * 2)
    attrs = {"num_args": 3, "num_outputs": 2, "num_out_data": 1, "in_data_locs": (1,), "in_state_locs": (0,)}
    found = lookup("_foreach").bind(**attrs, remain_locs=())
    return Node(found, "each", [x, s], found.dump(), (body,))


@pytest.mark.parametrize("reader", ["ones_like", "shape_array", "reshape_like"])
def test_what_is_read_for_its_shape_alone_is_drawn_all_the_same(reader: str) -> None:
    """Numbers that are drawn after it would be others."""
    first, second = (apply("_random_uniform", shape=(2, 3)) for _ in range(2))
    alone = apply(reader, *([var("x")] if reader == "reshape_like" else []), first)
    graph, feeds = Graph([alone, second]), {"x": uniform(3, 2)} if reader == "reshape_like" else {}
    found = optimized(graph, feeds, {})
    assert counted(found.main)["_random_uniform"] == 2
    for got, want in zip(run(found, feeds, {}), plainly(graph, feeds, {}), strict=True):
        np.testing.assert_array_equal(got, want)


def test_what_follows_from_constants_is_taken_out() -> None:
    x, w = var("x"), var("w")
    parts = Node(lookup("SliceChannel").bind(num_outputs=2), "parts", [apply("exp", w)])
    y = apply("broadcast_add", apply("dot", x, Entry(parts, 1)), Entry(parts, 0))
    graph = Graph([y, apply("square", w), w, Entry(parts, 1)])
    found = kept(
        graph, {"x": uniform(1, 3)}, {"w": uniform(3, 6)}, without=["canonicalize_dense", "fuse_dense_epilogue"]
    )
    assert counted(found.main) == {"dot": 1, "_fused_chain": 1}
    assert counted(found.constant) == {"exp": 1, "SliceChannel": 1, "square": 1}
    assert found.fixed == {"w"}
    assert len(found.feeds) == len(found.constant.outputs) == 3
    assert (
        counted(kept(graph, {"x": uniform(1, 3)}, {"w": uniform(3, 6)}, without=["hoist_constants"]).main)["exp"] == 1
    )


def test_variables_that_are_made_have_names_of_their_own() -> None:
    """A parameter may be called as a node's output is."""
    doubled = Node(lookup("_mul_scalar").bind(scalar=2), "double", [var("w")])
    y = apply("elemwise_add", apply("elemwise_add", var("x"), var("double_output")), Entry(doubled))
    found = kept(Graph([y]), {"x": uniform(3)}, {"w": uniform(3), "double_output": uniform(3)})
    names = [n.name for n in found.main.variables()]
    assert len(set(names)) == len(names) == 3


# -- normalization -----------------------------------------------------------------------------------------------------------

PRODUCTS: dict[str, tuple[tuple[int, ...], tuple[int, ...], int, dict[str, Any]]] = {
    "Convolution": ((2, 3, 6, 5), (20, 3, 3, 3), 20, {"kernel": (3, 3), "num_filter": 20}),
    "grouped": ((2, 4, 6, 5), (6, 2, 3, 3), 6, {"kernel": (3, 3), "num_filter": 6, "num_group": 2}),
    "row": ((2, 3, 9), (5, 3, 3), 5, {"kernel": (3,), "num_filter": 5, "stride": (2,), "pad": (1,)}),
    "volume": ((1, 3, 4, 5, 4), (5, 3, 2, 2, 2), 5, {"kernel": (2, 2, 2), "num_filter": 5}),
    "Deconvolution": ((2, 4, 3, 3), (4, 3, 2, 2), 6, {"kernel": (2, 2), "num_filter": 6, "num_group": 2}),
    "FullyConnected": ((2, 3, 4), (5, 12), 5, {"num_hidden": 5}),
}


def product(kind: str, bias: bool, data: str = "x") -> tuple[Entry, dict[str, np.ndarray], dict[str, np.ndarray], int]:
    """(the product, feeds, params, channels)."""
    shape, weight, channels, attrs = PRODUCTS[kind]
    op = kind if kind[0].isupper() else "Convolution"
    params = {"w": uniform(*weight), **({"b": uniform(channels)} if bias else {})}
    return apply(op, var(data), *map(var, params), **attrs, no_bias=not bias), {data: uniform(*shape)}, params, channels


@pytest.mark.parametrize("fix_gamma", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kind", PRODUCTS)
def test_normalization_goes_into_the_product(kind: str, bias: bool, fix_gamma: bool) -> None:
    y, feeds, params, channels = product(kind, bias)
    y = apply("BatchNorm", y, *map(var, NORMS), fix_gamma=fix_gamma, eps=1e-3)
    found = kept(Graph([y]), feeds, {**params, **norm_parameters(channels)})
    left = counted(found.main)
    assert left["BatchNorm"] == left["_fused_chain"] == 0
    assert counted(found.constant)["_fused_folded"] == 1


@pytest.mark.parametrize("axis", [1, 2, -1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normalization_without_a_product_is_a_chain(axis: int, dtype: str) -> None:
    y = apply("BatchNorm", var("x"), *map(var, NORMS), fix_gamma=False, axis=axis)
    x, params = uniform(2, 3, 4, 5), norm_parameters((2, 3, 4, 5)[axis])
    feeds, params = {"x": x.astype(dtype)}, {k: v.astype(dtype) for k, v in params.items()}
    found = kept(Graph([y]), feeds, params)
    assert counted(found.main) == {"_fused_chain": 1}


def test_normalization_with_relu() -> None:
    y = apply("_contrib_BatchNormWithReLU", var("x"), *map(var, NORMS), fix_gamma=False)
    found = kept(Graph([y]), {"x": uniform(2, 20, 4)}, norm_parameters(20))
    assert counted(found.main) == {"_fused_chain": 1}
    y, feeds, params, channels = product("Convolution", True)
    y = apply("_contrib_BatchNormWithReLU", y, *map(var, NORMS), fix_gamma=False)
    found = kept(Graph([y]), feeds, {**params, **norm_parameters(channels)})
    assert counted(found.main) == {"_fused_conv": 1, "_fused_unpack": 1}


def test_a_product_that_others_read_keeps_its_weight() -> None:
    y, feeds, params, channels = product("Convolution", False)
    graph = Graph([apply("BatchNorm", y, *map(var, NORMS)), apply("tanh", y)])
    found = kept(graph, feeds, {**params, **norm_parameters(channels)})
    assert counted(found.constant)["_fused_folded"] == 0
    assert counted(found.main)["_fused_chain"] == 2


def test_normalization_over_another_axis_stays_out_of_the_product() -> None:
    y, feeds, params, _ = product("Convolution", False)
    found = kept(Graph([apply("BatchNorm", y, *map(var, NORMS), axis=2)]), feeds, {**params, **norm_parameters(4)})
    assert counted(found.constant)["_fused_folded"] == 0


def test_normalization_by_the_batch_stays() -> None:
    y, feeds, params, channels = product("Convolution", False)
    params |= norm_parameters(channels)
    graph = Graph([apply("BatchNorm", y, *map(var, NORMS))])
    assert counted(kept(graph, feeds, params, training=True).main)["BatchNorm"] == 1
    graph = Graph([apply("BatchNorm", y, *map(var, NORMS), use_global_stats=True)])
    assert counted(kept(graph, feeds, params, training=True).main)["BatchNorm"] == 0


def test_statistics_that_are_read_keep_normalization() -> None:
    y, feeds, params, channels = product("Convolution", False)
    node = Node(lookup("BatchNorm").bind(output_mean_var=True), "bn", [y, *map(var, NORMS)])
    graph = Graph([Entry(node), Entry(node, 2)])
    left = counted(kept(graph, feeds, {**params, **norm_parameters(channels)}).main)
    assert left["BatchNorm"] == sum(n for op, n in left.items() if "conv" in op.lower()) == 1


def test_parameters_that_are_no_constants_keep_normalization() -> None:
    y, feeds, params, channels = product("Convolution", False)
    graph = Graph([apply("BatchNorm", y, *map(var, NORMS))])
    assert counted(kept(graph, {**feeds, **params, **norm_parameters(channels)}, {}).main)["BatchNorm"] == 1


@pytest.mark.parametrize("op", ["broadcast_mul", "broadcast_add", "broadcast_sub"])
@pytest.mark.parametrize("kind", ["Convolution", "Deconvolution", "FullyConnected"])
@pytest.mark.parametrize("bias", [False, True])
def test_constants_of_channels_go_into_the_product(op: str, kind: str, bias: bool) -> None:
    y, feeds, params, channels = product(kind, bias)
    shape = (channels,) if kind == "FullyConnected" else (channels, 1, 1)
    found = kept(Graph([apply(op, y, var("c"))]), feeds, {**params, "c": uniform(*shape)})
    assert counted(found.main)["_fused_chain"] == 0
    found = kept(Graph([apply(op, var("c"), y)]), feeds, {**params, "c": uniform(*shape)})
    assert counted(found.main)["_fused_chain"] == (op == "broadcast_sub")


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kind", PRODUCTS)
def test_numbers_go_into_the_product(kind: str, bias: bool) -> None:
    y, feeds, params, _ = product(kind, bias)
    y = apply("_div_scalar", apply("_mul_scalar", y, scalar=0.3), scalar=7.0)
    assert counted(kept(Graph([y]), feeds, params).main)["_fused_chain"] == 0
    y = apply("_rdiv_scalar", product(kind, bias)[0], scalar=7.0)
    left = counted(kept(Graph([y]), feeds, params).main)
    assert left["_fused_chain"] == 1


LAYER_NORMS: dict[str, Any] = {
    "torch": lambda x, d, v, g, b: apply("broadcast_add", apply("broadcast_mul", apply(
        "broadcast_div", d, apply("sqrt", v)), g), b),
    "other way round": lambda x, d, v, g, b: apply("broadcast_add", b, apply("broadcast_mul", g, apply(
        "broadcast_mul", apply("rsqrt", v), d))),
    "keras": lambda x, d, v, g, b: _keras(x, d, v, g, b),
    "tensorflow": lambda x, d, v, g, b: _keras(x, d, v, g, b, "tensorflow"),
}  # fmt: skip


def _keras(x: Entry, d: Entry, v: Entry, g: Entry, b: Entry, kind: str = "keras") -> Entry:
    mean = d.node.inputs[1]
    factor = apply("broadcast_mul", apply("reciprocal", apply("sqrt", v)), g)
    scaled = apply("broadcast_mul", x, factor)
    if kind == "tensorflow":
        return apply("broadcast_add", scaled, apply("broadcast_sub", b, apply("broadcast_mul", mean, factor)))
    shift = apply("broadcast_add", apply("broadcast_mul", apply("negative", mean), factor), b)
    return apply("broadcast_add", scaled, shift)


SQUARES: dict[str, Any] = {
    "square": lambda d: apply("square", d),
    "product": lambda d: apply("broadcast_mul", d, d),
    "power": lambda d: apply("_power_scalar", d, scalar=2.0),
}


@pytest.mark.parametrize("square", SQUARES)
@pytest.mark.parametrize("form", LAYER_NORMS)
@pytest.mark.parametrize("axis", [-1, 2, 1])
def test_layer_norm_is_found_in_its_formula(form: str, square: str, axis: int) -> None:
    x = var("x")
    centered = apply("broadcast_sub", x, apply("mean", x, axis=axis, keepdims=True))
    variance = apply("mean", SQUARES[square](centered), axis=axis, keepdims=True)
    y = LAYER_NORMS[form](x, centered, apply("_plus_scalar", variance, scalar=1e-3), var("g"), var("b"))
    found = kept(Graph([y]), {"x": uniform(2, 3, 4)}, {"g": uniform(4), "b": uniform(1, 1, 4)})
    assert (counted(found.main) == {"LayerNorm": 1}) == (axis != 1)


def test_what_only_looks_like_layer_norm_stays() -> None:
    x, z = var("x"), var("z")
    centered = apply("broadcast_sub", x, apply("mean", z, axis=-1, keepdims=True))
    variance = apply("mean", apply("square", centered), axis=-1, keepdims=True)
    y = LAYER_NORMS["torch"](x, centered, apply("_plus_scalar", variance, scalar=1e-3), var("g"), var("b"))
    found = kept(Graph([y]), {"x": uniform(2, 4), "z": uniform(2, 4)}, {"g": uniform(4), "b": uniform(4)})
    assert counted(found.main)["LayerNorm"] == 0


@pytest.mark.parametrize("form", LAYER_NORMS)
def test_means_over_all_axes_but_the_last_are_no_layer_norm(form: str) -> None:
    x, over = var("x"), {"axis": -1, "keepdims": True, "exclude": True}
    centered = apply("broadcast_sub", x, apply("mean", x, **over))
    variance = apply("_plus_scalar", apply("mean", apply("square", centered), **over), scalar=1e-3)
    graph = Graph([LAYER_NORMS[form](x, centered, variance, var("g"), var("b"))])
    found = kept(graph, {"x": uniform(2, 3, 4)}, {"g": uniform(4), "b": uniform(4)})
    assert counted(found.main)["LayerNorm"] == 0


SPREADS: dict[str, Any] = {
    "less eps": lambda v: apply("_minus_scalar", v, scalar=1e-3),
    "eps less it": lambda v: apply("_rminus_scalar", v, scalar=9.0),
    "times eps": lambda v: apply("_mul_scalar", v, scalar=1e-3),
    "over eps": lambda v: apply("_div_scalar", v, scalar=3.0),
    "eps over it": lambda v: apply("_rdiv_scalar", v, scalar=3.0),
    "eps at least": lambda v: apply("_maximum_scalar", v, scalar=0.4),
    "eps at most": lambda v: apply("_minimum_scalar", v, scalar=0.1),
    "to the power of eps": lambda v: apply("_power_scalar", v, scalar=0.5),
    "remainder": lambda v: apply("_mod_scalar", v, scalar=0.25),
    "without eps": lambda v: v,
    "an array of eps": lambda v: apply("broadcast_add", v, var("eps")),
    "twice": lambda v: apply("_plus_scalar", apply("_plus_scalar", v, scalar=1.0), scalar=1e-3),
}
NO_SQUARES: dict[str, Any] = {
    "cube": lambda d: apply("_power_scalar", d, scalar=3.0),
    "power of two": lambda d: apply("_rpower_scalar", d, scalar=2.0),
    "twice": lambda d: apply("_mul_scalar", d, scalar=2.0),
    "absolute": lambda d: apply("abs", d),
    "with another": lambda d: apply("broadcast_mul", d, d.node.inputs[0]),
}


@pytest.mark.parametrize("form", LAYER_NORMS)
def test_formulas_that_only_resemble_layer_norm_stay(form: str) -> None:
    """Each differs from it at one place."""
    x, params = var("x"), {"g": uniform(4), "b": uniform(4), "eps": uniform(4, low=0.1)}
    for over, square, spread in (
        *(("mean", SQUARES["square"], s) for s in SPREADS.values()),
        *(("mean", s, lambda v: apply("_plus_scalar", v, scalar=9.0)) for s in NO_SQUARES.values()),
        *((o, SQUARES["square"], lambda v: apply("_plus_scalar", v, scalar=1e-3)) for o in ("sum", "max")),
    ):
        centered = apply("broadcast_sub", x, apply("mean", x, axis=-1, keepdims=True))
        variance = apply(over, square(centered), axis=-1, keepdims=True)
        graph = Graph([LAYER_NORMS[form](x, centered, spread(variance), var("g"), var("b"))])
        names = {n.name for n in graph.variables()}
        found = kept(graph, {"x": uniform(2, 3, 4)}, {k: v for k, v in params.items() if k in names})
        assert counted(found.main)["LayerNorm"] == 0


def test_folding_is_exact_to_a_rounding() -> None:
    """Weights are multiplied in float64 and rounded once."""
    y, feeds, params, channels = product("Convolution", True)
    params |= norm_parameters(channels)
    found = optimized(Graph([apply("BatchNorm", y, *map(var, NORMS), fix_gamma=False, eps=1e-3)]), feeds, params)
    assert found.constant is not None
    weight, bias = plainly(found.constant, {}, params)
    w, b, gamma, beta, mean, variance = (params[n].astype(np.float64) for n in ("w", "b", *NORMS))
    scale = gamma / np.sqrt(variance + np.float64(np.float32(1e-3)))
    np.testing.assert_array_equal(weight, (w * scale[:, None, None, None]).astype(np.float32))
    np.testing.assert_array_equal(bias, (beta + (b - mean) * scale).astype(np.float32))


# -- products and what follows them -----------------------------------------------------------------------------------------

FINISHES: dict[str, tuple[Any, dict[str, Any]]] = {
    "relu": (lambda y: apply("relu", y), {"low": 0.0}),
    "Activation": (lambda y: apply("Activation", y, act_type="relu"), {"low": 0.0}),
    "clip": (lambda y: apply("clip", y, a_min=-0.25, a_max=0.5), {"low": -0.25, "high": 0.5}),
    "relu6": (lambda y: apply("_minimum_scalar", apply("relu", y), scalar=6.0), {"low": 0.0, "high": 6.0}),
    "leaky": (lambda y: apply("LeakyReLU", y, slope=0.1), {"slope": 0.1}),
    "leaky, clip": (lambda y: apply("clip", apply("LeakyReLU", y, slope=0.1), a_min=-1, a_max=1),
                    {"slope": 0.1, "low": -1.0, "high": 1.0}),
    "two limits": (lambda y: apply("clip", apply("clip", y, a_min=-1, a_max=0.5), a_min=-0.5, a_max=1),
                   {"low": -0.5, "high": 0.5}),
}  # fmt: skip


@pytest.mark.parametrize("finish", FINISHES)
@pytest.mark.parametrize("side", [None, 0, 1])
@pytest.mark.parametrize("kind", ["Convolution", "grouped", "row", "FullyConnected"])
def test_products_do_what_follows_them(kind: str, side: int | None, finish: str) -> None:
    y, feeds, params, _ = product(kind, True)
    if side is not None:
        (shape,) = (a.shape for a in plainly(Graph([y]), feeds, params))
        feeds["r"] = uniform(*shape)
        y = apply("elemwise_add", *((y, var("r")) if side else (var("r"), y)))
    after, wanted = FINISHES[finish]
    found = kept(Graph([after(y)]), feeds, params)
    (op,) = (n.op for n in found.main.nodes if n.op is not None and n.op.name in ("_fused_conv", "_fused_dense"))
    assert counted(found.main)["_fused_chain"] == 0
    assert op.residual == (side is not None)
    assert {k: v for k in ("slope", "low", "high") if (v := getattr(op, k)) is not None} == wanted


OUTSIDE = {
    "an addition after a function": lambda y: apply("elemwise_add", apply("relu", y), var("r")),
    "an addition that broadcasts": lambda y: apply("broadcast_add", y, var("s")),
    "itself": lambda y: apply("elemwise_add", y, y),
    "limits that exclude each other": lambda y: apply("clip", apply("clip", y, a_min=-1, a_max=0), a_min=1, a_max=2),
    "limits the wrong way round": lambda y: apply("clip", y, a_min=1, a_max=0),
    "leaky after a limit": lambda y: apply("LeakyReLU", apply("clip", y, a_min=-0.5, a_max=9), slope=0.1),
    "a second addition": lambda y: apply("elemwise_add", apply("elemwise_add", y, var("r")), var("r")),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_a_product_cannot_do_stays_outside(name: str) -> None:
    y, feeds, params, _ = product("Convolution", True)
    feeds |= {"r": uniform(2, 20, 4, 3), "s": uniform(2, 20, 1, 3)}
    found = kept(Graph([OUTSIDE[name](y)]), feeds, params)
    assert counted(found.main)["_fused_conv"] == 1
    assert counted(found.main)["_fused_chain"] + counted(found.main)["clip"] == 1


def test_of_two_products_that_are_added_one_takes_the_other() -> None:
    one, feeds, params, _ = product("Convolution", True)
    other = apply("Convolution", var("x"), var("w2"), kernel=(3, 3), num_filter=20, no_bias=True)
    y = apply("relu", apply("elemwise_add", one, other))
    found = kept(Graph([y]), feeds, {**params, "w2": uniform(20, 3, 3, 3)})
    assert counted(found.main) == {"_fused_conv": 2, "_fused_unpack": 1}


def test_a_product_that_is_an_output_stays_one() -> None:
    y, feeds, params, _ = product("Convolution", True)
    found = kept(Graph([apply("relu", y), y]), feeds, params)
    assert [n.op.low for n in found.main.nodes if n.op and n.op.name == "_fused_conv"] == [None]


@pytest.mark.parametrize("op", ["dot", "_npi_matmul"])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)])
def test_products_with_a_constant_matrix_are_dense(op: str, shape: tuple[int, ...]) -> None:
    y = apply("relu", apply("broadcast_add", apply(op, var("x"), var("w")), var("b")))
    found = kept(Graph([y]), {"x": uniform(*shape)}, {"w": uniform(4, 5), "b": uniform(5)})
    assert {k: v for k, v in counted(found.main).items() if k != "Reshape"} == {"_fused_dense": 1}
    graph = Graph([apply(op, var("x"), var("w"))])
    assert counted(kept(graph, {"x": uniform(*shape), "w": uniform(4, 5)}, {}).main) == {op: 1}


def test_products_read_what_was_transposed_for_them_as_it_lies() -> None:
    rows, wrong = {"transpose": 1, "batch_dot": 1}, []
    for op, axes, keys, dtype, wanted in (
        ("_npi_matmul", (0, 1, 3, 2), (2, 3, 7, 4), "float32", {"batch_dot": 1}),
        ("batch_dot", (0, 1, 3, 2), (2, 3, 7, 4), "float32", {"batch_dot": 1}),
        ("_npi_matmul", (0, 2, 3, 1), (2, 7, 3, 4), "float32", rows),
        ("_npi_matmul", (0, 2, 1, 3), (2, 4, 3, 7), "float32", {"transpose": 1, "_npi_matmul": 1}),
        ("_npi_matmul", (0, 1, 3, 2), (1, 3, 7, 4), "float32", {"transpose": 1, "_npi_matmul": 1}),
        ("_npi_matmul", (0, 1, 3, 2), (2, 3, 7, 4), "float64", {"transpose": 1, "_npi_matmul": 1}),
    ):
        feeds = {"q": uniform(2, 3, 5, 4).astype(dtype), "k": uniform(*keys).astype(dtype)}
        graph = Graph([apply(op, var("q"), apply("transpose", var("k"), axes=axes))])
        found = counted(kept(graph, feeds, {}).main)
        if found != wanted:
            wrong.append((op, axes, keys, dtype, found))
    assert not wrong


# -- chains -------------------------------------------------------------------------------------------------------------------


def chain_examples() -> list[Any]:
    """Examples of operators that a chain can do, of one shape."""
    return [
        pytest.param(e.op, e.arrays, id=f"{e.op.name}-{i}")
        for i, e in enumerate(examples())
        if e.arrays
        and opcodes_of(e.op, e.arrays[0].shape, [a.dtype for a in e.arrays]) is not None
        and len({a.shape for a in e.arrays}) == 1
    ]


SPECIAL = f32([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, -0.5, 1e-8, 88, -88, 1e30, -1e30])
CHAINED = [
    *map(np.dtype, ("float32", "float64", "float16", "int8", "uint8", "int32", "int64", "bool")),
    dtype_of("bfloat16"),
]


@pytest.mark.parametrize(("op", "arrays"), chain_examples())
def test_opcodes_mean_what_the_operator_does(op: Any, arrays: tuple[np.ndarray, ...]) -> None:
    """In every dtype that the operator takes, with numbers of all kinds; of whole numbers and truth bit by bit."""
    wild = list(np.array(list(itertools.product(SPECIAL, repeat=len(arrays)))).T) if len(arrays) <= 3 else arrays
    whole = np.array([0, 1, 2, 3, 7, 100, 127, 128, 255, -1, -2, -128, 2**31 - 1, -(2**31)])
    few = list(np.array(list(itertools.product(whole, repeat=len(arrays)))).T) if len(arrays) <= 3 else arrays
    first = arrays[0].dtype
    failures = []
    for dtype in CHAINED:
        # an input that is an integer beside floats is a condition, or the like
        kept = [d if (d := a.dtype) != first and first.kind in "iub" else dtype for a in arrays]
        kinds: list[Any] = [wild if dtype.kind not in "iu" else few]
        kinds += [arrays] if dtype.kind not in "iub" else []
        for chosen in kinds:
            with np.errstate(all="ignore"):
                inputs = [np.asarray(a).astype(d) for a, d in zip(chosen, kept)]
            opcodes = opcodes_of(op, inputs[0].shape, [a.dtype for a in inputs])
            if opcodes is None:
                assert dtype != np.float32 or first != np.float32
                continue
            chain: Any = FusedElementwise.bind(num_args=len(inputs), code=" ".join(opcodes))
            got, want = ignoring_fp_warnings(
                lambda chain=chain, inputs=inputs: (chain.compute(*inputs), np.asarray(op.compute(*inputs)))
            )
            assert got.dtype == want.dtype == op.infer_type(*(a.dtype for a in inputs))
            try:
                if got.dtype.kind in "iub":
                    np.testing.assert_array_equal(got, want)
                else:
                    half = got.dtype.itemsize == 2
                    got, want = got.astype(np.float64), want.astype(np.float64)
                    np.testing.assert_allclose(got, want, rtol=1e-7 if half else 1e-6, atol=0 if half else 1e-30)
            except AssertionError as error:
                failures.append(f"{dtype}: {error}")
    assert not failures, "\n".join(failures)


def chain_of(entry: Entry, *without: str, **shapes: tuple[int, ...]) -> list[str]:
    """The code of all chains that the graph becomes, after all passes but those named."""
    found = kept(Graph([entry]), {k: uniform(*s, low=0.2) for k, s in shapes.items()}, {}, without=without)
    return [n.op.code for n in found.main.nodes if n.op is not None and n.op.name == "_fused_chain"]


def test_what_follows_one_another_is_one_chain() -> None:
    y = apply("relu", apply("_rdiv_scalar", apply("broadcast_mul", apply("exp", var("x")), var("s")), scalar=2.0))
    assert chain_of(y, x=(3, 4), s=(4,)) == ["2.0 $0 exp $1 mul div relu"]


def test_what_is_smaller_is_computed_before() -> None:
    y = apply("broadcast_mul", var("x"), apply("exp", var("s")))
    assert sorted(chain_of(y, x=(3, 4), s=(4,))) == ["$0 $1 mul", "$0 exp"]


@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_a_chain_has_an_operand(shape: tuple[int, ...]) -> None:
    x = var("x")
    y = apply("elemwise_add", apply("ones_like", x), apply("zeros_like", x))
    assert chain_of(y, "resolve_like_ops", x=shape) == ["1.0 $0 add"]


def test_what_one_chain_reads_twice_is_part_of_it() -> None:
    x = apply("_plus_scalar", var("x"), scalar=1.0)
    y = apply("elemwise_mul", x, apply("sigmoid", x))
    assert chain_of(y, x=(3, 4)) == ["$0 1.0 add $0 1.0 add sigmoid mul"]


def test_what_others_read_is_a_chain_of_its_own() -> None:
    x = apply("_plus_scalar", var("x"), scalar=1.0)
    y = apply("Concat", apply("exp", x), apply("softmax", x), num_args=2)
    assert chain_of(y, x=(3, 4)) == ["$0 1.0 add", "$0 exp"]


def test_chains_end_at_the_limits() -> None:
    y = var("a")
    for name in "bcdefghijkl":
        y = apply("elemwise_add", y, var(name))
    codes = chain_of(y, **dict.fromkeys("abcdefghijkl", (2, 3)))
    assert len(codes) == 3
    assert max(code.count("$") for code in codes) <= 6
    y = var("x")
    for _ in range(70):
        y = apply("sigmoid", y)
    assert len(chain_of(y, x=(2, 3))) == 2


def test_slopes_of_channels_broadcast() -> None:
    y = apply("LeakyReLU", apply("exp", var("x")), var("g"), act_type="prelu")
    found = kept(Graph([y]), {"x": uniform(2, 3, 4)}, {"g": uniform(3)})
    assert counted(found.main) == {"_fused_chain": 1}


def test_what_only_spreads_is_not_made() -> None:
    x = var("x")
    y = apply("elemwise_sub", apply("ones_like", x), apply("broadcast_axis", var("s"), axis=1, size=4))
    assert chain_of(apply("elemwise_mul", y, x), x=(3, 4), s=(3, 1)) == ["1.0 $0 sub $1 mul"]
    # unless nothing else has the shape
    assert chain_of(y, x=(3, 4), s=(3, 1)) in (["1.0 $0 sub"], ["$0 $1 sub"])
    y = apply("broadcast_mul", apply("broadcast_to", var("s"), shape=(3, 4)), apply("zeros_like", var("t")))
    assert chain_of(y, s=(3, 1), t=(1, 4)) == ["$0 $1 mul"]


@pytest.mark.parametrize("shape", [(3,), (3, 3), (3, 2, 4)])
def test_conditions_may_choose_rows(shape: tuple[int, ...]) -> None:
    graph = Graph([apply("where", var("c"), var("x"), var("y"))])
    feeds = {"c": f32([1, 0, 1]), "x": uniform(*shape), "y": uniform(*shape)}
    assert counted(kept(graph, feeds, {}).main)["_fused_chain"] == 1


@pytest.mark.parametrize("dtype", ["float64", "int32", "uint8"])
def test_chains_are_of_any_dtype(dtype: str) -> None:
    graph = Graph([apply("elemwise_add", apply("relu", var("x")), var("x"))])
    assert counted(kept(graph, {"x": np.arange(6).astype(dtype)}, {}).main) == {"_fused_chain": 1}


def test_dtypes_change_within_a_chain() -> None:
    """Casts, comparisons that give truth, and conditions are part of it; a cast alone is none."""
    x, y = var("x"), var("y")
    above = apply("_npi_greater", apply("Cast", x, dtype="float32"), y)
    feeds = {"x": np.arange(6), "y": uniform(6)}
    found = kept(Graph([apply("_npi_where", above, y, apply("negative", y))]), feeds, {})
    assert [n.op.code for n in found.main.nodes if n.means(FusedElementwise)] == [
        "$0 float32 $1 gt bool float32 $1 $1 negative where"
    ]
    assert counted(kept(Graph([apply("Cast", x, dtype="float32")]), feeds, {}).main) == {"Cast": 1}
    y = apply("_plus_scalar", apply("Cast", x, dtype="int32"), scalar=7.0)
    assert chain_of(apply("Cast", y, dtype="uint8"), x=(3, 4)) == ["$0 int32 7 add uint8"]


# -- layout -------------------------------------------------------------------------------------------------------------------


def conv(x: Entry, name: str, filters: int, kernel: int = 3) -> Entry:
    return apply(
        "Convolution", x, var(name), kernel=(kernel, kernel), pad=(kernel // 2,) * 2, num_filter=filters, no_bias=True
    )


def test_blocks_stay_between_convolutions() -> None:
    """Through normalization, functions that convolutions cannot do, sums, scales of channels, pooling and concatenation."""
    x = conv(var("x"), "w1", 32)
    gate = conv(apply("tanh", apply("Pooling", x, global_pool=True, pool_type="avg")), "w2", 32, 1)
    y = apply("broadcast_mul", apply("sigmoid", x), apply("sigmoid", gate))
    y = apply("BatchNorm", apply("elemwise_add", y, x), *map(var, NORMS), fix_gamma=False)
    y = apply("Concat", apply("Pooling", y, kernel=(2, 2), stride=(2, 2)), apply("Pooling", x, kernel=(2, 2), stride=(2, 2)),
              num_args=2)  # fmt: skip
    y = apply("FullyConnected", apply("mean", conv(y, "w3", 16), axis=(2, 3)), var("v"), num_hidden=3, no_bias=True)
    params = {"w1": uniform(32, 3, 3, 3), "w2": uniform(32, 32, 1, 1), "w3": uniform(16, 64, 3, 3), "v": uniform(3, 16)}
    found = kept(Graph([y]), {"x": uniform(2, 3, 8, 8)}, {**params, **norm_parameters(32)})
    left = counted(found.main)
    assert left["_fused_pack"] == left["_fused_unpack"] == left["Pooling"] == left["Concat"] == 0
    assert left["_fused_conv"] == 3
    assert left["_fused_concat"] == 1


def test_rows_stay_in_blocks_too() -> None:
    def row(x: Entry, name: str) -> Entry:
        return apply("Convolution", x, var(name), kernel=(3,), pad=(1,), num_filter=20, no_bias=True)

    x = row(var("x"), "w1")
    y = apply("LeakyReLU", apply("elemwise_add", apply("tanh", x), x), var("g"), act_type="prelu")
    y = apply("Pooling", row(y, "w2"), kernel=(3,), stride=(2,), pad=(1,), pool_type="avg")
    y = apply("Pooling", row(y, "w3"), global_pool=True)
    params = {"w1": uniform(20, 5, 3), "w2": uniform(20, 20, 3), "w3": uniform(20, 20, 3), "g": uniform(20)}
    found = kept(Graph([y]), {"x": uniform(2, 5, 9)}, params)
    left = counted(found.main)
    assert left["_fused_pack"] == left["_fused_unpack"] == 1
    assert left["_fused_pool"] == 2


def test_channels_that_do_not_fill_their_blocks_are_joined_plainly() -> None:
    x = var("x")
    y = conv(apply("Concat", conv(x, "w1", 20), conv(x, "w2", 32), num_args=2), "w3", 16)
    params = {"w1": uniform(20, 8, 3, 3), "w2": uniform(32, 8, 3, 3), "w3": uniform(16, 52, 3, 3)}
    left = counted(kept(Graph([y]), {"x": uniform(1, 8, 6, 6)}, params).main)
    assert left["Concat"] == 1
    y = conv(apply("Concat", conv(x, "w2", 32), conv(x, "w1", 20), num_args=2), "w3", 16)
    left = counted(kept(Graph([y]), {"x": uniform(1, 8, 6, 6)}, params).main)
    assert left["Concat"] == 0
    assert left["_fused_pack"] == left["_fused_unpack"] == 1


def test_nothing_is_packed_for_a_chain_alone() -> None:
    left = counted(kept(Graph([apply("tanh", apply("exp", var("x")))]), {"x": uniform(1, 32, 6, 6)}, {}).main)
    assert left == {"_fused_chain": 1}
    y = apply("elemwise_mul", var("r"), apply("tanh", conv(var("x"), "w", 32)))
    feeds = {"x": uniform(1, 3, 6, 6), "r": uniform(1, 32, 6, 6)}
    assert counted(kept(Graph([y]), feeds, {"w": uniform(32, 3, 3, 3)}).main)["_fused_pack"] == 0


def test_one_channel_is_not_treated_as_sixteen() -> None:
    found = kept(
        Graph([apply("sigmoid", conv(var("x"), "w", 1))]), {"x": uniform(1, 3, 6, 6)}, {"w": uniform(1, 3, 3, 3)}
    )
    assert [
        len(found.inference.spec(Entry(n)).shape) for n in found.main.nodes if isinstance(n.op, FusedElementwise)
    ] == [4]


def test_a_dense_layer_reads_pooled_blocks_as_they_are() -> None:
    pooled = apply("Pooling", conv(var("x"), "w", 32), global_pool=True, pool_type="avg")
    y = apply("FullyConnected", apply("Flatten", pooled), var("v"), num_hidden=4, no_bias=True)
    found = kept(Graph([y]), {"x": uniform(2, 3, 6, 6)}, {"w": uniform(32, 3, 3, 3), "v": uniform(4, 32)})
    assert {k: v for k, v in counted(found.main).items() if k not in ("Reshape", "Flatten")} == {
        "_fused_conv": 1,
        "_fused_pool": 1,
        "_fused_dense": 1,
    }


@pytest.mark.parametrize("batch", [0, 1])
def test_a_batch_of_none(batch: int) -> None:
    y = apply("Pooling", apply("relu", conv(var("x"), "w", 32)), kernel=(2, 2))
    kept(Graph([y]), {"x": uniform(batch, 3, 6, 6)}, {"w": uniform(32, 3, 3, 3)})


# -- stages ------------------------------------------------------------------------------------------------------------------


def test_depthwise_and_scaled_data_are_part_of_the_convolution_behind_them() -> None:
    wide = apply(
        "Convolution",
        var("x"),
        var("v"),
        var("c"),
        kernel=(3, 3),
        stride=(2, 2),
        pad=(1, 1),
        num_filter=32,
        num_group=32,
    )
    y = conv(apply("clip", wide, a_min=0, a_max=6), "w1", 48, 1)
    joined = apply("Concat", y, conv(y, "w2", 16), num_args=2)
    norm = apply("relu", apply("BatchNorm", joined, *map(var, (f"{n}2" for n in NORMS)), fix_gamma=False))
    z = conv(norm, "w3", 20, 1)
    params = {"v": uniform(32, 1, 3, 3), "c": uniform(32), "w1": uniform(48, 32, 1, 1), "w2": uniform(16, 48, 3, 3),
              "w3": uniform(20, 64, 1, 1), **{f"{k}2": v for k, v in norm_parameters(64).items()}}  # fmt: skip
    left = counted(kept(Graph([z]), {"x": uniform(2, 32, 9, 9)}, params).main)
    assert left == {"_fused_pack": 1, "_fused_separable": 2, "_fused_conv": 1, "_fused_concat": 1, "_fused_unpack": 1}


def test_stages_keep_what_is_done_between_them() -> None:
    """LeakyReLU, clip and nothing, after the first convolution and after the second."""
    x, attrs = uniform(2, 32, 7, 7), {"kernel": (3, 3), "pad": (1, 1), "num_filter": 32, "num_group": 32}
    params = {"v": uniform(32, 1, 3, 3), "c": uniform(32), "w": uniform(32, 32, 1, 1)}
    ends = (
        lambda y: apply("LeakyReLU", y, act_type="leaky", slope=0.3), lambda y: apply("clip", y, a_min=-0.2, a_max=0.4),
        lambda y: apply("relu", y), lambda y: y,
    )  # fmt: skip
    for first, second in itertools.product(ends, ends):
        graph = Graph([second(conv(first(apply("Convolution", var("x"), var("v"), var("c"), **attrs)), "w", 32, 1))])
        assert counted(kept(graph, {"x": x}, params).main)["_fused_separable"] == 1
        got, want = (Program(graph, params, native=native).run({"x": x})[0] for native in (True, False))
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_what_others_read_too_is_no_stage() -> None:
    wide = apply("Convolution", var("x"), var("v"), var("c"), kernel=(3, 3), pad=(1, 1), num_filter=32, num_group=32)
    params = {"v": uniform(32, 1, 3, 3), "c": uniform(32), "w": uniform(32, 32, 1, 1)}
    y = apply("elemwise_add", conv(wide, "w", 32, 1), wide)
    assert counted(kept(Graph([y]), {"x": uniform(1, 32, 6, 6)}, params).main)["_fused_separable"] == 0
    both = Graph([conv(wide, "w", 32, 1), wide])
    assert counted(kept(both, {"x": uniform(1, 32, 6, 6)}, params).main)["_fused_separable"] == 0


def test_a_second_stage_is_no_first_one() -> None:
    """Convolutions of one channel could be both."""
    y = conv(var("x"), "w0", 1)
    params = {"w0": uniform(1, 8, 3, 3)}
    for i in range(1, 5):
        y = apply("Convolution", y, var(f"w{i}"), var(f"b{i}"), kernel=(1, 1), num_filter=1)
        params |= {f"w{i}": uniform(1, 1, 1, 1), f"b{i}": uniform(1)}
    left = counted(kept(Graph([y]), {"x": uniform(1, 8, 5, 5)}, params).main)
    assert left["_fused_separable"] == 2
    assert left["_fused_conv"] == 1


# -- what may not be folded, side by side with what may ------------------------------------------------------------------------

SQUARE: dict[str, tuple[str, tuple[int, ...], tuple[int, ...], int, int, dict[str, Any]]] = {
    # operator, data, weight, channels, their axis, attributes; other axes of the result are as long as the channels
    "Convolution": ("Convolution", (4, 3, 6, 5), (4, 3, 3, 2), 4, 1, {"kernel": (3, 2), "num_filter": 4}),
    "grouped": ("Convolution", (4, 4, 5, 5), (4, 2, 2, 2), 4, 1, {"kernel": (2, 2), "num_filter": 4, "num_group": 2}),
    "depthwise": ("Convolution", (4, 4, 5, 5), (4, 1, 2, 2), 4, 1, {"kernel": (2, 2), "num_filter": 4, "num_group": 4}),
    "strided": ("Convolution", (4, 3, 7, 4), (4, 3, 1, 1), 4, 1, {"kernel": (1, 1), "num_filter": 4, "stride": (2, 1)}),
    "Convolution_v1": ("Convolution_v1", (4, 3, 6, 5), (4, 3, 3, 2), 4, 1, {"kernel": (3, 2), "num_filter": 4}),
    "Deconvolution": ("Deconvolution", (4, 2, 3, 3), (2, 4, 2, 2), 4, 1, {"kernel": (2, 2), "num_filter": 4}),
    "up in groups": ("Deconvolution", (4, 2, 3, 3), (2, 2, 2, 2), 4, 1,
                     {"kernel": (2, 2), "num_filter": 4, "num_group": 2}),
    "channels last": ("Convolution", (4, 6, 5, 3), (4, 3, 2, 3), 4, 3,
                      {"kernel": (3, 2), "num_filter": 4, "layout": "NHWC"}),
    "dense": ("FullyConnected", (4, 2, 3), (4, 6), 4, 1, {"num_hidden": 4}),
    "rows": ("FullyConnected", (4, 4, 4, 3), (4, 3), 4, 3, {"num_hidden": 4, "flatten": False}),
}  # fmt: skip


def square(kind: str, bias: bool) -> tuple[Entry, dict[str, np.ndarray], dict[str, np.ndarray], int, int]:
    """(the product, feeds, params, channels, their axis)."""
    op, shape, weight, channels, axis, attrs = SQUARE[kind]
    params = {"w": uniform(*weight), **({"b": uniform(channels)} if bias else {})}
    return (
        apply(op, var("x"), *map(var, params), **attrs, no_bias=not bias),
        {"x": uniform(*shape)},
        params,
        channels,
        axis,
    )


@pytest.mark.parametrize("kind", ["Convolution", "up in groups", "channels last", "dense", "rows"])
def test_constants_go_into_a_product_along_its_channels_alone(kind: str) -> None:
    """Every axis of the result is as long as the channels are many, so that a wrong axis shows in the numbers only."""
    for op, bias in (
        ("broadcast_mul", False),
        ("broadcast_mul", True),
        ("broadcast_add", False),
        ("broadcast_sub", True),
        ("broadcast_div", True),
    ):
        y, feeds, params, channels, axis = square(kind, bias)
        (result,) = plainly(Graph([y]), feeds, params)
        rank = result.ndim
        assert set(result.shape) == {channels}
        shapes = [tuple(channels if i == a else 1 for i in range(rank)) for a in range(rank)]
        shapes += [shapes[axis][axis:], (1,), result.shape]
        for number, shape in enumerate(shapes):
            c = uniform(*shape, low=0.5, high=2)
            for inputs in ((y, var("c")), (var("c"), y))[number % 2 :]:
                found = kept(Graph([apply(op, *inputs)]), feeds, {**params, "c": c})
                along = [i + rank - len(shape) for i, d in enumerate(shape) if d != 1] == [axis]
                first = inputs[0] is y
                taken = along and op != "broadcast_div" and (first or op != "broadcast_sub")
                left = counted(found.main)
                if shape != result.shape:  # then it is a residual
                    assert (left["_fused_chain"] == left[op] == 0) == taken, (bias, op, shape, first)


def test_a_product_takes_up_nothing_that_it_may_not() -> None:
    """Read twice, an output itself, a weight or constant that is fed, another dtype: all stay, and give the same numbers."""
    y, feeds, params, channels, _ = square("Convolution", True)
    c = uniform(channels, 1, 1, low=0.5, high=2)
    z = apply("broadcast_mul", y, var("c"))

    def made(outputs: list[Entry], given: tuple[str, ...] = (), **more: np.ndarray) -> bool:
        stored = {**params, "c": c, **more}
        fed = {n: stored.pop(n) for n in given}
        found = kept(Graph(outputs), {**feeds, **fed}, stored)
        return found.constant is not None and counted(found.constant)["_fused_scaled"] > 0

    assert made([z])
    assert made([apply("relu", z), apply("tanh", z)])  # what has been folded may be read as often as one likes
    for outputs in ([z, y], [z, apply("relu", y)], [apply("elemwise_add", z, y)]):
        assert not made(outputs)
    for name in ("c", "w", "b"):
        assert not made([z], (name,))
    norm = apply("BatchNorm", y, *map(var, NORMS), fix_gamma=False)
    for outputs, fed_names, folded in (
        ([norm], (), 1), ([norm, y], (), 0), ([norm], ("gamma",), 0), ([norm], ("var",), 0), ([norm], ("w",), 0),
        ([norm], ("b",), 0),
    ):  # fmt: skip
        stored = {**params, **norm_parameters(channels)}
        fed = {n: stored.pop(n) for n in fed_names}
        found = kept(Graph(outputs), {**feeds, **fed}, stored)
        assert (counted(found.constant)["_fused_folded"] if found.constant else 0) == folded, (len(outputs), fed_names)


@pytest.mark.parametrize("kind", SQUARE)
def test_normalization_goes_into_a_product_along_its_channels_alone(kind: str) -> None:
    for bias in (False, True):
        for fix in (False, True):
            y, feeds, params, channels, axis = square(kind, bias)
            rank = plainly(Graph([y]), feeds, params)[0].ndim
            for over in (*range(rank), -1):
                norm = apply("BatchNorm", y, *map(var, NORMS), fix_gamma=fix, axis=over, eps=0.01)
                found = kept(Graph([norm]), feeds, {**params, **norm_parameters(channels)})
                assert counted(found.constant)["_fused_folded"] == (over % rank == axis), (bias, over)


def test_numbers_go_into_a_product_unless_something_else_is_done_with_them() -> None:
    for kind in SQUARE:
        for bias in (kind in ("dense", "Convolution"), True)[: 1 + (kind == "rows")]:
            for op, folded in (
                ("_mul_scalar", True), ("_div_scalar", True), ("_rdiv_scalar", False), ("_plus_scalar", False),
                ("_rminus_scalar", False), ("_power_scalar", False),
            ):  # fmt: skip
                y, feeds, params, _, _ = square(kind, bias)
                found = kept(Graph([apply(op, y, scalar=-3.0)]), feeds, params)
                left = counted(found.main)
                assert (left["_fused_chain"] == left[op] == 0) == folded, (kind, bias, op)
    y, feeds, params, _, _ = square("dense", True)
    graph = Graph([apply("_mul_scalar", y, scalar=0.3), y])
    assert counted(kept(graph, feeds, params).main)["_fused_chain"] == 1


def test_orders_of_axes_follow_one_another() -> None:
    """All pairs over sizes that differ and over sizes of one: what is left gives the same, and is no more than one node."""
    orders = list(itertools.permutations(range(3)))
    for shape in ((2, 3, 4), (2, 1, 4), (1, 3, 1)):
        for first, second in itertools.product(orders, orders):
            y = apply("transpose", apply("transpose", var("x"), axes=first), axes=second)
            found = kept(Graph([y]), {"x": uniform(*shape)}, {})
            same = [first[a] for a in second] == [0, 1, 2]
            assert sum(counted(found.main).values()) == (0 if same else 1) or 1 in shape, (shape, first, second)
    for first, second in ((0, 1), (1, 2), (0, 2), (-1, 0)):
        y = apply("SwapAxis", apply("transpose", var("x")), dim1=first % 3, dim2=second)
        kept(Graph([y, apply("transpose", var("x"))]), {"x": uniform(2, 3, 4)}, {})


def test_what_only_looks_like_an_identity_stays() -> None:
    rows: dict[str, Any] = {
        "cast": lambda x: apply("Cast", x, dtype="float64"),
        "cast there and back": lambda x: apply("Cast", apply("Cast", x, dtype="int32"), dtype="float32"),
        "reverse of a square": lambda x: apply("transpose", x),
        "tile": lambda x: apply("tile", x, reps=(1, 2)),
        "repeat": lambda x: apply("repeat", x, repeats=2),
        "slice": lambda x: apply("slice_axis", x, axis=1, begin=1, end=None),
        "concat of two": lambda x: apply("Concat", x, x, num_args=2, dim=1),
        "sum of two": lambda x: apply("add_n", x, x, num_args=2),
        "reshape": lambda x: apply("Reshape", x, shape=(9, 1)),
        "swap": lambda x: apply("SwapAxis", x, dim1=0, dim2=1),
        "reverse": lambda x: apply("reverse", x, axis=(0,)),
        "roll": lambda x: apply("_np_roll", x, shift=1),
    }
    for name, make in rows.items():
        x = uniform(3, 3) * 4
        found = kept(Graph([make(var("x"))]), {"x": x}, {})
        assert sum(counted(found.main).values()) >= 1, name


def test_limits_meet_in_every_order() -> None:
    """Two limits, one after the other: the product does what NumPy does, also where they exclude each other."""
    y, feeds, params, _, _ = square("Convolution", True)
    cuts: list[Any] = [
        lambda e: apply("relu", e),
        *(lambda e, a=a, b=b: apply("clip", e, a_min=a, a_max=b) for a, b in ((-0.5, 0.2), (0.1, 0.3), (-2, -1), (1, 0))),
        *(lambda e, s=s: apply("_maximum_scalar", e, scalar=s) for s in (-0.3, 0.3, np.nan)),
        *(lambda e, s=s: apply("_minimum_scalar", e, scalar=s) for s in (-0.3, 0.3, np.nan)),
        lambda e: apply("LeakyReLU", e, slope=-0.5),
        lambda e: apply("LeakyReLU", e, slope=1.5),
    ]  # fmt: skip
    for first, second in itertools.product(cuts, cuts):
        kept(Graph([second(first(y))]), feeds, params)


def test_forms_that_are_lent_to_part_of_an_array() -> None:
    """Sizes that differ everywhere; the form comes from an array of another dtype."""
    x, y = var("x"), apply("Cast", var("y"), dtype="int32")
    given = {"x": uniform(4, 5, 6), "y": uniform(2, 3, 4)}
    for make in (
        lambda: apply("slice_like", x, y),
        lambda: apply("slice_like", x, y, axes=(1,)),
        lambda: apply("slice_like", x, y, axes=(0, -1)),
        lambda: apply("reshape_like", x, apply("Reshape", x, shape=(6, 20))),
        lambda: apply(
            "reshape_like", apply("Reshape", x, shape=(20, 6)), x, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=2
        ),
        lambda: apply("broadcast_like", apply("slice", x, begin=(0, 0, 0), end=(1, 5, 1)), x),
        lambda: apply(
            "broadcast_like", apply("slice", x, begin=(0, 0, 0), end=(1, 5, 6)), y, lhs_axes=(0,), rhs_axes=(2,)
        ),
        lambda: apply("_contrib_arange_like", x, axis=1, start=2, step=3),
        lambda: apply("_contrib_arange_like", x, start=2, step=3, repeat=2),
        lambda: apply("_npi_full_like", x, fill_value=2.5),
        lambda: apply("_npi_full_like", x, fill_value=2.5, dtype="int32"),
        lambda: apply("ones_like", y),
        lambda: apply("size_array", apply("slice_like", x, y)),
        lambda: apply("_contrib_index_array", x, axes=(2, 0)),
        lambda: apply("_backward_over_count", x, x, axis=(0, 2)),
        lambda: apply("_backward_sum_like", x, apply("slice", x, begin=(0, 0, 0), end=(1, 5, 1))),
    ):
        kept(Graph([make(), apply("relu", x)]), given, {})
