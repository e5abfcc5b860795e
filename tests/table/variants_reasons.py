"""Reasons why variants of recorded cases are answered otherwise here than by MXNet (test_variants.py): rules, with the operators
that each is needed for. A rule holds for variants whose text it matches; the first that does counts."""

from __future__ import annotations

import re
from typing import NamedTuple


class Rule(NamedTuple):
    """A reason for differences."""

    pattern: str
    why: str
    operators: frozenset[str]


def _rule(pattern: str, why: str, operators: str) -> Rule:
    return Rule(pattern, why, frozenset(operators.split()))


def rule(rules: list[Rule], operator: str, text: str) -> Rule | None:
    """Rule that says why the operator answers a variant of this text otherwise; None where none does."""
    return next((r for r in rules if operator in r.operators and re.search(r.pattern, text)), None)


WIDER = [
    _rule(
        r"=(True|False|1|0)$",
        "True, False, 1 and 0 as each other",
        """
        Correlation GroupNorm LRN LayerNorm RNN SequenceLast SequenceMask SliceChannel SwapAxis UpSampling _arange
        _contrib_BilinearResize2D _contrib_DeformablePSROIPooling _contrib_ModulatedDeformableConvolution
        _contrib_MultiBoxDetection _contrib_MultiProposal _contrib_PSROIPooling _contrib_Proposal _contrib_ROIAlign
        _contrib_SparseEmbedding _contrib_arange_like _contrib_bipartite_matching _contrib_box_nms
        _contrib_calibrate_entropy _contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_valatt
        _contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt
        _contrib_quantized_batch_norm _contrib_quantized_conv _contrib_quantized_pooling _contrib_quantized_rnn
        _cvcopyMakeBorder _cvimresize _eye _histogram _image_crop _image_resize _linalg_extractdiag
        _linalg_extracttrian _linalg_gemm _linalg_makediag _linalg_maketrian _linspace _np_cumsum _np_diag
        _np_diagflat _np_max _np_min _np_prod _np_sum _np_trace _npi_argmax _npi_argmin _npi_around _npi_bincount
        _npi_boolean_mask_assign_scalar _npi_delete _npi_diff _npi_dsplit _npi_dstack _npi_einsum _npi_eye _npi_hsplit
        _npi_hstack _npi_insert_scalar _npi_insert_slice _npi_insert_tensor _npi_logspace _npi_multinomial _npi_rot90
        _npi_stack _npi_std _npi_tensorinv _npi_tril _npi_var _split_v2 _zeros_without_dtype argmax argmin argsort
        depth_to_space diag expand_dims log_softmax one_hot repeat slice_axis softmax softmin sort space_to_depth
        stack take topk""",
    ),
    _rule(
        r"=(nan|None)$",
        "a bound or factor that is no number, or is not given",
        """
        _contrib_BilinearResize2D _contrib_quantize_asym _contrib_quantize_v2 _contrib_quantized_batch_norm
        _contrib_quantized_elemwise_add _contrib_quantized_elemwise_mul _contrib_requantize _linspace _np_max _np_min
        _np_prod _np_sum _npi_bernoulli _npi_boolean_mask_assign_scalar _npi_ediff1d _npi_nan_to_num _npi_rot90
        _slice_assign_scalar log_softmax smooth_l1 softmax softmin""",
    ),
    _rule(
        r"",
        "what NumPy takes, or is plain all the same: axes from the end, labels, pads and masks of any number",
        """
        BatchNorm_v1 Pooling SoftmaxOutput UpSampling _contrib_BatchNormWithReLU _contrib_BilinearResize2D
        _contrib_DeformableConvolution _contrib_DeformablePSROIPooling _contrib_ModulatedDeformableConvolution
        _contrib_MultiBoxTarget _contrib_SparseEmbedding _contrib_boolean_mask _contrib_box_nms
        _contrib_quantized_batch_norm _contrib_quantized_pooling _full _image_crop _linalg_extractdiag _linspace
        _np_cumsum _np_max _np_min _np_prod _np_roll _np_sum _np_transpose _npi_arange _npi_bernoulli _npi_bitwise_and
        _npi_bitwise_or _npi_bitwise_xor _npi_boolean_mask_assign_scalar _npi_boolean_mask_assign_tensor _npi_dsplit
        _npi_flip _npi_rot90 _npi_tensorinv _ones _zeros _zeros_without_dtype broadcast_axis gather_nd norm reverse
        squeeze tile transpose""",
    ),
]
"""Taken here and refused by MXNet."""

NARROWER = [
    _rule(
        r"=nan$",
        "a bound or factor that is no number",
        """
        Dropout IdentityAttachKLSparseReg LRN ROIPooling _contrib_DeformablePSROIPooling _contrib_PSROIPooling
        _contrib_ROIAlign _contrib_RROIAlign _contrib_quantized_rnn _image_random_brightness _image_random_contrast
        _image_random_saturation""",
    ),
    _rule(
        r"=None$",
        "None for a tuple, which then says nothing at all",
        """
        GridGenerator LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput _npi_dsplit _npi_identity
        _npi_insert_scalar _npi_insert_slice _npi_ones _npi_tensorsolve _npi_zeros _split_v2 slice_like tile""",
    ),
    _rule(
        r"^[\d*]+:",
        "shapes of which MXNet looks at a part, or reads past the end (see test_shapes.py)",
        """
        BatchNorm CTCLoss Correlation GroupNorm IdentityAttachKLSparseReg _contrib_BatchNormWithReLU
        _contrib_DeformableConvolution _contrib_DeformablePSROIPooling _contrib_MultiBoxDetection _contrib_allclose
        _contrib_box_decode _contrib_box_encode _contrib_calibrate_entropy _contrib_index_array
        _contrib_interleaved_matmul_encdec_valatt _contrib_interleaved_matmul_selfatt_qk
        _contrib_interleaved_matmul_selfatt_valatt _linalg_potrf _linalg_potri _npi_insert_scalar _npi_insert_slice
        _npi_insert_tensor _npi_pad _npi_rot90 _npi_stack _npi_tensordot _npi_tensordot_int_axes _unravel_index
        batch_take im2col stack where""",
    ),
    _rule(
        r"#",
        "places outside, and matrices that have no inverse",
        """
        CTCLoss ROIPooling _contrib_MultiProposal _contrib_Proposal _contrib_ROIAlign _contrib_index_copy _linalg_trsm""",
    ),
    _rule(
        r"=\(",
        "an axis that is named twice, which MXNet turns twice; a step of 0 beside one that is none",
        """
        _contrib_MultiBoxPrior _npi_flip reverse""",
    ),
    _rule(
        r"",
        "elements of a tuple, negative numbers and sizes of 0 that MXNet does not look at, or makes empty arrays of",
        """
        Correlation Crop GridGenerator IdentityAttachKLSparseReg LRN Pooling Pooling_v1 UpSampling
        _contrib_AdaptiveAvgPooling2D _contrib_BilinearResize2D _contrib_DeformableConvolution
        _contrib_DeformablePSROIPooling  _contrib_MultiProposal _contrib_PSROIPooling
        _contrib_Proposal _contrib_arange_like _contrib_index_array _contrib_interleaved_matmul_encdec_qk
        _contrib_interleaved_matmul_selfatt_qk _contrib_quantized_rnn _histogram _image_adjust_lighting _image_crop
        _npi_bincount _npi_identity _npi_tensordot_int_axes im2col scatter_nd""",
    ),
]
"""Refused here and taken by MXNet."""

OTHERWISE = [
    _rule(
        r"nan$",
        "NaN among numbers that are put in order, clipped, or go through BLAS and oneDNN",
        """
        Activation CTCLoss Deconvolution RNN ROIPooling _contrib_DeformablePSROIPooling _contrib_MultiBoxDetection
        _contrib_Proposal _contrib_RROIAlign _contrib_bipartite_matching _contrib_box_decode _contrib_quantized_conv
        _contrib_quantized_fully_connected _linalg_gelqf _linalg_inverse _linalg_potri _linalg_slogdet _linalg_trmm
        _linalg_trsm _linspace _npi_logspace _npi_percentile _npi_tensorinv _npi_unique _random_pdf_uniform
        _unravel_index log_softmax softmax""",
    ),
    _rule(
        r"",
        "products of 8 bits by oneDNN on a CPU without VNNI, which overflow",
        """
        _contrib_quantized_conv _contrib_quantized_elemwise_add _contrib_quantized_fully_connected
        _contrib_quantized_rnn""",
    ),
    _rule(
        r"",
        "random numbers that came out the same twice",
        """
        _npi_choice _npi_multinomial""",
    ),
    _rule(
        r"",
        "labels that are the blank, or no class; places before the array: MXNet reads what lies there",
        """
        CTCLoss _contrib_index_copy softmax_cross_entropy""",
    ),
    _rule(
        r"",
        "LAPACK leaves the order and sign open; a matrix that has no inverse",
        """
        _npi_eig _npi_eigvals _npi_pinv_scalar_rcond""",
    ),
    _rule(
        r"",
        "more degrees of freedom than numbers, of which MXNet takes the difference without a sign",
        """
        _npi_std _npi_var""",
    ),
    _rule(
        r"",
        "parameters that no distribution has",
        """
        _random_pdf_exponential _random_pdf_normal""",
    ),
    _rule(
        r"",
        "pictures of no size, and numbers that overflow on the way",
        """
        _contrib_MultiBoxTarget _contrib_MultiProposal _contrib_Proposal _npi_around _npi_logspace""",
    ),
    _rule(
        r"=",
        "attributes that mean nothing beside the others, by which MXNet goes all the same",
        """
        _npi_delete _npi_dsplit""",
    ),
]
"""Taken by both, with other numbers."""

LESS = _rule(
    "",
    "",
    "_npi_dstack _npi_hstack _npi_insert_scalar _npi_insert_slice _npi_insert_tensor _npi_polyval _npi_where_scalar2",
).operators
"""Operators of which less follows for one input from the others: what MXNet says of the rest may be any size all the same."""
