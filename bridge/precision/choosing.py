"""The nodes of a network that compute on 8-bit integers: convolutions and products with constant weights, and between them the
sums and averages that engines fuse with them, unless what was measured speaks against it.

Each node is first measured alone, on the numbers of the float32 network: what it loses by its own integers. Those that lose too
much stay in float32. If the whole then is too far off, the layers that hurt the outputs most go back one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import onnx

from converters.precision.qdq import Product, Scale, to_qdq
from converters.precision.retype import tensor_types
from converters.writer import Converted

from ..engines import Arrays
from ..paths import BadInput, names_in
from .accuracy import Accuracy, Sums, measure
from .staying import named
from .survey import Range, engine_of
from .wishes import Quantized, Stay

BESIDE = "/on_integers"
FAR = 1e4
"""Magnitude from which on a tensor holds no features: masks, sums that run away."""
PASSING = frozenset(
    ("Relu", "LeakyRelu", "PRelu", "Clip", "Identity", "MaxPool", "BatchNormalization", "HardSwish", "HardSigmoid", "Sigmoid",
     "Mul", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Concat", "Pad", "Resize")
)  # fmt: skip
"""Operators that features stay features through."""
SUMS = frozenset(("Add", "AveragePool", "GlobalAveragePool"))
OTHERS = {
    "LSTM": "recurrent: runtimes have no integer kernel for it", "GRU": "recurrent: runtimes have no integer kernel for it",
    "RNN": "recurrent: runtimes have no integer kernel for it", "DeformConv": "runtimes have no integer kernel for it",
    "Einsum": "runtimes have no integer kernel for it", "Loop": "a loop, whose body stays as it is",
    "Scan": "a loop, whose body stays as it is", "If": "a branch, whose bodies stay as they are",
    "ConvInteger": "on 8-bit integers already", "MatMulInteger": "on 8-bit integers already",
}  # fmt: skip
"""Operators with weights or bodies that stay, and why."""
ONE_BY_ONE = 64
"""Layers up to which the harm of each to the outputs is measured by a run of its own; beyond, that to itself counts."""


class Choice:
    """The nodes of a network that become integers, and why others do not."""

    def __init__(self, before: Converted, ranges: Mapping[str, Range]):
        self.before, self.ranges = before, ranges
        self.graph = before.model.graph
        typed = tensor_types(before).graph
        infos = (*typed.input, *typed.value_info, *typed.output)
        self.singles = {i.name for i in infos if i.type.tensor_type.elem_type == onnx.TensorProto.FLOAT}
        self.ranks = {i.name: len(i.type.tensor_type.shape.dim) for i in infos if i.type.tensor_type.HasField("shape")}
        self.constants = {n: a for n, a in before.initializers.items() if a.dtype == np.float32}
        for node in self.graph.node:
            if node.op_type == "Constant":
                for a in node.attribute:
                    if a.name == "value" and a.t.data_type == onnx.TensorProto.FLOAT:
                        self.constants[node.output[0]] = onnx.numpy_helper.to_array(a.t)
        self.maker = {o: n for n in self.graph.node for o in n.output if o}
        self.products: dict[str, Product] = {}
        self.stays: dict[str, Stay] = {}
        self.already: list[str] = []
        """Nodes that are on integers in this form before anything is done."""
        self._find()

    def node(self, output: str) -> onnx.NodeProto:
        return self.maker[output]

    def leave(self, output: str, reason: str) -> None:
        """Let a node stay in float32."""
        node = self.maker[output]
        self.products.pop(output, None)
        self.stays.setdefault(output, Stay(node.name or output, node.op_type, output, reason))

    # -- candidates -------------------------------------------------------------------------------------------------

    def _find(self) -> None:
        features: set[str] = set()
        for node in self.graph.node:
            output = node.output[0] if node.output else ""
            product, why = self._product(node)
            if why:
                self.stays[output] = Stay(node.name or output, node.op_type, output, why)
            if product is None and node.op_type in SUMS:
                reads = [n for n in node.input if n]
                if reads and all(n in features for n in reads) and len(set(reads)) == len(reads):
                    product = Product(output, tuple(range(len(reads))))
            if product is not None:
                far = next((node.input[i] for i in product.activations if not self._small(node.input[i])), None)
                if far is None:
                    self.products[output] = product
                    features.add(output)
                elif product.weight is not None:
                    reach = self.ranges.get(far, Range()).greatest
                    self.stays[output] = Stay(
                        node.name or output, node.op_type, output, f"{far} reaches {reach:.3g}, which is no feature"
                    )
            elif node.op_type in PASSING and any(n in features for n in node.input):
                features.update(node.output)

    def _small(self, name: str) -> bool:
        range = self.ranges.get(name)
        return range is not None and range.low <= range.high and range.greatest < FAR and name in self.singles

    def _product(self, node: onnx.NodeProto) -> tuple[Product | None, str]:
        """The node on integers, if it can be; or why one of its kind cannot."""
        output = node.output[0] if node.output else ""
        if node.op_type in OTHERS and not node.domain:
            return None, OTHERS[node.op_type]
        if node.domain or node.op_type not in ("Conv", "ConvTranspose", "Gemm", "MatMul") or output not in self.singles:
            return None, ""
        if node.input[0] in self.constants or node.input[0] not in self.singles:
            return None, ""
        weight = self.constants.get(node.input[1])
        if weight is None and self._reads_integers(node.input[1]):
            self.already.append(output)
            return None, ""
        if weight is None:
            both = node.op_type == "MatMul" and node.input[1] in self.ranges
            return (
                None,
                "a product of two activations, of which neither is constant" if both else "its weight is computed",
            )
        if not np.isfinite(weight).all():
            return None, "its weight holds numbers that are not finite"
        given = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        bias = 2 if len(node.input) > 2 and node.input[2] in self.constants else None
        if node.op_type == "Gemm":
            if given.get("transA", 0):
                return None, "it reads its data transposed"
            if given.get("alpha", 1.0) != 1.0 or given.get("beta", 1.0) != 1.0:
                bias = None
            axis = 0 if given.get("transB", 0) else 1
            if bias is not None and self.constants[node.input[2]].shape not in (
                (weight.shape[axis],),
                (1, weight.shape[axis]),
            ):
                bias = None
            if bias is not None and self.constants[node.input[2]].ndim != 1:
                bias = None
        elif node.op_type == "MatMul":
            axis = 1 if weight.ndim == 2 else None
        elif node.op_type == "ConvTranspose":
            grouped = given.get("group", 1) != 1
            axis, bias = (None, None) if grouped else (1, bias)
        else:
            axis = 0
        return Product(output, (0,), 1, axis, bias), ""

    def _reads_integers(self, name: str) -> bool:
        """True for a tensor that integers are made real as, maybe in another shape."""
        node = self.maker.get(name)
        while node is not None and node.op_type in ("Reshape", "Transpose", "Cast"):
            node = self.maker.get(node.input[0])
        return node is not None and node.op_type == "DequantizeLinear"

    def ask(self, keep: Sequence[str]) -> None:
        """Let nodes stay that a user names. Raises BadInput for names that nothing has."""
        unknown = []
        for text in names_in(keep, {t for t in keep if any(named(n, t) for n in self.graph.node)}):
            matching = [n for n in self.graph.node if named(n, text)]
            for node in matching:
                for output in node.output:
                    if output in self.products:
                        self.leave(output, "asked for")
            if not matching:
                unknown.append(f"{text}: no node and no operator of the file has that name; inspect --nodes lists them")
        if unknown:
            raise BadInput(*unknown)

    @property
    def read(self) -> list[str]:
        """Tensors that nodes on integers read, in order."""
        names = (self.maker[o].input[i] for o, p in self.products.items() for i in p.activations)
        return list(dict.fromkeys(names))

    def without_lonely_sums(self) -> None:
        """Let sums and averages stay whose numbers do not all come from nodes on integers any more."""
        weighted = {o for o, p in self.products.items() if p.weight is not None}
        for output, product in list(self.products.items()):
            if product.weight is None and not all(
                self._from(self.maker[output].input[i], weighted) for i in product.activations
            ):
                self.products.pop(output)

    def _from(self, name: str, weighted: set[str]) -> bool:
        """True where a tensor comes from one of these nodes, through what features pass through."""
        stack, seen = [name], set()
        while stack:
            name = stack.pop()
            if name in weighted:
                return True
            node = self.maker.get(name)
            if node is not None and name not in seen and node.op_type in PASSING | SUMS:
                seen.add(name)
                stack.extend(node.input)
        return False


def alone(choice: Choice, scales: Mapping[str, Scale], feeds: Sequence[Arrays], weights: str) -> dict[str, float]:
    """Signal to noise of each node's output, in decibels, when it alone is on integers. Raises EngineError."""
    products = list(choice.products.values())
    twins = to_qdq(choice.before, products, scales, weights=weights, beside=BESIDE)
    names = [p.output for p in products]
    engine = engine_of(twins, "beside", [*names, *(f"{n}{BESIDE}" for n in names)], plain=True)
    sums = {n: Sums() for n in names}
    for given in feeds:
        shown = engine.run_unchecked(given)
        for name in names:
            sums[name].add(shown[name], shown[f"{name}{BESIDE}"])
    engine.free_memory()
    return {n: s.sqnr for n, s in sums.items()}


def choose(
    wishes: Quantized,
    choice: Choice,
    scales: Mapping[str, Scale],
    feeds: Sequence[Arrays],
    judged: Sequence[str],
    tell: Callable[[str], None],
) -> tuple[Converted, tuple[Accuracy, ...]]:
    """The model on integers, and what that costs all its tensors; the choice is left with what was taken."""
    own: dict[str, float] = {}
    if choice.products:
        tell("measuring each layer by itself")
        own = alone(choice, scales, feeds, wishes.weights)
        for output, decibels in own.items():
            if decibels < wishes.least:
                lost = f"by itself it has {decibels:.1f} dB of signal to noise on integers"
                choice.leave(output, f"{lost}, where {wishes.least:g} are wanted")
    choice.without_lonely_sums()

    def build(products: Iterable[Product]) -> Converted:
        chosen = [p if wishes.biases else replace(p, bias=None) for p in products]
        return to_qdq(choice.before, chosen, scales, weights=wishes.weights)

    def fails(layers: Sequence[Accuracy]) -> bool:
        return any(a.sqnr < wishes.least or a.misplaced for a in layers if a.tensor in judged)

    made = build(choice.products.values())
    layers = measure(choice.before, made, feeds)
    order: list[str] = []
    count = 1
    while choice.products and fails(layers):
        if not order:
            tell("measuring what each layer does to the outputs")
            order = sorted(choice.products, key=_harm(choice, build, feeds, judged, own))
        tell(f"leaving {min(count, len(order))} more layers in float32")
        for output in order[:count]:
            choice.leave(output, "the outputs lose too much by it")
        order, count = order[count:], 2 * count
        choice.without_lonely_sums()
        made = build(choice.products.values())
        layers = measure(choice.before, made, feeds)
    return made, layers


def _harm(
    choice: Choice,
    build: Callable[[Iterable[Product]], Converted],
    feeds: Sequence[Arrays],
    judged: Sequence[str],
    own: Mapping[str, float],
) -> Callable[[str], float]:
    """The least signal to noise of what is judged when one node alone is on integers; of many layers that of the node itself."""
    if len(choice.products) > ONE_BY_ONE:
        return lambda output: own.get(output, 0.0)
    found = {}
    for output, product in choice.products.items():
        layers = measure(choice.before, build([product]), feeds[:1])
        found[output] = min((a.sqnr for a in layers if a.tensor in judged), default=0.0)
    return lambda output: found[output]
