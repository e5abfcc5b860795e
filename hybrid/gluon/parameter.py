"""Parameters of blocks, and sets of them: MXNet's module of that name."""

from ..ndarray import NDArray
from ..symbol import Symbol
from .base_parameter import Constant, DeferredInitializationError, Parameter, ParameterError
from .parameter_dict import ParameterDict

__all__ = ["Constant", "DeferredInitializationError", "Parameter", "ParameterDict", "ParameterError", "tensor_types"]

tensor_types = (Symbol, NDArray)
