"""Operators that exist inside compiled graphs only: the passes write them, no file and no user does.

Each is what several operators of MXNet do together, or an operator on blocked data: (N, ceil(C/16), H, W, 16) for (N, C, H, W),
so that sixteen channels of a pixel are one vector. Lanes of the last block beyond the true number of channels hold anything.
NumPy's rules here are what the compiled kernels are held to; they take blocks apart and put them together again.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..core.attrs import Arity, Count, Counts, Sizes
from ..core.op import BOOLS, Op, op
from ..core.shapes import UNKNOWN, merge, merge_all
from .activation import gelu, softplus
from .binary import ARITHMETIC
from .common import want_rank
from .convolution import Convolution
from .linear import FullyConnected
from .pooling import Pooling
from .unary_functions import UNARY_FUNCTIONS

BLOCK = 16
"""Width of a channel block."""


def blocks(channels: int) -> int:
    """Number of blocks that hold so many channels."""
    return -(-channels // BLOCK)


def pack(data: np.ndarray) -> np.ndarray:
    """(N, C, H, W) as blocks, zeros beyond C."""
    n, c, h, w = data.shape
    whole = np.zeros((n, blocks(c) * BLOCK, h, w), data.dtype)
    whole[:, :c] = data
    return np.ascontiguousarray(whole.reshape(n, blocks(c), BLOCK, h, w).transpose(0, 1, 3, 4, 2))


def unpack(data: np.ndarray, channels: int) -> np.ndarray:
    """Blocks as (N, channels, H, W)."""
    n, b, h, w, _ = data.shape
    return np.ascontiguousarray(data.transpose(0, 1, 4, 2, 3).reshape(n, b * BLOCK, h, w)[:, :channels])


@op("_fused_pack")
class ToBlocked(Op):
    """data (N, C, H, W) -> (N, ceil(C/16), H, W, 16)."""

    only_moves_data = True

    def infer_shape(self, data):
        want_rank(self, data, 4)
        return (data[0], blocks(data[1]), data[2], data[3], BLOCK)

    def compute(self, data):
        return pack(data)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 21, 3, 5))
        yield make(make.uniform(1, 32, 4, 4))


@op("_fused_unpack")
class FromBlocked(Op):
    """data (N, B, H, W, 16) -> (N, channels, H, W)."""

    channels: Count

    only_moves_data = True

    def infer_shape(self, data):
        want_rank(self, data, 5)
        merge(data, (data[0], blocks(self.channels), *data[2:4], BLOCK))
        return (data[0], self.channels, data[2], data[3])

    def compute(self, data):
        return unpack(data, self.channels)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 2, 3, 5, BLOCK), channels=21)
        yield make(make.uniform(1, 2, 4, 4, BLOCK), channels=32)


class _WithEpilogue(Op):
    """Epilogue of a product, before it is stored: bias and residual added, then leaky slope, then limits."""

    bias: bool = False
    residual: bool = False
    slope: float | None = None
    """Factor of negative values."""
    low: float | None = None
    high: float | None = None

    inputs = ("data", "weight", "bias", "residual")

    def input_names(self):
        there = {"bias": self.bias, "residual": self.residual}
        return tuple(n for n in self.inputs if there.get(n, True))

    def check(self):
        limits = {n: v for n in ("slope", "low", "high") if (v := getattr(self, n)) is not None}
        if any(math.isnan(v) for v in limits.values()):
            return f"got {limits}, wanted numbers"  # what is not a number passes some kernels and not others
        return super().check()

    def _want_rest(self, count, shape, rest):
        """Raise OpError unless bias is (count,) and the residual of the output's shape."""
        bias, residual = self._rest(rest)
        merge(bias, (count,))
        merge(residual, shape)

    def _rest(self, rest):
        """(bias, residual) of the inputs after the first two, None for what is not there."""
        given = iter(rest)
        return next(given) if self.bias else None, next(given) if self.residual else None

    def _apply_epilogue(self, y: np.ndarray) -> np.ndarray:
        if self.slope is not None:
            y = np.where(y < 0, y * y.dtype.type(self.slope), y)
        if self.low is not None:
            y = np.maximum(y, y.dtype.type(self.low))
        if self.high is not None:
            y = np.minimum(y, y.dtype.type(self.high))
        return y


@op("_fused_conv")
class Conv(_WithEpilogue):
    """Convolution in two dimensions with what follows it: (data, weight, bias?, residual?) -> blocks (N, B, H', W', 16).

    data: blocks, or (N, channels, H, W) when it is not ``blocked``; weight (num_filter, channels / num_group, *kernel) and bias
    (num_filter,) as in MXNet; residual: blocks of the output's shape.
    """

    kernel: Counts
    stride: Counts = (1, 1)
    dilate: Counts = (1, 1)
    pad: Sizes = (0, 0)
    num_filter: Count
    num_group: Count = 1
    channels: Count
    blocked: bool = True

    @property
    def plain(self) -> Any:
        """The convolution of MXNet in this."""
        return Convolution.bind(
            kernel=self.kernel, stride=self.stride, dilate=self.dilate, pad=self.pad, num_filter=self.num_filter,
            num_group=self.num_group, no_bias=not self.bias,
        )  # fmt: skip

    def infer_shape(self, data, weight, *rest):
        want_rank(self, data, 5 if self.blocked else 4)
        merge(
            data,
            (data[0], blocks(self.channels), *data[2:4], BLOCK)
            if self.blocked
            else (data[0], self.channels, *data[2:4]),
        )
        merge(weight, (self.num_filter, self.channels // self.num_group, *self.kernel))
        shape = (data[0], blocks(self.num_filter), *self.plain.steps(data[2:4]), BLOCK)
        self._want_rest(self.num_filter, shape, rest)
        return shape

    def compute(self, data, weight, *rest):
        bias, residual = self._rest(rest)
        x = unpack(data, self.channels) if self.blocked else data
        y = pack(self.plain.compute(x, weight, *([] if bias is None else [bias])))
        return self._apply_epilogue(y if residual is None else y + residual)

    @classmethod
    def examples(cls, make):
        yield make(
            make.uniform(2, 2, 6, 5, BLOCK), make.uniform(21, 20, 3, 3), make.uniform(21), make.uniform(2, 2, 6, 5, BLOCK),
            kernel=(3, 3), pad=(1, 1), num_filter=21, channels=20, bias=True, residual=True, low=0,
        )  # fmt: skip
        yield make(
            make.uniform(1, 3, 9, 7), make.uniform(16, 3, 3, 3),
            kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=16, channels=3, blocked=False, slope=0.1,
        )  # fmt: skip
        yield make(
            make.uniform(1, 2, 5, 5, BLOCK), make.uniform(32, 1, 3, 3), make.uniform(32),
            kernel=(3, 3), pad=(1, 1), num_filter=32, num_group=32, channels=32, bias=True, low=0, high=6,
        )  # fmt: skip
        yield make(
            make.uniform(1, 2, 7, 6, BLOCK), make.uniform(32, 8, 3, 2),
            kernel=(3, 2), stride=(2, 1), dilate=(1, 2), pad=(1, 0), num_filter=32, num_group=4, channels=32,
        )  # fmt: skip
        yield make(
            make.uniform(1, 4, 6, 6, BLOCK), make.uniform(48, 64, 1, 1), make.uniform(48),
            kernel=(1, 1), num_filter=48, channels=64, bias=True,
        )  # fmt: skip


@op("_fused_separable")
class DepthwisePointwise(_WithEpilogue):
    """A convolution of each channel for itself, with what follows it, and one of 1 x 1 of what it gives, with what follows that.

    (data, first_weight, first_bias, weight, bias?, residual?) -> blocks. data and residual: blocks; first_weight (channels, 1,
    *kernel); weight (num_filter, channels, 1, 1). A kernel of (1, 1) makes the first one a factor and a summand for each channel.
    """

    kernel: Counts
    stride: Counts = (1, 1)
    dilate: Counts = (1, 1)
    pad: Sizes = (0, 0)
    first_slope: float | None = None
    first_low: float | None = None
    first_high: float | None = None
    num_filter: Count
    channels: Count

    inputs = ("data", "first_weight", "first_bias", "weight", "bias", "residual")
    blocked: ClassVar[bool] = True

    @property
    def pair(self) -> tuple[Any, Any]:
        """The two convolutions."""
        first = Conv.bind(
            kernel=self.kernel, stride=self.stride, dilate=self.dilate, pad=self.pad, num_filter=self.channels,
            num_group=self.channels, channels=self.channels, bias=True, slope=self.first_slope, low=self.first_low,
            high=self.first_high,
        )  # fmt: skip
        second = Conv.bind(
            kernel=(1, 1), num_filter=self.num_filter, channels=self.channels, bias=self.bias, residual=self.residual,
            slope=self.slope, low=self.low, high=self.high,
        )  # fmt: skip
        return first, second

    def infer_shape(self, data, first_weight, first_bias, weight, *rest):
        first, second = self.pair
        return second.infer_shape(first.infer_shape(data, first_weight, first_bias), weight, *rest)

    def compute(self, data, first_weight, first_bias, weight, *rest):
        first, second = self.pair
        return second.compute(first.compute(data, first_weight, first_bias), weight, *rest)

    @classmethod
    def examples(cls, make):
        yield make(
            make.uniform(2, 2, 9, 8, BLOCK), make.uniform(20, 1, 3, 3), make.uniform(20), make.uniform(37, 20, 1, 1),
            make.uniform(37), make.uniform(2, 3, 9, 8, BLOCK),
            kernel=(3, 3), pad=(1, 1), first_low=0, first_high=6, num_filter=37, channels=20, bias=True, residual=True, low=0,
        )  # fmt: skip
        yield make(
            make.uniform(1, 2, 7, 11, BLOCK), make.uniform(32, 1, 3, 3), make.uniform(32), make.uniform(16, 32, 1, 1),
            kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=16, channels=32, first_slope=0.1,
        )  # fmt: skip
        yield make(
            make.uniform(1, 3, 6, 5, BLOCK), make.uniform(48, 1, 1, 1), make.uniform(48), make.uniform(32, 48, 1, 1),
            make.uniform(32), kernel=(1, 1), num_filter=32, channels=48, first_low=0, bias=True,
        )  # fmt: skip


@op("_fused_dense")
class Dense(_WithEpilogue):
    """data (M, K) times weight (num_hidden, K) transposed, with what follows it.

    (data, weight, bias?, residual?) -> (M, num_hidden)."""

    num_hidden: Count

    def infer_shape(self, data, weight, *rest):
        want_rank(self, data, 2)
        merge(weight, (self.num_hidden, data[1]))
        self._want_rest(self.num_hidden, (data[0], self.num_hidden), rest)
        return (data[0], self.num_hidden)

    def compute(self, data, weight, *rest):
        bias, residual = self._rest(rest)
        product = FullyConnected.bind(num_hidden=self.num_hidden, no_bias=bias is None)
        y = product.compute(data, weight, *([] if bias is None else [bias]))
        return self._apply_epilogue(y if residual is None else y + residual)

    @classmethod
    def examples(cls, make):
        yield make(
            make.uniform(3, 37), make.uniform(21, 37), make.uniform(21), make.uniform(3, 21),
            num_hidden=21, bias=True, residual=True, low=0,
        )  # fmt: skip
        yield make(make.uniform(1, 64), make.uniform(40, 64), num_hidden=40)


@op("_fused_pool")
class Pool(Pooling):
    """Pooling of blocks in two dimensions; the attributes are those of Pooling."""

    @property
    def plain(self) -> Any:
        """The pooling of MXNet in this."""
        return Pooling.bind(**{name: getattr(self, name) for name in self.fields})

    def check(self):
        return f"got layout={self.layout}, wanted channels ahead" if self.channels_last else super().check()

    def infer_shape(self, data):
        want_rank(self, data, 5)
        merge(data[4:], (BLOCK,))
        n, _, h, w = self.plain.infer_shape((data[0], data[1] * BLOCK, *data[2:4]))
        return (n, data[1], h, w, BLOCK)

    def compute(self, data):
        return pack(self.plain.compute(unpack(data, data.shape[1] * BLOCK)))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 2, 7, 5, BLOCK), kernel=(3, 3), stride=(2, 2), pad=(1, 1))
        yield make(make.uniform(1, 2, 7, 5, BLOCK), kernel=(2, 2), stride=(2, 2), pool_type="avg")
        yield make(make.uniform(1, 2, 4, 6, BLOCK), global_pool=True, pool_type="avg")


@op("_fused_concat")
class BlockedConcat(Op):
    """Blocks side by side: each (N, B, H, W, 16) -> (N, sum of B, H, W, 16). The channels of all but the last fill their blocks."""

    num_args: Arity

    inputs = ("*data",)
    supports_out = True

    def infer_shape(self, *shapes):
        for shape in shapes:
            want_rank(self, shape, 5)
        n, _, *rest = merge_all((s[0], UNKNOWN, *s[2:]) for s in shapes)  # type: ignore[misc]
        merge((BLOCK,), (rest[-1],))
        return (n, sum(s[1] for s in shapes), *rest)

    def compute(self, *arrays, out=None):
        return np.concatenate(arrays, axis=1, out=out)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 2, 3, 4, BLOCK), make.uniform(2, 1, 3, 4, BLOCK), num_args=2)


OpcodeFunction = Callable[..., Any]


OPCODES: dict[str, tuple[int, OpcodeFunction]] = {
    **{
        name: (1, UNARY_FUNCTIONS[name].function)
        for name in (
            *("abs", "negative", "reciprocal", "square", "sqrt", "rsqrt", "cbrt", "exp", "expm1"),
            *("log", "log1p", "log2", "log10", "sin", "cos", "tan", "arcsin", "arccos", "arctan"),
            *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
            *("erf", "relu", "sigmoid", "sign", "floor", "ceil", "trunc", "rint", "round"),
        )
    },
    "gelu": (1, gelu),
    "softplus": (1, softplus),
    "signum": (1, np.sign),  # which keeps NaN, unlike MXNet's sign
    "not": (1, np.logical_not),
    **{name: (2, ARITHMETIC[name].function) for name in ("add", "mod", "hypot", "arctan2", "copysign")},
    **{
        opcode: (2, ARITHMETIC[name].function)
        for opcode, name in (
            *(("sub", "subtract"), ("mul", "multiply"), ("div", "divide"), ("pow", "power"), ("max", "maximum")),
            *(("min", "minimum"), ("eq", "equal"), ("ne", "not_equal"), ("gt", "greater"), ("ge", "greater_equal")),
            *(
                ("lt", "less"),
                ("le", "less_equal"),
                ("and", "logical_and"),
                ("or", "logical_or"),
                ("xor", "logical_xor"),
            ),
        )
    },
    "leaky": (2, lambda x, slope: np.where(x < 0, x * slope, x)),
    "where": (3, lambda c, x, y: np.where(c != 0, x, y)),
}
"""Opcodes of a chain: how many operands each takes from the stack, and its meaning, which is that of the operators in
unary_functions.py and binary.py. Comparisons and logic give 1 or 0 in the same dtype."""
EXACT = frozenset(
    (
        *("abs", "negative", "square", "relu", "sign", "not", "add", "sub", "mul", "max", "min", "leaky"),
        *("eq", "ne", "gt", "ge", "lt", "le", "and", "or", "xor", "where"),
    )
)
"""The opcodes that make integers of integers."""


def _is_within(opcode: str, limits: np.iinfo) -> bool:
    """True for the text of an integer within limits."""
    return opcode not in OPCODES and float(opcode).is_integer() and limits.min <= float(opcode) <= limits.max


@op("_fused_chain")
class FusedElementwise(Op):
    """Element-wise operators one after the other, in one pass over memory, with NumPy's broadcasting.

    code: opcodes in postfix order: ``$2`` pushes the third input, a number pushes itself, and those of OPCODES take their
    operands from the stack and push what they give. All inputs and the output have one dtype. ``$0 $1 add relu`` is
    relu(a + b). The compiled kernel computes an expression that is written twice once, and may be given the memory of an
    input that has the output's shape and layout to write into.
    """

    num_args: Arity
    code: str

    inputs = ("*data",)
    refuses = BOOLS

    def check(self):
        depth, seen = 0, False
        for opcode in self.code.split():
            if opcode in OPCODES:
                depth -= OPCODES[opcode][0]
                if depth < 0:
                    return f"got code {self.code!r}, where {opcode} finds too few operands"
            elif opcode[0] == "$":
                seen = True
                if not (opcode[1:].isdecimal() and len(opcode) < 8 and int(opcode[1:]) < self.num_args):
                    return f"got code {self.code!r}, where {opcode} is none of {self.num_args} inputs"
            else:
                try:
                    float(opcode)
                except ValueError:
                    return f"got code {self.code!r}, where {opcode} is no opcode and no number"
            depth += 1
        if depth != 1 or not seen:
            return f"got code {self.code!r}, wanted one result, of inputs"
        return None

    def infer_shape(self, *shapes):
        return np.broadcast_shapes(*shapes)

    def infer_type(self, *dtypes):
        if dtypes[0].kind in "iu":
            limits = np.iinfo(dtypes[0])
            inexact = [w for w in self.code.split() if w[0] != "$" and w not in EXACT and not _is_within(w, limits)]
            if inexact:
                raise self.error(f"got {dtypes[0]} for code with {', '.join(inexact)}, wanted floats; cast them")
        return dtypes[0]

    def compute(self, *arrays):
        dtype = arrays[0].dtype
        stack: list[Any] = []
        for opcode in self.code.split():
            if opcode[0] == "$":
                stack.append(arrays[int(opcode[1:])])
            elif opcode in OPCODES:
                count, rule = OPCODES[opcode]
                operands = [stack.pop() for _ in range(count)][::-1]
                stack.append(np.asarray(rule(*map(np.asarray, operands))).astype(dtype, copy=False))
            else:
                stack.append(dtype.type(float(opcode)))
        (result,) = stack
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        return np.array(np.broadcast_to(result, shape))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(2, 3, 4), make.uniform(2, 3, 4), num_args=2, code="$0 $1 add relu")
        yield make(
            make.uniform(2, 3, 4, 5),
            make.uniform(3, 1, 1),
            make.uniform(1),
            num_args=3,
            code="$0 $1 mul $2 add sigmoid 2.5 mul",
        )
        for opcode, (count, _) in OPCODES.items():
            code = " ".join(f"${i}" for i in range(count)) + f" {opcode}"
            low = 1.1 if opcode == "arccosh" else 0.2
            high = 0.9 if opcode in ("arcsin", "arccos", "arctanh") else 1.7
            yield make(*(make.uniform(3, 37, low=low, high=high) for _ in range(count)), num_args=count, code=code)
