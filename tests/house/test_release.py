"""Claims of a release that stand in several places: versions, what is supported, and the workflows that build it."""

import re
from pathlib import Path
from typing import Any

import pytest

import gluonnx
from hybrid.core.version import REPOSITORY, VERSION
from tests.house.docs import ROOT

tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has none")
RUN, VERSIONS = ROOT / ".ci" / "run", ROOT / "docs" / "versions.md"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


def supported() -> dict[str, tuple[str, str]]:
    """The oldest and the newest of each, as docs/versions.md has them."""
    return {
        name.lower(): (oldest, newest)
        for name, oldest, newest in re.findall(r"^\| (\w+) \| ([\d.]+) \| ([\w. ]+) \|$", VERSIONS.read_text(), re.M)
    }


def function(name: str) -> str:
    """The body of a stage of .ci/run."""
    return re.search(rf"^{name}\(\) {{\n(.*?)^}}", RUN.read_text(), re.M | re.S)[1]  # type: ignore[index]


def test_the_table_is_what_the_package_asks_for_and_ci_installs() -> None:
    table, project = supported(), PROJECT["project"]
    python = table.pop("python")
    asked: dict[str, str] = dict(d.split(">=") for d in project["dependencies"] if ";" not in d)
    assert {n: release(oldest) for n, (oldest, _) in table.items()} == {n: release(v) for n, v in asked.items()}
    assert all(newest == "any later" for _, newest in table.values())
    installed: dict[str, str] = dict(re.findall(r'"([a-z]+)==([\d.]+)\.\*"', function("oldest")))
    assert {n: release(v) for n, v in installed.items()} == {n: release(v) for n, v in asked.items()}
    assert project["requires-python"] == f">={python[0]}" and f"python_of {python[0]})" in function("oldest")
    assert re.search(r"python=\$\(first_python ([\d.]+)", function("newest"))[1] == python[1]  # type: ignore[index]


def release(version: str) -> tuple[int, ...]:
    """The numbers of a version, without zeros at the end."""
    return tuple(int(n) for n in re.sub(r"(\.0)+$", "", version).split("."))


def test_classifiers_name_each_python() -> None:
    (oldest, newest) = (int(v.split(".")[1]) for v in supported()["python"])
    named = re.findall(r"Python :: 3\.(\d+)", "\n".join(PROJECT["project"]["classifiers"]))
    assert [*map(int, named)] == [*range(oldest, newest + 1)]


def test_the_version_has_one_home() -> None:
    place = PROJECT["tool"]["scikit-build"]["metadata"]["version"]
    assert "version" not in PROJECT["project"] and PROJECT["project"]["dynamic"] == ["version"]
    assert re.search(place["regex"], (ROOT / place["input"]).read_text())["value"] == VERSION  # type: ignore[index]
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {VERSION}" in (ROOT / "CHANGELOG.md").read_text()
    assert gluonnx.__version__ == VERSION


def test_addresses_are_of_the_repository_and_its_files() -> None:
    urls = PROJECT["project"]["urls"]
    assert {*urls} >= {"Repository", "Documentation", "Changelog", "Issues"}
    for url in urls.values():
        assert url.startswith(REPOSITORY)
        assert "/blob/main/" not in url or (ROOT / url.removeprefix(f"{REPOSITORY}/blob/main/")).is_file()
    assert f"\nrepository-code: {REPOSITORY}\n" in (ROOT / "CITATION.cff").read_text()


def test_one_wheel_serves_later_pythons() -> None:
    built = PROJECT["tool"]["cibuildwheel"]
    oldest = int(supported()["python"][0].split(".")[1])
    stable = int(PROJECT["tool"]["scikit-build"]["wheel"]["py-api"].removeprefix("cp3"))
    assert built["build"] == [f"cp3{minor}-*" for minor in range(oldest, stable + 1)]
    assert built["config-settings"] == {"cmake.define.LEVELS": "all"}


def workflows() -> list[Path]:
    return sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_there_are_workflows() -> None:
    assert {p.stem for p in workflows()} >= {"ci", "wheels"}


@pytest.mark.parametrize("path", workflows(), ids=lambda p: p.stem)
def test_workflows_are_whole(path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    told = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert (
        told["name"] == path.stem and told[True] and told["permissions"] == {"contents": "read"}
    )  # YAML 1.1 reads `on` as true
    assert told["jobs"]
    for job in told["jobs"].values():
        assert job["timeout-minutes"] > 0 and set(job.get("needs", ())) <= {*told["jobs"]}
        systems = job.get("strategy", {}).get("matrix", {}).get("os", [job["runs-on"]])
        assert all(re.search(r"\d", s) for s in systems), f"a system without its version: {systems}"
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            if "uses" in step:
                assert re.search(r"@(v\d+|release/v\d+)$", step["uses"]), f"{step['uses']}: no version"
            elif "pip install" in step["run"]:
                assert re.search(r"==\d", step["run"]), f"{step['run']}: no version"
        if any("run" in s and s["run"] == ".ci/run" for s in job["steps"]):
            asked = [s["with"]["python-version"].split() for s in job["steps"] if "setup-python" in s.get("uses", "")]
            assert {*supported()["python"]} <= {*asked[0]}, "the stages oldest and newest want these"
