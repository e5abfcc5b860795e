"""Variables as symbols, with what a program says of them: shape, dtype, initializer, storage type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core import functions
from ..core.attribute import AttrScope
from ..core.attrs import declare_dtype
from ..ir import json as symbol_json
from ..ir.graph import Entry, Node
from ..ir.storage import STYPES
from .symbol import Symbol


def var(
    name: str,
    attr: Mapping[str, str] | None = None,
    shape: Any = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: Any = None,
    init: Any = None,
    stype: str | None = None,
    **kwargs: str,
) -> Symbol:
    """A variable: something that gets its value when the graph runs. Other keywords must look ``__like_this__``.

    shape, dtype, init and stype: as far as they are known, for ``infer_shape`` and for what binds the graph. lr_mult, wd_mult:
    factors that optimizers read. attr: further attributes, texts. Raises TypeError for a name that is no text and for a dtype
    that there is not, KeyError for another stype, ValueError for other keywords and attributes.

    Examples
    --------
    >>> from gluonnx import mx
    >>> x = mx.sym.var("x", shape=(4, 3), dtype="float16", lr_mult=0.1)
    >>> mx.sym.relu(x).infer_shape()[1], x.attr("lr_mult")
    ([(4, 3)], '0.1')
    """
    if not isinstance(name, str):
        raise TypeError(f"Expect a string for variable `name`, got {type(name).__name__}")
    attrs = AttrScope.current.get(attr)
    attrs = {f"__{k}__" if k in symbol_json.HIDDEN else k: v for k, v in attrs.items()}
    if stype is not None and stype not in STYPES:
        raise KeyError(f"storage type {stype!r} is none of {', '.join(STYPES)}")
    try:
        flag = None if dtype is None else declare_dtype(dtype)
    except ValueError as error:
        raise TypeError(str(error)) from None
    known = {
        "__shape__": None if shape is None else functions.attribute_text(shape),
        "__lr_mult__": None if lr_mult is None else str(lr_mult),
        "__wd_mult__": None if wd_mult is None else str(wd_mult),
        "__dtype__": flag,
        "__init__": None if init is None else init if isinstance(init, str) else init.dumps(),
        "__storage_type__": None if stype is None else str(STYPES.index(stype)),
    }
    attrs.update({k: v for k, v in known.items() if v is not None})
    for key, value in kwargs.items():
        if not symbol_json.is_hidden(key):
            raise ValueError(
                f"Attribute name={key} is not supported. Additional attributes must start and end with double underscores, "
                "e.g, __yourattr__"
            )
        attrs[key] = str(value)
    for key, value in attrs.items():
        if not isinstance(value, str):
            raise ValueError(f"Set Attr only accepts string values, got {key}={value!r}")
    return Symbol([Entry(Node(None, name, (), attrs))])
