"""Dispatch of eager calls: what is known of one before and after it runs: shapes, dtypes, whether its results are right."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import native
from ..core.attrs import dtype as read_dtype
from ..core.changes import LAST
from ..core.error import MXNetError, OpError
from ..core.memory_budget import afford
from ..core.op import Memo, Op, Spec
from ..core.shapes import is_known, show
from ..execution.program import Program
from ..ir.graph import Entry, Graph, Node
from ..ir.infer import infer

if TYPE_CHECKING:
    from ..execution.lower import CompiledProgram

SMALL = 1 << 18
"""Elements that an operation may read and write in all to be done at once: less than a hand-over costs."""


class SpecializedCall:
    """Facts about calls of an operator with inputs of certain shapes and dtypes."""

    __slots__ = ("changed", "compiled", "fast_path", "size", "small", "specs", "static_shapes", "validated", "work")

    def __init__(
        self,
        specs: tuple[Spec, ...],
        static_shapes: bool,
        small: bool,
        fast_path: bool,
        size: int,
        changed: tuple[int, ...],
    ):
        self.specs = specs
        self.static_shapes = static_shapes
        """True when all shapes are known; else the data decides."""
        self.small = small
        self.fast_path = fast_path
        """One output, small, and compute wants nothing but arrays."""
        self.size = size
        """Bytes of the outputs."""
        self.changed = changed
        """Numbers of the inputs that are written to."""
        self.validated = False
        """True once compute has been seen to give what specs say."""
        self.work = 0
        """Elements that are read and written."""
        self.compiled: dict[tuple[int, bool], CompiledProgram | None] = {}
        """The operator as a program of the compiled part, by LAST.backends and whether it trains."""


def specialize(op: Op, key: tuple[Any, ...]) -> SpecializedCall:
    """The SpecializedCall for inputs of these shapes and dtypes, remembered. Raises OpError when they do not fit."""
    wanted = op.input_names()
    if len(key) != 2 * len(wanted):
        raise OpError(f"{op.name}: got {len(key) // 2} inputs, wanted {len(wanted)} ({', '.join(wanted)})")
    specs = specs_of(op, key[::2], key[1::2])
    known = all(is_known(s.shape) and s.dtype is not None for s in specs)
    counts = [math.prod(s.shape) for s in specs] if known else []  # type: ignore[arg-type]
    size = sum(c * s.dtype.itemsize for c, s in zip(counts, specs))  # type: ignore[union-attr]
    afford(size, f"{op.name}: its output of shape {', '.join(show(s.shape) for s in specs)}")
    work = sum(map(math.prod, key[::2])) + sum(counts[: op.num_visible_outputs()])
    small = work <= SMALL
    call = SpecializedCall(
        specs,
        known,
        small,
        small and len(specs) == 1 and known and not op.needs and not op.mutates and not _heavy(op, work),
        size,
        tuple(i for i, n in enumerate(wanted) if n in op.mutates),
    )
    call.work = work
    if len(op.calls) >= Memo.MOST:
        op.calls.clear()
    op.calls[key] = call
    return call


HEAVY = 1 << 13
"""Elements from which operators with a kernel of their own are worth a call of the compiled part."""


def _heavy(op: Op, work: int) -> bool:
    """True when the operator has a kernel that NumPy is no match for, other than in passing over memory once."""
    return work >= HEAVY and op.name in native.names()


def compile_call(op: Op, call: SpecializedCall, inputs: Sequence[Any], training: bool) -> CompiledProgram | None:
    """The operator as a program of the compiled part for such calls; None where NumPy is as good, or all there is.

    inputs: what has the shapes and dtypes (``shape``, ``_dtype``)."""
    if (
        not call.static_shapes
        or op.mutates
        or "rng" in op.needs
        or "subgraphs" in op.needs
        or (call.small and not _heavy(op, call.work))
    ):
        return None
    key, kept = (LAST.backends, training), call.compiled
    if key not in kept:
        kept[key] = _compile(op, inputs, training)
        if kept[key] is not None:
            _forget_the_oldest(call)
    return kept[key]


PROGRAMS = 128
"""Number of eager calls that keep a program of the compiled part. The oldest gives way: a millisecond makes it anew."""
_compiled: deque[SpecializedCall] = deque()


def _forget_the_oldest(newest: SpecializedCall) -> None:
    _compiled.append(newest)
    while len(_compiled) > PROGRAMS:
        _compiled.popleft().compiled = {}


def _compile(op: Op, inputs: Sequence[Any], training: bool) -> CompiledProgram | None:
    names = [str(i) for i in range(len(inputs))]
    node = Node(op, op.name, [Entry(Node(None, n)) for n in names])
    graph = Graph(Entry(node, i) for i in range(node.num_outputs))
    program = Program(graph, training=training, fixed=None)
    return program.prepare(tuple(v for x in inputs for v in (x.shape, x._dtype))).lowered


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
        raise MXNetError(
            f"Error in operator {op.name}: [{op.name}] computed {result.dtype}{show(result.shape)} where "
            f"inference said {spec.dtype}{show(spec.shape)}; this is a bug in the operator, please report it"
        )
    call.validated = True
    return result


def check_targets(op: Op, targets: Sequence[Any], specs: Sequence[Spec]) -> None:
    """Raise OpError unless the arrays given as ``out`` are as the results will be, MXNetError for one that is read-only."""
    if len(targets) != len(specs):
        raise OpError(f"{op.name}: got {len(targets)} arrays in out, wanted {len(specs)}")
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
        raise TypeError(f"{error}; an NDArray can have numbers or bool, and no complex ones") from None
    if found.kind not in "biufV":
        raise TypeError(f"dtype {found} is none that an NDArray can have; wanted numbers or bool, and not complex ones")
    return found
