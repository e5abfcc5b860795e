"""The functions of ``nd`` and ``sym`` with casts of what they are given: what ``amp.init`` switches on."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ... import ndarray, symbol
from ...core import functions
from ...core.attrs import dtype_text
from ...core.op import Op, find, lookup
from ...eager import functions as eager
from ...eager.array import NDArray
from ...frontend import symbol as symbolic
from ...frontend.symbol import Symbol
from ...ir.graph import Entry, Node
from ...ops.casting import is_short
from .loss_scaler import LossScaler

Function = Callable[..., Any]


class Casting(NamedTuple):
    """A cast of the inputs of the functions of one name."""

    dtype: np.dtype | None
    """The dtype that they are cast to; None for the widest among them."""
    kept: Collection[str] = ()
    """Names of inputs that are not cast."""
    when: tuple[str, Collection[Any]] | None = None
    """An attribute, and the values of it for which inputs are cast; always where it is None."""

    def applies(self, given: Mapping[str, Any]) -> bool:
        """True for a call with these keywords; MXNet does not look at attributes that are given by position."""
        return self.when is None or given.get(self.when[0]) in self.when[1]


def switch_on(
    castings: Mapping[str, Sequence[Casting]], low: np.dtype, losses: Collection[str], scaler: LossScaler
) -> None:
    """Make the functions of nd and sym anew, with their castings by name.

    low: the low precision; losses: names of the functions whose gradients the scaler's loss scale multiplies."""

    def around_arrays(name: str, cls: type[Op] | None, function: Function) -> Function:
        for casting in castings.get(name, ()):
            function = _of_arrays(function, cls, casting, low)
        return _scaled(function, scaler) if name in losses else function

    def around_symbols(name: str, cls: type[Op] | None, function: Function) -> Function:
        for casting in castings.get(name, ()):
            function = _of_symbols(function, casting)
        return _warning(function) if name in losses else function

    functions.put_around(eager.call, around_arrays)
    functions.put_around(symbolic._call, around_symbols)
    _forget(ndarray)
    for module, around in ((ndarray, around_arrays), (symbol, around_symbols)):
        module.Custom = around("Custom", None, module.Custom)  # type: ignore[attr-defined]  no function of a Namespace

    def operands(row: functions.Binary, lhs: Any, rhs: Any) -> tuple[Any, Any]:
        arrays = [isinstance(x, NDArray) for x in (lhs, rhs)]
        name = row.array if all(arrays) else lookup(row.scalar if arrays[0] else row.reflected).name
        for casting in castings.get(name, ()):
            lhs, rhs = _cast_arrays((lhs, rhs), casting.dtype, low)
        return lhs, rhs

    def symbol_operands(row: functions.Binary, lhs: Any, rhs: Any) -> tuple[Any, Any]:
        symbols = [isinstance(x, Symbol) for x in (lhs, rhs)]
        for casting in castings.get(row.symbol if all(symbols) else row.scalar if symbols[0] else row.reflected, ()):
            if casting.dtype is None:
                lhs, rhs = _multicast((lhs, rhs))
            else:
                lhs, rhs = (_cast_symbol(x, casting.dtype) if isinstance(x, Symbol) else x for x in (lhs, rhs))
        return lhs, rhs

    functions.OPERANDS.update({NDArray: operands, Symbol: symbol_operands})


def _forget(module: ModuleType) -> None:
    """Drop what a module keeps of operators' functions, which were made before."""
    for name, value in list(vars(module).items()):
        if getattr(value, "__module__", "").startswith(f"{module.__name__}.") and find(name) is not None:
            delattr(module, name)


# -- arrays ------------------------------------------------------------------------------------------------------------


def cast_array(array: Any, dtype: np.dtype) -> Any:
    """An array of float16, bfloat16 or float32 in another of them; anything else as it is."""
    if not isinstance(array, NDArray) or array._dtype == dtype or not is_short(array._dtype):
        return array
    return eager.OPERATORS.amp_cast(array, dtype=dtype_text(dtype))


def _cast_arrays(values: Sequence[Any], dtype: np.dtype | None, low: np.dtype) -> list[Any]:
    """The arrays among values in a dtype, or for None, those of low precision in float32 where another is of float32."""
    if dtype is not None:
        return [cast_array(value, dtype) for value in values]
    arrays = [value for value in values if isinstance(value, NDArray)]
    if not any(a._dtype == np.float32 for a in arrays):
        return list(values)
    return [cast_array(v, np.dtype(np.float32)) if isinstance(v, NDArray) and v._dtype == low else v for v in values]


def _of_arrays(function: Function, cls: type[Op] | None, casting: Casting, low: np.dtype) -> Function:
    names = () if cls is None or cls.inputs[:1] == () or cls.inputs[0].startswith("*") else cls.inputs
    kept = {"out", *casting.kept, *(cls.mutates if cls is not None else ())}

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not casting.applies(kwargs):
            return function(*args, **kwargs)
        free = [i for i in range(len(args)) if i >= len(names) or names[i] not in kept]
        keys = [k for k in kwargs if k not in kept]
        cast = _cast_arrays([*(args[i] for i in free), *(kwargs[k] for k in keys)], casting.dtype, low)
        places = dict(zip(free, cast))
        return function(
            *(places.get(i, a) for i, a in enumerate(args)), **{**kwargs, **dict(zip(keys, cast[len(free) :]))}
        )

    return call


def _scaled(function: Function, scaler: LossScaler) -> Function:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{**kwargs, "grad_scale": kwargs.get("grad_scale", 1.0) * scaler.loss_scale})

    return call


# -- symbols -----------------------------------------------------------------------------------------------------------


def _cast_symbol(value: Symbol, dtype: np.dtype) -> Symbol:
    return symbolic.sym_op.amp_cast(value, dtype=dtype_text(dtype))


def _multicast(symbols: Sequence[Symbol]) -> list[Symbol]:
    return list(symbolic.sym_op.amp_multicast(*symbols, num_outputs=len(symbols)))


def _of_symbols(function: Function, casting: Casting) -> Function:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not casting.applies(kwargs):
            return function(*args, **kwargs)
        if casting.dtype is not None:
            return _with_cast_inputs(function(*args, **kwargs), casting.dtype, casting.kept)
        values: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        keys = [k for k, v in values.items() if isinstance(v, Symbol)]
        if keys:
            values |= dict(zip(keys, _multicast([values[k] for k in keys])))
        return function(*(values[i] for i in range(len(args))), **{k: values[k] for k in kwargs})

    return call


def _with_cast_inputs(made: Symbol, dtype: np.dtype, kept: Collection[str]) -> Symbol:
    """A symbol of one node, whose inputs become casts of what they were, variables made for it too; auxiliary states stay."""
    node = made._entries[0].node
    assert node.op is not None
    stays = {*kept, *node.op.mutates}
    inputs = [
        entry if name in stays else _cast_symbol(Symbol([entry]), dtype)._entries[0]
        for name, entry in zip(node.op.input_names(), node.inputs)
    ]
    cast = Node(node.op, node.name, inputs, node.attrs, node.subgraphs)
    return Symbol(Entry(cast, entry.index) for entry in made._entries)


def _warning(function: Function) -> Function:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        logging.warning(
            "%s does not support dynamic loss scaling in symbolic and hybridized execution.", function.__name__
        )
        return function(*args, **kwargs)

    return call
