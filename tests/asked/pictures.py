"""Iterators over files of pictures and numbers, and what changes pictures together with their boxes."""

# ruff: noqa: B023  calls are made at once
from __future__ import annotations

import json
import random
import warnings
from pathlib import Path

import numpy as np

from .data import picture
from .questions import ask, attempt, numbers, plain

DATA = Path(__file__).resolve().parents[2] / "fixtures" / "data"
BOXES = np.float32(
    [
        [0, 0.1, 0.2, 0.5, 0.6, 0.0],
        [1, 0.4, 0.3, 0.9, 0.95, 1.0],
        [2, 0.0, 0.05, 0.15, 0.2, 0.0],
        [3, 0.6, 0.1, 0.7, 0.8, 1.0],
    ]
)


def epochs(iterator, count=2, numbered=True):
    """Batches of some epochs, or what is raised."""

    def read():
        found = []
        for _ in range(count):
            for batch in iterator:
                index = None if batch.index is None or not numbered else [int(i) for i in np.asarray(batch.index)]
                found.append(plain([batch.data, batch.label, batch.pad, index]))
            found.append("end")
            iterator.reset()
        return found

    return attempt(read)


def told(dumped):
    """Description of an augmenter by itself, without the order of its settings."""
    if isinstance(dumped, str):
        name, settings = json.loads(dumped)
        return [name, dict(sorted(settings.items()))]
    return [told(d) if str(d)[:1] == "[" else d for d in dumped]


def described(iterator):
    return [[[d[0], list(d[1])] for d in part] for part in (iterator.provide_data, iterator.provide_label)]


@ask
def boxes(mx, folder):
    """Augmenters for detection in other settings than their defaults; what they tell of themselves."""
    im, x, found = mx.image, mx.nd.array(picture(), dtype="uint8"), {}
    table = {
        "flip always": lambda: im.DetHorizontalFlipAug(1.0),
        "flip never": lambda: im.DetHorizontalFlipAug(0.0),
        "flip": lambda: im.DetHorizontalFlipAug(0.6),
        "crop": lambda: im.DetRandomCropAug(),
        "crop covered": lambda: im.DetRandomCropAug(min_object_covered=0.9, area_range=(0.2, 0.9)),
        "crop ejecting": lambda: im.DetRandomCropAug(
            min_object_covered=0.0, min_eject_coverage=0.8, area_range=(0.2, 0.6)
        ),
        "crop narrow": lambda: im.DetRandomCropAug(aspect_ratio_range=(0.3, 0.5), area_range=(0.1, 0.5)),
        "crop wide": lambda: im.DetRandomCropAug(
            aspect_ratio_range=(2.0, 3.0), area_range=(0.1, 0.5), min_object_covered=0.01
        ),
        "crop of one ratio": lambda: im.DetRandomCropAug(aspect_ratio_range=1.0, area_range=(0.3, 0.9)),
        "crop once": lambda: im.DetRandomCropAug(min_object_covered=0.95, max_attempts=1),
        "pad": lambda: im.DetRandomPadAug(),
        "pad of colours": lambda: im.DetRandomPadAug(
            aspect_ratio_range=(0.5, 2.0), area_range=(2.0, 5.0), pad_val=(1, 2, 3)
        ),
        "pad once": lambda: im.DetRandomPadAug(max_attempts=1),
        "one of two": lambda: im.DetRandomSelectAug([im.DetHorizontalFlipAug(1.0), im.DetRandomPadAug()], 0.3),
        "none of one": lambda: im.DetRandomSelectAug(im.DetHorizontalFlipAug(1.0), 1.0),
        "of none": lambda: im.DetRandomSelectAug([]),
        "borrowed": lambda: im.DetBorrowAug(im.ResizeAug(9, 0)),
        "several": lambda: im.CreateMultiRandCropAugmenter(
            [0.1, 0.9], [(0.7, 1.4), (0.5, 2.0)], [(0.1, 0.5), (0.5, 1.0)], [0.1, 0.5], [20, 30], skip_prob=0.2
        ),
        "several of one": lambda: im.CreateMultiRandCropAugmenter(0.2, (0.7, 1.4), [(0.1, 0.5), (0.5, 1.0)]),
    }
    for name, make in table.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = make()
        random.seed(5)
        found[name] = [attempt(lambda m=made: list(m(x, BOXES.copy()))) for _ in range(4)]
        found[f"{name} told"] = told(made.dumps())
    for number, options in enumerate((
        {},
        {"resize": 12},
        {"rand_crop": 0.7, "min_object_covered": [0.1, 0.5], "area_range": (0.2, 2.0)},
        {"rand_pad": 0.8, "pad_val": (5, 6, 7)},
        {"rand_mirror": True, "mean": True, "std": True},
        {"mean": np.array([1.0, 2, 3]), "std": np.array([4.0, 5, 6])},
        {"brightness": 0.2, "contrast": 0.1, "saturation": 0.1, "hue": 0.1, "pca_noise": 0.1, "rand_gray": 0.5},
    )):  # fmt: skip
        made = im.CreateDetAugmenter((3, 10, 12), inter_method=1, **options)
        random.seed(6)
        np.random.seed(6)
        y, label = x, BOXES.copy()
        for augmenter in made:
            y, label = augmenter(y, label)
        found[f"made {number}"] = [[a.dumps()[0] for a in made], y, label]
    found["refused"] = [
        attempt(lambda: im.DetBorrowAug(3)),
        attempt(lambda: im.DetRandomSelectAug([im.ResizeAug(9)])),
        attempt(lambda: im.CreateMultiRandCropAugmenter([0.1, 0.2], area_range=[(0.1, 0.5)] * 3)),
        attempt(lambda: im.DetAugmenter()(x, BOXES)),
    ]
    return found


@ask
def picture_iterators(mx, folder):
    """ImageIter and ImageDetIter over lists, records and files: labels, parts, ends of epochs, shapes."""
    im, found, root = mx.image, {}, str(DATA)
    names = ["a.png", "a.bmp", "a.jpg"]
    (folder / "w.lst").write_text("".join(f"{7 + i}\t{i}.5\t{i}\t{n}\n" for i, n in enumerate(names)))
    common = {"path_root": root, "inter_method": 1}
    rec, idx = str(DATA / "images.rec"), str(DATA / "images.idx")
    for key, size, given in (
        ("list", 2, {"imglist": [[1.5, "a.png"], [2, "a.bmp"], [3, "a.png"]], **common}),
        ("labels", 2, {"imglist": [[1, 2, "a.png"], [3, 4, "a.bmp"], [5, 6, "a.png"]], "label_width": 2, **common}),
        ("label lists", 2, {"imglist": [[[1, 2, 3], "a.png"], [[4, 5, 6], "a.bmp"]], "label_width": 3, **common}),
        ("file", 1, {"path_imglist": str(folder / "w.lst"), "label_width": 2, **common}),
        (
            "file of part",
            1,
            {"path_imglist": str(folder / "w.lst"), "label_width": 2, "num_parts": 3, "part_index": 2, **common},
        ),
        ("whole labels", 2, {"imglist": [[1, "a.png"], [2, "a.bmp"]], "dtype": "int32", **common}),
        ("names", 2, {"imglist": [[1, "a.png"], [2, "a.bmp"]], "data_name": "x", "label_name": "y", **common}),
        ("records", 2, {"path_imgrec": rec, "inter_method": 1}),
        ("records with labels", 2, {"path_imgrec": rec, "path_imgidx": idx, "inter_method": 1}),
        (
            "part of records",
            1,
            {"path_imgrec": rec, "path_imgidx": idx, "num_parts": 2, "part_index": 0, "inter_method": 1},
        ),
        (
            "own",
            2,
            {
                "imglist": [[1, "a.png"], [2, "a.bmp"]],
                "path_root": root,
                "aug_list": [im.ForceResizeAug((12, 10), 0), im.CastAug()],
            },
        ),
        ("rolled over", 2, {"imglist": [[i, "a.bmp"] for i in range(3)], "last_batch_handle": "roll_over", **common}),
        ("discarded", 2, {"imglist": [[i, "a.bmp"] for i in range(3)], "last_batch_handle": "discard", **common}),
    ):
        random.seed(3)
        made = attempt(lambda: im.ImageIter(size, (3, 10, 12), **given))
        if isinstance(made, dict):
            found[key] = made
            continue
        found[key] = [epochs(made, 3), described(made)]
    random.seed(8)
    mixed = im.ImageIter(1, (3, 4, 4), imglist=[[i, "a.bmp"] for i in range(5)], shuffle=True, **common)
    found["mixed"] = [[b.label[0] for b in mixed], mixed.reset(), [b.label[0] for b in mixed]]
    found["sample"] = [mixed.reset(), [len(mixed.next_sample()[1])], mixed.cur]
    mixed.hard_reset()
    found["refused"] = [
        attempt(lambda: im.ImageIter(1, (3, 4, 4))),
        attempt(lambda: im.ImageIter(1, (1, 4, 4), imglist=[[1, "a.png"]], **common)),
        attempt(lambda: im.ImageIter(1, (3, 4), imglist=[[1, "a.png"]], **common)),
        attempt(lambda: im.ImageIter(1, (3, 4, 4), imglist=[[1, "a.png"]], dtype="float16", **common)),
        attempt(lambda: im.ImageIter(1, (3, 4, 4), path_imgrec=rec, shuffle=True)),
        attempt(lambda: im.ImageIter(1, (3, 4, 4), imglist=[[1, "a.png"]], num_parts=2, part_index=2, **common)),
    ]

    def labelled(*rows, header=(2, 6)):
        return np.concatenate([header, *rows]).astype(np.float32)

    listed = [
        [labelled(BOXES[0], BOXES[1]), "a.png"],
        [labelled(BOXES[2]), "a.bmp"],
        [labelled(BOXES[1], BOXES[3], BOXES[0]), "a.png"],
    ]
    for key, size, given in (
        ("boxes", 2, {}),
        ("one by one", 1, {"rand_mirror": True}),
        ("longer header", 2, {"imglist": [[labelled([9, 9], r[0][2:8], header=(4, 6)), r[1]] for r in listed]}),
        ("parts", 1, {"num_parts": 3, "part_index": 1}),
        ("rolled", 2, {"last_batch_handle": "roll_over"}),
        ("cut", 2, {"rand_crop": 0.9, "min_object_covered": 0.2, "area_range": (0.3, 0.9)}),
    ):
        random.seed(4)
        made = im.ImageDetIter(size, (3, 10, 12), **{"imglist": listed, **common, **given})
        found[f"detected {key}"] = [epochs(made), described(made), list(made.label_shape)]
    one = im.ImageDetIter(1, (3, 10, 12), imglist=listed, **common)
    other = im.ImageDetIter(1, (3, 10, 12), imglist=listed[1:2], **common)
    before = [list(one.label_shape), list(other.label_shape)]
    one.sync_label_shape(other, verbose=False)
    found["together"] = [before, list(one.label_shape), list(other.label_shape), described(other)]
    other.reshape((3, 6, 8), (5, 6))
    other.auglist = [im.DetBorrowAug(im.ForceResizeAug((8, 6), 0))]
    found["reshaped"] = [described(other), epochs(other, 1)]
    found["shapes refused"] = [
        attempt(lambda: one.reshape(label_shape=(2, 6))),
        attempt(lambda: one.reshape(label_shape=(4, 5))),
        attempt(lambda: one.reshape(label_shape=(4,))),
        attempt(lambda: one.check_label_shape((4, 6))),
        attempt(lambda: one.sync_label_shape(3)),
        attempt(lambda: im.ImageDetIter(1, (3, 4, 4), imglist=[[np.float32([2, 5, 1]), "a.png"]], **common)),
        attempt(
            lambda: im.ImageDetIter(1, (3, 4, 4), imglist=[[labelled([0, 0.5, 0.5, 0.5, 0.9, 0]), "a.png"]], **common)
        ),
    ]
    return found


@ask
def number_iterators(mx, folder):
    """CSV, LibSVM, MNIST and record files: shapes, dtypes, parts, ends of epochs that are not full."""
    found, io = {}, mx.io
    np.savetxt(folder / "x.csv", numbers(7, 6), "%.5f", ",")
    np.savetxt(folder / "y.csv", numbers(7, 2, seed=1), "%.5f", ",")
    np.savetxt(folder / "n.csv", np.arange(14).reshape(7, 2) - 3, "%d", ",")
    for key, given in {
        "rounded": {},
        "not rounded": {"round_batch": False},
        "labels": {"label_csv": str(folder / "y.csv"), "label_shape": (2,)},
        "shaped": {"data_shape": (2, 3), "batch_size": 2},
        "label shaped": {"label_csv": str(folder / "y.csv"), "label_shape": (2, 1), "batch_size": 7},
    }.items():
        made = io.CSVIter(**{"data_csv": str(folder / "x.csv"), "data_shape": (6,), "batch_size": 3, **given})
        found[f"csv {key}"] = [epochs(made, 3), described(made)]
    for kind in ("int32", "int64", "float32"):
        made = io.CSVIter(data_csv=str(folder / "n.csv"), data_shape=(2,), batch_size=4, dtype=kind)
        found[f"csv {kind}"] = epochs(made, 1)
    (folder / "d.svm").write_text("1 0:0.5 2:1.25\n-2 1:3\n3 0:2 1:1 3:7\n4 3:4\n5.5 2:1.5 3:1\n")
    (folder / "l.svm").write_text("0 0:1 1:2\n0 1:3\n0 0:4\n0 0:5 1:5\n0 1:1\n")

    def dense(iterator, count=2):
        rows = []
        for _ in range(count):
            for batch in iterator:
                rows.append([batch.data[0].asnumpy(), batch.data[0].stype, batch.label[0].asnumpy(), batch.pad])
            iterator.reset()
        return rows

    for key, given in {
        "plain": {},
        "labels": {"label_libsvm": str(folder / "l.svm"), "label_shape": (2,)},
        "threes": {"batch_size": 3},
    }.items():
        made = io.LibSVMIter(**{"data_libsvm": str(folder / "d.svm"), "data_shape": (4,), "batch_size": 2, **given})
        found[f"svm {key}"] = dense(made)
    files = {
        "image": str(DATA / "train-images-idx3-ubyte"),
        "label": str(DATA / "train-labels-idx1-ubyte"),
        "silent": True,
    }
    for key, given in {
        "plain": {},
        "flat": {"flat": True, "batch_size": 3},
        "parts": {"num_parts": 3, "part_index": 1, "batch_size": 1},
        "shaped": {"input_shape": (20,), "batch_size": 5},
        "last part": {"num_parts": 3, "part_index": 2, "batch_size": 2},
    }.items():
        made = io.MNISTIter(**{**files, "batch_size": 4, "shuffle": False, **given})
        found[f"mnist {key}"] = [epochs(made), described(made)]
    again = io.MNISTIter(**files, batch_size=3, shuffle=False)
    again.next(), again.next(), again.reset(), again.debug_skip_load()
    found["mnist again"] = plain([again.next().label for _ in range(3)])
    rec = str(DATA / "images.rec")
    for key, given in {
        "plain": {},
        "mean": {"mean_r": 10, "mean_g": 20, "mean_b": 30},
        "std": {"std_r": 2, "std_g": 4, "std_b": 8, "scale": 0.25},
        "all": {"mean_r": 10, "mean_b": 30, "std_g": 4, "scale": 3, "mirror": True},
        "gray": {"data_shape": (1, 9, 7)},
        "high": {"data_shape": (3, 12, 5)},
        "padded": {"data_shape": (3, 14, 17), "pad": 3, "fill_value": 9},
        "resized": {"resize": 20, "data_shape": (3, 11, 13)},
        "names": {"data_name": "x", "label_name": "y"},
    }.items():
        options = {"path_imgrec": rec, "data_shape": (3, 8, 9), "batch_size": 2, "verbose": False, **given}
        made = io.ImageRecordIter(**options)
        found[f"records {key}"] = [epochs(made, numbered=False), described(made)]
    for name in ("ImageRecordUInt8Iter", "ImageRecordInt8Iter"):
        for number, given in enumerate(
            ({}, {"mean_r": 60.6, "mean_g": 10.5, "std_r": 2, "scale": 0.5}, {"mean_b": -100.5})
        ):
            made = getattr(io, name)(path_imgrec=rec, data_shape=(3, 8, 9), batch_size=3, verbose=False, **given)
            found[f"{name} {number}"] = [epochs(made, 1, False), described(made)]
    return found


@ask
def datasets_of_files(mx, folder):
    """Datasets of records, folders and MNIST's files: items, transforms, labels, classes."""
    v, found = mx.gluon.data.vision, {}
    rec = str(DATA / "images.rec")
    for flag in (0, 1):
        made = v.ImageRecordDataset(rec, flag)
        found[f"records {flag}"] = [len(made), [list(made[i]) for i in (0, len(made) - 1)]]
    moved = v.ImageRecordDataset(rec, transform=lambda data, label: (data.astype("float32") * 2, label + 1))
    found["moved"] = list(moved[1])
    raw = mx.gluon.data.RecordFileDataset(rec)
    found["raw"] = [len(raw), [len(raw[i]) for i in range(len(raw))], raw[0][:24].hex()]
    for name in ("b", "a", "c"):
        (folder / "tree" / name).mkdir(parents=True)
        for number in ("2", "1"):
            (folder / "tree" / name / f"{number}.png").write_bytes((DATA / "a.png").read_bytes())
    (folder / "tree" / "a" / "note.txt").write_text("no picture")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = v.ImageFolderDataset(str(folder / "tree"))
        grey = v.ImageFolderDataset(str(folder / "tree"), flag=0, transform=lambda data, label: (data[:3, :4], -label))
    found["tree"] = [
        tree.synsets,
        [[str(Path(n).relative_to(folder)), i] for n, i in tree.items],
        len(tree),
        list(tree[3]),
    ]
    found["grey"] = list(grey[5])
    return found
