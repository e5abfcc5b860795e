"""Operators that NumPy computes in compiled programs: which, in which dtypes, and why that may be (fallbacks.txt).

``python -m tests.native.fallbacks`` takes off the list what has got a kernel. What lost one
belongs on it only with a reason, by hand.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from pathlib import Path

import ml_dtypes
import numpy as np

from hybrid.core.op import lookup
from hybrid.execution.program import Program
from hybrid.formats.files import write
from hybrid.ir.graph import Entry, Graph, Node
from tests.table.examples import examples, graph_of

LIST = Path(__file__).with_name("fallbacks.txt")
NAMES = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool")
DTYPES = [np.dtype(getattr(ml_dtypes, name, name)) for name in NAMES]
Listed = dict[str, frozenset[str]]
"""By operator, the dtypes of the first input."""


def found() -> Listed:
    """Operators whose first example falls back, in the dtypes in which NumPy computes it; beside another step, so that what needs
    no step at all is no fallback."""
    falling: dict[str, set[str]] = defaultdict(set)
    tried: set[str] = set()
    for example in examples():
        name = example.op.name
        if name in tried:
            continue
        tried.add(name)
        own = example.arrays[0].dtype if example.arrays else np.dtype("float32")
        for dtype in DTYPES if own in DTYPES and example.arrays else [own]:
            arrays = tuple(a.astype(dtype) if a.dtype == own else a for a in example.arrays)
            graph, feeds = graph_of(example._replace(arrays=arrays))
            if _falls_back(graph, feeds, "values" in example.op.needs):
                falling[name].add(str(dtype))
    return {name: frozenset(dtypes) for name, dtypes in falling.items()}


def _falls_back(graph: Graph, feeds: dict[str, np.ndarray], stored: bool) -> bool:
    """stored: all inputs but the first are a model's constants."""
    others = [*feeds][1:]
    wide = Graph([*graph.outputs, Entry(Node(lookup("exp").bind(), "exp", [Entry(Node(None, "beside"))]))])
    feeds = {**feeds, "beside": np.ones(3, np.float32)}
    constants = {n: feeds[n] for n in others} if stored else {}
    try:
        program = Program(wide, constants)
        key = tuple(x for n in program.names for x in (feeds[n].shape, feeds[n].dtype))
        if not program.prepare(key).bound.fallbacks():
            return False
        Program(graph, native=False).run({n: feeds[n] for n in feeds if n != "beside"})
    except Exception:  # no dtype of this operator: NumPy's functions raise what they like
        return False
    return True


def listed() -> dict[str, Listed]:
    """The list: by reason."""
    rows: dict[str, Listed] = {}
    for line in LIST.read_text().splitlines():
        if line.startswith("# "):
            rows[line[2:]] = {}
        elif line:
            name, *dtypes = line.split()
            rows[[*rows][-1]][name] = frozenset(dtypes)
    return rows


def text(rows: dict[str, Listed]) -> str:
    """The list as it is written."""
    parts = []
    for reason, operators in rows.items():
        lines = [f"{n} {' '.join(sorted(dtypes))}" for n, dtypes in sorted(operators.items())]
        parts.append("\n".join([f"# {reason}", *lines]) + "\n")
    return "\n".join(parts)


def main() -> None:
    """Take off the list what has a kernel."""
    warnings.simplefilter("ignore")
    now, before = found(), listed()
    kept = {
        reason: {n: both for n, dtypes in rows.items() if (both := dtypes & now.get(n, frozenset()))}
        for reason, rows in before.items()
    }
    write(LIST, text({reason: rows for reason, rows in kept.items() if rows}))
    known = {(n, d) for rows in before.values() for n, dtypes in rows.items() for d in dtypes}
    new = sorted({(n, d) for n, dtypes in now.items() for d in dtypes} - known)
    sys.exit("\n".join(f"{n} {d}: falls back, and is not listed" for n, d in new) or 0)


if __name__ == "__main__":
    main()
