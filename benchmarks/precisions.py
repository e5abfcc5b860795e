"""The cases of benchmarks/accuracy.py: one operator each, at sizes where rounding errors add up, with numbers of both signs and
with positive ones, whose sums grow with what is added.

Nothing but NumPy is imported at the top.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

Shape = tuple[int, ...]
Draw = Callable[[np.random.Generator, Shape], np.ndarray]


def normal(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Numbers of both signs."""
    return random.standard_normal(shape)


def positive(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Numbers above 0, as after a rectifier, with a mean of about 1."""
    return np.abs(random.standard_normal(shape)) + 0.2


def shifted_normal(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Numbers about 10, with a deviation of 1: what is normalized loses the digits of the mean."""
    return random.standard_normal(shape) + 10


def uniform(low: float, high: float) -> Draw:
    """Numbers between two."""
    return lambda random, shape: random.uniform(low, high, shape)


def whole(below: int) -> Draw:
    """Whole numbers below one."""
    return lambda random, shape: random.integers(0, below, shape)


def probabilities(random: np.random.Generator, shape: Shape) -> np.ndarray:
    """Rows that sum to 1."""
    e = np.exp(random.standard_normal(shape))
    return e / e.sum(-1, keepdims=True)


@dataclass(frozen=True)
class Case:
    """An operator and its operands. ``given``: how many of them are inputs; the others are constant."""

    family: str
    title: str
    operator: str
    shapes: Mapping[str, Shape]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    draws: Mapping[str, Draw] = field(default_factory=dict)
    given: int = 1
    gradient: bool = False
    ulp: bool = False
    dtype: str = "float32"

    def arrays(self) -> dict[str, np.ndarray]:
        """Operands by name, always the same."""
        random = np.random.default_rng(zlib.crc32(f"{self.family} {self.title}".encode()))
        return {n: np.asarray(self.draws.get(n, normal)(random, s)).astype(self.dtype) for n, s in self.shapes.items()}

    def symbol(self, mx: Any, dtype: str = "") -> Any:
        """The operator on variables."""
        variables = {n: mx.sym.var(n, shape=s, dtype=dtype or self.dtype) for n, s in self.shapes.items()}
        return attrgetter(self.operator)(mx.sym)(*variables.values(), name="one", **self.attrs)


def product(family: str, title: str, operator: str, shapes: Mapping[str, Shape], **attrs: Any) -> Iterator[Case]:
    """A sum of products, with normal and with positive numbers."""
    given = attrs.pop("given", 1)
    gradient, dtype = attrs.pop("gradient", False), attrs.pop("dtype", "float32")
    for word, draw in (("normal", normal), ("positive", positive)):
        yield Case(
            family,
            f"{title} {word}",
            operator,
            shapes,
            attrs,
            dict.fromkeys(shapes, draw),
            given,
            gradient,
            False,
            dtype,
        )


def convolutions(
    family: str, title: str, data: Shape, filters: int, kernel: Shape, *, transposed: bool = False, **attrs: Any
) -> Iterator[Case]:
    """A convolution with padding that keeps the size, unless told."""
    groups = attrs.get("num_group", 1)
    ends = (data[1], filters // groups) if transposed else (filters, data[1] // groups)
    shapes = {"data": data, "weight": (*ends, *kernel), "bias": (filters,)}
    attrs = {"num_filter": filters, "kernel": kernel, "no_bias": False} | attrs
    attrs.setdefault("pad", tuple(k // 2 for k in kernel))
    yield from product(family, title, "Deconvolution" if transposed else "Convolution", shapes, **attrs)


def dense(family: str, title: str, rows: int, depth: int, hidden: int, **attrs: Any) -> Iterator[Case]:
    """A layer of so many inputs and outputs."""
    shapes = {"data": (rows, depth), "weight": (hidden, depth), "bias": (hidden,)}
    yield from product(family, title, "FullyConnected", shapes, num_hidden=hidden, **attrs)


def one(
    family: str, title: str, operator: str, shape: Shape, draw: Draw = normal, ulp: bool = False, **attrs: Any
) -> Case:
    """An operator with one operand."""
    return Case(family, title, operator, {"data": shape}, attrs, {"data": draw}, ulp=ulp)


def _convolutions() -> Iterator[Case]:
    direct, winograd = "Convolution, direct", "Convolution 3x3 (Winograd)"
    for channels, size in ((64, 28), (512, 14), (2048, 7)):
        yield from convolutions(direct, f"1x1 of {channels}", (1, channels, size, size), 64, (1, 1))
    for channels, size in ((64, 28), (256, 14), (512, 14)):
        yield from convolutions(
            direct, f"3x3 of {channels}, stride 2", (1, channels, size, size), 64, (3, 3), stride=(2, 2)
        )
    yield from convolutions(direct, "3x3 of 512, dilated", (1, 512, 14, 14), 64, (3, 3), dilate=(2, 2), pad=(2, 2))
    yield from convolutions(direct, "5x5 of 256", (1, 256, 14, 14), 64, (5, 5))
    yield from convolutions(direct, "7x7 of 256", (1, 256, 14, 14), 32, (7, 7))
    yield from convolutions(direct, "stem 7x7 of 3", (1, 3, 64, 64), 64, (7, 7), stride=(2, 2))
    yield from convolutions(direct, "stem 11x11 of 3", (1, 3, 64, 64), 64, (11, 11), stride=(4, 4))
    yield from convolutions(direct, "grouped 3x3, 2 of 256", (1, 512, 14, 14), 64, (3, 3), num_group=2, stride=(2, 2))
    for channels, size in ((64, 28), (128, 28), (256, 14), (512, 14)):
        yield from convolutions(winograd, f"of {channels}", (1, channels, size, size), 64, (3, 3))
    lanewise = "Convolution, by lanes"
    yield from convolutions(lanewise, "depthwise 3x3", (1, 64, 28, 28), 64, (3, 3), num_group=64)
    yield from convolutions(lanewise, "depthwise 31x31", (1, 32, 32, 32), 32, (31, 31), num_group=32)
    yield from convolutions(lanewise, "groups of 4", (1, 128, 14, 14), 128, (3, 3), num_group=32)
    yield from convolutions(lanewise, "groups of 100", (1, 400, 7, 7), 32, (5, 5), num_group=4)
    others = "Convolution in one and three dimensions, Deconvolution"
    yield from convolutions(others, "1-D of 512", (1, 512, 64), 64, (5,))
    yield from convolutions(others, "3-D of 16", (1, 16, 8, 14, 14), 32, (3, 3, 3))
    yield from convolutions(others, "3-D of 256", (1, 256, 4, 7, 7), 32, (3, 3, 3))
    for channels in (64, 512):
        yield from convolutions(
            others,
            f"Deconvolution 4x4 of {channels}, stride 2",
            (1, channels, 8, 8),
            32,
            (4, 4),
            transposed=True,
            stride=(2, 2),
            pad=(1, 1),
        )
        yield from convolutions(
            others, f"Deconvolution 3x3 of {channels}", (1, channels, 8, 8), 32, (3, 3), transposed=True
        )


def _products() -> Iterator[Case]:
    for rows in (1, 3, 64):
        for depth in (64, 512, 4608, 25088):
            yield from dense("FullyConnected", f"{rows} of {depth}", rows, depth, 256)
    dots = "Products"
    for k in (64, 512, 4608):
        yield from product(dots, f"dot of {k}", "dot", {"a": (64, k), "b": (k, 96)}, given=2)
        yield from product(
            dots, f"dot of {k}, b transposed", "dot", {"a": (3, k), "b": (96, k)}, given=2, transpose_b=True
        )
        yield from product(dots, f"batch_dot of {k}", "batch_dot", {"a": (4, 32, k), "b": (4, k, 48)}, given=2)
        yield from product(
            dots,
            f"batch_dot of {k}, a transposed",
            "batch_dot",
            {"a": (4, k, 32), "b": (4, k, 48)},
            given=2,
            transpose_a=True,
        )
        yield from product(dots, f"linalg_gemm2 of {k}", "linalg.gemm2", {"a": (2, 32, k), "b": (2, k, 48)}, given=2)
    yield from product(dots, "outer product", "dot", {"a": (4608, 1), "b": (1, 64)}, given=2)
    attention = "Attention"
    heads, batch = 4, 2
    for steps, size in ((64, 64), (1024, 64), (64, 512)):
        of = f"{steps} steps, {size} a head"
        rows = {"a": (steps, batch, heads * 3 * size)}
        yield from product(attention, f"selfatt_qk, {of}", "contrib.interleaved_matmul_selfatt_qk", rows, heads=heads)
        weights = rows | {"b": (batch * heads, steps, steps)}
        yield Case(
            attention,
            f"selfatt_valatt, {of}",
            "contrib.interleaved_matmul_selfatt_valatt",
            weights,
            {"heads": heads},
            {"b": probabilities},
            2,
        )


def _pools() -> Iterator[Case]:
    for word, draw in (("normal", normal), ("positive", positive)):
        for kind in ("avg", "sum"):
            pool = {"pool_type": kind}
            yield one("Pooling", f"{kind} 3x3 {word}", "Pooling", (1, 32, 28, 28), draw, kernel=(3, 3), **pool)
            yield one("Pooling", f"{kind} 56x56 {word}", "Pooling", (1, 32, 56, 56), draw, kernel=(56, 56), **pool)
            yield one(
                "Pooling",
                f"{kind} global {word}",
                "Pooling",
                (1, 32, 112, 112),
                draw,
                kernel=(1, 1),
                global_pool=True,
                **pool,
            )
        for p in (1, 2, 3) if draw is positive else (1, 2):  # a third root of what cancels has no digits
            pool = {"pool_type": "lp", "p_value": p}
            yield one("Pooling", f"lp {p} 3x3 {word}", "Pooling", (1, 32, 28, 28), draw, kernel=(3, 3), **pool)
            yield one("Pooling", f"lp {p} 14x14 {word}", "Pooling", (1, 32, 28, 28), draw, kernel=(14, 14), **pool)
        yield one("Pooling", f"adaptive {word}", "contrib.AdaptiveAvgPooling2D", (1, 32, 56, 56), draw, output_size=3)


def _normalizations() -> Iterator[Case]:
    family = "Normalizations and softmax"
    for word, draw in (("normal", normal), ("about 10", shifted_normal)):

        def norm(
            title: str, operator: str, data: Shape, size: int, word: str = word, draw: Draw = draw, **attrs: Any
        ) -> Case:
            shapes = {"data": data, "gamma": (size,), "beta": (size,)}
            return Case(family, f"{title} {word}", operator, shapes, attrs, {"data": draw})

        yield norm("LayerNorm of 768", "LayerNorm", (64, 768), 768)
        yield norm("LayerNorm of 16384", "LayerNorm", (4, 16384), 16384)
        yield norm("GroupNorm", "GroupNorm", (2, 32, 28, 28), 4, num_groups=4)
        yield norm("InstanceNorm", "InstanceNorm", (2, 32, 56, 56), 32)
        yield one(family, f"L2Normalization of 4608 {word}", "L2Normalization", (4, 4608), draw)
        yield one(family, f"L2Normalization by channel {word}", "L2Normalization", (2, 512, 7, 7), draw, mode="channel")
        yield one(family, f"LRN {word}", "LRN", (1, 64, 14, 14), draw, nsize=5, alpha=1e-2)
        statistics = {"data": (2, 32, 14, 14), **dict.fromkeys(("gamma", "beta", "mean", "var"), (32,))}
        yield Case(
            family,
            f"BatchNorm {word}",
            "BatchNorm",
            statistics,
            {"fix_gamma": False},
            {"data": draw, "mean": draw, "var": positive},
        )
        for size in (64, 1000, 50257):
            yield one(family, f"softmax of {size} {word}", "softmax", (8, size), draw)
            yield one(family, f"log_softmax of {size} {word}", "log_softmax", (8, size), draw)
        yield one(family, f"softmax by columns {word}", "softmax", (8, 512, 20), draw, axis=1)


def _reductions() -> Iterator[Case]:
    family = "Reductions and running sums"
    for word, draw in (("normal", normal), ("positive", positive)):
        for operator in ("sum", "mean", "norm", "nansum"):
            for title, shape, axis in (
                ("all of 1e6", (1000, 1000), None),
                ("rows of 4608", (16, 4608), 1),
                ("columns of 4608", (4608, 40), 0),
                ("in the middle", (4, 4608, 24), 1),
            ):
                if operator == "norm" and axis is None:
                    continue
                attrs = {} if axis is None else {"axis": axis}
                yield one(family, f"{operator}, {title} {word}", operator, shape, draw, **attrs)
        yield one(family, f"cumsum of 4608 {word}", "cumsum", (8, 4608), draw, axis=1)
        yield one(family, f"cumsum of 1e5 {word}", "cumsum", (100000,), draw)
        yield one(family, f"cumsum down 4608 {word}", "cumsum", (4608, 24), draw, axis=0)
    yield one(family, "prod of 400", "prod", (32, 400), uniform(0.7, 1.4), axis=1)
    yield one(family, "nanprod of 400", "nanprod", (32, 400), uniform(0.7, 1.4), axis=1)


FUNCTIONS: tuple[tuple[str, float, float], ...] = (
    ("exp", -80, 80),
    ("expm1", -10, 10),
    ("log", 1e-3, 1e3),
    ("log2", 1e-3, 1e3),
    ("log10", 1e-3, 1e3),
    ("log1p", -0.9, 100),
    ("sqrt", 1e-3, 1e3),
    ("rsqrt", 1e-3, 1e3),
    ("cbrt", -1e3, 1e3),
    ("rcbrt", 1e-3, 1e3),
    ("reciprocal", 1e-3, 1e3),
    ("sin", -100, 100),
    ("cos", -100, 100),
    ("tan", -1.5, 1.5),
    ("arcsin", -1, 1),
    ("arccos", -1, 0.99),
    ("arctan", -50, 50),
    ("sinh", -20, 20),
    ("cosh", -20, 20),
    ("tanh", -6, 6),
    ("arcsinh", -50, 50),
    ("arccosh", 1.01, 50),
    ("arctanh", -0.99, 0.99),
    ("sigmoid", -20, 20),
    ("softsign", -20, 20),
    ("erf", -4, 4),
    ("erfinv", -0.99, 0.99),
    ("gamma", 0.1, 20),
    ("gammaln", 3, 100),
    ("degrees", -10, 10),
    ("radians", -500, 500),
)


def _functions() -> Iterator[Case]:
    family = "Functions of one number"
    for name, low, high in FUNCTIONS:
        yield one(family, f"{name} from {low:g} to {high:g}", name, (50000,), uniform(low, high), ulp=True)
    yield one(family, "softrelu from -20 to 20", "Activation", (50000,), uniform(-20, 20), True, act_type="softrelu")
    for name in ("gelu", "elu", "selu"):
        yield one(family, f"{name} from -4 to 4", "LeakyReLU", (50000,), uniform(-4, 4), True, act_type=name)
    power = {"data": (50000,), "exponent": (50000,)}
    draws = {"data": uniform(0.1, 10), "exponent": uniform(-5, 5)}
    yield Case(family, "broadcast_power", "broadcast_power", power, {}, draws, 2, ulp=True)


def _moved() -> Iterator[Case]:
    family = "Sampling and resizing"
    for word, draw in (("normal", normal), ("positive", positive)):
        data = {"data": (2, 16, 32, 32)}
        grid = {**data, "grid": (2, 2, 40, 40)}
        yield Case(
            family,
            f"BilinearSampler {word}",
            "BilinearSampler",
            grid,
            {},
            {"data": draw, "grid": uniform(-1.1, 1.1)},
            2,
        )
        loc = {**data, "loc": (2, 6)}
        yield Case(
            family,
            f"SpatialTransformer {word}",
            "SpatialTransformer",
            loc,
            {"target_shape": (40, 40), "transform_type": "affine", "sampler_type": "bilinear"},
            {"data": draw, "loc": uniform(-0.6, 0.6)},
            2,
        )
        yield one(
            family, f"BilinearResize2D up {word}", "contrib.BilinearResize2D", data["data"], draw, height=75, width=61
        )
        yield one(
            family, f"BilinearResize2D down {word}", "contrib.BilinearResize2D", data["data"], draw, height=9, width=13
        )
        rois = {**data, "rois": (8, 5)}

        def boxes(random: np.random.Generator, shape: Shape) -> np.ndarray:
            corners = np.sort(random.uniform(0, 31, (shape[0], 2, 2)), axis=1)
            return np.concatenate([np.zeros((shape[0], 1)), corners.reshape(-1, 4)], axis=1)

        yield Case(
            family,
            f"ROIAlign {word}",
            "contrib.ROIAlign",
            rois,
            {"pooled_size": (3, 3), "spatial_scale": 1.0, "sample_ratio": 2},
            {"data": draw, "rois": boxes},
            2,
        )


def recurrent(family: str, mode: str, steps: int, size: int, gradient: bool = False) -> Case:
    """A layer of a recurrent network."""
    gates = {"rnn_tanh": 1, "rnn_relu": 1, "gru": 3, "lstm": 4}[mode]
    count = gates * size * (size + size + 2)
    shapes = {"data": (steps, 2, size), "parameters": (count,), "state": (1, 2, size)}
    shapes |= {"state_cell": (1, 2, size)} if mode == "lstm" else {}
    reach = uniform(-(size**-0.5), size**-0.5)
    attrs = {"mode": mode, "state_size": size, "num_layers": 1}
    return Case(
        family, f"{mode} of {size}, {steps} steps", "RNN", shapes, attrs, {"parameters": reach}, gradient=gradient
    )


def _recurrent() -> Iterator[Case]:
    for mode in ("lstm", "gru", "rnn_tanh"):
        for steps, size in ((8, 64), (8, 512), (8, 1024)):
            yield recurrent("Recurrent layers", mode, steps, size)


def _halves() -> Iterator[Case]:
    family = "float16"
    for depth in (64, 4608):
        shapes = {"data": (8, depth), "weight": (32, depth), "bias": (32,)}
        yield from product(
            family, f"FullyConnected of {depth}", "FullyConnected", shapes, num_hidden=32, dtype="float16"
        )
    shapes = {"data": (1, 512, 7, 7), "weight": (32, 512, 3, 3), "bias": (32,)}
    yield from product(
        family,
        "Convolution 3x3 of 512",
        "Convolution",
        shapes,
        num_filter=32,
        kernel=(3, 3),
        pad=(1, 1),
        dtype="float16",
    )
    for word, draw in (("normal", normal), ("positive", uniform(0, 2))):
        for operator in ("sum", "mean", "softmax", "cumsum"):
            yield Case(
                family,
                f"{operator} of 4608 {word}",
                operator,
                {"data": (8, 4608)},
                {"axis": 1},
                {"data": draw},
                dtype="float16",
            )
        yield Case(
            family,
            f"global pooling {word}",
            "Pooling",
            {"data": (1, 16, 64, 64)},
            {"global_pool": True, "pool_type": "avg", "kernel": (1, 1)},
            {"data": draw},
            dtype="float16",
        )
        norm = {"data": (8, 4608), "gamma": (4608,), "beta": (4608,)}
        yield Case(family, f"LayerNorm of 4608 {word}", "LayerNorm", norm, {}, {"data": draw}, dtype="float16")


def _gradients() -> Iterator[Case]:
    family = "Gradients"
    wide = {"gradient": True}
    for title, data, filters, kernel, attrs in (
        ("Convolution 3x3 of 512", (2, 512, 7, 7), 32, (3, 3), {}),
        ("Convolution 3x3 of 16, 56x56", (4, 16, 56, 56), 16, (3, 3), {}),
        ("Convolution 3x3 to 512", (2, 16, 7, 7), 512, (3, 3), {}),
        ("Convolution 1x1 of 1024", (2, 1024, 7, 7), 256, (1, 1), {}),
        ("Convolution 3x3, stride 2", (2, 64, 28, 28), 64, (3, 3), {"stride": (2, 2)}),
        ("Convolution depthwise", (2, 64, 28, 28), 64, (3, 3), {"num_group": 64}),
    ):
        yield from convolutions(family, title, data, filters, kernel, **wide, **attrs)
    yield from convolutions(
        family, "Deconvolution 4x4", (2, 128, 8, 8), 64, (4, 4), transposed=True, stride=(2, 2), pad=(1, 1), **wide
    )
    yield from dense(family, "FullyConnected 512 of 4608", 512, 4608, 64, **wide)
    yield from dense(family, "FullyConnected 8 of 512 to 4608", 8, 512, 4608, **wide)
    yield from product(
        family, "batch_dot of 1024", "batch_dot", {"a": (2, 64, 1024), "b": (2, 1024, 512)}, given=2, **wide
    )
    for word, draw in (("normal", normal), ("about 10", shifted_normal)):
        for operator, size, data in (
            ("LayerNorm", 768, (64, 768)),
            ("InstanceNorm", 16, (2, 16, 56, 56)),
            ("GroupNorm", 4, (2, 16, 28, 28)),
        ):
            shapes = {"data": data, "gamma": (size,), "beta": (size,)}
            attrs = {"num_groups": size} if operator == "GroupNorm" else {}
            yield Case(family, f"{operator} {word}", operator, shapes, attrs, {"data": draw}, gradient=True)
        statistics = {"data": (8, 16, 28, 28), **dict.fromkeys(("gamma", "beta", "mean", "var"), (16,))}
        draws = {"data": draw, "var": positive}
        yield Case(family, f"BatchNorm {word}", "BatchNorm", statistics, {"fix_gamma": False}, draws, gradient=True)
        for kind in ("avg", "max"):
            attrs = {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "pool_type": kind}
            yield Case(
                family,
                f"Pooling {kind} {word}",
                "Pooling",
                {"data": (2, 16, 28, 28)},
                attrs,
                {"data": draw},
                gradient=True,
            )
        for operator in ("softmax", "log_softmax"):
            yield Case(
                family, f"{operator} of 4608 {word}", operator, {"data": (8, 4608)}, {}, {"data": draw}, gradient=True
            )
    labels = {"data": (16, 1000), "label": (16,)}
    yield Case(family, "SoftmaxOutput", "SoftmaxOutput", labels, {}, {"label": whole(1000)}, gradient=True)
    bias = {"a": (4608, 64), "b": (1, 64)}
    yield Case(family, "broadcast_add of 4608 rows", "broadcast_add", bias, {}, {}, 2, gradient=True)
    table = {"data": (4096,), "weight": (16, 64)}
    attrs = {"input_dim": 16, "output_dim": 64}
    yield Case(family, "Embedding, 256 of each row", "Embedding", table, attrs, {"data": whole(16)}, gradient=True)
    resize = {"height": 70, "width": 61}
    yield Case(
        family, "BilinearResize2D", "contrib.BilinearResize2D", {"data": (2, 16, 32, 32)}, resize, {}, gradient=True
    )
    for mode in ("lstm", "gru"):
        yield recurrent(family, mode, 8, 256, gradient=True)


CASES: tuple[Case, ...] = tuple(
    case
    for family in (
        _convolutions,
        _products,
        _pools,
        _normalizations,
        _reductions,
        _functions,
        _moved,
        _recurrent,
        _halves,
        _gradients,
    )
    for case in family()
)


def bound(mx: Any, symbol: Any, arrays: Mapping[str, np.ndarray], gradient: bool) -> tuple[list[str], list[np.ndarray]]:
    """(names, arrays): what a symbol gives, or with what its operands' gradients are when each output's is seeded numbers."""
    nd = {n: mx.nd.array(a, dtype=a.dtype) for n, a in arrays.items()}
    states = {n: nd[n] for n in symbol.list_auxiliary_states()}
    args = {n: nd[n] for n in symbol.list_arguments()}
    if not gradient:
        outputs = symbol.bind(mx.cpu(), args, aux_states=states).forward(is_train=False)
        return [""] * len(outputs), [o.asnumpy() for o in outputs]
    grads = {n: mx.nd.zeros(a.shape, dtype=a.dtype) for n, a in args.items()}
    executor = symbol.bind(mx.cpu(), args, grads, aux_states=states)
    outputs = executor.forward(is_train=True)
    random = np.random.default_rng(1)
    heads = [mx.nd.array(random.standard_normal(o.shape).astype("float32"), dtype=o.dtype) for o in outputs]
    executor.backward(heads)
    return [f"d{n}" for n in args], [grads[n].asnumpy() for n in args]


BOUNDS: dict[str, float] = {
    "Convolution, direct": 6,
    "Convolution 3x3 (Winograd)": 12,  # F(4,3): its output transform makes errors five times as large
    "Convolution, by lanes": 6,
    "Convolution in one and three dimensions, Deconvolution": 6,
    "FullyConnected": 6,
    "Products": 6,
    "Attention": 6,
    "Pooling": 5,
    "Normalizations and softmax": 3,
    "Reductions and running sums": 6,  # the mean of a million numbers of both signs has lost most of them
    "Functions of one number": 3,
    "Sampling and resizing": 24,  # coordinates are float32, as MXNet's: so much of a pixel is lost there
    "Recurrent layers": 10,
    "float16": 0.55,  # one rounding: float32 inside
    "Gradients": 7,
}
"""By family: what the largest error of ours may be, in the units of the table. tests/native/test_accuracy.py holds it to that."""
LOOSER = {"gelu from -4 to 4": 9.0}
"""Cases of their own: gelu below 0 is a small difference of large numbers (base/math.h)."""


def bound_of(case: Case) -> float:
    """Greatest error that is allowed."""
    return LOOSER.get(case.title, BOUNDS[case.family])


def computed(mx: Any, case: Case) -> list[np.ndarray]:
    """Results of the kernels in use: weights constant, as in a network; of a gradient, those of all operands."""
    arrays, symbol = case.arrays(), case.symbol(mx)
    if case.gradient:
        return bound(mx, symbol, arrays, True)[1]
    given = [*arrays][: case.given]
    net = mx.gluon.SymbolBlock(symbol, [mx.sym.var(n) for n in given])
    for name, parameter in net.collect_params().items():
        parameter.set_data(mx.nd.array(arrays[name], dtype=arrays[name].dtype))
    net.hybridize(static_alloc=True, static_shape=True)
    out = net(*(mx.nd.array(arrays[n], dtype=arrays[n].dtype) for n in given))
    return [o.asnumpy() for o in (out if isinstance(out, list | tuple) else (out,))]


def exactly(mx: Any, case: Case) -> tuple[list[str], list[np.ndarray]]:
    """(names, arrays): the same from our NumPy in float64."""
    from hybrid import native

    arrays = {n: a.astype("float64") for n, a in case.arrays().items()}
    before = native.use(None)
    try:
        return bound(mx, case.symbol(mx, "float64"), arrays, case.gradient)
    finally:
        native.use(before)


def deviation(got: np.ndarray, exact: np.ndarray, ulp: bool) -> tuple[float, float]:
    """(largest, root mean square) error in epsilons of the scale of what is exact, or in units of the last place."""
    if got.shape != exact.shape:
        return math.inf, math.inf
    kind = np.finfo(got.dtype)
    if ulp:
        unit = np.spacing(np.maximum(np.abs(exact), kind.smallest_normal).astype(got.dtype)).astype(np.float64)
    else:
        unit = np.float64(kind.eps) * (float(np.abs(exact).max(initial=0)) or 1.0)
    error = np.abs(got.astype(np.float64) - exact) / unit
    if not np.isfinite(error).all():
        return math.inf, math.inf
    return float(error.max(initial=0)), float(np.sqrt(np.mean(error**2))) if error.size else 0.0


def prepare(case: Case, where: Path) -> tuple[dict[str, str], list[str], list[np.ndarray]]:
    """(what an engine is asked to load, names of what it computes, the same from our NumPy in float64)."""
    import bridge
    import hybrid as mx

    arrays, symbol = case.arrays(), case.symbol(mx)
    prefix, onnx, inputs = where / "case", where / "case.onnx", where / "inputs.npz"
    symbol.save(f"{prefix}-symbol.json")
    states = set(symbol.list_auxiliary_states())
    names = [*arrays][: case.given]
    held = {
        f"{'aux' if n in states else 'arg'}:{n}": mx.nd.array(a, dtype=a.dtype)
        for n, a in arrays.items()
        if n not in names
    }
    mx.nd.save(f"{prefix}-0000.params", held)
    np.savez(inputs, **(arrays if case.gradient else {n: arrays[n] for n in names}))
    asked = {"prefix": str(prefix), "onnx": "" if case.gradient else str(onnx), "inputs": str(inputs)}
    if not case.gradient:
        shapes = {n: arrays[n].shape for n in names}
        try:
            bridge.convert(str(prefix), inputs=shapes, output=onnx, verify=False)
        except mx.MXNetError:  # it has no counterpart
            asked["onnx"] = ""
    told, exact = exactly(mx, case)
    return asked, told, exact
