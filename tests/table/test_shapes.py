"""Shapes that follow, or are refused, when one input has another: operator by operator, against MXNet 1.9.1 (fixtures/shapes.json).
No operator is named here but with the reason why MXNet is not followed."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hybrid.core.op import REGISTRY, Op
from hybrid.core.shapes import MaybeShape, merge

RECORDED = Path(__file__).parents[2] / "fixtures" / "shapes.json"
Shape = tuple[int, ...]

# Where more is taken than MXNet takes.
WIDER = {
    **dict.fromkeys(
        (*(f"{n}RegressionOutput" for n in ("Linear", "Logistic", "MAE")), "SVMOutput", "SoftmaxOutput"),
        "a label is held to data when it is bound, not in a model that only predicts (LossHead.want_ignored)",
    ),
    "_image_crop": "of any number of channels",
    "_npi_boolean_mask_assign_tensor": "values broadcast, as NumPy's",
    "gather_nd": "one column of coordinates, as NumPy's",
    "repeat": "no times, along whatever axis",
    "_npi_norm": "mx.np.linalg.norm never leaves out axis and flag, by which MXNet goes",
}
# Where less is taken, in so many of the recorded cases, by what MXNet does with them.
NARROWER = {
    "looks at the first input, or the first axes, and reads past the others or leaves a part of them out": """
        _contrib_allclose 32 _contrib_calibrate_entropy 16 _contrib_box_decode 24 _contrib_box_encode 17
        _contrib_MultiBoxDetection 12 _contrib_MultiBoxTarget 8 _contrib_DeformableConvolution 16
        _contrib_ModulatedDeformableConvolution 24 _contrib_DeformablePSROIPooling 48 _contrib_PSROIPooling 4
        _contrib_interleaved_matmul_encdec_valatt 2 _contrib_interleaved_matmul_selfatt_qk 2 stack 48 _npi_stack 43
        _contrib_interleaved_matmul_selfatt_valatt 4 Correlation 56 SpatialTransformer 2 UpSampling 10 where 11 Crop 1
        _npi_choice 5""",
    "overwrites the shape of a parameter that is given": """
        BatchNorm 44 BatchNorm_v1 44 _contrib_BatchNormWithReLU 33 _contrib_SyncBatchNorm 33 InstanceNorm 45 GroupNorm 28
        IdentityAttachKLSparseReg 12""",
    "refuses when it runs what does not broadcast, or has another number of elements": """
        Reshape 14 _npi_insert_scalar 5 _npi_insert_slice 15 _npi_insert_tensor 23""",
    "takes matrices that are not square, and uses a part of them": """
        _linalg_potrf 5 _linalg_potri 10 _linalg_sumlogdiag 5 _npi_cholesky 9""",
    "computes for ranks that its kernel is not written for, or along axes that are not there": """
        LRN 8 _contrib_AdaptiveAvgPooling2D 2 _contrib_BilinearResize2D 5 _contrib_MultiBoxPrior 4 SoftmaxOutput 1
        _contrib_div_sqrt_dim 1 _np_cumsum 2 _npi_flip 1 _npi_pad 4 _npi_percentile 1 _npi_rot90 1 _npi_tril 1
        _slice_assign_scalar 2 _unravel_index 1 argmax_channel 1 batch_take 2 im2col 2 khatri_rao 2 log_softmax 1 softmax 1
        softmin 1 pick 4 reverse 1""",
}
COUNTS = {name: int(count) for text in NARROWER.values() for name, count in zip(text.split()[::2], text.split()[1::2])}


def asked() -> Iterator[tuple[Op, list[Shape], list[Shape] | None]]:
    """An operator, shapes of its inputs, and the outputs' as MXNet has them; None where it refuses."""
    for name, rows in json.loads(RECORDED.read_text())["operators"].items():
        cls = REGISTRY.get(name)
        for attrs, inputs, aux, answers in rows if cls is not None else ():
            given = [text.partition("[")[2] for text in (inputs | aux).values()]
            shapes = [tuple(map(int, re.findall(r"\d+", text))) for text in given]
            variadic = cls.inputs[:1] and cls.inputs[0].startswith("*")
            counted = {cls.count: str(len(shapes)), **attrs} if variadic and cls.count in cls.fields else attrs
            op = cls.bind(**counted)
            for place, other, outs in answers:
                there = [*shapes[:place], tuple(other), *shapes[place + 1 :]]
                yield op, there, list(map(tuple, outs)) if outs else None


def inferred(op: Op, shapes: list[Shape]) -> list[MaybeShape]:
    """The shapes of all outputs. Raises ValueError (or IndexError) where the inputs are refused."""
    filled = op.infer_input_shapes(shapes, [None] * len(op.output_names()))
    found = op.infer_shape(*(merge(a, b) for a, b in zip(shapes, filled, strict=True)))
    return found if isinstance(found, list) else [found]


def test_shapes_are_those_of_mxnet() -> None:
    wrong, seen, narrower = [], 0, Counter[str]()
    for op, shapes, wanted in asked():
        seen += 1
        try:
            found = inferred(op, shapes)
        except (ValueError, IndexError) as error:  # of an axis that is not there, which ir/infer.py says in words
            narrower[op.name] += wanted is not None
            problem = str(error)
        else:
            problem = f"{found[: op.num_visible_outputs()]}"
            if problem != str(wanted) and op.name not in WIDER:
                wrong.append(f"{op!r} of {shapes}: {problem}, in MXNet {wanted}")
            continue
        if wanted is not None and op.name not in COUNTS:
            wrong.append(f"{op!r} of {shapes}: {problem}, in MXNet {wanted}")
    assert seen > 15000
    assert not wrong, "\n".join(wrong)
    assert {n: c for n, c in narrower.items() if c} == COUNTS
