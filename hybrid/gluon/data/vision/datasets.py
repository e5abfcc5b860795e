"""Datasets of images from local files. Nothing is downloaded: where a file is missing the error says what belongs where."""

from __future__ import annotations

import os
import tarfile
import warnings
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .... import ndarray as nd
from .... import recordio
from ....core.error import FormatError
from ....eager.faces import dressed
from ....formats.files import locate_errors, read
from ....image import imdecode, imread
from ....io.idx import read_idx
from ..dataset import Dataset, RecordFileDataset, _Labelled

__all__ = ["CIFAR10", "CIFAR100", "MNIST", "FashionMNIST", "ImageFolderDataset", "ImageRecordDataset"]

Transform = Callable[[Any, Any], Any]


class _InMemory(_Labelled):
    """Images (NDArray, uint8) and labels (int32) read at once from files under root."""

    def __init__(self, root: Any, train: bool, transform: Transform | None):
        self._root = os.path.expanduser(root)
        self._train = train
        self._transform = transform
        pixels, self._label = self._read()
        self._data = dressed(nd.array(pixels, dtype=pixels.dtype))

    def _read(self) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError


class MNIST(_InMemory):
    """Handwritten digits: 60,000 images (28, 28, 1) to train on, 10,000 to test.

    root holds train-images-idx3-ubyte and the three other files, as they are or as .gz. transform(image, label) is called on
    every example. Raises FileNotFoundError that names a missing file, FormatError for a broken one."""

    def __init__(
        self,
        root: Any = "~/.mxnet/datasets/mnist",
        train: bool = True,
        transform: Transform | None = None,
    ):
        super().__init__(root, train, transform)

    def _read(self) -> tuple[np.ndarray, np.ndarray]:
        part = "train" if self._train else "t10k"
        images = read_idx(self._find(f"{part}-images-idx3-ubyte"), 3)
        labels = read_idx(self._find(f"{part}-labels-idx1-ubyte"), 1)
        if len(images) != len(labels):
            raise FormatError(f"{self._root}: {len(images)} images, but {len(labels)} labels")
        return images[..., None], labels.astype(np.int32)

    def _find(self, name: str) -> str:
        for candidate in (f"{name}.gz", name):
            path = os.path.join(self._root, candidate)
            if os.path.exists(path):
                return path
        raise self._missing(f"{name}.gz", name)


class FashionMNIST(MNIST):
    """Articles of clothing, in the files and shapes of MNIST."""

    def __init__(
        self,
        root: Any = "~/.mxnet/datasets/fashion-mnist",
        train: bool = True,
        transform: Transform | None = None,
    ):
        super().__init__(root, train, transform)


class CIFAR10(_InMemory):
    """Small photographs (32, 32, 3) of 10 kinds: 50,000 to train on, 10,000 to test.

    root holds data_batch_1.bin to data_batch_5.bin and test_batch.bin, or the archive cifar-10-binary.tar.gz. transform(image,
    label) is called on every example. Raises FileNotFoundError that names a missing file, FormatError for a broken one."""

    _archive = "cifar-10-binary.tar.gz"
    _files = (tuple(f"data_batch_{i}.bin" for i in range(1, 6)), ("test_batch.bin",))
    _labels, _label = 1, 0

    def __init__(
        self,
        root: Any = "~/.mxnet/datasets/cifar10",
        train: bool = True,
        transform: Transform | None = None,
    ):
        super().__init__(root, train, transform)

    def _read(self) -> tuple[np.ndarray, np.ndarray]:
        names = self._files[0 if self._train else 1]
        width = self._labels + 3 * 32 * 32
        rows = []
        for name, content in zip(names, self._contents(names)):
            if not content or len(content) % width:
                raise FormatError(f"{self._root}: {name} has {len(content)} bytes, which is no multiple of {width}")
            rows.append(np.frombuffer(content, np.uint8).reshape(-1, width))
        table = np.concatenate(rows)
        images = table[:, self._labels :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return np.ascontiguousarray(images), table[:, self._label].astype(np.int32)

    def _contents(self, names: tuple[str, ...]) -> list[bytes]:
        """Contents of the files, those beside the archive first."""
        paths = [os.path.join(self._root, name) for name in names]
        if all(map(os.path.exists, paths)):
            return [read(path) for path in paths]
        archive = os.path.join(self._root, self._archive)
        if not os.path.exists(archive):
            raise self._missing(*[n for n, p in zip(names, paths) if not os.path.exists(p)][:1], self._archive)
        try:
            with tarfile.open(archive) as tar:
                members = {os.path.basename(m.name): m for m in tar.getmembers() if m.isfile()}
                lacking = [n for n in names if n not in members]
                if lacking:
                    raise FormatError(f"{archive}: holds no {', '.join(lacking)}")
                return [tar.extractfile(members[n]).read() for n in names]  # type: ignore[union-attr]
        except (tarfile.TarError, EOFError, zlib.error) as error:
            raise FormatError(f"{archive}: {error}; the archive is damaged, fetch it again") from error


class CIFAR100(CIFAR10):
    """Small photographs (32, 32, 3) of 100 kinds in 20 groups; fine_label: labels are the kinds rather than the groups.

    root holds train.bin and test.bin, or the archive cifar-100-binary.tar.gz."""

    _archive = "cifar-100-binary.tar.gz"
    _files = (("train.bin",), ("test.bin",))
    _labels = 2

    def __init__(
        self,
        root: Any = "~/.mxnet/datasets/cifar100",
        fine_label: bool = False,
        train: bool = True,
        transform: Transform | None = None,
    ):
        self._label = int(fine_label)
        super().__init__(root, train, transform)


class ImageRecordDataset(RecordFileDataset):
    """Images and labels in a .rec file, with its .idx beside it. flag: 1 color, 0 gray.

    transform(image, label) is called on every example. Needs Pillow."""

    def __init__(self, filename: Any, flag: int = 1, transform: Transform | None = None):
        super().__init__(filename)
        self._flag = flag
        self._transform = transform

    def __getitem__(self, idx: int) -> Any:
        with locate_errors(f"{self.filename}, record {self._record.keys[idx]}"):
            header, data = recordio.unpack(super().__getitem__(idx) or b"")
            image = imdecode(data, self._flag)
        return (image, header.label) if self._transform is None else self._transform(image, header.label)


class ImageFolderDataset(Dataset):
    """Images in folders: the n-th folder under root, by name, holds the images of label n. flag: 1 color, 0 gray.

    ``synsets`` are the folders' names, ``items`` all (file, label). transform(image, label) is called on every example. Warns
    of files that are no .jpg, .jpeg or .png. Needs Pillow."""

    def __init__(self, root: Any, flag: int = 1, transform: Transform | None = None):
        self._root = os.path.expanduser(root)
        self._flag = flag
        self._transform = transform
        self._exts = [".jpg", ".jpeg", ".png"]
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        for folder in sorted(os.listdir(self._root)):
            path = os.path.join(self._root, folder)
            if not os.path.isdir(path):
                warnings.warn(f"Ignoring {path}, which is not a directory.", stacklevel=2)
                continue
            for name in sorted(os.listdir(path)):
                if os.path.splitext(name)[1].lower() in self._exts:
                    self.items.append((os.path.join(path, name), len(self.synsets)))
                else:
                    warnings.warn(
                        f"Ignoring {os.path.join(path, name)}. Only support {', '.join(self._exts)}", stacklevel=2
                    )
            self.synsets.append(folder)

    def __getitem__(self, idx: int) -> Any:
        file, label = self.items[idx]
        image = imread(file, self._flag)
        return (image, label) if self._transform is None else self._transform(image, label)

    def __len__(self) -> int:
        return len(self.items)
