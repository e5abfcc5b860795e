"""From every dtype to every other as ONNX's Cast says (opset 6 to newest).

Where ONNX leaves it open: floats that an integer type cannot hold become what C compiled for x86 makes of them (common.truncate),
for 4- and 2-bit integers its low bits; NaN is zero in a type that has none; negative numbers, which no power of two is, are NaN.
"""

import functools
import re
from typing import Any

import numpy as np

from ...core.attrs import dtype as read_dtype
from ..common import as_array, truncate

BITS = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2}
"""Integers that stand one in a byte, in its low bits."""
FINITE = ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn")
"""Floats without infinity and NaN, which always saturate."""
EIGHT = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE)


def is_integer(dtype: np.dtype) -> bool:
    """True for dtypes of integers, those of ml_dtypes included."""
    return dtype.kind in "iu" or dtype.name in BITS


def bits_of(dtype: np.dtype) -> int:
    """Number of bits that an element has in ONNX, where memory may take a byte for fewer."""
    narrow = {"float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6, **BITS}
    return narrow.get(dtype.name, 8 * dtype.itemsize)


def bounds(dtype: np.dtype) -> tuple[int, int]:
    """The least and the greatest integer of a dtype, those of ml_dtypes included."""
    bits = bits_of(dtype)
    return (0, 2**bits - 1) if dtype.name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def plain(array: np.ndarray) -> np.ndarray:
    """The same numbers in a dtype of NumPy's own: narrow floats as float32, narrow integers as int8 or uint8."""
    if array.dtype.name in BITS:
        return array.astype(np.uint8 if array.dtype.name.startswith("u") else np.int8)
    return array.astype(np.float32) if array.dtype.isbuiltin == 2 else array


def convert(array: Any, dtype: Any, *, saturate: bool = True, round_mode: str = "up") -> np.ndarray:
    """The array in another dtype, as ONNX Cast converts; strings are objects of type str.

    saturate: what an 8-bit float cannot hold becomes its greatest value, else infinity or NaN. round_mode: how powers of two
    (float8_e8m0fnu) are found, "up", "down" or "nearest". Raises ValueError for complex numbers and for text that is no number."""
    array, dtype = as_array(array), read_dtype(dtype)
    if array.dtype == dtype:
        return array
    if "c" in (array.dtype.kind, dtype.kind):
        raise ValueError(f"got {array.dtype.name} to convert to {dtype.name}: ONNX converts no complex numbers")
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if dtype.hasobject:
            return _format_numbers(plain(array))
        array = _read(array, dtype) if array.dtype.hasobject else plain(array)
        if dtype.kind == "b":
            return array != 0
        if is_integer(dtype):
            return _integers(array, dtype)
        if dtype.name == "float8_e8m0fnu":
            return _powers(array, dtype, saturate, round_mode)
        return _floats(array, dtype, saturate)


def _integers(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Numbers of NumPy's dtypes as integers; those too wide keep their low bits."""
    if dtype.name in BITS:
        low = _integers(array, np.dtype(np.int8)).view(np.uint8)
        return (low & np.uint8(2 ** BITS[dtype.name] - 1)).view(dtype)
    if array.dtype.kind in "iub":
        return array.astype(dtype)
    whole = truncate(array, dtype)
    if dtype == np.uint64:  # the half of its range that no int64 has
        high = (array >= 2.0**63) & (array < 2.0**64)
        return np.where(high, array, 0).astype(np.uint64) * high + whole * ~high
    return whole


def round_to(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Numbers as float64 with the precision of a narrow float, half to even, as if its exponents went up for ever."""
    import ml_dtypes

    info = ml_dtypes.finfo(dtype)
    wide = array.astype(np.float64)
    step = np.ldexp(1.0, np.frexp(wide)[1] - 1 - info.nmant)
    step = np.maximum(step, float(info.smallest_subnormal))
    return np.rint(wide / step) * step


def _floats(array: np.ndarray, dtype: np.dtype, saturate: bool) -> np.ndarray:
    if dtype.isbuiltin == 1:
        return array.astype(dtype)
    if dtype.name == "bfloat16":
        return (array if array.dtype in (np.float32, np.float16) else round_to(array, dtype)).astype(dtype)
    import ml_dtypes

    wide, greatest = round_to(array, dtype), float(ml_dtypes.finfo(dtype).max)
    if saturate or dtype.name in FINITE:
        return np.clip(wide, -greatest, greatest).astype(dtype)
    beyond = np.copysign(np.inf if dtype.name == "float8_e5m2" else np.nan, wide)
    return np.where(np.abs(wide) > greatest, beyond, wide).astype(dtype)


def _powers(array: np.ndarray, dtype: np.dtype, saturate: bool, round_mode: str) -> np.ndarray:
    """Positive numbers as powers of two, of which e8m0 holds the exponent plus 127 and 255 for NaN."""
    wide = array.astype(np.float64)
    fraction, exponent = np.frexp(wide)  # wide = fraction * 2 ** exponent, fraction from 0.5 to below 1
    upwards = {"up": fraction > 0.5, "down": np.zeros(wide.shape, bool), "nearest": fraction >= 0.75}[round_mode]
    code = exponent + 126 + upwards
    code = np.where(wide == np.inf, 255, np.where(wide == 0, -1, code))
    code = np.clip(code, 0, 254) if saturate else np.where((code < 0) | (code > 254), 255, code)
    return np.where(np.isnan(wide) | (wide < 0), 255, code).astype(np.uint8).view(dtype)


def _format_numbers(array: np.ndarray) -> np.ndarray:
    """Numbers as text: the fewest digits that say them, without an exponent; NaN, INF and -INF; 1 and 0 for truth."""
    made = np.empty(array.size, object)
    if array.dtype.kind == "f":
        made[:] = [_digits(number) for number in array.reshape(-1)]
    else:
        made[:] = [str(int(number)) for number in array.reshape(-1).tolist()]
    return made.reshape(array.shape)


def _digits(number: np.floating) -> str:
    if np.isnan(number):
        return "NaN"
    if np.isinf(number):
        return "INF" if number > 0 else "-INF"
    return np.format_float_positional(number, unique=True, trim="-")


def _read(texts: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Text as float64, or for integers as uint64 whose low bits they are."""
    one = functools.partial(_whole, dtype=dtype) if is_integer(dtype) else _number
    made = np.array([one(text) for text in texts.reshape(-1)], np.uint64 if is_integer(dtype) else np.float64)
    return made.reshape(texts.shape)


def _number(text: str) -> float:
    if not isinstance(text, str) or not NUMBER.fullmatch(text.strip()):
        raise ValueError(f"got the text {text!r}, wanted a number such as 3.14, 1e-5, NaN or -INF")
    return float(text)


def _whole(text: str, dtype: np.dtype) -> int:
    number = _number(text)
    if not np.isfinite(number):
        raise ValueError(f"got the text {text!r}, wanted a number that {dtype.name} has")
    exact = re.fullmatch(r"[+-]?\d+", text.strip())
    return int(text if exact else number) % 2**64
