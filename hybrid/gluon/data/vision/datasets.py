"""Datasets of images from local files. What is missing comes from the mirror that the user names (MXNET_GLUON_REPO), checked by its
SHA-1; without one the error says what belongs where."""

from __future__ import annotations

import os
import tarfile
import warnings
import zlib
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from .... import ndarray as nd
from .... import recordio
from ....base import data_dir
from ....core.error import FormatError
from ....eager.faces import dressed
from ....formats.files import locate_errors, read
from ....image import imdecode, imread
from ....io.idx import read_idx
from ..dataset import Dataset, RecordFileDataset, _Labelled

__all__ = ["CIFAR10", "CIFAR100", "MNIST", "FashionMNIST", "ImageFolderDataset", "ImageRecordDataset"]

Transform = Callable[[Any, Any], Any]


def _folder(name: str) -> str:
    return os.path.join(data_dir(), "datasets", name)


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

    root (``$MXNET_HOME/datasets/mnist``) holds train-images-idx3-ubyte and the three other files, as they are or as .gz.
    transform(image, label) is called on every example. Raises FileNotFoundError that names a missing file, FormatError for
    a broken one.

    Examples
    --------
    >>> from pathlib import Path
    >>> from gluonnx import mx
    >>> Path("digits").mkdir()
    >>> sizes = [0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28]  # two images, in place of the real files
    >>> _ = Path("digits/t10k-images-idx3-ubyte").write_bytes(bytes([0, 0, 8, 3, *sizes]) + bytes(2 * 28 * 28))
    >>> _ = Path("digits/t10k-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 3]))
    >>> digits = mx.gluon.data.vision.MNIST("digits", train=False)
    >>> image, label = digits[0]
    >>> len(digits), image.shape, int(label)
    (2, (28, 28, 1), 7)
    """

    _namespace = "mnist"
    _sha1: ClassVar[dict[str, str]] = {
        "train-images-idx3-ubyte": "6c95f4b05d2bf285e1bfb0e7960c31bd3b3f8a7d",
        "train-labels-idx1-ubyte": "2a80914081dc54586dbdf242f9805a6b8d2a15fc",
        "t10k-images-idx3-ubyte": "c3a25af1f52dad7f726cce8cacb138654b760d48",
        "t10k-labels-idx1-ubyte": "763e7fa3757d93b0cdec073cef058b2004252c17",
    }

    def __init__(
        self,
        root: Any = _folder("mnist"),  # noqa: B008  shown in the signature, and not changed
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
        path = os.path.join(self._root, name)
        packed = f"{name}.gz"
        if os.path.exists(path) and not os.path.exists(os.path.join(self._root, packed)):
            return path
        return self._obtain(self._namespace, packed, self._sha1[name], name)


class FashionMNIST(MNIST):
    """Articles of clothing, in the files and shapes of MNIST.

    Examples
    --------
    >>> from pathlib import Path
    >>> from gluonnx import mx
    >>> Path("clothes").mkdir()
    >>> sizes = [0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28]  # two images, in place of the real files
    >>> _ = Path("clothes/train-images-idx3-ubyte").write_bytes(bytes([0, 0, 8, 3, *sizes]) + bytes(2 * 28 * 28))
    >>> _ = Path("clothes/train-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 9, 0]))
    >>> clothes = mx.gluon.data.vision.FashionMNIST("clothes", transform=lambda image, label: (image / 255, label))
    >>> image, label = clothes[0]
    >>> image.shape, int(label)
    ((28, 28, 1), 9)
    """

    _namespace = "fashion-mnist"
    _sha1: ClassVar[dict[str, str]] = {
        "train-images-idx3-ubyte": "0cf37b0d40ed5169c6b3aba31069a9770ac9043d",
        "train-labels-idx1-ubyte": "236021d52f1e40852b06a4c3008d8de8aef1e40b",
        "t10k-images-idx3-ubyte": "626ed6a7c06dd17c0eec72fa3be1740f146a2863",
        "t10k-labels-idx1-ubyte": "17f9ab60e7257a1620f4ad76bbbaf857c3920701",
    }

    def __init__(
        self,
        root: Any = _folder("fashion-mnist"),  # noqa: B008  as above
        train: bool = True,
        transform: Transform | None = None,
    ):
        super().__init__(root, train, transform)


class CIFAR10(_InMemory):
    """Small photographs (32, 32, 3) of 10 kinds: 50,000 to train on, 10,000 to test.

    root holds data_batch_1.bin to data_batch_5.bin and test_batch.bin, or the archive cifar-10-binary.tar.gz. transform(image,
    label) is called on every example. Raises FileNotFoundError that names a missing file, FormatError for a broken one.

    Examples
    --------
    >>> from pathlib import Path
    >>> from gluonnx import mx
    >>> Path("photographs").mkdir()  # of two, in place of the real file
    >>> _ = Path("photographs/test_batch.bin").write_bytes(bytes([6, *[0] * 3072]) + bytes([9, *[255] * 3072]))
    >>> photographs = mx.gluon.data.vision.CIFAR10("photographs", train=False)
    >>> [(image.shape, int(label)) for image, label in photographs]
    [((32, 32, 3), 6), ((32, 32, 3), 9)]
    """

    _namespace = "cifar10"
    _archive = "cifar-10-binary.tar.gz"
    _sha1 = "fab780a1e191a7eda0f345501ccd62d20f7ed891"
    _files = (tuple(f"data_batch_{i}.bin" for i in range(1, 6)), ("test_batch.bin",))
    _labels, _label = 1, 0

    def __init__(
        self,
        root: Any = _folder("cifar10"),  # noqa: B008  as above
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
        lacking = next(n for n, p in zip(names, paths) if not os.path.exists(p))
        archive = self._obtain(self._namespace, self._archive, self._sha1, lacking)
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

    root holds train.bin and test.bin, or the archive cifar-100-binary.tar.gz.

    Examples
    --------
    >>> from pathlib import Path
    >>> from gluonnx import mx
    >>> Path("photographs").mkdir()  # of one, in place of the real file
    >>> _ = Path("photographs/train.bin").write_bytes(bytes([4, 72, *[0] * 3072]))
    >>> for fine in (False, True):
    ...     image, label = mx.gluon.data.vision.CIFAR100("photographs", fine_label=fine)[0]
    ...     print(image.shape, label)
    (32, 32, 3) 4
    (32, 32, 3) 72
    """

    _namespace = "cifar100"
    _archive = "cifar-100-binary.tar.gz"
    _sha1 = "a0bb982c76b83111308126cc779a992fa506b90b"
    _files = (("train.bin",), ("test.bin",))
    _labels = 2

    def __init__(
        self,
        root: Any = _folder("cifar100"),  # noqa: B008  as above
        fine_label: bool = False,
        train: bool = True,
        transform: Transform | None = None,
    ):
        self._label = int(fine_label)
        super().__init__(root, train, transform)


class ImageRecordDataset(RecordFileDataset):
    """Images and labels in a .rec file, with its .idx beside it. flag: 1 color, 0 gray.

    transform(image, label) is called on every example. Needs Pillow.

    Examples
    --------
    >>> from gluonnx import mx
    >>> record = mx.recordio.MXIndexedRecordIO("data.idx", "data.rec", "w")
    >>> image = mx.nd.zeros((8, 8, 3), dtype="uint8").asnumpy()
    >>> header = mx.recordio.IRHeader(0, 7, 0, 0)
    >>> record.write_idx(0, mx.recordio.pack_img(header, image, img_fmt=".png"))
    >>> record.close()
    >>> image, label = mx.gluon.data.vision.ImageRecordDataset("data.rec")[0]
    >>> image.shape, label
    ((8, 8, 3), 7.0)
    """

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
    of files that are no .jpg, .jpeg or .png. Needs Pillow.

    Examples
    --------
    >>> from pathlib import Path
    >>> from gluonnx import mx
    >>> from PIL import Image
    >>> for name in ("cat", "dog"):
    ...     Path("pets", name).mkdir(parents=True)
    ...     Image.new("RGB", (8, 6)).save(f"pets/{name}/0.png")
    >>> pets = mx.gluon.data.vision.ImageFolderDataset("pets")
    >>> pets.synsets, [label for file, label in pets.items]
    (['cat', 'dog'], [0, 1])
    >>> pets[1][0].shape
    (6, 8, 3)
    """

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
