"""Names of MXNet 1.9.1 that are missing here, and signatures that differ, each with its reason.

Keys are patterns (fnmatch) of full names; the first that fits counts. tests/house/test_api.py fails for a missing name
without a reason, and for a pattern that fits nothing any more."""


def _of(module: str, names: str, reason: str) -> dict[str, str]:
    """The same reason for several names of a module."""
    return {f"{module}.{name}": reason for name in names.split()}


_C = (
    "by-product: a helper for calls into MXNet's C library, which there is none of here; stand-ins are in base, and under the "
    "name mxnet where MXNet shows them"
)
_IMPORTED = (
    "by-product: an import that a module of MXNet shows by accident; most are there under the name mxnet (hybrid/shown.py), "
    "and all where they are defined"
)
_GENERATED = (
    "by-product: a part of what makes MXNet's nd and sym functions; here they are made of the operators when asked for"
)
_NUMPY = "by-product: MXNet's frontend of mx.np, of which hybrid.np_functions is the one here"
_INT8 = "INT8 quantization, which oneDNN does for MXNet: there are no quantized operators here"
_CUDA = "compiles CUDA source that it is given; there is no GPU here"
_BACKWARD = "MXNet's own gradient operators; gradients here are rules of the operators (autograd, backward, grad)"
_LEGACY_IMAGES = "images decoded by OpenCV inside the engine; mx.image does the same in Python"
_CALLS_C = (
    "an operator that calls back into a C or Python function by its address; mx.operator.Custom is the way to do that"
)
_LUA = "calls Lua Torch, which is retired"

MISSING: dict[str, str] = {
    # -- whole modules
    "mxnet.api": "MXNet's packed-function interface to C, without public names",
    "mxnet.library": "loads operators compiled against MXNet's C headers; write them in Python (mx.operator)",
    "mxnet.ndarray_doc": _GENERATED,
    "mxnet.symbol_doc": _GENERATED,
    "mxnet.notebook": "live charts for Jupyter, drawn by bokeh; the callbacks of mx.callback log the same numbers",
    "mxnet.th": _LUA,
    "mxnet.torch": _LUA,
    "mxnet.tvmop": "operators that TVM compiles, which MXNet's own wheels are built without",
    "mxnet.rtc": _CUDA,
    "mxnet.numpy*": _NUMPY,
    "mxnet.np_symbol": _NUMPY,
    "mxnet.*.np_symbol": _NUMPY,
    "mxnet.*.is_np_sym": _NUMPY,
    "mxnet.util.np_ufunc_legal_option": _NUMPY,
    "mxnet.util.wrap_np_*": _NUMPY,
    **{f"mxnet.contrib.quantization.{n}": _IMPORTED for n in ("nd_load", "nd_save", "ndarray", "sym_load")},
    # -- by-products of MXNet's own making
    "mxnet.*.check_call": _C,
    "mxnet.*.c_str": _C,
    "mxnet.*.c_str_array": _C,
    "mxnet.*.c_array": _C,
    "mxnet.*.c_array_buf": _C,
    "mxnet.*.c_handle_array": _C,
    "mxnet.*.ctypes2numpy_shared": _C,
    "mxnet.*.MXCallbackList": _C,
    **_of("mxnet.base", "c2pyerror get_last_ffi_error libinfo", _C),
    **_of("mxnet.base", "add_fileline_to_docstring build_param_doc", _GENERATED),
    **_of(
        "mxnet.base",
        "error_types register_error",
        "turns the text of a C++ error into a Python type; errors here are Python's",
    ),
    **_of(
        "mxnet.error",
        "register register_error",
        "turns the text of a C++ error into a Python type; errors here are Python's",
    ),
    "mxnet.ndarray.CachedOp.handle": _C,
    **_of("mxnet.profiler", "profiler_kvstore_handle set_kvstore_handle", _C),
    "mxnet.*.py_str": _IMPORTED,
    "mxnet.*.string_types": _IMPORTED,
    "mxnet.*.numeric_types": _IMPORTED,
    "mxnet.*.integer_types": _IMPORTED,
    "mxnet.*.classproperty": _IMPORTED,
    "mxnet.*.with_metaclass": _IMPORTED,
    "mxnet.*.current_context": _IMPORTED,
    "mxnet.*.is_np_array": _IMPORTED,
    "mxnet.*.is_np_shape": _IMPORTED,
    "mxnet.*.cv2": _IMPORTED,
    **_of("mxnet.contrib.io", "nd", _IMPORTED),
    **_of("mxnet.monitor", "ndarray", _IMPORTED),
    **_of("mxnet.executor", "ndarray", _IMPORTED),
    **_of(
        "mxnet.gluon.block",
        "MXNetError NDArray Symbol initializer load_json ndarray np_array np_shape symbol",
        _IMPORTED,
    ),
    **_of("mxnet.gluon.data.vision.datasets", "base check_sha1 dataset download image", _IMPORTED),
    **_of("mxnet.gluon.loss", "ndarray", _IMPORTED),
    **_of("mxnet.gluon.model_zoo.model_store", "apache_repo_url base download replace_file", _IMPORTED),
    **_of(
        "mxnet.gluon.parameter",
        "Context MXNetError autograd context cpu initializer ndarray shape_is_known symbol",
        _IMPORTED,
    ),
    **_of("mxnet.image", "io nd recordio", _IMPORTED),
    **_of(
        "mxnet.image.detection",
        "ColorJitterAug ColorNormalizeAug HueJitterAug LightingAug RandomGrayAug RandomOrderAug io",
        _IMPORTED,
    ),
    **_of("mxnet.initializer", "load random", _IMPORTED),
    **_of("mxnet.io", "io utils", _IMPORTED),
    **_of(
        "mxnet.model",
        "Context DataDesc LogValidationMetricsCallback SKLEARN_INSTALLED Uniform cpu get_updater",
        _IMPORTED,
    ),
    **_of("mxnet.model", "io kvs metric nd opt sym", _IMPORTED),
    **_of("mxnet.ndarray.contrib", "mx ndarray uniform", _IMPORTED),
    **_of("mxnet.ndarray.random", "NDArray", _IMPORTED),
    **_of("mxnet.ndarray.sparse", "_ndarray_cls op", _IMPORTED),
    **_of("mxnet.operator", "context", _IMPORTED),
    **_of("mxnet.optimizer", "NDabs", _IMPORTED),
    **_of("mxnet.random", "Context", _IMPORTED),
    **_of("mxnet.rnn", "DataBatch DataDesc DataIter init load_checkpoint ndarray save_checkpoint symbol", _IMPORTED),
    **_of("mxnet.symbol.contrib", "AttrScope Symbol symbol uniform", _IMPORTED),
    **_of("mxnet.symbol.random", "Symbol", _IMPORTED),
    **_of("mxnet.test_utils", "mx", _IMPORTED),
    **_of("mxnet.symbol", "gen__internal gen_contrib gen_image gen_linalg gen_op gen_sparse symbol", _GENERATED),
    **_of("mxnet.ndarray", "_new_empty_handle", _C),
    **_of(
        "mxnet.ndarray",
        "get_indexing_dispatch_code get_oshape_of_gather_nd_op indexing_key_expand_implicit_axes register",
        _GENERATED,
    ),
    "mxnet.symbol.register": _GENERATED,
    "mxnet.ndarray.op.CachedOp": _GENERATED,
    **_of(
        "mxnet.ndarray._internal",
        "CachedOp NDArrayBase _imperative_invoke _set_ndarray_class _set_np_ndarray_class",
        _GENERATED,
    ),
    **_of(
        "mxnet.symbol._internal",
        "AttrScope NameManager SymbolBase _set_np_symbol_class _set_symbol_class _symbol_creator",
        _GENERATED,
    ),
    "mxnet.*._internal._Null": _GENERATED,
    # -- operators
    "mxnet.*._backward_*": _BACKWARD,
    "mxnet.*.backward_*": _BACKWARD,
    "mxnet.*._broadcast_backward": _BACKWARD,
    "mxnet.*._split_v2_backward": _BACKWARD,
    "mxnet.*._NoGradient": _BACKWARD,
    "mxnet.*._CachedOp*": "what Gluon's hybridized blocks are inside; here cached_op.CachedOp, which is no operator",
    "mxnet.*._CustomFunction": _CALLS_C,
    "mxnet.*._NDArray": _CALLS_C,
    "mxnet.*._Native": _CALLS_C,
    "mxnet.*._cvimread": _LEGACY_IMAGES,
    "mxnet.*._imdecode": _LEGACY_IMAGES,
    "mxnet.ndarray.imdecode": _LEGACY_IMAGES,
    "mxnet.*._set_value": "the operator inside x[:] = number, which is done in memory here",
    # -- the rest, one by one
    "mxnet.gluon.rnn.SequentialRNNCell.hybrid_forward": "not to be called in MXNet either, where it raises",
    "mxnet.image.ImageDetIter.draw_next": "draws boxes with OpenCV",
    "mxnet.kvstore.KVStoreServer.run": "the loop of a parameter server: one process is all there is here",
    "mxnet.*.__setstate__": "pickling goes by __reduce__ here, with the same result",
    "mxnet.test_utils.get_im2rec_path": "im2rec.py is a program of MXNet's source tree; mx.recordio writes such files",
    "mxnet.test_utils.shuffle_csr_column_indices": "changes a csr array's parts in place, which are read-only copies here; "
    "rand_sparse_ndarray(shuffle_csr_indices=True) makes such arrays",
    "mxnet.contrib.onnx.*_": "by-product: a second name of a module's function",
}

_HANDLE = (
    "takes a handle of the C library in MXNet; made by functions (nd.array, sym.var, bind, kv.create), not by itself"
)

DIFFERENT: dict[str, str] = {
    "mxnet.*.NDArray": _HANDLE,
    "mxnet.*.Symbol": _HANDLE,
    "mxnet.executor.Executor*": _HANDLE,
    "mxnet.*.KVStore": _HANDLE,
    "mxnet.*.KVStore.__init__": _HANDLE,
    "mxnet.*.*SparseNDArray": _HANDLE,
    "mxnet.*.CSRNDArray": _HANDLE,
    "mxnet.io.MXDataIter*": _HANDLE,
    "mxnet.ndarray.from_numpy": "array_cls is for NumPy mode's arrays",
    "mxnet.symbol.Group": "create_fn is for NumPy mode's symbols",
    "mxnet.*.quantized_rnn": "MXNet refuses the data_scale and data_shift that it lists: to it they are min_data and max_data",
    "mxnet.*._linspace": "MXNet registers it with parameters of _arange that it does not read",
    "mxnet.*.Custom": "op_type, which MXNet takes as a keyword it does not list, and requires",
    "mxnet.visualization.plot_network": "node_attrs=None means {}: a default that cannot be changed by accident",
    "mxnet.visualization.print_summary": "positions is a tuple: a default that cannot be changed by accident",
    "mxnet.rnn.Conv*Cell*": "prefix=None means the same names: ConvRNN_, ConvLSTM_, ConvGRU_",
}
