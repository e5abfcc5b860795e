"""The programs of docs/deploy.md."""

from pathlib import Path

import pytest

from tests.house.docs import ROOT, blocks
from tests.house.test_docs import PACKAGES, copy, execute, with_command


@pytest.mark.slow
def test_blocks_run(tmp_path: Path) -> None:
    """Each with the files of those before it."""
    copy(tmp_path, *PACKAGES, "fixtures/models/squeezenet", "fixtures/data/a.png")
    environment = with_command(tmp_path)
    parts = blocks(ROOT / "docs" / "deploy.md")
    assert {p.language for p in parts} == {"bash", "python", "dockerfile"}
    for part in parts:
        execute(part, tmp_path, environment)
    assert (tmp_path / "repository" / "squeezenet" / "config.pbtxt").is_file()
    assert (tmp_path / "repository" / "classes" / "1" / "model.onnx").is_file()
