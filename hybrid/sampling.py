"""``mx.nd.random``, ``mx.sym.random`` and ``mx.random``: functions that sample by scalars or by arrays, as they are given.

The numbers that steer a distribution are either all numbers (``shape`` is then the shape of the result) or all arrays or
symbols (``shape`` samples for each element).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .core import functions
from .core.attrs import dtype_held
from .eager import functions as eager
from .eager.array import NDArray
from .execution.context import resolve
from .frontend import symbol as symbolic
from .frontend.symbol import Symbol


class _Unset:
    def __repr__(self) -> str:
        return "_Null"


UNSET: Any = _Unset()
"""The default of arguments for which None means something."""


class Side(NamedTuple):
    """The differences between arrays and symbols."""

    kind: type
    functions: Any
    """The operators' functions."""
    random: functions.Namespace
    """The module in the making; it shows ``uniform_like`` and its kin by itself."""
    tail: dict[str, Any]
    """Further arguments of every function, with their defaults."""


ARRAYS = Side(
    NDArray,
    eager.INTERNAL,
    eager.namespace("hybrid.ndarray.random", "_random_"),
    {"ctx": None, "out": None},
)
SYMBOLS = Side(Symbol, symbolic.INTERNAL, symbolic.namespace("hybrid.symbol.random", "_random_"), {})

DISTRIBUTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "uniform": ({"low": 0, "high": 1}, "Numbers from low (included) to high (excluded), all equally likely."),
    "normal": ({"loc": 0, "scale": 1}, "Normally distributed numbers of mean loc and standard deviation scale."),
    "poisson": ({"lam": 1}, "Counts of Poisson's distribution of mean lam, as floating-point numbers."),
    "exponential": ({"scale": 1}, "Exponentially distributed numbers of mean scale."),
    "gamma": ({"alpha": 1, "beta": 1}, "Numbers of the gamma distribution of shape alpha and scale beta."),
    "negative_binomial": (
        {"k": 1, "p": 1},
        "How many trials succeed before k have failed, each failing with probability p; floating-point numbers.",
    ),
    "generalized_negative_binomial": (
        {"mu": 1, "alpha": 1},
        "Counts of the negative binomial distribution of mean mu and dispersion alpha (1 / k), as floating-point numbers.",
    ),
    "randint": (
        {"low": inspect.Parameter.empty, "high": inspect.Parameter.empty},
        "Whole numbers from low to high - 1.",
    ),
}
"""Functions with a scalar and an array form: parameters with defaults, and what they draw."""

MEANINGS = {
    "low": "Least number that is drawn.",
    "high": "Upper bound, which is not drawn itself.",
    "loc": "Mean.",
    "scale": "Standard deviation.",
    "exponential scale": "Mean, which is 1 / rate.",
    "lam": "Mean.",
    "alpha": "Shape, more than 0.",
    "generalized_negative_binomial alpha": "Dispersion, 1 / k.",
    "beta": "Scale, more than 0.",
    "k": "Failures after which it ends.",
    "p": "Probability of a failure, from 0 to 1.",
    "mu": "Mean.",
    "shape": "Shape of the result; of parameters that are arrays, numbers that are drawn for each of their elements.",
    "dtype": "Type of the numbers, by default float32, of randint int32.",
    "ctx": "Device of the result; by default the current one.",
    "out": "Array that the numbers are written to, which says shape and dtype, too.",
}
"""Arguments by their names, and where a distribution means something else by one also behind its own."""


def _described(side: Side, name: str, own: dict[str, Any]) -> str:
    """The section of a docstring that says what the arguments of a distribution mean."""
    kind = "NDArray" if side is ARRAYS else "Symbol"
    kinds = {
        "shape": "int or tuple of int",
        "dtype": "str or dtype",
        "ctx": "Context or None",
        "out": "NDArray or None",
    }
    lines = []
    for argument, default in own.items():
        what = kinds.get(argument, "int" if name == "randint" else f"float or {kind}")
        shown = "" if default in (inspect.Parameter.empty, UNSET) else f", default {default}"
        lines += [f"{argument} : {what}{shown}", f"    {MEANINGS.get(f'{name} {argument}', MEANINGS[argument])}"]
    return "\n\nParameters\n----------\n" + "\n".join(lines)


def draw(side: Side, name: str, parameters: dict[str, Any], given: dict[str, Any]) -> Any:
    """Sample by whichever operator takes such parameters. given: shape, dtype, ctx, out and further keywords.

    Raises AssertionError when numbers and arrays are mixed, ValueError for anything else, OpError for values that mean no
    distribution."""
    values = list(parameters.values())
    scalar = (int, float, np.generic)
    arrays = isinstance(values[0], side.kind)
    if not arrays and not isinstance(values[0], scalar):
        kind = side.kind.__name__
        raise ValueError(f"Distribution parameters must be either {kind} or numbers, but got {type(values[0])}.")
    for value in values[1:]:
        if not isinstance(value, side.kind if arrays else scalar):
            raise AssertionError(
                f"Distribution parameters must all have the same type, but got both {type(values[0])} and {type(value)}."
            )
    if name == "randint" and arrays:
        raise TypeError("randint takes numbers for low and high, not arrays")
    if given.get("dtype", UNSET) is not UNSET:
        given["dtype"] = np.dtype(dtype_held(given["dtype"])).name  # None is float64 here, as everywhere in NumPy
    out, ctx = given.pop("out", None), given.pop("ctx", None)
    given = {key: value for key, value in given.items() if value is not UNSET}
    if out is not None:
        given.setdefault("dtype", np.dtype(out.dtype).name)
        if not arrays:
            given.setdefault("shape", out.shape)
    elif not arrays and side is ARRAYS:
        given.setdefault("shape", 1)
    if side is SYMBOLS and ctx is not None:
        given["ctx"] = str(ctx)
    if out is not None:
        given["out"] = out
    function = getattr(side.functions, f"_sample_{name}" if arrays else f"_random_{name}")
    result = function(*values, **given)
    return result.as_in_context(resolve(ctx)) if side is ARRAYS and out is None and not arrays else result


def distribution(side: Side, name: str) -> Callable[..., Any]:
    """The function of a side that samples a distribution."""
    parameters, doc = DISTRIBUTIONS[name]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = {**parameters, "shape": UNSET, "dtype": UNSET, **side.tail}
    listed = [inspect.Parameter(key, kind, default=value) for key, value in own.items()]
    signature = inspect.Signature([*listed, inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)])

    names, required = tuple(own), [key for key, value in parameters.items() if value is inspect.Parameter.empty]

    def function(*args: Any, **kwargs: Any) -> Any:
        # Signature.bind would do, and takes longer than drawing a few numbers
        if len(args) > len(names):
            raise TypeError(f"{name}() takes {len(names)} positional arguments but {len(args)} were given")
        given = dict(zip(names, args))
        twice = [key for key in given if key in kwargs]
        missing = [key for key in required if key not in given and key not in kwargs]
        if twice or missing:
            problem = f"got multiple values for argument {twice[0]!r}" if twice else f"misses argument {missing[0]!r}"
            raise TypeError(f"{name}() {problem}")
        given = {**own, **given, **kwargs}
        values = {key: given.pop(key) for key in parameters}
        if name == "exponential":
            values = {"lam": 1.0 / values["scale"]}
        return draw(side, name, values, given)

    given = ", ".join([*map(str, range(len(required))), "shape=(2, 3)"])
    call = f"mx.nd.random.{name}({given}).shape"
    _publish(function, side, name, inspect.cleandoc(doc) + _described(side, name, own) + _shown(call, "(2, 3)"))
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _shown(call: str, result: str) -> str:
    """The end of a docstring: an example of arrays, for symbols too, of which no draw shows anything."""
    return f"\n\nExamples\n--------\n>>> from gluonnx import mx\n>>> {call}\n{result}"


def _publish(function: Callable[..., Any], side: Side, name: str, doc: str) -> None:
    function.__name__ = function.__qualname__ = name
    function.__module__ = side.random.__name__
    function.__doc__ = doc
    functions.put(side.random, function)


def _fill(side: Side, get_prob: bool) -> None:
    """Put all functions into a side's module."""
    for name in DISTRIBUTIONS:
        distribution(side, name)

    def randn(*shape: int, **kwargs: Any) -> Any:
        values = {"loc": kwargs.pop("loc", 0), "scale": kwargs.pop("scale", 1)}
        if "shape" in kwargs:
            raise TypeError("randn() takes the shape as positional arguments, got the keyword shape")
        return draw(side, "normal", values, {"shape": shape, **kwargs})

    def multinomial(data: Any, shape: Any = UNSET, get_prob: bool = get_prob, **kwargs: Any) -> Any:
        given = {} if shape is UNSET else {"shape": shape}
        kwargs["dtype"] = np.dtype(dtype_held(kwargs.get("dtype", "int32"))).name
        return side.functions._sample_multinomial(data, get_prob=get_prob, **given, **kwargs)

    def shuffle(data: Any, **kwargs: Any) -> Any:
        return side.functions._shuffle(data, **kwargs)

    _publish(
        randn,
        side,
        "randn",
        "Normally distributed numbers in the shape of the arguments; keywords as in normal. Raises TypeError for a keyword shape."
        + _shown("mx.nd.random.randn(2, 3, loc=1).shape", "(2, 3)"),
    )
    _publish(
        multinomial,
        side,
        "multinomial",
        "Indices drawn with the probabilities along the last axis of data; with get_prob their log-probabilities too."
        + _shown("mx.nd.random.multinomial(mx.nd.array([0, 0, 1]), shape=2).asnumpy()", "array([2, 2], dtype=int32)"),
    )
    _publish(
        shuffle,
        side,
        "shuffle",
        "A copy of data with its first axis in random order."
        + _shown("sorted(mx.nd.random.shuffle(mx.nd.array([3, 1, 2])).asnumpy().tolist())", "[1.0, 2.0, 3.0]"),
    )


_fill(ARRAYS, False)
_fill(SYMBOLS, True)

FUNCTIONS = (*DISTRIBUTIONS, "randn", "multinomial", "shuffle")
"""Functions that ``mx.random`` shows of ``mx.nd.random``."""
