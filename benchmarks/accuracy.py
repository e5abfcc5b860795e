"""Accuracy of the kernels: ours, our NumPy, onnxruntime and MXNet, each held against float64.

    python benchmarks/accuracy.py [--only TEXT] [--mxnet PYTHON] [--levels v3 ...] [--json | --document]

Every case is one operator with constant weights (benchmarks/precisions.py), exported as a network of its own; the engines run it
in processes of their own (benchmarks/worker.py). What is exact is our NumPy's answer in float64. Reported is the largest error,
and in brackets its root mean square, of every output in epsilons of that output's largest number; of functions of single numbers
(marked ulp) in units of the last place of each element. Gradients are those of all operands, in training; onnxruntime has none.

A row of ours is worse when its largest error is above 1 epsilon and above 1.5 times onnxruntime's; the exit status is then 1.
--document writes docs/accuracy.md's text.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))  # behind what is installed, which has the compiled part

import numpy as np  # noqa: E402
from precisions import CASES, Case, bound_of, deviation, prepare  # noqa: E402
from sides import Side, WorkerFailed, machine  # noqa: E402

OURS, NUMPY, THEIRS, MXNET = "hybrid", "hybrid-none", "onnxruntime", "mxnet"
TITLES = {OURS: "compiled", NUMPY: "our NumPy", THEIRS: "onnxruntime", MXNET: "MXNet"}
FACTOR, FLOOR = 1.5, 1.0
Row = dict[str, Any]


class Engines:
    """The engines that run, each of which computes cases."""

    def __init__(self, options: argparse.Namespace, stack: ExitStack):
        kinds = [OURS, *(f"{OURS}-{n}" for n in options.levels), NUMPY, THEIRS, *([MXNET] if options.mxnet else [])]
        self.sides: dict[str, Side] = {}
        for kind in kinds:
            side = Side(kind, 1, options.mxnet if kind == MXNET else sys.executable)
            stack.callback(side.close)
            self.sides[kind] = side
        for side in self.sides.values():
            side.ready()
        self.scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gluonnx-accuracy-")))

    def results(self, case: Case) -> tuple[list[str], list[np.ndarray], dict[str, list[np.ndarray] | str]]:
        """(what is computed, exact numbers, what each engine computes or why it does not)."""
        asked, names, exact = prepare(case, self.scratch)
        found: dict[str, list[np.ndarray] | str] = {}
        for kind, side in self.sides.items():
            if kind == THEIRS and (case.gradient or not asked["onnx"]):
                found[kind] = "has no gradients" if case.gradient else "no ONNX operator"
                continue
            target = self.scratch / "outputs.npz"
            try:
                side.ask("load", **asked, gradient=case.gradient, outputs=str(target))
            except WorkerFailed as failed:
                found[kind] = str(failed).strip().splitlines()[-1]
                continue
            with np.load(target) as stored:
                found[kind] = [stored[n] for n in stored.files]
        return names, exact, found

    def rows(self, case: Case) -> Iterator[Row]:
        """A row for each output, or each gradient."""
        names, exact, found = self.results(case)
        for i, name in enumerate(names):
            row: Row = {"family": case.family, "name": f"{case.title} {name}".strip(), "ulp": case.ulp}
            row |= {"bound": bound_of(case), "engines": {}}
            for kind, arrays in found.items():
                if isinstance(arrays, str):
                    row.setdefault("missing", {})[kind] = arrays
                else:
                    row["engines"][kind] = deviation(arrays[i], exact[i], case.ulp)
            yield row


def worse(row: Row) -> bool:
    """True when ours is less exact than onnxruntime's by more than it may be."""
    engines = row["engines"]
    if THEIRS not in engines:
        return False
    mine = max(error[0] for kind, error in engines.items() if kind.startswith(OURS) and kind != NUMPY)
    return not mine <= max(FLOOR, FACTOR * engines[THEIRS][0])


def format_error(error: tuple[float, float] | None) -> str:
    """An error as the table has it."""
    return "" if error is None else f"{error[0]:.2f} ({error[1]:.2f})"


def table(rows: list[Row], kinds: list[str]) -> Iterator[str]:
    """Markdown: a table for each family."""
    family = None
    for row in rows:
        if row["family"] != family:
            family = row["family"]
            yield f"\n## {family}\n"
            yield f"| | {' | '.join(TITLES.get(k, k) for k in kinds)} | bound | |"
            yield f"|---|{'---|' * len(kinds)}---|---|"
        cells = (format_error(row["engines"].get(k)) for k in kinds)
        name = row["name"] + (" (ulp)" if row["ulp"] else "")
        yield f"| {name} | {' | '.join(cells)} | {row['bound']:g} | {'worse' if worse(row) else ''} |"


def version(python: str) -> str:
    """Of a Python's MXNet."""
    told = subprocess.run(
        [python, "-W", "ignore", "-c", "import mxnet; print(mxnet.__version__)"], capture_output=True, text=True
    )
    return told.stdout.strip() or "unknown"


def document(rows: list[Row], kinds: list[str], mxnet: str | None) -> str:
    """docs/accuracy.md."""
    facts = {k: v for k, v in machine().items() if k not in ("load", "kernels")}
    facts |= {"mxnet": version(mxnet)} if mxnet else {}
    versions = [f"{k} {v}" for k, v in facts.items()]
    count = sum(map(worse, rows))
    return "\n".join(
        [
            "# How exact the kernels are",
            "",
            "Written by `python benchmarks/accuracy.py --mxnet PYTHON --document > docs/accuracy.md`"
            f" on {date.today()} ({', '.join(versions)}).",
            "",
            "Each number is the largest error, and in brackets the root mean square of the errors, against our NumPy's",
            "answer in float64, in epsilons (2^-23; of float16 2^-10) of the output's largest number; in rows marked ulp, in",
            f"units of the last place of each element. Ours is called worse where it is above {FLOOR:g} and above {FACTOR:g} times",
            f"onnxruntime's: {count} of {len(rows)} rows. Gradients have no onnxruntime to be held against. One seed each: a",
            "largest error of thousands of numbers moves by some tenths from one seed to the next. The bound is what",
            "tests/native/test_accuracy.py holds the compiled ones to.",
            "",
            "Products are added up in chains of about 128 (hybrid/native/src/base/vec.h), chains one by one: an error grows",
            "with the length of a chain where numbers are positive, with its root where signs are mixed. Convolutions 3x3 of",
            "stride 1 with constant weights go by Winograd's F(4,3), whose transform of the output makes errors about five",
            "times as large; its chains are of 32. It stays worse than onnxruntime's direct sums on numbers of both signs,",
            "and is as good as those on positive ones, which is what rectifiers leave; `hybridize(precise=True)` and training",
            "take direct sums throughout.",
            *table(rows, kinds),
            "",
        ]
    )


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="TEXT", default="", help="cases whose family and name hold this")
    parser.add_argument("--mxnet", metavar="PYTHON", help="a Python with MXNet 1.9.1")
    parser.add_argument("--levels", nargs="*", default=[], help="other CPU levels than the best")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--document", action="store_true", help="the text of docs/accuracy.md")
    options = parser.parse_args()
    rows: list[Row] = []
    with ExitStack() as stack:
        engines = Engines(options, stack)
        kinds = list(engines.sides)
        for case in CASES:
            if options.only not in f"{case.family} {case.title}":
                continue
            for row in engines.rows(case):
                rows.append(row)
                if options.json:
                    print(json.dumps(row | {"worse": worse(row)}), flush=True)
                elif not options.document:
                    cells = "  ".join(f"{TITLES.get(k, k)} {format_error(e)}" for k, e in row["engines"].items())
                    missing = "".join(f"  {k}: {why}" for k, why in row.get("missing", {}).items())
                    print(
                        f"{row['family']}: {row['name']:50} {cells}{missing}{'  WORSE' if worse(row) else ''}",
                        flush=True,
                    )
    if options.document:
        print(document(rows, kinds, options.mxnet))
    return 1 if any(map(worse, rows)) else 0


if __name__ == "__main__":
    sys.exit(main())
