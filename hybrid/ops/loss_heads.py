"""Loss heads: the last operators of networks made for training. Inference computes a prediction and does not read the label."""

import math
from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np

from ..core.op import DENSE, WHOLE, Domain, Op, op
from ..core.shapes import UNKNOWN, Undecided, compatible, is_known, merge, show
from .common import want_rank, want_rank_from, widen
from .composing import definite, known, narrowly, widely
from .elementwise import UNARY_FUNCTIONS, Identity
from .softmax import log_softmax, softmax


class LossHead(Op):
    """data -> prediction of the same shape. label may have any shape where it is not read; see want_ignored."""

    refuses = WHOLE

    inputs = ("data", "label")
    ignored = frozenset(("label",))

    def label_shape(self, data: tuple) -> tuple:
        """The shape of the label that goes with data."""
        raise NotImplementedError

    def label_shapes(self, data: tuple) -> list[tuple]:
        """All shapes that a label may have: that one, and others that MXNet takes too."""
        return [self.label_shape(data)]

    def infer_shape(self, data, label):
        return data  # a model that only predicts may hold a label of another batch

    def want_ignored(self, data: tuple, label: tuple) -> None:
        """Raise OpError unless a label of that shape goes with data."""
        allowed = self.label_shapes(data)
        if not any(compatible(label, shape) for shape in allowed):
            wanted = " or ".join(dict.fromkeys(map(show, allowed)))
            raise self.error(f"got label of shape {show(label)} for data of shape {show(data)}, wanted {wanted}")

    def infer_input_shapes(self, shapes, outputs):
        data = merge(shapes[0], outputs[0])
        label = shapes[1]
        if data is not None and not is_known(label):  # a label of another shape may be fine, an unknown one has this
            try:
                wanted = self.label_shape(data)
            except Undecided:  # that depends on a size that is not known yet
                return [data, label]
            label = wanted if label is None or len(label) == len(wanted) else label
        return [data, label]

    def infer_input_types(self, dtypes, outputs):
        data = dtypes[0] or outputs[0]
        return [data, dtypes[1] or data]

    def infer_type(self, data, label):
        return data


@op("SoftmaxOutput", "Softmax")
class SoftmaxOutput(LossHead):
    """Softmax over all axes but the first; with multi_output over axis 1, with preserve_shape over the last. (MXNet 1.9.1 with
    oneDNN takes the last of four axes without multi_output too; its other kernels, training, and this, all but the first.)

    Shapes: data (N, ..., C), label (N, ...); with multi_output data (N, C, ...), label (N, ...)."""

    bound = 1.0

    grad_scale: float = 1.0
    ignore_label: float = -1.0
    multi_output: bool = False
    use_ignore: bool = False
    preserve_shape: bool = False
    normalization: Literal["batch", "null", "valid"] = "null"
    out_grad: bool = False
    smooth_alpha: float = 0.0

    def axis(self, rank: int) -> int | None:
        """The one axis that sums to one; None for all but the first."""
        if self.multi_output:
            return 1
        return -1 if self.preserve_shape else 1 if rank == 2 else None

    def label_shape(self, data):
        return (data[0], *data[2:]) if self.multi_output else data[:-1]

    def label_shapes(self, data):
        shapes = [self.label_shape(data), data]  # classes, or what they ought to be likely
        if self.multi_output:
            shapes += [(data[0], math.prod(data[2:])), (data[0], 1, *data[2:])]
        return shapes

    def infer_shape(self, data, label):
        want_rank_from(self, data, 2)
        return super().infer_shape(data, label)

    def domain(self, name, shapes):
        if name != "label" or shapes[0] is None:
            return None
        return Domain(0, shapes[0][1 if self.multi_output else -1] - 1, integer=True)

    def composition(self, F, data, label):
        if not known(data):
            return None
        shape, axis = definite(data.shape), self.axis(len(data.shape))
        if axis is not None:
            return F.softmax(data, axis=axis)
        rows = F._np_reshape(data, newshape=(shape[0], math.prod(shape[1:])))
        return F._np_reshape(F.softmax(rows, axis=1), newshape=shape)

    def compute(self, data, label):
        axis, x = self.axis(data.ndim), widen(data)
        y = softmax(x, axis) if axis is not None else softmax(x.reshape(len(x), math.prod(x.shape[1:])), 1)
        return y.reshape(data.shape).astype(data.dtype, copy=False)

    def gradient(self, F, dy, data, label, y):
        heads = (dy,) if self.out_grad else ()  # else it starts the backward pass, and wants no head
        return F._backward_SoftmaxOutput(y, label, *heads, **self.dump()), None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 5), make.integers(4))
        yield make(make.uniform(2, 3, 4), make.integers(2, 4, high=3), multi_output=True)
        yield make(make.uniform(4, 5), make.integers(4), out_grad=True, grad_scale=0.5, use_ignore=True, ignore_label=2,
                   normalization="valid")  # fmt: skip


class Regression(LossHead):
    """The label has the shape of data, without the last axis where data is one column."""

    grad_scale: float = 1.0

    reads_for_gradient = True

    def label_shape(self, data):
        if len(data) == 2 and data[1] == 1:
            return data[:1]
        return data

    def want_ignored(self, data, label):
        known = data and label and is_known(data) and is_known(label)
        if not known or data[0] != label[0] or math.prod(data) != math.prod(label):
            super().want_ignored(
                data, label
            )  # else there are as many numbers for each example, however they are arranged

    def label_shapes(self, data):
        return [self.label_shape(data), data]

    def gradient(self, F, dy, data, label, y):
        return F._backward_LinearRegressionOutput(y, label, grad_scale=self.grad_scale), None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), make.uniform(3, 4, low=0))


class PlainRegression(Regression):
    """Gives data as it is."""

    view = True
    only_moves_data = True

    def composition(self, F, data, label):
        return F._copy(data)

    def compute(self, data, label):
        return data


@op("LinearRegressionOutput", "_sparse_LinearRegressionOutput")
class LinearRegressionOutput(PlainRegression):
    """data as it is; training minimises the squared error to label."""


@op("MAERegressionOutput", "_sparse_MAERegressionOutput")
class MAERegressionOutput(PlainRegression):
    """data as it is; training minimises the absolute error to label."""

    def gradient(self, F, dy, data, label, y):
        return F._backward_MAERegressionOutput(y, label, grad_scale=self.grad_scale), None


@op("LogisticRegressionOutput", "_sparse_LogisticRegressionOutput")
class LogisticRegressionOutput(Regression):
    """1 / (1 + exp(-data)); training minimises the squared error to label."""

    bound = 1.0

    def composition(self, F, data, label):
        (x,) = widely(F, data.dtype, data)
        return narrowly(F, data.dtype, F.sigmoid(x))

    def compute(self, data, label):
        return UNARY_FUNCTIONS["sigmoid"](data)


@op("SVMOutput")
class SVMOutput(LossHead):
    """data as it is; training minimises a hinge loss. Shapes: data (N, ..., C), label (N, ...)."""

    margin: float = 1.0
    regularization_coefficient: float = 1.0
    use_linear: bool = False

    view = True
    only_moves_data = True

    def label_shape(self, data):
        return data[:-1]

    def infer_shape(self, data, label):
        want_rank_from(self, data, 2)
        return super().infer_shape(data, label)

    def composition(self, F, data, label):
        return F._copy(data)

    def compute(self, data, label):
        return data

    def gradient(self, F, dy, data, label, y):
        return F._backward_SVMOutput(y, label, **self.dump()), None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4, 5), make.integers(4))
        yield make(make.uniform(4, 3, 2), make.integers(4, 3, high=2), use_linear=True, margin=0.3)


@op("MakeLoss")
class MakeLoss(Identity):
    """data as it is; its gradient is grad_scale, whatever follows: as it is, over the number of rows (along the last axis) with
    normalization batch, or over the number of elements above valid_thresh with valid."""

    grad_scale: float = 1.0
    valid_thresh: float = 0.0
    normalization: Literal["batch", "null", "valid"] = "null"

    def infer_storage(self, stypes=(), shapes=(), result=()):
        return DENSE

    def gradient(self, F, dy, data, y):
        return F._backward_MakeLoss(data, **self.dump())

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 4), grad_scale=2.0)
        yield make(make.uniform(2, 3, 4), grad_scale=0.5, normalization="batch")
        yield make(make.uniform(5), normalization="valid", valid_thresh=0.1)


@op("CTCLoss", "ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss")
class CTCLoss(Op):
    """Connectionist temporal classification loss (Graves et al., ICML 2006) of unnormalised scores.

    Shapes: data (T, N, C), label (N, L), data_lengths (N,), label_lengths (N,) -> (N,). Without label_lengths a label ends
    before its first 0 (blank_label first, classes 1 to C - 1) or -1 (last, classes 0 to C - 2). A label that the steps cannot
    hold, a blank between equal classes included, counts as a loss of 0."""

    exception = "a recurrence over steps and labels"

    refuses = WHOLE

    use_data_lengths: bool = False
    use_label_lengths: bool = False
    blank_label: Literal["first", "last"] = "first"

    inputs: ClassVar[tuple[str, ...]] = ("data", "label", "data_lengths", "label_lengths")

    def output_names(self):
        return ("output0",)  # MXNet's has a hidden second one, the gradient

    def input_names(self):
        return (
            *CTCLoss.inputs[:2],
            *(CTCLoss.inputs[2:3] if self.use_data_lengths else ()),
            *(CTCLoss.inputs[3:] if self.use_label_lengths else ()),
        )

    def infer_shape(self, data, label, *lengths):
        want_rank(self, data, 3)
        want_rank(self, label, 2, what="label")
        merge(data[1:2], label[:1])
        if data[2] is not UNKNOWN and data[2] < 2:
            raise self.error(f"got data of shape {show(data)}, wanted 2 classes at least, of which one is the blank")
        if is_known((label[1], data[0])) and label[1] > data[0]:
            raise self.error(f"got labels of {label[1]} for {data[0]} steps, wanted at most as many")
        return (data[1],)

    def infer_input_shapes(self, shapes, outputs):
        data = shapes[0]
        if data is not None:
            want_rank(self, data, 3)
        return [*shapes[:2], *((None if data is None else (data[1],)) for _ in shapes[2:])]

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0] or outputs[0], *dtypes[1:]]

    def domain(self, name, shapes):
        if shapes[0] is None or shapes[1] is None or name == "data":
            return None
        steps, _, classes = shapes[0]
        most = {"label": classes - 2, "data_lengths": steps, "label_lengths": shapes[1][1]}[name]
        least = {"label": 0, "data_lengths": steps, "label_lengths": 1}[name]
        shift = 1 if name == "label" and self.blank_label == "first" else 0
        return Domain(least + shift, most + shift, integer=True)

    def lattice(self, data, label, *lengths):
        """(log probabilities (T, N, C), symbols (N, 2L + 1), whether each may follow the one before the last directly, sizes
        of the labels (N,), numbers of steps (N,)). Symbols are the label with blanks around every class."""
        steps, batch, classes = data.shape
        given = dict(zip(CTCLoss.input_names(self)[2:], lengths))
        label = label.astype(np.intp)
        blank, padding = (0, 0) if self.blank_label == "first" else (classes - 1, -1)
        ended = np.cumsum(label == padding, 1) > 0
        sizes = given.get("label_lengths", (~ended).sum(1)).astype(np.intp)
        if sizes.size and not 0 <= sizes.min() <= sizes.max() <= label.shape[1]:
            raise self.error(f"got label_lengths {sizes.min()} to {sizes.max()} of labels of {label.shape[1]}")
        label = np.where(np.arange(label.shape[1]) < sizes[:, None], label, padding)
        if label.size and label.max() >= classes:
            raise self.error(f"got label {label.max()}, wanted classes below {classes}")
        spans = given.get("data_lengths", np.full(batch, steps)).astype(np.intp)
        # a class may follow the one before it directly, unless they are equal
        symbols = np.full((batch, 2 * label.shape[1] + 1), blank)
        symbols[:, 1::2] = np.where(label < 0, blank, label)
        skips = np.zeros(symbols.shape, bool)
        skips[:, 3::2] = symbols[:, 3::2] != symbols[:, 1:-2:2]
        return log_softmax(data.astype(np.float64), 2), symbols, skips, sizes, spans

    @staticmethod
    def possible(lattice) -> np.ndarray:
        """True where there are steps enough for the label: (N,)."""
        _, _, skips, sizes, spans = lattice
        equal = ~skips[:, 3::2] & (np.arange(1, skips.shape[1] // 2) < sizes[:, None])
        return sizes + equal.sum(1) <= spans

    @staticmethod
    def forward(lattice) -> Iterator[np.ndarray]:
        """Log probabilities (N, 2L + 1) of having come to each symbol, after every step."""
        logs, symbols, skips, _, spans = lattice
        alpha = np.where(np.arange(symbols.shape[1]) < 2, 0.0, np.full(symbols.shape, -np.inf))
        for step, log in enumerate(logs):
            total = alpha
            if step:
                before = np.pad(alpha, ((0, 0), (2, 0)), constant_values=-np.inf)
                total = np.logaddexp.reduce([alpha, before[:, 1:-1], np.where(skips, before[:, :-2], -np.inf)])
            alpha = np.where((step < spans)[:, None], total + np.take_along_axis(log, symbols, 1), alpha)
            yield alpha

    def compute(self, data, label, *lengths):
        lattice = self.lattice(data, label, *lengths)
        *_, alpha = self.forward(lattice)
        sizes, rows = lattice[3], np.arange(data.shape[1])
        final = np.where(sizes > 0, alpha[rows, np.maximum(2 * sizes - 1, 0)], -np.inf)
        loss = -np.logaddexp(alpha[rows, 2 * sizes], final)
        return np.where(self.possible(lattice), loss, 0).astype(data.dtype)

    def gradient(self, F, dy, data, label, *rest):
        lengths = dict(zip(self.input_names()[2:], rest))
        return F._backward_CTCLoss(dy, data, label, **lengths, **self.dump()), None, *(None for _ in lengths)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(6, 2, 5), make.array([[1, 2, 0], [3, 3, 4]]))
