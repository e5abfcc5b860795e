"""Additions of the site to docs/: links and navigation, where mkdocs is installed; the index of decisions."""

import re

import pytest

from hybrid.core.version import REPOSITORY, SITE
from tests.house.docs import ROOT
from tests.site import decisions


def test_every_decision_is_in_the_index() -> None:
    names = {p.name for p in decisions.FOLDER.glob("[0-9]*.md")}
    assert set(re.findall(r"\((\S+\.md)\)", decisions.page())) == names and len(names) > 30


def test_addresses_are_those_of_the_version() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    assert f"\nsite_url: {SITE}/\n" in text and f"\nrepo_url: {REPOSITORY}\n" in text


@pytest.mark.parametrize(
    ("link", "origin", "place", "turned"),
    [
        ("](core.md#x)", "docs/operators.md", "operators.md", "](core.md#x)"),
        ("](../core.md)", "docs/decisions/0001.md", "decisions/0001.md", "](../core.md)"),
        ("](docs/core.md)", "ARCHITECTURE.md", "architecture.md", "](core.md)"),
        ("](docs/decisions)", "ARCHITECTURE.md", "architecture.md", "](decisions/index.md)"),
        ("](CONTRIBUTING.md#a)", "ARCHITECTURE.md", "architecture.md", "](contributing.md#a)"),
        ("](../ARCHITECTURE.md)", "docs/core.md", "core.md", "](architecture.md)"),
        ("](../README.md)", "docs/core.md", "core.md", "](index.md)"),
        ("](hybrid/core/op.py)", "CONTRIBUTING.md", "contributing.md", f"]({REPOSITORY}/blob/main/hybrid/core/op.py)"),
        ("](../fixtures)", "docs/core.md", "core.md", f"]({REPOSITORY}/tree/main/fixtures)"),
        ("](https://example.org/a.md)", "docs/core.md", "core.md", "](https://example.org/a.md)"),
    ],
)
def test_links_are_turned(link: str, origin: str, place: str, turned: str) -> None:
    hooks = pytest.importorskip("tests.site.hooks", reason="needs mkdocs", exc_type=ImportError)
    assert hooks._links(link, origin, place) == turned


def test_lists_begin_after_a_blank_line() -> None:
    hooks = pytest.importorskip("tests.site.hooks", reason="needs mkdocs", exc_type=ImportError)
    assert hooks._lists("words\n- a\n  b\n- c\n\nwords\n1. d") == "words\n\n- a\n  b\n- c\n\nwords\n\n1. d"
