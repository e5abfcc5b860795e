"""Recurrent layers: RNN (vanilla, LSTM, GRU; layers, directions, projection) and the concatenation of its parameters."""

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from ..op import Domain, Op, op
from ..shapes import UNKNOWN, merge, merge_all
from .activation import sigmoid
from .common import axis_of, want_rank, widen

Place = tuple[int, tuple[int, ...]]

_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


class Cell(NamedTuple):
    """Where one layer's and direction's parameters lie in the packed vector, as (offset, shape)."""

    i2h: Place
    h2h: Place
    h2r: Place | None
    """The projection of the hidden state, where there is one."""
    i2h_bias: Place
    h2h_bias: Place


@op("RNN", "_npx_rnn")
class RNN(Op):
    """Recurrent layers over a whole sequence, stacked and in one or both directions.

    Shapes: data (T, N, C), parameters (size,), state (L*D, N, R), for LSTM state_cell (L*D, N, H), and with
    use_sequence_length sequence_length (N,) -> (T, N, D*R), and with state_outputs the last states; H is state_size, R
    projection_size or H, L num_layers, D the number of directions. parameters holds every layer's and direction's i2h and
    h2h weights (and h2r, with a projection), then every i2h and h2h bias. Gates: LSTM i f g o, GRU r z n with
    h' = (1 - z) n + z h, where n = tanh(Wx + b + r (Rh + c)).

    Past its length a sequence has outputs of 0 and keeps its state, and its reverse direction starts at its own end. The
    cell state of an LSTM is clipped at every step to [lstm_state_clip_min, lstm_state_clip_max]. Both are what cuDNN does
    (cudnnRNNDataDescriptor, cudnnRNNSetClip): MXNet 1.9.1's own CPU code refuses them, and its oneDNN drops them silently.
    Source: MXNet RNN, whose LSTM with projection is Sak et al. 2014, arXiv:1402.1128.
    """

    state_size: int
    num_layers: int
    bidirectional: bool = False
    mode: Literal["rnn_relu", "rnn_tanh", "lstm", "gru"]
    p: float = 0.0
    state_outputs: bool = False
    projection_size: int | None = None
    lstm_state_clip_min: float | None = None
    lstm_state_clip_max: float | None = None
    lstm_state_clip_nan: bool = False
    use_sequence_length: bool = False

    inputs = ("data", "parameters", "state", "state_cell", "sequence_length")
    uses = ("training", "rng")

    def check(self):
        if self.state_size < 1 or self.num_layers < 1:
            return f"got state_size {self.state_size} and num_layers {self.num_layers}, wanted at least 1"
        if self.projection_size is not None and (self.mode != "lstm" or self.projection_size < 1):
            return f"got projection_size {self.projection_size} in mode {self.mode}, wanted a positive one in mode lstm"
        if (self.lstm_state_clip_min is None) != (self.lstm_state_clip_max is None):
            return "lstm_state_clip_min and lstm_state_clip_max must be given together"
        return None if 0 <= self.p < 1 else f"got dropout p={self.p}, wanted 0 <= p < 1"

    @property
    def gates(self) -> int:
        """Rows of a weight, in units of state_size."""
        return _GATES[self.mode]

    @property
    def directions(self) -> int:
        return 1 + self.bidirectional

    @property
    def result_size(self) -> int:
        """Units that one direction gives to the next layer."""
        return self.projection_size or self.state_size

    @property
    def clip(self) -> tuple[float, float] | None:
        """Bounds of an LSTM's cell state, if it has any."""
        if self.mode != "lstm" or self.lstm_state_clip_min is None or self.lstm_state_clip_max is None:
            return None
        return self.lstm_state_clip_min, self.lstm_state_clip_max

    def takes(self):
        cell = ("state_cell",) if self.mode == "lstm" else ()
        return (*self.inputs[:3], *cell, *(("sequence_length",) if self.use_sequence_length else ()))

    def returns(self):
        states = ("state_output", "statecell_output")[: 2 if self.mode == "lstm" else 1]
        return ("output", *(states if self.state_outputs else ()))

    def parameter_count(self, features: Any) -> Any:
        """Length of the packed parameters for data of that many features."""
        rows, size, project = self.gates * self.state_size, self.result_size, self.projection_size or 0
        fixed = rows * (size + 2) + project * self.state_size
        return self.directions * (
            rows * features + fixed + (self.num_layers - 1) * (rows * self.directions * size + fixed)
        )

    def cells(self, features: int) -> list[list[Cell]]:
        """The layout of the packed parameters, by layer and direction."""
        rows, size = self.gates * self.state_size, self.result_size
        at = 0

        def place(*shape: int):
            nonlocal at
            at += math.prod(shape)
            return at - math.prod(shape), shape

        weights = [
            [
                (
                    place(rows, size * self.directions if layer else features),
                    place(rows, size),
                    place(size, self.state_size) if self.projection_size else None,
                )
                for _ in range(self.directions)
            ]
            for layer in range(self.num_layers)
        ]
        return [[Cell(*w, place(rows), place(rows)) for w in layer] for layer in weights]

    def _states(self, batch):
        layers = self.num_layers * self.directions
        return [(layers, batch, self.result_size), (layers, batch, self.state_size)][: 2 if self.mode == "lstm" else 1]

    def infer_input_shapes(self, shapes, outputs):
        data, parameters, *rest = shapes
        output, *_ = outputs
        if data is None and output is not None and len(output) == 3:
            data = (*output[:2], UNKNOWN)
        if data is None:
            return shapes
        want_rank(self, data, 3)
        batch = data[1]
        for known in (output, *rest[: len(self._states(batch))]):
            if batch is UNKNOWN and known is not None:
                batch = known[1]
        states = self._states(batch)
        count = self.parameter_count(data[2]) if data[2] is not UNKNOWN else UNKNOWN
        lengths = [(batch,)] if self.use_sequence_length else []
        return [(data[0], batch, data[2]), merge(parameters, (count,)), *states, *lengths]

    def infer_shape(self, data, parameters, *rest):
        want_rank(self, data, 3)
        states = self._states(data[1])
        return [(*data[:2], self.result_size * self.directions), *(states if self.state_outputs else ())]

    def infer_input_types(self, dtypes, outputs):
        known = next((d for d in (*dtypes[: len(dtypes) - self.use_sequence_length], *outputs) if d is not None), None)
        lengths = dtypes[-1:] if self.use_sequence_length else ()
        return [known if d is None else d for d in dtypes[: len(dtypes) - len(lengths)]] + list(lengths)

    def domain(self, name, shapes):
        data = shapes[0]
        if name != "sequence_length" or data is None or data[0] is UNKNOWN:
            return None
        return Domain(1, data[0], integer=True)

    def compute(self, data, parameters, state, *rest, training=False, rng: Any = None):
        packed, x = widen(parameters), widen(data)
        cells = self.cells(data.shape[2])
        initial = [widen(s) for s in (state, *rest[: self.mode == "lstm"])]
        lengths = rest[-1].astype(np.int64) if self.use_sequence_length else None
        last: list[list[np.ndarray]] = [[] for _ in initial]
        for layer, both in enumerate(cells):
            if training and self.p and layer:
                x = x * ((rng.random(x.shape) >= self.p) / (1 - self.p)).astype(x.dtype)
            results = []
            for direction, cell in enumerate(both):
                begin = [s[layer * self.directions + direction] for s in initial]
                out, end = self._run(x, packed, cell, begin, lengths, backward=direction == 1)
                results.append(out)
                for collected, one in zip(last, end):
                    collected.append(one)
            x = results[0] if len(results) == 1 else np.concatenate(results, axis=2)
        states = [np.stack(s) for s in last] if self.state_outputs else []
        return tuple(a.astype(data.dtype, copy=False) for a in (x, *states))

    def _run(self, x, packed, cell, states, lengths, *, backward):
        """One layer in one direction: outputs (T, N, R) and the last states."""

        def part(place):
            return packed[place[0] : place[0] + math.prod(place[1])].reshape(place[1])

        steps, batch, features = x.shape
        recurrent, bias = part(cell.h2h).T, part(cell.h2h_bias)
        project = None if cell.h2r is None else part(cell.h2r).T
        # one product for all steps: only what depends on the state has to wait for it
        given = x.reshape(steps * batch, features) @ part(cell.i2h).T + part(cell.i2h_bias)
        given = given.reshape(steps, batch, given.shape[1])
        out = np.zeros((steps, batch, self.result_size), x.dtype)
        for t in range(steps - 1, -1, -1) if backward else range(steps):
            new = self._step(given[t], states[0] @ recurrent + bias, states, project)
            if lengths is None:
                states, out[t] = new, new[0]
            else:
                valid = (t < lengths)[:, None]
                states = [np.where(valid, n, s) for n, s in zip(new, states)]
                out[t] = np.where(valid, new[0], 0)
        return out, states

    def _step(self, given, recalled, states, project):
        if self.mode == "rnn_relu":
            # MXNet's CPU ReLU returns float32 whatever it is given
            return [np.maximum(given + recalled, 0).astype(np.float32).astype(given.dtype, copy=False)]
        if self.mode == "rnn_tanh":
            return [np.tanh(given + recalled)]
        if self.mode == "gru":
            gx, gh = np.split(given, 3, axis=1), np.split(recalled, 3, axis=1)
            reset, update = sigmoid(gx[0] + gh[0]), sigmoid(gx[1] + gh[1])
            return [(1 - update) * np.tanh(gx[2] + reset * gh[2]) + update * states[0]]
        enter, forget, new, leave = np.split(given + recalled, 4, axis=1)
        cell = sigmoid(forget) * states[1] + sigmoid(enter) * np.tanh(new)
        if self.clip:
            # fmin and fmax drop NaN, minimum and maximum keep it
            low, high = (np.fmax, np.fmin) if self.lstm_state_clip_nan else (np.maximum, np.minimum)
            cell = high(low(cell, self.clip[0]), self.clip[1]).astype(cell.dtype, copy=False)
        hidden = sigmoid(leave) * np.tanh(cell)
        return [hidden if project is None else hidden @ project, cell]

    @classmethod
    def examples(cls, make):
        x, h = make.uniform(3, 2, 3), make.uniform(1, 2, 4)
        yield make(x, make.uniform(144), h, h, mode="lstm", state_size=4, num_layers=1, state_outputs=True)
        yield make(x, make.uniform(108), h, mode="gru", state_size=4, num_layers=1, state_outputs=True)
        h = make.uniform(4, 2, 3)
        yield make(x, make.uniform(114), h, mode="rnn_tanh", state_size=3, num_layers=2, bidirectional=True)
        yield make(x, make.uniform(36), make.uniform(1, 2, 4), mode="rnn_relu", state_size=4, num_layers=1)


@op("_rnn_param_concat", "_npi_rnn_param_concat")
class RnnParamConcat(Op):
    """Parameters of all layers joined along ``dim`` into the vector that RNN takes.

    Shapes: (..., k, ...) each, alike but for axis dim -> (..., sum of k, ...). One input's unknown size along dim follows
    from the output's. Source: MXNet _rnn_param_concat."""

    num_args: int
    dim: int = 1

    inputs = ("*data",)

    def infer_shape(self, *shapes):
        axis = axis_of(self, self.dim, len(shapes[0]))
        if any(len(s) != len(shapes[0]) for s in shapes):
            raise self.fail("the inputs differ in rank")
        rest = merge_all((*s[:axis], UNKNOWN, *s[axis + 1 :]) for s in shapes) or ()
        return (*rest[:axis], sum(s[axis] for s in shapes), *rest[axis + 1 :])

    def infer_input_shapes(self, shapes, outputs):
        known = next((s for s in (*shapes, *outputs) if s is not None), None)
        if known is None:
            return shapes
        if any(s is not None and len(s) != len(known) for s in (*shapes, *outputs)):
            raise self.fail("the inputs differ in rank")
        axis = axis_of(self, self.dim, len(known))
        rest = (*known[:axis], UNKNOWN, *known[axis + 1 :])
        filled = [rest if s is None else s for s in shapes]
        open_ = [i for i, s in enumerate(filled) if s[axis] is UNKNOWN]
        output = outputs[0]
        total = UNKNOWN if output is None else output[axis]
        if len(open_) == 1 and total is not UNKNOWN:
            missing = total - sum(s[axis] for s in filled if s[axis] is not UNKNOWN)
            filled[open_[0]] = (*rest[:axis], missing, *rest[axis + 1 :])
        return filled

    def compute(self, *data):
        return np.concatenate(data, axis=self.dim)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4), make.uniform(2), num_args=2, dim=0)
        yield make(make.uniform(2, 3), make.uniform(2, 1), num_args=2)
