"""A small network trained on 12 steps of 24 samples, whatever the number of ranks: ``training.py gluon|module|sparse STORE OUT``.

STORE "none" is training in one process, as MXNet's programs do it. Rank 0 writes the weights to OUT, and what it sent."""

import json
import sys

import mxnet as mx
import numpy as np

FORM, STORE, OUT = sys.argv[1:]
BATCH, STEPS = 24, 12
mx.random.seed(3)
np.random.seed(3)
store = mx.kv.create(STORE) if STORE != "none" else None
rank, size = (store.rank, store.num_workers) if store else (0, 1)
random = np.random.RandomState(7)
X = random.randn(BATCH * STEPS, 10).astype(np.float32)
Y = random.randint(0, 4, BATCH * STEPS).astype(np.float32)
own = np.concatenate(
    [np.arange(s * BATCH + rank * BATCH // size, s * BATCH + (rank + 1) * BATCH // size) for s in range(STEPS)]
)
X, Y = X[own], Y[own]


def gluon():
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(32, activation="tanh"), mx.gluon.nn.Dense(2000), mx.gluon.nn.Dense(4))
    net.initialize(mx.init.Xavier())
    if rank == 0:
        net.hybridize()  # ranks need not compute alike
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    net(mx.nd.zeros((1, 10)))
    schedule = mx.lr_scheduler.FactorScheduler(4, 0.5)
    settings = {"learning_rate": 0.1, "momentum": 0.9, "lr_scheduler": schedule}
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", settings, kvstore=store)
    for i in range(STEPS):
        part = slice(i * BATCH // size, (i + 1) * BATCH // size)
        with mx.autograd.record():
            value = loss(net(mx.nd.array(X[part])), mx.nd.array(Y[part]))
        value.backward()
        trainer.step(BATCH)
    return [p.data().asnumpy() for p in net.collect_params().values()]


def module():
    data = mx.sym.Variable("data")
    hidden = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=32, name="one"), act_type="relu")
    symbol = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=4, name="two"), name="softmax")
    batches = mx.io.NDArrayIter(X, Y, BATCH // size)
    made = mx.mod.Module(symbol)
    made.fit(
        batches,
        num_epoch=2,
        kvstore=store or "local",
        optimizer="sgd",
        optimizer_params={"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01},
        initializer=mx.init.Xavier(),
    )
    arguments, _ = made.get_params()
    return [arguments[name].asnumpy() for name in sorted(arguments)]


def sparse():
    table = mx.gluon.nn.Embedding(5000, 8, sparse_grad=True)
    head = mx.gluon.nn.Dense(4, in_units=8)
    table.initialize(mx.init.Xavier())
    head.initialize(mx.init.Xavier())
    params = {**table.collect_params(), **head.collect_params()}
    trainer = mx.gluon.Trainer(params, "sgd", {"learning_rate": 0.5}, kvstore=store)
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    words = np.abs(X * 1000).astype(np.int64) % 5000
    for i in range(STEPS):
        part = slice(i * BATCH // size, (i + 1) * BATCH // size)
        with mx.autograd.record():
            value = loss(head(table(mx.nd.array(words[part, :3])).mean(axis=1)), mx.nd.array(Y[part]))
        value.backward()
        trainer.step(BATCH)
        if i == 0 and store is not None:
            store._barrier()
            global first
            first = store._world.sent
    return [p.data().asnumpy() for _, p in sorted(params.items())]


first = 0
weights = {"gluon": gluon, "module": module, "sparse": sparse}[FORM]()
told = {"rank": rank, "size": size}
if store is not None:
    store._barrier()
    told["sent"] = store._world.sent - first
if rank == 0:
    np.savez(OUT, *weights, told=json.dumps(told))
