"""Sentences as numbers, and batches of sentences of like length."""

from __future__ import annotations

import bisect
import logging
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import ndarray
from ..core.error import MXNetError
from ..io import DataBatch, DataDesc, DataIter


def encode_sentences(
    sentences: Sequence[Sequence[Any]],
    vocab: dict[Any, int] | None = None,
    invalid_label: int = -1,
    invalid_key: Any = "\n",
    start_label: int = 0,
    unknown_token: Any = None,
) -> tuple[list[list[int]], dict[Any, int]]:
    """(sentences as numbers, the number of each word).

    Without a vocab one is made, in which words are numbered from start_label as they come, but for invalid_label, the number
    of invalid_key. With one, words that are not in it count as unknown_token; raises AssertionError without that.

    Examples
    --------
    >>> from gluonnx import mx
    >>> coded, numbers = mx.rnn.encode_sentences([["a", "cat"], ["a", "dog"]], start_label=1)
    >>> coded, numbers
    ([[1, 2], [1, 3]], {'\\n': -1, 'a': 1, 'cat': 2, 'dog': 3})
    >>> mx.rnn.encode_sentences([["dog", "cat"]], vocab=numbers)[0]
    [[3, 2]]
    """
    grows = vocab is None
    vocab = {invalid_key: invalid_label} if vocab is None else vocab
    number = start_label
    coded = []
    for sentence in sentences:
        line = []
        for word in sentence:
            if word not in vocab:
                if not (grows or unknown_token):
                    raise AssertionError(f"Unknown token {word}")
                if number == invalid_label:
                    number += 1
                if unknown_token:
                    word = unknown_token
                vocab[word] = number
                number += 1
            line.append(vocab[word])
        coded.append(line)
    return coded, vocab


class BucketSentenceIter(DataIter):
    """Batches of sentences (lists of numbers) that fit into one bucket, filled up with invalid_label; labels are the numbers that
    follow. Batches have the length of their bucket as bucket_key, and are (N, T) or, for the layout "TN", (T, N).

    Sentences are shuffled by Python's and NumPy's generators, as in MXNet; what does not fill a batch is left out.

    Raises ValueError for another layout than NT and TN.

    Parameters
    ----------
    sentences : list of list of int
        Sentences as numbers.
    batch_size : int
        Number of sentences in a batch.
    buckets : list of int or None, default None
        Lengths that batches may have, of which those that no sentence needs are left out; None: all that at least
        batch_size sentences have.
    invalid_label : int, default -1
        Number that fills sentences up.
    data_name : str, default 'data'
        Name of the data.
    label_name : str, default 'softmax_label'
        Name of the labels.
    dtype : str or dtype, default 'float32'
        Dtype of both.
    layout : str, default 'NT'
        Axes of a batch, "NT" or "TN": N sentences of T numbers.

    Examples
    --------
    >>> from gluonnx import mx
    >>> data = mx.rnn.BucketSentenceIter([[4, 5, 6], [4, 5, 6]], batch_size=2, buckets=[4])
    >>> batch = next(data)
    >>> batch.bucket_key, batch.data[0].asnumpy().tolist()
    (4, [[4.0, 5.0, 6.0, -1.0], [4.0, 5.0, 6.0, -1.0]])
    >>> batch.label[0].asnumpy().tolist()
    [[5.0, 6.0, -1.0, -1.0], [5.0, 6.0, -1.0, -1.0]]
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[int]],
        batch_size: int,
        buckets: list[int] | None = None,
        invalid_label: int = -1,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: Any = "float32",
        layout: str = "NT",
    ):
        super().__init__()
        if layout not in ("NT", "TN"):
            raise ValueError(f"Invalid layout {layout}: Must by NT (batch major) or TN (time major)")
        if not buckets:
            counts = np.bincount([len(s) for s in sentences])
            buckets = [length for length, count in enumerate(counts) if count >= batch_size]
        buckets = sorted(buckets)
        lines: list[list[np.ndarray]] = [[] for _ in buckets]
        discarded = 0
        for sentence in sentences:
            place = bisect.bisect_left(buckets, len(sentence))
            if place == len(buckets):
                discarded += 1
                continue
            line = np.full((buckets[place],), invalid_label, dtype=dtype)
            line[: len(sentence)] = sentence
            lines[place].append(line)
        if discarded:
            logging.warning("discarded %d sentences longer than the largest bucket.", discarded)
        self.buckets = [size for size, own in zip(buckets, lines) if own]
        self.data = [np.asarray(own, dtype=dtype) for own in lines if own]
        self.batch_size, self.invalid_label, self.dtype, self.layout = batch_size, invalid_label, dtype, layout
        self.data_name, self.label_name = data_name, label_name
        self.major_axis = layout.find("N")
        self.default_bucket_key = max(self.buckets)
        shape = self._to_major_axis((batch_size, self.default_bucket_key))
        self.provide_data = [DataDesc(data_name, shape, layout=layout)]
        self.provide_label = [DataDesc(label_name, shape, layout=layout)]
        self.idx = [(i, j) for i, own in enumerate(self.data) for j in range(0, len(own) - batch_size + 1, batch_size)]
        self.nddata: list[Any] = []
        self.ndlabel: list[Any] = []
        self._orders = [np.arange(len(own)) for own in self.data]
        """The sentences' numbers as they were given, bucket by bucket, in the order in which they stand now."""
        self.reset()

    def _to_major_axis(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape if self.major_axis == 0 else shape[::-1]

    def reset(self) -> None:
        """Start again, in another order."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        for i, own in enumerate(self.data):
            order = np.arange(len(own))
            np.random.shuffle(order)  # draws what a shuffle of the sentences themselves would
            self._reorder(i, order)
        self._make_arrays()

    def _reorder(self, bucket: int, order: np.ndarray) -> None:
        self.data[bucket][:] = self.data[bucket][order]
        self._orders[bucket] = self._orders[bucket][order]

    def _make_arrays(self) -> None:
        self.nddata, self.ndlabel = [], []
        for own in self.data:
            following = np.full_like(own, self.invalid_label)
            following[:, :-1] = own[:, 1:]
            self.nddata.append(ndarray.array(own, dtype=self.dtype))
            self.ndlabel.append(ndarray.array(following, dtype=self.dtype))

    def _standing(self) -> dict[str, np.ndarray]:
        """The place where it stands at the beginning of an epoch (hybrid/resuming)."""
        orders = {f"order/{i}": order.copy() for i, order in enumerate(self._orders)}
        return {"at": np.array(self.curr_idx), "idx": np.array(self.idx, np.int64).reshape(-1, 2), **orders}

    def _stand(self, place: Mapping[str, np.ndarray]) -> None:
        """Stand where _standing was asked. Raises MXNetError for a place in other sentences."""
        orders = [place.get(f"order/{i}", np.arange(0)) for i in range(len(self.data))]
        counts, wanted = [len(order) for order in orders], [len(own) for own in self.data]
        if counts != wanted or len(place["idx"]) != len(self.idx):
            raise MXNetError(
                f"BucketSentenceIter: got a place in buckets of {counts} sentences, wanted one in buckets of {wanted}"
            )
        for i, order in enumerate(orders):
            found = np.empty(len(order), np.int64)
            found[self._orders[i]] = np.arange(len(order))
            self._reorder(i, found[order])
        self.idx = [(int(i), int(j)) for i, j in place["idx"]]
        self.curr_idx = int(place["at"])
        self._make_arrays()

    def next(self) -> DataBatch:
        """The next batch. Raises StopIteration after the last."""
        if self.curr_idx == len(self.idx):
            raise StopIteration
        i, j = self.idx[self.curr_idx]
        self.curr_idx += 1
        data, label = (a[i][j : j + self.batch_size] for a in (self.nddata, self.ndlabel))
        if self.major_axis == 1:
            data, label = data.T, label.T
        return DataBatch(
            [data],
            [label],
            pad=0,
            bucket_key=self.buckets[i],
            provide_data=[DataDesc(self.data_name, data.shape, layout=self.layout)],
            provide_label=[DataDesc(self.label_name, label.shape, layout=self.layout)],
        )
