"""Keep float32 between operators of float16 and bfloat16 networks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.op import Op
from ..ir.graph import Entry, Graph, Node
from ..ops.activation import Activation, LeakyReLU
from ..ops.binary import BinaryOp, BinaryScalarOp, MaximumScalar
from ..ops.casting import Cast
from ..ops.convolution import Convolution, Deconvolution
from ..ops.elementwise import AddN, Clip, DivSqrtDim, HardSigmoid, Quadratic, SmoothL1, Unary
from ..ops.expand import Broadcasting, NumpyPad, Pad, Repeat, Tile
from ..ops.join import Joining, SliceChannel, SplitV2, Stacking
from ..ops.linear import (
    BatchDot,
    CrossAttentionScores,
    CrossAttentionValues,
    Dot,
    FullyConnected,
    Gemm2,
    GemmPlus,
    Matmul,
    SelfAttentionScores,
    SelfAttentionValues,
)
from ..ops.loss_heads import SoftmaxOutput
from ..ops.normalization import LRN, BatchNormWithReLU, GroupNorm, InstanceNorm, L2Normalization, LayerNorm, _BatchNorm
from ..ops.pooling import AdaptiveAvgPooling2D, Pooling
from ..ops.reduce import Max, Mean, Min, NpMax, NpMean, NpMin, NpSum, Reduction
from ..ops.shape import Permutation, Reshaping
from ..ops.slicing import Slice, SliceAxis, SliceLike
from ..ops.softmax import LogSoftmax, Softmax, SoftmaxActivation, Softmin
from ..ops.upsampling import BilinearResize2D, DepthToSpace, SpaceToDepth, UpSampling
from .rewriter import Rewriter

_COMPUTES = (
    *(Activation, LeakyReLU, AddN, Clip, DivSqrtDim, HardSigmoid, Quadratic, SmoothL1),
    *(Convolution, Deconvolution, FullyConnected, Dot, BatchDot, Gemm2, GemmPlus, Matmul),
    *(SelfAttentionScores, SelfAttentionValues, CrossAttentionScores, CrossAttentionValues),
    *(BatchNormWithReLU, GroupNorm, InstanceNorm, L2Normalization, LayerNorm, LRN, _BatchNorm),
    *(AdaptiveAvgPooling2D, Pooling, Max, Mean, Min, NpMax, NpMean, NpMin, NpSum, Reduction),
    *(LogSoftmax, Softmax, SoftmaxActivation, Softmin, SoftmaxOutput),
    *(BilinearResize2D, UpSampling),
)
"""Operators of numbers: a little more of an input gives a little more or less of the output."""
_MOVES = (
    *(Broadcasting, NumpyPad, Pad, Repeat, Tile, Joining, SliceChannel, SplitV2, Stacking, Permutation, Reshaping),
    *(Slice, SliceAxis, SliceLike, DepthToSpace, SpaceToDepth),
)
"""Operators that move numbers about; they are better done on the half of the bytes, unless the numbers come in float32."""
_UNARY_FUNCTIONS = frozenset(
    word
    for line in (
        "abs negative square relu exp expm1 log log10 log2 log1p sqrt rsqrt cbrt rcbrt reciprocal sin cos arctan sinh cosh",
        "tanh arcsinh degrees radians sigmoid softsign log_sigmoid mish erf",
    )
    for word in line.split()
)
_ARITHMETIC = frozenset(("add", "subtract", "multiply", "divide", "power", "hypot", "maximum", "minimum"))
"""Functions without steps, by the names of ops/unary_functions.py and ops/binary.py."""
_FLOAT32 = np.dtype(np.float32)


def widen_half(graph: Graph, rewriter: Rewriter) -> Graph:
    """Keep in float32 what operators of float16 or bfloat16 numbers hand each other; outputs are rounded, once.

    Before: ``relu(conv(x, w))`` in float16. After: ``cast(relu(conv(cast(x, float32), cast(w, float32))), float16)``.
    Whatever decides (comparisons, argmax, floor), converts (Cast), or is not known to be smooth reads what a user would see:
    numbers that were rounded. docs/decisions/0014 says what such a graph means. Training rounds after every operator.
    What begins at the least number of its dtype (maxima of windows) is held to that of the narrow one, in training too.
    """
    wide: dict[tuple[int, int], Entry] = {}

    def is_narrow(entry: Entry) -> bool:
        dtype = rewriter.dtype(entry)
        return dtype is not None and dtype.itemsize == 2 and dtype.name in ("float16", "bfloat16")

    def widened(entry: Entry, now: Callable[[Entry], Entry]) -> Entry:
        """The entry in float32, if it is narrow."""
        if not is_narrow(entry):
            return now(entry)
        key = id(entry.node), entry.index
        if key not in wide:
            wide[key] = rewriter.make(Cast.bind(dtype=_FLOAT32), f"{entry.node.name}_wide", now(entry))
        return wide[key]

    def change(node: Node, now: Callable[[Entry], Entry]) -> list[Entry] | None:
        assert node.op is not None
        outputs = [Entry(node, i) for i in range(len(node.op.output_names()))]
        kinds = {rewriter.dtype(e) for e in (*node.inputs, *outputs) if is_narrow(e)}
        if len(kinds) != 1 or not all(map(rewriter.is_known, (*outputs, *node.inputs))):
            return None
        (dtype,) = kinds
        assert dtype is not None
        bounded: Any = None if node.op.kernel_matches(dtype) else node.op
        if rewriter.training and bounded is None:
            return None
        moves = node.means(*_MOVES) and any((id(e.node), e.index) in wide for e in node.inputs)
        if not (moves or _computes(node)) or rewriter.is_constant(outputs[0]):
            return None
        if not any(map(is_narrow, outputs)) or not any(map(is_narrow, node.inputs)):
            return None
        made = rewriter.make(_as_rounded(node.op, dtype), node.name, *(widened(e, now) for e in node.inputs)).node
        results: list[Entry] = []
        for own, result in zip(outputs, (Entry(made, i) for i in range(len(outputs)))):
            wanted = rewriter.dtype(own)
            if rewriter.shape(result) != rewriter.shape(own):
                return None
            if rewriter.dtype(result) != (_FLOAT32 if is_narrow(own) else wanted):
                return None
            results.append(result)
        for i, own in enumerate(outputs):
            if is_narrow(own):
                if bounded is not None:  # a window of nothing, of NaN or of -inf gives the least number of its dtype
                    least = MaximumScalar.bind(scalar=bounded.least(dtype))
                    results[i] = rewriter.make(least, f"{node.name}_least", results[i])
                if not rewriter.training:
                    wide[id(node), i] = results[i]
                results[i] = rewriter.make(Cast.bind(dtype=dtype), f"{node.name}_narrow", results[i])
        return results

    return rewriter.rewrite(graph, change)


def _computes(node: Node) -> bool:
    op: Any = node.op
    if node.means(Unary):
        return op.unary_function.name in _UNARY_FUNCTIONS
    if node.means(BinaryOp, BinaryScalarOp):
        return op.arithmetic.name in _ARITHMETIC
    return node.means(*_COMPUTES)


def _as_rounded(op: Any, dtype: np.dtype) -> Op:
    """The operator with its numbers as they are in the dtype: a constant of a network is a value that a user sees."""
    names = ("scalar",) if op.means(BinaryScalarOp) else ("a_min", "a_max") if op.means(Clip) else ()
    if not names:
        return op
    with np.errstate(over="ignore"):
        rounded = {n: float(np.asarray(getattr(op, n)).astype(dtype)) for n in names}
    return type(op).bind(**{**{n: getattr(op, n) for n in op.fields}, **rounded})
