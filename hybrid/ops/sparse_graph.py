"""Operators that ask which entries a sparse array stores: how many, which edge, parts and samples of graphs (as DGL has them).

A graph is a csr matrix: its rows are vertices, its columns their neighbours, its values ids of edges. ``nd`` calls them with csr
arrays, whose stored entries count, zeros too (sparse.py); on dense values, as everywhere in a symbol, what is not 0 is stored.
"""

from typing import Any

import numpy as np

from ..core.attrs import Several
from ..core.op import Domain, Op, op
from ..core.shapes import UNKNOWN, merge, show
from ..formats.params import CSR, RowSparse
from .common import want_rank
from .stored_places import take_rows

INT64 = np.dtype(np.int64)


def csr_of(values: np.ndarray) -> CSR:
    """A matrix with what is not 0 stored."""
    row, column = np.nonzero(values)
    starts = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(values)))))
    return CSR(values[row, column], starts, column, values.shape)


class OfStorage(Op):
    """Base. What they compute is ``compute_sparse``; the first ``graphs()`` inputs are csr."""

    exception = "asks which places a sparse array stores"

    def graphs(self) -> int:
        return 1

    def compute_sparse(self, *inputs: Any, **options: Any) -> list[Any]:
        """The outputs, CSR where they are csr, from inputs of which the csr ones are CSR."""
        raise NotImplementedError

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def compute(self, *arrays, **options):
        given = [csr_of(a) if i < self.graphs() else a for i, a in enumerate(arrays)]
        found = tuple(r.todense() if isinstance(r, CSR) else r for r in self.compute_sparse(*given, **options))
        return found[0] if len(found) == 1 else found

    def square(self, graph) -> None:
        """Raise OpError unless the shape is that of a graph."""
        want_rank(self, graph, 2, what="a graph")
        if graph[0] is not UNKNOWN and graph[1] is not UNKNOWN and graph[0] != graph[1]:
            raise self.error(f"got a graph of shape {show(graph)}, wanted as many columns as rows")


@op("_contrib_getnnz")
class GetNnz(OfStorage):
    """Number of entries that a csr matrix stores: (1,), or with axis 0 in each column, with axis 1 in each row. int64.

    MXNet itself has no axis 0. Source: MXNet getnnz."""

    meanings = {"axis": "0: of each column, 1: of each row; None: of the whole matrix."}

    axis: int | None = None

    def check(self):
        return None if self.axis in (None, 0, 1) else f"got axis {self.axis}, wanted None, 0 or 1"

    def infer_shape(self, data):
        want_rank(self, data, 2)
        return (1,) if self.axis is None else (data[1 - self.axis],)

    def infer_type(self, data):
        return INT64

    def compute_sparse(self, data):
        if self.axis is None:
            return [np.array([len(data.data)])]
        if self.axis:
            return [np.diff(np.asarray(data.indptr, np.int64))]
        return [np.bincount(np.asarray(data.indices, np.int64), minlength=data.shape[1])]

    @classmethod
    def examples(cls, make):
        for axis in (None, 0, 1):
            yield make(make.integers(3, 4, high=2), axis=axis)


@op("_contrib_edge_id")
class EdgeId(OfStorage):
    """The values of a csr matrix at (u, v), -1 where it stores none.

    Shapes: data (n, m), u (k,), v (k,) -> (k,). Source: MXNet edge_id."""

    inputs = ("data", "u", "v")

    def infer_input_shapes(self, shapes, outputs):
        pair = merge(merge(shapes[1], shapes[2]), outputs[0])
        return [shapes[0], pair, pair]

    def infer_shape(self, data, u, v):
        want_rank(self, data, 2)
        want_rank(self, u, 1, what="u")
        return merge(u, v)

    def infer_type(self, data, u, v):
        if data.kind in "bu":
            raise self.error(f"got data of dtype {data}, wanted one that holds -1, for where there is no edge")
        return data

    def domain(self, name, shapes):
        size = None if shapes[0] is None or name == "data" else shapes[0][name == "v"]
        return None if size is None or size is UNKNOWN else Domain(0, size - 1, integer=True)

    def compute_sparse(self, data, u, v):
        out = np.full(len(u), -1, data.data.dtype)
        for i, (row, column) in enumerate(zip(u.astype(np.int64), v.astype(np.int64))):
            if not 0 <= row < data.shape[0]:
                raise self.error(f"got vertex {row} of a graph of {data.shape[0]}")
            start, stop = data.indptr[row : row + 2]
            found = np.flatnonzero(data.indices[start:stop] == column)
            if len(found):
                out[i] = data.data[start + found[0]]
        return [out]

    @classmethod
    def examples(cls, make):
        yield make(make.array([[1, 0, 0], [0, 2, 0], [0, 0, 3]]), make.array([0, 0, 1, 2]), make.array([0, 1, 1, 2]))


@op("_contrib_dgl_adjacency")
class Adjacency(OfStorage):
    """A graph with float32 ones for its edges' int64 ids. Source: MXNet dgl_adjacency."""

    def infer_shape(self, data):
        want_rank(self, data, 2)
        return data

    def infer_type(self, data):
        if data != INT64:
            raise self.error(f"got edges of dtype {data}, wanted int64")
        return np.dtype(np.float32)

    def compute_sparse(self, data):
        return [CSR(np.ones(len(data.data), np.float32), data.indptr, data.indices, data.shape)]

    @classmethod
    def examples(cls, make):
        yield make(make.array([[1, 0, 2], [0, 3, 0], [0, 0, 4]], "int64"))


class OfGraphs(OfStorage):
    """Base of those that take any number of arrays, all int64."""

    num_args: Several

    inputs = ("*arrays",)

    def infer_type(self, *dtypes):
        if any(d != INT64 for d in dtypes):
            raise self.error(f"got dtypes {', '.join(map(str, dtypes))}, wanted int64")
        return [INT64] * len(self.output_names())


@op("_contrib_dgl_subgraph")
class Subgraph(OfGraphs):
    """The parts of a graph between given vertices, with edges numbered anew.

    Shapes: graph (n, n), then vertices (k,) in rising order for each part -> (k, k) for each; with return_mapping then (k, k)
    for each with the edges' ids in the graph. Source: MXNet dgl_subgraph."""

    return_mapping: bool

    def output_names(self):
        return tuple(f"output{i}" for i in range((self.num_args - 1) * (1 + self.return_mapping)))

    def infer_shape(self, graph, *vertices):
        self.square(graph)
        for v in vertices:
            want_rank(self, v, 1, what="vertices")
        return [(*v, *v) for v in vertices] * (1 + self.return_mapping)

    def compute_sparse(self, graph, *vertices):
        pairs = [self._part(graph, v) for v in vertices]
        return [pair[i] for i in range(1 + self.return_mapping) for pair in pairs]

    def _part(self, graph, vertices):
        if (np.diff(vertices) < 0).any() or (len(vertices) and not 0 <= vertices[0] <= vertices[-1] < graph.shape[0]):
            raise self.error(f"got vertices {vertices}, wanted them in rising order, below {graph.shape[0]}")
        places = np.full(graph.shape[1], -1)
        places[vertices] = np.arange(len(vertices))
        columns, ids, starts = [], [], [0]
        for v in vertices:
            row = slice(*graph.indptr[v : v + 2])
            there = places[graph.indices[row]]
            columns.append(there[there >= 0])
            ids.append(graph.data[row][there >= 0])
            starts.append(starts[-1] + len(columns[-1]))
        size = (len(vertices), len(vertices))
        where = np.asarray(starts), np.concatenate([*columns, np.zeros(0, np.int64)])
        known = np.concatenate([*ids, np.zeros(0, graph.data.dtype)])
        return CSR(np.arange(len(known)).astype(known.dtype), *where, size), CSR(known, *where, size)

    @classmethod
    def examples(cls, make):
        graph = make.array([[1, 0, 0, 2], [3, 0, 4, 0], [0, 5, 0, 0], [0, 6, 7, 0]], "int64")
        yield make(graph, make.array([0, 1, 2], "int64"), return_mapping=True)
        yield make(graph, make.array([0, 1], "int64"), make.array([3], "int64"), return_mapping=False)


@op("_contrib_dgl_graph_compact")
class GraphCompact(OfGraphs):
    """Sampled graphs without the rows and columns that hold no vertex, with edges numbered anew.

    Shapes: for each graph (k, n), then for each vertices (k + 1,) with their number last (what the samplers give), -> (size,
    size) each; with return_mapping then as many with the edges' ids (which MXNet leaves empty). Source: MXNet dgl_graph_compact."""

    return_mapping: bool
    graph_sizes: tuple[int, ...]

    def check(self):
        if self.num_args != 2 * len(self.graph_sizes):
            return f"got {self.num_args} inputs for graph_sizes {self.graph_sizes}, wanted two for each"
        return None

    def graphs(self):
        return len(self.graph_sizes)

    def output_names(self):
        return tuple(f"output{i}" for i in range(self.graphs() * (1 + self.return_mapping)))

    def infer_shape(self, *shapes):
        for graph, vertices in zip(shapes[: self.graphs()], shapes[self.graphs() :]):
            want_rank(self, graph, 2, what="graph")
            want_rank(self, vertices, 1, what="vertices")
            merge(graph[:1], graph[1:])
        return [(n, n) for n in self.graph_sizes] * (1 + self.return_mapping)

    def compute_sparse(self, *inputs):
        both = zip(inputs[: self.graphs()], inputs[self.graphs() :], self.graph_sizes)
        pairs = [self._compact(*each) for each in both]
        return [pair[i] for i in range(1 + self.return_mapping) for pair in pairs]

    def _compact(self, graph, vertices, size):
        if not len(vertices):
            raise self.error("got no vertices, wanted as many as the graph has rows, and how many they are")
        if len(vertices) != graph.shape[0] + 1 or vertices[-1] != size:
            raise self.error(f"got {vertices[-1]} vertices in {len(vertices)} places for size {size}")
        named = vertices[:size]
        if len(named) and not 0 <= named.min() <= named.max() < graph.shape[1]:
            raise self.error(f"got vertices {named.min()} to {named.max()} of a graph of {graph.shape[1]}")
        places = np.full(graph.shape[1], -1)
        places[named] = np.arange(size)
        columns = places[graph.indices]
        if (columns < 0).any():
            raise self.error("got edges to vertices that are not in the graph: its sampling was cut short")
        where = np.asarray(graph.indptr)[: size + 1], columns
        known = CSR(graph.data, *where, (size, size))
        return CSR(np.arange(len(columns)).astype(graph.data.dtype), *where, (size, size)), known

    @classmethod
    def examples(cls, make):
        graph = make.array([[0, 0, 0, 0], [3, 0, 4, 0], [0, 0, 0, 0], [0, 0, 0, 0]], "int64")
        yield make(graph, make.array([0, 1, 2, 0, 3], "int64"), graph_sizes=(3,), return_mapping=True)


class _Sample(OfStorage):
    """Neighbourhoods of seeds, from a graph.

    Shapes: graph (n, n), *seeds (k,) each -> for each of the seeds vertices (max_num_vertices + 1,) in rising order, their
    number last; then for each the sampled edges (max_num_vertices, n); {then for each }then for each how many edges each
    vertex is away from the seeds (max_num_vertices,). From every vertex less than num_hops away at most num_neighbor edges are
    taken; the search ends when max_num_vertices are found. Places that hold nothing are 0 (MXNet leaves them as they were)."""

    num_args: Several
    num_hops: int = 1
    num_neighbor: int = 2
    max_num_vertices: int = 100

    inputs = ("*arrays",)
    needs = ("rng",)
    ahead = 1
    """Number of inputs before the seeds."""

    def check(self):
        return None if self.num_args > self.ahead else f"got {self.num_args} inputs, wanted {self.ahead + 1} at least"

    def infer_shape(self, graph, *rest):
        self.square(graph)
        seeds, most = self.num_args - self.ahead, self.max_num_vertices
        for shape in rest:
            want_rank(self, shape, 1, what="seeds and probability")
        return [(most + 1,)] * seeds + [(most, graph[1])] * seeds + [(most,)] * (seeds * self.ahead)

    def output_names(self):
        return tuple(f"output{i}" for i in range((self.num_args - self.ahead) * (2 + self.ahead)))

    def want_whole(self, *dtypes: np.dtype) -> None:
        """Raise OpError unless edges and seeds are int64, as MXNet takes them."""
        if any(d != INT64 for d in dtypes):
            raise self.error(f"got a graph and seeds of dtypes {', '.join(map(str, dtypes))}, wanted int64")

    def _search(self, graph, seeds, rng, weights=None):
        """(vertices, edges, distances) of the neighbourhood of the seeds."""
        most = self.max_num_vertices
        if len(seeds) > most:
            raise self.error(f"got {len(seeds)} seeds for max_num_vertices={most}")
        if len(seeds) and not 0 <= seeds.min() <= seeds.max() < graph.shape[0]:
            raise self.error(f"got seeds {seeds.min()} to {seeds.max()} in a graph of {graph.shape[0]} vertices")
        if weights is not None and len(weights) != graph.shape[1]:
            raise self.error(f"got {len(weights)} probabilities for a graph of {graph.shape[1]} vertices")
        far = dict.fromkeys(seeds.tolist(), 0)
        queue, taken = list(far), {}
        for v in queue:  # grows
            if len(far) >= most:
                break
            if far[v] >= self.num_hops:
                continue
            row = slice(*graph.indptr[v : v + 2])
            columns, ids = np.asarray(graph.indices[row]), graph.data[row]
            if len(columns) > self.num_neighbor:
                keys = rng.standard_exponential(len(columns))
                if weights is not None:
                    with np.errstate(divide="ignore"):
                        keys = keys / weights[columns]
                chosen = np.sort(np.argsort(keys, kind="stable")[: self.num_neighbor])
                columns, ids = columns[chosen], ids[chosen]
            taken[v] = columns, ids
            for neighbour in columns.tolist():
                if len(far) >= most:
                    break
                if neighbour not in far:
                    far[neighbour] = far[v] + 1
                    queue.append(neighbour)
        order = sorted(far)
        vertices, distances = np.zeros(most + 1, seeds.dtype), np.zeros(most, seeds.dtype)
        vertices[: len(order)], vertices[-1] = order, len(order)
        distances[: len(order)] = [far[v] for v in order]
        none = np.zeros(0, np.int64), graph.data[:0]
        edges = [taken.get(v, none) for v in order]
        starts = np.concatenate([[0], np.cumsum([len(c) for c, _ in edges]), np.zeros(most - len(order))]).astype(
            np.int64
        )
        starts[len(order) :] = starts[len(order)]
        parts = [np.concatenate(part) for part in zip(*edges)]
        columns, ids = parts or none
        return vertices, CSR(ids, starts, columns, (most, graph.shape[1])), distances


@op("_contrib_dgl_csr_neighbor_uniform_sample")
class UniformSample(_Sample):
    __doc__ = (_Sample.__doc__ or "").replace("{then for each }", "") + (
        "\n\n    All edges of a vertex are equally likely. Source: MXNet dgl_csr_neighbor_uniform_sample."
    )

    def infer_type(self, graph, *seeds):
        self.want_whole(graph, *seeds)
        return [*seeds, *[graph] * len(seeds), *seeds]

    def compute_sparse(self, graph, *seeds, rng):
        found = [self._search(graph, s, rng) for s in seeds]
        return [each[i] for i in range(3) for each in found]

    @classmethod
    def examples(cls, make):
        graph = make.array(np.arange(25).reshape(5, 5), "int64")
        yield make(graph, make.array([0, 3], "int64"), num_hops=2, num_neighbor=2, max_num_vertices=5)


@op("_contrib_dgl_csr_neighbor_non_uniform_sample")
class NonUniformSample(_Sample):
    __doc__ = (_Sample.__doc__ or "").replace("*seeds", "probability (n,), *seeds").replace(
        "{then for each }", "then for each the vertices' probabilities (max_num_vertices,); "
    ) + (
        "\n\n    Edges are as likely as the vertices that they lead to. Source: MXNet dgl_csr_neighbor_non_uniform_sample."
    )

    ahead = 2

    def infer_type(self, graph, probability, *seeds):
        self.want_whole(graph, *seeds)
        return [*seeds, *[graph] * len(seeds), *[probability] * len(seeds), *seeds]

    def compute_sparse(self, graph, probability, *seeds, rng):
        found = []
        for each in seeds:
            vertices, edges, distances = self._search(graph, each, rng, probability)
            chances = np.zeros(self.max_num_vertices, probability.dtype)
            count = vertices[-1]
            chances[:count] = probability[vertices[:count]]
            found.append((vertices, edges, chances, distances))
        return [each[i] for i in range(4) for each in found]

    @classmethod
    def examples(cls, make):
        graph = make.array(np.arange(25).reshape(5, 5), "int64")
        seeds = make.array([0, 3], "int64")
        yield make(graph, make.uniform(5, low=0), seeds, num_hops=2, num_neighbor=2, max_num_vertices=5)


@op("_sparse_retain")
class Retain(Op):
    """data with the rows that indices name, and zeros for all others. Shapes: data (n, ...), indices (k,) -> as data.

    ``nd.sparse.retain`` gives a row_sparse array of these rows. Source: MXNet sparse_retain."""

    meanings = {"indices": "Rows to keep, whole numbers."}

    exception = "asks which places a sparse array stores"

    inputs = ("data", "indices")

    def infer_input_types(self, dtypes, outputs):
        return [dtypes[0] or outputs[0], dtypes[1]]

    def infer_input_shapes(self, shapes, outputs):
        return [merge(shapes[0], outputs[0]), shapes[1]]

    def infer_shape(self, data, indices):
        if not data:
            raise self.error("got data without dimensions, wanted rows")
        want_rank(self, indices, 1, what="indices")
        return data

    def domain(self, name, shapes):
        if name == "indices" and shapes[0] and shapes[0][0] is not UNKNOWN:
            return Domain(0, shapes[0][0] - 1, integer=True)
        return None

    def compute(self, data, indices):
        rows, out = indices.astype(np.int64), np.zeros_like(data)
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(data):
            raise self.error(f"got rows {rows.min()} to {rows.max()} of {len(data)}")
        out[rows] = data[rows]
        return out

    def compute_stored(self, data, indices):
        if not isinstance(data, RowSparse) or not isinstance(indices, np.ndarray):
            return None
        rows = indices.astype(np.int64)
        if len(rows) and not 0 <= rows.min() <= rows.max() < data.shape[0]:
            raise self.error(f"got rows {rows.min()} to {rows.max()} of {data.shape[0]}")
        if len(once := np.unique(rows, return_index=True)[1]) < len(rows):
            rows = rows[np.sort(once)]  # in the order in which they are first named
        return RowSparse(take_rows(data, rows), rows, data.shape)

    def gradient(self, F, dy, data, indices, y):
        return F._sparse_retain(dy, indices), None

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(5, 3), make.array([0, 3]))
        yield make(make.uniform(4), make.array([2, 1], "int64"))
