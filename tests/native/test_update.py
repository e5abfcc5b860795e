"""Steps of optimizers by the compiled part: what NumPy's rules give, in place, whatever the size."""

import numpy as np
import pytest

import hybrid as mx
from hybrid import native
from hybrid.core.op import lookup
from hybrid.ops import updating

from .single import Single, reference

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")

SIZES = [1, 15, 16, 17, 1000, 70001]
EPSILON = float(np.finfo("float32").eps)


@pytest.mark.parametrize("rule", updating.RULES)
@pytest.mark.parametrize("clip", [-1, 0.3])
@pytest.mark.parametrize("size", SIZES)
def test_rules(level, rule, clip, size):
    draw = np.random.default_rng(size)
    arrays = [draw.uniform(0.1, 1, size).astype("float32") for _ in ("weight", "grad", *updating.RULES[rule].states)]
    arrays[1][0] = np.nan
    arrays.append(np.array([0.1, 0.01, 0.5, clip, 0.9, 0.99, 1e-8], "float32"))
    op = lookup("_fused_update").bind(rule=rule)
    for threads in (1, 2):
        native.set_num_threads(threads)
        single = Single(op, arrays, threads=threads)
        assert single.there
        for got, want in zip(single.run(arrays), reference(op, arrays, single.specs), strict=True):
            np.testing.assert_allclose(got, want, rtol=8 * EPSILON, atol=4 * EPSILON)


OPERATORS = {
    "sgd_update": ("sgd", {"lr": 0.1, "wd": 0.01}),
    "sgd_mom_update": ("sgd_momentum", {"lr": 0.1, "wd": 0.01, "momentum": 0.9, "rescale_grad": 0.5}),
    "nag_mom_update": ("nag", {"lr": 0.1, "momentum": 0.9, "clip_gradient": 0.2}),
    "adam_update": ("adam", {"lr": 0.1, "beta1": 0.8, "beta2": 0.9, "epsilon": 1e-3}),
}


@pytest.fixture
def taken(monkeypatch):
    """Rules of the steps that the compiled part has taken."""
    found = []
    genuine = updating.update

    def update(rule, op, steps):
        done = genuine(rule, op, steps)
        if done:
            found.extend([rule] * len(steps))
        return done

    monkeypatch.setattr(updating, "update", update)
    return found


def arrays_for(rule, shape=(300, 7)):
    draw = np.random.default_rng(3)
    return [draw.uniform(0.1, 1, shape).astype("float32") for _ in ("weight", "grad", *updating.RULES[rule].states)]


def applied(name, arrays, out, level, **attrs):
    """The arrays after the operator has run on them as NDArrays, the output's last."""
    before = native.use(level)
    try:
        given = [mx.nd.array(a) for a in arrays]
        target = given[0] if out == "weight" else mx.nd.zeros(arrays[0].shape)
        getattr(mx.nd, name)(*given, out=target, **attrs)
        return [a.asnumpy() for a in (*given, target)]
    finally:
        native.use(before)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("out", ["weight", "other"])
def test_operators(level, taken, name, out):
    rule, attrs = OPERATORS[name]
    arrays = arrays_for(rule)
    want = applied(name, arrays, out, None, **attrs)
    assert not taken
    got = applied(name, arrays, out, level, **attrs)
    if len(updating.RULES[rule].states):  # small ones without states are done at once, by NumPy
        assert taken == [rule]
    for mine, theirs in zip(got, want, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=8 * EPSILON, atol=4 * EPSILON)


@pytest.mark.parametrize("name", ["multi_sgd_update", "multi_sgd_mom_update", "preloaded_multi_sgd_mom_update"])
def test_several(level, taken, name):
    rule = "sgd_momentum" if "mom" in name else "sgd"
    states = len(updating.RULES[rule].states)
    attrs = {"num_weights": 2, "rescale_grad": 0.5} | ({"momentum": 0.9} if states else {})
    rates = [np.array(r, "float32") for r in ((0.1, 0.2), (0.01, 0.0))]
    tail = rates if name.startswith("preloaded") else []
    if not tail:
        attrs |= dict(zip(("lrs", "wds"), (tuple(map(float, r)) for r in rates)))

    def run(which):
        before = native.use(which)
        try:
            blocks = [list(map(mx.nd.array, arrays_for(rule, shape))) for shape in ((300, 7), (11,))]
            given = [*blocks[0], *blocks[1], *map(mx.nd.array, tail)]
            getattr(mx.nd, name)(*given, out=[b[0] for b in blocks], **attrs)
            return [a.asnumpy() for a in given]
        finally:
            native.use(before)

    want = run(None)
    assert not taken
    for mine, theirs in zip(run(level), want, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=8 * EPSILON, atol=4 * EPSILON)
    assert taken == [rule] * 2


def test_what_stays_with_numpy(level, taken):
    """Other dtypes, and results that lie across an operand."""
    for dtype in ("float64", "float16"):
        weight, grad, mom = (mx.nd.array(a, dtype=dtype) for a in arrays_for("sgd_momentum"))
        mx.nd.sgd_mom_update(weight, grad, mom, out=weight, lr=0.1, momentum=0.9)
        mx.nd.waitall()
    memory = np.zeros(20, "float32")
    op = lookup("sgd_update").bind(lr=0.1)
    assert not op.compute_into([memory[:10], memory[5:15]], [memory[3:13]])
    assert not taken


def test_training(level, taken):
    """Gluon's trainer gets there."""
    net = mx.gluon.nn.Dense(5, in_units=4)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam")
    with mx.autograd.record():
        loss = net(mx.nd.ones((2, 4))).sum()
    loss.backward()
    trainer.step(2)
    mx.nd.waitall()
    assert taken == ["adam"] * 2
