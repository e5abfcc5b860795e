"""Meaning that one operator inherits from another holds only where it says so: ``Op.means``, and the claims about ``compute``."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest

import hybrid.execution
import hybrid.ir
import hybrid.passes
from hybrid.core.op import REGISTRY, Op, lookup
from hybrid.ops.elementwise import Identity
from tests.house.source import sources

CLASSES = sorted(set(REGISTRY.values()), key=lambda cls: cls.name)
CLAIMS = ("view", "only_moves_data", "supports_out", "is_ordering", "compute_into", "infer_value")
"""Members by which a class claims something of its compute, or does without it."""


def matched() -> set[type[Op]]:
    """The classes that the modules of ir, passes and execution know, so that what they do may depend on them."""
    found = set()
    rooms = (hybrid.ir, hybrid.passes, hybrid.execution)
    for module in (m for r in rooms for m in pkgutil.walk_packages(r.__path__, f"{r.__name__}.")):
        for value in vars(importlib.import_module(module.name)).values():
            several = value if isinstance(value, tuple) else (value,)
            found.update(c for c in several if inspect.isclass(c) and issubclass(c, Op) and c is not Op)
    return found


def unlike(cls: type[Op]) -> set[str]:
    """Operators that inherit from the class, and mean something else."""
    return {c.name for c in CLASSES if issubclass(c, cls) and not c.means(cls)}


def test_inheriting_from_an_operator_is_not_meaning_it() -> None:
    """Each of these has been taken for what it inherits from, or was about to be."""
    everywhere = set().union(*map(unlike, matched()))
    assert {"_backward_MakeLoss", "_npi_identity", "Pooling_v1", "_contrib_quantized_concat"} <= everywhere


def test_what_says_nothing_else_means_what_it_inherits_from() -> None:
    for name in ("_copy", "BlockGrad", "MakeLoss", "make_loss", "cast_storage", "_CrossDeviceCopy"):
        assert lookup(name).means(Identity)
    for name, cls in {"_npi_vstack": "Joining", "_onnx_Reshape": "Reshaping", "amp_cast": "Cast"}.items():
        (base,) = (c for c in lookup(name).__mro__ if c.__name__ == cls)
        assert lookup(name).means(base)  # type: ignore[arg-type]


def test_an_own_way_to_compute_has_to_keep_the_meaning() -> None:
    class Twice(Identity):
        def compute(self, data):
            return data + data

    class Copied(Identity):
        keeps = True

        def compute(self, data):
            return data.copy()

    class TwiceCopied(Copied):
        def compute(self, data):
            return data + data

    class Renamed(Identity):
        inputs = ("a",)

        def gradient(self, F, dy, x, y):  # noqa: N803
            return None

    got = {c.__name__: c.means(Identity) for c in (Twice, Copied, TwiceCopied, Renamed)}
    assert got == {"Twice": False, "Copied": True, "TwiceCopied": False, "Renamed": True}


def test_a_part_of_how_it_computes_counts_unless_the_class_leaves_it_open() -> None:
    class Filling(Op):
        left_open = ("fill",)

        fill = 0
        least = 0

        def compute(self, data):
            return data * 0 + max(self.fill, self.least)

    class Open(Filling):
        fill = 1

    class Closed(Filling):
        least = 1

    assert Open.means(Filling) and not Closed.means(Filling)


@pytest.mark.parametrize("claim", CLAIMS)
def test_claims_are_made_by_who_computes(claim: str) -> None:
    """A class with another compute than the one that the claim was made for makes it again, or takes it back."""
    for cls in CLASSES:
        owner, computes = (next(c for c in cls.__mro__ if n in c.__dict__) for n in (claim, "compute"))
        if getattr(cls, claim) is False or owner.compute is Op.compute or issubclass(owner, computes):
            continue
        assert cls.means(owner), f"{cls.__name__} has {claim} from {owner.__name__}, and a compute of its own"


def operators_in(call: ast.Call, module: ModuleType) -> set[str]:
    """Names of operators' classes among what a call asks about, as the module has them."""
    found = set()
    for argument in call.args[1:]:
        for part in ast.walk(argument):
            value = getattr(module, part.id, None) if isinstance(part, ast.Name) else None
            if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                value = getattr(getattr(module, part.value.id, None), part.attr, None)
            several = value if isinstance(value, tuple) else (value,)
            found.update(c.__name__ for c in several if inspect.isclass(c) and issubclass(c, Op))
    return found - {"Op", *GROUPS}


GROUPS = ("UnknownOp", "ControlFlow", "OfStorage", "Counterpart", "Elementwise")
"""Groups of operators by where they come from, or by shapes, which say nothing of what they compute."""


def test_nobody_decides_by_ancestry() -> None:
    """Outside of the operators and their translations nobody asks what a class inherits from."""
    for source in sources():
        if {"ops", "scripts"} & {*source.module} or source.path.name == "__main__.py":
            continue  # scripts run where MXNet is, and import it
        module = importlib.import_module(".".join(source.module))
        for call in (n for n in ast.walk(source.tree) if isinstance(n, ast.Call)):
            asks = isinstance(call.func, ast.Name) and call.func.id in ("isinstance", "issubclass")
            asked = operators_in(call, module) if asks else set()
            assert not asked, f"{source.path}:{call.lineno} asks whether it is {asked}; use means"
        if {"ir", "passes", "execution"} & {*source.module}:
            assert "singledispatch" not in source.path.read_text(), source.path
