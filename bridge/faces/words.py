"""Numbers and names in few characters, and the sentences that all faces share."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..compare import SCALED, SIGNAL, Difference
from ..result import GROWN, RECORDED, Divergence, Layer, ModelFile, VerifyResult
from .blocks import Tone

MEANINGS = {
    "local": "the node itself computes something else from the same values",
    "accumulated": "the node is right by itself; what differs has grown before it (--atol, --rtol accept it), or swapped near ties "
    "if the node ranks or selects (try another --seed, and verify what it reads: --outputs)",
    "inexact": "the models are the same here, and a runtime rounds more than float32 has to; what follows magnifies it (--atol, "
    "--rtol accept it)",
    "unknown": "the node could not be run alone",
}
LEVELS = (-8.0, 0.0)
"""Powers of ten of a layer's error, over its largest number, between which a strip has its levels."""
SHOWN_FAULTS = 5
SHORT = 30
"""Characters of how an input was drawn up to which that is told in a line of much else."""


def small(number: float) -> str:
    """An error in few digits."""
    return "0" if number == 0 else f"{number:.1e}" if math.isfinite(number) else str(number)


def enough(number: float) -> str:
    """A tolerance in two digits, rounded up so that it is one."""
    if number == 0 or not math.isfinite(number):
        return small(number)
    unit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return f"{math.ceil(number / unit - 1e-9) * unit:.1e}"


def place(index: Sequence[int]) -> str:
    """Numbers of an element along each axis."""
    return f"({','.join(map(str, index))})" if index else ""


def shape(dims: Sequence[Any] | None) -> str:
    """Sizes along each axis."""
    return "shape unknown" if dims is None else f"({','.join(map(str, dims))})" if dims else "scalar"


def spec(found: Mapping[str, Any], *, quiet: bool = False) -> str:
    """Dtype and sizes of an input or output. quiet: nothing for sizes that are not known."""
    dims = found.get("shape")
    if dims is None and quiet:
        return found.get("dtype") or "dtype unknown"
    sizes = "shape unknown" if dims is None else " x ".join(map(str, dims)) or "scalar"
    return f"{found.get('dtype') or 'dtype unknown'} {sizes}"


def given(found: Mapping[str, Any]) -> str:
    """Kind and origin of an input, and its name in the second model where that is another."""
    second = f"; {found['second']} in the second" if "second" in found else ""
    return f"{spec(found)}, {found.get('from', 'given')}{second}"


def further(result: VerifyResult) -> str:
    """Kinds of the runs after the first, with their sizes where these are others."""
    said = []
    for run in result.runs[1:]:
        sizes = run.get("shapes", {})
        other = {} if sizes == result.runs[0].get("shapes") else sizes
        said.append(" ".join([kind(run), *(f"{n} {shape(dims)}" for n, dims in other.items())]))
    return ", ".join(text for text in dict.fromkeys(said) if text != "given")


def shorten(text: str, width: int) -> str:
    """The text, its middle left out where it is too long: both ends of a name tell it from others."""
    if len(text) <= width:
        return text
    if width < 5:
        return text[:width]
    head = (width - 2) // 2
    return f"{text[:head]}..{text[len(text) - (width - 2 - head) :]}"


def shorten_output(name: str, width: int) -> str:
    """The name of an output, shortened so that the side of a comparison stays in it, which tells it from the others of its name."""
    side = next((s for s, end in RECORDED.items() if name.endswith(end)), None)
    if side is None or len(name) <= width:
        return shorten(name, width)
    end = f" ({side})"
    return f"{shorten(name.removesuffix(RECORDED[side]), max(5, width - len(end)))}{end}"


def top1(d: Difference) -> str:
    """Share of rows whose greatest is at the same place, and that this is one place in all rows, where it is; empty where the
    output is no list of scores by row."""
    if d.top1 is None or len(d.shape) != 2:
        return ""
    return f"{d.top1:.1%}" + ("" if d.winner is None else f", always {d.winner}")


def told(d: Difference) -> str:
    """The verdict over one output in a word or three."""
    if d.equal and SIGNAL in d.settled_by:
        return d.settled_by
    return (f"equal by {d.settled_by}" if d.settled_by else "equal") if d.equal else "differs"


def row(layer: Layer, verdict: str) -> tuple[str, Tone]:
    """The word for a layer in a table of all, and its tone. verdict: of the models; where that is not "not equivalent", the word
    is none of a fault without one."""
    found, own = layer.accumulated, layer.local
    wrong = ["the node itself"] if own is not None and not own.equal else []
    if found is not None and not found.equal:
        if verdict == "not equivalent":
            wrong = ["differs", *wrong]
        elif not wrong:
            return "not judged", "warn"
    if wrong:
        return ", ".join(wrong), "bad"
    if found is None:
        return "not seen", ""
    return ("rounding", "dim") if found.settled_by == GROWN else (told(found), "")


def reliefs(result: VerifyResult) -> list[str]:
    """Sentences for layers that are further apart than the tolerance where the models are equivalent."""
    if result.verdict == "not equivalent":
        return []
    words = [row(layer, result.verdict)[0] for layer in result.layers]
    grown, unknown = words.count("rounding"), words.count("not judged")
    said = []
    if grown:
        said.append(
            f"{grown} of {len(words)} layers say rounding: they are further apart than the tolerance, and no fault. It counts by "
            "channel, and as a rule a few numbers of a channel of small ones are beyond it. Given the same values both models "
            "compute the same there, and in every layer before; what is seen is rounding that added up, and the outputs agree."
        )
    if unknown:
        said.append(
            f"{unknown} of {len(words)} layers are not judged: they are further apart than the tolerance, which decides over the "
            "outputs alone, and whether their nodes compute the same from the same values was not found out for all."
        )
    return said


def run(result: VerifyResult, index: int) -> str:
    """A run by its place among all, its kind and sizes."""
    return f"run {index + 1} of {len(result.runs)} ({_how(result, index)})"


def _how(result: VerifyResult, index: int) -> str:
    found = result.runs[index]
    sizes = [f"{n} {shape(dims)}" for n, dims in list(found.get("shapes", {}).items())[:2]]
    more = ["..."] if len(found.get("shapes", {})) > 2 else []
    return ", ".join([kind(found), *sizes, *more])


def runs_of(result: VerifyResult) -> list[str]:
    """By output the number of the run that its numbers are of; none where that is one for all."""
    found = [result.run_of.get(d.name) for d in result.differences]
    if len(result.runs) < 2 or len({i for i in found if i is not None}) < 2:
        return []
    return ["" if i is None else str(i + 1) for i in found]


def worst_beside(result: VerifyResult) -> str:
    """As worst, beside a table that has the runs of outputs in a column of its own."""
    if not runs_of(result):
        return worst(result)
    places: dict[str, list[str]] = {}
    for index in sorted({i for d in result.differences if (i := result.run_of.get(d.name)) is not None}):
        places.setdefault(_how(result, index), []).append(str(index + 1))
    said = [f"{'runs' if len(found) > 1 else 'run'} {', '.join(found)} ({how})" for how, found in places.items()]
    return f"numbers and counts are of the run where an output is worst, one of {len(result.runs)}: {'; '.join(said)}"


def worst(result: VerifyResult) -> str:
    """A sentence for the runs that the numbers of outputs are of; empty where there is one run."""
    if len(result.runs) < 2:
        return ""
    by_run: dict[int, list[str]] = {}
    for d in result.differences:
        if (index := result.run_of.get(d.name)) is not None:
            by_run.setdefault(index, []).append(d.name)
    if not by_run:
        return ""
    names = len(result.differences) > 1
    said = [f"{run(result, i)}{f' for {_few(by_run[i])}' if names else ''}" for i in sorted(by_run)]
    return f"numbers and counts are of the run where an output is worst: {'; '.join(said)}"


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def basis(result: VerifyResult, inputs: Mapping[str, Any], outputs: Mapping[str, Any] | None = None) -> str:
    """Line about what a verdict rests on: the runs, how their inputs were made, the sizes of open axes, and how far apart outputs
    are. inputs, outputs: the shapes of the second model's, by name, with names for open axes, and ? where these have none."""
    kinds = list(dict.fromkeys(kind for each in result.runs for kind in _kinds(each)))
    sizes: dict[str, dict[str, None]] = {}
    for each in result.runs:
        for name, known in each.get("inputs", {}).items():
            dims, spec_of = known.get("shape", ()), inputs.get(known.get("second", name), {})
            for axis, size in zip(spec_of.get("shape") or (), dims):
                if isinstance(axis, str):
                    sizes.setdefault(axis, {})[str(size)] = None
        for d in each.get("differences", ()):
            for axis, size in zip((outputs or {}).get(d["name"], {}).get("shape") or (), d.get("shape") or ()):
                if axis == "?" and sizes:  # one that follows from these
                    sizes.setdefault(f"? of {d['name']}", {})[str(size)] = None
    at = [f"{axis} {' and '.join(found)}" for axis, found in sizes.items()]
    # those of each side with a recording are runs of their own, on the same inputs, and have a line of their own
    sides = sum(any(d.name.endswith(end) for d in result.differences) for end in RECORDED.values())
    differences = [d for d in result.differences if not d.name.endswith(tuple(RECORDED.values()))]
    runs = len(result.runs) // (1 + sides)
    count = f"{runs} run{'s' if runs != 1 else ''}"
    of_sizes = f" at {', '.join(at)}" if at else ""
    apart = _apart(differences)
    # one number stands for all outputs, of which the line above names a few
    count_of, seen = len(differences), sum(d.compared for d in differences)
    every = "" if count_of < 2 else f"all {count_of} outputs " if seen == count_of else f"{seen} of {count_of} outputs "
    return f"compared {every}in {count} ({', '.join(kinds)}){of_sizes}: {apart}"


def kind(found: Mapping[str, Any]) -> str:
    """A word for how the inputs of a run were made: "expected" in the programs, of draws as the network expects its inputs, could
    be taken for outputs that somebody expects."""
    told = str(found.get("kind", "given"))
    return "drawn" if told == "expected" else told


def beside(result: VerifyResult) -> str:
    """Line about the recorded outputs that the second model, a file, was held against too; empty where there were none."""
    held = [d for d in result.differences if d.name.endswith(RECORDED["second"])]
    by = result.recording.replace(" (not said by whom)", "")
    return f"beside {by}: {_apart(held)}" if held else ""


def _apart(differences: Iterable[Difference]) -> str:
    largest = max((d.max_rel for d in differences if d.compared), default=0.0)
    return f"off by {small(largest)} of scale at most" if largest else "the same numbers"


def _kinds(found: Mapping[str, Any]) -> list[str]:
    """Words for how inputs of a run were made."""
    if found.get("kind", "given") != "expected":
        return [kind(found)]
    told = [str(each.get("from", "")) for each in found.get("inputs", {}).values()]
    drawn = [text.partition(": ")[2] for text in told if text.startswith("drawn")]
    return [text if 0 < len(text) <= SHORT else "drawn" for text in drawn] or ["drawn"]


LEGEND: tuple[tuple[str, str], ...] = (
    ("max abs", "the largest difference between two numbers at one place; at: that place"),
    ("of scale", "max abs over the largest number of the tensor: 1e-7 is about what float32 resolves"),
    ("max rel", "the largest difference over the number itself, wherever that is"),
    ("beyond", "how many numbers are further apart than the tolerance allows, of how many of that run"),
    ("needs atol", "the atol with which all would pass; 0 where rtol is enough"),
    ("rms, cosine", "root of the mean square of all differences; 1 where both outputs point the same way"),
    ("top-1", "rows whose largest number is at the same place; \"always N\": at N in all rows of all runs, so that it says little"),
    ("alone", "the difference where both models' node is given the same values, so that nothing before it counts"),
    ("equal by ...", "further apart than the tolerance, and equal by what is named: by float64, both models are as near to the "
     "exact result as float32 comes; node by node, every node gives the same from the same values"),
    ("... dB of signal to noise", "of a file on 8-bit integers, in place of equal: near enough, with so many decibels"),
    ("rounding", "a layer further apart than the tolerance whose node, and those before it, are right by themselves: no fault"),
    ("not judged", "a layer further apart than the tolerance that could not be compared alone; outputs decide"),
    ("runs", "given: your inputs; drawn: numbers as the network expects them; wide: ten times wider; edges: zeros, the "
     "largest and other extremes that it takes; another size: at another batch"),
)  # fmt: skip
"""Words of reports, and what they mean; docs/verification.md has them too."""


def side(name: str, files: Sequence[ModelFile]) -> str:
    """A model by its files and the beginnings of their hashes."""
    return " + ".join(f"{Path(f.path).name} (sha {f.sha256[:8]})" for f in files) or name


def rules(differences: Iterable[Difference]) -> list[str]:
    """Tolerances, each with the outputs that it is for where there are several."""
    found: dict[str, list[str]] = {}
    for d in differences:
        if d.tolerance:
            found.setdefault(d.tolerance, []).append(d.name)
    return list(found) if len(found) == 1 else [f"{rule} for {', '.join(names)}" for rule, names in found.items()]


def rules_beside(differences: Sequence[Difference]) -> list[str]:
    """As rules, in a line for each tolerance that differs by more than the largest numbers of outputs."""
    found = rules(differences)
    if len(found) < 2:
        return found
    short: dict[str, list[str]] = {}
    for d in differences:
        if d.tolerance:
            short.setdefault(SCALED.sub(" x the largest number of the channel", d.tolerance), []).append(d.name)
    return list(short) if len(short) == 1 else [f"{rule} for {_few(names)}" for rule, names in short.items()]


def level(layer: Layer, levels: int) -> int | None:
    """The error of a layer over its largest number, on a log scale from 0 to levels - 1; None where it is not known."""
    found = layer.accumulated
    if found is None:
        return None
    if not found.compared or (found.misplaced and not found.equal) or not math.isfinite(found.max_rel):
        return levels - 1
    low, high = LEVELS
    if found.max_rel <= 0:
        return 0
    power = (math.log10(found.max_rel) - low) / (high - low)
    return max(0, min(levels - 1, 1 + int(power * (levels - 2) + 0.5)))


def statistics(found: dict[str, Any]) -> str:
    """Statistics of a tensor in few digits."""
    words = [f"{shape(found.get('shape'))} {found.get('dtype', '')}".strip()]
    if "min" in found and "max" in found:
        words.append(f"{found['min']:.4g} to {found['max']:.4g}")
    if "mean" in found:
        words.append(f"mean {found['mean']:.4g}")
    words += [f"{found[k]} {k}" for k in ("nan", "inf") if found.get(k)]
    return ", ".join(words)


def reason(found: Divergence) -> str:
    """The numbers that the first difference is known by."""
    if found.inexact:
        return found.inexact
    d = found.local if found.local is not None and not found.local.equal else found.accumulated
    return f"{d.reason} (max abs {small(d.max_abs)})" if d.compared else d.reason


def others(result: VerifyResult) -> list[str]:
    """Nodes at fault besides the first, with what is known of each."""
    first = None if result.divergence is None else result.divergence.node
    rest = [n for n in result.faults if n != first]
    lines = []
    for node in rest[:SHOWN_FAULTS]:
        operator = next((x.operator for x in (*result.located, *result.layers) if x.node == node), "")
        known = [w for w in (result.place(node), *result.causes.get(node, ())) if w]
        known = known or [reason(d) for d in result.located if d.node == node][:1]
        lines.append(f"{node}{f' ({operator})' if operator else ''}{': ' if known else ''}{'; '.join(known)}")
    if len(rest) > SHOWN_FAULTS:
        lines.append(f"and {len(rest) - SHOWN_FAULTS} more")
    return lines


def next_command(result: VerifyResult) -> str:
    """The command that goes on from here; empty where there is none."""
    first, second = result.files
    if result.verdict != "not equivalent" or not first or not second:
        return ""
    if any(
        file.path.endswith(".npz") for file in (first[0], second[0])
    ):  # recorded numbers are no model to make smaller
        return ""
    if result.between not in (None, "not equivalent"):  # it is from the recording alone that they differ
        return ""
    places = [_beside(Path(file.path)) for file in (first[0], second[0])]
    return shlex.join(["gluonnx", "reduce", *places, "-o", "repro"])


def _beside(path: Path) -> str:
    """A path from the working folder on, where it lies in there."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def spans(result: VerifyResult) -> tuple[str, str]:
    """Words before and after the strip of all layers: the first that is off, and how many behind it are not the same either."""
    count, at = len(result.layers), result.first
    if at is None:
        said = [row(layer, result.verdict) for layer in result.layers]
        fine = not any(tone in ("warn", "bad") for _, tone in said)
        counts = [f"{n} {w}" for w in ("rounding", "not judged") if (n := sum(x == w for x, _ in said))]
        return f"1-{count} ok" if fine and result.verdict != "not equivalent" else f"1-{count}", ", ".join(counts)
    before = "" if at == 0 else "1 ok" if at == 1 else f"1-{at} ok"
    apart = [
        i for i, layer in enumerate(result.layers) if i >= at and layer.accumulated and not layer.accumulated.equal
    ]
    after = sum(i > at for i in apart)
    return before, f"{at + 1} off" + (f", and {after} of {count - at - 1} after it" if after else "")
