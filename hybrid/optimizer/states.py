"""Optimizer states as bytes, as MXNet's Updater writes and reads them.

MXNet pickles them. Reading a pickle with Python's own reader runs whatever it says, so neither that reader nor its writer is
used: ``load`` goes through the operations (pickletools lists them without doing any) and builds numbers, texts, containers,
arrays, optimizers and schedulers, nothing else; ``dump`` writes the same few operations.
"""

from __future__ import annotations

import io
import os
import pickletools
import struct
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .. import lr_scheduler
from ..core.error import FormatError, MXNetError
from ..formats import params
from ..ndarray import NDArray, load_frombuffer
from .base import Optimizer

HEAD, TAIL = struct.pack("<QQQ", params.LIST_MAGIC, 0, 1), struct.pack("<Q", 0)
"""Bytes that a .params file of one unnamed array has before and after it."""
MOST_DEPTH = 32  # containers inside one another; what optimizers keep has 4
MOST_THINGS = 1 << 22  # numbers, texts, arrays and containers, those that are shared counted again at each place
MOST_OBJECTS = 64  # optimizers and schedulers; a file has one of each
MOST_BITS = 512  # of a whole number


class _Name(NamedTuple):
    """Something that a pickle refers to by name."""

    module: str
    name: str


class _Pending:
    """An array whose content comes later in the file. ``places`` are where the reader remembers it."""

    def __init__(self) -> None:
        self.places: list[int] = []


# -- writing ----------------------------------------------------------------------------------------------------------------


def dump(value: Any) -> bytes:
    """The bytes of states. Raises TypeError for what is none of numbers, texts, containers, arrays, optimizers, schedulers."""
    writer = _Writer()
    return b"".join((b"\x80\x04", *writer.write(value, "states"), b"."))


def _class(cls: type) -> bytes:
    """The name of a class; those that MXNet has, by its name there."""
    module = cls.__module__
    package = __name__.rpartition(".")[0]
    if module == lr_scheduler.__name__:
        module = "mxnet.lr_scheduler"
    elif module.startswith(f"{package}."):
        module = "mxnet.optimizer.contrib" if module == f"{package}.contrib" else "mxnet.optimizer.optimizer"
    return f"c{module}\n{cls.__qualname__}\n".encode()


def can_hold(value: Any) -> bool:
    """True for what a file of states can say."""
    try:
        dump(value)
    except TypeError:
        return False
    return True


class _Writer:
    """Turns values into operations, things that are referred to twice into references."""

    def __init__(self) -> None:
        self.seen: dict[int, int] = {}
        self.alive: list[Any] = []

    def write(self, value: Any, where: str) -> Iterator[bytes]:
        """The operations that put a value on the reader's stack. where: for errors."""
        if isinstance(value, np.generic):
            value = value.item()
        if id(value) in self.seen:
            yield b"j" + struct.pack("<I", self.seen[id(value)])
        elif value is None or isinstance(value, bool):
            yield {None: b"N", True: b"\x88", False: b"\x89"}[value]
        elif isinstance(value, int):
            size = value.bit_length() // 8 + 1
            yield b"\x8b" + struct.pack("<i", size) + value.to_bytes(size, "little", signed=True)
        elif isinstance(value, float):
            yield b"G" + struct.pack(">d", value)
        elif isinstance(value, str):
            text = value.encode("utf-8", "surrogatepass")
            yield b"X" + struct.pack("<I", len(text)) + text
        elif isinstance(value, tuple):
            yield b"("
            for i, part in enumerate(value):
                yield from self.write(part, f"{where}[{i}]")
            yield b"t"
        elif isinstance(value, list):
            yield self.memoize(value, b"]") + b"("
            for i, part in enumerate(value):
                yield from self.write(part, f"{where}[{i}]")
            yield b"e"
        elif isinstance(value, dict):
            yield self.memoize(value, b"}") + b"("
            for key, part in value.items():
                yield from self.write(key, f"a key of {where}")
                yield from self.write(part, f"{where}[{key!r}]")
            yield b"u"
        elif isinstance(value, NDArray):
            record = _record(value)
            yield self.memoize(value, b"cmxnet.ndarray.ndarray\nNDArray\nN\x85R") + b"}"
            yield from self.write("handle", where)
            yield b"cbuiltins\nbytearray\n\x8e" + struct.pack("<Q", len(record)) + record + b"\x85Rsb"
        elif isinstance(value, Optimizer | lr_scheduler.LRScheduler):
            yield self.memoize(value, _class(type(value)) + b")\x81")
            held = value.__getstate__() if isinstance(value, Optimizer) else vars(value)
            yield from self.write(held, type(value).__name__)
            yield b"b"
        else:
            raise TypeError(f"{where}: got {type(value).__name__}, which a file of optimizer states cannot hold")

    def memoize(self, value: Any, operations: bytes) -> bytes:
        """The operations that make a thing, and one by which the reader keeps it for references."""
        self.seen[id(value)] = len(self.seen)
        self.alive.append(value)
        return operations + b"\x94"


def _record(array: NDArray) -> bytes:
    """One array as a .params file has it."""
    buffer = io.BytesIO()
    params.save(buffer, [array._saved_form()])
    return buffer.getvalue()[len(HEAD) : -len(TAIL)]


# -- reading ----------------------------------------------------------------------------------------------------------------


def load(data: bytes, source: Any = None) -> tuple[dict[Any, Any], Optimizer | None]:
    """Read what dump (or MXNet) wrote: the states, and the optimizer if there is one. Nothing in it is executed.

    source: the file they come from, for errors. Nothing is allocated on the word of the bytes, and what they build is no larger
    than they are. Raises FormatError for other bytes, for more than the limits above, and for references to classes that are
    no optimizers or schedulers known here."""
    where = "optimizer states" if source is None else f"{os.fspath(source)}: optimizer states"
    try:
        result = _Reader(len(data)).run(data)
        held, optimizer = result if isinstance(result, tuple) and len(result) == 2 else (result, None)
        if type(held) is not dict or not isinstance(optimizer, Optimizer | None):
            raise FormatError(f"got {type(result).__name__}, wanted a dict of states, or one with an optimizer")
        if _measure(result, 0, {})[0] > MOST_THINGS:
            raise FormatError(f"got more than {MOST_THINGS} things in them, wanted fewer; {DAMAGED}")
    except MXNetError as error:
        raise FormatError(f"{where}: {error}") from error
    except _FAILURES as error:
        raise FormatError(f"{where}: the bytes are damaged, or no states: {type(error).__name__} {error}") from error
    return held, optimizer


DAMAGED = "the file is damaged, or was not written by MXNet"
_FAILURES = (
    *(IndexError, KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, MemoryError),
    struct.error,
)
"""Exceptions that damaged operations raise in a reader that takes each at its word."""


def _measure(value: Any, depth: int, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Number of things that a value is made of, and of containers it has inside one another.

    known: what was found so far, by id. Raises FormatError for what states do not hold, and past MOST_DEPTH, as a container
    that holds itself is."""
    if id(value) in known:
        size, height = known[id(value)]
    else:
        parts: Iterable[Any] = ()
        if type(value) in (list, tuple):
            parts = value
        elif type(value) is dict:
            parts = value.values()
        elif isinstance(value, Optimizer | lr_scheduler.LRScheduler):
            parts = vars(value).values()
            if not vars(value):
                raise FormatError(f"got a {type(value).__name__} without content; {DAMAGED}")
        elif isinstance(value, int) and value.bit_length() > MOST_BITS:
            raise FormatError(f"got a number of {value.bit_length()} bits, wanted at most {MOST_BITS}; {DAMAGED}")
        elif not isinstance(value, _LEAVES):
            raise FormatError(f"got a {type(value).__name__} among the states; {DAMAGED}")
        if depth > MOST_DEPTH:
            raise FormatError(f"got more than {MOST_DEPTH} containers inside one another; {DAMAGED}")
        found = [_measure(part, depth + 1, known) for part in parts]
        size, height = 1 + sum(n for n, _ in found), max((h + 1 for _, h in found), default=0)
        known[id(value)] = size, height
    if depth + height > MOST_DEPTH:
        raise FormatError(f"got more than {MOST_DEPTH} containers inside one another; {DAMAGED}")
    return size, height


_LEAVES = (type(None), int, float, str, bytes, np.generic, np.dtype, NDArray)


class _Reader:
    """A stack machine that can build data, and only data."""

    def __init__(self, size: int) -> None:
        self.left = 2 * size  # bytes that may still be made of those in the file, each of which is there once
        self.objects = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self, data: bytes) -> Any:
        """The value that the operations leave."""
        argument: Any
        for code, argument, _ in pickletools.genops(data):
            name = code.name
            if name == "STOP":
                break
            if name in _LITERALS:
                self.stack.append(_LITERALS[name]() if callable(_LITERALS[name]) else _LITERALS[name])
            elif name in _VALUES:
                self.stack.append(argument)
            elif name == "GLOBAL":
                self.stack.append(_Name(*argument.split(" ", 1)))
            elif name in ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"):
                self.keep(len(self.memo) if argument is None else int(argument))
            elif name in ("GET", "BINGET", "LONG_BINGET"):
                self.stack.append(self.memo[int(argument)])
            elif name not in ("PROTO", "FRAME"):
                self.step(name)
        (value,) = self.stack
        return value

    def keep(self, place: int) -> None:
        self.memo[place] = value = self.stack[-1]
        if isinstance(value, _Pending):
            value.places.append(place)

    def pop_mark(self) -> list[Any]:
        """Take what was put on the stack since the last mark off it."""
        at = self.marks.pop()
        values = self.stack[at:]
        del self.stack[at:]
        return values

    def step(self, name: str) -> None:
        """One operation that takes from the stack."""
        stack = self.stack
        if name == "MARK":
            self.marks.append(len(stack))
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            count = int(name[-1])
            stack[-count:] = [tuple(stack[-count:])]
        elif name in ("TUPLE", "LIST", "DICT"):
            values = self.pop_mark()
            made = {"TUPLE": tuple, "LIST": list, "DICT": _pair_up}[name](values)
            stack.append(made)
        elif name == "APPEND":
            value = stack.pop()
            self.last(list).append(value)
        elif name == "APPENDS":
            values = self.pop_mark()
            self.last(list).extend(values)
        elif name == "SETITEM":
            value, key = stack.pop(), stack.pop()
            self.last(dict).update(_pair_up([key, value]))
        elif name == "SETITEMS":
            values = self.pop_mark()
            self.last(dict).update(_pair_up(values))
        elif name == "STACK_GLOBAL":
            last, module = stack.pop(), stack.pop()
            if type(last) is not str or type(module) is not str:
                raise FormatError(f"got a name that is no text; {DAMAGED}")
            stack.append(_Name(module, last))
        elif name == "REDUCE":
            arguments, function = stack.pop(), stack.pop()
            if type(function) is not _Name or type(arguments) is not tuple:
                raise FormatError(f"got a call of {type(function).__name__}; {DAMAGED}")
            made = _apply(function, arguments)
            if isinstance(made, bytes):
                self.spend(len(made))
            stack.append(made)
        elif name == "NEWOBJ":
            arguments, cls = stack.pop(), stack.pop()
            self.objects += 1
            if type(cls) is not _Name or arguments != () or self.objects > MOST_OBJECTS:
                raise FormatError(
                    f"got an object made of arguments, or more than {MOST_OBJECTS} objects, which no optimizer needs"
                )
            stack.append(object.__new__(_find_class(cls)))
        elif name == "BUILD":
            state = stack.pop()
            self.fill(stack[-1], state)
        else:
            raise FormatError(f"the operation {name} is not one that states need")

    def last(self, kind: type) -> Any:
        """The container on top of the stack, which the next operation adds to."""
        if type(self.stack[-1]) is not kind:
            raise FormatError(f"got a {type(self.stack[-1]).__name__} to add to, wanted a {kind.__name__}; {DAMAGED}")
        return self.stack[-1]

    def spend(self, size: int) -> None:
        """Count bytes that are made of those in the file."""
        self.left -= size
        if self.left < 0:
            raise FormatError(f"got more content than the file has bytes; {DAMAGED}")

    def fill(self, target: Any, state: Any) -> None:
        """Give an object its content."""
        if type(state) is not dict and not isinstance(target, np.dtype):
            raise FormatError(f"got {type(state).__name__} as the content of a {type(target).__name__}; {DAMAGED}")
        if isinstance(target, _Pending):
            self.spend(len(state["handle"]))
            array = _array(state["handle"])
            self.stack[-1] = array
            for place in target.places:
                self.memo[place] = array
        elif isinstance(target, np.dtype):
            if state[1] not in ("<", "|"):
                raise FormatError(f"a number of byte order {state[1]!r}, wanted little-endian")
        elif isinstance(target, Optimizer):
            target.__dict__.update({**vars(Optimizer()), **_content(target, state, vars(Optimizer()))})
        elif isinstance(target, lr_scheduler.LRScheduler):
            target.__dict__.update(_content(target, state, vars(lr_scheduler.LRScheduler())))
        else:
            raise FormatError(f"{type(target).__name__} cannot be given a state")


_VALUES = frozenset(
    (
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING", "SHORT_BINSTRING"),
        *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    )
)
_LITERALS: dict[str, Any] = {
    "NONE": None,
    "NEWTRUE": True,
    "NEWFALSE": False,
    "EMPTY_TUPLE": (),
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
}


def _pair_up(values: list[Any]) -> dict[Any, Any]:
    for key in values[::2]:
        if not isinstance(key, int | str | np.integer):
            raise FormatError(f"got a {type(key).__name__} as the key of a dict, wanted a number or a name; {DAMAGED}")
    return dict(zip(values[::2], values[1::2], strict=True))


def _content(target: Any, state: dict[Any, Any], usual: dict[str, Any]) -> dict[str, Any]:
    """Check the content that an object is to get. Raises FormatError for names that stand for something else, and for other
    kinds of values than those that every such object has."""
    for name, value in state.items():
        if type(name) is not str or callable(getattr(type(target), name, None)):
            raise FormatError(f"got {name!r} among the settings of {type(target).__name__}; {DAMAGED}")
        kind = type(usual.get(name))
        number = kind in (int, float, bool)
        if number or kind is dict:
            wanted = (int, float, np.number, np.bool_) if number else dict
            if value is not None and not isinstance(value, wanted):
                raise FormatError(
                    f"{type(target).__name__}.{name}: got a {type(value).__name__}, wanted a {kind.__name__}"
                )
    return state


def _array(handle: Any) -> NDArray:
    """The array of one record."""
    if not isinstance(handle, bytes | bytearray):
        raise FormatError(f"got an array of {type(handle).__name__}, wanted bytes; {DAMAGED}")
    loaded = load_frombuffer(HEAD + handle + TAIL)[0]
    if loaded is None:
        raise FormatError(f"got an array that was never given a shape; {DAMAGED}")
    return loaded


def _apply(function: Any, arguments: Any) -> Any:
    """Apply one of the few functions that states are made with. Raises FormatError for any other."""
    module, name = function
    if name in ("NDArray", "RowSparseNDArray", "CSRNDArray") and module.split(".")[:2] == ["mxnet", "ndarray"]:
        return _Pending()
    if (module, name) in (("builtins", "bytearray"), ("__builtin__", "bytearray"), ("_codecs", "encode")):
        content = arguments[0] if arguments else b""
        if not isinstance(content, str | bytes | bytearray):  # bytes(10**12) would be as many zeros
            raise FormatError(f"got bytes made of {type(content).__name__}; {DAMAGED}")
        return content.encode("latin-1") if isinstance(content, str) else bytes(content)
    if (module, name) == ("numpy", "dtype") and str(arguments[0]) in ("f2", "f4", "f8", "i4", "i8", "b1"):
        return np.dtype(arguments[0])
    if name == "scalar" and module in ("numpy.core.multiarray", "numpy._core.multiarray"):
        if not isinstance(arguments[0], np.dtype):
            raise FormatError(f"got a number of the type {type(arguments[0]).__name__}; {DAMAGED}")
        return np.frombuffer(arguments[1], arguments[0], 1)[0]
    raise FormatError(f"they call {module}.{name}, which is not done; only states can be loaded")


def _find_class(cls: Any) -> type:
    """The class of an optimizer or scheduler, ours or the program's own. Raises FormatError when there is none."""
    module, name = cls
    ours = module.split(".")[0] == "mxnet"
    for found in (*Optimizer.opt_registry.values(), *_subclasses(Optimizer), *_subclasses(lr_scheduler.LRScheduler)):
        home = found.__module__
        if found.__qualname__ == name and (home.split(".")[0] == __name__.split(".")[0] if ours else home == module):
            return found
    raise FormatError(
        f"they hold an object of {module}.{name}, which is no optimizer or scheduler known here; "
        "define its class before loading"
    )


def _subclasses(cls: type) -> Iterator[type]:
    for sub in cls.__subclasses__():
        yield sub
        yield from _subclasses(sub)
