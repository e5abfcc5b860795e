"""Settings of the whole suite."""

import functools
import gc
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import Phase, settings

from hybrid import native
from tests import shares

# The same examples on every run: a red build is red for everybody. `pytest -m property --hypothesis-profile=random` looks further:
# it draws new ones every time, and says how to see again what failed.
settings.register_profile("steady", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("random", deadline=None, print_blob=True, max_examples=400, database=None)
settings.load_profile("steady")
# The same examples, and what fails is not made smaller: for those who ask only whether something fails (tests.mutants).
settings.register_profile("brief", settings.get_profile("steady"), phases=(Phase.explicit, Phase.generate))


# Cycles are looked for a thirtieth as often as by default, which takes a fifteenth of the time of all tests; those about memory
# that is given back collect by themselves.
gc.set_threshold(20_000, 20, 20)
os.environ.pop("COLUMNS", None)  # which xdist sets: what is printed to a pipe is as wide as that says
gc.disable()  # until all is collected, which makes hundreds of thousands of objects that stay


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "whatever is computed is computed on a device: a mock, or the first GPU"
    parser.addoption("--on", choices=("mock", "gpu"), help=told)
    told = "of all tests, one in N, the same ones on every run (as of --turn)"
    parser.addoption("--share", type=int, default=1, metavar="N", help=told)
    parser.addoption("--row", default="", metavar="TEXT", help="of tests of many rows, those whose names hold this")
    told = "all cases of sweeps of which a share is looked at otherwise"
    parser.addoption("--all-cases", action="store_true", help=told)
    parser.addoption(
        "--turn", type=int, default=0, metavar="N", help="of these sweeps, the Nth share in place of the first"
    )


def pytest_configure(config: pytest.Config) -> None:
    if on := config.getoption("--on"):
        from hybrid.device import mock, registry
        from hybrid.execution import backends
        from hybrid.execution.device_program import DeviceBackend

        config.addinivalue_line("filterwarnings", "ignore::hybrid.execution.on_device.DeviceFallback")
        backends.register(DeviceBackend(mock.Mock(0) if on == "mock" else registry.device(0)))
    shares.everything, shares.turn = config.getoption("--all-cases"), config.getoption("--turn")


def pytest_pycollect_makeitem(collector: pytest.Module, obj: Any) -> list[pytest.Item] | None:
    """Make no items of a function that a selection such as "not slow and not models" leaves out: there may be thousands."""
    selection = collector.config.getoption("markexpr")
    if not re.fullmatch(r"not \w+( and not \w+)*", selection):
        return None
    marks = getattr(obj, "pytestmark", [])
    return [] if isinstance(marks, list) and {m.name for m in marks} & set(selection.split()) else None


def pytest_itemcollected(item: pytest.Item) -> None:
    if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        item.add_marker("property")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is in no share that is looked at, but what was asked for by name. Begin with what takes longest, so that
    no worker waits for another's last test."""
    if not shares.everything and not any("[" in argument for argument in config.args):
        left = [i for i in items if any(shares.number(i.nodeid, mark.args[0]) for mark in i.iter_markers("share"))]
        if left:
            config.hook.pytest_deselected(items=left)
            out = set(left)
            items[:] = [i for i in items if i not in out]
    if (count := config.getoption("--share")) > 1:
        left = [i for i in items if shares.number(i.nodeid, count)]
        config.hook.pytest_deselected(items=left)
        items[:] = [i for i in items if not shares.number(i.nodeid, count)]
    items.sort(key=lambda item: not (item.get_closest_marker("slow") and not hasattr(item, "callspec")))


def pytest_collection_finish() -> None:
    """Freeze what was collected until the end: tens of thousands of tests that no collection of garbage need look at. Keep the
    process that onnxruntime runs in, once there is one: each costs a fork of this one, which has grown."""
    gc.freeze()
    gc.enable()
    if "bridge.runtime" in sys.modules:
        runtime: Any = sys.modules["bridge.runtime"]
        runtime.current = kept(runtime.current)


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """In a process of xdist report what a test says, not also that it was set up and torn down: of what each test costs, it is a
    fifth to tell the process that counts."""
    if not hasattr(item.config, "workerinput") or item.config.getoption("xmlpath", None):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, nextitem=nextitem, log=False):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def kept(current: Callable[[], Any]) -> Callable[[], Any]:
    """The function, made to remember what it gave last."""
    last: list[Any] = []

    @functools.wraps(current)
    def found() -> Any:
        last[:] = [current()]
        return last[0]

    return found


@pytest.fixture
def by_numpy() -> Iterator[None]:
    """No compiled kernels: for tests that exchange an operator's NumPy rule."""
    before = native.use(None)
    yield
    native.use(before)
