"""Surroundings of tests: contexts, environment variables, stderr, features."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..context import Context, current_context
from ..io import DataBatch, DataIter
from ..ndarray import waitall
from ..runtime import Features
from ..util import get_gpu_count, getenv, setenv


def default_context() -> Context:
    """The context that tests use: the current one.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.default_context()
    cpu(0)
    """
    return current_context()


def set_default_context(ctx: Context) -> None:
    """Make a context the current one of this thread, outside of ``with`` blocks.

    Examples
    --------
    >>> from gluonnx import mx
    >>> before = mx.test_utils.default_context()
    >>> mx.test_utils.set_default_context(mx.cpu(1))
    >>> mx.nd.ones(2).context
    cpu(1)
    >>> mx.test_utils.set_default_context(before)
    """
    Context._threads.__dict__["default"] = ctx


def list_gpus() -> range:
    """The numbers of the GPUs.

    Examples
    --------
    >>> from gluonnx import mx
    >>> len(mx.test_utils.list_gpus()) == mx.num_gpus()
    True
    """
    return range(get_gpu_count())


def is_cd_run() -> bool:
    """True when the environment variable CD_JOB is 1.

    Examples
    --------
    >>> from gluonnx import mx
    >>> with mx.test_utils.environment("CD_JOB", "1"):
    ...     mx.test_utils.is_cd_run()
    True
    """
    return getenv("CD_JOB") == "1"


def is_aarch64_run() -> bool:
    """True on a 64-bit ARM.

    Examples
    --------
    >>> import platform
    >>> from gluonnx import mx
    >>> mx.test_utils.is_aarch64_run() == (platform.machine() == "aarch64")
    True
    """
    return platform.machine() == "aarch64"


def has_tvm_ops() -> bool:
    """False: there are no TVM operators.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.has_tvm_ops()
    False
    """
    return Features().is_enabled("TVM_OP")


def is_op_runnable() -> bool:
    """True: there is no GPU that would be too old.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.test_utils.is_op_runnable()
    True
    """
    return True


@contextlib.contextmanager
def environment(*args: Any) -> Iterator[None]:
    """``with environment(name, value):`` or ``with environment({name: value}):`` sets environment variables, None removes one.

    Afterwards they are as they were.

    Examples
    --------
    >>> import os
    >>> from gluonnx import mx
    >>> with mx.test_utils.environment("OF_AN_EXAMPLE", "1"):
    ...     print(os.environ["OF_AN_EXAMPLE"])
    1
    >>> "OF_AN_EXAMPLE" in os.environ
    False
    """
    if len(args) == 1 and isinstance(args[0], Mapping):
        wanted = dict(args[0])
    elif len(args) == 2:
        wanted = {args[0]: args[1]}
    else:
        raise AssertionError("Expecting one dict arg or two args: env var name and value")
    before = {name: getenv(name) for name in wanted}
    try:
        for name, value in wanted.items():
            setenv(name, value)
        yield
    finally:
        waitall()  # what still runs belongs to the block
        for name, value in before.items():
            setenv(name, value)


@contextlib.contextmanager
def discard_stderr() -> Iterator[None]:
    """``with discard_stderr():`` nothing reaches stderr, not from other libraries either.

    Examples
    --------
    >>> import sys
    >>> from gluonnx import mx
    >>> with mx.test_utils.discard_stderr():
    ...     print("nobody reads this", file=sys.stderr)
    """
    try:
        number = sys.stderr.fileno()
    except (AttributeError, OSError):  # stderr is no file
        with contextlib.redirect_stderr(None):
            yield
        return
    sys.stderr.flush()
    kept = os.dup(number)
    try:
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            os.dup2(nowhere.fileno(), number)
            yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, number)
        os.close(kept)


def retry(n: int) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Decorator: call a test up to n times, until it raises no AssertionError.

    Examples
    --------
    >>> from gluonnx import mx
    >>> tries = []
    >>> @mx.test_utils.retry(3)
    ... def test_something_random():
    ...     tries.append(len(tries))
    ...     assert len(tries) == 2
    >>> test_something_random()
    >>> tries
    [0, 1]
    """
    if n <= 0:
        raise AssertionError(f"retry: got n={n}, wanted at least 1")

    def decorate(function: Callable[..., Any]) -> Callable[..., None]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> None:
            for _ in range(n - 1):
                try:
                    function(*args, **kwargs)
                except AssertionError:
                    waitall()
                else:
                    return
            function(*args, **kwargs)

        return wrapper

    return decorate


class DummyIter(DataIter):
    """Gives the first batch of an iterator for ever, to measure how fast everything else is.

    Examples
    --------
    >>> from gluonnx import mx
    >>> batches = mx.test_utils.DummyIter(mx.io.NDArrayIter(mx.nd.ones((4, 3)), batch_size=2))
    >>> [batches.next().data[0].shape for _ in range(3)]
    [(2, 3), (2, 3), (2, 3)]
    """

    def __init__(self, real_iter: Any):
        super().__init__()
        self.real_iter = real_iter
        self.provide_data = real_iter.provide_data
        self.provide_label = real_iter.provide_label
        self.batch_size = real_iter.batch_size
        self.the_batch = next(real_iter)

    def __iter__(self) -> DummyIter:
        return self

    def next(self) -> DataBatch:
        """The batch."""
        return self.the_batch
