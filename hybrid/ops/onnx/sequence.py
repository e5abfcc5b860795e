"""Sequences and optionals. A sequence is a list of arrays that nobody writes to, held by an array of dtype object; an
optional is what it contains, or holds None (see core/boxed.py). What an element is, shape and dtype, only the data says; the
attribute ``elem`` says its dtype where the model does."""

import numpy as np

from ...core.attrs import Several
from ...core.boxed import box, unbox
from ...core.op import op
from ...core.shapes import is_known
from ..common import axis_of
from .base import BOOL, INT64, OBJECT, Collected, ints
from .types import INDICES, STORED, WORDS


class Collection(Collected):
    """Base of operators that give a sequence or an optional."""

    exception = "takes or gives what is no tensor"

    data_dependent_shape = True

    def shape(self, *shapes, **options):
        return ()

    def dtype(self, *dtypes):
        return OBJECT


class Element(Collected):
    """Base of operators that give an element, of which only the dtype may be known beforehand."""

    elem: np.dtype | None = None

    exception = "takes or gives what is no tensor"

    data_dependent_shape = True

    def shape(self, *shapes, **options):
        return None

    def dtype(self, *dtypes):
        return self.elem


def elements(op, array):
    """The list in a sequence. Raises OpError for what is none."""
    found = unbox(array)
    if not isinstance(found, list):
        raise op.error(f"got {array.dtype}{array.shape}, wanted a sequence")
    return found


def place(op, position, length, *, end=False):
    """A position counted from the front; ``end`` allows the one behind the last element."""
    index = int(np.asarray(position).item())
    if not -length <= index < length + end:
        raise op.error(f"got position {index} in a sequence of {length}, wanted {-length} to {length - 1 + end}")
    return index + length if index < 0 else index


@op("_onnx_SequenceConstruct")
class SequenceConstruct(Collection):
    """The inputs as a sequence. Source: ONNX SequenceConstruct (opset 11 to newest)."""

    num_args: Several

    inputs = ("*data",)
    types = {"*data": STORED}

    def meaning(self, *arrays):
        return box([np.array(a) for a in arrays])


@op("_onnx_SequenceEmpty")
class SequenceEmpty(Collection):
    """A sequence without elements; elem is the dtype that they would have. Source: ONNX SequenceEmpty (opset 11 to newest)."""

    elem: np.dtype = np.dtype("float32")

    primitive = True

    inputs = ()

    def meaning(self):
        return box([])


@op("_onnx_SequenceAt")
class SequenceAt(Element):
    """The element at a position, counted from the back when negative. Source: ONNX SequenceAt (opset 11 to newest)."""

    primitive = True

    inputs = ("input_sequence", "position")
    types = {"input_sequence": WORDS, "position": INDICES}

    def meaning(self, sequence, position):
        found = elements(self, sequence)
        return np.array(found[place(self, position, len(found))])


@op("_onnx_SequenceInsert")
class SequenceInsert(Collection):
    """The sequence with a tensor before a position, at the end when none is given.

    Source: ONNX SequenceInsert (opset 11 to newest)."""

    primitive = True

    inputs = ("input_sequence", "tensor", "position")
    types = {"input_sequence": WORDS, "tensor": STORED, "position": INDICES}
    optional = ("position",)

    def meaning(self, sequence, tensor, position):
        found = list(elements(self, sequence))
        index = len(found) if position is None else place(self, position, len(found), end=True)
        found.insert(index, np.array(tensor))
        return box(found)


@op("_onnx_SequenceErase")
class SequenceErase(Collection):
    """The sequence without the element at a position, the last when none is given.

    Source: ONNX SequenceErase (opset 11 to newest)."""

    primitive = True

    inputs = ("input_sequence", "position")
    types = {"input_sequence": WORDS, "position": INDICES}
    optional = ("position",)

    def meaning(self, sequence, position):
        found = list(elements(self, sequence))
        del found[place(self, -1 if position is None else position, len(found))]
        return box(found)


@op("_onnx_SequenceLength")
class SequenceLength(Collected):
    """Number of elements of a sequence, int64 (). Source: ONNX SequenceLength (opset 11 to newest)."""

    primitive = True

    inputs = ("input_sequence",)
    types = {"input_sequence": WORDS}

    def shape(self, sequence):
        return ()

    def dtype(self, sequence):
        return INT64

    def meaning(self, sequence):
        return np.array(len(elements(self, sequence)), np.int64)


@op("_onnx_SplitToSequence")
class SplitToSequence(Collection):
    """A tensor cut along an axis: into pieces of one size (split of rank 0; the last may be smaller), of given sizes, or,
    without split, of size 1, then without the axis unless keepdims. Source: ONNX SplitToSequence (opset 11 to newest)."""

    axis: int = 0
    keepdims: bool = True

    inputs = ("input", "split")
    types = {"input": STORED, "split": INDICES}
    optional = ("split",)

    def meaning(self, data, split):
        axis = axis_of(self, self.axis, data.ndim)
        length = data.shape[axis]
        if split is None:
            sizes = [1] * length
        elif split.ndim:
            sizes = list(ints(split))
            if sum(sizes) != length or min(sizes, default=0) < 0:
                raise self.error(f"got split={sizes}, wanted sizes that add up to {length}")
        else:
            (size,) = ints(split)
            if size < 1:
                raise self.error(f"got split={size}, wanted 1 at least")
            sizes = [min(size, length - start) for start in range(0, length, size)]
        ends = np.cumsum(sizes, dtype=np.int64)
        parts = [np.take(data, range(end - size, end), axis) for size, end in zip(sizes, ends)]
        if split is None and not self.keepdims:
            parts = [p.squeeze(axis) for p in parts]
        return box(parts)


@op("_onnx_ConcatFromSequence")
class ConcatFromSequence(Element):
    """The elements joined along an axis, a new one with new_axis. Source: ONNX ConcatFromSequence (opset 11 to newest)."""

    axis: int
    new_axis: bool = False

    inputs = ("input_sequence",)
    types = {"input_sequence": WORDS}

    def meaning(self, sequence):
        found = elements(self, sequence)
        if not found:
            raise self.error("got a sequence of 0 elements, wanted one at least")
        axis = axis_of(self, self.axis, found[0].ndim + self.new_axis)
        return np.stack(found, axis) if self.new_axis else np.concatenate(found, axis)


@op("_onnx_Optional")
class Optional(Collected):
    """The input, or nothing, as an optional. Source: ONNX Optional (opset 15 to newest)."""

    kind: str = ""

    primitive = True
    """The ONNX type of what it would contain, such as tensor(float), when there is no input."""

    inputs = ("input",)
    optional = ("input",)
    data_dependent_shape = True

    def shape(self, value):
        return value if self.given else ()

    def dtype(self, value):
        return value if self.given else OBJECT

    def meaning(self, value):
        return value if self.given else box(None)

    def gradient(self, F, dy, *arrays):
        return F.identity(dy)


@op("_onnx_OptionalHasElement")
class OptionalHasElement(Collected):
    """Test that an optional contains something, bool (). Source: ONNX OptionalHasElement (opset 15 to newest)."""

    primitive = True

    inputs = ("input",)
    optional = ("input",)

    def shape(self, value):
        return ()

    def dtype(self, value):
        return BOOL

    def infer_value(self, values, shapes):
        return None if self.given else np.array(False)

    def meaning(self, value):
        return np.array(self.given != () and not _nothing(value))

    def gradient(self, F, dy, *arrays):
        return None


@op("_onnx_OptionalGetElement")
class OptionalGetElement(Element):
    """Take what an optional contains; a tensor or sequence stands for itself. Source: ONNX OptionalGetElement (opset 15 to
    newest)."""

    primitive = True

    inputs = ("input",)

    def shape(self, value):
        return value if is_known(value) and value != () else None

    def dtype(self, value):
        return value if value != OBJECT else self.elem

    def meaning(self, value):
        if _nothing(value):
            raise self.error("got an optional without value; ask OptionalHasElement first")
        return value

    def gradient(self, F, dy, value, y):
        return F.identity(dy)


def _nothing(value):
    return unbox(value) is None
