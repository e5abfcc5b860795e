"""Initializers: what parameters hold before training. ``mx.initializer``, also ``mx.init``.

An initializer is called with a descriptor (a name with attributes) and an array. An ``__init__`` attribute names the
initializer that a variable wants for itself; else the end of the name decides: weights are what classes here define,
biases and betas are 0, gammas 1.
"""

from __future__ import annotations

import json
import logging
import math
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import ndarray, registry
from .core.op import lookup
from .eager.array import NDArray


class InitDesc(str):
    """The name of a variable, with its attributes and the initializer to fall back on.

    Parameters
    ----------
    name : str
        The name.
    attrs : dict of str to str or None, default None
        Attributes; ``__init__`` names an initializer of its own.
    global_init : Initializer or None, default None
        Initializer where there is no own one.

    Examples
    --------
    >>> from gluonnx import mx
    >>> weight = mx.nd.zeros(2)
    >>> mx.init.One()(mx.init.InitDesc("top_weight"), weight)
    >>> weight.asnumpy()
    array([1., 1.], dtype=float32)
    """

    attrs: dict[str, str]
    global_init: Any

    def __new__(cls, name: str, attrs: dict[str, str] | None = None, global_init: Any = None) -> InitDesc:
        made = super().__new__(cls, name)
        made.attrs = attrs or {}
        made.global_init = global_init
        return made


def root_mean_square(array: NDArray) -> NDArray:
    """The root of the mean of the squares of all elements of an array, (1,): how large the numbers of a parameter are."""
    return ndarray.norm(array) / math.sqrt(array.size)


def _size_of(array: NDArray) -> str:
    """Text that verbose initializers print of an array: its root mean square."""
    return str(root_mean_square(array).asscalar())


_BY_NAME = (
    ("weight", "_init_weight"),
    ("bias", "_init_bias"),
    ("gamma", "_init_gamma"),
    ("beta", "_init_beta"),
    ("min", "_init_zero"),
    ("max", "_init_one"),
    ("weight_quantize", "_init_quantized_weight"),
    ("bias_quantize", "_init_quantized_bias"),
)
"""Ends of names and the methods that they mean."""

_BY_PLAIN_NAME = (
    ("bias", "_init_bias"),
    ("gamma", "_init_gamma"),
    ("beta", "_init_beta"),
    ("weight", "_init_weight"),
    ("moving_mean", "_init_zero"),
    ("moving_var", "_init_one"),
    ("moving_inv_var", "_init_zero"),
    ("moving_avg", "_init_zero"),
    ("min", "_init_zero"),
    ("max", "_init_one"),
)
"""The same for names that are plain texts, as programs before InitDesc gave them."""


class Initializer:
    """Base class. Subclasses define ``_init_weight(desc, array)``, which writes to the array.

    Keyword arguments are what ``dumps`` writes, so that ``create`` can make the same initializer again.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Ramp(mx.init.Initializer):
    ...     def _init_weight(self, name, array):
    ...         array[:] = mx.nd.arange(array.size).reshape(array.shape)
    >>> net = mx.gluon.nn.Dense(2, in_units=2)
    >>> net.initialize(Ramp())
    >>> net.weight.data().asnumpy(), net.bias.data().asnumpy()
    (array([[0., 1.],
           [2., 3.]], dtype=float32), array([0., 0.], dtype=float32))
    """

    def __init__(self, **kwargs: Any):
        self._kwargs = kwargs
        self._verbose = False
        self._print_func: Callable[[NDArray], str] | None = None

    def set_verbosity(self, verbose: bool = False, print_func: Callable[[NDArray], str] | None = None) -> Initializer:
        """Log, with verbose, every array that is initialized, and what print_func makes of it (by default its root mean square).

        Examples
        --------
        >>> from gluonnx import mx
        >>> initializer = mx.init.One()
        >>> initializer.set_verbosity(True) is initializer
        True
        """
        self._verbose = verbose
        self._print_func = print_func or _size_of
        return self

    def _verbose_print(self, desc: str, init: str, array: NDArray) -> None:
        if self._verbose and self._print_func:
            logging.info("Initialized %s as %s: %s", desc, init, self._print_func(array))

    def dumps(self) -> str:
        """The initializer as JSON, ``["normal", {"sigma": 0.01}]``; ``create`` reads it.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.init.Xavier(magnitude=2).dumps()
        '["xavier", {"rnd_type": "uniform", "factor_type": "avg", "magnitude": 2}]'
        """
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, desc: Any, arr: NDArray) -> None:
        """Initialize an array. Raises ValueError for a name that says nothing."""
        if not isinstance(desc, InitDesc):
            self._legacy_init(desc, arr)
            return
        if desc.global_init is None:
            desc.global_init = self
        own = desc.attrs.get("__init__", "")
        if own:
            create(own)._init_weight(desc, arr)
            self._verbose_print(desc, own, arr)
            return
        for end, method in _BY_NAME:
            if desc.endswith(end):
                getattr(self, method)(desc, arr)
                self._verbose_print(desc, end, arr)
                return
        self._init_default(desc, arr)

    def _legacy_init(self, name: Any, arr: Any) -> None:
        """Initialize by a plain text for a name."""
        warnings.warn(
            "Calling initializer with init(str, NDArray) has been deprecated."
            "please use init(mx.init.InitDesc(...), NDArray) instead.",
            DeprecationWarning,
            stacklevel=3,
        )
        if not isinstance(name, str):
            raise TypeError("name must be string")
        if not isinstance(arr, NDArray):
            raise TypeError("arr must be NDArray")
        if name.startswith("upsampling"):
            self._init_bilinear(name, arr)
        elif name.startswith("stn_loc") and name.endswith("weight"):
            self._init_zero(name, arr)
        elif name.startswith("stn_loc") and name.endswith("bias"):
            self._init_loc_bias(name, arr)
        else:
            method = next((m for end, m in _BY_PLAIN_NAME if name.endswith(end)), "_init_default")
            getattr(self, method)(name, arr)

    def _init_bilinear(self, name: Any, arr: NDArray) -> None:
        """The weights of bilinear interpolation, for every pair of channels."""
        height, width = arr.shape[2], arr.shape[3]
        half = np.ceil(width / 2.0)
        centre = (2 * half - 1 - half % 2) / (2.0 * half)
        rows, columns = (1 - np.abs(np.arange(n) / half - centre) for n in (height, width))
        arr[:] = np.broadcast_to(np.outer(rows, columns).astype(np.float32), arr.shape)

    def _init_loc_bias(self, name: Any, arr: NDArray) -> None:
        """The identity, for a spatial transformer. Raises AssertionError for other than 6 numbers."""
        if arr.shape[0] != 6:
            raise AssertionError(f"{name}: got shape {arr.shape}, wanted 6 numbers, those of an affine transformation")
        arr[:] = np.array([1.0, 0, 0, 0, 1.0, 0])

    def _init_zero(self, name: Any, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_one(self, name: Any, arr: NDArray) -> None:
        arr[:] = 1.0

    def _init_bias(self, name: Any, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_quantized_bias(self, name: Any, arr: NDArray) -> None:
        arr[:] = 0

    def _init_gamma(self, name: Any, arr: NDArray) -> None:
        arr[:] = 1.0

    def _init_beta(self, name: Any, arr: NDArray) -> None:
        arr[:] = 0.0

    def _init_weight(self, name: Any, arr: NDArray) -> None:
        raise NotImplementedError("Must override it")

    def _init_quantized_weight(self, name: Any, arr: NDArray) -> None:
        """One whole number everywhere, drawn from -127 to 126, as MXNet does."""
        arr[:] = ndarray.random.randint(-127, 127, dtype="int32").asscalar()

    def _init_default(self, name: Any, arr: NDArray) -> None:
        raise ValueError(
            f"Unknown initialization pattern for {name}. Default initialization is now limited to "
            '"weight", "bias", "gamma" (1.0), and "beta" (0.0).'
            "Please use mx.sym.Variable(init=mx.init.*) to set initialization pattern"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Initializer):
            return NotImplemented
        return type(self) is type(other) and self._kwargs == other._kwargs

    __hash__ = None  # type: ignore[assignment]  # they compare by what they hold, which may change


register = registry.get_register_func(Initializer, "initializer")
alias = registry.get_alias_func(Initializer, "initializer")
create = registry.get_create_func(Initializer, "initializer")
register.__doc__ = f"""{register.__doc__}

Examples
--------
>>> from gluonnx import mx
>>> @mx.init.register
... class Halves(mx.init.Initializer):
...     def _init_weight(self, name, arr):
...         arr[:] = 0.5
>>> net = mx.gluon.nn.Dense(1, in_units=2, weight_initializer="halves")
>>> net.initialize()
>>> net.weight.data().asnumpy()
array([[0.5, 0.5]], dtype=float32)
"""
alias.__doc__ = f"""{alias.__doc__}

Examples
--------
>>> from gluonnx import mx
>>> @mx.init.alias("twos", "2")
... class Twos(mx.init.Constant):
...     def __init__(self):
...         super().__init__(2)
>>> type(mx.init.create("twos")).__name__
'Twos'
"""
create.__doc__ = f"""{create.__doc__}

Examples
--------
>>> from gluonnx import mx
>>> mx.init.create("uniform", scale=0.1).scale
0.1
>>> mx.init.create('["constant", {{"value": 2}}]').value
2
"""


class Load:
    """Takes arrays from a file or a dict by name (``arg:`` and ``aux:`` dropped), and default_init for the others.

    Raises AssertionError for a file of arrays without names, and for what is no dict.

    Parameters
    ----------
    param : dict or str
        Arrays by name, or the file that has them.
    verbose : bool, default False
        Say of each parameter where it comes from.

    Examples
    --------
    >>> from gluonnx import mx
    >>> weight = mx.nd.zeros(2)
    >>> mx.init.Load({"top_weight": mx.nd.array([3, 4])})(mx.init.InitDesc("top_weight"), weight)
    >>> weight.asnumpy()
    array([3., 4.], dtype=float32)
    """

    def __init__(self, param: Any, default_init: Any = None, verbose: bool = False):
        if isinstance(param, str):
            param = ndarray.load(param)
        if not isinstance(param, dict):
            raise AssertionError(f"Load: got a {type(param).__name__}, wanted a dict of arrays or a file of named ones")
        self.param = {k[4:] if k.startswith(("arg:", "aux:")) else k: v for k, v in param.items()}
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: NDArray) -> None:
        """Initialize an array. Raises AssertionError for another shape, and for unknown names without default_init."""
        if name in self.param:
            loaded = self.param[name]
            if arr.shape != loaded.shape:
                raise AssertionError(
                    f"Parameter {name} cannot be initialized from loading. "
                    f"Shape mismatch, target {arr.shape} vs loaded {loaded.shape}"
                )
            arr.as_nd_ndarray()[:] = loaded
        else:
            if self.default_init is None:
                raise AssertionError(
                    f"Cannot Initialize {name}. Not found in loaded param and no default Initializer is provided."
                )
            self.default_init(name, arr)
        if self.verbose:
            logging.info("Initialized %s by %s", name, "loading" if name in self.param else "default")


class Mixed:
    """One initializer for each of several patterns: the first whose regular expression begins the name is taken.

    Raises AssertionError unless there are as many patterns as initializers.

    Parameters
    ----------
    initializers : list of Initializer
        One for each pattern.

    Examples
    --------
    >>> from gluonnx import mx
    >>> initializer = mx.init.Mixed([".*bias", ".*"], [mx.init.Zero(), mx.init.One()])
    >>> weight = mx.nd.zeros(2)
    >>> initializer(mx.init.InitDesc("top_weight"), weight)
    >>> weight.asnumpy()
    array([1., 1.], dtype=float32)
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Any]):
        if len(patterns) != len(initializers):
            raise AssertionError(f"Mixed: got {len(patterns)} patterns and {len(initializers)} initializers")
        self.map = [(re.compile(p), i) for p, i in zip(patterns, initializers)]

    def __call__(self, name: str, arr: NDArray) -> None:
        """Initialize an array. Raises ValueError when no pattern fits."""
        for pattern, init in self.map:
            if pattern.match(name):
                init(name, arr)
                return
        raise ValueError(
            f'Parameter name {name} did not match any pattern. Consider adding a ".*" pattern at the end with a default '
            "Initializer."
        )


@alias("zeros")
@register
class Zero(Initializer):
    """Zeros.

    Examples
    --------
    >>> from gluonnx import mx
    >>> weight = mx.nd.array([1, 2])
    >>> mx.init.Zero()(mx.init.InitDesc("top_weight"), weight)
    >>> weight.asnumpy()
    array([0., 0.], dtype=float32)
    """

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: Any, arr: NDArray) -> None:
        arr[:] = 0


@alias("ones")
@register
class One(Initializer):
    """Ones.

    Examples
    --------
    >>> from gluonnx import mx
    >>> weight = mx.nd.zeros(2)
    >>> mx.init.One()(mx.init.InitDesc("top_weight"), weight)
    >>> weight.asnumpy()
    array([1., 1.], dtype=float32)
    """

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: Any, arr: NDArray) -> None:
        arr[:] = 1


@register
class Constant(Initializer):
    """A number, or an array of values of the parameter's shape.

    Parameters
    ----------
    value : float or array
        The number, or the numbers, in every place.

    Examples
    --------
    >>> from gluonnx import mx
    >>> weight = mx.nd.zeros(2)
    >>> mx.init.Constant(3)(mx.init.InitDesc("top_weight"), weight)
    >>> weight.asnumpy()
    array([3., 3.], dtype=float32)
    """

    def __init__(self, value: Any):
        super().__init__(value=value)
        self.value = value

    def _init_weight(self, name: Any, arr: NDArray) -> None:
        arr.as_nd_ndarray()[:] = self.value

    def dumps(self) -> str:
        """As JSON; arrays become lists."""
        value = self._kwargs["value"]
        if isinstance(value, NDArray | np.ndarray | np.generic):
            self._kwargs["value"] = np.asarray(value.asnumpy() if isinstance(value, NDArray) else value).tolist()
        return super().dumps()


@register
class Uniform(Initializer):
    """Uniformly from -scale to scale.

    Examples
    --------
    >>> from gluonnx import mx
    >>> weight = mx.nd.zeros(1000)
    >>> mx.init.Uniform(0.1)(mx.init.InitDesc("top_weight"), weight)
    >>> bool(0.09 < abs(weight).max().asscalar() <= 0.1)
    True
    """

    def __init__(self, scale: float = 0.07):
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name: Any, arr: NDArray) -> None:
        ndarray.random.uniform(-self.scale, self.scale, arr.shape, out=arr.as_nd_ndarray())


@register
class Normal(Initializer):
    """Normally distributed around 0, with standard deviation sigma.

    Examples
    --------
    >>> from gluonnx import mx
    >>> weight = mx.nd.zeros(10000)
    >>> mx.init.Normal(2)(mx.init.InitDesc("top_weight"), weight)
    >>> bool(1.9 < weight.asnumpy().std() < 2.1)
    True
    """

    def __init__(self, sigma: float = 0.01):
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, name: Any, arr: NDArray) -> None:
        ndarray.random.normal(0, self.sigma, arr.shape, out=arr.as_nd_ndarray())


@register
class Orthogonal(Initializer):
    """Orthogonal rows (or columns, when there are more rows) of length scale. Source: Saxe et al., arXiv 1312.6120.

    Parameters
    ----------
    scale : float, default 1.414
        Length of the rows, or of the columns.
    rand_type : str, default 'uniform'
        uniform, or normal.

    Examples
    --------
    >>> from gluonnx import mx
    >>> weight = mx.nd.zeros((2, 3))
    >>> mx.init.Orthogonal(scale=1)(mx.init.InitDesc("top_weight"), weight)
    >>> abs(mx.nd.dot(weight, weight.T) - mx.nd.eye(2)).max().asscalar().item() < 1e-5
    True
    """

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform"):
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale = scale
        self.rand_type = rand_type

    def _init_weight(self, name: Any, arr: NDArray) -> None:
        shape = (arr.shape[0], math.prod(arr.shape[1:]))
        if self.rand_type == "uniform":
            drawn = ndarray.random.uniform(-1.0, 1.0, shape).asnumpy()
        elif self.rand_type == "normal":
            drawn = ndarray.random.normal(0.0, 1.0, shape).asnumpy()
        else:
            raise ValueError(f"Unknown random type {self.rand_type!r}, wanted 'uniform' or 'normal'")
        left, _, right = np.linalg.svd(drawn, full_matrices=False)
        arr[:] = self.scale * (left if left.shape == shape else right).reshape(arr.shape)


@register
class Xavier(Initializer):
    """Random numbers that keep the size of gradients about the same in all layers. Source: Glorot and Bengio 2010.

    They are uniform within, or (rnd_type="gaussian") normal with standard deviation, sqrt(magnitude / n), where n is how
    many numbers go into each output ("in"), how many each input goes to ("out"), or the mean of both ("avg").

    Parameters
    ----------
    factor_type : str, default 'avg'
        Number of elements to reckon with: in (inputs), out (outputs), avg (their mean).

    Examples
    --------
    >>> from gluonnx import mx
    >>> weight = mx.nd.zeros((100, 200))
    >>> mx.init.Xavier()(mx.init.InitDesc("top_weight"), weight)
    >>> bound = (3 / ((100 + 200) / 2)) ** 0.5
    >>> bool(0.99 * bound < abs(weight).max().asscalar() < 1.001 * bound)
    True
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3):
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name: Any, arr: NDArray) -> None:
        shape = arr.shape
        if len(shape) < 2:
            raise ValueError(
                f"Xavier initializer cannot be applied to vector {name}. It requires at least 2D. Where a symbol made the "
                f"parameter, nothing says how it begins; say it first: params[{str(name)!r}].init = mx.init.Zero()"
            )
        area = math.prod(shape[2:])
        fan_in, fan_out = shape[1] * area, shape[0] * area
        factors = {"avg": (fan_in + fan_out) / 2.0, "in": fan_in, "out": fan_out}
        if self.factor_type not in factors:
            raise ValueError("Incorrect factor type")
        scale = math.sqrt(self.magnitude / factors[self.factor_type])
        if self.rnd_type == "uniform":
            ndarray.random.uniform(-scale, scale, shape, out=arr.as_nd_ndarray())
        elif self.rnd_type == "gaussian":
            ndarray.random.normal(0, scale, shape, out=arr.as_nd_ndarray())
        else:
            raise ValueError("Unknown random type")


@register
class MSRAPrelu(Xavier):
    """Xavier's normal numbers of magnitude 2 / (1 + slope^2), for PReLU units of that slope. Source: He et al. 2015.

    Parameters
    ----------
    factor_type : str, default 'avg'
        Number of elements to reckon with: in (inputs), out (outputs), avg (their mean).

    Examples
    --------
    >>> from gluonnx import mx
    >>> weight = mx.nd.zeros((100, 200))
    >>> mx.init.MSRAPrelu(slope=0)(mx.init.InitDesc("top_weight"), weight)
    >>> deviation = (2 / ((100 + 200) / 2)) ** 0.5
    >>> bool(0.95 < weight.asnumpy().std() / deviation < 1.05)
    True
    """

    def __init__(self, factor_type: str = "avg", slope: float = 0.25):
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Bilinear(Initializer):
    """The weights of bilinear interpolation, for a Deconvolution that enlarges.

    Examples
    --------
    >>> from gluonnx import mx
    >>> weight = mx.nd.zeros((1, 1, 4, 4))
    >>> mx.init.Bilinear()(mx.init.InitDesc("up_weight"), weight)
    >>> weight[0, 0, 0].asnumpy()
    array([0.0625, 0.1875, 0.1875, 0.0625], dtype=float32)
    """

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: Any, arr: NDArray) -> None:
        self._init_bilinear(name, arr)


@register
class LSTMBias(Initializer):
    """Zeros, with forget_bias for the forget gates, the second quarter.

    Examples
    --------
    >>> from gluonnx import mx
    >>> bias = mx.nd.zeros(8)
    >>> mx.init.LSTMBias(forget_bias=1)(mx.init.InitDesc("lstm_weight"), bias)
    >>> bias.asnumpy()
    array([0., 0., 1., 1., 0., 0., 0., 0.], dtype=float32)
    """

    def __init__(self, forget_bias: float = 1.0):
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: Any, arr: NDArray) -> None:
        arr[:] = 0.0
        quarter = arr.shape[0] // 4
        arr[quarter : 2 * quarter] = self.forget_bias


GATES = {"lstm": ("_i", "_f", "_c", "_o"), "gru": ("_r", "_z", "_o"), "rnn_tanh": ("",), "rnn_relu": ("",)}


@register
class FusedRNN(Initializer):
    """Initializes the packed parameters of a fused RNN, gate by gate, by init (None: the initializer called first).

    Forget gates of an LSTM get forget_bias. The other arguments are those of the network.

    Parameters
    ----------
    init : Initializer, str or None
        How it begins; None: as ``initialize`` says.
    num_hidden : int
        Number of units of a layer.
    num_layers : int
        Number of layers on top of each other.
    mode : str
        Kind of cell: rnn_relu, rnn_tanh, lstm, gru.
    bidirectional : bool, default False
        Run backwards too, and join both.

    Examples
    --------
    >>> from gluonnx import mx
    >>> initializer = mx.init.FusedRNN(mx.init.One(), num_hidden=2, num_layers=1, mode="lstm")
    >>> weight = mx.nd.zeros(8 * 3 + 8 * 2 + 2 * 8)
    >>> initializer(mx.init.InitDesc("lstm_weight"), weight)
    >>> weight[-16:].asnumpy()  # biases, with 1 for the forget gates
    array([0., 0., 1., 1., 0., 0., 0., 0., 0., 0., 1., 1., 0., 0., 0., 0.],
          dtype=float32)
    """

    def __init__(
        self,
        init: Any,
        num_hidden: int,
        num_layers: int,
        mode: str,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ):
        if isinstance(init, str):
            init = create(init)
        super().__init__(
            init=None if init is None else init.dumps(),
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._init = init
        self._rnn = lookup("RNN").bind(
            state_size=num_hidden, num_layers=num_layers, mode=mode, bidirectional=bidirectional
        )
        self._gates = GATES[mode]
        self._forget_bias = forget_bias

    def _init_weight(self, desc: Any, arr: NDArray) -> None:
        rnn: Any = self._rnn
        none, one = rnn.parameter_count(0), rnn.parameter_count(1)
        features, rest = divmod(arr.size - none, one - none)
        if rest or features < 1:
            raise ValueError(f"{desc}: got {arr.size} packed parameters, which fit no input of a {rnn}")
        packed = arr.asnumpy()
        for layer, directions in enumerate(rnn.cells(features)):
            for letter, cell in zip("lr", directions):
                prefix = f"{letter}{layer}"
                weights = (("i2h", "weight", cell.i2h), ("h2h", "weight", cell.h2h))
                biases = (("i2h", "bias", cell.i2h_bias), ("h2h", "bias", cell.h2h_bias))
                for source, kind, (offset, shape) in (*weights, *biases):
                    self._fill(
                        desc, packed[offset : offset + math.prod(shape)].reshape(shape), f"{prefix}_{source}", kind
                    )
        arr[:] = packed

    def _fill(self, desc: Any, part: np.ndarray, prefix: str, kind: str) -> None:
        """Initialize what all gates have of one array, whose rows they share."""
        for gate, values in zip(self._gates, np.split(part, len(self._gates))):
            if gate == "_f" and kind == "bias":
                values[...] = self._forget_bias
                continue
            array = ndarray.array(values, dtype=values.dtype)
            init = desc.global_init if self._init is None else self._init
            init(InitDesc(f"{prefix}{gate}_{kind}", global_init=desc.global_init), array)
            values[...] = array.asnumpy()
