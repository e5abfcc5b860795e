"""Arrays of a run shown to who watches: all that a CachedOp computes, forward and backward, under the names MXNet gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..core.op import BACKWARD
from ..execution.context import Context
from ..execution.hooks import Observer
from ..ir.graph import Node
from .array import NDArray


class _Name(str):
    """The name of an array that a callback is given: a text, which MXNet hands out as bytes, so that programs decode it."""

    __slots__ = ()

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The name as plain text."""
        return str(self)


class Watch(NamedTuple):
    """``callback(name, operator, array)`` for every output of every operator, and of every backward operator: the shares of
    gradients that it gives, one for each input. Source: MXNet's CachedOp (operator hooks) and Executor (monitors)."""

    callback: Callable[[str, str, NDArray], Any]
    inputs: bool
    """True to show inputs of forward operators, before the operators."""
    monitor: bool = False
    """True for an Executor's monitor, which sees variables by their own names too, and outputs as ``list_outputs`` has them."""

    def observer(self, feeds: Mapping[str, NDArray], ctx: Context, face: type[NDArray]) -> Observer:
        """Return what a run with these inputs is to call. face: the class of the arrays that are shown."""
        made: dict[tuple[int, int], NDArray] = {}

        def observe(node: Node, outputs: tuple[np.ndarray, ...]) -> None:
            assert node.op is not None
            operator = _Name(node.op.name)
            for entry, what in zip(node.inputs, _input_names(node)) if self.inputs else ():
                if entry.node.is_variable and entry.node.name in feeds:
                    value = feeds[entry.node.name]
                    if self.monitor:
                        self.callback(_Name(entry.node.name), operator, value)
                else:
                    value = made.get((id(entry.node), entry.index))
                if value is not None:
                    self.callback(_Name(f"{node.name}_{what}"), operator, value)
            shown = node.num_outputs if self.monitor else node.op.num_visible_outputs()
            for i, (name, output) in enumerate(zip(node.outputs, outputs)):
                value = face._own(output, ctx)
                named = self.monitor or node.op.name in NAMED_OUTPUTS
                if i < shown:
                    self.callback(_Name(name if named else f"{node.name}_{i}"), operator, value)
                if self.inputs:
                    made[id(node), i] = value

        return observe

    def show_shares(self, shares: Iterable[tuple[Node, int, NDArray]]) -> None:
        """Show what backward operators gave: (forward node, its input, the gradient by this use of it)."""
        for node, i, value in shares:
            assert node.op is not None
            which = f"output{i}" if self.monitor and len(node.inputs) > 1 else "output" if self.monitor else i
            self.callback(_Name(f"{node.name}_backward_{which}"), _Name(BACKWARD + node.op.name), value)


def _input_names(node: Node) -> Iterable[str]:
    assert node.op is not None
    return ("input0",) if node.op.name in UNNAMED_INPUTS else node.op.input_names()


_UNNAMED_INPUTS = """
    Activation BlockGrad Cast Flatten Reshape SoftmaxActivation _contrib_AdaptiveAvgPooling2D _contrib_arange_like
    _contrib_bipartite_matching _contrib_box_nms _contrib_div_sqrt_dim _contrib_gradientmultiplier _contrib_round_ste
    _contrib_sign_ste _copy _div_scalar _equal_scalar _greater_equal_scalar _greater_scalar _hypot_scalar
    _image_adjust_lighting _image_crop _image_flip_left_right _image_flip_top_bottom _image_random_brightness
    _image_random_contrast _image_random_hue _image_random_saturation _image_resize _lesser_equal_scalar _lesser_scalar
    _logical_and_scalar _logical_or_scalar _logical_xor_scalar _maximum_scalar _minimum_scalar _minus_scalar _mod_scalar
    _mul_scalar _not_equal_scalar _npi_add_scalar _npi_arctan2_scalar _npi_argmax _npi_argmin _npi_bitwise_and_scalar
    _npi_bitwise_or_scalar _npi_bitwise_xor_scalar _npi_lcm_scalar _npi_ldexp_scalar _npi_mod_scalar
    _npi_multiply_scalar _npi_norm _npi_power_scalar _npi_rarctan2_scalar _npi_rldexp_scalar _npi_rmod_scalar
    _npi_rpower_scalar _npi_rsubtract_scalar _npi_rtrue_divide_scalar _npi_subtract_scalar _npi_true_divide_scalar
    _npx_relu _npx_sigmoid _plus_scalar _power_scalar _rdiv_scalar _rminus_scalar _rmod_scalar _rpower_scalar abs
    amp_cast arccos arccosh arcsin arcsinh arctan arctanh argmax argmin argsort broadcast_axis broadcast_to cbrt ceil
    clip cos cosh degrees erf erfinv exp expand_dims expm1 fix floor gamma gammaln hard_sigmoid log log10 log1p log2
    logical_not make_loss max mean min nanprod nansum negative norm ones_like prod radians rcbrt reciprocal relu rint
    round rsqrt shape_array sigmoid sign sin sinh size_array slice slice_axis smooth_l1 softmin softsign sort sqrt
    square sum tan tanh topk transpose trunc zeros_like
"""
UNNAMED_INPUTS = frozenset(_UNNAMED_INPUTS.split())
"""Operators of one input whose name MXNet's own do not say (they have no FListInputNames), by which hooks call it input0."""

_NAMED_OUTPUTS = """
    Activation BatchNorm BatchNorm_v1 BilinearSampler Concat Convolution Convolution_v1 Correlation Crop Deconvolution
    Dropout FullyConnected GridGenerator GroupNorm IdentityAttachKLSparseReg InstanceNorm L2Normalization LRN LayerNorm
    LeakyReLU MakeLoss Pad Pooling Pooling_v1 RNN ROIPooling SVMOutput SequenceLast SequenceMask SequenceReverse
    SliceChannel SoftmaxActivation SoftmaxOutput SpatialTransformer SwapAxis UpSampling _contrib_BatchNormWithReLU
    _contrib_DeformableConvolution _contrib_DeformablePSROIPooling _contrib_ModulatedDeformableConvolution
    _contrib_MultiBoxDetection _contrib_MultiBoxPrior _contrib_MultiBoxTarget _contrib_MultiProposal
    _contrib_PSROIPooling _contrib_Proposal _contrib_ROIAlign _contrib_SyncBatchNorm _contrib_hawkesll
    _contrib_index_array _contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_valatt
    _contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt _contrib_quantize_asym
    _contrib_quantized_concat _contrib_quantized_conv _contrib_quantized_elemwise_mul _contrib_quantized_embedding
    _contrib_quantized_flatten _contrib_quantized_fully_connected _contrib_quantized_pooling _npi_concatenate
    _npi_dstack _npi_hstack _npi_matmul _npi_std _npi_var _rnn_param_concat col2im elemwise_add im2col make_loss softmax
    softmin
"""
NAMED_OUTPUTS = frozenset(_NAMED_OUTPUTS.split())
"""Operators whose outputs MXNet's own name (they have an FListOutputNames); hooks count those of others."""
