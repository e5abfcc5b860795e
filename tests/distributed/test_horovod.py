"""``import horovod.mxnet``: its calls on two ranks, and training by it as one process trains."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import hybrid as mx
from hybrid import horovod as hvd
from tests.distributed.launching import needs_mpi, succeed

pytestmark = needs_mpi


def test_two_ranks_by_horovod(tmp_path: Path) -> None:
    succeed(0, "by_horovod.py", tmp_path / "alone")
    succeed(2, "by_horovod.py", tmp_path / "both")
    alone = json.loads((tmp_path / "alone-0.json").read_text())
    ranks = [json.loads((tmp_path / f"both-{r}.json").read_text()) for r in range(2)]
    assert [(r["rank"], r["size"], r["local"], r["machines"]) for r in ranks] == [(0, 2, [0, 2], 1), (1, 2, [1, 2], 1)]
    first = np.arange(6).reshape(2, 3)
    for told in ranks:
        np.testing.assert_array_equal(told["mean"], first + 5)
        for name in ("sum", "half"):
            np.testing.assert_array_equal(told[name], 2 * first + 10)
        np.testing.assert_array_equal(told["in_place"], first + 5)
        np.testing.assert_array_equal(told["group"], [2 * first + 10, 4 * first + 20])
        np.testing.assert_array_equal(told["all"], [[0, 0], [1, 1], [1, 1]])
        np.testing.assert_array_equal(told["first"], first + 10)
        for name in ("trainer", "store", "module"):
            np.testing.assert_allclose(told[name], alone[name], rtol=0, atol=1e-6)
            assert told[name] == ranks[0][name]


def test_before_init_there_is_nothing() -> None:
    assert not hvd.is_initialized()
    try:
        hvd.rank()
    except ValueError as error:
        assert "use hvd.init()" in str(error)
    else:
        raise AssertionError("hvd.rank() without hvd.init() answered")
    assert mx.kv.create("teststore").type == "teststore"
