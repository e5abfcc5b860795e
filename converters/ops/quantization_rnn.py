"""The quantised LSTM: int8 weights are made here, sums are integers, gates are computed in float64 and hidden states rounded to
uint8 at every step of a Scan."""

import numpy as np

from hybrid.ops.quantization import FLOAT, INT32, UINT8

from ..builder import Value
from ..error import Unsupported
from ..registry import exports
from .quantization import integer_product, whole

DOUBLE = np.dtype(np.float64)


@exports("_contrib_quantized_rnn")
def export_contrib_quantized_rnn(b, op, data, parameters, state, state_cell, scale, shift):
    if parameters.const is None:
        raise Unsupported("parameters: quantised by the operator, and no parameter; give its values")
    packed, features = parameters.const, data.dim(2)
    scales = op.weight_scales(packed, features)
    known = scale.const is not None and shift.const is not None
    if known:  # numbers, so that the rest is folded
        scale_64, shift_64 = (np.float64(v.const.item()) for v in (scale, shift))
        factor = 1 / (scales.astype(DOUBLE) * scale_64)
    else:
        scale_64, shift_64 = b.cast(scale, DOUBLE), b.cast(shift, DOUBLE)
        factor = b.Div(np.float64(1), b.Mul(scales.astype(DOUBLE), scale_64))
    x, hidden, cells = data, [], []
    for layer in op.cells(features):
        outs = []
        for direction, cell in enumerate(layer):
            i2h, h2h, bias = op.quantize_weights(packed, cell, scales)
            sums = i2h.sum(1, DOUBLE) + h2h.sum(1, DOUBLE)
            if known:
                given = b.const(bias - sums * shift_64 * factor)
            else:
                given = b.Sub(bias.astype(DOUBLE), b.Mul(b.Mul(sums, shift_64), factor))
            index = len(hidden)
            begin, c = (b.squeeze(b.slice(s, [index], [index + 1], [0]), [0]) for s in (state, state_cell))
            h = whole(b, b.Add(b.Mul(begin, scale), shift), UINT8)
            factors = factor if isinstance(factor, Value) else b.const(factor)
            body = b.body(_step(op, h2h.T, factors, given, scale, shift), UINT8, DOUBLE, INT32)
            way = {"scan_input_directions": [direction], "scan_output_directions": [direction]}
            product = integer_product(b, x, i2h.T)
            h, c, out = b.Scan(h, b.cast(c, DOUBLE), product, outputs=3, body=body, num_scan_inputs=1, **way)
            outs.append(out)
            hidden.append(b.unsqueeze(h, [0]))
            cells.append(b.unsqueeze(b.cast(c, FLOAT), [0]))
        x = outs[0] if len(outs) == 1 else b.Concat(*outs, axis=2)
        x.dtype = UINT8
    results = [x, *([_concat(b, hidden)] if op.state_outputs else [])]
    results = [b.Div(b.Sub(b.cast(v, FLOAT), shift), scale) for v in results]
    return (*results, _concat(b, cells)) if op.state_outputs else results[0]


def _concat(b, parts):
    return parts[0] if len(parts) == 1 else b.Concat(*parts, axis=0)


def _step(op, h2h, factor, given, scale, shift):
    """The body of the Scan: (hidden uint8, cell, sums of what the input adds to the gates) -> (hidden, cell, hidden)."""

    def step(b, hidden, cell, product):
        hidden.dtype = UINT8
        total = b.cast(b.Add(product, integer_product(b, hidden, h2h)), DOUBLE)
        enter, forget, new, leave = b.split(b.Add(b.Mul(total, factor), given), [op.state_size] * 4, 1)
        after = b.Add(b.Mul(b.Sigmoid(forget), cell), b.Mul(b.Sigmoid(enter), b.Tanh(new)))
        out = b.cast(b.Mul(b.Sigmoid(leave), b.Tanh(after)), FLOAT)
        out = whole(b, b.Add(b.Mul(out, scale), shift), UINT8)
        return out, after, out

    return step
