"""Networks on the targets that are installed: ``python -m tests.targets`` measures and writes docs/targets.md.

    python -m tests.targets --targets opencv-4.6 openvino --networks ssd yolo    # measures these cells anew, and writes
    python -m tests.targets --missing                                           # measures those that were never measured
    python -m tests.targets --failed --targets opencv-4.6                       # measures those that did not agree
    python -m tests.targets --stale --within 300                                # measures those whose file is another by now
    python -m tests.targets --write                                             # writes from what was measured

Networks are those of fixtures/models, and others that are made anew (rebuilt.py). Each is converted with ``--target`` and run
there beside our engine: on the inputs that MXNet's answers were recorded for, and on drawn ones of these sizes. The cells are kept
in docs/targets.jsonl, with a digest of the file that was run. After a change of the converter --stale writes all files anew, which
is quick, and runs those that have become others; what is not installed, or not reached --within so many seconds a target, is marked
as of an earlier file. Targets in other Pythons: GLUONNX_TARGET_PYTHON_NAME (docs/targets.md)."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from bridge.targets.deployed import AGREES
from bridge.targets.place import how_to_install, place_of
from bridge.targets.profile import Profile, profiles, profiles_of
from hybrid.formats.files import replacing
from tests.models.networks import Network, networks

from .cells import measured, up_to_date
from .page import page
from .rebuilt import Rebuilt, of_the_issue, of_the_zoo

DOCS = Path(__file__).parents[2] / "docs"
RECORDS, PAGE = DOCS / "targets.jsonl", DOCS / "targets.md"
SHOWN = (
    "onnxruntime", "onnxruntime-1.15", "openvino", "openvino-2023", "opencv", "opencv-4.6", "mnn", "ncnn", "tract", "onnx2torch",
)  # fmt: skip
"""Columns: the targets that can be installed, except those that gluonnx itself is verified with on every test."""
NETWORKS = tuple(n.name for n in networks())
"""Rows: every network of fixtures/models."""
ISSUE, ZOO = tuple(n.name for n in of_the_issue()), tuple(n.name for n in of_the_zoo())
"""Rows of networks that are made anew (rebuilt.py)."""


def cells(
    chosen: Sequence[Profile],
    names: Sequence[str],
    wanted: Callable[[dict[str, Any] | None], bool],
    within: float = inf,
    stale: bool = False,
) -> Iterator[dict[str, Any]]:
    """A record for each network on each target. wanted: whether a cell is measured, by what is kept of it. within: seconds that a
    target may take in all; cells that are reached later are not measured. stale: only those of which the file is another by now are
    measured; where that cannot be, it is marked."""
    found: dict[str, Network | Rebuilt] = {n.name: n for n in (*networks(), *of_the_issue(), *of_the_zoo())}
    for profile in chosen:
        place = place_of(profile)
        if place is None:
            print(f"{profile.name}: {how_to_install(profile)}")
            if not stale:
                continue
        kept, left = recorded(), within
        for name in (n for n in names if wanted(kept.get((profile.name, n)))):
            known, start = kept.get((profile.name, name)), time.monotonic()
            made = up_to_date(found[name], profile, known, left > 0) if stale else measured(found[name], profile)
            left -= time.monotonic() - start if made.get("seconds") and made is not known else 0
            if made is not known:
                yield {"target": profile.name, "network": name, **made}
            if left <= 0 and not stale:
                print(f"{profile.name}: {within:g} s are over")
                break


def recorded() -> dict[tuple[str, str], dict[str, Any]]:
    """The cells that are kept, by target and network."""
    if not RECORDS.exists():
        return {}
    lines = (json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines() if line)
    return {(c["target"], c["network"]): c for c in lines}


def keep(known: Mapping[tuple[str, str], dict[str, Any]]) -> None:
    """Write the cells, in the order of the table."""
    order = sorted(known, key=lambda k: (SHOWN.index(k[0]) if k[0] in SHOWN else len(SHOWN), k))
    with replacing(RECORDS) as file:
        file.write("".join(json.dumps(known[k]) + "\n" for k in order).encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", nargs="*", default=list(SHOWN), help=f"by default {', '.join(SHOWN)}")
    parser.add_argument("--networks", nargs="*", default=[*NETWORKS, *ISSUE, *ZOO], help="by default all")
    parser.add_argument("--missing", action="store_true", help="only cells that were never measured")
    parser.add_argument("--failed", action="store_true", help="only cells that did not agree")
    parser.add_argument("--stale", action="store_true", help="only cells whose file is another by now")
    parser.add_argument("--within", type=float, default=inf, metavar="SECONDS", help="the most that a target may take")
    parser.add_argument("--write", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    if not arguments.write:

        def wanted(cell: dict[str, Any] | None) -> bool:
            return (not arguments.missing or cell is None) and (
                not arguments.failed or (cell is not None and cell["verdict"] != AGREES)
            )

        chosen = profiles_of(arguments.targets)
        for found in cells(chosen, arguments.networks, wanted, arguments.within, arguments.stale):
            said = found["verdict"] + (f" {found['error']:.1e}" if found.get("error") is not None else "")
            print(f"{found['target']:16} {found['network']:24} {said} {found.get('reason', '')[:200]}", flush=True)
            known = recorded()  # as others may have left it meanwhile
            known[found["target"], found["network"]] = found
            keep(known)
    with replacing(PAGE) as file:
        file.write(written().encode())


def written() -> str:
    """The page, from the cells that are kept."""
    return page(recorded(), profiles(), SHOWN, NETWORKS, ISSUE, ZOO)


if __name__ == "__main__":
    main()
