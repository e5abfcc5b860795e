"""Docstrings of what is public, counted: MXNet 1.9.1's names that are here, and gluonnx's, with the members of classes.

``python -m tests.house.public`` prints the count of each module; ``python -m tests.house.public NAME`` what a module lacks."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

import bridge
import hybrid
from tests.house import api

OURS = ("hybrid", "bridge", "converters", "gluonnx")
EXCEPTIONS = ("StopIteration", "NotImplementedError")
"""Errors that a docstring need not name: Python's protocol of iterators, and a method that a subclass has to define."""
CALLED = ("forward", "hybrid_forward", "infer_shape")
"""Methods of blocks that calling one calls."""
SHAPE = re.compile(r"[Ss]hape|\([A-Z]\w*[,)]|axes|axis|\.\.\.\)|elements?\b|size|-> \(")
SOURCE = re.compile(r"MXNet|NumPy|ONNX|[Oo]perators? \w|arXiv|https?://|\b(19|20)\d\d\b")
DEFAULT = re.compile(r"^(\w+) : (.+), default (.+)$", re.MULTILINE)
TYPES = {"bool": bool, "int": int, "float": (int, float), "str": str}


class Public(NamedTuple):
    """Something public: a function or a class, or a member of a class."""

    module: str
    name: str
    what: Any
    owner: Any = None
    """The class of a member."""

    @property
    def text(self) -> str:
        """The docstring, as ``help`` shows it."""
        inner = getattr(self.what, "__func__", self.what)
        if inspect.isclass(inner) and inner.__doc__ is None:
            return ""
        return str(inspect.getdoc(inner) or "")

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


def is_ours(what: Any) -> bool:
    """True for what this project defines."""
    return str(getattr(what, "__module__", "")).split(".")[0] in OURS


def is_home(item: api.Public) -> bool:
    """True for a name in the module that defines what it names."""
    return str(getattr(api.find(item), "__module__", "")).replace("hybrid", "mxnet", 1) == item.module


def functions_and_classes() -> Iterator[tuple[str, str, Any]]:
    """(module, name, what) of every function and class, each once, by the module that defines it or the first to show it."""
    seen: set[int] = set()
    for name in sorted(bridge.__all__):
        seen.add(id(getattr(bridge, name)))
        yield "gluonnx", name, getattr(bridge, name)
    named = [i for i in api.public() if i.kind in ("function", "class")]
    for item in sorted(named, key=lambda item: (not is_home(item), ".contrib" in item.module)):
        if "." in item.name or item.module.rpartition(".")[2].startswith("_") or item.name.startswith("_"):
            continue
        what = api.find(item)
        if is_ours(what) and callable(what) and id(what) not in seen:
            seen.add(id(what))
            yield item.module, item.name, what
    for name in hybrid.__all__:
        what = getattr(hybrid, name)
        if is_ours(what) and callable(what) and id(what) not in seen:
            seen.add(id(what))
            yield "mxnet", name, what


@functools.cache
def public() -> tuple[Public, ...]:
    """Everything public."""
    found = []
    for module, name, what in functions_and_classes():
        if not callable(what):
            continue
        found.append(Public(module, name, what))
        if inspect.isclass(what):
            for member, value in vars(what).items():
                kinds = property | classmethod | staticmethod | functools.cached_property
                if member[0] != "_" and (inspect.isroutine(value) or isinstance(value, kinds)):
                    found.append(Public(module, f"{name}.{member}", value, what))
    return tuple(found)


# -- what they lack -------------------------------------------------------------------------------------------------------


def has_example(item: Public) -> bool:
    """True with an example of its own, or, of a member, where the example of its class uses it (calling a block is its forward), or
    the class above it that has it too shows it."""
    if ">>> " in item.text:
        return True
    if item.owner is None:
        return False
    name = item.name.rpartition(".")[2]
    for kind in item.owner.__mro__[:-1]:
        shown = Public(item.module, kind.__name__, kind).text
        own = kind.__dict__.get(name)
        if own is not None and ">>> " in Public(item.module, name, own).text:
            return True
        if re.search(rf"^(>>>|\.\.\.) .*\.{name}\b", shown, re.MULTILINE):
            return True
        if name in CALLED and ">>> " in shown:
            return True
    return False


def _body(what: Any) -> ast.AST | None:
    inner = getattr(what, "__func__", getattr(what, "fget", getattr(what, "func", what)))
    if inspect.isclass(inner):
        inner = inner.__dict__.get("__init__")
    if not inspect.isfunction(inner) or inner.__code__.co_name != inner.__name__:
        return None  # or made of an operator, whose docstring is put together
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(inner)))
    except (OSError, TypeError, SyntaxError):
        return None


def unnamed_errors(item: Public) -> list[str]:
    """Errors that a function raises itself, or a class when one is made, and that no docstring names."""
    tree = _body(item.what)
    if tree is None:
        return []
    raised = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            raised.add(ast.unparse(node.exc.func).rpartition(".")[2])
    init = item.what.__dict__.get("__init__") if inspect.isclass(item.what) else None
    text = " ".join([item.text, str(getattr(init, "__doc__", None) or "")])
    errors = (r for r in raised if r[:1].isupper() and r not in EXCEPTIONS)
    return sorted(e for e in errors if not re.search(rf"\b{e}\b", text))


def wrong_defaults(item: Public) -> list[str]:
    """Defaults and types that a docstring says and the signature does not have."""
    inner = getattr(item.what, "__func__", item.what)
    try:
        signature = inspect.signature(inner)
    except (TypeError, ValueError):
        return []
    wrong = []
    for name, kind, written in DEFAULT.findall(item.text):
        found = signature.parameters.get(name)
        if found is None:
            continue  # of a base, whose keywords are taken
        default = found.default
        if default is found.empty:
            wrong.append(f"{name} has no default")
            continue
        plain = isinstance(default, str | bool | int | float | tuple | None)
        same = repr(default) == written.rstrip(".") or (
            isinstance(default, int | float) and _number(written) == default
        )
        if plain and not same:
            wrong.append(f"{name}={default!r}, not {written}")
        fits = isinstance(default, TYPES.get(kind, object)) and isinstance(default, bool) <= (
            kind not in ("int", "float")
        )
        if isinstance(default, bool | int | float | str) and not fits:
            wrong.append(f"{name}={default!r} is no {kind}")
    return wrong


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


TESTS = {
    "text": lambda item: bool(item.text),
    "example": has_example,
    "errors": lambda item: not unnamed_errors(item),
    "shapes": lambda item: bool(SHAPE.search(item.text)),
    "source": lambda item: bool(SOURCE.search(item.text)),
}
"""By what a docstring should have: whether it does. Shapes and sources are looked for by words, so their counts are estimates."""


def counts() -> dict[str, dict[str, int]]:
    """By module how many names there are, and how many of them have what."""
    found: dict[str, dict[str, int]] = {}
    for item in public():
        row = found.setdefault(item.module, dict.fromkeys(("names", *TESTS), 0))
        row["names"] += 1
        for name, test in TESTS.items():
            row[name] += test(item)
    return found


def main(modules: list[str]) -> None:
    """Print the counts, or what the modules lack."""
    if modules:
        for item in (i for i in public() if i.module in modules):
            lacks = [name for name in ("text", "example") if not TESTS[name](item)]
            lacks += [f"names no {e}" for e in unnamed_errors(item)] + wrong_defaults(item)
            if lacks:
                print(f"{item}: {', '.join(lacks)}")
        return
    rows = counts()
    columns = ("names", *TESTS)
    print(f"{'':34}" + "".join(f"{c:>9}" for c in columns))
    total = {c: sum(row[c] for row in rows.values()) for c in columns}
    for module, row in [*rows.items(), ("all", total)]:
        print(f"{module:34}" + "".join(f"{row[c]:9}" for c in columns))


if __name__ == "__main__":
    main(sys.argv[1:])
