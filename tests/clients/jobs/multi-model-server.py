"""multi-model-server: its worker loads exported networks by its own services and answers requests over a socket."""

import json
import logging
import multiprocessing
import os
import shutil
import socket
import struct
import sys
import threading
import time
import traceback
from pathlib import Path

import cv2
import numpy as np
from mms.model_service_worker import MXNetModelServiceWorker

draw = np.random.RandomState(0)
logging.disable(logging.CRITICAL)  # a worker whose requests end logs that as an error

VISION = """
from mms.model_service.mxnet_vision_service import MXNetVisionService
class Vision(MXNetVisionService):
    pass
"""
GLUON = """
import mxnet as mx
from mms.model_service.gluon_vision_service import GluonVisionService
class Gluon(GluonVisionService):
    def __init__(self, name, folder, manifest, gpu=None):
        net = mx.gluon.nn.HybridSequential(prefix="net_")
        with net.name_scope():
            net.add(mx.gluon.nn.Conv2D(4, 3), mx.gluon.nn.GlobalAvgPool2D(), mx.gluon.nn.Dense(5))
        super().__init__(name, folder, manifest, net, gpu)
        net.hybridize()
    def _inference(self, data):
        return [super()._inference(data)]
"""
PLAIN = """
from mms.model_service.mxnet_model_service import MXNetBaseService
class Plain(MXNetBaseService):
    def _preprocess(self, data):
        return list(super()._preprocess(data))
"""
FUNCTION = """
import mxnet as mx, numpy as np
net = None
def handle(data, context):
    global net
    if data is None:
        folder = context.system_properties.get("model_dir")
        net = mx.gluon.SymbolBlock.imports(folder + "/net-symbol.json", ["data"], folder + "/net-0000.params")
        return None
    return [net(mx.nd.array([row["data"]])).asnumpy()[0].tolist() for row in data]
"""


def report(name, *values):
    print("NUMBER", name, *(repr(float(v)) for v in values))


def archive(kind, code, shape, save):
    """A folder as model-archiver makes it."""
    folder = Path(kind)
    folder.mkdir()
    (folder / f"{kind}_service.py").write_text(code)
    (folder / "synset.txt").write_text("\n".join(f"class{i}" for i in range(5)))
    image = len(shape) == 4
    signature = {
        "inputs": [{"data_name": "data", "data_shape": shape}],
        "input_type": "image/jpeg" if image else "application/json",
        "outputs": [{"data_name": "out", "data_shape": [0, 5]}],
        "output_type": "application/json",
    }
    (folder / "signature.json").write_text(json.dumps(signature))
    model = {"Signature": "signature.json", "Symbol": "net-symbol.json", "Parameters": "net-0000.params"}
    if kind != "function":
        (folder / "MANIFEST.json").write_text(json.dumps({"Model": model}))
    maker = multiprocessing.Process(target=save, args=(f"{kind}/net",))  # MXNet is for the workers, which are forked
    maker.start()
    maker.join()
    return folder.resolve()


def symbolic(prefix):
    import mxnet as mx

    net = mx.sym.Convolution(mx.sym.var("data"), num_filter=4, kernel=(3, 3), name="conv")
    net = mx.sym.Pooling(mx.sym.BatchNorm(net, name="norm"), global_pool=True, pool_type="avg")
    net = mx.sym.softmax(mx.sym.FullyConnected(net * 0.01, num_hidden=5, name="fc"))
    shapes, _, states = net.infer_shape(data=(1, 3, 32, 32))
    arg = {n: mx.nd.array(draw.randn(*s)) for n, s in zip(net.list_arguments(), shapes) if n != "data"}
    aux = {n: mx.nd.array(draw.rand(*s) + 1) for n, s in zip(net.list_auxiliary_states(), states)}
    mx.model.save_checkpoint(prefix, 0, net, arg, aux)


def dense(prefix):
    import mxnet as mx

    net = mx.sym.tanh(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=5, name="fc"))
    arg = {"fc_weight": mx.nd.array(draw.randn(5, 7)), "fc_bias": mx.nd.array(draw.randn(5))}
    mx.model.save_checkpoint(prefix, 0, net, arg, {})


def imperative(prefix):
    import mxnet as mx

    shapes = {"0.weight": (4, 3, 3, 3), "0.bias": (4,), "2.weight": (5, 4), "2.bias": (5,)}
    mx.nd.save(f"{prefix}-0000.params", {n: mx.nd.array(draw.randn(*s)) for n, s in shapes.items()})


def text(value):
    value = value if isinstance(value, bytes) else str(value).encode()
    return struct.pack("!i", len(value)) + value


def answer(channel):
    """Code and bodies of a response."""

    def number():
        return struct.unpack("!i", exactly(4))[0]

    def exactly(count):
        data = b""
        while len(data) < count:
            data += channel.recv(count - len(data))
        return data

    code, _, bodies = number(), exactly(number()), []
    while (length := number()) != -1:
        exactly(length)
        exactly(number())
        number()
        exactly(number())
        for _ in range(number()):
            exactly(number())
            exactly(number())
        bodies.append(exactly(number()))
    return code, bodies


def request(*inputs):
    """A batch of requests of one parameter each."""
    message = b"I"
    for i, (kind, value) in enumerate(inputs):
        message += text(f"request {i}") + struct.pack("!i", -1) + text("data") + text(kind) + text(value)
        message += struct.pack("!i", -1)
    return message + struct.pack("!i", -1)


def drain(path):
    """Read what a worker prints, which goes to pipes."""
    with open(path, encoding="utf-8") as pipe:
        shutil.copyfileobj(pipe, sys.stderr)


def worker(name, folder):
    """A worker in a process of its own, which has loaded the model, and the channel to it."""
    sys.path.insert(0, str(folder))
    serving = multiprocessing.Process(target=MXNetModelServiceWorker("unix", name, tmp_dir=os.getcwd()).run_server)
    serving.start()
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    while channel.connect_ex(name):
        time.sleep(0.1)
    handler = f"{folder.name}_service.py"
    load = text(folder.name) + text(folder) + struct.pack("!i", 2) + text(handler) + struct.pack("!i", -1) + text(name)
    channel.sendall(b"L" + load)
    code, _ = answer(channel)
    for which in ("stdout", "stderr"):
        threading.Thread(target=drain, args=(f"{name}-{which}",), daemon=True).start()
    return serving, channel, code


images = [cv2.imencode(".png", draw.randint(0, 255, (48, 40, 3)).astype("uint8"))[1].tobytes() for _ in range(2)]
rows = [("application/json", json.dumps(draw.randn(7).round(3).tolist())) for _ in range(2)]
try:
    for kind, code, shape, save, requests in (
        ("vision", VISION, [0, 3, 32, 32], symbolic, [[("image/jpeg", image)] for image in images]),
        ("gluon", GLUON, [0, 3, 32, 32], imperative, [[("image/jpeg", image)] for image in images]),
        ("plain", PLAIN, [0, 7], dense, [[(kind, f"[{row}]")] for kind, row in rows]),
        ("function", FUNCTION, [0, 7], dense, [rows]),
    ):
        serving, channel, loaded = worker(f"{kind}.socket", archive(kind, code, shape, save))
        report(f"{kind} loaded", loaded)
        for sent in requests:
            channel.sendall(request(*sent))
            status, bodies = answer(channel)
            values = [json.loads(body) for body in bodies]
            for value in values:
                value = json.loads(value) if isinstance(value, str) else value
                found = (
                    [(row["class"][5:], row["probability"]) for row in value] if isinstance(value[0], dict) else value
                )
                report(f"{kind} answers", status, *np.array(found, "float64").ravel())
        channel.close()
        serving.kill()
except Exception:
    traceback.print_exc()
finally:
    sys.stdout.flush()
    os._exit(0)  # workers that wait for requests are waited for otherwise
