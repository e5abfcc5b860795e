"""``python launch.py ours|real [-m MODULE | SCRIPT] [ARGUMENT ...]`` in the side environment: an old program, on either engine.

Needs nothing but the standard library before the program begins. What Python took away since MXNet's time (3.10, 3.11) is given
back to both engines alike."""

import collections
import collections.abc
import inspect
import os
import runpy
import sys
import typing


def give_back() -> None:
    """Put names where programs for Python 3.7 look for them."""
    for name in ("Callable", "Iterable", "Iterator", "Mapping", "MutableMapping", "Sequence", "Sized"):
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))
    if not hasattr(inspect, "getargspec"):
        spec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")
        inspect.__dict__["getargspec"] = lambda f: spec(*inspect.getfullargspec(f)[:4])
    meta, plain = vars(typing)["NamedTupleMeta"], vars(typing)["_NamedTuple"]
    made = meta.__new__

    def new(cls: type, name: str, bases: tuple[type, ...], namespace: dict) -> type:
        # bases beside NamedTuple were left out in silence
        return made(cls, name, tuple(b for b in bases if b in (plain, typing.Generic)), namespace)

    meta.__new__ = new


def main() -> None:
    _, engine, *rest = sys.argv
    give_back()
    if engine == "ours":
        import hybrid

        hybrid.install_as_mxnet()
    if rest[0] == "-m":
        sys.argv = rest[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(rest[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = rest
        sys.path[0] = os.path.dirname(os.path.abspath(rest[0]))
        runpy.run_path(rest[0], run_name="__main__")


if __name__ == "__main__":
    main()
