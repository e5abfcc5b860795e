"""split_and_load over contexts, learning-rate schedules, every optimizer through Trainer, key-value stores."""

import mxnet as mx, numpy as np
from mxnet import gluon, nd, autograd, init, lr_scheduler
from mxnet.gluon import nn, utils as gutils

ctx = [mx.cpu(0), mx.cpu(1)]
rs = np.random.RandomState(0)
net = nn.Sequential()
net.add(nn.Conv2D(4, 3, activation="relu"), nn.BatchNorm(), nn.Flatten(), nn.Dense(3))
net.initialize(init.Constant(0.02), ctx=ctx)
x = nd.array(rs.rand(4, 1, 6, 6))
gx = gutils.split_and_load(x, ctx)
print([g.context for g in gx], net(gx[0]).context, net(gx[1]).shape)
try:
    net[0].weight.data()
    print("ok?")
except Exception as e:
    print("refused")
try:
    net[0].weight.data(mx.cpu(5))
except Exception as e:
    print("refused")
print([d.context for d in net[0].weight.list_data()], net[0].weight.list_ctx())
net[3].weight.set_data(nd.array(rs.normal(0, 0.1, net[3].weight.shape)))
net[0].weight.set_data(nd.array(rs.normal(0, 0.1, net[0].weight.shape)))
tr = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9}, kvstore="device")
L = gluon.loss.SoftmaxCrossEntropyLoss()
m = mx.metric.Accuracy()
X = rs.rand(24, 1, 6, 6)
Y = rs.randint(0, 3, 24)
it = gluon.data.DataLoader(gluon.data.ArrayDataset(X.astype("float32"), Y.astype("float32")), 8)
for e in range(3):
    tot = 0
    for data, label in it:
        Xs = gutils.split_and_load(data, ctx)
        Ys = gutils.split_and_load(label, ctx)
        with autograd.record():
            ls = [L(net(a), b) for a, b in zip(Xs, Ys)]
        for l in ls:
            l.backward()
        tr.step(8)
        m.update(Ys, [net(a) for a in Xs])
        tot += sum(l.sum().asscalar() for l in ls)
    print("%d %.5f %s" % (e, tot / 24, m.get()))
print(
    (net[3].weight.data(ctx[0]).as_in_context(mx.cpu()) - net[3].weight.data(ctx[1]).as_in_context(mx.cpu()))
    .abs()
    .max()
)
print([a.shape for a in gutils.split_data(nd.arange(7), 3, even_split=False)])
try:
    gutils.split_data(nd.arange(7), 3)
except Exception as e:
    print("refused")
# schedules
for s in (
    lr_scheduler.FactorScheduler(step=3, factor=0.5, stop_factor_lr=0.1, base_lr=1.0),
    lr_scheduler.MultiFactorScheduler(step=[2, 5], factor=0.1, base_lr=1.0, warmup_steps=2, warmup_begin_lr=0.1),
    lr_scheduler.PolyScheduler(max_update=8, base_lr=1.0, pwr=2),
    lr_scheduler.CosineScheduler(max_update=8, base_lr=1.0, final_lr=0.1, warmup_steps=2, warmup_mode="constant"),
):
    print(type(s).__name__, [round(s(i), 5) for i in range(1, 11)])


class Tri(lr_scheduler.LRScheduler):
    def __call__(self, it):
        return self.base_lr * (1 + it % 3)


for opt, kw in (
    ("sgd", dict(learning_rate=0.1, lr_scheduler=Tri(base_lr=0.1))),
    ("sgd", dict(momentum=0.9, wd=0.1, clip_gradient=0.5, rescale_grad=2.0)),
    ("nag", dict(momentum=0.9)),
    ("adam", {}),
    ("adagrad", {}),
    ("rmsprop", {}),
    ("rmsprop", dict(centered=True)),
    ("adadelta", {}),
    ("ftrl", {}),
    ("adamax", {}),
    ("nadam", {}),
    ("signum", {}),
    ("ftml", {}),
    ("dcasgd", {}),
    ("lars", {}),
    ("lamb", {}),
    ("adamw", {}),
):
    p = gluon.Parameter("w", shape=(3,))
    p.initialize(init.Constant(1.0))
    try:
        t = gluon.Trainer({"w": p} if False else [p], opt, kw)
    except Exception as ex:
        print(opt, "refused")
        continue
    for i in range(4):
        with autograd.record():
            l = ((p.data() - nd.array([1, 2, 3])) ** 2).sum()
        l.backward()
        t.step(1)
    print(opt, p.data().asnumpy(), "%.4f" % t.learning_rate)
t.set_learning_rate(0.5)
print(t.learning_rate, t.optimizer.__class__.__name__)
t.save_states("t.states")
t.load_states("t.states")
# trainer: allreduce, update, ignore stale, lr_mult/wd_mult
net = nn.HybridSequential()
net.add(nn.Dense(2, in_units=2), nn.Dense(2, in_units=2))
net.initialize(init.One())
net[0].weight.lr_mult = 0.0
net[1].weight.wd_mult = 0.0
net[1].bias.grad_req = "add"
t = gluon.Trainer(net.collect_params(), mx.optimizer.SGD(learning_rate=0.1, wd=0.5), update_on_kvstore=False)
for i in range(2):
    with autograd.record():
        l = net(nd.ones((1, 2))).sum()
    l.backward()
    t.allreduce_grads()
    gutils.clip_global_norm([p.grad() for p in net.collect_params().values()], 1.0)
    t.update(1)
for p in net.collect_params().values():
    print(p.data(), p.grad())
t2 = gluon.Trainer(net.collect_params(), "sgd")
net2 = nn.Dense(1, in_units=1)
net2.initialize()
t3 = gluon.Trainer(net2.collect_params(), "sgd")
try:
    t3.step(1)
except Exception as e:
    print("refused")
t3.step(1, ignore_stale_grad=True)
for bad in (
    lambda: gluon.Trainer(3, "sgd"),
    lambda: gluon.Trainer([3], "sgd"),
    lambda: gluon.Trainer(net.collect_params(), "zzz"),
    lambda: gluon.Trainer(net.collect_params(), mx.optimizer.SGD(), {"learning_rate": 1}),
):
    try:
        bad()
        print("ok")
    except Exception as e:
        print("refused")
kv = mx.kv.create("local")
kv.init(3, nd.ones((2, 3)) * 2)
a = nd.zeros((2, 3))
kv.pull(3, out=a)
print(a)
kv.push(3, [nd.ones((2, 3)), nd.ones((2, 3)) * 2])
kv.pull(3, out=a)
print(a, kv.type, kv.rank, kv.num_workers)


def update(key, inp, stored):
    stored += inp * 2


kv._set_updater(update)
kv.push(3, nd.ones((2, 3)))
kv.pull(3, out=a)
print(a)
kv = mx.kv.create()
kv.init(["a", "b"], [nd.ones(2)] * 2)
outs = [nd.zeros(2)] * 2
kv.pull(["a", "b"], out=outs)
print(outs)
