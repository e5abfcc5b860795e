"""The base of the operators of the family ``_onnx_``: optional inputs, and inputs whose values decide about shapes."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, overload

import numpy as np

from ...core.attrs import name_of
from ...core.boxed import unbox
from ...core.error import OpError
from ...core.op import Op
from ...core.shapes import Shape, broadcast
from ..common import fit, spread, want_one

BOOL, FLOAT32, INT64 = np.dtype(bool), np.dtype(np.float32), np.dtype(np.int64)
OBJECT = np.dtype(object)
"""The dtype of words, and of what is no tensor (see hold)."""


class Standard(Op):
    """Base of the family. Rules get one argument per entry of ``inputs`` - None for an optional one that is not there.

    Write ``meaning`` for compute, ``shape`` for infer_shape and ``dtype`` for infer_type; compute, infer_shape and
    infer_type themselves only put what arrives in its place. An operator with any number of inputs
    (``inputs = ("*data",)``) gets them all."""

    given: tuple[str, ...] = ()
    """Names of the optional inputs that are there."""

    left_open = ("shape", "dtype", "gives", "optional", "partial", "numbers", "named_axes", "spreads", "types")

    optional: ClassVar[tuple[str, ...]] = ()
    """Names of inputs that may be left out."""
    partial: ClassVar[bool] = False
    """True when ``shape`` copes with values of which only some are known: object arrays that hold UNKNOWN for the others."""

    def check(self):
        wrong = [n for n in self.given if n not in self.optional]
        if wrong:
            return f"got given={self.given}, wanted some of {', '.join(self.optional) or 'none'}"
        return None

    def input_names(self):
        if self.inputs[:1] and self.inputs[0].startswith("*"):
            return super().input_names()
        return tuple(n for n in self.inputs if n not in self.optional or n in self.given)

    def by_input(self, values: Sequence[Any]) -> list[Any]:
        """One value per entry of ``inputs``, from one per entry of ``input_names()``."""
        if not self.optional:
            return list(values)
        there = dict(zip(self.input_names(), values))
        return [there.get(n) for n in self.inputs]

    numbers: ClassVar[tuple[str, ...]] = ()
    """Names of inputs that are single numbers: arrays of one element, of any rank."""
    named_axes: ClassVar[Mapping[str, str]] = {}
    """Names of the axes of inputs, where those of one name have one size: see common.fit."""
    spreads: ClassVar[tuple[str, ...]] = ()
    """Names of inputs that broadcast to the (first) output."""
    types: ClassVar[Mapping[str, Collection[str]]] = {}
    """Dtypes that inputs and outputs may have, by their names; those named together have one. From ONNX's schemas: types.py."""

    collects: ClassVar[bool] = False
    """True where inputs may be sequences and maps."""

    # -- what an operator writes ---------------------------------------------------------------------------------------

    def meaning(self, *arrays: Any, **options: Any) -> Any:
        """The results, in NumPy; see Op.compute."""
        raise NotImplementedError

    def shape(self, *shapes: Any, **options: Any) -> Any:
        """See Op.infer_shape; a result may be None (rank not known). With "values" in ``uses``, gets ``values``: one array or None
        per entry of ``inputs``."""
        raise NotImplementedError

    def dtype(self, *dtypes: Any) -> Any:
        """See Op.infer_type; by default all outputs have the dtype of the first input."""
        return dtypes[0] if len(self.output_names()) == 1 else [dtypes[0]] * len(self.output_names())

    def gives(self, *dtypes: Any) -> Any:
        """Dtypes of the outputs: the method ``dtype``, by a name that operators with an attribute dtype leave free."""
        return self.dtype(*dtypes)

    # -- Op ------------------------------------------------------------------------------------------------------------

    def compute(self, *arrays, **options):
        for name, array in zip(self.input_names(), arrays):
            if (
                array.dtype == OBJECT
                and not array.ndim
                and not isinstance(unbox(array), str | bytes)
                and not self.collects
            ):
                raise self.error(f"got {name} that is a sequence, a map or nothing, wanted a tensor")
        # one number of any rank, which must not lend it to the result
        plain = [a.reshape(()) if a.ndim > 1 and n in self.numbers else a for n, a in zip(self.input_names(), arrays)]
        return self.meaning(*self.by_input(plain), **options)

    def infer_shape(self, *shapes, **options):
        if "values" in self.needs:
            options["values"] = self.by_input(options.get("values") or [None] * len(shapes))
        named = dict(zip(self.input_names(), shapes))
        for name in self.numbers:
            if name in named:
                want_one(self, named[name], name)
        fit(self, self.named_axes, named)
        found = self.shape(*self.by_input(shapes), **options)
        first = found[0] if isinstance(found, list) else found
        for name in self.spreads:
            if name in named and first is not None:
                spread(self, named[name], first)
        return found

    def infer_type(self, *dtypes):
        self.want_types(self.input_names(), dtypes)
        found = self.gives(*self.by_input(dtypes))
        self.want_types(self.output_names(), found if isinstance(found, list) else [found])
        return found

    def want_types(self, names: Sequence[str], dtypes: Sequence[np.dtype | None]) -> None:
        """Raise OpError unless inputs or outputs of these names have dtypes that ``types`` allows."""
        named = {n: name_of(d) for n, d in zip(names, dtypes) if d is not None}
        for group, allowed in self.types.items():
            there = {n: d for n, d in named.items() if n in group.split() or (group[0] == "*" and n.startswith("arg"))}
            for name, got in there.items():
                if got not in allowed:
                    raise self.error(f"got {name} of dtype {got}, wanted {' or '.join(sorted(allowed))}")
            if len(set(there.values())) > 1:
                told = ", ".join(f"{name} of dtype {got}" for name, got in there.items())
                raise self.error(f"got {told}, wanted one dtype; cast one of them")

    def infer_input_types(self, dtypes, outputs, **_options):
        return dtypes

    def infer_input_shapes(self, shapes, outputs, **_options):
        return shapes


class Collected(Standard):
    """Base of operators that take or give what is no array: sequences, optionals, maps. They have no examples, which are of
    arrays."""

    collects = True


class Pointwise(Standard):
    """Base of operators whose output has the shape of its inputs broadcast."""

    def shape(self, *shapes):
        return broadcast(*shapes)


class LikeInputs(Standard):
    """Base of operators whose outputs are gradients of inputs, which have the inputs' names, shapes and dtypes."""

    def infer_shape(self, *shapes, **_options):
        named = dict(zip(self.input_names(), shapes))
        return [named[n] for n in self.output_names()]

    def infer_type(self, *dtypes):
        self.want_types(self.input_names(), dtypes)
        return self.infer_shape(*dtypes)


@overload
def ints(values: np.ndarray) -> Shape: ...
@overload
def ints(values: None) -> None: ...
def ints(values: np.ndarray | None) -> Shape | None:
    """The whole numbers of a 0-d or 1-d array; None for None. What stands in an array of objects for a number that is not
    known, such as UNKNOWN, stays. Raises OpError for other numbers than whole ones."""
    if values is None:
        return None
    flat = np.asarray(values).reshape(-1)
    if flat.dtype.kind not in "iubO":
        raise OpError(f"got axes or sizes of dtype {flat.dtype}, wanted whole numbers")
    return tuple(v if flat.dtype == object and not isinstance(v, int) else int(v) for v in flat)
