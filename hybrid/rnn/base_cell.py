"""The base of all cells: parameters, states, unrolling, and weights gate by gate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import ndarray, symbol
from ..ndarray import NDArray
from ..symbol import Symbol

Arrays = dict[str, NDArray]


class RNNParams:
    """Variables by name, shared by all cells that were given them."""

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

    prefix: of the names of parameters and operators; params: an RNNParams to take the parameters from."""

    _gate_names: Sequence[str] = ()
    """Suffixes of the names of the gates' rows, in their order; none for cells without weights."""

    def __init__(self, prefix: str = "", params: RNNParams | None = None):
        self._own_params = params is None
        self._params = RNNParams(prefix) if params is None else params
        self._prefix = prefix
        self._modified = False
        self._init_counter = self._counter = -1

    def reset(self) -> None:
        """Number the steps from 0 again."""
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
        """The parameters; who asks may share them with other cells."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape, with 0 for the batch, and layout of every state."""
        raise NotImplementedError

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        """The shapes of the states."""
        return [info["shape"] for info in self.state_info]

    def _want_unmodified(self) -> None:
        if self._modified:
            raise AssertionError(
                "After applying modifier cells (e.g. DropoutCell) the base cell cannot be called directly. Call the modifier "
                "cell instead."
            )

    def begin_state(self, func: Callable[..., Symbol] = symbol.zeros, **kwargs: Any) -> list[Symbol]:
        """The states before the first step, which func makes; zeros by default. func may be ``sym.var``."""
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
        """The parameters with those of all gates apart, under names such as ``lstm_i2h_f_weight``."""
        args = dict(args)
        for name, parts in self._gates() if self._gate_names else ():
            whole = args.pop(name)
            rows = len(whole) // len(parts)
            for i, part in enumerate(parts):
                args[part] = whole[i * rows : (i + 1) * rows].copy()
        return args

    def pack_weights(self, args: Arrays) -> Arrays:
        """The parameters as the cell takes them; undoes unpack_weights."""
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
        list without; for None as they come."""
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
