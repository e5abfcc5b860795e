"""Inputs that inference accepts are computed, by NumPy and compiled alike; what it refuses it refuses in its author's words.

Here by a sample; ``python -m tests.fuzz.operators`` changes dims, ranks, dtypes and attributes of all operators at random."""

import random
import re
from collections.abc import Sequence

import numpy as np
import pytest

from hybrid.core.error import InternalError, OpError
from hybrid.core.op import REGISTRY, Op, Spec, lookup
from hybrid.execution.apply import apply
from hybrid.execution.program import Program
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import infer
from tests.fuzz import operators
from tests.table.examples import examples
from tests.table.options import others


def applied(name: str, shapes: list[tuple[int, ...]], **attrs: object) -> tuple[Graph, dict[str, np.ndarray]]:
    """One operator on zeros of these shapes."""
    op = lookup(name).bind(**attrs)
    node = Node(op, "node", [Entry(Node(None, n)) for n in op.input_names()])
    return Graph([Entry(node)]), {n: np.zeros(s, np.float32) for n, s in zip(op.input_names(), shapes, strict=True)}


MISFITS = [
    ("UpSampling", [(1, 2, 4, 4), (2, 3, 2, 2)], {"scale": 2, "sample_type": "nearest", "num_args": 2}),
    ("_contrib_interleaved_matmul_selfatt_qk", [(3, 2, 12)], {"heads": 5}),
    ("_contrib_interleaved_matmul_selfatt_valatt", [(3, 2, 12), (4, 8, 3)], {"heads": 2}),
    ("_contrib_interleaved_matmul_encdec_qk", [(3, 2, 4), (5, 2, 16)], {"heads": 2}),
    ("_contrib_interleaved_matmul_encdec_valatt", [(5, 2, 8), (6, 3, 5)], {"heads": 2}),
    ("_linalg_gemm2", [(2, 3, 4), (2, 4, 1, 5)], {}),
    ("_backward_transpose", [(3, 4, 2), (2, 3)], {}),
    ("_backward_FullyConnected", [(2, 9), (2, 3), (4, 3), (4,)], {"num_hidden": 4}),
]  # those that wrote over foreign memory

UNFIT = [
    ("_onnx_LayerNormalization", [(3, 4), (4, 4)], {}),
    ("_onnx_Conv", [(1, 2, 5), (4, 2, 3), (5,)], {"given": ("B",)}),
    ("_onnx_BatchNormalization", [(2, 3, 2), (3,), (3,), (3,), (2,)], {}),
    ("_onnx_RNN", [(3, 2, 3), (1, 4, 3), (2, 4, 4)], {"hidden_size": 4}),
    ("_backward__onnx_RNN", [(3, 1, 2, 4), (0, 2, 4), (3, 2, 3), (1, 4, 3), (1, 4, 4)], {"hidden_size": 4}),
    ("_onnx_ms_QLinearSigmoid", [(2, 3), (2,), ()], {}),
    ("_onnx_Attention", [(2, 4, 3, 4), (2, 3, 5, 4), (2, 3, 5, 3)], {}),
    ("_contrib_MultiBoxTarget", [(1, 6, 4), (0, 3, 5), (1, 3, 6)], {}),
    ("CTCLoss", [(6, 2, 5), (4, 2)], {}),
]  # those at which NumPy stumbled after inference had let them pass


@pytest.mark.parametrize(("name", "shapes", "attrs"), MISFITS + UNFIT, ids=[m[0] for m in MISFITS + UNFIT])
def test_sizes_that_kernels_would_read_past_are_refused(name: str, shapes: list[tuple[int, ...]], attrs: dict) -> None:
    graph, feeds = applied(name, shapes, **attrs)
    with pytest.raises(OpError):
        infer(graph, {n: a.shape for n, a in feeds.items()}, {n: a.dtype for n, a in feeds.items()})
    with pytest.raises(OpError):
        Program(graph).run(feeds)


@pytest.mark.parametrize("heads", [0, -1, 2**40])
def test_heads_are_a_count(heads: int) -> None:
    with pytest.raises(OpError, match="heads"):
        REGISTRY["_contrib_interleaved_matmul_selfatt_qk"].bind(heads=heads)


def test_an_exception_of_our_own_compute_is_said_to_be_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, feeds = applied("relu", [(2, 3)])

    def broken(self: Op, data: np.ndarray) -> np.ndarray:
        raise IndexError("tuple index out of range")

    monkeypatch.setattr(REGISTRY["relu"], "compute", broken)
    with pytest.raises(InternalError, match=r"node.*relu.*IndexError.*bug.*report"):
        Program(graph, native=False).run(feeds)


@pytest.mark.parametrize(
    ("name", "shapes", "attrs", "least"),
    [
        ("SequenceLast", [(2,), (4,)], {"use_sequence_length": True}, "data .*2 dimensions"),
        ("_onnx_ReverseSequence", [(3,), (4, 3, 2)], {}, "input .*2 dimensions"),
        ("_onnx_Expand", [(2, 3), ()], {}, "shape .*1 dimensions"),
    ],
)
def test_an_axis_that_is_not_there_is_refused_as_too_few_dimensions(
    name: str, shapes: list[tuple[int, ...]], attrs: dict, least: str
) -> None:
    graph, feeds = applied(name, shapes, **attrs)
    with pytest.raises(OpError, match=f"node.*got {least}"):
        infer(graph, {n: a.shape for n, a in feeds.items()})


@pytest.mark.parametrize("rule", ["infer_shape", "infer_input_shapes", "infer_type", "infer_input_types"])
@pytest.mark.parametrize("error", [IndexError, TypeError, ZeroDivisionError, AttributeError])
def test_an_exception_of_our_own_inference_is_said_to_be_a_bug(
    monkeypatch: pytest.MonkeyPatch, rule: str, error: type[Exception]
) -> None:
    graph, feeds = applied("relu", [(2, 3)])

    def broken(self: Op, *given: object) -> object:
        raise error("out of range")

    monkeypatch.setattr(REGISTRY["relu"], rule, broken)
    with pytest.raises(InternalError, match=rf"node.*relu.*{error.__name__}.*bug.*report"):
        infer(graph, {n: a.shape for n, a in feeds.items()}, {n: a.dtype for n, a in feeds.items()})


@pytest.mark.parametrize(
    ("name", "shapes", "attrs"),
    [
        ("_npi_hstack", [(2, 3), (2,)], {"num_args": 2}),
        ("Crop", [(1, 2, 6, 5), (2, 3, 2)], {"num_args": 2}),
        ("_image_resize", [(2, 6, 0, 1)], {"size": (3,), "keep_ratio": True}),
    ],
)
def test_what_rules_stumbled_over_is_refused_in_words(name: str, shapes: list[tuple[int, ...]], attrs: dict) -> None:
    graph, feeds = applied(name, shapes, **attrs)
    with pytest.raises(OpError, match="wanted"):
        infer(graph, {n: a.shape for n, a in feeds.items()})


def test_random_integers_are_integers() -> None:
    with pytest.raises(OpError, match="float64, wanted int32 or int64"):
        REGISTRY["_random_randint"].bind(low=0, high=3, dtype="float64")


def test_no_operator_writes_to_its_inputs() -> None:
    """But for those that say so, ``compute`` takes arrays that nobody can write to."""
    checked = 0
    for op, arrays in examples():
        if op.mutates or {"subgraphs", "shape", "specs"} & set(op.needs):
            continue
        frozen = [np.array(a) for a in arrays]
        for array in frozen:
            array.flags.writeable = False
        apply(op, frozen, [Spec(None, None)] * len(op.output_names()), name="node")
        checked += 1
    assert checked > 900


def test_changed_shapes_hold_the_contract() -> None:
    """A sample: one change of a shape for every other operator of MXNet's; all findings at once."""
    examples = [e for e in operators.seeds() if not e[0].name.startswith(("_onnx_", "_backward_", "_fused_"))]
    found = []
    for number, one in enumerate(examples[::2]):
        case = operators.mutate(random.Random(f"contract {number}"), one)
        if case.change.startswith(("dim", "rank", "swap")):
            try:
                operators.judge(case)
            except AssertionError as error:
                found.append(str(error))
    assert not found, "\n".join(found)


def computed(op: Op, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Results of an operator's NumPy for arrays, when training."""
    with np.errstate(all="ignore"):
        found = op.compute(*arrays, **{"training": True} if "training" in op.needs else {})
    return [np.array(one) for one in (found if isinstance(found, tuple | list) else (found,))]


def taken(op: Op, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Results for dtypes that inference takes. Raises ValueError or TypeError for others."""
    dtypes = tuple(a.dtype for a in arrays)
    op.infer_input_types(dtypes, (None,) * len(op.output_names()))
    op.want_dtype(dtypes)
    op.infer_type(*dtypes)
    return computed(op, arrays)


def apart(array: np.ndarray) -> np.ndarray:
    """The same numbers with gaps between them in memory, the last axis backwards, not to be written to."""
    steps = (*(slice(None, None, 2),) * (array.ndim - 1), slice(None, None, -2))
    view = np.zeros([2 * n for n in array.shape], array.dtype)[steps if array.ndim else ...]
    view[...] = array
    view.flags.writeable = False
    return view


def test_what_is_only_read_is_not_written_to_and_may_lie_anywhere() -> None:
    """Of all operators, those that gradient rules consist of included; states alone are written to."""
    wrong, seen = [], 0
    for name, attrs, arrays in (seed for group in operators.seeds() for seed in group):
        op = REGISTRY[name].bind(**attrs)
        if name.startswith("_onnx_") or not arrays or set(op.needs) - {"training"}:
            continue
        try:
            wanted = computed(op, [a.copy() for a in arrays])
        except ValueError:
            continue  # what a sample of the fuzzer is given may be no values that it takes
        seen += 1
        states = op.input_names() if op.always_mutates else op.mutates
        try:
            given = [a.copy() if n in states else apart(a) for n, a in zip(op.input_names(), arrays, strict=True)]
            for one, want in zip(computed(op, given), wanted, strict=True):
                eps = 64 * float(np.finfo(want.dtype).eps) if want.dtype.kind == "f" else 0
                if not np.array_equal(one, want):  # sums may be taken in another order
                    most = float(np.abs(want[np.isfinite(want)]).max(initial=0))
                    np.testing.assert_allclose(one, want, rtol=0, atol=eps * most)
        except Exception as error:
            wrong.append(f"{op!r} {[a.shape for a in arrays]}: {type(error).__name__} {str(error)[:300]}")
    assert seen > 2000
    assert not wrong, "\n".join(wrong)


# What rounds to float16 in between, as MXNet does.
ROUNDED_BETWEEN = (
    *("_backward_tanh", "_backward_sigmoid", "_backward_batch_normalization", "_npi_around", "add_n", "khatri_rao"),
    *("_contrib_MultiBoxDetection", "_contrib_MultiBoxTarget", "_contrib_box_encode", "_multi_mp_lamb_update"),
    *(
        "_backward_IdentityAttachKLSparseReg",
        "multi_lars",
        "preloaded_multi_mp_sgd_mom_update",
        "preloaded_multi_mp_sgd_update",
    ),
)
CONSTANTS = r"_?(npi_)?(degrees|radians|nan_to_num)|.*_scalar|.*BatchNorm.*|_fused_.*"
"""Names of operators whose constants are numbers of the dtype, or whose eps is; and of those that put several in one."""


def test_half_precision_is_rounded_once() -> None:
    """Of numbers that float16 holds each operator gives what it gives of them as float32, rounded."""
    wrong, seen = [], 0
    seeds = [(n, a, list(arrays)) for group in operators.seeds() for n, a, arrays in group]
    for name, attrs, arrays in [*seeds, *((e.op.name, e.op.dump(), list(e.arrays)) for e in others())]:
        op = REGISTRY[name].bind(**attrs)
        named = name in ROUNDED_BETWEEN or re.fullmatch(CONSTANTS, name) or "_onnx_" in name
        if named or set(op.needs) - {"training"} or not any(a.dtype.kind == "f" for a in arrays):
            continue
        rng = np.random.default_rng(3)
        if name.startswith("_backward_"):  # of ones alone all sums are whole numbers
            arrays = [rng.uniform(-1, 1, a.shape) if a.dtype.kind == "f" and np.all(a == 1) else a for a in arrays]
        with np.errstate(over="ignore"):
            half = [a.astype(np.float16) if a.dtype.kind == "f" else a for a in arrays]
        wide = [a.astype(np.float32) if a.dtype == np.float16 else a.copy() for a in half]
        try:
            pairs = list(zip(taken(op, [a.copy() for a in half]), computed(op, wide), strict=True))
        except (ValueError, TypeError):  # it takes no float16 there
            continue
        seen += 1
        with np.errstate(over="ignore"):
            if not all(
                a.dtype != np.float16 or np.array_equal(a, b.astype(np.float16), equal_nan=True) for a, b in pairs
            ):
                wrong.append(f"{op!r} {[a.shape for a in arrays]}: {pairs}"[:600])
    assert seen > 2000
    assert not wrong, "\n".join(wrong)


# Numbers among attributes that become whole with integers, as MXNet's do, so that they are others than those of floats.
SCALARS = ("scalar", "alpha", "beta")
BY_COUNTS = {
    "_histogram": "edges of bins are whole numbers too",
    "mp_lamb_update_phase1": "weights of integers are no masters",
    "_backward_of_floats": "gives zeros for them",
}


def bound_apart(op: Op, dtype: np.dtype, arrays: Sequence[np.ndarray]) -> bool:
    """True where attributes or numbers of the example are others in that dtype."""
    numbers = [v for n in op.fields if isinstance(v := getattr(op, n), int | float) and not isinstance(v, bool)]
    broken = any(isinstance(v := getattr(op, n, None), float) and v != int(v) for n in SCALARS)
    below = any(a.size and a.min() < 0 for a in arrays) or any(v < 0 for v in numbers)
    return broken or (dtype.kind == "u" and below)


def test_whole_numbers_are_those_of_floats() -> None:
    """Of small whole numbers each operator gives, in all dtypes that hold them, what it gives in float64 where that is whole."""
    wrong, seen, done = [], 0, set()
    for name, attrs, arrays in (seed for group in operators.seeds() for seed in group):
        op, kind = REGISTRY[name].bind(**attrs), (name, *sorted(attrs.items()), *(a.ndim for a in arrays))
        if (
            kind in done
            or set(op.needs) - {"training"}
            or name in BY_COUNTS
            or not arrays
            or re.match("_fused_|.*_onnx_", name)
        ):
            continue
        done.add(kind)
        rng = np.random.default_rng(5)
        free = [a.dtype == np.float32 and bool(np.isfinite(a).all()) for a in arrays]
        # what holds whole numbers already may be places or lengths
        given = [rng.integers(1, 6, a.shape) if f and (a != np.rint(a)).any() else a for a, f in zip(arrays, free)]

        def answer(dtype: object) -> list[np.ndarray]:
            return taken(op, [a.astype(dtype) if f else a.copy() for a, f in zip(given, free)])  # noqa: B023

        wide: list[np.ndarray] | None = None
        for dtype in map(np.dtype, ("int8", "uint8", "int32", "int64")):
            if bound_apart(op, dtype, given):
                continue
            try:
                found = answer(dtype)
                wide = answer(np.float64) if wide is None else wide
                pairs = list(zip(found, wide, strict=True))
            except (ValueError, TypeError):  # it takes no integers there
                continue
            seen += 1
            for found, want in pairs:
                if found.dtype.kind in "iu":
                    limits = np.iinfo(found.dtype)
                    whole = (want == np.rint(want)) & (want >= limits.min) & (want <= limits.max)
                    same = found.shape == want.shape and np.array_equal(found[whole], want[whole])
                else:
                    same = np.allclose(found, want, 2e-3 if found.dtype == np.float16 else 1e-5, 1e-5, equal_nan=True)
                if not same:
                    wrong.append(f"{op!r} {dtype} {[a.shape for a in arrays]}: {found}, not {want}"[:400])
    assert seen > 6000
    assert not wrong, "\n".join(wrong)


def refused(op: Op, arrays: Sequence[np.ndarray]) -> bool:
    """True where inference refuses these shapes and dtypes."""
    shapes, dtypes, none = [a.shape for a in arrays], tuple(a.dtype for a in arrays), [None] * len(op.output_names())
    try:
        op.infer_input_shapes(shapes, none)
        op.infer_input_types(dtypes, none)
        op.want_dtype(dtypes)
        op.infer_type(*dtypes)
        op.infer_shape(*shapes)
    except (ValueError, IndexError):
        return True
    return False


def test_of_many_inputs_all_are_looked_at() -> None:
    """Another rank, size or dtype of one of four inputs is taken or refused whichever of those behind the first has it."""
    wrong, seen = [], set()
    for op, arrays in examples():
        cls = type(op)
        several = cls.inputs[:1] and cls.inputs[0].startswith("*") and cls.count in cls.fields
        if not several or op.name in seen or set(op.needs) - {"training"}:
            continue
        try:
            four = cls.bind(**{k: v for k, v in op.dump().items() if k != cls.count}, **{cls.count: 4})
        except OpError:  # other attributes say how many there are
            continue
        one = arrays[0]
        if refused(four, [one] * 4):
            continue
        seen.add(op.name)
        sizes = [np.concatenate([one, one], axis) for axis in range(one.ndim)]
        for other in (one[None], one[..., None], *sizes, *map(one.astype, ("int32", "float64", "float16"))):
            verdicts = [refused(four, [other if i == at else one for i in range(4)]) for at in (1, 2, 3)]
            if len({*verdicts}) > 1:
                wrong.append(f"{four!r} of {one.shape}, one {other.dtype} {other.shape}: {verdicts}")
    assert len(seen) > 20
    assert not wrong, "\n".join(wrong)
