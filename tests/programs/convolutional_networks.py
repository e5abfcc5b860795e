"""Convolution and pooling by hand; LeNet, AlexNet, VGG, NiN, GoogLeNet, ResNet and DenseNet blocks."""

from mxnet import autograd, gluon, init, nd
from mxnet.gluon import nn
import numpy as np


def corr2d(X, K):
    h, w = K.shape
    Y = nd.zeros((X.shape[0] - h + 1, X.shape[1] - w + 1))
    for i in range(Y.shape[0]):
        for j in range(Y.shape[1]):
            Y[i, j] = (X[i : i + h, j : j + w] * K).sum()
    return Y


X = nd.array([[0, 1, 2], [3, 4, 5], [6, 7, 8]])
K = nd.array([[0, 1], [2, 3]])
print(corr2d(X, K))


class Conv2D(nn.Block):
    def __init__(self, kernel_size, **kwargs):
        super(Conv2D, self).__init__(**kwargs)
        self.weight = self.params.get("weight", shape=kernel_size)
        self.bias = self.params.get("bias", shape=(1,))

    def forward(self, x):
        return corr2d(x, self.weight.data()) + self.bias.data()


c = Conv2D((2, 2))
c.initialize(init.Constant(0.3))
print(c(X))
X = nd.ones((6, 8))
X[:, 2:6] = 0
Y = corr2d(X, nd.array([[1, -1]]))
print(X, Y)
conv2d = nn.Conv2D(1, kernel_size=(1, 2))
conv2d.initialize(init.Constant(0.1))
X = X.reshape((1, 1, 6, 8))
Y = Y.reshape((1, 1, 6, 7))
for i in range(10):
    with autograd.record():
        Y_hat = conv2d(X)
        l = (Y_hat - Y) ** 2
    l.backward()
    conv2d.weight.data()[:] -= 3e-2 * conv2d.weight.grad()
    if (i + 1) % 2 == 0:
        print("batch %d, loss %.3f" % (i + 1, l.sum().asscalar()))
print(conv2d.weight.data().reshape((1, 2)))


def comp_conv2d(conv2d, X):
    conv2d.initialize()
    X = X.reshape((1, 1) + X.shape)
    Y = conv2d(X)
    return Y.reshape(Y.shape[2:])


for cv in (
    nn.Conv2D(1, kernel_size=3, padding=1),
    nn.Conv2D(1, kernel_size=(5, 3), padding=(2, 1)),
    nn.Conv2D(1, kernel_size=3, padding=1, strides=2),
    nn.Conv2D(1, kernel_size=(3, 5), padding=(0, 1), strides=(3, 4)),
):
    print(comp_conv2d(cv, nd.random.uniform(shape=(8, 8))).shape)


def corr2d_multi_in(X, K):
    return nd.add_n(*[corr2d(x, k) for x, k in zip(X, K)])


def corr2d_multi_in_out(X, K):
    return nd.stack(*[corr2d_multi_in(X, k) for k in K])


X = nd.array([[[0, 1, 2], [3, 4, 5], [6, 7, 8]], [[1, 2, 3], [4, 5, 6], [7, 8, 9]]])
K = nd.array([[[0, 1], [2, 3]], [[1, 2], [3, 4]]])
print(corr2d_multi_in(X, K))
print(corr2d_multi_in_out(X, nd.stack(K, K + 1, K + 2)))


def pool2d(X, pool_size, mode="max"):
    p_h, p_w = pool_size
    Y = nd.zeros((X.shape[0] - p_h + 1, X.shape[1] - p_w + 1))
    for i in range(Y.shape[0]):
        for j in range(Y.shape[1]):
            Y[i, j] = X[i : i + p_h, j : j + p_w].max() if mode == "max" else X[i : i + p_h, j : j + p_w].mean()
    return Y


print(pool2d(X[0], (2, 2)), pool2d(X[0], (2, 2), "avg"))
X = nd.arange(16).reshape((1, 1, 4, 4))
print(
    nn.MaxPool2D(3)(X),
    nn.MaxPool2D(3, padding=1, strides=2)(X),
    nn.MaxPool2D((2, 3), padding=(1, 2), strides=(2, 3))(X),
    nn.AvgPool2D(3, padding=1, strides=2)(X),
)


def shapes(net, X):
    net.initialize()
    for l in net:
        X = l(X)
        print(l.name, "output shape:\t", X.shape)


lenet = nn.Sequential()
lenet.add(
    nn.Conv2D(6, 5, activation="sigmoid"),
    nn.MaxPool2D(2, 2),
    nn.Conv2D(16, 5, activation="sigmoid"),
    nn.MaxPool2D(2, 2),
    nn.Dense(120, activation="sigmoid"),
    nn.Dense(84, activation="sigmoid"),
    nn.Dense(10),
)
shapes(lenet, nd.random.uniform(shape=(1, 1, 28, 28)))
alex = nn.Sequential()
alex.add(
    nn.Conv2D(9, kernel_size=11, strides=4, activation="relu"),
    nn.MaxPool2D(pool_size=3, strides=2),
    nn.Conv2D(25, 5, padding=2, activation="relu"),
    nn.MaxPool2D(3, 2),
    nn.Conv2D(38, 3, padding=1, activation="relu"),
    nn.MaxPool2D(3, 2),
    nn.Dense(64, activation="relu"),
    nn.Dropout(0.5),
    nn.Dense(10),
)
shapes(alex, nd.random.uniform(shape=(1, 1, 224, 224)))


def vgg_block(n, c):
    blk = nn.Sequential()
    for _ in range(n):
        blk.add(nn.Conv2D(c, kernel_size=3, padding=1, activation="relu"))
    blk.add(nn.MaxPool2D(pool_size=2, strides=2))
    return blk


def vgg(arch):
    net = nn.Sequential()
    for n, c in arch:
        net.add(vgg_block(n, c))
    net.add(nn.Dense(40, activation="relu"), nn.Dropout(0.5), nn.Dense(10))
    return net


shapes(vgg(((1, 4), (1, 8), (2, 16))), nd.random.uniform(shape=(1, 1, 64, 64)))


def nin_block(c, k, s, p):
    blk = nn.Sequential()
    blk.add(
        nn.Conv2D(c, k, s, p, activation="relu"),
        nn.Conv2D(c, kernel_size=1, activation="relu"),
        nn.Conv2D(c, kernel_size=1, activation="relu"),
    )
    return blk


nin = nn.Sequential()
nin.add(
    nin_block(9, 11, 4, 0),
    nn.MaxPool2D(3, 2),
    nin_block(25, 5, 1, 2),
    nn.MaxPool2D(3, 2),
    nn.Dropout(0.5),
    nin_block(10, 3, 1, 1),
    nn.GlobalAvgPool2D(),
    nn.Flatten(),
)
shapes(nin, nd.random.uniform(shape=(1, 1, 96, 96)))


class Inception(nn.Block):
    def __init__(self, c1, c2, c3, c4, **kwargs):
        super(Inception, self).__init__(**kwargs)
        self.p1_1 = nn.Conv2D(c1, kernel_size=1, activation="relu")
        self.p2_1 = nn.Conv2D(c2[0], kernel_size=1, activation="relu")
        self.p2_2 = nn.Conv2D(c2[1], kernel_size=3, padding=1, activation="relu")
        self.p3_1 = nn.Conv2D(c3[0], kernel_size=1, activation="relu")
        self.p3_2 = nn.Conv2D(c3[1], kernel_size=5, padding=2, activation="relu")
        self.p4_1 = nn.MaxPool2D(pool_size=3, strides=1, padding=1)
        self.p4_2 = nn.Conv2D(c4, kernel_size=1, activation="relu")

    def forward(self, x):
        return nd.concat(self.p1_1(x), self.p2_2(self.p2_1(x)), self.p3_2(self.p3_1(x)), self.p4_2(self.p4_1(x)), dim=1)


def batch_norm(X, gamma, beta, moving_mean, moving_var, eps, momentum):
    if not autograd.is_training():
        X_hat = (X - moving_mean) / nd.sqrt(moving_var + eps)
    else:
        if len(X.shape) == 2:
            mean = X.mean(axis=0)
            var = ((X - mean) ** 2).mean(axis=0)
        else:
            mean = X.mean(axis=(0, 2, 3), keepdims=True)
            var = ((X - mean) ** 2).mean(axis=(0, 2, 3), keepdims=True)
        X_hat = (X - mean) / nd.sqrt(var + eps)
        moving_mean = momentum * moving_mean + (1.0 - momentum) * mean
        moving_var = momentum * moving_var + (1.0 - momentum) * var
    return gamma * X_hat + beta, moving_mean, moving_var


class BatchNorm(nn.Block):
    def __init__(self, num_features, num_dims, **kwargs):
        super(BatchNorm, self).__init__(**kwargs)
        shape = (1, num_features) if num_dims == 2 else (1, num_features, 1, 1)
        self.gamma = self.params.get("gamma", shape=shape, init=init.One())
        self.beta = self.params.get("beta", shape=shape, init=init.Zero())
        self.moving_mean = nd.zeros(shape)
        self.moving_var = nd.zeros(shape)

    def forward(self, X):
        if self.moving_mean.context != X.context:
            self.moving_mean = self.moving_mean.copyto(X.context)
        Y, self.moving_mean, self.moving_var = batch_norm(
            X, self.gamma.data(), self.beta.data(), self.moving_mean, self.moving_var, eps=1e-5, momentum=0.9
        )
        return Y


class Residual(nn.Block):
    def __init__(self, num_channels, use_1x1conv=False, strides=1, **kwargs):
        super(Residual, self).__init__(**kwargs)
        self.conv1 = nn.Conv2D(num_channels, kernel_size=3, padding=1, strides=strides)
        self.conv2 = nn.Conv2D(num_channels, kernel_size=3, padding=1)
        self.conv3 = nn.Conv2D(num_channels, kernel_size=1, strides=strides) if use_1x1conv else None
        self.bn1 = nn.BatchNorm()
        self.bn2 = nn.BatchNorm()

    def forward(self, X):
        Y = nd.relu(self.bn1(self.conv1(X)))
        Y = self.bn2(self.conv2(Y))
        if self.conv3:
            X = self.conv3(X)
        return nd.relu(Y + X)


class DenseBlock(nn.Block):
    def __init__(self, num_convs, num_channels, **kwargs):
        super(DenseBlock, self).__init__(**kwargs)
        self.net = nn.Sequential()
        for _ in range(num_convs):
            b = nn.Sequential()
            b.add(nn.BatchNorm(), nn.Activation("relu"), nn.Conv2D(num_channels, kernel_size=3, padding=1))
            self.net.add(b)

    def forward(self, X):
        for blk in self.net:
            X = nd.concat(X, blk(X), dim=1)
        return X


class Det(init.Initializer):
    n = 0

    def _init_weight(self, name, arr):
        Det.n += 1
        arr[:] = np.random.RandomState(Det.n).normal(0, 0.15, arr.shape)


net = nn.Sequential()
net.add(
    nn.Conv2D(8, 3, padding=1),
    BatchNorm(8, 4),
    nn.Activation("relu"),
    Inception(4, (3, 4), (2, 4), 4),
    Residual(16),
    Residual(8, True, 2),
    DenseBlock(2, 4),
    nn.BatchNorm(),
    nn.AvgPool2D(2, 2),
    nn.GlobalAvgPool2D(),
    nn.Dense(10),
)
net.initialize(Det())
print(net)
rs = np.random.RandomState(1)
X = nd.array(rs.rand(8, 3, 16, 16))
y = nd.array(rs.randint(0, 10, 8))
tr = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
L = gluon.loss.SoftmaxCrossEntropyLoss()
for i in range(4):
    with autograd.record():
        l = L(net(X), y)
    l.backward()
    tr.step(8)
    print("%.5f" % l.mean().asscalar())
print(net[1].moving_mean.reshape((-1,)), net[7].running_var.data())
print(net(X)[0])
