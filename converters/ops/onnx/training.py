"""Optimizers, and derivatives of parts of the graph."""

from hybrid.ir.differentiate import gradients
from hybrid.ir.graph import Entry, Graph, Node

from ...error import Unsupported
from ...registry import TRAINING, imports, passthrough

passthrough("Adagrad", "Adam", "Momentum", domain=TRAINING)


@imports("Gradient", domain=TRAINING)
def import_gradient(g, *inputs, xs, y, zs=()):
    """The derivative of y by xs, all tensors of the graph by name, at the inputs: those of xs, then of zs, which stay."""
    found = [g.find(name) for name in (*xs, *zs, y)]
    missing = [n for n, value in zip((*xs, *zs, y), found) if value is None]
    if missing:
        raise Unsupported(f"names {', '.join(missing)}, which no node before it makes")
    if len(inputs) != len(xs) + len(zs):
        raise Unsupported(f"got {len(inputs)} inputs, wanted one for each of {', '.join((*xs, *zs))}")
    *cut, end = (g.entry(v) for v in found)
    free = [Node(None, f"{g.label}_{name}") for name in (*xs, *zs)]
    independent = {(id(e.node), e.index): Entry(v) for e, v in zip(cut, free)}

    def separate(node, entries):
        own = Node(node.op, node.name, entries, node.attrs, node.subgraphs)
        return [
            independent.get((id(node), i), Entry(node if node.is_variable else own, i)) for i in range(node.num_outputs)
        ]

    derived = gradients([(Graph([end]).rewrite(separate).outputs[0], None)], free[: len(xs)])
    values = {id(v): [g.entry(x)] for v, x in zip(free, inputs)}
    graph = Graph(e for e in derived if e is not None).rewrite(lambda node, _: values.get(id(node)))
    known = Graph([end, *(e for (e,) in values.values())]).nodes
    results = iter(g.adopt(graph, known, [x for x, e in zip(inputs, derived) if e is not None]))
    return tuple(g.zeros_like(x) if e is None else next(results) for x, e in zip(inputs, derived))
