"""A symbol as one operator: what ``hybridize`` and bound executors run, forward and backward.

With gradients, the graph is cut in two. The forward part gives the outputs and what the backward part reads of the steps in
between (residuals); the backward part turns gradients of the outputs into those of the inputs. Both are planned once per
set of shapes, and the backward part is a CachedOp too, so that gradients can be differentiated again.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..core import rng as generators
from ..core.changes import LAST
from ..core.error import OpError
from ..core.op import Spec
from ..core.precision import FLOAT32
from ..device.base import Device
from ..execution import backends
from ..execution.backend import SMALL, Shortcut, ShortcutInParts
from ..execution.context import Context, device_for, resolve
from ..execution.hooks import HOOKS, Observer
from ..execution.precision_report import PrecisionReport, report
from ..execution.program import Program, Specialization
from ..execution.scheduler import SCHEDULER
from ..frontend.symbol import Symbol
from ..ir.differentiate import gradients
from ..ir.graph import Entry, Graph, Node
from ..ir.kept_draws import keeping
from ..ir.strict import outside, picks
from .array import NDArray, _has_pending_work, _signature, pending, with_origin
from .dispatch import without_aliasing
from .np_array import ndarray
from .tape import STATE, TapeRecord, living
from .watch import Watch

Place = tuple[int, int]
"""The queue of a context, as which its programs are known."""
CPU: Place = Context("cpu").queue


class BackwardProgram(NamedTuple):
    """The backward part for certain gradients that arrive and certain inputs that want theirs."""

    op: CachedOp
    reads: tuple[tuple[str, int], ...]
    """Inputs, in order: an "input", a "residual", or the gradient of an output ("head"), and which."""
    results: tuple[int | None, ...]
    """For each wanted input, which of its outputs is the gradient."""
    shares: tuple[tuple[Node, int, int], ...]
    """(node, input, which of its outputs) for each share of a gradient, where somebody watches."""


class Split(NamedTuple):
    """The forward part with residuals."""

    program: Program
    residuals: tuple[Entry, ...]
    order: tuple[int, ...]
    """Numbers of the CachedOp's inputs that the program takes, in its order."""
    watched: bool
    """True when the backward part gives the shares of gradients too."""
    error: OpError | None = None
    """Reason why there are no gradients, if so; raised when somebody asks for them."""


class CachedOp:
    """Calls take arrays in the order of ``sym.list_inputs()``.

    flags: pairs of names and values, as HybridBlock.hybridize takes them. static_alloc: the memory of a run is kept for the next
    (else it goes back to the allocator); static_shape: one set of input shapes is remembered, another one replaces it; precise: no
    kernel that trades accuracy for speed (Winograd); precision: of constant weights where no gradients are wanted
    (core/precision.py), by default what set_precision says; param_indices: which inputs are parameters. Others change nothing.
    Source: MXNet CachedOp.

    Raises OpError for variables of one name.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x, w = mx.sym.var("x"), mx.sym.var("w")
    >>> op = mx.nd.CachedOp(x * w + 1, [("param_indices", (1,))])
    >>> op(mx.nd.array([1, 2]), mx.nd.array([3, 4])).asnumpy()
    array([4., 9.], dtype=float32)
    >>> op.program(training=False).names
    ('x', 'w')
    """

    def __init__(self, sym: Symbol, flags: Any = ()):
        self.symbol = sym
        self.graph = sym.graph
        self.flags = dict(flags)
        self.face: type[NDArray] = NDArray if sym._face is Symbol else ndarray
        """The class of what calls give: a symbol of mx.sym.np gives arrays of mx.np."""
        self.names = tuple(n.name for n in self.graph.variables())
        if len(set(self.names)) < len(self.names):
            twice = sorted({n for n in self.names if self.names.count(n) > 1})
            raise OpError(f"variables of one name: {', '.join(twice)}; give each its own")
        self._mark = "_"  # of the names of variables that stand for residuals and heads, unlike any of our own
        while any(n.startswith((f"{self._mark}residual", f"{self._mark}head")) for n in self.names):
            self._mark += "_"
        states = {n.name for n in self.graph.auxiliary_states()}
        self.states = tuple(i for i, n in enumerate(self.names) if n in states)
        self.derived = False
        """True for the backward part of another."""
        ops = [n.op for n in self.graph.all_nodes() if n.op is not None]
        few = sum(n.op is not None for n in self.graph.nodes) <= int(self.flags.get("inline_limit", 2))
        self._inlined = few and not self.flags.get("static_alloc", False)
        """True where MXNet records the operators one by one, so that outputs without a gradient are not reached."""
        self._draws = {training: any(op.draws(training) for op in ops) for training in (False, True)}
        """True where a run, in training or not, takes random numbers."""
        self._picks = tuple(picks(self.graph))
        """Positions among the arguments that may not be outside of what they pick from."""
        self._recorded: Graph | None = None
        self._programs: dict[tuple[bool, Place], Program] = {}
        self._splits: dict[Any, Split] = {}
        self._backwards: dict[Any, BackwardProgram] = {}
        self.watch: Watch | None = None
        """Callback that sees what is computed, if so."""

    def __reduce__(self) -> Any:
        return CachedOp, (self.symbol, tuple(self.flags.items()))

    def program(self, training: bool, place: Place = CPU) -> Program:
        """The program that runs without gradients. Each place has its own: it holds what follows from parameters, of which each
        place has other ones. In training nothing is held, and all share one."""
        key = training, CPU if training else place
        if key not in self._programs:
            self._programs[key] = self._program(self.graph, training, self.flags.get("precision"))
        return self._programs[key]

    def _program(self, graph: Graph, training: bool, precision: str | None) -> Program:
        fixed = [self.names[i] for i in self.flags.get("param_indices", ())]
        flag = {n: bool(self.flags.get(n, False)) for n in ("precise", "static_alloc", "static_shape")}
        plans = 1 if flag["static_shape"] else Program.PLANS
        return Program(
            graph,
            training=training,
            fixed=fixed,
            precise=flag["precise"],
            keep=flag["static_alloc"],
            plans=plans,
            precision=precision,
        )

    def split(self, wanted: tuple[int, ...], training: bool, place: Place = CPU) -> Split:
        """The forward part for gradients of the wanted inputs; one a place, as of ``program``.

        Examples
        --------
        >>> from gluonnx import mx
        >>> op = mx.nd.CachedOp(mx.sym.exp(mx.sym.var("x")))
        >>> split = op.split((0,), training=True)
        >>> len(split.residuals), split.order  # the output is kept for the gradient
        (1, (0,))
        """
        key = wanted, training, self.watch is not None, CPU if training else place
        if key not in self._splits and key[-1] != CPU:
            first = self.split(wanted, training)
            graph = first.program.graph
            program = self._program(graph, training, FLOAT32) if first.error is None else self.program(training, place)
            self._splits[key] = first._replace(program=program)
        elif key not in self._splits:
            try:
                _, found, shares = self._differentiate(tuple(range(len(self.graph.outputs))), (), wanted)
            except OpError as error:
                self._splits[key] = self._split(self.program(training, place), (), error)
                return self._splits[key]
            inside = {id(n) for n in self._with_draws().nodes if not n.is_variable}
            residuals: dict[tuple[int, int], Entry] = {}
            backward = Graph((*(e for e in found if e is not None), *(e for _, _, e in shares)))
            read = [e for n in backward.nodes if id(n) not in inside for e in n.inputs]
            for entry in (*read, *backward.outputs):
                if id(entry.node) in inside:
                    residuals.setdefault((id(entry.node), entry.index), entry)
            graph = Graph((*self._with_draws().outputs, *residuals.values()))
            self._splits[key] = self._split(self._program(graph, training, FLOAT32), tuple(residuals.values()))
        return self._splits[key]

    def _split(self, program: Program, residuals: tuple[Entry, ...], error: OpError | None = None) -> Split:
        places = {n: i for i, n in enumerate(self.names)}
        return Split(program, residuals, tuple(places[n] for n in program.names), self.watch is not None, error)

    def _with_draws(self) -> Graph:
        """The graph that is differentiated: it keeps what loops have drawn."""
        if self._recorded is None:
            self._recorded = keeping(self.graph)
        return self._recorded

    def _differentiate(
        self, heads: tuple[int, ...], residuals: tuple[Entry, ...], wanted: tuple[int, ...]
    ) -> tuple[list[Node], list[Entry | None], list[tuple[Node, int, Entry]]]:
        """Variables for the gradients of heads, the gradients of wanted inputs as entries, and their shares where watched."""
        graph = self._with_draws()
        ends = (*graph.outputs, *residuals)
        nodes = [Node(None, f"{self._mark}head{i}") for i in heads]
        variables = graph.variables()
        shares: list[tuple[Node, int, Entry]] = []
        given = [(ends[i], Entry(n)) for i, n in zip(heads, nodes)]
        # of a whole graph all outputs get gradients, zeros too
        others = () if heads and self._inlined else graph.outputs
        found = gradients(given, [variables[i] for i in wanted], others, None if self.watch is None else shares)
        return nodes, found, shares

    def backward(self, heads: tuple[int, ...], wanted: tuple[int, ...], split: Split) -> BackwardProgram:
        """The backward part for gradients that arrive at heads (outputs, then residuals).

        Examples
        --------
        >>> from gluonnx import mx
        >>> op = mx.nd.CachedOp(mx.sym.exp(mx.sym.var("x")))
        >>> part = op.backward((0,), (0,), op.split((0,), training=True))
        >>> part.reads, part.results  # the output that was kept, and the gradient that arrives
        ((('head', 0), ('residual', 0)), (0,))
        """
        if split.error is not None:
            raise split.error
        key = heads, wanted, split.program.training, split.watched
        if key in self._backwards:
            return self._backwards[key]
        nodes, found, shares = self._differentiate(heads, split.residuals, wanted)
        given = {(id(e.node), e.index): (f"{self._mark}residual{i}", i) for i, e in enumerate(split.residuals)}
        stand: dict[str, Entry] = {}

        def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
            if not any((id(node), i) in given for i in range(node.num_outputs)):
                return None
            same = all(a.node is b.node for a, b in zip(inputs, node.inputs))
            kept = node if same else Node(node.op, node.name, inputs, node.attrs, node.subgraphs)
            entries = []
            for i in range(node.num_outputs):
                name, _ = given.get((id(node), i), ("", 0))
                entries.append(stand.setdefault(name, Entry(Node(None, name))) if name else Entry(kept, i))
            return entries

        present = [*(e for e in found if e is not None), *(e for _, _, e in shares)]
        graph = Graph(present).rewrite(change)
        op = CachedOp(self.symbol._face(graph.outputs), [("precision", FLOAT32)])
        op.derived = True
        sources = {n: ("input", i) for i, n in enumerate(self.names)}
        sources |= {name: ("residual", i) for name, i in given.values()}
        sources |= {n.name: ("head", i) for n, i in zip(nodes, heads)}
        position = iter(range(len(present)))
        made = BackwardProgram(
            op,
            tuple(sources[n] for n in op.names),
            tuple(None if e is None else next(position) for e in found),
            tuple((node, i, next(position)) for node, i, _ in shares),
        )
        self._backwards[key] = made
        return made

    def __call__(self, *args: NDArray, out: Any = None) -> Any:
        """The outputs: an NDArray, or a list of them when there are several.

        Raises ValueError for too few or many inputs, OpError when their shapes or dtypes do not fit."""
        if len(args) != len(self.names):
            raise ValueError(f"got {len(args)} inputs, wanted {len(self.names)} ({', '.join(self.names)})")
        made = self._run(args)
        if out is not None:
            targets = [out] if isinstance(out, NDArray) else list(out)
            for target, result in zip(targets, made, strict=True):
                target._assign(..., result)
            return out
        return made[0] if len(made) == 1 else made

    def precision_report(self, args: Sequence[NDArray]) -> PrecisionReport:
        """Costs of the precision of this on these arrays, in the order of a call.

        Examples
        --------
        >>> from gluonnx import mx
        >>> dense = mx.sym.FullyConnected(mx.sym.var("x"), mx.sym.var("w"), no_bias=True, num_hidden=2, name="top")
        >>> op = mx.nd.CachedOp(dense, [("param_indices", (1,)), ("precision", "bfloat16")])
        >>> report = op.precision_report([mx.nd.ones((1, 3)), mx.nd.ones((2, 3))])
        >>> type(report).__name__
        'PrecisionReport'
        """
        program = self.program(False)
        feeds = {n: a.asnumpy() for n, a in zip(self.names, args, strict=True)}
        return report(program, feeds, self.symbol.list_outputs(), program.precision)

    def fast_call(
        self, args: Sequence[NDArray], given: Mapping[int, int], holders: Sequence[Any], structure: int
    ) -> FastCall | None:
        """Return a FastCall for calls like one that has been made; None where nothing is faster.

        args: those of a call for inference that has been made; given: which of them the next call is to give, and in what place
        each; holders: of the others, objects that have them as ``_data``, for as long as they are the same; structure:
        the ``LAST.structure`` for which they are the right ones. Such calls run in the caller, unless they take long.

        Examples
        --------
        >>> from gluonnx import mx
        >>> from hybrid.eager.cached_op import LAST
        >>> op = mx.nd.CachedOp(mx.sym.exp(mx.sym.var("x")))
        >>> x = mx.nd.ones(2)
        >>> _ = op(x)
        >>> fast = op.fast_call([x], {0: 0}, [], LAST.structure)
        >>> fast is None or fast(2 * x).shape == (2,)  # None without the compiled part
        True
        """
        if self._draws[False] or self.watch is not None:
            return None
        known = LAST.backends, structure
        others = [a for i, a in enumerate(args) if i not in given]
        if any(a._shared_var().external for a in others):
            return None
        if any(a._ctx.is_device for a in args):
            return None
        program = self.program(False, _place(args))
        prepared = program.prepare(_signature(args)[1])
        bound = prepared.bound
        if bound.long and (program.written or not prepared.known):
            return None
        held = [None if i in given else a._read() for i, a in enumerate(args)]
        shortcut = bound.shortcut([a._value_version() for a in args], held)
        if shortcut is None or any(p not in given for p in shortcut.positions):
            return None
        inputs = [args[i] for i in sorted(given, key=given.__getitem__)]
        order = [given[p] for p in shortcut.positions]
        places = {self.names[i]: place for i, place in given.items()}
        sizes = {n: a.shape for n, a in zip(self.names, args)}
        looks = [(places[p.positions], sizes[p.table][p.axis]) for p in self._picks if p.positions in places]
        if bound.long:
            if shortcut.boxes:
                return None
            later = FastCallLater(shortcut, inputs, order, others, holders, known)
            later.prepare(prepared, [given.get(i) for i in range(len(args))], looks)
            return later
        if self._picks:
            call = FastCallThatLooks(shortcut, inputs, order, others, holders, known)
            call.looks = looks
            return call
        made = FastCall if shortcut.single and len(given) == 1 else FastCallOfSome
        return made(shortcut, inputs, order, others, holders, known)

    def _register_op_hook(self, callback: Callable[[str, str, NDArray], Any], monitor_all: bool = False) -> None:
        """Call ``callback(name, operator, array)`` for every output of every operator, backward ones included, from now on;
        monitor_all: for every input too."""
        self.watch = Watch(callback, bool(monitor_all))

    def _run(self, args: Sequence[NDArray]) -> list[NDArray]:
        observe = None
        if self.watch is not None:
            ctx = args[0]._ctx if args else resolve(None)
            observe = self.watch.observer(dict(zip(self.names, args)), ctx, self.face)
        if self._picks:
            self._refuse_outside(args)
        wanted = ()
        if STATE.recording:
            wanted = tuple(i for i, x in enumerate(args) if living(x._origin) is not None and i not in self.states)
        training = STATE.training
        place = _place(args)
        if not wanted:
            return launch(self.program(training, place), args, self._draws[training], observe, self.face)
        split = self.split(wanted, training, place)
        made = launch(split.program, [args[i] for i in split.order], self._draws[training], observe, self.face)
        count = len(self.graph.outputs)
        parents = [living(x._origin) for x in args]
        made_by = _CachedOpRecord(self, split, wanted, args, made[count:], parents, len(made))
        for i, y in enumerate(made):
            y._origin = (made_by, i)
        return made[:count]

    def _refuse_outside(self, args: Sequence[NDArray]) -> None:
        """Raise OpError for positions that pick nothing; on a device nobody looks, which would have to wait for it."""
        places = {n: i for i, n in enumerate(self.names)}
        for each in self._picks:
            positions, table = args[places[each.positions]], args[places[each.table]]
            if not positions._ctx.is_device:
                each.refuse(positions._read(), table.shape[each.axis])


def _place(args: Sequence[NDArray]) -> Place:
    """The place whose program such a call runs."""
    return args[0]._ctx.queue if args else CPU


class FastCall:
    """A call like one that has been made, by a backend's shortcut: an array in, an array out.

    What such a call checks is compared at once: nothing is recorded, the array is ready and like the one before (on the same device
    too, as parameters are others elsewhere), the parameters are the same arrays with the same values, and these values are what
    the backend holds. Anything else is somebody else's business: the answer is None then.

    known: the ``LAST.backends`` and ``LAST.structure`` for which all this was found. count: of the outputs; boxes: places of those
    that may be sequences or maps; in_parts: whether it is a ShortcutInParts; missed: calls
    that it has left to the long way."""

    __slots__ = (
        "_ctx",
        "_dtype",
        "_exchange",
        "_given",
        "_held",
        "_holders",
        "_known",
        "_make",
        "_number",
        "_order",
        "_out",
        "_results",
        "_run",
        "_shape",
        "_time",
        "_vars",
        "_versions",
        "boxes",
        "count",
        "in_parts",
        "missed",
    )

    def __init__(
        self,
        shortcut: Shortcut | ShortcutInParts,
        inputs: Sequence[NDArray],
        order: Sequence[int],
        others: Sequence[NDArray],
        holders: Sequence[Any],
        known: tuple[int, int],
    ):
        self._given = [(m.shape, m.dtype) for m in (x._read() for x in inputs)]
        (self._shape, self._dtype), self._ctx = self._given[0], inputs[0]._ctx
        self.count, self.boxes = shortcut.count, shortcut.boxes
        self._order, self._results = order, shortcut.results
        if isinstance(shortcut, Shortcut):
            self._make, shape, dtype = shortcut.outputs[0]
            self._out = shape, dtype
            self._run, self._number = shortcut.run, shortcut.number
        self._vars = [a._shared_var() for a in others]
        self._versions = [v.version for v in self._vars]
        self._holders = holders
        self._held = [weakref.ref(a) for a in others]  # not addresses, which others get when these have gone
        self._known = known
        self._time = self._exchange = -1
        self.in_parts, self.missed = not isinstance(shortcut, Shortcut), 0

    def is_current(self) -> bool:
        """True while the parameters are the same arrays with the same values, blocks have the same children, and graphs would
        become the same programs, which nobody watches; asked when anything at all has changed."""
        time = LAST.change
        if HOOKS or (LAST.backends, LAST.structure) != self._known:
            return False
        if [v.version for v in self._vars] != self._versions:
            return False
        exchange = LAST.exchange
        if exchange != self._exchange:
            for holder, held in zip(self._holders, self._held):
                array = held()
                if array is None or not any(a is array for a in holder._data or ()):
                    return False
            self._exchange = exchange
        self._time = time
        return True

    def __call__(self, x: NDArray) -> NDArray | None:
        memory, var = x._memory, x._var
        if (
            memory is None
            or memory.shape != self._shape
            or memory.dtype is not self._dtype
            or (x._ctx is not self._ctx and x._ctx != self._ctx)
            or (var is not None and (var.writer is not None or var.error is not None))
            or STATE.recording
            or STATE.training
            or (self._time != LAST.change and not self.is_current())
        ):
            return None
        out = self._make(*self._out)
        if not self._run(memory, out, self._number):
            return None
        made = _NEW(x.__class__)
        made._memory, made._ctx = out, self._ctx
        made._var = made._origin = None
        return made


class FastCallOfSome(FastCall):
    """A FastCall of several arrays in, or several out, as a list."""

    __slots__ = ()

    def __call__(self, *given: NDArray) -> Any:
        memories = []
        for x, (shape, dtype) in zip(given, self._given, strict=True):
            memory, var = x._memory, x._var
            if (
                memory is None
                or memory.shape != shape
                or memory.dtype is not dtype
                or (x._ctx is not self._ctx and x._ctx != self._ctx)
                or (var is not None and (var.writer is not None or var.error is not None))
            ):
                return None
            memories.append(memory)
        if STATE.recording or STATE.training or (self._time != LAST.change and not self.is_current()):
            return None
        outs = self._results([memories[i] for i in self._order])
        if outs is None:
            return None
        found, face = [], given[0].__class__
        for out in outs:
            made = _NEW(face)
            made._memory, made._ctx = out, self._ctx
            made._var = made._origin = None
            found.append(made)
        return found[0] if len(found) == 1 else found


class FastCallThatLooks(FastCallOfSome):
    """A FastCall that leaves positions outside of what they pick from to the long way, which refuses them."""

    __slots__ = ("looks",)

    looks: Sequence[tuple[int, int]]
    """Numbers of the arrays given that hold positions, each with how many places there are."""

    def __call__(self, *given: NDArray) -> Any:
        return super().__call__(*given) if _all_inside(self.looks, given) else None


class FastCallLater(FastCall):
    """A FastCall whose run is handed over: it takes so long that who calls may do something else meanwhile. Arrays in may be
    pending, but for positions to be looked at; those that come out are, as a list where there are several."""

    __slots__ = ("_args", "_looks", "_prepared", "_size")

    def prepare(self, prepared: Specialization, args: Sequence[int | None], looks: Sequence[tuple[int, int]]) -> None:
        """Say what runs where the shortcut does not. args: for each of its arguments, which array of a call it is, None for the
        next of those that stay the same. looks: see FastCallThatLooks."""
        self._prepared, self._args, self._looks = prepared, args, looks
        self._size = _size_of(prepared.outputs)

    def __call__(self, *given: NDArray) -> Any:
        for x, (shape, dtype) in zip(given, self._given, strict=True):
            array: Any = x._var if x._memory is None else x._memory
            if array.shape != shape or array.dtype is not dtype or (x._ctx is not self._ctx and x._ctx != self._ctx):
                return None
        if STATE.recording or STATE.training or (self._time != LAST.change and not self.is_current()):
            return None
        if self._looks and not _all_inside(self._looks, given):
            return None
        held = iter([array() for array in self._held])
        args: list[Any] = [next(held) if i is None else given[i] for i in self._args]
        face = given[0].__class__
        made = [pending(s, self._ctx, face) for s in self._prepared.outputs]

        def run() -> None:
            try:
                results = self._results([given[i]._storage() for i in self._order])
            except MemoryError:
                results = None  # the long way says what there is none for
            if results is None:  # or another thread has run it with other values of what it holds
                results = _run_once(self._prepared, [x._storage() for x in args], None, args)
            for y, result in zip(made, results):
                y._fulfil(result)

        reads = [*self._vars, *(x._shared_var() for x in given)]
        SCHEDULER.push(run, reads, [y._shared_var() for y in made], self._size, self._ctx.queue)
        return made[0] if len(made) == 1 else made


def _all_inside(looks: Sequence[tuple[int, int]], given: Sequence[NDArray]) -> bool:
    """True where positions that are ready are within so many places, see FastCallThatLooks."""
    for place, size in looks:
        memory, var = given[place]._memory, given[place]._var
        if memory is None or (var is not None and var.writer is not None) or outside(memory, size):
            return False
    return True


def _size_of(specs: Sequence[Spec]) -> int:
    """Bytes of arrays of known shapes."""
    return sum(math.prod(s.shape) * s.dtype.itemsize for s in specs)  # type: ignore[arg-type,union-attr]


_NEW = object.__new__


def launch(
    program: Program,
    args: Sequence[NDArray],
    draws: bool,
    observe: Observer | None = None,
    face: type[NDArray] = NDArray,
) -> list[NDArray]:
    """The outputs of a program: at once when that is quick and everything is ready, else by the scheduler.

    args in the order of ``program.names``; observe: see Program.run; face: the outputs' class."""
    arrays, key, ready = _signature(args)
    ctx = args[0]._ctx if args else resolve(None)
    device = None if ready else device_for("_CachedOp", [x._ctx for x in args] or [ctx])
    if device is not None:
        return _launch_there(program, device, key, args, draws, observe, face)
    prepared = program.prepare(key)
    rng = generators.fork() if draws else None
    written = [args[i] for i in program.written]
    quick = prepared.work <= SMALL or prepared.bound.quick
    if ready and quick and observe is None and not any(map(_has_pending_work, written)):
        with _writing(written):
            return [face._own(r, ctx) for r in _run_once(prepared, arrays, rng, args)]
    if not prepared.known or observe is not None:
        for x in written:
            x.wait_to_write()
        with _writing(written):
            arrays = [x._read() for x in args]
            versions = [x._value_version() for x in args]
            results = prepared.runner(observe).run(arrays, versions, rng, observe)
        return [face._own(r, ctx) for r in without_aliasing(results)]
    made = [pending(s, ctx, face) for s in prepared.outputs]

    def run() -> None:
        for y, result in zip(made, _run_once(prepared, [x._storage() for x in args], rng, args)):
            y._fulfil(result)

    if prepared.bound.aliases:
        backends.warn_of_missing()
    reads, writes = [x._shared_var() for x in args], [y._shared_var() for y in (*made, *written)]
    SCHEDULER.push(run, reads, writes, _size_of(prepared.outputs), ctx.queue)
    return made


def _launch_there(
    program: Program,
    device: Device,
    key: tuple[Any, ...],
    args: Sequence[NDArray],
    draws: bool,
    observe: Observer | None,
    face: type[NDArray],
) -> list[NDArray]:
    """The outputs of a program on a device, which is busy with them when this returns. Who observes sees NumPy compute them."""
    written = [args[i] for i in program.written]
    ctx = args[0]._ctx if args else resolve(None)
    for x in written:
        x.wait_to_write()
    rng = generators.fork() if draws else None
    with _writing(written):
        if observe is None:
            there = [x._settled() for x in args]
            made = program.on(device, key).run_there(there, [x._value_version() for x in args], rng)
        else:
            host = [x._read() for x in args]
            made = without_aliasing(program.prepare(key).reference.run(host, None, rng, observe))
            for i in program.written:
                args[i]._write()[...] = host[i]
        return [face._own(r, ctx) for r in made]


@contextmanager
def _writing(written: Sequence[NDArray]) -> Iterator[None]:
    """``with`` block in which a run in this thread writes to arrays: they hold other values afterwards, also when it has failed."""
    try:
        yield
    finally:
        for x in written:
            x._mark_written()


def _run_once(
    prepared: Specialization, arrays: Sequence[Any], rng: Any, args: Sequence[NDArray]
) -> Sequence[np.ndarray]:
    """The results for the arrays of args, each in memory of its own."""
    runner = prepared.runner()
    if runner.aliases:
        return without_aliasing(runner.run(arrays, None, rng))
    return runner.run(arrays, [x._value_version() for x in args], rng)


class _CachedOpRecord(TapeRecord):
    """A recorded call of a CachedOp. Its outputs on the tape are those of the call, then the residuals."""

    __slots__ = ("args", "op", "residuals", "split", "wanted")

    def __init__(
        self,
        op: CachedOp,
        split: Split,
        wanted: tuple[int, ...],
        args: Sequence[NDArray],
        residuals: Sequence[NDArray],
        parents: Sequence[Any],
        outputs: int,
    ):
        super().__init__(parents, outputs)
        self.op, self.split, self.wanted = op, split, wanted
        self.args: list[NDArray] | None = [x._detached_alias() for x in args]
        self.residuals: list[NDArray] | None = [r._detached_alias() for r in residuals]

    def release(self) -> None:
        super().release()
        self.args = self.residuals = None

    def backward(self, dys: Sequence[NDArray | None]) -> Sequence[NDArray | None]:
        assert self.args is not None and self.residuals is not None  # until it is released
        heads = tuple(i for i, dy in enumerate(dys) if dy is not None)
        found = self.op.backward(heads, self.wanted, self.split)
        count = len(self.op.graph.outputs)
        given: list[Any] = []
        for place, (source, i) in enumerate(found.reads):
            if source == "head":
                given.append(dys[i])
            elif source == "residual":
                given.append(_with_history(self.residuals[i], (self, count + i)))
            else:  # what is computed again for gradients of gradients must not move running statistics again
                array = _with_history(self.args[i], self.parents[i])
                given.append(array.copy() if self.op.derived and place in found.op.states else array)
        results = found.op._run(given) if found.op.graph.outputs else []
        out: list[NDArray | None] = [None] * len(self.parents)
        for i, place in zip(self.wanted, found.results):
            out[i] = None if place is None else results[place]
        if self.op.watch is not None:
            self.op.watch.show_shares((node, i, results[place]) for node, i, place in found.shares)
        return out


def _with_history(array: NDArray, node: Any) -> NDArray:
    """The array with its history, when that may be asked for."""
    return with_origin(array, node) if STATE.recording else array
