"""Mixed precision: the lists, networks that are converted, the loss scaler; and in a process of its own what amp.init does."""

from __future__ import annotations

import hashlib
import importlib
import json
import pathlib
import subprocess
import sys

import numpy as np

from .questions import ask, attempt, logged, numbers

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = ("float16", "bfloat16")


def amp_of(mx):
    """The module, which importing MXNet leaves out."""
    return importlib.import_module(f"{mx.__name__}.contrib.amp")


def nodes_of(symbol):
    """Nodes of a symbol: operator, name, dtype if there is one, inputs."""
    graph = json.loads(symbol.tojson(remove_amp_cast=False))
    rows = []
    for node in graph["nodes"]:
        attrs = node.get("attrs", {})
        dtype = attrs.get("__dtype__" if node["op"] == "null" else "dtype", "")
        rows.append(" ".join([node["op"], node["name"], dtype, *(f"{e[0]}:{e[1]}" for e in node["inputs"])]))
    return [*rows, " ".join(f"{e[0]}:{e[1]}" for e in graph["heads"])]


def outline(symbol):
    """The casts of a large symbol, and a sum over all of its nodes."""
    rows = nodes_of(symbol)
    casts = [row for row in rows if row.startswith(("amp_", "null "))]
    whole = hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]
    return [len(rows), hashlib.sha256("\n".join(casts).encode()).hexdigest()[:16], whole, casts[:6]]


def residual(mx):
    """Two convolutions with batch norms, a sum, pooling, a dense layer, softmax."""
    sym = mx.sym
    x = sym.Convolution(sym.var("data"), num_filter=4, kernel=(3, 3), pad=(1, 1), name="conv0")
    x = first = sym.Activation(sym.BatchNorm(x, name="bn0"), act_type="relu", name="relu0")
    x = sym.BatchNorm(sym.Convolution(x, num_filter=4, kernel=(3, 3), pad=(1, 1), name="conv1"), name="bn1")
    x = sym.Pooling(x + first, kernel=(2, 2), stride=(2, 2), pool_type="avg", name="pool")
    x = sym.LeakyReLU(sym.FullyConnected(x, num_hidden=5, name="fc0"), act_type="elu", name="elu")
    return sym.softmax(sym.FullyConnected(x, num_hidden=3, name="fc1"), name="scores")


def encoder(mx, layers=2, width=8, heads=2):
    """BERT in small: embeddings, self-attention, layer norms, GELU, pooling of the first token."""
    sym = mx.sym
    word = sym.Embedding(sym.var("tokens"), input_dim=20, output_dim=width, name="word")
    kind = sym.Embedding(sym.var("types"), input_dim=2, output_dim=width, name="type")
    x = sym.transpose(sym.LayerNorm(word + kind, name="norm"), axes=(1, 0, 2), name="first")
    x = sym.Dropout(x, p=0.1, name="drop")
    for i in range(layers):
        inner = sym.FullyConnected(x, num_hidden=3 * width, flatten=False, name=f"qkv{i}")
        scores = sym.contrib.interleaved_matmul_selfatt_qk(inner, heads=heads, name=f"qk{i}")
        shares = sym.Dropout(sym.softmax(scores, axis=-1, name=f"softmax{i}"), p=0.1, name=f"shares{i}")
        y = sym.contrib.interleaved_matmul_selfatt_valatt(inner, shares, heads=heads, name=f"val{i}")
        y = sym.Dropout(sym.FullyConnected(y, num_hidden=width, flatten=False, name=f"proj{i}"), p=0.1, name=f"out{i}")
        x = sym.LayerNorm(x + y, name=f"attended{i}")
        y = sym.FullyConnected(x, num_hidden=4 * width, flatten=False, name=f"wide{i}")
        y = sym.FullyConnected(
            sym.LeakyReLU(y, act_type="gelu", name=f"gelu{i}"), num_hidden=width, flatten=False, name=f"narrow{i}"
        )
        x = sym.LayerNorm(x + y, name=f"norm{i}")
    head = sym.slice_axis(x, axis=0, begin=0, end=1, name="head")
    pooled = sym.tanh(sym.FullyConnected(head, num_hidden=width, name="pooler"), name="pooled")
    return sym.Group([x, sym.FullyConnected(pooled, num_hidden=2, name="classifier")])


def branches(mx):
    """Outputs of several, joins of both dtypes, conditions, a parameter for two, numbers that say places."""
    sym = mx.sym
    x = sym.FullyConnected(sym.var("data"), num_hidden=4, name="f")
    parts = sym.split(x, num_outputs=2, name="parts")
    joined = sym.concat(parts[0], parts[1], sym.sum(parts[1], axis=1, keepdims=True, name="sum"), dim=1, name="joined")
    free = sym.broadcast_mul(sym.var("scale"), x, name="scaled")
    soft = sym.Activation(parts[0], act_type="softrelu", name="soft")
    both = sym.dot(sym.var("a"), sym.var("b"), name="product")
    masked = sym.where(sym.broadcast_greater(x, x, name="more"), x, sym.exp(x, name="e"), name="masked")
    last = sym.FullyConnected(joined, num_hidden=3, no_bias=True, name="last")
    prelu = sym.LeakyReLU(last, sym.var("slope"), act_type="prelu", name="prelu")
    return sym.Group([prelu, free, soft, both, masked, 1 / x, x**2.0, sym.BlockGrad(x, name="held")])


NETS = {
    "residual": (residual, ["data"]),
    "encoder": (encoder, ["tokens", "types"]),
    "branches": (branches, ["data"]),
}


@ask
def lists_of_operators(mx, folder):
    """Sizes of the lists, sums over the names, answers for other dtypes."""
    amp, found = amp_of(mx), {}
    for module, low in ((amp.lists.symbol_fp16, "float16"), (amp.lists.symbol_bf16, amp.amp.bfloat16)):
        for name in sorted(n for n in dir(module) if n.isupper()):
            words = sorted(map(str, getattr(module, name)))
            found[f"{low} {name}"] = [len(words), hashlib.sha256(" ".join(words).encode()).hexdigest()[:16]]
        for name in ("lp16_ops", "conditional_fp32_ops", "loss_output_functions", "lp16_use_fp32_params"):
            listed = getattr(amp, f"list_{name}")(low)
            found[f"{low} {name}"] = sorted(listed) if isinstance(listed, list) else listed
        found[f"{low} both"] = len(
            amp.list_fp32_ops(low) + amp.list_lp16_fp32_ops(low) + amp.list_widest_type_cast(low)
        )
    found["other"] = attempt(lambda: amp.list_fp32_ops("float32"))
    return {str(k).replace("[('bfloat16', '<u2')]", "bfloat16"): v for k, v in found.items()}


@ask
def converted_symbols(mx, folder):
    """Every node of small networks, with inputs named or not, parameters cast or not, nodes left out, other lists."""
    amp, found = amp_of(mx), {}
    for name, (make, data) in NETS.items():
        for kind in KINDS[: 1 if name == "encoder" else 2]:  # MXNet's lists for bfloat16 lack its attention
            for optional in (False, True):
                made = amp.convert_symbol(make(mx), kind, data_names=data, cast_optional_params=optional)
                found[f"{name} {kind} {optional}"] = nodes_of(made)
    net = residual(mx)
    for key, given in {
        "no inputs named": {},
        "left out": {"excluded_sym_names": ["conv1", "scores", "fc1_weight"]},
        "dense layers only": {"target_dtype_ops": ["FullyConnected"], "fp32_ops": ["Convolution", "softmax"]},
        "norms too": {"target_dtype_ops": ["Convolution", "BatchNorm", "Pooling"], "data_names": ["data"]},
        "on conditions": {
            "conditional_fp32_ops": [("Pooling", "pool_type", ["avg"]), ("Activation", "act_type", ["tanh"])]
        },
        "nothing": {"target_dtype_ops": [], "fp32_ops": [], "conditional_fp32_ops": []},
    }.items():
        found[key] = nodes_of(amp.convert_symbol(net, **given))
    for key, given in {
        "two lists": {"target_dtype_ops": ["softmax"], "fp32_ops": ["softmax"]},
        "no list": {"fp32_ops": ["elemwise_add"]},
        "no dtype": {"target_dtype": "float32"},
        "text": {"excluded_sym_names": "conv1"},
        "half a condition": {"conditional_fp32_ops": [("Pooling", "pool_type", "avg")]},
        "strange input": {"data_names": ["nobody"]},
    }.items():
        found[key] = attempt(lambda given=given: nodes_of(amp.convert_symbol(net, **given)))
    return found


@ask
def converted_zoo(mx, folder):
    """Networks of the model zoo."""
    found, zoo = {}, mx.gluon.model_zoo.vision
    for name in ("resnet18_v1", "resnet18_v2", "mobilenet_v2_0_25"):
        net = getattr(zoo, name)(prefix="net_")(mx.sym.var("data"))
        for kind in KINDS:
            found[f"{name} {kind}"] = outline(amp_of(mx).convert_symbol(net, kind, cast_optional_params=True))
    return found


@ask
def converted_models(mx, folder):
    """Dtypes of parameters, and of everything in the graph."""
    amp, nd, found = amp_of(mx), mx.nd, {}
    for name, shapes in (("residual", {"data": (2, 3, 4, 4)}), ("encoder", {"tokens": (2, 3), "types": (2, 3)})):
        net = NETS[name][0](mx)
        shaped, _, states = net.infer_shape(**shapes)
        own = {n: nd.array(numbers(*s)) for n, s in zip(net.list_arguments(), shaped) if n not in shapes}
        aux = {n: nd.ones(s) for n, s in zip(net.list_auxiliary_states(), states)}
        for optional in (False, True):
            made, a, b = amp.convert_model(net, dict(own), dict(aux), cast_optional_params=optional)
            found[f"{name} {optional}"] = {
                "nodes": nodes_of(made),
                "dtypes": {n: v.dtype.__name__ for n, v in sorted({**a, **b}.items())},
                "values": [v for n, v in sorted(a.items())][:2],
                "inferred": [
                    [np.dtype(d).name for d in part] for part in made.infer_type(**dict.fromkeys(shapes, np.float32))
                ],
            }
    return found


@ask
def converted_blocks(mx, folder):
    """A block that was called, one that was not, what is no block; modules with buckets."""
    amp, gluon, found = amp_of(mx), mx.gluon, {}
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Conv2D(4, 3, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dense(5), gluon.nn.PReLU())
    net.initialize(mx.init.One())
    found["not called"] = attempt(lambda: amp.convert_hybrid_block(net, ctx=mx.cpu()) and 0)
    net.hybridize()
    net(mx.nd.array(numbers(2, 3, 5, 5)))
    found["no block"] = attempt(lambda: amp.convert_hybrid_block(5) and 0)
    for optional in (False, True):
        made = amp.convert_hybrid_block(net, ctx=mx.cpu(), cast_optional_params=optional)
        found[f"block {optional}"] = {
            "class": type(made).__name__,
            "dtypes": {n: np.dtype(p.data().dtype).name for n, p in sorted(made.collect_params().items())},
            "nodes": nodes_of(made(mx.sym.var("data"))),
        }

    def generate(key):
        x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, flatten=False, name="fc")
        x = mx.sym.SoftmaxOutput(mx.sym.sum(x, axis=1, name="sum"), mx.sym.var("softmax_label"), name="softmax")
        return x, ["data"], ["softmax_label"]

    module = mx.mod.BucketingModule(generate, default_bucket_key=4)
    found["not bound"] = attempt(lambda: amp.amp.convert_bucketing_module(module) and 0)
    module.bind([("data", (2, 4, 5))], [("softmax_label", (2,))])
    module.init_params(mx.init.One())
    batch = [mx.nd.array(numbers(2, 3, 5))], [mx.nd.zeros(2)]
    module.switch_bucket(3, [("data", (2, 3, 5))], [("softmax_label", (2,))])
    made = amp.amp.convert_bucketing_module(module, cast_optional_params=True)
    made.bind([("data", (2, 4, 5))], [("softmax_label", (2,))], for_training=False)
    arguments, states = made.get_params()
    found["buckets"] = [nodes_of(made.symbol), {n: v.dtype.__name__ for n, v in sorted(arguments.items())}, len(states)]
    return [found, len(batch)]


@ask
def scalers(mx, folder):
    """A loss scaler on its own: when it halves and doubles, what it logs."""

    class Parameter:
        def __init__(self, *values):
            self._grad = None if not values else [mx.nd.array(values)]

    scaler, rows = amp_of(mx).loss_scaler.LossScaler(), []
    scaler._scale_seq_len = 3
    with logged() as lines:
        for values in ([1, 2], [np.inf], [1], [2], [3], [np.nan, 1], [1], [1], [1], [1], [-np.inf], *[[0]] * 34):
            answer = scaler.has_overflow([Parameter(), Parameter(1, 1), Parameter(*values)])
            rows.append([bool(answer), scaler.loss_scale, scaler._next_loss_scale, scaler._unskipped])
    return [rows, lines]


def _elsewhere(mx, function, *given):
    """Answer of a function of this file in a process of its own, which amp.init changes for good."""
    code = f"import json, {mx.__name__} as mx\nfrom tests.asked import precision, questions as q\n"
    code += f"print('answer', json.dumps(q.encoded(q.plain(precision.{function.__name__}(mx, *{given!r})))))"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=ROOT, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("answer ")]
    return json.loads(lines[-1].removeprefix("answer ")) if lines else done.stderr


def _initialized(mx, kind):
    """Symbols that are made after amp.init, by functions, methods, operators and blocks."""
    sym, amp, gluon, found = mx.sym, amp_of(mx), mx.gluon, {}
    found["unset"] = attempt(lambda: amp.init_trainer(None))
    found["no dtype"] = attempt(lambda: amp.init("float64"))
    with logged() as lines:
        amp.init(kind)
        amp.init("float64")  # the first one counts
    found["said"] = lines
    x, y = sym.var("x"), sym.var("y")
    made = {
        "dense": lambda: sym.FullyConnected(x, num_hidden=3, name="fc"),
        "dense without bias": lambda: sym.FullyConnected(data=x, weight=y, num_hidden=3, no_bias=True),
        "convolution": lambda: sym.Convolution(x, kernel=(3, 3), num_filter=2),
        "deconvolution": lambda: sym.Deconvolution(x, kernel=(3, 3), num_filter=2, name="up"),
        "recurrent": lambda: sym.RNN(x, state_size=2, num_layers=1, mode="lstm", name="rnn"),
        "norm": lambda: sym.BatchNorm(x, name="bn"),
        "softmax": lambda: sym.softmax(x),
        "method": lambda: x.softmax(),
        "several": lambda: sym.concat(x, y, dim=1),
        "list": lambda: sym.add_n(x, y, x),
        "named": lambda: sym.broadcast_mul(lhs=x, rhs=y),
        "condition": lambda: sym.Activation(x, act_type="softrelu"),
        "another": lambda: sym.Activation(x, act_type="relu"),
        "by position": lambda: sym.Activation(x, "softrelu"),
        "elu": lambda: sym.LeakyReLU(x, act_type="elu", slope=0.3),
        "submodules": lambda: sym.linalg.gemm2(sym.contrib.div_sqrt_dim(x), y),
        "overlaps": lambda: sym.contrib.box_iou(x, y),
        "head": lambda: sym.SoftmaxOutput(x, y, name="head"),
        "operators": lambda: (x + y) * (x - y) / (1 / x) + x**2.0 - 2.0**y,
        "functions": lambda: sym.maximum(x, sym.pow(x, y)) + sym.hypot(x, 3.0),
        "comparison": lambda: x > y,
        "moved": lambda: sym.transpose(sym.reshape(x, shape=(0, -1))),
        "group": lambda: sym.Group(list(sym.split(sym.FullyConnected(x, num_hidden=4, name="f"), num_outputs=2))),
    }
    for name, make in made.items():
        with mx.name.NameManager(), logged() as lines:
            found[name] = [attempt(lambda make=make: nodes_of(make())), *lines]
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Conv2D(4, 3), gluon.nn.BatchNorm(), gluon.nn.LeakyReLU(0.1), gluon.nn.Dense(3), gluon.nn.ELU())
    net.add(gluon.rnn.LSTM(2, input_size=3, prefix="lstm_")) if kind == "float16" else None
    found["block"] = nodes_of(net[:5](sym.var("data")))
    loss = gluon.loss.SoftmaxCrossEntropyLoss(prefix="loss_")
    found["loss"] = nodes_of(loss(sym.var("scores"), sym.var("label")))
    return found


@ask
def functions_after_init(mx, folder):
    """Functions of symbols after amp.init, in both precisions."""
    return {kind: _elsewhere(mx, _initialized, kind) for kind in KINDS}


def _train(mx, turns):
    """Losses of a small network of which MXNet's CPU can compute in float16 what is put in it: no products."""
    amp, gluon, nd, found = amp_of(mx), mx.gluon, mx.nd, {}
    products = [n for n in amp.list_fp32_ops("float16")] + ["FullyConnected", "Convolution", "Deconvolution", "RNN"]
    amp.init("float16", target_precision_ops=["Activation", "Pooling"], fp32_ops=products)
    for optimizer, given in (("sgd", {"learning_rate": 0.5, "momentum": 0.9}), ("adam", {"learning_rate": 0.02})):
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Conv2D(4, 3, in_channels=2, activation="relu"), gluon.nn.MaxPool2D())
        net.add(gluon.nn.Dense(6, in_units=16, activation="sigmoid"), gluon.nn.Dense(3, in_units=6))
        net.initialize()
        for i, (_, param) in enumerate(sorted(net.collect_params().items(), key=lambda p: p[0].split("_")[-2:])):
            param.set_data(nd.array(numbers(*param.shape, seed=i)))
        net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), optimizer, given, update_on_kvstore=False)
        before = attempt(lambda t=trainer: amp.scale_loss(nd.ones(2), t).__enter__())
        amp.init_trainer(trainer)
        data, labels = nd.array(numbers(6, 2, 6, 6)), nd.array([0, 1, 2, 0, 1, 2])
        criterion, rows = gluon.loss.SoftmaxCrossEntropyLoss(), []
        criterion.hybridize()
        for turn in range(turns):
            with mx.autograd.record():
                loss = criterion(net(data), labels)
                with amp.scale_loss([loss, loss] if turn % 2 else loss, trainer) as scaled:
                    mx.autograd.backward(scaled)
            if turn == 3:
                amp.unscale(trainer)
                rows.append(["unscaled", trainer._scale, net[3].bias.grad()])
            if turn == 4:
                net[2].weight.grad()[:] = np.inf
            trainer.step(6)
            scaler = trainer._amp_loss_scaler
            rows.append([loss.mean(), trainer._scale, scaler.loss_scale, scaler._unskipped, net[3].bias.data()])
        found[optimizer] = [before, rows, trainer._amp_original_scale]
    found["optimizer"] = [
        attempt(lambda f=f, v=v: f(v)) for f in (amp.init_trainer, amp.unscale) for v in (trainer._optimizer, 5)
    ]
    nd_scaled = nd.SoftmaxOutput(nd.ones((2, 3)), nd.zeros(2))
    x = nd.array(numbers(2, 3))
    x.attach_grad()
    with mx.autograd.record():
        y = nd.SoftmaxOutput(x, nd.array([0, 2]), grad_scale=2.0)
    y.backward()
    return [found, nd_scaled, x.grad]


@ask
def training_in_half_precision(mx, folder):
    """Losses, scales and parameters of some steps; one of them has an infinite gradient."""
    return _elsewhere(mx, _train, 8)
