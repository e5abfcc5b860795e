"""A writer of ONNX graphs in the node forms of torch's exporter, with seeded random weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Given = str | int | float | Sequence[int] | np.ndarray | None
"""An operand: a tensor's name; whole numbers become int64 constants, others of the net's dtype; None is one left out."""
Dim = int | str
"""A size: a number, or the name of the scalar that has it."""

LEAST = {np.dtype(np.float32): -3.4028234663852886e38, np.dtype(np.float16): -65504.0}


class Net:
    """A graph that is being written. Every ONNX operator is a method: ``net.Add(x, y)`` gives the name of its output, of several
    ``outputs`` a list."""

    def __init__(self, dtype: Any = np.float32, opset: int = 17, seed: int = 0):
        self.dtype, self.opset = np.dtype(dtype), opset
        self.kind = helper.np_dtype_to_tensor_dtype(self.dtype)
        self.random = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.scope = ""

    def __getattr__(self, operator: str) -> Callable[..., Any]:
        if not operator[:1].isupper():
            raise AttributeError(operator)

        def add(*given: Given, outputs: int = 1, **attributes: Any) -> Any:
            stem = f"{self.scope}/{operator}_{len(self.nodes)}"
            names = [f"{stem}_output_{i}" for i in range(outputs)]
            operands = [self.constant(g) for g in given]
            self.nodes.append(helper.make_node(operator, operands, names, stem, **attributes))
            return names[0] if outputs == 1 else names

        return add

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """A module: nodes have its name before theirs."""
        before, self.scope = self.scope, f"{self.scope}/{name}"
        yield
        self.scope = before

    def input(self, name: str, *shape: int | str, dtype: Any = None) -> str:
        """An input; sizes that are words are open."""
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) if dtype else self.kind
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, tensor: str, rank: int, dtype: Any = None) -> None:
        """An output, of open sizes."""
        self.nodes.append(helper.make_node("Identity", [tensor], [name], f"/{name}"))
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) if dtype else self.kind
        self.outputs.append(helper.make_tensor_value_info(name, kind, [f"{name}_{i}" for i in range(rank)]))

    def constant(self, given: Given) -> str:
        """A Constant node with numbers; a name or nothing as it is."""
        if given is None or isinstance(given, str):
            return given or ""
        if isinstance(given, np.ndarray):
            array = given
        elif isinstance(given, float):
            array = np.array(given, self.dtype)
        else:
            array = np.array(given, np.int64)
        name = f"{self.scope}/Constant_{len(self.nodes)}_output_0"
        self.nodes.append(helper.make_node("Constant", [], [name], name[:-9], value=numpy_helper.from_array(array)))
        return name

    def weight(self, *shape: int, scale: float = 1.0, mean: float = 0.0) -> str:
        """A parameter of normally distributed numbers."""
        array = self.random.standard_normal(shape, np.float32)
        array *= scale
        array += mean
        name = f"{self.scope.strip('/').replace('/', '.')}.weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array.astype(self.dtype), name))
        return name

    def number(self, x: str) -> str:
        """x in the net's dtype."""
        return self.Cast(x, to=self.kind)

    # Sizes

    def size(self, x: str, axis: int) -> str:
        """A size of x, as a scalar."""
        return self.Gather(self.Shape(x), np.array(axis, np.int64), axis=0)

    def dims(self, *sizes: Dim) -> str:
        """A shape."""
        if all(isinstance(s, int) for s in sizes):
            return self.constant([*sizes])  # pyright: ignore[reportArgumentType] # numbers, as was asked above
        return self.Concat(*(self.Unsqueeze(s, [0]) if isinstance(s, str) else [s] for s in sizes), axis=0)

    def reshape(self, x: str, *sizes: Dim) -> str:
        """x in another shape."""
        return self.Reshape(x, self.dims(*sizes))

    def slice(self, x: str, start: int | str, end: int | str, axis: int, step: int = 1) -> str:
        """A part of x; bounds are numbers or names of vectors of one."""
        one = [v if isinstance(v, str) else [v] for v in (start, end)]
        return self.Slice(x, *one, [axis], [step])

    # Layers

    def linear(self, x: str, takes: int, gives: int, bias: bool = True, gain: float = 1.0) -> str:
        """A Linear layer on more than two axes."""
        y = self.MatMul(x, self.weight(takes, gives, scale=gain * takes**-0.5))
        return self.Add(self.weight(gives, scale=0.02), y) if bias else y

    def gemm(self, x: str, takes: int, gives: int, gain: float = 1.0, bias: float = 0.0) -> str:
        """A Linear layer on two axes."""
        weights = self.weight(gives, takes, scale=gain * takes**-0.5)
        return self.Gemm(x, weights, self.weight(gives, scale=0.02, mean=bias), alpha=1.0, beta=1.0, transB=1)

    def conv(
        self,
        x: str,
        takes: int,
        gives: int,
        size: int | tuple[int, int] = 1,
        stride: int = 1,
        groups: int = 1,
        pad: int | None = None,
        gain: float = 1.0,
        bias: float = 0.0,
        axes: int = 2,
    ) -> str:
        """A convolution with bias, of the same size if its stride is 1."""
        sizes = (size,) * axes if isinstance(size, int) else size
        pads = [s // 2 if pad is None else pad for s in sizes] * 2
        fan = takes // groups * int(np.prod(sizes))
        return self.Conv(
            x,
            self.weight(gives, takes // groups, *sizes, scale=gain * fan**-0.5),
            self.weight(gives, scale=0.02, mean=bias),
            kernel_shape=sizes,
            strides=[stride] * axes,
            pads=pads,
            group=groups,
            dilations=[1] * axes,
        )

    def upconv(self, x: str, takes: int, gives: int) -> str:
        """A transposed convolution that doubles sizes."""
        weights = self.weight(takes, gives, 2, 2, scale=takes**-0.5)
        return self.ConvTranspose(x, weights, self.weight(gives, scale=0.02), kernel_shape=[2, 2], strides=[2, 2])

    def norm(self, x: str, width: int, decomposed: bool = False) -> str:
        """A LayerNorm over the last axis; decomposed as opsets below 17 have it."""
        gamma, beta = self.weight(width, scale=0.1, mean=1.0), self.weight(width, scale=0.02)
        if not decomposed:
            return self.LayerNormalization(x, gamma, beta, axis=-1, epsilon=1e-5)
        centred = self.Sub(x, self.ReduceMean(x, axes=[-1]))
        variance = self.ReduceMean(self.Pow(centred, 2.0), axes=[-1])
        return self.Add(self.Mul(self.Div(centred, self.Sqrt(self.Add(variance, 1e-5))), gamma), beta)

    def group_norm(self, x: str, width: int, groups: int) -> str:
        """A GroupNorm of (N, C, H, W) through InstanceNormalization, as opsets below 21 have it."""
        ones, zeros = np.ones(groups, self.dtype), np.zeros(groups, self.dtype)
        flat = self.InstanceNormalization(self.Reshape(x, [0, groups, -1]), ones, zeros, epsilon=1e-5)
        gamma, beta = self.weight(width, 1, 1, scale=0.1, mean=1.0), self.weight(width, 1, 1, scale=0.02)
        return self.Add(self.Mul(self.Reshape(flat, self.Shape(x)), gamma), beta)

    def gelu(self, x: str) -> str:
        """The GELU by Erf."""
        return self.Mul(self.Mul(x, self.Add(self.Erf(self.Div(x, 1.4142135623730951)), 1.0)), 0.5)

    def gelu_tanh(self, x: str) -> str:
        """GPT-2's GELU, by Tanh."""
        inner = self.Mul(self.Add(x, self.Mul(self.Pow(x, 3.0), 0.044715)), 0.7978845608028654)
        return self.Mul(self.Mul(x, 0.5), self.Add(self.Tanh(inner), 1.0))

    def silu(self, x: str) -> str:
        """The SiLU."""
        return self.Mul(x, self.Sigmoid(x))

    def heads(self, x: str, heads: int, width: int) -> str:
        """(batch, length, heads * width) as (batch, heads, length, width)."""
        split = self.reshape(x, self.size(x, 0), self.size(x, 1), heads, width)
        return self.Transpose(split, perm=[0, 2, 1, 3])

    def unheads(self, x: str, width: int) -> str:
        """(batch, heads, length, width of one) as (batch, length, width of all)."""
        back = self.Transpose(x, perm=[0, 2, 1, 3])
        return self.reshape(back, self.size(back, 0), self.size(back, 1), width)

    def attend(self, query: str, key: str, value: str, width: int, mask: str | None = None) -> str:
        """Attention of (batch, heads, length, width), the mask added to the products."""
        scores = self.Div(self.MatMul(query, self.Transpose(key, perm=[0, 1, 3, 2])), width**0.5)
        if mask:
            scores = self.Add(scores, mask)
        return self.MatMul(self.Softmax(scores, axis=-1), value)

    def model(self, name: str) -> Any:
        """The model."""
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.weights)
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, producer_name="pytorch", opset_imports=opsets, ir_version=8)

    def save(self, name: str, path: Path) -> None:
        """Write the model, and check it."""
        onnx.save(self.model(name), str(path))
        onnx.checker.check_model(str(path))


BOOL, INT64, FLOAT = TensorProto.BOOL, TensorProto.INT64, TensorProto.FLOAT
