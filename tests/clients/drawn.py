"""Run by launch.py: ``drawn.py EXAMPLE [ARGUMENT ...]`` runs an example of MXNet's in its folder, with drawn data in the place of
what it would download. MXNET_HOME is the folder's ``home``."""

import csv
import gzip
import importlib
import os
import runpy
import sys
from pathlib import Path

import numpy as np
import pandas

draw = np.random.RandomState(0)
WORDS = [f"w{i}" for i in range(60)]


def digits(folders):
    """MNIST's files, plain and packed: patterns of ten classes with noise."""
    patterns = draw.randint(0, 2, (10, 7, 7)).repeat(4, 1).repeat(4, 2) * 160
    for part, number in (("train", 800), ("t10k", 400)):
        labels = draw.randint(0, 10, number).astype("uint8")
        images = (patterns[labels] + draw.randint(0, 90, (number, 28, 28))).astype("uint8")
        head = np.array([2051, number, 28, 28], ">i4").tobytes(), np.array([2049, number], ">i4").tobytes()
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
            for name, content in (
                ("images-idx3", head[0] + images.tobytes()),
                ("labels-idx1", head[1] + labels.tobytes()),
            ):
                (folder / f"{part}-{name}-ubyte").write_bytes(content)
                (folder / f"{part}-{name}-ubyte.gz").write_bytes(gzip.compress(content))


def pictures(folder):
    """CIFAR10's files."""
    folder.mkdir(parents=True)
    for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"):
        rows = np.concatenate([draw.randint(0, 10, (80, 1)), draw.randint(0, 256, (80, 3072))], 1)
        (folder / f"{name}.bin").write_bytes(rows.astype("uint8").tobytes())


def sentences(count):
    """Sentences in which a word tells something of the next."""
    lines = []
    for _ in range(count):
        at, line = draw.randint(60), []
        for _ in range(draw.randint(5, 30)):
            line.append(WORDS[at])
            at = (3 * at + draw.randint(3)) % 60
        lines.append(" ".join(line))
    return "\n".join(lines) + "\n"


def texts(data, home):
    """Corpora by the names that examples look for."""
    (data / "rt-polaritydata").mkdir(parents=True)
    (home / "datasets" / "wikitext-2").mkdir(parents=True)
    for part in ("train", "valid", "test"):
        (data / f"sherlockholmes.{part}.txt").write_text(sentences(300))
        for folder in (data, home / "datasets" / "wikitext-2"):
            (folder / f"wiki.{part}.tokens").write_text(sentences(300))
    (data / "text8").write_text(sentences(400).replace("\n", " "))
    for part in ("pos", "neg"):
        (data / "rt-polaritydata" / f"rt-polarity.{part}").write_text(sentences(150))


def tables(data, here):
    """Ratings, sparse rows and other tables."""
    for parent in (data, here):
        for name, files, mark in (
            ("ml-100k", ("u1.base", "u1.test", "u.data"), "\t"),
            ("ml-10M100K", ("r1.train", "r1.test"), "::"),
        ):
            (parent / name).mkdir(parents=True, exist_ok=True)
            for file in files:
                rows = np.stack([*draw.randint(1, 200, (2, 1500)), draw.randint(1, 6, 1500), np.arange(1500)], 1)
                (parent / name / file).write_text("".join(mark.join(map(str, row)) + "\n" for row in rows))
    for name in ("avazu-app", "avazu-app.t", "criteo.train", "criteo.test", "YearPredictionMSD"):
        features = 90 if name[0] == "Y" else 1000
        lines = []
        for _ in range(400):
            places = np.sort(draw.choice(features - 1, 12, replace=False)) + 1
            lines.append(f"{draw.randint(0, 2)} " + " ".join(f"{i}:{draw.rand():.3f}" for i in places))
        (data / name).write_text("\n".join(lines) + "\n")
    (data / "YearPredictionMSD.bz2").touch()
    for name in ("adult.data", "adult.test"):
        with open(data / name, "w", encoding="utf-8", newline="") as file:
            for _ in range(300):
                work, land = (f"{what}{draw.randint(9)}" for what in ("work", "land"))
                person = (
                    draw.randint(18, 80),
                    "Private",
                    1,
                    "Masters",
                    9,
                    "Widowed",
                    work,
                    "Wife",
                    "White",
                    "Female",
                    0,
                    0,
                    40,
                    land,
                )
                csv.writer(file).writerow([*person, draw.choice(["<=50K", ">50K"])])
    np.savetxt(data / "electricity.txt", draw.rand(400, 8), delimiter=",", fmt="%.4f")


def without_checksums():
    """Let MXNet take files that it would download again."""
    for name in ("mxnet.gluon.contrib.data.text", "mxnet.gluon.data.vision.datasets"):
        importlib.import_module(name)
    for name, module in list(sys.modules.items()):
        if name.startswith(("mxnet", "hybrid")) and "check_sha1" in vars(module):
            vars(module)["check_sha1"] = lambda path, digest: True


def main():
    example = Path(sys.argv[1]).resolve()
    here = example.parent
    os.chdir(here)
    home = here / "home"
    os.environ["MXNET_HOME"] = str(home)
    data = here / "data"
    digits([data, here, home / "datasets" / "mnist", home / "datasets" / "fashion-mnist"])
    pictures(home / "datasets" / "cifar10")
    texts(data, home)
    tables(data, here)
    for name in ("data", "models"):
        (here.parent / name).mkdir(exist_ok=True)
    (here.parent / "data" / "electricity.txt").write_text((data / "electricity.txt").read_text())
    without_checksums()
    pandas.DataFrame.as_matrix = lambda self: self.values  # which pandas took away
    sys.argv = [str(example), *sys.argv[2:]]
    sys.path[0] = str(here)
    runpy.run_path(str(example), run_name="__main__")


if __name__ == "__main__":
    main()
