"""The pytest plugin: the fixture ``gluonnx``, the marker of that name, and ``--gluonnx-update``.

    def test_resnet(gluonnx):
        gluonnx.assert_equivalent("models/resnet", "models/resnet.onnx", baseline="baselines/resnet.npz")

    @pytest.mark.gluonnx("models/resnet", "models/resnet.onnx")
    def test_resnet_again(): ...

    def test_snapshot(gluonnx):
        gluonnx.check_recorded("models/resnet.onnx", {"data": (1, 3, 224, 224)})

pytest loads this at every start, so what compares loads in the functions, when a test first asks."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .recorded import Recording
    from .result import VerifyResult

LONGEST = 120  # characters of the name of a report
OPTIONS = ("params", "outputs", "ranges", "seed", "runs", "engine", "draws")
"""Those of check_recorded that are record's."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --gluonnx-update."""
    group = parser.getgroup("gluonnx", "models")
    group.addoption(
        "--gluonnx-update", action="store_true", help="write the recordings of gluonnx.check_recorded anew, and pass"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        "gluonnx(a, b=None, **options): before the test's body, assert that two models are equivalent; what "
        "gluonnx.assert_equivalent takes",
    )


@pytest.fixture
def gluonnx(request: pytest.FixtureRequest) -> Gluonnx:
    """Assertions about models: assert_equivalent, check_recorded."""
    return Gluonnx(request.node)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Compare what markers name, and then run the test."""
    __tracebackhide__ = True
    for mark in pyfuncitem.iter_markers("gluonnx"):
        Gluonnx(pyfuncitem).assert_equivalent(*mark.args, **mark.kwargs)
    return (yield)


class Gluonnx:
    """The fixture: assertions about models, for one test.

    Relative paths start from the test's folder where something is there, else from pytest's root folder, else from the current
    one."""

    def __init__(self, item: Any):
        self._item = item
        self._count = 0

    def assert_equivalent(
        self,
        a: Any,
        b: Any = None,
        *,
        inputs: Any = None,
        baseline: Any = None,
        tolerance: Any = None,
        params: Any = None,
        names: Mapping[str, str] | None = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        outputs: str | Sequence[str] | None = None,
        seed: int = 0,
        runs: int = 1,
        little: bool = False,
        fail_on: str | Sequence[str] | None = None,
        **other: Any,
    ) -> VerifyResult:
        """Assert that two models are equivalent, or that one gives what was recorded; gives the result.

        a, b, inputs, params, names, ranges, outputs, seed, runs: as bridge.verify takes them. baseline: its expected, without which
        b is needed. tolerance: (atol, rtol), or rules as in gluonnx.toml: {"atol": 1e-5, "fc1_output": {"cosine": 0.9999}}. little:
        True where agreement that says little (of constant or saturated outputs) is enough. fail_on: reasons to fail, in the words
        of gluonnx.toml (which this does not read), such as ["differs", "changed"]; by default all but "changed".

        Fails for what ``gluonnx check`` fails for by default: also where models differ and none of the inputs reaches it (but
        for little), where inputs or outputs are not those of the baseline, and where a file drifted from it. Warns where a pass
        says less than it seems to, as of an atol as large as the outputs. Raises TypeError for arguments that there are not
        (other)."""
        __tracebackhide__ = True
        _refuse(other, "assert_equivalent", ())
        from . import verify
        from .paths import one_or_more
        from .project.check import found_in, judged
        from .project.config import REASONS, Rules, as_reasons, as_rules
        from .project.results import WORDS

        reasons = REASONS if fail_on is None else as_reasons(fail_on)
        a, b, inputs, baseline, params = map(self._found, (a, b, inputs, baseline, params))
        first, second = (self._opened(m, params) for m in (a, b))
        if first is not a and (second is not b or b is None):
            params = None  # they have them
        told: dict[str, Any] = {
            "inputs": inputs,
            "expected": baseline,
            "params": params,
            "names": names,
            "ranges": ranges,
        }
        told |= {"outputs": outputs, "seed": seed, "runs": runs, "steps": baseline is None}
        if isinstance(tolerance, Mapping):
            rules = as_rules(tolerance)
            result = judged(rules, lambda limits: verify(first, second, tolerance=limits, **told))
        else:
            result = judged(Rules(), lambda _limits: verify(first, second, tolerance=tolerance, **told))
        found = found_in(result, first, second, baseline, one_or_more(outputs))
        failing = [r for r in reasons if not (little and r in ("says-little", "unreached"))]
        if found.unknown and "changed" in reasons:
            raise AssertionError("\n".join(found.unknown))
        wrong = [f"{WORDS[r].upper()}: {words}" for r in found.found if r in failing for words in found.found[r]]
        if wrong:
            shown = [] if result.verdict == "not equivalent" and "differs" in failing else wrong
            raise AssertionError(self._message(result, shown))
        for words in (*found.notes, *(w for r in found.found if r != "says-little" for w in found.found[r])):
            warnings.warn(words, stacklevel=2)
        return result

    def check_recorded(
        self, model: Any, inputs: Any = None, *, name: str | None = None, tolerance: Any = None, **options: Any
    ) -> Recording:
        """Assert that a model still gives what was recorded beside the test, in ``TEST_FILE/NAME.npz``; gives the recording.

        Without one it is written, and the test fails once, so that somebody looks at it; with --gluonnx-update (or
        pytest-regressions' --regen-all, and --force-regen, which fails) it is written anew.

        model, inputs, options (params, outputs, ranges, seed, runs): as bridge.record takes them. name: by default the test's.
        tolerance: as assert_equivalent takes it."""
        __tracebackhide__ = True
        _refuse(options, "check_recorded", OPTIONS)
        from . import load_recording, record

        model, inputs, params = map(self._found, (model, inputs, options.pop("params", None)))
        place = Path(self._item.path).with_suffix("") / f"{_file_name(name or self._item.name)}.npz"
        told: dict[str, Any] = {"params": params, **options}
        if not place.exists():
            place.parent.mkdir(exist_ok=True)
            recording = record(model, inputs, place, **told)
            if self._asked("gluonnx_update", "regen_all"):
                return recording
            pytest.fail(f"no recording yet: wrote {place}; look at it, commit it, and run again", pytrace=False)
        kept = load_recording(place)
        if self._asked("gluonnx_update", "regen_all", "force_regen") and not kept.by_mxnet:
            recording = record(model, kept if inputs is None and not kept.drawn else inputs, place, **told)
            if self._asked("force_regen"):
                pytest.fail(f"--force-regen: wrote {place} anew", pytrace=False)
            return recording
        self._assert_inputs(kept, model, inputs, place, options)
        self.assert_equivalent(
            model, baseline=kept, tolerance=tolerance, params=params, outputs=options.get("outputs"), little=True
        )
        return kept

    def _assert_inputs(self, kept: Recording, model: Any, inputs: Any, place: Path, options: Mapping[str, Any]) -> None:
        """Fail where arrays that are given, or what is said of draws, are others than those recorded."""
        __tracebackhide__ = True
        told = f"{place} was recorded on other inputs; --gluonnx-update records it anew"
        if kept.drawn:
            ranges = {n: list(map(float, ends)) for n, ends in (options.get("ranges") or {}).items()}
            seed = options.get("seed", 0)
            if kept.facts.get("ranges") != ranges or kept.facts.get("seed", seed) != seed:
                pytest.fail(told, pytrace=False)
        if inputs is None:
            return
        import numpy as np

        from .inputs import as_specs
        from .models import open_model
        from .recorded import feeds_of

        given = [as_specs(each) for each in feeds_of(inputs, open_model(model))]
        same = len(given) == len(kept.asked) and all(
            n in run.inputs
            and run.inputs[n].shape == spec.shape
            and (n not in arrays or np.array_equal(run.inputs[n], arrays[n]))
            for (specs, arrays), run in zip(given, kept.asked)
            for n, spec in specs.items()
        )
        if not same:
            pytest.fail(told, pytrace=False)

    def _asked(self, *options: str) -> bool:
        """True where one of these options was given; some are those of another plugin, which may not be there."""
        return any(self._item.config.getoption(name, False) for name in options)

    def _found(self, given: Any) -> Any:
        """A relative path, or the prefix of a model, from where it is; anything else as it is."""
        if isinstance(given, list | tuple) and any(isinstance(one, str | os.PathLike) for one in given):
            return [self._found(one) for one in given]
        if not isinstance(given, str | os.PathLike) or Path(given).is_absolute():
            return given
        for folder in (Path(self._item.path).parent, self._item.config.rootpath):
            path = folder / given
            if path.exists() or path.with_name(f"{path.name}-symbol.json").exists():
                return path
        return Path(given)

    @staticmethod
    def _opened(given: Any, params: Any) -> Any:
        """A model that is given by its path, opened with its parameters; anything else as it is."""
        from .models import open_model
        from .paths import is_onnx_file

        if not isinstance(given, str | os.PathLike) or (is_onnx_file(given) and params is not None):
            return given
        return open_model(given, params)

    def _message(self, result: VerifyResult, wrong: Sequence[str] = ()) -> str:
        """The text of a failure, and where the report is. wrong: what the result itself does not say; it comes first, for pytest's
        summary has the first line alone."""
        report = self._write_report(result)
        text = "\n".join((*wrong, str(result).rstrip()))
        return f"{text}{f'{os.linesep}report: {report}' if report else ''}"

    def _write_report(self, result: VerifyResult) -> str:
        """Write the HTML report into pytest's cache; gives where, or nothing where there is no cache."""
        cache = getattr(self._item.config, "cache", None)
        if cache is None:
            return ""
        from . import report

        self._count += 1
        number = f"-{self._count}" if self._count > 1 else ""
        path = cache.mkdir("gluonnx") / f"{_file_name(self._item.nodeid)}{number}.html"
        command = f"pytest {self._item.nodeid}"
        report.save(report.verify_table(result), path, command, result.as_dict())
        root = self._item.config.rootpath
        return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _refuse(given: Mapping[str, Any], function: str, known: Sequence[str]) -> None:
    """Raise TypeError for arguments that a function has not, with what to give for those that others call so."""
    __tracebackhide__ = True
    unknown = [n for n in given if n not in known]
    if not unknown:
        return
    limits = [n for n in unknown if n in ("atol", "rtol", "cosine")]
    hint = (
        '; give tolerance=(atol, rtol), or rules such as tolerance={"atol": 1e-5, "cosine": 0.9999}' if limits else ""
    )
    raise TypeError(f"gluonnx.{function} has no {', '.join(unknown)}{hint}")


def _file_name(text: str) -> str:
    """A name for a file, from that of a test with its parameters."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[-LONGEST:] or "test"
