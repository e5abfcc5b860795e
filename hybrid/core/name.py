"""Names for symbols that were not given one: ``fullyconnected0``, ``fullyconnected1``, ..."""

from __future__ import annotations

from .scope import Scope


class NameManager(Scope):
    """Counts per hint. ``with NameManager():`` starts counting anew; ``NameManager.current`` is the one in force.

    Examples
    --------
    >>> from gluonnx import mx
    >>> with mx.name.NameManager():
    ...     print(mx.sym.relu(mx.sym.var("x")).name)
    relu0
    """

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}

    def get(self, name: str | None, hint: str) -> str:
        """The name itself, or when there is none the hint with the next free number.

        Examples
        --------
        >>> from gluonnx import mx
        >>> names = mx.name.NameManager()
        >>> names.get(None, "conv"), names.get(None, "conv"), names.get("mine", "conv")
        ('conv0', 'conv1', 'mine')
        """
        if name:
            return name
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"


class Prefix(NameManager):
    """Puts a prefix before every name, given or made. ``with Prefix("resnet_"):``

    Examples
    --------
    >>> from gluonnx import mx
    >>> with mx.name.Prefix("net_"):
    ...     print(mx.sym.relu(mx.sym.var("x"), name="act").name)
    net_act
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        return self._prefix + super().get(name, hint)
