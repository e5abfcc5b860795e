"""Options that commands share: groups of them in a function's signature, which are one by one on the command line."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from bridge.cli import command
from bridge.command.conversion_options import Conversion
from bridge.command.groups import grouped
from bridge.command.options import Comparing, Feeding, General
from bridge.command.pipeline_options import Before, Behind
from bridge.command.precision_options import Asked

SHARED = {
    "convert": (Feeding, Conversion, Before, Behind, Asked, Comparing, General),
    "deploy": (Feeding, Conversion, Before, Behind, Asked, Comparing, General),
    "import": (Feeding, Comparing, General),
    "verify": (Feeding, Comparing, General),
}
Count = Annotated[int, typer.Option("--count", help="A number.")]


@dataclass(frozen=True)
class Sizes:
    count: Count = 3
    names: Annotated[list[str] | None, typer.Option("--name")] = None


@pytest.mark.parametrize("name", SHARED)
def test_commands_have_all_options_of_their_groups(name: str) -> None:
    found = {p.name: p for p in command(name).params}
    for group in SHARED[name]:
        for field in fields(group):
            option = found[field.name]
            assert not option.required and option.opts[0].startswith("--")
            assert (option.default or None) == (field.default or None), field.name


def test_a_group_is_one_value_inside_and_its_options_outside() -> None:
    seen = []

    @grouped
    def work(place: Annotated[str, typer.Argument()], more: bool = False, *, sizes: Sizes) -> None:
        """Do it."""
        seen.append((place, more, sizes))

    app = typer.Typer()
    app.command()(work)
    for words, wanted in (
        (["a"], ("a", False, Sizes())),
        (["a", "--count", "5", "--name", "x", "--name", "y", "--more"], ("a", True, Sizes(5, ["x", "y"]))),
    ):
        result = CliRunner().invoke(app, words)
        assert (result.exit_code, seen.pop()) == (0, wanted), result.output
    assert CliRunner().invoke(app, ["a", "--sizes", "1"]).exit_code == 2
    assert CliRunner().invoke(app, ["a", "--count", "many"]).exit_code == 2
    told = CliRunner().invoke(app, ["--help"]).output
    assert "Do it." in told and "A number." in told and told.index("--more") < told.index("--count")


def test_two_options_of_one_name_are_refused() -> None:
    def work(count: int = 1, *, sizes: Sizes) -> None:
        pass

    with pytest.raises(TypeError, match="work: two options are called count"):
        grouped(work)
