"""Operators that quantising fuses and puts on integers, beside MXNet 1.9.1 with the same symbols; and the numbers of both.

The names of nodes below are those of MXNet (get_backend_symbol("MKLDNN_QUANTIZE"), quantize_model and quantize_model_mkldnn), but
where a comment says that MXNet is wrong.
"""

import warnings

import numpy as np

import hybrid as mx
from hybrid.contrib import quantization

S = mx.sym


def conv(data, name, **attrs):
    return S.Convolution(data, name=name, **{"num_filter": 4, "kernel": (3, 3), "pad": (1, 1), **attrs})


def relu(data, name):
    return S.Activation(data, act_type="relu", name=name)


def norm(data, name, **attrs):
    return S.BatchNorm(data, name=name, fix_gamma=False, **attrs)


def dense(data, name, **attrs):
    return S.FullyConnected(data, name=name, num_hidden=3, **attrs)


def clip(data, name, low=0, high=6):
    return S.clip(data, a_min=low, a_max=high, name=name)


def pool(data, name, kind, **attrs):
    return S.Pooling(data, name=name, kernel=(2, 2), stride=(2, 2), pool_type=kind, **attrs)


def short(symbol):
    """The names of a symbol's operators, q: and re: for quantized_ and requantize_, :q and :f for _quantize and _dequantize."""
    names = " ".join(n.name for n in symbol.graph.nodes if n.op is not None)
    for long, brief in (("sg_mkldnn_", ""), ("fully_connected", "dense"), ("quantized_", "q:"), ("requantize_", "re:"),
                        ("_dequantize", ":f"), ("_quantize", ":q")):  # fmt: skip
        names = names.replace(long, brief)
    return names


def parameters(symbol, shapes, rng):
    """(arguments, auxiliary states) for inputs of those shapes."""
    sizes, _, states = symbol.infer_shape(**shapes)
    arguments = {
        n: rng.uniform(-0.5, 1, s) for n, s in zip(symbol.list_arguments(), sizes, strict=True) if n not in shapes
    }
    found = {n: rng.uniform(0.5, 1, s) for n, s in zip(symbol.list_auxiliary_states(), states, strict=True)}
    return tuple({n: mx.nd.array(v) for n, v in g.items()} for g in (arguments, found))


def answers(symbol, arguments, states, feeds):
    given = {k: v for k, v in {**arguments, **feeds}.items() if k in symbol.list_arguments()}
    return [y.asnumpy() for y in symbol.bind(mx.cpu(), given, aux_states=states).forward()]


def test_what_is_fused():
    x, y = S.var("x"), S.var("y")
    c, f = conv(x, "c"), dense(x, "f")
    added = S.elemwise_add(c, y, name="a")
    rows = {
        "relu": (relu(c, "r"), "conv_act_0"),
        "softrelu": (S.Activation(c, act_type="softrelu", name="r"), "conv_0 r"),
        "tanh": (S.Activation(c, act_type="tanh", name="r"), "conv_0 r"),
        "relu operator": (S.relu(c, name="r"), "conv_0 r"),
        "leaky": (S.LeakyReLU(c, act_type="leaky", slope=0.1, name="r"), "conv_act_0"),
        "elu": (S.LeakyReLU(c, act_type="elu", name="r"), "conv_0 r"),
        "clip 6": (clip(c, "r"), "conv_act_0"),
        "clip 5": (clip(c, "r", 0, 5), "conv_0 r"),  # MXNet fuses any that begins at 0
        "clip 1..6": (clip(c, "r", 1, 6), "conv_0 r"),
        "abs": (S.abs(c, name="r"), "conv_0 r"),
        "norm": (norm(c, "n"), "conv_bn_0"),
        "norm last axis": (norm(c, "n", axis=3), "conv_0 n"),  # MXNet fuses it and normalises channels
        "norm relu": (relu(norm(c, "n"), "r"), "conv_bn_act_0"),
        "relu norm": (norm(relu(c, "r"), "n"), "conv_act_0 n"),
        "relu relu": (relu(relu(c, "r"), "s"), "conv_act_0 s"),
        "norm norm": (norm(norm(c, "n"), "m"), "conv_bn_0 m"),
        "sum": (added, "conv_add_0"),
        "broadcast sum": (S.broadcast_add(c, y, name="a"), "conv_0 a"),
        "sum relu": (relu(added, "r"), "conv_add_act_0"),
        "sum clip": (clip(added, "r"), "conv_add_0 r"),
        "sum tanh": (S.Activation(added, act_type="tanh", name="r"), "conv_add_0 r"),
        "relu sum": (S.elemwise_add(relu(c, "r"), y, name="a"), "conv_act_0 a"),
        "norm sum relu": (relu(S.elemwise_add(y, norm(c, "n"), name="a"), "r"), "conv_bn_add_act_0"),
        "sum sum": (S.elemwise_add(added, x, name="b"), "conv_add_0 b"),
        "sum norm": (norm(added, "n"), "conv_add_0 n"),
        "itself twice": (S.elemwise_add(c, c, name="a"), "conv_0 a"),  # MXNet adds what it has not computed
        "read twice": (S.Group([relu(c, "r"), S.tanh(c, name="t")]), "conv_0 r t"),
        "an output too": (S.Group([relu(c, "r"), c]), "conv_0 r"),  # MXNet gives the activation for both
        "two outputs": (S.Group([relu(c, "r"), relu(conv(y, "d"), "s")]), "conv_act_0 conv_act_1"),
        "1-d": (relu(S.Convolution(S.Reshape(x, shape=(2, 4, -1), name="v"), name="c", num_filter=3, kernel=(3,)), "r"), "v c r"),
        "no bias": (relu(conv(x, "c", no_bias=True), "r"), "conv_act_0"),
        "channels last": (relu(conv(x, "c", layout="NHWC"), "r"), "c r"),  # MXNet has none on CPUs
        "dense": (f, "dense_0"),
        "dense relu": (relu(f, "r"), "dense_eltwise_0"),
        "dense abs": (S.abs(f, name="r"), "dense_eltwise_0"),
        "dense square": (S.square(f, name="r"), "dense_0 r"),
        "dense clip 6": (clip(f, "r"), "dense_eltwise_0"),
        "dense clip 5": (clip(f, "r", 0, 5), "dense_0 r"),  # as above
        "dense tanh": (S.Activation(f, act_type="tanh", name="r"), "dense_0 r"),
        "dense gelu": (S.LeakyReLU(f, act_type="gelu", name="r"), "dense_eltwise_0"),
        "dense sum": (S.elemwise_add(f, dense(y, "g"), name="a"), "dense_0 dense_1 a"),
        "dense relu relu": (relu(relu(f, "r"), "s"), "dense_eltwise_0 s"),
        "dense dense": (dense(f, "g"), "dense_0 dense_1"),
        "none": (S.tanh(x, name="t"), "t"),
        "behind what is not": (S.Concat(S.tanh(x, name="t"), relu(c, "s"), name="j"), "t conv_act_0 j"),
        "both kinds": (S.Group([relu(f, "r"), relu(c, "s")]), "dense_eltwise_0 conv_act_0"),
    }  # fmt: skip
    wrong, rng = [], np.random.default_rng(0)
    for name, (symbol, names) in rows.items():
        fused = symbol.get_backend_symbol("MKLDNN_QUANTIZE")
        if short(fused) != names:
            wrong.append((name, short(fused)))
            continue
        shapes = {n: (2, 4, 6, 5) for n in ("x", "y") if n in symbol.list_arguments()}
        arguments, states = parameters(symbol, shapes, rng)
        feeds = {n: mx.nd.array(rng.uniform(-3, 3, s)) for n, s in shapes.items()}
        for got, want in zip(
            answers(fused, arguments, states, feeds), answers(symbol, arguments, states, feeds), strict=True
        ):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-5, err_msg=name)
    assert not wrong


def test_what_is_put_on_integers():
    """(symbol, options, what is made of it plainly, fused and calibrated, and plainly, calibrated and merged, if that differs)."""
    x, full, smart = S.var("x"), {"quantize_mode": "full"}, {"quantize_mode": "smart"}
    c, f = conv(x, "c"), dense(x, "f")
    words = S.Embedding(x, name="e", input_dim=5, output_dim=4)
    added = S.elemwise_add(pool(c, "p", "max"), pool(conv(x, "d"), "o", "max"), name="a")
    rows = {
        # of these two MXNet leaves the pooling in float and gives it integers
        "sum pool": (
            conv(pool(c, "p", "sum"), "d"), full,
            "x:q q:c re:c c:f p p_output:q q:d re:d d:f", "x:q q:conv_0 conv_0:f p p_output:q q:conv_1 conv_1:f",
        ),
        "lp pool": (
            conv(pool(c, "p", "lp", p_value=2), "d"), full,
            "x:q q:c re:c c:f p p_output:q q:d re:d d:f", "x:q q:conv_0 conv_0:f p p_output:q q:conv_1 conv_1:f",
        ),
        "pool between": (
            conv(pool(c, "p", "max"), "d"), full,
            "x:q q:c re:c q:p q:d re:d d:f", "x:q q:conv_0 q:p q:conv_1 conv_1:f",
        ),
        "pool between, smart": (
            conv(pool(c, "p", "max"), "d"), smart,
            "x:q q:c re:c q:p q:d re:d d:f", "x:q q:conv_0 q:p q:conv_1 conv_1:f",
        ),
        "avg between": (
            conv(pool(c, "p", "avg"), "d"), smart,
            "x:q q:c re:c q:p q:d re:d d:f", "x:q q:conv_0 q:p q:conv_1 conv_1:f",
        ),
        "pool after, smart": (pool(c, "p", "max"), smart, "x:q q:c re:c c:f p", "x:q q:conv_0 conv_0:f p"),
        "pool after": (pool(c, "p", "max"), full, "x:q q:c re:c q:p p:f", "x:q q:conv_0 q:p p:f"),
        "pool before, smart": (
            conv(pool(x, "p", "max"), "c"), smart,
            "p p_output:q q:c re:c c:f", "p p_output:q q:conv_0 conv_0:f",
        ),
        "pool before": (conv(pool(x, "p", "max"), "c"), full, "x:q q:p q:c re:c c:f", "x:q q:p q:conv_0 conv_0:f"),
        "tanh between": (
            conv(S.tanh(c, name="t"), "d"), full,
            "x:q q:c re:c c:f t t_output:q q:d re:d d:f", "x:q q:conv_0 conv_0:f t t_output:q q:conv_1 conv_1:f",
        ),
        "chain of pools, smart": (
            conv(pool(pool(c, "p", "max"), "q", "max"), "d"), smart,
            "x:q q:c re:c q:p q:q q:d re:d d:f", "x:q q:conv_0 q:p q:q q:conv_1 conv_1:f",
        ),
        "excluded": (
            conv(relu(c, "r"), "d"), dict(full, excluded_sym_names=["d"]),
            "x:q q:c re:c q:r r:f d", "x:q q:conv_act_0 conv_act_0:f conv_1", "x:q q:c re:c q:r r:f conv_0",
        ),
        "excluded inside": (
            conv(relu(c, "r"), "d"), dict(full, excluded_sym_names=["sg_mkldnn_conv_act_0"]),
            "x:q q:c re:c q:r q:d re:d d:f", "conv_act_0 conv_act_0_output:q q:conv_1 conv_1:f",
        ),
        "excluded op": (
            dense(conv(x, "c"), "f"), dict(full, excluded_op_names=["_sg_mkldnn_conv"]),
            "x:q q:c re:c q:f re:f f:f", "conv_0 conv_0_output:q q:dense_0",
        ),
        "flatten": (dense(S.Flatten(c, name="l"), "f"), smart, "x:q q:c re:c q:l q:f re:f f:f", "x:q q:conv_0 q:l q:dense_0"),
        # quantized_pooling is for channels first
        "pool of channels last": (
            dense(pool(x, "p", "max", layout="NHWC"), "f"), full, "p p_output:q q:f re:f f:f", "p p_output:q q:dense_0",
        ),
        "norm after": (
            conv(norm(pool(c, "p", "max"), "n"), "d"), full,
            "x:q q:c re:c q:p q:n q:d re:d d:f", "x:q q:conv_0 q:p q:n q:conv_1 conv_1:f",
        ),
        "concat": (
            conv(S.Concat(c, conv(x, "d"), name="k", dim=1), "g"), full,
            "x:q q:c re:c q:d re:d q:k q:g re:g g:f", "x:q q:conv_0 q:conv_1 q:k q:conv_2 conv_2:f",
        ),
        "concat of float": (
            conv(S.Concat(c, S.tanh(x, name="t"), name="k", dim=1), "g"), full,
            "x:q q:c re:c t t_output:q q:k q:g re:g g:f", "x:q q:conv_0 t t_output:q q:k q:conv_1 conv_1:f",
        ),
        "embedding": (dense(words, "f"), full, "q:e q:f re:f f:f", "q:e q:dense_0"),
        "embedding, smart": (dense(words, "f"), smart, "e e_output:q q:f re:f f:f", "e e_output:q q:dense_0"),
        "sums": (
            S.elemwise_add(pool(c, "p", "max"), pool(conv(x, "d"), "q", "max"), name="a"), full,
            "x:q q:c re:c q:p q:d re:d q:q q:a re:a a:f",
            "x:q q:conv_0 q:p q:conv_1 q:q q:a a:f",
            "x:q q:c re:c q:p q:d re:d q:q q:a a:f",
        ),
        "products": (
            S.elemwise_mul(dense(x, "f"), dense(x, "g"), name="a"), full,
            "x:q q:f re:f q:g re:g q:a re:a a:f", "x:q q:dense_0 q:dense_1 q:a", "x:q q:f re:f q:g re:g q:a",
        ),
        "sum of fed": (
            relu(S.elemwise_add(c, S.tanh(x, name="t"), name="a"), "r"), full,
            "x:q q:c re:c t t_output:q q:a re:a q:r r:f",
            "x:q t t_output:q q:conv_add_act_0 conv_add_act_0:f",
            "x:q q:c re:c t t_output:q q:a q:r r:f",
        ),
        "channels": (
            dense(dense(x, "f"), "g"), dict(full, quantize_granularity="channel-wise"),
            "x:q q:f re:f q:g re:g g:f", "x:q q:dense_0 q:dense_1",
        ),
        "no bias": (dense(x, "f", no_bias=True), full, "x:q q:f re:f f:f", "x:q q:dense_0"),
        "two outputs": (
            S.Group([pool(c, "p", "max"), S.tanh(c, name="t")]), full,
            "x:q q:c re:c q:p p:f c:f t", "x:q q:conv_0 q:p p:f conv_0:f t",
        ),
        "activation": (relu(pool(c, "p", "max"), "r"), full, "x:q q:c re:c q:p q:r r:f", "x:q q:conv_0 q:p q:r r:f"),
        "tanh activation": (
            S.Activation(pool(c, "p", "max"), act_type="tanh", name="r"), full,
            "x:q q:c re:c q:p p:f r", "x:q q:conv_0 q:p p:f r",
        ),
        "dense read twice": (
            S.Group([S.tanh(f, name="t"), dense(f, "g")]), full,
            "x:q q:f re:f f:f t q:g re:g g:f", "x:q q:dense_0 dense_0:f t q:dense_1",
        ),
        "sum read twice": (
            S.Group([S.tanh(added, name="t"), pool(added, "q", "max")]), full,
            "x:q q:c re:c q:p q:d re:d q:o q:a re:a a:f t q:q q:f",
            "x:q q:conv_0 q:p q:conv_1 q:o q:a a:f t q:q q:f",
            "x:q q:c re:c q:p q:d re:d q:o q:a a:f t q:q q:f",
        ),
        "split": (
            conv(S.SliceChannel(c, num_outputs=2, axis=2, name="s")[1], "d"), full,
            "x:q q:c re:c c:f s s_output1:q q:d re:d d:f", "x:q q:conv_0 conv_0:f s s_output1:q q:conv_1 conv_1:f",
        ),
        "channels of convolutions": (
            S.elemwise_add(c, S.tanh(conv(c, "d"), name="t"), name="a"), {**full, "quantize_granularity": "channel-wise"},
            "x:q q:c re:c q:d re:d d:f t t_output:q q:a re:a a:f", "x:q q:conv_0 q:conv_1 conv_1:f t t_output:q q:a a:f",
            "x:q q:c re:c q:d re:d d:f t t_output:q q:a a:f",
        ),
        "attributes": (
            dense(conv(x, "c", attr={"__lr_mult__": "2"}), "f", attr={"__wd_mult__": "3"}), full,
            "x:q q:c re:c q:f re:f f:f", "x:q q:conv_0 q:dense_0",
        ),
        "nothing": (S.tanh(x, name="t"), full, "t", "t"),
    }  # fmt: skip
    rng = np.random.default_rng(0)
    for name, (symbol, options, *wanted) in rows.items():
        data = rng.integers(0, 5, (2, 3)) if name.startswith("embedding") else rng.uniform(-1, 1, (2, 4, 8, 8))
        data = data.astype(np.float32)
        arguments, states = parameters(symbol, {"x": data.shape}, rng)
        given = {"data_names": ("x",), "label_names": None, **options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            plain, *_ = quantization.quantize_model(symbol, arguments, states, calib_mode="none", **given)
            given |= {"calib_mode": "naive", "calib_data": mx.io.NDArrayIter(data, None, 2, data_name="x")}
            later, *_ = quantization.quantize_model(symbol, arguments, states, **given)
            given["calib_data"].reset()
            fused, *values = quantization.quantize_model_mkldnn(symbol, arguments, states, **given)
        merged = later.get_backend_symbol("MKLDNN_QUANTIZE")
        assert [short(plain), short(fused), short(merged)] == [*wanted, wanted[0]][:3], name
        feeds = {"x": mx.nd.array(data)}
        for got, want in zip(answers(fused, *values, feeds), answers(symbol, arguments, states, feeds), strict=True):
            if name != "sum of fed":  # which ends at 127 of uint8, as in MXNet: see test_sums_of_eight_bits
                assert np.abs(got - want).max() <= 0.06 * np.abs(want).max(), name


def test_attributes_of_users_stand_in_no_way():
    """Devices and rates that a scope names are no attributes of an operator."""
    plain, rng = [], np.random.default_rng(0)
    for given in ({}, {"ctx_group": "dev", "__lr_mult__": "2", "__own__": "x"}):
        with mx.AttrScope(**given):
            x = S.var("x")
            y = S.contrib.interleaved_matmul_selfatt_qk(x, heads=2, name="q")
            plain.append(S.Group([y, S.contrib.interleaved_matmul_selfatt_valatt(x, S.softmax(y), heads=2, name="v"),
                                  dense(relu(conv(S.var("p"), "c"), "r"), "f")]))  # fmt: skip
    shapes = {"x": (3, 2, 24), "p": (2, 3, 6, 6)}
    arguments, states = parameters(plain[0], shapes, rng)
    feeds = {n: mx.nd.array(rng.uniform(-1, 1, s)) for n, s in shapes.items()}
    want = answers(plain[0], arguments, states, feeds)
    for symbol in plain:
        fused = symbol.get_backend_symbol("MKLDNN_QUANTIZE")
        assert len(fused.get_internals().list_outputs()) < len(symbol.get_internals().list_outputs())
        for one, other in zip(answers(fused, arguments, states, feeds), want, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=2e-5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            integers, *found = quantization.quantize_model(
                symbol, arguments, states, data_names=list(shapes), excluded_sym_names=["f"], calib_mode="none"
            )
        assert "q:c" in short(integers) and "f" in short(integers).split()
        for one, other in zip(answers(integers, *found, feeds), want, strict=True):
            assert one.shape == other.shape
