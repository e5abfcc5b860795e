"""Examples with options that the operators' own examples leave at their defaults: for the gradients, once and twice."""

from __future__ import annotations

import contextlib
import itertools
import random
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from hybrid.core.attrs import Bool, Choice, Optional
from hybrid.core.error import OpError
from hybrid.core.op import Example, lookup
from tests.table.examples import examples

Given = tuple[int, ...] | np.ndarray


def made(name: str, *inputs: Given, **attrs: Any) -> Example:
    """An example; of a shape are numbers from -1.5 to 1.5, none of them near 0, seeded by the name."""
    cls = lookup(name)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    arrays = [
        a if isinstance(a, np.ndarray) else (rng.uniform(0.2, 1.5, a) * rng.choice([-1, 1], a)).astype(np.float32)
        for a in inputs
    ]
    if cls.inputs[:1] and cls.inputs[0].startswith("*") and cls.count in cls.fields:
        attrs.setdefault(cls.count, len(arrays))
    return Example(cls.bind(**attrs), tuple(arrays))


def whole(*values: Any) -> np.ndarray:
    """Positions."""
    return np.array(values, np.float32)


SQUARE = np.float32(
    [[[2, 0.5, -0.3], [0.7, 1.5, 0.4], [-0.2, 0.6, -1.8]], [[1.2, 0.3, 0.8], [-0.5, 2.2, 0.1], [0.9, -0.4, 1.6]]]
)
TURN = {"kernel": (2, 3), "stride": (2, 1), "dilate": (1, 2), "pad": (1, 2), "num_filter": 4, "num_group": 2}
DEFORM = {"kernel": (2, 3), "stride": (1, 2), "dilate": (2, 1), "pad": (0, 1), "num_filter": 4}


def others() -> Iterator[Example]:
    """The examples."""
    for name in ("mod", "power", "copysign", "arctan2", "ldexp", "subtract"):
        if name != "power":
            for scalar in (-1.7, 1.3):
                for prefix in ("", "r"):
                    yield made(f"_npi_{prefix}{name}_scalar", (3, 4), scalar=scalar, is_int=False)
    for scalar in (0.4, 3, -2):
        yield made("_power_scalar", np.float32([[0.3, 1.2], [2.5, 0.8]]), scalar=scalar)
    yield made("_rpower_scalar", (3, 4), scalar=0.6)
    yield made("_hypot_scalar", (3, 4), scalar=-0.9)
    yield made("_maximum_scalar", (3, 4), scalar=-0.3)
    yield made("_minimum_scalar", (3, 4), scalar=0.6)
    yield made("_rdiv_scalar", (3, 4), scalar=-1.4)
    yield made("_div_scalar", (3, 4), scalar=-1.4)
    for name in ("broadcast_mod", "broadcast_div", "broadcast_hypot", "broadcast_maximum", "_npi_minimum", "_npi_arctan2",
                 "_npi_copysign", "_npi_ldexp", "_npi_true_divide"):  # fmt: skip
        yield made(name, (2, 1, 3), (4, 1))
    for name in ("arcsinh", "cbrt", "rcbrt", "reciprocal", "abs", "square", "erf", "gamma", "degrees", "radians", "log_sigmoid",
                 "mish", "_npi_expm1", "_npi_log1p"):  # fmt: skip
        yield made(name, np.float32([-0.8, -0.35, 0.4, 1.3, 2.6]))
    yield made("LeakyReLU", (3, 4), act_type="leaky", slope=-0.4)
    yield made("LeakyReLU", (3, 4), act_type="elu", slope=1.7)
    yield made("LeakyReLU", (3, 4), (4,), act_type="prelu")
    yield made("LeakyReLU", (4,), (4,), act_type="prelu")
    yield made("LeakyReLU", (2, 3, 2), (1,), act_type="prelu")
    yield made("smooth_l1", (3, 4))
    yield made("smooth_l1", (3, 4), scalar=0.9)
    yield made("hard_sigmoid", (3, 4))
    yield made("_npi_nan_to_num", (3, 4), nan=2.0, posinf=1.0)
    yield made("Convolution", (2, 4, 5, 4), (4, 2, 2, 3), (4,), **TURN)
    yield made("Convolution", (2, 5, 4, 4), (4, 2, 3, 2), (4,), **TURN, layout="NHWC")
    yield made("Convolution", (1, 2, 3, 4, 3), (2, 2, 2, 1, 2), kernel=(2, 1, 2), stride=(1, 2, 1), pad=(0, 0, 1), num_filter=2,
               no_bias=True)  # fmt: skip
    yield made(
        "Deconvolution", (2, 4, 3, 2), (4, 2, 2, 3), (4,), **TURN | {"stride": (3, 2)}, adj=(2, 1), no_bias=False
    )
    yield made("Deconvolution", (2, 4, 3, 2), (4, 2, 2, 3), **TURN | {"stride": (3, 2)}, target_shape=(5, 6))
    yield made("im2col", (2, 2, 4, 5), kernel=(2, 3), stride=(2, 1), dilate=(1, 2), pad=(1, 2))
    yield made("col2im", (2, 6, 2), output_size=(3, 4), kernel=(3, 1), stride=(1, 2), dilate=(1, 3), pad=(0, 0))
    yield made("col2im", (2, 12, 15), output_size=(4, 5), kernel=(2, 3), stride=(2, 1), dilate=(1, 2), pad=(1, 2))
    sampled = np.random.default_rng(5)
    offset, mask = (np.float32(sampled.uniform(0.1, 0.4, (2, n, 3, 3))) for n in (24, 12))
    yield made("_contrib_DeformableConvolution", (2, 4, 5, 6), offset, (4, 2, 2, 3), (4,), **DEFORM, num_group=2,
               num_deformable_group=2)  # fmt: skip
    yield made("_contrib_ModulatedDeformableConvolution", (2, 4, 5, 6), offset[:, :12], mask[:, :6], (4, 4, 2, 3), **DEFORM,
               no_bias=True)  # fmt: skip
    yield made("broadcast_axis", (1, 3, 1), axis=(-1, 0), size=(4, 2))
    yield made("broadcast_like", (2, 1, 1), (4, 3, 5), lhs_axes=(-1, 1), rhs_axes=(0, -1))
    yield made("tile", (2, 3), reps=(3,))
    yield made("repeat", (2, 3, 2), repeats=3, axis=-2)
    yield made("Pad", (1, 2, 2, 3, 4), mode="reflect", pad_width=(0, 0, 0, 0, 1, 0, 2, 1, 0, 3))
    yield made("Pad", (1, 2, 2, 3, 2), mode="edge", pad_width=(0, 0, 0, 0, 0, 2, 1, 0, 3, 1))
    for mode in ("reflect", "edge", "symmetric"):
        yield made("_npi_pad", (3, 2, 4), mode=mode, pad_width=((2, 1), (0, 0), (1, 3)))
    yield made("take", (2, 3, 4), whole([2, -1], [7, 0]), axis=-2)
    yield made("take", (2, 3, 4), whole(2, 0, 2), axis=1, mode="raise")
    yield made("take", (2, 3, 4), whole(-5, 0, 7), axis=2, mode="wrap")
    yield made("Embedding", whole([3, 9], [-2, 3]), (4, 3), input_dim=4, output_dim=3)
    yield made("pick", (2, 3, 4), whole([1, 2, 0, 9], [2, -1, 1, 1]), axis=1)
    yield made("pick", (2, 3, 4), whole([[-1], [5], [4]], [[1], [2], [7]]), axis=-1, keepdims=True, mode="wrap")
    yield made("gather_nd", (3, 4, 2), whole([0, -1, 0], [1, 3, 1]))
    yield made("scatter_nd", (3, 2), whole([2, 0, -1]), shape=(4, 2))
    yield made("_contrib_boolean_mask", (4, 2, 2), whole(0, 2, 0, -1))
    yield made("cumsum", (2, 3, 2), axis=-2)
    yield made("Concat", (2, 1, 3), (2, 4, 3), (2, 2, 3), dim=-2)
    yield made("stack", (2, 3), (2, 3), (2, 3), axis=-2)
    yield made("_npi_concatenate", (2, 3), (4,), (1, 1, 2), axis=None)
    yield made("_npi_vstack", (3,), (2, 3))
    yield made("_npi_hstack", (2, 2, 3), (2, 1, 3), dim=0)
    yield made("_npi_dstack", (3,), (1, 3, 2), dim=0)
    yield made("_npi_column_stack", (3, 2), (3,), (3, 1))
    yield made("SliceChannel", (2, 3, 4), num_outputs=2, axis=-1)
    yield made("_split_v2", (2, 3, 5), indices=(0, 2, 2), axis=-1)
    yield made("_split_v2", (2, 3, 5), indices=(), sections=3, axis=2)
    yield made("_npi_hsplit", (4,), indices=(), sections=3)
    yield made("_npi_hsplit", (2, 5, 2), indices=(0, 1, 3))
    yield made("_npi_dsplit", (2, 1, 4), indices=(), sections=3)
    for text, shapes in (
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]), ("i...,...i->...", [(3, 2, 1), (4, 3)]), ("ij->", [(2, 3)]),
        ("i,...i->...", [(3,), (2, 4, 3)]),
        ("iij,j", [(3, 3, 2), (2,)]), ("ij,ij->ji", [(1, 3), (2, 3)]),
    ):  # fmt: skip
        yield made("_npi_einsum", *shapes, subscripts=text)
    yield made("_npi_tensordot", (2, 3, 4), (4, 5, 2), a_axes_summed=(-1, 0), b_axes_summed=(0, -1))
    yield made("_npi_tensordot_int_axes", (2, 3), (4,), axes=0)
    yield made("_linalg_syrk", (2, 3, 4), alpha=-0.7)
    yield made("_linalg_makediag", (2, 3), offset=-2)
    yield made("_linalg_extractdiag", (2, 4, 4), offset=2)
    yield made("_linalg_extracttrian", (2, 4, 4), offset=-1, lower=False)
    yield made("_linalg_maketrian", (2, 6), offset=2, lower=True)
    for name in ("_linalg_trmm", "_linalg_trsm"):
        for transpose, rightside, lower in itertools.product((False, True), repeat=3):
            attrs = {"transpose": transpose, "rightside": rightside, "lower": lower, "alpha": 1.5}
            yield made(name, SQUARE, (2, 4, 3) if rightside else (2, 3, 4), **attrs)
    for one, two in itertools.product((False, True), repeat=2):
        turned = {"transpose_a": one, "transpose_b": two}
        a, b = (4, 3) if one else (3, 4), (5, 4) if two else (4, 5)
        yield made("dot", (*a, 2) if one else (2, *a), (2, *b) if two else (*b, 2), **turned)
        yield made("batch_dot", (2, 1, *a), (2, 1, *b), **turned)
        yield made("_linalg_gemm", (2, *a), (2, *b), (2, 3, 5), **turned, alpha=-0.6, beta=1.4)
        yield made("_linalg_gemm2", (a[0], 2, a[1]), (b[0], 2, b[1]), **turned, alpha=-0.6, axis=0)
    yield made("_npi_matmul", (4,), (2, 4, 3))
    yield made("_npi_matmul", (2, 3, 4), (4,))
    yield made("_npi_matmul", (4,), (4,))
    yield made("_np_dot", (2, 3), ())
    yield made("_np_dot", (2, 3), (3,))
    yield made("_linalg_det", SQUARE[0])
    yield made("_linalg_inverse", SQUARE)
    yield made("_linalg_sumlogdiag", np.abs(SQUARE))
    yield made("reverse", (2, 3, 4), axis=(-1, 0))
    yield made("_npi_flip", (2, 3), axis=None)
    yield made("diag", (2, 4, 3), k=-1, axis1=-1, axis2=0)
    yield made("_np_diagonal", (2, 4, 3), offset=-2, axis1=-2, axis2=-1)
    yield made("_npi_tril", (2, 3, 4), k=-1)
    yield made("_npi_tril", (4,), k=1)
    yield made("_np_roll", (2, 3, 4), shift=(5,))
    yield made("_np_roll", (2, 3, 4), shift=(1, -2), axis=(-1, 0))
    for k in (2, 3, -1):
        yield made("_npi_rot90", (2, 3, 4), k=k, axes=(-1, 0))
    yield made("_image_normalize", (2, 3, 2, 2), mean=(0.5, 1, 2), std=(0.5, 2, 4))
    yield made("_image_crop", (2, 4, 5, 3), x=1, y=2, width=3, height=1)


def chosen_otherwise() -> Iterator[tuple[str, Example]]:
    """Every attribute that is true or false or one of some words with every other value, each whole number one more, and so
    one of several: for inputs that are as many, of which the operator may still refuse them."""
    seen, rng = set(), random.Random(0)
    for op, arrays in itertools.chain(examples(), others()):
        for name, field in op.fields.items():
            kind, own = field.kind.kind if isinstance(field.kind, Optional) else field.kind, getattr(op, name)
            values: list[Any] = []
            if isinstance(kind, Bool):
                values = [not own]
            elif isinstance(kind, Choice):
                values = [v for v in kind.options if v != own]
            elif type(own) is int:
                values = [own + 1]
            elif isinstance(own, tuple) and own and all(type(v) is int for v in own):
                place = rng.randrange(len(own))
                values = [tuple(v + (i == place) for i, v in enumerate(own))]
            for value in values:
                with contextlib.suppress(OpError, TypeError, ValueError):
                    changed = type(op).bind(**{n: getattr(op, n) for n in op.fields} | {name: value})
                    if (op.name, name, value) not in seen and len(changed.input_names()) == len(arrays):
                        seen.add((op.name, name, value))
                        yield name, Example(changed, arrays)
