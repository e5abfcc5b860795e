"""IDX files: what MNIST comes in."""

from __future__ import annotations

import gzip
import struct
import zlib

import numpy as np

from ..core.error import FormatError
from ..formats.files import open_file


def read_idx(path: str, rank: int) -> np.ndarray:
    """The uint8 array in an IDX file, compressed or not. Raises FormatError where it is no such file."""
    try:
        with open_file(path) as stored, gzip.open(stored) if path.endswith(".gz") else stored as file:
            header = file.read(4 + 4 * rank)
            if len(header) < 4 + 4 * rank or header[:4] != bytes([0, 0, 8, rank]):
                raise FormatError(f"{path}: no IDX file of {rank}-dimensional uint8")
            shape = struct.unpack(f">{rank}I", header[4:])
            # a part at a time: the header may claim more than there is
            size, parts = int(np.prod(shape, dtype=object)), []
            while size > 0 and (part := file.read(min(size, 1 << 24))):
                parts.append(part)
                size -= len(part)
            if size or file.read(1):
                raise FormatError(f"{path}: is not as long as an array of shape {shape}")
        return np.frombuffer(b"".join(parts), np.uint8).reshape(shape)
    except FormatError:
        raise
    except (EOFError, gzip.BadGzipFile, zlib.error, ValueError) as error:  # the last: no element but absurd sizes
        raise FormatError(f"{path}: {error}; the file is damaged, fetch it again") from error
