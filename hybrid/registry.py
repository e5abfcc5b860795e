"""Tables of classes by name, from which objects are made of texts. ``mx.registry``."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

_TABLES: dict[type, dict[str, type]] = {}

__all__ = ["get_alias_func", "get_create_func", "get_register_func", "get_registry"]


def get_registry(base_class: type) -> dict[str, type]:
    """The classes registered for a base class by name; a copy."""
    return dict(_TABLES.setdefault(base_class, {}))


def get_register_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """A function ``register(klass, name=None)``, also a decorator, for subclasses of base_class."""
    table = _TABLES.setdefault(base_class, {})

    def register(klass: Any, name: str | None = None) -> Any:
        if not issubclass(klass, base_class):
            raise AssertionError(f"Can only register subclass of {base_class.__name__}")
        key = (name or klass.__name__).lower()
        if key in table:
            before = table[key]
            warnings.warn(
                f"New {nickname} {klass.__module__}.{klass.__name__} registered with name {key} is overriding "
                f"existing {nickname} {before.__module__}.{before.__name__}",
                UserWarning,
                stacklevel=2,
            )
        table[key] = klass
        return klass

    register.__doc__ = (
        f"Register a subclass of {base_class.__name__}, klass, under its name, or another one. Decorator.\n\n"
        "Warns where the name is taken. Raises AssertionError for any other class."
    )
    return register


def get_alias_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """A decorator factory ``alias(*names)`` that registers a class under further names."""
    register = get_register_func(base_class, nickname)

    def alias(*aliases: str) -> Callable[[Any], Any]:
        def decorate(klass: Any) -> Any:
            for name in aliases:
                register(klass, name)
            return klass

        return decorate

    alias.__doc__ = f"Register a subclass of {base_class.__name__} under further names, aliases. Decorator."
    return alias


def get_create_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """A function ``create(name, *args, **kwargs)``.

    It also takes an object (and gives it back), a dict of arguments with the name under nickname, and as JSON text
    ``["name", {arguments}]`` or such a dict. It raises AssertionError for names that are not registered."""
    table = _TABLES.setdefault(base_class, {})

    def create(*args: Any, **kwargs: Any) -> Any:
        name, args = (args[0], args[1:]) if args else (kwargs.pop(nickname), ())
        ready = isinstance(name, base_class)
        if (ready or (isinstance(name, str) and name[:1] in ("[", "{"))) and (args or kwargs):
            raise AssertionError(f"{nickname} is already an instance. Additional arguments are invalid")
        if ready:
            return name
        if isinstance(name, dict):
            return create(**name)
        if not isinstance(name, str):
            raise AssertionError(f"{nickname} must be of string type")
        if name.startswith("["):
            word, options = json.loads(name)
            return create(word, **options)
        if name.startswith("{"):
            return create(**json.loads(name))
        if name.lower() not in table:
            raise AssertionError(f"{name.lower()} is not registered. Please register with {nickname}.register first")
        return table[name.lower()](*args, **kwargs)

    create.__doc__ = (
        f"Make the {nickname} of a name and its arguments; an object is given back as it is.\n\n"
        "Raises AssertionError for a name that is not registered, and for arguments besides an object."
    )
    return create
