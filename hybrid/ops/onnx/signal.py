"""Fourier transforms, the windows before them and the mel scale behind them. The last axis of a signal holds real and imaginary
parts (2), or real ones alone (1)."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...core.attrs import DType
from ...core.op import Domain, op
from ...core.shapes import UNKNOWN, show
from ..backward import Once
from ..casting import convert
from ..common import axis_of, part_of, widen
from .base import FLOAT32, LikeInputs, Standard, ints
from .types import FLOATS, INDICES, NUMBERS

Array = np.ndarray


def _scalar(values: Array | None) -> Any:
    """The number that an array of one element holds; None for None."""
    return None if values is None else np.asarray(values).reshape(-1)[0].item()


def _numbers(x: Array) -> Array:
    """The signal without its last axis, real or complex."""
    wide = widen(x)
    return wide[..., 0] if x.shape[-1] == 1 else wide[..., 0] + 1j * wide[..., 1]


def _pairs(x: Array, dtype: Any, parts: int = 2) -> Array:
    """The inverse of _numbers, with real and imaginary part or the real one alone."""
    return np.stack([np.real(x), np.imag(x)][:parts], axis=-1).astype(dtype)


def _resize(x: Array, length: int, axis: int) -> Array:
    """x cut off or padded with zeros to a length."""
    x = x[(slice(None),) * axis + (slice(length),)]
    return np.pad(x, [(0, length - d) if a == axis else (0, 0) for a, d in enumerate(x.shape)])


def _adjoint(dy: Array, length: int, axis: int) -> Array:
    """The gradient of what fft of that length was applied to, from that of its (first) results."""
    return np.fft.ifft(_resize(dy, length, axis), axis=axis) * length


@op("_onnx_DFT")
class DFT(Standard):
    """The discrete Fourier transform along an axis, over dft_length numbers: input is cut off or padded with zeros to that length.

    Shapes: input (..., N, ..., 1 or 2), dft_length scalar, axis scalar (-2 without) -> (..., dft_length, ..., 2); onesided,
    (..., dft_length // 2 + 1, ..., 2) of a real input, and back with inverse to (..., dft_length, ..., 1), where 2 (N - 1) is the
    length that it has unless given. Source: ONNX DFT (opset 17 to newest)."""

    inverse: bool = False
    onesided: bool = False

    exception = "an FFT, or a window whose length a tensor says"

    inputs = ("input", "dft_length", "axis")
    types = {"input": FLOATS, "dft_length": INDICES, "axis": {"int64"}}
    optional = ("dft_length", "axis")
    numbers = optional
    needs = ("values",)
    data_dependent_shape = True

    def _plan(self, shape: Sequence[Any], length: Any, axis: Any, given: bool) -> tuple[int, Any]:
        """(axis, length); length is UNKNOWN when it is given and not known. Raises OpError for what is no axis of a signal."""
        if len(shape) < 2:
            raise self.error(f"got {len(shape)} dimensions, wanted 2 at least")
        axis = axis_of(self, -2 if axis is None else axis, len(shape))
        if axis == len(shape) - 1:
            raise self.error(f"got axis {axis}, which holds real and imaginary parts, wanted another")
        if length is None:
            own = shape[axis]
            length = UNKNOWN if given else 2 * (own - 1) if self.inverse and self.onesided else own
        return axis, length

    def shape(self, data, *shapes, values):
        if data and data[-1] is not UNKNOWN and data[-1] not in (1, 2):
            raise self.error(
                f"got input of shape {show(data)}, wanted 1 or 2 along the last axis: real and imaginary parts"
            )
        if "axis" in self.given and values[2] is None:
            return (*[UNKNOWN] * (len(data) - 1), 1 if self.inverse and self.onesided else 2)
        axis, length = self._plan(data, _scalar(values[1]), _scalar(values[2]), "dft_length" in self.given)
        half = self.onesided and not self.inverse
        parts = 1 if self.inverse and self.onesided else 2
        return (*data[:axis], length // 2 + 1 if half else length, *data[axis + 1 : -1], parts)

    def domain(self, name, shapes):
        return None if name == "input" else Domain(0, 0, integer=True) if name == "axis" else Domain(1, 8, integer=True)

    def meaning(self, data, length, axis):
        axis, length = self._plan(data.shape, _scalar(length), _scalar(axis), False)
        x = _numbers(data)
        if self.onesided and not self.inverse and x.dtype.kind == "c":
            raise self.error("got complex numbers for a one-sided transform, wanted real ones (a last axis of 1)")
        if not length or not x.size:
            return np.zeros(self.shape(data.shape, values=(None, length, axis)), data.dtype)
        if not self.inverse:
            transform = np.fft.rfft if self.onesided else np.fft.fft
            return _pairs(transform(x, length, axis), data.dtype)
        if self.onesided:
            return _pairs(np.fft.irfft(x, length, axis), data.dtype, 1)
        return _pairs(np.fft.ifft(x, length, axis), data.dtype)

    def gradient(self, F, dy, data, *more):
        named = dict(zip(self.input_names()[1:], more[:-1]))
        return [F._backward__onnx_DFT(dy=dy, input=data, **named, **self.dump()), *(None for _ in named)]

    @classmethod
    def examples(cls, make):
        x = make.uniform(2, 5, 3, 2)
        yield make(x)
        yield make(x, make.array(7, "int64"), make.array(1, "int64"), given=cls.optional)
        yield make(make.uniform(2, 5, 1), onesided=True)
        yield make(make.uniform(2, 6, 1), make.array(1, "int64"), given=("axis",), inverse=True)


@op("_backward__onnx_DFT")
@part_of("_onnx_DFT")
class DFTBackward(DFT):
    """The gradient of DFT's input. Shapes: dy as its output, input, ... -> input. Its own is DFT again."""

    inputs = ("dy", *DFT.inputs)
    needs = ()
    data_dependent_shape = False

    def infer_shape(self, *shapes, **_options):
        return shapes[1]

    def infer_type(self, *dtypes):
        return dtypes[1]

    def compute(self, *arrays, **_options):
        dy, data, length, axis = self.by_input(arrays)
        axis, length = self._plan(data.shape, _scalar(length), _scalar(axis), False)
        own, parts, heads = data.shape[axis], data.shape[-1], _numbers(dy)
        if not length or not data.size:
            return np.zeros_like(data)
        if not self.inverse:
            dx = _adjoint(heads, length, axis)
        elif self.onesided:  # all but the first and, of an even length, the middle number stand for two
            dx = np.fft.rfft(heads, length, axis) / length
            twice = np.full(dx.shape[axis], 2.0)
            twice[0] = 1
            if length % 2 == 0:
                twice[-1] = 1
            dx = dx * twice.reshape(-1, *[1] * (dx.ndim - axis - 1))
        else:
            dx = np.fft.fft(heads, axis=axis) / length
        return _pairs(_resize(dx, own, axis), data.dtype, parts)

    def gradient(self, F, dy, *arrays):
        named = dict(zip(self.input_names()[2:], arrays[2:-1]))
        return [F._onnx_DFT(input=dy, **named, **self.dump()), *(None for _ in arrays[1:-1])]


@op("_onnx_STFT")
class STFT(Standard):
    """The Fourier transforms of frames of a signal, each times a window, frame_step apart.

    Shapes: signal (B, L, 1 or 2), frame_step scalar, window (W,), frame_length scalar -> (B, (L - W) // frame_step + 1, W, 2), or
    W // 2 + 1 of the W numbers when onesided, which wants a real signal. W is L when neither says it.
    Source: ONNX STFT (opset 17 to newest)."""

    onesided: bool = True

    exception = "an FFT, or a window whose length a tensor says"

    inputs = ("signal", "frame_step", "window", "frame_length")
    types = {"signal window": FLOATS, "frame_step frame_length": INDICES}
    optional = ("window", "frame_length")
    numbers = ("frame_step", "frame_length")
    named_axes = {"signal": "batch length parts", "window": "frame"}
    needs = ("values",)
    data_dependent_shape = True

    def shape(self, signal, step, window, *rest, values):
        if signal[2] is not UNKNOWN and signal[2] not in ((1,) if self.onesided else (1, 2)):
            raise self.error(
                f"got signal of shape {show(signal)}, wanted 1 number for each place{'' if self.onesided else ', or 2'}"
            )
        length = window[0] if window is not None else signal[1]
        if window is None and "frame_length" in self.given:
            length = UNKNOWN if values[3] is None else _scalar(values[3])
        if length is not UNKNOWN and length < 1:
            raise self.error(f"got frames of {length} numbers, wanted at least 1")
        hop = _scalar(values[1])
        if hop is not None and hop < 1:
            raise self.error(f"got frame_step {hop}, wanted at least 1")
        count = UNKNOWN if hop is None else (signal[1] - length) // hop + 1
        return (
            signal[0],
            count if count is UNKNOWN else max(count, 0),
            length // 2 + 1 if self.onesided else length,
            2,
        )

    def domain(self, name, shapes):
        return Domain(1, 4, integer=True) if name in ("frame_step", "frame_length") else None

    def _frames(self, signal, step, window, length) -> tuple[Array, Array]:
        """(places of each frame's numbers in the signal, the window)."""
        size = (signal.shape[1] if window is None else len(window)) if length is None else _scalar(length)
        if size < 1:
            raise self.error(f"got frames of {size} numbers, wanted at least 1")
        if window is not None and len(window) != size:
            raise self.error(f"got a window of {len(window)} for frames of {size}, wanted equal lengths")
        if _scalar(step) < 1:
            raise self.error(f"got frame_step {_scalar(step)}, wanted at least 1")
        count = max((signal.shape[1] - size) // _scalar(step) + 1, 0)
        places = np.arange(count)[:, None] * _scalar(step) + np.arange(size)
        return places, np.ones(size, np.float32) if window is None else widen(window)

    def meaning(self, signal, step, window, length):
        places, weights = self._frames(signal, step, window, length)
        transform = np.fft.rfft if self.onesided else np.fft.fft
        return _pairs(transform(_numbers(signal)[:, places] * weights), signal.dtype)

    def gradient(self, F, dy, *arrays):
        names = self.input_names()
        gradients = F._backward__onnx_STFT(dy=dy, **dict(zip(names, arrays)), **self.dump())
        found = {str(n): g for n, g in zip(("signal", "window"), gradients)}
        return [found.get(n) for n in names]

    @classmethod
    def examples(cls, make):
        step, signal = make.array(3, "int64"), make.uniform(2, 14, 1)
        yield make(signal, step, make.uniform(5), given=("window",))
        yield make(signal, step, make.array(4, "int64"), given=("frame_length",), onesided=False)


@op("_backward__onnx_STFT")
@part_of("_onnx_STFT")
class STFTBackward(Once, LikeInputs, STFT):
    """The gradients of STFT's signal and, where it has one, window. Shapes: dy as its output, signal, ... -> as those."""

    inputs = ("dy", *STFT.inputs)
    needs = ()
    data_dependent_shape = False

    def output_names(self):
        return tuple(n for n in ("signal", "window") if n in self.input_names())

    def compute(self, *arrays, **_options):
        dy, signal, step, window, length = self.by_input(arrays)
        places, weights = self._frames(signal, step, window, length)
        x = _numbers(signal)
        dframes = _adjoint(_numbers(dy), places.shape[1], 2)
        dx = np.zeros(x.shape, np.complex128)
        np.add.at(dx, (slice(None), places), dframes * weights)  # type: ignore[arg-type]  # NumPy declares no slices here
        dsignal = _pairs(dx, signal.dtype, signal.shape[2])
        if window is None:
            return dsignal
        return dsignal, np.real(dframes * x[:, places].conj()).sum((0, 1)).astype(window.dtype)


# -- windows ---------------------------------------------------------------------------------------------------------------


class Window(Standard):
    """A sum of cosines over size numbers; periodic, over size + 1 of which the last is left out. Shapes: size scalar -> (size,)."""

    output_datatype: DType = FLOAT32
    periodic: bool = True

    exception = "an FFT, or a window whose length a tensor says"

    inputs = ("size",)
    types = {"size": INDICES, "output": NUMBERS}
    needs = ("values",)
    data_dependent_shape = True
    epsilon = float(np.finfo(np.float32).eps)  # of onnxruntime's factors, whatever the dtype

    cosines: ClassVar[tuple[float, ...]]
    """Factors of the cosines of 0, 1, 2, ... turns."""

    def shape(self, size, *, values):
        return (UNKNOWN if values[0] is None else self.count(values[0]),)

    def count(self, size):
        """Number of elements. Raises OpError unless size holds one integer of at least 0."""
        found = ints(size)
        if len(found) != 1 or found[0] < 0:
            raise self.error(f"got size {found}, wanted one number of at least 0")
        return found[0]

    def dtype(self, size):
        return self.output_datatype

    def domain(self, name, shapes):
        return Domain(1, 9, integer=True)

    def meaning(self, size):
        count = self.count(size)
        turns = 2 * np.pi * np.arange(count) / np.float64(count if self.periodic else count - 1)
        waves = np.stack([c * np.cos(i * turns) for i, c in enumerate(self.cosines)])
        return convert(waves.sum(0), self.output_datatype)

    def gradient(self, F, dy, size, y):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.array(9, "int64"))
        yield make(make.array(6, "int32"), periodic=False, output_datatype="float64")


@op("_onnx_HannWindow")
class HannWindow(Window):
    """0.5 - 0.5 cos: see Window. Source: ONNX HannWindow (opset 17 to newest)."""

    cosines = (0.5, -0.5)


@op("_onnx_HammingWindow")
class HammingWindow(Window):
    """25/46 - 21/46 cos: see Window. Source: ONNX HammingWindow (opset 17 to newest)."""

    cosines = (25 / 46, -21 / 46)


@op("_onnx_BlackmanWindow")
class BlackmanWindow(Window):
    """0.42 - 0.5 cos + 0.08 cos of twice that: see Window. Source: ONNX BlackmanWindow (opset 17 to newest)."""

    cosines = (0.42, -0.5, 0.08)


@op("_onnx_MelWeightMatrix")
class MelWeightMatrix(Standard):
    """Triangles of height 1, whose corners are even on the mel scale 2595 log10(1 + f / 700), over the numbers of a spectrum.

    Shapes: all inputs scalars -> (dft_length // 2 + 1, num_mel_bins). Source: ONNX MelWeightMatrix (opset 17 to newest)."""

    output_datatype: DType = FLOAT32

    exception = "an FFT, or a window whose length a tensor says"

    inputs = ("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz")
    numbers = inputs
    types = {
        "num_mel_bins dft_length sample_rate": INDICES,
        "lower_edge_hertz upper_edge_hertz": FLOATS,
        "output": NUMBERS,
    }
    needs = ("values",)
    data_dependent_shape = True

    def shape(self, *shapes, values):
        bins, length = (v if v is None else ints(v)[0] for v in values[:2])
        return (UNKNOWN if length is None else length // 2 + 1, UNKNOWN if bins is None else bins)

    def dtype(self, *dtypes):
        return self.output_datatype

    def domain(self, name, shapes):
        return Domain(4, 8, integer=True)

    def meaning(self, *numbers):
        bins, length, rate, low, high = map(_scalar, numbers)
        low, high = (2595 * np.log10(1 + hertz / 700) for hertz in (low, high))
        mels = low + np.arange(bins + 2) * (high - low) / (bins + 2)
        corners = np.floor((length + 1) * 700 * (10 ** (mels / 2595) - 1) / rate).astype(np.int64)
        rows = np.arange(length // 2 + 1)[:, None]
        if corners.min() < 0 or corners.max() > len(rows):
            raise self.error(f"got edges beyond what a sample_rate of {rate} has, wanted at most half of it")
        left, centre, right = corners[:-2], corners[1:-1], corners[2:]
        rising = np.where(left == centre, rows == centre, (rows - left) / np.maximum(centre - left, 1))
        falling = (right - rows) / np.maximum(right - centre, 1)
        up, down = (left <= rows) & (rows <= centre), (centre <= rows) & (rows < right)
        return convert(np.where(down, falling, np.where(up, rising, 0)), self.output_datatype)

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        counts = [make.array(n, "int64") for n in (8, 16, 8192)]
        yield make(*counts, make.array(0), make.array(4000))
