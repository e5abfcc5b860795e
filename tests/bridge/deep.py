"""Networks of hundreds of layers with random sane weights: rounding grows through them, and nothing is wrong."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np

import hybrid as mx

NAMES = ("residual_300", "plain_200", "poly_modules", "cells")


def exported(name: str, folder: Path) -> tuple[str, dict[str, tuple[int, ...]]]:
    """Prefix of the files of a network, and its input's shape."""
    shape = (1, 3, 24, 24)
    symbol = globals()[f"_{name}"](mx.sym.var("data"))
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    arguments, _, states = symbol.infer_shape(data=shape)
    params = {}
    for kind, names, shapes in (
        ("arg", symbol.list_arguments(), arguments),
        ("aux", symbol.list_auxiliary_states(), states),
    ):
        for key, size in zip(names, shapes):
            if key != "data":
                params[f"{kind}:{key}"] = mx.nd.array(_value(rng, key, size).astype(np.float32))
    prefix = folder / name
    symbol.save(f"{prefix}-symbol.json")
    mx.nd.save(f"{prefix}-0000.params", params)
    return str(prefix), {"data": shape}


def _value(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    if len(shape) > 1:
        return rng.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape)
    if name.endswith("var"):
        return rng.uniform(0.5, 1.5, shape)
    return rng.uniform(0.8, 1.2, shape) if name.endswith("gamma") else rng.normal(0, 0.1, shape)


def _layer(x: Any, name: str, channels: int, kernel: tuple[int, int] = (3, 3), relu: bool = True) -> Any:
    pad = (kernel[0] // 2, kernel[1] // 2)
    x = mx.sym.Convolution(x, num_filter=channels, kernel=kernel, pad=pad, no_bias=True, name=f"{name}_conv")
    x = mx.sym.BatchNorm(x, fix_gamma=False, name=f"{name}_bn")
    return mx.sym.Activation(x, act_type="relu", name=f"{name}_relu") if relu else x


def _head(x: Any) -> Any:
    x = mx.sym.Pooling(x, global_pool=True, pool_type="avg", kernel=(1, 1), name="pool")
    return mx.sym.FullyConnected(x, num_hidden=10, name="scores")


def _residual_300(x: Any) -> Any:
    """150 blocks of two layers around a sum."""
    x = _layer(x, "stem", 8)
    for i in range(150):
        y = _layer(_layer(x, f"block{i}_a", 8), f"block{i}_b", 8, relu=False)
        x = mx.sym.Activation(x + y, act_type="relu", name=f"block{i}_out")
    return _head(x)


def _plain_200(x: Any) -> Any:
    """200 layers one after the other, which nothing brings back to scale."""
    for i in range(200):
        x = _layer(x, f"layer{i}", 8)
    return _head(x)


def _poly_modules(x: Any) -> Any:
    """PolyNet's modules I + F + F(F) with shared weights' shapes, 80 of them."""
    x = _layer(x, "stem", 8)
    for i in range(80):
        first = _layer(x, f"poly{i}_f", 8)
        second = _layer(first, f"poly{i}_g", 8, relu=False)
        x = mx.sym.Activation(x + 0.3 * (first + second), act_type="relu", name=f"poly{i}_out")
    return _head(x)


def _cells(x: Any) -> Any:
    """PNASNet's cells: pairs of separable convolutions and pools of the two cells before, joined; 40 of them."""
    before, x = _layer(x, "stem0", 8), _layer(x, "stem1", 8)
    for i in range(40):
        left, right = _layer(before, f"cell{i}_left", 8, (1, 1)), _layer(x, f"cell{i}_right", 8, (1, 1))
        parts = []
        for k, (source, size) in enumerate(((left, 5), (left, 3), (right, 5), (right, 3))):
            deep = mx.sym.Convolution(
                source, num_filter=8, num_group=8, kernel=(size, size), pad=(size // 2,) * 2, no_bias=True,
                name=f"cell{i}_deep{k}",
            )  # fmt: skip
            parts.append(_layer(deep, f"cell{i}_wide{k}", 8, (1, 1), relu=False))
        pooled = mx.sym.Pooling(right, kernel=(3, 3), pad=(1, 1), pool_type="max", name=f"cell{i}_pool")
        joined = mx.sym.Concat(parts[0] + parts[2], parts[1] + pooled, parts[3] + right, name=f"cell{i}_joined")
        before, x = x, joined
    return _head(x)
