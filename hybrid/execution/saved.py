"""Compiled programs in files: what a second start needs to run a graph as it was lowered and packed the first time.

Saved are the steps and places of a program for one set of sizes (what native.template takes), constants that runs read or
kernels are prepared with, and weights as kernels have packed them, which are used where they lie in the mapped file. That holds
for these kernels, this CPU level and this version of the Python code (``build``), and for programs all of whose steps have
kernels. A step that its kernel refuses for the values of a run raises NotAlone: the graph itself has to be run then.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import native
from ..core.attrs import dtype as read_dtype
from ..core.error import FormatError, MXNetError
from ..core.fp_warnings import ignoring_fp_warnings
from ..core.memory_budget import afford, afford_array
from ..formats.compiled import Mapped, Writer, checksum

ARENA, INPUT, OUTPUT, CONSTANT = range(4)  # as lower.py places tensors
LARGE = 1 << 16
"""Bytes of a result from which memory is kept for the next one."""
ROOM = 64
"""Bytes that kernels may read behind packed weights, see base/floats.h."""
Spec = tuple[str, str, list[int]]
"""Name, dtype and shape of what goes in or comes out."""


class NotAlone(MXNetError):
    """A program that was saved comes to a step that NumPy has to do."""


def build(folders: Iterable[str | os.PathLike[str]] = ()) -> dict[str, str]:
    """Facts by which a program's compiler is known again: the CPU level, its kernels and the compiled part around them by their
    content, the Python code of the engine and of these folders by the names, sizes and whole seconds of change of its files."""
    level = native.level()
    if level is None:
        raise MXNetError(
            f"programs cannot be saved or loaded without the compiled part: {native.why_not() or 'NumPy is in use'}"
        )
    engine = os.path.dirname(os.path.dirname(__file__))
    files = sorted(line for folder in (engine, *folders) for line in _listed(folder, os.path.basename(folder)))
    sources = native.checksum("\n".join(files).encode()).hex()
    return {"level": level, "kernels": " ".join(map(checksum, native.files())), "sources": sources}


def _listed(folder: str | os.PathLike[str], name: str) -> Iterator[str]:
    """A line for each file of Python in a folder and those below."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                found = entry.stat()
                yield f"{name}/{entry.name} {found.st_size} {int(found.st_mtime)}"
            elif "." not in entry.name and entry.is_dir():
                yield from _listed(entry.path, f"{name}/{entry.name}")


# -- saving -----------------------------------------------------------------------------------------------------------------


def save(
    bound: Any,
    arrays: Sequence[np.ndarray],
    takes: Sequence[str],
    gives: Sequence[str],
    writer: Writer,
    folders: Iterable[str | os.PathLike[str]] = (),
) -> dict[str, Any]:
    """Describe a program of the compiled part for one set of sizes, for SavedProgram; blocks go to the writer.

    arrays: those that it runs on, the fixed ones with their values; takes: names of inputs in the order in which a run will be
    given them; gives: names of the outputs; folders: as build takes them. Raises MXNetError where the program is not one that
    runs alone, naming the steps."""
    from .lower import CompiledProgram

    if not isinstance(bound, CompiledProgram) or bound.lowered.request.trace is not None:
        raise MXNetError("the graph cannot be saved: its shapes depend on data, or NumPy runs it")
    lowered, core = bound.lowered, bound.core
    atoms, expressions, guards, tensors, storages, steps, *_, precise, _keep = lowered.described()
    others = [f"{f.node} ({f.operator}: {f.why})" for f in bound.fallbacks()]
    others += [f"{row[0]} ({s[0]}: control flow)" for s, row in zip(steps, lowered.build.rows) if s[6] is not None]
    if others:
        raise MXNetError(f"the graph has steps that cannot be saved: {'; '.join(others)}")
    assert not atoms and not expressions and not guards
    held = bound.hold(arrays)
    packed = [core.kept(i) for i in range(len(steps))]
    wanted = {i for i, array in enumerate(held) if array is not None}
    for step, own in zip(steps, packed):
        if not own:
            wanted |= {tensors[t][-2] for t in step[2] if tensors[t][-3] == CONSTANT}
    constants: list[Any] = [None] * len(held)
    for batch in bound.constants(arrays):
        for i in wanted.intersection(batch):
            array = batch[i]
            constants[i] = [_name(array.dtype), array.shape, *writer.add(_bytes(array))]
    names = lowered.request.names
    place_of = {n: i for i, n in enumerate(takes)}
    specs = [(n, _name(a.dtype), a.shape) for n in takes for a in (arrays[names.index(n)],)]
    return {
        "build": build(folders),
        "takes": specs,
        "given": [place_of[n] for n in lowered.given],
        "gives": [(n, _name(np.dtype(d)), shape) for n, (shape, d) in zip(gives, bound.outputs, strict=True)],
        "copies": [(i, kind, number) for i, (kind, number) in lowered.build.copies.items()],
        "precise": precise,
        "tensors": tensors,
        "storages": storages,
        "steps": [(op, attrs, ins, outs) for op, attrs, ins, outs, *_ in steps],
        "constants": constants,
        "packed": [[(form, *writer.add(a, ROOM)) for form, a in own] for own in packed],
    }


def _name(dtype: np.dtype) -> str:
    return dtype.name


def _bytes(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.uint8)


# -- loading ----------------------------------------------------------------------------------------------------------------


class SavedProgram:
    """A program of a file. Any number of threads may run it at once.

    folders: as build takes them. Raises FormatError where it was compiled by another build or for another CPU level, or
    describes no program; what a kernel relies on it checks itself, and where tensors lie the compiled part does."""

    def __init__(self, file: Mapped, folders: Iterable[str | os.PathLike[str]] = ()):
        self.file, self._folders = file, folders
        try:
            self._read(file.description)
        except FormatError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RuntimeError) as error:
            raise FormatError(f"{file.path}: it describes no program: {error!s:.300}") from error

    def _read(self, found: dict[str, Any]) -> None:
        ours, its = build(self._folders), found["build"]
        if its["level"] != ours["level"]:
            raise FormatError(f"{self.file.path}: it is for CPU level {its['level']}, and this is {ours['level']}")
        if its != ours:
            raise FormatError(f"{self.file.path}: it was compiled by another version of gluonnx; compile it anew")
        self.takes: list[Spec] = found["takes"]
        """Inputs, in the order in which a run takes them;"""
        self.gives: list[Spec] = found["gives"]
        """and outputs."""
        self._takes = [(n, read_dtype(d), _sizes(s)) for n, d, s in self.takes]
        self._gives = [(read_dtype(d), _sizes(s)) for _, d, s in self.gives]
        self._given = [_number(i, len(self.takes)) for i in found["given"]]
        self._copies = {_number(i, len(self.gives)): (kind, number) for i, kind, number in found["copies"]}
        constants = [None if c is None else self._constant(*c) for c in found["constants"]]
        self._copied: dict[int, np.ndarray] = {}
        for i, (kind, number) in self._copies.items():
            if kind == CONSTANT:
                if (array := constants[_number(number, len(constants))]) is None:
                    raise FormatError(f"{self.file.path}: an output is a constant that it does not have")
                self._copied[i] = array
            else:
                _number(number, {INPUT: len(self._given), OUTPUT: len(self.gives)}[kind])
        counts = len(self._given), len(self.gives) - len(self._copies), len(constants)
        storages = [(int(a), int(b)) for a, b in found["storages"]]
        limits = {ARENA: len(storages), INPUT: counts[0], OUTPUT: counts[1], CONSTANT: counts[2]}
        tensors = []
        for dtype, shape, blocked, halo_h, halo_w, stride, kind, number, skipped in found["tensors"]:
            sizes = (halo_h, halo_w, stride, skipped, *_sizes(shape))
            if any(type(n) is not int or n < 0 for n in sizes):
                raise FormatError(f"{self.file.path}: it has a tensor of no size")
            place = kind, _number(number, limits[kind])
            tensors.append((dtype, _sizes(shape), bool(blocked), halo_h, halo_w, stride, *place, skipped))
        steps = [
            (op, {n: tuple(v) if type(v) is list else v for n, v in attrs.items()}, ins, outs, False, i, None, [])
            for i, (op, attrs, ins, outs) in enumerate(found["steps"])
        ]
        template = native.template(
            [], [], [], tensors, storages, steps, *counts, native.threads(), bool(found["precise"]), False
        )
        self._core = template.program([], sum(_sizes_in_memory(tensors)))
        afford(self._core.arena_bytes(), "the memory of the program's tensors")
        if not all(self._core.native()):
            raise FormatError(f"{self.file.path}: a step of it has no kernel")
        packed = [[(form, self.file.memory(block).view(np.float32)) for form, *block in own] for own in found["packed"]]
        self._core.restore([None if c is None else _bits(c) for c in constants], packed, 1)
        self._host = None if self._core.sure() else _refuse

    def _constant(self, dtype: str, shape: Any, *block: int) -> np.ndarray:
        return self.file.array(block, read_dtype(dtype), _sizes(shape))

    def arrange(self, feeds: Mapping[str, np.ndarray], unread: Collection[str] = ()) -> list[np.ndarray] | None:
        """The inputs in order, with zeros for what no output depends on; None where they are not all there with the sizes and
        dtypes that the program was compiled for."""
        found = []
        for name, dtype, shape in self._takes:
            array = feeds.get(name)
            if array is None and name in unread:
                array = np.zeros(shape, dtype)
            if array is None or array.shape != shape or array.dtype != dtype:
                return None
            found.append(array)
        return found

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs for inputs that fit. Raises NotAlone where a kernel refuses their values."""
        outs = []
        for dtype, shape in self._gives:
            afford_array(shape, dtype, "an output")
            large = math.prod(shape) * dtype.itemsize >= LARGE and dtype.kind != "V"
            outs.append(native.empty(shape, dtype) if large else np.empty(shape, dtype))
        inputs = [_bits(np.require(arrays[i], requirements=["C", "A"])) for i in self._given]
        targets = [_bits(o) for i, o in enumerate(outs) if i not in self._copies]
        ignoring_fp_warnings(self._core.run, inputs, targets, self._host, 1)
        for i, (kind, number) in self._copies.items():
            source = {INPUT: inputs, OUTPUT: outs}[kind][number] if kind != CONSTANT else self._copied[i]
            outs[i][...] = source.view(outs[i].dtype).reshape(outs[i].shape)
        return outs


def _refuse(step: int, inputs: Any, outputs: Any) -> None:
    raise NotAlone("a step of the program refuses these inputs")


def _number(value: Any, count: int) -> int:
    if type(value) is not int or not 0 <= value < count:
        raise FormatError(f"a number of something that there is not: {value!s:.40}")
    return value


def _sizes(shape: Any) -> tuple[int, ...]:
    sizes = tuple(shape)
    if any(type(n) is not int or n < 0 for n in sizes):
        raise FormatError(f"no shape: {sizes!s:.80}")
    return sizes


def _sizes_in_memory(tensors: Sequence[Any]) -> Iterator[int]:
    """Bytes of the tensors, with what lies between and around them, at most: more than an arena for them takes."""
    for _, shape, blocked, _, _, stride, *_ in tensors:
        yield 8 * (shape[0] * stride if blocked else math.prod(shape)) + 64


def _bits(array: np.ndarray) -> np.ndarray:
    """The array, of a dtype whose memory can be handed out."""
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "V" else array
