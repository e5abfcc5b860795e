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
    """The old name of ``cell.unroll``; makes the inputs when there are none.

    length, begin_state, layout: as in unroll. inputs: one symbol, a list of them, or None for variables called
    ``INPUT_PREFIXtN_data``, of which input_prefix is the beginning.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.rnn.RNNCell(4, prefix="rnn_")
    >>> outputs, states = cell.unroll(2, [mx.sym.var(f"t{i}_data") for i in range(2)])
    >>> again, states = mx.rnn.rnn_unroll(cell, 2)  # the same
    >>> [output.name for output in outputs] == [output.name for output in again]
    True
    """
    warnings.warn("rnn_unroll is deprecated. Please call cell.unroll directly.", stacklevel=2)
    if inputs is None:
        inputs = [var(f"{input_prefix}t{i}_data") for i in range(length)]
    return cell.unroll(length, inputs=inputs, begin_state=begin_state, layout=layout)


def save_rnn_checkpoint(
    cells: Any, prefix: str, epoch: int, symbol: Symbol, arg_params: Arrays, aux_params: Arrays
) -> None:
    """save_checkpoint with the weights of a cell, or of a list of them, unpacked.

    cells: a cell, or a list of them. prefix, epoch, symbol, arg_params, aux_params: as in mx.model.save_checkpoint.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.rnn.FusedRNNCell(2, mode="rnn_tanh", prefix="rnn_")
    >>> net, states = cell.unroll(3, mx.sym.var("data"), layout="TNC", merge_outputs=True)
    >>> mx.rnn.save_rnn_checkpoint(cell, "net", 1, net, {"rnn_parameters": mx.nd.ones(14)}, {})
    >>> sorted(mx.model.load_params("net", 1)[0])
    ['rnn_l0_h2h_bias', 'rnn_l0_h2h_weight', 'rnn_l0_i2h_bias', 'rnn_l0_i2h_weight']
    """
    for cell in _as_list(cells):
        arg_params = cell.unpack_weights(arg_params)
    save_checkpoint(prefix, epoch, symbol, arg_params, aux_params)


def load_rnn_checkpoint(cells: Any, prefix: str, epoch: int) -> tuple[Symbol, Arrays, Arrays]:
    """(symbol, arguments, auxiliary states) of save_rnn_checkpoint, with the weights packed as the cells take them.

    cells: a cell, or a list of them. prefix, epoch: as in mx.model.load_checkpoint.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.rnn.FusedRNNCell(2, mode="rnn_tanh", prefix="rnn_")
    >>> net, states = cell.unroll(3, mx.sym.var("data"), layout="TNC", merge_outputs=True)
    >>> mx.rnn.save_rnn_checkpoint(cell, "net", 1, net, {"rnn_parameters": mx.nd.ones(14)}, {})
    >>> net, arguments, states = mx.rnn.load_rnn_checkpoint(cell, "net", 1)
    >>> arguments["rnn_parameters"].shape
    (14,)
    """
    symbol, arguments, states = load_checkpoint(prefix, epoch)
    for cell in _as_list(cells):
        arguments = cell.pack_weights(arguments)
    return symbol, arguments, states


def do_rnn_checkpoint(cells: Any, prefix: str, period: int = 1) -> Callable[..., None]:
    """An epoch-end callback that calls save_rnn_checkpoint every ``period`` epochs.

    cells: a cell, or a list of them. prefix: of the files' names, as in mx.model.save_checkpoint.

    Examples
    --------
    >>> from gluonnx import mx
    >>> cell = mx.rnn.FusedRNNCell(2, mode="rnn_tanh", prefix="rnn_")
    >>> net, states = cell.unroll(3, mx.sym.var("data"), layout="TNC", merge_outputs=True)
    >>> save = mx.rnn.do_rnn_checkpoint(cell, "net", period=2)
    >>> for epoch in range(2):  # what fit calls after each epoch
    ...     save(epoch, net, {"rnn_parameters": mx.nd.ones(14)}, {})
    >>> mx.rnn.load_rnn_checkpoint(cell, "net", 2)[1]["rnn_parameters"].shape
    (14,)
    """
    period = int(max(1, period))

    def _callback(iter_no: int, sym: Any = None, arg: Any = None, aux: Any = None) -> None:
        if (iter_no + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, iter_no + 1, sym, arg, aux)

    return _callback
