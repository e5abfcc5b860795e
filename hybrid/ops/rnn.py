"""Recurrent layers: RNN (vanilla, LSTM, GRU; layers, directions, projection) and the concatenation of its parameters."""

import math
from typing import Any

import numpy as np

from ..core.attrs import Arity, Count
from ..core.op import Domain, Op, op
from ..core.shapes import UNKNOWN, merge, merge_all
from .common import axis_of, part_of, want_rank, widen
from .recurrence import GATES, KEPT, Cell, LayerDirection, Mode


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

    meanings = {"mode": "Kind of cell.", "p": "Probability with which an output becomes 0 between layers in training."}

    state_size: Count
    num_layers: Count
    bidirectional: bool = False
    mode: Mode
    p: float = 0.0
    state_outputs: bool = False
    projection_size: Count | None = None
    lstm_state_clip_min: float | None = None
    lstm_state_clip_max: float | None = None
    lstm_state_clip_nan: bool = False
    use_sequence_length: bool = False

    exception = "a whole recurrence, with the gates in one array of parameters"

    inputs = ("data", "parameters", "state", "state_cell", "sequence_length")
    needs = ("training", "rng")

    def check(self):
        if self.projection_size is not None and self.mode != "lstm":
            return f"got projection_size {self.projection_size} in mode {self.mode}, wanted it in mode lstm alone"
        if (self.lstm_state_clip_min is None) != (self.lstm_state_clip_max is None):
            return "lstm_state_clip_min and lstm_state_clip_max must be given together"
        return None if 0 <= self.p < 1 else f"got dropout p={self.p}, wanted 0 <= p < 1"

    @property
    def remark(self) -> str:  # type: ignore[override]
        """See Op.remark."""
        named = {"sequence lengths": self.use_sequence_length, "the clipping of the cell state": self.clip is not None}
        heeded = " and ".join(what for what, given in named.items() if given)
        return heeded and f"heeds {heeded}, as on a GPU; on a CPU MXNet 1.9.1 leaves that out unsaid, or refuses it"

    @property
    def gates(self) -> int:
        """Rows of a weight, in units of state_size."""
        return GATES[self.mode]

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

    def input_names(self):
        lengths = ("sequence_length",) if self.use_sequence_length else ()
        return ("data", "parameters", *self.state_names, *lengths)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the states."""
        return ("state", "state_cell") if self.mode == "lstm" else ("state",)

    @property
    def drops(self) -> bool:
        """True when there is dropout, between layers. Its masks come from a seed, the last output, hidden too."""
        return self.p > 0 and self.num_layers > 1

    def output_names(self):
        states = ("state_output", "statecell_output")[: len(self.state_names)] if self.state_outputs else ()
        return ("output", *states, "memory", *(("dropout_seed",) if self.drops else ()))

    def num_visible_outputs(self):
        return 1 + len(self.state_names) * self.state_outputs

    @property
    def internal_outputs(self):  # type: ignore[override]
        return len(self.output_names()) - self.num_visible_outputs()

    def memory_count(self, steps: Any, batch: Any) -> Any:
        """Length of the hidden output that training leaves for the gradient: the outputs of all layers but the last, what
        their steps keep, and whether that is there (1) or not (0)."""
        own = self.num_layers * KEPT[self.mode] * self.state_size + (self.num_layers - 1) * self.result_size
        return steps * batch * self.directions * own + 1

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
        return [(layers, batch, self.result_size), (layers, batch, self.state_size)][: len(self.state_names)]

    def infer_input_shapes(self, shapes, outputs):
        data, parameters, *rest = shapes
        output, *_ = outputs
        for known in (data, output):
            if known is not None:
                want_rank(self, known, 3)
        data = merge(data, None if output is None else (*output[:2], UNKNOWN))
        if data is None:
            return shapes
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
        hidden = [(self.memory_count(*data[:2]),), *([(1,)] if self.drops else [])]
        return [(*data[:2], self.result_size * self.directions), *(states if self.state_outputs else ()), *hidden]

    def infer_type(self, data, *others):
        states = others[: 1 + len(self.state_names)]
        if wrong := [d for d in (data, *states) if d.kind in "iub"]:
            raise self.error(f"got data, parameters or states of dtype {wrong[0]}, wanted floats; cast them")
        if other := [d for d in states if d != data]:
            raise self.error(f"got data of dtype {data} and parameters or states of {other[0]}, wanted one; cast them")
        memory = widen(np.empty(0, data)).dtype
        return [data] * self.num_visible_outputs() + [memory] + [np.dtype(np.int64)] * self.drops

    def infer_input_types(self, dtypes, outputs):
        given = (*dtypes[: len(dtypes) - self.use_sequence_length], *outputs[: self.num_visible_outputs()])
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
        initial = [widen(s) for s in (state, *rest[: len(self.state_names) - 1])]
        lengths = rest[-1].astype(np.int64) if self.use_sequence_length else None
        seed = rng.integers(1, 2**63 - 1, 1) if training and self.drops else np.zeros(1, np.int64)
        count = self.memory_count(*x.shape[:2])
        memory = np.empty_like(x, shape=count)
        if not training:  # zeros that nobody touches cost nothing
            memory = np.zeros(count, x.dtype) if type(x) is np.ndarray else np.zeros_like(x, shape=count)
        out, last = self._forward(
            x, packed, initial, lengths, seed, memory if training else np.empty_like(x, shape=count)
        )
        states = [np.stack(s) for s in zip(*last)] if self.state_outputs else []
        results = tuple(a.astype(data.dtype, copy=False) for a in (out, *states))
        return (*results, memory, seed) if self.drops else (*results, memory)

    def _dropout(self, x, layer, seed):
        """Input of a layer, after dropout. The seed, which is 0 out of training, gives the same mask every time."""
        if not layer or not self.drops or not seed[0]:
            return x
        keeps = np.random.default_rng((int(seed[0]), layer)).random(x.shape) >= self.p
        return x * (keeps / (1 - self.p)).astype(x.dtype)

    def _rooms(self, memory, steps, batch):
        """Views of the memory: the outputs of all layers but the last, and what each layer and direction keeps."""
        width, last = self.directions * self.result_size, self.num_layers - 1
        between = steps * batch * width * last
        own = memory[between:-1].reshape(self.num_layers, self.directions, -1)
        return memory[:between].reshape(last, steps, batch, width), own

    def _layer_directions(self, packed, cells, layer, initial, lengths, kept):
        """The directions of a layer, each with the part of the outputs that it makes and its place among the states."""
        for direction, cell in enumerate(cells[layer]):
            own = slice(direction * self.result_size, (direction + 1) * self.result_size)
            index = layer * self.directions + direction
            begin = [s[index] for s in initial]
            run = LayerDirection(
                self.mode, self._clip_cell, packed, cell, begin, lengths, direction == 1, kept[layer, direction]
            )
            yield run, own, index

    def _forward(self, x, packed, initial, lengths, seed, memory):
        """The outputs (T, N, D*R) and the last states of every layer and direction; fills the memory."""
        between, kept = self._rooms(memory, *x.shape[:2])
        cells, last = self.cells(x.shape[2]), []
        for layer in range(self.num_layers):
            x = self._dropout(x, layer, seed)
            final = layer == self.num_layers - 1
            out = (
                np.empty_like(x, order="C", shape=(*x.shape[:2], self.directions * self.result_size))
                if final
                else between[layer]
            )
            for run, own, _ in self._layer_directions(packed, cells, layer, initial, lengths, kept):
                last.append(run.forward(x, out[:, :, own]))
            x = out
        memory[-1] = 1
        return x, last

    def _clip_cell(self, cell):
        if not self.clip:
            return cell
        # fmin and fmax drop NaN, minimum and maximum keep it
        low, high = (np.fmax, np.fmin) if self.lstm_state_clip_nan else (np.maximum, np.minimum)
        return high(low(cell, self.clip[0]), self.clip[1]).astype(cell.dtype, copy=False)

    def gradient(self, F, dy, *arrays):
        inputs, results = arrays[: len(self.input_names())], arrays[len(self.input_names()) :]
        given = dict(zip(_HEADS, dy[: self.num_visible_outputs()])) | dict(zip(self.input_names(), inputs))
        given |= {"output": results[0], "memory": results[self.num_visible_outputs()]}
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


_HEADS = ("dy", "dy_state", "dy_state_cell")


@op("_backward_RNN")
@part_of(
    "RNN",
    dy="output",
    dy_state="state_output",
    dy_state_cell="statecell_output",
    output="output",
    memory="memory",
    dropout_seed="dropout_seed",
)
class RNNBackward(RNN):
    """The gradients of data, parameters and states: backpropagation through time.

    Shapes: the gradients of the outputs, then RNN's inputs, its output, its memory and the seed of its dropout -> as data,
    parameters, state and state_cell. Without a memory (out of training) the layers run again."""

    inputs = (*_HEADS, *RNN.inputs, "output", "memory", "dropout_seed")
    needs = ()

    def input_names(self):
        heads = _HEADS[: 1 + len(self.state_names) * self.state_outputs]
        return (*heads, *super().input_names(), "output", "memory", *(("dropout_seed",) if self.drops else ()))

    def output_names(self):
        return ("data", "parameters", *self.state_names)

    def num_visible_outputs(self):
        return len(self.output_names())

    def infer_shape(self, *shapes):
        named = dict(zip(self.input_names(), shapes))
        return [named[n] for n in self.output_names()]

    def infer_type(self, *dtypes):
        return self.infer_shape(*dtypes)

    def infer_input_shapes(self, shapes, outputs):
        return shapes

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def compute(self, *arrays):
        given = dict(zip(self.input_names(), arrays))
        packed, x = widen(given["parameters"]), widen(given["data"])
        initial = [widen(given[n]) for n in self.state_names]
        ends = [
            widen(given[f"dy_{n}"]) if self.state_outputs else np.zeros_like(s)
            for n, s in zip(self.state_names, initial)
        ]
        lengths = given["sequence_length"].astype(np.int64) if self.use_sequence_length else None
        seed = given["dropout_seed"] if self.drops else None

        memory = given["memory"]
        if not memory[-1]:
            memory = np.empty_like(memory)
            self._forward(x, packed, initial, lengths, seed, memory)
        between, kept = self._rooms(memory, *x.shape[:2])

        dpacked, dinitial = np.empty_like(packed), [np.empty_like(s) for s in initial]
        dy, cells = widen(given["dy"]), self.cells(x.shape[2])
        for layer in reversed(range(self.num_layers)):
            fed = self._dropout(between[layer - 1] if layer else x, layer, seed)
            out = widen(given["output"]) if layer == self.num_layers - 1 else between[layer]
            dx = np.zeros_like(fed)
            for run, own, index in self._layer_directions(packed, cells, layer, initial, lengths, kept):
                dstates = run.back(fed, out[:, :, own], dy[:, :, own], [s[index] for s in ends], dpacked, dx)
                for all_of_them, one in zip(dinitial, dstates):
                    all_of_them[index] = one
            dy = self._dropout(dx, layer, seed)
        found = (dy, dpacked, *dinitial)
        return tuple(a.astype(given[n].dtype, copy=False) for n, a in zip(self.output_names(), found))


@op("_rnn_param_concat", "_npi_rnn_param_concat")
class RnnParamConcat(Op):
    """Parameters of all layers joined along ``dim`` into the vector that RNN takes.

    Shapes: (..., k, ...) each, alike but for axis dim -> (..., sum of k, ...). Unknown sizes along dim follow from the
    output's: they are equal, those of the first layer's i2h weights in both directions. Source: MXNet _rnn_param_concat."""

    meanings = {"*data": "Parameters of the layers, in the order in which RNN reads them."}

    num_args: Arity
    dim: int = 1

    inputs = ("*data",)

    def infer_shape(self, *shapes):
        axis = axis_of(self, self.dim, len(shapes[0]))
        rest = merge_all((*s[:axis], UNKNOWN, *s[axis + 1 :]) for s in shapes) or ()
        return (*rest[:axis], sum(s[axis] for s in shapes), *rest[axis + 1 :])

    def infer_input_shapes(self, shapes, outputs):
        known = next((s for s in (*shapes, *outputs) if s is not None), None)
        if known is None:
            return shapes
        if any(s is not None and len(s) != len(known) for s in (*shapes, *outputs)):
            raise self.error("the inputs differ in rank")
        axis = axis_of(self, self.dim, len(known))
        rest = (*known[:axis], UNKNOWN, *known[axis + 1 :])
        filled = [rest if s is None else s for s in shapes]
        open_ = [i for i, s in enumerate(filled) if s[axis] is UNKNOWN]
        output = outputs[0]
        total = UNKNOWN if output is None else output[axis]
        if open_ and total is not UNKNOWN:
            missing = total - sum(s[axis] for s in filled if s[axis] is not UNKNOWN)
            if missing < 0:
                raise self.error(
                    f"got inputs of {total - missing} along axis {axis}, wanted the output's {total} at most"
                )
            for i in open_ if missing % len(open_) == 0 else ():
                filled[i] = (*rest[:axis], missing // len(open_), *rest[axis + 1 :])
        return filled

    def composition(self, F, *data):
        return F.Concat(*data, dim=self.dim)

    def compute(self, *data):
        return np.concatenate(data, axis=self.dim)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(4), make.uniform(2), num_args=2, dim=0)
        yield make(make.uniform(2, 3), make.uniform(2, 1), num_args=2)
