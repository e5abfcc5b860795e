"""Names of MXNet 1.9.1 that are missing here, and signatures that differ, each with its reason.

Keys are patterns (fnmatch) of full names; the first that fits counts. tests/house/test_api.py fails for a name without a
reason, and for a pattern that fits nothing any more."""

_C = "by-product: a helper of MXNet's calls into its C library, which a module shows by accident"
_IMPORTED = "by-product: an import that a module of MXNet shows by accident; import it from where it is defined"
_GENERATED = "by-product: MXNet's code that makes nd and sym functions; here they are made from the operators when asked for"
_NUMPY = "NumPy mode (mx.np, mx.npx, @use_np): this engine has none; programs in that mode are not among those promised"
_INT8 = "INT8 quantization, which oneDNN does in MXNet: models that were quantized are refused by name"
_CUDA = "runs CUDA or C code that it is given; there is no GPU here, and nothing compiles code"
_GRAPHS = "sampling in DGL's graphs on CSR arrays: operators that work on sparse storage are not part of this engine"
_BACKWARD = "MXNet's gradient operators have no names that programs may use; gradients here are rules of the operators"
_DOWNLOAD = "only downloads; nothing here uses the network"

MISSING: dict[str, str] = {
    # -- modules
    "mxnet.api": "by-product: MXNet's packed-function interface to C, which has no public names",
    "mxnet.executor_manager": "the predecessor of Module, deprecated in MXNet 0.9; use mx.mod.Module",
    "mxnet.library": "loads operators that were compiled against MXNet's C headers; write them in Python (mx.operator)",
    "mxnet.ndarray_doc": _GENERATED,
    "mxnet.symbol_doc": _GENERATED,
    "mxnet.notebook": "live charts for Jupyter that need bokeh; callbacks (mx.callback) do the same by log",
    "mxnet.th": "calls Lua Torch, which is retired",
    "mxnet.torch": "calls Lua Torch, which is retired",
    "mxnet.tvmop": "operators that TVM compiles; not in MXNet's own wheels either",
    "mxnet.rtc": _CUDA,
    "mxnet.np": _NUMPY,
    "mxnet.npx": _NUMPY,
    "mxnet.numpy*": _NUMPY,
    "mxnet.np_symbol": _NUMPY,
    "mxnet.*.np_symbol": _NUMPY,
    "mxnet.*.npx": _NUMPY,
    "mxnet.symbol.np": _NUMPY,
    "mxnet.*.numpy": _NUMPY,
    "mxnet.*.numpy_extension": _NUMPY,
    "mxnet.*.as_np_ndarray": _NUMPY,
    "mxnet.util.np_ufunc_legal_option": _NUMPY,
    "mxnet.util.wrap_np_*": _NUMPY,
    "mxnet.contrib.quant*": _INT8,
    "mxnet.contrib.svrg_optimization": "an optimizer and Module of one paper (SVRG), never out of contrib; not written yet",
}

DIFFERENT: dict[str, str] = {}
