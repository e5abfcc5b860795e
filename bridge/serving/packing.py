"""Archives of files, the same bytes for the same files: no times, no owners."""

from __future__ import annotations

import gzip
import shutil
import tarfile
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import IO

from hybrid.formats.files import open_file

PIECE = 1 << 20
MODE = 0o644


def tarred(file: IO[bytes], files: Mapping[str, bytes | Path]) -> None:
    """Write a .tar.gz archive of files by name."""
    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for name in sorted(files):
            info, content = tarfile.TarInfo(name), files[name]
            info.mode = MODE
            info.size = len(content) if isinstance(content, bytes) else content.stat().st_size
            with _opened(content) as source:
                archive.addfile(info, source)


def zipped(file: IO[bytes], files: Mapping[str, bytes | Path]) -> None:
    """Write a .zip archive of files by name."""
    with zipfile.ZipFile(file, "w") as archive:
        for name in sorted(files):
            info, content = zipfile.ZipInfo(name), files[name]
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, MODE << 16
            info.file_size = len(content) if isinstance(content, bytes) else content.stat().st_size
            with _opened(content) as source, archive.open(info, "w") as member:
                shutil.copyfileobj(source, member, PIECE)


def _opened(content: bytes | Path) -> IO[bytes]:
    return BytesIO(content) if isinstance(content, bytes) else open_file(content)
