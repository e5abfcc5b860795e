"""Metrics: measures of how good predictions are. ``mx.metric``.

Every metric keeps a sum and a count since the last ``reset_local``, and both again since the last ``reset`` ("global").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from . import ndarray, registry
from .eager.faces import as_nd
from .ndarray import NDArray

Pair = tuple[numpy.ndarray, numpy.ndarray]


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False, shape: bool = False) -> tuple[Any, Any]:
    """labels and preds; with wrap, single arrays as lists. Raises ValueError when their lengths differ, with shape their shapes.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.metric.check_label_shapes([1, 2], [3, 4])
    ([1, 2], [3, 4])
    """
    found = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if found[0] != found[1]:
        raise ValueError(f"Shape of labels {found[0]} does not match shape of predictions {found[1]}")
    if wrap:
        labels, preds = (as_nd([x] if isinstance(x, NDArray) else x) for x in (labels, preds))
    return labels, preds


def _pairs(labels: Any, preds: Any) -> Iterator[Pair]:
    """(label, prediction) as NumPy arrays."""
    for label, pred in zip(*check_label_shapes(labels, preds, True)):
        yield label.asnumpy(), pred.asnumpy()


class EvalMetric:
    """Base class: ``update(labels, preds)`` adds to the sums, ``get()`` gives (name, sum / count).

    Parameters
    ----------
    name : str
        Name that the number is shown by.
    output_names : list of str or None, default None
        Outputs to look at, of those that are given by name; None: all.
    label_names : list of str or None, default None
        Labels to look at, of those that are given by name; None: all.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Largest(mx.metric.EvalMetric):
    ...     def update(self, labels, preds):
    ...         for pred in preds:
    ...             self.sum_metric = max(self.sum_metric, pred.max().asscalar().item())
    ...             self.num_inst = 1
    >>> metric = Largest("largest")
    >>> metric.update([mx.nd.zeros(2)], [mx.nd.array([1, 3])])
    >>> metric.get()
    ('largest', 3.0)
    """

    num_inst: Any
    sum_metric: Any
    global_num_inst: Any
    global_sum_metric: Any

    def __init__(self, name: str, output_names: Any = None, label_names: Any = None, **kwargs: Any) -> None:
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self) -> dict[str, Any]:
        """Settings that ``create`` makes an equal metric of.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.metric.TopKAccuracy(top_k=5).get_config()["name"]
        'top_k_accuracy_5'
        """
        own = {"metric": type(self).__name__, "name": self.name}
        return {**self._kwargs, **own, "output_names": self.output_names, "label_names": self.label_names}

    def update_dict(self, label: dict[str, Any], pred: dict[str, Any]) -> None:
        """update with arrays by name, label and pred: those of label_names and output_names, or all. CompositeEvalMetric calls them
        labels and preds.

        Examples
        --------
        >>> from gluonnx import mx
        >>> metric = mx.metric.Accuracy()
        >>> metric.update_dict({"label": mx.nd.array([0])}, {"output": mx.nd.array([[0.9, 0.1]])})
        >>> metric.get()
        ('accuracy', 1.0)
        """
        preds = list(pred.values()) if self.output_names is None else [pred[n] for n in self.output_names]
        labels = list(label.values()) if self.label_names is None else [label[n] for n in self.label_names]
        self.update(labels, preds)

    def update(self, labels: Any, preds: Any) -> None:
        """Take predictions (preds) and their labels into account: NDArrays or lists of them, of as many, batches first.

        Raises ValueError where there are not as many labels as predictions, and where shapes do not fit; AssertionError
        where they do not fit Perplexity or TopKAccuracy.

        Examples
        --------
        >>> from gluonnx import mx
        >>> metric = mx.metric.MAE()
        >>> metric.update([mx.nd.array([1, 2])], [mx.nd.array([1, 3])])
        >>> metric.get()
        ('mae', 0.5)
        """
        raise NotImplementedError

    def _add(self, value: Any, count: int) -> None:
        if getattr(value, "size", 1) == 1:  # an array of one number too, which NumPy 2.4 makes no float of
            value = float(value.item() if isinstance(value, numpy.ndarray) else value)
        self.sum_metric = self.sum_metric + value
        self.global_sum_metric = self.global_sum_metric + value
        self.num_inst += count
        self.global_num_inst += count

    def reset(self) -> None:
        """Forget everything.

        Examples
        --------
        >>> from gluonnx import mx
        >>> metric = mx.metric.MAE()
        >>> metric.update([mx.nd.array([1])], [mx.nd.array([2])])
        >>> metric.reset()
        >>> metric.get()
        ('mae', nan)
        """
        self.global_num_inst = 0
        self.global_sum_metric = 0.0
        self.reset_local()

    def reset_local(self) -> None:
        """Forget all but the global sums.

        Examples
        --------
        >>> from gluonnx import mx
        >>> metric = mx.metric.MAE()
        >>> metric.update([mx.nd.array([1])], [mx.nd.array([2])])
        >>> metric.reset_local()
        >>> metric.get(), metric.get_global()
        (('mae', nan), ('mae', 1.0))
        """
        self.num_inst = 0
        self.sum_metric = 0.0

    def get(self) -> tuple[Any, Any]:
        """(name, value since reset_local); NaN when nothing came.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.metric.Accuracy().get()
        ('accuracy', nan)
        """
        return self.name, self._value(self.sum_metric, self.num_inst) if self.num_inst else math.nan

    def get_global(self) -> tuple[Any, Any]:
        """(name, value since reset).

        Examples
        --------
        >>> from gluonnx import mx
        >>> metric = mx.metric.MAE()
        >>> metric.update([mx.nd.array([1])], [mx.nd.array([2])])
        >>> metric.get_global()
        ('mae', 1.0)
        """
        if not self._has_global_stats:
            return self.get()
        return self.name, self._value(
            self.global_sum_metric, self.global_num_inst
        ) if self.global_num_inst else math.nan

    def _value(self, total: Any, count: Any) -> Any:
        return total / count

    def get_name_value(self) -> list[tuple[str, Any]]:
        """get as a list of pairs.

        Examples
        --------
        >>> from gluonnx import mx
        >>> metric = mx.metric.MAE()
        >>> metric.update([mx.nd.array([1])], [mx.nd.array([2])])
        >>> metric.get_name_value()
        [('mae', 1.0)]
        """
        return _as_pairs(*self.get())

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """get_global as a list of pairs.

        Examples
        --------
        >>> from gluonnx import mx
        >>> metric = mx.metric.MAE()
        >>> metric.update([mx.nd.array([1])], [mx.nd.array([2])])
        >>> metric.get_global_name_value()
        [('mae', 1.0)]
        """
        return _as_pairs(*self.get_global())


def _as_pairs(name: Any, value: Any) -> list[tuple[str, Any]]:
    names, values = (x if isinstance(x, list) else [x] for x in (name, value))
    return list(zip(names, values))


register = registry.get_register_func(EvalMetric, "metric")
alias = registry.get_alias_func(EvalMetric, "metric")
_create = registry.get_create_func(EvalMetric, "metric")
register.__doc__ = f"""{register.__doc__}

Examples
--------
>>> from gluonnx import mx
>>> @mx.metric.register
... class Largest(mx.metric.EvalMetric):
...     def __init__(self):
...         super().__init__("largest")
...     def update(self, labels, preds):
...         self.sum_metric, self.num_inst = max(pred.max().asscalar().item() for pred in preds), 1
>>> metric = mx.metric.create("largest")
>>> metric.update(None, [mx.nd.array([1, 3])])
>>> metric.get()
('largest', 3.0)
"""
alias.__doc__ = f"""{alias.__doc__}

Examples
--------
>>> from gluonnx import mx
>>> @mx.metric.alias("deviation", "dev")
... class Deviation(mx.metric.RMSE):
...     pass
>>> type(mx.metric.create("dev")).__name__
'Deviation'
"""


def create(metric: Any, *args: Any, **kwargs: Any) -> Any:
    """The metric of a name, of a function (label, prediction) -> value, or of a list of these.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.metric.create("acc").name
    'accuracy'
    >>> mx.metric.create(["acc", "mae"]).get()
    (['accuracy', 'mae'], [nan, nan])
    >>> mx.metric.create(lambda label, pred: abs(label - pred).max()).name
    'custom(<lambda>)'
    """
    if callable(metric):
        return CustomMetric(metric, *args, **kwargs)
    if isinstance(metric, list):
        return CompositeEvalMetric([create(child, *args, **kwargs) for child in metric])
    return _create(metric, *args, **kwargs)


@register
@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics as one; its names and values are lists.

    Parameters
    ----------
    name : str, default 'composite'
        Name that the number is shown by.
    output_names : list of str or None, default None
        Outputs to look at, of those that are given by name; None: all.
    label_names : list of str or None, default None
        Labels to look at, of those that are given by name; None: all.

    Examples
    --------
    >>> from gluonnx import mx
    >>> metric = mx.metric.CompositeEvalMetric([mx.metric.MAE(), mx.metric.MSE()])
    >>> metric.update([mx.nd.array([1])], [mx.nd.array([3])])
    >>> metric.get()
    (['mae', 'mse'], [2.0, 4.0])
    """

    def __init__(
        self, metrics: Any = None, name: str = "composite", output_names: Any = None, label_names: Any = None
    ) -> None:
        self.metrics: list[EvalMetric] = []
        super().__init__(name, output_names, label_names, has_global_stats=True)
        self.metrics = [create(m) for m in metrics or ()]

    def add(self, metric: Any) -> None:
        """Add a metric.

        Examples
        --------
        >>> from gluonnx import mx
        >>> metric = mx.metric.CompositeEvalMetric()
        >>> metric.add("mae")
        >>> metric.get()[0]
        ['mae']
        """
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """The metric of an index. Raises ValueError (MXNet gives it back instead) when there are not as many.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.metric.CompositeEvalMetric(["mae", "mse"]).get_metric(1).name
        'mse'
        """
        try:
            return self.metrics[index]
        except IndexError:
            raise ValueError(f"Metric index {index} is out of range 0 and {len(self.metrics)}") from None

    def update_dict(self, labels: dict[str, Any], preds: dict[str, Any]) -> None:  # type: ignore[override]  # MXNet's names
        if self.label_names is not None:
            labels = {k: v for k, v in labels.items() if k in self.label_names}
        if self.output_names is not None:
            preds = {k: v for k, v in preds.items() if k in self.output_names}
        for metric in self.metrics:
            metric.update_dict(labels, preds)

    def update(self, labels: Any, preds: Any) -> None:
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[list[str], list[Any]]:
        return _join([m.get() for m in self.metrics])

    def get_global(self) -> tuple[list[str], list[Any]]:
        return _join([m.get_global() for m in self.metrics])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "metrics": [m.get_config() for m in self.metrics]}


def _join(results: Sequence[tuple[Any, Any]]) -> tuple[list[str], list[Any]]:
    pairs = [pair for name, value in results for pair in _as_pairs(name, value)]
    return [n for n, _ in pairs], [v for _, v in pairs]


class _Plain(EvalMetric):
    """Base of those with sums and counts, and no arguments but names."""

    def __init__(self, name: str, output_names: Any = None, label_names: Any = None, **kwargs: Any) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True, **kwargs)


# -- classification ---------------------------------------------------------------------------------------------------------


@register
@alias("acc")
class Accuracy(_Plain):
    """The part of predictions that are right; of scores the greatest along axis counts.

    Parameters
    ----------
    axis : int, default 1
        Axis of the classes in predictions; negative ones count from the last.
    name : str, default 'accuracy'
        Name that the number is shown by.
    output_names : list of str or None, default None
        Outputs to look at, of those that are given by name; None: all.
    label_names : list of str or None, default None
        Labels to look at, of those that are given by name; None: all.

    Examples
    --------
    >>> from gluonnx import mx
    >>> metric = mx.metric.Accuracy()
    >>> metric.update([mx.nd.array([0, 1])], [mx.nd.array([[0.9, 0.1], [0.8, 0.2]])])
    >>> metric.get()
    ('accuracy', 0.5)"""

    def __init__(
        self, axis: int = 1, name: str = "accuracy", output_names: Any = None, label_names: Any = None
    ) -> None:
        super().__init__(name, output_names, label_names, axis=axis)
        self.axis = axis

    def update(self, labels: Any, preds: Any) -> None:
        for label, pred in zip(*check_label_shapes(labels, preds, True)):
            chosen = pred if pred.shape == label.shape else pred.argmax(axis=self.axis)
            got, want = (x.asnumpy().astype("int32").ravel() for x in (chosen, label))
            check_label_shapes(want, got)
            self._add((got == want).sum(), len(got))


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(_Plain):
    """The part of samples whose label is among the top_k greatest scores.

    Raises AssertionError for a top_k below 2: that is Accuracy.

    Parameters
    ----------
    name : str, default 'top_k_accuracy'
        Name that the number is shown by.
    output_names : list of str or None, default None
        Outputs to look at, of those that are given by name; None: all.
    label_names : list of str or None, default None
        Labels to look at, of those that are given by name; None: all.

    Examples
    --------
    >>> from gluonnx import mx
    >>> metric = mx.metric.TopKAccuracy(top_k=2)
    >>> metric.update([mx.nd.array([2, 0])], [mx.nd.array([[0.1, 0.5, 0.4], [0.1, 0.5, 0.4]])])
    >>> metric.get()
    ('top_k_accuracy_2', 0.5)
    """

    def __init__(
        self, top_k: int = 1, name: str = "top_k_accuracy", output_names: Any = None, label_names: Any = None
    ) -> None:
        super().__init__(name, output_names, label_names, top_k=top_k)
        self.top_k = top_k
        if top_k <= 1:
            raise AssertionError("Please use Accuracy if top_k is no more than 1")
        self.name += f"_{top_k}"

    def update(self, labels: Any, preds: Any) -> None:
        for label, pred in _pairs(labels, preds):
            if pred.ndim > 2:
                raise AssertionError("Predictions should be no more than 2 dims")
            order = numpy.argpartition(pred.astype("float32"), -self.top_k)
            want = label.astype("int32")
            check_label_shapes(want, order)
            best = order.reshape(len(order), -1)[:, -self.top_k :]
            self._add((best == want.reshape(-1, 1)).sum(), len(order))


class _Counts:
    """True and false positives and negatives, since reset_local and since reset."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.all = numpy.zeros((2, 2))
        self.reset_local()

    def reset_local(self) -> None:
        self.recent = numpy.zeros((2, 2))

    def add(self, label: numpy.ndarray, pred: numpy.ndarray) -> None:
        label = label.astype("int32")
        check_label_shapes(label, pred)
        if len(numpy.unique(label)) > 2:
            raise ValueError("this metric currently only supports binary classification.")
        chosen = numpy.argmax(pred, axis=1) == 1
        counts = numpy.zeros((2, 2))
        numpy.add.at(counts, ((label == 1).ravel().astype(int), chosen.astype(int)), 1)
        self.recent += counts
        self.all += counts


def _fscore(counts: numpy.ndarray) -> float:
    """The harmonic mean of precision and recall; counts by [label, prediction].

    Examples
    --------
    >>> import numpy
    >>> from gluonnx import mx
    >>> counts = numpy.array([[1, 0], [1, 1]])  # of two labels 1 one was predicted as 0
    >>> round(float(mx.metric.F1.score(counts)), 4)
    0.6667
    """
    hits = counts[1, 1]
    precision = hits / counts[:, 1].sum() if counts[:, 1].any() else 0.0
    recall = hits / counts[1].sum() if counts[1].any() else 0.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _matthews(counts: numpy.ndarray) -> float:
    """Matthews' correlation coefficient of counts (label, prediction); sums that are zero count as 1.

    Examples
    --------
    >>> import numpy
    >>> from gluonnx import mx
    >>> counts = numpy.array([[1, 0], [1, 1]])  # of two labels 1 one was predicted as 0
    >>> float(mx.metric.MCC.score(counts))
    0.5
    """
    sums = [s for s in (*counts.sum(axis=0), *counts.sum(axis=1)) if s]
    return (counts[1, 1] * counts[0, 0] - counts[0, 1] * counts[1, 0]) / math.sqrt(math.prod(sums))


class _Binary(_Plain):
    """Base of scores of two classes. average: 'macro' for the mean over updates, 'micro' for one score of all samples."""

    score: Callable[[numpy.ndarray], float]

    def __init__(self, name: str, output_names: Any, label_names: Any, average: str) -> None:
        self.average = average
        self._counts = _Counts()
        super().__init__(name, output_names, label_names)

    def update(self, labels: Any, preds: Any) -> None:
        for label, pred in _pairs(labels, preds):
            self._counts.add(label, pred)
        score, counts = type(self).score, self._counts
        if self.average == "macro":
            self._add(score(counts.recent), 1)
            counts.reset()
            return
        self.num_inst, self.global_num_inst = int(counts.recent.sum()), int(counts.all.sum())
        self.sum_metric = score(counts.recent) * self.num_inst
        self.global_sum_metric = score(counts.all) * self.global_num_inst

    def reset(self) -> None:
        super().reset()
        self._counts.reset()

    def reset_local(self) -> None:
        super().reset_local()
        self._counts.reset_local()


@register
class F1(_Binary):
    """The F1 score of two classes: the harmonic mean of precision and recall of class 1.

    Parameters
    ----------
    name : str, default 'f1'
        Name that the number is shown by.
    output_names : list of str or None, default None
        Outputs to look at, of those that are given by name; None: all.
    label_names : list of str or None, default None
        Labels to look at, of those that are given by name; None: all.
    average : str, default 'macro'
        macro: mean of the batches; micro: of all examples at once.

    Examples
    --------
    >>> from gluonnx import mx
    >>> metric = mx.metric.F1()
    >>> labels, scores = mx.nd.array([1, 1, 0]), mx.nd.array([[0.1, 0.9], [0.8, 0.2], [0.7, 0.3]])
    >>> metric.update([labels], [scores])
    >>> name, value = metric.get()
    >>> name, round(value, 4)
    ('f1', 0.6667)
    """

    score = staticmethod(_fscore)

    def __init__(
        self, name: str = "f1", output_names: Any = None, label_names: Any = None, average: str = "macro"
    ) -> None:
        super().__init__(name, output_names, label_names, average)


@register
class MCC(_Binary):
    """Matthews' correlation coefficient of two classes (see PCC for more).

    Parameters
    ----------
    name : str, default 'mcc'
        Name that the number is shown by.
    output_names : list of str or None, default None
        Outputs to look at, of those that are given by name; None: all.
    label_names : list of str or None, default None
        Labels to look at, of those that are given by name; None: all.
    average : str, default 'macro'
        macro: mean of the batches; micro: of all examples at once.

    Examples
    --------
    >>> from gluonnx import mx
    >>> metric = mx.metric.MCC()
    >>> labels, scores = mx.nd.array([1, 1, 0]), mx.nd.array([[0.1, 0.9], [0.8, 0.2], [0.7, 0.3]])
    >>> metric.update([labels], [scores])
    >>> metric.get()
    ('mcc', 0.5)
    """

    score = staticmethod(_matthews)

    def __init__(
        self, name: str = "mcc", output_names: Any = None, label_names: Any = None, average: str = "macro"
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    def reset(self) -> None:
        super().reset()
        self.num_inst = self.global_num_inst = 0.0  # which MXNet counts updates from, here alone

    def reset_local(self) -> None:
        super().reset_local()
        self.num_inst = 0.0


@register
class PCC(EvalMetric):
    """Pearson's correlation coefficient of a confusion matrix: MCC for any number of classes (Gorodkin, 2004).

    Parameters
    ----------
    name : str, default 'pcc'
        Name that the number is shown by.
    output_names : list of str or None, default None
        Outputs to look at, of those that are given by name; None: all.
    label_names : list of str or None, default None
        Labels to look at, of those that are given by name; None: all.
    has_global_stats : bool, default True
        Read and not used, as in MXNet.

    Examples
    --------
    >>> from gluonnx import mx
    >>> metric = mx.metric.PCC()
    >>> scores = mx.nd.array([[0.1, 0.9], [0.8, 0.2], [0.7, 0.3]])
    >>> metric.update([mx.nd.array([1, 1, 0])], [scores])
    >>> name, value = metric.get()
    >>> name, round(value, 4)
    ('pcc', 0.5)
    """

    def __init__(
        self, name: str = "pcc", output_names: Any = None, label_names: Any = None, has_global_stats: bool = True
    ) -> None:
        self.k = 2
        super().__init__(name, output_names, label_names, has_global_stats=has_global_stats)

    @staticmethod
    def _correlation(counts: numpy.ndarray) -> float:
        total, x, y = counts.sum(), counts.sum(axis=1), counts.sum(axis=0)
        xx, yy = numpy.sum(x * (total - x)), numpy.sum(y * (total - y))
        if xx == 0 or yy == 0:
            return math.nan
        return float(numpy.sum(counts.diagonal() * total - x * y) / (xx * yy) ** 0.5)

    def update(self, labels: Any, preds: Any) -> None:
        for label, pred in _pairs(labels, preds):
            want = label.astype("int32")
            got = pred.astype("int32") if pred.shape == want.shape else pred.argmax(axis=1)
            more = int(max(got.max(), want.max())) + 1 - self.k
            if more > 0:
                self.k += more
                self.lcm, self.gcm = (numpy.pad(m, (0, more)) for m in (self.lcm, self.gcm))
            numpy.add.at(self.lcm, (got.ravel(), want.ravel()), 1)
            numpy.add.at(self.gcm, (got.ravel(), want.ravel()), 1)
        self.num_inst += 1
        self.global_num_inst += 1

    @property
    def sum_metric(self) -> float:  # type: ignore[override]
        """The correlation times num_inst."""
        return self._correlation(self.lcm) * self.num_inst

    @property
    def global_sum_metric(self) -> float:  # type: ignore[override]
        """The same since the last full reset.

        Examples
        --------
        >>> from gluonnx import mx
        >>> metric = mx.metric.PCC()
        >>> scores = mx.nd.array([[0.1, 0.9], [0.8, 0.2], [0.7, 0.3]])
        >>> metric.update([mx.nd.array([1, 1, 0])], [scores])
        >>> metric.reset_local()
        >>> round(metric.global_sum_metric / metric.global_num_inst, 4)
        0.5
        """
        return self._correlation(self.gcm) * self.global_num_inst

    def reset(self) -> None:
        self.global_num_inst = 0.0
        self.gcm = numpy.zeros((self.k, self.k))
        self.reset_local()

    def reset_local(self) -> None:
        self.num_inst = 0.0
        self.lcm = numpy.zeros((self.k, self.k))


# -- distances --------------------------------------------------------------------------------------------------------------


class _Distance(_Plain):
    """Base of the mean of a distance over updates."""

    def update(self, labels: Any, preds: Any) -> None:
        for label, pred in _pairs(labels, preds):
            label, pred = (x.reshape(-1, 1) if x.ndim == 1 else x for x in (label, pred))
            self._add(self.distance(label - pred), 1)

    def distance(self, difference: numpy.ndarray) -> Any:
        """The number of one batch, given the difference of labels and predictions.

        Examples
        --------
        >>> import numpy
        >>> from gluonnx import mx
        >>> difference = numpy.array([[3.0], [-4.0]])
        >>> mx.metric.MAE().distance(difference).item(), mx.metric.MSE().distance(difference).item()
        (3.5, 12.5)
        """
        raise NotImplementedError


@register
class MAE(_Distance):
    """Mean absolute error.

    Parameters
    ----------
    name : str, default 'mae'
        Name that the number is shown by.
    output_names : list of str or None, default None
        Outputs to look at, of those that are given by name; None: all.
    label_names : list of str or None, default None
        Labels to look at, of those that are given by name; None: all.

    Examples
    --------
    >>> from gluonnx import mx
    >>> metric = mx.metric.MAE()
    >>> metric.update([mx.nd.array([1, 2])], [mx.nd.array([1, 4])])
    >>> metric.get()
    ('mae', 1.0)
    """

    def __init__(self, name: str = "mae", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)

    def distance(self, difference: numpy.ndarray) -> Any:
        return numpy.abs(difference).mean()


@register
class MSE(_Distance):
    """Mean squared error.

    Parameters
    ----------
    name : str, default 'mse'
        Name that the number is shown by.
    output_names : list of str or None, default None
        Outputs to look at, of those that are given by name; None: all.
    label_names : list of str or None, default None
        Labels to look at, of those that are given by name; None: all.

    Examples
    --------
    >>> from gluonnx import mx
    >>> metric = mx.metric.MSE()
    >>> metric.update([mx.nd.array([1, 2])], [mx.nd.array([1, 4])])
    >>> metric.get()
    ('mse', 2.0)
    """

    def __init__(self, name: str = "mse", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)

    def distance(self, difference: numpy.ndarray) -> Any:
        return (difference**2.0).mean()


@register
class RMSE(_Distance):
    """Root of the mean squared error, averaged over updates.

    Parameters
    ----------
    name : str, default 'rmse'
        Name that the number is shown by.
    output_names : list of str or None, default None
        Outputs to look at, of those that are given by name; None: all.
    label_names : list of str or None, default None
        Labels to look at, of those that are given by name; None: all.

    Examples
    --------
    >>> from gluonnx import mx
    >>> metric = mx.metric.RMSE()
    >>> metric.update([mx.nd.array([1, 2])], [mx.nd.array([3, 4])])
    >>> metric.get()
    ('rmse', 2.0)
    """

    def __init__(self, name: str = "rmse", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)

    def distance(self, difference: numpy.ndarray) -> Any:
        return numpy.sqrt((difference**2.0).mean())


# -- probabilities ------------------------------------------------------------------------------------------------------------


class _Likelihood(_Plain):
    """Base of the mean of -log(probability of the label + eps)."""

    def __init__(self, eps: float, name: str, output_names: Any, label_names: Any) -> None:
        super().__init__(name, output_names, label_names, eps=eps)
        self.eps = eps

    def update(self, labels: Any, preds: Any) -> None:
        for label, pred in _pairs(labels, preds):
            label = label.ravel()
            if len(label) != len(pred):
                raise AssertionError(f"got {len(label)} labels for {len(pred)} predictions")
            probability = pred[numpy.arange(len(label)), label.astype("int64")]
            self._add((-numpy.log(probability + self.eps)).sum(), len(label))


@register
@alias("ce")
class CrossEntropy(_Likelihood):
    """Cross entropy of predicted probabilities.

    Parameters
    ----------
    eps : float, default 1e-12
        Number that is added to probabilities, against log(0).
    name : str, default 'cross-entropy'
        Name that the number is shown by.
    output_names : list of str or None, default None
        Outputs to look at, of those that are given by name; None: all.
    label_names : list of str or None, default None
        Labels to look at, of those that are given by name; None: all.

    Examples
    --------
    >>> from gluonnx import mx
    >>> metric = mx.metric.CrossEntropy()
    >>> metric.update([mx.nd.array([0, 1])], [mx.nd.array([[0.5, 0.5], [0.75, 0.25]])])
    >>> name, value = metric.get()
    >>> name, round(value, 4)
    ('cross-entropy', 1.0397)
    """

    def __init__(
        self, eps: float = 1e-12, name: str = "cross-entropy", output_names: Any = None, label_names: Any = None
    ) -> None:
        super().__init__(eps, name, output_names, label_names)


@register
@alias("nll_loss")
class NegativeLogLikelihood(_Likelihood):
    """Negative log-likelihood of predicted probabilities.

    Parameters
    ----------
    eps : float, default 1e-12
        Number that is added to probabilities, against log(0).
    name : str, default 'nll-loss'
        Name that the number is shown by.
    output_names : list of str or None, default None
        Outputs to look at, of those that are given by name; None: all.
    label_names : list of str or None, default None
        Labels to look at, of those that are given by name; None: all.

    Examples
    --------
    >>> from gluonnx import mx
    >>> metric = mx.metric.NegativeLogLikelihood()
    >>> metric.update([mx.nd.array([0])], [mx.nd.array([[0.5, 0.5]])])
    >>> name, value = metric.get()
    >>> name, round(value, 4)
    ('nll-loss', 0.6931)
    """

    def __init__(
        self, eps: float = 1e-12, name: str = "nll-loss", output_names: Any = None, label_names: Any = None
    ) -> None:
        super().__init__(eps, name, output_names, label_names)


@register
class Perplexity(_Plain):
    """exp of the mean of -log(probability of the label), labels that are ignore_label left out.

    Parameters
    ----------
    axis : int, default -1
        Axis of the classes in predictions; negative ones count from the last.
    name : str, default 'perplexity'
        Name that the number is shown by.
    output_names : list of str or None, default None
        Outputs to look at, of those that are given by name; None: all.
    label_names : list of str or None, default None
        Labels to look at, of those that are given by name; None: all.

    Examples
    --------
    >>> from gluonnx import mx
    >>> metric = mx.metric.Perplexity(ignore_label=None)
    >>> metric.update([mx.nd.array([0, 1])], [mx.nd.array([[0.5, 0.5], [0.5, 0.5]])])
    >>> name, value = metric.get()
    >>> name, round(value, 4)
    ('perplexity', 2.0)
    """

    def __init__(
        self,
        ignore_label: int | None,
        axis: int = -1,
        name: str = "perplexity",
        output_names: Any = None,
        label_names: Any = None,
    ) -> None:
        super().__init__(name, output_names, label_names, ignore_label=ignore_label)
        self.ignore_label = ignore_label
        self.axis = axis

    def update(self, labels: Any, preds: Any) -> None:
        if len(labels) != len(preds):
            raise AssertionError(f"got {len(labels)} labels and {len(preds)} predictions, wanted as many")
        loss, count = 0.0, 0
        for label, pred in zip(as_nd(labels), as_nd(preds)):
            if label.size != pred.size / pred.shape[-1]:
                raise AssertionError(f"shape mismatch: {label.shape} vs. {pred.shape}")
            label = label.as_in_context(pred.context).reshape((label.size,))
            chosen = pred.pick(label.astype("int32"), axis=self.axis).asnumpy()
            count += chosen.size
            if self.ignore_label is not None:
                ignored = label.asnumpy() == self.ignore_label
                count -= int(ignored.sum())
                chosen = numpy.where(ignored, numpy.ones((), chosen.dtype), chosen)
            loss -= float(numpy.log(numpy.maximum(1e-10, chosen)).sum())
        self._add(loss, count)

    def _value(self, total: Any, count: Any) -> float:
        return math.exp(total / count)


# -- correlation, losses, own functions ------------------------------------------------------------------------------------------


@register
@alias("pearsonr")
class PearsonCorrelation(_Plain):
    """Pearson's correlation. average: 'macro' for the mean over updates, 'micro' for one over all samples.

    Parameters
    ----------
    name : str, default 'pearsonr'
        Name that the number is shown by.
    output_names : list of str or None, default None
        Outputs to look at, of those that are given by name; None: all.
    label_names : list of str or None, default None
        Labels to look at, of those that are given by name; None: all.
    average : str, default 'macro'
        macro: mean of the batches; micro: of all examples at once.

    Examples
    --------
    >>> from gluonnx import mx
    >>> metric = mx.metric.PearsonCorrelation()
    >>> metric.update([mx.nd.array([1, 2, 3])], [mx.nd.array([2, 4, 6])])
    >>> name, value = metric.get()
    >>> name, round(float(value), 4)
    ('pearsonr', 1.0)
    """

    def __init__(
        self, name: str = "pearsonr", output_names: Any = None, label_names: Any = None, average: str = "macro"
    ) -> None:
        self.average = average
        super().__init__(name, output_names, label_names)

    def reset_micro(self) -> None:
        """Forget the running means and variances.

        Examples
        --------
        >>> from gluonnx import mx
        >>> metric = mx.metric.PearsonCorrelation(average="micro")
        >>> metric.update([mx.nd.array([1, 2, 3])], [mx.nd.array([3, 2, 1])])
        >>> round(metric.get()[1], 4)
        -1.0
        >>> metric.reset_micro()
        >>> metric.update([mx.nd.array([1, 2, 3])], [mx.nd.array([1, 2, 3])])
        >>> round(metric.get()[1], 4)
        1.0
        """
        self._count = 0
        self._label, self._pred = (0.0, 0.0), (0.0, 0.0)  # mean, sum of squared differences
        self._conv = 0.0

    def reset(self) -> None:
        super().reset()
        self.reset_micro()

    def update_variance(self, new_values: numpy.ndarray, *aggregate: Any) -> tuple[Any, Any, Any]:
        """(count, mean, sum of squared differences), an aggregate, with new_values taken in (Welford, 1962).

        Examples
        --------
        >>> import numpy
        >>> from gluonnx import mx
        >>> metric = mx.metric.PearsonCorrelation()
        >>> count, mean, squares = metric.update_variance(numpy.array([1.0, 3.0]), 0, 0.0, 0.0)
        >>> count, float(mean), float(squares)
        (2, 2.0, 2.0)
        """
        count, mean, squares = aggregate
        count += len(new_values)
        delta = new_values - mean
        mean += numpy.sum(delta / count)
        return count, mean, squares + numpy.sum(delta * (new_values - mean))

    def update_cov(self, label: numpy.ndarray, pred: numpy.ndarray) -> None:
        """Take new values (label, pred) into the covariance; the mean of the labels has them already, not yet that of the
        predictions.

        Examples
        --------
        >>> from gluonnx import mx
        >>> metric = mx.metric.PearsonCorrelation(average="micro")
        >>> for batch in ([1, 2], [4, 3]):  # each update takes its values into the covariance
        ...     metric.update([mx.nd.array(batch)], [mx.nd.array(batch)])
        >>> round(metric.get()[1], 4)
        1.0
        """
        self._conv += numpy.sum((label - self._label[0]) * (pred - self._pred[0]))

    def update(self, labels: Any, preds: Any) -> None:
        for label, pred in _pairs(labels, preds):
            check_label_shapes(label, pred, False, True)
            label, pred = (x.ravel().astype(numpy.float64) for x in (label, pred))
            if self.average == "macro":
                with numpy.errstate(all="ignore"):
                    self._add(numpy.corrcoef(pred, label)[0, 1], 1)
                continue
            self._add(0.0, 1)
            _, *taken = self.update_variance(label, self._count, *self._label)
            self._label = tuple(taken)
            self.update_cov(label, pred)
            self._count, *taken = self.update_variance(pred, self._count, *self._pred)
            self._pred = tuple(taken)

    def get(self) -> tuple[str, Any]:
        if self.average == "macro" or not self.num_inst:
            return super().get()
        n = self._count - 1
        deviations = [numpy.sqrt(squares / n) for _, squares in (self._pred, self._label)]
        return self.name, float(self._conv / (n * deviations[0] * deviations[1]))


@register
class Loss(_Plain):
    """The mean of the outputs, for networks that end in their loss.

    Parameters
    ----------
    name : str, default 'loss'
        Name that the number is shown by.
    output_names : list of str or None, default None
        Outputs to look at, of those that are given by name; None: all.
    label_names : list of str or None, default None
        Labels to look at, of those that are given by name; None: all.

    Examples
    --------
    >>> from gluonnx import mx
    >>> metric = mx.metric.Loss()
    >>> metric.update(None, [mx.nd.array([1, 3])])
    >>> metric.get()
    ('loss', 2.0)
    """

    def __init__(self, name: str = "loss", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)

    def update(self, _: Any, preds: Any) -> None:
        for pred in [preds] if isinstance(preds, NDArray) else preds:
            self._add(ndarray.sum(as_nd(pred)).asscalar(), pred.size)


@register
class Torch(Loss):
    """Loss under another name.

    Parameters
    ----------
    name : str, default 'torch'
        Name that the number is shown by.
    output_names : list of str or None, default None
        Outputs to look at, of those that are given by name; None: all.
    label_names : list of str or None, default None
        Labels to look at, of those that are given by name; None: all.

    Examples
    --------
    >>> from gluonnx import mx
    >>> metric = mx.metric.Torch()
    >>> metric.update(None, [mx.nd.array([1, 3])])
    >>> metric.get()
    ('torch', 2.0)
    """

    def __init__(self, name: str = "torch", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """Loss under another name.

    Parameters
    ----------
    name : str, default 'caffe'
        Name that the number is shown by.
    output_names : list of str or None, default None
        Outputs to look at, of those that are given by name; None: all.
    label_names : list of str or None, default None
        Labels to look at, of those that are given by name; None: all.

    Examples
    --------
    >>> from gluonnx import mx
    >>> metric = mx.metric.Caffe()
    >>> metric.update(None, [mx.nd.array([1, 3])])
    >>> metric.get()
    ('caffe', 2.0)
    """

    def __init__(self, name: str = "caffe", output_names: Any = None, label_names: Any = None) -> None:
        super().__init__(name, output_names, label_names)


@register
class CustomMetric(_Plain):
    """The mean of feval(label, prediction), which gives a value, or a sum with a count, of NumPy arrays.

    Parameters
    ----------
    name : str, default None
        Name that the number is shown by.
    allow_extra_outputs : bool, default False
        There may be more outputs than labels; the first ones count.
    output_names : list of str or None, default None
        Outputs to look at, of those that are given by name; None: all.
    label_names : list of str or None, default None
        Labels to look at, of those that are given by name; None: all.

    Examples
    --------
    >>> from gluonnx import mx
    >>> metric = mx.metric.CustomMetric(lambda label, pred: abs(label - pred).max(), name="worst")
    >>> metric.update([mx.nd.array([1, 2])], [mx.nd.array([1, 4])])
    >>> name, value = metric.get()
    >>> name, float(value)
    ('worst', 2.0)
    """

    def __init__(
        self,
        feval: Callable[[Any, Any], Any],
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Any = None,
        label_names: Any = None,
    ) -> None:
        if name is None:
            name = feval.__name__
            if "<" in name:
                name = f"custom({name})"
        super().__init__(name, output_names, label_names, feval=feval, allow_extra_outputs=allow_extra_outputs)
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels: Any, preds: Any) -> None:
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, True)
        for pred, label in zip(preds, labels):
            value = self._feval(label.asnumpy(), pred.asnumpy())
            self._add(*(value if isinstance(value, tuple) else (value, 1)))

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError("CustomMetric cannot be serialized")


def np(
    numpy_feval: Callable[[Any, Any], Any], name: str | None = None, allow_extra_outputs: bool = False
) -> CustomMetric:
    """A CustomMetric of a function of NumPy arrays, with its name.

    Parameters
    ----------
    numpy_feval : callable
        Gives of (label, prediction) a value, or (sum, count).
    name : str or None, default None
        Name that the number is shown by; None: the function's.
    allow_extra_outputs : bool, default False
        More predictions than labels are taken; those beyond are passed over.

    Examples
    --------
    >>> from gluonnx import mx
    >>> metric = mx.metric.np(lambda label, pred: abs(label - pred).max(), name="worst")
    >>> metric.update([mx.nd.array([1, 2])], [mx.nd.array([1, 4])])
    >>> metric.get()
    ('worst', 2.0)"""

    def feval(label: Any, pred: Any) -> Any:
        return numpy_feval(label, pred)

    feval.__name__ = numpy_feval.__name__
    return CustomMetric(feval, name, allow_extra_outputs)
