"""Seldom uses of executors, modules and loops that MXNet does not take or does otherwise."""

from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import nd, sym

X = np.linspace(-1, 2, 24).reshape(3, 2, 4).astype(np.float32)
W = np.linspace(0.5, -0.7, 8).reshape(2, 4).astype(np.float32)


def test_monitors_see_each_output_of_a_node_under_its_own_name() -> None:
    parts = sym.SliceChannel(sym.var("x"), num_outputs=3, name="cut")
    both = sym.Group([sym.elemwise_mul(parts[2], parts[0], name="mul"), sym.exp(parts[1], name="up")])
    x = np.linspace(-1, 1, 12).reshape(2, 6).astype(np.float32)
    third = [x[:, :2], x[:, 2:4], x[:, 4:]]
    made = {f"cut_output{i}": a for i, a in enumerate(third)} | {
        "mul_output": third[2] * third[0],
        "up_output": np.exp(third[1]),
    }
    read = {"x": x, "cut_data": x, "mul_lhs": third[2], "mul_rhs": third[0], "up_input0": third[1]}
    for everything in (False, True):
        seen: dict[str, np.ndarray] = {}
        executor = both.simple_bind(mx.cpu(), x=(2, 6))
        executor.arg_dict["x"][:] = x
        executor.set_monitor_callback(lambda name, array, seen=seen: seen.update({name: array.asnumpy()}), everything)
        executor.forward()
        want = {**made, **(read if everything else {})}
        assert seen.keys() == want.keys()
        for name, array in want.items():
            np.testing.assert_allclose(seen[name], array, rtol=1e-6, err_msg=name)


def test_arrays_are_shared_with_those_of_their_own_shape_and_dtype_only() -> None:
    layer, names = sym.FullyConnected(sym.var("x"), num_hidden=3, name="fc"), ["fc_weight", "fc_bias"]

    def bound(shape: tuple[int, int], kind: str, **shared: Any) -> Any:
        return layer.simple_bind(mx.cpu(), x=shape, type_dict=dict.fromkeys(("x", *names), kind), **shared)

    first = bound((2, 4), "float64")
    for shape, kind in (((2, 4), "float32"), ((2, 5), "float64")):
        with pytest.raises(mx.MXNetError, match=f"fc_weight is {kind}.*, but shared_exec has it as float64"):
            bound(shape, kind, shared_exec=first, shared_arg_names=names, shared_buffer={})
    other = bound((7, 4), "float64", shared_exec=first, shared_arg_names=names, shared_buffer={})
    for name in names:
        assert other.arg_dict[name] is first.arg_dict[name] and other.grad_dict[name] is first.grad_dict[name]
    assert other.arg_dict["x"].shape == (7, 4)


def test_outputs_from_some_on_are_joined_along_their_own_axes() -> None:
    """MXNet takes the axes of the first."""
    x = sym.var("x")
    group = sym.Group([x + 1, sym.swapaxes(x * 2, dim1=0, dim2=1), x * 3])
    for i, layout in enumerate(("TNC", "NTC", "TNC")):
        group[i]._set_attr(__layout__=layout)
    data = np.linspace(-1, 1, 24).reshape(3, 4, 2).astype(np.float32)
    want = [data + 1, (data * 2).swapaxes(0, 1), data * 3]
    for devices in (1, 2, 4):
        module = mx.mod.Module(group, ["x"], None, context=[mx.cpu(i) for i in range(devices)])
        module.bind([mx.io.DataDesc("x", (3, 4, 2), layout="TNC")])
        module.init_params()
        module.forward(mx.io.DataBatch([nd.array(data)], []), is_train=False)
        for begin in range(3):
            for end in (None, 1, 2, 3):
                found = module._exec_group.get_outputs(True, begin, end)
                for got, array in zip(found, want[begin:end], strict=True):
                    np.testing.assert_allclose(got.asnumpy(), array, rtol=1e-6)


def test_forward_leaves_the_modes_of_the_program_as_they_are() -> None:
    executor = sym.Dropout(sym.var("x"), p=0.5).simple_bind(mx.cpu(), x=(2, 3))
    for recording in (False, True):
        for training in (False, True):
            before = mx.autograd.set_recording(recording), mx.autograd.set_training(training)
            for is_train in (False, True):
                executor.forward(is_train=is_train, x=nd.ones((2, 3)))
                assert (mx.autograd.is_recording(), mx.autograd.is_training()) == (recording, training)
                assert executor.outputs[0]._origin is None
            mx.autograd.set_recording(before[0])
            mx.autograd.set_training(before[1])


def test_custom_operators_know_every_dtype_and_the_mode_that_they_run_in() -> None:
    told: list[Any] = []

    class Op(mx.operator.CustomOp):
        def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            told.append((is_train, mx.autograd.is_training(), mx.autograd.is_recording()))
            self.kept = in_data[0]
            self.assign(out_data[0], "inplace", in_data[0] * 2)

        def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
            told.append((self.kept.asnumpy().tolist(), mx.autograd.is_recording()))
            self.assign(in_grad[0], req[0], out_grad[0] * self.kept)
            self.assign(in_grad[1], req[1], 0)

    @mx.operator.register("seldom_of_two")
    class Prop(mx.operator.CustomOpProp):
        def list_arguments(self) -> list[str]:
            return ["a", "b"]

        def infer_shape(self, in_shape: Any) -> Any:
            return in_shape, [in_shape[0]], []

        def infer_type(self, in_type: Any) -> Any:
            return in_type, [in_type[0]], []

        def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
            told.append((in_shapes, in_dtypes))
            return Op()

    for training in (True, False):
        told.clear()
        a, b = nd.array([[1, 2, 3]]), nd.array([4, 5], dtype="int32")
        a.attach_grad()
        with mx.autograd.record(training):
            out = nd.Custom(a, b, op_type="seldom_of_two")
        a[:] = 9  # what was read is kept as it was
        out.backward(nd.array([[10, 20, 30]]))
        assert out.asnumpy().tolist() == [[2, 4, 6]] and a.grad.asnumpy().tolist() == [[10, 40, 90]]
        assert told == [([[1, 3], [2]], [0, 4]), (training, training, False), ([[1.0, 2.0, 3.0]], False)]


def test_loops_of_symbols_give_what_they_give_of_arrays() -> None:
    """Branches inside loops and loops over the second output of a node, which MXNet cannot bind."""

    def halves(f: Any, w: Any) -> Any:
        return f.SliceChannel(w, num_outputs=2, axis=0, squeeze_axis=True)

    def branches(f: Any, x: Any, w: Any) -> Any:
        def row(p: Any, s: Any) -> Any:
            chosen = f.contrib.cond(f.sum(s) > 0, lambda: p * s, lambda: p - s)
            return chosen, chosen * 0.5 + s

        outs, states = f.contrib.foreach(row, x, w)
        return [outs, states]

    def counted(f: Any, x: Any, w: Any) -> Any:
        a, b = halves(f, w)
        outs, last = f.contrib.while_loop(
            lambda i, s: i < 3, lambda i, s: ([s * b], [i + 1, s + a]), [f.zeros((1,)), b], max_iterations=5
        )
        return [f.slice_axis(outs[0], axis=0, begin=0, end=3), f.broadcast_add(last[1], f.sum(x) * 0)]

    def outside(f: Any, x: Any, w: Any) -> Any:
        a, b = halves(f, w)
        outs, states = f.contrib.foreach(
            lambda p, s: (
                f.broadcast_mul(p, b.reshape((1, 4))) + s,
                s + f.broadcast_mul(a.reshape((1, 4)), f.ones((2, 4))),
            ),
            x,
            w * 2,
        )
        return [outs, states]

    def twice(f: Any, x: Any, w: Any) -> Any:
        outs, states = f.contrib.foreach(lambda p, s: ((q := s * p), [q, q][0]), x, w)
        return [outs, states]

    for make in (branches, counted, outside, twice):
        x, w = nd.array(X), nd.array(W)
        for array in (x, w):
            array.attach_grad()
        heads = []
        with mx.autograd.record():
            eager = make(nd, x, w)
        heads = [nd.array(np.linspace(-1, 1, y.size).reshape(y.shape)) for y in eager]
        mx.autograd.backward(eager, heads)
        group = sym.Group(make(sym, sym.var("x"), sym.var("w")))
        executor = group.bind(
            mx.cpu(), {"x": nd.array(X), "w": nd.array(W)}, {"x": nd.zeros(X.shape), "w": nd.zeros(W.shape)}
        )
        for got, want in zip(executor.forward(is_train=True), eager, strict=True):
            np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6, err_msg=make.__name__)
        executor.backward(heads)
        for name, array in (("x", x), ("w", w)):
            np.testing.assert_allclose(
                executor.grad_dict[name].asnumpy(), array.grad.asnumpy(), rtol=1e-5, atol=1e-6, err_msg=make.__name__
            )


def test_a_second_backward_is_of_the_same_forward() -> None:
    """The same elements are dropped, and the same batch is normalized by."""
    x = np.linspace(-1, 1, 60).reshape(6, 10).astype(np.float32)
    for net in (sym.Dropout(sym.var("x"), p=0.5), sym.BatchNorm(sym.var("x"), fix_gamma=False, name="bn")):
        executor = net.simple_bind(mx.cpu(), x=x.shape)
        for name, array in executor.arg_dict.items():
            array[:] = x if name == "x" else 2
        out = executor.forward(is_train=True)[0].asnumpy()
        found = []
        for factor in (1, 1, 3):
            executor.backward([nd.array(x * x * factor)])
            found.append(executor.grad_dict["x"].asnumpy() / factor)
        for again in found[1:]:
            np.testing.assert_allclose(again, found[0], rtol=1e-4, atol=1e-6)
        if net.name != "bn":
            np.testing.assert_allclose(found[0], x * x * (out != 0) * 2, rtol=1e-6)
        else:
            assert abs(found[0].sum(axis=0)).max() < 1e-3 and abs(found[0]).max() > 0.1


def lengths(key: int) -> tuple[Any, list[str], list[str]]:
    summed = sym.sum(sym.var("data"), axis=1, keepdims=True)
    hidden = sym.BatchNorm(sym.FullyConnected(summed, num_hidden=2, name="fc"), name="bn")
    return sym.LinearRegressionOutput(hidden, sym.var("y"), name="out"), ["data"], ["y"]


def test_a_bucketing_module_that_cannot_be_bound_anew_stays_as_it_was() -> None:
    """MXNet forgets what it was bound to."""
    module = mx.mod.BucketingModule(lengths, default_bucket_key=4)
    shapes = {"data_shapes": [("data", (3, 4))], "label_shapes": [("y", (3, 2))]}
    module.bind(**shapes)
    module.init_params(mx.init.Normal(1))
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    batch = mx.io.DataBatch(
        [nd.ones((3, 4))], [nd.ones((3, 2))], bucket_key=4, provide_data=shapes["data_shapes"],
        provide_label=shapes["label_shapes"],
    )  # fmt: skip
    module.forward_backward(batch)
    module.update()
    held = {n: a.asnumpy() for n, a in module.get_params()[0].items()}
    module.forward_backward(batch)
    module.update()
    trained = {n: a.asnumpy() for n, a in module.get_params()[0].items()}
    assert any((held[n] != trained[n]).any() for n in held)
    with pytest.raises(ValueError, match="don't match names"):
        module.bind([("other", (3, 4))], None, for_training=False, force_rebind=True)
    assert module.binded and module.for_training and module.data_shapes[0].name == "data"
    module.bind([("data", (5, 4))], [("y", (5, 2))], force_rebind=True)
    assert module.data_shapes[0].shape == (5, 4) and list(module._buckets) == [4]
    for name, value in module.get_params()[0].items():
        np.testing.assert_array_equal(value.asnumpy(), trained[name])


def test_bucketing_modules_of_parameters_need_the_states_too() -> None:
    own = {
        "fc_weight": nd.array([[1], [-2]]),
        "fc_bias": nd.zeros(2),
        "bn_gamma": nd.ones(2),
        "bn_beta": nd.array([0, 3]),
    }
    states = {"bn_moving_mean": nd.array([1, 2]), "bn_moving_var": nd.array([4, 9])}
    for given in (states, {}, None):
        module = mx.mod.BucketingModule.load_dict(
            sym_gen=lengths, default_bucket_key=4, arg_params=own, aux_params=given
        )
        if not given:
            with pytest.raises(RuntimeError, match="bn_moving"):
                module.bind([("data", (1, 4))], [("y", (1, 2))])
            continue
        module.bind([("data", (1, 4))], [("y", (1, 2))])
        batch = mx.io.DataBatch(
            [nd.array([[1, 2, 3, 4]])], None, bucket_key=4, provide_data=[("data", (1, 4))], provide_label=None
        )
        module.forward(batch, is_train=False)
        want = (np.array([10, -20]) - [1, 2]) / np.sqrt(np.array([4, 9]) + 1e-3) + [0, 3]
        np.testing.assert_allclose(module.get_outputs()[0].asnumpy()[0], want, rtol=1e-5)


def test_lists_of_batches_whose_examples_stand_along_the_second_axis() -> None:
    """MXNet counts them along the first."""
    product = sym.broadcast_mul(sym.var("data"), sym.reshape(sym.var("w_weight", shape=(3,)), shape=(1, 1, 3)))
    product._set_attr(__layout__="TNC")
    module = mx.mod.Module(product, label_names=None, context=[mx.cpu(0), mx.cpu(1)])
    module.bind([mx.io.DataDesc("data", (2, 4, 3), layout="TNC")])
    module.init_params(arg_params={"w_weight": nd.array([1, 2, 3])})
    data = np.random.RandomState(1).rand(2, 6, 3).astype(np.float32)
    module.forward([mx.io.DataBatch([nd.array(part)], []) for part in (data[:, :3], data[:, 3:])], is_train=False)
    np.testing.assert_allclose(module.get_outputs()[0].asnumpy(), data * [1, 2, 3], rtol=1e-6)
    assert module.data_shapes[0].shape == (2, 6, 3)


def test_what_bases_leave_to_their_classes() -> None:
    """They take what MXNet's take, and do nothing of it; modules of Python take it, too."""
    base, store, python = mx.mod.BaseModule(), mx.kvstore.KVStoreBase(), mx.mod.PythonLossModule()
    for call in (
        lambda: base.init_params(arg_params={}, aux_params={}, allow_missing=True, force_init=True, allow_extra=True),
        lambda: base.forward(None, is_train=True),
        lambda: base.backward(out_grads=[]),
        lambda: base.get_outputs(merge_multi_context=False),
        lambda: base.get_input_grads(merge_multi_context=False),
        lambda: base.update_metric(None, [], pre_sliced=True),
        lambda: base.bind([], [], False, True, force_rebind=True, shared_module=base, grad_req="add"),
        lambda: base.init_optimizer(kvstore=None, optimizer="adam", force_init=True),
        lambda: store.broadcast(1, None, None, priority=1),
        lambda: store.pushpull(1, None, out=[], priority=1),
        lambda: store.save_optimizer_states("x", dump_optimizer=True),
    ):
        with pytest.raises(NotImplementedError):
            call()
    base.prepare(None, sparse_row_id_fn=lambda batch: {})
    with pytest.raises(AssertionError, match="bind"):
        base.get_states(merge_multi_context=False)
    base.binded = base.params_initialized = True
    assert base.get_states(merge_multi_context=False) == []
    python.bind([("data", (2, 3))], [("softmax_label", (2,))], shared_module=base)
    python.init_params(allow_missing=True)
    python.init_optimizer(kvstore=None, optimizer="adam", force_init=True)
    assert python.binded and python.params_initialized and python.optimizer_initialized
    for names in (None, [], ["a", "b"]):
        with pytest.raises(AssertionError, match="one input and one label"):
            mx.mod.PythonLossModule(label_names=names)


def test_what_is_not_trained_cannot_be_updated() -> None:
    """MXNet raises a TypeError."""
    module = mx.mod.Module(lengths(4)[0], label_names=["y"])
    module.bind([("data", (1, 4))], [("y", (1, 2))], for_training=False)
    module.init_params()
    module.init_optimizer()
    for call in (module.update, module.backward):
        with pytest.raises(AssertionError, match="for_training=True"):
            call()


def test_a_batch_may_be_loaded_without_its_labels() -> None:
    module = mx.mod.Module(lengths(4)[0], label_names=["y"])
    module.bind([("data", (1, 4))], [("y", (1, 2))])
    module.init_params()
    group = module._exec_group
    batch = mx.io.DataBatch([nd.array([[1, 2, 3, 4]])], [nd.array([[5, 6]])])
    for labels, want in ((False, [[0, 0]]), (True, [[5, 6]])):
        group.execs[0].arg_dict["y"][:] = 0
        group.load(batch, labels=labels)
        assert group.execs[0].arg_dict["y"].asnumpy().tolist() == want
        assert group.execs[0].arg_dict["data"].asnumpy().tolist() == [[1, 2, 3, 4]]


def test_outputs_without_axes() -> None:
    """Outputs without axes, which only imported networks have, are no parts of a batch."""
    import onnx.parser

    import converters

    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> net (float[4, 3] x) => (float y) { y = ReduceMax <keepdims = 0> (x) }'
    )
    module = mx.mod.Module(converters.from_onnx(model)[0], ["x"], None)
    module.bind([("x", (4, 3))])
    module.init_params()
    assert module.output_shapes == [(module.output_names[0], ())]
    module.forward(mx.io.DataBatch([nd.arange(12).reshape((4, 3))], []), is_train=False)
    assert module.get_outputs()[0].shape == () and module.get_outputs()[0].asscalar() == 11


def test_modules_are_trained_from_parameters_that_set_params_alone_has_given() -> None:
    """As keras-mxnet does: no init_params, and states of BatchNorm that every bucket sees. Numbers are MXNet 1.9.1's."""

    def bucket(_: Any) -> tuple[mx.Symbol, list[str], list[str]]:
        hidden = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc")
        scaled = sym.BatchNorm(hidden, fix_gamma=False, name="bn")
        return sym.LinearRegressionOutput(scaled, sym.var("label"), name="out"), ["data"], ["label"]

    def step(module: Any, rows: int, key: str) -> None:
        data = nd.array(np.linspace(-1, 2, rows * 4, dtype=np.float32).reshape(rows, 4) ** 2)
        shapes = [("data", (rows, 4))], [("label", (rows, 3))]
        batch = mx.io.DataBatch([data], [nd.ones((rows, 3))], bucket_key=key)
        batch.provide_data, batch.provide_label = shapes
        module.forward(batch, is_train=True)
        module.backward()
        module.update()

    def held(module: Any, *names: str) -> list[Any]:
        arguments, states = module.get_params()
        return [a.asnumpy().tolist() for n, a in {**arguments, **states}.items() if n in names]

    mean = "bn_moving_mean"
    weight = nd.array(np.linspace(0.5, -0.7, 12).reshape(3, 4))
    for module in (mx.mod.Module(*bucket(0)), mx.mod.BucketingModule(bucket, "long")):
        module.bind([("data", (6, 4))], [("label", (6, 3))])
        module.set_params({"fc_weight": weight, "bn_gamma": nd.ones(3)}, {mean: nd.ones(3)}, allow_missing=True)
        module.init_optimizer(optimizer_params={"learning_rate": 0.5})
        step(module, 6, "long")
        want = [[0.83342, 0.83387, 0.83336], [1.03621, 0.85028, 0.66435]]
        np.testing.assert_allclose(held(module, "bn_gamma", mean), want, atol=1e-5)
    step(module, 4, "short")
    module.set_params({}, {"bn_moving_var": nd.ones(3) * 2}, allow_missing=True)
    np.testing.assert_allclose(held(module, mean, "bn_moving_var"), [[1.06965, 0.71083, 0.35101], [2] * 3], atol=1e-5)
    step(module, 6, "long")
    want = [[1.09884, 0.59067, 0.08026], [1.99826, 1.82998, 2.42772]]
    np.testing.assert_allclose(held(module, mean, "bn_moving_var"), want, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "devices", "updates"), [("local", 1, "here"), ("local", 2, "store"), ("sums", 2, "here")]
)
def test_loops_of_programs_update_as_modules_do(kind: str, devices: int, updates: str) -> None:
    """mx-rcnn and others call these; two steps with gradients of 1 and 3, and numbers of MXNet 1.9.1's."""
    from hybrid.model import _create_kvstore, _initialize_kvstore, _update_params, _update_params_on_kvstore

    arguments = {"a": nd.ones((2,)), "b": nd.ones((1,)) * 2}
    names = list(arguments)
    weights = [[arguments[n].copy() for _ in range(devices)] for n in names]
    gradients = [[nd.ones((2,)) * (2 * k + 1) for k in range(devices)], [None] * devices]
    store, on_store = _create_kvstore("local" if kind == "sums" else kind, devices, arguments)
    assert (store is None, on_store) == (devices == 1, devices == 2)
    on_store = updates == "store"
    optimizer = mx.optimizer.SGD(learning_rate=0.1, momentum=0.5)
    if store is not None:
        if on_store:
            store.set_optimizer(optimizer)
        _initialize_kvstore(store, weights, arguments, names, on_store)
    updater = mx.optimizer.get_updater(optimizer)
    for _ in range(2):
        if on_store:
            _update_params_on_kvstore(weights, gradients, store, names)
        else:
            _update_params(weights, gradients, updater, devices, store, names)
    want = {("local", 1): 0.75, ("local", 2): 0.0, ("sums", 2): -0.4}[kind, devices]
    assert [round(float(w.asnumpy()[0]), 5) + 0 for w in weights[0]] == [want] * devices
    assert all((w.asnumpy() == 2).all() for w in weights[1])


def test_checks_of_modules_that_programs_make_themselves() -> None:
    from hybrid.module.base_module import _check_input_names, _parse_data_desc

    symbol = sym.FullyConnected(sym.var("data"), num_hidden=1, name="fc")
    _check_input_names(symbol, ["data"], "data", True)
    with pytest.raises(ValueError, match="input with name 'x' is not found"):
        _check_input_names(symbol, ["x"], "data", True)
    with pytest.warns(UserWarning, match="input with name 'x' is not found"):
        _check_input_names(symbol, ["x"], "label", False)
    data, labels = _parse_data_desc(["data"], ["lab"], [("data", (2, 3))], [mx.io.DataDesc("lab", (2,))])
    assert ([type(d) for d in (*data, *labels)], data[0].shape) == ([mx.io.DataDesc] * 2, (2, 3))
    with pytest.raises(ValueError, match="data_shapes don't match"):
        _parse_data_desc(["data"], [], [("x", (2, 3))], None)
    with pytest.warns(UserWarning, match="label_shapes don't match"):
        assert _parse_data_desc(["data"], ["lab"], [("data", (2, 3))], None)[1] is None
