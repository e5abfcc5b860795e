"""The Gluon crash course: images through a DataLoader with workers, LeNet trained imperatively, saved and loaded."""

from mxnet import nd, gluon, init, autograd
from mxnet.gluon import nn
from mxnet.gluon.data.vision import datasets, transforms
import numpy as np, mxnet as mx
from time import time

rs = np.random.RandomState(0)
centers = rs.rand(10, 28, 28, 1) * 255


def fake(n):
    lab = rs.randint(0, 10, n).astype("int32")
    img = np.clip(centers[lab] + rs.normal(0, 30, (n, 28, 28, 1)), 0, 255).astype("uint8")
    return img, lab


class Fashion(gluon.data.ArrayDataset):
    def __init__(self, n):
        img, lab = fake(n)
        super().__init__(nd.array(img, dtype="uint8"), lab)


mnist_train = Fashion(256)
X, y = mnist_train[0]
print("X shape: ", X.shape, "X dtype", X.dtype, "y:", y, type(y))
X, y = mnist_train[0:10]
print(X.shape, y.shape)
transformer = transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.13, 0.31)])
print(transformer)
mnist_train = mnist_train.transform_first(transformer)
batch_size = 64
train_data = gluon.data.DataLoader(mnist_train, batch_size=batch_size, shuffle=False, num_workers=2)
valid_data = gluon.data.DataLoader(Fashion(128).transform_first(transformer), batch_size=batch_size, num_workers=0)
for data, label in train_data:
    print(data.shape, label.shape, data.dtype, label.dtype)
    print(data.mean(), label[:5].asnumpy())
    break


@mx.init.register
class Det(init.Initializer):
    def _init_weight(self, name, arr):
        r = np.random.RandomState(sum(map(ord, name)))
        arr[:] = r.normal(0, 0.1, arr.shape)


net = nn.Sequential()
net.add(
    nn.Conv2D(channels=6, kernel_size=5, activation="relu"),
    nn.MaxPool2D(pool_size=2, strides=2),
    nn.Conv2D(channels=16, kernel_size=3, activation="relu"),
    nn.MaxPool2D(pool_size=2, strides=2),
    nn.Flatten(),
    nn.Dense(120, activation="relu"),
    nn.Dense(84, activation="relu"),
    nn.Dense(10),
)
net.initialize(init=Det())
softmax_cross_entropy = gluon.loss.SoftmaxCrossEntropyLoss()
print(softmax_cross_entropy)
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})


def acc(output, label):
    return (output.argmax(axis=1) == label.astype("float32")).mean().asscalar()


for epoch in range(3):
    train_loss, train_acc, valid_acc = 0.0, 0.0, 0.0
    tic = time()
    for data, label in train_data:
        with autograd.record():
            output = net(data)
            loss = softmax_cross_entropy(output, label)
        loss.backward()
        trainer.step(batch_size)
        train_loss += loss.mean().asscalar()
        train_acc += acc(output, label)
    for data, label in valid_data:
        valid_acc += acc(net(data), label)
    print(
        "Epoch %d: loss %.3f, train acc %.3f, test acc %.3f"
        % (epoch, train_loss / len(train_data), train_acc / len(train_data), valid_acc / len(valid_data))
    )
net.save_parameters("net.params")
print(sorted(nd.load("net.params")))
net2 = nn.Sequential()
net2.add(
    nn.Conv2D(channels=6, kernel_size=5, activation="relu"),
    nn.MaxPool2D(pool_size=2, strides=2),
    nn.Conv2D(channels=16, kernel_size=3, activation="relu"),
    nn.MaxPool2D(pool_size=2, strides=2),
    nn.Flatten(),
    nn.Dense(120, activation="relu"),
    nn.Dense(84, activation="relu"),
    nn.Dense(10),
)
net2.load_parameters("net.params")
print(abs(net2(data) - net(data)).max())
preds = []
for i in range(5):
    x, lab = Fashion(5)[i]
    p = net2(transformer(x).expand_dims(axis=0)).argmax(axis=1)
    preds.append((int(p.astype("int32").asscalar()), int(lab)))
print(preds)
