"""Methods of symbols and arrays that are functions too: they do the same, and say so."""

import inspect

import hybrid as mx


def test_split_v2_is_a_method() -> None:
    data = mx.sym.var("data")
    assert data.split_v2((2,), axis=0).infer_shape(data=(5, 3))[1] == [(2, 3), (3, 3)]
    assert data.split_v2(2, axis=1).infer_shape(data=(5, 4))[1] == [(5, 2), (5, 2)]


def test_methods_have_the_operators_text_without_the_first_input() -> None:
    for kind, side in ((mx.nd.NDArray, "nd"), (mx.sym.Symbol, "sym")):
        said = str(inspect.getdoc(kind.clip))
        assert f"``x.clip(...)`` is ``mx.{side}.clip(x, ...)``" in said
        assert "a_min : float, required" in said and "data : array" not in said
        assert "data.clip(a_min=" in said


def test_a_gradient_has_no_example_of_its_operator() -> None:
    said = str(inspect.getdoc(mx.nd._internal._backward_RNN))
    assert said.startswith("The gradients of data, parameters and states") and ">>>" not in said


def test_the_package_can_be_asked_for_what_it_has_not() -> None:
    assert not hasattr(mx, "__wrapped__") and not hasattr(mx, "__nothing__")
