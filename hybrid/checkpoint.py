"""Models in files: ``PREFIX-symbol.json`` with ``PREFIX-NNNN.params``."""

from __future__ import annotations

import logging
from typing import Any

from . import symbol
from .formats import pairs, params
from .ndarray import NDArray, to_stored, wrap


def save_checkpoint(
    prefix: str,
    epoch: int,
    symbol: symbol.Symbol | None,
    arg_params: dict[str, NDArray],
    aux_params: dict[str, NDArray],
    remove_amp_cast: bool = True,
) -> None:
    """Write a model's two files, ``PREFIX-symbol.json`` and ``PREFIX-NNNN.params``; the symbol's only when there is one.

    epoch: the number NNNN. arg_params, aux_params: parameters by name. remove_amp_cast: without the casts that mixed precision
    put in.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="top")
    >>> mx.model.save_checkpoint("net", 3, net, {"top_weight": mx.nd.ones((1, 2))}, {})
    >>> net, arguments, states = mx.model.load_checkpoint("net", 3)
    >>> arguments["top_weight"].asnumpy()
    array([[1., 1.]], dtype=float32)
    """
    named = {f"arg:{k}": v for k, v in arg_params.items()} | {f"aux:{k}": v for k, v in aux_params.items()}
    symbols = {} if symbol is None else {f"{prefix}-symbol.json": symbol._text(remove_amp_cast)}
    name = f"{prefix}-{epoch:04d}.params"
    pairs.save(symbols, name, to_stored(named))
    logging.info('Saved checkpoint to "%s"', name)


def load_params(prefix: str, epoch: int) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
    """(arguments, auxiliary states) of ``PREFIX-NNNN.params``. Raises FormatError when it holds no named arrays.

    epoch: the number NNNN.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.model.save_checkpoint("net", 3, None, {"top_weight": mx.nd.ones((1, 2))}, {})
    >>> mx.model.load_params("net", 3)[0]["top_weight"].shape
    (1, 2)
    """
    return _load_params(prefix, epoch, ())


def _load_params(prefix: str, epoch: int, states: Any) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
    loaded = params.load(f"{prefix}-{epoch:04d}.params")
    arguments, auxiliary = params.split(loaded or {}, states)  # of no parameters MXNet writes an empty list
    return wrap(arguments), wrap(auxiliary)


def load_checkpoint(prefix: str, epoch: int) -> tuple[symbol.Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """(symbol, arguments, auxiliary states) of a model's two files, ``PREFIX-symbol.json`` and ``PREFIX-NNNN.params``.

    epoch: the number NNNN.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="top")
    >>> mx.model.save_checkpoint("net", 3, net, {"top_weight": mx.nd.ones((1, 2))}, {})
    >>> net, arguments, states = mx.model.load_checkpoint("net", 3)
    >>> net.name, list(arguments), states
    ('top', ['top_weight'], {})
    """
    loaded = symbol.load(f"{prefix}-symbol.json")
    pairs.check(f"{prefix}-symbol.json", f"{prefix}-{epoch:04d}.params")
    return (loaded, *_load_params(prefix, epoch, loaded.list_auxiliary_states()))
