"""Names and signatures of MXNet 1.9.1's NumPy interface (fixtures/api/np.json), and which of them are not here, or differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fnmatch import fnmatch

from hybrid.numpy import fallback
from tests.house import api

FIXTURE = api.ROOT / "fixtures/api/np.json"
BY_PRODUCTS = {
    "np.arrayprint np.function_base np.io np.multiarray np.stride_tricks np.utils npx.utils": "a file of MXNet's",
    "np.linalg.fallback_linalg": "an import of a module; mx.np.fallback_linalg is there",
    "npx.image.*": "what the modules of mx.image import",
    "npx.check_call npx.classproperty npx.with_metaclass *.random.current_context *.random.NDArray": "an import of a module",
    "np.ndarray.handle sym.np._Symbol.handle *.__del__ *.__setstate__": "a handle of MXNet's C library",
    "np.ndarray.__div__ np.ndarray.__rdiv__ np.ndarray.__idiv__ *.__nonzero__": "Python 2",
    "sym.np._Symbol.__div__ sym.np._Symbol.__rdiv__ sym.np._Symbol.__idiv__": "Python 2",
}
"""Patterns of names that MXNet shows by accident, and why they are not asked for."""
DIFFERENT = {
    "nd.*": "the same functions as np.*, which are compared",
    "sym.np.zeros": "the dtype is None there, which means float32, as for arrays",
    "sym.np._Symbol.astype": "an operator's keywords",
    "np.linalg.lstsq": "NumPy's own, which has changed",
    "npx.constraint_check npx.nonzero": "MXNet's documentation has another name of the input than its operator",
    "sym.np.random.rayleigh": "a scale of 0, where the arrays' function has 1",
}
"""Patterns of names whose signatures are not compared, and why; nor are those of NumPy's own functions, and of operators."""
_SKIPPED = tuple(pattern for patterns in BY_PRODUCTS for pattern in patterns.split())


def names() -> dict[str, dict[str, str]]:
    """Module or class: name: signature, or what kind of thing it is."""
    return json.loads(FIXTURE.read_text())["names"]


def recorded() -> Iterator[api.Public]:
    """All names that are asked for."""
    for where, members in names().items():
        of_class = where.rpartition(".")[2] in ("ndarray", "_Symbol")
        module, _, owner = where.rpartition(".") if of_class else (where, "", "")
        for name, what in members.items():
            if any(fnmatch(f"{where}.{name}", pattern) for pattern in _SKIPPED):
                continue
            kind = "function" if what.startswith("(") else what
            full = f"{owner}.{name}" if owner else name
            yield api.Public(f"mxnet.{module}", full, kind, what if what.startswith("(") else None)


def _is_compared(name: str, signature: str | None) -> bool:
    """True for functions that have the signature of MXNet's."""
    if signature is None or "attr=None" in signature or name.removeprefix("np.") in fallback.__all__:
        return False
    return not any(fnmatch(name, pattern) for patterns in DIFFERENT for pattern in patterns.split())


def left() -> list[str]:
    """Names that are not here, and signatures that differ."""
    out = []
    for item in recorded():
        name = str(item).removeprefix("mxnet.")
        if api.find(item) is api._ABSENT:
            out.append(name)
        elif _is_compared(name, item.signature) and (difference := api.difference(item)):
            out.append(f"{name}: {difference}")
    return out
