"""Line that a job writes in a notebook: one line below the cell, in place, gone when the cell has run; elsewhere nothing."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

import bridge
from bridge.faces import notebook
from tests.house.docs import ROOT

MODEL = ROOT / "fixtures/models/arcface/model-symbol.json"


class Events:
    """The events of a shell: what is to be called after a cell."""

    def __init__(self) -> None:
        self.after: list[Any] = []

    def register(self, name: str, call: Any) -> None:
        assert name == "post_run_cell"
        self.after.append(call)

    def unregister(self, name: str, call: Any) -> None:
        assert name == "post_run_cell"
        self.after.remove(call)

    def end_of_cell(self) -> None:
        for call in list(self.after):
            call(SimpleNamespace())


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> tuple[list[list[str]], Events]:
    """A kernel: the displays that were opened, each with all that it showed one after another."""
    displays: list[list[str]] = []
    events = Events()

    class Handle:
        def __init__(self, html: str) -> None:
            self.said = [html]
            displays.append(self.said)

        def update(self, html: str) -> None:
            self.said.append(html)

    def display(html: str, display_id: bool = False) -> Handle:
        assert display_id
        return Handle(html)

    shell = SimpleNamespace(kernel=object(), events=events)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(HTML=str, display=display))  # type: ignore[arg-type]
    notebook.line.cache_clear()
    return displays, events


def test_a_conversion_says_what_it_does_in_one_line(shown: Any, tmp_path: Any) -> None:
    displays, events = shown
    bridge.convert(MODEL, output=tmp_path / "a.onnx", inputs={"data": (1, 3, 32, 32)})
    (said,) = displays
    assert len(said) > 2 and all(t.startswith("<progress></progress> ") for t in said)
    assert len(events.after) == 1
    events.end_of_cell()
    assert said[-1] == "" and not events.after
    notebook.listener(None)("the next cell")
    assert len(displays) == 2 and "the next cell" in displays[1][0]


def test_words_are_no_html(shown: Any) -> None:
    displays, _ = shown
    notebook.listener(None)("<b>\x1b[1m & more")
    assert "<b>" not in displays[0][0] and "&lt;b&gt;" in displays[0][0] and "\x1b" not in displays[0][0]


def test_whom_the_caller_names_hears_alone(shown: Any) -> None:
    displays, _ = shown
    heard: list[str] = []
    notebook.listener(heard.append)("text")
    assert heard == ["text"] and not displays


@pytest.mark.parametrize("shell", [None, SimpleNamespace()], ids=["no shell", "a terminal"])
def test_elsewhere_nothing_is_shown(shell: Any, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))  # type: ignore[arg-type]
    notebook.listener(None)("text")
    assert capfd.readouterr() == ("", "")


def test_nothing_is_imported_to_find_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert notebook.kernel() is None and "IPython" not in sys.modules
