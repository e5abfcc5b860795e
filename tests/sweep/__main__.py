"""python -m tests.sweep [OPERATOR ...] [--json] [--verbose]: the figures, operator by operator. Exit status 1 when any is wrong."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable

from . import spaces
from .verdicts import INVALID, OPSETS, REFUSED, RIGHT, WRONG, Verdict, judge, points


def figures(found: Iterable[Verdict]) -> dict[str, object]:
    """Number of combinations of each verdict, the reasons of refusals and the details of what is wrong."""
    found = list(found)
    words = Counter(v.word for v in found)
    return {
        "combinations": len(found),
        **{word: words[word] for word in (RIGHT, REFUSED, INVALID, WRONG)},
        "unwitnessed": sum(v.word == RIGHT and not v.witnessed for v in found),
        "later": sum(v.word == RIGHT and v.since > OPSETS[0] for v in found),
        "reasons": dict(Counter(v.detail for v in found if v.word == REFUSED).most_common()),
        "faults": {v.point.key: v.detail for v in found if v.word == WRONG},
    }


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sweep", description=__doc__)
    parser.add_argument("operators", nargs="*", help="operators or families; all by default")
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    options = parser.parse_args(argv)
    known = spaces.load()
    wanted = {o for name in options.operators for o in known.get(name, {name: ()})}
    if unknown := wanted - {o for family in known.values() for o in family}:
        parser.error(f"no space for {', '.join(sorted(unknown))}")
    table: dict[str, dict[str, object]] = {}
    found: dict[str, list[Verdict]] = {}
    for family, point in points(frozenset(wanted) if wanted else None):
        found.setdefault(point.operator, []).append(judge(family, point))
    table = {operator: figures(verdicts) for operator, verdicts in found.items()}
    everything = figures(v for verdicts in found.values() for v in verdicts)
    if options.json:
        print(json.dumps({"operators": table, "all": {k: v for k, v in everything.items() if isinstance(v, int)}}))
    else:
        show(table | {"all": everything})
    return 1 if everything[WRONG] else 0


COLUMNS = ("combinations", RIGHT, "unwitnessed", "later", REFUSED, INVALID, WRONG)


def show(table: dict[str, dict[str, object]]) -> None:
    print(f"{'operator':44}" + "".join(f"{c:>13}" for c in COLUMNS))
    print(
        "unwitnessed: right, and MXNet does not run it, so that engine and onnxruntime are all the witnesses there are."
    )
    print(f"later: right from an opset above {OPSETS[0]} on, refused before.")
    for operator, row in table.items():
        print(f"{operator:44}" + "".join(f"{row[c]!s:>13}" for c in COLUMNS))
        if operator == "all":
            continue
        for kind in ("reasons", "faults"):
            items = row[kind]
            assert isinstance(items, dict)
            for what, more in items.items():
                print(f"    refused {more}x: {what}" if kind == "reasons" else f"    WRONG {what}\n        {more}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
