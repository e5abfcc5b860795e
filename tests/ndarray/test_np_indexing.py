"""Parts of arrays of mx.np held to NumPy's, over random keys: what is read, written and goes back; views and their history."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import hybrid as mx

KINDS = ("int", "slice", "none", "ellipsis", "list", "array", "int32", "int64", "float32", "uint8", "int8", "mask")
SHAPES = ((3,), (2, 3), (2, 3, 4), (2, 3, 2, 3), (3, 0, 2), (1, 4))


@pytest.fixture(autouse=True)
def numpy_mode() -> Iterator[None]:
    mx.util.set_np()
    yield
    mx.util.reset_np()


def _part(rng: random.Random, kind: str, size: int, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """A part of a key for an axis of the size, ours and NumPy's."""
    if kind == "int" and size:
        number = rng.randint(-size, size - 1)
        return number, number
    if kind == "slice" or not size:
        start, stop = (rng.choice([None, *range(-size - 1, size + 2)]) for _ in "ab")
        part = slice(start, stop, rng.choice([None, 1, 2, -1, -2]))
        return part, part
    if kind == "mask":
        chosen = np.zeros(size, bool)
        chosen[rng.sample(range(size), min(size, shape[-1]))] = True
        return mx.np.array(chosen, dtype="bool"), chosen
    low = 0 if kind[0] == "u" else -size
    values = np.array([rng.randint(low, size - 1) for _ in range(int(np.prod(shape)))]).reshape(shape)
    if kind in ("list", "array"):
        return values.tolist() if kind == "list" else values, values
    return mx.np.array(values, dtype=kind), values


def _key(rng: random.Random, shape: tuple[int, ...]) -> tuple[Any, Any] | None:
    """A key, ours and NumPy's; None where MXNet reads it in another way: new axes among index arrays, an Ellipsis of no axes."""
    kinds = [rng.choice(KINDS) for _ in range(rng.randint(1, len(shape) + 1))]
    spoken = sum(k not in ("none", "ellipsis") for k in kinds)
    if spoken > len(shape) or kinds.count("ellipsis") > 1:
        return None
    advanced = any(k in KINDS[4:] for k in kinds)
    if advanced and ("none" in kinds or ("ellipsis" in kinds and spoken == len(shape))):
        return None
    of_arrays = (2,) if "mask" in kinds else rng.choice([(2,), (3,), (1,), (2, 2), (1, 2)])
    ours, theirs, axis = [], [], 0
    for i, kind in enumerate(kinds):
        if kind in ("none", "ellipsis"):
            ours.append(None if kind == "none" else ...)
            theirs.append(ours[-1])
            axis = len(shape) - sum(k not in ("none", "ellipsis") for k in kinds[i:]) if kind == "ellipsis" else axis
            continue
        mine, other = _part(rng, kind, shape[axis], of_arrays)
        ours.append(mine)
        theirs.append(other)
        axis += 1
    return (ours[0], theirs[0]) if len(ours) == 1 else (tuple(ours), tuple(theirs))


def _cases(seed: int, count: int) -> Iterator[tuple[tuple[int, ...], Any, Any]]:
    rng = random.Random(seed)
    while count:
        shape = rng.choice(SHAPES)
        found = _key(rng, shape)
        if found is None:
            continue
        try:
            np.zeros(shape)[found[1]]
        except IndexError:  # masks and arrays that do not broadcast
            continue
        count -= 1
        yield shape, *found


def test_parts_are_numpys_and_gradients_go_where_they_came_from() -> None:
    for i, (shape, key, other) in enumerate(_cases(1, 500)):
        values = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
        x = mx.np.array(values)
        want = values[other]
        assert x[key].shape == want.shape and np.array_equal(x[key].asnumpy(), want), (shape, other)
        if i % 5:
            continue
        x.attach_grad()
        weights = np.asarray(np.random.default_rng(0).uniform(size=want.shape), np.float32)
        with mx.autograd.record():
            y = x[key]
            total = (y * mx.np.array(weights)).sum()
        assert np.array_equal(y.asnumpy(), want), (shape, other)
        total.backward()
        gradient = np.zeros(shape, np.float32)
        np.add.at(gradient, other, weights)
        assert np.allclose(x.grad.asnumpy(), gradient, atol=1e-5), (shape, other)


def test_what_is_written_is_where_numpy_puts_it() -> None:
    for i, (shape, key, other) in enumerate(_cases(2, 500)):
        values = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
        x, want = mx.np.array(values), values.copy()
        new = -1 - np.arange(want[other].size, dtype=np.float32).reshape(want[other].shape)
        given = (-1.0, mx.np.array(new), new, new.tolist(), mx.np.array(new[None], dtype="int32"))[i % 5]
        want[other] = -1.0 if i % 5 == 0 else new
        x[key] = given
        assert np.array_equal(x.asnumpy(), want), (shape, other, i % 5)


def test_a_view_shares_memory_while_recording_too() -> None:
    x = mx.np.array([[1.0, 2, 3], [4, 5, 6]])
    x.attach_grad()
    with mx.autograd.record():
        row, column = x[1], x[:, 1]
        y = (row * row).sum() + column.sum()
    y.backward()
    assert x.grad.tolist() == [[0, 1, 0], [8, 11, 12]]
    row[:] = 0
    column[:] = 9
    assert x.tolist() == [[1, 2, 3], [0, 0, 0]]


def test_masks_of_several_axes_let_gradients_through() -> None:
    x = mx.np.array(np.arange(12, dtype=np.float32).reshape(2, 3, 2))
    mask = mx.np.array([[True, False, True], [False, True, False]], dtype="bool")
    x.attach_grad()
    with mx.autograd.record():
        y = x[mask]
        total = (y**2).sum()
    total.backward()
    assert y.shape == (3, 2)
    want = np.where(mask.asnumpy()[:, :, None], 2 * x.asnumpy(), 0)
    assert np.array_equal(x.grad.asnumpy(), want)


def test_writing_of_an_order_that_threads_keep() -> None:
    """Parts of an array that is still being computed are read, and written, after it is."""
    x = mx.np.ones((700, 700))
    y = mx.np.dot(x, x)
    part = y[3:5]
    part[:] = 1
    y[0, [1, 2]] = mx.np.dot(x, x)[0, :2] + 1
    assert y[3].asnumpy().max() == 1 and y[0, 1].item() == 701 and y[6, 6].item() == 700


@pytest.mark.parametrize("key", [[0, 2], (0, [5]), (slice(None), np.array([-4]))])
def test_places_beyond_the_end_are_refused(key: Any) -> None:
    x = mx.np.ones((2, 3))
    x.attach_grad()
    for change in (lambda: x[key], lambda: x.__setitem__(key, 1)):
        with pytest.raises(IndexError):
            change()
    with mx.autograd.record(), pytest.raises(IndexError):
        x[key]


def test_a_mask_by_itself_is_a_mask_to_write_to() -> None:
    """MXNet writes to the rows 1 and 0 for lists and NumPy's arrays of bools, and reads those that are True."""
    for mask in ([True, False], np.array([True, False])):
        x = mx.np.zeros((2, 2))
        x[mask] = 1
        assert x.tolist() == [[1, 1], [0, 0]] and x[mask].tolist() == [[1, 1]]


def test_parts_of_no_size() -> None:
    x = mx.np.ones((2, 3))
    x.attach_grad()
    with mx.autograd.record():
        y = x[2:].sum() + x[[]].sum() + x[x > 9].sum()
    y.backward()
    assert x.grad.tolist() == [[0] * 3] * 2
    x[2:] = mx.np.ones((0, 3))
    x[[]] = 5
    assert x.tolist() == [[1] * 3] * 2
