"""Single operators at the sizes that networks have them, each exported as a network of its own (benchmarks/networks.py)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from networks import Network

Shape = tuple[int, ...]

MAP = (1, 64, 56, 56)
WORDS = (128, 1, 768)
SCORES = (12, 128, 128)

TABLE: dict[str, list[tuple[tuple[Shape, ...], dict[str, Any]]]] = {
    "Activation": [((MAP,), {"act_type": a}) for a in ("relu", "sigmoid", "tanh", "softrelu")],
    "BatchNorm": [((MAP,), {"fix_gamma": False})],
    "Concat": [((MAP, MAP), {"dim": 1}), ((WORDS, WORDS), {"dim": 2})],
    "Convolution": [
        (((1, 3, 224, 224),), {"kernel": (7, 7), "stride": (2, 2), "pad": (3, 3), "num_filter": 64}),
        ((MAP,), {"kernel": (1, 1), "num_filter": 256}),
        ((MAP,), {"kernel": (3, 3), "pad": (1, 1), "num_filter": 64}),
        (((1, 128, 28, 28),), {"kernel": (3, 3), "pad": (1, 1), "num_filter": 128}),
        (((1, 256, 14, 14),), {"kernel": (3, 3), "pad": (1, 1), "num_filter": 256}),
        (((1, 512, 7, 7),), {"kernel": (3, 3), "pad": (1, 1), "num_filter": 512}),
        (((1, 1024, 14, 14),), {"kernel": (1, 1), "num_filter": 256}),
        (((1, 256, 56, 56),), {"kernel": (1, 1), "stride": (2, 2), "num_filter": 512}),
        (((1, 128, 56, 56),), {"kernel": (3, 3), "pad": (1, 1), "num_filter": 128, "num_group": 128}),
        (((1, 512, 14, 14),), {"kernel": (3, 3), "pad": (1, 1), "num_filter": 512, "num_group": 512}),
        (((1, 128, 28, 28),), {"kernel": (3, 3), "pad": (1, 1), "num_filter": 128, "num_group": 32}),
        (((1, 64, 28, 28),), {"kernel": (3, 3), "pad": (2, 2), "dilate": (2, 2), "num_filter": 64}),
        (((1, 64, 512),), {"kernel": (5,), "pad": (2,), "num_filter": 64}),
        (((1, 16, 16, 28, 28),), {"kernel": (3, 3, 3), "pad": (1, 1, 1), "num_filter": 32}),
    ],
    "Deconvolution": [
        (((1, 64, 28, 28),), {"kernel": (4, 4), "stride": (2, 2), "pad": (1, 1), "num_filter": 32}),
    ],
    "Embedding": [(((1, 128),), {"input_dim": 8192, "output_dim": 768})],
    "FullyConnected": [
        (((1, 512),), {"num_hidden": 256}),
        (((1, 2048),), {"num_hidden": 1000}),
        (((1, 9216),), {"num_hidden": 4096}),
        (((64, 2048),), {"num_hidden": 1000}),
        ((WORDS,), {"num_hidden": 3072, "flatten": False}),
        (((128, 1, 3072),), {"num_hidden": 768, "flatten": False}),
    ],
    "GroupNorm": [((MAP,), {"num_groups": 8})],
    "InstanceNorm": [((MAP,), {})],
    "LRN": [((MAP,), {"nsize": 5})],
    "LayerNorm": [((WORDS,), {})],
    "LeakyReLU": [((WORDS,), {"act_type": "gelu"}), ((MAP,), {"act_type": "leaky"})],
    "Pooling": [
        (((1, 64, 112, 112),), {"kernel": (3, 3), "stride": (2, 2), "pad": (1, 1), "pool_type": "max"}),
        ((MAP,), {"kernel": (2, 2), "stride": (2, 2), "pool_type": "max"}),
        (((1, 192, 35, 35),), {"kernel": (3, 3), "pad": (1, 1), "pool_type": "avg"}),
        (((1, 2048, 7, 7),), {"kernel": (1, 1), "global_pool": True, "pool_type": "avg"}),
    ],
    "batch_dot": [((SCORES, (12, 128, 64)), {}), (((12, 128, 64), (12, 128, 64)), {"transpose_b": True})],
    "broadcast_add": [((MAP, (1, 64, 1, 1)), {})],
    "broadcast_mul": [((MAP, (1, 64, 1, 1)), {})],
    "dot": [(((256, 256), (256, 256)), {}), (((1024, 1024), (1024, 1024)), {})],
    "elemwise_add": [((MAP, MAP), {})],
    "elemwise_mul": [((MAP, MAP), {})],
    "exp": [((MAP,), {})],
    "log": [((MAP,), {})],
    "log_softmax": [(((128, 1000),), {"axis": -1})],
    "max": [((MAP,), {"axis": (2, 3)})],
    "mean": [((MAP,), {"axis": (2, 3)}), ((WORDS,), {"axis": -1})],
    "softmax": [((SCORES,), {"axis": -1}), (((1, 1000),), {"axis": -1})],
    "sqrt": [((MAP,), {})],
    "sum": [((MAP,), {"axis": 1}), ((WORDS,), {"axis": -1})],
    "transpose": [(((1, 128, 12, 64),), {"axes": (0, 2, 1, 3)}), ((MAP,), {"axes": (0, 2, 3, 1)})],
}
"""By operator: shapes of what it is given, and attributes. Weights come by themselves."""

POSITIVE = {"log", "sqrt", "rsqrt", "cbrt", "rcbrt", "log2", "log10", "log1p", "gammaln", "gamma"}


def cases(kernels: Iterable[str]) -> tuple[list[Network], list[str]]:
    """(what is measured, operators that are not): the table, and other operators with a kernel whose operands have one shape."""
    from hybrid.core.op import OPS
    from hybrid.ops.common import Elementwise

    found, left = [], []
    for name in sorted({*kernels, *TABLE}):
        if name in TABLE:
            found += [_case(name, shapes, attrs) for shapes, attrs in TABLE[name]]
        elif name in OPS and issubclass(OPS[name], Elementwise) and not any(i[0] == "*" for i in OPS[name].inputs):
            found.append(_case(name, (MAP,) * len(OPS[name].inputs), {}))
        else:
            left.append(name)
    return found, left


def _case(operator: str, shapes: tuple[Shape, ...], attrs: dict[str, Any]) -> Network:
    names = [f"data{i}" for i in range(len(shapes))]

    def build(mx: Any) -> Any:
        variables = [mx.sym.var(n, shape=s) for n, s in zip(names, shapes)]
        return mx.gluon.SymbolBlock(getattr(mx.sym, operator)(*variables, name="one", **attrs), variables)

    sizes = " ".join("x".join(map(str, s)) for s in shapes)
    told = " ".join(f"{k}={v}".replace(" ", "") for k, v in attrs.items())
    title = " ".join(filter(None, (operator, sizes, told)))
    below = {"data0": attrs["input_dim"]} if "input_dim" in attrs else {}
    return Network(title, build, lambda _batch: dict(zip(names, shapes)), below=below, positive=operator in POSITIVE)
