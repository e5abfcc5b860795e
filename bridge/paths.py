"""Files that a model is read from, by what the user calls it."""

from __future__ import annotations

import re
from pathlib import Path


class BadInput(ValueError):
    """Raised when what the user gave cannot be used: what was got, what was wanted, what to do. ``problems`` lists them all."""

    def __init__(self, *problems: str):
        self.problems = problems
        super().__init__("\n".join(problems))


def file_of(path: Path) -> Path:
    """The file that a path, a prefix or a folder means. Raises BadInput."""
    if not path.exists():
        prefixed = path.with_name(f"{path.name}-symbol.json")
        if not prefixed.exists():
            raise BadInput(f"{path}: no such file; wanted a -symbol.json or .onnx file, or the prefix of one")
        path = prefixed
    if path.is_dir():
        found = sorted(path.glob("*-symbol.json"))
        if len(found) != 1:
            raise BadInput(f"{path}: a folder with {len(found)} -symbol.json files; name the one you mean")
        path = found[0]
    if path.suffix == ".params":
        raise BadInput(f"{path}: these are parameters; give the -symbol.json file first and the parameters second")
    if not path.is_file():
        raise BadInput(f"{path}: not a regular file; wanted a -symbol.json or .onnx file, or the prefix of one")
    return path


def newest_params(symbol: Path) -> Path | None:
    """``PREFIX-NNNN.params`` with the highest number beside ``PREFIX-symbol.json``, else ``PREFIX.params``, else None."""
    prefix = symbol.name.removesuffix(".json").removesuffix("-symbol")
    numbered = []
    for candidate in symbol.parent.iterdir():
        match = re.fullmatch(rf"{re.escape(prefix)}-(\d+)\.params", candidate.name)
        if match:
            numbered.append((int(match[1]), candidate))
    if numbered:
        return max(numbered)[1]
    plain = symbol.with_name(f"{prefix}.params")
    return plain if plain.exists() else None
