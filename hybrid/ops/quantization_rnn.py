"""A quantised LSTM: uint8 data and hidden states, int8 weights, everything else in floats."""

import math

import numpy as np

from ..core.op import Op, op
from ..core.shapes import UNKNOWN, merge
from .activation import sigmoid
from .common import want_rank
from .quantization import FLOAT, INT8, UINT8, Quantized, saturate
from .recurrence import Cell, part
from .rnn import RNN

Weights = tuple[np.ndarray, np.ndarray, np.ndarray]


@op("_contrib_quantized_rnn")
class QuantizedRNN(Quantized, RNN):
    """An LSTM whose data and hidden states are uint8, h * scale + shift, and whose weights are int8.

    Inputs: data uint8 (T, N, C), parameters and states as RNN, float32, then scale and shift of the data, (1,) each, which MXNet
    names min_data and max_data. Outputs: as RNN, float32; hidden states are those that uint8 numbers stand for.

    Each row of the weights has 127 levels to its largest number, in all layers at once: those of the first layer, of both its
    directions, and of what MXNet takes for the weights of further ones. MXNet 1.9.1 runs this on CPUs without AVX512-VNNI only,
    and there its oneDNN overflows where the sum of two products exceeds 32767; here nothing overflows.
    Source: MXNet contrib.quantized_rnn.
    """

    meanings = {"min_data": "Scale of the data.", "max_data": "Shift of the data."}

    exception = "rounds and saturates integers as oneDNN does"

    inputs = ("data", "parameters", "state", "state_cell", "min_data", "max_data")
    floats = inputs[1:4]
    needs = ()
    internal_outputs = 0  # type: ignore[assignment]
    ignored_attributes = ("quantized",)
    gradient = Op.gradient

    def check(self):
        if self.mode != "lstm" or self.projection_size is not None:
            return f"got mode={self.mode}, projection_size={self.projection_size}, wanted an LSTM without projection"
        if self.use_sequence_length or self.lstm_state_clip_min is not None:
            return "sequence lengths and clipping are refused: MXNet drops them silently"
        return super().check()

    def wants(self, name):
        return (UINT8,) if name == "data" else super().wants(name)

    def input_names(self):
        return self.inputs

    def output_names(self):
        return ("output", "state_output", "statecell_ouput")[: 3 if self.state_outputs else 1]

    def num_visible_outputs(self):
        return len(self.output_names())

    def infer_type(self, *dtypes):
        return [FLOAT] * self.num_visible_outputs()

    def infer_input_shapes(self, shapes, outputs):
        data, parameters, *states = shapes[:4]
        if data is None:
            return [*shapes[:4], (1,), (1,)]
        want_rank(self, data, 3)
        count = UNKNOWN if data[2] is UNKNOWN else self.parameter_count(data[2])
        own = [merge(given, wanted) for given, wanted in zip(states, self._states(data[1]))]
        return [data, merge(parameters, (count,)), *own, (1,), (1,)]

    def infer_shape(self, data, *others):
        want_rank(self, data, 3)
        states = self._states(data[1]) if self.state_outputs else ()
        return [(*data[:2], self.state_size * self.directions), *states]

    def weight_scales(self, packed: np.ndarray, features: int) -> np.ndarray:
        """Levels per unit of each row of the weights, (4 H,)."""
        rows, size, cells = 4 * self.state_size, self.state_size, self.cells(features)

        def largest(at: int, width: int) -> np.ndarray:
            found = packed[at : at + rows * width]  # MXNet reads on behind the end where there is not enough
            return np.abs(np.append(found, np.zeros(rows * width - len(found), FLOAT)).reshape(rows, width)).max(1)

        tops = [largest(place[0], place[1][1]) for cell in cells[0] for place in (cell.i2h, cell.h2h)]
        # with one direction and data as wide as the state all layers are one to MXNet, else all after the first
        seen = 1 if not self.bidirectional and features == size else 2 if not self.bidirectional else self.num_layers
        for layer in range(1, min(seen, self.num_layers)):
            begin = cells[layer][0].i2h[0]
            tops += [largest(begin, size), largest(begin + rows * (features if layer == 1 else size), size)]
        return np.float32(127) / np.max(tops, 0)

    def quantize_weights(self, packed: np.ndarray, cell: Cell, scales: np.ndarray) -> Weights:
        """The weights of a cell as int8, (4 H, C) and (4 H, H), and its bias, (4 H,)."""
        weights = [saturate(part(packed, place) * scales[:, None], INT8) for place in (cell.i2h, cell.h2h)]
        return weights[0], weights[1], part(packed, cell.i2h_bias) + part(packed, cell.h2h_bias)

    def compute(self, data, parameters, state, state_cell, scale, shift):
        scale, shift = scale.reshape(()), shift.reshape(())
        scales = self.weight_scales(parameters, data.shape[2])
        x, hidden, cells = data, [], []
        for layer in self.cells(data.shape[2]):
            parts = []
            for direction, cell in enumerate(layer):
                weights = self.quantize_weights(parameters, cell, scales)
                begin = saturate(state[len(hidden)] * scale + shift, UINT8), state_cell[len(hidden)]
                out, h, c = self._pass(x, *weights, scales, *begin, scale, shift, direction == 1)
                parts.append(out)
                hidden.append(h)
                cells.append(c)
            x = np.concatenate(parts, -1)
        results = [(a.astype(FLOAT) - shift) / scale for a in (x, np.stack(hidden))]
        return (results[0], results[1], np.stack(cells).astype(FLOAT)) if self.state_outputs else results[0]

    def _pass(self, x, i2h, h2h, bias, scales, h, c, scale, shift, backward):
        """One layer in one direction, uint8 x (T, N, C): the hidden states (T, N, H), the last one, and the last cell state."""
        factor = 1 / (scales.astype(np.float64) * scale)
        left, right = i2h.T.astype(np.float64), h2h.T.astype(np.float64)
        given = bias - (left.sum(0) + right.sum(0)) * np.float64(shift) * factor
        wide = x.reshape(-1, x.shape[2]).astype(np.float64) @ left
        steps = wide.reshape(*x.shape[:2], math.prod(bias.shape))
        out = np.empty((*x.shape[:2], h.shape[1]), UINT8)
        for t in range(len(x))[::-1] if backward else range(len(x)):
            gates = (steps[t] + h.astype(np.float64) @ right) * factor + given
            i, f, g, o = np.split(gates, 4, -1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = out[t] = saturate((sigmoid(o) * np.tanh(c)).astype(FLOAT) * scale + shift, UINT8)
        return out, h, c

    @classmethod
    def examples(cls, make):
        x, ranges = make.integers(3, 2, 3, high=256, dtype="uint8"), (make.array([100]), make.array([128]))
        h = make.uniform(1, 2, 4)
        yield make(x, make.uniform(144), h, h, *ranges, mode="lstm", state_size=4, num_layers=1, state_outputs=True)
        h = make.uniform(4, 2, 3)
        yield make(x, make.uniform(456), h, h, *ranges, mode="lstm", state_size=3, num_layers=2, bidirectional=True)
