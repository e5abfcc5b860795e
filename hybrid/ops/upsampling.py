"""Images made larger or smaller: UpSampling, BilinearResize2D, and pixels moved between space and channels."""

import functools
from typing import Literal

import numpy as np

from ..core.attrs import Arity, Count, Size
from ..core.op import WHOLE, Op, op
from ..core.shapes import UNKNOWN, merge_all, show
from .adjoint import linear
from .common import narrow, same, want_rank, want_some, widen
from .composing import definite, folded
from .convolution import Deconvolution


@linear(jointly=True)
@op("UpSampling")
class UpSampling(Op):
    """Images enlarged by an integer factor.

    nearest: every pixel repeated. Of several inputs the first is enlarged by scale and the others to the same size; then they
    are joined along channels (concat) or added (sum). bilinear: a Deconvolution of every channel by itself with a weight
    that is learnt (and starts out as a bilinear kernel).
    Shapes: data (N, C, H, W) -> (N, C, H scale, W scale); weight (C, 1, k, k) with k = 2 scale - scale % 2.
    """

    meanings = {"scale": "Factor of height and width.", "num_filter": "Number of channels, for sample_type bilinear."}

    scale: Count
    num_filter: Size = 0
    sample_type: Literal["bilinear", "nearest"]
    multi_input_mode: Literal["concat", "sum"] = "concat"
    num_args: Arity
    workspace: int = 512

    inputs = ("*data",)

    def check(self):
        if self.sample_type == "bilinear" and self.num_filter < 1:
            return f"got num_filter={self.num_filter}, wanted the number of channels"
        return None

    def input_names(self):
        return ("data", "weight") if self.sample_type == "bilinear" else super().input_names()

    @property
    def deconvolution(self) -> Op:
        """The deconvolution that bilinear upsampling is."""
        kernel, pad = 2 * self.scale - self.scale % 2, self.scale // 2
        return Deconvolution.bind(
            kernel=(kernel, kernel),
            stride=(self.scale, self.scale),
            pad=(pad, pad),
            num_filter=self.num_filter,
            num_group=self.num_filter,
        )

    def infer_input_shapes(self, shapes, outputs):
        if self.sample_type == "bilinear":
            return self.deconvolution.infer_input_shapes(shapes, outputs)
        return shapes

    def factors(self, shapes) -> list[tuple]:
        """By how much each input is enlarged, (height, width)."""
        goal = [size * self.scale for size in shapes[0][2:]]
        found = [(self.scale, self.scale)]
        for shape in shapes[1:]:
            if any(g is not UNKNOWN and n is not UNKNOWN and (n == 0 or g % n) for g, n in zip(goal, shape[2:])):
                raise self.error(
                    f"got data of shape {show(shape)}, wanted a height and width that divide {show(tuple(goal))}"
                )
            found.append(tuple(g // n for g, n in zip(goal, shape[2:])))
        return found

    def infer_shape(self, *shapes):
        for shape in shapes:
            want_rank(self, shape, 4)
        if self.sample_type == "bilinear":
            return self.deconvolution.infer_shape(*shapes)
        self.factors(shapes)
        batch, channels, height, width = shapes[0]
        if self.multi_input_mode == "concat":
            batch = same(self, "pictures", *(s[0] for s in shapes))
            channels = functools.reduce(lambda a, b: a + b, (s[1] for s in shapes))
        else:
            batch, channels = merge_all(s[:2] for s in shapes) or (batch, channels)
        return (batch, channels, height * self.scale, width * self.scale)

    def composition(self, F, *arrays):
        if self.sample_type == "bilinear":
            return F.Deconvolution(*arrays, **self.deconvolution.dump())
        shapes = [x.shape for x in arrays]
        if None in shapes or any(d is not UNKNOWN and d == 0 for s in shapes for d in s):
            return None  # repeat flattens what is empty
        grown = [
            F.repeat(F.repeat(x, repeats=h, axis=2), repeats=w, axis=3)
            for x, (h, w) in zip(arrays, self.factors(shapes))
        ]
        return F.Concat(*grown, dim=1) if self.multi_input_mode == "concat" else folded(F.broadcast_add, grown)

    def compute(self, *arrays):
        if self.sample_type == "bilinear":
            return self.deconvolution.compute(*arrays)
        factors = self.factors([a.shape for a in arrays])
        grown = [a.repeat(h, axis=2).repeat(w, axis=3) for a, (h, w) in zip(arrays, factors)]
        if self.multi_input_mode == "concat":
            return np.concatenate(grown, axis=1)
        return functools.reduce(np.add, grown)

    def gradient(self, F, dy, *arrays):
        if self.sample_type == "bilinear":
            return self.deconvolution.gradient(F, dy, *arrays)
        count = len(arrays) - 1
        return [F._backward_UpSampling(dy, *arrays[:count], **self.dump(), of=i) for i in range(count)]

    def adjoint(self, of, dy, *arrays):
        if self.multi_input_mode == "concat":
            first = sum(a.shape[1] for a in arrays[:of])
            dy = dy[:, first : first + arrays[of].shape[1]]
        height, width = self.factors([a.shape for a in arrays])[of]
        n, c, h, w = arrays[of].shape
        return dy.reshape(n, c, h, height, w, width).sum((3, 5))

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 2, 2, 3), scale=2, sample_type="nearest", num_args=1)
        yield make(make.uniform(1, 2, 4, 4), make.uniform(1, 1, 2, 2), scale=2, sample_type="nearest", num_args=2)
        weight = make.uniform(2, 1, 4, 4)
        yield make(make.uniform(1, 2, 3, 2), weight, scale=2, sample_type="bilinear", num_filter=2, num_args=2)


@linear(0)
@op("_contrib_BilinearResize2D")
class BilinearResize2D(Op):
    """Images resized with bilinear interpolation.

    mode decides the new height and width: size (height and width, or the old ones times scale_height and scale_width),
    odd_scale (scaled, an odd size n to (n - 1) scale + 1), like (those of the second input), to_even_down, to_even_up,
    to_odd_down and to_odd_up (the nearest even or odd size). align_corners: the outer pixels' centers stay at the corners
    (positions i (n - 1) / (m - 1)); else the pixels' edges do (positions (i + 1/2) n / m - 1/2, from 0 on); a single new pixel
    is the first old one either way.
    Shapes: data (N, C, H, W), like (N', C', h, w) -> (N, C, h, w).
    """

    meanings = {
        "mode": "How the new size is found: see above.",
        "height": "New height, in pixels.",
        "width": "New width, in pixels.",
        "like": "Images whose size counts; there with mode like.",
    }

    exception = "samples between pixels in ways that its attributes choose"

    refuses = WHOLE

    height: int = 1
    width: int = 1
    scale_height: float | None = None
    scale_width: float | None = None
    mode: Literal["like", "odd_scale", "size", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"] = "size"
    align_corners: bool = True

    inputs = ("data", "like")

    def check(self):
        if self.mode == "odd_scale" and (self.scale_height is None or self.scale_width is None):
            return "mode=odd_scale wants scale_height and scale_width"
        if self.mode == "size" and self.scale_height is not None and self.scale_width is None:
            return "got scale_height without scale_width, wanted both or none"
        if self.mode == "size" and self.scale_height is None and min(self.height, self.width) < 1:
            return f"got height={self.height} and width={self.width}, wanted positive sizes"
        return None

    def input_names(self):
        return self.inputs if self.mode == "like" else self.inputs[:1]

    def sizes(self, height, width) -> tuple:
        """New height and width from the old ones, for every mode but like."""
        # scale_width alone means nothing, as in MXNet
        scales = (None, None) if self.scale_height is None else (self.scale_height, self.scale_width)
        wanted = zip((height, width), scales, (self.height, self.width))
        return tuple(self._size(*each) for each in wanted)

    def _size(self, old, scale, fixed):
        if self.mode == "size" and scale is None:
            return fixed
        if old is UNKNOWN:
            return UNKNOWN
        if self.mode in ("size", "odd_scale") and not 0 <= np.float32(scale) * old < 2**31:
            raise self.error(f"got a scale of {scale} for a size of {old}, wanted a size that an array can have")
        if self.mode == "size":
            return int(np.float32(scale) * old)
        if self.mode == "odd_scale":
            return int(np.float32(scale) * old) if old % 2 == 0 else int(np.float32(scale) * (old - 1)) + 1
        if self.mode.startswith("to_even"):
            return old + old % 2 * (1 if self.mode.endswith("up") else -1)
        return old + (1 - old % 2) * (1 if self.mode.endswith("up") else -1)

    def infer_shape(self, data, *like):
        want_rank(self, data, 4)
        want_some(self, data, 2, 3)
        for shape in like:
            want_rank(self, shape, 4, what="like")
        sizes = like[0][2:] if like else self.sizes(*data[2:])
        if any(n is not UNKNOWN and n < 1 for n in sizes):
            raise self.error(f"got data of shape {show(data)}, which {self.mode} makes {show(sizes)}")
        return (*data[:2], *sizes)

    def compute(self, data, *like):
        height, width = like[0].shape[2:] if like else self.sizes(*data.shape[2:])
        x = widen(data).reshape(-1, *data.shape[2:])
        x = self._resize(self._resize(x, 2, width), 1, height)
        return narrow(x.reshape(*data.shape[:2], height, width), data.dtype)

    def adjoint(self, of, dy, data, *like):
        rows, columns = (self._weights(old, new) for old, new in zip(data.shape[2:], dy.shape[2:]))
        return rows.T.astype(dy.dtype) @ dy @ columns.astype(dy.dtype)

    def _weights(self, old, size):
        """Contribution of each of the old pixels to each new one, (size, old)."""
        out = np.zeros((size, old))
        if old == size:
            np.fill_diagonal(out, 1)
            return out
        low, high, part = self._sources(old, size)
        places = np.arange(size)
        out[places, low] = 1 - part
        out[places, high] += part
        return out

    def _sources(self, old, size):
        """For every new pixel along an axis the two old ones it lies between, and its part of the way."""
        if size == 1:
            positions = np.zeros(1)
        elif self.align_corners:
            positions = np.arange(size) * ((old - 1) / (size - 1))
        else:
            positions = np.maximum((np.arange(size) + 0.5) * (old / size) - 0.5, 0)
        low = np.minimum(positions.astype(np.int64), old - 1)
        return low, np.minimum(low + 1, old - 1), positions - low

    def _resize(self, x, axis, size):
        """Images (N, H, W) with another size along an axis, a few at a time so that what is added up stays in cache."""
        old = x.shape[axis]
        if old == size:
            return x
        low, high, part = self._sources(old, size)
        part = part.astype(x.dtype).reshape(-1, *(1,) * (2 - axis))
        out = np.empty((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype)
        count = max(1, (256 << 10) // max(1, out[:1].nbytes))
        far = np.empty_like(out[:count])
        for start in range(0, len(x), count):
            source, target = x[start : start + count], out[start : start + count]
            other = far[: len(target)]
            np.take(source, low, axis, out=target, mode="clip")  # "raise" would copy through a buffer
            np.take(source, high, axis, out=other, mode="clip")
            target *= 1 - part
            other *= part
            target += other
        return out

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 2, 3, 4), height=5, width=6)
        yield make(make.uniform(1, 1, 3, 4), make.uniform(1, 1, 5, 2), mode="like", align_corners=False)


class _Blocks(Op):
    """Moves pixels between blocks of block_size x block_size and channels."""

    block_size: Count

    def _divide(self, shape, *axes):
        for axis, by in axes:
            if shape[axis] is not UNKNOWN and shape[axis] % by:
                raise self.error(f"got data of shape {show(shape)}, wanted a multiple of {by} along axis {axis}")


@op("depth_to_space")
class DepthToSpace(_Blocks):
    """Blocks of pixels from channels: data (N, C b^2, H, W) -> (N, C, H b, W b), block_size b; the pixel within the block is
    the slower index into channels."""

    def infer_shape(self, data):
        want_rank(self, data, 4)
        b = self.block_size
        self._divide(data, (1, b * b))
        return (data[0], data[1] // (b * b), data[2] * b, data[3] * b)

    def composition(self, F, data):
        if data.shape is None:
            return None
        (n, c, h, w), b = definite(data.shape), self.block_size
        blocks = F.transpose(F._np_reshape(data, newshape=(n, b, b, c // (b * b), h, w)), axes=(0, 3, 4, 1, 5, 2))
        return F._np_reshape(blocks, newshape=(n, c // (b * b), h * b, w * b))

    def compute(self, data):
        n, c, h, w = data.shape
        b = self.block_size
        blocks = data.reshape(n, b, b, c // (b * b), h, w)
        return blocks.transpose(0, 3, 4, 1, 5, 2).reshape(n, c // (b * b), h * b, w * b)

    def gradient(self, F, dy, data, y):
        return F.space_to_depth(dy, block_size=self.block_size)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 8, 2, 3), block_size=2)


@op("space_to_depth")
class SpaceToDepth(_Blocks):
    """The inverse of depth_to_space: data (N, C, H b, W b) -> (N, C b^2, H, W), block_size b."""

    def infer_shape(self, data):
        want_rank(self, data, 4)
        b = self.block_size
        self._divide(data, (2, b), (3, b))
        return (data[0], data[1] * b * b, data[2] // b, data[3] // b)

    def composition(self, F, data):
        if data.shape is None:
            return None
        (n, c, h, w), b = definite(data.shape), self.block_size
        blocks = F.transpose(F._np_reshape(data, newshape=(n, c, h // b, b, w // b, b)), axes=(0, 3, 5, 1, 2, 4))
        return F._np_reshape(blocks, newshape=(n, c * b * b, h // b, w // b))

    def compute(self, data):
        n, c, h, w = data.shape
        b = self.block_size
        blocks = data.reshape(n, c, h // b, b, w // b, b)
        return blocks.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)

    def gradient(self, F, dy, data, y):
        return F.depth_to_space(dy, block_size=self.block_size)

    @classmethod
    def examples(cls, make):
        yield make(make.uniform(1, 2, 4, 6), block_size=2)
