"""Files of addresses: from a folder, from a server in this process, or not at all; whole and as published, or not at all."""

import gzip
import hashlib
import io
import struct
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import hybrid as mx
from hybrid.core.error import FormatError, MissingFile, UnreadableFile
from hybrid.formats import downloads
from hybrid.gluon.contrib.data.text import WikiText2
from hybrid.gluon.data.vision import CIFAR10, MNIST
from hybrid.gluon.model_zoo import model_store
from hybrid.gluon.utils import download

CONTENT = bytes(range(256)) * 40
SHA1 = hashlib.sha1(CONTENT).hexdigest()
ADDRESS = "http://data.example.org/some/file.bin"


@pytest.fixture(autouse=True)
def nothing_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MXNET_GLUON_REPO", raising=False)
    monkeypatch.chdir(tmp_path)


class Server(ThreadingHTTPServer):
    """Answers with files; counts what it is asked, and fails as often as it is told to."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.failures: list[str] = []
        super().__init__(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server_address[1]}/"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        path = self.path.lstrip("/")
        self.server.asked.append(path)
        failure = self.server.failures.pop(0) if self.server.failures else ""
        if failure.startswith("to "):
            self.send_response(302)
            self.send_header("Location", failure.removeprefix("to "))
            self.end_headers()
        elif failure == "error" or path not in self.server.files:
            self.send_error(500 if failure else 404)
        else:
            content = self.server.files[path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[:100] if failure == "cut" else content[::-1] if failure == "other" else content)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("MXNET_GLUON_REPO", made.address)
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def left(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_without_a_mirror_nothing_is_fetched_and_the_error_says_what_to_do(server, monkeypatch, tmp_path):
    server.files["file.bin"] = CONTENT
    monkeypatch.delenv("MXNET_GLUON_REPO")
    with pytest.raises(MissingFile) as caught:
        download(f"{server.address}file.bin", str(tmp_path), sha1_hash=SHA1)
    said = str(caught.value)
    assert f"{tmp_path}/file.bin (SHA-1 {SHA1}) is not there" in said and "MXNET_GLUON_REPO" in said
    assert not server.asked and not left(tmp_path)


@pytest.mark.parametrize("place", ["data.example.org/some/file.bin", "some/file.bin"])
@pytest.mark.parametrize("named", ["path", "file://"])
def test_a_folder_is_a_mirror(place, named, monkeypatch, tmp_path):
    mirror = tmp_path / "a mirror"
    (mirror / place).parent.mkdir(parents=True)
    (mirror / place).write_bytes(CONTENT)
    monkeypatch.setenv("MXNET_GLUON_REPO", mirror.as_uri() if named == "file://" else str(mirror))
    assert download(ADDRESS, sha1_hash=SHA1) == "file.bin"
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    with pytest.raises(
        MissingFile,
        match=r"other\.bin is not there, and neither is .*data\.example\.org/other\.bin nor .*mirror/other\.bin",
    ):
        download("http://data.example.org/other.bin")
    with pytest.raises(MissingFile):
        download("http://data.example.org/x/../../some/file.bin", "own.bin")


def test_files_at_an_address_of_their_own_need_no_mirror(tmp_path):
    (tmp_path / "a b.bin").write_bytes(CONTENT)
    url = (tmp_path / "a b.bin").as_uri()
    assert download(url, "got/c.bin") == "got/c.bin"
    assert (tmp_path / "got" / "c.bin").read_bytes() == CONTENT
    with pytest.raises(FormatError, match="its SHA-1 is"):
        download(url, "wrong.bin", sha1_hash="0" * 40)
    assert left(tmp_path) == ["a b.bin", "got/c.bin"]


def test_a_server_is_asked_again_until_the_file_is_whole(server, tmp_path):
    server.files["x/file.bin"] = CONTENT
    server.failures = ["error", "cut", "other"]
    assert download(f"{server.address}x/file.bin", sha1_hash=SHA1, retries=4) == "file.bin"
    assert len(server.asked) == 4 and (tmp_path / "file.bin").read_bytes() == CONTENT
    assert download(f"{server.address}x/file.bin", sha1_hash=SHA1) == "file.bin" and len(server.asked) == 4
    (tmp_path / "file.bin").write_bytes(b"damaged")
    download(f"{server.address}x/file.bin")
    assert (tmp_path / "file.bin").read_bytes() == b"damaged"
    download(f"{server.address}x/file.bin", sha1_hash=SHA1)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    server.files["x/file.bin"] = b"new"
    download(f"{server.address}x/file.bin", overwrite=True)
    assert left(tmp_path) == ["file.bin"] and (tmp_path / "file.bin").read_bytes() == b"new"


@pytest.mark.parametrize(
    ("failure", "error", "said"),
    [
        ("error", UnreadableFile, "500"),
        ("cut", FormatError, "got 100 of 10240 bytes"),
        ("other", FormatError, "its SHA-1 is"),
        ("to file:///etc/passwd", UnreadableFile, "Redirection to url 'file:///etc/passwd' is not allowed"),
    ],
)
@pytest.mark.parametrize("retries", [0, 3])
def test_what_never_comes_whole_leaves_nothing(failure, error, said, retries, server, tmp_path):
    server.files["file.bin"] = CONTENT
    server.failures = [failure] * 5
    with pytest.raises(error, match=said):
        download(f"{server.address}file.bin", sha1_hash=SHA1, retries=retries)
    assert len(server.asked) == max(retries, 1) and not left(tmp_path)


def test_redirections_on_the_network_are_followed(server):
    server.files["there.bin"] = CONTENT
    server.failures = [f"to {server.address}there.bin"]
    assert Path(download(f"{server.address}here.bin")).read_bytes() == CONTENT
    assert server.asked == ["here.bin", "there.bin"]


def test_nobody_answers(server):
    with pytest.raises(UnreadableFile, match="404"):
        download(f"{server.address}none.bin", retries=1)
    with pytest.raises(UnreadableFile):
        download("http://127.0.0.1:1/none.bin", retries=1)


def test_a_mirror_that_is_none(monkeypatch):
    monkeypatch.setenv("MXNET_GLUON_REPO", "ftp://example.org/")
    with pytest.raises(mx.MXNetError, match="wanted a folder, file://, http:// or https://"):
        download(ADDRESS)


def test_progress_is_shown_on_a_terminal_only(monkeypatch, tmp_path, capsys):
    (tmp_path / "a.bin").write_bytes(CONTENT)
    download((tmp_path / "a.bin").as_uri(), "b.bin")
    assert capsys.readouterr() == ("", "")

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    download((tmp_path / "a.bin").as_uri(), "c.bin")
    assert "a.bin 100% of 0.0 MB" in shown.getvalue()


def test_the_home_of_files(monkeypatch, tmp_path):
    monkeypatch.setenv("MXNET_HOME", str(tmp_path))
    assert mx.base.data_dir() == str(tmp_path)
    monkeypatch.delenv("MXNET_HOME")
    assert mx.base.data_dir() == mx.base.data_dir_default() == str(Path.home() / ".mxnet")


def zipped(*members: tuple[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    return made.getvalue()


@pytest.mark.parametrize("kind", ["folder", "server"])
def test_pretrained_parameters_come_from_the_mirror(kind, server, monkeypatch, tmp_path):
    net = mx.gluon.model_zoo.vision.get_model("mobilenetv2_0.25", classes=3)
    net.initialize()
    net(mx.nd.ones((1, 3, 32, 32)))
    net.save_parameters(str(tmp_path / "w"))
    weights = (tmp_path / "w").read_bytes()
    digest = hashlib.sha1(weights).hexdigest()
    monkeypatch.setitem(model_store._model_sha1, "mobilenetv2_0.25", digest)
    name = f"mobilenetv2_0.25-{digest[:8]}"
    archive = zipped((f"{name}.params", weights))
    server.files[f"gluon/models/{name}.zip"] = archive
    if kind == "folder":
        (tmp_path / "m/gluon/models").mkdir(parents=True)
        (tmp_path / "m/gluon/models" / f"{name}.zip").write_bytes(archive)
        monkeypatch.setenv("MXNET_GLUON_REPO", "m")
    root = tmp_path / "root"
    read = mx.gluon.model_zoo.vision.mobilenet_v2_0_25(pretrained=True, root=str(root), classes=3)
    assert (read(mx.nd.ones((1, 3, 32, 32))).asnumpy() == net(mx.nd.ones((1, 3, 32, 32))).asnumpy()).all()
    assert left(root) == [f"{name}.params"]
    (root / f"{name}.params").write_bytes(weights[:-1])
    assert Path(model_store.get_model_file("mobilenetv2_0.25", root=str(root))).read_bytes() == weights
    for other in (
        zipped((f"{name}.params", weights[:-1])),
        zipped(("x", weights)),
        zipped((f"../{name}.params", weights)),
        b"PK",
    ):
        server.files[f"gluon/models/{name}.zip"] = other
        monkeypatch.setenv("MXNET_GLUON_REPO", server.address)
        with pytest.raises(FormatError):
            model_store.get_model_file("mobilenetv2_0.25", root=str(tmp_path / "none"))
        assert not left(tmp_path / "none")


def test_data_sets_come_from_the_mirror(server, monkeypatch, tmp_path):
    images = np.arange(2 * 784).astype(np.uint8)
    table = np.arange(3 * 3073).astype(np.uint8)
    with io.BytesIO() as made:
        with tarfile.open(fileobj=made, mode="w:gz") as tar:
            for name in (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"):
                member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
                member.size = table.nbytes
                tar.addfile(member, io.BytesIO(table.tobytes()))
        cifar = made.getvalue()
    files = {
        "mnist/train-images-idx3-ubyte.gz": gzip.compress(struct.pack(">4I", 2051, 2, 28, 28) + images.tobytes()),
        "mnist/train-labels-idx1-ubyte.gz": gzip.compress(struct.pack(">2I", 2049, 2) + b"\3\4"),
        "cifar10/cifar-10-binary.tar.gz": cifar,
        "wikitext-2/wikitext-2-v1.zip": zipped(("wikitext-2/wiki.train.tokens", b"a b c a b c\n")),
    }
    digests = {name: hashlib.sha1(content).hexdigest() for name, content in files.items()}
    server.files = {f"gluon/dataset/{name}": content for name, content in files.items()}
    with pytest.raises(FormatError, match="its SHA-1 is"):
        MNIST(tmp_path / "mnist")
    known = {Path(n).stem: d for n, d in digests.items() if n.startswith("mnist")}
    monkeypatch.setattr(MNIST, "_sha1", {**MNIST._sha1, **known})
    monkeypatch.setattr(CIFAR10, "_sha1", digests["cifar10/cifar-10-binary.tar.gz"])
    monkeypatch.setattr(WikiText2, "_sha1", digests["wikitext-2/wikitext-2-v1.zip"])
    for _ in range(2):  # the second time from the folder
        mnist = MNIST(tmp_path / "mnist")
        assert [label for _, label in mnist] == [3, 4]
        assert (mnist[1][0].asnumpy().ravel() == images[784:]).all()
        assert len(CIFAR10(tmp_path / "cifar", train=False)) == 3
        assert WikiText2(tmp_path / "wiki", seq_len=3)[0][0].shape == (3,)
        server.files = {}
    with pytest.raises(UnreadableFile, match="404"):
        MNIST(tmp_path / "mnist", train=False)


def test_files_of_test_utils_come_from_the_mirror(server, monkeypatch, tmp_path):
    t = mx.test_utils
    mirror = tmp_path / "m"
    monkeypatch.setenv("MXNET_GLUON_REPO", str(mirror))
    for name, content in {
        "data.mxnet.io/mxnet/data/cifar10.zip": zipped(
            *((f"cifar/{p}.{k}", b"x") for p in ("train", "test") for k in ("rec", "lst"))
        ),
        "data.mxnet.io/models/imagenet/inception-bn/Inception-BN-symbol.json": b"{}",
        "data.mxnet.io/models/imagenet/inception-bn/Inception-BN-0126.params": b"p",
        "files.example.org/a.zip": zipped(("a.txt", b"a")),
    }.items():
        (mirror / name).parent.mkdir(parents=True, exist_ok=True)
        (mirror / name).write_bytes(content)
    t.get_cifar10()
    assert left(tmp_path / "data") == [f"cifar/{p}.{k}" for p in ("test", "train") for k in ("lst", "rec")] + [
        "cifar10.zip"
    ]
    assert t.download_model("imagenet1k-inception-bn", "own") == ("own/imagenet1k-inception-bn", 0)
    assert left(tmp_path / "own") == ["imagenet1k-inception-bn-0000.params", "imagenet1k-inception-bn-symbol.json"]
    assert t.download_model("unknown") == (None, 0)
    t.get_zip_data("z", "http://files.example.org/a.zip", "a.zip")
    assert (tmp_path / "z/a.txt").read_bytes() == b"a"
    with pytest.raises(MissingFile, match=r"neither is .*m/data\.mxnet\.io/mxnet/data/mnist\.zip"):
        t.get_mnist_ubyte()


def test_archives_stay_in_their_folder(tmp_path):
    for name in ("../evil", "/evil", "a/../../evil"):
        (tmp_path / "x.zip").write_bytes(zipped(("good", b"g"), (name, b"e")))
        with pytest.raises(FormatError, match="lies outside"):
            downloads.unpack(tmp_path / "x.zip", tmp_path / "in")
    (tmp_path / "x.zip").write_bytes(zipped(("good", b"g" * 1000))[:-30])
    with pytest.raises(FormatError, match="damaged"):
        downloads.unpack(tmp_path / "x.zip", tmp_path / "in")
    assert left(tmp_path) == ["x.zip"]
