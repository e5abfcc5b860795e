"""Tests by the lines of the product that they run: recorded once with coverage.py, a context for each test, and asked often.

    python -m tests.mutants.covered FOLDER [pytest's arguments]     records; minutes, with -n 2 in two processes

Lines that only run in processes of their own, or when a module is imported, belong to no test here."""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.house.docs import ROOT

FOLDER = "GLUONNX_COVERED"
"""The environment variable that tells processes of pytest where to record."""
PRODUCT = ("hybrid", "converters", "bridge")


class Plugin:
    """Records in one process of pytest."""

    def __init__(self, folder: str):
        try:
            import coverage
        except ImportError:
            raise pytest.UsageError("recording which tests run a line needs coverage: pip install coverage") from None
        data = str(Path(folder) / "lines")
        self._coverage: Any = coverage.Coverage(data_file=data, data_suffix=True, source=PRODUCT, config_file=False)
        self._coverage.set_option("run:relative_files", True)
        self._coverage.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._coverage.switch_context(item.nodeid)
        yield
        self._coverage.switch_context("")

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        self._coverage.save()


def pytest_configure(config: pytest.Config) -> None:
    """Record where tests run: with -n in the workers alone."""
    if os.environ.get("PYTEST_XDIST_WORKER") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Plugin(os.environ[FOLDER]))


class Covered:
    """Records of coverage in a folder."""

    def __init__(self, folder: Path):
        self._files = sorted(folder.glob("lines.*"))
        if not self._files:
            raise FileNotFoundError(f"{folder} holds no record; make one: python -m tests.mutants.covered {folder}")
        self._file = functools.lru_cache(maxsize=4)(self._read)

    def _read(self, file: str) -> list[tuple[str, bytes]]:
        found = []
        for path in self._files:
            with contextlib.closing(sqlite3.connect(path)) as data:
                found += data.execute(
                    "select context, numbits from line_bits join context on context.id = context_id "
                    "join file on file.id = file_id where path = ? and context != ''",
                    (file,),
                ).fetchall()
        return found

    def tests(self, file: str, lines: Iterable[int]) -> set[str]:
        """Ids of the tests that run one of these lines."""
        wanted = list(lines)
        return {
            test
            for test, bits in self._file(file)
            if any(n // 8 < len(bits) and bits[n // 8] >> n % 8 & 1 for n in wanted)
        }


def main() -> int:
    folder, arguments = Path(sys.argv[1]).resolve(), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, FOLDER: str(folder), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutants.covered", "-p", "no:cacheprovider"]
    times = f"--junitxml={folder / 'times.xml'}"
    return subprocess.run([*command, times, *arguments], cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
