"""gluonnx convert LIST and check --on: the same files however they are made, and what is killed loses one attempt."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import hybrid as mx
from bridge.cli import app, command
from bridge.many import child, children, work
from bridge.many.children import RETRIES, Task, attempt, close_children, descendants, parse_size, taken_by
from bridge.many.lists import read_jobs
from bridge.many.work import parse_local, workers
from bridge.paths import BadInput
from tests.many.making import make_models
from tests.models.networks import FOLDER

linux = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
runner = CliRunner()
DATA = "data:4,12"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, which is the current one."""
    shutil.copytree(FOLDER / "linear_regression", tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run() -> Iterator[str]:
    """The name of a run, whose children end with the test."""
    name = os.urandom(8).hex()
    yield name
    close_children(name)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """Commands run in this process, one after the other, and are noted: starting processes takes longest."""
    asked: list[Task] = []

    def attempt(task: Task, run: str, memory: int | None) -> dict[str, Any]:
        asked.append(task)
        return {**child.run(task.command, list(task.arguments)), "killed": None, "attempts": 1, "seconds": 0.0}

    monkeypatch.setattr(work, "attempt", attempt)
    monkeypatch.setattr(sys, "argv", sys.argv)
    return asked


@pytest.fixture(scope="session")
def cluster() -> Iterator[str]:
    """The address of a scheduler of Dask with a worker, in threads of this process."""
    distributed = pytest.importorskip("distributed")
    told = {"n_workers": 1, "threads_per_worker": 1, "memory_limit": 0, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**told, processes=False) as cluster:
        yield cluster.scheduler_address


def lines(place: Path, *texts: str) -> Path:
    path = place / "list.txt"
    path.write_text("\n".join(texts), encoding="utf-8")
    return path


def call(*arguments: object, code: int = 0) -> Any:
    result = runner.invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


def converted(*arguments: object, code: int = 0) -> dict[str, Any]:
    return json.loads(call("convert", *arguments, "--json", code=code).stdout)


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.onnx")}


def problems(place: Path, *texts: str) -> tuple[str, ...]:
    with pytest.raises(BadInput) as found:
        read_jobs(command("convert"), lines(place, *texts), place / "out", [])
    return found.value.problems


def plugin(place: Path, text: str) -> str:
    """A program that a child runs before it converts: it does what one would otherwise wait for to happen."""
    (place / "fault.py").write_text(text)
    return "fault.py"


def test_a_list_is_converted_and_gone_on_with(place: Path, here: list[Task]) -> None:
    listed = lines(
        place, "# two", "", f"a/model -o one --input {DATA}  # the first", f"a -o sub/two.onnx --input {DATA}"
    )
    (place / "out" / "sub").mkdir(parents=True)
    first = converted(listed, "-o", "out", "--seed", 3)
    assert [m["output"] for m in first["models"]] == ["one.onnx", "sub/two.onnx"]
    assert first["ok"]
    assert not any(m["again"] for m in first["models"])
    made = contents(place / "out")
    assert sorted(made) == ["one.onnx", "sub/two.onnx"]
    call("convert", "a", "-o", "alone.onnx", "--seed", 3, "--input", DATA)
    assert made["one.onnx"] == (place / "alone.onnx").read_bytes()  # the options of the command line hold for all
    times = {p: os.stat(place / "out" / p).st_mtime_ns for p in made}

    again = converted(listed, "-o", "out", "--seed", 3)
    assert [m["again"] for m in again["models"]] == [True, True]
    assert times == {p: os.stat(place / "out" / p).st_mtime_ns for p in made}
    assert len(here) == 2
    (place / "out" / "one.onnx").write_bytes(b"damaged")
    assert [m["again"] for m in converted(listed, "-o", "out", "--seed", 3)["models"]] == [False, True]
    assert contents(place / "out") == made
    assert not any(m["again"] for m in converted(listed, "-o", "out", "--seed", 4)["models"])
    (place / "a" / "signature.json").write_text('{"inputs": [{"data_name": "data", "data_shape": [2, 12]}]}')
    assert not any(m["again"] for m in converted(listed, "-o", "out", "--seed", 4)["models"])


def test_what_fails_is_told_and_tried_again(place: Path, here: list[Task]) -> None:
    shutil.copytree(place / "a", place / "b")
    whole = (place / "b" / "model-0000.params").read_bytes()
    (place / "b" / "model-0000.params").write_bytes(whole[:-40])
    listed = lines(place, "a -o one", "b -o two")
    result = call("convert", listed, "-o", "out", "--input", DATA, code=2)
    assert "1 of 2 ok" in result.stdout
    assert "two.onnx" in result.stdout
    assert "one.onnx" not in result.stdout
    assert sorted(contents(place / "out")) == ["one.onnx"]
    (place / "b" / "model-0000.params").write_bytes(whole)
    assert [m["again"] for m in converted(listed, "-o", "out", "--input", DATA)["models"]] == [True, False]
    os.utime(place / "a" / "model-0000.params")  # another date is no change, other content is
    shutil.copy(place / "a" / "model-symbol.json", place / "b")
    (place / "b" / "model-0001.params").write_bytes(whole)
    assert [m["again"] for m in converted(listed, "-o", "out", "--input", DATA)["models"]] == [True, False]


def test_what_says_little_is_told(place: Path, here: list[Task]) -> None:
    """As convert tells it of one model: the file is there, and its numbers prove little."""
    shutil.copytree(place / "a", place / "zero")
    file = place / "zero" / "model-0000.params"
    mx.nd.save(str(file), {name: mx.nd.zeros_like(array) for name, array in mx.nd.load(str(file)).items()})
    listed = lines(place, "a -o one", "zero -o two")
    for further in ("", ", 2 of them from before"):
        shown = call("convert", listed, "-o", "out", "--input", DATA).stdout
        assert f"2 of 2 ok{further}, of which 1 says little" in shown
        assert "two.onnx" in shown and "one value everywhere" in shown and "one.onnx" not in shown
    assert [m["status"] for m in converted(listed, "-o", "out", "--input", DATA)["models"]] == ["ok", "says little"]


def test_a_folder_of_models(place: Path, here: list[Task]) -> None:
    shutil.copytree(place / "a", place / "models" / "x")
    shutil.copytree(place / "a", place / "models" / "y")
    found = converted("models", "-o", "models/out", "--input", DATA)
    assert [m["output"] for m in found["models"]] == ["x/model.onnx", "y/model.onnx"]
    assert "below it are" in " ".join(call("convert", "models", code=2).output.split())  # without -o DIR


def test_all_problems_of_a_list_at_once(place: Path) -> None:
    found = problems(
        *(place, "nothing", "a --opsat 3", "a", "a --json", "a/model", "a 'x", "a -o ../x", "a --inputs none.npz -o y"),
        "a -o z --plugin none.py --plugin no.such.module",
    )
    assert len(found) == 9
    for number, words in (
        (1, "nothing: no such file"),
        (2, "--opsat"),
        (4, "--json is for the whole list"),
        (5, "add -o NAME"),
        (6, "No closing quotation"),
        (7, "wanted a name in the folder"),
        (8, "none.npz: no such file"),
        (9, "plugin none.py: no such file"),
        (9, "plugin no.such.module: neither"),
    ):
        assert any(f"line {number}: " in p and words in p for p in found), (number, found)
    assert "no models in it" in problems(place, "# nothing")[0]
    assert not (place / "out").exists()


def test_outputs_take_nobodys_place(place: Path) -> None:
    (place / "out").mkdir()
    shutil.copytree(place / "a", place / "out" / "in")
    assert "read as well" in problems(place, "out/in/model-symbol.json -o in/model-symbol.json")[0]
    assert "as " in problems(place, "a -o X", "a -o x")[0]  # one file where names are folded
    (place / "out" / "z.onnx").mkdir()
    assert "a folder" in problems(place, "a -o z")[0]


def test_options_of_lists_alone(place: Path) -> None:
    listed = lines(place, "a")
    assert "give the folder" in call("convert", listed, code=2).output
    assert "--on: a is one model" in call("convert", "a", "-o", "x.onnx", "--on", "local", code=2).output
    assert "wanted a size" in call("convert", listed, "-o", "out", "--memory", "much", code=2).output
    for on in ("local:0", "local:x", "here"):
        with pytest.raises(BadInput, match="wanted local"):
            parse_local(on)
    assert parse_local("local:3") == 3
    assert parse_local("tcp://10.0.0.1:8786") is None


def test_without_dask_the_extra_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert "pip install distributed" in call("convert", lines(place, "a"), "-o", "out", "--on", "local", code=2).output


def test_a_killed_child_loses_one_attempt(place: Path) -> None:
    fault = plugin(place, "import os, pathlib, signal\nif not pathlib.Path('once').exists():\n"
                          "    pathlib.Path('once').touch()\n    os.kill(os.getpid(), signal.SIGKILL)\n")  # fmt: skip
    (model,) = converted(lines(place, f"a --plugin {fault} -o x"), "-o", "out", "--input", DATA)["models"]
    assert (model["status"], model["attempts"]) == ("ok", 2)
    assert not children._children
    call("convert", "a", "--input", DATA, "-o", "y.onnx")
    assert (place / "out" / "x.onnx").read_bytes() == (place / "y.onnx").read_bytes()


def test_plugins_run_where_their_models_do_alone(place: Path) -> None:
    for name in ("one", "other"):
        (place / f"{name}.py").write_text("raise SystemExit('it was run')")
    jobs = read_jobs(
        command("convert"), lines(place, "a -o x --plugin one.py", "a -o y --plugin other.py"), place / "out", []
    )
    assert [j.plugins for j in jobs] == [("one.py",), ("other.py",)]


@pytest.mark.slow
def test_what_is_killed_each_time_is_said_and_the_next_goes_well(place: Path, run: str) -> None:
    fault = plugin(place, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    found = attempt(Task("convert", ("a", "--plugin", fault, "-o", "x.onnx"), str(place), (fault,)), run, None)
    assert (found["exit"], found["attempts"]) == (3, 1 + RETRIES)
    assert "signal 9" in found["killed"]
    assert attempt(Task("convert", ("a", "--input", DATA, "-o", "x.onnx"), str(place)), run, None)["exit"] == 0


@pytest.mark.slow
def test_the_command_survives_a_kill(place: Path) -> None:
    killed: list[int] = []

    def kill() -> None:
        while not killed:
            for each in list(children._children.values()):
                os.kill(each.pid, signal.SIGKILL)
                killed.append(each.pid)
            time.sleep(0.01)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        (model,) = converted(lines(place, "a"), "-o", "out", "--input", DATA)["models"]
    finally:
        killed.append(0)
        killer.join()
    assert (model["status"], model["attempts"]) == ("ok", 2)
    assert not children._children


@linux
def test_past_the_budget_a_model_is_ended_once(place: Path, run: str) -> None:
    fault = plugin(
        place, "import os, time\nheld = b'x' * (400 << 20)\nif os.fork() == 0:\n    time.sleep(60)\ntime.sleep(60)\n"
    )
    start = time.perf_counter()
    found = attempt(
        Task("convert", ("a", "--plugin", fault, "-o", "x.onnx"), str(place), (fault,)), run, parse_size("350M")
    )
    assert (found["exit"], found["attempts"]) == (3, 1)
    assert "350 MiB of --memory" in found["killed"]
    assert time.perf_counter() - start < 50
    assert not (place / "x.onnx").exists()


@linux
def test_memory_of_copies_is_counted() -> None:
    program = "import os; held = b'x' * (30 << 20); os.fork(); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == [b"\n", b"\n"]
        both = list(descendants(process.pid))
        assert both[0] == process.pid
        assert len(both) == 2
        assert taken_by(process.pid, 1 << 40) > 60 << 20  # as long as that is not too much they count once for each
        assert 30 << 20 < taken_by(process.pid) < 60 << 20
        assert process.pid in descendants(os.getpid())
        process.communicate(b"\n\n")
    assert taken_by(process.pid) == 0


@linux
def test_sizes() -> None:
    assert [parse_size(t) for t in ("512", "1K", "1.5M", "2GB", "2GiB")] == [512, 1024, 3 << 19, 2 << 30, 2 << 30]
    for text in ("", "0", "-1G", "2X", "G"):
        with pytest.raises(BadInput, match="wanted a size"):
            parse_size(text)


def test_workers_give_the_same_files(place: Path, cluster: str) -> None:
    listed = lines(place, *(f"a -o m{n} --input {DATA} --seed {n}" for n in range(6)), "a -o bad --input data:1,2")
    local = converted(listed, "-o", "local", "--on", "local:2", code=2)
    there = converted(listed, "-o", "there", "--on", cluster, code=2)
    assert not children._children
    alone = converted(listed, "-o", "alone", code=2)
    assert len(contents(place / "alone")) == 6
    for name, other in (("local", local), ("there", there)):
        assert contents(place / "alone") == contents(place / name)
        assert [(m["output"], m["status"], m["detail"], m["files"]) for m in other["models"]] == [
            (m["output"], m["status"], m["detail"], m["files"]) for m in alone["models"]
        ]


@pytest.mark.slow
def test_a_killed_child_of_a_worker(place: Path) -> None:
    pytest.importorskip("distributed")
    fault = plugin(place, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    well = [Task("convert", ("a", "--input", DATA, "-o", f"{n}.onnx"), str(place)) for n in range(4)]
    bad = Task("convert", ("a", "--plugin", fault, "-o", "x.onnx"), str(place), (fault,))
    with workers("local:2", None) as do:
        found = dict(do([*well[:2], bad, *well[2:]]))
    assert [found[n]["exit"] for n in range(5)] == [0, 0, 3, 0, 0]
    assert found[2]["attempts"] == 1 + RETRIES


@pytest.mark.slow
def test_nobody_answers(place: Path) -> None:
    pytest.importorskip("distributed")
    said = call("convert", lines(place, "a"), "-o", "out", "--on", "tcp://127.0.0.1:9", code=2).output
    assert "no scheduler of Dask answers" in said


def test_check_with_processes_says_the_same(place: Path) -> None:
    shutil.copytree(place / "a", place / "b")
    for name in "ab":
        call("convert", name, "--input", DATA, "-o", f"{name}/model.onnx")
    own = json.loads(call("check", ".", "--json", code=0).stdout)
    other = json.loads(call("check", ".", "--json", "--memory", "4G").stdout)
    keep = ("model", "file", "status", "detail", "largest", "before")
    assert len(own["files"]) == 2
    assert [[f[k] for k in keep] for f in other["files"]] == [[f[k] for k in keep] for f in own["files"]]
    assert "leave --on" in call("check", ".", "--update", "--on", "local", code=2).output


@pytest.mark.slow
@linux
def test_a_killed_worker_of_a_cluster(place: Path) -> None:
    """Workers in processes of their own, over TCP, each started again by its nanny."""
    distributed = pytest.importorskip("distributed")
    listed = lines(place, *make_models(place, 12))
    serial = converted(listed, "-o", "alone")
    told = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": 0, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**told, processes=True, host="127.0.0.1") as cluster:
        killed: list[int] = []

        def kill() -> None:
            while len(killed) < 2 and not all((place / "out" / m["output"]).exists() for m in serial["models"]):
                for nanny in cluster.workers.values():
                    pid = nanny.pid
                    if (
                        pid is not None and pid not in killed and len(list(descendants(pid))) > 1
                    ):  # it has a child: it works
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)
                        break
                time.sleep(0.5)

        killer = threading.Thread(target=kill)
        killer.start()
        there = converted(listed, "-o", "out", "--on", cluster.scheduler_address)
        killer.join()
    assert killed
    assert [m["files"] for m in there["models"]] == [m["files"] for m in serial["models"]]
    assert contents(place / "out") == contents(place / "alone")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_thousand_models(place: Path, request: pytest.FixtureRequest) -> None:
    """A thousand with --all-cases, else each kind twice and two once more."""
    pytest.importorskip("distributed")
    count = 1000 if request.config.getoption("--all-cases") else 12
    listed = lines(place, *make_models(place, count))
    assert converted(listed, "-o", "alone")["ok"]
    assert converted(listed, "-o", "local", "--on", "local:2")["ok"]
    assert len(contents(place / "alone")) == count
    assert contents(place / "alone") == contents(place / "local")
    assert all(m["again"] for m in converted(listed, "-o", "local")["models"])
