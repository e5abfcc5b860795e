"""Serve a face network of InsightFace over HTTP by onnxruntime, its pre-processing in the file.

    python examples/face_service.py --port 8080                           # a tiny one
    python examples/face_service.py r50-symbol.json --size 112 --port 8080
    curl --data-binary @face.png http://127.0.0.1:8080/embed
    python examples/face_client.py http://127.0.0.1:8080/embed            # loads it

What it reads at run time is face.onnx, by onnxruntime, NumPy and Pillow."""

import argparse
import io
import json
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import gluonnx
import numpy as np
import onnxruntime
from PIL import Image

TINY = Path(__file__).parents[1] / "fixtures/models/arcface/model-symbol.json"


class Service(BaseHTTPRequestHandler):
    """POST a picture of an aligned face to /embed, and get {"embedding": [...]}, of length 1."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if self.path != "/embed":
            return self.answer(404, error=f"nothing at {self.path}, POST pictures to /embed")
        try:
            pixels = np.asarray(Image.open(io.BytesIO(body)).convert("RGB"))[None]
        except OSError as error:  # which is what Pillow raises
            return self.answer(400, error=f"no picture: {error}")
        ((found,),) = self.server.session.run(None, {"data": pixels})
        return self.answer(200, embedding=(found / np.linalg.norm(found)).tolist())

    def answer(self, status, **said):
        """Send an answer in JSON."""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(said).encode())

    def log_message(self, *_):
        pass


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("model", nargs="?", default=TINY, help="the symbol of a face network")
    options.add_argument("--size", type=int, default=32, help="of its faces (%(default)s)")
    options.add_argument("--port", type=int, default=0, help="by default any that is free")
    given = options.parse_args()
    prepare = gluonnx.Preprocess(uint8=True, layout="NHWC", resize=(given.size, given.size))
    print(gluonnx.convert(given.model, preprocess=prepare, batch=1, output="face.onnx"))

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1  # requests are answered side by side already
    server = ThreadingHTTPServer(("127.0.0.1", given.port), Service)
    server.session = onnxruntime.InferenceSession("face.onnx", settings)
    server.daemon_threads = False  # closing waits for answers that are under way
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"serving http://127.0.0.1:{server.server_port}/embed", flush=True)
    server.serve_forever()
    server.server_close()
    print("stopped")


if __name__ == "__main__":
    main()
