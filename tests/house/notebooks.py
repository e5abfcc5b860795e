"""Notebooks, run without Jupyter: code cells one after the other, as IPython shows them.

``python -m tests.house.notebooks docs/notebooks/NAME.ipynb ...`` runs them anew and writes what they show into them."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

MOST = 2000
"""Characters of a value's text that are kept."""
PICTURES = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}


def shown(value: Any) -> dict[str, Any]:
    """A value as the output of a cell."""
    data: dict[str, Any] = {"text/plain": lines(repr(value)[:MOST])}
    for kind, method in PICTURES.items():
        if hasattr(value, method) and not isinstance(value, type):
            data[kind] = lines(getattr(value, method)())
    return {"output_type": "execute_result", "data": data, "metadata": {}}


def lines(text: str) -> list[str]:
    """A text as notebooks hold it."""
    return text.splitlines(keepends=True)


def run_cell(source: str, names: dict[str, Any], where: str) -> list[dict[str, Any]]:
    """Run a cell, and give its outputs: what it prints, then the value of an expression at its end."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    said, outputs, value = io.StringIO(), [], None
    with contextlib.redirect_stdout(said):
        exec(compile(tree, where, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), where, "eval"), names)
    if said.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines(said.getvalue())})
    return outputs if value is None else [*outputs, shown(value)]


def run(path: Path) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Run the code cells of a notebook in its folder: each with its outputs."""
    book = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    done, before = [], Path.cwd()
    os.chdir(path.parent)
    try:
        for number, cell in enumerate(book["cells"], 1):
            if cell["cell_type"] == "code":
                done.append((cell, run_cell("".join(cell["source"]), names, f"{path.name}, cell {number}")))
    finally:
        os.chdir(before)
    return done


def text_of(outputs: list[dict[str, Any]]) -> list[str]:
    """The texts of outputs; of what has a picture none, as its text is not for reading."""
    kept = []
    for out in outputs:
        if out["output_type"] == "stream":
            kept.append("".join(out["text"]))
        elif out["data"].keys() == {"text/plain"}:
            kept.append("".join(out["data"]["text/plain"]))
    return kept


def write(path: Path) -> None:
    """Run a notebook and keep what it shows."""
    book = json.loads(path.read_text(encoding="utf-8"))
    outputs = iter(run(path))
    count = 0
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            _, found = next(outputs)
            cell["execution_count"] = count
            cell["outputs"] = [
                {**o, "execution_count": count} if o["output_type"] == "execute_result" else o for o in found
            ]
    path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write(Path(name).resolve())
