// Plain to blocked data and back, and blocked data side by side.
#include "move.h"
#include "tile.h"

namespace gluonnx {
namespace {

// f(image, block, first row, rows) over rows [begin, end), counted through all planes of a blocked tensor
template <class F>
void planes(const Tensor& t, std::int64_t begin, std::int64_t end, F&& f) {
  const std::int64_t height = t.shape[2];
  while (begin < end) {
    const std::int64_t plane = begin / height, y = begin % height, count = std::min(end - begin, height - y);
    f(plane / t.shape[1], plane % t.shape[1], y, count);
    begin += count;
  }
}

// Both directions: the plain tensor (N, channels, H, W) and the blocked one. Blocked data are float32.
template <bool PACKS>
class Repack : public Kernel {
  using T = std::uint32_t;

 public:
  Repack(const Tensor& plain, const Tensor& blocked) : plain_(plain), blocked_(blocked) {
    how = PACKS ? "pack" : "unpack";
    bytes = static_cast<double>(plain.size() + blocked.size()) * sizeof(T);
  }

  void run(const Run& run) const override {
    const std::int64_t channels = plain_.shape[1], width = plain_.shape[3], area = plain_.shape[2] * width;
    const std::int64_t rows = blocked_.shape[0] * blocked_.shape[1] * blocked_.shape[2];
    run.ranges(rows, grain_of(width * BLOCK * sizeof(T)), [&](std::int64_t begin, std::int64_t end, int) {
      planes(blocked_, begin, end, [&](std::int64_t n, std::int64_t b, std::int64_t y, std::int64_t count) {
        const std::int64_t plain_at = (n * channels + b * BLOCK) * area;
        const std::int64_t blocked_at = n * blocked_.batch_stride + b * blocked_.block_stride();
        const std::int64_t there = std::min(BLOCK, channels - b * BLOCK);
        if constexpr (PACKS)
          plane(run.input<T>(0) + plain_at, run.output<T>() + blocked_at, y * width, (y + count) * width, there);
        else plane(run.output<T>() + plain_at, run.input<T>(0) + blocked_at, y * width, (y + count) * width, there);
      });
    });
  }

 private:
  using Plain = std::conditional_t<PACKS, const T, T>;
  using Blocked = std::conditional_t<PACKS, T, const T>;
  static constexpr std::int64_t n = TILE<T>;

  // Pixels [begin, end) of a plane of sixteen channels, of which the first `channels` exist. Pixels are counted without regard
  // to rows, so that narrow images fill registers too.
  void plane(Plain* plain, Blocked* blocked, std::int64_t begin, std::int64_t end, std::int64_t channels) const {
    const std::int64_t area = plain_.shape[2] * plain_.shape[3];
    if (end - begin < n) {
      for (std::int64_t p = begin; p < end; ++p) {
        Blocked* pixel = blocked + offset(p);
        for (std::int64_t c = 0; c < BLOCK; ++c)
          if constexpr (PACKS) pixel[c] = c < channels ? plain[c * area + p] : T{};
          else if (c < channels) plain[c * area + p] = pixel[c];
      }
      return;
    }
    for (std::int64_t p = begin; p < end; p += n) {
      const std::int64_t first = std::min(p, end - n);  // the last registers overlap those before them
      const std::int64_t all = PACKS ? BLOCK : channels;
      if (blocked_.halo_w) {
        std::int64_t at[n];
        offsets(first, at);
        for (std::int64_t c = 0; c < all; c += n)
          tile(plain + c * area + first, area, blocked + c, channels - c, [&](std::int64_t i) { return at[i]; });
      } else {
        for (std::int64_t c = 0; c < all; c += n)
          tile(plain + c * area + first, area, blocked + first * BLOCK + c, channels - c,
               [](std::int64_t i) { return i * BLOCK; });
      }
    }
  }

  template <class At>
  GX_INLINE void tile(Plain* plain, std::int64_t area, Blocked* blocked, std::int64_t channels, At at) {
    typename TileRow<T>::Type r[n];
    if constexpr (PACKS) {
      // Zeros beyond the last channel: anything is allowed there, but NaN and denormals would only slow others down.
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < n; ++i) r[i] = typename TileRow<T>::Type{};
      if (channels >= n) {
#pragma GCC unroll 16
        for (std::int64_t i = 0; i < n; ++i) std::memcpy(&r[i], plain + i * area, sizeof r[i]);
      } else {
#pragma GCC unroll 16
        for (std::int64_t i = 0; i < n; ++i)
          if (i < channels) std::memcpy(&r[i], plain + i * area, sizeof r[i]);
      }
      transpose_registers<T>(r);
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < n; ++i) std::memcpy(blocked + at(i), &r[i], sizeof r[i]);
    } else {
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < n; ++i) std::memcpy(&r[i], blocked + at(i), sizeof r[i]);
      transpose_registers<T>(r);
#pragma GCC unroll 16
      for (std::int64_t i = 0; i < n; ++i)
        if (i < channels) std::memcpy(plain + i * area, &r[i], sizeof r[i]);
    }
  }

  // where pixel p is in a blocked plane
  std::int64_t offset(std::int64_t p) const {
    return p / plain_.shape[3] * blocked_.row_stride() + p % plain_.shape[3] * BLOCK;
  }
  void offsets(std::int64_t p, std::int64_t (&at)[n]) const {
    const std::int64_t width = plain_.shape[3], gap = 2 * blocked_.halo_w * BLOCK;
    std::int64_t next = offset(p), x = p % width;
    for (std::int64_t i = 0; i < n; ++i) {
      at[i] = next;
      next += BLOCK;
      if (++x == width) x = 0, next += gap;
    }
  }

  Tensor plain_, blocked_;
};

// Inputs that are already where they belong (the plan writes them there when it can) stay.
class BlockedConcat : public Kernel {
 public:
  explicit BlockedConcat(const Call& call)
      : in_(call.in), out_(call.out[0]), size_(static_cast<std::int64_t>(size_of(call.out[0].dtype))) {
    how = "copy";
  }

  void run(const Run& run) const override {
    std::int64_t block = 0;
    for (std::size_t i = 0; i < in_.size(); ++i) {
      const Tensor& t = in_[i];
      const auto* from = run.input<std::byte>(static_cast<int>(i));
      auto* to = run.output<std::byte>() + block * out_.block_stride() * size_;
      block += t.shape[1];
      if (from == to) continue;
      run.ranges(t.shape[0] * t.shape[1] * t.shape[2], grain_of(t.shape[3] * BLOCK * size_),
                 [&](std::int64_t begin, std::int64_t end, int) { copy(t, from, to, begin, end); });
    }
  }

 private:
  void copy(const Tensor& t, const std::byte* from, std::byte* to, std::int64_t begin, std::int64_t end) const {
    const bool whole = !t.halo_w && !out_.halo_w;
    const std::int64_t row = t.shape[3] * BLOCK * size_;
    planes(t, begin, end, [&](std::int64_t n, std::int64_t b, std::int64_t y, std::int64_t rows) {
      const std::byte* source = from + (n * t.batch_stride + b * t.block_stride() + y * t.row_stride()) * size_;
      std::byte* target = to + (n * out_.batch_stride + b * out_.block_stride() + y * out_.row_stride()) * size_;
      if (whole) std::memcpy(target, source, rows * row);
      else
        for (std::int64_t i = 0; i < rows; ++i)
          std::memcpy(target + i * out_.row_stride() * size_, source + i * t.row_stride() * size_, row);
    });
  }

  Tensors in_;
  Tensor out_;
  std::int64_t size_;
};

}  // namespace

// That a plain tensor of images and a blocked one are the same.
static void want_same(const Tensor& plain, const Tensor& blocked) {
  want(!plain.blocked && plain.rank() == 4 && blocked.blocked && plain.dtype == DType::f32 && blocked.dtype == DType::f32);
  want_shape(blocked, {plain.shape[0], (plain.shape[1] + BLOCK - 1) / BLOCK, plain.shape[2], plain.shape[3], BLOCK});
}

std::unique_ptr<Kernel> bind_pack(const Call& call) {
  want_same(call.in[0], call.out[0]);
  return std::make_unique<Repack<true>>(call.in[0], call.out[0]);
}

std::unique_ptr<Kernel> bind_unpack(const Call& call) {
  call.attrs.ignore("channels");  // the output's
  want_same(call.out[0], call.in[0]);
  return std::make_unique<Repack<false>>(call.out[0], call.in[0]);
}

std::unique_ptr<Kernel> bind_join(const Call& call) {
  const Tensor& to = call.out[0];
  std::int64_t blocks = 0;
  for (const Tensor& t : call.in) {
    want(t.blocked && to.blocked && t.dtype == to.dtype);
    want_shape(t, {to.shape[0], t.shape[1], to.shape[2], to.shape[3], BLOCK});
    blocks += t.shape[1];
  }
  want(blocks == to.shape[1]);
  return std::make_unique<BlockedConcat>(call);
}

}  // namespace gluonnx
