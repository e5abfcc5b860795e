"""Custom: operators written in Python by users (``mx.operator``), which registers here what it calls."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Protocol

import numpy as np

from ..core.attrs import Text
from ..core.error import MXNetError, OpError
from ..core.op import MISSING, Field, Op, op
from ..core.shapes import Undecided, from_legacy, is_known, merge, to_legacy

STATE = np.dtype(object)
"""The dtype of the hidden output that carries the Python object of a forward call to its backward call."""


class Adapter(Protocol):
    """A user's operator with its attributes, as this engine wants it."""

    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    states: tuple[str, ...]
    top: bool
    """True when the gradients depend on those of the outputs; not so for losses."""

    def infer_shape(self, shapes: list[list[int]]) -> tuple[list[Any], list[Any], list[Any]]:
        """Shapes of (arguments, outputs, states) from those of the arguments."""
        ...

    def infer_type(self, dtypes: list[type]) -> tuple[list[Any], list[Any], list[Any]]:
        """As infer_shape, for dtypes."""
        ...

    def forward(
        self, inputs: list[np.ndarray], outputs: list[np.ndarray], states: list[np.ndarray], training: bool
    ) -> object:
        """Fill the outputs; what it gives comes back in backward."""
        ...

    def lasting(self) -> "Adapter":
        """One that makes the user's object once and has it do all calls, for a bound executor."""
        ...


@contextlib.contextmanager
def _naming(op: Op, what: str) -> Iterator[None]:
    """``with`` block in which a user's code runs: what it raises is no fault of the engine, and says whose it is."""
    try:
        yield
    except (MXNetError, MemoryError):
        raise
    except Exception as error:
        raise op.error(f"{what} raised {type(error).__name__}: {error}") from error


KNOWN: dict[str, Callable[[dict[str, str]], Adapter]] = {}
"""By op_type, what makes the adapter from the other attributes."""


@op("Custom", "_npi_Custom")
class Custom(Op):
    """An operator that is written in Python and registered with ``mx.operator.register``.

    op_type is the name it was registered by. All other attributes are texts that its CustomOpProp is made with; inputs and
    outputs are those that this lists. Source: MXNet operator.CustomOpProp."""

    op_type: str

    exception = "what it computes is its user's"

    inputs = ("*data",)
    objects = True
    always_mutates = True  # nothing keeps a user's forward from it, whatever is_train says
    needs = ("training",)
    accepts_any_attribute = True
    internal_outputs = 1

    def __init__(self, **attrs: Any):
        texts = {k: str(v) for k, v in attrs.items()}
        kind = texts.get("op_type")
        if kind is None:
            raise OpError("Custom: attribute op_type (text) is required")
        if kind not in KNOWN:
            raise OpError(
                f"Custom: cannot find the custom operator {kind!r}; register its CustomOpProp with "
                f"mx.operator.register({kind!r}) before it is used, for a command in a file: --plugin my_ops.py "
                f"(known: {', '.join(sorted(KNOWN)) or 'none'})"
            )
        maker = KNOWN[kind]
        self.__dict__.update(
            op_type=kind,
            fields={k: Field(k, Text("text"), MISSING) for k in texts},
            adapter=maker({k: v for k, v in texts.items() if k != "op_type"}),
            texts=texts,
        )
        self._seal((Custom, maker, *sorted(texts.items())))

    adapter: ClassVar[Adapter]  # of each instance, as are texts; annotations that are no ClassVar are attributes
    texts: ClassVar[dict[str, str]]

    @classmethod
    def bind(cls, **attrs: Any) -> Op:
        """An instance of its own for every node, as the user's object may hold what inference told it."""
        return cls(**attrs)

    def lasting(self) -> "Custom":
        """The same for one bound executor, whose calls all go to one object of the user's."""
        other = object.__new__(Custom)
        other.__dict__.update(self.__dict__, adapter=self.adapter.lasting())
        other._seal((*self._key, object()))  # like no other: it has a past of its own
        return other

    def dump(self):
        return dict(self.texts)

    @property
    def mutates(self):  # type: ignore[override]
        return self.adapter.states

    def input_names(self):
        return (*self.adapter.arguments, *self.adapter.states)

    def output_names(self):
        return (*self.adapter.outputs, "state")

    def num_visible_outputs(self):
        return len(self.adapter.outputs)

    def _split(self, values):
        """Arguments and auxiliary states among the inputs."""
        count = len(self.adapter.arguments)
        return list(values[:count]), list(values[count:])

    def _call_user(self, what, given):
        """Call the user's infer_shape or infer_type: lists for arguments, outputs and states."""
        try:
            found = getattr(self.adapter, what)(given)
        except Exception as error:
            raise self.error(f"{self.op_type}.{what} raised {type(error).__name__}: {error}") from error
        wanted = (self.adapter.arguments, self.adapter.outputs, self.adapter.states)
        for part, names, kind in zip(found, wanted, ("inputs", "outputs", "auxiliary states"), strict=True):
            if len(part) != len(names):
                raise self.error(
                    f"{self.op_type}.{what} gave {len(part)} {kind}, wanted {len(names)} ({', '.join(names)})"
                )
        return found

    def _shapes(self, arguments):
        if all(map(is_known, arguments)):
            return [
                [tuple(map(int, s)) for s in part]
                for part in self._call_user("infer_shape", [list(s) for s in arguments])
            ]
        try:  # with 0 for what is not known yet, as MXNet asks; most can say nothing then
            found = self._call_user("infer_shape", [list(to_legacy(s) or ()) for s in arguments])
        except OpError:
            raise Undecided from None
        return [[from_legacy(s) for s in part] for part in found]

    def infer_input_shapes(self, shapes, outputs):
        arguments, states = self._split(shapes)
        found = self._shapes(arguments)
        return [merge(a, b) for a, b in zip((*arguments, *states), (*found[0], *found[2]), strict=True)]

    def infer_shape(self, *shapes):
        return [*self._shapes(self._split(shapes)[0])[1], ()]

    def _types(self, arguments):
        known: Any = next((d for d in arguments if d is not None), None)
        found = self._call_user("infer_type", [(d or known).type for d in arguments])
        return [[None if d is None else np.dtype(d) for d in part] for part in found]

    def infer_input_types(self, dtypes, outputs):
        arguments, states = self._split(dtypes)
        if arguments and all(d is None for d in arguments):
            return dtypes
        found = self._types(arguments)
        return [b if a is None else a for a, b in zip((*arguments, *states), (*found[0], *found[2]), strict=True)]

    def infer_type(self, *dtypes):
        return [*self._types(self._split(dtypes)[0])[1], STATE]

    def compute(self, *arrays, training=False):
        inputs, states = self._split(arrays)
        shapes = self._shapes([x.shape for x in inputs])[1]
        dtypes = self._types([x.dtype for x in inputs])[1]
        outputs = [np.zeros(s, d) for s, d in zip(shapes, dtypes, strict=True)]  # type: ignore[call-overload,arg-type]
        kept = np.empty((), STATE)
        with _naming(self, f"{self.op_type}.forward"):
            kept[()] = self.adapter.forward(inputs, outputs, states, training)
        return (*outputs, kept)

    def gradient(self, F, dy, *arrays):
        inputs, states = self._split(arrays[: len(self.input_names())])
        outputs = arrays[len(self.input_names()) :]
        heads = dy[:-1] if self.adapter.top else ()
        back = F._backward_Custom(
            *heads, *inputs, *outputs, *states,
            arguments=len(inputs), outputs=len(outputs) - 1, states=len(states), top=self.adapter.top, op_type=self.op_type,
        )  # fmt: skip
        return (*back, *(None for _ in states))


@op("_backward_Custom")
class CustomBackward(Op):
    """The gradients of the arguments of Custom, by the user's backward.

    Takes the gradients of the outputs (if ``top``), the arguments, the outputs, the hidden state, and the auxiliary states,
    which the user's backward may write to as its forward may (centers of classes are moved there)."""

    arguments: int
    outputs: int
    states: int
    top: bool
    op_type: str = "custom"

    inputs = ("*data",)
    objects = True  # the hidden state
    always_mutates = True
    needs = ("training",)

    @property
    def mutates(self):  # type: ignore[override]
        names = self.input_names()
        return names[len(names) - self.states :]

    def input_names(self):
        count = self.arguments + self.outputs * (1 + self.top) + 1 + self.states
        return tuple(f"arg{i}" for i in range(count))

    def output_names(self):
        return tuple(f"d{i}" for i in range(self.arguments)) if self.arguments > 1 else ("output",)

    def _parts(self, values):
        """Gradients of outputs (none without ``top``), arguments, outputs, the hidden state, auxiliary states."""
        rest = iter(values)
        heads = [next(rest) for _ in range(self.outputs if self.top else 0)]
        arguments = [next(rest) for _ in range(self.arguments)]
        outputs = [next(rest) for _ in range(self.outputs)]
        return heads, arguments, outputs, next(rest), list(rest)

    def infer_shape(self, *shapes):
        return self._parts(shapes)[1]

    def infer_type(self, *dtypes):
        return self._parts(dtypes)[1]

    def infer_input_types(self, dtypes, outputs):
        return dtypes

    def compute(self, *arrays, training=False):
        heads, arguments, outputs, kept, states = self._parts(arrays)
        gradients = [np.zeros_like(x) for x in arguments]
        heads = heads if self.top else [np.zeros_like(y) for y in outputs]
        with _naming(self, f"{self.op_type}.backward"):
            kept[()].backward(heads, arguments, outputs, gradients, states, training)
        return tuple(gradients)
