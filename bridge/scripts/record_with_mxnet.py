"""Record with MXNet itself what a model gives: run this on the machine that still has MXNet. It needs mxnet and numpy alone.

    python record_with_mxnet.py PREFIX --inputs in.npz -o out.npz
    python record_with_mxnet.py PREFIX --input data:1,3,224,224 --range data:0,255 -o out.npz

PREFIX: of PREFIX-symbol.json and PREFIX-0000.params, as save_checkpoint of a Module and export of a Gluon block write them, or the
symbol file itself. The .npz holds the inputs and the outputs; elsewhere, without MXNet, a model is held against it with

    gluonnx verify MODEL --expected out.npz

Numbers are drawn as gluonnx draws them: as they are expected, wider, and at the edges, so that bounds inside a network (the 6 of a
relu6) are reached. Whole numbers that pick rows or classes, lengths of sequences and regions of images are drawn within the sizes
that the symbol says, and states of a recurrent layer need no size. gluonnx knows more of some inputs (which numbers a network
expects): what ``gluonnx record`` has written can be given as --inputs, and is recorded again, all of its runs.

Runs on Python 3.6 and newer and MXNet 1.0 to 1.9, on the CPU, in inference. Labels are fed zeros, as no network reads them then.
"""

# For old machines: no annotations that need a newer Python, and nothing of the package that this file comes with.

import argparse
import copy
import datetime
import difflib
import hashlib
import json
import os
import platform
import re
import sys

# Before MXNet is loaded: 1.9.1 with oneDNN fuses an activation into its convolution also where both are outputs (--all), and then
# gives the convolution's numbers for both.
os.environ.setdefault("MXNET_SUBGRAPH_BACKEND", "NONE")

import mxnet as mx  # pyright: ignore[reportMissingImports]
import numpy as np
from plain_draws import EXPECTED, KINDS, MADE_UP, Numbers, Way, first_that_runs

ITSELF = mx.__name__ == "mxnet"
"""gluonnx is importable as mxnet, too, and its numbers are not MXNet's."""
RUN = re.compile(r"(\d+)/inputs/(.+)", re.DOTALL)
"""A member of a recording."""


def files_of(name, epoch, params):
    """The symbol file and the file of parameters (None where there is none) that a name means."""
    symbol = name if name.endswith(".json") else name + "-symbol.json"
    if not os.path.isfile(symbol):
        sys.exit(f"{symbol}: no such file; wanted a prefix, or a -symbol.json file")
    if params:
        return symbol, params
    folder = os.path.dirname(symbol) or "."
    prefix = re.sub(r"(-symbol)?\.json$", "", os.path.basename(symbol))
    found = {}
    for file in os.listdir(folder):
        match = re.match(re.escape(prefix) + r"-(\d+)\.params$", file)
        if match:
            found[int(match.group(1))] = os.path.join(folder, file)
    if epoch is not None and epoch not in found:
        sys.exit(f"{symbol}: no parameters of epoch {epoch} beside it; there are {sorted(found) or 'none'}")
    return symbol, found[epoch if epoch is not None else max(found)] if found else None


def parameters(path):
    """Arrays by bare name, and the names of those that are auxiliary."""
    loaded = mx.nd.load(path) if path else {}
    arrays, auxiliary = {}, set()
    for name, array in loaded.items() if isinstance(loaded, dict) else ():
        kind, _, bare = name.partition(":")
        if kind == "aux":
            auxiliary.add(bare)
        arrays[bare if kind in ("arg", "aux") else name] = array
    return arrays


def parse(texts, of):
    """NAME:NUMBER,... by name."""
    out = {}
    for text in texts:
        name, _, rest = text.rpartition(":")
        try:
            out[name] = tuple(of(part) for part in rest.split(","))
        except ValueError:
            sys.exit(f"{text!r}: wanted NAME:NUMBER,NUMBER,...")
        if not name:
            sys.exit(f"{text!r}: wanted NAME:NUMBER,NUMBER,...")
    return out


# -- numbers that inputs take -----------------------------------------------------------------------------------------------

# In what follows numbers that mean something are (low, high, whole), or a list of such: of the places along the last axis.


def below(size):
    """The positions on an axis of that size."""
    return (0, max(size - 1, 0), True)


def of_lengths(attributes, shapes):
    """Steps of a sequence, of operators that may be told them."""
    axis = int(attributes.get("axis", 0))
    return {1: (1, shapes[0][axis], True)}


def of_regions(attributes, shapes):
    """An image, and corners in it: the first before the middle, the second behind it."""
    count, _, high, wide = shapes[0]
    scale = float(attributes.get("spatial_scale", 1)) or 1.0
    sides = [size / scale for size in (wide, high)]
    first = [(0, side * 3 / 8, False) for side in sides]
    return {1: [below(count), *first, *((side / 2, max(side / 2, side - 1 / scale), False) for side in sides)]}


def of_labels(attributes, shapes):
    """Classes but the blank one, and the lengths of both."""
    shift = 1 if attributes.get("blank_label", "first") == "first" else 0
    found, place = {1: (shift, shapes[0][2] - 2 + shift, True)}, 2
    for name, ends in (("data", (shapes[0][0], shapes[0][0], True)), ("label", (1, shapes[1][1], True))):
        if truth(attributes.get(f"use_{name}_lengths")):
            found[place] = ends
            place += 1
    return found


def of_pick(attributes, shapes):
    """Positions on one axis, or in all of the data."""
    axis = attributes.get("axis", "-1")
    return {1: below(int(np.prod(shapes[0])) if axis == "None" else shapes[0][int(axis)])}


def truth(text):
    """The truth that an attribute says."""
    return text in ("True", "true", "1")


SEQUENCES = ("SequenceMask", "SequenceLast", "SequenceReverse")
TAKES = {
    "Embedding": lambda a, shapes: {0: below(int(a["input_dim"]))},
    "_contrib_SparseEmbedding": lambda a, shapes: {0: below(int(a["input_dim"]))},
    "one_hot": lambda a, shapes: {0: below(int(a["depth"]))},
    "take": lambda a, shapes: {1: below(shapes[0][int(a.get("axis", 0))])},
    "batch_take": lambda a, shapes: {1: below(shapes[0][1])},
    "pick": of_pick,
    "gather_nd": lambda a, shapes: {1: below(min(shapes[0][: shapes[1][0]]))},
    "SequenceMask": of_lengths,
    "SequenceLast": of_lengths,
    "SequenceReverse": of_lengths,
    "softmax": lambda a, shapes: {1: (1, shapes[0][int(a.get("axis", -1))], True)},
    "ROIPooling": of_regions,
    "_contrib_ROIAlign": of_regions,
    "_contrib_PSROIPooling": of_regions,
    "_contrib_DeformablePSROIPooling": of_regions,
    "CTCLoss": of_labels,
    "_contrib_CTCLoss": of_labels,
    "ctc_loss": of_labels,
    "_contrib_ctc_loss": of_labels,
}
"""By operator: from its attributes and the shapes of its inputs, the numbers that inputs take, by their place."""
MOVES = (
    *(
        "Reshape",
        "reshape",
        "Flatten",
        "flatten",
        "transpose",
        "SwapAxis",
        "swapaxes",
        "expand_dims",
        "squeeze",
        "tile",
        "repeat",
    ),
    *(
        "slice",
        "slice_axis",
        "slice_like",
        "SliceChannel",
        "split",
        "reverse",
        "flip",
        "broadcast_to",
        "broadcast_like",
    ),
    *("Cast", "cast", "BlockGrad", "stop_gradient", "_copy", "identity"),
)
"""Operators that give the numbers of their first input, or some of them."""
STATES = {"rnn_relu": 1, "rnn_tanh": 1, "gru": 1, "lstm": 2}
"""Numbers of states of a recurrent layer, by its mode, which come after the data and the parameters."""


class Known:
    """The shapes of a symbol, and the numbers that its inputs take."""

    def __init__(self, symbol, stored):
        """stored: arrays of parameters by name."""
        self.symbol, self.stored = symbol, stored
        self.nodes = json.loads(symbol.tojson())["nodes"]
        self.found = {}

    @staticmethod
    def attributes(node):
        """Attributes of a node, as texts, wherever its version of MXNet writes them."""
        return node.get("attrs") or node.get("attr") or node.get("param") or {}

    def shapes(self, given):
        """Shapes of the outputs of all nodes, in order, by those of inputs; () where they are not known. Nothing where MXNet
        does not say them."""
        inner = self.symbol.get_internals()
        names = inner.list_outputs()
        known = {n: a.shape for n, a in self.stored.items() if n in names}
        known.update((n, shape) for n, shape in given.items() if n in names)
        try:
            left = list(zip(names, inner.infer_shape_partial(**known)[1] or ()))
        except mx.base.MXNetError:
            return []  # it is said where the symbol is run
        out = []
        for node, following in zip(self.nodes, [*self.nodes[1:], None]):
            own = []
            while left and self._is_of(left[0][0], node, own, following):
                own.append(tuple(left.pop(0)[1] or ()))
            out.append(own)
        return [] if left else out

    @staticmethod
    def _is_of(name, node, own, following):
        """True for a name of an output of this node, of which there are some already, and not of the one behind it."""
        if node["op"] == "null":
            return not own and name == node["name"]
        if following is not None and own:
            behind = following["name"]
            if name == behind if following["op"] == "null" else name.startswith(behind + "_"):
                return False
        return name.startswith(node["name"] + "_")

    def states(self, given):
        """Shapes of states of recurrent layers that are free inputs, by those of the inputs that are given."""
        shapes, found = self.shapes(given), {}
        for node in self.nodes if shapes else []:
            if node["op"] == "RNN":
                for number, *_ in node["inputs"][2 : 2 + STATES.get(self.attributes(node).get("mode", ""), 0)]:
                    name = self.nodes[number]["name"]
                    shape = shapes[number][0] if shapes[number] else ()
                    if (
                        self.nodes[number]["op"] == "null"
                        and name not in self.stored
                        and shape
                        and all(n > 0 for n in shape)
                    ):
                        found[name] = shape
        return found

    def taken(self, given):
        """Numbers that inputs take, by name. given: shapes of inputs."""
        key = tuple(sorted(given.items()))
        if key not in self.found:
            self.found[key] = self._taken(self.shapes(given))
        return self.found[key]

    def _taken(self, shapes):
        found = {}
        for number in reversed(range(len(self.nodes) if shapes else 0)):  # readers before what they read
            node = self.nodes[number]
            own = self._own(node, [shapes[n][i] if i < len(shapes[n]) else () for n, i, *_ in node["inputs"]])
            if node["op"] in MOVES and number in found:
                own[0] = found[number]
            for place, numbers in own.items():
                read, index = node["inputs"][place][:2]
                if not index:
                    found[read] = numbers if read not in found else both(found[read], numbers)
        return {self.nodes[n]["name"]: numbers for n, numbers in found.items() if self.nodes[n]["op"] == "null"}

    def _own(self, node, shapes):
        """Numbers that a node itself takes, by the place of the input; nothing where sizes are not known."""
        attributes = self.attributes(node)
        if node["op"] == "RNN" and truth(attributes.get("use_sequence_length")) and shapes[0]:
            found = {len(shapes) - 1: (1, shapes[0][0], True)}
        elif (node["op"] in SEQUENCES and not truth(attributes.get("use_sequence_length"))) or node["op"] not in TAKES:
            return {}
        else:
            try:
                found = TAKES[node["op"]](attributes, shapes)
            except (IndexError, ValueError):  # of shapes that are not known
                return {}
        ends = [end for numbers in found.values() for end in (numbers if isinstance(numbers, list) else [numbers])]
        fits = all(low <= high for low, high, _ in ends) and all(size > 0 for shape in shapes[:1] for size in shape)
        return {place: numbers for place, numbers in found.items() if place < len(node["inputs"])} if fits else {}


def both(numbers, others):
    """Numbers that are among these and those."""
    if isinstance(numbers, list) or isinstance(others, list):
        count = len(numbers if isinstance(numbers, list) else others)
        one, other = (n if isinstance(n, list) else [n] * count for n in (numbers, others))
        return [both(a, b) for a, b in zip(one, other)]
    return max(numbers[0], others[0]), min(numbers[1], others[1]), numbers[2] or others[2]


def drawn(one, numbers):
    """Values of an input that takes these numbers (None for any)."""
    if isinstance(numbers, list) and one.shape[-1:] == (len(numbers),):
        column = copy.copy(one)
        column.shape = one.shape[:-1]
        return np.stack([drawn(column, each) for each in numbers], -1)
    if numbers is None or isinstance(numbers, list):
        return one.normal()[0]
    low, high, whole = numbers
    if not whole:
        return one.real(low, high)[0]
    low, high = int(np.ceil(low)), int(np.floor(high))
    if low > high:
        sys.exit(f"{one.name}: no number in its --range that the network takes; give another")
    return one.whole(low, high)[0]


class Case:
    """Inputs of a run, drawn where no array is given."""

    def __init__(self, given, shapes, ranges, seed, known=None, way=EXPECTED):
        """given: arrays by name. shapes: of inputs, which are drawn where they are not among these. known: of the symbol."""
        self.given, self.shapes, self.ranges, self.seed, self.way = given, shapes, ranges, seed, way
        self.known = known
        self.feeds, self.kind, self.made_up = dict(given), "given", way.kind in MADE_UP
        sizes = dict(shapes)
        sizes.update((name, array.shape) for name, array in given.items())
        if known is not None:
            sizes.update((name, shape) for name, shape in known.states(sizes).items() if name not in sizes)
        takes = {} if known is None or set(sizes) <= set(given) else known.taken(sizes)
        for name, shape in sizes.items():
            if name not in given:
                one, numbers = Numbers(name, shape, np.dtype(np.float32), seed, way), takes.get(name)
                if name in ranges:
                    asked = (*ranges[name], False)
                    numbers = asked if numbers is None else both(numbers, asked)
                self.feeds[name], self.kind = drawn(one, numbers).astype(np.float32), way.kind

    @property
    def milder(self):
        """The maker of the case that it gives way to; None where there is none."""
        milder = self.way.milder
        return None if milder is None else lambda: self.drawn(milder)

    def drawn(self, way):
        """The same, drawn in another way."""
        return Case(self.given, self.shapes, self.ranges, self.seed, self.known, way)


def read(path):
    """The sets of inputs in an .npz and how they were drawn: one set of arrays by name, or those of all runs of a recording."""
    with np.load(path) as stored:
        members = {name: RUN.match(name) for name in stored.files}
        if not any(members.values()):
            return [(dict(stored), "given")]
        runs = {}
        for name, match in members.items():
            if match:
                runs.setdefault(int(match.group(1)), {})[match.group(2)] = stored[name]
        facts = json.loads(str(stored["gluonnx"])) if "gluonnx" in members else {}
        kinds = facts.get("kinds") or []
        if len(kinds) != len(runs):
            kinds = ["given"] * len(runs)
        return [(runs[number], kind) for number, kind in zip(sorted(runs), kinds)]


def sets_of_inputs(arguments, known=None):
    """The cases that are recorded in any case, and those that are made up, each with the number of the one beside which it is
    looked at."""
    shapes, ranges = parse(arguments.input, int), parse(arguments.range, float)
    kinds = [kind for kind in arguments.draws.split(",") if kind]
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        sys.exit(f"--draws: got {', '.join(unknown)}, wanted some of {','.join(KINDS)}")
    sets = []
    for path in arguments.inputs:
        if not os.path.isfile(path):
            sys.exit(
                f"{path}: no such file; wanted an .npz of arrays named as the inputs, which np.savez({path!r}, data=array) writes; "
                "or let numbers be drawn: --input data:1,3,224,224 --range data:0,255"
            )
        sets += read(path)
    cases, further = [], []
    for given, kind in sets or [({}, "given")] * arguments.runs:
        case = Case(given, shapes, ranges, arguments.seed + len(cases), known)
        if case.kind == "given":
            case.kind, case.made_up = kind, kind in MADE_UP
        if case.made_up:
            further.append((case, 0))
            continue
        if case.kind != "given" and (sets or not cases) and set(case.feeds) != set(given):
            further += [(case.drawn(Way(each)), len(cases)) for each in kinds if each in MADE_UP]
        cases.append(case)
    if not cases:
        sys.exit("nothing to record but draws that were made up beside others; give the whole recording")
    return cases, further


def executor(symbol, stored, given):
    """The symbol bound to arrays: those given, those stored, and zeros for labels."""
    arguments, auxiliary = symbol.list_arguments(), symbol.list_auxiliary_states()
    unknown = sorted(set(given) - set(arguments))
    if unknown:
        free = [name for name in arguments if name not in stored]
        sys.exit(f"inputs {unknown}: the symbol has none of these names; it takes {free}")
    known = {name: array.shape for name, array in stored.items() if name in arguments}
    known.update({name: array.shape for name, array in given.items()})
    free = [name for name in arguments if name not in known and not name.endswith("label")]
    try:
        shapes, _, of_auxiliary = symbol.infer_shape_partial(**known)
    except mx.base.MXNetError as error:
        if free:  # without which it may not be able to go on
            give = f"give it in --inputs, or its size as {proposed(free[0], {})}"
            sys.exit(f"no value for {free}; {give} (MXNet: {said(error)})")
        raise
    sizes = dict(zip(arguments, shapes or ()))
    missing = [name for name in arguments if name not in known and not is_label(name, sizes.get(name))]
    if missing:
        sys.exit(f"no value for {missing}; give it in --inputs, or its size as {proposed(missing[0], sizes)}")
    dtypes = {name: array.dtype for name, array in stored.items() if name in arguments}
    dtypes.update({name: array.dtype for name, array in given.items()})
    types = dict(zip(arguments, symbol.infer_type(**dtypes)[0] or [np.float32] * len(arguments)))
    args = {}
    for name in arguments:
        if name in given:
            args[name] = mx.nd.array(given[name], dtype=given[name].dtype)
        elif name in stored:
            args[name] = stored[name]
        else:
            args[name] = mx.nd.zeros(sizes[name], dtype=types[name])
    states = {
        name: stored[name] if name in stored else mx.nd.zeros(shape) for name, shape in zip(auxiliary, of_auxiliary)
    }
    return symbol.bind(mx.cpu(), args, aux_states=states, grad_req="null")


def is_label(name, shape):
    """True for a label of that shape, which no network reads in inference."""
    return name.endswith("label") and bool(shape) and all(size > 0 for size in shape)


def proposed(name, sizes):
    """Words for the size of an input to give. sizes: by name those that MXNet infers from others, as far as it does."""
    shape = sizes.get(name)
    if not shape:
        return f"--input {name}:D1,D2,... (of pictures {name}:1,3,224,224, for instance)"
    sizes = ",".join(str(size if size > 0 else 1) for size in shape)
    return f"--input {name}:{sizes}"


def named(texts, outputs):
    """Names of inner outputs that an option gives; with commas between them, where no output is called so as it stands."""
    found = []
    for text in texts:
        found += [text] if text in outputs else [part.strip() for part in text.split(",") if part.strip()]
    for name in found:
        if name not in outputs:
            close = difflib.get_close_matches(name, outputs, 3, 0.3) or outputs[-3:]
            sys.exit(f"--outputs {name}: the symbol has no output of that name; did you mean {' or '.join(close)}?")
    return found


def digest(path):
    """sha256 of a file."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def said(error):
    """The first line of an error that says what is wrong."""
    lines = str(error).strip().split("\n")
    return next((line.strip() for line in lines if not line.strip().startswith(("Traceback", "File "))), lines[0])


def refusal(error):
    """Words for what MXNet does not take; empty for any other error."""
    return f"MXNet does not take it ({said(error)})" if isinstance(error, mx.base.MXNetError) else ""


def main():
    """Record, as the arguments say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", help="PREFIX, or PREFIX-symbol.json")
    parser.add_argument("--epoch", type=int, help="of the parameters; by default the newest")
    parser.add_argument("--params", help="the file of parameters, where it has another name")
    parser.add_argument(
        "--inputs",
        action="append",
        default=[],
        help="an .npz of arrays by name, a run for each; or an earlier recording",
    )
    parser.add_argument("--input", action="append", default=[], help="NAME:D1,D2,... of an input to draw")
    parser.add_argument("--range", action="append", default=[], help="NAME:LOW,HIGH of what is drawn")
    parser.add_argument("--runs", type=int, default=1, help="how many sets are drawn")
    parser.add_argument("--draws", default=",".join(KINDS), help="kinds of draws, by default " + ",".join(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--outputs", action="append", default=[], help="inner outputs instead, such as fc1_output, with commas"
    )
    parser.add_argument(
        "--all", action="store_true", help="every inner output: to find the first that is read otherwise"
    )
    parser.add_argument("-o", "--output", required=True, help="the .npz to write")
    arguments = parser.parse_args()

    path, params = files_of(arguments.model, arguments.epoch, arguments.params)
    symbol, stored = mx.sym.load(path), parameters(params)
    inner, heads = symbol.get_internals(), symbol.list_outputs()
    arguments.outputs = named(arguments.outputs, inner.list_outputs())
    names = (
        [name for name in inner.list_outputs() if name not in symbol.list_inputs()]
        if arguments.all
        else arguments.outputs
    )
    if names:
        symbol = mx.sym.Group([inner[name] for name in names])

    def run(case):
        outputs = executor(symbol, stored, case.feeds).forward(is_train=False)
        return {name: array.asnumpy() for name, array in zip(symbol.list_outputs(), outputs)}

    cases, further = sets_of_inputs(arguments, Known(symbol, stored))
    recorded, kinds = [], []
    for case in cases:
        try:
            recorded.append((case.feeds, run(case)))
        except mx.base.MXNetError as error:
            sizes = ", ".join(f"{name} {array.shape}" for name, array in sorted(case.feeds.items()))
            sys.exit(
                f"MXNet does not take {sizes}: {said(error)}; give the sizes that the network was trained for, (N, C, H, W) as a "
                "rule"
            )
        kinds.append(case.kind)
    for case, number in further:
        chosen, outputs, why = first_that_runs(case, run, refusal, recorded[number][1])
        if chosen is None:
            print(f"the draw of {case.kind} was left out: {why}")
            continue
        recorded.append((chosen.feeds, outputs))
        kinds.append(chosen.kind)
    members = {
        f"{number}/{kind}/{name}": array
        for number, both in enumerate(recorded)
        for kind, arrays in zip(("inputs", "outputs"), both)
        for name, array in arrays.items()
    }
    if not members:
        sys.exit("nothing to record; give --inputs FILE.npz or --input NAME:D1,D2,...")
    by = "MXNet " + mx.__version__ if ITSELF else "gluonnx in the place of MXNet"
    facts = {
        "format": 1,
        "by": by,
        "script": "record_with_mxnet.py",
        "date": datetime.datetime.utcnow().isoformat()[:19] + "+00:00",
        "model": re.sub(r"(-symbol)?\.json$", "", os.path.basename(path)),
        "files": {os.path.basename(file): digest(file) for file in (path, params) if file},
        "outputs": arguments.outputs or heads,
        "seed": arguments.seed,
        "kinds": kinds,
        "ranges": parse(arguments.range, float),
        "subgraph_backend": os.environ["MXNET_SUBGRAPH_BACKEND"],
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
    members["gluonnx"] = np.array(json.dumps(facts))
    np.savez(arguments.output, **members)
    for name in sorted(members):
        if "/outputs/" in name:
            print(f"{name}: {members[name].dtype} {members[name].shape}")
    print(f"recorded by {by} in {arguments.output}")
    if not ITSELF:
        print(
            "gluonnx ran here and not MXNet: this says nothing of how gluonnx reads the model. Run the script with plain "
            "`python`, where MXNet is installed",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
