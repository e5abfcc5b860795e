"""Additions of the site to docs/: links and navigation, where mkdocs is installed; the index of decisions."""

import re

import pytest

from hybrid.core.version import REPOSITORY
from tests.house.docs import ROOT
from tests.site import decisions


def test_every_decision_is_in_the_index() -> None:
    names = {p.name for p in decisions.FOLDER.glob("[0-9]*.md")}
    assert set(re.findall(r"\((\S+\.md)\)", decisions.page())) == names and len(names) > 30


def test_addresses_are_those_of_the_version() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    assert f"\nrepo_url: {REPOSITORY}\n" in text


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
        ("](notebooks/a.ipynb)", "docs/python.md", "python.md", "](notebooks/a.md)"),
        ("](a.ipynb)", "docs/notebooks/a.md", "notebooks/a.md", "](a.ipynb)"),
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
    assert hooks._lists("no odd number past\n2048. So\n- a") == "no odd number past\n2048. So\n\n- a"


def test_links_have_titles_of_pages_where_the_text_names_files() -> None:
    hooks = pytest.importorskip("tests.site.hooks", reason="needs mkdocs", exc_type=ImportError)
    texts = {"core.md": "# The core\n\nwords", "a/b.md": "# B\n"}
    assert hooks._named("see [core.md](core.md#x) and [words](core.md)", "docs/operators.md", texts) == (
        "see [The core](core.md#x) and [words](core.md)"
    )
    assert hooks._named("[../core.md](../core.md)", "docs/a/b.md", texts) == "[The core](../core.md)"
    assert hooks._named("[gone.md](gone.md)", "docs/a/b.md", texts) == "[gone.md](gone.md)"
    assert hooks._named("[docs/core.md](docs/core.md)", "CHANGELOG.md", texts) == "[The core](docs/core.md)"


def test_what_writes_a_page_is_said_at_its_end() -> None:
    hooks = pytest.importorskip("tests.site.hooks", reason="needs mkdocs", exc_type=ImportError)
    page = "# T\n\nWritten by `python -m x > t.md`; a test\nholds it.\n\nWords.\n"
    assert hooks._written_last(page) == "# T\n\nWords.\n\n---\n\nWritten by `python -m x > t.md`; a test\nholds it.\n"
    assert hooks._written_last("# T\n\nWords.\n") == "# T\n\nWords.\n"


def test_pages_of_a_folder_are_in_the_order_of_their_index() -> None:
    hooks = pytest.importorskip("tests.site.hooks", reason="needs mkdocs", exc_type=ImportError)
    made = [page for page in hooks._made() if page.startswith("reference/")]
    assert hooks._of_folder("reference/", set(made)) == made and made[0] == "reference/index.md"
    assert hooks._of_folder("tutorials/", {"tutorials/b.md", "tutorials/a.md", "x.md"}) == [
        "tutorials/a.md",
        "tutorials/b.md",
    ]
