"""The Updater: an optimizer with the states of all its weights, which can be saved and loaded."""

from __future__ import annotations

from typing import Any

from ..context import Context
from ..eager.faces import as_nd, as_np
from ..ndarray import NDArray
from . import states as files
from .base import Optimizer


class Updater:
    """Called with (index, gradient, weight), or with lists of them, it makes a state where there is none and updates.

    Parameters
    ----------
    optimizer : Optimizer
        The rule.

    Examples
    --------
    >>> from gluonnx import mx
    >>> updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9))
    >>> weight = mx.nd.array([1, 2])
    >>> updater(0, mx.nd.ones(2), weight)
    >>> weight.asnumpy(), updater.states[0].asnumpy()
    (array([0.5, 1.5], dtype=float32), array([-0.5, -0.5], dtype=float32))
    >>> updater.aggregate_updates
    True
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[Any, Any] = {}
        self.states_synced: dict[Any, bool] = {}

    @property
    def aggregate_updates(self) -> bool:
        """True when the optimizer takes several weights at once."""
        return self.optimizer.aggregate_num > 0

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        if not isinstance(index, list | tuple):
            index, grad, weight = [index], [grad], [weight]
        optimizer = self.optimizer
        grad, weight = map(as_np if optimizer.wants_np else as_nd, (list(grad), list(weight)))
        index = [i.decode() if isinstance(i, bytes) else i for i in index]
        if len(weight):
            optimizer._set_current_context(weight[0].context.device_id)
        for i, w in zip(index, weight):
            if i not in self.states:
                self.states[i] = optimizer.create_state_multi_precision(i, w)
            elif not self.states_synced[i]:
                self.states[i] = self.sync_state_context(self.states[i], w.context)
            self.states_synced[i] = True
        if not self.aggregate_updates:
            for i, w, g in zip(index, weight, grad):
                optimizer.update_multi_precision(i, w, g, self.states[i])
            return
        alike: dict[Any, list[tuple[Any, NDArray, NDArray]]] = {}
        for i, w, g in zip(index, weight, grad):
            alike.setdefault(w.dtype, []).append((i, w, g))
        size = optimizer.aggregate_num
        for group in alike.values():
            for start in range(0, len(group), size):
                indices, weights, grads = map(list, zip(*group[start : start + size]))
                optimizer.update_multi_precision(indices, weights, grads, [self.states[i] for i in indices])

    def sync_state_context(self, state: Any, context: Context) -> Any:
        """A state on a device, context: arrays, and tuples and lists of them.

        Examples
        --------
        >>> from gluonnx import mx
        >>> updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5))
        >>> updater.sync_state_context((mx.nd.ones(2), None), mx.cpu(1))[0].context
        cpu(1)
        """
        if isinstance(state, NDArray):
            return state.as_in_context(context)
        if isinstance(state, tuple | list):
            return type(state)(self.sync_state_context(part, context) for part in state)
        return state

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """All states, with dump_optimizer the optimizer too, as bytes that MXNet 1.9.1 reads too.

        Raises TypeError when there is something in them that such bytes cannot say.

        Examples
        --------
        >>> from gluonnx import mx
        >>> updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9))
        >>> updater(0, mx.nd.ones(2), mx.nd.ones(2))
        >>> other = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9))
        >>> other.set_states(updater.get_states())
        >>> other.states[0].asnumpy()
        array([-0.5, -0.5], dtype=float32)
        """
        return files.dump((self.states, self.optimizer) if dump_optimizer else self.states)

    def set_states(self, states: bytes, source: Any = None) -> None:
        """Take over states (and the optimizer, if there is one) from bytes of get_states, here or in MXNet.

        Nothing that the bytes say is executed. Raises FormatError for anything but states.

        source: the file they come from, for errors.

        Examples
        --------
        >>> from gluonnx import mx
        >>> updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9))
        >>> updater(0, mx.nd.ones(2), mx.nd.ones(2))
        >>> other = mx.optimizer.get_updater(mx.optimizer.SGD())
        >>> other.set_states(updater.get_states(dump_optimizer=True))
        >>> other.optimizer.momentum, other.states[0].asnumpy()
        (0.9, array([-0.5, -0.5], dtype=float32))
        """
        self.states, optimizer = files.load(states, source)
        self.optimizer = optimizer or self.optimizer
        self.states_synced = dict.fromkeys(self.states, False)


def get_updater(optimizer: Optimizer) -> Updater:
    """An Updater with the optimizer.

    Examples
    --------
    >>> from gluonnx import mx
    >>> updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5))
    >>> weight = mx.nd.array([1, 2])
    >>> updater(0, mx.nd.ones(2), weight)
    >>> weight.asnumpy()
    array([0.5, 1.5], dtype=float32)
    """
    return Updater(optimizer)
