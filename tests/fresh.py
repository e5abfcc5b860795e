"""Programs run by ``python -m hybrid`` in processes in which nothing has happened but the import of the engine, which takes longer
than most programs: copies of one process, which begins with the first program."""

from __future__ import annotations

import atexit
import functools
import json
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.house.docs import ROOT


@functools.cache
def _copied() -> subprocess.Popen[str]:
    """The process that is copied."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-m", "tests.fresh"]
    made = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(made.communicate)
    return made


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run ``python -m hybrid`` with these arguments in a folder, on one thread and without warnings."""
    process = _copied()
    assert process.stdin is not None and process.stdout is not None
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out, tempfile.TemporaryFile("w+", encoding="utf-8") as err:
        outputs = [f"/proc/{os.getpid()}/fd/{file.fileno()}" for file in (out, err)]
        process.stdin.write(json.dumps([arguments, str(folder), outputs]) + "\n")
        process.stdin.flush()
        status = int(process.stdout.readline())
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, status, out.read(), err.read())


def _serve() -> None:
    """Copy this process for each line of standard input, and print how the copy ended."""
    import hybrid  # noqa: F401

    for line in sys.stdin:
        arguments, folder, outputs = json.loads(line)
        copy = os.fork()
        if not copy:
            for number, path in enumerate(outputs, 1):
                os.dup2(os.open(path, os.O_WRONLY), number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.chdir(folder)
            sys.argv[1:] = arguments
            runpy.run_module("hybrid", run_name="__main__", alter_sys=True)
            sys.exit()
        print(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]), flush=True)


if __name__ == "__main__":
    _serve()
