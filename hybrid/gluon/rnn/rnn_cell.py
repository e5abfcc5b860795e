"""Recurrent cells, stacks of them, and modifiers that are put around them."""

from __future__ import annotations

from typing import Any

from ... import symbol
from ...ndarray import NDArray
from ...symbol import Symbol
from .recurrent_cell import (
    HybridRecurrentCell,
    RecurrentCell,
    States,
    _cells_begin_state,
    _cells_state_info,
    _get_begin_state,
    _want_unmodified,
)
from .sequences import _format_sequence, _mask_sequence_variable_length, _reverse_sequences

__all__ = [
    "BidirectionalCell",
    "DropoutCell",
    "GRUCell",
    "HybridRecurrentCell",
    "HybridSequentialRNNCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RecurrentCell",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]


class _GatedCell(HybridRecurrentCell):
    """Base of the cells with weights. Parameters, with G gates: i2h_weight (G*H, C), h2h_weight (G*H, H), i2h_bias and
    h2h_bias (G*H,). input_size 0 is taken from the first input."""

    _gates = 1
    i2h_weight: Any

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._hidden_size, self._input_size = hidden_size, input_size
        rows = self._gates * hidden_size
        for name, shape, init in (
            ("i2h_weight", (rows, input_size), i2h_weight_initializer),
            ("h2h_weight", (rows, hidden_size), h2h_weight_initializer),
            ("i2h_bias", (rows,), i2h_bias_initializer),
            ("h2h_bias", (rows,), h2h_bias_initializer),
        ):
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """One state, (N, H)."""
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"}]

    def _project(self, F: Any, inputs: Any, hidden: Any, *parameters: Any) -> tuple[str, Any, Any]:  # noqa: N803
        """The prefix of the step's names, and what goes into the gates from the input and from the last step."""
        prefix = f"t{self._counter}_"
        i2h_weight, h2h_weight, i2h_bias, h2h_bias = parameters
        rows = self._gates * self._hidden_size
        i2h = F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=rows, name=prefix + "i2h")
        return prefix, i2h, F.FullyConnected(hidden, h2h_weight, h2h_bias, num_hidden=rows, name=prefix + "h2h")

    def _mapping(self) -> str:
        rows, features = self.i2h_weight.shape
        return f"{features or None} -> {rows}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._mapping()})"


class RNNCell(_GatedCell):
    """h' = activation(W x + b + R h + c). Elman 1990.

    Parameters
    ----------
    hidden_size : int
        Number of units of a layer.
    activation : str or None, default 'tanh'
        What is applied to the output: relu, sigmoid, tanh, softrelu, softsign; None: nothing.
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

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.gluon.rnn.RNNCell(4)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((3, 2)), cell.begin_state(batch_size=3))
    >>> output.shape, len(states)
    ((3, 4), 1)
    """

    def __init__(
        self,
        hidden_size: int,
        activation: Any = "tanh",
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ):
        super().__init__(
            hidden_size, i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer,
            input_size, prefix, params,
        )  # fmt: skip
        self._activation = activation

    def _alias(self) -> str:
        return "rnn"

    def hybrid_forward(
        self,
        F: Any,  # noqa: N803  MXNet's name for "nd or sym"
        inputs: Any,
        states: States,
        i2h_weight: Any,
        h2h_weight: Any,
        i2h_bias: Any,
        h2h_bias: Any,
    ) -> tuple[Any, States]:
        """The output and the new state of one step."""
        prefix, i2h, h2h = self._project(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        total = F.elemwise_add(i2h, h2h, name=prefix + "plus0")
        output = self._get_activation(F, total, self._activation, name=prefix + "out")
        return output, [output]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._mapping()}, {self._activation})"


class LSTMCell(_GatedCell):
    """Long short-term memory, gates i f g o: c' = f c + i g, h' = o tanh(c'); states h and c, both (N, H).

    Hochreiter and Schmidhuber 1997.

    Parameters
    ----------
    hidden_size : int
        Number of units of a layer.
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
    activation : str or None, default 'tanh'
        What is applied to the output: relu, sigmoid, tanh, softrelu, softsign; None: nothing.
    recurrent_activation : str, default 'sigmoid'
        Activation of the gates.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.gluon.rnn.LSTMCell(4)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((3, 2)), cell.begin_state(batch_size=3))
    >>> output.shape, len(states)
    ((3, 4), 2)
    """

    _gates = 4

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
    ):
        super().__init__(
            hidden_size, i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer,
            input_size, prefix, params,
        )  # fmt: skip
        self._activation, self._recurrent_activation = activation, recurrent_activation

    def _alias(self) -> str:
        return "lstm"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Two states, (N, H)."""
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
        prefix, i2h, h2h = self._project(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        gates = F.SliceChannel(F.elemwise_add(i2h, h2h, name=prefix + "plus0"), num_outputs=4, name=prefix + "slice")
        gate, activation = self._recurrent_activation, self._activation
        enter = self._get_activation(F, gates[0], gate, name=prefix + "i")
        forget = self._get_activation(F, gates[1], gate, name=prefix + "f")
        new = self._get_activation(F, gates[2], activation, name=prefix + "c")
        leave = self._get_activation(F, gates[3], gate, name=prefix + "o")
        kept = F.elemwise_mul(forget, states[1], name=prefix + "mul0")
        cell = F.elemwise_add(kept, F.elemwise_mul(enter, new, name=prefix + "mul1"), name=prefix + "state")
        shown = F.Activation(cell, act_type=activation, name=prefix + "activation0")
        output = F.elemwise_mul(leave, shown, name=prefix + "out")
        return output, [output, cell]


class GRUCell(_GatedCell):
    """Gated recurrent unit, gates r z n: h' = (1 - z) n + z h, n = tanh(W x + b + r (R h + c)). Cho et al. 2014,
    arXiv:1406.1078, as cuDNN has it.

    Parameters
    ----------
    hidden_size : int
        Number of units of a layer.
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

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.gluon.rnn.GRUCell(4)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((3, 2)), cell.begin_state(batch_size=3))
    >>> output.shape, len(states)
    ((3, 4), 1)
    """

    _gates = 3

    def _alias(self) -> str:
        return "gru"

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
        hidden = states[0]
        prefix, i2h, h2h = self._project(F, inputs, hidden, i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        i2h_r, i2h_z, i2h_n = F.SliceChannel(i2h, num_outputs=3, name=prefix + "i2h_slice")
        h2h_r, h2h_z, h2h_n = F.SliceChannel(h2h, num_outputs=3, name=prefix + "h2h_slice")
        reset = F.elemwise_add(i2h_r, h2h_r, name=prefix + "plus0")
        reset = F.Activation(reset, act_type="sigmoid", name=prefix + "r_act")
        update = F.elemwise_add(i2h_z, h2h_z, name=prefix + "plus1")
        update = F.Activation(update, act_type="sigmoid", name=prefix + "z_act")
        new = F.elemwise_add(i2h_n, F.elemwise_mul(reset, h2h_n, name=prefix + "mul0"), name=prefix + "plus2")
        new = F.Activation(new, act_type="tanh", name=prefix + "h_act")
        ones = F.ones_like(update, name=prefix + "ones_like0")
        fresh = F.elemwise_mul(F.elemwise_sub(ones, update, name=prefix + "minus0"), new, name=prefix + "mul1")
        kept = F.elemwise_mul(update, hidden, name=prefix + "mul20")
        output = F.elemwise_add(fresh, kept, name=prefix + "out")
        return output, [output]


class _Stack(RecurrentCell):
    """Cells, each of which takes the output of the one before; its states are theirs, in order."""

    def __repr__(self) -> str:
        lines = "\n".join(f"({i}): {str(cell).replace(chr(10), chr(10) + '  ')}" for i, cell in self._children.items())
        return f"{type(self).__name__}(\n{lines}\n)"

    def add(self, cell: Any) -> None:
        """Append a cell."""
        self.register_child(cell)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Those of all cells."""
        return _cells_state_info(self._children.values(), batch_size)

    def begin_state(self, **kwargs: Any) -> States:  # type: ignore[override]  MXNet takes keywords only
        """Those of all cells."""
        _want_unmodified(self)
        return _cells_begin_state(self._children.values(), **kwargs)

    def __call__(self, inputs: Any, states: States) -> tuple[Any, States]:
        """One step. Raises AssertionError when a cell is bidirectional."""
        self._counter += 1
        following, at = [], 0
        for cell in self._children.values():
            if isinstance(cell, BidirectionalCell):
                raise AssertionError("a BidirectionalCell cannot be stepped; use unroll")
            count = len(cell.state_info())
            inputs, state = cell(inputs, states[at : at + count])
            at += count
            following += state
        return inputs, following

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, States]:
        """As RecurrentCell.unroll; cell after cell, each over the whole sequence."""
        self.reset()
        inputs, _, F, batch = _format_sequence(length, inputs, layout, None)  # noqa: N806
        states = _get_begin_state(self, F, begin_state, inputs, batch)
        following, at = [], 0
        cells = list(self._children.values())
        for cell in cells:
            count = len(cell.state_info())
            merge = merge_outputs if cell is cells[-1] else None
            inputs, state = cell.unroll(length, inputs, states[at : at + count], layout, merge, valid_length)
            at += count
            following += state
        return inputs, following

    def __getitem__(self, i: Any) -> Any:
        return list(self._children.values())[i]

    def __len__(self) -> int:
        return len(self._children)


class SequentialRNNCell(_Stack):
    """Cells on top of each other.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.gluon.rnn.SequentialRNNCell()
    >>> cell.add(mx.gluon.rnn.LSTMCell(4))
    >>> cell.add(mx.gluon.rnn.GRUCell(2))
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((3, 5)), cell.begin_state(batch_size=3))
    >>> output.shape, [state.shape for state in states]
    ((3, 2), [(3, 4), (3, 4), (3, 2)])
    """

    def __init__(self, prefix: str | None = None, params: Any = None):
        super().__init__(prefix=prefix, params=params)


class HybridSequentialRNNCell(_Stack, HybridRecurrentCell):
    """Hybrid cells on top of each other.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.gluon.rnn.HybridSequentialRNNCell()
    >>> cell.add(mx.gluon.rnn.LSTMCell(4))
    >>> cell.initialize()
    >>> cell.hybridize()
    >>> outputs, states = cell.unroll(5, mx.nd.ones((3, 5, 2)), layout="NTC", merge_outputs=True)
    >>> outputs.shape
    (3, 5, 4)
    """

    def __init__(self, prefix: str | None = None, params: Any = None):
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, F: Any, inputs: Any, states: States) -> tuple[Any, States]:  # noqa: N803
        """One step."""
        return self(inputs, states)


class DropoutCell(HybridRecurrentCell):
    """In training drops elements of the input, as nn.Dropout does; no states. Raises AssertionError for a rate that is no
    number.

    Parameters
    ----------
    axes : tuple of int, default ()
        Axes along which all elements share one fate; empty: each has its own.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.gluon.rnn.DropoutCell(0.5)
    >>> cell(mx.nd.ones((1, 3)), [])[0].asnumpy()  # out of training
    array([[1., 1., 1.]], dtype=float32)
    """

    def __init__(self, rate: float, axes: Any = (), prefix: str | None = None, params: Any = None):
        super().__init__(prefix, params)
        if not isinstance(rate, int | float):
            raise AssertionError("rate must be a number")
        self._rate, self._axes = rate, axes

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """None."""
        return []

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"

    def _alias(self) -> str:
        return "dropout"

    def hybrid_forward(self, F: Any, inputs: Any, states: States) -> tuple[Any, States]:  # noqa: N803
        """The input with elements dropped."""
        if self._rate > 0:
            inputs = F.Dropout(data=inputs, p=self._rate, axes=self._axes, name=f"t{self._counter}_fwd")
        return inputs, states

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, States]:
        """As RecurrentCell.unroll; one array is dropped from at once, and stays one unless merge_outputs is False."""
        self.reset()
        inputs, _, F, _ = _format_sequence(length, inputs, layout, merge_outputs)  # noqa: N806
        if isinstance(inputs, NDArray | Symbol):
            return self.hybrid_forward(F, inputs, begin_state or [])
        return super().unroll(length, inputs, begin_state or [], layout, merge_outputs)


class ModifierCell(HybridRecurrentCell):
    """Base class of what is put around a cell; the parameters are the cell's, which from then on is called through this.

    Raises AssertionError for a cell that has a modifier already.

    Parameters
    ----------
    base_cell : RNNCell
        The cell that is changed.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Doubled(mx.gluon.rnn.ModifierCell):
    ...     def hybrid_forward(self, F, inputs, states):
    ...         output, states = self.base_cell(inputs, states)
    ...         return 2 * output, states
    >>> cell = Doubled(mx.gluon.rnn.GRUCell(4))
    >>> cell.initialize()
    >>> states = cell.begin_state(func=mx.nd.zeros, batch_size=3)
    >>> cell(mx.nd.ones((3, 2)), states)[0].shape
    (3, 4)
    """

    def __init__(self, base_cell: Any):
        _want_unmodified(base_cell)
        base_cell._modified = True
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    @property
    def params(self) -> Any:
        """The base cell's."""
        return self.base_cell.params

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """The base cell's."""
        return self.base_cell.state_info(batch_size)

    def begin_state(self, func: Any = symbol.zeros, **kwargs: Any) -> States:  # type: ignore[override]  as in MXNet
        """The base cell's."""
        _want_unmodified(self)
        self.base_cell._modified = False
        begin = self.base_cell.begin_state(func=func, **kwargs)
        self.base_cell._modified = True
        return begin

    def hybrid_forward(self, F: Any, inputs: Any, states: States) -> Any:  # noqa: N803
        """One step. Raises NotImplementedError: a modifier must define it."""
        raise NotImplementedError(f"{type(self).__name__} must define hybrid_forward")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell})"


class ZoneoutCell(ModifierCell):
    """In training leaves random elements of the output and of the states as they were a step before.

    Krueger et al. 2017, arXiv:1606.01305. Raises AssertionError for a BidirectionalCell.

    Parameters
    ----------
    base_cell : RNNCell
        The cell that is changed.
    zoneout_outputs : float, default 0.0
        Probability with which an output stays that of the step before, in training.
    zoneout_states : float, default 0.0
        Probability with which a state stays that of the step before, in training.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.gluon.rnn.ZoneoutCell(mx.gluon.rnn.LSTMCell(4), zoneout_states=0.1)
    >>> cell.initialize()
    >>> states = cell.begin_state(func=mx.nd.zeros, batch_size=3)
    >>> cell(mx.nd.ones((3, 2)), states)[0].shape
    (3, 4)
    """

    def __init__(self, base_cell: Any, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0):
        if isinstance(base_cell, BidirectionalCell):
            raise AssertionError(
                "BidirectionalCell doesn't support zoneout since it doesn't support step. "
                "Please add ZoneoutCell to the cells underneath instead."
            )
        super().__init__(base_cell)
        self.zoneout_outputs, self.zoneout_states = zoneout_outputs, zoneout_states
        self._prev_output = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out={self.zoneout_outputs}, p_state={self.zoneout_states}, {self.base_cell!r})"

    def _alias(self) -> str:
        return "zoneout"

    def reset(self) -> None:
        """Begin another sequence."""
        super().reset()
        self._prev_output = None

    def hybrid_forward(self, F: Any, inputs: Any, states: States) -> tuple[Any, States]:  # noqa: N803
        """One step."""
        output, following = self.base_cell(inputs, states)
        before = self._prev_output if type(self._prev_output) is type(output) else None  # none of a run's in a trace

        def mix(rate: float, new: Any, old: Any) -> Any:  # Dropout of ones is zero where the old value stays
            kept = F.Dropout(F.ones_like(new), p=rate)
            return F.where(kept, new, F.zeros_like(new) if old is None else old)

        if self.zoneout_outputs:
            output = mix(self.zoneout_outputs, output, before)
        if self.zoneout_states:
            following = [mix(self.zoneout_states, new, old) for new, old in zip(following, states)]
        self._prev_output = output
        return output, following


class ResidualCell(ModifierCell):
    """Adds the input to the output, which must be of one shape. Wu et al. 2016, arXiv:1609.08144.

    Parameters
    ----------
    base_cell : RNNCell
        The cell that is changed.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.gluon.rnn.ResidualCell(mx.gluon.rnn.GRUCell(2))
    >>> cell.initialize(mx.init.Zero())
    >>> states = cell.begin_state(func=mx.nd.zeros, batch_size=1)
    >>> cell(mx.nd.ones((1, 2)), states)[0].asnumpy()
    array([[1., 1.]], dtype=float32)
    """

    def hybrid_forward(self, F: Any, inputs: Any, states: States) -> tuple[Any, States]:  # noqa: N803
        """One step."""
        output, following = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name=f"t{self._counter}_fwd"), following

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, States]:
        """As RecurrentCell.unroll; inputs after the valid length are not added."""
        self.reset()
        self.base_cell._modified = False
        outputs, states = self.base_cell.unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        self.base_cell._modified = True
        merged = isinstance(outputs, NDArray | Symbol) if merge_outputs is None else merge_outputs
        inputs, axis, F, _ = _format_sequence(length, inputs, layout, merged)  # noqa: N806
        if valid_length is not None:
            inputs = _mask_sequence_variable_length(F, inputs, length, valid_length, axis, merged)
        if merged:
            return F.elemwise_add(outputs, inputs), states
        return [F.elemwise_add(out, step) for out, step in zip(outputs, inputs)], states


class BidirectionalCell(HybridRecurrentCell):
    """One cell forwards and one backwards over a sequence; their outputs are joined. Only ``unroll`` makes sense.

    Parameters
    ----------
    l_cell : RNNCell
        The cell that runs forwards.
    r_cell : RNNCell
        The cell that runs backwards.
    output_prefix : str, default 'bi_'
        Beginning of the outputs' names.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.gluon.rnn.BidirectionalCell(mx.gluon.rnn.LSTMCell(4), mx.gluon.rnn.LSTMCell(4))
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(5, mx.nd.ones((3, 5, 2)), layout="NTC", merge_outputs=True)
    >>> outputs.shape
    (3, 5, 8)
    """

    def __init__(self, l_cell: Any, r_cell: Any, output_prefix: str = "bi_"):
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __call__(self, inputs: Any, states: States) -> Any:
        """Raises NotImplementedError: the backward cell needs the whole sequence."""
        raise NotImplementedError("Bidirectional cannot be stepped. Please use unroll")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(forward={self._children['l_cell']}, backward={self._children['r_cell']})"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Those of the forward cell, then those of the backward cell."""
        return _cells_state_info(self._children.values(), batch_size)

    def begin_state(self, **kwargs: Any) -> States:  # type: ignore[override]  MXNet takes keywords only
        """Those of the forward cell, then those of the backward cell."""
        _want_unmodified(self)
        return _cells_begin_state(self._children.values(), **kwargs)

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, States]:
        """As RecurrentCell.unroll; the backward cell begins at each sample's last valid step."""
        self.reset()
        inputs, axis, F, batch = _format_sequence(length, inputs, layout, False)  # noqa: N806
        mirrored = _reverse_sequences(inputs, length, valid_length)
        states = _get_begin_state(self, F, begin_state, inputs, batch)
        forward, backward = self._children.values()
        count = len(forward.state_info(batch))
        left, left_states = forward.unroll(length, inputs, states[:count], layout, merge_outputs, valid_length)
        right, right_states = backward.unroll(length, mirrored, states[count:], layout, False, valid_length)
        right = _reverse_sequences(right, length, valid_length)
        merged = isinstance(left, NDArray | Symbol) if merge_outputs is None else merge_outputs
        left = _format_sequence(None, left, layout, merged)[0]
        right = _format_sequence(None, right, layout, merged)[0]
        outputs: Any
        if merged:
            outputs = F.concat(left, right, dim=2, name=f"{self._output_prefix}out")
        else:
            outputs = [
                F.concat(a, b, dim=1, name=f"{self._output_prefix}t{i}") for i, (a, b) in enumerate(zip(left, right))
            ]
        if valid_length is not None:
            outputs = _mask_sequence_variable_length(F, outputs, length, valid_length, axis, merged)
        return outputs, left_states + right_states
