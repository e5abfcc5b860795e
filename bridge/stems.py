"""Outcome of a network's first operators for an input, before anything else reads it: x * factor + shift, for each channel.

Followed are operators that pass values on, in any order, and whatever turns out to be linear in x when it is tried with numbers:
so scalars, constants on either side (also where operators that pass values on lie around them, or arithmetic between constants)
and their NumPy and ONNX forms are one case.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hybrid.core.error import MXNetError
from hybrid.core.op import Domain
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ops.elementwise import Elementwise

PIXELS = Domain(0, 255)
MIDDLE = (64.0, 192.0)
"""Bounds of the middle of pixels: a constant inside, taken from numbers that are about to be read, is the mean of pixels."""
SMALL = 3.2
"""The largest number that pixels become by their mean and deviation."""
TWICE = 16
"""The largest number that a network expects, from which on it makes small numbers of pixels by itself."""
PASSING = (
    *("Pad", "_npi_pad", "_onnx_Pad", "Dropout", "clip", "_onnx_Clip", "SliceChannel", "Crop", "slice_like"),
    *("broadcast_to", "broadcast_like", "broadcast_axis", "_npi_broadcast_to", "tile", "repeat", "_onnx_Transpose"),
    *("_contrib_BilinearResize2D", "_image_resize", "_npx__image_resize", "UpSampling", "_onnx_Resize", "_copyto"),
    *("_npx_reshape_like", "_np_transpose", "take", "_onnx_CenterCropPad", "_onnx_Identity", "_onnx_Expand"),
)
"""Operators that hold the values of their first input, or values between them, beside those that say so themselves."""
JOINS = ("Concat", "stack", "_npi_concatenate", "_npi_stack", "_onnx_Concat")
"""Operators that put values of all their inputs into one array."""
SIZES = {
    "shape_array": (0,), "size_array": (0,), "_npx_shape_array": (0,), "_onnx_Shape": (0,), "_onnx_Size": (0,),
    "zeros_like": (0,), "ones_like": (0,), "_npi_zeros_like": (0,), "_npi_ones_like": (0,), "_npi_full_like": (0,),
    "_contrib_arange_like": (0,), "_npx_arange_like": (0,), "Crop": (1,), "reshape_like": (1,),
    "_npx_reshape_like": (1,), "slice_like": (1,), "broadcast_like": (1,), "_identity_with_attr_like_rhs": (1,),
    "_contrib_BilinearResize2D": (1,),
}  # fmt: skip
"""Inputs, by position, of which operators read the sizes alone."""
TRIED = (0.0, 1.0, -1.0, 2.0, 255.0, -300.0)
"""Numbers by which a line is told from other curves."""
MOST = 4096
"""Pairs of numbers, of channels that do not go together, of which each is looked at."""


class Line(NamedTuple):
    """x * factor + shift, of each channel or of all."""

    shift: np.ndarray
    factor: np.ndarray


class Seen(NamedTuple):
    """Numbers that a normalisation has seen in training, behind a line."""

    name: str
    low: np.ndarray
    high: np.ndarray


class Stem(NamedTuple):
    """Outcome of a graph's first operators for an input x: x * factor + shift, of each channel or of all."""

    shift: np.ndarray
    factor: np.ndarray
    seen: Seen | None = None
    """Numbers that a BatchNorm which reads the outcome has seen, where these were larger numbers than networks take."""

    @property
    def centered(self) -> bool:
        """True where something is subtracted, so that the middle of what is expected is known."""
        return self.seen is not None or bool(np.any(self.shift != 0))

    @property
    def expects(self) -> Domain | None:
        """Numbers that come out of it as small ones, about from -1 to 1, those that a normalisation has seen, and pixels where
        their mean is taken off; None where it does nothing of that."""
        if self.seen is not None:
            ends = _back(self.seen.low, self), _back(self.seen.high, self)
            low, high = float(np.min(ends)), float(np.max(ends))
            return PIXELS if _are_pixels(low, high) else Domain(low, high)
        if not np.all(self.factor):
            return None
        middle = -self.shift / self.factor
        small = np.max(np.abs([self.shift, 255 * self.factor + self.shift])) <= SMALL
        of_pixels = bool(np.all((middle > MIDDLE[0]) & (middle < MIDDLE[1])))
        if of_pixels and (small or np.all(abs(self.factor) >= 0.5)):
            return PIXELS
        if np.any(abs(self.factor) >= 0.5):
            return None
        ends = np.stack([(-1 - self.shift) / self.factor, (1 - self.shift) / self.factor])
        lows, highs = ends.min(0), ends.max(0)
        plain = self.shift == 0
        lows, highs = np.where(plain, 0.0, lows), np.where(plain, np.maximum(-lows, highs), highs)
        low, high = float(lows.min()), float(highs.max())
        near = abs(low - PIXELS.low) < 4 and abs(high - PIXELS.high) < 4
        return PIXELS if near else Domain(low, high)

    def words(self, name: str) -> str:
        """Its outcome in words, as ``(name - 127.5) * 0.0078125``."""
        if self.seen is not None:
            return f"{self.seen.name} does by moving_mean and moving_var"
        centers = -self.shift / self.factor
        if not np.any(self.shift):
            moved = name
        elif np.ptp(centers) < 1e-6 * abs(centers[0]):
            moved = f"({name} {'-' if centers[0] > 0 else '+'} {abs(centers[0]):.6g})"
        else:
            moved = f"({name} - {_listed(centers)})"
        one = np.ptp(self.factor) < 1e-6 * abs(self.factor[0])
        factor = f"{self.factor[0]:.7g}" if one else _listed(self.factor)
        return moved if one and abs(self.factor[0] - 1) < 1e-6 else f"{moved} * {factor}"


def _listed(values: np.ndarray) -> str:
    """Numbers for each channel; of more than four the least and the greatest."""
    if values.size > 4:
        return f"{values.min():.6g}..{values.max():.6g}"
    return f"({', '.join(f'{v:.6g}' for v in values)})"


def _are_pixels(low: float, high: float) -> bool:
    """True for what a mean and twice the deviation say of pixels."""
    return MIDDLE[0] < (low + high) / 2 < MIDDLE[1] and 128 < high - low < 400


def _back(values: np.ndarray, line: Stem) -> np.ndarray:
    """The numbers of which a line makes these."""
    values, shift, factor = _paired(values, line.shift, line.factor)
    return (values - shift) / factor


def _paired(*arrays: np.ndarray) -> list[np.ndarray]:
    """Arrays of as many numbers each: repeated where they are one, or of their extremes where they do not go together."""
    size = max(a.size for a in arrays)
    if all(a.size in (1, size) for a in arrays):
        return [np.broadcast_to(a, size) if a.size == 1 else a for a in arrays]
    grid = np.meshgrid(*(np.unique(a) if a.size <= 16 else np.array([a.min(), a.max()]) for a in arrays))
    return [g.reshape(-1) for g in grid]


def expected(graph: Graph, params: Mapping[str, np.ndarray] | None = None) -> dict[str, Domain]:
    """Numbers that inputs hold by what the graph's first operators make of them: (x - 127.5) / 128 expects pixels. Those that
    nothing scales are left out."""
    known = Known(graph, params or {})
    inputs = [v for v in graph.variables() if v.name not in known.params]
    stems = {v.name: stem_of(known, v) for v in inputs}
    found = {name: None if stem is None else stem.expects for name, stem in stems.items()}
    return {name: domain for name, domain in found.items() if domain is not None}


def stem_of(known: Known, variable: Node) -> Stem | None:
    """Outcome of a graph's first operators for a variable; None where nothing reads it."""
    lines: dict[tuple[int, int], Line] = {(id(variable), 0): Line(np.zeros(1), np.ones(1))}
    ends: dict[tuple[int, int], Line] = {}
    norms: list[Seen | None] = []
    todo, queued = [], set()

    def follow(key: tuple[int, int]) -> None:
        for reader, _ in known.readers.get(key, ()):
            if reader.op is not None and id(reader) not in queued:
                queued.add(id(reader))
                heapq.heappush(todo, (known.order[id(reader)], reader))

    follow((id(variable), 0))
    while todo:  # in the graph's order, so that all inputs of a node are known when its turn comes
        _, node = heapq.heappop(todo)
        assert node.op is not None
        sizes = SIZES.get(node.op.name, ())
        read = {i: (id(e.node), e.index) for i, e in enumerate(node.inputs) if i not in sizes}
        mine = {i: lines[key] for i, key in read.items() if key in lines}
        if not mine:
            continue
        line = _behind(node, read, mine, known)
        if line is None:
            ends |= {read[i]: own for i, own in mine.items()}
            norms.append(_seen(node, known.params) if node.op.name.startswith("BatchNorm") else None)
            continue
        for index in range(node.num_outputs):
            lines[id(node), index] = line
            follow((id(node), index))
    for entry in known.graph.outputs:  # an input that is given out as it is says nothing of its numbers
        key = (id(entry.node), entry.index)
        if key in lines and entry.node is not variable:
            ends[key] = lines[key]
    if not ends:
        return None
    shift, factor = (np.concatenate(parts) for parts in zip(*(_paired(*line) for line in ends.values())))
    return Stem(shift, factor, norms[0] if len(norms) == 1 and np.all(factor) else None)


def _behind(node: Node, read: Mapping[int, tuple[int, int]], lines: Mapping[int, Line], known: Known) -> Line | None:
    """Outcome of a node for inputs that are lines; None where that is none."""
    op = node.op
    assert op is not None
    if node.subgraphs:
        return None
    if op.name in JOINS:
        if len(lines) < len(read):
            return None
        pairs = [np.stack(_paired(*line)) for line in lines.values()]
        both = np.unique(np.concatenate(pairs, axis=1), axis=1)
        return Line(*both) if both.shape[1] <= MOST else None
    if op.only_moves_data or op.name in PASSING:
        return lines.get(0)
    image = op.name.endswith(("_image_to_tensor", "_image_normalize"))
    if len(lines) > 1 or node.num_outputs > 1 or not (image or isinstance(op, Elementwise) or _broadcasts(node)):
        return None
    (place, line), *_ = lines.items()
    held = {i: known.value(node.inputs[i]) for i in read if i != place}
    if any(v is None for v in held.values()):
        return None
    own = _tried(node, place, {i: v for i, v in held.items() if v is not None}, image)
    if own is None or own.factor.size > MOST * 1024:
        return None
    shift, factor, further, by = _paired(*line, *own)
    return Line(shift * by + further, factor * by)


def _broadcasts(node: Node) -> bool:
    """True for arithmetic of two inputs, whose shapes may differ."""
    assert node.op is not None
    return len(node.inputs) == 2 and (
        node.op.name.startswith(("broadcast_", "_npi_", "_onnx_", "elemwise_")) and node.op.input_names()[0] != "data"
    )


def _tried(node: Node, place: int, held: Mapping[int, np.ndarray], image: bool) -> Line | None:
    """The line that a node is in one input, by what it gives for numbers; None where it gives no line."""
    assert node.op is not None
    try:
        shape = np.broadcast_shapes(*(v.shape for v in held.values())) if held else (1,)
    except ValueError:
        return None
    if image:
        shape = (
            (1, 1, 3) if node.op.name.endswith("to_tensor") else (max(1, np.size(getattr(node.op, "mean", 1))), 1, 1)
        )
    variables = [Node(None, f"x{i}") for i in range(len(node.inputs))]
    graph = Graph([Entry(Node(node.op, node.name, [Entry(v) for v in variables], node.attrs, node.subgraphs))])
    feeds = {f"x{i}": np.ascontiguousarray(np.broadcast_to(v, shape)).astype(np.float32) for i, v in held.items()}
    try:
        program = Program(graph, native=False)
        with np.errstate(all="ignore"):
            outs = [
                program.run({**feeds, f"x{place}": np.full(shape, number, np.float32)})[0].reshape(-1)
                for number in TRIED
            ]
    except (MXNetError, ValueError, TypeError, ArithmeticError):
        return None
    points = np.stack(outs).astype(np.float64)
    if not np.all(np.isfinite(points)):
        return None
    shift, factor = points[0], (points[4] - points[0]) / TRIED[4]
    wanted = np.array(TRIED)[:, None] * factor + shift
    scale = np.max(np.abs(points), axis=0)
    return Line(shift, factor) if np.all(np.abs(points - wanted) <= 1e-4 * scale) and np.any(factor) else None


def _seen(node: Node, params: Mapping[str, np.ndarray]) -> Seen | None:
    """Numbers that a BatchNorm has seen, of each channel, where these were larger numbers than networks take."""
    assert node.op is not None
    held = dict(zip(node.op.input_names(), (params.get(e.node.name) for e in node.inputs)))
    mean, variance = held.get("moving_mean"), held.get("moving_var")
    if mean is None or variance is None or not np.all(variance > TWICE**2):
        return None
    mean, spread = np.asarray(mean, np.float64).reshape(-1), np.sqrt(np.asarray(variance, np.float64)).reshape(-1)
    return Seen(node.name, mean - 2 * spread, mean + 2 * spread)


def depending(graph: Graph, params: Container[str], sizes: bool = True) -> set[int]:
    """Ids of the nodes that an input, chance or a loop takes part in. sizes: so do those that read the sizes of an input alone,
    which are the same in every run of one shape."""
    found: set[int] = set()
    for node in graph.nodes:
        if node.op is None:
            free = node.name not in params
        else:
            by_size = () if sizes else SIZES.get(node.op.name, ())
            free = (
                "rng" in node.op.needs
                or bool(node.subgraphs)  # a loop may have no end
                or any(id(e.node) in found for i, e in enumerate(node.inputs) if i not in by_size)
            )
        if free:
            found.add(id(node))
    return found


class Known:
    """A graph with its parameters: who reads what, and values of entries that no input takes part in."""

    def __init__(self, graph: Graph, params: Mapping[str, np.ndarray]):
        self.graph, self.params = graph, params
        self.readers = graph.uses()
        self.order = {id(node): number for number, node in enumerate(graph.nodes)}
        self.free = depending(graph, params)

    def value(self, entry: Entry) -> np.ndarray | None:
        if id(entry.node) in self.free:
            return None
        if entry.node.op is None:
            return np.asarray(self.params[entry.node.name])
        graph = Graph([entry])
        names: Sequence[str] = [v.name for v in graph.variables()]
        try:
            return np.asarray(Program(graph, {n: self.params[n] for n in names}, native=False).run({})[0])
        except (MXNetError, ValueError):
            return None
