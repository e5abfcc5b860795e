"""Weights that kernels have packed, given to a program of the same steps as they lie elsewhere."""

from typing import Any

import numpy as np
import pytest

from hybrid import native
from hybrid.core.error import NativeArgumentError

pytestmark = pytest.mark.skipif(native.level() is None, reason="there is no compiled part")

ROOM = 16
"""Floats behind packed weights."""
X = np.random.default_rng(0).standard_normal((3, 20)).astype(np.float32)
W = np.random.default_rng(1).standard_normal((37, 20)).astype(np.float32)
B = np.random.default_rng(2).standard_normal(37).astype(np.float32)


def program() -> Any:
    """A product with constant weights and bias."""
    tensors = [("float32", a, False, 0, 0, 0, *p) for a, p in (((3, 20), (1, 0)), ((37, 20), (3, 0)), ((37,), (3, 1)))]
    tensors.append(("float32", (3, 37), False, 0, 0, 0, 2, 0))
    attrs = {"num_hidden": 37, "no_bias": False, "flatten": True}
    return native.program(tensors, [("FullyConnected", attrs, [0, 1, 2], [3], False)], 0, 1, 1, 2, 1, True)


def result(made: Any, number: int) -> np.ndarray:
    out = np.full((3, 37), np.nan, np.float32)
    assert made.run([X], [out], None, number)
    return out


def packed() -> tuple[list[tuple[str, np.ndarray]], np.ndarray]:
    """Weights as a program has packed them, with room behind, and the result of a run."""
    made = program()
    assert made.kept(0) == []
    made.set_constants([W, B], [0, 1], 1)
    kept = [(form, aligned(np.concatenate([array, np.zeros(ROOM, np.float32)]))) for form, array in made.kept(0)]
    return kept, result(made, 1)


def aligned(array: np.ndarray, past: int = 0) -> np.ndarray:
    """A read-only copy that begins so many bytes past a multiple of 64."""
    memory = np.zeros(array.nbytes + 128, np.uint8)
    start = -memory.ctypes.data % 64 + past
    memory[start : start + array.nbytes] = array.view(np.uint8)
    found = memory[start : start + array.nbytes].view(np.float32)
    found.flags.writeable = False
    return found


def test_packed_weights_are_read_where_they_lie() -> None:
    kept, wanted = packed()
    assert len(kept) == 1
    made = program()
    made.restore([None, B], [kept], 7)
    assert result(made, 7).tobytes() == wanted.tobytes()
    np.testing.assert_allclose(wanted, X @ W.T + B, rtol=1e-5, atol=1e-5)


def test_other_weights_afterwards_get_memory_of_their_own() -> None:
    kept, wanted = packed()
    before = kept[0][1].tobytes()
    made = program()
    made.restore([None, B], [kept], 1)
    made.set_constants([2 * W, 2 * B], [0, 1], 2)
    np.testing.assert_allclose(result(made, 2), 2 * wanted, rtol=1e-5, atol=1e-5)
    assert kept[0][1].tobytes() == before


def test_what_does_not_fit_is_refused() -> None:
    kept, _ = packed()
    form, array = kept[0]
    for constants, given in [
        ([None, B], [[]]),
        ([None, None], [kept]),
        ([None, B], []),
        ([None, B], [kept, kept]),
        ([None, B], [[*kept, *kept]]),
        ([None, B], [[("other", array)]]),
        ([None, B], [[(form, array[:-1])]]),
        ([None, B], [[(form, aligned(array, 32))]]),
        ([None, B[:-1]], [kept]),
        ([B], [kept]),
    ]:
        made = program()
        with pytest.raises(NativeArgumentError):
            made.restore(constants, given, 1)
        assert not made.run([X], [np.empty((3, 37), np.float32)], None, 1)
    with pytest.raises(NativeArgumentError):
        program().kept(1)


def test_a_checksum_depends_on_every_byte() -> None:
    content = bytes(range(256)) * 3 + b"rest"
    sums = {native.checksum(content)}
    for at in range(len(content)):
        sums.add(native.checksum(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]))
        sums.add(native.checksum(content[:at]))
    sums.add(native.checksum(content + b"\0"))
    assert len(sums) == 2 * len(content) + 2
    assert {len(s) for s in sums} == {32}
