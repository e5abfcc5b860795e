"""Networks in 8-bit integers: what stays in float, on which data ranges are found, and what the arguments may be."""

# ruff: noqa: B023  calls are made at once
from __future__ import annotations

import json

import numpy as np

from .questions import ask, attempt, numbers, plain


def nodes(symbol):
    """Operator, name and calibrated range of each node; MXNet numbers the only output of some operators."""
    found = []
    for node in json.loads(symbol.tojson())["nodes"]:
        attrs = node.get("attrs", {})
        ends = [float(f"{float(attrs[k]):.4g}") for k in ("min_calib_range", "max_calib_range") if k in attrs]
        found.append([node["op"], node["name"].replace("_0_", "_output_"), attrs.get("out_type", ""), ends])
    return found


def network(mx):
    nn = mx.gluon.nn
    block = nn.HybridSequential(prefix="n_")
    with block.name_scope():
        block.add(nn.Dense(4, in_units=3, activation="relu"), nn.Dense(5, in_units=4), nn.Dense(2, in_units=5))
    block.initialize()
    for i, parameter in enumerate(block.collect_params().values()):
        parameter.set_data(mx.nd.array(numbers(*parameter.shape, seed=i)))
    return block


@ask
def networks_in_integers(mx, folder):
    q, found = mx.contrib.quantization, {}
    x, y = numbers(12, 3), np.arange(12, dtype=np.float32)
    x[6:] *= 3

    def loader(*arrays):
        return mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(*arrays), 4)

    def made(block, *inputs, **given):
        got = q.quantize_net(block, **{"calib_mode": "naive", **given})
        inputs = inputs or (mx.nd.array(x[:5]),)
        out = got(*inputs)
        return [nodes(got(*[mx.sym.var(f"i{i}") for i in range(len(inputs))])), plain(out)]

    for name, given in {
        "plain": lambda: {"calib_data": loader(x, y)},
        "layer": lambda: {"calib_data": loader(x, y), "exclude_layers": ["n_dense1_fwd"]},
        "part of a name": lambda: {"calib_data": loader(x, y), "exclude_layers_match": ["dense1"]},
        "parts of names": lambda: {"calib_data": loader(x, y), "exclude_layers_match": ["dense2", "dense0"]},
        "no such part": lambda: {"calib_data": loader(x, y), "exclude_layers_match": ["conv"]},
        "all": lambda: {"calib_data": loader(x, y), "exclude_layers_match": ["dense"]},
        "operator": lambda: {"calib_data": loader(x, y), "exclude_operators": ["FullyConnected"]},
        "fused operator": lambda: {"calib_data": loader(x, y), "exclude_operators": ["_sg_mkldnn_fully_connected"]},
        "smart": lambda: {"calib_data": loader(x, y), "quantize_mode": "smart"},
        "int8": lambda: {"calib_data": loader(x, y), "quantized_dtype": "int8"},
        "uint8": lambda: {"calib_data": loader(np.abs(x), y), "quantized_dtype": "uint8"},
        "positive": lambda: {"calib_data": loader(np.abs(x), y), "quantized_dtype": "auto"},
        "some of it": lambda: {"calib_data": loader(x, y), "num_calib_examples": 4},
        "a little more": lambda: {"calib_data": loader(x, y), "num_calib_examples": 5},
        "shapes alone": lambda: {"data_shapes": [mx.io.DataDesc("data", (5, 3))], "calib_mode": "none"},
        "no shapes": lambda: {"calib_mode": "none"},
        "no data": lambda: {"data_shapes": [mx.io.DataDesc("data", (5, 3))], "calib_mode": "naive"},
        "context": lambda: {"calib_data": loader(x, y), "ctx": [mx.cpu()]},
        "unknown mode": lambda: {"calib_data": loader(x, y), "calib_mode": "best"},
        "layers in words": lambda: {"calib_data": loader(x, y), "exclude_layers": "n_dense1_fwd"},
    }.items():
        with mx.name.NameManager():
            found[name] = attempt(lambda: made(network(mx), **given()))
    return found


@ask
def symbols_in_integers(mx, folder):
    q, found = mx.contrib.quantization, {}
    x = numbers(12, 3)
    x[6:] *= 3
    sym, nd = mx.sym, mx.nd
    hidden = sym.FullyConnected(sym.var("x"), num_hidden=4, name="first")
    out = sym.SoftmaxOutput(sym.FullyConnected(hidden, num_hidden=3, name="second"), name="softmax")
    arguments = {
        "first_weight": nd.array(numbers(4, 3)), "first_bias": nd.array(numbers(4)),
        "second_weight": nd.array(numbers(3, 4)), "second_bias": nd.array(numbers(3, seed=2)),
    }  # fmt: skip

    def made(symbol=out, labels=True, **given):
        label = (np.arange(12) % 3).astype(np.float32) if labels else None
        data = mx.io.NDArrayIter({"x": x}, label, 3)
        given = {"calib_data": data, "data_names": ["x"], "calib_mode": "naive", **given}
        qsym, params, states = q.quantize_model_mkldnn(symbol, arguments, {}, **given)
        shown = nodes(qsym)
        return [shown, {k: plain(v).astype(np.float32) for k, v in sorted(params.items())}, sorted(states)]

    for name, given in {
        "plain": {},
        "excluded": {"excluded_sym_names": ["second"]},
        "excluded operators": {"excluded_op_names": ["_sg_mkldnn_fully_connected"]},
        "some": {"num_calib_examples": 3},
        "channels": {"quantize_granularity": "channel-wise"},
        "no labels": {"label_names": None, "symbol": hidden, "labels": False},
        "another type": {"calib_data": [1]},
        "a list of contexts": {"ctx": [mx.cpu()]},
        "customized": {"calib_mode": "customize"},
    }.items():
        with mx.name.NameManager():
            found[name] = attempt(lambda: made(**given))
    return found
