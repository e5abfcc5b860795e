"""Pairs of operations of two networks: by name, by weights, by structure, at last by order."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .network import Network, Operation

TELLING = 16  # elements from which on a parameter identifies who reads it
ALIGNED = 20_000  # operations up to which what is left is aligned by order
COMMUTATIVE = frozenset(
    (
        "Add",
        "Mul",
        "Max",
        "Min",
        "Sum",
        "And",
        "Or",
        "Equal",
        "elemwise_add",
        "broadcast_add",
        "elemwise_mul",
        "broadcast_mul",
        "add_n",
    )
)
SILENT = ("Identity", "_copy", "identity", "Dropout")
"""Operators that give what they are given, at inference."""


class Matching:
    """Pairs of operations, and what follows: pairs of tensors."""

    def __init__(self, a: Network, b: Network, outer: dict[str, str] | None = None):
        """outer: tensors of the networks around these that are one."""
        self.a, self.b = a, b
        self.theirs: dict[Operation, Operation] = {}
        self.mine: dict[Operation, Operation] = {}
        self.tensors: dict[str, str] = dict(outer or {})
        """Names of tensors in b by those in a."""
        self.aliases: tuple[dict[str, str], dict[str, str]] = {}, {}
        """Tensors of a, and of b, that are another one of the same network."""
        self._match_inputs(outer is not None)
        self._match()

    # -- results --------------------------------------------------------------------------------------------------

    def removed(self) -> list[Operation]:
        """Operations that a alone has."""
        return [op for op in self.a.operations if op not in self.theirs]

    def added(self) -> list[Operation]:
        """Operations that b alone has."""
        return [op for op in self.b.operations if op not in self.mine]

    def source(self, tensor: str, right: bool = False) -> str:
        """The tensor that this one is a copy of: operations without a partner that change nothing are passed over."""
        network, partner = (self.b, self.mine) if right else (self.a, self.theirs)
        seen = set()
        while tensor not in seen:
            seen.add(tensor)
            tensor = self.aliases[right].get(tensor, tensor)
            op = network.makers.get(tensor)
            if op is None:
                break
            if op in partner or not silent(op) or op.outputs[0] != tensor:
                break
            tensor = op.inputs[0]
        return tensor

    def connect(self, mine: str, theirs: str) -> None:
        """Say that two tensors are one."""
        self.tensors[mine] = theirs

    # -- the work -------------------------------------------------------------------------------------------------

    def _pair(self, mine: Operation, theirs: Operation) -> None:
        self.theirs[mine], self.mine[theirs] = theirs, mine
        self.tensors.update((x, y) for x, y in zip(mine.outputs, theirs.outputs) if x and y)

    def _unpair(self, mine: Operation) -> None:
        theirs = self.theirs.pop(mine)
        del self.mine[theirs]
        for name in mine.outputs:
            self.tensors.pop(name, None)

    def _match_inputs(self, by_place: bool) -> None:
        a, b = self.a.inputs, self.b.inputs
        if by_place:
            self.tensors.update(zip(a, b))
            return
        self.tensors.update((n, n) for n in a if n in b)
        rest, others = [n for n in a if n not in b], [n for n in b if n not in a]
        if len(rest) == len(others):
            self.tensors.update(zip(rest, others))

    def _match(self) -> None:
        named = list(self._by_name())
        alike = [(mine, theirs) for mine, theirs in named if mine.operator == theirs.operator]
        for mine, theirs in alike:
            if mine.name == theirs.name:
                self._pair(mine, theirs)
        self._heed_weights()
        self._unpair_doubtful()
        self._by_structure()
        for mine, theirs in alike:  # outputs keep names whichever node makes them, so that what stands before says more
            if mine not in self.theirs and theirs not in self.mine:
                self._pair(mine, theirs)
        self._unpair_doubtful()
        self._by_structure()
        self._align(lambda op, n: (op.operator, shapes(op, n), key(op)))
        self._by_structure()
        self._align(lambda op, n: (op.operator, shapes(op, n)))
        self._by_structure()
        for same in (True, False):  # another operator of the same name
            for mine, theirs in named:
                if (
                    mine not in self.theirs
                    and theirs not in self.mine
                    and (mine.operator == theirs.operator or not same)
                ):
                    self._pair(mine, theirs)
        self._by_place()

    def _by_name(self) -> Iterator[tuple[Operation, Operation]]:
        theirs = {op.name: op for op in self.b.operations}
        outputs = {op.outputs[0]: op for op in self.b.operations if op.outputs}
        taken = set()
        for mine in self.a.operations:
            match = theirs.get(mine.name) or outputs.get(mine.outputs[0] if mine.outputs else "")
            if match is not None and match not in taken:
                taken.add(match)
                yield mine, match

    def _heed_weights(self) -> None:
        """Pair what reads the same weights, where these are read by one operation on each side, whatever names say."""
        sides = []
        for network in (self.a, self.b):
            prints = {op: fingerprint(op, network) for op in network.operations}
            counts = Counter(prints.values())
            sides.append({p: op for op, p in prints.items() if p and counts[p] == 1})
        for print_, mine in sides[0].items():
            theirs = sides[1].get(print_)
            if theirs is None or self.theirs.get(mine) is theirs:
                continue
            for one in (mine, self.mine.get(theirs)):
                if one in self.theirs:
                    self._unpair(one)
            self._pair(mine, theirs)

    def _unpair_doubtful(self) -> None:
        doubted = [m for m in self.theirs if self._doubtful(m)]
        for mine in doubted:
            self._unpair(mine)

    def _doubtful(self, mine: Operation) -> bool:
        """True for a pair by name without weights of its own where every neighbour that is paired says otherwise, or where
        nothing but their outputs is called the same, and attributes differ: outputs keep names whichever node makes them."""
        theirs = self.theirs[mine]
        if fingerprint(mine, self.a) or fingerprint(theirs, self.b):
            return False
        if mine.name != theirs.name and key(mine) != key(theirs):
            return True
        said = [self.tensors[n] in theirs.inputs for n in mine.inputs if n in self.tensors]
        readers = [self.theirs[r] for o in mine.outputs for r in self.a.readers.get(o, ()) if r in self.theirs]
        said += [any(o in r.inputs for o in theirs.outputs) for r in readers]
        return bool(said) and not any(said)

    def _by_structure(self) -> None:
        """Pair operations whose inputs, or readers, are paired, until nothing is found any more."""
        waiting = self.removed()
        while waiting:
            left = [op for op in waiting if not self._forward(op)]
            left = [op for op in reversed(left) if not self._backward(op)][::-1]
            if len(left) == len(waiting):
                return
            waiting = left

    def _forward(self, mine: Operation) -> bool:
        read = [n for n in mine.inputs if n and n not in self.a.stored]
        wanted = [self.tensors.get(self.source(n)) for n in read]
        if not read or None in wanted:
            return False
        found = [
            op for op in self.b.readers.get(str(wanted[0]), ()) if self._may_be(mine, op) and self._reads(op, wanted)
        ]
        return self._choose(mine, found)

    def _backward(self, mine: Operation) -> bool:
        found = []
        for output in mine.outputs:
            for reader in self.a.readers.get(output, ()):
                theirs = self.theirs.get(reader)
                if theirs is None or reader.operator != theirs.operator or len(reader.inputs) != len(theirs.inputs):
                    continue
                for name, other in zip(reader.inputs, theirs.inputs):
                    maker = self.b.makers.get(self.source(other, right=True))
                    if name == output and maker is not None and self._may_be(mine, maker) and maker not in found:
                        found.append(maker)
        return self._choose(mine, found)

    def _may_be(self, mine: Operation, theirs: Operation) -> bool:
        return theirs not in self.mine and mine.operator == theirs.operator

    def _reads(self, op: Operation, wanted: Sequence[str | None]) -> bool:
        read = [self.source(n, right=True) for n in op.inputs if n and n not in self.b.stored]
        return read == wanted or (op.operator in COMMUTATIVE and sorted(read) == sorted(map(str, wanted)))

    def _choose(self, mine: Operation, found: list[Operation]) -> bool:
        """Pair an operation with the likeliest of some."""
        if not found:
            return False
        own, digest = key(mine), fingerprint(mine, self.a)

        def likeness(op: Operation) -> tuple[bool, bool, bool]:
            return fingerprint(op, self.b) == digest, shapes(op, self.b) == shapes(mine, self.a), key(op) == own

        best = max(found, key=likeness) if len(found) > 1 else found[0]
        self._pair(mine, best)
        return True

    def _align(self, label: Callable[[Operation, Network], Any]) -> None:
        """Pair what is left by its order among what is paired."""
        rest = self.removed(), self.added()
        if not all(rest) or max(len(self.a.operations), len(self.b.operations)) > ALIGNED:
            return
        numbers = {op: i for i, op in enumerate(self.theirs)}
        numbers |= {self.theirs[op]: i for op, i in list(numbers.items())}
        lines = [[numbers.get(op, label(op, n)) for op in n.operations] for n in (self.a, self.b)]
        for block in difflib.SequenceMatcher(None, *lines, autojunk=False).get_matching_blocks():
            for i in range(block.size):
                mine, theirs = self.a.operations[block.a + i], self.b.operations[block.b + i]
                if mine not in self.theirs and theirs not in self.mine:
                    self._pair(mine, theirs)

    def _by_place(self) -> None:
        """Pair operators that are not the same and stand between the same neighbours."""
        others = self.added()
        for mine in self.removed():
            before = [self.tensors.get(self.source(n)) for n in mine.inputs if n and n not in self.a.stored]
            after = self._after(mine, self.a)
            for theirs in others:
                if theirs in self.mine or None in before or not before:
                    continue
                read = [self.source(n, right=True) for n in theirs.inputs if n and n not in self.b.stored]
                if read and set(read) & set(before) and after and after == self._after(theirs, self.b):
                    self._pair(mine, theirs)
                    break

    def _after(self, op: Operation, network: Network) -> list[Any]:
        """The readers of an operation that are paired, as those of b, and which outputs of the network it makes."""
        readers = [r for o in op.outputs for r in network.readers.get(o, ())]
        paired = [self.theirs.get(r) if network is self.a else r if r in self.mine else None for r in readers]
        places = [i for i, o in enumerate(network.outputs) if o in op.outputs]
        return [] if None in paired else [*paired, *places]


def silent(op: Operation) -> bool:
    """True for an operation that gives what it is given."""
    if op.operator == "Dropout":
        return not op.attributes.get("training_mode") and len([i for i in op.inputs if i]) < 3
    return op.operator in SILENT


def fingerprint(op: Operation, network: Network) -> tuple[bytes, ...]:
    """Fingerprints of the parameters of an operation that are large enough to tell it from others."""
    read = [n for n in op.inputs if n in network.stored]
    return tuple(network.digest(n) for n in read if network.array(n).size >= TELLING)


def shapes(op: Operation, network: Network) -> tuple[tuple[int, ...], ...]:
    """Shapes of the parameters of an operation."""
    return tuple(network.array(n).shape for n in op.inputs if n in network.stored)


def key(op: Operation) -> str:
    """Attributes as one text."""
    return str(sorted((k, v.tolist() if isinstance(v, np.ndarray) else v) for k, v in op.attributes.items()))
