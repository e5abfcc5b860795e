"""A run of training: its loops over epochs and batches, and the file that its state is in."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import logging
import os
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..core import rng
from ..core.error import FormatError, MXNetError
from ..core.resume import Settings
from ..core.watch import Made
from ..formats.files import check_writable, read, write
from ..kvstore.world import World, joined_world
from ..ndarray import waitall
from . import carried, own
from .again import Again, Calls
from .callbacks import Callbacks
from .data import Drawn, Together, mark, says_its_state, size, stand, standing
from .own import under
from .trained import Trained, as_bytes

NAME = "training.npz"
VERSION = 2
UNCHANGING = (type(None), bool, int, float, str, bytes, tuple, frozenset, np.generic)
_END: Any = object()


class Training:
    """A run of training that can be cut off at any time and begun again by the same program.

    Variables of the program itself (its best score, a counter, means of the weights, a metric) are kept where they are in ``keep``;
    of others that it carries from epoch to epoch a warning says that they are not. Of what the program asks of optimizers and
    parameters the state remembers what it was at first: where that is another now, the new value holds, and a warning says so.

    Raises MXNetError when nothing can be written to the folder, when the state in it is of another network, kind of optimizer, or
    number of ranks, when the data gives other batches than it gave, and when a Trainer that it was not given makes a step among
    its batches. Raises FormatError when the state is damaged.

    Parameters
    ----------
    folder : str or None
        Where its state is kept, one training in each; None: that of ``--resume``, and without that nothing is kept.
    net : Block, list or dict of Block
        What is trained, initialized.
    trainer : Trainer, list or dict of Trainer
        What trains it: all that make steps.
    module : Module or BucketingModule
        What is trained, in the place of net and trainer; its fit does this by itself.
    every : int or None
        Batches after which the state is written, besides the beginning of each epoch and the end; None: that of ``--every``, and
        without that only there.
    keep : dict of str to object or None
        What else belongs to the state, by any names: dicts, lists, arrays, metrics, generators of random numbers, and objects whose
        attributes are of these. Their content is given back to them, so that a number has to be in one of them.
    exact : bool
        False: where the data gives other batches than it gave (its random numbers are its own, or threads draw them), warn, and go
        on.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> data = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(mx.nd.ones((6, 2))), batch_size=3)
    >>> own = {"steps": 0}
    >>> run = mx.resuming.Training("state", net=net, trainer=trainer, keep={"own": own})
    >>> for epoch in run.epochs(2):
    ...     for x in run.batches(data):
    ...         with mx.autograd.record():
    ...             loss = (net(x) - 1) ** 2
    ...         loss.backward()
    ...         trainer.step(3)
    ...         own["steps"] += 1
    >>> own = {"steps": 0}
    >>> again = mx.resuming.Training("state", net=net, trainer=trainer, keep={"own": own})
    >>> again.resumed, list(again.epochs(2)), own  # all epochs are done
    (True, [], {'steps': 4})
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        net: Any = None,
        trainer: Any = None,
        module: Any = None,
        every: int | None = None,
        keep: Mapping[str, Any] | None = None,
        exact: bool = True,
    ) -> None:
        if (net is None) == (module is None):
            raise MXNetError("Training: wanted net (with trainer), or module")
        self._folder, self._name = (Settings.folder, _next_name()) if folder is None else (os.fspath(folder), NAME)
        self._every = Settings.every if every is None else every
        if self._every is not None and self._every < 1:
            raise MXNetError(f"Training: got every={self._every}, wanted a number of batches, 1 or more")
        self._trained = Trained(net, trainer, module, "" if self._folder is None else self._path())
        self._trainer = trainer
        self._keep, self._exact = dict(keep or {}), exact
        fixed = [name for name, value in self._keep.items() if isinstance(value, UNCHANGING)]
        if fixed:
            raise MXNetError(
                f"Training: keep[{fixed[0]!r}]: got a {type(self._keep[fixed[0]]).__name__}, which cannot be given its content "
                "back; wanted a dict, a list, an array or an object that has it"
            )
        self._epoch = self._batch = 0
        self._found: dict[str, np.ndarray] | None = None
        """The state that it goes on from, until it is in the midst of its data again."""
        self._resumed = False
        self._first = 0
        self._gone = -1
        """The epoch whose batches are gone through, or were the last."""
        self._in_epochs = False
        """True once epochs gave one, until it has given the last."""
        self._by_fit = False
        """True in Module.fit, which calls _write_due behind its callbacks: these are called when the next batch is there."""
        self._callbacks: Callbacks | None = None
        """Schedules of rates, and all that fit was given beside the data."""
        self._due: Any = None
        self._told = False
        self._at_head: dict[str, Any] = {}
        """Random numbers, and what is kept for the program, where the epoch began: before what comes ahead of its batches."""
        self._again = Again(None)
        """Iterators of the program's own, from the first epoch on."""
        self._again_at_head: dict[str, np.ndarray] = {}
        self._data: dict[str, Any] = {}
        """Marks of the batches of an epoch: how many, and how many examples the first has, where that can be known."""
        if self._folder is not None:
            if os.path.exists(self._folder) and not os.path.isdir(self._folder):
                raise MXNetError(f"Training: {self._folder} is a file, wanted a folder to keep the state in")
            self._check_place()
            Settings.used = True
            self._callbacks = Callbacks({"lr_scheduler": self._trained.unwritten()}, ())
            self._now()  # what cannot be kept is refused before it trains
            self._found = self._load()
            if self._found is not None:
                self._resumed = True
                self._trained.restore(self._found)
                self._set_now(self._found, "now", random="at_begin" not in self._found)

    @property
    def resumed(self) -> bool:
        """True when there was a state to go on from.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> mx.resuming.Training("state", net=net).resumed
        False
        """
        return self._resumed

    def epochs(self, end: int, begin: int = 0) -> Iterator[int]:
        """Numbers of the epochs that are left to do, of those from begin to before end.

        Raises MXNetError when the state is not of these epochs: behind the last, or before the first; and behind an epoch that
        went by without ``batches``, for the state is written where these begin.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> run = mx.resuming.Training("state", net=net)
        >>> [epoch for epoch in run.epochs(3) for x in run.batches([mx.nd.ones(2)])]
        [0, 1, 2]
        >>> again = mx.resuming.Training("state", net=net)
        >>> [epoch for epoch in again.epochs(5) for x in again.batches([mx.nd.ones(2)])]
        [3, 4]
        """
        if self._resumed and self._gone < 0:
            self._check_epochs(end, begin)
        self._epoch = max(self._epoch, begin)
        self._first = begin
        if self._folder is not None and self._epoch < end and not self._by_fit:
            carried.tell(sys._getframe(1), self._keep, self._every is not None)
        self._in_epochs = True
        if self._folder is None:
            while self._epoch < end:
                yield self._epoch
                self._epoch, self._batch = self._epoch + 1, 0
            self._in_epochs = False
            return
        found, outer = self._found, Made.active
        Made.active = self._again = Again(found, outer)
        try:
            if found is not None and self._epoch < end:
                self._go_again(found, last=False)
            elif found is not None:  # all epochs are done: it matters to what the program does behind them, if anything
                self._again.put_off(functools.partial(self._go_again, found, last=True))
            while self._epoch < end:
                if found is not None and "at_head" in found:
                    self._set_now(found, "at_head")
                found = None
                self._at_head, self._again_at_head = self._now(), self._again.at_head()
                yield self._epoch
                self._check_gone(end)
                self._epoch, self._batch = self._epoch + 1, 0
            self._in_epochs = False
            if found is None:
                self._again_at_head = self._again.at_head()
            else:
                self._again_at_head = {n: a for n, a in found.items() if n.partition("/")[0] == "again"}
            self._save(end, 0, self._now(), None)
        finally:
            if Made.active is self._again and not self._again.waits:
                Made.active = outer

    def _go_again(self, found: Mapping[str, np.ndarray], last: bool) -> None:
        """Have iterators of the program's own go through what they went through. last: all epochs are done."""
        try:
            others = self._again.once_more()
        except MXNetError as error:
            raise MXNetError(f"{self._path()}: the state is of other data: {error}; {self._anew()}") from error
        self._check_own(others, self._batch)
        if not last and "at_head" not in found:  # what is kept may have been in what they changed
            self._set_now(found, "now", random=False)

    def batches(self, data: Iterable[Any], *others: Iterable[Any]) -> Iterator[Any]:
        """The batches of an epoch that are left to do. data: a DataLoader, an iterator of mx.io, a list.

        others: what goes beside it; the batches are tuples then, as those of zip.

        Raises MXNetError for data that is not what the state is in the midst of, for data that cannot say where it stands, and
        when the batches of this epoch were gone through already, or no loop over ``epochs`` goes on.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> run = mx.resuming.Training("state", net=net)
        >>> for epoch in run.epochs(1):
        ...     print([int(x.sum().asscalar()) for x in run.batches([mx.nd.ones(2), mx.nd.ones(3)])])
        [2, 3]
        """
        if not self._in_epochs:
            raise MXNetError(
                "Training: batches was called outside of a loop over its epochs, without which nobody knows which epoch this is; "
                "wanted `for epoch in run.epochs(10)` in the place of `for epoch in range(10)`, and the data itself where it is "
                "not trained on"
            )
        if self._gone == self._epoch:
            raise MXNetError(
                f"Training: batches was called before in epoch {self._epoch}; wanted one loop over batches in each turn of a loop "
                "over epochs, and none for data that is not trained on"
            )
        self._gone = self._epoch
        if others:
            data = Together(data, *others)
        if self._folder is None:
            yield from data
            return
        if self._every is not None and not self._by_fit:
            carried.refuse_others(sys._getframe(1))
        done, found, seen, skipping = self._batch, self._found, "", self._batch
        alone = says_its_state(data)
        if found is not None and "at_begin" in found:
            begin: dict[str, Any] = {"place": under("place/", found)}
            place = begin["place"]
            if alone and "mark_before" in found:  # it says where it stands in the midst of an epoch as well
                place, seen, skipping = under("place_now/", found), bytes(found["mark_before"]).decode(), 0
            try:
                stand(data, place, self._epoch - self._first)
            except MXNetError as error:
                raise MXNetError(f"{self._path()}: the state is of other data: {error}; {self._anew()}") from error
            # once more: what comes ahead of the batches in the program was done twice
            self._trained.set(found)
            begin["now"] = self._set_now(found, "at_begin")
            drawn = Drawn(json.loads(bytes(found["drawn"])))
        else:
            found = None
            begin = {"now": self._now(), "place": standing(data, self._again.check)}
            drawn = Drawn([])
        changed = self._check_length(data, done)
        self._again.beside = Calls()
        source = self._again.for_an_epoch(lambda: iter(data))
        if skipping < done and source is data:  # which begins anew where it is asked for that
            stand(data, place, 0)
        replayed: dict[int, Any] = {number: states for number, states in drawn.found} if found is not None else {}
        for i in range(skipping):
            if i in replayed:
                rng.set_all_states(replayed[i])
            skipped = self._again.for_an_epoch(lambda: next(source, _END))
            if skipped is _END:
                raise self._other_data(done, f"it has {done} batches or more", f"has {i}")
            if i == 0:
                self._check_size(skipped, done)
            seen = mark(seen, skipped)
        if found is not None and done:  # at 0 it is at_begin, and iter(data) may have drawn since
            self._set_now(found, "now")
        with Settings.among(self, sys._getframe(1)):
            before = drawn.begin()
            item = self._again.for_an_epoch(lambda: next(source, _END))
            drawn.end(done, before)
            if item is not _END:
                seen = mark(seen, item)
                if found is not None:
                    self._check_mark(seen, done, changed or (not done and self._data.get("size") != size(item)))
            if not done and item is not _END:
                self._data["size"] = size(item)
            if found is not None:
                self._check_own(self._again.beside_once_more(found.get("beside")), done)
            if found is not None and "later" in found:
                self._set_now(found, "later")
            self._found = None
            if found is None and self._epoch > self._first:
                # before the first epoch there is nothing that the program does not make again
                self._save(self._epoch, 0, begin["now"], {**begin, "drawn": drawn.found, "mark": seen})
            while item is not _END:
                yield item
                done += 1
                self._batch = done
                due = self._every is not None and done % self._every == 0
                now = self._now() if due else {}
                if due and alone:
                    begin.update(place_now=standing(data, self._again.check), mark_before=seen)
                before = drawn.begin()
                item = self._again.for_an_epoch(lambda: next(source, _END))
                if item is not _END:
                    drawn.end(done, before)
                    seen = mark(seen, item)
                    if due:
                        self._due = done, now, {**begin, "drawn": drawn.found, "mark": seen}
                        if not self._by_fit:
                            self._write_due()
                if getattr(data, "_may_draw_in_threads", False) and not self._told:
                    self._told = True
                    logging.warning(
                        "Training: numbers of np.random or random were drawn while threads made batches; where the threads draw "
                        "them, no run has the bits of another. Have them draw from mx.random, or leave thread_pool out"
                    )

    def enumerate(self, data: Iterable[Any], *others: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """The batches that are left to do as ``batches`` has them, each with its number in the epoch: (number, batch).

        In the place of ``enumerate(run.batches(data))``, which counts from 0 wherever training goes on.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> run = mx.resuming.Training("state", net=net)
        >>> for epoch in run.epochs(1):
        ...     print([(i, int(x.sum().asscalar())) for i, x in run.enumerate([mx.nd.ones(2), mx.nd.ones(3)])])
        [(0, 2), (1, 3)]
        """
        return enumerate(self.batches(data, *others), self._batch)

    def _is_of_fit(self, called: Mapping[str, Any], trained: Iterable[Any]) -> None:
        """Module.fit says that it is what trains. called: what it was given to call, whose variables are to be kept as well.
        trained: what has a place of its own in the state."""
        self._by_fit = True
        before, self._callbacks = self._callbacks, None
        self._callbacks = Callbacks({"lr_scheduler": self._trained.unwritten(), **called}, trained, before)
        if self._found is not None:
            self._set_now(self._found, "now", random="at_begin" not in self._found)

    def _write_due(self) -> None:
        """Write the state that was due behind a batch."""
        if self._due is not None:
            (done, now, begin), self._due = self._due, None
            self._save(self._epoch, done, now, begin, self._now() if self._by_fit else None)

    # -- what the program has -----------------------------------------------------------------------------------------

    def _now(self) -> dict[str, Any]:
        """Random numbers, and what is kept for the program, as they are now."""
        arrays: dict[str, np.ndarray] = {}
        kept = {name: own.taken(value, f"keep[{name!r}]", arrays) for name, value in self._keep.items()}
        called = {} if self._callbacks is None else self._callbacks.taken(arrays)
        return {"random": rng.get_all_states(), "kept": kept, "called": called, "arrays": arrays}

    def _set_now(self, found: Mapping[str, np.ndarray], when: str, random: bool = True) -> dict[str, Any]:
        """Set both to what they were at a time: "at_head", "at_begin" of the batches, "now", or "later", with the next batch."""
        held = json.loads(bytes(found[when]))
        if sorted(held["kept"]) != sorted(self._keep):
            before, now = (", ".join(sorted(names)) or "nothing" for names in (held["kept"], self._keep))
            raise MXNetError(
                f"{self._path()}: the state is of a program that keeps {before} of its own, and this one {now}. Give Training the "
                f"same names in keep, or {self._anew()}"
            )
        arrays = under("own/", found)
        for name, value in self._keep.items():
            if own.given_back(value, held["kept"][name], f"keep[{name!r}]", arrays) is not value:
                raise MXNetError(
                    f"{self._path()}: the state has another kind of thing, or an array of another shape, as keep[{name!r}]; start "
                    f"the program that wrote it, or {self._anew()}"
                )
        if self._callbacks is not None:
            self._callbacks.give_back(held.get("called", {}), arrays)
        if random:
            rng.set_all_states(held["random"])
        return {**held, "arrays": arrays}

    @property
    def done(self) -> int:
        """Number of batches of this epoch that were gone through, before a break too.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> run = mx.resuming.Training("state", net=net)
        >>> for epoch in run.epochs(1):
        ...     print([run.done for x in run.batches([mx.nd.ones(2), mx.nd.ones(3)])])
        [0, 1]
        """
        return self._batch

    def knows(self, trainer: Any) -> bool:
        """True for a trainer whose states are kept, and where other bits are none to speak of."""
        return not self._exact or self._trained.has(trainer)

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

    def _check_gone(self, end: int) -> None:
        """Raise MXNetError when an epoch went by without batches: where the data stood, which nobody can tell without them, makes
        the next epoch as well. Of the last a warning, for the state is written behind it."""
        if self._gone == self._epoch:
            return
        problem = (
            f"Training: epoch {self._epoch} went by without batches(...), and nothing was written in it: the state is "
            "written where the batches of an epoch begin; wanted `for batch in run.batches(data)` in the place of `for batch in "
            "data` (where a program makes its batches itself, `for i in run.batches(range(100))`)"
        )
        if self._epoch + 1 < end or (self._found is not None and "at_begin" in self._found):
            raise MXNetError(problem)
        logging.warning("%s", problem)

    def _check_length(self, data: Any, done: int) -> bool:
        """True when data has another number of batches than when the state was written. Raises MXNetError in the midst of it."""
        try:
            length = len(data)
        except TypeError:  # iterators have none
            length = None
        before = self._data.get("batches")
        changed = self._found is not None and before is not None and length is not None and before != length
        if changed:
            if done:
                raise self._other_data(done, f"it has {before} batches", f"has {length}")
            logging.warning("resuming: an epoch has %d batches from here on, and had %d", length, before)
        self._data = {**self._data, "batches": length}
        return changed

    def _check_size(self, item: Any, done: int) -> None:
        """Raise MXNetError when the first batch has another size than that of the state's epoch."""
        before, now = self._data.get("size"), size(item)
        if before is not None and before != now:
            raise self._other_data(done, f"a batch has {before} examples", f"has {now}")

    def _check_mark(self, seen: str, done: int, changed: bool) -> None:
        """Raise MXNetError when the batches that were gone through, and the next one, are others than before.

        changed: they are meant to be, at the beginning of an epoch."""
        assert self._found is not None
        if not changed and bytes(self._found["mark"]).decode() != seen:
            self._tell_others(done)

    def _check_own(self, others: set[int], done: int) -> None:
        """Raise MXNetError when iterators of the program's own give other batches; warn of those that a fit only measures by."""
        if not others:
            return
        if not self._by_fit or others & self._again.trained:
            self._tell_others(done)
        else:
            logging.warning(
                "resuming: %s gives other batches than it gave; what is measured by it may be other numbers, and the weights are "
                "those of a run in one piece where they do not depend on these",
                self._again.named(others),
            )

    def _tell_others(self, done: int) -> None:
        """Raise MXNetError, or warn, of other batches than before."""
        problem = (
            f"{self._path()}: the state is {_stands(self._epoch, done)}, and the data gives other batches there than it gave: "
            "it has changed, or an order, a place or random numbers are its own"
        )
        if self._exact:
            raise MXNetError(
                f"{problem}, which a state does not have. Give Training what holds them (a sampler, a list that is shuffled, a "
                "generator) in keep; have workers and transforms draw from np.random, random and mx.random, and threads from "
                f"mx.random alone; go on all the same, to other numbers, with Training(..., exact=False); or {self._anew()}"
            )
        logging.warning("%s; going on all the same, as exact=False says", problem)

    def _other_data(self, done: int, before: str, now: str) -> MXNetError:
        return MXNetError(
            f"{self._path()}: the state is {_stands(self._epoch, done)} of data in which {before}, and this program's {now}: the "
            "batches that are left cannot be told. Start it with the batches of before, which may be changed at the beginning of "
            f"an epoch, or {self._anew()}"
        )

    def _anew(self) -> str:
        return f"remove {self._path()} to begin anew"

    # -- the file -------------------------------------------------------------------------------------------------------

    def _path(self) -> str:
        assert self._folder is not None
        return os.path.join(self._folder, self._name)

    def _save(
        self,
        epoch: int,
        batch: int,
        now: dict[str, Any],
        begin: dict[str, Any] | None,
        later: dict[str, Any] | None = None,
    ) -> None:
        """Write everything to the file, of all ranks together. begin: what makes the batches before once more, if there are any.

        later: what there is once the next batch is there, where more was done by then than that it was made."""
        if self._folder is None:
            return
        waitall()
        times = {"now": now}
        arrays = {"data": as_bytes(self._data), **self._again_at_head}
        if begin is not None:
            arrays.update({f"place/{k}": v for k, v in begin["place"].items()})
            if "mark_before" in begin:
                arrays.update({f"place_now/{k}": v for k, v in begin["place_now"].items()})
                arrays["mark_before"] = np.frombuffer(begin["mark_before"].encode(), np.uint8)
            arrays["beside"] = self._again.now_beside()
            arrays["drawn"] = as_bytes(begin["drawn"])
            arrays["mark"] = np.frombuffer(begin["mark"].encode(), np.uint8)
            times.update(at_begin=begin["now"], at_head=self._at_head)
        if later is not None:
            times["later"] = later
        for when, held in times.items():
            arrays[when] = as_bytes({n: held[n] for n in ("random", "kept", "called") if n in held})
            arrays.update({f"own/{name}": array for name, array in held["arrays"].items()})
        arrays.update(self._trained.state())
        world = joined_world()
        ranks = 1 if world is None else world.size
        about = {"version": VERSION, "epoch": epoch, "batch": batch, "ranks": ranks}
        merged = arrays if world is None or ranks == 1 else _merged(world, arrays)
        if merged is not None:
            os.makedirs(self._folder, exist_ok=True)
            write(self._path(), _packed({"about": as_bytes(about), **merged}))

    def _check_place(self) -> None:
        """Raise MXNetError, in all ranks, where the state could not be written: before training, and not after hours of it."""
        assert self._folder is not None
        world, problem = joined_world(), None
        if world is None or world.rank == 0:
            try:
                os.makedirs(self._folder, exist_ok=True)
                check_writable(self._path())
            except OSError as error:
                problem = error.strerror or str(error)
        if world is not None and world.size > 1:
            problem = world.gather_json("whether a state can be written", problem)[0]
        if problem is not None:
            raise MXNetError(
                f"Training: {self._folder}: nothing can be written there ({problem}); wanted a folder to keep the state in that is "
                "there or can be made, on a disk with room"
            )

    def _load(self) -> dict[str, np.ndarray] | None:
        """This rank's part of the file; None where there is no file."""
        world = joined_world()
        content: bytes | None = None
        if (world is None or world.rank == 0) and os.path.exists(self._path()):
            content = read(self._path())
        if world is not None and world.size > 1:
            # apart from its bytes: one that has none is damaged, and not missing
            there = world.gather_json("whether there is a state", content is not None)[0]
            gathered = world.gather("state to resume", np.frombuffer(content or b"", np.uint8))[0]
            content = bytes(gathered) if there else None
        if content is None:
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
        here, rank = (1, 0) if world is None else (world.size, world.rank)
        if version != VERSION or ranks != here:
            raise MXNetError(
                f"{self._path()}: got a state of version {version} and {ranks} ranks, wanted version {VERSION} and {here} ranks; "
                f"start as many as wrote it, or {self._anew()}"
            )
        common = {n: a for n, a in found.items() if not n.startswith("rank/")}
        own = under(f"rank/{rank}/", found)
        self._epoch, self._batch = epoch, batch
        if "data" in found:
            self._data = json.loads(bytes({**common, **own}["data"]))
        logging.info("resuming from %s: epoch %d, batch %d", self._path(), epoch, batch)
        return {**common, **own}


def _stands(epoch: int, batch: int) -> str:
    return f"after {batch} batches in the midst of epoch {epoch}" if batch else f"after {epoch} epochs"


def _next_name() -> str:
    """Name of the file of another training under ``--resume``: a program may train several things one after another."""
    Settings.trainings += 1
    return NAME if Settings.trainings == 1 else f"{os.path.splitext(NAME)[0]}-{Settings.trainings}.npz"


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
