"""Questions that the others leave out: mean images, and corners of what programs seldom use."""

from __future__ import annotations

from .pictures import DATA, epochs
from .questions import ask, attempt, numbers


@ask
def mean_images(mx, folder):
    """ImageRecordIter(mean_img=...): made where it is not there, read where it is; of other settings than what it is for."""
    rec, found = str(DATA / "images.rec"), {}
    options = {"path_imgrec": rec, "data_shape": (3, 8, 9), "batch_size": 4, "verbose": False}
    for number, given in enumerate((
        {}, {"mean_r": 10, "mean_b": 30}, {"std_r": 2, "std_g": 4, "std_b": 8, "scale": 0.25},
        {"mirror": True}, {"data_shape": (1, 9, 7)},
    )):  # fmt: skip
        path = str(folder / f"mean{number}.bin")
        made = epochs(mx.io.ImageRecordIter(**{**options, **given}, mean_img=path), 2, False)
        held = mx.nd.load(path)
        again = mx.io.ImageRecordIter(**{**options, **given}, mean_img=path)
        found[str(given)] = [made, sorted(held), held["mean_img"], epochs(again, 1, False)]
    path = str(folder / "own.bin")
    mx.nd.save(path, [mx.nd.array(numbers(3, 8, 9) * 100)])
    for name, given in {
        "ImageRecordIter": {"mirror": True, "mean_r": 10, "scale": 2},
        "ImageRecordInt8Iter": {"scale": 2},
        "ImageRecordUInt8Iter": {},
    }.items():
        found[name] = epochs(getattr(mx.io, name)(**options, **given, mean_img=path), 1, False)
    getattr(mx.io, name)(**options, mean_img=str(folder / "none.bin"))
    found["made for bytes"] = (folder / "none.bin").exists()
    missing = {**options, "mean_img": str(folder / "none.bin")}
    found["int8"] = attempt(lambda: mx.io.ImageRecordInt8Iter(**missing))
    mx.nd.save(path, [mx.nd.ones((3, 8, 9))] * 2)
    found["two"] = attempt(lambda: mx.io.ImageRecordIter(**options, mean_img=path))
    return found


@ask
def gradients_in_another_storage(mx, folder):
    """Gradients of sparse arrays, kept as every storage."""
    found = {}
    for held in ("csr", "row_sparse"):
        for storage in ("default", "csr", "row_sparse"):
            x = mx.nd.array(numbers(3, 4) * (numbers(3, 4, seed=1) > 0)).tostype(held)
            x.attach_grad(stype=storage)
            with mx.autograd.record():
                y = mx.nd.square(x)
            y.backward()
            found[f"{held} {storage}"] = [x.grad.stype, x.grad]
    return found
