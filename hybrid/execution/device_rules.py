"""The table of operators that kernels of our own compute on a device; device_kernels.py and device_windows.py fill it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.op import Op
from ..device.array import DeviceArray
from ..device.base import Device

Rule = Callable[[Device, Any, Sequence[DeviceArray]], "Any | None"]
"""An operator by kernels of our own: its result (or several), None where these are not for such arrays."""
RULES: list[tuple[type[Op], Rule]] = []


def device_rule(*classes: type[Op]) -> Callable[[Rule], Rule]:
    """Register a rule of operators that mean what one of the classes does."""

    def register(rule: Rule) -> Rule:
        RULES.extend((c, rule) for c in classes)
        return rule

    return register
