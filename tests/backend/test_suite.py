"""The backend suite of the installed onnx package, on our engine, and through an export and a second import."""

import functools
import unittest
from pathlib import Path

import onnx
import pytest

from bridge.onnx_backend import OnnxBackend
from tests.backend.again import Again
from tests.backend.exceptions import EXCEPTIONS, RANDOM, markdown, reason
from tests.backend.kept import classes

OLD = tuple(map(int, onnx.__version__.split(".")[:2])) < (1, 19)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        OLD,
        reason="suites before onnx 1.19 declare bfloat16 and narrower types as other types, and record wrapped int8 sums",
    ),
]


@functools.cache
def _cases(backend: type[OnnxBackend]) -> dict[str, type[unittest.TestCase]]:
    """The test class by the name of each test that runs on the CPU and needs no download."""
    return {
        name: cls
        for cls in classes(backend, __name__).values()
        for name in unittest.TestLoader().getTestCaseNames(cls)
        if name.endswith("_cpu")
    }


def _run(cls: type[unittest.TestCase], name: str, why: str | None) -> None:
    if why is None:
        getattr(cls(name), name)()
        return
    try:
        getattr(cls(name), name)()
    except Exception:
        return
    pytest.fail(f"{name} passes now; take it off the list in exceptions.py ({why})")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The names of the suite; to know them takes seconds, which a run without the slow tests is spared."""
    if "name" not in metafunc.fixturenames:
        return
    names: list[str] = []
    if "not slow" not in metafunc.config.getoption("markexpr"):
        names = [n for n in _cases(OnnxBackend) if reason(n, RANDOM) is None]
    if metafunc.function is test_import_export_import_keeps_every_bit:
        names = [n for n in names if reason(n, EXCEPTIONS) is None]
    metafunc.parametrize("name", names)


def test_suite(name: str) -> None:
    _run(_cases(OnnxBackend)[name], name, reason(name, EXCEPTIONS))


@pytest.mark.share(3)  # the first test has imported all of them
@pytest.mark.usefixtures("by_numpy")  # graphs that differ in form may run on other kernels, which round otherwise
def test_import_export_import_keeps_every_bit(name: str) -> None:
    _run(_cases(Again)[name], name, None)


def test_the_document_is_up_to_date() -> None:
    said = (Path(__file__).parents[2] / "docs" / "backend-suite.md").read_text()
    assert said == markdown(), "run: python -m tests.backend --document > docs/backend-suite.md"


@pytest.mark.parametrize("pattern", [*EXCEPTIONS, *RANDOM])
def test_every_exception_is_a_test(pattern: str) -> None:
    assert any(reason(name, {pattern: ""}) is not None for name in _cases(OnnxBackend))
