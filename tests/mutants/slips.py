"""Slips that syntax alone suggests: for each function of a module, changes such as a programmer makes by mistake.

They are many and dull, so they are drawn by lot (forked.py); what a program means by a line, only who reads it knows (see the
plantings beside this file). Messages, annotations, assertions and examples are left alone: there a slip changes no answer."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

BORDERS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "<=", ast.NotEq: ">"}
ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "//", ast.Pow: "*"}
UNWRAPPED = ("abs", "bool", "dict", "float", "int", "list", "max", "min", "reversed", "set", "sorted", "str", "tuple")
COUNTERPARTS = {
    "all": "any",
    "any": "all",
    "append": "extend",
    "argmax": "argmin",
    "argmin": "argmax",
    "ceil": "floor",
    "endswith": "startswith",
    "floor": "ceil",
    "height": "width",
    "high": "low",
    "index": "count",
    "inputs": "outputs",
    "left": "right",
    "low": "high",
    "lower": "upper",
    "lstrip": "rstrip",
    "max": "min",
    "maximum": "minimum",
    "mean": "sum",
    "min": "max",
    "minimum": "maximum",
    "ndim": "size",
    "ones": "zeros",
    "ones_like": "zeros_like",
    "outputs": "inputs",
    "partition": "rpartition",
    "removeprefix": "removesuffix",
    "right": "left",
    "rstrip": "lstrip",
    "setdefault": "get",
    "size": "ndim",
    "split": "rsplit",
    "startswith": "endswith",
    "sum": "max",
    "transform_a": "transform_b",
    "upper": "lower",
    "width": "height",
    "zeros": "ones",
    "zeros_like": "ones_like",
}
SILENT = frozenset({"__repr__", "__str__", "examples", "error", "domain"})
"""Functions, and calls, that are left alone."""


class Slip(NamedTuple):
    """A change of one place in a file."""

    file: str
    line: int
    kind: str
    start: int
    end: int
    """Characters of the file, first and end,"""
    new: str
    """and what stands there instead."""
    lines: tuple[int, ...]
    """Lines at which Python says that the place runs."""

    def plant(self, text: str) -> str:
        """The file's text with the slip, as many lines as before."""
        missing = text.count("\n", self.start, self.end) - self.new.count("\n")
        lines = "\n" * missing
        new = (
            f"{self.new}{lines}" if self.kind == "dropped statement" else f"({self.new}{lines})" if lines else self.new
        )
        return text[: self.start] + new + text[self.end :]


class _Places:
    """Offsets of nodes in a text."""

    def __init__(self, text: str):
        self.text = text
        self.lines = text.splitlines(keepends=True)
        self.starts = [0, *np.cumsum([len(x) for x in self.lines]).tolist()]

    def offset(self, line: int, column: int) -> int:
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def source(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]


Change = tuple[ast.AST, str, str]
"""A node, the kind of the change, and what stands in its place."""


def _comparisons(node: ast.Compare, source: Callable[[ast.AST], str]) -> Iterator[Change]:
    if len(node.ops) == 1 and type(node.ops[0]) in BORDERS:
        left, right = source(node.left), source(node.comparators[0])
        if isinstance(node.ops[0], ast.Eq | ast.NotEq) and not isinstance(node.comparators[0], ast.Constant):
            return
        numbers = not isinstance(getattr(node.comparators[0], "value", 0), str | None.__class__)
        if numbers:
            yield node, "border", f"{left} {BORDERS[type(node.ops[0])]} {right}"
    elif len(node.ops) == 2:
        yield (
            node,
            "half of a range",
            f"{source(node.comparators[0])} {_sign(node.ops[1])} {source(node.comparators[1])}",
        )


def _sign(op: ast.cmpop) -> str:
    return {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "=="}.get(type(op), "!=")


def _calls(node: ast.Call, source: Callable[[ast.AST], str]) -> Iterator[Change]:
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    function, arguments = source(node.func), [source(a) for a in node.args]
    keywords = [source(k.value) if k.arg is None else f"{k.arg}={source(k.value)}" for k in node.keywords]
    keywords = [f"**{k}" if n.arg is None else k for k, n in zip(keywords, node.keywords)]
    for i in range(len(keywords)):
        left = [*arguments, *keywords[:i], *keywords[i + 1 :]]
        yield node, "argument left out", f"{function}({', '.join(left)})"
    if len(arguments) > 1 and not isinstance(node.args[-1], ast.Starred):
        yield node, "argument left out", f"{function}({', '.join([*arguments[:-1], *keywords])})"
    for i in range(len(arguments) - 1):
        if not any(isinstance(a, ast.Starred) for a in node.args[i : i + 2]):
            swapped = [*arguments[:i], arguments[i + 1], arguments[i], *arguments[i + 2 :]]
            yield node, "arguments swapped", f"{function}({', '.join([*swapped, *keywords])})"
    if isinstance(node.func, ast.Name) and name in UNWRAPPED and len(arguments) == 1 and not keywords:
        yield node, "not converted", arguments[0]
    if isinstance(node.func, ast.Name) and name in ("max", "min") and len(arguments) == 2:
        yield node, "no bound", arguments[0]
        yield node, "no bound", arguments[1]
    if isinstance(node.func, ast.Attribute) and name in (
        "copy",
        "astype",
        "reshape",
        "transpose",
        "ravel",
        "get",
        "strip",
    ):
        if name == "get" and len(arguments) == 2:
            yield node, "default left out", f"{function}({arguments[0]})"
        elif name != "get":
            yield node, "not converted", source(node.func.value)


def _others(node: ast.AST, source: Callable[[ast.AST], str]) -> Iterator[Change]:
    match node:
        case ast.Compare():
            yield from _comparisons(node, source)
        case ast.Call():
            yield from _calls(node, source)
        case ast.BoolOp():
            word = " and " if isinstance(node.op, ast.And) else " or "
            parts = [source(v) if not isinstance(v, ast.BoolOp) else f"({source(v)})" for v in node.values]
            for i in range(len(parts)):
                yield node, "operand left out", f"({word.join([*parts[:i], *parts[i + 1 :]])})"
        case ast.UnaryOp(op=ast.Not()):
            yield node, "not left out", f"({source(node.operand)})"
        case ast.UnaryOp(op=ast.USub()) if not isinstance(node.operand, ast.Constant):
            yield node, "sign", f"({source(node.operand)})"
        case ast.BinOp() if type(node.op) in ARITHMETIC and not isinstance(getattr(node.left, "value", 0), str):
            left, right = source(node.left), source(node.right)
            yield node, "other arithmetic", f"(({left}) {ARITHMETIC[type(node.op)]} ({right}))"
            yield node, "operand left out", f"({left})"
            yield node, "operand left out", f"({right})"
        case ast.IfExp():
            yield node, "always so", f"({source(node.body)})"
            yield node, "never so", f"({source(node.orelse)})"
        case ast.Constant() if type(node.value) is bool:
            yield node, "other constant", str(not node.value)
        case ast.Constant() if type(node.value) is int:
            yield node, "other constant", str(node.value + 1)
        case ast.Slice():
            low, high, step = (source(p) if p else "" for p in (node.lower, node.upper, node.step))
            tail = f":{step}" if step else ""
            if low:
                yield node, "slice from the start", f":{high}{tail}"
            if high:
                yield node, "slice to the end", f"{low}:{tail}"
            if step:
                yield node, "slice in steps of one", f"{low}:{high}"
        case ast.Attribute(ctx=ast.Load()) if node.attr in COUNTERPARTS:
            yield node, "counterpart", f"{source(node.value)}.{COUNTERPARTS[node.attr]}"
        case ast.Name(ctx=ast.Load()) if node.id in COUNTERPARTS:
            yield node, "counterpart", COUNTERPARTS[node.id]
        case ast.For():
            yield node.iter, "the first only", f"list({source(node.iter)})[:1]"
        case ast.comprehension():
            yield node.iter, "all but the last", f"list({source(node.iter)})[:-1]"
            for condition in node.ifs:
                yield condition, "condition left out", "True"
        case ast.Tuple(ctx=ast.Load()) if len(node.elts) == 2 and not any(isinstance(e, ast.Slice) for e in node.elts):
            first, second = map(source, node.elts)
            yield node, "swapped", f"({second}, {first})"
        case ast.If() | ast.While():
            yield node.test, "never so", "False"
            if isinstance(node, ast.If):
                yield node.test, "always so", "True"
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Delete():
            yield node, "dropped statement", "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield node, "dropped statement", "pass"


def _similar(function: ast.FunctionDef) -> dict[str, list[str]]:
    """Names of a function that stand beside each other where they are made, and so are taken for each other."""
    groups = [[a.arg for a in (*function.args.posonlyargs, *function.args.args) if a.arg not in ("self", "cls")]]
    groups.append([a.arg for a in function.args.kwonlyargs])
    for node in ast.walk(function):
        if isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Store):
            groups.append([e.id for e in node.elts if isinstance(e, ast.Name)])
    found: dict[str, list[str]] = {}
    for group in groups:
        for name in group:
            found.setdefault(name, []).extend(o for o in group if o != name and o != "_")
    return found


def _left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Global | ast.Lambda):
        return not isinstance(node, ast.Lambda)
    if isinstance(node, ast.Call):
        return getattr(node.func, "attr", getattr(node.func, "id", "")) in SILENT
    return False


def slips(file: str, text: str) -> list[Slip]:
    """All slips in the functions of a module."""
    places = _Places(text)
    source = functools.cache(places.source)
    found: list[Slip] = []

    def add(change: Change, statement: ast.stmt) -> None:
        node, kind, new = change
        start, end = places.span(node)
        if " ".join(text[start:end].split()) != new:
            last = statement.end_lineno if not hasattr(statement, "body") else node.end_lineno
            first = statement.lineno if not hasattr(statement, "body") else min(statement.lineno, node.lineno)
            if hasattr(statement, "body") and not isinstance(statement, ast.If | ast.While | ast.For | ast.With):
                first = node.lineno
            found.append(Slip(file, node.lineno, kind, start, end, new, tuple(range(first, (last or first) + 1))))

    def visit(node: ast.AST, statement: ast.stmt, similar: dict[str, list[str]]) -> None:
        if _left_alone(node):
            return
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name not in SILENT:
                inner = {**similar, **_similar(node)}
                for child in node.body:
                    visit(child, child, inner)
            return
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                visit(node.value, statement, similar)
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        for change in _others(node, source):
            add(change, statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            for other in dict.fromkeys(similar.get(node.id, ())):
                add((node, "another variable", other), statement)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                classes(child)
            else:
                visit(child, child if isinstance(child, ast.stmt) else statement, similar)

    def classes(body: ast.Module | ast.ClassDef) -> None:
        for node in body.body:
            if isinstance(node, ast.FunctionDef):
                visit(node, node, {})
            elif isinstance(node, ast.ClassDef):
                classes(node)
            elif isinstance(node, ast.If):  # definitions by platform or type checker
                for child in (*node.body, *node.orelse):
                    if isinstance(child, ast.FunctionDef):
                        visit(child, child, {})

    classes(ast.parse(text))
    return found
