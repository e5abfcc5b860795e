"""Operators that ask which entries a csr array stores, with what MXNet 1.9.1 gave."""

import numpy as np
import pytest

import hybrid as mx
from hybrid import nd
from hybrid.core.error import MXNetError

GRAPH = (
    np.array([1, 2, 3, 4, 5, 6, 7]),
    np.array([0, 3, 0, 2, 1, 1, 2]),
    np.array([0, 2, 4, 5, 7]),
)
"""Edges (values), neighbours (columns), starts of rows."""
FULL = (np.arange(1, 21), np.array([[j for j in range(5) if j != i] for i in range(5)]).ravel(), np.arange(0, 21, 4))


def graph(parts=GRAPH):
    size = len(parts[2]) - 1
    return nd.sparse.csr_matrix(tuple(p.astype(np.int64) for p in parts), shape=(size, size), dtype=np.int64)


def ids(*values):
    return nd.array(values, dtype=np.int64)


def parts(array):
    return [p.asnumpy().tolist() for p in (array.data, array.indices, array.indptr)]


def test_stored_zeros_count():
    csr = nd.sparse.csr_matrix(([1, 2, 0, 4.0], [0, 2, 1, 2], [0, 2, 3, 4, 4]), shape=(4, 4))
    assert nd.contrib.getnnz(csr).asnumpy().tolist() == [4]
    assert nd.contrib.getnnz(csr, axis=1).asnumpy().tolist() == [2, 1, 1, 0]
    assert nd.contrib.getnnz(csr, axis=0).asnumpy().tolist() == [1, 1, 2, 0]
    out = nd.zeros((4,), dtype="int64")
    assert nd.contrib.getnnz(csr, axis=1, out=out) is out and out.asnumpy().tolist() == [2, 1, 1, 0]
    for wrong in (nd.zeros((4,)), nd.zeros((1,), dtype="int64"), [out, out]):
        with pytest.raises(MXNetError, match="wanted"):
            nd.contrib.getnnz(csr, axis=1, out=wrong)
    found = nd.contrib.edge_id(csr, nd.array([0, 0, 1, 3]), nd.array([0, 1, 1, 3]))
    assert found.asnumpy().tolist() == [1, -1, 0, -1]
    dense = csr.tostype("default")  # which stores what is not zero
    assert nd.contrib.getnnz(dense, axis=1).asnumpy().tolist() == [2, 0, 1, 0]
    found = nd.contrib.edge_id(dense, nd.array([0, 0, 1, 3]), nd.array([0, 1, 1, 3]))
    assert found.asnumpy().tolist() == [1, -1, -1, -1]
    with pytest.raises(MXNetError, match="vertex 4 of a graph of 4"):
        nd.contrib.edge_id(csr, nd.array([4]), nd.array([0]))


def test_adjacency():
    found = nd.contrib.dgl_adjacency(graph())
    assert (found.stype, found.dtype) == ("csr", np.float32)
    assert parts(found) == [[1.0] * 7, GRAPH[1].tolist(), GRAPH[2].tolist()]
    with pytest.raises(MXNetError, match="wanted int64"):
        nd.contrib.dgl_adjacency(graph().astype(np.float32))


def test_subgraphs():
    new, old, new2, old2 = (
        nd.contrib.dgl_subgraph(graph(), ids(0, 1, 2), ids(1, 3), return_mapping=True)[i] for i in (0, 2, 1, 3)
    )
    assert parts(new) == [[0, 1, 2, 3], [0, 0, 2, 1], [0, 1, 3, 4]]
    assert parts(old) == [[1, 3, 4, 5], [0, 0, 2, 1], [0, 1, 3, 4]]
    assert (parts(new2), parts(old2)) == ([[0], [0], [0, 0, 1]], [[6], [0], [0, 0, 1]])
    assert nd.contrib.dgl_subgraph(graph(), ids(3), return_mapping=False).shape == (1, 1)
    with pytest.raises(MXNetError, match="rising order"):
        nd.contrib.dgl_subgraph(graph(), ids(2, 0), return_mapping=False)


def test_neighbourhoods_that_are_taken_whole():
    sample = nd.contrib.dgl_csr_neighbor_uniform_sample
    attrs = {"num_hops": 2, "num_neighbor": 5, "max_num_vertices": 5}
    first, second, edges, edges2, layers, layers2 = sample(graph(), ids(0), ids(2), **attrs)
    assert first.asnumpy().tolist() == [0, 1, 2, 3, 0, 4]
    assert second.asnumpy().tolist() == [0, 1, 2, 0, 0, 3]
    assert parts(edges) == [[1, 2, 6, 7], [0, 3, 1, 2], [0, 2, 2, 2, 4, 4]]
    assert parts(edges2) == [[3, 4, 5], [0, 2, 1], [0, 0, 2, 3, 3, 3]]
    assert layers.asnumpy().tolist() == [0, 2, 2, 1, 0]
    assert layers2.asnumpy().tolist() == [2, 1, 0, 0, 0]


def test_search_ends_with_enough_vertices():
    sample = nd.contrib.dgl_csr_neighbor_uniform_sample
    found = sample(graph(FULL), ids(0), num_hops=2, num_neighbor=9, max_num_vertices=3)
    assert found[0].asnumpy().tolist() == [0, 1, 2, 3]
    assert parts(found[1]) == [[1, 2, 3, 4], [1, 2, 3, 4], [0, 4, 4, 4]]
    none = sample(graph(FULL), ids(*range(5)), num_hops=1, num_neighbor=2, max_num_vertices=5)
    assert parts(none[1]) == [[], [], [0] * 6]
    with pytest.raises(MXNetError, match="5 seeds for max_num_vertices=4"):
        sample(graph(FULL), ids(*range(5)), max_num_vertices=4)


def test_as_many_neighbours_as_asked_for_are_drawn():
    mx.random.seed(1)
    drawn = set()
    for _ in range(40):
        _, edges, layers = nd.contrib.dgl_csr_neighbor_uniform_sample(
            graph(FULL), ids(0), num_neighbor=2, max_num_vertices=6
        )
        values, columns, starts = parts(edges)
        assert values == columns  # in the first row edge i leads to vertex i
        assert starts[1:] == [2] * 6
        assert layers.asnumpy().tolist()[:3] == [0, 1, 1]
        drawn.add(tuple(columns))
    assert len(drawn) == 6


def test_likely_neighbours_are_drawn_more_often():
    mx.random.seed(1)
    chances = nd.array([0.5, 0.9, 0.0, 0.1, 0.0])
    count = np.zeros(5, int)
    for _ in range(100):
        found = nd.contrib.dgl_csr_neighbor_non_uniform_sample(
            graph(FULL), chances, ids(0), num_neighbor=1, max_num_vertices=3
        )
        count[parts(found[1])[1]] += 1
        known = found[0].asnumpy()[:2]
        np.testing.assert_array_equal(found[2].asnumpy()[:2], chances.asnumpy()[known])
    assert count[1] > count[3] > 0 == count[2]


def test_compacting():
    vertices, edges, _ = nd.contrib.dgl_csr_neighbor_uniform_sample(graph(), ids(1), num_neighbor=5, max_num_vertices=4)
    new, old = nd.contrib.dgl_graph_compact(edges, vertices, graph_sizes=3, return_mapping=True)
    assert (new.shape, parts(new)) == ((3, 3), [[0, 1], [0, 2], [0, 0, 2, 2]])
    assert parts(old) == [[3, 4], [0, 2], [0, 0, 2, 2]]
    with pytest.raises(MXNetError, match="for size 2"):
        nd.contrib.dgl_graph_compact(edges, vertices, graph_sizes=2, return_mapping=False)


def test_graphs_that_do_not_fit_are_refused():
    """One problem at a time; what lies just before is taken."""
    sample, weighted = nd.contrib.dgl_csr_neighbor_uniform_sample, nd.contrib.dgl_csr_neighbor_non_uniform_sample
    compact, part = nd.contrib.dgl_graph_compact, nd.contrib.dgl_subgraph
    vertices, edges, _ = sample(graph(), ids(1), num_neighbor=5, max_num_vertices=4)  # vertices 0, 1 and 2
    floats = nd.sparse.csr_matrix(tuple(p.astype(np.int64) for p in GRAPH), shape=(4, 4), dtype=np.float32)
    chances = nd.array([0.5, 0.25, 0.125, 1])
    small = {"num_neighbor": 2, "max_num_vertices": 3}
    for call, words in (
        (lambda: sample(graph(), ids(4), **small), "seeds 4 to 4 in a graph of 4"),
        (lambda: sample(graph(), ids(1, -1), **small), "seeds -1 to 1 in a graph of 4"),
        (lambda: sample(floats, ids(1), **small), "wanted int64"),
        (lambda: sample(graph(), nd.array([1]), **small), "wanted int64"),
        (lambda: weighted(graph(), chances[:3], ids(1), **small), "3 probabilities for a graph of 4"),
        (lambda: compact(edges, vertices[:4], graph_sizes=3, return_mapping=False), "in 4 places for size 3"),
        (
            lambda: compact(edges, ids(0, 1, 4, 0, 3), graph_sizes=3, return_mapping=False),
            "vertices 0 to 4 of a graph of 4",
        ),
        (lambda: compact(edges, ids(0, 1, 3, 0, 3), graph_sizes=3, return_mapping=False), "not in the graph"),
        (
            lambda: compact(edges, ids(0, -1, 2, 0, 3), graph_sizes=3, return_mapping=False),
            "vertices -1 to 2 of a graph of 4",
        ),
        (lambda: part(graph(), ids(0, 4), return_mapping=False), "below 4"),
        (lambda: part(graph(), ids(-1, 0), return_mapping=False), "below 4"),
        (lambda: part(graph(), nd.array([0, 1]), return_mapping=False), "int64"),
    ):
        with pytest.raises(MXNetError, match=words):
            call().asnumpy() if not isinstance(call(), list) else [a.asnumpy() for a in call()]
    found = weighted(graph(), chances, ids(1, 3), num_neighbor=2, max_num_vertices=4)
    assert found[0].asnumpy().tolist() == [0, 1, 2, 3, 4]
    assert sample(graph(), ids(3), **small)[0].asnumpy().tolist() == [1, 2, 3, 3]  # exactly as many as fit


def test_none_of_a_graph():
    """No seeds have no neighbours; no vertices are a part without edges; a vertex twice is none more."""
    attrs = {"num_neighbor": 2, "max_num_vertices": 3}
    vertices, edges, layers = nd.contrib.dgl_csr_neighbor_uniform_sample(graph(), ids(), **attrs)
    assert (vertices.asnumpy().tolist(), layers.asnumpy().tolist()) == ([0] * 4, [0] * 3)
    assert (parts(edges), edges.shape) == ([[], [], [0] * 4], (3, 4))
    alone = nd.contrib.dgl_csr_neighbor_uniform_sample(
        graph(), ids(1, 1), num_hops=1, num_neighbor=2, max_num_vertices=9
    )
    assert alone[0].asnumpy().tolist() == [0, 1, 2] + [0] * 6 + [3]
    none = nd.contrib.dgl_subgraph(graph(), ids(), return_mapping=False)
    assert (none.shape, parts(none)) == ((0, 0), [[], [], [0]])
    both = nd.contrib.dgl_subgraph(graph(), ids(0, 1), ids(2), return_mapping=True)
    assert [a.shape for a in both] == [(2, 2), (1, 1), (2, 2), (1, 1)]
    _, edges, _ = nd.contrib.dgl_csr_neighbor_uniform_sample(graph(), ids(), max_num_vertices=4)
    nothing = nd.sparse.zeros("csr", (0, 4), dtype="int64")
    with pytest.raises(MXNetError):
        nd.contrib.dgl_graph_compact(nothing, nd.zeros((0,), dtype="int64"), graph_sizes=0, return_mapping=False)
    empty = nd.contrib.dgl_graph_compact(edges, ids(0, 0, 0, 0, 0), graph_sizes=0, return_mapping=False)
    assert (empty.shape, parts(empty)) == ((0, 0), [[], [], [0]])


def test_two_graphs_are_made_compact_at_once():
    sample = nd.contrib.dgl_csr_neighbor_uniform_sample
    first, second, edges, edges2, *_ = sample(graph(), ids(1), ids(3), num_neighbor=5, max_num_vertices=4)
    sizes = (int(first.asnumpy()[-1]), int(second.asnumpy()[-1]))
    new, new2, old, old2 = nd.contrib.dgl_graph_compact(
        edges, edges2, first, second, graph_sizes=sizes, return_mapping=True
    )
    assert sizes == (3, 3)
    assert (parts(new), parts(old)) == ([[0, 1], [0, 2], [0, 0, 2, 2]], [[3, 4], [0, 2], [0, 0, 2, 2]])
    # vertices 1, 2 and 3: 3 is next to 1 and 2
    assert (parts(new2), parts(old2)) == ([[0, 1], [0, 1], [0, 0, 0, 2]], [[6, 7], [0, 1], [0, 0, 0, 2]])


def test_symbols_take_what_is_not_zero_for_stored():
    out = mx.sym.contrib.edge_id(mx.sym.var("data"), mx.sym.var("u"), mx.sym.var("v"))
    found = out.eval(data=nd.array([[1, 0], [0, 3]]), u=nd.array([0, 0, 1]), v=nd.array([0, 1, 1]))[0]
    assert found.asnumpy().tolist() == [1, -1, 3]


def test_rows_of_symbols_are_retained():
    out = mx.sym.sparse.retain(mx.sym.var("data"), mx.sym.var("indices"))
    found = out.eval(data=nd.array([[1, 2], [3, 4], [5, 6]]), indices=nd.array([0, 2]))[0]
    assert found.asnumpy().tolist() == [[1, 2], [0, 0], [5, 6]]
