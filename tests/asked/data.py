"""Samplers, datasets, loaders, iterators and transforms: every way of ending an epoch, orders, layouts, several epochs."""

# ruff: noqa: E731, N806  calls are made at once; F and letters are called as in every MXNet program
from __future__ import annotations

import random

import numpy as np

from .questions import ask, attempt, numbers


@ask
def samplers(mx, folder):
    d = mx.gluon.data
    found = {"sequence": list(d.SequentialSampler(4)), "from 3": list(d.SequentialSampler(4, 3)), "lengths": []}
    np.random.seed(3)
    drawn = d.RandomSampler(7)
    found["random"] = [[int(i) for i in drawn] for _ in range(2)] + [len(drawn)]
    for length, interval, rollover in ((7, 3, True), (7, 3, False), (6, 6, True), (5, 1, True)):
        sampler = (
            d.sampler.IntervalSampler
            if hasattr(d.sampler, "IntervalSampler")
            else mx.gluon.contrib.data.IntervalSampler
        )
        made = sampler(length, interval, rollover)
        found[f"every {interval} of {length} {rollover}"] = [list(made), list(made), len(made)]
    for last in ("keep", "discard", "rollover"):
        for count in (7, 6, 2):
            made = d.BatchSampler(d.SequentialSampler(count, 1), 3, last)
            epochs = []
            for _ in range(4):
                epochs.append([len(made), *(list(b) for b in made)])
            found[f"batches {last} {count}"] = epochs
    found["default"] = [list(b) for b in d.BatchSampler(d.SequentialSampler(4), 3)]
    found["wrong"] = [
        attempt(lambda: list(d.BatchSampler(d.SequentialSampler(4), 3, "pad"))),
        attempt(lambda: len(d.BatchSampler(d.SequentialSampler(4), 3, "pad"))),
    ]
    kept = d.FilterSampler(lambda x: x % 3, d.SimpleDataset(list(range(8))))
    found["filter"] = [list(kept), list(kept), len(kept)]
    return found


@ask
def datasets(mx, folder):
    d = mx.gluon.data
    plain = d.SimpleDataset([10, 20, 30, 40, 50, 60, 70])
    pairs = d.ArrayDataset(numbers(5, 2), np.arange(5, dtype=np.float32) * 2)
    every = lambda s: [s[i] for i in range(len(s))]
    found = {f"shard {i} of {n}": every(plain.shard(n, i)) for n in (1, 2, 3, 5) for i in range(n)}
    found["shards refused"] = [
        attempt(lambda: plain.shard(2, 2)),
        attempt(lambda: plain.shard(2, -1)),
        attempt(lambda: plain.shard(0, -1)),
    ]
    found["take"] = [every(plain.take(n)) for n in (0, 3, 7, 9, None)]
    found["filter"] = every(plain.filter(lambda x: x > 30))
    found["sample"] = [every(plain.sample(d.SequentialSampler(3, 2))), attempt(lambda: plain.sample([1]))]
    found["transform"] = [every(plain.transform(lambda x: x + 1)), every(plain.transform(lambda x: x + 1, lazy=False))]
    found["pairs"] = [every(pairs), every(pairs.transform(lambda x, y: x * y)), len(pairs)]
    found["first"] = [
        every(pairs.transform_first(lambda x: -x)),
        every(plain.transform_first(lambda x: -x)),
        every(pairs.transform_first(lambda x: -x, False)),
    ]
    found["chained"] = every(pairs.transform_first(lambda x: x.sum()).filter(lambda p: p[1] > 2).take(2))
    calls = []
    lazy, eager = plain.transform(calls.append), plain.transform(calls.append, lazy=False)
    lazy[2], lazy[2], eager[1]
    found["calls"] = calls
    found["arrays"] = [
        every(d.ArrayDataset(mx.nd.array([1, 2]))),
        every(d.ArrayDataset(mx.nd.array(numbers(2, 2)), [5, 6], mx.nd.array([7, 8]))),
    ]
    found["arrays refused"] = [attempt(lambda: d.ArrayDataset([1], [1, 2])), attempt(lambda: d.ArrayDataset())]
    return found


@ask
def loaders(mx, folder):
    """With and without threads: batches, orders, what a batch is made of."""
    d = mx.gluon.data
    pairs = d.ArrayDataset(mx.nd.array(numbers(7, 2)), np.arange(7).astype("float32"))
    found = {}
    for last in (None, "keep", "discard", "rollover"):
        loader = d.DataLoader(pairs, 3, last_batch=last)
        found[f"last {last}"] = [[len(loader), *([x, y] for x, y in loader)] for _ in range(3)]
    np.random.seed(4)
    mixed = d.DataLoader(pairs, 3, shuffle=True)
    found["shuffled"] = [[y for _, y in mixed] for _ in range(2)]
    found["sampler"] = [y for _, y in d.DataLoader(pairs, 2, sampler=d.SequentialSampler(5, 1))]
    found["batches"] = [y for _, y in d.DataLoader(pairs, batch_sampler=[[6, 1], [0], [3, 3, 3]])]
    own = d.DataLoader(d.SimpleDataset([3, 1, 2]), 2, batchify_fn=lambda items: [sum(items), len(items)])
    found["own"] = list(own)
    batchify = d.dataloader.default_batchify_fn
    found["made of"] = [
        batchify([1, 2]),
        batchify([1.5, 2.5]),
        batchify([mx.nd.array([1, 2]), mx.nd.array([3, 4])]),
        batchify([np.float32([1, 2]), np.float32([3, 4])]),
        batchify([(1, np.int32([2])), (3, np.int32([4]))]),
        batchify([np.uint8([[1]]), np.uint8([[2]])]),
    ]
    found["refused"] = [
        attempt(lambda: d.DataLoader(pairs)),
        attempt(lambda: d.DataLoader(pairs, 2, shuffle=True, sampler=d.SequentialSampler(5))),
        attempt(lambda: d.DataLoader(pairs, 2, batch_sampler=[[1]])),
        attempt(lambda: d.DataLoader(pairs, shuffle=True, batch_sampler=[[1]])),
        attempt(lambda: d.DataLoader(pairs, last_batch="keep", batch_sampler=[[1]])),
        attempt(lambda: d.DataLoader(pairs, sampler=d.SequentialSampler(2), batch_sampler=[[1]])),
        attempt(lambda: d.DataLoader(pairs, 2, timeout=0)),
    ]
    return found


def epochs(iterator, count=3, reset="reset"):
    """Every batch of some epochs, with pads; where an epoch ends the labels are followed by a text."""
    found = []
    for _ in range(count):
        for batch in iterator:
            found.append([batch.data, batch.label, batch.pad, [list(d.shape) for d in batch.data]])
        found.append("end")
        getattr(iterator, reset)()
    return found


@ask
def array_iterators(mx, folder):
    io, data, label = mx.io, numbers(7, 2), np.arange(7, dtype=np.float32)
    found = {}
    for how in ("pad", "discard", "roll_over"):
        for size in (3, 7, 5):
            found[f"{how} {size}"] = epochs(io.NDArrayIter(data, label, size, last_batch_handle=how), 4)
        np.random.seed(5)
        found[f"{how} shuffled"] = epochs(io.NDArrayIter(data, label, 3, True, how), 2)
        found[f"{how} hard"] = epochs(io.NDArrayIter(data, label, 3, last_batch_handle=how), 3, "hard_reset")
    several = io.NDArrayIter(
        {"b": data, "a": numbers(7, 3, 1)}, [label, label * 2], 2, last_batch_handle="discard", label_name="y"
    )
    found["several"] = [
        epochs(several, 1),
        [[n, s] for n, s in several.provide_data],
        [[n, s] for n, s in several.provide_label],
    ]
    found["described"] = [
        repr(several.provide_data[0]),
        several.provide_label[1].layout,
        several.num_data,
        several.batch_size,
    ]
    bare = io.NDArrayIter(data, batch_size=2)
    found["no labels"] = [epochs(bare, 1), bare.provide_label, [[n, s] for n, s in bare.provide_data]]
    whole = io.NDArrayIter(mx.nd.array(np.arange(6), dtype="int32").reshape((3, 2)), np.array([1.5, 2.5, 3.5]), 2)
    found["dtypes"] = [[b.data, b.label] for b in whole]
    by_hand = io.NDArrayIter(data, label, 3)
    found["by hand"] = []
    while by_hand.iter_next():
        found["by hand"] += [by_hand.getdata(), by_hand.getlabel(), by_hand.getpad()]
    found["refused"] = [
        attempt(lambda: io.NDArrayIter(None)),
        attempt(lambda: io.NDArrayIter([])),
        attempt(lambda: io.NDArrayIter("text")),
        attempt(by_hand.next),
        attempt(by_hand.getdata),
    ]
    for size in (2, 5):
        for inner in (True, False):
            resized = io.ResizeIter(io.NDArrayIter(data, label, 3), size, reset_internal=inner)
            found[f"resized {size} {inner}"] = [
                epochs(resized, 3),
                resized.batch_size,
                [[n, s] for n, s in resized.provide_data],
            ]
    ahead = io.PrefetchingIter(
        [io.NDArrayIter(data, label, 3), io.NDArrayIter(data + 1, label * 2, 3)],
        rename_data=[{"data": "x"}, {"data": "y"}],
        rename_label=[{"softmax_label": "p"}, {"softmax_label": "q"}],
    )
    found["prefetched"] = [
        epochs(ahead, 2),
        [[n, s] for n, s in ahead.provide_data],
        [[n, s] for n, s in ahead.provide_label],
        ahead.batch_size,
    ]
    D = io.DataDesc
    found["descriptions"] = [
        repr(D("a", (2, 3))), repr(D("a", (2, 3), "float16", "TNC")), D.get_batch_axis("TNC"), D.get_batch_axis(None),
        D.get_batch_axis("CT"), [repr(d) for d in D.get_list([("a", (1,)), ("b", (2,))], [("b", "int8"), ("a", "float64")])],
        [repr(d) for d in D.get_list([("a", (1,))], None)], list(D("a", (2, 3))),
    ]  # fmt: skip
    batch = io.DataBatch([mx.nd.array(data)], [mx.nd.array(label)], pad=1, index=[3], bucket_key=4)
    found["batch"] = [str(batch), str(io.DataBatch([mx.nd.array(data)])), batch.pad, batch.index, batch.bucket_key]
    found["batches refused"] = [
        attempt(lambda: io.DataBatch(mx.nd.array(data))),
        attempt(lambda: io.DataBatch([], label=3)),
    ]
    return found


@ask
def split(mx, folder):
    """Batches over devices, norms of gradients, hooks, hashes."""
    u, x = mx.gluon.utils, mx.nd.array(numbers(7, 3))
    found = {
        "uneven": u.split_data(x, 3, even_split=False),
        "even": u.split_data(x, 7),
        "second axis": u.split_data(x, 3, batch_axis=1),
        "uneven second": u.split_data(x, 2, 1, False),
        "more than there are": attempt(lambda: u.split_data(x, 8, even_split=False)),
        "refused": [attempt(lambda: u.split_data(x, 2)), attempt(lambda: u.split_data(x, 2, 1))],
        "loaded": [
            [p, str(p.context)] for p in u.split_and_load(x, [mx.cpu(1), mx.cpu(0), mx.cpu(2)], even_split=False)
        ],
        "one": [str(p.context) for p in u.split_and_load(numbers(3, 2), [mx.cpu(2)])],
        "axis": u.split_and_load(numbers(3, 4), [mx.cpu(0), mx.cpu(1)], batch_axis=1),
    }
    for most in (0.5, 100.0):
        for finite in (True, False):
            arrays = [mx.nd.array(numbers(2, 3)), mx.nd.array(numbers(4, seed=2), mx.cpu(1))]
            norm = u.clip_global_norm(arrays, most, check_isfinite=finite)
            found[f"clipped {most} {finite}"] = [norm, *arrays]
    found["nothing to clip"] = attempt(lambda: u.clip_global_norm([], 1.0))
    (folder / "a").write_bytes(b"hello")
    found["hash"] = [u.check_sha1(str(folder / "a"), h) for h in ("aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d", "0" * 40)]
    found["known"] = [u.shape_is_known(s) for s in ((1, 2), (0, 2), None)]
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    calls = []
    one = net.register_forward_hook(lambda b, i, o: calls.append("after"))
    two = net.register_forward_pre_hook(lambda b, i: calls.append("before"))
    net(x)
    one.detach()
    net(x)
    with two:
        net(x)
    net(x)
    found["hooks"] = calls
    return found


@ask
def records(mx, folder):
    """Headers with one and with several labels, keys, positions, files written to again."""
    r = mx.recordio
    found = {}
    for name, header in {
        "one": r.IRHeader(0, 2.5, 7, 9),
        "several": r.IRHeader(0, [1.0, 2.5, 3.5], 7, 9),
        "of an array": r.IRHeader(5, np.float32([4, 5]), 2**40, 3),
    }.items():
        packed = r.pack(header, b"content")
        back, content = r.unpack(packed)
        found[name] = [packed.hex(), back.flag, np.asarray(back.label), back.id, back.id2, content.decode()]
    path = str(folder / "x.rec")
    writer = r.MXRecordIO(path, "w")
    for text in (b"one", b"", b"three!!", b"12345678"):
        writer.write(text)
    writer.close()
    found["bytes"] = (folder / "x.rec").read_bytes().hex()
    reader = r.MXRecordIO(path, "r")
    found["read"] = [attempt(lambda: (reader.read() or b"none").decode()) for _ in range(6)]
    reader.reset()
    found["again"] = reader.read().decode()
    found["write to a reader"] = attempt(lambda: reader.write(b"x"))
    index = r.MXIndexedRecordIO(str(folder / "y.idx"), str(folder / "y.rec"), "w")
    places = []
    for key in (5, 2, 11):
        places.append(index.tell())
        index.write_idx(key, b"record %d" % key)
    index.close()
    found["index"] = [(folder / "y.idx").read_text(), places]
    index = r.MXIndexedRecordIO(str(folder / "y.idx"), str(folder / "y.rec"), "r")
    found["keys"] = [index.keys, index.idx, *(index.read_idx(k).decode() for k in (11, 5, 2))]
    index.seek(2)
    found["sought"] = [index.read().decode(), attempt(lambda: index.read_idx(3))]
    index.reset()
    found["first"] = index.read().decode()
    named = r.MXIndexedRecordIO(str(folder / "z.idx"), str(folder / "z.rec"), "w", key_type=str)
    named.write_idx("a", b"A")
    named.write_idx("b", b"B")
    named.close()
    named = r.MXIndexedRecordIO(str(folder / "z.idx"), str(folder / "z.rec"), "r", key_type=str)
    found["names"] = [named.keys, named.read_idx("b").decode()]
    found["mode"] = attempt(lambda: r.MXRecordIO(path, "a"))
    return found


def picture():
    rows, columns = np.mgrid[0:17, 0:23]
    noise = np.random.RandomState(0).randint(0, 60, (17, 23, 3))
    return np.stack([rows * 9, columns * 7, (rows + columns) * 4], 2).clip(0, 195).astype(np.uint8) + noise.astype(
        np.uint8
    )


@ask
def images(mx, folder):
    """Crops, sizes, borders, flips, normalizations and augmenters that draw nothing, or from Python's generator."""
    im, x = mx.image, mx.nd.array(picture(), dtype="uint8")
    found = {}
    for size in (9, 23, 30):
        found[f"short {size}"] = im.resize_short(x, size, 0)
        found[f"short tall {size}"] = im.resize_short(x.transpose((1, 0, 2)), size, 1)
    found["resized"] = [im.imresize(x, w, h, i) for w, h, i in ((11, 5, 0), (5, 30, 1), (23, 17, 1))]
    found["fixed"] = [
        im.fixed_crop(x, 3, 2, 10, 7),
        im.fixed_crop(x, 1, 4, 12, 6, (6, 9), 1),
        im.fixed_crop(x, 1, 4, 12, 6, (12, 6), 1),
    ]
    for size in ((8, 5), (23, 17), (40, 8)):
        found[f"centre {size}"] = list(im.center_crop(x, size, 1))
        random.seed(3)
        found[f"random {size}"] = list(im.random_crop(x, size, 1))
    random.seed(3)
    for area, ratio in (((0.2, 0.4), (0.5, 2.0)), (0.6, (0.9, 1.1)), ((0.9, 1.0), (6.0, 8.0))):
        found[f"sized {area}"] = list(im.random_size_crop(x, (7, 6), area, ratio, 1))
    mean, std = mx.nd.array([10, 20, 30]), mx.nd.array([2, 3, 4])
    real = x.astype("float32")
    found["normalized"] = [im.color_normalize(real, mean, std), im.color_normalize(real, mean)]
    found["scaled down"] = [
        list(im.scale_down(s, t))
        for s, t in (((10, 8), (5, 4)), ((10, 8), (20, 4)), ((10, 8), (5, 16)), ((10, 8), (20, 32)))
    ]
    found["border"] = [im.copyMakeBorder(x, 1, 0, 2, 3, type=k) for k in (0, 1, 2)]
    names = {}
    for name, make in {
        "resize": lambda: im.ResizeAug(9, 0),
        "force": lambda: im.ForceResizeAug((7, 11), 1),
        "crop": lambda: im.RandomCropAug((9, 7), 1),
        "sized": lambda: im.RandomSizedCropAug((9, 7), (0.3, 0.5), (0.8, 1.2), 1),
        "centre": lambda: im.CenterCropAug((9, 7), 1),
        "bright": lambda: im.BrightnessJitterAug(0.4),
        "contrast": lambda: im.ContrastJitterAug(0.4),
        "saturation": lambda: im.SaturationJitterAug(0.4),
        "hue": lambda: im.HueJitterAug(0.4),
        "jitter": lambda: im.ColorJitterAug(0.4, 0.3, 0.2),
        "normal": lambda: im.ColorNormalizeAug(mx.nd.array([10, 20, 30]), mx.nd.array([2, 3, 4])),
        "gray": lambda: im.RandomGrayAug(0.7),
        "flip": lambda: im.HorizontalFlipAug(0.5),
        "cast": lambda: im.CastAug("float16"),
        "sequence": lambda: im.SequentialAug([im.HorizontalFlipAug(1.0), im.CastAug()]),
        "order": lambda: im.RandomOrderAug([im.HorizontalFlipAug(1.0), im.ResizeAug(9, 0)]),
    }.items():
        random.seed(11)
        np.random.seed(11)
        made = make()
        arrays = x if name in ("resize", "force", "crop", "sized", "centre", "order") else real
        found[name] = [attempt(lambda m=made, a=arrays: m(a)) for _ in range(3)]
        names[name] = attempt(made.dumps)
    found["dumped"] = names
    for number, options in enumerate((
        {},
        {"resize": 12},
        {"rand_crop": True, "rand_mirror": True},
        {"rand_crop": True, "rand_resize": True},
        {"mean": True},
        {"std": True},
        {"mean": np.array([1.0, 2, 3]), "std": np.array([4.0, 5, 6])},
        {"brightness": 0.1, "hue": 0.2},
        {"pca_noise": 0.1, "rand_gray": 0.2},
    )):  # fmt: skip
        made = im.CreateAugmenter((3, 10, 12), inter_method=1, **options)
        found[f"made {number}"] = [type(a).__name__ for a in made]
        random.seed(2)
        np.random.seed(2)
        y = x
        for augmenter in made:
            y = augmenter(y)
        found[f"augmented {number}"] = y
    return found


@ask
def transforms(mx, folder):
    t, x = mx.gluon.data.vision.transforms, mx.nd.array(picture(), dtype="uint8")
    both = mx.nd.stack(x, mx.nd.flip(x, axis=1))
    tensor = t.ToTensor()(x)
    found = {
        "tensor": [tensor, t.ToTensor()(both)],
        "normalize": [
            t.Normalize(0.3, 0.5)(tensor),
            t.Normalize((0.1, 0.2, 0.3), (2, 3, 4))(t.ToTensor()(both)),
            t.Normalize()(tensor),
        ],
        "cast": [t.Cast("float16")(x), t.Cast()(x)],
        "resize": [
            t.Resize(9, interpolation=0)(x),
            t.Resize((5, 8))(both),
            t.Resize(9, True, 0)(x),
            t.Resize(9, keep_ratio=True)(x.transpose((1, 0, 2))),
        ],
        "centre": [t.CenterCrop(7)(x), t.CenterCrop((9, 4))(x)],
        "crop": [t.CropResize(2, 3, 9, 6)(x), t.CropResize(2, 3, 9, 6, (4, 5), 0)(x), t.CropResize(1, 2, 5, 6)(both)],
        "composed": t.Compose([t.Resize(9), t.ToTensor(), t.Normalize(0.5, 0.25)])(x),
        "mixed": t.Compose([t.Cast("float32"), mx.gluon.nn.Lambda(lambda y: y * 2), t.Cast("int32")])(x),
        "nothing": t.Compose([])(x),
        "flipped": [t.RandomApply(mx.gluon.nn.Lambda(lambda y: -y), p)(tensor) for p in (1.0, -0.1)],
        "rotate": [
            t.Rotate(40, zoom_in=True)(tensor),
            t.Rotate(-15, zoom_out=True)(tensor),
            attempt(lambda: t.Rotate(9)(x)),
        ],
        "refused": [
            attempt(lambda: t.RandomRotation((5, 5))),
            attempt(lambda: t.RandomRotation((0, 5), rotate_with_proba=1.1)),
            attempt(lambda: t.RandomRotation((9, 5))),
        ],
    }
    np.random.seed(6)
    turned = t.RandomRotation((-40, 10), zoom_out=True, rotate_with_proba=0.5)
    found["turned"] = [turned(tensor) for _ in range(4)]
    random.seed(6)
    cut = t.RandomResizedCrop((6, 5), (0.3, 0.6), (0.5, 2), 0)
    found["cut"] = [cut(x) for _ in range(3)]
    for name, make in (
        ("RandomBrightness", 0.0),
        ("RandomContrast", 0.0),
        ("RandomSaturation", 0.0),
        ("RandomHue", 0.0),
        ("RandomLighting", 0.0),
    ):
        found[name] = getattr(t, name)(make)(x.astype("float32"))
    return found
