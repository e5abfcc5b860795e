"""Normalizations, and Dropout, which is nothing in inference."""

import numpy as np

from hybrid.core.shapes import UNKNOWN

from ..error import Unsupported
from ..legacy_fixes import batch_norm_spatial
from ..registry import exports, imports
from .convolution import in_networks


def _along(b, x, axis, rank):
    """A vector, shaped to broadcast along one axis of a tensor."""
    return b.reshape(x, [-1, *[1] * (rank - axis - 1)]) if axis < rank - 1 else x


def _normalize(b, data, mean, std, gamma, beta):
    """(data - mean) / std * gamma + beta, in this order."""
    return b.Add(b.Mul(b.Div(b.Sub(data, mean), std), gamma), beta)


def _moments(b, x, axes):
    """x minus its mean, the mean, and the variance over axes, which stay as 1."""
    mean = b.reduce("Mean", x, axes, keepdims=True)
    centered = b.Sub(x, mean)
    return centered, mean, b.reduce("Mean", b.Mul(centered, centered), axes, keepdims=True)


@exports("BatchNorm", "BatchNorm_v1", "_contrib_BatchNormWithReLU", "_contrib_SyncBatchNorm")
def export_batch_norm(b, op, data, gamma, beta, mean, var):
    rank, axis = data.rank, op.axis % data.rank
    x = b.wide(data)
    if op.fix_gamma:
        gamma = b.like(np.ones(gamma.static), gamma, f"{gamma.name}_fixed")
    # ONNX's attribute is a float32
    exact = x.dtype != np.float64 or float(np.float32(op.eps)) == op.eps
    if axis == 1 and exact:
        if b.opset < 15:  # of one dtype all
            gamma, beta, mean, var = (b.cast(v, x.dtype) for v in (gamma, beta, mean, var))
        y = b.BatchNormalization(x, gamma, beta, mean, var, epsilon=op.eps)
    else:
        std = b.Sqrt(b.Add(var, float(op.eps)))
        y = _normalize(b, x, *(_along(b, v, axis, rank) for v in (mean, std, gamma, beta)))
    if op.name == "_contrib_BatchNormWithReLU":
        y = b.Relu(y)
    if not op.output_mean_var:
        return y
    if op.plain_variance:
        return y, mean, var
    return y, mean, b.Reciprocal(b.Sqrt(b.Add(var, float(op.eps))))


def _layer_norm(b, op, data, gamma, beta):
    rank, axis = data.rank, op.axis % data.rank
    centered, mean, var = _moments(b, b.wide(data), [axis])
    std = b.Sqrt(b.Add(var, float(np.float32(op.eps))))
    gamma, beta = (_along(b, b.wide(v), axis, rank) for v in (gamma, beta))
    y = b.Add(b.Mul(b.Div(centered, std), gamma), beta)
    return (y, mean, std) if op.output_mean_var else y


@exports("LayerNorm")
def export_layer_norm(b, op, data, gamma, beta):
    last = op.axis % data.rank == data.rank - 1
    if (
        not last or op.output_mean_var or data.dtype == np.float64 or not b.since(17)
    ):  # whose mean would be taken in float32
        return _layer_norm(b, op, data, gamma, beta)
    return b.LayerNormalization(*(b.wide(v) for v in (data, gamma, beta)), axis=-1, epsilon=op.eps)


@exports("InstanceNorm")
def export_instance_norm(b, op, data, gamma, beta):
    return b.InstanceNormalization(data, gamma, beta, epsilon=op.eps)


@exports("GroupNorm")
def export_group_norm(b, op, data, gamma, beta):
    # gamma and beta belong to groups, so that this is InstanceNormalization with groups for channels
    x = b.wide(data)
    groups = b.reshape(x, [0, op.num_groups, -1])
    y = b.InstanceNormalization(groups, b.wide(gamma), b.wide(beta), epsilon=op.eps)
    y = b.reshape(y, b.dims(*(b.size(data, axis) for axis in range(data.rank))))
    if not op.output_mean_var:
        return y
    _, mean, var = _moments(b, groups, [2])
    return y, b.squeeze(mean, [2]), b.squeeze(b.Sqrt(b.Add(var, float(np.float32(op.eps)))), [2])


@exports("L2Normalization")
def export_l2_normalization(b, op, data):
    x = b.wide(data)
    squares, axes = b.Mul(x, x), op.axes(data.rank)
    if axes:  # with rank 1 there is nothing to sum over
        squares = b.reduce("Sum", squares, axes, keepdims=True)
    return b.Div(x, b.Sqrt(b.Add(squares, float(np.float32(op.eps)))))


@exports("LRN")
def export_lrn(b, op, data):
    size = 2 * op.reach + 1  # ONNX divides alpha by the size, MXNet by nsize even where that is even
    return b.LRN(data, size=size, alpha=op.alpha * size / op.nsize, beta=op.beta, bias=op.knorm)


@exports("Dropout")
def export_dropout(b, op, data):
    if op.mode == "training" or op.p == 0:
        return data
    if op.p == 1:
        raise Unsupported("mode='always' with p=1 leaves nothing but NaN; use p < 1")
    # not ONNX's Dropout, whose training_mode onnxruntime ignores
    if op.axes:
        axes = {axis % data.rank for axis in op.axes}
        dims = b.dims(*(1 if axis in axes else b.size(data, axis) for axis in range(data.rank)))
        like = b.Expand(b.const(np.ones([1] * data.rank, np.float32)), dims)
    else:
        like = b.cast(data, np.float32)
    kept = b.Not(b.Less(b.RandomUniformLike(like, dtype=np.float32), op.p))
    return b.Mul(data, b.Mul(b.cast(kept, data.dtype), 1 / (1 - op.p)))


# -- reading ----------------------------------------------------------------------------------------------------------------

EPSILON = 9.999999747378752e-06
MOMENTUM = 0.8999999761581421


def _batch_norm(g, x, scale, b, mean, var, *, epsilon, momentum, training_mode=False):
    """As MXNet's BatchNorm, whose moving statistics are states, where they are stored; else as it stands.

    Training normalizes by the batch, but where other nodes of the file say that they are in training mode, and this one that it
    is not."""
    dtype = np.dtype(np.float32) if x.dtype == np.float16 else x.dtype
    statistics = (mean, 3, "mean"), (var, 4, "var")
    # a copy would not follow a value that a call gives in place of a default
    stored = all(
        v.const is not None and (_alone(g, v, i) or v.name not in g.shared.overridden) for v, i, _ in statistics
    )
    mxnet = (
        not training_mode
        and in_networks(x)
        and all(v.dtype == dtype for v in (scale, b, mean, var))
        and stored
        and g.outermost
    )
    if stored:
        mean, var = (_statistics(g, *each, mxnet) for each in statistics)
    if training_mode:
        g.note_training(
            "in training mode, and so normalized by the batch in inference too, while their moving statistics stay as they are"
        )
    elif not mxnet or g.shared.trains:
        why = "not in training mode beside others that are" if mxnet else "MXNet's BatchNorm does not take their inputs"
        g.note_training(f"{why}, and so normalized by their stored statistics in training too")
    if mxnet:
        attrs = {"use_global_stats": True} if g.shared.trains else {}
        return g.BatchNorm(x, scale, b, mean, var, eps=epsilon, momentum=momentum, fix_gamma=False, **attrs)
    attrs = {"epsilon": epsilon, "momentum": momentum, "training_mode": bool(training_mode)}
    return g.apply(
        "_onnx_BatchNormalization",
        x,
        scale,
        b,
        mean,
        var,
        **attrs,
        num_outputs=min(g.outputs, 3) if training_mode else 1,
    )


def _statistics(g, value, place, what, moves):
    """A stored mean or variance, which no optimizer may change: a parameter that is held, or a state that training moves.

    Exporters store equal tensors once, such as the first means of all layers and their biases. What something else reads too is
    therefore a copy."""
    if _alone(g, value, place):
        value.weight &= moves
        return value
    return g.own_copy(value, f"{g.label}_moving_{what}", weight=moves)


def _alone(g, value, place):
    """True for a stored mean or variance that nothing else reads. Layers that share all that they have are one, called twice."""
    readers = g.shared.readers.get(value.name, ()) if g.outer is None else ()
    same = g.node.input[1:5]
    return bool(readers) and all(n is not None and i == place and n.input[1:5] == same for n, i in readers)


def _old_batch_norm(g, x, scale, b, mean, var, *, epsilon, momentum, spatial, training):
    """Versions before 14, which have statistics of every element of an image with spatial=0, and two more outputs when training:
    mean and variance of the batch."""
    whole = x
    if batch_norm_spatial(g, spatial, x, mean):
        x = g.Reshape(x, shape=(0, -1))
        scale, b, mean, var = (g.Reshape(v, shape=(-1,)) for v in (scale, b, mean, var))
    found = _batch_norm(g, x, scale, b, mean, var, epsilon=epsilon, momentum=momentum, training_mode=training)
    results = list(found) if isinstance(found, tuple) else [found]
    if x is not whole:
        results[0] = g.reshape_like(results[0], whole)
    if g.wants(3) or g.wants(4):
        center = g.mean(x, axis=(1,), exclude=True, keepdims=True)
        away = g.broadcast_sub(x, center)
        results += [g.Reshape(center, shape=(-1,)), g.mean(g.square(away), axis=(1,), exclude=True)]
    return tuple(results) if len(results) > 1 else results[0]


@imports("BatchNormalization")
def import_batch_normalization_first(
    g, x, scale, b, mean, var, *, epsilon=EPSILON, is_test=0, momentum=MOMENTUM, spatial=1
):
    # without further outputs it is in test mode, whatever is_test says
    training = not is_test and g.outputs > 1
    return _old_batch_norm(
        g, x, scale, b, mean, var, epsilon=epsilon, momentum=momentum, spatial=spatial, training=training
    )


@imports("BatchNormalization", since=7)
def import_batch_normalization_since_7(g, x, scale, b, mean, var, *, epsilon=EPSILON, momentum=MOMENTUM, spatial=1):
    # MXNet's exporter wrote spatial in files of opset 9 and later too, which do not have it
    training = g.outputs > 1
    return _old_batch_norm(
        g, x, scale, b, mean, var, epsilon=epsilon, momentum=momentum, spatial=spatial, training=training
    )


@imports("BatchNormalization", since=14)
def import_batch_normalization_since_14(
    g, x, scale, b, mean, var, *, epsilon=EPSILON, momentum=MOMENTUM, training_mode=0
):
    return _batch_norm(g, x, scale, b, mean, var, epsilon=epsilon, momentum=momentum, training_mode=bool(training_mode))


@imports("InstanceNormalization")
def import_instance_normalization(g, x, scale, b, *, epsilon=EPSILON):
    if in_networks(x, scale, b) and x.shape is not None and len(x.shape) >= 3:
        return g.InstanceNorm(x, scale, b, eps=epsilon)
    return g.passthrough(x, scale, b, epsilon=epsilon)


@imports(
    "LayerNormalization"
)  # before 17 it is onnxruntime's, whose optimiser writes it into the standard's own domain
def import_layer_normalization(g, x, scale, b=None, *, axis=-1, epsilon=EPSILON, stash_type=1):
    rank = None if x.shape is None else len(x.shape)
    last = axis == -1 or axis + 1 == rank
    if (
        b is not None
        and last
        and x.shape
        and g.outputs == 1
        and stash_type == 1
        and in_networks(x, scale, b)
        and x.dtype != np.float64
    ):
        size = x.shape[-1]
        if all(v.shape is not None and len(v.shape) == 1 and _same(v.shape[0], size, v) for v in (scale, b)):
            return g.LayerNorm(x, scale, b, axis=-1, eps=epsilon)
    return g.passthrough(x, scale, b, axis=axis, epsilon=epsilon, stash_type=stash_type, num_outputs=max(1, g.outputs))


def _same(count, size, value):
    """True when a vector is as long as the axis; a stored one of more than one element is, or the model would not be one."""
    return count is not UNKNOWN and (count == size if size is not UNKNOWN else value.const is not None and count > 1)


@imports("GroupNormalization", since=18)
def import_group_normalization(g, x, scale, bias, *, epsilon=EPSILON, num_groups):
    if in_networks(x, scale, bias) and x.shape is not None and len(x.shape) >= 3:
        return g.GroupNorm(x, scale, bias, num_groups=num_groups, eps=epsilon)
    if x.shape is None or len(x.shape) < 2 or x.shape[1] is UNKNOWN:
        raise Unsupported(
            "the number of channels is not known, which version 18 (one scale for each group) needs; wanted it declared"
        )
    if num_groups < 1:
        raise Unsupported(f"got num_groups={num_groups}, wanted 1 or more")
    each = x.shape[1] // num_groups
    return g.passthrough(
        x, *(g.repeat(v, repeats=each, axis=0) for v in (scale, bias)), epsilon=epsilon, num_groups=num_groups
    )


@imports("LRN")
def import_lrn(g, x, *, alpha=9.999999747378752e-05, beta=0.75, bias=1.0, size):
    if size % 2 and in_networks(x) and x.shape is not None and len(x.shape) == 4:
        return g.LRN(x, alpha=alpha, beta=beta, knorm=bias, nsize=size)
    return g.passthrough(x, alpha=alpha, beta=beta, bias=bias, size=size)
