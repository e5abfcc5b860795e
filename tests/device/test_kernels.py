"""Our CUDA kernels without a GPU: their numbers, by running their text as C++; and that NVRTC compiles them, where there is one."""

import ctypes
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import hybrid as mx
from hybrid.core.examples import Maker
from hybrid.core.op import Example, Op, Spec, lookup
from hybrid.device import registry
from hybrid.device.kernels import (
    ATTENTION,
    CONVOLUTION,
    CONVOLUTION_DATA,
    CONVOLUTION_WEIGHT,
    NORMALIZATION,
    POOLING,
    POOLING_DATA,
    SOFTMAX,
)
from hybrid.execution import device_windows
from hybrid.execution.device_kernels import C, chain_source
from hybrid.execution.on_device import apply_on_device, rule_of
from hybrid.ir.graph import Entry, Graph, Node
from hybrid.ir.infer import infer
from hybrid.ops.fused import OPCODES, FusedElementwise
from hybrid.ops.fused_attention import FusedAttention
from hybrid.ops.fused_norm import RMSNorm
from tests.device.emulation import Emulated
from tests.device.test_table import same_on_device
from tests.device.test_training import convolutional, trained
from tests.table.examples import examples
from tests.table.goldens import close

by_emulation = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
RNG = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RNG.uniform(-1.5, 1.5, shape).astype(np.float32)


def ran(op: Op, *arrays: np.ndarray, kernel: str) -> list[np.ndarray]:
    """The results of the kernel; fails unless it runs, and alone."""
    device = Emulated()
    node = Node(op, "node", [Entry(Node(None, str(i))) for i in range(len(arrays))])
    graph = Graph([Entry(node)])
    found = infer(
        graph, {str(i): a.shape for i, a in enumerate(arrays)}, {str(i): a.dtype for i, a in enumerate(arrays)}
    )
    specs = [found.spec(Entry(node, i)) for i in range(node.num_outputs)]
    results, why = apply_on_device(device, op, [device.upload(a) for a in arrays], specs, name="node")
    assert why is None
    assert device.ran == [kernel]
    return [device.download(r) for r in results]


def same(op: Op, *arrays: np.ndarray, kernel: str) -> None:
    """Fail unless the kernel runs, and computes what the operator does."""
    wants = op.compute(*arrays)  # type: ignore[call-arg]
    for got, want in zip(ran(op, *arrays, kernel=kernel), wants if isinstance(wants, tuple) else [wants], strict=True):
        close(got, want, op)


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
@pytest.mark.parametrize(("shape", "attrs"), CONVOLUTIONS)
def test_gradients_of_convolution(shape: tuple[int, ...], attrs: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without slices of the pixels that the weight's is summed over."""
    weight = floats(attrs["num_filter"], shape[1] // attrs.get("num_group", 1), *attrs["kernel"])
    attrs = attrs | {"no_bias": True}
    data = floats(*shape)
    dy = floats(*lookup("Convolution").bind(**attrs).infer_shape(shape, weight.shape))
    same(lookup("_backward_Convolution_data").bind(**attrs), dy, weight, data, kernel="convolution_data")
    by_weight = lookup("_backward_Convolution_weight").bind(**attrs)
    same(by_weight, dy, data, weight, kernel="convolution_weight")
    monkeypatch.setattr(device_windows, "SHORTEST", 5)
    monkeypatch.setattr(device_windows, "BLOCKS", 7)
    same(by_weight, dy, data, weight, kernel="convolution_weight")


MEANS = [dict(pool_type="avg", count_include_pad=c) for c in (True, False)]
POOLINGS = [
    ((2, 3, 9, 8), dict(kernel=(3, 3), stride=(2, 2), pad=(1, 1))),
    ((1, 2, 7, 11), dict(kernel=(2, 5), stride=(3, 2), pad=(0, 2))),
    ((1, 2, 8, 9), dict(kernel=(3, 2), stride=(2, 3), pad=(1, 0), pooling_convention="full")),
    ((2, 3, 12), dict(kernel=(4,), stride=(3,), pad=(2,))),
    ((1, 1, 5, 6), dict(kernel=(5, 6))),
]


@by_emulation
@pytest.mark.parametrize("kind", [dict(pool_type="max"), dict(pool_type="sum"), *MEANS])
@pytest.mark.parametrize(("shape", "attrs"), POOLINGS)
def test_pooling(shape: tuple[int, ...], attrs: dict, kind: dict) -> None:
    """And its gradient, where elements are alike."""
    x = np.round(2 * floats(*shape)).astype(np.float32)
    op = lookup("Pooling").bind(**attrs, **kind)
    same(op, x, kernel="pooling")
    y = op.compute(x)  # type: ignore[call-arg]
    same(lookup("_backward_Pooling").bind(**attrs, **kind), floats(*y.shape), x, y, kernel="pooling_data")


@by_emulation
def test_maxima_of_what_is_not_finite() -> None:
    """NaN is left out; where there is nothing else, or -inf, padding takes the gradient."""
    x = floats(1, 1, 6, 6)
    x[0, 0, :3] = [[np.nan, np.nan, -np.inf, 1, np.inf, 2]] * 3
    attrs = dict(kernel=(2, 2), stride=(1, 1), pad=(1, 1), pool_type="max")
    op = lookup("Pooling").bind(**attrs)
    same(op, x, kernel="pooling")
    y = op.compute(x)  # type: ignore[call-arg]
    same(lookup("_backward_Pooling").bind(**attrs), floats(*y.shape), x, y, kernel="pooling_data")


@by_emulation
@pytest.mark.parametrize("columns", [1, 5, 257, 700])
def test_normalization(columns: int) -> None:
    x, gamma, beta = 3 + floats(2, 3, columns), floats(columns), floats(columns)
    same(lookup("LayerNorm").bind(output_mean_var=True), x, gamma, beta, kernel="normalization")
    same(RMSNorm.bind(), x, gamma, kernel="normalization")


@by_emulation
@pytest.mark.parametrize("example", [*FusedAttention.examples(Maker(FusedAttention))], ids=lambda e: repr(e.op))
def test_attention(example: Example) -> None:
    """Examples are of few keys."""
    same(example.op, *example.arrays, kernel="attention")


@by_emulation
def test_attention_over_many_keys() -> None:
    """Several tiles of keys and of queries, of which the later ones have larger scores; sizes that fill no tile; two heads that
    share keys."""
    q, k, v = floats(1, 2, 35, 33), floats(1, 1, 150, 33), floats(1, 1, 150, 128)
    k *= np.linspace(0.1, 4, 150, dtype=np.float32)[:, None]
    same(FusedAttention.bind(scale=0.7), q, k, v, kernel="attention")
    same(FusedAttention.bind(scale=0.7, before=40, after=0, offset=115), q, k, v, kernel="attention")


@by_emulation
@pytest.mark.parametrize("blind", ["nan", "zeros", "finite"])
def test_attention_that_sees_nothing(blind: str) -> None:
    """Rows that see no key at all, none in the first tile, one that is NaN, infinity; and values that are not finite."""
    q, k, v = floats(1, 1, 6, 4), floats(1, 1, 70, 4), floats(1, 1, 70, 3)
    seen = np.ones((1, 1, 6, 70), bool)
    seen[0, 0, 0], seen[0, 0, 1, :66], seen[0, 0, 2, 3:] = False, False, False
    added = np.zeros((1, 1, 6, 70), np.float32)
    added[0, 0, 3, 67], added[0, 0, 4, 5], added[0, 0, 4, 69] = np.nan, np.inf, -np.inf
    op = FusedAttention.bind(keep=True, added=True, blind=blind)
    same(op, q, k, v, seen, added, kernel="attention")
    v[0, 0, 68, 1] = np.nan
    same(op, q, k, v, seen, added, kernel="attention")


@by_emulation
def test_examples_that_have_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all operators, forward and backward, but chains, of which each would have to be compiled."""
    monkeypatch.setattr(warnings, "warn", lambda *a, **k: None)  # of what is no float32
    device = Emulated()
    with_rules = [e for e in examples() if not isinstance(e.op, FusedElementwise) and rule_of(e.op) is not None]
    for example in with_rules:
        same_on_device(example, device)
    assert len(with_rules) > 15
    assert {"softmax", "normalization", "pooling", "convolution"} <= {*device.ran}


@by_emulation
def test_a_network_trains_by_kernels_as_on_the_cpu() -> None:
    """Operator by operator: convolution and pooling forward and backward, the numbers of the CPU."""
    with registry.using([Emulated()]) as (device,):
        here, there = (trained(ctx, convolutional, "adam", False) for ctx in (mx.cpu(), mx.gpu()))
        assert isinstance(device, Emulated)
        wanted = {"convolution", "convolution_data", "convolution_weight", "pooling", "pooling_data"}
        assert wanted <= {*device.ran}
    np.testing.assert_allclose(there[0], here[0], rtol=1e-5)
    for mine, theirs in zip(here[1].values(), there[1].values(), strict=True):
        np.testing.assert_allclose(theirs, mine, rtol=1e-3, atol=1e-5)


def test_rules_are_there_without_a_graph() -> None:
    """A program that calls operators one by one has the kernels, too."""
    told = (
        "from hybrid.core.op import lookup\n"
        "from hybrid.execution.on_device import rule_of\n"
        "assert rule_of(lookup('softmax').bind()) is not None\n"
        "assert rule_of(lookup('Pooling').bind(kernel=(2, 2))) is not None\n"
        "assert rule_of(lookup('sort').bind()) is None\n"
    )
    subprocess.run([sys.executable, "-c", told], check=True, timeout=120)


@by_emulation
def test_what_kernels_are_not_for_is_computed_as_it_says() -> None:
    """Other layouts, dtypes, axes and sizes: by the device's own functions, with the same numbers."""
    x, gamma = floats(2, 5, 4, 3), floats(5)
    wide = floats(1, 1, 2, 130)
    for op, arrays in [
        (lookup("Pooling").bind(kernel=(2, 2), layout="NHWC"), [x]),
        (lookup("Pooling").bind(kernel=(2, 2), pool_type="lp", p_value=2), [x]),
        (lookup("Pooling").bind(global_pool=True, pool_type="avg"), [x]),
        (lookup("Pooling").bind(kernel=(2, 2)), [x.astype(np.float64)]),
        (lookup("LayerNorm").bind(axis=1), [x, gamma, gamma]),
        (lookup("Convolution").bind(kernel=(2,), num_filter=2, no_bias=True), [floats(1, 3, 6), floats(2, 3, 2)]),
        (FusedAttention.bind(), [wide, wide, wide]),
    ]:
        device = Emulated()
        node = Node(op, "node", [Entry(Node(None, str(i))) for i in range(len(arrays))])
        named = {str(i): a for i, a in enumerate(arrays)}
        found = infer(
            Graph([Entry(node)]), {k: a.shape for k, a in named.items()}, {k: a.dtype for k, a in named.items()}
        )
        specs = [found.spec(Entry(node, i)) for i in range(node.num_outputs)]
        results, why = apply_on_device(device, op, [device.upload(a) for a in arrays], specs, name="node")
        assert why is None
        want = op.compute(*arrays)  # type: ignore[call-arg]
        close(device.download(results[0]), want[0] if isinstance(want, tuple) else want, op)
        assert not device.ran, op


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
    sources = {
        "softmax": SOFTMAX,
        "normalization": NORMALIZATION,
        "convolution": CONVOLUTION,
        "convolution_data": CONVOLUTION_DATA,
        "convolution_weight": CONVOLUTION_WEIGHT,
        "pooling": POOLING,
        "pooling_data": POOLING_DATA,
        "attention": ATTENTION,
        "chain": chain_source(chain, [(2, 3, 4), (3, 1), (4,)]),
    }
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
