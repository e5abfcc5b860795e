"""Gradients travel while the rest is computed, and those of first layers first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.distributed.launching import needs_mpi, succeed


def _both(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one["ts"] < other["ts"] + other["dur"] and other["ts"] < one["ts"] + one["dur"]


@needs_mpi
def test_a_trace_shows_communication_beside_computation(tmp_path: Path) -> None:
    succeed(2, "overlapping.py", tmp_path / "trace")
    for rank in range(2):
        events = json.loads((tmp_path / f"trace-{rank}.json").read_text())["traceEvents"]
        lanes = {e["args"]["name"]: e["pid"] for e in events if e["ph"] == "M"}
        assert lanes["communication"] != lanes["operator"]
        spans = {lane: [e for e in events if e["ph"] == "X" and e["pid"] == pid] for lane, pid in lanes.items()}
        assert len(spans["communication"]) == 3 * 12  # three steps, a weight and a bias of each of six layers
        assert {e["tid"] for e in spans["communication"]}.isdisjoint(e["tid"] for e in spans["operator"])
        beside = [c for c in spans["communication"] if any(_both(c, o) for o in spans["operator"])]
        assert beside, "no exchange was under way while an operator ran"
