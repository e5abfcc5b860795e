"""Recurrent cells whose gates are convolutions, over one, two and three spatial axes. Shi et al. 2015, arXiv:1506.04214."""

from __future__ import annotations

from typing import Any

from ...nn.conv_layers import _repeat
from ...rnn.recurrent_cell import HybridRecurrentCell, States

__all__ = [
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
]


class _BaseConvRNNCell(HybridRecurrentCell):
    """Base of the nine cells.

    input_shape: that of one sample without the batch, (C, W...) or (W..., C) by conv_layout. The state has hidden_channels
    and the size that convolving the input gives; h2h_kernel must be odd, so that convolving the state keeps it. Parameters,
    with G gates: i2h_weight (G*hidden_channels, C, *i2h_kernel), h2h_weight (G*hidden_channels, hidden_channels,
    *h2h_kernel), channels last where the layout has them last; i2h_bias and h2h_bias (G*hidden_channels,)."""

    _gate_count, _kind = 1, "rnn"
    i2h_weight: Any

    def __init__(
        self,
        input_shape: Any,
        hidden_channels: int,
        i2h_kernel: Any,
        h2h_kernel: Any,
        i2h_pad: Any,
        i2h_dilate: Any,
        h2h_dilate: Any,
        i2h_weight_initializer: Any,
        h2h_weight_initializer: Any,
        i2h_bias_initializer: Any,
        h2h_bias_initializer: Any,
        dims: int,
        conv_layout: str,
        activation: Any,
        prefix: str | None = None,
        params: Any = None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._hidden_channels, self._input_shape = hidden_channels, tuple(input_shape)
        self._conv_layout, self._activation = conv_layout, activation
        self._h2h_kernel = _repeat(h2h_kernel, dims, "h2h_kernel")
        if not all(size % 2 for size in self._h2h_kernel):
            raise AssertionError(f"Only support odd number, get h2h_kernel= {h2h_kernel}")
        self._h2h_dilate = _repeat(h2h_dilate, dims, "h2h_dilate")
        self._h2h_pad = tuple(d * (k - 1) // 2 for d, k in zip(self._h2h_dilate, self._h2h_kernel))
        self._i2h_kernel = _repeat(i2h_kernel, dims, "i2h_kernel")
        self._stride = (1,) * dims
        self._i2h_pad = _repeat(i2h_pad, dims, "i2h_pad")
        self._i2h_dilate = _repeat(i2h_dilate, dims, "i2h_dilate")
        self._channel_axis = conv_layout.find("C")
        last = self._channel_axis != 1
        channels = self._input_shape[-1 if last else 0]
        sizes = self._input_shape[:-1] if last else self._input_shape[1:]
        sizes = tuple(
            size + 2 * pad - dilate * (kernel - 1)
            for size, pad, dilate, kernel in zip(sizes, self._i2h_pad, self._i2h_dilate, self._i2h_kernel)
        )
        self._state_shape = (*sizes, hidden_channels) if last else (hidden_channels, *sizes)
        rows = self._gate_count * hidden_channels
        for name, inner, kernel, init in (
            ("i2h_weight", channels, self._i2h_kernel, i2h_weight_initializer),
            ("h2h_weight", hidden_channels, self._h2h_kernel, h2h_weight_initializer),
        ):
            shape = (rows, *kernel, inner) if last else (rows, inner, *kernel)
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))
        for name, init in (("i2h_bias", i2h_bias_initializer), ("h2h_bias", h2h_bias_initializer)):
            setattr(self, name, self.params.get(name, shape=(rows,), init=init, allow_deferred_init=True))

    def _alias(self) -> str:
        return f"conv_{self._kind}"

    def __repr__(self) -> str:
        shape = self.i2h_weight.shape
        channels = shape[1 if self._channel_axis == 1 else -1]
        return f"{type(self).__name__}({channels} -> {shape[0]}, {self._activation}, {self._conv_layout})"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """One state."""
        return [{"shape": (batch_size, *self._state_shape), "__layout__": self._conv_layout}]

    def _conv_forward(
        self,
        F: Any,  # noqa: N803  MXNet's name for "nd or sym"
        inputs: Any,
        states: States,
        i2h_weight: Any,
        h2h_weight: Any,
        i2h_bias: Any,
        h2h_bias: Any,
        prefix: str,
    ) -> tuple[Any, Any]:
        """Convolve the input and the state of the last step for the gates."""
        shared = {
            "num_filter": self._gate_count * self._hidden_channels,
            "stride": self._stride,
            "layout": self._conv_layout,
        }
        i2h = F.Convolution(
            data=inputs,
            weight=i2h_weight,
            bias=i2h_bias,
            kernel=self._i2h_kernel,
            pad=self._i2h_pad,
            dilate=self._i2h_dilate,
            name=prefix + "i2h",
            **shared,
        )
        h2h = F.Convolution(
            data=states[0],
            weight=h2h_weight,
            bias=h2h_bias,
            kernel=self._h2h_kernel,
            pad=self._h2h_pad,
            dilate=self._h2h_dilate,
            name=prefix + "h2h",
            **shared,
        )
        return i2h, h2h

    def _split(self, F: Any, data: Any, name: str) -> Any:  # noqa: N803
        """The gates."""
        return F.SliceChannel(data, num_outputs=self._gate_count, axis=self._channel_axis, name=name)


class _ConvRNNCell(_BaseConvRNNCell):
    """h' = activation(W * x + b + R * h + c), * being a convolution."""

    def hybrid_forward(
        self,
        F: Any,  # noqa: N803
        inputs: Any,
        states: States,
        i2h_weight: Any,
        h2h_weight: Any,
        i2h_bias: Any,
        h2h_bias: Any,
    ) -> tuple[Any, States]:
        """The output and the new state of one step."""
        prefix = f"t{self._counter}_"
        i2h, h2h = self._conv_forward(F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias, prefix)
        output = self._get_activation(F, i2h + h2h, self._activation, name=prefix + "out")
        return output, [output]


class _ConvLSTMCell(_BaseConvRNNCell):
    """rnn.LSTMCell with convolutions; states h and c."""

    _gate_count, _kind = 4, "lstm"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Two states of one shape."""
        return [*super().state_info(batch_size), *super().state_info(batch_size)]

    def hybrid_forward(
        self,
        F: Any,  # noqa: N803
        inputs: Any,
        states: States,
        i2h_weight: Any,
        h2h_weight: Any,
        i2h_bias: Any,
        h2h_bias: Any,
    ) -> tuple[Any, States]:
        """The output and the new states of one step."""
        prefix = f"t{self._counter}_"
        i2h, h2h = self._conv_forward(F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias, prefix)
        gates = self._split(F, i2h + h2h, prefix + "slice")
        enter = F.Activation(gates[0], act_type="sigmoid", name=prefix + "i")
        forget = F.Activation(gates[1], act_type="sigmoid", name=prefix + "f")
        new = self._get_activation(F, gates[2], self._activation, name=prefix + "c")
        leave = F.Activation(gates[3], act_type="sigmoid", name=prefix + "o")
        cell = F.elemwise_add(forget * states[1], enter * new, name=prefix + "state")
        output = F.elemwise_mul(leave, self._get_activation(F, cell, self._activation), name=prefix + "out")
        return output, [output, cell]


class _ConvGRUCell(_BaseConvRNNCell):
    """rnn.GRUCell with convolutions."""

    _gate_count, _kind = 3, "gru"

    def hybrid_forward(
        self,
        F: Any,  # noqa: N803
        inputs: Any,
        states: States,
        i2h_weight: Any,
        h2h_weight: Any,
        i2h_bias: Any,
        h2h_bias: Any,
    ) -> tuple[Any, States]:
        """The output and the new state of one step."""
        prefix = f"t{self._counter}_"
        i2h, h2h = self._conv_forward(F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias, prefix)
        i2h_r, i2h_z, i2h_n = self._split(F, i2h, prefix + "i2h_slice")
        h2h_r, h2h_z, h2h_n = self._split(F, h2h, prefix + "h2h_slice")
        reset = F.Activation(i2h_r + h2h_r, act_type="sigmoid", name=prefix + "r_act")
        update = F.Activation(i2h_z + h2h_z, act_type="sigmoid", name=prefix + "z_act")
        new = self._get_activation(F, i2h_n + reset * h2h_n, self._activation, name=prefix + "h_act")
        output = F.elemwise_add((1.0 - update) * new, update * states[0], name=prefix + "out")
        return output, [output]


def _constructor(dims: int, layout: str) -> Any:
    """The __init__ of cells over so many spatial axes, with MXNet's defaults for them."""

    def __init__(  # noqa: N807  it is one
        self: _BaseConvRNNCell,
        input_shape: Any,
        hidden_channels: int,
        i2h_kernel: Any,
        h2h_kernel: Any,
        i2h_pad: Any = (0,) * dims,
        i2h_dilate: Any = (1,) * dims,
        h2h_dilate: Any = (1,) * dims,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        conv_layout: str = layout,
        activation: Any = "tanh",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        _BaseConvRNNCell.__init__(
            self, input_shape, hidden_channels, i2h_kernel, h2h_kernel, i2h_pad, i2h_dilate, h2h_dilate,
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, dims,
            conv_layout, activation, prefix, params,
        )  # fmt: skip

    return __init__


class Conv1DRNNCell(_ConvRNNCell):
    """RNN cell over one spatial axis: (N, C, W) -> output and the state, (N, hidden_channels, W').

    Sizes are those that convolving the input with i2h_kernel gives; h2h_kernel is odd, and convolving the state keeps them.

    Examples
    --------
    >>> from gluonnx import mx
    >>> kernels = dict(i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell = mx.gluon.contrib.rnn.Conv1DRNNCell((2, 8), 4, **kernels)
    >>> cell.initialize()
    >>> cell(mx.nd.ones((1, 2, 8)), cell.begin_state(batch_size=1))[0].shape
    (1, 4, 8)
    """

    __init__ = _constructor(1, "NCW")


class Conv2DRNNCell(_ConvRNNCell):
    """RNN cell over 2 spatial axes: (N, C, H, W) -> output and the state, (N, hidden_channels, H', W').

    Sizes are those that convolving the input with i2h_kernel gives; h2h_kernel is odd, and convolving the state keeps them.

    Examples
    --------
    >>> from gluonnx import mx
    >>> kernels = dict(i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell = mx.gluon.contrib.rnn.Conv2DRNNCell((2, 8, 8), 4, **kernels)
    >>> cell.initialize()
    >>> cell(mx.nd.ones((1, 2, 8, 8)), cell.begin_state(batch_size=1))[0].shape
    (1, 4, 8, 8)
    """

    __init__ = _constructor(2, "NCHW")


class Conv3DRNNCell(_ConvRNNCell):
    """RNN cell over 3 spatial axes: (N, C, D, H, W) -> output and the state, (N, hidden_channels, D', H', W').

    Sizes are those that convolving the input with i2h_kernel gives; h2h_kernel is odd, and convolving the state keeps them.

    Examples
    --------
    >>> from gluonnx import mx
    >>> kernels = dict(i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell = mx.gluon.contrib.rnn.Conv3DRNNCell((2, 8, 8, 8), 4, **kernels)
    >>> cell.initialize()
    >>> cell(mx.nd.ones((1, 2, 8, 8, 8)), cell.begin_state(batch_size=1))[0].shape
    (1, 4, 8, 8, 8)
    """

    __init__ = _constructor(3, "NCDHW")


class Conv1DLSTMCell(_ConvLSTMCell):
    """LSTM cell over one spatial axis: (N, C, W) -> output and states h and c, (N, hidden_channels, W').

    Sizes are those that convolving the input with i2h_kernel gives; h2h_kernel is odd, and convolving the state keeps them.

    Examples
    --------
    >>> from gluonnx import mx
    >>> kernels = dict(i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell = mx.gluon.contrib.rnn.Conv1DLSTMCell((2, 8), 4, **kernels)
    >>> cell.initialize()
    >>> cell(mx.nd.ones((1, 2, 8)), cell.begin_state(batch_size=1))[0].shape
    (1, 4, 8)
    """

    __init__ = _constructor(1, "NCW")


class Conv2DLSTMCell(_ConvLSTMCell):
    """LSTM cell over 2 spatial axes: (N, C, H, W) -> output and states h and c, (N, hidden_channels, H', W').

    Sizes are those that convolving the input with i2h_kernel gives; h2h_kernel is odd, and convolving the state keeps them.

    Examples
    --------
    >>> from gluonnx import mx
    >>> kernels = dict(i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell = mx.gluon.contrib.rnn.Conv2DLSTMCell((2, 8, 8), 4, **kernels)
    >>> cell.initialize()
    >>> cell(mx.nd.ones((1, 2, 8, 8)), cell.begin_state(batch_size=1))[0].shape
    (1, 4, 8, 8)
    """

    __init__ = _constructor(2, "NCHW")


class Conv3DLSTMCell(_ConvLSTMCell):
    """LSTM cell over 3 spatial axes: (N, C, D, H, W) -> output and states h and c, (N, hidden_channels, D', H', W').

    Sizes are those that convolving the input with i2h_kernel gives; h2h_kernel is odd, and convolving the state keeps them.

    Examples
    --------
    >>> from gluonnx import mx
    >>> kernels = dict(i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell = mx.gluon.contrib.rnn.Conv3DLSTMCell((2, 8, 8, 8), 4, **kernels)
    >>> cell.initialize()
    >>> cell(mx.nd.ones((1, 2, 8, 8, 8)), cell.begin_state(batch_size=1))[0].shape
    (1, 4, 8, 8, 8)
    """

    __init__ = _constructor(3, "NCDHW")


class Conv1DGRUCell(_ConvGRUCell):
    """GRU cell over one spatial axis: (N, C, W) -> output and the state, (N, hidden_channels, W').

    Sizes are those that convolving the input with i2h_kernel gives; h2h_kernel is odd, and convolving the state keeps them.

    Examples
    --------
    >>> from gluonnx import mx
    >>> kernels = dict(i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell = mx.gluon.contrib.rnn.Conv1DGRUCell((2, 8), 4, **kernels)
    >>> cell.initialize()
    >>> cell(mx.nd.ones((1, 2, 8)), cell.begin_state(batch_size=1))[0].shape
    (1, 4, 8)
    """

    __init__ = _constructor(1, "NCW")


class Conv2DGRUCell(_ConvGRUCell):
    """GRU cell over 2 spatial axes: (N, C, H, W) -> output and the state, (N, hidden_channels, H', W').

    Sizes are those that convolving the input with i2h_kernel gives; h2h_kernel is odd, and convolving the state keeps them.

    Examples
    --------
    >>> from gluonnx import mx
    >>> kernels = dict(i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell = mx.gluon.contrib.rnn.Conv2DGRUCell((2, 8, 8), 4, **kernels)
    >>> cell.initialize()
    >>> cell(mx.nd.ones((1, 2, 8, 8)), cell.begin_state(batch_size=1))[0].shape
    (1, 4, 8, 8)
    """

    __init__ = _constructor(2, "NCHW")


class Conv3DGRUCell(_ConvGRUCell):
    """GRU cell over 3 spatial axes: (N, C, D, H, W) -> output and the state, (N, hidden_channels, D', H', W').

    Sizes are those that convolving the input with i2h_kernel gives; h2h_kernel is odd, and convolving the state keeps them.

    Examples
    --------
    >>> from gluonnx import mx
    >>> kernels = dict(i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
    >>> cell = mx.gluon.contrib.rnn.Conv3DGRUCell((2, 8, 8, 8), 4, **kernels)
    >>> cell.initialize()
    >>> cell(mx.nd.ones((1, 2, 8, 8, 8)), cell.begin_state(batch_size=1))[0].shape
    (1, 4, 8, 8, 8)
    """

    __init__ = _constructor(3, "NCDHW")
