"""Parts of support vector machines and tables in compiled graphs, with their numbers as inputs: the operators of ai.onnx.ml
(onnx/ml_machine.py, ml_feature.py) hold theirs in attributes."""

import numpy as np

from ..core.attrs import Count
from ..core.op import Op, op
from ..core.shapes import show
from .common import want_rank
from .onnx.ml_feature import places_of
from .onnx.ml_machine import distances, probabilities, vote

INT64, FLOAT = np.dtype("int64"), np.dtype("float32")


class _Floats(Op):
    """Base of what takes and gives float32, but for the inputs named in ``whole``, of int64."""

    left_open = ("whole",)
    whole = frozenset[str]()

    def infer_type(self, *dtypes):
        for name, got in zip(self.inputs, dtypes):
            wanted = INT64 if name in self.whole else FLOAT
            if got is not None and got != wanted:
                raise self.error(f"got {name} of dtype {got}, wanted {wanted}")
        return FLOAT

    def infer_input_types(self, dtypes, outputs):
        return list(dtypes)

    def gradient(self, F, dy, *arrays):
        return None


@op("_fused_distances")
class SquaredDistances(_Floats):
    """Squares of the distances of rows from vectors. Shapes: data (N, F), vectors (V, F) -> (N, V)."""

    exception = "rounds differences, which products do not"

    inputs = ("data", "vectors")
    parameters = frozenset({"vectors"})

    def infer_shape(self, data, vectors):
        want_rank(self, data, 2, what="data")
        want_rank(self, vectors, 2, what="vectors")
        if data[1:] != vectors[1:]:
            raise self.error(f"got {show(data)} and {show(vectors)}, wanted as many features")
        return (data[0], vectors[0])

    def compute(self, data, vectors):
        return distances(data, vectors)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(5, 3), make.uniform(20, 3))
        yield make(make.uniform(2, 19), make.uniform(4, 19))


@op("_fused_pairs")
class PairwiseVotes(_Floats):
    """Scores of the machines for each pair of C classes, and the class that most of them vote for, the first of several.

    near: likeness to the vectors, those of class c from starts[c] on. Row j - 1 of the coefficients has the weights of the vectors
    of a class i < j against j, row i those of j against i.
    Shapes: near (N, V), coefficients (C - 1, V), starts (C + 1,), offsets (pairs,) -> scores (N, pairs), best (N,), int64."""

    exception = "counts votes"

    inputs = ("near", "coefficients", "starts", "offsets")
    parameters = frozenset(inputs[1:])
    whole = frozenset({"starts"})

    def output_names(self):
        return ("scores", "best")

    def infer_shape(self, near, coefficients, starts, offsets):
        want_rank(self, near, 2, what="near")
        want_rank(self, starts, 1, what="starts")
        count = starts[0] - 1
        pairs = count * (count - 1) // 2
        if coefficients != (count - 1, near[1]) or offsets != (pairs,):
            got = ", ".join(map(show, (near, coefficients, starts, offsets)))
            raise self.error(f"got {got}, wanted coefficients and offsets for each pair of classes")
        return [(near[0], pairs), (near[0],)]

    def infer_type(self, *dtypes):
        return [super().infer_type(*dtypes), INT64]

    def compute(self, near, coefficients, starts, offsets):
        if starts[0] < 0 or starts[-1] > near.shape[1] or (np.diff(starts) < 0).any():
            raise self.error(f"got starts {starts.tolist()}, wanted ascending ones up to {near.shape[1]}")
        scores, votes = vote(near, coefficients, starts, offsets)
        return scores, votes.argmax(1)

    @classmethod
    def examples(cls, make):
        starts = make.array([0, 2, 2, 13], "int64")
        yield make(make.uniform(5, 13), make.uniform(2, 13), starts, make.uniform(3))


@op("_fused_coupling")
class CoupledProbabilities(_Floats):
    """Probabilities of C classes from the scores of the machines for their pairs, as libsvm couples them.

    Shapes: scores (N, pairs), prob_a, prob_b (pairs,) -> (N, count)."""

    count: Count

    exception = "iterates until it is near enough"

    inputs = ("scores", "prob_a", "prob_b")
    parameters = frozenset(inputs[1:])

    def infer_shape(self, scores, prob_a, prob_b):
        want_rank(self, scores, 2, what="scores")
        pairs = (self.count * (self.count - 1) // 2,)
        if scores[1:] != pairs or prob_a != pairs or prob_b != pairs:
            got = ", ".join(map(show, (scores, prob_a, prob_b)))
            raise self.error(f"got {got}, wanted a number for each of {pairs[0]} pairs")
        return (scores[0], self.count)

    def compute(self, scores, prob_a, prob_b):
        return probabilities(scores, prob_a, prob_b, self.count)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(5, 3), make.uniform(3, low=-2), make.uniform(3), count=3)


@op("_fused_places")
class PlacesOfKeys(Op):
    """The place of each number among keys, the last of equal ones, NaN being equal to NaN; -1 for others.

    Shapes: data X, keys (K,) -> X, int64."""

    exception = "looks up in a table"

    inputs = ("data", "keys")
    parameters = frozenset({"keys"})

    def infer_shape(self, data, keys):
        want_rank(self, keys, 1, what="keys")
        return data

    def infer_type(self, data, keys):
        if None not in (data, keys) and data != keys:
            raise self.error(f"got data of dtype {data} and keys of dtype {keys}, wanted one dtype")
        return INT64

    def infer_input_types(self, dtypes, outputs):
        return list(dtypes)

    def compute(self, data, keys):
        return places_of(data, keys)

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.array([[3, 1, 2], [5, 5, 0]], "int64"), make.array([1, 5, 3, 5], "int64"))
        yield make(make.array([np.nan, 0.5, -0.0]), make.array([0.0, np.nan, 0.25]))


@op("_fused_words")
class WordsOfPlaces(Op):
    """The word at each place of a table, counted from its end below 0. Shapes: data X, int64 -> X, words."""

    words: np.ndarray

    exception = "gives words"
    dresses = True

    def infer_shape(self, data):
        return data

    def infer_type(self, data):
        if data not in (None, INT64):
            raise self.error(f"got data of dtype {data}, wanted int64")
        return np.dtype(object)

    def infer_input_types(self, dtypes, outputs):
        return list(dtypes)

    def compute(self, data):
        try:
            found = self.words[data]
        except IndexError as error:
            raise self.error(f"got places {data.min()} to {data.max()} of {len(self.words)} words") from error
        return found if data.ndim else np.array(found, object)  # of no dimensions NumPy gives the word itself

    def gradient(self, F, dy, *arrays):
        return None

    @classmethod
    def examples(cls, make):
        yield make(make.array([[2, 0], [-1, 1]], "int64"), words=np.array(["a", "b", "c"], object))
