"""Stored tensors: names that exporters have made up, and tensors that are others in another layout."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

MXNET = "mxnet"
"""The producer by which a file of MXNet's own exporter goes here, which names none."""
_MADE_UP = re.compile(
    r"/|.*::|\d+$"  # PyTorch's older exporter, for what a node gives, and for what it computes ahead
    r"|val_\d+$|_?(?:lifted_)?tensor_(?:constant)?_?\d*$"  # its newer one
    r"|const_fold_opt__|Const__\d|const_\w*__\d|.*/(?:x|y|Const(?:_\d+)?)(?::\d)?$"  # tf2onnx
    r"|ortshared_|Constant_\d|.*_(?:constant|const)_?\d*$"  # onnxruntime's optimizer, and others
)
_STEP = re.compile(
    r"(?:t|permute|transpose|view|reshape|flatten|unflatten|squeeze|unsqueeze|movedim|swapaxes|numpy_T|mT|expand|select|slice|"
    r"clone|contiguous|alias|detach|linear|embedding|to|_to_copy|convert_element_type|exp|log|neg|add|sub|mul|div|pow|sqrt|rsqrt|"
    r"reciprocal|arange|full|full_like|zeros|zeros_like|ones|ones_like|eye|triu|tril|where|cat|stack|outer|sin|cos|sum|mean|index|"
    r"scalar_tensor|repeat|masked_fill|unsqueeze_copy|permute_copy|constant_pad_nd|bmm|mm|matmul|clamp|abs|cumsum|lift_fresh_copy|"
    r"linspace|logspace|softmax|tanh|sigmoid|relu|rsub|floor|round|flip|roll|gather|scatter|index_select|meshgrid)(?:_\d+)?$"
)
"""Names of steps, which PyTorch's newer exporter gives to what it has computed ahead of time."""


def is_made_up(name: str, producer: str = "") -> bool:
    """True for a name that an exporter gives to what is no parameter of the network, or to one that it has changed.

    >>> is_made_up("onnx::MatMul_179"), is_made_up("val_67"), is_made_up("encoder.weight")
    (True, True, False)
    >>> is_made_up("permute_2"), is_made_up("permute_2", "pytorch")
    (False, True)
    """
    if producer == MXNET:
        return re.match(r"scalar_op\d+$|\w+_(?:tmp|alpha|scalar)$", name) is not None
    return bool(_MADE_UP.match(name)) or (producer == "pytorch" and bool(_STEP.match(name)))


def says_something(array: np.ndarray) -> bool:
    """True for floats that two tensors do not hold by accident: not all the same, nor all whole numbers."""
    if array.size < 4 or array.dtype.kind != "f":
        return False
    flat = array.reshape(-1)[:4096]
    return bool((flat != flat[0]).any()) and bool((flat != np.rint(flat)).any())


def relaid(arrays: Mapping[str, np.ndarray], producer: str) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Tensors of a made-up name that hold what another one does, in another layout: that one's name, and the order of its axes
    before it is reshaped. Exporters fold a Transpose of a parameter and keep the parameter for who reads it plain.

    Of two under made-up names, as PyTorch's newer exporter may call a parameter, the first is the other one."""
    known: dict[tuple[str, int], list[str]] = {}
    found = {}
    for name in sorted(arrays, key=lambda n: is_made_up(n, producer)):
        array = arrays[name]
        if not says_something(array):
            continue
        alike = known.setdefault((array.dtype.str, array.size), [])
        if is_made_up(name, producer):
            for other in alike:
                same = arrays[other].shape == array.shape and is_made_up(other, producer)
                axes = next(_layouts(arrays[other], array), None)
                if axes is not None and not (same and axes == tuple(range(len(axes)))):
                    found[name] = other, axes
                    break
        if name not in found:
            alike.append(name)
    return found


def equal(arrays: Mapping[str, np.ndarray], producer: str) -> list[tuple[str, ...]]:
    """Groups of tensors under names of their own that hold the same numbers."""
    alike: dict[tuple[str, tuple[int, ...], float, float], list[list[str]]] = {}
    for name, array in arrays.items():
        if is_made_up(name, producer) or not says_something(array):
            continue
        flat = array.reshape(-1)
        groups = alike.setdefault((array.dtype.str, array.shape, float(flat[0]), float(flat[-1])), [])
        for group in groups:
            if np.array_equal(arrays[group[0]], array):
                group.append(name)
                break
        else:
            groups.append([name])
    return [tuple(group) for groups in alike.values() for group in groups if len(group) > 1]


def _layouts(source: np.ndarray, wanted: np.ndarray) -> Iterator[tuple[int, ...]]:
    """Orders of the source's axes in which it holds the wanted numbers, up to a reshape."""
    ends = source.reshape(-1)[[0, -1]], wanted.reshape(-1)[[0, -1]]
    if not np.array_equal(*ends):
        return  # no reshape and no order of axes moves the first element and the last one
    axes = tuple(range(source.ndim))
    for order in dict.fromkeys((axes, (*axes[:-2], *axes[-2:][::-1]), axes[::-1], (*axes[1:], *axes[:1]))):
        if np.array_equal(source.transpose(order).reshape(-1), wanted.reshape(-1)):
            yield order
