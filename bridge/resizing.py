"""ONNX files at other sizes than they were exported with: declared inputs, and the constants that hold the old sizes.

Exporters write a batch of 1 into Reshape and its like. Each node is followed at the old sizes and at the new ones; where a constant
shape would give other axes than those that grew, it is written anew. Whoever calls verifies: what is here is a proposal."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TypeProto, helper, numpy_helper
from onnx.external_data_helper import uses_external_data

from converters.names import Names
from converters.onnx_types import declared_dims
from hybrid.core.op import Spec
from hybrid.core.shapes import show

from .batching import BATCH
from .models import BadInput

Shape = Sequence[int | str]
SMALL = 4096
"""Elements of tensors whose values are followed, at most."""
_FOLDED = frozenset(
    ("Add", "Cast", "Concat", "ConstantOfShape", "Div", "Equal", "Floor", "Gather", "Identity", "Max", "Min", "Mod", "Mul",
     "Range",
     "ReduceProd", "Reshape", "Slice", "Squeeze", "Sub", "Unsqueeze", "Where")
)  # fmt: skip
_RECURRENT = {"GRU": (5,), "LSTM": (5, 6), "RNN": (5,)}
"""Inputs that hold states of (directions, batch, hidden)."""


def asked_for(
    model: ModelProto, specs: Mapping[str, Spec], dynamic: Mapping[str, Mapping[int, str]], *, fixed: bool = False
) -> dict[str, Shape]:
    """The shapes that differ from what a model declares: those given, and the axes that are to be of any size. fixed: those that
    say a size where the model leaves it open, too. Raises BadInput."""
    declared, problems, out = declared_inputs(model), [], {}
    for name in dict.fromkeys((*specs, *dynamic)):
        own = declared.get(name)
        given = specs[name].shape if name in specs else None
        if own is None or (given is None and name not in dynamic):
            if name in dynamic:
                problems.append(f"dynamic {name}: the model takes {', '.join(declared) or 'nothing'} of known rank")
            continue
        wanted = list(own if given is None else given)
        if len(own) != len(wanted):
            continue  # which the verification says in full
        for axis, label in dynamic.get(name, {}).items():
            if not -len(own) <= axis < len(own):
                problems.append(f"dynamic {name}: got axis {axis} of {len(own)}: {show(own)}")
            else:
                wanted[axis] = label
        if any((fixed or isinstance(o, int)) and o != w for o, w in zip(own, wanted)):
            out[name] = tuple(wanted)
    if problems:
        raise BadInput(*problems)
    return out


def with_open_batch(model: ModelProto, dynamic: Mapping[str, Mapping[int, str]]) -> dict[str, dict[int, str]]:
    """The open axes, and with them the first of every input that has the first input's size there, which is the batch as far as a
    file tells; whoever calls verifies. Raises BadInput where no file fixes one."""
    declared = {n: own for n, own in declared_inputs(model).items() if own}
    fixed = [own[0] for own in declared.values() if isinstance(own[0], int)]
    out = {n: dict(axes) for n, axes in dynamic.items()}
    for name in [n for n, own in declared.items() if fixed and own[0] == fixed[0]]:
        out.setdefault(name, {}).setdefault(0, BATCH)
    if not fixed:
        known = ", ".join(f"{n} {show(own)}" for n, own in declared.items())
        raise BadInput(f"dynamic {BATCH}: the file fixes the first axis of no input ({known or 'there is none'})")
    return out


class Resized(NamedTuple):
    """A model at other sizes."""

    proto: ModelProto
    changes: tuple[str, ...]
    """Constants that held the old sizes, and what stands there now."""


def resized(model: ModelProto, sizes: Mapping[str, Shape]) -> Resized:
    """The model whose inputs have other sizes, or names for axes of any size. The model is left as it is.

    Raises BadInput naming every node that holds an old size in a way that has no other form."""
    return _Resizing(model, sizes).run()


def declared_inputs(model: ModelProto) -> dict[str, tuple[int | str, ...] | None]:
    """The shapes that a model declares of its inputs: sizes, names, "?"; None for an unknown rank."""
    stored = {t.name for t in model.graph.initializer}
    return {i.name: _dims(i.type) for i in model.graph.input if i.name not in stored}


def _dims(kind: TypeProto | None) -> tuple[int | str, ...] | None:
    """The axes of a type; None when their number is not known."""
    if kind is None or not kind.tensor_type.HasField("shape"):
        return None
    return declared_dims(kind.tensor_type.shape)


def _static(kind: TypeProto | None) -> tuple[int, ...] | None:
    """The axes of a type whose sizes are all known."""
    dims = _dims(kind)
    return None if dims is None or any(isinstance(d, str) for d in dims) else tuple(map(int, dims))


class _World:
    """Facts about the tensors at one set of sizes."""

    def __init__(self, model: ModelProto, shapes: Mapping[str, tuple[int, ...]]):
        self.opsets = list(model.opset_import)
        self.opset = next((o.version for o in self.opsets if o.domain in ("", "ai.onnx")), 1)
        self.types: dict[str, TypeProto] = {}
        self.values: dict[str, np.ndarray] = {}
        for info in model.graph.input:
            self.types[info.name] = info.type
        for name, shape in shapes.items():
            self.types[name] = helper.make_tensor_type_proto(self.types[name].tensor_type.elem_type, shape)
        for tensor in model.graph.initializer:
            self.types[tensor.name] = helper.make_tensor_type_proto(tensor.data_type, list(tensor.dims))
            if math.prod(tensor.dims) <= SMALL and not uses_external_data(tensor):
                self.values[tensor.name] = numpy_helper.to_array(tensor)

    def shape(self, name: str) -> tuple[int, ...] | None:
        return _static(self.types.get(name))

    def follow(self, node: NodeProto) -> str:
        """Note what a node makes, as far as that is known; gives what is wrong with its inputs, if anything is."""
        try:
            schema = onnx.defs.get_schema(node.op_type, self.opset, node.domain)
            known = {n: self.types[n] for n in node.input if n in self.types}
            values = {n: numpy_helper.from_array(self.values[n], n) for n in node.input if n in self.values}
            found = onnx.shape_inference.infer_node_outputs(schema, node, known, values, opset_imports=self.opsets)
        except onnx.shape_inference.InferenceError as error:
            return str(error).strip().splitlines()[-1]
        except (onnx.defs.SchemaError, onnx.checker.ValidationError, ValueError, RuntimeError, KeyError):
            return ""  # nothing is known of what it makes
        self.types |= found
        self._fold(node)
        return ""

    def _fold(self, node: NodeProto) -> None:
        """The value of what follows from shapes and small constants."""
        name = node.output[0]
        shape = self.shape(node.input[0]) if node.input else None
        if node.op_type == "Constant":
            self.values |= _constant(node)
        elif node.op_type == "Shape" and shape is not None:
            ends = {a.name: a.i for a in node.attribute}
            self.values[name] = np.array(shape[ends.get("start", 0) : ends.get("end", len(shape))], np.int64)
        elif node.op_type in _FOLDED and all(n in self.values for n in node.input if n):
            made = self.shape(name)
            if made is None or math.prod(made) > SMALL:
                return
            from onnx.reference import ReferenceEvaluator

            graph = helper.make_graph(
                [node],
                "one",
                [helper.make_value_info(n, self.types[n]) for n in dict.fromkeys(node.input) if n],
                [helper.make_value_info(name, self.types[name])],
            )
            with contextlib.suppress(
                ArithmeticError, IndexError, RuntimeError, TypeError, ValueError
            ):  # not needed then
                evaluator = ReferenceEvaluator(helper.make_model(graph, opset_imports=self.opsets))
                results: Any = evaluator.run(None, {n: self.values[n] for n in node.input if n})
                self.values[name] = np.asarray(results[0])


def _constant(node: NodeProto) -> dict[str, np.ndarray]:
    """The value of a Constant by its name, if it is a small tensor."""
    for attribute in node.attribute:
        value = helper.get_attribute_value(attribute)
        if attribute.name == "value" and math.prod(value.dims) <= SMALL and not uses_external_data(value):
            return {node.output[0]: numpy_helper.to_array(value)}
        if attribute.name in ("value_ints", "value_int"):
            return {node.output[0]: np.array(value, np.int64)}
    return {}


class _Resizing:
    """One resizing."""

    def __init__(self, model: ModelProto, sizes: Mapping[str, Shape]):
        self.proto = ModelProto()
        self.proto.CopyFrom(model)
        self.sizes = sizes
        graph = self.proto.graph
        declared = declared_inputs(model)
        before, after = {}, {}
        for name, dims in declared.items():
            if dims is None:
                continue
            # an axis that is open already has one size in both
            before[name] = tuple(d if isinstance(d, int) else (32 if a else 2) for a, d in enumerate(dims))
            after[name] = tuple(
                w if isinstance(w, int) else o * (2 if a else 3) if isinstance(d, int) else o
                for a, (o, d, w) in enumerate(zip(before[name], dims, sizes.get(name, before[name])))
            )
        self.old, self.new = _World(model, before), _World(model, after)
        self.open = any(isinstance(d, str) for dims in declared.values() for d in dims or ())
        """True where an axis is of any size already."""
        self.computed = {o for n in graph.node if n.op_type != "Constant" for o in n.output}
        self.dynamic = any(isinstance(w, str) for s in sizes.values() for w in s)
        self.names = Names((*self.old.types, *(o for n in graph.node for o in n.output)))
        self.changes: list[str] = []
        self.holding: list[str] = []

    def run(self) -> Resized:
        graph = self.proto.graph
        for node in graph.node:
            wrong = self.old.follow(node)
            if self._touched(node):
                self._adapt(node)
            instead = self.new.follow(node)
            if instead and not wrong:
                self.holding.append(f"{node.op_type} {node.name or node.output[0]} ({instead})")
        if self.holding:
            wanted = ", ".join(f"{n} {show(tuple(s))}" for n, s in self.sizes.items())
            raise BadInput(
                f"the model cannot be brought to {wanted}: the sizes that it was exported with are held by "
                f"{'; '.join(self.holding)}; export the model at these sizes, or with that axis open"
            )
        for info in graph.input:
            for axis, wanted in enumerate(self.sizes.get(info.name, ())):
                dim = info.type.tensor_type.shape.dim[axis]
                dim.Clear()
                if isinstance(wanted, int):
                    dim.dim_value = wanted
                else:
                    dim.dim_param = wanted
        for info in graph.output:
            self._declare(info)
        del graph.value_info[:]
        return Resized(self.proto, tuple(self.changes))

    def _declare(self, info: onnx.ValueInfoProto) -> None:
        """Take the old sizes out of an output's declaration."""
        if info.type.WhichOneof("value") != "tensor_type" or not info.type.tensor_type.HasField("shape"):
            return
        old, new = self.old.shape(info.name), self.new.shape(info.name)
        dims = info.type.tensor_type.shape.dim
        if old is None or new is None or not len(old) == len(new) == len(dims):
            info.type.tensor_type.ClearField("shape")
            return
        for dim, before, after in zip(dims, old, new):
            if before != after:
                dim.Clear()
                if not self.dynamic:
                    dim.dim_value = after

    def _touched(self, node: NodeProto) -> bool:
        return any(self.old.shape(n) != self.new.shape(n) for n in node.input if n)

    def _adapt(self, node: NodeProto) -> None:
        """Write the constants of a node anew that hold an old size."""
        if node.op_type == "Reshape":
            self._reshape(node)
        elif node.op_type in _RECURRENT:
            self._states(node)
        elif node.op_type == "Resize" and len(node.input) > 3 and node.input[3]:
            self._resize(node)

    def _reshape(self, node: NodeProto) -> None:
        before, after = (w.shape(node.input[0]) for w in (self.old, self.new))
        zeros = next((a.i for a in node.attribute if a.name == "allowzero"), 0)
        attribute = next((a for a in node.attribute if a.name == "shape"), None)
        shape = self.new.values.get(node.input[1]) if len(node.input) > 1 else attribute and np.array(attribute.ints)
        was = self.old.values.get(node.input[1]) if len(node.input) > 1 else shape
        if before is None or after is None or shape is None or was is None or not np.array_equal(shape, was):
            return  # a shape that is computed follows by itself
        stated = [int(d) for d in shape]
        made = _given(before, stated, zeros)
        wanted = None if made is None else grown(before, after, made, stated.index(-1) if -1 in stated else None)
        if made is None or (wanted is not None and _given(after, stated, zeros) == wanted):
            return
        if wanted is None or (self.open and len(node.input) > 1 and node.input[1] in self.computed):
            # of which a part follows from an axis that is open, and has no number that could be written here
            instead = f", which would be {list(wanted)}" if wanted else ""
            self.holding.append(f"Reshape {node.name or node.output[0]} (to {stated}{instead}, from {show(before)})")
            return
        written = list(stated)
        free = [
            p
            for p, (o, w) in enumerate(zip(made, wanted))
            if o != w and (zeros or p >= len(after) or (before[p], after[p]) != (o, w))
        ]
        for place, (size, grew) in enumerate(zip(made, wanted)):
            if size == grew:
                written[place] = size if stated[place] == -1 and free else stated[place]
            elif place not in free:
                written[place] = 0
            else:
                written[place] = -1 if len(free) == 1 else grew
        if len(free) > 1 and self.dynamic:
            self.holding.append(f"Reshape {node.name or node.output[0]} (to {stated}, of which several sizes vary)")
            return
        self._note(node, stated, written)
        if attribute is not None:
            attribute.ints[:] = written
        else:
            self._constant_input(node, 1, np.array(written, np.int64))

    def _states(self, node: NodeProto) -> None:
        """States that a recurrent layer starts from: none where they are zeros, else each as often as the batch grew."""
        for index in _RECURRENT[node.op_type]:
            name = node.input[index] if index < len(node.input) else ""
            state = self.new.values.get(name)
            before, after = (w.shape(node.input[0]) for w in (self.old, self.new))
            layout = next((a.i for a in node.attribute if a.name == "layout"), 0)
            if state is None or before is None or after is None:
                continue
            have, grown_to = (s[1 - layout] for s in (before, after))
            if state.ndim != 3 or state.shape[1 - layout] != have or have == grown_to:
                continue
            if not state.any():
                node.input[index] = ""
                self._note(node, f"a state of {list(state.shape)} zeros", "none")
            elif self.dynamic or grown_to % have or (state != state[:, :1] if not layout else state != state[:1]).any():
                self.holding.append(f"{node.op_type} {node.name or node.output[0]} (a state of {list(state.shape)})")
            else:
                more = np.repeat(state, grown_to // have, axis=1 - layout)
                self._note(node, f"a state of {list(state.shape)}", list(more.shape))
                self._constant_input(node, index, more)

    def _resize(self, node: NodeProto) -> None:
        before, after = (w.shape(node.input[0]) for w in (self.old, self.new))
        sizes = self.new.values.get(node.input[3])
        if before is None or after is None or sizes is None or len(sizes) != len(before):
            return
        if not np.array_equal(sizes, self.old.values.get(node.input[3], ())):
            return  # computed ones follow by themselves
        changed = [a for a in range(len(before)) if before[a] != after[a] and before[a] == sizes[a]]
        if not changed:
            return
        scales = sizes / np.array(before)
        if not self.dynamic:
            written = sizes.copy()
            written[changed] = [after[a] for a in changed]
            self._note(node, sizes.tolist(), written.tolist())
            self._constant_input(node, 3, written)
        elif all(float(s).is_integer() for s in scales) and not any(a.name == "axes" for a in node.attribute):
            self._note(node, sizes.tolist(), f"scales {scales.tolist()}")
            self._constant_input(node, 2, scales.astype(np.float32))
            del node.input[3:]
        else:
            self.holding.append(f"Resize {node.name or node.output[0]} (to {sizes.tolist()})")

    def _note(self, node: NodeProto, before: object, after: object) -> None:
        self.changes.append(f"{node.op_type} {node.name or node.output[0]} held the file's sizes: {before} -> {after}")

    def _constant_input(self, node: NodeProto, index: int, array: np.ndarray) -> None:
        """Give a node a constant of its own for an input."""
        name = self.names.unique(f"{node.output[0]}_resized")
        tensor = numpy_helper.from_array(array, name)
        self.proto.graph.initializer.append(tensor)
        if self.proto.ir_version < 4:
            self.proto.graph.input.append(helper.make_tensor_value_info(name, tensor.data_type, array.shape))
        node.input[index] = name
        for world in (self.old, self.new):
            world.types[name] = helper.make_tensor_type_proto(tensor.data_type, list(array.shape))
            world.values[name] = array


def _given(data: Sequence[int], stated: Sequence[int], zeros: int = 0) -> tuple[int, ...] | None:
    """The shape that Reshape gives; None when the elements do not suffice for it or are too many."""
    if any(d == 0 and not zeros and p >= len(data) for p, d in enumerate(stated)):
        return None
    dims = [data[p] if d == 0 and not zeros else d for p, d in enumerate(stated)]
    known, total = math.prod(d for d in dims if d != -1), math.prod(data)
    if -1 in dims:
        if not known or total % known:
            return None
        dims[dims.index(-1)] = total // known
    return tuple(dims) if math.prod(dims) == total else None


def grown(
    before: Sequence[int], after: Sequence[int], made: Sequence[int], rest: int | None = None
) -> tuple[int, ...] | None:
    """The shape that a reshape of ``before`` to ``made`` stands for when it gets ``after``: axes are cut into the least groups of
    as many elements on both sides, and where those of a group grew, so does its first axis. None when an axis other than the first
    of its group grew, or the first of the result would have to be a fraction. rest: the axis that has whatever is left (-1), which
    grows where it is the last of its group and all before it are cut out of axes that stay: channels in groups.

    >>> grown((1, 3, 4), (5, 3, 4), (1, 12)), grown((2, 3, 4), (6, 3, 4), (6, 4)), grown((1, 8), (3, 8), (2, 4))
    ((5, 12), (18, 4), (6, 4))
    >>> grown((2, 24, 8, 8), (2, 24, 9, 9), (2, 6, 256), rest=2), grown((2, 24, 8, 8), (2, 24, 9, 9), (2, 6, 256))
    ((2, 6, 324), None)
    """
    out = list(made)
    i = j = 0
    while i < len(before) or j < len(made):
        first_i, first_j = i, j
        left = right = 1
        if i < len(before):
            left, i = before[i], i + 1
        if j < len(made):
            right, j = made[j], j + 1
        while left != right:
            if left < right and i < len(before):
                left, i = left * before[i], i + 1
            elif left > right and j < len(made):
                right, j = right * made[j], j + 1
            else:
                return None
        was, now = math.prod(before[first_i:i]), math.prod(after[first_i:i])
        if was == now:
            continue
        if first_j == j:
            return None
        axis, first = first_j, next(a for a in range(first_i, i) if before[a] != after[a])
        leading = math.prod(before[first_i:first])
        if leading != 1 and j - first_j > 1:
            if rest != j - 1 or leading % math.prod(made[first_j : j - 1]):
                return None
            axis = j - 1
        if (out[axis] * now) % was:
            return None
        out[axis] = out[axis] * now // was
    return tuple(out)
