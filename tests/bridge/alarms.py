"""Right files, to see that none is refused: every network of fixtures/models, converted and verified at some seeds.

    python -m tests.bridge.alarms [--only TEXT] [--seeds 0,1,2] [--deep] [--zoo]

Each is converted with inputs drawn for its recorded shapes, and the file that appears is verified once more in its own right with
others. --deep: networks of hundreds of layers with random sane weights too (tests/bridge/deep.py); --zoo: all of Gluon's zoo.
Prints a line for each that is refused, and the counts; 1 when there is one."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bridge
from hybrid.core.op import Spec
from hybrid.gluon.model_zoo import vision
from tests.bridge import deep, zoo
from tests.models.networks import networks


def candidates(only: str, with_deep: bool, with_zoo: bool, folder: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(name, prefix, inputs) of all networks."""
    for network in networks():
        if only in network.name:
            specs = {n: Spec(a.shape, a.dtype) for n, a in network.runs()[0][0].items()}
            yield network.name, network.prefix, specs
    for name in deep.NAMES if with_deep else ():
        if only in name:
            yield name, *deep.exported(name, folder)
    for name in vision.MODELS if with_zoo else ():
        if only in name:
            yield name, zoo.exported(name, folder), {"data": zoo.shape_of(name)}


def judged(name: str, prefix: str, inputs: dict[str, Any], seed: int) -> str:
    """Fault of the verdicts over a right file; empty when nothing is."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "model.onnx"
        try:
            bridge.convert(prefix, inputs=inputs, output=target, seed=seed)
        except bridge.NotEquivalent as error:
            return f"convert: {error}"
        except bridge.BadInput as error:
            return "" if "draws random numbers" in str(error) else f"convert: {error}"
        result = bridge.verify(prefix, target, inputs=inputs, seed=seed + 100)
        if result.verdict == "not equivalent":
            where = f" at {result.divergence.node}" if result.divergence else ""
            return f"verify: not equivalent{where}; {'; '.join(d.reason for d in result.differences if d.reason)}"
        noted = [w for w in result.warnings if "inexact" in w or "rounding" in w]
        if noted:
            print(f"{name}, seed {seed}: {result.verdict}; {'; '.join(noted)}", flush=True)
    return ""


def main() -> int:
    """Judge all networks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--deep", action="store_true")
    parser.add_argument("--zoo", action="store_true")
    arguments = parser.parse_args()
    seeds = [int(s) for s in arguments.seeds.split(",")]
    count = alarms = 0
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        for name, prefix, inputs in candidates(arguments.only, arguments.deep, arguments.zoo, Path(folder)):
            count += 1
            for seed in seeds:
                wrong = judged(name, prefix, inputs, seed)
                alarms += bool(wrong)
                if wrong:
                    print(f"{name}, seed {seed}: FALSE ALARM: {wrong}", flush=True)
    print(
        f"{count} networks at seeds {arguments.seeds}: {alarms} false alarms ({time.process_time() - start:.0f} s of CPU)"
    )
    return int(alarms > 0)


if __name__ == "__main__":
    sys.exit(main())
