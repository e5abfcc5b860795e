"""CPU time of any graph: ours beside onnxruntime, and OpenVINO where it is installed, each in a process of its own.

    python benchmarks/breadth.py [--only TEXT] [--threads N] [--seconds S] [--rounds N] [--openvino] [--profile N] [--cold N]
                                 [--architectures [NAMES]] [--fixtures] [--dtypes D ...] [--layers N] [--built FOLDER]
                                 [--wall] [--growth] [--json]

Every network of fixtures/models (converted for the others) and of fixtures/onnx (imported for us) is called with the inputs
recorded for it: ``fixed`` with the first of them, ``changing`` with all in turns, where their sizes differ. Seconds are those of
the process's CPU, taken in turns, so that a busy machine disturbs little; a ratio is their seconds over ours, more is better.
What both compute is compared: more than 2 % of an output's scale apart is an error and the exit status 1, for the tests hold
them closer. ``host`` counts the steps that NumPy computes within the compiled program, ``all`` says that there is none.
With --architectures: public architectures of real sizes instead (benchmarks/architectures), with --fixtures both; each in float32,
float16 and INT8 or in what --dtypes says, of at most --layers layers. Files that are in --built are used again. Beyond float32,
what comparisons choose (boxes that are kept) is not compared; INT8 may be 10 % apart, for a number that is rounded the other way at
the beginning moves onnxruntime at one level of optimisation from itself at another by 5 %.
With --wall: seconds of the wall at two threads too. With --growth: float32 architectures with growing batch, length and layers.
With --cold: ``cold``, the seconds from the start of a process to its first result of the ONNX file, and ``peak``, the most bytes
that the process held; of the fastest, and the smallest, of N. ``compiled`` starts from the file of ``gluonnx compile``, where the
graph has one.
At the end, for each set and for all: geometric means, how many are below 0.8, and the slowest.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))  # behind what is installed, which has the compiled part

import numpy as np  # noqa: E402
from architectures import ARCHITECTURES, DTYPES  # noqa: E402
from cases import Arrays, Case, Row, architectures, fixtures  # noqa: E402
from sides import Side, WorkerFailed, cold, error, machine, sides  # noqa: E402

from bridge.timing import in_turns  # noqa: E402

LIMIT, INT8 = 2e-2, 1e-1  # of an output's scale: whether it is the same network
WANTED, LEAST = 1.3, 0.8
OURS, COMPILED, THEIRS, OPENVINO = "hybrid", "compiled", "onnxruntime", "openvino"


class Bench:
    """One run of the benchmark."""

    def __init__(self, options: argparse.Namespace, scratch: Path):
        self.options, self.scratch = options, scratch
        self.kinds = [OURS, THEIRS, *([OPENVINO] if options.openvino else [])]
        self.wrong: list[str] = []

    def measure(self, case: Case) -> Iterator[Row]:
        """Rows of one graph."""
        files = []
        for i, run in enumerate(case.runs):
            files.append(str(self.scratch / f"inputs{i}.npz"))
            np.savez(files[-1], **run)
        sizes = [tuple(a.shape for a in r.values()) for r in case.runs]
        modes = {case.mode or "fixed": files[:1]} | ({"changing": files} if len({*sizes}) > 1 else {})
        rows: dict[str, Row] = {
            mode: {"name": case.name, "set": case.set, "mode": mode} | ({"built": case.built} if case.built else {})
            for mode in modes
        }
        with sides(*((k, self.options.threads) for k in self.kinds)) as engines:
            for mode, inputs in modes.items():
                row = rows[mode]
                live = self.load(case, inputs, engines, row)
                if OURS in live and len(live) > 1:
                    self.turns(live, row, "", cpu=True)
                    row |= self.profile(engines[OURS])
                if self.options.cold and mode == "fixed":
                    row |= self.cold(case, inputs[0], case.runs[0])
        if self.options.wall and not case.mode:
            with sides(*((k, 2) for k in self.kinds)) as engines:
                for mode, inputs in modes.items():
                    live = self.load(case, inputs, engines, rows[mode])
                    if OURS in live and len(live) > 1:
                        self.turns(live, rows[mode], "wall ", cpu=False)
        yield from rows.values()

    def load(self, case: Case, inputs: list[str], engines: dict[str, Side], row: Row) -> dict[str, Side]:
        """The engines that have loaded and run it, their results compared."""
        results: dict[str, list[np.ndarray]] = {}
        live: dict[str, Side] = {}
        for kind, side in engines.items():
            try:
                target = self.scratch / f"{kind}.npz"
                done = side.ask(
                    "load",
                    prefix=str(case.prefix),
                    onnx=str(case.onnx),
                    names=case.names,
                    inputs=inputs,
                    outputs=str(target),
                )
                row.setdefault("first", {})[kind] = float(f"{done['load'] + done['first']:.3g}")
                with np.load(target) as stored:
                    results[kind] = [stored[n] for n in stored.files]
                live[kind] = side
            except WorkerFailed as failed:
                row[f"failed {kind}"] = str(failed).strip().splitlines()[-1][:200]
        for kind in live if OURS in live else ():
            if kind != OURS:
                pair = results[kind], results[OURS]
                if case.steady is not None:
                    each = len(pair[1]) // len(inputs)
                    pair = [[r[i + s] for i in range(0, len(r), each) for s in case.steady] for r in pair]
                off = error(*pair)
                row.setdefault("error", {})[kind] = float(f"{off:.3g}")
                if not off <= (INT8 if case.set == "int8" else LIMIT):
                    self.wrong.append(f"{case.name} {case.set} {row['mode']}: differs from {kind} by {off:.2e}")
        return live

    def turns(self, live: dict[str, Side], row: Row, prefix: str, cpu: bool) -> None:
        """Seconds of each, of the CPU or of the wall, and the others' over ours."""
        blocks = {
            k: (lambda seconds, side=s: side.ask("run", seconds=seconds, cpu=cpu)["times"]) for k, s in live.items()
        }
        found = in_turns(blocks, self.options.seconds, self.options.rounds)
        row[f"{prefix}seconds"] = {k: float(f"{t.median:.4g}") for k, t in found.items()}
        row[f"{prefix}ratio"] = {k: round(found[k].median / found[OURS].median, 3) for k in live if k != OURS}

    def cold(self, case: Case, inputs: str, run: Arrays) -> Row:
        """Seconds to the first result in a fresh process and its peak memory, of both; and of ours from a compiled file."""
        import bridge
        from hybrid.core.error import MXNetError

        row: Row = {}
        more = {COMPILED: [str(self.scratch / "cold.gluonnx")]}
        try:
            taken = {n: a for n, a in run.items() if n in bridge.inspect(case.onnx).inputs}
            bridge.compile(case.onnx, inputs=taken, output=more[COMPILED][0])
        except MXNetError as error:
            row["not compiled"] = str(error)[:200]
        for kind in (OURS, THEIRS) if "not compiled" in row else (OURS, COMPILED, THEIRS):
            try:
                seconds, peak = cold(
                    kind, self.options.threads, case.onnx, inputs, self.options.cold, *more.get(kind, ())
                )
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
    parts = [f"{row['name']:<28}{row.get('set', ''):<9}{row.get('mode', ''):<9}"]
    for prefix in ("", "wall "):
        parts += [f"{prefix}{k} {s * 1e6:9.1f} us" for k, s in row.get(f"{prefix}seconds", {}).items()]
        parts += [f"| {k} {r:.2f}" for k, r in row.get(f"{prefix}ratio", {}).items()]
    parts += [f"first {k} {s:.2f} s" for k, s in row.get("first", {}).items() if row.get("built")]
    parts += [f"cold {k} {s:.3f} s" for k, s in row.get("cold", {}).items()]
    parts += [f"peak {k} {b >> 20} MB" for k, b in row.get("peak", {}).items()]
    parts += [f"host {row['host']}"] if row.get("host") else []
    parts += [f"error {k} {e:.1e}" for k, e in row.get("error", {}).items() if e > LIMIT]
    parts += [f"({row['built']})"] if row.get("built") else []
    parts += [f"{k}: {v}" for k, v in row.items() if k.startswith("failed")]
    for one in row.get("profile", []):
        parts.append(f"\n      {one['seconds'] * 1e6:9.1f} us {one['op']} {one['shape']} {one['how']}")
    return "  ".join(parts)


def summary(rows: list[Row]) -> Iterator[Row]:
    """Geometric means, by set, mode and engine."""
    sets = [*dict.fromkeys(r["set"] for r in rows if "ratio" in r)]
    for which in [*sets, *(["all"] if len(sets) > 1 else [])]:
        for mode in ("fixed", "changing"):
            chosen = [r for r in rows if r.get("mode") == mode and which in (r["set"], "all")]
            for prefix, kind in ((p, k) for p in ("", "wall ") for k in (THEIRS, OPENVINO)):
                found = [
                    (f"{r['name']} {r['set']}" if which == "all" else r["name"], r[f"{prefix}ratio"][kind])
                    for r in chosen
                    if kind in r.get(f"{prefix}ratio", {})
                ]
                if found:
                    yield {
                        "name": "geometric mean",
                        "set": which,
                        "mode": prefix + mode,
                        "against": kind,
                        "graphs": len(found),
                        "ratio": {kind: math.exp(statistics.fmean(math.log(r) for _, r in found))},
                        "below": sum(r < LEAST for _, r in found),
                        "slowest": sorted(found, key=lambda item: item[1])[:10],
                        "target": WANTED,
                    }
        for what, kind in ((w, k) for w in ("cold", "peak") for k in (OURS, COMPILED)):
            ratios = [
                r[what][THEIRS] / r[what][kind] for r in rows if kind in r.get(what, ()) and which in (r["set"], "all")
            ]
            if ratios:
                yield {
                    "name": "geometric mean",
                    "set": which,
                    "mode": what if kind == OURS else f"{what} {kind}",
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
    parser.add_argument("--architectures", nargs="*", choices=ARCHITECTURES, metavar="NAME", help="these, or all")
    parser.add_argument("--fixtures", action="store_true", help="the committed networks as well as architectures")
    parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=DTYPES, help="of architectures")
    parser.add_argument("--layers", type=int, default=4, metavar="N", help="of architectures, at most")
    parser.add_argument("--built", type=Path, metavar="FOLDER", help="where architectures are kept")
    parser.add_argument("--wall", action="store_true", help="seconds of the wall at two threads too")
    parser.add_argument("--growth", action="store_true", help="with growing batch, length and layers")
    parser.add_argument("--cold", type=int, default=0, metavar="N", help="start to first result, in N fresh processes")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    print(json.dumps({"machine": machine()}) if options.json else machine())
    rows = []

    def show(section: str, row: Row) -> None:
        text = line(row)
        if "below" in row:
            text += (
                f" of {row['graphs']} graphs, {row['below']} below {LEAST}, wanted {WANTED}; slowest: {row['slowest']}"
            )
        print(json.dumps({"section": section} | row) if options.json else text, flush=True)

    with tempfile.TemporaryDirectory(prefix="gluonnx-breadth-") as folder:
        bench = Bench(options, Path(folder))
        wanted: list[Iterator[Case | Row]] = []
        if options.architectures is None or options.fixtures:
            wanted.append(fixtures(options.only, Path(folder)))
        if options.architectures is not None:
            built = options.built or Path(folder)
            built.mkdir(parents=True, exist_ok=True)
            wanted.append(architectures(options.architectures, options.dtypes, options.layers, built, options.growth))
        for case in chain.from_iterable(wanted):
            for row in bench.measure(case) if isinstance(case, Case) else (case,):
                rows.append(row)
                show("each graph", row)
    for row in summary(rows):
        show("geometric means", row)
    for text in bench.wrong:
        print(f"wrong: {text}", file=sys.stderr)
    return 1 if bench.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
