"""Gradient rules against the gradients that MXNet recorded for the same heads, and against finite differences."""

from __future__ import annotations

import contextlib
import itertools
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from converters import coverage
from hybrid.core.attrs import Float, Optional
from hybrid.core.error import InternalError, MXNetError, OpError
from hybrid.core.op import OPS, Domain, Example, Op, Spec
from hybrid.execution.program import Program
from hybrid.ir.differentiate import gradients
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import infer
from hybrid.ops.sparse_graph import OfStorage

from ..grouped import each
from ..grouped import run as grouped_run
from .examples import Numbered, examples, graph_of, numbered
from .goldens import Case, cases, close
from .options import chosen_otherwise, others
from .rules import gradient_graph, has_rule
from .test_axes import rows as rows_of_axes

EPS = {name: float(np.finfo(name).eps) for name in ("float16", "float32")}


Arrays = Mapping[str, np.ndarray]


def run(graph: Graph | Program, feeds: Arrays) -> list[np.ndarray]:
    """The outputs when training; feeds that the graph does not read are left out, and what it reads is not written to."""
    program = graph if isinstance(graph, Program) else Program(graph, training=True)
    return program.run({k: feeds[k].copy() for k in program.names if k in feeds})


def gradients_of(op: Op, names: tuple[str, ...], feeds: Arrays, heads: Mapping[int, np.ndarray]) -> Arrays:
    """Gradients of all inputs of one operator when training, by its rule."""
    have, graph = gradient_graph(op, names, heads)
    results = run(graph, {**feeds, **{f"head{i}": h for i, h in heads.items()}})
    zeros = {n: np.zeros_like(feeds[n]) for n in names if n not in op.mutates}
    return zeros | dict(zip(have, results))


# Cases whose recorded gradients nobody can want, and why.
MEANINGLESS = {
    **dict.fromkeys(
        (("LeakyReLU", f"selu-{form}") for form in ("rank1", "rank2", "rank4", "f64", "f16", "special")),
        "MXNet adds the scaled result to the unscaled alpha: no derivative of selu",
    ),
    ("LeakyReLU", "elu-special"): "oneDNN counts 1e-30 as not positive",
    (
        "Activation",
        "sigmoid-large",
    ): "y * (1 - y) where y is 1 but for a few units in the last place: MXNet's is off by 2 %, ours by 6 %",
    **dict.fromkeys(
        (("_npi_where_lscalar", "plain"), ("_npi_where_rscalar", "plain")),
        "MXNet gives the gradient to the elements that were not chosen",
    ),
    **dict.fromkeys(
        (("SoftmaxActivation", form) for form in ("instance-rank3", "instance-rank4", "default-rank4")),
        "forward, oneDNN takes the last axis; backward, MXNet takes all but the first of what that gave",
    ),
    **dict.fromkeys(
        (("_npi_rot90", "k1"), ("_npi_rot90", "k3"), ("_npi_rot90", "k-1")),
        "MXNet turns the gradient on instead of back (its shape is right all the same)",
    ),
    **dict.fromkeys(
        (
            *(("RNN", "rnn_relu-3-layers"), ("RNN", "rnn_tanh-3-layers")),
            *(("RNN", "rnn_relu-both-ways-3-layers-f64"), ("RNN", "rnn_tanh-both-ways-3-layers-f64")),
        ),
        "of three layers MXNet's i2h weights of the second get a wrong gradient; all others are right",
    ),
    (
        "_npi_matmul",
        "broadcast",
    ): "with different leading dims MXNet sums over the wrong ones",
    **dict.fromkeys(
        (("SoftmaxOutput", "out-grad"), ("SoftmaxOutput", "out-grad-multi")),
        "MXNet 1.9.1 multiplies by the output instead of the gradient that arrives at it",
    ),
    **dict.fromkeys(
        (
            *(("_npi_norm", form) for form in ("default", "f64")),
            *(
                ("_npi_norm", f"matrix-{axes}-keep{keep}-ord{order}")
                for axes in ("none", "12", "02", "21", "neg")
                for keep in (0, 1)
                for order in (1, -1, 2, -2)
            ),
        ),
        "MXNet's gradient of matrix norms by columns or by one singular value is no derivative: of the wrong sign and size",
    ),
    **dict.fromkeys(
        (("_npi_einsum", "broadcast-ellipsis-more"), ("_npi_einsum", "broadcast-one-more")),
        "MXNet sums over the wrong axes where subscripts broadcast",
    ),
    ("gather_nd", "negative"): "MXNet loses the gradient at positions that count from behind",
    **dict.fromkeys(
        (
            *(
                ("_npi_average", f"axis{axis}-returned-weights")
                for axis in ("None", 0, 1, -1, "(0,1)", "(0,2)", "(-1,0)", "(0,1,2)")
            ),
            *(("_npi_average", f"vector-axis{axis}-returned") for axis in (0, 1, -1)),
        ),
        "MXNet ignores the gradient of the sum of the weights",
    ),
}

# Operators of which MXNet says that they have gradient 0, which is not so.
UNTRUE_ZEROS = (
    *("_npi_bincount", *(f"_np_atleast_{n}d" for n in (1, 2, 3))),
    *("_npi_boolean_mask_assign_scalar", "_npi_boolean_mask_assign_tensor"),
    *("_npi_var", "_npi_std", "_npi_pinv", "_npi_pinv_scalar_rcond"),
    *("_npi_eig", "_npi_eigh", "_npi_eigvals", "_npi_eigvalsh"),
)

# Cases whose recorded gradients are no better than this epsilon, and why.
COARSE = {
    # MXNet computes the digamma function in float32
    ("gamma", "float64"): EPS["float32"],
    ("gamma", "special-f64"): EPS["float32"],
    ("gammaln", "float64"): EPS["float32"],
    ("_np_cumsum", "float64-to-float32-more"): EPS["float32"],
    # it has the logarithm of 2 in float32
    ("_npi_ldexp", "float64"): EPS["float32"],
    ("_npi_rldexp_scalar", "float64"): EPS["float32"],
    # it multiplies in the dtype of the result, then widens
    **{
        (operator, f"{source}-to-{target}"): EPS[target]
        for operator in ("softmax", "log_softmax", "softmin")
        for source, target in (("float32", "float16"), ("float64", "float16"), ("float64", "float32"))
    },
    # oneDNN's exponential
    ("log_softmax", "temperature-None"): 2 * EPS["float32"],
}

GRADED = [
    c for c in cases() if "grad" in c.data and (c.operator, c.id) not in MEANINGLESS and c.operator not in UNTRUE_ZEROS
]


@each(GRADED, Case.label)
def test_gradients_are_those_of_mxnet(case: Case) -> None:
    heads = {int(i): h for i, h in case.data.get("head", {}).items()}
    got = gradients_of(case.op(), case.names, dict(zip(case.names, case.arrays())), heads)
    for name, want in case.data["grad"].items():
        close(got[name], want, case.op(), COARSE.get((case.operator, case.id), case.eps))


# -- finite differences ----------------------------------------------------------------------------------------------------

# Operators whose gradient is, by design, not the derivative of what they compute.
BY_DESIGN = {
    "BlockGrad": "lets none pass",
    **dict.fromkeys(
        ("_npi_unique", "_histogram", "_npi_percentile"),
        "lets none pass, in MXNet too",
    ),
    **dict.fromkeys(
        (
            *("_contrib_box_decode", "_contrib_box_encode", "_contrib_MultiBoxTarget", "_contrib_MultiBoxDetection"),
            *("_contrib_Proposal", "_contrib_MultiProposal"),
        ),
        "lets none pass, in MXNet too",
    ),
    **dict.fromkeys(
        (
            "make_loss",
            "MakeLoss",
            "SoftmaxOutput",
            "SVMOutput",
            *(f"{n}RegressionOutput" for n in ("Linear", "Logistic", "MAE")),
        ),
        "is a loss, whatever follows",
    ),
    "_contrib_gradientmultiplier": "scales it",
    "_contrib_box_iou": "lets none pass, in MXNet too",
    "_contrib_box_nms": "lets that pass which belongs to what is kept, in MXNet too",
    "_contrib_hawkesll": "ignores that of the states behind it, in MXNet too",
    "IdentityAttachKLSparseReg": "adds that of a penalty",
    "_contrib_round_ste": "passes it straight through",
    "_contrib_sign_ste": "passes it straight through",
    "_ravel_multi_index": "counts places: it has none",
    "_contrib_MultiBoxTarget": "makes labels: it has none",
}
# Inputs that get no gradient, by design, where others do.
FIXED = {"_contrib_count_sketch": ("s",), "_onnx_Resize": ("roi", "scales")}
# Operators of symmetric matrices, of which they read one half: both halves change at once.
SYMMETRIC = (
    "_linalg_potrf",
    "_linalg_syevd",
    "_npi_cholesky",
    "_npi_eigh",
    "_npi_eigvalsh",
)
STEP = 1e-6


class Point(NamedTuple):
    """An application of an operator in float64: where to differentiate, and the gradients of the outputs there."""

    op: Op
    feeds: dict[str, np.ndarray]
    free: tuple[str, ...]
    """The inputs to differentiate by: floating ones that are no indices, lengths or states."""
    heads: dict[int, np.ndarray]

    @property
    def graph(self) -> Graph:
        node = Node(self.op, "node", [Entry(Node(None, n)) for n in self.feeds])
        return Graph(Entry(node, i) for i in self.heads)

    def given(self) -> dict[str, np.ndarray]:
        return {f"head{i}": h for i, h in self.heads.items()}


def counts(domain: Domain | None) -> bool:
    """True where the numbers of a domain are places, lengths or classes, by which nothing is differentiated."""
    return domain is not None and domain.integer


def point(example: Example) -> Point | None:
    """The example in float64; None when its outputs are not that precise, or nothing is differentiable in it."""
    op, names = example.op, example.op.input_names()
    if "rng" in op.needs or not has_rule(op):
        return None
    shapes = [a.shape for a in example.arrays]
    free = tuple(
        n
        for n, a in zip(names, example.arrays)
        if a.dtype.kind == "f" and n not in (*op.mutates, *FIXED.get(op.name, ())) and not counts(op.domain(n, shapes))
    )
    floats = tuple(n for n, a in zip(names, example.arrays) if a.dtype.kind == "f")
    for wide in ((*free, *op.mutates), floats):  # some want places in the dtype of the data, others never
        feeds = {n: a.astype(np.float64) if n in wide and n in floats else a for n, a in zip(names, example.arrays)}
        try:
            outputs = run(graph_of(Example(op, tuple(feeds.values())))[0], feeds)
            break
        except MXNetError:
            continue
    else:
        return None
    rng = np.random.default_rng(1)
    heads = {i: rng.uniform(-1, 1, y.shape) for i, y in enumerate(outputs) if y.dtype == np.float64 and y.size}
    return Point(op, feeds, free, heads) if free and heads else None


def differs(f: Callable[[Arrays], Sequence[np.ndarray]], at: Arrays, name: str, along: np.ndarray) -> list[np.ndarray]:
    """Change of the results of f along a direction of one of its arguments (central differences)."""
    after, before = (f({**at, name: at[name] + sign * STEP * along}) for sign in (1, -1))
    return [(a - b) / (2 * STEP) for a, b in zip(after, before)]


def direction(op: Op, rng: np.random.Generator, gradient: np.ndarray) -> np.ndarray:
    """Some direction in which an input may change."""
    along = rng.uniform(-1, 1, gradient.shape)
    return along + along.swapaxes(-1, -2) if op.name in SYMMETRIC else along


def total(weights: Iterable[np.ndarray], arrays: Iterable[np.ndarray]) -> float:
    """The sum of all products."""
    return sum(float((w * a).sum()) for w, a in zip(weights, arrays))


DERIVED = each(
    [(i, e) for i, e in enumerate(itertools.chain(examples(), others())) if e.op.name not in BY_DESIGN], numbered
)


def check_derivatives(example: Example, directions: int = 3) -> None:
    """Fail unless the gradients of all its floating inputs are those of finite differences, along so many directions."""
    at = point(example)
    if at is not None:
        check_at(at, directions)


def check_at(at: Point, directions: int) -> None:
    """As check_derivatives, where an example has been made a point."""
    got = gradients_of(at.op, tuple(at.feeds), at.feeds, at.heads)
    program, rng = Program(at.graph, training=True), np.random.default_rng(2)
    for name in at.free:
        assert (got[name].shape, got[name].dtype) == (at.feeds[name].shape, np.float64)
        for _ in range(directions):
            along = direction(at.op, rng, got[name])
            changes = differs(lambda feeds: run(program, feeds), at.feeds, name, along)
            want = total(at.heads.values(), changes)
            size = total(map(np.abs, at.heads.values()), map(np.abs, changes))
            np.testing.assert_allclose(total([along], [got[name]]), want, rtol=0, atol=1e-6 * size + 1e-8, err_msg=name)


@DERIVED
def test_gradients_are_derivatives(row: Numbered) -> None:
    check_derivatives(row[1])


def floats_of(op: Op) -> list[str]:
    """Names of the attributes that are numbers, or None."""
    kinds = {n: f.kind.kind if isinstance(f.kind, Optional) else f.kind for n, f in op.fields.items()}
    return [n for n, kind in kinds.items() if isinstance(kind, Float)]


def other_numbers() -> Iterator[tuple[str, list[Example]]]:
    """Examples with each number among their attributes of the other sign and larger, or larger alone."""
    seen = set()
    for op, arrays in examples():
        for name in floats_of(op):
            own = getattr(op, name) or 0.0
            value, several = 1.5 * abs(own) + 0.25, []
            signs = (1,) if name == "eps" else (1, -1) if own < 0 else (-1, 1)  # eps: what keeps variances from 0
            for other in (sign * value for sign in signs):
                with contextlib.suppress(OpError):  # one that the operator refuses
                    changed = type(op).bind(**{n: getattr(op, n) for n in op.fields} | {name: other})
                    several.append(Example(changed, arrays))
            # Celu has a derivative for a positive alpha only
            if (op.name, name, value) not in seen and op.name not in {*BY_DESIGN, "_onnx_Celu"}:
                seen.add((op.name, name, value))
                yield f"{len(seen)} {op.name} {name}={value}", several


def check_first_finite(several: Sequence[Example]) -> None:
    for example in several:
        at = point(example)
        if at is None:
            return
        if all(np.isfinite(y).all() for y in run(at.graph, at.feeds)):
            check_at(at, directions=1)
            return


def test_gradients_are_derivatives_whatever_numbers_attributes_are() -> None:
    rows = [*other_numbers()]
    assert len(rows) > 500
    grouped_run(rows, check_first_finite)


CHOSEN_BY_DESIGN = {
    "output_mean_var": "MXNet passes nothing back through means and variances",
    "reduction": "without one, of several updates of a place it is open which stays",
}
"""Attributes whose other values have no gradient that differences would show."""


def other_choices() -> Iterator[tuple[str, Example]]:
    """Examples in which something is chosen otherwise (see options.chosen_otherwise) and has a gradient."""
    for attribute, example in chosen_otherwise():
        if example.op.name not in BY_DESIGN and has_rule(example.op) and attribute not in CHOSEN_BY_DESIGN:
            yield f"{example.op!r} {attribute}", example


def check_unless_refused(example: Example) -> None:
    try:
        check_first_finite([example])
    except InternalError:
        raise
    except OpError:  # not along this axis, or not differentiable so, in words
        return


def test_gradients_are_derivatives_whatever_is_chosen() -> None:
    rows = [*other_choices()]
    assert len(rows) > 700
    grouped_run(rows, check_unless_refused)


def other_axes() -> Iterator[tuple[str, Point]]:
    """Examples with three other choices of axes than their own, in other orders; axes counted from behind are those of
    tests.table.test_axes."""
    for row in rows_of_axes(of_all=True):
        op, value, found = row.example.op, getattr(row.example.op, row.name), 0
        counts = {1, 2, len(value)} if isinstance(value, tuple) else ()
        several = [a for n in counts for a in itertools.permutations(range(row.rank), n)] or [*range(row.rank)]
        random.Random(f"{op!r} {row.name}").shuffle(several)
        for axes in several if op.name not in BY_DESIGN and has_rule(op) else ():
            with contextlib.suppress(MXNetError):  # axes that the operator refuses
                at = None if axes == value or found == 3 else point(row.bound(axes))
                if at is not None:
                    found += 1
                    yield f"{op!r} {row.name}={axes}", at


def test_gradients_are_derivatives_along_whatever_axes() -> None:
    rows = [*other_axes()]
    assert len(rows) > 300
    grouped_run(rows, lambda at: check_at(at, directions=1))


def check_second_derivatives(example: Example) -> None:
    """Fail unless the gradients of gradients are those of finite differences, or the operator is one of ONCE."""
    at = point(example)
    if at is None:
        return
    names = tuple(at.feeds)
    _, first = gradient_graph(at.op, names, at.heads)
    free = [*at.free, *at.given()]
    feeds, rng = {**at.feeds, **at.given()}, np.random.default_rng(3)
    program = Program(first, training=True)
    values = run(program, feeds)
    weights = {f"weight{i}": rng.uniform(-1, 1, v.shape) for i, v in enumerate(values) if v.dtype == np.float64}
    ends = [(first.outputs[int(n[6:])], Entry(Node(None, n))) for n in weights]
    wanted = [n for n in first.variables() if n.name in free]
    try:
        found = gradients(ends, wanted)
    except OpError as error:
        assert at.op.name in ONCE, error
        return
    assert at.op.name not in ONCE, "it is differentiable twice: take it off the list"
    second = [(v.name, e) for v, e in zip(wanted, found) if e is not None]
    got = {n.name: np.zeros_like(feeds[n.name]) for n in wanted}
    got |= dict(zip((n for n, _ in second), run(Graph(e for _, e in second), {**feeds, **weights})))
    for name, gradient in got.items():
        assert (gradient.shape, gradient.dtype) == (feeds[name].shape, np.float64)
        along = direction(at.op, rng, gradient)
        changes = differs(lambda feeds: run(program, feeds), feeds, name, along)
        changes = [changes[int(n[6:])] for n in weights]
        want = total(weights.values(), changes)
        size = total(map(np.abs, weights.values()), map(np.abs, changes))
        np.testing.assert_allclose(total([along], [gradient]), want, rtol=0, atol=1e-6 * size + 1e-8, err_msg=name)


@DERIVED
def test_gradients_of_gradients_are_derivatives_of_gradients(row: Numbered) -> None:
    check_second_derivatives(row[1])


# Operators whose gradients have no gradients.
ONCE: set[str] = {  # in MXNet too
    *(n for n in OPS if n.startswith("_random_pdf_")),
    *("CTCLoss", "L2Normalization", "LRN", "_linalg_potrf", "_linalg_gelqf", "_linalg_syevd"),
    *("_npi_cholesky", "_npi_solve", "_npi_tensorinv", "_npi_tensorsolve", "_npi_norm", "_npi_svd"),
    *("_npi_eig", "_npi_eigh", "_npi_eigvals", "_npi_eigvalsh", "_npi_pinv", "_npi_pinv_scalar_rcond"),
    *("_contrib_DeformableConvolution", "_contrib_ModulatedDeformableConvolution", "_contrib_DeformablePSROIPooling"),
    *("ROIPooling", "_contrib_ROIAlign", "_contrib_PSROIPooling"),
    *("GridGenerator", "BilinearSampler", "SpatialTransformer", "Correlation", "_npi_polyval"),
    *("_onnx_DeformConv", "_onnx_GridSample", "_onnx_RoiAlign"),
    *("_onnx_RNN", "_onnx_GRU", "_onnx_LSTM", "_onnx_STFT"),
    *("_onnx_Attention", "_onnx_LinearAttention", "_onnx_RotaryEmbedding"),
}


def kinds() -> Iterator[tuple[Op, list[tuple[int, ...]], list[np.dtype]]]:
    """One example of each choice of attributes and ranks, with what is float32 in other dtypes that the operator takes."""
    done = set()
    for op, arrays in itertools.chain(examples(), others()):
        kind = (op.name, *(a.ndim for a in arrays), *sorted(op.dump().items()))
        if kind in done or {"subgraphs", "rng"} & set(op.needs) or op.name.startswith("_onnx_") or not has_rule(op):
            continue
        done.add(kind)
        for dtype in map(np.dtype, ("float16", "int32", "uint8")):
            dtypes = [dtype if a.dtype == np.float32 else a.dtype for a in arrays]
            with contextlib.suppress(ValueError, KeyError):  # it does not take them
                op.infer_input_types(tuple(dtypes), (None,) * len(op.output_names()))
                op.want_dtype(dtypes)
                op.infer_type(*dtypes)
                yield op, [a.shape for a in arrays], dtypes


def test_gradients_have_the_shapes_and_dtypes_of_their_inputs() -> None:
    wrong, seen = [], 0
    for op, shapes, dtypes in kinds():
        ends, types = op.infer_shape(*shapes), op.infer_type(*dtypes)
        ends = ends if isinstance(ends, list) else [ends]
        types = types if isinstance(types, list) else [types] * len(ends)
        known = dict(zip(op.input_names(), zip(shapes, dtypes))) | {
            f"head{i}": e for i, e in enumerate(zip(ends, types))
        }
        try:
            have, graph = gradient_graph(op, op.input_names(), range(op.num_visible_outputs()))
            read = {n.name for n in graph.variables()}
            found = infer(
                graph, {n: known[n][0] for n in known if n in read}, {n: known[n][1] for n in known if n in read}
            )
        except OpError as error:
            wrong.append(f"{op!r} of {dtypes}: {error}")
            continue
        seen += 1
        for name, end in zip(have, graph.outputs):
            if str(found.spec(end)) != str(Spec(*known[name])):
                wrong.append(f"{op!r}: that of {name} is {found.spec(end)}, not {known[name]}")
    assert seen > 1000
    assert not wrong, "\n".join(wrong)


# -- all of them -----------------------------------------------------------------------------------------------------------

# Operators that MXNet calls non-differentiable too.
NON_DIFFERENTIABLE = {
    *("all_finite", "multi_all_finite", "_shuffle", "fill_element_0index"),
    *("_npi_delete", "_npi_insert_scalar", "_npi_insert_slice", "_npi_insert_tensor", "_npi_share_memory"),
    *("_scatter_set_nd", "_slice_assign", "_slice_assign_scalar", "reset_arrays"),
    *(
        "_contrib_calibrate_entropy",
        "_contrib_quantized_act",
        "_contrib_quantized_elemwise_add",
        "_contrib_quantized_rnn",
    ),
    *("_contrib_RROIAlign", "_contrib_allclose", "_onehot_encode", "_cvimdecode", "_cvimresize", "_cvcopyMakeBorder"),
    # made for inference from graphs that have gradients; attention on floats is said in products, which have some
    *(n for n, cls in OPS.items() if n.startswith("_sg_mkldnn_") and "selfatt" not in n),
    *(n for n, cls in OPS.items() if issubclass(cls, OfStorage)),
    *(n for n, cls in OPS.items() if cls.__module__.startswith("hybrid.ops.optimizer")),
}
# Operators of which MXNet says that the gradient passes as it is, which is not so; here they have none.
UNTRUE_COPIES = {n for n in OPS if n.startswith("_image_random_")} | {"_image_resize", "_image_to_tensor"}


def test_every_operator_has_a_gradient_rule_or_is_not_differentiable() -> None:
    without = {
        n for n, cls in OPS.items()
        if cls.inputs and cls.gradient is Op.gradient and coverage.gradient_of(cls) == coverage.NO
    }  # fmt: skip
    family = {n for n in without if n.startswith("_onnx_")}
    assert without - family == NON_DIFFERENTIABLE | UNTRUE_COPIES
    words = "String|Regex|Tfidf|ImageDecoder"
    kinds = rf"_onnx_(ms_)?(DynamicQuant|QLinear|QGemm|MatMulInteger|ConvInteger|.*Sequence|Unique|TfIdf|{words})"
    assert not [n for n in family if not re.match(kinds, n)], (
        "whole numbers, words and sequences alone have no gradient"
    )


@pytest.mark.parametrize(
    ("name", "attrs", "gradient"),
    [
        ("_mul_scalar", {"scalar": 2}, [2, 2, 2]),
        ("_mul_scalar", {"scalar": 2.5}, [2, 2, 2]),
        ("exp", {}, [2, 7, 20]),
        ("_div_scalar", {"scalar": 2}, [0, 0, 0]),
        ("sqrt", {}, [0, 0, 0]),
        ("mean", {}, [0, 0, 0]),
        ("max", {}, [0, 0, 1]),
        ("_power_scalar", {"scalar": 2}, [2, 4, 6]),
        ("Cast", {"dtype": "float32"}, [1, 1, 1]),
    ],
)
def test_integers_have_the_gradients_that_mxnet_gives_them(
    name: str, attrs: dict[str, Any], gradient: list[int]
) -> None:
    op, data = OPS[name].bind(**attrs), np.array([1, 2, 3], np.int32)
    head = np.ones_like(Program(graph_of(Example(op, (data,)))[0]).run({"data": data})[0])
    got = gradients_of(op, ("data",), {"data": data}, {0: head})["data"]
    assert got.dtype == np.int32
    assert got.tolist() == gradient


def test_moments_of_integers_have_the_gradients_that_mxnet_gives_them() -> None:
    """Multiplied before it is divided, by the distance from the mean as it was cut off."""
    op, data = OPS["moments"].bind(axes=(0,)), np.array([1, 2, 4], np.int32)
    for head, want in ((0, [0, 0, 0]), (1, [0, 0, 1]), (2, [-1, 0, 2]), (6, [-4, 0, 8]), (7, [-4, 0, 9])):
        heads = {0: np.array([1], np.int32), 1: np.array([head], np.int32)}
        assert gradients_of(op, ("data",), {"data": data}, heads)["data"].tolist() == want
