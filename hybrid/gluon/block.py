"""Blocks: networks as callable objects. SymbolBlock runs a network that was exported to files."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from .. import model, symbol
from ..context import Context
from ..error import MXNetError, OpError
from ..graph.executor import Program
from ..graph.graph import Entry, Graph
from ..graph.infer import infer
from ..name import NameManager
from ..ndarray import NDArray
from ..shapes import is_known
from ..symbol import Symbol
from .parameter import ParameterDict, ParameterError


class Block:
    """Base class: a name, parameters, and ``forward``."""

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None):
        self._prefix = NameManager.current.get(None, type(self).__name__.lower()) + "_" if prefix is None else prefix
        self._name = self._prefix.removesuffix("_")
        self._params = ParameterDict(self._prefix, params)

    @property
    def name(self) -> str:
        return self._name

    @property
    def prefix(self) -> str:
        return self._prefix

    @property
    def params(self) -> ParameterDict:
        """This block's own parameters."""
        return self._params

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """All parameters, or those whose name a regular expression matches."""
        chosen = ParameterDict(self._params.prefix)
        for name, parameter in self._params.items():
            if select is None or re.compile(select).match(name):
                chosen.add(parameter)
        return chosen

    def __call__(self, *args: Any) -> Any:
        return self.forward(*args)

    def forward(self, *args: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define forward")

    def cast(self, dtype: Any) -> None:
        """Convert all parameters to a dtype."""
        for parameter in self.collect_params().values():
            parameter.cast(dtype)

    def reset_ctx(self, ctx: Any) -> None:
        for parameter in self.collect_params().values():
            parameter.reset_ctx(ctx)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Accepted for MXNet's scripts; what is here is compiled already."""

    def save_parameters(self, filename: Any, deduplicate: bool = False) -> None:
        self.collect_params().save(filename)

    def load_parameters(
        self,
        filename: Any,
        ctx: Context | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Read all parameters from a file; see ParameterDict.load_dict for what is raised."""
        self.collect_params().load(
            filename, ctx, allow_missing, ignore_extra, cast_dtype=cast_dtype, dtype_source=dtype_source
        )


class SymbolBlock(Block):
    """The network of a symbol. Safe to call from several threads at once.

    outputs: a symbol or a list of them; inputs: the variables to call it with, in order. All other variables are
    parameters. Raises TypeError or ParameterError for inputs that are no variables of the outputs.
    """

    def __init__(self, outputs: Any, inputs: Any, params: ParameterDict | None = None):
        super().__init__(prefix=None, params=None)
        self._prefix = ""
        self._params = ParameterDict("", params)
        heads = list(_symbols(outputs, "outputs"))
        self._single = len(heads) == 1 and len(heads[0]) == 1
        self._symbol = heads[0] if len(heads) == 1 else symbol.Group(heads)
        self._inputs = []
        for entry in (e for s in _symbols(inputs, "inputs") for e in s._entries):
            if not entry.node.is_variable:
                raise ParameterError(f"Input symbols must be variable, but {entry.node.name} is an output of operators")
            self._inputs.append(entry.node.name)
        graph = self._symbol.graph
        self._states = {n.name for n in graph.auxiliary_states()}
        self._variables = {n.name for n in graph.variables()}
        declared = infer(graph)
        for node in graph.variables():
            if node.name in self._inputs:
                continue
            spec = declared.spec(Entry(node))
            parameter = self._params.get(
                node.name,
                shape=spec.shape if is_known(spec.shape) else None,
                dtype="float32" if spec.dtype is None else spec.dtype.type,
                grad_req="null" if node.name in self._states else "write",
                lr_mult=float(node.attrs.get("__lr_mult__", 1.0)),
                wd_mult=float(node.attrs.get("__wd_mult__", 1.0)),
                allow_deferred_init=True,
            )
            parameter.name = node.name
        self._ready: tuple[tuple[Any, ...], Program] | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"SymbolBlock(\n{self._symbol} : {len(self._inputs)} -> {len(self._symbol)}\n)"

    @property
    def graph(self) -> Graph:
        """The graph that it runs."""
        return self._symbol.graph

    @staticmethod
    def imports(
        symbol_file: Any,
        input_names: Any,
        param_file: Any = None,
        ctx: Context | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> SymbolBlock:
        """The network of a symbol file, with the parameters of a parameter file.

        Raises ParameterError naming every input that the symbol lacks, and every parameter that is missing, not wanted, or
        of a shape that does not fit the others."""
        loaded = symbol.load(symbol_file)
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        known = loaded.list_inputs()
        unknown = [n for n in names if n not in known]
        if unknown:
            raise ParameterError(
                f"inputs {', '.join(unknown)} are not in {symbol_file}; its variables are {', '.join(known)}"
            )
        block = SymbolBlock(loaded, [symbol.var(n) for n in names])
        if param_file is not None:
            block.load_parameters(param_file, ctx, allow_missing, ignore_extra)
            block._check_shapes()
        return block

    def _check_shapes(self) -> None:
        """Raise ParameterError where the loaded parameters contradict the network, as far as they alone can tell."""
        arrays = {n: p.data() for n, p in self._params.items() if p._array is not None}
        try:
            infer(self._symbol.graph, {n: a.shape for n, a in arrays.items()}, {n: a.dtype for n, a in arrays.items()})
        except OpError as error:
            raise ParameterError(f"parameters do not fit the network: {error}") from error

    def _program(self) -> Program:
        """The network ready to run on the parameters' arrays. Raises MXNetError naming all that have none."""
        used = {n: p for n, p in self._params.items() if n in self._variables}
        missing = [n for n, p in used.items() if p._array is None]
        if missing:
            raise MXNetError(
                f"Parameter {', '.join(map(repr, missing))} has not been initialized; load the network's parameters first"
            )
        arrays = tuple(p.data()._array for p in used.values())
        with self._lock:
            if self._ready is None or any(a is not b for a, b in zip(self._ready[0], arrays, strict=True)):
                self._ready = arrays, Program(self._symbol.graph, dict(zip(used, arrays)))
            return self._ready[1]

    def forward(self, *args: Any) -> Any:
        """The outputs for arrays (an NDArray or a list), or for symbols (a Symbol).

        Raises TypeError for other inputs, ValueError for too few or many, MXNetError when shapes or dtypes do not fit."""
        if len(args) != len(self._inputs):
            raise ValueError(f"got {len(args)} inputs, wanted {len(self._inputs)} ({', '.join(self._inputs)})")
        if all(isinstance(a, Symbol) for a in args):
            return self._symbol(**dict(zip(self._inputs, args)))
        for name, arg in zip(self._inputs, args):
            if not isinstance(arg, NDArray):
                raise TypeError(
                    f"input {name} must be an NDArray (or all inputs Symbols), got {type(arg).__name__}; use mx.nd.array"
                )
        feeds = {n: a._array for n, a in zip(self._inputs, args) if n in self._variables}
        results = [NDArray(r, args[0].context if args else None) for r in self._program().run(feeds)]
        return results[0] if self._single else results

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> tuple[str, str]:
        """Write ``PATH-symbol.json`` and ``PATH-NNNN.params``; gives their names."""
        arrays = {n: p.data() for n, p in self._params.items() if n in self._variables}
        states = {n: a for n, a in arrays.items() if n in self._states}
        arguments = {n: a for n, a in arrays.items() if n not in self._states}
        model.save_checkpoint(path, epoch, self._symbol, arguments, states, remove_amp_cast)
        return f"{path}-symbol.json", f"{path}-{epoch:04d}.params"


def _symbols(given: Any, what: str) -> Iterator[Symbol]:
    """All symbols of a symbol or a (nested) list of them."""
    if isinstance(given, Symbol):
        yield given
    elif isinstance(given, Sequence) and not isinstance(given, str):
        for item in given:
            yield from _symbols(item, what)
    else:
        raise TypeError(f"SymbolBlock: {what} must be a Symbol or a (nested) list of them, got {type(given).__name__}")
