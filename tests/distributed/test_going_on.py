"""Small programs of every make that are cut off and begun again give the bits of a run in one piece, or say what is not kept."""

from __future__ import annotations

import functools
import json
import logging
import random
import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import gluon, nd
from hybrid.contrib.svrg_optimization.svrg_module import SVRGModule
from hybrid.core import rng
from hybrid.core.error import MXNetError
from hybrid.core.resume import Settings
from hybrid.gluon.data import ArrayDataset, DataLoader
from hybrid.resuming import Training

X = np.random.RandomState(0).randn(23, 4).astype(np.float32)
Y = (X.sum(1) > 0).astype(np.float32)
EPOCHS = 3
LOSS = gluon.loss.SoftmaxCrossEntropyLoss()
Weights = dict[str, np.ndarray]


class Cut(BaseException):
    """The machine is taken away."""


class Break:
    """A place at which a program may be cut off, and what it makes its Training with. It has no __dict__: of objects that have one,
    a fit goes on with the attributes."""

    __slots__ = ("change", "folder", "heard", "left", "passed")

    def __init__(self, folder: Path | None, left: int) -> None:
        self.folder, self.left, self.passed = folder, left, 0
        self.heard: dict[Any, Any] = {}

    def __call__(self) -> None:
        self.passed += 1
        if self.passed == self.left:
            raise Cut

    def training(self, **what: Any) -> Training:
        return Training(self.folder, **({"every": 2} if self.folder else {}), **what)


Program = Callable[[Break], Weights]


def start(program: Program, at: Break) -> Weights:
    mx.random.seed(3)
    np.random.seed(4)
    random.seed(5)
    with mx.name.NameManager():
        return program(at)


def goes_on(program: Program, folder: Path) -> None:
    """Cut a program off at three places, one after the other, and compare."""
    whole = Break(None, 0)
    wanted = start(program, whole)
    for left in (whole.passed * 2 // 5, whole.passed // 4, whole.passed // 3 + 1):
        with pytest.raises(Cut):
            start(program, Break(folder, left))
    found = start(program, Break(folder, 0))
    assert {n: a.tobytes() for n, a in found.items()} == {n: a.tobytes() for n, a in wanted.items()}
    again = start(program, Break(folder, 0))  # all is done, and nobody is told of batches
    assert {n: a.tobytes() for n, a in again.items()} == {
        n: a.tobytes() for n, a in wanted.items() if n not in ("told", "at")
    }


def weights(*nets: Any) -> Weights:
    return {
        f"{i}/{name}": p.data().asnumpy()
        for i, net in enumerate(nets)
        for name, p in net._collect_params_with_prefix().items()
    }


def made(optimizer: Any = "adam", **settings: Any) -> tuple[Any, Any]:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(5, activation="tanh"), gluon.nn.Dropout(0.3), gluon.nn.Dense(2))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net, gluon.Trainer(net.collect_params(), optimizer, settings or None)


def step(net: Any, trainer: Any, x: Any, y: Any) -> None:
    with mx.autograd.record():
        loss = LOSS(net(x), y)
    loss.backward()
    trainer.step(4, ignore_stale_grad=True)


def loader(**settings: Any) -> Any:
    return DataLoader(ArrayDataset(X, Y), 4, **settings)


# -- programs ---------------------------------------------------------------------------------------------------------------


def adding_gradients(at: Break) -> Weights:
    net, trainer = made()
    for p in net.collect_params().values():
        p.grad_req = "add"
    run = at.training(net=net, trainer=trainer)
    for _ in run.epochs(EPOCHS):
        for i, (x, y) in run.enumerate(loader(shuffle=True)):
            with mx.autograd.record():
                loss = LOSS(net(x), y)
            loss.backward()
            if i % 3 == 2:
                trainer.step(12)
                net.collect_params().zero_grad()
            at()
    return weights(net)


def rows_of_gradients(at: Break) -> Weights:
    """Rows of a table that a batch does not name keep the gradient of an earlier one, which a step that comes late takes in."""
    net = gluon.nn.Embedding(9, 3, sparse_grad=True)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    run = at.training(net=net, trainer=trainer)
    for _ in run.epochs(EPOCHS):
        for i, place in run.enumerate(list(range(7))):
            if i % 2:
                with mx.autograd.record():
                    loss = (net(nd.array([place, place + 1])) ** 2).sum()
                loss.backward()
            elif i:
                trainer.step(1)
            at()
    return weights(net)


class Varied(gluon.data.Dataset):
    """Draws from all that a transform may draw from."""

    def __len__(self) -> int:
        return len(X)

    def __getitem__(self, i: int) -> Any:
        drawn = np.random.uniform(0.5, 1.5), random.random(), mx.random.uniform(shape=(1,)).asscalar()
        return X[i] * np.float32(sum(drawn)), Y[i]


def drawn_in(workers: int, **settings: Any) -> Program:
    def program(at: Break) -> Weights:
        net, trainer = made("nag", learning_rate=0.1, momentum=0.9)
        data = DataLoader(Varied(), 4, shuffle=True, last_batch="discard", num_workers=workers, **settings)
        run = at.training(net=net, trainer=trainer)
        for _ in run.epochs(EPOCHS):
            for x, y in run.batches(data):
                mixed = np.random.beta(0.4, 0.4)  # from the generator that the transforms draw from as well
                step(net, trainer, mixed * x + (1 - mixed) * x[::-1], y)
                at()
            np.random.rand(2)
        return weights(net)

    return program


class Noisy(gluon.data.Dataset):
    """Draws from what a thread has for itself."""

    def __len__(self) -> int:
        return len(X)

    def __getitem__(self, i: int) -> Any:
        return nd.array(X[i]) * mx.random.uniform(shape=(1,)), Y[i]


def drawn_in_threads(at: Break) -> Weights:
    net, trainer = made()
    data = DataLoader(Noisy(), 4, shuffle=True, num_workers=3, thread_pool=True)
    run = at.training(net=net, trainer=trainer)
    for _ in run.epochs(EPOCHS):
        for x, y in run.batches(data):
            step(net, trainer, x, y)
            at()
    return weights(net)


def order_of_its_own(at: Break) -> Weights:
    """Lines ahead of the batches of an epoch are done once, however often the epoch is begun."""
    net, trainer = made("rmsprop", learning_rate=0.05)
    run = at.training(net=net, trainer=trainer)
    for epoch in run.epochs(EPOCHS):
        order = np.random.permutation(len(X))
        if epoch:
            trainer.set_learning_rate(trainer.learning_rate * 0.5)
        for first in run.batches(range(0, 20, 4)):
            chosen = order[first : first + 4]
            step(net, trainer, nd.array(X[chosen]), nd.array(Y[chosen]))
            at()
    return weights(net)


def rolling_over(at: Break) -> Weights:
    net, trainer = made()
    data = loader(shuffle=True, last_batch="rollover")
    run = at.training(net=net, trainer=trainer)
    for _ in run.epochs(EPOCHS):
        for x, y in run.batches(data):
            step(net, trainer, x, y)
            at()
    return weights(net)


def thawing(at: Break) -> Weights:
    """Requests and factors of parameters, and an optimizer that the program holds, change as it trains."""
    optimizer = mx.optimizer.SGD(learning_rate=0.1, momentum=0.9)
    net, trainer = made(optimizer)
    net[0].collect_params().setattr("grad_req", "null")
    run = at.training(net=net, trainer=trainer)
    for epoch in run.epochs(EPOCHS):
        if epoch == 1:
            net[0].collect_params().setattr("grad_req", "write")
            net[2].weight.lr_mult = 0.5
        for x, y in run.batches(loader(shuffle=True)):
            step(net, trainer, x, y)
            at()
        optimizer.lr = (optimizer.lr or 0) * 0.7
        optimizer.momentum = 0.5
    return weights(net)


def two_networks(at: Break) -> Weights:
    (one, trainer_one), (other, trainer_other) = made(), made("sgd", learning_rate=0.1, momentum=0.5)
    run = at.training(net={"one": one, "other": other}, trainer=[trainer_one, trainer_other])
    for _ in run.epochs(EPOCHS):
        for x, y in run.batches(loader(shuffle=True)):
            step(one, trainer_one, x, y)
            at()
            step(other, trainer_other, x * one(x)[:, :1], y)
            at()
    return weights(one, other)


def head_in_the_trainer(at: Break) -> Weights:
    """Parameters that the trainer has and the network has not."""
    body, _ = made()
    head = gluon.nn.Dense(2, in_units=2, prefix="head_")
    head.initialize()
    every = {**dict(body.collect_params().items()), **dict(head.collect_params().items())}
    trainer = gluon.Trainer(every, "adagrad", {"learning_rate": 0.1})
    run = at.training(net=body, trainer=trainer)
    for _ in run.epochs(EPOCHS):
        for x, y in run.batches(loader(shuffle=True)):
            step(lambda data: head(body(data)), trainer, x, y)
            at()
    return weights(body, head)


def keeping_its_own(at: Break) -> Weights:
    """Counters, a best score, means of weights, a hidden state, a metric, and an order that is shuffled in its place."""
    net, trainer = made("sgd", learning_rate=0.1)
    net(nd.array(X[:1]))
    means = {name: p.data().copy() for name, p in net.collect_params().items()}
    own: dict[str, Any] = {"step": 0, "best": (-1.0, -1), "hidden": None, "scores": []}
    rows, accuracy, generator = list(range(len(X))), mx.metric.Accuracy(), np.random.default_rng(1)
    seen, last, python = set(), deque(maxlen=3), random.Random(2)
    keep = {"own": own, "means": means, "rows": rows, "accuracy": accuracy, "generator": generator}
    keep.update(seen=seen, last=last, python=python)
    run = at.training(net=net, trainer=trainer, keep=keep)
    for epoch in run.epochs(EPOCHS):
        random.shuffle(rows)
        accuracy.reset()
        for chosen in run.batches([rows[i : i + 4] for i in range(0, 20, 4)]):
            own["step"] += 1
            seen.add(chosen[0])
            last.append(chosen[1] + python.random())
            trainer.set_learning_rate(0.1 * min(1, own["step"] / 8) * generator.uniform(0.9, 1))
            x, y = nd.array(X[chosen]), nd.array(Y[chosen])
            own["hidden"] = x if own["hidden"] is None else 0.5 * own["hidden"] + x
            step(net, trainer, own["hidden"], y)
            accuracy.update(y, net(x))
            for name, p in net.collect_params().items():
                means[name][:] = 0.5 * means[name] + 0.5 * p.data()
            at()
        own["scores"].append(accuracy.get()[1])
        own["best"] = max(own["best"], (accuracy.get()[1], epoch))
    told = {"scores": np.array(own["scores"]), "best": np.array(own["best"]), "step": np.array(own["step"])}
    told.update(seen=np.array(sorted(seen)), last=np.array(last))
    return {**weights(net), **told, **{f"mean {name}": a.asnumpy() for name, a in means.items()}}


class Buffer(gluon.data.Sampler):
    """A buffer of which examples are drawn one after the other, and one that counts its epochs."""

    def __init__(self, generator: Any) -> None:
        self.generator, self.passes = generator, 0

    def __len__(self) -> int:
        return len(X)

    def __iter__(self) -> Iterator[int]:
        self.passes += 1
        held: list[int] = []
        for i in range(len(X)):
            held.append((i + self.passes) % len(X))
            if len(held) > 6:
                yield held.pop(self.generator.randint(len(held)))
        while held:
            yield held.pop(self.generator.randint(len(held)))


class Annealed(gluon.Block):
    """A block with a state of its own: it counts, and remembers a mean."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.top = gluon.nn.Dense(2)
        self.calls, self.mean, self.by = 0, None, [0.0]

    def forward(self, x: Any) -> Any:
        self.calls += 1
        self.by[0] += 0.5
        self.mean = x.mean() if self.mean is None else 0.9 * self.mean + 0.1 * x.mean()
        return self.top(x - self.mean) / (1 + 0.1 * self.calls + self.by[0])


def annealed(at: Break) -> Weights:
    net = Annealed()
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "signum", {"learning_rate": 0.1})
    run = at.training(net=net, trainer=trainer)
    for _ in run.epochs(EPOCHS):
        for x, y in run.batches(loader(shuffle=True)):
            step(net, trainer, x, y)
            at()
    return weights(net)


def two_sources(at: Break) -> Weights:
    net, trainer = made()
    other = mx.io.NDArrayIter(X, Y, 3, shuffle=True)
    run = at.training(net=net, trainer=trainer)
    for _ in run.epochs(EPOCHS):
        other.reset()
        for (x, y), batch in run.batches(DataLoader(Varied(), 4, shuffle=True, num_workers=1), other):
            step(net, trainer, x, y)
            step(net, trainer, *batch.data, *batch.label)
            at()
    return weights(net)


def sampled(own: bool, keep: bool) -> Program:
    def program(at: Break) -> Weights:
        net, trainer = made()
        sampler = Buffer(np.random.RandomState(7) if own else np.random)
        run = at.training(net=net, trainer=trainer, keep={"sampler": sampler} if keep else None)
        for _ in run.epochs(EPOCHS):
            for x, y in run.batches(DataLoader(ArrayDataset(X, Y), 4, sampler=sampler)):
                step(net, trainer, x * float(np.random.uniform(0.9, 1.1)), y)
                at()
        return weights(net)

    return program


class Mixed(mx.io.DataIter):
    """An iterator of a program's own, with whole data, whose order is shuffled on and on."""

    def __init__(self, draws: bool = False, generator: Any = np.random) -> None:
        super().__init__(4)
        self.rows, self.draws, self.generator, self.passed = list(range(len(X))), draws, generator, 0
        self.provide_data = [mx.io.DataDesc("data", (4, 4))]
        self.provide_label = [mx.io.DataDesc("softmax_label", (4,))]
        self.reset()

    def reset(self) -> None:
        self.at = 0
        self.generator.shuffle(self.rows)

    def next(self) -> Any:
        if self.at > len(X) - 4:
            raise StopIteration
        chosen = self.rows[self.at : self.at + 4]
        self.at, self.passed = self.at + 4, self.passed + 1
        x = nd.array(X[chosen])
        if self.draws:
            x = x * float(np.random.uniform(0.5, 1.5)) + random.random() + 0.1 * mx.nd.random.normal(shape=(4, 4))
        return mx.io.DataBatch([x], [nd.array(Y[chosen])], pad=0)


class Saying(Mixed):
    """One that says where it stands."""

    def state_dict(self) -> dict[str, Any]:
        return {"at": self.at, "rows": np.array(self.rows)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.at, self.rows = state["at"], state["rows"].tolist()


class Anew(Saying):
    """One that begins anew where a loop asks for its batches."""

    def __iter__(self) -> Any:
        self.reset()
        return self


class Yielding(Mixed):
    """One whose batches a generator gives."""

    def __iter__(self) -> Iterator[Any]:
        while self.at <= len(X) - 4:
            yield self.next()


class Lines(mx.io.DataIter):
    """Goes on in a file, epoch for epoch, and draws lines from a buffer."""

    def __init__(self, lines: Any) -> None:
        super().__init__(4)
        self.lines = lines
        self.buffer: list[Any] = []

    def iter_next(self) -> bool:
        self.chosen = []
        while len(self.chosen) < 4:
            line = self.lines.readline()
            if not line:
                self.lines.seek(0)
                return False
            self.buffer.append(np.array(line.split(), np.float32))
            if len(self.buffer) > 5:
                self.chosen.append(self.buffer.pop(random.randrange(len(self.buffer))))
        return True

    def getdata(self) -> Any:
        return [nd.array(np.stack(self.chosen)[:, :4])]

    def getlabel(self) -> Any:
        return [nd.array(np.stack(self.chosen)[:, 4])]


def by_its_own(make: Callable[[Any], Any], ahead: bool = True, anew: bool = False) -> Program:
    """Trains by iterators of the program's own, and measures by another among the batches and behind them."""

    def program(at: Break) -> Weights:
        (net, trainer), data, other = made(), make(at), Mixed()
        told: list[float] = []
        run = at.training(net=net, trainer=trainer, keep={"told": told})

        def measure() -> None:
            other.reset()
            told.append(0.0)
            for batch in other:
                told[-1] = 0.9 * told[-1] + net(batch.data[0]).mean().asscalar().item()

        for epoch in run.epochs(4):
            if anew:
                data = make(at)
            if ahead:
                data.reset()
            for i, batch in run.enumerate(data):
                mixed = np.random.beta(0.4, 0.4)
                step(net, trainer, mixed * batch.data[0] + (1 - mixed) * batch.data[0][::-1], batch.label[0])
                if i == 1:
                    measure()
                at()
            if not ahead and epoch < 3:
                data.reset()
            measure()
        return {**weights(net), "measured": np.array(told)}

    return program


GLUON: dict[str, Program] = {
    "adding": adding_gradients,
    "rows": rows_of_gradients,
    "drawn here": drawn_in(0),
    "drawn in workers": drawn_in(2),
    "drawn ahead": drawn_in(2, auto_reload=True),
    "drawn in threads": drawn_in_threads,
    "order": order_of_its_own,
    "rollover": rolling_over,
    "thawing": thawing,
    "two": two_networks,
    "head": head_in_the_trainer,
    "own": keeping_its_own,
    "annealed": annealed,
    "two sources": two_sources,
    "sampler": sampled(own=True, keep=True),
    "own iterator": by_its_own(lambda at: Mixed()),
    "own, reset behind": by_its_own(lambda at: Mixed(), ahead=False),
    "own, drawing": by_its_own(lambda at: Mixed(draws=True)),
    "own, made anew": by_its_own(lambda at: Mixed(), anew=True),
    "own, saying": by_its_own(lambda at: Saying(draws=True)),
    "own, beginning": by_its_own(lambda at: Anew()),
    "own, yielding": by_its_own(lambda at: Yielding()),
    "own, ahead": by_its_own(lambda at: mx.io.PrefetchingIter(mx.io.ResizeIter(Mixed(), 7, reset_internal=False))),
}


@pytest.mark.parametrize("name", GLUON)
def test_a_loop_goes_on(name: str, tmp_path: Path) -> None:
    goes_on(GLUON[name], tmp_path)


# -- Module.fit -------------------------------------------------------------------------------------------------------------


def symbol() -> Any:
    hidden = mx.sym.Dropout(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, name="a"), p=0.3)
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(hidden, num_hidden=2, name="b"), name="softmax")


def fitted(module: Any, data: Any, at: Break, end: Any = None, also: Any = (), **settings: Any) -> Weights:
    """Fit it, under --resume where a folder is given; what its callbacks are told comes along. also: called ahead of that."""

    def tell(said: Any) -> None:
        at.heard[f"{said.epoch} {said.nbatch}"] = np.array([value for _, value in said.eval_metric.get_name_value()])
        getattr(at, "change", lambda _: at())(said)

    before = Settings.folder, Settings.every, Settings.trainings, Settings.used
    Settings.folder, Settings.every, Settings.trainings = at.folder and str(at.folder), 2, 0
    try:
        settings = {"num_epoch": EPOCHS, "optimizer_params": {"learning_rate": 0.1}, **settings}
        module.fit(data, batch_end_callback=[*also, tell], epoch_end_callback=end, **settings)
    finally:
        Settings.folder, Settings.every, Settings.trainings, Settings.used = before
    told: dict[str, Any] = {}
    if at.heard:  # what the last callback was told, which a run that was cut off tells as well
        place, values = list(at.heard.items())[-1]
        told = {"told": values, "at": np.array(list(map(int, place.split())))}
    return {**told, **{name: array.asnumpy() for held in module.get_params() for name, array in held.items()}}


def shuffled() -> Any:
    return mx.io.NDArrayIter(X[:22], Y[:22], 4, shuffle=True, last_batch_handle="roll_over")


def rate_by_hand(at: Break) -> Weights:
    module = mx.mod.Module(symbol())

    def slower(*ignored: Any) -> None:
        module._optimizer.lr *= 0.5

    return fitted(module, shuffled(), at, slower)


def sentences(at: Break) -> Weights:
    lines = [[random.randint(1, 8) for _ in range(random.choice([3, 5]))] for _ in range(40)]

    def network(length: int) -> Any:
        one = mx.sym.Embedding(mx.sym.var("data"), input_dim=9, output_dim=4, name="table")
        top = mx.sym.FullyConnected(mx.sym.reshape(one, (-1, 4)), num_hidden=9, name="top")
        return mx.sym.SoftmaxOutput(top, mx.sym.reshape(mx.sym.var("label"), (-1,)), name="out"), ["data"], ["label"]

    data = mx.rnn.BucketSentenceIter(lines, 4, [3, 5], 0, label_name="label")
    module = mx.mod.BucketingModule(network, data.default_bucket_key)
    return fitted(module, data, at, eval_metric=mx.metric.Perplexity(0))


def callbacks_change_it(at: Break) -> Weights:
    """Gradients that add up until a callback empties them, a rate and random numbers that callbacks change, with the next batch
    there."""
    data, module = shuffled(), mx.mod.Module(symbol())
    module.bind(data.provide_data, data.provide_label, grad_req="add")
    speed = mx.callback.Speedometer(4, 2, auto_reset=True)
    tell = at.__call__

    def change(said: Any) -> None:
        if said.nbatch % 2:
            module._optimizer.lr = 0.1 * np.random.uniform(0.5, 1)
            for arrays in module._exec_group.grad_arrays:
                arrays[0][:] = 0
        speed(said)
        tell()

    at.change = change
    return fitted(module, data, at)


def own_iterators(make: Callable[[], Any]) -> Program:
    def program(at: Break) -> Weights:
        module, other = mx.mod.Module(symbol()), Mixed()
        measured = Break(None, 0)

        def tell(said: Any) -> None:
            measured.heard[0] = said.eval_metric.get()[1]

        found = fitted(module, make(), at, eval_data=other, eval_metric="ce", eval_end_callback=tell)
        if measured.heard:
            found["told"] = np.array([*found["told"], measured.heard[0]])
        again = module.score(other, "ce")[0][1]  # which goes through its data first, if all epochs are done
        return {**found, "again": np.array([again, np.random.rand()])}

    return program


class Halving:
    """Cuts the rate by counters, means and draws of its own, and those of its class."""

    steps = 0

    def __init__(self, module: Any, kind: dict[str, float]) -> None:
        self.module, self.kind, self.seen = module, kind, 0
        self.log: list[float] = []
        self.draws = np.random.RandomState(2)
        self.inner = SimpleNamespace(mean=np.zeros(2), best=None)
        self.parts = [SimpleNamespace(n=0)]
        self.counted = Counter()  # type: ignore[var-annotated]

    def __call__(self, said: Any) -> None:
        self.seen += 1
        Halving.steps += 1
        self.kind["n"] = self.kind.get("n", 0) + 1
        self.parts[0].n += 2
        self.counted[said.nbatch] += 1
        self.inner.mean += self.draws.rand(2)
        self.log.append(float(self.inner.mean[0]))
        if self.inner.best is None or self.log[-1] % 1 > self.inner.best:
            self.inner.best = self.log[-1] % 1
        self.lately = self.log[-1] % 0.25
        total = self.seen + Halving.steps + self.kind["n"] + self.parts[0].n + self.counted[1]
        self.module._optimizer.lr = 0.1 / (1 + total % 7) + self.inner.best + self.lately


GLOBAL = {"n": 0.0}
NUMBER = 0


def by_globals(said: Any, factor: float = 1.0) -> None:
    global NUMBER
    NUMBER += 1
    GLOBAL["n"] += factor * NUMBER
    said.locals["self"]._optimizer.lr = 0.1 / (1 + GLOBAL["n"] % 5)


def callbacks_that_count(at: Break) -> Weights:
    global NUMBER
    GLOBAL["n"], NUMBER, Halving.steps = 0.0, 0, 0
    module, epochs = mx.mod.Module(symbol()), 0
    first, second, method = Halving(module, {}), Halving(module, {}), Halving(module, {"n": 3})
    means: list[Any] = []

    def end(epoch: int, net: Any, arguments: Any, states: Any) -> None:
        nonlocal epochs
        epochs += 1
        means.append(arguments["a_weight"].mean())
        module._optimizer.lr = abs(float(sum(m.asscalar() for m in means))) * epochs

    def change(said: Any) -> None:
        at()

    at.change = change
    among = [first, functools.partial(by_globals, factor=0.5), method.__call__]
    found = fitted(module, shuffled(), at, [end, lambda *told: second(SimpleNamespace(nbatch=told[0]))], also=among)
    ends = [
        first.seen,
        first.log[-1],
        second.seen,
        method.kind["n"],
        Halving.steps,
        epochs,
        len(means),
        NUMBER,
        GLOBAL["n"],
    ]
    return {**found, "ends": np.array(ends)}


class Drawing(mx.lr_scheduler.LRScheduler):
    """A rate by counts that a file of states can hold, and by draws and arrays that it cannot."""

    def __init__(self) -> None:
        super().__init__(0.1)
        self.calls, self.rule, self.log = 0, (lambda n: 1 + n % 3), logging.getLogger("drawing")
        self.draws, self.sums = np.random.RandomState(7), np.zeros(2)

    def __call__(self, num_update: int) -> float:
        self.calls += 1
        self.sums += self.draws.rand(2)
        return float(0.1 / self.rule(self.calls) + self.sums[0] % 0.1)


class Best(mx.metric.EvalMetric):
    """A metric that remembers more than reset empties, beside things that nobody keeps."""

    def __init__(self) -> None:
        super().__init__("best")
        self.best, self.lines, self.log = 0.0, iter("abc"), logging.getLogger("best")

    def update(self, labels: Any, preds: Any) -> None:
        self.best = max(getattr(self, "best", 0), float(preds[0].max().asscalar()))
        self.sum_metric += self.best
        self.num_inst += 1


def schedule_and_metrics(at: Break) -> Weights:
    schedule, metric, other = Drawing(), Best(), Best()
    told = {"optimizer_params": {"lr_scheduler": schedule}, "eval_metric": metric, "validation_metric": other}
    found = fitted(mx.mod.Module(symbol()), shuffled(), at, eval_data=mx.io.NDArrayIter(X, Y, 4), **told)
    return {**found, "ends": np.array([schedule.calls, *schedule.sums, metric.best, other.best])}


def schedule_in_a_loop(at: Break) -> Weights:
    schedule = Drawing()
    net, trainer = made("sgd", lr_scheduler=schedule)
    run = at.training(net=net, trainer=trainer)
    for _ in run.epochs(EPOCHS):
        for x, y in run.batches(loader(shuffle=True)):
            step(net, trainer, x, y)
            at()
    return {**weights(net), "ends": np.array([schedule.calls, *schedule.sums])}


MODULES: dict[str, Program] = {
    "a schedule and metrics": schedule_and_metrics,
    "a schedule in a loop": schedule_in_a_loop,
    "callbacks that count": callbacks_that_count,
    "own iterators": own_iterators(Mixed),
    "own iterators that draw": own_iterators(lambda: Mixed(draws=True)),
    "own iterators that say": own_iterators(Saying),
    "callbacks": callbacks_change_it,
    "by hand": rate_by_hand,
    "two contexts": lambda at: fitted(mx.mod.Module(symbol(), context=[mx.cpu(0), mx.cpu(1)]), shuffled(), at),
    "variance reduced": lambda at: fitted(SVRGModule(symbol(), update_freq=2), mx.io.NDArrayIter(X, Y, 4), at),
    "buckets": sentences,
}


@pytest.mark.parametrize("name", MODULES)
def test_a_fit_goes_on(name: str, tmp_path: Path) -> None:
    goes_on(MODULES[name], tmp_path)


def test_what_callbacks_carry_and_a_state_cannot_have_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Once each: what may change as it is from the start, what was set to something else when that happens."""

    class Carrying:
        def __init__(self) -> None:
            self.lines = iter("abc")
            self.other = gluon.nn.Dense(1)
            self.data, self.speed, self.log = shuffled(), mx.callback.Speedometer(4), logging.getLogger("carrying")
            self.when: Any = None
            self.records: list[Any] = []

        def __call__(self, said: Any) -> None:
            self.when = datetime.now()
            self.records.append(SimpleNamespace(of=said.nbatch))

    fitted(mx.mod.Module(symbol()), shuffled(), Break(tmp_path, 0), also=[mx.callback.Speedometer(4), Carrying()])
    told = [t.split(", ") for t in re.findall(r"carries (.*?) from call to call", caplog.text)]
    assert told[0] == ["batch_end_callback[1].lines", "batch_end_callback[1].other", "batch_end_callback[2]().at"]
    assert sorted(path for paths in told[1:] for path in paths) == [
        "batch_end_callback[1].records",
        "batch_end_callback[1].when",
    ]


def test_settings_of_callbacks_are_those_of_the_program(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A state has no more of them than training has changed."""

    def program(at: Break, factor: float) -> Any:
        meter = SimpleNamespace(factor=factor, n=0)

        def count(said: Any) -> None:
            meter.n += meter.factor

        fitted(mx.mod.Module(symbol()), shuffled(), at, also=[count])
        return meter

    with pytest.raises(Cut):
        start(lambda at: program(at, 1.0), Break(tmp_path, 9))
    assert start(lambda at: program(at, 0.5), Break(tmp_path, 0)).n == 7 + (16 - 7) * 0.5  # the state is that behind 7
    assert "meter" not in caplog.text


def test_a_fit_that_begins_later_goes_on(tmp_path: Path) -> None:
    """An iterator over files goes through the epochs that there were once more, and no others."""
    np.savetxt(tmp_path / "data.csv", X, delimiter=",")
    np.savetxt(tmp_path / "label.csv", Y)

    def program(at: Break) -> Weights:
        files: dict[str, Any] = {"data_csv": tmp_path / "data.csv", "label_csv": tmp_path / "label.csv"}
        data = mx.io.CSVIter(**files, data_shape=(4,), batch_size=4)
        return fitted(mx.mod.Module(symbol()), data, at, begin_epoch=3, num_epoch=6)

    goes_on(program, tmp_path / "state")


def test_a_fit_over_lines_goes_on(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "lines.txt", np.c_[X, Y])

    def program(at: Break) -> Weights:
        with open(tmp_path / "lines.txt", encoding="utf-8") as lines:
            data, alike = Lines(lines), Mixed()
            data.provide_data, data.provide_label = alike.provide_data, alike.provide_label
            return fitted(mx.mod.Module(symbol()), data, at)

    goes_on(program, tmp_path / "state")


def test_what_is_done_goes_through_nothing_once_more(tmp_path: Path) -> None:
    """A fit behind another goes on from where that one left the data, and goes through the data of both."""
    made: list[Any] = []

    def fit(at: Break, module: Any, data: Any) -> Weights:
        return fitted(module, data, at)

    def two(at: Break) -> Weights:
        data = Mixed()
        made.append(data)
        first = fit(Break(at.folder and at.folder / "first", 0), mx.mod.Module(symbol()), data)
        passed = data.passed
        at.passed = 0
        found = fit(at, mx.mod.Module(symbol()), data)
        return {**found, "first": first["b_weight"], "passed": np.array([passed > 0])}

    wanted = start(two, Break(None, 0))
    with pytest.raises(Cut):
        start(two, Break(tmp_path, 12))
    found = start(two, Break(tmp_path, 0))
    assert found["b_weight"].tobytes() == wanted["b_weight"].tobytes()
    assert not found["passed"][0]  # nothing asked for the data when the first was done
    assert made[-1].passed == made[0].passed


def test_an_iterator_that_says_where_it_stands_goes_through_nothing(tmp_path: Path) -> None:
    made: list[Any] = []

    def program(at: Break) -> Weights:
        made.append(Saying())
        return fitted(mx.mod.Module(symbol()), made[-1], at)

    with pytest.raises(Cut):
        start(program, Break(tmp_path, 13))  # the third epoch's third batch, of five
    start(program, Break(tmp_path, 0))
    assert made[0].passed + made[1].passed == EPOCHS * 5 + 2  # that of the break, and the one made behind it


def test_states_of_own_iterators_are_small(tmp_path: Path) -> None:
    """Orders and batches are in no state; random numbers of each draw are a few numbers."""

    def size(name: str, draws: bool, epochs: int) -> int:
        def program(at: Break) -> Weights:
            return fitted(mx.mod.Module(symbol()), Mixed(draws), at, num_epoch=epochs)

        start(program, Break(tmp_path / name, 0))
        with np.load(tmp_path / name / "training.npz") as held:
            return held["again"].size

    assert size("a", False, 6) - size("b", False, 3) < 300
    assert size("c", True, 6) - size("d", True, 3) < 3 * 5 * 300


@pytest.mark.parametrize("seeded", [False, True])
def test_twisters_are_told_by_few_numbers(seeded: bool) -> None:
    told, read = rng.Twister(), rng.Twister()
    sizes = []
    for i in range(9):
        if i == 5 and seeded:
            np.random.seed(3)
            random.seed(3)
        states = json.loads(json.dumps(rng.get_all_states()))
        short = json.loads(json.dumps({name: told.short(name, state) for name, state in states.items()}))
        assert {name: read.whole(name, state) for name, state in short.items()} == states
        sizes.append(len(json.dumps(short)))
        np.random.rand(700 * i)
        np.random.randn()
        random.sample(range(9999), 700 * i)
    assert [size > 6000 for size in sizes] == [i == 0 or (i == 5 and seeded) for i in range(9)]


# -- what cannot be kept ----------------------------------------------------------------------------------------------------


def test_random_numbers_of_a_sampler_are_not_kept_silently(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    program = sampled(own=True, keep=False)
    with pytest.raises(Cut):
        start(program, Break(tmp_path, 10))
    with pytest.raises(MXNetError, match=r"the data gives other batches there than it gave: .*in keep; .*exact=False"):
        start(program, Break(tmp_path, 0))

    class Inexact(Break):
        def training(self, **what: Any) -> Training:
            return super().training(**what, exact=False)

    start(program, Inexact(tmp_path, 0))
    assert "going on all the same" in caplog.text


def test_own_iterators_that_give_other_batches(tmp_path: Path) -> None:
    program = by_its_own(lambda at: Mixed(generator=np.random.default_rng()))  # of another seed in each run
    with pytest.raises(Cut):
        start(program, Break(tmp_path, 8))
    with pytest.raises(
        MXNetError, match=r"after 2 batches in .* epoch 1, and the data gives other batches there than it gave"
    ):
        start(program, Break(tmp_path, 0))


def test_what_is_measured_by_may_give_other_batches(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A fit goes on to the same weights; in a loop nobody knows what they are for."""

    def fit(at: Break) -> Weights:
        other = Mixed(generator=np.random.default_rng())
        return fitted(mx.mod.Module(symbol()), Mixed(), at, eval_data=other)

    wanted = start(fit, Break(None, 0))
    with pytest.raises(Cut):
        start(fit, Break(tmp_path / "fit", 8))
    found = start(fit, Break(tmp_path / "fit", 0))
    assert found["a_weight"].tobytes() == wanted["a_weight"].tobytes()
    assert "Mixed gives other batches than it gave; what is measured by it" in caplog.text

    def loop(at: Break) -> Weights:
        (net, trainer), data, other = made(), Mixed(), Mixed(generator=np.random.default_rng())
        run = at.training(net=net, trainer=trainer)
        for _ in run.epochs(EPOCHS):
            data.reset()
            for batch in run.batches(data):
                step(net, trainer, batch.data[0], batch.label[0])
                at()
            other.reset()
            list(other)
        return weights(net)

    with pytest.raises(Cut):
        start(loop, Break(tmp_path / "loop", 8))
    with pytest.raises(MXNetError, match="gives other batches there than it gave"):
        start(loop, Break(tmp_path / "loop", 0))


def test_other_iterators_than_before(tmp_path: Path) -> None:
    with pytest.raises(Cut):
        start(by_its_own(lambda at: Mixed()), Break(tmp_path, 8))
    with pytest.raises(MXNetError, match="own iterators, number 2 from the last is Saying, and was Mixed; remove"):
        start(by_its_own(lambda at: Saying()), Break(tmp_path, 0))


def test_own_iterators_that_cannot_be_made_to_stand(tmp_path: Path) -> None:
    net, _ = made()
    run, data = Training(tmp_path, net=net), None
    for epoch in run.epochs(2):
        data = Mixed() if data is None else data
        if epoch == 0:
            list(run.batches(data))
            continue
        with pytest.raises(
            MXNetError, match="Mixed was made in an epoch before; wanted one that is made ahead of the loop"
        ):
            list(run.batches(data))


def test_threads_that_draw_from_what_all_share_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    net, _ = made()
    for data, told in ((Noisy(), 0), (Varied(), 1)):
        run = Training(tmp_path / str(told), net=net)
        for _ in run.epochs(1):
            list(run.batches(DataLoader(data, 4, num_workers=2, thread_pool=True)))
        assert caplog.text.count("were drawn while threads made batches") == told


def test_threads_go_on_where_the_states_of_another_are_set() -> None:
    def draw(into: list[float]) -> None:
        rng.reseed_here(3)
        for _ in range(2):
            into.append(rng.generator().random())
            drawn.set()
            moved.wait(10)

    found: list[list[float]] = []
    for again in (False, True):
        mx.random.seed(1)
        drawn, moved = threading.Event(), threading.Event()
        found.append([])
        thread = threading.Thread(target=draw, args=(found[-1],))
        thread.start()
        drawn.wait(10)
        if again:
            rng.set_all_states(rng.get_all_states())
        moved.set()
        thread.join()
    assert found[0] == found[1]


def test_sentences_in_other_buckets_stand_nowhere() -> None:
    def make(lines: int) -> Any:
        return mx.rnn.BucketSentenceIter([[1, 2, 3]] * lines, 2, [3])

    with pytest.raises(
        MXNetError, match=re.escape("got a place in buckets of [6] sentences, wanted one in buckets of [4]")
    ):
        make(4)._stand(make(6)._standing())


def test_a_trainer_that_is_not_kept_is_refused(tmp_path: Path) -> None:
    (one, trainer), (other, unkept) = made(), made()
    run = Training(tmp_path, net=one, trainer=trainer)
    for _ in run.epochs(1):
        for x, y in run.batches(loader()):
            step(one, trainer, x, y)
            with pytest.raises(MXNetError, match="a Trainer makes a step that it was not given"):
                step(other, unkept, x, y)
            break
    step(other, unkept, nd.array(X), nd.array(Y))  # which is another matter


@pytest.mark.parametrize("every", [None, 2])
def test_epochs_without_batches_are_refused(every: int | None, tmp_path: Path, caplog: Any) -> None:
    net, trainer = made()
    turns = 0
    with pytest.raises(MXNetError, match=r"epoch 0 went by without batches.*wanted `for batch in run.batches\(data\)`"):
        for _ in Training(tmp_path, net=net, trainer=trainer, every=every).epochs(3):
            turns += 1
            for x, y in loader():
                step(net, trainer, x, y)
    assert turns == 1 and not list(tmp_path.iterdir())
    assert list(Training(None, net=net, trainer=trainer).epochs(3)) == [0, 1, 2]  # where nothing is asked for
    assert list(Training(tmp_path, net=net, trainer=trainer).epochs(1)) == [0]  # which has nothing more to lose
    assert "epoch 0 went by without batches" in caplog.text and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("asked", [{}, {"every": 7}, {"folder": None}])
def test_batches_without_epochs_are_refused(asked: dict[str, Any], tmp_path: Path) -> None:
    net, trainer = made()
    run = Training(**{"folder": tmp_path, **asked}, net=net, trainer=trainer)
    says = r"outside of a loop over its epochs.*`for epoch in run.epochs\(10\)`"
    steps = 0
    with pytest.raises(MXNetError, match=says):
        for _ in range(2):
            for x, y in run.batches(loader()):
                step(net, trainer, x, y)
                steps += 1
    with pytest.raises(MXNetError, match=says):
        next(run.enumerate(loader()))
    assert not steps and not list(tmp_path.iterdir())
    for _ in run.epochs(2):  # it is as good as new
        for x, y in run.batches(loader()):
            step(net, trainer, x, y)
            steps += 1
    assert steps == 12
    with pytest.raises(MXNetError, match=says):  # behind the last, where a state would be of more epochs than there are
        next(run.batches(loader()))


def test_the_midst_of_the_last_epoch_is_not_trained_twice(tmp_path: Path) -> None:
    net, trainer = made()
    run = Training(tmp_path, net=net, trainer=trainer, every=1)
    next(run.epochs(1))
    for i, (x, y) in run.enumerate(loader()):
        step(net, trainer, x, y)
        if i == 2:
            break
    with pytest.raises(MXNetError, match="epoch 0 went by without batches"):
        list(Training(tmp_path, net=net, trainer=trainer).epochs(1))


def test_variables_that_are_carried_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    net, trainer = made()
    net(nd.array(X[:1]))
    means = {name: p.data().copy() for name, p in net.collect_params().items()}
    shadows = [p.data().copy() for p in net.collect_params().values()]
    best, steps, scores, own, total, quiet = -1.0, 0, [], {"bad": 0}, 0.0, 0
    other = iter(range(99))
    accuracy = mx.metric.Accuracy()
    assert quiet == 0

    def train(**settings: Any) -> None:
        nonlocal best, steps, total
        run = Training(tmp_path / str(len(settings)), net=net, trainer=trainer, keep={"own": own}, **settings)
        for epoch in run.epochs(1):
            total = 0.0
            accuracy.reset()
            for x, y in run.batches(loader()):
                steps += 1
                own["bad"] += 1
                quiet = epoch + 1
                step(net, trainer, x, y)
                total += quiet
                accuracy.update(y, net(x))
                next(other)
                for name, p in net.collect_params().items():
                    means[name][:] = p.data()
                for shadow, p in zip(shadows, net.collect_params().values()):
                    shadow[:] = p.data()
            scores.append(total)
            if total > best:
                best = total

    train()
    assert re.search(r"carries (.*) from turn to turn", caplog.text)[1].split(", ") == [  # type: ignore[index]
        "steps", "other", "means", "shadows", "scores", "best",
    ]  # fmt: skip
    caplog.clear()
    train(every=2)  # those that an epoch begins anew with are carried from batch to batch
    found = set(re.search(r"carries (.*) from turn to turn", caplog.text)[1].split(", "))  # type: ignore[index]
    assert found == {"steps", "other", "means", "shadows", "scores", "best", "total", "accuracy"}


def test_numbers_of_batches_are_those_of_the_epoch(tmp_path: Path) -> None:
    net, _ = made()
    run = Training(tmp_path, net=net, every=1)
    for _ in run.epochs(1):
        with pytest.raises(MXNetError, match=r"counts from 0 wherever training goes on; wanted run.enumerate\(data\)"):
            for _ in enumerate(run.batches([nd.ones(1)])):
                pass
    other = Training(tmp_path, net=net, every=1)
    for _ in other.epochs(1):
        with pytest.raises(MXNetError, match=r"the first batches of the others .* run.batches\(data, other\)"):
            for _ in zip(other.batches([nd.ones(1)]), [1]):
                pass


def test_what_keep_takes(tmp_path: Path) -> None:
    net, _ = made()
    with pytest.raises(MXNetError, match=re.escape("keep['own']['by']: got a function, which cannot be kept")):
        Training(tmp_path, net=net, keep={"own": {"by": test_what_keep_takes}})
    with pytest.raises(MXNetError, match="wanted networks as net"):
        Training(tmp_path, net=net, keep={"net": net})
    round_ = []
    round_.append(round_)
    with pytest.raises(MXNetError, match="one inside itself"):
        Training(tmp_path, net=net, keep={"round": round_})
    with pytest.raises(MXNetError, match="wanted a Block"):
        Training(tmp_path, net=[net, 3])
    with pytest.raises(MXNetError, match="got a int, which cannot be given its content back; wanted a dict"):
        Training(tmp_path, net=net, keep={"best": 3})
    list(Training(tmp_path, net=net, keep={"best": [3]}).epochs(1))
    with pytest.raises(
        MXNetError, match=re.escape("another kind of thing, or an array of another shape, as keep['best']")
    ):
        Training(tmp_path, net=net, keep={"best": nd.ones(2)})
    with pytest.raises(MXNetError, match="of a program that keeps best of its own, and this one nothing"):
        Training(tmp_path, net=net)
