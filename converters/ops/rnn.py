"""RNN as one ONNX LSTM, GRU or RNN node per layer; as Scan where ONNX's LSTM has no word for it (projection, clipping). Read, such
a node is MXNet's RNN where that has words for it, else the family's own (converters/ops/onnx/rnn.py)."""

from typing import Any

import numpy as np

from hybrid.core.shapes import UNKNOWN

from ..registry import exports, imports
from .reduce import has_some

# MXNet's gates in ONNX's order: LSTM i f g o -> i o f c, GRU r z n -> z r h
_ORDER = {"rnn_relu": [0], "rnn_tanh": [0], "lstm": [0, 3, 1, 2], "gru": [1, 0, 2]}


@exports("RNN")
def export_rnn(b, op, data, parameters, state, *rest):
    cells = op.cells(data.dim(2))
    states = [state, *rest[: op.mode == "lstm"]]
    parameters = _joined(b, parameters)
    if has_some(b, data, [0]) is False:  # no step moves the states; onnxruntime ends its process on it
        return b.Identity(b.const(np.empty(b.results[0].shape, data.dtype))), *map(b.rename, states)
    lengths = b.cast(rest[-1], np.int32) if op.use_sequence_length else None
    layer_of = _scans if op.projection_size or op.clip else _node
    if layer_of is _node and data.dtype == np.float64:
        # onnxruntime registers LSTM and GRU kernels for double that then say they do not support it
        data, parameters, *states = (b.cast(x, np.float32) for x in (data, parameters, *states))
    x, last = data, [[] for _ in states]
    for layer, both in enumerate(cells):
        weights = [_Part(b, parameters, op, cell, f"l{layer}{'r' * d}") for d, cell in enumerate(both)]
        begin = [_initial(b, s, layer * op.directions, op) for s in states]
        x, ends = layer_of(b, op, x, weights, begin, lengths)
        for collected, end in zip(last, ends):
            collected.append(end)
    if not op.state_outputs:
        return x
    return x, *(s[0] if len(s) == 1 else b.Concat(*s, axis=0) for s in last)


def _joined(b, packed):
    """The packed parameters as a constant, where constants are all that they have been joined from."""
    made = next((n for n in reversed(b.nodes) if packed.name in n.outputs), None)
    if made is None or made.op_type != "Concat" or not all(n in b.initializers for n in made.inputs):
        return packed
    return b.const(np.concatenate([b.initializers[n] for n in made.inputs]), name=f"{packed.name}_joined")


class _Part:
    """Parameters of one layer and direction, cut out of the packed vector now (a constant) or at run time."""

    def __init__(self, b, packed, op, cell, name):
        self.b, self.packed, self.op, self.cell, self.name = b, packed, op, cell, name

    def cut(self, field, shape, order=None, perm=None):
        """The parameter reshaped, with its gates (first axis) in another order, then permuted."""
        b, (offset, stored) = self.b, getattr(self.cell, field)
        stop = offset + int(np.prod(stored))
        if self.packed.const is not None:
            array = self.packed.const[offset:stop].reshape(shape)
            if order is not None:
                array = array.reshape(len(order), -1)[order].reshape(shape)
            name = f"{b.scope}/{self.name}_{field}"
            return b.const(array if perm is None else array.transpose(perm), name=name)
        part = b.slice(self.packed, [offset], [stop], [0])
        if order is not None and len(order) > 1:
            part = b.Gather(b.reshape(part, [len(order), -1]), order, axis=0)
        part = b.reshape(part, shape)
        return part if perm is None else b.transpose(part, perm)


def _initial(b, state, first, op):
    """The states of one layer, (D, N, R); None, which ONNX reads as zeros, when they are."""
    if state.const is not None and not state.const.any():
        return None
    if op.num_layers == 1:
        return state
    return b.slice(state, [first], [first + op.directions], [0])


def _stack(b, parts):
    if len(parts) == 1:
        return parts[0]
    if all(p.const is not None for p in parts):
        return b.const(np.concatenate([p.const for p in parts]), name=f"{parts[0].name}_both")
    return b.Concat(*parts, axis=0)


def _node(b, op, x, weights, begin, lengths):
    """A layer as one node: outputs (T, N, D*R) and last states (D, N, R)."""
    order, rows = _ORDER[op.mode], op.gates * op.state_size

    def stacked(field):
        shape = (1, *getattr(weights[0].cell, field)[1])
        return _stack(b, [w.cut(field, shape, order) for w in weights])

    biases = [_stack_bias(b, w.cut("i2h_bias", (1, rows), order), w.cut("h2h_bias", (1, rows), order)) for w in weights]
    attrs = {"hidden_size": op.state_size, "direction": "bidirectional" if op.bidirectional else "forward"}
    inputs = [x, stacked("i2h"), stacked("h2h"), _stack(b, biases), lengths, *begin]
    if op.mode == "lstm":
        y, *ends = b.LSTM(*inputs, outputs=3, **attrs)
    elif op.mode == "gru":
        y, *ends = b.GRU(*inputs, outputs=2, linear_before_reset=1, **attrs)
    else:
        activation = "Relu" if op.mode == "rnn_relu" else "Tanh"
        y, *ends = b.RNN(*inputs, outputs=2, activations=[activation] * op.directions, **attrs)
    if op.directions == 1:
        return b.squeeze(y, [1]), ends
    return b.reshape(b.transpose(y, [0, 2, 1, 3]), [0, 0, -1]), ends


def _stack_bias(b, given, recurrent):
    if given.const is not None and recurrent.const is not None:
        return b.const(np.concatenate([given.const, recurrent.const], axis=1), name=f"{given.name}_and_h2h")
    return b.Concat(given, recurrent, axis=1)


def _scans(b, op, x, weights, begin, lengths):
    """A layer of an LSTM with projection or clipping as one Scan per direction; results as of _node."""
    sizes = op.result_size, op.state_size
    scanned = []
    if lengths is not None:  # (T, N, 1): whether the step is within the sequence
        steps = b.cast(b.counting(b.shape_of(x, 0)), np.int32)
        scanned.append(b.unsqueeze(b.Less(b.unsqueeze(steps, [1]), lengths), [2]))
    outs, ends = [], [[], []]
    for direction, part in enumerate(weights):
        rows, width = part.cell.i2h[1]
        given = b.Add(b.MatMul(x, part.cut("i2h", (rows, width), perm=(1, 0))), part.cut("i2h_bias", (rows,)))
        states = []
        for initial, size in zip(begin, sizes):
            if initial is None:
                states.append(b.Expand(b.const([[0]], x.dtype), b.dims(b.size(x, 1), size)))
            else:
                states.append(b.squeeze(b.slice(initial, [direction], [direction + 1], [0]), [0]))
        body = b.body(_lstm_step(op, part), x.dtype, x.dtype, x.dtype, *(s.dtype for s in scanned))
        count = 1 + len(scanned)
        way = {"scan_input_directions": [direction] * count, "scan_output_directions": [direction]}
        hidden, cell, out = b.Scan(*states, given, *scanned, outputs=3, body=body, num_scan_inputs=count, **way)
        outs.append(out)
        ends[0].append(b.unsqueeze(hidden, [0]))
        ends[1].append(b.unsqueeze(cell, [0]))
    joined = outs[0] if len(outs) == 1 else b.Concat(*outs, axis=2)
    return joined, [e[0] if len(e) == 1 else b.Concat(*e, axis=0) for e in ends]


def _lstm_step(op, part):
    """The body of the Scan: (hidden, cell, what the input adds to the gates, whether alive) -> (hidden, cell, output)."""
    rows = op.gates * op.state_size
    h2h, bias = part.cut("h2h", (rows, op.result_size), perm=(1, 0)), part.cut("h2h_bias", (rows,))
    h2r = part.cut("h2r", (op.result_size, op.state_size), perm=(1, 0)) if op.projection_size else None

    def step(b, hidden, cell, given, alive=None):
        gates = b.Add(given, b.Add(b.MatMul(hidden, h2h), bias))
        enter, forget, new, leave = b.split(gates, [op.state_size] * 4, 1)
        after = b.Add(b.Mul(b.Sigmoid(forget), cell), b.Mul(b.Sigmoid(enter), b.Tanh(new)))
        if op.clip:
            kept = b.Clip(after, *op.clip)  # ONNX does not say what that makes of NaN
            after = b.Where(b.IsNaN(after), b.like(op.clip[0], after) if op.lstm_state_clip_nan else after, kept)
        out = b.Mul(b.Sigmoid(leave), b.Tanh(after))
        if h2r is not None:
            out = b.MatMul(out, h2r)
        if alive is None:
            return out, after, out
        return b.Where(alive, out, hidden), b.Where(alive, after, cell), b.Where(alive, out, 0)

    return step


@exports("_rnn_param_concat")
def export_rnn_param_concat(b, op, *data):
    if all(x.const is not None for x in data):
        return b.const(np.concatenate([x.const for x in data], axis=op.dim), name=f"{b.scope}/parameters")
    return b.Concat(*data, axis=op.dim)


# -- reading ---------------------------------------------------------------------------------------------------------------

_DIRECTIONS = {"foward": "forward"}  # the default that the first version of GRU names


@imports("RNN")
def import_rnn(
    g,
    x,
    w,
    r,
    b=None,
    sequence_lens=None,
    initial_h=None,
    *,
    activation_alpha=(),
    activation_beta=(),
    activations=("Tanh", "Tanh"),
    clip=None,
    direction="forward",
    hidden_size=None,
    layout=0,
    output_sequence=0,
):
    directions = 1 + (direction == "bidirectional")
    attrs = {"activations": activations[:directions], "clip": clip, "direction": direction, "hidden_size": hidden_size}
    attrs |= {"activation_alpha": activation_alpha, "activation_beta": activation_beta}
    names = {a.lower() for a in attrs["activations"]}
    mode = f"rnn_{names.pop()}" if len(names) == 1 else ""
    plain = mode == "rnn_tanh" or (mode == "rnn_relu" and x.dtype == np.float32)  # MXNet's ReLU computes in float32
    return _layer(g, mode if plain else "", (x, w, r, b, sequence_lens, initial_h), attrs, layout)


@imports("GRU")
def import_gru(
    g,
    x,
    w,
    r,
    b=None,
    sequence_lens=None,
    initial_h=None,
    *,
    activation_alpha=(),
    activation_beta=(),
    activations=(),
    clip=None,
    direction="forward",
    hidden_size=None,
    layout=0,
    linear_before_reset=0,
    output_sequence=0,
):
    attrs = {"activations": activations, "clip": clip, "direction": direction, "hidden_size": hidden_size}
    attrs |= {
        "activation_alpha": activation_alpha,
        "activation_beta": activation_beta,
        "linear_before_reset": linear_before_reset,
    }
    plain = linear_before_reset and _usual(activations, ("sigmoid", "tanh"))
    return _layer(g, "gru" if plain else "", (x, w, r, b, sequence_lens, initial_h), attrs, layout)


@imports("LSTM")
def import_lstm(
    g,
    x,
    w,
    r,
    b=None,
    sequence_lens=None,
    initial_h=None,
    initial_c=None,
    p=None,
    *,
    activation_alpha=(),
    activation_beta=(),
    activations=(),
    clip=None,
    direction="forward",
    hidden_size=None,
    input_forget=0,
    layout=0,
    output_sequence=0,
):
    attrs = {"activations": activations, "clip": clip, "direction": direction, "hidden_size": hidden_size}
    attrs |= {"activation_alpha": activation_alpha, "activation_beta": activation_beta, "input_forget": input_forget}
    plain = not input_forget and p is None and _usual(activations, ("sigmoid", "tanh", "tanh"))
    return _layer(g, "lstm" if plain else "", (x, w, r, b, sequence_lens, initial_h, initial_c, p), attrs, layout)


def _usual(activations, names):
    lower = tuple(a.lower() for a in activations)
    return lower in ((), names, names * 2)


def _layer(g, mode, inputs, attrs: dict[str, Any], layout):
    """The node, with X, initial states and results in the order of layout. mode: MXNet's, if its equations are MXNet's."""
    attrs = {k: v for k, v in attrs.items() if v is not None}
    direction: Any = _DIRECTIONS.get(attrs["direction"], attrs["direction"])
    attrs["direction"] = direction
    x, w, r, b, lengths, *states = inputs
    if layout:
        x = g.transpose(x, axes=(1, 0, 2))
        states[:2] = [s if s is None else g.transpose(s, axes=(1, 0, 2)) for s in states[:2]]
    # packed into one vector, which what something else reads too would be a copy of
    stored = all(v is None or (v.const is not None and g.is_sole_reader(v)) for v in (w, r, b))
    if mode and stored:  # what does not fit goes to the family's operator, which says so
        stored = _fitting(
            mode, direction, attrs.get("hidden_size"), *(None if v is None else v.const for v in (w, r, b))
        )
    known = x.shape is not None and len(x.shape) == 3 and x.dtype is not None
    if mode and stored and known and lengths is None and attrs.get("clip") is None:  # MXNet refuses lengths on the CPU
        results = _of_mxnet(g, mode, x, w, r, b, states[: 1 + (mode == "lstm")], direction == "reverse")
    else:
        results = g.passthrough(x, w, r, b, lengths, *states, **attrs)
    if not layout:
        return results
    y, *last = results
    return g.transpose(y, axes=(2, 0, 1, 3)), *(g.transpose(s, axes=(1, 0, 2)) for s in last)


def _fitting(mode, direction, hidden, w, r, b):
    """True where weights and biases have shapes that go together, and with the attributes."""
    if w.ndim != 3 or r.ndim != 3:
        return False
    directions, size = (
        {"forward": 1, "reverse": 1, "bidirectional": 2}.get(direction),
        r.shape[2] if hidden is None else hidden,
    )
    rows = len(_ORDER[mode]) * size
    whole = r.shape == (directions, rows, size) and w.shape[:2] == (directions, rows)
    return whole and (b is None or b.shape == (directions, 2 * rows))


def _of_mxnet(g, mode, x, w, r, b, states, reverse):
    """MXNet's RNN on the same numbers: its parameters are one vector, its gates in another order, its directions side by side."""
    count, size = r.const.shape[0], r.const.shape[2]
    order = np.argsort(_ORDER[mode])
    bias = np.zeros((count, 2 * len(order) * size), w.dtype) if b is None else b.const

    def sorted_gates(array):
        return array.reshape(len(order), size, -1)[order].reshape(-1)

    halves = [half for own in bias for half in np.split(own, 2)]
    packed = [sorted_gates(a) for d in range(count) for a in (w.const[d], r.const[d])] + [
        sorted_gates(h) for h in halves
    ]
    count_of_weights = 2 * count if b is None else None
    parameters = g.const(np.concatenate(packed[:count_of_weights]), name=f"{g.label}_parameters")
    parameters.weight = w.weight or r.weight
    if b is None:  # a bias that there is none of is not trained
        parameters = g.Concat(parameters, g.const(np.concatenate(packed[count_of_weights:])), dim=0)
    states = [_zero_state(g, x, count, size) if s is None else s for s in states]
    if reverse:
        x = g.reverse(x, axis=(0,))
    attrs = {"mode": mode, "state_size": size, "num_layers": 1, "bidirectional": count == 2, "state_outputs": True}
    y, *last = g.RNN(x, parameters, *states, **attrs)
    if reverse:
        y = g.reverse(y, axis=(0,))
    if count == 1:
        return g.expand_dims(y, axis=1), *last
    return g.transpose(g.Reshape(y, shape=(0, 0, 2, size)), axes=(0, 2, 1, 3)), *last


def _zero_state(g, x, count, size):
    """Zeros for as many sequences as there are: a size of 0 is one that RNN decides."""
    batch = x.shape[1]
    return g._zeros(shape=(count, 0 if batch is UNKNOWN else batch, size), dtype=x.dtype)
