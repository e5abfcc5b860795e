"""Notebooks become pages that have their words, code and outputs."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.site import notebooks


def result(**data: Any) -> dict[str, Any]:
    return {"output_type": "execute_result", "data": {k.replace("_", "/"): v for k, v in data.items()}, "metadata": {}}


def test_every_notebook_is_a_page_with_all_that_its_cells_say() -> None:
    found = notebooks.pages()
    assert len(found) == len(list(notebooks.FOLDER.glob("*.ipynb"))) >= 3
    for name, text in found.items():
        path = notebooks.FOLDER / f"{Path(name).stem}.ipynb"
        title, told = text.split("\n\n")[:2]
        assert title.startswith("# ") and f"({path.name})" in told
        for cell in json.loads(path.read_text())["cells"]:
            assert "".join(cell["source"]).split("\n")[-1] in text
            for output in cell.get("outputs", ()):
                assert "".join(output.get("text", output.get("data", {}).get("text/html", ""))).split("\n")[0] in text


def test_a_graph_and_a_report_are_shown_rather_than_their_text() -> None:
    pages = notebooks.pages()
    trained = pages["notebooks/train-hybridize-export.md"]
    assert trained.count('<div class="output">') == 2 and "<svg" in trained and "<Symbol" not in trained
    proved = pages["notebooks/convert-and-prove.md"]
    assert '<div class="output">' in proved and "VerifyResult(" not in proved
    assert "<h1" not in proved and 'aria-level="2">equivalent</div>' in proved and ".gluonnx .h1 {" in proved


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ({"output_type": "stream", "text": ["\x1b[1mone\x1b[0m\n", "two\n"]}, "```text\none\ntwo\n```"),
        ({"output_type": "stream", "text": "```\n"}, "````text\n```\n````"),
        ({"output_type": "error", "traceback": ["a", "b"]}, "```text\na\nb\n```"),
        (result(text_plain=["7"]), "```text\n7\n```"),
        (result(text_plain="t", text_html=["<p>\n", "\n", "a</p>"]), '<div class="output">\n<p>\na</p>\n</div>'),
        (
            {"output_type": "display_data", "data": {"image/svg+xml": "<svg/>"}},
            '<div class="output">\n<svg/>\n</div>',
        ),
        (
            {"output_type": "display_data", "data": {"text/plain": "x", "image/png": "aWk=\n"}},
            '<div class="output"><img alt="" src="data:image/png;base64,aWk="></div>',
        ),
        (result(text_plain="t", text_markdown="*m*"), "*m*"),
    ],
)
def test_the_richest_form_is_shown(output: dict[str, Any], told: str) -> None:
    assert list(notebooks.shown(output)) == [told]


def test_a_form_that_no_page_can_show_is_refused() -> None:
    with pytest.raises(ValueError, match="application/json"):
        list(notebooks.shown(result(application_json="{}")))
