"""The base class of blocks: children and parameters by attribute, names, hooks, files."""

from __future__ import annotations

import math
import re
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .. import initializer, ndarray
from ..core.html import tree
from ..core.np_mode import is_np_array
from ..eager.faces import want_np
from . import model_files
from .base_parameter import Parameter, ParameterError
from .naming import _BlockScope
from .parameter_dict import ParameterDict, load_all, read_file
from .summary import print_summary
from .utils import HookHandle, _indent


class Block:
    """Base class of layers and networks: ``forward`` computes, attributes that are blocks or parameters belong to it.

    prefix: what its name and those of its parameters start with, made up when it is None. params: the parameters of
    another block to share.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Doubled(mx.gluon.Block):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         with self.name_scope():
    ...             self.inner = mx.gluon.nn.Dense(3, in_units=2)
    ...     def forward(self, x):
    ...         return 2 * self.inner(x)
    >>> net = Doubled(prefix="net_")
    >>> net.initialize()
    >>> net(mx.nd.ones((4, 2))).shape
    (4, 3)
    >>> list(net.collect_params())
    ['net_dense0_weight', 'net_dense0_bias']
    """

    _active = False  # hybridized; see HybridBlock
    _is_container = False  # made of other blocks alone: a summary has no line for it

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None):
        self._empty_prefix = prefix == ""
        self._prefix, self._params = _BlockScope.create(prefix, params, self._alias())
        self._name = self._prefix.removesuffix("_")
        self._scope = _BlockScope(self)
        self._children: OrderedDict[str, Any] = OrderedDict()
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self._forward_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()

    def __repr__(self) -> str:
        return self._listing((k, b) for k, b in self.__dict__.items() if isinstance(b, Block))

    def _repr_html_(self) -> str:
        """The blocks within it as a tree with sizes of parameters, for notebooks."""
        return self._tree("", open_=True)

    def _tree(self, name: str, open_: bool = False) -> str:
        sizes = [p.shape for p in self.collect_params().values()]
        known = [math.prod(s) for s in sizes if s is not None and all(d > 0 for d in s)]
        count = f"{sum(known):,} parameters" + ("" if len(known) == len(sizes) else " and some of sizes not yet known")
        first = type(self).__name__ if self._children else repr(self)
        own = [
            tree(f"{n.removeprefix(self.prefix)} {'?' if p.shape is None else p.shape}", [])
            for n, p in self.params.items()
        ]
        inner = [
            child._tree(f"({key}) ") if isinstance(child, Block) else tree(f"({key}) {child!r}", [])
            for key, child in self._children.items()
        ]
        return tree(f"{name}{first}, {count}" if sizes else f"{name}{first}", [*own, *inner], open_)

    def _listing(self, children: Iterable[tuple[str, Any]]) -> str:
        """The class's name, and in lines below it the children."""
        lines = "\n".join(f"  ({key}): {_indent(repr(block), 2)}" for key, block in children)
        return f"{type(self).__name__}(\n{lines}\n)"

    def __setattr__(self, name: str, value: Any) -> None:
        existing = getattr(self, name, None)
        if isinstance(existing, Parameter | Block) and not isinstance(value, type(existing)):
            raise TypeError(
                f"Changing attribute type for {name} from {type(existing)} to {type(value)} is not allowed."
            )
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            if name in self._reg_params:
                raise ParameterError(
                    f"Overriding Parameter attribute {name} is not allowed. If you want to share parameters between "
                    "blocks, please set 'params' at Block construction instead."
                )
            self._reg_params[name] = value
        super().__setattr__(name, value)

    def _alias(self) -> str:
        """Beginning of automatic names."""
        return type(self).__name__.lower()

    # -- names, children and parameters -------------------------------------------------------------------------------

    @property
    def prefix(self) -> str:
        """Beginning of the names of parameters and of blocks made in its name_scope.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.gluon.nn.Dense(2, prefix="top_").prefix
        'top_'
        """
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without the underscore at its end.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.gluon.nn.Dense(2, prefix="top_").name
        'top'
        """
        return self._name

    def name_scope(self) -> _BlockScope:
        """``with self.name_scope():`` blocks made inside have names that start with this one's prefix.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Sequential(prefix="net_")
        >>> with net.name_scope():
        ...     net.add(mx.gluon.nn.Dense(2))
        >>> net[0].name
        'net_dense0'
        """
        return self._scope

    @property
    def params(self) -> ParameterDict:
        """This block's own parameters, those of children left out.

        Examples
        --------
        >>> from gluonnx import mx
        >>> mx.gluon.nn.Dense(2, prefix="top_").params.keys()
        odict_keys(['top_weight', 'top_bias'])
        """
        return self._params

    def register_child(self, block: Any, name: str | None = None) -> None:
        """Make a block a child, called name or by its number; assigning it to an attribute does so too.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.Block()
        >>> net.register_child(mx.gluon.nn.Dense(2, in_units=3, prefix="top_"), "top")
        >>> list(net.collect_params())
        ['top_weight', 'top_bias']
        """
        self._children[str(len(self._children)) if name is None else name] = block

    def apply(self, fn: Callable[[Any], Any]) -> Any:
        """Call ``fn(block)`` for all children, theirs first, and then for this block; gives the block.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Sequential(prefix="net_")
        >>> net.add(mx.gluon.nn.Dense(2, prefix="a_"), mx.gluon.nn.Dense(3, prefix="b_"))
        >>> _ = net.apply(lambda block: print(block.name))
        a
        b
        net
        """
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """All parameters of the block and its children, or those whose name a regular expression (select) matches at its start.

        >>> from gluonnx import mx
        >>> list(mx.gluon.nn.Dense(2, prefix="top_").collect_params(".*weight").keys())
        ['top_weight']"""
        self._check_container_with_block()
        chosen = ParameterDict(self._params.prefix)
        pattern = re.compile(select) if select else None
        chosen.update({n: p for n, p in self.params.items() if pattern is None or pattern.match(n)})
        for child in self._children.values():
            chosen.update(child.collect_params(select=select))
        return chosen

    def _check_container_with_block(self) -> None:
        """Warn of blocks in attributes that are lists or dicts: they are no children."""
        children = {id(child) for child in self._children.values()}
        for name, value in self.__dict__.items():
            if name.startswith("__") or name in ("_children", "_traced") or not isinstance(value, list | tuple | dict):
                continue
            if any(id(block) not in children for block in _blocks_in(value)):
                warnings.warn(
                    f'"{type(self).__name__}.{name}" is an unregistered container with Blocks. Note that Blocks inside the '
                    "list, tuple or dict will not be registered automatically. Make sure to register them using "
                    "register_child() or switching to nn.Sequential/nn.HybridSequential instead. ",
                    stacklevel=3,
                )

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """All parameters by where they are, such as ``features.0.weight``; shared ones under each of their places."""
        prefix = f"{prefix}." if prefix else ""
        found = {prefix + key: parameter for key, parameter in self._reg_params.items()}
        for name, child in self._children.items():
            found.update(child._collect_params_with_prefix(prefix + name))
        return found

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
        >>> net = mx.gluon.nn.Dense(2, in_units=1)
        >>> net.initialize(mx.init.Constant(3))
        >>> net.weight.data().asnumpy(), net.bias.data().asnumpy()
        (array([[3.],
               [3.]], dtype=float32), array([0., 0.], dtype=float32))
        """
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def cast(self, dtype: Any) -> None:
        """Convert all parameters to a dtype.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2, in_units=1)
        >>> net.initialize()
        >>> net.cast("float16")
        >>> net(mx.nd.ones((1, 1), dtype="float16")).dtype.__name__
        'float16'
        """
        for child in self._children.values():
            child.cast(dtype)
        for parameter in self.params.values():
            parameter.cast(dtype)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridize all children, or with active=False let them run as written; see HybridBlock.hybridize.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Sequential()
        >>> net.add(mx.gluon.nn.Dense(2), mx.gluon.nn.Lambda("relu"))
        >>> net.initialize()
        >>> net.hybridize()
        >>> net(mx.nd.ones((1, 3))).shape
        (1, 2)
        """
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    # -- running ------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any) -> Any:
        for hook in tuple(self._forward_pre_hooks.values()):
            hook(self, args)
        out = self.forward(*args)
        for hook in tuple(self._forward_hooks.values()):
            hook(self, args, out)
        if is_np_array():
            want_np(out, f"output of {self.name}")
        return out

    def forward(self, *args: Any) -> Any:
        """Compute the block's outputs; for subclasses to define.

        Examples
        --------
        >>> from gluonnx import mx
        >>> class Square(mx.gluon.Block):
        ...     def forward(self, x):
        ...         return x * x
        >>> Square()(mx.nd.array([1, 2, 3])).asnumpy()
        array([1., 4., 9.], dtype=float32)
        """
        raise NotImplementedError(f"{type(self).__name__} must define forward")

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(block, inputs)`` before every forward pass.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2)
        >>> net.initialize()
        >>> handle = net.register_forward_pre_hook(lambda block, inputs: print("input", inputs[0].shape))
        >>> _ = net(mx.nd.ones((4, 3)))
        input (4, 3)
        >>> handle.detach()
        """
        handle = HookHandle()
        handle.attach(self._forward_pre_hooks, hook)
        return handle

    def register_forward_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(block, inputs, output)`` after every forward pass.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2)
        >>> net.initialize()
        >>> handle = net.register_forward_hook(lambda block, inputs, output: print("output", output.shape))
        >>> _ = net(mx.nd.ones((4, 3)))
        output (4, 2)
        >>> handle.detach()
        """
        handle = HookHandle()
        handle.attach(self._forward_hooks, hook)
        return handle

    def register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        """Have all children call ``callback`` for outputs (monitor_all: inputs too); see HybridBlock.register_op_hook.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.HybridSequential(prefix="net_")
        >>> net.add(mx.gluon.nn.Dense(2, prefix="top_"))
        >>> net.initialize()
        >>> net.hybridize()
        >>> net.register_op_hook(lambda name, operator, array: print(name, operator, array.shape))
        >>> _ = net(mx.nd.ones((4, 3)))
        top_fwd_output FullyConnected (4, 2)
        """
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    def summary(self, *inputs: Any) -> None:
        """Print the layers with their outputs' shapes and numbers of parameters, for such inputs.

        Raises AssertionError when the block or a child is hybridized.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Sequential(prefix="net_")
        >>> net.add(mx.gluon.nn.Dense(4, prefix="a_"), mx.gluon.nn.Dense(2, prefix="b_"))
        >>> net.initialize()
        >>> net.summary(mx.nd.ones((1, 3)))
        --------------------------------------------------------------------------------
                Layer (type)                                Output Shape         Param #
        ================================================================================
                       Input                                      (1, 3)               0
                     Dense-1                                      (1, 4)              16
                     Dense-2                                      (1, 2)              10
        ================================================================================
        Parameters in forward computation graph, duplicate included
           Total params: 26
           Trainable params: 26
           Non-trainable params: 0
        Shared params in forward computation graph: 0
        Unique parameters in model: 26
        --------------------------------------------------------------------------------
        """
        print_summary(self, inputs)

    def _summary_nodes(self, given: Any, output: Any) -> Sequence[tuple[str, str, Sequence[Any]]]:
        """The lines of a summary for a block that is a graph: names of nodes, shapes and parameters; none for others."""
        return ()

    # -- files --------------------------------------------------------------------------------------------------------

    def save_parameters(self, filename: Any, deduplicate: bool = False) -> None:
        """Write all parameters to a file, filename, named by where they are (``0.weight``); with deduplicate shared ones once.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.initialize()
        >>> net.save_parameters("net.params")
        >>> list(mx.nd.load("net.params"))
        ['weight', 'bias']
        """
        ndarray.save(filename, self._parameters_to_save(deduplicate))

    def _parameters_to_save(self, deduplicate: bool = False) -> dict[str, ndarray.NDArray]:
        """Parameters by name, as save_parameters writes them."""
        parameters = self._collect_params_with_prefix()
        if deduplicate:
            places = {parameter: place for place, parameter in parameters.items()}  # the last place of each
            parameters = {place: parameter for parameter, place in places.items()}
        return {place: parameter._reduce() for place, parameter in parameters.items()}

    def load_parameters(
        self,
        filename: Any,
        ctx: Any = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Read parameters from a file of save_parameters, or one with full names as older versions wrote them.

        filename: the file. ctx: contexts to put the parameters on; None: where they are, or else the CPU.
        allow_missing: leave parameters that it has not as they are. ignore_extra: pass over arrays that the network has not.
        cast_dtype, dtype_source: as in ParameterDict.load_dict, as is what is raised.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.initialize(mx.init.One())
        >>> net.save_parameters("net.params")
        >>> again = mx.gluon.nn.Dense(2, in_units=3)
        >>> again.load_parameters("net.params")
        >>> again.weight.data().asnumpy()
        array([[1., 1., 1.],
               [1., 1., 1.]], dtype=float32)
        """
        loaded = read_file(filename)
        parameters = self._collect_params_with_prefix()
        if not loaded and not parameters:
            return
        if not any("." in name for name in loaded) and not (loaded and set(loaded) <= set(parameters)):
            flags = allow_missing, ignore_extra, self.prefix, filename, cast_dtype, dtype_source
            self.collect_params()._take(loaded, ctx, *flags, adopt=True)
            return
        filled = {id(parameters[n]) for n in loaded if n in parameters}  # shared ones may be stored once
        missing = [] if allow_missing else [n for n, p in parameters.items() if id(p) not in filled]
        flags = ignore_extra, f"file: {filename}", ctx, cast_dtype, dtype_source
        load_all(parameters, loaded, missing, *flags, adopt=True)

    def save_params(self, filename: Any) -> None:
        """The old save_parameters to a file, filename: full names without the prefix.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.initialize()
        >>> net.save_parameters("net.params")  # the name of today
        >>> sorted(mx.nd.load("net.params"))
        ['bias', 'weight']
        """
        warnings.warn("save_params is deprecated. Please use save_parameters.", stacklevel=2)
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_params(
        self, filename: Any, ctx: Any = None, allow_missing: bool = False, ignore_extra: bool = False
    ) -> None:
        """The old name of load_parameters, whose filename, ctx, allow_missing and ignore_extra it takes.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net, other = mx.gluon.nn.Dense(2, in_units=3), mx.gluon.nn.Dense(2, in_units=3)
        >>> net.initialize("ones")
        >>> net.save_parameters("net.params")
        >>> other.load_parameters("net.params")  # the name of today
        >>> other.weight.data().asnumpy()[0]
        array([1., 1., 1.], dtype=float32)
        """
        warnings.warn("load_params is deprecated. Please use load_parameters.", stacklevel=2)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    def save(self, prefix: str) -> None:
        """Write ``PREFIX-model.json``, the names and traced graphs of all blocks, and ``PREFIX-model.params``.

        Examples
        --------
        >>> from gluonnx import mx
        >>> net = mx.gluon.nn.HybridSequential()
        >>> net.add(mx.gluon.nn.Dense(2))
        >>> net.initialize()
        >>> net.hybridize()
        >>> _ = net(mx.nd.ones((1, 3)))
        >>> net.save("net")
        >>> import os
        >>> sorted(os.listdir())
        ['net-model.json', 'net-model.params']
        """
        model_files.save(self, prefix)

    def load(self, prefix: str) -> None:
        """Read what ``save`` wrote into a block that was made the same way.

        Examples
        --------
        >>> from gluonnx import mx
        >>> def make():
        ...     net = mx.gluon.nn.HybridSequential()
        ...     net.add(mx.gluon.nn.Dense(2, in_units=3))
        ...     return net
        >>> net = make()
        >>> net.initialize()
        >>> net.save("net")
        >>> again = make()
        >>> again.load("net")
        >>> (again[0].weight.data() == net[0].weight.data()).asnumpy().all().item()
        True
        """
        model_files.load(self, prefix)

    def _trace_description(self) -> dict[str, Any]:
        """Description of a traced block that ``save`` writes; empty for others."""
        return {}


def _blocks_in(value: Any) -> Iterator[Block]:
    """All blocks in nested lists and dicts."""
    if isinstance(value, Block):
        yield value
    elif isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _blocks_in(item)
