"""Imports point one way: bridge -> converters -> hybrid, and inside hybrid down the layers."""

import functools

import pytest

from tests.house.source import PACKAGES, Import, imports, sources

BELOW = {"hybrid": (), "converters": ("hybrid",), "bridge": ("converters", "hybrid")}

# Who may import what comes from outside and is not NumPy or the standard library.
ALLOWED = {
    "onnx": ("converters", "bridge"),
    "google": ("converters", "bridge"),
    "onnxruntime": ("bridge",),
    "typer": ("bridge",),
    "rich": ("bridge",),
    "PIL": ("hybrid",),
    "graphviz": ("hybrid",),
    "ml_dtypes": ("hybrid", "converters", "bridge"),
    "mxnet": (),
}

# hybrid from the bottom up. What is not named here is the top: what users call, which may use everything.
LAYERS = (
    {"error", "scope", "files"},
    {
        "attrs",
        "budget",
        "shapes",
        "params",
        "pairs",
        "npz",
        "context",
        "attribute",
        "name",
        "random",
        "engine",
        "holding",
        "quiet",
        "single",
        "tape",
        "native",
        "codec",
        "recordio",
    },
    {"op"},
    {"ops"},
    {"graph"},
    {
        "frontend",
        "calls",
        "indexing",
        "array",
        "ndarray",
        "sparse",
        "expression",
        "symbol",
        "autograd",
        "cached_op",
        "executor",
        "nd",
        "sym",
        "sampling",
    },
)


@functools.cache
def every() -> tuple[Import, ...]:
    """All imports of all three packages."""
    return tuple(i for source in sources() for i in imports(source))


def layer(part: str) -> int:
    return next((i for i, names in enumerate(LAYERS) if part in names), len(LAYERS))


def test_packages_import_only_those_below() -> None:
    wrong = [
        i for i in every() if i.target[0] in PACKAGES and i.target[0] not in (own := i.source.module[0], *BELOW[own])
    ]
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("name", ALLOWED)
def test_outside_packages_stay_where_they_belong(name: str) -> None:
    wrong = [i for i in every() if i.target[0] == name and i.source.module[0] not in ALLOWED[name]]
    assert not wrong, "\n".join(map(str, wrong))


def test_nothing_else_from_outside_is_imported() -> None:
    import sys

    known = {*sys.stdlib_module_names, *PACKAGES, *ALLOWED, "numpy"}
    wrong = [i for i in every() if i.target[0] not in known]
    assert not wrong, "\n".join(map(str, wrong))


def test_the_engine_imports_down_its_layers() -> None:
    wrong: list[Import] = []
    for found in every():
        if found.source.module[0] != "hybrid" or found.target[0] != "hybrid" or len(found.source.module) == 1:
            continue
        if layer(found.target[1]) > layer(found.source.module[1]):
            wrong.append(found)
    assert not wrong, "\n".join(map(str, wrong))


def test_mxnet_is_imported_by_the_fixture_makers_only() -> None:
    """No test of the default runs needs it either."""
    import ast

    from tests.house.docs import ROOT

    for folder in ("tests", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.parent.name == "programs":
                continue  # programs for ``python -m hybrid``, where mxnet is this package
            names = {
                name.split(".")[0]
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Import | ast.ImportFrom)
                for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names])
            }
            assert "mxnet" not in names, path
