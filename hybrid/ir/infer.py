"""Shapes and dtypes of every tensor of a graph, from those of some, to a fixed point.

Forward through each operator's infer_shape and infer_type; where something is still open, backward through
infer_input_shapes and infer_input_types, until nothing new is learnt. What stays unknown stays marked so.

It ends because what is known only grows: a shape is merged with what was known of it, so that a tensor of rank r changes at most
r + 1 times, and a dtype that is known is never forgotten. Only a node whose inputs or outputs have changed is looked at again.
"""

from __future__ import annotations

import functools
import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.attrs import declared_dtype, kind_of
from ..core.attrs import dtype as read_dtype
from ..core.dims import Dim, has_dims
from ..core.error import InternalError, MXNetError, OpError, at_node, reason_of
from ..core.fp_warnings import ignoring_fp_warnings
from ..core.op import BACKWARD, FAMILY, Op, Spec
from ..core.shapes import MOST_DIMS, UNKNOWN, MaybeShape, Undecided, from_legacy, identical, is_known, merge, show
from .declared import held
from .graph import Entry, Graph, Node, SubgraphFunction

Key = tuple[int, int]  # id of node, output index
RAISED = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError)
"""Exceptions that a rule raises: ValueErrors (OpErrors are such) for what does not fit the operator, the others where it has a
bug."""
Memo = dict[tuple[int, str], tuple[list[Any], list[Any]]]
"""Results of inference through a subgraph, by its id and what was known of its variables: control flow asks for the same again
at every step, and each level of it would multiply the work."""
MOST_ELEMENTS = 2**59
"""Elements that an array can have, sizes of 0 left out: 16 bytes each are what an address can say."""


class Inference:
    """The result: ``spec(entry)`` for every output of every node of the graph."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.shapes: dict[Key, MaybeShape] = {}
        self.dtypes: dict[Key, np.dtype | None] = {}
        self.values: dict[Key, np.ndarray] | None = None
        """Small tensors whose values follow from shapes and constants (graphs with operators that ask for values)."""

    def spec(self, entry: Entry) -> Spec:
        key = (id(entry.node), entry.index)
        return Spec(self.shapes.get(key), self.dtypes.get(key))

    def unknown_variables(self) -> list[str]:
        """Names of variables whose shape or dtype is not fully known."""
        specs = ((n, self.spec(Entry(n))) for n in self.graph.variables())
        return [n.name for n, s in specs if not is_known(s.shape) or s.dtype is None]


def infer(
    graph: Graph,
    shapes: Mapping[str, MaybeShape] | None = None,
    dtypes: Mapping[str, Any] | None = None,
    *,
    default_dtype: Any = None,
    values: Mapping[str, np.ndarray] | None = None,
    follow: bool = False,
) -> Inference:
    """Infer from shapes and dtypes of variables by name; a variable's own ``__shape__`` and ``__dtype__`` count too.

    values: of variables that are constant, for operators whose output shapes depend on them. follow: note what follows from them
    where there are no such operators, too.
    With default_dtype, variables whose dtype nothing decides get it, as MXNet's binding does with float32.
    Raises OpError, with the node's name, where the graph contradicts itself.
    """
    result = Inference(graph)
    _infer_dtypes(result, dtypes or {}, default_dtype)
    _infer_shapes(result, shapes or {}, values or {}, follow=follow)
    return result


def want_ignored(result: Inference) -> None:
    """Raise OpError, with the node's name, where the shape of a label does not go with what it is the label of."""
    for node in result.graph.nodes:
        if node.op is not None and node.op.ignored:
            shapes = [result.spec(e).shape for e in node.inputs]
            try:
                if all(s is not None for s in shapes):
                    node.op.want_ignored(*shapes)
            except Undecided:  # that depends on a size that is not known yet
                continue
            except OpError as error:
                raise _at(node, error, "input shapes", [show(s) for s in shapes]) from error


def _infer_shapes(
    result: Inference,
    given: Mapping[str, MaybeShape],
    values: Mapping[str, np.ndarray] | None = None,
    memo: Memo | None = None,
    follow: bool = False,
) -> None:
    memo = {} if memo is None else memo
    known = result.shapes
    if follow or any(n.op is not None and "values" in n.op.needs for n in result.graph.nodes):
        result.values = {
            (id(n), 0): values[n.name] for n in result.graph.variables() if values and _small(values.get(n.name))
        }
    for node in result.graph.nodes:
        for i in range(node.num_outputs):
            known[id(node), i] = None
        if node.is_variable:
            hint = node.attrs.get("__shape__")
            try:
                declared = from_legacy(kind_of(tuple[int, ...]).read(hint)) if hint else None
            except ValueError:
                raise OpError(f"variable {node.name}: __shape__={hint!r} is not a shape") from None
            known_of = held(node, given.get(node.name))
            try:
                known[id(node), 0] = merge(known_of, declared)
            except ValueError:
                # what is given wins over what was declared when the model was written (another batch size)
                known[id(node), 0] = given[node.name]
    settling = _FixedPoint(result.graph.nodes, known, functools.partial(node_shapes, memo=memo), identical, is_known)
    if result.values is not None:
        settling.step = functools.partial(
            _with_values, memo=memo, values=result.values, dtypes=result.dtypes, revisit=settling.revisit
        )
    settling.run()


def _infer_dtypes(result: Inference, given: Mapping[str, Any], default: Any, memo: Memo | None = None) -> None:
    known = result.dtypes
    variables = []
    for node in result.graph.nodes:
        for i in range(node.num_outputs):
            known[id(node), i] = None
        if node.is_variable:
            chosen = given.get(node.name, declared_dtype(node.attrs.get("__dtype__")))
            try:
                known[id(node), 0] = None if chosen is None else read_dtype(chosen)
            except ValueError as error:
                raise OpError(f"variable {node.name}: {error}") from None
            variables.append(node)

    step = functools.partial(node_dtypes, memo={} if memo is None else memo)
    settling = _FixedPoint(result.graph.nodes, known, step, _same_dtype, lambda d: d is not None)
    settling.run()
    if default is not None:
        for node in variables:  # one at a time: what one default decides may decide others
            if known[id(node), 0] is None:
                known[id(node), 0] = read_dtype(default)
                settling.revisit((id(node), 0))
                settling.run()


class _FixedPoint:
    """Facts about tensors (``known``, changed in place), growing until no node adds anything.

    step(node, what is known of its inputs, of its outputs) gives what is known of them now, inputs first. It must forget nothing,
    and say the same for the same."""

    def __init__(self, nodes: Sequence[Node], known: dict[Key, Any], step: Any, same: Any, complete: Any):
        self.step = step
        self._known, self._same, self._complete = known, same, complete
        self._rows = [
            (n, [(id(e.node), e.index) for e in n.inputs], [(id(n), i) for i in range(n.num_outputs)])
            for n in nodes
            if n.op is not None
        ]
        self._touching: dict[Key, list[int]] = {}
        for number, (_, ins, outs) in enumerate(self._rows):
            for key in {*ins, *outs}:
                self._touching.setdefault(key, []).append(number)
        self._ahead: list[int] = []
        """Rows that this sweep will still come to, as a heap, negative when it goes backward."""
        self._queued: set[int] = set()
        self._waiting = set(range(len(self._rows)))
        """Rows for the next sweep."""
        self._place, self._sign = 0, 1

    def revisit(self, key: Key, except_row: int | None = None) -> None:
        """Have the nodes looked at again that read or make this tensor, for more is known of it; not the row ``except_row``."""
        for row in self._touching.get(key, ()):
            if row == except_row:
                continue
            place = self._sign * row
            if place <= self._place or not self._ahead:
                self._waiting.add(row)
            elif row not in self._queued:
                self._queued.add(row)
                heapq.heappush(self._ahead, place)

    def run(self) -> None:
        """Sweep forward, backward, forward, ... over the nodes of which something has changed.

        A sweep that changes nothing is the last but one, and each tensor changes a bounded number of times (see above); more
        sweeps than that are a rule that takes back what it said. Raises InternalError then."""
        left = 2 * (1 + MOST_DIMS) * (1 + len(self._known))
        self._sign = 1
        while self._waiting:
            if not left:
                names = ", ".join(self._rows[i][0].name for i in sorted(self._waiting)[:10])
                raise InternalError(f"inference does not come to an end at {names}; please report this symbol")
            self._sweep()
            self._sign, left = -self._sign, left - 1

    def _sweep(self) -> None:
        known, same, complete = self._known, self._same, self._complete
        self._ahead = sorted(self._sign * row for row in self._waiting)
        self._queued, self._waiting = self._waiting, set()
        while self._ahead:
            self._place = heapq.heappop(self._ahead)
            row = self._sign * self._place
            self._queued.discard(row)
            node, ins, outs = self._rows[row]
            # what follows from inputs that are all known would be said again: no need to ask this node for it
            given = [known[k] for k in ins]
            own = row if all(map(complete, given)) else None
            found = self.step(node, given, [known[k] for k in outs])
            for key, value in zip((*ins, *outs), found, strict=True):
                before = known[key]
                if before is not value and not same(before, value):
                    known[key] = value
                    self.revisit(key, own)


MOST_KNOWN = 1024
"""Elements of a tensor whose values are worth knowing: shapes, axes, sizes."""
MOST_SCALES = 16
"""Elements of floats whose values are: by how much axes grow, and where parts begin and end."""


def _small(array: np.ndarray | None) -> bool:
    if array is None or array.dtype.kind not in "iubOf":
        return False
    return array.size <= (MOST_SCALES if array.dtype.kind == "f" else MOST_KNOWN)


def node_shapes(
    node: Node,
    ins: Sequence[MaybeShape],
    outs: Sequence[MaybeShape],
    values: Sequence[np.ndarray | None] = (),
    *,
    memo: Memo | None = None,
) -> list[MaybeShape]:
    """Shapes of a node's inputs and outputs, from what is known of either. values: what is known of the inputs' values.
    memo: what was found of subgraphs in the same inference.

    Raises OpError, with the node's name, where they contradict each other."""
    op = node.op
    assert op is not None
    ins, outs = list(ins), list(outs)

    def apply_rules(ins: list[MaybeShape]) -> list[MaybeShape]:
        found, options = outs, _subgraph_options(node, _shapes_through, memo)
        try:
            filled = op.infer_input_shapes(tuple(ins), tuple(outs), **options)
            ins[:] = _merge_repeated_inputs(
                node, [merge(a, _check_shape(b)) for a, b in zip(ins, filled, strict=True)], merge
            )
        except Undecided:
            pass
        if all(s is not None for s in ins):
            if "values" in op.needs:
                options["values"] = values or [None] * len(ins)
            try:
                got = op.infer_shape(*ins, **options)
                got = got if isinstance(got, list) else [got]
                found = [merge(a, _check_shape(b)) for a, b in zip(outs, got, strict=True)]
            except Undecided:
                pass
        return ins + found

    try:
        try:
            return apply_rules(ins)
        except IndexError:
            # of an axis that is not there? Then these say so, and else it is raised again
            names = (*op.input_names(), *("input",) * len(ins))
            return apply_rules([None if s is None else _Axes.of(n, s) for n, s in zip(names, ins)])
    except RAISED as error:
        raise _at(node, error, "input shapes", [show(s) for s in ins]) from error


class _Axes(tuple[Any, ...]):
    """The shape of an input that tells, when it is asked for an axis that it has not, how many its rule wants."""

    name: str

    @classmethod
    def of(cls, name: str, shape: Sequence[Any]) -> _Axes:
        made = cls(shape)
        made.name = name
        return made

    def __getitem__(self, at: Any) -> Any:
        try:
            return super().__getitem__(at)
        except IndexError:
            least = at + 1 if at >= 0 else -at
            raise OpError(f"got {self.name} of shape {show(self)}, wanted at least {least} dimensions") from None


def _merge_repeated_inputs(node: Node, ins: list[Any], join: Callable[[Any, Any], Any]) -> list[Any]:
    """Merge what is known of inputs that are one tensor: else each would take back what another said of it, for
    ever. Raises ValueError where they contradict each other."""
    keys = [(id(e.node), e.index) for e in node.inputs]
    if len(set(keys)) == len(keys):
        return ins
    known: dict[Key, Any] = {}
    for key, value in zip(keys, ins):
        known[key] = join(known.get(key), value)
    return [known[key] for key in keys]


def _check_shape(shape: MaybeShape) -> MaybeShape:
    """A shape that a rule gave, of plain numbers. Raises ValueError for one that no array has: the rule was given attributes and
    sizes that do not fit each other."""
    if shape is None:
        return None
    if len(shape) <= 4 and all(d is UNKNOWN or (type(d) is int and 0 <= d < 1 << 14) for d in shape):
        return shape  # as nearly all are
    if len(shape) > MOST_DIMS:
        raise ValueError(f"it would have {len(shape)} dims, wanted at most {MOST_DIMS}")
    plain = tuple(d if d is UNKNOWN or type(d) is Dim else int(d) for d in shape)
    if any(d is not UNKNOWN and (d < 0 or d != whole) for d, whole in zip(plain, shape)):
        raise ValueError(
            f"it would have shape {show(shape)}, wanted sizes of 0 or more; its attributes do not fit its inputs"
        )
    if math.prod(d for d in plain if d is not UNKNOWN and d) > MOST_ELEMENTS:
        raise ValueError(f"it would have shape {show(plain)}, more than any array can have; give smaller sizes")
    return plain


def _with_values(
    node: Node,
    ins: list[MaybeShape],
    outs: list[MaybeShape],
    *,
    memo: Memo,
    values: dict[Key, np.ndarray],
    dtypes: Mapping[Key, np.dtype | None],
    revisit: Callable[[Key], None],
) -> list[MaybeShape]:
    """As node_shapes, and notes the node's value if that is known now."""
    assert node.op is not None
    known = [values.get((id(e.node), e.index)) for e in node.inputs]
    found = node_shapes(node, ins, outs, known, memo=memo)
    key, shape = (id(node), 0), found[len(ins)]
    if key not in values and is_known(shape) and not has_dims(shape) and math.prod(shape) <= MOST_KNOWN:
        try:
            if any(map(has_dims, known)):  # their arithmetic is that of objects
                known = [v if v is None or v.dtype == object else v.astype(object) for v in known]
            value = ignoring_fp_warnings(node.op.infer_value, known, found[: len(ins)])
            dtype = dtypes.get(key)
            if (
                value is not None
                and value.dtype == object
                and dtype is not None
                and dtype.kind in "iub"
                and not has_dims(value)
            ):
                value = value.astype(dtype)
        except (MXNetError, *RAISED):
            value = None  # a run will say so where it comes to it, which it need not: the node may be one of a body
        if value is not None and _small(value):
            values[key] = value
            revisit(key)
    return found


def node_dtypes(node: Node, ins: Sequence[Any], outs: Sequence[Any], *, memo: Memo | None = None) -> list[Any]:
    """As node_shapes, for dtypes."""
    op = node.op
    assert op is not None
    ins, outs = list(ins), list(outs)
    try:
        options = _subgraph_options(node, _dtypes_through, memo)
        filled = op.infer_input_types(tuple(ins), tuple(outs), **options)
        ins = _merge_repeated_inputs(node, [_agree(a, b) for a, b in zip(ins, filled, strict=True)], _agree)
        if any(d is not None and d.hasobject for d in ins) and not _takes_objects(op):
            raise ValueError("got words or sequences, wanted numbers")
        op.want_dtype(ins)
        if all(d is not None for d in ins):
            got = op.infer_type(*ins, **options)
            got = got if isinstance(got, list) else [got]
            # forward decides; what a reader of the output assumed was a default. None says nothing, and takes nothing back
            outs = [old if new is None else new for old, new in zip(outs, got, strict=True)]
    except RAISED as error:
        raise _at(node, error, "input dtypes", [str(d) for d in ins]) from error
    return ins + outs


def _takes_objects(op: Op) -> bool:
    """True where an operator may be given what is no number; those of ONNX say for themselves."""
    return (
        op.objects or op.view or op.only_moves_data or op.name.removeprefix(BACKWARD).startswith((FAMILY, FAMILY[1:]))
    )


def _subgraph_options(
    node: Node, through: Callable[[Graph, Sequence[Any], Memo], tuple[list[Any], list[Any]]], memo: Memo | None
) -> dict[str, Any]:
    """The keyword argument for operators with subgraphs: what inference through each says."""
    assert node.op is not None
    if "subgraphs" not in node.op.needs:
        return {}
    seen: Memo = {} if memo is None else memo

    def remembered(graph: Graph, given: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        key = (id(graph), repr(list(given)))  # unknown dims are not to be compared with numbers, which a key would be
        if key not in seen:
            seen[key] = through(graph, given, seen)
        variables, outputs = seen[key]
        return list(variables), list(outputs)

    return {"subgraphs": tuple(SubgraphFunction(graph, remembered) for graph in node.subgraphs)}


def _shapes_through(graph: Graph, given: Sequence[MaybeShape], memo: Memo) -> tuple[list[MaybeShape], list[MaybeShape]]:
    """Shapes of a subgraph's variables and outputs, from what is known of the former."""
    result = Inference(graph)
    _infer_shapes(result, graph.feeds(given), memo=memo)
    return [result.spec(Entry(n)).shape for n in graph.variables()], [result.spec(e).shape for e in graph.outputs]


def _dtypes_through(graph: Graph, given: Sequence[Any], memo: Memo) -> tuple[list[Any], list[Any]]:
    """As _shapes_through, for dtypes."""
    result = Inference(graph)
    _infer_dtypes(result, {name: d for name, d in graph.feeds(given).items() if d is not None}, None, memo)
    return [result.spec(Entry(n)).dtype for n in graph.variables()], [result.spec(e).dtype for e in graph.outputs]


def _same_dtype(a: np.dtype | None, b: np.dtype | None) -> bool:
    return a is b or (a is not None and b is not None and a == b)  # dtype("float64") == None is True in NumPy


def _agree(a: np.dtype | None, b: np.dtype | None) -> np.dtype | None:
    if a is not None and b is not None and a != b:
        raise ValueError(f"dtypes {a} and {b} differ")
    return a if b is None else b


def _at(node: Node, error: Exception, what: str, values: list[str]) -> MXNetError:
    """The error, with the node it happened at and what the node was given: rules refuse with OpErrors or ValueErrors, whatever
    else they raise is a bug of theirs."""
    assert node.op is not None
    text = reason_of(error, node.op.name)
    names = (*node.op.input_names(), *("extra",) * len(values))
    given = f"{what}: {', '.join(f'{name} {value}' for name, value in zip(names, values))}"
    if isinstance(error, ValueError):
        return at_node(OpError, node.name, node.op.name, text, given)
    said = (
        f"{type(error).__name__}: {text} ({given}); its inference should refuse what it does not take in words, so this is a bug "
        "in the operator, please report it"
    )
    return at_node(InternalError, node.name, node.op.name, said)
