"""Published vectors of tokens from the mirror that the user names, and metrics for TensorBoard."""

import hashlib
import io
import sys
import types
import zipfile
from pathlib import Path

import pytest

import hybrid as mx
from hybrid.contrib.tensorboard import LogMetricsCallback
from hybrid.contrib.text import embedding
from hybrid.contrib.text.vocab import Vocabulary
from hybrid.core.error import FormatError, MissingFile


def archive(**files: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as opened:
        for name, content in files.items():
            opened.writestr(name.replace("_", "."), content)
    return made.getvalue()


@pytest.mark.parametrize(
    ("kind", "wanted", "packed"),
    [("GloVe", "glove.6B.50d.txt", "glove.6B.zip"), ("FastText", "wiki.aa.vec", "wiki.aa.zip")],
)
def test_published_vectors_come_from_the_mirror(
    kind: str, wanted: str, packed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MXNET_GLUON_REPO", raising=False)
    made = getattr(embedding, kind)
    digest = made.pretrained_archive_name_sha1[packed]
    with pytest.raises(
        MissingFile, match=rf"root/{kind.lower()}/{wanted} .*SHA-1 {digest}.*/gluon/embeddings/.*{packed} is not"
    ):
        made(wanted, tmp_path / "root")
    place = tmp_path / "mirror/gluon/embeddings" / kind.lower() / packed
    place.parent.mkdir(parents=True)
    content = archive(**{wanted.replace(".", "_"): "a 1 2\nb 3 4\n", "other_txt": "x"})
    place.write_bytes(content)
    monkeypatch.setenv("MXNET_GLUON_REPO", str(tmp_path / "mirror"))
    with pytest.raises(FormatError, match="its SHA-1 is"):
        made(wanted, tmp_path / "root")
    monkeypatch.setitem(made.pretrained_archive_name_sha1, packed, hashlib.sha1(content).hexdigest())
    found = embedding.create(kind, pretrained_file_name=wanted, embedding_root=tmp_path / "root")
    assert found.idx_to_vec.asnumpy().tolist() == [[0, 0], [1, 2], [3, 4]]
    place.unlink()  # it is in root by now
    words = Vocabulary(mx.contrib.text.utils.count_tokens_from_str("b b c"))
    found = made(wanted, tmp_path / "root", init_unknown_vec=mx.nd.ones, vocabulary=words)
    assert found.idx_to_token == ["<unk>", "b", "c"]
    assert found.idx_to_vec.asnumpy().tolist() == [[1, 1], [3, 4], [1, 1]]


def test_reserved_tokens_have_vectors_of_their_own(tmp_path: Path) -> None:
    """In MXNet they have those of the first tokens of the file, since its table lacks their rows."""
    (tmp_path / "v.txt").write_text("a 1 2\nb 3 4\n")
    found = embedding.CustomEmbedding(tmp_path / "v.txt", reserved_tokens=["<pad>"])
    assert found.get_vecs_by_tokens(["<unk>", "<pad>", "a", "b"]).asnumpy().tolist() == [[0, 0], [0, 0], [1, 2], [3, 4]]
    (tmp_path / "none.txt").write_text("<unk> 1 2\n")
    with pytest.raises(AssertionError, match="got no vectors"):
        embedding.CustomEmbedding(tmp_path / "none.txt")


def test_metrics_are_written_for_tensorboard(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[tuple] = []

    class SummaryWriter:
        def __init__(self, folder: str):
            written.append((folder,))

        def add_scalar(self, name: str, value: float, global_step: int) -> None:
            written.append((name, value, global_step))

    board = types.ModuleType("mxboard")
    board.SummaryWriter = SummaryWriter  # type: ignore[attr-defined]
    metric = mx.metric.Accuracy()
    metric.update([mx.nd.array([1, 0])], [mx.nd.array([[0, 1], [0, 1]])])
    monkeypatch.setitem(sys.modules, "mxboard", None)
    monkeypatch.setitem(sys.modules, "tensorboardX", board)
    LogMetricsCallback("logs")(mx.model.BatchEndParam(3, 1, metric, None))
    monkeypatch.setitem(sys.modules, "mxboard", board)
    LogMetricsCallback("logs", "train")(mx.model.BatchEndParam(4, 1, metric, None))
    LogMetricsCallback("logs")(mx.model.BatchEndParam(3, 1, None, None))
    assert written == [("logs",), ("accuracy", 0.5, 3), ("logs",), ("train-accuracy", 0.5, 4), ("logs",)]
    for name in ("mxboard", "tensorboardX"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="pip install mxboard"):
        LogMetricsCallback("logs")
