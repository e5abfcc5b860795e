"""The blocks of docs/migration.md run, in the order of the page, and nothing on it is left out."""

from pathlib import Path

import pytest

from tests.house.docs import ROOT, blocks
from tests.house.test_docs import PACKAGES, copy, execute, with_command
from tests.table.test_gradients import MEANINGLESS

PAGE = ROOT / "docs" / "migration.md"


@pytest.mark.slow
@pytest.mark.timeout(900)  # a dozen processes that each import everything
def test_blocks_run(tmp_path: Path) -> None:
    copy(tmp_path, *PACKAGES, "fixtures/models/arcface", "fixtures/onnx/torch_cnn_legacy/model.onnx")
    environment = with_command(tmp_path)
    found = blocks(PAGE)
    assert len(found) >= 7
    for part in found:
        assert part.name == "run", part.text
        execute(part, tmp_path, environment)
    assert all((tmp_path / name).is_file() for name in ("arcface.onnx", "net.onnx", "cnn-symbol.json"))


def test_gradients_that_mxnet_gets_wrong_are_named() -> None:
    """Those of its recorded ones that no test compares, since they are no derivatives."""
    said = PAGE.read_text(encoding="utf-8")
    wrong = {name for (name, _), why in MEANINGLESS.items() if "MXNet" in why}
    names = {n.removeprefix("_npi_").removesuffix("_lscalar").removesuffix("_rscalar") for n in wrong}
    assert {"LeakyReLU", "where"} <= names
    assert not {n for n in names if n not in said}
    assert "selu" in said and "NaiveEngine" in said
