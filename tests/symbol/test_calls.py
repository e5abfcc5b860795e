"""Calls of mx.sym give what they gave in MXNet: names, attributes, JSON to the blank, values, kinds of errors."""

import json
import re
import warnings
from pathlib import Path

import pytest

import hybrid as mx
from tests.grouped import over
from tests.symbol.calls import result, texts

RECORDED = json.loads((Path(__file__).parents[2] / "fixtures" / "symbol" / "calls.json").read_text(encoding="utf-8"))

SAYS_MORE = {
    "fc.infer_shape_partial()": "num_hidden alone tells the shape of the bias",
}
HIDDEN_OUTPUTS = {
    "S.Pooling(a, kernel=2)": "MXNet's MKLDNN build counts a workspace as an output",
}
"""Of these everything but node_row_ptr is compared."""


def test_all_calls_are_recorded() -> None:
    assert texts() == list(RECORDED)


def as_json(value: object) -> object:
    return json.loads(json.dumps(value))


def rowless(value: dict) -> dict:
    return {**value, "json": {k: v for k, v in json.loads(value["json"]).items() if k != "node_row_ptr"}}


@over("text", [t for t in texts() if t not in SAYS_MORE])
def test_call(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = as_json(result(text, mx))
    wanted = RECORDED[text]
    if isinstance(wanted, dict) and "raises" in wanted:
        assert isinstance(got, dict) and "raises" in got, f"no error where MXNet raised {wanted['raises']}"
        assert wanted["raises"][0] in got["raises"]
    elif text in HIDDEN_OUTPUTS:
        assert rowless(got) == rowless(wanted)
    else:
        assert unnumbered(got) == unnumbered(wanted)


NUMBERED = re.compile(
    r"\b((?:foreach|while_loop_cond|while_loop_func|loop_cond|loop_func|cond_pred|cond_then|cond_else))\d+"
)


def unnumbered(value: object) -> object:
    """Without the numbers in names of subgraphs, which count through the life of a process."""
    return json.loads(NUMBERED.sub(r"\1", json.dumps(value)))


def test_messages_of_the_tutorials() -> None:
    a = mx.sym.var("a")
    with pytest.raises(AttributeError, match=r"^'Symbol' object has no attribute 'shape'$"):
        a.shape  # noqa: B018
    for call in (a.asnumpy, a.asscalar, a.wait_to_read, a.detach, a.backward, a.copy):
        with pytest.raises(NotImplementedError, match="is not implemented for Symbol and only available in NDArray"):
            call()
    for operator in ("iadd", "isub", "imul", "itruediv", "imod"):
        with pytest.raises(mx.error.NotImplementedForSymbol, match=f"__{operator}__"):
            getattr(a, f"__{operator}__")(a)


def test_backends_leave_the_symbol_as_it_is() -> None:
    a = mx.sym.relu(mx.sym.var("a"))
    with pytest.warns(UserWarning, match="no backend 'MKLDNN'"):
        assert a.optimize_for("MKLDNN") is a
    with pytest.raises(mx.MXNetError, match="leave the call out"):
        a.get_backend_symbol("MKLDNN")
