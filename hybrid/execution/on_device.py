"""Operators on arrays of a device: as ``compute`` says it, where the device has all that it uses; else on the CPU, by copies.

What ``compute`` uses that the device lacks raises LeavesDevice (device/array.py). The operator then runs on the CPU, with such
inputs from then on, with one warning an operator. Operators that draw numbers always do: a seed means the same numbers
everywhere."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import rng as generators
from ..core.error import MXNetError, OutOfMemory, at_node
from ..core.fp_warnings import ignoring_fp_warnings
from ..core.op import Op, Spec
from ..core.shapes import fits, show
from ..device.array import DeviceArray, DeviceError
from ..device.base import Device
from ..ir.graph import SubgraphFunction
from .apply import apply
from .device_rules import RULES, Rule
from .hooks import HOOKS, compute_of

_warned: set[tuple[str, str]] = set()


class DeviceFallback(UserWarning):
    """An operator runs on the CPU although its arrays are on a device."""


def rule_of(op: Op) -> Rule | None:
    """The rule of an operator, remembered with it."""
    found = op.memo.get("device rule", _UNKNOWN)
    if found is _UNKNOWN:
        from . import device_kernels, device_windows  # noqa: F401  whose rules these are

        found = op.memo["device rule"] = next((r for c, r in RULES if type(op).means(c)), None)
    return found


_UNKNOWN: Any = object()


def apply_on_device(
    device: Device,
    op: Op,
    arrays: Sequence[Any],
    specs: Sequence[Spec],
    *,
    name: str,
    training: bool = False,
    subgraphs: Sequence[SubgraphFunction] = (),
    rng: np.random.Generator | None = None,
) -> tuple[list[Any], str | None]:
    """The results, each in memory of its own on the device (on the host, where they are nothing that a device holds), and why the
    CPU computed them, None where the device did.

    Raises what ``apply`` raises, and DeviceError."""
    key = ("on", device.kind, training, *((a.shape, a.dtype) for a in arrays))
    why = op.memo.get(key)
    if why is None:
        results, why = _attempt(device, op, arrays, specs, training, proven=False)
        op.memo[key] = why or ""
    elif not why:
        results, why = _attempt(device, op, arrays, specs, training, proven=True)
        if why:
            op.memo[key] = why
    else:
        results = None
    if results is not None:
        return results, None
    assert why is not None
    _warn(device, op, why)
    return _by_host(device, op, arrays, specs, name, training, subgraphs, rng), why


def _attempt(
    device: Device, op: Op, arrays: Sequence[Any], specs: Sequence[Spec], training: bool, proven: bool
) -> tuple[list[Any] | None, str | None]:
    """The results as the device computes them; None, and why not."""
    if op.draws(training) or (op.needs and "rng" in op.needs and "training" not in op.needs):
        return None, _DRAWS
    if "subgraphs" in op.needs:
        return None, "it has subgraphs"
    if not arrays:
        return None, _MADE
    if not all(type(a) is DeviceArray for a in arrays):
        return None, "an input is nothing that a device holds"
    if any(s.dtype is not None and not device.takes_dtype(s.dtype) for s in specs):
        return None, "a result is nothing that a device holds"
    if any(a.dtype.kind == "V" for a in arrays):
        return None, f"of dtype {next(a.dtype for a in arrays if a.dtype.kind == 'V')}"
    options: dict[str, Any] = {}
    if "training" in op.needs:
        options["training"] = training
    if "rng" in op.needs:
        options["rng"] = None
    if "shape" in op.needs:
        options["shape"] = specs[0].shape
    if "specs" in op.needs:
        options["specs"] = specs
    changed = [i for i, n in enumerate(op.input_names()) if n in op.mutates] if op.mutates else []
    before = [] if proven else [(i, device.duplicate(arrays[i])) for i in changed]
    # arrays of their own: NumPy keeps the array for which a reduction has failed for ever, so that it must not have the memory
    lent = [DeviceArray(device, a.memory) for a in arrays]
    try:
        rule = rule_of(op) if not HOOKS else None
        results = None if rule is None else rule(device, op, lent)
        if results is None:
            compute = compute_of(op) if HOOKS else op.compute
            results = ignoring_fp_warnings(lambda: compute(*lent, **options))  # type: ignore[call-arg]
        found = list(results) if isinstance(results, tuple | list) else [results]
        if len(found) != len(specs):
            raise TypeError(f"it gave {len(found)} results, not {len(specs)}")
        return _owned(device, found, arrays, specs, op.view), None
    except (DeviceError, OutOfMemory):
        raise
    except Exception as error:  # the CPU has the answer, or the operator's own error
        why = f"{type(error).__name__}: {error}"
        if proven and changed:
            said = f"{why}; what it writes to may be written in part"
            raise at_node(MXNetError, op.name, op.name, said) from error
    for i, kept in before:
        arrays[i][...] = kept
    for array in lent:
        array.memory = None
    return None, why


_DRAWS = "it draws random numbers, which are the same on all devices"
_MADE = "it has no inputs"
_UNSAID = (_DRAWS, _MADE)
"""Reasons that nobody needs to hear of."""


def _owned(
    device: Device, results: list[Any], arrays: Sequence[Any], specs: Sequence[Spec], view: bool
) -> list[DeviceArray]:
    """The results, each contiguous and in memory of its own. Raises TypeError for what is not as inference says."""
    taken = {device.owner(a) for a in arrays}
    made = []
    for result, spec in zip(results, specs):
        if type(result) is not DeviceArray:
            if not isinstance(result, np.ndarray | np.generic):
                raise TypeError(f"it gave {type(result).__name__}")
            result = device.upload(np.asarray(result))
        if not fits(spec.shape, result.shape) or (spec.dtype is not None and result.dtype != spec.dtype):
            raise TypeError(
                f"the device made {result.dtype}{show(result.shape)} of what is {spec.dtype}{show(spec.shape)}"
            )
        owner = device.owner(result)
        if owner in taken or result.is_part or not result.flags.c_contiguous:
            result = device.duplicate(result)
            owner = device.owner(result)
        taken.add(owner)
        made.append(result)
    return made


def _by_host(
    device: Device,
    op: Op,
    arrays: Sequence[Any],
    specs: Sequence[Spec],
    name: str,
    training: bool,
    subgraphs: Sequence[SubgraphFunction],
    rng: np.random.Generator | None,
) -> list[Any]:
    """The results as the CPU computes them, copied to the device; so is what the operator has written to."""
    host = [device.download(a) if type(a) is DeviceArray else a for a in arrays]
    rng = rng or (generators.generator() if "rng" in op.needs else None)
    results = apply(op, host, specs, name=name, training=training, subgraphs=subgraphs, rng=rng)
    for i, input_name in enumerate(op.input_names()):
        if input_name in op.mutates and type(arrays[i]) is DeviceArray:
            arrays[i][...] = host[i]
    return [device.upload(r) if device.takes_dtype(r.dtype) else r for r in results]


def _warn(device: Device, op: Op, why: str) -> None:
    if why in _UNSAID or (device.kind, op.name) in _warned:
        return
    _warned.add((device.kind, op.name))
    warnings.warn(
        f"{op.name} runs on the CPU, its arrays are copied from {device} and back: {why}", DeviceFallback, stacklevel=4
    )
