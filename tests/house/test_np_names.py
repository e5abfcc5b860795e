"""Every name of MXNet 1.9.1's NumPy interface is here, with its signature."""

from __future__ import annotations

from collections import Counter
from fnmatch import fnmatch

from tests.house import np_names

NAMES = {str(item).removeprefix("mxnet.") for item in np_names.recorded()}


def test_every_name_is_here() -> None:
    assert not np_names.left(), "\n".join(np_names.left())


def test_reasons_are_needed() -> None:
    every = {f"{w}.{n}" for w, names in np_names.names().items() for n in names}
    for pattern in (p for patterns in (*np_names.DIFFERENT, *np_names.BY_PRODUCTS) for p in patterns.split()):
        assert any(fnmatch(name, pattern) for name in every), pattern


def test_enough_was_recorded() -> None:
    count = Counter(name.partition(".")[0] for name in NAMES)
    assert len(NAMES) > 1100
    assert count["np"] > 450 and count["sym"] > 330
    assert {"np.add", "np.ndarray.argmax", "npx.softmax", "sym.np._Symbol.reshape", "np.linalg.svd"} <= NAMES
