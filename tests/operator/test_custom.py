"""mx.operator: operators written in Python, in every place that an operator can be."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from converters import export
from hybrid import autograd, gluon, nd, sym
from hybrid.core.error import OpError
from hybrid.core.op import lookup
from hybrid.core.shapes import UNKNOWN, Undecided


class Sigmoid(mx.operator.CustomOp):
    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.assign(out_data[0], req[0], 1 / (1 + nd.exp(-in_data[0])))

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        y = out_data[0].asnumpy()
        self.assign(in_grad[0], req[0], nd.array(out_grad[0].asnumpy() * (1 - y) * y))


@mx.operator.register("test_sigmoid")
class SigmoidProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Sigmoid:
        assert isinstance(ctx, mx.Context) and all(isinstance(s, list) for s in in_shapes)
        return Sigmoid()


class Loss(mx.operator.CustomOp):
    def __init__(self, scale: float):
        self.scale = scale

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.assign(out_data[0], req[0], nd.softmax(in_data[0]))
        aux[0][:] = aux[0] + (1 if is_train else 100)

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        label = in_data[1].asnumpy().astype(int)
        dy = out_data[0].asnumpy()
        dy[np.arange(len(label)), label] -= 1
        self.assign(in_grad[0], req[0], nd.array(dy * self.scale))


@mx.operator.register("test_loss")
class LossProp(mx.operator.CustomOpProp):
    def __init__(self, scale: str = "1"):
        super().__init__(need_top_grad=False)
        assert isinstance(scale, str)
        self.scale = float(scale)

    def list_arguments(self) -> list[str]:
        return ["data", "label"]

    def list_auxiliary_states(self) -> list[str]:
        return ["calls"]

    def infer_shape(self, in_shape: Any) -> Any:
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], [(1,)]

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Loss:
        return Loss(self.scale)


class Mask(mx.operator.CustomOp):
    """Two outputs, and something kept from forward to backward."""

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.input = in_data[0]
        self.mask = in_data[0] > 0
        self.assign(out_data[0], req[0], in_data[0] * self.mask)
        self.assign(out_data[1], req[1], self.mask)

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        assert (self.input.asnumpy() == in_data[0].asnumpy()).all()
        self.assign(in_grad[0], req[0], out_grad[0] * self.mask)


@mx.operator.register("test_mask")
class MaskProp(mx.operator.CustomOpProp):
    def list_outputs(self) -> list[str]:
        return ["kept", "mask"]

    def infer_type(self, in_type: Any) -> Any:
        return in_type, [in_type[0], in_type[0]], []

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Mask:
        return Mask()


X = np.array([[-1.0, 0.5, 2.0]], np.float32)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


class Block(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:  # noqa: N803
        return F.Custom(x * 2, op_type="test_sigmoid") * 3


@pytest.mark.parametrize("hybridized", [False, True])
def test_forward_and_backward(hybridized: bool) -> None:
    block = Block()
    if hybridized:
        block.hybridize()
    for _ in range(2):
        x = nd.array(X)
        x.attach_grad()
        with autograd.record():
            y = block(x)
        y.backward()
        s = sigmoid(2 * X)
        np.testing.assert_allclose(y.asnumpy(), 3 * s, rtol=1e-6)
        np.testing.assert_allclose(x.grad.asnumpy(), 6 * s * (1 - s), rtol=1e-5)


def test_large_arrays_go_through_the_engine() -> None:
    x = nd.array(np.linspace(-3, 3, 600_000))
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x + 0, op_type="test_sigmoid")
    y.backward()
    s = sigmoid(x.asnumpy())
    np.testing.assert_allclose(x.grad.asnumpy(), s * (1 - s), rtol=1e-4, atol=1e-7)


def test_several_outputs_and_what_forward_leaves_for_backward() -> None:
    first, second = nd.array(X), nd.array(-X)
    for x in (first, second):
        x.attach_grad()
    with autograd.record():
        outputs = [nd.Custom(x * 1, op_type="test_mask") for x in (first, second)]
        loss = sum(kept.sum() for kept, _ in outputs)
    loss.backward()
    for x, (kept, mask) in zip((first, second), outputs):
        np.testing.assert_array_equal(mask.asnumpy(), x.asnumpy() > 0)
        np.testing.assert_array_equal(kept.asnumpy(), np.maximum(x.asnumpy(), 0))
        np.testing.assert_array_equal(x.grad.asnumpy(), x.asnumpy() > 0)


def network() -> mx.Symbol:
    net = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc")
    return sym.Custom(data=net, op_type="test_loss", name="loss", scale=2)


@pytest.mark.parametrize("module", [nd, nd.op, sym, sym.op])
def test_inputs_by_the_names_of_the_users(module: Any) -> None:
    data = nd.array(X) if module in (nd, nd.op) else sym.var("data")
    made = module.Custom(data=data, op_type="test_sigmoid")
    found = made if module in (nd, nd.op) else made.eval(data=nd.array(X))[0]
    np.testing.assert_allclose(found.asnumpy(), sigmoid(X), rtol=1e-6)


def test_symbol() -> None:
    net = network()
    assert net.list_arguments() == ["data", "fc_weight", "fc_bias", "loss_label"]
    assert net.list_auxiliary_states() == ["loss_calls"] and net.list_outputs() == ["loss_output"]
    assert net.infer_shape(data=(4, 5)) == ([(4, 5), (3, 5), (3,), (4,)], [(4, 3)], [(1,)])
    assert net.attr_dict()["loss"] == {"op_type": "test_loss", "scale": "2"}
    with mx.name.NameManager():
        assert sym.Custom(sym.var("x"), op_type="test_mask").list_outputs() == ["custom0_kept", "custom0_mask"]
    again = sym.load_json(net.tojson())
    assert again.tojson() == net.tojson() and '"node_row_ptr": [0, 1, 2, 3, 4, 5, 6, 7]' in net.tojson()


def test_a_loss_needs_no_gradient_and_states_are_updated() -> None:
    executor = network().simple_bind(mx.cpu(), data=(4, 5))
    rng = np.random.default_rng(0)
    data, weight = rng.normal(size=(4, 5)).astype("float32"), rng.normal(size=(3, 5)).astype("float32")
    executor.arg_dict["data"][:], executor.arg_dict["fc_weight"][:] = data, weight
    executor.arg_dict["loss_label"][:] = [0, 1, 2, 1]
    for _ in range(3):
        executor.forward(is_train=True)
        executor.backward()
    assert executor.aux_dict["loss_calls"].asscalar() == 3
    e = np.exp(data @ weight.T)
    dy = 2 * (e / e.sum(1, keepdims=True) - np.eye(3)[[0, 1, 2, 1]])
    np.testing.assert_allclose(executor.grad_dict["fc_weight"].asnumpy(), dy.T @ data, rtol=1e-4, atol=1e-5)
    assert not executor.grad_dict["loss_label"].asnumpy().any()
    executor.forward(is_train=False)
    assert executor.aux_dict["loss_calls"].asscalar() == 103


def test_export_and_import(tmp_path: Path) -> None:
    block = Block()
    block.hybridize()
    wanted = block(nd.array(X)).asnumpy()
    block.export(str(tmp_path / "m"))
    back = gluon.SymbolBlock.imports(str(tmp_path / "m-symbol.json"), ["data"])
    np.testing.assert_array_equal(back(nd.array(X)).asnumpy(), wanted)


def test_inside_a_loop() -> None:
    def body(x: Any, s: Any) -> Any:
        y = sym.Custom(x, op_type="test_sigmoid")
        return y, s + y

    out, last = sym.contrib.foreach(body, sym.var("x"), sym.var("s"))
    x = nd.array(np.vstack([X, 2 * X]))
    s = sigmoid(x.asnumpy())
    executor = sym.Group([out, last]).bind(mx.cpu(), {"x": x, "s": nd.zeros(3)}, args_grad={"x": nd.zeros((2, 3))})
    outputs = executor.forward(is_train=True)
    np.testing.assert_allclose(outputs[0].asnumpy(), s, rtol=1e-6)
    np.testing.assert_allclose(outputs[1].asnumpy(), s.sum(0), rtol=1e-6)
    executor.backward([nd.ones((2, 3)), nd.ones(3)])
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), 2 * s * (1 - s), rtol=1e-5)


def test_registering_again_changes_later_nodes_only() -> None:
    def named(value: float) -> None:
        class Constant(mx.operator.CustomOp):
            def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
                out_data[0][:] = value

        class ConstantProp(mx.operator.CustomOpProp):
            def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Constant:
                return Constant()

        mx.operator.register("test_again")(ConstantProp)

    named(1)
    first = sym.Custom(sym.var("x"), op_type="test_again")
    named(2)
    second = sym.Custom(sym.var("x"), op_type="test_again")
    assert first.eval(x=nd.zeros(1))[0].asscalar() == 1
    assert second.eval(x=nd.zeros(1))[0].asscalar() == 2 == nd.Custom(nd.zeros(1), op_type="test_again").asscalar()


def test_errors() -> None:
    x = nd.array(X)
    with pytest.raises(mx.MXNetError, match=r"register its CustomOpProp with mx.operator.register\('nobody'\)"):
        nd.Custom(x, op_type="nobody")
    with pytest.raises(mx.MXNetError, match="nobody"):
        sym.load_json(network().tojson().replace("test_loss", "nobody"))
    with pytest.raises(mx.MXNetError, match="got 2 inputs, wanted data"):
        nd.Custom(x, x, op_type="test_sigmoid")
    with pytest.raises(mx.MXNetError, match="wanted data, label, calls"):
        nd.Custom(x, op_type="test_loss")
    with pytest.raises(TypeError):
        nd.Custom(x, op_type="test_sigmoid", unknown=1)

    class Wrong(mx.operator.CustomOp):
        def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            in_data[0][:] = 0

    class WrongProp(mx.operator.CustomOpProp):
        def __init__(self, shapes: str = "1") -> None:
            super().__init__()
            self.shapes = int(shapes)

        def infer_shape(self, in_shape: Any) -> Any:
            if self.shapes == 0:
                raise KeyError("oops")
            return in_shape, [in_shape[0]] * self.shapes, []

        def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Wrong:
            return Wrong()

    mx.operator.register("test_wrong")(WrongProp)
    with pytest.raises(mx.MXNetError, match="read-only"):
        nd.Custom(x, op_type="test_wrong").asnumpy()
    with pytest.raises(mx.MXNetError, match=r"test_wrong\.infer_shape gave 2 outputs, wanted 1"):
        nd.Custom(x, op_type="test_wrong", shapes=2)
    with pytest.raises(mx.MXNetError, match=r"test_wrong\.infer_shape raised KeyError: 'oops'"):
        nd.Custom(x, op_type="test_wrong", shapes=0)


def test_what_a_users_code_raises_is_the_users() -> None:
    """No fault of the engine, which would ask for a report; forward and backward, and an error of the engine as it is."""

    class Failing(Sigmoid):
        def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            if in_data[0].asnumpy().max() > 5:
                raise KeyError("too large")
            if in_data[0].asnumpy().max() > 3:
                nd.ones((2, 3)).reshape((4, 4))
            super().forward(is_train, req, in_data, out_data, aux)

        def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
            raise ZeroDivisionError("behind")

    @mx.operator.register("test_failing")
    class Prop(SigmoidProp):
        def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Failing:
            return Failing()

    with pytest.raises(OpError, match=r"test_failing\.forward raised KeyError: 'too large'"):
        nd.Custom(nd.full((2, 2), 6), op_type="test_failing").asnumpy()
    with pytest.raises(mx.MXNetError, match=r"reshape|Reshape"):
        nd.Custom(nd.full((2, 2), 4), op_type="test_failing").asnumpy()
    x = nd.ones((2, 2))
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type="test_failing")
    with pytest.raises(OpError, match=r"test_failing\.backward raised ZeroDivisionError: behind"):
        y.backward()
        x.grad.asnumpy()


def test_what_is_not_known_is_asked_for_as_zeros() -> None:
    """And a shape rule that stumbles over them says nothing yet; no operator is told by its name alone."""
    asked = []

    @mx.operator.register("test_asked")
    class Prop(SigmoidProp):
        def infer_shape(self, in_shape: Any) -> Any:
            asked.append([list(s) for s in in_shape])
            return in_shape, [[12 // in_shape[0][0], in_shape[0][1]]], []

    custom = lookup("Custom")
    one = custom.bind(op_type="test_asked")
    assert one.dump() == {"op_type": "test_asked"}
    assert str(one.infer_shape((4, UNKNOWN))) == "[(3, ?), ()]" and asked[-1] == [[4, 0]]
    with pytest.raises(Undecided):
        one.infer_shape((UNKNOWN, 5))
    assert asked[-1] == [[0, 5]] and one.infer_shape((4, 5)) == [(3, 5), ()]
    with pytest.raises(OpError, match=r"test_asked\.infer_shape raised ZeroDivisionError"):
        one.infer_shape((0, 5))
    with pytest.raises(OpError, match=r"op_type .text. is required"):
        custom.bind(shape="3")


def test_the_code_is_not_recorded() -> None:
    seen = []

    class Spy(Sigmoid):
        def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            seen.append((autograd.is_recording(), autograd.is_training(), is_train))
            super().forward(is_train, req, in_data, out_data, aux)

    class SpyProp(SigmoidProp):
        def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Spy:
            return Spy()

    mx.operator.register("test_spy")(SpyProp)
    with autograd.record():
        nd.Custom(nd.array(X), op_type="test_spy")
        assert autograd.is_recording()
    nd.Custom(nd.array(X), op_type="test_spy")
    assert seen == [(False, True, True), (False, False, False)]


def test_not_exported_to_onnx_with_a_way_out() -> None:
    net = sym.Custom(sym.var("data"), op_type="test_sigmoid", name="mine")
    with pytest.raises(Exception, match=r"converters\.registry\.exports_custom\(op_type\)"):
        export.to_onnx(net, {}, {"data": (1, 3)})


class Square(mx.operator.NumpyOp):
    def list_arguments(self) -> list[str]:
        return ["x", "y"]

    def infer_shape(self, in_shape: Any) -> Any:
        return [in_shape[0], in_shape[0]], [in_shape[0]]

    def forward(self, in_data: Any, out_data: Any) -> None:
        assert type(in_data[0]) is np.ndarray
        out_data[0][:] = in_data[0] ** 2 + in_data[1]

    def backward(self, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any) -> None:
        in_grad[0][:] = 2 * in_data[0] * out_grad[0]
        in_grad[1][:] = out_grad[0]


class SquareArrays(mx.operator.NDArrayOp):
    list_arguments, infer_shape = Square.list_arguments, Square.infer_shape

    def forward(self, in_data: Any, out_data: Any) -> None:
        assert isinstance(in_data[0], nd.NDArray)
        out_data[0][:] = in_data[0] ** 2 + in_data[1]

    def backward(self, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any) -> None:
        in_grad[0][:] = 2 * in_data[0] * out_grad[0]
        in_grad[1][:] = out_grad[0]


@pytest.mark.parametrize(("kind", "hint"), [(Square, "_native0"), (SquareArrays, "_ndarray0")])
def test_operators_from_before_custom_op(kind: Any, hint: str) -> None:
    with pytest.warns(UserWarning, match="deprecated. Please use CustomOp"):
        op = kind()
    with mx.name.NameManager():
        net = op(sym.var("a"), y=sym.var("b") * 2)
        assert net.name == hint and net.list_arguments() == ["a", "b"]
    executor = net.bind(mx.cpu(), [nd.array(X), nd.array(X)], [nd.zeros((1, 3)), nd.zeros((1, 3))])
    np.testing.assert_allclose(executor.forward(is_train=True)[0].asnumpy(), X**2 + 2 * X)
    executor.backward(nd.ones((1, 3)))
    np.testing.assert_allclose(executor.grad_arrays[0].asnumpy(), 2 * X)
    np.testing.assert_allclose(executor.grad_arrays[1].asnumpy(), np.full((1, 3), 2))


def test_what_operators_there_are() -> None:
    names = mx.operator.get_all_registered_operators()
    assert {"Custom", "FullyConnected", "Concat"} <= set(names)
    assert mx.operator.get_operator_arguments("FullyConnected").names[:4] == ["data", "weight", "bias", "num_hidden"]
    with pytest.raises(mx.MXNetError):
        mx.operator.get_operator_arguments("nothing")


class Picky(mx.operator.CustomOpProp):
    """Two inputs, each of its own dtype; what it was asked of."""

    asked: list[Any] = []

    def list_arguments(self) -> list[str]:
        return ["rows", "columns"]

    def infer_shape(self, in_shape: Any) -> Any:
        return in_shape, [[in_shape[0][0], in_shape[1][1]]], []

    def infer_type(self, in_type: Any) -> Any:
        self.asked.append(list(in_type))
        return in_type, [in_type[1]], []


mx.operator.register("test_picky")(Picky)


def test_dtypes_are_asked_with_those_that_are_known() -> None:
    """Dtypes that are not known yet are taken for the first that is, as MXNet's own default does."""
    out = sym.Custom(sym.var("a"), sym.var("b"), op_type="test_picky")
    for given, asked in (
        ({"a": "float64", "b": "int32"}, [np.float64, np.int32]),
        ({"a": "float64"}, [np.float64, np.float64]),
        ({"b": "int32"}, [np.int32, np.int32]),
    ):
        Picky.asked.clear()
        inputs, outputs, _ = out.infer_type(**given)
        assert Picky.asked and all(a == asked for a in Picky.asked)
        assert (inputs, outputs) == (asked, asked[1:])


def test_attributes_in_any_order_make_one_operator() -> None:
    one, other = (
        lookup("Custom").bind(**dict(pairs))
        for pairs in (
            [("op_type", "test_loss"), ("scale", "2")],
            [("scale", "2"), ("op_type", "test_loss")],
        )
    )
    assert one == other and hash(one) == hash(other)
    assert one != lookup("Custom").bind(op_type="test_loss", scale="3")


class Counting(mx.operator.CustomOp):
    calls = 0

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        Counting.calls += 1
        self.assign(out_data[0], req[0], in_data[0] + Counting.calls)


@mx.operator.register("test_counting")
class CountingProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Counting:
        return Counting()


def test_each_call_of_an_operator_in_python_is_made() -> None:
    """Equal ones of the same array too, and those of constants in every run: nobody knows what they do besides."""
    data = nd.array([[10.0, 20]])
    x = sym.var("x")
    net = sym.Group([sym.Custom(x, op_type="test_counting", name=n) for n in ("one", "two")])
    for run in range(3):
        Counting.calls = 10 * run
        found = sorted(y.asnumpy().tolist()[0] for y in net.eval(x=data))
        assert found == [[11 + 10 * run, 21 + 10 * run], [12 + 10 * run, 22 + 10 * run]]
    block = gluon.SymbolBlock(sym.relu(net[0] + net[1]) + sym.var("y"), [sym.var("y")])
    block.collect_params()["x"]._load_init(data, mx.cpu())
    block.hybridize()
    for run in range(3):
        Counting.calls = 10 * run
        assert block(nd.array([[1.0, 2]])).asnumpy().tolist() == [[24 + 20 * run, 45 + 20 * run]]


@pytest.mark.parametrize("kind", [Square, SquareArrays])
def test_large_arrays_of_old_operators(kind: Any) -> None:
    """Arrays that their code asks for may come later; those that they give are there."""
    with pytest.warns(UserWarning, match="deprecated"):
        net = kind()(sym.var("x"), sym.var("y"))
    x = np.linspace(-3, 3, 400_000, dtype=np.float32)
    executor = net.bind(mx.cpu(), [nd.array(x), nd.array(x)], [nd.zeros(x.shape), nd.zeros(x.shape)])
    for _ in range(3):
        executor.arg_arrays[0][:] += 1
        x_ = executor.arg_arrays[0].asnumpy()
        (y,) = executor.forward(is_train=True)
        np.testing.assert_allclose(y.asnumpy(), x_**2 + x, rtol=1e-6, atol=1e-6)
        executor.backward(nd.ones(x.shape))
        np.testing.assert_allclose(executor.grad_arrays[0].asnumpy(), 2 * x_, rtol=1e-6)


@pytest.mark.parametrize("kind", [Square, SquareArrays])
def test_the_code_of_old_operators_is_not_recorded(kind: Any) -> None:
    seen = []

    class Spy(kind):
        def forward(self, **given: Any) -> None:
            seen.append((autograd.is_recording(), autograd.is_training()))
            super().forward(**given)

        def backward(self, **given: Any) -> None:
            seen.append((autograd.is_recording(), autograd.is_training()))
            super().backward(**given)

    with pytest.warns(UserWarning, match="deprecated"):
        net = Spy()(sym.var("x"), sym.var("y"))
    executor = net.bind(mx.cpu(), [nd.array(X), nd.array(X)], [nd.zeros((1, 3)), nd.zeros((1, 3))])
    for training in (False, True, False):
        with autograd.record(train_mode=not training):
            executor.forward(is_train=training)
    assert seen == [(False, False), (False, True), (False, False)]
    executor.forward(is_train=True)
    executor.backward(nd.ones((1, 3)))
    assert seen[3:] == [(False, True), (False, True)]


@pytest.mark.parametrize("needed", [False, True])
def test_old_operators_are_asked_whether_they_need_gradients_of_outputs(needed: bool) -> None:
    """By a method that they may have of their own."""

    class Loss(Square):
        def need_top_grad(self) -> bool:
            return needed

        def backward(self, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any) -> None:
            in_grad[0][:] = 3
            in_grad[1][:] = 4

    with pytest.warns(UserWarning, match="deprecated"):
        net = Loss(need_top_grad=not needed)(sym.var("x"), sym.var("y"))
    executor = net.bind(mx.cpu(), [nd.array(X), nd.array(X)], [nd.zeros((1, 3)), nd.zeros((1, 3))])
    executor.forward(is_train=True)
    executor.backward(nd.ones((1, 3)) if needed else None)
    assert executor.grad_arrays[1].asnumpy().tolist() == [[4, 4, 4]]


class Twice(mx.operator.CustomOp):
    """A loss of two outputs and two states."""

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        for k in (0, 1):
            self.assign(out_data[k], req[k], in_data[0] * (k + 2))
            aux[k][:] = aux[k] + k + 1

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        assert len(out_grad) == 2
        self.assign(in_grad[0], req[0], out_data[0] + out_data[1] + aux[1])


@mx.operator.register("test_twice")
class TwiceProp(mx.operator.CustomOpProp):
    def __init__(self) -> None:
        super().__init__(need_top_grad=False)

    def list_outputs(self) -> list[str]:
        return ["a", "b"]

    def list_auxiliary_states(self) -> list[str]:
        return ["s", "t"]

    def infer_shape(self, in_shape: Any) -> Any:
        return in_shape, [in_shape[0]] * 2, [(1,), (1,)]

    def infer_type(self, in_type: Any) -> Any:
        return in_type, [in_type[0]] * 2, [in_type[0]] * 2

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Twice:
        return Twice()


def test_a_loss_of_several_outputs_and_states() -> None:
    x, s, t = nd.array([[1.0, 2]]), nd.zeros((1,)), nd.zeros((1,))
    x.attach_grad()
    with autograd.record():
        outputs = nd.Custom(x, s, t, op_type="test_twice")
    autograd.backward(list(outputs))
    assert [y.asnumpy().tolist() for y in outputs] == [[[2, 4]], [[3, 6]]]
    assert (s.asscalar(), t.asscalar()) == (1, 2)
    assert x.grad.asnumpy().tolist() == [[7, 12]]


def test_outputs_and_states_of_several_are_counted() -> None:
    class Three(mx.operator.CustomOpProp):
        def list_outputs(self) -> list[str]:
            return ["a", "b"]

        def list_auxiliary_states(self) -> list[str]:
            return ["s", "t", "u"]

    half = np.float16
    assert Three().infer_storage_type(["default"]) == (["default"], ["default"] * 2, ["default"] * 3)
    assert Three().infer_type([half]) == ([half], [half] * 2, [half] * 3)

    class Both(mx.operator.NumpyOp):
        def list_outputs(self) -> list[str]:
            return ["twice", "sums"]

        def infer_shape(self, in_shape: Any) -> Any:
            return [in_shape[0]], [in_shape[0], [in_shape[0][0]]]

        def forward(self, in_data: Any, out_data: Any) -> None:
            out_data[0][:], out_data[1][:] = in_data[0] * 2, in_data[0].sum(axis=1)

        def backward(self, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any) -> None:
            in_grad[0][:] = 2 * out_grad[0] + out_grad[1][:, None]

    with pytest.warns(UserWarning, match="deprecated"):
        old = Both()
    made = old(sym.var("data")).simple_bind(mx.cpu(), data=(2, 2))
    twice, sums = made.forward(is_train=True, data=nd.array([[1, 2], [3, 4]]))
    assert (twice.asnumpy().tolist(), sums.asnumpy().tolist()) == ([[2, 4], [6, 8]], [3, 7])
    made.backward([nd.array([[1, 2], [3, 4]]), nd.array([10, 20])])
    assert made.grad_dict["data"].asnumpy().tolist() == [[12, 14], [26, 28]]
    assert nd.Custom(nd.array([0.0]), op_type="test_sigmoid", name="by_name").asscalar() == 0.5


class Centers(mx.operator.CustomOp):
    """Remembers its calls, and moves its state in backward."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
        self.calls.append("forward")
        self.assign(out_data[0], req[0], in_data[0] * len(self.calls) + aux[0])

    def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        self.calls.append("backward")
        self.assign(in_grad[0], req[0], out_grad[0] * len(self.calls))
        aux[0][:] += in_data[0].sum(axis=0)


@mx.operator.register("test_centers")
class CentersProp(mx.operator.CustomOpProp):
    made = 0

    def list_auxiliary_states(self) -> list[str]:
        return ["bias"]

    def infer_shape(self, in_shape: Any) -> Any:
        return in_shape, [in_shape[0]], [[in_shape[0][1]]]

    def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Centers:
        CentersProp.made += 1
        return Centers()


@pytest.mark.parametrize("rows", [2, 30000])  # at once, and by the engine
def test_an_executor_keeps_its_operators_and_backward_moves_states(rows: int) -> None:
    """One object for all calls of an executor, in order, and another one for each executor of a symbol. As in MXNet."""
    net = sym.Custom(sym.var("x") * 1, op_type="test_centers", name="c")
    first, second = (net.simple_bind(mx.cpu(), x=(rows, 3)) for _ in range(2))
    before = CentersProp.made
    x, ones = nd.array(np.arange(rows * 3).reshape(rows, 3) % 6), nd.ones((rows, 3))
    column = x.asnumpy().sum(axis=0)
    for step in range(3):
        for executor in (first, second):
            y = executor.forward(is_train=True, x=x)[0].asnumpy()
            np.testing.assert_array_equal(y, x.asnumpy() * (2 * step + 1) + step * column)
            executor.backward(ones)
            np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), np.full((rows, 3), 2 * step + 2))
            np.testing.assert_array_equal(executor.aux_dict["c_bias"].asnumpy(), (step + 1) * column)
    assert CentersProp.made == before + 2
    for _ in range(4):
        first.forward()
    np.testing.assert_array_equal(first.outputs[0].asnumpy(), x.asnumpy() * 10 + 3 * column)
    np.testing.assert_array_equal(second.forward()[0].asnumpy(), x.asnumpy() * 7 + 3 * column)
    other = first.reshape(x=(1, 3), allow_up_sizing=True)
    np.testing.assert_array_equal(other.forward()[0].asnumpy(), other.arg_dict["x"].asnumpy() + 3 * column)


@pytest.mark.parametrize("hybridized", [False, True])
def test_backward_of_blocks_and_eager_calls_moves_states(hybridized: bool) -> None:
    class Net(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.state = self.params.get("state", shape=(3,), grad_req="null", init="zeros")

        def hybrid_forward(self, F: Any, x: Any, state: Any) -> Any:  # noqa: N803
            return F.Custom(x, state, op_type="test_centers") * 2

    net = Net()
    net.initialize()
    if hybridized:
        net.hybridize()
    x, state = nd.array([[0, 1, 2], [3, 4, 5]]), nd.zeros(3)
    x.attach_grad()
    for step in range(3):
        with autograd.record():
            y = net(x)
        y.backward()
        np.testing.assert_array_equal(y.asnumpy(), 2 * (x.asnumpy() + step * np.array([3, 5, 7])))
        np.testing.assert_array_equal(x.grad.asnumpy(), np.full((2, 3), 4))  # one object for each forward call here
        with autograd.record():
            y = nd.Custom(x, state, op_type="test_centers")
        y.backward()
        for array in (net.state.data(), state):
            np.testing.assert_array_equal(array.asnumpy(), (step + 1) * np.array([3, 5, 7]))
