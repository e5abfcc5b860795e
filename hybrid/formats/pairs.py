"""Symbols and the parameters that belong to them, written so that a mixed pair is noticed.

Each file of a pair is whole at any time (files.py), but a process can be killed between the two renames, or a copy stop between
two files. So the symbol says by which digest it knows the parameters that were written with it: for every file a member of
``attrs``, which MXNet 1.9.1 reads over. Files of parameters stay what MXNet writes, to the byte.

A symbol without such a mark (MXNet's own) is taken as it is, and so are parameters that it does not name.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ..core.error import MixedFiles, MXNetError
from .files import find_finished, open_file, replacing_all
from .params import encode_list

MARK = "gluonnx_params"
_MARKED = re.compile(rb'"%s":\s*\[\s*"str",\s*("(?:[^"\\]|\\.)*")' % MARK.encode())
Text = Callable[[Mapping[str, Any]], str]
"""The text of a file about a network, given what else is to stand in its ``attrs``."""


def save(descriptions: Mapping[str, Text], target: str | os.PathLike[str], arrays: Any) -> None:
    """Write parameters (a dict, as params.save takes it) and the files that describe their network, all at once.

    descriptions: by path. A description that is there already and stays as it is keeps what it knows of other parameters beside
    it, as checkpoints of several epochs are, and of those that are replaced: they fit it too, should that be cut short."""
    content = encode_list(arrays)
    digest = _digest(content)
    texts = []
    for path, text in descriptions.items():
        others, key = _others(path, text), _key(path, target)
        before = others.get(key, "").split()[:1]
        texts.append(text(_mark({**others, key: " ".join(dict.fromkeys((digest, *before)))})).encode())
    # the description first: one without a mark, from before, would not notice new parameters beside it
    with replacing_all(*descriptions, target) as files:
        for file, body in zip(files, texts):
            file.write(body)
        files[-1].writelines(content)


def check(description: str | os.PathLike[str], parameters: str | os.PathLike[str]) -> None:
    """Warn (MixedFiles) of parameters that are others than those that the description was written with."""
    known = _read_digests(description).get(_key(description, parameters))
    if known is None:
        return
    got = _digest_of(parameters)
    if got not in known.split():
        part = find_finished(
            os.path.dirname(os.path.abspath(parameters)), lambda path: _digest_of(path) in known.split()[:1]
        )
        rescue = f" (those that belong to it are whole, in {part}: rename that file)" if part else ""
        warnings.warn(
            f"{os.fspath(parameters)} and {os.fspath(description)} were not written together: the first has the digest {got}, "
            f"the second names {known}. Either writing them was cut short, and they do not belong together{rescue}: save or "
            "fetch both again; or the parameters were replaced on purpose: save the symbol again by itself (symbol.save)",
            MixedFiles,
            stacklevel=3,
        )


def _key(description: str | os.PathLike[str], parameters: str | os.PathLike[str]) -> str:
    """Name by which a description calls a file of parameters: without the prefix that both have, so that both can be
    renamed."""
    prefix = re.sub(r"(-symbol|-model)?\.json$", "", os.path.basename(description))
    return os.path.basename(parameters).removeprefix(prefix).lstrip("-.")


def _mark(known: Mapping[str, str]) -> dict[str, Any]:
    return {MARK: ["str", json.dumps(known)]}


def _read_digests(description: str | os.PathLike[str]) -> dict[str, str]:
    """The digests in a description; none for one that has no mark, or a damaged one."""
    try:
        with open_file(description) as file:
            found = _MARKED.findall(file.read())
        known = json.loads(json.loads(found[-1])) if found else {}
    except (OSError, ValueError, RecursionError, MXNetError):
        return {}
    fine = isinstance(known, dict) and all(isinstance(v, str) for v in known.values())
    return known if fine else {}


def _others(path: str, text: Text) -> dict[str, str]:
    """Entries of the description at path for other parameters that still are beside it, if it is the very one to be written."""
    known = _read_digests(path)
    if not known or Path(path).read_bytes() != text(_mark(known)).encode():
        return {}
    folder, name = os.path.split(path)
    prefix = re.sub(r"(-symbol|-model)?\.json$", "", name)
    return {
        k: v for k, v in known.items() if any(os.path.exists(os.path.join(folder, f"{prefix}{c}{k}")) for c in "-.")
    }


def _digest_of(path: str | os.PathLike[str]) -> str:
    with open_file(path) as file:
        return _digest(iter(lambda: file.read(1 << 20), b""))


def _digest(chunks: Iterable[Any]) -> str:
    found = hashlib.blake2b(digest_size=16)
    for chunk in chunks:
        found.update(chunk)
    return found.hexdigest()
