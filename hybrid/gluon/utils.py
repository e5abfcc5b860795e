"""Small helpers of training scripts: batches over several contexts, gradient clipping, hooks, files."""

from __future__ import annotations

import os
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ndarray
from ..context import Context
from ..core.np_mode import is_np_shape
from ..eager.faces import as_nd, dressed
from ..formats.downloads import check_sha1, download, repository
from ..ndarray import NDArray

__all__ = ["check_sha1", "clip_global_norm", "download", "replace_file", "split_and_load", "split_data"]


def split_data(data: NDArray, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list[NDArray]:
    """The array in num_slice parts along an axis; without even_split the first ones may be longer by one.

    Raises ValueError when it does not divide evenly but should.

    Examples
    --------
    >>> from gluonnx import mx
    >>> [part.shape for part in mx.gluon.utils.split_data(mx.nd.ones((6, 3)), 2)]
    [(3, 3), (3, 3)]
    """
    size = data.shape[batch_axis]
    if even_split and size % num_slice != 0:
        raise ValueError(
            f"data with shape {data.shape} cannot be evenly split into {num_slice} slices along axis {batch_axis}. "
            f"Use a batch size that's multiple of {num_slice} or set even_split=False to allow uneven parts."
        )
    length, longer = divmod(size, num_slice)
    ends = [length * (i + 1) + min(i + 1, longer) for i in range(num_slice)]
    ranges = zip([0, *ends], ends)
    if batch_axis == 0:
        return [data[begin:end] for begin, end in ranges]
    keep = (slice(None),) * (batch_axis % data.ndim)
    return [data[(*keep, slice(begin, end))] for begin, end in ranges]


def split_and_load(
    data: Any, ctx_list: Sequence[Context], batch_axis: int = 0, even_split: bool = True
) -> list[NDArray]:
    """split_data with one part to each context.

    Examples
    --------
    >>> from gluonnx import mx
    >>> parts = mx.gluon.utils.split_and_load(mx.nd.ones((6, 3)), [mx.cpu(0), mx.cpu(1)])
    >>> [(part.shape, part.context) for part in parts]
    [((3, 3), cpu(0)), ((3, 3), cpu(1))]
    """
    if not isinstance(data, NDArray):
        data = dressed(ndarray.array(data, ctx=ctx_list[0]))
    if len(ctx_list) == 1:
        return [data.as_in_context(ctx_list[0])]
    parts = split_data(data, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(parts, ctx_list)]


def clip_global_norm(arrays: Sequence[NDArray], max_norm: float, check_isfinite: bool = True) -> Any:
    """Scale arrays in place so that the 2-norm of all their elements together is at most max_norm; gives that norm.

    With check_isfinite the norm is a number, and a warning tells when it is nan or inf; else an array of shape (1,).

    Raises AssertionError without arrays.

    Examples
    --------
    >>> from gluonnx import mx
    >>> arrays = [mx.nd.array([3]), mx.nd.array([4])]
    >>> norm = mx.gluon.utils.clip_global_norm(arrays, max_norm=1)
    >>> float(norm), [round(a.asscalar().item(), 3) for a in arrays]
    (5.0, [0.6, 0.8])
    """
    if not arrays:
        raise AssertionError("clip_global_norm: got no arrays")
    arrays = as_nd(list(arrays))
    ctx = arrays[0].context
    squares = [_square_norm(array).as_in_context(ctx) for array in arrays]
    norm = ndarray.sqrt(ndarray.add_n(*squares))
    value = norm.asscalar() if check_isfinite else None
    if value is not None and not np.isfinite(value):
        warnings.warn("nan or inf is detected. Clipping results will be undefined.", stacklevel=2)
    scale = ndarray.minimum(max_norm / (norm + 1e-8), 1.0)
    for array in arrays:
        array *= scale.as_in_context(array.context)
    return dressed(norm) if value is None else value


def _square_norm(array: Any) -> NDArray:
    if array.stype != "default":
        return array.norm().square()
    flat = array.reshape((-1,))
    return ndarray.dot(flat, flat)


def replace_file(src: Any, dst: Any) -> None:
    """Move a file over another in one step; src is removed when that fails. Raises OSError.

    Examples
    --------
    >>> from gluonnx import mx
    >>> from pathlib import Path
    >>> _ = Path("new.txt").write_text("new")
    >>> mx.gluon.utils.replace_file("new.txt", "old.txt")
    >>> Path("old.txt").read_text()
    'new'
    """
    try:
        os.replace(src, dst)
    except OSError as error:
        if os.path.exists(src):
            os.remove(src)
        raise OSError(f"Moving downloaded temp file - {src}, to {dst} failed. Please retry the download.") from error


def _get_repo_url() -> str:
    """Address at which MXNet's files are published, or what the user has named in its place (MXNET_GLUON_REPO); packages on
    MXNet build addresses with it, which ``download`` then looks up."""
    return repository()


def _get_repo_file_url(namespace: str, filename: str) -> str:
    return f"{_get_repo_url()}{namespace}/{filename}"


class HookHandle:
    """A registered hook: ``detach()`` removes it again, and so does leaving a ``with`` block.

    Examples
    --------
    >>> from gluonnx import mx
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize()
    >>> with net.register_forward_hook(lambda block, inputs, output: print("called")):
    ...     _ = net(mx.nd.ones((1, 3)))
    called
    >>> _ = net(mx.nd.ones((1, 3)))  # says nothing any more
    >>> from collections import OrderedDict
    >>> handle, hooks = mx.gluon.utils.HookHandle(), OrderedDict()
    >>> handle.attach(hooks, print)  # as register_forward_hook does it
    >>> handle.detach()
    >>> len(hooks)
    0
    """

    def __init__(self) -> None:
        self._hooks_dict_ref: weakref.ref[Any] | None = None
        self._id: int | None = None

    def attach(self, hooks_dict: OrderedDict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        """Add the hook to a dict of hooks. Raises AssertionError the second time."""
        if self._hooks_dict_ref is not None:
            raise AssertionError("The same handle cannot be attached twice.")
        self._id = id(hook)
        hooks_dict[self._id] = hook
        self._hooks_dict_ref = weakref.ref(hooks_dict)

    def detach(self) -> None:
        """Remove the hook."""
        hooks = self._hooks_dict_ref() if self._hooks_dict_ref is not None else None
        if hooks is not None:
            hooks.pop(self._id, None)

    def __getstate__(self) -> tuple[Any, Any]:
        return self._hooks_dict_ref() if self._hooks_dict_ref is not None else None, self._id

    def __setstate__(self, state: tuple[Any, Any]) -> None:
        hooks, self._id = state
        self._hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.detach()


def shape_is_known(shape: Sequence[int] | None) -> bool:
    """True when no dimension is unknown: 0, and -1 with np_shape, with which () is known too; None is not.

    Raises AssertionError for what is less than that.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.gluon.utils.shape_is_known((2, 3)), mx.gluon.utils.shape_is_known((0, 3))
    (True, False)
    """
    unknown = -1 if is_np_shape() else 0
    if not shape:
        return shape is not None and unknown == -1
    if min(shape) < unknown and unknown not in shape:
        raise AssertionError(f"shape dimension size cannot be less than {unknown}, while received {min(shape)}")
    return unknown not in shape


def _indent(text: str, spaces: int) -> str:
    """All lines but the first moved to the right."""
    return text.replace("\n", "\n" + " " * spaces)
