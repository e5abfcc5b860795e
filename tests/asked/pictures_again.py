"""Boxes on very small pictures, iterators over records of boxes, and functions of pictures at the borders of what they take."""

# ruff: noqa: B023, E501  calls are made at once
from __future__ import annotations

import logging
import random
import warnings

import numpy as np

from .data import picture
from .pictures import BOXES, DATA, described, epochs, told
from .questions import ask, attempt, numbers, plain


def digested(samples):
    """Height, width, sum of pixels (each counts differently), objects and sum of labels of each sample."""
    rows = []
    for image, label in samples:
        flat = plain(image).astype(np.float64).ravel()
        places, own = np.arange(1, flat.size + 1) % 97, np.arange(1, label.size + 1)
        rows.append(
            [*image.shape[:2], (flat * places).sum(), len(label), (label.ravel().astype(np.float64) * own).sum()]
        )
    return np.array(rows)


@ask
def small_boxes(mx, folder):
    """Crops and borders where few sizes fit, areas and proportions of one value."""
    im, found = mx.image, {}
    sizes = [(5, 4), (3, 7), (9, 8), (2, 2), (1, 6), (6, 1), (17, 23)]
    tables = {
        "crop": {
            "plain": {},
            "one area": {"area_range": 0.3},
            "all of it": {"area_range": (1.0, 1.0)},
            "next to nothing": {"area_range": (0.0, 0.1), "min_object_covered": 0.0, "min_eject_coverage": 0.0},
            "square": {"aspect_ratio_range": 1, "area_range": (0.1, 1.0), "min_object_covered": 0.01},
            "any": {"aspect_ratio_range": (0.2, 5.0), "area_range": (0.1, 1.0), "min_eject_coverage": 0.6},
            "covered": {"min_object_covered": 0.99, "max_attempts": 9, "area_range": (0.4, 1.0)},
        },
        "pad": {
            "plain": {},
            "wide": {"aspect_ratio_range": (2.0, 4.0), "area_range": (1.0, 9.0), "pad_val": (9, 8, 7)},
            "tall": {"aspect_ratio_range": 0.25, "area_range": (2.0, 6.0), "max_attempts": 7},
            "one area": {"area_range": (4.0, 4.0)},
            "smaller": {"area_range": (0.4, 3.0), "max_attempts": 2},
            "a little larger": {"area_range": (1.0, 1.05)},
        },
    }
    for kind, table in tables.items():
        for name, given in table.items():
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                made = (im.DetRandomCropAug if kind == "crop" else im.DetRandomPadAug)(**given)
            found[f"{kind} {name} warned"] = [len(warned), told(made.dumps())]
            for height, width in sizes:
                x = mx.nd.array(numbers(height, width, 3, low=1, high=250).astype(np.uint8), dtype="uint8")
                random.seed(height * 31 + width)
                found[f"{kind} {name} {height}x{width}"] = attempt(
                    lambda: digested([made(x, BOXES.copy()) for _ in range(12)])
                )
    made = im.CreateDetAugmenter(
        (3, 10, 12), rand_pad=1, aspect_ratio_range=(0.5, 0.7), area_range=(0.3, 6.0), max_attempts=3, pad_val=(1, 2, 3)
    )
    found["made"] = [told(made[0].dumps()[1][0])]
    random.seed(5)
    found["padded"] = digested([made[0](mx.nd.array(picture(), dtype="uint8"), BOXES.copy()) for _ in range(9)])
    edge = np.float32([[0, 0.2, 0.2, 0.6, 0.6], [1, 0.0, 0.0, 0.001, 0.001], [2, 0.8, 0.1, 0.8, 0.9]])
    narrow = im.DetRandomCropAug(min_object_covered=0.5, area_range=(0.2, 0.6), min_eject_coverage=0.5)
    random.seed(9)
    found["tiny objects"] = digested([narrow(mx.nd.array(picture(), dtype="uint8"), edge.copy()) for _ in range(30)])
    found["mixed list"] = attempt(lambda: im.DetRandomSelectAug([im.DetHorizontalFlipAug(1.0), im.ResizeAug(9)]))
    return found


@ask
def records_of_boxes(mx, folder):
    """ImageDetIter over records, by index, in another order, from a list in a file; own names and augmenters; bad labels."""
    im, found = mx.image, {}
    png, bmp = ((DATA / n).read_bytes() for n in ("a.png", "a.bmp"))

    def labelled(*rows, header=(2, 6)):
        return np.concatenate([header, *rows]).astype(np.float32)

    labels = [
        labelled(BOXES[0], BOXES[1]),
        labelled(BOXES[2]),
        labelled(BOXES[1], BOXES[3], BOXES[0]),
        labelled(BOXES[3]),
    ]
    rec, idx = str(folder / "b.rec"), str(folder / "b.idx")
    writer = mx.recordio.MXIndexedRecordIO(idx, rec, "w")
    for i, label in enumerate(labels):
        writer.write_idx(i + 3, mx.recordio.pack(mx.recordio.IRHeader(0, label, i + 3, 0), (png, bmp)[i % 2]))
    writer.close()
    (folder / "b.lst").write_text(
        "".join(f"{7 + i}\t" + "\t".join(map(str, r.tolist())) + f"\ta.{'bp'[i % 2]}{'mn'[i % 2]}{'pg'[i % 2]}\n" for i, r in enumerate(labels))
    )  # fmt: skip
    for name, given in {
        "records": {"path_imgrec": rec},
        "by index": {"path_imgrec": rec, "path_imgidx": idx},
        "mixed": {"path_imgrec": rec, "path_imgidx": idx, "shuffle": True},
        "parts": {"path_imgrec": rec, "path_imgidx": idx, "num_parts": 2, "part_index": 1},
        "list": {"path_imglist": str(folder / "b.lst"), "path_root": str(DATA)},
        "named": {"path_imgrec": rec, "data_name": "x", "label_name": "y"},
        "own": {"path_imgrec": rec, "aug_list": [im.DetBorrowAug(im.ForceResizeAug((12, 10), 0)), im.DetHorizontalFlipAug(1)]},
        "relabelled": {"path_imgrec": rec, "path_imgidx": idx, "imglist": [[r, "none"] for r in labels[::-1]]},
    }.items():  # fmt: skip
        random.seed(4)
        given = given if "aug_list" in given else {"inter_method": 1, **given}
        made = attempt(lambda: im.ImageDetIter(2, (3, 10, 12), **given))
        found[name] = made if isinstance(made, dict) else [epochs(made), described(made)]
    listed = {"path_root": str(DATA), "inter_method": 1}
    for name, label in {
        "short header": np.float32([1, 6, *BOXES[0]]),
        "uneven": np.float32([2, 6, *BOXES[0], 1]),
        "flat": labelled([0, 0.5, 0.2, 0.5, 0.9, 0]),
        "flat in height": labelled([0, 0.2, 0.5, 0.9, 0.5, 0]),
        "least": np.float32([2, 5, *BOXES[0][:5]]),
        "too short": np.float32([2, 5, 0, 0.1, 0.2, 0.3]),
        "of two widths": None,
        "some flat": labelled([0, 0.5, 0.2, 0.5, 0.9, 0], BOXES[0], [0, 0.2, 0.5, 0.9, 0.5, 0]),
    }.items():
        rows = [[labels[0], "a.png"], [label if label is not None else np.float32([2, 5, *BOXES[0][:5]]), "a.png"]]
        rows = rows if label is None else rows[1:]
        found[name] = attempt(lambda: epochs(im.ImageDetIter(1, (3, 10, 12), imglist=rows, **listed), 1))
    wide = im.ImageDetIter(1, (3, 10, 12), imglist=[[labels[0], "a.png"]], **listed)
    narrow = im.ImageDetIter(1, (3, 10, 12), imglist=[[np.float32([2, 5, *BOXES[0][:5]]), "a.png"]], **listed)
    found["of two iterators"] = attempt(lambda: wide.sync_label_shape(narrow))
    large = im.ImageDetIter(1, (3, 10, 12), imglist=[[labels[2], "a.png"]], **listed)
    logged = []

    class Keeper(logging.Handler):
        def emit(self, record):
            logged.extend(m for m in [record.getMessage()] if m.startswith("Resized"))

    keeper = Keeper()
    logging.getLogger().addHandler(keeper)
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.INFO)
    for verbose in (False, True):
        small = im.ImageDetIter(1, (3, 10, 12), imglist=[[labels[1], "a.png"]], **listed)
        back = small.sync_label_shape(large, verbose=verbose)
        found[f"synchronised {verbose}"] = [
            back is large,
            list(small.label_shape),
            list(large.label_shape),
            list(logged),
        ]
    logging.getLogger().removeHandler(keeper)
    logging.getLogger().setLevel(level)
    small.reshape((3, 5, 6))
    found["reshaped"] = [described(small), list(small.data_shape), list(small.label_shape)]
    small.reshape(label_shape=(3, 6))
    found["as it was"] = described(small)

    class Picky(im.ImageDetIter):
        seen = 0

        def check_valid_image(self, data):
            self.seen += 1
            if self.seen % 2:
                raise RuntimeError("not this one")

    class Picky2(im.ImageIter):
        seen = 0

        def check_valid_image(self, data):
            self.seen += 1
            if self.seen % 2:
                raise RuntimeError("not this one")

    four = [[labels[i], "a.png"] for i in range(4)]
    found["picky boxes"] = epochs(Picky(1, (3, 10, 12), imglist=four, **listed), 2)
    plainly = [[i + 1.0, "a.png"] for i in range(4)]
    found["picky"] = epochs(Picky2(1, (3, 10, 12), imglist=plainly, **listed), 2)
    return found


@ask
def pictures_at_the_borders(mx, folder):
    """Methods by what they enlarge, old names of settings, angles of batches, what is no picture."""
    im, x, found = mx.image, mx.nd.array(picture(), dtype="uint8"), {}
    png = (DATA / "a.png").read_bytes()
    raw = np.frombuffer(png, np.uint8)
    found["decoded"] = [
        im.imdecode(mx.nd.array(raw, dtype="uint8")),
        im.imdecode(raw),
        im.imdecode(png, flag=0),
        im.imdecode(png, flag=0, to_rgb=0),
        im.imdecode(png, to_rgb=0),
        im.imread(str(DATA / "a.png"), flag=0, to_rgb=0),
        im.imread(str(DATA / "a.png"), to_rgb=0),
    ]
    found["methods"] = [
        [a, b, c, d, im.image._get_interp_method(9, (a, b, c, d))]
        for a, b in ((5, 7),)
        for c in (4, 5, 6)
        for d in (6, 7, 8)
    ]
    found["method of nothing"] = [im.image._get_interp_method(9), [im.image._get_interp_method(i) for i in range(5)]]
    random.seed(2)
    found["drawn"] = [im.image._get_interp_method(10) for _ in range(20)]
    found["no method"] = attempt(lambda: im.image._get_interp_method(11, (1, 2, 3, 4)))
    for interp in (9, 10):
        random.seed(2)
        found[f"sizes {interp}"] = [list(im.resize_short(x, s, interp).shape) for s in (9, 17, 20)]
        random.seed(2)
        found[f"crops {interp}"] = [
            list(im.fixed_crop(x, 1, 2, 8, 9, s, interp).shape) for s in ((8, 9), (4, 5), (9, 4))
        ]
    for name, call in {
        "crop": lambda **k: im.random_size_crop(x, (7, 6), ratio=(0.5, 2.0), interp=1, **k),
        "augmenter": lambda **k: im.RandomSizedCropAug((7, 6), ratio=(0.5, 2.0), interp=1, **k)(x),
    }.items():
        for given in ({"area": (0.2, 0.4)}, {"area": 0.3}, {"area": 0.3, "min_area": 0.6}, {"area": 0.3, "min": 0.6}):
            random.seed(3)
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                got = attempt(lambda: call(**given))
            found[f"{name} {given}"] = [got, len(warned)]
    for size in ((2, 3), (40, 30), (60, 5)):
        random.seed(3)
        found[f"one size {size}"] = attempt(lambda: im.random_size_crop(x, size, (1.0, 1.0), (1.0, 1.0), 1)[1])
    real = mx.nd.array(numbers(2, 3, 6, 5))
    for limits in ((-40, 70), (30, 30)):
        for zoom in ({}, {"zoom_in": True}, {"zoom_out": True}):
            np.random.seed(7)
            found[f"turned {limits} {zoom}"] = attempt(lambda: im.random_rotate(real, limits, **zoom))
            np.random.seed(7)
            found[f"one turned {limits} {zoom}"] = attempt(lambda: im.random_rotate(real[0], limits, **zoom))
    for number, given in enumerate((
        {"contrast": 0.2}, {"saturation": 0.3}, {"brightness": 0.3}, {"hue": 0.1}, {"rand_gray": 1.0},
        {"mean": np.array([7.0])}, {"std": np.array([7.0]), "mean": True}, {"mean": np.array([7.0, 8.0])},
    )):  # fmt: skip
        random.seed(6)
        np.random.seed(6)

        def augmented():
            y = x
            made = im.CreateAugmenter((3, 10, 12), inter_method=1, **given)
            for augmenter in made:
                y = augmenter(y)
            return [[type(a).__name__ for a in made], y]

        found[f"augmented {number}"] = attempt(augmented)
    found["parted"] = attempt(lambda: im.ImageIter(1, (3, 4, 4), path_imgrec=str(DATA / "images.rec"), num_parts=2))
    found["of two"] = epochs(
        im.ImageIter(2, (3, 10, 12), imglist=[[np.float32([1, 2]), "a.png"], [np.float32([3, 4]), "a.bmp"]], label_width=2, path_root=str(DATA), inter_method=1), 1
    )  # fmt: skip
    rec, idx = str(DATA / "images.rec"), str(DATA / "images.idx")
    keys = list(mx.recordio.MXIndexedRecordIO(idx, rec, "r").keys)
    (folder / "l.lst").write_text("".join(f"{k}\t{100 + i}.5\tnone\n" for i, k in enumerate(keys)))
    relabelled = im.ImageIter(1, (3, 10, 12), path_imgrec=rec, path_imgidx=idx, path_imglist=str(folder / "l.lst"), inter_method=1)  # fmt: skip
    found["relabelled"] = attempt(lambda: [b.label[0] for b in relabelled])
    (folder / "w.lst").write_text("".join(f"{i}\t{16777217 + i}\ta.png\n" for i in range(3)))
    whole = im.ImageIter(1, (3, 10, 12), path_imglist=str(folder / "w.lst"), dtype="int32", inter_method=1)
    found["whole"] = attempt(lambda: [plain(v[0]).tolist() for v in whole.imglist.values()])
    return found


@ask
def pictures_of_rare_settings(mx, folder):
    """Areas that no part has, hues that turn backwards, labels of other kinds, images left over and dropped."""
    im, found = mx.image, {}
    x = mx.nd.array(picture(), dtype="uint8")
    for area in ((0.9, 1.0), (1, 1), (2, 3)):
        for ratio in ((1, 1), (0.01, 0.02), (50, 90)):
            random.seed(5)
            found[f"sized {area} {ratio}"] = attempt(
                lambda area=area, ratio=ratio: [im.random_size_crop(x, (6, 5), area, ratio, 1), random.random()]
            )
    for given in (
        {"hue": -0.2},
        {"hue": 0.2},
        {"saturation": 0.3},
        {"std": True},
        {"mean": np.array([7.0])},
        {"contrast": 0.2, "pca_noise": 0},
    ):
        made = im.CreateAugmenter((3, 10, 12), inter_method=1, **given)
        random.seed(3)
        y = x
        for augmenter in made:
            y = augmenter(y)
        found[f"made {sorted(given)} {given.get('hue')}"] = [[type(a).__name__ for a in made], y]
    root = str(DATA)
    names = ["a.bmp"] * 5
    listed = {
        "numbers": [[1.75 + i, n] for i, n in enumerate(names)],
        "of numpy": [[np.float32(1.75 + i), n] for i, n in enumerate(names)],
        "whole": [[np.int64(3 - i), n] for i, n in enumerate(names)],
        "lists": [[[1.75 + i], n] for i, n in enumerate(names)],
        "arrays": [[np.array([1.75 + i]), n] for i, n in enumerate(names)],
    }
    for name, rows in listed.items():
        for kind in ("float32", "int32", "int64", "float64"):

            def read(rows=rows, kind=kind):
                made = im.ImageIter(
                    2, (3, 4, 4), path_root=root, imglist=rows, dtype=kind, aug_list=[im.ForceResizeAug((4, 4))]
                )
                return [[b.label[0], b.pad] for b in made] + [made.num_image]

            found[f"labels {name} {kind}"] = attempt(read)
    for end in ("pad", "discard", "roll_over"):
        for reset in ("reset", "hard_reset"):
            made = im.ImageIter(
                2,
                (3, 4, 4),
                path_root=root,
                imglist=listed["numbers"],
                last_batch_handle=end,
                aug_list=[im.ForceResizeAug((4, 4))],
            )
            told = []
            for _ in range(3):
                told.append([[b.label[0], b.pad] for b in made])
                getattr(made, reset)()
            found[f"{end} {reset}"] = told
    return found
