"""Count sketches and Fourier transforms, of which compact bilinear pooling is made. MXNet has them for GPUs only."""

import numpy as np

from ..core.attrs import Count
from ..core.op import Domain, Op, op
from ..core.shapes import UNKNOWN, merge
from .common import want_rank, want_some, widen


class _Transform(Op):
    """Along the last axis of matrices or batches of images; complex numbers are pairs of neighbours, real part first."""

    compute_size: int = 128

    exception = "a transform of its own, by FFT or by hashing"
    """Number of rows that MXNet transforms at once."""

    tolerance = 128.0


@op("_contrib_fft")
class FFT(_Transform):
    """The Fourier transform of real data along the last axis.

    Shapes: (N, n) -> (N, 2n), or (N, C, H, n) -> (N, C, H, 2n). Source: MXNet contrib.fft."""

    def infer_shape(self, data):
        want_rank(self, data, 2, 4)
        want_some(self, data, -1)
        return (*data[:-1], data[-1] * 2)

    def compute(self, data):
        found = np.fft.fft(widen(data))
        pairs = np.stack([found.real, found.imag], -1)
        return pairs.reshape(self.infer_shape(data.shape)).astype(data.dtype)

    def gradient(self, F, dy, data, y):
        return F._contrib_ifft(dy, **self.dump())

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 6))
        yield make(make.uniform(2, 2, 3, 5))


@op("_contrib_ifft")
class InverseFFT(_Transform):
    """The real part of the inverse Fourier transform along the last axis, times its length.

    Shapes: (N, 2n) -> (N, n), or (N, C, H, 2n) -> (N, C, H, n). Source: MXNet contrib.ifft."""

    def infer_shape(self, data):
        want_rank(self, data, 2, 4)
        want_some(self, data, -1)
        if data[-1] is not UNKNOWN and data[-1] % 2:
            raise self.error(f"got {data[-1]} numbers along the last axis, wanted pairs of real and imaginary parts")
        return (*data[:-1], data[-1] // 2)

    def compute(self, data):
        pairs = widen(data).reshape(*data.shape[:-1], data.shape[-1] // 2, 2)
        found = np.fft.ifft(pairs[..., 0] + 1j * pairs[..., 1]).real * pairs.shape[-2]
        return found.astype(data.dtype)

    def gradient(self, F, dy, data, y):
        return F._contrib_fft(dy, **self.dump())

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(3, 6))
        yield make(make.uniform(2, 2, 3, 10))


@op("_contrib_count_sketch")
class CountSketch(Op):
    """Numbers added up, with signs, in fewer places: number i of a row goes to place h[i], times s[i].

    Shapes: data (N, n) or (N, C, H, n), h (1, n) of places below out_dim, s (1, n) of signs -> (..., out_dim). Source: MXNet
    contrib.count_sketch; Charikar et al., Finding frequent items in data streams, 2002."""

    out_dim: Count
    processing_batch_size: Count = 32

    exception = "a transform of its own, by FFT or by hashing"
    """Number of rows that MXNet goes through at once."""

    inputs = ("data", "h", "s")
    tolerance = 64.0

    def infer_input_shapes(self, shapes, outputs):
        data, h, s = shapes
        row = merge((1, UNKNOWN if data is None else data[-1]), merge(h, s))
        return [data, row, row]

    def infer_shape(self, data, h, s):
        want_rank(self, data, 2, 4)
        return (*data[:-1], self.out_dim)

    def domain(self, name, shapes):
        return Domain(0, self.out_dim - 1, integer=True) if name == "h" else None

    def compute(self, data, h, s):
        places = h.reshape(-1).astype(np.int64)
        if ((places < 0) | (places >= self.out_dim)).any():
            raise self.error(f"got places from {places.min()} to {places.max()}, wanted 0 to {self.out_dim - 1}")
        matrix = np.zeros((len(places), self.out_dim), widen(data).dtype)
        matrix[np.arange(len(places)), places] = s.reshape(-1)
        return (widen(data) @ matrix).astype(data.dtype, copy=False)

    def gradient(self, F, dy, data, h, s, y):
        taken = F.take(dy, F.reshape(h, shape=(-1,)), axis=-1)
        signs = F.reshape(s, shape=(-1,))
        return F.broadcast_mul(taken, F._backward_broadcast_like(signs, taken)), None, None

    @classmethod
    def examples(cls, make):
        places, signs = make.integers(1, 6, high=4), make.integers(1, 6, high=2) * 2 - 1
        yield make(make.uniform(3, 6), places, signs, out_dim=4)
        yield make(make.uniform(2, 3, 2, 6), places, signs, out_dim=4)
