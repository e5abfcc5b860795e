"""Fixes for broken forms in which older exporters, MXNet's own above all, wrote operators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx import TensorProto

from hybrid.core.shapes import UNKNOWN, is_known, show

from .error import Unsupported
from .onnx_types import code_of, declared_spec
from .schemas import fewest

MXNET_GRAPH = "mxnet_converted_model"
"""Name that MXNet's own exporter gives every graph; it says nothing else of itself."""


def from_mxnet(g: Any) -> bool:
    """True when the file was written by MXNet's own exporter (1.3 to 1.9)."""
    return g.shared.file.proto.graph.name == MXNET_GRAPH


def batch_norm_spatial(g: Any, spatial: int, x: Any, mean: Any) -> bool:
    """True when BatchNormalization has statistics for every element of an image and not for every channel.

    MXNet's exporter (1.3 to 1.6) wrote spatial=0 and meant channels, which the length of the statistics shows."""
    if spatial:
        return False
    if mean.shape is not None and len(mean.shape) == 1 and (x.shape is None or len(x.shape) > 2):
        g.note_fix("spatial=0 with one mean for each channel: read as spatial=1, which MXNet's exporter meant")
        return False
    return True


def channel_slope(g: Any, x: Any, slope: Any) -> bool:
    """True when the slopes (C,) of PRelu belong to axis 1 of x, although ONNX would align them with the last axis.

    That is so where ONNX's reading does not fit, and in files of MXNet's exporter (1.5 to 1.9), which never meant it."""
    if slope.shape is None or len(slope.shape) != 1 or x.shape is None or len(x.shape) < 3:
        return False
    if slope.shape[0] is UNKNOWN or slope.shape[0] == 1:
        return False
    count, channels, last = slope.shape[0], x.shape[1], x.shape[-1]
    if not from_mxnet(g) and (last is UNKNOWN or last == count or channels is UNKNOWN or channels != count):
        return False
    g.note_fix(
        "slopes of shape (C,): read as (C, 1, ...), one for each channel, which MXNet's exporter meant",
        changes_numerics=True,
    )
    return True


def with_dtypes(g: Any, attributes: dict[str, Any], opset: int) -> dict[str, Any]:
    """The attributes of a node of the standard's own operators; the dtype of a Cast that is a name as the standard's number."""
    if g.node.op_type != "Cast" or opset < 6 or not isinstance(attributes.get("to"), str):
        return attributes
    g.note_fix("to is a name: read as the dtype of that name")
    return {**attributes, "to": _code(attributes["to"])}


def fix_node(
    g: Any, inputs: list[Any], attributes: dict[str, Any], opset: int
) -> tuple[list[Any], dict[str, Any], int]:
    """A node of the standard's own operators as it was meant: inputs, attributes and the opset at whose reading it is understood.

    Only files of MXNet's exporter are read otherwise than they say. Raises Unsupported for what MXNet's exporter left out so that
    nothing says what was meant."""
    name = g.node.op_type
    if (
        from_mxnet(g) and name in _MXNET and opset > 0
    ):  # of no version that there is nobody has looked at the attributes
        count = fewest(name, opset, "")
        if len(inputs) >= count and all(v is not None for v in inputs[: max(1, count)]):
            return _MXNET[name](g, inputs, attributes, opset)
    return inputs, attributes, opset


def fix_output(g: Any, found: Any) -> Any:
    """Give a node's output as MXNet gave it: the places of extremes are floats, and its exporter (1.3 to 1.6) declares them
    so."""
    if g.node.op_type not in ("ArgMax", "ArgMin") or not from_mxnet(g) or found.dtype is None:
        return found
    name = g.node.output[0]
    graph = g.shared.file.proto.graph
    readers = [n for n in graph.node if name in n.input]
    if all(n.op_type == "Cast" for n in readers) and all(o.name != name for o in graph.output):
        return found  # 1.9.1 writes it right
    g.note_fix("MXNet gives float32 here and its exporter declares that: cast", changes_numerics=True)
    return g.Cast(found, dtype=np.dtype(np.float32))


def shape_contradiction(g: Any, declared: Any, value: Any) -> str:
    """Describe what is wrong with an output, of which MXNet's exporter declares the shape that MXNet computed; empty when
    nothing is."""
    shape = value.shape
    if not from_mxnet(g) or shape is None or declared is None:
        return ""
    same = len(shape) == len(declared) and all(
        a is UNKNOWN or not isinstance(b, int) or a == b for a, b in zip(shape, declared)
    )
    if same:
        return ""
    return (
        f"MXNet computed {show(declared)}, the file's nodes give {show(shape)}: MXNet's exporter (1.3 to 1.6) leaves out "
        "pooling_convention='full' and the outputs of a node after its first; convert MXNet's own symbol file instead"
    )


def _code(name: str) -> int:
    code = dict(TensorProto.DataType.items()).get(name.upper())
    if code is not None:
        return code
    try:
        return code_of(np.dtype(name))
    except (TypeError, KeyError, ValueError):
        raise Unsupported(f"got to={name!r}, wanted the name of an element type") from None


def _scalar(g: Any, inputs: list[Any], attributes: dict[str, Any], opset: int) -> tuple[list[Any], dict[str, Any], int]:
    """1.3 stored the numbers of x * 2.5 and the like as float64, whatever x is."""
    numbers = [
        v for v in inputs if v is not None and v.const is not None and v.const.size == 1 and v.dtype == np.float64
    ]
    others = [v for v in inputs if v is not None and not any(v is n for n in numbers)]
    if not numbers or not others or any(v.dtype == np.float64 for v in others):
        return inputs, attributes, opset
    wanted = others[0].dtype or np.dtype(np.float32)
    g.note_fix(f"a float64 number beside {wanted}: read as {wanted}")
    cast = [g.const(v.const.astype(wanted), name=v.name) if any(v is n for n in numbers) else v for v in inputs]
    return cast, attributes, opset


def _dense(g: Any, inputs: list[Any], attributes: dict[str, Any], opset: int) -> tuple[list[Any], dict[str, Any], int]:
    """1.5 and 1.6 wrote the missing bias as an int64 zero, 1.3 left out the Flatten before a dense layer."""
    data, weight, *bias = inputs
    if bias and bias[0] is not None and bias[0].const is not None and bias[0].dtype.kind == "i":
        g.note_fix(f"a bias of {bias[0].dtype}: read as {'no bias' if not bias[0].const.any() else 'floats'}")
        bias = (
            [g.const(bias[0].const.astype(data.dtype or np.float32), name=bias[0].name)] if bias[0].const.any() else []
        )
    image = _before_rows(g)
    sizes = weight.shape if weight.shape is not None and len(weight.shape) == 2 else (None, None)
    rows = sizes[bool(attributes.get("transB", 0))]
    if image is not None and rows is not None and _columns(image) == rows:
        # 1.9.1 took a dense layer without the attribute flatten for one with flatten=False
        g.note_fix("rows of another length than the weights': the whole of each image, which MXNet's dense layers take")
        g.shared.dense.add(g.node.output[0])
        data = image
    if data.shape is not None and len(data.shape) > 2:
        g.note_fix(f"data of rank {len(data.shape)}: flattened, which MXNet's dense layers do")
        data = g.Flatten(data)
    return [data, weight, *bias], attributes, opset


def _before_rows(g: Any) -> Any:
    """Data of a dense layer before they were made rows along the last axis; None when they were not."""
    made = {o: n for n in g.shared.file.proto.graph.node for o in n.output}.get(g.node.input[0])
    if made is None or made.op_type != "Flatten" or not made.input or [a.i for a in made.attribute] != [-1]:
        return None
    image = g.find(made.input[0])
    return image if image is not None and image.shape is not None and len(image.shape) > 2 else None


def _columns(image: Any) -> int | None:
    """Elements of each image of a batch; None when they are not known, or the same as along its last axis."""
    sizes = image.shape[1:]
    return math.prod(sizes) if is_known(sizes) and math.prod(sizes) != sizes[-1] else None


def _drop_reshape(
    g: Any, inputs: list[Any], attributes: dict[str, Any], opset: int
) -> tuple[list[Any], dict[str, Any], int]:
    """Inputs, attributes and opset of a node that 1.9.1 wrote after such a layer to restore the axes before the last: there
    are none."""
    if not g.shared.dense.intersection(g.node.input[:1]):
        return inputs, attributes, opset
    return [inputs[0], g.const([0, -1])], {}, opset


def _softmax(
    g: Any, inputs: list[Any], attributes: dict[str, Any], opset: int
) -> tuple[list[Any], dict[str, Any], int]:
    """Before opset 13 ONNX normalizes over all axes from ``axis`` on, MXNet over that axis alone."""
    shape, axis = inputs[0].shape, attributes.get("axis", 1)
    last = axis == -1 or (bool(shape) and axis % len(shape) == len(shape) - 1)
    if opset >= 13 or last:
        return inputs, attributes, opset
    g.note_fix(
        f"read as {g.node.op_type} along axis {axis} alone, which is MXNet's, not over all from there on",
        changes_numerics=True,
    )
    if axis == 1:
        g.note_ambiguity(
            "the file does not tell softmax(axis=1), as which it is read, from SoftmaxOutput over several axes at once"
        )
    return inputs, {**attributes, "axis": axis}, 13


def _extreme(
    g: Any, inputs: list[Any], attributes: dict[str, Any], opset: int
) -> tuple[list[Any], dict[str, Any], int]:
    """1.3 wrote keepdims=1 where the symbol says nothing, which means 0 in MXNet; outputs declare the true rank."""
    shape, kept = inputs[0].shape, attributes.get("keepdims", 1)
    if not kept or shape is None:
        return inputs, attributes, opset
    for info in g.shared.file.proto.graph.output:
        declared = declared_spec(info.type).shape
        if info.name == g.node.output[0] and declared is not None:
            if len(declared) == len(shape) - 1:
                g.note_fix(
                    "keepdims=1, but the output is declared without that axis: read as keepdims=0",
                    changes_numerics=True,
                )
                return inputs, {**attributes, "keepdims": 0}, opset
            return inputs, attributes, opset
    g.note_ambiguity(
        "keepdims=1 is what MXNet 1.3 wrote also where the symbol leaves keepdims out, which means 0 in MXNet"
    )
    return inputs, attributes, opset


def _average(
    g: Any, inputs: list[Any], attributes: dict[str, Any], opset: int
) -> tuple[list[Any], dict[str, Any], int]:
    """1.3 to 1.6 never wrote count_include_pad, which is on in MXNet unless asked otherwise, and off in ONNX."""
    if "count_include_pad" in attributes or not any(attributes.get("pads") or ()):
        return inputs, attributes, opset
    g.note_fix("padding counts in the averages, which is MXNet's default", changes_numerics=True)
    g.note_ambiguity(
        "MXNet's exporter did not write count_include_pad: read as True; wrong if the layer was made with False"
    )
    return inputs, {**attributes, "count_include_pad": 1}, max(opset, 7)


def _batch_norm(
    g: Any, inputs: list[Any], attributes: dict[str, Any], opset: int
) -> tuple[list[Any], dict[str, Any], int]:
    gamma = inputs[1].const
    if gamma is not None and (gamma != 1).any():
        g.note_ambiguity(
            "MXNet's exporter did not write fix_gamma: gamma is read as stored; wrong if it was True (gamma counts as 1 then)"
        )
    return inputs, attributes, opset


def _split(g: Any, inputs: list[Any], attributes: dict[str, Any], opset: int) -> tuple[list[Any], dict[str, Any], int]:
    if len(attributes.get("split") or ()) == 1 and g.outputs == 1:
        raise Unsupported(
            f"split={list(attributes['split'])} for one output is how MXNet's exporter (1.3 to 1.6) wrote a split into so many: "
            "which of them a node reads is lost; convert MXNet's own symbol file instead"
        )
    return inputs, attributes, opset


def _product(
    g: Any, inputs: list[Any], attributes: dict[str, Any], opset: int
) -> tuple[list[Any], dict[str, Any], int]:
    nodes = {o: n for n in g.shared.file.proto.graph.node for o in n.output}
    turned = [n for n in map(nodes.get, g.node.input) if n is not None and n.op_type == "Transpose" and not n.attribute]
    ours = [n for n in turned if n.output[0].startswith("transpose") and n.output[0].endswith(("_a", "_b"))]
    if ours and any(v.shape is None or len(v.shape) > 2 for v in inputs):
        raise Unsupported(
            "MXNet's exporter (1.5, 1.6) wrote linalg_gemm2 with a transposed side so that all axes are reversed, without alpha; "
            "convert MXNet's own symbol file instead"
        )
    if ours:
        g.note_ambiguity("MXNet's exporter did not write alpha of linalg_gemm2 with a transposed side: read as 1")
    return inputs, attributes, opset


_MXNET = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min"), _scalar),
    **dict.fromkeys(("Softmax", "LogSoftmax"), _softmax),
    **dict.fromkeys(("ArgMax", "ArgMin"), _extreme),
    "Gemm": _dense,
    "Reshape": _drop_reshape,
    "AveragePool": _average,
    "BatchNormalization": _batch_norm,
    "Split": _split,
    "MatMul": _product,
}
