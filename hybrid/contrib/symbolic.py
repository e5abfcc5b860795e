"""Functions of ``sym.contrib`` that are more than one operator: control flow, whose bodies become subgraphs.

The body of a loop is a Python function that is called once, on variables, inside an AttrScope that marks what it makes
with ``__subgraph_name__``. Where what it made reads something that was made outside, the subgraph is cut: the reader gets a
variable instead, and the node of the loop an input. So the JSON is that of MXNet, node by node.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..attribute import AttrScope
from ..core.op import lookup
from ..frontend.symbol import INTERNAL, Symbol, create, sym_op
from ..frontend.variable import var
from ..ir.graph import Entry, Graph, Node
from .nest import flatten, regroup

__all__ = ["adamw_update", "cond", "foreach", "mp_adamw_update", "rand_zipfian", "while_loop"]

_MARK = "__subgraph_name__"


class _TracedSubgraph:
    """A traced body: its graph, and what each of the graph's variables stands for outside."""

    def __init__(self, name: str, outputs: Sequence[Symbol], held: dict[int, Entry], *, twice: bool = False):
        """name: that of the scope in which it was traced, which has to be in force still; held: by id of variable, what was
        made to stand for something; twice: give outputs that are there twice a node each."""
        inputs = set(Symbol(e for s in outputs for e in s._entries).list_inputs())
        seen: set[str | None] = set()
        entries = []
        for output in outputs:
            output = output.as_nd_ndarray()
            outside = output.attr(_MARK) != name
            if output.name in inputs or outside or (twice and output.name in seen):
                output = sym_op.identity(output)
            else:
                seen.add(output.name)
            entries.append(output._entries[0])
        self.graph, self.cut = _cut(Graph(entries), name)
        self.held = held
        names = [n.name for n in self.graph.variables()]
        if len(set(names)) < len(names):
            raise AssertionError(f"The inputs of the subgraph don't have unique names: {names}")

    def sources(self) -> list[Entry]:
        """Entries that the graph's variables stand for, in their order."""
        return [
            self.held.get(id(n))
            or self.cut.get(id(n))
            or Entry(n)  # the last: made in the body, so an input of its own
            for n in self.graph.variables()
        ]


def _cut(graph: Graph, name: str) -> tuple[Graph, dict[int, Entry]]:
    """The graph with variables where nodes of the subgraph read others, and what those variables stand for, by id."""
    stand: dict[tuple[int, int], Node] = {}
    cut: dict[int, Entry] = {}

    def inside(node: Node) -> bool:
        return node.attrs.get(_MARK) == name

    def replaced(entry: Entry) -> Entry:
        if inside(entry.node):
            return Entry(new[id(entry.node)], entry.index)
        key = id(entry.node), entry.index
        if key not in stand:
            stand[key] = Node(None, entry.name)
            cut[id(stand[key])] = entry
        return Entry(stand[key])

    new: dict[int, Node] = {}
    for node in graph.nodes:
        if inside(node):
            same = node.is_variable
            new[id(node)] = (
                node if same else Node(node.op, node.name, map(replaced, node.inputs), node.attrs, node.subgraphs)
            )
    return Graph(map(replaced, graph.outputs)), cut


def _stands(symbols: Sequence[Symbol]) -> tuple[list[Symbol], dict[int, Entry]]:
    """A variable for each symbol, of its face, and what they stand for, by id."""
    made = [s._face(var(f"{s.name}-{s.attr('_value_index')}")._entries) for s in symbols]
    return made, {id(v._entries[0].node): s._entries[0] for v, s in zip(made, symbols)}


def _places(wanted: Sequence[Symbol], graph: Graph) -> list[int | None]:
    """Positions of these among the graph's variables; None for those it does not read."""
    places = {id(n): i for i, n in enumerate(graph.variables())}
    return [places.get(id(v._entries[0].node)) for v in wanted]


def _apply(
    name: str, bodies: Sequence[_TracedSubgraph], inputs: Sequence[Entry], face: type[Symbol], **given: Any
) -> list[Symbol]:
    """The outputs of a control flow operator, symbols of a face."""
    graphs = [b.graph for b in bodies]
    made = create(
        lookup(name), name, [Symbol([e]) for e in inputs],
        {"num_args": len(inputs) + len(graphs), **given}, subgraphs=graphs,
    )  # fmt: skip
    return [face([entry]) for entry in made._entries]


def foreach(body: Callable[..., Any], data: Any, init_states: Any, name: str = "foreach") -> tuple[Any, Any]:
    """``body(slice, states)`` for each slice of data along axis 0; gives (outputs, states), as nd.contrib.foreach does.

    Raises AssertionError when the body does not use a slice or state, or gives states of another form. Source: MXNet
    contrib.foreach.

    Examples
    --------
    >>> from gluonnx import mx
    >>> outputs, total = mx.sym.contrib.foreach(
    ...     lambda x, state: (x + state, x + state), mx.sym.var("data"), mx.sym.var("start"))
    >>> total.eval(data=mx.nd.array([[1], [2], [3]]), start=mx.nd.zeros(1))[0].asnumpy()
    array([6.], dtype=float32)
    """
    flat_data, data_form = flatten(Symbol, data, "foreach input")
    flat_states, state_form = flatten(Symbol, init_states, "foreach states")
    # of data of rank 1 the operator takes slices of shape (1,), and those of mx.np are numbers: an axis in between for the loop
    numpy = [s._face is not Symbol for s in flat_data]
    if any(numpy):
        flat_data = [
            s._face(sym_op.expand_dims(s.as_nd_ndarray(), axis=1)._entries) if n else s
            for s, n in zip(flat_data, numpy)
        ]
    name = AttrScope.subgraph_name(name)
    with AttrScope(**{_MARK: name}):
        slices, held = _stands(flat_data)
        states, held_states = _stands(flat_states)
        given = [
            s._face(INTERNAL._np_squeeze(s.as_nd_ndarray(), axis=0)._entries) if n else s for s, n in zip(slices, numpy)
        ]
        outs, new = body(regroup(given, data_form), regroup(states, state_form))
        outs, out_form = flatten(Symbol, outs, "foreach output")
        new, new_form = flatten(Symbol, new, "foreach loop_vars")
        if new_form != state_form:
            raise AssertionError("The input and output loop_vars have different format")
        traced = _TracedSubgraph(name, [*outs, *new], {**held, **held_states}, twice=True)
    data_places, state_places = _places(slices, traced.graph), _places(states, traced.graph)
    if None in data_places:
        raise AssertionError("the data arrays have to be used in the loop body")
    if None in state_places:
        raise AssertionError("the state arrays have to be used in the loop body")
    sources = traced.sources()
    rest = [i for i in range(len(sources)) if i not in (*data_places, *state_places)]
    found = _apply(
        "_foreach", [traced], [sources[i] for i in (*data_places, *state_places, *rest)],  # type: ignore[index]
        flat_data[0]._face,
        num_outputs=len(outs) + len(new), num_out_data=len(outs),
        in_state_locs=state_places, in_data_locs=data_places, remain_locs=rest,
    )  # fmt: skip
    return regroup(found[: len(outs)], out_form), regroup(found[len(outs) :], state_form)


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., Any],
    loop_vars: Any,
    max_iterations: Any = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """``func(*loop_vars)`` while ``cond(*loop_vars)`` holds; gives (outputs, loop_vars), as nd.contrib.while_loop does.

    The outputs have max_iterations rows. Raises ValueError without max_iterations or loop variables, when a loop variable is
    not used, or when their number changes. Source: MXNet contrib.while_loop.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.sym.var("x")
    >>> def double(x):
    ...     return x, x * 2  # an output of each round, and the next x
    >>> outputs, last = mx.sym.contrib.while_loop(lambda x: x < 10, double, x, max_iterations=5)
    >>> last.eval(x=mx.nd.array([3]))[0].asnumpy()
    array([12.], dtype=float32)
    """
    flat, form = flatten(Symbol, loop_vars, "while loop_vars")
    if max_iterations is None:
        raise ValueError("max_iterations should be specified")
    try:
        limit = int(max_iterations)
    except (TypeError, ValueError):
        raise ValueError("Cannot convert max_iteration to python int") from None
    if not flat:
        raise ValueError("loop_vars should contain at least one element")
    single = isinstance(loop_vars, Symbol)

    scope = AttrScope.subgraph_name(f"{name}_cond")
    with AttrScope(**{_MARK: scope}):
        variables, held = _stands(flat)
        grouped = regroup(variables, form)
        asked = cond(*([grouped] if single else grouped))
        if not isinstance(asked, Symbol):
            raise ValueError("Return of cond must be a Symbol")
        condition = _TracedSubgraph(scope, [asked], held)
    scope = AttrScope.subgraph_name(f"{name}_func")
    with AttrScope(**{_MARK: scope}):
        variables, held = _stands(flat)
        grouped = regroup(variables, form)
        outs, new = func(*([grouped] if single else grouped))
        outs, out_form = flatten(Symbol, [] if outs is None else outs, "while output")
        new, _ = flatten(Symbol, [] if new is None else new, "while loop_vars")
        if len(new) != len(flat):
            raise ValueError("The number of loop_vars should be consistent during the loop")
        step = _TracedSubgraph(scope, [*outs, *new], held)
    places = _places(variables, step.graph)
    for number, place in enumerate(places, 1):
        if place is None:
            raise ValueError(f"The {number}-th loop_var doesn't involve into the computation")

    # loop variables are one input for both bodies, and what else they read is one for each, as in MXNet
    inputs: list[Entry] = []
    known: dict[tuple[int, int], int] = {}

    def located(body: _TracedSubgraph) -> list[int]:
        found = []
        for variable, source in zip(body.graph.variables(), body.sources()):
            key = id(source.node), source.index
            place = known.get(key) if id(variable) in body.held else None
            if place is None:
                place = len(inputs)
                inputs.append(source)
                if id(variable) in body.held:
                    known[key] = place
            found.append(place)
        return found

    condition_places, step_places = located(condition), located(step)
    found = _apply(
        "_while_loop", [condition, step], inputs, flat[0]._face,
        max_iterations=limit, cond_input_locs=condition_places, func_input_locs=step_places, func_var_locs=places,
        num_out_data=len(outs), num_outputs=len(outs) + len(new),
    )  # fmt: skip
    return regroup(found[: len(outs)], out_form), regroup(found[len(outs) :], form)


def cond(pred: Symbol, then_func: Callable[[], Any], else_func: Callable[[], Any], name: str = "cond") -> Any:
    """Choose the outputs of ``then_func()`` where pred, of one element, is not zero, else those of ``else_func()``.

    Raises ValueError when the two give different numbers of outputs. Source: MXNet contrib.cond.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.sym.var("x")
    >>> y = mx.sym.contrib.cond(x > 2, lambda: x * 10, lambda: x)
    >>> y.eval(x=mx.nd.array([3]))[0].asnumpy()
    array([30.], dtype=float32)
    """
    bodies, forms, counts = [], [], []
    for suffix, function in (("pred", lambda: pred), ("then", then_func), ("else", else_func)):
        scope = AttrScope.subgraph_name(f"{name}_{suffix}")
        with AttrScope(**{_MARK: scope}):
            outputs, form = flatten(Symbol, function(), "cond outputs")
            bodies.append(_TracedSubgraph(scope, outputs, {}))
        forms.append(form)
        counts.append(len(outputs))
    if counts[0] != 1:
        raise ValueError("pred should always be a single output")
    if counts[1] != counts[2]:
        raise ValueError("Number of outputs differs between then-branch and else-branch")
    inputs: list[Entry] = []
    known: dict[str, int] = {}  # variables are one input for all that read them, by name as in MXNet
    locations: list[list[int]] = []
    for body in bodies:
        places = []
        for source in body.sources():
            place = known.get(source.name) if source.node.is_variable else None
            if place is None:
                place = len(inputs)
                inputs.append(source)
                if source.node.is_variable:
                    known[source.name] = place
            places.append(place)
        locations.append(places)
    found = _apply(
        "_cond", bodies, inputs, pred._face,
        cond_input_locs=locations[0], then_input_locs=locations[1], else_input_locs=locations[2], num_outputs=counts[1],
    )  # fmt: skip
    return regroup(found, forms[1])


def rand_zipfian(true_classes: Symbol, num_sampled: int, range_max: int) -> tuple[Symbol, Symbol, Symbol]:
    """Classes drawn log-uniformly, and how often each is expected; see nd.contrib.rand_zipfian.

    Examples
    --------
    >>> from gluonnx import mx
    >>> sampled, of_true, of_sampled = mx.sym.contrib.rand_zipfian(mx.sym.var("classes"), num_sampled=4, range_max=10)
    >>> of_true.eval(classes=mx.nd.array([3]))[0].asnumpy().round(3)
    array([0.372])
    """
    scale = math.log(range_max + 1)
    drawn = INTERNAL._random_uniform(low=0, high=scale, shape=(num_sampled,), dtype="float64")
    sampled = (drawn.exp() - 1).astype("int64") % range_max

    def expected(classes: Any) -> Symbol:
        k = classes.astype("float64")
        return ((k + 2.0) / (k + 1.0)).log() / scale * num_sampled

    return sampled, expected(true_classes), expected(sampled)


def _adamw(name: str, *arrays: str) -> Callable[..., Symbol]:
    names = (*arrays, "rescale_grad", "lr", "eta", "beta1", "beta2", "epsilon", "wd", "clip_gradient")

    def function(*args: Any, **kwargs: Any) -> Symbol:
        given = {**dict(zip(names, args)), **kwargs}
        if not isinstance(given["rescale_grad"], Symbol):
            given["rescale_grad"] = INTERNAL._full(shape=(1,), value=float(given["rescale_grad"]), dtype="float32")
        return getattr(INTERNAL, f"_{name}")(**given)

    function.__name__ = function.__qualname__ = name
    given = ", ".join(f'mx.sym.var("{array}")' for array in arrays)
    function.__doc__ = f"""``_{name}``, whose rescale_grad, a symbol, may be a number here.

Examples
--------
>>> from gluonnx import mx
>>> variables = {given}
>>> updated = mx.sym.contrib.{name}(*variables, rescale_grad=1, lr=0.1, eta=1)
>>> updated.list_arguments(), updated.list_auxiliary_states()
(['weight', 'grad'], {list(arrays[2:])})
"""
    return function


adamw_update = _adamw("adamw_update", "weight", "grad", "mean", "var")
mp_adamw_update = _adamw("mp_adamw_update", "weight", "grad", "mean", "var", "weight32")
