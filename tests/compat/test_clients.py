"""What programs written for MXNet, which nobody here wrote, ask of it; answers are those of MXNet 1.9.1."""

from __future__ import annotations

from tests.compat.test_compat import python


def test_importing_mxnet_imports_what_it_imports() -> None:
    """Sockeye uses multiprocessing.pool without importing it; importing hybrid alone does not pay for it."""
    program = """
import sys
import hybrid
assert "multiprocessing.pool" not in sys.modules
hybrid.install_as_mxnet()
import multiprocessing
import mxnet
with multiprocessing.pool.ThreadPool(1) as pool:
    print(pool.map(str, [1, 2]))
"""
    done = python("-c", program)
    assert (done.stdout, done.stderr) == ("['1', '2']\n", "")
