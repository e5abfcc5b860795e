"""Shapes and dtypes of a graph with its parameters, inferred once for each set of sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..core.op import Spec
from ..core.shapes import identical
from .graph import Entry, Graph
from .infer import Inference, infer
from .strict import refuse_counted


class _Found(NamedTuple):
    given: dict[str, Spec]
    """Knowledge of the inputs that it began with,"""
    whole: dict[str, Spec]
    """and all that follows for them."""
    inference: Inference


class Facts:
    """All that is inferred of a graph and its parameters, remembered by what is known of the inputs.

    default_dtype: that of variables which nothing decides; None for none."""

    def __init__(self, graph: Graph, params: Mapping[str, np.ndarray], default_dtype: Any = np.float32):
        self.graph, self.params, self.default_dtype = graph, params, default_dtype
        self._variables = {n.name: Entry(n) for n in graph.variables()}
        self._found: list[_Found] = []

    def infer(self, specs: Mapping[str, Spec]) -> Inference:
        """Shapes and dtypes of all tensors when this is known of the inputs; one that has the name of a parameter takes its place.

        Raises OpError, with the node's name, when they do not fit the graph."""
        given = {n: s for n, s in specs.items() if n in self._variables and not (s.shape is None and s.dtype is None)}
        for found in self._found:
            if _covers(given, found.given) and _covers(found.whole, given):  # nothing but what follows is said besides
                return found.inference
        stored = {n: a for n, a in self.params.items() if n not in given}
        known = {n: Spec(a.shape, a.dtype) for n, a in stored.items()} | given
        inference = infer(
            self.graph,
            {n: s.shape for n, s in known.items() if s.shape is not None},
            {n: s.dtype for n, s in known.items() if s.dtype is not None},
            default_dtype=self.default_dtype,
            values=stored,
        )
        refuse_counted(inference)
        whole = {n: inference.spec(e) for n, e in self._variables.items() if n not in stored}
        self._found.append(_Found(given, whole, inference))
        return inference


def _covers(known: Mapping[str, Spec], specs: Mapping[str, Spec]) -> bool:
    """True where all that the specs say is known."""
    return all(
        n in known
        and (spec.shape is None or identical(spec.shape, known[n].shape))
        and (spec.dtype is None or (known[n].dtype is not None and spec.dtype == known[n].dtype))
        for n, spec in specs.items()
    )
