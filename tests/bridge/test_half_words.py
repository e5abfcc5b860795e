"""Half precision is told in one place; type codes and names elsewhere follow from it."""

import re
from pathlib import Path

import numpy as np
from onnx import TensorProto

from converters.onnx_types import HALF_CODES
from converters.precision.retype import WIDENED
from hybrid.core.attrs import HALVES, dtype, is_half

ROOT = Path(__file__).parents[2]


def test_names_and_codes_are_the_same_types() -> None:
    assert HALVES == ("bfloat16", "float16")  # the one that rounds most first
    assert {TensorProto.FLOAT16, TensorProto.BFLOAT16} == HALF_CODES == WIDENED.keys()
    assert [is_half(d and dtype(d)) for d in (*HALVES, "float32", "float64", "int16", None)] == [True] * 2 + [False] * 4
    assert is_half(np.dtype(np.float16))


def test_nobody_else_lists_them() -> None:
    both = re.compile(r"""["']b?float16["'], ["']b?float16["']|FLOAT16, [\w.]*FLOAT16""")
    files = [f for room in ("bridge", "converters") for f in (ROOT / room).rglob("*.py")]
    assert len(files) > 200
    assert not {f.relative_to(ROOT).as_posix() for f in files if both.search(f.read_text())}
