"""Load a face service from several clients at once, and say how fast it answers.

    python examples/face_client.py http://127.0.0.1:8080/embed --picture face.png -n 1000

It needs NumPy and Pillow only."""

import argparse
import io
import json
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image


def noise():
    """A picture of 112 x 112 as the bytes of a PNG file, where none is given."""
    file = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (112, 112, 3), np.uint8)
    Image.fromarray(pixels).save(file, "png")
    return file.getvalue()


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("url")
    options.add_argument("-n", "--number", type=int, default=200, help="requests (%(default)s)")
    options.add_argument("-c", "--clients", type=int, default=4, help="at once (%(default)s)")
    options.add_argument("--picture", type=Path, help="a picture file")
    given = options.parse_args()
    body = given.picture.read_bytes() if given.picture else noise()

    def ask(_):
        start = time.perf_counter()
        with urllib.request.urlopen(given.url, body, timeout=60) as answer:
            found = json.load(answer)["embedding"]
        return found, 1000 * (time.perf_counter() - start)

    start = time.perf_counter()
    with ThreadPoolExecutor(given.clients) as pool:
        answers, took = zip(*pool.map(ask, range(given.number)))
    rate = given.number / (time.perf_counter() - start)
    half, most = np.percentile(took, (50, 99))
    spread = np.ptp(answers, axis=0).max()
    print(f"{given.number} requests: {rate:.0f} a second, p50 {half:.1f} ms, p99 {most:.1f} ms")
    print(f"{len(answers[0])} numbers each, at most {spread:.1g} apart")


if __name__ == "__main__":
    main()
