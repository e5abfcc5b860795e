"""Public classes and functions say what their arguments mean; the examples of their docstrings run."""

import doctest
import inspect
import io
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import hybrid as mx

MODULES = {
    name: getattr(mx.gluon, name) for name in ("nn", "rnn", "loss", "data")
} | {"gluon": mx.gluon, "optimizer": mx.optimizer, "lr_scheduler": mx.lr_scheduler, "metric": mx.metric, "init": mx.init,
     "io": mx.io, "autograd": mx.autograd, "mod": mx.mod}  # fmt: skip
LEFT = {"optimizer": 12, "metric": 7, "init": 3, "io": 241}
"""Numbers of arguments that no docstring names, by module. They only fall."""
EVERYWHERE = ("self", "cls", "args", "kwargs", "prefix", "params")
"""Arguments that mean the same wherever they are: the names of a block's parameters, and where these are kept."""
SHOWN = (
    "gluon.Trainer", "gluon.nn.Dense", "gluon.nn.Embedding", "gluon.nn.LayerNorm", "gluon.nn.Conv2D", "gluon.nn.MaxPool2D",
    "gluon.loss.SoftmaxCrossEntropyLoss", "gluon.loss.L2Loss", "gluon.rnn.LSTM", "gluon.data.DataLoader", "optimizer.SGD",
    "lr_scheduler.FactorScheduler", "metric.Accuracy", "autograd.grad", "viz.plot_network",
)  # fmt: skip


def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Classes and functions that a module shows, of this engine."""
    for name in getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]:
        found = getattr(module, name)
        own = "hybrid" if hasattr(module, "__all__") else module.__name__
        if (inspect.isclass(found) or inspect.isfunction(found)) and found.__module__.startswith(own):
            yield name, found


def undescribed(thing: Any) -> list[str]:
    """Arguments that the docstring does not name; of a class that of its ``__init__`` counts too."""
    try:
        names = [*inspect.signature(thing).parameters]
    except ValueError:
        return []
    told = f"{inspect.getdoc(thing)} {inspect.getdoc(thing.__init__) if inspect.isclass(thing) else ''}"
    return [n for n in names if n not in EVERYWHERE and not re.search(rf"\b{n}\b", told)]


@pytest.mark.parametrize("name", MODULES)
def test_arguments_are_described(name: str) -> None:
    found = {n: undescribed(thing) for n, thing in public(MODULES[name])}
    left = sum(map(len, found.values()))
    print(name, left, {n: missing for n, missing in found.items() if missing})
    assert left == LEFT.get(name, 0), "write what they mean, then the number here: " + str(
        {n: m for n, m in found.items() if m}
    )


def test_the_test_sees() -> None:
    def planted(x: int, axis: int = 0) -> None:
        """Do something along axis."""

    assert undescribed(planted) == ["x"]


@pytest.mark.parametrize("name", SHOWN)
def test_examples_run(name: str) -> None:
    thing: Any = mx
    for part in name.split("."):
        thing = getattr(thing, part)
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(thing) or "", {}, name, None, None)
    said = io.StringIO()
    assert test.examples and doctest.DocTestRunner(verbose=False).run(test, out=said.write).failed == 0, said.getvalue()
