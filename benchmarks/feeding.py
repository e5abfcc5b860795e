"""Feeding a compiled training step with images: does it wait for its data?

    python benchmarks/feeding.py [--size 224] [--batch 16] [--images 192] [--seconds 10] [--json] [KIND ...]

Pictures are drawn by this script, with the size and the bytes of photographs (500x375, about 45 KB as JPEG), and written as image
records. A network (ResNet-18, hybridized with static memory) is trained on them, the shorter side resized, a part cut out
and mirrored at random. For every kind of loader (KIND: several of those below; by default all):

- ``decode``: images a second that it gives when nothing else is done.
- ``train``: images a second that are trained on with one batch that lies ready.
- ``both``: images a second when each step takes a batch of the loader, and the share of the time that ``next`` takes.
- ``bound``: images a second that are possible where both share the processors and nothing is idle: 1 / (1 / decode + 1 / train).

``here`` is ImageRecordIter with nothing read ahead, ``records`` ImageRecordIter as it is by default, ``loader`` gluon's DataLoader
with a worker process for each core, ``threads`` the same with threads. ``colors`` is ImageRecordIter with brightness, contrast,
saturation and lighting varied, ``colors-here`` the same with nothing read ahead; ``detection`` is ImageDetRecordIter with parts,
larger grounds, hues and mirroring, ``detection-here`` the same with nothing read ahead (their step takes the class of the first
object)."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import hybrid as mx
from hybrid import autograd, gluon
from hybrid.execution.scheduler import usable_cpus

CORES = usable_cpus()
WIDTH, HEIGHT, CLASSES = 500, 375, 10
MEAN, STD = (123.68, 116.28, 103.53), (58.395, 57.12, 57.375)


def write_records(path: str, count: int) -> None:
    """Pictures of soft shapes and some noise, as records; and in a second file with two objects in each."""
    numbers = np.random.RandomState(0)
    objects = mx.recordio.MXRecordIO(objects_path(path), "w")
    writer = mx.recordio.MXIndexedRecordIO(path[:-4] + ".idx", path, "w")
    for number in range(count):
        shapes = mx.nd.array(numbers.randint(0, 256, (12, 16, 3)), dtype="uint8")
        picture = mx.image.imresize(shapes, WIDTH, HEIGHT, interp=2).asnumpy().astype(np.int64)
        picture = (picture + numbers.randint(-8, 9, picture.shape)).clip(0, 255).astype(np.uint8)
        writer.write_idx(number, mx.recordio.pack_img((0, number % CLASSES, number, 0), picture, 90, ".jpg"))
        label = [2, 5, number % CLASSES, 0.2, 0.2, 0.6, 0.7, (number + 1) % CLASSES, 0.5, 0.4, 0.9, 0.9]
        objects.write(mx.recordio.pack_img((0, label, number, 0), picture, 90, ".jpg"))
    writer.close()
    objects.close()


def objects_path(path: str) -> str:
    """The file of pictures with objects that is beside that of pictures."""
    return f"{path[:-4]}-objects.rec"


Epoch = Callable[[], Iterator[tuple[Any, Any]]]


def records(path: str, size: int, batch: int, **settings: Any) -> Epoch:
    """ImageRecordIter's batches."""
    iterator = mx.io.ImageRecordIter(
        path_imgrec=path, path_imgidx=path[:-4] + ".idx", data_shape=(3, size, size), batch_size=batch, shuffle=True,
        resize=size * 8 // 7, rand_crop=True, rand_mirror=True, **dict(zip(("mean_r", "mean_g", "mean_b"), MEAN)),
        **dict(zip(("std_r", "std_g", "std_b"), STD)), **settings,
    )  # fmt: skip

    def epoch() -> Iterator[tuple[Any, Any]]:
        iterator.reset()
        for found in iterator:
            yield found.data[0], found.label[0]

    return epoch


COLORS = {"brightness": 0.3, "contrast": 0.3, "saturation": 0.3, "pca_noise": 0.1}


def detection(path: str, size: int, batch: int, **settings: Any) -> Epoch:
    """ImageDetRecordIter's batches, with the class of the first object of each picture."""
    iterator = mx.io.ImageDetRecordIter(
        path_imgrec=objects_path(path), data_shape=(3, size, size), batch_size=batch, shuffle=True,
        rand_crop_prob=0.8, min_crop_scales=0.4, min_crop_overlaps=0.1, rand_pad_prob=0.5, max_pad_scale=2.0,
        max_random_hue=18, random_hue_prob=0.5, max_random_contrast=0.3, random_contrast_prob=0.5, rand_mirror_prob=0.5,
        **dict(zip(("mean_r", "mean_g", "mean_b"), MEAN)), **dict(zip(("std_r", "std_g", "std_b"), STD)), **settings,
    )  # fmt: skip

    def epoch() -> Iterator[tuple[Any, Any]]:
        iterator.reset()
        for found in iterator:
            yield found.data[0], found.label[0][:, 6]

    return epoch


def loader(path: str, size: int, batch: int, **settings: Any) -> Epoch:
    """Batches of gluon's DataLoader."""
    kinds = gluon.data.vision.transforms
    change = kinds.Compose(
        [
            kinds.Resize(size * 8 // 7, keep_ratio=True),
            kinds.CenterCrop(size),
            kinds.RandomFlipLeftRight(),
            kinds.ToTensor(),
            kinds.Normalize([m / 255 for m in MEAN], [s / 255 for s in STD]),
        ]
    )
    pictures = gluon.data.vision.ImageRecordDataset(path).transform_first(change)
    made = gluon.data.DataLoader(
        pictures, batch, shuffle=True, last_batch="discard", num_workers=CORES, **settings
    )  # after a network has run, workers are forked beside its threads
    return lambda: iter(made)


KINDS: dict[str, Callable[..., Epoch]] = {
    "here": lambda *given: records(*given, prefetch_buffer=0),
    "records": records,
    "loader": loader,
    "threads": lambda *given: loader(*given, thread_pool=True),
    "colors": lambda *given: records(*given, **COLORS),
    "colors-here": lambda *given: records(*given, **COLORS, prefetch_buffer=0),
    "detection": detection,
    "detection-here": lambda *given: detection(*given, prefetch_buffer=0),
}


def step_of(batch: int) -> Callable[[Any, Any], None]:
    """A step of training ResNet-18, which returns when it is done."""
    net = gluon.model_zoo.vision.resnet18_v1(classes=CLASSES)
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    loss_of.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})

    def step(data: Any, label: Any) -> None:
        with autograd.record():
            loss = loss_of(net(data), label)
        loss.backward()
        trainer.step(batch)
        mx.nd.waitall()

    return step


def forever(epoch: Epoch) -> Iterator[tuple[Any, Any]]:
    """Epoch after epoch."""
    while True:
        with contextlib.closing(iter(epoch())) as batches:  # type: ignore[type-var]
            yield from batches


def measure(source: Iterator[tuple[Any, Any]], step: Callable[[Any, Any], None], seconds: float) -> tuple[float, float]:
    """Batches a second, and the share of the time for which they are waited for. The first two warm up."""
    for _ in range(2):
        step(*next(source))
    begin, waited, count = time.perf_counter(), 0.0, 0
    while time.perf_counter() < begin + seconds:
        asked = time.perf_counter()
        found = next(source)
        waited += time.perf_counter() - asked
        step(*found)
        count += 1
    passed = time.perf_counter() - begin
    return count / passed, waited / passed


def main() -> None:
    """Measure, and print a table or with --json a list of rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", default=list(KINDS), metavar="KIND", choices=[*KINDS, list(KINDS)])
    for name, default in (("size", 224), ("batch", 16), ("images", 192)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.images < args.batch:
        parser.error(f"got --images {args.images}, wanted at least the batch, {args.batch}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pictures.rec")
        write_records(path, args.images)
        step = step_of(args.batch)
        still = next(records(path, args.size, args.batch, prefetch_buffer=0)())
        for kind in args.kinds:
            epoch = KINDS[kind](path, args.size, args.batch)
            with contextlib.closing(forever(epoch)) as source:  # type: ignore[type-var]
                decode, _ = measure(source, lambda data, label: None, args.seconds)
            train, _ = measure(iter(lambda: still, None), step, args.seconds)
            with contextlib.closing(forever(epoch)) as source:  # type: ignore[type-var]
                both, waiting = measure(source, step, args.seconds)
            figures = {"decode": decode, "train": train, "both": both, "bound": 1 / (1 / decode + 1 / train)}
            rows.append({"kind": kind, **{k: v * args.batch for k, v in figures.items()}, "waiting": waiting})
            if not args.json:
                shown = "  ".join(f"{name} {value * args.batch:6.1f}/s" for name, value in figures.items())
                print(f"{kind:14}  {shown}  waiting {waiting:5.1%}", flush=True)
            del epoch, source
    if args.json:
        print(json.dumps({"cores": CORES, "size": args.size, "batch": args.batch, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
