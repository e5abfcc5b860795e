"""The compiled convolution against NumPy, in single and in double precision, at every CPU level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hybrid import native
from hybrid.ops.fused import BLOCK, Conv, DepthwisePointwise, pack, unpack

from ..grouped import over
from .single import OUTPUT, Single, using

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the compiled part is not there")


def arrays_for(op: Conv, batch: int, height: int, width: int, seed: int = 0) -> list[np.ndarray]:
    """Operands; lanes beyond the channels are NaN, which must not come near the sums."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((batch, op.channels, height, width)).astype("f")
    depth = op.channels // op.num_group
    w = (rng.standard_normal((op.num_filter, depth, *op.kernel)) / np.sqrt(depth * np.prod(op.kernel))).astype("f")
    arrays = [x, w]
    if op.bias:
        arrays.append(rng.standard_normal(op.num_filter).astype("f"))
    if op.residual:
        shape = (batch, -(-op.num_filter // BLOCK), *op.plain.steps((height, width)), BLOCK)
        arrays.append(rng.standard_normal(shape).astype("f"))
    if op.blocked:
        arrays[0] = pack(x)
        if op.channels % BLOCK:
            arrays[0][:, -1, ..., op.channels % BLOCK :] = np.nan
    return arrays


def check(
    op: Conv, arrays: list[np.ndarray], bound: float = 16, kind: type[Single] = Single, how: str = "", **options: Any
) -> list[Single]:
    """Error in epsilons of the output's scale against float64, as far as there are channels; on one thread and on two. how: a
    word of the algorithm's name. Gives both."""
    doubles = [np.nan_to_num(a.astype("d")) for a in arrays]
    want = unpack(op.compute(*doubles), op.num_filter)
    specs, found = None, []
    for count in (1, 2):
        with using(count):
            single = kind(op, arrays, threads=count, specs=specs, **options)
            specs = single.specs
            assert single.there, "no kernel"
            assert how in single.program.describe()[0]["how"], count
            (got,) = single.run(arrays)
        found.append(single)
        if want.size:
            scale = max(np.abs(want).max(), 1e-30)
            assert np.abs(unpack(got, op.num_filter) - want).max() <= bound * np.finfo("f").eps * scale, count
    return found


def conv(channels: int, filters: int, kernel: tuple[int, int], **attrs: Any) -> Conv:
    return Conv.bind(channels=channels, num_filter=filters, kernel=kernel, **attrs)


DIRECT = {
    "1x1": (conv(32, 32, (1, 1)), 1, 5, 9),
    "1x1 odd": (conv(24, 40, (1, 1), bias=True, low=0), 2, 7, 7),
    "1x1 few": (conv(3, 5, (1, 1), bias=True, low=0, high=1), 1, 3, 3),
    "1x1 stride": (conv(64, 48, (1, 1), stride=(2, 2), bias=True), 1, 15, 14),
    "1x1 pad": (conv(16, 16, (1, 1), pad=(1, 2)), 1, 4, 4),
    "1x1 residual": (conv(64, 64, (1, 1), bias=True, residual=True, low=0), 2, 14, 14),
    "1x1 point": (conv(100, 70, (1, 1), bias=True), 3, 1, 1),
    "3x3": (conv(32, 64, (3, 3), pad=(1, 1), bias=True, residual=True, low=0), 1, 14, 14),
    "3x3 in rounds": (conv(32, 16, (3, 3), pad=(1, 1)), 3, 56, 56),  # two copies with pads stay in cache, then one
    "3x3 odd": (conv(17, 33, (3, 3), pad=(1, 1), slope=0.1), 2, 5, 31),
    "3x3 sevens": (conv(32, 48, (3, 3), pad=(1, 1), bias=True, residual=True), 2, 7, 7),
    "3x3 stride": (conv(32, 32, (3, 3), pad=(1, 1), stride=(2, 2)), 1, 14, 14),
    "3x3 stride 3": (conv(32, 32, (3, 3), pad=(1, 1), stride=(3, 3)), 1, 16, 35),
    "3x3 dilate": (conv(32, 32, (3, 3), pad=(2, 2), dilate=(2, 2)), 1, 9, 10),
    "3x3 no pad": (conv(48, 16, (3, 3)), 1, 8, 30),
    "3x3 wide pad": (conv(16, 32, (3, 3), pad=(3, 2)), 1, 3, 3),
    "5x5": (conv(20, 32, (5, 5), pad=(2, 2), bias=True), 1, 9, 17),
    "1x7": (conv(32, 32, (1, 7), pad=(0, 3)), 1, 17, 17),
    "7x1": (conv(32, 32, (7, 1), pad=(3, 0), low=0), 1, 17, 17),
    "2x3 mixed": (conv(32, 32, (2, 3), pad=(1, 0), stride=(1, 2), dilate=(3, 1)), 2, 11, 13),
    "whole plane": (conv(16, 64, (6, 6), bias=True), 2, 6, 6),
    "groups": (conv(64, 96, (3, 3), pad=(1, 1), num_group=2, bias=True, low=0), 1, 10, 10),
    "groups 1x1": (conv(64, 64, (1, 1), num_group=4, bias=True), 2, 6, 6),
    "no images": (conv(32, 32, (3, 3), pad=(1, 1)), 0, 6, 6),
    "stem": (conv(3, 32, (3, 3), pad=(1, 1), stride=(2, 2), blocked=False, bias=True, low=0), 1, 32, 32),
    "stem 7x7": (conv(3, 64, (7, 7), pad=(3, 3), stride=(2, 2), blocked=False, bias=True, low=0), 2, 33, 47),
    "stem 11x11": (conv(3, 64, (11, 11), pad=(2, 2), stride=(4, 4), blocked=False, bias=True), 1, 43, 67),
    "stem grey": (conv(1, 20, (5, 5), blocked=False), 2, 28, 28),
    "stem dilate": (conv(3, 20, (3, 3), dilate=(2, 3), stride=(1, 1), pad=(2, 3), blocked=False), 1, 9, 11),
    "stem many": (conv(21, 20, (3, 3), pad=(1, 1), residual=True, blocked=False), 1, 9, 11),
    "stem 1x1": (conv(4, 20, (1, 1), blocked=False), 1, 6, 6),
    "deep": (conv(90, 33, (3, 3), pad=(1, 1), stride=(2, 2), bias=True, residual=True, slope=0.1), 2, 13, 15),
    "deep 1x1": (conv(520, 20, (1, 1), bias=True, low=0), 1, 7, 7),
    "deep groups": (conv(128, 32, (3, 3), pad=(1, 1), num_group=2, residual=True, low=0, high=1), 1, 9, 8),
    "deep stem": (conv(3, 20, (16, 16), stride=(8, 8), bias=True, low=0, blocked=False), 1, 64, 64),
}

LANEWISE = {
    "depthwise": (conv(32, 32, (3, 3), pad=(1, 1), num_group=32, bias=True, low=0, high=6), 1, 14, 14),
    "depthwise residual": (conv(20, 20, (3, 3), pad=(1, 1), num_group=20, bias=True, residual=True), 2, 9, 17),
    "depthwise stride": (conv(32, 32, (3, 3), pad=(1, 1), stride=(2, 2), num_group=32, slope=0.2), 1, 15, 13),
    "depthwise 5x5": (conv(33, 33, (5, 5), pad=(2, 2), num_group=33, bias=True), 1, 12, 12),
    "depthwise 5x5 stride": (conv(16, 16, (5, 5), pad=(2, 2), stride=(2, 2), num_group=16), 2, 11, 29),
    "depthwise 7x3": (conv(16, 16, (7, 3), pad=(3, 1), num_group=16), 1, 9, 9),
    "depthwise 4x4": (conv(16, 16, (4, 4), pad=(2, 1), stride=(3, 3), num_group=16), 1, 17, 19),
    "depthwise dilate": (conv(16, 16, (3, 3), pad=(2, 3), dilate=(2, 3), num_group=16), 1, 9, 9),
    "depthwise 1x1": (conv(40, 40, (1, 1), num_group=40, bias=True), 2, 5, 5),
    "multiplier": (conv(24, 48, (3, 3), pad=(1, 1), num_group=24, bias=True), 2, 9, 9),
    "multiplier 3": (conv(5, 15, (3, 3), pad=(1, 1), num_group=5), 1, 9, 9),
    "fours": (conv(32, 32, (3, 3), pad=(1, 1), num_group=8, bias=True, residual=True, low=0), 1, 14, 14),
    "eights": (conv(32, 64, (3, 3), pad=(1, 1), stride=(2, 2), num_group=4), 1, 14, 14),
    "threes": (conv(12, 20, (3, 3), pad=(1, 1), num_group=4, bias=True), 2, 6, 30),
    "twenties": (conv(60, 120, (1, 1), num_group=3), 1, 6, 6),
    "no images": (conv(32, 32, (3, 3), pad=(1, 1), num_group=32), 0, 6, 6),
    "large": (conv(32, 32, (3, 3), pad=(1, 1), num_group=32), 2, 112, 112),
    "large groups": (conv(64, 64, (3, 3), pad=(1, 1), num_group=16), 1, 56, 56),
}


@over("halo", [(0, 0), (1, 1), (3, 3)])
@pytest.mark.parametrize("case", DIRECT)
def test_direct(level, case, halo):
    op, *sizes = DIRECT[case]
    arrays = arrays_for(op, *sizes)
    check(op, arrays, constants=range(1, 2 + op.bias), halo=halo, precise=True)


@pytest.mark.parametrize("case", [c for c in DIRECT if c.startswith("deep")])
def test_slices_of_the_sums(level, case):
    op, *sizes = DIRECT[case]
    check(
        op,
        arrays_for(op, *sizes),
        how="" if level == "v4" else " slices",
        constants=range(1, 2 + op.bias),
        precise=True,
    )


@over("halo", [(0, 0), (3, 3)])
@pytest.mark.parametrize("case", LANEWISE)
def test_lanewise(level, case, halo):
    op, *sizes = LANEWISE[case]
    arrays = arrays_for(op, *sizes)
    check(op, arrays, 6, constants=range(1, 2 + op.bias), halo=halo)


@pytest.mark.parametrize("case", ["1x1 odd", "3x3", "groups", "stem", "depthwise", "threes"])
def test_weights_that_change(level, case):
    op, *sizes = (DIRECT | LANEWISE)[case]
    arrays = arrays_for(op, *sizes)
    singles = check(op, arrays)
    arrays[1] = arrays[1] * np.float32(2)
    want = unpack(op.compute(*arrays), op.num_filter)
    for single in singles:
        (got,) = single.run(arrays)
        np.testing.assert_allclose(unpack(got, op.num_filter), want, rtol=0, atol=2e-4)


WINOGRAD = {
    "even": (conv(32, 32, (3, 3), pad=(1, 1), bias=True, low=0), 1, 56, 56),
    "odd": (conv(40, 72, (3, 3), pad=(1, 1), bias=True, residual=True, slope=0.1), 1, 29, 31),
    "few": (conv(17, 33, (3, 3), pad=(1, 1), low=0, high=2), 2, 27, 45),
    "no pad": (conv(48, 48, (3, 3), bias=True), 1, 30, 30),
    "wide pad": (conv(32, 32, (3, 3), pad=(2, 3)), 1, 22, 23),
    "deep": (conv(256, 256, (3, 3), pad=(1, 1), bias=True, residual=True, low=0), 1, 14, 14),
    "batch": (conv(128, 64, (3, 3), pad=(1, 1), residual=True), 5, 14, 14),
    "high pad": (conv(256, 256, (3, 3), pad=(2, 0)), 1, 13, 15),
    "broad pad": (conv(256, 256, (3, 3), pad=(0, 2), bias=True), 1, 15, 13),
}


@over("halo", [(0, 0), (1, 1), (3, 3)])
@pytest.mark.parametrize("case", WINOGRAD)
def test_winograd(level, case, halo):
    op, *sizes = WINOGRAD[case]
    arrays = arrays_for(op, *sizes)
    check(op, arrays, 30, how="winograd", constants=range(1, 2 + op.bias), halo=halo)


def separable(channels: int, filters: int, kernel: tuple[int, int], **attrs: Any) -> DepthwisePointwise:
    return DepthwisePointwise.bind(channels=channels, num_filter=filters, kernel=kernel, bias=True, **attrs)


THREE = {"kernel": (3, 3), "pad": (1, 1)}
SEPARABLE = {
    "even": (separable(32, 48, **THREE, first_low=0, low=0), 1, 14, 14),
    "odd": (separable(20, 37, **THREE, first_low=0, first_high=1, residual=True, slope=0.1), 2, 9, 13),
    "stride": (separable(48, 64, **THREE, stride=(2, 2), first_slope=0.2, low=0, high=1), 1, 29, 15),
    "wide": (separable(24, 40, kernel=(5, 3), pad=(4, 3), dilate=(2, 3)), 2, 11, 10),
    "scaled": (separable(40, 33, (1, 1), first_low=0), 2, 12, 7),
    "large": (separable(64, 96, **THREE, first_low=0), 1, 57, 56),
    "large scaled": (separable(200, 32, (1, 1), first_low=0, residual=True), 1, 30, 56),
    "seven": (separable(64, 64, **THREE), 1, 7, 7),
    "point": (separable(100, 32, (1, 1)), 3, 1, 1),
    "no images": (separable(32, 32, **THREE), 0, 6, 6),
}


def separable_arrays(op: DepthwisePointwise, batch: int, height: int, width: int) -> list[np.ndarray]:
    first, second = op.pair
    x, v, c = arrays_for(first, batch, height, width)
    _, w, *rest = arrays_for(second, batch, *first.infer_shape(x.shape, v.shape, c.shape)[2:4], seed=1)
    return [x, v, c, w, *rest]


@over("halo", [(0, 0), (1, 1), (4, 4)])
@pytest.mark.parametrize("case", SEPARABLE)
def test_separable(level, case, halo):
    op, *sizes = SEPARABLE[case]
    check(op, separable_arrays(op, *sizes), constants=range(1, 5), halo=halo)


def test_separable_in_parts(level):
    """The first convolution runs in parts where those of equal height fit the threads, and only there."""
    for case, threads, how in (
        *(("large", 2, "29 rows"), ("large", 1, "29 rows"), ("large scaled", 2, "8 rows")),
        *(("seven", 1, "7 rows"), ("seven", 2, "one after the other")),
    ):
        op, *sizes = SEPARABLE[case]
        single = Single(op, separable_arrays(op, *sizes), constants=range(1, 5), threads=threads)
        assert single.program.describe()[0]["how"].startswith(how), (case, threads)


@pytest.mark.parametrize("case", ["odd", "scaled"])
def test_separable_weights_that_change(level, case):
    op, *sizes = SEPARABLE[case]
    arrays = separable_arrays(op, *sizes)
    singles = check(op, arrays)
    for i in (1, 2, 3, 4):
        arrays[i] = arrays[i] * np.float32(1.5)
        want = unpack(op.compute(*arrays), op.num_filter)
        for single in singles:
            (got,) = single.run(arrays)
            np.testing.assert_allclose(unpack(got, op.num_filter), want, rtol=0, atol=1e-4)


@pytest.mark.parametrize("case", ["odd", "large scaled"])
def test_separable_among_others(level, case):
    op, *sizes = SEPARABLE[case]
    check(op, separable_arrays(op, *sizes), kind=Part, constants=range(1, 5))


class Part(Single):
    """Operands whose images are parts of larger ones: what a concatenation is made of. The rest of it is NaN."""

    extra = 2

    def _tensor(self, dtype, shape, kind, counts):
        found = super()._tensor(dtype, shape, kind, counts)
        if not found[2]:
            return found
        return (*found[:5], found[5] // shape[1] * (shape[1] + self.extra), *found[6:])

    def _padded(self, array, kind, number):
        padded = super()._padded(array, kind, number)
        if padded.ndim != 5:
            return padded
        rest = np.full((len(padded), self.extra, *padded.shape[2:]), np.nan, padded.dtype)
        return np.concatenate([padded, rest], axis=1)

    def look_beside(self, output, fill):
        assert np.all(output[:, -self.extra :].view(np.uint8) == fill)

    def _inside(self, array, kind, number):
        return super()._inside(array[:, : -self.extra] if array.ndim == 5 else array, kind, number)


class Uneven(Part):
    """Each operand among others of its own, with a halo of its own."""

    def around(self, kind, number):
        return (2 * number + (kind == OUTPUT), number + 2 * (kind == OUTPUT))


SMALL = {n: c for n, c in (DIRECT | LANEWISE | WINOGRAD | SEPARABLE).items() if 0 < c[1] * c[2] * c[3] <= 400}


@over("halo", [(0, 0), (1, 1)])
@over("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("case", SMALL)
def test_not_finite(level, case, value, halo):
    """By every algorithm NaN and infinities go where NumPy has them, and nowhere else."""
    op, batch, height, width = SMALL[case]
    arrays = (separable_arrays if isinstance(op, DepthwisePointwise) else arrays_for)(op, batch, height, width)
    x = arrays[0] if not op.blocked else unpack(arrays[0], op.channels)
    rng = np.random.default_rng(7)
    for n, c, h, w in rng.integers(0, (batch, op.channels, height, width), (2, 4)):
        x[n, c, h, w] = value
    if op.blocked:
        lanes = pack(x)
        if op.channels % BLOCK:
            lanes[:, -1, ..., op.channels % BLOCK :] = 0
        arrays[0] = lanes
    (got,) = Single(op, arrays, constants=range(1, len(arrays) - op.residual), halo=halo).run(arrays)
    with np.errstate(all="ignore"):
        got, want = (unpack(a, op.num_filter) for a in (got, op.compute(*arrays)))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(got[np.isinf(want)], want[np.isinf(want)])
    finite = np.isfinite(want)
    assert np.isfinite(got[finite]).all()
    np.testing.assert_allclose(got[finite], want[finite], rtol=0, atol=1e-4)


AMONG = {
    "direct": (conv(32, 40, (3, 3), pad=(1, 1), bias=True, residual=True), 2, 7, 9),
    "direct 1x1": (conv(32, 40, (1, 1), bias=True, residual=True), 2, 7, 9),
    "direct in slices": DIRECT["deep"],
    "lanewise": (conv(40, 40, (3, 3), pad=(1, 1), num_group=40, residual=True), 2, 9, 9),
    "groups": (conv(32, 40, (3, 3), pad=(1, 1), num_group=8, bias=True, residual=True), 2, 9, 9),
    "winograd": WINOGRAD["batch"],
    "winograd odd": WINOGRAD["odd"],
}


@pytest.mark.parametrize("case", [*AMONG, "odd separable"])
def test_operands_that_lie_apart(level, case):
    """The residual's rows are of another length than the output's, and those than the image's."""
    op, *sizes = SEPARABLE["odd"] if case == "odd separable" else AMONG[case]
    separated = isinstance(op, DepthwisePointwise)
    arrays = separable_arrays(op, *sizes) if separated else arrays_for(op, *sizes)
    check(op, arrays, 30, kind=Uneven, constants=range(1, 5 if separated else 2 + op.bias))


@over("halo", [(0, 0), (1, 1)])
@pytest.mark.parametrize("case", AMONG)
def test_parts_of_a_concatenation(level, case, halo):
    op, *sizes = AMONG[case]
    check(op, arrays_for(op, *sizes), 30, kind=Part, constants=range(1, 2 + op.bias), halo=halo)


@pytest.mark.parametrize("case", AMONG)
def test_result_in_place_of_residual(level, threads, case):
    """The same numbers when the output lies where the residual was, and in every run."""
    op, *sizes = AMONG[case]
    arrays = arrays_for(op, *sizes)
    arrays[0][0, 0, 4, 4, 4] = np.inf  # a tile that Winograd has to compute again
    single = Single(op, arrays, constants=range(1, 2 + op.bias), threads=threads)
    (want,) = single.run(arrays)
    residual = arrays[-1].copy()
    single.program.run([arrays[0], residual], [residual], None)
    np.testing.assert_array_equal(*(unpack(a, op.num_filter) for a in (residual, want)))
