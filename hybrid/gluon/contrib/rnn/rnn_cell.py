"""Cells on trial: dropout with one mask a sequence, a projected LSTM, and unrolling as one loop."""

from __future__ import annotations

from typing import Any

from ...rnn.recurrent_cell import HybridRecurrentCell, States
from ...rnn.rnn_cell import BidirectionalCell, ModifierCell, SequentialRNNCell
from ...rnn.sequences import _format_sequence, _mask_sequence_variable_length, functions_of

__all__ = ["LSTMPCell", "VariationalDropoutCell"]


class VariationalDropoutCell(ModifierCell):
    """In training drops the same elements at every step of a sequence, of the inputs, the first state and the outputs.

    Gal and Ghahramani 2016, arXiv:1512.05287. Raises AssertionError for states to drop from in a BidirectionalCell.

    Examples
    --------
    >>> from gluonnx import mx
    >>> inner = mx.gluon.rnn.GRUCell(4)
    >>> cell = mx.gluon.contrib.rnn.VariationalDropoutCell(inner, drop_inputs=0.5)
    >>> cell.initialize()
    >>> outputs, states = cell.unroll(3, mx.nd.ones((1, 3, 2)), merge_outputs=True)
    >>> outputs.shape
    (1, 3, 4)
    """

    def __init__(self, base_cell: Any, drop_inputs: float = 0.0, drop_states: float = 0.0, drop_outputs: float = 0.0):
        if drop_states and isinstance(base_cell, BidirectionalCell):
            raise AssertionError(
                "BidirectionalCell doesn't support variational state dropout. "
                "Please add VariationalDropoutCell to the cells underneath instead."
            )
        if (
            drop_states
            and isinstance(base_cell, SequentialRNNCell)
            and any(isinstance(cell, BidirectionalCell) for cell in base_cell._children.values())
        ):
            raise AssertionError(
                "Bidirectional SequentialRNNCell doesn't support variational state dropout. "
                "Please add VariationalDropoutCell to the cells underneath instead."
            )
        super().__init__(base_cell)
        self.drop_inputs, self.drop_states, self.drop_outputs = drop_inputs, drop_states, drop_outputs
        self._masks: dict[str, Any] = {}

    def _alias(self) -> str:
        return "vardrop"

    def reset(self) -> None:
        """Begin another sequence, with other masks."""
        super().reset()
        self._masks = {}

    def _mask(self, F: Any, what: str, rate: float, like: Any) -> Any:  # noqa: N803  MXNet's name for "nd or sym"
        """The mask of this sequence for one of the three."""
        if what not in self._masks:
            self._masks[what] = F.Dropout(F.ones_like(like), p=rate)
        return self._masks[what]

    def hybrid_forward(self, F: Any, inputs: Any, states: States) -> tuple[Any, States]:  # noqa: N803
        """One step."""
        if self.drop_states:
            states = [states[0] * self._mask(F, "states", self.drop_states, states[0]), *states[1:]]
        if self.drop_inputs:
            inputs = inputs * self._mask(F, "inputs", self.drop_inputs, inputs)
        output, following = self.base_cell(inputs, states)
        if self.drop_outputs:
            output = output * self._mask(F, "outputs", self.drop_outputs, output)
        return output, following

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out = {self.drop_outputs}, p_state = {self.drop_states})"

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, States]:
        """As RecurrentCell.unroll; without drop_states the masks are laid on whole sequences, and outputs are one array
        unless merge_outputs is False."""
        if self.drop_states:
            return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        self.reset()
        inputs, axis, F, _ = _format_sequence(length, inputs, layout, True)  # noqa: N806
        if self.drop_inputs:
            first = F.slice_axis(inputs, axis=axis, begin=0, end=1)
            inputs = F.broadcast_mul(inputs, self._mask(F, "inputs", self.drop_inputs, first))
        self.base_cell._modified = False
        outputs, states = self.base_cell.unroll(length, inputs, begin_state, layout, True, valid_length)
        self.base_cell._modified = True
        if self.drop_outputs:
            first = F.slice_axis(outputs, axis=axis, begin=0, end=1)
            outputs = F.broadcast_mul(outputs, self._mask(F, "outputs", self.drop_outputs, first))
        merge = True if merge_outputs is None else merge_outputs
        outputs = _format_sequence(length, outputs, layout, merge)[0]
        if valid_length is not None:
            outputs = _mask_sequence_variable_length(F, outputs, length, valid_length, axis, merge)
        return outputs, states


class LSTMPCell(HybridRecurrentCell):
    """An LSTMCell whose output is projected after each step; states r (N, P) and c (N, H).

    Parameters: i2h_weight (4*H, C), h2h_weight (4*H, P), h2r_weight (P, H), i2h_bias and h2h_bias (4*H,). Sak et al. 2014,
    arXiv:1402.1128.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.gluon.contrib.rnn.LSTMPCell(4, projection_size=2)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((1, 3)), cell.begin_state(batch_size=1))
    >>> output.shape, [state.shape for state in states]
    ((1, 2), [(1, 2), (1, 4)])
    """

    i2h_weight: Any

    def __init__(
        self,
        hidden_size: int,
        projection_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        h2r_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._hidden_size, self._input_size, self._projection_size = hidden_size, input_size, projection_size
        for name, shape, init in (
            ("i2h_weight", (4 * hidden_size, input_size), i2h_weight_initializer),
            ("h2h_weight", (4 * hidden_size, projection_size), h2h_weight_initializer),
            ("h2r_weight", (projection_size, hidden_size), h2r_weight_initializer),
            ("i2h_bias", (4 * hidden_size,), i2h_bias_initializer),
            ("h2h_bias", (4 * hidden_size,), h2h_bias_initializer),
        ):
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Two states, (N, P) and (N, H)."""
        sizes = (self._projection_size, self._hidden_size)
        return [{"shape": (batch_size, size), "__layout__": "NC"} for size in sizes]

    def _alias(self) -> str:
        return "lstmp"

    def __repr__(self) -> str:
        rows, features = self.i2h_weight.shape
        return f"{type(self).__name__}({features or None} -> {rows} -> {self._projection_size})"

    def hybrid_forward(
        self,
        F: Any,  # noqa: N803
        inputs: Any,
        states: States,
        i2h_weight: Any,
        h2h_weight: Any,
        h2r_weight: Any,
        i2h_bias: Any,
        h2h_bias: Any,
    ) -> tuple[Any, States]:
        """The output and the new states of one step."""
        prefix, rows = f"t{self._counter}_", 4 * self._hidden_size
        i2h = F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=rows, name=prefix + "i2h")
        h2h = F.FullyConnected(states[0], h2h_weight, h2h_bias, num_hidden=rows, name=prefix + "h2h")
        gates = F.SliceChannel(i2h + h2h, num_outputs=4, name=prefix + "slice")
        enter = F.Activation(gates[0], act_type="sigmoid", name=prefix + "i")
        forget = F.Activation(gates[1], act_type="sigmoid", name=prefix + "f")
        new = F.Activation(gates[2], act_type="tanh", name=prefix + "c")
        leave = F.Activation(gates[3], act_type="sigmoid", name=prefix + "o")
        cell = F.elemwise_add(forget * states[1], enter * new, name=prefix + "state")
        hidden = F.elemwise_mul(leave, F.Activation(cell, act_type="tanh"), name=prefix + "hidden")
        output = F.FullyConnected(
            hidden, h2r_weight, num_hidden=self._projection_size, no_bias=True, name=prefix + "out"
        )
        return output, [output, cell]


def dynamic_unroll(
    cell: Any,
    inputs: Any,
    begin_state: Any,
    drop_inputs: float = 0,
    drop_outputs: float = 0,
    layout: str = "TNC",
    valid_length: Any = None,
) -> tuple[Any, States]:
    """The outputs as one array, and the last states, of a cell over inputs of any length: a loop, in the graph too.

    inputs: one array in the layout; begin_state must be given. valid_length (N,): outputs after it are zeros and states are
    those at it. drop_inputs, drop_outputs: dropout with one mask for all steps. Raises AssertionError for missing states."""
    if begin_state is None:
        raise AssertionError("dynamic_unroll needs begin_state: make it with cell.begin_state(batch_size)")
    F = functions_of(inputs)  # noqa: N806
    axis = layout.find("T")
    wanted = [axis, *(i for i in range(len(layout)) if i != axis)]  # time first; the same again undoes it

    def dropped(data: Any, rate: float) -> Any:
        return F.Dropout(data, p=rate, axes=(axis,)) if rate else data

    def step(data: Any, carried: Any) -> Any:
        number, states = carried
        output, following = cell(data, states)
        if valid_length is not None:
            alive = F.broadcast_lesser(number, valid_length)
            following = [F.where(alive, new, old) for new, old in zip(following, states)]
            output = F.where(alive, output, F.zeros_like(output))
        return output, [number + 1, following]

    data = F.transpose(dropped(inputs, drop_inputs), axes=wanted)
    number = F.zeros((1,)) if valid_length is None else F.zeros_like(valid_length)
    outputs, (_, states) = F.contrib.foreach(step, data, [number, begin_state])
    return dropped(F.transpose(outputs, axes=wanted), drop_outputs), states
