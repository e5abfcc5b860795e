"""Recurrent cells again: states that are given, layouts, modifiers with half of their rates, parameters that are shared, and the
initializers that each layer hands on."""

# ruff: noqa: B018, B023, E501, E731, N806, RUF005  calls are made at once; F and letters are called as in every MXNet program
from __future__ import annotations

import random

import numpy as np

from .blocks import flat, ran
from .questions import ask, attempt, numbers, plain


def in_symbols(mx, cell, length=3, shape=(2, 3, 4), begin=True, inputs=None, **settings):
    """Numbers of an unrolled cell of symbols from states that are given, and from zeros; names of outputs and arguments."""
    states = [mx.sym.var(f"s{i}", shape=[d or 2 for d in s]) for i, s in enumerate(cell.state_shape)] if begin else None
    data = mx.sym.var("data", shape=shape) if inputs is None else inputs(mx)
    outputs, after = cell.unroll(length, data, begin_state=states, **settings)
    listed = isinstance(outputs, list)
    symbol = mx.sym.Group(flat([outputs, list(after)]))
    executor = symbol.simple_bind(mx.cpu(), grad_req="null")
    for i, name in enumerate(sorted(executor.arg_dict)):
        executor.arg_dict[name][:] = numbers(*executor.arg_dict[name].shape, seed=i)
    return [listed, symbol.list_arguments(), symbol.list_outputs(), plain(executor.forward(is_train=False))]


def stacked(r, *cells, **given):
    made = r.SequentialRNNCell(**given)
    for cell in cells:
        made.add(cell)
    return made


@ask
def cells_of_symbols(mx, folder):
    """Every kind of cell in both layouts, from states and from none, merged, apart and as it comes."""
    r = mx.rnn
    N, T = (2, 3, 4), (3, 2, 4)
    kinds = {
        "rnn": lambda: r.RNNCell(3, prefix="c_"),
        "lstm": lambda: r.LSTMCell(3, prefix="c_"),
        "stack": lambda: stacked(
            r, r.LSTMCell(3, prefix="a_"), r.ResidualCell(r.GRUCell(3, prefix="b_")), r.DropoutCell(0.0)
        ),
        "both": lambda: r.BidirectionalCell(r.LSTMCell(2, prefix="l_"), r.GRUCell(3, prefix="r_"), output_prefix="o_"),
        "both, one fused": lambda: r.BidirectionalCell(
            r.FusedRNNCell(2, mode="gru", get_next_state=True, prefix="l_"), r.LSTMCell(3, prefix="r_")
        ),
        "both, other fused": lambda: r.BidirectionalCell(
            r.RNNCell(2, prefix="l_"), r.FusedRNNCell(3, mode="lstm", get_next_state=True, prefix="r_")
        ),
        "both in a stack": lambda: stacked(
            r,
            r.BidirectionalCell(r.RNNCell(2, prefix="l_"), r.GRUCell(3, prefix="r_")),
            r.LSTMCell(2, prefix="a_"),
        ),
        "residual": lambda: r.ResidualCell(r.LSTMCell(4, prefix="c_")),
        "dropout": lambda: stacked(r, r.DropoutCell(0.3), r.RNNCell(3, prefix="c_")),
        "fused": lambda: r.FusedRNNCell(3, 2, "gru", True, get_next_state=True, prefix="f_"),
        "fused lstm": lambda: r.FusedRNNCell(3, mode="lstm", get_next_state=True, prefix="f_"),
        "fused alone": lambda: r.FusedRNNCell(3, mode="rnn_relu", prefix="f_"),
    }
    found = {}
    for name, make in kinds.items():
        for tag, given in {
            "NTC": {"shape": N},
            "TNC": {"shape": T, "layout": "TNC"},
            "TNC merged": {"shape": T, "layout": "TNC", "merge_outputs": True, "begin": False},
            "NTC apart": {"shape": N, "merge_outputs": False},
        }.items():
            if "both" in name and "TNC" in tag and "in a" in name:
                continue
            with mx.name.NameManager():
                found[f"{name} {tag}"] = attempt(lambda: in_symbols(mx, make(), **given))
    with mx.name.NameManager():
        apart = lambda mx: [mx.sym.var(f"x{i}", shape=(2, 4)) for i in range(3)]
        for name in ("rnn", "dropout", "both", "fused", "residual"):
            for merge in (None, True, False):
                found[f"list {name} {merge}"] = attempt(
                    lambda: in_symbols(mx, kinds[name](), inputs=apart, merge_outputs=merge)
                )
    return found


@ask
def what_cells_of_symbols_are_made_with(mx, folder):
    """Parameters and prefixes that are given, biases that forget, what does not go together."""
    r = mx.rnn
    found = {}
    for name, make in {
        "rnn": lambda **k: r.RNNCell(3, **k),
        "lstm": lambda **k: r.LSTMCell(3, **k),
        "gru": lambda **k: r.GRUCell(3, **k),
        "fused": lambda **k: r.FusedRNNCell(3, 2, "lstm", forget_bias=2.5, **k),
        "conv rnn": lambda **k: r.ConvRNNCell((2, 3, 6, 5), 4, **k),
        "conv lstm": lambda **k: r.ConvLSTMCell((2, 3, 6, 5), 4, **k),
        "conv gru": lambda **k: r.ConvGRUCell((2, 3, 6, 5), 4, **k),
        "dropout": lambda **k: r.DropoutCell(0.2, **k),
    }.items():
        shared = r.RNNParams("q_")
        own = make(params=shared)
        found[name] = [own.params is shared, sorted(shared._params), make(prefix="p_").begin_state.__self__._prefix]
        found[name].append([s.name for s in make(prefix="p_").begin_state()])
        found[name].append({k: v.attr("__init__") for k, v in sorted(make(prefix="p_").params._params.items())})
    kept = r.RNNCell(2, prefix="a_")
    kept.params
    found["asked for"] = attempt(lambda: stacked(r, kept, params=r.RNNParams("q_")))
    found["zoneout"] = [
        attempt(lambda: r.ZoneoutCell(r.FusedRNNCell(2)).state_shape),
        attempt(lambda: r.ZoneoutCell(r.BidirectionalCell(r.RNNCell(2), r.RNNCell(2)))),
    ]
    found["even"] = [
        attempt(lambda: r.ConvRNNCell((2, 3, 6, 6), 4, h2h_kernel=k).state_shape) for k in ((3, 2), (2, 3))
    ]
    found["unpacked"] = attempt(lambda: r.FusedRNNCell(2, prefix="f_").unpack_weights({"f_parameters": mx.nd.ones(7)}))
    for half in ((0.4, 0.0), (0.0, 0.3)):
        with mx.name.NameManager():
            cell = r.ZoneoutCell(r.LSTMCell(3, prefix="c_"), *half)
            found[f"zoneout {half}"] = in_symbols(mx, cell, begin=False, shape=(3, 2, 4), layout="TNC")
            outputs, after = cell.unroll(2, mx.sym.var("data"))
            internals = mx.sym.Group(flat([outputs, after])).get_internals().list_outputs()
            found[f"zoneout {half} operators"] = sorted(n for n in internals if "dropout" in n or "where" in n)
    with mx.name.NameManager():
        for rate in (0, 0.25):
            out, states = r.DropoutCell(rate)(mx.sym.var("x"), [])
            found[f"dropout {rate}"] = [out.name, states]
    return found


@ask
def files_of_two_cells(mx, folder):
    r = mx.rnn
    cells = [r.LSTMCell(2, prefix="a_"), r.GRUCell(2, prefix="b_")]
    outputs, _ = stacked(r, *cells).unroll(2, mx.sym.var("data"))
    symbol = mx.sym.Group(outputs)
    executor = symbol.simple_bind(mx.cpu(), data=(2, 2, 3))
    kept = {k: mx.nd.array(numbers(*v.shape, seed=4)) for k, v in sorted(executor.arg_dict.items()) if k[1] == "_"}
    r.save_rnn_checkpoint(cells, str(folder / "r"), 1, symbol, kept, {})
    held = mx.nd.load(str(folder / "r-0001.params"))
    back = r.load_rnn_checkpoint(cells, str(folder / "r"), 1)[1]
    for period in (0, 1, 3):
        save = r.do_rnn_checkpoint(cells, str(folder / f"p{period}"), period)
        for epoch in range(4):
            save(epoch, symbol, kept, {})
    names = sorted(p.name for p in folder.iterdir() if p.name.endswith(".params"))
    return [sorted(held), {k: v - back[k] for k, v in kept.items()}, sorted(back), names]


@ask
def sentences_in_buckets(mx, folder):
    """Buckets in any order, sentences that just fill one, and lengths that just enough sentences have."""
    lines = [[1, 2, 3], [4, 5], [6, 7, 8, 9], [2, 4], [3, 3, 3], [5, 6, 7], [8, 8, 1, 2, 3, 4, 5, 6]]
    found = {}
    for name, given in {"upside down": {"buckets": [5, 3, 8]}, "found": {}, "short": {"buckets": [3, 2]}}.items():
        random.seed(3)
        np.random.seed(3)
        made = mx.rnn.BucketSentenceIter(lines, 2, **given)
        batches = [[b.bucket_key, b.data[0], b.label[0]] for b in made]
        found[name] = [made.buckets, made.default_bucket_key, batches]
    return found


@ask
def convolutional_cells_of_symbols(mx, folder):
    """Sizes, steps between taps and activations that differ along height and width."""
    r = mx.rnn
    found = {}
    for kind in ("ConvRNNCell", "ConvLSTMCell", "ConvGRUCell"):
        for tag, given in {
            "plain": {},
            "uneven": {
                "h2h_kernel": (3, 5),
                "h2h_dilate": (2, 1),
                "i2h_kernel": (2, 3),
                "i2h_stride": (1, 2),
                "i2h_pad": (1, 0),
                "i2h_dilate": (2, 1),
                "activation": "tanh",
                "prefix": "c_",
            },
        }.items():
            with mx.name.NameManager():
                cell = getattr(r, kind)((2, 3, 6, 7), 4, **given)
                found[f"{kind} {tag}"] = attempt(
                    lambda: in_symbols(
                        mx, cell, 2, inputs=lambda mx: [mx.sym.var(f"x{i}", shape=(2, 3, 6, 7)) for i in range(2)]
                    )
                )
                found[f"{kind} {tag} states"] = [list(s) for s in cell.state_shape]
    return found


def values_of(mx, block):
    """Shape and mean of every parameter as its initializer leaves it."""
    block.initialize(mx.init.Constant(0.125))
    if "deformable_conv_weight" in block._reg_params:
        block(mx.nd.ones((1, 2, 4, 4)))
    return {
        n: [list(p.shape), float(p.data().asnumpy().astype("float64").mean()), str(np.dtype(p.dtype))]
        for n, p in sorted(block.collect_params().items())
    }


@ask
def initializers_and_shared_parameters(mx, folder):
    """Every initializer that a layer takes by name; parameters of another layer that are given; the prefix."""
    nn, rnn = mx.gluon.nn, mx.gluon.rnn
    crnn, cnn, cnnn = mx.gluon.contrib.rnn, mx.gluon.contrib.cnn, mx.gluon.contrib.nn
    C = mx.init.Constant
    four = {f"{a}_{b}_initializer": C(v) for a, b, v in (("i2h", "weight", 2), ("h2h", "weight", 3), ("i2h", "bias", 4), ("h2h", "bias", 5))}  # fmt: skip
    two = {"weight_initializer": C(2), "bias_initializer": C(3)}
    norm = {f"{n}_initializer": C(i + 2) for i, n in enumerate(("beta", "gamma"))}
    moving = {**norm, "running_mean_initializer": C(6), "running_variance_initializer": C(7)}
    deformed = {**two, "offset_weight_initializer": C(4), "offset_bias_initializer": C(5)}
    makers = {
        "Dense": (lambda **k: nn.Dense(3, in_units=4, **k), two),
        "Embedding": (lambda **k: nn.Embedding(3, 4, **k), {"weight_initializer": C(2)}),
        "SparseEmbedding": (lambda **k: cnnn.SparseEmbedding(3, 4, **k), {"weight_initializer": C(2)}),
        "BatchNorm": (lambda **k: nn.BatchNorm(in_channels=3, **k), moving),
        "SyncBatchNorm": (lambda **k: cnnn.SyncBatchNorm(in_channels=3, **k), moving),
        "InstanceNorm": (lambda **k: nn.InstanceNorm(in_channels=3, **k), norm),
        "LayerNorm": (lambda **k: nn.LayerNorm(in_channels=3, **k), norm),
        "GroupNorm": (lambda **k: nn.GroupNorm(2, **k), norm),
        "PReLU": (lambda **k: nn.PReLU(**k), {"alpha_initializer": C(2)}),
        **{
            name: (lambda name=name, **k: getattr(nn, name)(4, 3, in_channels=2, groups=2, **k), two)
            for name in ("Conv1D", "Conv2D", "Conv3D", "Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose")
        },
        **{
            name: (lambda name=name, **k: getattr(rnn, name)(3, input_size=4, **k), four)
            for name in ("RNNCell", "LSTMCell", "GRUCell")
        },
        **{
            name: (lambda name=name, **k: getattr(rnn, name)(3, input_size=4, num_layers=2, **k), four)
            for name in ("RNN", "LSTM", "GRU")
        },
        "LSTMPCell": (lambda **k: crnn.LSTMPCell(3, 2, input_size=4, **k), {**four, "h2r_weight_initializer": C(6)}),
        **{
            f"Conv{d}D{kind}Cell": (
                lambda d=d, kind=kind, **k: getattr(crnn, f"Conv{d}D{kind}Cell")((2, 7, 6, 5)[: d + 1], 3, 2, 3, **k),
                four,
            )
            for d in (1, 2, 3)
            for kind in ("RNN", "LSTM", "GRU")
        },
        "DeformableConvolution": (lambda **k: cnn.DeformableConvolution(4, 3, **k), deformed),
        "ModulatedDeformableConvolution": (
            lambda **k: cnn.ModulatedDeformableConvolution(4, 3, **k),
            deformed,
        ),
    }
    found = {}
    for name, (make, inits) in makers.items():
        plain_one = attempt(lambda: values_of(mx, make(prefix="p_")))
        given = attempt(lambda: values_of(mx, make(prefix="p_", **inits)))
        first = make(prefix="p_")
        again = make(prefix="q_", params=first.collect_params())
        same = [
            again.collect_params()[n] is p
            for n, p in sorted(first.collect_params().items())
            if n in again.collect_params()
        ]
        found[name] = [plain_one, given, same, sorted(again.collect_params().keys())]
    containers = {
        "Sequential": nn.Sequential,
        "HybridSequential": nn.HybridSequential,
        "SequentialRNNCell": rnn.SequentialRNNCell,
        "HybridSequentialRNNCell": rnn.HybridSequentialRNNCell,
        "Concurrent": cnnn.Concurrent,
        "HybridConcurrent": cnnn.HybridConcurrent,
    }
    for name, kind in containers.items():
        first = nn.Dense(3, in_units=4, prefix="p_d_")
        made = kind(prefix="p_", params=first.params)
        found[name] = [made.prefix, made.params.prefix, sorted(made.collect_params().keys()), len(made)]
    for name, make in {
        "Identity": lambda **k: cnnn.Identity(**k),
        "PixelShuffle2D": lambda **k: cnnn.PixelShuffle2D(2, **k),
        "DropoutCell": lambda **k: rnn.DropoutCell(0.5, **k),
        "Lambda": lambda **k: nn.Lambda("relu", **k),
        "HybridLambda": lambda **k: nn.HybridLambda("relu", **k),
    }.items():
        made = attempt(lambda: make(prefix="z_").prefix)
        found[name] = made
    return found


@ask
def channels_last(mx, folder):
    """Shapes and descriptions of cells whose channels come last; MXNet computes none of them on a CPU."""
    contrib = mx.gluon.contrib.rnn
    found = {}
    for d, layout in ((1, "NWC"), (2, "NHWC"), (3, "NDHWC")):
        for kind in ("RNN", "LSTM", "GRU"):
            cell = getattr(contrib, f"Conv{d}D{kind}Cell")(
                (*(7, 6, 5)[:d], 2), 3, (2, 3, 1)[:d], (3, 5, 3)[:d], i2h_pad=(1, 0, 2)[:d], i2h_dilate=(1, 2, 1)[:d],
                h2h_dilate=(1, 2, 1)[:d], conv_layout=layout, prefix="c_",
            )  # fmt: skip
            info = [[list(i["shape"]), i["__layout__"]] for i in cell.state_info(4)]
            found[f"{kind} {layout}"] = [repr(cell), info, {n: list(p.shape) for n, p in cell.collect_params().items()}]
    return found


@ask
def halves_of_modifiers(mx, folder):
    """Cells with one of several rates alone, in inference; dropout inside of sequences; items of stacks; layers as stacks."""
    rnn, contrib, nn = mx.gluon.rnn, mx.gluon.contrib.rnn, mx.gluon.nn
    X, H, C = numbers(2, 4), numbers(2, 3, seed=1), numbers(2, 3, seed=2)
    N, T, lengths = numbers(2, 3, 4), numbers(3, 2, 4), np.float32([1, 3])
    found = {}
    makers = {
        "zoneout outputs": lambda: rnn.ZoneoutCell(rnn.LSTMCell(3, prefix="c_"), 0.4, 0),
        "zoneout states": lambda: rnn.ZoneoutCell(rnn.LSTMCell(3, prefix="c_"), 0, 0.4),
        "zoneout neither": lambda: rnn.ZoneoutCell(rnn.LSTMCell(3, prefix="c_"), 0, 0),
        "dropped inputs": lambda: contrib.VariationalDropoutCell(rnn.LSTMCell(3, prefix="c_"), 0.3, 0, 0),
        "dropped states": lambda: contrib.VariationalDropoutCell(rnn.LSTMCell(3, prefix="c_"), 0, 0.3, 0),
        "dropped outputs": lambda: contrib.VariationalDropoutCell(rnn.LSTMCell(3, prefix="c_"), 0, 0, 0.3),
        "dropped nothing": lambda: contrib.VariationalDropoutCell(rnn.LSTMCell(3, prefix="c_")),
    }
    for name, make in makers.items():
        steps = lambda block, arrays: flat(block(arrays[0], list(arrays[1:])))
        found[name] = attempt(lambda: ran(mx, make, X, H, C, call=steps, train=False))
        for tag, x, given in (
            ("as it comes", N, {}),
            ("TNC", T, {"layout": "TNC"}),
            ("apart", T, {"layout": "TNC", "merge_outputs": False}),
            ("merged", N, {"merge_outputs": True}),
            ("lengths", T, {"layout": "TNC", "valid_length": True, "merge_outputs": True}),
        ):
            for states in ([], [H, C]):

                def call(block, arrays, given=given):
                    given = dict(given)
                    if given.pop("valid_length", False):
                        given["valid_length"] = mx.nd.array(lengths)
                    if arrays[1:]:
                        given["begin_state"] = list(arrays[1:])
                    outputs, after = block.unroll(3, arrays[0], **given)
                    return flat([outputs, after]) + [mx.nd.array([isinstance(outputs, list)])]

                found[f"{name} {tag} {len(states)}"] = attempt(
                    lambda: ran(mx, make, x, *states, call=call, train=False)
                )

    def drop(rate, x, record, **given):
        cell = rnn.DropoutCell(rate)
        with mx.autograd.record(train_mode=record):
            outputs, states = cell.unroll(3, mx.nd.array(x), **given)
        return [flat([outputs]), states, isinstance(outputs, list)]

    for given in ({}, {"merge_outputs": True}, {"merge_outputs": False}, {"layout": "TNC"}):
        x = T if "layout" in given else N
        found[f"dropout {given}"] = [
            attempt(lambda: drop(0.5, x, False, **given)),
            attempt(lambda: drop(0, x, True, **given)),
        ]
    ones = np.ones((200, 40), np.float32)
    with mx.autograd.record():
        out, _ = rnn.DropoutCell(0.25)(mx.nd.array(ones), [])
        along, _ = rnn.DropoutCell(0.25, axes=(1,))(mx.nd.array(ones), [])
    out, along = out.asnumpy(), along.asnumpy()
    found["dropped share"] = [bool(0.2 < (out == 0).mean() < 0.3), float(out.max())]
    found["dropped along"] = bool((along == along[:, :1]).all())
    for kind in (rnn.SequentialRNNCell, rnn.HybridSequentialRNNCell):
        stack = kind(prefix="s_")
        stack.add(rnn.LSTMCell(3, prefix="a_"))
        stack.add(rnn.GRUCell(2, prefix="b_"))
        found[kind.__name__] = [len(stack), stack[1].prefix, stack[0].prefix]
    leaky = rnn.RNNCell(3, activation=nn.LeakyReLU(0.3), prefix="c_")
    swish = rnn.RNNCell(3, activation=nn.Swish(2.0), prefix="c_")
    for name, cell in (("leaky", leaky), ("swish", swish)):
        found[name] = attempt(lambda: ran(mx, lambda: cell, X, H, call=lambda b, a: flat(b(a[0], [a[1]]))))
    layer = rnn.LSTM(3, num_layers=2, input_size=4, prefix="l_")
    layer.cast("float64")
    found["cast"] = [[str(np.dtype(s.dtype)) for s in layer.begin_state(5)], str(np.dtype(layer.l0_i2h_weight.dtype))]
    named = layer.begin_state(func=mx.sym.zeros)
    found["states of symbols"] = [[s.name, s.attr("__layout__")] for s in named]
    cell = rnn.LSTMCell(3, prefix="c_")
    found["states of cells"] = [[s.name, s.attr("__layout__")] for s in cell.begin_state(func=mx.sym.zeros)]
    found["states of another dtype"] = [str(np.dtype(s.dtype)) for s in cell.begin_state(2, dtype="float16")]
    for clip in ({"state_clip_min": -1.0}, {"state_clip_max": 1.0}, {"state_clip_min": 0, "state_clip_max": 1}):
        found[f"clipped {clip}"] = attempt(lambda: repr(rnn.LSTM(3, input_size=2, **clip)._unfuse()))
    return found


@ask
def deformed(mx, folder):
    """Deformable layers with groups, steps, borders and taps that differ along height and width, with and without biases."""
    cnn = mx.gluon.contrib.cnn
    X = numbers(2, 4, 7, 6)
    found = {}
    for kind in (cnn.DeformableConvolution, cnn.ModulatedDeformableConvolution):
        for given in (
            {},
            {"kernel_size": (3, 2)},
            {"kernel_size": 3, "strides": (2, 1), "padding": (1, 0), "dilation": (1, 2), "use_bias": False},
            {"kernel_size": (1, 3), "groups": 2, "num_deformable_group": 2, "offset_use_bias": False, "padding": 1},
            {"kernel_size": 2, "dilation": 2, "activation": "sigmoid", "groups": 2},
            {"kernel_size": 2, "use_bias": False, "offset_use_bias": False, "activation": "tanh"},
        ):
            name = f"{kind.__name__} {given}"
            found[name] = attempt(lambda: ran(mx, lambda: kind(2, prefix="d_", **given), X, train=False))
            made = kind(2, prefix="d_", **given)
            found[name + " shown"] = [repr(made), {n: list(p.shape) for n, p in made.collect_params().items()}]
    return found


@ask
def losses_with_other_weights(mx, folder):
    """Weights of None and 0, none at the borders between two formulas, those of samples beside those of the loss."""
    loss, P, L = mx.gluon.loss, numbers(3, 4, low=-2, high=2), numbers(3, 4, seed=9, low=-2, high=2)
    S = numbers(3, 1, seed=4, low=0.1, high=2)
    found = {}
    for name, inputs, given in (
        ("L1Loss", [P, L, S], {"weight": None}),
        ("HuberLoss", [P, L, S], {"weight": 0.5}),
        ("HuberLoss", [P, P + 1.0], {"rho": 1.0}),
        ("HuberLoss", [P, P - 0.5], {"rho": 0.5}),
        ("SigmoidBCELoss", [P, (L > 0).astype("float32"), S, S + 1], {}),
        ("PoissonNLLLoss", [np.abs(P), np.float32([[1, 2, 1, 4], [1, 1, 3, 5], [2, 1, 6, 1]])], {"compute_full": True}),
        ("CTCLoss", [numbers(2, 6, 4), np.float32([[1, 2, 0], [2, 1, 1]])], {"weight": 0.5}),
        ("TripletLoss", [P, L, L[::-1].copy(), S], {"margin": 0.3}),
        ("CosineEmbeddingLoss", [P, L, np.float32([1, -1, 1]), S], {"margin": 0.1, "weight": 2}),
        ("SDMLLoss", [P, L], {"smoothing_parameter": 0.1}),
        ("SDMLLoss", [P, L], {"weight": 0.5}),
    ):
        found[f"{name} {given} {len(inputs)}"] = attempt(lambda: ran(mx, lambda: getattr(loss, name)(prefix="l_", **given), *inputs, smooth=[0], train="compute_full" not in given))  # fmt: skip
    return found
