"""A check as GitHub shows it: annotations on standard output, and the summary of a step in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from ..printable import printable
from .results import WORDS, CheckResult, FileResult


def commands(result: CheckResult) -> Iterator[str]:
    """Workflow commands: an error for each file that is a reason to fail, a warning for any other that is not well, and for what
    is to be known of the whole."""
    for words in result.remarks:
        yield f"::warning title=gluonnx check::{_data(words)}"
    for file in result.files:
        for words in file.beside:
            yield f"::warning title={_property(f'{file.model}: {file.file}')}::{_data(words)}"
        if file.status == "ok":
            continue
        level = "error" if result.fails(file) else "warning"
        title = f"{file.model}: {file.file} {WORDS[file.status]}"
        yield f"::{level} title={_property(title)}::{_data(file.detail or file.status)}"


def _data(text: str) -> str:
    return printable(text, keep="\n\r").replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def markdown(result: CheckResult) -> str:
    """A table of all files, verdict first."""
    mark = "✅" if result.ok else "❌"
    lines = [
        f"### {mark} gluonnx: {result.summary}",
        "",
        "| | model | file | largest difference | |",
        "|---|---|---|---:|---|",
    ]
    lines += [
        f"| {_mark(f, result)} | {_cell(f.model)} | {_cell(f.file)} | {figure(f)} | {_told(f)} |" for f in result.files
    ]
    lines += ["", *(f"- {_cell(words)}" for words in result.notes)] if result.notes else []
    return "\n".join(lines) + "\n"


def _mark(file: FileResult, result: CheckResult) -> str:
    return "✅" if file.status == "ok" else "❌" if result.fails(file) else "⚠️"


def _told(file: FileResult) -> str:
    said = WORDS[file.status] if file.status != "ok" else file.change
    return f"{said}: {_cell(file.detail)}" if file.detail else said


def figure(file: FileResult) -> str:
    """The greatest difference as it is written; empty where there is none."""
    return "" if file.largest is None else f"{file.largest:.1e}"


def _cell(text: str) -> str:
    """Text in a cell of a Markdown table, with nothing in it that would be markup."""
    for character in "\\`*_[]<>|~":
        text = text.replace(
            character, f"\\{character}" if character not in "<>" else {"<": "&lt;", ">": "&gt;"}[character]
        )
    return printable(text).replace("\n", " ")
