"""The base of all cells: parameters, states, unrolling, and weights gate by gate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import ndarray, symbol
from ..ndarray import NDArray
from ..symbol import Symbol

Arrays = dict[str, NDArray]


class RNNParams:
    """Variables by name, shared by all cells that were given them.

    Examples
    --------
    >>> from gluonnx import mx
    >>> shared = mx.rnn.RNNParams(prefix="lstm_")
    >>> first, second = (mx.rnn.LSTMCell(4, params=shared) for _ in range(2))
    >>> shared.get("i2h_weight").name
    'lstm_i2h_weight'
    """

    def __init__(self, prefix: str = ""):
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """The variable of that name behind the prefix, made at the first call; keywords are those of ``sym.var``."""
        name = self._prefix + name
        if name not in self._params:
            self._params[name] = symbol.var(name, **kwargs)
        return self._params[name]


def sequence(length: int | None, inputs: Any, layout: str, merge: bool | None) -> tuple[Any, int]:
    """(a sequence in the form that is wanted, the axis of time).

    merge: True for one symbol, False for a list with one for each step, None for how it is. Raises AssertionError
    for a list of another length, or several outputs that are not a list."""
    axis = layout.find("T")
    if isinstance(inputs, Symbol):
        if merge is not False:
            return inputs, axis
        if len(inputs) != 1:
            raise AssertionError(
                "unroll doesn't allow grouped symbol as input. Please convert to list with list(inputs) first or let unroll "
                "handle splitting."
            )
        return list(symbol.split(inputs, axis=axis, num_outputs=length, squeeze_axis=1)), axis
    if length is not None and len(inputs) != length:
        raise AssertionError(f"got {len(inputs)} inputs, wanted {length}, one for each step")
    if merge is True:
        return symbol.Concat(*(symbol.expand_dims(i, axis=axis) for i in inputs), dim=axis), axis
    return inputs, axis


class BaseRNNCell:
    """Base class: ``output, new_states = cell(inputs, states)`` makes the symbols of one step, ``unroll`` those of many.

    prefix: of the names of parameters and operators; params: an RNNParams to take the parameters from.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Summing(mx.rnn.BaseRNNCell):
    ...     @property
    ...     def state_info(self):
    ...         return [{"shape": (0, 3), "__layout__": "NC"}]
    ...     def __call__(self, inputs, states):
    ...         total = inputs + states[0]
    ...         return total, [total]
    >>> outputs, states = Summing().unroll(2, mx.sym.var("data"), merge_outputs=True)
    >>> outputs.eval(data=mx.nd.array([[[1, 2, 3], [10, 20, 30]]]))[0].asnumpy()
    array([[[ 1.,  2.,  3.],
            [11., 22., 33.]]], dtype=float32)
    """

    _gate_names: Sequence[str] = ()
    """Suffixes of the names of the gates' rows, in their order; none for cells without weights."""

    def __init__(self, prefix: str = "", params: RNNParams | None = None):
        self._own_params = params is None
        self._params = RNNParams(prefix) if params is None else params
        self._prefix = prefix
        self._modified = False
        self._init_counter = self._counter = -1

    def reset(self) -> None:
        """Number the steps from 0 again.

        Examples
        --------
        >>> from gluonnx import mx
        >>> cell = mx.rnn.RNNCell(4, prefix="rnn_")
        >>> cell(mx.sym.var("a"), cell.begin_state())[0].name
        'rnn_t0_out'
        >>> cell(mx.sym.var("b"), cell.begin_state())[0].name
        'rnn_t1_out'
        >>> cell.reset()
        >>> cell(mx.sym.var("c"), cell.begin_state())[0].name
        'rnn_t0_out'
        """
        self._init_counter = self._counter = -1

    def __call__(self, inputs: Symbol, states: Any) -> tuple[Symbol, list[Symbol]]:
        """The output and the new states of one step."""
        raise NotImplementedError

    def _step(self) -> str:
        """Count a step, and return the beginning of the names of its operators."""
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    @property
    def params(self) -> RNNParams:
        """The parameters; who asks may share them with other cells.

        Examples
        --------
        >>> from gluonnx import mx
        >>> first = mx.rnn.RNNCell(4, prefix="rnn_")
        >>> second = mx.rnn.RNNCell(4, prefix="other_", params=first.params)
        >>> step, states = second(mx.sym.var("x"), second.begin_state())
        >>> [name for name in step.list_arguments() if name.endswith("weight")]
        ['rnn_i2h_weight', 'rnn_h2h_weight']
        """
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape, with 0 for the batch, and layout of every state.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.rnn.GRUCell(4).state_info
        [{'shape': (0, 4), '__layout__': 'NC'}]
        """
        raise NotImplementedError

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        """The shapes of the states.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.rnn.LSTMCell(4).state_shape
        [(0, 4), (0, 4)]
        """
        return [info["shape"] for info in self.state_info]

    def _want_unmodified(self) -> None:
        if self._modified:
            raise AssertionError(
                "After applying modifier cells (e.g. DropoutCell) the base cell cannot be called directly. Call the modifier "
                "cell instead."
            )

    def begin_state(self, func: Callable[..., Symbol] = symbol.zeros, **kwargs: Any) -> list[Symbol]:
        """The states before the first step, which func makes; zeros by default. func may be ``sym.var``.

        Examples
        --------
        >>> from gluonnx import mx
        >>> cell = mx.rnn.LSTMCell(4, prefix="lstm_")
        >>> [state.name for state in cell.begin_state(func=mx.sym.var)]
        ['lstm_begin_state_0', 'lstm_begin_state_1']
        """
        self._want_unmodified()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}", **{**kwargs, **info}))
        return states

    # -- weights ------------------------------------------------------------------------------------------------------

    def _gates(self) -> list[tuple[str, list[str]]]:
        """For each parameter whose rows are those of the gates one after the other, the names of its parts."""
        return [
            (f"{self._prefix}{group}_{kind}", [f"{self._prefix}{group}{gate}_{kind}" for gate in self._gate_names])
            for group in ("i2h", "h2h")
            for kind in ("weight", "bias")
        ]

    def unpack_weights(self, args: Arrays) -> Arrays:
        """The parameters with those of all gates apart, under names such as ``lstm_i2h_f_weight``.

        Examples
        --------
        >>> from gluonnx import mx
        >>> cell = mx.rnn.GRUCell(2, prefix="gru_")
        >>> whole = {f"gru_{part}_weight": mx.nd.ones((6, 2)) for part in ("i2h", "h2h")}
        >>> whole |= {f"gru_{part}_bias": mx.nd.zeros(6) for part in ("i2h", "h2h")}
        >>> parts = cell.unpack_weights(whole)
        >>> len(parts), parts["gru_i2h_z_weight"].shape
        (12, (2, 2))
        """
        args = dict(args)
        for name, parts in self._gates() if self._gate_names else ():
            whole = args.pop(name)
            rows = len(whole) // len(parts)
            for i, part in enumerate(parts):
                args[part] = whole[i * rows : (i + 1) * rows].copy()
        return args

    def pack_weights(self, args: Arrays) -> Arrays:
        """The parameters as the cell takes them; undoes unpack_weights.

        Examples
        --------
        >>> from gluonnx import mx
        >>> cell = mx.rnn.GRUCell(2, prefix="gru_")
        >>> parts = {}
        >>> for gate in ("i2h_r", "i2h_z", "i2h_o", "h2h_r", "h2h_z", "h2h_o"):
        ...     parts |= {f"gru_{gate}_weight": mx.nd.ones((2, 2)), f"gru_{gate}_bias": mx.nd.zeros(2)}
        >>> whole = cell.pack_weights(parts)
        >>> len(whole), whole["gru_i2h_weight"].shape
        (4, (6, 2))
        """
        args = dict(args)
        for name, parts in self._gates() if self._gate_names else ():
            args[name] = ndarray.concat(*[args.pop(part) for part in parts], dim=0)
        return args

    # -- unrolling ----------------------------------------------------------------------------------------------------

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        """(outputs, states after the last step) of so many steps.

        inputs: one symbol of that layout, or a list with one for each step; outputs are one symbol with merge_outputs, a
        list without; for None as they come. begin_state: the states before the first step, by default zeros.

        Raises AssertionError for a list of another length, for several outputs of one symbol, and in a FusedRNNCell
        for a layout other than NTC and TNC.

        Examples
        --------
        >>> from gluonnx import mx
        >>> cell = mx.rnn.LSTMCell(4, prefix="lstm_")
        >>> outputs, states = cell.unroll(2, [mx.sym.var("x0"), mx.sym.var("x1")])
        >>> [output.name for output in outputs], [state.name for state in states]
        (['lstm_t0_out', 'lstm_t1_out'], ['lstm_t1_out', 'lstm_t1_state'])
        >>> outputs, states = cell.unroll(2, mx.sym.var("data"), layout="TNC", merge_outputs=True)
        >>> outputs.infer_shape(data=(2, 3, 5))[1]
        [(2, 3, 4)]
        """
        self.reset()
        inputs, _ = sequence(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for i in range(length):
            output, states = self(inputs[i], states)
            outputs.append(output)
        return sequence(length, outputs, layout, merge_outputs)[0], states

    def _get_activation(self, inputs: Symbol, activation: Any, **kwargs: Any) -> Symbol:
        """An activation by name, or a function."""
        if isinstance(activation, str):
            return symbol.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs, **kwargs)
