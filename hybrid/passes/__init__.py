"""Rewritings of graphs, one a file: what they expect of a graph, and what they leave.

``optimize`` runs those that make a graph faster, for given shapes; see PASSES for their order. Each is a function from a graph
and its Rewriter to a graph that gives the same outputs, and stands alone: any of them can be left out."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ..core.error import MXNetError
from ..core.shapes import identical, show
from ..ir.graph import Graph
from .blocked_layout import use_blocked_layout
from .canonicalize_dense import canonicalize_dense
from .decompose import decompose
from .eliminate_common_subexpressions import eliminate_common_subexpressions
from .fold_batch_norm import fold_batch_norm
from .fold_shapes import fold_shapes, set_inferred_shapes
from .fuse_attention import fuse_attention
from .fuse_conv_epilogue import fuse_conv_epilogue
from .fuse_dense_epilogue import fuse_dense_epilogue
from .fuse_depthwise_pointwise import fuse_depthwise_pointwise
from .fuse_elementwise import fuse_elementwise
from .fuse_layer_norm import fuse_layer_norm
from .fuse_qdq import fuse_qdq
from .hoist_constants import Optimized, hoist_constants, without_hoisting
from .prepare_quantized import prepare_quantized
from .read_transposed import read_transposed
from .remove_identities import remove_identities
from .resolve_like_ops import resolve_like_ops
from .rewriter import Rewriter
from .scan_first_axis import scan_first_axis
from .widen_half import widen_half

__all__ = ["PASSES", "Optimized", "Rewriter", "optimize"]

Pass = Callable[[Graph, Rewriter], Graph]

PASSES: dict[str, Pass] = {
    run.__name__: run
    for run in (
        fold_shapes,
        prepare_quantized,
        decompose,
        scan_first_axis,
        resolve_like_ops,
        remove_identities,
        eliminate_common_subexpressions,
        fuse_qdq,
        widen_half,
        fuse_layer_norm,
        fuse_attention,
        canonicalize_dense,
        read_transposed,
        fold_batch_norm,
        fuse_conv_epilogue,
        fuse_dense_epilogue,
        fuse_elementwise,
        use_blocked_layout,
        fuse_depthwise_pointwise,
    )
}
"""By name, in the order in which they run. "hoist_constants" comes last of all."""


def draws(graph: Graph, training: bool) -> list[str]:
    """The nodes that take random numbers, in the order in which they do."""
    return [n.name for n in graph.nodes if n.op is not None and n.op.draws(training)]


def optimize(graph: Graph, rewriter: Rewriter, without: Collection[str] = ()) -> Optimized:
    """The graph after all passes but those named in ``without``, and those that would change what random operators draw.

    Outputs keep their order, shapes and dtypes. Raises MXNetError when a pass has broken that, which is a bug."""
    unknown = set(without) - {*PASSES, "hoist_constants"}
    if unknown:
        raise MXNetError(f"no passes {', '.join(sorted(unknown))}; there are {', '.join((*PASSES, 'hoist_constants'))}")
    wanted = [rewriter.spec(e) for e in graph.outputs]
    drawn = draws(graph, rewriter.training)
    for name, run in {"set_inferred_shapes": set_inferred_shapes, **PASSES}.items():
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
    return without_hoisting(graph, rewriter) if "hoist_constants" in without else hoist_constants(graph, rewriter)
