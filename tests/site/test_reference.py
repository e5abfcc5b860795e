"""The reference has what ``help`` has, of functions made of operators too."""

import re
from typing import Any

import hybrid as mx
from tests.site import reference


def test_a_function_of_an_operator_has_its_parameters() -> None:
    text = "\n".join(reference.pages().values())
    entry = text.split("## mx.nd.Convolution ", 1)[1].split("\n## ", 1)[0]
    assert "num_filter" in entry and "```python\nConvolution(" in entry


def test_annotations_are_no_strings() -> None:
    def example(a: int, b: str = "write") -> bool: ...

    assert reference.signature("f", example) == "f(a: int, b: str = 'write') -> bool"
    example.__annotations__ = {"a": "int", "b": "str", "return": "bool"}
    assert reference.signature("f", example) == "f(a: int, b: str = 'write') -> bool"


def test_defaults_tell_nothing_of_this_machine() -> None:
    drawn = mx.init.Uniform(0.1)

    def example(logger: Any = re, weights: Any = drawn, kind: Any = mx.nd.NDArray) -> None: ...

    assert reference.signature("f", example) == (
        "f(logger: Any = re, weights: Any = Uniform(...), kind: Any = NDArray) -> None"
    )
    text = "\n".join(reference.pages().values())
    assert not re.findall(r".{40}0x[0-9a-f]{6,}.*|.*<module .*", text)


def test_addresses_are_links() -> None:
    def example() -> None:
        """See https://numpy.org/a_b.html. Not ``https://x.org``."""

    assert reference.text(example) == "See <https://numpy.org/a_b.html>. Not `https://x.org`."


def test_names_are_there_once() -> None:
    names = [n for text in reference.pages().values() for n in re.findall(r"^## .*\{#(.+)\}$", text, re.MULTILINE)]
    assert len(names) == len(set(names)) > 1000
    for name in (
        "gluonnx.convert",
        "mx.gluon.nn.Dense",
        "mx.autograd.record",
        "mx.np.dot",
        "mx.mod.Module",
        "mx.metric.F1",
    ):
        assert name.replace("mx.mod.", "mx.module.") in names, name


def test_docstrings_become_markdown() -> None:
    def example() -> None:
        """Say ``a*b`` of *args and <b> [x].

            x = a * b  # code

        More."""

    said = reference.text(example)
    assert said == "Say `a*b` of \\*args and \\<b> \\[x].\n\n    x = a * b  # code\n\nMore."


def test_sections_are_lists_and_sessions_code() -> None:
    def example() -> None:
        """Add.

        Parameters
        ----------
        x, y : NDArray
            Of *one* shape.
        n : int
            How often.

        Raises
        ------
        OpError
            For others.

        Examples
        --------
        >>> 1 + 1
        2

        More."""

    said = reference.text(example)
    assert "\n**Parameters**\n\n- `x, y`: NDArray  \n    Of \\*one\\* shape.\n- `n`: int  \n" in said
    assert (
        "- `OpError`  \n    For others." in said
        and "```pycon\n>>> 1 + 1\n2\n```\n\n" in said
        and said.endswith("More.")
    )


def test_no_page_is_too_long_to_be_shown() -> None:
    found = reference.pages()
    counts = {name: len(reference.HEADING.findall(text)) for name, text in found.items()}
    assert max(counts.values()) <= reference.MOST
    arrays = [name for name in counts if name.startswith("reference/ndarray")]
    assert len(arrays) > 4 and all(f"({name.partition('/')[2]})" in found["reference/index.md"] for name in arrays)
    titles = [text.split("\n", 1)[0] for text in found.values()]
    assert len(set(titles)) == len(titles)


def test_only_names_are_headings() -> None:
    for name, page in reference.pages().items():
        prose = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
        assert not re.search(r"^-{3,}$", prose, re.MULTILINE), name
