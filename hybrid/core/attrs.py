"""Attribute kinds: how a typed attribute is read from text, checked, and written as text. One place.

Operators declare attributes by annotation (``kernel: Shape``, ``axis: int | None = None``); kind_of turns the annotation
into a Kind. Symbol JSON carries attributes as text, Python callers pass values or text; both enter through Kind.read.
"""

from __future__ import annotations

import functools
import json
import math
import re
import types
import typing
from typing import Annotated, Any, Literal, TypeGuard

import numpy as np

from .dims import Dim, has_dims

LONGEST = 1 << 16
"""Elements of a tuple beyond which an attribute is no attribute of anything; arrays are written as such (ArrayKind)."""
MOST_INT64 = 2**63 - 1
LARGEST_SIZE = 2**31 - 1
"""The largest size of anything that an attribute says a size of: what MXNet counts by in kernels."""


class Bounds(typing.NamedTuple):
    """The bounds of a whole number, both inclusive, as metadata of an annotation."""

    low: int
    high: int = LARGEST_SIZE


INT64 = Bounds(-MOST_INT64 - 1, MOST_INT64)
Count = Annotated[int, Bounds(1)]
"""Number of things of which there has to be one: groups, heads, filters, strides."""
Size = Annotated[int, Bounds(0)]
"""Size of something that may be empty."""
Several = Annotated[int, Bounds(0, LONGEST)]
"""Number of inputs or outputs, each of which has a name;"""
Arity = Annotated[int, Bounds(1, LONGEST)]
"""where there has to be one."""
NONE_IS_EMPTY = "None is ()"
"""Metadata of a tuple that is () where MXNet is given None;"""
Shape = tuple[int, ...]
ShapeOrNone = Annotated[Shape, NONE_IS_EMPTY]
"""a shape,"""
OptionalIntsOrNone = Annotated[tuple[int | None, ...], NONE_IS_EMPTY]
"""and ints or Nones of which that holds."""
Counts = tuple[Count, ...]
Sizes = tuple[Size, ...]
OptionalInts = tuple[int | None, ...]
Floats = tuple[float, ...]
DType = np.dtype


class NotTaken(ValueError):
    """Raised for a value that an attribute does not take, in words that say more than that."""


class Kind:
    """One kind of attribute. ``read`` gives the typed value, ``write`` the text that MXNet 1.9.1 reads back."""

    def __init__(self, label: str):
        self.label = label

    def read(self, value: Any) -> Any:
        """The typed value of a text or a Python value; raises ValueError when it is neither."""
        if isinstance(value, str):
            return self.parse(value.strip())
        return self.check(value)

    def parse(self, text: str) -> Any:
        raise NotImplementedError

    def check(self, value: Any) -> Any:
        raise NotImplementedError

    def write(self, value: Any) -> str:
        return str(value)


class Int(Kind):
    """A whole number within bounds, those of 64 bits unless there are others; True and False count as 1 and 0."""

    def __init__(self, within: Bounds = INT64):
        super().__init__("int")
        self.within = within

    def parse(self, text: str) -> int:
        # Python 2 wrote long integers as "2L"
        if not re.fullmatch(r"[+-]?[0-9]{1,40}[lL]?", text):
            if text in ("True", "False"):
                return self.check(text == "True")
            raise ValueError
        return self.check(int(text.rstrip("lL")))

    def check(self, value: Any) -> int:
        whole: Any = value if type(value) is Dim else int(value)
        low, high = self.within
        if not low <= whole <= high:
            raise NotTaken(f"wanted at least {low}" if whole < low and low >= 0 else f"wanted {low} to {high}")
        if whole != value:
            raise ValueError
        return whole


class Float(Kind):
    """A number, infinities and NaN included."""

    def parse(self, text: str) -> float:
        return float(text.rstrip("fF") if text[-1:] in "fF" and text[:-1].replace(".", "").isdigit() else text)

    def check(self, value: Any) -> Any:
        return value if type(value) is Dim else float(value)

    def write(self, value: Any) -> str:
        if type(value) is Dim:
            return repr(value)
        whole = math.isfinite(value) and value == int(value) and abs(value) < 1e15
        return str(int(value)) if whole and (value or math.copysign(1, value) > 0) else repr(value)


class Bool(Kind):
    """True or False, in any of the spellings that MXNet reads."""

    TEXTS = {"True": True, "true": True, "1": True, "False": False, "false": False, "0": False}

    def parse(self, text: str) -> bool:
        if text not in self.TEXTS:
            raise ValueError
        return self.TEXTS[text]

    def check(self, value: Any) -> bool:
        if type(value) is not bool and value not in (0, 1):
            raise ValueError
        return bool(value)


class Text(Kind):
    """Any text, kept as it is."""

    def read(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError
        return value

    def parse(self, text: str) -> str:
        return text


class Choice(Kind):
    """One of a few words."""

    def __init__(self, *options: str):
        super().__init__("one of " + ", ".join(map(repr, options)))
        self.options = options

    def parse(self, text: str) -> str:
        if text not in self.options:
            raise ValueError
        return text

    def check(self, value: Any) -> str:
        return self.parse(dtype(value).name if isinstance(value, type) else str(value))  # numpy.int32 for "int32"


class Tuple(Kind):
    """A tuple of one element kind: ``(2, 2)``, ``[2,2]``, ``2`` (a single element), ``(2L, 2L)``, ``(None, 3)``."""

    def __init__(self, item: Kind):
        super().__init__(f"tuple of {item.label}")
        self.item = item

    def parse(self, text: str) -> tuple[Any, ...]:
        inner = text
        if text[:1] in ("(", "["):
            if text[-1:] != {"(": ")", "[": "]"}[text[0]]:
                raise ValueError
            inner = text[1:-1]
        parts = _split(inner)
        if not parts[-1]:
            parts.pop()  # "(2,)", and "()" which splits into one empty part
        return tuple(self.item.parse(p) for p in parts)

    def check(self, value: Any) -> tuple[Any, ...]:
        several = hasattr(value, "__iter__") and getattr(value, "ndim", 1)  # NumPy's numbers as arrays are single ones
        items: tuple[Any, ...] = tuple(value) if several else (value,)
        if len(items) > LONGEST:
            raise ValueError
        return tuple(self.item.read(v) for v in items)

    def write(self, value: tuple[Any, ...]) -> str:
        return f"({', '.join(map(self.item.write, value))}{',' if len(value) == 1 else ''})"


class EmptyForNone(Tuple):
    """A tuple, for which None is the empty one."""

    def read(self, value: Any) -> Any:
        return () if value is None else super().read(value)

    def parse(self, text: str) -> tuple[Any, ...]:
        return () if text == "None" else super().parse(text)


def _split(text: str) -> list[str]:
    """The parts between commas; those inside of parentheses belong to an element: "((1, 2), (0, 1))"."""
    if text.count(",") > LONGEST:
        raise ValueError
    parts: list[str] = []
    depth, start = 0, 0
    for match in re.finditer(r"[,()\[\]]", text):
        mark = match.group()
        if mark == ",":
            if depth == 0:
                parts.append(text[start : match.start()].strip())
                start = match.end()
        else:
            depth += 1 if mark in "([" else -1
    return [*parts, text[start:].strip()]


def _json(text: str) -> Any:
    """Parse a text of JSON. Raises ValueError where it is none, or nests deeper than Python goes."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


class Texts(Tuple):
    """A tuple of texts: ``(a, b)`` where all are plain words, else a JSON list of them."""

    def __init__(self):
        super().__init__(Text("text"))

    def parse(self, text: str) -> tuple[str, ...]:
        return self.check(_json(text)) if text[:2] == '["' else super().parse(text)

    def write(self, value: tuple[str, ...]) -> str:
        return super().write(value) if all(re.fullmatch(r"[\w.:+-]+", v) for v in value) else json.dumps(value)


class Optional(Kind):
    """A kind or None."""

    def __init__(self, kind: Kind):
        super().__init__(f"{kind.label} or None")
        self.kind = kind

    def read(self, value: Any) -> Any:
        return None if value is None else super().read(value)

    def parse(self, text: str) -> Any:
        return None if text in ("None", "") else self.kind.parse(text)

    def check(self, value: Any) -> Any:
        return self.kind.check(value)

    def write(self, value: Any) -> str:
        return "None" if value is None else self.kind.write(value)


class DTypeKind(Kind):
    """A NumPy dtype by name. Those that NumPy lacks need the package ml_dtypes; "object" is strings, and no tensors."""

    def parse(self, text: str) -> Any:
        return dtype(text)

    def check(self, value: Any) -> Any:
        return dtype(value)

    def write(self, value: Any) -> str:
        return name_of(value)


class ArrayKind(Kind):
    """A whole array, small enough to be written out: ``int64(2) [3, 4]``; the numbers come in C order.

    Floats are written exactly, types that NumPy has not itself as their bits, complex numbers as pairs.
    Values are read-only arrays."""

    def parse(self, text: str) -> np.ndarray:
        match = re.fullmatch(r"(\w+)\((|\d+(?:, ?\d+)*),?\) (\[.*\])", text, re.DOTALL)
        if match is None:
            raise ValueError
        kind, shape = dtype(match[1]), tuple(int(d) for d in match[2].split(",") if d.strip())
        flat = np.array(_json(match[3]), _carrier(kind))
        return self.check((flat if kind.kind == "O" else flat.view(kind)).reshape(shape))

    def check(self, value: Any) -> np.ndarray:
        if has_dims(value):
            return value  # sizes that stand for others, whose dtype another attribute says
        array = np.array(value, order="C")
        array.flags.writeable = False
        return array

    def write(self, value: np.ndarray) -> str:
        flat = np.array(value, order="C").reshape(-1)
        flat = flat if value.dtype.kind == "O" else flat.view(_carrier(value.dtype))
        return f"{value.dtype.name}({', '.join(map(str, value.shape))}) {json.dumps(flat.tolist())}"


def _carrier(kind: np.dtype) -> np.dtype:
    """The dtype in which an array's numbers are written: one that JSON has numbers for."""
    if kind.kind == "c":
        return np.dtype(f"f{kind.itemsize // 2}")
    return np.dtype(f"u{kind.itemsize}") if kind.isbuiltin == 2 else kind


MXNET_DTYPES = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool",
                "int16", "uint16", "uint32", "uint64", "bfloat16")  # fmt: skip
"""The dtypes that MXNet has, each at its code (mshadow's type flag) in files and in ``__dtype__`` of variables."""
OWN_DTYPES = ("complex64", "complex128", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
              "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
              "int4", "uint4", "int2", "uint2", "object")  # fmt: skip
"""Those that only this engine has, for what comes from ONNX. "object" stands for strings, and for values that are no tensors."""
OWN_FLAGS = 64
"""The code of the first of OWN_DTYPES in `.params` files, far from what MXNet might give out. Codes never change."""
DTYPE_FLAGS = {name: flag for flag, name in enumerate(MXNET_DTYPES)} | {
    name: flag for flag, name in enumerate(OWN_DTYPES, OWN_FLAGS)
}
"""The code of every dtype, by name. The one table: `.params` and Symbol JSON read it."""
_EXTRA = frozenset(name for name in DTYPE_FLAGS if re.match(r"bfloat|float[468]_|u?int[24]$", name))

_OWN = {name: np.dtype(name) for name in DTYPE_FLAGS if name not in _EXTRA}
_NAMED = {
    **_OWN,
    **{text: d for d in _OWN.values() if d.kind != "O" for text in (d.str, d.str[1:])},
    **{name: np.dtype(name) for name in ("float", "int", "double", "half", "single", "bool_", "intp")},
}
"""Texts that are read as dtypes."""
_NAMES = {d: name for name, d in _OWN.items()}
_OF_TYPES = {d.type: d for d in _OWN.values() if d.kind in "biuf"}


def name_of(dtype: np.dtype) -> str:
    """The name of a dtype: what its attribute of that name says, which NumPy makes up anew each time, in microseconds."""
    return _NAMES.get(dtype) or dtype.name


_NUMPYS: Any = (np.ndarray, np.dtype)


def dtype_held(value: Any) -> Any:
    """The ``dtype`` of an array, a number, a parameter, or anything else that has one and stands for it; else the value itself.

    MXNet's rule, which is that of the NumPy it was written for; arrays of NumPy's own it does not take."""
    own = issubclass(value, np.generic) if isinstance(value, type) else isinstance(value, _NUMPYS)
    return value if own else getattr(value, "dtype", value)


def dtype(value: Any) -> Any:
    """The NumPy dtype of a name, type or dtype; bfloat16, the floats of 8, 6 and 4 bits and the 4- and 2-bit integers included.

    Raises ValueError when there is none. Texts are names, and the codes of native ones ("f4"): never what else NumPy reads."""
    if isinstance(value, str):
        if value in _EXTRA:
            try:
                import ml_dtypes
            except ImportError:
                raise NotTaken(f"dtype {value} needs the package ml_dtypes: pip install ml_dtypes") from None
            if not hasattr(ml_dtypes, value):
                raise NotTaken(f"dtype {value} needs a newer ml_dtypes: pip install -U ml_dtypes")
            return np.dtype(getattr(ml_dtypes, value))
        if value not in _NAMED:
            raise NotTaken(f"dtype {value[:40]!r} is not known; there are {', '.join(DTYPE_FLAGS)}")
        return _NAMED[value]
    if issubclass(type(value), np.dtype) and value in _NAMES:
        return value
    if isinstance(value, type) and value in _OF_TYPES:
        return _OF_TYPES[value]
    held = dtype_held(value)
    if held is not value:
        return dtype(held)
    try:
        found = np.dtype(value)
    except (TypeError, ValueError):
        raise ValueError(f"{value!s:.80} is not a dtype") from None
    if found.name not in DTYPE_FLAGS:
        raise NotTaken(f"dtype {found.name} is not known; there are {', '.join(DTYPE_FLAGS)}")
    return found.newbyteorder("=") if found.isbuiltin == 0 else found


dtype_text = functools.cache(str)
"""A dtype as text ("float32", ">f4"), which NumPy writes anew at every question."""


def is_float(dtype: np.dtype, *, small: bool = False) -> bool:
    """True for dtypes whose numbers are rounded: floats, bfloat16 included, which is not among NumPy's own; with small those
    of 8 bits and fewer too."""
    return dtype.kind == "f" or dtype.name == "bfloat16" or (small and "float" in dtype.name)


HALVES = ("bfloat16", "float16")
"""Names of the dtypes of half precision, the one that rounds most first."""


def is_half(dtype: np.dtype | None) -> TypeGuard[np.dtype]:
    """True for floats of 16 bits; False where the dtype is not known."""
    return dtype is not None and dtype.name in HALVES


def dtype_flag(value: Any) -> int:
    """The code that MXNet has for a dtype. Raises ValueError for one that it has no code for."""
    name = dtype(value).name
    if name not in MXNET_DTYPES:
        raise NotTaken(f"dtype {name} has no code in MXNet; it has {', '.join(MXNET_DTYPES)}")
    return DTYPE_FLAGS[name]


def declare_dtype(value: Any) -> str:
    """Text for a dtype in ``__dtype__`` of a variable: MXNet's code, or the name where MXNet has none.

    Raises ValueError for what no file can say."""
    name = dtype(value).name
    return str(DTYPE_FLAGS[name]) if name in MXNET_DTYPES else name


def declared_dtype(text: str | None) -> str | None:
    """The name of the dtype that ``__dtype__`` says, by code or by name; None when it says nothing."""
    if text is None or text == "-1":
        return None
    if text.isdigit():
        return MXNET_DTYPES[int(text)] if int(text) < len(MXNET_DTYPES) else None
    return text


_SIMPLE: dict[Any, Kind] = {
    int: Int(),
    float: Float("float"),
    bool: Bool("bool"),
    str: Text("text"),
    np.dtype: DTypeKind("dtype"),
    np.ndarray: ArrayKind("array"),
}


@functools.cache
def kind_of(annotation: Any) -> Kind:
    """The Kind that an annotation stands for. Raises TypeError for one that has none."""
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    metadata = getattr(annotation, "__metadata__", ())
    if NONE_IS_EMPTY in metadata:
        return EmptyForNone(kind_of(typing.get_args(typing.get_args(annotation)[0])[0]))
    if metadata:
        return Int(metadata[0])
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return Choice(*args)
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        return Texts() if args[0] is str else Tuple(kind_of(args[0]))
    if origin in (typing.Union, types.UnionType) and type(None) in args and len(args) == 2:
        return Optional(kind_of(args[0] if args[1] is type(None) else args[1]))
    raise TypeError(f"no attribute kind for annotation {annotation!r}")
