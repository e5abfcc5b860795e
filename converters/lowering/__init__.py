"""Rewritings of converted graphs for engines that have few operators, or have them for few shapes and dtypes. A form names those
that it wants (``Forms.lowered``); a target's profile says which. They run after the passes that clean a graph, in this order, and
need static shapes: a node whose sizes are open stays as it is, and so does what no other operators amount to. Numbers stay what
they were, up to the rounding of float32."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ..forms import LOWERINGS
from ..onnx_graph import OnnxGraph, live
from ..passes import clean
from .floats import floats, products
from .gates import gates
from .layouts import layouts
from .lookups import batches, lookups
from .operands import operands
from .pools import maxima, pools
from .powers import powers, remainders
from .recurrences import grus, lengths, recurrences, rnns, starts, states
from .reductions import reductions, sums
from .reversals import reversals
from .rounds import rounds
from .specials import infinities, nans

_BY_NAME: dict[str, Callable[[OnnxGraph], None]] = {
    "recurrences": recurrences,
    "grus": grus,
    "rnns": rnns,
    "states": states,
    "lengths": lengths,
    "starts": starts,
    "pools": pools,
    "maxima": maxima,
    "powers": powers,
    "remainders": remainders,
    "nans": nans,
    "infinities": infinities,
    "rounds": rounds,
    "batches": batches,
    "sums": sums,
    "gates": gates,
    "reversals": reversals,
    "reductions": reductions,
    "products": products,
    "floats": floats,
    "lookups": lookups,
    "layouts": layouts,
    "operands": operands,
}


def lower(graph: OnnxGraph, names: Collection[str]) -> None:
    """Rewrite a graph by the lowerings of these names, and clean it of what they leave; again, of what became constant by that."""
    for _ in range(2 if names else 0):
        for name in (n for n in LOWERINGS if n in names):
            graph.infer()
            _BY_NAME[name](graph)
            graph.nodes[:] = live(graph.nodes, graph.outputs)
        clean(graph)
