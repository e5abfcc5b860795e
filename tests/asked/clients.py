"""Finds of client packages' own tests: sparse arrays given to hybridized networks, arrays put in the place of parameters'."""

from __future__ import annotations

import numpy as np

from .questions import ask, numbers


def sums(mx, attribute):
    """Network of words, given as rows of counts, with one weight."""

    class Words(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.weight = self.params.get("weight", shape=(5, 3), grad_stype=attribute)

        def hybrid_forward(self, F, words, weight):  # noqa: N803
            return F.sparse.dot(words, weight)

    return Words()


@ask
def counts_in_hybridized_networks(mx, folder):
    found = []
    for attribute in ("default", "row_sparse"):
        for hybrid in (False, True):
            net = sums(mx, attribute)
            net.initialize()
            net.weight.set_data(mx.nd.array(numbers(5, 3)))
            if hybrid:
                net.hybridize()
            for rows, columns in (([0, 1], [0, 4]), ([0, 0], [2, 3])):
                words = mx.nd.sparse.csr_matrix(([1.0, 0.5], (rows, columns)), shape=(2, 5), dtype="float32")
                with mx.autograd.record():
                    y = net(words)
                y.backward()
                found.append([y, net(words), net.weight.grad().tostype("default")])
    return found


@ask
def parts_in_the_place_of_parameters(mx, folder):
    x, stack = mx.nd.array(numbers(2, 4)), mx.nd.array(numbers(3, 5, 4))
    found = []
    for flags in ({}, {"static_alloc": True, "static_shape": True}):
        net = mx.gluon.nn.Dense(5, in_units=4, use_bias=False)
        net.initialize()
        net.hybridize(**flags)
        net(x).wait_to_read()
        for i in (0, 1, 2, 2, 0):
            net.weight._data[0] = stack[i]
            found.append([net(x), net(x)])
    return found


@ask
def dtypes_of_sparse_matrices(mx, folder):
    at = ([0, 1, 1], [0, 3, 3])
    sources = [[1.0, 0.5, 2.0], [1, 2, 3], mx.nd.array([1, 2, 3])]
    sources += [np.array([1, 2, 3], dtype=d) for d in ("float16", "float32", "float64", "int8", "int32")]
    made = [mx.nd.sparse.csr_matrix((s, at), shape=(2, 5)) for s in sources]
    made += [mx.nd.sparse.csr_matrix((s, at), shape=(2, 5), dtype="float32") for s in sources]
    made += [mx.nd.sparse.csr_matrix((s, [0, 3, 4], [0, 1, 3]), shape=(2, 5)) for s in sources[:1] + sources[4:]]
    return [[np.dtype(m.dtype).name, m.tostype("default")] for m in made]
