"""What operators have no answer for is refused before anything runs, as MXNet 1.9.1 refuses it, by NumPy and compiled alike."""

import numpy as np
import pytest

from hybrid.error import OpError
from hybrid.graph.infer import infer
from hybrid.op import REGISTRY, WHOLE, Op
from tests.fuzz import operators
from tests.fuzz.operators import Trial, verdict
from tests.table.examples import Maker, graph_of

FLOATS_ALONE = (
    "BatchNorm", "BatchNorm_v1", "BilinearSampler", "CTCLoss", "Correlation", "Dropout", "GroupNorm", "InstanceNorm",
    "L2Normalization", "LRN", "LayerNorm", "LeakyReLU", "LinearRegressionOutput", "LogisticRegressionOutput",
    "MAERegressionOutput", "Pooling", "Pooling_v1", "ROIPooling", "SVMOutput", "SoftmaxActivation", "SoftmaxOutput",
    "SpatialTransformer", "_contrib_AdaptiveAvgPooling2D", "_contrib_BatchNormWithReLU", "_contrib_BilinearResize2D",
    "_contrib_DeformableConvolution", "_contrib_DeformablePSROIPooling", "_contrib_ModulatedDeformableConvolution",
    "_contrib_MultiBoxDetection", "_contrib_MultiBoxTarget", "_contrib_PSROIPooling", "_contrib_ROIAlign", "_contrib_RROIAlign",
    "_contrib_SyncBatchNorm", "_contrib_bipartite_matching", "_contrib_box_decode", "_contrib_box_encode", "_contrib_box_iou",
    "_contrib_box_nms", "_linalg_det", "_linalg_gelqf", "_linalg_inverse", "_linalg_potrf", "_linalg_potri", "_linalg_slogdet",
    "_linalg_sumlogdiag", "_linalg_syevd", "_linalg_trmm", "_linalg_trsm", "_npi_cholesky", "adam_update", "sgd_update",
    "signsgd_update", "softmax_cross_entropy",
)  # fmt: skip
"""Of which MXNet 1.9.1, asked for each dtype, computes floats and refuses integers and bools."""
NO_BOOLS = (
    "_npi_around", "_npi_copysign", "_npi_mod", "_npi_std", "_npi_subtract", "_npi_var", "broadcast_sub", "elemwise_sub",
    "moments",
)  # fmt: skip
"""Which refuse bools alone."""


def example(name: str) -> tuple[Op, tuple[np.ndarray, ...]]:
    found = next(iter(REGISTRY[name].examples(Maker(REGISTRY[name]))))
    return found.op, found.arrays


@pytest.mark.parametrize("name", (*FLOATS_ALONE, *NO_BOOLS))
def test_dtypes_without_a_kernel_in_mxnet_are_refused_when_inferring(name: str) -> None:
    op, arrays = example(name)
    for dtype in ("bool",) if name in NO_BOOLS else ("bool", "int8", "int32", "int64", "uint8"):
        given = [a.astype(dtype) if a.dtype == arrays[0].dtype else a for a in arrays]
        graph, feeds = graph_of(operators.Example(op, tuple(given)))
        with pytest.raises(OpError, match="cast"):
            infer(graph, {k: v.shape for k, v in feeds.items()}, {k: v.dtype for k, v in feeds.items()})


def test_quantized_layers_take_integers_though_their_layers_refuse_them() -> None:
    assert REGISTRY["Pooling"].refuses == REGISTRY["BatchNorm"].refuses == WHOLE
    assert not REGISTRY["_contrib_quantized_pooling"].refuses and not REGISTRY["_contrib_quantized_batch_norm"].refuses


@pytest.mark.slow
def test_every_forward_operator_holds_the_contract_in_every_dtype() -> None:
    """Each input of each example alone, and all of one dtype together, in each dtype that mutations choose from."""
    found = []
    for group in operators.seeds():
        if group[0].name.startswith(("_onnx_", "_backward_")):
            continue
        for seed in group:
            for dtype in operators.DTYPES:
                first = seed.arrays[0].dtype if seed.arrays else None
                chosen = [{i} for i in range(len(seed.arrays))]
                chosen.append({i for i, a in enumerate(seed.arrays) if a.dtype == first})
                for places in chosen:
                    arrays = tuple(a.astype(dtype) if i in places else a for i, a in enumerate(seed.arrays))
                    case = Trial(seed.name, seed.attrs, arrays, False, f"{places} as {dtype}")
                    finding = verdict(case)[1]
                    found += [f"{finding.kind}: {finding.text}\n{case}"] if finding else []
    assert not found, "\n".join(found)
