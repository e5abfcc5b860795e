"""Decision trees in compiled graphs, as inputs: the operators of ai.onnx.ml (onnx/ml_tree.py) hold theirs in attributes."""

from typing import Literal

import numpy as np

from ..core.attrs import Count
from ..core.op import Op, op
from ..core.shapes import show
from .common import want_rank
from .onnx.ml_tree import LEAF, Aggregate, Forest

INT64, UINT8, FLOAT, BOOL = map(np.dtype, ("int64", "uint8", "float32", "bool"))


@op("_fused_forest")
class ForestScores(Op):
    """Sums over the leaves that a row arrives at in all trees, and which results any of them added to.

    Nodes are numbered through, leaves included: what they compare (feature, mode, value; missing: NaN takes the branch yes), where
    they branch to, and for leaves which results (-1: none) they add how much to.
    Shapes: data (N, F), feature, mode, value, missing, yes, no (M,), roots (T,), targets, weights (M, P) -> (N, count) twice."""

    count: Count
    aggregate: Aggregate = "SUM"

    exception = "walks trees"

    inputs = ("data", "feature", "mode", "value", "missing", "yes", "no", "roots", "targets", "weights")
    parameters = frozenset(inputs[1:])

    def output_names(self):
        return ("scores", "given")

    def infer_shape(self, data, feature, *others):
        want_rank(self, data, 2, what="data")
        *nodes, roots, targets, weights = others
        want_rank(self, roots, 1, what="roots")
        want_rank(self, targets, 2, what="targets")
        if any(s != feature for s in nodes) or targets[:1] != feature or weights != targets:
            raise self.error(f"got {', '.join(map(show, (feature, *others)))}, wanted as many of all for each node")
        return [(data[0], self.count)] * 2

    def infer_type(self, *dtypes):
        wanted = (FLOAT, INT64, UINT8, FLOAT, BOOL, INT64, INT64, INT64, INT64, FLOAT)
        for name, got, dtype in zip(self.inputs, dtypes, wanted):
            if got is not None and got != dtype:
                raise self.error(f"got {name} of dtype {got}, wanted {dtype}")
        return [FLOAT, BOOL]

    def infer_input_types(self, dtypes, outputs):
        return list(dtypes)

    def compute(self, data, *parts):
        feature, mode, targets = parts[0], parts[1], parts[7]
        asked = feature[mode != LEAF]
        if asked.size and not 0 <= asked.min() <= asked.max() < data.shape[1]:
            raise self.error(f"got features {asked.min()} to {asked.max()}, wanted some below {data.shape[1]}")
        if targets.max(initial=-1) >= self.count:
            raise self.error(f"got result {targets.max()}, wanted some below {self.count}")
        return Forest._make((*parts, {})).validated(self).scores(data, self.count, self.aggregate)

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        feature, yes, no = (make.array(v, "int64") for v in ([0, 2, 0, 0, 0], [1, 2, 2, 3, 4], [4, 3, 2, 3, 4]))
        mode = make.array([0, 3, LEAF, LEAF, LEAF], "uint8")
        targets = make.array([[-1, -1], [-1, -1], [0, 2], [1, -1], [2, -1]], "int64")
        missing = make.array([1, 0, 0, 0, 0], "bool")
        parts = make.uniform(5), missing, yes, no, make.array([0, 1], "int64"), targets, make.uniform(5, 2)
        aggregates: tuple[Literal["SUM", "MAX"], ...] = ("SUM", "MAX")
        for aggregate in aggregates:
            yield make(make.uniform(6, 3), feature, mode, *parts, count=3, aggregate=aggregate)
