"""Whole numbers that inputs may hold: the least and the greatest that an operator says are taken. No operator is named."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from hybrid.core.op import Op
from tests.ops.test_contracts import computed
from tests.table.examples import examples
from tests.table.options import others


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


# Inputs of which more numbers mean something than a domain says, and why.
BEYOND = {
    "rois": "whose corners may be anywhere in an image",
    "sample": "of distributions that have no end",
    "batch_indices": "of the first image alone",
    "position_ids": "of the first two places",
    "label": "which does not show in what is computed, only in gradients",
    "one_hot": "a row of zeros",
    "_unravel_index": "places beyond the last row",
    "_npi_insert_tensor": "behind the last",
    "_npi_delete": "leaves another shape",
    "_npi_bincount": "makes more bins",
    "_contrib_box_encode": "a sample is one, none or left out",
    "_contrib_edge_id": "no edge",
    "scatter_nd": "the least of the axes, for all of them",
    "_npi_boolean_mask_assign_tensor": "a mask, as large as the values are many",
}


def outcome(op: Op, arrays: Sequence[np.ndarray]) -> bytes | None:
    """Results; None where they are refused."""
    try:
        return b"".join(one.tobytes() for one in computed(op, arrays))
    except (ValueError, IndexError):
        return None


def test_each_place_of_a_domain_is_another_and_the_next_is_none() -> None:
    """Places from the least to the greatest give results of their own; one more is refused or stands for one of these."""
    wrong, seen = [], set()
    for op, arrays in itertools.chain(examples(), others()):
        names, shapes = op.input_names(), [a.shape for a in arrays]
        for at, name in enumerate(names if arrays and not set(op.needs) - {"training"} else ()):
            domain = op.domain(name, shapes)
            if (
                domain is None
                or not domain.integer
                or domain.high > 40
                or not arrays[at].size
                or {op.name, name} & {*BEYOND}
            ):
                continue
            found = []
            for place in range(int(domain.low), int(domain.high) + 2):
                given = [a.copy() for a in arrays]
                given[at][...] = place
                found.append(outcome(op, given))
            *inside, after = found
            if None in inside or len({*inside}) < len(inside) or (after is not None and after not in inside):
                wrong.append(f"{op!r}: {name} of {shapes} is not from {domain.low} to {domain.high}")
            seen.add((op.name, name))
    assert len(seen) > 20
    assert not wrong, "\n".join(wrong)
