"""Symbol JSON of every age, read and written.

Generations: up to 0.8 a node has ``param`` (operator attributes) and ``attr`` (the user's), references have two numbers,
auxiliary states are not inputs, and the file says no version; 0.9 to 0.12 have ``attr`` for both, 1.0 and later ``attrs``,
with three-number references and ``node_row_ptr``. Where several are present ``attr`` wins, then ``attrs``, as in MXNet's own
loader. Written files have the form of 1.9.1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..core.error import FormatError, OpError
from ..core.np_mode import is_np_shape, np_shape
from ..core.op import Op, lookup
from ..formats.params import describe
from ..ops.arg_extremes import ArgMax, ArgMin
from .graph import Entry, Graph, Node, dependency_order, topological

VERSION = 10901  # what written files claim: MXNet 1.9.1
BEFORE_VERSIONS = 800  # files that name no version are of 0.8 or before
MOST_NESTED = 32  # subgraphs within subgraphs
MOST_OUTPUTS = 1 << 16  # of one node: far beyond any network, and few enough to name each

# Keys that steer training and placement, not the operator; MXNet writes them as __key__ since 0.9.
HIDDEN = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage")


class UnknownOp(Op):
    """Stands for an operator that this engine cannot type, so that inspection can list all such nodes at once.

    ``reason`` says why: not known at all, or attributes that it does not take. It infers and computes nothing.
    """

    reason: str
    _inputs: int
    _outputs: int

    def __init__(self, name: str, inputs: int, outputs: int, reason: str):
        self.__dict__.update(name=name, _inputs=inputs, _outputs=outputs, reason=reason)
        self._seal((UnknownOp, id(self)))

    def input_names(self) -> tuple[str, ...]:
        return tuple(f"arg{i}" for i in range(self._inputs))

    def output_names(self) -> tuple[str, ...]:
        return ("output",) if self._outputs < 2 else tuple(f"output{i}" for i in range(self._outputs))

    def infer_shape(self, *shapes: Any) -> Any:
        raise OpError(self.reason)

    def infer_type(self, *dtypes: Any) -> Any:
        return [None] * len(self.output_names())

    def infer_input_types(self, dtypes: Any, outputs: Any) -> Any:
        return dtypes

    def dump(self) -> dict[str, str]:
        return {}


def loads(text: str | bytes, *, source: str = "symbol JSON", foreign: bool = False) -> Graph:
    """The graph of a Symbol JSON text.

    With foreign, operators that cannot be typed become UnknownOp nodes instead of an error.
    Raises FormatError for text that is no Symbol JSON; OpError listing every node that cannot be typed.
    """
    head = (text[:4096].encode(errors="replace") if isinstance(text, str) else text[:4096]).lstrip(
        b"\xef\xbb\xbf \t\r\n"
    )
    if not head.startswith((b"{", b"[")):
        what, do = describe(head)
        advice = f"; {do}" if ".params" not in do else ""
        raise FormatError(f"{source}: got {what}, wanted the JSON of a symbol, such as model-symbol.json{advice}")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{source}: not JSON ({error}); fetch the file again") from None
    problems: list[str] = []
    with np_shape(_is_np_shape(data)):
        graph = _read_graph(data, source, problems, None)
    if problems and not foreign:
        raise OpError(f"{source}: " + "; ".join(problems))
    return graph


def _read_graph(data: Any, source: str, problems: list[str], version: int | None, depth: int = 0) -> Graph:
    if depth > MOST_NESTED:
        raise FormatError(f"{source}: broken graph: more than {MOST_NESTED} subgraphs within one another")
    if not isinstance(data, Mapping) or not isinstance(data.get("nodes"), list) or "heads" not in data:
        keys = ", ".join(map(str, list(data)[:6])) if isinstance(data, Mapping) else type(data).__name__
        raise FormatError(
            f"{source}: JSON but no MXNet symbol: got {keys}, wanted an object with nodes, arg_nodes and heads"
        )
    raw = data["nodes"]
    version = _version(data) if version is None else version
    _validate(raw, data["heads"], source)
    outputs_used = [1] * len(raw)
    for ref in (*(r for n in raw for r in n.get("inputs", ())), *data["heads"]):
        outputs_used[ref[0]] = max(outputs_used[ref[0]], ref[1] + 1)
    nodes: dict[int, Node] = {}
    for index in _order(raw, source):
        nodes[index] = _read_node(raw[index], nodes, outputs_used[index], version, problems, source, depth)
    heads = [Entry(nodes[ref[0]], ref[1]) for ref in data["heads"]]
    graph = Graph(heads)
    for node in graph.nodes:
        _check_outputs(node.name, node.inputs, source)
    _check_outputs("heads", heads, source)
    return graph


def _is_np_shape(data: Any) -> bool:
    """True for a symbol that was made with np_shape on: 0 is a size in it."""
    try:
        return bool(int(data["attrs"]["is_np_shape"][1]))
    except (KeyError, IndexError, TypeError, ValueError):
        return False


def _version(data: Mapping[str, Any]) -> int:
    try:
        return int(data["attrs"]["mxnet_version"][1])
    except (KeyError, IndexError, TypeError, ValueError, OverflowError):
        return BEFORE_VERSIONS


def _validate(raw: list[Any], heads: Any, source: str) -> None:
    """Raise FormatError listing everything that is structurally wrong."""
    wrong: list[str] = []

    def check_refs(refs: Any, where: str) -> None:
        if not isinstance(refs, list):
            wrong.append(f"{where}: references are {type(refs).__name__}, wanted a list")
            return
        for ref in refs:
            if not (isinstance(ref, list) and len(ref) in (2, 3) and all(type(v) is int for v in ref)):
                wrong.append(f"{where}: reference {ref!r}, wanted [node, output] or [node, output, version]")
            elif not (0 <= ref[0] < len(raw) and ref[1] >= 0):
                wrong.append(f"{where}: refers to node {ref[0]} output {ref[1]}, but nodes are 0 to {len(raw) - 1}")

    for index, node in enumerate(raw):
        if (
            not isinstance(node, Mapping)
            or not isinstance(node.get("op"), str)
            or not isinstance(node.get("name"), str)
        ):
            wrong.append(f"node {index}: wanted an object with op and name")
            continue
        try:
            node["name"].encode()
        except UnicodeEncodeError:
            wrong.append(f"node {index}: the name {node['name']!r} is not text")
            continue
        check_refs(node.get("inputs", []), f"node {index} ({node['name']})")
        if not isinstance(node.get("subgraphs", []), list):
            wrong.append(
                f"node {index} ({node['name']}): subgraphs is {type(node['subgraphs']).__name__}, wanted a list"
            )
        for key in ("param", "attr", "attrs"):
            if not isinstance(node.get(key) or {}, Mapping):
                wrong.append(f"node {index} ({node['name']}): {key} is {type(node[key]).__name__}, wanted an object")
    check_refs(heads, "heads")
    if not wrong and not heads:
        wrong.append("heads: empty, wanted at least one output")
    if wrong:
        more = f" and {len(wrong) - 20} more" if len(wrong) > 20 else ""
        raise FormatError(f"{source}: broken graph: {'; '.join(wrong[:20])}{more}")


def _order(raw: list[Any], source: str) -> list[int]:
    """Node indices with inputs before users; files list them so, but need not. Raises FormatError for a cycle."""
    order, stuck = dependency_order([{r[0] for r in n.get("inputs", ())} for n in raw])
    if stuck:
        inside = [raw[i]["name"] for i in stuck]
        raise FormatError(f"{source}: broken graph: a cycle through {', '.join(inside[:10])}")
    return order


def _read_node(
    raw: Mapping[str, Any],
    nodes: dict[int, Node],
    outputs: int,
    version: int,
    problems: list[str],
    source: str,
    depth: int,
) -> Node:
    attrs = {k: _text(v) for key in ("param", "attrs", "attr") for k, v in (raw.get(key) or {}).items()}
    inputs = [Entry(nodes[ref[0]], ref[1]) for ref in raw.get("inputs", ())]
    name = raw["name"]
    for key in HIDDEN:
        if key in attrs:
            # of both spellings MXNet takes the old one in files of before 1.9.1, which it brings to its own form
            value, modern = attrs.pop(key), f"__{key}__"
            attrs[modern] = value if version < VERSION else attrs.get(modern, value)
    if raw["op"] == "null":
        return Node(None, name, (), attrs)
    own, hidden = _split_hidden(attrs)
    if version < 905 and raw["op"] in (ArgMax.name, ArgMin.name) and own.get("axis") == "-1":
        del own["axis"]  # -1 was the way to say "flatten first" before 0.9.5; later it is the last axis
    inside = f"{source}: subgraph of {name}" if depth < 2 else source
    subgraphs = [_read_graph(s, inside, problems, version, depth + 1) for s in raw.get("subgraphs", ())]
    try:
        cls = lookup(raw["op"])
        if cls.inputs[:1] and cls.inputs[0].startswith("*") and cls.count in cls.fields and cls.count not in own:
            own[cls.count] = str(len(inputs))
        op = cls.bind(**own)
        declared = getattr(op, cls.count, 0) if cls.inputs[:1] and cls.inputs[0].startswith("*") else 0
        # before they are named one by one, for the number may be absurd; control flow counts its subgraphs too
        if declared > len(inputs) + len(subgraphs):
            raise op.error(f"got {len(inputs)} inputs, wanted {declared} ({cls.count})")
        wanted = op.input_names()
        if len(inputs) > len(wanted):
            raise op.error(f"got {len(inputs)} inputs, wanted {len(wanted)} ({', '.join(wanted)})")
    except OpError as error:
        problems.append(f"node {name}: {error}")
        return Node(
            UnknownOp(raw["op"], len(inputs), min(outputs, MOST_OUTPUTS), str(error)),
            name,
            inputs,
            {**own, **hidden},
            subgraphs,
        )
    own = {
        k: v for k, v in own.items() if k not in cls.ignored_attributes
    }  # 1.9.1 would refuse to read what other versions wrote
    given = len(inputs)
    for missing in wanted[given:]:  # auxiliary states before 0.9, and what a writer left to the loader
        inputs.append(Entry(make_variable(op, name, missing, {**own, **hidden})))
    if version < 900 or len(inputs) > given:
        set_initial(op, inputs)
    for key in list(hidden):
        # "weight_lr_mult" on an operator speaks of its variable named weight
        match = re.fullmatch(rf"(.+)_({'|'.join(HIDDEN)})", key)
        if match and match[1] in wanted:
            variable = inputs[wanted.index(match[1])].node
            if variable.is_variable:
                variable.attrs[f"__{match[2]}__"] = hidden.pop(key)
    return Node(op, name, inputs, {**own, **hidden}, subgraphs)


def make_variable(op: Op, name: str, argument: str, attrs: Mapping[str, str]) -> Node:
    """The variable for an input that a node was not given: it carries the node's attributes, as in MXNet, except those
    that speak of one variable by name (``weight_lr_mult``)."""
    return Node(None, f"{name}_{argument}", (), {k: v for k, v in attrs.items() if k in op.fields or is_hidden(k)})


def set_initial(op: Op, inputs: Iterable[Entry]) -> None:
    """Write on the variables among an operator's inputs how it wants them initialised, where they do not say themselves."""
    for argument, entry in zip(op.input_names(), inputs):
        if argument in op.initializers and entry.node.is_variable:
            entry.node.attrs.setdefault("__init__", op.initializers[argument])


def is_hidden(key: str) -> bool:
    """True where an attribute is the user's own or steers training, not the operator's."""
    return key.startswith("__") and key.endswith("__")


def _split_hidden(attrs: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The operator's own attributes, and the others."""
    own, hidden = {}, {}
    for key, value in attrs.items():
        if is_hidden(key) or key.endswith(tuple(f"_{h}" for h in HIDDEN)):
            hidden[key] = value
        else:
            own[key] = value
    return own, hidden


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value) if isinstance(value, list | dict) else str(value)


def _check_outputs(reader: str, entries: Iterable[Entry], source: str) -> None:
    for entry in entries:
        if entry.index >= entry.node.num_outputs:
            raise FormatError(
                f"{source}: broken graph: {reader} reads output {entry.index} of {entry.node.name}, "
                f"which has {entry.node.num_outputs}"
            )


def dumps(graph: Graph, more: Mapping[str, Any] | None = None) -> str:
    """Symbol JSON text in the form of MXNet 1.9.1, to the blank. more: what else to say of the graph (see pairs.py)."""
    sized = is_np_shape() or any(n.op is not None and n.op.zero_is_size for n in graph.all_nodes())
    said = {"is_np_shape": ["int", 1]} if sized else {}
    return _layout({**_write_graph(graph), "attrs": {**said, "mxnet_version": ["int", VERSION], **(more or {})}}, "\n")


def _layout(value: Any, line: str) -> str:
    """JSON text, of which long lists, lists of objects and objects of several members get a line per member.

    line: what starts one at this depth."""
    if not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    inner = f"{line}  "
    if isinstance(value, dict):
        start, end, apart = "{", "}", len(value) > 1
        members = [f"{json.dumps(k, ensure_ascii=False)}: {_layout(v, inner)}" for k, v in value.items()]
    else:
        start, end, apart = "[", "]", len(value) > 10 or any(isinstance(v, dict) for v in value)
        members = [_layout(v, inner) for v in value]
    if not apart:
        return f"{start}{', '.join(members)}{end}"
    return f"{start}{inner}{f', {inner}'.join(members)}{line}{end}"


def describe_graph(graph: Graph) -> str:
    """A graph as text to read, in the form of MXNet's Symbol.debug_str."""
    written = _write_graph(graph)["nodes"]
    lines = ["Symbol Outputs:"]
    lines += [f"\toutput[{i}]={e.node.name}({e.index})" for i, e in enumerate(graph.outputs)]
    for node, entry in zip(topological(graph.outputs), written, strict=True):
        if node.op is None:
            lines.append(f"Variable:{node.name}")
            continue
        lines += ["-" * 20, f"Op:{node.op.name}, Name={node.name}", "Inputs:"]
        for i, (source, (_, index, version)) in enumerate(zip(node.inputs, entry["inputs"])):
            seen = f" version={version}" if source.node.is_variable else ""
            lines.append(f"\targ[{i}]={source.node.name}({index}){seen}")
        if node.attrs:
            lines += ["Attrs:", *(f"\t{k}={v}" for k, v in sorted(node.attrs.items()))]
    return "\n".join(lines) + "\n"


def _write_graph(graph: Graph) -> dict[str, Any]:
    nodes = topological(graph.outputs)
    number = {id(n): i for i, n in enumerate(nodes)}
    rows = [0]
    written = []
    versions: dict[int, int] = {}  # of variables: how many nodes so far have them as an auxiliary state

    def reference(entry: Entry) -> list[int]:
        return [number[id(entry.node)], entry.index, versions.get(id(entry.node), 0)]

    for node in nodes:
        changed = node.op.mutates if node.op is not None else ()
        for name, source in zip(node.op.input_names(), node.inputs) if node.op is not None and changed else ():
            if name in changed and source.node.is_variable:
                versions[id(source.node)] = versions.get(id(source.node), 0) + 1
        rows.append(rows[-1] + node.num_outputs - (0 if node.op is None else node.op.internal_outputs))
        entry: dict[str, Any] = {"op": "null" if node.op is None else node.op.name, "name": node.name}
        if node.attrs:
            entry["attrs"] = dict(sorted(node.attrs.items()))
        entry["inputs"] = list(map(reference, node.inputs))
        if node.subgraphs:
            entry["subgraphs"] = [_write_graph(s) for s in node.subgraphs]
        written.append(entry)
    return {
        "nodes": written,
        "arg_nodes": [i for i, n in enumerate(nodes) if n.is_variable],
        "node_row_ptr": rows,
        "heads": list(map(reference, graph.outputs)),
    }
