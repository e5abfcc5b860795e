"""Operators of the family ``_onnx_`` with attributes and optional inputs that their own examples leave alone, in batches of
more than one, with sizes that all differ: against onnxruntime (or onnx's evaluator) and finite differences."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from statistics import NormalDist
from typing import Any

import ml_dtypes
import numpy as np
import onnx

import converters
from hybrid.core.examples import Maker
from hybrid.core.op import OPS, Example
from hybrid.execution.program import Program
from tests.grouped import each
from tests.table.examples import examples, graph_of
from tests.table.goldens import close
from tests.table.rules import has_rule
from tests.table.test_examples import computes_what_it_infers, run_oracle, same_as_onnxruntime
from tests.table.test_gradients import check_derivatives, gradients_of, run
from tests.versions import saturates

Row = tuple[str, Example]


def activations() -> Iterator[Row]:
    for name, attrs in (
        *(("Celu", {"alpha": a}) for a in (0.5, 3.0)),
        *(("Selu", a) for a in ({}, {"alpha": 0.8, "gamma": 2.5})),
        *(("ThresholdedRelu", {"alpha": a}) for a in (-0.5, 0.3)),
        *(("Shrink", {"bias": b, "lambd": limit}) for b, limit in ((0, 0.5), (-0.4, 0.2), (1.1, 2))),
        *(("Swish", {"alpha": a}) for a in (-0.7, 2.5)),
    ):
        make = maker(name)
        yield name, make(make.uniform(2, 3, 4, low=-4, high=4), **attrs)
    for axis in (0, 1, -2):
        make = maker("Hardmax")
        yield "Hardmax", make(make.uniform(2, 3, 4), axis=axis)
    make = maker("SwiGLU")
    yield "SwiGLU", make(make.uniform(2, 3, low=-3, high=3), make.uniform(2, 3), alpha=0.6)
    make = maker("IsInf")
    for up, down in ((True, False), (False, True), (False, False)):
        yield "IsInf", make(make.array([1, np.inf, -np.inf, np.nan]), detect_positive=up, detect_negative=down)


def attention() -> Iterator[Row]:
    make = maker("Attention")
    q, k, v = make.uniform(2, 4, 3, 4), make.uniform(2, 2, 5, 4), make.uniform(2, 2, 5, 3)
    past = make.uniform(2, 2, 2, 4), make.uniform(2, 2, 2, 3)
    mask = make.uniform(2, 4, 3, 5)
    for mode in range(4):
        attrs = {
            "qk_matmul_output_mode": mode,
            "num_outputs": 4,
            "softcap": 0.9,
            "scale": 0.4,
            "is_causal": mode % 2 > 0,
        }
        yield "Attention", make(q, k, v, mask, given=("attn_mask",), **attrs)
        wide = np.concatenate([mask, mask[..., :2] * 0.5], -1)
        yield (
            "Attention",
            make(q, k, v, wide, *past, given=("attn_mask", "past_key", "past_value"), **attrs),
        )
    yield "Attention", make(q, k, v, make.array([4, 2], "int64"), given=("nonpad_kv_seqlen",), is_causal=True)
    for causal in (False, True):
        yield "Attention", make(q, k, v, mask > 0.3, given=("attn_mask",), is_causal=causal, scale=1.2)
    flat = make.uniform(2, 3, 16), make.uniform(2, 5, 8), make.uniform(2, 5, 6)
    for attrs in ({}, {"scale": 0.3, "softcap": 2.0}, {"is_causal": True}):
        yield "Attention", make(*flat, q_num_heads=4, kv_num_heads=2, **attrs)
    make = maker("RotaryEmbedding")
    for interleaved in (False, True):
        for size in (0, 4):
            half = (size or 6) // 2
            ids = make.array([[1, 0, 4, 2], [3, 3, 0, 1]], "int64")
            attrs = {"interleaved": interleaved, "rotary_embedding_dim": size}
            yield (
                "RotaryEmbedding",
                make(make.uniform(2, 3, 4, 6), make.uniform(2, 4, half), make.uniform(2, 4, half), **attrs),
            )
            yield (
                "RotaryEmbedding",
                make(
                    *(make.uniform(2, 4, 18), *make.uniform(2, 5, half), ids),
                    **{**attrs, "num_heads": 3, "given": ("position_ids",)},
                ),
            )


def convolution() -> Iterator[Row]:
    make = maker("Conv")
    x, w, b = make.uniform(2, 4, 7, 5), make.uniform(6, 2, 3, 2), make.uniform(6)
    for attrs in (
        {"dilations": (2, 3), "pads": (2, 0, 1, 3), "group": 2, "kernel_shape": (3, 2)},
        {"auto_pad": "SAME_UPPER", "strides": (3, 2), "group": 2},
        {"auto_pad": "SAME_LOWER", "strides": (2, 3), "group": 2},
        {"auto_pad": "VALID", "strides": (2, 1), "dilations": (1, 2), "group": 2},
    ):
        yield "Conv", make(x, w, b, given=("B",), **attrs)
    yield (
        "Conv",
        make(make.uniform(2, 2, 4, 3, 5), make.uniform(3, 2, 2, 1, 3), pads=(1, 0, 2, 0, 1, 1), strides=(1, 2, 3)),
    )
    make = maker("ConvTranspose")
    x, w, b = make.uniform(2, 4, 3, 4), make.uniform(4, 3, 3, 2), make.uniform(6)
    for attrs in (
        {"dilations": (2, 3), "group": 2, "strides": (1, 2), "pads": (1, 2, 0, 1)},
        {"strides": (3, 2), "output_padding": (2, 1), "group": 2, "kernel_shape": (3, 2)},
        {"strides": (2, 3), "output_shape": (7, 10), "group": 2},
        {"auto_pad": "SAME_LOWER", "strides": (2, 1), "group": 2},
        {"auto_pad": "SAME_UPPER", "strides": (1, 2), "group": 2, "dilations": (2, 2)},
        {"auto_pad": "VALID", "strides": (2, 1), "group": 2},
    ):
        yield "ConvTranspose", make(x, w, b, given=("B",), **attrs)
    make = maker("DeformConv")
    x, w = make.uniform(2, 4, 6, 5), make.uniform(6, 2, 3, 2)
    for attrs, size in (
        ({"strides": (2, 1), "pads": (1, 0, 2, 1)}, (4, 5)),
        ({"dilations": (2, 3), "pads": (0, 1, 1, 2)}, (3, 5)),
        ({"strides": (2, 3), "dilations": (1, 2), "kernel_shape": (3, 2)}, (2, 1)),
    ):
        for groups in (1, 2):
            offset = make.uniform(2, groups * 12, *size, low=-0.9, high=0.9)
            both = make.uniform(6), make.uniform(2, groups * 6, *size)
            yield "DeformConv", make(x, w, offset, *both, given=("B", "mask"), group=2, offset_group=groups, **attrs)
        yield "DeformConv", make(x, w, offset, both[1], given=("mask",), group=2, offset_group=2, **attrs)
    make = maker("Col2Im")
    for attrs, count in (
        ({"dilations": (2, 1)}, 3 * 3),
        ({"pads": (1, 0, 2, 1), "strides": (2, 1)}, 4 * 4),
        ({"dilations": (1, 2), "strides": (1, 2), "pads": (0, 1, 0, 2)}, 4 * 2),
    ):
        sizes = make.array([5, 5], "int64"), make.array([2, 3], "int64")
        yield "Col2Im", make(make.uniform(2, 3 * 6, count), *sizes, **attrs)


def pooling() -> Iterator[Row]:
    for name in ("MaxPool", "AveragePool", "LpPool"):
        make = maker(name)
        x = make.uniform(2, 3, 8, 7)
        options: list[dict[str, Any]] = [
            {"kernel_shape": (3, 2), "auto_pad": pad, "strides": (2, 3)}
            for pad in ("SAME_UPPER", "SAME_LOWER", "VALID")
        ]
        options += [
            {"kernel_shape": (3, 2), "strides": (2, 3), "ceil_mode": True, "pads": (1, 0, 0, 1)},
            {"kernel_shape": (2, 3), "dilations": (3, 2), "pads": (0, 1, 1, 2), "strides": (1, 2)},
            {"kernel_shape": (2, 3), "dilations": (2, 1), "strides": (2, 2), "ceil_mode": True},
        ]
        for attrs in options:
            more: list[dict[str, Any]] = [{}]
            if name == "MaxPool":
                more = [{}, {"num_outputs": 2}, {"num_outputs": 2, "storage_order": 1}]
            elif name == "AveragePool":
                more = [{}, {"count_include_pad": True}]
            elif name == "LpPool":
                more = [{"p": p} for p in (1, 2, 3)]
            for extra in more:
                yield name, make(x, **attrs, **extra)
        yield (
            name,
            make(make.uniform(2, 2, 4, 3, 5), kernel_shape=(2, 1, 3), strides=(1, 2, 1), pads=(1, 0, 1, 0, 0, 1)),
        )
    for p in (1, 2, 3):
        make = maker("GlobalLpPool")
        yield "GlobalLpPool", make(make.uniform(2, 3, 4, 5), p=p)
    make = maker("MaxUnpool")
    places = np.stack([make._rng.permutation(35)[:12].reshape(3, 4) for _ in range(4)]).reshape(2, 2, 3, 4)
    yield "MaxUnpool", make(make.uniform(2, 2, 3, 4), places, kernel_shape=(3, 2), pads=(1, 0, 1, 1), strides=(3, 2))


def normalization() -> Iterator[Row]:
    for name, attrs in (
        *(("LayerNormalization", {"axis": a, "epsilon": 0.3}) for a in (0, 1, -2, 2)),
        *(("RMSNormalization", {"axis": a, "epsilon": 0.3}) for a in (0, 1, -2, 2)),
        *(("InstanceNormalization", {"epsilon": e}) for e in (0.2, 1e-3)),
        *(("GroupNormalization", {"epsilon": 0.2, "num_groups": n}) for n in (1, 2, 3, 6)),
        *(
            ("BatchNormalization", {"epsilon": 0.2, **m})
            for m in ({}, {"training_mode": True, "num_outputs": 3, "momentum": 0.3})
        ),
        *(("LRN", {"size": s, "alpha": 0.7, "beta": 0.4, "bias": 1.5}) for s in (1, 3, 5)),
    ):
        make = maker(name)
        x = make.uniform(2, 6, 3, 4, low=-1, high=2)
        dims = x.shape[attrs.get("axis", 0) :]
        channels = [make.uniform(6) for _ in range(3)]
        if name == "LayerNormalization":
            yield name, make(x, make.uniform(*dims), make.uniform(*dims), given=("B",), num_outputs=3, **attrs)
            yield name, make(x, make.uniform(*dims), num_outputs=2 if attrs["axis"] == 1 else 1, **attrs)
        elif name == "RMSNormalization":
            yield name, make(x, make.uniform(*dims), **attrs)
        elif name == "LRN":
            yield name, make(x, **attrs)
        elif name == "BatchNormalization":
            yield name, make(x, *channels, make.uniform(6, low=0.5, high=1.5), **attrs)
        else:
            yield name, make(x, *channels[:2], **attrs)
    for p in (1, 2):
        for axis in (0, 1, -2):
            make = maker("LpNormalization")
            yield "LpNormalization", make(make.uniform(2, 3, 4), p=p, axis=axis)
    for axes in ((0,), (1, 2), (0, -1)):
        make = maker("MeanVarianceNormalization")
        yield "MeanVarianceNormalization", make(make.uniform(4, 3, 5), axes=axes)


def reductions() -> Iterator[Row]:
    for name in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"):
        make = maker(f"Reduce{name}")
        x = make.uniform(2, 3, 4, low=0.5 if name == "LogSum" else -1.5, high=1.5)
        for axes, keep in (([-2], False), ([2, 0], True)):
            yield f"Reduce{name}", make(x, make.array(axes, "int64"), given=("axes",), keepdims=keep)
        yield f"Reduce{name}", make(x, make.array([], "int64"), given=("axes",), noop_with_empty_axes=True)
        yield f"Reduce{name}", make(x, make.array([], "int64"), given=("axes",), keepdims=False)
        yield f"Reduce{name}", make(x.astype("float16"), make.array([1], "int64"), given=("axes",), keepdims=False)
        for dtype in () if name.startswith("Log") else ("int64", "int32"):
            whole = make.integers(2, 3, 4, low=1, high=5, dtype=dtype)
            yield f"Reduce{name}", make(whole, make.array([1], "int64"), given=("axes",), keepdims=False)
    for name in ("ArgMax", "ArgMin"):
        make = maker(name)
        for axis in (0, 1, -1):
            for keep in (True, False):
                for last in (True, False):
                    x = make.integers(2, 3, 4, high=3, dtype="float32" if keep else "int64")
                    yield name, make(x, axis=axis, keepdims=keep, select_last_index=last)
    for name in ("CumSum", "CumProd"):
        make = maker(name)
        for axis in (0, -2, 2):
            for exclusive in (True, False):
                for reverse in (True, False):
                    x = make.uniform(2, 3, 4, low=0.5, high=1.5)
                    yield name, make(x, make.array(axis, "int64"), exclusive=exclusive, reverse=reverse)


def quantised() -> Iterator[Row]:
    make = maker("ConvInteger")
    x, w = (
        make.integers(2, 4, 6, 5, high=256, dtype="uint8"),
        make.integers(6, 2, 3, 2, low=-128, high=128, dtype="int8"),
    )
    zeros = make.array(7, "uint8"), make.array(-3, "int8")
    options: tuple[dict[str, Any], ...] = (
        {"dilations": (2, 3), "pads": (2, 0, 1, 3), "group": 2, "kernel_shape": (3, 2)},
        {"auto_pad": "SAME_LOWER", "strides": (3, 2), "group": 2},
        {"auto_pad": "VALID", "strides": (2, 1), "group": 2},
    )
    for attrs in options:
        yield "ConvInteger", make(x, w, *zeros, given=("x_zero_point", "w_zero_point"), **attrs)
    yield "ConvInteger", make(x, w, group=2)
    make = maker("QLinearConv")
    scales, bias = (
        (make.uniform(6, low=0.01, high=0.1), make.array([0] * 6, "int8")),
        make.integers(6, low=-900, high=900, dtype="int32"),
    )
    for attrs in options:
        given = x, make.array(0.02), zeros[0], w, *scales, make.array(1.3), make.array(12, "uint8")
        yield "QLinearConv", make(*given, bias, given=("B",), **attrs)
        yield "QLinearConv", make(*given, **attrs)
    make = maker("MatMulInteger")
    a, b = make.integers(2, 3, 4, high=256, dtype="uint8"), make.integers(4, 5, low=-128, high=128, dtype="int8")
    yield "MatMulInteger", make(a, b)
    yield (
        "MatMulInteger",
        make(a, b, make.array(9, "uint8"), make.array(5, "int8"), given=("a_zero_point", "b_zero_point")),
    )
    make = maker("QLinearMatMul")
    numbers = make.array(0.03), make.array(110, "uint8"), b, make.array(0.05), make.array(-4, "int8")
    yield "QLinearMatMul", make(a, *numbers, make.array(1.1), make.array(120, "uint8"))
    make = maker("ms_MatMulIntegerToFloat")
    zero = make.array(9, "uint8"), make.integers(5, low=-5, high=5, dtype="int8")
    scale = make.array(0.1), make.uniform(5, low=0.1, high=0.5)
    yield (
        "ms_MatMulIntegerToFloat",
        make(a, b, *scale, *zero, make.uniform(5), given=("a_zero_point", "b_zero_point", "bias")),
    )
    yield "ms_MatMulIntegerToFloat", make(a, b, *scale)
    make = maker("ms_DynamicQuantizeMatMul")
    x32 = make.uniform(2, 3, 4, low=-1, high=3)
    yield "ms_DynamicQuantizeMatMul", make(x32, b, scale[1], zero[1], make.uniform(5), given=("b_zero_point", "bias"))
    yield "ms_DynamicQuantizeMatMul", make(x32, b, scale[1])
    make = maker("ms_QGemm")
    for first, second in ((False, True), (True, False), (True, True)):
        left, right = (a[0].T if first else a[0]), (b.T if second else b)
        inputs = left, make.array(0.1), make.array(12, "uint8"), right, make.array(0.3), make.array(-7, "int8")
        yield "ms_QGemm", make(*inputs, alpha=0.5, transA=first, transB=second)
        rest = make.integers(5, low=-90, high=90, dtype="int32"), make.array(2.5), make.array(100, "uint8")
        yield (
            "ms_QGemm",
            make(*inputs, *rest, alpha=0.7, transA=first, transB=second, given=("C", "y_scale", "y_zero_point")),
        )
    x8 = make.integers(2, 3, 6, 4, high=256, dtype="uint8")
    for name, options in (
        ("Sigmoid", ({},)),
        ("LeakyRelu", ({"alpha": 0.3}, {"alpha": 0.7})),
        ("Softmax", ({"axis": 1}, {"axis": -2}, {"axis": 1, "opset": 12})),
        ("GlobalAveragePool", ({}, {"channels_last": True})),
        (
            "AveragePool",
            (
                {"kernel_shape": (3, 2), "strides": (2, 3), "ceil_mode": True},
                {"kernel_shape": (2, 3), "strides": (2, 1), "auto_pad": "SAME_UPPER"},
                {"kernel_shape": (2, 3), "strides": (1, 2), "auto_pad": "SAME_LOWER", "count_include_pad": True},
            ),
        ),
    ):
        make = maker(f"ms_QLinear{name}")
        to = (
            make.array(1 / 256 if name in ("Sigmoid", "Softmax") else 0.0317),
            make.array(0 if name == "Softmax" else 20, "uint8"),
        )
        for attrs in options:
            yield (
                f"ms_QLinear{name}",
                make(
                    x8, make.array(0.021), make.array(90, "uint8"), *to, given=("X_zero_point", "Y_zero_point"), **attrs
                ),
            )
    for name in ("Add", "Mul"):
        make = maker(f"ms_QLinear{name}")
        a, b = make.integers(2, 3, 4, high=256, dtype="uint8"), make.integers(3, 1, high=256, dtype="uint8")
        first, second = (make.array(0.02), make.array(90, "uint8")), (make.array(0.03), make.array(7, "uint8"))
        inputs = a, *first, b, *second, make.array(0.07), make.array(50, "uint8")
        yield f"ms_QLinear{name}", make(*inputs, given=("A_zero_point", "B_zero_point", "C_zero_point"))
    make = maker("QuantizeLinear")
    x = make.uniform(2, 6, 4, low=-9, high=9)
    for axis, count in ((0, 2), (1, 6), (-1, 4), (-3, 2)):
        pair = make.uniform(count, low=0.05, high=0.2), make.integers(count, low=-9, high=9, dtype="int8")
        yield "QuantizeLinear", make(x, *pair, axis=axis, given=("y_zero_point",))
        yield (
            "DequantizeLinear",
            maker("DequantizeLinear")(
                make.integers(2, 6, 4, low=-99, high=99, dtype="int8"), *pair, axis=axis, given=("x_zero_point",)
            ),
        )
    for axis, block, shape in ((0, 2, (1, 6, 4)), (1, 3, (2, 2, 4)), (-1, 2, (2, 6, 2))):
        pair = make.uniform(*shape, low=0.05, high=0.2), make.integers(*shape, low=-9, high=9, dtype="int8")
        yield "QuantizeLinear", make(x, *pair, axis=axis, block_size=block, given=("y_zero_point",))
        yield (
            "DequantizeLinear",
            maker("DequantizeLinear")(
                make.integers(2, 6, 4, low=-99, high=99, dtype="int8"),
                *pair,
                axis=axis,
                block_size=block,
                given=("x_zero_point",),
            ),
        )
    for kind in ("int8", "uint8", "int16", "uint16"):
        yield "QuantizeLinear", make(x, make.array(0.03), output_dtype=kind)


def recurrent() -> Iterator[Row]:
    for name, gates, options in (
        (
            "RNN",
            1,
            (
                {"activations": ("Affine",), "activation_alpha": (0.6,), "activation_beta": (0.2,)},
                {"activations": ("ScaledTanh",), "activation_alpha": (0.8,), "activation_beta": (1.3,), "clip": 0.7},
                {"activations": ("LeakyRelu",), "activation_alpha": (0.3,)},
                {"activations": ("HardSigmoid",), "activation_alpha": (0.3,), "activation_beta": (0.4,)},
            ),
        ),
        (
            "GRU",
            3,
            (
                {"activations": ("HardSigmoid", "Softsign"), "activation_alpha": (0.3,), "activation_beta": (0.4,)},
                {"activations": ("Sigmoid", "Softplus"), "linear_before_reset": True},
                {"clip": 0.6},
            ),
        ),
        (
            "LSTM",
            4,
            (
                {
                    "activations": ("HardSigmoid", "Softsign", "Tanh"),
                    "activation_alpha": (0.3,),
                    "activation_beta": (0.4,),
                },
                {
                    "activations": ("Sigmoid", "ScaledTanh", "Affine"),
                    "activation_alpha": (0.8, 0.5),
                    "activation_beta": (1.3, 0.1),
                },
                {"input_forget": True},
            ),
        ),
    ):
        make = maker(name)
        x, hidden = make.uniform(4, 3, 2), 5
        for number, attrs in enumerate(options):
            direction = ("forward", "reverse", "bidirectional")[number % 3]
            ways = 2 if direction == "bidirectional" else 1
            attrs = {k: v * ways if isinstance(v, tuple) else v for k, v in attrs.items()}
            inputs: dict[str, np.ndarray] = {
                "B": make.uniform(ways, 2 * gates * hidden),
                "sequence_lens": make.array([2, 4, 0], "int32"),
                "initial_h": make.uniform(ways, 3, hidden),
            }
            if name == "LSTM":
                inputs |= {"initial_c": make.uniform(ways, 3, hidden), "P": make.uniform(ways, 3 * hidden)}
            weights = make.uniform(ways, gates * hidden, 2), make.uniform(ways, gates * hidden, hidden)
            for left in ((), (("sequence_lens",), ("initial_h",), ("initial_c", "P"))[number % (len(inputs) - 2)]):
                given = tuple(n for n in inputs if n not in left)
                yield (
                    name,
                    make(
                        x,
                        *weights,
                        *(inputs[n] for n in given),
                        given=given,
                        direction=direction,
                        hidden_size=hidden,
                        **attrs,
                    ),
                )


def resizing() -> Iterator[Row]:
    make = maker("Resize")
    x = make.uniform(2, 3, 5, 4)
    for way in ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"):
        for mode in ("linear", "cubic"):
            for scales in ([1.7, 0.6], [0.45, 2.3]):
                if way == "half_pixel_symmetric" or mode == "linear":
                    attrs = {"axes": (2, -1)} if mode == "linear" else {"axes": (3, 2), "cubic_coeff_a": -0.5}
                else:
                    attrs = {"axes": (2, 3), "exclude_outside": True, "cubic_coeff_a": -0.6}
                attrs |= {"mode": mode, "coordinate_transformation_mode": way}
                yield "Resize", make(x, make.array(scales), given=("scales",), **attrs)
        for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
            attrs = {"nearest_mode": rounding, "coordinate_transformation_mode": way, "axes": (3, 2)}
            yield "Resize", make(x, make.array([2, 0.5]), given=("scales",), **attrs)
            yield "Resize", make(x, make.array([3, 9], "int64"), given=("sizes",), **attrs)
    for policy in ("not_larger", "not_smaller"):
        attrs = {"axes": (2, 3), "mode": "linear", "keep_aspect_ratio_policy": policy}
        yield "Resize", make(x, make.array([7, 7], "int64"), given=("sizes",), **attrs)
        yield "Resize", make(x, make.array([3, 2], "int64"), given=("sizes",), **{**attrs, "mode": "nearest"})
    for mode in ("linear", "cubic"):
        for sizes in ([2, 7], [1, 3]):
            attrs = {"axes": (2, 3), "mode": mode, "antialias": True}
            yield "Resize", make(x, make.array(sizes, "int64"), given=("sizes",), **attrs)
    for dtype in ("uint8", "int8", "int32"):
        whole = make.integers(2, 3, 5, 4, low=0 if dtype == "uint8" else -128, high=128, dtype=dtype)
        attrs = {"axes": (2, 3), "mode": "linear"}
        yield "Resize", make(whole, make.array([10, 8], "int64"), given=("sizes",), **attrs)
    for mode in ("linear", "cubic"):  # of so many that a product with a matrix is quicker
        attrs = {"axes": (-2,), "mode": mode, "antialias": True, "cubic_coeff_a": -0.6}
        yield "Resize", make(make.uniform(2, 3, 23, 2), make.array([4], "int64"), given=("sizes",), **attrs)
    yield "Resize", make(x, make.array([1, 2], "int64"), given=("sizes",), axes=(2, 3), mode="linear",
                         coordinate_transformation_mode="pytorch_half_pixel")  # fmt: skip
    for mode in ("linear", "nearest", "cubic"):
        attrs = {"mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": -3.5}
        roi = make.array([0, 0, 0.3, -0.2, 1, 1, 1.3, 0.7])
        yield "Resize", make(x, roi, make.array([2, 3, 4, 1], "int64"), given=("roi", "sizes"), **attrs)
        yield "Resize", make(x, roi, make.array([1, 1, 1.4, 1.8]), given=("roi", "scales"), **attrs)
        two = make.array([0.3, -0.2, 1.3, 0.7])
        yield "Resize", make(x, two, make.array([4, 3], "int64"), given=("roi", "sizes"), axes=(2, 3), **attrs)


def signals() -> Iterator[Row]:
    make = maker("DFT")
    x, real = make.uniform(2, 5, 4, 2), make.uniform(2, 5, 4, 1)
    for axis in (0, 1, -2):
        for length in (3, 6):
            more = make.array(length, "int64"), make.array(axis, "int64")
            for inverse in (False, True):
                yield "DFT", make(x, *more, given=("dft_length", "axis"), inverse=inverse)
                yield "DFT", make(real, *more, given=("dft_length", "axis"), inverse=inverse)
            yield "DFT", make(real, *more, given=("dft_length", "axis"), onesided=True)
    make = maker("STFT")
    for signal, sided in (
        (make.uniform(3, 17, 1), True),
        (make.uniform(3, 17, 1), False),
        (make.uniform(3, 17, 2), False),
    ):
        for step, size in ((2, 6), (5, 5)):
            numbers = make.array(step, "int64"), make.uniform(size), make.array(size, "int64")
            yield "STFT", make(signal, *numbers, given=("window", "frame_length"), onesided=sided)
            yield "STFT", make(signal, numbers[0], numbers[2], given=("frame_length",), onesided=sided)
    for name in ("Hann", "Hamming", "Blackman"):
        make = maker(f"{name}Window")
        for size in (7, 10):
            for periodic in (True, False):
                yield f"{name}Window", make(make.array(size, "int64"), periodic=periodic)
    make = maker("MelWeightMatrix")
    for bins, length, rate, low, high in ((5, 32, 8192, 100.0, 3000.0), (10, 64, 16000, 0.0, 8000.0)):
        counts = (make.array(n, "int64") for n in (bins, length, rate))
        yield "MelWeightMatrix", make(*counts, make.array(low), make.array(high))


def losses() -> Iterator[Row]:
    for name, weight in (("NegativeLogLikelihoodLoss", "weight"), ("SoftmaxCrossEntropyLoss", "weights")):
        make = maker(name)
        x, labels = make.uniform(3, 5, 2, 4), make.integers(3, 2, 4, high=5, dtype="int64")
        for reduction in ("none", "sum", "mean"):
            for ignored in (None, 1):
                given = (x, labels, make.uniform(5, low=0.2, high=2)) if ignored or reduction == "sum" else (x, labels)
                named = (weight,) if len(given) > 2 else ()
                yield name, make(*given, given=named, reduction=reduction, ignore_index=ignored)
    make = maker("Gemm")
    for first, second, plus in ((True, False, (5,)), (False, True, (3, 1)), (True, True, (3, 5)), (True, True, None)):
        a, b = make.uniform(*(4, 3) if first else (3, 4)), make.uniform(*(5, 4) if second else (4, 5))
        c = () if plus is None else (make.uniform(*plus),)
        yield "Gemm", make(a, b, *c, given=("C",) if c else (), alpha=0.7, beta=-1.3, transA=first, transB=second)


def places() -> Iterator[Row]:
    make = maker("GatherElements")
    x = make.uniform(3, 4, 5)
    for axis in (0, 1, -1):
        shape = [2, 3, 4]
        yield (
            "GatherElements",
            make(x, make.integers(*shape, low=-x.shape[axis], high=x.shape[axis], dtype="int64"), axis=axis),
        )
    make = maker("GatherND")
    for batch, shape, sizes in (
        (0, (4, 2, 2), (3, 4)),
        (1, (3, 2, 1), (4,)),
        (1, (3, 2), (4, 5)),
        (2, (3, 4, 2, 1), (5,)),
    ):
        where = np.stack([make.integers(*shape[:-1], low=-n, high=n, dtype="int64") for n in sizes], -1)
        yield "GatherND", make(x, where[..., : shape[-1]], batch_dims=batch)
    for reduction in ("none", "add", "mul", "max", "min"):
        make = maker("ScatterElements")
        for axis in (0, 2):
            rows = [make._rng.permutation(x.shape[axis])[:2] for _ in range(12)]
            where = np.moveaxis(np.array(rows).reshape(*((3, 4, 2) if axis == 2 else (4, 3, 2))), -1, axis)
            updates = make.uniform(*where.shape, low=-2, high=2)
            yield "ScatterElements", make(x, where, updates, axis=axis, reduction=reduction)
        make = maker("ScatterND")
        where = np.array([[[0, -1], [2, 3]], [[1, 0], [-1, 1]]])
        yield "ScatterND", make(x, where, make.uniform(2, 2, 5, low=-2, high=2), reduction=reduction)
    make = maker("TensorScatter")
    for mode, where in (("linear", [3, 0]), ("circular", [4, 2])):
        for axis in (-2, 1, 2):
            cache, update = [2, 6, 6, 5], [2, 6, 6, 5]
            update[axis] = 3
            yield (
                "TensorScatter",
                make(
                    make.uniform(*cache),
                    make.uniform(*update),
                    make.array(where, "int64"),
                    mode=mode,
                    axis=axis,
                    given=("write_indices",),
                ),
            )
    make = maker("ReverseSequence")
    yield "ReverseSequence", make(make.uniform(3, 4, 2), make.array([3, 1, 2, 3], "int64"), batch_axis=1, time_axis=0)
    yield "ReverseSequence", make(make.uniform(3, 4, 2), make.array([3, 1, 4], "int64"), batch_axis=0, time_axis=1)
    make = maker("TopK")
    for axis in (0, 1, -1):
        for largest in (True, False):
            yield "TopK", make(x + 0, make.array([2], "int64"), axis=axis, largest=largest)
    make = maker("Unique")
    grid = make.integers(4, 3, 2, high=2, dtype="int64")
    for axis in (None, 0, 1, -1):
        for ordered in (True, False):
            yield "Unique", make(grid, axis=axis, sorted=ordered)
    make = maker("Compress")
    for axis, length in ((None, 7), (0, 3), (1, 2), (-1, 4)):
        yield "Compress", make(x, make.array([n % 3 != 1 for n in range(length)], "bool"), axis=axis)
    make = maker("OneHot")
    for axis in (0, 1, -2):
        yield (
            "OneHot",
            make(
                make.integers(2, 3, low=-4, high=5, dtype="int64"),
                make.array(4, "int64"),
                make.array([-0.5, 2]),
                axis=axis,
            ),
        )
    make = maker("EyeLike")
    for k in (-2, 1, 3):
        yield "EyeLike", make(make.uniform(4, 5), k=k)
    make = maker("Trilu")
    for upper in (True, False):
        for k in (-2, 1):
            yield "Trilu", make(make.uniform(2, 4, 5), make.array(k, "int64"), upper=upper, given=("k",))
    make = maker("NonMaxSuppression")
    corners = make.uniform(2, 8, 2, low=0, high=3)
    boxes, scores = (
        np.concatenate([corners, corners + make.uniform(2, 8, 2, low=1, high=3)], -1),
        make.uniform(2, 3, 8, low=0),
    )
    for centre in (True, False):
        for most, overlap, least in ((2, 0.2, 0.3), (5, 0.5, 0.1), (8, 0.05, 0.0)):
            limits = make.array([most], "int64"), make.array([overlap]), make.array([least])
            yield "NonMaxSuppression", make(
                boxes, scores, *limits, center_point_box=centre,
                given=("max_output_boxes_per_class", "iou_threshold", "score_threshold"),
            )  # fmt: skip


def shapes() -> Iterator[Row]:
    make = maker("Shape")
    x = make.uniform(2, 3, 4, 5)
    for start, end in ((1, None), (-2, None), (0, -1), (-3, 3), (3, 1), (0, 9)):
        yield "Shape", make(x, start=start, end=end)
    make = maker("Flatten")
    for axis in (0, 1, 3, 4, -1, -3):
        yield "Flatten", make(x, axis=axis)
    make = maker("Reshape")
    for new in ([0, -1], [-1, 0, 2], [-1, 0, 2, 0], [5, 24]):
        yield "Reshape", make(x, make.array(new, "int64"))
    make = maker("Pad")
    for mode in ("constant", "reflect", "edge", "wrap"):
        yield "Pad", make(x, make.array([0, 1, 2, 3, 1, 0, 1, 2], "int64"), mode=mode)
    pads = make.array([2, 0, -1, 1], "int64"), make.array(-1.5), make.array([-1, 1], "int64")
    yield "Pad", make(x, *pads, given=("constant_value", "axes"))
    make = maker("CenterCropPad")
    for axes, sizes in (((1, -1), [6, 2]), ((3, 0), [8, 1]), (None, [3, 2, 5, 4])):
        yield "CenterCropPad", make(x, make.array(sizes, "int64"), axes=axes)
    make = maker("Split")
    yield "Split", make(x, make.array([1, 0, 3], "int64"), axis=-2, num_outputs=3, given=("split",))
    yield "Split", make(x, axis=3, num_outputs=2)
    make = maker("Slice")
    rows = ([-1, 1, 3], [-9, 3, 0], [3, 1, -2], [-2, 1, -1]), ([0, 4], [2, -9], [0, -1], [1, -3])
    for starts, ends, axes, steps in rows:
        parts = (make.array(v, "int64") for v in (starts, ends, axes, steps))
        yield "Slice", make(x, *parts, given=("axes", "steps"))
    make = maker("Squeeze")
    yield "Squeeze", make(make.uniform(1, 3, 1, 2, 1), make.array([-3, 0], "int64"), given=("axes",))
    make = maker("Unsqueeze")
    yield "Unsqueeze", make(make.uniform(3, 2), make.array([-1, 0, 2], "int64"))
    make = maker("Expand")
    yield "Expand", make(make.uniform(3, 1, 2), make.array([2, 1, 4, 1], "int64"))
    make = maker("Tile")
    yield "Tile", make(make.uniform(2, 3, 1), make.array([2, 1, 3], "int64"))
    make = maker("Mod")
    for dtype in ("int8", "int64", "uint8"):
        for cut in (True, False):
            low = 0 if dtype == "uint8" else -50
            pair = make.integers(4, 5, low=low, high=100, dtype=dtype), make.array([7, 3, 5, 9, 4], dtype)
            yield "Mod", make(*pair, fmod=cut)


def regions() -> Iterator[Row]:
    make = maker("RoiAlign")
    x, boxes = make.uniform(3, 2, 6, 5), make.array([[0, 1, 5, 8], [1, 0, 4, 4.4], [-1, 2, 6.5, 7]])
    for way in ("half_pixel", "output_half_pixel"):
        for ratio, scale in ((0, 0.6), (3, 0.8), (1, 1.0)):
            for mode in ("avg", "max"):
                attrs = {
                    "sampling_ratio": ratio,
                    "spatial_scale": scale,
                    "mode": mode,
                    "output_height": 3,
                    "output_width": 2,
                }
                data = np.abs(x) + 0.1 if mode == "max" else x
                where = make.array([2, 0, 1], "int64")
                yield "RoiAlign", make(data, boxes, where, coordinate_transformation_mode=way, **attrs)
    make = maker("GridSample")
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            for corners in (True, False):
                grid = make.uniform(2, 3, 4, 2, low=-1.4, high=1.4)
                attrs = {"mode": mode, "padding_mode": padding, "align_corners": corners}
                yield "GridSample", make(make.uniform(2, 3, 5, 4), grid, **attrs)
                if mode != "cubic":
                    grid = make.uniform(2, 2, 3, 2, 3, low=-1.4, high=1.4)
                    yield "GridSample", make(make.uniform(2, 2, 3, 5, 4), grid, **attrs)
    make = maker("AffineGrid")
    for corners in (True, False):
        for rank, sizes in ((2, [3, 1, 4, 5]), (3, [2, 1, 3, 4, 2])):
            theta = make.uniform(sizes[0], rank, rank + 1)
            yield "AffineGrid", make(theta, make.array(sizes, "int64"), align_corners=corners)


def machines() -> Iterator[Row]:
    make = maker("ml_LinearRegressor")
    x = make.uniform(6, 4)
    for post in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        weights = {"coefficients": make.uniform(12), "intercepts": make.uniform(3)}
        yield "ml_LinearRegressor", make(x, targets=3, post_transform=post, **weights)
    make = maker("ml_LinearClassifier")
    weights = {"coefficients": make.uniform(12, low=0.05, high=0.2), "intercepts": make.array([0.1, 0.2, 0.15])}
    labels = make.array([5, 7, 1], "int64")
    shares = make.uniform(6, 4, low=0.1, high=0.9)  # of which the scores are chances
    for post in ("PROBIT", "LOGISTIC"):
        yield "ml_LinearClassifier", make(shares, classlabels_ints=labels, post_transform=post, **weights)
    weights = {"coefficients": make.array([0.1, 0.2, 0.3, 0.15]), "intercepts": make.array([0.05])}
    for post in ("NONE", "LOGISTIC"):
        yield (
            "ml_LinearClassifier",
            make(shares, classlabels_ints=make.array([4, 9], "int64"), post_transform=post, **weights),
        )
    posts = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")
    named = {"classlabels_ints": make.array([3, 8, 5, 1], "int64")}
    many = {"coefficients": make.uniform(16), "intercepts": make.array([0.1, 0.2, 0.15, -0.3])}
    for post in posts:
        yield "ml_LinearClassifier", make(x, post_transform=post, **many, **named)
        yield (
            "ml_LinearClassifier",
            make(x, post_transform=post, **{**many, "intercepts": many["intercepts"] * 0}, **named),
        )
    make = maker("ml_SVMClassifier")  # of four classes there are six pairs
    counts, vectors = make.array([2, 1, 3, 1], "int64"), make.uniform(7 * 4)
    pairs = {
        "vectors_per_class": counts,
        "support_vectors": vectors,
        "coefficients": make.uniform(21),
        "rho": make.uniform(6),
    }
    chances = {"prob_a": make.uniform(6, low=-2, high=-0.5), "prob_b": make.uniform(6)}
    curve = make.array([0.5, 0.3, 2])
    for post in posts:
        for kernel in ("LINEAR", "RBF", "POLY", "SIGMOID"):
            attrs = {"kernel_type": kernel, "kernel_params": curve, "post_transform": post}
            yield "ml_SVMClassifier", make(x, **pairs, **named, **attrs)
            if kernel == "RBF":
                yield "ml_SVMClassifier", make(x, **pairs, **chances, **named, **attrs)
        linear = {
            "coefficients": make.uniform(16),
            "rho": make.uniform(4),
            "post_transform": post,
            "kernel_params": curve,
        }
        yield "ml_SVMClassifier", make(x, **linear, **named)
    make = maker("ml_SVMRegressor")
    for kernel in ("LINEAR", "RBF", "POLY", "SIGMOID"):
        attrs = {"kernel_type": kernel, "kernel_params": curve, "rho": make.uniform(1)}
        for one in (False, True):
            supported = {"support_vectors": vectors, "n_supports": 7, "one_class": one}
            yield "ml_SVMRegressor", make(x, coefficients=make.uniform(7), **supported, **attrs)
    # without n_supports vectors do not count
    attrs = {"rho": make.uniform(1), "kernel_params": curve}
    yield "ml_SVMRegressor", make(x, coefficients=make.uniform(4), support_vectors=vectors[:12], **attrs)
    for name, norm in ((n, k) for n in ("ml_Normalizer",) for k in ("MAX", "L1", "L2")):
        make = maker(name)
        yield name, make(make.uniform(3, 5, low=-3, high=4), norm=norm)
        yield name, make(make.integers(3, 5, low=1, high=9, dtype="int64"), norm=norm)
    make = maker("ml_Scaler")
    yield "ml_Scaler", make(make.uniform(2, 3), offset=make.array([0.3]), scale=make.array([1.5]))
    yield "ml_Scaler", make(make.integers(2, 3, dtype="int64"), offset=make.uniform(3), scale=make.uniform(3))
    make = maker("ml_Imputer")
    whole = make.integers(4, 3, high=3, dtype="int64")
    for value in (0, 2):
        yield "ml_Imputer", make(whole, imputed_value_int64s=make.array([7, 8, 9], "int64"), replaced_value_int64=value)
        floats = {"imputed_value_floats": make.array([7.5]), "replaced_value_float": value}
        yield "ml_Imputer", make(whole.astype("float32"), **floats)
    make = maker("ml_Binarizer")
    yield "ml_Binarizer", make(make.uniform(3, 4), threshold=-0.3)
    make = maker("ml_ArrayFeatureExtractor")
    yield "ml_ArrayFeatureExtractor", make(make.uniform(3, 2, 5), make.array([4, 0, 3], "int64"))
    make = maker("ml_FeatureVectorizer")
    yield (
        "ml_FeatureVectorizer",
        make(make.uniform(3, 2), make.uniform(3, 1), make.uniform(3, 4), inputdimensions=(2, 1, 4)),
    )
    make = maker("ml_OneHotEncoder")
    for dtype in ("int64", "float32"):
        yield "ml_OneHotEncoder", make(make.array([[3, 1], [9, 5]], dtype), cats_int64s=make.array([1, 5, 3], "int64"))
    make = maker("training_Adagrad")
    one, other = [
        [make.uniform(*shape), make.uniform(*shape), make.uniform(*shape, low=0.5)] for shape in ((3, 2), (4,))
    ]
    for attrs in ({"decay_factor": 0.3, "norm_coefficient": 0.2, "epsilon": 0.1}, {}):
        inputs = [a for pair in zip(one, other) for a in pair]
        yield "training_Adagrad", make(make.array(0.1), make.array(3, "int64"), *inputs, **attrs)
    make = maker("training_Adam")
    inputs = [a for pair in zip(*((*p[:2], make.uniform(*p[0].shape), p[2]) for p in (one, other))) for a in pair]
    attrs = {"alpha": 0.7, "beta": 0.8, "epsilon": 0.1, "norm_coefficient": 0.2, "norm_coefficient_post": 0.3}
    for step in (0, 3):
        yield "training_Adam", make(make.array(0.1), make.array(step, "int64"), *inputs, **attrs)
    make = maker("training_Momentum")
    inputs = [a for pair in zip(one, other) for a in pair]
    for mode in ("standard", "nesterov"):
        for step in (0, 2):
            attrs = {"alpha": 0.7, "beta": 0.6, "mode": mode, "norm_coefficient": 0.2}
            yield "training_Momentum", make(make.array(0.1), make.array(step, "int64"), *inputs, **attrs)


def caches() -> Iterator[Row]:
    make = maker("ms_GroupQueryAttention")
    past = make.uniform(2, 2, 6, 16), make.uniform(2, 2, 6, 16)
    sizes = make.array([4, 3], "int32"), make.array(5, "int32")
    new = make.uniform(2, 1, 64), make.uniform(2, 1, 32), make.uniform(2, 1, 32)
    angles = make.uniform(8, 8), make.uniform(8, 8)
    for attrs in (
        {"scale": 0.9, "softcap": 1.3},
        {"local_window_size": 2},
        {"do_rotary": True},
        {"do_rotary": True, "rotary_interleaved": True, "scale": 0.3},
    ):
        given = ("key", "value", "past_key", "past_value") + (
            ("cos_cache", "sin_cache") if "do_rotary" in attrs else ()
        )
        more = angles if "do_rotary" in attrs else ()
        attrs = {"num_heads": 4, "kv_num_heads": 2, **attrs}
        yield "ms_GroupQueryAttention", make(*new, *past, *sizes, *more, given=given, **attrs)
    make = maker("LinearAttention")
    q, k, v = make.uniform(2, 3, 8), make.uniform(2, 3, 4), make.uniform(2, 3, 6)
    state, decay, beta = make.uniform(2, 2, 2, 3), make.uniform(2, 3, 4), make.uniform(2, 3, 2, low=0)
    inputs = {"past_state": state, "decay": decay, "beta": beta}
    for rule, names in (
        ("linear", ("past_state",)),
        ("gated", ("past_state", "decay")),
        ("delta", ("past_state", "beta")),
        ("gated_delta", ("decay", "beta")),
    ):
        attrs = {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": rule, "scale": 0.7}
        yield "LinearAttention", make(q, k, v, *(inputs[n] for n in names), given=names, **attrs)


def maker(name: str) -> Maker:
    """Function that makes examples of an operator."""
    found = MAKERS.get(name)
    if found is None:
        found = MAKERS[name] = Maker(OPS[f"_onnx_{name}"])
    return found


MAKERS: dict[str, Maker] = {}
JUMPING = {"_onnx_ml_Imputer"}
"""Operators whose rows lie at numbers beside which others mean something else."""
FAMILIES = (
    *(activations, attention, convolution, pooling, normalization, reductions),
    *(quantised, recurrent, resizing, signals),
    *(losses, places, shapes, regions, machines, caches),
)
ROWS = [(f.__name__, f"{name}-{i}", e) for f in FAMILIES for i, (name, e) in enumerate(f())]


SINGLE = {"RotaryEmbedding", "LinearAttention", "DequantizeLinear"}
SINGLE |= {"ml_LinearRegressor", "ml_Scaler"}
"""Operators that take no float64, in which check_derivatives looks at gradients."""


def check_in_single_precision(example: Example) -> None:
    """Fail unless gradients are those of differences wide enough to be seen in float32."""
    op, names = example.op, example.op.input_names()
    free = [n for n, a in zip(names, example.arrays) if a.dtype == np.float32]
    graph, feeds = graph_of(example)
    rng, step = np.random.default_rng(4), 2.0**-6
    heads = {
        i: rng.uniform(0.2, 1, y.shape).astype(np.float32)
        for i, y in enumerate(run(graph, feeds))
        if y.dtype == np.float32
    }
    got = gradients_of(op, names, feeds, heads)
    for name in free:
        along = np.where(rng.uniform(size=feeds[name].shape) < 0.5, step, -step).astype(np.float32)
        after, before = (run(graph, {**feeds, name: feeds[name] + sign * along}) for sign in (1, -1))
        changes = [(after[i] - before[i].astype(float)) * h / 2 for i, h in heads.items()]
        found, want = float((got[name] * along).sum()), sum(float(c.sum()) for c in changes)
        size = sum(float(np.abs(c).sum()) for c in changes)
        assert abs(found - want) <= 4e-3 * size + 1e-6, f"{name}: {found}, wanted {want} of {size}"


@each(ROWS, lambda row: row[:2])
def test_options_mean_what_the_standard_says(row: tuple[str, str, Example]) -> None:
    example = row[2]
    computes_what_it_infers(example)
    whole = {
        n for n, a in zip(example.op.input_names(), example.arrays) if a.dtype.kind == "i" and len(example.arrays) > 1
    }
    if row[0] != quantised.__name__ or not saturates():
        same_as_onnxruntime(example, whole)  # axes and sizes are stored: what comes of them is known
    if example.op.name[6:] in SINGLE and has_rule(example.op):
        check_in_single_precision(example)
    elif example.op.name not in JUMPING:
        check_derivatives(example, directions=1)


def test_older_versions_of_an_operator_get_no_attribute_that_they_lack() -> None:
    """Just below each change of an operator it is refused by the opset's name, or written in what that opset knows."""
    changes = defaultdict(set)
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain and schema.since_version > 14:
            changes[schema.name].add(schema.since_version - 1)
    wrong, seen = [], 0
    for example in [*(row[2] for row in ROWS), *(e for e in examples() if e.op.name.startswith("_onnx_"))]:
        op, (graph, feeds) = example.op, graph_of(example)
        stored = {n: a for n, a in feeds.items() if a.dtype.kind == "i" and len(feeds) > 1}
        specs = {n: a for n, a in feeds.items() if n not in stored}
        for opset in changes[op.name[6:]]:
            try:
                model = converters.to_onnx(graph, stored, specs, opset)
                onnx.checker.check_model(model)
            except converters.UnsupportedModel as refusal:
                if not re.search(rf"opset ({opset}|{opset + 1})\b|needs opset", str(refusal)):
                    wrong.append(f"{op} at {opset}: {refusal}")
                continue
            except onnx.checker.ValidationError as error:
                wrong.append(f"{op} at {opset}: {error}")
                continue
            seen += 1
            newest = converters.to_onnx(graph, stored, specs)
            if model.graph.node == newest.graph.node or "rng" in op.needs:
                continue
            try:
                for got, want in zip(run_oracle(model, feeds, example), Program(graph).run(feeds), strict=True):
                    close(got, want, op)
            except AssertionError as error:
                wrong.append(f"{op} at {opset}: {error}")
    assert seen > 100
    assert not wrong, "\n".join(wrong)


def computed(name: str, *arrays: Any, **attrs: Any) -> list[np.ndarray]:
    """The outputs, of a row whose shapes and gradients have been looked at."""
    make = maker(name)
    example = make(*arrays, **attrs)
    computes_what_it_infers(example)
    check_derivatives(example, directions=1)
    graph, feeds = graph_of(example)
    return Program(graph).run(feeds)


def test_what_neither_onnxruntime_nor_the_evaluator_computes() -> None:
    """By their definitions, written down here."""
    rng = np.random.default_rng(8)

    def single(*shape: int) -> np.ndarray:
        return rng.uniform(-1, 1, shape).astype(np.float32)

    # the way back from half a spectrum, of even and odd lengths, along any axis
    spectrum = single(2, 4, 3, 2)
    numbers = spectrum[..., 0] + 1j * spectrum[..., 1].astype(np.float64)
    for axis, length in ((1, 6), (1, 7), (0, 3), (-2, 5), (2, 4)):
        given = np.array(length), np.array(axis)
        (got,) = computed("DFT", spectrum, *given, given=("dft_length", "axis"), inverse=True, onesided=True)
        want = np.fft.irfft(numbers, length, axis % 4)
        np.testing.assert_allclose(got[..., 0], want, rtol=0, atol=1e-6, err_msg=str((axis, length)))
    # shares of attention in another precision
    q, k, v = single(1, 1, 2, 4), single(1, 1, 5, 4), single(1, 1, 5, 3)
    scores = np.exp(q @ k.swapaxes(-1, -2) / 2)
    shares = (scores / scores.sum(-1, keepdims=True)).astype(np.float16).astype(np.float32)
    op = OPS["_onnx_Attention"].bind(softmax_precision="float16", num_outputs=1)
    (got,) = op.compute(q, k, v)
    np.testing.assert_allclose(got, shares @ v, rtol=0, atol=3e-4)
    assert np.abs(got - scores / scores.sum(-1, keepdims=True) @ v).max() > 1e-6
    for precision in (np.float16, ml_dtypes.bfloat16):
        op = OPS["_onnx_Attention"].bind(softmax_precision=np.dtype(precision), num_outputs=4, qk_matmul_output_mode=3)
        outputs = op.compute(q, k, v)
        rounded = outputs[3].astype(precision).astype(np.float32)
        np.testing.assert_array_equal(outputs[3], rounded)
        assert outputs[3].dtype == np.float32
        np.testing.assert_allclose(outputs[3], scores / scores.sum(-1, keepdims=True), rtol=0.03)
        np.testing.assert_allclose(outputs[0], rounded @ v, rtol=1e-6)
    # neighbours of channels by even sizes, and by more than there are
    for shape, size in (((2, 5, 3), 2), ((1, 5, 2, 3), 4), ((2, 3), 6), ((2, 3, 2), 7)):
        x = single(*shape)
        (got,) = computed("LRN", x, size=size, alpha=2.0, beta=0.6, bias=0.7)
        for c in range(shape[1]):
            near = x[:, max(0, c - (size - 1) // 2) : c + size // 2 + 1].astype(np.float64)
            want = x[:, c] / (0.7 + 2.0 / size * np.square(near).sum(1)) ** 0.6
            np.testing.assert_allclose(got[:, c], want, rtol=1e-5)
    # a mask for fewer keys than there are hides the others, and has a gradient of its own shape
    for count in (1, 2, 3, 4):
        mask = single(2, count)
        outputs = computed("Attention", q, k, v, mask, given=("attn_mask",), num_outputs=count)
        shares = np.exp(q @ k[:, :, :count].swapaxes(-1, -2) / 2 + mask)
        want = (shares / shares.sum(-1, keepdims=True)) @ v[:, :, :count]
        np.testing.assert_allclose(outputs[0], want, rtol=0, atol=1e-6)
    # fewer outputs of a training step than a model may have
    arrays = single(4, 3, 2), *(single(3) + 2 for _ in range(4))
    attrs = {"training_mode": True, "epsilon": 0.2, "momentum": 0.3}
    outputs = computed("BatchNormalization", *arrays, num_outputs=3, **attrs)
    for count in (1, 2):
        found = computed("BatchNormalization", *arrays, num_outputs=count, **attrs)
        for got, wanted in zip(found, outputs[:count], strict=True):
            np.testing.assert_array_equal(got, wanted)
    # a class to ignore that counts from behind, or is none, is that number and no other
    log_prob, weight = np.log(rng.dirichlet(np.ones(4), (3, 2)).transpose(0, 2, 1)).astype(np.float32), single(4) + 2
    labels = np.array([[-1, 3], [0, -4], [2, -1]])
    for ignored in (-1, 3, -4, -100):
        for reduction in ("none", "sum", "mean"):
            (got,) = computed(
                "NegativeLogLikelihoodLoss", log_prob, labels, weight, given=("weight",), reduction=reduction,
                ignore_index=ignored,
            )  # fmt: skip
            share = np.where(labels == ignored, 0, weight[labels])
            want = -share * np.take_along_axis(log_prob, labels[:, None] % 4, 1)[:, 0]
            want = want if reduction == "none" else want.sum() / (share.sum() if reduction == "mean" else 1)
            np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-7, err_msg=f"{ignored} {reduction}")
    # mean and 1 / deviation in double precision, in which their gradients show
    x, scale, shift = (rng.uniform(0.5, 2, s).astype(np.float32) for s in ((2, 3, 4), (3, 4), (4,)))
    for axis, over, count in ((-1, (2,), 3), (-2, (1, 2), 2), (0, (0, 1, 2), 3), (1, (1, 2), 3)):
        attrs = {"axis": axis, "stash_type": "float64", "epsilon": 0.05, "num_outputs": count}
        outputs = computed("LayerNormalization", x, scale[-1:], shift, given=("B",), **attrs)
        wide = x.astype(np.float64)
        wanted = [wide.mean(over, keepdims=True), 1 / np.sqrt(wide.var(over, keepdims=True) + 0.05)]
        for got, want in zip(outputs[1:], wanted):
            assert got.dtype == np.float64
            np.testing.assert_allclose(got, want, rtol=1e-12)
    # what a rule does not read has no influence
    numbers = single(2, 3, 4), single(2, 3, 4), single(2, 3, 6)
    attrs = {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"}
    plain = computed("LinearAttention", *numbers, **attrs)
    for names, more in ((("decay",), (single(2, 3, 4),)), (("decay", "beta"), (single(2, 3, 2), single(2, 3, 2)))):
        example = maker("LinearAttention")(*numbers, *more, given=names, **attrs)
        graph, feeds = graph_of(example)
        for got, wanted in zip(Program(graph).run(feeds), plain, strict=True):
            np.testing.assert_array_equal(got, wanted)
        found = gradients_of(example.op, example.op.input_names(), feeds, {0: np.ones_like(plain[0])})
        assert all(not found[n].any() and found[n].shape == feeds[n].shape for n in names)
    # positions of the first half of tf's nearest, which are those of the middles
    x = single(2, 5, 3)
    for scale in (0.4, 2.0):
        attrs = {"given": ("scales",), "axes": (1,), "nearest_mode": "floor"}
        factors = np.array([scale], np.float32)
        (got,) = computed("Resize", x, factors, coordinate_transformation_mode="tf_half_pixel_for_nn", **attrs)
        np.testing.assert_array_equal(got, x[:, np.floor((np.arange(int(5 * scale)) + 0.5) / scale).astype(int)])
    # whole numbers are rounded where all that a new one covers has a share, else cut off, and kept to what they hold
    attrs = {"axes": (1,), "given": ("sizes",), "mode": "cubic"}
    for dtype in (np.int8, np.uint8):
        limits = np.iinfo(dtype)
        whole = np.where(rng.uniform(size=(2, 9, 3)) < 0.5, limits.min, limits.max).astype(dtype)
        for size, antialias in ((4, True), (14, False)):
            (found,) = computed("Resize", whole.astype(np.float32), np.array([size]), antialias=antialias, **attrs)
            (got,) = computed("Resize", whole, np.array([size]), antialias=antialias, **attrs)
            want = (np.rint if antialias else np.trunc)(found).clip(limits.min, limits.max)
            assert (np.abs(got - want) <= (np.abs(found - np.rint(found)) < 1e-4)).all()
            assert (found > limits.max).any() or antialias
    # whole numbers by factors that are none
    a, b, c = (rng.integers(-9, 9, s).astype(np.int32) for s in ((3, 4), (4, 2), (2,)))
    gemm = OPS["_onnx_Gemm"].bind(alpha=0.5, beta=-1.25, given=("C",))
    np.testing.assert_array_equal(gemm.compute(a, b, c), np.trunc(0.5 * (a @ b) - 1.25 * c))
    np.testing.assert_array_equal(
        OPS["_onnx_Gemm"].bind(alpha=3, beta=-2, given=("C",)).compute(a, b, c), 3 * (a @ b) - 2 * c
    )
    # chances as places on the normal distribution, of two classes those of both
    weights = {"coefficients": single(4) * 0.1 + 0.12, "intercepts": np.float32([0.1])}
    features = np.abs(single(6, 4))
    chances = (features @ weights["coefficients"] + 0.1).astype(float)
    classifier = OPS["_onnx_ml_LinearClassifier"].bind(
        post_transform="PROBIT", classlabels_ints=np.array([3, 8]), **weights
    )
    _, got = classifier.compute(features)
    want = [NormalDist().inv_cdf(chance) for chance in chances]
    np.testing.assert_allclose(got, np.stack([np.negative(want), want], 1), rtol=0, atol=5e-3)
    # features moved or scaled alone
    factors = single(3)
    np.testing.assert_array_equal(computed("ml_Scaler", x, offset=factors)[0], x - factors)
    np.testing.assert_array_equal(computed("ml_Scaler", x, scale=factors)[0], x * factors)
    # bits that are truth
    bits = OPS["_onnx_BitCast"].bind(to="bool").compute(np.array([0, 1, 254], np.uint8))
    assert (bits.dtype, bits.tolist()) == (np.bool_, [False, True, True])
    # windows that lie apart, where the padding of SAME is less than none
    for pad in ("SAME_UPPER", "SAME_LOWER"):
        computed("AveragePool", single(2, 3, 7, 5), kernel_shape=(2, 1), strides=(5, 3), auto_pad=pad)
    # what is added to the scores of a cache's queries
    heads = {"num_heads": 2, "kv_num_heads": 2}
    query, past, bias = single(1, 1, 8), single(2, 1, 2, 3, 4), single(1, 2, 1, 4)
    sizes = np.array([3], np.int32), np.array(4, np.int32)
    new = single(1, 1, 8), single(1, 1, 8)
    given = ("key", "value", "past_key", "past_value", "attention_bias")
    op = OPS["_onnx_ms_GroupQueryAttention"].bind(given=given, **heads)
    got = op.compute(query, *new, *past, *sizes, bias)
    keys, values = (np.concatenate([p, n.reshape(1, 1, 2, 4).swapaxes(1, 2)], 2) for p, n in zip(past, new))
    scores = np.exp(query.reshape(1, 1, 2, 4).swapaxes(1, 2) @ keys.swapaxes(-1, -2) / 2 + bias)
    want = (scores / scores.sum(-1, keepdims=True)) @ values
    np.testing.assert_allclose(got[0].reshape(1, 2, 1, 4), want, rtol=0, atol=1e-6)
    for one, other in zip(got[1:], (keys, values)):
        np.testing.assert_array_equal(one, other)
