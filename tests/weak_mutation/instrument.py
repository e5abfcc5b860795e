"""Sources of the product rewritten so that every place notes what values come there, before modules are made of them."""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
from collections.abc import Callable, Iterable, Iterator
from importlib import _bootstrap_external as external  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any, NamedTuple

NUMBERS = (int, float)
SIZED = (str, tuple, list, bytes)
TRUE, FALSE = 1, 2
LESS, EQUAL, MORE = 1, 2, 4
LEFT_COUNTS, RIGHT_COUNTS = 1, 2
SEVERAL, GIVEN = 1, 1
OPEN = 8
"""What came cannot be told apart here (arrays): nothing is said of the place."""


class Place(NamedTuple):
    """A part of a source file, and what kind of slip is looked for there."""

    file: str
    line: int
    kind: str
    text: str


places: list[Place] = []
seen: list[int] = []


def condition(k: int, value: Any) -> Any:
    seen[k] |= TRUE if value else FALSE
    return value


def order(k: int, a: Any, b: Any) -> None:
    if type(a) in NUMBERS and type(b) in NUMBERS:
        seen[k] |= LESS if a < b else EQUAL if a == b else MORE
    else:
        seen[k] |= OPEN


def lt(k: int, a: Any, b: Any) -> Any:
    order(k, a, b)
    return a < b


def le(k: int, a: Any, b: Any) -> Any:
    order(k, a, b)
    return a <= b


def gt(k: int, a: Any, b: Any) -> Any:
    order(k, a, b)
    return a > b


def ge(k: int, a: Any, b: Any) -> Any:
    order(k, a, b)
    return a >= b


def counts(value: Any, neutral: int, bit: int) -> int:
    """The bit where leaving the operand out would show."""
    if type(value) in NUMBERS:
        return bit if value != neutral else 0
    return (bit if value else 0) if type(value) in SIZED else OPEN


def add(k: int, a: Any, b: Any) -> Any:
    seen[k] |= counts(a, 0, LEFT_COUNTS) | counts(b, 0, RIGHT_COUNTS)
    return a + b


def sub(k: int, a: Any, b: Any) -> Any:
    seen[k] |= LEFT_COUNTS | counts(b, 0, RIGHT_COUNTS)
    return a - b


def mul(k: int, a: Any, b: Any) -> Any:
    seen[k] |= counts(a, 1, LEFT_COUNTS) | counts(b, 1, RIGHT_COUNTS)
    return a * b


def div(k: int, a: Any, b: Any) -> Any:
    seen[k] |= LEFT_COUNTS | counts(b, 1, RIGHT_COUNTS)
    return a // b


def given(k: int, value: Any, default: Any) -> None:
    if value is not default and not (type(value) is type(default) and value == default):
        seen[k] |= GIVEN


def loop(k: int, values: Iterable[Any]) -> Iterator[Any]:
    for i, value in enumerate(values):
        if i:
            seen[k] |= SEVERAL
        yield value


RECORDERS = {f"_weak_{f.__name__}_": f for f in (condition, lt, le, gt, ge, add, sub, mul, div, given, loop)}
ORDERS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
ARITHMETIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "div"}


class Instrument(ast.NodeTransformer):
    """Puts recorders around the places of one file."""

    def __init__(self, file: str):
        self.file = file

    def place(self, node: ast.AST, kind: str, text: str = "") -> ast.Constant:
        places.append(Place(self.file, node.lineno, kind, text or ast.unparse(node)))  # type: ignore[attr-defined]
        seen.append(0)
        return ast.Constant(len(places) - 1)

    def call(self, name: str, place: ast.Constant, *arguments: ast.expr) -> ast.Call:
        return ast.Call(ast.Name(f"_weak_{name}_", ast.Load()), [place, *arguments], [])

    def decided(self, test: ast.expr) -> ast.expr:
        """A condition, each part of it that may decide by itself noted."""
        if isinstance(test, ast.BoolOp):
            test.values = [self.decided(v) for v in test.values]
            return test
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test.operand = self.decided(test.operand)
            return test
        if isinstance(test, ast.Constant) or "TYPE_CHECKING" in ast.unparse(test):
            return self.visit(test)
        place = self.place(test, "condition")
        return self.call("condition", place, self.visit(test))

    def visit_If(self, node: ast.If | ast.While | ast.IfExp) -> ast.AST:
        node.test = self.decided(node.test)
        test, node.test = node.test, ast.Constant(True)
        self.generic_visit(node)
        node.test = test
        return node

    visit_While = visit_IfExp = visit_If  # type: ignore[assignment]

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Outside of conditions the last operand is a value like any other."""
        node.values = [*map(self.decided, node.values[:-1]), self.visit(node.values[-1])]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        place = self.place(node.iter, "loop")
        node.iter = self.call("loop", place, self.visit(node.iter))
        node.ifs = [self.decided(i) for i in node.ifs]
        node.target = self.visit(node.target)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        place, wanted = self.place(node.iter, "loop"), node.iter
        self.generic_visit(node)
        assert wanted is not None
        node.iter = self.call("loop", place, node.iter)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        name = ORDERS.get(type(node.ops[0])) if len(node.ops) == 1 else None
        place = self.place(node, name) if name else None
        self.generic_visit(node)
        return self.call(name, place, node.left, node.comparators[0]) if name and place else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        name = ARITHMETIC.get(type(node.op))
        place = self.place(node, name) if name else None
        self.generic_visit(node)
        return self.call(name, place, node.left, node.right) if name and place else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = self.visit(node.value) if node.value is not None else None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Parameters with constant defaults are noted where the body begins; annotations and defaults stay as they are."""
        documented = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
        a = node.args
        pairs = [*zip(a.args[len(a.args) - len(a.defaults) :], a.defaults), *zip(a.kwonlyargs, a.kw_defaults)]
        notes = [
            ast.Expr(
                self.call("given", self.place(p, "given", f"{node.name}({p.arg})"), ast.Name(p.arg, ast.Load()), d)
            )
            for p, d in pairs
            if isinstance(d, ast.Constant)
        ]
        body = [self.visit(statement) for statement in node.body]
        node.body = [*body[:documented], *notes, *body[documented:]]
        return node


def install(packages: dict[str, Path]) -> None:
    """From now on modules of these packages are made of instrumented sources."""
    root = next(iter(packages.values())).parent
    tops = tuple(f"{p}/" for p in packages.values())
    make, cached = importlib.machinery.SourceFileLoader.source_to_code, external.cache_from_source

    def source_to_code(self: Any, data: Any, path: Any, **options: Any) -> Any:
        if not str(path).startswith(tops):
            return make(self, data, path, **options)
        tree = Instrument(str(Path(path).relative_to(root))).visit(ast.parse(data))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)

    def cache_from_source(path: Any, *rest: Any, **options: Any) -> Any:
        if str(path).startswith(tops):
            raise NotImplementedError  # there is none, says the import system then: neither read nor written
        return cached(path, *rest, **options)

    vars(builtins).update(RECORDERS)
    importlib.machinery.SourceFileLoader.source_to_code = source_to_code  # type: ignore[method-assign]
    external.cache_from_source = cache_from_source


def lacking(kind: str, bits: int) -> str:
    """What no test brought to a place; nothing where slips would show."""
    if bits & OPEN:
        return ""
    return WANTED[kind](bits)


WANTED: dict[str, Callable[[int], str]] = {
    "condition": lambda b: {0: "never run", TRUE: "always true", FALSE: "always false"}.get(b, ""),
    **dict.fromkeys(
        ("lt", "le", "gt", "ge"), lambda b: "" if b & EQUAL and b != EQUAL else "never equal" if b else "never run"
    ),
    "add": lambda b: {0: "never run", 1: "right is always nothing", 2: "left is always nothing"}.get(b, ""),
    "sub": lambda b: {0: "never run", 1: "right is always nothing"}.get(b, ""),
    "mul": lambda b: {0: "never run", 1: "right is always 1", 2: "left is always 1"}.get(b, ""),
    "div": lambda b: {0: "never run", 1: "right is always 1"}.get(b, ""),
    "given": lambda b: "" if b else "always its default",
    "loop": lambda b: "" if b else "never of several",
}
