"""Gradients of operators that are linear in some of their inputs, which is most of those that move, join or multiply arrays.

Such an operator says with ``adjoint`` how the gradient of its output comes back to an input, in NumPy. The decorator below
makes its gradient rule of that, and the rule of that rule: what is linear is differentiated by applying it again.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..core.attrs import Size
from ..core.forking import cached_property
from ..core.op import BACKWARD, DENSE, Op, Storage, op
from ..core.shapes import merge
from .common import as_array, as_forward_wants, types_as_forward_wants, want_answers, widen

T = TypeVar("T", bound=type[Op])


class Adjoint(Op):
    """Base of ``_backward_X``: the gradient of input ``of`` of the operator X, from that of its output and X's inputs.

    Of the input itself only shape and dtype count. Shapes: dy, X's inputs -> as that input."""

    of: Size = 0

    forward: ClassVar[type[Op]]
    """X,"""
    linear_in: ClassVar[tuple[int, ...]]
    """the inputs that it is linear in (none: all of them),"""
    jointly: ClassVar[bool]
    """whether that means all of them together (joining arrays) or one by one (products),"""
    homogeneous: ClassVar[dict[str, Any]]
    """and attributes with which X adds no constant, where it has them at all."""

    @cached_property
    def original(self) -> Op:
        """X with its attributes."""
        return self.forward.bind(**{name: getattr(self, name) for name in self.forward.fields})

    def input_names(self):
        return ("dy", *self.original.input_names())

    def infer_shape(self, dy, *shapes):
        return shapes[self.of]

    def infer_type(self, dy, *dtypes):
        return dtypes[self.of]

    def check(self):
        inputs = range(len(self.original.input_names()))
        places = [i for i in self.linear_in or inputs if i in inputs]
        return None if self.of in places else f"got of={self.of}, wanted one of {', '.join(map(str, places))}"

    def infer_input_shapes(self, shapes, outputs):
        filled = list(shapes)
        filled[1 + self.of] = merge(filled[1 + self.of], outputs[0])
        inputs, (dy, *_) = as_forward_wants(self.original, filled[1:], filled[:1])
        return [dy, *inputs]

    def infer_input_types(self, dtypes, outputs):
        filled = list(dtypes)
        filled[1 + self.of] = dtypes[1 + self.of] or outputs[0] or dtypes[0]
        inputs, (dy, *_) = types_as_forward_wants(self.original, filled[1:], filled[:1])
        return [dy, *inputs]

    def compute(self, dy, *arrays):
        if "values" in self.original.needs:  # that of the output is known now
            want_answers(self, self.original, arrays, {"dy": (dy, self.original.output_names()[0])})
        wide = [widen(a) for a in (dy, *arrays)]
        result = self.original.adjoint(self.of, *wide)  # type: ignore[attr-defined]
        return as_array(result).astype(arrays[self.of].dtype, copy=False)

    def infer_storage(self, stypes=(), shapes=(), result=()):
        return Storage("row_sparse") if getattr(self.original, "sparse_grad", False) else DENSE

    def compute_stored(self, dy, *arrays):
        rule = getattr(self.original, "adjoint_stored", None)
        return None if rule is None else rule(self.of, dy, *arrays)

    def gradient(self, F, ddx, dy, *arrays_and_dx):
        arrays, own = arrays_and_dx[:-1], self.of
        again = [*arrays[:own], ddx, *arrays[own + 1 :]]
        linear_in = self.linear_in or range(len(arrays))
        # a jointly linear operator is applied to ddx alone
        first = [F.zeros_like(a) if self.jointly and i in linear_in and i != own else a for i, a in enumerate(again)]
        attrs = self.original.dump()
        forward = getattr(F, self.forward.name)
        plain = {name: v for name, v in self.homogeneous.items() if getattr(self.original, name) is not None}
        found: list[Any] = [forward(*_place_inputs(self.original, first), **{**attrs, **plain})]
        for other in range(len(arrays)):
            if self.jointly or other == own or other not in linear_in:
                found.append(None)
            else:
                found.append(getattr(F, self.name)(dy, *_place_inputs(self.original, again), **attrs, of=other))
        return found


class JointAdjoint(Op):
    """Base of ``_backward_X`` for an operator X that joins its inputs: the gradients of all of them, from that of its output and
    X's inputs, of which only shape and dtype count. Shapes: dy, X's inputs -> as these."""

    view = True

    forward: ClassVar[type[Op]]

    @cached_property
    def original(self) -> Op:
        """X with its attributes."""
        return self.forward.bind(**{name: getattr(self, name) for name in self.forward.fields})

    def input_names(self):
        return ("dy", *self.original.input_names())

    def output_names(self):
        return self.original.input_names()

    def infer_shape(self, dy, *shapes):
        return list(shapes)

    def infer_type(self, dy, *dtypes):
        return list(dtypes)

    def infer_input_shapes(self, shapes, outputs):
        inputs, (dy, *_) = as_forward_wants(
            self.original, [merge(a, b) for a, b in zip(shapes[1:], outputs)], shapes[:1]
        )
        return [dy, *inputs]

    def infer_input_types(self, dtypes, outputs):
        filled = [a or b or dtypes[0] for a, b in zip(dtypes[1:], outputs)]
        inputs, (dy, *_) = types_as_forward_wants(self.original, filled, dtypes[:1])
        return [dy, *inputs]

    def compute(self, dy, *arrays):
        found = self.original.adjoints(dy, *arrays)  # type: ignore[attr-defined]
        return tuple(part.astype(a.dtype, copy=False) for part, a in zip(found, arrays, strict=True))

    def gradient(self, F, ddx, dy, *arrays_and_dx):
        again = ddx if isinstance(ddx, tuple) else (ddx,)
        return [getattr(F, self.forward.name)(*again, **self.original.dump()), *[None] * len(again)]


def _place_inputs(op: Op, arrays: Sequence[Any]) -> Sequence[Any]:
    """Arrays in the places that the names of all inputs have: with None for optional ones that are not there."""
    placed = getattr(op, "by_input", None)
    return arrays if placed is None else placed(arrays)


def linear(*inputs: int, jointly: bool = False, **homogeneous: Any) -> Callable[[T], T]:
    """Gives an operator its gradient rule (unless it has one), by its method ``adjoint(of, dy, *inputs)``.

    inputs: those that it is linear in, each for itself, or jointly; the others have no gradient. Without any it is linear in
    all of them. homogeneous: attributes with other values that take away a constant it adds (Pad's constant_value).
    """

    def decorate(cls: T) -> T:
        name = BACKWARD + cls.name
        variadic = cls.inputs[0].startswith("*")
        members = {
            "__doc__": f"The gradient of an input of {cls.name}.",
            "inputs": cls.inputs if variadic else ("dy", *cls.inputs),
            "forward": cls,
            "linear_in": inputs,
            "jointly": jointly,
            "homogeneous": homogeneous,
        }
        made = op(name)(type(f"{cls.__name__}Backward", (Adjoint,), members))
        made.fields = {**cls.fields, **made.fields}
        made.count = cls.count

        def gradient(self, F, dy, *arrays):
            given = arrays[: len(self.input_names())]
            attrs = self.dump()
            if variadic:
                attrs.setdefault(cls.count, str(len(given)))
            return [
                getattr(F, name)(dy, *_place_inputs(self, given), **attrs, of=i) if not inputs or i in inputs else None
                for i in range(len(given))
            ]

        if "gradient" not in cls.__dict__:
            cls.gradient = gradient  # type: ignore[method-assign]
        return cls

    return decorate


def joins(cls: T) -> T:
    """Gives an operator that joins any number of inputs, and is linear in all of them together, its gradient rule, by its method
    ``adjoints(dy, *inputs)``: one operator for the gradients of all of them, or each would ask all the others."""
    name = BACKWARD + cls.name
    members = {"__doc__": f"Gradients of the inputs of {cls.name}.", "inputs": cls.inputs, "forward": cls}
    made = op(name)(type(f"{cls.__name__}Backward", (JointAdjoint,), members))
    made.fields, made.count = cls.fields, cls.count

    def gradient(self, F, dy, *arrays):
        given = arrays[: len(self.input_names())]
        found = getattr(F, name)(dy, *given, **{**self.dump(), cls.count: str(len(given))})
        return [found] if len(given) == 1 else list(found)

    cls.gradient = gradient  # type: ignore[method-assign]
    return cls


def scatter_sum(values: np.ndarray, where: np.ndarray, size: int) -> np.ndarray:
    """Rows of values (n, ...) added up at their positions where (n,) in zeros (size, ...)."""
    out = np.zeros((size, *values.shape[1:]), values.dtype)
    if len(where):
        # by groups of equal positions: faster than np.add.at, which goes row by row
        order = np.argsort(where, kind="stable")
        places = where[order]
        starts = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))
        out[places[starts]] = np.add.reduceat(values[order], starts, axis=0)
    return out
