"""Graphs written as programs: what gradient rules and compositions (``Op.gradient``, ``Op.composition``) are given as ``F``.

``F.broadcast_mul(a, b)`` applies an operator to expressions, with the arguments that ``mx.sym.broadcast_mul`` takes; expressions
know Python's arithmetic. Nothing here has names, attributes of scopes, or variables made for inputs that are missing: that is what
symbols add (frontend/symbol.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..core import functions
from ..core.dims import has_dims
from ..core.error import OpError
from ..core.op import Op, Spec
from .graph import Entry, Node

UNKNOWN_SPEC = Spec()


class Expression:
    """One output of a node, or all that users see of one with several."""

    __slots__ = ("entries",)
    __array_priority__ = 1000.0  # NumPy's operators leave mixed operands to ours

    def __init__(self, entries: tuple[Entry, ...]):
        self.entries = entries

    @property
    def entry(self) -> Entry:
        """The output. Raises OpError where there are several."""
        if len(self.entries) != 1:
            raise OpError(f"{self.entries[0].node.name} has {len(self.entries)} outputs, wanted a single one; index it")
        return self.entries[0]

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Expression]:
        return (Expression((e,)) for e in self.entries)

    def __getitem__(self, index: int) -> Expression:
        return Expression((self.entries[index],))

    def __neg__(self) -> Any:
        return _arithmetic(functions.BINARY["multiply"], self, -1.0)


class Variable(Expression):
    """A variable of a graph, and what is known of it."""

    __slots__ = ("dtype", "shape")

    def __init__(self, name: str, spec: Spec):
        super().__init__((Entry(Node(None, name)),))
        self.shape, self.dtype = spec


def variable(name: str, spec: Spec = UNKNOWN_SPEC) -> Variable:
    """A variable of a graph, of which so much is known."""
    return Variable(name, spec)


def _apply(cls: type[Op], name: str, inputs: dict[str, Any] | list[Any], given: dict[str, Any]) -> Expression:
    """Apply an operator as a function of F; see functions.FrontendCall.

    Raises OpError for inputs that the operator does not take, or lacks."""
    named = {k: given.pop(k) for k in list(given) if isinstance(given[k], Expression)}
    given = functions.attributes(cls, given, len(inputs))
    texts = {k: v if has_dims(v) else functions.attribute_text(v) for k, v in given.items()}
    op = cls.bind(**texts)
    wanted = op.input_names()
    found = {**inputs, **named} if isinstance(inputs, dict) else {**dict(zip(wanted, inputs, strict=True)), **named}
    if set(found) != set(wanted):
        raise op.error(f"got inputs {', '.join(found) or 'none'}, wanted {', '.join(wanted) or 'none'}")
    node = Node(op, name.lower(), [found[n].entry for n in wanted], texts)
    return Expression(tuple(Entry(node, i) for i in range(node.num_visible_outputs)))


def _arithmetic(row: functions.Binary, lhs: Any, rhs: Any) -> Any:
    """A function of two arguments of which one may be a number. Raises TypeError for anything else."""
    return _apply(*functions.application(row, lhs, rhs, Expression))


class _Functions:
    """All operators as functions of expressions, as ``mx.sym`` has them of symbols."""

    def __init__(self) -> None:
        self._submodules = {n: functions.Namespace(f"F.{n}", p, _apply, ()) for n, p in functions.SUBMODULES.items()}

    def __getattr__(self, name: str) -> Any:
        if name in self._submodules:
            return self._submodules[name]
        found = getattr(self._submodules["_internal" if name.startswith("_") else "op"], name)
        setattr(self, name, found)
        return found


F = _Functions()
functions.add_operators(Expression, _arithmetic)
Expression.__hash__ = None  # type: ignore[assignment]  == makes an expression
functions.add_methods(Expression, F.op)
