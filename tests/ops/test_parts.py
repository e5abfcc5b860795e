"""Parts of gradient rules take what their forward operators took and answered, and nothing else: shapes, dtypes and values."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from hybrid.core.error import InternalError, MXNetError, OpError
from hybrid.core.op import Op, lookup
from hybrid.execution.program import Program
from hybrid.ir.differentiate import gradients
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import infer
from tests.table.examples import examples, walk
from tests.table.options import others
from tests.table.rules import has_rule

Given = tuple[str, tuple[int, ...]]


def applied(name: str, given: list[Given], attrs: dict[str, object]) -> tuple[Graph, dict[str, np.ndarray]]:
    """One operator on ones of these dtypes and shapes."""
    op = lookup(name).bind(**attrs)
    node = Node(op, "node", [Entry(Node(None, n)) for n in op.input_names()])
    feeds = {n: np.ones(shape, dtype) for n, (dtype, shape) in zip(op.input_names(), given, strict=True)}
    return Graph(Entry(node, i) for i in range(len(op.output_names()))), feeds


F, L = "float32", "int64"
RNN = {"state_size": 4, "num_layers": 1, "mode": "gru", "state_outputs": True}
INFERRED: dict[str, tuple[str, list[Given], dict[str, object]]] = {
    "integers that the forward operator refuses": (
        "_backward_RNN",
        [(F, (3, 2, 4)), (F, (1, 2, 4)), ("int8", (3, 2, 3)), (F, (108,)), (F, (1, 2, 4)), (F, (3, 2, 4)), (F, (97,))],
        RNN,
    ),
    "another dtype of what it saved": (
        "_backward_RNN",
        [(F, (3, 2, 4)), (F, (1, 2, 4)), (F, (3, 2, 3)), (F, (108,)), (F, (1, 2, 4)), (F, (3, 2, 4)), (L, (97,))],
        RNN,
    ),
    "another dtype of one input": (
        "_backward_hawkesll",
        [(F, (2,)), ("uint8", (2, 3)), *[(F, (3,))] * 2, (F, (2, 3)), (F, (2, 4)), ("int32", (2, 4)), *[(F, (2,))] * 2],
        {},
    ),
    "an axis that is no integer": (
        "_backward__onnx_DFT",
        [(F, (2, 7, 3, 2)), (F, (2, 5, 3, 2)), (L, ()), ("float64", ())],
        {"given": ("dft_length", "axis")},
    ),
    "labels for other rows": ("_backward_SVMOutput", [(F, (2, 5)), (F, (4,))], {}),
    "integers for a normalization": (
        "_backward_normalization",
        [(F, (2, 3, 4)), (L, (2, 3, 4)), (F, (3,)), *[(F, (2, 1, 4))] * 2],
        {"over": "layer", "third": "std"},
    ),
    "moving statistics of other channels": (
        "_backward_batch_normalization",
        [*[(F, (2, 3, 2, 2))] * 2, *[(F, (3,))] * 3, (F, ()), (F, (3,))],
        {"over": "batch", "third": "rstd"},
    ),
    "statistics of another rank": (
        "_backward_batch_normalization",
        [*[(F, (4, 3))] * 2, (F, (3,)), (F, (1, 3)), *[(F, (3,))] * 3],
        {"over": "batch", "third": "rstd"},
    ),
    "a gradient of another dtype than the output's": ("_backward_transpose", [("float64", (3, 2)), (F, (2, 3))], {}),
}
"""Applications that inference refuses."""

RUN: dict[str, tuple[str, list[Given], dict[str, object]]] = {
    "frames that its step does not give": (
        "_backward__onnx_STFT",
        [(F, (2, 3, 3, 2)), (F, (2, 14, 1)), (L, ()), (F, (5,))],
        {"given": ("window",)},
    ),
    "classes that its depth does not give": (
        "_backward__onnx_OneHot",
        [(L, (2, 3, 0)), (L, (2, 3)), (L, (1,)), (L, (2,))],
        {},
    ),
    "rows that the mask does not keep": ("_backward__contrib_boolean_mask", [(F, (3, 3)), (F, (4, 3)), (F, (4,))], {}),
    "sums that no number asks for": (
        "_backward__npi_bincount",
        [(F, (3,)), ("int32", (6,)), (F, (6,))],
        {"has_weights": True, "of": 1},
    ),
    "positions beyond the axis": ("_backward_sort", [(F, (1, 4)), ("int32", (1, 4)), (F, (1, 4))], {"axis": 0}),
    "numbers taken from beyond the axis": ("_backward_taken", [(F, (1, 4)), ("int32", (1, 4))], {"axis": 0}),
    "a region of an image that is not there": (
        "_backward_DeformablePSROIPooling",
        [(F, (2, 2, 3, 3)), (F, (1, 8, 8, 8)), (F, (2, 5))],
        {"spatial_scale": 1, "output_dim": 2, "group_size": 2, "pooled_size": 3, "no_trans": True},
    ),
    "regions of images without pixels": (
        "_backward__onnx_RoiAlign",
        [(F, (2, 3, 2, 2)), (F, (2, 3, 0, 4)), (F, (2, 4)), (L, (2,))],
        {"output_height": 2, "output_width": 2},
    ),
    "regions of no size": (
        "_backward__onnx_RoiAlign",
        [(F, (2, 3, 2, 2)), (F, (2, 3, 5, 4)), (F, (2, 4)), (L, (2,))],
        {"output_height": 2, "output_width": 2, "spatial_scale": float("nan")},
    ),
    "what a reduction along its axes does not give": (
        "_backward__onnx_restore",
        [(F, (2, 2)), (F, (2, 4)), (L, (1,))],
        {"given": ("axes",)},
    ),
}
"""Applications that are refused once values are known."""


@pytest.mark.parametrize("case", INFERRED)
def test_inference_refuses_what_the_forward_operator_neither_takes_nor_answers(case: str) -> None:
    graph, feeds = applied(*INFERRED[case])
    with pytest.raises(OpError, match=r"got|differ"):
        infer(graph, {n: a.shape for n, a in feeds.items()}, {n: a.dtype for n, a in feeds.items()})


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("case", RUN)
def test_what_values_decide_is_refused_when_it_runs(case: str, native: bool) -> None:
    graph, feeds = applied(*RUN[case])
    with pytest.raises(OpError, match="wanted"):
        Program(graph, training=True, native=native).run(feeds)


def test_only_inputs_that_are_there_have_a_gradient() -> None:
    with pytest.raises(OpError, match="of=1"):
        lookup("_backward__npi_bincount").bind(has_weights=False, of=1)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    ("name", "given", "attrs"),
    [
        ("_backward_MakeLoss", [(F, (0, 3))], {"normalization": "batch"}),
        ("_backward_SoftmaxOutput", [(F, (2, 3, 0)), (F, (2, 0))], {"multi_output": True}),
    ],
)
def test_losses_of_nothing_divide_by_nothing(name: str, given: list[Given], attrs: dict, native: bool) -> None:
    graph, feeds = applied(name, given, attrs)
    (dx,) = Program(graph, training=True, native=native).run(feeds)
    assert dx.shape == given[0][1]


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    ("name", "given", "attrs"),
    [
        (
            "_backward_GridGenerator",
            [(F, (0, 2, 3, 4)), (F, (0, 6))],
            {"transform_type": "affine", "target_shape": (3, 4)},
        ),
        ("_backward__npi_norm", [(F, (2,)), (F, (2, 0, 4)), (F, (2,))], {"ord": 2, "axis": (2, 1)}),
        (
            "_backward__onnx_MaxPool",
            [(F, (1, 2, 0, 4)), (F, (1, 2, 0, 6))],
            {"kernel_shape": (3, 2), "pads": (0, 1, 1, 0), "strides": (2, 2), "ceil_mode": True},
        ),
    ],
    ids=["grid", "norm", "pooling"],
)
def test_nothing_has_a_gradient_of_nothing(name: str, given: list[Given], attrs: dict, native: bool) -> None:
    graph, feeds = applied(name, given, attrs)
    (dx,) = Program(graph, training=True, native=native).run(feeds)
    assert dx.shape == given[1][1]


LOSSES = {"SoftmaxOutput", "SVMOutput", *(f"{n}RegressionOutput" for n in ("Linear", "Logistic", "MAE"))}
"""Losses that look at labels in the backward pass alone, and refuse there what is no label for the data."""


def resized(shapes: list[tuple[int, ...]], new: int) -> Iterator[list[tuple[int, ...]]]:
    """Shapes of which one axis has the new size, or all axes of one size have."""
    for at, axis in ((i, a) for i, s in enumerate(shapes) for a in range(len(s))):
        yield [(*s[:axis], new, *s[axis + 1 :]) if i == at else s for i, s in enumerate(shapes)]
    sizes = [d for s in shapes for d in s]
    for size in {d for d in sizes if sizes.count(d) > 1}:
        yield [tuple(new if d == size else d for d in s) for s in shapes]


def with_gradients(op: Op) -> tuple[Graph, list[str]]:
    """The outputs of an operator and their gradients, each head of ones; the inputs that have one."""
    variables = [Node(None, n) for n in op.input_names()]
    node = Node(op, "forward", map(Entry, variables))
    ends = [Entry(node, i) for i in range(op.num_visible_outputs())]
    wanted = [v for v in variables if v.name not in op.mutates]
    have = [(v.name, e) for v, e in zip(wanted, gradients([(e, None) for e in ends], wanted)) if e is not None]
    return Graph([*ends, *(e for _, e in have)]), [n for n, _ in have]


def what_is_wrong(op: Op, graph: Graph, names: list[str], feeds: dict[str, np.ndarray]) -> str:
    """Fault in the gradients of an operator of such inputs."""
    try:
        found = walk(graph, feeds)
    except MXNetError as error:  # what the operator itself refuses only values show
        return f"{error}" if isinstance(error, InternalError) or "in operator forward:" not in str(error) else ""
    outputs, found = found[: op.num_visible_outputs()], found[op.num_visible_outputs() :]
    wrong = [n for n, g in zip(names, found) if g.shape != feeds[n].shape]
    if all(not y.size for y in outputs):
        wrong += [n for n, g in zip(names, found) if (g != 0).any()]
    return f"those of {wrong}" if wrong else ""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a mean of nothing is no number, and NumPy says so
def test_gradients_where_there_is_nothing_or_one() -> None:
    """Of every operator: an axis without elements, or with one, is one to its gradients too, and no result gives no gradient."""
    wrong, seen, done = [], 0, set[tuple[object, ...]]()
    for op, arrays in itertools.chain(examples(), others()):
        name = (op.name, *(a.ndim for a in arrays))
        kind = (*name, *sorted(op.dump()))
        floats = arrays and arrays[0].dtype != np.uint8  # pictures in whole numbers have none
        if kind in done or op.name in LOSSES or {"subgraphs", "rng"} & set(op.needs) or not floats or not has_rule(op):
            continue
        sizes = (0,) if name in done else (0, 1)
        done |= {name, kind}
        graph, names = with_gradients(op)
        whole = [a.shape for a in arrays]
        for shapes in (s for size in sizes for s in resized(whole, size) if s != whole):
            given = [np.resize(a, s).astype(a.dtype) for a, s in zip(arrays, shapes)]
            try:
                op.infer_shape(*shapes, **({"values": given} if "values" in op.needs else {}))
            except (ValueError, IndexError):
                continue
            seen += 1
            problem = what_is_wrong(op, graph, names, dict(zip(op.input_names(), given, strict=True)))
            if problem:
                wrong.append(f"{op!r} of {shapes}: {problem}"[:300])
    assert seen > 4500
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("name", "attrs", "word"),
    [
        ("_onnx_Attention", {"softmax_precision": "uint8"}, "softmax_precision=uint8"),
        ("_backward__onnx_Attention", {"softmax_precision": "int32"}, "softmax_precision=int32"),
        ("_backward_normalization", {"over": "layer", "third": "var", "eps": -0.5}, "eps=-0.5"),
    ],
)
def test_attributes_that_no_number_comes_of_are_refused(name: str, attrs: dict, word: str) -> None:
    with pytest.raises(OpError, match=word):
        lookup(name).bind(**attrs)


def test_masks_do_not_start_before_the_first_axis() -> None:
    with pytest.raises(OpError, match="start_axis=-2"):
        lookup("_npi_boolean_mask_assign_tensor").bind(start_axis=-2)
