"""ImageDetRecordIter without chance: labels, sizes, padding, normalization, lists, the ends of epochs, and what is refused."""

from __future__ import annotations

import functools
import struct
import zlib

import numpy as np

from .questions import ask, attempt

SIZES = ((20, 30), (30, 20), (16, 16), (9, 40), (24, 24))


def png(pixels: np.ndarray) -> bytes:
    """A PNG file of (height, width, 3) pixels."""
    height, width, _ = pixels.shape

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def label(i: int) -> list[float]:
    """A header of four numbers, and i % 3 + 1 objects of six."""
    objects = [[i, 0.1 * k, 0.2, 0.1 * k + 0.3, 0.7 + 0.05 * k, 10 * i + k] for k in range(i % 3 + 1)]
    return [4, 6, 7, 8, *(n for row in objects for n in row)]


def records(mx, folder, labels=label, sizes=SIZES) -> str:
    """A record file of one image of each size."""
    path = str(folder / "det.rec")
    writer = mx.recordio.MXIndexedRecordIO(str(folder / "det.idx"), path, "w")
    for i, (height, width) in enumerate(sizes):
        y, x = np.mgrid[:height, :width]
        pixels = np.stack([y * 7 + i, x * 5 + 3, (x + y) * 3], 2).astype(np.uint8)
        header = mx.recordio.IRHeader(0, np.array(labels(i), np.float32), i + 10, 0)
        writer.write_idx(i, mx.recordio.pack(header, png(pixels)))
    writer.close()
    return path


def epochs(mx, path, count=1, **options):
    """All there is to see of the iterator's batches."""
    options = {"data_shape": (3, 16, 18), "batch_size": 2, "verbose": False, "shuffle": False, **options}
    made = mx.io.ImageDetRecordIter(path_imgrec=path, preprocess_threads=1, **options)
    described = [(d.name, list(d.shape), np.dtype(d.dtype).name) for d in (*made.provide_data, *made.provide_label)]
    found = []
    for epoch in range(count):
        if epoch:
            made.reset()
        for batch in made:
            data, labels = batch.data[0].asnumpy(), batch.label[0].asnumpy()
            found.append([data, labels, batch.pad, [int(i) for i in batch.index]])
    return [described, found]


@ask
def plain(mx, folder):
    path = records(mx, folder)
    found = {}
    for name, options in {
        "force": {},
        "two epochs": {"count": 2},
        "not round": {"count": 2, "round_batch": False},
        "padded": {"label_pad_width": 30, "label_pad_value": 5.0},
        "nearest": {"inter_method": 0},
        "normalized": {"mean_r": 10, "mean_b": 3, "std_g": 2, "scale": 0.5},
        "only scaled": {"std_r": 4, "mean_g": -1, "scale": 2},
        "resized": {"resize": 12},
        "gray": {"data_shape": (1, 16, 18)},
        "mirrored": {"rand_mirror_prob": 1.0},
    }.items():
        found[name] = epochs(mx, path, **options)
    return found


@ask
def keeping_the_shape(mx, folder):
    """Images without what lies beside them, which in MXNet is whatever was there before."""
    found = {}
    for sizes in (((20, 30), (10, 12)), ((40, 20), (16, 18))):
        path = records(mx, folder, sizes=sizes)
        for mode in ("shrink", "fit"):
            made = mx.io.ImageDetRecordIter(
                path_imgrec=path, data_shape=(3, 16, 18), batch_size=1, verbose=False, resize_mode=mode, inter_method=0
            )
            for batch in made:
                _, height, width, _ = (int(n) for n in batch.label[0].asnumpy()[0, :4])
                data = batch.data[0].asnumpy()[0, :, :height, :width]
                found[f"{mode} {sizes} {len(found)}"] = [height, width, data]
    return found


@ask
def lists(mx, folder):
    path = records(mx, folder)
    lines = [f"{i + 10}\t" + "\t".join(map(str, label(i + 1)[:10])) + f"\tx{i}.png\n" for i in range(5)]
    (folder / "det.lst").write_text("".join(lines))
    return epochs(mx, path, path_imglist=str(folder / "det.lst"))


@ask
def flat_objects_are_left_out(mx, folder):
    path = records(
        mx, folder, lambda i: [2, 5, 1, 0.1, 0.1, 0.1, 0.5, 2, 0.2, 0.3, 0.4, 0.5 - 0.2 * (i % 2), 3, 0, 0, 1, 1]
    )
    return epochs(mx, path)


@ask
def a_mean_image(mx, folder):
    path = records(mx, folder)
    mean = str(folder / "mean.nd")
    first = epochs(mx, path, mean_img=mean)
    held = mx.nd.load(mean)
    return [first, sorted(held), held["mean_img"].asnumpy(), epochs(mx, path, mean_img=mean)]


@ask
def refused(mx, folder):
    path = records(mx, folder)
    return [
        attempt(functools.partial(epochs, mx, path, **options))
        for options in (
            {"label_pad_width": 3},
            {"label_width": 10},
            {"data_shape": (3, 16)},
            {"inter_method": 7},
            {"crop_emit_mode": "none"},
            {"resize_mode": "none"},
            {"min_crop_scales": 0.5, "max_crop_scales": 0.4},
            {"num_crop_sampler": 2, "min_crop_scales": (0.1, 0.2, 0.3)},
            {"max_crop_scales": 1.5},
            {"min_crop_aspect_ratios": 2.0},
        )
    ]
