"""Rules for the product's source, on what it must not hold and what all of it must: found by reading the syntax trees."""

import ast
import importlib
import re

import pytest

from hybrid.core.op import OPS, REGISTRY
from tests.house.source import PACKAGES, nodes, sources

# Who may touch environment variables, and why.
ENVIRONMENT = {
    ("bridge", "many", "children"): "the process that does the work finds modules where this one does",
    ("hybrid", "kvstore", "world"): "GLUONNX_DIST_TIMEOUT, which every error that it decides names",
    ("bridge", "command", "checking"): "GITHUB_STEP_SUMMARY, the file that --github asks for",
    (
        "bridge",
        "scripts",
        "record_with_mxnet",
    ): "a program for other machines, which says there what MXNet is to leave out",
    (
        "bridge",
        "scripts",
        "run_on_target",
    ): "a program for other interpreters, which limits the threads of what is in them",
    (
        "bridge",
        "targets",
        "place",
    ): "GLUONNX_TARGET_PYTHON_NAME says where a target is, and each result says where it was run",
    ("hybrid", "util"): "mx.util.getenv and setenv are functions for that; nothing here acts on what they read",
    (
        "hybrid",
        "formats",
        "downloads",
    ): "MXNET_HOME and MXNET_GLUON_REPO say where files are: docs/decisions/0027-downloads.md",
}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "breakpoint"}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
PLACEHOLDER = re.compile(r"\{[a-z_][a-z0-9_.]*(![rsa])?\}")


def calls(tree: ast.AST) -> list[ast.Call]:
    return [n for n in nodes(tree) if isinstance(n, ast.Call)]


def converts(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """True where it is a converter in the registry, whose meaning is its operator's."""
    called = (d.func for d in node.decorator_list if isinstance(d, ast.Call))
    return any(isinstance(f, ast.Name) and f.id in ("exports", "imports", "_decompose") for f in called)


def test_no_file_turns_data_into_code() -> None:
    for source in sources():
        named = {(c.lineno, c.func.id) for c in calls(source.tree) if isinstance(c.func, ast.Name)}
        assert not {n for n in named if n[1] in FORBIDDEN_CALLS}, source.path
        modules = {
            part.split(".")[0]
            for node in nodes(source.tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for part in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names])
        }
        assert not modules & FORBIDDEN_MODULES, source.path
        for call in calls(source.tree):
            for keyword in call.keywords:
                if keyword.arg == "allow_pickle":
                    assert ast.unparse(keyword.value) == "False", f"{source.path}:{call.lineno}"


def test_no_environment_variable_changes_behaviour() -> None:
    for source in sources():
        for node in nodes(source.tree):
            named = isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv")
            reads = named and ast.unparse(node) in ("os.environ", "os.getenv")
            assert not reads or source.module in ENVIRONMENT, f"{source.path}:{node.lineno}"


def test_no_dtype_is_looked_for_beside_none() -> None:
    """``np.dtype("float64") == None`` is true, so ``dtype in (None, ...)`` takes float64 for a dtype that is not known."""
    for source in sources():
        for node in nodes(source.tree):
            if not isinstance(node, ast.Compare) or isinstance(node.ops[0], ast.Is | ast.IsNot):
                continue
            several = getattr(node.comparators[0], "elts", [node.comparators[0]])
            if any(isinstance(n, ast.Constant) and n.value is None for n in several):
                assert "dtype" not in ast.unparse(node.left), f"{source.path}:{node.lineno}"


def test_what_a_message_fills_in_is_filled_in() -> None:
    """No part of a message holds a ``{name}`` for want of an f before its quotes; the parts beside it have theirs, or it is raised
    as it stands."""
    for source in sources():
        parts = [value for node in nodes(source.tree) if isinstance(node, ast.JoinedStr) for value in node.values]
        for node in nodes(source.tree):
            if isinstance(node, ast.Raise) and node.exc is not None and ".format(" not in ast.unparse(node.exc):
                parts += ast.walk(node.exc)
        for part in parts:
            text = part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else ""
            assert not PLACEHOLDER.search(text), f"{source.path}:{part.lineno}: {text}"


def test_no_failure_is_swallowed() -> None:
    """An ``except`` that catches everything raises again, or hands the error on to whoever waits for a result."""
    for source in sources():
        for node in nodes(source.tree):
            caught = ast.unparse(node.type or node) if isinstance(node, ast.ExceptHandler) else ""
            if caught.startswith("except") or caught in ("Exception", "BaseException"):
                used = any(
                    isinstance(n, ast.Raise) or (isinstance(n, ast.Name) and n.id == node.name) for n in ast.walk(node)
                )
                assert used, f"{source.path}:{node.lineno}"


def test_everything_public_is_documented() -> None:
    missing = []
    for source in sources():
        if not ast.get_docstring(source.tree):
            missing.append(str(source.path))
        for node in source.tree.body:
            if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
                continue
            if ast.get_docstring(node) or converts(node):
                continue
            text = ast.unparse(node)
            if not ("__doc__ = " in text or text.startswith("@overload")):
                missing.append(f"{source.path}:{node.lineno} {node.name}")
    assert not missing, "\n".join(missing)


def test_operators_are_documented() -> None:
    """Their docstrings are the documentation of nd and sym."""
    assert not [name for name, cls in OPS.items() if not (cls.__dict__.get("__doc__") or "").strip()]


@pytest.mark.parametrize("name", PACKAGES)
def test_what_a_package_offers_is_there_and_documented(name: str) -> None:
    package = importlib.import_module(name)
    offered = package.__all__
    assert len(set(offered)) == len(offered)
    for attribute in offered:
        value = getattr(package, attribute)
        if callable(value):
            assert (value.__doc__ or "").strip(), f"{name}.{attribute}"


# Names of operators as text where operators are known by their classes: how many in a file, and why. They may only become fewer.
NAMED = {
    ("ir", "weights"): (1, "an input of operators"),
    ("passes", "blocked_layout"): (1, "an attribute"),
    ("passes", "elementwise_code"): (23, "functions, opcodes, and operators that are loaded when a graph has one"),
    ("passes", "epilogue"): (2, "a function, and what an attribute says"),
    ("passes", "fold_shapes"): (1, "an operator that is loaded when a graph has one"),
    ("passes", "fuse_attention"): (
        3,
        "an operator that is loaded when a graph has one, one that turns masks, a function",
    ),
    ("passes", "fuse_depthwise_pointwise"): (1, "an attribute"),
    ("passes", "fuse_layer_norm"): (6, "functions"),
    ("passes", "qdq_forms"): (6, "functions, and operators that have no class of their own"),
    ("passes", "scan_first_axis"): (1, "an operator that is loaded when a graph has one"),
    ("execution", "device_kernels"): (38, "opcodes of a chain, in C"),
    ("execution", "device_windows"): (1, "what an attribute says"),
    ("execution", "control"): (4, "operators that are loaded when a graph has one"),
    ("execution", "settled"): (3, "operators that are loaded when a graph has one"),
    ("passes", "resolve_like_ops"): (1, "an operator that is loaded when a graph has one"),
    ("execution", "flow"): (2, "operators that are loaded when a graph has one"),
    ("eager", "array"): (2, "a keyword argument, and what an attribute says"),
    ("eager", "np_array"): (2, "what attributes say"),
    ("eager", "cached_op"): (1, "a method of strings"),
    ("eager", "sparse"): (7, "operators that are found by name when one is called"),
}


def test_operators_are_known_by_their_classes() -> None:
    """Facts about an operator stand on its class, and nodes are matched by class: no table elsewhere repeats its name."""
    found = {}
    for source in sources("hybrid"):
        if len(source.module) > 2 and source.module[1] in ("ir", "passes", "execution", "eager", "frontend"):
            texts = [n.value for n in nodes(source.tree) if isinstance(n, ast.Constant) and n.value in REGISTRY]
            if texts:
                found[source.module[1:]] = len(texts)
    assert found == {where: count for where, (count, _) in NAMED.items()}
