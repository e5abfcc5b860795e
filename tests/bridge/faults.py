"""Faults as they happen in exporters and editors, planted into ONNX models one at a time: does verification see them?

    python -m tests.bridge.faults [FOLDER...] [--only TEXT] [--size N]

goes through the networks of fixtures/models, or those of FOLDERs that are laid out alike: each is converted (a refusal is a false
alarm), and every fault that applies is planted and verified (a pass is a miss). Prints a line for each, and the counts; 1 when
there is either."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import bridge
from tests.models.networks import FOLDER, Network

Fault = Callable[[onnx.ModelProto], bool]
FAULTS: dict[str, Fault] = {}
"""By name: what changes a model in place and says whether there was anything to change."""


def fault(function: Fault) -> Fault:
    """Enter a fault under its name."""
    FAULTS[function.__name__] = function
    return function


def _weights(model: onnx.ModelProto) -> list[TensorProto]:
    """Stored float32 tensors of two and more dimensions that layers read, in the order of the layers."""
    stored = {i.name: i for i in model.graph.initializer if i.data_type == TensorProto.FLOAT}
    layers = (n for n in model.graph.node if n.op_type in ("Conv", "Gemm", "MatMul", "ConvTranspose", "LSTM", "GRU"))
    found = [stored[i] for n in layers for i in n.input[1:2] if i in stored and len(stored[i].dims) > 1]
    return [t for t in found if np.abs(numpy_helper.to_array(t)).max() > 0]


def _change(tensor: TensorProto, change: Callable[[np.ndarray], None]) -> bool:
    array = numpy_helper.to_array(tensor).copy()
    before = array.copy()
    change(array)
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    return not np.array_equal(array, before)


def _middle(model: onnx.ModelProto, change: Callable[[np.ndarray], None]) -> bool:
    weights = _weights(model)
    return bool(weights) and _change(weights[len(weights) // 2], change)


def _set(array: np.ndarray, index: Any, value: Any) -> None:
    array[index] = value


def _nodes(model: onnx.ModelProto, *kinds: str) -> Iterator[onnx.NodeProto]:
    yield from (n for n in model.graph.node if n.op_type in kinds)


@fault
def a_layer_wrong_by_a_500th(model: onnx.ModelProto) -> bool:
    return _middle(model, lambda a: _set(a, ..., a * np.float32(1.002)))


@fault
def one_filter_wrong_by_a_hundredth(model: onnx.ModelProto) -> bool:
    return _middle(model, lambda a: _set(a, 0, a[0] * np.float32(1.01)))


@fault
def one_element_wrong_by_a_tenth(model: onnx.ModelProto) -> bool:
    def change(a: np.ndarray) -> None:
        index = np.unravel_index(int(np.abs(a).argmax()), a.shape)
        a[index] *= np.float32(1.1)

    return _middle(model, change)


@fault
def two_filters_swapped(model: onnx.ModelProto) -> bool:
    return _middle(model, lambda a: _set(a, slice(0, 2), a[1::-1].copy()) if len(a) > 1 else None)


@fault
def a_weight_through_half_precision(model: onnx.ModelProto) -> bool:
    return _middle(model, lambda a: _set(a, ..., a.astype(np.float16).astype(np.float32)))


@fault
def a_weight_that_is_nan(model: onnx.ModelProto) -> bool:
    return _middle(model, lambda a: _set(a, (0,) * a.ndim, np.nan))


@fault
def a_bias_wrong_by_a_hundredth(model: onnx.ModelProto) -> bool:
    stored = {i.name: i for i in model.graph.initializer if i.data_type == TensorProto.FLOAT}
    biases = [stored[n.input[2]] for n in _nodes(model, "Conv", "Gemm") if len(n.input) > 2 and n.input[2] in stored]
    biases = [t for t in biases if np.abs(numpy_helper.to_array(t)).max(initial=0) > 1e-3]
    if not biases:
        return False

    def change(a: np.ndarray) -> None:
        a.flat[int(np.abs(a).argmax())] *= np.float32(1.01)

    return _change(biases[-1], change)


@fault
def a_round_trip_through_half_precision(model: onnx.ModelProto) -> bool:
    layers = [
        n for n in _nodes(model, "Conv", "Gemm", "MatMul") if n.output[0] not in {o.name for o in model.graph.output}
    ]
    halves = any(a.name == "to" and a.i == TensorProto.FLOAT16 for n in _nodes(model, "Cast") for a in n.attribute)
    if not layers or not _weights(model) or halves:  # a network that is in half precision itself may not even change
        return False
    node = layers[len(layers) // 2]
    name = node.output[0]
    node.output[0] = f"{name}/exact"
    casts = [
        helper.make_node("Cast", [f"{name}/exact"], [f"{name}/half"], to=TensorProto.FLOAT16),
        helper.make_node("Cast", [f"{name}/half"], [name], to=TensorProto.FLOAT),
    ]
    index = next(i for i, n in enumerate(model.graph.node) if n is node or n.output[0] == f"{name}/exact")
    rest = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend([*rest[: index + 1], *casts, *rest[index + 1 :]])
    return True


@fault
def an_epsilon_of_another_size(model: onnx.ModelProto) -> bool:
    for node in _nodes(model, "BatchNormalization", "LayerNormalization", "InstanceNormalization"):
        for attribute in node.attribute:
            if attribute.name == "epsilon":
                attribute.f = attribute.f * 10 + 1e-2
                return True
    return False


@fault
def pads_off_by_one(model: onnx.ModelProto) -> bool:
    for node in _nodes(model, "Conv", "MaxPool", "AveragePool"):
        for attribute in node.attribute:
            if attribute.name == "pads" and min(attribute.ints, default=0) > 0:
                half = len(attribute.ints) // 2
                attribute.ints[0] -= 1
                attribute.ints[half] += 1
                return True
    return False


@fault
def another_activation(model: onnx.ModelProto) -> bool:
    rounded = {n.input[0] for n in _nodes(model, "Round")}  # to unsigned numbers: what is negative is cut off anyhow
    for node in _nodes(model, "Relu"):
        if node.output[0] not in rounded:
            node.op_type = "LeakyRelu"
            return True
    for node in _nodes(model, "Sigmoid", "Tanh"):
        node.op_type = "HardSigmoid" if node.op_type == "Sigmoid" else "Softsign"
        return True
    return False


@fault
def a_branch_left_out(model: onnx.ModelProto) -> bool:
    stored = {i.name for i in model.graph.initializer}
    for node in _nodes(model, "Add", "Mul"):
        if not stored.intersection(node.input) and not any(i.endswith("const") for i in node.input):
            node.op_type = "Identity"
            del node.input[1:]
            return True
    return False


@fault
def branches_swapped(model: onnx.ModelProto) -> bool:
    for node in _nodes(model, "Concat", "Sub", "Div"):
        if len(set(node.input)) > 1:
            node.input[:] = list(node.input)[::-1]
            return True
    return False


@fault
def the_greatest_instead_of_the_average(model: onnx.ModelProto) -> bool:
    for node in _nodes(model, "MaxPool", "AveragePool", "GlobalAveragePool"):
        kept = [a for a in node.attribute if a.name not in ("count_include_pad", "storage_order")]
        swap = {"MaxPool": "AveragePool", "AveragePool": "MaxPool", "GlobalAveragePool": "GlobalMaxPool"}
        node.op_type = swap[node.op_type]
        del node.attribute[:]
        node.attribute.extend(kept)
        return True
    return False


def planted(model: onnx.ModelProto, name: str) -> onnx.ModelProto | None:
    """A copy of the model with a fault; None where it does not apply."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy if FAULTS[name](copy) else None


def _judge(network: Network, size: int | None) -> tuple[int, int, int]:
    """(false alarms, faults tried, misses) of a network."""
    feeds: dict[str, Any] = network.runs()[0][0]
    if size is not None:
        feeds = {n: (*a.shape[:-2], size, size) if a.ndim == 4 else a for n, a in feeds.items()}
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "model.onnx"
        try:
            bridge.convert(network.prefix, inputs=feeds, output=target)
        except bridge.NotEquivalent as error:
            print(f"{network.name}: FALSE ALARM: {error}", flush=True)
            return 1, 0, 0
        model = onnx.load(target)
    tried = misses = 0
    for name in FAULTS:
        wrong = planted(model, name)
        if wrong is None:
            continue
        tried += 1
        try:
            result = bridge.verify(network.prefix, wrong, inputs=feeds)
        except bridge.EngineError:
            continue  # the runtime refuses it: nobody is deceived
        if result.verdict == "equivalent":
            misses += 1
            print(f"{network.name}: MISSED: {name}", flush=True)
    print(f"{network.name}: {tried} faults, {misses} missed", flush=True)
    return 0, tried, misses


def main() -> int:
    """Judge all networks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", default=[FOLDER])
    parser.add_argument("--only", default="")
    parser.add_argument("--size", type=int, help="height and width of pictures, in place of those recorded")
    arguments = parser.parse_args()
    found = sorted(
        p.parent for f in arguments.folders for p in f.glob("*/outputs.npz") if arguments.only in p.parent.name
    )
    counts = np.array([_judge(Network(p.name, p, {}), arguments.size) for p in found]).reshape(-1, 3).sum(axis=0)
    print(f"{len(found)} networks: {counts[0]} false alarms; {counts[1]} faults planted, {counts[2]} missed")
    return int(counts[0] + counts[2] > 0)


if __name__ == "__main__":
    sys.exit(main())
