"""One call of MXNet's array API written as data, so that real MXNet and this package can both be asked.

A call is ``[what, argument, ...]`` with ``what`` one of: a path below the package (``nd.arange``), ``.method`` of the first
argument, ``[]`` and ``[]=``, ``grad[]`` (the gradient of the square of a part), or the name of a function of ``operator`` or
``builtins``. Arguments that JSON cannot hold are objects: see ``_KINDS``. A trailing ``{"kw": {...}}`` holds keywords.
"""

import builtins
import operator

import numpy as np

_KINDS = {
    "nd": lambda mx, v, dtype="float32": mx.nd.array(np.array(v), dtype=dtype),
    "np": lambda mx, v, dtype="int64": np.array(v, dtype=dtype),
    "csr": lambda mx, v, dtype="float32": mx.nd.array(v, dtype=dtype).tostype("csr"),
    "row_sparse": lambda mx, v, dtype="float32": mx.nd.array(v, dtype=dtype).tostype("row_sparse"),
    "grid": lambda mx, v, dtype="float32": mx.nd.array(np.arange(np.prod(v)).reshape(v), dtype=dtype),
    "scalar": lambda mx, v, dtype="float32": np.dtype(dtype).type(v),
    "tuple": lambda mx, v: tuple(read(mx, item) for item in v),
    "slice": lambda mx, v: slice(*v),
    "float": lambda mx, v: float(v),
    "cpu": lambda mx, v: mx.cpu(v),
    "more": lambda mx, v: Ellipsis,
}


def read(mx, value):
    """Value that a piece of a call stands for."""
    if isinstance(value, list):
        return [read(mx, item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, held),) = ((k, v) for k, v in value.items() if k != "dtype")
    return _KINDS[kind](mx, held, *([value["dtype"]] if "dtype" in value else []))


def perform(mx, call):
    """Result of the call, described; ``{"error": [names of the classes]}`` when it raises."""
    what, *rest = call
    try:
        keywords = rest.pop()["kw"] if rest and isinstance(rest[-1], dict) and "kw" in rest[-1] else {}
        args = [read(mx, a) for a in rest]
        return describe(mx, _do(mx, what, args, {k: read(mx, v) for k, v in keywords.items()}))
    except Exception as error:
        return {"error": [c.__name__ for c in type(error).__mro__]}


def _do(mx, what, args, keywords):
    if what == "[]":
        return args[0][args[1]]
    if what == "[]=":
        args[0][args[1]] = args[2]
        return args[0]
    if what == "grad[]":
        args[0].attach_grad()
        with mx.autograd.record():
            part = args[0][args[1]]
            square = part * part
        square.backward()
        return [part, args[0].grad]
    if what.startswith("."):
        found = getattr(args[0], what[1:])
        return found(*args[1:], **keywords) if callable(found) else found
    if "." in what:
        found = mx
        for part in what.split("."):
            found = getattr(found, part)
    else:
        found = getattr(operator, what, None) or getattr(builtins, what)
    return found(*args, **keywords)


def describe(mx, result):
    """A result as JSON holds it."""
    if isinstance(result, mx.nd.NDArray):
        parts = {"is": result.stype, "dtype": np.dtype(result.dtype).name, "shape": list(result.shape)}
        return {**parts, "ctx": str(result.context), "values": _plain(result.asnumpy())}
    if isinstance(result, np.ndarray):
        return {"is": "numpy", "dtype": result.dtype.name, "shape": list(result.shape), "values": _plain(result)}
    if isinstance(result, (list, tuple)):
        return [describe(mx, item) for item in result]
    if isinstance(result, np.generic):
        return {"is": type(result).__name__, "values": _plain(np.array(result))}
    return result if isinstance(result, (int, float, str, bool, type(None))) else str(result)


def _plain(array):
    return [v if v == v and abs(v) != float("inf") else str(v) for v in array.ravel().tolist()]
