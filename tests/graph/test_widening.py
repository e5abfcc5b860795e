"""float16 and bfloat16 networks keep float32 between operators, and are rounded where a user can see it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, native, nd, sym
from hybrid.execution.program import Program
from hybrid.gluon import nn
from hybrid.gluon.model_zoo import vision
from hybrid.ir.graph import Graph

from .optimizing import apply, counted, optimized, plainly, var

compiled = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")
SLOW = ("mobilenet0.25", "resnet18_v1")
HALF = float(np.finfo(np.float16).eps) / 2
"""Greatest change by rounding a number to float16 once, over its size."""


def named(name: str) -> Any:
    return sym.var(name)


def half(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float16)


def seeded(net: Any, shape: tuple[int, ...]) -> Any:
    """The network with He-normal weights, its statistics those of data of that shape."""
    rng = np.random.default_rng(0)
    net.initialize()
    net(nd.zeros(shape))
    for name, p in net.collect_params().items():
        if name.endswith("weight"):
            p.set_data(nd.array(rng.normal(size=p.shape) * np.sqrt(2 / np.prod(p.shape[1:]))))
        elif name.endswith("gamma"):
            p.set_data(nd.array(rng.uniform(0.8, 1.2, p.shape)))
    for _ in range(25):
        with autograd.record():
            y = net(nd.array(rng.uniform(-1, 1, shape)))
        y.backward()
    return net


@compiled
@pytest.mark.parametrize("name", ["mobilenetv2_0.25", *(pytest.param(n, marks=pytest.mark.slow) for n in SLOW)])
def test_a_deep_network_is_as_exact_as_its_outputs_can_be(name: str) -> None:
    """Against float64 on the same weights. Rounded after every operator they are 5 to 60 times as far off."""
    shape = (4, 3, 64, 64)
    net = seeded(vision.get_model(name, classes=16), shape)
    x = half(*shape, low=-1.0, high=1.0)
    net.cast("float16")
    net.hybridize()
    found = net(nd.array(x, dtype="float16")).asnumpy()
    net.cast("float64")
    wanted = net(nd.array(x, dtype="float64")).asnumpy()
    assert found.dtype == np.float16
    assert np.abs(found - wanted).max() <= 1.1 * HALF * np.abs(wanted).max()


def test_nothing_is_rounded_in_between() -> None:
    graph = sym.sqrt(sym.square(named("x") * 1.0) + named("b")).graph
    x = half(5, 7)
    found = optimized(graph, {"x": x, "b": x}, {})
    assert counted(found.main) == {"_fused_chain": 1}  # which reads x and b as they are, and rounds the result


def test_weights_are_widened_once_for_all_runs() -> None:
    graph = sym.FullyConnected(named("x"), num_hidden=3, name="fc").graph
    found = optimized(graph, {"x": half(2, 4)}, {"fc_weight": half(3, 4), "fc_bias": half(3)})
    assert counted(found.main)["Cast"] == 2 and counted(found.constant)["Cast"] >= 2


def test_what_follows_from_weights_alone_is_rounded_once() -> None:
    """As eager calls round it, and as who looks at it sees it."""
    w, x = half(3, 4), half(3, 4, seed=1)
    found = optimized((sym.exp(named("w")) * named("x")).graph, {"x": x}, {"w": w})
    assert counted(found.constant)["exp"] == 1
    (held,) = plainly(Graph(found.constant.outputs[:1]), {}, {"w": w})  # type: ignore[union-attr]
    rounded = np.exp(w.astype(np.float32)).astype(np.float16)
    np.testing.assert_array_equal(held.astype(np.float64), rounded.astype(np.float64))


@compiled
def test_what_decides_sees_what_a_user_sees() -> None:
    """Ties of the rounded numbers are ties to argmax, comparisons and floor: numbers behind the rounding decide nothing."""
    x = named("x")
    y = sym.exp(x * 0.001) * 1024  # close together: many are equal in float16
    ends = [
        y,
        sym.argmax(y, axis=1),
        sym.broadcast_equal(y, sym.max(y, axis=1, keepdims=True)),
        sym.floor(y),
        sym.topk(y, k=3),
    ]
    data = half(8, 200)
    shown, first, greatest, whole, top = Program(sym.Group(ends).graph).run({"x": data})
    assert len(np.unique(shown)) < data.size / 4
    np.testing.assert_array_equal(first, shown.argmax(1))
    np.testing.assert_array_equal(greatest, shown == shown.max(1, keepdims=True))
    np.testing.assert_array_equal(whole, np.floor(shown))
    np.testing.assert_array_equal(np.take_along_axis(shown, top.astype(int), 1), -np.sort(-shown, 1)[:, :3])


@compiled
def test_a_cast_rounds_wherever_a_user_has_put_one() -> None:
    x = np.random.default_rng(0).uniform(-2, 2, (4, 300)).astype(np.float32)
    there = sym.Cast(sym.Cast(sym.exp(named("x")), dtype="float16"), dtype="float32") * 3
    np.testing.assert_array_equal(
        Program(there.graph).run({"x": x})[0] / 3, Program(sym.exp(named("x")).graph).run({"x": x})[0].astype("f2")
    )
    back = sym.Cast(sym.exp(named("x")), dtype="float32")  # of float16: what it converts is a float16 number
    found = Program(back.graph).run({"x": x.astype(np.float16)})[0]
    np.testing.assert_array_equal(found, found.astype(np.float16))


@compiled
def test_numbers_of_the_network_are_those_of_its_dtype() -> None:
    """0.1 in float16 is 0.09998: what MXNet multiplies with, and what an exported file holds."""
    x = half(3, 50)
    found = Program((named("x") * 0.1).graph).run({"x": x})[0]
    np.testing.assert_array_equal(found, (x.astype("f4") * np.float32(np.float16(0.1))).astype("f2"))
    found = Program(sym.clip(named("x") * 1, -0.3, 0.7).graph).run({"x": x})[0]
    np.testing.assert_array_equal(found, np.clip(x, np.float16(-0.3), np.float16(0.7)))


@compiled
@pytest.mark.parametrize(
    ("first", "attrs", "wanted"),
    [
        ("clip", {"a_min": -2, "a_max": 0.1}, lambda x: np.clip(x, -2, np.float16(0.1))),
        ("clip", {"a_min": 0.3, "a_max": 2}, lambda x: np.clip(x, np.float16(0.3), 2)),
        ("_maximum_scalar", {"scalar": 0.7}, lambda x: np.maximum(x, np.float16(0.7))),
        ("_minimum_scalar", {"scalar": -0.3}, lambda x: np.minimum(x, np.float16(-0.3))),
    ],
)
def test_limits_are_those_that_half_precision_has(first: str, attrs: dict[str, Any], wanted: Any) -> None:
    """Seen where most of it is subtracted, without a rounding in between."""
    x = half(4, 5)
    limit = next(v for v in attrs.values() if abs(v) < 1)
    near = float(np.float16(0.99 * limit))
    y = apply("_mul_scalar", apply("_minus_scalar", apply(first, var("x"), **attrs), scalar=near), scalar=1024)
    want = (wanted(x.astype(np.float32)) - np.float32(near)) * np.float32(1024)
    (found,) = Program(Graph([y])).run({"x": x})
    np.testing.assert_array_equal(found, want.astype(np.float16))


@compiled
def test_outputs_in_between_are_the_rounded_numbers() -> None:
    """A tensor that is both an output and an input of more is rounded for the user alone."""
    y = sym.exp(named("x"))
    x = half(3, 100)
    shown, after = Program(sym.Group([y, sym.log(y)]).graph).run({"x": x})
    wide = np.exp(x.astype(np.float32))
    np.testing.assert_allclose(shown, wide, rtol=1.01 * HALF)
    np.testing.assert_allclose(after, x, atol=1e-3 * HALF + 1e-6, rtol=HALF)


def test_training_rounds_as_before() -> None:
    """Gradients read what the forward pass stored: the passes leave a training program alone."""
    graph = sym.exp(sym.relu(named("x"))).graph
    assert "Cast" not in counted(optimized(graph, {"x": half(2, 3)}, {}, training=True).main)


def test_what_only_moves_numbers_moves_half_of_the_bytes() -> None:
    moved = apply("transpose", apply("Concat", var("x"), var("y"), num_args=2, dim=1))
    graph = sym.Symbol([moved]).graph
    assert "Cast" not in counted(optimized(graph, {"x": half(2, 3), "y": half(2, 3)}, {}).main)


def test_what_begins_at_the_limits_of_its_dtype_stays_there() -> None:
    """A maximum of padding alone, of NaN or of -inf is the least number of the dtype."""
    pool = sym.Pooling(
        named("x") * 1, kernel=(2, 2), pad=(1, 1), stride=(2, 2), pool_type="max", pooling_convention="full"
    )
    x = half(1, 1, 2, 2)
    np.testing.assert_array_equal(
        Program(pool.graph).run({"x": x})[0], Program(pool.graph, native=False).run({"x": x})[0]
    )
    empty = sym.Pooling(named("x") * 1, kernel=(1, 1), pad=(1, 1), pool_type="max", pooling_convention="full")
    wanted = Program(empty.graph, native=False).run({"x": x})[0]
    assert wanted.min() == -65504
    np.testing.assert_array_equal(Program(empty.graph).run({"x": x})[0], wanted)

    x = half(1, 2, 4, 4)
    x[0, 0, :2, :2], x[0, 1, :2, 2:], x[0, 1, 2:, 2] = np.nan, -np.inf, np.inf
    wanted = x.astype(np.float32).reshape(1, 2, 2, 2, 2, 2).swapaxes(3, 4)
    wanted = np.fmax.reduce(wanted, axis=(-2, -1), initial=-65504.0)
    halves = sym.Pooling(named("x") * 1, kernel=(2, 2), stride=(2, 2), pool_type="max")
    for graph in (halves.graph, sym.cast(sym.relu(-halves), dtype="float32").graph):
        for training in (False, True):
            for compiled_too in (False, True):
                found = Program(graph, native=compiled_too, training=training).run({"x": x})[0]
                np.testing.assert_array_equal(found, wanted if graph is halves.graph else np.maximum(-wanted, 0))


@compiled
def test_bfloat16_too() -> None:
    x = nd.array(half(4, 60)).astype("bfloat16")
    found = Program(sym.log(sym.exp(named("x"))).graph).run({"x": x._read()})[0].astype(np.float32)
    np.testing.assert_array_equal(found, x.astype("float32").asnumpy())


@compiled
def test_blocks_in_half_precision_train_and_then_infer() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dense(8, in_units=4, activation="relu"), nn.Dense(2, in_units=8))
    net.initialize(mx.init.Xavier(magnitude=2))
    net.cast("float16")
    net.hybridize()
    x = nd.array(half(3, 4), dtype="float16")
    with autograd.record():
        y = net(x)
    y.backward()
    np.testing.assert_allclose(net(x).asnumpy(), y.asnumpy(), rtol=0, atol=8 * HALF * np.abs(y.asnumpy()).max())
