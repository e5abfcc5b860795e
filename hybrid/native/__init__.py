"""The compiled part, when there is one: kernels, the thread pool, programs that run a whole graph in one call.

Everything works without it, slower: NumPy is the reference, and the fallback. What is here knows nothing of operators and
graphs; execution/lower.py tells it what to run.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ..core.attrs import dtype_text
from ..core.changes import backends_changed
from ..core.error import MXNetError


def _load() -> tuple[ModuleType | None, str]:
    """The compiled module, or why there is none."""
    try:
        return importlib.import_module(f"{__name__}._core"), ""
    except ImportError as error:
        return None, str(error)


_core, problem = _load()


def _library(name: str) -> Path:
    """The file of a level's kernels: beside the module."""
    return Path(str(getattr(_core, "__file__", __file__))).with_name(
        f"_kernels_{name}{'.dll' if sys.platform == 'win32' else '.so'}"
    )


LEVELS: tuple[str, ...] = ()
"""CPU levels that are compiled in and that this machine has, the best first."""
if _core is not None:
    LEVELS = tuple(n for n in _core.cpu_levels() if _library(n).is_file())

_level: str | None = None
_loaded: str | None = None
"""The level whose kernels the compiled part has at hand."""


def level() -> str | None:
    """The CPU level whose kernels are in use; None when NumPy does everything."""
    return _level


def kernels() -> frozenset[tuple[str, str]]:
    """(operator, dtype of its first input) of all kernels in use."""
    return _rows(_level) if _core is not None and _level is not None else frozenset()


@functools.cache
def _rows(level: str) -> frozenset[tuple[str, str]]:
    """The kernels of the level that is loaded."""
    assert _core is not None
    return frozenset(_core.kernels())


def has_kernel(op: str, dtype: Any) -> bool:
    """True when there is a kernel of this operator for inputs of this dtype; float16 and bfloat16 are computed in float32."""
    name = dtype_text(dtype)
    return (op, name) in _kernels or (name in ("float16", "bfloat16") and (op, "float32") in _kernels)


_kernels: frozenset[tuple[str, str]] = frozenset()
_names: frozenset[str] = frozenset()


def names() -> frozenset[str]:
    """Operators that there are kernels of, for some dtype."""
    return _names


def use(name: str | None) -> str | None:
    """Use the kernels of this CPU level from now on, or NumPy alone with None; gives the level before.

    Raises ValueError for a level that is not compiled in or that this machine has not."""
    global _level, _loaded, _kernels, _names
    before = _level
    if name is not None:
        if _core is None or name not in LEVELS:
            raise ValueError(
                f"native.use: got {name!r}, wanted None or one of {', '.join(LEVELS) or 'no level at all'}"
            )
        if name != _loaded:
            _core.load_library(str(_library(name)))
            _loaded = name
    if name != before:
        _level = name
        _kernels = kernels()
        _names = frozenset(n for n, _ in _kernels)
        backends_changed()
    return before


def threads() -> int:
    """Number of threads that kernels use.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.get_num_threads() >= 1
    True
    """
    return _core.threads() if _core is not None else 1


def set_num_threads(count: int) -> None:
    """Use so many threads in kernels from now on. Raises ValueError for fewer than one.

    Examples
    --------
    >>> from gluonnx import mx
    >>> before = mx.get_num_threads()
    >>> mx.set_num_threads(1)
    >>> mx.set_num_threads(before)
    """
    if count < 1:
        raise ValueError(f"set_num_threads: got {count}, wanted 1 or more")
    if _core is not None:
        _core.set_threads(int(count))
    backends_changed()


def files() -> list[Path]:
    """Those of the compiled part: the module, and the kernels in use."""
    return [] if _core is None or _level is None else [Path(str(_core.__file__)), _library(_level)]


def checksum(memory: Any) -> bytes:
    """The checksum of a piece of memory, for accidents; forgers can forge it. Raises MXNetError without the compiled part."""
    if _core is None:
        raise MXNetError(f"compiled files are for the compiled part, which is not there: {problem}")
    return _core.checksum(memory)


def program(*arguments: Any, **options: Any) -> Any:
    """A program of the compiled part; see PyProgram in src/python.cc for what it takes. With ``guard=True`` its memory lies between
    zones that are looked at after each step, and a run raises RuntimeError when one wrote where it may not: for tests, slow."""
    assert _core is not None
    return _core.Program(*arguments, **options)


def template(*arguments: Any, **options: Any) -> Any:
    """A program of the compiled part for all sizes that pass its guards; see PyTemplate in src/python.cc for what it takes."""
    assert _core is not None
    return _core.Template(*arguments, **options)


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """An array with undefined contents over memory that is kept for the next one when this one dies: for large results, which
    cost a page fault for every 4 KB otherwise. Raises MemoryError when there is none left."""
    return _core.empty(shape, dtype) if _core is not None else np.empty(shape, dtype)


def memory_stats() -> dict[str, int]:
    """``allocated``: bytes of arenas and results in use; ``cached``: bytes kept for the next; ``peak``: the most that were in
    use at once; ``bound``: as many are kept at most; ``hits`` and ``misses``: how often kept memory could be used again or
    not. All 0 without the compiled part, where memory is NumPy's.

    Examples
    --------
    >>> from gluonnx import mx
    >>> sorted(mx.memory_stats())
    ['allocated', 'bound', 'cached', 'hits', 'misses', 'peak']
    """
    if _core is None:
        return dict.fromkeys(("allocated", "cached", "peak", "bound", "hits", "misses"), 0)
    return _core.memory_stats()


def set_memory_bound(size: int) -> None:
    """Keep no more than so many bytes of memory that is not in use. Raises ValueError for a negative number."""
    if size < 0:
        raise ValueError(f"set_memory_bound: got {size}, wanted 0 (keep nothing) or more bytes")
    if _core is not None:
        _core.set_memory_bound(size)


def release_memory() -> int:
    """Give back to the system what is kept and not in use; gives its size in bytes."""
    return _core.release_memory() if _core is not None else 0


def why_not() -> str | None:
    """Reason why NumPy does everything; None when kernels could be used."""
    if LEVELS:
        return None
    if _core is not None:
        there = sorted(p.stem.removeprefix("_kernels_") for p in _library("any").parent.glob("_kernels_*"))
        return (
            f"its kernels are for CPUs of other levels ({', '.join(there) or 'none'}), and this CPU has "
            f"{', '.join(_core.cpu_levels())}; install gluonnx on this machine, or build it with -C cmake.define.LEVELS=all"
        )
    if problem == f"No module named '{__name__}._core'":
        own, compiled = Path(__file__).resolve().parent.parent, _compiled_elsewhere()
        if compiled is not None:
            return (
                f"Python took {own}, which was not compiled, before the gluonnx that is installed and compiled in {compiled}: it "
                "looks in the program's own folder first, or where it was started. Work in another folder than a checkout of "
                "gluonnx, or set PYTHONSAFEPATH=1 (Python 3.11 and newer)"
            )
        return "it was not compiled when gluonnx was installed, for which a C++ compiler has to be there"
    return f"it does not load: {problem}"


def _compiled_elsewhere() -> Path | None:
    """A folder of sys.path that this package would have come from, compiled, if another one did not stand before it."""
    package, own = __name__.split("."), Path(__file__).resolve().parent
    for folder in dict.fromkeys(Path(entry or ".").resolve() for entry in sys.path):
        inner = folder.joinpath(*package)
        if inner != own and any((inner / f"_core{end}").is_file() for end in importlib.machinery.EXTENSION_SUFFIXES):
            return folder
    return None


_mentioned = False


def warn_not_compiled() -> None:
    """Say that the compiled part is missing, once in a process, in the log: for when something large is about to run.

    Says nothing when it is there and ``use(None)`` has put it aside."""
    global _mentioned
    if LEVELS or _mentioned:
        return
    _mentioned = True
    import logging

    logging.getLogger("hybrid.native").warning(
        "gluonnx runs without its compiled part: %s. Results are the same, several times slower. "
        "`python -m hybrid.native` tells more.",
        why_not(),
    )


if LEVELS:
    use(LEVELS[0])
