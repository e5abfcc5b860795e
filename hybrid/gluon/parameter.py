"""Parameters of blocks: named arrays that are loaded from and saved to files."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any

import numpy as np

from .. import symbol
from ..attrs import dtype as read_dtype
from ..context import Context, resolve
from ..error import MXNetError
from ..ndarray import NDArray, load, save
from ..shapes import show


class ParameterError(MXNetError, AssertionError, ValueError):
    """Parameters and a network that do not fit together; says everything that does not."""


class DeferredInitializationError(MXNetError):
    """A parameter was read before its shape was known."""


class Parameter:
    """A named array of a block. Its shape may hold 0 for what is not known, or be None.

    Raises ParameterError when it is given an array of another shape."""

    def __init__(
        self,
        name: str,
        grad_req: str = "write",
        shape: Any = None,
        dtype: Any = np.float32,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: Any = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ):
        self.name = name
        self.grad_req = grad_req if differentiable else "null"
        self._shape = (shape,) if isinstance(shape, int) else None if shape is None else tuple(shape)
        self.dtype = dtype
        self.lr_mult, self.wd_mult, self.init = lr_mult, wd_mult, init
        self.allow_deferred_init = allow_deferred_init
        self._array: NDArray | None = None

    def __repr__(self) -> str:
        return f"Parameter {self.name} (shape={self.shape}, dtype={self.dtype})"

    @property
    def shape(self) -> tuple[int, ...] | None:
        return self._shape

    @shape.setter
    def shape(self, new: tuple[int, ...]) -> None:
        if not self.accepts(new):
            raise ParameterError(
                f"Parameter {self.name}: expected shape {new} is incompatible with given shape {self._shape}."
            )
        self._shape = tuple(new)

    def accepts(self, shape: tuple[int, ...]) -> bool:
        """Whether an array of that shape fits what is known of this parameter's."""
        if self._shape is None:
            return True
        return len(self._shape) == len(shape) and all(own in (0, -1, given) for own, given in zip(self._shape, shape))

    def data(self, ctx: Context | None = None) -> NDArray:
        """The array; writing into it changes the parameter."""
        if self._array is None:
            raise MXNetError(
                f"Parameter '{self.name}' has not been initialized; load the network's parameters or set_data before using it"
            )
        return self._array

    def list_data(self) -> list[NDArray]:
        return [self.data()]

    def list_ctx(self) -> list[Context]:
        return [self.data().context]

    def set_data(self, data: Any) -> None:
        """Give the parameter its values."""
        array = data if isinstance(data, NDArray) else NDArray(data)
        self.shape = array.shape
        if self._array is None or self._array.shape != array.shape:
            self._array = array.copy().astype(self.dtype, copy=False)
        else:
            self._array[:] = array

    def adopt(self, array: NDArray, ctx: Context | None = None) -> None:
        """Make an array from a file the parameter's own, in its dtype too."""
        self.shape = array.shape
        self.dtype = array.dtype
        self._array = array.tostype("default").as_in_context(resolve(ctx))

    def cast(self, dtype: Any) -> None:
        self.dtype = read_dtype(dtype)
        if self._array is not None:
            self._array = self._array.astype(dtype)

    def reset_ctx(self, ctx: Any) -> None:
        """Move the array to a device (the first of several)."""
        self._array = self.data().as_in_context(resolve(ctx[0] if isinstance(ctx, list | tuple) else ctx))

    def var(self) -> symbol.Symbol:
        """The variable that stands for the parameter in symbols."""
        return symbol.var(self.name, shape=self.shape, dtype=self.dtype, lr_mult=self.lr_mult, wd_mult=self.wd_mult)


class ParameterDict:
    """Parameters by name, in order. Names made by ``get`` start with the prefix."""

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None):
        self._prefix, self._shared = prefix, shared
        self._params: dict[str, Parameter] = {}

    def __repr__(self) -> str:
        lines = "\n".join(f"  {p!r}" for p in self.values())
        return f"{self._prefix + ' ' if self._prefix else ''}(\n{lines}\n)"

    def __getitem__(self, key: str) -> Parameter:
        return self._params[key]

    def __contains__(self, key: object) -> bool:
        return key in self._params

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def keys(self) -> KeysView[str]:
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        return self._params.values()

    def items(self) -> ItemsView[str, Parameter]:
        return self._params.items()

    @property
    def prefix(self) -> str:
        return self._prefix

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """The parameter ``prefix + name``, made if there is none."""
        full = self._prefix + name
        if full not in self._params:
            shared = self._shared._params.get(full) if self._shared is not None else None
            self._params[full] = shared or Parameter(full, **kwargs)
        return self._params[full]

    def update(self, other: ParameterDict) -> None:
        """Take over all parameters of another. Raises ParameterError when a name stands for two different ones."""
        double = [n for n, p in other.items() if self._params.get(n, p) is not p]
        if double:
            raise ParameterError(f"two different parameters are called {', '.join(double)}")
        self._params.update(other.items())

    def add(self, parameter: Parameter) -> None:
        self._params[parameter.name] = parameter

    def save(self, filename: Any, strip_prefix: str = "") -> None:
        """Write all parameters to a file, names without the prefix."""
        wrong = [n for n in self if not n.startswith(strip_prefix)]
        if wrong:
            raise ParameterError(f"strip_prefix={strip_prefix!r}, but {', '.join(wrong)} do not start with it")
        save(filename, {n[len(strip_prefix) :]: p.data() for n, p in self.items()})

    def load(
        self,
        filename: Any,
        ctx: Context | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """load_dict from a file."""
        loaded = load(filename)
        if loaded and not isinstance(loaded, dict):
            raise ParameterError(
                f"{filename}: got a list of {len(loaded)} arrays without names, wanted named parameters"
            )
        self.load_dict(
            dict(loaded), ctx, allow_missing, ignore_extra, restore_prefix, str(filename), cast_dtype, dtype_source
        )

    def load_dict(
        self,
        param_dict: Mapping[str, NDArray],
        ctx: Context | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        filename: str | None = None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Give the parameters values by name; ``arg:`` and ``aux:`` in front of names are ignored.

        With cast_dtype and dtype_source "current" values are converted to the dtypes the parameters have. Raises
        ParameterError listing every parameter that is missing, not wanted, or of a wrong shape; then nothing changed."""
        given = {restore_prefix + n.removeprefix("arg:").removeprefix("aux:"): a for n, a in param_dict.items()}
        problems = []
        missing = [n for n in self if n not in given]
        extra = [n for n in given if n not in self._params]
        wrong = [(n, a) for n, a in given.items() if n in self._params and not self._params[n].accepts(a.shape)]
        source = filename or "the dict"
        if missing and not allow_missing:
            problems.append(
                f"missing in {source}: {', '.join(missing)}; set allow_missing=True to leave them as they are"
            )
        if extra and not ignore_extra:
            problems.append(
                f"in {source} but not in the network: {', '.join(extra)}; set ignore_extra=True to ignore them"
            )
        if wrong:
            differing = ", ".join(f"{n} {show(a.shape)} (wanted {show(self._params[n].shape)})" for n, a in wrong)
            problems.append(f"shapes that do not fit: {differing}")
        if problems:
            raise ParameterError(f"parameters do not fit the network: {'. '.join(problems)}")
        for name, array in given.items():
            if name in self._params:
                parameter = self._params[name]
                convert = cast_dtype and dtype_source == "current"
                parameter.adopt(array.astype(parameter.dtype, copy=False) if convert else array, ctx)
