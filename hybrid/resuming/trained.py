"""Things that are trained, networks with their trainers or a Module, as the arrays of a state, and set to what it was."""

from __future__ import annotations

import contextlib
import json
import logging
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..core.error import MXNetError
from ..gluon import Block, HybridBlock, Parameter, Trainer
from ..kvstore.dist import DistStore
from ..lr_scheduler import LRScheduler
from ..ndarray import NDArray
from .callbacks import Unwritten
from .own import given_back, taken, under

COUNTS = {"num_update", "idx2name", "param_dict", "sym_info", "_all_index_update_counts", "_index_update_count"}
"""Attributes of optimizers that are not what they were told."""
LOSS_SCALE = ("_loss_scale", "_next_loss_scale", "_unskipped")
"""Attributes that change as a scale of losses goes."""
BLOCK = {*vars(Block()), *vars(HybridBlock())}
"""Attributes that every block has."""
_NONE: Any = object()


class Trained:
    """Networks, trainers and a Module of one training.

    path: the file of the state, for errors. Raises MXNetError for what is none of these."""

    def __init__(self, net: Any, trainer: Any, module: Any, path: str) -> None:
        self._path = path
        self._nets = dict(_named(net, Block, "net"))
        self._trainers: list[Any] = [one for _, one in _named(trainer, Trainer, "trainer")]
        self._module = None if module is None else _with_weights(module)
        self._outer: Any = module
        self._asked = self._asked_now()
        self._begun = self._attributes({})

    def has(self, trainer: Any) -> bool:
        """True for one of the trainers."""
        return any(trainer is one for one in self._trainers)

    # -- what the program asks for ---------------------------------------------------------------------------------------

    def unwritten(self) -> list[Unwritten]:
        """Attributes of schedules of rates that files of states cannot hold."""
        return [rest for one in self._optimizers() for rest in unwritten(one)]

    def _optimizers(self) -> list[Any]:
        sources = self._trainers if self._module is None else [self._module]
        return [source._optimizer for source in sources if source._optimizer is not None]

    def _asked_now(self) -> dict[str, Any]:
        """Kinds and settings of optimizers, and settings of parameters, that the program asks for before it has trained."""
        return {
            "optimizers": [
                {"kind": type(one).__name__, "settings": {n: said for n, (said, _) in _asked(one).items()}}
                for one in self._optimizers()
            ],
            "parameters": self._settings(),
        }

    def _settings(self) -> dict[str, list[Any]]:
        """Request for gradients and factors of each parameter, which programs change as they train."""
        return {name: [p.grad_req, p.lr_mult, p.wd_mult] for name, p in self._params().items()}

    # -- what there is --------------------------------------------------------------------------------------------------

    def _params(self) -> dict[str, Parameter]:
        """Parameters of the networks, and those that trainers have besides, by name."""
        found = {}
        for key, net in self._nets.items():
            found.update({f"{key}{name}": p for name, p in net._collect_params_with_prefix().items()})
        known = {id(p) for p in found.values()}
        for i, trainer in enumerate(self._trainers):
            for p in trainer._params:
                if id(p) not in known:
                    found[f"trainer {i}: {p.name}"] = p
        return found

    def _arrays(self) -> dict[str, list[NDArray]]:
        """All weights and auxiliary states, each on all its contexts."""
        if self._module is not None:
            return self._module._trained_arrays()
        return {name: list(p._data or ()) for name, p in self._params().items()}

    def _gradients(self) -> dict[str, list[NDArray]]:
        """Gradients that the next step may still be made of: those that add up, and those that have come since the last one."""
        if self._module is not None:
            return self._module._gradients_to_keep()
        found = {}
        for name, p in self._params().items():
            on_store = p._trainer is not None and p._trainer._update_on_kvstore
            fresh = any(a._fresh_grad for a in p._data or ()) and not on_store
            if p._grad is not None and (p.grad_req == "add" or fresh):
                found[name] = list(p._grad)
        return found

    def _stores(self) -> list[tuple[Any, list[Any], Any]]:
        """(the store, where there is one; what holds states of an optimizer; the trainer) of each trainer, or of the Module."""
        if self._module is not None:
            store, on_store = self._module._kvstore, self._module._update_on_kvstore
            return [(store, [store._updater] if on_store else [self._module._updater], None)]
        found = []
        for trainer in self._trainers:
            trainer._prepare()
            store = trainer._kvstore
            found.append((store, [store._updater] if trainer._update_on_kvstore else trainer._updaters, trainer))
        return found

    def _hybrid_blocks(self) -> Iterator[tuple[str, HybridBlock]]:
        for key, net in self._nets.items():
            yield from ((path, block) for path, block in _blocks(net, key) if isinstance(block, HybridBlock))

    def _attributes(self, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        """Attributes of their own that blocks of the program's classes have, such as counters, where they can be kept."""
        found = {}
        for key, net in self._nets.items():
            for path, block in _blocks(net, key):
                if type(block).__module__.partition(".")[0] == __name__.partition(".")[0]:
                    continue
                for name, value in vars(block).items():
                    if name not in BLOCK:
                        with contextlib.suppress(
                            MXNetError
                        ):  # a function, a block, a symbol: the program makes it again
                            found[f"{path}.{name}"] = taken(value, name, arrays)
        return found

    # -- to the state ---------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Everything, by names."""
        arrays = self._arrays()
        traced = {path: block._how_traced() for path, block in self._hybrid_blocks()}
        found = {
            "asked": as_bytes(self._asked),
            "settings": as_bytes(self._settings()),
            "traced": as_bytes({path: how for path, how in traced.items() if how is not None}),
            "without": as_bytes([name for name, own in arrays.items() if not own]),
            "fresh": as_bytes(
                {n: f for n, p in self._params().items() if any(f := [a._fresh_grad for a in p._data or ()])}
            ),
        }
        held: dict[str, np.ndarray] = {}
        attributes = {n: said for n, said in self._attributes(held).items() if said != self._begun.get(n, held)}
        found["attributes"] = as_bytes(attributes)
        if attributes:
            found.update({f"attribute/{name}": array for name, array in held.items()})
        for name, own in arrays.items():
            found.update({f"parameter/{i}/{name}": array.asnumpy() for i, array in enumerate(own)})
        for name, own in self._gradients().items():
            found.update({f"gradient/{i}/{name}": array.asnumpy() for i, array in enumerate(own)})
        for t, (store, updaters, trainer) in enumerate(self._stores()):
            for i, updater in enumerate(updaters):
                with contextlib.ExitStack() as stack:
                    for rest in unwritten(updater.optimizer):
                        stack.enter_context(rest.out_of_the_way())
                    found[f"optimizer/{t}/{i}"] = np.frombuffer(updater.get_states(dump_optimizer=True), np.uint8)
            if (scaler := getattr(trainer, "_amp_loss_scaler", None)) is not None:
                found[f"loss_scale/{t}"] = as_bytes({name: getattr(scaler, name) for name in LOSS_SCALE})
            for i, array in enumerate(getattr(store, "_kept", {}).values()):
                found[f"kept/{t}/{i}"] = array.asnumpy()
            if isinstance(store, DistStore):
                found.update({f"residual/{t}/{i}": r for i, r in enumerate(store._residuals.values())})
                found[f"residuals/{t}"] = as_bytes(list(store._residuals))
        return found

    # -- from the state -------------------------------------------------------------------------------------------------

    def restore(self, found: Mapping[str, np.ndarray]) -> None:
        """Set everything to what it was, once it is known that this is the same program.

        Raises MXNetError, naming all that differs, when it is another."""
        self._check_optimizers(found)
        self._finish_shapes(found)
        targets = {f"parameter/{i}/{n}": a for n, arrays in self._arrays().items() for i, a in enumerate(arrays)}
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
                f"{self._path}: the state of another network; start the program that wrote it, or {self._anew()}:\n  "
                + "\n  ".join(wrong)
            )
        self._stores()  # which, made just now, give all ranks what rank 0 has
        self.set(found, tell=True)

    def set(self, found: Mapping[str, np.ndarray], tell: bool = False) -> None:
        """Set everything to what it was. tell: warn of settings that the program asks for otherwise than it did."""
        self._set_settings(found, tell)
        for name, arrays in self._arrays().items():  # only now: those of parameters with other requests are others
            for i, array in enumerate(arrays):
                array[:] = found[f"parameter/{i}/{name}"]
        if self._module is not None:
            self._module._arrays_were_set()
            self._outer._params_dirty = True  # of all buckets
        self._set_gradients(found)
        self._set_attributes(found)
        for t, (store, updaters, trainer) in enumerate(self._stores()):
            for i, updater in enumerate(updaters):
                if (content := found.get(f"optimizer/{t}/{i}")) is None:
                    raise MXNetError(f"{self._path}: it has no states of optimizer {t}/{i}, which this program has")
                self._set_updater(updater, content, t, found, tell)
            self._set_loss_scale(trainer, found.get(f"loss_scale/{t}"))
            for i, array in enumerate(getattr(store, "_kept", {}).values()):
                if f"kept/{t}/{i}" in found:
                    array[:] = found[f"kept/{t}/{i}"]
            if isinstance(store, DistStore) and f"residuals/{t}" in found:
                keys = json.loads(bytes(found[f"residuals/{t}"]))
                store._residuals.update({key: found[f"residual/{t}/{i}"].copy() for i, key in enumerate(keys)})

    def _set_updater(
        self, updater: Any, content: np.ndarray, number: int, found: Mapping[str, Any], tell: bool
    ) -> None:
        """Give an updater its states, and the program's own optimizer and schedule, which others may hold, what they had become."""
        mine = self._optimizers()[number]
        updater.set_states(content.tobytes(), self._path)
        held = updater.optimizer
        if type(held).__name__ != type(mine).__name__:
            raise self._other_optimizer(type(held).__name__, type(mine).__name__)
        updater.optimizer = mine
        said = json.loads(bytes(found["asked"]))["optimizers"][number]["settings"]
        now = self._asked["optimizers"][number]["settings"]
        for name, value in vars(held).items():
            before = said.get(name, _NONE)
            if name == "param_dict" or (name in now and before is not _NONE and before != now[name]):
                if tell and name != "param_dict":
                    shown = "learning_rate" if name == "lr" else name
                    self._tell(shown, now[name], before)
                continue
            schedule = vars(mine).get(name)
            if isinstance(schedule, LRScheduler) and type(schedule) is type(value):
                vars(schedule).update(vars(value))
            else:
                setattr(mine, name, value)

    def _tell(self, name: str, now: Any, before: Any) -> None:
        logging.warning(
            "resuming from %s: %s=%s from here on, as this program asks; it was %s", self._path, name, now, before
        )

    def _set_settings(self, found: Mapping[str, np.ndarray], tell: bool) -> None:
        """Requests and factors of parameters: what they had become, or what the program asks for otherwise than it did."""
        held, asked = json.loads(bytes(found["settings"])), json.loads(bytes(found["asked"]))["parameters"]
        now = self._asked["parameters"]
        for name, param in self._params().items():
            if name not in held:
                continue
            for i, attribute in enumerate(("grad_req", "lr_mult", "wd_mult")):
                if asked[name][i] != now[name][i]:
                    if tell:
                        self._tell(f"{attribute} of {param.name}", now[name][i], asked[name][i])
                elif getattr(param, attribute) != held[name][i]:
                    setattr(param, attribute, held[name][i])

    def _set_gradients(self, found: Mapping[str, np.ndarray]) -> None:
        fresh = json.loads(bytes(found["fresh"]))
        held: dict[str, list[NDArray]] = {n: list(p._grad or ()) for n, p in self._params().items()}
        if self._module is not None:
            held = self._module._gradients_to_keep()
        for name, arrays in held.items():
            for i, array in enumerate(arrays):
                if (content := found.get(f"gradient/{i}/{name}")) is not None:
                    array[:] = content
        for name, param in self._params().items():
            for array, flag in zip(param._data or (), fresh.get(name, [False] * len(param._data or ()))):
                array._fresh_grad = flag

    def _set_attributes(self, found: Mapping[str, np.ndarray]) -> None:
        arrays = under("attribute/", found)
        held = json.loads(bytes(found["attributes"]))
        for key, net in self._nets.items():
            for path, block in _blocks(net, key):
                for whole, said in held.items():
                    before, _, name = whole.rpartition(".")
                    if before == path:
                        setattr(block, name, given_back(vars(block).get(name), said, whole, arrays))

    def _set_loss_scale(self, trainer: Any, held: np.ndarray | None) -> None:
        if held is None:
            return
        scaler = getattr(trainer, "_amp_loss_scaler", None)
        if scaler is None:
            raise MXNetError(
                f"{self._path}: the state has a scale of losses; call amp.init_trainer before Training is made"
            )
        vars(scaler).update(json.loads(bytes(held)))

    def _check_optimizers(self, found: Mapping[str, np.ndarray]) -> None:
        """Raise MXNetError when the state is of other kinds, or of more or fewer of them."""
        before = [one["kind"] for one in json.loads(bytes(found["asked"]))["optimizers"]]
        now = [one["kind"] for one in self._asked["optimizers"]]
        if len(before) > len(now):
            raise MXNetError(
                f"{self._path}: the state is of an optimizer ({', '.join(before[len(now) :])}) too; give Training the trainer, "
                "which would else begin anew"
            )
        if before != now:
            raise self._other_optimizer(", ".join(before) or "none", ", ".join(now))

    def _other_optimizer(self, before: str, now: str) -> MXNetError:
        return MXNetError(
            f"{self._path}: the state is of the optimizer {before}, and this program has {now}, which cannot go on from its "
            f"numbers. Start it with {before}, or {self._anew()}"
        )

    def _anew(self) -> str:
        return f"remove {self._path} to begin anew"

    def _finish_shapes(self, found: Mapping[str, np.ndarray]) -> None:
        """Make the arrays of parameters that wait for their shapes, which the state knows, and tell how blocks were traced."""
        for name, param in self._params().items():
            value = found.get(f"parameter/0/{name}")
            if param._deferred_init is not None and value is not None and param._accepts(value.shape):
                param.var()  # what is traced tells the shape that was declared, as where nothing went before
                param.shape = value.shape
                param._finish_deferred_init()
        traced = json.loads(bytes(found["traced"]))
        for path, block in self._hybrid_blocks():
            block._to_trace = traced.get(path)

    def _waiting(self, found: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Shapes and dtypes of parameters that go on waiting for their shapes, and did not where the state was written."""
        without = json.loads(bytes(found["without"]))
        wanted = {}
        for name, param in self._params().items():
            there = f"parameter/0/{name}" in found
            if param._data is None and (there or name not in without):
                if param._deferred_init is None:
                    raise MXNetError(f"Training: {param.name} has not been initialized; call initialize() before")
                wanted[f"parameter/0/{name}"] = (param.shape, np.dtype(param.dtype))
        return wanted


def unwritten(optimizer: Any) -> list[Unwritten]:
    """Attributes of the schedule of an optimizer that a file of its states cannot hold, where there is a schedule."""
    schedule = getattr(optimizer, "lr_scheduler", None)
    return [Unwritten(schedule)] if isinstance(schedule, LRScheduler) else []


def _named(given: Any, kind: type, what: str) -> Iterator[tuple[str, Any]]:
    """One, or several in a list or dict, by the beginnings of the names of what they hold. Raises MXNetError for other things."""
    if isinstance(given, Mapping):
        pairs = [(f"{key}: ", one) for key, one in given.items()]
    elif isinstance(given, list | tuple):
        pairs = [(f"{i}: ", one) for i, one in enumerate(given)]
    else:
        pairs = [] if given is None else [("", given)]
    for key, one in pairs:
        if not isinstance(one, kind):
            raise MXNetError(
                f"Training: {what}: got a {type(one).__name__}, wanted a {kind.__name__}, or a list or dict of them"
            )
        yield key, one


def _with_weights(module: Any) -> Any:
    """The Module that has all the weights. Raises MXNetError for one that is made of several."""
    inner = getattr(module, "_buckets", None)
    if inner is not None:
        module = inner[module._default_bucket_key]
    if not hasattr(module, "_exec_group"):
        raise MXNetError(f"Training: got a {type(module).__name__}, wanted a Module or a BucketingModule")
    return module


def _said(what: tuple[tuple[int, ...], np.dtype] | None) -> str:
    return "nothing" if what is None else f"{what[1]}{what[0]}"


def _blocks(block: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """A block and those below it, by their paths."""
    yield path, block
    for name, child in block._children.items():
        yield from _blocks(child, f"{path}/{name}")


def _asked(optimizer: Any) -> dict[str, tuple[Any, Any]]:
    """Settings that an optimizer that has not trained was told, by name: (as JSON has it, the value)."""
    found = {name: (_plain(value), value) for name, value in vars(optimizer).items() if name not in COUNTS}
    return {name: (said, value) for name, (said, value) in found.items() if said is not _NONE}


def _plain(value: Any) -> Any:
    """A setting as JSON gives it back; _NONE for what is none."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, LRScheduler):
        inner = {name: _plain(v) for name, v in vars(value).items()}
        return {"": type(value).__name__, **{name: v for name, v in inner.items() if v is not _NONE}}
    if isinstance(value, Mapping):
        return {str(name): _plain(v) for name, v in value.items() if _plain(v) is not _NONE}
    if isinstance(value, list | tuple):
        return [v for v in map(_plain, value) if v is not _NONE]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # nan is no other than nan
    return value if value is None or isinstance(value, bool | int | float | str) else _NONE


def as_bytes(value: Any) -> np.ndarray:
    """A value as JSON, as an array of bytes."""
    return np.frombuffer(json.dumps(value).encode(), np.uint8)
