"""The product's source files as syntax trees, for tests that read rather than run."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import bridge
import converters
import gluonnx
import hybrid

PACKAGES = {p.__name__: Path(p.__file__ or "").parent for p in (bridge, converters, gluonnx, hybrid)}


class Source(NamedTuple):
    """One file."""

    path: Path
    module: tuple[str, ...]
    """The parts of its dotted name, ``__init__`` left out."""
    tree: ast.Module

    @property
    def package(self) -> tuple[str, ...]:
        """Package that its relative imports start from."""
        return self.module if self.path.name == "__init__.py" else self.module[:-1]


class Import(NamedTuple):
    """One module that a file imports."""

    source: Source
    target: tuple[str, ...]
    line: int
    deferred: bool
    """True inside a function, where it happens on first use."""

    def __str__(self) -> str:
        return f"{'/'.join(self.source.module)}:{self.line} imports {'.'.join(self.target)}"


@functools.cache
def sources(*packages: str) -> tuple[Source, ...]:
    """All files of the packages (of all four by default)."""
    out = []
    for name in packages or PACKAGES:
        for path in sorted(PACKAGES[name].rglob("*.py")):
            parts = (name, *path.relative_to(PACKAGES[name]).with_suffix("").parts)
            module = parts[:-1] if parts[-1] == "__init__" else parts
            out.append(Source(path, module, ast.parse(path.read_text(), str(path))))
    return tuple(out)


@functools.cache
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a tree."""
    return tuple(ast.walk(tree))


def imports(source: Source, typing: bool = False) -> Iterator[Import]:
    """Every import statement of a file, relative ones resolved; those for type checkers only with ``typing``."""
    yield from _imports(source, source.tree, False, typing)


def _is_for_type_checkers(test: ast.expr) -> bool:
    return any("TYPE_CHECKING" in (getattr(n, "id", ""), getattr(n, "attr", "")) for n in ast.walk(test))


def _imports(source: Source, node: ast.AST, deferred: bool, typing: bool) -> Iterator[Import]:
    if not typing and isinstance(node, ast.If) and _is_for_type_checkers(node.test):
        return
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(source, tuple(alias.name.split(".")), node.lineno, deferred)
    elif isinstance(node, ast.ImportFrom):
        base = source.package[: len(source.package) - node.level + 1] if node.level else ()
        base = (*base, *(node.module or "").split(".")) if node.module else base
        for alias in node.names:
            yield Import(source, (*base, alias.name), node.lineno, deferred)
    inside = deferred or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):  # which have none
            yield from _imports(source, child, inside, typing)
