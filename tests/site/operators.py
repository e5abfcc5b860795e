"""docs/operators.md as the site shows it: in the table of operators what each is, and the targets that refuse it."""

from __future__ import annotations

import re

from bridge.targets.profile import profiles
from converters import ops  # noqa: F401  fills OPS
from hybrid.core.op import OPS

from . import on_targets

PAGE = "operators.md"
HEAD = "| operator | other names |"
ROW = re.compile(r"^\| `(\w+)` \|(.*)$", re.MULTILINE)


def page(markdown: str) -> str:
    """The page's text with what the operator is under each name, and a column more where it is known which targets refuse it."""
    before, head, table = markdown.partition(HEAD)
    assert head, f"{PAGE} has no table of operators"
    table, end, after = table.partition("\n\n")
    refusing = on_targets.recorded()
    lines = table.split("\n")
    said = ""
    if refusing:
        lines[0] += ' <span class="roomy">not on</span> |'
        lines[1] += "---|"
        said = (
            f"- *not on*: targets, of {len(profiles())} engines and releases ([targets.md](targets.md)), that do not support it,\n"
            "  tried with one example each; others may still refuse some attributes or sizes.\n"
        )
    rows = [_row(line, refusing) for line in lines[2:]]
    return "".join([before.rstrip("\n"), "\n", said, "\n", head, "\n".join([*lines[:2], *rows]), end, after])


def _row(line: str, refusing: dict[str, list[str]]) -> str:
    found = ROW.fullmatch(line)
    assert found is not None, line
    name = found[1]
    last = f" {', '.join(refusing.get(name, ()))} |" if refusing else ""
    return f"| `{name}`<br>{summary(name)} |{found[2]}{last}"


def summary(name: str) -> str:
    """The first sentence of an operator's description, for a cell of a table."""
    text = " ".join((OPS[name].__doc__ or "").split("\n\n")[0].split())
    first = re.match(r".*?[.:](?= |$)", text)
    return (first[0] if first else text).replace("|", "\\|").replace("``", "`").rstrip(":")
