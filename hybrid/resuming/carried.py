"""Variables that a program carries from one turn of its loops to the next, found in its text: they begin anew after a break."""

from __future__ import annotations

import ast
import linecache
import logging
from collections import deque
from collections.abc import Iterable, Mapping
from types import FrameType, ModuleType
from typing import Any

from ..core.error import MXNetError
from ..gluon import Block, Parameter, ParameterDict, Trainer
from ..metric import EvalMetric
from ..ndarray import NDArray
from ..optimizer import Optimizer

CHANGING = {
    "append", "appendleft", "extend", "add", "update", "insert", "pop", "popleft", "popitem", "remove", "discard", "clear",
    "setdefault", "sort", "reverse",
}  # fmt: skip
"""Methods by which containers and metrics change."""
TRAINED = (Block, Parameter, ParameterDict, Trainer, Optimizer, ModuleType)
"""Kinds that have a place of their own in the state, or in which a program carries nothing."""
Names = dict[str, None]
"""Names in the order in which they were found."""


def tell(frame: FrameType, keep: Mapping[str, Any], within: bool) -> None:
    """Warn of variables that the loop over epochs in this frame carries and that are not kept. within: those that the loop over
    batches carries too, since the state is written among them."""
    loop = _loop(frame, "epochs")
    if loop is None:
        return
    found = _carried(loop.body, _targets(loop.target), frame)
    if within:
        for inner in ast.walk(loop):
            if isinstance(inner, ast.For) and inner is not loop and _calls(inner.iter, "batches", "enumerate"):
                found.update(_carried(inner.body, _targets(inner.target), frame))
    known = {id(part) for value in keep.values() for part in _parts(value)}
    left = [name for name in found if not _is_kept(name, frame, known)]
    if left:
        logging.warning(
            "Training: %s: the program carries %s from turn to turn of its loop, and the state does not: after a break %s anew. "
            'Where training depends on it, keep it in a dict, own["..."], that Training(..., keep={"own": own}) is given',
            f"line {loop.lineno}",
            ", ".join(left),
            "it begins" if len(left) == 1 else "they begin",
        )


INSTEAD = {
    "enumerate": ("counts from 0 wherever training goes on", "run.enumerate(data)"),
    "zip": ("has the first batches of the others wherever training goes on", "run.batches(data, other)"),
}
"""Functions that go on from the beginning beside batches that do not: what is wrong, what there is for it."""


def refuse_others(frame: FrameType) -> None:
    """Raise MXNetError for a loop over ``enumerate(run.batches(data))`` or ``zip(run.batches(data), other)``: numbers and others
    would begin anew after a break."""
    loop = _loop(frame, "batches")
    if loop is None:
        return
    for call in ast.walk(loop.iter):
        name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
        if name not in INSTEAD or not any(_calls(argument, "batches") for argument in call.args):  # type: ignore[attr-defined]
            continue
        if name == "zip" or (len(call.args) == 1 and not call.keywords):  # type: ignore[attr-defined]
            wrong, instead = INSTEAD[name]
            raise MXNetError(
                f"Training: line {loop.lineno}: {name}(...batches(...)) {wrong}; wanted {instead} in its place"
            )


def _loop(frame: FrameType, method: str) -> ast.For | None:
    """The loop at the place where a frame stands, over what such a method gives; None where there is no text of it."""
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return None
    found = None
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.For)
            and node.lineno <= frame.f_lineno <= (node.iter.end_lineno or 0)
            and _calls(node.iter, method)
        ):
            found = node
    return found


def _calls(tree: ast.AST, *methods: str) -> bool:
    return any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in methods for n in ast.walk(tree)
    )


def _targets(tree: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}


def _key(tree: ast.AST) -> str | None:
    """A variable, or an attribute of one, that an expression is or is a part of; None for other expressions."""
    while isinstance(tree, ast.Subscript):
        tree = tree.value
    if isinstance(tree, ast.Name):
        return tree.id
    if isinstance(tree, ast.Attribute) and (base := _key(tree.value)) is not None:
        return f"{base}.{tree.attr}"
    return None


def _carried(body: Iterable[ast.stmt], given: set[str], frame: FrameType) -> Names:
    """Variables that a body reads, or changes a part of, before it has set them, and that it sets."""
    walk = _Walk(frame)
    walk.statements(body, set(given))
    return {name: None for name in walk.first if name in walk.stored}


class _Walk:
    """One turn through the body of a loop."""

    def __init__(self, frame: FrameType) -> None:
        self.frame = frame
        self.first: Names = {}
        """Read before they are set."""
        self.stored: set[str] = set()

    def statements(self, body: Iterable[ast.stmt], known: set[str]) -> set[str]:
        """known: names that have been set in this turn. Gives those known behind the body."""
        for one in body:
            known = self.statement(one, known)
        return known

    def statement(self, one: ast.stmt, known: set[str]) -> set[str]:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return {*known, one.name}
        if isinstance(one, ast.Import | ast.ImportFrom):
            return {*known, *((a.asname or a.name).partition(".")[0] for a in one.names)}
        if isinstance(one, ast.Assign | ast.AnnAssign | ast.AugAssign):
            if one.value is not None:
                self.read(one.value, known)
            for target in one.targets if isinstance(one, ast.Assign) else [one.target]:
                if isinstance(one, ast.AugAssign):
                    self.read(target, known)
                known = self.store(target, known)
            return known
        if isinstance(one, ast.For | ast.AsyncFor):
            self.read(one.iter, known)
            inside = self.store(one.target, known)
            self.parts(one, known)
            self.statements(one.body, inside)
            self.statements(one.orelse, known)
            return known
        if isinstance(one, ast.While):
            self.read(one.test, known)
            self.statements(one.body, known)
            return self.statements(one.orelse, known)
        if isinstance(one, ast.If):
            self.read(one.test, known)
            ways = [self.statements(way, known) for way in (one.body, one.orelse) if not _leaves(way)]
            return set.intersection(*ways) if ways else known
        if isinstance(one, ast.With | ast.AsyncWith):
            for item in one.items:
                self.read(item.context_expr, known)
                if item.optional_vars is not None:
                    known = self.store(item.optional_vars, known)
            return self.statements(one.body, known)
        if isinstance(one, ast.Try):
            after = self.statements(one.body, known)
            for handler in one.handlers:
                self.statements(handler.body, known)
            return self.statements([*one.orelse, *one.finalbody], after)
        if isinstance(one, ast.Expr) and (begun := self.begun(one.value)) is not None:
            return {*known, begun}
        self.read(one, known)
        return known

    def begun(self, call: ast.expr) -> str | None:
        """Name of what a call has begin anew: a metric that is reset, a container that is emptied."""
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            return None
        kinds = {"reset": EvalMetric, "clear": list | dict | set | deque}.get(call.func.attr)
        name = _key(call.func.value)
        return name if kinds is not None and name is not None and isinstance(_value(name, self.frame), kinds) else None

    def parts(self, loop: Any, known: set[str]) -> None:
        """A loop over parts of arrays in containers that changes them where they are changes the containers."""
        own = _targets(loop.target)
        changed = {
            t.value.id
            for n in ast.walk(loop)
            if isinstance(n, ast.Assign | ast.AugAssign)
            for t in (n.targets if isinstance(n, ast.Assign) else [n.target])
            if isinstance(t, ast.Subscript) and isinstance(t.value, ast.Name) and t.value.id in own
        }
        if not changed:
            return
        for name in _targets(loop.iter) - known:
            value = _value(name, self.frame)
            held = list(value.values()) if isinstance(value, Mapping) else value
            if isinstance(held, list | tuple) and any(isinstance(part, NDArray) for part in held):
                self.first[name] = None
                self.stored.add(name)

    def store(self, target: ast.AST, known: set[str]) -> set[str]:
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                known = self.store(part, known)
            return known
        if isinstance(target, ast.Starred):
            return self.store(target.value, known)
        if isinstance(target, ast.Subscript):  # a part is changed, and the others are as they were
            self.read(target.value, known)
            self.read(target.slice, known)
            if (name := _key(target.value)) is not None and name.partition(".")[0] not in known:
                self.stored.add(name)
            return known
        if (name := _key(target)) is not None:
            self.stored.add(name)
            return {*known, name}
        self.read(target, known)
        return known

    def read(self, tree: ast.AST, known: set[str]) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.NamedExpr):
                self.stored.add(node.target.id)
            name = _key(node)
            if name is not None and name not in known and name.partition(".")[0] not in known:
                self.first.setdefault(name)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "next" and node.args:
                self.stored.update({_key(node.args[0]) or ""} - known)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
                changed = _key(node.func.value)
                if changed is not None and changed.partition(".")[0] not in known:
                    value = _value(changed, self.frame)
                    if isinstance(value, list | dict | set | deque | EvalMetric):
                        self.stored.add(changed)


def _leaves(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Break | ast.Continue | ast.Return | ast.Raise)


def _value(name: str, frame: FrameType) -> Any:
    first, *rest = name.split(".")
    value = frame.f_locals.get(first, frame.f_globals.get(first))
    for attribute in rest:
        value = vars(value).get(attribute) if hasattr(value, "__dict__") else None
    return value


def _parts(value: Any, depth: int = 0) -> Iterable[Any]:
    yield value
    inner: Iterable[Any] = ()
    if isinstance(value, Mapping):
        inner = value.values()
    elif isinstance(value, list | tuple | set | deque):
        inner = value
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        inner = vars(value).values()
    if depth < 8:
        for part in inner:
            yield from _parts(part, depth + 1)


def _is_kept(name: str, frame: FrameType, known: set[int]) -> bool:
    """True for what is kept, or an attribute of it, and for what is trained."""
    while name:
        value = _value(name, frame)
        changes = not isinstance(value, int | float | str | bool | tuple | type(None))
        if (id(value) in known and changes) or isinstance(value, TRAINED):
            return True
        name = name.rpartition(".")[0]
    return False
