"""Operators of no family: what the recorded cases do not show."""

import zlib

import numpy as np
import pytest

from hybrid.core.error import MXNetError, OpError
from hybrid.core.op import lookup
from hybrid.core.shapes import UNKNOWN
from hybrid.ops.deformable_roi import RROIAlign


def op(name, **attrs):
    return lookup(name).bind(**attrs)


@pytest.mark.parametrize("shape", [(3, 8), (2, 2, 3, 7)])
def test_transforms_are_numpys(shape):
    data = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    found, want = op("_contrib_fft").compute(data), np.fft.fft(data)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[..., ::2], want.real, atol=1e-5)
    np.testing.assert_allclose(found[..., 1::2], want.imag, atol=1e-5)
    # not divided by the length: there and back is the length times the data
    np.testing.assert_allclose(op("_contrib_ifft").compute(found), data * shape[-1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "shape"), [("_contrib_fft", (8,)), ("_contrib_fft", (2, 3, 4)), ("_contrib_ifft", (2, 5))]
)
def test_transforms_want_matrices_or_images_and_pairs(name, shape):
    with pytest.raises(OpError, match="wanted"):
        op(name).infer_shape(shape)


def test_count_sketches_add_up_by_place_and_sign():
    rng = np.random.default_rng(0)
    data, places = rng.normal(size=(3, 9)).astype(np.float32), rng.integers(0, 4, (1, 9)).astype(np.float32)
    signs = rng.choice([-1, 1], (1, 9)).astype(np.float32)
    want = np.zeros((3, 4))
    for row, i in np.ndindex(3, 9):
        want[row, int(places[0, i])] += signs[0, i] * data[row, i]
    np.testing.assert_allclose(op("_contrib_count_sketch", out_dim=4).compute(data, places, signs), want, atol=1e-5)
    with pytest.raises(OpError, match="wanted 0 to 2"):
        op("_contrib_count_sketch", out_dim=3).compute(data, places, signs)


def likelihood(lda, alpha, beta, state, lags, marks, valid_length, max_time):
    """By the definition: the sum of the logarithms of intensities at the points, less their integral."""
    total = 0.0
    times = np.cumsum(lags)[: int(valid_length)]
    for k in range(len(lda)):
        own = [t for t, m in zip(times, marks) if m == k]
        for i, t in enumerate(own):
            past = state[k] * np.exp(-beta[k] * t) + sum(np.exp(-beta[k] * (t - s)) for s in own[:i])
            total += np.log(lda[k] + alpha[k] * beta[k] * past)
        expected = lda[k] * max_time + alpha[k] * state[k] * (1 - np.exp(-beta[k] * max_time))
        total -= expected + alpha[k] * sum(1 - np.exp(-beta[k] * (max_time - s)) for s in own)
    return total


def history(rng):
    lags = rng.uniform(0, 2, (3, 6))
    lengths = np.array([6.0, 2.0, 0.0])
    return [
        *(rng.uniform(0.5, 1.5, (3, 2)), rng.uniform(0.1, 0.7, 2), rng.uniform(0.5, 2, 2), rng.uniform(0, 1, (3, 2))),
        *(lags, rng.integers(0, 2, (3, 6)).astype(np.int32), lengths, lags.sum(1) + 1),
    ]


def test_likelihood_of_hawkes_processes_is_what_the_definition_says():
    arrays = history(np.random.default_rng(0))
    found, state = op("_contrib_hawkesll").compute(*arrays)
    lda, alpha, beta, before, lags, marks, lengths, times = arrays
    for i in range(3):
        want = likelihood(lda[i], alpha, beta, before[i], lags[i], marks[i], lengths[i], times[i])
        np.testing.assert_allclose(found[i], want, rtol=1e-12)
    np.testing.assert_allclose(state[2], before[2] * np.exp(-beta * times[2]), rtol=1e-12)


def test_gradient_of_the_likelihood_is_its_derivative():
    rng = np.random.default_rng(1)
    arrays, heads = history(rng), rng.normal(size=3)
    found = op("_backward_hawkesll").compute(heads, *arrays)
    for i, gradient in enumerate(found):
        along = rng.normal(size=gradient.shape)
        ends = []
        for sign in (1, -1):
            moved = list(arrays)
            moved[i] = arrays[i] + sign * 1e-6 * along
            ends.append((op("_contrib_hawkesll").compute(*moved)[0] * heads).sum())
        np.testing.assert_allclose((gradient * along).sum(), (ends[0] - ends[1]) / 2e-6, rtol=1e-6)


def test_upright_regions_are_those_of_roi_align():
    data = np.random.default_rng(0).normal(size=(2, 3, 8, 9)).astype(np.float32)
    corners = np.float32([[0, 1, 2, 5, 7], [1, -2, 0, 6, 5.5]])
    turned = [[i, (a + c) / 2, (b + d) / 2, c - a, d - b, 0] for i, a, b, c, d in corners]
    attrs = {"pooled_size": (3, 2), "spatial_scale": 1}
    want = op("_contrib_ROIAlign", **attrs).compute(data, corners)
    np.testing.assert_allclose(op("_contrib_RROIAlign", **attrs).compute(data, np.float32(turned)), want, atol=1e-5)


def test_half_a_turn_turns_the_grid():
    data = np.random.default_rng(0).normal(size=(1, 2, 9, 9)).astype(np.float32)
    align = RROIAlign.bind(pooled_size=(2, 3), spatial_scale=1, sampling_ratio=2)
    a, b = (align.compute(data, np.float32([[0, 4, 4, 3, 2, angle]])) for angle in (30, 210))
    np.testing.assert_allclose(a, b[:, :, ::-1, ::-1], atol=1e-5)


@pytest.mark.parametrize("name", ["_contrib_DeformablePSROIPooling", "_contrib_RROIAlign"])
def test_regions_of_no_image_are_zero(name):
    more = {"output_dim": 1, "group_size": 2, "pooled_size": 2, "no_trans": True}
    regions = op(name, spatial_scale=1, **(more if "PS" in name else {"pooled_size": (2, 2)}))
    data = np.ones((1, 4, 6, 6), np.float32)
    rois = np.float32([[-1, 1, 1, 4, 4, 0], [0, 1, 1, 4, 4, 0]])[:, : 5 if "PS" in name else 6]
    found = regions.compute(data, rois)
    assert not found[0].any()
    assert found[1].any()


def test_channels_that_classes_do_not_divide_are_refused():
    regions = op("_contrib_DeformablePSROIPooling", spatial_scale=1, output_dim=3, group_size=1, pooled_size=1)
    with pytest.raises(OpError, match="trans with 4 channels for output_dim=3"):
        regions.infer_shape((1, 3, 4, 4), (1, 5), (1, 4, 1, 1))


def test_penalty_of_every_rank_is_by_channel():
    rng = np.random.default_rng(0)
    data, dy = rng.uniform(0.1, 0.9, (2, 2, 3, 4)), rng.normal(size=(2, 2, 3, 4))
    back = op("_backward_IdentityAttachKLSparseReg", penalty=0.5, momentum=0.5, sparseness_target=0.2)
    moving = np.array([0.3, 0.6])
    mean = 0.5 * moving + 0.5 * data.mean((0, 2, 3))
    found = back.compute(dy, data, moving)
    np.testing.assert_allclose(moving, mean)
    pull = 0.5 * (0.8 / (1 - mean) - 0.2 / mean)
    np.testing.assert_allclose(found, dy + pull[:, None, None], rtol=1e-6)


def png(pixels):
    """A PNG file of uint8 pixels (H, W, 3)."""

    def chunk(kind, data):
        body = kind + data
        return len(data).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")

    height, width, _ = pixels.shape
    size = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    parts = chunk(b"IHDR", size + b"\x08\x02\0\0\0") + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return np.frombuffer(b"\x89PNG\r\n\x1a\n" + parts, np.uint8)


def test_pictures_are_decoded():
    pixels = np.random.default_rng(0).integers(0, 256, (3, 4, 3)).astype(np.uint8)
    np.testing.assert_array_equal(op("_cvimdecode").compute(png(pixels)), pixels)
    np.testing.assert_array_equal(op("_cvimdecode", to_rgb=False).compute(png(pixels)), pixels[:, :, ::-1])
    assert op("_cvimdecode", flag=0).compute(png(pixels)).shape == (3, 4, 1)
    with pytest.raises(MXNetError, match="_cvimdecode"):
        op("_cvimdecode").compute(png(pixels)[:20])


def test_interp_9_is_decided_by_the_sizes():
    enlarge = op("_cvimresize", w=8, h=8, interp=9)
    assert [enlarge.method(*size) for size in ((4, 4), (10, 10), (4, 10))] == [2, 3, 1]


def test_zeros_say_their_dtype_by_number():
    assert op("_zeros_without_dtype", shape=(2,), dtype=6).infer_type() == np.int64
    with pytest.raises(OpError, match="dtype 99"):
        op("_zeros_without_dtype", shape=(2,), dtype=99)


def test_sums_without_nan_know_infinities_along_every_axis():
    """MXNet's compensated sum is NaN where a number follows an infinity, whichever axes are left."""
    inf, nan = np.inf, np.nan
    data = np.float32([[[1, inf, nan], [inf, 2, 3]], [[inf, nan, nan], [1, 2, 3]]])
    np.testing.assert_array_equal(op("nansum", axis=(2,)).compute(data), [[inf, nan], [inf, 6]])
    np.testing.assert_array_equal(op("nansum", axis=(1,)).compute(data), [[inf, nan, 3], [nan, 2, 3]])


def test_counts_that_are_too_few_to_tell_bins_apart_give_the_first_threshold():
    """Bins of less than one each are empty when they are counted in whole numbers. MXNet 1.9.1 gave these."""
    hist, edges = np.full(41, 0.4, np.float32), np.linspace(-1, 1, 42, dtype=np.float32)
    threshold, divergence = op("_contrib_calibrate_entropy", num_quantized_bins=5).compute(hist, edges)
    np.testing.assert_allclose(threshold, [0.12195122], rtol=1e-6)
    np.testing.assert_array_equal(divergence, [np.finfo(np.float32).max])


def test_thresholds_of_counts_at_the_ends_and_in_the_middle():
    """MXNet 1.9.1 gave these."""
    edges, most = np.linspace(-4, 4, 42, dtype=np.float32), np.finfo(np.float32).max
    for hist, want in (
        ([0] * 20 + [5] + [0] * 20, (0.48780489, 0)), ([7] + [0] * 40, (0.48780489, most)),
        ([7] + [0] * 39 + [3], (4, 6.6032376)), ([0, 0, 3] + [0] * 38, (3.8048780, 0)), ([1] * 41, (4, 0)),
    ):  # fmt: skip
        found = op("_contrib_calibrate_entropy", num_quantized_bins=5).compute(np.array(hist, np.float32), edges)
        np.testing.assert_allclose(np.concatenate(found), want, rtol=1e-6, atol=1e-6)


def test_one_number_has_no_axis_to_squeeze():
    for name in ("squeeze", "_np_squeeze"):
        assert op(name).infer_shape(()) == ()
        assert op(name).compute(np.float32(3).reshape(())).shape == ()
    assert op("squeeze").infer_shape((1, 1)) == (1,) and op("_np_squeeze").infer_shape((1, 1)) == ()


def test_seeds_apart_are_searched_apart():
    """Two sets of seeds of a graph in which all edges are taken: what each of them alone gives, kind after kind."""
    graph = np.zeros((5, 5), np.int64)
    graph[np.arange(5), (np.arange(5) + 1) % 5] = np.arange(1, 6)  # a ring
    likely = np.linspace(0.1, 0.9, 5).astype(np.float32)
    seeds, rng = [np.array([0]), np.array([3, 1])], np.random.default_rng(0)
    for name, before in (("uniform", []), ("non_uniform", [likely])):
        attrs = {"num_hops": 1, "num_neighbor": 2, "max_num_vertices": 4}
        count = len(before) + 1
        two = op(f"_contrib_dgl_csr_neighbor_{name}_sample", num_args=count + 2, **attrs)
        one = op(f"_contrib_dgl_csr_neighbor_{name}_sample", num_args=count + 1, **attrs)
        found = two.compute(graph, *before, *seeds, rng=rng)
        apart = [one.compute(graph, *before, s, rng=rng) for s in seeds]
        for got, want in zip(found, [each[i] for i in range(2 + count) for each in apart], strict=True):
            np.testing.assert_array_equal(got, want)
        shapes = [a.shape for a in (graph, *before, *seeds)]
        assert [f.shape for f in found] == [tuple(s) for s in two.infer_shape(*shapes)]
        dtypes = two.infer_type(*(a.dtype for a in (graph, *before, *seeds)))
        assert [f.dtype for f in found] == list(dtypes)


def test_a_graph_is_made_smaller_by_vertices():
    compact = op("_contrib_dgl_graph_compact", num_args=2, graph_sizes=(0,), return_mapping=False)
    with pytest.raises(OpError, match="got no vertices"):
        compact.compute(np.zeros((2, 2), np.int64), np.zeros(0, np.int64))


def test_the_root_of_a_size_of_nothing_divides_nothing():
    assert op("_contrib_div_sqrt_dim").compute(np.zeros((2, 0), np.int32)).shape == (2, 0)


def test_labels_that_are_not_known_yet_fit():
    assert op("_backward_SVMOutput").infer_shape((2, 3), (UNKNOWN,)) == (2, 3)
    with pytest.raises(OpError, match="one for each row"):
        op("_backward_SVMOutput").infer_shape((), ())


def test_pooling_to_a_size_by_an_attribute_is_said_to_be_another_operator():
    with pytest.raises(OpError, match="AdaptiveAvgPooling2D"):
        op("Pooling", kernel=(2, 2), output_size="(2, 2)")
    assert op("Pooling", kernel=(2, 2), output_size="None") == op("Pooling", kernel=(2, 2))


def test_what_is_no_word_is_no_number():
    data = np.empty(2, object)
    data[:] = ["1", None]
    with pytest.raises(ValueError, match="got the text None"):
        op("_onnx_Cast", to="float32").compute(data)
    assert op("Cast", dtype="object").infer_type(data.dtype) == data.dtype
    with pytest.raises(OpError, match="wanted numbers"):
        op("Cast", dtype="float32").infer_type(data.dtype)


def test_one_number_without_dimensions_stays_so():
    assert tuple(op("squeeze").infer_shape(())) == ()
    assert tuple(op("squeeze").infer_shape((1, 1))) == (1,)
