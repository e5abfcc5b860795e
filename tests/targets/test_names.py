"""Names of targets as users type them."""

import pytest

from bridge import BadInput
from bridge.targets.profile import profile_of, profiles, profiles_of


def test_an_engine_without_a_release_is_its_newest() -> None:
    assert profile_of("tensorrt").name == "tensorrt-10"
    assert [p.name for p in profiles_of(["tensorrt", "openvino"])] == ["tensorrt-10", "openvino"]
    assert profile_of("opencv").name == "opencv"  # which is one of its own


def test_a_slip_is_told_the_name_that_is_meant() -> None:
    with pytest.raises(BadInput, match=r"did you mean tensorrt\? wanted one of tensorrt, ") as found:
        profile_of("tensort")
    assert all(name in str(found.value) for name in profiles())
    with pytest.raises(BadInput, match=r"did you mean tensorrt-8\?"):
        profile_of("tensorrt8")


def test_a_target_is_run_here_or_says_why_not() -> None:
    for profile in profiles().values():
        assert bool(profile.install) != bool(profile.not_run), profile.name
        assert profile.runs or profile.not_run, profile.name


@pytest.mark.parametrize("name", ["onnx", "onnxruntime-", "tensorrt-", ""])
def test_parts_of_names_are_none(name: str) -> None:
    with pytest.raises(BadInput, match="wanted one of"):
        profile_of(name)
