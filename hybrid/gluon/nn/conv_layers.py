"""Convolutions and poolings over one, two and three spatial axes, and padding by reflection."""

from __future__ import annotations

from typing import Any

from ..block import HybridBlock
from .activations import Activation

__all__ = [
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "ReflectionPad2D",
]


def _repeat(value: Any, count: int, what: str) -> tuple[int, ...]:
    """One number for each spatial axis. Raises AssertionError for another count."""
    numbers = (value,) * count if isinstance(value, int) else tuple(value)
    if len(numbers) != count:
        raise AssertionError(f"{what} must be a number or a list of {count} ints, got {value}")
    return numbers


def _want_layout(layout: str, allowed: tuple[str, ...], what: str) -> None:
    if layout not in allowed:
        raise AssertionError(f"{what}: layout must be {' or '.join(allowed)}, got {layout!r}")


def _show_padding(padding: tuple[int, ...]) -> str:
    return f", padding={padding}" if any(padding) else ""


class _Conv(HybridBlock):
    """Base of the six convolutions.

    kernel_size says how many spatial axes there are; strides, padding and dilation are numbers or one for each axis.
    in_channels 0 is taken from the first input. Parameters, for a layout with channels second: weight
    (channels, in_channels / groups, *kernel_size), of Deconvolution (in_channels, channels / groups, *kernel_size); with
    channels last the second axis moves there. bias (channels,)."""

    def __init__(
        self,
        channels: int,
        kernel_size: tuple[int, ...],
        strides: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        layout: str,
        in_channels: int = 0,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        op_name: str = "Convolution",
        adj: Any = None,
        prefix: str | None = None,
        params: Any = None,
    ):
        super().__init__(prefix=prefix, params=params)
        rank = len(kernel_size)
        self._channels, self._in_channels, self._op_name = channels, in_channels, op_name
        with self.name_scope():
            self._kwargs = {
                "kernel": kernel_size,
                "stride": _repeat(strides, rank, "strides"),
                "dilate": _repeat(dilation, rank, "dilation"),
                "pad": _repeat(padding, rank, "padding"),
                "num_filter": channels,
                "num_group": groups,
                "no_bias": not use_bias,
                "layout": layout,
            }
            if adj is not None:
                self._kwargs["adj"] = adj
            first, second = (channels, in_channels) if op_name == "Convolution" else (in_channels, channels)
            inner = (*kernel_size, second // groups) if layout.endswith("C") else (second // groups, *kernel_size)
            self.weight: Any = self.params.get(
                "weight", shape=(first, *inner), init=weight_initializer, allow_deferred_init=True
            )
            self.bias = (
                self.params.get("bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True)
                if use_bias
                else None
            )
            self.act = Activation(activation, prefix=activation + "_") if activation is not None else None

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:  # noqa: N803
        """The convolution of x, with the bias added and the activation applied where there are any."""
        inputs = (x, weight) if bias is None else (x, weight, bias)
        out = getattr(F, self._op_name)(*inputs, name="fwd", **self._kwargs)
        return out if self.act is None else self.act(out)

    def _alias(self) -> str:
        return "conv"

    def __repr__(self) -> str:
        own, shape = self._kwargs, self.weight.shape
        parts = [
            f"{shape[1] or None} -> {shape[0]}, kernel_size={own['kernel']}, stride={own['stride']}",
            _show_padding(own["pad"]),
            f", dilation={own['dilate']}" if any(d != 1 for d in own["dilate"]) else "",
            f", groups={own['num_group']}" if own["num_group"] != 1 else "",
            ", bias=False" if self.bias is None else "",
            f", {self.act}" if self.act else "",
        ]
        return f"{type(self).__name__}({''.join(parts)})"


class Conv1D(_Conv):
    """Convolution over one axis: (N, C, W) -> (N, channels, W'). Operator Convolution.

    Raises AssertionError for another layout than NCW.

    Parameters
    ----------
    channels : int
        Number of filters: channels of the output.
    kernel_size : int or tuple of int
        Sizes of the window, one for each spatial axis or one for all.
    strides : int or tuple of int, default 1
        Steps of the window along each spatial axis.
    padding : int or tuple of int, default 0
        Elements added at both ends of each spatial axis.
    dilation : int or tuple of int, default 1
        Distances between the elements that a window reads.
    groups : int, default 1
        Number of groups that channels are divided into, each by itself.
    layout : str, default 'NCW'
        Order of the axes.
    activation : str or None, default None
        What is applied to the output: relu, sigmoid, tanh, softrelu, softsign; None: nothing.
    use_bias : bool, default True
        Add a bias that is learnt.
    weight_initializer : Initializer, str or None, default None
        Initializer, or its name; None: the one given to ``initialize``.
    bias_initializer : Initializer, str or None, default 'zeros'
        Initializer, or its name; None: the one given to ``initialize``.
    in_channels : int, default 0
        Channels of the input; 0: the first input tells.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.Conv1D(5, kernel_size=3, padding=1)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 3, 8))).shape, layer.weight.shape
    ((1, 5, 8), (5, 3, 3))
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ):
        _want_layout(layout, ("NCW",), type(self).__name__)
        kernel = _repeat(kernel_size, 1, "kernel_size")
        super().__init__(
            channels, kernel, strides, padding, dilation, groups, layout, in_channels, activation, use_bias,
            weight_initializer, bias_initializer, **kwargs,
        )  # fmt: skip


class Conv2D(_Conv):
    """Convolution over 2 axes: (N, C, H, W) -> (N, channels, H', W'). Operator Convolution.

    Raises AssertionError for another layout than NCHW and NHWC.

    Parameters
    ----------
    channels : int
        Number of filters: channels of the output.
    kernel_size : int or tuple of int
        Sizes of the window, one for each spatial axis or one for all.
    strides : int or tuple of int, default (1, 1)
        Steps of the window along each spatial axis.
    padding : int or tuple of int, default (0, 0)
        Elements added at both ends of each spatial axis.
    dilation : int or tuple of int, default (1, 1)
        Distances between the elements that a window reads.
    groups : int, default 1
        Number of groups that channels are divided into, each by itself.
    layout : str, default 'NCHW'
        Order of the axes.
    activation : str or None, default None
        What is applied to the output: relu, sigmoid, tanh, softrelu, softsign; None: nothing.
    use_bias : bool, default True
        Add a bias that is learnt.
    weight_initializer : Initializer, str or None, default None
        Initializer, or its name; None: the one given to ``initialize``.
    bias_initializer : Initializer, str or None, default 'zeros'
        Initializer, or its name; None: the one given to ``initialize``.
    in_channels : int, default 0
        Channels of the input; 0: the first input tells.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.Conv2D(8, kernel_size=3, padding=1, strides=2, activation="relu")
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 3, 32, 32))).shape, layer.weight.shape
    ((1, 8, 16, 16), (8, 3, 3, 3))"""

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: Any = (0, 0),
        dilation: Any = (1, 1),
        groups: int = 1,
        layout: str = "NCHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ):
        _want_layout(layout, ("NCHW", "NHWC"), type(self).__name__)
        kernel = _repeat(kernel_size, 2, "kernel_size")
        super().__init__(
            channels, kernel, strides, padding, dilation, groups, layout, in_channels, activation, use_bias,
            weight_initializer, bias_initializer, **kwargs,
        )  # fmt: skip


class Conv3D(_Conv):
    """Convolution over 3 axes: (N, C, D, H, W) -> (N, channels, D', H', W'). Operator Convolution.

    Raises AssertionError for another layout than NCDHW and NDHWC.

    Parameters
    ----------
    channels : int
        Number of filters: channels of the output.
    kernel_size : int or tuple of int
        Sizes of the window, one for each spatial axis or one for all.
    strides : int or tuple of int, default (1, 1, 1)
        Steps of the window along each spatial axis.
    padding : int or tuple of int, default (0, 0, 0)
        Elements added at both ends of each spatial axis.
    dilation : int or tuple of int, default (1, 1, 1)
        Distances between the elements that a window reads.
    groups : int, default 1
        Number of groups that channels are divided into, each by itself.
    layout : str, default 'NCDHW'
        Order of the axes.
    activation : str or None, default None
        What is applied to the output: relu, sigmoid, tanh, softrelu, softsign; None: nothing.
    use_bias : bool, default True
        Add a bias that is learnt.
    weight_initializer : Initializer, str or None, default None
        Initializer, or its name; None: the one given to ``initialize``.
    bias_initializer : Initializer, str or None, default 'zeros'
        Initializer, or its name; None: the one given to ``initialize``.
    in_channels : int, default 0
        Channels of the input; 0: the first input tells.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.Conv3D(5, kernel_size=3, padding=1)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 3, 4, 4, 4))).shape, layer.weight.shape
    ((1, 5, 4, 4, 4), (5, 3, 3, 3, 3))
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: Any = (0, 0, 0),
        dilation: Any = (1, 1, 1),
        groups: int = 1,
        layout: str = "NCDHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ):
        _want_layout(layout, ("NCDHW", "NDHWC"), type(self).__name__)
        kernel = _repeat(kernel_size, 3, "kernel_size")
        super().__init__(
            channels, kernel, strides, padding, dilation, groups, layout, in_channels, activation, use_bias,
            weight_initializer, bias_initializer, **kwargs,
        )  # fmt: skip


class Conv1DTranspose(_Conv):
    """The transpose of Conv1D: a convolution's gradient as a layer. Operator Deconvolution.

    output_padding is added to one side of the output, where strides leave its size open. Raises AssertionError for another
    layout than NCW.

    Parameters
    ----------
    channels : int
        Number of filters: channels of the output.
    kernel_size : int or tuple of int
        Sizes of the window, one for each spatial axis or one for all.
    strides : int or tuple of int, default 1
        Steps of the window along each spatial axis.
    padding : int or tuple of int, default 0
        Elements added at both ends of each spatial axis.
    output_padding : int or tuple of int, default 0
        Elements added at the end of each spatial axis of the output, below strides.
    dilation : int or tuple of int, default 1
        Distances between the elements that a window reads.
    groups : int, default 1
        Number of groups that channels are divided into, each by itself.
    layout : str, default 'NCW'
        Order of the axes.
    activation : str or None, default None
        What is applied to the output: relu, sigmoid, tanh, softrelu, softsign; None: nothing.
    use_bias : bool, default True
        Add a bias that is learnt.
    weight_initializer : Initializer, str or None, default None
        Initializer, or its name; None: the one given to ``initialize``.
    bias_initializer : Initializer, str or None, default 'zeros'
        Initializer, or its name; None: the one given to ``initialize``.
    in_channels : int, default 0
        Channels of the input; 0: the first input tells.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.Conv1DTranspose(5, kernel_size=2, strides=2)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 3, 8))).shape, layer.weight.shape
    ((1, 5, 16), (3, 5, 2))
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ):
        _want_layout(layout, ("NCW",), type(self).__name__)
        kernel, adj = _repeat(kernel_size, 1, "kernel_size"), _repeat(output_padding, 1, "output_padding")
        super().__init__(
            channels, kernel, strides, padding, dilation, groups, layout, in_channels, activation, use_bias,
            weight_initializer, bias_initializer, op_name="Deconvolution", adj=adj, **kwargs,
        )  # fmt: skip
        self.outpad = adj


class Conv2DTranspose(_Conv):
    """The transpose of Conv2D: a convolution's gradient as a layer. Operator Deconvolution.

    output_padding is added to one side of the output, where strides leave its size open. Raises AssertionError for another
    layout than NCHW and NHWC.

    Parameters
    ----------
    channels : int
        Number of filters: channels of the output.
    kernel_size : int or tuple of int
        Sizes of the window, one for each spatial axis or one for all.
    strides : int or tuple of int, default (1, 1)
        Steps of the window along each spatial axis.
    padding : int or tuple of int, default (0, 0)
        Elements added at both ends of each spatial axis.
    output_padding : int or tuple of int, default (0, 0)
        Elements added at the end of each spatial axis of the output, below strides.
    dilation : int or tuple of int, default (1, 1)
        Distances between the elements that a window reads.
    groups : int, default 1
        Number of groups that channels are divided into, each by itself.
    layout : str, default 'NCHW'
        Order of the axes.
    activation : str or None, default None
        What is applied to the output: relu, sigmoid, tanh, softrelu, softsign; None: nothing.
    use_bias : bool, default True
        Add a bias that is learnt.
    weight_initializer : Initializer, str or None, default None
        Initializer, or its name; None: the one given to ``initialize``.
    bias_initializer : Initializer, str or None, default 'zeros'
        Initializer, or its name; None: the one given to ``initialize``.
    in_channels : int, default 0
        Channels of the input; 0: the first input tells.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.Conv2DTranspose(5, kernel_size=(2, 2), strides=(2, 2))
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 3, 8, 8))).shape, layer.weight.shape
    ((1, 5, 16, 16), (3, 5, 2, 2))
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: Any = (0, 0),
        output_padding: Any = (0, 0),
        dilation: Any = (1, 1),
        groups: int = 1,
        layout: str = "NCHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ):
        _want_layout(layout, ("NCHW", "NHWC"), type(self).__name__)
        kernel, adj = _repeat(kernel_size, 2, "kernel_size"), _repeat(output_padding, 2, "output_padding")
        super().__init__(
            channels, kernel, strides, padding, dilation, groups, layout, in_channels, activation, use_bias,
            weight_initializer, bias_initializer, op_name="Deconvolution", adj=adj, **kwargs,
        )  # fmt: skip
        self.outpad = adj


class Conv3DTranspose(_Conv):
    """The transpose of Conv3D: a convolution's gradient as a layer. Operator Deconvolution.

    output_padding is added to one side of the output, where strides leave its size open. Raises AssertionError for another
    layout than NCDHW and NDHWC.

    Parameters
    ----------
    channels : int
        Number of filters: channels of the output.
    kernel_size : int or tuple of int
        Sizes of the window, one for each spatial axis or one for all.
    strides : int or tuple of int, default (1, 1, 1)
        Steps of the window along each spatial axis.
    padding : int or tuple of int, default (0, 0, 0)
        Elements added at both ends of each spatial axis.
    output_padding : int or tuple of int, default (0, 0, 0)
        Elements added at the end of each spatial axis of the output, below strides.
    dilation : int or tuple of int, default (1, 1, 1)
        Distances between the elements that a window reads.
    groups : int, default 1
        Number of groups that channels are divided into, each by itself.
    layout : str, default 'NCDHW'
        Order of the axes.
    activation : str or None, default None
        What is applied to the output: relu, sigmoid, tanh, softrelu, softsign; None: nothing.
    use_bias : bool, default True
        Add a bias that is learnt.
    weight_initializer : Initializer, str or None, default None
        Initializer, or its name; None: the one given to ``initialize``.
    bias_initializer : Initializer, str or None, default 'zeros'
        Initializer, or its name; None: the one given to ``initialize``.
    in_channels : int, default 0
        Channels of the input; 0: the first input tells.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.Conv3DTranspose(5, kernel_size=(2, 2, 2), strides=(2, 2, 2))
    >>> layer.initialize()
    >>> layer(mx.nd.ones((1, 3, 4, 4, 4))).shape, layer.weight.shape
    ((1, 5, 8, 8, 8), (3, 5, 2, 2, 2))
    """

    def __init__(
        self,
        channels: int,
        kernel_size: Any,
        strides: Any = (1, 1, 1),
        padding: Any = (0, 0, 0),
        output_padding: Any = (0, 0, 0),
        dilation: Any = (1, 1, 1),
        groups: int = 1,
        layout: str = "NCDHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ):
        _want_layout(layout, ("NCDHW", "NDHWC"), type(self).__name__)
        kernel, adj = _repeat(kernel_size, 3, "kernel_size"), _repeat(output_padding, 3, "output_padding")
        super().__init__(
            channels, kernel, strides, padding, dilation, groups, layout, in_channels, activation, use_bias,
            weight_initializer, bias_initializer, op_name="Deconvolution", adj=adj, **kwargs,
        )  # fmt: skip
        self.outpad = adj


class _Pooling(HybridBlock):
    """Base of all poolings. strides None stands for pool_size; ceil_mode rounds the output's size up."""

    def __init__(
        self,
        pool_size: tuple[int, ...],
        strides: Any,
        padding: Any,
        ceil_mode: bool,
        global_pool: bool,
        pool_type: str,
        layout: str,
        count_include_pad: bool | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        rank = len(pool_size)
        self._kwargs = {
            "kernel": pool_size,
            "stride": pool_size if strides is None else _repeat(strides, rank, "strides"),
            "pad": _repeat(padding, rank, "padding"),
            "global_pool": global_pool,
            "pool_type": pool_type,
            "layout": layout,
            "pooling_convention": "full" if ceil_mode else "valid",
        }
        if count_include_pad is not None:
            self._kwargs["count_include_pad"] = count_include_pad

    def _alias(self) -> str:
        return "pool"

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """x pooled."""
        return F.Pooling(x, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        own = self._kwargs
        return (
            f"{type(self).__name__}(size={own['kernel']}, stride={own['stride']}, padding={own['pad']}, "
            f"ceil_mode={own['pooling_convention'] == 'full'}, global_pool={own['global_pool']}, "
            f"pool_type={own['pool_type']}, layout={own['layout']})"
        )


class MaxPool1D(_Pooling):
    """The maximum of each window, over one axis. Operator Pooling. Raises AssertionError for another layout.

    Parameters
    ----------
    pool_size : int or tuple of int, default 2
        Sizes of the window, one for each spatial axis or one for all.
    strides : int or tuple of int, default None
        Steps of the window along each spatial axis.
    padding : int or tuple of int, default 0
        Elements added at both ends of each spatial axis.
    layout : str, default 'NCW'
        Order of the axes.
    ceil_mode : bool, default False
        Windows at the end that do not fit are kept; else dropped.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.nn.MaxPool1D()(mx.nd.array([[[1, 2, 3, 5]]])).asnumpy()
    array([[[2., 5.]]], dtype=float32)
    """

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: Any = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        **kwargs: Any,
    ):
        _want_layout(layout, ("NCW", "NWC"), type(self).__name__)
        size = _repeat(pool_size, 1, "pool_size")
        super().__init__(size, strides, padding, ceil_mode, False, "max", layout, **kwargs)


class MaxPool2D(_Pooling):
    """The maximum of each window, over 2 axes. Operator Pooling. Raises AssertionError for another layout.

    Parameters
    ----------
    pool_size : int or tuple of int, default (2, 2)
        Sizes of the window, one for each spatial axis or one for all.
    strides : int or tuple of int, default None
        Steps of the window along each spatial axis.
    padding : int or tuple of int, default 0
        Elements added at both ends of each spatial axis.
    layout : str, default 'NCHW'
        Order of the axes.
    ceil_mode : bool, default False
        Windows at the end that do not fit are kept; else dropped.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.nn.MaxPool2D(pool_size=2)(mx.nd.ones((1, 3, 8, 6))).shape
    (1, 3, 4, 3)"""

    def __init__(
        self,
        pool_size: Any = (2, 2),
        strides: Any = None,
        padding: Any = 0,
        layout: str = "NCHW",
        ceil_mode: bool = False,
        **kwargs: Any,
    ):
        _want_layout(layout, ("NCHW", "NHWC"), type(self).__name__)
        size = _repeat(pool_size, 2, "pool_size")
        super().__init__(size, strides, padding, ceil_mode, False, "max", layout, **kwargs)


class MaxPool3D(_Pooling):
    """The maximum of each window, over 3 axes. Operator Pooling. Raises AssertionError for another layout.

    Parameters
    ----------
    pool_size : int or tuple of int, default (2, 2, 2)
        Sizes of the window, one for each spatial axis or one for all.
    strides : int or tuple of int, default None
        Steps of the window along each spatial axis.
    padding : int or tuple of int, default 0
        Elements added at both ends of each spatial axis.
    ceil_mode : bool, default False
        Windows at the end that do not fit are kept; else dropped.
    layout : str, default 'NCDHW'
        Order of the axes.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.nn.MaxPool3D()(mx.nd.arange(8).reshape((1, 1, 2, 2, 2))).asnumpy()
    array([[[[[7.]]]]], dtype=float32)
    """

    def __init__(
        self,
        pool_size: Any = (2, 2, 2),
        strides: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        **kwargs: Any,
    ):
        _want_layout(layout, ("NCDHW", "NDHWC"), type(self).__name__)
        size = _repeat(pool_size, 3, "pool_size")
        super().__init__(size, strides, padding, ceil_mode, False, "max", layout, **kwargs)


class AvgPool1D(_Pooling):
    """The average of each window, over one axis. Operator Pooling. Padding counts as zeros
    unless count_include_pad is off. Raises AssertionError for another layout.

    Parameters
    ----------
    pool_size : int or tuple of int, default 2
        Sizes of the window, one for each spatial axis or one for all.
    strides : int or tuple of int, default None
        Steps of the window along each spatial axis.
    padding : int or tuple of int, default 0
        Elements added at both ends of each spatial axis.
    layout : str, default 'NCW'
        Order of the axes.
    ceil_mode : bool, default False
        Windows at the end that do not fit are kept; else dropped.
    count_include_pad : bool, default True
        Padding counts in the number that a mean divides by.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.nn.AvgPool1D()(mx.nd.array([[[1, 2, 3, 5]]])).asnumpy()
    array([[[1.5, 4. ]]], dtype=float32)
    """

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: Any = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        **kwargs: Any,
    ):
        _want_layout(layout, ("NCW", "NWC"), type(self).__name__)
        size = _repeat(pool_size, 1, "pool_size")
        super().__init__(size, strides, padding, ceil_mode, False, "avg", layout, count_include_pad, **kwargs)


class AvgPool2D(_Pooling):
    """The average of each window, over 2 axes. Operator Pooling. Padding counts as zeros
    unless count_include_pad is off. Raises AssertionError for another layout.

    Parameters
    ----------
    pool_size : int or tuple of int, default (2, 2)
        Sizes of the window, one for each spatial axis or one for all.
    strides : int or tuple of int, default None
        Steps of the window along each spatial axis.
    padding : int or tuple of int, default 0
        Elements added at both ends of each spatial axis.
    ceil_mode : bool, default False
        Windows at the end that do not fit are kept; else dropped.
    layout : str, default 'NCHW'
        Order of the axes.
    count_include_pad : bool, default True
        Padding counts in the number that a mean divides by.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.nn.AvgPool2D()(mx.nd.arange(4).reshape((1, 1, 2, 2))).asnumpy()
    array([[[[1.5]]]], dtype=float32)
    """

    def __init__(
        self,
        pool_size: Any = (2, 2),
        strides: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        layout: str = "NCHW",
        count_include_pad: bool = True,
        **kwargs: Any,
    ):
        _want_layout(layout, ("NCHW", "NHWC"), type(self).__name__)
        size = _repeat(pool_size, 2, "pool_size")
        super().__init__(size, strides, padding, ceil_mode, False, "avg", layout, count_include_pad, **kwargs)


class AvgPool3D(_Pooling):
    """The average of each window, over 3 axes. Operator Pooling. Padding counts as zeros
    unless count_include_pad is off. Raises AssertionError for another layout.

    Parameters
    ----------
    pool_size : int or tuple of int, default (2, 2, 2)
        Sizes of the window, one for each spatial axis or one for all.
    strides : int or tuple of int, default None
        Steps of the window along each spatial axis.
    padding : int or tuple of int, default 0
        Elements added at both ends of each spatial axis.
    ceil_mode : bool, default False
        Windows at the end that do not fit are kept; else dropped.
    layout : str, default 'NCDHW'
        Order of the axes.
    count_include_pad : bool, default True
        Padding counts in the number that a mean divides by.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.nn.AvgPool3D()(mx.nd.arange(8).reshape((1, 1, 2, 2, 2))).asnumpy()
    array([[[[[3.5]]]]], dtype=float32)
    """

    def __init__(
        self,
        pool_size: Any = (2, 2, 2),
        strides: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        count_include_pad: bool = True,
        **kwargs: Any,
    ):
        _want_layout(layout, ("NCDHW", "NDHWC"), type(self).__name__)
        size = _repeat(pool_size, 3, "pool_size")
        super().__init__(size, strides, padding, ceil_mode, False, "avg", layout, count_include_pad, **kwargs)


class GlobalMaxPool1D(_Pooling):
    """The maximum over the spatial axis, whose size becomes 1. Raises AssertionError for another layout.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.nn.GlobalMaxPool1D()(mx.nd.arange(4).reshape((1, 2, 2))).asnumpy().ravel()
    array([1., 3.], dtype=float32)
    """

    def __init__(self, layout: str = "NCW", **kwargs: Any):
        _want_layout(layout, ("NCW", "NWC"), type(self).__name__)
        super().__init__((1,), None, 0, True, True, "max", layout, **kwargs)


class GlobalMaxPool2D(_Pooling):
    """The maximum over all 2 spatial axes, whose size becomes 1. Raises AssertionError for another layout.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.nn.GlobalMaxPool2D()(mx.nd.arange(8).reshape((1, 2, 2, 2))).asnumpy().ravel()
    array([3., 7.], dtype=float32)
    """

    def __init__(self, layout: str = "NCHW", **kwargs: Any):
        _want_layout(layout, ("NCHW", "NHWC"), type(self).__name__)
        super().__init__((1, 1), None, 0, True, True, "max", layout, **kwargs)


class GlobalMaxPool3D(_Pooling):
    """The maximum over all 3 spatial axes, whose size becomes 1. Raises AssertionError for another layout.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.nn.GlobalMaxPool3D()(mx.nd.arange(16).reshape((1, 2, 2, 2, 2))).asnumpy().ravel()
    array([ 7., 15.], dtype=float32)
    """

    def __init__(self, layout: str = "NCDHW", **kwargs: Any):
        _want_layout(layout, ("NCDHW", "NDHWC"), type(self).__name__)
        super().__init__((1, 1, 1), None, 0, True, True, "max", layout, **kwargs)


class GlobalAvgPool1D(_Pooling):
    """The average over the spatial axis, whose size becomes 1. Raises AssertionError for another layout.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.nn.GlobalAvgPool1D()(mx.nd.arange(4).reshape((1, 2, 2))).asnumpy().ravel()
    array([0.5, 2.5], dtype=float32)
    """

    def __init__(self, layout: str = "NCW", **kwargs: Any):
        _want_layout(layout, ("NCW", "NWC"), type(self).__name__)
        super().__init__((1,), None, 0, True, True, "avg", layout, **kwargs)


class GlobalAvgPool2D(_Pooling):
    """The average over all 2 spatial axes, whose size becomes 1. Raises AssertionError for another layout.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.nn.GlobalAvgPool2D()(mx.nd.arange(8).reshape((1, 2, 2, 2))).asnumpy().ravel()
    array([1.5, 5.5], dtype=float32)
    """

    def __init__(self, layout: str = "NCHW", **kwargs: Any):
        _want_layout(layout, ("NCHW", "NHWC"), type(self).__name__)
        super().__init__((1, 1), None, 0, True, True, "avg", layout, **kwargs)


class GlobalAvgPool3D(_Pooling):
    """The average over all 3 spatial axes, whose size becomes 1. Raises AssertionError for another layout.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.nn.GlobalAvgPool3D()(mx.nd.arange(16).reshape((1, 2, 2, 2, 2))).asnumpy().ravel()
    array([ 3.5, 11.5], dtype=float32)
    """

    def __init__(self, layout: str = "NCDHW", **kwargs: Any):
        _want_layout(layout, ("NCDHW", "NDHWC"), type(self).__name__)
        super().__init__((1, 1, 1), None, 0, True, True, "avg", layout, **kwargs)


class ReflectionPad2D(HybridBlock):
    """Surround (N, C, H, W) with its own mirror image; operator Pad.

    padding is one number for the four sides, or eight: before and after each of the four axes. Raises AssertionError for
    another count.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.nn.ReflectionPad2D(1)(mx.nd.arange(4).reshape((1, 1, 2, 2))).asnumpy()[0, 0]
    array([[3., 2., 3., 2.],
           [1., 0., 1., 0.],
           [3., 2., 3., 2.],
           [1., 0., 1., 0.]], dtype=float32)
    """

    def __init__(self, padding: Any = 0, **kwargs: Any):
        super().__init__(**kwargs)
        widths = (0, 0, 0, 0, *(padding,) * 4) if isinstance(padding, int) else padding
        if len(widths) != 8:
            raise AssertionError(f"padding must be a number or 8 ints (two for each axis of NCHW), got {padding}")
        self._padding = widths

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """x padded."""
        return F.pad(x, mode="reflect", pad_width=self._padding)
