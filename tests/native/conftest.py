"""What tests of kernels run on: every CPU level that is compiled in, one thread and two."""

from collections.abc import Iterator

import pytest

from hybrid import native


@pytest.fixture(params=native.LEVELS or (None,))
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    """The CPU level whose kernels the test uses."""
    before = native.use(request.param)
    yield request.param
    native.use(before)


@pytest.fixture(params=(1, 2))
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """How many threads kernels use."""
    before = native.threads()
    native.set_num_threads(request.param)
    yield request.param
    native.set_num_threads(before)
