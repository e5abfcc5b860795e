"""Containers, dense layers, normalizations, embeddings, and functions as layers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ... import ndarray, symbol
from ...core.np_mode import is_np_array
from ..block import Block, HybridBlock
from ..functions import ARRAYS, SYMBOLS, named
from .activations import Activation

__all__ = [
    "BatchNorm",
    "BatchNormReLU",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "GroupNorm",
    "HybridLambda",
    "HybridSequential",
    "InstanceNorm",
    "Lambda",
    "LayerNorm",
    "Sequential",
]


class _Container(Block):
    """Blocks in order, as a list."""

    _is_container = True

    def __repr__(self) -> str:
        return self._listing(self._children.items())

    def add(self, *blocks: Any) -> None:
        """Append blocks."""
        for block in blocks:
            self.register_child(block)

    def __getitem__(self, key: Any) -> Any:
        """The block at an index; a container of the same kind for a slice."""
        chosen = list(self._children.values())[key]
        if not isinstance(key, slice):
            return chosen
        part = type(self)(prefix=self._prefix)
        with part.name_scope():
            part.add(*chosen)
        return part

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._children.values())


class Sequential(_Container):
    """Blocks, each of which takes what the one before gives.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.nn.Sequential()
    >>> net.add(mx.gluon.nn.Dense(4), mx.gluon.nn.Dense(2))
    >>> net.initialize()
    >>> net(mx.nd.ones((5, 3))).shape, len(net), net[-1].weight.shape
    ((5, 2), 2, (2, 4))
    """

    def __init__(self, prefix: str | None = None, params: Any = None):
        super().__init__(prefix=prefix, params=params)

    def forward(self, x: Any) -> Any:
        """x through all blocks."""
        for block in self._children.values():
            x = block(x)
        return x

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridize all blocks; warns when they could all be compiled as one."""
        if self._children and all(isinstance(c, HybridBlock) for c in self._children.values()):
            warnings.warn(
                f"All children of this Sequential layer '{self.prefix}' are HybridBlocks. "
                "Consider using HybridSequential for the best performance.",
                stacklevel=2,
            )
        super().hybridize(active, **kwargs)


class HybridSequential(_Container, HybridBlock):
    """Hybrid blocks, each of which takes what the one before gives. Raises ValueError when another block is added.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.nn.HybridSequential()
    >>> net.add(mx.gluon.nn.Dense(4, activation="relu"), mx.gluon.nn.Dense(2))
    >>> net.initialize()
    >>> net.hybridize()
    >>> net(mx.nd.ones((5, 3))).shape
    (5, 2)
    """

    def __init__(self, prefix: str | None = None, params: Any = None):
        super().__init__(prefix=prefix, params=params)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803  MXNet's name for "nd or sym"
        """x through all blocks."""
        for block in self._children.values():
            x = block(x)
        return x


class Dense(HybridBlock):
    """x @ weight.T + bias, then an activation if one is named. Operator FullyConnected.

    With flatten (N, ...) -> (N, units), all axes but the first taken as one; else (..., in_units) -> (..., units).
    in_units 0 is taken from the first input. Parameters: weight (units, in_units), bias (units,).

    Parameters
    ----------
    units : int
        Number of outputs.
    activation : str or None, default None
        What is applied to the output: relu, sigmoid, tanh, softrelu, softsign; None: nothing.
    use_bias : bool, default True
        Add a bias that is learnt.
    flatten : bool, default True
        All axes but the first are one; else only the last is multiplied.
    dtype : str or dtype, default 'float32'
        Dtype of the parameters.
    weight_initializer : Initializer, str or None, default None
        Initializer, or its name; None: the one given to ``initialize``.
    bias_initializer : Initializer, str or None, default 'zeros'
        Initializer, or its name; None: the one given to ``initialize``.
    in_units : int, default 0
        Size of the last axis of the input (of all axes but the first, with flatten); 0: the first input tells.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.nn.Dense(10)
    >>> net.initialize()
    >>> net(mx.nd.ones((2, 3, 4))).shape, net.weight.shape
    ((2, 10), (10, 12))"""

    def __init__(
        self,
        units: int,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: Any = "float32",
        weight_initializer: Any = None,
        bias_initializer: Any = "zeros",
        in_units: int = 0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._units, self._in_units, self._flatten = units, in_units, flatten
        with self.name_scope():
            self.weight: Any = self.params.get(
                "weight", shape=(units, in_units), init=weight_initializer, dtype=dtype, allow_deferred_init=True
            )
            self.bias = (
                self.params.get("bias", shape=(units,), init=bias_initializer, dtype=dtype, allow_deferred_init=True)
                if use_bias
                else None
            )
            self.act = Activation(activation, prefix=activation + "_") if activation is not None else None

    def hybrid_forward(self, F: Any, x: Any, weight: Any, bias: Any = None) -> Any:  # noqa: N803
        """The layer applied to x."""
        inputs = (x, weight) if bias is None else (x, weight, bias)
        out = F.FullyConnected(*inputs, num_hidden=self._units, no_bias=bias is None, flatten=self._flatten, name="fwd")
        return out if self.act is None else self.act(out)

    def __repr__(self) -> str:
        units, features = self.weight.shape
        return f"{type(self).__name__}({features or None} -> {units}, {self.act or 'linear'})"


class Dropout(HybridBlock):
    """In training sets a fraction ``rate`` of the elements to 0 and scales the others by 1 / (1 - rate).

    Elements along ``axes`` share their fate. Srivastava et al. 2014. Operator Dropout.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.Dropout(0.5)
    >>> x = mx.nd.ones(1000)
    >>> bool((layer(x) == x).min().asscalar())  # out of training
    True
    >>> with mx.autograd.record():
    ...     y = layer(x)
    >>> sorted(set(y.asnumpy().tolist()))
    [0.0, 2.0]
    """

    def __init__(self, rate: float, axes: Any = (), **kwargs: Any):
        super().__init__(**kwargs)
        self._rate, self._axes = rate, axes

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """x, with elements dropped when training."""
        if self._rate > 0:
            return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd", cudnn_off=False)
        return F.identity(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


class _BatchNorm(HybridBlock):
    """Base of the batch normalizations: parameters, and how the operator is called."""

    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        running_mean_initializer: Any = "zeros",
        running_variance_initializer: Any = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._kwargs = {
            "axis": axis,
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }
        if in_channels != 0:
            self.in_channels = in_channels

        def parameter(name: str, init: Any, learnt: bool) -> Any:
            return self.params.get(
                name,
                grad_req="write" if learnt else "null",
                shape=(in_channels,),
                init=init,
                allow_deferred_init=True,
                differentiable=learnt,
            )

        self.gamma = parameter("gamma", gamma_initializer, scale)
        self.beta = parameter("beta", beta_initializer, center)
        self.running_mean = parameter("running_mean", running_mean_initializer, False)
        self.running_var = parameter("running_var", running_variance_initializer, False)

    def cast(self, dtype: Any) -> None:
        """Convert the parameters; those of a half-precision layer stay float32, as the operator wants them."""
        super().cast("float32" if np.dtype(dtype).name == "float16" else dtype)

    def hybrid_forward(
        self,
        F: Any,  # noqa: N803
        x: Any,
        gamma: Any,
        beta: Any,
        running_mean: Any,
        running_var: Any,
    ) -> Any:
        """x normalized by the batch's statistics when training, else by the running ones."""
        return self._normalize(F, x, gamma, beta, running_mean, running_var)

    def _normalize(self, F: Any, *arrays: Any) -> Any:  # noqa: N803
        return F.BatchNorm(*arrays, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v!r}" for k, v in self._kwargs.items())
        return f"{type(self).__name__}({shown}, in_channels={self.gamma.shape[0] or None})"


class BatchNorm(_BatchNorm):
    """Normalizes each channel over a batch, and keeps running means and variances for inference.

    axis is that of the channels; scale off fixes gamma at 1 and center off beta at 0. Parameters, all (in_channels,): gamma,
    beta, and the states running_mean and running_var. Ioffe and Szegedy 2015, arXiv:1502.03167. Operator BatchNorm.

    Parameters
    ----------
    axis : int, default 1
        Axis of the channels; negative ones count from the last.
    momentum : float, default 0.9
        Part of the running statistics that stays at each step, 0 to 1.
    epsilon : float, default 1e-05
        Number that is added to the variance, against division by 0.
    center : bool, default True
        Add a beta that is learnt.
    scale : bool, default True
        Multiply by a gamma that is learnt.
    use_global_stats : bool, default False
        Normalise by the running statistics in training too.
    beta_initializer : Initializer or str, default 'zeros'
        Of the summands.
    gamma_initializer : Initializer or str, default 'ones'
        Of the factors.
    running_mean_initializer : Initializer or str, default 'zeros'
        Of the running mean.
    running_variance_initializer : Initializer or str, default 'ones'
        Of the running variance.
    in_channels : int, default 0
        Channels of the input; 0: the first input tells.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.BatchNorm()
    >>> layer.initialize()
    >>> x = mx.nd.array([[1], [3]])
    >>> with mx.autograd.record():
    ...     y = layer(x)
    >>> y.asnumpy().round(2), layer.running_mean.data().asnumpy().round(2)
    (array([[-1.],
           [ 1.]], dtype=float32), array([0.], dtype=float32))
    """


class BatchNormReLU(_BatchNorm):
    """BatchNorm, then the greater of that and 0. Operator _contrib_BatchNormWithReLU.

    Parameters
    ----------
    axis : int, default 1
        Axis of the channels; negative ones count from the last.
    momentum : float, default 0.9
        Part of the running statistics that stays at each step, 0 to 1.
    epsilon : float, default 1e-05
        Number that is added to the variance, against division by 0.
    center : bool, default True
        Add a beta that is learnt.
    scale : bool, default True
        Multiply by a gamma that is learnt.
    use_global_stats : bool, default False
        Normalise by the running statistics in training too.
    beta_initializer : Initializer or str, default 'zeros'
        Of the summands.
    gamma_initializer : Initializer or str, default 'ones'
        Of the factors.
    running_mean_initializer : Initializer or str, default 'zeros'
        Of the running mean.
    running_variance_initializer : Initializer or str, default 'ones'
        Of the running variance.
    in_channels : int, default 0
        Channels of the input; 0: the first input tells.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.BatchNormReLU()
    >>> layer.initialize()
    >>> with mx.autograd.record():
    ...     y = layer(mx.nd.array([[1], [3]]))
    >>> y.asnumpy().round(2)
    array([[0.],
           [1.]], dtype=float32)
    """

    def _normalize(self, F: Any, *arrays: Any) -> Any:  # noqa: N803
        return F.contrib.BatchNormWithReLU(*arrays, name="fwd", **self._kwargs)


class _Norm(HybridBlock):
    """gamma and beta of a normalization; scale and center off leave them as they were initialized."""

    gamma: Any
    beta: Any

    def _add_parameters(
        self, size: int, center: bool, scale: bool, beta_initializer: Any, gamma_initializer: Any
    ) -> None:
        self._center, self._scale = center, scale
        for name, init, learnt in (("gamma", gamma_initializer, scale), ("beta", beta_initializer, center)):
            parameter = self.params.get(
                name, grad_req="write" if learnt else "null", shape=(size,), init=init, allow_deferred_init=True
            )
            setattr(self, name, parameter)


class InstanceNorm(_Norm):
    """Normalizes each channel of each sample over its other axes. Ulyanov et al. 2016, arXiv:1607.08022.

    axis is that of the channels. Parameters gamma and beta (in_channels,). Operator InstanceNorm.

    Parameters
    ----------
    axis : int, default 1
        Axis of the channels; negative ones count from the last.
    epsilon : float, default 1e-05
        Number that is added to the variance, against division by 0.
    center : bool, default True
        Add a beta that is learnt.
    scale : bool, default False
        Multiply by a gamma that is learnt.
    beta_initializer : Initializer or str, default 'zeros'
        Of the summands.
    gamma_initializer : Initializer or str, default 'ones'
        Of the factors.
    in_channels : int, default 0
        Channels of the input; 0: the first input tells.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.InstanceNorm()
    >>> layer.initialize()
    >>> layer(mx.nd.array([[[1, 3], [10, 30]]])).asnumpy().round(2)
    array([[[-1.,  1.],
            [-1.,  1.]]], dtype=float32)
    """

    def __init__(
        self,
        axis: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        in_channels: int = 0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis, self._epsilon = axis, epsilon
        self._add_parameters(in_channels, center, scale, beta_initializer, gamma_initializer)

    def hybrid_forward(self, F: Any, x: Any, gamma: Any, beta: Any) -> Any:  # noqa: N803
        """x normalized."""
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon)
        x = x.swapaxes(1, self._axis)
        return F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon).swapaxes(1, self._axis)

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v}" for k, v in self._kwargs.items())
        return f"{type(self).__name__}({shown}, in_channels={self.gamma.shape[0]})"


class LayerNorm(_Norm):
    """Normalizes along one axis. Parameters gamma and beta (in_channels,). Ba et al. 2016, arXiv:1607.06450.

    Operator LayerNorm.

    Parameters
    ----------
    axis : int, default -1
        Axis of the channels; negative ones count from the last.
    epsilon : float, default 1e-05
        Number that is added to the variance, against division by 0.
    center : bool, default True
        Add a beta that is learnt.
    scale : bool, default True
        Multiply by a gamma that is learnt.
    beta_initializer : Initializer or str, default 'zeros'
        Of the summands.
    gamma_initializer : Initializer or str, default 'ones'
        Of the factors.
    in_channels : int, default 0
        Channels of the input; 0: the first input tells.

    Examples
    --------
    >>> from gluonnx import mx
    >>> norm = mx.gluon.nn.LayerNorm()
    >>> norm.initialize()
    >>> norm(mx.nd.random.uniform(shape=(2, 5))).shape
    (2, 5)"""

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis, self._epsilon = axis, epsilon
        self._add_parameters(in_channels, center, scale, beta_initializer, gamma_initializer)

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:  # noqa: N803
        """data normalized."""
        return F.LayerNorm(data, gamma=gamma, beta=beta, axis=self._axis, eps=self._epsilon)

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v}" for k, v in self._kwargs.items())
        return f"{type(self).__name__}({shown}, in_channels={self.gamma.shape[0]})"


class GroupNorm(_Norm):
    """Normalizes groups of channels of (N, C, ...). Parameters gamma and beta (num_groups,). Wu and He 2018,
    arXiv:1803.08494. Operator GroupNorm.

    Parameters
    ----------
    num_groups : int, default 1
        Number of groups of channels.
    epsilon : float, default 1e-05
        Number that is added to the variance, against division by 0.
    center : bool, default True
        Add a beta that is learnt.
    scale : bool, default True
        Multiply by a gamma that is learnt.
    beta_initializer : Initializer or str, default 'zeros'
        Of the summands.
    gamma_initializer : Initializer or str, default 'ones'
        Of the factors.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.GroupNorm(num_groups=2)
    >>> layer.initialize()
    >>> layer(mx.nd.array([[[1, 3], [10, 30]]])).asnumpy().round(2)
    array([[[-1.,  1.],
            [-1.,  1.]]], dtype=float32)
    """

    def __init__(
        self,
        num_groups: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        prefix: str | None = None,
        params: Any = None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "num_groups": num_groups, "center": center, "scale": scale}
        self._num_groups, self._epsilon = num_groups, epsilon
        self._add_parameters(num_groups, center, scale, beta_initializer, gamma_initializer)

    def hybrid_forward(self, F: Any, data: Any, gamma: Any, beta: Any) -> Any:  # noqa: N803
        """data normalized."""
        return F.GroupNorm(data, gamma=gamma, beta=beta, num_groups=self._num_groups, eps=self._epsilon)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in self._kwargs.items())})"


class Embedding(HybridBlock):
    """Rows of a table: whole numbers of any shape (...) -> (..., output_dim). Operator Embedding.

    Parameter: weight (input_dim, output_dim); with sparse_grad its gradient is row_sparse.

    Parameters
    ----------
    input_dim : int
        Number of rows: how many different positions there are.
    output_dim : int
        Numbers in each row.
    dtype : str or dtype, default 'float32'
        Dtype of the parameters.
    weight_initializer : Initializer, str or None, default None
        Initializer, or its name; None: the one given to ``initialize``.
    sparse_grad : bool, default False
        Store the gradient as row_sparse.

    Examples
    --------
    >>> from gluonnx import mx
    >>> words = mx.gluon.nn.Embedding(100, 8)
    >>> words.initialize()
    >>> words(mx.nd.array([[3, 14], [15, 92]])).shape
    (2, 2, 8)"""

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: Any = "float32",
        weight_initializer: Any = None,
        sparse_grad: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self._input_dim, self._output_dim = input_dim, output_dim
        self._kwargs = {
            "input_dim": input_dim, "output_dim": output_dim, "dtype": dtype, "sparse_grad": sparse_grad,
        }  # fmt: skip
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            allow_deferred_init=True,
            grad_stype="row_sparse" if sparse_grad else "default",
        )

    def hybrid_forward(self, F: Any, x: Any, weight: Any) -> Any:  # noqa: N803
        """The rows that x asks for."""
        return F.Embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._input_dim} -> {self._output_dim}, {self._kwargs['dtype']})"


class Flatten(HybridBlock):
    """(N, a, b, ...) -> (N, a*b*...). Operator Flatten.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.nn.Flatten()(mx.nd.ones((2, 3, 4))).shape
    (2, 12)
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """x as a matrix."""
        return F.Flatten(x)

    def __repr__(self) -> str:
        return type(self).__name__


def _find(functions: Any, name: str) -> Any:
    """The function of that name, None where there is none."""
    try:
        return named(functions, name)
    except AttributeError:
        return None


class Lambda(Block):
    """A function of arrays as a block: one of ``nd``, by name, or any callable.

    Raises AssertionError for a name that nd has not, ValueError for what cannot be called.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.Lambda(lambda x: 2 * x)
    >>> layer(mx.nd.array([1, 2])).asnumpy()
    array([2., 4.], dtype=float32)
    >>> mx.gluon.nn.Lambda("relu")(mx.nd.array([-1, 2])).asnumpy()
    array([0., 2.], dtype=float32)
    """

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None):
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            self._func_impl: Any = _find(ARRAYS if is_np_array() else ndarray, function)
            if self._func_impl is None:
                raise AssertionError(f"Function name {function} is not found in ndarray.")
        elif callable(function):
            self._func_impl = function
        else:
            raise ValueError(f"Unrecognized function in lambda: {function} of type {type(function)}")
        self._func_name = function if isinstance(function, str) else function.__name__

    def forward(self, *args: Any) -> Any:
        """Call the function with the arguments."""
        return self._func_impl(*args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"


class HybridLambda(HybridBlock):
    """A function as a hybrid block: one that ``nd`` and ``sym`` both have, by name, or a callable that takes F first.

    Raises AssertionError for a name that nd or sym has not, ValueError for what cannot be called.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.HybridLambda(lambda F, x: F.relu(2 * x))
    >>> layer(mx.nd.array([-1, 2])).asnumpy()
    array([0., 4.], dtype=float32)
    """

    def __init__(self, function: str | Callable[..., Any], prefix: str | None = None):
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            both = (ARRAYS, SYMBOLS) if is_np_array() else (ndarray, symbol)
            if not all(callable(_find(functions, function)) for functions in both):
                raise AssertionError(f"Function name {function} is not found in symbol/ndarray.")
            self._func: Any = lambda F, *args: named(F, function)(*args)  # noqa: N803
        elif callable(function):
            self._func = function
        else:
            raise ValueError(f"Unrecognized function in lambda: {function} of type {type(function)}")
        self._func_name = function if isinstance(function, str) else function.__name__

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:  # noqa: N803
        """Call the function with the arguments."""
        return self._func(F, x, *args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._func_name})"
