"""CPU time of any graph: ours beside onnxruntime, and OpenVINO where it is installed, each in a process of its own.

    python benchmarks/breadth.py [--only TEXT] [--threads N] [--seconds S] [--rounds N] [--openvino] [--profile N] [--cold N]
                                 [--json]

Every network of fixtures/models (converted for the others) and of fixtures/onnx (imported for us) is called with the inputs
recorded for it: ``fixed`` with the first of them, ``changing`` with all in turns, where their sizes differ. Seconds are those of
the process's CPU, taken in turns, so that a busy machine disturbs little; a ratio is their seconds over ours, more is better.
What both compute is compared: more than 2 % of an output's scale apart is an error and the exit status 1, for the tests hold
them closer. ``host`` counts the steps that NumPy computes within the compiled program, ``all`` says that there is none.
With --cold: ``cold``, the seconds from the start of a process to its first result of the ONNX file, and ``peak``, the most bytes
that the process held; of the fastest, and the smallest, of N.
At the end: geometric means, how many are below 0.8, and the slowest.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))  # behind what is installed, which has the compiled part

import numpy as np  # noqa: E402
from sides import Side, WorkerFailed, cold, error, machine, sides  # noqa: E402

from bridge.timing import in_turns  # noqa: E402
from hybrid.core.shapes import is_known  # noqa: E402
from hybrid.ir.graph import Entry  # noqa: E402
from hybrid.ir.infer import infer  # noqa: E402
from hybrid.passes.strip_labels import label_names  # noqa: E402

LIMIT = 2e-2  # of an output's scale: whether it is the same network
WANTED, LEAST = 1.3, 0.8
OURS, THEIRS, OPENVINO = "hybrid", "onnxruntime", "openvino"

Row = dict[str, Any]
Arrays = dict[str, np.ndarray]


class Case(NamedTuple):
    """A graph on both sides."""

    name: str
    prefix: Path
    """Of the symbol and parameters that we load."""
    onnx: Path
    names: tuple[str, ...]
    """Inputs of the symbol, in the order of"""
    runs: list[Arrays]
    """those of the ONNX file, by name."""


def fixtures(only: str, scratch: Path) -> Iterator[Case | Row]:
    """The committed networks, or a row that says why one has nothing to compare."""
    import bridge
    from tests.models.networks import FOLDER, Network
    from tests.models.onnx_networks import onnx_networks

    for folder in sorted(FOLDER.iterdir()):
        if only not in folder.name or not (folder / "birth.json").exists():
            continue
        network = Network(folder.name, folder, json.loads((folder / "birth.json").read_text()))
        target = scratch / f"{network.name}.onnx"
        try:
            runs = [inputs for inputs, _ in network.runs()]
            if not runs:
                continue
            names = tuple(n for n in network.birth["inputs"] if n in runs[0])
            specs = {n: runs[0][n] for n in names}
            options: dict[str, Any] = {"dynamic": network.dynamic()} if network.dynamic() else {}
            bridge.convert(network.prefix, inputs=specs, output=target, verify=False, **options)
            runs = [_with_labels(network.prefix, {n: r[n] for n in names}) for r in runs]
            yield Case(network.name, Path(network.prefix), target, tuple(runs[0]), runs)
        except Exception as failed:  # one that cannot be measured is a row of the table
            yield {"name": network.name, "failed": f"{type(failed).__name__}: {failed}".splitlines()[0]}
    for network in onnx_networks():
        if only not in network.name:
            continue
        try:
            runs = [inputs for inputs, _ in network.runs()]
            if any(not isinstance(v, np.ndarray) or v.dtype == object for r in runs for v in r.values()):
                continue  # sequences and words are no arrays
            found = bridge.import_onnx(network.model, output=scratch / network.name, verify=False)
            runs = [{n: r[n] for n in found.inputs} for r in runs]
            yield Case(network.name, scratch / network.name, network.model, tuple(found.inputs), runs)
        except Exception as failed:
            yield {"name": network.name, "failed": f"{type(failed).__name__}: {failed}".splitlines()[0]}


def _with_labels(prefix: str, run: Arrays) -> Arrays:
    """The inputs, and zeros for the labels that loss heads take, which no output depends on."""
    import bridge

    model = bridge.open_model(prefix)
    assert model.graph is not None
    found = infer(model.graph, {n: a.shape for n, a in run.items()})
    labels = {
        n: found.spec(Entry(v)).shape for v in model.graph.variables() if (n := v.name) in {*label_names(model.graph)}
    }
    return run | {n: np.zeros(shape, np.float32) for n, shape in labels.items() if is_known(shape) and n not in run}


class Bench:
    """One run of the benchmark."""

    def __init__(self, options: argparse.Namespace, scratch: Path):
        self.options, self.scratch = options, scratch
        self.wrong: list[str] = []

    def measure(self, case: Case) -> Iterator[Row]:
        """Rows of one graph."""
        files = []
        for i, run in enumerate(case.runs):
            files.append(str(self.scratch / f"inputs{i}.npz"))
            np.savez(files[-1], **run)
        kinds = [OURS, THEIRS, *([OPENVINO] if self.options.openvino else [])]
        sizes = [tuple(a.shape for a in r.values()) for r in case.runs]
        modes = {"fixed": files[:1]} | ({"changing": files} if len({*sizes}) > 1 else {})
        with sides(*((k, self.options.threads) for k in kinds)) as engines:
            for mode, inputs in modes.items():
                row: Row = {"name": case.name, "mode": mode}
                results: dict[str, list[np.ndarray]] = {}
                live: dict[str, Side] = {}
                for kind, side in engines.items():
                    try:
                        target = self.scratch / f"{kind}.npz"
                        side.ask(
                            "load",
                            prefix=str(case.prefix),
                            onnx=str(case.onnx),
                            names=case.names,
                            inputs=inputs,
                            outputs=str(target),
                        )
                        with np.load(target) as stored:
                            results[kind] = [stored[n] for n in stored.files]
                        live[kind] = side
                    except WorkerFailed as failed:
                        row[f"failed {kind}"] = str(failed).strip().splitlines()[-1][:200]
                if OURS in live and len(live) > 1:
                    for kind in live:
                        if kind != OURS:
                            off = error(results[kind], results[OURS])
                            row.setdefault("error", {})[kind] = float(f"{off:.3g}")
                            if not off <= LIMIT:
                                self.wrong.append(f"{case.name}: differs from {kind} by {off:.2e}")
                    blocks = {
                        k: (lambda seconds, side=s: side.ask("run", seconds=seconds, cpu=True)["times"])
                        for k, s in live.items()
                    }
                    found = in_turns(blocks, self.options.seconds, self.options.rounds)
                    row["seconds"] = {k: float(f"{t.median:.4g}") for k, t in found.items()}
                    row["ratio"] = {k: round(found[k].median / found[OURS].median, 3) for k in live if k != OURS}
                    row |= self.profile(engines[OURS])
                if self.options.cold and mode == "fixed":
                    row |= self.cold(case, inputs[0])
                yield row

    def cold(self, case: Case, inputs: str) -> Row:
        """Seconds to the first result in a fresh process and its peak memory, of both."""
        row: Row = {}
        for kind in (OURS, THEIRS):
            try:
                seconds, peak = cold(kind, self.options.threads, case.onnx, inputs, self.options.cold)
            except WorkerFailed as failed:
                return {f"failed cold {kind}": str(failed).strip().splitlines()[-1][:200]}
            row.setdefault("cold", {})[kind] = round(seconds, 4)
            row.setdefault("peak", {})[kind] = peak
        return row

    def profile(self, side: Side) -> Row:
        """The number of steps of ours NumPy computes, and the slowest of all."""
        steps = side.ask("profile")["profile"]
        if steps is None:
            return {"host": "all"}
        found: Row = {"host": sum(not s["native"] for s in steps), "steps": len(steps)}
        if self.options.profile:
            found["profile"] = sorted(steps, key=lambda s: -s["seconds"])[: self.options.profile]
        return found


def line(row: Row) -> str:
    """A row as a person reads it."""
    parts = [f"{row['name']:<28}{row.get('mode', ''):<9}"]
    parts += [f"{k} {s * 1e6:9.1f} us" for k, s in row.get("seconds", {}).items()]
    parts += [f"| {k} {r:.2f}" for k, r in row.get("ratio", {}).items()]
    parts += [f"cold {k} {s:.3f} s" for k, s in row.get("cold", {}).items()]
    parts += [f"peak {k} {b >> 20} MB" for k, b in row.get("peak", {}).items()]
    parts += [f"host {row['host']}"] if row.get("host") else []
    parts += [f"{k}: {v}" for k, v in row.items() if k.startswith("failed")]
    for one in row.get("profile", []):
        parts.append(f"\n      {one['seconds'] * 1e6:9.1f} us {one['op']} {one['shape']} {one['how']}")
    return "  ".join(parts)


def summary(rows: list[Row]) -> Iterator[Row]:
    """Geometric means, by mode and engine."""
    for mode in ("fixed", "changing"):
        for kind in (THEIRS, OPENVINO):
            ratios = {r["name"]: r["ratio"][kind] for r in rows if r.get("mode") == mode and kind in r.get("ratio", {})}
            if ratios:
                yield {
                    "name": "geometric mean",
                    "mode": mode,
                    "against": kind,
                    "graphs": len(ratios),
                    "ratio": {kind: math.exp(statistics.fmean(map(math.log, ratios.values())))},
                    "below": sum(r < LEAST for r in ratios.values()),
                    "slowest": sorted(ratios.items(), key=lambda item: item[1])[:10],
                    "target": WANTED,
                }
    for what in ("cold", "peak"):
        ratios = [r[what][THEIRS] / r[what][OURS] for r in rows if what in r]
        if ratios:
            yield {
                "name": "geometric mean",
                "mode": what,
                "graphs": len(ratios),
                "ratio": {THEIRS: math.exp(statistics.fmean(map(math.log, ratios)))},
            }


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="graphs whose name holds this")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each engine on each graph")
    parser.add_argument("--rounds", type=int, default=3, help="in so many turns")
    parser.add_argument("--openvino", action="store_true", help="OpenVINO too")
    parser.add_argument("--profile", type=int, default=0, metavar="N", help="the N slowest steps of ours")
    parser.add_argument("--cold", type=int, default=0, metavar="N", help="start to first result, in N fresh processes")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    print(json.dumps({"machine": machine()}) if options.json else machine())
    rows = []

    def show(row: Row) -> None:
        text = line(row)
        if "below" in row:
            text += (
                f" of {row['graphs']} graphs, {row['below']} below {LEAST}, wanted {WANTED}; slowest: {row['slowest']}"
            )
        print(json.dumps(row) if options.json else text, flush=True)

    with tempfile.TemporaryDirectory(prefix="gluonnx-breadth-") as folder:
        bench = Bench(options, Path(folder))
        for case in fixtures(options.only, Path(folder)):
            for row in bench.measure(case) if isinstance(case, Case) else (case,):
                rows.append(row)
                show(row)
    for row in summary(rows):
        show(row)
    for text in bench.wrong:
        print(f"wrong: {text}", file=sys.stderr)
    return 1 if bench.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
