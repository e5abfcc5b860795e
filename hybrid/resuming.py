"""Training that goes on where it was cut off, bit for bit: weights, optimizer, rates, random numbers and the place in the data.

``python -m hybrid --resume FOLDER train.py`` has ``Module.fit`` keep all of that in a folder, and go on from it. A program with a
loop of its own says where its epochs and batches are::

    run = mx.resuming.Training(net=net, trainer=trainer)
    for epoch in run.epochs(10):
        for data, label in run.batches(loader):
            ...
            trainer.step(len(data))

Of several processes rank 0 writes the file, whole and at once, with what differs between ranks. docs/distributed.md."""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import random
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from .core import rng
from .core.error import FormatError, MXNetError
from .formats.files import read, write
from .kvstore.dist import DistStore
from .kvstore.world import World, joined_world
from .ndarray import NDArray, waitall

NAME = "training.npz"
VERSION = 1
_END = object()


class Settings:
    """The command line's wishes: the folder of the state, and the batches after which it is written."""

    folder: str | None = None
    every: int | None = None
    used = False
    """True once something keeps its state there."""


class Training:
    """A run of training that can be cut off at any time and begun again by the same program.

    folder: where its state is kept; without one that of ``--resume``, and without that nothing is kept. every: batches after which
    the state is written, besides the beginning of each epoch and the end. What is trained: net (a Block) with trainer, or module.
    Raises MXNetError when the state in the folder is of another program or number of ranks."""

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        net: Any = None,
        trainer: Any = None,
        module: Any = None,
        every: int | None = None,
    ) -> None:
        if (net is None) == (module is None):
            raise MXNetError("Training: wanted net (with trainer), or module")
        if module is not None and not hasattr(module, "_exec_group"):
            raise MXNetError(f"Training: got a {type(module).__name__}, wanted a Module")
        self._folder = Settings.folder if folder is None else os.fspath(folder)
        self._every = Settings.every if every is None else every
        if self._every is not None and self._every < 1:
            raise MXNetError(f"Training: got every={self._every}, wanted a number of batches, 1 or more")
        self._net, self._trainer, self._module = net, trainer, module
        self._epoch = self._batch = 0
        self._begin: dict[str, Any] | None = None
        """Random numbers and place at the beginning of the epoch, when that is one that was cut off."""
        self._found: dict[str, np.ndarray] | None = None
        self._first = 0
        if self._folder is not None:
            Settings.used = True
            self._found = self._load()
            if self._found is not None:
                self._restore(self._found)

    @property
    def resumed(self) -> bool:
        """True when there was a state to go on from."""
        return self._found is not None

    def epochs(self, end: int, begin: int = 0) -> Iterator[int]:
        """Numbers of the epochs that are left to do, of those from begin to before end."""
        self._epoch = max(self._epoch, begin)
        self._first = begin
        while self._epoch < end:
            yield self._epoch
            self._epoch, self._batch = self._epoch + 1, 0
        self._save(end, 0, _randoms(), None)

    def batches(self, data: Iterable[Any]) -> Iterator[Any]:
        """The batches of an epoch that are left to do. data: a DataLoader, an iterator of mx.io, a list."""
        if self._folder is None:
            yield from data
            return
        done, begin = self._batch, self._begin
        if begin is not None:
            _stand(data, begin["place"], self._epoch)
            _set_randoms(begin["random"])
        else:
            begin = {"random": _randoms(), "place": _standing(data)}
            if self._epoch > self._first:  # before the first there is nothing that the program does not make again
                self._save(self._epoch, 0, begin["random"], begin)
        source = iter(data)
        for _ in range(done):
            next(source, None)
        if self._begin is not None:
            assert self._found is not None
            _set_randoms(json.loads(bytes(self._found["random"])))
            self._begin = None
        item = next(source, _END)
        while item is not _END:
            yield item
            done += 1
            due = self._every is not None and done % self._every == 0
            before = _randoms() if due else {}
            item = next(source, _END)
            if due and item is not _END:
                self._save(self._epoch, done, before, begin)

    # -- the file -------------------------------------------------------------------------------------------------------

    def _path(self) -> str:
        assert self._folder is not None
        return os.path.join(self._folder, NAME)

    def _save(self, epoch: int, batch: int, randoms: dict[str, Any], begin: dict[str, Any] | None) -> None:
        """Write everything to the file, of all ranks together."""
        if self._folder is None:
            return
        waitall()
        place = {} if begin is None else begin["place"]
        arrays = {f"place/{k}": v for k, v in place.items()}
        arrays["random"] = _as_bytes(randoms)
        if begin is not None:
            arrays["random_at_begin"] = _as_bytes(begin["random"])
        arrays.update(self._state())
        world = joined_world()
        size = 1 if world is None else world.size
        about = {"version": VERSION, "epoch": epoch, "batch": batch, "ranks": size}
        merged = arrays if world is None or size == 1 else _merged(world, arrays)
        if merged is not None:
            os.makedirs(self._folder, exist_ok=True)
            write(self._path(), _packed({"about": _as_bytes(about), **merged}))

    def _load(self) -> dict[str, np.ndarray] | None:
        """This rank's part of the file; None where there is no file."""
        world = joined_world()
        content = b""
        if (world is None or world.rank == 0) and os.path.exists(self._path()):
            content = read(self._path())
        if world is not None and world.size > 1:
            content = bytes(world.gather("state to resume", np.frombuffer(content, np.uint8))[0])
        if not content:
            return None
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as held:
                found = {name: held[name] for name in held.files}
            about = json.loads(bytes(found.pop("about")))
            version, epoch, batch, ranks = (about[k] for k in ("version", "epoch", "batch", "ranks"))
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise FormatError(f"{self._path()}: no state of training, or a damaged one: {error}") from error
        size, rank = (1, 0) if world is None else (world.size, world.rank)
        if version != VERSION or ranks != size:
            raise MXNetError(
                f"{self._path()}: got a state of version {version} and {ranks} ranks, wanted version {VERSION} and {size} ranks; "
                "start as many as wrote it, or name an empty folder"
            )
        common = {n: a for n, a in found.items() if not n.startswith("rank/")}
        own = {n.removeprefix(f"rank/{rank}/"): a for n, a in found.items() if n.startswith(f"rank/{rank}/")}
        self._epoch, self._batch = epoch, batch
        logging.info("resuming from %s: epoch %d, batch %d", self._path(), epoch, batch)
        return {**common, **own}

    # -- what is trained ------------------------------------------------------------------------------------------------

    def _parameters(self) -> dict[str, list[NDArray]]:
        """All weights and auxiliary states, each on all its contexts."""
        if self._module is not None:
            group = self._module._exec_group
            named = zip((*group.param_names, *group.aux_names), (*group.param_arrays, *group.aux_arrays))
            return {name: list(arrays) for name, arrays in named}
        return {name: list(p._data or ()) for name, p in self._net._collect_params_with_prefix().items()}

    def _store_and_updaters(self) -> tuple[Any, list[Any]]:
        """The store, where there is one, and what holds states of the optimizer."""
        if self._module is not None:
            store, on_store = self._module._kvstore, self._module._update_on_kvstore
            updaters = [self._module._updater]
        elif self._trainer is not None:
            self._trainer._prepare()
            store, on_store = self._trainer._kvstore, self._trainer._update_on_kvstore
            updaters = self._trainer._updaters
        else:
            return None, []
        return store, [store._updater] if on_store else updaters

    def _state(self) -> dict[str, np.ndarray]:
        found = {}
        for name, arrays in self._parameters().items():
            for i, array in enumerate(arrays):
                found[f"parameter/{i}/{name}"] = array.asnumpy()
        store, updaters = self._store_and_updaters()
        for i, updater in enumerate(updaters):
            found[f"optimizer/{i}"] = np.frombuffer(updater.get_states(dump_optimizer=True), np.uint8)
        for i, array in enumerate(getattr(store, "_kept", {}).values()):
            found[f"kept/{i}"] = array.asnumpy()
        if isinstance(store, DistStore):
            found.update({f"residual/{i}": r for i, r in enumerate(store._residuals.values())})
            found["residuals"] = _as_bytes(list(store._residuals))
        return found

    def _restore(self, found: Mapping[str, np.ndarray]) -> None:
        """Set everything to what it was. Raises MXNetError, naming all that differs, when this is another program."""
        if self._net is not None:
            self._finish_shapes(found)
        targets = {f"parameter/{i}/{n}": a for n, arrays in self._parameters().items() for i, a in enumerate(arrays)}
        wanted = {name: (tuple(a.shape), np.dtype(a.dtype)) for name, a in targets.items()}
        got = {name: (a.shape, a.dtype) for name, a in found.items() if name.startswith("parameter/")}
        wrong = [
            f"{name.split('/', 2)[2]}: got {_said(got.get(name))}, wanted {_said(wanted.get(name))}"
            for name in sorted({*wanted, *got})
            if got.get(name) != wanted.get(name)
        ]
        if wrong:
            raise MXNetError(f"{self._path()}: the state of another network:\n  " + "\n  ".join(wrong))
        for name, array in targets.items():
            array[:] = found[name]
        store, updaters = self._store_and_updaters()
        for (
            name,
            array,
        ) in targets.items():  # once more: a store that was made just now has given all ranks those of rank 0
            array[:] = found[name]
        for i, updater in enumerate(updaters):
            if f"optimizer/{i}" not in found:
                raise MXNetError(f"{self._path()}: it has no states of optimizer {i}, which this program has")
            updater.set_states(found[f"optimizer/{i}"].tobytes(), self._path())
            if self._trainer is not None:
                self._trainer._adopt_optimizer(updater.optimizer)
        for i, array in enumerate(getattr(store, "_kept", {}).values()):
            if f"kept/{i}" in found:
                array[:] = found[f"kept/{i}"]
        if isinstance(store, DistStore) and "residuals" in found:
            keys = json.loads(bytes(found["residuals"]))
            store._residuals.update({key: found[f"residual/{i}"].copy() for i, key in enumerate(keys)})
        if "random_at_begin" in found:
            place = {n.removeprefix("place/"): a for n, a in found.items() if n.startswith("place/")}
            self._begin = {"random": json.loads(bytes(found["random_at_begin"])), "place": place}
        else:
            _set_randoms(json.loads(bytes(found["random"])))

    def _finish_shapes(self, found: Mapping[str, np.ndarray]) -> None:
        """Make the arrays of parameters that wait for their shapes, which the state knows."""
        for name, param in self._net._collect_params_with_prefix().items():
            value = found.get(f"parameter/0/{name}")
            if param._deferred_init is not None and value is not None:
                param.shape = value.shape
                param._finish_deferred_init()


def _said(what: tuple[tuple[int, ...], np.dtype] | None) -> str:
    return "nothing" if what is None else f"{what[1]}{what[0]}"


def _as_bytes(value: Any) -> np.ndarray:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def _packed(arrays: Mapping[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # pyright: ignore[reportArgumentType]  names come from outside, and none is a parameter of it
    return buffer.getvalue()


def _merged(world: World, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray] | None:
    """Rank 0's arrays and, as ``rank/N/...``, those of others that differ from them; in other ranks None."""
    own = {
        n: [hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest(), str(a.dtype), a.shape]
        for n, a in arrays.items()
    }
    first = world.gather_json("digests of a state", own)[0]
    own = json.loads(json.dumps(own))
    different = {n: a for n, a in arrays.items() if first.get(n) != own[n]}
    parts = world.gather("state of all ranks", np.frombuffer(_packed(different), np.uint8))
    if world.rank != 0:
        return None
    merged = dict(arrays)
    for rank, part in enumerate(parts):
        with np.load(io.BytesIO(bytes(part)), allow_pickle=False) as held:
            merged.update({f"rank/{rank}/{name}": held[name] for name in held.files})
    return merged


# -- random numbers and places ------------------------------------------------------------------------------------------------


def _randoms() -> dict[str, Any]:
    """The places where generators stand: the engine's in this thread, NumPy's global one and Python's."""
    kind, keys, place, gauss, cached = np.random.get_state(legacy=True)
    version, numbers, following = random.getstate()
    return {
        "engine": rng.get_state(),
        "numpy": [kind, np.asarray(keys).tolist(), place, gauss, cached],
        "python": [version, list(numbers), following],
    }


def _set_randoms(held: Mapping[str, Any]) -> None:
    rng.set_state(held["engine"])
    kind, keys, *rest = held["numpy"]
    np.random.set_state((kind, np.array(keys, np.uint32), *rest))
    version, numbers, following = held["python"]
    random.setstate((version, tuple(numbers), following))


def _standing(data: Any) -> dict[str, np.ndarray]:
    """The place where an iterator stands at the beginning of an epoch. Raises MXNetError for one that is shuffled unseen."""
    say = getattr(data, "_standing", None)
    if say is not None:
        return say()
    if hasattr(data, "reset") and not getattr(data, "_repeats", False):
        raise MXNetError(
            f"Training: {type(data).__name__} cannot say where it stands in its data; wanted a gluon DataLoader, an NDArrayIter, "
            "or one of mx.io's iterators over files"
        )
    return {}


def _stand(data: Any, place: Mapping[str, np.ndarray], epochs: int) -> None:
    """Have an iterator stand where it stood; one whose settings decide everything goes through the epochs before once more."""
    if place:
        data._stand(place)
    elif hasattr(data, "reset") and epochs:
        logging.info("resuming: %s goes through %d epochs of data once more", type(data).__name__, epochs)
        for _ in range(epochs):
            for _ in data:
                pass
            data.reset()
