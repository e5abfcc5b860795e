"""RNN, GRU and LSTM as ONNX has them: one layer, any activations, gates clipped, peepholes.

T is the number of steps, N of sequences, C of features, H of units, D of directions (2 for "bidirectional").
What MXNet's own RNN says too is not here: see converters/ops/rnn.py."""

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ...core.attrs import Count
from ...core.op import Domain, op
from ...core.shapes import UNKNOWN, merge
from ..activation import sigmoid, softplus
from ..common import fit, narrow, part_of, want_rank, widen
from .base import LikeInputs, Standard
from .types import FLOATS

Direction = Literal["forward", "reverse", "bidirectional"]
Array = np.ndarray


class Activation(NamedTuple):
    """An activation: its value at x with its parameters, and its slope at x, y."""

    value: Callable[[Array, float, float], Array]
    slope: Callable[[Array, Array, float, float], Array]
    alpha: float | None = None
    """The default where it has that parameter."""
    beta: float | None = None


ACTIVATIONS = {
    "relu": Activation(lambda x, a, b: np.maximum(x, 0), lambda x, y, a, b: x > 0),
    "tanh": Activation(lambda x, a, b: np.tanh(x), lambda x, y, a, b: 1 - y * y),
    "sigmoid": Activation(lambda x, a, b: sigmoid(x), lambda x, y, a, b: y * (1 - y)),
    "affine": Activation(lambda x, a, b: a * x + b, lambda x, y, a, b: np.full_like(x, a), 1.0, 0.0),
    "leakyrelu": Activation(
        lambda x, a, b: np.where(x >= 0, x, a * x), lambda x, y, a, b: np.where(x >= 0, 1, a), 0.01
    ),
    "thresholdedrelu": Activation(lambda x, a, b: np.where(x >= a, x, 0), lambda x, y, a, b: x >= a, 1.0),
    "scaledtanh": Activation(
        lambda x, a, b: a * np.tanh(b * x), lambda x, y, a, b: a * b * (1 - np.tanh(b * x) ** 2), 1.0, 1.0
    ),
    "hardsigmoid": Activation(
        lambda x, a, b: np.clip(a * x + b, 0, 1), lambda x, y, a, b: a * ((y > 0) & (y < 1)), 0.2, 0.5
    ),
    "elu": Activation(
        lambda x, a, b: np.where(x >= 0, x, a * np.expm1(np.minimum(x, 0))),
        lambda x, y, a, b: np.where(x >= 0, 1, y + a),
        1.0,
    ),
    "softsign": Activation(lambda x, a, b: x / (1 + np.abs(x)), lambda x, y, a, b: (1 - np.abs(y)) ** 2),
    "softplus": Activation(lambda x, a, b: softplus(x), lambda x, y, a, b: sigmoid(x)),
}
"""By name in lower case, in which ONNX's names are compared. Source: the operators' descriptions; the defaults are those of the
ONNX operators of the same names (onnxruntime's ThresholdedRelu has another, 0)."""


class Bound(NamedTuple):
    """An activation with its parameters, and what bounds its argument."""

    kind: Activation
    alpha: float
    beta: float
    clip: float | None

    def __call__(self, x: Array) -> tuple[Array, Array]:
        """The function at x, and its slope there."""
        shut = x if self.clip is None else np.clip(x, -self.clip, self.clip)
        y = self.kind.value(shut, self.alpha, self.beta).astype(x.dtype, copy=False)
        slope = np.asarray(self.kind.slope(shut, y, self.alpha, self.beta), x.dtype)
        return y, slope if shut is x else slope * (shut == x)


class Weights(NamedTuple):
    """Those of one direction. w: (G*H, C), r: (G*H, H), b: (2*G*H,), peepholes: (3*H,)."""

    w: Array
    r: Array
    b: Array
    peepholes: Array | None


class Tape(NamedTuple):
    """Record of a step for its gradient."""

    states: Sequence[Array]
    """Before it."""
    kept: Any


class Recurrent(Standard):
    """A recurrent layer. Shapes: X (T, N, C), W (D, G*H, C), R (D, G*H, H), B (D, 2*G*H), sequence_lens (N,), initial states
    (D, N, H) -> Y (T, D, N, H), last states (D, N, H).

    Past its length a sequence has outputs of 0 and keeps its state, which for one without steps is 0 (onnxruntime's reading); its
    reverse direction starts at its own end. clip bounds the arguments of the gates' activations. The operators' attribute layout
    is not theirs: it is read as transposes."""

    activation_alpha: tuple[float, ...] = ()
    activation_beta: tuple[float, ...] = ()
    activations: tuple[str, ...] = ()
    clip: float | None = None
    direction: Direction = "forward"
    hidden_size: Count | None = None

    exception = "a whole recurrence, whose length a tensor says"

    inputs = ("X", "W", "R", "B", "sequence_lens", "initial_h")
    types = {"X W R B initial_h initial_c P": FLOATS, "sequence_lens": {"int32"}}
    optional = ("B", "sequence_lens", "initial_h")
    parameters = frozenset(("W", "R", "B", "P"))

    gates: ClassVar[int]
    """Rows of a weight, in units of H."""
    usual: ClassVar[tuple[str, ...]]
    """The activations of a direction where none are named."""
    states: ClassVar[tuple[str, ...]] = ("initial_h",)

    def check(self):
        wanted = len(self.usual) * self.directions
        if self.activations and len(self.activations) != wanted:
            return f"got {len(self.activations)} activations, wanted {wanted}"
        unknown = [a for a in self.activations if a.lower() not in ACTIVATIONS]
        if unknown:
            return f"got activation {', '.join(unknown)}, wanted some of {', '.join(ACTIVATIONS)}"
        if self.clip is not None and math.isnan(self.clip):
            return f"got clip={self.clip}, wanted a bound of what activations are given"
        return super().check()

    @property
    def directions(self) -> int:
        return 1 + (self.direction == "bidirectional")

    def curves(self) -> list[list[Bound]]:
        """The activations of each direction. The values of activation_alpha and activation_beta go, in order, to those that have
        such a parameter, as onnxruntime hands them out."""
        alphas, betas = iter(self.activation_alpha), iter(self.activation_beta)
        found = []
        for name in self.activations or self.usual * self.directions:
            kind = ACTIVATIONS[name.lower()]
            alpha = 0.0 if kind.alpha is None else next(alphas, kind.alpha)
            beta = 0.0 if kind.beta is None else next(betas, kind.beta)
            found.append(Bound(kind, alpha, beta, self.clip))
        size = len(self.usual)
        # onnxruntime, which files were made for, bounds the arguments of gates alone, not that of an LSTM's last activation
        found = [c._replace(clip=None) if i % size == 2 else c for i, c in enumerate(found)]
        return [found[i : i + size] for i in range(0, len(found), size)]

    def output_names(self):
        return ("Y", "Y_h", "Y_c")[: 1 + len(self.states)]

    def shape(self, x, w, r, *rest):
        want_rank(self, x, 3, what="X")
        want_rank(self, r, 3, what="R")
        size = r[2] if self.hidden_size is None else merge((self.hidden_size,), (r[2],))[0]
        merge(w, (self.directions, UNKNOWN if size is UNKNOWN else self.gates * size, x[2]))
        if size is not UNKNOWN:
            many, rows = self.directions, self.gates * size
            sizes = {
                "R": f"{many} {rows} {size}",
                "B": f"{many} {2 * rows}",
                "sequence_lens": "N",
                "initial_h": f"{many} N {size}",
                "initial_c": f"{many} N {size}",
                "P": f"{many} {3 * size}",
            }
            fit(self, {"X": "_ N _", **sizes}, dict(zip(self.inputs, (x, w, r, *rest))))
        last = (self.directions, x[1], size)
        return [(x[0], self.directions, x[1], size), *[last] * len(self.states)]

    def domain(self, name, shapes):
        x = shapes[0]
        if name != "sequence_lens" or x is None or x[0] is UNKNOWN:
            return None
        return Domain(0, x[0], integer=True)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def step(self, curves: Sequence[Bound], given: Array, weights: Weights, states: Sequence[Array]) -> tuple[Any, Any]:
        """(states after, what step_back needs) of one step. given: (N, G*H), what the input gives to the gates."""
        raise NotImplementedError

    def step_back(self, tape: Tape, weights: Weights, dstates: Sequence[Array], grads: Weights) -> tuple[Any, Any]:
        """(gradient of given, gradients of the states before); those of r, of the second half of b and of the peepholes are
        added to grads."""
        raise NotImplementedError

    # -- all steps -----------------------------------------------------------------------------------------------------

    def _parts(self, named: dict[str, Any]) -> Any:
        """(x, lengths, and weights and initial states per direction), in the dtype to compute in."""
        x, w, r = (widen(named[n]) for n in ("X", "W", "R"))
        size, count = r.shape[2], x.shape[1]
        b = np.zeros((self.directions, 2 * self.gates * size), x.dtype) if named.get("B") is None else widen(named["B"])
        p = named.get("P")
        p = [None] * self.directions if p is None else widen(p)
        weights = [Weights(*parts) for parts in zip(w, r, b, p)]
        blank = np.zeros((self.directions, count, size), x.dtype)
        begin = [blank if named.get(n) is None else widen(named[n]) for n in self.states]
        lengths = named.get("sequence_lens")
        if lengths is not None and ((lengths < 0) | (lengths > len(x))).any():
            raise self.error(f"got sequence_lens {lengths.tolist()} for {len(x)} steps")
        return x, lengths, weights, [list(s) for s in zip(*begin)]

    def _order(self, direction: int, steps: int) -> range:
        backward = direction == 1 or self.direction == "reverse"
        return range(steps - 1, -1, -1) if backward else range(steps)

    def _run(self, x, lengths, weights, begin, tapes: list[list[Any]] | None = None):
        steps, count, features = x.shape
        size = weights[0].r.shape[1]
        y = np.zeros((steps, self.directions, count, size), x.dtype)
        last = []
        for direction, (own, states) in enumerate(zip(weights, begin)):
            given = x.reshape(steps * count, features) @ own.w.T
            given = given.reshape(steps, count, len(own.w)) + own.b[: len(own.w)]
            curves = self.curves()[direction]
            for t in self._order(direction, steps):
                new, kept = self.step(curves, given[t], own, states)
                if tapes is not None:
                    tapes[direction].append(Tape(states, kept))
                if lengths is None:
                    y[t, direction] = new[0]
                else:
                    valid = (t < lengths)[:, None]
                    y[t, direction] = np.where(valid, new[0], 0)
                    new = [np.where(valid, n, s) for n, s in zip(new, states)]
                states = new
            if lengths is not None:
                states = [np.where(lengths[:, None] > 0, s, 0) for s in states]
            last.append(states)
        return y, [np.stack(s) for s in zip(*last)]

    def meaning(self, *arrays):
        named = dict(zip(self.inputs, arrays))
        y, last = self._run(*self._parts(named))
        return tuple(narrow(a, named["X"].dtype) for a in (y, *last))

    def gradients(self, named: dict[str, Any], heads: Sequence[Array]) -> dict[str, Array]:
        """Gradients of the inputs by name, given those of the outputs: backpropagation through time."""
        x, lengths, weights, begin = self._parts(named)
        steps, count, features = x.shape
        dy, *dlast = (widen(h) for h in heads)
        tapes: list[list[Tape]] = [[] for _ in weights]
        self._run(x, lengths, weights, begin, tapes)
        dx = np.zeros_like(x)
        found: dict[str, list[Any]] = {n: [] for n in ("W", "R", "B", "P", *self.states)}
        for direction, own in enumerate(weights):
            grads = Weights(*(None if a is None else np.zeros_like(a) for a in own))  # type: ignore[arg-type]  # own.peepholes alone may be None
            dgiven = np.zeros((steps, count, len(own.w)), x.dtype)
            some = np.True_ if lengths is None else lengths[:, None] > 0
            dstates = [np.where(some, d[direction], 0) for d in dlast]
            for t, tape in zip(reversed(self._order(direction, steps)), reversed(tapes[direction])):
                valid = np.True_ if lengths is None else (t < lengths)[:, None]
                arriving = [np.where(valid, d, 0) for d in dstates]
                arriving[0] = arriving[0] + np.where(valid, dy[t, direction], 0)
                dgiven[t], before = self.step_back(tape, own, arriving, grads)
                dstates = [b + np.where(valid, 0, d) for b, d in zip(before, dstates)]
            flat = dgiven.reshape(steps * count, len(own.w))
            grads.w[...] = flat.T @ x.reshape(steps * count, features)
            grads.b[: len(own.w)] = flat.sum(0)
            dx += (flat @ own.w).reshape(x.shape)
            for name, grad in zip(("W", "R", "B", "P", *self.states), (*grads, *dstates)):
                found[name].append(grad)
        wanted = {n: np.stack(g) for n, g in found.items() if named.get(n) is not None}
        return {"X": dx, **wanted}

    def gradient(self, F, dy, *arrays):
        names, heads = self.input_names(), [f"d{n}" for n in self.output_names()]
        rule = getattr(F, f"_backward_{self.name}")
        found = rule(**dict(zip(heads, dy)), **dict(zip(names, arrays)), **self.dump())
        floating = [n for n in names if n != "sequence_lens"]
        placed = dict(zip(floating, found))
        return [placed.get(n) for n in names]


class RecurrentBackward(LikeInputs, Recurrent):
    """The gradients of a recurrent layer's floating inputs. Shapes: the gradients of its outputs, then its inputs -> as those."""

    def output_names(self):
        return tuple(n for n in self.input_names()[1 + len(self.states) :] if n != "sequence_lens")

    def compute(self, *arrays, **_options):
        named = dict(zip(self.input_names(), arrays))
        found = self.gradients(named, arrays[: 1 + len(self.states)])
        return tuple(narrow(found[n], named[n].dtype) for n in self.output_names())

    gradient = Standard.gradient


@op("_onnx_RNN")
class RNN(Recurrent):
    """H' = f(W X + R H + b). Shapes and the rest: see Recurrent. Source: ONNX RNN (opset 1 to newest)."""

    gates = 1
    usual = ("Tanh",)

    def step(self, curves, given, weights, states):
        y, slope = curves[0](given + states[0] @ weights.r.T + weights.b[len(weights.w) :])
        return [y], slope

    def step_back(self, tape, weights, dstates, grads):
        d = dstates[0] * tape.kept
        grads.r[...] += d.T @ tape.states[0]
        grads.b[len(weights.w) :] += d.sum(0)
        return d, [d @ weights.r]

    @classmethod
    def examples(cls, make):
        x = make.uniform(3, 2, 3)
        yield make(x, make.uniform(1, 4, 3), make.uniform(1, 4, 4), hidden_size=4, direction="reverse")
        more = make.uniform(2, 8), make.array([3, 1], "int32"), make.uniform(2, 2, 4)
        attrs = {
            "activations": ("Softsign", "Elu"),
            "activation_alpha": (0.7,),
            "hidden_size": 4,
            "direction": "bidirectional",
        }
        yield make(x, make.uniform(2, 4, 3), make.uniform(2, 4, 4), *more, given=cls.optional, **attrs)


@op("_onnx_GRU")
class GRU(Recurrent):
    """Gates z r h: H' = (1 - z) h + z H with h = g(W X + R (r H) + b), or with linear_before_reset g(W X + Wb + r (R H + Rb)).

    Shapes and the rest: see Recurrent. Source: ONNX GRU (opset 1 to newest)."""

    linear_before_reset: bool = False

    gates = 3
    usual = ("Sigmoid", "Tanh")

    def step(self, curves, given, weights, states):
        (f, g), (h,), rows = curves, states, len(weights.w)
        size, bias = rows // 3, weights.b[rows:]
        both, slopes = f(given[:, : 2 * size] + h @ weights.r[: 2 * size].T + bias[: 2 * size])
        update, reset = both[:, :size], both[:, size:]
        own, own_bias = weights.r[2 * size :].T, bias[2 * size :]
        if self.linear_before_reset:
            recalled = h @ own + own_bias
            new, slope = g(given[:, 2 * size :] + reset * recalled)
        else:
            recalled = reset * h
            new, slope = g(given[:, 2 * size :] + recalled @ own + own_bias)
        return [(1 - update) * new + update * h], (update, reset, new, slopes, slope, recalled)

    def step_back(self, tape, weights, dstates, grads):
        (d,), (h,), rows = dstates, tape.states, len(weights.w)
        update, reset, new, slopes, slope, recalled = tape.kept
        size, bias = rows // 3, grads.b[rows:]
        dnew = d * (1 - update) * slope
        own = weights.r[2 * size :]
        if self.linear_before_reset:
            drecalled = dnew * reset
            dreset, before = dnew * recalled, d * update + drecalled @ own
            grads.r[2 * size :] += drecalled.T @ h
            bias[2 * size :] += drecalled.sum(0)
        else:
            drecalled = dnew @ own
            dreset, before = drecalled * h, d * update + drecalled * reset
            grads.r[2 * size :] += dnew.T @ recalled
            bias[2 * size :] += dnew.sum(0)
        dboth = np.concatenate([d * (h - new), dreset], axis=1) * slopes
        grads.r[: 2 * size] += dboth.T @ h
        bias[: 2 * size] += dboth.sum(0)
        return np.concatenate([dboth, dnew], axis=1), [before + dboth @ weights.r[: 2 * size]]

    @classmethod
    def examples(cls, make):
        x = make.uniform(3, 2, 3)
        yield make(x, make.uniform(1, 12, 3), make.uniform(1, 12, 4), make.uniform(1, 24), hidden_size=4, given=("B",))
        more = make.uniform(2, 24), make.array([3, 1], "int32"), make.uniform(2, 2, 4)
        attrs = {"linear_before_reset": True, "hidden_size": 4, "direction": "bidirectional", "clip": 0.4}
        yield make(x, make.uniform(2, 12, 3), make.uniform(2, 12, 4), *more, given=cls.optional, **attrs)


@op("_onnx_LSTM")
class LSTM(Recurrent):
    """Gates i o f c: C' = f C + i c, H' = o h(C'), with peepholes P (D, 3*H) from C to i and f and from C' to o; with input_forget,
    f = 1 - i.

    Shapes and the rest: see Recurrent; initial_c and Y_c as initial_h and Y_h. Source: ONNX LSTM (opset 1 to newest)."""

    input_forget: bool = False

    inputs = (*Recurrent.inputs, "initial_c", "P")
    optional = (*Recurrent.optional, "initial_c", "P")
    gates = 4
    usual = ("Sigmoid", "Tanh", "Tanh")
    states = ("initial_h", "initial_c")

    def step(self, curves, given, weights, states):
        (f, g, h), (hidden, cell), rows = curves, states, len(weights.w)
        z = given + hidden @ weights.r.T + weights.b[rows:]
        zi, zo, zf, zc = np.split(z, 4, axis=1)
        pi, po, pf = (0, 0, 0) if weights.peepholes is None else np.split(weights.peepholes, 3)
        enter, enters = f(zi + pi * cell)
        if self.input_forget:
            forget, forgets = 1 - enter, -enters
        else:
            forget, forgets = f(zf + pf * cell)
        new, news = g(zc)
        after = forget * cell + enter * new
        leave, leaves = f(zo + po * after)
        out, outs = h(after)
        return [leave * out, after], (enter, enters, forget, forgets, new, news, after, leave, leaves, out, outs)

    def step_back(self, tape, weights, dstates, grads):
        (dh, dc), (hidden, cell), rows = dstates, tape.states, len(weights.w)
        enter, enters, forget, forgets, new, news, after, leave, leaves, out, outs = tape.kept
        dleave = dh * out * leaves
        peepholes = weights.peepholes
        pi, po, pf = (0, 0, 0) if peepholes is None else np.split(peepholes, 3)
        dafter = dc + dh * leave * outs + dleave * po
        dnew, denter, dforget = dafter * enter * news, dafter * new * enters, dafter * cell * forgets
        if self.input_forget:
            denter, dforget, pf = denter + dforget, np.zeros_like(dforget), 0
        dz = np.concatenate([denter, dleave, dforget, dnew], axis=1)
        grads.r[...] += dz.T @ hidden
        grads.b[rows:] += dz.sum(0)
        if peepholes is not None and grads.peepholes is not None:
            parts = denter * cell, dleave * after, dforget * cell
            grads.peepholes[...] += np.concatenate([p.sum(0) for p in parts])
        return dz, [dz @ weights.r, dafter * forget + denter * pi + dforget * pf]

    @classmethod
    def examples(cls, make):
        x = make.uniform(3, 2, 3)
        attrs = {"hidden_size": 4, "direction": "reverse"}
        yield make(x, make.uniform(1, 16, 3), make.uniform(1, 16, 4), make.uniform(1, 12), given=("P",), **attrs)
        more = (
            make.uniform(2, 32),
            make.array([3, 1], "int32"),
            make.uniform(2, 2, 4),
            make.uniform(2, 2, 4),
            make.uniform(2, 12),
        )
        attrs = {"input_forget": True, "hidden_size": 4, "direction": "bidirectional", "clip": 0.4}
        yield make(x, make.uniform(2, 16, 3), make.uniform(2, 16, 4), *more, given=cls.optional, **attrs)


def _backward(forward: type[Recurrent]) -> None:
    heads = tuple(f"d{n}" for n in ("Y", "Y_h", "Y_c")[: 1 + len(forward.states)])
    # the methods of Backward come first, the steps from the layer
    rules = {"__doc__": RecurrentBackward.__doc__, "__module__": __name__, "inputs": (*heads, *forward.inputs)}
    made = op(f"_backward_{forward.name}")(type(f"{forward.__name__}Backward", (RecurrentBackward, forward), rules))
    part_of(forward.name, dY="Y", dY_h="Y_h", dY_c="Y_c")(made)


for _layer in (RNN, GRU, LSTM):
    _backward(_layer)
