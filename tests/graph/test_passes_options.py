"""Options that passes hand on: every one of an operator is one of what stands for it, and no two have the same value."""

from typing import Any

import numpy as np
import pytest

from hybrid import sym
from hybrid.core.op import REGISTRY, lookup
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ops.binary import BinaryOp, BinaryScalarOp
from hybrid.ops.elementwise import Unary
from tests import grouped
from tests.graph.optimizing import apply, counted, optimized, plainly, var
from tests.graph.test_passes import NORMS, conv, kept, norm_parameters, uniform

# -- convolutions and what they become ---------------------------------------------------------------------------------------

ODD: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    # data, weight, attributes: sizes, kernels, strides, dilations and paddings that all differ
    "picture": ((2, 5, 11, 9), (12, 5, 3, 2), {"kernel": (3, 2), "stride": (2, 1), "dilate": (1, 3), "pad": (1, 2)}),
    "groups": ((2, 6, 9, 11), (12, 2, 2, 3), {"kernel": (2, 3), "stride": (1, 3), "dilate": (2, 1), "pad": (0, 2), "num_group": 3}),
    "few channels": ((2, 3, 9, 8), (12, 3, 2, 3), {"kernel": (2, 3), "stride": (3, 2), "dilate": (2, 1), "pad": (2, 1)}),
    "row": ((2, 5, 19), (12, 5, 4), {"kernel": (4,), "stride": (2,), "dilate": (3,), "pad": (1,)}),
    "row in groups": ((2, 6, 17), (12, 3, 2), {"kernel": (2,), "stride": (3,), "dilate": (4,), "pad": (5,), "num_group": 2}),
    "row of few": ((2, 3, 17), (12, 3, 3), {"kernel": (3,), "stride": (2,), "dilate": (4,), "pad": (5,)}),
    "padding alone": ((2, 5, 4, 3), (12, 5, 2, 3), {"kernel": (2, 3), "pad": (3, 1)}),
    "row, padding alone": ((2, 5, 7), (12, 5, 3), {"kernel": (3,), "pad": (4,)}),
}  # fmt: skip
AFTER: dict[str, Any] = {
    "alone": lambda y: y,
    "normalization": lambda y: apply("BatchNorm", y, *map(var, NORMS), fix_gamma=False, eps=0.02),
    "a number": lambda y: apply("_mul_scalar", y, scalar=-1.5),
    "a function of two limits": lambda y: apply("clip", apply("LeakyReLU", y, slope=0.3), a_min=-0.2, a_max=0.6),
    "tanh": lambda y: apply("tanh", y),
}


@pytest.mark.parametrize("kind", ODD)
def test_options_of_convolutions_stay_theirs(kind: str) -> None:
    """Kernel, stride, dilation, padding and groups, with a bias and without, whatever follows."""
    shape, weight, attrs = ODD[kind]
    for bias in (True, False):
        for name, after in AFTER.items():
            stored = {"w": uniform(*weight), **({"b": uniform(12)} if bias else {})}
            y = after(apply("Convolution", var("x"), *map(var, stored), **attrs, num_filter=12, no_bias=not bias))
            stored |= norm_parameters(12) if name == "normalization" else {}
            left = counted(kept(Graph([y]), {"x": uniform(*shape)}, stored).main)
            assert (left["_fused_conv"], left["Convolution"], left["BatchNorm"]) == (1, 0, 0), (bias, name)


def test_options_of_both_convolutions_of_a_stage_stay_theirs() -> None:
    """The first has a kernel, stride, padding and dilation in which height and width differ; the second's limits are others."""
    for attrs in (
        {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 2), "dilate": (1, 3)},
        {"kernel": (2, 3), "stride": (1, 2), "pad": (2, 0), "dilate": (3, 1)},
    ):
        params = {"v": uniform(24, 1, *attrs["kernel"]), "c": uniform(24), "w": uniform(20, 24, 1, 1), "b": uniform(20)}
        y = apply("Convolution", var("x"), var("v"), var("c"), **attrs, num_filter=24, num_group=24)
        y = apply("clip", apply("LeakyReLU", y, slope=0.25), a_min=-0.3, a_max=0.8)
        y = apply("Convolution", y, var("w"), var("b"), kernel=(1, 1), num_filter=20)
        y = apply("clip", apply("LeakyReLU", apply("elemwise_add", y, var("r")), slope=0.5), a_min=-0.6, a_max=1.1)
        x = uniform(2, 24, 9, 8)
        (made,) = plainly(Graph([y.node.inputs[0].node.inputs[0].node.inputs[0]]), {"x": x}, params)
        found = kept(Graph([y]), {"x": x, "r": uniform(*made.shape)}, params)
        assert counted(found.main)["_fused_separable"] == 1


POOLINGS: dict[str, dict[str, Any]] = {
    "kernel and stride": {"kernel": (3, 2), "stride": (1, 2)},
    "all of them": {"kernel": (3, 4), "stride": (2, 3), "pad": (1, 2)},
    "full": {"kernel": (2, 3), "stride": (3, 2), "pad": (1, 0), "pooling_convention": "full"},
    "without the padding": {"kernel": (3, 2), "pad": (2, 1), "count_include_pad": False},
    "everything": {"global_pool": True, "kernel": (2, 2)},
    "its layout": {"kernel": (2, 3), "stride": (1, 2), "layout": "NCHW"},
}


@pytest.mark.parametrize("kind", ["max", "avg", "sum"])
def test_options_of_pooling_stay_its_own_in_blocks(kind: str) -> None:
    """Over pictures and over rows, which have the second of each option. Sums of windows are other numbers than means."""
    for (name, attrs), flat in ((row, flat) for row in POOLINGS.items() for flat in (False, True)):
        own = {k: v[1:] if flat and isinstance(v, tuple) else v for k, v in attrs.items()}
        own |= {"layout": "NCW"} if flat and "layout" in own else {}
        shape, weight = ((2, 3, 11), (20, 3, 2)) if flat else ((2, 3, 8, 11), (20, 3, 2, 2))
        y = apply("Convolution", var("x"), var("w"), kernel=weight[2:], num_filter=20, no_bias=True)
        found = kept(
            Graph([apply("Pooling", y, pool_type=kind, **own)]), {"x": uniform(*shape)}, {"w": uniform(*weight)}
        )
        assert counted(found.main)["_fused_pool"] == 1, (name, flat)


def test_what_a_chain_on_blocks_reads_has_any_shape_that_broadcasts() -> None:
    """Vectors, rows, columns, images of one channel: sizes are 16 everywhere, so that one taken for another still fits."""
    for image in ((16, 16, 3, 16), (16, 16, 16)):
        kernel = (3,) * (len(image) - 2)
        weights = {"w": uniform(16, 16, *kernel), "v": uniform(16, 16, *kernel)}
        ends = {image[i:] for i in range(len(image) + 1)}
        shapes = {
            tuple(d if keep >> i & 1 else 1 for i, d in enumerate(end)) for end in ends for keep in range(2 ** len(end))
        }
        for shape in sorted(shapes):
            attrs: dict[str, Any] = {"kernel": kernel, "pad": (1,) * len(kernel), "num_filter": 16, "no_bias": True}
            y = apply("sigmoid", apply("Convolution", var("x"), var("w"), **attrs))
            y = apply("tanh", apply("broadcast_mul", y, var("r")))
            y = apply("Convolution", y, var("v"), **attrs)
            for given in ({}, {"r": uniform(*shape)}):
                feeds = {"x": uniform(*image)} | ({} if given else {"r": uniform(*shape)})
                kept(Graph([y]), feeds, weights | given)


def test_blocks_of_an_image_are_not_those_of_another_shape_of_it() -> None:
    """Reshaped with as many channels: height and width exchanged, in one row, split otherwise, batch and all."""
    weights = {
        "w": uniform(16, 3, 3, 3),
        "v": uniform(16, 16, 3, 3),
        "u": uniform(16, 16, 1, 1),
        "s": uniform(16, 16, 3),
    }
    first = conv(var("x"), "w", 16)
    for shape in (
        (2, 16, 9, 4),
        (2, 16, 1, 36),
        (2, 16, 36, 1),
        (2, 16, 3, 12),
        (4, 16, 2, 9),
        (1, 16, 8, 9),
        (2, 16, 36),
    ):
        seen = apply("Reshape", first, shape=shape)
        attrs: dict[str, Any] = {"kernel": (3,), "pad": (1,), "num_filter": 16, "no_bias": True}
        second = apply("Convolution", seen, var("s"), **attrs) if len(shape) == 3 else conv(seen, "v", 16)
        back = apply("Reshape", second, shape=(2, 16, 4, 9))
        last = apply("elemwise_add", conv(first, "u", 16, 1), conv(back, "u", 16, 1))
        for heads in ([last], [second, last], [apply("tanh", seen), last, first]):
            kept(Graph(heads), {"x": uniform(2, 3, 4, 9)}, weights)


# -- products ------------------------------------------------------------------------------------------------------------------


def test_which_products_with_a_constant_are_dense() -> None:
    """Either side turned or not, square or not, of any rank; what is no dense layer gives the same all the same."""
    rows: list[tuple[str, dict[str, Any], tuple[int, ...], tuple[int, ...], bool]] = [
        ("dot", {}, (3, 4), (4, 5), True),
        ("dot", {}, (3, 4), (4, 4), True),
        ("dot", {"transpose_b": True}, (3, 4), (5, 4), True),
        ("dot", {"transpose_b": True}, (3, 4), (4, 4), True),
        ("dot", {"transpose_a": True}, (4, 3), (4, 5), False),
        ("dot", {"transpose_a": True}, (4, 4), (4, 4), False),
        ("dot", {"transpose_a": True, "transpose_b": True}, (4, 3), (5, 4), False),
        ("dot", {}, (2, 3, 4), (4, 5), True),
        ("dot", {"transpose_b": True}, (2, 3, 4), (4, 4), True),
        ("dot", {"transpose_a": True}, (4, 2, 3), (4, 5), False),
        ("dot", {}, (3, 4), (4, 2, 3), False),
        ("dot", {}, (4,), (4, 5), False),
        ("dot", {}, (4,), (4,), False),
        ("_npi_matmul", {}, (3, 4), (4, 4), True),
        ("_npi_matmul", {}, (2, 3, 4), (4, 5), True),
        ("_npi_matmul", {}, (2, 3, 4, 5), (5, 2), True),
        ("_npi_matmul", {}, (4,), (4, 5), False),
        ("_npi_matmul", {}, (3, 4), (4,), False),
        ("_npi_matmul", {}, (2, 3, 4), (2, 4, 5), False),
    ]  # fmt: skip

    def check(row: tuple[str, dict[str, Any], tuple[int, ...], tuple[int, ...], bool]) -> None:
        op, attrs, data, weight, dense = row
        left = counted(
            kept(Graph([apply(op, var("x"), var("w"), **attrs)]), {"x": uniform(*data)}, {"w": uniform(*weight)}).main
        )
        assert (left["_fused_dense"], left[op]) == ((1, 0) if dense else (0, 1)), left
        swapped = kept(Graph([apply(op, var("w"), var("x"), **attrs)]), {"x": uniform(*weight)}, {"w": uniform(*data)})
        assert counted(swapped.main)[op] == 1  # the constant on the left

    grouped.run([(f"{op} {attrs} {x} {w}", row) for row in rows for op, attrs, x, w, _ in [row]], check)


def test_which_sums_a_product_takes_up() -> None:
    """Of two terms, however that is written; of three it would leave one out."""
    shape, attrs = (2, 20, 4, 3), {"kernel": (3, 3), "num_filter": 20, "no_bias": True}
    y = apply("Convolution", var("x"), var("w"), **attrs)
    r, s = var("r"), var("s")
    rows: dict[str, tuple[Entry, int]] = {
        "add_n of two": (apply("add_n", y, r, num_args=2), 0), "of two, behind": (apply("add_n", r, y, num_args=2), 0),
        "add_n of three": (apply("add_n", y, r, s, num_args=3), 1), "of three, last": (apply("add_n", r, s, y, num_args=3), 1),
        "a difference": (apply("elemwise_sub", y, r), 1), "a product": (apply("elemwise_mul", r, y), 1),
        "the greater": (apply("broadcast_maximum", y, r), 1), "numpy's": (apply("_npi_add", r, y), 0),
        "broadcast": (apply("broadcast_add", y, r), 0),
    }  # fmt: skip
    for name, (z, outside) in rows.items():
        graph = Graph([apply("relu", z)])
        feeds = {n: uniform(*shape) for n in "rs" if n in {v.name for v in graph.variables()}}
        found = kept(graph, {"x": uniform(2, 3, 6, 5), **feeds}, {"w": uniform(20, 3, 3, 3)})
        ((residual, low),) = (
            (n.op.residual, n.op.low) for n in found.main.nodes if n.op and n.op.name == "_fused_conv"
        )
        assert (counted(found.main)["_fused_chain"], residual, low) == (
            outside,
            not outside,
            None if outside else 0.0,
        ), name


@pytest.mark.parametrize("index", [1, 2])
def test_either_statistic_that_is_read_keeps_normalization(index: int) -> None:
    node = Node(lookup("BatchNorm").bind(output_mean_var=True), "bn", [conv(var("x"), "w", 20), *map(var, NORMS)])
    for outputs in ([Entry(node), Entry(node, index)], [Entry(node), apply("exp", Entry(node, index))]):
        found = kept(Graph(outputs), {"x": uniform(2, 3, 6, 5)}, {"w": uniform(20, 3, 3, 3), **norm_parameters(20)})
        left = counted(found.main)
        assert (left["BatchNorm"], left["_fused_conv"] + left["Convolution"]) == (1, 1)


def test_arrays_whose_shape_readers_decide_hold_what_they_held() -> None:
    """Zeros, ones and other numbers, of several dtypes: their other attributes stay."""
    for op, attrs, dtype in (
        ("_zeros", {}, "float64"), ("_ones", {}, "int32"), ("_full", {"value": 2.5}, "float64"), ("_full", {"value": -3}, "int64"),
    ):  # fmt: skip
        y = apply("_backward_clip", var("x"), apply(op, shape=(0, 4), dtype=dtype, **attrs), a_min=-9, a_max=9)
        x = (uniform(3, 4) * 9).astype(dtype)
        found = kept(Graph([y]), {"x": x}, {})
        assert [n.op.shape for n in (found.constant or found.main).nodes if n.op is not None and n.op.name == op] == [
            (3, 4)
        ]


# -- halves --------------------------------------------------------------------------------------------------------------------

STEPS = frozenset(
    word
    for line in (
        "ceil floor rint round fix trunc sign logical_not isnan isinf isfinite isposinf isneginf invert bitwise_not",
        "mod fmod remainder floor_divide equal not_equal greater greater_equal less less_equal logical_and logical_or",
        "logical_xor bitwise_and bitwise_or bitwise_xor lcm gcd copysign",
    )
    for word in line.split()
)
"""Names of functions of one element and of two whose results change by steps: rounding, signs, remainders, comparisons."""


def decides(cls: Any) -> bool:
    """True where an operator of one or two arrays applies one of these."""
    return (cls.unary_function if issubclass(cls, Unary) else cls.arithmetic).name in STEPS


def test_what_changes_by_steps_reads_rounded_numbers() -> None:
    """Every function of one element, of two, and of one and a number that can jump: before it comes a cast to half precision."""
    y = apply("exp", apply("_mul_scalar", var("x"), scalar=0.5))
    x = uniform(2, 3).astype("float16")
    wrong, tried = [], set()
    for name, cls in REGISTRY.items():
        if not isinstance(cls, type) or not issubclass(cls, Unary | BinaryOp | BinaryScalarOp) or not decides(cls):
            continue
        attrs = {"scalar": 1.5} if issubclass(cls, BinaryScalarOp) else {}
        z = apply(name, *[y] * (2 if issubclass(cls, BinaryOp) else 1), **attrs)
        try:
            found = optimized(Graph([z]), {"x": x}, {}, without=["fuse_elementwise"])
        except ValueError:  # bits, which floats are not made of
            continue
        tried.add(name)
        (node,) = (n for n in found.main.nodes if n.op is not None and n.op.name == z.node.op.name)
        if {found.inference.spec(e).dtype.name for e in node.inputs} != {"float16"}:
            wrong.append(name)
    assert not wrong
    assert {"floor", "round", "sign", "_mod", "_greater_scalar", "broadcast_equal", "_npi_mod"} <= tried


def test_numbers_between_halves_decide_nothing() -> None:
    """1 + 1/4096 is 1 in float16: what rounds up or compares sees that, as a user does."""
    x, near = np.float16([1, 2, 3]), sym.var("x") * 1 + 2**-12
    ends = [sym.ceil(near), sym.broadcast_equal(near, sym.var("x")), sym.broadcast_greater(near, sym.var("x"))]
    found = optimized(sym.Group(ends).graph, {"x": x}, {})
    np.testing.assert_array_equal(plainly(found.main, {"x": x}, {}), [[1, 2, 3], [1, 1, 1], [0, 0, 0]])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_each_output_of_several_is_its_own_in_float32(dtype: str) -> None:
    """Parts of an array, read on: the first is not the second."""
    x = (uniform(4, 6) * 2).astype(lookup("Cast").bind(dtype=dtype).dtype)
    parts = Node(lookup("SliceChannel").bind(num_outputs=3, axis=1), "parts", [apply("exp", var("x"))])
    ends = [apply("sqrt", Entry(parts, i)) for i in (2, 0, 1)]
    graph = Graph([*ends, apply("elemwise_sub", Entry(parts, 1), Entry(parts, 2))])
    found = optimized(graph, {"x": x}, {})
    got = plainly(found.main, {"x": x}, {})
    one, two, three = np.split(np.exp(x.astype(np.float32)), 3, axis=1)
    for result, want in zip(got, (np.sqrt(three), np.sqrt(one), np.sqrt(two), two - three), strict=True):
        assert result.dtype == x.dtype
        np.testing.assert_array_equal(result, want.astype(x.dtype))
