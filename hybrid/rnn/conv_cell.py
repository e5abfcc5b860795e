"""Recurrent cells whose products are convolutions. Shi et al. 2015."""

from __future__ import annotations

import functools
from typing import Any

from .. import symbol
from ..symbol import Symbol
from .base_cell import BaseRNNCell, RNNParams
from .rnn_cell import GRUCell, LSTMCell, RNNCell, gru_step, lstm_step

_LEAKY = functools.partial(symbol.LeakyReLU, act_type="leaky", slope=0.2)


class BaseConvRNNCell(BaseRNNCell):
    """Base class. Both convolutions are two-dimensional; that of the state is padded so that the state keeps its size,
    for which h2h_kernel has to be odd.

    Raises AssertionError for an even h2h_kernel.

    Parameters
    ----------
    input_shape : tuple of int
        Shape of a step's input, in conv_layout, batch included.
    num_hidden : int
        Channels of the state.
    h2h_kernel : tuple of int
        Kernel of the state's convolution (height, width), of odd sizes; its stride is 1.
    h2h_dilate : tuple of int
        Its dilation.
    i2h_kernel : tuple of int
        Kernel of the input's convolution.
    i2h_stride : tuple of int
        Its stride.
    i2h_pad : tuple of int
        Its padding on both sides.
    i2h_dilate : tuple of int
        Its dilation.
    i2h_weight_initializer : Initializer, str or None
        Of the weight of the input's convolution; None: the one for all.
    h2h_weight_initializer : Initializer, str or None
        Of that of the state's.
    i2h_bias_initializer : Initializer, str or None
        Of the bias of the input's convolution.
    h2h_bias_initializer : Initializer, str or None
        Of that of the state's.
    activation : str or callable
        Activation by name, or a function of a symbol.
    prefix : str, default ''
        Beginning of the names of parameters and operators.
    params : RNNParams or None, default None
        Parameters to share; None: its own.
    conv_layout : str, default 'NCHW'
        A letter for each axis of an input and of the state.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.rnn.ConvRNNCell(input_shape=(2, 3, 8, 8), num_hidden=4)
    >>> isinstance(cell, mx.rnn.BaseConvRNNCell), cell.state_info
    (True, [{'shape': (0, 4, 8, 8), '__layout__': 'NCHW'}])
    """

    def __init__(
        self,
        input_shape: tuple[int, ...],
        num_hidden: int,
        h2h_kernel: tuple[int, int],
        h2h_dilate: tuple[int, int],
        i2h_kernel: tuple[int, int],
        i2h_stride: tuple[int, int],
        i2h_pad: tuple[int, int],
        i2h_dilate: tuple[int, int],
        i2h_weight_initializer: Any,
        h2h_weight_initializer: Any,
        i2h_bias_initializer: Any,
        h2h_bias_initializer: Any,
        activation: Any,
        prefix: str = "",
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ):
        super().__init__(prefix=prefix, params=params)
        if not all(k % 2 for k in h2h_kernel):
            raise AssertionError(f"Only support odd number, get h2h_kernel= {h2h_kernel}")
        self._num_hidden, self._activation, self._conv_layout = num_hidden, activation, conv_layout
        self._h2h: dict[str, Any] = {
            "kernel": h2h_kernel,
            "dilate": h2h_dilate,
            "pad": tuple(d * (k - 1) // 2 for d, k in zip(h2h_dilate, h2h_kernel)),
            "stride": (1, 1),
        }
        self._i2h = {"kernel": i2h_kernel, "dilate": i2h_dilate, "pad": i2h_pad, "stride": i2h_stride}
        shown = symbol.Convolution(symbol.var("data"), num_filter=num_hidden, layout=conv_layout, **self._i2h)
        shape = shown.infer_shape(data=tuple(input_shape))[1][0]
        self._state_shape = (0, *shape[1:])
        get = self._params.get
        self._iW = get("i2h_weight", init=i2h_weight_initializer)
        self._hW = get("h2h_weight", init=h2h_weight_initializer)
        self._iB = get("i2h_bias", init=i2h_bias_initializer)
        self._hB = get("h2h_bias", init=h2h_bias_initializer)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return [{"shape": self._state_shape, "__layout__": self._conv_layout}]

    def _project(self, inputs: Symbol, hidden: Symbol, name: str) -> tuple[Any, Any]:
        """Convolve the input and the state of the last step for the gates."""
        rows, layout = self._num_hidden * len(self._gate_names), self._conv_layout
        return (
            symbol.Convolution(
                inputs, self._iW, self._iB, num_filter=rows, layout=layout, name=f"{name}i2h", **self._i2h
            ),
            symbol.Convolution(
                hidden, self._hW, self._hB, num_filter=rows, layout=layout, name=f"{name}h2h", **self._h2h
            ),
        )


class _ConvCell(BaseConvRNNCell):
    """Base of the three cells: their arguments, with defaults."""

    _PREFIX = ""

    def __init__(
        self,
        input_shape: tuple[int, ...],
        num_hidden: int,
        h2h_kernel: tuple[int, int] = (3, 3),
        h2h_dilate: tuple[int, int] = (1, 1),
        i2h_kernel: tuple[int, int] = (3, 3),
        i2h_stride: tuple[int, int] = (1, 1),
        i2h_pad: tuple[int, int] = (1, 1),
        i2h_dilate: tuple[int, int] = (1, 1),
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        activation: Any = _LEAKY,
        prefix: str | None = None,
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ):
        super().__init__(
            input_shape, num_hidden, h2h_kernel, h2h_dilate, i2h_kernel, i2h_stride, i2h_pad, i2h_dilate,
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, activation,
            self._PREFIX if prefix is None else prefix, params, conv_layout,
        )  # fmt: skip


class ConvRNNCell(_ConvCell):
    """RNNCell with convolutions.

    Arguments are those of BaseConvRNNCell: input_shape, num_hidden, h2h_kernel, h2h_dilate, i2h_kernel, i2h_stride,
    i2h_pad, i2h_dilate, the initializers i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer and
    h2h_bias_initializer, activation and conv_layout. By default both convolutions keep the size: kernels are (3, 3).

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.rnn.ConvRNNCell(input_shape=(2, 3, 8, 8), num_hidden=4)
    >>> outputs, states = cell.unroll(5, mx.sym.var("data"), layout="NTCHW", merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 5, 3, 8, 8))[1]
    [(2, 5, 4, 8, 8)]
    """

    _PREFIX = "ConvRNN_"
    _gate_names = RNNCell._gate_names

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        name = self._step()
        i2h, h2h = self._project(inputs, states[0], name)
        output = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


class ConvLSTMCell(_ConvCell):
    """LSTMCell with convolutions.

    Arguments are those of BaseConvRNNCell: input_shape, num_hidden, h2h_kernel, h2h_dilate, i2h_kernel, i2h_stride,
    i2h_pad, i2h_dilate, the initializers i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer and
    h2h_bias_initializer, activation and conv_layout. By default both convolutions keep the size: kernels are (3, 3).

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.rnn.ConvLSTMCell(input_shape=(2, 3, 8, 8), num_hidden=4)
    >>> outputs, states = cell.unroll(5, mx.sym.var("data"), layout="NTCHW", merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 5, 3, 8, 8))[1], len(cell.state_info)
    ([(2, 5, 4, 8, 8)], 2)
    """

    _PREFIX = "ConvLSTM_"
    _gate_names = LSTMCell._gate_names

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return super().state_info * 2

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        name = self._step()
        axis = self._conv_layout.find("C")
        return lstm_step(self, self._project(inputs, states[0], name), states, name, self._activation, axis=axis)


class ConvGRUCell(_ConvCell):
    """GRUCell with convolutions.

    Arguments are those of BaseConvRNNCell: input_shape, num_hidden, h2h_kernel, h2h_dilate, i2h_kernel, i2h_stride,
    i2h_pad, i2h_dilate, the initializers i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer and
    h2h_bias_initializer, activation and conv_layout. By default both convolutions keep the size: kernels are (3, 3).

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.rnn.ConvGRUCell(input_shape=(2, 3, 8, 8), num_hidden=4, i2h_stride=(2, 2))
    >>> outputs, states = cell.unroll(5, mx.sym.var("data"), layout="NTCHW", merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 5, 3, 8, 8))[1]
    [(2, 5, 4, 4, 4)]
    """

    _PREFIX = "ConvGRU_"
    _gate_names = GRUCell._gate_names

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        name = self._step()
        return gru_step(self, self._project(inputs, states[0], name), states, name, self._activation)
