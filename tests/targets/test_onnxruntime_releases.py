"""Opsets and IR versions of onnxruntime's releases, held against its own table."""

import pytest

from bridge.targets.profile import profiles_of

# microsoft/onnxruntime, branch gh-pages, docs/reference/compatibility.md, commit 109c0baa: opset and IR version by release.
# Of 1.15 the table says IR 8; 1.15.1 opens 9 too.
TABLE = {
    "1.8": (14, 7), "1.9": (15, 8), "1.10": (15, 8), "1.11": (16, 8), "1.12": (17, 8), "1.13": (17, 8), "1.14": (18, 8),
    "1.15": (19, 9), "1.16": (19, 9), "1.17": (20, 9), "1.18": (21, 10),
}  # fmt: skip


@pytest.mark.parametrize("release", TABLE)
def test_profiles_are_those_of_the_table(release: str) -> None:
    (profile,) = profiles_of([f"onnxruntime-{release}"])
    assert (profile.opsets[1], profile.ir, profile.opsets[0]) == (*TABLE[release], 7)
    assert any("compatibility.md" in s for s in profile.sources)
