"""Files appear whole or not at all, and nothing of the writing stays behind."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hybrid.core.error import FormatError, MissingFile, MXNetError, UnreadableFile
from hybrid.formats import files


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
    with open(tmp_path / names["locked"], encoding="utf-8") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        files.write(tmp_path / "new", b"")
    left = {p.name for p in tmp_path.iterdir()}
    assert left == {"new", names["young"], names["locked"], names["alive"], names["other"]}


def cut_short(monkeypatch: pytest.MonkeyPatch, error: type[BaseException], at: int) -> None:
    """Let renames raise from the one of that number on; an interruption happens once."""
    rename, seen = os.replace, [0]

    def replace(source: str, target: str) -> None:
        seen[0] += 1
        if seen[0] == at or (seen[0] > at and error is OSError):
            raise error
        rename(source, target)

    monkeypatch.setattr(os, "replace", replace)


def test_who_interrupts_between_two_files_gets_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [tmp_path / "a", tmp_path / "b"]
    for at, want in ((1, "old"), (2, "old"), (3, "new")):
        for path in names:
            files.write(path, "old")
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            cut_short(patch, KeyboardInterrupt, at)
            with files.replacing_all(*names) as opened:
                for file in opened:
                    file.write(b"new")
        assert [path.read_text() for path in names] == [want] * 2
        assert sorted(tmp_path.iterdir()) == names


def test_a_second_file_that_cannot_be_renamed_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [tmp_path / "a", tmp_path / "b"]
    with monkeypatch.context() as patch, pytest.raises(OSError):
        cut_short(patch, OSError, 3)
        with files.replacing_all(*names) as opened:
            opened[1].write(b"second")
    assert names[0].exists()
    assert not names[1].exists()
    found = files.find_finished(tmp_path, lambda path: Path(path).read_bytes() == b"second")
    assert found is not None


def test_the_missing_file_of_a_pair_stays_until_the_pair_is_written_anew(tmp_path: Path) -> None:
    """A process killed between two renames leaves the only file that fits the first; what later writers do elsewhere, or before
    they are killed as well, removes it as little as its age does."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    names = [tmp_path / "a", tmp_path / "b"]
    waiting = tmp_path / f".gluonnx-{gone.pid}-00000000-{files._place_id('b')}.whole"
    waiting.write_text("second")
    os.utime(waiting, (1, 1))
    files.write(names[1], "alone")
    with files.replacing_all(tmp_path / "c", tmp_path / "d"):
        pass
    with pytest.raises(KeyError), files.replacing_all(*names):
        raise KeyError
    assert files.find_finished(tmp_path, lambda path: True) == str(waiting)
    for path in (tmp_path / "scratch-a", tmp_path / "scratch-b"):
        path.write_text("moved")
    files.move((tmp_path / "scratch-a", names[0]), (tmp_path / "scratch-b", names[1]))
    assert files.find_finished(tmp_path, lambda path: True) is None
    assert names[1].read_text() == "moved"


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


def test_three_files_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All or none of three; what killed processes were to put in their places goes with each of them."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    names = [tmp_path / n for n in "abc"]
    for i, name in enumerate("bc"):
        for j in range(2):
            (tmp_path / f".gluonnx-{gone.pid}-0000000{2 * i + j}-{files._place_id(name)}.whole").write_text("left")
    for at, want in ((2, "old"), (3, "old"), (4, "new"), (5, "new")):
        for path in names:
            path.write_text("old")
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            cut_short(patch, KeyboardInterrupt, at)
            with files.replacing_all(*names) as opened:
                for file in opened:
                    file.write(b"new")
        assert [path.read_text() for path in names] == [want] * 3, at
    assert files.find_finished(tmp_path, lambda path: path.endswith(f"{files._place_id('c')}.whole")) is not None
    assert files.find_finished(tmp_path, lambda path: False) is None
    monkeypatch.chdir(tmp_path)
    assert files.find_finished("", lambda path: True) is not None
    with files.replacing_all(*names) as opened:
        for file, text in zip(opened, "xyz"):
            file.write(text.encode())
    assert [path.read_text() for path in names] == ["x", "y", "z"]
    assert sorted(tmp_path.iterdir()) == names


def test_moves_from_another_file_system_are_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when only one of several lies elsewhere; the first ones are gone afterwards."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    whole = os.stat

    class Other:
        def __init__(self, found: os.stat_result) -> None:
            self.st_dev = found.st_dev + 1

    pairs = [
        (tmp_path / "one", tmp_path / "a"),
        (elsewhere / "two", tmp_path / "b"),
        (tmp_path / "three", tmp_path / "c"),
    ]
    for i, (source, _) in enumerate(pairs):
        source.write_bytes(bytes([i]) * (3 << 20))
    monkeypatch.setattr(
        os, "stat", lambda p, **k: Other(whole(p, **k)) if str(p) == str(elsewhere / "two") else whole(p, **k)
    )
    copied = []
    rename = os.replace
    monkeypatch.setattr(os, "replace", lambda a, b: (copied.append(Path(a).name), rename(a, b)))
    files.move(*pairs)
    monkeypatch.undo()
    for i, (source, target) in enumerate(pairs):
        assert target.read_bytes() == bytes([i]) * (3 << 20) and not source.exists()
    assert not {"one", "two", "three"} & set(copied)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b", "c", "elsewhere"]


def test_a_fork_lets_go_of_the_file(tmp_path: Path) -> None:
    """Data in its buffer are not written a second time, and the part is left to the parent."""
    made = files.Replacement(tmp_path / "a")
    made.file.write(b"parent")
    child = os.fork()
    if not child:
        try:
            made.discard()
            made.discard()
            os._exit(0 if made.file.closed and len(list(tmp_path.iterdir())) == 1 else 1)
        except BaseException:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    files.publish(made)
    assert (tmp_path / "a").read_text() == "parent"


def test_files_of_others_and_of_systems_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that may not be asked about runs; without locks only what is a day old is removed."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert files._runs(os.getpid()) and not files._runs(gone.pid) and files._runs(10**30)

    def deny(pid: int, signal: int) -> None:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(os, "kill", deny)
        assert files._runs(gone.pid)
    part = tmp_path / f".gluonnx-{gone.pid}-00000000.part"
    monkeypatch.setattr(files, "fcntl", None)
    for age, left in ((3600, True), (25 * 3600, False)):
        part.write_text("x")
        os.utime(part, (time.time() - age,) * 2)
        files.write(tmp_path / "new", b"now")
        assert part.exists() is left
        assert (tmp_path / "new").read_bytes() == b"now"
    with files.scratch(tmp_path) as folder:
        assert folder.is_dir()
    assert not folder.exists()
