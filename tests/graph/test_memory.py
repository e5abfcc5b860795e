"""The arena: tensors alive together never share bytes, and an operator that breaks its word costs a copy only."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hybrid.core.op import REGISTRY, Op
from hybrid.execution.memory_planner import ALIGNMENT, Lifetime, assign_offsets
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node

lifetimes = st.builds(
    lambda size, first, length: Lifetime(size, first, first + length),
    st.integers(1, 1000),
    st.integers(0, 20),
    st.integers(0, 8) | st.integers(0, 300),
)


@given(st.lists(lifetimes, max_size=25))
def test_tensors_alive_together_never_overlap(tensors: list[Lifetime]) -> None:
    offsets, total = assign_offsets(tensors)
    spans = [(o, o + t.size, t) for o, t in zip(offsets, tensors)]
    for i, (start, end, one) in enumerate(spans):
        assert start >= 0
        assert end <= total
        assert start % ALIGNMENT == 0
        for other_start, other_end, other in spans[i + 1 :]:
            together = one.first <= other.last and other.first <= one.last
            assert not together or end <= other_start or other_end <= start


@given(st.lists(lifetimes, max_size=25))
def test_each_goes_to_the_lowest_gap(tensors: list[Lifetime]) -> None:
    placed: list[tuple[int, int, Lifetime]] = []
    wanted = [0] * len(tensors)
    for i in sorted(range(len(tensors)), key=lambda i: -tensors[i].size):
        one, size = tensors[i], -(-tensors[i].size // ALIGNMENT) * ALIGNMENT
        together = [(s, e) for s, e, other in placed if one.first <= other.last and other.first <= one.last]
        starts = [o for o in (0, *(e for _, e in together)) if all(o >= e or o + size <= s for s, e in together)]
        wanted[i] = min(starts)
        placed.append((wanted[i], wanted[i] + size, one))
    assert assign_offsets(tensors)[0] == wanted


@given(st.lists(lifetimes, min_size=1, max_size=25))
def test_the_arena_is_no_larger_than_everything_at_once(tensors: list[Lifetime]) -> None:
    _, total = assign_offsets(tensors)
    assert total <= sum(-(-t.size // ALIGNMENT) * ALIGNMENT for t in tensors)


def test_many_tensors_alive_together_are_placed_in_seconds() -> None:
    offsets, _ = assign_offsets([Lifetime(64, i, 8000) for i in range(8000)])
    assert len(set(offsets)) == 8000


def relu(name: str, source: Entry) -> Entry:
    return Entry(Node(REGISTRY["Activation"].bind(act_type="relu"), name, [source]))


class Leaky(Op):
    """Returns its input's own memory without saying so."""

    name = "leaky_memory"

    def infer_shape(self, *shapes):
        return shapes[0]

    def compute(self, *arrays):
        return arrays[0]


def test_memory_returned_unannounced_is_copied() -> None:
    """The arena's place of ``a`` is reused by ``c`` while what ``leaky`` returned is still wanted."""
    data = Entry(Node(None, "data"))
    a = relu("a", data)
    leaked = Entry(Node(Leaky(), "leaky", [a]))
    minus = Entry(Node(REGISTRY["_mul_scalar"].bind(scalar=-1.0), "minus", [data]))
    c = relu("c", minus)
    d = relu("d", c)
    x = np.array([1.0, -2.0, 3.0], np.float32)
    got = Program(Graph([leaked, d])).run({"data": x})
    np.testing.assert_array_equal(got[0], [1, 0, 3])
    np.testing.assert_array_equal(got[1], [0, 2, 0])


def test_results_belong_to_the_caller() -> None:
    """A second run changes neither what the first returned nor the parameters."""
    data = Entry(Node(None, "data"))
    weight = Entry(Node(None, "weight"))
    same = Entry(Node(REGISTRY["_copy"].bind(), "same", [weight]))
    program = Program(Graph([relu("b", relu("a", data)), same]), {"weight": np.ones(3, np.float32)})
    first = program.run({"data": np.array([1, 2, 3], np.float32)})
    program.run({"data": np.array([7, 8, 9], np.float32)})
    np.testing.assert_array_equal(first[0], [1, 2, 3])
    first[1][:] = 5
    np.testing.assert_array_equal(program.constants["weight"], 1)
