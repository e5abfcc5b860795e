"""Convolutions at moved points as DeformConv, which fades to zeros around the image as the modulated one does."""

from hybrid.shapes import is_known

from ..registry import from_onnx, not_exported, to_onnx
from .convolution import in_networks, padded


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


@from_onnx("DeformConv", since=19)
def _(
    g,
    x,
    w,
    offset,
    b=None,
    mask=None,
    *,
    dilations=None,
    group=1,
    kernel_shape=None,
    offset_group=1,
    pads=None,
    strides=None,
):
    shape = w.shape if is_known(w.shape) and len(w.shape) == 4 else None
    if mask is None or shape is None or shape[0] % offset_group or not in_networks(x):
        attrs = {"dilations": dilations, "group": group, "kernel_shape": kernel_shape, "offset_group": offset_group}
        return g.itself(x, w, offset, b, mask, **attrs, pads=pads, strides=strides)
    before, after = (pads[:2], pads[2:]) if pads else ((0, 0), (0, 0))
    if before != after:
        x, before = padded(g, x, before, after), (0, 0)
    return g.apply(
        "_contrib_ModulatedDeformableConvolution",
        *(v for v in (x, offset, mask, w, b) if v is not None),
        kernel=shape[2:],
        stride=strides or (1, 1),
        dilate=dilations or (1, 1),
        pad=before,
        num_filter=shape[0],
        num_group=group,
        num_deformable_group=offset_group,
        no_bias=b is None,
    )
