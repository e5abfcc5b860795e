"""A few kills of each writer; and a writer that writes in place is caught."""

from pathlib import Path

import pytest

from .__main__ import kills
from .writers import WRITERS, Writer


@pytest.mark.parametrize("name", WRITERS)
def test_nothing_is_lost(name: str) -> None:
    found = kills(WRITERS[name], 2, seed=1)
    assert not found["lost"]
    assert found["whole"] + found["mixed"] == 2


def test_a_writer_in_place_is_caught() -> None:
    def write(folder: Path, generation: int) -> None:
        with open(folder / "a", "w", encoding="utf-8") as file:
            for _ in range(2000):
                file.write(f"{generation}\n")
                file.flush()

    def read(folder: Path) -> int:
        lines = (folder / "a").read_text().splitlines()
        assert len(lines) == 2000
        assert len(set(lines)) == 1
        return int(lines[0])

    assert kills(Writer(write, read), 20, seed=1)["lost"]
