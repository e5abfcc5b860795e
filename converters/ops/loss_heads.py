"""Loss heads as their predictions; the label is read by nothing, so it is no input of the model."""

from ..registry import to_onnx


@to_onnx("SoftmaxOutput")
def _(b, op, data, label):
    axis = op.axis(data.rank)
    if axis is not None:
        return b.Softmax(data, axis=axis)
    return b.Reshape(b.Softmax(b.Flatten(data), axis=1), b.Shape(data))


@to_onnx("LogisticRegressionOutput")
def _(b, op, data, label):
    return b.Sigmoid(data)


@to_onnx("LinearRegressionOutput", "MAERegressionOutput", "SVMOutput")
def _(b, op, data, label):
    return b.Identity(data)
