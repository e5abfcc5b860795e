"""Imports point one way: gluonnx -> bridge -> converters -> hybrid, and inside hybrid down its rooms; no files need each other."""

import ast
import functools
import re
from collections.abc import Iterable, Mapping

import pytest

import hybrid
from tests.house.source import PACKAGES, Import, imports, nodes, sources

BELOW = {"hybrid": (), "converters": ("hybrid",), "bridge": ("converters", "hybrid"), "gluonnx": ("bridge", "hybrid")}

# Who may import what comes from outside and is not NumPy or the standard library.
ALLOWED = {
    "onnx": ("converters", "bridge"),
    "google": ("converters", "bridge"),
    "onnxruntime": ("bridge",),
    "typer": ("bridge",),
    "rich": ("bridge",),
    "PIL": ("hybrid",),
    "cupy": ("hybrid.device.cuda",),
    "graphviz": ("hybrid",),
    "IPython": ("bridge.faces.notebook",),
    "distributed": ("bridge.many.work",),
    "mpi4py": ("hybrid.kvstore.world",),
    "ml_dtypes": ("hybrid", "converters", "bridge"),
    "mxnet": ("bridge.scripts.record_with_mxnet",),
    "plain_draws": ("bridge.scripts.record_with_mxnet",),  # the file beside it, which is put into it when it is printed
    "pytest": ("bridge.pytest_plugin",),
    # engines of others, in a program for the interpreters that have them
    **dict.fromkeys(
        ("openvino", "cv2", "MNN", "ncnn", "tract", "torch", "onnx2torch"), ("bridge.scripts.run_on_target",)
    ),
    "tomli": ("bridge.project.config", "bridge.targets.profile"),
}

ROOMS = ("core", "device", "native", "formats", "ops", "ir", "passes", "execution", "frontend", "eager")
"""The engine's rooms, from the bottom up. What else is in hybrid has MXNet's names, stands on all of them, and may use them all."""
NATIVE = {
    "hybrid.execution.compiled",
    "hybrid.execution.lower",
    "hybrid.execution.saved",
    "hybrid.execution.scheduler",
    "hybrid.formats.compiled",
    "hybrid.ops.updating",
    "hybrid.runtime",
}
"""Files that name the compiled part: its backend (with what optimizers have it do, and its programs in files), the scheduler,
which has to end before it, and ``mx.runtime``, which tells of it."""
BACK = {("hybrid", "bridge.mxnet_onnx"), ("hybrid.contrib", "bridge.mxnet_onnx_contrib")}
"""Arrows that run back up: MXNet's modules that are made of packages above, loaded when a program asks for them."""

LATE = {
    ("converters.registry", "converters.ops"),
    ("bridge.result", "bridge.faces.text"),
    ("bridge.result", "bridge.faces.html"),
}
"""A table names the package that fills it, which is imported when something is first asked for; a result shows itself by faces,
which are imported when somebody looks."""


@functools.cache
def every() -> tuple[Import, ...]:
    """All imports of all four packages."""
    return tuple(i for source in sources() for i in imports(source))


@functools.cache
def arrows() -> dict[str, set[str]]:
    """Files that each file needs: by statements, in functions and for type checkers too, and by names of modules in strings."""
    found: dict[str, set[str]] = {".".join(s.module): set() for s in sources()}
    for source in sources():
        own = ".".join(source.module)
        named = {n.value for n in nodes(source.tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        stated = (target_of(i.target, found) for i in imports(source, typing=True) if i.target[0] in PACKAGES)
        found[own] = {
            t for t in (*named, *stated) if t in found and t not in (own, "hybrid", "gluonnx")
        }  # words as well
    return found


def target_of(target: tuple[str, ...], modules: Iterable[str]) -> str:
    """The module that an import means: itself, one by a short name of the package, or the one that has the name."""
    name = ".".join(target)
    if len(target) == 2 and target[1] in hybrid.SHORT:
        return f"hybrid.{hybrid.SHORT[target[1]]}"
    return name if name in modules else ".".join(target[:-1])


def floor(module: str) -> int:
    """Height of a module of any package."""
    parts = module.split(".")
    if parts[0] != "hybrid":
        return len(ROOMS) + 1 + ("converters", "bridge", "gluonnx").index(parts[0])
    return ROOMS.index(parts[1]) if len(parts) > 1 and parts[1] in ROOMS else len(ROOMS)


def test_packages_import_only_those_below() -> None:
    wrong = [
        i for i in every() if i.target[0] in PACKAGES and i.target[0] not in (own := i.source.module[0], *BELOW[own])
    ]
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("name", ALLOWED)
def test_outside_packages_stay_where_they_belong(name: str) -> None:
    wrong = [
        i
        for i in every()
        if i.target[0] == name and not {i.source.module[0], ".".join(i.source.module)} & set(ALLOWED[name])
    ]
    assert not wrong, "\n".join(map(str, wrong))


def test_nothing_else_from_outside_is_imported() -> None:
    import sys

    known = {*sys.stdlib_module_names, *PACKAGES, *ALLOWED, "numpy"}
    wrong = [i for i in every() if i.target[0] not in known]
    assert not wrong, "\n".join(map(str, wrong))


def test_arrows_run_down_the_floors() -> None:
    found = {(a, b) for a, targets in arrows().items() for b in targets if floor(b) > floor(a)}
    assert found == BACK


def test_the_front_end_asks_backends_and_not_the_compiled_part() -> None:
    asks = {a for a, targets in arrows().items() if "hybrid.native" in targets and a.startswith("hybrid.")}
    assert {a for a in asks if not a.startswith("hybrid.native")} == NATIVE


def test_no_files_need_each_other() -> None:
    assert not circles({"a": {"b"}, "b": {"c"}, "c": set()})
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [["b", "c"]]
    forward = {a: {b for b in targets if (a, b) not in BACK | LATE} for a, targets in arrows().items()}
    assert not circles(forward)


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Sets of nodes of which each is reached from each."""
    reached = {a: reachable(graph, a) for a in graph}
    groups = {tuple(sorted({a} | {b for b in reached[a] if a in reached[b]})) for a in graph if a in reached[a]}
    return sorted(map(list, groups))


def reachable(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """The nodes that arrows lead to from one; itself, when it is on a circle."""
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += graph[node]
    return found


def test_mxnet_is_imported_by_the_fixture_makers_only() -> None:
    """No test of the default runs needs it either."""
    from tests.house.docs import ROOT

    for folder in ("tests", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.parent.name in ("programs", "jobs"):
                continue  # programs for ``python -m hybrid``, where mxnet is this package
            text = path.read_text()
            if re.search(r"^\s*(import|from) mxnet\b", text, re.MULTILINE):  # which may stand in a string
                names = {
                    name.split(".")[0]
                    for node in ast.walk(ast.parse(text))
                    if isinstance(node, ast.Import | ast.ImportFrom)
                    for name in (
                        [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
                    )
                }
                assert "mxnet" not in names, path
