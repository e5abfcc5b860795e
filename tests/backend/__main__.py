"""Runs the suite and counts: ``python -m tests.backend [PATTERN] [--verbose] [--again]``, the pattern a regular expression on test
names; with --again through an export and a second import."""

import argparse
import collections
import re
import time
import traceback
import unittest
import warnings

from bridge.onnx_backend import OnnxBackend
from tests.backend.again import Again
from tests.backend.exceptions import markdown
from tests.backend.kept import classes


def main() -> None:
    """Print a line for each test that fails, and counts by category."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--verbose", action="store_true", help="show where each failure comes from")
    parser.add_argument("--again", action="store_true", help="import, export, import, and compare bit for bit")
    parser.add_argument("--document", action="store_true", help="print docs/backend-suite.md")
    arguments = parser.parse_args()
    if arguments.document:
        print(markdown(), end="")
        return
    passed: collections.Counter[str] = collections.Counter()
    total: collections.Counter[str] = collections.Counter()
    start = time.perf_counter()
    warnings.simplefilter("ignore")
    for category, cls in classes(Again if arguments.again else OnnxBackend, __name__).items():
        for name in unittest.TestLoader().getTestCaseNames(cls):
            if not name.endswith("_cpu") or not re.search(arguments.pattern, name):
                continue
            total[category] += 1
            try:
                getattr(cls(name), name)()
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}", flush=True)
                if arguments.verbose:
                    traceback.print_exc()
            else:
                passed[category] += 1
    for category, count in total.items():
        if count:
            print(f"{category}: {passed[category]} of {count}")
    print(f"passed {sum(passed.values())} of {sum(total.values())} in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
