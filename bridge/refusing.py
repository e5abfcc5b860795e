"""The end of a refusal: a command that works."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import NamedTuple

from converters.error import ConversionError, UnsupportedModel
from converters.export import untranslatable
from converters.writer import Converted
from hybrid.core.error import MXNetError
from hybrid.core.op import Spec
from hybrid.core.shapes import is_known
from hybrid.ir.graph import Entry, Graph, Node

from .fitting import SIDES
from .models import ONNX, Model, split_inputs
from .paths import BadInput
from .settle import proposed_sizes, settle_inputs

MOST = 3
"""Places to cut at that are proposed together."""
SECONDS = 10.0
"""Time spent on looking for places; a try that was begun is ended."""


BEHIND = {
    "--outputs", "--expected", "--softmax", "--argmax", "--top-k", "--labels", "--postprocess-output", "--class-axis",
}  # fmt: skip
"""Options that say something of the outputs, which are others where a network is cut."""
NAMING = {"--input", "--dynamic", "--range", "--preprocess-input", "--rename"}
"""Options whose values begin with the name of an input."""
ARRAYS = {"--inputs", "--also", "--image"}
"""Options with values of all inputs."""


class Asked(NamedTuple):
    """The command line that asks for a conversion."""

    words: tuple[str, ...]
    """The command and its arguments."""
    options: tuple[tuple[str, ...], ...]
    """Each option, as it is written."""
    tensors: frozenset[str]
    """Names of the network's own, without what options put around it."""


ASKED: ContextVar[Asked | None] = ContextVar("ASKED", default=None)


@contextlib.contextmanager
def asked_by(words: Sequence[object], options: Sequence[tuple[str, ...]], model: Model) -> Iterator[None]:
    """A command line asks for what is done here; commands that are proposed are like it."""
    nodes = () if model.graph is None else model.graph.nodes
    tensors = frozenset(Entry(n, i).name for n in nodes if n.op is not None for i in range(n.num_outputs))
    token = ASKED.set(Asked(tuple(str(word) for word in words if word is not None), tuple(options), tensors))
    try:
        yield
    finally:
        ASKED.reset(token)


class Try(NamedTuple):
    """Outcome of a network that was cut at some tensors."""

    words: str = ""
    """The command that converts it; empty where it does not convert."""
    failing: frozenset[str] = frozenset()
    """Nodes that are in the way there."""


def with_cut_points(
    error: UnsupportedModel,
    model: Model,
    specs: Mapping[str, Spec],
    opset: int | str | None,
    check: Callable[[Converted], None],
) -> UnsupportedModel:
    """The error with a command that converts the network up to the nodes that do not convert, where there is one: it was tried.

    check: raises ConversionError for what must not be written."""
    assert model.graph is not None
    # without sizes more nodes fail than those that have no translation whatever the sizes are
    lasting = untranslatable(model.graph, opset if isinstance(opset, int) else None) or error.problems
    words = find_cut(model, {p.node for p in lasting}, lambda names: _try(model, names, specs, opset, check))
    sized = all(n in specs and is_known(specs[n].shape) for n in split_inputs(model, specs)[0])
    problems = error.problems if sized else lasting
    return UnsupportedModel(problems, hint=f"up to there it converts: {words}" if words else "")


def find_cut(model: Model, failing: Collection[str], attempt: Callable[[tuple[str, ...]], Try]) -> str:
    """The words of the first try that works: right before the nodes that fail, and before those that are found to fail when these
    are cut away; then further and further up, by halves. Empty where none does, or not in SECONDS.

    Outputs that do not follow from what fails stay."""
    assert model.graph is not None
    end, wrong = time.monotonic() + SECONDS, set(failing)
    tried: dict[tuple[str, ...], Try] = {}

    asked = ASKED.get()

    def works(names: tuple[str, ...]) -> bool:
        if asked is not None and not asked.tensors.issuperset(names):
            return False
        if names and names not in tried and time.monotonic() < end:
            tried[names] = attempt(names)
        return bool(tried.get(names, Try()).words)

    while True:
        nodes = [n for n in model.graph.nodes if n.op is not None and n.name in wrong]
        before, heads = tensors_before(model, nodes)
        others = tuple(dict.fromkeys(e.name for e in heads))
        cuts = tuple(dict.fromkeys(e.name for e in before))[:MOST]
        together = tuple(dict.fromkeys((*others, *cuts)))
        if works(together):
            return tried[together].words
        learned = tried.get(together, Try()).failing - wrong
        if not learned:
            break
        wrong |= learned
    for names in (others, *((c,) for c in cuts)):
        if works(names):
            return tried[names].words
    for entry in before[:MOST]:
        above = [n for n in Graph([entry]).nodes[:-1] if n.op is not None]
        found, low, high = "", 0, len(above)
        while low < high:
            middle = (low + high) // 2
            names = (Entry(above[middle]).name,)
            if works(names):
                found, low = tried[names].words, middle + 1
            else:
                high = middle
        if found:
            return found
    return ""


def command_for(model: Model, inputs: Mapping[str, Spec], outputs: Sequence[str], options: Sequence[str] = ()) -> str:
    """The command that converts a model up to these tensors: that which was given, with what of it holds for the part. inputs: of
    the part. options: where no command line was given."""
    asked = ASKED.get()
    if asked is None:
        words = ["gluonnx", "convert", str(model.place or "MODEL")]
        if model.path is not None and model.params_path is not None and model.path not in model.params_path.parents:
            words.append(str(model.params_path))
        kept: list[str] = []
        given: set[str] = set()
    else:
        words = ["gluonnx", *asked.words]
        gone = set(model.variables()) - {*inputs}
        holding = [o for o in asked.options if o[0] not in BEHIND and not (gone and o[0] in ARRAYS)]
        holding = [o for o in holding if o[0] not in NAMING or not _names(o[-1], gone)]
        whole = any(o[0] in ARRAYS for o in holding)
        given = {n for n in inputs if whole or any(o[0] == "--input" and _names(o[-1], {n}) for o in holding)}
        kept, options = [word for option in holding for word in option], ()
    # open axes have names: they are --dynamic's, and --input wants sizes
    sizes = {n: ",".join(str(d if isinstance(d, int) else 1) for d in s.shape or ()) for n, s in inputs.items()}
    words += [*kept, *(w for n, size in sizes.items() if n not in given for w in ("--input", f"{n}:{size}"))]
    if asked is None:
        axes = {n: [f"{i}={d}" for i, d in enumerate(s.shape or ()) if isinstance(d, str)] for n, s in inputs.items()}
        words += [w for n, each in axes.items() if each for w in ("--dynamic", f"{n}:{','.join(each)}")]
    words += [w for n in outputs for w in ("--outputs", n)]
    return shlex.join([*words, *options])


def _names(value: str, names: Collection[str]) -> bool:
    """True for the value of an option that begins with one of the names."""
    return any(value == name or value.startswith((f"{name}:", f"{name}=")) for name in names)


def tensors_before(model: Model, failing: Sequence[Node]) -> tuple[list[Entry], list[Entry]]:
    """Tensors that nodes that fail read, of nodes that compute and do not follow from such; and the outputs that do not."""
    assert model.graph is not None
    wrong = {id(n) for n in failing}
    for node in model.graph.nodes:
        if any(id(e.node) in wrong for e in node.inputs):
            wrong.add(id(node))
    read = (e for node in failing for e in node.inputs)
    before, heads = (
        [e for e in entries if e.node.op is not None and id(e.node) not in wrong]
        for entries in (read, model.graph.outputs)
    )
    # a label that was cast or reshaped is no network: it reads no weights
    weighty = [e for e in before if any(v.name in model.params for v in Graph([e]).variables())]
    return weighty or before, heads


def _try(
    model: Model,
    names: Sequence[str],
    specs: Mapping[str, Spec],
    opset: int | str | None,
    check: Callable[[Converted], None],
) -> Try:
    """The network cut at these tensors, converted."""
    try:
        cut = model.select(list(names))
        assert cut.graph is not None
        known = {n.name: specs[n.name] for n in cut.graph.variables() if n.name in specs}
        try:
            settled = settle_inputs(cut, dict(known), {})
        except BadInput:
            lacking = [n for n in cut.variables() if n not in known]
            made = {n: _made_up(sizes) for n, sizes in proposed_sizes(cut, lacking, known).items()}
            settled = settle_inputs(cut, known | made, {})
        check(ONNX.translated(cut, inputs=settled, opset=opset))
    except UnsupportedModel as error:
        return Try(failing=frozenset(p.node for p in error.problems))
    except (BadInput, MXNetError, ConversionError):
        return Try()
    return Try(command_for(model, {n: s for n, s in settled.items() if is_known(s.shape)}, names))


def _made_up(sizes: Sequence[int | str]) -> Spec:
    return Spec(tuple(d if isinstance(d, int) else SIDES[0] for d in sizes))
