"""Networks beside the fixtures, too large to commit: do they load, give MXNet's numbers, convert, agree with onnxruntime?

    python -m tests.models.holdout FOLDER... [--only TEXT] [--json FILE]

FOLDER holds networks as fixtures/models does (fixtures/make/models.py --zoo makes some, of GluonCV and GluonNLP too). Each runs on
our engine with the inputs that MXNet had and is held against its outputs; it is converted and verified at that size and
at a second one: two samples instead of one, images a quarter larger, unless the network is tied to its size.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import bridge
from tests.models.networks import Network, agree


def second(inputs: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    """Other sizes to try: the most different first."""
    images = {n: a for n, a in inputs.items() if a.ndim == 4 and a.shape[1] in (1, 3)}
    found = []
    if images:
        grown = {
            n: tuple(s + s // 4 // 32 * 32 if i > 1 else s for i, s in enumerate(a.shape)) for n, a in images.items()
        }
        rng = np.random.default_rng(1)
        if any(grown[n] != a.shape for n, a in images.items()):
            found.append(
                {n: rng.standard_normal(grown[n]).astype(a.dtype) if n in grown else a for n, a in inputs.items()}
            )
    twice = {n: np.concatenate([a, a[..., ::-1] if n in images else a]) for n, a in inputs.items() if a.ndim}
    if twice and len({a.shape[0] for a in inputs.values() if a.ndim}) == 1:
        found.append({n: twice.get(n, a) for n, a in inputs.items()})
    return found


def judge(folder: Path) -> dict[str, Any]:
    """The row of one network."""
    network = Network(folder.name, folder, {})
    row: dict[str, Any] = {"network": folder.name}
    inputs, outputs = network.runs()[0]
    start = time.perf_counter()
    try:
        agree(bridge.run(network.prefix, inputs), outputs, network.limit)
        row["mxnet"] = "equal"
    except Exception as error:
        row["mxnet"] = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
    for name, feeds in [("onnxruntime", inputs), *(("other size", f) for f in second(inputs))]:
        try:
            result = bridge.convert(network.prefix, inputs=feeds)
            assert result.verification is not None
            row[name] = "equal" if result.verification.equivalent else "differs"
            if name == "other size":
                row["size"] = ", ".join(f"{n} {a.shape}" for n, a in feeds.items())
                break
        except Exception as error:
            row[name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
    row["seconds"] = round(time.perf_counter() - start, 1)
    return row


def main() -> int:
    """Print a row as soon as it is known; 1 when one is not equal everywhere."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found = sorted(
        p.parent for f in arguments.folders for p in f.glob("*/outputs.npz") if arguments.only in p.parent.name
    )
    rows = []
    with multiprocessing.get_context("spawn").Pool(
        1, maxtasksperchild=1
    ) as pool:  # large networks leave nothing behind
        for row in pool.imap(judge, found):
            rows.append(row)
            print(
                " | ".join(
                    str(row.get(k, "")) for k in ("network", "mxnet", "onnxruntime", "other size", "size", "seconds")
                )
            )
            sys.stdout.flush()
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return int(any(row.get(k, "equal") != "equal" for row in rows for k in ("mxnet", "onnxruntime", "other size")))


if __name__ == "__main__":
    sys.exit(main())
