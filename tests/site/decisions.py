"""The index of the decisions."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"
PAGE = "decisions/index.md"
TITLE = re.compile(r"# (\d{4}):? (.+)")


def page() -> str:
    """A table of number and title, with a link to each."""
    rows = []
    for path in sorted(FOLDER.glob("[0-9]*.md")):
        found = TITLE.match(path.read_text(encoding="utf-8"))
        assert found is not None, f"{path.name} opens with something other than its number and title"
        rows.append(f"| {found[1]} | [{found[2]}]({path.name}) |")
    head = (
        "# Decisions\n\nChoices that somebody could wonder about: the problem, what was chosen, what else there was and what "
        "it would have\ncost.\n\n| number | decision |\n|---|---|\n"
    )
    return head + "\n".join(rows) + "\n"
