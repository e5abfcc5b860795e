"""What is written appears whole or not at all, and nothing of it stays behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hybrid import files
from hybrid.error import FormatError, MissingFile, MXNetError, UnreadableFile


def test_an_error_leaves_the_old_files(tmp_path: Path) -> None:
    names = [tmp_path / "a", tmp_path / "b"]
    files.write(names[0], "old")
    with pytest.raises(KeyError), files.replacing_all(*names) as opened:
        opened[0].write(b"new")
        raise KeyError
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert names[0].read_text() == "old"


def test_links_and_permissions_stay(tmp_path: Path) -> None:
    files.write(tmp_path / "a", b"old")
    (tmp_path / "a").chmod(0o640)
    (tmp_path / "link").symlink_to("a")
    files.write(tmp_path / "link", [b"n", b"ew"])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_text() == "new"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_errors_name_the_file_that_was_meant(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none/a'"):
        files.write(tmp_path / "none" / "a", b"")
    with pytest.raises(IsADirectoryError, match="wanted the name of a file"):
        files.write(tmp_path, b"")
    with pytest.raises(MissingFile):
        files.read(tmp_path / "a")
    with pytest.raises(MissingFile):
        files.read(str(tmp_path / "a\0b"))
    with pytest.raises(UnreadableFile):
        files.read(tmp_path)


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    files.write(tmp_path / "pipe", b"text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)


def test_what_killed_processes_left_is_swept(tmp_path: Path) -> None:
    """Only parts of ours, of processes that are gone, that are old and that nobody holds."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    names = {
        "dead": f".gluonnx-{gone.pid}-00000000.part",
        "young": f".gluonnx-{gone.pid}-00000001.part",
        "locked": f".gluonnx-{gone.pid}-00000002.part",
        "alive": f".gluonnx-{os.getpid()}-00000000.part",
        "folder": f".gluonnx-{gone.pid}-00000003.part",
        "other": "net.params.1234abcd.part",
    }
    for what, name in names.items():
        path = tmp_path / name
        path.mkdir() if what == "folder" else path.write_text("x")
        if what != "young":
            os.utime(path, (1, 1))
    fcntl = pytest.importorskip("fcntl")
    with open(tmp_path / names["locked"]) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        files.write(tmp_path / "new", b"")
    left = {p.name for p in tmp_path.iterdir()}
    assert left == {"new", names["young"], names["locked"], names["alive"], names["other"]}


def test_a_fork_leaves_the_file_to_who_opened_it(tmp_path: Path) -> None:
    made = files.Replacement(tmp_path / "a")
    made.file.write(b"parent")
    child = os.fork()
    if not child:
        try:
            files.publish(made)
        except MXNetError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    files.publish(made)
    assert (tmp_path / "a").read_text() == "parent"


def test_lines_that_are_no_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("eins\r\nzwölf\rdrei".encode())
    assert list(files.lines(tmp_path / "a")) == [(1, "eins\n"), (2, "zwölf\n"), (3, "drei")]
    (tmp_path / "a").write_bytes(b"one\ntwo \xff\n")
    with pytest.raises(FormatError, match=r"a, line 2: got byte 0xff at character 5, wanted text in UTF-8"):
        list(files.lines(tmp_path / "a"))
