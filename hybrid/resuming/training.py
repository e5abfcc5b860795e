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
import math
import os
import random
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from .core import rng
from .core.error import FormatError, MXNetError
from .core.resume import Settings
from .formats.files import read, write
from .gluon import HybridBlock
from .io import DataBatch
from .kvstore.dist import DistStore
from .kvstore.world import World, joined_world
from .lr_scheduler import LRScheduler
from .ndarray import NDArray, waitall

__all__ = ["Training"]
NAME = "training.npz"
VERSION = 1
COUNTS = {"num_update", "idx2name", "param_dict", "sym_info", "_all_index_update_counts", "_index_update_count"}
"""Attributes of optimizers that are not what they were told."""
LOSS_SCALE = ("_loss_scale", "_next_loss_scale", "_unskipped")
"""Attributes that change as a scale of losses goes."""
_END: Any = object()


class Training:
    """A run of training that can be cut off at any time and begun again by the same program.

    Local variables of the program (a sum of losses, a metric) are not kept. Of what the program asks of the optimizer the state
    remembers what it was at first: where that is another now, the new value holds, and a warning says so. Raises MXNetError when
    the state in the folder is of another network, kind of optimizer, or number of ranks, and FormatError when it is damaged.

    Parameters
    ----------
    folder : str or None
        Where its state is kept, one training in each; None: that of ``--resume``, and without that nothing is kept.
    net : Block
        What is trained, initialized.
    trainer : Trainer
        What trains it.
    module : Module
        What is trained, in the place of net and trainer; its fit does this by itself.
    every : int or None
        Batches after which the state is written, besides the beginning of each epoch and the end; None: that of ``--every``, and
        without that only there.

    Examples
    --------
    >>> import hybrid as mx
    >>> net = mx.gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> data = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(mx.nd.ones((6, 2))), batch_size=3)
    >>> run = mx.resuming.Training("state", net=net, trainer=trainer)
    >>> for epoch in run.epochs(2):
    ...     for x in run.batches(data):
    ...         with mx.autograd.record():
    ...             loss = (net(x) - 1) ** 2
    ...         loss.backward()
    ...         trainer.step(3)
    >>> again = mx.resuming.Training("state", net=net, trainer=trainer)
    >>> again.resumed, list(again.epochs(2))  # all epochs are done
    (True, [])
    """

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
        self._folder, self._name = (Settings.folder, _next_name()) if folder is None else (os.fspath(folder), NAME)
        self._every = Settings.every if every is None else every
        if self._every is not None and self._every < 1:
            raise MXNetError(f"Training: got every={self._every}, wanted a number of batches, 1 or more")
        self._net, self._trainer, self._module = net, trainer, module
        self._epoch = self._batch = 0
        self._begin: dict[str, Any] | None = None
        """Random numbers and place at the beginning of the epoch, when that is one that was cut off."""
        self._found: dict[str, np.ndarray] | None = None
        self._first = 0
        self._gone = -1
        """The epoch whose batches are gone through, or were the last."""
        self._data: dict[str, Any] = {}
        """Marks of the batches of an epoch: how many, and how many examples the first has, where that can be known."""
        self._asked = self._asked_now()
        if self._folder is not None:
            if os.path.exists(self._folder) and not os.path.isdir(self._folder):
                raise MXNetError(f"Training: {self._folder} is a file, wanted a folder to keep the state in")
            Settings.used = True
            self._found = self._load()
            if self._found is not None:
                self._restore(self._found)

    @property
    def resumed(self) -> bool:
        """True when there was a state to go on from.

        Examples
        --------
        >>> import hybrid as mx
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> mx.resuming.Training("state", net=net).resumed
        False
        """
        return self._found is not None

    def epochs(self, end: int, begin: int = 0) -> Iterator[int]:
        """Numbers of the epochs that are left to do, of those from begin to before end.

        Raises MXNetError when the state is not of these epochs: behind the last, or before the first.

        Examples
        --------
        >>> import hybrid as mx
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> run = mx.resuming.Training("state", net=net)
        >>> [epoch for epoch in run.epochs(3)]
        [0, 1, 2]
        >>> again = mx.resuming.Training("state", net=net)
        >>> [epoch for epoch in again.epochs(5)]
        [3, 4]
        """
        if self._found is not None and self._gone < 0:
            self._check_epochs(end, begin)
        self._epoch = max(self._epoch, begin)
        self._first = begin
        while self._epoch < end:
            yield self._epoch
            self._epoch, self._batch = self._epoch + 1, 0
        self._save(end, 0, _randoms(), None)

    def batches(self, data: Iterable[Any]) -> Iterator[Any]:
        """The batches of an epoch that are left to do. data: a DataLoader, an iterator of mx.io, a list.

        Raises MXNetError for data that is not what the state is in the midst of, for data that cannot say where it stands, and
        when the batches of this epoch were gone through already.

        Examples
        --------
        >>> import hybrid as mx
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> run = mx.resuming.Training("state", net=net)
        >>> for epoch in run.epochs(1):
        ...     print([int(x.sum().asscalar()) for x in run.batches([mx.nd.ones(2), mx.nd.ones(3)])])
        [2, 3]
        """
        if self._gone == self._epoch:
            raise MXNetError(
                f"Training: batches was called before in epoch {self._epoch}; wanted one loop over batches in each turn of a loop "
                "over epochs, and none for data that is not trained on"
            )
        self._gone = self._epoch
        if self._folder is None:
            yield from data
            return
        done, begin = self._batch, self._begin
        if begin is not None:
            try:
                _stand(data, begin["place"], self._epoch)
            except MXNetError as error:
                raise MXNetError(f"{self._path()}: the state is of other data: {error}; {self._anew()}") from error
            _set_randoms(begin["random"])
        else:
            begin = {"random": _randoms(), "place": _standing(data)}
            if self._epoch > self._first:  # before the first there is nothing that the program does not make again
                self._save(self._epoch, 0, begin["random"], begin)
        self._check_length(data, done)
        source = iter(data)
        for i in range(done):
            skipped = next(source, _END)
            if skipped is _END:
                raise self._other_data(done, f"it has {done} batches or more", f"has {i}")
            if i == 0:
                self._check_size(skipped, done)
        if self._begin is not None:
            assert self._found is not None
            _set_randoms(json.loads(bytes(self._found["random"])))
            self._begin = None
        item = next(source, _END)
        if not done and item is not _END:
            self._data["size"] = _size(item)
        while item is not _END:
            yield item
            done += 1
            due = self._every is not None and done % self._every == 0
            before = _randoms() if due else {}
            item = next(source, _END)
            if due and item is not _END:
                self._save(self._epoch, done, before, begin)

    # -- what has to be as it was ---------------------------------------------------------------------------------------

    def _check_epochs(self, end: int, begin: int) -> None:
        """Raise MXNetError when the state is not in the midst of these epochs."""
        stands = f"{self._path()}: the state is {_stands(self._epoch, self._batch)}"
        if (self._epoch, self._batch) > (end, 0):
            raise MXNetError(
                f"{stands}, and this program trains {end}; its weights would be those of more. Ask for {self._epoch} or more "
                f"epochs, or {self._anew()}"
            )
        if self._epoch < begin:
            raise MXNetError(f"{stands}, and this program begins with epoch {begin}; {self._anew()}")

    def _check_length(self, data: Any, done: int) -> None:
        """Raise MXNetError when data has another number of batches than that in the midst of which the state is."""
        try:
            length = len(data)
        except TypeError:  # iterators have none
            length = None
        before = self._data.get("batches")
        if before is not None and length is not None and before != length:
            if done:
                raise self._other_data(done, f"it has {before} batches", f"has {length}")
            logging.warning("resuming: an epoch has %d batches from here on, and had %d", length, before)
        self._data = {**self._data, "batches": length}

    def _check_size(self, item: Any, done: int) -> None:
        """Raise MXNetError when the first batch has another size than that of the state's epoch."""
        before, size = self._data.get("size"), _size(item)
        if before is not None and before != size:
            raise self._other_data(done, f"a batch has {before} examples", f"has {size}")

    def _other_data(self, done: int, before: str, now: str) -> MXNetError:
        return MXNetError(
            f"{self._path()}: the state is {_stands(self._epoch, done)} of data in which {before}, and this program's {now}: the "
            "batches that are left cannot be told. Start it with the batches of before, which may be changed at the beginning of "
            f"an epoch, or {self._anew()}"
        )

    def _asked_now(self) -> dict[str, Any] | None:
        """Kind and settings of the optimizer that the program asks for, before it has trained; None without one."""
        optimizer = self._optimizer()
        if optimizer is None:
            return None
        return {
            "optimizer": type(optimizer).__name__,
            "settings": {n: said for n, (said, _) in _asked(optimizer).items()},
        }

    def _optimizer(self) -> Any:
        source = self._trainer if self._module is None else self._module
        return None if source is None else source._optimizer

    def _check_optimizer(self, found: Mapping[str, np.ndarray]) -> None:
        """Raise MXNetError when the state is of another kind of optimizer, or of one at all where the program has none."""
        before = json.loads(bytes(found["asked"])) if "asked" in found else None
        if before is not None and self._asked is not None and before["optimizer"] != self._asked["optimizer"]:
            raise self._other_optimizer(before["optimizer"])
        if "optimizer/0" in found and self._asked is None:
            raise MXNetError(
                f"{self._path()}: the state is of an optimizer ({before['optimizer'] if before else 'any'}) too; give Training the "
                "trainer, which would else begin anew"
            )

    def _other_optimizer(self, kind: str) -> MXNetError:
        now = self._asked["optimizer"] if self._asked is not None else "none"
        return MXNetError(
            f"{self._path()}: the state is of the optimizer {kind}, and this program has {now}, which cannot go on from its "
            f"numbers. Start it with {kind}, or {self._anew()}"
        )

    def _take_new_settings(self, optimizer: Any, wanted: Any, found: Mapping[str, np.ndarray]) -> None:
        """Have what the program asks otherwise than at first hold in the optimizer of the state."""
        if "asked" not in found:
            return
        before = json.loads(bytes(found["asked"]))["settings"]
        for name, (said, value) in _asked(wanted).items():
            if before.get(name, said) != said:
                logging.warning(
                    "resuming from %s: %s=%s from here on, as this program asks; it was %s",
                    self._path(),
                    "learning_rate" if name == "lr" else name,
                    said,
                    before[name],
                )
                setattr(optimizer, name, value)

    def _anew(self) -> str:
        return f"remove {self._path()} to begin anew"

    # -- the file -------------------------------------------------------------------------------------------------------

    def _path(self) -> str:
        assert self._folder is not None
        return os.path.join(self._folder, self._name)

    def _save(self, epoch: int, batch: int, randoms: dict[str, Any], begin: dict[str, Any] | None) -> None:
        """Write everything to the file, of all ranks together."""
        if self._folder is None:
            return
        waitall()
        place = {} if begin is None else begin["place"]
        arrays = {f"place/{k}": v for k, v in place.items()}
        arrays["random"] = _as_bytes(randoms)
        arrays["data"] = _as_bytes(self._data)
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
            raise FormatError(
                f"{self._path()}: no state of training, or a damaged one ({error}); {self._anew()}, or put a copy of it there"
            ) from error
        size, rank = (1, 0) if world is None else (world.size, world.rank)
        if version != VERSION or ranks != size:
            raise MXNetError(
                f"{self._path()}: got a state of version {version} and {ranks} ranks, wanted version {VERSION} and {size} ranks; "
                f"start as many as wrote it, or {self._anew()}"
            )
        common = {n: a for n, a in found.items() if not n.startswith("rank/")}
        own = {n.removeprefix(f"rank/{rank}/"): a for n, a in found.items() if n.startswith(f"rank/{rank}/")}
        self._epoch, self._batch = epoch, batch
        if "data" in found:
            self._data = json.loads(bytes({**common, **own}["data"]))
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
        if self._asked is not None:
            found["asked"] = _as_bytes(self._asked)
        if self._net is not None:
            traced = {path: block._how_traced() for path, block in _hybrid_blocks(self._net)}
            found["traced"] = _as_bytes({path: how for path, how in traced.items() if how is not None})
        found["without"] = _as_bytes([name for name, arrays in self._parameters().items() if not arrays])
        for name, arrays in self._parameters().items():
            for i, array in enumerate(arrays):
                found[f"parameter/{i}/{name}"] = array.asnumpy()
        store, updaters = self._store_and_updaters()
        for i, updater in enumerate(updaters):
            found[f"optimizer/{i}"] = np.frombuffer(updater.get_states(dump_optimizer=True), np.uint8)
        if (scaler := getattr(self._trainer, "_amp_loss_scaler", None)) is not None:
            found["loss_scale"] = _as_bytes({name: getattr(scaler, name) for name in LOSS_SCALE})
        for i, array in enumerate(getattr(store, "_kept", {}).values()):
            found[f"kept/{i}"] = array.asnumpy()
        if isinstance(store, DistStore):
            found.update({f"residual/{i}": r for i, r in enumerate(store._residuals.values())})
            found["residuals"] = _as_bytes(list(store._residuals))
        return found

    def _restore(self, found: Mapping[str, np.ndarray]) -> None:
        """Set everything to what it was. Raises MXNetError, naming all that differs, when this is another program."""
        self._check_optimizer(found)
        if self._net is not None:
            self._finish_shapes(found)
        targets = {f"parameter/{i}/{n}": a for n, arrays in self._parameters().items() for i, a in enumerate(arrays)}
        wanted = {name: (tuple(a.shape), np.dtype(a.dtype)) for name, a in targets.items()}
        wanted.update(self._waiting(found))
        got = {name: (a.shape, a.dtype) for name, a in found.items() if name.startswith("parameter/")}
        wrong = [
            f"{name.split('/', 2)[2]}: got {_said(got.get(name))}, wanted {_said(wanted.get(name))}"
            for name in sorted({*wanted, *got})
            if got.get(name) != wanted.get(name)
        ]
        if wrong:
            raise MXNetError(
                f"{self._path()}: the state of another network; start the program that wrote it, or {self._anew()}:\n  "
                + "\n  ".join(wrong)
            )
        for name, array in targets.items():
            array[:] = found[name]
        wanted_optimizer = self._optimizer()
        store, updaters = self._store_and_updaters()
        # once more: a store that was made just now has given all ranks those of rank 0
        for name, array in targets.items():
            array[:] = found[name]
        for i, updater in enumerate(updaters):
            if f"optimizer/{i}" not in found:
                raise MXNetError(f"{self._path()}: it has no states of optimizer {i}, which this program has")
            updater.set_states(found[f"optimizer/{i}"].tobytes(), self._path())
            if type(updater.optimizer).__name__ != type(wanted_optimizer).__name__:
                raise self._other_optimizer(type(updater.optimizer).__name__)
            self._take_new_settings(updater.optimizer, wanted_optimizer, found)
            if self._trainer is not None:
                self._trainer._adopt_optimizer(updater.optimizer)
        if "loss_scale" in found:
            scaler = getattr(self._trainer, "_amp_loss_scaler", None)
            if scaler is None:
                raise MXNetError(
                    f"{self._path()}: the state has a scale of losses; call amp.init_trainer before Training is made"
                )
            vars(scaler).update(json.loads(bytes(found["loss_scale"])))
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
        """Make the arrays of parameters that wait for their shapes, which the state knows, and tell how blocks were traced."""
        for name, param in self._net._collect_params_with_prefix().items():
            value = found.get(f"parameter/0/{name}")
            if param._deferred_init is not None and value is not None and param._accepts(value.shape):
                param.var()  # what is traced tells the shape that was declared, as where nothing went before
                param.shape = value.shape
                param._finish_deferred_init()
        traced = json.loads(bytes(found["traced"])) if "traced" in found else {}
        for path, block in _hybrid_blocks(self._net):
            block._to_trace = traced.get(path)

    def _waiting(self, found: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Shapes and dtypes of parameters that go on waiting for their shapes, and did not where the state was written."""
        if self._net is None:
            return {}
        without = json.loads(bytes(found["without"])) if "without" in found else None
        wanted = {}
        for name, param in self._net._collect_params_with_prefix().items():
            there = f"parameter/0/{name}" in found
            if param._data is None and (there or (without is not None and name not in without)):
                if param._deferred_init is None:
                    raise MXNetError(f"Training: {param.name} has not been initialized; call initialize() before")
                wanted[f"parameter/0/{name}"] = (param.shape, np.dtype(param.dtype))
        return wanted


def _said(what: tuple[tuple[int, ...], np.dtype] | None) -> str:
    return "nothing" if what is None else f"{what[1]}{what[0]}"


def _stands(epoch: int, batch: int) -> str:
    return f"after {batch} batches in the midst of epoch {epoch}" if batch else f"after {epoch} epochs"


def _next_name() -> str:
    """Name of the file of another training under ``--resume``: a program may train several things one after another."""
    Settings.trainings += 1
    return NAME if Settings.trainings == 1 else f"{os.path.splitext(NAME)[0]}-{Settings.trainings}.npz"


def _hybrid_blocks(block: Any, path: str = "") -> Iterator[tuple[str, HybridBlock]]:
    """A block and those below it that can be traced, by their paths."""
    if isinstance(block, HybridBlock):
        yield path, block
    for name, child in block._children.items():
        yield from _hybrid_blocks(child, f"{path}/{name}")


def _asked(optimizer: Any) -> dict[str, tuple[Any, Any]]:
    """Settings that an optimizer that has not trained was told, by name: (as JSON has it, the value)."""
    found = {name: (_plain(value), value) for name, value in vars(optimizer).items() if name not in COUNTS}
    return {name: (said, value) for name, (said, value) in found.items() if said is not _END}


def _plain(value: Any) -> Any:
    """A setting as JSON gives it back; _END for what is none."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, LRScheduler):
        inner = {name: _plain(v) for name, v in vars(value).items()}
        return {"": type(value).__name__, **{name: v for name, v in inner.items() if v is not _END}}
    if isinstance(value, Mapping):
        return {str(name): _plain(v) for name, v in value.items() if _plain(v) is not _END}
    if isinstance(value, list | tuple):
        return [v for v in map(_plain, value) if v is not _END]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # nan is no other than nan
    return value if value is None or isinstance(value, bool | int | float | str) else _END


def _size(item: Any) -> int | None:
    """Number of examples in a batch, by the first of its arrays; None for what has none."""
    if isinstance(item, DataBatch):
        item = item.data
    while isinstance(item, list | tuple | Mapping):
        if not item:
            return None
        item = next(iter(item.values() if isinstance(item, Mapping) else item))
    shape = getattr(item, "shape", None)
    return int(shape[0]) if shape else None


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
