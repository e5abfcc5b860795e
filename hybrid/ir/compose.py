"""Compositions: operators said in other operators (``Op.composition``), down to the primitives.

A composition is a program on expressions, as a gradient rule is (build.py). It is traced for an operator with its attributes, and
for what is known of its inputs, into a small graph whose variables are the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..core.dims import has_dims
from ..core.op import BACKWARD, FUSED, Op, Spec
from ..core.shapes import Undecided, is_known
from . import build
from .graph import Entry, Graph, Node
from .infer import Inference, infer

PRIMITIVE, COMPOSITION, EXCEPTION = "primitive", "composition", "exception"


def core_kind_of(cls: type[Op]) -> str:
    """Kind of an operator in the closed core."""
    if cls.__dict__.get("primitive"):
        return PRIMITIVE
    return EXCEPTION if _composing_class(cls) is None else COMPOSITION


def _composing_class(cls: type[Op]) -> type[Op] | None:
    """The class whose composition says what this operator means; None where there is none."""
    author = next(c for c in cls.__mro__ if "composition" in c.__dict__)
    own = cls.name.startswith((BACKWARD, FUSED))  # parts of gradient rules and of compiled graphs
    return None if own or author.composition is Op.composition or not cls.means(author) else author


def composition(op: Op, specs: Sequence[Spec] | None = None) -> Graph | None:
    """The operator said in others, its inputs being the variables ``x0``, ``x1``, ...; None where it is not, or not for inputs of
    which this is known (specs; without them nothing is)."""
    return _said(op, op.composition, specs) if core_kind_of(type(op)) is COMPOSITION else None


def fused_form(op: Op, specs: Sequence[Spec] | None = None) -> Graph | None:
    """As composition, of ``Op.fused_form``."""
    return _said(op, op.fused_form, specs)


def _said(op: Op, say: Callable[..., Any], specs: Sequence[Spec] | None) -> Graph | None:
    known = tuple(Spec() if s is None else s for s in specs or (None,) * len(op.input_names()))
    # sizes that are not known, or stand for others, cannot be compared
    lasting = all(s.shape is None or (is_known(s.shape) and not has_dims(s.shape)) for s in known)
    key = (say.__name__, known)
    if lasting and key in op.memo:
        return op.memo.get(key)
    try:
        inputs = [build.variable(f"x{i}", spec) for i, spec in enumerate(known)]
        given = say(build.F, *inputs)
        made = None if given is None else _as_graph(op, given)
    except Undecided:
        made = None
    if lasting:
        op.memo[key] = made
    return made


def _as_graph(op: Op, given: build.Expression | Sequence[build.Expression]) -> Graph:
    outputs = [g.entry for g in ((given,) if isinstance(given, build.Expression) else given)]
    if len(outputs) != len(op.output_names()):
        raise op.error(f"its composition gave {len(outputs)} outputs, wanted {len(op.output_names())}")
    return Graph(outputs)


def is_pure(op: Op) -> bool:
    """True where putting a composition in the operator's place changes no more than how it is computed."""
    return not op.mutates and not {"rng", "subgraphs", "training"} & set(op.needs)


Where = Callable[[Op, Sequence[Spec]], bool]
"""True for an operator that is wanted, which has inputs of these specs."""


def expand(graph: Graph, inference: Inference, where: Where = lambda _op, _specs: True) -> Graph:
    """The graph with the compositions of operators in their place, where wanted, until none is left that has one."""

    def change(node: Node, inputs: tuple[Entry, ...]) -> Sequence[Entry] | None:
        if node.op is None or not is_pure(node.op):
            return None
        specs = [inference.spec(e) for e in node.inputs]
        if not where(node.op, specs):
            return None
        body = composition(node.op, specs)
        return None if body is None else inline(_expand_body(body, specs, where), inputs, node.name)

    return graph.rewrite(change)


def _expand_body(body: Graph, specs: Sequence[Spec], where: Where) -> Graph:
    return expand(body, infer_body(body, specs), where)


def infer_body(body: Graph, specs: Sequence[Spec]) -> Inference:
    """Inference inside a composition whose inputs are known so far."""
    names = {n.name for n in body.variables()}
    known = {f"x{i}": s for i, s in enumerate(specs) if f"x{i}" in names}
    return infer(
        body,
        {n: s.shape for n, s in known.items() if s.shape is not None},
        {n: s.dtype for n, s in known.items() if s.dtype is not None},
    )


def inline(body: Graph, inputs: Sequence[Entry], name: str) -> list[Entry]:
    """The outputs of a composition for these inputs; its nodes are called after the node that it stands for."""
    new: dict[Node, Sequence[Entry]] = {}
    for node in body.nodes:
        if node.op is None:
            new[node] = (inputs[int(node.name[1:])],)
        else:
            made = Node(node.op, f"{name}_{node.name}", [new[e.node][e.index] for e in node.inputs], node.attrs)
            new[node] = [Entry(made, i) for i in range(node.num_outputs)]
    return [new[e.node][e.index] for e in body.outputs]


def parts(op: Op, specs: Sequence[Spec] | None = None) -> Iterator[Op]:
    """The operators that a composition is made of, one step down."""
    body = composition(op, specs)
    for node in body.nodes if body is not None else ():
        if node.op is not None:
            yield node.op
