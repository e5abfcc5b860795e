"""Archives that models come in: SageMaker's model.tar.gz, .tgz, .tar, .zip and .mar. Read without trust: no member lands outside,
none is a link, and nothing takes more room than the memory budget."""

from __future__ import annotations

import functools
import gzip
import json
import lzma
import os
import re
import shutil
import stat
import struct
import tarfile
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Any

from hybrid.core.memory_budget import afford
from hybrid.formats.files import replacing

from .paths import BadInput, files_of, listed, of_a_system, symbols_of
from .serving.package import TEMPLATES, template

MOST_MEMBERS = 10_000
PIECE = 1 << 20
LARGEST_NOTE = 1 << 20
"""Bytes of a file of hyperparameters, or of a header of a tar archive; a larger one is something else."""
DEFLATED_AT_MOST = 1032
"""Bytes that one byte of DEFLATE can become: 258 for two bits (RFC 1951), and a block has a header too."""
_BROKEN = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, gzip.BadGzipFile, struct.error, lzma.LZMAError),
    *(EOFError, NotImplementedError, ValueError, UnicodeError),
)
_WANTED = (".json", ".params", ".onnx")
"""Ends of names of members that are looked at; others (logs, labels) are passed over, and of scripts the names are kept."""


@functools.cache
def _own() -> frozenset[str]:
    """Names of scripts that deploy puts beside a model; what they do is what the model's file says."""
    return frozenset(p.name.removesuffix(".txt") for p in files_of(TEMPLATES, "*.py.txt"))


def _is_own(script: Path) -> bool:
    """True for a script that is as deploy writes it."""
    return script.name in _own() and script.is_file() and script.read_bytes() == template(script.name)


def is_archive(path: Path) -> bool:
    """True for a tar file, compressed or not, and for a zip file, whatever its name."""
    with open(path, "rb") as file:
        head = file.read(265)
    return head[:2] == b"\x1f\x8b" or head[:4] == b"PK\x03\x04" or head[257:262] == b"ustar"


class Unpacked:
    """A scratch folder with the members of an archive that may belong to a model, which is there for as long as this object is."""

    def __init__(self, path: Path):
        """Raises BadInput, and OutOfMemory for what is past the memory budget."""
        self.path = path
        self.folder = Path(tempfile.mkdtemp(prefix="gluonnx-"))
        self.close = weakref.finalize(self, _remove, self.folder, os.getpid())
        """Removes the folder."""
        self.scripts: list[str] = []
        """Names of the members that are programs in Python, which nothing here runs; without those of deploy, as they are."""
        try:
            self._unpack(self._is_wanted)
            self.scripts = [name for name in self.scripts if not _is_own(self.folder / name)]
        except BaseException:
            self.close()
            raise

    def _is_wanted(self, name: str) -> bool:
        if of_a_system(name):
            return False
        if name.endswith(".py"):
            self.scripts.append(str(PurePosixPath(name)))
        return name.endswith(_WANTED) or PurePosixPath(name).name in _own()

    @property
    def notes(self) -> tuple[str, ...]:
        """A remark on the scripts in it: what these do around the network is no part of the network."""
        if not self.scripts:
            return ()
        return (
            f"the archive holds {listed(sorted(self.scripts), 3)}: what a script does around the network (pre-processing, softmax, "
            "names of classes) is not read, and not converted; look into it, and where it does something say the same to "
            "convert or deploy: --resize, --unit, --mean, --std, --softmax, --labels",
        )

    def add(self, names: Collection[str]) -> None:
        """Unpack members by their names, which have no end of those that are looked at: weights that lie beside an ONNX model."""
        self._unpack(lambda name: str(PurePosixPath(name)) in names)

    def _unpack(self, wanted: Callable[[str], bool]) -> None:
        with open(self.path, "rb") as file:
            head = file.read(4)
            file.seek(0)
            unpack = _unzip if head == b"PK\x03\x04" else _untar
            try:
                unpack(file, self.path, self.folder, head[:2] == b"\x1f\x8b", wanted)
            except BadInput:
                raise
            except _BROKEN as error:
                raise BadInput(f"{self.path}: a damaged archive, or none ({error}); fetch it again") from None

    def model(self) -> Path:
        """The one symbol in it, or, where there is none, the one ONNX model. Raises BadInput, which says what there is instead."""
        symbols = symbols_of(self.folder, deep=True)
        found = symbols or files_of(self.folder, "*.onnx", deep=True)
        if len(found) == 1:
            return found[0]
        names = [p.relative_to(self.folder).as_posix() for p in found]
        if found:
            what = "symbols" if symbols else "ONNX models"
            raise BadInput(
                f"{self.path}: holds {len(found)} {what} ({listed(names)}); unpack it and give the one you mean"
            )
        others = [p.relative_to(self.folder).as_posix() for p in files_of(self.folder, deep=True) if p.is_file()]
        what = f"holds {listed(others)}" if others else "holds no .json and no .params file"
        raise BadInput(
            f"{self.path}: {what}, wanted a -symbol.json file with its .params (as hybridize and export write them), or an ONNX "
            "model"
        )


def _remove(folder: Path, process: int) -> None:
    """Remove a scratch folder, in the process that made it: copies of it end by themselves."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _place(name: str, folder: Path, archive: Path, taken: set[str]) -> Path:
    """Place of a member. Raises BadInput for one that would land elsewhere, or that is there twice."""
    pure = PurePosixPath(name.replace("\\", "/"))
    if pure.is_absolute() or ".." in pure.parts or re.match(r"[A-Za-z]:", name) or "\0" in name or not pure.parts:
        raise BadInput(f"{archive}: its member {name!r} would be written outside of the folder; unpacked nothing")
    if str(pure) in taken:
        raise BadInput(f"{archive}: holds {name!r} twice")
    taken.add(str(pure))
    if len(taken) > MOST_MEMBERS:
        raise BadInput(f"{archive}: holds more than {MOST_MEMBERS} members, wanted a model")
    return folder / pure


class _Member(tarfile.TarInfo):
    """A header, whose names and notes are held to a size before they are read."""

    @classmethod
    def frombuf(cls, buf: bytes, encoding: str, errors: str) -> _Member:
        found = super().frombuf(buf, encoding, errors)  # type: ignore[arg-type]  # of bytes, in older stubs too
        if found.size < 0 or (found.type not in tarfile.REGULAR_TYPES and found.size > LARGEST_NOTE):
            raise tarfile.HeaderError(f"a header of {found.size} bytes")
        return found


def _untar(file: IO[bytes], archive: Path, folder: Path, compressed: bool, wanted: Callable[[str], bool]) -> None:
    taken: set[str] = set()
    total = 0
    try:
        opened = tarfile.open(fileobj=file, mode="r|gz" if compressed else "r|", tarinfo=_Member)  # noqa: SIM115  below
    except tarfile.ReadError:
        raise BadInput(
            f"{archive}: gzip, and no tar archive inside; unpack it (gunzip) and give what it holds"
        ) from None
    with opened:
        for member in opened:
            if member.isdir():
                continue
            if not member.isreg() or member.issparse():
                raise BadInput(
                    f"{archive}: its member {member.name!r} is a link or no plain file, wanted plain files only"
                )
            place = _place(member.name, folder, archive, taken)
            total += member.size
            afford(total, f"{archive}: what it holds up to {member.name}")
            if not wanted(member.name):
                continue
            source = opened.extractfile(member)
            assert source is not None
            _copy(source, place, member.size, archive)


def _unzip(file: IO[bytes], archive: Path, folder: Path, _compressed: bool, wanted: Callable[[str], bool]) -> None:
    taken: set[str] = set()
    total, left = 0, archive.stat().st_size
    with zipfile.ZipFile(file) as opened:
        for entry in opened.infolist():
            if entry.is_dir():
                continue
            name = entry.filename
            place = _place(name, folder, archive, taken)
            if stat.S_ISLNK(entry.external_attr >> 16):
                raise BadInput(f"{archive}: its member {name!r} is a link or no plain file, wanted plain files only")
            if entry.flag_bits & 1:
                raise BadInput(f"{archive}: its member {name!r} is encrypted; unpack it and give the -symbol.json file")
            left -= entry.compress_size
            if left < 0 or entry.file_size > entry.compress_size * DEFLATED_AT_MOST:
                raise BadInput(
                    f"{archive}: its member {name!r} claims {entry.file_size} bytes out of {entry.compress_size}; "
                    "the archive is damaged"
                )
            total += entry.file_size
            afford(total, f"{archive}: what it holds up to {name}")
            if wanted(name):
                with opened.open(entry) as source:
                    _copy(source, place, entry.file_size, archive)


def _copy(source: IO[bytes], place: Path, size: int, archive: Path) -> None:
    """Write what a member holds, piece by piece: a size that its header claims is room for nothing."""
    place.parent.mkdir(parents=True, exist_ok=True)
    done = 0
    with replacing(place) as out:
        while piece := source.read(min(PIECE, size - done)):
            out.write(piece)
            done += len(piece)
    if done != size:
        raise BadInput(f"{archive}: its member {place.name!r} is cut off: {done} of {size} bytes; fetch it again")


# -- what stands beside a model ------------------------------------------------------------------------------------------


def sizes_beside(folder: Path) -> tuple[dict[str, tuple[int, ...]], tuple[str, ...], dict[str, str]]:
    """Shapes of inputs by name, as SageMaker (model-shapes.json; what pictures were resized to, in hyperparams.json) and MXNet's
    model servers (signature.json) write them beside a symbol; words for files, and shapes in them, that are not taken; and the
    file that tells each shape."""
    found: dict[str, tuple[int, ...]] = {}
    told_by: dict[str, str] = {}
    faults: list[str] = []
    for name, (read, wanted) in BESIDE.items():
        path = folder / name
        if not path.is_file():
            continue
        try:
            if path.stat().st_size > LARGEST_NOTE:
                raise ValueError(f"{path.stat().st_size} bytes")
            content = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError, OSError) as error:
            faults.append(
                f"{name}: cannot be read ({_why(error)}), wanted JSON such as {wanted}; no shape is taken from it"
            )
            continue
        try:
            shapes = read(content)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            faults.append(
                f"{name}: it holds something else ({_why(error)}), wanted {wanted}; no shape is taken from it"
            )
            continue
        for key, shape in shapes.items():
            if shape and all(0 < d < 1 << 31 for d in shape):
                found[key] = shape
                told_by[key] = name
            else:
                faults.append(f"{name}: it gives {key} the shape {shape}, wanted positive sizes; it is not taken")
    return found, tuple(faults), told_by


def _why(error: BaseException) -> str:
    return f"no {error}" if isinstance(error, KeyError) else str(error).splitlines()[0]


def _shapes(content: Any) -> dict[str, tuple[int, ...]]:
    return {str(each["name"]): tuple(int(d) or 1 for d in each["shape"]) for each in content}


def _signature(content: Any) -> dict[str, tuple[int, ...]]:
    return {str(each["data_name"]): tuple(int(d) or 1 for d in each["data_shape"]) for each in content["inputs"]}


def _hyperparameters(content: Any) -> dict[str, tuple[int, ...]]:
    """``image_shape`` is "3,224,224" (image classification) or "300" (object detection), and ``resize_width``, with or without
    ``resize_height``, the side of a square otherwise; other algorithms have none of them."""
    if not isinstance(content, dict):
        return {}
    if "image_shape" not in content and "resize_width" in content:
        wide = int(content["resize_width"])
        return {"data": (1, 3, int(content.get("resize_height", wide)), wide)}
    if "image_shape" not in content:
        return {}
    text = str(content["image_shape"])
    sizes = [int(d) for d in text.strip("()[] ").split(",")]
    if len(sizes) == 1:
        sizes = [3, sizes[0], sizes[0]]
    if len(sizes) != 3:
        raise ValueError(f"image_shape is {text[:80]}")
    return {"data": (1, *sizes)}


BESIDE: Mapping[str, tuple[Callable[[Any], Mapping[str, tuple[int, ...]]], str]] = {
    "hyperparams.json": (_hyperparameters, '{"image_shape": "3,224,224"}'),
    "signature.json": (_signature, '{"inputs": [{"data_name": "data", "data_shape": [0, 3, 224, 224]}]}'),
    "model-shapes.json": (_shapes, '[{"name": "data", "shape": [1, 3, 224, 224]}]'),
}
"""Files with shapes of inputs that may stand beside a symbol, what reads them, and what they look like."""
