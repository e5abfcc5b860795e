"""Rewritings of graphs, one a file: what they expect of a graph, and what they leave.

``optimize`` runs those that make a graph faster, for given shapes; see PASSES for their order. Each is a function from a graph
and its Rewriter to a graph that gives the same outputs, and stands alone: any of them can be left out."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ..core.error import MXNetError
from ..core.shapes import identical, show
from ..ir.graph import Graph
from .blocked_layout import spread_blocks
from .canonicalize_dense import find_dense
from .decompose import decompose
from .eliminate_common_subexpressions import merge_duplicates
from .fold_batch_norm import fold_normalization
from .fold_shapes import fold_values, state_shapes
from .fuse_conv_epilogue import fuse_convolutions
from .fuse_dense_epilogue import fuse_dense
from .fuse_depthwise_pointwise import stage_convolutions
from .fuse_elementwise import chain
from .fuse_layer_norm import find_layer_norm
from .hoist_constants import Optimized, hoist, whole
from .remove_identities import remove_identities
from .resolve_like_ops import state_forms
from .rewriter import Rewriter
from .widen_half import keep_wide

__all__ = ["PASSES", "Optimized", "Rewriter", "optimize"]

Pass = Callable[[Graph, Rewriter], Graph]

PASSES: dict[str, Pass] = {
    "values": fold_values,
    "decomposition": decompose,
    "forms": state_forms,
    "identities": remove_identities,
    "duplicates": merge_duplicates,
    "widening": keep_wide,
    "patterns": find_layer_norm,
    "products": find_dense,
    "normalization": fold_normalization,
    "convolutions": fuse_convolutions,
    "dense": fuse_dense,
    "chains": chain,
    "layout": spread_blocks,
    "stages": stage_convolutions,
}
"""In the order in which they run. "hoisting" comes last of all."""


def draws(graph: Graph, training: bool) -> list[str]:
    """The nodes that take random numbers, in the order in which they do."""
    return [n.name for n in graph.nodes if n.op is not None and n.op.draws(training)]


def optimize(graph: Graph, rewriter: Rewriter, without: Collection[str] = ()) -> Optimized:
    """The graph after all passes but those named in ``without``, and those that would change what random operators draw.

    Outputs keep their order, shapes and dtypes. Raises MXNetError when a pass has broken that, which is a bug."""
    unknown = set(without) - {*PASSES, "hoisting"}
    if unknown:
        raise MXNetError(f"no passes {', '.join(sorted(unknown))}; there are {', '.join((*PASSES, 'hoisting'))}")
    wanted = [rewriter.spec(e) for e in graph.outputs]
    drawn = draws(graph, rewriter.training)
    for name, run in {"shapes": state_shapes, **PASSES}.items():
        if name not in without:
            after = run(graph, rewriter)
            if (
                drawn and draws(after, rewriter.training) != drawn
            ):  # by one that nobody reads any more, or in another order
                continue
            graph = after
            for spec, entry in zip(wanted, graph.outputs, strict=True):
                if not identical(rewriter.shape(entry), spec.shape) or rewriter.dtype(entry) != spec.dtype:
                    raise MXNetError(
                        f"pass {name} made {rewriter.dtype(entry)}{show(rewriter.shape(entry))} of an output of "
                        f"{spec.dtype}{show(spec.shape)}; this is a bug, please report it"
                    )
    return whole(graph, rewriter) if "hoisting" in without else hoist(graph, rewriter)
