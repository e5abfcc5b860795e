"""Recurrent cells, stacks of them, and modifiers that are put around them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .. import initializer, ndarray, symbol
from ..symbol import Symbol
from .base_cell import Arrays, BaseRNNCell, RNNParams, sequence

__all__ = [
    "BaseRNNCell",
    "BidirectionalCell",
    "DropoutCell",
    "FusedRNNCell",
    "GRUCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RNNParams",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]


class _GatedCell(BaseRNNCell):
    """Base of the cells with weights. Parameters, with G gates: i2h_weight (G*H, C), h2h_weight (G*H, H), i2h_bias and
    h2h_bias (G*H,)."""

    def __init__(self, num_hidden: int, prefix: str, params: RNNParams | None, bias_init: Any = None):
        super().__init__(prefix=prefix, params=params)
        self._num_hidden = num_hidden
        self._iW, self._hW = self._params.get("i2h_weight"), self._params.get("h2h_weight")
        self._iB = self._params.get("i2h_bias", **({} if bias_init is None else {"init": bias_init}))
        self._hB = self._params.get("h2h_bias")

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"}]

    def _project(self, inputs: Symbol, hidden: Symbol, name: str) -> tuple[Any, Any]:
        """Apply the weights of the gates to the input and to the state of the last step."""
        rows = self._num_hidden * len(self._gate_names)
        return (
            symbol.FullyConnected(data=inputs, weight=self._iW, bias=self._iB, num_hidden=rows, name=f"{name}i2h"),
            symbol.FullyConnected(data=hidden, weight=self._hW, bias=self._hB, num_hidden=rows, name=f"{name}h2h"),
        )


class RNNCell(_GatedCell):
    """h' = activation(W x + b + R h + c). Elman 1990.

    Parameters
    ----------
    num_hidden : int
        Size H of the state: inputs are (N, C), outputs and states (N, H).
    activation : str or callable, default 'tanh'
        Activation by name, or a function of a symbol.
    prefix : str, default 'rnn_'
        Beginning of the names of parameters and operators.
    params : RNNParams or None, default None
        Parameters to share; None: its own.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.rnn.RNNCell(4, prefix="rnn_")
    >>> outputs, states = cell.unroll(3, mx.sym.var("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 5))[1]
    [(2, 3, 4)]
    """

    _gate_names = ("",)

    def __init__(
        self, num_hidden: int, activation: Any = "tanh", prefix: str = "rnn_", params: RNNParams | None = None
    ):
        super().__init__(num_hidden, prefix, params)
        self._activation = activation

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        name = self._step()
        i2h, h2h = self._project(inputs, states[0], name)
        output = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


class LSTMCell(_GatedCell):
    """Long short-term memory, gates i f c o: c' = f c + i g, h' = o tanh(c'); states h and c. Hochreiter and Schmidhuber 1997.

    Parameters
    ----------
    num_hidden : int
        Size H of each state: inputs are (N, C), outputs and states (N, H).
    prefix : str, default 'lstm_'
        Beginning of the names of parameters and operators.
    params : RNNParams or None, default None
        Parameters to share; None: its own.
    forget_bias : float, default 1.0
        What the bias of the forget gate starts with.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.rnn.LSTMCell(4, prefix="lstm_")
    >>> outputs, states = cell.unroll(3, mx.sym.var("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 5))[1], cell.state_info[0]["shape"]
    ([(2, 3, 4)], (0, 4))
    """

    _gate_names = ("_i", "_f", "_c", "_o")

    def __init__(
        self, num_hidden: int, prefix: str = "lstm_", params: RNNParams | None = None, forget_bias: float = 1.0
    ):
        super().__init__(num_hidden, prefix, params, initializer.LSTMBias(forget_bias=forget_bias))

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return super().state_info * 2

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        name = self._step()
        return lstm_step(self, self._project(inputs, states[0], name), states, name, "tanh")


class GRUCell(_GatedCell):
    """Gated recurrent unit, gates r z o, as cuDNN computes it: the reset gate is applied after the product. Cho et al. 2014.

    Parameters
    ----------
    num_hidden : int
        Size H of the state: inputs are (N, C), outputs and states (N, H).
    prefix : str, default 'gru_'
        Beginning of the names of parameters and operators.
    params : RNNParams or None, default None
        Parameters to share; None: its own.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.rnn.GRUCell(4, prefix="gru_")
    >>> outputs, states = cell.unroll(3, mx.sym.var("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 5))[1]
    [(2, 3, 4)]
    """

    _gate_names = ("_r", "_z", "_o")

    def __init__(self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None):
        super().__init__(num_hidden, prefix, params)

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        name = self._step()
        return gru_step(self, self._project(inputs, states[0], f"{name}_"), states, name, "tanh")


def lstm_step(
    cell: BaseRNNCell, projected: tuple[Any, Any], states: Any, name: str, activation: Any, **cut: Any
) -> tuple[Symbol, list[Symbol]]:
    """The output and new states of an LSTM from what goes into its gates. cut: how the gates are cut apart."""
    gates = symbol.SliceChannel(projected[0] + projected[1], num_outputs=4, name=f"{name}slice", **cut)
    enter = symbol.Activation(gates[0], act_type="sigmoid", name=f"{name}i")
    keep = symbol.Activation(gates[1], act_type="sigmoid", name=f"{name}f")
    new = cell._get_activation(gates[2], activation, name=f"{name}c")
    show = symbol.Activation(gates[3], act_type="sigmoid", name=f"{name}o")
    memory = symbol._plus(keep * states[1], enter * new, name=f"{name}state")
    output = symbol._mul(show, cell._get_activation(memory, activation), name=f"{name}out")
    return output, [output, memory]


def gru_step(
    cell: BaseRNNCell, projected: tuple[Any, Any], states: Any, name: str, activation: Any
) -> tuple[Symbol, list[Symbol]]:
    """The output and new state of a GRU from what goes into its gates."""
    i2h_r, i2h_z, i2h = symbol.SliceChannel(projected[0], num_outputs=3, name=f"{name}_i2h_slice")
    h2h_r, h2h_z, h2h = symbol.SliceChannel(projected[1], num_outputs=3, name=f"{name}_h2h_slice")
    reset = symbol.Activation(i2h_r + h2h_r, act_type="sigmoid", name=f"{name}_r_act")
    keep = symbol.Activation(i2h_z + h2h_z, act_type="sigmoid", name=f"{name}_z_act")
    new = cell._get_activation(i2h + reset * h2h, activation, name=f"{name}_h_act")
    left = (1.0 - keep) * new
    output = symbol._plus(left, keep * states[0], name=f"{name}out")
    return output, [output]


_FUSED_GATES = {
    "rnn_relu": RNNCell._gate_names,
    "rnn_tanh": RNNCell._gate_names,
    "lstm": LSTMCell._gate_names,
    "gru": GRUCell._gate_names,
}


class FusedRNNCell(BaseRNNCell):
    """All layers and steps in one RNN operator, whose parameters are one vector. It cannot be stepped, only unrolled.

    Parameters
    ----------
    num_hidden : int
        Size H of each state: outputs are (T, N, H), or (T, N, 2 H) of both directions, states (L, N, H).
    num_layers : int, default 1
        Number of layers.
    mode : str, default 'lstm'
        'rnn_relu', 'rnn_tanh', 'lstm' or 'gru'.
    bidirectional : bool, default False
        Run backwards in time, too.
    dropout : float, default 0.0
        Probability that an output between two layers is dropped.
    get_next_state : bool, default False
        Have unroll give the states after the last step; else an empty list.
    forget_bias : float, default 1.0
        What the bias of the forget gate of an LSTM starts with.
    prefix : str or None, default None
        Beginning of the names of parameters and operators; None: the mode and an underscore.
    params : RNNParams or None, default None
        Parameters to share; None: its own.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.rnn.FusedRNNCell(4, num_layers=2, mode="lstm", prefix="lstm_")
    >>> outputs, states = cell.unroll(3, mx.sym.var("data"), layout="TNC", merge_outputs=True)
    >>> outputs.infer_shape(data=(3, 2, 5))[1]
    [(3, 2, 4)]
    """

    def __init__(
        self,
        num_hidden: int,
        num_layers: int = 1,
        mode: str = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        get_next_state: bool = False,
        forget_bias: float = 1.0,
        prefix: str | None = None,
        params: RNNParams | None = None,
    ):
        super().__init__(prefix=f"{mode}_" if prefix is None else prefix, params=params)
        self._num_hidden, self._num_layers, self._mode = num_hidden, num_layers, mode
        self._bidirectional, self._dropout, self._get_next_state = bidirectional, dropout, get_next_state
        self._gate_names = _FUSED_GATES[mode]
        self._directions = ("l", "r") if bidirectional else ("l",)
        init = initializer.FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self._params.get("parameters", init=init)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        shape = (len(self._directions) * self._num_layers, 0, self._num_hidden)
        return [{"shape": shape, "__layout__": "LNC"}] * (2 if self._mode == "lstm" else 1)

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    def _slice_weights(self, vector: Any, inputs: int) -> Arrays:
        """Views of the parts of the vector, as an unfused stack of cells names them. inputs: how many features come in."""
        hidden, parts = self._num_hidden, {}
        place = 0
        for kind in ("weight", "bias"):
            for layer in range(self._num_layers):
                features = inputs if layer == 0 else hidden * len(self._directions)
                for direction in self._directions:
                    for group, columns in (("i2h", features), ("h2h", hidden)):
                        for gate in self._gate_names:
                            shape = (hidden, columns) if kind == "weight" else (hidden,)
                            size = hidden * columns if kind == "weight" else hidden
                            name = f"{self._prefix}{direction}{layer}_{group}{gate}_{kind}"
                            parts[name] = vector[place : place + size].reshape(shape)
                            place += size
        if place != vector.size:
            raise ValueError(f"Invalid parameters size for FusedRNNCell: got {vector.size}, wanted {place}")
        return parts

    def _size(self, inputs: int) -> int:
        """Elements of the vector of parameters."""
        first = inputs + self._num_hidden + 2
        other = self._num_hidden * (len(self._directions) + 1) + 2
        rows = self._num_hidden * self._num_gates * len(self._directions)
        return rows * (first + (self._num_layers - 1) * other)

    def unpack_weights(self, args: Arrays) -> Arrays:
        """The parameters with the vector cut into those of every layer, direction and gate.

        Examples
        --------
        >>> from gluonnx import mx
        >>> cell = mx.rnn.FusedRNNCell(4, num_layers=2, mode="gru", prefix="gru_")
        >>> outputs, states = cell.unroll(3, mx.sym.var("data"), layout="TNC", merge_outputs=True)
        >>> shapes = dict(zip(outputs.list_arguments(), outputs.infer_shape(data=(3, 2, 5))[0]))
        >>> parts = cell.unpack_weights({"gru_parameters": mx.nd.ones(shapes["gru_parameters"])})
        >>> len(parts), parts["gru_l0_i2h_r_weight"].shape, parts["gru_l1_i2h_r_weight"].shape
        (24, (4, 5), (4, 4))
        """
        args = dict(args)
        vector = args.pop(self._parameter.name)  # type: ignore[arg-type]
        rows = self._num_hidden * self._num_gates * len(self._directions)
        inputs = (vector.size - self._size(0)) // rows
        args.update({name: part.copy() for name, part in self._slice_weights(vector, inputs).items()})
        return args

    def pack_weights(self, args: Arrays) -> Arrays:
        """The parameters with one vector for those of every layer, direction and gate; undoes unpack_weights.

        Examples
        --------
        >>> from gluonnx import mx
        >>> cell = mx.rnn.FusedRNNCell(2, mode="rnn_tanh", prefix="rnn_")
        >>> parts = {"rnn_l0_i2h_weight": mx.nd.ones((2, 3)), "rnn_l0_i2h_bias": mx.nd.zeros(2)}
        >>> parts |= {"rnn_l0_h2h_weight": mx.nd.full((2, 2), 2), "rnn_l0_h2h_bias": mx.nd.zeros(2)}
        >>> cell.pack_weights(parts)["rnn_parameters"].asnumpy()
        array([1., 1., 1., 1., 1., 1., 2., 2., 2., 2., 0., 0., 0., 0.],
              dtype=float32)
        """
        args = dict(args)
        first = args[f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"]
        vector = ndarray.zeros((self._size(first.shape[1]),), ctx=first.context, dtype=first.dtype)
        for name, part in self._slice_weights(vector, first.shape[1]).items():
            part[:] = args.pop(name)
        args[self._parameter.name] = vector  # type: ignore[index]
        return args

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        """Raises NotImplementedError."""
        raise NotImplementedError("FusedRNNCell cannot be stepped. Please use unroll")

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        self.reset()
        inputs, axis = sequence(length, inputs, layout, True)
        if axis == 1:
            warnings.warn("NTC layout detected. Consider using TNC for FusedRNNCell for faster speed", stacklevel=2)
            inputs = symbol.swapaxes(inputs, dim1=0, dim2=1)
        elif axis != 0:
            raise AssertionError(f"Unsupported layout {layout}")
        states = self.begin_state() if begin_state is None else begin_state
        rnn = symbol.RNN(
            data=inputs,
            parameters=self._parameter,
            state_size=self._num_hidden,
            num_layers=self._num_layers,
            bidirectional=self._bidirectional,
            p=self._dropout,
            state_outputs=self._get_next_state,
            mode=self._mode,
            name=f"{self._prefix}rnn",
            **dict(zip(("state", "state_cell"), states)),
        )
        outputs: Any = rnn
        after: list[Symbol] = []
        if self._get_next_state:
            outputs, *after = rnn
            for state in after:
                state._set_attr(__layout__="LNC")
        if axis == 1:
            outputs = symbol.swapaxes(outputs, dim1=0, dim2=1)
        return sequence(length, outputs, layout, merge_outputs)[0], after

    def unfuse(self) -> SequentialRNNCell:
        """The same network as a stack of cells; their parameters are what unpack_weights gives.

        Examples
        --------
        >>> from gluonnx import mx
        >>> cell = mx.rnn.FusedRNNCell(4, num_layers=2, mode="lstm", prefix="lstm_").unfuse()
        >>> outputs, states = cell.unroll(3, mx.sym.var("data"), merge_outputs=True)
        >>> outputs.infer_shape(data=(2, 3, 5))[1], len(states)
        ([(2, 3, 4)], 4)
        """
        kinds: dict[str, Callable[[str], BaseRNNCell]] = {
            "rnn_relu": lambda prefix: RNNCell(self._num_hidden, activation="relu", prefix=prefix),
            "rnn_tanh": lambda prefix: RNNCell(self._num_hidden, activation="tanh", prefix=prefix),
            "lstm": lambda prefix: LSTMCell(self._num_hidden, prefix=prefix),
            "gru": lambda prefix: GRUCell(self._num_hidden, prefix=prefix),
        }
        made, stack = kinds[self._mode], SequentialRNNCell()
        for i in range(self._num_layers):
            cells = [made(f"{self._prefix}{direction}{i}_") for direction in self._directions]
            if self._bidirectional:
                stack.add(BidirectionalCell(cells[0], cells[1], output_prefix=f"{self._prefix}bi_l{i}_"))
            else:
                stack.add(cells[0])
            if self._dropout > 0 and i != self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{i}_"))
        return stack


class _Group(BaseRNNCell):
    """Several cells, whose states stand one after the other."""

    _cells: list[BaseRNNCell]

    def reset(self) -> None:
        super().reset()
        for cell in self._cells:
            cell.reset()

    def _adopt(self, cell: BaseRNNCell, override: bool) -> None:
        """Share parameters with a cell: ours become its, with override; its become ours."""
        if override:
            if not cell._own_params:
                raise AssertionError(f"Either specify params for {type(self).__name__} or child cells, not both.")
            cell.params._params.update(self.params._params)
        self.params._params.update(cell.params._params)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, **kwargs: Any) -> list[Symbol]:
        self._want_unmodified()
        return [state for cell in self._cells for state in cell.begin_state(**kwargs)]

    def _shares(self, states: Any) -> list[Any]:
        """The states of each cell."""
        shares, place = [], 0
        for cell in self._cells:
            count = len(cell.state_info)
            shares.append(states[place : place + count])
            place += count
        return shares

    def unpack_weights(self, args: Arrays) -> Arrays:
        for cell in self._cells:
            args = cell.unpack_weights(args)
        return args

    def pack_weights(self, args: Arrays) -> Arrays:
        for cell in self._cells:
            args = cell.pack_weights(args)
        return args


class SequentialRNNCell(_Group):
    """A stack of cells: the output of each is the input of the next.

    Parameters
    ----------
    params : RNNParams or None, default None
        Parameters to share; None: those of the cells.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.rnn.SequentialRNNCell()
    >>> cell.add(mx.rnn.LSTMCell(4, prefix="a_"))
    >>> cell.add(mx.rnn.LSTMCell(2, prefix="b_"))
    >>> outputs, states = cell.unroll(3, mx.sym.var("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 5))[1]
    [(2, 3, 2)]
    """

    def __init__(self, params: RNNParams | None = None):
        super().__init__(prefix="", params=params)
        self._override_cell_params = params is not None
        self._cells = []

    def add(self, cell: BaseRNNCell) -> None:
        """Put a cell on top."""
        self._cells.append(cell)
        self._adopt(cell, self._override_cell_params)

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        self._counter += 1
        after: list[Symbol] = []
        for cell, own in zip(self._cells, self._shares(states)):
            if isinstance(cell, BidirectionalCell):
                raise AssertionError("BidirectionalCell cannot be stepped. Please use unroll")
            inputs, new = cell(inputs, own)
            after.extend(new)
        return inputs, after

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        self.reset()
        states = self.begin_state() if begin_state is None else begin_state
        after: list[Any] = []
        for cell, own in zip(self._cells, self._shares(states)):
            merge = merge_outputs if cell is self._cells[-1] else None
            inputs, new = cell.unroll(length, inputs, begin_state=own, layout=layout, merge_outputs=merge)
            after.extend(new)
        return inputs, after


class BidirectionalCell(_Group):
    """One cell forwards and one backwards in time; outputs side by side. It cannot be stepped, only unrolled, and unroll gives
    a list of states for each cell.

    Parameters
    ----------
    l_cell : BaseRNNCell
        The one forwards.
    r_cell : BaseRNNCell
        The one backwards.
    params : RNNParams or None, default None
        Parameters to share; None: those of the cells.
    output_prefix : str, default 'bi_'
        Beginning of the names of the outputs.

    Examples
    --------
    >>> from gluonnx import mx
    >>> left, right = (mx.rnn.RNNCell(4, prefix=prefix) for prefix in ("left_", "right_"))
    >>> cell = mx.rnn.BidirectionalCell(left, right)
    >>> outputs, states = cell.unroll(3, mx.sym.var("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 5))[1], len(states)
    ([(2, 3, 8)], 2)
    """

    def __init__(
        self, l_cell: BaseRNNCell, r_cell: BaseRNNCell, params: RNNParams | None = None, output_prefix: str = "bi_"
    ):
        super().__init__("", params=params)
        self._output_prefix = output_prefix
        self._override_cell_params = params is not None
        for cell in (l_cell, r_cell):
            self._adopt(cell, self._override_cell_params)
        self._cells = [l_cell, r_cell]

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        """Raises NotImplementedError."""
        raise NotImplementedError("Bidirectional cannot be stepped. Please use unroll")

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        self.reset()
        inputs, axis = sequence(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        outputs, after = [], []
        for cell, own, steps in zip(self._cells, self._shares(states), (inputs, list(reversed(inputs)))):
            output, new = cell.unroll(length, steps, begin_state=own, layout=layout, merge_outputs=merge_outputs)
            outputs.append(output)
            after.append(new)
        if merge_outputs is None:
            merge_outputs = all(isinstance(o, Symbol) for o in outputs)
            outputs = [sequence(length, o, layout, merge_outputs)[0] for o in outputs]
        left, right = outputs
        if merge_outputs:
            right = symbol.reverse(right, axis=axis)
            return symbol.Concat(left, right, dim=2, name=f"{self._output_prefix}out"), after
        pairs = enumerate(zip(left, reversed(right)))
        return [symbol.Concat(*pair, dim=1, name=f"{self._output_prefix}t{i}") for i, pair in pairs], after


class DropoutCell(BaseRNNCell):
    """Dropout of the inputs.

    Raises AssertionError for a dropout that is no number.

    Parameters
    ----------
    dropout : float
        Probability that a number of the inputs is dropped, in training mode.
    prefix : str, default 'dropout_'
        Beginning of the names of operators.
    params : RNNParams or None, default None
        Read over: it has none.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.rnn.SequentialRNNCell()
    >>> cell.add(mx.rnn.LSTMCell(4, prefix="a_"))
    >>> cell.add(mx.rnn.DropoutCell(0.5))
    >>> cell.add(mx.rnn.LSTMCell(2, prefix="b_"))
    >>> outputs, states = cell.unroll(3, mx.sym.var("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 5))[1]
    [(2, 3, 2)]
    >>> mx.rnn.DropoutCell(0.5).state_info
    []
    """

    def __init__(self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None):
        super().__init__(prefix, params)
        if not isinstance(dropout, int | float):
            raise AssertionError(f"dropout probability must be a number, got {dropout!r}")
        self.dropout = dropout

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return []

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        if self.dropout > 0:
            inputs = symbol.Dropout(data=inputs, p=self.dropout)
        return inputs, states

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        self.reset()
        inputs, _ = sequence(length, inputs, layout, merge_outputs)
        if isinstance(inputs, Symbol):
            return self(inputs, [])
        return super().unroll(length, inputs, begin_state=begin_state, layout=layout, merge_outputs=merge_outputs)


class ModifierCell(BaseRNNCell):
    """Base class of cells that change how another one works, with its parameters; the other is not to be called any more.

    Parameters
    ----------
    base_cell : BaseRNNCell
        Cell that is changed.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Halved(mx.rnn.ModifierCell):
    ...     def __call__(self, inputs, states):
    ...         output, states = self.base_cell(inputs, states)
    ...         return output / 2, states
    >>> cell = Halved(mx.rnn.RNNCell(4, prefix="rnn_"))
    >>> cell.params.get("i2h_weight").name, cell.state_info[0]["shape"]
    ('rnn_i2h_weight', (0, 4))
    >>> step, states = cell(mx.sym.var("x"), [mx.sym.var("h")])
    >>> step.infer_shape(x=(2, 5), h=(2, 4))[1]
    [(2, 4)]
    """

    def __init__(self, base_cell: BaseRNNCell):
        super().__init__()
        base_cell._modified = True
        self.base_cell = base_cell

    @property
    def params(self) -> RNNParams:
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return self.base_cell.state_info

    def begin_state(self, init_sym: Callable[..., Symbol] = symbol.zeros, **kwargs: Any) -> list[Symbol]:
        """The states before the first step, of the other cell. init_sym: what makes them, as func of other cells does."""
        self._want_unmodified()
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(func=kwargs.pop("func", init_sym), **kwargs)
        finally:
            self.base_cell._modified = True

    def unpack_weights(self, args: Arrays) -> Arrays:
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: Arrays) -> Arrays:
        return self.base_cell.pack_weights(args)


class ZoneoutCell(ModifierCell):
    """Now and then an output, or a state, stays what it was a step before. Krueger et al. 2017.

    Raises AssertionError for cells that cannot be stepped.

    Parameters
    ----------
    base_cell : BaseRNNCell
        Cell that is changed.
    zoneout_outputs : float, default 0.0
        Probability that a number of the output stays.
    zoneout_states : float, default 0.0
        Probability that a number of the states stays.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(4, prefix="lstm_"), zoneout_states=0.1)
    >>> outputs, states = cell.unroll(3, mx.sym.var("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 5))[1]
    [(2, 3, 4)]
    """

    def __init__(self, base_cell: BaseRNNCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0):
        inside = base_cell._cells if isinstance(base_cell, SequentialRNNCell) else [base_cell]
        if any(isinstance(c, FusedRNNCell) for c in inside):
            raise AssertionError("FusedRNNCell doesn't support zoneout. Please unfuse first.")
        if any(isinstance(c, BidirectionalCell) for c in inside):
            raise AssertionError(
                "BidirectionalCell doesn't support zoneout since it doesn't support step. Please add ZoneoutCell to the cells "
                "underneath instead."
            )
        super().__init__(base_cell)
        self.zoneout_outputs, self.zoneout_states = zoneout_outputs, zoneout_states
        self.prev_output: Symbol | None = None

    def reset(self) -> None:
        super().reset()  # MXNet lets the cell inside go on counting
        self.prev_output = None

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        def mixed(chance: float, new: Symbol, old: Symbol) -> Symbol:
            return symbol.where(symbol.Dropout(symbol.ones_like(new), p=chance), new, old)

        output, after = self.base_cell(inputs, states)
        # the zeros take the shape of what they are mixed with
        before = symbol.zeros((0, 0)) if self.prev_output is None else self.prev_output
        if self.zoneout_outputs:
            output = mixed(self.zoneout_outputs, output, before)
        if self.zoneout_states:
            after = [mixed(self.zoneout_states, new, old) for new, old in zip(after, states)]
        self.prev_output = output
        return output, after


class ResidualCell(ModifierCell):
    """Adds the inputs to the outputs. Wu et al. 2016.

    Parameters
    ----------
    base_cell : BaseRNNCell
        Cell that is changed, whose outputs have the shape of its inputs.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.rnn.ResidualCell(mx.rnn.RNNCell(2, prefix="rnn_"))
    >>> outputs, states = cell.unroll(1, mx.sym.var("data"), merge_outputs=True)
    >>> executor = outputs.simple_bind(mx.cpu(), data=(1, 1, 2))  # all weights are 0
    >>> executor.forward(data=mx.nd.array([[[1, 2]]]))[0].asnumpy()
    array([[[1., 2.]]], dtype=float32)
    """

    def _add_residual(self, output: Symbol, inputs: Symbol) -> Symbol:
        return symbol.elemwise_add(output, inputs, name=f"{output.name}_plus_residual")

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        output, states = self.base_cell(inputs, states)
        return self._add_residual(output, inputs), states

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        self.reset()
        self.base_cell._modified = False
        try:
            outputs, states = self.base_cell.unroll(
                length, inputs, begin_state=begin_state, layout=layout, merge_outputs=merge_outputs
            )
        finally:
            self.base_cell._modified = True
        merge = isinstance(outputs, Symbol) if merge_outputs is None else merge_outputs
        inputs, _ = sequence(length, inputs, layout, merge)
        if merge:
            return self._add_residual(outputs, inputs), states
        return [self._add_residual(o, i) for o, i in zip(outputs, inputs)], states
