"""Taking and placing by position."""

from ...registry import imports, passthrough

passthrough("GatherElements", since=11)
passthrough("GatherND", read=False)
passthrough("ScatterElements", "ScatterND", since=11)
passthrough("TensorScatter", since=24)
passthrough("ReverseSequence", read=False)


@imports("Scatter", since=9)
def import_scatter(g, data, indices, updates, *, axis=0):
    return g.apply("_onnx_ScatterElements", data, indices, updates, axis=axis)
