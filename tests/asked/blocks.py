"""Layers, losses and cells of Gluon with other settings than their defaults: outputs, gradients and states after training."""

# ruff: noqa: B023, E731, F811, N803, N806  calls are made at once; F and letters are called as in every MXNet program
from __future__ import annotations

import numpy as np

from .questions import ask, attempt, numbers


def flat(nested):
    if isinstance(nested, (list, tuple)):
        return [item for part in nested for item in flat(part)]
    return [nested]


def fill(mx, block):
    """Parameters that differ everywhere; variances and gammas are positive."""
    for seed, (name, parameter) in enumerate(sorted(block.collect_params().items())):
        positive = name.endswith(("var", "gamma"))
        parameter.set_data(
            mx.nd.array(
                numbers(*parameter.shape, seed=seed, low=0.5 if positive else -1.0, high=1.5 if positive else 1.0)
            )
        )


def ran(mx, make, *inputs, train=True, call=None, smooth=None, hybridize=False):
    """Results of a block in inference, and in training with its gradients; and a flag: the hybridized block gives the same."""
    call = call or (lambda block, arrays: block(*arrays))
    found = []
    for hybrid in (False, True) if hybridize else (False,):
        with mx.name.NameManager():
            block = make()
        block.initialize()
        arrays = [x if x is None else mx.nd.array(x, dtype=x.dtype) for x in inputs]
        with mx.autograd.predict_mode():
            call(block, arrays)
        fill(mx, block)
        if hybrid:
            block.hybridize()
        answer = {"shown": repr(block), "out": flat(call(block, arrays))}
        if train:
            chosen = range(len(arrays)) if smooth is None else smooth
            for i in chosen:
                arrays[i].attach_grad()
            with mx.autograd.record():
                outputs = list(
                    {id(o): o for o in flat(call(block, arrays))}.values()
                )  # a state may be the output itself
            heads = [mx.nd.array(numbers(*o.shape, seed=5 + i)) for i, o in enumerate(outputs)]
            mx.autograd.backward(outputs, heads)
            answer["train"] = outputs
            answer["inputs"] = [arrays[i].grad for i in chosen]
            answer["parameters"] = {
                n: p.grad() if p.grad_req != "null" else p.data()
                for n, p in sorted(block.collect_params().items())
                if p.grad_req != "null" or not n.endswith("gamma")  # MXNet writes 1 into a gamma that is not used
            }
        found.append(answer)
    plain = [
        [
            a.asnumpy()
            for v in f.values()
            if v is not f["shown"]
            for a in flat(list(v.values()) if isinstance(v, dict) else v)
        ]
        for f in found
    ]
    return {**found[0], "hybrid": all(np.allclose(a, b, 1e-4, 1e-5) for a, b in zip(plain[0], plain[-1]))}


def rows(mx, table):
    """Answers to (name, make, inputs, options)."""
    found = {}
    for number, (name, make, inputs, options) in enumerate(table):
        found[f"{number} {name}"] = attempt(lambda m=make, i=inputs, o=options: ran(mx, m, *i, **o))
    return found


def of(module, *args, **kwargs):
    """A row's name and maker from a class and its arguments."""
    name = f"{module.__name__} {args} {kwargs}"
    return name, lambda: module(*args, prefix="b_", **kwargs)


@ask
def dense_and_norms(mx, folder):
    nn, x3, x4 = mx.gluon.nn, numbers(3, 4, 2), numbers(2, 6, 3, 5)
    return rows(
        mx,
        [
            (*of(nn.Dense, 3, activation="sigmoid", use_bias=False), [x3], {}),
            (*of(nn.Dense, 3, flatten=False, use_bias=False, in_units=2), [x3], {}),
            (*of(nn.Dense, 3, flatten=False, activation="softsign"), [x4], {}),
            (*of(nn.Dense, 1), [x4], {}),
            *(
                (*of(kind, **given), [x4], {})
                for kind in (nn.BatchNorm, nn.BatchNormReLU)
                for given in (
                    {"momentum": 0.3, "epsilon": 0.2},
                    {"center": False},
                    {"scale": False},
                    {"use_global_stats": True, "epsilon": 0.1},
                    {"in_channels": 6, "momentum": 0.0},
                )
            ),
            (*of(nn.BatchNorm, axis=3, momentum=0.3), [x4], {}),
            (*of(nn.BatchNorm, axis=0, momentum=0.3), [x3], {}),
            (*of(nn.BatchNorm, axis=-2, epsilon=0.1), [x4], {}),
            (*of(nn.BatchNorm), [numbers(5, 3)], {}),
            (*of(nn.InstanceNorm, scale=True, epsilon=0.1), [x4], {}),
            (*of(nn.InstanceNorm, center=False, scale=True, in_channels=6), [x4], {}),
            (*of(nn.InstanceNorm, axis=3, scale=True, center=False), [x4], {}),
            (*of(nn.InstanceNorm, axis=2, epsilon=0.3), [x3], {}),
            (*of(nn.LayerNorm, epsilon=0.3), [x3], {}),
            (*of(nn.LayerNorm, axis=1, center=False), [x4], {}),
            (*of(nn.LayerNorm, axis=2, scale=False, in_channels=3), [x4], {}),
            (*of(nn.LayerNorm, axis=0), [x3], {}),
            (*of(nn.GroupNorm, num_groups=2, epsilon=0.2), [x4], {}),
            (*of(nn.GroupNorm, 3, center=False), [x4], {}),
            (*of(nn.GroupNorm, 3, scale=False), [x4], {}),
            (*of(nn.GroupNorm), [x3], {}),
            (*of(nn.Embedding, 7, 3), [np.float32([[1, 6, 1], [0, 3, 2]])], {"smooth": []}),
            (*of(nn.Embedding, 7, 3, sparse_grad=True), [np.float32([4, 6, 4])], {"smooth": []}),
            (*of(nn.Embedding, 5, 2), [np.int32([[4], [0]])], {"smooth": []}),
            (*of(nn.Flatten), [x4], {}),
            (*of(nn.Dropout, 0.0), [x3], {}),
        ],
    )


@ask
def activations(mx, folder):
    nn, x = mx.gluon.nn, numbers(2, 3, 4, low=-3, high=3)
    table = [(*of(nn.Activation, k), [x], {}) for k in ("relu", "sigmoid", "tanh", "softrelu", "softsign")]
    table += [(*of(nn.LeakyReLU, a), [x], {}) for a in (0.0, 0.3)]
    table += [(*of(nn.PReLU), [x], {}), (*of(nn.PReLU, in_channels=3), [x], {})]
    table += [(*of(nn.ELU), [x], {}), (*of(nn.ELU, alpha=0.3), [x], {}), (*of(nn.GELU), [x], {})]
    table += [(*of(nn.Swish), [x], {}), (*of(nn.Swish, beta=0.3), [x], {}), (*of(nn.SELU), [x], {"train": False})]
    shown = rows(mx, table)
    first = nn.PReLU()
    first.initialize()
    return {**shown, "slope": first.alpha.data(), "negative": attempt(lambda: nn.LeakyReLU(-0.1))}


@ask
def convolutions(mx, folder):
    nn = mx.gluon.nn
    x = {1: numbers(2, 4, 9), 2: numbers(2, 4, 7, 6), 3: numbers(1, 4, 4, 5, 3)}
    k = {1: 3, 2: (3, 2), 3: (2, 3, 1)}
    s = {1: 2, 2: (1, 2), 3: (1, 2, 1)}
    p = {1: 2, 2: (2, 1), 3: (1, 0, 1)}
    d = {1: 2, 2: (1, 2), 3: (1, 1, 2)}
    table = []
    for n in (1, 2, 3):
        conv, back = getattr(nn, f"Conv{n}D"), getattr(nn, f"Conv{n}DTranspose")
        for given in (
            {"strides": s[n]},
            {"padding": p[n]},
            {"dilation": d[n]},
            {"groups": 2, "use_bias": False},
            {"activation": "tanh", "in_channels": 4, "padding": p[n], "strides": s[n]},
        ):
            table.append((*of(conv, 2, k[n], **given), [x[n]], {}))
            if n < 3:
                table.append((*of(back, 2, k[n], **{**given, "in_channels": 4}), [x[n]], {}))
        if n < 3:
            out = {1: 1, 2: (0, 1)}[n]
            table.append((*of(back, 2, k[n], strides=s[n], padding=p[n], output_padding=out), [x[n]], {}))
    return {
        **rows(mx, table),
        "refused": [
            attempt(call)
            for call in (
                lambda: nn.Conv1D(1, 1, layout="NWC"),
                lambda: nn.Conv2D(1, 1, layout="NCW"),
                lambda: nn.Conv3D(1, 1, layout="NCHW"),
                lambda: nn.Conv1DTranspose(1, 1, layout="NWC"),
                lambda: nn.Conv2DTranspose(1, 1, layout="HWNC"),
                lambda: nn.Conv3DTranspose(1, 1, layout="NCHW"),
                lambda: nn.Conv2D(1, (1, 2, 3)),
                lambda: nn.Conv2DTranspose(1, 1, output_padding=(1,)),
                lambda: nn.MaxPool2D((1, 2, 3)),
                lambda: nn.MaxPool2D(layout="NCW"),
                lambda: nn.AvgPool1D(layout="NCHW"),
                lambda: nn.GlobalAvgPool3D(layout="NCHW"),
                lambda: nn.ReflectionPad2D((1, 2)),
            )
        ],
    }


@ask
def poolings(mx, folder):
    nn = mx.gluon.nn
    x = {1: numbers(2, 3, 9), 2: numbers(2, 3, 7, 6), 3: numbers(1, 2, 5, 6, 4)}
    size = {1: 3, 2: (3, 2), 3: (3, 2, 2)}
    stride = {1: 2, 2: (2, 1), 3: (2, 1, 2)}
    pad = {1: 1, 2: (1, 0), 3: (1, 0, 1)}
    table = []
    for n in (1, 2, 3):
        for kind in ("Max", "Avg"):
            pool = getattr(nn, f"{kind}Pool{n}D")
            for given in (
                {},
                {"pool_size": size[n]},
                {"pool_size": size[n], "strides": 1},
                {"pool_size": size[n], "strides": stride[n], "padding": pad[n]},
                {"pool_size": size[n], "strides": stride[n], "ceil_mode": True},
            ):
                table.append((*of(pool, **given), [x[n]], {"train": "ceil_mode" not in given}))
            table.append((*of(getattr(nn, f"Global{kind}Pool{n}D")), [x[n]], {}))
        for inside in (True, False):
            given = {"pool_size": size[n], "strides": stride[n], "padding": pad[n], "count_include_pad": inside}
            table.append((*of(getattr(nn, f"AvgPool{n}D"), **given), [x[n]], {}))
    table.append((*of(nn.ReflectionPad2D, 3), [x[2]], {}))
    table.append((*of(nn.ReflectionPad2D, (0, 0, 0, 0, 1, 2, 3, 0)), [x[2]], {}))
    return rows(mx, table)


@ask
def containers(mx, folder):
    """Slices, lengths, concurrent blocks, pixel shuffles, lambdas, and what they print."""
    nn, contrib = mx.gluon.nn, mx.gluon.contrib.nn
    x = numbers(2, 4)

    def made(kind, *parts):
        block = kind(prefix="net_")
        with block.name_scope():
            block.add(*parts) if kind in (nn.Sequential, nn.HybridSequential) else [block.add(p) for p in parts]
        return block

    found = {}
    for kind in (nn.Sequential, nn.HybridSequential):
        net = made(kind, nn.Dense(3), nn.Dense(2, activation="relu"), nn.Dense(5))
        net.initialize()
        net(mx.nd.array(x))
        fill(mx, net)
        part = net[1:]
        found[kind.__name__] = [
            repr(net),
            len(net),
            net[-1].name,
            [b.name for b in net],
            repr(part),
            type(part).__name__,
        ]
        found[kind.__name__] += [net(mx.nd.array(x)), net[:2](mx.nd.array(x)), sorted(part.collect_params().keys())]
    for axis in (-1, 0, 1, 2):
        for kind in (contrib.Concurrent, contrib.HybridConcurrent):

            def concurrent(kind=kind, axis=axis):
                block = kind(axis=axis, prefix="net_")
                with block.name_scope():
                    for part in (contrib.Identity(), nn.Dense(4, flatten=False), contrib.Identity()):
                        block.add(part)
                return block

            found[f"{kind.__name__} {axis}"] = ran(
                mx, concurrent, numbers(2, 3, 4), hybridize=kind is not contrib.Concurrent
            )
    for factor, shape in ((2, (1, 4, 3)), (3, (2, 6, 2))):
        found[f"1D {factor}"] = ran(mx, lambda f=factor: contrib.PixelShuffle1D(f), numbers(*shape), hybridize=True)
    for factor, shape in ((2, (1, 8, 2, 3)), ((1, 3), (2, 6, 3, 2))):
        found[f"2D {factor}"] = ran(mx, lambda f=factor: contrib.PixelShuffle2D(f), numbers(*shape))
    for factor, shape in ((2, (1, 8, 2, 1, 3)), ((3, 1, 2), (1, 12, 2, 3, 1))):
        found[f"3D {factor}"] = ran(mx, lambda f=factor: contrib.PixelShuffle3D(f), numbers(*shape))
    found["length"] = attempt(lambda: contrib.PixelShuffle2D((1, 2, 3)))
    found["lambda"] = [
        nn.Lambda(lambda a, b: a - 2 * b)(mx.nd.array(x), mx.nd.array(x + 1)),
        nn.HybridLambda(lambda F, a, b: F.broadcast_sub(a, b))(mx.nd.array(x), mx.nd.array(x[:1])),
        repr(nn.Lambda("relu")),
        repr(nn.HybridLambda("relu", prefix="l_")),
        nn.Lambda("relu")(mx.nd.array(x)),
        nn.HybridLambda("relu")(mx.nd.array(x)),
        attempt(lambda: nn.Lambda("no_such")),
        attempt(lambda: nn.HybridLambda("no_such")),
        attempt(lambda: nn.Lambda(3)),
        attempt(lambda: nn.HybridLambda(3)),
    ]
    table = contrib.SparseEmbedding(6, 2, prefix="rows_")
    table.initialize()
    trainer = mx.gluon.Trainer(table.collect_params(), "sgd", {"learning_rate": 0.5})
    values = mx.nd.array(numbers(6, 2))
    table.weight.set_data(values.tostype("row_sparse"))
    with mx.autograd.record():
        out = table(mx.nd.array([[1, 4], [4, 5]]))
        loss = (out * out).sum()
    loss.backward()
    trainer.step(2)
    found["sparse"] = [repr(table), out, table.weight.row_sparse_data(mx.nd.arange(6))]
    found["hybrid only"] = attempt(lambda: nn.HybridSequential().add(nn.Sequential()))
    return found


@ask
def losses(mx, folder):
    """Weights, samples' weights, axes, labels of another shape, batches on another axis."""
    loss, P = mx.gluon.loss, numbers(3, 4, low=-2, high=2)
    L, S = numbers(3, 4, seed=9, low=-2, high=2), numbers(3, 1, seed=4, low=0.1, high=2)
    E = numbers(3, 4, seed=3, low=0.1, high=2)
    sign, one = np.sign(L), (L > 0).astype(np.float32)
    unit = numbers(3, 4, low=0.05, high=0.95)
    spread = numbers(3, 4, low=0.1, high=1.0)
    spread /= spread.sum(1, keepdims=True)
    image, index = numbers(2, 3, 4, 5), np.random.RandomState(0).randint(0, 3, (2, 4, 5)).astype(np.float32)
    picks = np.float32([2, 0, 3])
    counts = np.float32([[0, 1, 2, 5], [3, 1, 0, 7], [4, 2, 6, 1]])
    table = []
    for name, inputs, given in (
        ("L2Loss", [P, L], {}),
        ("L2Loss", [P, L.reshape(4, 3)], {"weight": 0.3}),
        ("L1Loss", [P, L], {"weight": 3}),
        ("SigmoidBCELoss", [P, one], {}),
        ("SigmoidBCELoss", [unit, one], {"from_sigmoid": True, "weight": 0.3}),
        ("SoftmaxCELoss", [P, picks], {"weight": 0.3}),
        ("SoftmaxCELoss", [P, spread], {"sparse_label": False}),
        ("SoftmaxCELoss", [P, spread], {"sparse_label": False, "axis": 0, "from_logits": True}),
        ("KLDivLoss", [P, spread], {"weight": 0.3}),
        ("KLDivLoss", [P, spread], {"from_logits": False, "axis": 0}),
        ("HuberLoss", [P, L], {"rho": 0.4, "weight": 0.3}),
        ("HuberLoss", [P, L], {"rho": 2}),
        ("HingeLoss", [P, sign], {"margin": 0.4}),
        ("HingeLoss", [P, sign], {"weight": 0.3}),
        ("SquaredHingeLoss", [P, sign], {"margin": 0.4, "weight": 0.3}),
        ("SquaredHingeLoss", [P, sign], {}),
        ("LogisticLoss", [P, sign], {"weight": 0.3}),
        ("LogisticLoss", [P, one], {"label_format": "binary"}),
        ("PoissonNLLLoss", [P, counts], {}),
        ("PoissonNLLLoss", [P, counts], {"weight": 0.3}),
        ("PoissonNLLLoss", [unit, counts], {"from_logits": False}),
    ):
        kind = getattr(loss, name)
        for more in ([], [S], [E] if name[:7] not in ("Softmax",) else [S[::-1].copy()]):
            table.append((*of(kind, **given), [*inputs, *more], {"smooth": [0]}))
        if name not in ("SoftmaxCELoss",):
            table.append((*of(kind, batch_axis=1, **given), inputs, {"smooth": [0]}))
    for axis, batch in ((1, 0), (1, 2), (-3, 0)):
        weights = numbers(2, 1, 4, 5, low=0.1, high=2)
        table.append((*of(loss.SoftmaxCELoss, axis=axis, batch_axis=batch), [image, index], {"smooth": [0]}))
        table.append((*of(loss.SoftmaxCELoss, axis=axis, batch_axis=batch), [image, index, weights], {"smooth": [0]}))
    positive = numbers(4, low=0.5, high=3)
    for sigmoid, pred in ((False, P), (True, unit)):

        def call(block, a, full=True):
            return block(a[0], a[1], None, a[2])

        table.append(
            (*of(loss.SigmoidBCELoss, from_sigmoid=sigmoid), [pred, one, positive], {"smooth": [0], "call": call})
        )
    table += [
        (*of(loss.TripletLoss), [P, L, E], {}),
        (*of(loss.TripletLoss, margin=5, weight=0.3), [P, L.reshape(4, 3), E], {}),
        (*of(loss.TripletLoss, margin=9, batch_axis=1), [P, L, E], {}),
        (*of(loss.CosineEmbeddingLoss), [P, L, np.float32([1, -1, 1])], {"smooth": [0, 1]}),
        (
            *of(loss.CosineEmbeddingLoss, margin=0.1, weight=0.3),
            [P, L * 0.2 + P, np.float32([-1, -1, 1])],
            {"smooth": [0, 1]},
        ),
        (*of(loss.CosineEmbeddingLoss), [P, L, np.float32([1, -1, 1]), S], {"smooth": [0, 1]}),
        (*of(loss.SDMLLoss, smoothing_parameter=0.1), [P, L], {}),
        (*of(loss.SDMLLoss), [P, L], {}),
    ]
    speech = numbers(2, 8, 5, low=-2, high=2)
    words = np.float32([[1, 3, -1], [0, 0, 2]])
    lengths, short = np.float32([5, 8]), np.float32([1, 3])
    table += [
        (*of(loss.CTCLoss), [speech, words], {"smooth": [0]}),
        (*of(loss.CTCLoss, weight=0.3), [speech, words, lengths], {"smooth": [0]}),
        (*of(loss.CTCLoss), [speech, words, lengths, short], {"smooth": [0]}),
        (*of(loss.CTCLoss), [speech, words, lengths, short, np.float32([2, 0.5])], {"smooth": [0]}),
        (*of(loss.CTCLoss, layout="TNC"), [speech.transpose(1, 0, 2).copy(), words, lengths], {"smooth": [0]}),
        (*of(loss.CTCLoss, label_layout="TN"), [speech, words.T.copy(), lengths], {"smooth": [0]}),
    ]
    full = loss.PoissonNLLLoss(from_logits=False, compute_full=True)
    stirling = full(mx.nd.array(unit), mx.nd.array(counts + 2), mx.nd.array(S), 0.5)
    only = loss.CTCLoss()(mx.nd.array(speech), mx.nd.array(words), None, mx.nd.array(short))
    return {**rows(mx, table), "Stirling": stirling, "lengths of labels only": only}


def stepped(mx, cell, arrays):
    states = list(arrays[1:])
    out, states = cell(arrays[0], states)
    again, states = cell(arrays[0] * 0.5, states)
    return [out, again, *states]


@ask
def cells(mx, folder):
    """Two steps, and unrolling in both layouts, merged or not, with lengths, over lists, from given states."""
    rnn, contrib, nn = mx.gluon.rnn, mx.gluon.contrib.rnn, mx.gluon.nn
    X, H, C = numbers(2, 4), numbers(2, 3, seed=1), numbers(2, 3, seed=2)
    R = numbers(2, 2, seed=6)
    kinds = {
        "rnn": (lambda: rnn.RNNCell(3, prefix="c_"), [H]),
        "rnn sigmoid": (lambda: rnn.RNNCell(3, activation="sigmoid", input_size=4, prefix="c_"), [H]),
        "rnn leaky": (lambda: rnn.RNNCell(3, activation=nn.LeakyReLU(0.2), prefix="c_"), [H]),
        "rnn softsign": (lambda: rnn.RNNCell(3, activation="softrelu", prefix="c_"), [H]),
        "lstm": (lambda: rnn.LSTMCell(3, prefix="c_"), [H, C]),
        "lstm others": (
            lambda: rnn.LSTMCell(3, activation="softsign", recurrent_activation="tanh", prefix="c_"),
            [H, C],
        ),
        "gru": (lambda: rnn.GRUCell(3, prefix="c_"), [H]),
        "lstmp": (lambda: contrib.LSTMPCell(3, 2, prefix="c_"), [R, C]),
        "residual": (
            lambda: rnn.ResidualCell(rnn.LSTMCell(4, prefix="c_")),
            [numbers(2, 4, seed=1), numbers(2, 4, seed=2)],
        ),
        "zoneout": (lambda: rnn.ZoneoutCell(rnn.GRUCell(3, prefix="c_"), 0.4, 0.3), [H]),
        "dropped": (lambda: contrib.VariationalDropoutCell(rnn.LSTMCell(3, prefix="c_"), 0.3, 0.3, 0.3), [H, C]),
    }

    def stack():
        both = rnn.HybridSequentialRNNCell(prefix="s_")
        with both.name_scope():
            both.add(rnn.LSTMCell(3))
            both.add(rnn.ResidualCell(rnn.GRUCell(3)))
            both.add(rnn.DropoutCell(0.0))
        return both

    kinds["stack"] = (stack, [H, C, numbers(2, 3, seed=8)])
    found = {}
    for name, (make, states) in kinds.items():
        call = lambda block, arrays: stepped(mx, block, arrays)
        train = name not in ("zoneout", "dropped")
        found[name] = attempt(lambda: ran(mx, make, X, *states, call=call, train=train))
        cell = make()
        found[f"{name} states"] = [
            [[i["shape"], i["__layout__"]] for i in cell.state_info(5)],
            [s.shape for s in cell.begin_state(batch_size=2, func=mx.nd.zeros)]
            if name not in ("residual", "zoneout", "dropped")
            else 0,
        ]
    kinds["two ways"] = (
        lambda: rnn.BidirectionalCell(rnn.LSTMCell(3, prefix="l_"), rnn.GRUCell(2, prefix="r_")),
        [H, C, R],
    )
    kinds["residual two ways"] = (
        lambda: rnn.ResidualCell(rnn.BidirectionalCell(rnn.RNNCell(2, prefix="l_"), rnn.GRUCell(2, prefix="r_"))),
        [R, R * 2],
    )
    N, T, lengths = numbers(2, 3, 4), numbers(3, 2, 4), np.float32([1, 3])
    for name in (
        "rnn",
        "lstm",
        "gru",
        "lstmp",
        "stack",
        "residual",
        "two ways",
        "residual two ways",
        "zoneout",
        "dropped",
    ):
        make, states = kinds[name]
        for tag, x, given in (
            ("plain", N, {}),
            ("merged", N, {"merge_outputs": True}),
            ("apart", T, {"merge_outputs": False, "layout": "TNC"}),
            ("lengths", N, {"merge_outputs": True, "valid_length": True}),
            ("lengths apart", N, {"merge_outputs": False, "valid_length": True}),
            ("lengths TNC", T, {"layout": "TNC", "valid_length": True}),
            ("states", N, {"begin_state": True, "merge_outputs": True}),
            ("states lengths", T, {"begin_state": True, "valid_length": True, "layout": "TNC", "merge_outputs": True}),
        ):
            if name in ("lstmp", "residual", "zoneout", "dropped", "rnn") and tag not in (
                "apart",
                "lengths",
                "states lengths",
            ):
                continue
            if (
                name.endswith("two ways")
                and "lengths" in tag
                and tag != "states lengths"
                and not given.get("merge_outputs")
            ):
                continue  # MXNet joins outputs of two layouts and fails

            def call(block, arrays, given=given):
                given = dict(given)
                if given.pop("valid_length", False):
                    given["valid_length"] = mx.nd.array(lengths)
                if given.pop("begin_state", False):
                    given["begin_state"] = list(arrays[1:])
                return flat(block.unroll(3, arrays[0], **given))

            train = name not in ("zoneout", "dropped") and tag in ("apart", "states lengths")
            inputs = [x, *states] if "begin_state" in given else [x]
            found[f"{name} {tag}"] = attempt(lambda m=make, i=inputs, c=call, t=train: ran(mx, m, *i, call=c, train=t))
        steps = [mx.nd.array(N[:, i]) for i in range(3)]

        def listed(make=make):
            cell = make()
            cell.initialize()
            cell.unroll(3, steps)
            fill(mx, cell)
            return flat(cell.unroll(3, steps, merge_outputs=name != "stack"))

        found[f"{name} list"] = attempt(listed)
    found["wrong length"] = attempt(lambda: rnn.RNNCell(3).unroll(4, mx.nd.array(N)))
    held = rnn.RNNCell(4, input_size=4)
    held.initialize()
    around = rnn.ResidualCell(held)
    around.unroll(3, mx.nd.array(N))
    found["still around"] = [
        attempt(lambda: held.begin_state(2)),
        [s.shape for s in around.begin_state(func=mx.nd.zeros, batch_size=2)],
    ]
    found["bidirectional step"] = attempt(lambda: kinds["two ways"][0]()(mx.nd.array(X), []))
    found["printed"] = [repr(make()) for make, _ in kinds.values()]
    return found


@ask
def convolutional_cells(mx, folder):
    contrib = mx.gluon.contrib.rnn
    found = {}
    for kind, count in (("RNN", 1), ("LSTM", 2), ("GRU", 1)):
        for tag, make, shapes in (
            (
                "1D",
                lambda kind=kind: getattr(contrib, f"Conv1D{kind}Cell")(
                    (2, 7), 3, 3, 3, i2h_pad=2, i2h_dilate=2, h2h_dilate=2, activation="sigmoid", prefix="c_"
                ),
                [(2, 2, 7), (2, 3, 7)],
            ),
            (
                "2D",
                lambda kind=kind: getattr(contrib, f"Conv2D{kind}Cell")(
                    (2, 6, 5), 3, (3, 2), (3, 5), i2h_pad=(1, 0), prefix="c_"
                ),
                [(2, 2, 6, 5), (2, 3, 6, 4)],
            ),
        ):
            states = [numbers(*shapes[1], seed=i) for i in range(count)]
            call = lambda block, arrays: flat(block(arrays[0], list(arrays[1:])))
            found[f"{kind} {tag}"] = ran(mx, make, numbers(*shapes[0]), *states, call=call)
            info = make().state_info(4)
            found[f"{kind} {tag} info"] = [[i["shape"], i["__layout__"]] for i in info]
    found["even"] = attempt(lambda: contrib.Conv2DRNNCell((2, 6, 5), 3, 3, (2, 3)))
    return found


@ask
def fused_layers(mx, folder):
    """Every kind in both layouts, with and without states, several layers, both directions, one input of a given size."""
    rnn, T = mx.gluon.rnn, numbers(4, 2, 3)
    found, table = {}, []
    for name, count in (("RNN", 1), ("LSTM", 2), ("GRU", 1)):
        kind = getattr(rnn, name)
        for given in (
            {},
            {"num_layers": 2},
            {"bidirectional": True, "layout": "NTC"},
            {"num_layers": 2, "bidirectional": True, "input_size": 3},
        ):
            inputs = T if given.get("layout") != "NTC" else T.transpose(1, 0, 2).copy()
            table.append((*of(kind, 2, **given), [inputs], {}))
            size = given.get("num_layers", 1) * (2 if "bidirectional" in given else 1)
            states = [numbers(size, 2, 2, seed=i) for i in range(count)]
            call = lambda block, arrays: flat(block(arrays[0], list(arrays[1:])))
            table.append((*of(kind, 2, **given), [inputs, *states], {"call": call}))
        layer = kind(2, 2, bidirectional=True, dropout=0.3, layout="NTC", prefix="l_")
        found[name] = [repr(layer), [[i["shape"], i["__layout__"]] for i in layer.state_info(5)], repr(layer._unfuse())]
        found[name] += [[s.shape for s in layer.begin_state(5)], sorted(layer._collect_params_with_prefix("x"))]
    table.append((*of(rnn.RNN, 2, activation="tanh"), [T], {}))
    table.append((*of(rnn.LSTM, 3, projection_size=2), [T], {"train": False}))
    table.append((*of(rnn.LSTM, 3, 2, projection_size=2, bidirectional=True), [T], {"train": False}))
    table.append((*of(rnn.LSTM, 2, dropout=0.4, num_layers=2), [T], {"train": False}))
    found.update(rows(mx, table))
    found["layout"] = attempt(lambda: rnn.LSTM(2, layout="NCT"))
    return found
