"""The pictures of docs/how-it-works.md are what the code draws, and show what the page says of them."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest

from tests.house.docs import ROOT
from tests.site import pictures
from tests.site.pictures import FOLDER, PICTURES


@pytest.mark.slow  # the arrows between rooms are read from all sources
@pytest.mark.parametrize(("name", "draw"), PICTURES.items(), ids=list(PICTURES))
def test_a_picture_is_up_to_date(name: str, draw: Callable[[], str]) -> None:
    assert (FOLDER / name).read_text() == draw(), "run python -m tests.site.pictures"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_on_the_page_and_fits(name: str) -> None:
    assert f"pictures/{name})" in (ROOT / "docs" / "how-it-works.md").read_text()
    root = ET.parse(FOLDER / name).getroot()
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    texts = [e for e in root.iter() if e.tag.endswith("text")]
    assert len(texts) > 5
    for text in texts:
        ends = float(text.attrib["x"]) + pictures.LETTER * len(text.text or "")
        assert ends <= width + 1 and float(text.attrib["y"]) <= height, text.text


def test_a_model_is_fused_and_written() -> None:
    text = (FOLDER / "life-of-model.svg").read_text()
    for title in ("the symbol", "fold_batch_norm", "fuse_conv_epilogue", "as ONNX", "MaxPool", "Softmax"):
        assert f">{title}<" in text, title


def test_boxes_of_a_column_do_not_overlap() -> None:
    drawn = pictures.columns([("title", [pictures.Box("a", ["one", "two"]), pictures.Box("b")])])
    tops = [(float(y), float(h)) for y, h in re.findall(r'<rect x="\S+" y="(\S+)" width="\S+" height="(\d+)"', drawn)]
    assert len(tops) == 2 and tops[0][0] + tops[0][1] < tops[1][0]
