"""Augmenters: objects that vary an image (an NDArray of height, width, channels), for ImageIter and ImageDetIter.

They draw from Python's ``random`` (and lighting from ``numpy.random``), in MXNet's order: a seed gives MXNet's images."""

from __future__ import annotations

import json
import random
import warnings
from typing import Any

import numpy as np

from .. import ndarray as nd
from ..ndarray import NDArray
from ..ops.image import GRAY
from . import image


class Augmenter:
    """Base class: called with an image it gives another. Keywords are what ``dumps`` shows.

    Examples
    --------
    >>> from gluonnx import mx
    >>> class Halved(mx.image.Augmenter):
    ...     def __call__(self, src):
    ...         return src / 2
    >>> Halved()(mx.nd.ones((1, 1, 3))).asnumpy()[0, 0]
    array([0.5, 0.5, 0.5], dtype=float32)
    >>> Halved().dumps()
    '["halved", {}]'
    """

    def __init__(self, **kwargs: Any):
        self._kwargs = {}
        for key, value in kwargs.items():
            value = value.asnumpy() if isinstance(value, NDArray) else value
            self._kwargs[key] = value.tolist() if isinstance(value, np.ndarray) else value

    def dumps(self) -> Any:
        """Its name and settings, as JSON."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src: NDArray) -> NDArray:
        raise NotImplementedError("Must override implementation.")


class SequentialAug(Augmenter):
    """Several one after the other.

    Parameters
    ----------
    ts : list of Augmenter
        The augmenters.

    Examples
    --------
    >>> from gluonnx import mx
    >>> chain = mx.image.SequentialAug([mx.image.CenterCropAug((4, 4)), mx.image.CastAug("float32")])
    >>> chain(mx.nd.ones((8, 8, 3), dtype="uint8")).shape
    (4, 4, 3)
    """

    def __init__(self, ts: list[Any]):
        super().__init__()
        self.ts = ts

    def dumps(self) -> Any:
        """Its name and those it has."""
        return [type(self).__name__.lower(), [t.dumps() for t in self.ts]]

    def __call__(self, src: NDArray) -> NDArray:
        for t in self.ts:
            src = t(src)
        return src


class RandomOrderAug(SequentialAug):
    """Several, in an order drawn anew each time.

    Parameters
    ----------
    ts : list of Augmenter
        The augmenters, a list whose own order is mixed.

    Examples
    --------
    >>> from gluonnx import mx
    >>> chain = mx.image.RandomOrderAug([mx.image.CenterCropAug((4, 4)), mx.image.CastAug("float32")])
    >>> chain(mx.nd.ones((8, 8, 3), dtype="uint8")).shape
    (4, 4, 3)
    """

    def __call__(self, src: NDArray) -> NDArray:
        random.shuffle(self.ts)
        return super().__call__(src)


class ResizeAug(Augmenter):
    """The shorter side made ``size`` long.

    Parameters
    ----------
    size : int
        Its pixels.
    interp : int, default 2
        Interpolation as in ``imresize``.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.ResizeAug(4)(mx.nd.ones((8, 16, 3))).shape
    (4, 8, 3)
    """

    def __init__(self, size: int, interp: int = 2):
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        return image.resize_short(src, self.size, self.interp)


class ForceResizeAug(Augmenter):
    """Resized, whatever the proportions.

    Parameters
    ----------
    size : tuple of int
        (width, height) of the result.
    interp : int, default 2
        Interpolation as in ``imresize``.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.ForceResizeAug((4, 5))(mx.nd.ones((8, 16, 3))).shape
    (5, 4, 3)
    """

    def __init__(self, size: tuple[int, int], interp: int = 2):
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        method = image.interp_method(self.interp, (*src.shape[:2], self.size[1], self.size[0]))
        return image.imresize(src, *self.size, interp=method)


class RandomCropAug(Augmenter):
    """A part of a size from anywhere; see ``random_crop``.

    Parameters
    ----------
    size : tuple of int
        (width, height) of the result.
    interp : int, default 2
        Interpolation as in ``imresize``.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.RandomCropAug((4, 5))(mx.nd.ones((8, 8, 3))).shape
    (5, 4, 3)
    """

    def __init__(self, size: tuple[int, int], interp: int = 2):
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        return image.random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """A part of random area and proportions, resized; see ``random_size_crop``.

    Raises AssertionError for other keywords.

    Parameters
    ----------
    size : tuple of int
        (width, height) of the result.
    area : float or tuple of float
        Least and greatest share of the image that is taken, or the least alone.
    ratio : tuple of float
        Least and greatest width / height of the part.
    interp : int, default 2
        Interpolation as in ``imresize``.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.RandomSizedCropAug((4, 5), 0.5, (0.75, 1.33))(mx.nd.ones((8, 8, 3))).shape
    (5, 4, 3)
    """

    def __init__(self, size: tuple[int, int], area: Any, ratio: tuple[float, float], interp: int = 2, **kwargs: Any):
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        if "min_area" in kwargs:
            warnings.warn("`min_area` is deprecated. Please use `area` instead.", DeprecationWarning, stacklevel=2)
            area = kwargs.pop("min_area")
        if kwargs:
            raise AssertionError(f"unexpected keyword arguments for `RandomSizedCropAug`: {', '.join(kwargs)}")
        self.size, self.area, self.ratio, self.interp = size, area, ratio, interp

    def __call__(self, src: NDArray) -> NDArray:
        return image.random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class CenterCropAug(Augmenter):
    """The part of a size in the middle; see ``center_crop``.

    Parameters
    ----------
    size : tuple of int
        (width, height) of the result.
    interp : int, default 2
        Interpolation as in ``imresize``, of an image that is smaller.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.CenterCropAug((4, 5))(mx.nd.ones((8, 8, 3))).shape
    (5, 4, 3)
    """

    def __init__(self, size: tuple[int, int], interp: int = 2):
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        return image.center_crop(src, self.size, self.interp)[0]


class BrightnessJitterAug(Augmenter):
    """Times 1 - brightness to 1 + brightness.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.BrightnessJitterAug(0.1)(mx.nd.ones((8, 8, 3))).shape
    (8, 8, 3)
    """

    def __init__(self, brightness: float):
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src: NDArray) -> NDArray:
        src *= 1.0 + random.uniform(-self.brightness, self.brightness)
        return src


class ContrastJitterAug(Augmenter):
    """The distance from the mean brightness times 1 - contrast to 1 + contrast.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.ContrastJitterAug(0.1)(mx.nd.ones((8, 8, 3))).shape
    (8, 8, 3)
    """

    def __init__(self, contrast: float):
        super().__init__(contrast=contrast)
        self.contrast = contrast

    def __call__(self, src: NDArray) -> NDArray:
        alpha = 1.0 + random.uniform(-self.contrast, self.contrast)
        mean = (src.asnumpy() @ GRAY).mean()
        src *= alpha
        src += (1.0 - alpha) * float(mean)
        return src


class SaturationJitterAug(Augmenter):
    """The distance from each pixel's brightness times 1 - saturation to 1 + saturation.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.SaturationJitterAug(0.1)(mx.nd.ones((8, 8, 3))).shape
    (8, 8, 3)
    """

    def __init__(self, saturation: float):
        super().__init__(saturation=saturation)
        self.saturation = saturation

    def __call__(self, src: NDArray) -> NDArray:
        alpha = 1.0 + random.uniform(-self.saturation, self.saturation)
        gray = nd.array(src.asnumpy() @ GRAY * (1.0 - alpha), dtype=src.dtype).expand_dims(axis=2)
        src *= alpha
        src += gray
        return src


class HueJitterAug(Augmenter):
    """Colors turned about the gray axis, by up to ``hue`` half turns, in the color space YIQ.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.HueJitterAug(0.1)(mx.nd.ones((8, 8, 3))).shape
    (8, 8, 3)
    """

    TO_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
    FROM_YIQ = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])

    def __init__(self, hue: float):
        super().__init__(hue=hue)
        self.hue = hue

    def __call__(self, src: NDArray) -> NDArray:
        angle = random.uniform(-self.hue, self.hue) * np.pi
        u, w = np.cos(angle), np.sin(angle)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, u, -w], [0.0, w, u]])
        return nd.dot(src, nd.array((self.FROM_YIQ @ turn @ self.TO_YIQ).T))


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation varied, in random order; each 0 or the most that its factor is off 1.

    Parameters
    ----------
    brightness : float
        As in BrightnessJitterAug.
    contrast : float
        As in ContrastJitterAug.
    saturation : float
        As in SaturationJitterAug.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.ColorJitterAug(0.1, 0.1, 0.1)(mx.nd.ones((8, 8, 3))).shape
    (8, 8, 3)
    """

    def __init__(self, brightness: float, contrast: float, saturation: float):
        kinds = ((BrightnessJitterAug, brightness), (ContrastJitterAug, contrast), (SaturationJitterAug, saturation))
        super().__init__([kind(amount) for kind, amount in kinds if amount > 0])


class LightingAug(Augmenter):
    """AlexNet's change of lighting: principal components of colors times normal random numbers, added.

    Parameters
    ----------
    alphastd : float
        Deviation of the random numbers, drawn from ``numpy.random``.
    eigval : array (3,)
        Eigenvalues of the covariance of colors.
    eigvec : array (3, 3)
        Its eigenvectors, as columns.

    Examples
    --------
    >>> from gluonnx import mx
    >>> import numpy as np
    >>> augmenter = mx.image.LightingAug(0.1, np.array([3.0, 2.0, 1.0]), np.eye(3))
    >>> np.random.seed(0)
    >>> augmenter(mx.nd.zeros((4, 4, 3))).asnumpy()[0, 0].round(3)  # the same at every place
    array([0.529, 0.08 , 0.098], dtype=float32)
    """

    def __init__(self, alphastd: float, eigval: Any, eigvec: Any):
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd, self.eigval, self.eigvec = alphastd, eigval, eigvec

    def __call__(self, src: NDArray) -> NDArray:
        alpha = np.random.normal(0, self.alphastd, size=(3,))
        src += nd.array(np.dot(self.eigvec * alpha, self.eigval))
        return src


class ColorNormalizeAug(Augmenter):
    """(image - mean) / std.

    Examples
    --------
    >>> from gluonnx import mx
    >>> normalize = mx.image.ColorNormalizeAug(mx.nd.array([1, 1, 1]), mx.nd.array([2, 2, 2]))
    >>> normalize(mx.nd.full((1, 1, 3), 5))[0, 0].asnumpy()
    array([2., 2., 2.], dtype=float32)
    """

    def __init__(self, mean: Any, std: Any):
        super().__init__(mean=mean, std=std)
        self.mean, self.std = (v if v is None or isinstance(v, NDArray) else nd.array(v) for v in (mean, std))

    def __call__(self, src: NDArray) -> NDArray:
        return image.color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """Gray with probability p.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.RandomGrayAug(p=1)(mx.nd.array([[[10, 20, 30]]]))[0, 0].asnumpy().round(1)
    array([18.6, 18.6, 18.6], dtype=float32)
    """

    WEIGHTS = ([0.21] * 3, [0.72] * 3, [0.07] * 3)

    def __init__(self, p: float):
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray) -> NDArray:
        return nd.dot(src, nd.array(self.WEIGHTS)) if random.random() < self.p else src


class HorizontalFlipAug(Augmenter):
    """Mirrored left to right with probability p.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.HorizontalFlipAug(p=1)(mx.nd.arange(6).reshape((1, 2, 3)))[0].asnumpy()
    array([[3., 4., 5.],
           [0., 1., 2.]], dtype=float32)
    """

    def __init__(self, p: float):
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray) -> NDArray:
        return nd.flip(src, axis=1) if random.random() < self.p else src


class CastAug(Augmenter):
    """Converted to a dtype.

    Parameters
    ----------
    typ : str or dtype, default 'float32'
        The dtype.

    Examples
    --------
    >>> from gluonnx import mx
    >>> mx.image.CastAug("float16")(mx.nd.ones((2, 2, 3))).dtype.__name__
    'float16'
    """

    def __init__(self, typ: str = "float32"):
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src: NDArray) -> NDArray:
        return src.astype(self.typ)


IMAGENET_MEAN, IMAGENET_STD = (123.68, 116.28, 103.53), (58.395, 57.12, 57.375)
COLORS = (
    np.array([55.46, 4.794, 1.148]),
    np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]),
)
"""Deviations and principal components of ImageNet's colors."""


def channels(given: Any, imagenet: tuple[float, ...]) -> Any:
    """mean or std as CreateAugmenter takes it: True for ImageNet's, an array of 1 or 3 numbers, or None."""
    if given is True:
        return nd.array(imagenet)
    if given is not None and (not isinstance(given, np.ndarray | NDArray) or given.shape[0] not in (1, 3)):
        raise AssertionError(f"got {given!r}, wanted True or an array of 1 or 3 numbers")
    return given


def CreateAugmenter(  # noqa: N802  MXNet's name
    data_shape: tuple[int, int, int],
    resize: int = 0,
    rand_crop: bool = False,
    rand_resize: bool = False,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    hue: float = 0,
    pca_noise: float = 0,
    rand_gray: float = 0,
    inter_method: int = 2,
) -> list[Augmenter]:
    """The usual augmenters for images that shall become (channels, height, width), in the usual order.

    Parameters
    ----------
    data_shape : tuple of int
        (channels, height, width) that images shall have.
    resize : int, default 0
        Pixels of the shorter side before all else; 0: leave it.
    rand_crop : bool, default False
        Cut from anywhere, not from the middle.
    rand_resize : bool, default False
        Cut a part of random area (8% and more) and proportions, 3:4 to 4:3; needs rand_crop.
    rand_mirror : bool, default False
        Swap left and right half of the time.
    mean : True, array or None, default None
        Taken off at last: True for ImageNet's, or 1 or 3 numbers, in pixel values; None: nothing.
    std : True, array or None, default None
        Divided by after that: True for ImageNet's, or 1 or 3 numbers; None: nothing.
    brightness : float, default 0
        Pixels times a random factor from 1 - brightness to 1 + brightness.
    contrast : float, default 0
        The same for their distance from the mean brightness.
    saturation : float, default 0
        The same for their distance from each pixel's gray.
    hue : float, default 0
        Colors turned by up to hue half turns about the gray axis.
    pca_noise : float, default 0
        Deviation of random factors of ImageNet's principal components of colors.
    rand_gray : float, default 0
        Probability that it turns gray.
    inter_method : int, default 2
        Interpolation as in ``imresize``.

    Raises AssertionError for a mean or std of another kind, and for rand_resize without rand_crop.

    Examples
    --------
    >>> from gluonnx import mx
    >>> [type(a).__name__ for a in mx.image.CreateAugmenter((3, 8, 8), resize=10, rand_mirror=True)]
    ['ResizeAug', 'CenterCropAug', 'HorizontalFlipAug', 'CastAug']"""
    made: list[Augmenter] = []
    if resize > 0:
        made.append(ResizeAug(resize, inter_method))
    size = (data_shape[2], data_shape[1])
    if rand_resize:
        if not rand_crop:
            raise AssertionError("rand_resize needs rand_crop")
        made.append(RandomSizedCropAug(size, 0.08, (3.0 / 4.0, 4.0 / 3.0), inter_method))
    else:
        made.append((RandomCropAug if rand_crop else CenterCropAug)(size, inter_method))
    if rand_mirror:
        made.append(HorizontalFlipAug(0.5))
    made.append(CastAug())
    return made + color_augmenters(mean, std, brightness, contrast, saturation, hue, pca_noise, rand_gray)


def color_augmenters(
    mean: Any,
    std: Any,
    brightness: float,
    contrast: float,
    saturation: float,
    hue: float,
    pca_noise: float,
    rand_gray: float,
) -> list[Augmenter]:
    """Those that vary colors, and then normalize them."""
    made: list[Augmenter] = []
    if brightness or contrast or saturation:
        made.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        made.append(HueJitterAug(hue))
    if pca_noise > 0:
        made.append(LightingAug(pca_noise, *COLORS))
    if rand_gray > 0:
        made.append(RandomGrayAug(rand_gray))
    mean, std = channels(mean, IMAGENET_MEAN), channels(std, IMAGENET_STD)
    if mean is not None or std is not None:
        made.append(ColorNormalizeAug(mean, std))
    return made
