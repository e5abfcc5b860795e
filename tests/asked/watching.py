"""Monitors and operator hooks, forward and backward, and the places of groups' nodes."""

# ruff: noqa: N803  F as in every MXNet program
from __future__ import annotations

import ctypes

import numpy as np

from .questions import ask, attempt, numbers, plain

UNSEEN = ("head_grad", "sum_grad", "bn_backward_output3", "bn_backward_output4", "softmax_backward_output1")
"""Parts of the names of what MXNet adds up in nodes of their own, and of gradients that are zeros, of moving statistics and labels:
not shown here; neither are inputs of backward operators."""


def text(name):
    """The name as text: it may be bytes."""
    return name.decode() if isinstance(name, bytes) else str(name)


def watcher(mx, seen):
    """Callback that takes note of arrays by name, which may be given as addresses."""

    def show(name, *given):
        array = mx.nd.NDArray(ctypes.cast(given[-1], mx.base.NDArrayHandle), writable=False)
        if not any(part in text(name) for part in UNSEEN):
            seen[text(name)] = array.asnumpy()

    return show


def network(F, x, label=None, **given):
    """Operators whose inputs and outputs have names and such whose have none, one read twice, a norm; with a label a loss."""
    x = F.FullyConnected(x, num_hidden=4, name="fc", **given)
    x = (
        F.BatchNorm(F.Activation(x, act_type="tanh", name="act"), fix_gamma=False, name="bn")
        if label is not None
        else F.tanh(x)
    )
    x = F.broadcast_add(F.square(x, name="sq"), F.slice_axis(x, axis=1, begin=0, end=1, name="cut"), name="sum")
    return x if label is None else F.SoftmaxOutput(x, label, name="softmax")


@ask
def monitors(mx, _):
    """Names and numbers that a monitor of an executor sees; not their order, in which the engines differ."""
    symbol, found = network(mx.sym, mx.sym.var("data"), mx.sym.var("label")), {}
    for everything in (False, True):
        made = symbol.simple_bind(mx.cpu(), data=(12, 5), label=(12,))
        for i, (_name, array) in enumerate(sorted(made.arg_dict.items())):
            array[:] = numbers(*array.shape, seed=i)
        made.arg_dict["label"][:] = np.arange(12) % 4
        seen = {}
        made.set_monitor_callback(watcher(mx, seen), everything)
        made.forward(is_train=True)
        mx.nd.waitall()
        found[f"forward {everything}"] = dict(sorted(seen.items()))
        seen.clear()
        made.backward()
        mx.nd.waitall()
        found[f"backward {everything}"] = {k: v for k, v in sorted(seen.items()) if "_backward_output" in k}
    return found


@ask
def hooks(mx, _):
    """Names and numbers that operator hooks of a hybridized block see."""

    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, w, b):
            return network(F, x, weight=w, bias=b)

    found = {}
    for everything in (False, True):
        net = Net()
        net.hybridize()
        seen = {}
        net.register_op_hook(watcher(mx, seen), everything)
        given = [mx.nd.array(numbers(*s, seed=i)) for i, s in enumerate(((3, 5), (4, 5), (4,)))]
        for array in given:
            array.attach_grad()
        with mx.autograd.record():
            out = net(*given)
        mx.nd.waitall()
        found[f"forward {everything}"] = dict(sorted(seen.items()))
        seen.clear()
        out.backward()
        mx.nd.waitall()
        found[f"backward {everything}"] = dict(sorted(seen.items()))
        found[f"gradients {everything}"] = [array.grad for array in given]
    return found


@ask
def groups(mx, _):
    """Contexts of arguments, states and outputs of bound symbols, by their ctx_group and without."""
    found = {}
    places = {"one": mx.cpu(1), "two": mx.cpu(2)}

    def bound(symbol, **shapes):
        made = symbol.simple_bind(mx.cpu(5), grad_req="null", group2ctx=places, **shapes)
        made.forward()
        held = {**made.arg_dict, **made.aux_dict}
        return [{k: str(held[k].context) for k in sorted(held)}, [str(y.context) for y in made.outputs]]

    with mx.AttrScope(ctx_group="one"):
        a = mx.sym.var("a")
        r = mx.sym.relu(a, name="r")
    with mx.AttrScope(ctx_group="two"):
        b = mx.sym.var("b")
        t = mx.sym.broadcast_add(r, b, name="t")
    c = mx.sym.var("c")
    found["follows"] = attempt(lambda: bound(r * 2, a=(2,)))
    found["each"] = attempt(lambda: bound(mx.sym.Group([r * 2, t * 3, c]), a=(2,), b=(2,), c=(2,)))
    found["first input"] = attempt(lambda: bound(mx.sym.Group([r + c, c + t, t + r]), a=(2,), b=(2,), c=(2,)))
    with mx.AttrScope(ctx_group="one"):
        f = mx.sym.BatchNorm(mx.sym.FullyConnected(c, num_hidden=2, name="f"), name="n")
    g = mx.sym.FullyConnected(c, num_hidden=2, name="g")
    found["states"] = attempt(lambda: bound(mx.sym.Group([mx.sym.relu(f) + g, g]), c=(2, 3)))
    z = mx.sym.zeros((2,))
    found["no inputs"] = attempt(lambda: bound(mx.sym.Group([z + r, z]), a=(2,)))
    found["none"] = attempt(lambda: bound(c * 2, c=(2,)))
    with mx.AttrScope(ctx_group="three"):
        q = mx.sym.relu(c)
    found["not named"] = "raises" in attempt(lambda: bound(q, c=(2,)))
    for ctx in (0, 1):
        for tag, given in (("without", None), ("with", {"one": mx.cpu(1)})):
            x = mx.nd.ones((2,), mx.cpu(ctx))
            call = lambda x=x, given=given: str(r.bind(mx.cpu(0), {"a": x}, group2ctx=given).outputs[0].context)  # noqa: E731
            found[f"bind {ctx} {tag}"] = attempt(call)
    loss = mx.sym.SoftmaxOutput(f, name="softmax")
    for tag, given in (
        ("dict", {"one": mx.cpu(3)}),
        ("list", [{"one": mx.cpu(3)}, None]),
        ("lists", {"one": [mx.cpu(3), mx.cpu(4)]}),
    ):

        def module(given=given):
            made = mx.mod.Module(loss, data_names=["c"], context=[mx.cpu(0), mx.cpu(1)], group2ctxs=given)
            made.bind([("c", (4, 3))], [("softmax_label", (4,))])
            made.init_params(mx.init.One())
            made.forward(mx.io.DataBatch([mx.nd.array(numbers(4, 3))], [mx.nd.ones((4,))]), is_train=True)
            made.backward()
            own = [{k: str(v.context) for k, v in sorted(e.arg_dict.items())} for e in made._exec_group.execs]
            return [
                own,
                [str(y.context) for y in made.get_outputs(merge_multi_context=False)[0]],
                made.get_outputs()[0],
            ]

        found[f"module {tag}"] = attempt(module)
    return plain(found)
