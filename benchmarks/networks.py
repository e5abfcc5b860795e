"""The networks that are measured: written in Gluon, so that this package and MXNet build the same, with seeded random weights.

``prepare`` exports one as both read it (PREFIX-symbol.json, PREFIX-0000.params) and as onnxruntime does best: a clean ONNX model,
with constants instead of weights listed as inputs, and sizes that are fixed. Nothing here is trained; weights are scaled so that
numbers neither vanish nor overflow on their way, and two engines can be compared at the end.

Nothing but NumPy is imported at the top: the process that runs MXNet reads this file too.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Network:
    """One to measure. ``target``: onnxruntime's time over ours that is asked for, None where nothing is."""

    name: str
    build: Callable[[Any], Any]
    """From the package (mx) to a block."""
    shapes: Callable[[int], dict[str, tuple[int, ...]]]
    """From the batch to the inputs' shapes."""
    target: float | None = None
    scale: float | None = None
    """Standard deviation of weights; None for what keeps the variance through a layer and a rectifier (He 2015)."""
    below: dict[str, int] = field(default_factory=dict)
    """Inputs that hold whole numbers, and the number that they stay below."""
    positive: bool = False
    """True when other inputs hold positive numbers only."""

    def inputs(self, batch: int, seed: int = 0) -> Arrays:
        """Seeded arrays."""
        random = np.random.default_rng(seed)
        out = {}
        for name, shape in self.shapes(batch).items():
            if name in self.below:
                value = random.integers(self.below[name] > 2, self.below[name], shape)
            else:
                value = random.standard_normal(shape)
                value = np.abs(value) + 0.1 if self.positive else value
            out[name] = value.astype(np.float32)
        return out


def picture(size: int) -> Callable[[int], dict[str, tuple[int, ...]]]:
    """One input: square pictures of three colours."""
    return lambda batch: {"data": (batch, 3, size, size)}


def zoo(name: str) -> Callable[[Any], Any]:
    """A network of Gluon's model zoo."""
    return lambda mx: mx.gluon.model_zoo.vision.get_model(name)


def mlp(mx: Any) -> Any:
    """The tutorials' network."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(2))
    return net


def lenet(mx: Any) -> Any:
    """LeNet for pictures of 28x28."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(20, 5, activation="tanh"),
        nn.MaxPool2D(2, 2),
        nn.Conv2D(50, 5, activation="tanh"),
        nn.MaxPool2D(2, 2),
        nn.Dense(128, activation="tanh"),
        nn.Dense(10),
    )
    return net


def lstm(mx: Any) -> Any:
    """Two layers of 512 units; time comes first. In a block of its own it starts from zeros, and states are no inputs."""
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.rnn.LSTM(512, num_layers=2, input_size=512))
    return net


def classifier(mx: Any) -> Any:
    """An LSTM that puts sequences into ten classes."""
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.rnn.LSTM(512, num_layers=2, layout="NTC", input_size=512), mx.gluon.nn.Dense(10))
    return net


def bert(mx: Any, layers: int = 12, units: int = 768, heads: int = 12, words: int = 30522, length: int = 512) -> Any:
    """BERT's encoder (Devlin 2018; base) on embedded words, as Gluon programs write it: time first, queries, keys and values in one
    product, interleaved by head, positions past each sequence's length masked in the softmax."""
    nn, block = mx.gluon.nn, mx.gluon.HybridBlock

    class Layer(block):
        def __init__(self, **kwargs: Any):
            super().__init__(**kwargs)
            with self.name_scope():
                self.qkv = nn.Dense(3 * units, flatten=False, in_units=units)
                self.proj = nn.Dense(units, flatten=False, in_units=units)
                self.norm1 = nn.LayerNorm(in_channels=units, epsilon=1e-12)
                self.up = nn.Dense(4 * units, flatten=False, in_units=units)
                self.gelu = nn.GELU()
                self.down = nn.Dense(units, flatten=False, in_units=4 * units)
                self.norm2 = nn.LayerNorm(in_channels=units, epsilon=1e-12)

        def hybrid_forward(self, F: Any, x: Any, valid: Any) -> Any:  # noqa: N803
            qkv = self.qkv(x)
            scores = F.contrib.interleaved_matmul_selfatt_qk(qkv, heads=heads)
            weights = F.softmax(scores, valid, axis=-1, use_length=True)
            seen = F.contrib.interleaved_matmul_selfatt_valatt(qkv, weights, heads=heads)
            x = self.norm1(self.proj(seen) + x)
            return self.norm2(self.down(self.gelu(self.up(x))) + x)

    class Encoder(block):
        def __init__(self, **kwargs: Any):
            super().__init__(**kwargs)
            with self.name_scope():
                self.word = nn.Embedding(words, units)
                self.kind = nn.Embedding(2, units)
                self.position = self.params.get("position", shape=(length, units))
                self.norm = nn.LayerNorm(in_channels=units, epsilon=1e-12)
                self.layers = nn.HybridSequential()
                for _ in range(layers):
                    self.layers.add(Layer())

        def hybrid_forward(self, F: Any, ids: Any, kinds: Any, valid: Any, position: Any) -> Any:  # noqa: N803
            x = F.transpose(self.word(ids) + self.kind(kinds), axes=(1, 0, 2))
            x = F.broadcast_add(x, F.expand_dims(F.slice_like(position, x, axes=(0,)), axis=1))
            # a length for each row of each head's matrix of scores
            mask = F.broadcast_add(F.reshape(valid, (-1, 1)), F.zeros_like(ids))
            mask = F.broadcast_axis(F.expand_dims(mask, axis=1), axis=1, size=heads)
            mask = F.cast(F.reshape(mask, (-1, 0), reverse=True), "int32")
            x = self.norm(x)
            for layer in self.layers:
                x = layer(x, mask)
            return F.transpose(x, axes=(1, 0, 2))

    return Encoder()


NETWORKS = {
    n.name: n
    for n in (
        Network("resnet50_v1", zoo("resnet50_v1"), picture(224), 1.35),
        Network("resnet18_v1", zoo("resnet18_v1"), picture(224), 1.7),
        Network("vgg16", zoo("vgg16"), picture(224), 2.3),
        Network("inceptionv3", zoo("inceptionv3"), picture(299), 1.25),
        Network("densenet121", zoo("densenet121"), picture(224), 1.25),
        Network("squeezenet1.1", zoo("squeezenet1.1"), picture(224), 1.2),
        Network("mobilenet1.0", zoo("mobilenet1.0"), picture(224), 1.05),
        Network("mobilenetv2_1.0", zoo("mobilenetv2_1.0"), picture(224), 1.2),
        Network("alexnet", zoo("alexnet"), picture(224), 1.2),
        Network(
            "bert_base",
            bert,
            lambda batch: {"data0": (batch, 128), "data1": (batch, 128), "data2": (batch,)},
            1.2,
            0.02,
            {"data0": 30522, "data1": 2, "data2": 128},
        ),
        Network("lstm", lstm, lambda batch: {"data": (64, batch, 512)}, 1.5, 0.04),
        Network("mlp", mlp, lambda batch: {"data": (batch, 512)}, 3.0),
    )
}
"""Those of the table, with what is asked for."""


TRAINING = {
    n.name: n
    for n in (
        Network("resnet18 training", lambda mx: mx.gluon.model_zoo.vision.resnet18_v1(classes=10), picture(64)),
        Network("lenet training", lenet, lambda batch: {"data": (batch, 1, 28, 28)}),
        Network("lstm training", classifier, lambda batch: {"data": (batch, 64, 512)}, None, 0.04),
    )
}
BATCHES = {"resnet18 training": 16, "lenet training": 64, "lstm training": 16}
"""Steps of training, which are held against MXNet's."""


def seeded(parameters: Iterable[tuple[str, tuple[int, ...]]], scale: float | None = None) -> Iterator[np.ndarray]:
    """Values of parameters, from their names and shapes. Normalization gets statistics like those of a trained network."""
    random = np.random.default_rng(0)
    for name, shape in parameters:
        if name.endswith(("_var", "gamma")):
            value = random.uniform(0.8, 1.2, shape)
        elif name.endswith(("bias", "beta", "_mean")):
            value = np.float32(0.05) * random.standard_normal(shape, np.float32)
        else:
            deviation = np.float32(scale or np.sqrt(2 / np.prod(shape[1:])))
            value = deviation * random.standard_normal(shape, np.float32)
        yield np.asarray(value, np.float32)


def fill(net: Any, array: Callable[[np.ndarray], Any], scale: float | None = None) -> None:
    """Give all parameters seeded values, in the order in which the network lists them. array: makes an NDArray."""
    parameters = net.collect_params()
    for parameter, value in zip(parameters.values(), seeded([(n, p.shape) for n, p in parameters.items()], scale)):
        parameter.set_data(array(value))


def build_block(mx: Any, network: Network, batch: int = 1) -> Any:
    """The block with its weights."""
    net = network.build(mx)
    net.initialize()
    given = [mx.nd.array(a) for a in network.inputs(batch).values()]
    net(*given).wait_to_read()  # from which parameters learn their shapes
    fill(net, mx.nd.array, network.scale)
    return net


def folder() -> Path:
    """Folder in which exported networks are kept from one run to the next: another one after any change of this file."""
    mark = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"gluonnx-networks-{mark}"


def prepare(network: Network, batch: int, where: Path) -> tuple[Path, Path]:
    """(prefix, ONNX file) of a network, exported into a folder unless they lie there."""
    where.mkdir(parents=True, exist_ok=True)
    prefix, target = where / network.name, where / f"{network.name}-{batch}.onnx"
    if not prefix.with_name(f"{network.name}-symbol.json").exists():
        import hybrid as mx

        net = build_block(mx, network)
        net.hybridize()
        net(*(mx.nd.array(a) for a in network.inputs(1).values()))
        with tempfile.TemporaryDirectory(dir=where) as draft:
            net.export(str(Path(draft) / network.name))
            for made in sorted(Path(draft).iterdir()):  # the symbol last: it is what is looked for
                made.replace(where / made.name)
    if not target.exists():
        import bridge

        bridge.convert(str(prefix), inputs=network.shapes(batch), output=target, verify=False)
    return prefix, target
