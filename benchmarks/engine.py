"""Speed of the engine: ours beside onnxruntime, and both beside real MXNet where it is installed.

    python benchmarks/engine.py [--networks NAME ...] [--batch 1 8] [--threads 1 2] [--mxnet PYTHON] [--pytorch PYTHON]
                                [--json] [SECTION ...]

Every engine runs in a process of its own with the same number of threads, on the same exported network
(benchmarks/networks.py), and takes its turns with the others: A B A B, in blocks of some tenths of a second. Reported are
medians with the fastest and slowest tenth, and ratios: their time over ours, so that more is better for us, with what is asked
for in brackets, and the ratio of the fastest calls, which a busy machine disturbs least. What they compute is compared as
well: engines that differ by more than 1e-4 of an output's scale are an error, and the exit status is 1.

Ours is called as a user would: SymbolBlock.imports, hybridize(static_alloc, static_shape), NDArrays in, wait_to_read. onnxruntime
has all optimisations on a clean model. MXNet runs its fused path (oneDNN subgraphs, static memory).

Sections (--networks alone is the table; --all is everything):
  --operators   single operators that have a kernel, at the sizes networks have them
  --training    steps of training, beside MXNet, and PyTorch where it is installed
  --cold        loading and the first inference, in fresh processes
  --scaling     from one thread to two
  --hybridize   hybridized beside imperative blocks
  --memory      what processes hold at most
  --busy        the table again, while another process wants all it can get
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))  # behind what is installed, which has the compiled part

import numpy as np  # noqa: E402
from networks import BATCHES, NETWORKS, TRAINING, Network, folder, prepare  # noqa: E402
from operators import cases  # noqa: E402
from sides import Side, WorkerFailed, busy, error, machine, sides  # noqa: E402

from bridge.timing import Timing, in_turns  # noqa: E402

LIMIT = 1e-4  # of an output's scale
AGAINST_MXNET, TRAINING_TARGET, HYBRIDIZE_TARGET, SCALING_TARGET = 1.3, 1.2, 1.8, 1.7
OURS, THEIRS, MXNET, PYTORCH = "hybrid", "onnxruntime", "mxnet", "pytorch"

Row = dict[str, Any]


class Bench:
    """One run of the benchmark: options of the command line, and where the networks lie."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.cache = Path(options.cache) if options.cache else folder()
        self.folder = tempfile.TemporaryDirectory(prefix="gluonnx-bench-")
        self.scratch = Path(self.folder.name)
        self.wrong: list[str] = []

    def chosen(self) -> list[Network]:
        """The networks to measure."""
        return [NETWORKS[n] for n in self.options.networks or NETWORKS]

    def tell(self, text: str) -> None:
        """Say what is being done, on a terminal only."""
        if sys.stderr.isatty():
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def request(self, network: Network, batch: int) -> dict[str, str]:
        """Describe to every side what to load."""
        self.tell(f"{network.name}: exporting")
        prefix, onnx = prepare(network, batch, self.cache)
        inputs = self.scratch / f"{network.name}-{batch}.npz"
        if not inputs.exists():
            np.savez(inputs, **network.inputs(batch))
        return {"prefix": str(prefix), "onnx": str(onnx), "inputs": str(inputs)}

    def load(self, side: Side, asked: dict[str, str]) -> tuple[dict[str, Any], list[np.ndarray]]:
        """A side with a network loaded: how long that took, and what it computes."""
        target = self.scratch / "outputs.npz"
        found = side.ask("load", **asked, outputs=str(target))
        with np.load(target) as stored:
            return found, [stored[n] for n in stored.files]

    def kinds(self) -> list[str]:
        """The engines that there are."""
        return [OURS, THEIRS, *([MXNET] if self.options.mxnet else [])]

    def report_failure(self, name: str, batch: int, threads: int, why: WorkerFailed) -> Row:
        """A row without numbers; the exit status will say so too."""
        self.wrong.append(f"{name}: {why}")
        return {"name": name, "batch": batch, "threads": threads, "failed": str(why).strip().splitlines()[-1]}

    def compare(
        self, name: str, batch: int, threads: int, engines: dict[str, Side], asked: dict[str, str], seconds: float
    ) -> Row:
        """One network on all sides, in turns."""
        results = {}
        for kind, side in engines.items():
            self.tell(f"{name}: loading, {kind}")
            results[kind] = self.load(side, asked)[1]
        row: Row = {"name": name, "batch": batch, "threads": threads}
        row["error"] = {k: float(f"{error(results[k], results[OURS]):.3g}") for k in results if k != OURS}
        self.wrong += [f"{name}: differs from {k} by {e:.2e}" for k, e in row["error"].items() if not e <= LIMIT]
        self.tell(f"{name}: batch {batch}, {threads} thread(s)")
        found = in_turns({k: s.times for k, s in engines.items()}, seconds, self.options.repeats)
        return row | {
            "seconds": {k: t.as_dict() for k, t in found.items()},
            "ratio": ratios(found),
            "best": fastest(found),
        }

    def networks(self) -> Iterator[Row]:
        """The table."""
        for threads in self.options.threads:
            for network in self.chosen():
                requests = {b: self.request(network, b) for b in self.options.batch}
                with sides(*((k, threads) for k in self.kinds()), mxnet=self.options.mxnet) as engines:
                    for batch, asked in requests.items():
                        try:
                            row = self.compare(network.name, batch, threads, engines, asked, self.options.seconds)
                            yield row | {"target": {THEIRS: network.target, MXNET: AGAINST_MXNET}}
                        except WorkerFailed as failed:
                            yield self.report_failure(network.name, batch, threads, failed)

    def measure_under_load(self) -> Iterator[Row]:
        """The table, while something else runs."""
        with busy(1):
            yield from self.networks()

    def operators(self) -> Iterator[Row]:
        """Single operators."""
        from hybrid import native

        measured, left = cases(name for name, _ in native.kernels())
        for threads in self.options.threads:
            with sides(*((k, threads) for k in self.kinds()), mxnet=self.options.mxnet) as engines:
                for case in measured:
                    if self.options.only in case.name:
                        try:
                            asked = self.request(case, 1)
                            yield self.compare(case.name, 1, threads, engines, asked, self.options.seconds / 5)
                        except WorkerFailed as failed:
                            yield self.report_failure(case.name, 1, threads, failed)
        if left:
            yield {"name": "not measured alone: " + ", ".join(left)}

    def training(self) -> Iterator[Row]:
        """Steps of training. Losses of the first steps have to agree."""
        for threads in self.options.threads:
            for name in filter(lambda n: self.options.only in n, TRAINING):
                wanted = [(k, threads) for k in (OURS, MXNET, PYTORCH) if k == OURS or getattr(self.options, k)]
                with sides(*wanted, mxnet=self.options.mxnet, pytorch=self.options.pytorch) as engines:
                    self.tell(name)
                    batch = BATCHES[name]
                    losses = {k: s.ask("train", name=name, batch=batch)["losses"] for k, s in engines.items()}
                    found = in_turns(
                        {k: s.times for k, s in engines.items()}, self.options.seconds, self.options.repeats
                    )
                    row: Row = {"name": name, "batch": batch, "threads": threads, "losses": losses}
                    for kind in losses.keys() - {OURS}:
                        off = max(abs(a / b - 1) for a, b in zip(losses[OURS], losses[kind]))
                        row.setdefault("error", {})[kind] = float(f"{off:.3g}")
                        if not off <= 1e-3:
                            self.wrong.append(f"{name}: losses {losses[OURS]}, {kind}'s {losses[kind]}")
                    seconds = {k: t.as_dict() for k, t in found.items()}
                    row |= {"seconds": seconds, "ratio": ratios(found), "best": fastest(found)}
                    yield row | {"target": {MXNET: TRAINING_TARGET}}

    def cold(self) -> Iterator[Row]:
        """Loading and the first inference, each in fresh processes, libraries imported before."""
        for threads in self.options.threads:
            for network in self.chosen():
                asked = self.request(network, 1)
                seen: dict[str, dict[str, list[float]]] = {}
                for _ in range(self.options.fresh):
                    for kind in self.kinds():
                        self.tell(f"{network.name}: cold start, {kind}")
                        with sides((kind, threads), mxnet=self.options.mxnet) as engines:
                            found, _ = self.load(engines[kind], asked)
                        for part in ("load", "first"):
                            seen.setdefault(kind, {}).setdefault(part, []).append(found[part])
                parts = {k: {p: statistics.median(v) for p, v in both.items()} for k, both in seen.items()}
                total = {k: sum(both.values()) for k, both in parts.items()}
                yield {
                    "name": network.name,
                    "threads": threads,
                    "parts": parts,
                    "ratio": {k: total[k] / parts[OURS]["first"] for k in total if k != OURS},
                    "whole": {k: total[k] / total[OURS] for k in total if k != OURS},
                    "target": {THEIRS: 1.0},
                }

    def memory(self) -> Iterator[Row]:
        """The most that a process holds for a network, beyond its libraries."""
        for network in self.chosen():
            for batch in self.options.batch:
                asked = self.request(network, batch)
                held = {}
                for kind in self.kinds():
                    self.tell(f"{network.name}: memory, {kind}")
                    with sides((kind, max(self.options.threads)), mxnet=self.options.mxnet) as engines:
                        before = self.load(engines[kind], asked)[0]["before"]
                        engines[kind].times(0.2)
                        held[kind] = engines[kind].ask("peak")["peak"] - before
                ratio = {k: held[k] / held[OURS] for k in held if k != OURS}
                yield {"name": network.name, "batch": batch, "bytes": held, "ratio": ratio, "target": {THEIRS: 1.0}}

    def scaling(self) -> Iterator[Row]:
        """From one thread to two."""
        for network in self.chosen():
            asked = self.request(network, 1)
            wanted = [(k, t) for k in (OURS, THEIRS) for t in (1, 2)]
            with sides(*wanted) as engines:
                for side in engines.values():
                    self.load(side, asked)
                found = in_turns({k: s.times for k, s in engines.items()}, self.options.seconds, self.options.repeats)
            yield {
                "name": network.name,
                "seconds": {k: t.as_dict() for k, t in found.items()},
                "ratio": {k: found[f"{k} 1"].median / found[f"{k} 2"].median for k in (OURS, THEIRS)},
                "best": {k: found[f"{k} 1"].best / found[f"{k} 2"].best for k in (OURS, THEIRS)},
                "target": {OURS: SCALING_TARGET},
            }

    def hybridize(self) -> Iterator[Row]:
        """Hybridized beside imperative, on the tutorials' network."""
        for threads in self.options.threads:
            with sides((OURS, threads)) as one, sides((OURS, threads)) as two:
                made = {"hybridized": one[OURS], "imperative": two[OURS]}
                for kind, side in made.items():
                    side.ask("blocks", name="mlp", batch=1, hybridize=kind == "hybridized")
                found = in_turns({k: s.times for k, s in made.items()}, self.options.seconds, self.options.repeats)
            yield {
                "name": "mlp, 20 calls",
                "threads": threads,
                "seconds": {k: t.as_dict() for k, t in found.items()},
                "ratio": {"imperative": found["imperative"].median / found["hybridized"].median},
                "target": {"imperative": HYBRIDIZE_TARGET},
            }


SECTIONS: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "networks": Bench.networks,
    "operators": Bench.operators,
    "training": Bench.training,
    "cold": Bench.cold,
    "memory": Bench.memory,
    "scaling": Bench.scaling,
    "hybridize": Bench.hybridize,
    "busy": Bench.measure_under_load,
}


def ratios(found: dict[str, Timing]) -> dict[str, float]:
    """Their median over ours."""
    return {k: t.median / found[OURS].median for k, t in found.items() if k != OURS}


def fastest(found: dict[str, Timing]) -> dict[str, float]:
    """The ratio of the fastest calls, which a busy machine disturbs least."""
    return {k: t.best / found[OURS].best for k, t in found.items() if k != OURS}


def line(row: Row) -> str:
    """A row as a person reads it."""
    parts = [f"{row['name']:<22}"]
    parts += [f"{short} {row[key]}" for key, short in (("batch", "n"), ("threads", "t")) if key in row]
    for kind, t in row.get("seconds", {}).items():
        parts.append(f"{kind} {t['median'] * 1e3:.4g} ({t['low'] * 1e3:.4g}-{t['high'] * 1e3:.4g}) ms")
    for kind, both in row.get("parts", {}).items():
        parts.append(f"{kind} load {both['load'] * 1e3:.0f} first {both['first'] * 1e3:.0f} ms")
    for kind, count in row.get("bytes", {}).items():
        parts.append(f"{kind} {count / 1e6:.0f} MB")
    for kind, value in row.get("ratio", {}).items():
        wanted = row.get("target", {}).get(kind)
        asked = f" [{wanted}{' short' if value < wanted else ''}]" if wanted else ""
        best = f" (best {row['best'][kind]:.2f})" if "best" in row else ""
        parts.append(f"| {kind} {value:.2f}{asked}{best}")
    parts += [f"| {kind} {value:.2f} with loading" for kind, value in row.get("whole", {}).items()]
    parts += [f"{kind} differs by {value:.0e}" for kind, value in row.get("error", {}).items()]
    parts += [f"failed: {row['failed']}"] if "failed" in row else []
    return "  ".join(parts)


def means(rows: list[Row]) -> list[Row]:
    """Geometric means of the table's ratios, by batch and threads."""
    out = []
    rows = [r for r in rows if "ratio" in r]
    for batch, threads in dict.fromkeys((r["batch"], r["threads"]) for r in rows):
        same = [r["ratio"] for r in rows if (r["batch"], r["threads"]) == (batch, threads)]
        mean = {k: math.exp(statistics.fmean(math.log(r[k]) for r in same)) for k in same[0]}
        out.append(
            {"name": "geometric mean", "batch": batch, "threads": threads, "ratio": mean, "target": {THEIRS: 1.5}}
        )
    return out


def main() -> int:
    """The command."""
    here = sys.executable if importlib.util.find_spec("torch") else None
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="*", choices=NETWORKS, metavar="NAME", help=", ".join(NETWORKS))
    parser.add_argument("--batch", nargs="+", type=int, default=[1])
    parser.add_argument("--threads", nargs="+", type=int, default=[2])
    parser.add_argument(
        "--seconds", type=float, default=2.0, help="of each engine on each network; a fifth on an operator"
    )
    parser.add_argument("--repeats", type=int, default=10, help="in so many blocks")
    parser.add_argument("--fresh", type=int, default=3, help="fresh processes of each engine for --cold")
    parser.add_argument("--mxnet", metavar="PYTHON", help="a Python with MXNet 1.9.1")
    parser.add_argument(
        "--pytorch", metavar="PYTHON", help="a Python with PyTorch; this one, where it has it", default=here
    )
    parser.add_argument("--only", metavar="TEXT", default="", help="operators and training whose name holds this")
    parser.add_argument("--cache", metavar="FOLDER", help="where exported networks are kept")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--all", action="store_true", help="all sections")
    for name in SECTIONS:
        if name != "networks":
            parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    if options.mxnet and not Path(options.mxnet).exists():
        print(f"{options.mxnet} is not there: MXNet is left out", file=sys.stderr)
        options.mxnet = None
    asked = [n for n in SECTIONS if n != "networks" and (options.all or getattr(options, n))]
    if options.all or not asked:
        asked.insert(0, "networks")
    bench = Bench(options)

    def show(section: str, row: Row) -> None:
        bench.tell("")
        print(json.dumps({"section": section, **row}) if options.json else line(row), flush=True)

    facts = machine()
    print(
        json.dumps({"section": "machine", **facts}) if options.json else ", ".join(f"{k} {v}" for k, v in facts.items())
    )
    for section in asked:
        if not options.json:
            print(f"\n{section}")
        rows = []
        for row in SECTIONS[section](bench):
            rows.append(row)
            show(section, row)
        if section in ("networks", "busy"):
            for row in means(rows):
                show(section, row)
    bench.folder.cleanup()
    for text in bench.wrong:
        print(f"wrong: {text}", file=sys.stderr)
    return 1 if bench.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
