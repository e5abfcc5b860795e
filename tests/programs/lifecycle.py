"""Shared parameters, contrib blocks and cells, trainer states, gradients added up, callbacks, test utilities."""

import mxnet as mx, numpy as np, time, os, logging, sys
from mxnet import nd, gluon, autograd, init
from mxnet.gluon import nn, rnn, contrib

rs = np.random.RandomState(0)


class Det(init.Initializer):
    def _init_weight(self, name, arr):
        arr[:] = np.random.RandomState(arr.size % 997).normal(0, 0.2, arr.shape)


# parameter sharing, select, hybrid / partial hybridization, re-init
a = nn.HybridSequential(prefix="net_")
with a.name_scope():
    a.add(nn.Dense(4, activation="tanh"), nn.Dense(3))
b = nn.HybridSequential(prefix="net_", params=a.collect_params())
with b.name_scope():
    b.add(nn.Dense(4, activation="tanh", in_units=5), nn.Dense(3, in_units=4))
a.initialize(Det())
x = nd.array(rs.rand(2, 5))
print(abs(a(x) - b(x)).max(), list(b.collect_params()))
print(list(a.collect_params("net_dense0.*|.*bias")))
for bs in (1, 3, 7):
    a.hybridize()
    print(a(nd.ones((bs, 5))).shape)
a.hybridize(False)
print(a(x)[0])
a[0].hybridize(static_alloc=True, static_shape=True)
print(a(x)[0])
# Conv autoencoder-like, upsampling, concat blocks
net = nn.HybridSequential()
cc = contrib.nn.HybridConcurrent(axis=1)
cc.add(nn.Conv2D(2, 1), nn.Conv2D(3, 3, padding=1), contrib.nn.Identity())
net.add(cc, nn.Conv2DTranspose(2, 2, 2), nn.AvgPool2D(2, count_include_pad=False), nn.GlobalMaxPool2D(), nn.Flatten())
net.initialize(Det())
y = net(nd.array(rs.rand(1, 2, 6, 6)))
net.hybridize()
print(y, net(nd.ones((1, 2, 6, 6)))[0])
print(net)
print(contrib.nn.PixelShuffle2D(2)(nd.arange(8).reshape((1, 8, 1, 1))))
cell = contrib.rnn.Conv2DLSTMCell((2, 4, 4), 3, 3, 3, i2h_pad=(1, 1))
cell.initialize(Det())
o, s = cell(nd.ones((1, 2, 4, 4)), cell.begin_state(1))
print(o.shape, [t.shape for t in s], cell)
vd = contrib.rnn.VariationalDropoutCell(rnn.LSTMCell(3), drop_inputs=0.0)
vd.initialize(Det())
print(vd.unroll(2, nd.ones((1, 2, 3)), merge_outputs=True)[0])
lp = contrib.rnn.LSTMPCell(4, 2)
lp.initialize(Det())
print(lp.unroll(2, nd.ones((1, 2, 3)), merge_outputs=True)[0].shape)
# early stopping & checkpoint with trainer states
net = nn.Dense(1, in_units=3)
net.initialize(Det())
tr = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
X = nd.array(rs.rand(20, 3))
Y = X.sum(axis=1)


def step(net, tr):
    with autograd.record():
        l = gluon.loss.L2Loss()(net(X), Y)
    l.backward()
    tr.step(20)
    return l.mean().asscalar()


for _ in range(3):
    step(net, tr)
net.save_parameters("c.params")
tr.save_states("c.states")
l1 = [step(net, tr) for _ in range(3)]
n2 = nn.Dense(1, in_units=3)
n2.load_parameters("c.params")
t2 = gluon.Trainer(n2.collect_params(), "adam", {"learning_rate": 0.1})
t2.load_states("c.states")
l2 = [step(n2, t2) for _ in range(3)]
print(np.allclose(l1, l2), "%.5f %.5f" % (l1[0], l1[2]))
# grad accumulation
net = nn.Dense(1, in_units=3)
net.initialize(Det())
[p.__setattr__("grad_req", "add") for p in net.collect_params().values()]
tr = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
for k in range(2):
    for i in range(0, 20, 5):
        with autograd.record():
            l = gluon.loss.L2Loss()(net(X[i : i + 5]), Y[i : i + 5])
        l.backward()
    tr.step(20)
    print(net.weight.grad())
    [p.zero_grad() for p in net.collect_params().values()]
# gradient penalty (WGAN-GP)
D = nn.HybridSequential()
D.add(nn.Dense(8, activation="tanh"), nn.Dense(1))
D.initialize(Det())
D(X)
tr = gluon.Trainer(D.collect_params(), "adam", {"learning_rate": 0.01})
fake = nd.array(rs.rand(20, 3))
eps = nd.array(rs.rand(20, 1))
for i in range(2):
    xh = eps * X + (1 - eps) * fake
    xh.attach_grad()
    with autograd.record():
        pred = D(xh).sum() if False else nd.exp(xh)
        g = autograd.grad(pred, [xh], create_graph=True, retain_graph=True)[0]
        gp = nd.sin(g)
    gp.backward()
    print(xh.grad[0])
# REINFORCE-like
pol = nn.Sequential()
pol.add(nn.Dense(8, activation="relu"), nn.Dense(2))
pol.initialize(Det())
tr = gluon.Trainer(pol.collect_params(), "adam", {"learning_rate": 0.01})
st = nd.array(rs.rand(6, 4))
act = nd.array([0, 1, 1, 0, 1, 0])
rew = nd.array(rs.rand(6))
for _ in range(3):
    with autograd.record():
        lp = nd.pick(nd.log_softmax(pol(st)), act)
        l = -(lp * rew).sum()
    l.backward()
    tr.step(1)
    print("%.5f" % l.asscalar())
# logging epoch_end etc
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(message)s")
p = mx.model.BatchEndParam
sp = mx.callback.Speedometer(10, 1)
pb = mx.callback.ProgressBar(4)
m = mx.metric.Accuracy()
m.update([nd.array([1])], [nd.array([[0, 1.0]])])
for i in range(1, 4):
    pb(p(0, i, m, None))
mx.callback.log_train_metric(1)(p(0, 1, m, None))
mx.callback.LogValidationMetricsCallback()(p(1, 1, m, None))
print(
    mx.profiler is not None,
    mx.util.is_np_array(),
    mx.runtime.Features().is_enabled("CUDA"),
    mx.libinfo.__version__,
    isinstance(mx.runtime.feature_list(), list),
)
mx.test_utils.assert_almost_equal(np.ones(2), np.ones(2))
try:
    mx.test_utils.assert_almost_equal(np.ones(2), np.zeros(2))
except AssertionError:
    print("AssertionError")
mx.test_utils.check_numeric_gradient(mx.sym.tanh(mx.sym.var("x")), [np.array([0.3, 0.4])], rtol=0.05)
print(
    mx.test_utils.default_context(),
    mx.test_utils.rand_ndarray((2, 2)).shape,
    mx.test_utils.same(np.ones(1), np.ones(1)),
)
print(nn.Dense(2).prefix[:5], nn.Conv2D(1, 1).name[:4], rnn.LSTM(2).name[:4])
print(
    mx.viz.plot_network is not None,
    mx.sym.Variable("x").name,
    mx.AttrScope is not None,
    mx.engine.set_bulk_size(15) is not None,
)
with mx.engine.bulk(10):
    print(nd.ones(2) + 1)
