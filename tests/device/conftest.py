"""Devices for tests: mocks, or the GPUs of this machine with ``--on gpu``."""

from collections.abc import Iterator, Sequence

import pytest

from hybrid.device import registry
from hybrid.device.base import Device
from hybrid.device.mock import Mock, mocks


@pytest.fixture
def devices() -> Iterator[Sequence[Mock]]:
    """gpu(0) and gpu(1), mocks."""
    with registry.using(mocks(2)) as there:
        yield there  # type: ignore[misc]


@pytest.fixture
def device(devices: Sequence[Mock]) -> Mock:
    """gpu(0), a mock."""
    return devices[0]


@pytest.fixture
def any_device() -> Iterator[Device]:
    """gpu(0): that of this machine where it has one, else a mock."""
    if registry.devices():
        yield registry.device(0)
        return
    with registry.using(mocks(1)) as (there,):
        yield there
