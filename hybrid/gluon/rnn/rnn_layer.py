"""Recurrent layers over whole sequences, on the fused operator RNN."""

from __future__ import annotations

import re
import warnings
from typing import Any

from ... import ndarray, symbol
from ...ndarray import NDArray
from ...symbol import Symbol
from ..block import HybridBlock
from ..functions import EAGER, SYMBOLS
from . import rnn_cell
from .sequences import make_state

__all__ = ["GRU", "LSTM", "RNN"]

_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
_OWN = re.compile(r"(l|r)(\d+)_(i2h|h2h|h2r)_(weight|bias)")


def _in_a_row(F: Any, parameter: Any) -> Any:  # noqa: N803  MXNet's name for "nd or sym"
    """All numbers of a parameter. As a symbol of mx.np by the operator that infers the shape of it, which NumPy's does not."""
    return F.reshape(parameter, shape=(-1,)) if F is SYMBOLS else parameter.reshape(-1)


class _RNNLayer(HybridBlock):
    """Base of the layers. Called with (T, N, C), or (N, T, C) with layout NTC, and optionally the states before it:
    ``outputs`` alone without states, else ``outputs, last_states``; outputs are (T, N, D*R), with D directions.

    Parameters of layer i, forwards l and backwards r, with G gates: l0_i2h_weight (G*H, C), l0_h2h_weight (G*H, R),
    l0_i2h_bias, l0_h2h_bias (G*H,), and with a projection l0_h2r_weight (R, H); R is projection_size or H. dropout lies
    between layers. Raises AssertionError for another layout."""

    l0_i2h_weight: Any

    def __init__(
        self,
        hidden_size: int,
        num_layers: int,
        layout: str,
        dropout: float,
        bidirectional: bool,
        input_size: int,
        i2h_weight_initializer: Any,
        h2h_weight_initializer: Any,
        i2h_bias_initializer: Any,
        h2h_bias_initializer: Any,
        mode: str,
        projection_size: int | None,
        h2r_weight_initializer: Any,
        lstm_state_clip_min: float | None,
        lstm_state_clip_max: float | None,
        lstm_state_clip_nan: bool,
        dtype: Any,
        use_sequence_length: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if layout not in ("TNC", "NTC"):
            raise AssertionError(f"Invalid layout {layout}; must be one of ['TNC' or 'NTC']")
        self._hidden_size, self._projection_size = hidden_size, projection_size
        self._num_layers, self._mode, self._layout, self._dropout = num_layers, mode, layout, dropout
        self._dir = 2 if bidirectional else 1
        self._input_size = input_size
        self._i2h_weight_initializer = i2h_weight_initializer
        self._h2h_weight_initializer = h2h_weight_initializer
        self._i2h_bias_initializer = i2h_bias_initializer
        self._h2h_bias_initializer = h2h_bias_initializer
        self._h2r_weight_initializer = h2r_weight_initializer
        self._lstm_state_clip_min = lstm_state_clip_min
        self._lstm_state_clip_max = lstm_state_clip_max
        self._lstm_state_clip_nan = lstm_state_clip_nan
        self._dtype = dtype
        self._use_sequence_length = use_sequence_length
        self.skip_states = True
        rows, size = _GATES[mode] * hidden_size, projection_size or hidden_size
        features = input_size
        for layer in range(num_layers):
            for side in self._sides():
                named = f"{side}{layer}_"
                self._register_param(named + "i2h_weight", (rows, features), i2h_weight_initializer, dtype)
                self._register_param(named + "h2h_weight", (rows, size), h2h_weight_initializer, dtype)
                self._register_param(named + "i2h_bias", (rows,), i2h_bias_initializer, dtype)
                self._register_param(named + "h2h_bias", (rows,), h2h_bias_initializer, dtype)
                if projection_size:
                    self._register_param(
                        named + "h2r_weight", (projection_size, hidden_size), h2r_weight_initializer, dtype
                    )
            features = size * self._dir

    def _sides(self) -> str:
        return "lr"[: self._dir]

    def _register_param(self, name: str, shape: tuple[int, ...], init: Any, dtype: Any) -> Any:
        parameter = self.params.get(name, shape=shape, init=init, allow_deferred_init=True, dtype=dtype)
        setattr(self, name, parameter)
        return parameter

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Any]:
        """Parameters as ``save_parameters`` names them: as if the layer were a stack of cells named ``_unfused``."""

        def rename(name: str) -> str:
            side, layer, group, kind = _OWN.fullmatch(name).groups()  # type: ignore[union-attr]  all are made above
            return f"_unfused.{layer}.{f'{side}_cell.' if self._dir == 2 else ''}{group}_{kind}"

        return {f"{prefix}{'.' if prefix else ''}{rename(n)}": p for n, p in self._reg_params.items()}

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape, layout and dtype of the states for a batch_size: one, (L*D, N, H)."""
        return [self._state(batch_size, self._hidden_size)]

    def _state(self, batch_size: int, size: int) -> dict[str, Any]:
        shape = (self._num_layers * self._dir, batch_size, size)
        return {"shape": shape, "__layout__": "LNC", "dtype": self._dtype}

    def begin_state(self, batch_size: int = 0, func: Any = ndarray.zeros, **kwargs: Any) -> list[Any]:
        """The states before the first step for a batch_size: func of each one's shape, dtype and name, and of kwargs."""
        return [
            make_state(func, f"{self.prefix}h0_{i}", {**info, **kwargs})
            for i, info in enumerate(self.state_info(batch_size))
        ]

    def cast(self, dtype: Any) -> None:
        """Convert the parameters, and the states that begin_state makes, to dtype."""
        super().cast(dtype)
        self._dtype = dtype

    def _unfuse(self) -> rnn_cell.HybridSequentialRNNCell:
        """The same network as cells that share the parameters. Raises AssertionError with a projection or clipping."""
        if self._projection_size:
            raise AssertionError("_unfuse does not support projection layer yet!")
        if self._lstm_state_clip_min is not None or self._lstm_state_clip_max is not None:
            raise AssertionError("_unfuse does not support state clipping yet!")
        kinds: dict[str, Any] = {
            "rnn_relu": lambda **kwargs: rnn_cell.RNNCell(self._hidden_size, activation="relu", **kwargs),
            "rnn_tanh": lambda **kwargs: rnn_cell.RNNCell(self._hidden_size, activation="tanh", **kwargs),
            "lstm": lambda **kwargs: rnn_cell.LSTMCell(self._hidden_size, **kwargs),
            "gru": lambda **kwargs: rnn_cell.GRUCell(self._hidden_size, **kwargs),
        }
        stack = rnn_cell.HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        with stack.name_scope():
            features = self._input_size
            for layer in range(self._num_layers):
                cells = [
                    kinds[self._mode](
                        prefix=f"{side}{layer}_",
                        input_size=features,
                        i2h_weight_initializer=self._i2h_weight_initializer,
                        h2h_weight_initializer=self._h2h_weight_initializer,
                        i2h_bias_initializer=self._i2h_bias_initializer,
                        h2h_bias_initializer=self._h2h_bias_initializer,
                    )
                    for side in self._sides()
                ]
                stack.add(cells[0] if self._dir == 1 else rnn_cell.BidirectionalCell(*cells))
                if self._dropout > 0 and layer != self._num_layers - 1:
                    stack.add(rnn_cell.DropoutCell(self._dropout))
                features = self._hidden_size * self._dir
        return stack

    def __call__(self, inputs: Any, states: Any = None, sequence_length: Any = None, **kwargs: Any) -> Any:
        """The outputs, and with states the last states; see the class. sequence_length (N,) needs use_sequence_length.

        Raises ValueError when use_sequence_length is on and there is none."""
        if self._use_sequence_length and sequence_length is None:
            raise ValueError(
                f"{self.name} was made with use_sequence_length=True: it must be called with sequence_length"
            )
        if sequence_length is not None and not self._use_sequence_length:
            warnings.warn(
                f"{self.name} ignores sequence_length, as in MXNet; make the layer with use_sequence_length=True",
                stacklevel=2,
            )
        skip = states is None
        if skip != self.skip_states:  # the graph gives another number of outputs
            self.skip_states = skip
            self._clear_cached_op()
        if states is None:
            if isinstance(inputs, NDArray):
                batch = inputs.shape[self._layout.find("N")]
                states = self.begin_state(batch, ctx=inputs.context, dtype=inputs.dtype)
            else:
                states = self.begin_state(0, func=symbol.zeros)
        if isinstance(states, NDArray | Symbol):
            states = [states]
        lengths = () if sequence_length is None else (sequence_length,)
        return super().__call__(inputs, states, *lengths, **kwargs)

    def hybrid_forward(
        self,
        F: Any,  # noqa: N803  MXNet's name for "nd or sym"
        inputs: Any,
        states: list[Any],
        sequence_length: Any = None,
        **kwargs: Any,
    ) -> Any:
        """See __call__; kwargs are the parameters. Raises ValueError for states of a wrong shape."""
        if F in EAGER:
            for state, info in zip(states, self.state_info(inputs.shape[self._layout.find("N")])):
                if state.shape != info["shape"]:
                    raise ValueError(f"Invalid recurrent state shape. Expecting {info['shape']}, got {state.shape}.")
        outputs, last = self._forward_kernel(F, inputs, states, sequence_length, **kwargs)
        return outputs if self.skip_states else (outputs, last)

    def _forward_kernel(
        self,
        F: Any,  # noqa: N803
        inputs: Any,
        states: list[Any],
        sequence_length: Any,
        **kwargs: Any,
    ) -> tuple[Any, list[Any]]:
        """The operator, on time-major inputs and the parameters in one vector: all weights, then all biases."""
        if self._layout == "NTC":
            inputs = F.swapaxes(inputs, dim1=0, dim2=1)
        weights = ("i2h_weight", "h2h_weight", *(("h2r_weight",) if self._projection_size else ()))
        packed = [
            _in_a_row(F, kwargs[f"{side}{layer}_{name}"])
            for names in (weights, ("i2h_bias", "h2h_bias"))
            for layer in range(self._num_layers)
            for side in self._sides()
            for name in names
        ]
        lengths = [sequence_length] if self._use_sequence_length else []
        outputs, *last = F.RNN(
            inputs,
            F._internal._rnn_param_concat(*packed, dim=0),
            *states,
            *lengths,
            use_sequence_length=self._use_sequence_length,
            state_size=self._hidden_size,
            projection_size=self._projection_size,
            num_layers=self._num_layers,
            bidirectional=self._dir == 2,
            p=self._dropout,
            state_outputs=True,
            mode=self._mode,
            lstm_state_clip_min=self._lstm_state_clip_min,
            lstm_state_clip_max=self._lstm_state_clip_max,
            lstm_state_clip_nan=self._lstm_state_clip_nan,
        )
        if self._layout == "NTC":
            outputs = F.swapaxes(outputs, dim1=0, dim2=1)
        return outputs, last

    def __repr__(self) -> str:
        rows, features = self.l0_i2h_weight.shape
        parts = [
            f"{features or None} -> {rows // _GATES[self._mode]}, {self._layout}",
            f"num_layers={self._num_layers}" if self._num_layers != 1 else "",
            f"dropout={self._dropout}" if self._dropout != 0 else "",
            "bidirectional" if self._dir == 2 else "",
        ]
        return f"{type(self).__name__}({', '.join(part for part in parts if part)})"


class RNN(_RNNLayer):
    """Layers of h' = activation(W x + b + R h + c), activation relu or tanh (KeyError for another); state (L*D, N, H).

    Called with (T, N, C), or (N, T, C) with layout NTC, and optionally the states before it: gives the outputs (T, N, D*H) alone
    without states, else outputs and last states, with D directions and L layers. Raises AssertionError for another layout.

    Parameters
    ----------
    hidden_size : int
        Number of units of a layer.
    num_layers : int, default 1
        Number of layers on top of each other.
    activation : str or None, default 'relu'
        What is applied to the output: relu, sigmoid, tanh, softrelu, softsign; None: nothing.
    layout : str, default 'TNC'
        Order of the axes.
    dropout : float, default 0
        Probability with which an output becomes 0 between layers in training.
    bidirectional : bool, default False
        Run backwards too, and join both.
    i2h_weight_initializer : Initializer, str or None, default None
        Of the weights from input to hidden.
    h2h_weight_initializer : Initializer, str or None, default None
        Of the weights from hidden to hidden.
    i2h_bias_initializer : Initializer or str, default 'zeros'
        Of the biases from input to hidden.
    h2h_bias_initializer : Initializer or str, default 'zeros'
        Of the biases from hidden to hidden.
    input_size : int, default 0
        Size of the last axis of the input; 0: the first input tells.
    dtype : str or dtype, default 'float32'
        Dtype of the parameters.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.rnn.RNN(4, num_layers=2)
    >>> layer.initialize()
    >>> x = mx.nd.ones((5, 3, 2))  # 5 steps, 3 sequences, 2 numbers
    >>> output, states = layer(x, layer.begin_state(batch_size=3))
    >>> output.shape, [state.shape for state in states]
    ((5, 3, 4), [(2, 3, 4)])
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        activation: str = "relu",
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        dtype: Any = "float32",
        **kwargs: Any,
    ):
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, i2h_weight_initializer,
            h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, "rnn_" + activation, None, None, None,
            None, False, dtype, **kwargs,
        )  # fmt: skip


class LSTM(_RNNLayer):
    """Layers of LSTM cells, with states h (L*D, N, R) and c (L*D, N, H), R being projection_size or H.

    Called with (T, N, C), or (N, T, C) with layout NTC, and optionally the states before it: gives the outputs (T, N, D*R) alone
    without states, else outputs and last states, with D directions and L layers. Raises AssertionError for another layout.

    projection_size: that of h, projected after each step (Sak et al. 2014, arXiv:1402.1128). state_clip_min and
    state_clip_max bound the cell state.

    Parameters
    ----------
    hidden_size : int
        Number of units of a layer.
    num_layers : int, default 1
        Number of layers on top of each other.
    layout : str, default 'TNC'
        Order of the axes.
    dropout : float, default 0
        Probability with which an output becomes 0 between layers in training.
    bidirectional : bool, default False
        Run backwards too, and join both.
    input_size : int, default 0
        Size of the last axis of the input; 0: the first input tells.
    i2h_weight_initializer : Initializer, str or None, default None
        Of the weights from input to hidden.
    h2h_weight_initializer : Initializer, str or None, default None
        Of the weights from hidden to hidden.
    i2h_bias_initializer : Initializer or str, default 'zeros'
        Of the biases from input to hidden.
    h2h_bias_initializer : Initializer or str, default 'zeros'
        Of the biases from hidden to hidden.
    projection_size : int or None, default None
        Number of outputs that the hidden state is projected to; None: no projection.
    h2r_weight_initializer : Initializer, str or None, default None
        Of the weights of the projection.
    state_clip_min : float or None, default None
        Least cell state; None: not clipped.
    state_clip_max : float or None, default None
        Greatest cell state; None: not clipped.
    state_clip_nan : bool, default False
        Replace NaN in a clipped cell state.
    dtype : str or dtype, default 'float32'
        Dtype of the parameters.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.rnn.LSTM(hidden_size=16, num_layers=2)
    >>> layer.initialize()
    >>> states = layer.begin_state(batch_size=3)
    >>> outputs, states = layer(mx.nd.ones((5, 3, 8)), states)
    >>> outputs.shape, [s.shape for s in states]
    ((5, 3, 16), [(2, 3, 16), (2, 3, 16)])"""

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        projection_size: int | None = None,
        h2r_weight_initializer: Any = None,
        state_clip_min: float | None = None,
        state_clip_max: float | None = None,
        state_clip_nan: bool = False,
        dtype: Any = "float32",
        **kwargs: Any,
    ):
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, i2h_weight_initializer,
            h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, "lstm", projection_size,
            h2r_weight_initializer, state_clip_min, state_clip_max, state_clip_nan, dtype, **kwargs,
        )  # fmt: skip

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape, layout and dtype of h and c for a batch_size.

        Examples
        --------
        >>> from gluonnx import mx
        >>> [state["shape"] for state in mx.gluon.rnn.LSTM(5, num_layers=2).state_info(batch_size=4)]
        [(2, 4, 5), (2, 4, 5)]
        """
        return [
            self._state(batch_size, self._projection_size or self._hidden_size),
            self._state(batch_size, self._hidden_size),
        ]


class GRU(_RNNLayer):
    """Layers of gated recurrent units, as rnn.GRUCell computes them. State (L*D, N, H).

    Called with (T, N, C), or (N, T, C) with layout NTC, and optionally the states before it: gives the outputs (T, N, D*H) alone
    without states, else outputs and last states, with D directions and L layers. Raises AssertionError for another layout.

    Parameters
    ----------
    hidden_size : int
        Number of units of a layer.
    num_layers : int, default 1
        Number of layers on top of each other.
    layout : str, default 'TNC'
        Order of the axes.
    dropout : float, default 0
        Probability with which an output becomes 0 between layers in training.
    bidirectional : bool, default False
        Run backwards too, and join both.
    input_size : int, default 0
        Size of the last axis of the input; 0: the first input tells.
    i2h_weight_initializer : Initializer, str or None, default None
        Of the weights from input to hidden.
    h2h_weight_initializer : Initializer, str or None, default None
        Of the weights from hidden to hidden.
    i2h_bias_initializer : Initializer or str, default 'zeros'
        Of the biases from input to hidden.
    h2h_bias_initializer : Initializer or str, default 'zeros'
        Of the biases from hidden to hidden.
    dtype : str or dtype, default 'float32'
        Dtype of the parameters.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.rnn.GRU(4, bidirectional=True, layout="NTC")
    >>> layer.initialize()
    >>> layer(mx.nd.ones((3, 5, 2))).shape
    (3, 5, 8)
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        dtype: Any = "float32",
        **kwargs: Any,
    ):
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, i2h_weight_initializer,
            h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, "gru", None, None, None, None, False,
            dtype, **kwargs,
        )  # fmt: skip
