"""Fourier transforms, windows and the mel scale."""

from ...error import Unsupported
from ...registry import from_onnx, itself, to_onnx

itself("STFT", "HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix", since=17)
itself("DFT", since=20)


@from_onnx("DFT", since=17)
def _(g, x, dft_length=None, *, axis=1, inverse=0, onesided=0):
    return g.itself(x, dft_length, g.const(axis), inverse=inverse, onesided=onesided)


@to_onnx("_onnx_DFT", since=17)
def _(b, op, *inputs):
    data, length, axis = op.placed(inputs)
    if axis is None:
        axis = data.rank - 2
    elif axis.const is None:
        raise Unsupported("an axis only known at run time needs opset 20")
    else:
        axis = int(axis.const.reshape(-1)[0])
    return b.DFT(data, length, axis=axis, inverse=int(op.inverse), onesided=int(op.onesided))
