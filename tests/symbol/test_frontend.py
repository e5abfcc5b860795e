"""The functions of nd and sym: made from the operators, with signatures, docstrings and submodules."""

import inspect

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
    assert "num_hidden : int, required" in nd.FullyConnected.__doc__


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
    assert {"nd", "sym", "gluon", "model", "cpu", "MXNetError"} <= set(dir(mx))
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        getattr(mx, "non" + "sense")
