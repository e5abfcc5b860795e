"""Many small models converted one after the other and by workers: time, processor time, memory, and whether files are the same.

python benchmarks/many.py [--models 1000] [--on none,local:2] [--json]

Models are made from a few of fixtures/models by other weights (tests/many/making.py). Each way is one ``gluonnx convert LIST -o
DIR`` in a process of its own. ``cpu`` is the processor time of all its processes, which other work on the machine does not add to,
as it does to ``wall``; ``memory`` is the largest sum of what they hold, with shared pages counted once (Linux, looked at twice a
second)."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bridge.many.children import taken_by  # noqa: E402
from tests.many.making import make_models  # noqa: E402


def measure(folder: Path, on: str) -> dict[str, Any]:
    """Convert the list in a folder. on: as --on has it, or none."""
    out = f"out-{on.replace(':', '-').replace('/', '-')}"
    words = [sys.executable, "-m", "bridge", "convert", "list.txt", "-o", out, "--json"]
    words += [] if on == "none" else ["--on", on]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with (folder / f"{out}.json").open("wb") as said:
        process = subprocess.Popen(words, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=said)
        most = 0
        while process.poll() is None:
            most = max(most, taken_by(process.pid))  # by shares
            time.sleep(0.5)
    wall = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = json.loads((folder / f"{out}.json").read_text())
    if process.returncode:
        raise SystemExit(f"{' '.join(words)}: {told.get('error') or [m for m in told['models'] if m['exit']]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    files = {f["name"]: f["sha256"] for m in told["models"] for f in m["files"]}
    return {"wall": wall, "work": told["seconds"], "cpu": cpu, "memory": most, "files": files}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--on", default="none,local:2")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report: dict[str, Any] = {"models": options.models, "load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "list.txt").write_text("\n".join(make_models(folder, options.models)), encoding="utf-8")
        first: dict[str, str] = {}
        print(f"{options.models} models; load of the machine before it: {report['load']:.1f}", flush=True)
        for on in options.on.split(","):
            found = measure(folder, on)
            files = found.pop("files")
            first = first or files
            found["same"] = files == first
            report[on] = found
            print(
                f"  {on:8} {found['wall']:7.1f} s wall ({found['work']:.1f} s of it at models)   {found['cpu']:7.1f} s cpu   "
                f"{found['memory'] / 2**20:6.0f} MiB   {'the same files' if found['same'] else 'OTHER FILES'}",
                flush=True,
            )
    if options.json:
        print(json.dumps(report))


if __name__ == "__main__":
    main()
