"""Losses, against MXNet's recorded answers."""

import numpy as np
import pytest

from hybrid import nd
from hybrid.gluon import loss
from tests.gluon import recorded
from tests.gluon.recorded import Case

CASES = recorded.cases("loss")
ALL = pytest.mark.parametrize("case", [pytest.param(c, id=c.said["id"]) for c in CASES])
TRAINED = pytest.mark.parametrize(
    "case", [pytest.param(c, id=c.said["id"]) for c in CASES if c.said.get("train", True)]
)


def modes(case: Case) -> tuple[bool, ...]:
    """SDMLLoss needs the number of rows: arrays only."""
    return (False,) if case.said["id"] == "SDMLLoss" else (False, True)


@ALL
def test_description(case: Case) -> None:
    recorded.check_description(case)


@ALL
def test_inference(case: Case) -> None:
    for hybridize in modes(case):
        recorded.check_inference(case, hybridize)


@TRAINED
def test_training(case: Case) -> None:
    for hybridize in modes(case):
        recorded.check_training(case, hybridize)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: loss.LogisticLoss(label_format="x"), ValueError, "signed or binary"),
        (lambda: loss.CTCLoss(layout="x"), AssertionError, "'NTC' and 'TNC'"),
        (lambda: loss.CTCLoss(label_layout="x"), AssertionError, "'NT' and 'TN'"),
        (lambda: loss.L1Loss(weight="a")(nd.ones((2,)), nd.ones((2,))), AssertionError, "weight must be a number"),
        (lambda: loss.SDMLLoss()(nd.ones((2, 3)), nd.ones((3, 3))), AssertionError, "of one shape"),
    ],
)
def test_what_losses_refuse(make, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_names() -> None:
    assert loss.SoftmaxCELoss is loss.SoftmaxCrossEntropyLoss
    assert loss.SigmoidBCELoss is loss.SigmoidBinaryCrossEntropyLoss
    assert repr(loss.L2Loss()) == "L2Loss(batch_axis=0, w=1.0)"


def test_counts_of_none_and_one_have_no_approximation_of_their_factorial() -> None:
    target = np.array([[0, 1, 2], [5, 0, 9]], np.float32)
    pred = np.linspace(-1, 1, 6).reshape(2, 3).astype(np.float32)
    some = np.where(target > 1, target, 2)
    stirling = np.where(target > 1, some * np.log(some) - some + 0.5 * np.log(2 * some * np.pi), 0)
    want = (np.exp(pred) - target * pred + stirling).mean()
    for hybrid in (False, True):
        made = loss.PoissonNLLLoss(compute_full=True)
        if hybrid:
            made.hybridize()
        np.testing.assert_allclose(made(nd.array(pred), nd.array(target)).asnumpy(), want, rtol=1e-6)
