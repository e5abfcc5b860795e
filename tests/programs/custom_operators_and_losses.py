"""Custom operators in Module and Gluon, an ArcFace head, every loss of Gluon."""

import mxnet as mx, numpy as np, math
from mxnet import nd, autograd, gluon
from mxnet.gluon import nn


class Softmax(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1).reshape((x.shape[0], 1)))
        y /= y.sum(axis=1).reshape((x.shape[0], 1))
        self.assign(out_data[0], req[0], mx.nd.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        l = in_data[1].asnumpy().ravel().astype(int)
        y = out_data[0].asnumpy()
        y[np.arange(l.shape[0]), l] -= 1.0
        self.assign(in_grad[0], req[0], mx.nd.array(y))


@mx.operator.register("mysoftmax")
class SoftmaxProp(mx.operator.CustomOpProp):
    def __init__(self):
        super(SoftmaxProp, self).__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def list_outputs(self):
        return ["output"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return Softmax()


data = mx.sym.Variable("data")
fc1 = mx.sym.FullyConnected(data=data, name="fc1", num_hidden=8)
act = mx.sym.Activation(fc1, act_type="relu")
fc2 = mx.sym.FullyConnected(act, name="fc2", num_hidden=3)
mlp = mx.sym.Custom(data=fc2, name="softmax", op_type="mysoftmax")
print(mlp.list_arguments(), mlp.infer_shape(data=(4, 5))[1])


class Det(mx.init.Initializer):
    def _init_weight(self, name, arr):
        arr[:] = np.random.RandomState(arr.size).normal(0, 0.2, arr.shape)


rs = np.random.RandomState(0)
X = rs.rand(60, 5).astype("f")
Y = X[:, :3].argmax(1).astype("f")
it = mx.io.NDArrayIter(X, Y, 20)
mod = mx.mod.Module(mlp)
mod.fit(
    it, num_epoch=4, initializer=Det(), optimizer="adam", optimizer_params={"learning_rate": 0.05}, eval_metric="acc"
)
print(mod.score(it, ["acc", "ce"]))


class Sig(mx.operator.CustomOp):
    def __init__(self, scale):
        self.scale = scale

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], mx.nd.sigmoid(in_data[0]) * self.scale)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y = out_data[0]
        self.assign(in_grad[0], req[0], out_grad[0] * y * (1 - y / self.scale))


@mx.operator.register("sig")
class SigProp(mx.operator.CustomOpProp):
    def __init__(self, scale="1"):
        super().__init__(True)
        self.scale = float(scale)

    def create_operator(self, ctx, s, d):
        return Sig(self.scale)


x = nd.array([-1, 0, 2.0])
x.attach_grad()
with autograd.record():
    y = nd.Custom(x, op_type="sig", scale=3.0)
y.backward()
print(y, x.grad)


class Blk(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.Custom(x * 2, op_type="sig", scale=2)


b = Blk()
a1 = b(x)
b.hybridize()
print(a1, b(x))
try:
    nd.Custom(x, op_type="nope")
except Exception as e:
    print("refused")


# ArcFace / margin
def margin_fc(emb, label, nclass, s=8.0, m=0.5, sym=mx.sym):
    w = sym.Variable("fc7_weight", shape=(nclass, 6), lr_mult=1.0)
    w = sym.L2Normalization(w, mode="instance")
    n = sym.L2Normalization(emb, mode="instance", name="fc1n") * s
    fc7 = sym.FullyConnected(data=n, weight=w, no_bias=True, num_hidden=nclass, name="fc7")
    zy = sym.pick(fc7, label, axis=1)
    cos = zy / s
    sin = sym.sqrt(1.0 - cos * cos)
    new = (cos * math.cos(m) - sin * math.sin(m)) * s
    cond = sym.Activation(data=cos - math.cos(math.pi - m), act_type="relu")
    new = sym.where(cond, new, zy - math.sin(math.pi - m) * m * s)
    diff = sym.expand_dims(new - zy, 1)
    oh = sym.one_hot(label, depth=nclass, on_value=1.0, off_value=0.0)
    fc7 = fc7 + sym.broadcast_mul(oh, diff)
    return sym.Group(
        [sym.BlockGrad(emb), sym.SoftmaxOutput(data=fc7, label=label, name="softmax", normalization="valid")]
    )


d = mx.sym.Variable("data")
emb = mx.sym.BatchNorm(
    mx.sym.FullyConnected(d, num_hidden=6, name="pre_fc1"), fix_gamma=True, eps=2e-5, momentum=0.9, name="fc1"
)
net = margin_fc(emb, mx.sym.Variable("softmax_label"), 3)
print(net.list_arguments(), net.list_outputs(), net.list_auxiliary_states())


class AccMetric(mx.metric.EvalMetric):
    def __init__(self):
        self.axis = 1
        super(AccMetric, self).__init__("acc", axis=1, output_names=None, label_names=None)
        self.losses = []
        self.count = 0

    def update(self, labels, preds):
        self.count += 1
        p = preds[-1]
        self.losses.append(-np.log(p.asnumpy()[np.arange(20), labels[0].asnumpy().astype(int)]).mean())
        if p.shape != labels[0].shape:
            p = mx.ndarray.argmax(p, axis=1)
        p = p.asnumpy().astype("int32").flatten()
        l = labels[0].asnumpy().astype("int32").flatten()
        assert l.shape == p.shape
        self.sum_metric += (p.flat == l.flat).sum()
        self.num_inst += len(p.flat)


am = AccMetric()
mod = mx.mod.Module(net, context=mx.cpu())
opt = mx.optimizer.SGD(learning_rate=0.1, momentum=0.9, wd=5e-4, rescale_grad=1.0)
it.reset()
mod.fit(
    it,
    begin_epoch=0,
    num_epoch=3,
    eval_metric=mx.metric.CompositeEvalMetric([am]),
    kvstore="device",
    optimizer=opt,
    initializer=Det(),
    arg_params=None,
    aux_params=None,
    allow_missing=True,
)
print(am.get(), am.count, ["%.4f" % l for l in am.losses])
sym2 = mod.symbol.get_internals()["fc1_output"]
em = mx.mod.Module(sym2, label_names=None)
em.bind([("data", (20, 5))], for_training=False)
em.set_params(*mod.get_params(), allow_extra=True) if True else None
em.forward(mx.io.DataBatch(data=[nd.array(X[:20])]), is_train=False)
e = em.get_outputs()[0]
e = nd.L2Normalization(e)
print(e.shape, nd.dot(e[0:2], e[0:3].T))
# gluon losses all over
p, l = nd.array(rs.rand(4, 5)), nd.array(rs.rand(4, 5))
G = gluon.loss
for L, args in (
    (G.L2Loss(), (p, l)),
    (G.L1Loss(weight=2.0), (p, l)),
    (G.SigmoidBCELoss(), (p, l)),
    (G.SigmoidBCELoss(from_sigmoid=True), (p, l)),
    (G.SoftmaxCELoss(), (p, nd.array([0, 1, 2, 4]))),
    (G.SoftmaxCELoss(sparse_label=False), (p, l)),
    (G.KLDivLoss(from_logits=False), (p, l.softmax())),
    (G.HuberLoss(0.3), (p, l)),
    (G.HingeLoss(), (p, (l > 0.5) * 2 - 1)),
    (G.SquaredHingeLoss(), (p, (l > 0.5) * 2 - 1)),
    (G.LogisticLoss(), (p, (l > 0.5) * 2 - 1)),
    (G.LogisticLoss(label_format="binary"), (p, l > 0.5)),
    (G.TripletLoss(), (p, l, p * l)),
    (G.CosineEmbeddingLoss(), (p, l, nd.array([1, -1, 1, -1]))),
    (G.PoissonNLLLoss(), (p, l)),
    (G.CTCLoss(), (nd.array(rs.rand(2, 20, 4)), nd.array([[1, 0, -1, -1], [2, 1, 1, -1]]))),
):
    print(type(L).__name__, L(*args))


class MyLoss(G.Loss):
    def __init__(self, weight=None, batch_axis=0, margin=0.1, **kwargs):
        super(MyLoss, self).__init__(weight, batch_axis, **kwargs)
        self._m = margin

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        loss = F.relu(F.abs(pred - label) - self._m)
        loss = G._apply_weighting(F, loss, self._weight, sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)


ml = MyLoss(weight=3.0)
print(ml(p, l), ml(p, l, nd.array([[1], [0], [1], [2]])), ml)
