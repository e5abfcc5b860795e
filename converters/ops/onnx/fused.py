"""Operators that onnxruntime's optimiser writes for several at once, read as the operators of the standard that they stand
for."""

from onnx import helper

from ...error import Unsupported
from ...registry import MS, imports, not_imported

OPSET = 23
"""The standard's opset that the nodes below are of."""
ACTIVATIONS = {
    "Relu": (),
    "Tanh": (),
    "Sigmoid": (),
    "LeakyRelu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
}
"""Activations that FusedConv and FusedGemm may end with, and the names of their parameters."""


def spelt(g, inputs, outputs, *nodes):
    """The outputs of nodes (operator, names read, names made, attributes); inputs are the values that some of the names are."""
    made = [helper.make_node(name, reads, makes, **attributes) for name, reads, makes, attributes in nodes]
    opsets = [helper.make_opsetid("", OPSET)]
    there = {name: value for name, value in inputs.items() if value is not None}
    return g.expand(helper.make_function(MS, g.node.op_type, list(there), outputs, made, opsets), list(there.values()))


@imports("Gelu", domain=MS)
def import_gelu(g, x):
    return spelt(g, {"X": x}, ["Y"], ("Gelu", ["X"], ["Y"], {}))


@imports("BiasGelu", domain=MS)
def import_bias_gelu(g, a, b):
    return spelt(g, {"A": a, "B": b}, ["C"], ("Add", ["A", "B"], ["sum"], {}), ("Gelu", ["sum"], ["C"], {}))


@imports("FastGelu", domain=MS)
def import_fast_gelu(g, x, bias=None):
    added = [] if bias is None else [("Add", ["X", "bias"], ["sum"], {})]
    return spelt(
        g, {"X": x, "bias": bias}, ["Y"], *added, ("Gelu", ["sum" if added else "X"], ["Y"], {"approximate": "tanh"})
    )


@imports("QuickGelu", domain=MS)
def import_quick_gelu(g, x, *, alpha=1.702):
    """x * sigmoid(alpha * x)."""
    if x.dtype is None:
        raise Unsupported("the dtype of X is not known")
    inputs = {"X": x, "alpha": g.const(alpha, x.dtype)}
    nodes = (
        ("Mul", ["X", "alpha"], ["scaled"], {}),
        ("Sigmoid", ["scaled"], ["gate"], {}),
        ("Mul", ["X", "gate"], ["Y"], {}),
    )
    return spelt(g, inputs, ["Y"], *nodes)


@imports("FusedMatMul", "TransposeMatMul", domain=MS)
def import_fused_mat_mul(g, a, b, *, alpha=1.0, transA=0, transB=0, transBatchA=0, transBatchB=0):  # noqa: N803  ONNX's names
    if transBatchA or transBatchB:
        raise Unsupported("got transBatchA or transBatchB, wanted neither; export without onnxruntime's optimisation")
    inputs, nodes = {"A": a, "B": b}, []
    factors = ["A", "B"]
    for i, (value, turned) in enumerate(((a, transA), (b, transB))):
        if turned and value.rank > 1:
            perm = [*range(value.rank - 2), value.rank - 1, value.rank - 2]
            nodes.append(("Transpose", [factors[i]], [f"turned{i}"], {"perm": perm}))
            factors[i] = f"turned{i}"
    nodes.append(("MatMul", factors, ["product"], {}))
    if alpha == 1:
        return spelt(g, inputs, ["product"], *nodes)
    if a.dtype is None:
        raise Unsupported("the dtype of A is not known")
    inputs["alpha"] = g.const(alpha, a.dtype)
    return spelt(g, inputs, ["Y"], *nodes, ("Mul", ["product", "alpha"], ["Y"], {}))


def _ending(activation, parameters, read, made):
    """The node of an activation. Raises Unsupported for one that is not known."""
    if not activation:
        return "Identity", [read], [made], {}
    if activation not in ACTIVATIONS:
        raise Unsupported(f"got activation={activation}, wanted one of {', '.join(ACTIVATIONS)}")
    return activation, [read], [made], dict(zip(ACTIVATIONS[activation], parameters))


@imports("FusedConv", domain=MS)
def import_fused_conv(g, x, w, b=None, z=None, *, activation="", activation_params=(), **attributes):
    inputs = {"X": x, "W": w, "B": b, "Z": z}
    nodes = [("Conv", ["X", "W", "" if b is None else "B"], ["product"], attributes)]
    if z is not None:
        nodes.append(("Add", ["product", "Z"], ["sum"], {}))
    if activation == "Clip":
        if x.dtype is None or len(activation_params) != 2:
            raise Unsupported(f"the dtype of X is not known, or got activation_params={activation_params}, wanted two")
        inputs |= {name: g.const(value, x.dtype) for name, value in zip(("low", "high"), activation_params)}
        return spelt(g, inputs, ["Y"], *nodes, ("Clip", [nodes[-1][2][0], "low", "high"], ["Y"], {}))
    return spelt(g, inputs, ["Y"], *nodes, _ending(activation, activation_params, nodes[-1][2][0], "Y"))


def _channels_first(g, x, name, inputs, attributes):
    """A node on an array whose channels come last, and what it makes so too. inputs: those behind x, by their names."""
    if x.shape is None:
        raise Unsupported("the rank of the first input is not known")
    rank = len(x.shape)
    there, back = [0, rank - 1, *range(1, rank - 1)], [0, *range(2, rank), 1]
    reads = ["turned", *(n if v is not None else "" for n, v in inputs.items())]
    return spelt(
        g,
        {"X": x, **inputs},
        ["Y"],
        ("Transpose", ["X"], ["turned"], {"perm": there}),
        (name, reads, ["made"], attributes),
        ("Transpose", ["made"], ["Y"], {"perm": back}),
    )


@imports("QLinearConv", domain=MS)
def import_qlinear_conv_of_any_layout(
    g, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b=None, *, channels_last=0, **attributes
):
    """The standard's, which may have its channels last; the weights have not."""
    scales = {"x_scale": x_scale, "x_zero": x_zero, "w": w, "w_scale": w_scale, "w_zero": w_zero}
    inputs = {**scales, "y_scale": y_scale, "y_zero": y_zero, "B": b}
    if channels_last:
        return _channels_first(g, x, "QLinearConv", inputs, attributes)
    reads = ["X", *(n if v is not None else "" for n, v in inputs.items())]
    return spelt(g, {"X": x, **inputs}, ["Y"], ("QLinearConv", reads, ["Y"], attributes))


@imports("NhwcMaxPool", domain=MS)
def import_nhwc_max_pool(g, x, **attributes):
    return _channels_first(g, x, "MaxPool", {}, attributes)


not_imported(
    "an operator of onnxruntime for blocks of channels as one processor has them, which its optimizations of level all write: "
    "give the model before them, or one that level extended has written",
    *(
        "Conv",
        "MaxPool",
        "AveragePool",
        "GlobalMaxPool",
        "GlobalAveragePool",
        "ReorderInput",
        "ReorderOutput",
        "Upsample",
    ),
    domain="com.microsoft.nchwc",
)


@imports("FusedGemm", domain=MS)
def import_fused_gemm(
    g, a, b, c=None, *, activation="", activation_alpha=None, activation_beta=None, activation_gamma=None, **attributes
):
    given = [v for v in (activation_alpha, activation_beta, activation_gamma) if v is not None]
    product = ("Gemm", ["A", "B", "" if c is None else "C"], ["product"], attributes)
    return spelt(g, {"A": a, "B": b, "C": c}, ["Y"], product, _ending(activation, given, "product", "Y"))


def _skip_layer_norm(g, x, skip, bias, normalised, more, inputs):
    """Outputs of a layer normalisation of input + skip + bias; the sum is the fourth, where it is wanted."""
    nodes = [("Add", ["input", "skip"], ["both"], {})]
    if bias is not None:
        nodes.append(("Add", ["both", "bias"], ["all"], {}))
    total = nodes[-1][2][0]
    name, reads, attributes = normalised
    nodes.append((name, [total, *reads], ["output", *more], attributes))
    found = spelt(g, {"input": x, "skip": skip, "bias": bias, **inputs}, ["output", *more, total], *nodes)
    return [found[0], *(found[1:-1] if more else [None, None]), found[-1]]


@imports("SkipLayerNormalization", domain=MS)
def import_skip_layer_normalization(g, x, skip, gamma, beta=None, bias=None, *, epsilon=1e-12):
    reads = ["gamma"] if beta is None else ["gamma", "beta"]
    more = ["mean", "deviation"] if g.wants(1) or g.wants(2) else []
    normalised = "LayerNormalization", reads, {"epsilon": epsilon}
    return _skip_layer_norm(g, x, skip, bias, normalised, more, {"gamma": gamma, "beta": beta})


@imports("SkipSimplifiedLayerNormalization", domain=MS)
def import_skip_simplified_layer_normalization(g, x, skip, gamma, bias=None, *, epsilon=1e-12):
    if g.wants(1) or g.wants(2):
        raise Unsupported("mean and inv_std_var are wanted, which only training reads")
    return _skip_layer_norm(
        g, x, skip, bias, ("RMSNormalization", ["gamma"], {"epsilon": epsilon}), [], {"gamma": gamma}
    )


@imports("SimplifiedLayerNormalization")
@imports("SimplifiedLayerNormalization", domain=MS)
def import_simplified_layer_normalization(g, x, scale, *, axis=-1, epsilon=1e-5, stash_type=1):
    """Written by onnxruntime into the standard's own domain."""
    attributes = {"axis": axis, "epsilon": epsilon, "stash_type": stash_type}
    return spelt(g, {"X": x, "scale": scale}, ["Y"], ("RMSNormalization", ["X", "scale"], ["Y"], attributes))
