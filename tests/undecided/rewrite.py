"""Puts probes into the functions of a module as it is imported."""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from . import probes

PACKAGES = ("hybrid", "converters", "bridge")
PREFIX = "_undecided_"
LOGGED = ("warn", "warning", "info", "debug")
LEFT_ALONE = {
    *(
        "super",
        "locals",
        "globals",
        "vars",
        "_getframe",
        "isinstance",
        "issubclass",
        "type",
        "cast",
        "hasattr",
        "setattr",
    ),
    *("len", "range", "zip", "enumerate", "print"),
}
"""Functions whose arguments have no defaults worth a look, or that look at the frame they are called in."""


def _holds(node: ast.AST, *kinds: type) -> bool:
    return any(isinstance(n, kinds) for n in ast.walk(node))


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _text(node: ast.AST) -> str:
    return ast.unparse(node)[:80]


class Rewriter(ast.NodeTransformer):
    """Exchanges expressions inside of functions for probes; errors' own texts stay as they are."""

    def __init__(self, file: str):
        self.file = file
        self.inside = False

    def probe(
        self, function: str, node: Any, kind: str, labels: Sequence[str], *arguments: ast.expr, text: str = ""
    ) -> ast.Call:
        """A call of a probe, with the number of a new site and arguments, which are rewritten."""
        site = probes.Site(self.file, node.lineno, kind, text or ast.unparse(node)[:200], tuple(labels))
        number = probes.add(site)
        given = [ast.Constant(number), *(self.visit(a) for a in arguments)]
        return ast.Call(ast.Name(PREFIX + function, ast.Load()), given, [])

    def passing(self, node: Any, kind: str, text: str) -> ast.Expr:
        """A statement that notes that it is run."""
        return ast.Expr(self.probe("passed", node, kind, ("run",), text=text))

    def visit(self, node: ast.AST) -> Any:
        if not self.inside and not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.Lambda):
            return self.generic_visit(node)
        return super().visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        node.value = self.visit(node.value) if node.value is not None else None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        before, self.inside = self.inside, True
        documented = ast.get_docstring(node) is not None
        run = self.passing(node, "function", node.name)
        node.body = [*node.body[:documented], run, *(self.visit(s) for s in node.body[documented:])]
        self.inside = before
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        before, self.inside = self.inside, True
        node.body = self.visit(node.body)
        self.inside = before
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        before, self.inside = self.inside, False
        node.body = [self.visit(s) for s in node.body]
        self.inside = before
        return node

    def visit_If(self, node: ast.If) -> ast.If:
        return self._branch(node)

    def visit_While(self, node: ast.While) -> ast.While:
        return self._branch(node)

    def _branch(self, node: Any) -> Any:
        raises = isinstance(node, ast.If) and len(node.body) == 1 and isinstance(node.body[0], ast.Raise)
        test = self.probe("outcome", node.test, "raise" if raises else "if", ("true", "false"), node.test)
        node = self._visit_but(node, "test")
        node.test = test
        return node

    def _visit_but(self, node: Any, *fields: str) -> Any:
        """generic_visit of all fields but these."""
        kept = {f: getattr(node, f) for f in fields}
        for name in fields:
            setattr(node, name, ast.Constant(None))
        node = self.generic_visit(node)
        for name, value in kept.items():
            setattr(node, name, value)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.IfExp:
        test = self.probe("outcome", node, "ifexp", ("true", "false"), node.test)
        node = self._visit_but(node, "test")
        node.test = test
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        node.ifs = [self.probe("outcome", test, "filter", ("true", "false"), test) for test in node.ifs]
        node.iter = self.probe("repeated", node.iter, "comprehension", ("two",), node.iter)
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        turns = self.probe("repeated", node.iter, "loop", ("two",), node.iter)
        node = self._visit_but(node, "iter")
        node.iter = turns
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        run = self.passing(node, "except", ast.unparse(node.type) if node.type else "")
        node.body = [run, *(self.visit(s) for s in node.body)]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        if _holds(node, ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await) or _names(node) & {
            "super",
            "locals",
            "__class__",
        }:
            return node
        operands = ast.Tuple([_delayed(v) for v in node.values], ast.Load())
        both = ast.Constant(isinstance(node.op, ast.And))
        return self.probe("decided", node, "bool", [_text(v) for v in node.values], both, operands)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) != 1 or _holds(node, ast.NamedExpr):
            return node
        name, left, right = type(node.ops[0]).__name__, node.left, node.comparators[0]
        if (
            name in ("In", "NotIn")
            and isinstance(right, ast.Tuple)
            and all(isinstance(e, ast.Constant) for e in right.elts)
        ):
            labels = ("none", *map(_text, right.elts))
            return self.probe("member", node, "in", labels, ast.Constant(name == "NotIn"), left, right)
        labels = ("less", "equal", "greater") if name in probes.ORDERED else ("true", "false")
        return self.probe("compared", node, "compare", labels, ast.Constant(name), left, right)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function, given = node.func, node.args
        name = (
            function.id
            if isinstance(function, ast.Name)
            else function.attr
            if isinstance(function, ast.Attribute)
            else ""
        )
        if name.endswith(("Error", "Warning")) or name in LOGGED or name == "super":
            return node
        open_ended = any(isinstance(a, ast.Starred) for a in given) or any(k.arg is None for k in node.keywords)
        plain = not open_ended and not node.keywords
        if plain and isinstance(function, ast.Name):
            if name in ("any", "all") and len(given) == 1:
                return self.probe("every", node, name, ("differ",), ast.Constant(name), *given)
            if name in ("min", "max") and len(given) > 1:
                values = ast.Tuple(given, ast.Load())
                return self.probe("extreme", node, name, [_text(a) for a in given], ast.Constant(name), values)
            if name in probes.CHANGES and len(given) == 1:
                return self.probe("changed", node, name, ("changes",), ast.Constant(name), *given)
            if name == "getattr" and len(given) == 3:
                return self.probe("attribute", node, name, ("there", "missing"), *given)
        if plain and isinstance(function, ast.Attribute) and name == "get" and len(given) == 2:
            return self.probe("looked_up", node, name, ("there", "missing"), function.value, *given)
        if open_ended or name in LEFT_ALONE or not (given or node.keywords) or _holds(function, ast.NamedExpr):
            return self.generic_visit(node)  # type: ignore[return-value]
        labels = [*map(_text, given), *(f"{k.arg}={_text(k.value)}" for k in node.keywords)]
        names = ast.Tuple([ast.Constant(k.arg) for k in node.keywords], ast.Load())
        watched = self.probe("called", node, "call", labels, function, ast.Constant(len(given)), names)
        node = self._visit_but(node, "func")
        node.func = watched
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        place = node.slice
        if not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)  # type: ignore[return-value]
        if ast.unparse(place) in ("0", "-1"):
            node.value = self.probe("ended", node, "index", ("differ",), node.value)
            return node
        bounds = isinstance(place, ast.Slice) and (place.lower or place.upper) and not place.step
        if isinstance(place, ast.Slice) and bounds and not _holds(node, ast.NamedExpr):
            labels = [n for n, e in (("lower", place.lower), ("upper", place.upper)) if e is not None]
            labels = ["lower", "upper"] if place.upper else labels
            lower, upper = place.lower or ast.Constant(None), place.upper or ast.Constant(None)
            call = self.probe("cut", node, "slice", labels, node.value, lower, upper)
            if place.lower is None:
                probes.seen(call.args[0].value, 1)  # type: ignore[attr-defined]
            return call
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        name = type(node.op).__name__
        text = any(
            isinstance(x, ast.JoinedStr) or isinstance(getattr(x, "value", None), str) for x in (node.left, node.right)
        )
        if name not in probes.ARITHMETIC or text:
            return self.generic_visit(node)  # type: ignore[return-value]
        return self.probe("computed", node, "arithmetic", ("right", "left"), ast.Constant(name), node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if not isinstance(node.op, ast.USub) or isinstance(node.operand, ast.Constant):
            return self.generic_visit(node)  # type: ignore[return-value]
        return self.probe("changed", node, "neg", ("changes",), ast.Constant("neg"), node.operand)


def _delayed(value: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), value)


class Loader(importlib.machinery.SourceFileLoader):
    """Compiles a module with probes in it; nothing of it is cached."""

    root = Path()

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        tree = Rewriter(Path(path).relative_to(self.root).as_posix()).visit(ast.parse(self.get_data(path)))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the product's modules."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if fullname.partition(".")[0] not in PACKAGES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader and spec.origin:
            spec.loader = Loader(fullname, spec.origin)
        return spec


def install(root: Path) -> None:
    """From now on the product, which lies in root, is imported with probes. Raises RuntimeError when it has been already."""
    early = sorted({m for m in sys.modules if m.partition(".")[0] in PACKAGES})
    if early:
        raise RuntimeError(f"{', '.join(early)} imported before the probes")
    for name, value in vars(probes).items():
        if callable(value) and not name.startswith("_"):
            setattr(builtins, PREFIX + name, value)
    Loader.root = root
    sys.meta_path.insert(0, Finder())
