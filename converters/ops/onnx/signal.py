"""Fourier transforms, windows and the mel scale."""

from ...error import Unsupported
from ...registry import exports, imports, passthrough

passthrough("STFT", since=17, read=False)
passthrough("HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix", since=17)
passthrough("DFT", since=20)


@imports("STFT", since=17)
def import_stft(g, signal, step, window=None, length=None, *, onesided=1):
    if signal.rank == 2:
        g.note_fix(
            "a signal without an axis for the parts of its numbers, which the standard wants and onnxruntime does without"
        )
        signal = g.expand_dims(signal, axis=2)
    return g.passthrough(signal, step, window, length, onesided=onesided)


@imports("DFT", since=17)
def import_dft(g, x, dft_length=None, *, axis=1, inverse=0, onesided=0):
    return g.passthrough(x, dft_length, g.const(axis), inverse=inverse, onesided=onesided)


@exports("_onnx_DFT", since=17)
def export_onnx_dft(b, op, *inputs):
    data, length, axis = op.by_input(inputs)
    if axis is None:
        axis = data.rank - 2
    elif axis.const is None:
        raise Unsupported("an axis only known at run time needs opset 20")
    else:
        axis = int(axis.const.reshape(-1)[0])
    return b.DFT(data, length, axis=axis, inverse=int(op.inverse), onesided=int(op.onesided))
