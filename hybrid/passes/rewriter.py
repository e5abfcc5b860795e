"""The rewriter: what passes know of a graph (shapes, dtypes, constants, layouts), and how they make another of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.dims import has_dims
from ..core.op import Op, Spec
from ..core.shapes import is_known
from ..ir.graph import Entry, Graph, Node
from ..ir.infer import Inference
from ..ops.fused import FromBlocked, ToBlocked
from ..ops.shape import Reshape, Reshaping

Key = tuple[int, int]
Change = Callable[[Node, Callable[[Entry], Entry]], "Entry | Sequence[Entry] | None"]
"""(node, what stands for an entry by now) -> what stands for the node's outputs; None to keep it."""
GONE: tuple[Entry, ...] = ()
"""Result of a Change for a node that nobody will read any more."""

_IMPURE = frozenset(("rng", "subgraphs"))


def as_image(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of rows (N, C, W) as images of height 1; other shapes as they are."""
    return (*shape[:2], 1, shape[2]) if len(shape) == 3 else shape


class Rewriter:
    """Knowledge of all tensors, of constants and of what can be compiled; makes nodes.

    Shapes and dtypes come from an inference; nodes that passes make are inferred as they are made, so that no pass has to infer a
    whole graph again. A tensor may be known in two layouts: see pack and unpack.

    constants: variables that hold the same from run to run. native: operators that have compiled kernels. has_kernel: whether one
    has for a first input of a dtype, where that is known."""

    def __init__(
        self,
        inference: Inference,
        *,
        constants: Collection[str] = (),
        training: bool = False,
        native: Collection[str] = (),
        has_kernel: Callable[[str, Any], bool] | None = None,
    ):
        self.constants = frozenset(constants)
        self.training = training
        self.native = frozenset(native)
        self.has_kernel = has_kernel or (lambda name, _dtype: name in self.native)
        self._shapes: dict[Key, Any] = dict(inference.shapes)
        self.traced = any(map(has_dims, self._shapes.values()))
        """True where sizes stand for others."""
        self._dtypes: dict[Key, Any] = dict(inference.dtypes)
        self.values: dict[Key, np.ndarray] = dict(inference.values or {})
        """Small tensors whose values follow from shapes and constants."""
        self._constant: dict[int, bool] = {}
        self._blocks: dict[Key, Entry] = {}
        self._plain: dict[Key, Entry] = {}
        self._unpacked: set[int] = set()
        self._made: dict[int, Node] = {}  # alive, so that no id is given twice
        for node in inference.graph.nodes:  # inputs first: asking never goes deep
            self._constant[id(node)] = self._is_decided(node)

    # -- what is known --------------------------------------------------------------------------------------------------

    def shape(self, entry: Entry) -> Any:
        """See shapes.py."""
        return self._shapes.get((id(entry.node), entry.index))

    def dtype(self, entry: Entry) -> np.dtype | None:
        return self._dtypes.get((id(entry.node), entry.index))

    def spec(self, entry: Entry) -> Spec:
        return Spec(self.shape(entry), self.dtype(entry))

    def is_known(self, entry: Entry) -> bool:
        """True where shape and dtype are known."""
        return is_known(self.shape(entry)) and self.dtype(entry) is not None

    def is_float32(self, *entries: Entry) -> bool:
        """True where all are of a known shape, and float32."""
        return all(self.dtype(e) == np.float32 and is_known(self.shape(e)) for e in entries)

    def is_constant(self, entry: Entry) -> bool:
        """True where it is a constant, or follows from constants alone."""
        return self._constant[id(entry.node)]

    def _is_decided(self, node: Node) -> bool:
        if node.op is None:
            return node.name in self.constants
        return all(map(self.is_constant, node.inputs)) and self.is_pure(node) and self._has_static_shapes(node)

    def is_pure(self, node: Node) -> bool:
        """True where the node gives the same from the same inputs, and does nothing else."""
        op = node.op
        assert op is not None
        if op.mutates or node.subgraphs or not _IMPURE.isdisjoint(op.needs):
            return False
        return not (self.training and "training" in op.needs)

    def _has_static_shapes(self, node: Node) -> bool:
        """True where the shapes are known, of the node alone too, without its readers."""
        assert node.op is not None
        entries = [Entry(node, i) for i in range(len(node.op.output_names()))]
        if not all(map(self.is_known, entries)):
            return False
        if self.traced and (
            any(has_dims(self.shape(e)) for e in entries) or any(has_dims(getattr(node.op, n)) for n in node.op.fields)
        ):
            return False
        return bool(node.inputs) or is_known(node.op.infer_shape())

    def inference(self, graph: Graph) -> Inference:
        """The knowledge as an inference of a graph that passes have made."""
        found = Inference(graph)
        found.shapes, found.dtypes = self._shapes, self._dtypes
        return found

    # -- making nodes ---------------------------------------------------------------------------------------------------

    def make(self, op: Op, name: str, *inputs: Entry) -> Entry:
        """The first output of a new node, whose shapes and dtypes are inferred from its inputs."""
        node = Node(op, name, inputs)
        shapes: Any = op.infer_shape(*map(self.shape, inputs))
        dtypes: Any = op.infer_type(*map(self.dtype, inputs))  # type: ignore[arg-type]
        several = isinstance(shapes, list)
        self._note(node, shapes if several else [shapes], dtypes if isinstance(dtypes, list) else [dtypes])
        return Entry(node)

    def make_flow(self, op: Op, like: Node, inputs: Sequence[Entry], specs: Sequence[Spec]) -> list[Entry]:
        """The outputs of a new node with the subgraphs of another, which are of these specs."""
        node = Node(op, like.name, inputs, like.attrs, like.subgraphs)
        self._note(node, [s.shape for s in specs], [s.dtype for s in specs])
        return [Entry(node, i) for i in range(len(specs))]

    def inline(self, body: Graph, given: Mapping[str, Entry], name: str) -> list[Entry]:
        """The outputs of a graph whose variables are these entries, its nodes made anew."""
        new: dict[tuple[Node, int], Entry] = {}
        for node in body.nodes:
            if node.op is None:
                new[node, 0] = given[node.name]
                continue
            made = self.make(node.op, f"{name}_{node.name}", *(new[e.node, e.index] for e in node.inputs)).node
            new.update(((node, i), Entry(made, i)) for i in range(node.num_outputs))
        return [new[e.node, e.index] for e in body.outputs]

    def variable(self, name: str, spec: Spec) -> Entry:
        """A new variable."""
        node = Node(None, name)
        self._note(node, [spec.shape], [spec.dtype])
        return Entry(node)

    def _note(self, node: Node, shapes: Sequence[Any], dtypes: Sequence[Any]) -> None:
        self._made[id(node)] = node
        for i, (shape, dtype) in enumerate(zip(shapes, dtypes)):
            self._shapes[id(node), i] = shape
            self._dtypes[id(node), i] = dtype
        self._constant[id(node)] = self._is_decided(node)

    def reshape(self, entry: Entry, shape: tuple[int, ...]) -> Entry:
        """The entry in another shape, all sizes of which are known and none 0; without a detour over a third."""
        while self.shape(entry) != shape:
            node = entry.node
            # what was unpacked is known in blocks: see pack
            if not node.means(Reshaping) or id(node) in self._unpacked or not self.is_known(node.inputs[0]):
                return self.make(Reshape.bind(shape=shape), f"{node.name}_reshape", entry)
            entry = node.inputs[0]
        return entry

    def pack(self, entry: Entry) -> Entry:
        """The entry (N, C, H, W) in blocks of channels; rows (N, C, W) count as images of height 1."""
        found = self._in_blocks(entry)
        if found is None:
            image = self.reshape(entry, as_image(self.shape(entry)))
            found = self.make(ToBlocked.bind(), f"{entry.node.name}_pack", image)
            self._blocks[id(entry.node), entry.index] = self._blocks[id(image.node), image.index] = found
        return found

    def unpack(self, blocked: Entry, channels: int) -> Entry:
        """Blocks as (N, channels, H, W). Whoever asks for the result in blocks gets these again."""
        key = id(blocked.node), blocked.index
        if key not in self._plain:
            n, b, h, w, width = self.shape(blocked)
            if h * w == 1 and channels == b * width:  # no number has to move
                plain = self.reshape(blocked, (n, channels, 1, 1))
            else:
                plain = self.make(FromBlocked.bind(channels=channels), f"{blocked.node.name}_unpack", blocked)
            self._plain[key] = plain
            self._blocks[id(plain.node), plain.index] = blocked
            self._unpacked.add(id(plain.node))
        return self._plain[key]

    def in_blocks(self, entry: Entry) -> bool:
        """True where it is known in blocks already, so that packing costs nothing."""
        return self._in_blocks(entry) is not None

    def _in_blocks(self, entry: Entry) -> Entry | None:
        """The entry in blocks: what it was unpacked from, else what it has been packed to."""
        wanted = as_image(self.shape(entry))
        packed = None
        while True:
            if as_image(self.shape(entry)) == wanted:
                found = self._blocks.get((id(entry.node), entry.index))
                if id(entry.node) in self._unpacked:
                    return found
                packed = packed or found
            if not entry.node.means(Reshaping):
                return packed
            entry = entry.node.inputs[0]

    # -- rewriting ------------------------------------------------------------------------------------------------------

    def readers(self, graph: Graph) -> dict[Key, list[Node | None]]:
        """Readers of each output, None for the graph's own outputs."""
        found: dict[Key, list[Node | None]] = {}
        for node in graph.nodes:
            for entry in node.inputs:
                found.setdefault((id(entry.node), entry.index), []).append(node)
        for entry in graph.outputs:
            found.setdefault((id(entry.node), entry.index), []).append(None)
        return found

    def rewrite(self, graph: Graph, change: Change) -> Graph:
        """The graph with every operator's node changed, in order; the graph itself when nothing is.

        Nodes of the graph that the rewriter was made with stay as they are; those that passes have made may get other inputs."""
        new: dict[Key, Entry] = {}
        moved: set[int] = set()
        changed = False

        def now(entry: Entry) -> Entry:
            return new.get((id(entry.node), entry.index), entry) if id(entry.node) in moved else entry

        for node in graph.nodes:
            if node.op is None:
                continue
            found = change(node, now)
            if found is None:
                for entry in node.inputs:
                    if id(entry.node) in moved:
                        break
                else:
                    continue
                found = self.with_inputs(node, tuple(map(now, node.inputs)))
            elif isinstance(found, Entry):
                found = (found,)
            changed = True
            if found and found[0].node is node:
                continue
            moved.add(id(node))
            for i, entry in enumerate(found):
                new[id(node), i] = entry
        return Graph(map(now, graph.outputs)) if changed else graph

    def with_inputs(self, node: Node, inputs: tuple[Entry, ...]) -> list[Entry]:
        """The outputs of the node with other inputs, which hold what its own held."""
        assert node.op is not None
        outputs = [Entry(node, i) for i in range(len(node.op.output_names()))]
        if id(node) in self._made:  # nobody else knows it: readers need not change
            node.inputs = inputs
            copy = node
        else:
            copy = Node(node.op, node.name, inputs, node.attrs, node.subgraphs)
            self._note(copy, [self.shape(e) for e in outputs], [self.dtype(e) for e in outputs])
            if (id(node), 0) in self.values:
                self.values[id(copy), 0] = self.values[id(node), 0]
        if id(node) in self._unpacked:
            self._plain[id(inputs[0].node), inputs[0].index] = Entry(copy)
            self._blocks[id(copy), 0] = inputs[0]
        return outputs if copy is node else [Entry(copy, i) for i in range(len(outputs))]
