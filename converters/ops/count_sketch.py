"""Fourier transforms as DFT from opset 17 (in float64: onnxruntime loses digits at lengths that are no power of two), before that
as products with their matrices; count sketches as products too."""

import numpy as np

from ..registry import exports


@exports("_contrib_count_sketch")
def export_contrib_count_sketch(b, op, data, h, s):
    places = b.reshape(b.cast(h, np.int64), [-1, 1])
    signs = b.wide(b.cast(b.reshape(s, [-1, 1]), data.dtype))
    matrix = b.Where(b.Equal(places, b.const(np.arange(op.out_dim))), signs, 0)
    return b.MatMul(b.wide(data), matrix)


def _waves(count):
    """Cosines and sines of the transform of that length, (count, count) each."""
    turns = np.outer(np.arange(count), np.arange(count)) % count * (2 * np.pi / count)
    return np.cos(turns), np.sin(turns)


@exports("_contrib_fft")
def export_contrib_fft(b, op, data):
    x = b.wide(data)
    cosine, sine = _waves(data.dim(-1))
    matrix = np.stack([cosine, -sine], -1).reshape(len(cosine), -1)
    return b.MatMul(x, b.like(matrix, x))


@exports("_contrib_fft", since=17)
def export_contrib_fft_since_17(b, op, data):
    last = b.size(data, data.rank - 1)
    pairs = _dft(b, b.unsqueeze(b.cast(data, np.float64), [data.rank]), data.rank - 1, inverse=0)
    return b.reshape(b.cast(pairs, data.dtype), [*[0] * (data.rank - 1), 2 * last if isinstance(last, int) else -1])


@exports("_contrib_ifft")
def export_contrib_ifft(b, op, data):
    x = b.wide(data)
    cosine, sine = _waves(data.dim(-1) // 2)
    matrix = np.stack([cosine, -sine], 1).reshape(-1, len(cosine))
    return b.MatMul(x, b.like(matrix, x))


@exports("_contrib_ifft", since=17)
def export_contrib_ifft_since_17(b, op, data):
    pairs = b.reshape(b.cast(data, np.float64), b.dims(*[0] * (data.rank - 1), -1, 2))
    real = b.Gather(_dft(b, pairs, data.rank - 1, inverse=1), 0, axis=data.rank)
    count = b.size(data, data.rank - 1)
    return b.cast(
        b.Mul(real, count // 2 if isinstance(count, int) else b.Div(b.cast(count, real.dtype), 2)), data.dtype
    )


def _dft(b, pairs, axis, *, inverse):
    """DFT; axis is an input from opset 20 on."""
    if b.opset >= 20:
        return b.DFT(pairs, None, b.const(axis), inverse=inverse)
    return b.DFT(pairs, axis=axis, inverse=inverse)
