"""Deformable convolutions: one convolution computes where another reads."""

from __future__ import annotations

import math
from typing import Any

from ....core.error import OpError
from ... import nn
from ...hybrid_block import HybridBlock

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]


def _pair(size: Any) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else tuple(size)


class DeformableConvolution(HybridBlock):
    """2-D convolution of data (N, C, H, W) whose taps are moved by offsets, which a convolution of the same data computes.

    in_channels=0 waits for the first data. offset_* concern the convolution for the offsets, groups both. Only layout NCHW is
    computed, in MXNet too. Source: Dai et al. 2017, arXiv:1703.06211.

    Raises AssertionError for another layout than NCHW and NHWC, OpError for NHWC, which cannot be computed.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cnn = mx.gluon.contrib.cnn
    >>> layer = cnn.DeformableConvolution(4, kernel_size=(3, 3), padding=(1, 1))
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 2, 5, 5))).shape
    (1, 4, 5, 5)
    """

    _per_tap = 2
    """Numbers that are computed for each tap: how far it moves down and right,"""
    _offsets_first = True
    offset_weight: Any
    offset_bias: Any
    deformable_conv_weight: Any
    deformable_conv_bias: Any

    def __init__(
        self,
        channels: int,
        kernel_size: Any = (1, 1),
        strides: Any = (1, 1),
        padding: Any = (0, 0),
        dilation: Any = (1, 1),
        groups: int = 1,
        num_deformable_group: int = 1,
        layout: str = "NCHW",
        use_bias: bool = True,
        in_channels: int = 0,
        activation: str | None = None,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        offset_weight_initializer: Any = "zeros",
        offset_bias_initializer: Any = "zeros",
        offset_use_bias: bool = True,
        op_name: str = "DeformableConvolution",
        adj: Any = None,
        prefix: str | None = None,
        params: Any = None,
    ):
        super().__init__(prefix=prefix, params=params)
        if layout not in ("NCHW", "NHWC"):
            raise AssertionError("Only supports 'NCHW' and 'NHWC' layout for now")
        if layout != "NCHW" or adj:
            raise OpError(f"{op_name}: got layout={layout}, adj={adj}; only NCHW without adj can be computed")
        kernel = _pair(kernel_size)
        common = {
            "kernel": kernel,
            "stride": _pair(strides),
            "dilate": _pair(dilation),
            "pad": _pair(padding),
            "num_group": groups,
            "layout": layout,
        }
        self._channels, self._in_channels, self._op_name = channels, in_channels, op_name
        self._taps = num_deformable_group * math.prod(kernel)
        offsets = self._per_tap * self._taps
        self._kwargs_offset = {**common, "num_filter": offsets, "no_bias": not offset_use_bias}
        self._kwargs_deformable_conv = {
            **common,
            "num_filter": channels,
            "num_deformable_group": num_deformable_group,
            "no_bias": not use_bias,
        }
        each = in_channels // groups

        def get(name: str, shape: tuple[int, ...], init: Any) -> Any:
            return self.params.get(name, shape=shape, init=init, allow_deferred_init=True)

        def offset_parameters() -> None:
            self.offset_weight = get("offset_weight", (offsets, each, *kernel), offset_weight_initializer)
            self.offset_bias = get("offset_bias", (offsets,), offset_bias_initializer) if offset_use_bias else None

        def own_parameters() -> None:
            self.deformable_conv_weight = get("deformable_conv_weight", (channels, each, *kernel), weight_initializer)
            self.deformable_conv_bias = get("deformable_conv_bias", (channels,), bias_initializer) if use_bias else None

        with self.name_scope():
            parts = (offset_parameters, own_parameters)
            for make in parts if self._offsets_first else reversed(parts):  # which initializers draw random numbers for
                make()
            self.act = nn.Activation(activation, prefix=f"{activation}_") if activation else None

    def hybrid_forward(
        self,
        F: Any,  # noqa: N803  MXNet's name for "nd or sym"
        x: Any,
        offset_weight: Any,
        deformable_conv_weight: Any,
        offset_bias: Any = None,
        deformable_conv_bias: Any = None,
    ) -> Any:
        """The convolution at moved points, then the activation."""
        bias = () if offset_bias is None else (offset_bias,)
        moved = F.Convolution(x, offset_weight, *bias, cudnn_off=True, **self._kwargs_offset)
        last = () if deformable_conv_bias is None else (deformable_conv_bias,)
        y = self._convolve(F, x, moved, deformable_conv_weight, last)
        return self.act(y) if self.act is not None else y

    def _convolve(self, F: Any, x: Any, moved: Any, weight: Any, bias: tuple[Any, ...]) -> Any:  # noqa: N803
        return F.contrib.DeformableConvolution(x, moved, weight, *bias, name="fwd", **self._kwargs_deformable_conv)

    def _alias(self) -> str:
        return "deformable_conv"

    def __repr__(self) -> str:
        given = self._kwargs_deformable_conv
        text = f"kernel_size={given['kernel']}, stride={given['stride']}"
        if any(given["pad"]):
            text += f", padding={given['pad']}"
        if given["dilate"] != (1, 1):
            text += f", dilation={given['dilate']}"
        if given["num_group"] != 1:
            text += f", groups={given['num_group']}"
        if self.deformable_conv_bias is None:
            text += ", bias=False"
        if self.act is not None:
            text += f", {self.act}"
        shape = self.deformable_conv_weight.shape or (None, None)
        return f"{type(self).__name__}({shape[1] or None} -> {shape[0]}, {text})"


class ModulatedDeformableConvolution(DeformableConvolution):
    """DeformableConvolution that also computes a factor from 0 to 2 for every tap. Source: Zhu et al. 2018, arXiv:1811.11168.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cnn = mx.gluon.contrib.cnn
    >>> layer = cnn.ModulatedDeformableConvolution(4, kernel_size=(3, 3), padding=(1, 1))
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 2, 5, 5))).shape
    (1, 4, 5, 5)
    """

    _per_tap = 3
    """and its factor."""
    _offsets_first = False

    def __init__(
        self,
        channels: int,
        kernel_size: Any = (1, 1),
        strides: Any = (1, 1),
        padding: Any = (0, 0),
        dilation: Any = (1, 1),
        groups: int = 1,
        num_deformable_group: int = 1,
        layout: str = "NCHW",
        use_bias: bool = True,
        in_channels: int = 0,
        activation: str | None = None,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        offset_weight_initializer: Any = "zeros",
        offset_bias_initializer: Any = "zeros",
        offset_use_bias: bool = True,
        op_name: str = "ModulatedDeformableConvolution",
        adj: Any = None,
        prefix: str | None = None,
        params: Any = None,
    ):
        given = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        super().__init__(**given)
        self.offset_split_index = 2 * self._taps

    def _convolve(self, F: Any, x: Any, moved: Any, weight: Any, bias: tuple[Any, ...]) -> Any:  # noqa: N803
        offset = F.slice_axis(moved, axis=1, begin=0, end=self.offset_split_index)
        mask = F.sigmoid(F.slice_axis(moved, axis=1, begin=self.offset_split_index, end=None)) * 2
        attrs = self._kwargs_deformable_conv
        return F.contrib.ModulatedDeformableConvolution(x, offset, mask, weight, *bias, name="fwd", **attrs)

    def _alias(self) -> str:
        return "modulated_deformable_conv"

    __repr__ = HybridBlock.__repr__
