"""Forms on integers of what stands between DequantizeLinear and QuantizeLinear: see fuse_qdq. A graph that has these has loaded the
operators of ONNX, which are imported here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.op import Op, lookup
from ..core.shapes import is_known
from ..ir.graph import Entry, Graph, Node
from ..ops.binary import BinaryOp
from ..ops.casting import Cast
from ..ops.convolution import Convolution
from ..ops.elementwise import Clip
from ..ops.linear import Dot, FullyConnected, Matmul
from ..ops.onnx.constant import Constant
from ..ops.onnx.integer import MatMulInteger, MatMulIntegerToFloat, QGemm, QLinearConv, QLinearMatMul
from ..ops.onnx.pooling import MaxPool
from ..ops.onnx.qlinear import (
    QLinearAdd,
    QLinearAveragePool,
    QLinearGlobalAveragePool,
    QLinearLeakyRelu,
    QLinearMul,
    QLinearSigmoid,
    QLinearSoftmax,
)
from ..ops.onnx.quantize import DequantizeLinear, QuantizeLinear
from ..ops.pooling import Pooling
from ..ops.quantization import EIGHT, FLOAT
from ..ops.quantized_products import Lookup, QuantizedBias
from ..ops.shape import Permutation, Reshaping
from ..ops.softmax import Softmax
from ..ops.where import NpWhere
from .elementwise_code import opcodes_of
from .rewriter import Rewriter

SIXTEEN = (np.dtype(np.int16), np.dtype(np.uint16))
Around, Equal = map(lookup, ("_npi_around", "_equal"))
DivScalar, MulScalar, PlusScalar = map(lookup, ("_div_scalar", "_mul_scalar", "_plus_scalar"))


class _Scaled(NamedTuple):
    """8-bit numbers with their scale and zero point."""

    data: Entry
    scale: Entry
    zero: Entry


class Fusion:
    """One run of the pass fuse_qdq."""

    def __init__(self, graph: Graph, rewriter: Rewriter):
        self.graph, self.rewriter = graph, rewriter
        self.readers = rewriter.readers(graph)
        self.now: Callable[[Entry], Entry] = lambda entry: entry
        self.name = ""

    def run(self) -> Graph:
        """The graph after the pass."""
        return self.rewriter.rewrite(self.graph, self.change)

    def change(self, node: Node, now: Callable[[Entry], Entry]) -> Entry | None:
        if node.means(BinaryOp):
            self.now, self.name = now, node.name
            return self.scaled_product(node)
        if node.means(QLinearSigmoid, QLinearLeakyRelu, QLinearSoftmax, QLinearAveragePool):
            self.now, self.name = now, node.name
            return self.function(node)
        if node.means(DequantizeLinear):
            self.now, self.name = now, node.name
            return self.rounded(node)
        result = self.scaled(node, QuantizeLinear)
        if result is None or 0 in self.rewriter.shape(result.data):
            return None
        self.now, self.name = now, node.name
        between = node.inputs[0]
        if between.node.op is None or len(self.readers[id(between.node), between.index]) > 1:
            return None
        found = self.fused(between, result)
        return None if found is None or found.node.op is None or self.spec(found) != self.spec(Entry(node)) else found

    def spec(self, entry: Entry) -> tuple[Any, Any]:
        return self.rewriter.shape(entry), self.rewriter.dtype(entry)

    def make(self, op: Op, *inputs: Entry, suffix: str = "") -> Entry:
        return self.rewriter.make(op, self.name + suffix, *inputs)

    # -- what is known --------------------------------------------------------------------------------------------------

    def scaled(self, node: Node, kind: type[Op], axis: int | None = None) -> _Scaled | None:
        """Result of QuantizeLinear or input of DequantizeLinear, of 8 bits with one scale, or one along that axis; None for
        anything else."""
        op: Any = node.op
        if not node.means(kind) or len(node.inputs) < 3 or op.block_size or not self.known(node):
            return None
        if kind is QuantizeLinear and op.precision is not None:
            return None
        source, scale, zero = node.inputs
        data = Entry(node) if kind is QuantizeLinear else source
        shape = self.rewriter.shape(scale)
        if self.rewriter.dtype(data) not in EIGHT or self.rewriter.dtype(zero) != self.rewriter.dtype(data):
            return None
        if self.rewriter.dtype(scale) != FLOAT or self.rewriter.shape(zero) != shape:
            return None
        if self.rewriter.dtype(source if kind is QuantizeLinear else Entry(node)) != FLOAT:
            return None
        if shape in ((), (1,)):
            return _Scaled(data, scale, zero)
        rank = len(self.rewriter.shape(data))
        return (
            _Scaled(data, scale, zero)
            if axis is not None and len(shape) == 1 and op.axis % rank == axis % rank
            else None
        )

    def known(self, node: Node) -> bool:
        return all(map(self.rewriter.is_known, (*node.inputs, Entry(node))))

    def given(self, entry: Entry, axis: int | None = None) -> _Scaled | None:
        """Numbers that an input is dequantised from, as they are by now; None when it is not."""
        found = self.scaled(entry.node, DequantizeLinear, axis)
        return None if found is None else _Scaled(*map(self.now, found))

    def weights(self, entry: Entry, axis: int) -> _Scaled | None:
        """Numbers that constant weights are dequantised from; None when they are not."""
        return self.given(entry, axis) if self.rewriter.is_constant(entry) else None

    def alike(self, a: Entry, b: Entry) -> bool:
        """True where two small constants hold the same."""
        if a == b:
            return True
        values = [getattr(e.node.op, "value", None) for e in (a, b)]
        return all(isinstance(v, np.ndarray) for v in values) and np.array_equal(*values)  # type: ignore[arg-type]

    def bias(self, entry: Entry, data: _Scaled, weights: _Scaled) -> Entry | None:
        """A constant bias in steps of a product."""
        if not self.rewriter.is_constant(entry) or not self.rewriter.is_float32(entry):
            return None
        if len(self.rewriter.shape(entry)) != 1 or not all(map(self.rewriter.is_constant, (data.scale, weights.scale))):
            return None
        return self.make(QuantizedBias.bind(), self.now(entry), data.scale, weights.scale, suffix="_bias")

    # -- what quantisers write themselves ---------------------------------------------------------------------------------

    def scaled_product(self, node: Node) -> Entry | None:
        """A product of integers times its scale, or such a product plus a row."""
        op: Any = node.op
        if not self.known(node) or not self.rewriter.is_float32(Entry(node), *node.inputs):
            return None
        columns = self.rewriter.shape(Entry(node))[-1:]
        for first, second in (node.inputs, node.inputs[::-1]):
            shape = self.rewriter.shape(second)
            if op.arithmetic.name == "multiply" and first.node.means(Cast) and shape in ((), (1,), columns):
                product = first.node.inputs[0].node
                if (
                    product.means(MatMulInteger)
                    and self.is_matrix(product.inputs)
                    and self.single(first)
                    and self.spec(first) == self.spec(Entry(node))
                ):
                    left, right, *zeros = map(self.now, product.inputs)
                    made = MatMulIntegerToFloat.bind(given=product.op.given)  # type: ignore[union-attr]
                    one = self.make(Constant.bind(value=np.array(1, FLOAT)), suffix="_one")
                    return self.make(made, left, right, one, self.now(second), *zeros)
            if (
                op.arithmetic.name == "add"
                and shape == columns
                and self.rewriter.is_constant(second)
                and self.single(first)
            ):
                made, whole = self.now(first).node, self.spec(first) == self.spec(Entry(node))
                if made.means(MatMulIntegerToFloat) and "bias" not in made.op.given and whole:  # type: ignore[union-attr]
                    more = MatMulIntegerToFloat.bind(given=(*made.op.given, "bias"))  # type: ignore[union-attr]
                    return self.make(more, *made.inputs, self.now(second))
        return None

    def is_matrix(self, inputs: tuple[Entry, ...]) -> bool:
        """True where the second is a matrix, and the first one at least."""
        left, right = (self.rewriter.shape(e) for e in inputs[:2])
        return is_known(left) and is_known(right) and len(left) > 1 and len(right) == 2

    def single(self, entry: Entry) -> bool:
        """True where one node reads it."""
        return len(self.readers[id(entry.node), entry.index]) == 1

    def function(self, node: Node) -> Entry | None:
        """A function of quantised numbers: a table of it, or what it is on floats."""
        op: Any = node.op
        zeros = ("X_zero_point", "Y_zero_point")
        if op.given != zeros or not self.known(node) or self.rewriter.dtype(Entry(node)) not in EIGHT:
            return None
        data, *scales = map(self.now, node.inputs)
        if node.means(QLinearSigmoid, QLinearLeakyRelu):
            if not all(map(self.rewriter.is_constant, scales)) or Lookup.name not in self.rewriter.native:
                return None
            every = self.every(self.rewriter.dtype(data))
            return self.make(Lookup.bind(), data, self.make(op, every, *scales, suffix="_table"))
        x_scale, x_zero, y_scale, y_zero = scales
        x = self.make(DequantizeLinear.bind(given=("x_zero_point",)), data, x_scale, x_zero, suffix="_meant")
        if node.means(QLinearSoftmax):
            rank = len(self.rewriter.shape(data))
            if op.opset < 13 and op.axis % rank != rank - 1:
                return None
            y = self.make(Softmax.bind(axis=op.axis), x, suffix="_function")
        else:
            rank = len(op.kernel_shape or ())
            before, after = (op.pads or (0,) * 2 * rank)[:rank], (op.pads or (0,) * 2 * rank)[rank:]
            if op.channels_last or op.auto_pad != "NOTSET" or before != after or not 1 <= rank <= 3:
                return None
            if any(d != 1 for d in op.dilations or ()):
                return None
            pool = Pooling.bind(
                kernel=op.kernel_shape,
                stride=op.strides or (),
                pad=before,
                pool_type="avg",
                count_include_pad=op.count_include_pad,
            )
            y = self.make(pool, x, suffix="_function")
            if op.ceil_mode and (any(before) or self.rewriter.shape(y) != self.rewriter.shape(Entry(node))):
                return None
        return self.make(QuantizeLinear.bind(given=("y_zero_point",)), y, y_scale, y_zero)

    def rounded(self, node: Node) -> Entry | None:
        """Numbers that are quantised to 16 bits and dequantised at once: rounded floats, which float32 holds exactly."""
        source: Any = node.inputs[0].node
        if not source.means(QuantizeLinear) or not self.known(node) or not self.known(source):
            return None
        if not len(node.inputs) == len(source.inputs) == 3 or source.op.precision is not None:
            return None
        dtype, x = self.rewriter.dtype(node.inputs[0]), source.inputs[0]
        if dtype not in SIXTEEN or not self.rewriter.is_float32(x, Entry(node)) or not self.rewriter.shape(x):
            return None
        pairs = list(zip(source.inputs[1:], node.inputs[1:]))
        scale, zero = (getattr(a.node.op, "value", None) for a, _ in pairs)
        if (
            scale is None
            or zero is None
            or scale.size != 1
            or scale.dtype != FLOAT
            or not all(self.alike(*p) for p in pairs)
        ):
            return None
        step, offset, info = float(scale.item()), float(zero.item()), np.iinfo(dtype)  # type: ignore[type-var]
        least = info.min - offset
        x = self.now(x)
        y = self.make(DivScalar.bind(scalar=step), x, suffix="_steps")
        y = self.make(Around.bind(), y, suffix="_whole")  # halves to even
        y = self.make(PlusScalar.bind(scalar=offset), y, suffix="_placed")  # also makes 0 of -0
        y = self.make(Clip.bind(a_min=float(info.min), a_max=float(info.max)), y, suffix="_within")
        y = self.make(PlusScalar.bind(scalar=-offset), y, suffix="_distance")
        y = self.make(MulScalar.bind(scalar=step), y, suffix="_meant")
        least_meant = np.full((1,) * len(self.rewriter.shape(x)), np.float32(least) * scale.item(), FLOAT)
        nothing = self.make(Constant.bind(value=least_meant), suffix="_least")  # what NaN becomes
        return self.make(NpWhere.bind(), self.make(Equal.bind(), x, x, suffix="_number"), y, nothing)

    # -- forms ----------------------------------------------------------------------------------------------------------

    def fused(self, between: Entry, result: _Scaled) -> Entry | None:
        """The quantised result, made of quantised numbers; None where there is no form for it."""
        node, op = between.node, between.node.op
        assert op is not None
        if not self.known(node):
            return None
        if node.means(DequantizeLinear):
            given = self.given(between)
            return None if given is None else self.again(given.data, given, result)
        if node.means(Convolution):
            return self.convolution(node, result)
        if node.means(FullyConnected, Dot, Matmul):
            return self.product(node, None, result)
        if node.means(Pooling):
            return self.pooling(node, result)
        if node.means(BinaryOp):
            return self.pair(node, result)
        if node.means(Reshaping, Permutation) and len(node.inputs) == 1:
            given = self.given(node.inputs[0])
            return None if given is None else self.again(self.make(op, given.data, suffix="_moved"), given, result)
        return self.table(between, result)

    def again(self, data: Entry, given: _Scaled, result: _Scaled) -> Entry | None:
        """Numbers that are quantised in one way in another."""
        if self.alike(given.scale, result.scale) and self.alike(given.zero, result.zero):
            return data
        return self.tabulated(data, given, result, [])

    def tabulated(self, data: Entry, given: _Scaled, result: _Scaled, functions: list[Node]) -> Entry | None:
        """Functions of one number, one after another, between both conversions."""
        if (
            not all(map(self.rewriter.is_constant, (*given[1:], *result[1:])))
            or Lookup.name not in self.rewriter.native
        ):
            return None
        found = self.every(self.rewriter.dtype(data))
        found = self.make(
            DequantizeLinear.bind(given=("x_zero_point",)), found, given.scale, given.zero, suffix="_meant"
        )
        for i, node in enumerate(functions):
            assert node.op is not None
            found = self.make(node.op, found, suffix=f"_function{i}")
        found = self.make(
            QuantizeLinear.bind(given=("y_zero_point",)), found, *map(self.now, result[1:]), suffix="_table"
        )
        return self.make(Lookup.bind(), data, found)

    def every(self, dtype: np.dtype | None) -> Entry:
        """All numbers of an 8-bit dtype, from the least."""
        assert dtype is not None
        numbers = np.arange(256).astype(np.int16) + np.iinfo(dtype).min
        return self.make(Constant.bind(value=numbers.astype(dtype)), suffix="_every")

    def table(self, between: Entry, result: _Scaled) -> Entry | None:
        """Element-wise functions of one dequantised tensor."""
        functions: list[Node] = []
        entry = between
        while True:
            node = entry.node
            given = self.given(entry)
            if given is not None:
                break
            if node.op is None or len(node.inputs) != 1 or len(self.readers[id(node), 0]) > 1 or not self.known(node):
                return None
            if not self.rewriter.is_float32(entry, node.inputs[0]) or opcodes_of(node.op, (256,), [FLOAT]) is None:
                return None
            functions.insert(0, node)
            entry = node.inputs[0]
        return self.tabulated(given.data, given, result, functions)

    def convolution(self, node: Node, result: _Scaled) -> Entry | None:
        op: Any = node.op
        data, weight, *bias = node.inputs
        given, filters = self.given(data), self.weights(weight, 0)
        if given is None or filters is None or op.channels_last:
            return None
        added = [self.bias(b, given, filters) for b in bias]
        if None in added:
            return None
        attrs = {
            "kernel_shape": op.kernel, "strides": op.strides, "dilations": op.dilations, "pads": op.pads * 2,
            "group": op.num_group, "given": ("B",) if bias else (),
        }  # fmt: skip
        return self.make(QLinearConv.bind(**attrs), *given, *filters, *map(self.now, result[1:]), *added)  # type: ignore[arg-type]

    def product(self, node: Node, added: Entry | None, result: _Scaled) -> Entry | None:
        """A product, plus a row if there is one."""
        op: Any = node.op
        data, weight, *bias = node.inputs
        given, shape = self.given(data), self.rewriter.shape(data)
        if given is None or len(shape) < 2 or (node.means(Dot) and op.transpose_a):
            return None
        bias += [] if added is None else [added]
        if node.means(Matmul) and not self.rewriter.is_constant(weight):
            other = self.given(weight)
            if other is None or bias or len(self.rewriter.shape(weight)) < 2:
                return None
            return self.make(QLinearMatMul.bind(), *given, *other, *map(self.now, result[1:]))
        if len(self.rewriter.shape(weight)) != 2:
            return None
        across = node.means(FullyConnected) or (node.means(Dot) and op.transpose_b)
        matrix = self.weights(weight, 0 if across else 1)
        if matrix is None:
            return None
        rows = [self.bias(b, given, matrix) for b in bias]
        if None in rows:
            return None
        size = self.rewriter.shape(weight)[1 if across else 0]
        count = int(np.prod(shape)) // size
        flat = self.rewriter.reshape(given.data, (count, size))
        op = QGemm.bind(transB=across, given=(*(("C",) if rows else ()), "y_scale", "y_zero_point"))
        y = self.make(op, flat, *given[1:], *matrix, *rows, *map(self.now, result[1:]))  # type: ignore[arg-type]
        return self.rewriter.reshape(y, self.rewriter.shape(result.data))

    def pair(self, node: Node, result: _Scaled) -> Entry | None:
        op: Any = node.op
        form = {"add": QLinearAdd, "multiply": QLinearMul}.get(op.arithmetic.name)
        if form is None:
            return None
        if op.arithmetic.name == "add":
            for product, row in (node.inputs, node.inputs[::-1]):
                alone = len(self.readers[id(product.node), product.index]) == 1
                if alone and product.node.means(FullyConnected, Dot, Matmul) and self.known(product.node):
                    return self.product(product.node, row, result)
        left, right = map(self.given, node.inputs)
        if left is None or right is None:
            return None
        if len({self.rewriter.dtype(x.data) for x in (left, right, result)}) > 1:
            return None
        zeros = ("A_zero_point", "B_zero_point", "C_zero_point")
        return self.make(form.bind(given=zeros), *left, *right, *map(self.now, result[1:]))

    def pooling(self, node: Node, result: _Scaled) -> Entry | None:
        op: Any = node.op
        given = self.given(node.inputs[0])
        if given is None or op.channels_last or self.rewriter.dtype(given.data) != self.rewriter.dtype(result.data):
            return None
        if op.pool_type == "avg" and op.global_pool:
            zeros = ("X_zero_point", "Y_zero_point")
            return self.make(QLinearGlobalAveragePool.bind(given=zeros), *given, *map(self.now, result[1:]))
        if op.pool_type != "max" or op.global_pool or op.pooling_convention != "valid":
            return None
        pool = MaxPool.bind(kernel_shape=op.kernel, strides=op.strides, pads=op.pads * 2)
        pooled = self.make(pool, given.data, suffix="_moved")
        return self.again(pooled, given, result)
