"""Image datasets from local files, and transforms in a DataLoader."""

import gzip
import io as bytes_io
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybrid as mx
from hybrid import nd
from hybrid.core.error import FormatError
from hybrid.gluon import data
from hybrid.gluon.data import vision
from hybrid.gluon.data.vision import transforms

FIXTURES = Path(__file__).parents[3] / "fixtures/data"


def mnist(folder: Path, compress: bool) -> tuple[np.ndarray, np.ndarray]:
    """Write five images and labels as MNIST's training files."""
    images = np.random.default_rng(0).integers(0, 256, (5, 28, 28)).astype(np.uint8)
    labels = np.arange(5, dtype=np.uint8)
    for name, array, code in (("train-images-idx3-ubyte", images, 3), ("train-labels-idx1-ubyte", labels, 1)):
        content = struct.pack(f">BBBB{code}I", 0, 0, 8, code, *array.shape) + array.tobytes()
        if compress:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)
    return images, labels


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("kind", [vision.MNIST, vision.FashionMNIST])
def test_mnist(tmp_path: Path, compress: bool, kind: type[vision.MNIST]) -> None:
    images, labels = mnist(tmp_path, compress)
    dataset = kind(tmp_path)
    assert len(dataset) == 5
    image, label = dataset[3]
    assert (image.shape, image.dtype) == ((28, 28, 1), np.uint8)
    assert (image.asnumpy()[:, :, 0] == images[3]).all()
    assert label == 3 and label.dtype == np.int32
    scaled = kind(tmp_path, transform=lambda x, y: (x.astype("float32") / 255, y + 1))
    assert scaled[3][1] == 4
    (batch, numbers) = next(iter(data.DataLoader(dataset, 5)))
    assert batch.shape == (5, 28, 28, 1)
    assert numbers.asnumpy().tolist() == labels.tolist()
    with pytest.raises(FileNotFoundError, match=r"holds no t10k-images-idx3-ubyte or t10k-images-idx3-ubyte.gz"):
        kind(tmp_path, train=False)


def test_broken_mnist_files(tmp_path: Path) -> None:
    mnist(tmp_path, True)
    path = tmp_path / "train-labels-idx1-ubyte.gz"
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    with pytest.raises(FormatError, match="train-labels"):
        vision.MNIST(tmp_path)
    path.write_bytes(b"nonsense")
    with pytest.raises(FormatError, match="train-labels"):
        vision.MNIST(tmp_path)
    path.write_bytes(gzip.compress(struct.pack(">BBBBI", 0, 0, 8, 1, 4) + b"abcd"))
    with pytest.raises(FormatError, match="5 images, but 4 labels"):
        vision.MNIST(tmp_path)


@pytest.mark.parametrize("archive", [True, False])
def test_cifar(tmp_path: Path, archive: bool) -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (2, 3, 32, 32)).astype(np.uint8)

    def write(name: str, files: dict[str, bytes]) -> None:
        if not archive:
            for file, content in files.items():
                (tmp_path / file).write_bytes(content)
            return
        with tarfile.open(tmp_path / name, "w:gz") as tar:
            for file, content in files.items():
                member = tarfile.TarInfo(f"folder/{file}")
                member.size = len(content)
                tar.addfile(member, bytes_io.BytesIO(content))

    batch = b"".join(bytes([label]) + image.tobytes() for label, image in zip((7, 2), images))
    write("cifar-10-binary.tar.gz", {f"data_batch_{i}.bin": batch for i in range(1, 6)} | {"test_batch.bin": batch})
    dataset = vision.CIFAR10(tmp_path)
    assert len(dataset) == 10
    image, label = dataset[8]
    assert label == 7 and label.dtype == np.int32 and image.dtype == np.uint8
    assert (image.asnumpy() == images[0].transpose(1, 2, 0)).all()
    assert len(vision.CIFAR10(tmp_path, train=False)) == 2
    rows = b"".join(bytes([coarse, fine]) + image.tobytes() for coarse, fine, image in zip((1, 2), (50, 60), images))
    write("cifar-100-binary.tar.gz", {"train.bin": rows, "test.bin": rows})
    assert vision.CIFAR100(tmp_path)[1][1] == 2
    image, label = vision.CIFAR100(tmp_path, fine_label=True)[1]
    assert label == 60 and label.dtype == np.int32 and image.dtype == np.uint8


def test_missing_and_broken_cifar(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"holds no data_batch_1.bin or cifar-10-binary.tar.gz"):
        vision.CIFAR10(tmp_path)
    for i in (1, 2, 4):
        (tmp_path / f"data_batch_{i}.bin").write_bytes(b"")
    with pytest.raises(FileNotFoundError, match=r"holds no data_batch_3.bin or cifar-10-binary.tar.gz"):
        vision.CIFAR10(tmp_path)
    (tmp_path / "train.bin").write_bytes(b"123")
    with pytest.raises(FormatError, match=r"train.bin has 3 bytes, which is no multiple of 3074"):
        vision.CIFAR100(tmp_path)


def test_image_folders(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    for name in ("cat/1.png", "cat/2.JPG", "ant/3.png", "ant/readme.txt", "loose.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        source = "a.jpg" if name.endswith("JPG") else "a.png"
        (tmp_path / name).write_bytes((FIXTURES / source).read_bytes())
    with pytest.warns(UserWarning, match="Ignoring") as warned:
        dataset = vision.ImageFolderDataset(str(tmp_path))
    assert len(warned) == 2
    assert dataset.synsets == ["ant", "cat"]
    assert [(Path(file).name, label) for file, label in dataset.items] == [("3.png", 0), ("1.png", 1), ("2.JPG", 1)]
    image, label = dataset[2]
    assert image.shape == (29, 37, 3) and label == 1
    with pytest.warns(UserWarning, match="Ignoring"):
        gray = vision.ImageFolderDataset(str(tmp_path), flag=0, transform=lambda x, y: (x, -y))
    assert gray[1][0].shape == (29, 37, 1) and gray[1][1] == -1


def test_images_through_worker_processes() -> None:
    pytest.importorskip("PIL")
    prepare = transforms.Compose([transforms.CenterCrop(12), transforms.ToTensor(), transforms.Normalize(0.5, 0.25)])
    dataset = vision.ImageRecordDataset(FIXTURES / "images.rec").transform_first(prepare)
    batches = [list(data.DataLoader(dataset, 2, num_workers=n)) for n in (0, 2)]
    for alone, together in zip(*batches, strict=True):
        assert alone[0].shape[1:] == (3, 12, 12)
        assert (alone[0].asnumpy() == together[0].asnumpy()).all()
        assert (alone[1].asnumpy() == together[1].asnumpy()).all()


def test_compose_groups_what_can_be_a_graph() -> None:
    steps: list[Any] = [
        transforms.Cast("float32"),
        transforms.ToTensor(),
        transforms.Rotate(10),
        transforms.Normalize(),
    ]
    block = transforms.Compose(steps)
    assert len(block) == 3
    assert len(steps) == 4  # MXNet appends to the caller's list
    image = nd.array(np.arange(48).reshape(4, 4, 3), dtype="uint8")
    want = transforms.Rotate(10)(transforms.ToTensor()(image))
    np.testing.assert_allclose(block(image).asnumpy(), want.asnumpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "transform",
    [
        transforms.RandomBrightness(0.3),
        transforms.RandomContrast(0.3),
        transforms.RandomSaturation(0.3),
        transforms.RandomHue(0.1),
        transforms.RandomColorJitter(0.1, 0.1, 0.1, 0.1),
        transforms.RandomLighting(0.1),
        transforms.RandomFlipLeftRight(),
        transforms.RandomFlipTopBottom(),
        transforms.RandomResizedCrop((8, 6)),
        transforms.RandomApply(transforms.RandomFlipLeftRight(), 0.5),
    ],
    ids=lambda t: type(t).__name__,
)
def test_random_transforms_vary_and_repeat(transform: Any) -> None:
    import random

    import hybrid as mx

    image = nd.array(np.random.default_rng(0).integers(0, 256, (9, 8, 3)), dtype="uint8")

    def run() -> list[np.ndarray]:
        random.seed(1)
        mx.random.seed(1)
        return [transform(image).asnumpy() for _ in range(8)]

    first, second = run(), run()
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
    assert len({a.tobytes() for a in first}) > 1
    assert all(a.dtype == np.uint8 for a in first)


@pytest.mark.parametrize("p", [0, 1])
def test_a_transform_is_applied_as_often_as_its_probability_says(p: int) -> None:
    image = nd.array(np.zeros((2, 2, 3)), dtype="uint8")
    kinds = {transforms.RandomApply(transforms.Cast("float32"), p)(image).dtype for _ in range(9)}
    assert kinds == {np.float32 if p else np.uint8}


def test_draws_that_are_just_the_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws equal to the probability count as in MXNet: transforms of gluon are applied, those of mx.image are not."""
    picture = nd.array(np.random.RandomState(0).rand(4, 4, 3))
    objects = np.array([[0, 0.1, 0.2, 0.5, 0.6]])
    for draw in (0.25, 0.5):
        monkeypatch.setattr("random.random", lambda draw=draw: draw)
        monkeypatch.setattr("numpy.random.random", lambda draw=draw: draw)
        drawn = draw < 0.5
        for augmenter in (mx.image.HorizontalFlipAug(0.5), mx.image.RandomGrayAug(0.5)):
            assert (augmenter(picture).asnumpy() != picture.asnumpy()).any() == drawn
        flipped, moved = mx.image.DetHorizontalFlipAug(0.5)(picture, objects)
        assert (flipped.asnumpy() != picture.asnumpy()).any() == (moved[0, 1] != 0.1) == drawn
        chosen = mx.image.DetRandomSelectAug([mx.image.DetHorizontalFlipAug(1)], skip_prob=0.5)
        assert (chosen(picture, objects)[0] is picture) == drawn
        assert transforms.RandomApply(transforms.Cast("float16"), 0.5)(picture).dtype == np.float16
        turned = transforms.RandomRotation((40, 50), rotate_with_proba=0.5)(picture)
        assert (turned.asnumpy() != picture.asnumpy()).any()


def test_random_rotation_zooms_as_it_is_told() -> None:
    picture = nd.array(np.random.RandomState(0).rand(3, 6, 6))
    for given in ({}, {"zoom_in": True}, {"zoom_out": True}):
        want = mx.image.imrotate(picture, 30, **given).asnumpy()
        got = transforms.RandomRotation((30, 30 + 1e-9), **given)(picture).asnumpy()
        np.testing.assert_allclose(got, want, atol=1e-5, err_msg=str(given))


def test_random_transforms_refuse() -> None:
    with pytest.raises(ValueError, match="ordered tuple"):
        transforms.RandomRotation((3, 3))
    for share in (2, 1.001, -0.001, -1):
        with pytest.raises(ValueError, match="between 0 and 1"):
            transforms.RandomRotation((1, 3), rotate_with_proba=share)
    for share in (0, 1):
        transforms.RandomRotation((1, 3), rotate_with_proba=share)
    with pytest.raises(TypeError, match="only supports float32"):
        transforms.Rotate(3)(nd.zeros((3, 4, 4), dtype="uint8"))


def test_archives_that_lack_files_or_are_damaged(tmp_path: Path) -> None:
    """Files beside the archive count only where they are all there; folders in it are no files."""
    row = bytes([7]) + bytes(range(256)) * 12
    archive = tmp_path / "cifar-10-binary.tar.gz"

    def packed(**files: bytes) -> None:
        with tarfile.open(archive, "w:gz") as tar:
            folder = tarfile.TarInfo("test_batch.bin")
            folder.type = tarfile.DIRTYPE
            tar.addfile(folder)
            for name, content in files.items():
                member = tarfile.TarInfo(f"folder/{name}.bin")
                member.size = len(content)
                tar.addfile(member, bytes_io.BytesIO(content))

    packed(data_batch_1=row, data_batch_3=row)
    with pytest.raises(FormatError, match=r"holds no data_batch_2\.bin, data_batch_4\.bin, data_batch_5\.bin$"):
        vision.CIFAR10(tmp_path)
    with pytest.raises(FormatError, match=r"holds no test_batch\.bin$"):
        vision.CIFAR10(tmp_path, train=False)
    packed(**{f"data_batch_{i}": row * i for i in range(1, 6)})
    (tmp_path / "data_batch_2.bin").write_bytes(b"not the archive's")
    assert len(vision.CIFAR10(tmp_path)) == 15
    content = archive.read_bytes()
    for damaged in (content[: len(content) // 2], b"no archive at all", content[:40] + b"\xff" * 60 + content[100:]):
        archive.write_bytes(damaged)
        with pytest.raises(FormatError, match=r"the archive is damaged, fetch it again"):
            vision.CIFAR10(tmp_path)
    archive.unlink()
    for name in ("train", "test"):
        (tmp_path / f"{name}.bin").write_bytes((b"\x02" + row) * (1 + (name == "test")))
    assert [len(vision.CIFAR100(tmp_path, train=t)) for t in (True, False)] == [1, 2]
    doubled = vision.CIFAR100(tmp_path, fine_label=True, transform=lambda image, label: (image.shape, label * 2))
    assert doubled[0] == ((32, 32, 3), 14)
    (tmp_path / "train.bin").write_bytes(b"")
    with pytest.raises(FormatError, match=r"train.bin has 0 bytes"):
        vision.CIFAR100(tmp_path)
