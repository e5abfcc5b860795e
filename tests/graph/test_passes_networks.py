"""Whole networks after the passes give what they give without them, and have become what they should."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import bridge
import hybrid as mx
from bridge.onnx_backend import _to_executor
from converters.importer import import_model
from hybrid import native
from hybrid.ir.differentiate import gradients
from hybrid.ir.graph import Entry, Graph
from hybrid.ir.infer import infer
from hybrid.passes import Rewriter, optimize
from tests import shares
from tests.graph.optimizing import ALL, NATIVE, counted, optimized, plainly, rewriter_of, run
from tests.models.networks import Network, agree, networks
from tests.models.onnx_networks import OnnxNetwork, onnx_networks

every = pytest.mark.parametrize("network", [pytest.param(n, id=n.name) for n in networks()])
imported = pytest.mark.parametrize("network", [pytest.param(n, id=n.name) for n in onnx_networks()])


def cases(network: Network) -> Iterator[tuple[Graph, dict[str, np.ndarray], dict[str, np.ndarray]]]:
    """(graph, feeds, params) of every recorded run; labels are zeros."""
    model = bridge.open_model(network.prefix)
    assert model.graph is not None
    names = {n.name for n in model.graph.variables()}
    params = {k: v for k, v in model.params.items() if k in names}
    for inputs, _ in network.runs():
        feeds = {k: v for k, v in inputs.items() if k in names}
        known = rewriter_of(model.graph, feeds, params)
        for node in model.graph.variables():
            if node.name not in feeds and node.name not in params:
                feeds[node.name] = np.zeros(known.shape(Entry(node)), known.dtype(Entry(node)))
        yield model.graph, feeds, params


def numbered(arrays: list[np.ndarray]) -> dict[str, np.ndarray]:
    return {str(i): a for i, a in enumerate(arrays)}


@every
def test_all_passes_keep_the_outputs(network: Network) -> None:
    for graph, feeds, params in cases(network):
        got = run(optimized(graph, feeds, params), feeds, params)
        agree(numbered(got), numbered(plainly(graph, feeds, params)), network.limit)


@every
@pytest.mark.models
def test_each_pass_alone_and_all_but_each_keep_the_outputs(network: Network) -> None:
    graph, feeds, params = next(cases(network))
    want = numbered(plainly(graph, feeds, params))
    for name in shares.some(ALL, f"{network.name} {{}}".format, 4):
        for without in ([name], [n for n in ALL if n != name]):
            agree(numbered(run(optimized(graph, feeds, params, without), feeds, params)), want, network.limit)


@every
@pytest.mark.models
def test_training_keeps_the_outputs(network: Network) -> None:
    """With the same draws: no random operator is lost, doubled or moved before another."""
    graph, feeds, params = next(cases(network))
    want = plainly(graph, feeds, params, training=True)
    got = run(optimized(graph, feeds, params, training=True), feeds, params, training=True)
    agree(numbered(got), numbered(want), max(network.limit, 2e-5))


TRAINED = [
    "resnet_v2",
    "mobilenet_v3",
    "transformer_encoder",
    "module_lstm_unrolled",
    "gluon_activations",
    "unet",
    "yolo",
]


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.models
def test_steps_of_training_keep_the_gradients(name: str) -> None:
    """Forward and backward in one graph, parameters are inputs."""
    network = {n.name: n for n in networks()}[name]
    graph, feeds, params = next(cases(network))
    wanted = [n for n in graph.arguments() if params.get(n.name, np.zeros(0)).dtype == np.float32]
    found = gradients([(e, None) for e in graph.outputs], wanted)
    whole = Graph([*graph.outputs, *(e for e in found if e is not None)])
    names = {n.name for n in whole.variables()}
    given, again = ({k: v.copy() for k, v in {**feeds, **params}.items() if k in names} for _ in range(2))
    want = plainly(whole, given, {}, training=True)
    got = run(optimized(whole, again, {}, training=True), again, {}, training=True)
    assert len(want) > len(graph.outputs)
    # that of a bias before a softmax over what it is added to is 0: terms as large as other gradients cancel
    largest = max(float(np.abs(a).max(initial=0)) for a in want)
    agree(numbered(got), numbered(want), 1e-4, least=1e-3 * largest)
    states = {n.name for n in whole.auxiliary_states()}
    agree({k: again[k] for k in states}, {k: given[k] for k in states}, 1e-5)


@imported
@pytest.mark.models
def test_imported_networks_keep_their_outputs(network: OnnxNetwork) -> None:
    found = import_model(network.model)
    half = any(p.dtype.name in ("float16", "bfloat16") for p in found.params.values())  # passes keep float32 inside
    for inputs, _ in network.runs():
        names = {n.name for n in found.graph.variables()}
        feeds = {k: np.asarray(_to_executor(v)) for k, v in inputs.items() if k in names}
        params = {k: v for k, v in found.params.items() if k not in feeds and k in names}
        want = plainly(found.graph, feeds, params)
        got = run(optimized(found.graph, feeds, params), feeds, params)
        for one, other in zip(got, want, strict=True):
            if one.dtype == object:
                continue  # words, sequences and maps: no pass knows them
            agree({"": one}, {"": other}, 2e-3 if half or one.dtype.itemsize == 2 else 1e-5)


ZOO: dict[str, tuple[int, dict[str, int]]] = {
    "resnet50_v1": (224, {"_fused_conv": 53, "_fused_pool": 2, "_fused_dense": 1}),
    "resnet18_v2": (224, {"_fused_conv": 20, "_fused_chain": 10, "_fused_pool": 2, "_fused_dense": 1}),
    "vgg11_bn": (224, {"_fused_conv": 8, "_fused_pool": 5, "_fused_dense": 3, "_fused_unpack": 1}),
    "densenet121": (
        224,
        {
            "_fused_conv": 59,
            "_fused_separable": 61,
            "_fused_chain": 1,
            "_fused_concat": 58,
            "_fused_pool": 5,
            "_fused_dense": 1,
        },
    ),
    "inceptionv3": (299, {"_fused_conv": 94, "_fused_pool": 14, "_fused_concat": 15, "_fused_dense": 1}),
    "mobilenetv2_1.0": (224, {"_fused_conv": 20, "_fused_separable": 17, "_fused_pool": 1, "_fused_unpack": 1}),
    "squeezenet1.1": (224, {"_fused_conv": 26, "_fused_pool": 4, "_fused_concat": 8, "_fused_unpack": 1}),
}
"""Networks of Gluon's zoo: the size of pictures, and what is left of them but for what only renames memory."""


@pytest.mark.parametrize("name", ZOO)
def test_networks_become(name: str) -> None:
    """No BatchNorm, no activation, no addition on its own, and no conversion on the way from the picture to the classes."""
    size, wanted = ZOO[name]
    graph = mx.gluon.model_zoo.vision.get_model(name)(mx.sym.var("data")).graph
    params = [n.name for n in graph.variables() if n.name != "data"]
    rewriter = Rewriter(
        infer(graph, {"data": (1, 3, size, size)}, default_dtype="float32"), constants=params, native=NATIVE
    )
    found = optimize(graph, rewriter)
    left = counted(found.main)
    assert left - Counter({"Reshape": 9, "Flatten": 9}) == Counter(wanted)
    assert {n.name for n in graph.nodes} >= {n.name for n in found.main.variables()} - set(found.feeds)


def test_attention_becomes() -> None:
    """Residual additions and activations are part of dense layers, gelu is one chain."""
    network = {n.name: n for n in networks()}["vision_transformer"]
    graph, feeds, params = next(cases(network))
    found: Any = counted(optimized(graph, feeds, params).main)
    assert found["_fused_dense"] == 7
    assert found["elemwise_add"] == found["LeakyReLU"] == found["FullyConnected"] == 0


@pytest.mark.parametrize("widths", [(16, 32, 32, 16), (48, 16, 64, 16), (16, 16, 64, 32, 16)])
def test_parts_of_a_concatenation_last_until_it_is_read(widths: tuple[int, ...]) -> None:
    """The first part is ready long before the last, whose own steps need memory meanwhile."""
    rng = np.random.default_rng(1)

    def conv(data: Any, width: int, name: str) -> Any:
        return mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=width, name=name)

    first, *others = widths
    image = last = mx.sym.var("data")
    for i, width in enumerate(others):
        last = conv(last, width, f"other{i}")
    net = conv(mx.sym.concat(conv(image, first, "first"), last, dim=1), 8, "end")
    shapes = net.infer_shape(data=(1, 16, 8, 8))[0]
    arrays = {n: mx.nd.array(rng.uniform(-1, 1, s)) for n, s in zip(net.list_arguments(), shapes)}

    def answer(level: str | None) -> np.ndarray:
        before = native.use(level)
        try:
            return net.bind(mx.cpu(), arrays, grad_req="null").forward()[0].asnumpy()
        finally:
            native.use(before)

    want = answer(None)
    np.testing.assert_allclose(answer(native.level()), want, rtol=0, atol=1e-5 * np.abs(want).max())
