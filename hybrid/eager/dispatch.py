"""Dispatch of eager calls: what is known of one before and after it runs: shapes, dtypes, whether its results are right."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.attrs import dtype as read_dtype
from ..core.changes import LAST
from ..core.error import MXNetError, OpError, at_node
from ..core.memory_budget import afford
from ..core.op import Memo, Op, Spec
from ..core.shapes import is_known, show
from ..execution import backends
from ..execution.backend import SMALL, Bound
from ..execution.hooks import HOOKS
from ..execution.program import Program
from ..ir.graph import Entry, Graph, Node
from ..ir.infer import infer


class SpecializedCall:
    """Facts about calls of an operator with inputs of certain shapes and dtypes."""

    __slots__ = (
        "bound",
        "changed",
        "fast_path",
        "settings",
        "size",
        "small",
        "specs",
        "static_shapes",
        "validated",
        "work",
    )

    def __init__(
        self,
        specs: tuple[Spec, ...],
        static_shapes: bool,
        small: bool,
        fast_path: int,
        size: int,
        changed: tuple[int, ...],
        settings: int,
    ):
        self.specs = specs
        self.static_shapes = static_shapes
        """True when all shapes are known; else the data decides."""
        self.small = small
        self.fast_path = fast_path
        """The ``LAST.settings`` for which it has one output, is small, compute wants nothing but arrays, no hook is to see it, and
        no backend takes it from NumPy; -1 for none."""
        self.size = size
        """Bytes of the outputs."""
        self.changed = changed
        """Numbers of the inputs that are written to."""
        self.settings = settings
        """The ``LAST.settings`` for which this was found."""
        self.validated = False
        """True once compute has been seen to give what specs say."""
        self.work = 0
        """Elements that are read and written."""
        self.bound: dict[tuple[Op, bool], Bound | None] = {}
        """The operators as a backend runs them, by whether they train; None where NumPy does, by ``apply``."""


def specialize(op: Op, key: tuple[Any, ...]) -> SpecializedCall:
    """The SpecializedCall for inputs of these shapes and dtypes, remembered. Raises OpError when they do not fit."""
    settings = LAST.settings
    wanted = op.input_names()
    if len(key) != 2 * len(wanted):
        raise op.error(f"got {len(key) // 2} inputs, wanted {len(wanted)} ({', '.join(wanted)})")
    specs = specs_of(op, key[::2], key[1::2])
    known = all(is_known(s.shape) and s.dtype is not None for s in specs)
    counts = [math.prod(s.shape) for s in specs] if known else []  # type: ignore[arg-type]
    size = sum(c * s.dtype.itemsize for c, s in zip(counts, specs))  # type: ignore[union-attr]
    afford(size, f"{op.name}: its output of shape {', '.join(show(s.shape) for s in specs)}")
    work = sum(map(math.prod, key[::2])) + sum(counts[: op.num_visible_outputs()])
    small = work <= SMALL
    plain = small and len(specs) == 1 and known and not op.needs and not op.mutates
    call = SpecializedCall(
        specs,
        known,
        small,
        settings if plain and not HOOKS and not backends.takes(op, work) else -1,
        size,
        tuple(i for i, n in enumerate(wanted) if n in op.mutates),
        settings,
    )
    call.work = work
    if len(op.calls) >= Memo.MOST:
        op.calls.clear()
    op.calls[key] = call
    return call


def bind_call(op: Op, call: SpecializedCall, inputs: Sequence[Any], training: bool) -> Bound | None:
    """The operator as a backend runs it for such calls; None where NumPy does, by ``apply``.

    inputs: what has the shapes and dtypes (``shape``, ``_dtype``)."""
    known, key = call.bound, (op, training)
    bound = known.get(key, _UNKNOWN)
    if bound is _UNKNOWN:
        bound = _bind(op, call, inputs, training)
        if len(known) >= PROGRAMS:  # of operators that share what is known of their calls
            known.clear()
        known[key] = bound
        if bound is not None:
            _bound.append((known, key))
        while len(_bound) > PROGRAMS:
            oldest, gone = _bound.popleft()
            oldest.pop(gone, None)
    return None if bound is None or (HOOKS and not bound.observes) else bound


PROGRAMS = 128
"""Number of eager calls that stay bound to a backend. The oldest gives way: a millisecond binds it anew."""
_UNKNOWN: Any = object()
_bound: deque[tuple[dict[tuple[Op, bool], Bound | None], tuple[Op, bool]]] = deque()


def _bind(op: Op, call: SpecializedCall, inputs: Sequence[Any], training: bool) -> Bound | None:
    if not call.static_shapes or "subgraphs" in op.needs or not backends.takes(op, call.work):
        return None
    names = [str(i) for i in range(len(inputs))]
    node = Node(op, op.name, [Entry(Node(None, n)) for n in names])
    graph = Graph(Entry(node, i) for i in range(node.num_outputs))
    found = Program(graph, training=training, fixed=None).prepare(tuple(v for x in inputs for v in (x.shape, x._dtype)))
    return None if found.bound.aliases else found.bound


def specs_of(op: Op, shapes: Sequence[tuple[int, ...]], dtypes: Sequence[np.dtype]) -> tuple[Spec, ...]:
    """Specs of the operator's outputs for such inputs, by the same inference that graphs get. Raises OpError when they do
    not fit."""
    inputs = [Node(None, f"{i}") for i in range(len(shapes))]
    node = Node(op, op.name, map(Entry, inputs))
    graph = Graph([Entry(node, i) for i in range(node.num_outputs)])
    result = infer(graph, {n.name: s for n, s in zip(inputs, shapes)}, {n.name: d for n, d in zip(inputs, dtypes)})
    return tuple(map(result.spec, graph.outputs))


def check_first_result(op: Op, result: Any, call: SpecializedCall) -> np.ndarray:
    """The single result of a first call, if it is as inference said. Raises MXNetError otherwise."""
    (result,) = result if isinstance(result, tuple | list) else (result,)
    result, (spec,) = np.asarray(result), call.specs
    if result.shape != spec.shape or result.dtype != spec.dtype:
        said = (
            f"computed {result.dtype}{show(result.shape)} where inference said {spec.dtype}{show(spec.shape)}; this is a bug in "
            "the operator, please report it"
        )
        raise at_node(MXNetError, op.name, op.name, said)
    call.validated = True
    return result


def check_targets(op: Op, targets: Sequence[Any], specs: Sequence[Spec]) -> None:
    """Raise OpError unless the arrays given as ``out`` are as the results will be, MXNetError for one that is read-only."""
    if len(targets) != len(specs):
        raise op.error(f"got {len(targets)} arrays in out, wanted {len(specs)}")
    for target, spec in zip(targets, specs):
        shape, dtype = spec
        wrong = is_known(shape) and target.shape != shape
        if wrong or (dtype is not None and target._dtype != dtype):
            raise OpError(
                f"{op.name}: result is {spec.dtype}{show(spec.shape)}, but out is {target._dtype}{show(target.shape)}; "
                "wanted the same"
            )
        target._check_writable()


def contiguous_copy(result: np.ndarray) -> np.ndarray:
    """The result, or a copy where it is a view (of an input, say) or laid out otherwise than NDArrays are."""
    plain = result.base is None and result.flags.c_contiguous and result.flags.writeable
    return result if plain else np.array(result, order="C")


def without_aliasing(results: Sequence[np.ndarray], arrays: Sequence[np.ndarray] = ()) -> list[np.ndarray]:
    """The results, each in memory of its own: neither that of one of arrays (the inputs) nor another result's."""
    taken = {id(a) for a in arrays}
    made = []
    for result in map(contiguous_copy, results):
        made.append(result.copy() if id(result) in taken else result)
        taken.add(id(result))
    return made


def array_dtype(dtype: Any) -> np.dtype:
    """The dtype meant, float32 for None. Raises TypeError for one that arrays cannot have."""
    try:
        found = read_dtype("float32" if dtype is None else dtype)
    except ValueError as error:
        try:
            found = read_dtype(np.dtype(dtype).name)  # NumPy's other ways to say one: "l", "<f4", "float"
        except (TypeError, ValueError):
            raise TypeError(f"{error}; an NDArray can have numbers or bool, and no complex ones") from None
    if found.kind not in "biufV":
        raise TypeError(f"dtype {found} is none that an NDArray can have; wanted numbers or bool, and not complex ones")
    return found
