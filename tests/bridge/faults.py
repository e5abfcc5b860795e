"""Faults as they happen in exporters and editors, planted into ONNX models one at a time: does verification see them?

    python -m tests.bridge.faults

plants them all and says which are caught, and with the right node (tests/bridge/campaign.py)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from bridge.cut import nodes_inside

Fault = Callable[[onnx.ModelProto], bool]
FAULTS: dict[str, Fault] = {}
"""By name: what changes a model in place and says whether there was anything to change."""
RARE: dict[str, Fault] = {}
"""Those that few networks have a place for."""


def fault(function: Fault) -> Fault:
    """Enter a fault under its name."""
    FAULTS[function.__name__] = function
    return function


def rare(function: Fault) -> Fault:
    """Enter a fault that few networks have a place for."""
    RARE[function.__name__] = function
    return function


NORMS = ("BatchNormalization", "LayerNormalization", "InstanceNormalization", "PRelu")


def _stored(model: onnx.ModelProto) -> dict[str, TensorProto]:
    """Stored tensors of floats by name."""
    return {i.name: i for i in model.graph.initializer if i.data_type in (TensorProto.FLOAT, TensorProto.FLOAT16)}


def _weights(model: onnx.ModelProto) -> list[TensorProto]:
    """Stored floats of two and more dimensions that layers read, in the order of the layers."""
    stored = _stored(model)
    layers = _nodes(model, "Conv", "Gemm", "MatMul", "ConvTranspose", "LSTM", "GRU")
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
    return _middle(model, lambda a: _set(a, ..., a * a.dtype.type(1.002)))


@fault
def one_filter_wrong_by_a_hundredth(model: onnx.ModelProto) -> bool:
    return _middle(model, lambda a: _set(a, 0, a[0] * a.dtype.type(1.01)))


@fault
def one_element_wrong_by_a_tenth(model: onnx.ModelProto) -> bool:
    def change(a: np.ndarray) -> None:
        index = np.unravel_index(int(np.abs(a).argmax()), a.shape)
        a[index] *= a.dtype.type(1.1)

    return _middle(model, change)


@fault
def two_filters_swapped(model: onnx.ModelProto) -> bool:
    return _middle(model, lambda a: _set(a, slice(0, 2), a[1::-1].copy()) if len(a) > 1 else None)


@fault
def a_weight_through_half_precision(model: onnx.ModelProto) -> bool:
    return _middle(model, lambda a: _set(a, ..., a.astype(np.float16).astype(a.dtype)))


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


@rare
def one_input_channel_wrong_by_a_twentieth(model: onnx.ModelProto) -> bool:
    return _middle(model, lambda a: _set(a, (slice(None), 0), a[:, 0] * a.dtype.type(1.05)))


@rare
def kernels_flipped(model: onnx.ModelProto) -> bool:
    spatial = [t for t in _weights(model) if len(t.dims) > 2 and t.dims[-1] > 1]
    return bool(spatial) and _change(spatial[-1], lambda a: _set(a, ..., a[..., ::-1].copy()))


@rare
def a_square_weight_transposed(model: onnx.ModelProto) -> bool:
    square = [t for t in _weights(model) if len(t.dims) > 1 and t.dims[-1] == t.dims[-2] > 1]
    return bool(square) and _change(square[0], lambda a: _set(a, ..., a.swapaxes(-1, -2).copy()))


@rare
def an_epsilon_of_a_thousandth(model: onnx.ModelProto) -> bool:
    for node in _nodes(model, "BatchNormalization", "LayerNormalization", "InstanceNormalization"):
        for attribute in node.attribute:
            if attribute.name == "epsilon" and attribute.f < 5e-4:
                attribute.f = 1e-3
                return True
    return False


@rare
def the_statistics_of_one_channel(model: onnx.ModelProto) -> bool:
    """The variance of the channel that is largest, by a hundredth; of other norms, and of PReLU, the slope."""
    stored = _stored(model)
    found = [(n, 4 if n.op_type == "BatchNormalization" else 1) for n in _nodes(model, *NORMS)]
    found = [stored[n.input[i]] for n, i in found if n.input[i] in stored]

    def change(a: np.ndarray) -> None:
        a.flat[int(np.abs(a).argmax())] *= a.dtype.type(1.01)

    return bool(found) and _change(found[len(found) // 2], change)


@rare
def another_axis(model: onnx.ModelProto) -> bool:
    for node in _nodes(model, "Softmax", "LogSoftmax", "ArgMax", "Concat", "Flatten", "Gather", "LpNormalization"):
        for attribute in node.attribute:
            if attribute.name == "axis":
                attribute.i = attribute.i - 1 if attribute.i > 0 else -2 if attribute.i == -1 else 1
                return True
    return False


@rare
def another_order_of_axes(model: onnx.ModelProto) -> bool:
    for node in _nodes(model, "Transpose"):
        perm = next(a.ints for a in node.attribute if a.name == "perm")
        perm[-1], perm[-2] = perm[-2], perm[-1]
        return True
    return False


@rare
def a_larger_window(model: onnx.ModelProto) -> bool:
    for node in _nodes(model, "MaxPool", "AveragePool"):
        attributes = {a.name: a for a in node.attribute}
        kernel, pads = attributes["kernel_shape"].ints, attributes.get("pads")
        strides = list(attributes["strides"].ints) if "strides" in attributes else [1]
        if pads is not None and min(kernel) > 1 and min(strides) >= 1:
            half = len(kernel)
            kernel[0] += 2
            pads.ints[0] += 1
            pads.ints[half] += 1
            return True
    return False


@rare
def another_stride(model: onnx.ModelProto) -> bool:
    for node in _nodes(model, "Conv", "MaxPool", "AveragePool"):
        for attribute in node.attribute:
            if attribute.name == "strides" and max(attribute.ints) > 1:
                attribute.ints[:] = [1] * len(attribute.ints)
                return True
    return False


@rare
def a_dropped_attribute(model: onnx.ModelProto) -> bool:
    wanted = ("alpha", "count_include_pad", "mode", "coordinate_transformation_mode", "epsilon", "dilations", "group",
              "linear_before_reset", "approximate", "direction", "exclusive", "size", "pads", "keepdims")  # fmt: skip
    for name in wanted:
        for node in model.graph.node:
            kept = [a for a in node.attribute if a.name != name]
            if len(kept) < len(node.attribute):
                del node.attribute[:]
                node.attribute.extend(kept)
                return True
    return False


@rare
def an_activation_left_out(model: onnx.ModelProto) -> bool:
    for node in reversed(list(_nodes(model, "Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "Gelu", "Clip", "PRelu"))):
        node.op_type = "Identity"
        del node.input[1:]
        del node.attribute[:]
        return True
    return False


@rare
def a_sum_that_is_a_difference(model: onnx.ModelProto) -> bool:
    for node in _nodes(model, "Add"):
        node.op_type = "Sub"
        return True
    return False


@rare
def another_reduction(model: onnx.ModelProto) -> bool:
    swap = {"ReduceSum": "ReduceMean", "ReduceMean": "ReduceSum", "ReduceMax": "ReduceMin", "ReduceMin": "ReduceMax"}
    for node in _nodes(model, *swap):
        node.op_type = swap[node.op_type]
        return True
    return False


@rare
def a_constant_wrong_by_a_hundredth(model: onnx.ModelProto) -> bool:
    """A scale, a shift, a bound or a threshold that is stored."""
    stored = _stored(model)
    for node in _nodes(model, "Mul", "Div", "Add", "Sub", "Clip", "Pow", "QuantizeLinear", "DequantizeLinear"):
        for name in node.input[1:]:
            if name in stored and np.abs(numpy_helper.to_array(stored[name])).max(initial=0) > 1e-3:
                return _change(stored[name], lambda a: _set(a, ..., a * a.dtype.type(1.01)))
    return False


@rare
def one_row_of_a_table(model: onnx.ModelProto) -> bool:
    stored = _stored(model)
    tables = [stored[n.input[0]] for n in _nodes(model, "Gather") if n.input[0] in stored]
    tables = [t for t in tables if len(t.dims) == 2]
    return bool(tables) and _change(tables[0], lambda a: _set(a, 0, a[0] + a.dtype.type(0.01)))


@rare
def a_slice_one_further(model: onnx.ModelProto) -> bool:
    whole = {i.name: i for i in model.graph.initializer if i.data_type == TensorProto.INT64}
    for node in _nodes(model, "Slice"):
        if node.input[1] in whole and node.input[2] in whole:
            starts, ends = (numpy_helper.to_array(whole[node.input[i]]) for i in (1, 2))
            if starts.size == 1 and 0 < int(starts[0]) < int(ends[0]) < 2**30:
                names = [f"{node.output[0]}/{i}" for i in ("from", "to")]
                model.graph.initializer.extend(numpy_helper.from_array(a - 1, n) for a, n in zip((starts, ends), names))
                node.input[1:3] = names
                return True
    return False


@rare
def the_gates_of_a_recurrent_layer_swapped(model: onnx.ModelProto) -> bool:
    stored = _stored(model)
    for node in _nodes(model, "LSTM", "GRU"):
        if node.input[2] in stored:
            return _change(stored[node.input[2]], _swap_gates)
    return False


def _swap_gates(array: np.ndarray) -> None:
    size = array.shape[-1]
    array[0, : 2 * size] = np.roll(array[0, : 2 * size], size, 0)


@rare
def a_recurrent_weight_wrong_by_a_hundredth(model: onnx.ModelProto) -> bool:
    stored = _stored(model)
    found = [stored[n.input[2]] for n in _nodes(model, "LSTM", "GRU", "RNN") if n.input[2] in stored]
    return bool(found) and _change(found[-1], lambda a: _set(a, (0, 0), a[0, 0] * a.dtype.type(1.01)))


@rare
def the_last_state_of_a_recurrent_layer(model: onnx.ModelProto) -> bool:
    """The cell's state where the hidden one is wanted."""
    for node in _nodes(model, "LSTM"):
        if len(node.output) > 2 and node.output[1] and node.output[2]:
            node.output[1], node.output[2] = node.output[2], node.output[1]
            return True
    return False


@rare
def a_whole_weight_off_by_one(model: onnx.ModelProto) -> bool:
    whole = {i.name: i for i in model.graph.initializer if i.data_type in (TensorProto.INT8, TensorProto.UINT8)}
    for node in _nodes(model, "ConvInteger", "MatMulInteger", "QLinearConv", "DequantizeLinear"):
        for name in node.input[:2]:
            if name in whole and len(whole[name].dims) > 1:
                return _change(whole[name], lambda a: _set(a, 0, np.where(a[0] > 0, a[0] - 1, a[0] + 1)))
    return False


@rare
def inside_a_body(model: onnx.ModelProto) -> bool:
    swap = {"Add": "Sub", "Tanh": "Sigmoid", "Sigmoid": "Tanh", "Mul": "Add", "Relu": "Abs"}
    for node in model.graph.node:
        for inner in nodes_inside(node):
            if inner.op_type in swap:
                inner.op_type = swap[inner.op_type]
                return True
    return False


@rare
def boxes_suppressed_sooner(model: onnx.ModelProto) -> bool:
    stored = _stored(model)
    for node in _nodes(model, "NonMaxSuppression"):
        if len(node.input) > 3 and node.input[3] in stored:
            return _change(stored[node.input[3]], lambda a: _set(a, ..., a * np.float32(0.3)))
    return False


@rare
def the_least_instead_of_the_greatest(model: onnx.ModelProto) -> bool:
    for node in _nodes(model, "TopK"):
        for attribute in node.attribute:
            if attribute.name == "largest":
                attribute.i = 1 - attribute.i
                return True
        node.attribute.append(helper.make_attribute("largest", 0))
        return True
    return False


@rare
def resized_otherwise(model: onnx.ModelProto) -> bool:
    for node in _nodes(model, "Resize"):
        for attribute in node.attribute:
            if attribute.name == "mode":
                attribute.s = b"nearest" if attribute.s == b"linear" else b"linear"
                return True
    return False


@rare
def padded_otherwise(model: onnx.ModelProto) -> bool:
    for node in _nodes(model, "Pad"):
        mode = next((a for a in node.attribute if a.name == "mode"), None)
        if mode is not None and mode.s != b"constant":
            mode.s = b"edge" if mode.s == b"reflect" else b"reflect"
            return True
    return False


@rare
def outputs_swapped(model: onnx.ModelProto) -> bool:
    """Exchange what two outputs hold; their names stay where they are."""
    outputs = list(model.graph.output)
    for i, one in enumerate(outputs):
        for other in outputs[:i]:
            if one.type == other.type:
                names = {one.name: other.name, other.name: one.name}
                for node in model.graph.node:
                    node.input[:] = [names.get(n, n) for n in node.input]
                    node.output[:] = [names.get(n, n) for n in node.output]
                return True
    return False


@rare
def two_at_once(model: onnx.ModelProto) -> bool:
    """The first layer by a hundredth, and the last activation."""
    weights = _weights(model)
    return (
        bool(weights)
        and an_activation_left_out(model)
        and _change(weights[0], lambda a: _set(a, 0, a[0] * a.dtype.type(1.01)))
    )


def planted(model: onnx.ModelProto, name: str) -> onnx.ModelProto | None:
    """A copy of the model with a fault; None where it does not apply."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy if (FAULTS | RARE)[name](copy) else None


if __name__ == "__main__":
    from tests.bridge.campaign import main

    sys.exit(main())
