"""Iterators of a program's own go through what they went through before once more: nobody else knows where they stand.

Each call that the program makes of one, from the first epoch on, is kept, with the random numbers that it found where the program
had drawn some since. An iterator that has ``state_dict`` and ``load_state_dict`` is asked instead."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..core import rng
from ..core.error import MXNetError
from ..core.watch import Made
from .data import Apart, give_state, is_own, mark, says_its_state, state_of
from .own import under
from .trained import as_bytes

GENERATORS = {"engine", "numpy", "python"}
STEP = "step"
"""A batch of what ``__iter__`` of an iterator gave, where that is another thing."""


class Calls:
    """Calls of iterators, one after the other, and marks of all that they gave."""

    def __init__(self, held: Mapping[str, Any] | None = None) -> None:
        held = held or {}
        self.runs: list[list[Any]] = [list(run) for run in held.get("runs", ())]
        """[number of the iterator, method, times one after the other]; None for what cannot be called again"""
        self.found: list[list[Any]] = list(held.get("found", ()))
        """[number of the call, states of the generators that it found otherwise than the call before had left them]"""
        self.marks: dict[int, str] = {int(number): said for number, said in held.get("marks", {}).items()}
        """Of all that each iterator gave."""
        self._twister = rng.Twister()
        self._count = sum(times for _, _, times in self.runs)
        self._apart = Apart(set(GENERATORS))

    def plain(self) -> dict[str, Any]:
        return {"runs": self.runs, "found": self.found, "marks": self.marks}

    def add(self, number: int, what: str | None, before: dict[str, Any], after: dict[str, Any], given: Any) -> None:
        if plain := self._apart.found(before, after):
            self.found.append([self._count, {name: self._twister.short(name, state) for name, state in plain.items()}])
        if self.runs and self.runs[-1][:2] == [number, what]:
            self.runs[-1][2] += 1
        else:
            self.runs.append([number, what, 1])
        self._count += 1
        if what is not None:
            self.marks[number] = mark(self.marks.get(number, ""), given)

    def repeat(self, do: Callable[[int, str], Any]) -> set[int]:
        """Make the calls once more. Gives the iterators that gave other things."""
        states: dict[int, Any] = {number: held for number, held in self.found}
        twister, seen, count = rng.Twister(), dict.fromkeys(self.marks, ""), 0
        for number, what, times in list(self.runs):
            for _ in range(times):
                held = states.get(count, {})
                rng.set_all_states({name: twister.whole(name, state) for name, state in held.items()})
                if what is not None:
                    seen[number] = mark(seen[number], do(number, what))
                count += 1
        return {number for number, found in self.marks.items() if seen[number] != found}


class Again:
    """Calls that a program makes of its own iterators while a training's epochs go by."""

    _within = False
    """True in a call, which makes those that it makes, and where calls are made once more."""

    def __init__(self, found: Mapping[str, np.ndarray] | None, outer: Any = None) -> None:
        self._outer = outer if outer is not None and outer.waits else None
        """That of a training before, which may have to catch up first."""
        self._put_off: Callable[[], None] | None = None
        self._held: list[Any] = []
        """Iterators that it is for, which have to be there then."""
        self._found = found if found is not None and "again" in found else None
        held = json.loads(bytes(self._found["again"])) if self._found is not None else {}
        self.whole = Calls(held)
        self.beside = Calls()
        """Those among the batches of this epoch that are not for its batches."""
        self.for_batches = False
        self._names: dict[int, str] = {int(n): name for n, name in held.get("names", {}).items()}
        self._said: dict[str, Any] = held.get("said", {})
        self._asked: set[int] = {int(n) for n in self._said}
        self.trained: set[int] = set(held.get("trained", ()))
        """Those that gave batches to train on."""
        self._sources: dict[int, Any] = {}
        self._base = self._epoch = Made.count
        self._thread = threading.get_ident()

    def _number(self, thing: Any) -> int | None:
        """Number of an iterator of the program's own that was there before the first epoch, backwards from the last made."""
        made = Made.number(thing)
        return None if made is None or made > self._base or not is_own(thing) else self._base - made + 1

    def _thing(self, number: int) -> Any:
        thing = Made.thing(self._base - number + 1)
        got, wanted = "none" if thing is None else type(thing).__qualname__, self._names[number]
        if got != wanted:
            raise MXNetError(
                f"of the program's own iterators, number {number} from the last is {got}, and was {wanted}"
            )
        return thing

    def call(self, thing: Any, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a method of an iterator."""
        number = self._number(thing)
        if Again._within or number is None or threading.get_ident() != self._thread:
            return method(thing, *args, **kwargs)
        self.catch_up(thing)
        what = method.__name__
        self._names[number] = type(thing).__qualname__
        if says_its_state(thing):
            self._asked.add(number)
        given = self._noted(number, what, bool(args or kwargs), lambda: method(thing, *args, **kwargs))
        if what == "__iter__" and given is not thing:
            return _Steps(given, lambda: self._noted(number, STEP, False, lambda: next(given)))
        return given

    def put_off(self, do: Callable[[], None]) -> None:
        """Do it when an iterator is called that was called before, if that ever happens."""
        self._held = [Made.thing(self._base - number + 1) for number in self._names]
        self._put_off = do

    @property
    def waits(self) -> bool:
        """True while something is put off, here or ahead of it."""
        return self._put_off is not None or self._outer is not None

    def catch_up(self, thing: Any) -> None:
        """Do what is put off until this iterator is called."""
        if self._outer is not None:
            self._outer.catch_up(thing)
            if not self._outer.waits:
                self._outer = None
        if self._put_off is not None and self._number(thing) in self._names:
            do, self._put_off = self._put_off, None
            do()
            self._held = []

    def for_an_epoch(self, do: Callable[[], Any]) -> Any:
        """Do what gives the batches of an epoch."""
        self.for_batches = True
        try:
            return do()
        finally:
            self.for_batches = False

    def _noted(self, number: int, what: str, told_more: bool, do: Callable[[], Any]) -> Any:
        if Again._within:
            return do()
        before = rng.look()
        given = None
        Again._within = True
        try:
            given = do()
            return given
        except Exception as error:
            given = type(error).__name__
            raise
        finally:
            Again._within = False
            if number not in self._asked:
                said = number, None if told_more else what, before, rng.look(), None if what == "__iter__" else given
                self.whole.add(*said)
                if self.for_batches:
                    self.trained.add(number)
                else:
                    self.beside.add(*said)

    def _do(self, number: int, what: str) -> Any:
        thing = self._thing(number)
        try:
            if what == STEP:
                return next(self._sources[number])
            given = getattr(thing, what)()
            if what == "__iter__":
                self._sources[number] = given
                return None
            return given
        except Exception as error:
            return type(error).__name__

    # -- what a state has ----------------------------------------------------------------------------------------------

    def at_head(self) -> dict[str, np.ndarray]:
        """All calls up to here, where an epoch begins; and what iterators that say their states say."""
        self._epoch = Made.count
        arrays: dict[str, np.ndarray] = {}
        self._asked = {n for n in self._asked if Made.thing(self._base - n + 1) is not None}
        said = {n: state_of(self._thing(n), arrays) for n in sorted(self._asked)}
        held = as_bytes({**self.whole.plain(), "names": self._names, "said": said, "trained": sorted(self.trained)})
        return {"again": held, **{f"again/{name}": array for name, array in arrays.items()}}

    def now_beside(self) -> np.ndarray:
        """Calls that went beside the batches of this epoch."""
        return as_bytes({**self.beside.plain(), "names": self._names})

    def check(self, data: Any) -> None:
        """Raise MXNetError for an iterator that cannot be made to stand where it stands."""
        made = Made.number(data)
        if made is None:
            raise MXNetError(
                f"Training: {type(data).__name__} cannot say where it stands in its data; wanted a gluon DataLoader, an "
                "NDArrayIter, one of mx.io's iterators over files, a subclass of mx.io.DataIter, or methods state_dict() and "
                "load_state_dict(state) that give and take numbers, texts, lists and arrays"
            )
        if self._base < made <= self._epoch:
            raise MXNetError(
                f"Training: {type(data).__name__} was made in an epoch before; wanted one that is made ahead of the loop over "
                "epochs, or in each epoch: a program that goes on makes it there once more"
            )

    # -- once more -----------------------------------------------------------------------------------------------------

    def once_more(self) -> set[int]:
        """Have iterators stand where they stood at the head of the epoch. Gives those that gave other things than before.

        Random numbers are what they were. Raises MXNetError when there are other iterators."""
        if self._found is None:
            return set()
        arrays = under("again/", self._found)
        times: dict[str, int] = {}
        for number, what, count in self.whole.runs:
            if what not in ("reset", "__iter__", None):
                times[self._names[number]] = times.get(self._names[number], 0) + count
        for name, count in times.items():
            logging.info("resuming: %s goes through %d batches once more", name, count)
        before = rng.get_all_states()
        if self._outer is not None:
            for number in self._names:
                self._outer.catch_up(self._thing(number))
        Again._within = True
        try:
            for number, said in self._said.items():
                give_state(self._thing(int(number)), said, arrays)
            return self.whole.repeat(self._do)
        finally:
            Again._within = False
            rng.set_all_states(before)

    def beside_once_more(self, held: np.ndarray | None) -> set[int]:
        """Make the calls once more that went beside the batches of this epoch. Gives iterators that gave other things."""
        if held is None:
            return set()
        said = json.loads(bytes(held))
        self.beside = Calls(said)
        self._names.update({int(n): name for n, name in said["names"].items()})
        if not self.beside.runs:
            return set()
        before, repeated = rng.get_all_states(), self.beside
        self.beside = Calls()
        try:
            return repeated.repeat(self._do)
        finally:
            self.beside = repeated
            rng.set_all_states(before)

    def named(self, numbers: set[int]) -> str:
        """Names of their classes."""
        return ", ".join(sorted({self._names[number] for number in numbers}))


class _Steps:
    """The batches of what ``__iter__`` of an iterator gave."""

    def __init__(self, source: Any, step: Callable[[], Any]) -> None:
        self._source, self._step = source, step

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._step()
