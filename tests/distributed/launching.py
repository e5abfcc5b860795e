"""Programs run by ``mpirun -n N python -m hybrid``, with the mpirun that the machine or its packages have."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.docs import ROOT

PROGRAMS = Path(__file__).parent / "programs"


def mpirun() -> str | None:
    """The path of it: beside this Python, or on the path."""
    beside = Path(sys.executable).parent / "mpirun"
    return str(beside) if beside.exists() else shutil.which("mpirun")


needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or mpirun() is None,
    reason="needs mpi4py and mpirun: pip install mpi4py mpich",
)


def environment(**more: str) -> dict[str, str]:
    """As little threads as there are, this project, and MPIs that run as whoever runs the tests."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        **more,
    }


def command(ranks: int, program: str | Path, *arguments: object) -> list[str]:
    """The words that start a program of tests/distributed/programs in so many ranks; 0 is without mpirun."""
    start = [] if ranks == 0 else [str(mpirun()), "-n", str(ranks)]
    return [*start, sys.executable, "-m", "hybrid", str(PROGRAMS / program), *map(str, arguments)]


def run(
    ranks: int, program: str | Path, *arguments: object, timeout: float = 120, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run it to its end, good or bad, which has to come in ``timeout`` seconds."""
    return subprocess.run(
        command(ranks, program, *arguments),
        env=environment(**more),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def succeed(ranks: int, program: str | Path, *arguments: object, **more: str) -> str:
    """Run it, and give what it printed. Raises AssertionError, with all it said, unless it ended well."""
    ended = run(ranks, program, *arguments, **more)
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    return ended.stdout
