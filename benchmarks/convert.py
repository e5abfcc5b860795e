"""Time and memory that converting takes, beside writing the same bytes with NumPy.

    python benchmarks/convert.py PREFIX[:NAME=D1,D2,...] ... [--repeats N] [--json]

PREFIX-symbol.json and the newest PREFIX-NNNN.params are converted; inputs are named when the model cannot tell their
shapes (``resnet50:data=1,3,224,224``). Everything is timed in fresh processes, in turns, so that the machine's moods
fall on all alike: ``write`` is NumPy writing bytes that it holds in memory to a new file, as many as the parameter file has;
``convert`` and ``verified`` are bridge.convert without and with verification, reading included, imports left out
(``start`` is what those cost). Medians in seconds, and ratios to ``write``. Peak memory is what the process's largest
resident size exceeds that of a process that only imports, as megabytes and as a multiple of the parameter file.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("write", "convert", "verified")


def child(kind: str, prefix: str, inputs: dict[str, tuple[int, ...]], target: Path) -> dict[str, float]:
    """Seconds and peak resident bytes of one job in this process."""
    import resource
    import time

    began = time.perf_counter()
    import numpy as np

    import bridge

    ready = time.perf_counter()
    if kind == "write":
        array = np.fromfile(newest_params(prefix), np.uint8)
        ready = time.perf_counter()
        with target.open("wb") as file:
            array.tofile(file)
    elif kind != "start":
        bridge.convert(prefix, inputs=inputs, output=target, verify=kind == "verified")
    done = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return {"start": ready - began, "seconds": done - ready, "peak": peak}


def newest_params(prefix: str) -> Path:
    """The parameter file with the highest epoch."""
    path = Path(prefix)
    return max(path.parent.glob(f"{path.name}-[0-9][0-9][0-9][0-9].params"))


def measure(model: str, repeats: int) -> dict[str, Any]:
    """All numbers of one model."""
    prefix, _, text = model.partition(":")
    inputs = {n: tuple(map(int, d.split(","))) for n, d in (part.split("=") for part in text.split(":") if part)}
    size = newest_params(prefix).stat().st_size
    seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
    start: list[float] = []
    peaks = dict.fromkeys((*KINDS, "start"), 0.0)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeats):
            for kind in ("start", *KINDS):
                target = Path(folder) / f"{kind}.onnx"
                command = [sys.executable, __file__, "--child", json.dumps([kind, prefix, inputs, str(target)])]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                result = json.loads(done.stdout)
                peaks[kind] = max(peaks[kind], result["peak"])
                start.append(result["start"])
                if kind in seconds:
                    seconds[kind].append(result["seconds"])
                for made in Path(folder).iterdir():
                    made.unlink()
    median = {kind: statistics.median(times) for kind, times in seconds.items()}
    extra = {kind: max(0.0, peaks[kind] - peaks["start"]) for kind in KINDS}
    return {
        "model": prefix,
        "bytes": size,
        "seconds": {kind: round(value, 4) for kind, value in median.items()},
        "start": round(statistics.median(start), 4),
        "ratio": {kind: round(median[kind] / median["write"], 2) for kind in KINDS[1:]},
        "peak_bytes": {kind: int(value) for kind, value in extra.items()},
        "peak_ratio": {kind: round(value / size, 2) for kind, value in extra.items()},
        "repeats": repeats,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="PREFIX[:NAME=D1,D2,...]")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        sys.path.insert(0, str(ROOT))
        kind, prefix, inputs, target = json.loads(args.child)
        print(json.dumps(child(kind, prefix, {k: tuple(v) for k, v in inputs.items()}, Path(target))))
        return
    if not args.models:
        parser.error("name at least one PREFIX")
    if not args.json:
        print(
            f"{'model':32} {'MB':>7} {'write s':>8} {'convert s':>10} {'verified s':>11}  convert/write  peak MB  peak/params"
        )
    for model in args.models:
        row = measure(model, args.repeats)
        if args.json:
            print(json.dumps(row))
            continue
        seconds, peak = row["seconds"], row["peak_bytes"]["convert"]
        print(
            f"{row['model'][-32:]:32} {row['bytes'] / 1e6:7.1f} {seconds['write']:8.3f} {seconds['convert']:10.3f} "
            f"{seconds['verified']:11.3f}  {row['ratio']['convert']:13.2f} {peak / 1e6:8.1f} {row['peak_ratio']['convert']:12.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
