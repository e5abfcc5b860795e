"""The reference of the Python API, as pages of Markdown made of what is imported: signatures and docstrings, as ``help`` shows
them, those of functions that are made of operators too. Names are those of MXNet 1.9.1 (fixtures/api), and of gluonnx."""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

import bridge
from tests.house import api

FOLDER = "reference"
WIDTH = 96
SHORT = {"mxnet": "mx", "mxnet.ndarray": "mx.nd", "mxnet.symbol": "mx.sym", "mxnet.numpy": "mx.np"}
SHORT |= {"mxnet.numpy_extension": "mx.npx"}
"""Modules by the names that programs use."""
PAGES = {
    "ndarray": ("mx.nd", "ndarray"),
    "ndarray-more": (
        "mx.nd.contrib, linalg, random",
        "ndarray.contrib ndarray.linalg ndarray.image ndarray.random ndarray.sparse",
    ),
    "symbol": ("mx.sym", "symbol executor attribute name"),
    "numpy": ("mx.np, mx.npx", "numpy numpy.linalg numpy.random numpy_extension util"),
    "autograd": ("Gradients, contexts, seeds", "autograd context random engine"),
    "gluon": ("Gluon: blocks and training", "gluon gluon.block gluon.parameter gluon.trainer gluon.utils"),
    "gluon-layers": ("Gluon: layers and losses", "gluon.nn gluon.rnn gluon.loss"),
    "gluon-data": (
        "Gluon: data and model zoo",
        "gluon.data gluon.data.vision.datasets gluon.data.vision.transforms gluon.model_zoo.vision",
    ),
    "gluon-contrib": (
        "Gluon: contrib",
        "gluon.contrib.nn gluon.contrib.cnn gluon.contrib.rnn gluon.contrib.data gluon.contrib.estimator",
    ),
    "module": ("Module and its kin", "module model rnn callback monitor kvstore"),
    "training": ("Optimizers, initializers, metrics", "optimizer lr_scheduler initializer metric"),
    "data": ("Data: io, image, recordio", "io image image.detection recordio"),
    "contrib": ("Contrib: AMP, INT8, text, ONNX", "contrib.amp contrib.quantization contrib.text contrib.onnx onnx"),
    "tools": ("Tools around networks", "operator visualization profiler runtime test_utils"),
}
"""Pages: title and modules of MXNet."""


class Shown(NamedTuple):
    """A name on a page."""

    name: str
    what: Any


@functools.cache
def pages() -> dict[str, str]:
    """Text by the name of the page."""
    found = {f"{FOLDER}/gluonnx.md": _page("Python: gluonnx", "What the commands do, as functions.", [*_of_bridge()])}
    seen: set[int] = set()
    for name, (title, modules) in PAGES.items():
        entries = [e for module in modules.split() for e in _of_module(f"mxnet.{module}", seen)]
        where = ", ".join(f"`{_short(f'mxnet.{m}')}`" for m in modules.split())
        said = f"{where}, with `from gluonnx import mx`."
        if name == "symbol":
            said += " The functions of operators are those of [mx.nd](ndarray.md), on symbols."
        for number, part in enumerate(_parts(entries)):
            whole = len(part) == len(entries)
            ends = [e.name.rsplit(".", 1)[1] for e in (part[0], part[-1])] if not whole else []
            page = f"{FOLDER}/{name}{f'-{number + 1}' if number else ''}.md"
            found[page] = _page(f"{title}: {ends[0]} to {ends[1]}" if ends else title, said, part)
    titles = (
        (page.split("/")[1], text.split("\n", 1)[0][2:], len(HEADING.findall(text))) for page, text in found.items()
    )
    rows = [f"| [{title}]({page}) | {count} |" for page, title, count in titles]
    head = "# Python API\n\nSignatures and docstrings, as `help` shows them.\n\n| page | names |\n|---|---|\n"
    return {f"{FOLDER}/index.md": head + "\n".join(rows) + "\n", **found}


FIELDS = {"Parameters", "Other Parameters", "Attributes", "Returns", "Yields", "Raises", "Inputs", "Outputs"}
"""Sections of docstrings that are lists: a name, and what it is in indented lines below."""
FIELD = re.compile(r"^([\w\\*., ]+?) : ")
ADDRESS = re.compile(r"\bhttps?://[^\s\\<>()\"']+[\w/]")
ANNOTATION = re.compile(r"(: |-> )'([^']*)'")
"""An annotation as the future import of annotations leaves it, a string."""
BREAK = "  "
"""At the end of a line: what follows begins a new one."""
UNDERLINE = re.compile(r" *-{3,} *")


def _parts(entries: list[Shown]) -> list[list[Shown]]:
    """Entries in pages that a browser shows at once, of about the same length."""
    pages = -(-len(entries) // MOST)
    size = -(-len(entries) // max(pages, 1))
    return [entries[i : i + size] for i in range(0, len(entries), size)] if pages else [entries]


MOST = 80
"""Names on a page; a browser takes seconds for the 70,000 elements of several hundred."""
HEADING = re.compile(r"^## ", re.MULTILINE)


def _short(module: str) -> str:
    parent, _, last = module.rpartition(".")
    return SHORT.get(module) or f"{_short(parent)}.{last}"


def _of_bridge() -> Iterator[Shown]:
    for name in sorted(bridge.__all__):
        what = getattr(bridge, name)
        if callable(what):
            yield Shown(f"gluonnx.{name}", what)


def _of_module(module: str, seen: set[int]) -> Iterator[Shown]:
    """Functions and classes that a module shows and none before has."""
    for item in api.public():
        if item.module != module or not item.name or "." in item.name or item.kind not in ("function", "class"):
            continue
        what = api.find(item)
        ours = getattr(what, "__module__", "").split(".")[0] in ("hybrid", "bridge", "converters")
        made = module.startswith("mxnet.symbol") and api.find(item._replace(module="mxnet.ndarray")) is not api._ABSENT
        if ours and callable(what) and id(what) not in seen and not (made and item.kind == "function"):
            seen.add(id(what))
            yield Shown(f"{_short(module)}.{item.name}", what)


def _page(title: str, said: str, entries: list[Shown]) -> str:
    return "\n".join([f"# {title}", "", *textwrap.wrap(said, WIDTH), "", *map(_entry, entries)])


def _entry(shown: Shown) -> str:
    lines = [f"## {shown.name} {{#{shown.name}}}", "", *_code(signature(shown.name.rsplit(".", 1)[1], shown.what)), ""]
    lines += [text(shown.what), ""]
    if inspect.isclass(shown.what):
        for name, member in vars(shown.what).items():
            if not name.startswith("_") and (
                callable(member) or isinstance(member, property | classmethod | staticmethod)
            ):
                lines += _member(name, member)
    return "\n".join(lines)


def _member(name: str, member: Any) -> Iterator[str]:
    """A method or a property, without a heading of its own."""
    inner = getattr(member, "__func__", member)
    said = text(inner)
    called = name if isinstance(member, property) else signature(name, inner).replace("\n", " ")
    called = re.sub(r"\((?:self|cls)(?:, |(?=\)))", "(", called, count=1)
    yield from (f"**`{' '.join(called.split())}`**", "", *([said, ""] if said else []))


def signature(name: str, what: Any) -> str:
    """A name with its parameters, in lines that are not too long."""
    try:
        parameters = str(inspect.signature(what))
    except (TypeError, ValueError):
        parameters = "(...)"
    parameters = re.sub(r"<(?:class '(?:\w+\.)*(\w+)'|(?:function|object) [^>]*?(\w+)[^>]*)>", r"\1\2", parameters)
    parameters = re.sub(r"<module '([\w.]+)'[^>]*>", r"\1", parameters)  # without where this machine has it
    parameters = re.sub(r"<(?:\w+\.)*(\w+) object at 0x[0-9a-f]+>", r"\1(...)", parameters)
    parameters = ANNOTATION.sub(r"\1\2", parameters)
    if len(name) + len(parameters) <= WIDTH or ("->" in parameters[-40:] and len(parameters) < WIDTH):
        return f"{name}{parameters}"
    return "\n".join(textwrap.wrap(f"{name}{parameters}", WIDTH, subsequent_indent="    ", break_long_words=False))


def _code(lines: str) -> list[str]:
    return ["```python", lines, "```"]


def text(what: Any) -> str:
    """The docstring as Markdown: indented lines and sessions are code, sections have a title and a list of their fields, marks of
    ours are those of Markdown, all else is as it is written."""
    found = inspect.getdoc(what) or ""
    if inspect.isclass(what) and what.__doc__ is None:
        found = ""
    lines = [*found.split("\n"), ""]
    made: list[str] = []
    section, at = "", 0
    while at < len(lines) - 1:
        line, below = lines[at], lines[at + 1]
        if line.strip() and UNDERLINE.fullmatch(
            below
        ):  # as a heading it would be one of thousands in the table of contents
            section = line.strip()
            made += ["", f"**{section}**", ""] if section != "Examples" else []  # a session says that it is one
            at += 1
        elif line.startswith(">>>"):
            end = next(i for i in range(at, len(lines)) if not lines[i].strip())
            made += ["", "```pycon", *lines[at:end], "```", ""]
            at = end
        elif section in FIELDS and line.startswith(" "):
            made.append(_escaped(line))
        elif section in FIELDS and line.strip() and (FIELD.match(line) or below.startswith(" ")):
            named = f"`{line.strip()}`" if section == "Raises" else FIELD.sub(lambda m: f"`{m[1]}`: ", _escaped(line))
            made.append(f"- {named}{BREAK}")
        else:
            made.append(line if line.startswith("    ") else _escaped(line))
        at += 1
    return "\n".join(made).strip("\n")


def _escaped(line: str) -> str:
    parts = re.split(r"(``.+?``|`[^`]+`)", line)
    return "".join(
        f"`{part.strip('`')}`"
        if part.startswith("`") and len(part) > 2
        else ADDRESS.sub(r"<\g<0>>", re.sub(r"([*<\[{])", r"\\\1", part))
        for part in parts
    )
