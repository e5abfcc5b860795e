"""Writers of files: each writes a generation (a number that its content says everywhere) and reads one back."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import converters
import hybrid as mx
from bridge.inputs import load_feeds, save_arrays
from bridge.models import SYMBOL, Model
from converters.reader import read_model
from hybrid.core.error import FormatError, MixedFiles
from hybrid.core.op import Spec
from hybrid.formats import files, params
from hybrid.module import Module

SIZE = 3000
"""Elements of an array that is written: enough for several pages."""


class Writer(NamedTuple):
    """write(folder, generation) in the process that is killed; read(folder) gives the generation, and raises for anything but a
    whole file (or whole files that belong together); MIXED where files of two generations were noticed to be that."""

    write: Callable[[Path, int], None]
    read: Callable[[Path], int]


MIXED = -1


def _array(generation: int) -> mx.nd.NDArray:
    return mx.nd.array(np.full(SIZE, generation, np.float32))


def _one(*arrays: Any) -> int:
    """The only number in arrays."""
    found = {float(v) for array in arrays for v in np.unique(array.asnumpy() if hasattr(array, "asnumpy") else array)}
    (value,) = found
    return int(value)


def _network(generation: int) -> mx.sym.Symbol:
    return mx.sym.identity(mx.sym.var("data") * mx.sym.var("weight"), name=f"generation{generation}")


def _of(symbol: mx.sym.Symbol) -> int:
    return int(symbol.list_outputs()[0].removeprefix("generation").removesuffix("_output"))


def _parameter(generation: int) -> mx.gluon.Parameter:
    made = mx.gluon.Parameter("weight", shape=(SIZE,))
    made.initialize(mx.init.Constant(generation))
    return made


class _Block(mx.gluon.HybridBlock):
    def __init__(self, generation: int) -> None:
        super().__init__(prefix=f"generation{generation}_")
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(SIZE,), init=mx.init.Constant(generation))
        self.initialize()


def _trainer() -> mx.gluon.Trainer:
    return mx.gluon.Trainer([_parameter(0)], "sgd", {"momentum": 0.9}, kvstore=None)


def _states(updater: Any, generation: int) -> None:
    updater.states = {0: _array(generation), 1: _array(generation)}
    updater.states_synced = {0: True, 1: True}


def _save_trainer(folder: Path, generation: int) -> None:
    trainer = _trainer()
    _states(trainer._updaters[0], generation)
    trainer.save_states(str(folder / "a.states"))


def _load_trainer(folder: Path) -> int:
    trainer = _trainer()
    trainer.load_states(str(folder / "a.states"))
    return _one(*trainer._updaters[0].states.values())


def _store() -> mx.kvstore.KVStore:
    store = mx.kvstore.create("local")
    store.set_optimizer(mx.optimizer.create("sgd", momentum=0.9))
    return store


def _save_store(folder: Path, generation: int) -> None:
    store = _store()
    _states(store._updater, generation)
    store.save_optimizer_states(str(folder / "a.states"))


def _load_store(folder: Path) -> int:
    store = _store()
    store.load_optimizer_states(str(folder / "a.states"))
    return _one(*store._updater.states.values())


def _module() -> Module:
    data = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    made = Module(mx.sym.SoftmaxOutput(data, name="softmax"))
    made.bind([("data", (1, 3))], [("softmax_label", (1,))])
    made.init_params()
    made.init_optimizer(kvstore=None, optimizer_params={"momentum": 0.9})
    return made


_MODULES: list[Module] = []


def _the_module() -> Module:
    if not _MODULES:
        _MODULES.append(_module())
    return _MODULES[0]


def _save_module_states(folder: Path, generation: int) -> None:
    module = _the_module()
    _states(module._updater, generation)
    module.save_optimizer_states(str(folder / "a.states"))


def _load_module_states(folder: Path) -> int:
    module = _the_module()
    module.load_optimizer_states(str(folder / "a.states"))
    return _one(*module._updater.states.values())


def _save_module(folder: Path, generation: int) -> None:
    module = _the_module()
    module._symbol = _network(generation)
    values = {"weight": _array(generation)}
    module.get_params = lambda: (values, {})  # type: ignore[method-assign]
    module.save_checkpoint(str(folder / "net"), 0)


def _load_checkpoint(folder: Path) -> int:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MixedFiles)
        symbol, arguments, _ = mx.model.load_checkpoint(str(folder / "net"), 0)
    return _paired(_of(symbol), _one(*arguments.values()), caught)


def _paired(one: int, other: int, noticed: Sequence[warnings.WarningMessage]) -> int:
    """The generation of a pair; MIXED when it is of two, that is noticed and the missing file is found. Raises AssertionError
    when it is not."""
    assert bool(noticed) == (one != other), (
        f"generations {one} and {other} were {'' if noticed else 'not '}noticed to be two"
    )
    assert all("rename that file" in str(warning.message) for warning in noticed), "what is missing was not found"
    return MIXED if noticed else one


def _export(folder: Path, generation: int) -> None:
    block = _Block(generation)
    block._cached_graph = ([mx.sym.var("data")], _network(generation))
    block.params._params = {"weight": block.weight}
    block.export(str(folder / "net"))


def _save_block(folder: Path, generation: int) -> None:
    _Block(generation).save(str(folder / "net"))


def _load_block(folder: Path) -> int:
    block = _Block(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MixedFiles)
        block.load(str(folder / "net"))
    name = json.loads((folder / "net-model.json").read_text())["_block0"]["orig_name"]
    return _paired(int(name.removeprefix("generation")), _one(block.weight.data()), caught)


def _record(generation: int) -> bytes:
    """Of a length that changes, so that the places of records do."""
    return f"{generation:05}".encode() * (1000 + generation % 7)


def _records(folder: Path, generation: int) -> None:
    made = mx.recordio.MXRecordIO(folder / "a.rec", "w")
    for _ in range(5):
        made.write(_record(generation))
    made.close()


def _load_records(folder: Path) -> int:
    made = mx.recordio.MXRecordIO(folder / "a.rec", "r")
    return _generation([made.read() for _ in range(6)])


def _generation(records: list[bytes | None]) -> int:
    assert records[5:] == [None]
    (record,) = set(records[:5])
    assert record is not None
    generation = int(record[:5])
    assert record == _record(generation)
    return generation


def _indexed(folder: Path, generation: int) -> None:
    made = mx.recordio.MXIndexedRecordIO(folder / "a.idx", folder / "a.rec", "w")
    for key in range(5):
        made.write_idx(key, _record(generation))
    made.close()


def _load_indexed(folder: Path) -> int:
    made = mx.recordio.MXIndexedRecordIO(folder / "a.idx", folder / "a.rec", "r")
    assert made.keys == list(range(5))
    try:
        return _generation([made.read_idx(key) for key in made.keys] + [made.read()])
    except FormatError:
        _load_records(folder)  # whole, and only the index is of another generation
        return MIXED


def _onnx(generation: int) -> converters.Converted:
    values = {"weight": np.full(SIZE, generation, np.float32)}
    symbol = _network(generation)
    return converters.convert(symbol.graph, values, {"data": Spec((SIZE,), np.dtype(np.float32))})


_CONVERTED: dict[int, Any] = {}


def _save_onnx(external: bool) -> Callable[[Path, int], None]:
    def write(folder: Path, generation: int) -> None:
        if not _CONVERTED:
            _CONVERTED[0] = _onnx(0)
        initializers = {n: np.full_like(a, generation) for n, a in _CONVERTED[0].initializers.items()}
        made = _CONVERTED[0]._replace(initializers=initializers)
        made.model.producer_version = str(generation)
        made.save(folder / "net.onnx", external=external)

    return write


def _load_onnx(folder: Path) -> int:
    try:
        file = read_model(folder / "net.onnx")
    except FormatError as error:
        if "not written together" in str(error) and "rename that file" in str(error):
            return MIXED
        raise
    values = [file.array(tensor) for tensor in file.proto.graph.initializer if tensor.name == "weight"]
    return _paired(int(file.proto.producer_version), _one(*values), ())


def _import(folder: Path, generation: int) -> None:
    graph = _network(generation).graph
    changed = Model("net", graph, {"weight": np.full(SIZE, generation, np.float32)})
    SYMBOL.translated(changed).save(folder / "net")


def _npz(folder: Path, generation: int) -> None:
    with files.replacing(folder / "a.npz") as file:
        save_arrays(file, {"a": np.full(SIZE, generation), "b": np.full(SIZE, generation)})


def _moved(folder: Path, generation: int) -> None:
    with files.scratch(folder) as prepared:
        _save_onnx(True)(prepared, generation)
        files.move(*((prepared / name, folder / name) for name in ("net.onnx", "net.onnx.data")))


def _params(save: Callable[[str, int], None]) -> Writer:
    return Writer(
        lambda folder, g: save(str(folder / "a.params"), g),
        lambda folder: _one(*params.load(folder / "a.params", mmap=False).values()),  # type: ignore[union-attr]
    )


def _text(folder: Path) -> int:
    (generation,) = set(json.loads((folder / "trace.json").read_text())["traceEvents"])
    return generation


WRITERS = {
    "nd.save": _params(lambda path, g: mx.nd.save(path, {"a": _array(g), "b": _array(g)})),
    "Symbol.save": Writer(
        lambda folder, g: _network(g).save(str(folder / "a.json")),
        lambda folder: _of(mx.sym.load(str(folder / "a.json"))),
    ),
    "Block.save_parameters": _params(lambda path, g: _Block(g).save_parameters(path)),
    "ParameterDict.save": _params(lambda path, g: _Block(g).collect_params().save(path)),
    "HybridBlock.export": Writer(_export, _load_checkpoint),
    "Block.save": Writer(_save_block, _load_block),
    "model.save_checkpoint": Writer(
        lambda folder, g: mx.model.save_checkpoint(str(folder / "net"), 0, _network(g), {"weight": _array(g)}, {}),
        _load_checkpoint,
    ),
    "Module.save_checkpoint": Writer(_save_module, _load_checkpoint),
    "Module.save_optimizer_states": Writer(_save_module_states, _load_module_states),
    "Trainer.save_states": Writer(_save_trainer, _load_trainer),
    "KVStore.save_optimizer_states": Writer(_save_store, _load_store),
    "MXRecordIO": Writer(_records, _load_records),
    "MXIndexedRecordIO": Writer(_indexed, _load_indexed),
    "Converted.save": Writer(_save_onnx(False), _load_onnx),
    "Converted.save, external data": Writer(_save_onnx(True), _load_onnx),
    "convert, external data": Writer(_moved, _load_onnx),
    "import": Writer(_import, _load_checkpoint),
    "arrays (.npz)": Writer(_npz, lambda folder: _one(*load_feeds(folder / "a.npz", ["a", "b"]).values())),
    "text (reports, traces)": Writer(
        lambda folder, g: files.write(folder / "trace.json", json.dumps({"traceEvents": [g] * 1000})), _text
    ),
}
