"""Time that reading an ONNX model takes: for chains of nodes, and for large weights beside onnx.load.

python benchmarks/importing.py [--nodes 1000,10000,20000] [--megabytes 500] [--repeats N] [--json]

``chain`` is a model of that many nodes (matrix products, sums, activations, and reshapes whose shape is computed from
a dynamic batch, as torch writes them) in memory, read by converters.importer.import_model: seconds, and microseconds
a node, which have to stay the same. ``weights`` is a file of that many megabytes of float32 weights: seconds of
onnx.load and of import_model (which maps the file and copies no weight that lies aligned), each in fresh processes in
turns, imports left out, and the peak memory that each adds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 8


def chain(count: int) -> onnx.ModelProto:
    """A model of that many nodes."""
    stored = {
        "weight": np.eye(WIDTH, dtype=np.float32),
        "bias": np.ones(WIDTH, np.float32),
        "zero": np.array(0),
        "axes": np.array([0]),
        "rest": np.array([-1]),
    }
    nodes: list[onnx.NodeProto] = []
    last = "data"

    def add(op_type: str, *inputs: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(op_type, inputs, [f"t{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    while len(nodes) < count:
        last = add("Relu", add("Add", add("MatMul", last, "weight"), "bias"))
        size = add("Unsqueeze", add("Gather", add("Shape", last), "zero"), "axes")
        last = add("Reshape", last, add("Concat", size, "rest", axis=0))
    inputs = [helper.make_tensor_value_info("data", TensorProto.FLOAT, ["batch", WIDTH])]
    outputs = [helper.make_empty_tensor_value_info(last)]
    graph = helper.make_graph(
        nodes, "chain", inputs, outputs, [numpy_helper.from_array(v, k) for k, v in stored.items()]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def heavy(megabytes: int, path: Path) -> None:
    """Write a file of that many megabytes of weights."""
    each = 2048
    count = max(1, megabytes * 2**20 // (each * each * 4))
    weights = [numpy_helper.from_array(np.full((each, each), i, np.float32), f"weight{i}") for i in range(count)]
    nodes = [helper.make_node("MatMul", [f"t{i}", f"weight{i}"], [f"t{i + 1}"]) for i in range(count)]
    inputs = [helper.make_tensor_value_info("t0", TensorProto.FLOAT, ["batch", each])]
    graph = helper.make_graph(nodes, "heavy", inputs, [helper.make_empty_tensor_value_info(f"t{count}")], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def child(kind: str, path: str) -> dict[str, float]:
    """Seconds and added peak bytes of reading a file in this process; or the file is written, so that the parent
    process, whose peak its children inherit, stays small."""
    import resource

    if kind.isdigit():
        heavy(int(kind), Path(path))
        return {}

    from converters.importer import import_model

    unit = 1 if sys.platform == "darwin" else 1024
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    _held = onnx.load(path) if kind == "load" else import_model(path)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "peak": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit}


def chains(counts: list[int], repeats: int) -> list[dict[str, float]]:
    """Seconds by number of nodes."""
    from converters.importer import import_model

    import_model(chain(100))  # what is done once a process
    rows = []
    for count in counts:
        model, times = chain(count), []
        for _ in range(repeats):
            began = time.perf_counter()
            import_model(model)
            times.append(time.perf_counter() - began)
        best = statistics.median(times)
        rows.append({"nodes": len(model.graph.node), "seconds": best, "each": best / len(model.graph.node)})
    return rows


def weights(megabytes: int, repeats: int) -> dict[str, float]:
    """Seconds and peak memory of onnx.load and of importing."""
    found: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "heavy.onnx"
        for kind in (str(megabytes), *["load", "import"] * repeats):
            command = [sys.executable, __file__, "--child", kind, str(path)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
            found.setdefault(kind, []).append(json.loads(done.stdout))
    out = {"megabytes": float(megabytes)}
    for kind in ("load", "import"):
        rows = found[kind]
        out[kind] = statistics.median(r["seconds"] for r in rows)
        out[f"{kind}_peak"] = statistics.median(r["peak"] for r in rows) / 2**20
    return out


def main() -> None:
    """Print a table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="1000,10000,20000")
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(child(*arguments.child)))
        return
    result: dict[str, Any] = {"chain": chains([int(n) for n in arguments.nodes.split(",")], arguments.repeats)}
    if arguments.megabytes:
        result["weights"] = weights(arguments.megabytes, arguments.repeats)
    if arguments.json:
        print(json.dumps(result, indent=2))
        return
    for row in result["chain"]:
        print(f"chain of {row['nodes']:>6} nodes: {row['seconds']:7.3f} s, {row['each'] * 1e6:5.0f} us a node")
    if "weights" in result:
        row = result["weights"]
        print(
            f"{row['megabytes']:.0f} MB of weights: onnx.load {row['load']:.3f} s (+{row['load_peak']:.0f} MB), "
            f"import {row['import']:.3f} s (+{row['import_peak']:.0f} MB)"
        )


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
