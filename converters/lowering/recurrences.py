"""Recurrent layers step by step, for engines that have none, or none that take states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..builder import OnnxNode
from ..onnx_graph import OnnxGraph
from .rewriting import F32, Rewriting

STEPS = 64
"""Steps that are written one by one, in all directions together."""
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrences(graph: OnnxGraph) -> None:
    """LSTM, GRU, RNN -> their steps: products, sums and gates."""
    _unrolled(graph, lambda node: True)


def grus(graph: OnnxGraph) -> None:
    """GRU -> its steps."""
    _unrolled(graph, lambda node: node.op_type == "GRU")


def rnns(graph: OnnxGraph) -> None:
    """RNN -> its steps."""
    _unrolled(graph, lambda node: node.op_type == "RNN")


def states(graph: OnnxGraph) -> None:
    """LSTM, GRU, RNN of states that are computed -> their steps."""
    _unrolled(graph, lambda node: any(n and graph.constant(n) is None for n in node.inputs[5:7]))


def starts(graph: OnnxGraph) -> None:
    """GRU without a state -> with one of zeros, which it means: OpenCV 5.0 then makes a state of a single row, and refuses it."""
    r = Rewriting(graph)

    def rewrite(node: OnnxNode) -> bool:
        if node.op_type != "GRU" or any(node.inputs[5:6]):
            return False
        shape, u = r.shape(node.inputs[0]), r.shape(node.inputs[2])
        if shape is None or u is None or graph.dtype(node.inputs[0]) != F32:
            return False
        state = r.constant(np.zeros((u[0], shape[1], u[2]), F32), "state")
        r.keep(node._replace(inputs=(*node.inputs[:5], *[""] * (5 - len(node.inputs)), state, *node.inputs[6:])))
        return True

    r.run(rewrite)


def lengths(graph: OnnxGraph) -> None:
    """LSTM, GRU, RNN of lengths that are computed -> their steps."""
    _unrolled(graph, lambda node: any(n and graph.constant(n) is None for n in node.inputs[4:5]))


def _unrolled(graph: OnnxGraph, wanted: Callable[[OnnxNode], bool]) -> None:
    r = Rewriting(graph)

    def rewrite(node: OnnxNode) -> bool:
        return node.op_type in GATES and wanted(node) and _Layer(r, node).write()

    r.run(rewrite)


class _Layer:
    """One layer: x (T, N, I), weights (D, gates x H, I) and (D, gates x H, H), bias (D, 2 x gates x H), states (D, N, H)."""

    def __init__(self, r: Rewriting, node: OnnxNode):
        self.r, self.node, self.kind = r, node, node.op_type
        self.inputs = [*node.inputs, *[""] * (8 - len(node.inputs))]
        self.arrays = [r.graph.constant(n) if n else None for n in self.inputs]

    def write(self) -> bool:
        """Write its steps; False where it is one that this does not know."""
        r, node, attrs = self.r, self.node, self.node.attrs
        shape = r.shape(self.inputs[0])
        w, u, bias = self.arrays[1:4]
        if shape is None or w is None or u is None or w.dtype != F32 or self.inputs[7] or attrs.get("clip"):
            return False
        if (self.inputs[3] and bias is None) or attrs.get("input_forget") or attrs.get("layout"):
            return False
        self.steps, self.batch, self.width = shape
        self.hidden, directions = u.shape[-1], w.shape[0]
        lengths = self.arrays[4]
        self.masks = [""] * self.steps
        if self.inputs[4] and (lengths is None or (lengths != self.steps).any()):
            self.masks = self._masks()
        usual = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}[self.kind]
        told = [t.decode() if isinstance(t, bytes) else str(t) for t in attrs.get("activations", usual * directions)]
        if self.steps * directions > STEPS or (self.kind != "RNN" and told != usual * directions):
            return False
        if self.kind == "RNN" and not set(told) <= {"Tanh", "Relu", "Sigmoid"}:
            return False
        rows, last_h, last_c = [], [], []
        for d in range(directions):
            backwards = attrs.get("direction", "forward") in ("reverse", b"reverse") or d == 1
            both = np.zeros(2 * w.shape[1], F32) if bias is None else bias[d]
            found = self._direction(w[d], u[d], both, self._states(d), backwards, told[d])
            rows.append(found[0])
            last_h.append(found[1])
            last_c.append(found[2])
        outs = [*node.outputs, "", "", ""]
        t, n, h = self.steps, self.batch, self.hidden
        if outs[0]:
            parts = [r.reshape(x, (t, 1, n, h)) for x in rows]
            if directions == 1:
                r.reshape(rows[0], (t, 1, n, h), outs[0])
            else:
                r.node("Concat", *parts, shape=(t, directions, n, h), out=outs[0], axis=1)
        for out, ends in ((outs[1], last_h), (outs[2], last_c)):
            if out and directions == 1:
                r.reshape(ends[0], (1, n, h), out)
            elif out:
                r.node("Concat", *[r.reshape(e, (1, n, h)) for e in ends], shape=(directions, n, h), out=out, axis=0)
        return True

    def _masks(self) -> list[str]:
        """Ones where a sequence has a step, zeros behind its end: (N, 1) for each step."""
        r, sizes = self.r, (self.batch, 1)
        ends = r.reshape(r.node("Cast", self.inputs[4], shape=(self.batch,), to=1), sizes)
        left = [r.node("Sub", ends, r.number(t), shape=sizes) if t else ends for t in range(self.steps)]
        return [r.node("Relu", r.node("Sign", x, shape=sizes), shape=sizes) for x in left]

    def _held(self, mask: str, new: str, old: str) -> str:
        """The new state where there is a step, else the old one."""
        taken = self._op("Mul", new, mask)
        if not old:
            return taken
        rest = self.r.node("Sub", self.r.number(1), mask, shape=(self.batch, 1))
        return self._op("Add", taken, self._op("Mul", old, rest))

    def _states(self, d: int) -> list[str]:
        """The states that a direction begins with; empty for zeros."""
        found = []
        for name, array in zip(self.inputs[5:7], self.arrays[5:7]):
            if not name or (array is not None and not array.any()):
                found.append("")
            elif array is not None:
                found.append(self.r.constant(array[d]))
            else:
                found.append(self.r.reshape(self.r.slice(name, 0, d, d + 1), (self.batch, self.hidden)))
        return found

    def _op(self, op_type: str, *inputs: str, width: int = 0, **attrs: Any) -> str:
        return self.r.node(op_type, *inputs, shape=(self.batch, width or self.hidden), **attrs)

    def _direction(
        self, w: np.ndarray, u: np.ndarray, bias: np.ndarray, states: list[str], backwards: bool, act: str
    ) -> tuple[str, str, str]:
        """All steps of one direction: rows (T, N, H), and the last states."""
        r, t, n, h = self.r, self.steps, self.batch, self.hidden
        gates = GATES[self.kind] * h
        added = bias[:gates] + bias[gates:]
        if self.kind == "GRU":  # the bias of the last gate's state is inside the reset, or outside
            added[2 * h :] = bias[2 * h : 3 * h]
            if not self.node.attrs.get("linear_before_reset"):
                added[2 * h :] += bias[5 * h :]
        seen = r.node(
            "MatMul", r.reshape(self.inputs[0], (t * n, self.width)), r.constant(w.T, "w"), shape=(t * n, gates)
        )
        seen = r.reshape(r.node("Add", seen, r.constant(added, "b"), shape=(t * n, gates)), (t, n, gates))
        turned, inner = r.constant(u.T, "r"), bias[5 * h :] if self.kind == "GRU" else bias
        state, cell, rows = states[0], states[1], []
        for step in reversed(range(t)) if backwards else range(t):
            x, before, mask = r.reshape(r.slice(seen, 0, step, step + 1), (n, gates)), (state, cell), self.masks[step]
            if self.kind == "GRU":
                state = self._gru(x, state, u, inner)
            else:
                if state:
                    x = self._op("Add", x, self._op("MatMul", state, turned, width=gates), width=gates)
                if self.kind == "LSTM":
                    state, cell = self._lstm(x, cell)
                else:
                    state = self._op(act, x)
            row = state
            if mask:
                row = self._op("Mul", state, mask)
                state = self._held(mask, state, before[0])
                cell = self._held(mask, cell, before[1]) if cell else ""
            rows.append(r.reshape(row, (1, n, h)))
        rows = rows[::-1] if backwards else rows
        joined = rows[0] if t == 1 else r.node("Concat", *rows, shape=(t, n, h), axis=0)
        return joined, state, cell

    def _gate(self, x: str, place: int, act: str) -> str:
        part = self.r.slice(x, 1, place * self.hidden, (place + 1) * self.hidden)
        return self._op(act, part) if act else part

    def _lstm(self, x: str, cell: str) -> tuple[str, str]:
        """Gates in ONNX's order: input, output, forget, cell."""
        new = self._op("Mul", self._gate(x, 0, "Sigmoid"), self._gate(x, 3, "Tanh"))
        if cell:
            new = self._op("Add", self._op("Mul", self._gate(x, 2, "Sigmoid"), cell), new)
        return self._op("Mul", self._gate(x, 1, "Sigmoid"), self._op("Tanh", new)), new

    def _gru(self, x: str, state: str, u: np.ndarray, inner: np.ndarray) -> str:
        """Gates in ONNX's order: update, reset, hidden."""
        h, r = self.hidden, self.r
        before = bool(self.node.attrs.get("linear_before_reset"))
        both = r.slice(x, 1, 0, 2 * h)
        if state:
            first = r.constant(u[: 2 * h].T, "r")
            both = self._op("Add", both, self._op("MatMul", state, first, width=2 * h), width=2 * h)
        update, reset = self._gate(both, 0, "Sigmoid"), self._gate(both, 1, "Sigmoid")
        new, last = self._gate(x, 2, ""), r.constant(u[2 * h :].T, "r")
        if before:
            kept = r.constant(inner, "b")
            known = self._op("Add", self._op("MatMul", state, last), kept) if state else ""
            held = self._op("Mul", reset, known) if known else self._op("Mul", reset, kept)
            new = self._op("Add", new, held)
        elif state:
            new = self._op("Add", new, self._op("MatMul", self._op("Mul", reset, state), last))
        new = self._op("Tanh", new)
        rest = self._op("Sub", r.number(1), update)
        made = self._op("Mul", rest, new)
        return self._op("Add", made, self._op("Mul", update, state)) if state else made
