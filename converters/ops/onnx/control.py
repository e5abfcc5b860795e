"""Control flow: If, Loop, Scan and SequenceMap with their bodies. A Scan is _foreach where that means the same."""

from collections import Counter

import onnx

from hybrid.core.attrs import declare_dtype
from hybrid.core.op import REGISTRY, Spec
from hybrid.core.shapes import UNKNOWN, identical, is_known
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ops.control import common
from hybrid.ops.onnx.base import BOOL, INT64, OBJECT
from hybrid.ops.onnx.control import shared_dtype

from ...error import Unsupported
from ...import_state import ImportedValue
from ...onnx_types import declared_spec, element_dtype, element_type, holds_numbers, known_dims, sequence_of, tensor_of
from ...proto_nodes import reads
from ...registry import exports, imports

# -- reading ----------------------------------------------------------------------------------------------------------


def _with_types(results, subgraphs, skip=0):
    """The results, with the types that the bodies' results have where they are no tensors."""
    results = list(results) if isinstance(results, tuple) else [results]
    for result, inside in zip(results, subgraphs[0].results[skip:]):
        result.kind = inside.kind
    return results


@imports("If")
def import_if(g, condition, *, then_branch, else_branch):
    if condition.fixed:
        if condition.const.size != 1:
            raise Unsupported(f"got a condition of shape {condition.shape}, wanted one element")
        return g.branch(then_branch if condition.const.item() else else_branch)
    if len(then_branch.input) or len(else_branch.input):
        raise Unsupported("got branches with inputs, wanted none: they read the graph around them")
    subgraphs = [g.body(then_branch), g.body(else_branch)]
    if len(subgraphs[0].results) != len(subgraphs[1].results):
        raise Unsupported(
            f"got branches of {len(subgraphs[0].results)} and {len(subgraphs[1].results)} outputs, wanted as many"
        )
    captured = {(id(v.entry.node), v.entry.index): v for body in subgraphs for v in body.captured}
    place = {key: i for i, key in enumerate(captured)}
    reads = [
        tuple(place[id(v.entry.node), v.entry.index] for v in (body.captured[i] for i in body.reads))
        for body in subgraphs
    ]
    if _is_cond(condition, subgraphs):
        asked = Node(None, g.shared.unique("condition"), (), {"__dtype__": declare_dtype(condition.dtype)})
        cast = REGISTRY["Cast"].bind(dtype="float32")  # MXNet wants no other dtype
        graph = Graph([Entry(Node(cast, g.shared.unique("condition_cast"), [Entry(asked)], cast.dump()))])
        results = g.apply(
            "_cond",
            condition,
            *captured.values(),
            subgraphs=[subgraphs[0]._replace(graph=graph), *subgraphs],
            num_outputs=len(subgraphs[0].results),
            cond_input_locs=(0,),
            then_input_locs=tuple(1 + i for i in reads[0]),
            else_input_locs=tuple(1 + i for i in reads[1]),
        )
        return _with_types(results, subgraphs)
    results = g.apply(
        "_onnx_If",
        condition,
        *captured.values(),
        subgraphs=subgraphs,
        num_outputs=len(subgraphs[0].results),
        then_reads=reads[0],
        else_reads=reads[1],
    )
    return _with_types(results, subgraphs)


def _is_cond(condition, subgraphs):
    """True when MXNet's choice means the same: it has no arrays without dimension, and branches give the same shapes."""
    pairs = list(zip(*(body.results for body in subgraphs)))
    plain = all(v.shape and is_known(v.shape) and holds_numbers(v) for pair in pairs for v in pair)
    same = plain and all(a.shape == b.shape and a.dtype == b.dtype for a, b in pairs)
    return same and identical(condition.shape, (1,)) and all(body.captured for body in subgraphs)


def _read_body(g, proto, first, states, last, kinds=()):
    """The body of a loop, read with what is known of its states in every step: what is known of the first, widened until a
    step gives no other. first and last: Specs of the body's inputs before and after them; kinds: types of the states."""
    declared = [known_dims(declared_spec(i.type).shape) for i in proto.input[len(first) : len(first) + len(states)]]
    specs = [Spec(d if v.shape is None else v.shape, v.dtype) for v, d in zip(states, declared)]
    while True:
        body = g.body(proto, (*first, *specs, *last), (*(None for _ in first), *kinds))
        after = body.results[len(body.results) - len(proto.output) :]
        widened = []
        for old, new in zip(specs, after[bool(first) :]):
            shape = common(old.shape, new.shape)
            if shape is None and new.shape is None and old.shape is not None:
                shape = (UNKNOWN,) * len(old.shape)  # what is not known is as it was declared: of the same rank
            widened.append(Spec(shape, _shared(old.dtype, new.dtype)))
        if all(identical(a.shape, b.shape) and a.dtype is b.dtype for a, b in zip(specs, widened)):
            return body, specs
        specs = widened


def _shared(first, later):
    """The dtype of a state that begins as the first and goes on as the other; None where it is not known or varies."""
    try:
        return None if first is None or later is None else shared_dtype(first, later)
    except ValueError as error:
        raise Unsupported(str(error)) from None


@imports("Loop")
def import_loop(g, most=None, condition=None, *states, body):
    states = list(states)
    missing = [i for i, v in enumerate(states) if v is None]
    if missing:
        raise Unsupported(f"got no value for state {missing[0]} to begin with")
    if len(body.input) != 2 + len(states) or len(body.output) < 1 + len(states):
        raise Unsupported(
            f"got a body of {len(body.input)} inputs and {len(body.output)} outputs with {len(states)} states, "
            f"wanted {2 + len(states)} inputs and {1 + len(states)} outputs at least"
        )
    collected = _collected(g, body, states)
    found = _with_rows(g, most, condition, states, body, collected) if collected else None
    return found or _loop(g, most, condition, states, body)


def _loop(g, most, condition, states, body):
    """The Loop of a body, as it stands."""
    kinds = [v.kind if v.dtype == OBJECT else None for v in states]
    found, _ = _read_body(g, body, (Spec((), INT64), Spec((), BOOL)), states, (), kinds)
    given = tuple(n for n, v in (("M", most), ("cond", condition)) if v is not None)
    inputs = [v for v in (most, condition) if v is not None]
    results = g.apply(
        "_onnx_Loop",
        *inputs,
        *states,
        *found.captured,
        subgraphs=[found],
        num_outputs=len(body.output) - 1,
        num_states=len(states),
        body_reads=found.reads,
        given=given,
    )
    return _with_types(results, [found], 1)


def _collected(g, body, states):
    """By the number of a state that is an empty sequence, that each step appends one tensor to, and that is joined afterwards, the
    name of that tensor and the nodes that join: what ONNX also says as an output of the loop, which has a shape and a gradient."""
    if g.outer is not None:
        return {}
    graph = g.shared.file.proto.graph
    outputs = {o.name for o in graph.output}
    read = Counter([*(name for node in body.node for name in reads(node)), *(o.name for o in body.output)])
    found = {}
    for i, state in enumerate(states):
        name = g.node.output[i] if i < len(g.node.output) else ""
        if state.parts != () or not name or name in outputs:
            continue
        readers = [n for n in graph.node if name in reads(n)]
        old, new = body.input[2 + i].name, body.output[1 + i].name
        added = next((n for n in body.node if n.op_type == "SequenceInsert" and list(n.output) == [new]), None)
        if added is None or len(added.input) != 2 or added.input[0] != old or not read[old] == read[new] == 1:
            continue
        if readers and all(n.op_type == "ConcatFromSequence" for n in readers):
            found[i] = added.input[1], readers
    return found


def _with_rows(g, most, condition, states, body, collected):
    """A Loop with outputs in place of states that only collect; None where one of them is joined along an axis on which its
    tensors may be of several sizes."""
    shorter = onnx.GraphProto()
    shorter.CopyFrom(body)
    for part, first in ((shorter.input, 2), (shorter.output, 1)):
        for i in sorted(collected, reverse=True):
            del part[first + i]
    gone = {body.output[1 + i].name for i in collected}
    kept = [n for n in body.node if not gone.intersection(n.output)]
    del shorter.node[:]
    shorter.node.extend(kept)
    shorter.output.extend(onnx.ValueInfoProto(name=name) for name, _ in collected.values())
    results = _loop(g, most, condition, [v for i, v in enumerate(states) if i not in collected], shorter)
    if not all(_stacks(n, rows.shape) for rows, (_, n) in zip(results[-len(collected) :], collected.values())):
        return None
    every = range(len(body.output) - 1)
    made = dict(zip((*(i for i in every if i not in collected), *collected), results))
    for i in collected:
        rows, made[i] = made[i], ImportedValue(g.node.output[i], (), OBJECT, kind=states[i].kind)
        made[i].rows = rows
    return [made[i] for i in every]


def _stacks(nodes, shape):
    """True where nodes join slices of a tensor of this shape that are as long as each other."""
    for node in nodes:
        attributes = {a.name: a.i for a in node.attribute}
        axis, new_axis = attributes.get("axis", 0), attributes.get("new_axis", 0)
        rank = 0 if shape is None else len(shape) - (not new_axis)
        if shape is None or not -rank <= axis < rank or not (new_axis or shape[1:][axis] is not UNKNOWN):
            return False
    return True


@imports("Scan", since=9)
def import_scan_since_9(
    g,
    *inputs,
    body,
    num_scan_inputs,
    scan_input_axes=None,
    scan_input_directions=None,
    scan_output_axes=None,
    scan_output_directions=None,
):
    count = len(inputs) - num_scan_inputs
    states, data = list(inputs[:count]), list(inputs[count:])
    _fits(body, inputs, count)
    axes = scan_input_axes or (0,) * len(data)
    slices = [Spec(_without(v.shape, a), v.dtype) for v, a in zip(data, axes)]
    found, specs = _read_body(g, body, (), states, slices)
    stacked = len(body.output) - count
    plain = not any((*(scan_input_directions or ()), *(scan_output_axes or ()), *(scan_output_directions or ()), *axes))
    if plain and _is_foreach(found, specs, data, count):
        return _foreach(g, found, states, data, stacked)
    return _apply_scan(
        g,
        found,
        inputs,
        num_scan_inputs,
        scan_input_axes=scan_input_axes,
        scan_input_directions=scan_input_directions,
        scan_output_axes=scan_output_axes,
        scan_output_directions=scan_output_directions,
    )


@imports("Scan", since=8)
def import_scan_since_8(g, lengths, *inputs, body, num_scan_inputs, directions=None):
    count = len(inputs) - num_scan_inputs
    _fits(body, inputs, count)
    states = [Spec(_without(v.shape, 0), v.dtype) for v in inputs[:count]]
    slices = [Spec(_without(_without(v.shape, 0), 0), v.dtype) for v in inputs[count:]]
    found, _ = _read_body(g, body, (), states, slices)
    if lengths is None:
        return _apply_scan(g, found, inputs, num_scan_inputs, scan_input_directions=directions, batched=True)
    return _apply_scan(
        g,
        found,
        inputs,
        num_scan_inputs,
        lengths,
        scan_input_directions=directions,
        batched=True,
        given=("sequence_lens",),
    )


def _apply_scan(g, found, inputs, num_scan_inputs, *lengths, **attributes):
    """The Scan of a body that has been read."""
    results = g.apply(
        "_onnx_Scan",
        *lengths,
        *inputs,
        *found.captured,
        subgraphs=[found],
        num_outputs=len(found.results),
        num_states=len(inputs) - num_scan_inputs,
        num_scan_inputs=num_scan_inputs,
        body_reads=found.reads,
        **attributes,
    )
    return _with_types(results, [found])


def _fits(body, inputs, count):
    if count < 0 or any(v is None for v in inputs) or len(body.input) != len(inputs) or len(body.output) < count:
        raise Unsupported(
            f"got {len(inputs)} inputs, {max(count, 0)} of them states, with a body of {len(body.input)} inputs and "
            f"{len(body.output)} outputs; wanted as many inputs and an output for each state"
        )


def _without(shape, axis):
    """A shape without an axis."""
    if shape is None:
        return None
    if not -len(shape) <= axis < len(shape):
        raise Unsupported(f"got axis {axis} to scan of {len(shape)} dimensions")
    axis %= len(shape)
    return shape[:axis] + shape[axis + 1 :]


def _is_foreach(found, specs, data, count):
    """True when MXNet's loop over slices means the same: of known length, over slices that have an axis, with states that
    keep their shape, each of which the body reads."""
    if any(v.rank < 2 or v.shape[0] is UNKNOWN or v.shape[0] < 1 for v in data if v.shape is not None):
        return False
    known = all(v.shape is not None for v in data) and all(v.shape and v.dtype != OBJECT for v in found.results)
    kept = all(is_known(s.shape) and s.shape == r.shape for s, r in zip(specs, found.results))
    return (
        known
        and kept
        and len(specs) == count
        and sorted(found.reads) == list(range(found.inputs + len(found.captured)))
    )


def _foreach(g, found, states, data, stacked):
    """A Scan as _foreach, whose inputs and outputs have the states last."""
    count = len(states)
    outputs = (*found.graph.outputs[count:], *found.graph.outputs[:count])
    reads = {id(n): read for n, read in zip(found.graph.variables(), found.reads)}
    graph = Graph(outputs)  # whose variables may come in another order
    place = {reads[id(n)]: i for i, n in enumerate(graph.variables())}
    results = g.apply(
        "_foreach",
        *data,
        *states,
        *found.captured,
        subgraphs=[found._replace(graph=graph)],
        num_outputs=len(outputs),
        num_out_data=stacked,
        in_state_locs=tuple(place[i] for i in range(count)),
        in_data_locs=tuple(place[i] for i in range(count, found.inputs)),
        remain_locs=tuple(place[i] for i in range(found.inputs, found.inputs + len(found.captured))),
    )
    results = list(results) if isinstance(results, tuple) else [results]
    return results[stacked:] + results[:stacked]


@imports("SequenceMap", since=17)
def import_sequence_map(g, first, *others, body):
    inputs = [first, *others]
    if any(v is None for v in inputs) or len(body.input) != len(inputs):
        raise Unsupported(f"got {len(inputs)} inputs with a body of {len(body.input)}, wanted as many")
    inside = [v.dtype if v.dtype != OBJECT else element_dtype(v.kind) for v in inputs]
    declared = [declared_spec(i.type) for i in body.input]
    specs = [Spec(known_dims(d.shape), e or d.dtype) for e, d in zip(inside, declared)]
    if any(s.dtype is None for s in specs):
        raise Unsupported("got a sequence of which nothing says what it contains, wanted a type of the body's inputs")
    found = g.body(body, specs, [element_type(v.kind) if v.dtype == OBJECT else None for v in inputs])
    results = g.apply(
        "_onnx_SequenceMap",
        *inputs,
        *found.captured,
        subgraphs=[found],
        num_outputs=len(body.output),
        elems=tuple(s.dtype for s in specs),
        body_reads=found.reads,
    )
    results = list(results) if isinstance(results, tuple) else [results]
    for result, inner in zip(results, found.results):
        result.kind = sequence_of(inner.kind or tensor_of(inner.dtype))
    return results


# -- writing ----------------------------------------------------------------------------------------------------------


def _set_dtypes(b, made):
    """The results of a node with bodies, of the dtypes that inference says."""
    made = list(made) if isinstance(made, tuple) else [made]
    for value, spec in zip(made, b.results):
        value.dtype = spec.dtype
    return made


@exports("_onnx_If")
def export_onnx_if(b, op, condition, *rest, subgraphs):
    held = op.arrange((condition, *rest))
    graphs = [b.body(lambda inner, make=make, h=h: make(inner, h)) for make, h in zip(subgraphs, held)]
    return _set_dtypes(b, b.If(condition, then_branch=graphs[0], else_branch=graphs[1], outputs=op.num_outputs))


@exports("_onnx_Loop")
def export_onnx_loop(b, op, *inputs, subgraphs):
    (body,) = subgraphs
    most, condition, states, captured = op.split(inputs)

    def step(inner, *given):
        goes_on, *made = body(inner, op.arrange(given, captured))
        return [_scalar(inner, goes_on), *made]

    most, condition = (None if v is None else _scalar(b, v) for v in (most, condition))
    specs = b.results[: op.num_states]
    graph = b.body(step, Spec((), INT64), Spec((), BOOL), *specs)
    return _set_dtypes(b, b.Loop(most, condition, *states, body=graph, outputs=op.num_outputs))


def _scalar(b, value):
    """A single number without a dimension, as which a loop may have one of shape (1,); onnxruntime wants the body's alike then."""
    return value if value.shape == () else b.reshape(value, [])


@exports("_onnx_Scan")
def export_onnx_scan(b, op, *inputs, subgraphs):
    (body,) = subgraphs
    lengths, states, data, captured = op.split(inputs)
    if lengths is not None:
        raise Unsupported("sequence_lens of opset 8 have no counterpart since opset 9; mask what is beyond")
    if op.batched:
        return _set_dtypes(b, _scan_batch(b, op, states, data, captured, body))
    return _set_dtypes(b, _scan(b, op, states, data, captured, body, b.results))


def _scan(b, op, states, data, captured, body, results):
    def step(inner, *given):
        return body(inner, op.arrange(given, captured))

    axes = op.axes("input", [d.rank for d in data])
    slices = [Spec(_without(d.shape, a), d.dtype) for d, a in zip(data, axes)]
    first = [Spec(r.shape, s.dtype) for s, r in zip(states, results)]
    graph = b.body(step, *first, *slices)
    attributes = {n: getattr(op, n) for n in op.fields if n.startswith("scan_")}
    attributes = {n: list(v) for n, v in attributes.items() if v is not None}
    return b.Scan(*states, *data, outputs=op.num_outputs, body=graph, num_scan_inputs=len(data), **attributes)


def _scan_batch(b, op, states, data, captured, body):
    """A Scan over examples, whose body is the Scan of one."""
    inside = [Spec(None if r.shape is None else r.shape[1:], r.dtype) for r in b.results]

    def one(inner, *given):
        made = _scan(inner, op, given[: len(states)], given[len(states) :], captured, body, inside)
        made = list(made) if isinstance(made, tuple) else [made]
        for value, spec in zip(made, inside):
            value.shape, value.dtype = spec
        return made

    graph = b.body(one, *(Spec(_without(v.shape, 0), v.dtype) for v in (*states, *data)))
    return b.Scan(*states, *data, outputs=op.num_outputs, body=graph, num_scan_inputs=len(states) + len(data))


@exports("_onnx_SequenceMap", since=17)
def export_onnx_sequence_map(b, op, *inputs, subgraphs):
    (body,) = subgraphs
    given, captured = inputs[: len(op.elems)], inputs[len(op.elems) :]

    def step(inner, *own):
        held = (*own, *captured)
        return body(inner, [held[i] for i in op.body_reads])

    specs = [Spec(None if v.dtype == OBJECT else v.shape, e) for v, e in zip(given, op.elems)]
    return _set_dtypes(b, b.SequenceMap(*given, body=b.body(step, *specs), outputs=op.num_outputs))
