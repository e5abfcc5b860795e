"""Put casts between operators of a float32 graph, so that some compute in float16 or bfloat16.

Names and places of the casts are those of MXNet's pass ReducePrecision. Where that would make a graph whose dtypes contradict each
other (operators that take whatever comes in, with inputs of both dtypes; variables that operators of either kind read), a
cast is put in between.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..core.attrs import dtype_text
from ..core.error import OpError
from ..core.op import Op
from ..ir.graph import Entry, Graph, Node
from ..ops.casting import AmpCast, AmpMulticast

FLOAT32 = np.dtype(np.float32)
Key = tuple[int, int]  # id of a node of the old graph, output index
Types = tuple[list[np.dtype | None], list[np.dtype | None]]

_NAMED = frozenset(
    word
    for line in (
        "Activation BatchNorm BatchNorm_v1 BilinearSampler Concat Convolution Convolution_v1 Correlation Crop Deconvolution",
        "Dropout FullyConnected GridGenerator GroupNorm IdentityAttachKLSparseReg InstanceNorm L2Normalization LRN LayerNorm",
        "LeakyReLU MakeLoss Pad Pooling Pooling_v1 RNN ROIPooling SVMOutput SequenceLast SequenceMask SequenceReverse",
        "SliceChannel SoftmaxActivation SoftmaxOutput SpatialTransformer SwapAxis UpSampling _CrossDeviceCopy",
        "_contrib_BatchNormWithReLU _contrib_DeformableConvolution _contrib_ModulatedDeformableConvolution",
        "_contrib_MultiBoxDetection _contrib_MultiBoxPrior _contrib_MultiBoxTarget _contrib_MultiProposal _contrib_Proposal",
        "_contrib_SyncBatchNorm _contrib_calibrate_entropy _contrib_count_sketch _contrib_fft _contrib_hawkesll _contrib_ifft",
        "_contrib_index_array _contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_valatt",
        "_contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt _contrib_quantize_asym",
        "_contrib_quantized_act _contrib_quantized_conv _contrib_quantized_elemwise_mul _contrib_quantized_embedding",
        "_contrib_quantized_flatten _contrib_quantized_pooling _npi_concatenate _npi_dstack _npi_hstack",
        "_rnn_param_concat col2im elemwise_add im2col make_loss softmax softmin",
    )
    for word in line.split()
)
"""Operators whose outputs have names in MXNet; those of others are numbered where casts are named after them."""


class Precisions(NamedTuple):
    """Precisions of operators, by their names."""

    low: np.dtype
    in_low: Collection[str]
    in_float32: Collection[str]
    in_widest: Collection[str]
    """In the widest dtype of their inputs."""
    conditional: Mapping[str, Sequence[tuple[str, Collection[str]]]]
    """In float32 where an attribute has one of some texts."""
    excluded: Collection[str] = ()
    """Names of nodes that stay in float32."""
    inputs: Collection[str] | None = None
    """Names of variables that stay in float32 where the others may be stored in low precision; None: all stay."""


def reduce_precision(graph: Graph, wanted: Precisions) -> Graph:
    """The graph with casts, and outputs in float32. Variables that only operators in low precision read are read without a cast
    where ``wanted.inputs`` are told: they are to be stored in it.

    Raises OpError, naming the node, for an operator that cannot compute in low precision."""
    return _Reduction(graph, wanted).run()


def stored_low(graph: Graph) -> list[str]:
    """Names of variables that may be in low precision although nothing of a reduced graph says so: all that reads them are
    amp_multicasts of variables alone."""
    readers = graph.uses()
    found = []
    for node in graph.variables():
        users = [user for user, _ in readers.get((id(node), 0), [])]
        if users and all(u.means(AmpMulticast) and all(e.node.is_variable for e in u.inputs) for u in users):
            found.append(node.name)
    return found


def types_of(op: Op, first: np.dtype) -> Types | None:
    """Dtypes of the inputs and outputs of an operator, as far as they follow from that of the first input; None where it does not
    take it."""
    inputs, outputs = len(op.input_names()), len(op.output_names())
    try:
        known = list(op.infer_input_types([first, *[None] * (inputs - 1)], [None] * outputs))
    except ValueError:
        return None
    found = []
    for other in (
        (first,) if None not in known else (first, FLOAT32, np.dtype(np.int32))
    ):  # indices, lengths: of any dtype
        full = [other if d is None else d for d in known]
        try:
            op.want_dtype(full)
            made = op.infer_type(*full)
        except ValueError:
            continue
        found.append(list(made) if isinstance(made, list | tuple) else [made])
    return (known, [of[0] if len({*of}) == 1 else None for of in zip(*found)]) if found else None


def _key(entry: Entry) -> Key:
    return id(entry.node), entry.index


class _Reduction:
    """One run of the pass."""

    def __init__(self, graph: Graph, wanted: Precisions):
        self.graph, self.wanted, self.low = graph, wanted, wanted.low
        self.made: dict[Key, Entry] = {}
        self.dtypes: dict[Key, np.dtype] = {}
        """Dtypes of old entries in the new graph, as far as they are known: float32 or the low one."""
        self.casts: dict[tuple[Key, np.dtype], Entry] = {}
        self.stored = self._stored()

    def run(self) -> Graph:
        for node in self.graph.nodes:
            if node.is_variable:
                self.made[id(node), 0] = Entry(Node(None, node.name, (), dict(node.attrs)))
                if node.name in self.wanted.excluded:
                    self.dtypes[id(node), 0] = FLOAT32
                elif id(node) in self.stored:
                    self.dtypes[id(node), 0] = self.low
                continue
            inputs = self._inputs(node)
            made = Node(node.op, node.name, inputs, node.attrs, node.subgraphs)
            self.made.update({(id(node), i): Entry(made, i) for i in range(node.num_outputs)})
        return Graph(self._as(entry, FLOAT32) for entry in self.graph.outputs)

    def _stored(self) -> set[int]:
        """Variables, by id of their nodes, that only operators in low precision read, and read in it."""
        if self.wanted.inputs is None:
            return set()
        readers, heads = self.graph.uses(), {id(e.node) for e in self.graph.outputs}
        found = set()
        for node in self.graph.variables():
            users = readers.get((id(node), 0), [])
            free = users and id(node) not in heads and not {node.name} & {*self.wanted.inputs, *self.wanted.excluded}
            if free and all(self._is_low(user) and self._casts(user, position) for user, position in users):
                found.add(id(node))
        return found

    def _is_float32(self, node: Node) -> bool:
        return node.name in self.wanted.excluded or (node.op is not None and node.op.name in self.wanted.in_float32)

    def _is_low(self, node: Node) -> bool:
        return not self._is_float32(node) and node.op is not None and node.op.name in self.wanted.in_low

    def _is_conditional(self, node: Node) -> bool:
        assert node.op is not None
        return any(node.attrs.get(key) in texts for key, texts in self.wanted.conditional.get(node.op.name, ()))

    def _casts(self, node: Node, position: int) -> bool:
        """True where an operator in low precision reads an input in it."""
        assert node.op is not None
        known, _ = self._low_types(node)
        return known[position] in (None, self.low) and node.op.input_names()[position] not in node.op.mutates

    def _low_types(self, node: Node) -> Types:
        assert node.op is not None
        found = types_of(node.op, self.low) if node.inputs else None
        if found is None:
            raise OpError(f"node {node.name!r}: {node.op.name} does not compute in {dtype_text(self.low)}")
        return found

    def _has(self, entry: Entry, dtype: np.dtype) -> bool:
        return self.dtypes.get(_key(entry)) == dtype or (_key(entry), dtype) in self.casts

    def _as(self, entry: Entry, dtype: np.dtype) -> Entry:
        """An old entry in the new graph and in a dtype, cast once for all that read it so."""
        key = _key(entry)
        if self.dtypes.get(key) == dtype:
            return self.made[key]
        if (key, dtype) not in self.casts:
            text = dtype_text(dtype)
            name = f"{entry.node.name}{_suffix(entry)}_amp_cast_{text}"
            cast = Node(AmpCast.bind(dtype=text), name, [self.made[key]], {"dtype": text})
            self.casts[key, dtype] = Entry(cast)
        return self.casts[key, dtype]

    def _give(self, node: Node, dtypes: Sequence[np.dtype | None]) -> None:
        """Note what the outputs of a node are, where that is one of the two dtypes."""
        self.dtypes.update(
            {(id(node), i): d for i, d in enumerate(dtypes) if d in (FLOAT32, self.low) and d is not None}
        )

    def _inputs(self, node: Node) -> list[Entry]:
        """The inputs of a node of the new graph; notes of which dtypes its outputs are."""
        op = node.op
        assert op is not None
        if self._is_float32(node):
            self._give(node, [FLOAT32] * node.num_outputs)
            return [self._in_float32(e) for e in node.inputs]
        if op.name in self.wanted.in_low:
            _, outputs = self._low_types(node)
            self._give(node, outputs)
            return [
                self._as(e, self.low) if self._casts(node, i) else self._in_float32(e)
                for i, e in enumerate(node.inputs)
            ]
        if op.name in self.wanted.in_widest and node.inputs:
            return self._in_widest(node)
        if self._is_conditional(node):
            self._give(node, [FLOAT32] * node.num_outputs)
            return [
                self.made[_key(e)] if name in op.mutates else self._as(e, FLOAT32)
                for name, e in zip(op.input_names(), node.inputs)
            ]
        return self._as_they_come(node)

    def _in_float32(self, entry: Entry) -> Entry:
        """An entry in float32, which variables are already."""
        if entry.node.is_variable and _key(entry) not in self.dtypes and not self._has(entry, FLOAT32):
            return self.made[_key(entry)]
        return self._as(entry, FLOAT32)

    def _in_widest(self, node: Node) -> list[Entry]:
        assert node.op is not None
        if all(self._has(e, FLOAT32) or self._has(e, self.low) for e in node.inputs):
            low = not any(self._has(e, FLOAT32) for e in node.inputs) and types_of(node.op, self.low) is not None
            widest = self.low if low else FLOAT32
            self._give(node, [widest] * node.num_outputs)
            return [self._as(e, widest) for e in node.inputs]
        first, count = node.inputs[0], str(len(node.inputs))
        name = f"{first.node.name}{_suffix(first)}_amp_multicast"
        attrs = {"num_outputs": count}
        made = Node(AmpMulticast.bind(**attrs), name, [self.made[_key(e)] for e in node.inputs], attrs)
        return [Entry(made, i) for i in range(len(node.inputs))]

    def _as_they_come(self, node: Node) -> list[Entry]:
        """Inputs of an operator that takes either dtype: as they are, or where it wants one of all and they are not, in float32."""
        assert node.op is not None
        known = [self.dtypes.get(_key(e)) for e in node.inputs]
        first = known[0] if known else None
        found = None if first is None or node.subgraphs else types_of(node.op, first)
        if found is None:
            clash = bool(node.subgraphs) or first == self.low
        else:
            clash = any(have not in (None, want) and want in (FLOAT32, self.low) for have, want in zip(known, found[0]))
        if clash:
            found = types_of(node.op, FLOAT32) if not node.subgraphs else None
            inputs = [self._as(e, FLOAT32) if d == self.low else self.made[_key(e)] for e, d in zip(node.inputs, known)]
        else:
            inputs = [self.made[_key(e)] for e in node.inputs]
        if found is not None:
            self._give(node, found[1])
        return inputs


def _suffix(entry: Entry) -> str:
    """The end of a cast's name, which tells of which output of a node it is one, as MXNet says it."""
    op = entry.node.op
    if op is None:
        return ""
    return f"_{op.output_names()[entry.index]}" if op.name in _NAMED else f"_{entry.index}"
