"""The data that is trained on: where it stands, whether it is what it was, and the random numbers that it draws."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..core import rng
from ..core.error import MXNetError
from ..core.watch import Made
from ..eager.sparse import BaseSparseNDArray
from ..io import DataBatch
from ..ndarray import NDArray
from . import own

SAMPLE = 1024
"""Elements of an array that a mark looks at."""


def size(item: Any) -> int | None:
    """Number of examples in a batch, by the first of its arrays; None for what has none."""
    if isinstance(item, DataBatch):
        item = item.data
    while isinstance(item, list | tuple | Mapping):
        if not item:
            return None
        item = next(iter(item.values() if isinstance(item, Mapping) else item))
    shape = getattr(item, "shape", None)
    return int(shape[0]) if shape else None


def mark(before: str, item: Any) -> str:
    """Mark by which batches that were gone through are told from others: of the mark before and some numbers of this one."""
    found = hashlib.blake2b(before.encode(), digest_size=16)

    def look(part: Any) -> None:
        if isinstance(part, DataBatch):
            part = [part.data, part.label, part.pad, part.bucket_key]
        if isinstance(part, BaseSparseNDArray):
            part = [part.shape, part.data]
        if isinstance(part, NDArray):
            part = part._read()
        if isinstance(part, list | tuple):
            found.update(f"({len(part)}".encode())
            for inner in part:
                look(inner)
        elif isinstance(part, Mapping):
            look([list(map(repr, part.keys())), list(part.values())])
        elif isinstance(part, np.ndarray) and not part.dtype.hasobject:
            found.update(f"{part.dtype.str}{part.shape}".encode())
            found.update(np.ascontiguousarray(part.reshape(-1)[:: max(1, part.size // SAMPLE)]).tobytes())
        elif part is None or isinstance(part, bool | int | float | str | bytes | np.generic):
            found.update(repr(part).encode())
        else:  # nothing is known of it that is the same in another process
            found.update(type(part).__name__.encode())

    look(item)
    return found.hexdigest()


class Apart:
    """Generators that the program has drawn from since data last found them.

    names: those at first. after: how data left them; None where it has found none."""

    def __init__(self, names: set[str], after: dict[str, Any] | None = None) -> None:
        self._names, self._after = names, after

    def found(self, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
        """States, as numbers and texts, in which data found those of them that it drew from."""
        if self._after is not None:
            self._names |= rng.moved(self._after, before)
        both = self._names & rng.moved(before, after)
        self._names -= both
        self._after = after
        plain = rng.as_plain(before) if both else {}
        return {name: plain[name] for name in sorted(both)}


class Drawn:
    """The states of random numbers that data found when it drew some and the program had drawn some since: with them the batches
    that were gone through can be made once more, without what the program did with them."""

    def __init__(self, found: list[list[Any]]) -> None:
        self.found = found
        """[number of the batch, states of those generators]"""
        self._apart = Apart(set(), rng.look())

    def begin(self) -> dict[str, Any]:
        """Before a batch is made."""
        return rng.look()

    def end(self, number: int, before: dict[str, Any]) -> None:
        """After it was made."""
        if plain := self._apart.found(before, rng.look()):
            self.found.append([number, plain])


class Together:
    """Several sources of batches side by side, as zip has them."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return min(map(len, self.parts))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return zip(*self.parts)

    @property
    def _may_draw_in_threads(self) -> bool:
        return any(getattr(part, "_may_draw_in_threads", False) for part in self.parts)


def says_its_state(data: Any) -> bool:
    """True for what has the methods by which it is asked for its state, and is given it."""
    return all(callable(getattr(data, name, None)) for name in ("state_dict", "load_state_dict"))


def is_own(data: Any) -> bool:
    """True for an iterator of which only its calls tell where it stands, or that says it: mx.io's say it in words of their own."""
    said = hasattr(data, "_standing") or getattr(data, "_repeats", False)
    return Made.number(data) is not None and (says_its_state(data) or not said)


def state_of(data: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The state that an iterator says it has, as JSON, whose arrays go to ``arrays``."""
    return own.taken(data.state_dict(), f"{type(data).__name__}.state_dict()", arrays)


def give_state(data: Any, said: Any, arrays: Mapping[str, np.ndarray]) -> None:
    """Give it back."""
    data.load_state_dict(own.given_back(None, said, f"{type(data).__name__}.state_dict()", arrays))


def standing(data: Any, check: Callable[[Any], None]) -> dict[str, np.ndarray]:
    """The place where an iterator stands. check: raises MXNetError for one of the program's own that cannot be made to stand."""
    if isinstance(data, Together):
        parts = [standing(part, check) for part in data.parts]
        return {f"{i}/{name}": array for i, part in enumerate(parts) for name, array in part.items()}
    if says_its_state(data):
        arrays: dict[str, np.ndarray] = {}
        said = state_of(data, arrays)
        return {"said": np.frombuffer(json.dumps(said).encode(), np.uint8), **{f"of/{n}": a for n, a in arrays.items()}}
    say = getattr(data, "_standing", None)
    if say is not None:
        return say()
    if hasattr(data, "reset") and not getattr(data, "_repeats", False):
        check(data)
    return {}


def stand(data: Any, place: Mapping[str, np.ndarray], epochs: int) -> None:
    """Have an iterator stand where it stood; one whose settings decide everything goes through the epochs before once more."""
    if isinstance(data, Together):
        for i, part in enumerate(data.parts):
            stand(part, own.under(f"{i}/", place), epochs)
        return
    if "said" in place:
        if not says_its_state(data):
            raise MXNetError(
                f"{type(data).__name__}: got the state that an iterator with state_dict() said, and has none"
            )
        arrays = own.under("of/", place)
        give_state(data, json.loads(bytes(place["said"])), arrays)
    elif place:
        data._stand(place)
    elif hasattr(data, "reset") and epochs and not is_own(data):
        logging.info("resuming: %s goes through %d epochs of data once more", type(data).__name__, epochs)
        for _ in range(epochs):
            for _ in data:
                pass
            data.reset()
