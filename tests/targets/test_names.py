"""Names of targets as users type them."""

import pytest

from bridge import BadInput
from bridge.targets.profile import profile_of, profiles_of


def test_an_engine_without_a_release_is_its_newest() -> None:
    assert profile_of("tensorrt").name == "tensorrt-10"
    assert [p.name for p in profiles_of(["tensorrt", "openvino"])] == ["tensorrt-10", "openvino"]
    assert profile_of("opencv").name == "opencv"  # which is one of its own


@pytest.mark.parametrize("name", ["onnx", "onnxruntime-", "tensorrt-", ""])
def test_parts_of_names_are_none(name: str) -> None:
    with pytest.raises(BadInput, match="wanted one of"):
        profile_of(name)
