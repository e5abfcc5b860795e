"""A backend is something that graphs are bound to, and that runs them then.

NumPy is one (interpreter.py), the compiled part another (compiled.py); backends.py has them in a list. Whoever wants something
computed makes a Request and asks the list. Arrays that go in and come out are NumPy's; memory of other kinds is a backend's own
affair: it may keep what it makes of arrays that are ``fixed``, as long as their versions are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..core.dims import Trace
from ..core.error import OutOfMemory
from ..core.op import Op, Spec
from ..ir.graph import Entry, Graph, Node, SubgraphFunction
from ..ir.infer import Inference
from .apply import apply_tracked
from .hooks import Observer

SMALL = 1 << 18
"""Elements that an operation may read and write in all to be done at once: less than a hand-over to another thread costs."""


class Part(Protocol):
    """A part of a graph as a program for any sizes."""

    names: tuple[str, ...]
    """Its variables, in the order in which arrays come."""

    def prepare(self, key: tuple[Any, ...]) -> Any:
        """Return the specialization for arrays of these shapes and dtypes: shape, dtype, shape, ..."""

    def bound_for(self, key: tuple[Any, ...]) -> Bound | None:
        """Return the part bound for such arrays; None where NumPy runs it."""

    def is_ready(self, key: tuple[Any, ...]) -> bool:
        """Return whether it has been prepared for such arrays, or takes no work to speak of to be."""
        ...

    def interpreted(self, key: tuple[Any, ...]) -> Bound:
        """Return the part as NumPy runs it."""
        ...


class Parts:
    """Programs of parts of a graph."""

    def run(self, node: Node, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...] | None:
        """The results of a node with subgraphs, run as a graph of its own; None where its rule has to give them."""
        raise NotImplementedError

    cuts: dict[Any, Any]
    """Cuts of the graph into stages, with the programs of these, whatever the sizes for which it is bound."""
    undecided = True
    """True where constants that decide about shapes may be among what is ``fixed``: their values are not known yet."""
    whole = True
    """False for those of a part, or of a body."""
    told: Mapping[str, np.ndarray]
    """Constants that do, where their values are known: parts have them too."""

    def part(
        self,
        outputs: Sequence[Entry],
        fixed: Collection[str],
        constants: Mapping[str, np.ndarray] | None = None,
        computed: Collection[str] = (),
    ) -> Part:
        """A program of what is behind these outputs. fixed: see Request; constants: those of them that have these values, what is
        told if None; computed: variables that each run has other values of, whoever reads them."""
        raise NotImplementedError


class Request(NamedTuple):
    """A graph for inputs of certain shapes and dtypes, to be bound."""

    graph: Graph
    inference: Inference
    """Facts about all its tensors."""
    names: tuple[str, ...]
    """Variables in the order in which arrays will come."""
    fixed: Collection[str]
    """Those that rarely have other values."""
    training: bool
    precise: bool
    """Nothing may trade accuracy for speed."""
    keep: bool
    """The memory of a run stays for the next one, instead of going back to whom it came from."""
    subgraphs: Callable[[Node, np.random.Generator | None], list[SubgraphFunction]]
    """The subgraphs of a node for one application of its operator; random operators in them draw from that generator."""
    flow: Parts | None = None
    """Programs of parts of the graph, where there may be some."""
    trace: Trace | None = None
    """That of sizes which stand for others (core/dims.py), where the inference has such."""
    precision: str = "float32"
    """As what constant weights of products may be held (core/precision.py)."""

    def apply(
        self,
        node: Node,
        arrays: Sequence[np.ndarray],
        specs: Sequence[Spec],
        rng: np.random.Generator | None,
        out: np.ndarray | None = None,
    ) -> tuple[tuple[np.ndarray, ...], bool]:
        """A node applied to arrays by NumPy, with all checks and hooks: its results, and whether they had to be copied out of its
        inputs. out: where to write them, for operators that can."""
        assert node.op is not None
        if node.subgraphs and self.flow is not None and (made := self.flow.run(node, arrays)) is not None:
            return made, False
        subgraphs = self.subgraphs(node, rng)
        return apply_tracked(node.op, arrays, specs, node.name, self.training, out, subgraphs, rng)


class Fallback(NamedTuple):
    """A step that NumPy computes where graphs are compiled, and why."""

    node: str
    operator: str
    why: str


class ReducedLayer(NamedTuple):
    """A step whose constant weights are held in fewer bits than float32 has."""

    node: str
    operator: str
    shape: tuple[int, ...]
    """Of the weights."""
    precision: str
    error: float
    """Share of the weights that is lost: the root of the mean square of the differences, by that of the weights."""


class Shortcut(NamedTuple):
    """A run without another look at anything: ``run(memory, out, number)``, of lists where there is more than one of either, writes
    to an ``out`` that ``make(shape, dtype)`` gave; false where the arrays that rarely have other values have them by now, or where
    somebody else has to look at the values of the others."""

    outputs: tuple[tuple[Callable[[tuple[int, ...], np.dtype], np.ndarray], tuple[int, ...], np.dtype], ...]
    """(make, shape, dtype) of each output."""
    run: Callable[[Any, Any, int], bool]
    number: int
    positions: tuple[int, ...] = (0,)
    """Places of the arrays that it takes."""

    @property
    def single(self) -> bool:
        """True for one array in, one out."""
        return len(self.positions) == len(self.outputs) == 1

    @property
    def boxes(self) -> list[int]:
        """Places of outputs that may be sequences or maps."""
        return boxes_among([(shape, dtype) for _, shape, dtype in self.outputs])

    @property
    def count(self) -> int:
        """Number of outputs."""
        return len(self.outputs)

    def results(self, given: Sequence[np.ndarray]) -> list[np.ndarray] | None:
        """The outputs for these arrays; None where ``run`` is false."""
        outs = [make(shape, dtype) for make, shape, dtype in self.outputs]
        if len(given) == len(outs) == 1:
            return outs if self.run(given[0], outs[0], self.number) else None
        return outs if self.run(given, outs, self.number) else None


class ShortcutInParts(NamedTuple):
    """A shortcut whose outputs have shapes that nobody knows before it has run."""

    results: Callable[[Sequence[np.ndarray]], list[np.ndarray] | None]
    """The outputs for arrays; None where the long way has to be gone."""
    positions: tuple[int, ...]
    """Places of the arrays that it takes."""
    count: int
    """Number of outputs."""
    boxes: list[int]
    """Places of outputs that may be sequences or maps."""

    @property
    def single(self) -> bool:
        """False: there is no ``run`` of it."""
        return False


class Bound:
    """A graph that a backend runs. Safe for any number of threads at once."""

    observes = False
    """True when hooks and observers see every step of it. Where they do not, NumPy runs while there are some."""
    aliases = False
    """True when results may be memory of the arrays that were given, or of each other: NumPy's."""
    aligns = False
    """True where arrays that rarely have other values need not be aligned, for it copies what it keeps of them."""
    quick = False
    """True when handing it to another thread costs more than running it."""
    long = False
    """True when it takes so long that whoever calls may have other work to do meanwhile."""
    outputs: tuple[tuple[Any, Any], ...] = ()
    """Shapes and dtypes of the outputs, of what was traced;"""
    work: int = 0
    """and about how many elements its steps read and write."""

    def run(
        self,
        arrays: Sequence[np.ndarray],
        versions: Sequence[Any] | None = None,
        rng: np.random.Generator | None = None,
        observe: Observer | None = None,
    ) -> list[np.ndarray]:
        """The outputs, each in contiguous and writable memory of its own; NumPy's alone may be memory of inputs, or of each other.

        What operators mutate is written to in arrays. versions: of the arrays, something each that changes with the values; None
        when arrays are never written to. rng: where random operators draw from, this thread's generator if None. observe: given
        only to what observes."""
        raise NotImplementedError

    def shortcut(self, versions: Sequence[Any], held: Sequence[np.ndarray | None]) -> Shortcut | ShortcutInParts | None:
        """Return a shortcut for runs on some of the arrays, the others having these versions and being these (None for those that
        each run has others of); None where there is none."""
        return None

    def fallbacks(self) -> list[Fallback]:
        """Steps that NumPy computes. Where data decide about shapes: as of the last run."""
        return []

    def reduced(self) -> list[ReducedLayer]:
        """Steps whose weights are held in fewer bits, as of the last run."""
        return []

    def profile(self, arrays: Sequence[np.ndarray]) -> list[dict[str, Any]] | None:
        """One run, a row for each step: node, op, how, shape (of the first output), seconds, flops, bytes, native. None where its
        steps are those of the graph, which hooks see."""
        return None


class Backend:
    """Something that runs graphs. It may decline any: who comes after it in the list is asked next, NumPy at last."""

    def bind(self, request: Request) -> Bound | None:
        """The graph, ready to run; None where that is better left to another."""
        raise NotImplementedError

    def trace(self, request: Request) -> Callable[[tuple[int, ...]], Bound | None] | None:
        """From the sizes of the symbols of the request's trace to the graph, ready to run for these, None where a guard of the
        trace fails; None where each set of sizes has to be bound by itself."""
        return None

    def takes(self, op: Op, work: int) -> bool:
        """True where one operator that is called alone, to read and write so many elements, is worth a graph of its own."""
        return True

    def update(self, op: Op, arrays: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> bool:
        """Apply an operator that always writes to its inputs (a step of an optimizer), its outputs straight to ``outs``; False,
        and nothing done, where it cannot."""
        return False

    def warn_if_missing(self) -> None:
        """Say, once in a process, that it could have run something large, were it there."""

    def release_memory(self) -> int:
        """Give back to the system what is kept and not in use; gives its size in bytes."""
        return 0


def boxes_among(specs: Sequence[tuple[Any, Any]]) -> list[int]:
    """Places of what may turn out a sequence or a map."""
    return [i for i, (shape, dtype) in enumerate(specs) if not shape and (dtype is None or dtype.hasobject)]


def placed(held: Sequence[np.ndarray | None], places: Sequence[int], arrays: Sequence[np.ndarray]) -> list[Any]:
    """Arrays that are held, with others in these places."""
    found = list(held)
    for place, array in zip(places, arrays):
        found[place] = array
    return found


def drop_first(found: dict[Any, Any], most: int) -> None:
    """Drop what came first, but for so many; another thread may do so too."""
    for old in list(found)[:-most]:
        found.pop(old, None)


def without_sharing(results: Sequence[np.ndarray], arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The results, each in contiguous and writable memory that is neither one of arrays' nor another result's."""
    taken = set(map(_owner, arrays))
    made = []
    for result in results:
        owner = _owner(result)
        if owner in taken or not (result.flags.c_contiguous and result.flags.writeable):
            result = np.array(result, order="C")
            owner = id(result)
        taken.add(owner)
        made.append(result)
    return made


def _owner(array: np.ndarray) -> int:
    """Identity of what has the memory of an array: those of which it is one share it with nothing else."""
    found: Any = array
    while (base := getattr(found, "base", None)) is not None:
        found = base
    return id(found)


def too_large(error: Exception) -> OutOfMemory:
    """The exception for a run for which there is not memory enough."""
    return OutOfMemory(f"the graph's tensors do not fit into memory: {error}; give smaller inputs")
