"""python -m tests.precision [NETWORK ...]: docs/precision.md written anew, or the tables of some networks printed."""

from __future__ import annotations

import sys

from tests.models.networks import networks

from .sweep import PAGE, page, tables


def main(names: list[str]) -> int:
    """Write the page, or print what is asked for."""
    found = [n for n in networks() if n.name in names]
    if names:
        print(tables(found))
        return 0 if len(found) == len(names) else 2
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
