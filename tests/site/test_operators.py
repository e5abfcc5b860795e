"""The site's table of operators: what each is, and the targets that refuse it."""

import pytest

from bridge.targets.profile import profiles
from converters.oldest import recorded as written_operators
from hybrid.core.op import OPS
from tests.house.docs import ROOT
from tests.site import on_targets, operators

SOME = ("Activation", "Convolution", "RNN", "_contrib_box_nms", "broadcast_add", "linalg_det", "softmax")


def test_every_row_says_what_the_operator_is() -> None:
    text = operators.page((ROOT / "docs" / operators.PAGE).read_text())
    rows = [line for line in text.splitlines() if line.startswith("| `") and "<br>" in line]
    assert len(rows) == len(OPS) > 700
    convolution = next(line for line in rows if line.startswith("| `Convolution`<br>"))
    assert len(convolution.split("<br>")[1].split("|")[0].strip()) > 10
    assert all(line.count("|") - line.count("\\|") == 8 + bool(on_targets.recorded()) for line in rows)


@pytest.mark.skipif(not on_targets.recorded(), reason="python -m tests.site.on_targets has not been run")
def test_targets_of_the_record_are_there() -> None:
    found = on_targets.recorded()
    assert set(found) <= set(written_operators()) and len(found) > 600
    assert {t for names in found.values() for t in names} <= set(profiles())


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in SOME if n in on_targets.recorded()])
def test_the_record_is_what_profiles_refuse(name: str) -> None:
    assert list(on_targets.refusing(name)) == on_targets.recorded()[name], "run python -m tests.site.on_targets"


def test_an_example_is_refused_by_those_that_lack_its_operator() -> None:
    assert on_targets.refusing("tanh") == ()
    assert "opencv-4.6" in on_targets.refusing("_contrib_box_nms")
