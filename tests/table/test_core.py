"""The closed core: what operators are said in is what they compute, and every chain of compositions ends at primitives."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from converters import core_table, to_onnx
from converters.compositions import export_composition
from converters.registry import EXPORT, OLDEST
from hybrid.core import rng as generators
from hybrid.core.error import MXNetError
from hybrid.core.examples import Maker
from hybrid.core.op import OPS, REGISTRY, Example, Op, Spec
from hybrid.execution.apply import evaluate
from hybrid.execution.program import Program
from hybrid.ir.compose import COMPOSITION, EXCEPTION, PRIMITIVE, composition, core_kind_of, infer_body
from hybrid.ir.graph import Entry
from hybrid.ir.infer import infer
from tests.grouped import each, run
from tests.table.examples import graph_of
from tests.table.goldens import Case, cases, close, run_onnx

DTYPES = ("float32", "float64", "float16", "int32", "int64", "uint8", "bool")
"""Those that take the place of an example's float32."""
EXCEPTIONS = 262
"""Operators that are neither primitives nor compositions: their number may only fall."""
PRIMITIVES = 110
"""Primitives may become more, as far as that."""
COMPOSED = [n for n, cls in OPS.items() if core_kind_of(cls) is COMPOSITION]


def of_all_dtypes(name: str) -> Iterator[tuple[str, Example]]:
    """The examples of an operator, those of other dtypes that it takes too."""
    for number, (op, arrays) in enumerate(OPS[name].examples(Maker(OPS[name]))):
        single = [a.dtype == np.float32 for a in arrays]
        for dtype in DTYPES if any(single) else ("as it is",):
            with np.errstate(invalid="ignore"):  # NaN and infinity as integers
                changed = tuple(a.astype(dtype) if s else a for a, s in zip(arrays, single))
            if dtype in ("float32", "as it is") or is_taken(op, changed):
                yield f"{number} {dtype}", Example(op, changed)


def is_taken(op: Op, arrays: tuple[np.ndarray, ...]) -> bool:
    """True where inference lets such inputs pass."""
    graph, feeds = graph_of(Example(op, arrays))
    try:
        infer(graph, {k: v.shape for k, v in feeds.items()}, {k: v.dtype for k, v in feeds.items()})
    except MXNetError:
        return False
    return True


def same_as_composition(example: Example) -> bool:
    """Fail unless the composition computes what the operator does, and infers so; False where there is none for such inputs."""
    op, arrays = example
    specs = [Spec(a.shape, a.dtype) for a in arrays]
    body = composition(op, specs)
    if body is None:
        return False
    graph, feeds = graph_of(example)
    node = graph.outputs[0].node
    known = infer(graph, {k: v.shape for k, v in feeds.items()}, {k: v.dtype for k, v in feeds.items()})
    try:
        generators.seed(7)
        wants = evaluate(graph, known, feeds)
    except MXNetError:
        return False
    inside = infer_body(body, specs)
    generators.seed(7)
    for i, (got, want) in enumerate(zip(evaluate(body, inside, {f"x{i}": a for i, a in enumerate(arrays)}), wants)):
        close(got, want, op)
        found, wanted = inside.spec(body.outputs[i]), known.spec(Entry(node, i))
        assert found.dtype == want.dtype, f"infers {found.dtype}, wanted {want.dtype}"
        assert found.shape is None or str(found.shape) == str(wanted.shape), (
            f"infers {found.shape}, wanted {wanted.shape}"
        )
    return True


@pytest.mark.parametrize("name", COMPOSED)
def test_compositions_are_what_operators_compute(name: str) -> None:
    """Of the examples, in every dtype that they can have."""
    run(of_all_dtypes(name), same_as_composition)


SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 3e38, 1e-40)


def with_special_numbers() -> Iterator[tuple[str, Example]]:
    """The examples of compositions with one number of a float32 input exchanged for a special one. What factorizations make of
    these is nobody's promise."""
    for name in COMPOSED:
        for place, (op, arrays) in enumerate(OPS[name].examples(Maker(OPS[name]))):
            for i, array in enumerate(arrays):
                for number in SPECIAL if array.dtype == np.float32 and array.size and "_linalg_pot" not in name else ():
                    changed = array.copy()
                    changed.flat[array.size // 2] = number
                    yield (
                        f"{name} {place} {op.input_names()[i]} {number}",
                        Example(op, (*arrays[:i], changed, *arrays[i + 1 :])),
                    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_numbers_mean_the_same_in_compositions() -> None:
    """NaN, infinities, zeros with a sign, the largest and the smallest numbers: compiled code is what compositions say."""
    run(with_special_numbers(), same_as_composition)


def with_special_attributes() -> Iterator[tuple[str, Example]]:
    """The examples of compositions with one float attribute exchanged, where the operator takes it."""
    for name in COMPOSED:
        for place, (op, arrays) in enumerate(OPS[name].examples(Maker(OPS[name]))):
            floats = [f.name for f in op.fields.values() if isinstance(getattr(op, f.name), float)]
            for attribute, number in itertools.product(floats, (*SPECIAL, 0.0, -1.5)):
                try:
                    changed = OPS[name].bind(**{**op.dump(), attribute: number})
                except MXNetError:
                    continue
                if is_taken(changed, arrays):
                    yield f"{name} {place} {attribute}={number}", Example(changed, arrays)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_attributes_mean_the_same_in_compositions() -> None:
    run(with_special_attributes(), same_as_composition)


@pytest.mark.parametrize(
    ("name", "attributes", "shape"),
    [
        ("_onnx_LRN", {"size": 2**63 - 1}, (1, 5, 2, 2)),
        ("_npi_tril", {"k": 2**63 - 1}, (3, 4)),
        ("_npi_tril", {"k": -(2**63)}, (3, 4)),
    ],
)
def test_no_attribute_is_too_large_for_a_composition(name: str, attributes: dict, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    assert same_as_composition(Example(OPS[name].bind(**attributes), (array,)))


def test_differences_of_as_many_orders_as_there_are_numbers() -> None:
    """Nothing is left of them, whatever computes it."""
    op = OPS["_npi_diff"].bind(n=3)
    same_as_composition(Example(op, (np.float32([1, 2, 4]),)))
    graph, feeds = graph_of(Example(op, (np.float32([1, 2, 4]),)))
    assert [a.shape for a in Program(graph).run(feeds)] == [(0,)]


@pytest.mark.parametrize("name", ["smooth_l1", "_onnx_Celu", "_onnx_Hardmax", "_onnx_Shrink", "_onnx_Trilu"])
def test_compositions_are_written_that_compare(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Truth values of ONNX are numbers in compositions."""
    monkeypatch.setitem(EXPORT, name, {OLDEST: export_composition})
    for op, arrays in OPS[name].examples(Maker(OPS[name])):
        if composition(op, [Spec(a.shape, a.dtype) for a in arrays]) is not None:
            graph, feeds = graph_of(Example(op, arrays))
            (got,) = run_onnx(to_onnx(graph, {}, feeds), feeds)
            close(got, Program(graph).run(feeds)[0], op)


def test_relu_takes_whole_numbers() -> None:
    graph, feeds = graph_of(Example(OPS["Activation"].bind(act_type="relu"), (np.int32([-2, 3]),)))
    assert Program(graph).run(feeds)[0].tolist() == [0, 3]


def cut(array: np.ndarray, axis: int, size: int) -> np.ndarray:
    """The first places of an array along an axis, where it has that one and so many places."""
    there = -array.ndim <= axis < array.ndim and array.shape[axis] >= size
    return array.take(range(size), axis=axis) if there else array


def of_small_sizes() -> Iterator[tuple[str, Example]]:
    """The examples of compositions with an axis of size 0 or 1: of all inputs, counted from either end, and of each alone."""
    for name in COMPOSED:
        for place, (op, arrays) in enumerate(OPS[name].examples(Maker(OPS[name]))):
            rank = max((a.ndim for a in arrays), default=0)
            for size, axis in itertools.product((0, 1), range(-rank, rank)):
                every = tuple(cut(a, axis, size) for a in arrays)
                single = [(*arrays[:i], cut(a, axis, size), *arrays[i + 1 :]) for i, a in enumerate(arrays)]
                for number, changed in enumerate([every, *(single if axis >= 0 and len(arrays) > 1 else ())]):
                    if is_taken(op, changed):
                        yield f"{name} {place} size {size} of axis {axis} {number}", Example(op, changed)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_small_sizes_mean_the_same_in_compositions() -> None:
    run(of_small_sizes(), same_as_composition)


@pytest.mark.slow
@each([c for c in cases() if REGISTRY[c.operator].name in COMPOSED], Case.label, share=2)
def test_compositions_are_what_operators_compute_of_recorded_cases(case: Case) -> None:
    same_as_composition(Example(case.op(), tuple(case.arrays())))


def leaves(op: Op, specs: list[Spec], above: tuple[Op, ...] = ()) -> Iterator[Op]:
    """The operators at the ends of the chains of compositions. Fails where a chain comes back to where it was."""
    assert op not in above, f"{' -> '.join(o.name for o in (*above, op))} is a circle"
    body = composition(op, specs)
    if body is None:
        yield op
        return
    known = infer_body(body, specs)
    for node in body.nodes:
        if node.op is not None:
            yield from leaves(node.op, [known.spec(e) for e in node.inputs], (*above, op))


def applications(name: str) -> Iterator[Example]:
    """The examples of an operator; the first recorded cases of one that has none."""
    found = [*OPS[name].examples(Maker(OPS[name]))]
    recorded = (c for c in cases() if REGISTRY[c.operator].name == name)
    yield from found or (Example(c.op(), tuple(c.arrays())) for c, _ in zip(recorded, range(3)))


def test_every_chain_ends_at_primitives() -> None:
    """And every composition is there for one of its operator's applications at least."""
    wrong, unused = {}, set(COMPOSED)
    for name in COMPOSED:
        for op, arrays in applications(name):
            specs = [Spec(a.shape, a.dtype) for a in arrays]
            if composition(op, specs) is None:
                continue
            unused.discard(name)
            ends = {leaf.name for leaf in leaves(op, specs) if core_kind_of(type(leaf)) is not PRIMITIVE}
            if ends:
                wrong[name] = ends
    assert not wrong
    assert not unused


def test_there_is_a_circle_to_be_found() -> None:
    op = OPS["smooth_l1"].bind()
    with pytest.raises(AssertionError, match="smooth_l1 -> abs -> abs is a circle"):
        next(leaves(OPS["abs"].bind(), [Spec()], (op, OPS["abs"].bind())))


def test_exceptions_become_no_more() -> None:
    counts = {
        kind: sum(core_kind_of(cls) is kind for cls in OPS.values()) for kind in (PRIMITIVE, COMPOSITION, EXCEPTION)
    }
    assert counts[EXCEPTION] == EXCEPTIONS, "write the number that is left here"
    assert counts[PRIMITIVE] <= PRIMITIVES
    assert not [n for n, cls in OPS.items() if core_kind_of(cls) is EXCEPTION and len(cls.exception.split()) < 3]


def test_the_page_is_up_to_date() -> None:
    said = (Path(__file__).parents[2] / "docs" / "core.md").read_text()
    assert said == core_table.markdown(), "run: python -m converters.core_table > docs/core.md"
