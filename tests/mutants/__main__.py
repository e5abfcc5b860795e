"""Plant faults one after the other in a copy of the checkout and see whether tests of the quick set fail.

    python -m tests.mutants                        every fault
    python -m tests.mutants --only passes clip     those whose area or name holds one of these words
    python -m tests.mutants --whole                survivors of the tests named beside a fault meet the whole quick set
    python -m tests.mutants --json                 one line of JSON per fault

A fault in C++ needs a compiler, nanobind, cmake and ninja, and is compiled for the best CPU level of this machine alone. Exit
status: 0 when every fault was caught, by tests that hold without any, else 1."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.docs import ROOT

from .faults import FAULTS, Fault

SECONDS = 900  # after which tests count as hanging, which is noticing


def copied(to: Path) -> Path:
    """A copy of what git knows of the checkout, with the compiled libraries beside it."""
    names = (
        subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    )
    libraries = [str(p.relative_to(ROOT)) for p in (ROOT / "hybrid" / "native").glob("*.so")]
    for name in filter(None, (*names, *libraries)):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    return to


def compiled(tree: Path, build: Path) -> None:
    """Compile the tree's C++ into it. Raises CalledProcessError."""
    from hybrid import native

    level = native.level() or "plain"
    quiet = {"check": True, "capture_output": True}
    if not (build / "CMakeCache.txt").exists():
        options = [
            f"-DPython_EXECUTABLE={sys.executable}",
            f"-DLEVELS={level}",
            "-DINPLACE=ON",
            f"-DCMAKE_INSTALL_PREFIX={build / 'out'}",
        ]
        if shutil.which("ccache"):
            options += ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache", "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON"]
        subprocess.run(["cmake", "-S", tree, "-B", build, "-G", "Ninja", *options], **quiet)
    subprocess.run(["cmake", "--build", build], **quiet)
    subprocess.run(["cmake", "--install", build], **quiet)


@contextlib.contextmanager
def planted(fault: Fault, tree: Path, build: Path) -> Iterator[None]:
    """The tree with the fault in it."""
    path = tree / fault.file
    before = path.read_text()
    path.write_text(fault.plant(before))
    try:
        if fault.is_native:
            compiled(tree, build)
        yield
    finally:
        path.write_text(before)


def tested(tree: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """pytest with these arguments in the tree. Raises ValueError when they name no test, TimeoutExpired."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    options = ["-q", "-p", "no:cacheprovider", "--no-header", "--hypothesis-profile=brief"]
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    done = subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise ValueError(f"{' '.join(arguments)} names no test: {done.stdout[-500:]}{done.stderr[-500:]}")
    return done


def failed(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Lines of pytest about the tests that failed, one each."""
    return [x for x in done.stdout.splitlines() if x.startswith(("FAILED", "ERROR"))]


def noticed(tree: Path, arguments: list[str]) -> str:
    """The first test that fails, or nothing. Raises ValueError when the arguments name no test."""
    try:
        done = tested(tree, ["-x", *arguments])
    except subprocess.TimeoutExpired:
        return "hangs"
    if done.returncode == 0:
        return ""
    return next(iter(failed(done)), f"exit status {done.returncode}")


def red(tree: Path, noticing: list[str]) -> list[str]:
    """Those of the tests that noticed a fault which fail without any, too: they say nothing of the faults."""
    tests = sorted({by.partition(" ")[2].partition(" - ")[0] for by in noticing if "::" in by})
    return failed(tested(tree, tests)) if tests else []


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    chosen = [f for f in FAULTS if not asked.only or any(w in f"{f.area} {f.name} {f.file}" for w in asked.only)]
    survivors, noticing = [], []
    asked_git = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(asked_git, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree, build = copied(Path(folder) / "tree"), Path(folder) / "build"
        libraries = {p: p.read_bytes() for p in (tree / "hybrid" / "native").glob("*.so")}
        for fault in chosen:
            start = time.monotonic()
            with planted(fault, tree, build):
                by = noticed(tree, fault.arguments)
                if not by and asked.whole:
                    by = noticed(tree, ["-n", "2"])
            for path, held in libraries.items() if fault.is_native else ():
                path.write_bytes(held)
                os.utime(path, (0, 0))  # cmake leaves a file alone that is less than a second older than its own
            noticing.append(by)
            survivors += [] if by else [fault]
            row = {
                "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "commit": commit,
                "area": fault.area,
                "name": fault.name,
                "caught": bool(by),
                "by": by,
                "seconds": round(time.monotonic() - start),
            }
            print(
                json.dumps(row)
                if asked.json
                else f"{'caught' if by else 'SURVIVED':9}{fault.area:12}{fault.name}: {by}",
                flush=True,
            )
        wrong = red(tree, noticing)
    if wrong:
        print(
            "These fail without a fault too, and what they noticed counts for nothing:",
            *wrong,
            sep="\n",
            file=sys.stderr,
        )
    if not asked.json:
        print(f"{len(chosen) - len(survivors)} of {len(chosen)} caught")
    return 1 if survivors or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
