"""Checkpoints in which weights stand gate by gate, whatever cells they were trained in."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..checkpoint import load_checkpoint, save_checkpoint
from ..symbol import Symbol, var
from .base_cell import Arrays, BaseRNNCell

__all__ = ["do_rnn_checkpoint", "load_rnn_checkpoint", "rnn_unroll", "save_rnn_checkpoint"]


def _as_list(cells: Any) -> list[BaseRNNCell]:
    return [cells] if isinstance(cells, BaseRNNCell) else list(cells)


def rnn_unroll(
    cell: BaseRNNCell,
    length: int,
    inputs: Any = None,
    begin_state: Any = None,
    input_prefix: str = "",
    layout: str = "NTC",
) -> tuple[Any, Any]:
    """The old name of ``cell.unroll``; makes the inputs when there are none."""
    warnings.warn("rnn_unroll is deprecated. Please call cell.unroll directly.", stacklevel=2)
    if inputs is None:
        inputs = [var(f"{input_prefix}t{i}_data") for i in range(length)]
    return cell.unroll(length, inputs=inputs, begin_state=begin_state, layout=layout)


def save_rnn_checkpoint(
    cells: Any, prefix: str, epoch: int, symbol: Symbol, arg_params: Arrays, aux_params: Arrays
) -> None:
    """save_checkpoint with the weights of a cell, or of a list of them, unpacked."""
    for cell in _as_list(cells):
        arg_params = cell.unpack_weights(arg_params)
    save_checkpoint(prefix, epoch, symbol, arg_params, aux_params)


def load_rnn_checkpoint(cells: Any, prefix: str, epoch: int) -> tuple[Symbol, Arrays, Arrays]:
    """(symbol, arguments, auxiliary states) of save_rnn_checkpoint, with the weights packed as the cells take them."""
    symbol, arguments, states = load_checkpoint(prefix, epoch)
    for cell in _as_list(cells):
        arguments = cell.pack_weights(arguments)
    return symbol, arguments, states


def do_rnn_checkpoint(cells: Any, prefix: str, period: int = 1) -> Callable[..., None]:
    """An epoch-end callback that calls save_rnn_checkpoint every ``period`` epochs."""
    period = int(max(1, period))

    def _callback(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, iter_no + 1, sym, arg, aux)

    return _callback
