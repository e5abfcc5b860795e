"""Functions on images: NDArrays (height, width, channels). Sizes are (width, height), as OpenCV has them."""

from __future__ import annotations

import numbers
import random
import warnings
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..core.error import MXNetError
from ..formats import images
from ..formats.files import read
from ..ndarray import NDArray
from ..ops import resample

Box = tuple[int, int, int, int]
"""x, y, width, height."""


def imdecode(buf: Any, flag: int = 1, to_rgb: int = 1, out: NDArray | None = None) -> NDArray:
    """The image in bytes: (height, width, channels), uint8.

    Parameters
    ----------
    buf : bytes, or array of uint8
        File of an image, such as JPEG or PNG.
    flag : int, default 1
        1: three channels; 0: one, gray.
    to_rgb : int, default 1
        1: red first; 0: blue first.
    out : NDArray or None, default None
        Where to put it.

    Raises ValueError for what are no bytes, MXNetError for what is no image, for an out of another shape, or without Pillow.

    Examples
    --------
    >>> from gluonnx import mx
    >>> pixels = mx.nd.full((4, 4, 3), 200, dtype="uint8").asnumpy()
    >>> record = mx.recordio.pack_img(mx.recordio.IRHeader(0, 0, 0, 0), pixels, img_fmt=".png")
    >>> mx.image.imdecode(mx.recordio.unpack(record)[1]).shape
    (4, 4, 3)
    """
    if isinstance(buf, NDArray):
        buf = buf.asnumpy()
    if not isinstance(buf, bytes | bytearray | memoryview | np.ndarray):
        raise ValueError(
            "buf must be of type bytes, bytearray or numpy.ndarray,"
            f"if you would like to input type str, please convert to bytes; got {type(buf).__name__}"
        )
    if flag not in (0, 1):
        raise MXNetError(f"imdecode: got flag={flag}, wanted 0 for gray or 1 for color")
    pixels = images.decode(buf, flag)
    pixels = pixels[:, :, None] if pixels.ndim == 2 else pixels
    if not to_rgb and pixels.shape[2] == 3:
        pixels = np.ascontiguousarray(pixels[:, :, ::-1])
    return _wrap_pixels(pixels, out)


def imread(filename: Any, flag: int = 1, to_rgb: int = 1, out: NDArray | None = None) -> NDArray:
    """The image in a file: (height, width, channels), uint8.

    Parameters
    ----------
    filename : path
        The file.
    flag : int, default 1
        1: three channels; 0: one, gray.
    to_rgb : int, default 1
        1: red first; 0: blue first.
    out : NDArray or None, default None
        Where to put it.

    Raises MXNetError where the file cannot be read or is no image, or without Pillow.

    Examples
    --------
    >>> from gluonnx import mx
    >>> from PIL import Image
    >>> Image.new("RGB", (6, 4), (255, 0, 0)).save("red.png")
    >>> image = mx.image.imread("red.png")
    >>> image.shape, image.asnumpy()[0, 0].tolist()
    ((4, 6, 3), [255, 0, 0])
    >>> mx.image.imread("red.png", flag=0).shape
    (4, 6, 1)
    """
    try:
        data = read(filename)
    except OSError as error:
        reason = error.strerror or getattr(error.__cause__, "strerror", None) or error
        raise MXNetError(f"Imread: '{filename}' couldn't open file: {reason}") from error
    try:
        return imdecode(data, flag, to_rgb, out)
    except MXNetError as error:
        raise type(error)(f"Imread: {filename}: {error}") from error


def imresize(src: NDArray, w: int, h: int, interp: int = 1, out: NDArray | None = None) -> NDArray:
    """The image in another size, (h, w, channels), of its own dtype.

    Parameters
    ----------
    src : NDArray
        Image (height, width, channels).
    w : int
        Width of the result in pixels.
    h : int
        Height of the result in pixels.
    interp : int, default 1
        Interpolation: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, 9 what suits (cubic to enlarge, area to shrink, else
        linear), 10 any, drawn.
    out : NDArray or None, default None
        Where to put it.

    Raises MXNetError for another method, a size of 0, or a dtype that images do not have.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.imresize(mx.nd.zeros((4, 6, 3), dtype="uint8"), 12, 8).shape
    (8, 12, 3)"""
    return _wrap_pixels(resized(src.asnumpy(), w, h, interp), out)


def resized(pixels: np.ndarray, width: int, height: int, interp: int) -> np.ndarray:
    """``imresize`` of a NumPy array."""
    method = interp_method(interp, (*pixels.shape[:2], height, width)) if interp in (9, 10) else interp
    try:
        return resample.resize(pixels, width, height, method)
    except ValueError as error:
        raise MXNetError(f"imresize: {error}") from error


def copyMakeBorder(  # noqa: N802  OpenCV's name
    src: NDArray,
    top: int,
    bot: int,
    left: int,
    right: int,
    type: int = 0,
    value: float = 0,
    values: Any = (),
    out: NDArray | None = None,
) -> NDArray:
    """The image with a border, of its own dtype.

    Parameters
    ----------
    src : NDArray
        Image (height, width, channels).
    top : int
        Pixels added above.
    bot : int
        Pixels added below.
    left : int
        Pixels added on the left.
    right : int
        Pixels added on the right.
    type : int, default 0
        0: of values; 1: the outermost pixels repeated; 2: mirrored with them; 3: wrapped round; 4: mirrored without them.
    value : float, default 0
        Pixel value of a border of type 0.
    values : sequence of float or float, default ()
        The same for all channels or with one for each, in place of value; further ones are read over.
    out : NDArray or None, default None
        Where to put it.

    Raises MXNetError for another type.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.copyMakeBorder(mx.nd.ones((2, 2, 1)), 1, 0, 0, 1).asnumpy()[:, :, 0].tolist()
    [[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 0.0]]"""
    try:
        filling = np.atleast_1d(np.asarray(values, np.float64))[: src.shape[2] if src.ndim > 2 else 1]
        bordered = resample.pad(src.asnumpy(), top, bot, left, right, type, filling if filling.size else value)
    except ValueError as error:
        raise MXNetError(f"copyMakeBorder: {error}") from error
    return _wrap_pixels(bordered, out)


def _wrap_pixels(pixels: np.ndarray, out: NDArray | None) -> NDArray:
    """The pixels as an NDArray, in ``out`` when that is given."""
    if out is None:
        return nd.array(pixels, dtype=pixels.dtype)
    if out.shape != pixels.shape:
        raise MXNetError(f"got an array of shape {out.shape} in out, wanted {pixels.shape}")
    out[:] = pixels
    return out


def interp_method(interp: int, sizes: tuple[int, ...] = ()) -> int:
    """A method that imresize knows, for 9 (cubic to enlarge, area to shrink, else linear) and 10 (drawn).

    sizes: old height and width, new height and width. Raises ValueError for a method that there is not."""
    if interp == 9:
        if not sizes:
            return resample.CUBIC
        old_height, old_width, height, width = sizes
        if height > old_height and width > old_width:
            return resample.CUBIC
        return resample.AREA if height < old_height and width < old_width else resample.LINEAR
    if interp == 10:
        return random.randint(0, 4)
    if interp not in range(5):
        raise ValueError(f"Unknown interp method {interp}")
    return interp


_get_interp_method = interp_method
"""MXNet's name, which GluonCV imports."""


def scale_down(src_size: tuple[int, int], size: tuple[int, int]) -> tuple[int, int]:
    """A size made smaller, with its proportions, until it fits into an image's.

    Parameters
    ----------
    src_size : tuple of int
        (width, height) of the image.
    size : tuple of int
        (width, height) that is wanted.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.scale_down((640, 480), (720, 120))
    (640, 106)"""
    width, height = size
    most_width, most_height = src_size
    if most_height < height:
        width, height = width * most_height / height, most_height
    if most_width < width:
        width, height = most_width, height * most_width / width
    return int(width), int(height)


def sides(src: NDArray) -> tuple[int, int]:
    """Height and width of an image. Raises ValueError where there is one axis more or less, as of a batch."""
    if src.ndim != 3:
        raise ValueError(f"got an array of shape {src.shape}, wanted one image (height, width, channels)")
    return src.shape[0], src.shape[1]


def resize_short(src: NDArray, size: int, interp: int = 2) -> NDArray:
    """The image in its proportions, its shorter side ``size`` long; the other is rounded down.

    Parameters
    ----------
    src : NDArray
        Image (height, width, channels).
    size : int
        Pixels of the shorter side.
    interp : int, default 2
        Interpolation as in ``imresize``.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.resize_short(mx.nd.zeros((20, 30, 3)), 10).shape
    (10, 15, 3)"""
    height, width = sides(src)
    new_width, new_height = short_size(height, width, size)
    return imresize(src, new_width, new_height, interp_method(interp, (height, width, new_height, new_width)))


def short_size(height: int, width: int, size: int) -> tuple[int, int]:
    """Width and height of such an image in its proportions, the shorter side ``size`` long."""
    return (size, size * height // width) if height > width else (size * width // height, size)


def fixed_crop(src: NDArray, x0: int, y0: int, w: int, h: int, size: Any = None, interp: int = 2) -> NDArray:
    """A part of the image, (h, w, channels), or in another size where that is given.

    Parameters
    ----------
    src : NDArray
        Image (height, width, channels).
    x0 : int
        Left edge of the part.
    y0 : int
        Its top.
    w : int
        Its width.
    h : int
        Its height.
    size : tuple of int or None, default None
        (width, height) that the part is resized to.
    interp : int, default 2
        Interpolation as in ``imresize``.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.fixed_crop(mx.nd.ones((8, 8, 3)), 1, 2, 4, 5).shape
    (5, 4, 3)
    """
    out = src[y0 : y0 + h, x0 : x0 + w]
    if size is not None and (w, h) != tuple(size):
        out = imresize(out, *size, interp=interp_method(interp, (h, w, size[1], size[0])))
    return out


def random_crop(src: NDArray, size: tuple[int, int], interp: int = 2) -> tuple[NDArray, Box]:
    """A part of that size (or smaller, and then enlarged) from anywhere, drawn from Python's ``random``.

    Returns the image and its place (x, y, width, height) in src, in pixels.

    Parameters
    ----------
    src : NDArray
        Image (height, width, channels).
    size : tuple of int
        (width, height) of the result.
    interp : int, default 2
        Interpolation as in ``imresize``.

    Examples
    --------
    >>> from gluonnx import mx
    >>> crop, place = mx.image.random_crop(mx.nd.ones((8, 8, 3)), (4, 5))
    >>> crop.shape, place[2:]
    ((5, 4, 3), (4, 5))
    """
    height, width = sides(src)
    new_width, new_height = scale_down((width, height), size)
    x0 = random.randint(0, width - new_width)
    y0 = random.randint(0, height - new_height)
    return fixed_crop(src, x0, y0, new_width, new_height, size, interp), (x0, y0, new_width, new_height)


def center_crop(src: NDArray, size: tuple[int, int], interp: int = 2) -> tuple[NDArray, Box]:
    """The part of that size (or smaller, and then enlarged) in the middle.

    Returns the image and its place (x, y, width, height) in src, in pixels.

    Parameters
    ----------
    src : NDArray
        Image (height, width, channels).
    size : tuple of int
        (width, height) of the result.
    interp : int, default 2
        Interpolation as in ``imresize``.

    Examples
    --------
    >>> from gluonnx import mx
    >>> part, place = mx.image.center_crop(mx.nd.zeros((10, 20, 3)), (4, 6))
    >>> part.shape, place
    ((6, 4, 3), (8, 2, 4, 6))"""
    x0, y0, width, height = box = center_box(*sides(src), size)
    return fixed_crop(src, x0, y0, width, height, size, interp), box


def center_box(height: int, width: int, size: tuple[int, int]) -> Box:
    """The part of an image of that height and width that ``center_crop`` takes."""
    new_width, new_height = scale_down((width, height), size)
    return (width - new_width) // 2, (height - new_height) // 2, new_width, new_height


def random_size_crop(
    src: NDArray, size: tuple[int, int], area: Any, ratio: tuple[float, float], interp: int = 2, **kwargs: Any
) -> tuple[NDArray, Box]:
    """A part of random area and proportions, resized to ``size``; after ten draws that do not fit the part in the middle.

    Returns the image and its place (x, y, width, height) in src, in pixels.

    Parameters
    ----------
    src : NDArray
        Image (height, width, channels).
    size : tuple of int
        (width, height) of the result.
    area : float or tuple of float
        Least and greatest share of the image that is taken, or the least alone.
    ratio : tuple of float
        Least and greatest width / height of the part.
    interp : int, default 2
        Interpolation as in ``imresize``.

    Raises AssertionError for other arguments than the outdated min_area, which is area.

    Examples
    --------
    >>> from gluonnx import mx
    >>> crop, place = mx.image.random_size_crop(mx.nd.ones((8, 8, 3)), (4, 5), (0.5, 1), (0.75, 1.33))
    >>> crop.shape
    (5, 4, 3)
    """
    if "min_area" in kwargs:
        warnings.warn("`min_area` is deprecated. Please use `area` instead.", DeprecationWarning, stacklevel=2)
        area = kwargs.pop("min_area")
    if kwargs:
        raise AssertionError(f"unexpected keyword arguments for `random_size_crop`: {', '.join(kwargs)}")
    return sized_crop(src, size, area, ratio, interp, random)


def sized_crop(
    src: NDArray, size: tuple[int, int], area: Any, ratio: tuple[float, float], interp: int, generator: Any
) -> tuple[NDArray, Box]:
    """random_size_crop with a generator of random numbers, Python's ``random`` or a ``random.Random``."""
    x0, y0, width, height = box = sized_box(*sides(src), size, area, ratio, generator)
    return fixed_crop(src, x0, y0, width, height, size, interp), box


def sized_box(
    height: int, width: int, size: tuple[int, int], area: Any, ratio: tuple[float, float], generator: Any
) -> Box:
    """The part of an image of that height and width that ``sized_crop`` takes."""
    least, most = area if isinstance(area, tuple | list) else (area, 1.0)
    for _ in range(10):
        wanted = generator.uniform(least, most) * height * width
        proportion = np.exp(generator.uniform(np.log(ratio[0]), np.log(ratio[1])))
        new_width, new_height = round(np.sqrt(wanted * proportion)), round(np.sqrt(wanted / proportion))
        if 0 < new_width <= width and 0 < new_height <= height:
            x0 = generator.randint(0, width - new_width)
            y0 = generator.randint(0, height - new_height)
            return x0, y0, new_width, new_height
    return center_box(height, width, size)


def color_normalize(src: NDArray, mean: Any, std: Any = None) -> NDArray:
    """(src - mean) / std, in the memory of src, which is returned.

    Parameters
    ----------
    src : NDArray
        Image (height, width, channels) of a floating dtype.
    mean : NDArray, float or None
        Mean, of one number or one for each channel; None: leave it.
    std : NDArray, float or None, default None
        Deviation, likewise.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.color_normalize(mx.nd.full((1, 1, 3), 10), mx.nd.array([4, 6, 8]))[0, 0].asnumpy()
    array([6., 4., 2.], dtype=float32)
    """
    if mean is not None:
        src -= mean
    if std is not None:
        src /= std
    return src


def imrotate(src: NDArray, rotation_degrees: Any, zoom_in: bool = False, zoom_out: bool = False) -> NDArray:
    """An image turned about its middle, or a batch of them with an angle each; 0 beyond the border.

    Parameters
    ----------
    src : NDArray
        (channels, height, width) or (batch, channels, height, width), float32.
    rotation_degrees : float, or array (batch,)
        Angles in degrees.
    zoom_in : bool, default False
        Enlarge it until no corner is empty.
    zoom_out : bool, default False
        Make it smaller until nothing is cut off.

    Raises TypeError for dtypes but float32, ValueError for both zooms, other ranks, or too few angles.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.imrotate(mx.nd.ones((3, 8, 8)), 90).shape
    (3, 8, 8)
    """
    if zoom_in and zoom_out:
        raise ValueError("`zoom_in` and `zoom_out` cannot be both True")
    if src.dtype is not np.float32:
        raise TypeError("Only `float32` images are supported by this function")
    if src.ndim not in (3, 4):
        raise ValueError("Only 3D and 4D are supported by this function")
    single = isinstance(rotation_degrees, numbers.Number)
    if src.ndim == 3:
        if not single:
            raise TypeError("When a single image is passed the rotation angle is required to be a scalar.")
        return imrotate(src.expand_dims(axis=0), rotation_degrees, zoom_in, zoom_out)[0]
    angles = rotation_degrees.asnumpy() if isinstance(rotation_degrees, NDArray) else rotation_degrees
    angles = np.full(len(src), angles) if single else np.asarray(angles)
    if len(src) != len(angles):
        raise ValueError("The number of images must be equal to the number of rotation angles")
    height, width = src.shape[2:]
    sine, cosine = (f(np.deg2rad(angles.astype(np.float64))).reshape(-1, 1, 1) for f in (np.sin, np.cos))
    middle_x, middle_y = (width - 1) / 2, (height - 1) / 2
    y, x = np.mgrid[0:height, 0:width]
    x, y = x - middle_x, y - middle_y
    grid = np.stack([(x * cosine - y * sine) / middle_x, (x * sine + y * cosine) / middle_y], axis=1)
    # the box around the turned image, in sizes of the image
    across = abs(cosine) + abs(sine) * height / width
    down = abs(cosine) + abs(sine) * width / height
    if zoom_out:
        grid *= np.maximum(across, down)[:, None]
    elif zoom_in:
        grid /= np.maximum(across, down)[:, None]
    return nd.BilinearSampler(src, nd.array(grid, ctx=src.context))


def random_rotate(src: NDArray, angle_limits: Any, zoom_in: bool = False, zoom_out: bool = False) -> NDArray:
    """As ``imrotate`` by random angles, drawn from ``numpy.random``.

    Parameters
    ----------
    src : NDArray
        (channels, height, width) or (batch, channels, height, width), float32.
    angle_limits : tuple of float
        Least and greatest angle in degrees.
    zoom_in : bool, default False
        Enlarge images until no corner is empty.
    zoom_out : bool, default False
        Make them smaller until nothing is cut off.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.random_rotate(mx.nd.ones((3, 8, 8)), (-10, 10)).shape
    (3, 8, 8)
    """
    size = None if src.ndim == 3 else src.shape[0]
    return imrotate(src, np.random.uniform(*angle_limits, size=size), zoom_in, zoom_out)
