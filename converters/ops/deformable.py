"""Convolutions at moved points as DeformConv, which fades to zeros around the image as the modulated one does."""

from ..registry import not_exported, to_onnx


@to_onnx("_contrib_ModulatedDeformableConvolution", since=19)
def _(b, op, data, offset, mask, weight, bias=None):
    return b.DeformConv(
        data,
        weight,
        offset,
        bias,
        mask,
        kernel_shape=list(op.kernel),
        strides=list(op.strides),
        dilations=list(op.dilations),
        pads=[*op.pads, *op.pads],
        group=op.num_group,
        offset_group=op.num_deformable_group,
    )


not_exported(
    "it keeps the last pixel's value beyond its centre, where ONNX's DeformConv fades to zero",
    "_contrib_DeformableConvolution",
)
