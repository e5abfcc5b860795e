"""The compiled part, when there is one: kernels, the thread pool, programs that run a whole graph in one call.

Everything works without it, slower: NumPy is the reference, and the fallback. What is here knows nothing of operators and
graphs; graph/lower.py tells it what to run.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).parent


def _load() -> tuple[ModuleType | None, str]:
    """The compiled module, or why there is none."""
    try:
        return importlib.import_module(f"{__name__}._core"), ""
    except ImportError as error:
        return None, str(error)


_core, problem = _load()
LEVELS: tuple[str, ...] = ()
"""CPU levels that are compiled in and that this machine has, the best first."""
if _core is not None:
    LEVELS = tuple(n for n in _core.cpu_levels() if (FOLDER / f"_kernels_{n}.so").is_file())

_level: str | None = None
generation = 0
"""Counts changes of what is in use: programs made before another choice of level, threads or precision are made anew."""


def level() -> str | None:
    """The CPU level whose kernels are in use; None when NumPy does everything."""
    return _level


def kernels() -> frozenset[tuple[str, str]]:
    """(operator, dtype of its first input) of all kernels in use."""
    return frozenset(_core.kernels()) if _core is not None and _level is not None else frozenset()


def use(name: str | None) -> str | None:
    """Use the kernels of this CPU level from now on, or NumPy alone with None; gives the level before.

    Raises ValueError for a level that is not compiled in or that this machine has not."""
    global _level, generation
    before = _level
    if name is not None:
        if _core is None or name not in LEVELS:
            raise ValueError(
                f"native.use: got {name!r}, wanted None or one of {', '.join(LEVELS) or 'no level at all'}"
            )
        _core.load_library(str(FOLDER / f"_kernels_{name}.so"))
    _level = name
    generation += 1
    return before


def threads() -> int:
    """How many threads kernels use."""
    return _core.threads() if _core is not None else 1


def set_num_threads(count: int) -> None:
    """Use so many threads in kernels from now on. Raises ValueError for fewer than one."""
    global generation
    if count < 1:
        raise ValueError(f"set_num_threads: got {count}, wanted 1 or more")
    if _core is not None:
        _core.set_threads(int(count))
    generation += 1


def program(*arguments: Any) -> Any:
    """A program of the compiled part; see PyProgram in src/python.cc for what it takes."""
    assert _core is not None
    return _core.Program(*arguments)


if LEVELS:
    use(LEVELS[0])
