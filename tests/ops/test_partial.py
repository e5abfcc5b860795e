"""Inference from half of what there is to know: nothing untrue, and all that follows from the half."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from hybrid.core.error import MXNetError, OpError
from hybrid.core.op import BACKWARD, Example, Op, lookup
from hybrid.core.shapes import UNKNOWN, MaybeShape, Undecided, identical, is_known, merge
from hybrid.ir.infer import infer
from tests.table.examples import examples
from tests.table.rules import gradient_graph

LATE = {"_contrib_box_nms", "_npi_insert_tensor", "_npi_multinomial", "_onnx_Multinomial"}
"""Operators that compare sizes before they say anything: with one that is not known they say nothing yet."""


def told() -> list[Example]:
    """Examples whose inference asks for no more than shapes and dtypes."""
    return [e for e in examples() if e.arrays and not {"subgraphs", "values", "shape"} & set(e.op.needs)]


def inferred(op: Op, shapes: Sequence[MaybeShape]) -> list[MaybeShape] | None:
    """Specs that inference gives the outputs, if any."""
    try:
        known: list[MaybeShape] = [None] * len(op.output_names())
        filled = [merge(a, b) for a, b in zip(shapes, op.infer_input_shapes(shapes, known), strict=True)]
        found = None if any(s is None for s in filled) else op.infer_shape(*filled)
    except Undecided:
        return None
    return found if isinstance(found, list) else [found]


def other_sizes(op: Op, shapes: list[Any], at: int, axis: int) -> list[list[Any]]:
    """The shapes of the outputs for other sizes of one axis of one input, as far as such sizes are allowed."""
    found = []
    for size in {1, shapes[at][axis] + 1, 2 * shapes[at][axis], shapes[at][axis] - 1} - {0, -1, shapes[at][axis]}:
        changed = list(shapes)
        changed[at] = (*shapes[at][:axis], size, *shapes[at][axis + 1 :])
        try:
            outputs = inferred(op, changed)
        except ValueError:
            continue
        if outputs is not None:
            found.append(outputs)
    return found


def test_a_size_that_is_not_known_leaves_open_what_depends_on_it_and_no_more() -> None:
    wrong = []
    for op, arrays in told():
        shapes: list[Any] = [a.shape for a in arrays]
        whole = inferred(op, shapes)
        if whole is None or not all(map(is_known, whole)):
            continue
        for at, axis in ((i, a) for i, s in enumerate(shapes) for a in range(len(s))):
            hidden = list(shapes)
            hidden[at] = (*shapes[at][:axis], UNKNOWN, *shapes[at][axis + 1 :])
            where = f"{op} without size {axis} of input {at} {shapes}"
            try:
                found = inferred(op, hidden) or [None] * len(whole)
                if [merge(f, w) for f, w in zip(found, whole, strict=True)] != whole:
                    raise ValueError(f"{found}, not {whole}")
            except (MXNetError, ValueError) as error:
                wrong.append(f"{where}: {error}")
                continue
            if all(map(is_known, found)) or op.name in LATE:
                continue
            others = other_sizes(op, shapes, at, axis)
            for which, (one, true) in enumerate(zip(found, whole)):
                open_ = {a for a in range(len(true)) if one is None or one[a] is UNKNOWN}  # type: ignore[arg-type]
                ranks = any(len(o[which]) != len(true) for o in others)
                fixed = {a for a in open_ if others and not ranks and all(o[which][a] == true[a] for o in others)}  # type: ignore
                if fixed:
                    wrong.append(f"{where}: output {which} is {one}, though it is {true} whatever that size is")
    assert not wrong, "\n".join(wrong)


def test_values_that_are_not_known_leave_open_what_depends_on_them() -> None:
    """Every subset of what an operator reads its outputs' sizes from: some constant, the rest known at run time only."""
    wrong, seen = [], 0
    for op, arrays in ((e.op, e.arrays) for e in examples() if e.arrays and "values" in e.op.needs):
        if {"subgraphs", "shape"} & set(op.needs):
            continue
        shapes = [a.shape for a in arrays]
        whole = op.infer_shape(*shapes, values=list(arrays))
        wanted = whole if isinstance(whole, list) else [whole]
        few = [a.size < 50 for a in arrays]
        for known in product(*((True, False) if f else (False,) for f in few)):
            where = f"{op} {shapes} with the values {known}"
            try:
                found = op.infer_shape(*shapes, values=[a if k else None for a, k in zip(arrays, known)])
                found = found if isinstance(found, list) else [found]
                if [merge(f, w) for f, w in zip(found, wanted, strict=True)] != wanted:
                    wrong.append(f"{where}: {found}, not {wanted}")
            except Undecided:
                continue
            except Exception as error:
                wrong.append(f"{where}: {error!r}")
            seen += 1
    assert seen > 300
    assert not wrong, "\n".join(wrong)


LESS: dict[str, Callable[[Any], MaybeShape]] = {
    "all": lambda s: s,
    "not the first size": lambda s: (UNKNOWN, *s[1:]) if s else s,
    "not the last size": lambda s: (*s[:-1], UNKNOWN) if s else s,
    "the rank": lambda s: (UNKNOWN,) * len(s),
    "nothing": lambda s: None,
}
"""Degrees of knowledge of a shape, each of which is more than those below it (of the first three: than the last two)."""
GUESSED = {"_rnn_param_concat": "sizes that are not known are equal", "LeakyReLU": "one slope for each channel"}
"""Assumptions that these make, as MXNet does, and that do not hold of their examples."""


Known = tuple[Op, list[tuple[int, ...]], list[np.dtype]]
"""An operator, and shapes and dtypes of inputs that it takes."""


def first_of_a_kind() -> Iterator[Known]:
    """One example of each operator, each number of dims, and each choice of attributes that are given."""
    done = set()
    for op, arrays in told():
        kind = (op.name, *(a.ndim for a in arrays), *op.dump())
        if kind not in done and op.name not in GUESSED:
            done.add(kind)
            yield op, [a.shape for a in arrays], [a.dtype for a in arrays]


def parts_of_gradients() -> Iterator[Known]:
    """Operators of which the gradients of these consist and that are registered for that alone."""
    done = set()
    for op, shapes, dtypes in first_of_a_kind():
        ends = op.infer_shape(*shapes)
        ends, types = ends if isinstance(ends, list) else [ends], op.infer_type(*dtypes)
        types = types if isinstance(types, list) else [types] * len(ends)
        specs = dict(zip(op.input_names(), zip(shapes, dtypes)))
        specs |= {f"head{i}": e for i, e in enumerate(zip(ends, types))}
        try:
            _, graph = gradient_graph(op, op.input_names(), range(op.num_visible_outputs()))
            read = {n.name: specs[n.name] for n in graph.variables()}
            found = infer(graph, {n: s for n, (s, _) in read.items()}, {n: d for n, (_, d) in read.items()})
        except OpError:  # it has none, or none for this dtype
            continue
        for node in graph.nodes:
            inputs: list[Any] = [found.spec(e) for e in node.inputs]
            if (
                node.op is not None
                and node.op.name.startswith(BACKWARD)
                and not {"subgraphs", "shape"} & set(node.op.needs)
            ):
                kind = (node.op.name, *(len(i.shape) for i in inputs), *node.op.dump())
                if kind not in done and "_rnn_param_concat" not in node.op.name:
                    done.add(kind)
                    yield node.op, [i.shape for i in inputs], [i.dtype for i in inputs]


def told_of_part(known: Known, owns: list[str], endings: list[str]) -> list[str]:
    """Faults in what an operator infers when one input is known less than others, or they are not."""
    op, shapes, _ = known
    whole, order, wrong = inferred(op, shapes), list(LESS), []
    if whole is None or not all(map(is_known, whole)):
        return []
    answers: dict[tuple[str, str, int, str], list[MaybeShape]] = {}
    for own, others, at, ends in product(owns, ("all", "nothing"), range(len(shapes)), endings):
        given = [LESS[own if i == at else others](s) for i, s in enumerate(shapes)]
        try:
            found = op.infer_input_shapes(given, [LESS[ends](s) for s in whole])
            found = answers[own, others, at, ends] = [merge(g, f) for g, f in zip(given, found, strict=True)]
            if [merge(f, s) for f, s in zip(found, shapes)] != shapes:
                raise ValueError(f"{found}, not {shapes}")
        except (Undecided, Exception) as error:
            wrong.append(f"{op} given {given}, of outputs {ends}: {error!r}")
    for (own, others, at, ends), found in answers.items():
        less = [(n, others, at, ends) for n in order[max(order.index(own) + 1, 3) :]]
        less += [(n, others, at, ends) for n in order[1:3] if own == "all"]
        less += [(own, others, at, "the rank")] * (ends == "all") + [(own, "nothing", at, ends)]
        for one in less:
            if one in answers and not all(identical(merge(a, b), b) for a, b in zip(answers[one], found)):
                wrong.append(f"{op} {shapes} tells of {own, others, at, ends} {found}, of {one} {answers[one]}")
    return wrong


def test_knowing_more_never_tells_less() -> None:
    """Some inputs, one of them in part, and the outputs or not: what inputs follow is true, and is more when more is known."""
    wrong = [w for k in first_of_a_kind() for w in told_of_part(k, list(LESS), ["all", "the rank", "nothing"])]
    assert not wrong, "\n".join(wrong)


def test_parts_of_gradients_take_what_is_known() -> None:
    """The same of them; and of the dtypes of some inputs those of others follow, which are theirs."""
    wrong, seen = [], set()
    for known in parts_of_gradients():
        op, _, dtypes = known
        wrong += told_of_part(known, ["all", "the rank", "nothing"], ["all", "nothing"])
        seen.add(op.name)
        whole = inferred(op, known[1])
        for at, axis in ((i, a) for i, s in enumerate(known[1]) for a in range(len(s)) if whole):
            hidden: list[Any] = [(*s[:axis], UNKNOWN, *s[axis + 1 :]) if i == at else s for i, s in enumerate(known[1])]
            try:
                open_ = inferred(op, hidden) or whole
                if [merge(f, w) for f, w in zip(open_, whole, strict=True)] != whole:
                    raise ValueError(f"{open_}, not {whole}")
            except Exception as error:
                wrong.append(f"{op} of {hidden}: {error!r}")
        found = op.infer_type(*dtypes)
        outputs = found if isinstance(found, list) else [found] * len(op.output_names())
        for at, only, ends in product(range(len(dtypes)), (True, False), (outputs, [None] * len(outputs))):
            given = [d if (i == at) is only else None for i, d in enumerate(dtypes)]
            filled = op.infer_input_types(tuple(given), tuple(ends))
            if any(f is not None and f != d for f, d in zip(filled, dtypes, strict=True)) or any(
                f is None and g is not None for f, g in zip(filled, given)
            ):
                wrong.append(f"{op} given {given} and {ends}: {filled}, not {dtypes}")
    assert len(seen) > 150
    assert not wrong, "\n".join(wrong)


def test_domains_ask_for_no_more_than_is_known() -> None:
    """The domain of an input is the same however little is known of other shapes, or is not told."""
    wrong, seen = [], 0
    for op, arrays in ((e.op, e.arrays) for e in examples() if e.arrays):
        shapes = [a.shape for a in arrays]
        for name in op.input_names():
            whole = op.domain(name, shapes)
            seen += whole is not None
            for at, known in product((*range(len(shapes)), None), LESS):
                given = [LESS[known](s) if at in (i, None) else s for i, s in enumerate(shapes)]
                try:
                    found = op.domain(name, given)
                    if found is not None and not any(v is UNKNOWN for v in found) and found != whole:
                        wrong.append(f"{op}: {name} of {given} holds {found}, not {whole}")
                except Exception as error:
                    wrong.append(f"{op}: {name} of {given}: {error!r}")
    assert seen > 100
    assert not wrong, "\n".join(wrong)


def test_dtypes_that_follow_from_others_go_with_them() -> None:
    """Those given stay, and with those that follow the operator runs and gives what it has to give."""
    wrong = []
    for op, arrays in told():
        dtypes = [a.dtype for a in arrays]
        found = op.infer_type(*dtypes)
        outputs = found if isinstance(found, list) else [found] * len(op.output_names())
        for at in (*range(len(dtypes)), None):
            for known in ([None] * len(outputs), outputs):
                given = [None if at in (i, None) else d for i, d in enumerate(dtypes)]
                filled = op.infer_input_types(tuple(given), tuple(known))
                where = f"{op} given {given} and {known}: {filled}"
                if any(g is not None and g != f for g, f in zip(given, filled, strict=True)):
                    wrong.append(where)
                elif all(f is not None for f in filled) and op.name != "_histogram":
                    found = op.infer_type(*filled)
                    got = found if isinstance(found, list) else [found] * len(outputs)
                    if known[0] is not None and got != outputs:
                        wrong.append(f"{where} give {got}")
    assert not wrong, "\n".join(wrong)


# Which inputs MXNet 1.9.1 gave, when asked (infer_shape_partial, infer_type_partial), their right shapes from that of the
# first; their right shapes from those of all others; and the dtype of the first. By example of the operator, inputs counted
# from 0. Operators of mx.np and of quantization are left out.
FOLLOWS = {
    "1 1 1 | - - 1": "LeakyReLU",
    "- - 1": "broadcast_add broadcast_sub broadcast_mul broadcast_div broadcast_mod broadcast_power broadcast_hypot "
    "broadcast_maximum broadcast_minimum broadcast_equal broadcast_not_equal broadcast_greater broadcast_greater_equal "
    "broadcast_lesser broadcast_lesser_equal broadcast_logical_and broadcast_logical_or broadcast_logical_xor dot _linalg_gemm2 "
    "khatri_rao _contrib_interleaved_matmul_selfatt_valatt _contrib_interleaved_matmul_encdec_qk "
    "_contrib_interleaved_matmul_encdec_valatt Crop batch_take softmax_cross_entropy BilinearSampler SpatialTransformer",
    "1 01 1": "elemwise_add elemwise_sub elemwise_mul elemwise_div _grad_add _scatter_elemwise_div _mod _power _hypot _maximum "
    "_minimum _equal _not_equal _greater _greater_equal _lesser _lesser_equal _logical_and _logical_or _logical_xor "
    "_identity_with_attr_like_rhs _sample_uniform _sample_normal _sample_gamma _sample_negative_binomial",
    "12 12 12 | 1 1 1 | 1 1 1": "Convolution",
    "1 1 1": "Convolution_v1 _slice_assign Embedding _contrib_SparseEmbedding LinearRegressionOutput MAERegressionOutput "
    "LogisticRegressionOutput SoftmaxOutput SVMOutput",
    "1 1 -": "SequenceLast SequenceReverse SequenceMask pick softmax",
    "1 1 1 | 12 12 12": "Deconvolution",
    "- 23 123": "_contrib_DeformableConvolution",
    "- 34 1234": "_contrib_ModulatedDeformableConvolution",
    "- - 12": "_random_pdf_uniform _random_pdf_normal _random_pdf_gamma _contrib_count_sketch _contrib_MultiBoxDetection "
    "_contrib_MultiBoxTarget",
    "- - 1 | - - 1": "_random_pdf_exponential _random_pdf_dirichlet _contrib_box_iou _contrib_box_decode batch_dot Concat stack "
    "_linalg_trmm _linalg_trsm _rnn_param_concat Correlation",
    "12 012 12": "add_n",
    "12 12 12 | 12 12 12 | 1 1 1": "FullyConnected",
    "- 2 12": "_linalg_gemm",
    "- - 1234567": "_contrib_hawkesll",
    "- 0 -": "_scatter_set_nd",
    "- 45 12345": "_contrib_box_encode",
    "1234 1234 1234": "BatchNorm _contrib_BatchNormWithReLU _contrib_SyncBatchNorm",
    "12 12 12": "LayerNorm InstanceNorm GroupNorm _contrib_Proposal _contrib_MultiProposal",
    "123 123 123 | 12 12 12": "RNN",
    "- - 1 | 1 1 1": "UpSampling",
    "- 12 -": "where",
}


def test_inputs_follow_from_others_as_in_mxnet() -> None:
    by_name = defaultdict(list)
    for op, arrays in told():
        if len(arrays) > 1:
            by_name[op.name].append((op, [a.shape for a in arrays], [a.dtype for a in arrays]))
    wrong = []
    for codes, names in FOLLOWS.items():
        for name in names.split():
            for code, (op, shapes, dtypes) in zip(codes.split(" | "), by_name[name]):
                first, rest, types = ([] if c == "-" else list(map(int, c)) for c in code.split())
                known = [None] * len(op.output_names())
                alone = op.infer_input_shapes([shapes[0], *[None] * (len(shapes) - 1)], known) if first else []
                wrong += [f"{op}: input {i} is {alone[i]} by the first" for i in first if alone[i] != shapes[i]]
                for i in rest:
                    others = op.infer_input_shapes([None if i == j else s for j, s in enumerate(shapes)], known)
                    wrong += [f"{op}: input {i} is {others[i]} by the others"] if others[i] != shapes[i] else []
                found = op.infer_input_types((dtypes[0], *[None] * (len(dtypes) - 1)), tuple(known))
                wrong += [f"{op}: input {i} is {found[i]} by the first" for i in types if found[i] != dtypes[i]]
    assert not wrong, "\n".join(wrong)


def test_outputs_tell_of_inputs() -> None:
    """Sizes of the output that are those of an input, or the other way round: what is known of one is known of the other."""
    shape, half = (2, UNKNOWN, 4), np.dtype(np.float16)
    for name, attrs, given, wanted in (
        ("elemwise_add", {}, [(UNKNOWN, 3, UNKNOWN), None], [(2, 3, 4)] * 2),
        ("FullyConnected", {"num_hidden": 4, "flatten": False}, [(UNKNOWN, 3, 5), None, None], [(2, 3, 5), (4, 5), (4,)]),
        ("Convolution", {"num_filter": 3, "kernel": (2,), "num_group": 3}, [None, (3, 5, 2), None], [(2, 15, 5), (3, 5, 2), (3,)]),
        ("Convolution", {"num_filter": 3, "kernel": (3,), "pad": (1,), "dilate": (2,), "no_bias": True},
         [None, (3, 5, 3)], [(2, 5, 6), (3, 5, 3)]),
        ("Convolution", {"num_filter": 3, "kernel": (3,), "stride": (2,), "no_bias": True}, [None, (3, 5, 3)],
         [(2, 5, UNKNOWN), (3, 5, 3)]),
        ("Deconvolution", {"num_filter": 3, "kernel": (2,)}, [None, (5, 3, 2)], [(2, 5, UNKNOWN), (5, 3, 2)]),
        ("Concat", {"num_args": 2, "dim": 1}, [(2, 1, UNKNOWN), None], [(2, 1, 4), (2, UNKNOWN, 4)]),
        ("_linalg_gemm", {}, [None, None, None], [None, None, shape]),
        ("_contrib_box_nms", {}, [(UNKNOWN, 3, UNKNOWN)], [(2, 3, 4)]),
        ("_np_roll", {"shift": 1}, [None], [shape]),
        ("_contrib_box_encode", {}, [(2, UNKNOWN), (UNKNOWN, 3), None, None, None, None],
         [(2, 3), (2, 3), (2, 3, 4), (2, UNKNOWN, 4), (4,), (4,)]),
        ("_contrib_box_encode", {}, [None, None, None, (2, 5, 4), None, None], [None, None, None, (2, 5, 4), (4,), (4,)]),
        ("_contrib_box_decode", {}, [(2, 3, UNKNOWN), None], [(2, 3, 4), (1, 3, 4)]),
        ("_contrib_MultiBoxDetection", {}, [(2, 4, 7), None, None], [(2, 4, 7), (2, 28), (1, 7, 4)]),
        ("clip", {"a_min": 0, "a_max": 1}, [None], [shape]),
    ):  # fmt: skip
        op = lookup(name).bind(**attrs)
        first = (
            (2, 3, 4)
            if name in ("Convolution", "_contrib_box_decode")
            else None
            if "ox_en" in name or "Multi" in name
            else shape
        )
        outputs = [first, *[None] * (len(op.output_names()) - 1)]
        found = [merge(a, b) for a, b in zip(given, op.infer_input_shapes(given, outputs))]
        assert str(found) == str(wanted), f"{op}: {found}, wanted {wanted}"
    for name, attrs, wanted in (
        ("_npi_add", {}, [half, half]), ("_npi_less", {}, [None, None]), ("_npi_true_divide", {}, [None, None]),
        ("Embedding", {"input_dim": 2, "output_dim": 3}, [None, half]), ("take", {}, [half, None]), ("cumsum", {}, [half]),
        ("cumsum", {"dtype": "float16"}, [None]), ("Cast", {"dtype": "float16"}, [None]), ("broadcast_like", {}, [half, None]),
        ("_npi_full_like", {"fill_value": 1, "dtype": "float16"}, [None]), ("_npi_full_like", {"fill_value": 1}, [half]),
        ("one_hot", {"depth": 2, "dtype": "float16"}, [None]), ("scatter_nd", {"shape": (3,)}, [half, None]),
        ("_scatter_set_nd", {"shape": (3,)}, [half, half, None]), ("_contrib_index_copy", {}, [half, None, half]),
        ("amp_cast", {"dtype": "float16"}, [None]), ("shape_array", {}, [None]), ("batch_take", {}, [half, np.dtype(np.int32)]),
    ):  # fmt: skip
        op = lookup(name).bind(**attrs)
        found = list(op.infer_input_types((None,) * len(op.input_names()), (half,)))
        assert found == wanted, f"{op}: {found}, wanted {wanted}"
    int8 = np.dtype(np.int8)
    for name, attrs, given, wanted in (
        ("Embedding", {"input_dim": 2, "output_dim": 3, "dtype": "float16"}, (int8, None), [int8, half]),
        ("Embedding", {"input_dim": 2, "output_dim": 3}, (int8, half), [int8, half]),
        ("cumsum", {}, (int8,), [int8]), ("cumsum", {"dtype": "float16"}, (int8,), [int8]),
        ("_contrib_index_copy", {}, (None, int8, half), [half, int8, half]),
        ("_scatter_set_nd", {"shape": (3,)}, (None, half, int8), [half, half, int8]),
        ("_npi_add", {}, (None, int8), [int8, int8]), ("_npi_add", {}, (half, int8), [half, int8]),
    ):  # fmt: skip
        op = lookup(name).bind(**attrs)
        found = list(op.infer_input_types(given, (None,)))
        assert found == wanted, f"{op} given {given}: {found}, wanted {wanted}"


def test_sizes_that_follow_whatever_others_are() -> None:
    """Of operators whose attributes say a size, or from which end it is counted."""
    for name, attrs, given, wanted in (
        ("slice_axis", {"axis": 1, "begin": -3, "end": -1}, [(2, UNKNOWN)], (2, 2)),
        ("slice_axis", {"axis": 1, "begin": -3, "end": None}, [(2, UNKNOWN)], (2, 3)),
        ("slice_axis", {"axis": 1, "begin": 1, "end": 3}, [(2, UNKNOWN)], (2, 2)),
        ("slice_axis", {"axis": 1, "begin": 1, "end": -1}, [(2, UNKNOWN)], (2, UNKNOWN)),
        ("slice_axis", {"axis": 1, "begin": -2, "end": 4}, [(2, UNKNOWN)], (2, UNKNOWN)),
        ("slice_axis", {"axis": 1, "begin": 1, "end": None}, [(2, UNKNOWN)], (2, UNKNOWN)),
        ("_fused_scaled", {"num_group": 2, "transposed": True}, [(UNKNOWN, 3, 2), (6,)], (UNKNOWN, 3, 2)),
        ("slice_axis", {"axis": 1, "begin": -2, "end": 0}, [(2, UNKNOWN)], (2, UNKNOWN)),
        ("Deconvolution", {"num_filter": 3, "kernel": (3,), "stride": (2,), "target_shape": (6,)},
         [(1, 2, UNKNOWN), (2, 3, 3)], (1, 3, 6)),
        ("Deconvolution", {"num_filter": 3, "kernel": (3,), "stride": (2,), "adj": (1,)},
         [(1, 2, UNKNOWN), (2, 3, 3)], (1, 3, UNKNOWN)),
        ("_npi_zeros", {"shape": (-1, 0, 2)}, [], (UNKNOWN, 0, 2)),
        ("_npi_ones", {"shape": (0, 3)}, [], (0, 3)),
        ("_arange", {"start": 1, "infer_range": True}, [], (UNKNOWN,)),
        ("_arange", {"start": 1, "stop": 4.5, "infer_range": True}, [], (4,)),
        ("_cvimdecode", {"flag": 0}, [(9,)], (UNKNOWN, UNKNOWN, 1)),
        ("_cvimdecode", {"flag": 1}, [(UNKNOWN,)], (UNKNOWN, UNKNOWN, 3)),
        ("_random_pdf_dirichlet", {}, [(UNKNOWN,), (3,)], (1,)),
        ("UpSampling", {"scale": 2, "num_args": 2, "sample_type": "nearest"}, [(1, 2, UNKNOWN, 3), (1, 4, 5, UNKNOWN)],
         (1, 6, UNKNOWN, 6)),
        ("_npi_normal", {"loc": None, "scale": 1.0, "size": (4, 3)}, [(UNKNOWN,)], [(4, 3), (4, 3)]),
        ("depth_to_space", {"block_size": 2}, [(1, UNKNOWN, 3, 4)], (1, UNKNOWN, 6, 8)),
        ("_contrib_ROIAlign", {"pooled_size": (2, 3), "spatial_scale": 1, "position_sensitive": True},
         [(1, UNKNOWN, 4, 5), (7, 5)], (7, UNKNOWN, 2, 3)),
    ):  # fmt: skip
        op = lookup(name).bind(**attrs)
        assert str(op.infer_shape(*given)) == str(wanted), f"{op} of {given}"
    for name, attrs, given, outputs, wanted in (
        ("LeakyReLU", {"act_type": "prelu"}, [(4,), None], [None], [(4,), (4,)]),
        ("LeakyReLU", {"act_type": "prelu"}, [(4, 3, 2), None], [None], [(4, 3, 2), (3,)]),
        ("LeakyReLU", {"act_type": "prelu"}, [None, (3,)], [(4, 3, 2)], [(4, 3, 2), (3,)]),
        ("_rnn_param_concat", {"num_args": 3, "dim": 0}, [(4, 5), None, None], [(10, 5)], [(4, 5), (3, 5), (3, 5)]),
        ("_rnn_param_concat", {"num_args": 3, "dim": 0}, [(4,), None, None], [(9,)], [(4,), (UNKNOWN,), (UNKNOWN,)]),
        ("_rnn_param_concat", {"num_args": 2, "dim": 0}, [(4,), None], [(4,)], [(4,), (0,)]),
        ("_rnn_param_concat", {"num_args": 2, "dim": 1}, [None, (4, 3)], [None], [(4, UNKNOWN), (4, 3)]),
        ("SoftmaxOutput", {}, [(4, 5), (UNKNOWN,)], [None], [(4, 5), (4,)]),
        ("SoftmaxOutput", {}, [(4, 5), (UNKNOWN, 1)], [None], [(4, 5), (UNKNOWN, 1)]),
        ("LinearRegressionOutput", {}, [(4, UNKNOWN), None], [None], [(4, UNKNOWN), None]),
        ("LinearRegressionOutput", {}, [(4, 1), (UNKNOWN, 1)], [None], [(4, 1), (UNKNOWN, 1)]),
        ("RNN", {"mode": "gru", "state_size": 4, "num_layers": 1}, [None, None, None], [(3, 2, 4), None],
         [(3, 2, UNKNOWN), (UNKNOWN,), (1, 2, 4)]),
        ("_sample_uniform", {"shape": (4,)}, [None, (UNKNOWN, 3)], [(2, 3, 4)], [(2, 3), (2, 3)]),
        ("_sample_uniform", {"shape": (4,)}, [None, None], [(4,)], [(), ()]),
        ("_sample_uniform", {"shape": (4, 2)}, [None, None], [(2,)], [None, None]),
        ("_contrib_box_encode", {}, [(2, 3, 4), None, None, None, None, None], [None],
         [(2, 3, 4), (2, 3, 4), None, None, (4,), (4,)]),
        ("Reshape", {"shape": (-1,)}, [(3, UNKNOWN)], [(6,)], [(3, 2)]),
        ("Reshape", {"shape": (-1,)}, [(4, UNKNOWN)], [(6,)], [(4, UNKNOWN)]),
        ("Reshape", {"shape": (-1,)}, [(0, UNKNOWN)], [(0,)], [(0, UNKNOWN)]),
        ("Reshape", {"shape": (-1,)}, [(UNKNOWN, UNKNOWN)], [(6,)], [(UNKNOWN, UNKNOWN)]),
        ("pick", {"axis": 1, "keepdims": True}, [(2, 3), (UNKNOWN, 1)], [None], [(2, 3), (2, 1)]),
        ("pick", {"axis": 0}, [(2, 3), (UNKNOWN,)], [None], [(2, 3), (3,)]),
    ):  # fmt: skip
        op = lookup(name).bind(**attrs)
        outputs = [*outputs, *[None] * (len(op.output_names()) - len(outputs))]
        found = [merge(a, b) for a, b in zip(given, op.infer_input_shapes(given, outputs), strict=True)]
        assert str(found) == str(wanted), f"{op} of {given} giving {outputs}: {found}"
    for name, attrs, given, outputs, words in (
        ("_rnn_param_concat", {"num_args": 2, "dim": 0}, [(4,), None], [(3,)], "at most"),
        ("_rnn_param_concat", {"num_args": 2, "dim": 0}, [(4,), None], [(3, 2)], "rank"),
        ("RNN", {"mode": "gru", "state_size": 4, "num_layers": 1}, [None, None, None], [(3, 2), None], "3 dimensions"),
    ):
        with pytest.raises(MXNetError, match=words):
            lookup(name).bind(**attrs).infer_input_shapes(given, outputs)


def test_what_is_held_for_each_channel_is_as_long_as_any_of_it() -> None:
    """Of data whose channels are not known, or without data: one of the parameters, or of the statistics given out, tells."""
    wrong = []
    for name, data in product(("BatchNorm", "BatchNorm_v1", "_contrib_BatchNormWithReLU"), (None, (UNKNOWN,) * 4)):
        op = lookup(name).bind(output_mean_var=True)
        for at in range(1, 7 if data is None else 5):
            known: list[MaybeShape] = [data, *((3,) if i == at else None for i in range(1, 7))]
            found = op.infer_input_shapes(known[:5], [None, *known[5:]])
            if [*found][1:] != [(3,)] * 4:
                wrong.append(f"{op} of {known}: {found}")
    assert not wrong, "\n".join(wrong)
