"""One recurrent layer in one direction, over all steps: forward, and back through time. What RNN and its gradient are made of.

T is the number of steps, N of sequences, C of features, H of units and R of units after a projection (else H). All that
steps share is one product; only what depends on the state (or on its gradient) is done step by step.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from .activation import sigmoid
from .common import contiguous

Mode = Literal["rnn_relu", "rnn_tanh", "lstm", "gru"]
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
"""Rows of a weight, in units of H."""
KEPT = {"rnn_relu": 0, "rnn_tanh": 0, "lstm": 5, "gru": 4}
"""Size of what a step leaves for its gradient, in units of H: the gates of an LSTM (i f g o) and its cell; r, z and n of a GRU and
what n gets from the state."""

Place = tuple[int, tuple[int, ...]]


class Cell(NamedTuple):
    """Places of one layer's and direction's parameters in the packed vector, as (offset, shape)."""

    i2h: Place
    h2h: Place
    h2r: Place | None
    """The projection of the hidden state, where there is one."""
    i2h_bias: Place
    h2h_bias: Place


def part(packed: np.ndarray, place: Place) -> np.ndarray:
    """The view of the packed parameters that lies at a place."""
    return packed[place[0] : place[0] + math.prod(place[1])].reshape(place[1])


class LayerDirection(NamedTuple):
    """One layer in one direction."""

    mode: Mode
    clipped: Callable[[np.ndarray], np.ndarray]
    """Function of the cell state of an LSTM after every step."""
    packed: np.ndarray
    cell: Cell
    begin: Sequence[np.ndarray]
    """The states that it begins with."""
    lengths: np.ndarray | None
    """Number of steps of each sequence, if not T."""
    backward: bool
    """True when it goes from the last step to the first."""
    kept: np.ndarray
    """(T * N * H * KEPT,): filled by forward, read by back."""

    @property
    def _sizes(self) -> tuple[int, int]:
        """N and H."""
        return len(self.begin[0]), self.cell.i2h[1][0] // GATES[self.mode]

    def _order(self, steps: int) -> range:
        return range(steps - 1, -1, -1) if self.backward else range(steps)

    def _gates(self, steps: int) -> np.ndarray:
        """(T, N, 4H) of what is kept."""
        batch, size = self._sizes
        return self.kept[: steps * batch * 4 * size].reshape(steps, batch, 4 * size)

    def _cells(self, steps: int) -> np.ndarray:
        """(T, N, H) of what is kept: cell states of an LSTM, not clipped."""
        batch, size = self._sizes
        return self.kept[steps * batch * 4 * size :].reshape(steps, batch, size)

    # -- forward --------------------------------------------------------------------------------------------------------

    def forward(self, x: np.ndarray, out: np.ndarray) -> Sequence[np.ndarray]:
        """From x (T, N, C), fill out (T, N, R); gives the last states."""
        steps, batch, features = x.shape
        rows, flat = self.cell.i2h[1][0], x.reshape(steps * batch, features)
        given = self._gates(steps) if self.mode == "lstm" else np.empty_like(x, order="C", shape=(steps, batch, rows))
        np.matmul(flat, part(self.packed, self.cell.i2h).T, out=given.reshape(-1, rows))
        recurrent, bias = part(self.packed, self.cell.h2h).T, part(self.packed, self.cell.h2h_bias)
        if steps > 2:
            recurrent = contiguous(recurrent)  # small products take half the time so
        given += part(self.packed, self.cell.i2h_bias) + (0 if self.mode == "gru" else bias)
        step = {"lstm": self._lstm, "gru": self._gru}.get(self.mode, self._plain)(given)
        recalled, states = np.empty_like(x, order="C", shape=(batch, rows)), list(self.begin)
        for t in self._order(steps):
            np.dot(states[0], recurrent, out=recalled)
            new = step(t, recalled, states)
            if self.lengths is None:
                states, out[t] = new, new[0]
            else:
                valid = (t < self.lengths)[:, None]
                states = [np.where(valid, n, s) for n, s in zip(new, states)]
                out[t] = np.where(valid, new[0], 0)
        return states

    def _plain(self, given):
        def step(t, recalled, states):
            recalled += given[t]
            if self.mode == "rnn_tanh":
                return [np.tanh(recalled)]
            # MXNet's CPU ReLU returns float32 whatever it is given
            return [np.maximum(recalled, 0).astype(np.float32).astype(given.dtype, copy=False)]

        return step

    def _gru(self, given):
        kept, bias, (_, size) = self._gates(len(given)), part(self.packed, self.cell.h2h_bias), self._sizes

        def step(t, recalled, states):
            own, gates = kept[t], given[t]
            recalled += bias
            own[:, 3 * size :] = recalled[:, 2 * size :]
            gates[:, : 2 * size] += recalled[:, : 2 * size]
            own[:, : 2 * size] = sigmoid(gates[:, : 2 * size])
            reset, update, new = own[:, :size], own[:, size : 2 * size], own[:, 2 * size : 3 * size]
            np.tanh(gates[:, 2 * size :] + reset * own[:, 3 * size :], out=new)
            return [(1 - update) * new + update * states[0]]

        return step

    def _lstm(self, given):
        cells, (_, size) = self._cells(len(given)), self._sizes
        project = None if self.cell.h2r is None else part(self.packed, self.cell.h2r).T
        # one tanh for all gates: sigmoid(x) = (1 + tanh(x / 2)) / 2. Shut gates are exact to an epsilon of 1 then, which is not
        # enough of float64: that is what others are held against
        exact = given.dtype == np.float64
        scale = np.repeat(np.array([0.5, 0.5, 1, 0.5], given.dtype), size)
        shift = 1 - scale

        def step(t, recalled, states):
            gates, cell = given[t], cells[t]
            gates += recalled
            if exact:
                new = np.tanh(gates[:, 2 * size : 3 * size])
                sigmoid(gates, out=gates)
                gates[:, 2 * size : 3 * size] = new
            else:
                gates *= scale
                np.tanh(gates, out=gates)
                gates *= scale
                gates += shift
            np.multiply(gates[:, size : 2 * size], states[1], out=cell)
            cell += gates[:, :size] * gates[:, 2 * size : 3 * size]
            cell = self.clipped(cell)
            hidden = np.tanh(cell)
            hidden *= gates[:, 3 * size :]
            return [hidden if project is None else hidden @ project, cell]

        return step

    # -- backward -------------------------------------------------------------------------------------------------------

    def back(
        self,
        x: np.ndarray,
        out: np.ndarray,
        dy: np.ndarray,
        dstates: Sequence[Any],
        dpacked: np.ndarray,
        dx: np.ndarray,
    ) -> Sequence[Any]:
        """The gradients of the states at the beginning, given those of the outputs (dy) and of the states at the end.

        Those of the parameters are put into dpacked, those of x are added to dx."""
        steps, batch, _ = x.shape
        order, rows = self._order(steps), self.cell.i2h[1][0]
        valid = None if self.lengths is None else (np.arange(steps)[:, None] < self.lengths)[:, :, None]
        before = self._before(out, self.begin[0], valid)
        weight, recurrent = part(self.packed, self.cell.i2h), part(self.packed, self.cell.h2h)
        project = None if self.cell.h2r is None else part(self.packed, self.cell.h2r)
        dgiven = np.empty_like(x, order="C", shape=(steps, batch, rows))
        drecalled = np.empty_like(dgiven) if self.mode == "gru" else dgiven
        dresult = None if project is None else np.empty_like(out)
        if self.mode == "lstm":
            step, hidden = self._lstm_back(dgiven, valid)
        elif self.mode == "gru":
            step, hidden = self._gru_back(dgiven, drecalled, before), out
        else:
            step, hidden = self._plain_back(dgiven, out), out

        for t in reversed(order):
            first = dstates[0] + dy[t]
            if dresult is not None:
                dresult[t] = first if valid is None else np.where(valid[t], first, 0)
            new = step(t, first if project is None else first @ project, dstates)
            if valid is not None:
                for array in (dgiven[t], drecalled[t]):
                    array[~valid[t, :, 0]] = 0
            new[0] = new[0] + drecalled[t] @ recurrent
            dstates = new if valid is None else [np.where(valid[t], n, s) for n, s in zip(new, dstates)]

        flat, flat_recalled = dgiven.reshape(-1, rows), drecalled.reshape(-1, rows)
        part(dpacked, self.cell.i2h)[...] = flat.T @ x.reshape(steps * batch, x.shape[-1])
        part(dpacked, self.cell.h2h)[...] = flat_recalled.T @ before.reshape(steps * batch, before.shape[-1])
        part(dpacked, self.cell.i2h_bias)[...] = flat.sum(0)
        own = self.cell.i2h_bias if drecalled is dgiven else None
        part(dpacked, self.cell.h2h_bias)[...] = flat_recalled.sum(0) if own is None else part(dpacked, own)
        if dresult is not None:
            projected = dresult.reshape(steps * batch, dresult.shape[-1])
            part(dpacked, self.cell.h2r)[...] = projected.T @ hidden.reshape(steps * batch, hidden.shape[-1])  # type: ignore[arg-type]
        dx += (flat @ weight).reshape(dx.shape)
        return dstates

    def _before(self, after: np.ndarray, begin: np.ndarray, valid: np.ndarray | None) -> np.ndarray:
        """The state that each step began with, of those that it ended with (T, N, ...)."""
        before = np.empty_like(after, order="C")
        if not self.backward:
            before[:1], before[1:] = begin, after[:-1]
            return before
        before[-1:], before[:-1] = begin, after[1:]
        if valid is not None:  # a sequence that ends early begins at its end
            before[:-1] = np.where(valid[1:], before[:-1], begin)
        return before

    # Each of these gives a function of t, the gradient of the hidden state, and those of all states. It fills dgiven[t] (and
    # drecalled[t]), and gives the gradients of the states before, as far as they do not come through drecalled.

    def _plain_back(self, dgiven, out):
        relu = self.mode == "rnn_relu"
        slope = (out > 0).astype(out.dtype) if relu else 1 - out**2

        def step(t, dhidden, dstates):
            np.multiply(dhidden, slope[t], out=dgiven[t])
            if relu:  # float32 in MXNet like the ReLU itself
                dgiven[t] = dgiven[t].astype(np.float32)
            return [0]

        return step

    def _gru_back(self, dgiven, drecalled, before):
        kept, (_, size) = self._gates(len(dgiven)), self._sizes
        reset, update, new, recalled = (kept[:, :, i * size : (i + 1) * size] for i in range(4))
        slopes = np.empty_like(dgiven)  # of r (over that of n), z and n
        slopes[:, :, :size] = recalled * reset * (1 - reset)
        slopes[:, :, size : 2 * size] = (before - new) * update * (1 - update)
        slopes[:, :, 2 * size :] = (1 - update) * (1 - new**2)
        slopes[:, :, :size] *= slopes[:, :, 2 * size :]

        def step(t, dhidden, dstates):
            np.multiply(slopes[t].reshape(-1, 3, size), dhidden[:, None], out=dgiven[t].reshape(-1, 3, size))
            drecalled[t] = dgiven[t]
            drecalled[t, :, 2 * size :] *= reset[t]
            return [dhidden * update[t]]

        return step

    def _lstm_back(self, dgiven, valid):
        steps, (batch, size) = len(dgiven), self._sizes
        gates, cells = self._gates(steps), self._cells(steps)
        shut = self.clipped(cells)
        passes = None if shut is cells else shut == cells
        hidden = np.tanh(shut)
        enter, forget, new, leave = (gates[:, :, i * size : (i + 1) * size] for i in range(4))
        slopes = 1 - gates
        slopes *= gates
        slopes = slopes.reshape(steps, batch, 4, size)
        slopes[:, :, 0] *= new
        slopes[:, :, 1] *= self._before(shut, self.begin[1], valid)
        slopes[:, :, 2] = (1 - new**2) * enter
        slopes[:, :, 3] *= hidden
        by_cell = (1 - hidden**2) * leave
        hidden *= leave
        to_cell, to_leave = slopes[:, :, :3], slopes[:, :, 3]
        fourfold = dgiven.reshape(slopes.shape)
        from_cell, from_leave = fourfold[:, :, :3], fourfold[:, :, 3]

        def step(t, dhidden, dstates):
            dcell = dhidden * by_cell[t]
            dcell += dstates[1]
            if passes is not None:
                dcell *= passes[t]
            np.multiply(to_cell[t], dcell[:, None], out=from_cell[t])
            np.multiply(to_leave[t], dhidden, out=from_leave[t])
            return [0, dcell * forget[t]]

        return step, hidden
