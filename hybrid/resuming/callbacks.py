"""Variables that the functions and objects that ``fit`` is given carry from call to call: attributes, of closures, and globals.

Nobody says which of these matter, so that all are looked at where training begins, and those that have changed since are in the
state: a setting that the program asks for otherwise than it did stays what it asks for."""

from __future__ import annotations

import argparse
import contextlib
import dis
import enum
import functools
import io
import json
import logging
import pathlib
import random
import sys
import sysconfig
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np

from ..core.error import MXNetError
from ..gluon import Block, Parameter, ParameterDict, Trainer
from ..metric import EvalMetric
from ..monitor import Monitor
from ..ndarray import NDArray
from ..optimizer.states import can_hold
from .own import given_back, taken

Held = dict[str, dict[str, Any]]
"""Variables as they were taken, by the place that has them and their names."""
HERE = __name__.partition(".")[0]
LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
NUMBERS = (type(None), bool, int, float, str, np.generic)
GENERATORS = (np.random.RandomState, np.random.Generator, random.Random)
SEQUENCES = (list, tuple, set, deque)
MAPPINGS = (dict, OrderedDict, defaultdict, Counter)
TRAINED: tuple[type, ...] = (Block, Parameter, ParameterDict, Trainer)
CONSTANT = (
    bytes, complex, frozenset, range, np.dtype, pathlib.PurePath, enum.Enum, types.ModuleType, type, logging.Logger, io.IOBase,
)  # fmt: skip
"""Kinds that hold nothing that changes, or that a program makes again as they were."""
_NONE: Any = object()
DEPTH = 12


class Callbacks:
    """Variables of what ``fit`` is given, and of schedules of rates.

    roots: by the names of its parameters; lists of them too. trained: what has a place of its own in the state.
    before: of some of the same variables, which may have been given something back."""

    def __init__(self, roots: Mapping[str, Any], trained: Iterable[Any], before: Callbacks | None = None) -> None:
        self._roots = {name: value for name, value in roots.items() if value is not None}
        self._trained = {id(one) for one in trained if one is not None}
        self._packages = {_package(root) for root in _flat(self._roots.values())} - {HERE, *sys.stdlib_module_names}
        self._told: set[str] = set() if before is None else before._told
        self._before: dict[tuple[str, str], tuple[Any, dict[str, np.ndarray]]] = (
            {} if before is None else before._before
        )
        """Variables that were given something back, as the program had made them: None where it had not."""
        begun, self._others = self._look({})
        self._begun = {owner: {n: json.dumps(said) for n, said in names.items()} for owner, names in begun.items()}
        self._begun |= {} if before is None else before._begun
        self._tell([path for path, (value, _) in self._others.items() if _may_change(value)])

    def taken(self, arrays: dict[str, np.ndarray]) -> Held:
        """Variables that training has changed, as JSON, whose arrays go to ``arrays``. Warns of what cannot be kept."""
        all_arrays: dict[str, np.ndarray] = {}
        now, others = self._look(all_arrays)
        found: Held = {}
        for owner, names in now.items():
            for name, said in names.items():
                if json.dumps(said) != self._begun.get(owner, {}).get(name):
                    found.setdefault(owner, {})[name] = said
        arrays.update({n: all_arrays[n] for n in _arrays_of(found)})
        for path, (value, length) in others.items():
            before, was = self._others.get(path, (None, None))
            if (value is not before and not callable(value)) or length != was or _may_change(value):
                self._tell([path])
        return found

    def give_back(self, held: Held, arrays: Mapping[str, np.ndarray]) -> None:
        """Set variables to what they were; those that had not changed to what the program has made them."""
        places = dict(self._places())
        for owner, names in held.items():
            for name in names:
                if owner not in places:
                    if owner.partition("[")[0].partition(".")[0].partition("(")[0].strip() in self._roots:
                        self._tell([f"{owner}.{name}"])
                elif (owner, name) not in self._before:
                    own: dict[str, np.ndarray] = {}
                    there = name in places[owner] and _plain(places[owner][name])
                    self._before[owner, name] = (taken(places[owner][name], name, own) if there else _NONE, own)
        for (owner, name), (said, own) in self._before.items():
            place = places[owner]
            if name in held.get(owner, {}):
                said, own = held[owner][name], dict(arrays)
            elif said is _NONE:
                place.pop(name, None)
                continue
            try:
                place[name] = given_back(place.get(name), said, f"{owner}.{name}", own)
            except MXNetError:  # another kind of thing is there
                self._tell([f"{owner}.{name}"])

    def _look(self, arrays: dict[str, np.ndarray]) -> tuple[Held, dict[str, tuple[Any, int | None]]]:
        """All variables that can be kept; and by their paths the values that cannot, with the lengths of those that have one."""
        found: Held = {}
        others: dict[str, tuple[Any, int | None]] = {}
        for owner, place in self._places():
            for name, value in place.items():
                if _plain(value):
                    found.setdefault(owner, {})[name] = taken(value, f"{owner}.{name}", arrays)
                elif not self._is_known(value):
                    others[f"{owner}.{name}"] = value, len(value) if type(value) in (*SEQUENCES, *MAPPINGS) else None
        others.update(
            {
                name: (root, None)
                for name, root in self._roots.items()
                if not self._is_known(root) and type(root) not in SEQUENCES
            }
        )
        return found, others

    def _is_known(self, value: Any) -> bool:
        """True for what is trained, what is walked through, and what holds nothing that changes."""
        if id(value) in self._trained or isinstance(value, (*CONSTANT, functools.partial, types.MethodType)):
            return True
        if self._function(value) is not None or self._is_own(value):
            return True
        return type(value).__module__.partition(".")[0] == HERE and not isinstance(value, TRAINED)

    def _tell(self, paths: list[str]) -> None:
        new = [path for path in paths if path not in self._told]
        self._told.update(new)
        if new:
            logging.warning(
                "Training: the program carries %s from call to call, and the state does not: after a break %s anew. Where training "
                "depends on it, keep it as numbers, texts, arrays, or lists and dicts of these",
                ", ".join(new),
                "it begins" if len(new) == 1 else "they begin",
            )

    # -- whose they are ------------------------------------------------------------------------------------------------

    def _is_library(self, names: Mapping[str, Any]) -> bool:
        """True for a module of gluonnx, of Python or of a package from which fit was given nothing, by its variables."""
        module, file = names.get("__name__", ""), names.get("__file__")
        if module == "__main__" or module.partition(".")[0] in self._packages:
            return False
        if module.partition(".")[0] == HERE or file is None:
            return True
        return file.startswith(LIBRARIES) or not {"site-packages", "dist-packages"}.isdisjoint(pathlib.Path(file).parts)

    def _is_program(self, kind: type) -> bool:
        module = sys.modules.get(kind.__module__)
        return kind.__module__ == "__main__" or (module is not None and not self._is_library(vars(module)))

    def _is_own(self, value: Any) -> bool:
        """True for an object of a class of the program, and for what only holds attributes."""
        if not hasattr(value, "__dict__") or isinstance(value, (*TRAINED, *CONSTANT)):
            return False
        return isinstance(value, argparse.Namespace | types.SimpleNamespace) or self._is_program(type(value))

    def _function(self, value: Any) -> types.FunctionType | None:
        """A function that the program itself defines."""
        if isinstance(value, staticmethod | classmethod):
            value = value.__func__
        own = isinstance(value, types.FunctionType) and not self._is_library(value.__globals__)
        return value if own else None

    # -- the places ----------------------------------------------------------------------------------------------------

    def _places(self) -> Iterator[tuple[str, MutableMapping[str, Any]]]:
        """Places that have variables, by paths that are the same in each run of the program."""
        seen: set[int] = set(self._trained)
        waiting: list[tuple[str, Any, int]] = [(name, value, 0) for name, value in self._roots.items()]
        while waiting:
            path, value, depth = waiting.pop(0)
            if depth > DEPTH or id(value) in seen or _plain(value):
                continue
            seen.add(id(value))
            inner: Iterable[tuple[str, Any]] = ()
            if type(value) in (list, tuple):
                inner = [(f"{path}[{i}]", part) for i, part in enumerate(value)]
            elif type(value) in MAPPINGS:
                inner = [(f"{path}[{key!r}]", part) for key, part in value.items()]
            elif isinstance(value, Unwritten):
                yield path, value
                inner = [(f"{path}.{name}", part) for name, part in value.items()]
            elif isinstance(value, functools.partial):
                inner = [
                    (f"{path}.func", value.func), (f"{path}.args", list(value.args)), (f"{path}.keywords", value.keywords)
                ]  # fmt: skip
            elif isinstance(value, types.MethodType):
                inner = [(path, value.__self__), (path, value.__func__)]
            elif (function := self._function(value)) is not None:
                for place in (_Cells(function), _Globals(function)):
                    if place:
                        yield f"{path}{place.mark}", place
                        inner = [*inner, *((f"{path}{place.mark}.{name}", part) for name, part in place.items())]
            elif self._is_own(value) or isinstance(value, EvalMetric | Monitor):
                place = vars(value)
                yield path, place
                inner = [(f"{path}.{name}", part) for name, part in place.items()]
                for kind in type(value).__mro__:
                    if id(kind) not in seen and self._is_program(kind):
                        seen.add(id(kind))
                        own = _ClassVariables(kind)
                        yield kind.__qualname__, own
                        functions = {n: self._function(f) for n, f in vars(kind).items()}
                        inner = [*inner, *((f"{kind.__qualname__}.{n}", f) for n, f in functions.items() if f)]
            waiting += [(at, part, depth + 1) for at, part in inner]


class _Variables(MutableMapping[str, Any]):
    """Variables that are not in a dict of their own."""

    mark = ""

    def _names(self) -> Iterable[str]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(list(self._names()))

    def __delitem__(self, name: str) -> None:
        raise KeyError(name)


class Unwritten(_Variables):
    """Attributes of a schedule of rates that a file of an optimizer's states cannot hold: its others are there."""

    def __init__(self, schedule: Any) -> None:
        self._own = vars(schedule)

    def _names(self) -> Iterable[str]:
        return [name for name, value in self._own.items() if not can_hold(value)]

    def __getitem__(self, name: str) -> Any:
        return self._own[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._own[name] = value

    @contextlib.contextmanager
    def out_of_the_way(self) -> Iterator[None]:
        """The schedule is without them."""
        held = {name: self._own[name] for name in self._names()}
        for name in held:
            del self._own[name]
        try:
            yield
        finally:
            self._own.update(held)


class _Cells(_Variables):
    """Variables of the functions around a function."""

    mark = "()"

    def __init__(self, function: types.FunctionType) -> None:
        self._cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))

    def _names(self) -> Iterable[str]:
        return [name for name, cell in self._cells.items() if _content(cell) is not _content]

    def __getitem__(self, name: str) -> Any:
        return self._cells[name].cell_contents

    def __setitem__(self, name: str, value: Any) -> None:
        self._cells[name].cell_contents = value


class _Globals(_Variables):
    """Variables of a program that one of its functions reads or sets."""

    mark = " (globals)"

    def __init__(self, function: types.FunctionType) -> None:
        self._globals = function.__globals__
        self._read = sorted(_globals_of(function.__code__))

    def _names(self) -> Iterable[str]:
        return [name for name in self._read if name in self._globals]

    def __getitem__(self, name: str) -> Any:
        return self._globals[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._globals[name] = value


class _ClassVariables(_Variables):
    """Variables of a class that are plain values."""

    def __init__(self, kind: type) -> None:
        self._kind = kind

    def _names(self) -> Iterable[str]:
        return [name for name, value in vars(self._kind).items() if not name.startswith("__") and _plain(value)]

    def __getitem__(self, name: str) -> Any:
        return vars(self._kind)[name]

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self._kind, name, value)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # of a variable that is not set yet
        return _content


def _globals_of(code: types.CodeType) -> set[str]:
    names = {
        one.argval for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "STORE_GLOBAL", "LOAD_NAME")
    }
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            names |= _globals_of(part)
    return names


def _plain(value: Any, depth: int = 0) -> bool:
    """True for numbers, texts, arrays, generators of random numbers, and containers of these."""
    if isinstance(value, NUMBERS) and (isinstance(value, np.generic) or type(value).__module__ == "builtins"):
        return True
    if isinstance(value, (NDArray, *GENERATORS)):
        return True
    if isinstance(value, np.ndarray):
        return not value.dtype.hasobject
    if depth > DEPTH:
        return False
    held: Any = value
    if type(held) in SEQUENCES:
        return all(_plain(part, depth + 1) for part in held)
    return type(held) in MAPPINGS and all(
        _plain(key, depth + 1) and _plain(part, depth + 1) for key, part in held.items()
    )


def _may_change(value: Any) -> bool:
    """True for what cannot be kept and may become another thing while it stays where it is. Foreign callables do not."""
    if isinstance(value, TRAINED) or hasattr(value, "__next__"):
        return True
    slots = bool(getattr(type(value), "__slots__", ())) and not isinstance(value, tuple)
    return slots or (bool(getattr(value, "__dict__", None)) and not callable(value))


def _package(root: Any) -> str:
    """The package that a function, or the class of an object, is of."""
    of = root if isinstance(root, types.FunctionType) else type(root)
    return (of.__module__ or "").partition(".")[0]


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _flat(value)
        else:
            yield value


def _arrays_of(said: Any) -> Iterator[str]:
    """Names of the arrays of what was taken."""
    if isinstance(said, dict):
        if isinstance(said.get("array"), str):
            yield said["array"]
        for part in said.values():
            yield from _arrays_of(part)
    elif isinstance(said, list):
        for part in said:
            yield from _arrays_of(part)
