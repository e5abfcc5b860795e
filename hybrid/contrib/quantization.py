"""``mx.contrib.quantization``: networks with 8-bit integers, from float ones and a few batches of data to calibrate on.

``quantize_model_mkldnn`` (for symbols) and ``quantize_net`` (for blocks) fuse nodes as MXNet's oneDNN backend does and give every
channel of a convolution a scale of its own; ``quantize_model`` leaves nodes as they are, with a scale for each tensor. What they
give, saved, is what MXNet reads, and what the converter writes as ONNX. Convolutions that are not fused are far from the float
ones when they have a bias or uint8 data, in MXNet as here: ``quantize_model`` and ``quantize_graph`` warn of these.

Here calibration runs the network as it is. MXNet fuses nodes for itself while it collects ranges, and so finds none for the nodes
of ``quantize_model`` unless MXNET_SUBGRAPH_BACKEND=NONE is set. Branches that are concatenated keep a range each, where MXNet gives
them one in ``quantize_model_mkldnn``: quantized_concat brings them together, and nothing is lost in the narrower ones.
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..checkpoint import load_checkpoint, save_checkpoint
from ..context import Context, cpu
from ..frontend.symbol import Symbol
from ..gluon import SymbolBlock
from ..io import DataBatch, DataDesc, DataIter
from ..ir.graph import Graph
from ..module import Module
from ..ndarray import NDArray, array, ones, zeros
from ..ops.quantization import CalibrateEntropy, Quantize
from ..ops.quantization_layers import QuantizedActivation, QuantizedBatchNorm, QuantizedConvolution
from ..passes.quantize import calibrate, calibration_key, quantise

__all__ = [
    "calib_graph", "combine_histogram", "quantize_graph", "quantize_model", "quantize_model_mkldnn", "quantize_net",
    "quantize_net_v2",
]  # fmt: skip

BACKEND = "MKLDNN_QUANTIZE"
BINS = 8001
Ranges = dict[str, tuple[float, float]]
Histogram = tuple[np.ndarray, np.ndarray, float, float, float]
"""Counts, the edges between them, the least and the greatest number, and the greatest magnitude that there is a bin for."""


class Collector(Protocol):
    """An object that calibration shows outputs to: with ``min_max_dict``, or with ``hist_dict`` when it collects histograms."""

    def collect(self, name: str, array: Any) -> None: ...


class _Wanted:
    """Base of the collectors: those outputs that are wanted, or all where ``include_layer`` is None."""

    def __init__(self, include_layer: Iterable[str] | None = None, logger: Any = None):
        self.include_layer, self.logger = include_layer, logger

    def collect(self, name: str, array: Any) -> None:
        """Take note of one output."""
        if self.include_layer is None or name in self.include_layer:
            values = array.asnumpy() if isinstance(array, NDArray) else np.asarray(array)
            if values.size:
                self.note(name, values)
                if self.logger:
                    self.logger.debug("Collected %s, from %s to %s", name, values.min(), values.max())

    def note(self, name: str, values: np.ndarray) -> None:
        raise NotImplementedError


class _LayerOutputMinMaxCollector(_Wanted):
    """The least and the greatest number of each output."""

    def __init__(self, quantized_dtype: str = "int8", include_layer: Iterable[str] | None = None, logger: Any = None):
        super().__init__(include_layer, logger)
        self.quantized_dtype = quantized_dtype
        self.min_max_dict: Ranges = {}

    def note(self, name: str, values: np.ndarray) -> None:
        low, high = self.min_max_dict.get(name, (np.inf, -np.inf))
        self.min_max_dict[name] = min(low, float(values.min())), max(high, float(values.max()))


class _LayerHistogramCollector(_Wanted):
    """A histogram of each output, symmetric around 0."""

    def __init__(self, num_bins: int = BINS, include_layer: Iterable[str] | None = None, logger: Any = None):
        super().__init__(include_layer, logger)
        self.num_bins = num_bins
        self.hist_dict: dict[str, Histogram] = {}

    def note(self, name: str, values: np.ndarray) -> None:
        low, high = float(values.min()), float(values.max())
        most = max(abs(low), abs(high))
        if not np.isfinite(most):
            raise ValueError(f"calibration: {name} goes from {low} to {high}; wanted finite numbers")
        if name in self.hist_dict:
            self.hist_dict[name] = combine_histogram(self.hist_dict[name], values, low, high, most)
        else:
            counts, edges = np.histogram(values, bins=self.num_bins, range=(-most, most))
            self.hist_dict[name] = counts, edges, low, high, most


def combine_histogram(old_hist: Histogram, arr: np.ndarray, new_min: float, new_max: float, new_th: float) -> Histogram:
    """A histogram with more numbers in it; where they reach beyond it, it grows by whole bins on both sides.

    Parameters
    ----------
    old_hist : tuple
        (counts, edges between them, least number, greatest number, greatest magnitude that there is a bin for).
    arr : array
        More numbers.
    new_min : float
        The least of them.
    new_max : float
        The greatest.
    new_th : float
        Their greatest magnitude.

    Examples
    --------
    >>> import numpy
    >>> from gluonnx import mx
    >>> counts, edges = numpy.histogram([-1, 0.2, 0.7], bins=4, range=(-1, 1))
    >>> before = counts, edges, -1, 0.7, 1
    >>> after = mx.contrib.quantization.combine_histogram(before, numpy.array([1.2]), 1.2, 1.2, 1.2)
    >>> after[0], after[2:]
    (array([0, 1, 0, 1, 1, 1]), (-1, 1.2, 1.5))
    """
    counts, edges, low, high, most = old_hist
    low, high = min(low, new_min), max(high, new_max)
    if new_th <= most:
        more, _ = np.histogram(arr, bins=len(counts), range=(-most, most))
        return counts + more, edges, low, high, most
    width = 2 * most / len(counts)
    beyond = int((new_th - most) // width + 1) if width else len(counts) // 2
    most = most + beyond * width if width else new_th
    wider, edges = np.histogram(arr, bins=len(counts) + 2 * beyond, range=(-most, most))
    wider[beyond : beyond + len(counts)] += counts
    return wider, edges, low, high, most


def _thresholds(histograms: Mapping[str, Histogram], quantized_dtype: str) -> Ranges:
    """By name the range in which quantising loses least, measured by the Kullback-Leibler divergence (Migacz 2017)."""
    ranges: Ranges = {}
    for name, (counts, edges, low, _, most) in histograms.items():
        if not most:  # nothing but zeros, of which any range is right
            ranges[name] = (0.0, 1.0)
            continue
        positive = low >= 0 and quantized_dtype in ("auto", "uint8")
        # where nothing is negative all levels are on one side
        entropy = CalibrateEntropy.bind(num_quantized_bins=511 if positive else 255)
        threshold = float(entropy.compute(counts.astype(np.float32), edges.astype(np.float32))[0][0])
        ranges[name] = (0.0 if positive else -threshold, threshold)
    return ranges


def _texts(what: str, value: Any) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"{what} must be a list of names, got {type(value).__name__}")
    return value


def _check(calib_mode: str | None, quantized_dtype: str, quantize_mode: str, quantize_granularity: str) -> None:
    for what, value, wanted in (
        ("calib_mode", calib_mode, ("none", None, "naive", "entropy", "customize")),
        ("quantized_dtype", quantized_dtype, ("int8", "uint8", "auto")),
        ("quantize_mode", quantize_mode, ("full", "smart")),
        ("quantize_granularity", quantize_granularity, ("tensor-wise", "channel-wise")),
    ):
        if value not in wanted:
            raise ValueError(f"unknown {what} {value} received, expected {' or '.join(f'`{w}`' for w in wanted if w)}")


def _parameters(graph: Graph, params: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """The parameters of a quantised graph: int8 ones with their ranges, and the others as they are."""
    quantize = Quantize.bind(out_type="int8")
    found: dict[str, NDArray] = {}
    for node in graph.arguments():
        stem = node.name.removesuffix("_quantize")
        if node.name in params:
            found[node.name] = params[node.name]
        elif stem in params:
            values = params[stem].asnumpy()
            # of zeros any range is right but none
            low, high = (values.min(), values.max()) if values.any() else (-1, 1)
            results = quantize.compute(values, np.array([low], np.float32), np.array([high], np.float32))
            for end, result in zip(("", "_min", "_max"), results):
                found[f"{node.name}{end}"] = array(result, dtype=result.dtype)
    for node in graph.nodes:
        if node.means(QuantizedBatchNorm) and node.op.fix_gamma:  # type: ignore[union-attr]
            name = node.inputs[1].node.name  # which BatchNorm takes for 1, and its counterpart for what it is
            if name in found:
                found[name] = ones(found[name].shape)
    return found


def _warn_of_mistakes(graph: Graph, quantized_dtype: str) -> None:
    """Name the nodes whose results MXNet's operators, followed to the last integer, get wrong."""
    unsigned = quantized_dtype != "int8"
    wrong = [
        n.name.removeprefix("quantized_")
        for n in graph.nodes
        if (n.means(QuantizedConvolution) and (unsigned or not n.op.no_bias))  # type: ignore[union-attr]
        or (n.means(QuantizedActivation) and unsigned)
    ]
    if wrong:
        warnings.warn(
            f"{', '.join(wrong)}: as MXNet has them, quantized_conv leaves the range of its bias out of account and takes uint8 "
            "data for int8, as quantized_act does, so that results may be far from the float ones. Use quantize_model_mkldnn or "
            "quantize_net, or exclude these nodes",
            stacklevel=3,
        )


def quantize_graph(
    sym: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    ctx: Context = cpu(),  # noqa: B008  as in MXNet
    excluded_sym_names: list[str] | None = None,
    excluded_op_names: list[str] | None = None,
    calib_mode: str | None = "entropy",
    quantized_dtype: str = "int8",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    LayerOutputCollector: Collector | None = None,  # noqa: N803  as in MXNet
    logger: Any = None,
) -> tuple[Symbol, dict[str, NDArray], Mapping[str, NDArray], Collector | None]:
    """A symbol on integers that is not calibrated yet, its parameters, and what collects ranges for calib_graph: give its
    ``collect`` to an executor of sym as monitor, with monitor_all, or call it with names and outputs.

    Raises ValueError for other values than those named below.

    Parameters
    ----------
    sym : Symbol
        Network in float.
    arg_params : dict
        Arguments by name.
    aux_params : dict
        Auxiliary states by name, which are given back as they are.
    ctx : Context, default cpu(0)
        Read over: nothing runs yet.
    excluded_sym_names : list of str or None, default None
        Nodes that stay in float.
    excluded_op_names : list of str or None, default None
        Operators whose nodes stay in float.
    calib_mode : str or None, default 'entropy'
        'none' (or None), 'naive' (the least and the greatest number), 'entropy' (the range that loses least), or
        'customize' (LayerOutputCollector collects).
    quantized_dtype : str, default 'int8'
        Dtype of what is no parameter: 'int8', 'uint8', or 'auto', which is uint8 for ranges without negative numbers,
        else int8.
    quantize_mode : str, default 'full'
        'full' is every node that can be, 'smart' those that quantising is about and what stands between them.
    quantize_granularity : str, default 'tensor-wise'
        'channel-wise' gives fused dense layers a scale for each output, 'tensor-wise' one for all.
    LayerOutputCollector : object or None, default None
        What collects ranges with 'customize'.
    logger : Logger or None, default None
        Told of what is collected.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="top")
    >>> weights = {"top_weight": mx.nd.array([[1, -2]])}
    >>> small, arguments, states, collector = mx.contrib.quantization.quantize_graph(
    ...     net, weights, {}, calib_mode="naive"
    ... )
    >>> sorted(arguments)
    ['top_weight_quantize', 'top_weight_quantize_max', 'top_weight_quantize_min']
    >>> arguments["top_weight_quantize"].asnumpy()
    array([[  64, -127]], dtype=int8)
    """
    _check(calib_mode, quantized_dtype, quantize_mode, quantize_granularity)
    excluded = _texts("excluded_sym_names", excluded_sym_names)
    excluded_ops = _texts("excluded_op_names", excluded_op_names)
    graph = quantise(
        sym.graph, arg_params.keys(), excluded, excluded_ops, quantized_dtype,
        everything=quantize_mode == "full", per_channel=quantize_granularity == "channel-wise",
    )  # fmt: skip
    _warn_of_mistakes(graph, quantized_dtype)
    wanted = frozenset(k for n in graph.nodes if (k := calibration_key(n)))
    collector: Collector | None = None
    if calib_mode == "customize":
        if LayerOutputCollector is None:
            raise ValueError("calib_mode=customize wants a LayerOutputCollector")
        collector = LayerOutputCollector
    elif calib_mode == "entropy":
        collector = _LayerHistogramCollector(include_layer=wanted, logger=logger)
    elif calib_mode == "naive":
        collector = _LayerOutputMinMaxCollector(quantized_dtype, wanted, logger)
    return Symbol(graph.outputs), _parameters(graph, arg_params), aux_params, collector


def calib_graph(
    qsym: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    collector: Any,
    calib_mode: str | None = "entropy",
    quantized_dtype: str = "int8",
    logger: Any = logging,
) -> tuple[Symbol, dict[str, NDArray], Mapping[str, NDArray]]:
    """A symbol that quantize_graph has made with the ranges that its collector has collected, and its parameters.

    Raises ValueError for a calib_mode other than naive, entropy and customize, and for ranges that are not finite.

    Parameters
    ----------
    qsym : Symbol
        What quantize_graph gave.
    arg_params : dict
        Arguments of the symbol in float, by name.
    aux_params : dict
        Auxiliary states by name, which are given back as they are.
    collector : object
        What quantize_graph gave, with the ranges.
    calib_mode : str, default 'entropy'
        As given to quantize_graph.
    quantized_dtype : str, default 'int8'
        As given to quantize_graph.
    logger : Logger, default logging
        Read over.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="top")
    >>> x, weights = mx.nd.array([[3, 1]]), {"top_weight": mx.nd.array([[1, -2]])}
    >>> small, _, _, collector = mx.contrib.quantization.quantize_graph(
    ...     net, weights, {}, calib_mode="naive"
    ... )
    >>> executor = net.bind(mx.cpu(), {"data": x, **weights})
    >>> executor.set_monitor_callback(collector.collect, monitor_all=True)
    >>> executor.forward()[0].asnumpy()
    array([[1.]], dtype=float32)
    >>> small, arguments, states = mx.contrib.quantization.calib_graph(
    ...     small, weights, {}, collector, calib_mode="naive"
    ... )
    >>> small.eval(data=x, **arguments)[0].asnumpy().round(1)
    array([[1.]], dtype=float32)
    """
    if calib_mode == "entropy":
        ranges = _thresholds(collector.hist_dict, quantized_dtype)
    elif calib_mode in ("naive", "customize"):
        ranges = collector.min_max_dict
    else:
        raise ValueError(f"calib_graph: got calib_mode={calib_mode}, wanted naive, entropy or customize")
    for node in qsym.graph.nodes:
        name = calibration_key(node)
        if name is not None and name in ranges and not np.isfinite(ranges[name]).all():
            low, high = ranges[name]
            raise ValueError(f"calibration: {name} goes from {low} to {high}; wanted finite numbers")
    graph = calibrate(qsym.graph, ranges)
    return Symbol(graph.outputs), _parameters(graph, arg_params), aux_params


def _collect(module: Module, data: DataIter, collector: Collector, most: int | None) -> int:
    """Show the collector what batches of data lead to, until most examples have been seen. How many they were.

    Raises ValueError when there are none, as when an iterator has come to its end and is not reset."""
    module._exec_group.execs[0].set_monitor_callback(collector.collect, monitor_all=True)
    count = 0
    for batch in data:
        module.forward(batch, is_train=False)
        for output in module.get_outputs():
            output.wait_to_read()
        count += data.batch_size
        if most is not None and count >= most:
            break
    if not count:
        raise ValueError("calib_data gave no batch: reset it, or give what can be gone through more than once")
    return count


def _wanted_data(calib_data: Any, calib_mode: str | None, ctx: Any) -> None:
    if not isinstance(ctx, Context):
        raise ValueError(f"currently only supports single ctx, while received {ctx}")
    if calib_data is None:
        raise ValueError(f"calib_data must be provided when calib_mode={calib_mode}")


def quantize_model(
    sym: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    data_names: Sequence[str] = ("data",),
    label_names: Sequence[str] | None = ("softmax_label",),
    ctx: Context = cpu(),  # noqa: B008
    excluded_sym_names: list[str] | None = None,
    excluded_op_names: list[str] | None = None,
    calib_mode: str | None = "entropy",
    calib_data: DataIter | None = None,
    num_calib_examples: int | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
    logger: Any = None,
) -> tuple[Symbol, dict[str, NDArray], Mapping[str, NDArray]]:
    """A symbol on integers, calibrated on calib_data, and its parameters.

    Raises ValueError without the data that calib_mode needs, and as quantize_graph does.

    Parameters
    ----------
    sym : Symbol
        Network in float.
    arg_params : dict
        Arguments by name.
    aux_params : dict
        Auxiliary states by name.
    data_names : list of str, default ('data',)
        Inputs that calib_data gives.
    label_names : list of str or None, default ('softmax_label',)
        Inputs that calib_data gives as labels.
    ctx : Context, default cpu(0)
        Device that calibration runs on.
    excluded_sym_names : list of str or None, default None
        Nodes that stay in float.
    excluded_op_names : list of str or None, default None
        Operators whose nodes stay in float.
    calib_mode : str or None, default 'entropy'
        'none' (or None), 'naive' or 'entropy', as in quantize_graph.
    calib_data : DataIter or None, default None
        Examples to calibrate on.
    num_calib_examples : int or None, default None
        Examples of it that are looked at, up to whole batches; None: all.
    quantized_dtype : str, default 'int8'
        As in quantize_graph.
    quantize_mode : str, default 'smart'
        As in quantize_graph.
    quantize_granularity : str, default 'tensor-wise'
        As in quantize_graph.
    logger : Logger or None, default None
        Told of what is collected.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="top")
    >>> x, weights = mx.nd.array([[3, 1]]), {"top_weight": mx.nd.array([[1, -2]])}
    >>> small, arguments, states = mx.contrib.quantization.quantize_model(
    ...     net, weights, {}, label_names=None, calib_mode="naive", calib_data=mx.io.NDArrayIter(x)
    ... )
    >>> small.eval(data=x, **arguments)[0].asnumpy().round(1)
    array([[1.]], dtype=float32)
    """
    if calib_mode == "customize":
        raise ValueError("unknown calibration mode customize received, expected `none`, `naive`, or `entropy`")
    qsym, qarg_params, _, collector = quantize_graph(
        sym, arg_params, aux_params, ctx, excluded_sym_names, excluded_op_names, calib_mode, quantized_dtype, quantize_mode,
        quantize_granularity, logger=logger,
    )  # fmt: skip
    if collector is None:
        return qsym, qarg_params, aux_params
    _wanted_data(calib_data, calib_mode, ctx)
    if not isinstance(calib_data, DataIter):
        raise ValueError(f"calib_data must be of DataIter type when calib_mode={calib_mode}, got {type(calib_data)}")
    module = Module(sym, data_names=data_names, label_names=label_names, context=ctx)
    module.bind(calib_data.provide_data, calib_data.provide_label or None, for_training=False)
    module.set_params(dict(arg_params), dict(aux_params))
    count = _collect(module, calib_data, collector, num_calib_examples)
    if logger:
        logger.info("Collected outputs of %d examples", count)
    return calib_graph(qsym, arg_params, aux_params, collector, calib_mode, quantized_dtype, logger)


def quantize_model_mkldnn(
    sym: Symbol,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    data_names: Sequence[str] = ("data",),
    label_names: Sequence[str] | None = ("softmax_label",),
    ctx: Context = cpu(),  # noqa: B008
    excluded_sym_names: list[str] | None = None,
    excluded_op_names: list[str] | None = None,
    calib_mode: str | None = "entropy",
    calib_data: DataIter | None = None,
    num_calib_examples: int | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
    logger: Any = None,
) -> tuple[Symbol, dict[str, NDArray], Mapping[str, NDArray]]:
    """As quantize_model, with nodes fused as MXNet's oneDNN backend does: convolutions with BatchNorm, activation and sum.

    Arguments are those of quantize_model: sym, arg_params, aux_params, data_names, label_names, ctx,
    excluded_sym_names, excluded_op_names, calib_mode, calib_data, num_calib_examples, quantized_dtype, quantize_mode,
    quantize_granularity and logger; what it raises, this raises.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.sym.Convolution(mx.sym.var("data"), kernel=(1, 1), num_filter=1, name="conv")
    >>> x = mx.nd.array([[[[3]], [[1]]]])
    >>> weights = {"conv_weight": mx.nd.array([[[[1]], [[-2]]]]), "conv_bias": mx.nd.array([5])}
    >>> small, arguments, states = mx.contrib.quantization.quantize_model_mkldnn(
    ...     net, weights, {}, label_names=None, calib_mode="naive", calib_data=mx.io.NDArrayIter(x)
    ... )
    >>> small.eval(data=x, **arguments)[0].asnumpy().round(1)
    array([[[[6.]]]], dtype=float32)
    """
    qsym, qarg_params, aux_params = quantize_model(
        sym.get_backend_symbol(BACKEND), arg_params, aux_params, data_names, label_names, ctx, excluded_sym_names,
        excluded_op_names, calib_mode, calib_data, num_calib_examples, quantized_dtype, quantize_mode, quantize_granularity,
        logger,
    )  # fmt: skip
    return qsym.get_backend_symbol(BACKEND), qarg_params, aux_params


class _Batches(DataIter):
    """Batches of a DataIter or a gluon DataLoader, as a DataIter of a network's inputs alone."""

    def __init__(self, source: Any, names: Sequence[str]):
        super().__init__()
        self._source, self._count = source, len(names)
        self.reset()
        try:
            arrays = self.next().data
        except StopIteration:
            raise ValueError("calib_data gave no batch: give what can be gone through more than once") from None
        self.provide_data = [DataDesc(n, a.shape, a.dtype) for n, a in zip(names, arrays)]
        self.provide_label: list[DataDesc] = []
        self.batch_size = arrays[0].shape[0]
        self.reset()

    def reset(self) -> None:
        """Start again."""
        if isinstance(self._source, DataIter):
            self._source.reset()
        self._iter = iter(self._source)

    def next(self) -> DataBatch:
        """The next batch, without its labels."""
        return DataBatch(data=_arrays(next(self._iter))[: self._count])


def _arrays(batch: Any) -> list[NDArray]:
    """Arrays of a batch from a DataIter or a DataLoader, labels included."""
    if isinstance(batch, DataBatch):
        return [*batch.data, *(batch.label or ())]
    return list(batch) if isinstance(batch, list | tuple) else [batch]


def _trace(network: Any, arrays: list[NDArray]) -> list[str]:
    """Run a block on as many of the arrays as it takes; the names of its inputs."""
    while True:
        try:
            network(*arrays)
            return [v.name for v in network._cached_graph[0]]
        except TypeError:  # the last ones are labels
            if len(arrays) < 2:
                raise
            arrays = arrays[:-1]


def quantize_net_v2(
    network: Any,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    exclude_layers: list[str] | None = None,
    exclude_layers_match: list[str] | None = None,
    exclude_operators: list[str] | None = None,
    calib_data: Any = None,
    data_shapes: Sequence[DataDesc] | None = None,
    calib_mode: str | None = "none",
    num_calib_examples: int | None = None,
    ctx: Context = cpu(),  # noqa: B008
    LayerOutputCollector: Collector | None = None,  # noqa: N803
    logger: Any = None,
) -> Any:
    """A SymbolBlock on integers from a HybridBlock whose parameters are set, fused as in quantize_model_mkldnn.

    Raises ValueError without the data that calib_mode needs, or without data_shapes where that is none, and as
    quantize_graph does.

    Parameters
    ----------
    network : HybridBlock
        Block in float, which is hybridized.
    quantized_dtype : str, default 'auto'
        As in quantize_graph.
    quantize_mode : str, default 'full'
        As in quantize_graph.
    quantize_granularity : str, default 'tensor-wise'
        As in quantize_graph.
    exclude_layers : list of str or None, default None
        Names of nodes that stay in float.
    exclude_layers_match : list of str or None, default None
        Parts of such names.
    exclude_operators : list of str or None, default None
        Operators whose nodes stay in float.
    calib_data : DataIter, DataLoader or None, default None
        Examples to calibrate on, whose labels are not used.
    data_shapes : list of DataDesc or None, default None
        Shapes of the inputs, where there is no calib_data.
    calib_mode : str or None, default 'none'
        As in quantize_graph.
    num_calib_examples : int or None, default None
        Examples of calib_data that are looked at, up to whole batches; None: all.
    ctx : Context, default cpu(0)
        Device that calibration runs on, and the block will.
    LayerOutputCollector : object or None, default None
        As in quantize_graph.
    logger : Logger or None, default None
        Told of what is collected.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.nn.Dense(1, in_units=2)
    >>> net.initialize(mx.init.One())
    >>> x = mx.nd.array([[3, 1]])
    >>> data = mx.gluon.data.DataLoader(x, batch_size=1)
    >>> small = mx.contrib.quantization.quantize_net_v2(
    ...     net, quantize_granularity="channel-wise", calib_data=data, calib_mode="naive"
    ... )
    >>> small(x).asnumpy().round(1), net(x).asnumpy()
    (array([[4.]], dtype=float32), array([[4.]], dtype=float32))
    """
    if calib_data is None and (not data_shapes or calib_mode not in (None, "none")):
        raise ValueError(
            f"calib_mode={calib_mode} wants calib_data" if data_shapes else "data_shapes required, or calib_data"
        )
    network.hybridize()
    if calib_data is None:
        names = _trace(network, [zeros(s.shape, dtype=s.dtype) for s in data_shapes or ()])
    else:
        first = next(iter(calib_data), None)
        if first is None:
            raise ValueError("calib_data gave no batch")
        names = _trace(network, _arrays(first))
    with tempfile.TemporaryDirectory() as folder:  # a block gives its symbol and parameters to files alone
        network.export(f"{folder}/net")
        sym, arg_params, aux_params = load_checkpoint(f"{folder}/net", 0)
        parts = _texts("exclude_layers_match", exclude_layers_match)
        matching = [n for n in sym.get_internals().list_outputs() if any(p in n for p in parts)]
        excluded = [*_texts("exclude_layers", exclude_layers), *(n.removesuffix("_output") for n in matching)]
        sym = sym.get_backend_symbol(BACKEND)
        qsym, qarg_params, _, collector = quantize_graph(
            sym, arg_params, aux_params, ctx, excluded, exclude_operators, calib_mode, quantized_dtype, quantize_mode,
            quantize_granularity, LayerOutputCollector, logger,
        )  # fmt: skip
        if collector is not None:
            _wanted_data(calib_data, calib_mode, ctx)
            data = _Batches(calib_data, names)
            module = Module(sym, data_names=names, label_names=None, context=ctx)
            module.bind(data.provide_data, for_training=False)
            module.set_params(arg_params, aux_params)
            _collect(module, data, collector, num_calib_examples)
            qsym, qarg_params, _ = calib_graph(
                qsym, arg_params, aux_params, collector, calib_mode, quantized_dtype, logger
            )
        save_checkpoint(f"{folder}/quantized", 0, qsym.get_backend_symbol(BACKEND), qarg_params, dict(aux_params))
        return SymbolBlock.imports(f"{folder}/quantized-symbol.json", names, f"{folder}/quantized-0000.params", ctx=ctx)


def quantize_net(
    network: Any,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    exclude_layers: list[str] | None = None,
    exclude_layers_match: list[str] | None = None,
    exclude_operators: list[str] | None = None,
    calib_data: Any = None,
    data_shapes: Sequence[DataDesc] | None = None,
    calib_mode: str | None = "none",
    num_calib_examples: int | None = None,
    ctx: Context = cpu(),  # noqa: B008
    logger: Any = None,
) -> Any:
    """quantize_net_v2 under its first name, with one scale for each tensor of dense layers.

    Arguments are those of quantize_net_v2: network, quantized_dtype, quantize_mode, exclude_layers,
    exclude_layers_match, exclude_operators, calib_data, data_shapes, calib_mode, num_calib_examples, ctx and logger;
    what it raises, this raises.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.nn.Dense(2, in_units=3)
    >>> net.initialize()
    >>> data = mx.gluon.data.DataLoader(mx.nd.ones((8, 3)), batch_size=4)
    >>> small = mx.contrib.quantization.quantize_net(net, calib_data=data, calib_mode="naive")
    >>> small(mx.nd.ones((4, 3))).shape
    (4, 2)
    """
    return quantize_net_v2(
        network, quantized_dtype, quantize_mode, "tensor-wise", exclude_layers, exclude_layers_match, exclude_operators,
        calib_data, data_shapes, calib_mode, num_calib_examples, ctx, None, logger,
    )  # fmt: skip
