"""Engines in processes of their own (benchmarks/worker.py), as benchmarks/engine.py talks to them."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

WORKER, COLD = (Path(__file__).with_name(f"{n}.py") for n in ("worker", "cold"))
BYTECODE = Path(tempfile.gettempdir()) / "gluonnx-bytecode"


class WorkerFailed(RuntimeError):
    """An engine failed; the message is its own."""


class Side:
    """An engine with its number of threads."""

    def __init__(self, kind: str, threads: int, python: str = sys.executable):
        self.kind = kind
        self._process = subprocess.Popen(
            [python, "-W", "ignore", str(WORKER), kind, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if kind == "mxnet" else None,
            text=True,
            env=_environment(threads),
        )

    def ready(self) -> None:
        """Wait until it has started."""
        self._answer()

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """The answer to one request. Raises WorkerFailed."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer says more
        return self._answer()

    def times(self, seconds: float) -> list[float]:
        """A block of calls (bridge/timing.py)."""
        return self.ask("run", seconds=seconds)["times"]

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise WorkerFailed(f"{self.kind} ended with status {self._process.wait()}")
        found = json.loads(line)
        if "error" in found:
            raise WorkerFailed(f"{self.kind}: {found['error']}")
        return found


def _environment(threads: int) -> dict[str, str]:
    """Variables of an engine's process."""
    told = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    told["PYTHONPYCACHEPREFIX"] = str(BYTECODE)  # modules are compiled once, as those of an installed package are
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | told


def cold(kind: str, threads: int, model: Path, inputs: str, times: int, *more: str) -> tuple[float, int]:
    """Seconds from the start of a process to the end of one that ran an ONNX file once, and the most bytes it held: the least of so
    many. Raises WorkerFailed."""
    command = [sys.executable, "-W", "ignore", str(COLD), kind, str(threads), str(model), inputs, *more]
    found = []
    for _ in range(times):
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, env=_environment(threads))
        seconds = time.perf_counter() - start
        if done.returncode:
            raise WorkerFailed(f"{kind}: {done.stderr}")
        found.append((seconds, int(done.stdout.split()[-1])))
    return min(s for s, _ in found), min(b for _, b in found)


@contextmanager
def sides(*wanted: tuple[str, int], **pythons: str | None) -> Iterator[dict[str, Side]]:
    """Sides by kind (``hybrid 2`` where one kind comes with several numbers of threads), started together.
    pythons: those of kinds that do not run in this one."""
    several = len({kind for kind, _ in wanted}) < len(wanted)
    with ExitStack() as stack:
        made = {}
        for kind, threads in wanted:
            side = Side(kind, threads, pythons.get(kind) or sys.executable)
            stack.callback(side.close)
            made[f"{kind} {threads}" if several else kind] = side
        for side in made.values():
            side.ready()
        yield made


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Other processes that want all they can get of the machine."""
    made = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in made:
            process.kill()
            process.wait()


def error(one: Sequence[np.ndarray], two: Sequence[np.ndarray]) -> float:
    """The largest difference of all outputs, relative to the largest number of each."""
    if [a.shape for a in one] != [b.shape for b in two]:
        return float("inf")
    worst = 0.0
    for a, b in zip(one, two):
        wide = np.abs(b.astype(np.float64))
        difference = np.abs(a.astype(np.float64) - b)
        found = float(difference.max(initial=0.0) / (wide.max(initial=0.0) or 1.0))
        worst = max(worst, found if np.isfinite(found) else float("inf"))
    return worst


def machine() -> dict[str, Any]:
    """Describe the machine and the versions of what is measured."""
    import onnxruntime

    from hybrid import native

    names = [
        line.partition(":")[2].strip()
        for line in (Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if sys.platform == "linux" else ())
        if line.startswith("model name")
    ]
    return {
        "cpu": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "level": native.level(),
        "kernels": len(native.kernels()),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "onnxruntime": onnxruntime.__version__,
    }
