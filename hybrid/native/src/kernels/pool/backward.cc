// What the data of a pooling gets.
#include "lanes.h"

namespace gluonnx {
namespace {

// The first of equal maxima gets all. K: the kernel's height and width, 0 for any; only for windows inside the data.
template <int K>
GX_INLINE void to_largest(const float* x, float* dx, std::int64_t slice, std::int64_t row, Block y, Block dy, std::int64_t kd,
                          std::int64_t kh, std::int64_t kw) {
  if (K) kd = 1, kh = kw = K;
  for (std::int64_t d = 0; d < kd; ++d)
#pragma GCC unroll 3
    for (std::int64_t h = 0; h < kh; ++h)
#pragma GCC unroll 3
      for (std::int64_t w = 0; w < kw; ++w) {
        const std::int64_t at = d * slice + h * row + w * BLOCK;
        const Block v = load(x + at);
        Block given = load(dx + at);
#pragma GCC unroll 4
        GX_EACH {
          given.r[i] += v.r[i] == y.r[i] ? dy.r[i] : Reg{};
          dy.r[i] = v.r[i] == y.r[i] ? Reg{} : dy.r[i];  // what is left to give
        }
        store(dx + at, given);
      }
}

// Sixteen images and channels at a time; images that would not stay in cache in bands of rows.
template <Fold FOLD>
class PoolBackward : public Kernel {
 public:
  PoolBackward(std::int64_t planes, const std::vector<Windows>& axes, bool mean, int threads)
      : planes_(planes), deep_(axes[0]), high_(axes[1]), wide_(axes[2]), mean_(mean) {
    how = "lanes";
    flops = static_cast<double>(planes * deep_.steps * high_.steps * wide_.steps) *
            static_cast<double>(deep_.kernel * high_.kernel * wide_.kernel);
    band_ = high_.steps;
    rows_ = high_.size;
    if (deep_.size == 1 && deep_.kernel == 1) {
      const std::int64_t row = std::max<std::int64_t>(1, wide_.size * BLOCK * static_cast<std::int64_t>(sizeof(float)));
      const std::int64_t most = CACHE / row - high_.kernel;
      band_ = std::clamp<std::int64_t>(most / high_.stride, 1, std::max<std::int64_t>(1, high_.steps));
      rows_ = std::min(high_.size, band_ * high_.stride + high_.kernel);
    }
    data_ = deep_.size * rows_ * wide_.size * BLOCK;
    steps_ = deep_.steps * band_ * wide_.steps * BLOCK;
    each_ = (data_ + steps_) * (FOLD == Fold::max ? 2 : 1);
    scratch = static_cast<std::size_t>(each_) * sizeof(float) * threads;
  }

  void run(const Run& run) const override {
    run.parallel((planes_ + BLOCK - 1) / BLOCK, [&](std::int64_t i, int thread) {
      bands(run, reinterpret_cast<float*>(run.scratch) + thread * each_, i * BLOCK, std::min(BLOCK, planes_ - i * BLOCK));
    });
  }

 private:
  static constexpr std::int64_t CACHE = 512 << 10;  // bytes of the data that is worked on at a time

  void bands(const Run& run, float* memory, std::int64_t first, std::int64_t count) const {
    const std::int64_t line = wide_.size, area = high_.size * line, volume = deep_.size * area, width = wide_.steps;
    const std::int64_t plane = high_.steps * width, each = deep_.steps * plane;
    const float *dy = run.input<float>(0) + first * each, *x = run.input<float>(1) + first * volume;
    const float* y = run.input<float>(2) + first * each;
    float* dx = run.output<float>() + first * volume;
    float *given = memory, *arriving = given + data_, *seen = arriving + steps_, *largest = seen + data_;
    // rows of dx before `base` are finished; the `kept` rows from there on have got something from the bands before
    std::int64_t base = 0, kept = 0;
    for (std::int64_t from = 0; from < high_.steps; from += band_) {
      const std::int64_t to = std::min(high_.steps, from + band_), reach = std::max(base, high_.end[to - 1]);
      const std::int64_t done = to < high_.steps ? std::max(base, high_.begin[to]) : high_.size;
      const std::int64_t rows = reach - base;
      if (deep_.size == 1) std::fill(given + kept * line * BLOCK, given + rows_ * line * BLOCK, 0.f);
      else std::fill(given, given + data_, 0.f);
      for (std::int64_t z = 0; z < deep_.steps; ++z) {
        const std::int64_t at = z * plane + from * width, pixels = (to - from) * width, here = z * band_ * width * BLOCK;
        pack_lanes(dy + at, each, count, arriving + here, pixels);
        if (FOLD == Fold::max) pack_lanes(y + at, each, count, largest + here, pixels);
      }
      if (FOLD == Fold::max)
        for (std::int64_t d = 0; d < deep_.size; ++d)
          pack_lanes(x + d * area + base * line, volume, count, seen + d * rows_ * line * BLOCK, rows * line);
      windows(given, arriving, seen, largest, from, to, base);
      const std::int64_t finished = std::min(done, reach) - base;
      for (std::int64_t d = 0; d < deep_.size; ++d) {
        float* out = dx + d * area + base * line;
        unpack_lanes(given + d * rows_ * line * BLOCK, out, volume, count, finished * line);
        for (std::int64_t n = 0; n < count; ++n)  // rows that no window sees
          std::fill(out + n * volume + finished * line, out + n * volume + (done - base) * line, 0.f);
      }
      kept = std::max<std::int64_t>(0, reach - done);
      std::memmove(given, given + finished * line * BLOCK, static_cast<std::size_t>(kept * line * BLOCK) * sizeof(float));
      base = done;
    }
  }

  // Windows of the rows [from, to); base: which row of the data the buffers begin with
  void windows(float* given, const float* arriving, const float* seen, const float* largest, std::int64_t from, std::int64_t to,
               std::int64_t base) const {
    const std::int64_t row = wide_.size * BLOCK, slice = rows_ * row;
    const std::int64_t first = wide_.first_whole(), last = wide_.last_whole();
    for (std::int64_t z = 0; z < deep_.steps; ++z)
      for (std::int64_t h = from; h < to; ++h) {
        const bool inside = deep_.whole(z) && high_.whole(h);
        const std::int64_t begin = (z * band_ + h - from) * wide_.steps * BLOCK;
        const std::int64_t corner = (z * deep_.stride - deep_.pad) * slice + (h * high_.stride - high_.pad - base) * row;
        for (std::int64_t w = 0; w < wide_.steps; ++w) {
          const Block dy = load(arriving + begin + w * BLOCK);
          if constexpr (FOLD == Fold::sum) {
            spread(given, mean_ ? dy * (1.f / (deep_.count[z] * high_.count[h] * wide_.count[w])) : dy, z, h, w, base);
          } else {
            const Block y = load(largest + begin + w * BLOCK);
            const std::int64_t at = corner + (w * wide_.stride - wide_.pad) * BLOCK;
            const float* x = seen + at;
            float* dx = given + at;
            if (!inside || w < first || w >= last) at_border(seen, given, y, dy, z, h, w, base);
            else if (small_ == 2) to_largest<2>(x, dx, slice, row, y, dy, 1, 2, 2);
            else if (small_ == 3) to_largest<3>(x, dx, slice, row, y, dy, 1, 3, 3);
            else to_largest<0>(x, dx, slice, row, y, dy, deep_.kernel, high_.kernel, wide_.kernel);
          }
        }
      }
  }

  // Padding counts as the least number, and may be the maximum where a window holds nothing finite.
  void at_border(const float* seen, float* given, Block y, Block dy, std::int64_t z, std::int64_t h, std::int64_t w,
                 std::int64_t base) const {
    const std::int64_t row = wide_.size * BLOCK, slice = rows_ * row;
    for (std::int64_t kd = 0; kd < deep_.kernel; ++kd)
      for (std::int64_t kh = 0; kh < high_.kernel; ++kh)
        for (std::int64_t kw = 0; kw < wide_.kernel; ++kw) {
          const std::int64_t d = z * deep_.stride - deep_.pad + kd, r = h * high_.stride - high_.pad + kh;
          const std::int64_t c = w * wide_.stride - wide_.pad + kw;
          if (d >= 0 && d < deep_.size && r >= 0 && r < high_.size && c >= 0 && c < wide_.size) {
            const std::int64_t at = d * slice + (r - base) * row + c * BLOCK;
            Block v = load(seen + at), sum = load(given + at);
            GX_EACH {
              sum.r[i] += v.r[i] == y.r[i] ? dy.r[i] : Reg{};
              dy.r[i] = v.r[i] == y.r[i] ? Reg{} : dy.r[i];
            }
            store(given + at, sum);
          } else {
            const Block least = splat(LEAST);
            GX_EACH dy.r[i] = y.r[i] == least.r[i] ? Reg{} : dy.r[i];
          }
        }
  }

  // Every element of a window gets the same.
  void spread(float* given, Block dy, std::int64_t z, std::int64_t h, std::int64_t w, std::int64_t base) const {
    for (std::int64_t d = deep_.begin[z]; d < deep_.end[z]; ++d)
      for (std::int64_t r = high_.begin[h]; r < high_.end[h]; ++r) {
        float* row = given + ((d * rows_ + r - base) * wide_.size) * BLOCK;
        for (std::int64_t c = wide_.begin[w]; c < wide_.end[w]; ++c) store(row + c * BLOCK, load(row + c * BLOCK) + dy);
      }
  }

  std::int64_t planes_, band_, rows_, data_, steps_, each_;
  Windows deep_, high_, wide_;
  bool mean_;
  // 2 or 3: a kernel of that many rows and columns, for which there is code
  const std::int64_t small_ = deep_.kernel == 1 && high_.kernel == wide_.kernel && wide_.kernel < 4 ? wide_.kernel : 0;
};

// One window over everything.
template <Fold FOLD>
class GlobalBackward : public Kernel {
 public:
  GlobalBackward(std::int64_t planes, std::int64_t volume, bool mean) : planes_(planes), volume_(volume), mean_(mean) {
    how = "global";
  }

  void run(const Run& run) const override {
    const float *dy = run.input<float>(0), *x = run.input<float>(1), *y = run.input<float>(2);
    float* dx = run.output<float>();
    run.ranges(planes_, std::max<std::int64_t>(1, 16384 / (volume_ + 16)), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        float* to = dx + i * volume_;
        const float given = mean_ ? dy[i] / static_cast<float>(volume_) : dy[i];
        std::fill(to, to + volume_, FOLD == Fold::max ? 0.f : given);
        if constexpr (FOLD == Fold::max) {
          const float* from = x + i * volume_;
          const float* found = std::find(from, from + volume_, y[i]);
          if (found != from + volume_) to[found - from] = given;
        }
      }
    });
  }

 private:
  std::int64_t planes_, volume_;
  bool mean_;
};

class AdaptiveBackward : public Kernel {
 public:
  AdaptiveBackward(std::int64_t planes, Windows high, Windows wide, int threads)
      : planes_(planes), high_(std::move(high)), wide_(std::move(wide)) {
    how = "adaptive";
    each_ = (wide_.size + BLOCK - 1) / BLOCK * BLOCK;
    scratch = static_cast<std::size_t>(each_) * sizeof(float) * threads;
  }

  void run(const Run& run) const override {
    const float* dy = run.input<float>(0);
    float* dx = run.output<float>();
    const std::int64_t area = high_.size * wide_.size;
    run.ranges(planes_, std::max<std::int64_t>(1, 16384 / (area + 16)), [&](std::int64_t begin, std::int64_t end, int thread) {
      float* row = reinterpret_cast<float*>(run.scratch) + thread * each_;
      std::fill(dx + begin * area, dx + end * area, 0.f);
      for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t y = 0; y < high_.steps; ++y) {
          std::fill(row, row + wide_.size, 0.f);
          for (std::int64_t x = 0; x < wide_.steps; ++x) {
            const float given = dy[(i * high_.steps + y) * wide_.steps + x] / high_.count[y] / wide_.count[x];
            for (std::int64_t c = wide_.begin[x]; c < wide_.end[x]; ++c) row[c] += given;
          }
          for (std::int64_t r = high_.begin[y]; r < high_.end[y]; ++r) {
            float* to = dx + i * area + r * wide_.size;
            for (std::int64_t c = 0; c < wide_.size; ++c) to[c] += row[c];
          }
        }
    });
  }

 private:
  std::int64_t planes_, each_;
  Windows high_, wide_;
};

}  // namespace

std::unique_ptr<Kernel> bind_pooling_backward(const Call& call) {
  const Tensor &dy = call.in[0], &x = call.in[1];
  const Pooling pooling(call.attrs, x, dy, x.rank() - 2);
  if (pooling.channels_last) return nullptr;
  want_floats(call.in);
  want_floats(call.out);
  want_shape(call.out[0], x.shape);
  want_shape(call.in[2], dy.shape);
  want(dy.size() > 0 || x.size() == 0);  // where there are no windows, nothing would be written
  const std::int64_t planes = x.shape[0] * x.shape[1];
  const bool maximum = pooling.fold == Fold::max;
  if (pooling.global) {
    std::int64_t volume = 1;
    for (const auto& w : pooling.axes) volume *= w.size;
    if (maximum) return std::make_unique<GlobalBackward<Fold::max>>(planes, volume, false);
    return std::make_unique<GlobalBackward<Fold::sum>>(planes, volume, pooling.mean);
  }
  const auto axes = in_three(pooling.axes);
  if (maximum) return std::make_unique<PoolBackward<Fold::max>>(planes, axes, false, call.threads);
  return std::make_unique<PoolBackward<Fold::sum>>(planes, axes, pooling.mean, call.threads);
}

std::unique_ptr<Kernel> bind_adaptive_pooling_backward(const Call& call) {
  const Tensor &dy = call.in[0], &x = call.in[1];
  call.attrs.ignore("output_size");  // that of dy
  want_adaptive(x, dy);
  want(call.out[0].dtype == DType::f32);
  want_shape(call.out[0], x.shape);
  return std::make_unique<AdaptiveBackward>(x.shape[0] * x.shape[1], Windows::adaptive(x.shape[2], dy.shape[2]),
                                            Windows::adaptive(x.shape[3], dy.shape[3]), call.threads);
}

}  // namespace gluonnx
