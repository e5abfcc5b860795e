"""Planted faults in numbers: how many are caught, and how many with the right node named.

    python -m tests.bridge.faults [--only TEXT] [--fault TEXT] [--variants plain,renamed] [--folder FOLDER] [--size N]
                                  [--share N] [--from NAME]

goes through the networks of fixtures/models, or those of a folder that is laid out alike: each is converted (a refusal is a false
alarm), and every fault that applies is planted and verified, in the file as it was written, with every inner name changed
("renamed"), with each tensor called as another one is ("shuffled"), folded by onnxruntime's basic optimizations ("optimized"), and
where onnxslim is installed as that makes it ("slimmed").
The right node is one that makes a tensor that the fault reaches first. Faults that move no number of a tensor that MXNet has and
an output follows from, on these inputs, are not counted. With --share one in N of each network's faults in a variant is planted,
the same ones on every run.
Prints misses, a table, and the counts; 1 when something is missed or refused."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import tempfile
from collections import Counter
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

import bridge
from bridge.compare import slice_scales
from bridge.engines import NativeEngine, OnnxEngine
from converters.proto_nodes import reads
from tests import shares
from tests.bridge.faults import FAULTS, RARE, planted
from tests.bridge.told import SWAPPED, cause, patterns
from tests.models.networks import FOLDER, Network

Model = onnx.ModelProto
CAUSE = "cause"
"""A count beside the scores: of causes that tell what was planted."""
MARGIN = 32.0
"""Times what a unit in the last place does that sums in another order may do."""
EITHER = ("two_at_once",)
"""Faults of which not all may be told: one may move nothing on these inputs."""


def renamed(model: Model) -> Model:
    """The model with other names for all that is inside."""
    copy = Model()
    copy.CopyFrom(model)
    outer = {i.name for i in (*copy.graph.input, *copy.graph.output)}
    made = [*(i.name for i in copy.graph.initializer), *(o for n in copy.graph.node for o in n.output)]
    names = {name: f"t{i}" for i, name in enumerate(made) if name and name not in outer}
    _rename(copy.graph, names)
    del copy.graph.value_info[:]
    return copy


def shuffled(model: Model) -> Model:
    """The model with each inner tensor and node called as another one is."""
    copy = Model()
    copy.CopyFrom(model)
    outer = {o.name for o in copy.graph.output}
    made = [o for n in copy.graph.node for o in n.output if o and o not in outer]
    names = dict(zip(made, [*made[2:], *made[:2]]))
    _rename(copy.graph, names)
    for index, node in enumerate(copy.graph.node):
        node.name = model.graph.node[(index + 2) % len(model.graph.node)].name
    del copy.graph.value_info[:]
    return copy


def _rename(graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
    for tensor in graph.initializer:
        tensor.name = names.get(tensor.name, tensor.name)
    for index, node in enumerate(graph.node):
        node.name = f"n{index}"
        node.input[:] = [names.get(n, n) for n in node.input]
        node.output[:] = [names.get(n, n) for n in node.output]
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                if body.node:
                    _rename(body, {n: m for n, m in names.items() if n not in {o for x in body.node for o in x.output}})


def optimized(model: Model) -> Model:
    """The model as onnxruntime folds it: normalisation into convolutions, constants, what does nothing."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = f"{folder}/model.onnx"
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return onnx.load(f"{folder}/model.onnx")


def slimmed(model: Model) -> Model:
    """The model as onnxslim makes it smaller. Raises BadInput where onnxslim does not get through."""
    import onnxslim

    copy = Model()
    copy.CopyFrom(model)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return onnxslim.slim(copy)
    except Exception as error:  # whatever it raises, the product is not asked
        raise bridge.BadInput(f"onnxslim: {type(error).__name__}: {error}") from error


VARIANTS: dict[str, Callable[[Model], Model]] = {
    "plain": lambda m: m,
    "renamed": renamed,
    "shuffled": shuffled,
    "optimized": optimized,
}
if importlib.util.find_spec("onnxslim"):
    VARIANTS["slimmed"] = slimmed
REFUSED = tuple(
    getattr(onnxruntime.capi.onnxruntime_pybind11_state, n)
    for n in ("Fail", "InvalidArgument", "InvalidGraph", "NotImplemented")
)
"""Errors of onnxruntime that folds a model."""


def reached_first(right: Model, wrong: Model, names: set[str]) -> list[set[str]]:
    """Of every changed node of the wrong model the first tensors among names that depend on it."""
    before = {tuple(n.output): _bare(n) for n in right.graph.node}
    made = {o for n in right.graph.node for o in n.output}
    stored = [{i.name: i.SerializeToString() for i in m.graph.initializer} for m in (right, wrong)]
    found = []
    for node in wrong.graph.node:
        other = any(stored[0].get(n) != stored[1].get(n) for n in reads(node))
        if other or before.get(tuple(node.output)) != _bare(node):
            found.append(_downstream(wrong, node, names))
            if not any(
                o in made for o in node.output
            ):  # it was put in between: before the next, as much as after the last
                found[-1] |= {
                    t for n in wrong.graph.node if found[-1] & set(reads(n)) for t in _downstream(wrong, n, names)
                }
    return found


def _bare(node: onnx.NodeProto) -> bytes:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.ClearField("name")
    return copy.SerializeToString(deterministic=True)


def _downstream(model: Model, node: onnx.NodeProto, names: set[str]) -> set[str]:
    first: set[str] = set()
    open_ = [o for o in node.output if o]
    first.update(n for n in open_ if n in names)
    open_ = [n for n in open_ if n not in names]
    for following in model.graph.node:
        if set(reads(following)) & set(open_):
            for output in following.output:
                (first.add if output in names else open_.append)(output)
    return first


def read_by_outputs(model: Model) -> set[str]:
    """Tensors that an output follows from, and the outputs."""
    read = {o.name for o in model.graph.output}
    for node in reversed(model.graph.node):
        if read.intersection(node.output):
            read.update(reads(node))
    return read


def moves(right: Model, wrong: Model, feeds: Mapping[str, np.ndarray], names: Container[str]) -> bool:
    """True where one of the tensors that MXNet has, and an output follows from, is another on these inputs; the runtime's refusal
    is one too."""
    used = read_by_outputs(wrong)
    names = {t.name for t in OnnxEngine(bridge.open_model(wrong)).inner_tensors() if t.name in names} & used
    values = []
    for model in (right, wrong):
        engine = OnnxEngine(bridge.open_model(model))
        try:
            values.append(engine.expose(feeds, [t.name for t in engine.inner_tensors() if t.name in names]))
        except bridge.EngineError:
            return True
    return any(n not in values[0] or not _same(values[0][n], v) for n, v in values[1].items())


def altered(
    right: Model, wrong: Model, feeds: Mapping[str, np.ndarray], known: Container[str], groups: list[set[str]]
) -> list[set[str]]:
    """The groups that hold a tensor which the wrong model makes otherwise of the right one's values of known tensors: of two faults
    one may do nothing on these inputs. All where the runtime refuses."""
    engine, other = (OnnxEngine(bridge.open_model(m)) for m in (right, wrong))
    names = [t.name for t in engine.inner_tensors() if t.name in known]
    wanted = [n for n in names if any(n in group for group in groups)]
    values = engine.expose(feeds, names)
    try:
        made = other.run_forced(frozenset(names), {**feeds, **values}, wanted)
    except bridge.EngineError:
        return groups
    return [g for g in groups if any(n not in values or not _same(values[n], made[n]) for n in g & {*wanted})]


def beyond_rounding(
    right: Model, wrong: Model, feeds: Mapping[str, np.ndarray], known: Container[str], groups: list[set[str]]
) -> bool:
    """True where float64 says that one of the tensors which the fault reaches first moves by more than roundings in float32 do:
    MARGIN times what one unit in the last place of all that goes in does, and one of the result. True too where float64 says
    nothing. No verdict of the judge is asked, but its float64."""
    engine, other = (OnnxEngine(bridge.open_model(m)) for m in (right, wrong))
    names = [t.name for t in engine.inner_tensors() if t.name in known]
    given = {**feeds, **engine.expose(feeds, names)}
    cut = frozenset(names)
    for name in (n for n in names if any(n in group for group in groups)):
        found = [
            e.exact(cut, given, name, j)
            for e, j in ((engine, None), (other, None), (engine, (1.0, 0)), (engine, (1.0, 1)))
        ]
        want, got, *moved = (f for f in found if f is not None)
        if len(moved) < 2 or got.shape != want.shape:
            return True
        response = slice_scales(np.max([np.abs(m - want) for m in moved], axis=0))
        own = float(np.finfo(np.float32).eps) * slice_scales(want)
        if not (np.abs(got - want) <= MARGIN * response + own).all():  # NaN is beyond
            return True
    return False


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":  # of floats, what is less than rounding (an attribute whose default is as good) is no fault
        return a.dtype.kind not in "iub" or bool(np.array_equal(a, b))
    scale = float(np.abs(a[np.isfinite(a)]).max(initial=0))
    return np.allclose(a, b, rtol=1e-6, atol=1e-7 * scale, equal_nan=True)


def score(result: Any, expected: list[set[str]], makers: Mapping[str, str], every: bool) -> str:
    """ "ok", or what is missing: "missed", "unlocated", "wrong node", "not all". every: all of them have to be named."""
    if result.verdict != "not equivalent":
        return "missed"
    found = result.divergence
    if found is None:
        return "unlocated"
    nodes = [{makers[t] for t in group} for group in expected if group]
    named = [{f.node, *f.span} for f in (found, *result.located)]
    if not any(named[0] & group for group in nodes):
        return "wrong node"
    if every and not all(any(n & group for n in named) for group in nodes):
        return "not all"
    return "ok"


def judge(
    network: Network, variants: list[str], faults: list[str], size: int | None, share: int = 1
) -> tuple[int, Counter[tuple[str, str, str]]]:
    """Number of false alarms of a network, and (fault, variant, score) of what was planted."""
    feeds: dict[str, Any] = network.runs()[0][0]
    if size is not None:
        feeds = {n: (*a.shape[:-2], size, size) if a.ndim == 4 else a for n, a in feeds.items()}
    counts: Counter[tuple[str, str, str]] = Counter()
    alarms = 0
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "model.onnx"
        try:
            bridge.convert(network.prefix, inputs=feeds, output=target)
        except bridge.NotEquivalent as error:
            print(f"{network.name}: FALSE ALARM: {error}", flush=True)
            return 1, counts
        right = onnx.load(target)
    engine = NativeEngine(bridge.open_model(network.prefix), feeds)
    makers = {t.name: t.node for t in engine.inner_tensors()}
    for variant in (
        dict.fromkeys(("plain", variants[shares.number(network.name, len(variants))])) if share > 1 else variants
    ):
        try:
            result = bridge.verify(network.prefix, VARIANTS[variant](right), inputs=feeds)
        except bridge.BadInput as error:
            print(f"{network.name}: not {variant}: {error}", flush=True)
            continue
        if result.verdict == "not equivalent":
            alarms += 1
            print(f"{network.name}: FALSE ALARM, {variant}: {result.faults}", flush=True)
    for name in faults:
        tried = [v for v in variants if not shares.number(f"{network.name} {name} {v}", share)]
        wrong = planted(right, name) if tried else None
        if wrong is None:
            continue
        try:
            if size is None and not moves(right, wrong, feeds, makers):
                print(f"{network.name}: no effect: {name}", flush=True)
                continue
            expected = reached_first(right, wrong, set(makers))
            if name == "two_at_once":
                expected = altered(right, wrong, feeds, makers, expected)
            for variant in tried:
                result = bridge.verify(network.prefix, VARIANTS[variant](wrong), inputs=feeds)
                said = score(result, expected, makers, name == "two_at_once")
                if said == "missed" and not beyond_rounding(right, wrong, feeds, makers, expected):
                    print(f"{network.name}: within rounding, by float64: {name}, {variant}", flush=True)
                    continue
                wanted = [SWAPPED] if name == "outputs_swapped" else patterns(right, wrong, variant)
                told = said != "missed" and cause(result.causes, wanted, every=name not in EITHER)
                counts[name, variant, said] += 1
                counts[name, variant, CAUSE] += told
                if said != "missed" and not told:
                    print(
                        f"{network.name}: wrong cause: {name}, {variant}: {dict(result.causes)}; wanted {wanted}",
                        flush=True,
                    )
                if said != "ok":
                    at = result.divergence
                    where = f"{at.node} ({at.operator}), {at.kind}" if at else "nowhere"
                    print(
                        f"{network.name}: {said}: {name}, {variant}: {where}; {result.faults}; {expected}", flush=True
                    )
        except (bridge.EngineError, bridge.BadInput, *REFUSED) as error:
            print(f"{network.name}: refused: {name}: {str(error).splitlines()[0]}", flush=True)
    return alarms, counts


def total_of(counts: Counter[tuple[str, str, str]]) -> int:
    """The number of faults that were planted."""
    return sum(n for key, n in counts.items() if key[2] != CAUSE)


def table(counts: Counter[tuple[str, str, str]]) -> str:
    """Counts by fault and by variant."""
    lines = [f"{'fault':48}{'planted':>9}{'caught':>9}{'right node':>12}{'right cause':>13}"]
    for kind in (0, 1):
        for name in dict.fromkeys(k[kind] for k in counts):
            said = Counter()
            for key, number in counts.items():
                said[key[2]] += number if key[kind] == name else 0
            total = said.total() - said[CAUSE]
            lines.append(f"{name:48}{total:9}{total - said['missed']:9}{said['ok']:12}{said[CAUSE]:13}")
    return "\n".join(lines)


def main() -> int:
    """Judge all networks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default="", help="networks whose name contains this")
    parser.add_argument("--fault", default="", help="faults whose name contains this")
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--size", type=int, help="height and width of pictures, in place of those recorded")
    parser.add_argument("--share", type=int, default=1, help="one in so many faults in a variant is planted")
    parser.add_argument("--from", dest="first", default="", help="networks from this name on")
    arguments = parser.parse_args()
    found = sorted(p.parent for p in arguments.folder.glob("*/outputs.npz") if arguments.only in p.parent.name)
    found = [folder for folder in found if folder.name >= arguments.first]
    faults = [n for n in FAULTS | RARE if arguments.fault in n]
    alarms, counts = 0, Counter()
    for folder in found:
        variants = arguments.variants.split(",")
        wrong, scores = judge(Network(folder.name, folder, {}), variants, faults, arguments.size, arguments.share)
        alarms += wrong
        counts += scores
        print(
            f"{folder.name}: {total_of(scores)} planted, {sum(n for k, n in scores.items() if k[2] == 'ok')} right",
            flush=True,
        )
    said = Counter()
    for key, number in counts.items():
        said[key[2]] += number
    print(table(counts))
    total = total_of(counts)
    caught = total - said["missed"]
    told = f"{caught} caught, {said['ok']} with the right node, {said[CAUSE]} with the right cause"
    print(f"{len(found)} networks: {alarms} false alarms; {total} planted, {told}")
    return int(alarms > 0 or said["ok"] < total)
