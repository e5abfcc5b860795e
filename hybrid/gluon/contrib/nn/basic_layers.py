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
    """Blocks that all take the same input; their outputs are joined along axis."""

    def __init__(self, axis: int = -1, prefix: str | None = None, params: Any = None):
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x: Any) -> Any:
        """The joined outputs for x."""
        return ndarray.concat(*(block(x) for block in self._children.values()), dim=self.axis)


class HybridConcurrent(HybridSequential):
    """Hybrid blocks that all take the same input; their outputs are joined along axis."""

    def __init__(self, axis: int = -1, prefix: str | None = None, params: Any = None):
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803  MXNet's name for "nd or sym"
        """The joined outputs for x."""
        return F.concat(*[block(x) for block in self._children.values()], dim=self.axis)


class Identity(HybridBlock):
    """Gives what it is given."""

    def __init__(self, prefix: str | None = None, params: Any = None):
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """x itself."""
        return x


class SparseEmbedding(Block):
    """Rows of a table that is stored, and whose gradient is, row_sparse: (...) -> (..., output_dim).

    Parameter: weight (input_dim, output_dim)."""

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
    """BatchNorm whose statistics are taken over the batches of all devices. Operator _contrib_SyncBatchNorm."""

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

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """x rearranged."""
        x = F.reshape(x, (0, -4, -1, prod(self._factors), *(0,) * self._rank))  # (N, C, f1*f2*f3, W1, W2, W3)
        for done in range(self._rank):  # f1*f2*f3 -> f1, f2*f3 -> f1, f2, f3; each factor goes behind its axis
            rest = prod(self._factors[done + 1 :])
            first = 2 + 2 * done
            x = F.reshape(x, (*(0,) * first, -4, self._factors[done], rest, *(0,) * (self._rank - done)))
            order = [*range(first), first + 1, first + 2, first, *range(first + 3, 3 + done + self._rank)]
            x = F.transpose(x, order)  # the rest of the factors, the axis, its factor
            order = [*range(first), first + 1, first + 2, first, *range(first + 3, 3 + done + self._rank)]
            x = F.transpose(x, order)
        return x

    def __repr__(self) -> str:
        shown = self._factors[0] if self._rank == 1 else self._factors
        return f"{type(self).__name__}({shown})"
