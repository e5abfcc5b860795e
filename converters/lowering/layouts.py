"""Forms of shapes: sizes said as numbers, sequences as pictures of one row, batches as channels."""

from __future__ import annotations

import numpy as np

from ..builder import OnnxNode
from ..onnx_graph import OnnxGraph
from .rewriting import Rewriting, Sizes

ROWS = ("Conv", "MaxPool", "AveragePool", "ConvTranspose")
SHAPED = ("Squeeze", "Unsqueeze", "Flatten", "Reshape")
LAST = 1 << 31
PARTS = 128
"""Parts that an axis is turned round by, at most."""


def layouts(graph: OnnxGraph) -> None:
    """Squeeze, Unsqueeze, Flatten, Reshape -> Reshape to known sizes; Conv and pooling of sequences -> those of pictures one row
    high; InstanceNormalization of a batch -> that of one picture with as many channels; Slice -> slices forwards, with the
    bounds of each axis from the first to the last that is cut."""
    r = Rewriting(graph)

    def rewrite(node: OnnxNode) -> bool:
        if not node.inputs or not node.inputs[0]:
            return False
        shape, made = r.shape(node.inputs[0]), r.shape(node.outputs[0])
        if shape is None or made is None or 0 in made:
            return False
        if node.op_type in SHAPED:
            if graph.constant(node.inputs[0]) is not None:
                return False
            r.reshape(node.inputs[0], made, node.outputs[0])
            return True
        if node.op_type in ROWS and len(shape) == 3:
            return _row(r, node, shape, made)
        if node.op_type == "InstanceNormalization" and shape[0] != 1:
            return _joined(r, node, shape)
        if node.op_type == "Slice" and graph.opset >= 10:
            return _cut(r, node, shape, made)
        return False

    r.run(rewrite)


def _row(r: Rewriting, node: OnnxNode, shape: Sizes, made: Sizes) -> bool:
    """Operators of a sequence on a picture of one row."""
    attrs = dict(node.attrs)
    if len(node.outputs) > 1 or attrs.get("auto_pad", "NOTSET") not in ("NOTSET", b"NOTSET") or "output_shape" in attrs:
        return False
    inputs = [r.reshape(node.inputs[0], (*shape[:2], 1, shape[2]))]
    for place, name in enumerate(node.inputs[1:], 1):
        array = r.graph.constant(name)
        if place == 1:
            if array is None:
                return False
            name = r.constant(array[:, :, None], "kernel")
        inputs.append(name)
    for key in ("kernel_shape", "strides", "dilations", "output_padding"):
        if key in attrs:
            attrs[key] = [0 if key == "output_padding" else 1, *attrs[key]]
    if "pads" in attrs:
        first, last = attrs["pads"]
        attrs["pads"] = [0, first, 0, last]
    wide = r.node(node.op_type, *inputs, shape=(*made[:2], 1, made[2]), **attrs)
    r.reshape(wide, made, node.outputs[0])
    return True


def _joined(r: Rewriting, node: OnnxNode, shape: Sizes) -> bool:
    """All pictures of a batch as channels of one."""
    scale, shift = (r.graph.constant(n) for n in node.inputs[1:])
    if scale is None or shift is None:
        return False
    one = (1, shape[0] * shape[1], *shape[2:])
    tiled = [r.constant(np.tile(a, shape[0]), "tiled") for a in (scale, shift)]
    made = r.node("InstanceNormalization", r.reshape(node.inputs[0], one), *tiled, shape=one, **node.attrs)
    r.reshape(made, shape, node.outputs[0])
    return True


def _cut(r: Rewriting, node: OnnxNode, shape: Sizes, made: Sizes) -> bool:
    """Slices of neighbouring axes, forwards; backwards along one axis as its parts in turn."""
    told = [r.graph.constant(n) if n else None for n in (*node.inputs[1:], "", "")[:4]]
    starts, ends, axes, steps = (None if t is None else [int(v) for v in t.reshape(-1)] for t in told)
    if starts is None or ends is None or any(n and t is None for n, t in zip(node.inputs[1:], told)):
        return False
    axes = [a % len(shape) for a in (axes or range(len(starts)))]
    steps = steps or [1] * len(starts)
    bounds = {
        a: range(shape[a])[slice(b, None if e <= -LAST else e, s)] for a, b, e, s in zip(axes, starts, ends, steps)
    }
    bounds = {a: b if len(b) > 1 else range(b.start, b.start + len(b)) for a, b in bounds.items()}
    back = [a for a, b in bounds.items() if b.step < 0]
    if any(len(bounds[a]) > PARTS for a in back):
        return False
    x, sizes = node.inputs[0], list(shape)
    for axis in back:
        parts = [r.slice(x, axis, i, i + 1) for i in bounds.pop(axis)]
        sizes[axis] = len(parts)
        x = r.node("Concat", *parts, shape=sizes, axis=axis)
    if not bounds:
        r.written[-1].outputs[:] = [node.outputs[0]]
        return True
    span = range(min(bounds), max(bounds) + 1)
    cut = [bounds.get(a, range(sizes[a])) for a in span]
    settings = [[b.start for b in cut], [b.start + len(b) * b.step if b.step > 1 else b.stop for b in cut], list(span)]
    settings[1] = [min(e, shape[a]) for e, a in zip(settings[1], span)]
    if any(b.step != 1 for b in cut):
        settings.append([max(b.step, 1) for b in cut])
    inputs = [r.constant(np.array(s, np.int64)) for s in settings]
    r.node("Slice", x, *inputs, shape=made, out=node.outputs[0])
    return True
