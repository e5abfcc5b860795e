"""Watching what executors compute. ``mx.monitor``, also ``mx.mon``."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

from .executor import Executor
from .initializer import root_mean_square
from .ndarray import NDArray


class Monitor:
    """Every ``interval`` batches, stat_func (by default the root mean square) of what operators give, and of arguments and
    auxiliary states.

    pattern: a regular expression that names start with; sort: by name; monitor_all: inputs of operators too.
    ``tic()`` before a batch and ``toc()`` after it, which gives (batch, name, text) triples. Source: MXNet Monitor.

    Examples
    --------
    >>> from gluonnx import mx
    >>> executor = mx.sym.relu(mx.sym.var("x"), name="act").simple_bind(mx.cpu(), x=(2,))
    >>> monitor = mx.mon.Monitor(interval=1, stat_func=lambda array: array.max(), pattern="act")
    >>> monitor.install(executor)
    >>> monitor.tic()
    >>> _ = executor.forward(x=mx.nd.array([-1, 2]))
    >>> [(batch, name) for batch, name, text in monitor.toc()]
    [(1, 'act_output')]
    """

    def __init__(
        self,
        interval: int,
        stat_func: Callable[[NDArray], Any] | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ):
        self.interval = interval
        self.stat_func = stat_func or root_mean_square
        self.re_prog = re.compile(pattern)
        self.sort = sort
        self.monitor_all = monitor_all
        self.activated = False
        self.queue: list[tuple[int, str, Any]] = []
        self.step = 0
        self.exes: list[Executor] = []

    def stat_helper(self, name: str, array: NDArray) -> None:
        """Take note of one array by its name; what executors call.

        Examples
        --------
        >>> from gluonnx import mx
        >>> monitor = mx.mon.Monitor(interval=1, stat_func=lambda array: array.max())
        >>> monitor.tic()
        >>> monitor.stat_helper("act_output", mx.nd.array([1, 2]))
        >>> [(batch, name, text.strip()) for batch, name, text in monitor.toc()]
        [(1, 'act_output', '2.0')]
        """
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, str(name), self.stat_func(array)))

    def install(self, exe: Executor) -> None:
        """Watch an executor, exe."""
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.exes.append(exe)

    def tic(self) -> None:
        """A batch begins: watch it if its turn has come."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """Return what was seen of the batch, and stop watching; nothing when its turn had not come.

        Raises AssertionError when stat_func gives anything but an NDArray or a list of them."""
        if not self.activated:
            return []
        for exe in self.exes:
            for name, array in (*exe.arg_dict.items(), *exe.aux_dict.items()):
                self.stat_helper(name, array)
        self.activated = False
        seen = sorted(self.queue, key=lambda entry: entry[1]) if self.sort else self.queue
        self.queue = []
        return [(step, name, _text(value)) for step, name, value in seen]

    def toc_print(self) -> None:
        """toc, logged line by line.

        Examples
        --------
        >>> from gluonnx import mx
        >>> monitor = mx.mon.Monitor(interval=1, stat_func=lambda array: array.max())
        >>> monitor.tic()
        >>> monitor.stat_helper("act_output", mx.nd.array([1, 2]))
        >>> monitor.toc_print()  # a line for each array, at level INFO
        >>> monitor.toc()
        []
        """
        for step, name, text in self.toc():
            logging.info("Batch: %7d %-30s %s", step, name, text)


def _text(value: Any) -> str:
    """Statistics as text, each followed by a tab."""
    values = [value] if isinstance(value, NDArray) else value
    if not isinstance(values, list) or not all(isinstance(v, NDArray) for v in values):
        raise AssertionError(f"stat_func gave {type(value).__name__}, wanted an NDArray or a list of them")
    # str, as format would show a float32 with the digits of a float64
    return "".join(str(v.asscalar() if v.shape == (1,) else v.asnumpy()) + "\t" for v in values)
