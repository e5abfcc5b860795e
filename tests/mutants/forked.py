"""Slips drawn by lot, each tried in a fork of one process of pytest: which ones does no test notice?

    python -m tests.mutants.forked FOLDER [--count N] [--seed S] [--only REGEX] [--most M] [--seconds T] [--jobs J] [--json]
                                   [--tests PATH ...]

FOLDER holds what tests.mutants.covered recorded for this very tree. The tests are collected once. A fork puts the changed function
in the place of the right one (the code of what is already imported; nothing is written) and runs tests that run its line,
cheapest files first, for T seconds at most. --most takes lines that at most M tests run: there slips live longest, and trying is
cheapest.

What survives is a lead, not yet a fault: the change may be of no consequence, and what was remembered before the fork may hide it.
Plant it by hand in the tests that ought to see it. Needs os.fork."""

from __future__ import annotations

import argparse
import collections
import functools
import gc
import importlib
import json
import os
import random
import re
import resource
import select
import signal
import sys
import time
import types
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.house.docs import ROOT

from .covered import PRODUCT, Covered
from .slips import Slip, slips

MEMORY = 8 << 30
"""Bytes of addresses that a fork may take beyond what it began with."""
KEPT = ("hybrid.core.op",)
"""Modules whose memos hold what others compare by identity."""


class Outcome(NamedTuple):
    """Result of planting a slip."""

    slip: Slip
    result: str
    """"caught", "survived", or "untried" where the change cannot take the place of what is there."""
    by: str
    """The test that failed, or what else ended the fork."""
    covering: int
    tried: int
    """Numbers of tests that run the line, and of those that were tried."""


def measured(folder: Path) -> dict[str, float]:
    """Seconds of each test, by its file and name."""
    found = {}
    for case in ElementTree.parse(folder / "times.xml").getroot().iter("testcase"):
        found[f"{case.get('classname')}::{case.get('name')}"] = float(case.get("time", 0))
    return found


class Forks:
    """A process of pytest that has collected its tests and forks for each slip; the plugin that takes the place of its loop."""

    def __init__(self, asked: argparse.Namespace):
        self.asked = asked
        self.covered = Covered(asked.folder)
        self.seconds = measured(asked.folder)
        self.items: dict[str, pytest.Item] = {}
        self.functions: dict[str, list[types.FunctionType]] = collections.defaultdict(list)
        self.memos: list[Any] = []
        self.sound: dict[str, bool] = {}
        self.survivors = 0

    # -- in the parent ------------------------------------------------------------------------------------------------

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        for path in self.product():
            if path.name != "__main__.py" and "scripts" not in path.relative_to(ROOT).parts:  # those need MXNet
                importlib.import_module(
                    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
                )
        gc.unfreeze()  # which tests/conftest.py does once all is imported
        for thing in gc.get_objects():
            if isinstance(thing, types.FunctionType) and thing.__code__.co_filename.startswith(str(ROOT)):
                self.functions[thing.__code__.co_filename].append(thing)
            elif isinstance(thing, functools._lru_cache_wrapper) and thing.__module__ not in KEPT:
                self.memos.append(thing)
        gc.freeze()
        running: dict[int, tuple[Slip, list[str], int, int, float, list[str]]] = {}
        waiting = iter(self.drawn())
        ended = False
        while running or not ended:
            while not ended and len(running) < self.asked.jobs:
                slip = next(waiting, None)
                if slip is None:
                    ended = True
                    break
                covering = {t for t in self.covered.tests(slip.file, slip.lines) if t in self.items}
                tests = self.chosen(covering)
                if tests:
                    running.update([self.forked(slip, tests, len(covering))])
                else:
                    self.report(Outcome(slip, "survived", "", 0, 0))
            if running:
                self.wait(running)
        return True

    def forked(self, slip: Slip | None, tests: list[str], covering: int) -> tuple[int, Any]:
        """A fork at work: the end of its pipe, and what it does."""
        reads, writes = os.pipe()
        child = os.fork()
        if not child:
            os.close(reads)
            self.work(slip, tests, writes)
        os.close(writes)
        limit = time.monotonic() + 60 + 10 * sum(map(self.cost, tests))
        return reads, (slip, tests, covering, child, limit, [])

    def wait(self, running: dict[int, Any]) -> None:
        """Read what forks say until one has ended, or is to be ended."""
        ready, _, _ = select.select(list(running), [], [], 1)
        for pipe in list(running):
            slip, tests, covering, child, limit, said = running[pipe]
            late = time.monotonic() > limit
            if pipe in ready and (text := os.read(pipe, 1 << 16)):
                said.append(text.decode())
                continue
            if pipe not in ready and not late:
                continue
            if late:
                os.kill(child, signal.SIGKILL)
            os.close(pipe)
            _, status = os.waitpid(child, 0)
            del running[pipe]
            self.judge(slip, tests, covering, "".join(said), "time" if late else status, running)

    def judge(
        self, slip: Slip | None, tests: list[str], covering: int, said: str, status: int | str, running: dict[int, Any]
    ) -> None:
        lines = said.splitlines()
        last = lines[-1] if lines else ""
        if slip is None:  # the same test without a slip
            self.sound[tests[0]] = last == "passed"
            return
        if last == "passed":
            self.report(Outcome(slip, "survived", "", covering, len(tests)))
        elif last.startswith("untried"):
            self.report(Outcome(slip, "untried", last, covering, 0))
        elif last.startswith("failed "):
            by = last.removeprefix("failed ")
            if by not in self.sound:
                alone = dict([self.forked(None, [by], 0)])
                while alone:
                    self.wait(alone)
            if self.sound[by]:
                self.report(Outcome(slip, "caught", by, covering, tests.index(by) + 1))
            else:
                left = [t for t in tests if t != by]
                if left:
                    running.update([self.forked(slip, left, covering)])
                else:
                    self.report(Outcome(slip, "survived", "", covering, 0))
        else:
            self.report(Outcome(slip, "caught", f"ended with {status} after {last}", covering, 0))

    def cost(self, test: str) -> float:
        """Seconds that it took when it was recorded."""
        file, _, name = test.partition("::")
        return self.seconds.get(f"{file.removesuffix('.py').replace('/', '.')}::{name}", 0.05)

    def chosen(self, tests: Iterable[str]) -> list[str]:
        """Tests for so many seconds as are given: of each file a few, files with most tests that run the line first."""
        by: dict[str, list[str]] = collections.defaultdict(list)
        for test in tests:
            by[test.partition("::")[0]].append(test)
        draw = random.Random(self.asked.seed)
        for found in by.values():
            found.sort()
            draw.shuffle(found)
            found.sort(key=lambda t: self.cost(t) > 0.5)
        queues = [collections.deque(by[f]) for f in sorted(by, key=lambda f: -len(by[f]) / (1 + self.totals[f]))]
        taken: list[str] = []
        spent, portion = 0.0, 1
        while any(queues) and spent < self.asked.seconds:
            for queue in queues:
                for _ in range(min(portion, len(queue))):
                    if spent < self.asked.seconds:
                        taken.append(queue.popleft())
                        spent += self.cost(taken[-1]) + 0.002
            portion *= 2
        return taken

    @functools.cached_property
    def totals(self) -> collections.Counter[str]:
        return collections.Counter(test.partition("::")[0] for test in self.items)

    @staticmethod
    def product() -> list[Path]:
        return [p for folder in PRODUCT for p in sorted((ROOT / folder).rglob("*.py"))]

    def drawn(self) -> Iterator[Slip]:
        """Slips by lot: a line first, then one of those that its functions suggest there."""
        lines: dict[tuple[str, int], list[Slip]] = collections.defaultdict(list)
        for path in self.product():
            file = str(path.relative_to(ROOT))
            if re.search(self.asked.only, file):
                for slip in slips(file, path.read_text()):
                    lines[file, slip.line].append(slip)
        draw = random.Random(self.asked.seed)
        places = sorted(lines)
        draw.shuffle(places)
        count = 0
        for place in places:
            if count == self.asked.count:
                return
            kinds = sorted({s.kind for s in lines[place]})
            kind = draw.choice(kinds)
            slip = draw.choice([s for s in lines[place] if s.kind == kind])
            if not self.asked.most or len(self.covered.tests(slip.file, slip.lines)) <= self.asked.most:
                count += 1
                yield slip

    def report(self, outcome: Outcome) -> None:
        slip = outcome.slip
        self.survivors += outcome.result == "survived"
        old = (ROOT / slip.file).read_text()[slip.start : slip.end]
        row = {
            "result": outcome.result,
            "place": f"{slip.file}:{slip.line}",
            "kind": slip.kind,
            "old": old,
            "new": slip.new,
            "covering": outcome.covering,
            "tried": outcome.tried,
            "by": outcome.by,
        }
        if self.asked.json:
            self.say(json.dumps(row))
        elif outcome.result == "survived":
            tried = f"{outcome.tried} of {outcome.covering} tests"
            self.say(f"{row['place']}: {slip.kind} ({tried}): {' '.join(old.split())}  ->  {slip.new}")

    @functools.cached_property
    def _out(self) -> int:
        return os.dup(1)

    def say(self, line: str) -> None:
        os.write(self._out, f"{line}\n".encode())

    # -- in a fork ----------------------------------------------------------------------------------------------------

    def work(self, slip: Slip | None, tests: list[str], pipe: int) -> None:
        """Put the slip in its place, run the tests until one fails, say so and end."""
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        status = 1
        try:
            used = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
            problem = self.plant(slip) if slip else ""
            if problem:
                os.write(pipe, f"untried: {problem}\n".encode())
            else:
                os.write(pipe, (self.run(tests, pipe) or "passed\n").encode())
            status = 0
        finally:
            os._exit(status)

    def plant(self, slip: Slip) -> str:
        """Change the code of functions that exist; what hinders it, if anything."""
        path = ROOT / slip.file
        text = path.read_text()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                changed = compile(slip.plant(text), str(path), "exec", dont_inherit=True)
            except SyntaxError as error:
                return f"no syntax: {error}"
        new = {(c.co_name, c.co_firstlineno): c for c in _within(changed)}
        count = 0
        for function in self.functions[str(path)]:
            code = new.get((function.__code__.co_name, function.__code__.co_firstlineno))
            if code is None or code == function.__code__:
                continue
            if code.co_freevars != function.__code__.co_freevars:
                return "another closure"
            function.__code__ = code
            count += 1
        if not count:
            return "nothing that exists changes"
        for memo in self.memos:
            memo.cache_clear()
        return ""

    def run(self, tests: list[str], pipe: int) -> str:
        """The first test that fails, as a line to say, or nothing."""
        items = [self.items[t] for t in tests]
        failed: list[str] = []

        class Watch:
            def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
                if report.failed:
                    failed.append(report.nodeid)

        items[0].config.pluginmanager.register(Watch())
        for item, following in zip(items, [*items[1:], None]):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if failed:
                return f"failed {failed[0]}\n"
        return ""


def _within(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _within(constant)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.forked")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--tests", nargs="*", default=["tests"])
    asked = parser.parse_args()
    asked.folder = asked.folder.resolve()
    forks = Forks(asked)
    options = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=brief"]
    os.chdir(ROOT)
    ended = pytest.main([*options, *asked.tests], plugins=[forks])
    return int(ended not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED) or forks.survivors > 0)


if __name__ == "__main__":
    sys.exit(main())
