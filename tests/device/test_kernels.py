"""Our CUDA kernels without a GPU: their numbers, by running their text as C++; and that NVRTC compiles them, where there is one."""

import ctypes
import shutil
from pathlib import Path

import numpy as np
import pytest

from hybrid.core.op import Op, Spec, lookup
from hybrid.device.kernels import CONVOLUTION, SOFTMAX
from hybrid.execution.device_kernels import C, chain_source
from hybrid.execution.on_device import apply_on_device
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import infer
from hybrid.ops.fused import OPCODES, FusedElementwise
from tests.device.emulation import Emulated
from tests.table.goldens import close

by_emulation = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
RNG = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RNG.uniform(-1.5, 1.5, shape).astype(np.float32)


def same(op: Op, *arrays: np.ndarray, kernel: str) -> None:
    """Fail unless the kernel runs, and computes what the operator does."""
    device = Emulated()
    node = Node(op, "node", [Entry(Node(None, str(i))) for i in range(len(arrays))])
    graph = Graph([Entry(node)])
    found = infer(
        graph, {str(i): a.shape for i, a in enumerate(arrays)}, {str(i): a.dtype for i, a in enumerate(arrays)}
    )
    specs = [found.spec(Entry(node, i)) for i in range(node.num_outputs)]
    (result,), why = apply_on_device(device, op, [device.upload(a) for a in arrays], specs, name="node")
    assert why is None
    assert device.ran == [kernel]
    close(device.download(result), op.compute(*arrays), op)  # type: ignore[call-arg]


@by_emulation
@pytest.mark.parametrize("columns", [1, 5, 257, 1000])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name: str, columns: int) -> None:
    same(lookup(name).bind(), 30 * floats(2, 3, columns), kernel="softmax")


@by_emulation
def test_softmax_of_what_is_not_finite() -> None:
    x = floats(4, 300)
    x[0, 7], x[1, :], x[2, 3] = np.nan, -np.inf, -np.inf
    device, op = Emulated(), lookup("softmax").bind()
    (y,), _ = apply_on_device(device, op, [device.upload(x)], [infer_one(op, x)], name="node")
    with np.errstate(all="ignore"):
        want = op.compute(x)  # type: ignore[call-arg]
    np.testing.assert_allclose(device.download(y), want, rtol=1e-5, atol=1e-7)


def infer_one(op: Op, x: np.ndarray) -> Spec:
    node = Node(op, "node", [Entry(Node(None, "x"))])
    return infer(Graph([Entry(node)]), {"x": x.shape}, {"x": x.dtype}).spec(Entry(node))


CONVOLUTIONS = [
    ((2, 3, 9, 8), dict(kernel=(3, 3), num_filter=5)),
    ((1, 4, 7, 11), dict(kernel=(3, 2), stride=(2, 1), pad=(1, 2), num_filter=70, no_bias=True)),
    ((3, 6, 5, 5), dict(kernel=(1, 1), num_filter=6, num_group=3)),
    ((1, 20, 6, 7), dict(kernel=(3, 3), dilate=(2, 1), pad=(2, 1), num_filter=20, num_group=20)),
    ((2, 2, 12, 12), dict(kernel=(5, 5), stride=(3, 3), pad=(4, 0), num_filter=65)),
]


@by_emulation
@pytest.mark.parametrize(("shape", "attrs"), CONVOLUTIONS)
def test_convolution(shape: tuple[int, ...], attrs: dict) -> None:
    weight = floats(attrs["num_filter"], shape[1] // attrs.get("num_group", 1), *attrs["kernel"])
    bias = [] if attrs.get("no_bias") else [floats(attrs["num_filter"])]
    same(lookup("Convolution").bind(**attrs), floats(*shape), weight, *bias, kernel="convolution")


@by_emulation
@pytest.mark.parametrize(
    ("code", "shapes"),
    [
        ("$0 $1 add relu", [(2, 3, 4), (2, 3, 4)]),
        ("$0 $1 mul $2 add sigmoid 2.5 mul", [(2, 3, 4, 5), (3, 1, 1), (1,)]),
        ("$0 $1 gt $0 $1 where", [(5, 1, 3), (4, 1)]),
    ],
)
def test_chains_broadcast(code: str, shapes: list[tuple[int, ...]]) -> None:
    same(FusedElementwise.bind(num_args=len(shapes), code=code), *(floats(*s) for s in shapes), kernel="chain")


@pytest.mark.slow
@by_emulation
def test_every_opcode_is_what_it_is_in_numpy() -> None:
    """Of numbers of all kinds: NaN, infinities, zeros of both signs, the smallest and the greatest."""
    device = Emulated()
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.5, 0.5, 1e-30, 3e38], np.float32)
    grid = [a.reshape(-1) for a in np.meshgrid(special, special, special, indexing="ij")]
    codes = {o: " ".join([*(f"${i}" for i in range(OPCODES[o][0])), o]) for o in C if o in OPCODES}
    sources = {o: chain_source(code, [(1000,)] * OPCODES[o][0]) or "" for o, code in codes.items()}
    whole = "\n".join(s.replace(" chain(", f" chain_{o}(") for o, s in sources.items())  # to be compiled at once
    wrong = []
    for opcode, code in codes.items():
        arrays = grid[: OPCODES[opcode][0]]
        y = device.empty((1000,), np.float32)
        given = [device.upload(a) for a in arrays]
        device.kernel(whole, f"chain_{opcode}")((4,), (256,), (y, np.int64(1000), *given))
        with np.errstate(all="ignore"):
            want = FusedElementwise.bind(num_args=len(arrays), code=code).compute(*arrays)  # type: ignore[call-arg]
        try:
            np.testing.assert_allclose(device.download(y), want, rtol=2e-6, atol=1e-36)
        except AssertionError as error:
            wrong.append(f"{opcode}: {error}")
    assert not wrong, "\n".join(wrong)


def test_what_has_no_kernel_is_computed_as_it_says() -> None:
    assert chain_source("$0 digamma", [(3,)]) is None
    assert chain_source("$0 inf lt", [(3,)]) is None
    assert chain_source("$0 float16", [(3,)]) is None


def test_nvrtc_compiles_all_kernels() -> None:
    """To PTX for the GPUs of three generations."""
    folder = pytest.importorskip("nvidia.cuda_nvrtc").__path__[0]
    (path,) = Path(folder, "lib").glob("libnvrtc.so.*")
    nvrtc = ctypes.CDLL(str(path))
    codes = [f"$0 $1 $2 {'add ' * (3 - OPCODES[o][0])}{o}" for o in C if o in OPCODES]
    chain = " ".join([codes[0], *(f"{code} add" for code in codes[1:])])
    sources = {"softmax": SOFTMAX, "convolution": CONVOLUTION, "chain": chain_source(chain, [(2, 3, 4), (3, 1), (4,)])}
    for name, source in sources.items():
        assert source is not None
        for architecture in (70, 80, 90):
            program = ctypes.c_void_p()
            text, title = source.encode(), name.encode()
            assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, title, 0, None, None) == 0
            flags = [f"--gpu-architecture=compute_{architecture}", "--std=c++17", "--fmad=false"]
            options = (ctypes.c_char_p * len(flags))(*(f.encode() for f in flags))
            status = nvrtc.nvrtcCompileProgram(program, len(flags), options)
            size = ctypes.c_size_t()
            nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetProgramLog(program, log)
            assert status == 0, log.value.decode()
            nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
            ptx = ctypes.create_string_buffer(size.value)
            assert nvrtc.nvrtcGetPTX(program, ptx) == 0
            assert f".entry {name}".encode() in ptx.value
            assert f".target sm_{architecture}".encode() in ptx.value
