"""Operators by kernels of our own (device/kernels.py), where a device runs such: element-wise chains, softmax, normalization;
of float32. Windows and attention are in device_windows.py.

Everything else is what ``compute`` says, by the device's own functions."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..device.array import DeviceArray
from ..device.base import Device
from ..device.kernels import CHAIN, NORMALIZATION, SOFTMAX, THREADS
from ..ops.fused import OPCODES, FusedElementwise
from ..ops.fused_norm import RMSNorm
from ..ops.normalization import LayerNorm
from ..ops.softmax import LogSoftmax, Softmax
from .device_rules import device_rule

FLOAT = np.dtype(np.float32)

C = {
    **{
        n: f"{n}f({{0}})"
        for n in ("sqrt", "cbrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan")
    },
    **{n: f"{n}f({{0}})" for n in ("sinh", "cosh", "tanh", "erf", "floor", "ceil", "trunc", "round")},
    **{f"arc{n}": f"a{n}f({{0}})" for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "abs": "fabsf({0})",
    "negative": "-{0}",
    "reciprocal": "1.0f / {0}",
    "square": "{0} * {0}",
    "rsqrt": "1.0f / sqrtf({0})",
    "relu": "({0} > 0.0f || {0} != {0}) ? {0} : 0.0f",
    "sigmoid": "1.0f / (1.0f + expf(-{0}))",
    "sign": "(float)({0} > 0.0f) - (float)({0} < 0.0f)",
    "signum": "{0} != {0} ? {0} : (float)({0} > 0.0f) - (float)({0} < 0.0f)",
    "around": "rintf({0})",
    "gelu": "{0} * (0.5f * (1.0f + erff({0} * 0.70710678118654752f)))",
    "softplus": "log1pf(expf(-fabsf({0}))) + ({0} > 0.0f || {0} != {0} ? {0} : 0.0f)",
    "not": "(float)({0} == 0.0f)",
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "pow": "powf({0}, {1})",
    "hypot": "hypotf({0}, {1})",
    "arctan2": "atan2f({0}, {1})",
    "rint": "({0} - floorf({0}) <= ceilf({0}) - {0}) ? floorf({0}) : ceilf({0})",
    "copysign": "(({0} >= 0.0f && {1} >= 0.0f) || ({0} < 0.0f && {1} < 0.0f)) ? {0} : -{0}",
    "fmod": "fmodf({0}, {1})",
    "max": "({0} > {1} || {0} != {0}) ? {0} : {1}",
    "min": "({0} < {1} || {0} != {0}) ? {0} : {1}",
    **{o: f"(float)({{0}} {s} {{1}})" for o, s in dict(eq="==", ne="!=", gt=">", ge=">=", lt="<", le="<=").items()},
    "and": "(float)({0} != 0.0f && {1} != 0.0f)",
    "or": "(float)({0} != 0.0f || {1} != 0.0f)",
    "xor": "(float)(({0} != 0.0f) != ({1} != 0.0f))",
    "leaky": "{0} < 0.0f ? {0} * {1} : {0}",
    "where": "{0} != 0.0f ? {1} : {2}",
    "float32": "{0}",
}
"""Opcodes of a chain (ops/fused.py) on floats, in C, with MXNet's answers to halves (rint) and NaN (copysign, sign). What is
not here has no kernel of ours."""


def chain_source(code: str, shapes: Sequence[tuple[int, ...]]) -> str | None:
    """The kernel ``chain(y, count, x0, x1, ...)`` of a chain on float32 of these shapes, which broadcast; None where an opcode has
    no C."""
    whole = np.broadcast_shapes(*shapes)
    lines = [f"    const float v{i} = x{i}[{_place(s, whole)}];" for i, s in enumerate(shapes)]
    stack: list[str] = []
    for opcode in code.split():
        if opcode[0] == "$":
            stack.append(f"v{opcode[1:]}")
        elif opcode in C:
            count = OPCODES[opcode][0] if opcode in OPCODES else 1
            operands = [stack.pop() for _ in range(count)][::-1]
            name = f"t{len(lines)}"
            lines.append(f"    const float {name} = {C[opcode].format(*operands)};")
            stack.append(name)
        elif opcode in OPCODES or (number := _number(opcode)) is None:
            return None
        else:
            stack.append(number)
    lines.append(f"    y[i] = {stack.pop()};")
    parameters = ", ".join(["float* y", "long long count", *(f"const float* x{i}" for i in range(len(shapes)))])
    return CHAIN.format(parameters=parameters, lines="\n".join(lines))


def _number(text: str) -> str | None:
    """A number as a constant of C; None for what is none, or not finite."""
    try:
        value = float(np.float32(text))
    except ValueError:
        return None
    return f"({value!r}f)" if math.isfinite(value) else None


def _place(shape: tuple[int, ...], whole: tuple[int, ...]) -> str:
    """Place in an array of a shape of what belongs to element i of the whole."""
    if shape == whole:
        return "i"
    terms, step, behind = [], 1, 1
    for axis in range(1, len(whole) + 1):
        size, own = whole[-axis], shape[-axis] if axis <= len(shape) else 1
        if own > 1:
            terms.append(f"i / {behind}LL % {size}LL * {step}LL")
            step *= own
        behind *= size
    return " + ".join(terms) or "0"


def are_floats(device: Device, arrays: Sequence[DeviceArray]) -> bool:
    """True for what kernels of ours take, on a device that runs them."""
    return device.has_kernels and all(a.dtype == FLOAT and a.size and a.flags.c_contiguous for a in arrays)


_sources = functools.lru_cache(maxsize=512)(chain_source)


@device_rule(FusedElementwise)
def run_chain(device: Device, op: FusedElementwise, arrays: Sequence[DeviceArray]) -> DeviceArray | None:
    """A chain in one launch."""
    if not are_floats(device, arrays) or (source := _sources(op.code, tuple(a.shape for a in arrays))) is None:
        return None
    y = device.empty(np.broadcast_shapes(*(a.shape for a in arrays)), FLOAT)
    grid = (-(-y.size // THREADS),)
    device.kernel(source, "chain")(grid, (THREADS,), (y, np.int64(y.size), *arrays))
    return y


@device_rule(Softmax, LogSoftmax)
def run_softmax(device: Device, op: Any, arrays: Sequence[DeviceArray]) -> DeviceArray | None:
    """Softmax or its logarithm along the last axis, a block a row."""
    x = arrays[0]
    if len(arrays) > 1 or not are_floats(device, arrays) or op.axis not in (-1, x.ndim - 1):
        return None
    if op.temperature not in (None, 1.0) or op.infer_type(*(a.dtype for a in arrays)) != FLOAT:
        return None
    y = device.empty(x.shape, FLOAT)
    rows, columns = x.size // x.shape[-1], x.shape[-1]
    logarithm = np.int32(type(op).means(LogSoftmax))
    device.kernel(SOFTMAX, "softmax")((rows,), (THREADS,), (x, y, np.int32(columns), logarithm))
    return y


@device_rule(LayerNorm)
def run_layer_norm(device: Device, op: LayerNorm, arrays: Sequence[DeviceArray]) -> list[DeviceArray] | None:
    """Layer normalization along the last axis, a block a row."""
    x = arrays[0]
    if not are_floats(device, arrays) or op.axis not in (-1, x.ndim - 1):
        return None
    y, mean, root = (device.empty(s, FLOAT) for s in (x.shape, *[(*x.shape[:-1], 1)] * 2))
    numbers = np.int32(x.shape[-1]), np.float32(op.eps), np.int32(False)
    kernel = device.kernel(NORMALIZATION, "normalization")
    kernel((x.size // x.shape[-1],), (THREADS,), (*arrays, y, mean, root, *numbers))
    return [y, mean, root]


@device_rule(RMSNorm)
def run_rms_norm(device: Device, op: RMSNorm, arrays: Sequence[DeviceArray]) -> DeviceArray | None:
    """Division by the root of the mean square along the last axis, a block a row."""
    x, gamma = arrays
    if not are_floats(device, arrays):
        return None
    y = device.empty(x.shape, FLOAT)
    numbers = np.int32(x.shape[-1]), np.float32(op.eps), np.int32(True)
    kernel = device.kernel(NORMALIZATION, "normalization")
    kernel((x.size // x.shape[-1],), (THREADS,), (x, gamma, gamma, y, y, y, *numbers))
    return y
