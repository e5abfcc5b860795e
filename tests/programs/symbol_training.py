"""Symbols, their attributes and shapes, simple_bind and bind, training loops by hand."""

import mxnet as mx, numpy as np

a = mx.sym.Variable("a")
b = mx.sym.Variable("b")
c = a + b
print(c, (a * b, mx.sym.dot(a, b), c.reshape(shape=(1, 4)), mx.sym.broadcast_to(c, shape=(1, 4))))
d = a * 2
e = d + 1
print(e.list_arguments(), e.list_outputs(), e.name)
net = mx.sym.Variable("data")
net = mx.sym.FullyConnected(data=net, name="fc1", num_hidden=16)
net = mx.sym.Activation(data=net, name="relu1", act_type="relu")
net = mx.sym.FullyConnected(data=net, name="fc2", num_hidden=3)
net = mx.sym.SoftmaxOutput(data=net, name="out")
print(net.list_arguments(), net.list_outputs(), net.get_internals().list_outputs())
arg_shape, out_shape, aux = net.infer_shape(data=(32, 5))
print(arg_shape, out_shape, aux)
print(net.infer_type(data="float32"))
print(net.get_internals()["fc1_output"].list_arguments(), net.get_children(), net["out_output"])
try:
    net.infer_shape()
except Exception as ex:
    print("refused")
ex = net.simple_bind(ctx=mx.cpu(), data=(32, 5), grad_req="write")
rs = np.random.RandomState(0)
for n, arr in sorted(ex.arg_dict.items()):
    if n.endswith("weight"):
        arr[:] = rs.normal(0, 0.3, arr.shape)
    elif n.endswith("bias"):
        arr[:] = 0
X = rs.rand(320, 5).astype("float32")
Y = np.argmax(X[:, :3], 1).astype("float32")
for epoch in range(3):
    correct = 0
    ll = 0
    for i in range(0, 320, 32):
        out = ex.forward(is_train=True, data=X[i : i + 32], out_label=mx.nd.array(Y[i : i + 32]))
        ex.backward()
        p = ex.outputs[0].asnumpy()
        correct += (p.argmax(1) == Y[i : i + 32]).sum()
        ll -= np.log(p[np.arange(32), Y[i : i + 32].astype(int)]).sum()
        for n in ex.arg_dict:
            if n not in ("data", "out_label"):
                ex.arg_dict[n][:] -= 0.5 / 32 * ex.grad_dict[n]
    print(epoch, correct, "%.4f" % (ll / 320))
print(type(ex).__name__, sorted(ex.grad_dict), [o.shape for o in ex.outputs], ex.aux_dict)
opt = mx.optimizer.create("adam", learning_rate=0.01, rescale_grad=1 / 32.0)
upd = mx.optimizer.get_updater(opt)
for i in range(0, 96, 32):
    ex.forward(is_train=True, data=X[i : i + 32], out_label=Y[i : i + 32])
    ex.backward()
    for j, (n, w, g) in enumerate(zip(net.list_arguments(), ex.arg_arrays, ex.grad_arrays)):
        if n not in ("data", "out_label"):
            upd(j, g, w)
print("%.6f" % ex.arg_dict["fc1_weight"].asnumpy().sum())
# bind with explicit arrays
x = mx.sym.var("x")
y = mx.sym.var("y")
z = mx.sym.square(x) * y + mx.sym.sin(y)
g = {"x": mx.nd.zeros((2,)), "y": mx.nd.zeros((2,))}
e1 = z.bind(
    mx.cpu(), {"x": mx.nd.array([1, 2]), "y": mx.nd.array([3, 4])}, args_grad=g, grad_req={"x": "write", "y": "add"}
)
for _ in range(2):
    e1.forward(is_train=True)
    e1.backward(mx.nd.array([1, 10]))
print(e1.outputs, g)
print(z.eval(x=mx.nd.ones(2), y=mx.nd.ones(2), ctx=mx.cpu()))
# shared weights
w = mx.sym.var("w")
d1 = mx.sym.FullyConnected(mx.sym.var("d"), weight=w, no_bias=True, num_hidden=4)
d2 = mx.sym.FullyConnected(d1, weight=w, no_bias=True, num_hidden=4)
print(d2.list_arguments(), d2.infer_shape(d=(2, 4))[0])
grp = mx.sym.Group([d1, d2])
print(grp, grp.list_outputs(), len(grp), [o.name for o in grp])
loss = mx.sym.MakeLoss(mx.sym.mean(mx.sym.square(d2 - d1)))
with mx.AttrScope(ctx_group="dev1", lr_mult="0.1"):
    f = mx.sym.FullyConnected(mx.sym.var("q"), num_hidden=2, name="qq")
print(f.attr("ctx_group"), sorted(f.attr_dict()))
vv = mx.sym.var("vv")
vv._set_attr(mood="angry")
print(vv.attr("mood"), vv.list_attr())
with mx.name.Prefix("pre_"):
    print(mx.sym.FullyConnected(mx.sym.var("q"), num_hidden=2).name)
with mx.name.NameManager():
    print(
        mx.sym.FullyConnected(mx.sym.var("q"), num_hidden=2).name,
        (mx.sym.var("q") + 1).name,
        mx.sym.Activation(mx.sym.var("q"), act_type="tanh").name,
    )
net.save("n.json")
n2 = mx.sym.load("n.json")
print(n2.tojson() == net.tojson(), net.tojson()[:300])
comp = mx.sym.var("in1")
inner = mx.sym.FullyConnected(mx.sym.var("in0"), num_hidden=3, name="innerfc")
c2 = inner(in0=mx.sym.Activation(comp, act_type="relu", name="r"))
print(c2.list_arguments())
for fn in (
    lambda: mx.sym.var("x").shape,
    lambda: x.asnumpy(),
    lambda: mx.sym.Variable(3),
    lambda: net["nope"],
    lambda: bool(x == y),
    lambda: net.simple_bind(mx.cpu()),
    lambda: x.bind(mx.cpu(), {}),
    lambda: mx.sym.FullyConnected(x, num_hidden=2, foo=3),
):
    try:
        r = fn()
        print("allowed")
    except Exception as exn:
        print("refused")
x = x + 1
print(x, x.name[:5])
print((x > 2, x**2, 2 - x, -x, x / y, x % 2, abs(x)))
sp = mx.sym.split(mx.sym.var("s"), num_outputs=3, name="sp")
print(sp.list_outputs(), sp[1], len(list(sp)), sp[0] + sp[2])
arr = mx.sym.arange(0, 6).reshape((2, 3))
print(arr.eval(ctx=mx.cpu())[0], (mx.sym.zeros((2,)) + mx.sym.ones((2,))).eval()[0])
# layers in a table of shapes
mx.viz.print_summary(net, shape={"data": (1, 5)})
lenet = mx.sym.Pooling(
    mx.sym.Activation(
        mx.sym.BatchNorm(mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, name="conv"), name="bn"),
        act_type="relu",
        name="act",
    ),
    kernel=(2, 2),
    stride=(2, 2),
    pool_type="max",
    name="pool",
)
print(lenet.list_auxiliary_states(), lenet.infer_shape(data=(1, 3, 8, 8)))
mx.viz.print_summary(lenet, shape={"data": (1, 3, 8, 8)})
e2 = lenet.simple_bind(mx.cpu(), data=(2, 3, 8, 8))
e2.copy_params_from(
    {"conv_weight": mx.nd.ones((4, 3, 3, 3)) * 0.1}, {"bn_moving_var": mx.nd.ones(4)}, allow_extra_params=True
)
e2.forward(data=mx.nd.ones((2, 3, 8, 8)))
print(e2.outputs[0].shape, e2.outputs[0].sum(), e2.aux_dict)
e3 = e2.reshape(data=(4, 3, 8, 8), allow_up_sizing=True)
print(e3.forward(data=mx.nd.ones((4, 3, 8, 8)))[0].shape)
try:
    e2.copy_params_from({"nope": mx.nd.ones(1)})
except Exception as exn:
    print("refused")
