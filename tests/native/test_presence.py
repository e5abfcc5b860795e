"""Statements about the compiled part, where it is there and where it is not."""

from __future__ import annotations

import importlib.machinery
import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hybrid import native
from hybrid.native.__main__ import facts, text


def absent(monkeypatch: pytest.MonkeyPatch, problem: str = "No module named 'hybrid.native._core'") -> None:
    for name, value in (("_core", None), ("LEVELS", ()), ("_level", None), ("_mentioned", False), ("problem", problem)):
        monkeypatch.setattr(native, name, value)


@pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")
def test_facts_when_it_is_there() -> None:
    found = facts()
    assert found["level"] in found["levels"] and found["why_not"] is None
    assert {(n, d) for n, dtypes in found["kernels"].items() for d in dtypes} == native.kernels()
    assert found["threads"] == native.threads()
    for word in (found["level"], str(len(found["kernels"])), "threads", "MB"):
        assert word in text(found)


def test_facts_when_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    absent(monkeypatch)
    monkeypatch.setattr("hybrid.native.__main__.LEVELS", ())
    monkeypatch.setattr(sys, "path", [])  # where none that is compiled is installed either
    found = facts()
    assert (found["levels"], found["level"], found["kernels"], found["threads"]) == ([], None, {}, 1)
    assert "C++ compiler" in text(found)
    absent(monkeypatch, "libstdc++.so.6: version `GLIBCXX_3.4.29' not found")
    assert "GLIBCXX_3.4.29" in text(facts())


def test_the_command() -> None:
    run = [sys.executable, "-m", "hybrid.native"]
    done = subprocess.run([*run, "--json"], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) == {"levels", "level", "threads", "memory", "kernels", "why_not"}
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout.startswith("compiled part")


def test_absence_is_mentioned_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    absent(monkeypatch)
    with caplog.at_level(logging.WARNING):
        native.warn_not_compiled()
        native.warn_not_compiled()
    (record,) = caplog.records
    assert "without its compiled part" in record.getMessage() and "python -m hybrid.native" in record.getMessage()


@pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")
def test_nothing_is_said_when_it_was_put_aside(caplog: pytest.LogCaptureFixture) -> None:
    before = native.use(None)
    try:
        native.warn_not_compiled()
    finally:
        native.use(before)
    assert not caplog.records


def test_without_it_everything_is_as_in_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    absent(monkeypatch)
    native.set_num_threads(3)
    native.set_memory_bound(1 << 20)
    native.release_memory()
    assert native.threads() == 1 and native.level() is None
    assert native.memory_stats() == {"allocated": 0, "cached": 0, "peak": 0, "bound": 0, "hits": 0, "misses": 0}
    made = native.empty((2, 3), np.dtype("float64"))
    assert made.shape == (2, 3) and made.dtype == np.float64
    with pytest.raises(ValueError, match="got 'x86-64-v3', wanted None or one of no level at all"):
        native.use("x86-64-v3")


@pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")
def test_levels_that_there_are_not() -> None:
    before = native.level()
    for wrong in ("avx9000", "", "None"):
        with pytest.raises(ValueError, match=f"got '{wrong}', wanted None or one of {', '.join(native.LEVELS)}"):
            native.use(wrong)
    assert native.level() == before
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="wanted 1 or more"):
            native.set_num_threads(wrong)
    with pytest.raises(ValueError, match="wanted 0"):
        native.set_memory_bound(-1)


@pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")
def test_kernels_for_none_of_the_levels_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert native.why_not() is None
    levels = native.LEVELS
    monkeypatch.setattr(native, "LEVELS", ())
    said = str(native.why_not())
    compiled, _, has = said.partition("), and this CPU has ")
    assert compiled.startswith("its kernels are for CPUs of other levels (") and {*levels} <= {
        *has.partition(";")[0].split(", ")
    }
    assert {*levels} <= {*compiled.partition("(")[2].split(", ")} and "LEVELS=all" in said


@pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")
def test_on_a_lesser_machine_numpy_does_everything(tmp_path: Path) -> None:
    """As where a container that was built for one CPU runs on an older one: a message, and the same numbers."""
    folder = Path(native.__file__).parent
    shutil.copytree(
        folder.parent, tmp_path / "hybrid", ignore=shutil.ignore_patterns("_kernels_*", "src", "__pycache__")
    )
    (tmp_path / "hybrid" / "native" / f"_kernels_v9{native.files()[1].suffix}").touch()
    program = """if True:
        import logging
        logging.basicConfig(format="%(message)s")
        import hybrid as mx
        from hybrid import native
        assert native.LEVELS == () and native.level() is None
        native.warn_not_compiled()
        print((mx.nd.array([1, -2, 3]) * 2).asnumpy().tolist())"""
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout == "[2.0, -4.0, 6.0]\n"
    assert "its kernels are for CPUs of other levels (v9), and this CPU has " in run.stderr
    assert "install gluonnx on this machine" in run.stderr


def test_a_checkout_that_hides_what_is_compiled_says_so(tmp_path: Path) -> None:
    """As where a program is run in the checkout and not where gluonnx was installed: nobody lacks a compiler there."""
    bare = shutil.ignore_patterns("*.so", "*.pyd", "src", "__pycache__")
    shutil.copytree(Path(native.__file__).parent.parent, tmp_path / "clone" / "hybrid", ignore=bare)
    installed = tmp_path / "site" / "hybrid" / "native"
    installed.mkdir(parents=True)
    run = [sys.executable, "-m", "hybrid.native"]
    told = {"cwd": tmp_path / "clone", "env": {**os.environ, "PYTHONPATH": str(tmp_path / "site")}}
    before = subprocess.run(run, capture_output=True, text=True, check=True, **told).stdout
    assert "not compiled" in before and str(tmp_path / "site") not in before
    (installed / f"_core{importlib.machinery.EXTENSION_SUFFIXES[0]}").touch()
    said = subprocess.run(run, capture_output=True, text=True, check=True, **told).stdout
    assert str(tmp_path / "clone" / "hybrid") in said and f"compiled in {tmp_path / 'site'}" in said
    assert "Work in another folder" in said and "PYTHONSAFEPATH=1" in said and "C++ compiler" not in said
