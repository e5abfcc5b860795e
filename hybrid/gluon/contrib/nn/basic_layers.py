"""Layers that run side by side, sparse embeddings, and rearrangements of channels into space."""

from __future__ import annotations

from math import prod
from typing import Any

from .... import ndarray
from ...block import Block, HybridBlock
from ...nn import BatchNorm, HybridSequential, Sequential

__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SparseEmbedding",
    "SyncBatchNorm",
]


class Concurrent(Sequential):
    """Blocks that all take the same input; their outputs are joined along axis.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.contrib.nn.Concurrent(axis=1)
    >>> net.add(mx.gluon.nn.Dense(2), mx.gluon.nn.Dense(3))
    >>> net.initialize()
    >>> net(mx.nd.ones((4, 5))).shape
    (4, 5)
    """

    def __init__(self, axis: int = -1, prefix: str | None = None, params: Any = None):
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x: Any) -> Any:
        """The joined outputs for x."""
        return ndarray.concat(*(block(x) for block in self._children.values()), dim=self.axis)


class HybridConcurrent(HybridSequential):
    """Hybrid blocks that all take the same input; their outputs are joined along axis.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.contrib.nn.HybridConcurrent(axis=1)
    >>> net.add(mx.gluon.nn.Dense(2), mx.gluon.nn.Dense(3))
    >>> net.initialize()
    >>> net(mx.nd.ones((4, 5))).shape
    (4, 5)
    """

    def __init__(self, axis: int = -1, prefix: str | None = None, params: Any = None):
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803  MXNet's name for "nd or sym"
        """The joined outputs for x."""
        return F.concat(*[block(x) for block in self._children.values()], dim=self.axis)


class Identity(HybridBlock):
    """Gives what it is given.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.contrib.nn.Identity()(mx.nd.array([1, 2])).asnumpy()
    array([1., 2.], dtype=float32)
    """

    def __init__(self, prefix: str | None = None, params: Any = None):
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """x itself."""
        return x


class SparseEmbedding(Block):
    """Rows of a table that is stored, and whose gradient is, row_sparse: (...) -> (..., output_dim).

    Parameter: weight (input_dim, output_dim).

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.contrib.nn.SparseEmbedding(10, 4)
    >>> layer.initialize()
    >>> trainer = mx.gluon.Trainer(layer.collect_params(), "sgd")
    >>> layer(mx.nd.array([1, 5])).shape
    (2, 4)
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: Any = "float32",
        weight_initializer: Any = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._kwargs = {"input_dim": input_dim, "output_dim": output_dim, "dtype": dtype, "sparse_grad": True}
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            grad_stype="row_sparse",
            stype="row_sparse",
        )

    def forward(self, x: Any) -> Any:
        """The rows that x asks for."""
        return ndarray.Embedding(x, self.weight.row_sparse_data(x), name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        own = self._kwargs
        return f"{type(self).__name__}({own['input_dim']} -> {own['output_dim']}, {own['dtype']})"


class SyncBatchNorm(BatchNorm):
    """BatchNorm whose statistics are taken over the batches of all devices. Operator _contrib_SyncBatchNorm.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.contrib.nn.SyncBatchNorm(num_devices=1)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    def __init__(
        self,
        in_channels: int = 0,
        num_devices: int | None = None,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        running_mean_initializer: Any = "zeros",
        running_variance_initializer: Any = "ones",
        **kwargs: Any,
    ):
        super().__init__(
            1, momentum, epsilon, center, scale, use_global_stats, beta_initializer, gamma_initializer,
            running_mean_initializer, running_variance_initializer, in_channels, **kwargs,
        )  # fmt: skip
        self._kwargs = {
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
            "ndev": 1 if num_devices is None else num_devices,
            "key": self.prefix,
        }

    def _normalize(self, F: Any, *arrays: Any) -> Any:  # noqa: N803
        return F.contrib.SyncBatchNorm(*arrays, name="fwd", **self._kwargs)


class _PixelShuffle(HybridBlock):
    """Moves blocks of channels into space: (N, C*f1*f2..., W1, W2, ...) -> (N, C, W1*f1, W2*f2, ...).

    factor is one number or one for each spatial axis. Raises AssertionError for another count. Shi et al. 2016,
    arXiv:1609.05158."""

    _rank = 1

    def __init__(self, factor: Any):
        super().__init__()
        self._factors = (int(factor),) * self._rank if isinstance(factor, int | float) else tuple(map(int, factor))
        if len(self._factors) != self._rank:
            raise AssertionError(f"wrong length {len(self._factors)} of factor, wanted {self._rank}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factors[0] if self._rank == 1 else self._factors})"


class PixelShuffle1D(_PixelShuffle):
    """(N, f*C, W) -> (N, C, W*f).

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.contrib.nn.PixelShuffle1D(2)(mx.nd.ones((1, 6, 4))).shape
    (1, 3, 8)
    """

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """x rearranged."""
        x = F.reshape(x, (0, -4, -1, *self._factors, 0))  # (N, C, f, W)
        x = F.transpose(x, (0, 1, 3, 2))
        return F.reshape(x, (0, 0, -3))


class PixelShuffle2D(_PixelShuffle):
    """(N, f1*f2*C, H, W) -> (N, C, H*f1, W*f2).

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.contrib.nn.PixelShuffle2D(2)(mx.nd.ones((1, 12, 4, 4))).shape
    (1, 3, 8, 8)
    """

    _rank = 2

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """x rearranged."""
        x = F.reshape(x, (0, -4, -1, prod(self._factors), 0, 0))
        x = F.reshape(x, (0, 0, -4, *self._factors, 0, 0))  # (N, C, f1, f2, H, W)
        x = F.transpose(x, (0, 1, 4, 2, 5, 3))
        return F.reshape(x, (0, 0, -3, -3))


class PixelShuffle3D(_PixelShuffle):
    """(N, f1*f2*f3*C, D, H, W) -> (N, C, D*f1, H*f2, W*f3).

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.contrib.nn.PixelShuffle3D(2)(mx.nd.ones((1, 24, 4, 4, 4))).shape
    (1, 3, 8, 8, 8)
    """

    _rank = 3

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """x rearranged, one factor at a time: reshape codes split and join at most six axes."""
        first, second, third = self._factors
        x = F.reshape(x, (0, -4, -1, first * second * third, 0, 0, 0))
        x = F.swapaxes(x, 2, 3)  # (N, C, D, f1*f2*f3, H, W)
        x = F.reshape(x, (0, 0, 0, -4, first, second * third, 0, 0))
        x = F.reshape(x, (0, 0, -3, 0, 0, 0))
        x = F.swapaxes(x, 3, 4)  # (N, C, D*f1, H, f2*f3, W)
        x = F.reshape(x, (0, 0, 0, 0, -4, second, third, 0))
        x = F.reshape(x, (0, 0, 0, -3, 0, 0))
        x = F.swapaxes(x, 4, 5)  # (N, C, D*f1, H*f2, W, f3)
        return F.reshape(x, (0, 0, 0, 0, -3))
