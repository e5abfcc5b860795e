"""Surroundings of tests: contexts, environment variables, stderr, features, files that have to be there."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..context import Context, current_context
from ..core.error import MXNetError
from ..formats.files import replacing
from ..io import DataBatch, DataIter
from ..ndarray import waitall
from ..runtime import Features
from ..util import get_gpu_count, getenv, setenv


def default_context() -> Context:
    """The context that tests use: the current one."""
    return current_context()


def set_default_context(ctx: Context) -> None:
    """Make a context the current one of this thread, outside of ``with`` blocks."""
    Context._threads.__dict__["default"] = ctx


def list_gpus() -> range:
    """The numbers of the GPUs: none."""
    return range(get_gpu_count())


def is_cd_run() -> bool:
    """True when the environment variable CD_JOB is 1."""
    return getenv("CD_JOB") == "1"


def is_aarch64_run() -> bool:
    """True on a 64-bit ARM."""
    return platform.machine() == "aarch64"


def has_tvm_ops() -> bool:
    """False: there are no TVM operators."""
    return Features().is_enabled("TVM_OP")


def is_op_runnable() -> bool:
    """True: there is no GPU that would be too old."""
    return True


@contextlib.contextmanager
def environment(*args: Any) -> Iterator[None]:
    """``with environment(name, value):`` or ``with environment({name: value}):`` sets environment variables, None removes one.

    Afterwards they are as they were."""
    if len(args) == 1 and isinstance(args[0], Mapping):
        wanted = dict(args[0])
    elif len(args) == 2:
        wanted = {args[0]: args[1]}
    else:
        raise AssertionError("Expecting one dict arg or two args: env var name and value")
    before = {name: getenv(name) for name in wanted}
    try:
        for name, value in wanted.items():
            setenv(name, value)
        yield
    finally:
        waitall()  # what still runs belongs to the block
        for name, value in before.items():
            setenv(name, value)


@contextlib.contextmanager
def discard_stderr() -> Iterator[None]:
    """``with discard_stderr():`` nothing reaches stderr, not from other libraries either."""
    try:
        number = sys.stderr.fileno()
    except (AttributeError, OSError):  # stderr is no file
        with contextlib.redirect_stderr(None):
            yield
        return
    sys.stderr.flush()
    kept = os.dup(number)
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), number)
            yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, number)
        os.close(kept)


def retry(n: int) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Decorator: call a test up to n times, until it raises no AssertionError."""
    if n <= 0:
        raise AssertionError(f"retry: got n={n}, wanted at least 1")

    def decorate(function: Callable[..., Any]) -> Callable[..., None]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> None:
            for _ in range(n - 1):
                try:
                    function(*args, **kwargs)
                except AssertionError:
                    waitall()
                else:
                    return
            function(*args, **kwargs)

        return wrapper

    return decorate


class DummyIter(DataIter):
    """Gives the first batch of an iterator for ever, to measure how fast everything else is."""

    def __init__(self, real_iter: Any):
        super().__init__()
        self.real_iter = real_iter
        self.provide_data = real_iter.provide_data
        self.provide_label = real_iter.provide_label
        self.batch_size = real_iter.batch_size
        self.the_batch = next(real_iter)

    def __iter__(self) -> DummyIter:
        return self

    def next(self) -> DataBatch:
        """The batch."""
        return self.the_batch


# -- files ------------------------------------------------------------------------------------------------------------------


def download(
    url: str, fname: str | None = None, dirname: str | None = None, overwrite: bool = False, retries: int = 5
) -> str:
    """The name of the file that a URL would be stored as, when it is there. Nothing is fetched: raises MXNetError saying what
    to put where when it is not, or when overwrite asks for a fresh copy."""
    path = os.path.join(dirname or "", fname or url.split("/")[-1])
    if overwrite or not os.path.exists(path):
        raise MXNetError(
            f"{url} is not downloaded: this engine never uses the network. Put the file at {path} yourself."
        )
    return path


def _require(*names: str, source: str) -> None:
    missing = [name for name in names if not os.path.exists(name)]
    if missing:
        raise MXNetError(
            f"{', '.join(missing)} missing below {os.getcwd()}; nothing is ever downloaded, put there what {source} holds"
        )


_MNIST = tuple(f"{part}-{what}-ubyte" for part in ("train", "t10k") for what in ("images-idx3", "labels-idx1"))


def get_mnist() -> dict[str, Any]:
    """MNIST from train-images-idx3-ubyte.gz and the three other files in the current folder or in ``data``, compressed or not:
    train_data and test_data (N, 1, 28, 28) float32 in [0, 1], train_label and test_label (N,) int8.

    Raises MXNetError naming what is missing."""
    import numpy as np

    from ..io.idx import read_idx

    def read(name: str, rank: int) -> np.ndarray:
        places = [Path(folder, name + suffix) for folder in (".", "data") for suffix in (".gz", "")]
        found = next((p for p in places if p.exists()), None)
        if found is None:
            raise MXNetError(f"{places[0]} is not there, and nothing is ever downloaded; put MNIST's four files there")
        return read_idx(str(found), rank)

    out: dict[str, Any] = {}
    for key, part in (("train", "train"), ("test", "t10k")):
        images = read(f"{part}-images-idx3-ubyte", 3)
        out[f"{key}_data"] = images.reshape(-1, 1, 28, 28).astype(np.float32) / 255
        out[f"{key}_label"] = read(f"{part}-labels-idx1-ubyte", 1).astype(np.int8)
    return out


def get_mnist_ubyte() -> None:
    """Raises MXNetError unless ``data`` holds MNIST's four files, unpacked."""
    _require(*(f"data/{name}" for name in _MNIST), source="mnist.zip")


def get_mnist_pkl() -> None:
    """Raises MXNetError unless ``data`` holds mnist.pkl.gz."""
    _require("data/mnist.pkl.gz", source="deeplearning.net's mnist.pkl.gz")


def get_cifar10() -> None:
    """Raises MXNetError unless ``data/cifar`` holds train.rec, test.rec, train.lst and test.lst."""
    _require(
        *(f"data/cifar/{part}.{kind}" for part in ("train", "test") for kind in ("rec", "lst")), source="cifar10.zip"
    )


def get_mnist_iterator(batch_size: int, input_shape: Any, num_parts: int = 1, part_index: int = 0) -> tuple[Any, Any]:
    """(training, validation) MNISTIter of the files in ``data``; images are flat unless input_shape has three dimensions."""
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
    """Raises MXNetError unless data_dir holds the unpacked archive, or the archive, which is unpacked then."""
    import zipfile

    archive = Path(data_dir, data_origin_name)
    _require(str(archive), source=url)
    root = Path(data_dir).resolve()
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            target = (root / member.filename).resolve()
            if not target.is_relative_to(root):
                raise MXNetError(
                    f"{archive}: holds {member.filename!r}, which lies outside of {data_dir}; do not trust it"
                )
            if member.is_dir():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with opened.open(member) as source, replacing(target) as file:
                shutil.copyfileobj(source, file)


def get_bz2_data(data_dir: str, data_name: str, url: str, data_origin_name: str) -> None:
    """Unpack the file data_origin_name of data_dir as data_name, unless that is there. Raises MXNetError without either."""
    import bz2

    target, packed = Path(data_dir, data_name), Path(data_dir, data_origin_name)
    if target.exists():
        return
    _require(str(packed), source=url)
    with bz2.open(packed) as source, replacing(target) as file:
        shutil.copyfileobj(source, file)
    packed.unlink()
