"""InsightFace: its training program runs on drawn faces with two networks and losses, and verifies pairs of them."""

import contextlib
import importlib.util
import os
import pickle
import random
import sys
from pathlib import Path

import cv2
import insightface
import mxnet as mx
import numpy as np
from easydict import EasyDict

source = Path(sys.prefix, "src", "insightface", "recognition", "arcface_mxnet")
sys.path.insert(0, str(source))
spec = importlib.util.spec_from_file_location("config", source / "sample_config.py")
settings = importlib.util.module_from_spec(spec)
sys.modules["config"] = settings
spec.loader.exec_module(settings)
os.environ["CUDA_VISIBLE_DEVICES"] = ""
PEOPLE, EACH = 6, 4
settings.network.r18 = EasyDict(net_name="fresnet", num_layers=18, emb_size=64, net_output="FC")  # FC: no dropout
settings.dataset.drawn = EasyDict(
    dataset="drawn", dataset_path="faces", num_classes=PEOPLE, image_shape=(112, 112, 3), val_targets=["pairs"]
)
draw = np.random.RandomState(0)


def report(name, *values):
    print("NUMBER", name, *(repr(float(v)) for v in values))


def png(face):
    noisy = face + draw.randint(-30, 30, (112, 112, 3))
    return cv2.imencode(".png", np.clip(noisy, 0, 255).astype("uint8"))[1].tobytes()


Path("faces").mkdir()
faces = [cv2.resize(draw.randint(0, 255, (7, 7, 3)).astype("uint8"), (112, 112)).astype(int) for _ in range(PEOPLE)]
record = mx.recordio.MXIndexedRecordIO("faces/train.idx", "faces/train.rec", "w")
first = PEOPLE * EACH + 1
record.write_idx(0, mx.recordio.pack(mx.recordio.IRHeader(2, [first, first + PEOPLE], 0, 0), b""))
for i in range(1, first):
    record.write_idx(i, mx.recordio.pack(mx.recordio.IRHeader(0, (i - 1) // EACH, i, 0), png(faces[(i - 1) // EACH])))
for who in range(PEOPLE):
    header = mx.recordio.IRHeader(2, [1 + who * EACH, 1 + (who + 1) * EACH], first + who, 0)
    record.write_idx(first + who, mx.recordio.pack(header, b""))
record.close()
pairs = [(i % PEOPLE, (i + i % 2) % PEOPLE) for i in range(20)]
images = [png(faces[who]) for pair in pairs for who in pair]
Path("faces/pairs.bin").write_bytes(pickle.dumps((images, [a == b for a, b in pairs])))

import train  # noqa: E402
import verification  # noqa: E402
from scipy.interpolate import interp1d  # noqa: E402

verification.interpolate.interp1d = lambda x, y, kind: interp1d(
    x, y
)  # the same, which SciPy refuses by that name for equal x
tests = []


def test(*args):
    found = plain(*args)
    tests.append(found)
    return found


plain, verification.test = verification.test, test
for network, loss, rate in (("r18", "arcface", 1e-5), ("y1", "cosface", 1e-5), ("m05", "softmax", 1e-4)):
    sys.argv = ["train.py", "--network", network, "--loss", loss, "--dataset", "drawn", "--per-batch-size", "6", "--lr", str(rate),
                "--verbose", "2", "--ckpt", "2", "--frequent", "1", "--pretrained", "start", "--pretrained-epoch", "0"]  # fmt: skip
    args = train.parse_args()
    settings.config.max_steps = 1
    settings.config.per_batch_size = settings.config.batch_size = 6
    symbol = train.get_symbol(args)
    shapes, _, states = symbol.infer_shape(data=(6, 3, 112, 112), softmax_label=(6,))
    start = {}
    for name, shape in zip(symbol.list_arguments(), shapes):
        if name not in ("data", "softmax_label"):
            scale = (2 / np.prod(shape[1:])) ** 0.5 if len(shape) > 1 else 0.1
            start[f"arg:{name}"] = draw.randn(*shape) * scale
            if name.endswith("gamma"):
                start[f"arg:{name}"] = np.full(shape, 0.25 if "relu" in name else 1)
    for name, shape in zip(symbol.list_auxiliary_states(), states):
        start[f"aux:{name}"] = np.ones(shape) if name.endswith("var") else np.zeros(shape)
    symbol.save("start-symbol.json")
    mx.nd.save("start-0000.params", {name: mx.nd.array(value) for name, value in start.items()})
    random.seed(0)
    tests.clear()
    with contextlib.suppress(SystemExit):
        train.train_net(args)
    for _, _, accuracy, deviation, norm, embeddings in tests:
        report(f"{network} {loss} verifies", accuracy, deviation, norm, *np.linalg.norm(embeddings[0], axis=1)[:4])
    _, arg, aux = mx.model.load_checkpoint(f"models/{network}-{loss}-drawn/model", 1)
    report(f"{network} {loss} weights", *(arg[name].norm().asscalar() for name in sorted(arg)[::8]))
    report(f"{network} {loss} statistics", *(aux[name].norm().asscalar() for name in sorted(aux)[::8]))

aligned = insightface.utils.face_align.norm_crop(
    np.clip(faces[0], 0, 255).astype("uint8"),
    np.array([[38, 51], [73, 51], [56, 71], [41, 92], [70, 92]], "float32"),
)
report("aligned", aligned.mean(), aligned.std())
