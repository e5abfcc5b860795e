"""Every name of MXNet 1.9.1's NumPy interface is here with its signature, but for those in np_left.txt."""

from __future__ import annotations

from collections import Counter
from fnmatch import fnmatch

from tests.house import np_names

NAMES = {str(item).removeprefix("mxnet.") for item in np_names.recorded()}


def test_what_is_left_is_listed() -> None:
    listed = np_names.LEFT.read_text().split("\n")
    wanted = [*np_names.left(), ""] if np_names.left() else ["", ""]
    more, gone = Counter(wanted) - Counter(listed), Counter(listed) - Counter(wanted)
    assert not more and not gone, (
        f"not here: {[*more]}; here now: {[*gone]}; run python -m tests.house.np_names > tests/house/np_left.txt"
    )


def test_reasons_are_needed() -> None:
    every = {f"{w}.{n}" for w, names in np_names.names().items() for n in names}
    for pattern in (*np_names.DIFFERENT, *(p for patterns in np_names.BY_PRODUCTS for p in patterns.split())):
        assert any(fnmatch(name, pattern) for name in every), pattern


def test_enough_was_recorded() -> None:
    count = Counter(name.partition(".")[0] for name in NAMES)
    assert len(NAMES) > 1100
    assert count["np"] > 450 and count["sym"] > 330
    assert {"np.add", "np.ndarray.argmax", "npx.softmax", "sym.np._Symbol.reshape", "np.linalg.svd"} <= NAMES
