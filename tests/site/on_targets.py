"""Operators that targets refuse: ``python -m tests.site.on_targets`` writes docs/operators-on-targets.json.

The first examples of each operator are written for each target, in its opset and forms, and looked at beside its profile: with
the first input fed and the others stored, as layers are, or all fed. A target refuses an operator when it takes none of them.
Nothing is run.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from bridge.targets.profile import Profile, profiles
from bridge.targets.writing import Written, refusals, written_for
from converters.oldest import recorded as written_operators
from converters.oldest import write_alone
from converters.writer import Converted
from hybrid.core.examples import Maker
from hybrid.core.op import OPS, Example
from hybrid.formats.files import write

RECORD = Path(__file__).parents[2] / "docs" / "operators-on-targets.json"
EXAMPLES = 1
"""Examples of an operator that are tried, the first ones."""
OF_SIZES = "input"
"""The place of problems with an input's sizes, which are the example's."""


def written(example: Example, how: Written) -> Converted | None:
    """The file of an example alone as targets want it; None where there is none, as where it cannot be written."""
    ways = itertools.product((True, False), how.opsets)
    files = (write_alone(example, opset, stored, newest=how.newest, forms=how.forms) for stored, opset in ways)
    return next(filter(None, files), None)


def groups() -> dict[str, list[Profile]]:
    """Profiles by the way files for them are written."""
    found: dict[str, list[Profile]] = defaultdict(list)
    for profile in profiles().values():
        how = written_for(profile.name, None)
        found[repr((how.opsets, how.newest, how.forms))].append(profile)
    return found


def refusing(name: str) -> tuple[str, ...]:
    """The targets that refuse an operator; none where no target's file could be written, which says nothing of targets."""
    examples = list(itertools.islice(OPS[name].examples(Maker(OPS[name])), EXAMPLES))
    found = tuple(sorted(_refusing(examples))) if examples else ()
    return () if len(found) == len(profiles()) else found


def _refusing(examples: Sequence[Example]) -> Iterator[str]:
    for alike in groups().values():
        how = written_for(alike[0].name, None)
        files = [file for file in (written(example, how) for example in examples) if file is not None]
        for profile in alike:
            if all(any(r.operator != OF_SIZES for r in refusals(profile, file)) for file in files):
                yield profile.name


def recorded() -> dict[str, list[str]]:
    """The targets that refuse each operator that is written; empty as long as nobody has asked."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}


if __name__ == "__main__":
    lines = (f"{json.dumps(name)}: {json.dumps(refusing(name))}" for name in sorted(written_operators()))
    write(RECORD, "{" + ",\n".join(lines) + "}\n")
