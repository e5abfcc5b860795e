"""The committed networks on the targets that are installed: ``python -m tests.targets`` measures and writes docs/targets.md.

    python -m tests.targets --targets opencv-4.6 openvino --networks ssd yolo    # measures these cells anew, and writes
    python -m tests.targets --missing                                           # measures those that were never measured
    python -m tests.targets --failed --targets opencv-4.6                       # measures those that did not agree
    python -m tests.targets --write                                             # writes from what was measured

Each network is converted with ``--target`` and run there twice beside our engine: on the inputs that MXNet's answers were recorded
for, and on drawn ones of these sizes. The cells are kept in docs/targets.jsonl. Targets in other Pythons:
GLUONNX_TARGET_PYTHON_NAME (docs/targets.md)."""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import bridge
from bridge.engines import NativeEngine
from bridge.inputs import as_specs
from bridge.targets.check import lacking
from bridge.targets.deployed import AGREES, DIFFERS, Outcome, on_target
from bridge.targets.place import how_to_install, place_of
from bridge.targets.profile import Profile, profiles, profiles_of
from converters.error import UnsupportedModel
from hybrid.core.error import MXNetError
from hybrid.formats.files import replacing
from tests.models.networks import Network, networks

from .page import BY_US, page

DOCS = Path(__file__).parents[2] / "docs"
RECORDS, PAGE = DOCS / "targets.jsonl", DOCS / "targets.md"
SHOWN = (
    "onnxruntime", "onnxruntime-1.15", "openvino", "openvino-2023", "opencv", "opencv-4.6", "mnn", "ncnn", "tract", "onnx2torch",
)  # fmt: skip
"""Columns: the targets that can be installed, except those that gluonnx itself is verified with on every test."""
NETWORKS = tuple(n.name for n in networks())
"""Rows: every network of fixtures/models."""
LIMIT = 240.0
"""Seconds that a target may take."""


def cells(
    chosen: Sequence[Profile], names: Sequence[str], wanted: Callable[[dict[str, Any] | None], bool]
) -> Iterator[dict[str, Any]]:
    """A record for each network on each target. wanted: whether a cell is measured, by what is kept of it."""
    found = {n.name: n for n in networks()}
    for profile in chosen:
        place = place_of(profile)
        if place is None:
            print(f"{profile.name}: {how_to_install(profile)}")
            continue
        kept = recorded()
        for name in (n for n in names if wanted(kept.get((profile.name, n)))):
            yield {"target": profile.name, "network": name, **cell(found[name], profile)}


def cell(network: Network, profile: Profile) -> dict[str, Any]:
    """The record of a network that is converted for a target."""
    model, place = bridge.open_model(network.prefix), place_of(profile)
    assert place is not None
    feeds = network.runs()[0][0]
    if profile.batch is not None:
        fewer = {n: a[: profile.batch] for n, a in feeds.items()}
        with contextlib.suppress(MXNetError):  # not every first axis is a batch
            model.inferring(as_specs(fewer)[0]).infer(as_specs(fewer)[0])
            feeds = fewer
    release = f"{place.package} {place.version}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        try:
            made = bridge.convert(model, inputs=feeds, output=path, targets=profile.name, verify=False)
        except UnsupportedModel as error:
            counts = lacking(error.problems)
            first = {p.operator: p.reason for p in reversed(error.problems)}
            return {"verdict": BY_US, "release": release, "operators": counts, "reason": str(first[next(iter(counts))])}
        outcomes = list(_run(model, profile, path, feeds))
    worst = max(outcomes, key=lambda o: (not o.good, o.verdict == DIFFERS, o.error or 0.0))
    return {
        "verdict": worst.verdict,
        "release": release,
        "opset": made.opset,
        "error": worst.error,
        "rounding": worst.rounding,
        "operators": {worst.operator: 1} if worst.operator else {},
        "node": worst.node,
        "reason": "" if worst.good else worst.reason,
        "seconds": round(sum(o.seconds for o in outcomes), 2),
    }


def _run(model: Any, profile: Profile, path: Path, feeds: Mapping[str, Any]) -> Iterator[Outcome]:
    """The outcomes on recorded inputs, and on drawn ones unless the first say enough."""
    written = bridge.open_model(path)
    proto = written.proto
    assert proto is not None
    specs, arrays = as_specs(dict(feeds))
    inferring = model.inferring(specs)
    for given in (arrays, {}):
        left = NativeEngine(inferring, specs)
        used = {n: s for n, s in specs.items() if n in left.inputs}
        given = {n: a for n, a in given.items() if n in left.inputs}
        found = on_target(profile, place_of(profile), left, path, proto, (), used, arrays=given, time_limit=LIMIT)
        yield found
        if not found.good:
            return


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
    parser.add_argument("--networks", nargs="*", default=list(NETWORKS))
    parser.add_argument("--missing", action="store_true", help="only cells that were never measured")
    parser.add_argument("--failed", action="store_true", help="only cells that did not agree")
    parser.add_argument("--write", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    if not arguments.write:

        def wanted(cell: dict[str, Any] | None) -> bool:
            return (not arguments.missing or cell is None) and (
                not arguments.failed or (cell is not None and cell["verdict"] != AGREES)
            )

        for found in cells(profiles_of(arguments.targets), arguments.networks, wanted):
            said = found["verdict"] + (f" {found['error']:.1e}" if found.get("error") is not None else "")
            print(f"{found['target']:16} {found['network']:24} {said} {found.get('reason', '')[:200]}", flush=True)
            known = recorded()  # as others may have left it meanwhile
            known[found["target"], found["network"]] = found
            keep(known)
    with replacing(PAGE) as file:
        file.write(written().encode())


def written() -> str:
    """The page, from the cells that are kept."""
    return page(recorded(), profiles(), SHOWN, NETWORKS)


if __name__ == "__main__":
    main()
