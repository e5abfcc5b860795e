"""Iterators, Module step by step on two contexts, a monitor, SequentialModule, BucketingModule with LSTM cells."""

import mxnet as mx, numpy as np, logging, sys

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(message)s")
rs = np.random.RandomState(0)
X = rs.rand(200, 8).astype("float32")
Y = (X.sum(1) > 4).astype("float32") + (X[:, 0] > 0.5)
it = mx.io.NDArrayIter(X, Y, batch_size=30, shuffle=False, last_batch_handle="pad")
print(it.provide_data, it.provide_label, it.batch_size, it.num_data)
for i, b in enumerate(it):
    print(i, b.pad, b.data[0].shape, b.label[0][:3].asnumpy()) if i in (0, 6) else None
print(
    [b.data[0].shape[0] for b in mx.io.NDArrayIter(X, Y, 30, last_batch_handle="discard")],
    len(list(mx.io.NDArrayIter({"a": X, "b": X}, None, 30, last_batch_handle="roll_over"))),
)
d = mx.sym.Variable("data")
h = mx.sym.FullyConnected(d, num_hidden=16, name="fc1")
h = mx.sym.BatchNorm(h, name="bn1", fix_gamma=False)
h = mx.sym.Activation(h, act_type="relu")
h = mx.sym.Dropout(h, p=0.0)
h = mx.sym.FullyConnected(h, num_hidden=3, name="fc2")
out = mx.sym.SoftmaxOutput(h, name="softmax")


@mx.init.register
class Det2(mx.init.Initializer):
    def _init_weight(self, name, arr):
        arr[:] = np.random.RandomState(arr.shape[0]).normal(0, 0.2, arr.shape)


mod = mx.mod.Module(
    out, data_names=["data"], label_names=["softmax_label"], context=[mx.cpu(0), mx.cpu(1)], logger=logging.getLogger()
)
mod.bind(it.provide_data, it.provide_label)
mod.init_params(Det2())
mod.init_optimizer(
    kvstore="local",
    optimizer="sgd",
    optimizer_params=(
        ("learning_rate", 0.1),
        ("momentum", 0.9),
        ("wd", 1e-4),
        ("lr_scheduler", mx.lr_scheduler.FactorScheduler(step=10, factor=0.5)),
    ),
)
m = mx.metric.create(["acc", "ce"])
for epoch in range(3):
    it.reset()
    m.reset()
    for b in it:
        mod.forward(b, is_train=True)
        mod.update_metric(m, b.label)
        mod.backward()
        mod.update()
    print("Epoch %d, Training %s" % (epoch, m.get()))
print(
    mod.get_outputs()[0].shape,
    mod.data_names,
    mod.label_names,
    mod.output_names,
    mod.data_shapes,
    mod.label_shapes,
    mod.output_shapes,
)
a, x = mod.get_params()
print(sorted(a), sorted(x))
print(x["bn1_moving_mean"])
mod.save_checkpoint("ck", 3, save_optimizer_states=True)
it.reset()
mod2 = mx.mod.Module.load("ck", 3, load_optimizer_states=True, context=mx.cpu())
mod2.fit(
    it,
    num_epoch=5,
    begin_epoch=3,
    optimizer_params={"learning_rate": 0.05, "momentum": 0.9},
    batch_end_callback=mx.callback.Speedometer(30, 3, auto_reset=True),
    eval_data=it,
    epoch_end_callback=[mx.callback.module_checkpoint(mod2, "mc")],
    kvstore=None,
)
print(mod2.score(it, mx.metric.Accuracy(), num_batch=3), mod2.predict(it, num_batch=2).shape)
print([p.shape for p in mod2.predict(it, merge_batches=False)[0]])
for o, i, b in mod2.iter_predict(it):
    print(o[0].shape, i, b.pad) if i == 6 else None
# fixed params and monitor
mod3 = mx.mod.Module(out, fixed_param_names=["fc1_weight", "fc1_bias"])
mon = mx.mon.Monitor(4, lambda x: mx.nd.norm(x), pattern="fc._(output|weight|bias)", sort=True)
mod3.bind(it.provide_data, it.provide_label, inputs_need_grad=True)
mod3.init_params(mx.init.Mixed(["fc.*weight", ".*"], [Det2(), mx.init.One()]), allow_missing=True)
mod3.init_optimizer(optimizer="adam")
mod3.install_monitor(mon)
it.reset()
w0 = mod3.get_params()[0]["fc1_weight"].copy()
for i, b in enumerate(it):
    if i == 5:
        break
    mon.tic()
    mod3.forward_backward(b)
    mod3.update()
    mon.toc_print()
print(
    (mod3.get_params()[0]["fc1_weight"] == w0).min(), mod3.get_input_grads()[0].shape, mod3.get_input_grads()[0].sum()
)
mod3.set_params({k: v * 0 for k, v in mod3.get_params()[0].items()}, mod3.get_params()[1])
mod3.forward(mx.io.DataBatch([mx.nd.ones((10, 8))], [mx.nd.zeros(10)]), is_train=False)
print(mod3.get_outputs()[0][0])
try:
    mx.mod.Module(out, data_names=["foo"])
except Exception as e:
    print("refused")
try:
    mod4 = mx.mod.Module(out)
    mod4.forward(None)
except Exception as e:
    print("refused")
try:
    mod4.bind(it.provide_data, it.provide_label)
    mod4.set_params({"fc1_weight": mx.nd.ones((16, 8))}, {})
except Exception as e:
    print("refused")
# FeedForward-like, sequential module, python loss
s1 = mx.mod.Module(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="a1"), label_names=[])
s2 = mx.mod.Module(
    mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="a2"), name="softmax")
)
seq = mx.mod.SequentialModule()
seq.add(s1).add(s2, take_labels=True, auto_wiring=True)
it.reset()
seq.fit(it, num_epoch=2, initializer=Det2(), optimizer_params={"learning_rate": 0.1})
print(seq.score(it, "acc"))
# bucketing lstm


class BIter(mx.io.DataIter):
    def __init__(self):
        super().__init__(4)
        self.default_bucket_key = 8
        self.i = 0
        self.provide_data = [mx.io.DataDesc("data", (4, 8))]
        self.provide_label = [mx.io.DataDesc("softmax_label", (4, 8))]

    def reset(self):
        self.i = 0

    def next(self):
        if self.i == 6:
            raise StopIteration
        k = (5, 8)[self.i % 2]
        r = np.random.RandomState(self.i)
        self.i += 1
        x = r.randint(1, 15, (4, k))
        return mx.io.DataBatch(
            [mx.nd.array(x)],
            [mx.nd.array(np.roll(x, -1, 1))],
            pad=0,
            bucket_key=k,
            provide_data=[mx.io.DataDesc("data", (4, k))],
            provide_label=[mx.io.DataDesc("softmax_label", (4, k))],
        )


def sym_gen(seq_len):
    data = mx.sym.Variable("data")
    label = mx.sym.Variable("softmax_label")
    embed = mx.sym.Embedding(data=data, input_dim=15, output_dim=8, name="embed")
    stack = mx.rnn.SequentialRNNCell()
    stack.add(mx.rnn.LSTMCell(num_hidden=8, prefix="lstm_l0_"))
    stack.add(mx.rnn.LSTMCell(num_hidden=8, prefix="lstm_l1_"))
    stack.reset()
    outputs, states = stack.unroll(seq_len, inputs=embed, merge_outputs=True)
    pred = mx.sym.Reshape(outputs, shape=(-1, 8))
    pred = mx.sym.FullyConnected(data=pred, num_hidden=15, name="pred")
    label = mx.sym.Reshape(label, shape=(-1,))
    pred = mx.sym.SoftmaxOutput(data=pred, label=label, name="softmax")
    return pred, ("data",), ("softmax_label",)


bm = mx.mod.BucketingModule(sym_gen=sym_gen, default_bucket_key=8, context=mx.cpu())
bm.fit(
    BIter(),
    num_epoch=3,
    eval_metric=mx.metric.Perplexity(0),
    initializer=Det2(),
    optimizer="sgd",
    optimizer_params={"learning_rate": 0.1, "momentum": 0.0, "wd": 1e-5},
)
print(sorted(bm.get_params()[0]))
