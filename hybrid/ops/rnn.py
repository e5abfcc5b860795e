"""Recurrent layers: RNN (vanilla, LSTM, GRU; layers, directions, projection) and the concatenation of its parameters."""

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from ..op import Domain, Op, op
from ..shapes import UNKNOWN, merge, merge_all
from .activation import sigmoid
from .adjoint import linear
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
        lengths = ("sequence_length",) if self.use_sequence_length else ()
        return ("data", "parameters", *self.kept, *lengths)

    @property
    def kept(self) -> tuple[str, ...]:
        """Names of the states."""
        return ("state", "state_cell") if self.mode == "lstm" else ("state",)

    @property
    def drops(self) -> bool:
        """Whether there is dropout, between layers. Its masks come from a seed, the last output, hidden."""
        return self.p > 0 and self.num_layers > 1

    def returns(self):
        states = ("state_output", "statecell_output")[: len(self.kept)] if self.state_outputs else ()
        return ("output", *states, *(("dropout_seed",) if self.drops else ()))

    def visible(self):
        return 1 + len(self.kept) * self.state_outputs

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
        return [(layers, batch, self.result_size), (layers, batch, self.state_size)][: len(self.kept)]

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
        seed = [(1,)] if self.drops else []
        return [(*data[:2], self.result_size * self.directions), *(states if self.state_outputs else ()), *seed]

    def infer_type(self, data, *others):
        return [data] * self.visible() + [np.dtype(np.int64)] * self.drops

    def infer_input_types(self, dtypes, outputs):
        given = (*dtypes[: len(dtypes) - self.use_sequence_length], *outputs[: self.visible()])
        known = next((d for d in given if d is not None), None)
        lengths = dtypes[-1:] if self.use_sequence_length else ()
        return [known if d is None else d for d in dtypes[: len(dtypes) - len(lengths)]] + list(lengths)

    def domain(self, name, shapes):
        data = shapes[0]
        if name != "sequence_length" or data is None or data[0] is UNKNOWN:
            return None
        return Domain(1, data[0], integer=True)

    def compute(self, data, parameters, state, *rest, training=False, rng: Any = None):
        packed, x = widen(parameters), widen(data)
        initial = [widen(s) for s in (state, *rest[: len(self.kept) - 1])]
        lengths = rest[-1].astype(np.int64) if self.use_sequence_length else None
        seed = rng.integers(1, 2**63 - 1, 1) if training and self.drops else np.zeros(1, np.int64)
        last: list[list[np.ndarray]] = [[] for _ in initial]
        for layer, both in enumerate(self.cells(data.shape[2])):
            x, ends = self._layer(self._dropped(x, layer, seed), layer, both, packed, initial, lengths)
            for end in ends:
                for collected, one in zip(last, end):
                    collected.append(one)
        states = [np.stack(s) for s in last] if self.state_outputs else []
        results = tuple(a.astype(data.dtype, copy=False) for a in (x, *states))
        return (*results, seed) if self.drops else results

    def _dropped(self, x, layer, seed):
        """What goes into a layer, after dropout. The seed, which is 0 out of training, gives the same mask every time."""
        if not layer or not self.drops or not seed[0]:
            return x
        keeps = np.random.default_rng((int(seed[0]), layer)).random(x.shape) >= self.p
        return x * (keeps / (1 - self.p)).astype(x.dtype)

    def _layer(self, x, layer, both, packed, initial, lengths):
        """One layer: its outputs (T, N, D*R), and for each direction the last states."""
        results, ends = [], []
        for direction, cell in enumerate(both):
            begin = [s[layer * self.directions + direction] for s in initial]
            out, end = self._run(x, packed, cell, begin, lengths, backward=direction == 1)
            results.append(out)
            ends.append(end)
        return (results[0] if len(results) == 1 else np.concatenate(results, axis=2)), ends

    def _run(self, x, packed, cell, states, lengths, *, backward):
        """One layer in one direction: outputs (T, N, R) and the last states."""

        def part(place):
            return _part(packed, place)

        steps, batch, features = x.shape
        recurrent, bias = part(cell.h2h).T, part(cell.h2h_bias)
        apart = self.mode == "gru"  # whose reset gate is between the two
        project = None if cell.h2r is None else part(cell.h2r).T
        # one product for all steps: only what depends on the state has to wait for it
        given = x.reshape(steps * batch, features) @ part(cell.i2h).T + part(cell.i2h_bias)
        if not apart:
            given += bias
        given = given.reshape(steps, batch, given.shape[1])
        out = np.zeros((steps, batch, self.result_size), x.dtype)
        for t in range(steps - 1, -1, -1) if backward else range(steps):
            recalled = states[0] @ recurrent
            new = self._step(given[t], recalled + bias if apart else recalled, states, project)
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
            two, size = 2 * self.state_size, self.state_size
            gates = sigmoid(given[:, :two] + recalled[:, :two])
            reset, update = gates[:, :size], gates[:, size:]
            return [(1 - update) * np.tanh(given[:, two:] + reset * recalled[:, two:]) + update * states[0]]
        recalled += given
        size = self.state_size
        gates = sigmoid(recalled)  # the third is none, but one call for all four is quicker than three
        new = np.tanh(recalled[:, 2 * size : 3 * size])
        cell = self._clipped(gates[:, size : 2 * size] * states[1] + gates[:, :size] * new)
        hidden = gates[:, 3 * size :] * np.tanh(cell)
        return [hidden if project is None else hidden @ project, cell]

    def _clipped(self, cell):
        if not self.clip:
            return cell
        # fmin and fmax drop NaN, minimum and maximum keep it
        low, high = (np.fmax, np.fmin) if self.lstm_state_clip_nan else (np.maximum, np.minimum)
        return high(low(cell, self.clip[0]), self.clip[1]).astype(cell.dtype, copy=False)

    def gradient(self, F, dy, *arrays):
        inputs, results = arrays[: len(self.takes())], arrays[len(self.takes()) :]
        heads = dy if isinstance(dy, tuple) else (dy,)
        given = dict(zip(_HEADS, heads[: self.visible()])) | dict(zip(self.takes(), inputs)) | {"output": results[0]}
        if self.drops:
            given["dropout_seed"] = results[-1]
        return [*F._backward_RNN(**given, **self.dump()), *(None,) * self.use_sequence_length]

    @classmethod
    def examples(cls, make):
        x, h = make.uniform(3, 2, 3), make.uniform(1, 2, 4)
        yield make(x, make.uniform(144), h, h, mode="lstm", state_size=4, num_layers=1, state_outputs=True)
        yield make(x, make.uniform(108), h, mode="gru", state_size=4, num_layers=1, state_outputs=True)
        h = make.uniform(4, 2, 3)
        yield make(x, make.uniform(114), h, mode="rnn_tanh", state_size=3, num_layers=2, bidirectional=True)
        yield make(x, make.uniform(36), make.uniform(1, 2, 4), mode="rnn_relu", state_size=4, num_layers=1)


def _part(packed: np.ndarray, place: Place) -> np.ndarray:
    """The view of the packed parameters that lies at a place."""
    return packed[place[0] : place[0] + math.prod(place[1])].reshape(place[1])


_HEADS = ("dy", "dy_state", "dy_state_cell")


@op("_backward_RNN")
class RNNBackward(RNN):
    """The gradients of data, parameters and states: backpropagation through time.

    Shapes: the gradients of the outputs, then RNN's inputs, its output and the seed of its dropout -> as data, parameters,
    state and state_cell. The hidden layers run again; within a layer the outputs are known, so all that its steps share is
    one product, and only what depends on the gradient of the next step is done step by step."""

    inputs = (*_HEADS, *RNN.inputs, "output", "dropout_seed")
    uses = ()

    def takes(self):
        heads = _HEADS[: 1 + len(self.kept) * self.state_outputs]
        return (*heads, *super().takes(), "output", *(("dropout_seed",) if self.drops else ()))

    def returns(self):
        return ("data", "parameters", *self.kept)

    def visible(self):
        return len(self.returns())

    def infer_shape(self, *shapes):
        named = dict(zip(self.takes(), shapes))
        return [named[n] for n in self.returns()]

    def infer_type(self, *dtypes):
        return self.infer_shape(*dtypes)

    def infer_input_shapes(self, shapes, outputs):
        return shapes

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def compute(self, *arrays):
        given = dict(zip(self.takes(), arrays))
        packed, x = widen(given["parameters"]), widen(given["data"])
        initial = [widen(given[n]) for n in self.kept]
        ends = [widen(given[f"dy_{n}"]) if self.state_outputs else np.zeros_like(s) for n, s in zip(self.kept, initial)]
        lengths = given["sequence_length"].astype(np.int64) if self.use_sequence_length else None
        seed = given["dropout_seed"] if self.drops else None

        cells, fed, made = self.cells(x.shape[2]), [], []
        for layer, both in enumerate(cells):
            fed.append(self._dropped(x, layer, seed))
            if layer == self.num_layers - 1:
                x = widen(given["output"])
            else:
                x, _ = self._layer(fed[-1], layer, both, packed, initial, lengths)
            made.append(x)

        dpacked, dinitial = np.zeros_like(packed), [np.zeros_like(s) for s in initial]
        dy, size = widen(given["dy"]), self.result_size
        for layer in reversed(range(self.num_layers)):
            dx = np.zeros_like(fed[layer])
            for direction, cell in enumerate(cells[layer]):
                own, index = slice(direction * size, (direction + 1) * size), layer * self.directions + direction
                run = _Run(self, fed[layer], made[layer][:, :, own], packed, cell, [s[index] for s in initial], lengths)
                dstates = run.back(dy[:, :, own], [s[index] for s in ends], dpacked, dx, backward=direction == 1)
                for all_of_them, one in zip(dinitial, dstates):
                    all_of_them[index] = one
            dy = self._dropped(dx, layer, seed)
        found = (dy, dpacked, *dinitial)
        return tuple(a.astype(given[n].dtype, copy=False) for n, a in zip(self.returns(), found))


class _Run(NamedTuple):
    """One layer in one direction, as it ran: x (T, N, C) gave out (T, N, R)."""

    op: RNN
    x: np.ndarray
    out: np.ndarray
    packed: np.ndarray
    cell: Cell
    begin: list[np.ndarray]
    lengths: np.ndarray | None

    def back(self, dy, dstates, dpacked, dx, *, backward):
        """The gradients of the states at the beginning, given those of the outputs and of the states at the end.

        Those of the parameters are put into dpacked, those of x are added to dx."""
        steps, batch, _ = self.x.shape
        order = range(steps - 1, -1, -1) if backward else range(steps)
        valid = None if self.lengths is None else (np.arange(steps)[:, None] < self.lengths)[:, :, None]
        before = self._before(backward, valid)
        weights = _part(self.packed, self.cell.i2h), _part(self.packed, self.cell.h2h)
        given = self._linear(self.x, weights[0], self.cell.i2h_bias)
        recalled = self._linear(before, weights[1], self.cell.h2h_bias)
        step, hidden = self._steps(given, recalled, before, order, valid)
        project = None if self.cell.h2r is None else _part(self.packed, self.cell.h2r)

        dgiven = np.zeros_like(given)
        drecalled = dgiven if self.op.mode != "gru" else np.zeros_like(given)
        dresult = np.zeros_like(self.out)
        for t in reversed(order):
            first = dstates[0] + dy[t]
            if project is not None:
                dresult[t] = first if valid is None else np.where(valid[t], first, 0)
            new = step(t, first if project is None else first @ project, dstates[1:], dgiven[t], drecalled[t])
            if valid is not None:
                for array in (dgiven[t], drecalled[t]):
                    array[~valid[t, :, 0]] = 0
            new[0] = new[0] + drecalled[t] @ weights[1]
            dstates = new if valid is None else [np.where(valid[t], n, s) for n, s in zip(new, dstates)]

        rows = steps * batch
        flat, flat_recalled = dgiven.reshape(rows, -1), drecalled.reshape(rows, -1)
        _part(dpacked, self.cell.i2h)[...] = flat.T @ self.x.reshape(rows, -1)
        _part(dpacked, self.cell.h2h)[...] = flat_recalled.T @ before.reshape(rows, -1)
        _part(dpacked, self.cell.i2h_bias)[...] = flat.sum(0)
        _part(dpacked, self.cell.h2h_bias)[...] = flat_recalled.sum(0)
        if self.cell.h2r is not None:
            _part(dpacked, self.cell.h2r)[...] = dresult.reshape(rows, -1).T @ hidden.reshape(rows, -1)
        dx += (flat @ weights[0]).reshape(dx.shape)
        return dstates

    def _before(self, backward, valid):
        """The hidden state that each step began with (T, N, R)."""
        before = np.empty_like(self.out)
        if not backward:
            before[:1], before[1:] = self.begin[0], self.out[:-1]
            return before
        before[-1:], before[:-1] = self.begin[0], self.out[1:]
        if valid is not None:  # a sequence that ends early begins at its end
            before[:-1] = np.where(valid[1:], before[:-1], self.begin[0])
        return before

    def _linear(self, x, weight, bias):
        """x of all steps times weight, plus bias: (T, N, rows)."""
        rows = x.reshape(-1, x.shape[2]) @ weight.T + _part(self.packed, bias)
        return rows.reshape(*x.shape[:2], len(weight))

    def _steps(self, given, recalled, before, order, valid):
        """The function that goes back over step t, and the hidden states before a projection.

        It takes t, the gradient of the hidden state, and of the other states; fills the gradients of given[t] and
        recalled[t]; and gives those of the states before, as far as they do not come through recalled."""
        if self.op.mode == "lstm":
            return self._lstm(given + recalled, order, valid)
        if self.op.mode == "gru":
            return self._gru(given, recalled, before), self.out
        relu = self.op.mode == "rnn_relu"
        slope = (self.out > 0).astype(self.out.dtype) if relu else 1 - self.out**2

        def step(t, dhidden, _, dgiven, drecalled):
            np.multiply(dhidden, slope[t], out=dgiven)
            if relu:  # float32 in MXNet like the ReLU itself
                dgiven[...] = dgiven.astype(np.float32)
            return [0]

        return step, self.out

    def _gru(self, given, recalled, before):
        (gr, gz, gn), (hr, hz, hn) = np.split(given, 3, axis=2), np.split(recalled, 3, axis=2)
        reset, update = sigmoid(gr + hr), sigmoid(gz + hz)
        new = np.tanh(gn + reset * hn)
        by_new, by_update = (1 - update) * (1 - new**2), (before - new) * update * (1 - update)
        by_reset = hn * reset * (1 - reset)
        size = new.shape[2]

        def step(t, dhidden, _, dgiven, drecalled):
            dnew = dhidden * by_new[t]
            dgiven[:, :size] = dnew * by_reset[t]
            dgiven[:, size : 2 * size] = dhidden * by_update[t]
            dgiven[:, 2 * size :] = dnew
            drecalled[...] = dgiven
            drecalled[:, 2 * size :] *= reset[t]
            return [dhidden * update[t]]

        return step

    def _lstm(self, gates, order, valid):
        enter, forget, new, leave = np.split(gates, 4, axis=2)
        enter, forget, new, leave = sigmoid(enter), sigmoid(forget), np.tanh(new), sigmoid(leave)
        cells, before, state = np.empty_like(new), np.empty_like(new), self.begin[1]
        for t in order:
            before[t] = state
            cells[t] = forget[t] * state + enter[t] * new[t]
            clipped = self.op._clipped(cells[t])
            state = clipped if valid is None else np.where(valid[t], clipped, state)
        shut = self.op._clipped(cells)
        out = np.tanh(shut)
        by_cell = leave * (1 - out**2)
        # the cell's gradient, gate by gate
        slopes = np.concatenate(
            [new * enter * (1 - enter), before * forget * (1 - forget), enter * (1 - new**2)], axis=2
        )
        by_leave = out * leave * (1 - leave)
        passes = None if shut is cells else shut == cells
        size = new.shape[2]

        def step(t, dhidden, others, dgiven, drecalled):
            dcell = others[0] + dhidden * by_cell[t]
            if passes is not None:
                dcell = dcell * passes[t]
            np.multiply(slopes[t].reshape(-1, 3, size), dcell[:, None], out=dgiven[:, : 3 * size].reshape(-1, 3, size))
            np.multiply(dhidden, by_leave[t], out=dgiven[:, 3 * size :])
            return [0, dcell * forget[t]]

        return step, leave * out


@linear(jointly=True)
@op("_rnn_param_concat", "_npi_rnn_param_concat")
class RnnParamConcat(Op):
    """Parameters of all layers joined along ``dim`` into the vector that RNN takes.

    Shapes: (..., k, ...) each, alike but for axis dim -> (..., sum of k, ...). Unknown sizes along dim follow from the
    output's: they are equal, those of the first layer's i2h weights in both directions. Source: MXNet _rnn_param_concat."""

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
        if open_ and total is not UNKNOWN:
            missing = total - sum(s[axis] for s in filled if s[axis] is not UNKNOWN)
            for i in open_ if missing % len(open_) == 0 else ():
                filled[i] = (*rest[:axis], missing // len(open_), *rest[axis + 1 :])
        return filled

    def compute(self, *data):
        return np.concatenate(data, axis=self.dim)

    def adjoint(self, of, dy, *data):
        ends = np.cumsum([d.shape[self.dim] for d in data])
        return np.split(dy, ends[:-1], self.dim)[of]

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4), make.uniform(2), num_args=2, dim=0)
        yield make(make.uniform(2, 3), make.uniform(2, 1), num_args=2)
