"""Bound executors: MXNet's Module-era way to run a symbol."""

import numpy as np
import pytest

import hybrid as mx
from hybrid import nd, sym


def network() -> mx.Symbol:
    net = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc")
    return sym.BatchNorm(net, name="bn", fix_gamma=False, eps=1e-3)


def bound() -> mx.executor.Executor:
    executor = network().simple_bind(mx.cpu(), data=(2, 4))
    rng = np.random.default_rng(1)
    for array in executor.arg_arrays:
        array[:] = rng.normal(size=array.shape)
    executor.aux_dict["bn_moving_mean"][:] = rng.normal(size=3)
    executor.aux_dict["bn_moving_var"][:] = 0.5 + rng.random(3)
    return executor


def expected(executor: mx.executor.Executor, data: np.ndarray) -> np.ndarray:
    a = {n: x.asnumpy().astype(np.float64) for n, x in {**executor.arg_dict, **executor.aux_dict}.items()}
    y = data.astype(np.float64) @ a["fc_weight"].T + a["fc_bias"]
    return (y - a["bn_moving_mean"]) / np.sqrt(a["bn_moving_var"] + 1e-3) * a["bn_gamma"] + a["bn_beta"]


def test_forward() -> None:
    executor = bound()
    data = np.random.default_rng(2).normal(size=(2, 4)).astype(np.float32)
    assert executor.outputs[0].shape == (2, 3)
    for given in (data, nd.array(data)):
        (y,) = executor.forward(data=given)
        np.testing.assert_allclose(y.asnumpy(), expected(executor, data), rtol=1e-5, atol=1e-6)
    assert executor.outputs[0] is executor.output_dict["bn_output"]
    executor.arg_dict["fc_bias"][:] += 1
    np.testing.assert_allclose(executor.forward()[0].asnumpy(), expected(executor, data), rtol=1e-5, atol=1e-6)


def test_outputs_stay_what_they_were() -> None:
    executor = bound()
    (first,) = executor.forward(data=nd.ones((2, 4)))
    kept = first.asnumpy()
    executor.forward(data=nd.zeros((2, 4)))
    np.testing.assert_array_equal(first.asnumpy(), kept)
    alias = sym.var("x").simple_bind(mx.cpu(), x=(2,))
    (y,) = alias.forward(x=nd.ones(2))
    y[:] = 7
    assert alias.arg_dict["x"].asnumpy().tolist() == [1, 1]


def test_arrays() -> None:
    executor = bound()
    assert (
        list(executor.arg_dict) == ["data", "fc_weight", "fc_bias", "bn_gamma", "bn_beta"] == list(executor.grad_dict)
    )
    assert list(executor.aux_dict) == ["bn_moving_mean", "bn_moving_var"]
    assert executor.arg_arrays[1] is executor.arg_dict["fc_weight"]
    assert executor.aux_arrays[0] is executor.aux_dict["bn_moving_mean"]
    assert executor.grad_arrays[1].shape == (3, 4)
    assert network().simple_bind(mx.cpu(), grad_req="null", data=(2, 4)).grad_arrays == [None] * 5
    half = sym.FullyConnected(sym.var("x"), num_hidden=2).simple_bind(mx.cpu(), type_dict={"x": "float16"}, x=(1, 2))
    assert {a.dtype for a in half.arg_arrays} == {np.float16}


def test_bind() -> None:
    net = sym.FullyConnected(sym.var("x"), num_hidden=3, name="f")
    arrays = [nd.ones((1, 2)), nd.ones((3, 2)), nd.ones(3)]
    named = dict(zip(net.list_arguments(), arrays))
    for args in (arrays, named, {**named, "extra": nd.ones(1)}):
        executor = net.bind(mx.cpu(), args)
        assert executor.forward()[0].asnumpy().tolist() == [[3, 3, 3]]
        assert executor.arg_dict["x"] is arrays[0]
    assert net.eval(**named)[0].asnumpy().tolist() == [[3, 3, 3]]
    assert net.eval(mx.cpu(), **named)[0].shape == (1, 3)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda n: n.bind(mx.cpu(), {"data": nd.ones((1, 2))}), ValueError,
         "`fc_weight`, `fc_bias`, .*`bn_beta` is missing in `args`"),
        (lambda n: n.bind(mx.cpu(), [nd.ones((1, 2))]), ValueError, "Length of args does not match"),
        (lambda n: n.bind(mx.cpu(), 3), TypeError, "Only accept list of NDArrays or dict"),
        (lambda n: n.bind("cpu", {}), TypeError, "Context type error"),
        (lambda n: n.bind(mx.gpu(), {}), mx.MXNetError, "CPUs only"),
        (lambda n: n.eval(data=1), ValueError, "missing"),
        (lambda n: n.simple_bind(mx.cpu()), mx.MXNetError, "cannot decide the shapes of data"),
        (lambda n: n.simple_bind(mx.cpu(), grad_req="foo", data=(1, 2)), ValueError, "grad_req=foo"),
        (lambda n: bound().forward(foo=nd.ones(1)), TypeError, "Unknown argument foo"),
        (lambda n: bound().forward(data=nd.ones((3, 4))), ValueError, r"Argument data, need: \(2, 4\), received: \(3, 4\)"),
        (lambda n: bound().backward(), mx.MXNetError, "head_gradient is required.*got none"),
        (lambda n: bound().copy_params_from({"foo": nd.ones(1), "fc_bias": nd.ones(9)}), ValueError,
         r'(?s)"foo" that is not in the arguments.*fc_bias has shape \(9,\), wanted \(3,\)'),
        (lambda n: bound().copy_params_from({}, {"bar": nd.ones(1)}), ValueError, '"bar" that is not in the auxiliary states'),
        (lambda n: bound().reshape(data=(5, 4)), mx.MXNetError, "allow_up_sizing"),
        (lambda n: bound().reshape(data=(2, 3)), mx.MXNetError, "fc_weight would change.*partial_shaping"),
    ],
)  # fmt: skip
def test_errors(call, error, match) -> None:
    with pytest.raises(error, match=match):
        call(network())


def test_wrong_shapes_are_refused_when_binding() -> None:
    net = sym.FullyConnected(sym.var("x"), num_hidden=3, name="f")
    with pytest.raises(mx.MXNetError, match=r"operator f: .*\(3, 3\)"):
        net.bind(mx.cpu(), {"x": nd.ones((1, 2)), "f_weight": nd.ones((3, 3)), "f_bias": nd.ones(3)})


def test_copy_params() -> None:
    executor = bound()
    executor.copy_params_from(
        {"fc_weight": nd.ones((3, 4), dtype="float64"), "foo": nd.ones(1)}, allow_extra_params=True
    )
    assert executor.arg_dict["fc_weight"].dtype == np.float32
    assert executor.arg_dict["fc_weight"].asnumpy().tolist() == np.ones((3, 4)).tolist()


def test_reshape() -> None:
    executor = bound()
    smaller = executor.reshape(data=(1, 4))
    assert smaller.arg_dict["fc_weight"] is executor.arg_dict["fc_weight"]
    data = np.ones((1, 4), np.float32)
    np.testing.assert_allclose(smaller.forward(data=data)[0].asnumpy(), expected(executor, data), rtol=1e-5, atol=1e-6)
    assert executor.reshape(allow_up_sizing=True, data=(5, 4)).outputs[0].shape == (5, 3)
    other = executor.reshape(partial_shaping=True, allow_up_sizing=True, data=(2, 5))
    assert other.arg_dict["fc_weight"].shape == other.grad_dict["fc_weight"].shape == (3, 5)
    alone = network().simple_bind(mx.cpu(), grad_req={"fc_weight": "write"}, data=(2, 4))
    resized = alone.reshape(partial_shaping=True, allow_up_sizing=True, data=(2, 5))
    assert {n: a.shape for n, a in resized.grad_dict.items() if a is not None} == {"fc_weight": (3, 5)}


def test_nan_weights_show() -> None:
    executor = bound()
    executor.arg_dict["fc_weight"][1] = np.nan
    y = executor.forward(data=nd.ones((2, 4)))[0].asnumpy()
    assert np.isnan(y[:, 1]).all()
    assert np.isfinite(y[:, [0, 2]]).all()


def test_parameters_of_another_shape_are_refused_whatever_their_size() -> None:
    executor = bound()
    before = executor.arg_dict["fc_weight"].asnumpy()
    with pytest.raises(ValueError, match=r"fc_weight has shape .*4.*3.*, wanted .*3.*4"):
        executor.copy_params_from({"fc_weight": nd.zeros((4, 3))})
    assert (executor.arg_dict["fc_weight"].asnumpy() == before).all()


# -- gradients ---------------------------------------------------------------------------------------------------------------------

X, W = np.array([[1.0, -2], [3, 4], [5, -6]]), np.array([[2.0, 0.5], [-1, 3], [4, 7]])


def two_outputs() -> mx.Symbol:
    """x * w and x + 3 w, and a loss of x alone."""
    x, w = sym.var("x"), sym.var("w")
    product = sym.elemwise_mul(x, w, name="product")
    total = sym.elemwise_add(x, w * 3, name="total")
    return sym.Group([product, total, sym.make_loss(x * 10, name="loss")])


def test_gradients_as_requested_from_outputs_as_given() -> None:
    """grad_req as a text, a list or a dict; gradients of outputs as a list, a dict or one array; once and again."""
    dy, dz = np.array([[1.0, 2], [3, 4], [5, 6]]), np.array([[-1.0, 0.5], [2, 1], [0, 3]])
    slopes = {"x": dy * W + dz + 10, "w": dy * X + 3 * dz}
    for grad_req in (
        "write", "add", "null", ["write", "add"], ["null", "write"], {"x": "add"}, {"w": "write", "x": "null"}, ("add", "null"),
    ):  # fmt: skip
        requests = (
            dict.fromkeys("xw", grad_req) if isinstance(grad_req, str)
            else {n: grad_req.get(n, "null") for n in "xw"} if isinstance(grad_req, dict) else dict(zip("xw", grad_req))
        )  # fmt: skip
        for form in ("list", "dict", "arrays"):
            gradients = {n: nd.array(np.full((3, 2), 100.0)) for n in "xw"}
            given = list(gradients.values()) if form == "list" else gradients
            executor = two_outputs().bind(mx.cpu(), {"x": nd.array(X), "w": nd.array(W)}, given, grad_req)
            for _ in range(2):
                made = executor.forward(is_train=True)
                assert [y.asnumpy().tolist() for y in made] == [
                    (X * W).tolist(),
                    (X + 3 * W).tolist(),
                    (X * 10).tolist(),
                ]
                heads = {"product_output": nd.array(dy), "total_output": nd.array(dz)}
                executor.backward(heads if form == "dict" else list(heads.values()))
            for name, request in requests.items():
                want = {"write": slopes[name], "add": 100 + 2 * slopes[name], "null": np.full((3, 2), 100.0)}[request]
                np.testing.assert_allclose(
                    gradients[name].asnumpy(), want, rtol=1e-6, err_msg=f"{grad_req} {form} {name}"
                )
                held = executor.grad_dict[name]
                assert held is gradients[name] or request == "null"


def test_backward_needs_no_forward_and_may_be_asked_twice() -> None:
    gradient = nd.zeros((3, 2))
    executor = sym.make_loss(sym.square(sym.var("x"))).bind(mx.cpu(), [nd.array(X)], [gradient])
    executor.backward()
    assert gradient.asnumpy().tolist() == (2 * X).tolist()
    executor.forward(is_train=True, x=nd.array(W))
    for _ in range(2):
        gradient[:] = -1
        executor.backward()
        assert gradient.asnumpy().tolist() == (2 * W).tolist()
    executor.forward(x=nd.array(X))  # no training: what comes back is of these inputs all the same
    executor.backward()
    assert gradient.asnumpy().tolist() == (2 * X).tolist()
    one = sym.negative(sym.var("x"), name="n").bind(mx.cpu(), [nd.array(X)], [gradient])
    one.forward(is_train=True)
    one.backward(nd.array(W))
    assert gradient.asnumpy().tolist() == (-W).tolist()
    still = sym.negative(sym.var("x")).bind(mx.cpu(), [nd.array(X)])
    still.forward(is_train=True)
    still.backward()  # nobody wants a gradient, so none is needed
    assert still.grad_arrays == [None]


def test_gradients_are_those_of_the_last_forward_in_either_mode() -> None:
    x = sym.var("x")
    executor = sym.exp(x * x).simple_bind(mx.cpu(), x=(2,))  # whose way back reads what forward gave
    for number, training in enumerate((True, False, True, True, False, False, True), 1):
        executor.forward(is_train=training, x=nd.array([number / 8, -number / 4]))
        executor.backward(nd.ones(2))
        given = np.array([number / 8, -number / 4])
        got, want = executor.grad_dict["x"].asnumpy(), 2 * given * np.exp(given**2)
        np.testing.assert_allclose(got, want, rtol=1e-5, err_msg=f"{number} {training}")


def test_what_may_not_be_bound() -> None:
    net = two_outputs()
    arrays = [nd.array(X), nd.array(W)]
    for call, error, said in (
        (lambda: net.bind(mx.cpu(), arrays, grad_req=["write"]), ValueError, r"got 1 entries for 2 arguments \(x, w\)"),
        (lambda: net.bind(mx.cpu(), arrays, grad_req={"x": "maybe"}), ValueError, "grad_req=maybe is not valid"),
        (lambda: net.bind(mx.cpu(), {"x": 1, "w": arrays[0]}), TypeError, "Only accept list of NDArrays"),
        (
            lambda: net.bind(mx.cpu(), arrays, [arrays[0]]),
            ValueError,
            "does not match the number of arguments: got 1, wanted 2",
        ),
    ):
        with pytest.raises(error, match=said):
            call()
    executor = net.bind(mx.cpu(), arrays, {"w": nd.zeros((3, 2))})
    assert executor.grad_dict["x"] is None
    executor.forward(is_train=True)
    with pytest.raises(mx.MXNetError, match="head_gradient is required when calling backward: total_output got none"):
        executor.backward({"product_output": nd.array(X), "loss_output": nd.array(X)})


def test_executors_that_share_their_arrays() -> None:
    net = sym.BatchNorm(sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc"), name="bn")
    first = net.simple_bind(mx.cpu(), data=(2, 4))
    names = ["fc_weight", "bn_gamma"]
    apart = net.simple_bind(
        mx.cpu(), data=(5, 4), shared_arg_names=names, shared_exec=first
    )  # as MXNet: without a buffer
    assert apart.arg_dict["fc_weight"] is not first.arg_dict["fc_weight"]
    shared = {"shared_arg_names": names, "shared_exec": first, "shared_buffer": {}}
    second = net.simple_bind(mx.cpu(), data=(5, 4), **shared)
    for name in net.list_arguments():
        assert (second.arg_dict[name] is first.arg_dict[name]) == (name in names)
        assert (second.grad_dict[name] is first.grad_dict[name]) == (name in names)
    assert all(second.aux_dict[n] is first.aux_dict[n] for n in net.list_auxiliary_states())
    with pytest.raises(mx.MXNetError, match=r"fc_weight is float32\(3, 6\), but shared_exec has it as float32\(3, 4\)"):
        net.simple_bind(mx.cpu(), data=(2, 6), **shared)
    wider = net + sym.var("extra")  # which the first one does not have
    third = wider.simple_bind(
        mx.cpu(), data=(5, 4), extra=(5, 3), **{**shared, "shared_arg_names": [*names, "extra", "none"]}
    )
    assert third.arg_dict["bn_gamma"] is first.arg_dict["bn_gamma"] and third.arg_dict["extra"].shape == (5, 3)
    smaller = first.reshape(data=(1, 4))
    assert smaller.arg_dict["data"].shape == smaller.grad_dict["data"].shape == (1, 4)
    assert smaller.grad_dict["fc_weight"] is first.grad_dict["fc_weight"]
    assert smaller.aux_dict["bn_moving_mean"] is first.aux_dict["bn_moving_mean"]
    same = first.reshape(data=(2, 4))
    assert same.arg_dict["data"] is first.arg_dict["data"]


def test_a_monitor_sees_every_output_and_with_all_the_inputs_too() -> None:
    net = sym.negative(sym.elemwise_mul(sym.var("x"), sym.var("w"), name="product"), name="minus")
    for everything in (False, True):
        seen: list[tuple[str, list]] = []
        executor = net.bind(mx.cpu(), [nd.array(X), nd.array(W)])
        executor.set_monitor_callback(lambda n, a, seen=seen: seen.append((n, a.asnumpy().tolist())), everything)
        executor.forward()
        x, w, y = X.tolist(), W.tolist(), (X * W).tolist()
        inputs = [("x", x), ("product_lhs", x), ("w", w), ("product_rhs", w)]
        made = [("product_output", y), ("minus_output", (-X * W).tolist())]
        assert seen == ([*inputs, made[0], ("minus_input0", y), made[1]] if everything else made)
    assert executor.get_optimized_symbol() is net or executor.get_optimized_symbol().tojson() == net.tojson()


def test_what_is_allocated_is_told_where_programs_read_it() -> None:
    """memonger, and MXNet's example of what memory costs, read ``debug_str().split("\\n")[-3].split()[1]``."""
    net = sym.var("x")
    for _ in range(4):
        net = sym.relu(net)
    text = {req: net.simple_bind(mx.cpu(), grad_req=req, x=(1024, 2048)).debug_str() for req in ("write", "null")}
    assert [int(t.split("\n")[-3].split()[1]) for t in text.values()] == [32, 16]
    assert text["null"].startswith(net.debug_str()) and text["null"].splitlines()[-2] == "Total 16 MB allocated"


def test_states_are_bound_by_list_and_by_name() -> None:
    net = sym.BatchNorm(sym.var("x"), name="bn", fix_gamma=False, eps=0.01)
    x = np.array([[1.0, -2, 3], [4, 5, -6]])
    given = {"x": x, "bn_gamma": [2.0, 3, 4], "bn_beta": [0.5, -1, 2]}
    mean, variance = np.array([1.0, 2, -3]), np.array([4.0, 0.25, 9])
    want = (x - mean) / np.sqrt(variance + 0.01) * [2, 3, 4] + [0.5, -1, 2]
    args = {n: nd.array(v) for n, v in given.items()}
    states = [nd.array(mean), nd.array(variance)]
    for aux in (states, dict(zip(net.list_auxiliary_states(), states))):
        executor = net.bind(mx.cpu(), args, aux_states=aux)
        np.testing.assert_allclose(executor.forward()[0].asnumpy(), want, rtol=1e-5)
        assert executor.aux_arrays[1] is states[1]
    executor = net.bind(mx.cpu(), args, {"x": nd.zeros((2, 3))}, aux_states=states)
    executor.forward(is_train=True)
    executor.backward(nd.array(x))  # which is when MXNet moves them, by a tenth
    np.testing.assert_allclose(states[0].asnumpy(), 0.9 * mean + 0.1 * x.mean(0), rtol=1e-5)
    np.testing.assert_allclose(states[1].asnumpy(), 0.9 * variance + 0.1 * x.var(0), rtol=1e-5)
    assert executor.aux_dict["bn_moving_mean"] is states[0]
    for wrong, said in (
        (None, "`bn_moving_mean`, `bn_moving_var` is missing"),
        ([states[0]], "Length of aux_states does not match"),
    ):
        with pytest.raises(ValueError, match=said):
            net.bind(mx.cpu(), args, aux_states=wrong)


def test_simple_bind_takes_names_that_are_no_inputs_and_labels_without_a_shape() -> None:
    """As Module gives them: shapes and dtypes of all data, whatever the network reads of it."""
    net = sym.SoftmaxOutput(sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc"), name="softmax")
    types = {"data": "float64", "other": "int32"}
    executor = net.simple_bind(mx.cpu(), type_dict=types, data=(2, 4), other=(7,))
    assert {n: (a.shape, a.dtype) for n, a in executor.arg_dict.items()} == {
        "data": ((2, 4), np.float64), "fc_weight": ((3, 4), np.float64), "fc_bias": ((3,), np.float64),
        "softmax_label": ((2,), np.float64),
    }  # fmt: skip
    assert executor.outputs[0].shape == (2, 3) and executor.outputs[0].dtype is np.float64


def test_devices_by_group_storage_and_others_to_share_with_may_be_given() -> None:
    net = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc")
    arrays = {"data": nd.ones((1, 3)), "fc_weight": nd.array([[1, 2, 3], [4, 5, 6]]), "fc_bias": nd.zeros((2,))}
    other = net.simple_bind(mx.cpu(), data=(1, 3), group2ctx={"a": mx.cpu()}, stype_dict={"data": "default"})
    assert other.arg_dict["data"].stype == "default"
    for given in ({}, {"group2ctx": {"a": mx.cpu()}}, {"shared_exec": other}, {"group2ctx": None, "shared_exec": None}):
        assert net.bind(mx.cpu(), arrays, **given).forward()[0].asnumpy().tolist() == [[6, 15]]


def test_the_way_back_is_of_the_mode_of_the_way_forward() -> None:
    """Whatever is_train says then."""
    net = sym.BatchNorm(sym.var("data"), fix_gamma=False, name="bn", eps=0.01)
    data, dy = np.array([[1.0, 2], [3, -1], [0, 2]], np.float32), np.array([[1.0, 0], [0, 3], [4, 1]], np.float32)
    for training in (True, False):
        found = []
        for back in (True, False):
            made = net.simple_bind(mx.cpu(), data=(3, 2))
            made.arg_dict["bn_gamma"][:], made.aux_dict["bn_moving_var"][:] = nd.array([1, 2]), nd.array([1, 3])
            made.forward(is_train=training, data=data)
            made.backward([nd.array(dy)], is_train=back)
            found.append(made.grad_dict["data"].asnumpy())
        np.testing.assert_array_equal(*found)
        if not training:
            np.testing.assert_allclose(found[0], dy * [1, 2] / np.sqrt(np.float32([1.01, 3.01])), rtol=1e-6)


def test_what_does_not_follow_from_the_shapes_given_stays() -> None:
    """And has to fit them."""
    net = sym.dot(sym.var("data"), sym.var("w"))
    weight = nd.array([[1, 2], [3, 4], [5, 6]])
    made = net.bind(mx.cpu(), {"data": nd.ones((2, 3)), "w": weight}, {"w": nd.zeros((3, 2))})
    for given in ({"data": (1, 3)}, {"data": (1, 3), "w": (3, 2)}, {"data": (4, 3), "allow_up_sizing": True}):
        other = made.reshape(**given)
        assert other.arg_dict["w"] is made.arg_dict["w"] and other.grad_dict["w"] is made.grad_dict["w"]
        assert other.forward(data=nd.ones(given["data"]))[0].asnumpy().tolist() == [[9, 12]] * given["data"][0]
    for given in ({"data": (1, 2)}, {"data": (1, 2), "partial_shaping": True}, {"data": (1, 3), "w": (2, 2)}):
        with pytest.raises(mx.MXNetError):
            made.reshape(**given)
    assert made.reshape(data=(2, 2), w=(2, 3)).forward()[0].shape == (2, 3)


def test_which_outputs_need_gradients_given() -> None:
    """Those that a rule reads one for, whichever of several it is, and those of operators without a rule."""
    x = sym.var("x")
    values, signs = sym.linalg.syevd(x), sym.linalg.slogdet(x)
    for net, needed in (
        (values[0], True), (values[1], True), (signs[0], False), (signs[1], True), (sym.random.shuffle(x), True),
    ):  # fmt: skip
        made = net.simple_bind(mx.cpu(), x=(2, 2))
        made.arg_dict["x"][:] = nd.array([[2, 1], [1, 3]])
        made.forward(is_train=True)
        if needed:
            with pytest.raises(mx.MXNetError, match="head_gradient is required"):
                made.backward()
        else:
            made.backward()
            assert not made.grad_dict["x"].asnumpy().any()
    made = signs[1].simple_bind(mx.cpu(), x=(2, 2))
    made.forward(is_train=True, x=nd.array([[2, 1], [1, 3]]))
    made.backward(nd.ones((1,)).reshape(made.outputs[0].shape))
    np.testing.assert_allclose(made.grad_dict["x"].asnumpy(), np.linalg.inv([[2, 1], [1, 3]]).T, rtol=1e-5)


def test_only_gradients_with_a_way_to_what_is_wanted_are_asked_for() -> None:
    """Reshaped losses need none, as in detectors; nor do outputs that lead to nothing wanted."""
    x, w, label, other = (mx.sym.var(n) for n in ("x", "w", "label", "other"))
    top = mx.sym.FullyConnected(x, w, no_bias=True, num_hidden=4)
    loss = mx.sym.SoftmaxOutput(top, label, name="loss")
    values = {
        "x": np.arange(6).reshape(2, 3) / 3,
        "w": np.arange(12).reshape(4, 3) / 7,
        "label": np.array([1, 2]),
        "other": np.ones((2, 2)),
    }

    def gradient(symbol: mx.sym.Symbol) -> np.ndarray:
        arrays = {n: mx.nd.array(values[n]) for n in symbol.list_arguments()}
        executor = symbol.bind(mx.cpu(), arrays, {"w": mx.nd.zeros((4, 3))}, {"w": "write"})
        executor.forward(is_train=True)
        executor.backward()
        return executor.grad_dict["w"].asnumpy()

    want = gradient(loss)
    assert np.abs(want).max() > 0.1
    blocked = mx.sym.BlockGrad(top)
    for made in (
        mx.sym.Reshape(loss, shape=(2, 2, 2)),
        2 * loss,
        mx.sym.sum(loss),
        mx.sym.concat(loss, blocked, dim=1),
        mx.sym.Group([loss, mx.sym.split(blocked, num_outputs=2)[1]]),
        mx.sym.Group([loss, other * 2, other, x]),
    ):
        np.testing.assert_array_equal(gradient(made), want)
    for made, named in (
        (mx.sym.Group([loss, top]), "fullyconnected"),
        (mx.sym.concat(loss, top, dim=1, name="both"), "both_output"),
        (mx.sym.Group([mx.sym.Reshape(loss, shape=(8,), name="flat"), w]), "w"),
    ):
        with pytest.raises(
            mx.MXNetError, match=f"head_gradient is required when calling backward: {named}[a-z0-9_]* got"
        ):
            gradient(made)


LOSSES = ("LinearRegressionOutput", "MAERegressionOutput", "LogisticRegressionOutput")


@pytest.mark.parametrize("name", LOSSES)
def test_regressions_refuse_unknown_attributes_when_they_are_trained(name: str) -> None:
    """As MXNet 1.9.1 does, which makes, reads and runs them with any."""
    loss = getattr(sym, name)(sym.var("x"), sym.var("l"), name="o", foo=True, grad_scale=2)
    assert loss.attr_dict()["o"] == {"foo": "True", "grad_scale": "2"}
    again = sym.load_json(loss.tojson())
    assert again.attr_dict() == loss.attr_dict()
    assert again.infer_shape(x=(2, 3)) == ([(2, 3), (2, 3)], [(2, 3)], [])
    known = getattr(sym, name)(sym.var("x"), sym.var("l"), name="o", grad_scale=2)
    x = nd.array([[1, 2, 3], [4, 5, 6]])
    given = [each.simple_bind(mx.cpu(), x=(2, 3), grad_req="null").forward(x=x)[0] for each in (again, known)]
    np.testing.assert_array_equal(given[0].asnumpy(), given[1].asnumpy())
    with pytest.raises(
        mx.MXNetError, match=f"operator o: {name}: Cannot find argument 'foo'; .* its attributes grad_scale"
    ):
        again.simple_bind(mx.cpu(), x=(2, 3))
    x.attach_grad()
    with mx.autograd.record():
        y = getattr(nd, name)(x, nd.zeros((2, 3)), foo=1)
    with pytest.raises(mx.MXNetError, match="Cannot find argument 'foo'"):
        y.backward()


@pytest.mark.parametrize("second", ("first", "second"))
def test_a_loss_that_is_there_twice_counts_twice(second: str) -> None:
    """Also where both have one name. MXNet 1.9.1 merges them where something else reads both, and then gives it once."""
    x, label = sym.var("x"), sym.var("l")

    def gradient(out: mx.Symbol) -> np.ndarray:
        executor = out.simple_bind(mx.cpu(), x=(2, 3), grad_req={"x": "write", "l": "null"})
        executor.forward(is_train=True, x=nd.array([[1, 2, 3], [4, 5, 7]]), l=nd.array([1, 1]))
        executor.backward()
        return executor.grad_dict["x"].asnumpy()

    one, other = (sym.SoftmaxOutput(x, label, name=name) for name in ("first", second))
    once = [[0.09, -0.7553, 0.6652], [0.042, -0.8858, 0.8438]]  # MXNet 1.9.1's, as those of groups are
    np.testing.assert_allclose(gradient(one), once, atol=1e-4)
    np.testing.assert_allclose(gradient(sym.Group([one, one])), once, atol=1e-4)
    for both in (sym.Group([one, other]), one + other):
        np.testing.assert_allclose(gradient(both), 2 * np.array(once), atol=2e-4)
