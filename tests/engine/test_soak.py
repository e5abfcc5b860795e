"""The long run of many threads (tests/soak.py) runs what it is given and tells what was wrong."""

import numpy as np

from tests.soak import soak, train


def test_threads_train_as_one_alone_does() -> None:
    alone = [train(number) for number in range(2)]

    def again(number: int) -> None:
        for got, want in zip(train(number), alone[number], strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)

    found = soak(0.01, 3, {f"{n}": lambda _, n=n: again(n) for n in range(2)})
    assert not found.problems
    assert found.runs >= 3


def test_what_is_wrong_is_told() -> None:
    def wrong(_: np.random.Generator) -> None:
        if len(seen) > 3:
            raise AssertionError("another number")
        seen.append(1)

    seen: list[int] = []
    found = soak(0.001, 2, {"one": wrong})
    assert set(found.problems) == {"one: AssertionError: another number"}
