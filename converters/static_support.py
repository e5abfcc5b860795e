"""The support table as the sources of translations and readings show it: the refusals that they can raise, the operators
that they end in.

Nothing is run for it, so it holds for every attribute and input; tests/converters/test_coverage.py holds it to what conversions
of the recorded cases and of the suite of ONNX show.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hybrid.core.op import find

from .error import Unsupported
from .registry import family_name

HOLE = "…"
"""Text in place of a value that a refusal names."""


@functools.cache
def refusals(handler: Callable[..., Any], name: str) -> tuple[str, ...]:
    """The texts of the Unsupported that the translation of an operator or what it calls can raise, HOLE where they have a value."""
    return tuple(dict.fromkeys(text for f in _reachable(handler, name) for text in _raises(f, name)))


@functools.cache
def results(handler: Callable[..., Any], name: str, domain: str) -> frozenset[str]:
    """The operators of MXNet, by canonical name, whose results a reading of the ONNX operator ``name`` gives."""
    return frozenset(_Reading(name, domain).of(handler, {}))


# -- sources ----------------------------------------------------------------------------------------------------------


@functools.cache
def _definitions(path: str) -> dict[int, list[ast.AST]]:
    """The functions of a file by the line they begin on, decorators included."""
    found: dict[int, list[ast.AST]] = {}
    for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            decorators = getattr(node, "decorator_list", [])
            found.setdefault(min([node.lineno, *(d.lineno for d in decorators)]), []).append(node)
    return found


def _source(function: Any) -> list[ast.AST]:
    """The definition of a function; all lambdas of its line for a lambda."""
    code = function.__code__
    return _definitions(code.co_filename).get(code.co_firstlineno, [])


def _plain(function: Any) -> Any:
    """The function below partial and instances that are called; None when there is none of these packages."""
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isfunction(function) and not isinstance(function, type):
        function = vars(type(function)).get("__call__")
    ours = inspect.isfunction(function) and function.__module__.startswith(f"{__package__}.")
    return function if ours else None


def _scope(function: Any) -> dict[str, Any]:
    """Values of the names in a function, as far as they are known before it is called; functions among its defaults too."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or ())
    parameters = inspect.signature(function).parameters.values()
    defaults = {p.name: p.default for p in parameters if callable(p.default) and p.default is not p.empty}
    return {**function.__globals__, **{n: c.cell_contents for n, c in cells}, **defaults}


def _reachable(handler: Any, name: str) -> Iterator[Any]:
    """A translation and the functions of these packages that it calls, directly or not, for the operator of that name."""
    seen, waiting = set(), [handler]
    while waiting:
        function = _plain(waiting.pop())
        if function is None or function in seen:
            continue
        seen.add(function)
        yield function
        scope = _scope(function)
        for node in _nodes(function, name):
            if isinstance(node, ast.Name):
                waiting.append(scope.get(node.id))
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                module = scope.get(node.value.id)
                waiting.append(getattr(module, node.attr, None) if inspect.ismodule(module) else None)


def _nodes(function: Any, name: str) -> tuple[ast.AST, ...]:
    """The syntax of a function in order, but for what a question for ``op.name`` keeps from the operator of that name."""
    return _walked(function, name if _asks_for_names(function) else "")


@functools.cache
def _asks_for_names(function: Any) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr == "name" for root in _source(function) for n in ast.walk(root))


@functools.cache
def _walked(function: Any, name: str) -> tuple[ast.AST, ...]:
    frame = _Frame({**_scope(function), "op": _Named(name)}, {})
    found, waiting = [], _source(function)[::-1]
    while waiting:
        node = waiting.pop()
        found.append(node)
        parts = ast.iter_child_nodes(node)
        if isinstance(node, ast.If):
            branches = frame.branches(node.test, node.body, node.orelse)
            parts = [node.test, *(n for branch in branches for n in branch)]
        waiting += [*parts][::-1]
    return tuple(found)


def _raises(function: Any, name: str) -> Iterator[str]:
    for node in _nodes(function, name):
        called = node.exc if isinstance(node, ast.Raise) else None
        if (
            isinstance(called, ast.Call)
            and isinstance(called.func, ast.Name)
            and called.func.id == Unsupported.__name__
        ):
            yield _text(called.args[0])


class _Named(NamedTuple):
    """All that is known of an operator before it is there."""

    name: str


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    return str(node.value) if isinstance(node, ast.Constant) else HOLE


# -- what readings end in ---------------------------------------------------------------------------------------------


class _Reading:
    """Follows what functions that read an ONNX operator return, back to the operators that made it."""

    def __init__(self, name: str, domain: str):
        self.own = family_name(name, domain)
        self.active: list[Any] = []

    def of(self, function: Any, given: dict[str, Any]) -> Iterator[str]:
        """given: parameters whose values are known."""
        plain = _plain(function)
        if plain is None or plain in self.active:
            return
        self.active.append(plain)
        for definition in _source(plain):
            arguments: Any = definition.args  # type: ignore[attr-defined]
            names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
            first, named = (function.args, function.keywords) if isinstance(function, functools.partial) else ((), {})
            whole = function.func if isinstance(function, functools.partial) else function
            first = first if inspect.isfunction(whole) else (whole, *first)
            frame = _Frame({**dict.fromkeys(names), **_scope(plain), **dict(zip(names, first)), **named, **given}, {})
            body = definition.body  # type: ignore[attr-defined]
            for end in frame.ends(body) if isinstance(body, list) else [body]:
                yield from self.makers(end, frame, frozenset())
        self.active.pop()

    def makers(self, node: ast.AST, frame: _Frame, seen: frozenset[str]) -> Iterator[str]:
        """Operators whose results an expression may be."""
        parts: list[ast.AST] = []
        if isinstance(node, ast.Name) and node.id not in seen:
            parts, seen = frame.made.get(node.id, []), seen | {node.id}
        elif isinstance(node, ast.IfExp):
            parts = frame.branches(node.test, node.body, node.orelse)
        elif isinstance(node, ast.Tuple | ast.List):
            parts = list(node.elts)
        elif isinstance(node, ast.BoolOp):
            parts = list(node.values)
        elif isinstance(node, ast.Starred | ast.Subscript):
            parts = [node.value]
        elif isinstance(node, ast.Call):
            yield from self.operators_of_call(node, frame, seen)
        for part in parts:
            yield from self.makers(part, frame, seen)

    def operators_of_call(self, call: ast.Call, frame: _Frame, seen: frozenset[str]) -> Iterator[str]:
        """Operators whose results a call may give."""
        target = call.func
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "g":
            names = frame.words(call.args[0]) if target.attr == "apply" else [target.attr]
            known = (find(self.own if n == "passthrough" else n) for n in names)
            yield from (cls.name for cls in known if cls is not None)
            return
        values = [frame.value(a) for a in call.args]
        for function in frame.functions(target):
            plain = _plain(function)
            if plain is None:  # functools.reduce(form, ...): what it calls
                for value in values:
                    yield from self.of(value, {})
                continue
            names = [n for n in inspect.signature(plain).parameters if n != "self"]
            given = {n: v for n, v in zip(names, values) if v is not None}
            given |= {k.arg: v for k in call.keywords if k.arg and (v := frame.value(k.value)) is not None}
            found = list(self.of(function, given))
            yield from found
            if not found:  # it passes on what it is given
                for argument in call.args:
                    yield from self.makers(argument, frame, seen)


class _Frame(NamedTuple):
    """Names and values inside a function."""

    scope: dict[str, Any]
    made: dict[str, list[ast.AST]]
    """The expressions that names are set to."""

    def ends(self, body: list[ast.stmt]) -> list[ast.AST]:
        """Expressions that statements return, those of functions inside left out; notes what they set."""
        found: list[ast.AST] = []
        for node in body:
            if isinstance(node, ast.Return) and node.value is not None:
                found.append(node.value)
            elif isinstance(node, ast.Assign):
                for name in (n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)):
                    self.made.setdefault(name, []).append(node.value)
            elif isinstance(node, ast.If):
                for branch in self.branches(node.test, node.body, node.orelse):
                    found += self.ends(branch)
            elif isinstance(node, ast.For | ast.While | ast.With):
                found += self.ends(node.body)
        return found

    def branches(self, test: ast.AST, yes: Any, no: Any) -> list[Any]:
        """Those that can be taken."""
        sure = self.sure(test)
        return [yes, no] if sure is None else [yes if sure else no]

    def sure(self, test: ast.AST) -> bool | None:
        """Value of a condition whatever the inputs; None when that depends on them."""
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            return False if any(self.sure(v) is False for v in test.values) else None
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return None
        left, right = self.words(test.left), self.words(test.comparators[0])
        if len(left) != 1 or not right or not isinstance(test.ops[0], ast.Eq | ast.In):
            return None
        return left[0] in right

    def value(self, node: ast.AST) -> Any:
        """The word or the function that an expression stands for; None where it is neither, or one of several."""
        words = self.words(node)
        if len(words) == 1:
            return words[0]
        functions = self.functions(node)
        return functions[0] if len(functions) == 1 else None

    def functions(self, node: ast.AST) -> list[Any]:
        """The functions that an expression may stand for."""
        if isinstance(node, ast.Name):
            found = self.scope.get(node.id)
            return [found] if callable(found) else []
        if isinstance(node, ast.IfExp):
            return [f for part in (node.body, node.orelse) for f in self.functions(part)]
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found = getattr(self.scope.get(node.value.id), node.attr, None)
            return [found] if callable(found) else []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "partial":
            inner, *rest = map(self.value, node.args)
            return [functools.partial(inner, *rest)] if callable(inner) else []
        return []

    def words(self, node: ast.AST) -> list[str]:
        """The words that an expression may stand for."""
        if isinstance(node, ast.Constant):
            return [node.value] if isinstance(node.value, str) else []
        if isinstance(node, ast.Name):
            if node.id in self.made:
                others = self._replace(made={n: e for n, e in self.made.items() if n != node.id})
                return [w for e in self.made[node.id] for w in others.words(e)]
            found = self.scope.get(node.id)
            return [found] if isinstance(found, str) else []
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found = getattr(self.scope.get(node.value.id), node.attr, None)
            return [found] if isinstance(found, str) else []
        if isinstance(node, ast.IfExp):
            return [w for part in (node.body, node.orelse) for w in self.words(part)]
        if isinstance(node, ast.Tuple):
            return [w for part in node.elts for w in self.words(part)]
        if isinstance(node, ast.JoinedStr):
            parts = [self.words(p.value if isinstance(p, ast.FormattedValue) else p) for p in node.values]
            return ["".join(words) for words in itertools.product(*parts)]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "lower":
            return [w.lower() for w in self.words(node.func.value)]
        return []
