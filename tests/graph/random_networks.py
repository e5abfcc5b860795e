"""Random networks of layers with random attributes, trained compiled and in NumPy alone.

    python -m tests.graph.random_networks COUNT [FIRST]

tries COUNT of them, from seed FIRST on, and prints those that differ. What networks are made of: layers in every layout, with and
without bias, strides, groups and padding; reductions with exclude; moves of all kinds; sources whose shape readers decide;
samplers; losses inside; and, all the time, arrays that several others read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from hybrid.core.error import OpError
from hybrid.core.op import lookup
from hybrid.ir.graph import Entry, Graph, Node
from tests.table.training import Arrays, differences, numpy_alone, trained

TOLERANCE = 2e-4
"""Of the scale: a dozen layers, whose roundings their gradients multiply."""
MOST = 4000
"""Elements of an array."""


class Network:
    """A network in the making."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.known: dict[tuple[int, int], tuple[int, ...]] = {}
        self.pool: list[Entry] = []
        self._count = 0
        first = self.pick([(2, 3, 6, 5), (2, 17, 4, 4), (3, 4, 7), (4, 6), (2, 5, 3), (2, 6, 5, 3)])
        for name in ("x", "y"):
            self.add(self.variable(name, first))
        for _ in range(int(self.rng.integers(3, 12))):
            try:
                self.pick(LAYERS)(self)
            except OpError:  # it does not fit what it has been given: the next one may
                continue
        ends = [self.any() for _ in range(int(self.rng.integers(1, 4)))]
        self.graph = Graph(dict.fromkeys([self.pool[-1], *ends]))

    # -- what layers are made with ------------------------------------------------------------------------------------------

    def pick(self, choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def flag(self) -> bool:
        return bool(self.rng.integers(2))

    def any(self, *ranks: int) -> Any:
        """Some array, of one of these ranks."""
        found = [e for e in self.pool if not ranks or len(self.shape(e)) in ranks]
        return self.pick(found) if found else None

    def shape(self, entry: Entry) -> tuple[int, ...]:
        return self.known[id(entry.node), entry.index]

    def variable(self, name: str, shape: tuple[int, ...]) -> Entry:
        entry = Entry(Node(None, name))
        self.shapes[name] = self.known[id(entry.node), 0] = shape
        return entry

    def new(self, what: str, *shape: int) -> Entry:
        """A parameter."""
        return self.variable(f"{what}{len(self.shapes)}", shape)

    def apply(self, op: str, *inputs: Entry, **attrs: Any) -> Entry:
        """The first output of a new node, the others of which are in the pool with it if they are seen."""
        made = lookup(op).bind(**attrs)
        self._count += 1
        node = Node(made, f"n{self._count}", inputs)
        outputs = [Entry(node, i) for i in range(len(node.outputs))]
        shapes: Any = made.infer_shape(*map(self.shape, inputs))
        for entry, shape in zip(outputs, shapes if isinstance(shapes, list) else [shapes]):
            self.known[id(node), entry.index] = shape
        for entry in outputs[1 : node.num_visible_outputs]:
            self.add(entry)
        return outputs[0]

    def add(self, entry: Entry) -> None:
        if 0 < np.prod(self.shape(entry)) <= MOST and self.shape(entry):
            self.pool.append(entry)

    def feeds(self, seed: int) -> Arrays:
        """Arrays that the variables hold."""
        rng = np.random.default_rng(seed)
        used = [n.name for n in self.graph.variables()]
        arrays = {n: rng.uniform(-1, 1, self.shapes[n]).astype(np.float32) for n in used}
        return {n: a + 1.5 if n.startswith("var") else a for n, a in arrays.items()}


Layer = Callable[[Network], None]


def unary(n: Network) -> None:
    """A function of each element, or of what passes through it."""
    op, attrs = n.pick([
        ("relu", {}), ("sigmoid", {}), ("tanh", {}), ("negative", {}), ("abs", {}), ("softsign", {}), ("identity", {}),
        ("BlockGrad", {}), ("_contrib_gradientmultiplier", {"scalar": -0.5}), ("clip", {"a_min": -0.4, "a_max": 0.7}),
        ("smooth_l1", {"scalar": 2.0}), ("Cast", {"dtype": "float32"}), ("Activation", {"act_type": "softrelu"}),
        ("LeakyReLU", {"act_type": "leaky", "slope": 0.3}), ("LeakyReLU", {"act_type": "elu"}), ("Dropout", {"p": 0.4}),
        ("LeakyReLU", {"act_type": "gelu"}), ("MakeLoss", {"grad_scale": 0.5, "normalization": "batch"}), ("make_loss", {}),
        ("MakeLoss", {"normalization": "valid", "valid_thresh": 0.1}), ("zeros_like", {}), ("ones_like", {}),
        ("_plus_scalar", {"scalar": 0.5}), ("_rminus_scalar", {"scalar": 0.5}), ("_mul_scalar", {"scalar": -1.5}),
        ("_div_scalar", {"scalar": 3.0}), ("_maximum_scalar", {"scalar": 0.1}), ("_minimum_scalar", {"scalar": 0.1}),
    ])  # fmt: skip
    n.add(n.apply(op, n.any(), **attrs))


def binary(n: Network) -> None:
    """Two arrays of one shape, perhaps the same one; or one and what is left of it when it is reduced."""
    one = n.any()
    alike = [e for e in n.pool if n.shape(e) == n.shape(one)]
    op = n.pick(["add", "sub", "mul", "maximum", "minimum"])
    if n.flag() and op not in ("maximum", "minimum"):
        n.add(n.apply(f"elemwise_{op}", one, n.pick(alike)))
        return
    rank = len(n.shape(one))
    axis = tuple(a for a in range(rank) if n.flag()) or (0,)
    small = n.apply(
        n.pick(["sum", "mean", "max"]), n.pick(alike), axis=axis, keepdims=True, exclude=len(axis) < rank and n.flag()
    )
    pair = (one, small) if n.flag() else (small, one)
    n.add(n.apply(f"broadcast_{op}", *pair))


def several(n: Network) -> None:
    """More than two at once: sums, choices, joins and parts."""
    one = n.any()
    alike = [e for e in n.pool if n.shape(e) == n.shape(one)]
    count, axis = int(n.rng.integers(1, 4)), int(n.rng.integers(len(n.shape(one))))
    chosen = [n.pick(alike) for _ in range(count)]
    kind = n.pick(["add_n", "Concat", "stack", "where", "split"])
    if kind == "where":
        n.add(n.apply("where", n.apply("_greater_scalar", one, scalar=0.2), n.pick(alike), n.pick(alike)))
    elif kind == "split":
        size = n.shape(one)[axis]
        n.add(
            n.apply(
                "SliceChannel", one, num_outputs=size if n.flag() else 1, axis=axis, squeeze_axis=size > 1 and n.flag()
            )
        )
    else:
        attrs = {"Concat": {"dim": axis}, "stack": {"axis": axis}}.get(kind, {})
        n.add(n.apply(kind, *chosen, num_args=count, **attrs))


def move(n: Network) -> None:
    """Other shapes and orders of the same numbers."""
    one = n.any()
    shape = n.shape(one)
    rank, axis = len(shape), int(n.rng.integers(len(shape)))
    order = tuple(map(int, n.rng.permutation(rank)))
    begin = int(n.rng.integers(shape[axis]))
    op, attrs = n.pick([
        ("Reshape", {"shape": (-1,)}), ("Reshape", {"shape": (0, -1)}), ("Reshape", {"shape": (-1, *shape[1:][::-1])}),
        ("Reshape", {"shape": (-3, *(0,) * (rank - 2)) if rank > 1 else (0,)}), ("Flatten", {}), ("transpose", {"axes": order}),
        ("transpose", {}), ("SwapAxis", {"dim1": axis, "dim2": 0}), ("expand_dims", {"axis": axis}), ("reverse", {"axis": (axis,)}),
        ("slice_axis", {"axis": axis, "begin": begin, "end": None}), ("tile", {"reps": (2,)}),
        ("repeat", {"repeats": 2, "axis": axis}),
        ("slice", {"begin": (None,) * axis + (begin,), "end": (None,) * (axis + 1), "step": (1,) * axis + (2,)}),
        ("slice", {"begin": (None,) * (axis + 1), "end": (None,) * (axis + 1), "step": (1,) * axis + (-1,)}),
        ("tile", {"reps": (1,) * rank}), ("slice_axis", {"axis": axis, "begin": 0, "end": shape[axis]}),
    ])  # fmt: skip
    if rank < 6 and not (op == "Reshape" and attrs["shape"][0] == -3 and rank < 2):
        n.add(n.apply(op, one, **attrs))


def reduction(n: Network) -> None:
    """Sums and their kin over axes, or over all others."""
    one = n.any(2, 3, 4)
    if one is None:
        return
    rank = len(n.shape(one))
    axis = tuple(a - n.pick([0, rank]) for a in range(rank) if n.flag()) or (int(n.rng.integers(rank)),)
    exclude = len(axis) < rank and n.flag()
    n.add(
        n.apply(
            n.pick(["sum", "mean", "max", "min", "sum", "mean"]), one, axis=axis, keepdims=n.flag(), exclude=exclude
        )
    )


def dense(n: Network) -> None:
    """A dense layer; with a weight that another one has too, now and then; or a product of matrices."""
    one = n.any(2, 3, 4)
    if one is None:
        return
    shape, hidden, flatten, bias = n.shape(one), int(n.pick([1, 3, 8, 17])), n.flag(), n.flag()
    size = int(np.prod(shape[1:])) if flatten else shape[-1]
    rest = [n.new("bias", hidden)] if bias else []
    weight = n.new("weight", hidden, size)
    attrs = {"num_hidden": hidden, "no_bias": not bias, "flatten": flatten}
    made = n.apply("FullyConnected", one, weight, *rest, **attrs)
    if n.flag():
        made = n.apply("Activation", made, act_type=n.pick(["relu", "sigmoid", "tanh"]))
    n.add(made)
    if n.flag():
        n.add(n.apply("FullyConnected", n.apply("sin", one), weight, *rest, **attrs))
    if len(shape) == 2:
        n.add(n.apply("dot", one, one, transpose_a=n.flag(), transpose_b=True) if shape[0] == shape[1]
              else n.apply("dot", one, one, transpose_b=True))  # fmt: skip
    if len(shape) == 3:
        n.add(n.apply("batch_dot", one, one, transpose_b=True))


def convolution(n: Network) -> None:
    """A convolution or its transpose, in one dimension or two, in every layout that there is, and what often follows."""
    one = n.any(3, 4)
    if one is None:
        return
    shape = n.shape(one)
    last = len(shape) == 4 and n.flag()  # MXNet has no NWC
    spatial, channels = (shape[1:-1], shape[-1]) if last else (shape[2:], shape[1])
    dims = len(spatial)
    kernel = tuple(min(int(n.pick([1, 2, 3])), s) for s in spatial)
    groups = n.pick([1, 1, channels])
    filters, bias = groups * int(n.pick([1, 2])) if groups > 1 else int(n.pick([2, 5, 16])), n.flag()
    attrs = {"kernel": kernel, "stride": tuple(int(n.pick([1, 1, 2])) for _ in kernel), "num_filter": filters, "num_group": groups,
             "pad": tuple(int(n.pick([0, 1])) for _ in kernel), "no_bias": not bias}  # fmt: skip
    if n.flag():
        attrs["dilate"] = (2,) * dims if all(k * 2 - 1 <= s for k, s in zip(kernel, spatial)) else (1,) * dims
    rest = [n.new("bias", filters)] if bias else []
    if not last and n.pick([0, 0, 1]):
        weight = n.new("weight", channels, filters // groups, *kernel)
        made = n.apply("Deconvolution", one, weight, *rest, **attrs)
    else:
        inner = (*kernel, channels // groups) if last else (channels // groups, *kernel)
        layout = {"layout": "NHWC"} if last else {}
        made = n.apply("Convolution", one, n.new("weight", filters, *inner), *rest, **attrs, **layout)
    if n.flag():
        made = normalized(n, made, -1 if last else 1)
    n.add(made if n.flag() else n.apply("Activation", made, act_type="relu"))


def normalized(n: Network, entry: Entry, axis: int) -> Entry:
    """A BatchNorm with statistics that move."""
    size = n.shape(entry)[axis]
    parameters = [n.new(name, size) for name in ("gamma", "beta", "mean", "var")]
    return n.apply("BatchNorm", entry, *parameters, axis=axis, fix_gamma=n.flag(), use_global_stats=n.pick([False, False, True]),
                   eps=1e-3)  # fmt: skip


def normalization(n: Network) -> None:
    """BatchNorm, LayerNorm, softmax and their kin."""
    one = n.any(2, 3, 4)
    if one is None:
        return
    shape = n.shape(one)
    axis = int(n.rng.integers(len(shape)))
    kind = n.pick(["batch", "layer", "softmax", "log_softmax", "l2", "instance"])
    if kind == "batch":
        n.add(normalized(n, one, n.pick([1, -1])))
    elif kind == "layer" and shape[axis] > 2:
        n.add(n.apply("LayerNorm", one, n.new("gamma", shape[axis]), n.new("beta", shape[axis]), axis=axis, eps=1e-2))
    elif kind == "l2":
        n.add(n.apply("L2Normalization", one, eps=1e-2))
    elif kind == "instance" and len(shape) > 2 and np.prod(shape[2:]) > 2:
        n.add(n.apply("InstanceNorm", one, n.new("gamma", shape[1]), n.new("beta", shape[1]), eps=1e-2))
    elif "softmax" in kind:
        n.add(n.apply(kind, one, axis=axis))


def pooling(n: Network) -> None:
    """Every kind of pooling."""
    one = n.any(3, 4)
    if one is None:
        return
    shape, last = n.shape(one), n.flag()
    spatial = shape[1:-1] if last else shape[2:]
    kernel = tuple(min(int(n.pick([1, 2, 3])), s) for s in spatial)
    attrs: dict[str, Any] = {
        "pool_type": n.pick(["max", "avg", "sum"]),
        "global_pool": n.pick([False, False, True]),
        "kernel": kernel,
    }
    if last:
        attrs["layout"] = {1: "NWC", 2: "NHWC"}[len(spatial)]
    if not attrs["global_pool"]:
        attrs |= {"stride": tuple(int(n.pick([1, 2])) for _ in kernel), "pad": tuple(int(k > 1 and n.flag()) for k in kernel),
                  "pooling_convention": n.pick(["valid", "full"]), "count_include_pad": n.flag()}  # fmt: skip
    n.add(n.apply("Pooling", one, **attrs))


def source(n: Network) -> None:
    """Add an operator without inputs: numbers whose shape readers decide, constants, samples."""
    one = n.any()
    shape = n.shape(one)
    kind = n.pick(["decided", "full", "sample", "eye", "like"])
    if kind == "decided":
        made = Entry(Node(lookup(n.pick(["_zeros", "_ones"])).bind(shape=(0,) * len(shape)), f"source{len(n.known)}"))
        n.known[id(made.node), 0] = shape
    elif kind == "full":
        made = n.apply("_full", shape=shape, value=0.7)
    elif kind == "sample":
        made = n.apply(n.pick(["_random_uniform", "_random_normal"]), shape=shape)
    elif kind == "eye" and len(shape) > 1:
        made = n.apply("_npi_identity", shape=(shape[-1], shape[-1])) if shape[-1] == shape[-2] else n.apply(
            "_eye", N=shape[-2], M=shape[-1])  # fmt: skip
    else:
        made = n.apply("_contrib_arange_like", one, step=0.01)
    form = "elemwise" if kind == "decided" else "broadcast"  # broadcasting decides nothing
    n.add(n.apply(f"{form}_{n.pick(['add', 'mul'])}", one, made))


LAYERS: list[Layer] = [
    unary,
    unary,
    unary,
    binary,
    binary,
    several,
    move,
    move,
    reduction,
    dense,
    convolution,
    convolution,
]
LAYERS += [normalization, pooling, source, source]


def faults(seed: int) -> list[str]:
    """Differences of the compiled network of that seed, whatever it is fed: where a comparison of rounded numbers turns
    out otherwise (the greatest of two, the corner of relu) it is so for one input and not for the next."""
    network = Network(seed)
    found: list[str] = []
    for trial in range(3):
        feeds = network.feeds(trial)
        got = trained(network.graph, {k: v.copy() for k, v in feeds.items()})
        with numpy_alone():
            want = trained(network.graph, {k: v.copy() for k, v in feeds.items()})
        found = differences(got, want, 1.0, TOLERANCE)
        if not found:
            break
    return found


def main() -> None:
    """See the module."""
    count, first = (*map(int, sys.argv[1:]), 0)[:2]
    bad = 0
    for seed in range(first, first + count):
        try:
            found = faults(seed)
        except Exception as error:
            found = [f"{type(error).__name__}: {str(error)[:300]}"]
        if found:
            bad += 1
            print(seed, "; ".join(found[:3]), flush=True)
    print(f"{count} networks, {bad} differ")


if __name__ == "__main__":
    main()
