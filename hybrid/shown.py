"""Names that MXNet's modules show because they import them, for programs that say ``from mxnet.X import *``, or name one.

They are there under the name mxnet (compat.py); ``import hybrid`` is without them."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType
from typing import Any

_HERE = __package__ or "hybrid"

STARRED: dict[str, str] = {
    "mxnet": "attribute autograd base callback context contrib engine error executor executor_manager gluon image "
    "initializer io kvstore libinfo log lr_scheduler metric model module monitor name ndarray onnx operator "
    "optimizer profiler random recordio registry rnn runtime symbol test_utils util visualization",
    "mxnet.attribute": "classproperty defaultdict string_types threading warnings with_metaclass",
    "mxnet.autograd": "CFUNCTYPE Lock MXCallbackList NDArrayHandle POINTER SymbolHandle array c_array c_array_buf "
    "c_handle_array c_int c_void_p cast check_call ctypes mx_uint string_types traceback",
    "mxnet.callback": "logging math time",
    "mxnet.context": "check_call classproperty ctypes threading warnings with_metaclass",
    "mxnet.contrib": "amp autograd io nd ndarray onnx quant quantization svrg_optimization sym symbol text",
    "mxnet.contrib.autograd": "NDArray NDArrayHandle array c_array c_array_buf c_handle_array check_call ctypes "
    "functools mx_uint string_types zeros_like",
    "mxnet.contrib.io": "nd",
    "mxnet.contrib.quantization": "Context DataBatch DataDesc DataIter Module NDArray NDArrayHandle Symbol "
    "SymbolHandle c_array c_str c_str_array check_call cpu ctypes logging mx_uint nd_load nd_save ndarray np os "
    "py_str shutil stats sym_load warnings",
    "mxnet.contrib.text.utils": "collections re",
    "mxnet.contrib.text.vocab": "collections",
    "mxnet.engine": "check_call ctypes",
    "mxnet.executor": "ExecutorHandle NDArrayHandle SymbolHandle c_array_buf c_handle_array c_str_array check_call "
    "copy ctypes mx_int mx_uint ndarray py_array py_str",
    "mxnet.executor_manager": "DataDesc DataParallelExecutorGroup cpu logging mx_real_t nd np",
    "mxnet.gluon.data.vision.transforms": "Block HybridBlock HybridSequential Sequential image is_np_array np "
    "numeric_types random",
    "mxnet.gluon.model_zoo.vision": "densenet inception mobilenet resnet squeezenet vgg",
    "mxnet.image": "Number cv2 io is_np_array json logging nd np numeric_types os random recordio sys warnings",
    "mxnet.image.detection": "ColorJitterAug ColorNormalizeAug HueJitterAug LightingAug RandomGrayAug "
    "RandomOrderAug io is_np_array json numeric_types",
    "mxnet.image.image": "Number cv2 io is_np_array json logging nd np numeric_types os random recordio sys warnings",
    "mxnet.initializer": "is_np_array load random sqrt string_types",
    "mxnet.io": "io",
    "mxnet.io.io": "CSRNDArray DataIterHandle NDArray NDArrayHandle c_str_array check_call concat ctypes "
    "logging mx_real_t mx_uint namedtuple np py_str sys threading tile",
    "mxnet.libinfo": "logging os platform",
    "mxnet.log": "logging warnings",
    "mxnet.lr_scheduler": "cos logging pi",
    "mxnet.metric": "OrderedDict numeric_types string_types",
    "mxnet.model": "Context DataDesc LogValidationMetricsCallback Uniform cpu get_updater io kvs logging metric "
    "mx_real_t namedtuple nd np opt os sym time warnings",
    "mxnet.module": "base_module bucketing_module executor_group module python_module sequential_module",
    "mxnet.module.base_module": "cpu",
    "mxnet.module.bucketing_module": "ctx nd np sym warnings",
    "mxnet.module.executor_group": "OrderedDict ctx nd",
    "mxnet.module.module": "ctx nd",
    "mxnet.module.python_module": "nd",
    "mxnet.module.sequential_module": "copy",
    "mxnet.monitor": "NDArrayHandle ctypes ndarray py_str sqrt",
    "mxnet.name": "classproperty threading warnings with_metaclass",
    "mxnet.operator": "CFUNCTYPE Lock MXCallbackList NDArrayHandle OpHandle POINTER Structure array c_array "
    "c_array_buf c_bool c_char c_char_p c_int c_str c_void_p cast check_call collections context ctypes "
    "ctypes2numpy_shared is_np_array mx_float mx_int mx_uint pointer py_str traceback",
    "mxnet.optimizer": "NDabs",
    "mxnet.optimizer.optimizer": "NDabs",
    "mxnet.profiler": "KVStoreHandle ProfileHandle c_str c_str_array check_call ctypes py_str warnings",
    "mxnet.random": "Context check_call ctypes integer_types",
    "mxnet.recordio": "RecordIOHandle c_str check_call ctypes current_process cv2",
    "mxnet.registry": "json string_types warnings",
    "mxnet.rnn": "DataBatch DataDesc DataIter bisect functools init load_checkpoint ndarray np numeric_types random "
    "save_checkpoint string_types symbol warnings",
    "mxnet.rnn.rnn": "BaseRNNCell load_checkpoint save_checkpoint warnings",
    "mxnet.rnn.rnn_cell": "BaseConvRNNCell ConvGRUCell ConvLSTMCell ConvRNNCell functools init ndarray "
    "numeric_types string_types symbol warnings",
    "mxnet.runtime": "check_call collections ctypes",
    "mxnet.test_utils": "OrderedDict bz2 contextmanager errno gzip json logging mx np npt numbers os platform "
    "requests rnd ss struct sys time traceback zipfile",
    "mxnet.util": "c_str check_call ctypes functools inspect threading",
    "mxnet.visualization": "copy re",
}
"""By module: what ``from mxnet.X import *`` gives there beyond what the module here has."""

HELD: dict[str, str] = {
    "mxnet.gluon.block": "MXNetError NDArray Symbol initializer is_np_array load_json ndarray np_array np_shape symbol",
    "mxnet.gluon.data.vision.datasets": "base check_sha1 dataset download image is_np_array",
    "mxnet.gluon.loss": "is_np_array ndarray numeric_types",
    "mxnet.gluon.model_zoo.model_store": "base download",
    "mxnet.gluon.parameter": "Context MXNetError autograd context cpu initializer is_np_array is_np_shape ndarray "
    "shape_is_known symbol",
    "mxnet.gluon.utils": "is_np_array is_np_shape",
    "mxnet.gluon.trainer": "_create_kvstore",
    "mxnet.module.bucketing_module": "_check_input_names",
    "mxnet.module.module": "_check_input_names _create_kvstore _initialize_kvstore _parse_data_desc _update_params "
    "_update_params_on_kvstore",
    "mxnet.ndarray.ndarray": "DLPackHandle Features NDArrayHandle _LIB c_array c_array_buf c_handle_array c_str "
    "check_call ctypes ctypes2buffer current_context integer_types is_np_array mx_int mx_int64 mx_real_t mx_uint "
    "native_array numeric_types reduce warnings",
    "mxnet.ndarray.utils": "c_array c_handle_array c_str c_str_array check_call py_str string_types",
    "mxnet.symbol.symbol": "AttrScope Executor ExecutorHandle NDArray NDArrayHandle NotImplementedForSymbol Number "
    "SymbolHandle _LIB array c_array c_array_buf c_handle_array c_str c_str_array check_call ctypes current_context "
    "integer_types is_np_shape mx_int mx_int64 mx_uint numeric_types py_str string_types warnings",
}
"""By module: what is to be had by name, and not by ``*``."""

_FROM: dict[str, str] = {
    ".attribute": "AttrScope",
    ".base": "DLPackHandle DataIterHandle ExecutorHandle KVStoreHandle MXCallbackList MXNetError NDArrayHandle "
    "NotImplementedForSymbol OpHandle ProfileHandle RecordIOHandle SymbolHandle _LIB c_array c_array_buf "
    "c_handle_array c_str c_str_array check_call classproperty ctypes2buffer ctypes2numpy_shared integer_types "
    "mx_float mx_int mx_int64 mx_real_t mx_uint numeric_types py_str string_types with_metaclass",
    ".callback": "LogValidationMetricsCallback",
    ".context": "Context cpu current_context",
    ".eager.sparse": "CSRNDArray",
    ".executor": "Executor",
    ".executor_manager": "DataParallelExecutorGroup",
    ".gluon.block": "Block HybridBlock",
    ".gluon.nn": "HybridSequential Sequential",
    ".gluon.utils": "check_sha1 download shape_is_known",
    ".image.augment": "ColorJitterAug ColorNormalizeAug HueJitterAug LightingAug RandomGrayAug RandomOrderAug",
    ".initializer": "Uniform",
    ".io": "DataBatch DataDesc DataIter",
    ".module": "Module",
    ".model": "_create_kvstore _initialize_kvstore _update_params _update_params_on_kvstore load_checkpoint save_checkpoint",
    ".module.base_module": "_check_input_names _parse_data_desc",
    ".ndarray": "NDArray concat load tile zeros_like",
    ".optimizer": "get_updater",
    ".rnn": "BaseConvRNNCell BaseRNNCell ConvGRUCell ConvLSTMCell ConvRNNCell",
    ".runtime": "Features",
    ".symbol": "Symbol load_json",
    ".util": "is_np_array is_np_shape np_array np_shape",
    "array": "array",
    "collections": "OrderedDict defaultdict namedtuple",
    "contextlib": "contextmanager",
    "ctypes": "CFUNCTYPE POINTER Structure c_bool c_char c_char_p c_int c_void_p cast pointer",
    "functools": "reduce",
    "math": "cos pi sqrt",
    "multiprocessing": "current_process",
    "numbers": "Number",
    "threading": "Lock",
}
"""By module, where a leading dot is of this package: the names that come from there under their own name."""
_RENAMED: dict[str, str] = {
    "autograd": ".autograd",
    "base": ".base",
    "context": ".context",
    "ctx": ".context",
    "dataset": ".gluon.data.dataset",
    "image": ".image",
    "init": ".initializer",
    "initializer": ".initializer",
    "io": ".io",
    "kvs": ".kvstore",
    "metric": ".metric",
    "mx": ".",
    "native_array": "array:array",
    "NDabs": ".ndarray:abs",
    "nd": ".ndarray",
    "nd_load": ".ndarray:load",
    "nd_save": ".ndarray:save",
    "ndarray": ".ndarray",
    "np": "numpy",
    "npt": "numpy.testing",
    "opt": ".optimizer",
    "py_array": "array:array",
    "recordio": ".recordio",
    "rnd": "numpy.random",
    "ss": "scipy.stats",
    "stats": "scipy.stats",
    "sym": ".symbol",
    "sym_load": ".symbol:load",
    "symbol": ".symbol",
}
"""The others, as MODULE or MODULE:NAME; a name that is in neither table is a module of Python's own."""
_WHERE = {**{name: f"{module}:{name}" for module, names in _FROM.items() for name in names.split()}, **_RENAMED}
_SPECIAL = {"initializer.random": ".random", "io.io": ".io"}
"""Names that mean another thing in one module than in the others."""


def show(fullname: str, module: ModuleType) -> None:
    """Give a module what MXNet's module ``mxnet.X`` of that name shows too; the names are looked up when they are asked for."""
    held = module.__dict__
    starred = STARRED.get(fullname, "").split()
    names = {*starred, *HELD.get(fullname, "").split()}
    if not names or not isinstance(module, ModuleType):
        return
    own, short = held.get("__getattr__"), fullname.removeprefix("mxnet").removeprefix(".")
    public = held.get("__all__") or [n for n in held if not n.startswith("_")]

    def found_in(name: str) -> Any:
        if own is not None:
            try:
                return own(name)
            except AttributeError:
                if name not in names:
                    raise
        if name not in names:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        found = held[name] = _look_up(short, name)
        return found

    held["__getattr__"] = found_in
    if starred:
        # of what MXNet imports where it is installed, only None and what there is can be shown
        held["__all__"] = [*public, *(n for n in starred if n not in public and (n != "requests" or _has(n)))]


def _has(module: str) -> bool:
    return importlib.util.find_spec(module.partition(".")[0]) is not None


def _look_up(module: str, name: str) -> Any:
    """The meaning of a name in one of MXNet's modules: None for packages that MXNet does without when they are not installed."""
    path, _, part = (_SPECIAL.get(f"{module}.{name}") or _WHERE.get(name, name)).partition(":")
    if path in ("cv2", "scipy.stats") and not _has(path):
        return None
    found = importlib.import_module(f"{_HERE}{path}".removesuffix(".") if path.startswith(".") else path)
    return getattr(found, part) if part else found
