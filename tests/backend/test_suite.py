"""The backend suite of the installed onnx package, on our engine, and through an export and a second import."""

import unittest
import warnings

import pytest
from onnx.backend.test import BackendTest

from bridge.onnx_backend import OnnxBackend
from tests.backend.again import Again
from tests.backend.exceptions import EXCEPTIONS, NOT_WRITTEN, RANDOM, reason

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def _cases(backend: type[OnnxBackend]) -> dict[str, type[unittest.TestCase]]:
    """The test class by the name of each test that runs on the CPU and needs no download."""
    with warnings.catch_warnings():  # the suite computes what it expects when it is loaded
        warnings.simplefilter("ignore")
        suite = BackendTest(backend, __name__).test_cases
    return {
        name: cls
        for cls in suite.values()
        for name in unittest.TestLoader().getTestCaseNames(cls)
        if name.endswith("_cpu")
    }


SUITE, AGAIN = _cases(OnnxBackend), _cases(Again)


def _run(cls: type[unittest.TestCase], name: str, why: str | None) -> None:
    if why is None:
        getattr(cls(name), name)()
        return
    try:
        getattr(cls(name), name)()
    except Exception:
        return
    pytest.fail(f"{name} passes now; take it off the list in exceptions.py ({why})")


RUN = [n for n in SUITE if reason(n, RANDOM) is None]


@pytest.mark.parametrize("name", RUN)
def test_suite(name: str) -> None:
    _run(SUITE[name], name, reason(name, EXCEPTIONS))


@pytest.mark.parametrize("name", [n for n in RUN if reason(n, EXCEPTIONS) is None])
def test_import_export_import_keeps_every_bit(name: str) -> None:
    _run(AGAIN[name], name, reason(name, NOT_WRITTEN))


@pytest.mark.parametrize("pattern", [*EXCEPTIONS, *RANDOM, *NOT_WRITTEN])
def test_every_exception_is_a_test(pattern: str) -> None:
    assert any(reason(name, {pattern: ""}) is not None for name in SUITE)
