"""Every CPU level that is compiled in."""

import pytest

from hybrid import native


@pytest.fixture(params=native.LEVELS)
def level(request):
    """The CPU level whose kernels the test uses."""
    before = native.use(request.param)
    yield request.param
    native.use(before)
