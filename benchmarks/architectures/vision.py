"""Networks on pictures: what they compute, as torch's exporter writes it."""

from __future__ import annotations

import numpy as np
from onnx import numpy_helper

from .net import FLOAT, INT64, Net

# ViT-B/16: 12 layers


def vit(net: Net, layers: int) -> None:
    """ViT-B/16 at 224 with open batch."""
    width, heads = 768, 12
    x = net.input("pixel_values", "batch", 3, 224, 224)
    weights, bias = net.weight(width, 3, 16, 16, scale=768**-0.5), net.weight(width, scale=0.02)
    x = net.Conv(x, weights, bias, kernel_shape=[16, 16], strides=[16, 16])
    batch = net.size(x, 0)
    x = net.Transpose(net.reshape(x, batch, width, -1), perm=[0, 2, 1])
    token = net.Expand(net.weight(1, 1, width, scale=0.3), net.dims(batch, 1, width))
    x = net.Add(net.Concat(token, x, axis=1), net.weight(1, 197, width, scale=0.3))
    for i in range(layers):
        with net.inside(f"layer.{i}"):
            y = net.norm(x, width)
            parts = (net.heads(net.linear(y, width, width), heads, width // heads) for _ in range(3))
            x = net.Add(net.linear(net.unheads(net.attend(*parts, width // heads), width), width, width), x)
            x = net.Add(net.linear(net.gelu(net.linear(net.norm(x, width), width, 4 * width)), 4 * width, width), x)
    net.output("logits", net.gemm(net.Gather(net.norm(x, width), np.array(0), axis=1), width, 1000), 2)


# U-Net of base width 32


def unet(net: Net, layers: int) -> None:
    """A U-Net of four levels, base width 32, with open batch, height and width."""
    x = net.input("image", "batch", 3, "height", "width")
    widths = [32, 64, 128, 256, 512]

    def twice(x: str, takes: int, gives: int) -> str:
        x = net.Relu(net.conv(x, takes, gives, 3, gain=1.4))
        return net.Relu(net.conv(x, gives, gives, 3, gain=1.4))

    kept = []
    for takes, gives in zip([3, *widths], widths, strict=False):
        if kept:
            x = net.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2])
        x = twice(x, takes, gives)
        kept.append(x)
    for gives, skip in zip(widths[-2::-1], kept[-2::-1], strict=True):
        x = twice(net.Concat(skip, net.upconv(x, 2 * gives, gives), axis=1), 2 * gives, gives)
    net.output("mask", net.conv(x, 32, 2), 4)


# Stable Diffusion's block of 640 channels


def diffusion(net: Net, layers: int) -> None:
    """Residual blocks with a time embedding and transformers with cross-attention, of Stable Diffusion 1.5 at 640 channels."""
    width, heads = 640, 8
    one = width // heads
    x = net.input("sample", "batch", width, "height", "width")
    time = net.input("timestep", "batch")
    text = net.input("encoder_hidden_states", "batch", "words", 768)
    with net.inside("time"):
        rates = np.exp(-np.log(10000.0) * np.arange(160) / 160).astype(net.dtype)[None]
        angle = net.Mul(net.Unsqueeze(time, [1]), rates)
        embedded = net.linear(net.Concat(net.Cos(angle), net.Sin(angle), axis=-1), 320, 1280)
        embedded = net.linear(net.silu(embedded), 1280, 1280)
    for i in range(layers):
        with net.inside(f"resnets.{i}"):
            y = net.conv(net.silu(net.group_norm(x, width, 32)), width, width, 3)
            moved = net.linear(net.silu(embedded), 1280, width)
            y = net.Add(y, net.Unsqueeze(net.Unsqueeze(moved, [2]), [3]))
            x = net.Add(x, net.conv(net.silu(net.group_norm(y, width, 32)), width, width, 3))
        with net.inside(f"attentions.{i}"):
            batch, height, across = net.size(x, 0), net.size(x, 2), net.size(x, 3)
            y = net.conv(net.group_norm(x, width, 32), width, width)
            y = net.reshape(net.Transpose(y, perm=[0, 2, 3, 1]), batch, net.Mul(height, across), width)
            for source in (None, text):
                normal = net.norm(y, width)
                query = net.heads(net.linear(normal, width, width, bias=False), heads, one)
                takes = 768 if source else width
                key, value = (
                    net.heads(net.linear(source or normal, takes, width, bias=False), heads, one) for _ in range(2)
                )
                y = net.Add(net.linear(net.unheads(net.attend(query, key, value, one), width), width, width), y)
            value, gate = net.Split(
                net.linear(net.norm(y, width), width, 8 * width), [4 * width] * 2, axis=-1, outputs=2
            )
            y = net.Add(net.linear(net.Mul(value, net.gelu(gate)), 4 * width, width), y)
            y = net.Transpose(net.reshape(y, batch, height, across, width), perm=[0, 3, 1, 2])
            x = net.Add(net.conv(y, width, width), x)
    net.output("out_sample", x, 4)


# YOLOv8 n


def _block(net: Net, x: str, takes: int, gives: int, size: int = 1, stride: int = 1) -> str:
    """A convolution and SiLU."""
    return net.silu(net.conv(x, takes, gives, size, stride, gain=1.5))


def _c2f(net: Net, x: str, takes: int, gives: int, count: int, residual: bool = True) -> str:
    """YOLOv8's block of bottlenecks whose every result is kept."""
    half = gives // 2
    parts = net.Split(_block(net, x, takes, gives), [half, half], axis=1, outputs=2)
    for _ in range(count):
        y = _block(net, _block(net, parts[-1], half, half, 3), half, half, 3)
        parts.append(net.Add(parts[-1], y) if residual else y)
    return _block(net, net.Concat(*parts, axis=1), (2 + count) * half, gives)


def _up(net: Net, x: str) -> str:
    """Twice the size, by the nearest."""
    return net.Resize(
        x,
        None,
        np.array([1, 1, 2, 2], np.float32),
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
    )


def _cells(net: Net, x: str) -> tuple[str, str, str, str]:
    """Height and width of x, and where the cells are: their columns and rows, (height, width) each."""
    height, width = net.size(x, 2), net.size(x, 3)
    columns, rows = (net.number(net.Range(np.array(0), n, np.array(1))) for n in (width, height))
    shape = net.dims(height, width)
    return height, width, net.Expand(columns, shape), net.Expand(net.Unsqueeze(rows, [1]), shape)


def yolo(net: Net, layers: int) -> None:
    """YOLOv8 n with open batch, height and width, box decoding, non-maximum suppression and what it selects."""
    x = net.input("images", "batch", 3, "height", "width")
    kept, takes = [], 3
    for gives, count in ((16, 0), (32, 1), (64, 2), (128, 2), (256, 1)):
        x = _block(net, x, takes, gives, 3, 2)
        x = _c2f(net, x, gives, gives, count) if count else x
        kept.append(x)
        takes = gives
    y = _block(net, x, 256, 128)
    pooled = [y]
    for _ in range(3):
        pooled.append(net.MaxPool(pooled[-1], kernel_shape=[5, 5], pads=[2, 2, 2, 2], strides=[1, 1]))
    deep = _block(net, net.Concat(*pooled, axis=1), 512, 256)
    middle = _c2f(net, net.Concat(_up(net, deep), kept[3], axis=1), 384, 128, 1, False)
    small = _c2f(net, net.Concat(_up(net, middle), kept[2], axis=1), 192, 64, 1, False)
    middle = _c2f(net, net.Concat(_block(net, small, 64, 64, 3, 2), middle, axis=1), 192, 128, 1, False)
    deep = _c2f(net, net.Concat(_block(net, middle, 128, 128, 3, 2), deep, axis=1), 384, 256, 1, False)
    flat, places, strides = [], [], []
    batch = net.size(x, 0)
    for level, (feature, width) in enumerate(((small, 64), (middle, 128), (deep, 256))):
        box = _block(net, _block(net, feature, width, 64, 3), 64, 64, 3)
        kind = _block(net, _block(net, feature, width, 80, 3), 80, 80, 3)
        box, kind = net.conv(box, 64, 64), net.conv(kind, 80, 80, gain=5.0, bias=-6.0)
        flat.append(net.reshape(net.Concat(box, kind, axis=1), batch, 144, -1))
        with net.inside("post"):
            _, _, columns, rows = _cells(net, feature)
            half = [net.Reshape(net.Add(v, 0.5), [1, -1]) for v in (columns, rows)]
            places.append(net.Concat(*half, axis=0))
            strides.append(net.Add(net.Mul(half[0], 0.0), float(8 << level)))
    with net.inside("post"):
        box, kind = net.Split(net.Concat(*flat, axis=2), [64, 80], axis=1, outputs=2)
        soft = net.Softmax(net.Transpose(net.reshape(box, batch, 4, 16, -1), perm=[0, 2, 1, 3]), axis=1)
        distance = net.Conv(soft, np.arange(16, dtype=net.dtype).reshape(1, 16, 1, 1), kernel_shape=[1, 1])
        near, far = net.Split(net.reshape(distance, batch, 4, -1), [2, 2], axis=1, outputs=2)
        place = net.Unsqueeze(net.Concat(*places, axis=1), [0])
        one, two = net.Sub(place, near), net.Add(place, far)
        boxes = net.Concat(net.Div(net.Add(one, two), 2.0), net.Sub(two, one), axis=1)
        boxes = net.Mul(boxes, net.Concat(*strides, axis=1))
        scores = net.Sigmoid(kind)
        net.output("predictions", net.Concat(boxes, scores, axis=1), 3)
        given = [net.Cast(net.Transpose(boxes, perm=[0, 2, 1]), to=FLOAT), net.Cast(scores, to=FLOAT)]
        limits = [np.array([0.7], np.float32), np.array([0.25], np.float32)]
        chosen = net.NonMaxSuppression(*given, np.array([300]), *limits, center_point_box=1)
        net.output("selected", chosen, 2, np.int64)
        where = net.Gather(chosen, np.array([0, 2]), axis=1)
        net.output("boxes", net.GatherND(given[0], where), 2, np.float32)
        net.output("scores", net.GatherND(given[1], chosen), 1, np.float32)


# Mask R-CNN of ResNet-50 with a feature pyramid


def _bottleneck(net: Net, x: str, takes: int, inner: int, stride: int) -> str:
    """ResNet's block of three convolutions."""
    y = net.Relu(net.conv(x, takes, inner, gain=1.4))
    y = net.Relu(net.conv(y, inner, inner, 3, stride, gain=1.4))
    y = net.conv(y, inner, 4 * inner, gain=0.5)
    if takes != 4 * inner or stride > 1:
        x = net.conv(x, takes, 4 * inner, stride=stride)
    return net.Relu(net.Add(x, y))


def _decode(net: Net, boxes: str, deltas: str, scales: tuple[float, float]) -> str:
    """Boxes (..., 4) of corners, moved and scaled by deltas (..., 4)."""
    left, top, right, bottom = (net.slice(boxes, i, i + 1, -1) for i in range(4))
    dx, dy, dw, dh = (net.slice(deltas, i, i + 1, -1) for i in range(4))
    corners: list[list[str]] = []
    for low, high, move, grow in ((left, right, dx, dw), (top, bottom, dy, dh)):
        size = net.Sub(high, low)
        centre = net.Add(net.Mul(net.Div(move, scales[0]), size), net.Add(low, net.Mul(size, 0.5)))
        half = net.Mul(net.Mul(net.Exp(net.Clip(net.Div(grow, scales[1]), None, 4.135)), size), 0.5)
        corners.append([net.Sub(centre, half), net.Add(centre, half)])
    return net.Concat(corners[0][0], corners[1][0], corners[0][1], corners[1][1], axis=-1)


def _inside(net: Net, boxes: str, height: str, width: str) -> str:
    """Boxes (..., 4) cut at the picture's border."""
    parts = [net.slice(boxes, i, i + 1, -1) for i in range(4)]
    return net.Concat(
        *(net.Max(net.Min(p, (width, height)[i % 2]), net.constant(0.0)) for i, p in enumerate(parts)), axis=-1
    )


def _kept(net: Net, boxes: str, scores: str, kinds: str, limit: float, most: int) -> str:
    """The first ``most`` boxes (n, 4) that no better one of the same kind covers; each is moved elsewhere, as in torchvision."""
    offset = net.Mul(net.number(kinds), net.Add(net.ReduceMax(boxes, keepdims=0), 1.0))
    moved = net.Cast(net.Add(boxes, net.Unsqueeze(offset, [1])), to=FLOAT)
    flat = net.Unsqueeze(net.Unsqueeze(net.Cast(scores, to=FLOAT), [0]), [0])
    most_of = np.array([np.iinfo(np.int64).max])
    chosen = net.NonMaxSuppression(net.Unsqueeze(moved, [0]), flat, most_of, np.array([limit], np.float32))
    index = net.Squeeze(net.slice(chosen, 2, 3, 1), [1])
    return net.slice(index, 0, most, 0)


def _pooled(net: Net, features: list[str], boxes: str, size: int) -> str:
    """RoiAlign of boxes (n, 4), each on the level of the pyramid that its size asks for."""
    sides = [net.Sub(net.slice(boxes, i + 2, i + 3, 1), net.slice(boxes, i, i + 1, 1)) for i in (0, 1)]
    area = net.Squeeze(net.Mul(*sides), [1])
    depth = net.Div(net.Log(net.Add(net.Div(net.Sqrt(area), 224.0), 1e-4)), float(np.log(2.0)))
    level = net.Cast(net.Clip(net.Floor(net.Add(depth, 4.0)), 2.0, 5.0), to=INT64)
    shape = net.dims(net.size(boxes, 0), 256, size, size)
    result = net.ConstantOfShape(shape, value=numpy_helper.from_array(np.zeros(1, net.dtype)))
    for i, feature in enumerate(features):
        index = net.Squeeze(net.NonZero(net.Equal(level, np.array(i + 2))), [0])
        chosen = net.Gather(boxes, index, axis=0)
        batch = net.Cast(net.Mul(net.Squeeze(net.slice(chosen, 0, 1, 1), [1]), 0.0), to=INT64)
        found = net.RoiAlign(
            feature,
            chosen,
            batch,
            coordinate_transformation_mode="output_half_pixel",
            output_height=size,
            output_width=size,
            sampling_ratio=2,
            spatial_scale=1 / (4 << i),
        )
        result = net.ScatterND(result, net.Unsqueeze(index, [1]), found)
    return result


def maskrcnn(net: Net, layers: int) -> None:
    """Mask R-CNN: ResNet-50 (so many blocks a stage at most), feature pyramid, 100 proposals, boxes and masks of 20 objects."""
    x = net.input("image", 1, 3, "height", "width")
    height, width = (net.number(net.size(x, axis)) for axis in (2, 3))
    x = net.Relu(net.conv(x, 3, 64, 7, 2, gain=1.4))
    x = net.MaxPool(x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    takes, stages = 64, []
    for inner, count in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for i in range(min(count, layers)):
            x = _bottleneck(net, x, takes, inner, 2 if i == 0 and inner > 64 else 1)
            takes = 4 * inner
        stages.append(x)
    sides = [net.conv(s, 256 << i, 256) for i, s in enumerate(stages)]
    joined = [sides[3]]
    for side in sides[2::-1]:
        shape = net.Concat(net.slice(net.Shape(joined[0]), 0, 2, 0), net.slice(net.Shape(side), 2, 4, 0), axis=0)
        upper = net.Resize(
            joined[0],
            None,
            None,
            shape,
            mode="nearest",
            nearest_mode="floor",
            coordinate_transformation_mode="asymmetric",
        )
        joined.insert(0, net.Add(side, upper))
    features = [net.conv(j, 256, 256, 3) for j in joined]
    levels = [*features, net.MaxPool(features[3], kernel_shape=[1, 1], strides=[2, 2])]
    shared = [net.weight(256, 256, 3, 3, scale=1.4 / 48), net.weight(256, scale=0.02)]
    heads = [(net.weight(n, 256, 1, 1, scale=1 / 16), net.weight(n, scale=0.02)) for n in (3, 12)]
    boxes, scores, kinds = [], [], []
    for i, feature in enumerate(levels):
        hidden = net.Relu(net.Conv(feature, *shared, kernel_shape=[3, 3], pads=[1] * 4))
        flat = []
        for (weights, bias), deep in zip(heads, (1, 4), strict=True):
            out = net.reshape(net.Conv(hidden, weights, bias, kernel_shape=[1, 1]), 1, 3, deep, *_plane(net, hidden))
            flat.append(net.reshape(net.Transpose(out, perm=[0, 3, 4, 1, 2]), -1, deep))
        with net.inside("post"):
            _, _, columns, rows = _cells(net, feature)
            stride, side = float(4 << i), float(32 << i)
            shapes = np.array([[-w, -h, w, h] for r in (0.5, 1.0, 2.0) for w, h in [(side * r**-0.5, side * r**0.5)]])
            shifts = [net.Reshape(net.Mul(v, stride), [-1, 1]) for v in (columns, rows)]
            shift = net.Unsqueeze(net.Concat(*shifts, *shifts, axis=1), [1])
            anchors = net.Reshape(net.Add(shift, (shapes[None] / 2).round().astype(net.dtype)), [-1, 4])
            score = net.Squeeze(flat[0], [1])
            most = net.Min([100], net.Shape(score))
            best, index = net.TopK(score, most, axis=0, largest=1, sorted=1, outputs=2)
            box = _decode(net, net.Gather(anchors, index), net.Gather(flat[1], index), (1.0, 1.0))
            boxes.append(_inside(net, box, height, width))
            scores.append(net.Sigmoid(best))
            kinds.append(net.Add(net.Mul(index, np.array(0)), np.array(i)))
    net.output("objectness", flat[0], 2)
    net.output("feature", features[0], 4)
    with net.inside("post/rpn"):
        boxes, scores, kinds = (net.Concat(*v, axis=0) for v in (boxes, scores, kinds))
        proposals = net.Gather(boxes, _kept(net, boxes, scores, kinds, 0.7, 100))
        pooled = _pooled(net, features, proposals, 7)
    flat = net.Flatten(pooled, axis=1)
    hidden = net.Relu(net.gemm(net.Relu(net.gemm(flat, 12544, 1024, 1.4)), 1024, 1024, 1.4))
    logits, deltas = net.gemm(hidden, 1024, 91, gain=3.0), net.gemm(hidden, 1024, 364)
    with net.inside("post/boxes"):
        boxes = _decode(net, net.Unsqueeze(proposals, [1]), net.reshape(deltas, -1, 91, 4), (10.0, 5.0))
        boxes = net.Reshape(net.slice(_inside(net, boxes, height, width), 1, 91, 1), [-1, 4])
        scores = net.slice(net.Softmax(logits, axis=-1), 1, 91, 1)
        kinds = net.Reshape(net.Expand(np.arange(1, 91)[None], net.Shape(scores)), [-1])
        scores = net.Reshape(scores, [-1])
        index = net.Squeeze(net.NonZero(net.Greater(scores, 0.05)), [0])
        boxes, scores, kinds = (net.Gather(v, index, axis=0) for v in (boxes, scores, kinds))
        chosen = _kept(net, boxes, scores, kinds, 0.5, 20)
        boxes, scores, kinds = (net.Gather(v, chosen, axis=0) for v in (boxes, scores, kinds))
        hidden = _pooled(net, features, boxes, 14)
    for _ in range(4):
        hidden = net.Relu(net.conv(hidden, 256, 256, 3, gain=1.4))
    masks = net.Sigmoid(net.conv(net.Relu(net.upconv(hidden, 256, 256)), 256, 91))
    with net.inside("post/masks"):
        order = net.Range(np.array(0), net.size(kinds, 0), np.array(1))
        where = net.Concat(net.Unsqueeze(order, [1]), net.Unsqueeze(kinds, [1]), axis=1)
        net.output("masks", net.GatherND(masks, where), 3)
    net.output("boxes", boxes, 2)
    net.output("scores", scores, 1)
    net.output("labels", kinds, 1, np.int64)


def _plane(net: Net, x: str) -> tuple[str, str]:
    """Height and width of x."""
    return net.size(x, 2), net.size(x, 3)
