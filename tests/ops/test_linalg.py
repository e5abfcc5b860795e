"""Linear algebra: what the recorded cases do not show."""

import numpy as np
import pytest

from hybrid.core.attrs import dtype as named_dtype
from hybrid.core.error import OpError
from hybrid.core.op import REGISTRY, Spec
from hybrid.core.shapes import UNKNOWN
from hybrid.execution.program import Program
from hybrid.ir.compose import composition
from tests.table.rules import gradient_graph


def einsum(subscripts, count=2):
    return REGISTRY["_npi_einsum"].bind(num_args=count, subscripts=subscripts)


@pytest.mark.parametrize(
    "subscripts, shapes",
    [
        ("ij , jk", [(2, 3), (3, 4)]),
        ("Ba,ab", [(2, 3), (3, 4)]),
        ("...ij,jk", [(5, 6, 2, 3), (3, 4)]),
        ("i...j,j...->...i", [(2, 5, 1, 3), (3, 1, 7)]),
        ("ij,jk->ik", [(2, 1), (3, 4)]),
        ("iij->ij", [(3, 3, 2)]),
        ("i,i,i->", [(3,), (3,), (3,)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 5, 4), (2, 3, 6, 4)]),
        ("bqhd,bkhd->bhqk", [(2, 5, 3, 4), (2, 6, 3, 4)]),
        ("bij,bjk,kl->bil", [(2, 3, 4), (2, 4, 5), (5, 6)]),
        ("ijk,ilm,njm,nlk", [(2, 3, 4), (2, 5, 6), (7, 3, 6), (7, 5, 4)]),
        ("ji,jk->ik", [(4, 3), (4, 5)]),
        ("ij,k->", [(2, 3), (4,)]),
        ("ijiji->j", [(3, 2, 3, 2, 3)]),
        ("ij->", [(2, 3)]),
        ("b,bij->bji", [(2,), (2, 3, 4)]),
    ],
)
def test_einsum_is_numpys(subscripts, shapes):
    """By the rule, and said in products, sums and transposes."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s).astype(np.float32) for s in shapes]
    op, want = einsum(subscripts, len(arrays)), np.einsum(subscripts, *arrays)
    assert op.infer_shape(*shapes) == want.shape
    np.testing.assert_allclose(op.compute(*arrays), want, rtol=1e-5, atol=1e-6)
    body = composition(op, [Spec(a.shape, a.dtype) for a in arrays])
    (found,) = Program(body, native=False).run({f"x{i}": a for i, a in enumerate(arrays)})
    assert found.shape == want.shape and not any(n.op is not None and n.op.name == op.name for n in body.nodes)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


def test_einsum_with_unknown_sizes():
    assert einsum("bij,bjk->bik").infer_shape((UNKNOWN, 2, UNKNOWN), (4, 3, UNKNOWN)) == (4, 2, UNKNOWN)


@pytest.mark.parametrize("subscripts", ["ij->ij", "ij,jk->il", "ij,jk->ii", "i!,jk", "...ij,...jk->ik"])
def test_einsum_refuses_subscripts_that_mean_nothing(subscripts):
    with pytest.raises(OpError, match="subscripts"):
        einsum(subscripts)


def test_einsum_refuses_arrays_that_do_not_fit():
    with pytest.raises(OpError, match="'ij'"):
        einsum("ij,jk").infer_shape((2, 3, 4), (3, 4))
    with pytest.raises(ValueError, match="broadcast"):
        einsum("ij,jk->ik").infer_shape((2, 3), (4, 5))


@pytest.mark.parametrize("name, matrix", [("_linalg_inverse", np.zeros((2, 2))), ("_linalg_potrf", -np.eye(2))])
def test_a_matrix_without_the_decomposition_is_refused(name, matrix):
    with pytest.raises(OpError, match="that has none"):
        REGISTRY[name].bind().compute(matrix)


def test_matrices_are_square():
    with pytest.raises(OpError, match="square"):
        REGISTRY["_linalg_det"].bind().infer_shape((2, 3, 4))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_products_with_triangles_are_rounded_once(dtype):
    """Results that alpha makes small enough were too large for float16 before."""
    a, b = (np.array([[v]]).astype(named_dtype(dtype)) for v in (1024, 4096))
    found = REGISTRY["_linalg_trmm"].bind(alpha=0.0009765625).compute(a, b)
    assert found.dtype == a.dtype
    assert float(found[0, 0]) == 4096


def test_gradients_of_pseudo_inverses_where_singular_values_are_cut():
    """Against differences, for every number of singular values that stay, and matrices of either form."""
    rng = np.random.default_rng(5)
    wrong = []
    for shape in ((4, 3), (3, 4), (4, 4), (2, 5, 3), (2, 3, 5)):
        a = rng.normal(size=shape)
        along, dy = rng.normal(size=shape), rng.normal(size=(*shape[:-2], shape[-1], shape[-2]))
        for rcond in (1e-15, 0.3, 0.6, 0.99):
            op = REGISTRY["_npi_pinv_scalar_rcond"].bind(rcond=rcond)
            got = REGISTRY["_backward__npi_pinv"].bind().compute(dy, a, op.compute(a))
            step = 1e-6 * along
            change = ((op.compute(a + step) - op.compute(a - step)) / 2e-6 * dy).sum()
            if not np.isclose((got * along).sum(), change, rtol=1e-6):
                wrong.append(f"{shape}, rcond={rcond}: {(got * along).sum()} instead of {change}")
    assert not wrong, "\n".join(wrong)


def test_whole_numbers_have_gradients_too():
    """Those of the same numbers as float64, cut off: as they are computed."""
    a, b = np.array([[40, 1], [1, 30]], np.int32), np.array([[4000], [900]], np.int32)
    wrong = []
    for name, attrs, arrays in (
        ("_npi_solve", {}, [a, b]),
        ("_npi_tensorsolve", {}, [a, b[:, 0]]),
        ("_npi_tensorinv", {"ind": 1}, [a]),
        ("_npi_eigvalsh", {}, [a]),
        ("_npi_pinv_scalar_rcond", {"rcond": 1e-15}, [a]),
    ):
        op, found = REGISTRY[name].bind(**attrs), []
        for dtype in ("int32", "float64"):
            feeds = {n: x.astype(dtype) for n, x in zip(op.input_names(), arrays)}
            have, graph = gradient_graph(op, op.input_names(), [0])
            head = np.full_like(op.compute(*feeds.values()), 1e4)
            used = {n.name for n in graph.variables()}
            found.append(Program(graph).run({n: v for n, v in {**feeds, "head0": head}.items() if n in used}))
            assert have == list(op.input_names())
        for cut, whole in zip(*found):
            if cut.dtype != np.int32 or not whole.any() or (cut != np.trunc(whole)).any():
                wrong.append(f"{name}: {cut.tolist()} of {whole.tolist()}")
    assert not wrong, "\n".join(wrong)
