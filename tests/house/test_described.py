"""Public classes, functions and methods say what their arguments mean (test_public.py runs the examples)."""

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import bridge
import hybrid as mx

MODULES = {
    name: getattr(mx.gluon, name) for name in ("nn", "rnn", "loss", "data")
} | {"gluon": mx.gluon, "optimizer": mx.optimizer, "lr_scheduler": mx.lr_scheduler, "metric": mx.metric, "init": mx.init,
     "io": mx.io, "autograd": mx.autograd, "mod": mx.mod, "kvstore": mx.kvstore, "image": mx.image, "bridge": bridge,
     "recordio": mx.recordio, "callback": mx.callback, "monitor": mx.monitor, "viz": mx.viz, "model": mx.model,
     "rnn cells": mx.rnn, "operator": mx.operator, "log": mx.log, "amp": mx.contrib.amp.amp,
     "old autograd": mx.contrib.autograd, "quantization": mx.contrib.quantization, "contrib.io": mx.contrib.io,
     "random": mx.nd.random, "sym.random": mx.sym.random}  # fmt: skip
"""Modules all of whose classes and functions say what their arguments mean."""
CLASSES = (
    "nd.NDArray", "sym.Symbol", "gluon.Block", "gluon.HybridBlock", "gluon.Parameter",
    "gluon.ParameterDict", "gluon.SymbolBlock", "gluon.Trainer", "gluon.rnn.RecurrentCell",
)  # fmt: skip
"""Classes whose methods, or those of their bases by the same name, say what their arguments mean."""
WHOLE = ("optimizer", "lr_scheduler", "metric", "init", "io", "image", "kvstore", "bridge", "mod", "recordio",
         "callback", "monitor", "model", "rnn cells", "operator", "contrib.io")  # fmt: skip
"""Modules all of whose classes are such."""
EVERYWHERE = ("self", "cls", "args", "kwargs", "prefix", "params", "_")
"""Arguments that mean the same wherever they are: names of a block's parameters, where these are kept, and what is read over."""


def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Classes and functions that a module shows, of this engine."""
    for name in getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]:
        found = getattr(module, name)
        own = ("hybrid", "bridge") if hasattr(module, "__all__") else module.__name__
        if (inspect.isclass(found) or inspect.isfunction(found)) and found.__module__.startswith(own):
            yield name, found


def below(kind: type) -> str:
    """Names of the fields of a class, those of its bases included, below which a docstring stands."""
    named = []
    for part in kind.__mro__[:-1]:
        if "__annotations__" in vars(part):
            (found,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
            assert isinstance(found, ast.ClassDef)
            for field, text in zip(found.body, found.body[1:]):
                if (
                    isinstance(field, ast.AnnAssign)
                    and isinstance(text, ast.Expr)
                    and isinstance(text.value, ast.Constant)
                ):
                    named.append(ast.unparse(field.target))
    return " ".join(named)


def told(thing: Any) -> str:
    """All that docstrings say of the arguments: of a class those of its ``__init__``, and of the base that has it."""
    texts = [inspect.getdoc(thing)]
    if inspect.isclass(thing):
        bases = thing.__mro__
        owner = next(i for i, part in enumerate(bases) if "__init__" in vars(part) or part is object)
        texts += [inspect.getdoc(thing.__init__), *(p.__doc__ for p in bases[1 : owner + 1] if p is not object)]
        if dataclasses.is_dataclass(thing) or issubclass(thing, tuple):
            texts.append(below(thing))
    return " ".join(filter(None, texts))


def undescribed(thing: Any) -> list[str]:
    """Arguments that no docstring names."""
    try:
        names = [*inspect.signature(thing).parameters]
    except ValueError:
        return []
    words = told(thing)
    return [n for n in names if n not in EVERYWHERE and not re.search(rf"\b{n}\b", words)]


@pytest.mark.parametrize("name", MODULES)
def test_arguments_are_described(name: str) -> None:
    found = {n: undescribed(thing) for n, thing in public(MODULES[name])}
    assert not any(found.values()), f"write what they mean: { {n: m for n, m in found.items() if m} }"


def silent(kind: type) -> list[str]:
    """Methods and properties of a class without a docstring, and arguments that it does not name."""
    found = []
    for name in (n for n in dir(kind) if n[0] != "_"):
        member = inspect.getattr_static(kind, name)
        if isinstance(member, property):
            found += [name] * (not inspect.getdoc(member))
        elif inspect.isroutine(member) and not inspect.ismethoddescriptor(method := getattr(kind, name)):
            bases = " ".join(part.__dict__[name].__doc__ or "" for part in kind.__mro__ if name in part.__dict__)
            left = [n for n in undescribed(method) if not re.search(rf"\b{n}\b", bases)]
            found += [name] * (not inspect.getdoc(method)) + [f"{name}({n})" for n in left]
    return found


@pytest.mark.parametrize("name", CLASSES)
def test_methods_are_described(name: str) -> None:
    kind: Any = mx
    for part in name.split("."):
        kind = getattr(kind, part)
    assert not silent(kind), "write what these do and mean"


@pytest.mark.parametrize("name", WHOLE)
def test_methods_of_modules_are_described(name: str) -> None:
    found = {n: silent(kind) for n, kind in public(MODULES[name]) if inspect.isclass(kind)}
    assert not any(found.values()), f"write what these do and mean: { {n: m for n, m in found.items() if m} }"


def test_help_says_what_arguments_of_wishes_mean() -> None:
    """help() shows a class's own docstring alone, and what its fields are called otherwise on the command line has to be there."""
    for kind in (bridge.Half, bridge.Quantized):
        said = inspect.getdoc(kind) or ""
        assert [n for n in inspect.signature(kind).parameters if f"\n{n} : " not in said] == []
        assert "--truth" in said


def test_the_test_sees() -> None:
    def planted(x: int, axis: int = 0) -> None:
        """Do something along axis."""

    @dataclasses.dataclass
    class Base:
        """A size."""

        size: int
        depth: int
        """Its depth."""

    class Child(Base):
        """Nothing of its own."""

        def turn(self, angle: float) -> None:
            """Turn it."""

        @property
        def side(self) -> int:
            return 1

    @dataclasses.dataclass
    class Wider(Base):
        """A width."""

        width: int
        height: int

    assert undescribed(planted) == ["x"]
    assert undescribed(Child) == []
    assert silent(Child) == ["side", "turn(angle)"]
    assert undescribed(Wider) == ["size", "height"]
