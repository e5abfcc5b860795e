"""docs/troubleshooting.md, from bridge/troubles.py: ``python -m tests.site.troubleshooting > docs/troubleshooting.md``."""

from __future__ import annotations

import textwrap

from bridge.troubles import TROUBLES, Trouble

WIDTH = 100
HEAD = """\
# Errors by message

Written by `python -m tests.site.troubleshooting > docs/troubleshooting.md` from
bridge/troubles.py.

A command that fails prints `error:`, what it got, what it needs and what to do, and then the name
of an entry of this page. `gluonnx explain NAME` prints the entry offline. With `--json` these are
the fields `error`, `problems` and `see` ([report-schema.md](report-schema.md)).
[Exit statuses](exit-statuses.md): 1 not equivalent, 2 bad input or not supported, 3 an engine
failed, 4 the outputs agree but prove little, 70 a bug in gluonnx.

Type a word of the message to find its entry.

<div class="filter" markdown data-of="h2">
</div>
"""


def page() -> str:
    """The page's text."""
    return "\n".join([HEAD, *map(entry, TROUBLES)])


def entry(trouble: Trouble) -> str:
    """The text of one entry; its heading makes the anchor."""
    kind = trouble.error.removeprefix("builtins.")
    lines = [f'<a id="{trouble.anchor}"></a>', "", f"## {trouble.title}", ""]
    lines += ["```text", *(wrapped for line in trouble.example.split("\n") for wrapped in _wrapped(line)), "```", ""]
    lines += [*_wrapped(f"Raised as `{kind}`. {trouble.means}"), ""]
    for step in trouble.do:
        lines += textwrap.wrap(step, WIDTH, initial_indent="- ", subsequent_indent="  ", **PLAIN)
    return "\n".join([*lines, ""])


PLAIN = {"break_long_words": False, "break_on_hyphens": False}


def _wrapped(text: str) -> list[str]:
    indent = text[: len(text) - len(text.lstrip())]
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent, **PLAIN)


if __name__ == "__main__":
    print(page(), end="")
