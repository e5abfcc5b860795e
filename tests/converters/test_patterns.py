"""Numbers known by what they depend on, and the shape chains of exporters that they turn into MXNet's own operators."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest
from hypothesis import given
from hypothesis import strategies as st

from converters.importer import import_model
from converters.patterns import Count
from hybrid.core.shapes import Undecided
from hybrid.execution.program import Program

SIZES = {"a": 3, "b": 5, "c": 7}


def value(count: object) -> int:
    """What it is when the sizes are SIZES."""
    if not isinstance(count, Count):
        assert isinstance(count, int)
        return count
    total = 0
    for atoms, factor in count.terms.items():
        for atom in atoms:
            factor *= SIZES[atom] if isinstance(atom, str) else int(value(atom[1]) // value(atom[2]))
        total += factor
    assert total == int(total)
    return int(total)


leaves = st.sampled_from([Count.named(n) for n in SIZES]) | st.integers(-4, 4)
pairs = st.recursive(
    leaves.map(lambda n: (n, value(n))),
    lambda inner: st.tuples(inner, inner, st.sampled_from("+-*")).map(
        lambda t: {
            "+": lambda p, q: (p[0] + q[0], p[1] + q[1]),
            "-": lambda p, q: (p[0] - q[0], p[1] - q[1]),
            "*": lambda p, q: (p[0] * q[0], p[1] * q[1]),
        }[t[2]](t[0], t[1])
    ),
    max_leaves=8,
)


@given(pairs, pairs, st.integers(1, 4))
def test_counts_reckon_as_numbers_do(one: tuple, two: tuple, divisor: int) -> None:
    assert value(one[0]) == one[1]
    difference = one[0] - two[0]
    assert value(difference) == one[1] - two[1]
    assert (one[0] == two[0]) == (difference == 0 if not isinstance(difference, Count) else False)
    if isinstance(one[0], Count):
        assert one[0] * divisor // divisor == one[0]
        assert hash(one[0] + 0) == hash(one[0])


def test_counts_do_not_guess() -> None:
    a, b = Count.named("a"), Count.named("b")
    assert a * b // b == a
    assert a // 2 != b // 2
    assert a // 2 == Count.named("a") // 2
    assert a != 3
    assert a.is_size
    assert not (a - 1).is_size
    with pytest.raises(Undecided):
        _ = a < 3
    with pytest.raises(Undecided):
        bool(a)


CHAINS = {
    "view": (
        """(float[batch, 3, 4] x) => (float[batch, 12] y) <int64[1] rest = {-1}, int64[1] ax = {0}, int64 zero = {0}> {
            y = Reshape(x, t) s = Shape(x) b = Gather(s, zero) u = Unsqueeze(b, ax) t = Concat<axis = 0>(u, rest)
        }""",
        ["Reshape"],
    ),
    "heads": (
        """(float[batch, steps, 8] x) => (float[batch, 2, steps, 4] y, float[batch, steps, 8] z)
        <int64[1] two = {2}, int64[1] four = {4}, int64[1] ax = {0}, int64 i0 = {0}, int64 i1 = {1}, int64 i2 = {2}> {
            h = Relu(x) s = Shape(x) b = Gather(s, i0) n = Gather(s, i1) w = Gather(s, i2) q = Div(w, i2)
            bu = Unsqueeze(b, ax) nu = Unsqueeze(n, ax) qu = Unsqueeze(q, ax)
            t = Concat<axis = 0>(bu, nu, two, qu) r = Reshape(h, t) y = Transpose<perm = [0, 2, 1, 3]>(r)
            back = Transpose<perm = [0, 2, 1, 3]>(y) all = Mul(q, i2) wu = Unsqueeze(all, ax)
            t2 = Concat<axis = 0>(bu, nu, wu) z = Reshape(back, t2)
        }""",
        ["Activation", "Reshape", "transpose", "transpose", "Reshape"],
    ),
    "merged": (
        """(float[batch, steps, 6] x) => (float[rows, 6] y, float[batch, steps, 2, 3] z)
        <int64[1] six = {6}, int64[2] parts = {2, 3}, int64[1] ax = {0}, int64 i0 = {0}, int64 i1 = {1}> {
            s = Shape(x) b = Gather(s, i0) n = Gather(s, i1) rows = Mul(b, n) ru = Unsqueeze(rows, ax)
            bu = Unsqueeze(b, ax) nu = Unsqueeze(n, ax)
            t = Concat<axis = 0>(ru, six) y = Reshape(x, t)
            t2 = Concat<axis = 0>(bu, nu, parts) z = Reshape(y, t2)
        }""",
        ["Reshape", "reshape_like", "Reshape"],
    ),
    "token": (
        """(float[batch, 5, 4] x) => (float[batch, more, 4] y) <int64[1] ax = {0}, int64 zero = {0}, int64 minus =
        {-1}, int64[2] keep = {-1, -1}, float[1, 1, 4] cls = {1, 2, 3, 4}> { s = Shape(x) b = Gather(s, zero) u =
        Unsqueeze(b, ax) t = Concat<axis = 0>(u, keep) ts = Shape(t) ones = ConstantOfShape<value = int64[1] {1}>(ts)
        neg = Mul(ones, minus) eq = Equal(t, neg) w = Where(eq, ones, t) e = Expand(cls, w) y = Concat<axis = 1>(e, x)
        }""",
        ["broadcast_like", "Concat"],
    ),
    "as another": (
        """(float[batch, 4, height, width] x) => (float[batch, 4, height, width] y) <int64[3] groups = {0, 2, -1}> {
            z = Relu(x) s = Shape(z) g = Reshape(z, groups) n = Neg(g) y = Reshape(n, s)
        }""",
        ["Activation", "Reshape", "negative", "reshape_like"],
    ),
    "square": (
        """(float[batch, 1, 1, steps] x) => (float[batch, 1, steps, steps] y)
        <int64[1] ax = {0}, int64 last = {3}, int64[1] one = {1}> {
            s = Shape(x) n = Gather(s, last) u = Unsqueeze(n, ax) t = Concat<axis = 0>(one, one, u, one) y = Expand(x, t)
        }""",
        ["broadcast_like"],
    ),
    "places": (
        """(int64[batch, steps] x) => (int64[steps] y) <int64 i1 = {1}, int64 i0 = {0}> {
            s = Shape(x) n = Gather(s, i1) y = Range(i0, n, i1)
        }""",
        ["_contrib_arange_like"],
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_shape_chains_become_operators_of_mxnet(name: str) -> None:
    text, operators = CHAINS[name]
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')
    found = import_model(model)
    assert [n.op.name for n in found.graph.nodes if n.op is not None] == operators
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    spec = found.inputs["x"]
    for sizes in ((2, 3, 4), (5, 1, 2), (1, 7, 3)):
        free = iter(sizes)
        shape = [d if isinstance(d, int) else next(free) for d in spec.shape or ()]
        x = (np.random.default_rng(0).standard_normal(shape) * 9).astype(spec.dtype)
        got, want = Program(found.graph, found.params).run({"x": x}), session.run(None, {"x": x})
        for one, two in zip(got, want, strict=True):
            np.testing.assert_array_equal(one, np.asarray(two))


def test_what_the_codes_cannot_say_is_computed() -> None:
    text = """(float[a, b] x) => (float[n, m] y) <int64[1] ax = {0}, int64 i0 = {0}, int64 i1 = {1}> {
        s = Shape(x) p = Gather(s, i0) q = Gather(s, i1) pu = Unsqueeze(p, ax) qu = Unsqueeze(q, ax)
        t = Concat<axis = 0>(qu, pu) y = Reshape(x, t)
    }"""
    found = import_model(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}'))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(Program(found.graph, found.params).run({"x": x})[0], x.reshape(3, 2))


def test_numbers_that_may_be_negative_are_not_taken_for_sizes() -> None:
    """A target that is given at run time may hold -1 and 0, which a Reshape must not take for dims."""
    text = """(float[a, 6] x, int64[1] n) => (float[p, q] y) <int64[1] three = {3}> {
        t = Concat<axis = 0>(n, three) y = Reshape(x, t)
    }"""
    found = import_model(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}'))
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    for target in (4, -1):
        (got,) = Program(found.graph, found.params).run({"x": x, "n": np.array([target])})
        np.testing.assert_array_equal(got, x.reshape(4, 3))
