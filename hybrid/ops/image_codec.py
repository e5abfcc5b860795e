"""The operators inside mx.image's functions: pictures (height, width, channels) decoded, resized and framed as OpenCV does."""

import numpy as np

from ..core.error import MXNetError
from ..core.op import Op, op
from ..core.shapes import UNKNOWN, show
from ..formats import images
from .common import want_rank, want_some
from .resample import AREA, CUBIC, LINEAR, pad, resize


class _Framed(Op):
    """Base of operators that change a picture's sizes."""

    exception = "decodes or resizes pictures as the image libraries do"

    inputs = ("src",)

    def infer_type(self, src):
        if src.name not in ("uint8", "int16", "uint16", "float32", "float64"):
            raise self.error(f"got a picture of {src}, wanted uint8, 16 bits, float32 or float64; cast it")
        return src


@op("_cvimresize", "_npi_cvimresize")
class CvImResize(_Framed):
    """A picture in another size. Shapes: (H, W, C) -> (h, w, C).

    interp: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, 9 cubic to enlarge, area to shrink and else linear. Source: MXNet
    imresize, which is OpenCV's."""

    w: int
    h: int
    interp: int = LINEAR

    tolerance = 64.0

    def check(self):
        if min(self.w, self.h) < 1:
            return f"got w={self.w} and h={self.h}, wanted at least 1"
        return None if self.interp in (*range(5), 9) else f"got interp={self.interp}, wanted 0 to 4, or 9"

    def infer_shape(self, src):
        want_rank(self, src, 3, what="src")
        if any(d is not UNKNOWN and not d for d in (*src[:2], self.h, self.w)):
            raise self.error(f"got src of shape {show(src)} for {self.h}x{self.w}, wanted images of some pixels")
        return (self.h, self.w, src[2])

    def method(self, height: int, width: int) -> int:
        """interp, with 9 decided for a picture of that size."""
        if self.interp != 9:
            return self.interp
        if self.h > height and self.w > width:
            return CUBIC
        return AREA if self.h < height and self.w < width else LINEAR

    def compute(self, src):
        return resize(src, self.w, self.h, self.method(*src.shape[:2]))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(5, 4, 3, high=255), w=8, h=3)


@op("_cvcopyMakeBorder")
class CvCopyMakeBorder(_Framed):
    """A picture with a border. Shapes: (H, W, C) -> (top + H + bot, left + W + right, C).

    type: 0 of values (one a channel, or ``value`` for all), 1 the outermost pixels repeated, 2 mirrored with them, 3 wrapped
    round, 4 mirrored without them. Source: MXNet copyMakeBorder, which is OpenCV's."""

    meanings = {"value": "Number in the border, of all channels."}

    top: int
    bot: int
    left: int
    right: int
    type: int = 0
    value: float = 0.0
    values: tuple[float, ...] = ()

    def check(self):
        if min(self.top, self.bot, self.left, self.right) < 0:
            return "got a negative border"
        return None if self.type in range(5) else f"got type={self.type}, wanted 0 to 4"

    def infer_shape(self, src):
        want_rank(self, src, 3, what="src")
        if self.type:
            want_some(self, src, 0, 1, what="src")
        return (src[0] + self.top + self.bot, src[1] + self.left + self.right, src[2])

    def compute(self, src):
        filling = self.filling(src.shape[2])
        if src.dtype.kind in "iu":  # as OpenCV does: to the nearest there is
            bounds = np.iinfo(src.dtype)
            filling = np.rint(filling).clip(bounds.min, bounds.max)
        return pad(src, self.top, self.bot, self.left, self.right, self.type, filling)

    def filling(self, channels: int) -> np.ndarray:
        """Values of a border of type 0, one a channel; channels without a value have 0."""
        if not self.values:
            return np.full(channels, self.value)
        return np.array([*self.values, *[0.0] * channels][:channels])

    def places(self, size: int, axis: int) -> np.ndarray:
        """From where each row or column of the result comes, along an axis of that size; for types but 0."""
        before, after = ((self.top, self.bot), (self.left, self.right))[axis]
        return pad(np.arange(size)[:, None], before, after, 0, 0, self.type)[:, 0]

    @classmethod
    def examples(cls, make):
        picture = make.uniform(4, 5, 3, high=255)
        for kind in range(5):
            yield make(picture, top=1, bot=2, left=0, right=3, type=kind, value=7)


@op("_cvimdecode", "_npi_cvimdecode")
class CvImDecode(Op):
    """The picture in the bytes of a file. Shapes: (n,) uint8 -> (H, W, C) uint8, which the bytes decide.

    flag: 1 three channels, 0 one (gray). to_rgb: red first, else blue first. Source: MXNet imdecode."""

    meanings = {"flag": "1: three channels, 0: one (gray)."}

    flag: int = 1
    to_rgb: bool = True

    exception = "decodes or resizes pictures as the image libraries do"

    inputs = ("buf",)
    data_dependent_shape = True

    def check(self):
        return None if self.flag in (0, 1) else f"got flag={self.flag}, wanted 0 for gray or 1 for color"

    def infer_shape(self, buf):
        want_rank(self, buf, 1, what="buf")
        return (UNKNOWN, UNKNOWN, 3 if self.flag else 1)

    def infer_type(self, buf):
        if buf != np.uint8:
            raise self.error(f"got bytes of dtype {buf}, wanted uint8")
        return buf

    def compute(self, buf):
        try:
            pixels = images.decode(buf, self.flag)
        except MXNetError as error:
            raise self.error(str(error)) from error
        pixels = pixels[:, :, None] if pixels.ndim == 2 else pixels
        return pixels if self.to_rgb else np.ascontiguousarray(pixels[:, :, ::-1])

    @classmethod
    def examples(cls, make):
        header = (
            "424d4600000000000000360000002800000002000000020000000100180000000000100000000000000000000000" + "00" * 8
        )
        pixels = "0000ffffffff0000ff000000ff000000"  # a bitmap of 2x2, rows from below, each filled to 4 bytes
        yield make(make.array(list(bytes.fromhex(header + pixels)), "uint8"))
