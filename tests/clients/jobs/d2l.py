"""The d2l book's first chapters, from scratch and concise: regressions, a LeNet, a recurrent network, on drawn data by mx.np."""

import numpy as onp
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import nn, rnn

npx.set_np()
random = onp.random.RandomState(0)


def report(name, *values):
    print("NUMBER", name, *(repr(float(v)) for v in values))


def drawn(*shape):
    return np.array(random.randn(*shape).astype("float32"))


def filled(net, *inputs):
    """Parameters from NumPy's generator, after a first call has told their shapes."""
    net.initialize()
    net(*inputs)
    for _, p in sorted(net.collect_params().items()):
        p.set_data(drawn(*p.shape) * 0.1)
    return net


def sgd(params, lr, batch_size):
    for param in params:
        param[:] = param - lr * param.grad / batch_size


def linear_regression_from_scratch():
    true_w, true_b = np.array([2, -3.4]), 4.2
    features = drawn(200, 2)
    labels = np.dot(features, true_w) + true_b
    w, b = np.zeros((2, 1)), np.zeros(1)
    w.attach_grad()
    b.attach_grad()
    for _ in range(3):
        for i in range(0, 200, 10):
            x, y = features[i : i + 10], labels[i : i + 10]
            with autograd.record():
                y_hat = np.dot(x, w) + b
                loss = (y_hat - y.reshape(y_hat.shape)) ** 2 / 2
            loss.backward()
            sgd([w, b], 0.03, 10)
    report("linear regression", *w.asnumpy().ravel(), b)
    net = nn.Sequential()
    net.add(nn.Dense(1))
    net.initialize(init.Constant(0.01))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.03})
    l2 = gluon.loss.L2Loss()
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(features, labels), 10, shuffle=False)
    for x, y in data:
        with autograd.record():
            value = l2(net(x), y)
        value.backward()
        trainer.step(10)
    report("concise", *net[0].weight.data().asnumpy().ravel(), value.mean())


def softmax_regression_from_scratch():
    x, y = drawn(60, 8), np.array(random.randint(0, 3, 60))
    w, b = drawn(8, 3) * 0.1, np.zeros(3)
    w.attach_grad()
    b.attach_grad()
    for _ in range(5):
        with autograd.record():
            e = np.exp(np.dot(x, w) + b)
            y_hat = e / e.sum(1, keepdims=True)
            value = -np.log(y_hat[range(60), y])
        value.backward()
        sgd([w, b], 0.5, 60)
    report("softmax regression", value.mean(), (y_hat.argmax(axis=1).astype(y.dtype) == y).sum())


def lenet():
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(6, 5, padding=2, activation="sigmoid"), nn.AvgPool2D(2, 2), nn.Conv2D(16, 5, activation="sigmoid"),
        nn.AvgPool2D(2, 2), nn.Dense(20, activation="sigmoid"), nn.BatchNorm(), nn.Dense(10),
    )  # fmt: skip
    x, y = drawn(8, 1, 28, 28), np.array(random.randint(0, 10, 8))
    filled(net, x)
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(4):
        with autograd.record():
            value = loss(net(x), y)
        value.backward()
        trainer.step(8)
    report("lenet", value.mean())


def recurrent():
    ids = np.array(random.randint(0, 12, (5, 3)))
    layer, dense = rnn.LSTM(16), nn.Dense(12)
    x = npx.one_hot(ids, 12)
    layer.initialize()
    state = layer.begin_state(batch_size=3)
    filled(layer, x, state)
    filled(dense, np.zeros((1, 16)))
    trainer = gluon.Trainer({**layer.collect_params(), **dense.collect_params()}, "sgd", {"learning_rate": 0.5})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    for _ in range(4):
        with autograd.record():
            out, _ = layer(x, state)
            value = loss(dense(out.reshape(-1, out.shape[-1])), ids.reshape(-1)).mean()
        value.backward()
        trainer.step(1)
    report("lstm", value)


def attention():
    queries, keys, values = drawn(2, 3, 4), drawn(2, 5, 4), drawn(2, 5, 6)
    scores = npx.batch_dot(queries, keys, transpose_b=True) / np.sqrt(4.0)
    mask = npx.sequence_mask(np.swapaxes(scores, 1, 2).swapaxes(0, 1), np.array([2, 4]), True, value=-1e6)
    weights = npx.softmax(mask.swapaxes(0, 1).swapaxes(1, 2), axis=-1)
    report("attention", npx.batch_dot(weights, values).sum(), weights.max())


for chapter in (linear_regression_from_scratch, softmax_regression_from_scratch, lenet, recurrent, attention):
    chapter()
