"""The functions of nd and sym: made from the operators, with signatures, docstrings and submodules."""

import inspect
import pkgutil
import sys
import types
from typing import Any

import pytest

import hybrid as mx
from hybrid import nd, sym
from hybrid.core.functions import BINARY, FLUENT
from hybrid.core.op import OPS, REGISTRY


@pytest.mark.parametrize("module", [nd, sym], ids=["nd", "sym"])
def test_every_operator_has_a_function(module) -> None:
    for name in OPS:
        function = getattr(module._internal if name.startswith("_") else module.op, name)
        assert callable(function)
        if name != "Custom":  # whose function takes the inputs that a CustomOpProp lists, and says so
            assert function.__doc__.startswith(inspect.cleandoc(OPS[name].__doc__ or name).splitlines()[0])
        signature = inspect.signature(function)
        assert set(OPS[name].fields) <= set(signature.parameters)


@pytest.mark.parametrize("module", [nd, sym], ids=["nd", "sym"])
def test_submodules(module) -> None:
    assert module.contrib.box_nms.__name__ == "box_nms"
    assert module.contrib.box_nms.__module__ == f"{module.__name__}.contrib"
    assert "box_nms" in dir(module.contrib)
    assert "FullyConnected" in dir(module)
    assert "FullyConnected" in dir(module.op)
    assert not [n for n in dir(module._internal) if n.startswith("_fused_")]  # compiled graphs hold these alone
    assert module.FullyConnected is module.op.FullyConnected
    assert module._internal._plus_scalar is module._plus_scalar
    assert module.concat.__name__ == "concat"
    for wrong in (module, module.contrib, module.op):
        with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
            getattr(wrong, "non" + "sense")
    with pytest.raises(AttributeError):
        module.op.__getattr__("_plus_scalar")


POSITIONAL = {  # as MXNet 1.9.1 orders them
    "FullyConnected": "data weight bias num_hidden no_bias flatten",
    "Activation": "data act_type",
    "split": "data num_outputs axis squeeze_axis",
    "BatchNorm": "data gamma beta moving_mean moving_var eps momentum fix_gamma use_global_stats output_mean_var axis cudnn_off",
    "RNN": "data parameters state state_cell sequence_length state_size num_layers bidirectional mode p state_outputs",
    "SequenceMask": "data sequence_length use_sequence_length value axis",
    "Convolution": "data weight bias kernel stride dilate pad num_filter num_group workspace no_bias cudnn_tune cudnn_off layout",
    "slice_axis": "data axis begin end",
    "clip": "data a_min a_max",
    "transpose": "data axes",
    "Reshape": "data shape reverse target_shape keep_highest",
    "take": "a indices axis mode",
    "LeakyReLU": "data gamma act_type slope lower_bound upper_bound",
}


@pytest.mark.parametrize("name", POSITIONAL)
def test_the_order_of_positional_arguments(name: str) -> None:
    wanted = POSITIONAL[name].split()
    for module in (nd, sym):
        parameters = inspect.signature(getattr(module, name)).parameters
        assert list(parameters)[: len(wanted)] == wanted
        assert [p for p in parameters if p in ("name", "out")] in (["name", "out"], ["out", "name"])


def test_signatures_show_defaults() -> None:
    signature = inspect.signature(nd.FullyConnected)
    assert (
        str(signature)
        == "(data=None, weight=None, bias=None, num_hidden=required, no_bias=False, flatten=True, *, out=None, name=None)"
    )
    assert str(inspect.signature(sym.Concat)) == "(*data, num_args=required, dim=1, name=None, attr=None, out=None)"
    assert "num_hidden : int >= 1, required" in nd.FullyConnected.__doc__


def test_every_name_of_the_tables_is_an_operator() -> None:
    rows = [n for row in BINARY.values() for n in (row.array, row.symbol, row.scalar, row.reflected)]
    assert not [n for n in rows if n not in REGISTRY]
    for name in FLUENT:
        assert name in REGISTRY or name == "split_v2", name
        assert hasattr(nd.NDArray, name)
        assert hasattr(mx.Symbol, name)


def test_submodules_of_the_package() -> None:
    assert mx.nd is mx.ndarray is nd
    assert mx.sym is mx.symbol is sym
    modules = {m.name for m in pkgutil.iter_modules(mx.__path__) if not m.name.startswith("_")}
    assert {"nd", "sym", "gluon", "model", "cpu", "MXNetError"} | modules <= set(dir(mx))
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        getattr(mx, "non" + "sense")


def test_functions_have_the_names_that_they_are_found_by() -> None:
    """In the namespaces, whose functions are mostly made; an alias has the name of what it stands for."""
    modules = [
        mx.init, mx.io, mx.image, mx.random, mx.contrib.ndarray, mx.contrib.symbol,
        *(getattr(m, n) for m in (nd, sym) for n in ("random", "contrib", "linalg", "image", "sparse")),
        nd, sym,
    ]  # fmt: skip
    found = {(m.__name__, n): getattr(m, n) for m in modules for n in dir(m)}
    made = {k: f for k, f in found.items() if isinstance(f, types.FunctionType) and f.__module__.startswith("hybrid")}
    assert len(made) > 900
    lost = [
        f"{module}.{n}: {f.__module__}.{f.__name__}"
        for (module, n), f in made.items()
        if found.get((module, f.__name__)) is not f and getattr(sys.modules[f.__module__], f.__name__, None) is not f
    ]
    assert not lost, "\n".join(lost)


def test_functions_of_symbols_take_names_and_attributes() -> None:
    """Those that are written by hand too."""
    x, y = sym.var("x"), sym.var("y")
    calls: dict[str, list[Any]] = {
        "zeros": [(2,)], "ones": [(2,)], "full": [(2,), 3.0], "arange": [3], "linspace": [0, 1, 3], "eye": [3],
        "histogram": [x, y], "Custom": [x], "random.uniform": [0, 1], "random.normal": [x, y], "random.randint": [0, 4],
        "random.exponential": [1], "random.gamma": [x, y], "random.poisson": [1], "random.multinomial": [x],
        "random.shuffle": [x], "random.negative_binomial": [1, 0.5], "random.generalized_negative_binomial": [1, 0.5],
        "contrib.box_nms": [x], "linalg.gemm2": [x, y], "broadcast_add": [x, y], "_internal._plus_scalar": [x],
    }  # fmt: skip
    more = {"Custom": {"op_type": "named_here"}, "_internal._plus_scalar": {"scalar": 1}}
    mx.operator.register("named_here")(mx.operator.CustomOpProp)
    wrong = {}
    for name, given in calls.items():
        function = sym
        for part in name.split("."):
            function = getattr(function, part)
        made = function(*given, name="own", attr={"__mine__": "1"}, **more.get(name, {}))
        shown = made.list_outputs()[0].partition("_")[0], made.attr("__mine__")
        if shown != ("own", "1"):
            wrong[name] = shown
    (bins,) = {sym.histogram(x, 3, (0, 1), name="own", attr={"__mine__": "1"}).attr("__mine__")}
    assert not wrong and bins == "1"
    assert [sym.var("v", __mine__=v).attr("__mine__") for v in (3, 0.5, None, (1, 2), "t")] == [
        "3",
        "0.5",
        "None",
        "(1, 2)",
        "t",
    ]
