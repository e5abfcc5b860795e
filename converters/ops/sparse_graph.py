"""Rows of sparse arrays, which are dense tensors in ONNX."""

import numpy as np

from ..registry import exports, not_exported


@exports("_sparse_retain")
def export_sparse_retain(b, op, data, indices):
    rows = b.unsqueeze(b.cast(indices, np.int64), [1])
    none = b.Expand(b.const([0], np.int32), b.shape_of(data, 0))
    kept = b.ScatterND(none, rows, b.Expand(b.const([1], np.int32), b.shape_of(indices, 0)))
    return b.Where(b.unsqueeze(b.cast(kept, np.bool_), range(1, data.rank)), data, b.like(0, data))


not_exported(
    "it asks which entries a csr array stores, zeros among them; ONNX has operators for dense tensors only",
    "_contrib_dgl_adjacency",
    "_contrib_dgl_graph_compact",
    "_contrib_dgl_subgraph",
    "_contrib_edge_id",
    "_contrib_getnnz",
)
not_exported(
    "it draws a part of a graph for training from a csr array; ONNX has operators for dense tensors only",
    "_contrib_dgl_csr_neighbor_non_uniform_sample",
    "_contrib_dgl_csr_neighbor_uniform_sample",
)
