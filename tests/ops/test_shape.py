"""Shape operators where recorded cases do not reach: what MXNet 1.9.1 answered when asked, and what has to hold anyway."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hybrid.core.error import OpError
from hybrid.core.op import REGISTRY
from hybrid.core.shapes import UNKNOWN, Undecided, merge


def shape_of(operator, *shapes, **attrs):
    return REGISTRY[operator].bind(**attrs).infer_shape(*shapes)


def test_inferred_dims_survive_an_unknown_batch():
    """The batch cancels: an absorbing UNKNOWN would lose these dims."""
    batch = (UNKNOWN, 3, 4)
    assert shape_of("Reshape", batch, shape=(0, -1)) == (UNKNOWN, 12)
    assert shape_of("Reshape", batch, shape=(0, 0, -4, 2, -1)) == (UNKNOWN, 3, 2, 2)
    assert shape_of("Reshape", batch, shape=(-3, -1)) == (UNKNOWN, 4)
    assert shape_of("Reshape", batch, shape=(-1, 4)) == (UNKNOWN, 4)
    assert shape_of("Reshape", (UNKNOWN, UNKNOWN, 8), shape=(0, 0, -4, 2, -1)) == (UNKNOWN, UNKNOWN, 2, 4)
    assert shape_of("Reshape", (UNKNOWN, UNKNOWN, 8), shape=(0, 0, 2, -1)) == (UNKNOWN, UNKNOWN, 2, 4)
    assert shape_of("_npx_reshape", batch, newshape=(-2, -1)) == (UNKNOWN, 12)


@pytest.mark.parametrize(
    ("data", "codes", "wanted"),
    [
        # the inferred dim goes where its code stands, not where its dim does (MXNet 1.9.1)
        ((8, 3, 5), (-4, 8, 1, -1, 1), (8, 1, 1, 15)),
        ((1, 1, 5), (-2, -1), (1, 1, 5, 1)),
        ((4, 1), (-4, 4, 1, -1), (4, 1, 1)),
    ],
)
def test_reshape_infers_where_mxnet_does(data, codes, wanted):
    assert shape_of("Reshape", data, shape=codes) == wanted


@pytest.mark.parametrize(("data", "codes"), [((8, 3), (-2, -1)), ((4, 3, 3), (-4, 2, 2, -1)), ((4, 5), (-4, 4, 1, -1))])
def test_reshape_refuses_what_mxnet_gets_wrong(data, codes):
    with pytest.raises(OpError, match="Reshape: "):
        shape_of("Reshape", data, shape=codes)


@pytest.mark.parametrize(
    ("codes", "reverse", "wanted"),
    [
        ((-2, -2, -3, -2), False, (2, 3, 4)),
        ((-2, -2, -3, -2), True, (2, 3, 4)),
        ((-2, -4), False, (2, 3, 1, 4)),
        ((-2, -4), True, None),
        ((-5, -3, 4), False, (6, 4)),
        ((-5, -5), False, (6, 4)),
        ((-6, 1, 2, -4), False, (1, 2, 3, 1, 4)),
        ((-6, -1, 2, -4), True, None),
        ((-2, -1), False, (2, 12)),
        ((-2, -1), True, (1, 24)),
        ((-4, 4), False, None),
        ((-4, 4), True, (2, 3, 1, 4)),
        ((-4, 2, 2), True, (2, 3, 2, 2)),
        ((-2, -6, -1, 3, -4), False, (2, 1, 3, 1, 4)),
        ((0, -1), False, None),
        ((-6, 2, -1, -2, -2, -2), False, (2, 1, 3, 1, 4)),
        ((-3,), False, None),
        ((2, -4), True, None),
        ((-1, -4), True, (1, 2, 3, 1, 4)),
        ((-5, -1), True, (3, 8)),
    ],
)
def test_npx_reshape_gives_what_mxnet_gave_for_2x3x1x4(codes, reverse, wanted):
    if wanted is None:
        with pytest.raises(OpError):
            shape_of("_npx_reshape", (2, 3, 1, 4), newshape=codes, reverse=reverse)
    else:
        assert shape_of("_npx_reshape", (2, 3, 1, 4), newshape=codes, reverse=reverse) == wanted


def test_zero_sizes_in_npx_reshape():
    assert shape_of("_npx_reshape", (0, 3), newshape=(-1, 3)) == (0, 3)
    assert shape_of("_npx_reshape", (0, 3), newshape=(3, 0)) == (3, 0)
    with pytest.raises(OpError, match="cannot tell -1"):
        shape_of("_npx_reshape", (0, 3), newshape=(0, -1))
    for shape in ((UNKNOWN, 0, 3), (2, 0, UNKNOWN), (UNKNOWN, 0, UNKNOWN)):
        with pytest.raises(OpError, match="cannot tell -1"):
            shape_of("Reshape", shape, shape=(0, 0, -1))


dims = st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4).map(tuple)
codes = st.lists(st.sampled_from([0, -1, -2, -3, 1, 2, 6]), min_size=1, max_size=4).map(tuple)


@given(dims, codes, st.booleans(), st.data())
def test_reshape_is_never_wrong_about_unknown_dims(data, shape, reverse, draw):
    """Whatever is said with some dims unknown is true when they are known, and the numbers keep their order."""
    op = REGISTRY["Reshape"].bind(shape=shape, reverse=reverse)
    try:
        whole = op.infer_shape(data)
    except OpError:
        assume(False)
    array = np.arange(np.prod(data)).reshape(data)
    np.testing.assert_array_equal(op.compute(array).ravel(), array.ravel())
    partial = tuple(UNKNOWN if draw.draw(st.booleans()) else d for d in data)
    try:
        assert merge(op.infer_shape(partial), whole) == whole
    except (Undecided, OpError):
        assert any(d is UNKNOWN for d in partial)


@given(dims, st.data())
def test_slice_infers_what_python_cuts(data, draw):
    bound = st.none() | st.integers(-7, 9)
    count = draw.draw(st.integers(1, len(data)))
    begin, end = (tuple(draw.draw(bound) for _ in range(count)) for _ in range(2))
    step = tuple(draw.draw(st.sampled_from([None, 1, 2, -1, -3])) for _ in range(count))
    op = REGISTRY["slice"].bind(begin=begin, end=end, step=step)
    array = np.zeros(data)
    wanted = array[tuple(map(slice, begin, end, step))].shape
    assert op.infer_shape(data) == op.compute(array).shape == wanted


def test_splits_name_their_outputs_as_mxnet_does():
    assert REGISTRY["SliceChannel"].bind(num_outputs=1).output_names() == ("output0",)
    assert REGISTRY["_split_v2"].bind(indices=(0,)).output_names() == ("output",)
    assert REGISTRY["_split_v2"].bind(indices=(0, 2)).output_names() == ("output0", "output1")
    assert REGISTRY["_npi_concatenate"].bind(num_args=2).output_names() == ("out",)


def test_join_fills_in_what_the_others_tell():
    op = REGISTRY["Concat"].bind(num_args=2, dim=1)
    assert op.infer_input_shapes([(2, 3, 4), None], [None]) == [(2, 3, 4), (2, UNKNOWN, 4)]
    op = REGISTRY["stack"].bind(num_args=2)
    assert op.infer_input_shapes([(2, 3), None], [None]) == [(2, 3), (2, 3)]
