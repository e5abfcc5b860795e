"""Gradients of loss heads by their data. Most heads start the backward pass and do not read what arrives at their output."""

import math

import numpy as np

from ..core.op import op
from ..core.shapes import is_known, merge, show
from .backward import Once
from .common import narrow, part_of, widen
from .loss_heads import CTCLoss, LinearRegressionOutput, MakeLoss, SoftmaxOutput, SVMOutput
from .softmax import softmax


class _OfHead(Once):
    """(..., y, label) -> as y; nothing is inferred back from it."""

    inputs = ("y", "label")

    def infer_shape(self, y, label, dy=None):
        merge(y, dy)
        if is_known(y) and is_known(label):
            problem = self.misfit(tuple(y), tuple(label))
            if problem:
                raise self.error(f"got label of shape {show(label)} for data of {show(y)}, wanted {problem}")
        return y

    def misfit(self, y: tuple[int, ...], label: tuple[int, ...]) -> str | None:
        """Describe what the label of data of that shape must have and has not; None when it fits."""
        return None if math.prod(label) == math.prod(y) else "as many elements"

    def infer_input_shapes(self, shapes, outputs):
        return shapes

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def infer_type(self, y, label):
        return y


@op("_backward_SoftmaxOutput")
@part_of("SoftmaxOutput")
class BackwardSoftmaxOutput(_OfHead, SoftmaxOutput):
    """(y, label) -> as y: y less 1 at the label (less what smoothing makes of that), times grad_scale; with out_grad there is
    a third input, dy, to multiply by. A label of y's shape holds probabilities."""

    inputs = ("y", "label", "dy")

    def input_names(self):
        return self.inputs if self.out_grad else self.inputs[:2]

    def infer_type(self, y, label, dy=None):
        return y

    def misfit(self, y, label):
        rows, _, columns = self.view_shape(y)
        return (
            None
            if label == y or math.prod(label) >= rows * columns
            else f"{rows * columns} elements at least, or its shape"
        )

    def view_shape(self, shape: tuple[int, ...]) -> tuple[int, int, int]:
        """(rows, classes, columns): there is one label for each row and column."""
        axis = self.axis(len(shape))
        if self.multi_output:
            return shape[0], shape[1], math.prod(shape[2:])
        if axis is None or len(shape) == 2:
            return shape[0], math.prod(shape[1:]), 1
        return math.prod(shape[:-1]), shape[-1], 1

    def compute(self, y, label, dy=None):
        out = widen(y)
        if label.shape == y.shape:
            dx = (out - label.astype(out.dtype)) * out.dtype.type(self.grad_scale)
            return narrow(dx * dy if self.out_grad else dx, y.dtype)
        shape = self.view_shape(y.shape)
        labels = label.reshape(-1).astype(np.int64)  # there may be more than rows: those count, and are not read
        classes = labels[: shape[0] * shape[2]].reshape(shape[0], 1, shape[2])
        at = np.arange(shape[1])[:, None] == classes
        alpha = out.dtype.type(0 if self.multi_output else self.smooth_alpha)
        dx = out.reshape(shape) - np.where(at, 1 - alpha, alpha / out.dtype.type(max(1, shape[1] - 1)))
        if self.use_ignore:
            dx[np.broadcast_to(classes == int(self.ignore_label), dx.shape)] = 0
        count = 1
        if self.normalization == "batch":
            count = shape[0] if self.multi_output else labels.size
        elif self.normalization == "valid":
            count = max(1, int((labels != int(self.ignore_label)).sum()))
        if self.multi_output and self.normalization != "valid":
            count *= shape[2]
        dx = dx.reshape(y.shape) * out.dtype.type(self.grad_scale / max(1, count))
        return narrow(dx * dy if self.out_grad else dx, y.dtype)


class _OfRegression(_OfHead, LinearRegressionOutput):
    """(y, label) -> as y: what the loss of each element changes by, times grad_scale over the elements of one example."""

    view = only_moves_data = False

    def compute(self, y, label):
        out, want = widen(y), label.reshape(y.shape).astype(widen(y).dtype)
        each = max(1, label.size // max(1, len(label)))
        return narrow(self._error(out, want) * out.dtype.type(self.grad_scale / each), y.dtype)

    def _error(self, y, label):
        return y - label


@op("_backward_LinearRegressionOutput")
@part_of("LinearRegressionOutput")
class BackwardLinearRegressionOutput(_OfRegression):
    """Gradient of LinearRegressionOutput and LogisticRegressionOutput by data."""


@op("_backward_MAERegressionOutput")
@part_of("MAERegressionOutput")
class BackwardMAERegressionOutput(_OfRegression):
    """Gradient of MAERegressionOutput by data."""

    def _error(self, y, label):
        return np.where(y > label, 1, -1).astype(y.dtype)  # where they are equal MXNet takes the left one


@op("_backward_SVMOutput")
@part_of("SVMOutput")
class BackwardSVMOutput(_OfHead, SVMOutput):
    """(y, label) -> as y: in each row along the last axis a class counts when its score is within
    margin of the wrong side; linearly or, else, squared."""

    view = only_moves_data = False

    def misfit(self, y, label):
        rows = math.prod(y[:-1])
        return None if y and math.prod(label) == rows else f"{rows} elements, one for each row"

    def compute(self, y, label):
        scores = widen(y).reshape(math.prod(y.shape[:-1]), y.shape[-1])
        sign = np.where(np.arange(scores.shape[1]) == label.reshape(-1, 1).astype(np.int64), -1, 1)
        sign = sign.astype(scores.dtype)
        short = self.margin + sign * scores
        weight = np.where(short > 0, 1 if self.use_linear else 2 * short, 0).astype(scores.dtype)
        dx = scores.dtype.type(self.regularization_coefficient) * sign * weight
        return narrow(dx.reshape(y.shape), y.dtype)


@op("_backward_MakeLoss")
class BackwardMakeLoss(MakeLoss):
    """data -> as data: grad_scale everywhere, over the number of rows (along the last axis) or of elements above valid_thresh.

    An array of one dimension is one row."""

    view = only_moves_data = False

    def gradient(self, F, g, data, dx):
        return None

    def compute(self, data):
        count = 1
        if self.normalization == "batch":
            count = max(1, math.prod(data.shape[:-1]))  # MXNet takes data for a matrix of rows along the last axis
        elif self.normalization == "valid":
            count = max(1, int((data > data.dtype.type(self.valid_thresh)).sum()))
        return np.full(data.shape, self.grad_scale / count, data.dtype)


@op("_backward_CTCLoss")
@part_of("CTCLoss", dy=0)
class BackwardCTCLoss(Once, CTCLoss):
    """(dy, data, label, lengths...) -> as data: the softmax less the probability of being at a class, given the label."""

    inputs = ("dy", *CTCLoss.inputs)

    def input_names(self):
        return ("dy", *CTCLoss.input_names(self))

    def infer_input_shapes(self, shapes, outputs):
        return shapes

    def infer_shape(self, dy, data, *rest):
        return data

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def infer_type(self, dy, data, *rest):
        return data

    def compute(self, dy, data, label, *lengths):
        lattice = self.lattice(data, label, *lengths)
        alphas = list(self.forward(lattice))
        logs, symbols, skips, sizes, spans = lattice
        steps, batch, _ = data.shape
        rows, places = np.arange(batch), np.arange(symbols.shape[1])
        ends = (places == 2 * sizes[:, None]) | (places == 2 * sizes[:, None] - 1)
        beta = np.where(ends, 0.0, -np.inf)
        total = np.logaddexp.reduce(np.where(ends, alphas[-1], -np.inf), axis=1)[:, None]
        ahead = np.pad(skips, ((0, 0), (0, 2)))[:, 2:]
        dx = softmax(data.astype(np.float64), 2)
        for step in range(steps - 1, -1, -1):
            if step + 1 < steps:
                later = beta + np.take_along_axis(logs[step + 1], symbols, 1)
                later = np.pad(later, ((0, 0), (0, 2)), constant_values=-np.inf)
                found = np.logaddexp.reduce([later[:, :-2], later[:, 1:-1], np.where(ahead, later[:, 2:], -np.inf)])
                beta = np.where((step + 1 < spans)[:, None], found, beta)
            share = np.exp(alphas[step] + beta - total)
            np.subtract.at(dx[step], (rows[:, None], symbols), share)
            dx[step, step >= spans] = 0
        dx[:, ~self.possible(lattice)] = 0
        return (dx * dy[:, None]).astype(data.dtype)
