"""Things that nothing reads: gradients at loss heads, which have one all the same, fixed gammas, arguments of iterators."""

from __future__ import annotations

import warnings

import numpy as np

from .questions import ask, numbers

WAYS = {
    "BlockGrad": lambda fn, y: fn.BlockGrad(y),
    "through a function": lambda fn, y: fn.BlockGrad(fn.tanh(y)),
    "sign": lambda fn, y: fn.sign(y),
    "argmax": lambda fn, y: fn.argmax(y, axis=1),
    "zeros_like": lambda fn, y: fn.zeros_like(y),
    "comparison": lambda fn, y: y > 0.2,
    "one_hot": lambda fn, y: fn.one_hot(y, 3),
    "topk": lambda fn, y: fn.topk(y, k=2),
    "condition": lambda fn, y: fn.where(y > 0.2, fn.BlockGrad(y), fn.zeros_like(y)),
    "integers": lambda fn, y: fn.cast(fn.cast(y, "int32"), "float32"),
    "label": lambda fn, y: fn.SoftmaxOutput(fn.zeros_like(y), fn.argmax(y, axis=1)),
}

HEADS = {
    "SoftmaxOutput": lambda fn, x, label: fn.SoftmaxOutput(x, label),
    "MakeLoss": lambda fn, x, label: fn.MakeLoss(x * 2, grad_scale=3),
    "LinearRegressionOutput": lambda fn, x, label: fn.LinearRegressionOutput(x, fn.zeros_like(x)),
    "no head": lambda fn, x, label: fn.exp(x),
}


def _gradient(mx, function, pick=None, outside=None, **flags):
    """Gradient of the input of a block that is hybridized with these flags; imperatively without."""

    class Block(mx.gluon.HybridBlock):
        def hybrid_forward(self, fn, x, label):
            return function(fn, x, label)

    block = Block()
    if flags:
        block.hybridize(**flags)
    x, label = mx.nd.array(numbers(3, 4)), mx.nd.array([0, 1, 2])
    x.attach_grad()
    x.grad[:] = 7
    with mx.autograd.record():
        y = block(x * 1, label)
        y = y if pick is None else y[pick]
        y = y if outside is None else outside(y)
    y.backward()
    return x.grad


FLAGS = {"imperative": {}, "hybridized": {"active": True}, "static": {"static_alloc": True, "static_shape": True}}


@ask
def zeros_on_the_way(mx, folder):
    """Gradient of what lies behind a loss head behind what gives zeros, within one block and across its border."""
    found = {}
    for name, head in HEADS.items():
        for way, through in WAYS.items():
            for kind, flags in FLAGS.items():

                def inside(fn, x, label, head=head, through=through):
                    return fn.sum(through(fn, head(fn, x, label)))

                def beside(fn, x, label, inside=inside):
                    return fn.sum(x) + inside(fn, x, label)

                def outside(y, through=through):
                    return through(mx.nd, y).sum()

                calls = (inside, None), (beside, None), (head, outside)
                found[f"{name} {way} {kind}"] = [_gradient(mx, f, outside=end, **flags) for f, end in calls]
    return found


@ask
def other_outputs(mx, folder):
    """Gradient of one output of a block with loss heads at others: hybridized these are reached too, unless the block is small."""

    def small(fn, x, label):
        return [fn.sum(x), fn.SoftmaxOutput(x, label)]

    def large(fn, x, label):
        heads = fn.MakeLoss(fn.sin(x)), fn.BlockGrad(fn.MakeLoss(fn.sin(x * 2)))
        return [fn.sum(fn.tanh(fn.exp(x) * 0.1)), fn.SoftmaxOutput(fn.sin(x), label), *heads]

    return {
        f"{name} {kind} {pick}": _gradient(mx, block, pick, **flags)
        for name, block, count in (("small", small, 2), ("large", large, 4))
        for kind, flags in {**FLAGS, "not inlined": {"inline_limit": 0}, "inlined": {"inline_limit": 20}}.items()
        for pick in range(count)
    }


@ask
def executors(mx, folder):
    """Gradients of a bound graph with several outputs, of which loss heads get zeros, nothing or numbers."""
    x, label = mx.sym.var("x"), mx.sym.var("label")
    ends = [
        mx.sym.BlockGrad(mx.sym.MakeLoss(mx.sym.sin(x))),
        mx.sym.SoftmaxOutput(mx.sym.tanh(x), label),
        mx.sym.exp(x) * 0.1,
    ]
    given = [mx.nd.ones((3, 4)), mx.nd.zeros((3, 4)), mx.nd.array(numbers(3, 4, seed=1))]
    found = {}
    for which in ((0,), (1,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
        group = mx.sym.Group([ends[i] for i in which])
        shapes = {"x": (3, 4)} | ({"label": (3,)} if 1 in which else {})
        executor = group.simple_bind(mx.cpu(), grad_req="write", **shapes)
        executor.arg_dict["x"][:] = numbers(3, 4)
        executor.forward(is_train=True)
        executor.backward([given[i] for i in which])
        found[str(which)] = executor.grad_dict["x"].copy()
        if 2 not in which:
            executor.forward(is_train=True)
            executor.backward()
            found[f"{which} without"] = executor.grad_dict["x"].copy()
    return found


@ask
def fixed_gammas(mx, folder):
    """Gammas of batch normalization with fix_gamma, which a bound graph with gradients fills with ones, and of one without."""
    net = mx.sym.BatchNorm(mx.sym.var("data"), fix_gamma=True, name="fixed")
    net = mx.sym.BatchNorm(mx.sym.FullyConnected(net, num_hidden=3, name="fc"), fix_gamma=False, name="free")
    net = mx.sym.SoftmaxOutput(mx.sym.BatchNorm(net, fix_gamma=True, name="last"), name="softmax")
    found = {}
    for request in ("write", "add", "null", {"fc_weight": "write"}, {"data": "write"}):
        for training in (False, True):
            executor = net.simple_bind(mx.cpu(), data=(4, 5), grad_req=request)
            for array in executor.arg_dict.values():
                array[:] = numbers(*array.shape, low=2, high=3)
            executor.forward(is_train=training)
            executor.outputs[0].wait_to_read()
            found[f"{request} {training}"] = {
                n: executor.arg_dict[f"{n}_gamma"].copy() for n in ("fixed", "free", "last")
            }
    module = mx.mod.Module(net)
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_params(mx.init.Constant(0.5))
    module.init_optimizer(optimizer_params={"learning_rate": 0.1, "wd": 0.5})
    batch = mx.io.DataBatch([mx.nd.array(numbers(4, 5))], [mx.nd.array([0, 1, 2, 0])])
    for step in range(3):
        module.forward(batch)
        module.backward()
        module.update()
        found[f"step {step}"] = {n: module.get_params()[0][f"{n}_gamma"].copy() for n in ("fixed", "free", "last")}
    return found


@ask
def unknown_arguments(mx, folder):
    """Iterators over files that get arguments of others, and ones that nobody knows."""
    np.savetxt(folder / "data.csv", numbers(4, 3), delimiter=",")
    (folder / "data.svm").write_text("1 0:1 2:3\n0 1:2\n")
    (folder / "images").write_bytes(np.array([2051, 4, 28, 28], ">i4").tobytes() + bytes(range(196)) * 16)
    (folder / "labels").write_bytes(np.array([2049, 4], ">i4").tobytes() + bytes(range(4)))
    makers = {
        "csv": lambda **more: mx.io.CSVIter(data_csv=str(folder / "data.csv"), data_shape=(3,), batch_size=2, **more),
        "svm": lambda **more: mx.io.LibSVMIter(
            data_libsvm=str(folder / "data.svm"), data_shape=(3,), batch_size=2, **more
        ),
        "mnist": lambda **more: mx.io.MNISTIter(
            image=str(folder / "images"), label=str(folder / "labels"), batch_size=2, shuffle=False, **more
        ),
    }
    found = {}
    for kind, make in makers.items():
        for name, value in (("input_shape", (28,)), ("nonsense", "x"), ("batch_size_", 3)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                batch = make(**{name: value}).next()
            found[f"{kind} {name}"] = [batch.data[0].tostype("default"), batch.label[0].tostype("default")]
    return found
