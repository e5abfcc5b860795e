"""The base of recurrent cells: one step of a recurrent network, and unrolling it over a sequence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ... import ndarray
from ..block import Block, HybridBlock
from ..functions import EAGER
from ..nn import LeakyReLU
from .sequences import _format_sequence, _mask_sequence_variable_length, last_valid, make_state

States = list[Any]


def _cells_state_info(cells: Iterable[Any], batch_size: int) -> list[dict[str, Any]]:
    return [info for cell in cells for info in cell.state_info(batch_size)]


def _cells_begin_state(cells: Iterable[Any], **kwargs: Any) -> States:
    return [state for cell in cells for state in cell.begin_state(**kwargs)]


def _get_begin_state(cell: Any, F: Any, begin_state: Any, inputs: Any, batch_size: int) -> States:  # noqa: N803
    """The states that are given, or zeros where inputs are."""
    if begin_state is not None:
        return begin_state
    if F in EAGER:
        first = inputs[0] if isinstance(inputs, list | tuple) else inputs
        return cell.begin_state(func=F.zeros, batch_size=batch_size, ctx=first.context)
    return cell.begin_state(func=F.zeros, batch_size=batch_size)


class RecurrentCell(Block):
    """One step of a recurrent network: ``output, new_states = cell(inputs, states)``, inputs being (N, C).

    A cell numbers its steps to name operators (``rnn0_t0_i2h``); ``reset`` starts anew.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.gluon.rnn.GRUCell(4)
    >>> cell.initialize()
    >>> states = cell.begin_state(batch_size=3)
    >>> for step in range(2):
    ...     output, states = cell(mx.nd.ones((3, 2)), states)
    >>> output.shape
    (3, 4)
    """

    def __init__(self, prefix: str | None = None, params: Any = None):
        super().__init__(prefix=prefix, params=params)
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Begin another sequence: counters, and what modifiers remember of the last step.

        Examples
        --------
        >>> from gluonnx import mx
        >>> cell = mx.gluon.rnn.GRUCell(4)
        >>> cell.reset()
        """
        self._init_counter = -1
        self._counter = -1
        for cell in self._children.values():
            cell.reset()

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape and layout of each state for a batch_size (0: unknown). Raises NotImplementedError: a cell must define it.

        Examples
        --------
        >>> from gluonnx import mx
        >>> cell = mx.gluon.rnn.GRUCell(4)
        >>> cell.state_info(batch_size=3)[0]["shape"]
        (3, 4)
        """
        raise NotImplementedError(f"{type(self).__name__} must define state_info")

    def begin_state(self, batch_size: int = 0, func: Any = ndarray.zeros, **kwargs: Any) -> States:
        """The states before the first step for a batch_size: func of each one's shape and name, and of kwargs.

        Raises AssertionError for a cell that a modifier has been put around.

        Examples
        --------
        >>> from gluonnx import mx
        >>> cell = mx.gluon.rnn.LSTMCell(4)
        >>> [state.shape for state in cell.begin_state(batch_size=3)]
        [(3, 4), (3, 4)]
        """
        _want_unmodified(self)
        states = []
        for info in self.state_info(batch_size):
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(make_state(func, name, {**(info or {}), **kwargs}))
        return states

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, States]:
        """The outputs and the last states for a sequence.

        inputs: one array in the layout, or a list of steps (N, C); length: how many there are. begin_state: the states before
        the first, by default zeros. merge_outputs: outputs as one
        array (True) or a list of steps (False; and None, unless valid_length is given). valid_length (N,): outputs after it
        are zeros, and states are those at it. Raises AssertionError for a sequence of another length.

        Examples
        --------
        >>> from gluonnx import mx
        >>> cell = mx.gluon.rnn.GRUCell(4)
        >>> cell.initialize()
        >>> outputs, states = cell.unroll(5, mx.nd.ones((3, 5, 2)), layout="NTC", merge_outputs=True)
        >>> outputs.shape, states[0].shape
        ((3, 5, 4), (3, 4))
        """
        self.reset()
        inputs, axis, F, batch = _format_sequence(length, inputs, layout, False)  # noqa: N806
        states = _get_begin_state(self, F, begin_state, inputs, batch)
        outputs, every = [], []
        for step in inputs[:length]:
            output, states = self(step, states)
            outputs.append(output)
            every.append(states)
        if valid_length is not None:
            states = last_valid(F, every, valid_length)
            outputs = _mask_sequence_variable_length(F, outputs, length, valid_length, axis, True)
        return _format_sequence(length, outputs, layout, merge_outputs)[0], states

    def _get_activation(self, F: Any, inputs: Any, activation: Any, **kwargs: Any) -> Any:  # noqa: N803
        """An activation, by name or as a layer, of inputs."""
        if activation in ("tanh", "relu", "sigmoid", "softsign"):
            return getattr(F, activation)(inputs, **kwargs)
        if isinstance(activation, str):
            return F.Activation(inputs, act_type=activation, **kwargs)
        if isinstance(activation, LeakyReLU):
            return F.LeakyReLU(inputs, act_type="leaky", slope=activation._alpha, **kwargs)
        return activation(inputs, **kwargs)

    def forward(self, inputs: Any, states: States) -> tuple[Any, States]:
        """The output and the new states of one step, given its inputs (N, C) and the states.

        Examples
        --------
        >>> from gluonnx import mx
        >>> cell = mx.gluon.rnn.GRUCell(4)
        >>> cell.initialize()
        >>> cell.forward(mx.nd.ones((3, 2)), cell.begin_state(batch_size=3))[0].shape
        (3, 4)
        """
        self._counter += 1
        return super().forward(inputs, states)  # type: ignore[misc]  HybridBlock's, for those that are one


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """A RecurrentCell that hybridizes; it defines ``hybrid_forward(F, inputs, states, **parameters)``.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Summing(mx.gluon.rnn.HybridRecurrentCell):
    ...     def state_info(self, batch_size=0):
    ...         return [{"shape": (batch_size, 1), "__layout__": "NC"}]
    ...     def hybrid_forward(self, F, inputs, states):
    ...         total = states[0] + inputs
    ...         return total, [total]
    >>> outputs, states = Summing().unroll(3, mx.nd.array([[[1], [2], [3]]]), layout="NTC")
    >>> [y.asscalar().item() for y in outputs]
    [1.0, 3.0, 6.0]
    """

    def __init__(self, prefix: str | None = None, params: Any = None):
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N803  MXNet's name
        """One step. Raises NotImplementedError: a cell must define it."""
        raise NotImplementedError(f"{type(self).__name__} must define hybrid_forward")


def _want_unmodified(cell: Any) -> None:
    if cell._modified:
        raise AssertionError(
            "After applying modifier cells (e.g. ZoneoutCell) the base cell cannot be called directly. "
            "Call the modifier cell instead."
        )
