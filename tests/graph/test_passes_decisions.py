"""Decisions of passes: forms that resemble what they change stay, and give the same numbers; forms that mean the same do not."""

import itertools
from typing import Any

import numpy as np
import pytest

from hybrid.core.error import MXNetError
from hybrid.core.op import lookup
from hybrid.execution.program import Program
from hybrid.ir.differentiate import gradients
from hybrid.ir.graph import Entry, Graph
from hybrid.ops.fused import FusedElementwise
from hybrid.passes import PASSES, optimize
from tests.graph.optimizing import NATIVE, apply, counted, optimized, plainly, rewriter_of, var
from tests.graph.test_passes import NORMS, conv, f32, kept, norm_parameters, product, uniform

# -- layer normalization -----------------------------------------------------------------------------------------------------


def layer_norm(
    x: Entry, *, of: Any = None, by: Any = None, mean: str = "mean", eps: float = 1e-3, **over: Any
) -> tuple[Entry, Entry, Entry]:
    """(mean, x - mean, variance + eps); of: what stands for x - mean in the variance."""
    over = {"axis": -1, "keepdims": True, **over}
    sub, square = ("_npi_subtract", "_npi_square") if mean.startswith("_npi") else ("broadcast_sub", "square")
    middle = apply(mean, x if by is None else by, **over)
    centered = apply(sub, x, middle)
    variance = apply(mean, apply(square, centered if of is None else of), **over)
    plus = "_npi_add_scalar" if mean.startswith("_npi") else "_plus_scalar"
    return middle, centered, apply(plus, variance, scalar=eps)


def torch_form(
    d: Entry, v: Entry, g: Entry, b: Entry, multiply: str = "broadcast_mul", add: str = "broadcast_add"
) -> Entry:
    divide, root = ("_npi_true_divide", "_npi_sqrt") if multiply.startswith("_npi") else ("broadcast_div", "sqrt")
    return apply(add, apply(multiply, apply(divide, d, apply(root, v)), g), b)


def test_which_formulas_are_layer_norm() -> None:
    """A table of (parts, whether the operator is found): gamma and beta of all shapes, means over other axes, other centres."""
    x, z, g, b = map(var, "xzgb")

    def plain(**options: Any) -> Entry:
        _, centered, spread = layer_norm(x, **options)
        return torch_form(centered, spread, g, b)

    def affine(build: Any, source: Entry = x) -> Entry:
        """source * f + what build makes of (mean of x, f, another factor), f = gamma / sqrt(variance of x)."""
        middle, _, spread = layer_norm(x)
        factor = apply("broadcast_mul", apply("rsqrt", spread), g)
        other = apply("broadcast_mul", apply("rsqrt", spread), var("h"))
        return apply("broadcast_add", apply("broadcast_mul", source, factor), build(middle, factor, other))

    def minus(m: Entry, f: Entry) -> Entry:
        return apply("broadcast_mul", apply("negative", m), f)

    def mul(*both: Entry) -> Entry:
        return apply("broadcast_mul", *both)

    def add(*both: Entry) -> Entry:
        return apply("broadcast_add", *both)

    def sub(*both: Entry) -> Entry:
        return apply("broadcast_sub", *both)

    rms = apply("_plus_scalar", apply("mean", apply("square", x), axis=-1, keepdims=True), scalar=1e-3)
    other_mean = apply("mean", z, axis=-1, keepdims=True)
    _, np_centered, np_spread = layer_norm(x, mean="_npi_mean")
    rows: list[tuple[str, Entry, bool]] = [
        ("torch", plain(), True),
        ("the last axis by its number", plain(axis=2), True),
        ("numpy", torch_form(np_centered, np_spread, g, b, "_npi_multiply", "_npi_add"), True),
        ("two axes", plain(axis=(1, 2)), False),
        ("all axes", plain(axis=()), False),
        ("all axes but two", plain(axis=(0, 1), exclude=True), False),
        ("over its root of mean squares", torch_form(x, rms, g, b), False),
        ("another numerator", torch_form(sub(z, other_mean), layer_norm(x)[2], g, b), False),
        ("the square of another", plain(of=sub(z, other_mean)), False),
        ("the mean of another", plain(by=z), False),
        ("minus mean times factor", affine(lambda m, f, o: add(minus(m, f), b)), True),
        ("beta first", affine(lambda m, f, o: add(b, minus(m, f))), True),
        ("factor times minus mean", affine(lambda m, f, o: add(mul(f, apply("negative", m)), b)), True),
        ("beta less mean times factor", affine(lambda m, f, o: sub(b, mul(m, f))), True),
        ("beta less factor times mean", affine(lambda m, f, o: sub(b, mul(f, m))), True),
        ("mean times factor less beta", affine(lambda m, f, o: sub(mul(m, f), b)), False),
        ("plus mean times factor", affine(lambda m, f, o: add(mul(m, f), b)), False),
        ("beta less minus mean times factor", affine(lambda m, f, o: sub(b, minus(m, f))), False),
        ("another factor", affine(lambda m, f, o: add(minus(m, o), b)), False),
        ("another factor subtracted", affine(lambda m, f, o: sub(b, mul(m, o))), False),
        ("another mean", affine(lambda m, f, o: add(minus(other_mean, f), b)), False),
        ("another mean subtracted", affine(lambda m, f, o: sub(b, mul(other_mean, f))), False),
        ("of another, minus mean times factor", affine(lambda m, f, o: add(minus(m, f), b), z), False),
        ("of another, beta less mean times factor", affine(lambda m, f, o: sub(b, mul(m, f)), z), False),
        ("beta alone", affine(lambda m, f, o: b), False),
    ]  # fmt: skip
    feeds, params = {"x": uniform(2, 3, 4), "z": uniform(2, 3, 4)}, {"g": uniform(4), "h": uniform(4), "b": uniform(4)}
    wrong = []
    for name, y, found in rows:
        graph = Graph([y])
        names = {n.name for n in graph.variables()}
        fed, stored = ({k: v for k, v in given.items() if k in names} for given in (feeds, params))
        if (counted(kept(graph, fed, stored).main)["LayerNorm"] == 1) != found:
            wrong.append(name)
    assert not wrong


def test_which_gamma_and_beta_layer_norm_has() -> None:
    """One number for each place along the last axis: nothing that is spread along it, has others along other axes, or adds axes."""
    _, centered, spread = layer_norm(var("x"))
    graph = Graph([torch_form(centered, spread, var("g"), var("b"))])
    good, wrong = (
        [(3,), (1, 3), (1, 1, 3)],
        [(), (1,), (2, 1), (2, 3), (3, 1, 3), (1, 2, 1), (1, 1, 1, 3), (3, 1, 1, 3)],
    )
    for one, other in itertools.product([*good, *wrong], repeat=2):
        if one in good or other in good:
            found = kept(graph, {"x": uniform(3, 2, 3)}, {"g": uniform(*one), "b": uniform(*other)})
            assert (counted(found.main)["LayerNorm"] == 1) == (one in good and other in good), (one, other)
    for name in "gb":
        fed = {"x": uniform(3, 2, 3), name: uniform(3)}
        found = kept(graph, fed, {n: uniform(3) for n in "gb" if n not in fed})
        assert counted(found.main)["LayerNorm"] == 0
    # rows of one: nothing that is spread over them can be told from what is there for each place
    assert counted(kept(graph, {"x": uniform(3, 2, 1)}, {"g": uniform(), "b": uniform(1)}).main)["LayerNorm"] == 1


def test_means_that_lose_their_axis_are_no_layer_norm() -> None:
    """Of a square array they broadcast along the other axis."""
    _, centered, spread = layer_norm(var("x"), keepdims=False)
    found = kept(
        Graph([torch_form(centered, spread, var("g"), var("b"))]), {"x": uniform(4, 4)}, {n: uniform(4) for n in "gb"}
    )
    assert counted(found.main)["LayerNorm"] == 0


@pytest.mark.parametrize("dtype", ["int32", "float64", "float16"])
def test_layer_norm_of_other_dtypes_stays(dtype: str) -> None:
    """Integers too, whose means are of float32."""
    _, centered, spread = layer_norm(var("x"), mean="_npi_mean")
    graph = Graph([torch_form(centered, spread, var("g"), var("b"), "_npi_multiply", "_npi_add")])
    params = {n: uniform(3).astype("float32" if dtype == "int32" else dtype) for n in "gb"}
    feeds = {"x": (uniform(2, 3) * 9).astype(dtype)}
    assert counted(optimized(graph, feeds, params, ["widen_half"]).main)["LayerNorm"] == 0
    if dtype != "float16":
        kept(graph, feeds, params)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_layer_norm_has_gamma_and_beta_of_its_own_dtype(dtype: str) -> None:
    """Beside float32, NumPy's functions take halves, which they widen, and doubles, which widen them."""
    _, centered, spread = layer_norm(var("x"), mean="_npi_mean")
    graph = Graph([torch_form(centered, spread, var("g"), var("b"), "_npi_multiply", "_npi_add")])
    for other in itertools.product((dtype, "float32"), repeat=2):
        params = {n: uniform(3).astype(kind) for n, kind in zip("gb", other)}
        found = kept(graph, {"x": uniform(2, 3)}, params, without=["widen_half"])
        assert counted(found.main)["LayerNorm"] == (other == ("float32",) * 2), other


# -- constants in products ---------------------------------------------------------------------------------------------------

KINDS = ("int32", "float16", "float32", "float64")


@pytest.mark.parametrize("op", ["_npi_multiply", "_npi_add", "_npi_subtract"])
def test_products_take_up_constants_of_their_own_dtype_alone(op: str) -> None:
    """A product of float32 and float64 is of float64, whatever reads it; halves and whole numbers are not scaled."""
    for (one, other), bias in itertools.product(itertools.product(KINDS, KINDS), (False, True)):
        params = {"w": (uniform(5, 4) * 5).astype(one), **({"b": (uniform(5) * 5).astype(one)} if bias else {})}
        y = apply("FullyConnected", var("x"), *map(var, params), num_hidden=5, no_bias=not bias)
        y = apply(op, y, var("c"))
        feeds = {"x": (uniform(3, 4) * 5).astype(one)}
        params["c"] = (uniform(5) * 7).astype(other)
        for graph in (Graph([y]), Graph([apply("Cast", y, dtype="float64")])):
            made = optimized if "float16" in (one, other) else kept
            found = made(graph, feeds, params, without=["widen_half"])
            taken = counted(found.main)[op] + counted(found.main)["_fused_chain"] == 0
            assert taken == (one == other and one in ("float32", "float64")), (one, other, bias)


@pytest.mark.parametrize("op", ["_mul_scalar", "_div_scalar"])
def test_products_of_other_dtypes_take_up_no_numbers(op: str) -> None:
    """Two and a half times whole numbers is cut at the end, not in the weight."""
    for kind, bias in itertools.product(KINDS, (False, True)):
        params = {"w": (uniform(5, 4) * 5).astype(kind), **({"b": (uniform(5) * 5).astype(kind)} if bias else {})}
        y = apply("FullyConnected", var("x"), *map(var, params), num_hidden=5, no_bias=not bias)
        graph = Graph([apply(op, y, scalar=2.5)])
        feeds = {"x": (uniform(3, 4) * 5).astype(kind)}
        left = counted(optimized(graph, feeds, params, ["widen_half"]).main)
        assert (left[op] == left["_fused_chain"] == 0) == kind.startswith(("float32", "float64")), (kind, bias)
        if kind != "float16":
            kept(graph, feeds, params)


def test_which_normalization_stays() -> None:
    """Of half precision, with parameters of another dtype, of a size that values decide, of constants; and without kernels two
    operations are made of it."""
    norms = norm_parameters(3)
    half = {k: v.astype("float16") for k, v in norms.items()}
    plain = apply("BatchNorm", var("x"), *map(var, NORMS), fix_gamma=False)
    for dtype, stored in (("float16", norms), ("float16", half), ("float32", half)):
        left = counted(optimized(Graph([plain]), {"x": uniform(2, 3, 4).astype(dtype)}, stored, ["widen_half"]).main)
        assert left == {"BatchNorm": 1}, dtype
    kept(Graph([plain]), {"x": uniform(2, 3, 4)}, half)
    weight = {"w": uniform(3, 2, 2, 2).astype("float16")}
    product_ = apply("Convolution", var("x"), var("w"), kernel=(2, 2), num_filter=3, no_bias=True)
    graph = Graph([apply("BatchNorm", product_, *map(var, NORMS), fix_gamma=False)])
    found = optimized(graph, {"x": uniform(1, 2, 4, 3).astype("float16")}, {**weight, **norms}, ["widen_half"])
    assert counted(found.main) == {"Convolution": 1, "BatchNorm": 1}
    rows = apply("_contrib_boolean_mask", var("x"), var("m"))
    feeds = {"x": uniform(3, 3), "m": f32([1, 0, 1])}
    for y in (
        apply("BatchNorm", rows, *map(var, NORMS), fix_gamma=False),
        apply("BatchNorm", apply("FullyConnected", rows, var("v"), num_hidden=3, no_bias=True), *map(var, NORMS), fix_gamma=False),
    ):  # fmt: skip
        stored = {**norms, **({"v": uniform(3, 3)} if "v" in {n.name for n in Graph([y]).variables()} else {})}
        assert counted(kept(Graph([y]), feeds, stored).main)["BatchNorm"] == 1
    y = apply("broadcast_mul", apply("FullyConnected", rows, var("v"), num_hidden=3, no_bias=True), var("c"))
    assert counted(kept(Graph([y]), feeds, {"v": uniform(3, 3), "c": uniform(3)}).main)["broadcast_mul"] == 1
    found = kept(Graph([plain]), {}, {"x": uniform(2, 3, 4), **norms})
    assert counted(found.main) == {}
    graph = Graph([plain, apply("_contrib_BatchNormWithReLU", var("x"), *map(var, NORMS), fix_gamma=False, eps=0.5)])
    found = optimize(graph, rewriter_of(graph, {"x": uniform(2, 3, 4)}, norms, native=()))
    assert counted(found.main) == {"broadcast_mul": 2, "broadcast_add": 2, "relu": 1}


def test_training_keeps_what_is_fed_and_drawn() -> None:
    y, feeds, params, channels = product("Convolution", True)
    graph = Graph([apply("BatchNorm", y, *map(var, NORMS), fix_gamma=False, use_global_stats=True)])
    found = kept(graph, {**feeds, **params}, norm_parameters(channels), training=True)
    assert counted(found.main)["BatchNorm"] == 0 and counted(found.main)["_fused_chain"] == 1


# -- blocks ------------------------------------------------------------------------------------------------------------------


def test_what_follows_blocks_and_what_leaves_them() -> None:
    """A table of (what is done with a convolution of 32 channels, operators that have to be left, those that must not be)."""
    x = conv(var("x"), "w", 32)
    shape = (2, 32, 6, 5)
    feeds, params = {"x": uniform(2, 3, 6, 5)}, {"w": uniform(32, 3, 3, 3), "v": uniform(32, 3, 3, 3), "u": uniform(20, 3, 3, 3),
                                                 "s": uniform(16, 64, 1, 1), "t": uniform(16, 84, 1, 1)}  # fmt: skip
    other, odd, r = conv(var("x"), "v", 32), conv(var("x"), "u", 20), var("r")
    rows: dict[str, tuple[Any, dict[str, int]]] = {
        "mean": (apply("mean", x, axis=(2, 3)), {"_fused_pool": 1, "mean": 0}),
        "mean, negative axes": (apply("mean", x, axis=(-1, -2), keepdims=True), {"_fused_pool": 1, "mean": 0}),
        "mean of all but": (apply("mean", x, axis=(0, 1), exclude=True), {"_fused_pool": 1, "mean": 0}),
        "mean of all but these": (apply("mean", x, axis=(2, 3), exclude=True), {"_fused_pool": 0, "mean": 1}),
        "mean of rows": (apply("mean", x, axis=2), {"_fused_pool": 0, "mean": 1}),
        "numpy's mean": (apply("_npi_mean", x, axis=(2, 3)), {"_fused_pool": 1, "_npi_mean": 0}),
        "numpy's mean of channels": (apply("_npi_mean", x, axis=(1, 3)), {"_fused_pool": 0, "_npi_mean": 1}),
        "mean of float64": (apply("_npi_mean", x, axis=(2, 3), dtype="float64"), {"_fused_pool": 0, "_npi_mean": 1}),
        "mean of three axes": (apply("mean", apply("Reshape", x, shape=(2, 32, 30)), axis=2), {"_fused_pool": 0, "mean": 1}),
        "adaptive": (apply("_contrib_AdaptiveAvgPooling2D", x, output_size=1), {"_fused_pool": 1}),
        "adaptive to a grid": (apply("_contrib_AdaptiveAvgPooling2D", x, output_size=(1, 2)),
                               {"_fused_pool": 0, "_contrib_AdaptiveAvgPooling2D": 1}),
        "pooling": (apply("Pooling", x, kernel=(3, 2), stride=(2, 1)), {"_fused_pool": 1, "Pooling": 0}),
        "norms": (apply("Pooling", x, kernel=(2, 2), pool_type="lp", p_value=2), {"_fused_pool": 0, "Pooling": 1}),
        "channels last": (apply("Pooling", x, kernel=(2, 2), layout="NHWC"), {"_fused_pool": 0, "Pooling": 1}),
        "join": (apply("Concat", x, other, num_args=2), {"_fused_concat": 1, "Concat": 0}),
        "join along height": (apply("Concat", x, other, num_args=2, dim=2), {"_fused_concat": 0, "Concat": 1}),
        "join, the second odd": (conv(apply("Concat", x, odd, other, num_args=3), "t", 16, 1), {"_fused_concat": 0, "Concat": 1}),
        "join, the last odd": (conv(apply("Concat", x, other, odd, num_args=3), "t", 16, 1), {"_fused_concat": 1, "Concat": 0}),
        "join with what is fed": (apply("Concat", x, r, num_args=2), {"_fused_concat": 0, "Concat": 1}),
        "the same, wanted": (conv(apply("Concat", x, r, num_args=2), "s", 16, 1), {"_fused_concat": 1, "Concat": 0}),
        "both fed, wanted": (conv(apply("Concat", r, apply("tanh", r), num_args=2), "s", 16, 1), {"_fused_concat": 0, "Concat": 1}),
        "chain": (apply("tanh", x), {"_fused_unpack": 1, "_fused_pack": 0}),
        "chain with rows": (apply("broadcast_mul", apply("tanh", x), apply("slice", r, begin=(0, 0, 0, 0), end=(2, 32, 6, 1))),
                            {"_fused_unpack": 1}),
        "chain with pictures": (apply("broadcast_mul", apply("tanh", x), apply("slice", r, begin=(0, 0, 0, 0), end=(2, 32, 1, 1))),
                                {"_fused_unpack": 1}),
        "chain with channels": (apply("broadcast_mul", apply("tanh", x), apply("slice", r, begin=(1, 0, 0, 0), end=(2, 32, 1, 1))),
                                {"_fused_unpack": 1}),
    }  # fmt: skip
    rows["the mean of nothing"] = (apply("slice", apply("tanh", x), begin=(0, 0, 2, 0), end=(2, 32, 2, 5)), {})
    wrong = []
    for name, (y, wanted) in rows.items():
        graph = Graph([y])
        names = {n.name for n in graph.variables()}
        given = {k: v for k, v in {**feeds, "r": uniform(*shape)}.items() if k in names}
        left = counted(kept(graph, given, {k: v for k, v in params.items() if k in names}).main)
        if {k: left[k] for k in wanted} != wanted:
            wrong.append((name, dict(left)))
    assert not wrong
    graph = Graph([apply("Pooling", x, kernel=(2, 2)), apply("mean", x, axis=(2, 3))])
    found = optimize(graph, rewriter_of(graph, feeds, {"w": params["w"]}, native=NATIVE - {"_fused_pool"}))
    assert (counted(found.main)["Pooling"], counted(found.main)["mean"]) == (1, 1)


def test_which_scales_and_convolutions_of_channels_are_stages() -> None:
    """Before a convolution of 1 x 1: constants for each channel, and a depthwise convolution with a bias and no sum."""
    x, r, shape = conv(var("x"), "w", 32), var("r"), (2, 32, 5, 4)
    params = {"w": uniform(32, 3, 3, 3), "k": uniform(20, 32, 1, 1), "c": uniform(32, 1, 1), "d": uniform(32, 1, 1)}
    params |= {
        "one": uniform(1),
        "n": uniform(2, 32, 1, 1),
        "f": uniform(*shape),
        "v": uniform(32, 1, 3, 3),
        "b": uniform(32),
    }
    params["g"] = uniform(32, 8, 3, 3)
    feeds = {"x": uniform(2, 3, 5, 4), "r": uniform(*shape), "e": uniform(32, 1, 1)}

    def pooled(factor: str, summand: str) -> Entry:
        data = apply("Pooling", x, kernel=(3, 3), pad=(1, 1), pool_type="avg")
        return apply("relu", apply("broadcast_add", apply("broadcast_mul", data, var(factor)), var(summand)))

    def deep(weight: str, bias: bool, groups: int, residual: bool = False) -> Entry:
        attrs = {"kernel": (3, 3), "pad": (1, 1), "num_filter": 32, "num_group": groups, "no_bias": not bias}
        y = apply("Convolution", x, var(weight), *[var("b")] * bias, **attrs)
        return apply("elemwise_add", y, r) if residual else y

    rows = {
        "channels": (pooled("c", "d"), True), "a fed factor": (pooled("e", "d"), False), "a fed summand": (pooled("c", "e"), False),
        "a number": (pooled("one", "d"), False), "a number added": (pooled("c", "one"), False),
        "a whole array": (pooled("f", "d"), False),
        "a whole array added": (pooled("c", "f"), False), "for each picture": (pooled("n", "d"), False),
        "for each picture, added": (pooled("c", "n"), False),
        "depthwise": (deep("v", True, 32), True), "depthwise without bias": (deep("v", False, 32), False),
        "in groups": (deep("g", True, 4), False), "depthwise, then a sum": (deep("v", True, 32, True), False),
    }  # fmt: skip
    wrong = []
    for name, (y, found) in rows.items():
        graph = Graph([conv(y, "k", 20, 1)])
        names = {n.name for n in graph.variables()}
        given = {k: v for k, v in feeds.items() if k in names}
        left = counted(kept(graph, given, {k: v for k, v in params.items() if k in names}).main)
        if (left["_fused_separable"] == 1) != found:
            wrong.append((name, dict(left)))
    assert not wrong


# -- what is known, and how much ---------------------------------------------------------------------------------------------


def test_what_is_not_known_before_it_runs_stays() -> None:
    """Rows that values choose, and what is made of them: reshaped, turned, asked for its shape, lent as a form."""
    rows = apply("_contrib_boolean_mask", var("x"), var("m"))
    feeds = {"x": uniform(3, 4, 1), "m": f32([1, 1, 0]), "y": uniform(2, 4, 1)}
    table: list[tuple[Entry, dict[str, int]]] = [
        (apply("Reshape", apply("transpose", rows, axes=(1, 0, 2)), shape=(0, -1)), {"transpose": 1, "Reshape": 1}),
        (apply("transpose", apply("transpose", rows, axes=(1, 0, 2)), axes=(2, 0, 1)), {"transpose": 2}),
        (apply("Cast", rows, dtype="float32"), {"Cast": 1}),
        (apply("slice_axis", rows, axis=0, begin=0, end=None), {"slice_axis": 1}),
        (apply("shape_array", rows), {"shape_array": 1}), (apply("size_array", rows), {"size_array": 1}),
        (apply("zeros_like", rows), {"zeros_like": 1}), (apply("_contrib_arange_like", rows, axis=0), {"_contrib_arange_like": 1}),
        (apply("reshape_like", var("y"), rows), {}), (apply("slice_like", var("x"), rows), {"slice_like": 1}),
        (apply("relu", apply("elemwise_add", rows, var("y"))), {}), (apply("tile", rows, reps=(1, 1)), {"tile": 1}),
        (apply("Reshape", apply("Reshape", rows, shape=(2, 2, 2)), shape=(4, 2)), {}),
        (apply("Reshape", apply("Reshape", rows, shape=(-1, 2, 2)), shape=(0, 4, 1)), {}),
        (apply("mean", rows, axis=2), {"mean": 1}), (apply("Flatten", rows), {}),
    ]  # fmt: skip
    for y, want in table:
        graph = Graph([y])
        names = {n.name for n in graph.variables()}
        left = counted(kept(graph, {k: v for k, v in feeds.items() if k in names}, {}).main)
        assert {k: left[k] for k in want} == want


def test_values_are_made_once_if_they_are_not_too_many() -> None:
    """As many numbers as a million (1 << 20), and one more; what is constant by itself is hoisted as it is."""
    for count in (1 << 20, (1 << 20) + 1):
        graph = Graph([apply("_plus_scalar", apply("ones_like", var("x")), scalar=2.0), apply("relu", var("x"))])
        found = optimize(graph, rewriter_of(graph, {"x": np.broadcast_to(np.float32(0), (count,))}, {}))
        left = counted(found.main)
        assert (left["_fused_chain"], left["ones_like"]) == ((1, 0) if count == 1 << 20 else (2, 1))
    found = kept(Graph([apply("ones_like", var("w")), apply("relu", var("x"))]), {"x": uniform(2)}, {"w": uniform(3)})
    assert counted(found.main) == {"relu": 1} or counted(found.main) == {"_fused_chain": 1}
    for ddof in (0, 1, 2):
        y = apply("_backward_over_count", var("x"), var("y"), axis=(0, 2), ddof=ddof)
        kept(Graph([y]), {"x": uniform(1, 3, 1), "y": uniform(3, 3, 2)}, {})


def test_values_that_follow_from_a_shape_that_readers_have_given() -> None:
    """Zeros of any height take that of what is added to them, and whatever is asked of their shape is known before it runs."""
    total = apply("elemwise_add", apply("_zeros", shape=(0, 4)), var("x"))
    ends = (apply("_onnx_Constant", value=np.array([n])) for n in (0, 1))
    graph = Graph([total, apply("_onnx_Expand", var("y"), apply("_onnx_Slice", apply("shape_array", total), *ends))])
    found = kept(graph, {"x": uniform(3, 4), "y": uniform(1)}, {}, without=["hoist_constants"])
    assert not {"shape_array", "_onnx_Slice"} & counted(found.main).keys()
    open_ = apply("_zeros", shape=(0, 4))  # nobody says how high they are
    left = optimized(Graph([apply("sum", open_, axis=0)]), {}, {}, without=["hoist_constants"])
    assert [n.op.shape for n in left.main.nodes if n.op is not None and n.op.name == "_zeros"] == [(0, 4)]  # type: ignore[attr-defined]


def test_axes_without_elements_are_turned_and_not_reshaped() -> None:
    for shape, order in (((0, 1), (1, 0)), ((1, 0, 3), (1, 0, 2)), ((2, 1, 0), (0, 2, 1))):
        found = kept(Graph([apply("transpose", var("x"), axes=order)]), {"x": uniform(*shape)}, {})
        assert counted(found.main) == {"transpose": 1}


def test_chains_are_as_deep_as_the_kernel_goes() -> None:
    """Eight numbers at once."""
    for steps in range(5, 18):
        y, z = var("x"), var("z")
        for i in range(steps):
            y = apply("elemwise_sub" if i % 2 else "elemwise_mul", z, y)
        codes = [
            n.op.code
            for n in kept(Graph([y]), {"x": uniform(2, 3), "z": uniform(2, 3)}, {}).main.nodes
            if n.means(FusedElementwise)
        ]
        deepest = [max(itertools.accumulate(1 if w[0] == "$" else -1 for w in c.split())) for c in codes]
        assert max(deepest) <= 8 and len(codes) == 1 + (steps - 1) // 7, (steps, codes)


def test_a_chain_that_is_too_long_ends_before_a_number() -> None:
    """A number has no operands to make a chain of, first or last."""
    for steps in range(20, 26):
        y = var("x")
        for i in range(steps):
            y = apply("_mul_scalar", y, scalar=1.0 + i / 64)
        number = apply("_full", shape=(2, 3), value=0.5)
        for inputs in ((number, y), (y, number), (apply("ones_like", y), y)):
            found = kept(Graph([apply("elemwise_sub", *inputs)]), {"x": uniform(2, 3)}, {})
            assert counted(found.main).keys() == {"_fused_chain"}, steps


def test_slopes_that_are_drawn_in_training_are_no_chain() -> None:
    graph = Graph([apply("LeakyReLU", var("x"), act_type="rrelu", lower_bound=0.2, upper_bound=0.4)])
    x = uniform(2, 3)
    found = kept(graph, {"x": x}, {})
    assert counted(found.main) == {"LeakyReLU": 1}
    np.testing.assert_allclose(plainly(found.main, {"x": x}, {})[0], np.where(x > 0, x, x * np.float32(0.3)), rtol=1e-6)


@pytest.mark.parametrize("kind", ["Convolution", "FullyConnected"])
def test_products_end_with_what_they_can_do(kind: str) -> None:
    """Limits that are one number, sums with other dtypes, functions that are no limits."""
    y, feeds, params, _ = product(kind, True)
    shape = (2, 20, 4, 3) if kind == "Convolution" else (2, 5)
    rows: list[tuple[Any, int]] = [
        (lambda e: apply("clip", e, a_min=0.25, a_max=0.25), 0), (lambda e: apply("clip", e, a_min=0.25, a_max=0.125), 1),
        (lambda e: apply("_npi_add", e, var("r")), 0), (lambda e: apply("_npi_add", e, var("half")), 1),
        (lambda e: apply("_npi_add", var("whole"), e), 1), (lambda e: apply("_npi_add", e, var("wide")), 1),
        (lambda e: apply("LeakyReLU", e, act_type="elu"), 1), (lambda e: apply("LeakyReLU", e, act_type="rrelu"), 1),
        (lambda e: apply("LeakyReLU", e, act_type="selu"), 1), (lambda e: apply("tanh", e), 1),
        (lambda e: apply("_maximum_scalar", e, scalar=0.5), 0), (lambda e: apply("_rminus_scalar", e, scalar=0.5), 1),
    ]  # fmt: skip
    more = {"r": uniform(*shape), "half": uniform(*shape).astype("float16"), "wide": uniform(*shape).astype("float64"),
            "whole": (uniform(*shape) * 9).astype("int32")}  # fmt: skip
    for after, outside in rows:
        graph = Graph([after(y)])
        names = {n.name for n in graph.variables()}
        found = kept(graph, {**feeds, **{k: v for k, v in more.items() if k in names}}, params)
        left = [
            n
            for n, c in counted(found.main).items()
            if not n.startswith("_fused_") or n == "_fused_chain"
            for _ in range(c)
        ]
        assert len([n for n in left if n not in ("Reshape", "Flatten")]) == outside, left
    x = apply("exp", var("x"))
    for y in (
        apply("clip", x, a_min=0.5, a_max=0.5),
        apply("LeakyReLU", x, act_type="rrelu"),
        apply("LeakyReLU", x, act_type="selu"),
    ):
        kept(Graph([y]), {"x": uniform(2, 3)}, {})


def test_products_of_other_dtypes_or_of_constants_are_no_dense_layers() -> None:
    for op, dtype in itertools.product(("dot", "_npi_matmul"), ("float32", "float64", "int32")):
        data, weight = ((uniform(*s) * 5).astype(dtype) for s in ((3, 4), (4, 5)))
        found = kept(Graph([apply(op, var("x"), var("w"))]), {"x": data}, {"w": weight})
        assert counted(found.main)[op] == (dtype != "float32"), (op, dtype)
    graph = Graph([apply("dot", var("v"), var("w")), apply("relu", var("x"))])
    found = kept(graph, {"x": uniform(3)}, {"v": uniform(3, 4), "w": uniform(4, 5)})
    assert counted(found.constant)["FullyConnected"] == counted(found.constant)["_fused_dense"] == 0


def test_a_pass_that_changes_a_dtype_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph([apply("relu", var("x"))])
    cast = lookup("Cast").bind(dtype="float64")
    monkeypatch.setitem(
        PASSES, "fold_shapes", lambda graph, context: Graph([context.make(cast, "c", graph.outputs[0])])
    )
    with pytest.raises(MXNetError, match=r"pass fold_shapes made float64\(2, ?3\) of an output of float32\(2, ?3\)"):
        optimized(graph, {"x": uniform(2, 3)}, {})


def test_reshapes_of_nothing_keep_their_sizes() -> None:
    """0 is a size here, not the one that stays."""
    for shape, axis in (((0, 3), 0), ((3, 0), 1), ((2, 0, 5), 0), ((4, 0), 0)):
        y = apply("Flatten", apply("expand_dims", var("x"), axis=axis))
        found = kept(Graph([y, apply("expand_dims", y, axis=1)]), {"x": np.zeros(shape, np.float32)}, {})
        assert counted(found.main)["Reshape"] == 0


@pytest.mark.parametrize("name", ["_npi_var", "_npi_std"])
def test_spreads_divide_by_what_ddof_leaves(name: str) -> None:
    """Also in their gradients, where shapes are known."""
    x, dy = uniform(5, 4, 3).astype(np.float64), uniform(4).astype(np.float64)
    for ddof in (0, 1, 2):
        y = apply(name, var("x"), axis=(0, 2), ddof=ddof)
        ((found,),) = [gradients([(y, var("dy"))], [n for n in Graph([y]).variables() if n.name == "x"])]
        away = x - x.mean((0, 2), keepdims=True)
        spread = x.std((0, 2), ddof=ddof, keepdims=True) if name == "_npi_std" else 0.5
        want = dy[:, None] * away / (spread * (15 - ddof))
        for one in (Program(Graph([found]), native=n).run({"x": x, "dy": dy})[0] for n in (False, True)):
            np.testing.assert_allclose(one, want, rtol=1e-9, atol=1e-12)
        left = kept(Graph([found]), {"x": x.astype(np.float32), "dy": dy.astype(np.float32)}, {})
        assert not counted(left.main)["_backward_over_count"]
