"""``python -m hybrid.native`` tells what the compiled part is on this machine; ``--json`` for programs."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import Any

from ..core.unread import perhaps_unread
from . import LEVELS, kernels, level, memory_stats, threads, why_not


def facts() -> dict[str, Any]:
    """levels, level, threads, memory (see memory_stats), kernels ({operator: dtypes}) and why_not."""
    found: dict[str, list[str]] = {}
    for name, dtype in sorted(kernels()):
        found.setdefault(name, []).append(dtype)
    return {
        "levels": list(LEVELS),
        "level": level(),
        "threads": threads(),
        "memory": memory_stats(),
        "kernels": found,
        "why_not": why_not(),
    }


def text(found: dict[str, Any]) -> str:
    """The facts for people."""
    if found["why_not"]:
        return f"compiled part  none: {found['why_not']}\nkernels        NumPy does everything, several times slower"
    kinds: Counter[str] = Counter()
    for name in found["kernels"]:
        for start, kind in (("_backward_", "backward"), ("_fused_", "fused"), ("", "forward")):
            if name.startswith(start):
                kinds[kind] += 1
                break
    # kernels that move elements serve further dtypes by their size, as opaque1 to opaque8
    dtypes = Counter(d for of_one in found["kernels"].values() for d in of_one if not d.startswith("opaque"))
    counts = ", ".join(f"{kinds[k]} {k}" for k in ("forward", "backward", "fused"))
    return "\n".join(
        (
            f"compiled part  for the CPU levels {', '.join(found['levels'])} of this machine; {found['level']} is in use",
            f"kernels        of {len(found['kernels'])} operators: {counts}",
            f"dtypes         {', '.join(f'{name} ({n})' for name, n in dtypes.most_common())}",
            f"threads        {found['threads']}",
            f"memory         up to {found['memory']['bound'] >> 20} MB are kept for later use",
        )
    )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m hybrid.native", description="What the compiled part is here.")
    parser.add_argument("--json", action="store_true", help="all facts, each kernel too, as JSON")
    with perhaps_unread():
        as_json = parser.parse_args().json
        found = facts()
        print(json.dumps(found, indent=2) if as_json else text(found))


if __name__ == "__main__":
    main()
