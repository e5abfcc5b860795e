"""``mx.contrib.onnx`` as MXNet 1.9.1 has it: the older place of export_model, ONNX models as symbols, and what is known of an ONNX
file."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Mapping
from typing import Any, Literal

from converters.held import DOUBTFUL, HELD
from converters.importer import from_onnx
from hybrid import symbol
from hybrid.context import Context
from hybrid.gluon import SymbolBlock
from hybrid.model import load_checkpoint
from hybrid.ndarray import NDArray

from .importing import import_onnx
from .models import Model, open_onnx
from .mxnet_onnx import export_model
from .sharing import shared_weights, shared_words, training_words

__all__ = ["export_model", "get_model_metadata", "import_model", "import_to_gluon"]
mx2onnx = onnx2mx = sys.modules[__name__]
"""The packages of MXNet that these functions come from, or came from before 1.9."""


def _read(
    model_file: Any, dynamic: Mapping[str, Mapping[int, str]] | None, batch: Literal["batch"] | None
) -> tuple[Model, tuple[symbol.Symbol, dict[str, NDArray], dict[str, NDArray]]]:
    """An ONNX file, opened as every command opens it, and what it imports to; with open axes, what was compared at other sizes."""
    opened = open_onnx(model_file)
    if not dynamic and batch is None:
        return opened, from_onnx(opened.imported)
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "net")
        import_onnx(opened, output=prefix, dynamic=dynamic, batch=batch)
        return opened, load_checkpoint(prefix, 0)


def _log_shared(opened: Model, made: symbol.Symbol, arguments: Mapping[str, NDArray]) -> None:
    """Log which parameters several nodes share: what freezes one for a layer freezes it for all. Warn of what is to be known
    before the network is trained."""
    log = logging.getLogger(__name__)
    for line in shared_words(shared_weights(made.graph, arguments)):
        log.info("shared: %s", line)
    for what, names in opened.imported.training.items():
        level = logging.INFO if what in (DOUBTFUL, HELD) else logging.WARNING
        log.log(level, "in training: %s", *training_words({what: names}))


def import_model(
    model_file: Any,
    *,
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
    batch: Literal["batch"] | None = None,
) -> tuple[symbol.Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """An ONNX file as (symbol, arg_params, aux_params). ``bridge.import_onnx`` compares the numbers with onnxruntime too.

    model_file: its path, or that of an archive with it. dynamic: names of axes that take any size though the file declares one,
    such as {"data": {0: "batch"}}. batch: "batch" to open the first axis of all inputs. What comes of these, which MXNet does not
    have, is compared with onnxruntime, as gluonnx import does. Raises UnsupportedModel listing every node that cannot be read, and
    with open axes what bridge.import_onnx raises.
    Source: MXNet contrib.onnx.import_model.

    Examples
    --------
    >>> from gluonnx import mx
    >>> files = "model-symbol.json", "model-0000.params"
    >>> path = mx.contrib.onnx.export_model(*files, [(1, 3)], "float32", "model.onnx")
    >>> net, arguments, states = mx.contrib.onnx.import_model(path)
    >>> sorted(arguments), states
    (['top_bias', 'top_weight'], {})
    >>> net.eval(data=mx.nd.ones((1, 3)), **arguments)[0].asnumpy()
    array([[6. , 1.5]], dtype=float32)
    """
    opened, found = _read(model_file, dynamic, batch)
    _log_shared(opened, found[0], found[1])
    return found


def import_to_gluon(
    model_file: Any,
    ctx: Context | None = None,
    *,
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
    batch: Literal["batch"] | None = None,
) -> SymbolBlock:
    """An ONNX file as a SymbolBlock, with its parameters; called with the model's inputs in their order.

    model_file: its path, or that of an archive with it. ctx: where the parameters are to be; None: the current device.
    dynamic, batch: as import_model takes them.

    Raises as import_model does. Source: MXNet contrib.onnx.import_to_gluon.

    Examples
    --------
    >>> from gluonnx import mx
    >>> files = "model-symbol.json", "model-0000.params"
    >>> path = mx.contrib.onnx.export_model(*files, [(1, 3)], "float32", "model.onnx")
    >>> net = mx.contrib.onnx.import_to_gluon(path)
    >>> net(mx.nd.ones((1, 3))).asnumpy()
    array([[6. , 1.5]], dtype=float32)
    """
    opened, (out, arguments, auxiliary) = _read(model_file, dynamic, batch)
    _log_shared(opened, out, arguments)
    given = {**arguments, **auxiliary}
    # in the model's order, which is not always that in which the graph reads them
    order = [i.name for i in opened.proto.graph.input]  # type: ignore[union-attr]  # it is ONNX
    free = [n for n in out.list_inputs() if n not in given]
    block = SymbolBlock(out, [symbol.var(n) for n in sorted(free, key=order.index)])
    block.collect_params().load_dict(given, ctx, cast_dtype=True, dtype_source="saved")
    return block


def get_model_metadata(model_file: Any) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    """Names and shapes of an ONNX file's inputs and outputs: {"input_tensor_data": [...], "output_tensor_data": [...]}.

    model_file: its path. A size that may vary is 0.

    Raises BadInput for a file that is no ONNX model. Source: MXNet contrib.onnx.get_model_metadata.

    Examples
    --------
    >>> from gluonnx import mx
    >>> files = "model-symbol.json", "model-0000.params"
    >>> path = mx.contrib.onnx.export_model(*files, [(1, 3)], "float32", "model.onnx")
    >>> mx.contrib.onnx.get_model_metadata(path)
    {'input_tensor_data': [('data', (1, 3))], 'output_tensor_data': [('top_fwd_output', (1, 2))]}
    """
    proto = open_onnx(model_file).proto
    assert proto is not None
    stored = {t.name for t in proto.graph.initializer}

    def described(values: Any) -> list[tuple[str, tuple[int, ...]]]:
        return [
            (v.name, tuple(d.dim_value for d in v.type.tensor_type.shape.dim)) for v in values if v.name not in stored
        ]

    return {
        "input_tensor_data": described(proto.graph.input),
        "output_tensor_data": described(proto.graph.output),
    }
