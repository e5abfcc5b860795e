"""Files that programs have to find: what is missing comes from the mirror that the user names (MXNET_GLUON_REPO), or the error
says what to put where. See formats/downloads.py."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from ..core.error import MXNetError
from ..formats import downloads
from ..formats.files import replacing

_SERVER = "http://data.mxnet.io/"
_PARTS = ("train", "t10k")
_MNIST = tuple(f"{part}-{what}-ubyte" for part in _PARTS for what in ("images-idx3", "labels-idx1"))


def download(
    url: str, fname: str | None = None, dirname: str | None = None, overwrite: bool = False, retries: int = 5
) -> str:
    """The name of the file of a URL, which is fetched unless it is there, and the user allows it (see gluon.utils.download).

    Raises MXNetError saying what to put where when it is not, AssertionError for retries below 0.

    Examples
    --------
    >>> from pathlib import Path
    >>> from gluonnx import mx
    >>> Path("list.txt").touch()
    >>> mx.test_utils.download("http://data.example/list.txt")  # is there already
    'list.txt'
    """
    if retries < 0:
        raise AssertionError("Number of retries should be at least 0")
    path = os.path.join(dirname or "", fname or url.split("/")[-1])
    if overwrite or not os.path.exists(path):
        downloads.obtain(url, path, attempts=retries)
    return path


def _unpacked(names: tuple[str, ...], url: str) -> None:
    """See to it that the folder data holds files, unpacked from the archive at an address."""
    missing = [f"data/{name}" for name in names if not os.path.exists(f"data/{name}")]
    if not missing:
        return
    archive = os.path.join("data", url.rpartition("/")[2])
    if not os.path.exists(archive):
        downloads.obtain(url, archive, missing=f"{', '.join(missing)} (of {archive}) missing below {os.getcwd()}")
    downloads.unpack(archive, "data")


def get_mnist() -> dict[str, Any]:
    """MNIST from train-images-idx3-ubyte.gz and the three other files in the current folder or in ``data``, compressed or not:
    train_data and test_data (N, 1, 28, 28) float32 in [0, 1], train_label and test_label (N,) int8.

    Raises MXNetError naming what is missing.

    Examples
    --------
    >>> from pathlib import Path
    >>> from gluonnx import mx
    >>> for part in ("train", "t10k"):  # two images each, in place of the real files
    ...     sizes = [0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28]
    ...     _ = Path(f"{part}-images-idx3-ubyte").write_bytes(bytes([0, 0, 8, 3, *sizes]) + bytes(2 * 28 * 28))
    ...     _ = Path(f"{part}-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 3]))
    >>> found = mx.test_utils.get_mnist()
    >>> found["train_data"].shape, found["test_label"].tolist()
    ((2, 1, 28, 28), [7, 3])
    """
    import numpy as np

    from ..io.idx import read_idx

    def read(name: str, rank: int) -> np.ndarray:
        places = [Path(folder, name + suffix) for folder in (".", "data") for suffix in (".gz", "")]
        found = next((p for p in places if p.exists()), places[0])
        if not found.exists():
            downloads.obtain(f"{_SERVER}data/mnist/{found.name}", str(found))
        return read_idx(str(found), rank)

    out: dict[str, Any] = {}
    for key, part in zip(("train", "test"), _PARTS):
        images = read(f"{part}-images-idx3-ubyte", 3)
        out[f"{key}_data"] = images.reshape(-1, 1, 28, 28).astype(np.float32) / 255
        out[f"{key}_label"] = read(f"{part}-labels-idx1-ubyte", 1).astype(np.int8)
    return out


def get_mnist_ubyte() -> None:
    """See to it that ``data`` holds MNIST's four files, unpacked from mnist.zip. Raises MXNetError naming what is missing.

    Examples
    --------
    >>> from pathlib import Path
    >>> from gluonnx import mx
    >>> Path("data").mkdir()
    >>> for part in ("train", "t10k"):
    ...     Path(f"data/{part}-images-idx3-ubyte").touch()
    ...     Path(f"data/{part}-labels-idx1-ubyte").touch()
    >>> mx.test_utils.get_mnist_ubyte()  # all are there already
    """
    _unpacked(_MNIST, f"{_SERVER}mxnet/data/mnist.zip")


def get_mnist_pkl() -> None:
    """See to it that ``data`` holds mnist.pkl.gz. Raises MXNetError.

    Examples
    --------
    >>> from pathlib import Path
    >>> from gluonnx import mx
    >>> Path("data").mkdir()
    >>> Path("data/mnist.pkl.gz").touch()
    >>> mx.test_utils.get_mnist_pkl()  # is there already
    """
    download("http://deeplearning.net/data/mnist/mnist.pkl.gz", dirname="data")


def get_cifar10() -> None:
    """See to it that ``data/cifar`` holds train.rec, test.rec, train.lst and test.lst, from cifar10.zip. Raises MXNetError.

    Examples
    --------
    >>> from pathlib import Path
    >>> from gluonnx import mx
    >>> Path("data/cifar").mkdir(parents=True)
    >>> for name in ("train.rec", "test.rec", "train.lst", "test.lst"):
    ...     Path("data/cifar", name).touch()
    >>> mx.test_utils.get_cifar10()  # all are there already
    """
    names = tuple(f"cifar/{part}.{kind}" for part in ("train", "test") for kind in ("rec", "lst"))
    _unpacked(names, f"{_SERVER}mxnet/data/cifar10.zip")


def get_mnist_iterator(batch_size: int, input_shape: Any, num_parts: int = 1, part_index: int = 0) -> tuple[Any, Any]:
    """(training, validation) MNISTIter of the files in ``data``; images are flat unless input_shape has three dimensions.

    Examples
    --------
    >>> from pathlib import Path
    >>> from gluonnx import mx
    >>> Path("data").mkdir()
    >>> for part in ("train", "t10k"):  # two images each, in place of the real files
    ...     sizes = [0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28]
    ...     _ = Path(f"data/{part}-images-idx3-ubyte").write_bytes(bytes([0, 0, 8, 3, *sizes]) + bytes(2 * 28 * 28))
    ...     _ = Path(f"data/{part}-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 3]))
    >>> train, test = mx.test_utils.get_mnist_iterator(batch_size=2, input_shape=(1, 28, 28))
    >>> next(train).data[0].shape
    (2, 1, 28, 28)
    """
    from ..io import MNISTIter

    get_mnist_ubyte()
    flat = len(input_shape) != 3
    train = MNISTIter(
        image="data/train-images-idx3-ubyte",
        label="data/train-labels-idx1-ubyte",
        input_shape=input_shape,
        batch_size=batch_size,
        shuffle=True,
        flat=flat,
        num_parts=num_parts,
        part_index=part_index,
    )
    test = MNISTIter(
        image="data/t10k-images-idx3-ubyte",
        label="data/t10k-labels-idx1-ubyte",
        input_shape=input_shape,
        batch_size=batch_size,
        flat=flat,
        num_parts=num_parts,
        part_index=part_index,
    )
    return train, test


def get_zip_data(data_dir: str, url: str, data_origin_name: str) -> None:
    """Unpack the archive data_origin_name of data_dir there; it is fetched from url when it is missing. Raises MXNetError.

    Examples
    --------
    >>> import zipfile
    >>> from pathlib import Path
    >>> from gluonnx import mx
    >>> with zipfile.ZipFile("packed.zip", "w") as archive:
    ...     archive.writestr("list.txt", "a b")
    >>> mx.test_utils.get_zip_data(".", "http://data.example/packed.zip", "packed.zip")
    >>> Path("list.txt").read_text()
    'a b'
    """
    archive = os.path.join(data_dir, data_origin_name)
    if not os.path.exists(archive):
        downloads.obtain(url, archive)
    downloads.unpack(archive, data_dir)


def get_bz2_data(data_dir: str, data_name: str, url: str, data_origin_name: str) -> None:
    """Unpack the file data_origin_name of data_dir as data_name, unless that is there; it is fetched from url when it is missing.

    Raises MXNetError without either, and for what is not packed so.

    Examples
    --------
    >>> import bz2
    >>> from pathlib import Path
    >>> from gluonnx import mx
    >>> _ = Path("list.bz2").write_bytes(bz2.compress(b"a b"))
    >>> mx.test_utils.get_bz2_data(".", "list.txt", "http://data.example/list.bz2", "list.bz2")
    >>> Path("list.txt").read_text()
    'a b'
    """
    import bz2

    target, packed = Path(data_dir, data_name), Path(data_dir, data_origin_name)
    if target.exists():
        return
    if not packed.exists():
        downloads.obtain(url, str(packed))
    try:
        with bz2.open(packed) as source, replacing(target) as file:
            shutil.copyfileobj(source, file)
    except (OSError, EOFError) as error:
        raise MXNetError(f"{packed}: {error}") from error
    packed.unlink()


_MODELS = {
    "imagenet1k-inception-bn": ("imagenet/inception-bn/Inception-BN", 126),
    **{f"imagenet1k-resnet-{n}": (f"imagenet/resnet/{n}-layers/resnet-{n}", 0) for n in (18, 34, 50, 101, 152)},
    **{f"imagenet1k-resnext-{n}": (f"imagenet/resnext/{n}-layers/resnext-{n}", 0) for n in (50, 101)},
    "imagenet1k-resnext-101-64x4d": ("imagenet/resnext/101-layers/resnext-101-64x4d", 0),
    "imagenet11k-resnet-152": ("imagenet-11k/resnet-152/resnet-152", 0),
    "imagenet11k-place365ch-resnet-152": ("imagenet-11k-place365-ch/resnet-152", 0),
    "imagenet11k-place365ch-resnet-50": ("imagenet-11k-place365-ch/resnet-50", 0),
}
"""Address below the server's models, and epoch, of the networks that MXNet published as symbols."""


def download_model(
    model_name: str, dst_dir: str = "./", meta_info: dict[str, dict[str, str]] | None = None
) -> tuple[str | None, int]:
    """(prefix, 0) of a published network's symbol and parameters in dst_dir, which download fetches; (None, 0) of an unknown one.

    meta_info: {name: {"symbol": url, "params": url}} in the place of MXNet's own. Raises AssertionError where it lacks either.

    Examples
    --------
    >>> from pathlib import Path
    >>> from gluonnx import mx
    >>> for name in ("mine-symbol.json", "mine-0000.params"):
    ...     Path(name).touch()
    >>> urls = {"symbol": "http://data.example/mine.json", "params": "http://data.example/mine.params"}
    >>> mx.test_utils.download_model("mine", meta_info={"mine": urls})  # both are there already
    ('./mine', 0)
    """
    if meta_info is None:
        base = {name: (f"{_SERVER}models/{place}", epoch) for name, (place, epoch) in _MODELS.items()}
        meta_info = {
            name: {"symbol": f"{at}-symbol.json", "params": f"{at}-{epoch:04d}.params"}
            for name, (at, epoch) in base.items()
        }
    if model_name not in meta_info:
        return None, 0
    parts = meta_info[model_name]
    lacking = {"symbol", "params"} - set(parts)
    if lacking:
        raise AssertionError(f"download_model: meta_info of {model_name} lacks {', '.join(sorted(lacking))}")
    prefix = os.path.join(dst_dir, model_name)
    download(parts["symbol"], f"{prefix}-symbol.json")
    download(parts["params"], f"{prefix}-0000.params")
    return prefix, 0
