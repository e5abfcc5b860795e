"""MXNet 1.9.1's own exporter (`mx.onnx.export_model`) over the networks of fixtures/models.

    python benchmarks/exporter.py MXNET_PYTHON [--only TEXT] [--json [FILE]]

MXNET_PYTHON: an interpreter with mxnet 1.9.1, numpy 1.23.5, onnx and onnxruntime of its time (1.14 and 1.16). Each network is
exported in a process of its own with the recorded shapes, the file is run by onnxruntime on the recorded inputs, and what it
gives is held against what MXNet gave (the bounds of tests/models). Prints a line a network and the counts: right, wrong (a file
appeared and its numbers, shapes or outputs are others), not loaded (onnxruntime refuses the file), refused, crashed."""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tests.models.networks import Network, agree, networks

EXPORT = """
import json, sys
import numpy as np, mxnet as mx, onnxruntime
folder, file = sys.argv[1:]
given = dict(np.load(folder + "/inputs.npz"))
symbol, arguments, states = mx.model.load_checkpoint(folder + "/model", 0)
names = [n for n in symbol.list_inputs() if n in given]
shapes, types = [given[n].shape for n in names], [given[n].dtype.type for n in names]
mx.onnx.export_model(folder + "/model-symbol.json", folder + "/model-0000.params", shapes, types, file)
print("EXPORTED", flush=True)
session = onnxruntime.InferenceSession(file)
feeds = {i.name: given[i.name] for i in session.get_inputs()}
out = dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))
np.savez(file + ".npz", **out)
print("RAN", flush=True)
"""


def judged(python: str, network: Network, folder: Path) -> tuple[str, str]:
    """(outcome, what was said) of one network."""
    file = folder / f"{network.name}.onnx"
    command = [python, "-W", "ignore", "-c", EXPORT, str(network.folder), str(file)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)
    except subprocess.TimeoutExpired:
        return "crashed", "not through after 300 s"
    last = (done.stderr.strip().splitlines() or [""])[-1][:120]
    if "RAN" in done.stdout:
        with np.load(f"{file}.npz") as stored:
            got = {k: stored[k] for k in stored.files}
        try:
            agree(got, network.runs()[0][1], network.limit)
        except AssertionError as error:
            return "wrong", " ".join(str(error).split())[:120]
        return "right", ""
    if "EXPORTED" in done.stdout:
        return "not loaded", last
    return ("crashed" if done.returncode < 0 else "refused"), last


def main() -> None:
    """Export all networks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("python", metavar="MXNET_PYTHON")
    parser.add_argument("--only", default="")
    parser.add_argument("--json", nargs="?", const="-", metavar="FILE", help="to a file, or printed")
    arguments = parser.parse_args()
    shown = sys.stderr if arguments.json == "-" else sys.stdout
    counts: collections.Counter[str] = collections.Counter()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for network in networks():
            if arguments.only not in network.name:
                continue
            start = time.perf_counter()
            outcome, said = judged(arguments.python, network, Path(folder))
            counts[outcome] += 1
            lines.append({"network": network.name, "outcome": outcome, "said": said})
            took = time.perf_counter() - start
            print(f"{network.name}: {outcome} ({took:.1f} s) {said}", file=shown, flush=True)
    print(", ".join(f"{n} {outcome}" for outcome, n in counts.most_common()), file=shown)
    if arguments.json == "-":
        print(json.dumps(lines))
    elif arguments.json:
        Path(arguments.json).write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
