"""The definition of an operator. The page to read first.

An operator is one class: its annotated fields are its attributes, its methods are its rules. An instance is "the
operator with its attributes": immutable, hashable, and memoised by ``bind``, so equal nodes share one instance.

    @op("clip")                                   # the name in Symbol JSON; further names are aliases
    class Clip(Elementwise):
        \"\"\"Clip every element of data to [a_min, a_max].\"\"\"
        a_min: float
        a_max: float
        def compute(self, data): return np.clip(data, self.a_min, self.a_max)

Everything else (nd and sym functions, signatures, JSON, inference, the executor, tests, the support table) is derived
from OPS. hybrid/ops fills the table, by a file when one of its operators is first asked for; nothing outside hybrid/ops names
an operator except the converters.

The classes are not dataclasses although they read like them: the standard decorator compiles four methods a class
(0.5 ms), which for 400 operators would make importing slow (docs/decisions/0002).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from .attrs import Kind, NotTaken, kind_of
from .dims import has_dims
from .error import OpError, of_operator
from .forking import cached_property
from .shapes import MaybeShape, Shape
from .tables import Table

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:  # typing has it from Python 3.11 on, and it does nothing at run time

    def dataclass_transform(**_options):
        return lambda function: function


class _Missing:
    def __repr__(self) -> str:
        return "required"


MISSING: Any = _Missing()

OPS: Table[str, type[Op]] = Table()
"""Every operator once, by canonical name."""
REGISTRY: Table[str, type[Op]] = Table()
"""Every operator under every name that MXNet knows it by."""
BACKWARD = "_backward_"
"""Operators whose name starts so are parts of gradient rules: registered, but no operators of their own in OPS."""
WHOLE, BOOLS = "biu", "b"
"""Kinds of dtypes for ``refuses``: integers and bools, or bools alone."""
FUSED = "_fused_"
"""Operators whose name starts so stand for several others in compiled graphs: registered, but in no file and not in OPS."""


class Spec(NamedTuple):
    """Shape (see shapes.py) and dtype of an array as inference knows them; either may be None."""

    shape: MaybeShape = None
    dtype: np.dtype | None = None


class Storage(NamedTuple):
    """Storage of a result: its type, and the numbers of the inputs whose stored places it has, together; where there are
    none those places whose values are not 0."""

    stype: str
    like: tuple[int, ...] = ()


DENSE = Storage("default")


class Field(NamedTuple):
    """One attribute of an operator."""

    name: str
    kind: Kind
    default: Any


class Example(NamedTuple):
    """One application of an operator to arrays, from which tests are generated."""

    op: Op
    arrays: tuple[np.ndarray, ...]


class Domain(NamedTuple):
    """Values from low to high, both inclusive; whole numbers with integer."""

    low: float
    high: float
    integer: bool = False
    columns: tuple[Domain, ...] = ()
    """Domains of the places along the last axis where these differ (a region: an index, then corners); low and high are of
    arrays that have the numbers in another order."""


class Memo(dict[Any, Any]):
    """A cache of results that can be computed again at any time: when it is full (a new shape with every batch) it is
    emptied.

    Ask with ``get``, not twice: another thread may have it forgotten in between."""

    MOST: ClassVar[int] = 256

    def __setitem__(self, key: Any, value: Any) -> None:
        if len(self) >= self.MOST:
            self.clear()
        super().__setitem__(key, value)


@functools.lru_cache(maxsize=256)
def _numbered(count: int) -> tuple[str, ...]:
    """Names of any number of inputs."""
    return tuple(f"arg{i}" for i in range(count))


class Op:
    """Base class of all operators; see the module's docstring. Methods below are the rules an operator may override."""

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    refuses_values: ClassVar[bool] = False
    """True where it refuses values that its composition would compute something of."""
    static_form: ClassVar[str] = ""
    """Name of the operator that says with attributes what this one is told by further inputs, once these are known."""
    fields: ClassVar[dict[str, Field]] = {}
    meanings: ClassVar[dict[str, str]] = {}
    """Meanings of attributes and inputs that differ from what their names mean elsewhere (meanings.py), or from what the classes
    above say."""
    _key: tuple[Any, ...]
    _hash: int
    calls: dict[tuple[Any, ...], Any]
    """Facts that eager calls have found out about this instance, by the shapes and dtypes of the inputs."""
    memo: Memo
    """For compute to keep what follows from attributes, shapes and dtypes alone."""

    inputs: ClassVar[tuple[str, ...]] = ("data",)
    """Names of all inputs there can be, auxiliary states last. A single ``*name`` says that there may be any number."""
    mutates: ClassVar[tuple[str, ...]] = ()
    """Inputs that are auxiliary states: compute may write to them when training."""
    always_mutates: ClassVar[bool] = False
    """True when it writes to them whenever it runs, training or not."""
    initializers: ClassVar[dict[str, str]] = {}
    """Initializers of inputs, as the text that MXNet writes into ``__init__`` of variables it creates."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Keyword arguments that compute wants from the executor, of "training", "rng", "shape" (the first output's, as
    inferred), "specs" (what is inferred of all outputs) and "subgraphs": one function per subgraph of the node, from the
    arrays that its variables hold to its outputs. The infer methods get subgraphs too, which give (what is inferred of the
    variables, what of the outputs). "values" is for infer_shape alone: an array for each input whose values are known
    before anything runs, else None."""
    parameters: ClassVar[frozenset[str]] = frozenset(
        ("weight", "bias", "gamma", "beta", "moving_mean", "moving_var", "parameters")
    )
    """Names of inputs that a model stores; a variable there that no file fills is a missing parameter, not an input."""
    picks: ClassVar[str] = ""
    """Name of an input of which it reads no more than it gives."""
    takes_matrices: ClassVar[bool] = False
    """True for products whose second input may be held in fewer bits by those who compile them, where it is constant."""
    ignored: ClassVar[frozenset[str]] = frozenset()
    """Names of inputs that inference does not read (the label of a loss head)."""
    count: ClassVar[str] = "num_args"
    """For ``*name`` inputs: the attribute that holds how many there are."""
    positional_first: ClassVar[tuple[str, ...]] = ()
    """Attributes that come first in positional calls, where that is not the order in which classes declare them."""
    ignored_attributes: ClassVar[tuple[str, ...]] = ()
    """Attributes that other MXNet versions write and that change nothing: read and dropped."""
    accepts_any_attribute: ClassVar[bool] = False
    """True when it takes attributes of any name."""
    reads_for_gradient: ClassVar[bool] = False
    """True where MXNet reads the attributes for the gradient alone, which is what refuses unknown ones then."""
    unread: ClassVar[tuple[str, ...]] = ()
    """Names of such attributes, of an instance."""
    internal_outputs: ClassVar[int] = 0
    """Number of the last outputs that are this engine's own, which MXNet does not know of and files do not count."""
    only_moves_data: ClassVar[bool] = False
    """True when the output holds the values of the first input, moved or converted (Reshape, Cast)."""
    view: ClassVar[bool] = False
    """True when compute may return memory of its first input."""
    supports_out: ClassVar[bool] = False
    """True when compute takes ``out=`` and writes its single result there."""
    is_ordering: ClassVar[bool] = False
    """True when the output holds who is greatest (argmax, topk, suppression): rounding alone may swap near ties."""
    data_dependent_shape: ClassVar[bool] = False
    """True when the shape of an output depends on the values of the inputs."""
    rooms: ClassVar[bool] = False
    """True for what ``with_room`` gives: rows, as many as the second output says; beyond them lies anything."""
    objects: ClassVar[bool] = False
    """True when it only moves what it is given, or runs subgraphs: then that may be words and sequences, which MXNet has not."""
    zero_is_size: ClassVar[bool] = False
    """True for what was bound with np_shape on: a 0 in its attribute shape is a size, and no shape one of no dims."""
    cuts: ClassVar[bool] = False
    """True for what gives the first rows of its first input, as many as its second says: a view, no larger than what there is."""
    dresses: ClassVar[bool] = False
    """True when it makes words or maps of numbers, always of the shape and dtype that inference says, in memory of their own."""
    refuses: ClassVar[str] = ""
    """Dtypes that MXNet has no kernel for in the first input, as NumPy's codes of their kinds: WHOLE where it takes floats alone,
    BOOLS. Inference refuses them, so that no rounding to integers passes for an answer."""
    remark: str = ""
    """Difference between its numbers and MXNet's own on a CPU, in a sentence, as it is bound; conversion passes it on."""
    tolerance: ClassVar[float] = 32.0
    """Greatest error of another correct implementation, in epsilons of the dtype times the output's scale."""
    bound: float = 0.0
    """Greatest magnitude that results can have where the function itself bounds it: 1 for a sigmoid, however small its results
    are, which implementations approximate to a few epsilons of that. 0 where nothing bounds it."""
    keeps: ClassVar[bool] = False
    """True for a class that computes in a way of its own and still means what the classes above it mean: see ``means``. It holds
    for the class that says so, and is not inherited."""
    untold: ClassVar[tuple[str, ...]] = ()
    """Attributes that kernels know nothing of, which are NumPy's where they have another value than the default."""
    left_open: ClassVar[tuple[str, ...]] = ()
    """Members that subclasses may define in their own way without meaning something else: the parts that this class leaves open."""
    primitive: ClassVar[bool] = False
    """True for one of those that all others can be said in (docs/core.md). It holds for the class that says so, and is not
    inherited."""
    exception: ClassVar[str] = "nobody has said it in others yet"
    """Reason why an operator is neither a primitive nor has a composition."""
    epsilon: ClassVar[float] = 0.0
    """The least epsilon that tolerance counts in: that of float32 where MXNet computes in float32 whatever the dtype."""

    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs that this instance has, in order."""
        if self.inputs[:1] and self.inputs[0].startswith("*"):
            return _numbered(getattr(self, self.count))
        return self.inputs

    def output_names(self) -> tuple[str, ...]:
        """Names of all outputs, those that only the engine sees included."""
        return ("output",)

    @cached_property
    def named_outputs(self) -> tuple[str, ...]:
        """Names of all outputs, put together once: each reader of an operator with many outputs asks how many there are."""
        return self.output_names()

    def infer_storage(self, stypes: tuple[str, ...] = (), shapes: Sequence[Shape] = (), result: Shape = ()) -> Storage:
        """Storage of the result where inputs are stored as stypes say and have these shapes, its own being result; without stypes
        all inputs are dense. Source: MXNet's FInferStorageType."""
        return DENSE

    def infer_gradient_storage(self, stypes: Sequence[str], result: str) -> Sequence[str]:
        """Storage types of the gradients of inputs, in a graph that is bound, where these are stored as stypes say and the result
        as ``result`` says. Source: MXNet's FInferStorageType of the backward operators."""
        rows = result == "row_sparse" and all(s == "row_sparse" for s in stypes)
        return ["row_sparse" if rows else "default"] * len(stypes)

    def compute_stored(self, *values: Any) -> Any:
        """Result for inputs of which some are sparse (RowSparse, CSR), without making them dense: an array or a sparse one. None
        where it takes dense values (see ops/stored_places.py)."""
        return None

    def num_visible_outputs(self) -> int:
        """Number of outputs that a user sees (BatchNorm computes three and shows one)."""
        return len(self.output_names())

    def infer_shape(self, *shapes: Any) -> Any:
        """Output shape (a tuple; a list of tuples for several outputs) from input shapes, all of known rank.

        Dims may be UNKNOWN. Raises OpError (or ValueError) when the inputs do not fit."""
        raise NotImplementedError

    def infer_input_shapes(self, shapes: Sequence[MaybeShape], outputs: Sequence[MaybeShape]) -> Sequence[MaybeShape]:
        """Input shapes filled in from other inputs' and the outputs' shapes (weights from data, for instance)."""
        return shapes

    def infer_value(self, values: Sequence[np.ndarray | None], shapes: Sequence[MaybeShape]) -> np.ndarray | None:
        """The single output where it follows from what is known of the inputs before anything runs: all values, or for an
        operator that asks for nothing but the shape, the shapes. None where it does not."""
        if (
            set(self.needs) - {"values"}
            or self.mutates
            or len(self.output_names()) != 1
            or any(v is None for v in values)
        ):
            return None
        return np.asarray(self.compute(*values))

    def want_ignored(self, *shapes: Any) -> None:
        """Raise OpError where the shape of an input that is ``ignored`` does not go with the others: said when a symbol is asked
        for its shapes or bound, and not of a stored model that only predicts."""

    def infer_type(self, *dtypes: np.dtype) -> Any:
        """Output dtype (a list for several outputs) from input dtypes, all known. Without inputs: from attributes."""
        return dtypes[0] if len(self.output_names()) == 1 else [dtypes[0]] * len(self.output_names())

    def infer_input_types(
        self, dtypes: Sequence[np.dtype | None], outputs: Sequence[np.dtype | None]
    ) -> Sequence[np.dtype | None]:
        """Input dtypes filled in from what is known; by default all inputs have one dtype, that of the outputs too.

        Raises OpError (or ValueError) when the inputs do not go together."""
        known = next((d for d in (*dtypes, *outputs) if d is not None), None)
        other = next((d for d in dtypes if d is not None and d != known), None)
        if other is not None:
            raise self.error(f"got inputs of dtypes {known} and {other}, wanted one dtype; cast one of them")
        return [known if d is None else d for d in dtypes]

    def want_dtype(self, dtypes: Sequence[np.dtype | None]) -> None:
        """Raise OpError where the first of the inputs, of these dtypes, is of one that this operator ``refuses``; where it takes
        as many as one likes, any of them."""
        if not self.refuses:
            return
        several = self.inputs[0].startswith("*")
        for name, dtype in zip(self.input_names(), dtypes if several else dtypes[:1]):
            if dtype is not None and dtype.kind in self.refuses:
                wanted = "floats" if "i" in self.refuses else "numbers that are no bools"
                raise self.error(f"got {name} of dtype {dtype}, wanted {wanted}; cast it")

    def domain(self, name: str, shapes: Sequence[MaybeShape]) -> Domain | None:
        """Values that an input has to hold to mean something (indices, lengths); None when any number will do."""
        return None

    def accepts(self, name: str, shapes: Sequence[MaybeShape]) -> Domain | None:
        """Values beyond its domain that an input may hold too, as the operator says what becomes of them (a position that is moved
        inside); None when there are no such."""
        return None

    def gradient(self, F: Any, dy: Any, *arrays: Any) -> Any:  # noqa: N803  MXNet's name for "nd or sym"
        """The gradients of the inputs, as symbols: one for each input in order (the thing itself when there is one input).

        F makes operators of symbols (``F.exp``, ``F._backward_Pooling``); dy is the gradient of the output (a tuple, one for
        each of ``output_names()``, when there are several); arrays are the inputs, then the outputs. None stands for zeros; None
        alone says that all gradients are zero. Traced once per operator and then run, as graph or step by step, and
        differentiated in turn. Raises OpError when the operator has no derivative."""
        raise OpError(f"{self.name} is non-differentiable: it has no gradient rule")

    def composition(self, F: Any, *inputs: Any) -> Any:  # noqa: N803
        """The outputs said in other operators, as symbols (a tuple of all of ``output_names()`` when there are several); None
        where that cannot be, or not for these attributes, dtypes and shapes.

        F is as in ``gradient``. Inputs have ``shape`` and ``dtype``, which are None as long as nothing is known of them; dims may
        be UNKNOWN. What the operator refuses is refused before: a composition may take more. ``compute`` stays the meaning, and
        the two are held to each other. Where there is no ``gradient``, it is that of the composition with nothing known; an
        operator without a translation is written as what its composition is."""
        return None

    def fused_form(self, F: Any, *inputs: Any) -> Any:  # noqa: N803
        """As ``composition``, said in operators of compiled graphs too (FUSED), for what has no composition."""
        return None

    def with_room(self) -> Op | None:
        """Of an operator of which values decide how much it gives: one that gives that in memory for the most there may be, one
        after the other, and their number; None where there is none. ``within`` takes the result out of it."""
        return None

    def within(self, found: np.ndarray) -> np.ndarray:
        """The result, of what ``with_room`` found: as many as there are, one after the other."""
        return found

    def in_numbers(self) -> tuple[Op, Sequence[Op | None]] | None:
        """Of an operator that makes words of numbers: one that gives numbers in their place, and what makes words of each of its
        outputs (None: it is right as it is); None where there is none."""
        return None

    def compute(self, *arrays: Any) -> Any:
        """The meaning, in NumPy: one array, or a tuple for several outputs. Never writes to an input but ``mutates``."""
        raise NotImplementedError

    def compute_into(self, arrays: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> bool:
        """compute straight into outs, which may be inputs; False, and nothing done, where that cannot be."""
        return False

    def matrices(self, second: np.ndarray) -> np.ndarray:
        """The second input of a product that takes_matrices, as matrices (..., K, N)."""
        return second[:, None] if second.ndim == 1 else second

    def kernel_matches(self, dtype: np.dtype) -> bool:
        """True where a compiled kernel of this operator gives what compute gives, for a first input of this dtype. Kernels
        know no float16: they get float32, and their results are rounded."""
        return True

    @classmethod
    def examples(cls, make: Any) -> Iterator[Example]:
        """A few applications worth testing; ``make`` is tests/table's maker of seeded arrays and Examples."""
        return iter(())

    def error(self, message: str) -> OpError:
        """The error to raise when inputs do not fit; the caller adds the node."""
        return of_operator(OpError, self.name, message)

    def draws(self, training: bool) -> bool:
        """True when running the operator takes numbers from the generator."""
        return "rng" in self.needs and (training or "training" not in self.needs)

    @classmethod
    @functools.cache
    def means(cls, *others: type[Op]) -> bool:
        """True when this operator computes what one of these classes says, so that what holds of that class holds of it.

        Inheriting is not enough: the parts of gradient rules inherit from their operators for the attributes, and operators from
        others for the shapes, and compute something else. A class means what another means if nothing that computes is
        overridden between them but what is ``left_open``, or if whoever does so says that it ``keeps`` the meaning."""
        return any(issubclass(cls, other) and cls._follows(other) for other in others)

    @classmethod
    def _follows(cls, other: type[Op]) -> bool:
        for place, own in enumerate(cls.__mro__):
            if own is other or (own.__dict__.get("keeps") and issubclass(own, other)):
                return True
            above = [c for c in cls.__mro__[place + 1 :] if issubclass(c, Op)]
            free = _RULES.union(cls.fields, *(c.left_open for c in above))
            if any(name in c.__dict__ for name in own.__dict__.keys() - free for c in above if name[:2] != "__"):
                return False
        raise AssertionError(f"{cls.__name__} is no {other.__name__}")

    # -- instances --------------------------------------------------------------------------------------------------

    def __init__(self, **attrs: Any):
        values: dict[str, Any] = {}
        problems: list[str] = []
        for field in self.fields.values():
            if field.name not in attrs:
                if field.default is MISSING:
                    problems.append(f"attribute {field.name} ({field.kind.label}) is required")
                else:
                    values[field.name] = field.default
                continue
            value = attrs.pop(field.name)
            try:
                values[field.name] = field.kind.read(value)
            except (ValueError, TypeError, OverflowError) as error:
                detail = f" ({error})" if isinstance(error, NotTaken) else ""
                problems.append(f"attribute {field.name}={_abbreviate(value)} is not {field.kind.label}{detail}")
        unknown = [a for a in attrs if a not in self.ignored_attributes] if self.fields else []
        if unknown and self.reads_for_gradient:
            self.__dict__["unread"] = tuple(sorted(unknown))
        elif unknown:  # MXNet reads no attribute of an operator that has none
            problems += [f"unknown attribute {a[:100]}; it takes {', '.join(self.fields)}" for a in unknown]
        if problems:
            raise self.error("; ".join(problems))
        self.__dict__.update(values)
        problem = self.check()
        if problem:
            raise self.error(problem)
        # texts, not values: NaN differs from itself, and NumPy says dtype("float64") == None
        self._seal((type(self), *(f.kind.write(values[f.name]) for f in self.fields.values()), *self.unread))

    def _seal(self, key: tuple[Any, ...]) -> None:
        """Set what instances have besides attributes. Those of one key are equal."""
        alike = self.decides()
        calls = {} if alike is None else KNOWN.setdefault((type(self), *alike), {})
        self.__dict__.update(calls=calls, memo=Memo(), _key=key, _hash=hash(key))

    def decides(self) -> tuple[Any, ...] | None:
        """The attributes that decide shapes and dtypes, of an operator whose others may be new at every call; None where all of
        them may."""
        return None

    def check(self) -> str | None:
        """Describe what is wrong with the attributes taken together; None when nothing is."""
        return None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self.name} is immutable; bind another instance to change {name}")

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Op) and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{k}={v}' for k, v in self.dump().items())})"

    @classmethod
    def bind(cls, **attrs: Any) -> Op:
        """The instance with these attributes (texts or values); equal calls give the same object."""
        if any(map(_has_negative_zero, attrs.values())):
            return _share(cls(**attrs))  # the memo holds 0.0, which it knows, and -0.0 for equal
        if any(map(has_dims, attrs.values())):
            return cls(**attrs)  # to ask whether it is one that there is would be to ask which size it is
        try:
            return _bind(cls, tuple(sorted(attrs.items())))
        except TypeError:  # an unhashable value such as a list; the plain constructor copes
            return _share(cls(**attrs))

    def dump(self) -> dict[str, str]:
        """Attributes as texts, as Symbol JSON carries them: those required or not at their default."""
        out: dict[str, str] = {}
        for field in self.fields.values():
            value = getattr(self, field.name)
            if field.default is MISSING or field.kind.write(value) != field.kind.write(field.default):
                out[field.name] = field.kind.write(value)
        return out


def _has_negative_zero(value: Any) -> bool:
    """True for -0.0, and for a tuple that holds one."""
    if type(value) is float:
        return value == 0.0 and math.copysign(1, value) < 0
    return type(value) is tuple and any(map(_has_negative_zero, value))  # pyright: ignore[reportUnknownArgumentType]


def _abbreviate(value: Any) -> str:
    """A value in an error: as Python writes it, what is long cut off."""
    text = repr(value) if not isinstance(value, str) or len(value) < 100 else f"{value[:100]!r}..."
    return text if len(text) < 120 else f"{text[:110]}..."


_RULES = frozenset({"name", *Op.__dict__}) - {"compute"}
"""Members by which a class may speak of inference, gradients, files or tests in its own way, and compute the same."""


KNOWN: dict[tuple[Any, ...], dict[tuple[Any, ...], Any]] = {}
"""``calls`` that instances share, by their class and what decides shapes and dtypes (``Op.decides``): rates change at every step,
and numbers in every turn of a loop, and what is known of shapes does not."""
INSTANCES = 1024
"""Number of instances that are remembered, least recently used dropped, with all that is known of each: rates that change with
every step of training make new ones all the time. Graphs and programs hold their own."""


@functools.lru_cache(maxsize=INSTANCES)
def _bind(cls: type[Op], attrs: tuple[tuple[str, Any], ...]) -> Op:
    return _share(cls(**dict(attrs)))


@functools.lru_cache(maxsize=INSTANCES)
def _share(op: Op) -> Op:
    return op


T = TypeVar("T", bound=type[Op])


@dataclass_transform(kw_only_default=True, frozen_default=True)
def op(name: str, *aliases: str) -> Callable[[T], T]:
    """Register a class as the operator ``name``, also known as ``aliases``."""

    def register(cls: T) -> T:
        fields: dict[str, Field] = {}
        for base in reversed(cls.__mro__):
            if base is Op:  # has no attributes
                continue
            for attr, annotation in getattr(base, "__annotations__", {}).items():
                if isinstance(annotation, str):
                    raise TypeError(f"{cls.__name__}.{attr}: annotations must be objects; drop the __future__ import")
                if getattr(annotation, "__origin__", None) is ClassVar or annotation is ClassVar:
                    continue
                try:
                    kind = kind_of(annotation)
                    default = base.__dict__.get(attr, MISSING)
                    fields[attr] = Field(attr, kind, default if default is MISSING else kind.read(default))
                except (TypeError, ValueError) as error:
                    raise TypeError(f"{cls.__name__}.{attr}: {error}") from None
        fields = {attr: fields[attr] for attr in dict.fromkeys((*cls.positional_first, *fields))}
        cls.name, cls.aliases, cls.fields = name, aliases, fields
        for known in (name, *aliases):
            if REGISTRY.taken(known):
                raise TypeError(f"{known}: registered twice, by {REGISTRY[known].__module__} and {cls.__module__}")
            REGISTRY[known] = cls
        if not name.startswith((BACKWARD, FUSED)):
            OPS[name] = cls
        return cls

    return register


FAMILY = "_onnx_"
"""Prefix of the names of the operators in hybrid/ops/onnx."""


def find(name: str) -> type[Op] | None:
    """The operator of that name; None when there is none."""
    return REGISTRY.get(name)


def lookup(name: str) -> type[Op]:
    """The operator of that name. Raises OpError naming close matches when there is none."""
    found = find(name)
    if found is None:
        import difflib

        close = difflib.get_close_matches(name, REGISTRY)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise OpError(f"unknown operator {name!r}{hint}")
    return found
