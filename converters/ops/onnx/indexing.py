"""Taking and placing by position."""

from ...registry import from_onnx, itself

itself("GatherElements", since=11)
itself("GatherND", read=False)
itself("ScatterElements", "ScatterND", since=11)
itself("TensorScatter", since=24)
itself("ReverseSequence", read=False)


@from_onnx("Scatter", since=9)
def _(g, data, indices, updates, *, axis=0):
    return g.apply("_onnx_ScatterElements", data, indices, updates, axis=axis)
