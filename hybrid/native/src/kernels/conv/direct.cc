// Direct convolution: which tiles of the output are computed in which order by whom, and the weights in the order of their use.

#include "conv.h"

namespace gluonnx::conv {

View view_of(const Tensor& t) {
  if (t.blocked) return {t.batch_stride, t.block_stride(), t.row_stride(), BLOCK, t.halo_h, t.halo_w};
  return {t.shape[1] * t.shape[2] * t.shape[3], t.shape[2] * t.shape[3], t.shape[3], 1, 0, 0};
}

Weights weights_of(const Shape& s, const float* data) {
  const Index window = s.kernel_h * s.kernel_w, filter = s.group_channels() * window;
  return {data, s.group_filters() * filter, filter, window, s.kernel_w, 1};
}

Index chunks_for(double flops, Index units, int threads) {
  constexpr double WORTH = 2e6;  // about 10 us of one core
  if (threads == 1 || flops < 2 * WORTH) return 1;
  const Index chunks = std::max<Index>(1, std::min({units, Index{4} * threads, static_cast<Index>(flops / WORTH)}));
  return chunks > threads ? chunks / threads * threads : chunks;  // as many for each
}

void Padding::copy(const Run& run, Index images, const float* from, const View& view, float* to) const {
  // few planes are cut into bands of rows, so that all threads have as much to do
  const Index count = images * planes, wanted = run.threads() == 1 ? 1 : 4 * run.threads();
  const Index bands = std::clamp<Index>((wanted + count - 1) / std::max<Index>(1, count), 1, std::max<Index>(1, height));
  const Index each = std::max<Index>(1, 16384 * bands / std::max<Index>(1, plane()));
  run.ranges(count * bands, each, [&](Index begin, Index end, int) {
    for (Index unit = begin; unit < end; ++unit) {
      const Index i = unit / bands, band = unit % bands, y0 = height * band / bands, y1 = height * (band + 1) / bands;
      const float* source = from + i / planes * view.batch + i % planes * view.plane + y0 * view.row;
      float* target = to + i * plane();
      if (band == 0) std::memset(target, 0, top * row() * sizeof(float));
      target += (top + y0) * row();
      for (Index y = y0; y < y1; ++y, target += row(), source += view.row) {
        std::memset(target, 0, left * pixel * sizeof(float));
        std::memcpy(target + left * pixel, source, width * pixel * sizeof(float));
        std::memset(target + (left + width) * pixel, 0, right * pixel * sizeof(float));
      }
      if (band + 1 == bands) std::memset(target, 0, bottom * row() * sizeof(float));
    }
  });
}

bool Direct::can(const Shape& s, bool blocked) {
  return s.groups == 1 || (blocked && s.group_channels() % BLOCK == 0 && s.group_filters() % BLOCK == 0);
}

Direct::Direct(const Shape& shape, bool blocked, const View& in, const View& out, const View& residual,
               const Epilogue& epilogue, int threads, int group)
    : shape_(shape), blocked_(blocked), given_(in), in_(in), out_(out), residual_(residual) {
  const Index pixel = blocked ? BLOCK : 1;
  const Index planes = blocked ? blocks_of(shape.channels) : shape.channels;
  copies_ = in.halo_h < std::max(shape.top(), shape.bottom()) || in.halo_w < std::max(shape.left(), shape.right());
  if (copies_) {
    padding_ = {planes, shape.height, shape.width, shape.top(), shape.left(), shape.bottom(), shape.right(), pixel};
    in_ = {padding_.image(), padding_.plane(), padding_.row(), pixel, 0, 0};
    // images whose copies stay in cache until they are read
    round_ =
        std::max<Index>(1, std::min<Index>(shape.batch, threads * (Index{1} << 18) / std::max<Index>(1, padding_.image())));
    scratch_ = aligned(round_ * padding_.image() * sizeof(float));
  } else {
    round_ = std::max<Index>(1, shape.batch);
  }

  walk_.epilogue = epilogue;
  walk_.plane = in_.plane;
  walk_.row = shape.dilate_h * in_.row;
  walk_.rows = shape.kernel_h;
  walk_.down = shape.stride_h * in_.row;
  walk_.pixel = shape.stride_w * pixel;
  if (blocked) {
    walk_.planes = blocks_of(shape.group_channels());
    walk_.columns = shape.kernel_w;
    walk_.column = shape.dilate_w * BLOCK;
    walk_.inner = BLOCK;
    walk_.last = shape.group_channels() - (walk_.planes - 1) * BLOCK;
  } else {
    const bool together = shape.dilate_w == 1;  // a row of the kernel lies side by side
    walk_.planes = shape.channels;
    walk_.columns = together ? 1 : shape.kernel_w;
    walk_.column = shape.dilate_w;
    walk_.inner = walk_.last = together ? shape.kernel_w : 1;
  }
  // a channel at a time, where one is long enough: that costs little, because plain input has few channels; three of 3x3 at once
  chain_ = blocked ? CHAIN : std::clamp<Index>(shape.kernel_h * shape.kernel_w, 32, CHAIN);
  walk_.link(chain_);
  walk_.out_block = out.plane;
  walk_.out_row = out.row;
  walk_.out_pixel = out.pixel;
  walk_.residual_block = residual.plane;
  walk_.residual_row = residual.row;
  walk_.residual_pixel = residual.pixel;

  const Index depth = shape.group_channels() * shape.kernel_h * shape.kernel_w;
  const Index group_blocks = shape.groups == 1 ? blocks_of(shape.filters) : shape.group_filters() / BLOCK;
  const Index width = plan_rows();
  const bool tall = height_ > 1 && micro_for(std::min(2, MOST_BLOCKS), 2, static_cast<int>(width));
  group_ = group ? group : tall ? std::min(2, MOST_BLOCKS) : group_for(group_blocks, width, walk_.pixel);
  for (Index g = 0; g < shape.groups; ++g)
    for (Index b = 0; b < group_blocks; b += group_) {
      const int count = static_cast<int>(std::min<Index>(group_, group_blocks - b));
      strips_.push_back({g * group_blocks + b, count, g * walk_.planes * in_.plane, weight_size_});
      weight_size_ += depth * count * BLOCK;
    }
  plan_tiles(width);
  plan_order(threads);
  plan_slices();
}

// The width of a row of output pixels, and height_.
Index Direct::plan_rows() {
  Index width = shape_.out_width;
  height_ = shape_.out_height;
  const bool point = shape_.kernel_h == 1 && shape_.kernel_w == 1 && shape_.stride_h == 1 && shape_.stride_w == 1;
  const Index row = width * BLOCK;
  if (point && blocked_ && shape_.pad_h == 0 && shape_.pad_w == 0 && shape_.height == height_ && shape_.width == width &&
      in_.row == row && out_.row == row && out_.pixel == BLOCK && residual_.row == row && residual_.pixel == BLOCK) {
    width *= height_;  // rows follow each other without gaps: one long row
    height_ = 1;
  }
  return width;
}

void Direct::plan_tiles(Index width) {
  const int most = widest(group_, walk_.pixel);
  const Index count = (width + most - 1) / most;
  for (Index i = 0; i < count; ++i) {
    const Index from = width * i / count, pixels = width * (i + 1) / count - from;
    Piece piece{from, {}, {}};
    for (int b = 1; b <= group_; ++b) {
      piece.flat[b - 1] = micro_for(b, 1, static_cast<int>(pixels));
      piece.tall[b - 1] = micro_for(b, 2, static_cast<int>(pixels));
    }
    pieces_.push_back(piece);
  }
  rows_ = count == 1 && height_ > 1 && pieces_[0].tall[0] ? 2 : 1;
  tiles_ = (height_ + rows_ - 1) / rows_ * count;
}

void Direct::plan_order(int threads) {
  const Index strips = strips_.size(), tiles = tiles_ * round_;
  const double images = static_cast<double>(round_) / std::max<Index>(1, shape_.batch);
  const double weight_bytes = weight_size_ * 4.0, in_bytes = 4.0 * round_ * shape_.channels * shape_.height * shape_.width;
  // where a weight is used once or twice, what takes time is to fetch it: as long as three operations a byte
  const double work = std::max(shape_.flops() * images, 3 * weight_bytes);
  const Index chunks = chunks_for(work, strips * tiles, threads);
  // each thread reads all of what is not divided among them: divide the larger, unless that leaves some without work
  auto idle = [&](Index units) {
    return static_cast<double>((units + threads - 1) / threads * threads) / std::max<Index>(1, units);
  };
  const bool by_strips = chunks > 1 && (weight_bytes > in_bytes ? idle(strips) < 1.2 : idle(tiles) > 1.2);
  strip_chunks_ = by_strips ? std::min(chunks, strips) : 1;
  tile_chunks_ = by_strips ? 1 : std::min(chunks, tiles);
  constexpr double CACHE = LANES == 16 ? 1 << 20 : 1 << 18;  // half of a core's second level
  const double tile_bytes = in_bytes / std::max<Index>(1, tiles);
  tile_block_ = std::max<Index>(1, static_cast<Index>(CACHE / std::max(1.0, tile_bytes)));
}

// The planes of input that are summed over at a time: all of them; or, where registers are few and the first cache is small, as
// many as have weights that stay there while a block of tiles goes by. What is summed up so far lies in the output meanwhile.
void Direct::plan_slices() {
  constexpr Index DEPTH = 256;  // 16 KB of weights
  const Index depth = walk_.depth();
  const bool cut = LANES < 16 && group_ == 1 && depth > DEPTH * 3 / 2 && std::min(tile_block_, tiles_) >= 6;
  const Index count = cut ? std::min(walk_.planes, (depth + DEPTH / 2) / DEPTH) : 1;
  for (Index i = 0; i < count; ++i) {
    const Index begin = walk_.planes * i / count, end = walk_.planes * (i + 1) / count;
    Slice slice{walk_, begin * walk_.plane, begin * walk_.inner * walk_.rows * walk_.columns * BLOCK};
    if (count > 1) {
      slice.walk.planes = end - begin;
      if (i + 1 < count) slice.walk.last = walk_.inner, slice.walk.epilogue = {};
      if (i > 0) {
        slice.walk.residual_block = walk_.out_block;
        slice.walk.residual_row = walk_.out_row;
        slice.walk.residual_pixel = walk_.out_pixel;
      }
      slice.walk.link(chain_);
    }
    slices_.push_back(slice);
  }
}

void Direct::pack(const Weights& w, float* packed, const Run& run) const {
  const Index group_blocks = shape_.groups == 1 ? blocks_of(shape_.filters) : shape_.group_filters() / BLOCK;
  const Index depth = shape_.group_channels() * shape_.kernel_h * shape_.kernel_w;
  run.ranges(strips_.size(), std::max<Index>(1, 65536 / std::max<Index>(1, depth * group_ * BLOCK)),
             [&](Index begin, Index end, int) {
               for (Index s = begin; s < end; ++s) {
                 const Strip& strip = strips_[s];
                 const Index group = strip.block / group_blocks, first = strip.block % group_blocks * BLOCK;
                 const Index lanes = strip.blocks * BLOCK, filters = std::min(lanes, shape_.group_filters() - first);
                 const float* from = w.data + group * w.group + first * w.filter;
                 float* to = packed + strip.weight;
                 const Index step = blocked_ ? BLOCK : 1;
                 for (Index c = 0; c < shape_.group_channels(); c += step) {
                   const Index inner = std::min(step, shape_.group_channels() - c);
                   for (Index y = 0; y < shape_.kernel_h; ++y)
                     for (Index x = 0; x < shape_.kernel_w; ++x) {
                       const float* tap = from + c * w.channel + y * w.row + x * w.column;
                       for (Index i = 0; i < inner; ++i, to += lanes) {
                         for (Index o = 0; o < filters; ++o) to[o] = tap[i * w.channel + o * w.filter];
                         for (Index o = filters; o < lanes; ++o) to[o] = 0;
                       }
                     }
                 }
               }
             });
}

// The zeros beside the output rows that begin in these tiles, and above the first and below the last row of an image; each
// tile's in one thread.
void Direct::zero_halo(float* out, Index strip0, Index strip1, Index tile0, Index tile1, bool before, bool after) const {
  const Index pieces = pieces_.size(), lines = tiles_ / pieces, row = out_.row;
  const Index side = out_.halo_w * BLOCK, width = shape_.out_width * BLOCK;
  for (Index s = strip0; s < strip1; ++s)
    for (Index b = strips_[s].block; b < strips_[s].block + strips_[s].blocks; ++b)
      for (Index line = (tile0 + pieces - 1) / pieces; line * pieces < tile1; ++line) {
        const Index y0 = line % lines * rows_, y1 = std::min(height_, y0 + rows_);
        float* const first = out + line / lines * out_.batch + b * out_.plane;
        float* at = first + y0 * row;
        if (y0 == 0 && !before) std::memset(at - out_.halo_h * row - side, 0, (out_.halo_h * row + side) * sizeof(float));
        for (Index y = y0; y < y1; ++y, at += row)  // the end of this row and the start of the next
          std::memset(at + width, 0, (y + 1 < height_ || after ? 2 * side : side) * sizeof(float));
        if (y1 == height_ && !after)
          std::memset(first + shape_.out_height * row - side, 0, out_.halo_h * row * sizeof(float));
      }
}

void Direct::compute(const Operands& operands, Index strip0, Index strip1, Index tile0, Index tile1, bool before,
                     bool after) const {
  if (out_.halo_h || out_.halo_w) zero_halo(operands.out, strip0, strip1, tile0, tile1, before, after);
  for (Index block = tile0; block < tile1; block += tile_block_) {
    const Index end = std::min(tile1, block + tile_block_);
    for (Index s = strip0; s < strip1; ++s)
      for (const Slice& slice : slices_) sum_slice(operands, slice, s, s == strip0, s + 1 == strip1, block, end);
  }
}

// A slice of the planes of input times a strip of filters, for tiles of a block. first, last: whether the strip is, of those that
// meet the block.
void Direct::sum_slice(const Operands& operands, const Slice& slice, Index s, bool first, bool last, Index block,
                       Index end) const {
  const Index pieces = pieces_.size(), lines = tiles_ / pieces;
  const Index above = copies_ ? shape_.top() : 0, before = copies_ ? shape_.left() : 0;  // a copy starts with its zeros
  const float* start = operands.in + (above - shape_.pad_h) * in_.row + (before - shape_.pad_w) * (blocked_ ? BLOCK : 1);
  const Strip& strip = strips_[s];
  const Walk& walk = slice.walk;
  const bool begins = slice.in == 0, ends = &slice == &slices_.back();
  const float* weights = operands.weights + strip.weight + slice.weight * strip.blocks;
  const float* bias = operands.bias && begins ? operands.bias + strip.block * BLOCK : nullptr;
  const Index depth = walk.depth();
  const Index size = depth * strip.blocks * BLOCK, calls = std::min<Index>(end - block, 8);
  Index n = block / tiles_, line = block % tiles_ / pieces, number = block % pieces;
  auto here = [&]() {
    const Piece& piece = pieces_[number];
    const Index y = line * rows_;
    Place place;
    place.from = start + n * in_.batch + strip.in + slice.in + y * walk.down + piece.at * walk.pixel;
    place.to = operands.out + n * out_.batch + strip.block * out_.plane + y * out_.row + piece.at * out_.pixel;
    place.more = operands.residual;
    if (!begins)
      place.more = place.to;
    else if (place.more)
      place.more += n * residual_.batch + strip.block * residual_.plane + y * residual_.row + piece.at * residual_.pixel;
    place.micro = rows_ == 2 && y + 1 < height_ ? piece.tall[strip.blocks - 1] : piece.flat[strip.blocks - 1];
    return place;
  };
  Place place = here();
  for (Index t = block; t < end; ++t) {
    if (++number == pieces) {
      number = 0;
      if (++line == lines) line = 0, ++n;
    }
    const Place next = t + 1 < end ? here() : place;
    Ahead ahead{{weights, weights, weights, weights}, 0, 0};
    if (t - block < calls && !(last && ends)) {
      // the weights of the next slice, or strip, are fetched by the first calls of this one
      const Index share = size / calls;
      const float* at = weights + size + share * (t - block);
      ahead = {{at, at + share / 4, at + share / 2, at + share / 4 * 3}, share / depth + 1, 0};
    } else if (first && walk.rows * walk.columns == 1 && walk.inner == BLOCK) {
      // the next tile's input
      for (Index k = 0; k < 4; ++k) ahead.at[k] = next.from + k * walk.plane;
      ahead.step = walk.pixel;
      ahead.jump = 4 * walk.plane - BLOCK * walk.pixel;
    } else {
      // what the next tile adds and writes
      for (int k = 0, read = next.more ? strip.blocks : 0; k < 4; ++k)
        ahead.at[k] =
            k < read ? next.more + k * walk.residual_block : next.to + std::min(k - read, strip.blocks - 1) * out_.plane;
      ahead.step = pixels_for(group_) * BLOCK * 4 / depth + 1;
    }
    place.micro(walk, place.from, weights, bias, place.more, place.to, ahead);
    place = next;
  }
}

Block Direct::sums(const Operands& operands, Index n, Index block, Index y, Index x) const {
  const Strip& strip = strips_[block / group_];
  const float* w = operands.weights + strip.weight + (block - strip.block) * BLOCK;
  Block sum = zero(), total = zero();
  for (Index c = 0; c < shape_.group_channels(); c += BLOCK, total = total + sum, sum = zero())
    for (Index ky = 0; ky < shape_.kernel_h; ++ky)
      for (Index kx = 0; kx < shape_.kernel_w; ++kx) {
        const Index row = y * shape_.stride_h + ky * shape_.dilate_h - shape_.pad_h;
        const Index column = x * shape_.stride_w + kx * shape_.dilate_w - shape_.pad_w;
        const bool inside = row >= 0 && row < shape_.height && column >= 0 && column < shape_.width;
        const float* from = operands.in + n * given_.batch + c / BLOCK * given_.plane + row * given_.row + column * BLOCK;
        for (Index i = 0; i < std::min<Index>(BLOCK, shape_.group_channels() - c); ++i, w += strip.blocks * BLOCK)
          sum = fma(sum, load(w), inside ? from[i] : 0.f);
      }
  return total;
}

void Direct::run(const Run& run, const Operands& operands, std::byte* scratch) const {
  const Index strips = strips_.size();
  for (Index first = 0; first < shape_.batch; first += round_) {
    const Index images = std::min(round_, shape_.batch - first), tiles = images * tiles_;
    Operands part = operands;
    part.out += first * out_.batch;
    if (part.residual) part.residual += first * residual_.batch;
    if (copies_) {
      float* padded = reinterpret_cast<float*>(scratch);
      padding_.copy(run, images, operands.in + first * given_.batch, given_, padded);
      part.in = padded;
    }
    const Index split = std::min(tile_chunks_, std::max<Index>(1, tiles));
    run.parallel(strip_chunks_ * split, [&](Index chunk, int) {
      const Index s = chunk / split, t = chunk % split;
      compute(part, strips * s / strip_chunks_, strips * (s + 1) / strip_chunks_, tiles * t / split, tiles * (t + 1) / split);
    });
  }
}

std::string Direct::how() const {
  std::string text =
      "direct " + std::to_string(group_) + "x" + std::to_string(std::min<Index>(widest(group_, walk_.pixel), shape_.pixels()));
  text += strip_chunks_ > 1 ? " by filters" : tile_chunks_ > 1 ? " by pixels" : "";
  if (slices_.size() > 1) text += " in " + std::to_string(slices_.size()) + " slices";
  return text + (copies_ ? " padded" : "");
}

}  // namespace gluonnx::conv
