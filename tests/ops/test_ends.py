"""Whole numbers that inputs may hold: the least and the greatest that an operator says are taken. No operator is named."""

from __future__ import annotations

from tests.ops.test_contracts import computed
from tests.table.examples import examples


def test_the_ends_of_domains_are_taken() -> None:
    wrong, seen = [], 0
    for op, arrays in examples():
        shapes = [a.shape for a in arrays]
        for place, name in enumerate(op.input_names() if arrays and not set(op.needs) - {"training"} else ()):
            domain = op.domain(name, shapes)
            # numbers of a mask decide about another input's sizes, those of a region make up an area
            if domain is None or not domain.integer or domain.high > 1000 or name in ("mask", "rois"):
                continue
            for end in (domain.low, domain.high):
                given = [a.copy() for a in arrays]
                given[place][...] = end
                try:
                    op.infer_shape(*shapes)
                    computed(op, given)
                    seen += 1
                except Exception as error:
                    wrong.append(f"{op!r}: {name} of {end} alone: {type(error).__name__} {error}"[:300])
    assert seen > 100
    assert not wrong, "\n".join(wrong)
