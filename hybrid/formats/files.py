"""The one place that opens files for writing, and what all readers of files share.

A file is written beside its place, under a name of its own, and renamed once it is whole on disk: whoever looks, and whenever
the process is killed, finds the old file or the new one, never a part. Files that belong together (a symbol and its
parameters, a model and its external data, records and their index) are first all written and then renamed one right after the
other; pairs.py notices when a process was killed between the two.

What a killed process leaves is called ``.gluonnx-PID-XXXXXXXX.part``. It is removed when the next file is written to that
folder, and only if no process of that number runs, nobody holds its lock (which a process in another container would), and it is
over a minute old. A second file of a pair, which a process was killed before renaming, is called
``.gluonnx-PID-XXXXXXXX-PLACE.whole``: it may be the only one that fits the first, which is in its place already. So it stays until
the pair has been written anew.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any

from ..core.error import FormatError, MissingFile, MXNetError, UnreadableFile

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # a module elsewhere

PART = re.compile(r"\.gluonnx-(\d{1,9})-[0-9a-f]{8}\.part")
WAITING = re.compile(r"\.gluonnx-(\d{1,9})-[0-9a-f]{8}-([0-9a-f]{16})\.whole")
OLD = 60  # seconds; a process may have made its part and not yet locked it
OLD_WITHOUT_LOCKS = 24 * 3600
REPLACES_MAPPED = os.name != "nt"
"""True where a file that a process has mapped can be replaced; Windows refuses it, and what was loaded is often saved there."""

# -- writing ----------------------------------------------------------------------------------------------------------------


class Replacement:
    """A file to be: ``file`` is written to, ``publish`` puts it in its place, ``discard`` forgets it.

    path: where it will stand; the target of a link rather than the link. What stands there and is no regular file (a pipe, a
    device) is written to directly, for a rename would remove it. Raises OSError, naming path, where nothing can be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.realpath(path)
        self._part: str | None = None
        self.pid = os.getpid()
        if os.path.isdir(self.path):
            raise IsADirectoryError(errno.EISDIR, "is a folder, wanted the name of a file to write", os.fspath(path))
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            self.file: IO[bytes] = open(self.path, "wb")  # noqa: SIM115  finish and discard close it
            return
        folder = os.path.dirname(self.path)
        _sweep(folder)
        part = os.path.join(folder, f"{_unique_name()}.part")
        try:
            self.file = open(part, "xb")  # noqa: SIM115  as above
        except OSError as error:
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        self._part = part
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _finish(self) -> None:
        """Bring what was written to the disk: a rename can reach it before the content does, and then power fails."""
        if os.getpid() != self.pid:
            raise MXNetError(f"{self.path}: was opened by process {self.pid}, and only that can put it in its place")
        if self._part is None:
            self.file.close()
            return
        self.file.flush()
        os.fsync(self.file.fileno())
        if os.path.exists(self.path):
            import shutil

            shutil.copymode(self.path, self._part)
        if fcntl is None:
            self.file.close()  # Windows renames no open file; elsewhere it stays locked until it is in its place

    def _move(self) -> list[tuple[str, str]]:
        """The rename that is left to do, if any."""
        return [] if self._part is None else [(self._part, self.path)]

    def discard(self) -> None:
        """Remove what was written; does nothing once it is published. In a fork it only lets go of it."""
        if os.getpid() != self.pid:
            if not self.file.closed:
                os.close(self.file.fileno())  # so that what is still in the buffer is not written twice
                with suppress(OSError):
                    self.file.close()
            return
        with suppress(OSError):
            self.file.close()
        if self._part is not None:
            with suppress(OSError):
                os.remove(self._part)
            self._part = None


def publish(*made: Replacement) -> None:
    """Put files in their places, one right after the other, once all of them are whole. On any error none is left behind."""
    try:
        for one in made:
            one._finish()
        _move_all([move for one in made for move in one._move()])
        for one in made:
            one._part = None
            one.file.close()
    except BaseException:
        for one in made:
            one.discard()
        raise


def _move_all(moves: Sequence[tuple[str, str]]) -> None:
    """Rename whole files, (from, to) each, as one: on an error before the first is in its place none is, after it all are that can
    be. From before the first rename to after the last the others bear a name of their own (see the top), so that none is lost."""
    waiting = [(source, _waiting(place), place) for source, place in moves[1:]]
    try:
        for source, name, _ in waiting:
            os.replace(source, name)
        for source, place in moves[:1]:
            os.replace(source, place)
        for _, name, place in waiting:
            os.replace(name, place)
    except BaseException:  # an interruption by the user as well
        begun = not os.path.exists(moves[0][0])
        for source, name, place in waiting:
            with suppress(OSError):
                os.replace(name, place if begun else source)
        raise
    for _, _, place in waiting:
        _forget_others(place)


def _unique_name() -> str:
    return f".gluonnx-{os.getpid()}-{os.urandom(4).hex()}"


def _place_id(place: str) -> str:
    import hashlib  # here, as shutil below: who writes nothing need not wait for them

    return hashlib.blake2b(os.fsencode(os.path.basename(place)), digest_size=8).hexdigest()


def _waiting(place: str) -> str:
    return os.path.join(os.path.dirname(place), f"{_unique_name()}-{_place_id(place)}.whole")


def _forget_others(place: str) -> None:
    """Remove what killed processes were to put where a newer file stands by now, together with what belongs to it."""
    for path, match in _found(os.path.dirname(place), WAITING):
        if match[2] == _place_id(place):
            _remove_left(path, int(match[1]))


@contextmanager
def replacing_all(*paths: str | os.PathLike[str]) -> Iterator[list[IO[bytes]]]:
    """Files that appear in their places together when the block ends without an error, and otherwise not at all."""
    made: list[Replacement] = []
    try:
        made.extend(map(Replacement, paths))
        yield [one.file for one in made]
        publish(*made)
    except BaseException:
        for one in made:
            one.discard()
        raise


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file that appears at path, complete, when the block ends without an error, and otherwise not at all."""
    with replacing_all(path) as (file,):
        yield file


def write(path: str | os.PathLike[str], content: bytes | str | Iterable[Any]) -> None:
    """Write a whole file: bytes, text (as UTF-8), or buffers one after the other."""
    if isinstance(content, str):
        content = content.encode()
    with replacing(path) as file:
        file.writelines([content] if isinstance(content, bytes) else content)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError where a file could not be written, of no more than a byte. What stands there stays."""
    probe = Replacement(path)
    try:
        if probe._part is not None:  # what goes to a pipe cannot be taken back
            probe.file.write(b"0")
            probe.file.flush()
    finally:
        probe.discard()


def append(path: str | os.PathLike[str], content: bytes) -> None:
    """Add to the end of a file that nobody sees yet: one in a scratch folder."""
    with open(path, "ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def move(*pairs: tuple[str | os.PathLike[str], str | os.PathLike[str]]) -> None:
    """Move finished files to their places, (from, to) each, replacing what stands there, one right after the other.

    From another file system they are first copied beside their places."""
    places = [(os.fspath(source), os.path.realpath(target)) for source, target in pairs]
    if all(os.stat(source).st_dev == os.stat(os.path.dirname(place)).st_dev for source, place in places):
        _move_all(places)
        return
    import shutil

    with replacing_all(*(place for _, place in places)) as files:
        for (source, _), file in zip(places, files):
            with open(source, "rb") as content:
                shutil.copyfileobj(content, file, 1 << 20)
    for source, _ in places:
        os.remove(source)


@contextmanager
def scratch(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder inside a folder, for files that are to be moved to their places in that one; removed at the end."""
    _sweep(os.fspath(folder))
    path = Path(folder, f"{_unique_name()}.part")
    path.mkdir()
    handle = None
    try:
        if fcntl is not None:
            with suppress(OSError):
                handle = os.open(path, os.O_RDONLY)
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield path
    finally:
        if handle is not None:
            os.close(handle)
        _remove_folder(path)


def _remove_folder(path: str | Path) -> None:
    import shutil

    shutil.rmtree(path, ignore_errors=True)


def _remove(path: str) -> None:
    if os.path.isdir(path):
        _remove_folder(path)
    else:
        os.remove(path)


def find_finished(folder: str | os.PathLike[str], fits: Callable[[str], bool]) -> str | None:
    """The file in a folder for which ``fits``: the second one of a pair, which a process was killed before renaming."""
    return next((path for path, _ in _found(os.fspath(folder), WAITING) if fits(path)), None)


def _found(folder: str, pattern: re.Pattern[str]) -> list[tuple[str, re.Match[str]]]:
    try:
        with os.scandir(folder or ".") as entries:
            return [(entry.path, match) for entry in entries if (match := pattern.fullmatch(entry.name))]
    except OSError:
        return []  # no such folder, or one that may not be listed: opening the file says more


def _sweep(folder: str) -> None:
    """Remove the parts, and folders of them, that killed processes left in a folder."""
    for path, match in _found(folder, PART):
        _remove_left(path, int(match[1]), OLD)


def _remove_left(path: str, pid: int, age: float = 0) -> None:
    """Remove what a process of that number left, if it is so many seconds old, that process is gone, and nobody holds it."""
    with suppress(OSError):
        old = time.time() - os.stat(path).st_mtime
        if fcntl is None:
            if old > OLD_WITHOUT_LOCKS:
                _remove(path)
        elif old > age and not _runs(pid):
            handle = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(path)
            finally:
                os.close(handle)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


# -- reading ----------------------------------------------------------------------------------------------------------------


def open_file(path: Any) -> IO[bytes]:
    """A file to read from. Raises MissingFile when there is none of that name, UnreadableFile when it cannot be opened."""
    try:
        return open(path, "rb")
    except FileNotFoundError as error:
        raise MissingFile(f"cannot read {os.fspath(path)!r}: there is no such file") from error
    except OSError as error:
        raise UnreadableFile(f"cannot read {os.fspath(path)!r}: {error.strerror}") from error
    except ValueError as error:  # a zero byte in the name
        raise MissingFile(f"cannot read {os.fspath(path)!r}: {error}") from error


def read(path: Any) -> bytes:
    """All bytes of a file. Raises MissingFile."""
    with open_file(path) as file:
        return file.read()


@contextmanager
def locate_errors(place: str) -> Iterator[None]:
    """Say in which file, and where in it, what a FormatError speaks of stands."""
    try:
        yield
    except FormatError as error:
        raise FormatError(f"{place}: {error}") from error


def lines(path: Any) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of every line of a UTF-8 file, with its line end.

    Raises MissingFile, and FormatError that names the line that is not text."""
    with open_file(path) as file, TextIOWrapper(file, encoding="utf-8", errors="surrogateescape") as text:
        for number, line in enumerate(text, 1):
            if not line.isascii():
                try:
                    line.encode()
                except UnicodeEncodeError as problem:
                    byte = ord(line[problem.start]) - 0xDC00
                    raise FormatError(
                        f"{os.fspath(path)}, line {number}: got byte {byte:#04x} at character {problem.start + 1}, wanted "
                        "text in UTF-8; the file is damaged, no text, or in another encoding"
                    ) from None
            yield number, line
