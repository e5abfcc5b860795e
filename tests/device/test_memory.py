"""Memory of the host and of a device gives arrays the same answers."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import hybrid
from hybrid.device import memory
from hybrid.device.mock import Mock

HOST = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(params=["host", "device"])
def there(request: pytest.FixtureRequest) -> object:
    """The numbers of HOST, on the host or on a device."""
    return HOST.copy() if request.param == "host" else Mock(0).upload(HOST)


def test_values_come_to_the_host(there: object) -> None:
    """As they are or as a copy; a copy that was asked for shares nothing."""
    np.testing.assert_array_equal(memory.on_host(there), HOST)
    assert (memory.on_host(there) is there) == (not memory.is_far(there))
    copied = memory.host_copy(there)
    copied[...] = 0
    np.testing.assert_array_equal(memory.on_host(there), HOST)


def test_values_go_to_a_device(there: object) -> None:
    device = Mock(1)
    copied = memory.device_copy(there, device)
    assert memory.is_far(copied) and copied.device is device
    memory.put(there, ..., 7)
    np.testing.assert_array_equal(memory.on_host(copied), HOST)
    assert device.counters.uploads == 1


def test_parts(there: object) -> None:
    """A part lies somewhere in the whole, is known as one, is copied alone, and what is put there shows in the whole."""
    whole: np.ndarray = there  # type: ignore[assignment]
    rows, columns = whole[1:], whole[:, 1]
    assert memory.is_whole(whole) and not memory.is_whole(rows)
    first, strides = memory.layout(whole)
    assert memory.layout(rows) == (first + 16, strides) and memory.layout(columns) == (first + 4, strides[:1])
    alone = memory.compact(columns)
    assert memory.is_whole(alone) and alone.flags.c_contiguous
    memory.put(whole, (slice(None), 1), np.array([5.5, 6, 7], np.float64))
    np.testing.assert_array_equal(memory.on_host(whole)[:, 1], np.float32([5.5, 6, 7]))
    np.testing.assert_array_equal(memory.on_host(alone), HOST[:, 1])
    memory.synchronize(whole)


def test_arrays_of_users_do_not_ask_where_they_are() -> None:
    """No file but those of devices, and of programs on devices, knows what a device's array is."""
    root = Path(hybrid.__file__).parent
    knowing = set()
    for file in root.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and "DeviceArray" in {alias.name for alias in node.names}:
                knowing.add(file.relative_to(root))
    folders = {path.parts[0] for path in knowing}
    assert folders == {"device", "execution"}
    assert all("device" in path.name for path in knowing if path.parts[0] == "execution")
