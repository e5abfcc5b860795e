"""An operator written in Python, both ways: to ONNX for onnxruntime, and from ONNX into Gluon.

    python examples/custom_operator.py
    gluonnx convert swish --input data:2,3 -o swish.onnx --plugin examples/custom_operator.py

The file is its own plugin: what stands above `main` registers the operator."""

import gluonnx
import numpy as np
import onnx
from converters.registry import exports_custom, imports
from gluonnx import mx


class Swish(mx.operator.CustomOp):
    """x * sigmoid(beta * x) (Ramachandran 2017), as a program for MXNet has it."""

    def __init__(self, beta):
        super().__init__()
        self.beta = beta

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0]
        self.assign(out_data[0], req[0], x * mx.nd.sigmoid(self.beta * x))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        s, y = mx.nd.sigmoid(self.beta * in_data[0]), out_data[0]
        self.assign(in_grad[0], req[0], out_grad[0] * (self.beta * y + s * (1 - self.beta * y)))


@mx.operator.register("swish")
class SwishProp(mx.operator.CustomOpProp):
    def __init__(self, beta="1.0"):
        super().__init__(need_top_grad=True)
        self.beta = float(beta)

    def create_operator(self, ctx, shapes, dtypes):
        return Swish(self.beta)


@exports_custom("swish")
def to_onnx(b, op, x):
    """What ONNX says for it: b.Mul(x, y) adds a node, b.const(value, dtype) a constant."""
    return b.Mul(x, b.Sigmoid(b.Mul(x, b.const(float(op.texts["beta"]), x.dtype))))


@imports("Swish", domain="org.example")
def from_onnx(g, x, *, beta=1.0):
    """What MXNet says for the node Swish of that domain; g.Custom applies its operator."""
    return g.Custom(x, op_type="swish", beta=str(beta))


FILE = """<ir_version: 8, opset_import: ["" : 17, "org.example" : 1]>
net (float[n, 3] x) => (float[n, 3] y) { y = org.example.Swish <beta = 1.5> (x) }
<domain: "org.example", opset_import: ["" : 17]>
Swish <beta: float> (x) => (y)
{ b = Constant <value_float: float = @beta> () c = Mul (x, b) s = Sigmoid (c) y = Mul (x, s) }"""


def main():
    data = mx.sym.var("data")
    mx.sym.Custom(data, op_type="swish", beta=1.5, name="swish").save("swish-symbol.json")
    mx.nd.save("swish-0000.params", {})
    print(gluonnx.convert("swish", inputs={"data": (2, 3)}, output="swish.onnx"))

    onnx.save(onnx.parser.parse_model(FILE), "theirs.onnx")  # a function says what it means
    print(gluonnx.import_onnx("theirs.onnx", inputs={"x": (4, 3)}, output="theirs"))
    net = mx.gluon.SymbolBlock.imports("theirs-symbol.json", ["x"], "theirs-0000.params")
    x = mx.nd.array(np.linspace(-3, 3, 12).reshape(4, 3))
    x.attach_grad()
    with mx.autograd.record():
        y = net(x)
    y.backward()
    print("swish(3) is", y[-1, -1].asscalar(), "with the slope", x.grad[-1, -1].asscalar())


if __name__ == "__main__":
    main()
