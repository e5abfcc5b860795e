"""Datasets and samplers: the same examples in the same order as MXNet's."""

from pathlib import Path

import numpy as np
import pytest

from hybrid import nd
from hybrid.gluon import data
from hybrid.gluon.data.sampler import IntervalSampler

FIXTURES = Path(__file__).parents[3] / "fixtures/recordio"


@pytest.mark.parametrize(
    ("last_batch", "passes"),
    [
        ("keep", [([[0, 1, 2], [3, 4, 5], [6]], 3)] * 3),
        ("discard", [([[0, 1, 2], [3, 4, 5]], 2)] * 3),
        (
            "rollover",
            [([[0, 1, 2], [3, 4, 5]], 2), ([[6, 0, 1], [2, 3, 4]], 3), ([[5, 6, 0], [1, 2, 3], [4, 5, 6]], 2)],
        ),
    ],
)
def test_batch_sampler(last_batch: str, passes: list) -> None:
    sampler = data.BatchSampler(data.SequentialSampler(7), 3, last_batch)
    assert [(list(sampler), len(sampler)) for _ in passes] == passes


def test_batch_sampler_refuses_other_words() -> None:
    sampler = data.BatchSampler(data.SequentialSampler(7), 3, "x")
    for use in (len, list):
        with pytest.raises(ValueError, match="last_batch must be one of 'keep', 'discard', or 'rollover', but got x"):
            use(sampler)


def test_samplers() -> None:
    assert list(data.SequentialSampler(3, 2)) == [2, 3, 4]
    np.random.seed(1)
    assert list(data.RandomSampler(5)) == [2, 1, 4, 0, 3]  # MXNet's order for this seed
    assert list(IntervalSampler(13, 3)) == [0, 3, 6, 9, 12, 1, 4, 7, 10, 2, 5, 8, 11]
    assert list(IntervalSampler(13, 3, rollover=False)) == [0, 3, 6, 9, 12]
    assert len(IntervalSampler(13, 3, rollover=False)) == 13
    with pytest.raises(AssertionError, match="Interval 3 must be smaller than or equal to length 2"):
        IntervalSampler(2, 3)


def test_array_dataset() -> None:
    dataset = data.ArrayDataset(nd.arange(6).reshape((3, 2)), nd.array([1, 2, 3]), [4, 5, 6])
    first, second, third = dataset[1]
    assert first.asnumpy().tolist() == [2, 3]
    assert isinstance(second, np.float32)
    assert (second, third) == (2, 5)
    assert len(dataset) == 3
    assert data.ArrayDataset([1, 2])[1] == 2
    with pytest.raises(AssertionError, match=r"array\[0\] has length 1 while array\[1\] has 2"):
        data.ArrayDataset([1], [1, 2])
    with pytest.raises(AssertionError, match="at least 1"):
        data.ArrayDataset()


def test_parts_of_datasets() -> None:
    dataset = data.SimpleDataset(list(range(10, 17)))
    assert list(dataset.filter(lambda v: v % 2)) == [11, 13, 15]
    assert [list(dataset.shard(3, i)) for i in range(3)] == [[10, 11, 12], [13, 14], [15, 16]]
    assert list(dataset.take(2)) == [10, 11]
    assert len(dataset.take(None)) == len(dataset.take(99)) == 7
    assert list(dataset.sample(data.SequentialSampler(2, 3))) == [13, 14]
    with pytest.raises(TypeError, match="Invalid sampler type"):
        dataset.sample([1])  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="Shard index of out bound: 3 out of 3"):
        dataset.shard(3, 3)
    with pytest.raises(ValueError, match="take: got -1"):
        dataset.take(-1)


def test_transforms_of_datasets() -> None:
    calls = []

    def double(x: int) -> int:
        calls.append(x)
        return 2 * x

    pairs = data.ArrayDataset([1, 2, 3], [4, 5, 6])
    lazy = pairs.transform_first(double)
    assert not calls
    assert lazy[1] == (4, 5)
    assert list(pairs.transform(lambda a, b: a * b)) == [4, 10, 18]
    calls.clear()
    eager = pairs.transform_first(double, lazy=False)
    assert calls == [1, 2, 3]
    assert eager[2] == (6, 6)
    assert data.SimpleDataset([5]).transform_first(double)[0] == 10


def test_record_file_dataset() -> None:
    dataset = data.RecordFileDataset(FIXTURES / "indexed.rec")
    assert [dataset[i] for i in range(len(dataset))] == [b"record 3", b"record 1", b"record 2"]


def test_datasets_of_programs_are_read_once_into_memory(tmp_path: Path) -> None:
    """The base of data sets that programs make like MXNet's own; it makes the folder, and calls _get_data."""
    from hybrid.gluon.data.dataset import _DownloadedDataset

    class Squares(_DownloadedDataset):
        def _get_data(self) -> None:
            self._data, self._label = [0, 1, 4], ["a", "b", "c"]

    root = tmp_path / "new" / "folder"
    made = Squares(root, None)
    assert root.is_dir()
    assert (made[2], len(made), made._root) == ((4, "c"), 3, str(root))
    assert Squares(root, lambda x, y: (y, x + 1))[1] == ("b", 2)
    with pytest.raises(NotImplementedError):
        _DownloadedDataset(root, None)
