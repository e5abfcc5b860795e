"""A page for all models of a check, and beside it one for each comparison. No network, no scripts."""

from __future__ import annotations

import datetime
import html
import re
from pathlib import Path

from hybrid.formats.files import write

from .. import report
from ..models import BadInput
from ..printable import printable
from ..recorded import own_version
from .github import figure
from .results import EXITS, WORDS, CheckResult, FileResult

STYLE = """
:root { color-scheme: light dark; --line: #8884; --ok: #1a7f37; --bad: #cf222e; --little: #9a6700 }
@media (prefers-color-scheme: dark) { :root { --ok: #3fb950; --bad: #f85149; --little: #d29922 } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem } table { border-collapse: collapse; width: 100% }
td, th { text-align: left; padding: .4rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top }
td { overflow-wrap: anywhere }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
.ok { color: var(--ok) } .bad { color: var(--bad); font-weight: 600 } .little { color: var(--little) }
footer { opacity: .7; margin-top: 1.5rem; font-size: .85rem }
@media (max-width: 40rem) { td, th { padding: .3rem } thead { display: none }
  tr { display: block; border-bottom: 1px solid var(--line) }
  td { display: block; border: 0; padding: .1rem 0 } td.number { text-align: left } }
"""


def check_folder(folder: Path) -> None:
    """Raise BadInput when no pages can be written there."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"report {folder}: a file, wanted a folder for index.html and a page for each comparison")
    if not folder.parent.is_dir():
        raise BadInput(f"report {folder}: no folder {folder.parent} to make it in")


def save(result: CheckResult, folder: Path, command: str) -> Path:
    """Write index.html and a page for each comparison; gives the first."""
    folder.mkdir(exist_ok=True)
    pages: dict[int, str] = {}
    taken: set[str] = set()
    for number, file in enumerate(result.files):
        if file.result is None:
            continue
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{file.model}--{file.file}").strip("-.") or "model"
        name = stem if stem.lower() not in taken else f"{stem}-{number}"
        taken.add(name.lower())
        pages[number] = f"{name}.html"
        report.save(
            report.verify_table(file.result), folder / pages[number], command, file.as_dict(), EXITS.get(file.status, 0)
        )
    index = folder / "index.html"
    write(index, index_page(result, pages, command))
    return index


def index_page(result: CheckResult, pages: dict[int, str], command: str) -> str:
    """The page of all files, verdict first. pages: where each file's own is, by its number."""
    rows = "\n".join(_row(f, result, pages.get(i)) for i, f in enumerate(result.files))
    verdict = f'<span class="{"ok" if result.ok else "bad"}">{_text(result.summary)}</span>'
    alone = (f"{name}: nothing to compare it with" for name in result.alone)
    notes = "".join(f"<li>{_text(words)}</li>" for words in (*result.notes, *alone))
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>gluonnx check: {_text(result.summary)}</title><style>{STYLE}</style></head><body>
<h1>gluonnx check: {verdict}</h1>
<table><thead><tr><th>verdict</th><th>model</th><th>file</th><th>largest difference</th><th></th></tr></thead><tbody>
{rows}
</tbody></table>
<ul>{notes}</ul>
<footer>{now}, gluonnx {_text(own_version())}, {result.seconds:.1f} s, <code>{_text(command)}</code></footer>
</body></html>
"""


def _row(file: FileResult, result: CheckResult, page: str | None) -> str:
    kind = "ok" if file.status == "ok" else "bad" if result.fails(file) else "little"
    name = _text(file.file) if page is None else f'<a href="{html.escape(page)}">{_text(file.file)}</a>'
    said = _text(file.detail or file.change)
    return (
        f'<tr><td class="{kind}">{WORDS[file.status]}</td><td>{_text(file.model)}</td><td>{name}</td>'
        f'<td class="number">{figure(file)}</td><td>{said}</td></tr>'
    )


def _text(text: str) -> str:
    return html.escape(printable(text))
