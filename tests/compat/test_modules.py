"""Small modules that programs import names from."""

import importlib
import logging
import threading
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

import hybrid as mx
from tests.house.test_arrows import ROOMS


def test_the_numpy_mode_is_switched_whole_and_in_scopes() -> None:
    assert not mx.is_np_array() and not mx.is_np_shape() and not mx.util.is_np_shape()
    assert mx.set_np_shape(False) is False
    mx.util.set_np(False, False)
    mx.util.reset_np()
    with mx.np_shape(None), mx.np_array(False):
        assert not mx.is_np_shape()
    assert mx.use_np(lambda: (mx.is_np_array(), mx.is_np_shape()))() == (True, True)
    assert mx.use_np_array(lambda: (mx.is_np_array(), mx.is_np_shape()))() == (True, False)
    mx.util.set_np()
    assert mx.is_np_array() and mx.is_np_shape()
    with mx.np_array(False):
        assert not mx.is_np_array() and mx.is_np_shape()
    mx.util.reset_np()
    assert not mx.is_np_array() and not mx.is_np_shape()


def test_shapes_are_read_thread_by_thread() -> None:
    told = []
    with mx.np_shape():
        thread = threading.Thread(target=lambda: told.append((mx.is_np_shape(), mx.nd.arange(3)[1].shape)))
        thread.start()
        thread.join()
        assert mx.is_np_shape() and mx.nd.arange(3)[1].shape == ()
    assert told == [(False, (1,))]


def test_a_symbol_knows_how_its_sizes_are_read(tmp_path: Path) -> None:
    """Also what was read from a file, in a thread that reads them otherwise, and compiled."""
    with mx.np_shape():
        sized = mx.sym.concat(mx.sym.zeros((0, 3)), mx.sym.var("x"), dim=0) * 2
        sized.save(str(tmp_path / "s.json"))
    legacy = mx.sym.elemwise_add(mx.sym.zeros((0, 3)), mx.sym.var("x"))
    for symbol in (sized, mx.sym.load(str(tmp_path / "s.json"))):
        net = mx.gluon.SymbolBlock(symbol, [mx.sym.var("x")])
        net.hybridize()
        for _ in range(3):
            assert net(mx.nd.ones((2, 3))).asnumpy().tolist() == [[2] * 3] * 2
        assert '"is_np_shape": ["int", 1]' in symbol.tojson()
    with mx.np_shape():  # it was made without: its 0 is what the other one says
        assert legacy.infer_shape(x=(2, 3))[1] == [(2, 3)]
    net = mx.gluon.SymbolBlock(legacy, [mx.sym.var("x")])
    assert net(mx.nd.ones((2, 3))).shape == (2, 3)


def test_names_of_base() -> None:
    from hybrid.base import classproperty, integer_types, numeric_types, py_str, string_types, with_metaclass

    assert (
        isinstance(np.float32(1), numeric_types) and isinstance(np.int64(1), integer_types) and string_types == (str,)
    )
    assert not isinstance(np.float32(1), integer_types)
    assert py_str("é".encode()) == "é"
    assert issubclass(mx.base.NotSupportedForSparseNDArray, mx.base.MXNetError)

    class Meta(type):
        pass

    class Made(with_metaclass(Meta, dict)):
        @classproperty
        def kind(cls) -> str:  # noqa: N805
            return cls.__name__

    assert type(Made) is Meta and Made.__bases__ == (dict,) and Made.kind == Made().kind == "Made"


def test_features() -> None:
    features = mx.runtime.Features()
    assert features is mx.runtime.Features() and len(features) == len(mx.runtime.feature_list()) == 32
    assert (
        not features.is_enabled("cuda")
        and repr(features["CUDA"]) == "✖ CUDA"
        and repr(features).startswith("[✖ CUDA, ")
    )
    with pytest.raises(RuntimeError, match="Feature 'NO' is unknown, known features are: "):
        features.is_enabled("no")


def test_loggers(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    logger = mx.log.get_logger("gluonnx-test", level=mx.log.INFO)
    logger.info("said")
    assert mx.log.get_logger("gluonnx-test", level=mx.log.ERROR) is logger and logger.level == logging.INFO
    err = capsys.readouterr().err
    assert err.startswith("\x1b[32mI") and err.endswith("\x1b[0m said\n") and ":test_loggers:" in err
    mx.log.get_logger("gluonnx-file", str(tmp_path / "log")).warning("written")
    assert (tmp_path / "log").read_text() == "written\n"
    with pytest.warns(DeprecationWarning):
        assert mx.log.getLogger() is logging.getLogger()


def test_there_is_no_library_and_no_gpu() -> None:
    with pytest.raises(mx.MXNetError, match=r"no libmxnet\.so"):
        mx.libinfo.find_lib_path()
    with pytest.raises(mx.MXNetError, match=r"no libother\.so"):
        mx.libinfo.find_lib_path(prefix="libother")
    assert mx.util.get_gpu_count() == 0
    with pytest.raises(mx.MXNetError):
        mx.util.get_gpu_memory(0)
    with pytest.raises(ValueError, match="gpu context"):
        mx.util.get_cuda_compute_capability(mx.cpu())


def test_old_autograd() -> None:
    from hybrid.contrib import autograd

    x = mx.nd.array([1.0, 2.0])
    (dx,), y = autograd.grad_and_loss(lambda x, c: x * x * c, 0)(x, mx.nd.array([3.0, 1.0]))
    assert dx.asnumpy().tolist() == [6, 4] and y.asnumpy().tolist() == [3, 4]
    assert autograd.grad(lambda x: x * 2)(x)[0].asnumpy().tolist() == [2, 2]
    with autograd.train_section():
        assert mx.autograd.is_recording() and mx.autograd.is_training()
        with autograd.test_section():
            assert not mx.autograd.is_recording()
    assert not mx.autograd.is_recording() and not mx.autograd.is_training()


NOT_BY_STARS = {
    "contrib.amp.amp": {"convert_bucketing_module"},
    "callback": {"BatchEndParam"},
    "contrib.quantization": {"Collector"},
    "gluon.contrib.estimator.event_handler": {"EventHandler", "check_event_handlers"},
    "gluon.contrib.rnn.rnn_cell": {"dynamic_unroll"},
    "gluon.model_zoo.model_store": {"load_pretrained", "short_hash"},
    "gluon.model_zoo.vision.densenet": {"get_densenet"},
    "gluon.model_zoo.vision.mobilenet": {"LinearBottleneck", "RELU6"},
    "gluon.model_zoo.vision.squeezenet": {"get_squeezenet"},
    "gluon.utils": {"HookHandle", "shape_is_known"},
    "profiler": {"note_span"},
    "rnn.rnn_cell": {"gru_step", "lstm_step"},
}
"""Names that ``from mxnet.MODULE import *`` does not bring, though the module has them: nor does MXNet, where it has them."""


def test_stars_import_what_a_module_defines() -> None:
    found = {}
    for path in sorted(Path(mx.__path__[0]).rglob("*.py")):
        parts = path.relative_to(mx.__path__[0]).with_suffix("").parts
        if parts[0] in ROOMS or parts[-1] == "__main__":
            continue
        name = ".".join(("hybrid", *(p for p in parts if p != "__init__")))
        module = importlib.import_module(name)
        left = {
            n
            for n, value in vars(module).items()
            if isinstance(value, FunctionType | type) and f"{value.__module__}.".startswith(f"{name}.") and n[0] != "_"
        }
        if name != "hybrid" and hasattr(module, "__all__") and not left <= {*module.__all__}:
            found[name.removeprefix("hybrid.")] = left - {*module.__all__}
    assert found == NOT_BY_STARS
