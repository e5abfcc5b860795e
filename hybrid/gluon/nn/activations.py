"""Element-wise activations as layers. Each takes an array of any shape and gives one of the same shape."""

from __future__ import annotations

from typing import Any

from ... import initializer
from ..block import HybridBlock

__all__ = ["ELU", "GELU", "SELU", "Activation", "LeakyReLU", "PReLU", "Swish"]


_QUARTER = initializer.Constant(0.25)


class Activation(HybridBlock):
    """The function that ``activation`` names: relu, sigmoid, tanh, softrelu or softsign. Operator Activation.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.Activation("relu")
    >>> layer(mx.nd.array([-1, 0, 2])).asnumpy().round(3)
    array([0., 0., 2.], dtype=float32)
    """

    def __init__(self, activation: str, **kwargs: Any):
        self._act_type = activation
        super().__init__(**kwargs)

    def _alias(self) -> str:
        return self._act_type

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803  MXNet's name for "nd or sym"
        """The activation of x."""
        return F.Activation(x, act_type=self._act_type, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._act_type})"


class LeakyReLU(HybridBlock):
    """x where it is positive, else alpha times x. Raises AssertionError for a negative alpha. Operator LeakyReLU.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.LeakyReLU(0.1)
    >>> layer(mx.nd.array([-1, 0, 2])).asnumpy().round(3)
    array([-0.1,  0. ,  2. ], dtype=float32)
    """

    def __init__(self, alpha: float, **kwargs: Any):
        if alpha < 0:
            raise AssertionError(f"Slope coefficient for LeakyReLU must be no less than 0, got {alpha}.")
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """The activation of x."""
        return F.LeakyReLU(x, act_type="leaky", slope=self._alpha, name="fwd")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._alpha})"


class PReLU(HybridBlock):
    """LeakyReLU whose slopes are learnt: one for all (in_channels 1), or one for each channel, which is axis 1.

    Parameter: alpha (in_channels,). He et al. 2015, arXiv:1502.01852.

    Parameters
    ----------
    alpha_initializer : Initializer
        Of the slopes.
    in_channels : int, default 1
        Channels of the input; 0: the first input tells.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.PReLU()
    >>> layer.initialize()
    >>> layer(mx.nd.array([[-1, 0, 2]])).asnumpy().round(3)
    array([[-0.25,  0.  ,  2.  ]], dtype=float32)
    """

    def __init__(self, alpha_initializer: Any = _QUARTER, in_channels: int = 1, **kwargs: Any):
        super().__init__(**kwargs)
        with self.name_scope():
            self.alpha = self.params.get("alpha", shape=(in_channels,), init=alpha_initializer)

    def hybrid_forward(self, F: Any, x: Any, alpha: Any) -> Any:  # noqa: N803
        """The activation of x."""
        return F.LeakyReLU(x, gamma=alpha, act_type="prelu", name="fwd")


class ELU(HybridBlock):
    """x where it is positive, else alpha (exp(x) - 1). Clevert et al. 2016, arXiv:1511.07289.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.ELU()
    >>> layer(mx.nd.array([-1, 0, 2])).asnumpy().round(3)
    array([-0.632,  0.   ,  2.   ], dtype=float32)
    """

    def __init__(self, alpha: float = 1.0, **kwargs: Any):
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """The activation of x."""
        return F.LeakyReLU(x, act_type="elu", slope=self._alpha)


class SELU(HybridBlock):
    """ELU with the slope and scale that keep mean 0 and variance 1. Klambauer et al. 2017, arXiv:1706.02515.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.SELU()
    >>> layer(mx.nd.array([-1, 0, 2])).asnumpy().round(3)
    array([-1.111,  0.   ,  2.101], dtype=float32)
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """The activation of x."""
        return F.LeakyReLU(x, act_type="selu", name="fwd")


class GELU(HybridBlock):
    """x times the normal distribution function of x. Hendrycks and Gimpel 2016, arXiv:1606.08415.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.GELU()
    >>> layer(mx.nd.array([-1, 0, 2])).asnumpy().round(3)
    array([-0.159,  0.   ,  1.954], dtype=float32)
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """The activation of x."""
        return F.LeakyReLU(x, act_type="gelu", name="fwd")


class Swish(HybridBlock):
    """x sigmoid(beta x). Ramachandran et al. 2017, arXiv:1710.05941.

    Examples
    --------
    >>> from gluonnx import mx
    >>> layer = mx.gluon.nn.Swish()
    >>> layer(mx.nd.array([-1, 0, 2])).asnumpy().round(3)
    array([-0.269,  0.   ,  1.762], dtype=float32)
    """

    def __init__(self, beta: float = 1.0, **kwargs: Any):
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        """The activation of x."""
        return x * F.sigmoid(self._beta * x, name="fwd")
