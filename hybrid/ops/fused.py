"""Operators that exist inside compiled graphs only: the passes write them, no file and no user does.

Each is what several operators of MXNet do together, or an operator on blocked data: (N, ceil(C/16), H, W, 16) for (N, C, H, W),
so that sixteen channels of a pixel are one vector. Lanes of the last block beyond the true number of channels hold anything.
NumPy's rules here are what the compiled kernels are held to; they take blocks apart and put them together again.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ..core.attrs import Arity, Count, Counts, DType, Shape, Sizes
from ..core.attrs import dtype as dtype_of
from ..core.op import Op, op
from ..core.shapes import UNKNOWN, broadcast, merge, merge_all
from .activation import gelu, softplus
from .binary import ARITHMETIC
from .casting import convert
from .common import as_array, want_rank, widen
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


@op("_fused_sizes")
class NumbersOfSizes(Op):
    """Whole numbers that the sizes of a graph's inputs decide, in an array of that shape."""

    sizes: tuple[int, ...]
    shape: Shape
    dtype: DType

    inputs = ()

    def check(self):
        places = math.prod(self.shape)
        if len(self.sizes) != places:
            return f"got {len(self.sizes)} sizes for {places} places"
        info = np.iinfo(self.dtype) if self.dtype.kind in "iu" else None
        odd = [n for n in self.sizes if info is not None and not info.min <= n <= info.max]
        return f"got {odd[0]}, which {self.dtype} has no room for" if odd else None

    def infer_shape(self):
        return self.shape

    def infer_type(self):
        return self.dtype

    def compute(self):
        return np.array(self.sizes, self.dtype).reshape(self.shape)

    @classmethod
    def examples(cls, make):
        yield make(sizes=(3, -1, 7, 4), shape=(2, 2), dtype="int64")
        yield make(sizes=(5,), shape=(), dtype="float32")


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

    takes_matrices = True

    def matrices(self, second):
        return second.T

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


def _shifted(direction: str) -> OpcodeFunction:
    """The bits of whole numbers moved: by as many places as there are, or fewer than none, none stay but those of the sign."""

    def shift(x: np.ndarray, places: np.ndarray) -> np.ndarray:
        bits = 8 * x.dtype.itemsize
        outside = (places < 0) | (places >= bits)
        some = np.where(outside, places.dtype.type(0), places)
        if direction == "left":
            return np.where(outside, x.dtype.type(0), np.left_shift(x, some))
        return np.right_shift(x, np.where(outside, places.dtype.type(bits - 1), some)) & np.where(
            outside & (x >= 0), x.dtype.type(0), ~x.dtype.type(0)
        )

    return shift


OPCODES: dict[str, tuple[int, OpcodeFunction]] = {
    **{
        name: (1, UNARY_FUNCTIONS[name].function)
        for name in (
            *("abs", "negative", "reciprocal", "square", "sqrt", "rsqrt", "cbrt", "exp", "expm1"),
            *("log", "log1p", "log2", "log10", "sin", "cos", "tan", "arcsin", "arccos", "arctan"),
            *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
            *("erf", "relu", "sigmoid", "sign", "floor", "ceil", "trunc", "rint", "round"),
            *("erfinv", "gamma", "gammaln", "digamma", "trigamma"),
        )
    },
    "around": (1, np.rint),
    "gelu": (1, gelu),
    "softplus": (1, softplus),
    "signum": (1, np.sign),  # which keeps NaN, unlike MXNet's sign
    "not": (1, np.logical_not),
    "invert": (1, np.invert),
    **{name: (2, ARITHMETIC[name].function) for name in ("add", "mod", "hypot", "arctan2", "copysign", "ldexp")},
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
            *(("bitand", "bitwise_and"), ("bitor", "bitwise_or"), ("bitxor", "bitwise_xor")),
        )
    },
    "fmod": (2, np.fmod),
    "shl": (2, _shifted("left")),
    "shr": (2, _shifted("right")),
    "leaky": (2, lambda x, slope: np.where(x < 0, x * slope, x)),
    "where": (3, lambda c, x, y: np.where(c != 0, x, y)),
}
"""Opcodes of a chain: how many operands each takes from the stack, and its meaning, which is that of the operators in
unary_functions.py and binary.py. Comparisons and logic give 1 or 0 in the same dtype."""
CASTS = {name: np.dtype(name) for name in ("bool", "float16", "float32", "float64", "int8", "uint8", "int32", "int64")}
"""Opcodes that cast what they take from the stack, and to what, besides"""
BFLOAT16 = "bfloat16"
"""which NumPy does not know by itself."""
LOGIC = frozenset(("not", "max", "min", "eq", "ne", "gt", "ge", "lt", "le", "and", "or", "xor", "where"))
"""The opcodes that make truth of truth."""
WHOLE_ONLY = frozenset(("invert", "bitand", "bitor", "bitxor", "shl", "shr"))
"""Those that mean nothing to floats."""
EXACT = WHOLE_ONLY.union(
    LOGIC,
    ("abs", "negative", "square", "relu", "sign", "floor", "ceil", "trunc"),
    ("add", "sub", "mul", "div", "mod", "fmod", "leaky", "copysign"),
)
"""The opcodes that make integers of integers."""


def cast_of(opcode: str) -> np.dtype | None:
    """The dtype that an opcode casts to; None for those that do something else."""
    return dtype_of(opcode) if opcode == BFLOAT16 else CASTS.get(opcode)


def arity(opcode: str) -> int:
    """Number of operands that it takes from the stack."""
    return OPCODES[opcode][0] if opcode in OPCODES else int(opcode in CASTS or opcode == BFLOAT16)


def _holds(dtype: np.dtype, opcode: str) -> bool:
    """True where the text of a number is one of the dtype."""
    if dtype.kind not in "iu":
        return True
    limits = np.iinfo(dtype)
    return _whole(opcode) is not None and limits.min <= _whole(opcode) <= limits.max  # type: ignore[operator]


def _whole(opcode: str) -> int | None:
    """The integer that the text of a number stands for; None where it has a fraction."""
    if opcode.lstrip("-").isdecimal():
        return int(opcode)
    return int(float(opcode)) if float(opcode).is_integer() else None


def _number(opcode: str, dtype: np.dtype) -> Any:
    """The number of a text, in the dtype."""
    return dtype.type(
        _whole(opcode) if dtype.kind in "iu" else float(opcode) != 0 if dtype.kind == "b" else float(opcode)
    )


@op("_fused_chain")
class FusedElementwise(Op):
    """Element-wise operators one after the other, in one pass over memory, with NumPy's broadcasting.

    code: opcodes in postfix order: ``$2`` pushes the third input, a number pushes itself, and those of OPCODES take their
    operands from the stack and push what they give, in the dtype of the operands, which is one; that of a number is that of what
    stands beside it, or else of the first input. The name of a dtype casts. ``$0 $1 add relu`` is relu(a + b). What is computed in
    a float of two bytes is rounded to one by every opcode. The compiled kernel computes an expression that is written twice once,
    and may be given the memory of an input that has the output's dtype, shape and layout to write into.
    """

    num_args: Arity
    code: str

    inputs = ("*data",)

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def check(self):
        depth, seen = 0, False
        for opcode in self.code.split():
            if count := arity(opcode):
                depth -= count
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
        return broadcast(*shapes)

    def infer_type(self, *dtypes):
        def number(opcode: str, dtype: np.dtype) -> np.dtype:
            if not _holds(dtype, opcode):
                raise self.error(f"got {dtype} for code with {opcode}, wanted floats; cast them")
            return dtype

        def combine(opcode: str, operands: list[np.dtype]) -> np.dtype:
            dtype = operands[0]
            if any(d != dtype for d in operands):
                raise self.error(f"got {', '.join(map(str, operands))} for {opcode}, wanted one dtype")
            if dtype.kind == "b" and opcode not in LOGIC:
                raise self.error(f"got bools for {opcode}, wanted numbers")
            if dtype.kind in "iu" and opcode not in EXACT:
                raise self.error(f"got {dtype} for code with {opcode}, wanted floats; cast them")
            if dtype.kind not in "iub" and opcode in WHOLE_ONLY:
                raise self.error(f"got {dtype} for code with {opcode}, wanted whole numbers; cast them")
            return dtype

        return self._walk(dtypes, dtypes[0], lambda d: d, number, lambda value, dtype: dtype, combine)

    def compute(self, *arrays):
        def combine(opcode: str, operands: list[np.ndarray]) -> np.ndarray:
            dtype = operands[0].dtype
            function = OPCODES[opcode][1]
            return as_array(function(*map(widen, map(as_array, operands)))).astype(dtype, copy=False)

        def number(opcode: str, dtype: np.dtype) -> np.ndarray:
            return np.asarray(_number(opcode, dtype))

        result = self._walk(
            arrays, arrays[0].dtype, lambda a: a.dtype, number, lambda value, dtype: convert(value, dtype), combine
        )
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        return np.copy(np.broadcast_to(result, shape))

    def _walk(
        self,
        inputs: Sequence[Any],
        first: np.dtype,
        dtype_of: Callable[[Any], np.dtype],
        number: Callable[[str, np.dtype], Any],
        cast: Callable[[Any, np.dtype], Any],
        combine: Callable[[str, list[Any]], Any],
    ) -> Any:
        """The result of the code, as the functions make values of numbers, cast them and combine them."""
        stack: list[Any] = []  # values, and the texts of numbers that have no dtype yet

        def settled(value: Any, dtype: np.dtype) -> Any:
            return number(value, dtype) if isinstance(value, str) else value

        for opcode in self.code.split():
            if opcode[0] == "$":
                stack.append(inputs[int(opcode[1:])])
            elif (dtype := cast_of(opcode)) is not None:
                stack.append(cast(settled(stack.pop(), dtype), dtype))
            elif opcode in OPCODES:
                operands = [stack.pop() for _ in range(arity(opcode))][::-1]
                common = next((dtype_of(v) for v in operands if not isinstance(v, str)), first)
                stack.append(combine(opcode, [settled(v, common) for v in operands]))
            else:
                stack.append(opcode)
        return settled(stack.pop(), first)

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
            if opcode in EXACT:
                yield make(
                    *(make.integers(3, 37, low=1, high=7, dtype=np.int32) for _ in range(count)),
                    num_args=count,
                    code=code,
                )
            if opcode in WHOLE_ONLY:
                continue
            low = 1.1 if opcode == "arccosh" else 0.2
            high = 0.9 if opcode in ("arcsin", "arccos", "arctanh", "erfinv") else 1.7
            yield make(*(make.uniform(3, 37, low=low, high=high) for _ in range(count)), num_args=count, code=code)
        yield make(
            make.integers(3, 37, high=2, dtype=np.uint8), make.uniform(37, dtype=np.float16), make.uniform(3, 37),
            num_args=3, code="$0 bool float32 $1 float32 exp $2 where 0.5 gt int64",
        )  # fmt: skip
        yield make(make.integers(3, 37, high=2, dtype=np.uint8) > 0, num_args=1, code="$0 not float16 0.1 mul")
