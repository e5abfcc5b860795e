"""Sets of parameters by name: what a block owns, what all of it needs, and what files hold."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import Any

import numpy as np

from .. import initializer, ndarray
from ..context import Context
from ..core.attrs import dtype as read_dtype
from ..core.shapes import show
from ..ndarray import NDArray
from .base_parameter import Constant, Parameter, ParameterError
from .utils import _indent


class ParameterDict:
    """Parameters by name, in order. Names made by ``get`` start with the prefix.

    Parameters
    ----------
    shared : ParameterDict or None, default None
        Where parameters are looked for before new ones are made.

    Examples
    --------
    >>> from gluonnx import mx
    >>> params = mx.gluon.ParameterDict("net_")
    >>> weight = params.get("weight", shape=(2, 3))
    >>> params.initialize(mx.init.One())
    >>> params.keys(), params["net_weight"] is weight
    (odict_keys(['net_weight']), True)
    """

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None):
        self._prefix, self._shared = prefix, shared
        self._params: OrderedDict[str, Parameter] = OrderedDict()

    def __repr__(self) -> str:
        lines = "\n".join(_indent(f"  {p!r}", 2) for p in self.values())
        return f"{self._prefix + ' ' if self._prefix else ''}(\n{lines}\n)"

    def __getitem__(self, key: str) -> Parameter:
        return self._params[key]

    def __contains__(self, key: object) -> bool:
        return key in self._params

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)

    def __bool__(self) -> bool:
        return True  # as MXNet's, which has no len

    def keys(self) -> KeysView[str]:
        """The full names.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.gluon.nn.Dense(2, prefix="top_").collect_params().keys()
        odict_keys(['top_weight', 'top_bias'])
        """
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        """The parameters.

        Examples
        --------
        >>> from gluonnx import mx
        >>> [p.shape for p in mx.gluon.nn.Dense(2, in_units=3).collect_params().values()]
        [(2, 3), (2,)]
        """
        return self._params.values()

    def items(self) -> ItemsView[str, Parameter]:
        """(full name, parameter), in order.

        Examples
        --------
        >>> from gluonnx import mx
        >>> for name, parameter in mx.gluon.nn.Dense(2, in_units=3, prefix="top_").collect_params().items():
        ...     print(name, parameter.shape)
        top_weight (2, 3)
        top_bias (2,)
        """
        return self._params.items()

    @property
    def prefix(self) -> str:
        """Beginning of the names of parameters made by ``get``.

        Examples
        --------
        >>> from gluonnx import mx
        >>> params = mx.gluon.ParameterDict("top_")
        >>> params.prefix, params.get("weight").name
        ('top_', 'top_weight')
        """
        return self._prefix

    # -- getting and putting ------------------------------------------------------------------------------------------

    def _find(self, full: str) -> Parameter | None:
        """The parameter of that name, taken over from the shared dict if it is there."""
        if full not in self._params and self._shared is not None and full in self._shared._params:
            self._params[full] = self._shared._params[full]
        return self._params.get(full)

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """The parameter ``prefix + name``, made with these properties if there is none.

        One that exists gets those it has not, and dimensions it does not know. Raises ParameterError (an
        AssertionError) for others that differ.

        Examples
        --------
        >>> from gluonnx import mx
        >>> params = mx.gluon.ParameterDict("net_")
        >>> params.get("weight", shape=(2, 3)).name
        'net_weight'
        """
        full = self._prefix + name
        found = self._find(full)
        if found is None:
            self._params[full] = found = Parameter(full, **kwargs)
            return found
        for key, wanted in kwargs.items():
            stored = getattr(found, key, None)
            if stored is None:
                setattr(found, key, wanted)
            elif key == "shape" and (merged := _merge(wanted, stored)) is not None:
                found._shape = merged
            elif key == "dtype" and wanted is not None and read_dtype(wanted) == read_dtype(stored):
                continue
            elif wanted is not None and wanted != stored:
                raise ParameterError(
                    f"Cannot retrieve Parameter '{full}' because desired attribute does not match with stored for "
                    f"attribute '{key}': desired '{wanted}' vs stored '{stored}'."
                )
        return found

    def _put(self, made: Parameter) -> None:
        """Take in a parameter under the name that it has."""
        self._params[made.name] = made

    def get_constant(self, name: str, value: Any = None) -> Parameter:
        """The constant ``prefix + name``, made of the value if there is none.

        Raises KeyError when there is none and no value, ParameterError (an AssertionError) when there is another.

        Examples
        --------
        >>> from gluonnx import mx
        >>> params = mx.gluon.ParameterDict("net_")
        >>> params.get_constant("mean", [0.5]).name
        'net_mean'
        """
        full = self._prefix + name
        found = self._find(full)
        if found is None:
            if value is None:
                raise KeyError(
                    f"No constant named '{full}'. Please specify value if you want to create a new constant."
                )
            self._params[full] = found = Constant(full, value)
        elif value is not None:
            if not isinstance(found, Constant):
                raise ParameterError(f"Parameter '{full}' already exists but it is not a constant.")
            if not np.array_equal(found.value.asnumpy(), np.asarray(value)):
                raise ParameterError(f"Constant '{full}' already exists but it's value doesn't match new value")
        return found

    def update(self, other: Mapping[str, Parameter] | ParameterDict) -> None:
        """Take over all parameters of another dict, other. Raises ParameterError when a name stands for two different ones.

        Examples
        --------
        >>> from gluonnx import mx
        >>> params = mx.gluon.nn.Dense(2, prefix="a_").collect_params()
        >>> params.update(mx.gluon.nn.Dense(2, prefix="b_").collect_params())
        >>> list(params)
        ['a_weight', 'a_bias', 'b_weight', 'b_bias']
        """
        double = [n for n, p in other.items() if self._params.get(n, p) is not p]
        if double:
            raise ParameterError(
                "Cannot update self with other because they have different Parameters with the same name "
                + ", ".join(f"'{n}'" for n in double)
            )
        self._params.update(other.items())

    # -- all of them --------------------------------------------------------------------------------------------------

    def initialize(
        self,
        init: Any = initializer.Uniform(),  # noqa: B008  MXNet's default; it holds no state
        ctx: Any = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Initialize all parameters; those with an initializer of their own use that.

        init: the initializer. ctx: contexts to put them on, one or a list; None: the current one. verbose: print what is
        initialized how. force_reinit: also those that have values, which else stay, with a warning.

        Examples
        --------
        >>> from gluonnx import mx
        >>> params = mx.gluon.nn.Dense(2, in_units=1).collect_params()
        >>> params.initialize(mx.init.One())
        >>> [p.data().asnumpy().tolist() for p in params.values()]
        [[[1.0], [1.0]], [0.0, 0.0]]
        """
        if verbose:
            init.set_verbosity(verbose=verbose)
        for parameter in self.values():
            parameter.initialize(None, ctx, init, force_reinit=force_reinit)

    def zero_grad(self) -> None:
        """Set all gradients to 0.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2)
        >>> net.collect_params().setattr("grad_req", "add")
        >>> net.initialize()
        >>> with mx.autograd.record():
        ...     y = net(mx.nd.ones((1, 3))).sum()
        >>> y.backward()
        >>> net.collect_params().zero_grad()
        >>> net.bias.grad().asnumpy()
        array([0., 0.], dtype=float32)
        """
        for parameter in self.values():
            parameter.zero_grad()

    def reset_ctx(self, ctx: Any) -> None:
        """Move all parameters to other contexts, ctx: one or a list.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.initialize()
        >>> net.collect_params().reset_ctx(mx.cpu(1))
        >>> net.weight.list_ctx()
        [cpu(1)]
        """
        for parameter in self.values():
            parameter.reset_ctx(ctx)

    def list_ctx(self) -> list[Context]:
        """All contexts that any parameter is on.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.initialize(ctx=mx.cpu(1))
        >>> net.collect_params().list_ctx()
        [cpu(1)]
        """
        return list({ctx for parameter in self.values() for ctx in parameter.list_ctx()})

    def setattr(self, name: str, value: Any) -> None:
        """Set an attribute (name) of all parameters to a value: ``setattr("grad_req", "null")``.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2)
        >>> net.collect_params().setattr("grad_req", "null")
        >>> net.weight.grad_req
        'null'
        """
        for parameter in self.values():
            setattr(parameter, name, value)

    # -- files --------------------------------------------------------------------------------------------------------

    def save(self, filename: Any, strip_prefix: str = "") -> None:
        """Write all parameters to a file, filename, names without the prefix strip_prefix. Raises ParameterError where one
        does not start so.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2, in_units=3, prefix="top_")
        >>> net.initialize()
        >>> net.collect_params().save("net.params", strip_prefix="top_")
        >>> list(mx.nd.load("net.params"))
        ['weight', 'bias']
        """
        wrong = [p.name for p in self.values() if not p.name.startswith(strip_prefix)]
        if wrong:
            raise ParameterError(
                f"Prefix '{strip_prefix}' is to be striped before saving, but {', '.join(wrong)} do not start with it; "
                "parameters are shared with another block, or children were made outside of name_scope()"
            )
        ndarray.save(filename, {p.name[len(strip_prefix) :]: p._reduce() for p in self.values()})

    def load(
        self,
        filename: Any,
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """load_dict from a file, filename; ctx, allow_missing, ignore_extra, restore_prefix, cast_dtype and dtype_source as there.

        Raises ParameterError where names do not begin with restore_prefix.

        Raises also where a name does not start with restore_prefix.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2, in_units=1, prefix="top_")
        >>> net.initialize(mx.init.One())
        >>> net.collect_params().save("net.params")
        >>> net.initialize(mx.init.Zero(), force_reinit=True)
        >>> net.collect_params().load("net.params")
        >>> net.weight.data().asnumpy()
        array([[1.],
               [1.]], dtype=float32)
        """
        wrong = [name for name in self.keys() if not name.startswith(restore_prefix)]
        if wrong:
            raise ParameterError(f"restore_prefix is '{restore_prefix}' but {', '.join(wrong)} do not start with it")
        flags = allow_missing, ignore_extra, restore_prefix, filename, cast_dtype, dtype_source
        self._take(read_file(filename), ctx, *flags, adopt=True)

    def load_dict(
        self,
        param_dict: Mapping[str, NDArray],
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        filename: Any = None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Give the parameters the values of param_dict by name; ``arg:`` and ``aux:`` in front of names are ignored.

        ctx: contexts to put them on; None: where they are, or else the CPU. allow_missing: leave parameters that are not
        given as they are. ignore_extra: pass over values that no parameter has the name of. restore_prefix: what the names given
        lack in front. filename: what errors call the source. With cast_dtype values are converted to the dtypes the parameters
        have, or with dtype_source="saved" parameters to the dtypes of the values. Raises ParameterError with what is
        missing, not wanted, or does not fit, of each a few and how many; then nothing changed.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(1, in_units=1, prefix="top_")
        >>> net.collect_params().load_dict({"top_weight": mx.nd.ones((1, 1)), "top_bias": mx.nd.ones(1)})
        >>> net.weight.data().asnumpy()
        array([[1.]], dtype=float32)
        """
        flags = allow_missing, ignore_extra, restore_prefix, filename, cast_dtype, dtype_source
        self._take(param_dict, ctx, *flags, adopt=False)

    def _take(
        self,
        param_dict: Mapping[str, NDArray],
        ctx: Any,
        allow_missing: bool,
        ignore_extra: bool,
        restore_prefix: str,
        filename: Any,
        cast_dtype: bool,
        dtype_source: str,
        adopt: bool,
    ) -> None:
        """load_dict; adopt: the arrays are nobody else's, and need not be copied."""
        given = {restore_prefix + (n[4:] if n.startswith(("arg:", "aux:")) else n): a for n, a in param_dict.items()}
        missing = [] if allow_missing else [n.removeprefix(restore_prefix) for n in self if n not in given]
        source = f"file: {filename}" if filename is not None else "param_dict"
        load_all(self._params, given, missing, ignore_extra, source, ctx, cast_dtype, dtype_source, adopt)


def _merge(wanted: Any, stored: tuple[int, ...]) -> tuple[int, ...] | None:
    """Join two shapes that may be known in part; None when they contradict each other."""
    if wanted is None or isinstance(wanted, int) or len(wanted) != len(stored):
        return None
    if any(a != b and a > 0 and b > 0 for a, b in zip(wanted, stored)):
        return None
    return tuple(b if a in (0, -1) else a for a, b in zip(wanted, stored))


def read_file(filename: Any) -> dict[str, NDArray]:
    """The arrays of a parameter file by name. Raises ParameterError when they have no names."""
    loaded = ndarray.load(filename)
    if loaded and not isinstance(loaded, dict):
        raise ParameterError(f"{filename}: got a list of {len(loaded)} arrays without names, wanted named parameters")
    return dict(loaded)


SHOWN = 5
"""Names that a message lists; a network has hundreds."""


def _listed(names: Iterable[str]) -> str:
    """Some names, and how many more there are."""
    names = list(names)
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def load_all(
    parameters: Mapping[str, Parameter],
    given: Mapping[str, NDArray],
    missing: Sequence[str],
    ignore_extra: bool,
    source: str,
    ctx: Any,
    cast_dtype: bool,
    dtype_source: str,
    adopt: bool,
) -> None:
    """Give parameters the values of the same names. adopt: the arrays are nobody else's.

    Raises ParameterError that says what is missing, extra, or does not fit: some names of each, and how many. Then nothing
    changed."""
    problems = []
    extra = [] if ignore_extra else [n for n in given if n not in parameters]
    if missing:
        problems.append(f"missing in {source}: {_listed(missing)}; set allow_missing=True to leave them as they are")
    if extra:
        has = "" if missing else f" (the network has {_listed(parameters) or 'none'})"
        problems.append(
            f"in {source} but not in the network: {_listed(extra)}; set ignore_extra=True to ignore them{has}"
        )
    pairs = [(n, parameters[n], a) for n, a in given.items() if n in parameters]
    wrong_shapes = [(n, p, a) for n, p, a in pairs if not p._accepts(a.shape)]
    if wrong_shapes:
        differing = [f"{n} {show(a.shape)} (wanted {show(p.shape)})" for n, p, a in wrong_shapes]
        problems.append(f"shapes that do not fit: {_listed(differing)}")
    others = []
    for name, parameter, array in pairs:
        other = parameter._unfit(array, ctx, cast_dtype, dtype_source) if parameter._accepts(array.shape) else None
        if other is not None:
            others.append(f"{name}: {other}")
    problems += others[:SHOWN] + [f"and {len(others) - SHOWN} more of that kind"] * (len(others) > SHOWN)
    if problems:
        raise ParameterError(f"parameters do not fit the network: {'. '.join(problems)}")
    for _, parameter, array in pairs:
        parameter._load_init(array, ctx, cast_dtype=cast_dtype, dtype_source=dtype_source, adopt=adopt)
