"""Files that a model is read from, by what the user calls it."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

SHOWN = 5
"""Problems that a message lists; all of them are in ``problems``."""
MOST_ENTRIES = 100_000
"""Files and folders that are looked at below a folder: more are a disk or somebody's home, which nobody means by a model."""
SYMBOLS = "*-symbol.json"


class BadInput(ValueError):
    """Raised when what the user gave cannot be used: what was got, what was wanted, what to do. ``problems`` lists them all; the
    message stops after a few.

    Examples
    --------
    >>> import gluonnx
    >>> try:
    ...     gluonnx.open_model("nothing")
    ... except gluonnx.BadInput as error:
    ...     print(str(error).partition(";")[0])
    nothing: no such file
    """

    def __init__(self, *problems: str):
        self.problems = problems
        left = len(problems) - SHOWN
        more = [f"... and {left} more"] if left > 0 else []
        self.full = "\n".join(problems)
        """The message with all problems."""
        super().__init__("\n".join([*problems[:SHOWN], *more]))


class SizesWanted(BadInput):
    """Raised when inputs are to be drawn whose sizes nothing tells. sizes: by input sizes that would do, as texts (1,3,224,224)."""

    def __init__(self, sizes: Mapping[str, str], *problems: str):
        self.sizes = dict(sizes)
        super().__init__(
            *(f"give the shape of input {n}, for instance --input {n}:{example}" for n, example in sizes.items()),
            *problems,
        )


def bytes_text(count: int) -> str:
    """A size in words, to three or four digits."""
    value = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError


def plural(count: int, word: str) -> str:
    """So many of a thing whose plural ends in s."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def listed(names: Iterable[str], most: int = SHOWN) -> str:
    """Some names, and how many more there are."""
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def of_a_system(name: str) -> bool:
    """True for the path of a file, in a folder or an archive, that an operating system put there by itself: macOS packs one that
    begins with ``._`` for each file, or all in ``__MACOSX``, and leaves ``.DS_Store``; Windows leaves two more. None is a model."""
    parts = name.replace("\\", "/").split("/")
    return "__MACOSX" in parts or parts[-1].startswith("._") or parts[-1] in (".DS_Store", "Thumbs.db", "desktop.ini")


def files_below(folder: Path, pattern: str = "*") -> tuple[list[Path], bool]:
    """Files and folders in a folder and in those within, by name, without what operating systems put there; and whether these are
    all: of more than MOST_ENTRIES the nearest are looked at. Links to folders are not followed."""
    found, left, todo = [], MOST_ENTRIES + 1, [str(folder)]
    while todo and left:
        deeper = []
        for place in todo:
            with suppress(OSError), os.scandir(place) as entries:
                looked = sorted(itertools.islice(entries, left), key=lambda entry: entry.name)
                left -= len(looked)
                deeper += [entry.path for entry in looked if entry.is_dir(follow_symlinks=False)]
                found += [Path(entry.path) for entry in looked if fnmatchcase(entry.name, pattern)]
        todo = deeper
    return _in_order(found, folder), left > 0


def files_of(folder: Path, pattern: str = "*", deep: bool = False) -> list[Path]:
    """Files and folders in a folder, and with deep in those within, by name, without what operating systems put there.

    Raises BadInput for a folder with more below it than a model or many."""
    if not deep:
        return _in_order(folder.glob(pattern), folder)
    found, whole = files_below(folder, pattern)
    if not whole:
        raise BadInput(
            f"{folder}: more than {MOST_ENTRIES} files and folders below it; give the folder that holds the models"
        )
    return found


def _in_order(found: Iterable[Path], folder: Path) -> list[Path]:
    return sorted(p for p in found if not of_a_system(p.relative_to(folder).as_posix()))


def symbols_of(folder: Path, deep: bool = False) -> list[Path]:
    """The symbols in a folder, and with deep in those within. Raises as files_of does."""
    return files_of(folder, SYMBOLS, deep)


def one_or_more(given: Any) -> list[Any]:
    """One thing, or several, as a list: nothing, a name or a path, arrays by name, or a sequence of such."""
    if given is None:
        return []
    return [given] if isinstance(given, str | os.PathLike) or hasattr(given, "keys") else list(given)


def names_in(given: Any, known: Container[str] = ()) -> list[str]:
    """Names: one, several with commas between, or a sequence of such. What is known as it stands is one name."""
    names = map(str, one_or_more(given))
    return [part for n in names for part in ([n] if n in known else [p.strip() for p in n.split(",") if p.strip()])]


def no_file(path: Any, wanted: str = "") -> str:
    """Words for a file that is not there. Where two of the name's parts are, several were given as one."""
    parts = str(path).split(",")
    if len(parts) > 1 and all(os.path.exists(part) for part in parts):
        return f"{path}: no such file; give the option once for each of {listed(parts)}"
    what = "a folder" if os.path.isdir(path) else "no such file"
    return f"{path}: {what}{wanted and '; '}{wanted}"


def file_of(path: Path) -> Path:
    """The file that a path, a prefix or a folder means. Raises BadInput."""
    if not path.exists():
        prefixed = path.with_name(f"{path.name}-symbol.json")
        if not prefixed.exists():
            raise BadInput(
                f"{path}: no such file; wanted a -symbol.json or .onnx file, an archive (.tar.gz, .zip), or the prefix of a symbol"
            )
        path = prefixed
    if path.is_dir():
        path = _file_in(path)
    if path.suffix == ".params":
        raise BadInput(f"{path}: these are parameters; give the -symbol.json file first and the parameters second")
    if not path.is_file():
        raise BadInput(f"{path}: not a regular file; wanted a -symbol.json or .onnx file, or the prefix of one")
    return path


def name_of(path: Path) -> str:
    """The name of the model in a symbol file, an ONNX file or an archive, by the file's own."""
    plain = re.sub(r"(\.tar)?(\.gz|\.tgz|\.tar|\.zip|\.mar|\.onnx|\.json)$", "", path.name)
    return plain.removesuffix("-symbol") if path.suffix == ".json" else plain


def beside(source: str | os.PathLike[str], end: str) -> Path | None:
    """The place of what a command writes of a model by default, before that is opened; None where there is no such file."""
    with suppress(BadInput, OSError):
        file = file_of(Path(source))
        return file.with_name(f"{name_of(file)}{end}")
    return None


def symbol_files(prefix: str | os.PathLike[str]) -> list[Path]:
    """The files that a symbol with parameters becomes. Raises BadInput for a prefix that names none."""
    place = Path(prefix)
    if not place.name or place.name == "..":
        raise BadInput(f"{place}: a folder; give the prefix of the files to write, such as {place / 'model'}")
    return [place.with_name(f"{place.name}{end}") for end in ("-symbol.json", "-0000.params")]


def is_onnx_file(source: Any) -> bool:
    """True for the path of an ONNX file, or of a folder that means one: nothing else holds its parameters."""
    if not isinstance(source, str | os.PathLike):
        return False
    path = Path(source)
    if path.is_dir():
        with suppress(BadInput):  # which is for who opens it to say
            path = file_of(path)
    return path.suffix == ".onnx"


def _version_in(folder: Path) -> Path | None:
    """The model of the newest version in a model's folder of a repository of Triton (``NAME/3/model.onnx``), which is the one that
    Triton serves; None in another folder."""
    numbers = [int(p.name) for p in folder.iterdir() if p.name.isdecimal() and p.name.isascii()]
    served = [folder / str(n) / "model.onnx" for n in sorted(numbers, reverse=True)]
    return next((path for path in served if path.is_file()), None)


def served_in(folder: Path) -> dict[str, Path | None]:
    """The folders in one that may be a repository of Triton, by name, with the model that it serves from there; None for those
    that it serves none from."""
    return {p.name: _version_in(p) for p in files_of(folder) if p.is_dir() and os.access(p, os.R_OK)}


def _file_in(folder: Path) -> Path:
    """The one model in a folder, which may be a repository of Triton or a model in one. Raises BadInput, naming those that there
    are."""
    found = symbols_of(folder) or files_of(folder, "*.onnx")
    if len(found) == 1:
        return found[0]
    kind = "-symbol.json files" if not found or found[0].suffix == ".json" else ".onnx files"
    if found:
        raise BadInput(
            f"{folder}: a folder with {len(found)} {kind} ({listed(p.name for p in found)}); name the one you mean"
        )
    models = {folder.name: _version_in(folder)}
    models = {n: p for n, p in (models if any(models.values()) else served_in(folder)).items() if p is not None}
    if len(models) == 1:
        return next(iter(models.values()))
    if models:
        raise BadInput(
            f"{folder}: a repository of {len(models)} models ({listed(models)}); name the one you mean, such as "
            f"{folder / next(iter(models))}"
        )
    deeper, whole = files_below(folder, SYMBOLS)
    hint = f"; below it are {listed(p.relative_to(folder).as_posix() for p in deeper)}" if deeper else ""
    hint = hint or "; name the file you mean"
    hint += "" if whole else f" (looked at {MOST_ENTRIES} files and folders, of more that are below it)"
    raise BadInput(f"{folder}: a folder with 0 {kind} and no .onnx file{hint}")


def newest_params(symbol: Path) -> Path | None:
    """``PREFIX-NNNN.params`` with the highest number beside ``PREFIX-symbol.json``, else ``PREFIX.params``, else None."""
    numbered = numbered_params(symbol)
    if numbered:
        return numbered[0]
    plain = symbol.with_name(f"{name_of(symbol)}.params")
    return plain if plain.exists() else None


def numbered_params(symbol: Path) -> list[Path]:
    """All ``PREFIX-NNNN.params`` beside ``PREFIX-symbol.json``, the highest number first."""
    prefix, numbered = re.escape(name_of(symbol)), []
    for candidate in symbol.parent.iterdir():
        match = re.fullmatch(rf"{prefix}-(\d+)\.params", candidate.name)
        if match:
            numbered.append((int(match[1]), candidate))
    return [path for _, path in sorted(numbered, reverse=True)]
