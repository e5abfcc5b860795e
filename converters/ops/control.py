"""Control flow: _foreach is Scan, _while_loop is Loop, _cond is If. ``subgraphs`` are functions that translate those of the node.

A body is called with a builder and one Value per variable of the subgraph, and gives one Value per output; values from
around it (weights) it simply reads."""

import numpy as np

from hybrid.core.op import Spec

from ..error import Unsupported
from ..registry import exports, not_exported


@exports("_foreach")
def export_foreach(b, op, *inputs, subgraphs):
    (body,) = subgraphs
    if any(result.shape is None for result in b.results):  # Scan does not take it
        raise Unsupported("a state or an output of the body has no known rank; give the shapes of all inputs")
    data, states, rest = op.split(inputs)
    data = [b.unsqueeze(d, [1]) if d.rank == 1 else d for d in data]
    slices = [Spec(op.slice_shape(d.shape), d.dtype) for d in op.split(inputs)[0]]

    def step(inner, *given):
        results = body(inner, op.arrange(given[len(states) :], given[: len(states)], rest))
        return results[op.num_out_data :] + results[: op.num_out_data]

    graph = b.body(step, *(Spec(s.shape, s.dtype) for s in states), *slices)
    made = b.Scan(*states, *data, outputs=op.num_outputs, body=graph, num_scan_inputs=len(data))
    made = [made] if op.num_outputs == 1 else list(made)
    return made[len(states) :] + made[: len(states)]


def _truth(b, condition):
    """A condition of one element as a scalar bool; NaN holds."""
    holds = condition if condition.dtype == np.bool_ else b.Not(b.Equal(condition, 0))
    return b.reshape(holds, [])


@exports("_while_loop")
def export_while_loop(b, op, *inputs, subgraphs):
    condition, body = subgraphs
    ends = b.results[op.num_out_data :]

    def holds(builder, variables):
        (result,) = condition(builder, op.arrange(inputs, variables)[0])
        return _truth(builder, result)

    def step(inner, _, going, *variables):
        results = body(inner, op.arrange(inputs, variables)[1])
        after = results[op.num_out_data :]
        return [holds(inner, after), *after, *results[: op.num_out_data]]

    counter, going = Spec((), np.dtype(np.int64)), Spec((), np.dtype(np.bool_))
    variables = op.variables(inputs)
    start = holds(b, variables)
    graph = b.body(step, counter, going, *ends)
    made = b.Loop(b.const(op.max_iterations), start, *variables, outputs=op.num_outputs, body=graph)
    made = [made] if op.num_outputs == 1 else list(made)
    return [_fill_rows(b, op, y, s) for y, s in zip(made[len(ends) :], b.results)] + made[: len(ends)]


def _fill_rows(b, op, rows, result):
    """The rows of steps taken, and zeros up to max_iterations."""
    if result.shape is None:
        raise Unsupported("an output of the body has no known rank; give the shapes of all inputs")
    missing = b.Sub(b.const([op.max_iterations]), b.shape_of(rows, 0))
    none = [0] * (len(result.shape) - 1)
    return b.Pad(rows, b.dims(0, *none, missing, *none))


@exports("_cond")
def export_cond(b, op, *inputs, subgraphs):
    asked, *held = op.arrange(inputs)
    (condition,) = subgraphs[0](b, asked)
    condition = _truth(b, condition)
    graphs = [b.body(lambda inner, make=make, h=h: make(inner, h)) for make, h in zip(subgraphs[1:], held)]
    return b.If(condition, then_branch=graphs[0], else_branch=graphs[1], outputs=op.num_outputs)


not_exported(
    "its code is Python, which no ONNX operator holds; register a translation of your own with "
    "converters.registry.exports_custom(op_type), in a file that commands take as --plugin (docs/plugins.md)",
    "Custom",
)
