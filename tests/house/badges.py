"""Badges of the README, drawn from what they claim.

``python -m tests.house.badges`` writes docs/pictures/badges/*.svg anew.
"""

from __future__ import annotations

import json
import re

from converters.registry import OLDEST
from tests.house.docs import ROOT

FOLDER = ROOT / "docs" / "pictures" / "badges"
CHARACTER = 6.6
"""Pixels that a letter takes at 11 pixels of size, generously."""


def drawn(subject: str, claim: str) -> str:
    """A badge as SVG: the subject on grey, the claim on green."""
    left, right = (round(len(text) * CHARACTER) + 12 for text in (subject, claim))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{subject}: {claim}">\n'
        f'<rect width="{left}" height="20" rx="3" fill="#555"/>\n'
        f'<rect x="{left}" width="{right}" height="20" rx="3" fill="#2b7a3d"/>\n'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">\n'
        f'<text x="{left / 2}" y="14">{subject}</text>\n'
        f'<text x="{left + right / 2}" y="14">{claim}</text>\n</g>\n</svg>\n'
    )


def badges() -> dict[str, str]:
    """All badges, by the names of their files."""
    project = (ROOT / "pyproject.toml").read_text()
    minors = sorted(int(m) for m in re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', project))
    license = re.search(r'^license = "(.+)"$', project, re.MULTILINE)[1]  # type: ignore[index]
    cells = [json.loads(line) for line in (ROOT / "docs" / "targets.jsonl").read_text().splitlines()]
    verdicts = [c["verdict"] for c in cells if c["target"] == "onnxruntime"]
    return {
        "python": drawn("Python", f"3.{minors[0]} to 3.{minors[-1]}"),
        "opsets": drawn("ONNX opsets", f"{OLDEST} and newer"),
        "networks": drawn("networks that agree in onnxruntime", f"{verdicts.count('agrees')} of {len(verdicts)}"),
        "license": drawn("license", license),
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in badges().items():
        (FOLDER / f"{name}.svg").write_text(text)
