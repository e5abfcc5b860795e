"""Calls of mx.sym, as texts: what real MXNet gave for them is in fixtures/symbol/calls.json."""

import json
from typing import Any

CALLS = """
a + b | a - b | a * b | a / b | a % b | a ** b | -a | abs(a) | a == b | a != b | a > b | a >= b | a < b | a <= b
a + 1 | 1 + a | a - 1 | 1 - a | a * 2 | 2 * a | a / 2 | 2 / a | a % 2 | 2 % a | a ** 2 | 2 ** a
a == 1 | a != 1 | a > 1 | a >= 1 | a < 1 | a <= 1 | 1 < a | a + 0.1 | a + 1e-20 | a + np.float32(0.1) | np.float32(2) * a
a * np.float64(3) | a + None | a + "x" | "x" * a | a - [1] | a + True
S.pow(a, b) | S.pow(a, 2) | S.pow(2, a) | S.pow(2, 3) | S.power(a, b) | S.maximum(a, b) | S.maximum(a, 1) | S.maximum(1, a)
S.maximum(1, 2) | S.minimum(a, 2) | S.hypot(a, b) | S.hypot(a, 3) | S.hypot(3, a) | S.hypot(3, 4) | a.__rpow__(2)
bool(a) | a and b | a[0] | a[1] | a["a"] | a["q"] | a[0:1] | a[1.5] | a[None] | a[-1] | len(a) | [a][0] in [a] | hash(a)
a.shape | a.dtype | a.size | a.T | a.ndim | a.context | a.foo | a.grad | a.tolist() | a.attach_grad()
a.asnumpy() | a.asscalar() | a.wait_to_read() | a.detach() | a.backward() | a.copy()
fc.name | fc.list_arguments() | fc.list_outputs() | fc.list_inputs() | bn.list_auxiliary_states() | bn.list_arguments()
fc.list_attr() | fc.attr_dict() | fc.attr("mood") | fc.attr("__mood__") | fc.attr("num_hidden") | fc.attr("q") | fc.list_attr(True)
S.var(1) | S.var("v", foo="3") | S.var("v", attr={"k": 3}) | S.var("v", stype="bad") | S.var("v", dtype="bad")
S.var("v", shape=(2, 3), lr_mult=2, wd_mult=0.5, dtype="float16", init=mx.init.One(), stype="row_sparse", __w__="3")
S.var("v", shape=[2, 3], dtype=np.int32, init="zeros") | S.var("v", shape=5) | S.var("v", lr_mult=2).attr("lr_mult")
S.var("v", attr={"k": "v", "__z__": "q"}) | S.var("v", profiler_scope="p")
S.FullyConnected(a, num_hidden=3, name="z", lr_mult=2) | S.FullyConnected(a, num_hidden=3, attr={"mood": "angry"})
S.FullyConnected(a, num_hidden=3, weight_lr_mult=2)
group | group.name | group.list_outputs() | group[0] | group[1] | group["fc_output"] | group.list_attr() | group.get_children()
S.Group([]) | S.Group([1]) | S.Group([group, a]) | S.Group([a, b, fc]) | group + 1 | S.relu(group)
fc.get_internals() | fc.get_internals()["fc_weight"] | fc.get_internals().list_outputs() | fc.get_children() | a.get_children()
bn.get_internals().list_outputs() | S.SliceChannel(a, num_outputs=3).get_internals().list_outputs()
fc(a=b) | fc(b, a=b) | fc(q=b) | fc(a=3) | fc(3) | fc(a=b * 2, name="new") | fc(a=b, fc_weight=S.var("w"), name="n2")
copy.copy(fc) | copy.deepcopy(fc) | pickle.loads(pickle.dumps(fc)).tojson() == fc.tojson()
fc.infer_shape(a=(2, 4)) | fc.infer_shape((2, 4), a=(2, 4)) | fc.infer_shape() | fc.infer_shape(q=(1,)) | fc.infer_shape(a=[2, 4])
fc.infer_shape(a=5) | fc.infer_shape(a=(2, 4), fc_weight=(3, 5)) | fc.infer_shape_partial() | fc.infer_shape_partial(a=(0, 4))
fc.infer_type(a="float16") | fc.infer_type() | fc.infer_type(a="bad") | fc.infer_type_partial() | fc.infer_type(a=np.float32)
fc.infer_type(np.float32, a="float32") | (a + b).infer_shape(a=(2, 3), b=(1, 3)) | (a + b).infer_shape(a=(2, 3))
bn.infer_shape(a=(2, 4)) | bn.infer_type(a="float16") | group.infer_shape(a=(2, 4))
(a + b).eval(a=mx.nd.ones(2), b=mx.nd.ones(2)) | (a + b).eval(a=mx.nd.ones(2)) | S.zeros((2,)).eval()
(a + b).eval(ctx=mx.cpu(), a=mx.nd.ones((2, 3)), b=mx.nd.ones((1, 3)))
(a + b).simple_bind(mx.cpu(), a=(2,)).arg_dict["b"].shape | (a + b).simple_bind(mx.cpu()) | (a + b).bind(mx.cpu(), 3)
(a + b).bind(mx.cpu(), {"a": mx.nd.ones(2)}) | (a + b).bind(mx.cpu(), [mx.nd.ones(2)]) | (a + b).bind(mx.cpu(), {"a": 1, "b": 2})
(a + b).bind(3, [mx.nd.ones(2), mx.nd.ones(2)]) | (a * b).gradient(["a"]) | fc.debug_str() | (bn * 2 + b).debug_str()
a.as_nd_ndarray() | fc.get_backend_symbol("nope") | fc.save(3) | S.load(3) | S.load_json(3) | S.load_json("{}") | S.load_json("abc")
S.zeros((2, 3)) | S.ones((2,)) | S.full((2,), 3) | S.arange(3) | S.arange(1, 4, 1, 2) | S.linspace(0, 1, 3) | S.eye(3)
S.zeros((2,), name="zz") | S.zeros(3) | S.zeros((2,), dtype="int32") | S.split_v2(a, 2) | S.split_v2(a, (1, 2))
S.concat(a, b, dim=1) | S.Concat(*[a, b], name="cc") | S.add_n(a, b) | S.stack(a, b) | S.SliceChannel(a, num_outputs=3)
S.SliceChannel(a, num_outputs=3)[1] | S.SliceChannel(a, num_outputs=3) + 1 | S.concat(arg0=a, arg1=b)
S.array([1]) | S.relu(1) | S.relu(mx.nd.ones(1)) | S.FullyConnected(a) | S.FullyConnected(a, num_hidden="x") | S.FullyConnected()
S.FullyConnected(a, num_hidden=1, foo=3) | S.FullyConnected(data=a, num_hidden=1, foo=b) | S.relu() | S.Activation(a, "relu")
S.Activation(a) | S.Activation(a, act_type="foo") | S.dot(a, b, True) | a.reshape((2, 3)) | a.reshape(shape=(2, 3))
a.sum(axis=1) | a.astype("float16") | a.transpose((1, 0)) | a.slice_axis(0, 1, 2) | a.split(2) | a.flatten() | a.expand_dims(1)
a.broadcast_to((2, 3)) | a.tile((2,)) | a.pad(mode="constant", pad_width=(0, 0, 0, 0, 1, 1, 1, 1)) | a.norm() | a.softmax(axis=1)
S.random.uniform(shape=(2,)) | S.random.normal(a, b) | S.random.uniform(0, b) | S.random_normal(shape=(2,))
S.random.multinomial(a) | S.random.randint(0, 5, shape=(2,))
S.random.shuffle(a) | S.contrib.box_nms(a) | S.linalg.gemm2(a, b) | S.image.to_tensor(a)
S.op.relu(a) | S._internal._plus_scalar(a, scalar=1) | S.sparse.dot(a, b) | S.nosuch | S.contrib.nosuch
S.LeakyReLU(a) | S.LeakyReLU(a, act_type="prelu") | S.RNN(a, state_size=2, num_layers=1, mode="lstm") | S.Dropout(a)
S.BatchNorm(a) | S.BatchNorm(a)[0] | S.BatchNorm(a, output_mean_var=True) | S.SoftmaxOutput(a) | S.SoftmaxOutput(a, b, name="s")
S.Embedding(a, input_dim=3, output_dim=2) | S.topk(a, ret_typ="both") | S.Convolution(a, kernel=(3, 3), num_filter=2, no_bias=True)
S.Cast(a, dtype=np.float16) | S.where(a, b, a) | S.one_hot(a, 3) | S.slice(a, begin=(0, None), end=(1, None))
S.sum(a, axis=(0, 1)) | S.sum(a, axis=[0, 1]) | S.Reshape(a, shape=[1, 2]) | S.Pooling(a, kernel=2) | S.clip(a, 0, 1.5)
scoped(mx.name.Prefix("p_"), lambda: S.relu(S.FullyConnected(a, num_hidden=1), name="n"))
scoped(mx.name.NameManager(), lambda: [S.relu(a), S.relu(a), S.relu(a, name="relu1"), S.relu(a)])
scoped(mx.name.Prefix("p_"), lambda: S.var("x")) | scoped(mx.AttrScope(foo="1"), lambda: S.var("q"))
scoped(mx.AttrScope(ctx_group="dev1", __q__="1"), lambda: S.FullyConnected(S.var("y"), num_hidden=1, name="f"))
scoped(mx.AttrScope(ctx_group="a"), lambda: scoped(mx.AttrScope(ctx_group="b", __r__="2"), lambda: S.var("y")))
mx.AttrScope(a=1) | S.contrib.rand_zipfian(a, 5, 10)
S.contrib.foreach(lambda x, s: (x + s[0] * w, [s[0] + x]), a, [b]) | S.contrib.foreach(lambda x, s: (x[0], s), [a * 1], b)
S.contrib.foreach(lambda x, s: ([], s + x), a, b) | S.contrib.foreach(lambda x, s: (x, x), a, b)
S.contrib.foreach(lambda x, s: (s, s), a, b)
S.contrib.foreach(lambda x, s: (s, [s]), a, b) | S.contrib.foreach(lambda x, s: (s, [s]), 3, b)
S.contrib.foreach(lambda x, s: (S.FullyConnected(x, num_hidden=2, name="in") + w * 2 + w * 3, s + x), a, b)
S.contrib.foreach(lambda x, s: (S.contrib.foreach(lambda y, t: (y * w + x.sum(), t + y), x, s[1])[0], [s[0] + x, s[1]]), a, [b, w])
S.contrib.while_loop(lambda i, s: i <= 5, lambda i, s: ([i + s * w], [i + 1, s + i]), (a, b), max_iterations=10)
S.contrib.while_loop(lambda i, s: (i < s) * w, lambda i, s: (i * w, [i + 1, s]), (a, b), 3, name="loop")
S.contrib.while_loop(lambda i: i, lambda i: (i, i), [a]) | S.contrib.while_loop(lambda i: 1, lambda i: (i, i), [a], 3)
S.contrib.while_loop(lambda i: i, lambda i: (i, [i, i]), [a], 3)
S.contrib.while_loop(lambda i, j: i, lambda i, j: (i, [i, i]), [a, b], 3)
S.contrib.cond(a * b < 5, lambda: (a + 5) * (b + 5), lambda: (a - 5) * (b - 5)) | S.contrib.cond(a, lambda: a, lambda: [a, b])
S.contrib.cond(a, lambda: [a, b * w], lambda: [b + 1, S.FullyConnected(a, num_hidden=1, name="q")])
"""


def texts() -> list[str]:
    return [text.strip() for line in CALLS.strip().split("\n") for text in line.split(" | ")]


def scoped(scope: Any, function: Any) -> Any:
    with scope:
        return function()


def scope(mx: Any) -> dict[str, Any]:
    """Names that the calls speak of."""
    import copy
    import pickle

    import numpy

    S = mx.sym  # noqa: N806
    a, b, w = S.var("a"), S.var("b"), S.var("w")
    fc = S.FullyConnected(a, num_hidden=3, name="fc", attr={"__mood__": "angry"})
    return {
        "S": S, "mx": mx, "np": numpy, "copy": copy, "pickle": pickle, "scoped": scoped, "a": a, "b": b, "w": w, "fc": fc,
        "bn": S.BatchNorm(a, name="bn"), "group": S.Group([fc, S.relu(a, name="r")]),
    }  # fmt: skip


def shown(value: Any) -> Any:
    """A result as JSON can say it."""
    if hasattr(value, "tojson"):
        return {
            "repr": repr(value), "name": value.name, "outputs": value.list_outputs(), "attrs": value.attr_dict(),
            "json": value.tojson(),
        }  # fmt: skip
    if isinstance(value, dict):
        return {k: shown(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [shown(v) for v in value]
    if hasattr(value, "asnumpy"):
        return [str(value.dtype), value.asnumpy().tolist()]
    return value if isinstance(value, str | int | float | bool | type(None)) else repr(value)


def result(text: str, mx: Any) -> Any:
    """Result of a call, or the names of what it raises, with the message where MXNet's Python wrote it."""
    with mx.name.NameManager():
        try:
            return shown(eval(text, scope(mx)))
        except Exception as error:
            kinds = [c.__name__ for c in type(error).__mro__ if c not in (BaseException, Exception, object)]
            return {"raises": kinds, "message": "" if type(error).__name__ == "MXNetError" else str(error)}


def record(mx: Any) -> str:
    return json.dumps({text: result(text, mx) for text in texts()}, indent=1, ensure_ascii=False) + "\n"
