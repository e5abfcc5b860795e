"""python -m tests.answers: see the package."""

from __future__ import annotations

import json

from tests.answers import SURFACES, alike, answer, recorded, write


def main() -> None:
    """Record all answers anew; print those that changed."""
    for surface in SURFACES:
        rows = recorded(surface)
        now = [(case, answer(surface, case, careful=True)) for case, _ in rows]
        write(surface, now)
        for (_, then), (_, said) in zip(rows, now, strict=True):
            if not alike(said, then):
                print(f"{surface}: {json.dumps(then)}\n   now {json.dumps(said)}")


if __name__ == "__main__":
    main()
