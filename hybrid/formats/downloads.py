"""Files that programs name by their address: found in a mirror that the user names, and fetched only when the user says so.

Two environment variables of MXNet's are heard here, and nowhere else (docs/decisions/0027-downloads.md):

- ``MXNET_HOME``: the folder of data sets and parameters, ``~/.mxnet`` without it;
- ``MXNET_GLUON_REPO``: where files that are not there come from. Without it none comes. A folder (a path or file://) is a mirror,
  and the network is not used. An address (http://, https://) is a server in the place of MXNet's, and allows the network: what a
  program gives another address of is fetched from there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ..core.error import FormatError, MissingFile, MXNetError, UnreadableFile
from .files import open_file, replacing

PUBLISHED = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/"
"""Address at which MXNet's files were published."""

_NETWORK = ("http://", "https://")
_CHUNK = 1 << 20
_PATIENCE = 60  # seconds without a byte


def data_dir() -> str:
    """Folder in which data sets and parameters are looked for: ``$MXNET_HOME``, or ``~/.mxnet``."""
    return os.environ.get("MXNET_HOME") or str(Path("~", ".mxnet").expanduser())


def repository() -> str:
    """Address of the files that MXNet published, ending in a slash: what ``$MXNET_GLUON_REPO`` says, or MXNet's own."""
    place = _mirror()
    return PUBLISHED if place is None else place


def has_mirror() -> bool:
    """True when the user names a place for files to come from."""
    return _mirror() is not None


def _mirror() -> str | None:
    """The place that the user names, as an address that ends in a slash."""
    place = os.environ.get("MXNET_GLUON_REPO")
    if not place:
        return None
    if not place.startswith((*_NETWORK, "file://")):
        if "://" in place:
            raise MXNetError(f"MXNET_GLUON_REPO={place}: wanted a folder, file://, http:// or https://")
        place = Path(place).expanduser().absolute().as_uri()
    return place.rstrip("/") + "/"


def check_sha1(filename: Any, sha1_hash: str) -> bool:
    """True when a file's SHA-1 digest is the one given in hexadecimal digits.

    Examples
    --------
    >>> from gluonnx import mx
    >>> from pathlib import Path
    >>> _ = Path("abc.txt").write_text("abc")
    >>> mx.gluon.utils.check_sha1("abc.txt", "a9993e364706816aba3e25717850c26c9cd0d89d")
    True
    """
    digest = hashlib.sha1()
    with open(filename, "rb") as file:
        while block := file.read(_CHUNK):
            digest.update(block)
    return digest.hexdigest() == sha1_hash


def obtain(
    url: str,
    target: str,
    sha1_hash: str | None = None,
    attempts: int = 5,
    verify_ssl: bool = True,
    missing: str | None = None,
) -> None:
    """Put the file of an address at target, whole and with the right digest, or not at all.

    missing: the error's first words, which say what is not where; target by default. Raises MissingFile where the user has named no
    mirror or it lacks the file, FormatError for other content than sha1_hash says, UnreadableFile where a server does not answer
    as it should; what comes by the network is tried ``attempts`` times."""
    sources = _sources(url)
    found = next((s for s in sources if s.startswith(_NETWORK) or os.path.isfile(s)), None)
    if found is None:
        digest = f" (SHA-1 {sha1_hash})" if sha1_hash else ""
        raise MissingFile(_refusal(url, missing or f"{os.path.abspath(target)}{digest} is not there", sources))
    os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
    if not found.startswith(_NETWORK):
        with open_file(found) as content:
            _store(content, os.stat(found).st_size, found, target, sha1_hash)
        return
    for left in range(max(attempts, 1) - 1, -1, -1):
        try:
            with _opened(found, verify_ssl) as (content, size):
                _store(content, size, found, target, sha1_hash)
            return
        except (FormatError, UnreadableFile):
            if not left:
                raise


def _sources(url: str) -> list[str]:
    """Places of an address, in the order in which they are looked at: paths, or one address on the network."""
    mirror = _mirror()
    if url.startswith("file://"):
        return [_path(url)]
    if mirror is None or not url.startswith(_NETWORK):
        return []
    if url.startswith(PUBLISHED):
        url = mirror + url.removeprefix(PUBLISHED)
    if url.startswith("file://"):
        return [_path(url)]
    if mirror.startswith(_NETWORK):
        return [url]
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(url)
    inside = unquote(parts.path).lstrip("/")
    if ".." in inside.split("/"):
        return []
    return [os.path.join(_path(mirror), *prefix, inside) for prefix in ((parts.netloc,), ())]


def _path(url: str) -> str:
    """The path that a file:// address stands for."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    return url2pathname(urlsplit(url).path)


def _refusal(url: str, missing: str, sources: list[str]) -> str:
    if sources:
        return f"{missing}, and neither is {' nor '.join(sources)}; put the file at one of these places"
    return (
        f"{missing}, and {url} is not downloaded: nothing comes by the network unless the user says so. Put the file there, or set "
        "MXNET_GLUON_REPO to a folder that has it, or to the address of a server, which allows the network"
    )


@contextmanager
def _opened(url: str, verify_ssl: bool) -> Iterator[tuple[IO[bytes], int | None]]:
    """The content of an address and its length, if the server says it. Raises UnreadableFile."""
    import ssl
    from urllib.request import HTTPSHandler, Request, build_opener

    context = ssl.create_default_context()
    if not verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    opener = build_opener(HTTPSHandler(context=context))  # follows no redirection to a local file
    with _told_of(url):
        answer = opener.open(Request(url, headers={"User-Agent": "gluonnx"}), timeout=_PATIENCE)
    with answer:
        if answer.status != 200:
            raise UnreadableFile(f"{url}: the server answered {answer.status}")
        length = answer.headers.get("Content-Length")
        yield answer, int(length) if length and length.isdigit() else None


@contextmanager
def _told_of(source: str) -> Iterator[None]:
    """Turn what goes wrong with a connection into an UnreadableFile."""
    from http.client import HTTPException

    try:
        yield
    except MXNetError:
        raise
    except (
        OSError,
        HTTPException,
        ValueError,
    ) as error:  # URLError is an OSError, an address that is none a ValueError
        raise UnreadableFile(f"{source}: {error}; try again, or put the file there yourself") from error


def _store(content: IO[bytes], size: int | None, source: str, target: str, sha1_hash: str | None) -> None:
    """Write a stream to a file that appears once it is whole. Raises FormatError where it is not what it should be."""
    found, count = hashlib.sha1(), 0
    with replacing(target) as file, _progress(source, size) as show:
        for block in _blocks(content, source):
            file.write(block)
            found.update(block)
            show(count := count + len(block))
        if size is not None and count != size:
            raise FormatError(f"{source}: got {count} of {size} bytes; the file was cut off, fetch it again")
        if sha1_hash and found.hexdigest() != sha1_hash:
            raise FormatError(
                f"{source}: its SHA-1 is {found.hexdigest()}, wanted {sha1_hash}: damaged, or not the file that was published"
            )


def _blocks(content: IO[bytes], source: str) -> Iterator[bytes]:
    while True:
        with _told_of(source):
            block = content.read(_CHUNK)
        if not block:
            return
        yield block


@contextmanager
def _progress(source: str, size: int | None) -> Iterator[Callable[[int], None]]:
    """A function that shows how much has come, where somebody looks: on a terminal."""
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield lambda count: None
        return
    name = source.rpartition("/")[2]

    def show(count: int) -> None:
        share = f" {100 * count // size:3d}% of {size / 1e6:.1f} MB" if size else f" {count / 1e6:.1f} MB"
        stream.write(f"\r{name}{share}")
        stream.flush()

    try:
        yield show
    finally:
        stream.write("\n")


def download(
    url: str,
    path: str | None = None,
    overwrite: bool = False,
    sha1_hash: str | None = None,
    retries: int = 5,
    verify_ssl: bool = True,
) -> str:
    """The path of the file of an address, which is fetched unless it is there with the right digest, and the user allows it.

    path: the file or the folder to put it in, the current one by default. overwrite: fetch it in any case. Addresses of files are
    copied; those on the network need the environment variable MXNET_GLUON_REPO, see this module. Raises AssertionError for
    arguments that make no sense, and what obtain raises.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import pathlib
    >>> _ = pathlib.Path("abc.txt").write_text("abc")
    >>> address = pathlib.Path("abc.txt").resolve().as_uri()
    >>> mx.gluon.utils.download(address, path="copy.txt")
    'copy.txt'
    """
    name = url.split("/")[-1]
    if path is None and not name:
        raise AssertionError(f"download: {url} does not end in a file name; set path")
    if retries < 0:
        raise AssertionError(f"Number of retries should be at least 0, currently it's {retries}")
    target = name if path is None else os.path.expanduser(path)
    if path is not None and os.path.isdir(target):
        target = os.path.join(target, name)
    if not verify_ssl:
        warnings.warn("verify_ssl=False: nobody checks that the server is the one it says it is", stacklevel=2)
    if overwrite or not os.path.exists(target) or (sha1_hash and not check_sha1(target, sha1_hash)):
        obtain(url, target, sha1_hash, retries, verify_ssl)
    return target


def unpack(archive: str | os.PathLike[str], folder: str | os.PathLike[str]) -> None:
    """Unpack a zip archive into a folder. Raises FormatError for what is none and for members that would lie outside of it."""
    import zipfile
    import zlib

    root = Path(folder).resolve()
    try:
        with zipfile.ZipFile(archive) as opened:
            members = opened.infolist()
            places = [(root / member.filename).resolve() for member in members]
            for member, place in zip(members, places):
                if not place.is_relative_to(root):
                    raise FormatError(
                        f"{archive}: holds {member.filename!r}, which lies outside of {folder}; do not trust it"
                    )
            for member, place in zip(members, places):
                if not member.is_dir():
                    place.parent.mkdir(parents=True, exist_ok=True)
                    with opened.open(member) as source, replacing(place) as file:
                        shutil.copyfileobj(source, file)
    except (zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise FormatError(f"{archive}: {error}; the archive is damaged, fetch it again") from error
