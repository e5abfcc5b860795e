"""Runs a client's modules, tests and job in the side environment, on one engine."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

from .table import Client

HERE = Path(__file__).resolve().parent
ENGINES = ("ours", "real")
PASSED = "passed"
TEST = 60
"""Seconds that one test may take."""


def python(folder: Path) -> Path:
    """The interpreter of a side environment."""
    return folder / "bin" / "python"


def launched(folder: Path, engine: str, arguments: list[str], cwd: str, seconds: float) -> str | None:
    """Output of the program, errors too; None when it took longer."""
    environment = {**os.environ, "DGLBACKEND": "mxnet", "KERAS_BACKEND": "mxnet", "MPLBACKEND": "agg", "PYTHONPATH": ""}
    with tempfile.TemporaryDirectory() as only:
        if engine == "ours":  # hybrid alone: the checkout has a package `tests`, and so have clients
            (Path(only) / "hybrid").symlink_to(HERE.parent.parent / "hybrid")
            environment["PYTHONPATH"] = only
        command = [str(python(folder)), str(HERE / "launch.py"), engine, *arguments]
        try:
            done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return None
    return done.stdout + done.stderr


def modules(client: Client, folder: Path, engine: str) -> dict:
    """Number of submodules, and those that do not import with the reason."""
    with tempfile.TemporaryDirectory() as cwd:
        text = launched(folder, engine, [str(HERE / "imports.py"), client.package], cwd, 300)
    for line in (text or "").splitlines():
        if line.startswith("RESULT "):
            return json.loads(line.removeprefix("RESULT "))
    return {"modules": 0, "failed": {client.package: "took too long" if text is None else text[-200:]}}


def verdicts(report: Path) -> dict[str, str]:
    """Test by test what a report of pytest says: passed, skipped or what was raised."""
    found: dict[str, str] = {}
    if not report.exists():
        return found
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        bad = [part for part in case if part.tag in ("failure", "error")]
        if bad:
            found[name] = (bad[0].get("message") or "failed")[:200]
        else:
            found[name] = PASSED if case.find("skipped") is None else "skipped"
    return found


def tests(client: Client, folder: Path, engine: str, only: set[str] | None = None) -> dict[str, str]:
    """Verdicts of the client's own tests, a file at a time; ``only`` names the files."""
    found: dict[str, str] = {}
    source = folder / "src" / client.source
    for path in sorted({p for pattern in client.tests for p in source.glob(pattern)}):
        name = str(path.relative_to(source))
        if only is not None and name not in only:
            continue
        with tempfile.TemporaryDirectory() as out:
            report = Path(out) / "report.xml"
            options = ["-m", "pytest", "-q", f"--junit-xml={report}", "-p", "no:cacheprovider"]
            # a file that takes too long says what has passed by then; one that does not end is killed
            options += [f"--timeout={TEST}", f"--session-timeout={client.seconds}"]
            # no pytest.ini: those of the clients ask for plugins, and make errors of what Python 3.11 warns of
            options += ["-c", os.devnull, f"--rootdir={source}", "-o", f"pythonpath={client.path}", name]
            launched(folder, engine, options, str(source), client.seconds + 2 * TEST)
            found |= {f"{name} {case}": verdict for case, verdict in verdicts(report).items()}
    return found


def numbers(text: str | None) -> list[tuple[str, list[float]]]:
    """Numbers that a job reported, in its order."""
    rows = [line.removeprefix("NUMBER ").split(" ") for line in (text or "").splitlines() if line.startswith("NUMBER ")]
    found: list[tuple[str, list[float]]] = []
    times: Counter[str] = Counter()
    for row in rows:
        values = [i for i, word in enumerate(row) if _is_number(word)]
        first = values[0] if values else len(row)
        name = " ".join(row[:first])
        times[name] += 1  # one that is said again is another number
        found.append((name if times[name] == 1 else f"{name} ({times[name]})", [float(v) for v in row[first:]]))
    return found


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def job(client: Client, folder: Path, engine: str) -> dict:
    """The numbers of the client's job, and what it raised, if so."""
    assert client.job is not None
    with tempfile.TemporaryDirectory() as cwd:
        program = (
            Path(cwd) / f"job_{client.package.replace('.', '_')}.py"
        )  # a file called keras.py would be imported for keras
        program.write_text(client.job.read_text())
        text = launched(folder, engine, [str(program)], cwd, 600)
    failed = "took too long" if text is None else text.strip().splitlines()[-1][:200] if "Traceback" in text else ""
    return {"numbers": numbers(text), "failed": failed}


def differing(left: list, right: list, tolerance: float = 1e-3) -> list[str]:
    """Names of the numbers that are not the same on both sides, to ``tolerance`` relative and a hundredth of it absolute."""
    mine, theirs = dict(left), dict(right)
    return [
        name
        for name in {**theirs, **mine}
        if len(mine.get(name, ())) != len(theirs.get(name, (math.nan, math.nan)))
        or not all(
            math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance / 100)
            for a, b in zip(mine[name], theirs[name], strict=True)
        )
    ]
