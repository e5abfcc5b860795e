"""Makes the functions of ``nd`` and ``sym`` from the operators, when they are first asked for.

A module of functions is a Namespace: ``nd.contrib.box_nms`` looks up the operator ``_contrib_box_nms`` and makes a
function with its signature and docstring. What an operator is called with is sorted here, the same way for arrays and
symbols, into inputs and attributes; what is then done with them is the business of eager/functions.py and frontend/symbol.py.
"""

from __future__ import annotations

import importlib
import inspect
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from .attrs import dtype as read_dtype
from .error import OpError
from .later import Later
from .np_mode import is_np_shape
from .op import DENSE, FAMILY, FUSED, REGISTRY, Op, find, lookup

SUBMODULES = {
    "op": "",
    "_internal": "_",
    "contrib": "_contrib_",
    "image": "_image_",
    "linalg": "_linalg_",
    "onnx": FAMILY,
    "sparse": "_sparse_",
}
"""Submodules of nd and sym, with the prefix of the operators' names that they show without it."""

FLUENT = tuple(
    word
    for line in (
        "abs arccos arccosh arcsin arcsinh arctan arctanh argmax argmax_channel argmin argsort broadcast_axes",
        "broadcast_like broadcast_to cbrt ceil clip cos cosh degrees depth_to_space exp expm1 fix flip floor log",
        "log10 log1p log2 log_softmax max mean min nanprod nansum norm one_hot ones_like pad pick prod radians",
        "rcbrt reciprocal relu repeat reshape_like rint round rsqrt shape_array sigmoid sign sin sinh size_array",
        "slice slice_axis slice_like softmax softmin sort space_to_depth split sqrt square sum swapaxes",
        "take tan tanh tile topk transpose trunc zeros_like",
    )
    for word in line.split()
)
"""Functions that are methods of arrays and symbols too, with the object as their first argument."""


class Binary(NamedTuple):
    """A function of two arguments, either of which may be a number."""

    name: str
    dunder: str | None
    """The Python operator that means it, without underscores."""
    array: str
    """The operator for two arrays, which broadcast."""
    symbol: str
    """The operator for two symbols, which do not. These names are those that MXNet makes node names of."""
    scalar: str
    """The operator for an array and a number,"""
    reflected: str
    """and for a number and an array."""
    plain: Callable[[Any, Any], Any]
    """For two numbers."""


def _as_number(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], int]:
    """The comparison with 1 and 0 for its answers, as arrays have them."""
    return lambda a, b: int(compare(a, b))


BINARY = {
    row.name: row
    for row in (
        Binary("add", "add", "broadcast_add", "_Plus", "_PlusScalar", "_PlusScalar", operator.add),
        Binary("subtract", "sub", "broadcast_sub", "_Minus", "_MinusScalar", "_RMinusScalar", operator.sub),
        Binary("multiply", "mul", "broadcast_mul", "_Mul", "_MulScalar", "_MulScalar", operator.mul),
        Binary("divide", "truediv", "broadcast_div", "_Div", "_DivScalar", "_RDivScalar", operator.truediv),
        Binary("modulo", "mod", "broadcast_mod", "_Mod", "_ModScalar", "_RModScalar", operator.mod),
        Binary("power", "pow", "broadcast_power", "_Power", "_PowerScalar", "_rpower_scalar", operator.pow),
        Binary("maximum", None, "broadcast_maximum", "_Maximum", "_MaximumScalar", "_MaximumScalar", max),
        Binary("minimum", None, "broadcast_minimum", "_Minimum", "_MinimumScalar", "_MinimumScalar", min),
        Binary(
            "logical_and", None, "broadcast_logical_and",
            "_logical_and", "_logical_and_scalar", "_logical_and_scalar", lambda a, b: int(bool(a and b)),
        ),
        Binary(
            "logical_or", None, "broadcast_logical_or",
            "_logical_or", "_logical_or_scalar", "_logical_or_scalar", lambda a, b: int(bool(a or b)),
        ),
        Binary(
            "logical_xor", None, "broadcast_logical_xor",
            "_logical_xor", "_logical_xor_scalar", "_logical_xor_scalar", lambda a, b: int(bool(a) != bool(b)),
        ),
        Binary("equal", "eq", "broadcast_equal", "_equal", "_equal_scalar", "_equal_scalar", _as_number(operator.eq)),
        Binary(
            "not_equal", "ne",
            "broadcast_not_equal", "_not_equal", "_not_equal_scalar", "_not_equal_scalar", _as_number(operator.ne),
        ),
        Binary("greater", "gt", "broadcast_greater", "_greater", "_greater_scalar", "_lesser_scalar", _as_number(operator.gt)),
        Binary(
            "greater_equal", "ge",
            "broadcast_greater_equal", "_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar", _as_number(operator.ge),
        ),
        Binary("lesser", "lt", "broadcast_lesser", "_lesser", "_lesser_scalar", "_greater_scalar", _as_number(operator.lt)),
        Binary(
            "lesser_equal", "le",
            "broadcast_lesser_equal", "_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar", _as_number(operator.le),
        ),
    )
}  # fmt: skip

FrontendCall = Callable[[type[Op], str, dict[str, Any] | list[Any], dict[str, Any]], Any]
"""The function of a frontend that applies an operator. It is given the operator, the name it was called by, its inputs (a list when
there can be any number of them, else those given by name) and everything else given by keyword."""


class FastPath(NamedTuple):
    """A way round ``FrontendCall`` for calls like earlier ones: same attributes, and all inputs by position."""

    array: type
    """Type of the inputs (exactly; others go the long way)."""
    invoke: Callable[..., Any]
    """Takes the operator, the inputs, and ``out`` if there is one."""


Around = Callable[[str, type[Op] | None, Callable[..., Any]], Callable[..., Any]]
"""Makes of a function another to stand in its place, told the whole name and the operator (None where it is no single one)."""
AROUND: dict[FrontendCall, Around] = {}
"""By frontend what is put around its functions when they are made: see ``put_around``."""
OPERANDS: dict[type, Callable[[Binary, Any, Any], tuple[Any, Any]]] = {}
"""By the type of arrays or symbols what is done with the operands of Python's operators first. Empty without mixed precision."""
NAMESPACES: list[Namespace] = []


def put_around(call: FrontendCall, around: Around) -> None:
    """Put something around the functions of a frontend, from when they are asked for anew: it costs nothing before."""
    AROUND[call] = around
    for namespace in NAMESPACES:
        if namespace._call is call:
            namespace._forget()


class Namespace:
    """A module of operator functions, made as they are asked for."""

    def __init__(
        self,
        name: str,
        prefix: str,
        call: FrontendCall,
        tail: tuple[str, ...],
        fast: FastPath | None = None,
        more: str | None = None,
    ):
        """more: a module of functions that are not, or more than, one operator; what it has in __all__ is to be had here."""
        self.__name__ = name
        self._prefix, self._call, self._tail, self._fast, self._more = prefix, call, tail, fast, more
        self._added: list[str] = []
        """Names of functions that others have put here."""
        self._made: list[str] = []
        """Names of functions of operators."""
        NAMESPACES.append(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if self._more is not None and not name.startswith("_"):
            module = importlib.import_module(self._more)
            if name in module.__all__:
                found = getattr(module, name)
                setattr(self, name, found)
                return found
        whole = self._prefix + name
        cls = find(whole)
        if cls is None and self._prefix == "_":
            whole, cls = name, find(name)  # _internal shows names with their underscore
        if cls is None or (not self._prefix and name.startswith("_")):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        made = make(cls, name, self.__name__, self._call, self._tail, self._fast)
        around = AROUND.get(self._call)
        if around is not None:
            made = around(whole, cls, made)
        setattr(self, name, made)
        self._made.append(name)
        return made

    def _forget(self) -> None:
        """Drop the functions made by now; they are made anew when they are asked for."""
        while self._made:
            delattr(self, self._made.pop())

    @property
    def __dict__(self) -> dict[str, Any]:
        """All functions, made by now: programs ask ``"box_decode" in F.contrib.__dict__``, as they may of a module."""
        return {name: getattr(self, name) for name in self.names()}

    def __dir__(self) -> list[str]:
        return sorted(set(self.names()))

    def names(self) -> Iterator[str]:
        """Names of all functions there are."""
        skipped = len(self._prefix) if self._prefix != "_" else 0
        for name in REGISTRY:
            if name.startswith(self._prefix) and not name.startswith(FUSED if self._prefix else "_"):
                yield name[skipped:]
        yield from self._added
        if self._more is not None:
            yield from importlib.import_module(self._more).__all__

    def __repr__(self) -> str:
        return f"<module {self.__name__!r} of operators>"


def make(
    cls: type[Op], name: str, module: str, call: FrontendCall, tail: tuple[str, ...], fast: FastPath | None = None
) -> Callable[..., Any]:
    """The function ``name`` for an operator: inputs and attributes by position or keyword, then the frontend's own."""
    variadic = cls.inputs[:1] != () and cls.inputs[0].startswith("*")
    inputs = () if variadic else cls.inputs
    positions = (*inputs, *cls.fields)

    if variadic:

        def function(*args: Any, **kwargs: Any) -> Any:
            return call(cls, name, list(args), kwargs)

    else:

        def function(*args: Any, **kwargs: Any) -> Any:
            if len(args) > len(positions):
                raise TypeError(f"{name}() takes {len(positions)} positional arguments but {len(args)} were given")
            for key, value in zip(positions, args):
                if key in kwargs:
                    raise TypeError(f"{name}() got multiple values for argument {key!r}")
                kwargs[key] = value
            given = {key: kwargs.pop(key) for key in inputs if key in kwargs}
            return call(cls, name, {key: value for key, value in given.items() if value is not None}, kwargs)

    if fast is not None:
        plain, names = function, positions if inputs else None
        function = _with_memo(plain, cls, names, tail, fast)
        if cls.bind.__func__ is not Op.bind.__func__:  # type: ignore[attr-defined]  the mode decides what is bound
            function = _by_mode(function, _with_memo(plain, cls, names, tail, fast))
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = Later(cls.__doc__ or cls.name, lambda: _document(cls, name, module, tail))
    function.__signature__ = signature(cls, tail)  # type: ignore[attr-defined]
    return function


def _by_mode(without: Callable[..., Any], within: Callable[..., Any]) -> Callable[..., Any]:
    """The function that remembers what attributes mean with np_shape on, or the other one."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return (within if is_np_shape() else without)(*args, **kwargs)

    return function


def _with_memo(
    function: Callable[..., Any],
    cls: type[Op],
    positions: tuple[str, ...] | None,
    tail: tuple[str, ...],
    fast: FastPath,
) -> Callable[..., Any]:
    """The function, remembering which operator its attributes mean. positions: names of positional arguments, None for
    operators that take any number of inputs."""
    array, invoke = fast
    known: dict[Any, Op] = {}
    zeros: dict[Any, Op] = {}  # as known, of operators with 0.0 among their attributes, which is equal to -0.0
    plain: dict[int, Op] = {}  # by how many inputs, for calls with nothing else
    slow = {*cls.inputs, *tail, "ctx"}

    def remembering(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None) if kwargs else None
        if out is not None and type(out) is not array:
            return function(*args, **kwargs, out=out)
        count = 0
        for arg in args:
            if type(arg) is not array:
                break
            count += 1
        else:
            if not kwargs and count in plain:
                return invoke(plain[count], args, out)
        rest = args[count:]
        key = (count, rest, *kwargs.items())
        try:
            op = known.get(key)
        except TypeError:  # a list among the attributes
            return function(*args, **kwargs) if out is None else function(*args, **kwargs, out=out)
        if op is None and key in zeros and not any(map(_is_ambiguous, (*rest, *kwargs.values()))):
            op = zeros.get(key)
        if op is not None:
            return invoke(op, args[:count], out)
        if count and slow.isdisjoint(kwargs) and not any(map(_is_ambiguous, (*rest, *kwargs.values()))):
            if positions is None:
                given: dict[str, Any] | None = dict(kwargs) if not rest else None
            else:
                fits = count == len(positions) - len(cls.fields) or not rest
                named = dict(zip(positions[count:], rest))
                fits = fits and len(args) <= len(positions) and named.keys().isdisjoint(kwargs)
                given = {**named, **kwargs} if fits else None
            if given is not None and all(k in cls.fields for k in given):
                op = cls.bind(**attributes(cls, given, count))
                if len(op.input_names()) == count and op.infer_storage() is DENSE:
                    table = zeros if any(_is_zero(getattr(op, name)) for name in given) else known
                    if len(table) >= 256:
                        table.clear()
                    table[key] = op
                    if not given:
                        plain[count] = op
                    return invoke(op, args[:count], out)
        return function(*args, **kwargs) if out is None else function(*args, **kwargs, out=out)

    return remembering


def _is_ambiguous(value: Any) -> bool:
    """True for -0.0, which is equal to 0.0 and may mean something else, and for anything but plain constants."""
    kind = type(value)
    if kind is float:
        return not value and math.copysign(1, value) < 0
    if kind is tuple:
        return any(map(_is_ambiguous, value))
    return not (value is None or kind in _PLAIN)


_PLAIN = frozenset((str, int, bool, type))


def _is_zero(value: Any) -> bool:
    """True for 0.0, and for a tuple that holds it."""
    return any(map(_is_zero, value)) if type(value) is tuple else type(value) is float and not value


def _document(cls: type[Op], name: str, module: str, tail: tuple[str, ...]) -> str:
    """The docstring of a function. What puts it together is loaded when somebody reads one."""
    from .documents import document

    place = f"mx.{module.partition('.')[2]}".replace("ndarray", "nd").replace("symbol", "sym").removesuffix(".op")
    return document(cls, f"{place}.{name}", tail)


def signature(cls: type[Op], tail: tuple[str, ...]) -> inspect.Signature:
    """Inputs (None: not given), attributes with their defaults, and the frontend's own keywords."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = []
    for name in cls.inputs:
        if name.startswith("*"):
            parameters.append(inspect.Parameter(name[1:], inspect.Parameter.VAR_POSITIONAL))
            kind = inspect.Parameter.KEYWORD_ONLY
        else:
            parameters.append(inspect.Parameter(name, kind, default=None))
    parameters += [inspect.Parameter(f.name, kind, default=f.default) for f in cls.fields.values()]
    taken = {p.name for p in parameters}
    parameters += [inspect.Parameter(t, inspect.Parameter.KEYWORD_ONLY, default=None) for t in tail if t not in taken]
    return inspect.Signature(parameters)


def attributes(cls: type[Op], given: dict[str, Any], inputs: int) -> dict[str, Any]:
    """The attributes of an operator among keyword arguments, with the number of inputs where it is an attribute.

    Raises OpError for a keyword that is neither an attribute nor an input; an operator without attributes takes any, and
    ignores them, and some refuse them when they are trained, as in MXNet."""
    unknown = [k for k in given if k not in cls.fields and k not in cls.ignored_attributes] if cls.fields else []
    if unknown and not (cls.accepts_any_attribute or cls.reads_for_gradient):
        raise unknown_arguments(cls, unknown)
    if cls.inputs[:1] and cls.inputs[0].startswith("*") and cls.count in cls.fields:
        given.setdefault(cls.count, inputs)
    return given


def unknown_arguments(cls: type[Op], names: Iterable[str]) -> OpError:
    """The error of arguments that an operator does not have."""
    return OpError(
        f"{cls.name}: Cannot find argument {', '.join(map(repr, names))}; "
        f"its inputs are {', '.join(cls.inputs) or 'none'}, its attributes {', '.join(cls.fields)}"
    )


def put(namespace: Namespace, function: Callable[..., Any]) -> None:
    """Show a function under its name in a module of operators, in place of an operator's or beside them."""
    setattr(namespace, function.__name__, function)
    namespace._added.append(function.__name__)


def starred(module: Mapping[str, Any], operators: Namespace, *others: str) -> list[str]:
    """Names for ``from module import *`` of mx.nd or mx.sym: what it defines, others, its modules, and all operators."""
    own = (n for n, v in module.items() if getattr(v, "__module__", None) == module["__name__"])
    made = (n for n in operators.names() if not n.startswith("_"))
    return sorted(
        {*(n for n in own if not n.startswith("_")), *made, *others, "random", "contrib", "linalg", "sparse", "image"}
    )


NUMBER = (int, float, np.number, np.bool_)
"""Types that count as numbers beside arrays and symbols."""


def application(row: Binary, lhs: Any, rhs: Any, kind: type) -> tuple[type[Op], str, dict[str, Any], dict[str, Any]]:
    """Operator, the name it goes by, inputs and attributes that ``row`` stands for with two arguments of a kind, or with one
    and a number.

    Raises TypeError for anything else."""
    left, right = isinstance(lhs, kind), isinstance(rhs, kind)
    if left and right:
        cls = lookup(row.symbol)
        return cls, row.symbol, dict(zip(cls.inputs, (lhs, rhs))), {}
    number = rhs if left else lhs
    if not isinstance(number, NUMBER):
        raise TypeError(f"type {type(number)} not supported")
    name = row.scalar if left else row.reflected
    return lookup(name), name, {"data": lhs if left else rhs}, {"scalar": number}


def add_operators(cls: type, apply: Callable[[Any, Any, Any], Any], rows: Iterable[Any] = BINARY.values()) -> None:
    """Give a class Python's operators, by rows that name theirs (``dunder``). ``apply(row, lhs, rhs)`` raises TypeError for
    operands that it does not take."""

    def forward(row: Any) -> Callable[[Any, Any], Any]:
        return lambda self, other: apply(row, self, other)

    def reflected(row: Any) -> Callable[[Any, Any], Any]:
        return lambda self, other: apply(row, other, self)

    for row in rows:
        if row.dunder is None:
            continue
        setattr(cls, f"__{row.dunder}__", forward(row))
        if row.dunder not in ("eq", "ne", "gt", "ge", "lt", "le"):  # Python reflects comparisons by itself
            setattr(cls, f"__r{row.dunder}__", reflected(row))


def add_methods(cls: type, functions: Namespace) -> None:
    """Give a class the operators of FLUENT as methods."""

    def method(name: str) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            return getattr(functions, name)(self, *args, **kwargs)

        call.__name__, call.__qualname__ = name, f"{cls.__name__}.{name}"
        where = f"{functions.__name__.removesuffix('.op')}.{cls.__name__}"
        call.__doc__ = Later(
            f"The operator {name} of it.", lambda: _document(lookup(name), name, where, functions._tail)
        )
        return call

    for name in FLUENT:
        if name not in cls.__dict__:
            setattr(cls, name, method(name))


def method_of(cls: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function is a method of a class that lies below what the method needs. The class declares it."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__qualname__ = f"{cls.__name__}.{function.__name__}"
        setattr(cls, function.__name__, function)
        return function

    return add


def attribute_text(value: Any) -> str:
    """A Python value as attribute text, as MXNet's frontend writes it (``str``, whatever NumPy types are inside)."""
    if isinstance(value, np.generic):
        return str(value)
    if isinstance(value, np.dtype | type):
        return read_dtype(value).name
    if isinstance(value, tuple | list):
        parts = ", ".join(map(attribute_text, value))
        return f"[{parts}]" if isinstance(value, list) else f"({parts}{',' if len(value) == 1 else ''})"
    return str(value)
