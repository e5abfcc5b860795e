"""Names that MXNet's modules show by accident, and stand-ins for its C library, under the name mxnet."""

from __future__ import annotations

import ctypes
from array import array

import numpy as np
import pytest

import hybrid as mx
from hybrid import base, shown
from tests.compat.test_compat import python

STAR = """
from mxnet.test_utils import *
assert np.__name__ == "numpy" and rnd is np.random and os.path and sys.path and OrderedDict() == {}
assert mx.nd is mx.ndarray and rand_ndarray((2,), "default").shape == (2,)
from mxnet import *
assert gluon.nn and test_utils.np.__name__ == "numpy" and onnx.mx2onnx is onnx and np is mx.np and npx.set_np
from mxnet.ndarray import *
assert abs(array([-1.0])).asscalar() == 1 and FullyConnected and contrib.box_iou and random.uniform and waitall
from mxnet.symbol import *
assert (exp(var("x")) + Variable("y")).list_arguments() == ["x", "y"]
from mxnet.ndarray.random import *
assert randn(2).shape == (2,) and shuffle and multinomial
from mxnet.initializer import *
assert random is mx.random and sqrt(4) == 2 and Xavier
from mxnet.io.io import *
assert NDArray is mx.nd.NDArray and NDArrayIter and namedtuple
"""

NAMED = """
from mxnet.base import _LIB, c_array, c_handle_array, c_str, c_str_array, check_call, mx_real_t, mx_uint, NDArrayHandle
from mxnet.ndarray.ndarray import NDArray, c_array, check_call, py_slice
from mxnet.symbol.symbol import Symbol, py_slice
from mxnet.gluon.block import HybridBlock, NDArray, Symbol, ndarray
from mxnet.onnx.mx2onnx import export_model, get_operator_support
from mxnet.contrib.onnx.onnx2mx import import_model
from mxnet.contrib.onnx.mx2onnx import export_model
from mxnet.util import _NumpyArrayScope, _NumpyShapeScope
import mxnet.onnx.mx2onnx, mxnet.contrib.onnx.mx2onnx
import mxnet as mx
assert mx.onnx.mx2onnx.export_model is mx.onnx.export_model and py_slice(1).stop == 1
assert callable(mx.contrib.onnx.import_model) and callable(mx.onnx.export_model)
assert not hasattr(mx.gluon.block, "nothing_like_it")
try:
    from mxnet.gluon.block import nothing_like_it
except ImportError:
    pass
else:
    raise AssertionError
with _NumpyArrayScope(False):
    assert not hasattr(_NumpyArrayScope._current, "value")
"""

EVERY = """
from hybrid import shown
import importlib
import warnings
warnings.simplefilter("ignore")
for table in (shown.STARRED, shown.HELD):
    for module, names in table.items():
        there = importlib.import_module(module)
        for name in names.split():
            if name != "requests":
                getattr(there, name)
    for module in table:
        exec(f"from {module} import *", {})
"""


def test_names_that_mxnet_shows() -> None:
    done = python("-c", f"import hybrid; hybrid.install_as_mxnet()\n{STAR}{NAMED}{EVERY}")
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_is_shown_under_the_name_hybrid() -> None:
    assert not hasattr(mx.test_utils, "bz2")
    assert "mxnet.test_utils" in shown.STARRED


def test_types_and_arrays_for_c() -> None:
    assert base.c_str("ab").value == b"ab"
    assert list(base.c_str_array(["a", "bc"])) == [b"a", b"bc"]
    assert list(base.c_array(base.mx_uint, [1, 2])) == [1, 2]
    shared = array("i", [3, 4])
    view = base.c_array_buf(base.mx_int, shared)
    view[1] = 7
    assert shared.tolist() == [3, 7]
    numbers = (base.mx_float * 4)(1, 2, 3, 4)
    pointer = ctypes.cast(numbers, base.mx_float_p)
    same = base.ctypes2numpy_shared(pointer, (2, 2))
    numbers[3] = 9
    assert same.dtype == np.float32
    assert same.tolist() == [[1, 2], [3, 9]]
    text = ctypes.create_string_buffer(b"hello")
    assert base.ctypes2buffer(ctypes.cast(text, ctypes.POINTER(ctypes.c_char)), 4) == b"hell"
    with pytest.raises(TypeError, match="expected char pointer"):
        base.ctypes2buffer(pointer, 4)
    with pytest.raises(RuntimeError, match="expected float pointer"):
        base.ctypes2numpy_shared(ctypes.c_void_p(), (1,))


def test_what_would_call_into_c_says_so() -> None:
    with pytest.raises(mx.MXNetError, match="MXNDArrayWaitAll: this engine is not"):
        base.check_call(base._LIB.MXNDArrayWaitAll())
    with pytest.raises(mx.MXNetError, match="check_call: a C function gave -1"):
        base.check_call(-1)
    base.check_call(0)
    with pytest.raises(mx.MXNetError, match="NDArray is no object of MXNet's C library"):
        base.c_handle_array([mx.nd.ones((1,))])
    assert not hasattr(base._LIB, "__array__")
    assert "libmxnet" in repr(base._LIB)

    class Held:
        handle = ctypes.c_void_p(5)

    assert list(base.c_handle_array([Held()])) == [5]
