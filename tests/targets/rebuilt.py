"""Networks that are not committed, made anew where they are measured: the twelve of issue 17 whose files were other people's, by
their architectures at small sizes, and Gluon's model zoo. Weights are drawn; a network that ends in certainty or in zeros would
say nothing, so they keep the scale of what runs through."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

import hybrid as mx

sym = mx.sym
Feeds = dict[str, np.ndarray]


class Rebuilt:
    """A network that a function makes: what networks() has, without recorded outputs."""

    def __init__(self, name: str, make: Callable[[], Any], feeds: Mapping[str, np.ndarray]):
        """make: gives a symbol or a HybridBlock. feeds: inputs by name."""
        self.name, self._make, self._feeds = name, make, dict(feeds)

    @cached_property
    def prefix(self) -> str:
        """The prefix of its files, in a folder that lasts as long as this object."""
        self._folder = tempfile.TemporaryDirectory()
        prefix = str(Path(self._folder.name) / "model")
        made = self._make()
        if not isinstance(made, mx.sym.Symbol):
            made.initialize()
            made.hybridize()
            made(*(mx.nd.array(a) for a in self._feeds.values()))
            made.export(prefix)
            made = mx.sym.load(f"{prefix}-symbol.json")
        arguments, states = weights(made, {n: a.shape for n, a in self._feeds.items()})
        mx.model.save_checkpoint(prefix, 0, made, arguments, states)
        return prefix

    def runs(self) -> list[tuple[Feeds, Feeds]]:
        return [(self._feeds, {})]


def weights(symbol: Any, shapes: Mapping[str, tuple[int, ...]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments and auxiliary states, drawn by their names: products keep the variance of what they read."""
    rng = np.random.default_rng(20261129)
    found, _, states = symbol.infer_shape(**shapes)

    def drawn(name: str, shape: tuple[int, ...]) -> Any:
        if name.endswith("var"):
            array = rng.uniform(0.5, 1.5, shape)
        elif name.endswith("parameters"):  # of a recurrent layer, all in one
            array = rng.uniform(-0.4, 0.4, shape)
        elif name.endswith("slope"):
            array = rng.uniform(0.1, 0.4, shape)
        elif name.endswith("gamma"):
            array = rng.uniform(0.7, 1.3, shape)
        elif name.endswith(("weight", "table")):
            array = rng.normal(0, np.sqrt(2 / max(np.prod(shape[1:]), 1)), shape)
        else:
            array = rng.normal(0, 0.1, shape)
        return mx.nd.array(array.astype(np.float32))

    arguments = {n: drawn(n, s) for n, s in zip(symbol.list_arguments(), found) if n not in shapes}
    return arguments, {n: drawn(n, s) for n, s in zip(symbol.list_auxiliary_states(), states)}


def _normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape) + sum(shape)).standard_normal(shape).astype(np.float32)


def _pixels(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(0, 256, shape).astype(np.float32)


def _tokens(most: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(most).integers(0, most, shape).astype(np.float32)


def _conv(data: Any, filters: int, name: str, kernel: int = 3, stride: int = 1, act: str = "relu", **more: Any) -> Any:
    """Convolution, BatchNorm and an activation; "prelu" has slopes, "" none."""
    pad = more.pop("pad", kernel // 2)
    net = sym.Convolution(
        data, kernel=(kernel,) * 2, stride=(stride,) * 2, pad=(pad,) * 2, num_filter=filters, no_bias=True, name=name, **more
    )  # fmt: skip
    return _act(sym.BatchNorm(net, fix_gamma=False, eps=1e-5, name=f"{name}_bn"), act, name)


def _act(net: Any, act: str, name: str) -> Any:
    if act == "prelu":
        return sym.LeakyReLU(net, gamma=sym.Variable(f"{name}_slope"), act_type="prelu", name=f"{name}_prelu")
    return sym.Activation(net, act_type=act, name=f"{name}_act") if act else net


def unet_deconv() -> Any:
    """U-Net whose way up is made of Deconvolution, cropped to what it is joined with."""
    down, net = [], sym.Variable("data")
    for level, filters in enumerate((8, 16, 24)):
        net = _conv(_conv(net, filters, f"down{level}a"), filters, f"down{level}b")
        down.append(net)
        net = sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
    net = _conv(net, 32, "bottom")
    for level, filters in ((2, 24), (1, 16), (0, 8)):
        net = sym.Deconvolution(
            net, kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=filters, no_bias=True, name=f"up{level}"
        )
        net = sym.Concat(sym.Crop(net, down[level], num_args=2), down[level], dim=1)
        net = _conv(net, filters, f"joined{level}")
    return sym.softmax(sym.Convolution(net, kernel=(1, 1), num_filter=3, name="score"), axis=1)


def arcface() -> Any:
    """InsightFace's residual network as it is deployed: pixels scaled inside, units of BatchNorm, PReLU, fc1 of 64 numbers."""
    data: Any = sym.Variable("data")
    net = _conv((data - 127.5) * 0.0078125, 8, "conv0", act="prelu")
    for stage, filters in enumerate((8, 16)):
        for unit in range(2):
            name, stride = f"stage{stage}_unit{unit}", 2 - unit
            body = sym.BatchNorm(net, fix_gamma=False, eps=2e-5, name=f"{name}_bn1")
            body = _conv(body, filters, f"{name}_conv1", act="prelu")
            body = _conv(body, filters, f"{name}_conv2", stride=stride, act="")
            way = net if stride == 1 else _conv(net, filters, f"{name}_sc", 1, stride, act="")
            net = body + way
    net = sym.Dropout(sym.BatchNorm(net, fix_gamma=False, eps=2e-5, name="bn1"), p=0.4)
    net = sym.FullyConnected(sym.Flatten(net), num_hidden=64, name="pre_fc1")
    return sym.BatchNorm(net, fix_gamma=True, eps=2e-5, momentum=0.9, name="fc1")


def mtcnn_onet() -> Any:
    """MTCNN's output network: pooling that rounds up, PReLU, three heads."""
    net = sym.Variable("data")
    for level, (filters, kernel, pool) in enumerate(((16, 3, 3), (24, 3, 3), (24, 3, 2))):
        net = sym.Convolution(net, kernel=(kernel,) * 2, num_filter=filters, name=f"conv{level}")
        net = _act(net, "prelu", f"conv{level}")
        net = sym.Pooling(
            net, kernel=(pool,) * 2, stride=(2, 2), pool_type="max", pooling_convention="full", name=f"pool{level}"
        )
    net = _act(sym.Convolution(net, kernel=(2, 2), num_filter=32, name="conv3"), "prelu", "conv3")
    net = _act(sym.FullyConnected(net, num_hidden=48, name="conv4"), "prelu", "conv4")
    heads = [sym.FullyConnected(net, num_hidden=n, name=f"conv5_{i}") for i, n in ((1, 2), (2, 4), (3, 10))]
    return sym.Group([sym.SoftmaxActivation(heads[0], name="prob1"), *heads[1:]])


def retinaface(crop: bool) -> Any:
    """RetinaFace on MobileNet: a pyramid put together by UpSampling (and Crop), heads whose classes are in groups of channels."""
    net, maps = sym.Variable("data"), []
    for level, filters in enumerate((8, 12, 16, 24, 32)):
        net = _conv(net, filters, f"mobilenet{level}", stride=2)
        if level:
            net = _conv(net, filters, f"dw{level}", num_group=filters)
            net = _conv(net, filters, f"pw{level}", 1)
        if level >= 2:
            maps.append(_conv(net, 16, f"rf_c{level}_lateral", 1))
    for level in (1, 0):
        up = sym.UpSampling(maps[level + 1], scale=2, sample_type="nearest")
        if crop:
            up = sym.Crop(up, maps[level], num_args=2)
        maps[level] = _conv(up + maps[level], 16, f"rf_aggr{level}")
    out = []
    for stride, net in zip((8, 16, 32), maps):
        context = sym.concat(
            _conv(net, 8, f"s{stride}_a", act=""), _conv(_conv(net, 4, f"s{stride}_b"), 8, f"s{stride}_c", act="")
        )
        context = sym.Activation(context, act_type="relu")
        score = sym.Convolution(context, kernel=(1, 1), num_filter=4, name=f"face_rpn_cls_score_stride{stride}")
        score = sym.SoftmaxActivation(sym.Reshape(score, shape=(0, 2, -1, 0)), mode="channel")
        out.append(sym.Reshape(score, shape=(0, 4, -1, 0), name=f"face_rpn_cls_prob_reshape_stride{stride}"))
        for kind, count in (("bbox", 8), ("landmark", 20)):
            name = f"face_rpn_{kind}_pred_stride{stride}"
            out.append(sym.Convolution(context, kernel=(1, 1), num_filter=count, name=name))
    return sym.Group(out)


def crnn() -> Any:
    """CRNN for lines of text: convolutions until one row is left, two bidirectional LSTM, a softmax at each step."""
    net = sym.Variable("data")
    for level, (filters, pool) in enumerate(((8, (2, 2)), (16, (2, 2)), (24, (2, 1)), (24, (2, 1)))):
        net = _conv(net, filters, f"conv{level}")
        net = sym.Pooling(net, kernel=pool, stride=pool, pool_type="max")
    net = sym.Convolution(net, kernel=(2, 1), num_filter=24, name="last")  # (N, 24, 1, W)
    net = sym.transpose(sym.squeeze(net, axis=2), axes=(2, 0, 1))
    zeros = [sym.zeros(shape=(4, 1, 12), name=f"begin_{n}") for n in ("h", "c")]
    net = sym.RNN(
        net, sym.Variable("lstm_parameters"), *zeros, state_size=12, num_layers=2, mode="lstm", bidirectional=True, name="lstm"
    )  # fmt: skip
    net = sym.FullyConnected(net, num_hidden=11, flatten=False, name="score")
    return sym.softmax(net, axis=-1)


def bert(classes: int, interleaved: bool) -> Any:
    """A small BERT as GluonNLP exports it: lengths as a mask of scores (or of a softmax, with interleaved projections), GELU,
    LayerNorm, a pooler; classes: a classifier behind it, 0 for none."""
    units, heads, length, layers = 32, 4, 12, 2
    tokens, segments, valid = (sym.Variable(n) for n in ("data0", "data1", "data2"))
    net = sym.Embedding(tokens, sym.Variable("word_table"), input_dim=50, output_dim=units)
    net = net + sym.Embedding(segments, sym.Variable("segment_table"), input_dim=2, output_dim=units)
    net = sym.broadcast_add(net, sym.Variable("position_table", shape=(1, length, units)))
    net = _norm(net, "embedding")
    steps = sym.Reshape(sym.arange(start=0, stop=length), shape=(1, -1))
    for layer in range(layers):
        name = f"layer{layer}"
        mixed = (_interleaved if interleaved else _attention)(net, steps, valid, units, heads, name)
        net = _norm(net + sym.FullyConnected(mixed, num_hidden=units, flatten=False, name=f"{name}_out"), f"{name}_1")
        wide = sym.FullyConnected(net, num_hidden=2 * units, flatten=False, name=f"{name}_wide")
        wide = sym.LeakyReLU(wide, act_type="gelu")
        net = _norm(net + sym.FullyConnected(wide, num_hidden=units, flatten=False, name=f"{name}_narrow"), f"{name}_2")
    first = sym.Reshape(sym.slice_axis(net, axis=1, begin=0, end=1), shape=(-1, units))
    pooled = sym.Activation(sym.FullyConnected(first, num_hidden=units, name="pooler"), act_type="tanh")
    if classes:
        return sym.softmax(sym.FullyConnected(sym.Dropout(pooled), num_hidden=classes, name="classifier"))
    return sym.Group([net, pooled])


def _norm(net: Any, name: str) -> Any:
    return sym.LayerNorm(net, eps=1e-12, name=f"{name}_norm")


def _attention(net: Any, steps: Any, valid: Any, units: int, heads: int, name: str) -> Any:
    """Heads along the batch; what lies behind the length is masked by -1e18."""
    parts = []
    for part in ("query", "key", "value"):
        one = sym.FullyConnected(net, num_hidden=units, flatten=False, name=f"{name}_{part}")
        one = sym.transpose(sym.Reshape(one, shape=(0, 0, heads, -1)), axes=(0, 2, 1, 3))
        parts.append(sym.Reshape(one, shape=(-3, 0, 0)))
    scores = sym.batch_dot(parts[0] / np.sqrt(units / heads), parts[1], transpose_b=True)
    seen = sym.broadcast_lesser(steps, sym.expand_dims(valid, axis=1))  # (N, T)
    seen = sym.broadcast_axis(sym.Reshape(seen, shape=(0, 1, 1, -1)), axis=(1,), size=(heads,))
    seen = sym.broadcast_axis(sym.Reshape(seen, shape=(-3, 0, 0)), axis=(1,), size=(12,))
    scores = sym.where(seen, scores, sym.ones_like(scores) * -1e18)
    mixed = sym.batch_dot(sym.softmax(scores, axis=-1), parts[2])
    mixed = sym.transpose(sym.Reshape(mixed, shape=(-4, -1, heads, 0, 0)), axes=(0, 2, 1, 3))
    return sym.Reshape(mixed, shape=(0, 0, -3))


def _interleaved(net: Any, steps: Any, valid: Any, units: int, heads: int, name: str) -> Any:
    """Projections of one product, taken apart by the operators that GluonNLP uses; the softmax knows the lengths."""
    del steps
    packed = sym.FullyConnected(
        sym.transpose(net, axes=(1, 0, 2)), num_hidden=3 * units, flatten=False, name=f"{name}_packed"
    )
    scores = sym.contrib.interleaved_matmul_selfatt_qk(packed, heads=heads)  # (N * heads, T, T)
    lengths = sym.broadcast_axis(sym.Reshape(valid, shape=(-1, 1)), axis=(1,), size=(12,))
    lengths = sym.repeat(sym.cast(lengths, dtype="int32"), repeats=heads, axis=0)
    weights = sym.softmax(scores, lengths, use_length=True, axis=-1)
    mixed = sym.contrib.interleaved_matmul_selfatt_valatt(packed, weights, heads=heads)
    return sym.transpose(mixed, axes=(1, 0, 2))


def sinet() -> Any:
    """SINet, as pytorchcv has it for Cityscapes: branches of depthwise windows at two sizes, channels shuffled, squeezed and
    weighed, and a way up on which certain pixels are blocked by the maximum of a softmax."""
    first = _conv(sym.Variable("data"), 12, "init", stride=2, act="prelu")
    second = _down(first, 16, "down1")
    net = _branches(second, 16, "s1")
    third = _down(net, 24, "down2")
    net = third
    for number in range(2):
        net = _branches(net, 24, f"s2_{number}")
    net = _conv(sym.concat(net, third, dim=1), 19, "score", 1, act="")
    blocked = 1 - sym.max(sym.softmax(net, axis=1), axis=1, keepdims=True)
    up = sym.contrib.BilinearResize2D(net, height=16, width=32, name="up1")
    blocked = sym.contrib.BilinearResize2D(blocked, height=16, width=32, name="up2")
    side = _conv(second, 19, "side", 1, act="prelu")
    net = up + sym.broadcast_mul(side, blocked)
    net = sym.contrib.BilinearResize2D(net, height=32, width=64, name="up3")
    net = _conv(net, 19, "joined", act="prelu") + _conv(first, 19, "edge", 1, act="")
    return sym.contrib.BilinearResize2D(net, height=64, width=128, name="up4")


def _down(net: Any, filters: int, name: str) -> Any:
    """A separable convolution with squeeze and excitation."""
    net = sym.Convolution(
        net, kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=12 if "1" in name else 16, no_bias=True,
        num_group=12 if "1" in name else 16, name=f"{name}_dw",
    )  # fmt: skip
    weight = sym.Pooling(net, global_pool=True, pool_type="avg", kernel=(1, 1))
    weight = sym.Activation(sym.Convolution(weight, kernel=(1, 1), num_filter=6, name=f"{name}_se1"), act_type="relu")
    weight = sym.sigmoid(
        sym.Convolution(weight, kernel=(1, 1), num_filter=12 if "1" in name else 16, name=f"{name}_se2")
    )
    return _conv(sym.broadcast_mul(net, weight), filters, f"{name}_pw", 1, act="prelu")


def _branches(net: Any, filters: int, name: str) -> Any:
    """Two branches on half of the channels each, one of them at half the size."""
    squeezed = _conv(net, filters // 2, f"{name}_squeeze", 1, act="prelu")
    shuffled = sym.Reshape(squeezed, shape=(0, -4, 2, -1, -2))
    shuffled = sym.Reshape(sym.swapaxes(shuffled, dim1=1, dim2=2), shape=(0, -3, -2))
    size = {"s1": (16, 32), "s2_0": (8, 16), "s2_1": (8, 16)}[name]
    near = _conv(shuffled, filters // 2, f"{name}_near", 3, num_group=filters // 2, act="prelu")
    far = sym.Pooling(shuffled, kernel=(2, 2), stride=(2, 2), pool_type="avg")
    far = _conv(far, filters // 2, f"{name}_far", 5, num_group=filters // 2, act="prelu")
    far = sym.contrib.BilinearResize2D(far, height=size[0], width=size[1], name=f"{name}_far_up")
    return _act(sym.BatchNorm(sym.concat(near, far, dim=1) + net, fix_gamma=False, name=f"{name}_bn"), "prelu", name)


def deformable() -> Any:
    """A deformable convolution between ordinary ones, with offsets that are computed."""
    net = _conv(sym.Variable("data"), 8, "conv0", stride=2)
    offset = sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=18, name="offset")
    net = sym.contrib.DeformableConvolution(net, offset, kernel=(3, 3), pad=(1, 1), num_filter=12, name="deformable")
    net = sym.Pooling(sym.Activation(net, act_type="relu"), global_pool=True, pool_type="avg", kernel=(1, 1))
    return sym.softmax(sym.FullyConnected(net, num_hidden=5, name="score"))


def gluoncv_ssd() -> Any:
    """GluonCV's SSD: boxes decoded from centres, scores by class above a threshold, box_nms over all classes."""
    classes, net, scores, boxes = 3, sym.Variable("data"), [], []
    for level, filters in enumerate((8, 12, 16)):
        net = _conv(net, filters, f"conv{level}", stride=2)
        if level:
            score = sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=2 * (classes + 1), name=f"cls{level}")
            box = sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=8, name=f"box{level}")
            scores.append(sym.Flatten(sym.transpose(score, axes=(0, 2, 3, 1))))
            boxes.append(sym.Flatten(sym.transpose(box, axes=(0, 2, 3, 1))))
    score = sym.softmax(sym.Reshape(sym.concat(*scores, dim=1), shape=(0, -1, classes + 1)), axis=-1)
    box = sym.Reshape(sym.concat(*boxes, dim=1), shape=(0, -1, 4))
    x, y, w, h = sym.split(box, num_outputs=4, axis=-1)
    w, h = sym.exp(w * 0.2) * 8, sym.exp(h * 0.2) * 8
    corners = sym.concat(x * 16 + 16 - w, y * 16 + 16 - h, x * 16 + 16 + w, y * 16 + 16 + h, dim=-1)
    rows = []
    for number in range(classes):
        one = sym.slice_axis(score, axis=-1, begin=number + 1, end=number + 2)
        kept = one > 0.05
        label = sym.where(kept, sym.zeros_like(one) + number, sym.ones_like(one) * -1)
        rows.append(sym.concat(label, sym.where(kept, one, sym.zeros_like(one)), corners, dim=-1))
    found = sym.contrib.box_nms(
        sym.concat(*rows, dim=1), overlap_thresh=0.45, topk=40, valid_thresh=0.05, id_index=0, score_index=1, coord_start=2
    )  # fmt: skip
    found = sym.slice_axis(found, axis=1, begin=0, end=20)
    return sym.Group([sym.slice_axis(found, axis=2, begin=b, end=e) for b, e in ((0, 1), (1, 2), (2, 6))])


def gluoncv_yolo() -> Any:
    """GluonCV's YOLO: two scales joined by nearest UpSampling, box_nms by class."""
    classes, net, maps = 2, sym.Variable("data"), []
    for level, filters in enumerate((8, 12, 16, 20)):
        net = _conv(net, filters, f"conv{level}", stride=2)
        maps.append(net)
    up = sym.UpSampling(_conv(net, 12, "way", 1), scale=2, sample_type="nearest")
    rows = []
    for number, (net, size, stride) in enumerate(((maps[3], 4, 16), (sym.concat(up, maps[2], dim=1), 8, 8))):
        out = sym.Convolution(net, kernel=(1, 1), num_filter=5 + classes, name=f"yolo{number}")
        out = sym.transpose(sym.Reshape(out, shape=(0, 5 + classes, -1)), axes=(0, 2, 1))
        steps = sym.arange(start=0, stop=size)
        grid = sym.stack(sym.tile(steps, reps=(size,)), sym.repeat(steps, repeats=size), axis=1)
        centre = (
            sym.broadcast_add(sym.sigmoid(sym.slice_axis(out, axis=-1, begin=0, end=2)), sym.expand_dims(grid, 0))
            * stride
        )
        half = sym.exp(sym.slice_axis(out, axis=-1, begin=2, end=4) * 0.3) * stride
        box = sym.concat(centre - half, centre + half, dim=-1)
        sure = sym.sigmoid(sym.slice_axis(out, axis=-1, begin=4, end=5))
        score = sym.broadcast_mul(sym.sigmoid(sym.slice_axis(out, axis=-1, begin=5, end=None)), sure)
        for kind in range(classes):
            one = sym.slice_axis(score, axis=-1, begin=kind, end=kind + 1)
            rows.append(sym.concat(sym.ones_like(one) * kind, one, box, dim=-1))
    found = sym.contrib.box_nms(
        sym.concat(*rows, dim=1), overlap_thresh=0.45, topk=40, valid_thresh=0.01, id_index=0, score_index=1, coord_start=2
    )  # fmt: skip
    return sym.slice_axis(found, axis=1, begin=0, end=20)


COMMITTED = (
    "arcface", "densenet", "faster_rcnn", "fcn_bilinear", "float16_resnet", "gluon_resnet_v1", "inception_v3", "lstm_states",
    "mobile_face", "mobilenet_v2", "mobilenet_v3", "pooling_kinds", "quantized_plain", "resnet_v2", "shufflenet", "squeezenet",
    "ssd", "super_resolution", "text_cnn", "transformer_encoder", "unet", "yolo",
)  # fmt: skip
"""The other networks of issue 17's 34, which fixtures/models has."""
_TEXT = {"data0": _tokens(50, 2, 12), "data1": _tokens(2, 2, 12), "data2": np.array([12, 7], np.float32)}


def of_the_issue() -> list[Rebuilt]:
    """The twelve networks of issue 17 that fixtures/models has not, in the order of its table."""
    return [
        Rebuilt("sinet", sinet, {"data": _normal(1, 3, 64, 128)}),
        Rebuilt("deformable_conv", deformable, {"data": _normal(1, 3, 24, 24)}),
        Rebuilt("unet_deconv", unet_deconv, {"data": _normal(1, 3, 48, 48)}),
        Rebuilt("arcface_deployed", arcface, {"data": _pixels(1, 3, 28, 28)}),
        Rebuilt("mtcnn_onet", mtcnn_onet, {"data": _normal(2, 3, 48, 48)}),
        Rebuilt("retinaface", partial(retinaface, crop=False), {"data": _normal(1, 3, 64, 64)}),
        Rebuilt("bert_classifier", partial(bert, classes=3, interleaved=False), _TEXT),
        Rebuilt("crnn", crnn, {"data": _normal(1, 1, 32, 64)}),
        Rebuilt("gluoncv_ssd", gluoncv_ssd, {"data": _normal(1, 3, 32, 32)}),
        Rebuilt("retinaface_crop", partial(retinaface, crop=True), {"data": _normal(1, 3, 72, 64)}),
        Rebuilt("gluoncv_yolo", gluoncv_yolo, {"data": _normal(1, 3, 64, 64)}),
        Rebuilt("bert", partial(bert, classes=0, interleaved=True), _TEXT),
    ]


ZOO = {
    "alexnet": 224, "vgg11": 32, "vgg11_bn": 32, "squeezenet1.0": 224, "squeezenet1.1": 224, "densenet121": 224, "inceptionv3": 299,
    "mobilenet0.25": 64, "mobilenetv2_0.25": 64, "resnet18_v1": 64, "resnet50_v1": 64, "resnet18_v2": 64, "resnet50_v2": 64,
}  # fmt: skip
"""Networks of Gluon's model zoo, with the side of their pictures: as small as their last pooling allows."""


def of_the_zoo() -> list[Rebuilt]:
    """Gluon's model zoo with ten classes."""
    return [
        Rebuilt(f"zoo_{name}", partial(mx.gluon.model_zoo.vision.get_model, name, classes=10), {"data": _normal(1, 3, side, side)})
        for name, side in ZOO.items()
    ]  # fmt: skip
