"""Names and types that nobody gave: of several outputs, of variables that declare a dtype, of results of two numbers."""

from __future__ import annotations

import numpy as np

from .questions import ask, attempt, numbers

SEVERAL = {
    "BatchNorm": [{}, {"output_mean_var": True}],
    "Correlation": [{}],
    "Dropout": [{}, {"mode": "always"}],
    "GroupNorm": [{"num_groups": 2}, {"num_groups": 2, "output_mean_var": True}],
    "InstanceNorm": [{}],
    "L2Normalization": [{}],
    "LayerNorm": [{}, {"output_mean_var": True}],
    "LRN": [{"nsize": 3}],
    "LeakyReLU": [{"act_type": "rrelu"}],
    "MakeLoss": [{}],
    "RNN": [
        {"mode": "lstm", "state_size": 2, "num_layers": 1},
        {"mode": "lstm", "state_size": 2, "num_layers": 1, "state_outputs": True},
        {"mode": "gru", "state_size": 2, "num_layers": 1, "state_outputs": True},
    ],
    "ROIPooling": [{"pooled_size": (2, 2), "spatial_scale": 1}],
    "SliceChannel": [{"num_outputs": 1}, {"num_outputs": 3}],
    "SpatialTransformer": [{"transform_type": "affine", "sampler_type": "bilinear", "target_shape": (2, 2)}],
    "amp_multicast": [{"num_outputs": 2}],
    "broadcast_like": [{}],
    "moments": [{"axes": (0,)}],
    "sample_multinomial": [{}, {"get_prob": True}],
    "split_v2": [{"sections": 3}, {"indices": (1, 2)}],
    "topk": [{}, {"ret_typ": "both"}, {"ret_typ": "value"}, {"ret_typ": "mask"}],
    "contrib.AdaptiveAvgPooling2D": [{}],
    "contrib.BatchNormWithReLU": [{}, {"output_mean_var": True}],
    "contrib.DeformablePSROIPooling": [{"spatial_scale": 1, "output_dim": 1, "group_size": 1, "pooled_size": 1}],
    "contrib.MultiBoxTarget": [{}],
    "contrib.Proposal": [{}, {"output_score": True}],
    "contrib.ROIAlign": [{"pooled_size": (2, 2), "spatial_scale": 1}],
    "contrib.bipartite_matching": [{"threshold": 0.1}],
    "contrib.box_encode": [{}],
    "contrib.box_nms": [{}],
    "contrib.getnnz": [{}],
    "contrib.quantize": [{}],
    "contrib.quantize_v2": [{}],
    "contrib.quantize_asym": [{}],
    "contrib.quantized_concat": [{"num_args": 2}],
    "contrib.quantized_flatten": [{}],
    "contrib.quantized_fully_connected": [{"num_hidden": 2}],
    "contrib.requantize": [{}],
    "linalg.gelqf": [{}],
    "linalg.slogdet": [{}],
    "linalg.syevd": [{}],
    "linalg.gemm2": [{}],
}


@ask
def outputs(mx, folder):
    """Arguments, states and outputs of operators, with and without a name, and what leads to them."""
    found = {}
    for name, forms in SEVERAL.items():
        for attrs in forms:

            def asked(name=name, attrs=attrs):
                make = mx.sym
                for part in name.split("."):
                    make = getattr(make, part)
                count = {"amp_multicast": 2, "contrib.quantized_concat": 2, "broadcast_like": 2}.get(name, 1)
                symbol = make(*(mx.sym.var(f"v{i}") for i in range(count)), name="own", **attrs)
                with mx.name.Prefix("by_"):
                    unnamed = make(*(mx.sym.var(f"v{i}") for i in range(count)), **attrs)
                return [
                    symbol.list_arguments(), symbol.list_auxiliary_states(), symbol.list_outputs(),
                    [s.name for s in symbol], symbol.get_internals().list_outputs()[-4:], len(unnamed.list_outputs()),
                ]  # fmt: skip

            found[f"{name} {attrs}"] = attempt(asked)
    return found


@ask
def declared(mx, folder):
    """Dtypes and shapes that a variable declares, where a caller gives others."""
    x = mx.sym.var("x", dtype="float16", shape=(2,))
    y = x * 2
    found = {}
    for key, given in {
        "nothing": {},
        "other": {"x": "float32"},
        "same": {"x": "float16"},
        "class": {"x": np.int8},
    }.items():
        found[f"type {key}"] = attempt(
            lambda given=given: [[str(np.dtype(t)) for t in part] for part in y.infer_type(**given)]
        )
        found[f"bound {key}"] = attempt(
            lambda given=given: [
                str(np.dtype(a.dtype))
                for executor in [y.simple_bind(mx.cpu(), grad_req="null", type_dict=given, x=(2,))]
                for a in [*executor.arg_arrays, *executor.forward()]
            ]
        )
    for shape in ((2,), (3,), (2, 1), (0,)):
        found[f"shape {shape}"] = attempt(lambda shape=shape: y.infer_shape(x=shape))
    found["given array"] = [str(np.dtype(a.dtype)) for a in y.bind(mx.cpu(), {"x": mx.nd.array(numbers(2))}).forward()]
    return found


@ask
def sequences(mx, folder):
    """Parameters and states of modules one after the other, as one."""

    def layer(name, inputs):
        made = mx.sym.FullyConnected(mx.sym.var(inputs), num_hidden=2, name=f"{name}fc")
        return mx.sym.BatchNorm(made, name=f"{name}bn", fix_gamma=False)

    module = mx.mod.SequentialModule()
    module.add(mx.mod.Module(layer("a", "data"), label_names=None))
    module.add(mx.mod.Module(layer("b", "data"), label_names=None), auto_wiring=True)
    module.bind([("data", (2, 3))], for_training=False)
    module.init_params(mx.initializer.One())
    arguments, states = module.get_params()
    return [dict(sorted(arguments.items())), dict(sorted(states.items()))]


@ask
def plain_numbers(mx, folder):
    """Functions of two arguments, of which none is an array: numbers of Python and of NumPy."""
    found = {}
    for name in (
        "maximum",
        "minimum",
        "add",
        "subtract",
        "multiply",
        "divide",
        "power",
        "modulo",
        "equal",
        "lesser",
        "logical_and",
    ):
        for one, two in ((2, 3), (2.5, np.float64(3)), (np.float64(2), 3), (np.int64(3), np.int64(2))):
            found[f"{name} {one} {two}"] = attempt(
                lambda name=name, one=one, two=two: float(getattr(mx.nd, name)(one, two))
            )
        found[f"{name} of text"] = attempt(lambda name=name: getattr(mx.nd, name)("a", 3))
    return found


def block_makers(mx):
    """Every class of blocks with what it cannot do without."""
    nn, rnn, loss, contrib = mx.gluon.nn, mx.gluon.rnn, mx.gluon.loss, mx.gluon.contrib
    needed = {
        "Activation": ["tanh"], "LeakyReLU": [0.1], "Dense": [3], "Dropout": [0.5], "Embedding": [4, 3], "RNNCell": [3],
        "LSTMCell": [3], "GRUCell": [3], "DropoutCell": [0.5], "RNN": [3], "LSTM": [3], "GRU": [3], "LSTMPCell": [3, 2],
        "DeformableConvolution": [3], "ModulatedDeformableConvolution": [3], "SparseEmbedding": [4, 3],
        "PixelShuffle1D": [2], "PixelShuffle2D": [2], "PixelShuffle3D": [2],
    }  # fmt: skip
    for place in (nn, rnn, loss, contrib.nn, contrib.rnn, contrib.cnn):
        for name in sorted(dir(place)):
            made = getattr(place, name)
            bare = name in (
                "Block",
                "HybridBlock",
                "SymbolBlock",
                "RecurrentCell",
                "HybridRecurrentCell",
                "ModifierCell",
                "Loss",
            )
            if not (isinstance(made, type) and issubclass(made, mx.gluon.Block)) or name.startswith("_") or bare:
                continue
            arguments = needed.get(name, [])
            if name.endswith(("1D", "2D", "3D", "1DTranspose", "2DTranspose", "3DTranspose")) and name.startswith(
                "Conv"
            ):
                arguments = [3, 2]
            elif name.startswith("Conv") and name.endswith("Cell"):
                arguments = [(2, *[6] * int(name[4])), 3, 3, 3]
            yield f"{place.__name__.partition('.')[2]}.{name}", made, arguments


@ask
def prefixes(mx, folder):
    """Blocks that are told their prefix, or whose parameters they share."""
    found = {}
    for key, make, arguments in block_makers(mx):

        def named(make=make, arguments=arguments):
            one = make(*arguments, prefix="own_")
            with one.name_scope():
                inner = mx.gluon.nn.Flatten().prefix
            return [one.prefix, one.name, sorted(one.collect_params()), inner]

        def sharing(make=make, arguments=arguments):
            one = make(*arguments, prefix="first_")
            two = make(*arguments, prefix="second_", params=one.collect_params())
            mine = two.collect_params()
            return [two.prefix, sorted(mine), all(mine[n] is p for n, p in one.collect_params().items())]

        found[key] = [attempt(named), attempt(sharing)]
    return found


@ask
def learnt(mx, folder):
    """Parameters of normalizations that are learnt, names of functions in blocks, cells that others have modified."""
    nn, rnn = mx.gluon.nn, mx.gluon.rnn
    found = {}
    for make, given in (
        (nn.BatchNorm, {}),
        (nn.LayerNorm, {}),
        (nn.InstanceNorm, {}),
        (nn.GroupNorm, {"num_groups": 2}),
    ):
        for center in (True, False):
            for scale in (True, False):
                layer = make(center=center, scale=scale, prefix="own_", **given)
                layer.initialize()
                layer(mx.nd.array(numbers(2, 4, 3)))
                found[f"{make.__name__} {center} {scale}"] = [
                    [n, p.grad_req, p.data()] for n, p in sorted(layer.collect_params().items())
                ]

    def doubled(*arguments):
        return arguments[-1] * 2

    for make in (nn.Lambda, nn.HybridLambda):
        for function in ("tanh", doubled, "nothing of the kind", 3):
            found[f"{make.__name__} {getattr(function, '__name__', function)}"] = attempt(
                lambda make=make, function=function: [
                    repr(make(function, prefix="own_")),
                    make(function, prefix="own_").prefix,
                ]
            )
    for make in (rnn.HybridSequentialRNNCell,):
        inner = make(prefix="in_")
        inner.add(rnn.LSTMCell(2, prefix="cell_"))
        found[f"{make.__name__} alone"] = attempt(
            lambda inner=inner: [s.shape for s in inner.begin_state(batch_size=2)]
        )
        outer = rnn.ResidualCell(inner)
        found[f"{make.__name__} modified"] = attempt(
            lambda inner=inner: [s.shape for s in inner.begin_state(batch_size=2)]
        )
        found[f"{make.__name__} outside"] = attempt(
            lambda outer=outer: [s.shape for s in outer.begin_state(batch_size=2)]
        )
    return found
