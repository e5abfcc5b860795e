"""Hybrid blocks of several kinds, hooks, summary, export and imports, frozen features with a new output."""

import mxnet as mx, numpy as np, os, json, time
from mxnet import nd, sym, gluon, init, autograd
from mxnet.gluon import nn


def get_net(prefix=None):
    net = nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(2))
    net.initialize(init.Constant(0.01))
    return net


x = nd.array(np.random.RandomState(0).normal(size=(1, 512)))
net = get_net("mlp_")
print(net(x))
net.hybridize()
print(net(x))
net.export("my_mlp")
print(sorted(f for f in os.listdir(".") if "my_mlp" in f))
j = json.load(open("my_mlp-symbol.json"))
print([(n["op"], n["name"]) for n in j["nodes"]])
print(sorted(nd.load("my_mlp-0000.params")))
y = net(sym.var("data"))
print(y, y.list_arguments(), y.list_outputs())


class HybridNet(nn.HybridBlock):
    def __init__(self, **kwargs):
        super(HybridNet, self).__init__(**kwargs)
        self.hidden = nn.Dense(10)
        self.output = nn.Dense(2)

    def hybrid_forward(self, F, x):
        pass
        print("x: ", type(x).__name__, getattr(x, "shape", x))
        x = F.relu(self.hidden(x))
        print("hidden: ", type(x).__name__)
        return self.output(x)


net = HybridNet()
net.initialize(init.One())
x = nd.ones((1, 4))
net(x)
net(x)
net.hybridize()
net(x)
net(x)
print(net(nd.ones((3, 4))))


class Net2(nn.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.fc = nn.Dense(3)
            self.scale = self.params.get("scale", shape=(1, 3), init=init.Constant(2))
            self.c = self.params.get_constant("c", [[1, 2, 3]])

    def hybrid_forward(self, F, x, y=None, scale=None, c=None):
        o = (
            F.broadcast_mul(self.fc(x), scale) + F.broadcast_like(c, self.fc(x))
            if False
            else F.broadcast_add(F.broadcast_mul(self.fc(x), scale), c)
        )
        return (o, [o * 2, o + 1])


n = Net2(prefix="n2_")
n.initialize(init.One())
a = n(nd.ones((2, 4)))
n.hybridize()
b = n(nd.ones((2, 4)))
print(a, b, n.collect_params())
try:
    n.export("zz")
except Exception as e:
    print("refused")
h = get_net("q_")
h.hybridize()
try:
    h.export("nn")
except Exception as e:
    print("refused")


# infer_shape failing
class Needs(nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.w = self.params.get("w", shape=(0, 3), allow_deferred_init=True)

    def hybrid_forward(self, F, x, w):
        return F.dot(x, w)


q = Needs()
q.initialize(init.One())


class BadOp(nn.HybridBlock):
    def hybrid_forward(self, F, x):
        return x[0].asscalar() * x if x.sum() > 0 else x


bo = BadOp()
print(bo(nd.array([2.0])))
bo.hybridize()
try:
    print(bo(nd.array([2.0])))
except Exception as e:
    print("refused")


class NormBlock(nn.HybridBlock):
    def hybrid_forward(self, F, x):
        mean = F.mean(x, axis=1, keepdims=True)
        x = F.broadcast_sub(x, mean)
        return x / 2 + x.sum() if F is nd else F.broadcast_add(x / 2, x.sum())


nb = NormBlock()
p = nb(nd.arange(6).reshape((2, 3)))
nb.hybridize()
print(p, nb(nd.arange(6).reshape((2, 3))))
# hooks, summary, apply, cast
net = get_net("s_")
net.summary(nd.ones((2, 20)))
hk = net[0].register_forward_hook(lambda blk, i, o: print("hook", blk.name, i[0].shape, o.shape))
net(nd.ones((2, 20)))
hk.detach()
net(nd.ones((2, 20)))
net[0].register_forward_pre_hook(lambda blk, i: print("pre", blk.name))
net(nd.ones((2, 20)))
net.apply(lambda b: print(b.name))
net.cast("float64")
print(net(nd.ones((1, 20), dtype="float64")).dtype)
# fine-tuning
src = nn.HybridSequential(prefix="pre_")
with src.name_scope():
    src.features = None
    f = nn.HybridSequential(prefix="features_")
    with f.name_scope():
        f.add(nn.Conv2D(4, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D())
    src.add(f, nn.Dense(5, prefix="out_"))
src.initialize(init.Constant(0.05))
X = nd.array(np.random.RandomState(2).rand(6, 3, 8, 8))
src(X)
src.save_parameters("pre.params")
print(sorted(nd.load("pre.params")))


class FT(nn.HybridBlock):
    def __init__(self, base, n, **kw):
        super().__init__(**kw)
        with self.name_scope():
            self.features = base
            self.output = nn.Dense(n)

    def hybrid_forward(self, F, x):
        return self.output(self.features(x))


ft = FT(src[0], 3)
ft.output.initialize(init.Xavier())
ft.output.collect_params().setattr("lr_mult", 10)
ft.features.collect_params().setattr("grad_req", "null")
ft(X)
ft.output.weight.set_data(nd.array(np.random.RandomState(1).normal(size=(3, 4))))
yl = nd.array([0, 1, 2, 0, 1, 2])
tr = gluon.Trainer(ft.collect_params(), "sgd", {"learning_rate": 0.01, "wd": 0.001})
L = gluon.loss.SoftmaxCrossEntropyLoss()
for e in range(3):
    with autograd.record():
        l = L(ft(X), yl)
    l.backward()
    tr.step(6)
    print("%.5f" % l.mean().asscalar())
print(ft.features[0].weight.data()[0, 0, 0], ft.features[1].running_mean.data(), ft.collect_params())
sb = gluon.SymbolBlock.imports("my_mlp-symbol.json", ["data"], "my_mlp-0000.params", ctx=mx.cpu())
print(sb(nd.array(np.random.RandomState(0).normal(size=(1, 512)))))
print(sb)
data = sym.var("data")
out = src(data)
internals = out.get_internals()
print(internals.list_outputs())
feat = gluon.SymbolBlock(internals["pre_features_conv0_fwd_output"], data, params=src.collect_params())
print(feat(X).shape)
feat2 = gluon.SymbolBlock([internals["pre_features_relu0_fwd_output"], out], data, params=src.collect_params())
print([i.shape for i in feat2(X)])
s, arg, aux = mx.model.load_checkpoint("my_mlp", 0)
print(s.list_arguments(), sorted(arg), aux)
from mxnet.gluon.model_zoo import vision

r = vision.get_model("resnet18_v1", classes=10, thumbnail=True)
r.initialize(init.Constant(0.01))
print(r(nd.ones((1, 3, 32, 32))).shape, r.features[0].name, len(r.features), list(r.collect_params())[:3])
try:
    vision.get_model("nope")
except Exception as e:
    print("refused")
