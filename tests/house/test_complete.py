"""Nothing is half there: every operator can be tested, and every gap says why it is one."""

import json
from pathlib import Path

from converters.registry import EXPORT, NOT_EXPORTED, OLDEST
from hybrid.core.op import BACKWARD, FUSED, OPS, REGISTRY
from hybrid.ops.absent import ABSENT
from hybrid.ops.control import ControlFlow
from hybrid.ops.onnx.base import Collected
from hybrid.ops.subgraph import Fused
from tests.table.examples import examples
from tests.table.goldens import cases


def test_every_operator_has_examples_or_goldens() -> None:
    shown = {e.op.name for e in examples()} | {REGISTRY[c.operator].name for c in cases()}
    # the bodies of control flow belong to its nodes: tests/graph/test_control_json.py
    # sequences, optionals and maps are no arrays: tests/converters/test_import_sequence.py, test_import_ml.py
    # what is fused belongs to its nodes too: tests/ops/test_subgraph.py and the quantised networks of tests/models
    alone = {name for name, cls in OPS.items() if not issubclass(cls, ControlFlow | Collected | Fused)}
    alone -= {"Custom"}  # what it does is its user's: tests/operator
    assert not alone - shown


def test_every_gap_has_a_reason() -> None:
    assert not {name: reason for name, reason in NOT_EXPORTED.items() if len(reason.split()) < 3}


def test_every_operator_is_exported_from_the_oldest_opset_on_or_says_since_when() -> None:
    for name, versions in EXPORT.items():
        assert min(versions) >= OLDEST, name
    assert set(EXPORT) <= set(OPS), "translations go by canonical names"


def test_every_name_leads_to_one_operator() -> None:
    for name, cls in REGISTRY.items():
        assert name == cls.name or name in cls.aliases
        assert REGISTRY[cls.name] is cls
        assert cls.name in OPS or cls.name.startswith((BACKWARD, FUSED))


def test_every_operator_of_mxnet_is_here_or_says_why_not() -> None:
    listed = json.loads((Path(__file__).parents[2] / "fixtures/api/mxnet-1.9.1-operators.json").read_text())["groups"]
    names = {n for group in listed.values() for canonical, others in group.items() for n in others or [canonical]}
    assert sorted(n for n in names if n not in REGISTRY and n not in ABSENT) == []
    assert sorted(n for n in ABSENT if n in REGISTRY or n not in names) == []
    assert not {name: reason for name, reason in ABSENT.items() if len(reason.split()) < 3}
