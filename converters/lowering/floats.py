"""Whole numbers, truths and other floats as float32, for engines that compute in nothing else.

A truth is 1 or 0, and logic is arithmetic. Whole numbers are exact up to 2**24, as they are in such engines anyway; a constant
beyond that, division of whole numbers, and what no arithmetic amounts to, stay as they are, between Casts."""

from __future__ import annotations

import numpy as np

from hybrid.core.attrs import HALVES
from hybrid.core.op import Spec

from ..builder import OnnxNode
from ..onnx_graph import OnnxGraph
from ..onnx_types import code_of
from .rewriting import F32, Rewriting
from .wild import is_wild

SETTINGS: dict[str, range] = {
    "Expand": range(1, 2), "Pad": range(1, 2), "ReduceSum": range(1, 2), "Reshape": range(1, 2), "Resize": range(1, 4),
    "Slice": range(1, 5), "Split": range(1, 2), "Squeeze": range(1, 2), "Tile": range(1, 2), "TopK": range(1, 2),
    "Unsqueeze": range(1, 2), "Upsample": range(1, 2), "Gather": range(1, 2),
}  # fmt: skip
"""Inputs that say how, and are whole numbers."""
EXACT = frozenset((
    "Abs", "Add", "Concat", "Expand", "Flatten", "Gather", "Identity", "MatMul", "Max", "MaxPool", "Min", "Mul", "Neg", "Pad",
    "ReduceMax",
    "ReduceMin", "ReduceSum", "Relu", "Reshape", "Sign", "Slice", "Split", "Squeeze", "Sub", "Sum", "Tile", "Transpose",
    "Unsqueeze", "Clip",
))  # fmt: skip
"""Operators that give of whole numbers as floats what they give of whole numbers."""
COMPARED = frozenset(("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"))
LOGIC = frozenset(("And", "Not", "Or", "Xor"))
NATIVE = frozenset(("ArgMax", "ArgMin"))
"""Operators that give whole numbers of floats."""
LARGEST = 1 << 24
MASKED = -1e30
"""A number of which Softmax makes 0 beside any that occurs."""
FLOATS = (*HALVES, "float64")


def floats(graph: OnnxGraph) -> None:
    """f(int64), f(bool), f(float16), f(float64) -> f(float32), with Casts at the ends of the graph."""
    rewriting = _Floats(graph)
    rewriting.run(rewriting.rewrite)


def products(graph: OnnxGraph) -> None:
    """ConvInteger, MatMulInteger -> Conv, MatMul of float32, exact while sums stay below 2**24."""
    rewriting = _Floats(graph)
    rewriting.run(lambda node: node.op_type in ("ConvInteger", "MatMulInteger") and rewriting.rewrite(node))


class _Floats(Rewriting):
    def __init__(self, graph: OnnxGraph):
        super().__init__(graph)
        self.floats: dict[str, str] = {}
        self.makers = graph.makers
        self._lost: set[str] = set()
        """Tensors that are there as float32 alone."""

    def keep(self, node: OnnxNode) -> None:
        """Take a node as it is, of what it reads in its own dtypes."""
        super().keep(node._replace(inputs=tuple(self._native(n) for n in node.inputs)))

    def _native(self, name: str) -> str:
        made = self.floats.get(name)
        if made is None or name not in self._lost:
            return name
        dtype = self.graph.dtype(name)
        assert dtype is not None
        self._lost.discard(name)
        self.written.append(
            OnnxNode("Cast", (made,), [name], {"to": code_of(dtype)}, [self.graph.unique(f"{name}/Cast")])
        )
        return name

    def _float(self, name: str) -> str | None:
        """The tensor as float32; None for a constant that float32 does not hold, and where the dtype is not known."""
        dtype = self.graph.dtype(name)
        array = self.graph.constant(name)
        if array is not None:
            dtype = array.dtype
        if dtype is None or (dtype.kind not in "iubf" and dtype.name != "bfloat16"):
            return None
        if dtype == F32:
            return name
        if name not in self.floats:
            if array is not None:
                if dtype.kind in "iu" and array.size and np.abs(array.astype(np.float64)).max() > LARGEST:
                    return None
                with np.errstate(over="ignore"):
                    self.floats[name] = self.constant(array.astype(F32))
            else:
                shape = self.graph.shape(name)
                self.floats[name] = self.node("Cast", name, shape=shape or (), to=code_of(F32))
                self.graph.specs[self.floats[name]] = Spec(shape, F32)
        return self.floats[name]

    def _give(self, node: OnnxNode, place: int = 0) -> str:
        """The name under which a float output is written; empty for one that needs a name."""
        name = node.outputs[place]
        return name if self.graph.dtype(name) == F32 else ""

    def _done(self, node: OnnxNode, made: str, place: int = 0) -> None:
        """Say what an output is as float32; outputs of the graph and what bodies read are there in their own dtype too."""
        name = node.outputs[place]
        if made == name:
            return
        if self.graph.dtype(name) == F32:
            self.written.append(OnnxNode("Identity", (made,), [name], {}, [self._owner]))
            return
        self.floats[name] = made
        self._lost.add(name)
        if name in self.graph.outputs or name in self.graph.pinned:
            self._native(name)

    def rewrite(self, node: OnnxNode) -> bool:
        """Write a node of floats; False for one that is of float32, or has no form in it."""
        graph = self.graph
        settings = SETTINGS.get(node.op_type, range(0))
        data = [n for i, n in enumerate(node.inputs) if n and i not in settings]
        dtypes = [graph.dtype(n) for n in (*data, *node.outputs)]
        if not data or any(d is None for d in dtypes) or all(d == F32 for d in dtypes):
            return False
        special = getattr(self, f"_{node.op_type.lower()}", None)
        if node.op_type in COMPARED:
            special = self._compared
        if special is not None:
            return special(node)
        if node.op_type in NATIVE:
            return self._retyped(node, data, outputs=False)
        fractions = all(d == F32 or d.name in FLOATS for d in dtypes if d is not None)
        if fractions or node.op_type in EXACT:
            return self._retyped(node, data)
        return False

    def _retyped(self, node: OnnxNode, data: list[str], outputs: bool = True) -> bool:
        """The same operator of floats."""
        given = {n: self._float(n) for n in data}
        if any(v is None for v in given.values()):
            return False
        settings = SETTINGS.get(node.op_type, range(0))
        inputs = tuple(n if i in settings else given.get(n) or n for i, n in enumerate(node.inputs))
        inputs = tuple(self._native(n) if i in settings else n for i, n in enumerate(inputs))
        names = []
        for place, name in enumerate(node.outputs):
            if outputs and self.graph.dtype(name) != F32:
                name = self.graph.unique(f"{name}_float")
                self.graph.specs[name] = Spec(self.graph.shape(node.outputs[place]), F32)
            names.append(name)
        self.written.append(OnnxNode(node.op_type, inputs, names, dict(node.attrs), list(node.owner)))
        for place, name in enumerate(names):
            self._done(node, name, place)
        return True

    # -- logic --------------------------------------------------------------------------------------------------------

    def _operands(self, node: OnnxNode, infinite: bool = False) -> tuple[list[str], tuple[int, ...]] | None:
        """The inputs as floats, and the shape of the output; None where one is no float32, or infinite if that is not asked for."""
        shape = self.graph.shape(node.outputs[0])
        found = [self._float(n) for n in node.inputs]
        arrays = [self.graph.constant(n) for n in node.inputs]
        if shape is None or any(f is None for f in found):
            return None
        if not infinite and any(
            a is not None and a.dtype.kind == "f" and not np.isfinite(a.astype(F32)).all() for a in arrays
        ):
            return None
        return [f for f in found if f], shape

    def _not_of(self, x: str, shape: tuple[int, ...], out: str = "") -> str:
        return self.node("Sub", self.number(1), x, shape=shape, out=out)

    def _compared(self, node: OnnxNode) -> bool:
        found = self._operands(node)
        if found is None:
            return False
        (x, y), shape = found
        kind = node.op_type
        if kind in ("Less", "GreaterOrEqual"):
            x, y = y, x
        sign = self.node("Sign", self.node("Sub", x, y, shape=shape), shape=shape)
        if kind == "Equal":
            made = self._not_of(self.node("Abs", sign, shape=shape), shape)
        else:
            made = self.node("Relu", sign, shape=shape)
            made = self._not_of(made, shape) if kind.endswith("OrEqual") else made
        self._done(node, made)
        return True

    def _not(self, node: OnnxNode) -> bool:
        found = self._operands(node)
        if found is not None:
            self._done(node, self._not_of(found[0][0], found[1]))
        return found is not None

    def _and(self, node: OnnxNode) -> bool:
        return self._joined(node, "Mul")

    def _or(self, node: OnnxNode) -> bool:
        """Truths are not all 0: sign(x + y)."""
        found = self._operands(node)
        if found is not None:
            self._done(node, self.node("Sign", self.node("Add", *found[0], shape=found[1]), shape=found[1]))
        return found is not None

    def _xor(self, node: OnnxNode) -> bool:
        found = self._operands(node)
        if found is not None:
            self._done(node, self.node("Abs", self.node("Sub", *found[0], shape=found[1]), shape=found[1]))
        return found is not None

    def _joined(self, node: OnnxNode, op_type: str) -> bool:
        found = self._operands(node)
        if found is not None:
            self._done(node, self.node(op_type, *found[0], shape=found[1]))
        return found is not None

    def _where(self, node: OnnxNode) -> bool:
        """c * x + (1 - c) * y, of numbers: one product is 0. Of the infinities that Softmax alone reads any number will do that it
        makes 0 of."""
        found = self._operands(node, infinite=True)
        if found is None or any(is_wild(self.graph, n) for n in node.inputs[1:]):
            return False
        (c, x, y), shape = found
        only = {n.op_type for n in self.graph.nodes if node.outputs[0] in n.reads()} == {"Softmax"}
        chosen = []
        for name in (x, y):
            array = self.graph.constant(name)
            if array is not None and not np.isfinite(array).all():
                if not only or (array[~np.isfinite(array)] != -np.inf).any() or node.outputs[0] in self.graph.outputs:
                    return False
                name = self.constant(np.maximum(array, np.float32(MASKED)))
            chosen.append(name)
        x, y = chosen
        size = self.graph.shape(node.inputs[0])
        taken = self.node("Mul", c, x, shape=shape)
        left = self.node("Mul", self._not_of(c, size or ()), y, shape=shape)
        self._done(node, self.node("Add", taken, left, shape=shape, out=self._give(node)))
        return True

    # -- dtypes -------------------------------------------------------------------------------------------------------

    def _cast(self, node: OnnxNode) -> bool:
        name = node.inputs[0]
        x, source, wanted = self._float(name), self.graph.dtype(name), self.graph.dtype(node.outputs[0])
        shape = self.graph.shape(name)
        if x is None or source is None or wanted is None or shape is None:
            return False
        narrows = wanted.kind in "iu" and wanted.itemsize < 4 and source.kind in "iu" and wanted != source
        if wanted.kind not in "iubf" or narrows:
            return False
        if wanted == np.bool_ and source != np.bool_:
            x = self.node("Abs", self.node("Sign", x, shape=shape), shape=shape)
        elif wanted.kind in "iu" and source.kind == "f" and not self._is_whole(name):
            low = self.node("Floor", self.node("Abs", x, shape=shape), shape=shape)
            x = self.node("Mul", self.node("Sign", x, shape=shape), low, shape=shape)
        self._done(node, x)
        return True

    def _is_whole(self, name: str) -> bool:
        """True of floats that are whole numbers by what makes them."""
        node = self.makers.get(name)
        while node is not None and node.op_type in ("Clip", "Reshape", "Transpose", "Identity", "Min", "Max", "Cast"):
            if node.op_type == "Cast" and (self.graph.dtype(node.inputs[0]) or F32).kind in "iub":
                return True
            bounds = [node.attrs.get(k, 0.0) for k in ("min", "max")] if node.op_type == "Clip" else []
            arrays = [self.graph.constant(n) for n in node.inputs[1:]] if node.op_type != "Reshape" else []
            if any(a is None or not np.array_equal(a, np.floor(a)) for a in arrays) or any(
                b != np.floor(b) for b in bounds
            ):
                return False
            node = self.makers.get(node.inputs[0])
        return node is not None and node.op_type in ("Ceil", "Floor", "Round")

    # -- 8-bit networks -------------------------------------------------------------------------------------------------

    def _convinteger(self, node: OnnxNode) -> bool:
        return self._product(node, "Conv")

    def _matmulinteger(self, node: OnnxNode) -> bool:
        return self._product(node, "MatMul")

    def _product(self, node: OnnxNode, op_type: str) -> bool:
        """A product of whole numbers, less their zero points."""
        shape, operands = self.graph.shape(node.outputs[0]), []
        if shape is None:
            return False
        for name, zero in zip(node.inputs[:2], (*node.inputs[2:], "", "")):
            x, size = self._float(name), self.graph.shape(name)
            point = self.graph.constant(zero) if zero else np.zeros(())
            if x is None or size is None or point is None or point.size > 1:
                return False
            if point.any():
                array = self.graph.constant(x)
                shift = np.float32(point.reshape(()))
                if array is not None:
                    x = self.constant(array - shift)
                else:
                    x = self.node("Sub", x, self.number(float(shift)), shape=size)
            operands.append(x)
        self._done(node, self.node(op_type, *operands, shape=shape, **node.attrs))
        return True
