"""Loss heads as their predictions; the label is read by nothing, so it is no input of the model."""

from ..registry import exports


@exports("SoftmaxOutput")
def export_softmax_output(b, op, data, label):
    axis = op.axis(data.rank)
    if axis is not None:
        return b.Softmax(data, axis=axis)
    return b.Reshape(b.Softmax(b.Flatten(data), axis=1), b.Shape(data))


@exports("LogisticRegressionOutput")
def export_logistic_regression_output(b, op, data, label):
    return b.Sigmoid(data)
