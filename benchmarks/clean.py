"""CPU time of onnxruntime on files as they are written, beside the same network with nothing folded or left out (``--keep-graph``).

    python benchmarks/clean.py [NAME ...] [--turns 5] [--seconds 1] [--without PASS ...]

Each session is a process of its own with one thread, and they come in turns: kept, clean, kept, ... What counts is the CPU time of
a call, the least of each turn's blocks, and of a ratio the median over the turns: on a machine that others use too, wall time says
little. NAME: of the model zoo as in benchmarks/networks.py (at 224 pixels), or of a folder of fixtures/models. ``--without`` leaves
a pass of converters/passes out, to see what one of them costs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]
USUAL = (
    "resnet18_v1", "resnet50_v2", "mobilenet1.0", "mobilenetv2_1.0", "densenet121", "squeezenet1.1", "bert_base", "lstm",
    "mobilenet_v2", "mobilenet_v3", "resnet_v2", "bert_pretraining", "transformer_encoder", "vision_transformer", "ssd", "yolo",
)  # fmt: skip
"""Networks that are measured where none is named."""


def child(path: str, inputs: str, seconds: float) -> None:
    """Run a file with one thread, and print the least CPU time of a call, in microseconds."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(path, options, ["CPUExecutionProvider"])
    with np.load(inputs) as stored:
        feeds = {i.name: stored[i.name] for i in session.get_inputs()}
    names = [o.name for o in session.get_outputs()]
    start = time.process_time()
    session.run(names, feeds)
    session.run(names, feeds)
    count = max(1, int(0.05 * 2 / max(time.process_time() - start, 1e-6)))
    blocks = []
    end = time.process_time() + seconds
    while time.process_time() < end or len(blocks) < 3:
        start = time.process_time()
        for _ in range(count):
            session.run(names, feeds)
        blocks.append((time.process_time() - start) / count)
    print(min(blocks) * 1e6)


def source(name: str, scratch: Path) -> tuple[str, dict[str, np.ndarray]]:
    """The prefix of a network, and inputs for it."""
    from networks import NETWORKS, Network, folder, picture, prepare, zoo

    fixture = ROOT / "fixtures" / "models" / name
    if not fixture.is_dir():
        network = NETWORKS.get(name) or Network(name, zoo(name), picture(224))
        return str(prepare(network, 1, folder())[0]), network.inputs(1)

    with np.load(fixture / "inputs.npz") as stored:
        return str(fixture / "model"), {n: stored[n] for n in stored.files}


@contextlib.contextmanager
def without(names: list[str]) -> Iterator[None]:
    """The passes that are left out, for the time of a conversion."""
    from converters import passes

    unknown = set(names) - {p.__name__ for p in passes.PASSES}
    if unknown:
        raise SystemExit(
            f"no such pass: {', '.join(unknown)}; there are {', '.join(p.__name__ for p in passes.PASSES)}"
        )
    with mock.patch.object(passes, "PASSES", tuple(p for p in passes.PASSES if p.__name__ not in names)):
        yield


def measure(name: str, turns: int, seconds: float, left_out: list[str], scratch: Path) -> dict[str, Any]:
    """Times of both files, in microseconds, and what they consist of."""
    from dataclasses import replace

    import bridge
    from converters.forms import USUAL

    prefix, arrays = source(name, scratch)
    files, nodes = {}, {}
    for kind, forms in (("kept", replace(USUAL, keep_graph=True)), ("clean", USUAL)):
        files[kind] = scratch / f"{name}-{kind}.onnx"
        with without(left_out if kind == "clean" else []):
            found = bridge.convert(prefix, inputs=arrays, output=files[kind], forms=forms, verify=False)
        nodes[kind] = Counter(found.operators)
    np.savez(scratch / "inputs.npz", **arrays)
    times: dict[str, list[float]] = {kind: [] for kind in files}
    for turn in range(turns):
        for kind in list(files)[:: 1 if turn % 2 else -1]:
            words = [sys.executable, __file__, "--child", str(files[kind]), str(scratch / "inputs.npz"), str(seconds)]
            times[kind].append(float(subprocess.run(words, check=True, capture_output=True, text=True).stdout))
    ratios = [c / k for k, c in zip(times["kept"], times["clean"])]
    return {
        "network": name,
        "kept": min(times["kept"]),
        "clean": min(times["clean"]),
        "ratio": statistics.median(ratios),
        "spread": [min(ratios), max(ratios)],
        "nodes": {kind: sum(n.values()) for kind, n in nodes.items()},
    }


def main() -> None:
    """Measure, and print a line for each network."""
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], float(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(USUAL))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of CPU time of a turn")
    parser.add_argument("--without", action="append", default=[], metavar="PASS")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not options.json:
        print(
            "| network | nodes kept | clean | kept, us | clean, us | clean / kept | over turns |\n|---|--:|--:|--:|--:|--:|--:|"
        )
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names:
            found = measure(name, options.turns, options.seconds, options.without, Path(folder))
            if options.json:
                print(json.dumps(found), flush=True)
                continue
            low, high = found["spread"]
            kept, clean = found["nodes"].values()
            print(
                f"| {name} | {kept} | {clean} | {found['kept']:.0f} | {found['clean']:.0f} | {found['ratio']:.3f} | "
                f"{low:.3f} to {high:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
