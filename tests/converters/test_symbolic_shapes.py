"""Numbers known by what they depend on, and the shape chains of exporters that they turn into MXNet's own operators."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import converters
from converters import symbolic_shapes
from converters.import_state import ImportedValue
from converters.importer import import_model
from converters.symbolic_shapes import Count
from hybrid.core.op import REGISTRY
from hybrid.core.shapes import UNKNOWN, Undecided
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Node
from tests.grouped import run

SIZES = {"a": 3, "b": 5, "c": 7}


def value(count: object) -> int:
    """Number that it stands for when the sizes are SIZES."""
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


leaves = st.sampled_from([Count.of_name(n) for n in SIZES]) | st.integers(-4, 4)
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
    a, b = Count.of_name("a"), Count.of_name("b")
    assert a * b // b == a
    assert a // 2 != b // 2
    assert a // 2 == Count.of_name("a") // 2
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
    "places beyond the first": (
        """(int64[2, steps] x) => (int64[more] y) <int64 i1 = {1}, int64 i3 = {3}> {
            s = Shape(x) n = Gather(s, i1) m = Add(n, i3) y = Range(i3, m, i1)
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


def test_a_range_up_to_a_size_does_not_begin_anew() -> None:
    """From another number than 0 up to the length of an axis: fewer than are along it."""
    text = """(int64[2, steps] x) => (int64[fewer] y) <int64 i1 = {1}, int64 i2 = {2}> {
        s = Shape(x) n = Gather(s, i1) y = Range(i2, n, i1)
    }"""
    found = import_model(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}'))
    for steps in (5, 3, 2):
        (got,) = Program(found.graph, found.params).run({"x": np.zeros((2, steps), np.int64)})
        np.testing.assert_array_equal(got, np.arange(2, steps))


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


def test_negative_numbers_reckoned_with_are_those_of_onnxruntime() -> None:
    """Results of a known size beside one that is not, below 0 too: the numbers, and the shape that they give."""
    ends = [f"{name} (m, {n})" for name in ("Div", "Mod", "Min", "Max", "Mul", "Sub") for n in "pqr"]
    ends += ["Neg (m)", "Where (e, m, q)", "Mod<fmod = 1> (m, p)", "Mod<fmod = 1> (m, q)"]
    wrong = []
    for less in (8, 5):
        for call in ends:
            text = f"""(float[3, a] x) => (float[n, m] y, int64[k] z) <int64[1] p = {{2}}, int64[1] q = {{-2}}, int64[1] r = {{3}},
                int64[1] far = {{40}}, int64[1] less = {{{less}}}, int64[1] ax = {{0}}> {{
                s = Shape (x) m = Sub (s, less) e = Equal (m, q) b = {call} d = Slice (b, ax, one) f = Add (d, far)
                t = Concat<axis = 0> (f, f) u = Expand (w, t) y = Relu (u) z = Identity (d)
            }}"""
            text = text.replace("int64[1] p", "int64[1] one = {1}, float w = {1.5}, int64[1] p", 1)
            model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g {text}')
            x = np.arange(6, dtype=np.float32).reshape(3, 2)
            options = ort.SessionOptions()
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.log_severity_level = 4
            session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            found = import_model(model)
            program = Program(found.graph, found.params)
            got, want = program.run(dict.fromkeys(program.inputs, x)), session.run(None, {"x": x})
            if got[0].shape != want[0].shape or got[1].tolist() != want[1].tolist():
                wrong.append(f"3 - {less}, {call}: {got[0].shape} {got[1]}, wanted {want[0].shape} {want[1]}")
    assert not wrong, "\n".join(wrong)


class Chain:
    """A graph drawn by lot that takes an array's sizes apart, reckons with them, and reshapes, expands and counts by them."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.stored: dict[str, np.ndarray] = {}
        self.outputs: list[str] = []
        self.neighbours: list[bool] = []
        """True where a target keeps sizes and multiplies two beside each other, which MXNet's codes can say."""
        self.dims = self.random.sample(["a", "b", "c", 3, 4, 6, 2], self.random.choice([2, 3, 4]))
        if self.random.random() < 0.3:
            self.dims[-1] = self.dims[0]
        self.whole = self.add("Shape", "x") if self.random.random() < 0.5 else self.add("Shape", self.add("Neg", "x"))

    def add(self, op_type: str, *inputs: str, **attributes: object) -> str:
        made = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [made], **attributes))
        return made

    def const(self, *values: int) -> str:
        name = f"c{len(self.stored)}"
        self.stored[name] = np.array(values, np.int64)
        return name

    def number(self, value: int) -> str:
        name = self.const(value)
        self.stored[name] = self.stored[name].reshape(())
        return name

    def size(self, axis: int) -> str:
        """The size of an axis of x as an int64 (1,), in one of the ways in which exporters write it."""
        back = axis - len(self.dims)
        way = self.random.randrange(6)
        if way == 0:
            return self.add("Gather", self.whole, self.const(self.random.choice([axis, back])), axis=0)
        if way == 1:
            return self.add("Unsqueeze", self.add("Gather", self.whole, self.number(back)), self.const(0))
        if way == 2:
            return self.add("Slice", self.whole, self.const(axis), self.const(axis + 1), self.const(0))
        if way == 3:
            end = {} if back == -1 else {"end": back + 1}
            turned = self.add("Shape", "x", start=back, **end)
            return self.add("Slice", turned, self.const(-1), self.const(-9), self.const(0), self.const(-1))
        if way == 4:
            return self.add("Shape", "x", start=axis, end=axis + 1)
        there = self.add("Slice", self.whole, self.const(-1), self.const(-99), self.const(0), self.const(-1))
        return self.add("Gather", there, self.const(-1 - axis), axis=0)

    def dressed(self, n: str) -> str:
        """A number, 1 or more, written as something that it is equal to."""
        way, k = self.random.randrange(14), self.random.randint(2, 5)
        if way == 0:
            return self.add("Sub", self.add("Add", n, self.const(k)), self.const(k))
        if way == 1:
            return self.add("Div", self.add("Mul", self.const(k), n), self.const(k))
        if way == 2:
            return self.add("Max", n, self.const(self.random.choice([1, 0, -3])))
        if way == 3:
            return self.add("Where", self.add("Equal", n, n), n, self.const(k))
        if way == 4:
            return self.add("Where", self.add("Equal", n, self.const(-1)), self.const(k), n)
        if way == 5:
            return self.add("Cast", self.add("Cast", n, to=TensorProto.INT32), to=TensorProto.INT64)
        if way == 6:
            return self.add("Neg", self.add("Neg", n))
        if way == 7:
            return self.add("Min", n, n)
        if way == 8:
            return self.add("Unsqueeze", self.add("Squeeze", n, self.const(0)), self.const(0))
        if way == 9:
            return self.add("Expand", n, self.const(1))
        if way == 10:
            return self.add("Reshape", self.add("Identity", n), self.const(self.random.choice([1, -1])))
        if way == 11:
            return self.add("Sub", self.add("Mul", n, self.const(k)), self.add("Mul", n, self.const(k - 1)))
        if way == 12:
            return self.add("Div", self.add("Mul", n, self.size(0)), self.size(0))
        return n

    def reckoned(self, n: str) -> str:
        """Another number, which may be negative."""
        way, k = self.random.randrange(9), self.random.randint(2, 5)
        if way < 4:
            return self.add(("Add", "Sub", "Min", "Max")[way], n, self.const(self.random.choice([-k, k])))
        if way == 4:
            return self.add("Div", n, self.const(self.random.choice([k, -k])))
        if way == 5:
            return self.add("Mod", n, self.const(self.random.choice([k, -k])), fmod=self.random.randrange(2))
        if way == 6:
            return self.add("Sub", self.const(k), n)
        if way == 7:
            return self.add("Where", self.add("Equal", n, self.const(k)), self.const(7), self.const(9))
        return self.add("Size", "x") if k % 2 else self.add("Reshape", self.add("Size", "x"), self.const(1))

    def product(self, axes: Sequence[int]) -> str:
        sizes = [self.dressed(self.size(a)) for a in axes]
        if len(sizes) == 1:
            return sizes[0]
        if self.random.random() < 0.3:
            return self.add("ReduceProd", self.add("Concat", *sizes, axis=0), keepdims=1)
        made = sizes[0]
        for size in sizes[1:]:
            made = self.add("Mul", made, size)
        return self.dressed(made)

    def target(self) -> str:
        """Sizes that x can be reshaped to: neighbours multiplied, one perhaps left open, one perhaps split, some kept."""
        rank = len(self.dims)
        cuts = sorted(self.random.sample(range(1, rank), self.random.randint(0, rank - 1)))
        groups = [list(range(i, j)) for i, j in zip([0, *cuts], [*cuts, rank])]
        if self.random.random() < 0.25:
            self.random.shuffle(groups)
        self.neighbours.append(groups == sorted(groups) and max(map(len, groups)) <= 2)
        parts = [self.product(g) for g in groups]
        split = [i for i, g in enumerate(groups) if len(g) == 1 and self.dims[g[0]] in (4, 6)]
        split = split if self.random.random() < 0.5 else []
        for place, group in enumerate(groups[: split[0]] if split else groups):
            if group == [place] and self.random.random() < 0.3:
                parts[place] = self.const(0)
        if split:
            parts[split[0] : split[0] + 1] = [self.const(2), self.const(self.dims[groups[split[0]][0]] // 2)]
        elif self.random.random() < 0.5:
            parts[self.random.randrange(len(parts))] = self.const(-1)
        return self.add("Concat", *parts, axis=0) if len(parts) > 1 else parts[0]

    def model(self) -> onnx.ModelProto:
        for _ in range(3):
            self.outputs.append(self.add("Reshape", "x", self.target()))
        axis = self.random.randrange(len(self.dims))
        n = self.dressed(self.size(axis))
        self.outputs += [self.add("Range", self.number(0), self.add("Squeeze", n, self.const(0)), self.number(1))]
        like = self.add("Concat", *(self.dressed(self.size(a)) for a in range(len(self.dims))), axis=0)
        value = numpy_helper.from_array(np.float32([2.5]))
        self.outputs.append(self.add("ConstantOfShape", like, value=value))
        row = self.add("Slice", "x", self.const(0), self.const(1), self.const(axis))
        self.outputs.append(self.add("Expand", row, like))
        more = self.add("Concat", self.dressed(self.size(axis)), like, axis=0)
        self.outputs.append(self.add("Expand", row, more))
        for _ in range(4):
            one = self.reckoned(self.size(self.random.randrange(len(self.dims))))
            self.outputs.append(self.reckoned(one) if self.random.random() < 0.5 else one)
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info("x", 1, self.dims)],
            [helper.make_empty_tensor_value_info(o) for o in self.outputs],
            [numpy_helper.from_array(a, n) for n, a in self.stored.items()],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def session(model: onnx.ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def check_chain(seed: int) -> None:
    """Read, and written again with the sizes left open, it gives what onnxruntime gives."""
    chain = Chain(seed)
    model = chain.model()
    found = import_model(model)
    inputs = {"x": tuple(chain.dims)} if "x" in {n.name for n in found.graph.variables()} else {}
    written = converters.to_onnx(found.graph, found.params, inputs, 17)
    program, sessions = Program(found.graph, found.params), [session(model), session(written)]
    for sizes in ({"a": 2, "b": 5, "c": 7}, {"a": 1, "b": 1, "c": 3}, {"a": 5, "b": 2, "c": 1}):
        shape = [sizes.get(d, d) for d in chain.dims]
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        feeds = {"x": x} if inputs else {}
        wants = sessions[0].run(None, {"x": x})
        for results in (program.run(feeds), sessions[1].run(None, feeds)):
            for name, got, want in zip(chain.outputs, results, wants, strict=True):
                assert (got.dtype, got.shape) == (want.dtype, want.shape), name
                np.testing.assert_array_equal(got, want, err_msg=f"{name} at {sizes}")


def test_chains_by_lot_mean_what_they_say() -> None:
    run([(str(seed), seed) for seed in range(20)], check_chain)
    kept = []
    for chain in map(Chain, range(20)):
        found = import_model(chain.model())
        kept += [e.node.op.name for said, e in zip(chain.neighbours, found.graph.outputs) if said]
    assert len(kept) > 30
    assert kept.count("Reshape") > 0.9 * len(kept), kept


A, B, C = (Count.of_name(n) for n in "abc")


def tensor(shape: Sequence[object] | None, holds: object = None, const: object = None) -> ImportedValue:
    """A tensor of whole numbers with these sizes; holds: what it holds as far as that is known."""
    array = None if const is None else np.asarray(const, np.int64)
    open_shape = None if shape is None else tuple(UNKNOWN if isinstance(d, Count) else d for d in shape)
    made = ImportedValue("v", open_shape, np.dtype(np.int64), array)
    made.dims = None if shape is None else tuple(shape)
    if holds is not None:
        made.partial = np.empty(np.shape(holds), object)
        made.partial.reshape(-1)[:] = list(np.array(holds, object).reshape(-1))
    return made


def test_counts_divide_where_nothing_is_left_and_are_kept_as_quotients_elsewhere() -> None:
    div, mod = (lambda *n: Count.of_operation("div", *n)), (lambda *n: Count.of_operation("mod", *n))
    cases = [
        ("by its factor", (4 * A * B) // (2 * A), 2 * B),
        ("every term by one factor", (2 * A * B + 3 * A) // A, 2 * B + 3),
        ("a factor that does not go in", (3 * A * B) // (2 * A), div(3 * A * B, 2 * A)),
        ("a factor that goes in but once", (A * B) // (A * A), div(A * B, A * A)),
        ("by a sum", (A * B) // (A + B), div(A * B, A + B)),
        ("by 0", A // 0, div(A, 0)),
        ("a number by it", 6 // A, div(6, A)),
        ("rest by 0", A % 0, mod(A, 0)),
        ("rest by a size", (2 * A) % B, mod(2 * A, B)),
        ("rest of a multiple", (4 * A + 6) % 2, 0),
        ("rest of a sum", (4 * A + 3) % 2, mod(4 * A + 3, 2)),
        ("a number's rest", 6 % A, mod(6, A)),
    ]
    assert not [
        f"{name}: {got}, wanted {want}" for name, got, want in cases if got != want or type(got) is not type(want)
    ]
    assert not (A * (B // 2)).is_size  # the quotient may be anything, as far as a Count knows
    for one in (lambda: A + "x", lambda: A * 2.5, lambda: A - None):
        with pytest.raises(TypeError):
            one()


def test_declared_dims_are_numbers_or_sizes_of_that_input() -> None:
    found = symbolic_shapes.declared_dims("x", (3, 0, "n", "?", "?", -1, "n"))
    assert found is not None
    assert found[:3] == (3, 0, Count.of_name("x:n"))
    assert found[6] == found[2]
    free = found[3:6]
    assert all(isinstance(n, Count) and n.is_size and "x:" not in repr(n) for n in free)
    assert len({*free, found[2]}) == 4
    assert symbolic_shapes.declared_dims("x", None) is None


def test_codes_of_a_reshape() -> None:
    cases = [
        ((A, 3), [0, 3], False, (0, 3)),
        ((A, 3), [0, 3], True, None),
        ((A, 3), [A, 3], True, (0, 3)),
        ((A, 3), [-1, -1], False, None),
        ((A, 3), 3, False, None),
        ((A, B), [B, A], False, None),
        ((2, A, 4, 6), [2 * A, 24], False, (-3, 24)),
        ((2, A, 4, 6), [2 * A, 20], False, (-1, 20)),
        ((2, A, 0, 3), [2 * A, 3, 0], False, (-1, 3, 0)),
        ((A,), [A, B], False, (0, -1)),
        ((0, 0, A), [B, 0, A], False, (-1, 0, 0)),
        ((2, A, B), [2 * A], False, (-1,)),
        ((6 * A, B), [2 * A, 3, B], False, (-4, -1, 3, 0)),
        ((A * B, 5), [A, B, 5], False, None),
        (None, [4, A], False, (4, -1)),
    ]
    wrong = []
    for own, target, allowzero, want in cases:
        got = symbolic_shapes.codes(
            tensor(own), tensor((len(target),) if isinstance(target, list) else (), target), allowzero=allowzero
        )
        if got != want:
            wrong.append(f"{own} to {target}: {got}, wanted {want}")
    assert not wrong, "\n".join(wrong)


def test_dims_of_a_reshape() -> None:
    cases = [
        ((A, 3), [0, 3], (A, 3)),
        ((A,), [0, 0], (A, 0)),
        (None, [0, 3], (0, 3)),
        (None, [-1, 3], (-1, 3)),
        ((A, 6), [-1, 3], (2 * A, 3)),
        ((A, B), [B, -1], (B, A)),
        ((A, 6), 6, None),
    ]
    for own, target, want in cases:
        shape = tensor((len(target),) if isinstance(target, list) else (), target)
        assert symbolic_shapes.target_dims(shape, tensor(own)) == want, (own, target)
    nothing, open_ = symbolic_shapes.target_dims(tensor((2,), [0, -1]), tensor((0, A))) or ()
    assert nothing == 0
    assert isinstance(open_, Count)
    assert open_ not in (A, 0 * A)


def test_merged_dims_are_found_among_the_sizes_of_an_input() -> None:
    cases = [
        ((A * B, 6), (A, B, 2, 3), (A, B, 7), (0, 0, 2)),
        ((5, A * B), (5, A, B), (9, A, B), (1, 1, 3)),
        ((A * B, 6), (A, 2, B, 3), (A, B), None),
        ((A * B * C,), (A, B, C), (A, B), None),
        ((A * B, 6), (A, B, 6), (A, C), None),
        ((A * B, 6), (A, B, 6), None, None),
        ((A * B, 6), (A * B, 6), (A, B), None),
        ((A * B, 6), (2, A, B, 3), (A, B), None),
    ]
    for own, target, theirs, want in cases:
        other = tensor(theirs)

        def sized(
            size: Count, dtype: object, other: ImportedValue = other, theirs: object = theirs
        ) -> tuple[ImportedValue, int]:
            return other, list(theirs or (A,)).index(size)

        found = symbolic_shapes.split_merged(tensor(own), tensor((len(target),), list(target)), sized)
        assert (found and found[1:]) == want, (own, target, theirs)
        assert found is None or found[0] is other
    assert symbolic_shapes.split_merged(tensor((A * B,)), tensor((2,), [A, B]), lambda size, dtype: None) is None


def test_whole_shapes_are_those_that_came_from_shape_array() -> None:
    def made(operator: str, holds: object) -> ImportedValue:
        found = tensor((2,), holds)
        found.entry = Entry(Node(REGISTRY[operator].bind(), "s", [Entry(Node(None, "x"))]))
        return found

    shape = made("shape_array", [A, 3])
    like = symbolic_shapes.whole_shape(shape, np.dtype(np.float16))
    assert (like.shape, like.dims, like.dtype) == ((UNKNOWN, 3), (A, 3), np.float16)
    assert like.entry is shape.entry.node.inputs[0]
    assert symbolic_shapes.whole_shape(made("negative", [A, 3]), None) is None
    assert symbolic_shapes.whole_shape(made("shape_array", None), None) is None
    assert symbolic_shapes.whole_shape(tensor((2,), [A, 3]), None) is None
    variable = tensor((2,), [A, 3])
    variable.entry = Entry(Node(None, "t"))
    assert symbolic_shapes.whole_shape(variable, None) is None


def test_what_nodes_make_of_sizes() -> None:
    """Numbers below 0, divisors of 0, what is only known at run time and what is left out."""
    pair, open_pair = tensor((2,), [A, 3]), tensor((2,))
    quotients = [A // 2, -3, -3, 3, 3, Count.of_operation("div", 5, 0)]
    dividend, divisor = tensor((6,), [A, -7, 7, -7, 7, 5]), tensor((6,), const=[2, 2, -2, -2, 2, 0])
    grid = [[A, 2], [3, B]]
    none: dict[str, object] = {}
    cases: list[tuple[str, list[ImportedValue | None], dict[str, object], object, object]] = [
        ("Shape", [tensor((A, 3, B))], none, (3,), [A, 3, B]),
        ("Shape", [tensor((A, 3, B))], {"start": 1, "end": 2}, (1,), [3]),
        ("Size", [tensor((A, 3))], none, (), 3 * A),
        ("Size", [tensor(None)], none, (), None),
        ("Div", [dividend, divisor], none, (6,), quotients),
        ("Mod", [tensor((3,), [A, -7, 5]), tensor((3,), const=[0, 3, 0])], none, (3,),
         [Count.of_operation("mod", A, 0), 2, Count.of_operation("mod", 5, 0)]),
        ("Mod", [pair, tensor((2,), const=[2, 2])], {"fmod": 1}, (2,), None),
        ("Min", [tensor((3,), [A, A, 4]), tensor((3,), [A, A, 9]), tensor((3,), [A, B, 5])], none, (3,),
         [A, Count.of_operation("min", A, A, B), 4]),
        ("Max", [tensor((3,), [A, A, 4]), tensor((3,), [B, A, 9])], none, (3,), [Count.of_operation("max", A, B), A, 9]),
        ("Equal", [tensor((4,), [A, A, A, 2]), tensor((4,), [A, -1, 4, 2])], none, (4,),
         [True, False, Count.of_operation("equal", A, 4), True]),
        ("Equal", [tensor((4,), [-1, A + 1, A, 4]), tensor((4,), [A, A, A + 1, A])], none, (4,),
         [False, False, False, Count.of_operation("equal", 4, A)]),
        ("Where", [tensor((4,), [A, A, 0, 1]), tensor((4,), [B, B, 1, 2]), tensor((4,), [B, C, 3, 4])], none, (4,),
         [B, Count.of_operation("where", A, B, C), 3, 2]),
        ("Gather", [pair, tensor((1,), const=[-1])], none, (1,), [3]),
        ("Gather", [pair, tensor((1,), [A])], none, (1,), None),
        ("Gather", [tensor((2, 2), grid), tensor((), const=1)], {"axis": 1}, (2,), [2, B]),
        ("Concat", [tensor((1, 1), [[A]]), tensor((1, 2), const=[[2, 3]])], none, (1, 3), [[A, 2, 3]]),
        ("Concat", [tensor((1, 1), [[A]]), tensor((1, 1), const=[[2]])], {"axis": 0}, (2, 1), [[A], [2]]),
        ("Concat", [pair, open_pair], {"axis": 0}, (4,), None),
        ("Concat", [open_pair, open_pair], {"axis": 0}, (4,), None),
        ("ReduceProd", [tensor((3,), [A, 2, B])], none, (1,), [2 * A * B]),
        ("ReduceProd", [tensor((2, 2), grid)], none, (2,), None),
        ("Slice", [tensor((3,), [A, 2, B])], {"starts": [1], "ends": [9]}, (2,), [2, B]),
        ("Slice", [tensor((3,), [A, 2, B]), *(tensor((1,), const=[n]) for n in (-1, -9)), None, tensor((1,), const=[-2])],
         none, (2,), [B, A]),
        ("Slice", [tensor((3,), [A, 2, B]), tensor((1,), [C]), tensor((1,), const=[9])], none, (1,), None),
        ("Slice", [tensor((3,), [A, 2, B]), open_pair, tensor((1,), const=[9])], none, (1,), None),
        ("Slice", [tensor((2, 2), grid), tensor((1,), const=[1]), tensor((1,), const=[2])], none, (1, 2), None),
        ("Slice", [pair, tensor((2,), const=[0, 0]), tensor((2,), const=[1, 1])], none, (1,), None),
        ("Slice", [pair, *(tensor((1,), const=[n]) for n in (0, 2, 0, 0))], none, (1,), None),
        ("Slice", [tensor((3,), const=[7, 8, 9]), *(tensor((1,), const=[n]) for n in (0, 2)), None, tensor((1,), const=[1])],
         none, (2,), None),
        ("Neg", [tensor((64,), [A] * 64)], none, (64,), [-A] * 64),
        ("Neg", [tensor((65,), [A] * 65)], none, (65,), None),
        ("Neg", [tensor((A,), [A])], none, (A,), None),
        ("Sqrt", [pair], none, (2,), None),
        ("Mul", [pair, tensor((), const=-2)], none, (2,), [-2 * A, -6]),
    ]  # fmt: skip
    wrong = []
    for name, inputs, attributes, shape, want in cases:
        found = symbolic_shapes.follow(name, inputs, attributes, tensor(shape))
        if (None if found is None else found.tolist()) != want:
            wrong.append(f"{name} {[None if v is None else v.partial for v in inputs]}: {found}, wanted {want}")
    assert not wrong, "\n".join(wrong)
    floats = tensor((2,))
    floats.dtype = np.dtype(np.float32)
    assert symbolic_shapes.follow("Cast", [pair], none, floats) is None
    floats.dtype = np.dtype(bool)
    assert symbolic_shapes.follow("Cast", [pair], none, floats) is None


def test_dims_that_come_from_numbers() -> None:
    one, two = tensor((), const=1), tensor((), const=2)
    cases = [
        ("ConstantOfShape", [tensor((2,), [A, 5])], (UNKNOWN, 3), (A, 3)),
        ("ConstantOfShape", [tensor((1,), [A])], (UNKNOWN, 3), None),
        ("ConstantOfShape", [tensor((2,))], (UNKNOWN, 3), None),
        ("Range", [two, tensor((), A + 5), one], (UNKNOWN,), (A + 3,)),
        ("Range", [two, tensor((), A), one], (UNKNOWN,), None),
        ("Range", [tensor((), A), tensor((), A + 3), one], (UNKNOWN,), None),
        ("Range", [two, tensor((), A + 5), two], (UNKNOWN,), None),
        ("Range", [two, tensor((), A + 5), tensor((), B)], (UNKNOWN,), None),
        ("Range", [two, tensor(()), one], (UNKNOWN,), None),
        ("Neg", [tensor((1,), [A])], (UNKNOWN,), None),
    ]
    for name, inputs, shape, want in cases:
        result = ImportedValue("v", shape, np.dtype(np.int64))
        symbolic_shapes.note_shape(name, inputs, result)
        assert result.dims == want, (name, [v.partial for v in inputs])


class Rule:
    """An operator of a shape rule, as far as patterns ask it."""

    data_dependent_shape, needs = False, ()

    def __init__(self, infer_shape: object, partial: bool = False):
        self.infer_shape, self.partial = infer_shape, partial

    def means(self, kind: object) -> bool:
        return False


def test_dims_go_through_shape_rules() -> None:
    """A rule that cannot tell of several open dims at once is asked one by one, of one input."""

    def outputs(*shapes: object) -> list[ImportedValue]:
        return [ImportedValue("y", s, np.dtype(np.float32)) for s in shapes]

    def doubled(shape: Sequence[object], *others: object) -> list[object]:
        if sum(isinstance(d, Count) for d in shape) > 1:
            raise Undecided
        return [tuple(shape), (shape[0], 2)]

    def silent(shape: Sequence[object]) -> list[object]:
        if not any(d is UNKNOWN for d in shape):
            raise Undecided
        return [None]

    def comparing(shape: Sequence[object], values: object = None) -> object:
        if shape[0] < 3:  # type: ignore[operator]
            raise ValueError
        return shape

    one, two = outputs((UNKNOWN, UNKNOWN), (UNKNOWN, 2))
    symbolic_shapes.through(Rule(doubled), [tensor((A, B))], [one, two])
    assert (one.dims, two.dims) == ((A, B), (A, 2))

    cases = [
        ("two inputs", Rule(doubled), [tensor((A, B)), tensor((A,))], (UNKNOWN, UNKNOWN)),
        ("a rank that is not known", Rule(lambda s: [(A,)]), [tensor(None)], (UNKNOWN,)),
        ("an output without a shape", Rule(lambda s: [None, (A,)]), [tensor((A,))], (UNKNOWN,)),
        ("another rank", Rule(lambda s: [(A, A)]), [tensor((A,))], (UNKNOWN,)),
        ("a partial rule", Rule(comparing, True), [tensor((A,))], (UNKNOWN,)),
        ("nothing one by one", Rule(silent), [tensor((A, B))], (UNKNOWN,)),
    ]
    for name, rule, inputs, shape in cases:
        (found,) = outputs(shape)
        symbolic_shapes.through(rule, inputs, [found])
        assert found.dims is None, name
