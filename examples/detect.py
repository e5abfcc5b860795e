"""Convert an SSD to ONNX, with its pre-processing, and draw what onnxruntime finds.

    python examples/detect.py                     # a tiny one with random weights, on a pattern
    python examples/detect.py ssd_512-symbol.json street.jpg --size 512 --names names.txt

Only `convert` needs gluonnx; `detect` runs where there is none."""

import argparse
from pathlib import Path

import gluonnx
import numpy as np
import onnxruntime
from PIL import Image, ImageDraw

TINY = Path(__file__).parents[1] / "fixtures/models/ssd/model-symbol.json"
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # those that GluonCV trains with


def pattern(size):
    """A picture of coloured waves, where none is given."""
    y, x = np.mgrid[:size, :size] / size * 7
    waves = [np.sin(x * y), np.cos(x + y), np.sin(x - y * y)]
    return Image.fromarray((np.stack(waves, -1) * 127 + 128).astype("uint8"))


def convert(symbol, size, file):
    """Write a file that takes bytes (1, height, width, 3) of any size, and gives detections."""
    print(
        gluonnx.convert(
            symbol,
            inputs={"data": (1, 2 * size, 2 * size, 3)},  # what the file takes
            preprocess=gluonnx.Preprocess(
                uint8=True, layout="NHWC", resize=(size, size), unit=True, mean=MEAN, std=STD
            ),
            dynamic={"data": {1: "height", 2: "width"}},
            output=file,
        )
    )


def detect(file, picture, least):
    """Detections of a picture: rows of class, score, left, top, right, bottom, in pixels."""
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    pixels = np.asarray(picture.convert("RGB"))[None]
    rows = session.run(None, {session.get_inputs()[0].name: pixels})[0][0]
    rows = rows[(rows[:, 0] >= 0) & (rows[:, 1] >= least)]  # class -1: suppressed
    return rows * [1, 1, *picture.size, *picture.size]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("model", nargs="?", default=TINY, help="the symbol of an SSD")
    options.add_argument("picture", nargs="?", help="a picture file")
    options.add_argument("--size", type=int, default=64, help="that the SSD takes (%(default)s)")
    options.add_argument("--least", type=float, default=0.95, help="score (%(default)s)")
    options.add_argument("--names", type=Path, help="a file with a name of a class a line")
    given = options.parse_args()

    convert(given.model, given.size, "ssd.onnx")
    picture = Image.open(given.picture) if given.picture else pattern(160)
    names = given.names.read_text().splitlines() if given.names else None
    draw = ImageDraw.Draw(picture)
    for number, score, *box in detect("ssd.onnx", picture, given.least):
        name = names[int(number)] if names else f"class {int(number)}"
        print(f"{name}: {score:.3f} at", *(round(side) for side in box))
        draw.rectangle(box, outline="yellow")
        draw.text((box[0] + 2, box[1] + 1), name, fill="yellow")
    picture.save("detections.png")
    print("drawn: detections.png")


if __name__ == "__main__":
    main()
