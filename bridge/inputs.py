"""Inputs of models: shapes, ranges and names as users write them, and arrays in files."""

from __future__ import annotations

import difflib
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from hybrid.core.attrs import dtype as read_dtype
from hybrid.core.memory_budget import afford
from hybrid.core.op import Spec
from hybrid.formats.npz import LONGEST_HEADER, npy_header

from .archives import DEFLATED_AT_MOST
from .models import BadInput, Model, names_to_fill
from .paths import no_file, of_a_system

Inputs = Mapping[str, Any]
Given = Inputs | str | os.PathLike[str]
"""Inputs by name, or the file that they are in."""


class Feeds(dict[str, Any]):
    """Arrays and shapes by name, which know the files that arrays come from."""

    def __init__(self, values: Mapping[str, Any] | None = None, sources: Mapping[str, str] | None = None):
        super().__init__(values or {})
        self.sources = dict(sources or {})


def sources_of(inputs: Inputs | None) -> dict[str, str]:
    """The files that arrays come from, by name, as far as they are known."""
    return dict(inputs.sources) if isinstance(inputs, Feeds) else {}


SIZES = r"(?P<name>.+):(?P<dims>(-?\d+(,-?\d+)*)?)(:(?P<dtype>[A-Za-z]\w*))?"
"""``NAME:D1,D2,...[:DTYPE]``; names may hold colons themselves (data:0), so the text is read from its end."""


def _one_each(option: str, text: str, form: str) -> str:
    """Words for a text that holds what is for several inputs, where commas stand between sizes already; empty for any other."""
    parts = re.split(r",(?=[^,:=]+:)", text)
    if len(parts) < 2 or not all(re.fullmatch(form, part) for part in parts):
        return ""
    return f"{option} {text!r}: one input each time; give {' '.join(f'--{option} {part}' for part in parts)}"


def parse_inputs(texts: Iterable[str]) -> dict[str, Spec]:
    """``data:1,3,224,224`` or ``data:1,3,224,224:float16`` -> {"data": Spec}. Raises BadInput for all that are wrong."""
    out: dict[str, Spec] = {}
    problems = []
    for text in texts:
        match = re.fullmatch(SIZES, text)
        if several := _one_each("input", text, SIZES):
            problems.append(several)
            continue
        if match is None:
            problems.append(f"input {text!r}: wanted NAME:D1,D2,... or NAME:D1,D2,...:DTYPE, such as data:1,3,224,224")
            continue
        name = match["name"]
        shape = tuple(int(d) for d in match["dims"].split(",")) if match["dims"] else ()
        if any(d < 1 for d in shape):
            problems.append(
                f"input {text!r}: wanted sizes of 1 or more; for an axis of any size give one size here "
                f"and its name in --dynamic {name}:{next(i for i, d in enumerate(shape) if d < 1)}=batch"
            )
        elif name in out:
            problems.append(f"input {text!r}: {name} is given twice")
        try:
            out[name] = Spec(shape, read_dtype(match["dtype"]) if match["dtype"] else None)
        except ValueError as error:
            problems.append(f"input {text!r}: {error}")
    if problems:
        raise BadInput(*problems)
    return out


def parse_dynamic(texts: Iterable[str], words: Sequence[str] = ()) -> dict[str, dict[int, str]]:
    """``data:0=batch,2=height`` -> {"data": {0: "batch", 2: "height"}}. words: what else the option takes, which was taken out
    already, for whoever has misspelled it. Raises BadInput for all that are wrong."""
    out: dict[str, dict[int, str]] = {}
    problems = []
    for text in texts:
        if several := _one_each("dynamic", text, r"[^:]+:-?\d+=\w+(,-?\d+=\w+)*"):
            problems.append(several)
            continue
        if ":" not in text and (close := difflib.get_close_matches(text.lower(), words, 1)):
            problems.append(f"dynamic {text!r}: did you mean {close[0]}?")
            continue
        name, _, rest = text.rpartition(":")
        for part in rest.split(","):
            match = re.fullmatch(r"(-?\d+)=(.+)", part)
            if name and re.fullmatch(r"-?\d+", part):
                label = "batch" if part == "0" else "size"
                problems.append(
                    f"dynamic {text!r}: axis {part} has no name; give it one, such as {name}:{part}={label}"
                )
                break
            if not name or match is None or not match[2].isidentifier():
                bare = text.isidentifier() and text not in words and bool(words)
                also = "".join(f", or {word}" for word in words)
                why = f"; {' and '.join(words)} alone may stand without axes" if bare else ""
                problems.append(
                    f"dynamic {text!r}: wanted NAME:AXIS=LABEL,..., such as data:{f'1={text}' if bare else '0=batch'}{also}{why}"
                )
                break
            label = out.setdefault(name, {}).setdefault(int(match[1]), match[2])
            if label != match[2]:
                problems.append(f"dynamic {text!r}: axis {match[1]} of {name} is called {label} too, wanted one label")
    if problems:
        raise BadInput(*problems)
    return out


def parse_ranges(texts: Iterable[str]) -> dict[str, tuple[float, float]]:
    """``data:0,255`` -> {"data": (0.0, 255.0)}. Raises BadInput for all that are wrong."""
    out: dict[str, tuple[float, float]] = {}
    problems = []
    for text in texts:
        name, _, limits = text.rpartition(":")
        if several := _one_each("range", text, r"[^:]+:[^:]+"):
            problems.append(several)
            continue
        try:
            low, high = map(float, limits.split(","))
        except ValueError:
            low = high = math.nan
        if not name or not (math.isfinite(low) and math.isfinite(high) and low <= high):
            problems.append(f"range {text!r}: wanted NAME:LOW,HIGH, such as data:0,255")
        elif name in out:
            problems.append(f"range {text!r}: {name} is given twice")
        out[name] = low, high
    if problems:
        raise BadInput(*problems)
    return out


def pairs_in(texts: Iterable[str]) -> list[str]:
    """``A=B`` of options that take several, ``A=B,C=D``, one by one."""
    return [part for text in texts for part in re.split(r",(?=[^,=]+=)", text)]


def parse_names(texts: Iterable[str]) -> dict[str, str]:
    """``data=input`` -> {"data": "input"}: the first model's name for an input, and the second's. Raises BadInput for all that are
    wrong."""
    out: dict[str, str] = {}
    problems = []
    for text in pairs_in(texts):
        first, _, second = text.partition("=")
        if not first or not second:
            problems.append(f"map {text!r}: wanted NAME=NAME, the first model's and the second's, such as data=input")
        elif first in out or second in out.values():
            problems.append(f"map {text!r}: a name is given twice")
        else:
            out[first] = second
    if problems:
        raise BadInput(*problems)
    return out


def as_specs(inputs: Inputs | None) -> tuple[dict[str, Spec], dict[str, np.ndarray]]:
    """(specs, arrays) from a mapping of names to shapes, arrays or Specs."""
    specs, arrays = {}, {}
    for name, value in (inputs or {}).items():
        if isinstance(value, Spec):
            specs[name] = value
        elif (
            isinstance(value, Sequence)
            and not isinstance(value, str)
            and all(isinstance(d, int | np.integer) for d in value)
        ):
            specs[name] = Spec(tuple(int(d) for d in value))
            if any(d < 1 for d in value):
                raise BadInput(f"input {name}: got shape {tuple(value)}, wanted sizes of 1 or more")
        elif hasattr(value, "shape") or hasattr(value, "__array__"):
            arrays[name] = np.asarray(value)
            if arrays[name].dtype.kind not in "biufV":  # V: bfloat16
                raise BadInput(f"input {name}: got an array of {arrays[name].dtype}, wanted numbers")
            specs[name] = Spec(arrays[name].shape, arrays[name].dtype)
        else:
            raise BadInput(f"input {name}: got {value!r}, wanted a shape, an array or a Spec")
    return specs, arrays


def save_arrays(file: IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    """Write an .npz. Unlike np.savez, any name will do (``file`` is a keyword there)."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)


FACTS = "gluonnx"
"""The member of a recording that says where it comes from."""
MEMBER = re.compile(r"(?:(\d{1,9})/)?(inputs|outputs)/(.+)", re.DOTALL)
"""Name of a recorded array: the run's number, which may be left out where there is one, what it is, and its own name."""


DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, ValueError, OSError, EOFError, NotImplementedError)
"""Errors of reading an .npz whose bytes are others; NotImplementedError for versions and methods that do not exist."""


def is_recording(path: str | os.PathLike[str]) -> bool:
    """True for an .npz of inputs with outputs, false for any other file, a damaged one, and where there is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _recorded(name.removesuffix(".npy") for name in archive.namelist())
    except DAMAGED:
        return False


def _recorded(names: Iterable[str]) -> bool:
    return any(map(MEMBER.fullmatch, names))


def load_feeds(path: str | os.PathLike[str], names: Sequence[str]) -> Feeds:
    """Inputs by name from an .npz, also from a recording of one run; or the one input's array from a .npy. Raises BadInput, and
    OutOfMemory for what is past the budget."""
    recorded = False

    def without(held: Collection[str]) -> list[str]:
        nonlocal recorded
        recorded = _recorded(held)
        return [FACTS] if recorded else []

    arrays = _arrays(Path(path), names, without)
    if not recorded:
        return Feeds(arrays, dict.fromkeys(arrays, Path(path).name))
    runs = recorded_runs(arrays)
    if len(runs) > 1:
        raise BadInput(
            f"{path}: a recording of {len(runs)} runs, wanted inputs of one; where models are compared --expected takes all of them"
        )
    held = next(iter(runs.values()), {}).get("inputs", {})
    return Feeds(held, dict.fromkeys(held, Path(path).name))


def recorded_runs(arrays: Mapping[str, np.ndarray]) -> dict[int, dict[str, dict[str, np.ndarray]]]:
    """Arrays of a recording by the run's number, by what they are and by name; without those of other names."""
    runs: dict[int, dict[str, dict[str, np.ndarray]]] = {}
    for name, array in arrays.items():
        if match := MEMBER.fullmatch(name):
            runs.setdefault(int(match[1] or 0), {}).setdefault(match[2], {})[match[3]] = array
    return runs


def load_arrays(path: str | os.PathLike[str], names: Sequence[str], without: Sequence[str] = ()) -> Feeds:
    """Arrays by name from an .npz; or the one input's array from a .npy. Nothing is unpickled, and nothing allocated on the word
    of a header alone. without: names that are left alone. Raises BadInput, and OutOfMemory for what is past the budget."""
    arrays = _arrays(Path(path), names, lambda _: without)
    return Feeds(arrays, dict.fromkeys(arrays, Path(path).name))


def _arrays(
    path: Path, names: Sequence[str], without: Callable[[Collection[str]], Container[str]]
) -> dict[str, np.ndarray]:
    if not path.is_file():
        raise BadInput(no_file(path, f"wanted an .npz with arrays named {', '.join(names)}"))
    try:
        with open(path, "rb") as file:
            head = file.read(6)
            file.seek(0)
            if head == b"\x93NUMPY":
                if len(names) != 1:
                    raise BadInput(f"{path}: one array for {len(names)} inputs; wanted an .npz with {', '.join(names)}")
                return {names[0]: _array(file, path.stat().st_size, path.name, path)}
            if not head.startswith(b"PK"):
                raise BadInput(f"{path}: not an .npz or .npy file; it starts with {head!r}")
            with zipfile.ZipFile(file) as archive:
                if not archive.namelist():
                    raise BadInput(f"{path}: holds no arrays; wanted {', '.join(names)}")
                entries = {
                    e.filename.removesuffix(".npy"): e for e in _whole(archive, path) if not of_a_system(e.filename)
                }
                left = without(entries)
                return {name: _member(archive, e, path) for name, e in entries.items() if name not in left}
    except BadInput:
        raise
    except (MemoryError, *DAMAGED) as error:
        raise BadInput(f"{path}: damaged, or not of plain numbers ({error})") from None


def loaded(inputs: Given | None, model: Model) -> Inputs:
    """Inputs of a model by name, read where a file is given. Raises BadInput."""
    if isinstance(inputs, str | os.PathLike):
        return load_feeds(inputs, names_to_fill(model))
    return inputs or {}


def further(also: Sequence[Inputs]) -> tuple[Inputs, str]:
    """The first of further inputs, and words for where it comes from."""
    first = also[0] if also else {}
    files = dict.fromkeys(sources_of(first).values())
    return {n: a for n, a in first.items() if hasattr(a, "shape")}, ", ".join(files) or "further inputs (also)"


def in_old_names(values: Mapping[str, Any], rename: Mapping[str, str], inputs: Collection[str]) -> Mapping[str, Any]:
    """Values by name of input, of which those that are given by the name that an input is to get are by the one that it has."""
    old = {new: name for name, new in rename.items() if name in inputs and new not in inputs}
    if not any(n in old for n in values):
        return values
    both = [n for n in values if n in old and old[n] in values]
    if both:
        raise BadInput(*(f"{old[n]} and {n} are one input (rename), and both are given" for n in both))
    found = {old.get(n, n): v for n, v in values.items()}
    return (
        Feeds(found, {old.get(n, n): f for n, f in sources_of(values).items()}) if isinstance(values, Feeds) else found
    )


def _whole(archive: zipfile.ZipFile, path: Path) -> list[zipfile.ZipInfo]:
    """The members, after a look at what they claim: no more bytes than the file can hold. Raises ValueError."""
    entries, left = archive.infolist(), path.stat().st_size
    if len({e.filename for e in entries}) < len(entries):
        raise ValueError("it holds two arrays of one name")
    for entry in entries:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or entry.flag_bits & 1:
            raise ValueError(
                f"{entry.filename!r} is encrypted or compressed otherwise than np.savez_compressed does it"
            )
        left -= entry.compress_size
        most = entry.compress_size * (1 if entry.compress_type == zipfile.ZIP_STORED else DEFLATED_AT_MOST)
        if left < 0 or entry.file_size > most:
            raise ValueError(
                f"{entry.filename!r} claims {entry.file_size} bytes out of {entry.compress_size}, in a file of "
                f"{path.stat().st_size}"
            )
    return entries


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> np.ndarray:
    with archive.open(entry) as member:
        return _array(member, entry.file_size, repr(entry.filename), path)


TEXT = re.compile(rb"\x93NUMPY.{4,6}\{'descr': '[<>|=]?[US]\d+'", re.DOTALL)
"""Beginning of an .npy file of text."""


def _array(file: IO[bytes], size: int, what: str, path: Path) -> np.ndarray:
    """The array of an .npy file of so many bytes, whose header is held to these before anything is allocated. Raises BadInput for
    text, and ValueError."""
    head = file.read(min(size, LONGEST_HEADER))
    if TEXT.match(head):
        raise BadInput(f"{path}: {what} holds text, wanted numbers alone; leave it out")
    dtype, shape, order, start = npy_header(head)
    wanted = dtype.itemsize * math.prod(shape)
    if wanted != size - start:
        raise ValueError(f"{what} of {dtype}{list(shape)} takes {wanted} bytes, got {size - start}")
    afford(wanted, f"{path}: {what}")
    content = np.empty(wanted, np.uint8)
    have = len(head) - start
    content[:have] = np.frombuffer(head, np.uint8, offset=start)
    if file.readinto(memoryview(content)[have:]) != wanted - have:  # type: ignore[attr-defined]  # of every file read from
        raise ValueError(f"{what} is cut off")
    return content.view(dtype).reshape(shape, order=order)
