"""Mixed precision: what MXNet's CPU cannot compute, and so could not be asked (tests/asked/precision.py has the rest)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import autograd, gluon, nd, sym
from hybrid.contrib import amp
from hybrid.core import functions
from tests.asked.precision import NETS, nodes_of
from tests.asked.questions import numbers
from tests.undone import amp_undone

KINDS = ["float16", "bfloat16"]
EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


@pytest.fixture
def init() -> Iterator[Callable[..., None]]:
    """amp.init, undone at the end."""
    with amp_undone():
        yield amp.init


def name_of(array: Any) -> str:
    return np.dtype(array.dtype).name


class Doubling(mx.operator.CustomOp):
    def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.assign(out_data[0], req[0], in_data[0] * 2)


@mx.operator.register("amp_doubling")
class DoublingProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Doubling:
        return Doubling()


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_are_cast_both_ways(kind: str, init: Callable[..., None]) -> None:
    """As on MXNet's GPUs; its CPUs leave float16 as it is where a function wants float32."""
    before = nd.FullyConnected
    init(kind)
    init("float64")  # only the first one counts, and not even looked at
    x, w, whole = nd.array(numbers(2, 3)), nd.array(numbers(4, 3)), nd.array([0, 1], dtype="int32")
    either = "float16" if kind == "float16" else "float32"  # of bfloat16, MXNet's lists leave less
    low, double = x.astype(kind), x.astype("float64")
    rows: dict[str, tuple[Callable[[], Any], str]] = {
        "dense": (lambda: nd.FullyConnected(x, w, num_hidden=4, no_bias=True), kind),
        "dense by name": (lambda: nd.FullyConnected(data=low, weight=w, num_hidden=4, no_bias=True), kind),
        "dense of low": (lambda: nd.op.FullyConnected(low, w.astype(kind), num_hidden=4, no_bias=True), kind),
        "dense held before": (lambda: before(x, w, num_hidden=4, no_bias=True), "float32"),
        "double stays": (lambda: nd.FullyConnected(double, w.astype("float64"), num_hidden=4, no_bias=True), "float64"),
        "softmax": (lambda: nd.softmax(low), "float32"),
        "method": (lambda: low.softmax(), "float32"),
        "sum": (lambda: low.sum(), "float32"),
        "linalg": (lambda: nd.linalg.gemm2(low, low, transpose_b=True), "float32"),
        "custom": (lambda: nd.Custom(low, op_type="amp_doubling"), "float32"),
        "widest": (lambda: nd.broadcast_add(low, x), "float32"),
        "widest of low": (lambda: nd.broadcast_add(low, low), kind),
        "operator": (lambda: low + x, "float32"),
        "reflected": (lambda: x - low, "float32"),
        "by a number": (lambda: low * 3, either),
        "reciprocal": (lambda: 1 / low, "float32"),
        "power": (lambda: low**2, "float32"),
        "function": (lambda: nd.maximum(x, low), "float32"),
        "comparison": (lambda: low > x, "float32"),
        "overlaps": (lambda: nd.contrib.box_iou(nd.ones((1, 4)), nd.ones((1, 4), dtype=kind)), "float32"),
        "neither": (lambda: nd.relu(low), kind),
        "whole numbers": (lambda: nd.take(low, whole), either),
        "condition": (lambda: nd.Activation(low, act_type="softrelu"), "float32"),
        "no condition": (lambda: nd.Activation(low, act_type="relu"), kind),
    }
    wrong = {name: (name_of(call()), want) for name, (call, want) in rows.items() if name_of(call()) != want}
    assert not wrong
    got = nd.FullyConnected(x, w, num_hidden=4, no_bias=True).astype("float32").asnumpy()
    np.testing.assert_allclose(got, x.asnumpy() @ w.asnumpy().T, atol=2 * EPSILON[kind])
    into = nd.zeros((2, 3))
    nd.softmax(low, out=into)
    np.testing.assert_allclose(into.asnumpy(), nd.softmax(x).asnumpy(), atol=EPSILON[kind])
    assert name_of(sym.Custom(sym.var("x"), op_type="amp_doubling").eval(x=low)[0]) == "float32"


def test_what_init_refuses_and_the_switch_is_off(init: Callable[..., None]) -> None:
    for given, error in (
        ({"target_dtype": "float32"}, AssertionError),
        ({"target_dtype": "half"}, AssertionError),
        ({"fp32_ops": ["softmax", "sofmax"]}, AttributeError),
        ({"conditional_fp32_ops": [("Nobody", "a", ["b"])]}, AttributeError),
    ):
        with pytest.raises(error):
            init(**given)
    assert not amp.amp._amp_initialized and not functions.AROUND
    assert name_of(nd.softmax(nd.ones(3, dtype="float16"))) == "float16"
    with pytest.raises(AssertionError, match=r"amp\.init"):
        amp.init_trainer(None)
    with pytest.raises(AttributeError, match="float8"):
        _ = amp.amp.float8


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_running_means_of_a_norm_in_low_precision(kind: str, hybridized: bool, init: Callable[..., None]) -> None:
    """Auxiliary states are never casts of themselves, which would take what is written to them."""
    init(kind, target_precision_ops=["BatchNorm"])
    net = gluon.nn.BatchNorm(in_channels=3, momentum=0.5)
    net.initialize()
    net.hybridize(hybridized)
    x = nd.array(numbers(8, 3, low=1.0, high=2.0))
    with autograd.record():
        y = net(x)
    y.backward()
    assert name_of(y) == kind
    np.testing.assert_allclose(net.running_mean.data().asnumpy(), x.asnumpy().mean(0) / 2, rtol=2 * EPSILON[kind])
    assert name_of(net.running_mean.data()) == "float32"


class Mixed(gluon.HybridBlock):
    """A convolution, a norm, a recurrent layer, attention of a kind, in one network."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.conv = gluon.nn.Conv2D(4, 3, in_channels=2)
            self.norm = gluon.nn.BatchNorm(in_channels=4)
            self.lstm = gluon.rnn.LSTM(5, input_size=16, layout="NTC")
            self.layer = gluon.nn.LayerNorm(in_channels=5)
            self.dense = gluon.nn.Dense(3, in_units=20)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        x = F.relu(self.norm(self.conv(x)))
        x = self.lstm(F.reshape(x, shape=(0, 0, -1)))
        scores = F.softmax(F.batch_dot(x, x, transpose_b=True) / 2)
        return self.dense(self.layer(x + F.batch_dot(scores, x)))


def train(kind: str | None, hybridized: bool, steps: int = 6) -> list[float]:
    net = Mixed()
    net.initialize()
    for i, param in enumerate(net.collect_params().values()):
        if "norm" not in param.name:
            param.set_data(nd.array(numbers(*param.shape, seed=i)) / 2)
    net.hybridize(hybridized)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02}, update_on_kvstore=False)
    if kind is not None:
        amp.init_trainer(trainer)
        trainer._amp_loss_scaler._loss_scale = trainer._amp_loss_scaler._next_loss_scale = (
            128.0  # no steps without effect
        )
    criterion, losses = gluon.loss.SoftmaxCrossEntropyLoss(), []
    x, labels = nd.array(numbers(6, 2, 6, 6)), nd.array([0, 1, 2, 0, 1, 2])
    for _ in range(steps):
        with autograd.record():
            loss = criterion(net(x), labels)
            if kind is None:
                loss.backward()
            else:
                with amp.scale_loss(loss, trainer) as scaled:
                    scaled.backward()
        assert {name_of(p.grad()) for p in net.collect_params().values() if p.grad_req != "null"} == {"float32"}
        trainer.allreduce_grads()
        if kind is not None:
            amp.unscale(trainer)
        trainer.update(6)
        losses.append(float(loss.mean().asscalar()))
    return losses


@pytest.mark.parametrize("kind", KINDS)
def test_training_is_that_in_float32_but_for_rounding(kind: str, init: Callable[..., None]) -> None:
    want = train(None, False)
    init(kind)
    eager, hybridized = train(kind, False), train(kind, True)
    assert want[-1] < 0.8 * want[0]
    np.testing.assert_allclose(eager, want, atol=8 * EPSILON[kind])
    np.testing.assert_allclose(hybridized, want, atol=8 * EPSILON[kind])
    assert eager != want and hybridized != want


def test_a_head_scales_its_own_gradient(init: Callable[..., None], caplog: pytest.LogCaptureFixture) -> None:
    init()
    x = nd.array(numbers(2, 3))
    x.attach_grad()
    for given, scale in (({}, 1.0), ({"grad_scale": 0.5}, 0.5)):
        with autograd.record():
            y = nd.SoftmaxOutput(x, nd.array([0, 2]), **given)
        y.backward()
        want = (nd.softmax(x).asnumpy() - np.array([[1, 0, 0], [0, 0, 1]], np.float32)) * 65536 * scale
        np.testing.assert_allclose(x.grad.asnumpy(), want, rtol=1e-5)
    sym.SoftmaxOutput(sym.var("x"), name="head")
    assert "SoftmaxOutput does not support dynamic loss scaling" in caplog.text


def values(name: str) -> tuple[Any, dict[str, Any], dict[str, Any], dict[str, Any]]:
    """A network of tests/asked/precision.py, its parameters, states, and inputs."""
    net = NETS[name][0](mx)
    shapes = {"residual": {"data": (2, 3, 8, 8)}, "encoder": {"tokens": (2, 5), "types": (2, 5)}}[name]
    arguments, _, states = net.infer_shape(**shapes)
    own = {n: nd.array(numbers(*s, seed=i)) / 2 for i, (n, s) in enumerate(zip(net.list_arguments(), arguments))}
    given = {n: own.pop(n) if n == "data" else (own.pop(n) > 0) for n in shapes}
    return net, own, {n: nd.ones(s) for n, s in zip(net.list_auxiliary_states(), states)}, given


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["residual", "encoder"])
def test_converted_models_compute_nearly_the_same(name: str, kind: str, optional: bool) -> None:
    net, own, aux, given = values(name)
    made, args, states = amp.convert_model(net, own, aux, kind, cast_optional_params=optional)
    assert {name_of(a) for a in args.values()} == ({"float32", kind} if optional else {"float32"})
    assert {name_of(a) for a in own.values()} == {"float32"}, "what was given stays"
    want = net.bind(mx.cpu(), {**own, **given}, aux_states=aux).forward()
    got = made.bind(mx.cpu(), {**args, **given}, aux_states=states).forward()
    for a, b in zip(got, want):
        assert name_of(a) == "float32"
        scale = np.abs(b.asnumpy()).max()
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), atol=4 * EPSILON[kind] * scale)
        assert (a.asnumpy() != b.asnumpy()).any()


def test_converted_blocks_compute(tmp_path: Any) -> None:
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Conv2D(4, 3, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dense(5), gluon.nn.PReLU())
    net.initialize()
    net.hybridize()
    x = nd.array(numbers(2, 3, 5, 5))
    want = net(x).asnumpy()
    for kind in KINDS:
        made = amp.convert_hybrid_block(net, kind, cast_optional_params=True)
        assert {name_of(p.data()) for p in made.collect_params().values()} == {"float32", kind}
        got = made(x)
        assert name_of(got) == "float32"
        np.testing.assert_allclose(got.asnumpy(), want, atol=4 * EPSILON[kind] * np.abs(want).max())
        made.export(str(tmp_path / kind), remove_amp_cast=False)
        again = gluon.SymbolBlock.imports(f"{tmp_path}/{kind}-symbol.json", ["data"], f"{tmp_path}/{kind}-0000.params")
        assert (again(x).asnumpy() == got.asnumpy()).all()


def test_dtypes_that_contradict_each_other_meet_in_float32() -> None:
    """MXNet's pass makes graphs here that its own inference refuses."""
    x = sym.FullyConnected(sym.var("data"), num_hidden=4, flatten=False, name="f")
    for made, casts in (
        (sym.contrib.interleaved_matmul_selfatt_valatt(x, sym.exp(sym.var("shares")), heads=1, name="y"), "f_output"),
        (sym.contrib.foreach(lambda a, s: (a + s, s), x, sym.var("state"), name="loop")[0], "f_output"),
        (sym.broadcast_like(sym.exp(sym.var("a")), x), None),
    ):
        rows = nodes_of(amp.convert_symbol(made, "bfloat16"))
        assert (f"amp_cast {casts}_amp_cast_float32 float32" in "\n".join(rows)) == (casts is not None)


def test_a_parameter_for_operators_of_both_kinds_stays_in_float32() -> None:
    """MXNet reads it without a cast in both, and so in float16 where float32 is wanted."""
    w, x = sym.var("w"), sym.var("data")
    both = sym.Group([sym.FullyConnected(x, w, num_hidden=3, no_bias=True, name="f"), sym.exp(w, name="e")])
    made = amp.convert_symbol(both, data_names=["data"], cast_optional_params=True)
    assert "null w 0" in nodes_of(made)
    assert "amp_cast w_amp_cast_float16 float16 2:0" in nodes_of(made)


def test_what_conversions_refuse() -> None:
    x = sym.var("data")
    grid = sym.GridGenerator(x, transform_type="affine", target_shape=(3, 3), name="grid")
    with pytest.raises(mx.MXNetError, match="'grid': GridGenerator does not compute in float16"):
        amp.convert_symbol(grid, target_dtype_ops=["GridGenerator"])
    other: Any = 5
    for call in (
        lambda: amp.convert_symbol(other),
        lambda: amp.convert_model(x, other, {}),
        lambda: amp.convert_model(x, {}, other),
        lambda: amp.convert_model(other, {}, {}),
        lambda: amp.amp.convert_bucketing_module(other),
    ):
        with pytest.raises(AssertionError):
            call()
