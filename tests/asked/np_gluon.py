"""Gluon with arrays of mx.np: classes, shapes and numbers of what layers, losses, metrics, parameters and loaders give in that
mode. Left out: what MXNet refuses there although it takes it with arrays of mx.nd (cells, most losses, accuracy, clipping), which
is held against those in tests/gluon/test_np.py."""

from __future__ import annotations

import numpy as np

from .questions import ask, attempt, numbers


def array(mx, values):
    """An array of mx.np."""
    return mx.nd.array(values, dtype=values.dtype).as_np_ndarray()


def kind(value):
    """The class of an array, or of each in a list."""
    return [kind(v) for v in value] if isinstance(value, (list, tuple)) else type(value).__name__


def in_mode(mx, calls):
    """Answers in the mode, each in a scope of its own."""
    found = {}
    for name, call in calls.items():
        with mx.util.np_shape(True), mx.util.np_array(True):
            found[name] = attempt(call)
    return found


def fill(block):
    """Give a block's parameters numbers that differ everywhere."""
    for i, parameter in enumerate(block.collect_params().values()):
        if parameter.name.endswith("running_var"):
            values = numbers(*parameter.shape, seed=i, low=0.5, high=1.5)
        else:
            values = numbers(*parameter.shape, seed=i)
        parameter.set_data(values)


def forth_and_back(mx, block, *shapes, hybridize=False, dtype=np.float32):
    """Return what a block gives for inputs, and the gradients of all that has some."""
    inputs = [array(mx, numbers(*s, seed=7 + i).astype(dtype)) for i, s in enumerate(shapes)]
    block.initialize()
    if hybridize:
        block.hybridize()
    block(*inputs)
    fill(block)
    for x in inputs:
        x.attach_grad()
    with mx.autograd.record():
        out = block(*inputs)
        first = out[0] if isinstance(out, (list, tuple)) else out
        weighed = first * first
    weighed.backward()
    parameters = block.collect_params().values()
    gradients = [p.grad() for p in parameters if p.grad_req != "null"]
    return [kind(out), out, kind([x.grad for x in inputs]), [x.grad for x in inputs], kind(gradients), gradients]


@ask
def layers(mx, folder):
    """Answers of layers, imperatively and as graphs."""
    nn = mx.gluon.nn
    makers = {
        "dense": (lambda: nn.Dense(3), (2, 4)),
        "dense of cubes": (lambda: nn.Dense(3), (2, 4, 2)),
        "dense not flat": (lambda: nn.Dense(3, flatten=False, activation="relu"), (2, 4, 2)),
        "no bias": (lambda: nn.Dense(3, use_bias=False, activation="sigmoid"), (2, 4)),
        "activation": (lambda: nn.Activation("tanh"), (2, 4)),
        "softrelu": (lambda: nn.Activation("softrelu"), (2, 4)),
        "softsign": (lambda: nn.Activation("softsign"), (2, 4)),
        "leaky": (lambda: nn.LeakyReLU(0.1), (2, 4)),
        "prelu": (lambda: nn.PReLU(), (2, 4)),
        "elu": (lambda: nn.ELU(0.5), (2, 4)),
        "gelu": (lambda: nn.GELU(), (2, 4)),
        "swish": (lambda: nn.Swish(), (2, 4)),
        "flatten": (lambda: nn.Flatten(), (2, 3, 4)),
        "batch norm": (lambda: nn.BatchNorm(), (4, 3, 2)),
        "layer norm": (lambda: nn.LayerNorm(), (2, 3, 4)),
        "convolution": (lambda: nn.Conv2D(3, 3, padding=1, activation="relu"), (1, 2, 5, 4)),
        "one dim": (lambda: nn.Conv1D(3, 2), (1, 2, 5)),
        "transposed": (lambda: nn.Conv2DTranspose(2, 2, strides=2), (1, 2, 3, 3)),
        "max pooling": (lambda: nn.MaxPool2D(2), (1, 2, 4, 5)),
        "average": (lambda: nn.AvgPool2D(3, strides=1), (1, 2, 4, 5)),
        "global": (lambda: nn.GlobalAvgPool2D(), (1, 2, 4, 5)),
    }
    return in_mode(mx, {
        f"{name}{', graph' if hybridize else ''}": (
            lambda make=make, shape=shape, hybridize=hybridize: forth_and_back(mx, make(), shape, hybridize=hybridize)
        )
        for name, (make, shape) in makers.items()
        for hybridize in (False, True)
    })  # fmt: skip


@ask
def layers_together(mx, folder):
    """Answers of layers of layers, of embeddings and of recurrent layers."""
    nn, rnn = mx.gluon.nn, mx.gluon.rnn

    def sequence():
        net = nn.HybridSequential()
        net.add(nn.Dense(5, activation="relu"), nn.BatchNorm(), nn.Dropout(0.0), nn.Dense(2))
        return net

    def embedded():
        net = nn.Embedding(5, 3)
        net.initialize()
        fill(net)
        found = net(array(mx, np.array([[0, 3], [4, 1]], np.int32)))
        return [kind(found), found]

    def steps(layer, *more):
        net = layer(3, *more)
        net.initialize()
        x = array(mx, numbers(4, 2, 3))
        net(x)
        fill(net)
        states = net.begin_state(batch_size=2)
        out, last = net(x, states)
        return [kind(net(x)), net(x), kind(states), kind(out), kind(last), out, last]

    return in_mode(mx, {
        "sequence": lambda: forth_and_back(mx, sequence(), (3, 4)),
        "sequence, graph": lambda: forth_and_back(mx, sequence(), (3, 4), hybridize=True),
        "embedding": embedded, "lstm": lambda: steps(rnn.LSTM), "gru": lambda: steps(rnn.GRU, 2),
        "rnn": lambda: steps(rnn.RNN),
    })  # fmt: skip


@ask
def own_blocks(mx, folder):
    """Answers of blocks that compute by F.np, F.npx, methods and operators."""

    class Own(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.w = self.params.get("w", shape=(3, 4), init="ones", allow_deferred_init=True)
                self.fixed = self.params.get_constant("fixed", numbers(2, 4))

        def hybrid_forward(self, F, x, w, fixed):  # noqa: N803
            hidden = F.npx.relu(F.np.dot(x, w)) + fixed
            return F.np.concatenate([hidden[:, 1:3], F.np.exp(-hidden)], axis=1).sum(axis=1) * 2

    class Whole(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):  # noqa: N803
            return F.np.mean(x), F.np.sum(x, axis=0, keepdims=True), x > 0, (x * x).max()

    def whole(hybridize):
        net = Whole()
        net.hybridize(hybridize)
        found = net(array(mx, numbers(2, 3)))
        return [kind(found), found]

    return in_mode(mx, {
        "own": lambda: forth_and_back(mx, Own(), (2, 3)), "own, graph": lambda: forth_and_back(mx, Own(), (2, 3), hybridize=True),
        "whole": lambda: whole(False), "whole, graph": lambda: whole(True),
    })  # fmt: skip


@ask
def losses(mx, folder):
    """Answers of losses, and of their gradients."""
    loss = mx.gluon.loss
    pred, label = numbers(3, 4, seed=1), numbers(3, 4, seed=2)
    which = np.array([1, 0, 3], np.float32)
    weight = numbers(3, 1, seed=4, low=0.1)
    makers = {
        "l1": (lambda: loss.L1Loss(), label), "l2": (lambda: loss.L2Loss(), label),
        "sigmoid": (lambda: loss.SigmoidBCELoss(), (label > 0).astype(np.float32)),
        "from sigmoid": (lambda: loss.SigmoidBCELoss(from_sigmoid=True), (label > 0).astype(np.float32)),
        "softmax": (lambda: loss.SoftmaxCELoss(), which), "dense softmax": (lambda: loss.SoftmaxCELoss(sparse_label=False), label),
        "softmax of another axis": (lambda: loss.SoftmaxCELoss(axis=0), np.array([1, 0, 2, 1], np.float32)),
    }  # fmt: skip

    def run(make, target, hybridize, weighed):
        block = make()
        block.hybridize(hybridize)
        x, y = array(mx, np.abs(pred) if "from" in str(make) else pred), array(mx, target)
        x.attach_grad()
        with mx.autograd.record():
            found = block(x, y, array(mx, weight)) if weighed else block(x, y)
        found.backward()
        return [kind(found), found, kind(x.grad), x.grad]

    return in_mode(mx, {
        f"{name}{', graph' if hybridize else ''}{', weighed' if weighed else ''}": (
            lambda make=make, target=target, hybridize=hybridize, weighed=weighed: run(make, target, hybridize, weighed)
        )
        for name, (make, target) in makers.items()
        for hybridize in (False, True)
        for weighed in ((False, True) if name in ("l1", "l2", "softmax") else (False,))
    })  # fmt: skip


@ask
def training(mx, folder):
    """Answers of trainers: parameters after three steps of each optimizer."""
    gluon = mx.gluon
    makers = {
        "sgd": {"learning_rate": 0.1}, "momentum": {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}, "adam": {}, "rmsprop": {},
        "adagrad": {}, "adadelta": {}, "ftrl": {}, "nag": {"momentum": 0.9}, "signum": {}, "adamax": {}, "nadam": {}, "lamb": {},
        "lars": {},
    }  # fmt: skip

    def steps(name, options):
        net = gluon.nn.Dense(3, in_units=4)
        net.initialize()
        fill(net)
        trainer = gluon.Trainer(net.collect_params(), {"momentum": "sgd"}.get(name, name), dict(options))
        x, loss = array(mx, numbers(2, 4)), gluon.loss.L2Loss()
        for _ in range(3):
            with mx.autograd.record():
                found = loss(net(x), array(mx, numbers(2, 3)))
            found.backward()
            trainer.step(2)
        data = [p.data() for p in net.collect_params().values()]
        return [kind(data), data]

    return in_mode(
        mx, {name: lambda name=name, options=options: steps(name, options) for name, options in makers.items()}
    )


@ask
def parameters(mx, folder):
    """Answers of parameters, made in the mode and out of it, asked in it and out of it."""
    nn = mx.gluon.nn
    found = {}
    with mx.util.np_shape(True), mx.util.np_array(True):
        net = nn.Dense(2, in_units=3)
        net.initialize(mx.init.One())
        found["in"] = kind([net.weight.data(), net.weight.grad(), net.weight.list_data(), net.weight.list_grad()])
        found["variable"] = kind(net.weight.var())
        net.save_parameters(str(folder / "a.params"))
        other = nn.Dense(2, in_units=3)
        other.load_parameters(str(folder / "a.params"))
        found["loaded"] = other.weight.data()
        found["waiting"] = str(nn.Dense(2).weight.shape)
        constant = mx.gluon.Constant("c", numbers(2, 2))
        constant.initialize()
        found["constant"] = [kind(constant.data()), constant.data()]
        found["set"] = attempt(lambda: net.weight.set_data(array(mx, numbers(2, 3))))
        found["values"] = net.weight.data()
        net.collect_params().zero_grad()
        found["cleared"] = net.weight.grad()
        found["cast"] = attempt(
            lambda: [net.cast("float16"), kind(net.weight.data()), str(net.weight.data().dtype)][1:]
        )
    found["in, asked outside"] = kind(net.weight.data())
    return found


@ask
def helpers(mx, folder):
    """Answers of what is around networks: loaders, splits, clipping, metrics, files of networks."""
    gluon = mx.gluon

    def loader(workers):
        data = gluon.data.ArrayDataset(array(mx, numbers(5, 2)), np.arange(5).astype(np.float32))
        x, y = next(iter(gluon.data.DataLoader(data, 2, num_workers=workers)))
        return [kind([x, y]), x, y]

    def split():
        x = array(mx, numbers(4, 3))
        parts = gluon.utils.split_data(x, 2)
        loaded = gluon.utils.split_and_load(numbers(4, 3), [mx.cpu()])
        return [kind(parts), parts, kind(loaded), loaded]

    def metric(make, label, pred):
        measure = make()
        measure.update([array(mx, label)], [array(mx, pred)])
        name, value = measure.get()
        return [name, round(float(value), 5)]

    def files():
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(3, in_units=4, activation="relu"), gluon.nn.Dense(2, in_units=3))
        net.initialize()
        fill(net)
        net.hybridize()
        x = array(mx, numbers(2, 4))
        net(x)
        net.export(str(folder / "net"))
        again = gluon.SymbolBlock.imports(str(folder / "net-symbol.json"), ["data"], str(folder / "net-0000.params"))
        return [kind(again(x)), again(x)]

    score, which = numbers(4, 3, low=0.0), np.array([0, 2, 1, 1], np.float32)
    return in_mode(mx, {
        "loader": lambda: loader(0), "loader of two": lambda: loader(2), "split": split, "files": files,
        "top": lambda: metric(lambda: mx.metric.TopKAccuracy(2), which, score),
        "mae": lambda: metric(mx.metric.MAE, score, score * score), "mse": lambda: metric(mx.metric.MSE, score, score * score),
        "entropy": lambda: metric(mx.metric.CrossEntropy, which, score),
        "f1": lambda: metric(mx.metric.F1, (which > 0).astype(np.float32), score[:, :2]),
    })  # fmt: skip
