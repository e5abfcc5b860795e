"""Sums of products over named axes, said in transposes, products of matrices and sums."""

import math
from collections.abc import Sequence
from typing import Any

from .composing import folded


class Named:
    """A symbol whose axes have names, and how many elements there are along each. No name is there twice."""

    def __init__(self, F: Any, value: Any, names: str, sizes: Sequence[int]):
        self.F, self.value, self.names, self.sizes = F, value, names, dict(zip(names, sizes))

    def ordered(self, names: str) -> Any:
        """The symbol with its axes in that order."""
        if names == self.names:
            return self.value
        return self.F.transpose(self.value, axes=tuple(map(self.names.index, names)))

    def shaped(self, groups: Sequence[str]) -> Any:
        """The symbol with an axis for each group of names: their axes as one, of size 1 where the group is empty."""
        y = self.ordered("".join(groups))
        shape = tuple(math.prod(self.sizes[c] for c in group) for group in groups)
        return y if all(len(g) == 1 for g in groups) else self.F._np_reshape(y, newshape=shape)

    def summed(self, lost: str) -> "Named":
        """The sums over axes of these names."""
        if not lost:
            return self
        kept = "".join(c for c in self.names if c not in lost)
        axes = tuple(i for i, c in enumerate(self.names) if c in lost)
        return Named(self.F, self.F._np_sum(self.value, axis=axes), kept, [self.sizes[c] for c in kept])

    def without_ones(self, others: "Named") -> "Named":
        """The symbol without axes of size 1 along which the other is wider: they are repeated."""
        kept = "".join(c for c in self.names if not self.sizes[c] == 1 != others.sizes.get(c, 1))
        if kept == self.names:
            return self
        sizes = [self.sizes[c] for c in kept]
        return Named(self.F, self.F._np_reshape(self.value, newshape=tuple(sizes)), kept, sizes)


def diagonal(F: Any, value: Any, names: str, sizes: Sequence[int]) -> Named:
    """The symbol with each name once: of axes that share one the elements at equal places."""
    for c in dict.fromkeys(names):
        while names.count(c) > 1:
            first, second = names.index(c), names.index(c, names.index(c) + 1)
            rest = [i for i in range(len(names)) if i not in (first, second)]
            size, kept = sizes[first], [sizes[i] for i in rest]
            y = F.transpose(value, axes=(*rest, first, second))
            flat = F._np_reshape(y, newshape=(*kept, size * size))
            value = F.slice(
                flat, begin=(None,) * len(rest) + (0,), end=(None,) * len(rest) + (size * size,),
                step=(None,) * len(rest) + (size + 1,),
            )  # fmt: skip
            names, sizes = "".join(names[i] for i in rest) + c, [*kept, size]
    return Named(F, value, names, sizes)


def contracted(F: Any, parts: Sequence[Named], result: str) -> Any:
    """The product of the parts, summed over all names that the result lacks, in the order of the result's names."""
    waiting = [*parts]

    def pair(one: Named, other: Named) -> Named:
        waiting.remove(other)
        wanted = set(result).union(*(p.names for p in waiting))
        return _product(one.without_ones(other), other.without_ones(one), wanted)

    waiting.remove(parts[0])
    last = folded(pair, parts)
    return last.summed("".join(c for c in last.names if c not in result)).ordered(result)


def _product(a: Named, b: Named, wanted: set[str]) -> Named:
    """The product of two, summed over names that nobody wants."""
    a = a.summed("".join(c for c in a.names if c not in b.names and c not in wanted))
    b = b.summed("".join(c for c in b.names if c not in a.names and c not in wanted))
    both = [c for c in a.names if c in b.names]
    batch = "".join(c for c in both if c in wanted)
    lost = "".join(c for c in both if c not in wanted)
    left = "".join(c for c in a.names if c not in both)
    right = "".join(c for c in b.names if c not in both)
    names, sizes = batch + left + right, {**a.sizes, **b.sizes}
    shape = tuple(sizes[c] for c in names)
    if not lost:
        y = a.F.broadcast_mul(a.shaped([batch, left, ""]), b.shaped([batch, "", right]))
    else:
        # transposed where the axes lie so already
        ta, tb = a.names == batch + lost + left, b.names == batch + right + lost
        rows, columns = [lost, left] if ta else [left, lost], [right, lost] if tb else [lost, right]
        product, around = (a.F.batch_dot, [batch]) if batch else (a.F.dot, [])
        y = product(a.shaped([*around, *rows]), b.shaped([*around, *columns]), transpose_a=ta, transpose_b=tb)
    apart = bool(lost) and len(left) == len(right) == 1 and len(batch) < 2  # as the product has it already
    return Named(a.F, y if apart else a.F._np_reshape(y, newshape=shape), names, shape)
