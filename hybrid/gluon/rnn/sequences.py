"""Sequences as one array or as a list of steps, and what cells do to either."""

from __future__ import annotations

from typing import Any

from ... import ndarray, symbol
from ...eager.faces import dressed
from ...ndarray import NDArray
from ...symbol import Symbol
from ..functions import ARRAYS, EAGER, SYMBOLS

Steps = Any
"""One array with an axis of time, or a list of arrays without it."""


def functions_of(inputs: Steps) -> Any:
    """The module of functions for what inputs are made of. Raises ValueError when that is neither arrays nor symbols."""
    first = inputs[0] if isinstance(inputs, list | tuple) and inputs else inputs
    if isinstance(first, Symbol):
        return symbol if first._face is Symbol else SYMBOLS
    if isinstance(first, NDArray):
        return ndarray if first._face is NDArray else ARRAYS
    raise ValueError(f"inputs must be NDArrays or Symbols, or a list of them, got {type(first).__name__}")


def split(F: Any, data: Any, count: int, axis: int) -> list[Any]:  # noqa: N803  MXNet's name for "nd or sym"
    """The steps of an array, without its axis of time."""
    parts = F.split(data, axis=axis, num_outputs=count, squeeze_axis=1)
    return [parts] if count == 1 else list(parts)


def _format_sequence(
    length: int | None, inputs: Steps, layout: str, merge: bool | None, in_layout: str | None = None
) -> tuple[Steps, int, Any, int]:
    """A sequence as one array in the layout (merge), as a list of its steps (not merge), or as it is (None).

    in_layout: that of an array given; the same if None. Also gives the axis of time, the module of functions, and the batch
    size (0 when unknown). Raises AssertionError for another length."""
    functions = functions_of(inputs)
    axis, batch_axis = layout.find("T"), layout.find("N")
    in_axis = in_layout.find("T") if in_layout is not None else axis
    batch = 0
    if isinstance(inputs, NDArray | Symbol):
        if isinstance(inputs, NDArray):
            batch = inputs.shape[batch_axis]
        if merge is not False:
            moved = inputs if axis == in_axis else functions.swapaxes(inputs, dim1=axis, dim2=in_axis)
            return moved, axis, functions, batch
        if isinstance(inputs, Symbol):
            if len(inputs) != 1:
                raise AssertionError(
                    "unroll doesn't allow grouped symbol as input. Please convert to list with list(inputs) first or let "
                    "unroll handle splitting."
                )
            if length is None:
                raise AssertionError("the length of a sequence of symbols must be given")
            return split(functions, inputs, length, in_axis), axis, functions, batch
        if length not in (None, inputs.shape[in_axis]):
            raise AssertionError(f"got a sequence of {inputs.shape[in_axis]} steps, wanted length={length}")
        return split(functions, inputs, inputs.shape[in_axis], in_axis), axis, functions, batch
    if length is not None and len(inputs) != length:
        raise AssertionError(f"got a list of {len(inputs)} steps, wanted length={length}")
    if functions in EAGER:  # the steps lack the axis of time
        batch = inputs[0].shape[batch_axis - (batch_axis > axis)]
    if merge:
        return functions.stack(*inputs, axis=axis), axis, functions, batch
    return list(inputs), axis, functions, batch


def _mask_sequence_variable_length(
    F: Any,  # noqa: N803
    data: Steps,
    length: int,
    valid_length: Any,
    time_axis: int,
    merge: bool | None,
) -> Steps:
    """The sequence with zeros after each sample's valid length: one array, or with merge False a list of steps."""
    if not isinstance(data, NDArray | Symbol):
        data = F.stack(*data, axis=time_axis)
    out = F.SequenceMask(data, sequence_length=valid_length, use_sequence_length=True, axis=time_axis)
    return out if merge is not False else split(F, out, length, time_axis)


def _reverse_sequences(sequences: list[Any], unroll_step: int, valid_length: Any = None) -> list[Any]:
    """The steps from the last valid one to the first; those after the valid length stay where they are."""
    if valid_length is None:
        return list(reversed(sequences))
    functions = functions_of(sequences)
    merged = functions.SequenceReverse(
        functions.stack(*sequences, axis=0), sequence_length=valid_length, use_sequence_length=True
    )
    return split(functions, merged, unroll_step, 0)


def last_valid(F: Any, states: list[list[Any]], valid_length: Any) -> list[Any]:  # noqa: N803
    """Of the states after each step, those after each sample's last valid one."""
    return [
        F.SequenceLast(F.stack(*steps, axis=0), sequence_length=valid_length, use_sequence_length=True, axis=0)
        for steps in zip(*states)
    ]


def make_state(func: Any, name: str, info: dict[str, Any]) -> Any:
    """Make a state from its description with func, a maker of arrays or of symbols."""
    info = dict(info)
    if getattr(func, "__module__", None) == symbol.__name__ and "__layout__" in info:
        info["attr"] = {"__layout__": info.pop("__layout__")}
    if getattr(func, "__module__", None) in (ARRAYS.np.__name__, SYMBOLS.np.__name__):  # which take no hints
        return func(**{k: v for k, v in info.items() if not k.startswith("__")})
    return dressed(func(name=name, **info))
