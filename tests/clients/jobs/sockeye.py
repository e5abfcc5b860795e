"""Sockeye: transformers are trained by its command from drawn parameters to sort digits; they translate, and score."""

import json
import sys
from pathlib import Path
from unittest.mock import patch

import mxnet as mx
import numpy as np
import sockeye.score
import sockeye.train
import sockeye.translate
from sockeye.test_utils import generate_digits_file


def report(name, *values):
    print("NUMBER", name, *(repr(float(v)) for v in values))


def command(module, *words):
    with patch.object(sys, "argv", [module.__file__, "--use-cpu", *(str(word) for word in words)]):
        module.main()


MODEL = [
    "--max-seq-len",
    "10",
    "--transformer-model-size",
    "16",
    "--num-embed",
    "16",
    "--transformer-feed-forward-num-hidden",
    "32",
    "--batch-type",
    "sentence",
    "--transformer-attention-heads",
    "2",
    "--num-layers",
    "2",
    "--batch-size",
    "8",
    "--optimizer",
    "adam",
    "--loss",
    "cross-entropy",
    "--label-smoothing",
    "0.1",
    "--transformer-dropout-act",
    "0",
    "--transformer-dropout-attention",
    "0",
    "--transformer-dropout-prepost",
    "0",
    "--embed-dropout",
    "0",
    "--initial-learning-rate",
    "0.003",
    "--seed",
    "13",
    "--decode-and-evaluate",
    "0",
]

generate_digits_file("train.src", "train.tgt", 80, 8, sort_target=True)
generate_digits_file("dev.src", "dev.tgt", 16, 8, sort_target=True, seed=14)
files = [
    "--source",
    "train.src",
    "--target",
    "train.tgt",
    "--validation-source",
    "dev.src",
    "--validation-target",
    "dev.tgt",
]
for kind, more in (
    ("transformer", ()),
    (
        "ssru",
        ("--decoder", "ssru_transformer", "--weight-tying-type", "trg_softmax", "--optimized-metric", "perplexity"),
    ),
):
    once = ("--max-updates", 1, "--checkpoint-interval", 1)
    command(sockeye.train, *files, *MODEL, *more, *once, "--output", f"{kind}-shapes")
    random = np.random.RandomState(0)
    parameters = mx.nd.load(f"{kind}-shapes/params.best")
    drawn = {k: random.randn(*v.shape) * 0.2 + k.endswith("gamma") for k, v in sorted(parameters.items())}
    mx.nd.save(f"{kind}.params", {k: mx.nd.array(v) for k, v in drawn.items()})
    length = ("--max-updates", 60, "--checkpoint-interval", 20, "--params", f"{kind}.params")
    command(sockeye.train, *files, *MODEL, *more, *length, "--output", kind)
    for line in Path(kind, "metrics").read_text(encoding="utf-8").splitlines():
        values = dict(word.split("=") for word in line.split("\t")[1:])
        report(f"{kind} learns", *(values[key] for key in sorted(values) if key.startswith("perplexity")))
    command(sockeye.translate, "--models", kind, "--input", "dev.src", "--output", "out.json", "--output-type", "json",
            "--beam-size", 3, "--batch-size", 4)  # fmt: skip
    for row in map(json.loads, Path("out.json").read_text(encoding="utf-8").splitlines()[:6]):
        report(f"{kind} translates", *row["translation"].split(), row["score"])
    command(sockeye.score, "--model", kind, "--source", "dev.src", "--target", "dev.tgt", "--output", "scores",
            "--batch-size", 4)  # fmt: skip
    report(f"{kind} scores", *Path("scores").read_text(encoding="utf-8").split())
