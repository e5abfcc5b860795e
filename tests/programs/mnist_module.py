"""MNIST files read by MNISTIter, an MLP trained by Module.fit with checkpoints, scored, loaded and trained on."""

import mxnet as mx, numpy as np, logging, struct, gzip, sys, os

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
rs = np.random.RandomState(1)
cent = (rs.rand(10, 28, 28) > 0.7) * 200


def write(n, img, lab):
    y = rs.randint(0, 10, n).astype("uint8")
    x = np.clip(cent[y] + rs.randint(0, 50, (n, 28, 28)), 0, 255).astype("uint8")
    with open(img, "wb") as f:
        f.write(struct.pack(">IIII", 2051, n, 28, 28))
        f.write(x.tobytes())
    with open(lab, "wb") as f:
        f.write(struct.pack(">II", 2049, n))
        f.write(y.tobytes())


write(500, "train-images-idx3-ubyte", "train-labels-idx1-ubyte")
write(200, "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
train = mx.io.MNISTIter(
    image="train-images-idx3-ubyte",
    label="train-labels-idx1-ubyte",
    batch_size=50,
    shuffle=False,
    flat=True,
    silent=True,
)
val = mx.io.MNISTIter(
    image="t10k-images-idx3-ubyte", label="t10k-labels-idx1-ubyte", batch_size=50, shuffle=False, flat=True, silent=True
)
print(train.provide_data, train.provide_label)
data = mx.sym.Variable("data")
fc1 = mx.sym.FullyConnected(data=data, name="fc1", num_hidden=128)
act1 = mx.sym.Activation(data=fc1, name="relu1", act_type="relu")
fc2 = mx.sym.FullyConnected(data=act1, name="fc2", num_hidden=64)
act2 = mx.sym.Activation(data=fc2, name="relu2", act_type="relu")
fc3 = mx.sym.FullyConnected(data=act2, name="fc3", num_hidden=10)
mlp = mx.sym.SoftmaxOutput(data=fc3, name="softmax")


class Det(mx.init.Initializer):
    def _init_weight(self, name, arr):
        arr[:] = np.random.RandomState(len(name) + arr.size).normal(0, 0.05, arr.shape)


mod = mx.mod.Module(mlp, context=mx.cpu())
losses = []


def cb(param):
    losses.append((param.epoch, param.nbatch, param.eval_metric.get()))


mod.fit(
    train,
    eval_data=val,
    optimizer="sgd",
    optimizer_params={"learning_rate": 0.1, "momentum": 0.9},
    eval_metric=["acc", "ce"],
    num_epoch=2,
    initializer=Det(),
    batch_end_callback=[cb],
    epoch_end_callback=mx.callback.do_checkpoint("mlp"),
)
for l in losses:
    print(l)
print(mod.score(val, ["acc", mx.metric.TopKAccuracy(top_k=3), "ce"]))
prob = mod.predict(val)
print(prob.shape, prob[0])
print(sorted(f for f in os.listdir(".") if f.startswith("mlp")))
sym, arg, aux = mx.model.load_checkpoint("mlp", 2)
print(sym.list_arguments(), sorted(arg), aux)
mod2 = mx.mod.Module.load("mlp", 2)
mod2.bind(data_shapes=val.provide_data, label_shapes=val.provide_label, for_training=False)
print(mod2.score(val, "acc"), abs(mod2.predict(val) - prob).max())
m3 = mx.mod.Module(symbol=sym, label_names=None)
m3.bind(for_training=False, data_shapes=[("data", (1, 784))])
m3.set_params(arg, aux, allow_missing=True)
from collections import namedtuple

Batch = namedtuple("Batch", ["data"])
val.reset()
b = next(val)
m3.forward(Batch([b.data[0][:1]]))
print(m3.get_outputs()[0].asnumpy().argmax(), m3.output_shapes)
# resume
mod4 = mx.mod.Module(mlp)
mod4.fit(
    train,
    num_epoch=3,
    begin_epoch=2,
    arg_params=arg,
    aux_params=aux,
    optimizer_params=(("learning_rate", 0.01),),
    batch_end_callback=mx.callback.Speedometer(50, 5) if False else None,
)
print(mod4.score(val, "acc"))
