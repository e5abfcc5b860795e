"""Softmax regression and a perceptron from scratch and with Gluon; dropout; k-fold validation."""

from mxnet import autograd, nd, gluon, init
from mxnet.gluon import nn, loss as gloss, data as gdata
import numpy as np

rs = np.random.RandomState(5)
X = nd.array(rs.rand(200, 1, 8, 8))
Wt = rs.normal(size=(64, 10))
y = nd.array(np.argmax(X.asnumpy().reshape(200, 64) @ Wt, 1))
train_iter = gdata.DataLoader(gdata.ArrayDataset(X, y), 32, last_batch="keep")
print(len(train_iter))
num_inputs, num_outputs, num_hiddens = 64, 10, 32
W = nd.array(rs.normal(scale=0.01, size=(num_inputs, num_outputs)))
b = nd.zeros(num_outputs)
W.attach_grad()
b.attach_grad()
A = nd.array([[1, 2, 3], [4, 5, 6]])
print(A.sum(axis=0, keepdims=True), A.sum(axis=1, keepdims=True))


def softmax(X):
    X_exp = X.exp()
    partition = X_exp.sum(axis=1, keepdims=True)
    return X_exp / partition


def net(X):
    return softmax(nd.dot(X.reshape((-1, num_inputs)), W) + b)


def cross_entropy(y_hat, y):
    return -nd.pick(y_hat, y).log()


def evaluate_accuracy(data_iter, net):
    acc_sum, n = 0.0, 0
    for X, y in data_iter:
        y = y.astype("float32")
        acc_sum += (net(X).argmax(axis=1) == y).sum().asscalar()
        n += y.size
    return acc_sum / n


def sgd(params, lr, batch_size):
    for param in params:
        param[:] = param - lr * param.grad / batch_size


def train(net, loss, num_epochs, batch_size, params=None, lr=None, trainer=None):
    for epoch in range(num_epochs):
        train_l_sum, train_acc_sum, n = 0.0, 0.0, 0
        for X, y in train_iter:
            with autograd.record():
                y_hat = net(X)
                l = loss(y_hat, y).sum()
            l.backward()
            if trainer is None:
                sgd(params, lr, batch_size)
            else:
                trainer.step(batch_size)
            y = y.astype("float32")
            train_l_sum += l.asscalar()
            train_acc_sum += (y_hat.argmax(axis=1) == y).sum().asscalar()
            n += y.size
        print(
            "epoch %d, loss %.4f, train acc %.3f, test acc %.3f"
            % (epoch + 1, train_l_sum / n, train_acc_sum / n, evaluate_accuracy(train_iter, net))
        )


train(net, cross_entropy, 3, 32, [W, b], 0.5)
W1 = nd.array(rs.normal(scale=0.1, size=(num_inputs, num_hiddens)))
b1 = nd.zeros(num_hiddens)
W2 = nd.array(rs.normal(scale=0.1, size=(num_hiddens, num_outputs)))
b2 = nd.zeros(num_outputs)
params = [W1, b1, W2, b2]
for p in params:
    p.attach_grad()


def relu(X):
    return nd.maximum(X, 0)


def mlp(X):
    X = X.reshape((-1, num_inputs))
    H = relu(nd.dot(X, W1) + b1)
    return nd.dot(H, W2) + b2


train(mlp, gloss.SoftmaxCrossEntropyLoss(), 3, 32, params, 0.5)


def dropout(X, drop_prob):
    assert 0 <= drop_prob <= 1
    keep_prob = 1 - drop_prob
    if keep_prob == 0:
        return X.zeros_like()
    mask = nd.random.uniform(0, 1, X.shape) < keep_prob
    return mask * X / keep_prob


X8 = nd.arange(16).reshape((2, 8))
print(dropout(X8, 0), dropout(X8, 1))
d = dropout(X8, 0.5).asnumpy()
print(((d == 0) | (d == 2 * X8.asnumpy())).all())
x = nd.arange(-8.0, 8.0, 0.5)
x.attach_grad()
for fn in (lambda v: v.relu(), lambda v: v.sigmoid(), lambda v: v.tanh(), lambda v: nd.LeakyReLU(v, act_type="elu")):
    with autograd.record():
        yy = fn(x)
    yy.backward()
    print(yy[::5], x.grad[::5])
net = nn.Sequential()
net.add(nn.Dense(32, activation="relu"), nn.Dropout(0.0), nn.Dense(10))


class FN(init.Initializer):
    def _init_weight(self, name, arr):
        arr[:] = np.random.RandomState(arr.shape[0]).normal(scale=0.1, size=arr.shape)


net.initialize(FN())
tr = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
train(net, gloss.SoftmaxCrossEntropyLoss(), 3, 32, trainer=tr)


# kaggle style log rmse, k-fold
def get_net():
    net = nn.Sequential()
    net.add(nn.Dense(1))
    net.initialize(init.Constant(0.1))
    return net


def log_rmse(net, features, labels):
    clipped = nd.clip(net(features), 1, float("inf"))
    return nd.sqrt(2 * gloss.L2Loss()(clipped.log(), labels.log()).mean()).asscalar()


def kfold(k, i, X, y):
    fold = X.shape[0] // k
    Xt, yt = None, None
    for j in range(k):
        idx = slice(j * fold, (j + 1) * fold)
        Xp, yp = X[idx, :], y[idx]
        if j == i:
            Xv, yv = Xp, yp
        elif Xt is None:
            Xt, yt = Xp, yp
        else:
            Xt = nd.concat(Xt, Xp, dim=0)
            yt = nd.concat(yt, yp, dim=0)
    return Xt, yt, Xv, yv


Xh = nd.array(rs.rand(60, 5))
yh = nd.array(rs.rand(60) * 5 + 2)
for i in range(3):
    Xt, yt, Xv, yv = kfold(3, i, Xh, yh)
    n = get_net()
    t = gluon.Trainer(n.collect_params(), "adam", {"learning_rate": 0.5, "wd": 0})
    for e in range(3):
        for a, c in gdata.DataLoader(gdata.ArrayDataset(Xt, yt), 20):
            with autograd.record():
                l = gloss.L2Loss()(n(a), c)
            l.backward()
            t.step(20)
    print(i, log_rmse(n, Xt, yt), log_rmse(n, Xv, yv))
