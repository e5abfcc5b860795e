"""Real MXNet 1.9.1 reads what we write: all JSON fixtures, rewritten, and symbols that were built here."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
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
        Path(f"{path}.feeds").write_text(json.dumps(used), encoding="utf-8")
    command = [os.environ["MXNET_PYTHON"], "-c", RUN, *map(str, paths)]
    there = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    for symbol, wanted in zip(symbols, there, strict=True):
        used = {k: mx.nd.array(v) for k, v in feeds.items() if k in symbol.list_arguments()}
        assert [y.asnumpy().tolist() for y in symbol.eval(**used)] == wanted


class Network(mx.gluon.HybridBlock):
    """A network of mx.np's functions and mx.npx's."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.kernel = self.params.get("kernel", shape=(4, 3, 3, 3))
            self.dense, self.norm = mx.gluon.nn.Dense(6, flatten=False), mx.gluon.nn.BatchNorm()

    def hybrid_forward(self, F, x, lengths, kernel):  # noqa: N803
        net = F.npx.convolution(x, kernel, kernel=(3, 3), num_filter=4, pad=(1, 1), no_bias=True)
        net = F.npx.leaky_relu(self.norm(net), act_type="gelu") * 2 - 1 / (F.np.exp(net) + 1)
        net = F.npx.pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
        rows = F.npx.reshape(net, (-2, -5, -1))
        scores = F.npx.batch_dot(rows, self.dense(rows), transpose_a=True)
        kept = F.npx.sequence_mask(scores, lengths, True, value=-9, axis=1)
        best, places = F.npx.topk(kept, k=2, ret_typ="both", axis=-1)
        flat = F.npx.batch_flatten(kept)
        return (
            F.npx.softmax(kept, axis=-1),
            F.np.maximum(best, F.np.arctan2(best, 2.0)),
            places,
            -F.npx.pick(flat, lengths),
        )


RUN_NUMPY = """
import sys, numpy as np, mxnet as mx
mx.npx.set_np()
feeds = np.load(sys.argv[1] + "-feeds.npz")
net = mx.gluon.SymbolBlock.imports(sys.argv[1] + "-symbol.json", ["data0", "data1"], sys.argv[1] + "-0000.params")
outputs = net(*(mx.np.array(feeds[k], dtype=feeds[k].dtype) for k in ("x", "lengths")))
kept = mx.npx.load(sys.argv[1] + "-0000.params")
np.savez(sys.argv[1] + "-outputs.npz", *(y.asnumpy() for y in outputs), shapes=[v.ndim for v in kept.values()])
"""


@pytest.mark.mxnet
def test_mxnet_runs_our_networks_of_numpy(tmp_path: Path) -> None:
    """Networks that are exported here in NumPy's mode are imported there, and give the same numbers."""
    random = np.random.default_rng(3)
    feeds = {"x": random.normal(size=(2, 3, 6, 6)).astype(np.float32), "lengths": np.array([1, 3], np.float32)}
    with mx.np_shape(True), mx.np_array(True):
        net = Network()
        net.initialize(mx.init.Xavier())
        net.hybridize()
        outputs = net(*(mx.nd.array(v).as_np_ndarray() for v in feeds.values()))
        net.export(str(tmp_path / "net"))
    np.savez(tmp_path / "net-feeds.npz", **feeds)
    subprocess.run(
        [os.environ["MXNET_PYTHON"], "-c", RUN_NUMPY, tmp_path / "net"], check=True, capture_output=True, cwd="/"
    )
    there = np.load(tmp_path / "net-outputs.npz")
    for i, ours in enumerate(outputs):
        np.testing.assert_allclose(ours.asnumpy(), there[f"arr_{i}"], rtol=1e-4, atol=1e-5)
