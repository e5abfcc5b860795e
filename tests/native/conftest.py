"""Settings under which kernels are tested: every CPU level compiled in (only the best in the quick run), one thread and two."""

from collections.abc import Iterator

import pytest

from hybrid import native

LEVELS = [
    pytest.param(n, marks=[pytest.mark.slow, pytest.mark.share(2)] if i else ())
    for i, n in enumerate(native.LEVELS or (None,))
]


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    """The CPU level whose kernels the test uses."""
    before = native.use(request.param)
    yield request.param
    native.use(before)


@pytest.fixture(params=(1, 2))
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """Number of threads that kernels use."""
    before = native.threads()
    native.set_num_threads(request.param)
    yield request.param
    native.set_num_threads(before)
