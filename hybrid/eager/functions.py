"""Operators as functions of arrays: ``mx.nd``'s functions and the methods of NDArray that are operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core import functions
from ..core.error import OperandError
from ..core.op import DENSE, Op
from ..execution.context import resolve
from .array import NDArray, invoke
from .np_array import ndarray


def call(cls: type[Op], name: str, inputs: dict[str, Any] | list[Any], given: dict[str, Any]) -> Any:
    """Apply an operator to NDArrays: the body of every nd function; see functions.FrontendCall."""
    return _call(NDArray, cls, name, inputs, given)


def np_call(cls: type[Op], name: str, inputs: dict[str, Any] | list[Any], given: dict[str, Any]) -> Any:
    """Apply an operator to arrays of mx.np; see functions.FrontendCall."""
    result = _call(ndarray, cls, name, inputs, given)
    return result.as_np_ndarray() if isinstance(result, NDArray) else [r.as_np_ndarray() for r in result]


def _mixed(name: str, value: NDArray, wanted: type[NDArray]) -> OperandError:
    """The error of an array of the other face."""
    if wanted is NDArray:
        return OperandError(
            f"{name}: this function of mx.nd takes NDArrays, got an mx.np.ndarray; call as_nd_ndarray() upon it, or use a "
            "function of mx.np or mx.npx"
        )
    return OperandError(
        f"{name}: this function of mx.np takes mx.np.ndarrays, got {type(value).__name__}; call as_np_ndarray() upon it, or use a "
        "function of mx.nd"
    )


def _call(
    face: type[NDArray], cls: type[Op], name: str, inputs: dict[str, Any] | list[Any], given: dict[str, Any]
) -> Any:
    """Apply an operator to arrays of one face."""
    out = given.pop("out", None)
    given.pop("name", None)
    ctx = given.pop("ctx", None)  # a Context, or the text that an attribute of that name holds
    arrays = {k: given.pop(k) for k in list(given) if isinstance(given[k], NDArray)}
    if isinstance(inputs, list):
        inputs = [
            *inputs,
            *(arrays.pop(f"arg{i}") for i in range(len(inputs), len(inputs) + len(arrays)) if f"arg{i}" in arrays),
        ]
        values: Sequence[Any] = inputs
    else:
        values = list(inputs.values())
    sparse = False
    for value in values:
        if type(value) is face:
            continue
        if isinstance(value, NDArray) and value._face is not face:
            raise _mixed(name, value, face)
        sparse = True
        if not isinstance(value, NDArray):
            raise OperandError(
                f"{name}: inputs must be NDArrays, got {type(value).__name__}; make one with mx.nd.array"
            )
    op = cls.bind(**functions.attributes(cls, {**given, **arrays}, len(inputs)))
    if isinstance(inputs, dict):
        wanted = op.input_names()
        missing = [n for n in wanted if n not in inputs]
        extra = [n for n in inputs if n not in wanted]
        if missing or extra:
            problems = [f"{', '.join(missing)} missing"] if missing else []
            problems += [f"{', '.join(extra)} not taken with these attributes"] if extra else []
            raise op.error(f"{'; '.join(problems)}; its inputs are {', '.join(wanted) or 'none'}")
        values = [inputs[n] for n in wanted]
    if isinstance(out, NDArray) and out._face is not face:
        raise _mixed(f"{name}: out", out, face)
    odd = sparse or (out is not None and type(out) is not face) or op.infer_storage() is not DENSE
    result = _invoke_sparse(op, values, out) if odd else invoke(op, values, out)
    return result.as_in_context(resolve(ctx)) if ctx else result


def _invoke_sparse(op: Op, values: Sequence[Any], out: Any) -> Any:
    """invoke for inputs or an ``out`` that may be sparse, or for a result that is to be."""
    given = [] if out is None else [out] if isinstance(out, NDArray) else list(out)
    if op.infer_storage() is not DENSE or any(x.stype != "default" for x in (*values, *given)):
        from . import sparse  # which most programs never need

        return sparse.apply(op, values, out)
    return invoke(op, values, out)


TAIL = ("out", "name")
FAST = functions.FastPath(NDArray, invoke)
NP_FAST = functions.FastPath(ndarray, invoke)


def namespace(name: str, prefix: str, more: str | None = None) -> functions.Namespace:
    """A module of functions of arrays; see functions.Namespace."""
    return functions.Namespace(name, prefix, call, TAIL, FAST, more)


def np_namespace(name: str, prefix: str) -> functions.Namespace:
    """A module of functions of arrays of mx.np."""
    return functions.Namespace(name, prefix, np_call, TAIL, NP_FAST)


OPERATORS = namespace("hybrid.ndarray.op", "")
"""All operators."""
INTERNAL = namespace("hybrid.ndarray._internal", "_")
"""Those whose names begin with an underscore, with it or without."""
NP_OPERATORS = np_namespace("hybrid.ndarray.np.op", "")
"""All operators, for arrays of mx.np."""
functions.add_methods(NDArray, OPERATORS)
