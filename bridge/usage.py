"""Words for what is wrong with a command line, in the style of all other errors."""

from __future__ import annotations

import re
from typing import Any

from .printable import printable

KINDS = {"integer": "a whole number", "float": "a number", "number": "a number", "boolean": "true or false"}
"""Words for what click calls types of values."""


def told(error: Any, command: str = "") -> str:
    """The message of an error that click found in a command line: what was got, what is wanted, and where all is listed.

    error: one that has ``format_message``, of whichever package. command: the one that was called, where it does not know that."""
    context = getattr(error, "ctx", None)
    if context is not None:
        command = "" if hasattr(context.command, "list_commands") else context.info_name
    path = f"gluonnx {command}".rstrip()
    if getattr(error, "option_name", "") == "--json" and not command:
        return "--json: give it behind the command, such as gluonnx inspect MODEL --json"
    said = printable(_said(error))
    if (
        getattr(error, "param", None) is not None and "missing" not in said
    ):  # its value, of which the message says what is wanted
        return said
    return f"{said}{'' if said.endswith('?') else ';'} {path} --help lists all"


def _said(error: Any) -> str:
    name = getattr(error, "option_name", None)
    close = [*(getattr(error, "possibilities", None) or ())]
    if name and close:
        return f"no such option {name}; did you mean {' or '.join(sorted(close)[:3])}?"
    text = str(error.format_message()).rstrip(".")
    parameter = getattr(error, "param", None)
    words = str(getattr(error, "message", "") or "").rstrip(".")
    if parameter is not None and text.startswith("Invalid value"):
        called = parameter.opts[0] if parameter.param_type_name == "option" else parameter.name
        return f"{called}: {_value(words)}"
    return text[:1].lower() + text[1:]


def _value(words: str) -> str:
    """Words of click's for a value that cannot be: what was got, and what is wanted."""
    if found := re.fullmatch(r"(\S+) is not in the range x>=(\S+)", words):
        return f"got {found[1]}, wanted {found[2]} or more"
    if found := re.fullmatch(r"Input should be greater than or equal to (\S+)", words):  # of typer's own
        return f"wanted {found[1]} or more"
    if found := re.fullmatch(
        r"(?:('.*') is not|Input should be) a valid (integer|float|number|boolean)\b.*", words, re.DOTALL
    ):
        return f"{f'got {found[1]}, ' if found[1] else ''}wanted {KINDS[found[2]]}"
    return words
