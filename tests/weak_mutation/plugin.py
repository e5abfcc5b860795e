"""For pytest (``-p tests.weak_mutation.plugin``): instruments the product, and writes what was seen when the session ends.

Packages have to be found without importing them: what is imported already stays as it is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from . import instrument

ROOT = Path(__file__).resolve().parents[2]
if "WEAK_MUTATION" in os.environ and ("PYTEST_XDIST_WORKER" in os.environ or "WEAK_MUTATION_ALONE" in os.environ):
    instrument.install({name: ROOT / name for name in ("hybrid", "converters", "bridge")})


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    if instrument.places:
        rows = [[*place, bits] for place, bits in zip(instrument.places, instrument.seen)]
        (Path(os.environ["WEAK_MUTATION"]) / f"{os.getpid()}.json").write_text(json.dumps(rows))
