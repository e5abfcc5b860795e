"""Structure-aware fuzzing: what users give is changed at random, and each case ends in a right answer or a typed error,
within time and memory.

    python -m tests.fuzz --minutes 2                     all surfaces, in turn
    python -m tests.fuzz --count 100000 --only symbols   one of them, so many cases
    python -m tests.fuzz --again FILE                    a kept case once more, in this process

A surface is a module of this package with

    SURFACE: str                                         its name
    def seeds() -> list: ...                             what to start from, read from fixtures
    def mutate(rng: random.Random, seed): ...            a case: bytes, or a value that pickle takes, from rng alone
    def judge(case) -> str: ...                          RIGHT or REFUSED (a typed error); raises for a fault

and, if it needs others than the driver's, SECONDS and MEMORY. Case number i of a run with the seed s is always the same.
A fault is whatever ``judge`` raises (AssertionError with the two answers for numbers that differ), and what no ``except`` sees:
a crash, no end, more memory than allowed. Cases run in processes of their own (worker.py); driver.py starts these, watches
them and counts.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

RIGHT = "right"
REFUSED = "refused"


def surfaces() -> dict[str, ModuleType]:
    """The modules of this package that are surfaces, by name."""
    found = {}
    for info in pkgutil.iter_modules(__path__):
        if info.name != "__main__" and not info.name.startswith("test_"):
            module = importlib.import_module(f"{__name__}.{info.name}")
            if hasattr(module, "SURFACE"):
                found[module.SURFACE] = module
    return found
