"""Real MXNet 1.9.1 reads what we write: all JSON fixtures, rewritten, and symbols that were built here."""

import json
import os
import subprocess
from pathlib import Path

import pytest

import hybrid as mx
from hybrid import sym
from tests.models.networks import networks
from tests.symbol.test_json_versions import FOLDER

READ = """
import json, sys, mxnet as mx
out = {}
for path in sys.argv[1:]:
    s = mx.sym.load(path)
    out[path] = [s.list_arguments(), s.list_outputs(), s.list_auxiliary_states(), s.attr_dict()]
print(json.dumps(out))
"""


def built() -> mx.Symbol:
    x = sym.var("x", shape=(2, 3, 8, 8), dtype="float32", lr_mult=2, init="zeros", __user__="yes")
    net = sym.Convolution(x, kernel=[3, 3], num_filter=4, pad=(1, 1), no_bias=False, name="c")
    net = sym.LeakyReLU(sym.BatchNorm(net, fix_gamma=False, eps=1e-3), act_type="prelu")
    net = sym.concat(*sym.split(net, num_outputs=2, axis=1), dim=1) * 2.5 + (1 - net) / net
    return sym.Group(
        [sym.softmax(sym.flatten(net), axis=-1), sym.topk(net, k=2, ret_typ="both"), net.astype("float16")]
    )


@pytest.mark.mxnet
def test_mxnet_reads_what_we_write(tmp_path: Path) -> None:
    """MXNET_PYTHON names the Python of an environment with MXNet 1.9.1."""
    paths = [*sorted(FOLDER.glob("*/*-symbol.json")), *(Path(f"{n.prefix}-symbol.json") for n in networks())]
    written = {}
    for number, symbol in enumerate([*map(mx.sym.load, paths), built()]):
        target = tmp_path / f"{number}.json"
        symbol.save(target, remove_amp_cast=False)
        written[str(target)] = symbol
    command = [os.environ["MXNET_PYTHON"], "-c", READ, *written]
    read = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    for path, symbol in written.items():
        arguments, outputs, states, attributes = read[path]
        assert (arguments, outputs, states) == (
            symbol.list_arguments(),
            symbol.list_outputs(),
            symbol.list_auxiliary_states(),
        )
        assert attributes == symbol.attr_dict()


RUN = """
import json, sys, mxnet as mx
out = []
for path in sys.argv[1:]:
    s = mx.sym.load(path)
    feeds = {k: mx.nd.array(v) for k, v in json.load(open(path + ".feeds")).items()}
    out.append([y.asnumpy().tolist() for y in s.eval(ctx=mx.cpu(), **feeds)])
print(json.dumps(out))
"""


@pytest.mark.mxnet
def test_mxnet_runs_our_control_flow(tmp_path: Path) -> None:
    """Loops and choices that were traced here compute the same there."""
    a, b, w = map(sym.var, "abw")
    outs, (state,) = sym.contrib.foreach(lambda x, s: (sym.broadcast_mul(x + s[0], w * 2), [s[0] + x]), a, [b])
    rows, variables = sym.contrib.while_loop(lambda i, s: i < 3, lambda i, s: (i * s, [i + 1, s + w]), [w * 0, b], 3)
    chosen = sym.contrib.cond(w > 0, lambda: a * 2, lambda: sym.broadcast_add(a, w))
    feeds = {"a": [[1.0], [2.0], [3.0]], "b": [0.5], "w": [2.0]}
    symbols = [sym.Group([outs, state]), sym.Group([rows, *variables]), chosen]
    paths = [tmp_path / f"{i}.json" for i in range(len(symbols))]
    for symbol, path in zip(symbols, paths):
        symbol.save(path)
        used = {k: v for k, v in feeds.items() if k in symbol.list_arguments()}
        Path(f"{path}.feeds").write_text(json.dumps(used))
    command = [os.environ["MXNET_PYTHON"], "-c", RUN, *map(str, paths)]
    there = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    for symbol, wanted in zip(symbols, there, strict=True):
        used = {k: mx.nd.array(v) for k, v in feeds.items() if k in symbol.list_arguments()}
        assert [y.asnumpy().tolist() for y in symbol.eval(**used)] == wanted
