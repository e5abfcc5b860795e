"""Datasets: examples by index, from arrays and from record files, and what can be made of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ... import recordio
from ...formats import downloads
from ...ndarray import NDArray
from .sampler import FilterSampler, Sampler, SequentialSampler

__all__ = ["ArrayDataset", "Dataset", "RecordFileDataset", "SimpleDataset"]


class Dataset:
    """Base class: ``dataset[i]`` is an example (a tuple where it has several parts), and there are ``len()`` of them.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Squares(mx.gluon.data.Dataset):
    ...     def __len__(self):
    ...         return 5
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> data = Squares().transform(lambda x: -x)
    >>> len(data), data[3]
    (5, -9)
    """

    def __getitem__(self, idx: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def filter(self, fn: Callable[[Any], Any]) -> Dataset:
        """The examples that a function says True for; it is asked once for each, now.

        Examples
        --------
        >>> from gluonnx import mx
        >>> list(mx.gluon.data.SimpleDataset([1, 2, 3, 4]).filter(lambda x: x > 2))
        [3, 4]
        """
        return _SampledDataset(self, FilterSampler(fn, self))

    def shard(self, num_shards: int, index: int) -> Dataset:
        """One of num_shards parts of nearly equal size, the longer ones first.

        Raises AssertionError for an index beyond 0..num_shards - 1, and for no shards.

        Examples
        --------
        >>> from gluonnx import mx
        >>> list(mx.gluon.data.SimpleDataset([1, 2, 3, 4, 5]).shard(num_shards=2, index=0))
        [1, 2, 3]
        """
        if index >= num_shards:
            raise AssertionError(f"Shard index of out bound: {index} out of {num_shards}")
        if num_shards <= 0:
            raise AssertionError("Number of shards must be greater than 0")
        if index < 0:
            raise AssertionError("Index must be non-negative")
        size, rest = divmod(len(self), num_shards)
        start = size * index + min(index, rest)
        return _SampledDataset(self, SequentialSampler(size + (index < rest), start))

    def take(self, count: int | None) -> Dataset:
        """The first ``count`` examples; all where there are fewer, or for None. Raises ValueError below 0.

        Examples
        --------
        >>> from gluonnx import mx
        >>> list(mx.gluon.data.SimpleDataset([1, 2, 3]).take(2))
        [1, 2]
        """
        if count is not None and count < 0:
            raise ValueError(f"take: got {count}, wanted how many examples to take")
        return _SampledDataset(self, SequentialSampler(len(self) if count is None else min(count, len(self))))

    def sample(self, sampler: Sampler) -> Dataset:
        """The examples that a sampler gives, drawn now.

        Raises TypeError for what is no Sampler.

        Examples
        --------
        >>> from gluonnx import mx
        >>> data = mx.gluon.data.SimpleDataset([10, 20, 30])
        >>> list(data.sample(mx.gluon.data.SequentialSampler(2)))
        [10, 20]
        """
        if not isinstance(sampler, Sampler):
            raise TypeError(f"Invalid sampler type: {type(sampler)}. Expected gluon.data.Sampler instead.")
        return _SampledDataset(self, sampler)

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """``fn`` of every example (its parts are fn's arguments), when it is asked for, or with lazy=False all now.

        Examples
        --------
        >>> from gluonnx import mx
        >>> list(mx.gluon.data.SimpleDataset([1, 2]).transform(lambda x: 10 * x))
        [10, 20]
        """
        made = _TransformedDataset(self, fn)
        return made if lazy else SimpleDataset([made[i] for i in range(len(made))])

    def transform_first(self, fn: Callable[[Any], Any], lazy: bool = True) -> Dataset:
        """``fn`` of the first part of every example; the others (labels) stay.

        Examples
        --------
        >>> from gluonnx import mx
        >>> data = mx.gluon.data.ArrayDataset([1, 2], ["a", "b"])
        >>> list(data.transform_first(lambda x: 10 * x))
        [(10, 'a'), (20, 'b')]
        """
        return self.transform(_First(fn), lazy)


class SimpleDataset(Dataset):
    """Anything that has ``len()`` and ``[]``.

    Parameters
    ----------
    data : list
        Samples, or anything that has a length and is indexed.

    Examples
    --------
    >>> from gluonnx import mx
    >>> data = mx.gluon.data.SimpleDataset(["a", "b"])
    >>> len(data), data[1]
    (2, 'b')
    """

    def __init__(self, data: Any):
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        return self._data[idx]


class _Labelled(Dataset):
    """Base class for what holds all its data and labels, and hands them out as ``_transform``, if there is one, makes them."""

    _root: str
    _data: Any
    _label: Any
    _transform: Callable[[Any, Any], Any] | None = None

    def __getitem__(self, idx: Any) -> Any:
        example = self._data[idx], self._label[idx]
        return example if self._transform is None else self._transform(*example)

    def __len__(self) -> int:
        return len(self._label)

    def _obtain(self, namespace: str, name: str, sha1_hash: str, *others: str) -> str:
        """The path of a file below root, which comes from the mirror that the user names when it is not there.

        others: names of files that would do as well. Raises MissingFile."""
        path = os.path.join(self._root, name)
        if not os.path.exists(path):
            missing = f"{type(self).__name__}: {self._root} holds no {' or '.join((*others, name))} (SHA-1 {sha1_hash})"
            url = f"{downloads.repository()}gluon/dataset/{namespace}/{name}"
            downloads.obtain(url, path, sha1_hash, missing=missing)
        return path


class _DownloadedDataset(_Labelled):
    """Base class, of programs too, for data that ``_get_data`` reads from root, which is made, into ``_data`` and ``_label``."""

    def __init__(self, root: Any, transform: Callable[[Any, Any], Any] | None):
        self._transform = transform
        self._data = self._label = None
        self._root = os.path.expanduser(root)
        os.makedirs(self._root, exist_ok=True)
        self._get_data()

    def _get_data(self) -> None:
        raise NotImplementedError


class _TransformedDataset(SimpleDataset):
    """A function of another dataset's examples."""

    def __init__(self, data: Any, fn: Callable[..., Any]):
        super().__init__(data)
        self._fn = fn

    def __getitem__(self, idx: int) -> Any:
        item = self._data[idx]
        return self._fn(*item) if isinstance(item, tuple) else self._fn(item)


class _First:
    """A function of the first argument only. A class, since functions inside functions cannot be sent to a process."""

    def __init__(self, fn: Callable[[Any], Any]):
        self._fn = fn

    def __call__(self, x: Any, *args: Any) -> Any:
        return (self._fn(x), *args) if args else self._fn(x)


class _SampledDataset(SimpleDataset):
    """The examples of another dataset that a sampler chose."""

    def __init__(self, data: Any, sampler: Sampler):
        super().__init__(data)
        self._indices = list(sampler)

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, idx: int) -> Any:
        return self._data[self._indices[idx]]


class ArrayDataset(Dataset):
    """Several arrays, lists or datasets of one length side by side: example i is ``(a[i], b[i], ...)``.

    Vectors (labels, mostly) give numbers rather than arrays.

    Raises AssertionError without arrays, and for arrays of several lengths.

    Examples
    --------
    >>> from gluonnx import mx
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[1, 2], [3, 4]]), [0, 1])
    >>> x, label = data[1]
    >>> x.asnumpy(), label
    (array([3., 4.], dtype=float32), 1)
    """

    def __init__(self, *args: Any):
        if not args:
            raise AssertionError("Needs at least 1 arrays")
        self._length = len(args[0])
        self._data = []
        for i, data in enumerate(args):
            if len(data) != self._length:
                raise AssertionError(
                    f"All arrays must have the same length; array[0] has length {self._length} "
                    f"while array[{i}] has {len(data)}."
                )
            self._data.append(data.asnumpy() if isinstance(data, NDArray) and data.ndim == 1 else data)

    def __getitem__(self, idx: int) -> Any:
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple(data[idx] for data in self._data)

    def __len__(self) -> int:
        return self._length


class RecordFileDataset(Dataset):
    """The records of a .rec file as bytes, in the order of the .idx file beside it.

    Parameters
    ----------
    filename : str
        The .rec file; its index is the .idx beside it.

    Examples
    --------
    >>> from gluonnx import mx
    >>> record = mx.recordio.MXIndexedRecordIO("data.idx", "data.rec", "w")
    >>> record.write_idx(0, b"first")
    >>> record.close()
    >>> mx.gluon.data.RecordFileDataset("data.rec")[0]
    b'first'
    """

    def __init__(self, filename: Any):
        self.filename = os.fspath(filename)
        self.idx_file = os.path.splitext(self.filename)[0] + ".idx"
        self._record = recordio.MXIndexedRecordIO(self.idx_file, self.filename, "r")

    def __getitem__(self, idx: int) -> Any:
        return self._record.read_idx(self._record.keys[idx])

    def __len__(self) -> int:
        return len(self._record.keys)
