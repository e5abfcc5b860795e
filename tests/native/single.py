"""One kernel at a time: an operator applied to arrays by the compiled part, so that it can be held against NumPy.

Everything that a kernel is given lies between zones: inputs, constants and outputs here, arena and scratch in the compiled part
(``guard``). It runs twice, with different bytes in these zones and in outputs before it writes them: what it writes outside, an
element that it leaves as it was, a result that depends on what lies beside an operand, and an input that it changes, all raise."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from hybrid import native
from hybrid.core.attrs import dtype_text
from hybrid.core.error import InternalError
from hybrid.core.op import Op, Spec
from hybrid.core.shapes import is_known
from hybrid.execution.apply import apply
from hybrid.execution.lower import KNOWN, attributes
from hybrid.ir.graph import Entry
from hybrid.ir.infer import infer
from tests.table.examples import Example, clear_room, graph_of

ARENA, INPUT, OUTPUT, CONSTANT = range(4)

ZONE = 256
_process = None if os.name == "nt" else ctypes.CDLL(None)  # Windows has no name for all libraries of a process
_poison = getattr(_process, "__asan_poison_memory_region", None)  # under the address sanitizer
_unpoison = getattr(_process, "__asan_unpoison_memory_region", None)


class Guarded:
    """A copy of an array between two zones."""

    def __init__(self, array: np.ndarray, what: str):
        self.what, self.original = what, np.ascontiguousarray(array).reshape(array.shape).copy()
        self.size = array.nbytes
        memory = np.empty(self.size + 2 * ZONE + 64, np.uint8)
        start = -memory.ctypes.data % 64
        self.memory = memory[start : start + self.size + 2 * ZONE]
        self.bytes = self.memory[ZONE : ZONE + self.size]
        self.array = self.bytes.view(array.dtype).reshape(array.shape) if self.size else self.original
        self.bytes[...] = self._raw(self.original)

    @staticmethod
    def _raw(array: np.ndarray) -> np.ndarray:
        return array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)

    def close(self, mark: int, fill: int | None = None) -> None:
        """Marks the zones, and fills the array or puts back what it had."""
        self.mark = mark
        self.memory[:ZONE] = self.memory[ZONE + self.size :] = mark
        self.bytes[...] = self._raw(self.original) if fill is None else fill
        self._each_zone(_poison)

    def open(self) -> None:
        """Raises AssertionError when something was written to the zones."""
        self._each_zone(_unpoison)
        for where, zone in (("before", self.memory[:ZONE]), ("behind", self.memory[ZONE + self.size :])):
            assert zone.tobytes() == ZONE * bytes([self.mark]), f"the kernel wrote {where} {self.what}"

    def _each_zone(self, function: Any) -> None:
        if function is not None:
            for at in (0, ZONE + self.size):
                function(ctypes.c_void_p(self.memory.ctypes.data + at), ctypes.c_size_t(ZONE))

    def __del__(self) -> None:
        self._each_zone(_unpoison)  # NumPy keeps the memory of small arrays for the next ones

    def unchanged(self) -> bool:
        return np.array_equal(self.bytes, self._raw(self.original))


def specs_of(op: Op, arrays: Sequence[np.ndarray]) -> list[Any]:
    """Specs of the outputs, by inference, and where that cannot know by NumPy."""
    graph, feeds = graph_of(Example(op, tuple(arrays)))
    node = graph.outputs[0].node
    found = infer(graph, {k: v.shape for k, v in feeds.items()}, {k: v.dtype for k, v in feeds.items()}, values=feeds)
    specs = [found.spec(Entry(node, i)) for i in range(node.num_outputs)]
    if all(is_known(s.shape) for s in specs):
        return specs
    return [Spec(r.shape, r.dtype) for r in reference(op, arrays, specs)]  # values decide


def blocked(shape: Sequence[int], op: Op) -> bool:
    """True where an operand of this shape of this operator is blocked data."""
    return op.name.startswith("_fused_") and len(shape) == 5 and shape[-1] == 16 and op.name != "_fused_chain"


@contextmanager
def using(count: int) -> Iterator[None]:
    """Kernels use so many threads."""
    before = native.threads()
    native.set_num_threads(count)
    try:
        yield
    finally:
        native.set_num_threads(before)


class LeftToNumPy(InternalError):
    """Raised for a run of a kernel that is not sure, at values that it leaves to NumPy."""


class Attributes:
    """An operator with other values of its attributes than it would take."""

    def __init__(self, op: Op, attrs: dict[str, Any]):
        self.fields = {name: value for name, value in attrs.items() if name not in op.untold}
        self.count, self.untold, self.needs = op.count, (), op.needs
        self.__dict__ |= attrs


class Single:
    """An operator bound to shapes; ``constants``: positions of inputs that stay the same; halo: around blocked operands."""

    def __init__(
        self,
        op: Op,
        arrays: Sequence[np.ndarray],
        constants: Sequence[int] = (),
        halo: tuple[int, int] = (0, 0),
        threads: int = 1,
        precise: bool = False,
        training: bool = False,
        specs: Sequence[Any] | None = None,
        attrs: dict[str, Any] | None = None,
    ):
        """specs, attrs: of the outputs and of the operator, when they are not to be what inference says and the operator has."""
        self.op, self.constants, self.halo = op, tuple(constants), halo
        self.specs = specs_of(op, arrays) if specs is None else list(specs)
        tensors: list[Any] = []
        counts = [0, 0, 0, 0]
        for i, array in enumerate(arrays):
            kind = CONSTANT if i in self.constants else INPUT
            tensors.append(self._tensor(array.dtype, array.shape, kind, counts))
        for spec in self.specs:
            tensors.append(self._tensor(spec.dtype, spec.shape, OUTPUT, counts))
        count = len(arrays)
        attrs = attributes(op if attrs is None else Attributes(op, attrs), training)  # type: ignore[arg-type]
        steps = [(op.name, attrs or {}, list(range(count)), list(range(count, count + len(self.specs))), attrs is None)]
        self.program = native.program(
            tensors, steps, 0, counts[INPUT], counts[OUTPUT], counts[CONSTANT], threads, precise, guard=True
        )
        self.there: bool = self.program.native()[0]
        self._held = [Guarded(arrays[i], f"constant {i}") for i in self.constants]
        for held in self._held:
            held.close(0xFF)
        if self.constants:
            self.program.set_constants([h.array for h in self._held], list(range(len(self._held))))

    def _tensor(self, dtype: Any, shape: Sequence[int], kind: int, counts: list[int]) -> tuple[Any, ...]:
        number = counts[kind]
        counts[kind] += 1
        if not blocked(shape, self.op):
            name = dtype_text(dtype)
            name = name if name in KNOWN else f"opaque{np.dtype(dtype).itemsize}"
            return (name, tuple(shape), False, 0, 0, 0, kind, number)
        h, w = self.around(kind, number)
        stride = shape[1] * (shape[2] + 2 * h) * (shape[3] + 2 * w) * 16
        return (str(dtype), tuple(shape), True, h, w, stride, kind, number)

    def around(self, kind: int, number: int) -> tuple[int, int]:
        """The halo of the number-th input or output."""
        return self.halo

    def _padded(self, array: np.ndarray, kind: int, number: int) -> np.ndarray:
        if not blocked(array.shape, self.op):
            return np.ascontiguousarray(array).reshape(array.shape)  # which would make () into (1,)
        h, w = self.around(kind, number)
        return np.pad(array, ((0, 0), (0, 0), (h, h), (w, w), (0, 0)))

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs. Raises LeftToNumPy, what binding or running raises, and AssertionError for what the module says."""
        given = [i for i in range(len(arrays)) if i not in self.constants]
        changes = {i for i, name in enumerate(self.op.input_names()) if name in self.op.mutates}
        inputs = [Guarded(self._padded(arrays[i], INPUT, n), f"input {i}") for n, i in enumerate(given)]
        outs = [
            Guarded(self._padded(np.zeros(s.shape, s.dtype), OUTPUT, i), f"output {i}")
            for i, s in enumerate(self.specs)
        ]
        made: list[list[np.ndarray]] = []
        for mark, fill in ((0xFF, 0x7F), (0x3C, 0xFF)):
            for guarded in inputs:
                guarded.close(mark)
            for guarded in outs:
                guarded.close(mark, fill)
            try:
                self.program.run([g.array for g in inputs], [g.array for g in outs], None)
            except RuntimeError as error:
                if self.program.sure() or "leaves to NumPy" not in str(error):
                    raise
                raise LeftToNumPy(str(error)) from error
            for guarded in (*inputs, *outs, *self._held):
                guarded.open()
            for held in self._held:
                held._each_zone(_poison)
            for i, guarded in zip(given, inputs):
                assert i in changes or guarded.unchanged(), f"{self.op.name}: the kernel changed input {i}"
            for guarded in outs:
                self.look_beside(guarded.array, fill)
            made.append([self._inside(g.array, OUTPUT, n).copy() for n, g in enumerate(outs)])
            clear_room(self.op, made[-1])
        for i, (first, second) in enumerate(zip(*made)):
            same = Guarded._raw(first) == Guarded._raw(second)
            if same.all():
                continue
            raise AssertionError(
                f"{self.op.name}: output {i} depends on what was there before or beside the operands, at byte "
                f"{int(np.flatnonzero(~same)[0])} of {same.size}, {int((~same).sum())} in all"
            )
        for n, (i, guarded) in enumerate(zip(given, inputs)):
            if i in changes:
                arrays[i][...] = self._inside(guarded.array, INPUT, n)
        return made[-1]

    def look_beside(self, output: np.ndarray, fill: int) -> None:
        """Called after a run with each output as it lies in memory, which was full of these bytes."""

    def _inside(self, array: np.ndarray, kind: int, number: int) -> np.ndarray:
        """Part of an array that a kernel writes: without the halo."""
        if not blocked(array.shape, self.op):
            return array
        h, w = self.around(kind, number)
        return array[:, :, h : array.shape[2] - h, w : array.shape[3] - w]


def reference(
    op: Op, arrays: Sequence[np.ndarray], specs: Sequence[Any], training: bool = False
) -> tuple[np.ndarray, ...]:
    """NumPy's answer, with all checks."""
    return apply(op, arrays, specs, name=op.name, training=training)
