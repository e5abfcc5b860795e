"""Lowers a graph to a program of the compiled part: what is a step, where each tensor lives, who has a kernel.

The passes have rewritten the graph by then (passes/). Here nothing is computed differently any more: nodes become steps in order,
renamings of memory (Reshape) become nothing, and tensors get places:

- an input, an output or a constant of the program, or a place in one arena, where no two that are alive together overlap;
- what a concatenation of blocked data joins is written straight into the result, at its channel;
- blocked data that padded convolutions read has a halo of zeros as wide as the widest padding;
- a chain writes over an input of its size that nobody reads afterwards.

Steps without a kernel are computed by NumPy, called back from the program, and so are those whose kernel refuses the values of a
run: positions that there are not, say.
"""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import native
from ..core.attrs import dtype_text
from ..core.dims import Dim, Written, has_dims, plain
from ..core.error import InternalError, MXNetError
from ..core.forking import rlock
from ..core.fp_warnings import ignoring_fp_warnings
from ..core.memory_budget import afford
from ..core.op import Op, Spec
from ..core.precision import FLOAT32
from ..core.shapes import is_known, show
from ..formats.params import release
from ..ir.graph import Entry, Graph, Node
from ..ir.infer import Inference, infer
from ..ops.fused import BLOCK, BlockedConcat, Conv, DepthwisePointwise, FromBlocked, FusedElementwise, Pool, ToBlocked
from ..ops.shape import Reshaping
from ..passes import Optimized, Rewriter, optimize
from .apply import afford_all, evaluate
from .backend import Bound, Fallback, ReducedLayer, Request, Shortcut, ShortcutInParts, boxes_among, too_large
from .control import Body, lower_control
from .hooks import Observer
from .plan import work_of
from .reduced import loss, rounded

ARENA, INPUT, OUTPUT, CONSTANT = range(4)
QUICK = 30_000_000
"""Multiplications and additions that take about as long as handing them over to another thread and waiting for it."""
LONG = 10 * QUICK
"""Of these a caller may want to do something else meanwhile."""
FEW_REFUSALS = 4
"""Runs that may come to nothing because a kernel leaves values to NumPy before such values are expected."""
BATCH = 1 << 24
"""Bytes of weights that are computed at a time, before they are packed and forgotten."""
LARGE = 1 << 16
"""Bytes from which NumPy's fresh memory costs more than memory that is kept (page faults)."""
MOST = 1 << 62
"""Bytes that no memory has."""
WIDEST = 4
"""The widest halo: beyond, copying the data once into padded memory is cheaper than carrying the zeros along."""
KNOWN = frozenset(
    ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool")
)  # base/tensor.h


REFUSED = (ValueError, RuntimeError, MemoryError, OverflowError)
"""Exceptions that the compiled part raises."""


IN_FLOAT32 = frozenset(("float32", "float16", "bfloat16"))
"""Dtypes of operands that are computed with in float32."""


class CannotLower(Exception):
    """The graph cannot be a program of the compiled part: its shapes are not known, or it holds what is no memory."""


def lower(request: Request) -> CompiledProgram | None:
    """The graph as a program of the compiled part; None when it has to stay with NumPy."""
    lowered = lower_for_sizes(request)
    return None if lowered is None else lowered.only()


def lower_for_sizes(request: Request) -> Lowered | None:
    """The graph, lowered for all sizes that pass the guards of the request's trace; None when it has to stay with NumPy."""
    graph, inference, training = request.graph, request.inference, request.training
    if request.trace and request.flow is None and any(n.subgraphs for n in graph.nodes):
        return None  # control flow that is a graph of its own so that it is lowered: see Lowered
    now = tuple(s.value for s in request.trace.symbols) if request.trace else ()
    try:
        for entry in {(id(n), i): Entry(n, i) for n in graph.nodes for i in range(n.num_outputs)}.values():
            _check(entry, inference.spec(entry))
        for skipped in ((), ("use_blocked_layout",)):
            rewriter = _rewriter(inference, request.fixed, training)
            lowered = Lowered(optimize(graph, rewriter, skipped), request)
            if lowered.program(now) is not None:
                return lowered
    except CannotLower:
        pass
    except MXNetError:
        raise
    except REFUSED as error:
        raise _refusal(error) from error
    return None


def _check(entry: Entry, spec: Spec) -> None:
    if not is_known(spec.shape) or spec.dtype is None or spec.dtype.hasobject:
        raise CannotLower(f"{entry.name}: shape or dtype is not known before it runs")


class _Storage:
    """A piece of memory, and from which step to which it is in use."""

    __slots__ = ("first", "kind", "last", "number", "size")

    def __init__(self, kind: int, number: int = 0):
        self.kind, self.number = kind, number
        self.size = 0
        self.first, self.last = 1 << 60, -1


class _Tensor:
    """One output of a node: its storage, directly or as a part of another tensor."""

    __slots__ = ("blocked", "halo", "offset", "plain", "spec", "storage", "whole")

    def __init__(self, spec: Spec, blocked: bool):
        self.spec = spec
        self.blocked = blocked
        self.storage: _Storage | None = None
        self.whole: _Tensor | None = None
        """The tensor that this is a part of, by renaming or concatenation,"""
        self.offset = 0
        """and how many blocks of channels come before it there."""
        self.halo: tuple[int, int] = (0, 0)
        self.plain = not blocked
        """True when somebody reads it as memory without gaps, so that it can have no halo."""

    def root(self) -> tuple[_Tensor, int]:
        """The tensor that has the storage, and this one's offset in it."""
        tensor, offset = self, 0
        while tensor.whole is not None:
            offset += tensor.offset
            tensor = tensor.whole
        return tensor, offset

    @property
    def shape(self) -> tuple[int, ...]:
        return self.spec.shape  # type: ignore[return-value]

    @property
    def dtype(self) -> np.dtype:
        return self.spec.dtype  # type: ignore[return-value]

    def bytes(self) -> int:
        """Of a root, with its halo."""
        count = math.prod(self.shape)
        if self.blocked:
            count = self.shape[0] * self.image()
        return count * self.dtype.itemsize

    def plane(self) -> int:
        """Elements of a block of channels of one image, with the root's halo."""
        h, w = self.root()[0].halo
        return (self.shape[2] + 2 * h) * (self.shape[3] + 2 * w) * BLOCK

    def image(self) -> int:
        """Elements from one image to the next."""
        return self.root()[0].shape[1] * self.plane()


class _Packed(NamedTuple):
    """Fixed arrays as the compiled part holds them."""

    number: int
    """It runs for who says this number only,"""
    versions: list[Any] | None
    """which stands for these versions; None before there are any."""
    held: list[np.ndarray | None]
    """Constants that runs read."""
    sources: list[np.ndarray]
    """The fixed arrays: as long as they are held, no other array has the address of one."""


class Lowered:
    """A graph as steps and places of the compiled part, for one set of sizes or, with a trace, for all that pass its guards."""

    def __init__(self, optimized: Optimized, request: Request):
        names, training = request.names, request.training
        bodies = _Bodies(request)
        # bodies are programs for their sizes
        optimized, controls = (optimized, {}) if request.trace else lower_control(optimized, bodies.make)
        self.optimized, self.request, self.bodies = optimized, request, bodies
        main, inference = optimized.main, optimized.inference
        place_of = {name: i for i, name in enumerate(names)}
        self.constant = optimized.constant
        needed = [] if self.constant is None else [n.name for n in self.constant.variables()]
        self.given, self.fixed = _inputs_and_constants(optimized)
        self.inputs = tuple(place_of[n] for n in self.given)
        sources = [*self.fixed, *needed]
        self.watched = tuple(dict.fromkeys(place_of[n] for n in sources if n in place_of))
        self.build = build = _Build(
            main, inference, self.given, self.fixed, training, bodies.hosts, controls, request.precision
        )
        self.batches = self._batch_constants(*build.constants())
        self.outputs: tuple[tuple[Any, Any], ...] = tuple((s.shape, s.dtype) for s in map(inference.spec, main.outputs))
        self.odd_inputs = tuple(i for i, n in enumerate(self.given) if build.dtype_of[n].kind == "V")
        self.odd_outputs = any(dtype.kind == "V" for _, dtype in self.outputs)
        self.sizes = Written(request.trace)
        extent = self.sizes.extent
        self._moved = extent(build.moved)
        self._work = extent(work_of(request.graph, request.inference)) if request.trace else 0
        for shape, _ in self.outputs:
            for d in shape:
                extent(d)
        for node, _, specs in bodies.hosts.values() if request.trace else ():
            for value in (*(s.shape for s in specs), *(getattr(node.op, n) for n in node.op.fields)):
                self.sizes.enter(value)
        counts = len(self.given), len(main.outputs) - len(build.copies), len(self.fixed)
        self._last: CompiledProgram | None = None
        self._made: list[weakref.ref[CompiledProgram]] = []
        precise = request.precise or training
        # where sizes vary memory goes back to the allocator: else each set of sizes would keep its own
        keep = request.keep and request.trace is None
        self._arguments = self.sizes, counts, precise, keep
        self._template = build.template(*self._arguments)

    def program(self, symbols: tuple[int, ...]) -> CompiledProgram | None:
        """The program for these sizes of the symbols; None where a guard fails, or what was lowered has no kernel for them.
        Weights that are packed alike are shared with the one that was made before."""
        values = self._template.evaluate(list(symbols))
        if not values:
            return None
        last = self._last
        if last is not None and last.symbols == symbols:  # which lower_for_sizes has tried
            return last
        core = self._template.program(values, MOST)
        there = core.native()
        if _lost(self.build, there):
            return None  # an operator on blocked data, which nobody else computes
        if not any(there):
            raise CannotLower("no step has a kernel")
        afford(
            core.arena_bytes(),
            "the memory of the graph's tensors",
            "give smaller inputs, or allow more with set_memory_budget",
        )
        self._last = found = CompiledProgram(self, symbols, values, core, all(there), last)
        if self.request.trace is not None:
            self._made = [r for r in self._made if r() is not None] + [weakref.ref(found)]
        return found

    def only(self) -> CompiledProgram | None:
        """The program of a graph without a trace, once: this keeps no hold of it, so that its weights are given back with it and
        wait for no collection of garbage."""
        found, self._last = self._last, None
        return found

    def described(self) -> tuple[Any, ...]:
        """Arguments of native.template that the programs are made of."""
        return self.build.described(*self._arguments)

    def alike(self, versions: Any) -> list[CompiledProgram]:
        """Programs for other sizes that hold what follows from these versions of the fixed arrays."""
        found = [r() for r in self._made]
        return [p for p in found if p is not None and versions is not None and p._packed.versions == versions]

    def moved(self, values: list[int]) -> int:
        """Bytes of all tensors, where expressions have these values;"""
        return values[self._moved[0]] if type(self._moved) is tuple else self._moved

    def work(self, values: list[int]) -> int:
        """elements that all steps read and write."""
        return values[self._work[0]] if type(self._work) is tuple else self._work

    def _batch_constants(
        self, steps: Sequence[Sequence[int]], sizes: Mapping[int, int]
    ) -> list[tuple[list[int], Graph | None, list[str]]]:
        """Constants in batches of about BATCH bytes: their numbers, the graph that computes some of them, and which. steps:
        constants of each; those of one step are in one batch."""
        group = list(range(len(self.fixed)))

        def first(i: int) -> int:
            while group[i] != i:
                group[i] = i = group[group[i]]
            return i

        for constants in steps:
            for i in constants:
                group[first(i)] = first(constants[0])
        together: dict[int, list[int]] = {}
        for i in range(len(group)):
            together.setdefault(first(i), []).append(i)
        batches: list[list[int]] = []
        room = 0
        for numbers in together.values():
            size = sum(sizes.get(i, 0) for i in numbers)
            if not batches or size > room:
                batches.append([])
                room = BATCH
            batches[-1] += numbers
            room -= size
        results = {} if self.constant is None else dict(zip(self.optimized.feeds, self.constant.outputs, strict=True))
        found = []
        for numbers in batches:
            computed = [self.fixed[i] for i in numbers if self.fixed[i] in results]
            found.append((numbers, Graph([results[n] for n in computed]) if computed else None, computed))
        return found


class CompiledProgram(Bound):
    """A graph as one call, for one set of sizes: of the symbols, and so of all expressions (values). whole: whether all steps
    have a kernel. like: one for other sizes, to share packed weights with."""

    aligns = True

    def __init__(
        self,
        lowered: Lowered,
        symbols: tuple[int, ...],
        values: list[int],
        core: Any,
        whole: bool,
        like: CompiledProgram | None = None,
    ):
        self.lowered, self.symbols, self.core, self._values = lowered, symbols, core, values
        self._alone = core.sure()
        """True when NumPy is never called back: there are kernels of all steps, and none that may refuse what it is given."""
        self.optimized = lowered.optimized
        self._inputs, self._copies = lowered.inputs, lowered.build.copies
        self._watched = lowered.watched
        self._packed = _Packed(0, None if lowered.fixed else [], [], [])
        self._refreshing = rlock()
        self._hosts: dict[int, tuple[Node, list[np.dtype], list[Spec]]] = {}
        read = lowered.sizes.read
        self.outputs = tuple((read(s, values), d) for s, d in lowered.outputs)
        self.makers = [(native.empty if _is_large(*s) else np.empty, *s) for s in self.outputs]
        self._odd_inputs, self._odd_outputs = lowered.odd_inputs, lowered.odd_outputs
        size = max(core.flops(), 8 * lowered.moved(values))
        self.quick = whole and not lowered.bodies.fallbacks and size <= QUICK
        self.long = size > LONG
        self.work = lowered.work(values)
        self._direct = core.complete() and bool(self._inputs) and not (self._odd_inputs or self._odd_outputs)
        """True when to run the compiled program on arrays as they are is all there is to a run, as a rule: a kernel may leave
        values to NumPy (indices that are none), and the run is made anew then."""
        if like is not None and lowered.fixed:
            with like._refreshing:
                held = like._packed
                if core.adopt([like.core, *(p.core for p in lowered.alike(held.versions) if p is not like)]) >= 0:
                    self._packed = held

    # -- running --------------------------------------------------------------------------------------------------------

    def run(
        self,
        arrays: Sequence[np.ndarray],
        versions: Sequence[Any] | None = None,
        rng: np.random.Generator | None = None,
        observe: Observer | None = None,
    ) -> list[np.ndarray]:
        """The outputs. versions: of the arrays; what is fixed is looked at anew when they differ from those of last time."""
        try:
            return ignoring_fp_warnings(self._run_with_constants, self.core.run, arrays, versions, rng)[0]
        except MXNetError:
            raise
        except REFUSED as error:
            raise _refusal(error) from error

    def shortcut(self, versions: Sequence[Any], held: Sequence[np.ndarray | None]) -> Shortcut | ShortcutInParts | None:
        packed = self._packed
        if not self._direct or self.core.refusals() > FEW_REFUSALS:
            return None
        if any(
            held[i] is None for i in self._watched
        ):  # the compiled part holds what follows from the last values of these
            return None
        if packed.versions != [versions[i] for i in self._watched]:
            return None
        if self._copies:
            run = functools.partial(self._results_with_copies, packed.number, packed.held)
            return ShortcutInParts(run, self._inputs, len(self.outputs), boxes_among(self.outputs))
        run = self.core.run_one if len(self._inputs) == len(self.outputs) == 1 else self.core.run_some
        return Shortcut(tuple(self.makers), run, packed.number, self._inputs)

    def _results_with_copies(
        self, number: int, held: Sequence[np.ndarray | None], given: Sequence[np.ndarray]
    ) -> list[np.ndarray] | None:
        """The outputs, for its inputs alone; None where a kernel refuses them or somebody has changed what is held."""
        outs = [make(shape, dtype) for make, shape, dtype in self.makers]
        targets = [o for i, o in enumerate(outs) if i not in self._copies]
        if not self.core.run_some(given, targets, number):
            return None
        self._copy({INPUT: given, CONSTANT: held, OUTPUT: outs}, outs)
        return outs

    def _copy(self, sources: Mapping[int, Sequence[Any]], outs: Sequence[np.ndarray]) -> None:
        """Write outputs that are something else's values."""
        for i, (kind, number) in self._copies.items():
            outs[i][...] = sources[kind][number].reshape(outs[i].shape)

    def profile(self, arrays: Sequence[np.ndarray]) -> list[dict[str, Any]]:
        _, seconds = self._run_with_constants(self.core.profile, arrays, None, None)
        rows = []
        for row, time in zip(self.describe(), seconds):
            rows.append({**row, "seconds": time})
        return rows

    def fallbacks(self) -> list[Fallback]:
        read = self.lowered.sizes.read
        own = self.lowered.build.fallbacks(self.core.native(), lambda shape: read(shape, self._values))
        return own + self.lowered.bodies.fallbacks

    def reduced(self) -> list[ReducedLayer]:
        lowered, build = self.lowered, self.lowered.build
        names = lowered.request.names
        given = dict(zip((names[i] for i in self._watched), self._packed.sources))
        constant = lowered.constant
        results = {} if constant is None else dict(zip(self.optimized.feeds, constant.outputs, strict=True))
        found = []
        for (_, attrs, ins, *_, host, _), (node, _), there in zip(build.steps, build.rows, self.core.native()):
            precision = attrs.get("weights", FLOAT32)
            if precision == FLOAT32 or not there or not given:
                continue
            _, shape, *_, number, _ = build.tensors[ins[1]]
            name = lowered.fixed[number]
            if name in results:
                (weights,) = evaluate(Graph([results[name]]), self.optimized.inference, given)
            else:
                weights = given[name]
            weights = weights.astype(np.float32).reshape(lowered.sizes.read(shape, self._values))
            op = build.hosts[host][0].op
            exact = op.matrices(weights)
            lost = loss(exact, rounded(exact, precision))
            found.append(ReducedLayer(node, op.name, weights.shape, precision, lost))
        return found

    def describe(self) -> list[dict[str, Any]]:
        """As profile, without times."""
        read = self.lowered.sizes.read
        rows = zip(self.lowered.build.rows, self.core.describe())
        return [{"node": n, "shape": read(s, self._values), **r} for (n, s), r in rows]

    @property
    def memory(self) -> int:
        """Bytes of the arena of one run, scratch included."""
        return self.core.arena_bytes()

    def _run_with_constants(
        self, call: Callable[..., Any], arrays: Sequence[np.ndarray], versions: Any, rng: Any
    ) -> tuple[list[np.ndarray], Any]:
        state = list(map(id, arrays)) if versions is None else versions
        state = [state[i] for i in self._watched]
        packed = self._packed
        if state != packed.versions:
            packed = self._refresh(arrays, state)
        outs = [make(shape, dtype) for make, shape, dtype in self.makers]
        targets = [o for i, o in enumerate(outs) if i not in self._copies] if self._copies else outs
        inputs = [_contiguous(arrays[i]) for i in self._inputs]
        for i in self._odd_inputs:
            inputs[i] = _bits(inputs[i])
        host = None if self._alone else lambda step, ins, results: self._run_host_step(step, ins, results, rng)
        targets = list(map(_bits, targets)) if self._odd_outputs else targets
        result = call(inputs, targets, host, packed.number)
        if not result:  # another thread had the compiled part hold what follows from other arrays meanwhile
            with self._refreshing:
                packed = self._refresh(arrays, state)
                result = call(inputs, targets, host, packed.number)
        if self._copies:
            given = [arrays[i] for i in self._inputs]
            self._copy({INPUT: given, CONSTANT: packed.held, OUTPUT: outs}, outs)
        return outs, result

    def _refresh(self, arrays: Sequence[np.ndarray], state: list[Any]) -> _Packed:
        """Compute what follows from the fixed arrays, and have weights packed, some at a time: few are there twice.

        Until the last of them are, the compiled part answers to no number."""
        with self._refreshing:
            if state == self._packed.versions:
                return self._packed
            number = self._packed.number + 1
            held: list[np.ndarray | None] = [None] * len(self.lowered.fixed)
            copied = {number for kind, number in self._copies.values() if kind == CONSTANT}
            for batch_number, batch in enumerate(self.constants(arrays), 1):
                some = [_bits(batch[i]) if i in batch else None for i in range(len(held))]
                known_by = number if batch_number == len(self.lowered.batches) else -1
                for i in copied.intersection(batch).union(self.core.set_constants(some, [*batch], known_by)):
                    held[i] = batch[i]
            self._packed = _Packed(number, state, held, [arrays[i] for i in self._watched])
            if self.lowered.request.trace is not None:
                self.core.share([p.core for p in self.lowered.alike(state) if p is not self])
            return self._packed

    def hold(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray | None]:
        """Constants that runs on these arrays read, by number, once the others are packed."""
        return self._refresh(arrays, [id(arrays[i]) for i in self._watched]).held

    def constants(self, arrays: Sequence[np.ndarray]) -> Iterator[dict[int, np.ndarray]]:
        """Constants that follow from the fixed arrays, by number, some at a time."""
        names, fixed = self.lowered.request.names, self.lowered.fixed
        given = {n: arrays[i] for i, n in enumerate(names)}
        for numbers, graph, computed in self.lowered.batches:
            values = dict(given)
            if graph is not None:
                read = {n.name: _aligned(given[n.name]) for n in graph.variables()}
                values |= zip(computed, evaluate(graph, self.optimized.inference, read), strict=True)
            yield {i: _contiguous(_aligned(values[fixed[i]])) for i in numbers}
            if len(self.lowered.batches) > 1:
                release(given.values())  # what lies in a file and is packed now need not stay in memory too

    def _run_host_step(self, step: int, inputs: list[Any], outputs: list[Any], rng: Any) -> None:
        if step not in self._hosts:
            self._hosts[step] = self._host(step)
        node, ins, specs = self._hosts[step]
        arrays = [a.view(d) if a.dtype != d else a for a, d in zip(inputs, ins)]
        results, _ = self.lowered.request.apply(node, arrays, specs, rng)
        for out, result in zip(outputs, results):
            (out.view(result.dtype) if out.dtype != result.dtype else out)[...] = result

    def _host(self, step: int) -> tuple[Node, list[np.dtype], list[Spec]]:
        """A step for NumPy, for the sizes of this program: the node, the dtypes of its inputs, what its outputs have to be."""
        node, dtypes, specs = self.lowered.bodies.hosts[step]
        read, op = self.lowered.sizes.read, node.op
        assert op is not None
        found = {n: getattr(op, n) for n in op.fields}
        if any(map(has_dims, found.values())):
            op = type(op).bind(**{n: read(v, self._values) for n, v in found.items()})
            node = Node(op, node.name, node.inputs, node.attrs, node.subgraphs)
        return node, dtypes, [Spec(read(s.shape, self._values), s.dtype) for s in specs]


class _Bodies:
    """Makes programs of bodies. hosts: what NumPy does of any step, by the number by which the compiled part knows it."""

    def __init__(self, request: Request):
        self.request = request
        self.hosts: dict[int, Any] = {}
        self.fallbacks: list[Fallback] = []
        """Steps of bodies that NumPy computes."""

    def make(self, graph: Graph, specs: Sequence[Spec], fixed: Collection[str]) -> Body | None:
        """A body as a program, see control.MakeBody."""
        names, training = [n.name for n in graph.variables()], self.request.training
        if graph.written_variables(training) or len({*names}) < len(names):
            return None
        try:
            inference = infer(
                graph, {n: s.shape for n, s in zip(names, specs)}, {n: s.dtype for n, s in zip(names, specs)}
            )
            afford_all(graph, inference)
            for skipped in ((), ("use_blocked_layout",)):
                rewriter = _rewriter(inference, fixed, training)
                optimized, controls = lower_control(optimize(graph, rewriter, skipped), self.make)
                main, found = optimized.main, optimized.inference
                given, held = _inputs_and_constants(optimized)
                build = _Build(main, found, given, held, training, self.hosts, controls)
                counts = len(given), len(main.outputs) - len(build.copies), len(held)
                precise = self.request.precise or training
                core = build.template(Written(None), counts, precise, False).program([], MOST)
                there = core.native()
                if not _lost(build, there):
                    break
        except (CannotLower, MXNetError):  # which a run need not come to
            return None
        self.fallbacks += build.fallbacks(there)
        results = _results(build.copies, len(main.outputs))
        place_of = {n: i for i, n in enumerate(names)}
        computed = dict(zip(optimized.feeds, () if optimized.constant is None else optimized.constant.outputs))
        constants = [computed[n] if n in computed else place_of[n] for n in held]
        return Body(core, [place_of[n] for n in given], results, constants, found)


def _results(copies: Mapping[int, tuple[int, int]], count: int) -> list[tuple[int, int]]:
    """Place of each result of a body: one that the program writes, numbered among these, or what is a copy of which."""
    written = [i for i in range(count) if i not in copies]
    number = {i: n for n, i in enumerate(written)}
    found = []
    for i in range(count):
        kind, source = copies.get(i, (ARENA, i))
        found.append((kind, number[source] if kind in (ARENA, OUTPUT) else source))
    return found


def _rewriter(inference: Inference, fixed: Collection[str], training: bool) -> Rewriter:
    """Knowledge with which the passes rewrite a graph for the compiled part."""
    kernels: Any = {"native": native.names(), "has_kernel": native.has_kernel}
    return Rewriter(inference, constants=fixed, training=training, **kernels)


def _inputs_and_constants(optimized: Optimized) -> tuple[list[str], list[str]]:
    """Names of the variables of what runs every time: those that come with each run, and those that do not."""
    names = dict.fromkeys(n.name for n in optimized.main.variables())
    fixed = [n for n in names if n in optimized.feeds or n in optimized.fixed]
    return [n for n in names if n not in fixed], fixed


def _lost(build: _Build, there: Sequence[bool]) -> set[str]:
    """Operators on blocked data among steps for which no kernel is there: memory with a halo is nothing that NumPy reads."""
    return {
        name
        for (name, _, ins, outs, *_), native_ in zip(build.steps, there)
        if not native_ and any(build.tensors[t][2] for t in (*ins, *outs))
    }


def _refusal(error: Exception) -> MXNetError:
    """The exception for an error of the compiled part: it gets what inference accepts, so that to refuse it is a fault of one."""
    if isinstance(error, MemoryError):
        return too_large(error)
    return InternalError(f"the compiled part refuses what inference accepts: {error}; please report it with the symbol")


def _reads_blocks(op: Any, position: int) -> bool:
    """True where an operator takes this input in blocks, whoever made it: a constant, say."""
    if op.means(Conv, DepthwisePointwise):
        return (position == 0 and op.blocked) or op.input_names()[position] == "residual"
    return op.means(Pool, BlockedConcat, FromBlocked)


_PLAIN = 0x101
"""NumPy's flags C_CONTIGUOUS and ALIGNED."""


def _contiguous(array: np.ndarray) -> np.ndarray:
    """The array as a kernel reads it: without gaps, aligned."""
    return array if array.flags.num & _PLAIN == _PLAIN else np.array(array, order="C")


def _aligned(array: np.ndarray) -> np.ndarray:
    """The array, or a copy where it is not aligned, in memory that is kept for the next one."""
    if array.flags.aligned:
        return array
    copy = native.empty(array.shape, array.dtype) if _is_large(array.shape, array.dtype) else np.empty_like(array)
    copy[...] = array
    return copy


def _is_large(shape: tuple[int, ...], dtype: np.dtype) -> bool:
    return math.prod(shape) * dtype.itemsize >= LARGE and dtype.kind != "V"


def _bits(array: np.ndarray) -> np.ndarray:
    """The array, of a dtype whose memory NumPy hands out."""
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "V" else array


class _Build:
    """The description of a program, in the making."""

    def __init__(
        self,
        graph: Graph,
        inference: Inference,
        given: Sequence[str],
        fixed: Sequence[str],
        training: bool,
        hosts: dict[int, Any],
        controls: Mapping[int, dict[str, Any]],
        precision: str = FLOAT32,
    ):
        self.graph, self.training, self.precision = graph, training, precision
        self.hosts, self.controls = hosts, controls
        self.of: dict[tuple[int, int], _Tensor] = {}
        self.nodes: list[Node] = []
        self.dtype_of: dict[str, np.dtype] = {}
        inputs = {n: i for i, n in enumerate(given)}
        constants = {n: i for i, n in enumerate(fixed)}
        for node in graph.nodes:
            self._enter(node, inference, inputs, constants)
        self._place_concatenations()
        self._halos()
        self._live()
        self.copies = self._outputs()
        self._overwrite()
        self.storages = self._number_storages()
        tables = self._tables()
        self.moved = sum(t.bytes() for t in self.of.values() if t.whole is None and id(t) not in tables)
        self._write(inference)

    def tensor(self, entry: Entry) -> _Tensor:
        return self.of[id(entry.node), entry.index]

    def _enter(self, node: Node, inference: Inference, inputs: Mapping[str, int], constants: Mapping[str, int]) -> None:
        op = node.op
        for i in range(node.num_outputs):
            spec = inference.spec(Entry(node, i))
            _check(Entry(node, i), spec)
            self.of[id(node), i] = _Tensor(spec, self._is_blocked(node))
        own = self.of[id(node), 0]
        if op is None:
            name = node.name
            self.dtype_of[name] = own.dtype
            own.storage = _Storage(INPUT, inputs[name]) if name in inputs else _Storage(CONSTANT, constants[name])
            return
        for position, entry in enumerate(node.inputs):
            if entry.node.is_variable and _reads_blocks(op, position):
                self.tensor(entry).blocked = True
        if node.means(Reshaping):
            own.whole = self.tensor(node.inputs[0])
            own.whole.plain = True
            return
        self.nodes.append(node)
        for i in range(node.num_outputs):
            self.of[id(node), i].storage = _Storage(ARENA)

    def _is_blocked(self, node: Node) -> bool:
        if node.means(FusedElementwise):
            return any(self.tensor(e).blocked for e in node.inputs)
        return node.means(Conv, DepthwisePointwise, ToBlocked, Pool, BlockedConcat)

    def _place_concatenations(self) -> None:
        """Concatenations of blocked data: inputs become parts of the result."""
        for node in self.nodes:
            if not node.means(BlockedConcat):
                continue
            offset = 0
            for entry in node.inputs:
                tensor = self.tensor(entry)
                root, _ = tensor.root()
                if root is tensor and not tensor.plain:
                    tensor.whole, tensor.offset, tensor.storage = self.tensor(Entry(node)), offset, None
                offset += tensor.shape[1]

    def _halos(self) -> None:
        for node in self.nodes:
            op: Any = node.op
            if node.means(Conv, DepthwisePointwise) and op.blocked:
                root, _ = self.tensor(node.inputs[0]).root()
                if root.storage.kind != ARENA:  # type: ignore[union-attr]
                    continue
                h, w = (int(p) if p <= WIDEST else 0 for p in op.pad)
                root.halo = (max(root.halo[0], h), max(root.halo[1], w))
        for tensor in self.of.values():
            root, _ = tensor.root()
            if tensor.plain:
                root.halo = (0, 0)

    def _live(self) -> None:
        for index, node in enumerate(self.nodes):
            for i in range(node.num_outputs):
                storage = self._storage(self.of[id(node), i])
                storage.first, storage.last = min(storage.first, index), max(storage.last, index)
            for entry in node.inputs:
                storage = self._storage(self.tensor(entry))
                storage.last = max(storage.last, index)

    def _storage(self, tensor: _Tensor) -> _Storage:
        storage = tensor.root()[0].storage
        assert storage is not None
        return storage

    def _outputs(self) -> dict[int, tuple[int, int]]:
        """Storages of the graph's outputs; and which outputs are copies of what (an input, a constant, another output)."""
        copies: dict[int, tuple[int, int]] = {}
        place_of: dict[int, int] = {}
        count = 0
        for i, entry in enumerate(self.graph.outputs):
            tensor = self.tensor(entry)
            storage = self._storage(tensor)
            if storage.kind == ARENA:
                if tensor.root()[0].blocked:
                    raise CannotLower("an output is blocked data")
                storage.kind, storage.number = OUTPUT, count
                place_of[id(storage)] = i
                count += 1
            elif storage.kind == OUTPUT:
                copies[i] = OUTPUT, place_of[id(storage)]
            else:
                copies[i] = storage.kind, storage.number
        return copies

    def _overwrite(self) -> None:
        """Chains that write over an input."""
        for index, node in enumerate(self.nodes):
            if not node.means(FusedElementwise):
                continue
            own = self.of[id(node), 0]
            storage = own.storage
            if storage is None or storage.kind != ARENA:
                continue
            for entry in node.inputs:
                tensor = self.tensor(entry)
                root, _ = tensor.root()
                other = root.storage
                assert other is not None
                alike = tensor.spec == own.spec and root.halo == own.halo
                if alike and other.kind == ARENA and other.last == index and not (tensor.blocked and tensor.whole):
                    other.last = max(other.last, storage.last)
                    own.storage = other
                    break

    def _number_storages(self) -> list[tuple[int, int]]:
        """Number what lies in the arena: from which step to which each is in use."""
        found: list[tuple[int, int]] = []
        seen: set[int] = set()
        for tensor in self.of.values():
            storage = tensor.storage
            if storage is not None and storage.kind == ARENA and id(storage) not in seen:
                seen.add(id(storage))
                storage.number = len(found)
                found.append((storage.first, storage.last))
        return found

    def _tables(self) -> set[int]:
        """Identities of the constants of which steps read a few rows each."""
        whole: set[tuple[int, int]] = {(id(e.node), e.index) for e in self.graph.outputs}
        for node in self.graph.nodes:
            if node.op is not None:
                names = node.op.input_names()
                whole |= {(id(e.node), e.index) for n, e in zip(names, node.inputs) if n != node.op.picks}
        constants = {k: t for k, t in self.of.items() if self._storage(t).kind == CONSTANT}
        return {id(t) for k, t in constants.items() if k not in whole}

    def _write(self, inference: Inference) -> None:
        numbers: dict[tuple[int, int], int] = {}
        self.tensors: list[tuple[Any, ...]] = []

        def number(key: tuple[int, int]) -> int:
            if key not in numbers:
                numbers[key] = len(self.tensors)
                self.tensors.append(self._describe(self.of[key]))
            return numbers[key]

        self.steps: list[tuple[Any, ...]] = []
        self.rows: list[tuple[str, tuple[int, ...]]] = []
        for node in self.nodes:
            op = node.op
            assert op is not None
            in_place = node.means(BlockedConcat) and all(
                self.tensor(e).whole is self.tensor(Entry(node)) for e in node.inputs
            )
            if in_place and len(set(node.inputs)) == len(node.inputs):  # what is joined twice has to be copied once
                continue
            ins = [number((id(e.node), e.index)) for e in node.inputs]
            outs = [number((id(node), i)) for i in range(node.num_outputs)]
            attrs = None
            kind = self.tensor(node.inputs[0] if node.inputs else Entry(node)).dtype
            if native.has_kernel(op.name, kind) and op.kernel_matches(kind):
                attrs = attributes(op, self.training)
            if attrs is not None and self._reduces(node):
                attrs["weights"] = self.precision
            specs = [inference.spec(Entry(node, i)) for i in range(node.num_outputs)]
            own = (
                len(op.input_names()) if id(node) in self.controls else len(node.inputs)
            )  # constants of bodies are not
            dtypes = [self.tensor(e).dtype for e in node.inputs[:own]]
            self.rows.append((node.name, self.of[id(node), 0].shape))
            control = self.controls.get(id(node))
            self.steps.append((op.name, attrs or {}, ins, outs, attrs is None, len(self.hosts), control))
            self.hosts[len(self.hosts)] = node, dtypes, specs

    def _reduces(self, node: Node) -> bool:
        """True for a product whose constant weights are to be held in fewer bits than they have."""
        if self.precision == FLOAT32 or node.op is None or not node.op.takes_matrices:
            return False
        weights = self.tensor(node.inputs[1])
        return self._storage(weights).kind == CONSTANT and dtype_text(weights.dtype) in IN_FLOAT32

    def fallbacks(
        self, there: Sequence[bool], read: Callable[[Any], tuple[int, ...]] = lambda shape: shape
    ) -> list[Fallback]:
        """Steps for which no kernel is there. read: gives a shape for the sizes of a program."""
        found = []
        for step, (node, _), native_ in zip(self.steps, self.rows, there):
            if not native_:
                operands = [(self.tensors[t][0], read(self.tensors[t][1])) for t in step[2]]
                found.append(Fallback(node, step[0], _why(step[0], step[4], operands)))
        return found

    def constants(self) -> tuple[list[list[int]], dict[int, int]]:
        """Constants that each step takes, and about how many bytes they are."""
        sizes = {t[-2]: 4 * math.prod(map(plain, t[1])) for t in self.tensors if t[-3] == CONSTANT}
        return [[self.tensors[t][-2] for t in step[2] if self.tensors[t][-3] == CONSTANT] for step in self.steps], sizes

    def template(self, *arguments: Any) -> Any:
        """The program of the compiled part for all sizes; see described."""
        return native.template(*self.described(*arguments))

    def described(self, sizes: Written, counts: tuple[int, int, int], precise: bool, keep: bool) -> tuple[Any, ...]:
        """Arguments of native.template for all sizes. counts: of inputs, outputs and constants."""
        extent = sizes.extent
        tensors = [
            (dtype, tuple(map(extent, shape)), *rest, extent(stride), kind, number, skipped)
            for dtype, shape, *rest, stride, kind, number, skipped in self.tensors
        ]
        steps = []
        for op, attrs, *rest in self.steps:
            attrs, varying = _split_sizes(attrs, sizes)
            steps.append((op, attrs, *rest, varying))
        guards = sizes.guards()
        return (
            sizes.atoms,
            sizes.expressions,
            guards,
            tensors,
            self.storages,
            steps,
            *counts,
            native.threads(),
            precise,
            keep,
        )

    def _describe(self, tensor: _Tensor) -> tuple[Any, ...]:
        root, offset = tensor.root()
        storage = root.storage
        assert storage is not None
        dtype = dtype_text(tensor.dtype)
        if dtype not in KNOWN:
            dtype = f"opaque{tensor.dtype.itemsize}"
        if not tensor.blocked:
            return (dtype, tensor.shape, False, 0, 0, 0, storage.kind, storage.number, 0)
        return (dtype, tensor.shape, True, *root.halo, tensor.image(), storage.kind, storage.number, offset)


def _why(op: str, untold: bool, operands: Sequence[tuple[str, tuple[int, ...]]]) -> str:
    """Reason why a step has no kernel. untold: none was asked, for there is none of that dtype or not with these attributes."""
    dtypes = sorted(dtype for name, dtype in native.kernels() if name == op)
    if not dtypes:
        return "it has no kernel"
    first = operands[0][0] if operands else ""
    if untold and operands and first not in dtypes:
        return f"it has no kernel for {first}, but for {', '.join(dtypes)}"
    given = ", ".join(f"{dtype}{show(shape)}" for dtype, shape in operands)
    return "its kernel is not for these attributes" if untold else f"its kernel does not take {given or 'no operands'}"


def _split_sizes(attrs: dict[str, Any], sizes: Written) -> tuple[dict[str, Any], list[tuple[str, int, int]]]:
    """Attributes with the numbers that sizes are now, and (name, place in a tuple or -1, expression) of those that sizes decide."""
    varying = []
    for name, value in attrs.items():
        if type(value) is Dim:
            varying.append((name, -1, sizes.number(value)))
        elif type(value) is tuple:
            varying += [(name, i, sizes.number(v)) for i, v in enumerate(value) if type(v) is Dim]
    if varying:
        attrs = {n: tuple(map(plain, v)) if type(v) is tuple else plain(v) for n, v in attrs.items()}
    return attrs, varying


def attributes(op: Op, training: bool) -> dict[str, Any] | None:
    """An operator's attributes as kernels are told them, the number of inputs left out, pairs one after the other; None when one
    is no plain value, or kernels know nothing of it."""
    found: dict[str, Any] = {}
    for name in op.fields:
        value = getattr(op, name)
        if name in op.untold and value != op.fields[name].default:
            return None
        if name == op.count or name in op.untold:
            continue
        if isinstance(value, np.dtype):
            value = str(value)
        if isinstance(value, tuple) and value and all(type(v) in (str, float) for v in value):
            value = " ".join(map(str, value))
        if isinstance(value, tuple) and value and all(isinstance(v, tuple) for v in value):
            value = tuple(n for pair in value for n in pair)
        if isinstance(value, tuple) and not all(v is None or type(v) in (int, Dim) for v in value):
            return None
        if value is not None and type(value) not in (bool, int, float, str, tuple, Dim):
            return None
        found[name] = value
    if "training" in op.needs:
        found["training"] = training
    return found
