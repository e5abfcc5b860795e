"""Automatic mixed precision: operators that gain by float16 or bfloat16 compute in it, others in float32.

``init`` does that to networks as they are written, ``convert_symbol`` and its kin to finished ones. Gradients in float16
need losses that are scaled: ``init_trainer``, ``scale_loss``, ``unscale``.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ... import optimizer as opt
from ...context import Context, gpu
from ...core.attrs import MXNET_DTYPES
from ...core.attrs import dtype as read_dtype
from ...core.error import MXNetError
from ...core.op import REGISTRY
from ...frontend.symbol import Symbol
from ...gluon import HybridBlock, SymbolBlock, trainer
from ...ir.graph import Graph
from ...ir.infer import infer
from ...module import BucketingModule
from . import casting, lists
from .loss_scaler import LossScaler

__all__ = [
    "convert_hybrid_block",
    "convert_model",
    "convert_symbol",
    "init",
    "init_trainer",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "scale_loss",
    "unscale",
]

_amp_initialized = False
_amp_loss_scale_initialized = False
_loss_scaler: LossScaler | None = None

_WHERE_IT_IS = gpu(0)
"""MXNet's default for the context of a converted block, which is no device here."""
Conditions = Sequence[tuple[str, str, list[str]]]
"""Operators in float32 where an attribute has one of some values."""


def __getattr__(name: str) -> Any:
    if name == "bfloat16":  # of a package that not everybody has
        return read_dtype(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _low(dtype: Any) -> np.dtype:
    """The dtype of low precision that a name, type or dtype means. Raises AssertionError for another."""
    try:
        name = dtype if isinstance(dtype, str) else read_dtype(dtype).name
    except ValueError:
        name = None
    assert name in ("float16", "bfloat16"), (
        f"AMP currently supports only float16 or bfloat16 as a target_dtype, got {dtype}"
    )
    return read_dtype(name)


# -- networks as they are written ----------------------------------------------------------------------------------------


def init(
    target_dtype: Any = "float16",
    target_precision_ops: list[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    fp32_ops: list[str] | None = None,
) -> None:
    """Cast the inputs of the functions of nd and sym from now on, and so in networks that are traced from now on; once only.

    Functions of target_precision_ops (default: list_lp16_ops) get inputs in target_dtype, those of fp32_ops, and of
    conditional_fp32_ops where an attribute has one of some values, in float32, those of list_widest_type_cast in the widest
    dtype among them. Functions that a program has taken hold of before stay as they are. Arrays are cast both ways on every
    device; MXNet leaves float16 as it is on CPUs.

    Raises AssertionError for another dtype than float16 and bfloat16, AttributeError for names that no operator has.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.contrib.amp.init("float16")
    >>> x = mx.nd.ones((2, 3))
    >>> mx.nd.FullyConnected(x, mx.nd.ones((4, 3)), num_hidden=4, no_bias=True).dtype
    <class 'numpy.float16'>
    >>> mx.nd.softmax(x.astype("float16")).dtype
    <class 'numpy.float32'>
    """
    global _amp_initialized, _loss_scaler
    if _amp_initialized:
        return
    low, full = _low(target_dtype), np.dtype(np.float32)
    in_low = list_lp16_ops(low) if target_precision_ops is None else target_precision_ops
    in_float32 = list_fp32_ops(low) if fp32_ops is None else fp32_ops
    conditions = list_conditional_fp32_ops(low) if conditional_fp32_ops is None else conditional_fp32_ops
    kept = list_lp16_use_fp32_params(low) or {}
    known = {*list_lp16_ops(low), *list_fp32_ops(low), *list_lp16_fp32_ops(low), *list_widest_type_cast(low)}
    unknown = [n for n in (*in_low, *in_float32, *(c[0] for c in conditions)) if n not in known and n not in REGISTRY]
    if unknown:
        raise AttributeError(f"amp.init: there are no operators {', '.join(unknown)}")
    castings: dict[str, list[casting.Casting]] = {}
    for name in in_low:
        castings.setdefault(name, []).append(casting.Casting(low, kept.get(name, ())))
    for name in in_float32:
        castings.setdefault(name, []).append(casting.Casting(full))
    for name, attribute, values in conditions:
        castings.setdefault(name, []).append(casting.Casting(full, when=(attribute, values)))
    for name in list_widest_type_cast(low):
        castings.setdefault(name, []).append(casting.Casting(None))
    _amp_initialized = True
    logging.info("Using AMP")
    _loss_scaler = LossScaler()
    casting.switch_on(castings, low, list_loss_output_functions(low), _loss_scaler)


def init_trainer(optimizer_or_trainer: Any) -> None:
    """Give a Trainer a loss scaler; steps with gradients that are not finite change no parameters then.

    Raises TypeError for anything else, an optimizer too, AssertionError before ``init``.

    optimizer_or_trainer: the Trainer.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.contrib.amp.init()
    >>> net = mx.gluon.nn.Dense(1, in_units=2, use_bias=False)
    >>> net.initialize(mx.init.One())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1})
    >>> mx.contrib.amp.init_trainer(trainer)
    >>> with mx.autograd.record():
    ...     loss = mx.gluon.loss.L2Loss()(net(mx.nd.array([[1, 0]])), mx.nd.array([0.875]))
    ...     with mx.contrib.amp.scale_loss(loss, trainer) as scaled:
    ...         scaled.backward()
    >>> trainer.step(1)
    >>> net.weight.data().asnumpy()
    array([[0.875, 1.   ]], dtype=float32)
    """
    global _amp_loss_scale_initialized
    assert _amp_initialized, "AMP not initialized, did you forget to call amp.init()?"
    scaler = LossScaler() if _amp_loss_scale_initialized or _loss_scaler is None else _loss_scaler
    _amp_loss_scale_initialized = True
    found = _want_trainer(optimizer_or_trainer)
    found._amp_loss_scaler = scaler
    found._amp_original_scale = found._scale


def _want_trainer(given: Any) -> Any:
    if isinstance(given, trainer.Trainer):
        return given
    if isinstance(given, opt.Optimizer):
        raise TypeError("AMP is currently only compatible with Gluon Trainer")
    raise TypeError(f"optimizer_or_trainer should be a Gluon Trainer or an optimizer, instead is {type(given)}")


@contextlib.contextmanager
def scale_loss(loss: Any, optimizer_or_trainer: Any) -> Iterator[Any]:
    """``with scale_loss(loss, trainer) as scaled:`` multiplies a loss, or each of a list, by the trainer's loss scale, which its
    next step divides by. Raises AttributeError before init_trainer.

    loss: an array, or a list of them. optimizer_or_trainer: a Trainer that init_trainer was given.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.contrib.amp.init()
    >>> net = mx.gluon.nn.Dense(1, in_units=2, use_bias=False)
    >>> net.initialize(mx.init.One())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1})
    >>> mx.contrib.amp.init_trainer(trainer)
    >>> with mx.contrib.amp.scale_loss(mx.nd.array([0.5]), trainer) as scaled:
    ...     print(scaled.asnumpy())
    [32768.]
    """
    scaler = optimizer_or_trainer._amp_loss_scaler
    assert scaler is not None, "Loss scaler is not initialized, did you forget to call amp.init_trainer()?"
    optimizer_or_trainer._scale = optimizer_or_trainer._amp_original_scale / scaler.loss_scale
    yield [x * scaler.loss_scale for x in loss] if isinstance(loss, list | tuple) else scaler.loss_scale * loss


def unscale(optimizer_or_trainer: Any) -> None:
    """Divide a Trainer's gradients by the loss scale now, for what is done with them before its step, which does not again.

    optimizer_or_trainer: a Trainer that init_trainer was given; TypeError for anything else.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.contrib.amp.init()
    >>> net = mx.gluon.nn.Dense(1, in_units=2, use_bias=False)
    >>> net.initialize(mx.init.One())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1})
    >>> mx.contrib.amp.init_trainer(trainer)
    >>> with mx.autograd.record():
    ...     loss = mx.gluon.loss.L2Loss()(net(mx.nd.array([[1, 0]])), mx.nd.array([0.875]))
    ...     with mx.contrib.amp.scale_loss(loss, trainer) as scaled:
    ...         scaled.backward()
    >>> mx.contrib.amp.unscale(trainer)
    >>> net.weight.grad().asnumpy()  # now they can be clipped
    array([[0.125, 0.   ]], dtype=float32)
    """
    found = _want_trainer(optimizer_or_trainer)
    for param in found._params:
        for gradient in param._grad or ():
            gradient[:] *= found._scale
    found._scale = 1.0


# -- finished networks -----------------------------------------------------------------------------------------------------


def convert_symbol(
    sym: Symbol,
    target_dtype: Any = "float16",
    target_dtype_ops: list[str] | None = None,
    fp32_ops: list[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: list[str] | None = None,
    data_names: list[str] | None = None,
    cast_optional_params: bool = False,
) -> Symbol:
    """The symbol of a float32 network with casts before the operators of target_dtype_ops, fp32_ops and conditional_fp32_ops
    (defaults: those of the lists of this module), but for nodes of excluded_sym_names; outputs are float32.

    data_names: inputs, which are float32; by default variables without a declared dtype. The others are parameters, whose
    dtype is declared then; with cast_optional_params those that only operators in target_dtype read are of it.

    Raises MXNetError for data_names that the network has not.

    Raises AssertionError for other dtypes, and for operators in two lists or in none of MXNet's.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="top")
    >>> half = mx.contrib.amp.convert_symbol(net, target_dtype="float16")
    >>> any(node.op.name == "amp_cast" for node in half.graph.nodes if not node.is_variable)
    True
    """
    from ...passes.reduce_precision import Precisions, reduce_precision  # which programs that train do not need

    assert isinstance(sym, Symbol), "First argument to convert_symbol should be Symbol"
    low = _low(target_dtype)
    in_low = _chosen(target_dtype_ops, list_lp16_ops(low), "target_dtype_ops")
    in_float32 = _chosen(fp32_ops, list_fp32_ops(low), "fp32_ops")
    conditions = _chosen(conditional_fp32_ops, list_conditional_fp32_ops(low), "conditional_fp32_ops")
    for condition in conditions:
        ok = (
            len(condition) == 3
            and all(isinstance(part, str) for part in condition[:2])
            and isinstance(condition[2], list)
        )
        assert ok, "conditional_fp32_ops should be a list of (str, str, list of str)"
    excluded = _chosen(excluded_sym_names, [], "excluded_sym_names")
    _want_apart(low, target_dtype_ops=in_low, fp32_ops=in_float32, conditional_fp32_ops=[c[0] for c in conditions])

    names, declared = sym.list_inputs(), sym.attr_dict()
    if data_names is None:
        data_names = [n for n in names if "__dtype__" not in declared.get(n, {})]
    unknown = [n for n in data_names if n not in names]
    if unknown:
        raise MXNetError(
            f"Keyword argument name {', '.join(unknown)} not found. Candidate arguments: {', '.join(names)}"
        )
    conditional: dict[str, list[tuple[str, list[str]]]] = {}
    for name, attribute, values in conditions:
        conditional.setdefault(name, []).append((attribute, values))
    inputs = data_names if cast_optional_params else None
    wanted = Precisions(low, in_low, in_float32, list_widest_type_cast(low), conditional, excluded, inputs)
    graph = reduce_precision(sym.graph, wanted)
    _declare(graph, {*names} - {*data_names}, data_names, low, cast_optional_params)
    return Symbol(graph.outputs)


def _chosen(given: Any, default: Sequence[Any], name: str) -> list[Any]:
    assert given is None or isinstance(given, list), f"{name} should be a list, got {type(given).__name__}"
    return list(default) if given is None else given


def _want_apart(low: np.dtype, **named: list[str]) -> None:
    """Raise AssertionError for operators that are in two lists, or that MXNet has in none."""
    for first, second in (
        ("target_dtype_ops", "fp32_ops"),
        ("target_dtype_ops", "conditional_fp32_ops"),
        ("fp32_ops", "conditional_fp32_ops"),
    ):
        both = {*named[first]} & {*named[second]}
        assert not both, f"Ops cannot be in two or more lists. Common ops in {first} and {second} {both}"
    known = {*list_lp16_ops(low), *list_fp32_ops(low), *list_lp16_fp32_ops(low)}
    known |= {c[0] for c in list_conditional_fp32_ops(low)}
    strange = {n for ops in named.values() for n in ops} - known
    assert not strange, (
        "Can only choose ops from amp.list_lp16_ops, list_fp32_ops, list_lp16_fp32_ops and list_conditional_fp32_ops. "
        f"Op {strange} not in any of them"
    )


def _declare(graph: Graph, parameters: set[str], data: Sequence[str], low: np.dtype, optional: bool) -> None:
    """Write the dtypes of parameters into their variables, or where there are none, of variables that declare one."""
    from ...passes.reduce_precision import stored_low

    free = {*stored_low(graph)} - {*data} if optional else set()
    start = {node.name: None for node in graph.variables()} | dict.fromkeys(data, "float32")
    found = infer(graph, dtypes=start)
    for node in graph.variables():
        if node.name in parameters if parameters else "__dtype__" in node.attrs:
            dtype = found.dtypes.get((id(node), 0)) or (low if node.name in free else np.dtype(np.float32))
            node.attrs["__dtype__"] = str(MXNET_DTYPES.index(dtype.name))


def convert_model(
    sym: Symbol,
    arg_params: dict[str, Any],
    aux_params: dict[str, Any],
    target_dtype: Any = "float16",
    target_dtype_ops: list[str] | None = None,
    fp32_ops: list[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: list[str] | None = None,
    cast_optional_params: bool = False,
) -> tuple[Symbol, dict[str, Any], dict[str, Any]]:
    """The symbol as convert_symbol makes it, and the parameters in the dtypes that it declares.

    Parameters
    ----------
    sym : Symbol
        Network in float32.
    arg_params : dict
        Arguments by name.
    aux_params : dict
        Auxiliary states by name.
    target_dtype : str or dtype, default 'float16'
        float16 or bfloat16.
    target_dtype_ops : list of str or None, default None
        Operators that compute in it; None: list_lp16_ops.
    fp32_ops : list of str or None, default None
        Operators that compute in float32; None: list_fp32_ops.
    conditional_fp32_ops : list of (str, str, list of str) or None, default None
        Operators that do so where an attribute has one of some values; None: list_conditional_fp32_ops.
    excluded_sym_names : list of str or None, default None
        Nodes before which nothing is cast.
    cast_optional_params : bool, default False
        Declare parameters that only operators in target_dtype read as of it.

    Raises AssertionError for arguments of other kinds, and as convert_symbol does.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, no_bias=True, name="top")
    >>> weights = {"top_weight": mx.nd.ones((2, 3))}
    >>> half, weights, states = mx.contrib.amp.convert_model(net, weights, {}, cast_optional_params=True)
    >>> weights["top_weight"].dtype
    <class 'numpy.float16'>
    """
    assert isinstance(sym, Symbol), "First argument to convert_model should be Symbol"
    assert isinstance(arg_params, dict), "Second argument to convert_model should be a dict of name to ndarray"
    assert isinstance(aux_params, dict), "Third argument to convert_model should be a dict of name to ndarray"
    data = [n for n in sym.list_inputs() if n not in arg_params and n not in aux_params]
    made = convert_symbol(
        sym,
        target_dtype,
        target_dtype_ops,
        fp32_ops,
        conditional_fp32_ops,
        excluded_sym_names,
        data,
        cast_optional_params,
    )
    return made, _as_declared(made, arg_params), _as_declared(made, aux_params)


def _as_declared(symbol: Symbol, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays in the dtypes that a symbol declares of its variables."""
    attrs = symbol.attr_dict()
    flags = {n: attrs.get(n, {}).get("__dtype__", "-1") for n in arrays}
    return {n: a if flags[n] == "-1" else a.astype(MXNET_DTYPES[int(flags[n])]) for n, a in arrays.items()}


def convert_hybrid_block(
    block: HybridBlock,
    target_dtype: Any = "float16",
    target_dtype_ops: list[str] | None = None,
    fp32_ops: list[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: list[str] | None = None,
    ctx: Context | list[Context] = _WHERE_IT_IS,
    cast_optional_params: bool = False,
) -> SymbolBlock:
    """A block of the network that convert_symbol makes of one that is hybridized and was called, with its parameters.

    ctx: where they are to be; by default where they are. Raises RuntimeError for a block that was
    not called.

    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, cast_optional_params: as in
    convert_symbol.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize()
    >>> net.hybridize()
    >>> _ = net(mx.nd.ones((1, 3)))
    >>> half = mx.contrib.amp.convert_hybrid_block(net, target_dtype="float16")
    >>> half(mx.nd.ones((1, 3))).shape
    (1, 2)
    """
    assert isinstance(block, HybridBlock), "block input should be a HybridBlock"
    graph = block._graph_to_write()
    if not graph:
        raise RuntimeError(
            "Please first call block.hybridize() and then run forward with this block at least once before calling export."
        )
    inputs, symbol = graph
    data = [str(x.name) for x in inputs]
    converted = convert_symbol(
        symbol,
        target_dtype,
        target_dtype_ops,
        fp32_ops,
        conditional_fp32_ops,
        excluded_sym_names,
        data,
        cast_optional_params,
    )
    names, states = {*converted.list_inputs()}, {*converted.list_auxiliary_states()}
    parameters = {n: p for n, p in block.collect_params().items() if n in names}
    arrays = _as_declared(converted, {n: p._reduce() for n, p in parameters.items()})
    made = SymbolBlock(converted, inputs)
    for name, param in made.collect_params().items():
        param.cast(arrays[name].dtype)
    if ctx is _WHERE_IT_IS and parameters:
        ctx = next(iter(parameters.values())).list_ctx()
    loaded = {f"{'aux' if n in states else 'arg'}:{n}": a for n, a in arrays.items()}
    made.collect_params().load_dict(loaded, ctx=ctx)
    return made


def convert_bucketing_module(
    bucketing_mod: BucketingModule,
    target_dtype: Any = "float16",
    target_dtype_ops: list[str] | None = None,
    fp32_ops: list[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: list[str] | None = None,
    cast_optional_params: bool = False,
) -> BucketingModule:
    """A BucketingModule of the symbols that convert_symbol makes of those of its buckets so far, with its parameters."""
    assert isinstance(bucketing_mod, BucketingModule), "module should be instance of bucketing module"
    assert bucketing_mod._buckets, "Bucketing Module should not be empty"
    assert bucketing_mod.params_initialized, "bucketing_mod params should be initialized for mixed precision conversion"
    arg_params, aux_params = bucketing_mod.get_params()
    options = (target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, cast_optional_params)
    converted = {
        key: convert_model(module.symbol, arg_params, aux_params, *options)
        for key, module in bucketing_mod._buckets.items()
    }
    key = bucketing_mod._default_bucket_key
    return BucketingModule.load_dict(
        {k: symbol for k, (symbol, _, _) in converted.items()},
        sym_gen=bucketing_mod._sym_gen,
        default_bucket_key=key,
        arg_params=converted[key][1],
        aux_params=converted[key][2],
        **bucketing_mod._settings,
    )


# -- the lists ---------------------------------------------------------------------------------------------------------------


def _by_dtype(target_dtype: Any, float16: str, bfloat16: str) -> Any:
    if _low(target_dtype).name == "float16":
        return getattr(lists.symbol_fp16, float16)
    return getattr(lists.symbol_bf16, bfloat16)


def list_lp16_ops(target_dtype: Any) -> list[str]:
    """Names of the operators that compute in low precision.

    target_dtype: 'float16' or 'bfloat16', as a name or a dtype; AssertionError for another.

    Examples
    --------
    >>> from gluonnx import mx
    >>> "Convolution" in mx.contrib.amp.list_lp16_ops("float16")
    True
    """
    return _by_dtype(target_dtype, "FP16_FUNCS", "BF16_FUNCS")


def list_fp32_ops(target_dtype: Any) -> list[str]:
    """Names of the operators that compute in float32.

    target_dtype: 'float16' or 'bfloat16', as a name or a dtype; AssertionError for another.

    Examples
    --------
    >>> from gluonnx import mx
    >>> "softmax" in mx.contrib.amp.list_fp32_ops("float16")
    True
    """
    return _by_dtype(target_dtype, "FP32_FUNCS", "FP32_FUNCS")


def list_lp16_fp32_ops(target_dtype: Any) -> list[str]:
    """Names of the operators that compute in the dtype that their inputs have.

    target_dtype: 'float16' or 'bfloat16', as a name or a dtype; AssertionError for another.

    Examples
    --------
    >>> from gluonnx import mx
    >>> "relu" in mx.contrib.amp.list_lp16_fp32_ops("float16")
    True
    """
    return _by_dtype(target_dtype, "FP16_FP32_FUNCS", "BF16_FP32_FUNCS")


def list_conditional_fp32_ops(target_dtype: Any) -> list[tuple[str, str, list[str]]]:
    """Names of operators, attributes, and values of these with which the operators compute in float32.

    target_dtype: 'float16' or 'bfloat16', as a name or a dtype; AssertionError for another.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.contrib.amp.list_conditional_fp32_ops("float16")[0]
    ('Activation', 'act_type', ['softrelu'])
    """
    return _by_dtype(target_dtype, "CONDITIONAL_FP32_FUNCS", "CONDITIONAL_FP32_FUNCS")


def list_widest_type_cast(target_dtype: Any) -> list[str]:
    """Names of the operators that compute in the widest dtype of their inputs.

    target_dtype: 'float16' or 'bfloat16', as a name or a dtype; AssertionError for another.

    Examples
    --------
    >>> from gluonnx import mx
    >>> "broadcast_add" in mx.contrib.amp.list_widest_type_cast("float16")
    True
    """
    return _by_dtype(target_dtype, "WIDEST_TYPE_CASTS", "WIDEST_TYPE_CASTS")


def list_loss_output_functions(target_dtype: Any) -> list[str]:
    """Names of losses whose gradients the loss scale multiplies.

    target_dtype: 'float16' or 'bfloat16', as a name or a dtype; AssertionError for another.

    Examples
    --------
    >>> from gluonnx import mx
    >>> "SoftmaxOutput" in mx.contrib.amp.list_loss_output_functions("float16")
    True
    """
    return _by_dtype(target_dtype, "LOSS_OUTPUT_FUNCTIONS", "LOSS_OUTPUT_FUNCTIONS")


def list_lp16_use_fp32_params(target_dtype: Any) -> dict[str, list[str]] | None:
    """Names of the inputs that stay in float32, by those of operators; None for float16.

    target_dtype: 'float16' or 'bfloat16', as a name or a dtype; AssertionError for another.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.contrib.amp.list_lp16_use_fp32_params("bfloat16")["BatchNorm"]
    ['', 'gamma', 'beta', 'moving_mean', 'moving_var']
    >>> mx.contrib.amp.list_lp16_use_fp32_params("float16") is None
    True
    """
    return lists.symbol_bf16.BF16_USE_FP32_PARAMS if _low(target_dtype).name == "bfloat16" else None
