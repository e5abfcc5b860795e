"""Random networks train compiled as they train in NumPy, three steps in a row. Thousands: python -m tests.graph.random_networks."""

from collections import Counter

import pytest

from tests import shares
from tests.graph.random_networks import Network, faults

QUICK, MANY = 60, 2000
EACH = 10


@pytest.mark.parametrize("first", range(0, QUICK, EACH))
def test_random_networks_train_as_numpy_trains_them(first: int) -> None:
    found = {seed: problems for seed in range(first, first + EACH) if (problems := faults(seed))}
    assert not found


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK, MANY, 10 * EACH))
def test_many_random_networks_train_as_numpy_trains_them(first: int) -> None:
    seeds = shares.some(range(first, first + 10 * EACH), str, 4)
    found = {seed: problems for seed in seeds if (problems := faults(seed))}
    assert not found


def test_random_networks_hold_what_they_are_for() -> None:
    """The quick ones already: layouts with and without bias, strides, exclude, open sources, samplers, arrays read twice."""
    seen: Counter[str] = Counter()
    for network in map(Network, range(QUICK)):
        readers = network.graph.uses()
        seen["read twice"] += any(len(found) > 1 for found in readers.values())
        for node in network.graph.nodes:
            attrs = {} if node.op is None else node.op.dump()
            bias = "bias" if attrs.get("no_bias") != "True" else "no bias"
            seen[f"channels last, {bias}"] += attrs.get("layout") == "NHWC"
            seen["stride"] += "2" in attrs.get("stride", "")
            seen["exclude"] += attrs.get("exclude") == "True"
            seen["open source"] += (
                not node.is_variable and not node.inputs and set(attrs.get("shape", "1")) <= set("(0, )")
            )
            seen["sampler"] += node.op is not None and "rng" in node.op.needs
            seen["states"] += node.op is not None and bool(node.op.mutates)
    assert min(seen.values()) > 0, seen
