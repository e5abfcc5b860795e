"""Graphs cut over places by group2ctx: the numbers of one place, forward and backward, and parts that run at the same time."""

from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import nd, sym
from hybrid.eager.placed_op import MOST_PARTS

GROUPS = {"a": mx.cpu(0), "b": mx.cpu(1), "c": mx.cpu(2)}


def group(name: str) -> Any:
    return mx.AttrScope(ctx_group=name)


def branches() -> Any:
    """Two branches with batch normalization, that meet on a third place; one weight is used on two places."""
    data, shared = sym.var("data"), sym.var("shared")
    ends = []
    for name in "ab":
        with group(name):
            x = sym.FullyConnected(data, shared, num_hidden=12, no_bias=True, name=f"{name}1")
            x = sym.BatchNorm(x, fix_gamma=False, name=f"{name}2")
            ends.append(sym.FullyConnected(sym.Activation(x, act_type="tanh"), num_hidden=6, name=f"{name}3"))
    with group("c"):
        return sym.SoftmaxOutput(ends[0] * ends[1], name="softmax")


def chain() -> Any:
    """To and fro between places, with an output in the middle, and one that is read by its own place too."""
    data = sym.var("data")
    with group("a"):
        x = sym.FullyConnected(data, num_hidden=8, name="one")
        own = sym.tanh(x)
    with group("b"):
        y = sym.sigmoid(x, name="middle")
    with group("a"):
        z = sym.FullyConnected(own + y, num_hidden=4, name="two")
    with group("b"):
        return sym.Group([sym.LinearRegressionOutput(z, name="loss"), y, data * 2])


def blocked() -> Any:
    """A loss that nothing comes back to, behind a variable that is an output."""
    bias = sym.var("bias")
    with group("a"):
        loss = sym.SoftmaxOutput(
            sym.FullyConnected(sym.var("data"), bias=bias, num_hidden=3, name="fc"), name="softmax"
        )
        stopped = sym.BlockGrad(loss)
    with group("b"):
        other = sym.FullyConnected(loss, num_hidden=2, name="after")
        return sym.Group([sym.MakeLoss(sym.sum(stopped * 2) + sym.sum(other)), bias])


def layers() -> Any:
    """An unrolled network of two layers, each on a place."""
    data, weights = sym.var("data"), [sym.var("w0"), sym.var("w1")]
    states = [sym.var("h0"), sym.var("h1")]
    outputs = []
    for _ in range(5):
        x = data if not outputs else sym.tanh(outputs[-1])
        for i, name in enumerate("ab"):
            with group(name):
                joined = sym.broadcast_add(sym.dot(x, weights[i]), states[i])
                x = states[i] = sym.tanh(joined)
        outputs.append(x)
    with group("b"):
        return sym.MakeLoss(sym.add_n(*outputs))


NETWORKS = {"branches": branches, "chain": chain, "blocked": blocked, "layers": layers}
SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "layers": {"data": (4, 5), "w0": (5, 5), "w1": (5, 5), "h0": (4, 5), "h1": (4, 5)}
}


def numbers(network: Any, groups: Any, shapes: Any, requests: str, steps: int = 2) -> list[np.ndarray]:
    """Outputs, gradients and states of some steps."""
    made = network.simple_bind(mx.cpu(0), group2ctx=groups, grad_req=requests, **shapes)
    draw = np.random.default_rng(3)
    for array in (*made.arg_dict.values(), *made.aux_dict.values()):
        array[:] = draw.uniform(0.1, 1, array.shape)
    found = []
    for _ in range(steps):
        made.forward(is_train=True)
        losses = network.list_outputs()
        made.backward([nd.ones(o.shape) * (i + 1) for i, o in enumerate(made.outputs)] if len(losses) > 1 else None)
        found += [o.asnumpy() for o in made.outputs]
        found += [g.asnumpy() for g in made.grad_dict.values() if g is not None]
        found += [a.asnumpy() for a in made.aux_dict.values()]
    return [*found, *(o.asnumpy() for o in made.forward(is_train=False))]


@pytest.mark.parametrize("requests", ["write", "add"])
@pytest.mark.parametrize("name", NETWORKS)
def test_numbers_are_those_of_one_place(name: str, requests: str) -> None:
    network, shapes = NETWORKS[name](), SHAPES.get(name, {"data": (10, 7)})
    wanted = numbers(network, None, shapes, requests)
    got = numbers(network, GROUPS, shapes, requests)
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)  # fused otherwise, rounded otherwise


def test_arrays_are_where_their_nodes_are() -> None:
    made = chain().simple_bind(mx.cpu(5), group2ctx=GROUPS, data=(2, 3))
    made.forward(is_train=True)
    assert [o.context for o in made.outputs] == [mx.cpu(1), mx.cpu(1), mx.cpu(1)]
    assert made.arg_dict["one_weight"].context == made.grad_dict["one_weight"].context == mx.cpu(0)


def test_places_hand_over_what_they_have() -> None:
    """A layer goes on to its next step while the next layer has the last one; very long graphs are cut into fewer parts."""
    op = layers().simple_bind(mx.cpu(0), group2ctx=GROUPS, **SHAPES["layers"])._placed_op
    assert op is not None
    first = [i for i, p in enumerate(op.parts) if p.place == mx.cpu(0)]
    assert len(first) >= 5
    x = sym.var("data")
    for i in range(MOST_PARTS + 5):
        with group("ab"[i % 2]):
            x = sym.tanh(x)
    many = x.simple_bind(mx.cpu(0), group2ctx=GROUPS, data=(2,))
    many.forward(data=nd.array([0.5, -0.5]))
    single = x.simple_bind(mx.cpu(0), data=(2,))
    np.testing.assert_allclose(
        many.outputs[0].asnumpy(), single.forward(data=nd.array([0.5, -0.5]))[0].asnumpy(), rtol=1e-6
    )


def test_monitors_see_one_graph() -> None:
    seen = []
    made = branches().simple_bind(mx.cpu(0), group2ctx=GROUPS, data=(4, 3))
    made.set_monitor_callback(lambda name, array: seen.append(name))
    made.forward(is_train=False)
    assert {"a1_output", "b3_output", "softmax_output"} <= {*seen}


def test_module_over_groups_and_contexts() -> None:
    """Two halves of a batch, each on two places: the parameters after some steps are those of one place."""
    data = np.random.default_rng(0).normal(size=(16, 7)).astype(np.float32)
    label = np.arange(16) % 6
    found = []
    for contexts, groups in (
        (mx.cpu(0), None),
        ([mx.cpu(0), mx.cpu(1)], [{"a": mx.cpu(2), "b": mx.cpu(3), "c": mx.cpu(4)}, GROUPS]),
    ):
        x = sym.var("data")
        with group("a"):
            one = sym.FullyConnected(x, num_hidden=6, name="one")
        with group("b"):
            two = sym.FullyConnected(x, num_hidden=6, name="two")
        with group("c"):
            network = sym.SoftmaxOutput(sym.tanh(one) + sym.tanh(two), name="softmax")
        module = mx.mod.Module(network, context=contexts, group2ctxs=groups)
        batches = mx.io.NDArrayIter(data, label, batch_size=16)
        module.bind(batches.provide_data, batches.provide_label)
        weights = {n: nd.array(np.random.default_rng(len(n)).normal(size=s)) for n, s in
                   (("one_weight", (6, 7)), ("two_weight", (6, 7)), ("one_bias", (6,)), ("two_bias", (6,)))}  # fmt: skip
        module.init_params(arg_params=weights)
        module.init_optimizer(optimizer_params={"learning_rate": 0.1})
        for _ in range(3):
            batches.reset()
            for batch in batches:
                module.forward_backward(batch)
                module.update()
        found.append({n: a.asnumpy() for n, a in module.get_params()[0].items()})
    for name in found[0]:
        np.testing.assert_allclose(found[1][name], found[0][name], rtol=1e-5, atol=1e-6)
